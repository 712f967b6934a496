//! Paths of requests that are sprayed over several, and what answers say of each.

use std::net::Ipv6Addr;

use crate::{
    analyze::{
        metric::{
            crossings::Crossings,
            paths::{Carried, OfFlow, Tally, View, lost_or_late, rows, settle},
            spread,
            turns::Unseen,
        },
        track::distribution::Totals,
    },
    dissect::Dissection,
    heap::heap,
    report::{FlowPath, PathState},
    wire::*,
};

const MAX_PATHS: usize = 512;
/// So few show nothing.
const ENOUGH: u64 = 4;

/// All of one sender to one receiver, in the order of their first packets.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct Ways {
    list: Vec<Way>,
    /// Packets that were lost before the tap: on paths that are known, and on others.
    lost_before: u64,
    lost_somewhere: u64,
    /// The paths between which most of those were that are on no path which the tap has seen.
    unseen: Unseen,
}

/// What tells one path from another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, crate::stored::Stored)]
pub(crate) struct Entropy {
    /// The low 16 bits of the flow label.
    pub(crate) label: u16,
    pub(crate) port: u16,
    /// Where the IPv6 header around the packet goes: in SRv6, the segments that are left. 0: there is none.
    pub(crate) segments: u128,
}

/// A path.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(super) struct Way {
    pub(super) entropy: Entropy,
    pub(super) tally: Tally,
    /// From its packets to the first SACK that shows them, without retransmissions.
    pub(super) shown_after: Totals,
    /// Acknowledgements that say that a packet of it came marked.
    pub(super) echoes: u64,
    /// Packets that were trimmed behind the tap, by NACKs.
    pub(super) trimmed_after: u64,
    /// When its receiver first asked to skip it always, and how many packets there had been.
    pub(super) skipped: Option<(i64, u64)>,
}

heap! {
    Ways { list }
    Way {}
}

impl Way {
    /// Which half of a structured entropy value is the label is disputed.
    pub(super) fn has(&self, entropy: u32) -> bool {
        let [label, port] = [self.entropy.label, self.entropy.port].map(u32::from);
        [label << 16 | port, port << 16 | label].contains(&entropy)
    }

    /// An answer to a packet of it took so long.
    pub(super) fn answered(&mut self, rtt: u64) {
        self.tally.rtts.add(rtt);
    }

    /// What it carried, and what answers say of that.
    fn tally(&self) -> Tally {
        Tally {
            marked: self.tally.marked.max(self.echoes),
            trimmed: self.tally.trimmed + self.trimmed_after,
            ..self.tally
        }
    }
}

impl Entropy {
    /// That of a packet which has this UDP source port, or what stands for it.
    pub(crate) fn of(d: &Dissection<'_>, port: u16) -> Entropy {
        let label = d.get::<Ipv6>().map_or(0, |ip| ip.flow_label() as u16);
        let segments = if d.tunnel_depth() > 0 { segments(d) } else { None };
        Entropy { label, port, segments: segments.unwrap_or(0) }
    }
}

impl Ways {
    /// The place of a path, which may begin with it; the last one stands for those for which there is no room.
    pub(super) fn place(&mut self, entropy: Entropy) -> usize {
        if let Some(at) = self.find(entropy) {
            return at;
        }
        if self.list.len() < MAX_PATHS {
            self.list.push(Way { entropy, ..Way::default() });
        }
        self.list.len() - 1
    }

    /// The place of a path that is known.
    pub(crate) fn find(&self, entropy: Entropy) -> Option<usize> {
        self.list.iter().position(|way| way.entropy == entropy)
    }

    /// One more packet, the `n`-th of all, on this path. Returns its place.
    pub(crate) fn carries(&mut self, entropy: Entropy, packet: &Carried, n: u64, is_trimmed: bool) -> usize {
        let at = self.place(entropy);
        let tally = &mut self.list[at].tally;
        tally.add(packet, n);
        tally.trimmed += u64::from(is_trimmed);
        at
    }

    /// A packet on it was a retransmission.
    pub(crate) fn resent(&mut self, at: usize) {
        self.list[at].tally.resent += 1;
    }

    /// A packet on it was lost.
    pub(crate) fn lost(&mut self, at: usize) {
        self.list[at].tally.lost += 1;
    }

    /// A packet that was sent then was lost before the tap, on this path if it is known.
    pub(crate) fn lost_before(&mut self, at: Option<usize>, sent: i64) {
        match at {
            Some(at) => {
                self.list[at].tally.loses_before(sent);
                self.lost_before += 1;
            }
            None => self.lost_somewhere += 1,
        }
    }

    /// One that was lost on no path that is known was sent between packets on these.
    pub(super) fn lost_between(&mut self, between: [usize; 2]) {
        self.unseen.add(between);
    }

    /// A path that carried nothing to the tap: what was lost is between the turns of the same two, whose ports leave one out.
    fn unseen(&self) -> Option<Way> {
        let [before, behind] = self.unseen.between().map(|at| self.list.get(at).map(|way| way.entropy));
        let (before, behind) = (before?, behind?);
        let port = |at: usize| self.list.get(at).map(|way| way.entropy.port);
        let (port, lost) = self.unseen.left_out(self.lost_somewhere, port)?;
        let entropy = Entropy { port, ..before };
        let is_alike = Entropy { port: behind.port, ..before } == behind;
        (is_alike && self.find(entropy).is_none()).then(|| Way {
            entropy,
            tally: Tally::never_seen(lost),
            ..Way::default()
        })
    }

    /// It was not lost but late.
    pub(super) fn was_not_lost_before(&mut self, at: Option<usize>) {
        match at {
            Some(at) => {
                let tally = &mut self.list[at].tally;
                (tally.lost, tally.lost_before) =
                    (tally.lost.saturating_sub(1), tally.lost_before.saturating_sub(1));
                self.lost_before = self.lost_before.saturating_sub(1);
            }
            None => self.lost_somewhere = self.lost_somewhere.saturating_sub(1),
        }
    }

    /// One that was counted at the first tap came to another one marked.
    pub(crate) fn marked(&mut self, at: usize) {
        self.list[at].tally.marked += 1;
    }

    /// The same, trimmed.
    pub(crate) fn trimmed(&mut self, at: usize) {
        self.list[at].tally.trimmed += 1;
    }

    /// A packet on it was trimmed behind the tap.
    pub(crate) fn trimmed_behind(&mut self, at: usize) {
        self.list[at].trimmed_after += 1;
    }

    /// An answer to a packet of it, and how long that took, where it is known.
    pub(crate) fn said(&mut self, at: usize, is_marked: bool, rtt: Option<u64>) {
        let way = &mut self.list[at];
        way.echoes += u64::from(is_marked);
        if let Some(rtt) = rtt {
            way.answered(rtt);
        }
    }

    /// The path at a place that [`place`](Self::place) gave.
    pub(super) fn get_mut(&mut self, at: usize) -> &mut Way {
        &mut self.list[at]
    }

    /// The place of the path with this entropy value: this one, if it has it.
    pub(super) fn named(&self, entropy: u32, hint: Option<usize>) -> Option<usize> {
        let has = |way: &Way| way.has(entropy);
        let is_hinted = |at: &usize| self.list.get(*at).is_some_and(has);
        hint.filter(is_hinted).or_else(|| self.list.iter().position(has))
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// How evenly bytes are spread over them: Jain's index.
    pub(crate) fn fairness(&self) -> Option<f64> {
        spread(self.list.iter().map(|way| way.tally.bytes)).map(|spread| spread.jain)
    }

    /// How many were lost between the first tap and the last one, where there are several; what came trimmed is not among them.
    pub(super) fn lost_between_taps(&self, crossings: &Crossings) -> Option<u64> {
        if !crossings.are_seen() {
            return None;
        }
        let mut tallies: Vec<Tally> = self.list.iter().map(Way::tally).collect();
        let lost = |tally: &Tally| tally.lost.saturating_sub(tally.lost_before + tally.trimmed);
        crossings.tell(&mut tallies).then(|| tallies.iter().map(lost).sum())
    }

    /// What was taken for lost behind the tap until answers showed that it was late.
    pub(super) fn proven_late(&self) -> u64 {
        self.list.iter().map(|way| way.tally.proven_late).sum()
    }

    /// What was sent again, and was lost or late on slow paths. `answered`: the share of packets that have an answer of their own.
    pub(super) fn lost_or_late(&self, answered: f64) -> u64 {
        let tallies: Vec<Tally> = self.list.iter().map(Way::tally).collect();
        lost_or_late(&tallies, answered).into_iter().sum()
    }

    /// Packets that were lost before the tap on a path that is not known.
    pub(crate) fn lost_unattributed(&self) -> u64 {
        self.lost_somewhere.saturating_sub(self.unseen().map_or(0, |way| way.tally.lost))
    }

    /// A row for each path.
    /// `answered`: the share of packets that have an answer of their own.
    pub(crate) fn rows(
        &self,
        of: &OfFlow,
        crossings: &Crossings,
        is_answered: bool,
        answered: f64,
    ) -> Vec<FlowPath> {
        let unseen = self.unseen();
        let ways = || self.list.iter().chain(&unseen);
        let entropy = ways().map(|way| {
            let Entropy { label, port, .. } = way.entropy;
            (port, Some(label).filter(|&label| label > 0))
        });
        let segments = |way: &Way| {
            let segments = way.entropy.segments;
            (segments > 0).then(|| Ipv6Addr::from(segments).to_string())
        };
        let mut tallies: Vec<Tally> = ways().map(Way::tally).collect();
        let is_told = crossings.tell(&mut tallies);
        if !is_told {
            settle(&mut tallies, answered);
        }
        let is_known = is_told || is_answered;
        let lost: u64 = tallies.iter().map(|tally| tally.lost).sum();
        let is_lost_before = (self.lost_before + self.unseen.lost) * 2 > lost;
        let view = View { is_lost_before, is_known };
        let lost_unattributed = self.lost_unattributed();
        let all: Vec<FlowPath> =
            rows(of, &tallies, view, entropy).map(|path| FlowPath { lost_unattributed, ..path }).collect();
        let short = self.short(&all);
        let finished = |(at, (path, way)): (usize, (FlowPath, &Way))| {
            let [_, mean, max] = way.tally.rtts.spread();
            let state = match path.state {
                _ if way.skipped.is_some() => PathState::Skipped,
                PathState::Good if short.contains(&at) => PathState::Lossy,
                state => state,
            };
            FlowPath {
                state,
                ack_rtt_mean_ns: mean,
                ack_rtt_max_ns: max,
                skipped_ns: way.skipped.map(|(time, _)| time),
                segments: segments(way),
                ..path
            }
        };
        all.into_iter().zip(ways()).enumerate().map(finished).collect()
    }

    /// The paths on which the tap saw fewer packets than on the others, by as many as were lost before it on paths that are not known.
    fn short(&self, all: &[FlowPath]) -> Vec<usize> {
        /// So many paths show how much they differ by chance, and so many times as many as those that are short. Fewer do if they carried the same, nearly: then
        /// their sender takes them in turn.
        const ENOUGH_PATHS: usize = 7;
        const FEW_PATHS: usize = 3;
        const ALIKE: f64 = 256.0;
        const TIMES: usize = 3;
        const DEVIATIONS: f64 = 5.0;
        if self.lost_somewhere < ENOUGH.max(self.lost_before) {
            return Vec::new();
        }
        let lost = self.lost_somewhere as f64;
        let is_good = |at: &usize| all[*at].state == PathState::Good && self.list[*at].skipped.is_none();
        let carried = |at: usize| all[at].packets as f64;
        let mut order: Vec<usize> = (0..self.list.len()).filter(is_good).collect();
        order.sort_by(|&a, &b| carried(a).total_cmp(&carried(b)));
        let are_those_lost = |k: &usize| {
            let (least, others) = order.split_at(*k);
            let n = others.len() as f64;
            let mean = others.iter().map(|&at| carried(at)).sum::<f64>() / n;
            let square = |&at: &usize| (carried(at) - mean) * (carried(at) - mean);
            let variance = others.iter().map(square).sum::<f64>() / (n - 1.0);
            let deviation = variance.sqrt().max(1.0);
            let are_enough = others.len() >= ENOUGH_PATHS || deviation * ALIKE <= mean;
            let missing = least.iter().map(|&at| mean - carried(at)).sum::<f64>();
            let margin = deviation * (*k as f64).sqrt();
            // A retransmission that avoids it leaves out its turn, so that it has one fewer again.
            are_enough
                && missing + margin >= lost * 0.75
                && missing <= lost * 2.0 + margin
                && least.iter().all(|&at| mean - carried(at) >= DEVIATIONS * deviation)
        };
        let most = order.len().saturating_sub(FEW_PATHS).min(order.len() / (TIMES + 1));
        (1..=most).find(are_those_lost).map(|k| order[..k].to_vec()).unwrap_or_default()
    }
}

/// Where the IPv6 header goes that the packet's own one is right behind, as in SRv6.
#[cold]
fn segments(d: &Dissection<'_>) -> Option<u128> {
    let own = d.offset(Kind::Ipv6)?;
    let mut around = None;
    for layer in d.layers().iter() {
        match layer.kind {
            Kind::Ipv6 if layer.at as usize == own => break,
            Kind::Ipv6 => around = Some(layer.at as usize),
            Kind::Ipv6Extension => {}
            _ => around = None,
        }
    }
    let (ip, _) = Ipv6::view(d.frame().get(around?..)?)?;
    Some(u128::from(ip.dst()))
}
