//! The paths of one flow: what each carried and lost, and which stands out.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use crate::{
    analyze::{model::Address, packet::Facts, track::distribution::Totals},
    heap::heap,
    in_order::InOrder,
    report::{FlowPath, PathState},
    wire::Ecn,
};

/// Paths that are listed.
const MAX_PATHS: usize = 4096;

/// The flow that takes the paths.
pub(crate) struct OfFlow {
    pub(crate) flow: Option<usize>,
    pub(crate) src: Address,
    pub(crate) dst: Address,
    /// The queue pair, or of Ultra Ethernet the sender's number of the context.
    pub(crate) dest_qp: Option<u32>,
    pub(crate) spdcid: Option<u16>,
}

/// One packet on a path.
#[derive(Clone, Copy)]
pub(crate) struct Carried {
    pub(crate) time: i64,
    pub(crate) bytes: u32,
    pub(crate) interface: u16,
    pub(crate) is_marked: bool,
}

impl Carried {
    pub(crate) fn of(facts: &Facts) -> Carried {
        Carried {
            time: facts.time(),
            bytes: facts.l1_bytes(),
            interface: facts.interface(),
            is_marked: facts.mark() == Ecn::CE,
        }
    }
}

/// What one path of a flow carried, and what became of it.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(crate) struct Tally {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    /// Packets that were lost on it, as far as that is known.
    pub(crate) lost: u64,
    /// Those of them that were lost before the tap.
    pub(crate) lost_before: u64,
    /// Retransmissions that took it.
    pub(crate) resent: u64,
    /// Packets that came marked (CE).
    pub(crate) marked: u64,
    /// Packets that were overtaken.
    pub(crate) late: u64,
    /// Packets that a switch trimmed.
    pub(crate) trimmed: u64,
    /// Packets that look like retransmissions, of which the tap had seen none before; and what came behind such.
    pub(crate) filled: u64,
    pub(crate) behind_filled: u64,
    /// How many packets of the flow there were, up to the last one on it.
    pub(crate) last_at: u64,
    /// The most packets of the flow after which it carried one again; 0: it was not left yet.
    pub(crate) longest_pause: u64,
    pub(crate) last_ns: i64,
    pub(crate) interface: SeenAt,
    /// From the first tap to the last one, where there are several.
    pub(crate) transit: Totals,
    /// From its packets to their answers.
    pub(crate) rtts: Totals,
    /// Those that were taken for lost behind the tap until answers showed that they were late.
    pub(crate) proven_late: u64,
    /// Those of them of which the answer may have another cause.
    pub(crate) guessed_late: u64,
    /// What is taken for lost, and perhaps was late: see [`doubt_guesses`](Tally::doubt_guesses).
    pub(crate) doubtful: u64,
    /// Those of which it is not known whether they were late, too, or lost: see [`settle`].
    pub(crate) perhaps_late: u64,
    /// Of what is taken for lost behind the tap, this rests on silence alone: their answer may have been lost, or stand for others too.
    pub(crate) unproven: u64,
    /// How much later those came that were late.
    pub(crate) lateness: Totals,
    /// Packets that the tap saw behind others: of what else is late, answers tell.
    pub(crate) overtaken: u64,
    /// Those that were late by more than paths of a network differ: see [`MUCH_NS`].
    pub(crate) much_late: u64,
    /// The newest one that is known to have arrived, as times or numbers of packets go, and how many behind it were lost.
    pub(crate) alive_at: i64,
    pub(crate) lost_in_a_row: u64,
}

/// The interface that recorded the packets of a path: a plane, where each has its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, crate::stored::Stored)]
pub(crate) enum SeenAt {
    #[default]
    Nowhere,
    One(u16),
    /// The first one of several.
    Several(u16),
}

impl SeenAt {
    fn add(&mut self, interface: u16) {
        *self = match *self {
            SeenAt::Nowhere => SeenAt::One(interface),
            SeenAt::One(before) if before == interface => return,
            SeenAt::One(first) | SeenAt::Several(first) => SeenAt::Several(first),
        };
    }

    /// Whether this is not the interface that recorded its first packet: another tap, or another way.
    pub(crate) fn is_elsewhere(self, interface: u16) -> bool {
        match self {
            SeenAt::Nowhere => false,
            SeenAt::One(first) | SeenAt::Several(first) => first != interface,
        }
    }

    fn one(self) -> Option<u16> {
        match self {
            SeenAt::One(interface) => Some(interface),
            _ => None,
        }
    }
}

heap! { Tally {} }

impl Tally {
    /// One more packet on it, the `n`-th of the flow.
    pub(crate) fn add(&mut self, packet: &Carried, n: u64) {
        if self.lost_before > 0 {
            self.lost_in_a_row = 0;
        }
        self.comes_at(n);
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
        self.marked += u64::from(packet.is_marked);
        self.last_ns = self.last_ns.max(packet.time);
        self.interface.add(packet.interface);
    }

    /// It carries the `n`-th packet of the flow.
    pub(crate) fn comes_at(&mut self, n: u64) {
        let pause = n.saturating_sub(self.last_at);
        if self.packets > 0 && pause > 1 {
            self.longest_pause = self.longest_pause.max(pause);
        }
        self.last_at = n;
    }

    /// Nothing yet, on a path that this interface records.
    pub(crate) fn at(interface: u16, last_ns: i64) -> Tally {
        Tally { interface: SeenAt::One(interface), last_ns, ..Tally::default() }
    }

    /// A path that carried nothing to the tap, where so many were lost.
    pub(crate) fn never_seen(lost: u64) -> Tally {
        Tally { lost, lost_before: lost, lost_in_a_row: lost, ..Tally::default() }
    }

    /// One that was sent then was lost before the tap.
    pub(crate) fn loses_before(&mut self, sent: i64) {
        (self.lost, self.lost_before) = (self.lost + 1, self.lost_before + 1);
        // What the tap has seen on it since shows that it lives.
        self.lost_in_a_row += u64::from(sent > self.last_ns);
    }

    /// One that was sent then was lost behind the tap.
    pub(crate) fn loses(&mut self, sent: i64) {
        self.lost += 1;
        self.lost_in_a_row += u64::from(sent > self.alive_at);
    }

    /// One that was sent then has arrived.
    pub(crate) fn lives(&mut self, sent: i64) {
        if sent > self.alive_at {
            (self.alive_at, self.lost_in_a_row) = (sent, 0);
        }
    }

    /// One that was sent then, and was taken for lost behind the tap, arrived so much later than others.
    pub(crate) fn was_late(&mut self, sent: i64, by: u64) {
        (self.lost, self.late) = (self.lost.saturating_sub(1), self.late + 1);
        self.proven_late += 1;
        self.lost_in_a_row = self.lost_in_a_row.saturating_sub(u64::from(sent > self.alive_at));
        self.later(by);
    }

    /// One came behind others that were sent later, if that is known so much later.
    pub(crate) fn comes_late(&mut self, by: Option<u64>) {
        self.late += 1;
        by.into_iter().for_each(|by| self.later(by));
    }

    /// One was so much later than others.
    pub(crate) fn later(&mut self, by: u64) {
        self.lateness.add(by);
        self.much_late += u64::from(by >= MUCH_NS);
    }

    /// Its packets come behind what asks for them again, nearly all: what looks like retransmissions were first transmissions, and late. A sender does not
    /// send retransmissions alone on one of its paths. Returns whether it is so.
    pub(crate) fn is_filled(&self, all: u64, packets: u64) -> bool {
        let (others, carried) = (all - self.filled, packets - self.packets);
        self.filled >= SILENT
            && self.filled * 2 >= self.packets
            && u128::from(self.filled) * u128::from(carried)
                >= u128::from(FAR * (others + 1)) * u128::from(self.packets)
    }

    /// Takes what looks like retransmissions for late.
    pub(crate) fn was_filled(&mut self) {
        self.late += self.filled;
        self.resent = self.resent.saturating_sub(self.filled);
        (self.lost, self.lost_before, self.lost_in_a_row) =
            (self.lost.saturating_sub(self.filled), self.lost_before.saturating_sub(self.filled), 0);
    }

    /// Takes what was guessed to be late for lost again.
    pub(crate) fn doubt_guesses(&mut self) {
        let guessed = std::mem::take(&mut self.guessed_late);
        self.lost += guessed;
        self.doubtful = guessed;
        (self.late, self.proven_late) =
            (self.late.saturating_sub(guessed), self.proven_late.saturating_sub(guessed));
        if guessed > 0 {
            (self.lateness, self.much_late) = (Totals::default(), 0);
        }
    }

    /// What its sender sent again, and was not shown to be late.
    fn unknown(&self) -> u64 {
        self.lost.saturating_sub(self.lost_before + self.trimmed)
    }

    /// The same, on a path where all of it may have been late. `answered`: the share of packets that have an answer of their
    /// own, by chance. As many of those that are late are shown to be; where so many were, it is not known of the others what they were.
    fn lost_or_late(&self, answered: f64) -> u64 {
        const DEVIATIONS: f64 = 3.0;
        let all = (self.unknown() + self.proven_late) as f64;
        let deviation = (all * answered * (1.0 - answered)).sqrt();
        let are_most_late = self.proven_late as f64 >= all * answered - DEVIATIONS * deviation;
        if self.proven_late >= FEW && are_most_late { self.unknown() } else { 0 }
    }

    /// What was sent on it, as far as that is known: what was lost before the tap is not among the packets.
    fn sent(&self, is_lost_before: bool) -> u64 {
        self.packets + if is_lost_before { self.lost } else { 0 }
    }
}

/// What was sent again on each path of a flow, and is not known to be lost or late. Where more is sent again on a path than on the others, and not more of that
/// is shown to be late than there, it was lost: acknowledgements that were lost make a sender repeat what had arrived, on all paths.
pub(crate) fn lost_or_late(tallies: &[Tally], answered: f64) -> Vec<u64> {
    let unproven = unproven(tallies, answered);
    let late = perhaps_late(tallies, answered);
    late.into_iter().zip(unproven).map(|(late, unproven)| late.max(unproven)).collect()
}

/// What rests on silence alone, on each path. Where each packet that arrives has an answer of its own, silence tells that it was lost.
fn unproven(tallies: &[Tally], answered: f64) -> Vec<u64> {
    const EACH: f64 = 0.99;
    let sum = |of: fn(&Tally) -> u64| tallies.iter().map(of).sum::<u64>();
    let packets = sum(|path| path.packets);
    let arrived = packets.saturating_sub(sum(|path| path.lost.saturating_sub(path.lost_before)));
    let has_each = packets as f64 * answered >= arrived as f64 * EACH;
    tallies.iter().map(|path| if has_each { 0 } else { path.unproven.min(path.unknown()) }).collect()
}

fn perhaps_late(tallies: &[Tally], answered: f64) -> Vec<u64> {
    const DEVIATIONS: f64 = 3.0;
    let sum = |of: fn(&Tally) -> u64| tallies.iter().map(of).sum::<u64>();
    let again = |path: &Tally| path.unknown() + path.proven_late;
    let [packets, all, proven] =
        [sum(|p| p.packets), tallies.iter().map(again).sum(), sum(|p| p.proven_late)];
    let of_path = |path: &Tally| {
        let share = path.packets as f64 / packets.max(1) as f64;
        let usual = (proven - path.proven_late) as f64 * share / (1.0 - share).max(f64::MIN_POSITIVE);
        let is_as_others = path.proven_late as f64 <= usual + DEVIATIONS * usual.sqrt();
        let stands_out = is_significant(again(path), all, share, tallies.len() as u64);
        if stands_out && is_as_others { 0 } else { path.lost_or_late(answered) }
    };
    tallies.iter().map(of_path).collect()
}

/// Takes what is [lost or late](lost_or_late) for neither.
pub(crate) fn settle(tallies: &mut [Tally], answered: f64) {
    let (unproven, late) = (unproven(tallies, answered), perhaps_late(tallies, answered));
    for ((tally, unproven), late) in tallies.iter_mut().zip(unproven).zip(late) {
        (tally.perhaps_late, tally.lost) = (late, tally.lost - late);
        // To judge the path, they are losses: on good paths, there are as many.
        tally.unproven = unproven.saturating_sub(late);
    }
}

/// What is known of the packets of a flow that were sent again, and had been taken for lost behind the tap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BehindTap {
    /// A second tap tells what was lost: so many. Otherwise, so many are still taken for lost, and none of the others is known to be.
    lost: u64,
    is_told: bool,
    late: u64,
    /// So many were trimmed.
    trimmed: u64,
}

impl BehindTap {
    /// Of these; `None` where nothing more is known of them. `is_told`: a second tap told them.
    pub(crate) fn of(tallies: &[Tally], is_told: bool) -> Option<BehindTap> {
        let lost = tallies.iter().map(|tally| tally.lost.saturating_sub(tally.lost_before + tally.trimmed));
        let late = tallies.iter().map(|tally| tally.proven_late).sum();
        let doubtful = tallies.iter().map(|tally| tally.doubtful).sum::<u64>();
        let lost = lost.sum::<u64>().saturating_sub(doubtful);
        let trimmed = tallies.iter().map(|tally| tally.trimmed).sum();
        Some(BehindTap { lost, is_told, late, trimmed }).filter(|_| is_told || late > 0 || doubtful > 0)
    }

    /// Of so many retransmissions of what was not lost behind the tap, those of what had arrived: the others had been trimmed.
    pub(crate) fn had_arrived(&self, sent_again: u64) -> u64 {
        sent_again.saturating_sub(self.trimmed)
    }

    /// The bounds of what was lost behind the tap, of those that are known without this.
    pub(crate) fn narrow(&self, [least, most]: [u64; 2]) -> [u64; 2] {
        match self.is_told {
            true => [self.lost.min(most); 2],
            false => {
                let most = most.saturating_sub(self.late);
                [least.min(self.lost).min(most), most]
            }
        }
    }
}

/// What the tap shows of a flow's paths.
#[derive(Clone, Copy)]
pub(crate) struct View {
    /// What is lost is lost before the tap.
    pub(crate) is_lost_before: bool,
    /// Answers, or a second tap, tell what is lost from what is late.
    pub(crate) is_known: bool,
}

impl View {
    /// What of a path is judged: where nothing tells what arrived, what was sent again is not all lost in a row.
    fn of(self, tally: &Tally) -> Tally {
        let in_a_row = tally.lost_in_a_row;
        let lost_in_a_row = if self.is_known { in_a_row } else { in_a_row.min(tally.lost_before) };
        Tally { lost_in_a_row, ..*tally }
    }
}

/// A row for each path, of which `entropy` is the source port and the flow label.
pub(crate) fn rows(
    of: &OfFlow,
    tallies: &[Tally],
    view: View,
    entropy: impl Iterator<Item = (u16, Option<u16>)>,
) -> impl Iterator<Item = FlowPath> {
    let judged: Vec<Tally> = tallies.iter().map(|tally| view.of(tally)).collect();
    let mut states = judge(&judged, view.is_lost_before);
    for (state, tally) in states.iter_mut().zip(tallies) {
        if tally.doubtful * 2 > tally.lost && matches!(state, PathState::Lossy | PathState::Dead) {
            *state = PathState::Repeated;
        }
    }
    for (state, tally) in states.iter_mut().zip(tallies).filter(|_| !view.is_known) {
        let is_behind = tally.lost.saturating_sub(tally.trimmed) > 2 * tally.lost_before;
        if is_behind && matches!(state, PathState::Lossy | PathState::Dead) {
            *state = PathState::Repeated;
        }
    }
    let is_uneven = is_uneven(tallies, &states);
    let packets: u64 = tallies.iter().map(|tally| tally.packets).sum();
    tallies.iter().zip(states).zip(entropy).map(move |((tally, state), (udp_src_port, flow_label))| {
        FlowPath {
            flow: of.flow,
            src: of.src.to_string(),
            dst: of.dst.to_string(),
            dest_qp: of.dest_qp,
            spdcid: of.spdcid,
            udp_src_port,
            flow_label,
            segments: None,
            paths: tallies.len() as u64,
            packets: tally.packets,
            share: tally.packets as f64 / packets.max(1) as f64,
            lost: tally.lost.saturating_sub(if state == PathState::Dead { 0 } else { tally.unproven }),
            lost_unattributed: 0,
            resent: tally.resent,
            marked: tally.marked,
            late: tally.late,
            late_mean_ns: tally.lateness.spread()[1],
            trimmed: tally.trimmed,
            ack_rtt_mean_ns: None,
            ack_rtt_max_ns: None,
            transit_mean_ns: tally.transit.spread()[1],
            transit_max_ns: tally.transit.spread()[2],
            skipped_ns: None,
            last_ns: tally.last_ns,
            interface: tally.interface.one(),
            link: None,
            state,
            is_uneven,
        }
    })
}

/// Paths that stand out come first, then by losses and ports.
pub(crate) fn in_order(mut paths: Vec<FlowPath>) -> Vec<FlowPath> {
    let key = |path: &FlowPath| {
        let is_good = path.state == PathState::Good;
        (is_good, Reverse(path.lost), path.flow, path.segments.clone(), path.flow_label, path.udp_src_port)
    };
    paths.order_by_key(key);
    paths.truncate(MAX_PATHS);
    paths
}

/// Planes that stand out, by the interface that recorded each, and how: where half of a flow's paths are bad, none of them is beside the others.
/// Of flows whose paths are on several interfaces, each path on one.
pub(crate) fn planes(paths: &[FlowPath]) -> Vec<(u16, PathState)> {
    let key = |path: &FlowPath| (path.src.clone(), path.dst.clone(), path.dest_qp, path.spdcid);
    let mut used: HashMap<_, BTreeSet<Option<u16>>> = HashMap::new();
    for path in paths {
        used.entry(key(path)).or_default().insert(path.interface);
    }
    used.retain(|_, interfaces| interfaces.len() > 1 && !interfaces.contains(&None));
    let mut planes: BTreeMap<u16, (u64, Tally)> = BTreeMap::new();
    for path in paths.iter().filter(|path| used.contains_key(&key(path))) {
        let Some(interface) = path.interface else { continue };
        let (paths, tally) = planes.entry(interface).or_default();
        *paths += 1;
        tally.packets += path.packets;
        tally.lost += path.lost;
        tally.marked += path.marked;
        tally.late += path.late;
        tally.trimmed += path.trimmed;
    }
    // A plane of one path is that path.
    if planes.len() < 2 || planes.values().any(|(paths, _)| *paths < 2) {
        return Vec::new();
    }
    let tallies: Vec<Tally> = planes.values().map(|(_, tally)| *tally).collect();
    planes.into_keys().zip(judge(&tallies, true)).filter(|(_, state)| *state != PathState::Good).collect()
}

/// Paths that several flows take: what is too little of each flow may be enough of all of them.
pub(crate) fn judge_shared(paths: &mut [FlowPath]) {
    let key = |path: &FlowPath| (path.segments.clone(), path.flow_label, path.udp_src_port);
    let mut shared: BTreeMap<_, (u64, Tally)> = BTreeMap::new();
    for path in &*paths {
        let (flows, tally) = shared.entry(key(path)).or_default();
        *flows += 1;
        tally.packets += path.packets;
        tally.lost += path.lost;
        tally.marked += path.marked;
        tally.late += path.late;
        tally.trimmed += path.trimmed;
    }
    shared.retain(|_, (flows, _)| *flows > 1);
    let tallies: Vec<Tally> = shared.values().map(|(_, tally)| *tally).collect();
    let states: BTreeMap<_, PathState> = shared.into_keys().zip(judge(&tallies, true)).collect();
    for path in paths.iter_mut().filter(|path| path.state == PathState::Good) {
        let state = states.get(&key(path)).copied().unwrap_or(PathState::Good);
        let has_some = match state {
            PathState::Lossy => path.lost > 0,
            PathState::Trimming => path.trimmed > 0,
            PathState::Congested => path.marked > 0,
            _ => false,
        };
        if has_some {
            path.state = state;
        }
    }
}

/// So few of something show nothing.
const FEW: u64 = 3;
/// A path has so many times the rate of the others.
const FAR: u64 = 4;
/// A path is silent if the others carried so many packets each since it last carried one, and so many times as many as are usual until one is used again.
const SILENT: u64 = 16;
const PAUSES: u64 = 4;

/// That so many are on one of the paths by chance is less likely than this.
const BY_CHANCE: f64 = 5e-3;

/// Whether more of something are on one of `paths` than can be by chance: `mine` of `all`, where it carried this share of the packets. Chernoff's bound.
fn is_significant(mine: u64, all: u64, share: f64, paths: u64) -> bool {
    (paths as f64).ln() - all as f64 * divergence(mine, all, share) <= BY_CHANCE.ln()
}

/// How far more `mine` of `all` is than this share, as Kullback and Leibler measure it; 0: it is not more.
fn divergence(mine: u64, all: u64, share: f64) -> f64 {
    let own = mine as f64 / all.max(1) as f64;
    if own <= share {
        return 0.0;
    }
    let rest = if mine < all { (1.0 - own) * ((1.0 - own) / (1.0 - share)).ln() } else { 0.0 };
    own * (own / share.max(f64::MIN_POSITIVE)).ln() + rest
}

/// The state of each path, beside the others. `is_lost_before`: what is lost is lost before the tap.
fn judge(paths: &[Tally], is_lost_before: bool) -> Vec<PathState> {
    let mut states = vec![PathState::Good; paths.len()];
    let end = paths.iter().map(|path| path.last_at).max().unwrap_or(0);
    // Each beside those that are good: a very bad path does not hide one that is less bad.
    loop {
        let good = |at: &usize| states[*at] == PathState::Good;
        let beside: Vec<usize> = (0..paths.len()).filter(good).collect();
        let tallies: Vec<Tally> = beside.iter().map(|&at| paths[at]).collect();
        let found = judge_once(&tallies, is_lost_before, end);
        let is_none = |found: &[PathState]| found.iter().all(|state| *state == PathState::Good);
        let found = if is_none(&found) { judge_several(&tallies, is_lost_before) } else { found };
        let is_done = is_none(&found);
        beside.into_iter().zip(found).for_each(|(at, state)| states[at] = state);
        if is_done {
            return states;
        }
    }
}

/// Whether what took so long on one path took much longer than on the others, of which the longest took that: on average, or always.
fn is_slow(own: &Totals, all: &Totals, others_most: u64, paths: u64) -> bool {
    let others = (all.sum - own.sum).checked_div(all.count - own.count);
    let [least, mean, _] = own.spread();
    let (Some(others), Some(least), Some(mean)) = (others, least, mean) else { return false };
    let is_always = least > others_most && mean > others.saturating_add(others / 2);
    is_slower(own, all, paths) || own.count >= FEW && is_always
}

/// Whether it took more than twice as long as on the others, on average, and that is not by chance: where a receiver answers most at once, and some later, the
/// means of few differ by as much. Then all took longer than the others do, or the mean of so many between 0 and the longest is that far off by chance hardly
/// ever (Hoeffding's bound).
fn is_slower(own: &Totals, all: &Totals, paths: u64) -> bool {
    let others = (all.sum - own.sum).checked_div(all.count - own.count);
    let [Some(least), Some(mean), _] = own.spread() else { return false };
    let Some(others) = others.filter(|&others| own.count > FEW && mean > others.saturating_mul(2)) else {
        return false;
    };
    let share = (mean - others) as f64 / all.max.max(1) as f64;
    least > others || (paths as f64).ln() - 2.0 * own.count as f64 * share * share <= BY_CHANCE.ln()
}

/// Whether what was late on it was so by more than answers on the other paths differ: a sender that repeats in haste shows none of its path to be slow.
fn is_much_later(path: &Tally, all: &Totals) -> bool {
    let others = (all.sum - path.rtts.sum).checked_div(all.count - path.rtts.count);
    let usual = others.zip(all.spread()[0]).map(|(mean, least)| mean.saturating_sub(least));
    usual.zip(path.lateness.spread()[1]).is_none_or(|(usual, by)| by > usual.saturating_mul(2))
}

/// Packets of healthy paths may be so late: one is longer, or its queues are. Some hundred metres of fibre are a microsecond.
const MUCH_NS: u64 = 2_500;

/// Whether what came late on it was so by much, mostly, and by a good part of what answers take. Few that come very late, as what is sent again after a timeout,
/// make none slow.
fn is_long(path: &Tally, all: &Totals) -> bool {
    const PART: u64 = 3;
    let others = (all.sum - path.rtts.sum).checked_div(all.count - path.rtts.count);
    let usual = others.map_or(0, |mean| mean / PART);
    let own = path.rtts.spread()[1].filter(|_| path.rtts.count > FEW && path.overtaken * 2 < path.late);
    // Where answers tell it, how long they take tells by how much: a packet that was late was so beside the soonest.
    if let (Some(own), Some(others)) = (own, others) {
        return own.saturating_sub(others) >= usual.max(MUCH_NS);
    }
    path.lateness.spread()[1].is_none_or(|by| by >= usual && path.much_late * 2 >= path.lateness.count)
}

/// After how many packets of the flow a path is used again at the latest, of most paths: a sender may take one for a burst, or for a message. `None`: most were not
/// used again yet.
fn usual_pause(paths: &[Tally]) -> Option<u64> {
    let mut pauses: Vec<u64> = paths.iter().map(|path| path.longest_pause).collect();
    pauses.sort_unstable();
    pauses.get(pauses.len() / 2).copied().filter(|&pause| pause > 0)
}

fn judge_once(paths: &[Tally], is_lost_before: bool, end: u64) -> Vec<PathState> {
    let sum = |of: fn(&Tally) -> u64| paths.iter().map(of).sum::<u64>();
    let proven = sum(|p| p.proven_late + p.perhaps_late);
    let unproven = sum(|p| p.unproven.min(p.lost));
    let [packets, lost, marked, late, trimmed] =
        [sum(|p| p.packets), sum(|p| p.lost), sum(|p| p.marked), sum(|p| p.late), sum(|p| p.trimmed)];
    let n = paths.len() as u64;
    let of_all = |of: fn(&Tally) -> Totals| {
        let mut all = Totals::default();
        paths.iter().for_each(|path| all.merge(of(path)));
        all
    };
    let (transit, rtts) = (of_all(|p| p.transit), of_all(|p| p.rtts));
    let pause = usual_pause(paths);
    let others_most = |path: &Tally| {
        let others = paths.iter().filter(|other| !std::ptr::eq(*other, path));
        others.map(|other| other.transit.max).max().unwrap_or(0)
    };
    let state = |path: &Tally| {
        let others = packets - path.packets;
        // So many times as often as on all others together, one more counted there.
        let stands_out = |mine: u64, all: u64, sent: u64| {
            mine >= FEW
                && is_significant(mine, all, sent as f64 / (sent + others).max(1) as f64, n)
                && u128::from(mine) * u128::from(others)
                    >= u128::from(FAR * (all - mine + 1)) * u128::from(sent.max(1))
        };
        let sent = path.sent(is_lost_before);
        let silence = end - path.last_at;
        let is_silent = silence >= SILENT * n && pause.is_some_and(|pause| silence >= PAUSES * pause);
        let is_dead = path.lost_in_a_row >= SILENT || path.lost >= SILENT && path.lost * 10 >= sent * 9;
        // A path that loses now and then is left by its sender, and is not dead.
        let now_and_then = if is_silent { path.lost.saturating_sub(path.lost_in_a_row) } else { path.lost };
        // Where what had arrived is sent again too, and not all of that shows, what is sent again of a bad path is more than of others.
        let again = path.lost + path.proven_late + path.perhaps_late;
        let share = sent as f64 / (sent + others).max(1) as f64;
        let is_more = proven == 0 || is_significant(again, lost + proven, share, n);
        // What its sender repeated had only been late, mostly.
        let is_late = path.proven_late > 2 * path.lost
            && is_more
            && is_much_later(path, &rtts)
            && stands_out(path.proven_late + path.perhaps_late, proven, path.packets)
            || path.late * 5 >= path.packets
                && path.late > 2 * path.lost
                && is_long(path, &rtts)
                && stands_out(path.late, late, path.packets);
        // Beside much that rests on silence, what is known to be lost tells by itself.
        let is_surely_more =
            unproven > 0 && stands_out(path.lost.saturating_sub(path.unproven), lost - unproven, sent);
        let is_lossy = is_more && stands_out(now_and_then, lost, sent) || is_surely_more;
        let is_slow = is_slow(&path.transit, &transit, others_most(path), n);
        let answers_are_slow = is_slower(&path.rtts, &rtts, n);
        let is_marked = stands_out(path.marked, marked, path.packets);
        match () {
            () if is_late => PathState::Slow,
            () if is_dead => PathState::Dead,
            // What is trimmed is lost, too.
            () if stands_out(path.trimmed, trimmed, sent) => PathState::Trimming,
            () if is_lossy => PathState::Lossy,
            () if is_slow || is_silent && answers_are_slow && path.lost_in_a_row < FEW => PathState::Slow,
            // What came to the last tap went on.
            () if is_silent && !is_marked && (path.transit.count == 0 || path.lost_in_a_row > 0) => {
                PathState::Dead
            }
            () if path.late * 5 >= path.packets
                && is_long(path, &rtts)
                && stands_out(path.late, late, path.packets) =>
            {
                PathState::Slow
            }
            () if is_marked => PathState::Congested,
            () if answers_are_slow => PathState::Slow,
            () => PathState::Good,
        }
    };
    paths.iter().map(state).collect()
}

/// Paths that are bad together, at most half of them, where none stands out beside all others: those of a plane, or of a spine.
fn judge_several(paths: &[Tally], is_lost_before: bool) -> Vec<PathState> {
    let sent = |path: &Tally| path.sent(is_lost_before);
    // What was late is counted as such; beside what may have been late on other paths, the rest may be by chance.
    let is_lost = |path: &Tally| path.perhaps_late == 0 && path.proven_late <= path.lost / 2;
    let again = |path: &Tally| path.lost + path.perhaps_late;
    let lossy = worst(paths, again, sent).filter(|bad| bad.iter().all(|&at| is_lost(&paths[at])));
    let bad = None
        .or_else(|| worst(paths, |path| path.trimmed, sent).map(|bad| (bad, PathState::Trimming)))
        .or_else(|| lossy.map(|bad| (bad, PathState::Lossy)))
        .or_else(|| slowest(paths, |path| &path.transit).map(|bad| (bad, PathState::Slow)))
        .or_else(|| latest(paths).map(|bad| (bad, PathState::Slow)))
        .or_else(|| {
            worst(paths, |path| path.marked, |path| path.packets).map(|bad| (bad, PathState::Congested))
        })
        .or_else(|| slowest(paths, |path| &path.rtts).map(|bad| (bad, PathState::Slow)));
    let mut states = vec![PathState::Good; paths.len()];
    let (bad, state) = bad.unwrap_or_default();
    bad.into_iter().for_each(|at| states[at] = state);
    states
}

/// The paths, at most half of them, on which much more of something is than on the others: each of them has so many times their rate, and that all of it is on these by chance is
/// unlikely, whichever paths they are.
fn worst(paths: &[Tally], of: impl Fn(&Tally) -> u64, sent: impl Fn(&Tally) -> u64) -> Option<Vec<usize>> {
    let rate = |at: usize| of(&paths[at]) as f64 / sent(&paths[at]).max(1) as f64;
    let mut order: Vec<usize> = (0..paths.len()).filter(|&at| sent(&paths[at]) > 0).collect();
    order.order_by(|&a, &b| rate(b).total_cmp(&rate(a)));
    let n = order.len();
    let sum = |places: &[usize], what: &dyn Fn(&Tally) -> u64| {
        places.iter().map(|&at| what(&paths[at])).sum::<u64>()
    };
    let all = sum(&order, &of);
    let packets = sum(&order, &sent);
    // The logarithm of how many choices of so many paths there are.
    let mut choices = 0.0;
    let mut most: Option<(f64, usize)> = None;
    for k in 1..=n / 2 {
        choices += ((n - k + 1) as f64 / k as f64).ln();
        let bad = &order[..k];
        let (mine, least) = (sum(bad, &of), paths[bad[k - 1]]);
        let (of_rest, sent_of_rest) = (all - mine, packets - sum(bad, &sent));
        let is_far = of(&least) >= FEW
            && u128::from(of(&least)) * u128::from(sent_of_rest)
                >= u128::from(FAR * (of_rest + 1)) * u128::from(sent(&least).max(1));
        if !is_far {
            continue;
        }
        let share = sum(bad, &sent) as f64 / packets.max(1) as f64;
        let by_chance = choices + (n as f64).ln() - all as f64 * divergence(mine, all, share);
        if by_chance <= BY_CHANCE.ln() && most.is_none_or(|(least, _)| by_chance < least) {
            most = Some((by_chance, k));
        }
    }
    most.map(|(_, k)| order[..k].to_vec())
}

/// The paths, at most half of them, which always took longer than the others do on average, and on average half as much again.
fn slowest(paths: &[Tally], of: impl Fn(&Tally) -> &Totals) -> Option<Vec<usize>> {
    /// Samples of each path: fewer are all slow by chance.
    const ENOUGH: u64 = 8;
    let mean = |at: usize| of(&paths[at]).spread()[1].unwrap_or(0);
    let mut order: Vec<usize> = (0..paths.len()).filter(|&at| of(&paths[at]).count >= ENOUGH).collect();
    order.order_by_key(|&at| std::cmp::Reverse(mean(at)));
    let is_apart = |k: &usize| {
        let (slow, rest) = order.split_at(*k);
        let Some(&next) = rest.first() else { return false };
        let others = mean(next);
        mean(slow[k - 1]) > others.saturating_add(others / 2)
            && slow.iter().all(|&at| of(&paths[at]).spread()[0].is_some_and(|least| least > others))
    };
    (1..=order.len() / 2).find(is_apart).map(|k| order[..k].to_vec())
}

/// The paths, at most half of them, of which many packets were overtaken by much, and many more than on the others: there, some jitter overtakes as many.
fn latest(paths: &[Tally]) -> Option<Vec<usize>> {
    /// So few times are by chance.
    const ENOUGH: u64 = 8;
    let mut rtts = Totals::default();
    paths.iter().for_each(|path| rtts.merge(path.rtts));
    let bad = worst(paths, |path| path.much_late, |path| path.packets)?;
    let is_late =
        |path: &Tally| path.late * 5 >= path.packets && path.much_late >= ENOUGH && is_long(path, &rtts);
    bad.iter().all(|&at| is_late(&paths[at])).then_some(bad)
}

/// Whether packets are spread unevenly: one path has half as much again as the mean, or half of it, and they are enough to tell.
fn is_uneven(paths: &[Tally], states: &[PathState]) -> bool {
    /// Of each path: shares of fewer differ by chance.
    const ENOUGH: u64 = 64;
    let living: Vec<u64> = paths
        .iter()
        .zip(states)
        // What its sender avoids is bad, not uneven.
        .filter(|(_, state)| **state == PathState::Good)
        .map(|(path, _)| path.packets + path.lost)
        .collect();
    let (n, all) = (living.len() as u64, living.iter().sum::<u64>());
    n > 1 && all >= ENOUGH * n && living.iter().any(|&one| one * n * 2 > all * 3 || one * n * 2 < all)
}
