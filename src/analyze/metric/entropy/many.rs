//! A flow of several ports: what each carried, and what the order of its packets and its answers tell of each.

use super::{
    super::{
        Placed,
        crossings::Crossings,
        paths::{Carried, Tally, settle},
        suspects::{Acked, Late, Suspects},
        turns::{Place, Turns, Unseen},
    },
    FEW_PORTS, Used,
    memory::{Memory, REMEMBERED, Sent},
};
use crate::{
    analyze::{
        model::{Class, Space},
        packet::Facts,
        table::run::RunSum,
    },
    opcode::Direction,
    wire::Psn,
};

/// So many retransmissions that went on with others show how the sender retransmits.
const MIN_SWEPT: u64 = 16;
/// Requests that had arrived already, and whose class is not known.
pub(super) const MAX_STALE: usize = 64;

/// The ports of a flow.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(super) struct Many {
    /// In the order in which they came, and what each carried.
    pub(super) ports: Vec<u16>,
    pub(super) tallies: Vec<Tally>,
    /// Which ports the last PSNs had, and when.
    memory: Memory,
    /// The newest PSN.
    newest: Option<Psn>,
    turns: Turns,
    /// Packets on all of them that were beyond all before: what comes late, or again, makes no other path silent.
    packets: u64,
    /// The newest one of requests, and of responses.
    ahead: [Option<Psn>; 2],
    /// Requests, and responses with data.
    pub(super) data: u64,
    /// Retransmissions that follow each other, and one that came between them.
    sweep: Option<Sweep>,
    aside: Option<Aside>,
    /// Retransmissions that went on with others, and those that stood alone.
    swept: u64,
    alone: u64,
    /// All requests up to this one have arrived, as answers say.
    pub(super) answered: Option<Psn>,
    /// Requests that came when they had arrived already, and where, until their class is known; and the last of them.
    stale: Vec<(Psn, u16)>,
    last_stale: Option<Psn>,
    /// PSNs that were lost before the tap, on a port that is not known.
    pub(super) unattributed: u64,
    /// The ports between which most of these were.
    pub(super) unseen: Unseen,
    /// Losses before the tap, and behind it.
    pub(super) lost: [u64; 2],
    pub(super) switches: u64,
    /// Switches to a port that the flow had before.
    pub(super) returns: u64,
    /// What came to a second tap.
    pub(super) crossings: Crossings,
    /// Frames of it whose class is not known.
    pub(super) elsewhere: Vec<u64>,
    /// What was perhaps lost behind the tap; and acknowledgements, of which each may show one that was not.
    suspects: Suspects,
    acks: u64,
    /// Ports that are told apart.
    max: usize,
}

/// Retransmissions one behind the other, as go-back-N has them.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct Sweep {
    next: Psn,
    packets: u32,
}

/// A retransmission on the port `at`, which does not go on with those before. It is a loss on a port, before the tap (0) or behind it (1), unless they
/// go on, or it stands alone where the sender goes back.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct Aside {
    sweep: Option<Sweep>,
    at: u16,
    lost: Option<(u16, u8)>,
}

/// PSNs wrap after 24 bits.
fn place_of(psn: Psn) -> Place {
    Place(psn.0 << 8)
}

impl Many {
    /// That tells so many ports apart.
    pub(super) fn new(max: usize) -> Many {
        Many { max, ..Many::default() }
    }

    /// Whether only a few ports are told apart: of which is known what they carried, and nothing else.
    pub(super) fn has_few(&self) -> bool {
        self.max <= FEW_PORTS
    }

    /// The place of a port in the lists, which may begin with it.
    pub(super) fn place(&mut self, port: u16) -> usize {
        let is_full = self.ports.len() >= self.max;
        if let Some(at) = self.find(port).or(is_full.then(|| self.max - 1)) {
            return at;
        }
        self.ports.push(port);
        self.tallies.push(Tally::default());
        self.ports.len() - 1
    }

    /// The flow had one port before.
    pub(super) fn begin(&mut self, used: &Used, next: &Facts) {
        let at = self.place(used.port);
        let (packets, bytes) = (u64::from(used.packets), used.bytes);
        self.packets = packets;
        self.tallies[at] =
            Tally { packets, bytes, last_at: packets, ..Tally::at(next.interface(), next.time()) };
    }

    pub(super) fn packet(&mut self, port: u16, packet: &Facts, place: &Placed) {
        let at = self.place(port);
        // What comes to another tap passed the first one, whatever it looks like.
        if self.tallies[at].interface.is_elsewhere(packet.interface())
            && place.space == Some(Direction::Request)
            && !matches!(place.class, Some(Class::Corrupt | Class::Trimmed))
            && self.crossings.pass(packet.interface())
        {
            if place.class.is_none() && self.elsewhere.len() < MAX_STALE {
                self.elsewhere.push(place.frame);
            }
            return self.elsewhere(port, packet, place);
        }
        // Damaged or trimmed between two taps, it is no copy of what the first one recorded.
        if self.crossings.are_seen()
            && matches!(place.class, Some(Class::Corrupt | Class::Trimmed))
            && self.tallies[at].interface.is_elsewhere(packet.interface())
        {
            self.tallies[at].trimmed += u64::from(place.class == Some(Class::Trimmed));
            return;
        }
        // Answers take the paths of what they answer, or any: what is on these says nothing.
        let is_data = !place.is_control && (place.space == Some(Direction::Request) || packet.payload() > 0);
        self.data += u64::from(is_data);
        self.packets += u64::from(self.goes_ahead(packet.psn(), place.space));
        let carried = Carried { is_marked: place.is_mark(packet), ..Carried::of(packet) };
        self.tallies[at].add(&carried, self.packets);
        if place.space != Some(Direction::Request) {
            return;
        }
        self.crossings.passes(packet.psn().0, at, packet.time());
        let is_stale = self.answered.is_some_and(|answered| packet.psn().distance_from(answered) <= 0);
        if is_stale && matches!(place.class, None | Some(Class::Retransmission)) {
            if self.stale.len() == MAX_STALE {
                self.stale.remove(0);
            }
            self.stale.push((packet.psn(), at as u16));
        }
        match place.class {
            // It may be sent again: the verdict tells.
            None => {}
            Some(class) => {
                let is_asked = Some(packet.is_ack_expected());
                let is_first = matches!(class, Class::New | Class::NewAfterGap);
                let sent = Sent { psn: packet.psn(), time: packet.time(), is_asked, is_first };
                self.classified(port, sent, class);
                if !matches!(class, Class::Retransmission | Class::Trimmed | Class::Corrupt) {
                    self.remember(sent, at);
                }
            }
        }
    }

    /// Whether a packet is beyond all of its kind before.
    fn goes_ahead(&mut self, psn: Psn, space: Option<Space>) -> bool {
        let Some(space) = space else { return true };
        let newest = &mut self.ahead[usize::from(space == Direction::Response)];
        let is_ahead = newest.is_none_or(|newest| psn.distance_from(newest) > 0);
        if is_ahead {
            *newest = Some(psn);
        }
        is_ahead
    }

    /// One of its packets was recorded before, perhaps at another tap.
    #[cold]
    pub(super) fn elsewhere(&mut self, port: u16, packet: &Facts, place: &Placed) {
        let at = self.place(port);
        let tally = &mut self.tallies[at];
        tally.marked += u64::from(place.is_mark(packet));
        if place.space == Some(Direction::Request) && tally.interface.is_elsewhere(packet.interface()) {
            self.crossings.arrives(packet.psn().0, at, packet.interface(), packet.time());
        }
    }

    pub(super) fn run(&mut self, port: u16, run: &RunSum) {
        let at = self.place(port);
        let tally = &mut self.tallies[at];
        self.packets += run.packets;
        self.ahead[usize::from(run.space == Direction::Response)] = Some(run.last_psn);
        self.data += run.packets;
        // The first one of the run may be behind others of the flow.
        tally.comes_at(self.packets - run.packets + 1);
        tally.last_at = self.packets;
        tally.packets += run.packets;
        tally.bytes += run.l1_bytes;
        tally.last_ns = tally.last_ns.max(run.last_ns);
        if run.space == Direction::Request {
            let newest = run.packets.min(REMEMBERED as u64) as u32;
            for back in (0..newest).rev() {
                let psn = run.last_psn.plus(back.wrapping_neg());
                self.remember(Sent { psn, time: run.last_ns, is_asked: None, is_first: true }, at);
            }
        }
    }

    /// Which port this PSN had.
    fn remember(&mut self, sent: Sent, at: usize) {
        let psn = sent.psn;
        if self.has_few() {
            return;
        }
        self.turns.takes(at, place_of(psn));
        if let Some(before) = self.memory.place_of(psn.plus(u32::MAX)) {
            self.turns.follows(before, at, place_of(psn));
        }
        // Packets of a slow path come behind those that were sent behind them.
        if let Some(behind) = self.memory.place_of(psn.plus(1)) {
            self.turns.follows(at, behind, place_of(psn.plus(1)));
        }
        if self.newest.is_none_or(|newest| psn.distance_from(newest) > 0) {
            self.newest = Some(psn);
        }
        self.note(&sent, at, false);
    }

    /// The last transmission of this PSN had this port.
    fn note(&mut self, sent: &Sent, at: usize, is_resent: bool) {
        if !self.has_few() {
            self.memory.note(sent, at, is_resent);
        }
    }

    /// Whether the tap saw the last transmission of this PSN: it saw it behind the last one of the PSN before, and the next PSN took the port whose turn was
    /// next. Where a sender goes back several times, what was seen may be of an earlier time.
    fn was_seen(&self, psn: Psn) -> bool {
        let Some(is_behind) = self.memory.is_behind_last(psn) else { return false };
        let next = self.memory.place_of(psn).and_then(|at| self.turns.behind(at));
        let behind = self.memory.place_of(psn.plus(1));
        is_behind && next.zip(behind).is_none_or(|(next, behind)| next == behind)
    }

    /// The place of the port that a PSN must have had which was not seen, as seen at this time.
    fn port_in_turn(&self, psn: Psn, now: i64) -> Option<usize> {
        let [before, behind] = [psn.plus(u32::MAX), psn.plus(1)];
        let were_resent = [before, behind].map(|one| self.memory.was_resent(one));
        // A sender that goes back sends what is before it and behind it at other times: then it was not between them.
        if self.goes_back() || were_resent.contains(&true) {
            let [first, last] = [before, behind].map(|one| self.memory.sent_at(one, now));
            let (first, last) = (first?, last?);
            let are_together = last >= first && (last - first) * 2 <= now - last;
            if were_resent[0] != were_resent[1] || !are_together {
                return None;
            }
        }
        self.turns.between(self.memory.place_of(before), self.memory.place_of(behind), place_of(psn))
    }

    /// Whether the packets of a whole turn came before this one.
    fn is_far_behind(&self, psn: Psn) -> bool {
        self.newest.is_some_and(|newest| newest.distance_from(psn) > self.ports.len() as i32)
    }

    /// A packet was lost on this port: before the tap (0), or behind it (1).
    fn lost_on(&mut self, at: usize, side: usize) {
        self.lost[side] += 1;
        if let Some(aside) = &mut self.aside {
            aside.lost = Some((at as u16, side as u8));
        }
    }

    fn lost_before(&mut self, at: usize, again: &Sent) {
        let sent = self.memory.sent_at(again.psn.plus(u32::MAX), again.time);
        self.tallies[at].loses_before(sent.unwrap_or(again.time));
        self.lost_on(at, 0);
    }

    /// One that was sent on this port is sent again.
    fn lost_behind(&mut self, at: usize, again: &Sent) {
        let sent = self.memory.sent_at(again.psn, again.time).unwrap_or(again.time);
        self.tallies[at].loses(sent);
        self.suspects.add(again.psn, at, [sent, again.time]);
        self.lost_on(at, 1);
    }

    /// All requests up to this one have arrived; an acknowledgement says so, or a NAK.
    pub(super) fn answers(&mut self, psn: Psn, is_ack: bool, time: i64) {
        let before = self.answered;
        if before.is_none_or(|before| psn.distance_from(before) > 0) {
            self.answered = Some(psn);
            let new = before.map_or(1, |before| psn.distance_from(before).unsigned_abs());
            for back in 0..new.min(REMEMBERED as u32) {
                let one = psn.plus(back.wrapping_neg());
                // Which transmission of several arrived is not known.
                if let (Some(at), Some(sent)) = (self.memory.place_of(one), self.memory.sent_at(one, time))
                    && !self.memory.was_resent(one)
                {
                    self.tallies[at].lives(sent);
                }
            }
        }
        self.suspects.on_progress(psn, time);
        if !is_ack {
            return self.suspects.on_nak(self.memory.sent_at(psn.plus(2), time), time);
        }
        self.acks += 1;
        let sent = self.memory.sent_at(psn, time).filter(|_| !self.memory.was_resent(psn));
        let is_asked = self.memory.was_asked(psn);
        let tallies = &self.tallies;
        let usual = |path: usize| tallies[path].lateness.spread()[1];
        if let Some(Late { path, sent, by, is_sure }) =
            self.suspects.on_ack(&Acked { psn, time, sent, is_asked }, usual)
        {
            self.tallies[path].was_late(sent, by);
            self.tallies[path].guessed_late += u64::from(!is_sure);
            self.lost[1] = self.lost[1].saturating_sub(1);
        }
    }

    /// Whether the sender goes back to what was lost, and sends all behind it again.
    pub(super) fn goes_back(&self) -> bool {
        self.swept >= MIN_SWEPT && self.swept / 4 > self.alone
    }

    /// A retransmission on this port. Returns whether it does not follow the one before.
    fn begins_sweep(&mut self, psn: Psn, at: usize) -> bool {
        let (sweep, aside) = (self.sweep, self.aside.take());
        let goes_on = |sweep: &Sweep| sweep.goes_on(psn);
        let is_alone = aside.is_some() && !sweep.is_some_and(|sweep| goes_on(&sweep));
        let before = aside.and_then(|aside| aside.sweep).filter(|before| is_alone && goes_on(before));
        if let Some(Aside { at, lost: Some((lost, side)), .. }) = aside.filter(|_| is_alone)
            && (before.is_some() || self.goes_back())
        {
            // What came between was late.
            for count in [&mut self.tallies[usize::from(lost)].lost, &mut self.lost[usize::from(side)]] {
                *count = count.saturating_sub(1);
            }
            if side == 0 {
                let tally = &mut self.tallies[usize::from(lost)];
                tally.lost_before = tally.lost_before.saturating_sub(1);
            }
            let tally = &mut self.tallies[usize::from(at)];
            (tally.late, tally.resent) = (tally.late + 1, tally.resent.saturating_sub(1));
        }
        let same = before.or(sweep.filter(goes_on));
        (self.alone, self.swept) = (self.alone + u64::from(is_alone), self.swept + u64::from(same.is_some()));
        let packets = same.map_or(1, |sweep| sweep.packets.saturating_add(1));
        self.sweep = Some(Sweep { next: psn.plus(1), packets });
        if same.is_none() {
            self.aside = Some(Aside { sweep: sweep.filter(Sweep::is_long), at: at as u16, lost: None });
        }
        same.is_none()
    }

    /// Whether a packet had come that had arrived before.
    fn was_stale(&mut self, psn: Psn, at: usize) -> bool {
        let Some(place) = self.stale.iter().position(|&stale| stale == (psn, at as u16)) else {
            return false;
        };
        self.stale.swap_remove(place);
        true
    }

    /// Whether a retransmission of what had arrived is one of several: these, too, follow each other.
    fn goes_on(&mut self, psn: Psn) -> bool {
        let last = self.last_stale.replace(psn);
        let follows = last.is_some_and(|last| psn.distance_from(last) == 1);
        follows || self.sweep.is_some_and(|sweep| sweep.goes_on(psn))
    }

    /// The class of a packet of requests is known.
    pub(super) fn classified(&mut self, port: u16, sent: Sent, class: Class) {
        let psn = sent.psn;
        let at = self.place(port);
        match class {
            // Sent again, it would have taken the port whose turn it was then.
            Class::LateOriginal | Class::Ambiguous => {
                let is_in_turn = self.port_in_turn(psn, sent.time).is_none_or(|there| there == at);
                let is_late = is_in_turn || class == Class::LateOriginal;
                if is_late && self.is_far_behind(psn) {
                    let behind = self.memory.sent_at(psn.plus(1), sent.time);
                    let tally = &mut self.tallies[at];
                    tally.late += 1;
                    if let Some(behind) = behind {
                        tally.later(sent.time.saturating_sub(behind).max(0) as u64);
                    }
                }
                self.remember(sent, at);
            }
            Class::Trimmed => {
                self.tallies[at].trimmed += 1;
            }
            Class::Retransmission => self.resent(&sent, at),
            _ => {}
        }
    }

    /// A packet of requests was sent again, on this port.
    fn resent(&mut self, sent: &Sent, at: usize) {
        let psn = sent.psn;
        let before = psn.plus(u32::MAX);
        let is_edge = self.memory.was_resent(psn) && !self.memory.was_resent(before);
        let last = self.memory.place_of(psn);
        // What came again was late, and not lost, if it came on the path whose turn it was behind a packet that was sent once.
        let is_own = is_edge
            && last.is_some_and(|last| last != at)
            && self.memory.place_of(before).and_then(|before| self.turns.behind(before)) == Some(at);
        let is_stale = self.was_stale(psn, at);
        // Where the tap saw its first transmission, this is another one. A sender that goes back has sent what comes alone before.
        let was_first = !self.goes_back() && self.memory.was_first(psn);
        let is_own = is_own && !was_first;
        let is_late = is_stale && !was_first && !self.goes_on(psn);
        let tally = &mut self.tallies[at];
        tally.filled += u64::from(last.is_none());
        tally.behind_filled += u64::from(is_late);
        if is_stale && !is_late {
            self.suspects.expects();
        }
        if is_own {
            let tally = &mut self.tallies[at];
            (tally.lost, tally.lost_before) =
                (tally.lost.saturating_sub(1), tally.lost_before.saturating_sub(1));
            self.lost[0] = self.lost[0].saturating_sub(1);
        }
        let is_first = !is_late && self.begins_sweep(psn, at);
        // It is repeated with others, and may have arrived: its answer shows nothing of these.
        if !is_late && !is_first && !is_stale {
            self.suspects.expects();
        }
        if is_own || is_late {
            self.tallies[at].late += 1;
        } else {
            self.tallies[at].resent += 1;
        }
        if is_late {
            return;
        }
        let turn = self.port_in_turn(psn, sent.time);
        // Where the sender goes back, the tap may not have seen the transmission that was lost.
        let goes_back = self.goes_back();
        let was_seen = goes_back && self.was_seen(psn);
        // Of packets that were all retransmitted, the tap saw the last transmission of those beside it, and not its own.
        let is_left_out = self.memory.was_resent(before)
            && !self.memory.was_resent(psn)
            && (self.memory.was_resent(psn.plus(1)) || self.alone <= self.swept);
        match (last, turn) {
            (Some(_), _) if is_own || !is_first || is_stale => {}
            (Some(last), Some(turn)) if last != turn && !is_edge && !was_seen && is_left_out => {
                self.lost_before(turn, sent)
            }
            (Some(last), _) if was_seen || !goes_back && !is_left_out => self.lost_behind(last, sent),
            // It may have taken any.
            (Some(_), _) => self.unattributed += 1,
            (None, Some(turn)) => self.lost_before(turn, sent),
            (None, None) => {
                self.unattributed += 1;
                if let (Some(before), Some(behind)) =
                    (self.memory.place_of(before), self.memory.place_of(psn.plus(1)))
                {
                    self.unseen.add([before, behind]);
                }
            }
        }
        self.note(sent, at, true);
    }

    /// What each path carried, and what is known of it in the end; whether a second tap told that; and packets that were lost on none that is known.
    pub(super) fn judged(&self) -> (Vec<Tally>, bool, u64) {
        let mut tallies = self.tallies.clone();
        let is_told = self.crossings.tell(&mut tallies);
        let mut unattributed = self.unattributed;
        if !is_told {
            let [all, packets] = [|tally: &Tally| tally.filled, |tally: &Tally| tally.packets]
                .map(|of| tallies.iter().map(of).sum::<u64>());
            let share = |n: u64, tally: &Tally| n as f64 / tally.packets.max(1) as f64;
            // Where more of another path was late, what looks like retransmissions are those of what was late there.
            let latest = tallies.iter().map(|tally| share(tally.late, tally)).fold(0.0, f64::max);
            // What is late was sent again, too: that comes behind it. Behind what was lost, nothing does, whichever path its sender takes then.
            let behind: u64 = tallies.iter().map(|tally| tally.behind_filled).sum();
            let is_filled = |tally: &Tally| {
                tally.is_filled(all, packets)
                    && share(tally.filled, tally) > latest
                    && behind * 2 >= tally.filled
            };
            let are_filled: Vec<bool> = tallies.iter().map(is_filled).collect();
            if are_filled.contains(&true) && !self.goes_back() {
                for (tally, is_filled) in tallies.iter_mut().zip(are_filled) {
                    if is_filled {
                        unattributed = unattributed.saturating_sub(tally.filled);
                        tally.was_filled();
                    } else {
                        // What came behind those was sent again for them.
                        tally.late = tally.late.saturating_sub(tally.behind_filled);
                        tally.resent += tally.behind_filled;
                    }
                }
            }
            unattributed += self.doubt(&mut tallies);
            // What comes twice is acknowledged at once. That shows, unless something new was acknowledged with it.
            let answered = (self.acks as f64 / self.data.max(1) as f64).clamp(0.5, 1.0);
            settle(&mut tallies, answered);
        }
        (tallies, is_told, unattributed)
    }

    /// Takes back what this flow does not prove. Returns how many losses were taken back.
    fn doubt(&self, tallies: &mut [Tally]) -> u64 {
        // Answers that tell something new, too, are believed where others tell nothing new.
        // What others show of another path says nothing of this one: a receiver that has asked for a packet may acknowledge it unasked.
        for tally in &mut *tallies {
            if tally.proven_late.saturating_sub(tally.guessed_late) * 16 < tally.guessed_late {
                tally.doubt_guesses();
            }
        }
        // Which of several was late is a guess: a path of few may be of no one.
        let most = tallies.iter().map(|tally| tally.proven_late).max().unwrap_or(0);
        let goes_back = self.goes_back();
        // Where the sender goes back, what is repeated was mostly not lost: where most was lost before the tap, what was seen may have been repeated for that.
        let [before, behind] = self.lost;
        let is_all_before = goes_back && before + self.unattributed > 2 * behind;
        let mut unattributed = 0;
        for tally in &mut *tallies {
            if tally.proven_late < most / 4 {
                tally.proven_late = 0;
            }
            if is_all_before {
                unattributed += tally.lost.saturating_sub(tally.lost_before);
                tally.lost = tally.lost.min(tally.lost_before);
            }
            // Most of what arrives was sent several times: that nothing is known to have arrived shows nothing.
            if goes_back && tally.lost_before * 2 <= tally.lost {
                tally.lost_in_a_row = 0;
            }
        }
        unattributed
    }

    /// The position of a port. Blocks that do not have it are skipped, 16 ports at a time.
    pub(super) fn find(&self, port: u16) -> Option<usize> {
        let is_among = |ports: &[u16; 16]| ports.iter().fold(false, |is_any, &one| is_any | (one == port));
        let (many, _) = self.ports.as_chunks();
        let before = many.iter().take_while(|&ports| !is_among(ports)).count() * 16;
        self.ports.get(before..)?.iter().position(|&one| one == port).map(|at| before + at)
    }
}

impl Sweep {
    /// Whether a retransmission of this PSN is one more of them. What is lost leaves a gap.
    fn goes_on(&self, psn: Psn) -> bool {
        const MOST_LOST: i32 = 4;
        let ahead = psn.distance_from(self.next);
        ahead == 0 || self.is_long() && (1..=MOST_LOST).contains(&ahead)
    }

    /// One alone is none.
    fn is_long(&self) -> bool {
        self.packets > 1
    }
}
