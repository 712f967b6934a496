//! What is counted of a segment before it is known which of its taps a packet passes first: each count has one figure for
//! either tap.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{
    clock::{Envelope, Point},
    packet::TapPacket,
};
use crate::{
    dissect::Address,
    icrc::State,
    report::{Class, Fate},
    wire::Psn,
};

/// A figure for each of the two taps.
pub(super) type Both = [u64; 2];

/// All packets from one address to another.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) addresses: [Address; 2],
    /// Packets whose TTL was lower at this tap.
    pub(super) ttl_lower: Both,
    /// Packets by how much lower their TTL was at the second tap.
    pub(super) hops: BTreeMap<i16, u64>,
    pub(super) envelope: Envelope,
    pub(super) samples: Samples,
    pub(super) dscp_changes: BTreeMap<[u8; 2], u64>,
    /// By the DSCP at either tap.
    pub(super) by_dscp: BTreeMap<(usize, u8), Samples>,
    /// How much later the second tap saw the last packets: a running mean, and its mean deviation.
    pub(super) lag: Option<(i64, i64)>,
    /// Matches in a row that were far from it.
    strange: u32,
}
#[derive(Debug)]
pub(super) struct FlowTally {
    pub(super) way: u32,
    pub(super) qp: u32,
    /// By tap: the virtual network in which it saw the flow, if it saw it; a tunnel may begin or end between the taps.
    pub(super) networks: [Option<Option<u32>>; 2],
    /// Another flow with the same addresses and queue pair, in another virtual network.
    also: Option<u32>,
    pub(super) counts: PassageCounts,
    pub(super) samples: Samples,
    /// By tap: the last packet that was matched, by its place at this tap.
    pub(super) last: [Option<u64>; 2],
    /// By tap: the highest place at the other tap among the packets that came here.
    newest_mate: Both,
    ids: [Option<u16>; 2],
    /// The sender's IPv4 identifications differ: they tell one transmission from another.
    pub(super) ids_vary: bool,
    /// The newest PSN that its acknowledgements name.
    pub(super) acked: Option<Psn>,
}

/// Counts of a flow. Where there are two, the event was seen at this tap, and not at the other one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PassageCounts {
    pub(super) packets: Both,
    pub(super) delivered: u64,
    pub(super) copies: Both,
    pub(super) late: Both,
    pub(super) newly_ce: Both,
    pub(super) ecn_cleared: Both,
    pub(super) dscp_changed: u64,
    pub(super) ttl_lower: Both,
}

/// A packet that only one tap saw, or that was damaged at one of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Odd {
    /// As it was where it was seen, or was right.
    pub(super) seen: TapPacket,
    /// The tap of that.
    pub(super) side: usize,
    pub(super) flow: u32,
    pub(super) fate: Fate,
    pub(super) arrived_as: Option<u64>,
    /// The other capture had not begun, or was over.
    pub(super) is_outside: bool,
}

/// Times of matched packets: all of them, or one in so many.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    pub(super) seen: u64,
    every: u64,
    pub(super) kept: Vec<Point>,
}

/// Whether a packet came far from when it was expected: more than others do.
pub(super) fn is_far(off: i64, spread: i64) -> bool {
    off.saturating_abs() > spread.saturating_mul(4).saturating_add(1000)
}

impl Samples {
    const MOST: usize = 512;

    pub(super) fn add(&mut self, point: Point) {
        self.every = self.every.max(1);
        if self.seen.is_multiple_of(self.every) {
            if self.kept.len() == Samples::MOST {
                let mut n = 0;
                self.kept.retain(|_| {
                    n += 1;
                    n % 2 == 1
                });
                self.every *= 2;
            }
            if self.seen.is_multiple_of(self.every) {
                self.kept.push(point);
            }
        }
        self.seen += 1;
    }
}

/// The counts of a segment.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) ways: Vec<Way>,
    pub(super) flows: Vec<FlowTally>,
    way_of: HashMap<[Address; 2], u32, foldhash::fast::RandomState>,
    flow_of: HashMap<(u32, u32), u32, foldhash::fast::RandomState>,
    pub(super) odd: Vec<Odd>,
    /// Of those that did not fit into the list.
    pub(super) odd_omitted: u64,
    /// By tap: the virtual networks that it saw.
    networks: [BTreeSet<u32>; 2],
    /// Those of `odd` whose class is not known yet, by tap and frame.
    unclassed: HashMap<(usize, u64), usize, foldhash::fast::RandomState>,
    /// By flow, PSN and tap: the frame of the last packet that only this tap saw, and whether its PSN was retransmitted.
    last_alone: HashMap<(u32, u32, usize), (u64, bool), foldhash::fast::RandomState>,
}

impl Tally {
    const MOST_WAYS: usize = 1 << 14;
    const MOST_FLOWS: usize = 1 << 16;
    const MOST_ODD: usize = 1 << 20;
    const MOST_NETWORKS: usize = 1 << 16;

    /// The flow of a packet that came at a tap; `None` if there are too many. A damaged packet's addresses may be wrong: see
    /// [`is_real`](Tally::is_real).
    pub(super) fn flow(&mut self, side: usize, seen: &TapPacket) -> Option<u32> {
        if let Some(vni) = seen.vni
            && self.networks[side].len() < Tally::MOST_NETWORKS
        {
            self.networks[side].insert(vni);
        }
        let way = match self.way_of.get(&seen.addresses) {
            Some(&way) => way,
            None if self.ways.len() == Tally::MOST_WAYS => return None,
            None => {
                let way = self.ways.len() as u32;
                self.ways.push(Way {
                    addresses: seen.addresses,
                    ttl_lower: [0; 2],
                    hops: BTreeMap::new(),
                    envelope: Envelope::default(),
                    samples: Samples::default(),
                    dscp_changes: BTreeMap::new(),
                    by_dscp: BTreeMap::new(),
                    lag: None,
                    strange: 0,
                });
                self.way_of.insert(seen.addresses, way);
                way
            }
        };
        let first = self.flow_of.get(&(way, seen.qp)).copied();
        if let Some(flow) = first.and_then(|first| self.in_network(first, side, seen.vni)) {
            return Some(flow);
        }
        if self.flows.len() == Tally::MOST_FLOWS {
            return None;
        }
        let flow = self.flows.len() as u32;
        self.flows.push(FlowTally {
            way,
            qp: seen.qp,
            networks: std::array::from_fn(|at| (at == side).then_some(seen.vni)),
            also: first,
            counts: PassageCounts::default(),
            samples: Samples::default(),
            last: [None; 2],
            newest_mate: [0; 2],
            ids: [None; 2],
            ids_vary: false,
            acked: None,
        });
        self.flow_of.insert((way, seen.qp), flow);
        Some(flow)
    }

    /// Of the flows with the same addresses and queue pair, from this one on, the one that a tap sees in this virtual network.
    fn in_network(&mut self, first: u32, side: usize, vni: Option<u32>) -> Option<u32> {
        let next = |flow: &u32| self.flows[*flow as usize].also;
        let all = || std::iter::successors(Some(first), next);
        let of = |flow: u32, side: usize| self.flows[flow as usize].networks[side];
        if let Some(known) = all().find(|&flow| of(flow, side) == Some(vni)) {
            return Some(known);
        }
        // At this tap it begins: best where the other one saw this network.
        let begins = || all().filter(|&flow| of(flow, side).is_none());
        let there = |flow: &u32| of(*flow, 1 - side).flatten();
        let found = begins()
            .find(|flow| there(flow) == vni)
            .or_else(|| begins().find(|flow| self.may_be_one(side, vni, there(flow))))?;
        self.flows[found as usize].networks[side] = Some(vni);
        Some(found)
    }

    /// Whether a packet that the tap `side` sees in this virtual network may be one that the other tap sees in that one: where a tunnel begins
    /// or ends between them, or where no network of either tap is one of the other's, which another number may replace.
    pub(super) fn may_be_one(&self, side: usize, here: Option<u32>, there: Option<u32>) -> bool {
        let (Some(here), Some(there)) = (here, there) else { return true };
        here == there || !self.networks[1 - side].contains(&here) && !self.networks[side].contains(&there)
    }

    /// A packet of one flow proves to be of another one, which the other tap saw in another virtual network.
    pub(super) fn give(&mut self, from: u32, to: u32, side: usize) {
        if from != to {
            self.flows[from as usize].counts.packets[side] -= 1;
            self.flows[to as usize].counts.packets[side] += 1;
        }
    }

    /// The class of a packet that left its window before, which became known later.
    pub(super) fn classify(&mut self, side: usize, frame: u64, class: Class) {
        if let Some(odd) = self.unclassed.remove(&(side, frame)).and_then(|at| self.odd.get_mut(at)) {
            odd.seen.class = Some(class);
        }
    }

    /// A packet came at a tap.
    pub(super) fn on_packet(&mut self, flow: u32, side: usize, seen: &TapPacket) {
        let flow = &mut self.flows[flow as usize];
        flow.counts.packets[side] += 1;
        if let Some(psn) = seen.acks
            && flow.acked.is_none_or(|acked| psn.distance_from(acked) > 0)
        {
            flow.acked = Some(psn);
        }
        flow.ids_vary |= flow.ids[side].is_some_and(|id| Some(id) != seen.ip_id);
        flow.ids[side] = seen.ip_id;
    }

    /// Two records are one transmission, as it seems now: what the two clocks showed, and its places at the taps. Whether its
    /// delay is one of those that are usual now.
    pub(super) fn on_match(&mut self, flow: u32, [a, b]: [i64; 2], places: [u64; 2]) -> bool {
        let flow = &mut self.flows[flow as usize];
        flow.last = places.map(Some);
        let way = &mut self.ways[flow.way as usize];
        let difference = b.saturating_sub(a);
        let (lag, spread) = way.lag.unwrap_or((difference, 0));
        let off = difference.saturating_sub(lag);
        // A few far from it may be mistakes, many are another path, or a clock that was set.
        const MANY: u32 = 16;
        let is_far = is_far(off, spread);
        way.strange = if is_far { way.strange + 1 } else { 0 };
        if is_far && way.strange < MANY {
            return false;
        }
        way.lag = Some((
            lag.saturating_add(off / 8),
            spread.saturating_add(off.saturating_abs().saturating_sub(spread) / 8),
        ));
        true
    }

    /// Counts a transmission, as the two taps saw it.
    pub(super) fn on_pair(&mut self, flow: u32, pair: [&TapPacket; 2]) {
        let [a, b] = pair;
        let flow_at = flow;
        let flow = &mut self.flows[flow as usize];
        let way = &mut self.ways[flow.way as usize];
        let difference = b.time.saturating_sub(a.time);
        for side in 0..2 {
            let [here, other] = [pair[side], pair[1 - side]];
            flow.counts.newly_ce[side] += u64::from(here.is_ce && !other.is_ce);
            flow.counts.ecn_cleared[side] += u64::from(!here.is_ect && other.is_ect);
            flow.counts.ttl_lower[side] += u64::from(here.ttl < other.ttl);
            way.ttl_lower[side] += u64::from(here.ttl < other.ttl);
        }
        *way.hops.entry(i16::from(a.ttl) - i16::from(b.ttl)).or_default() += 1;
        // One that re-marks writes the checksum anew: a wrong one shows that the DSCP was damaged.
        if a.dscp != b.dscp && a.is_ip_right && b.is_ip_right {
            flow.counts.dscp_changed += 1;
            *way.dscp_changes.entry([a.dscp, b.dscp]).or_default() += 1;
        }
        let damage = match () {
            _ if (a.state == State::Bad) != (b.state == State::Bad) => {
                Some((Fate::Corrupted, b.state == State::Bad))
            }
            _ if a.size != b.size => Some((Fate::Trimmed, b.size < a.size)),
            _ if a.is_ip_right != b.is_ip_right => Some((Fate::BadIpChecksum, a.is_ip_right)),
            _ => None,
        };
        if let Some((fate, is_second)) = damage {
            let [right, wrong] = if is_second { pair } else { [b, a] };
            return self.on_damage(flow_at, !is_second as usize, right, wrong, fate);
        }
        flow.counts.delivered += 1;
        let point = (a.time, difference);
        way.envelope.add(point);
        way.samples.add(point);
        flow.samples.add(point);
        way.by_dscp.entry((0, a.dscp)).or_default().add(point);
        way.by_dscp.entry((1, b.dscp)).or_default().add(point);
    }

    /// A packet was right at the tap `side`, and is damaged at the other one.
    pub(super) fn on_damage(
        &mut self,
        flow: u32,
        side: usize,
        right: &TapPacket,
        wrong: &TapPacket,
        fate: Fate,
    ) {
        let arrived_as = Some(wrong.frame);
        self.put_odd(Odd { seen: *right, side, flow, fate, arrived_as, is_outside: false });
    }

    /// A matched packet leaves a tap's window, in the order of that tap. `mate` is its place at the other one.
    pub(super) fn on_leave(&mut self, flow: u32, side: usize, mate: u64) {
        let flow = &mut self.flows[flow as usize];
        flow.counts.late[side] += u64::from(mate < flow.newest_mate[side]);
        flow.newest_mate[side] = flow.newest_mate[side].max(mate);
    }

    /// A packet leaves a tap's window without a record of the other tap.
    pub(super) fn on_alone(&mut self, flow: u32, side: usize, seen: &TapPacket) {
        if self.last_alone.len() < Tally::MOST_ODD {
            self.last_alone.insert((flow, seen.psn, side), (seen.frame, false));
        }
    }

    /// A packet leaves a tap's window, in the order of that tap.
    pub(super) fn on_sent(&mut self, flow: u32, side: usize, seen: &TapPacket) {
        if !self.last_alone.is_empty()
            && let Some((_, is_sent_again)) = self.last_alone.get_mut(&(flow, seen.psn, side))
        {
            *is_sent_again = true;
        }
    }

    /// Whether the PSN of a packet that only one tap saw was not retransmitted.
    pub(super) fn is_final(&self, odd: &Odd) -> bool {
        self.last_alone.get(&(odd.flow, odd.seen.psn, odd.side)) == Some(&(odd.seen.frame, false))
    }

    pub(super) fn put_odd(&mut self, odd: Odd) {
        if self.odd.len() >= Tally::MOST_ODD {
            self.odd_omitted += 1;
            return;
        }
        if odd.seen.class.is_none() {
            self.unclassed.insert((odd.side, odd.seen.frame), self.odd.len());
        }
        self.odd.push(odd);
    }

    /// The running mean of the lag of a flow's packets, and its mean deviation.
    pub(super) fn lag(&self, flow: u32) -> Option<(i64, i64)> {
        self.ways[self.flows[flow as usize].way as usize].lag
    }

    /// Whether a flow exists: a damaged packet may name one that does not.
    pub(super) fn is_real(&self, flow: &FlowTally) -> bool {
        flow.counts.delivered > 0 || flow.counts.packets.iter().sum::<u64>() > 1
    }
}
