//! Paths of requests that are sprayed over several, and what answers say of each.

use std::net::Ipv6Addr;

use crate::{
    analyze::{
        metric::{
            paths::{Carried, OfFlow, Tally, rows},
            spread,
        },
        track::distribution::Totals,
    },
    dissect::Dissection,
    heap::heap,
    report::{FlowPath, PathState},
    wire::*,
};

const MAX_PATHS: usize = 512;
/// A path is slow if answers to its packets take so many times as long as those to the others, of so many.
const SLOW: u64 = 2;
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

/// What was lost between the turns of two paths, if most of it was.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
struct Unseen {
    between: [u16; 2],
    votes: u64,
    lost: u64,
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
    /// Acknowledgements that say that a packet of it came marked.
    pub(super) echoes: u64,
    /// Packets that were trimmed behind the tap, by NACKs.
    pub(super) trimmed_after: u64,
    /// Times from packets of it to their answers.
    rtts: Totals,
    /// When its receiver first asked to skip it always, and how many packets there had been.
    pub(super) skipped: Option<(i64, u64)>,
}

heap! {
    Ways { list }
    Way {}
}

impl Way {
    /// Which half of a structured entropy value is the label is disputed.
    fn has(&self, entropy: u32) -> bool {
        let [label, port] = [self.entropy.label, self.entropy.port].map(u32::from);
        [label << 16 | port, port << 16 | label].contains(&entropy)
    }

    /// An answer to a packet of it took so long.
    pub(super) fn answered(&mut self, rtt: u64) {
        self.rtts.add(rtt);
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
        if let Some(at) = self.list.iter().position(|way| way.entropy == entropy) {
            return at;
        }
        if self.list.len() < MAX_PATHS {
            self.list.push(Way { entropy, ..Way::default() });
        }
        self.list.len() - 1
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

    /// A packet was lost before the tap, on this path if it is known.
    pub(crate) fn lost_before(&mut self, at: Option<usize>) {
        match at {
            Some(at) => {
                self.lost(at);
                self.lost_before += 1;
            }
            None => self.lost_somewhere += 1,
        }
    }

    /// One that was lost on no path that is known was sent between packets on these.
    pub(super) fn lost_between(&mut self, between: [usize; 2]) {
        let (between, unseen) = (between.map(|at| at as u16), &mut self.unseen);
        match unseen.votes {
            0 => *unseen = Unseen { between, votes: 1, lost: 1 },
            _ if unseen.between == between => {
                (unseen.votes, unseen.lost) = (unseen.votes + 1, unseen.lost + 1)
            }
            _ => unseen.votes -= 1,
        }
    }

    /// A path that carried nothing to the tap: what was lost is between the turns of the same two, whose ports leave one out.
    fn unseen(&self) -> Option<Way> {
        let Unseen { between, votes, lost } = self.unseen;
        let [before, behind] = between.map(|at| self.list.get(usize::from(at)).map(|way| way.entropy));
        let (before, behind) = (before?, behind?);
        let port = before.port.checked_add(1)?;
        let entropy = Entropy { port, ..before };
        let is_left_out = behind == Entropy { port: port.checked_add(1)?, ..before }
            && self.list.iter().all(|way| way.entropy != entropy);
        let tally = Tally { lost, ..Tally::default() };
        (is_left_out && votes >= ENOUGH && lost * 2 > self.lost_somewhere).then(|| Way {
            entropy,
            tally,
            ..Way::default()
        })
    }

    /// It was not lost but late.
    pub(super) fn was_not_lost_before(&mut self, at: Option<usize>) {
        match at {
            Some(at) => {
                let tally = &mut self.list[at].tally;
                (tally.lost, self.lost_before) =
                    (tally.lost.saturating_sub(1), self.lost_before.saturating_sub(1));
            }
            None => self.lost_somewhere = self.lost_somewhere.saturating_sub(1),
        }
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

    /// A row for each path.
    pub(crate) fn rows(&self, of: &OfFlow) -> Vec<FlowPath> {
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
        let tallies: Vec<Tally> = ways().map(Way::tally).collect();
        let lost: u64 = tallies.iter().map(|tally| tally.lost).sum();
        let all: Vec<FlowPath> =
            rows(of, &tallies, (self.lost_before + self.unseen.lost) * 2 > lost, entropy).collect();
        let short = self.short(&all);
        let mut of_all = Totals::default();
        self.list.iter().for_each(|way| of_all.merge(way.rtts));
        let finished = |(at, (path, way)): (usize, (FlowPath, &Way))| {
            let Totals { count, sum, .. } = way.rtts;
            let [_, mean, max] = way.rtts.spread();
            let of_others = (of_all.sum - sum).checked_div(of_all.count - count);
            let is_slow = count >= ENOUGH
                && mean.zip(of_others).is_some_and(|(own, others)| own > others.saturating_mul(SLOW));
            let state = match path.state {
                _ if way.skipped.is_some() => PathState::Skipped,
                PathState::Good if is_slow => PathState::Slow,
                PathState::Good if short == Some(at) => PathState::Lossy,
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

    /// The path on which the tap saw fewer packets than on the others, by as many as were lost before it on paths that are not known.
    fn short(&self, all: &[FlowPath]) -> Option<usize> {
        /// So many paths show how much they differ by chance.
        const ENOUGH_PATHS: usize = 8;
        const DEVIATIONS: f64 = 5.0;
        let lost = self.lost_somewhere as f64;
        let is_good = |at: &usize| all[*at].state == PathState::Good && self.list[*at].skipped.is_none();
        let good: Vec<usize> = (0..self.list.len()).filter(is_good).collect();
        let carried = |at: usize| all[at].packets as f64;
        let least = good.iter().copied().min_by(|&a, &b| carried(a).total_cmp(&carried(b)))?;
        let others: Vec<f64> = good.iter().filter(|&&at| at != least).map(|&at| carried(at)).collect();
        if others.len() < ENOUGH_PATHS || self.lost_somewhere < ENOUGH.max(self.lost_before) {
            return None;
        }
        let n = others.len() as f64;
        let mean = others.iter().sum::<f64>() / n;
        let variance = others.iter().map(|one| (one - mean) * (one - mean)).sum::<f64>() / (n - 1.0);
        let (deviation, missing) = (variance.sqrt().max(1.0), mean - carried(least));
        // A retransmission that avoids it leaves out its turn, so that it has one fewer again.
        let are_those_lost = missing + deviation >= lost * 0.75 && missing <= lost * 2.0 + deviation;
        (missing >= DEVIATIONS * deviation && are_those_lost).then_some(least)
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
