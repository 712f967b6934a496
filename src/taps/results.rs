//! From counts to the report.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{
    clock::Line,
    order,
    segment::SegmentMatch,
    tally::{FlowTally, Odd, PassageCounts, Samples, Tally},
};
use crate::{
    in_order::InOrder,
    opcode::{Direction as Space, Service},
    report::{
        Class, Fate, OrderBy, Reason, View,
        diff::{self, Clock, Delay, Diff, Direction, DscpChange, Loss, Passage, SCHEMA},
    },
    wire::Psn,
};

/// Makes the report, from the taps, the segments between them, and what the analyses of the taps know of flows.
pub(super) fn diff(mut taps: Vec<diff::Tap>, segments: Vec<SegmentMatch>, known: &Known) -> Diff {
    let mut report = Diff { schema: SCHEMA.into(), ..Diff::default() };
    let all: Vec<Judged> = segments
        .iter()
        .enumerate()
        .map(|(at, segment)| {
            let ticks = [taps[at].tick_ns, taps[at + 1].tick_ns];
            let (order, line) = order::of(&segment.tally.ways, ticks);
            Judged { segment, order, line, tick: ticks[0].max(ticks[1]) }
        })
        .collect();
    for (at, judged) in all.iter().enumerate() {
        // What a neighbour's other tap has seen has passed this segment.
        let beyond = |side: usize| match side {
            0 => all.get(at + 1).map(|next| next.appeared(1)),
            _ => at.checked_sub(1).and_then(|before| all.get(before)).map(|before| before.appeared(0)),
        };
        let beyond = [beyond(0), beyond(1)].map(Option::unwrap_or_default);
        for side in 0..2 {
            taps[at + side].untracked = taps[at + side].untracked.max(judged.segment.untracked[side]);
        }
        let (mut segment, losses) = judged.report(at, &beyond, known);
        let is_apart = segment.directions.iter().all(|direction| direction.counts.delivered == 0);
        if is_apart && taps[at].packets > 0 && taps[at + 1].packets > 0 {
            // Other places, or other times: no packet is known to be lost.
            segment.directions.clear();
        } else {
            report.losses.extend(losses);
            report.losses_omitted += judged.segment.tally.odd_omitted;
        }
        report.segments.push(segment);
    }
    report.losses.order_by_key(|loss| (loss.time_ns, loss.from, loss.frame));
    report.taps = taps;
    report
}

/// A flow by source, destination, queue pair, and virtual network.
type Name = (String, String, u32, Option<u32>);

/// What the analyses of the taps know of flows.
#[derive(Default)]
pub(super) struct Known {
    /// From each flow to the opposite one, as any tap knows.
    peers: HashMap<Name, Name>,
    /// By tap: the packets of each flow that had been sent before. Their class may show long after they came.
    retransmitted: Vec<HashMap<Name, u64>>,
}

impl Known {
    /// Adds what the analysis of the next tap knows. The rows of its report are made one by one.
    pub(super) fn add(&mut self, report: &View<'_>) {
        let mut retransmitted: HashMap<Name, u64> = HashMap::new();
        let mut names: Vec<Name> = Vec::new();
        for flow in report.flows.iter() {
            let again = flow.requests.retransmits + flow.responses.retransmits;
            let flow = flow.into_owned();
            let name = (flow.src, flow.dst, flow.dest_qp, flow.vni);
            if again > 0 {
                *retransmitted.entry(name.clone()).or_default() += again;
            }
            names.push(name);
        }
        self.retransmitted.push(retransmitted);
        for connection in report.connections.iter() {
            let [a, b] = connection.flows;
            if let (Some(a), Some(b)) = (names.get(a), names.get(b)) {
                self.peers.insert(a.clone(), b.clone());
                self.peers.insert(b.clone(), a.clone());
            }
        }
    }

    /// The packets of a flow at a tap that had been sent before.
    fn retransmitted(&self, tap: usize, name: &Name) -> u64 {
        self.retransmitted.get(tap).and_then(|flows| flows.get(name)).copied().unwrap_or(0)
    }
}

/// A segment of which it is known which tap comes first.
struct Judged<'a> {
    segment: &'a SegmentMatch,
    /// By way.
    order: Vec<(usize, OrderBy)>,
    line: Option<Line>,
    tick: u64,
}

/// What tells one transmission from another.
type Mark = (u64, Option<[u8; 4]>);

impl Judged<'_> {
    fn tally(&self) -> &Tally {
        &self.segment.tally
    }

    fn first(&self, flow: &FlowTally) -> usize {
        self.order[flow.way as usize].0
    }

    /// The packets that only the second tap has, where that is the one on this side.
    fn appeared(&self, side: usize) -> HashSet<Mark> {
        let odd = self.tally().odd.iter();
        let here = odd.filter(|odd| {
            odd.side == side
                && odd.fate == Fate::Lost
                && self.first(&self.tally().flows[odd.flow as usize]) != side
        });
        here.map(|odd| (odd.seen.key, odd.seen.icrc)).collect()
    }

    /// What the two taps call a flow; the same, unless one of them does not see its virtual network.
    fn names(&self, flow: &FlowTally) -> [Name; 2] {
        let [src, dst] = self.tally().ways[flow.way as usize].addresses.map(|address| address.to_string());
        flow.networks.map(|network| (src.clone(), dst.clone(), flow.qp, network.flatten()))
    }

    /// What is said of a packet that only one tap saw, or that was damaged between them.
    fn verdict(&self, odd: &Odd, beyond: &[HashSet<Mark>; 2], acked: Option<Psn>) -> Outcome {
        match self.first(&self.tally().flows[odd.flow as usize]) {
            first if first != odd.side => Outcome::Appeared,
            _ if odd.fate != Fate::Lost => Outcome::Loss,
            _ if odd.is_outside => Outcome::Outside,
            first if beyond[first].contains(&(odd.seen.key, odd.seen.icrc)) => Outcome::Unrecorded,
            _ if self.tally().is_final(odd) && is_acknowledged(odd, acked) => Outcome::Unrecorded,
            _ => Outcome::Loss,
        }
    }

    /// The segment's part of the report. `at` is the first tap's index, `beyond` what the segments behind either side have seen.
    fn report(&self, at: usize, beyond: &[HashSet<Mark>; 2], known: &Known) -> (diff::Segment, Vec<Loss>) {
        let tally = self.tally();
        let names: Vec<[Name; 2]> = tally.flows.iter().map(|flow| self.names(flow)).collect();
        let by_name: HashMap<&Name, &FlowTally> = names
            .iter()
            .zip(&tally.flows)
            .flat_map(|(names, flow)| names.iter().map(move |name| (name, flow)))
            .collect();
        let acked =
            |names: &[Name; 2]| names.iter().find_map(|name| by_name.get(known.peers.get(name)?)?.acked);
        let retransmitted = |n: usize, first: usize| {
            // A flow that this tap did not see is of no virtual network: another one's may have the name.
            let is_seen = tally.flows[n].networks[first].is_some();
            if is_seen { known.retransmitted(at + first, &names[n][first]) } else { 0 }
        };
        let counted = |(n, flow): (usize, &FlowTally)| {
            let first = self.first(flow);
            Passage { retransmitted: retransmitted(n, first), ..passage(&flow.counts, first) }
        };
        let mut counts: Vec<Passage> = tally.flows.iter().enumerate().map(counted).collect();
        let mut losses = Vec::new();
        for odd in &tally.odd {
            let n = odd.flow as usize;
            let (counts, (src, dst, dest_qp, vni)) = (&mut counts[n], network_of(&names[n]));
            match self.verdict(odd, beyond, acked(&names[n])) {
                Outcome::Appeared => counts.appeared += 1,
                Outcome::Outside => counts.outside += 1,
                Outcome::Unrecorded => counts.unrecorded += 1,
                Outcome::Loss => {
                    let class = odd.seen.class.unwrap_or_default();
                    *of_fate(counts, odd.fate) += 1;
                    counts.lost_retransmissions += u64::from(class == Class::Retransmission);
                    losses.push(Loss {
                        fate: odd.fate,
                        from: at + odd.side,
                        to: at + 1 - odd.side,
                        frame: odd.seen.frame,
                        time_ns: odd.seen.time,
                        arrived_as: odd.arrived_as,
                        src,
                        dst,
                        dest_qp,
                        vni,
                        psn: odd.seen.psn,
                        opcode: odd
                            .seen
                            .opcode
                            .name()
                            .map_or_else(|| odd.seen.opcode.to_string().into(), Into::into),
                        class,
                    });
                }
            }
        }
        let mut directions = Vec::new();
        for first in 0..2 {
            let mut direction = self.direction(first);
            (direction.from, direction.to) = (at + first, at + 1 - first);
            for (n, flow) in tally.flows.iter().enumerate() {
                // A flow of damaged packets alone does not exist.
                if self.first(flow) != first || counts[n] == Passage::default() || !tally.is_real(flow) {
                    continue;
                }
                let (src, dst, dest_qp, vni) = network_of(&names[n]);
                let order_by = self.order[flow.way as usize].1;
                direction.counts = direction.counts + counts[n];
                let delay = self.delay(first, [&flow.samples]);
                direction.flows.push(diff::Flow {
                    src,
                    dst,
                    dest_qp,
                    vni,
                    order_by,
                    counts: counts[n],
                    delay,
                });
            }
            if !direction.flows.is_empty() {
                direction.flows.order_by_key(|flow| {
                    (std::cmp::Reverse((flow.counts.undelivered(), flow.counts.sent)), flow.dest_qp)
                });
                directions.push(direction);
            }
        }
        let decided_early = self.segment.decided_early;
        let segment = diff::Segment { taps: [at, at + 1], clock: self.clock(), directions, decided_early };
        (segment, losses)
    }

    /// What is known of all packets that pass this tap first.
    fn direction(&self, first: usize) -> Direction {
        let ways = self.tally().ways.iter().zip(&self.order).filter(|(_, (side, _))| *side == first);
        let ways: Vec<_> = ways.map(|(way, _)| way).collect();
        let (mut changes, mut hops) = (BTreeMap::new(), BTreeMap::new());
        let mut by_dscp: BTreeMap<u8, Vec<&Samples>> = BTreeMap::new();
        for way in &ways {
            for (dscps, packets) in &way.dscp_changes {
                *changes.entry([dscps[first], dscps[1 - first]]).or_default() += packets;
            }
            for (&lower, packets) in &way.hops {
                *hops.entry(if first == 0 { lower } else { -lower }).or_default() += packets;
            }
            for (&(_, dscp), samples) in way.by_dscp.iter().filter(|((side, _), _)| *side == first) {
                by_dscp.entry(dscp).or_default().push(samples);
            }
        }
        Direction {
            delay: self.delay(first, ways.iter().map(|way| &way.samples)),
            dscp: by_dscp.into_iter().map(|(dscp, samples)| (dscp, self.delay(first, samples))).collect(),
            dscp_changes: changes
                .into_iter()
                .map(|([from, to], packets)| DscpChange { from, to, packets })
                .collect(),
            hops,
            ..Direction::default()
        }
    }

    fn delay<'s>(&self, first: usize, samples: impl IntoIterator<Item = &'s Samples>) -> Delay {
        let Some(line) = self.line else { return Delay::default() };
        let (mut packets, mut delays) = (0, Vec::new());
        for samples in samples {
            packets += samples.seen;
            let delay =
                |&point| if first == 0 { line.without_offset(point) } else { -line.without_offset(point) };
            delays.extend(samples.kept.iter().map(delay));
        }
        delays.sort_by(f64::total_cmp);
        let Some(&min) = delays.first() else { return Delay::default() };
        let at = |percent: usize| delays[(delays.len() - 1) * percent / 100];
        let known = |ns: f64| line.error.map(|_| ns.round() as i64);
        // Of clocks that were stepped, differences are no delays.
        let queueing = |ns: f64| (line.margin >= 0.0).then(|| (ns - min).round() as i64);
        Delay {
            samples: packets,
            min_ns: known(min),
            p50_ns: known(at(50)),
            p99_ns: known(at(99)),
            max_ns: known(at(100)),
            queueing_p50_ns: queueing(at(50)),
            queueing_p99_ns: queueing(at(99)),
            queueing_max_ns: queueing(at(100)),
        }
    }

    fn clock(&self) -> Clock {
        let mut clock = Clock::default();
        let line = match self.line {
            Some(line) if line.error.is_some() => line,
            other => {
                let is_uneven = other.is_some_and(|line| line.margin < 0.0);
                let ways = self.tally().ways.iter().map(|way| way.addresses);
                let ways: HashSet<_> = ways.collect();
                let is_two_way = ways.iter().any(|&[src, dst]| ways.contains(&[dst, src]));
                let reason = match (is_uneven, is_two_way) {
                    (true, _) => Reason::UnevenClock,
                    (_, true) => Reason::UnknownOrder,
                    _ => Reason::OneWay,
                };
                clock.why.insert("offset_ns".into(), reason);
                return clock;
            }
        };
        clock.at_ns = Some(line.at);
        clock.offset_ns = Some(line.offset(line.at));
        clock.drift_ppm = Some(line.rate * 1e6);
        clock.drift_error_ppm = Some(line.rate_error * 1e6);
        clock.error_ns = line.error.map(|ns| ns + self.tick as f64);
        clock
    }
}

/// A flow with its virtual network, as the first tap that sees one has it.
fn network_of(names: &[Name; 2]) -> Name {
    let [one, other] = names;
    if one.3.is_none() { other.clone() } else { one.clone() }
}

/// What is said of a packet that only one tap saw, or that was damaged.
enum Outcome {
    Loss,
    Outside,
    Unrecorded,
    Appeared,
}

/// Whether a request that the second tap does not have was acknowledged nevertheless. Of one that was retransmitted, that says nothing:
/// an earlier transmission may have arrived.
fn is_acknowledged(odd: &Odd, acked: Option<Psn>) -> bool {
    let opcode = odd.seen.opcode;
    opcode.service() == Service::Rc
        && opcode.direction() == Space::Request
        && odd.seen.class != Some(Class::Retransmission)
        && acked.is_some_and(|acked| acked.distance_from(Psn(odd.seen.psn)) >= 0)
}

fn of_fate(counts: &mut Passage, fate: Fate) -> &mut u64 {
    match fate {
        Fate::Corrupted => &mut counts.corrupted,
        Fate::Trimmed => &mut counts.trimmed,
        Fate::BadIpChecksum => &mut counts.bad_ip_checksum,
        _ => &mut counts.lost,
    }
}

/// The counts of a flow that passes this tap first.
fn passage(counts: &PassageCounts, first: usize) -> Passage {
    let second = 1 - first;
    Passage {
        sent: counts.packets[first] - counts.copies[first],
        delivered: counts.delivered,
        duplicated: counts.copies[second],
        recorded_twice: counts.copies[first],
        late: counts.late[second],
        newly_ce: counts.newly_ce[second],
        ecn_cleared: counts.ecn_cleared[second],
        dscp_changed: counts.dscp_changed,
        ttl_lowered: counts.ttl_lower[second],
        ..Passage::default()
    }
}
