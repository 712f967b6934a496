//! Which packets are marked, which senders get CNPs, and how often?
//!
//! RoCE has marks in the IP header (or the GRH), and CNPs. Native InfiniBand has FECN instead of the mark, and all its packets
//! can carry it. A mark that the tap shows was set before the tap; a CNP is about the whole path. So if a sender gets CNPs and
//! none of its packets is marked, the congestion is after the tap, or the CNPs answer losses. Such CNPs come within
//! microseconds of a NAK.

mod distance;
mod flows;
mod pacing;
mod replay;
mod rows;

use std::ops::Range;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};

use super::{Context, Metric, Placed, ends::Ends, incast::Judged, ratio};
use crate::{
    analyze::{
        model::{Address, Class, FlowId},
        packet::Facts,
        table::run::RunSum,
    },
    dissect::Encapsulation,
    prefetch,
    report::{CnpIntervals, Confidence, Congestion as Report, Pacing},
    wire::{Ecn, Syndrome},
};
use flows::{Happened, Marks};
use pacing::Scope;

/// A CNP so close to a NAK of the same pair was caused by the loss, not by a mark.
pub const NEAR_NAK_NS: i64 = 5_000;

/// Most queue pairs, pairs of addresses, and addresses that are kept apart. Others are in the totals only.
const MAX_KEYS: usize = 1 << 16;

/// The metric. A packet costs a few additions, and a cache line of its flow; tables are looked into for CNPs, NAKs and marked
/// packets only.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub struct Congestion {
    /// Packets: data or control (ACKs, NAKs, CNPs), by their ECN code point.
    packets: [[u64; 4]; 2],
    /// Data that was not marked where it was recorded first, but where it was recorded again.
    marked_later: u64,
    cnps: u64,
    cnps_near_nak: u64,
    per_qp: Scope<(Ends, u32)>,
    per_ip_pair: Scope<Ends>,
    per_port: Scope<Address>,
    pairs: HashMap<Ends, LastOfPair, RandomState>,
    senders: HashMap<Address, Sender, RandomState>,
    cnps_of_unknown_senders: u64,
    cnps_without_becn: u64,
    cnps_with_body: u64,
    /// ACKs of native InfiniBand that notify.
    becn_acks: u64,
    flows: Marks,
}

/// Which way packets were captured.
#[derive(Debug, Default)]
pub(crate) struct SeenWays {
    pairs: HashSet<(Address, Address), RandomState>,
    senders: HashSet<Address, RandomState>,
}

impl SeenWays {
    pub(crate) fn of(seen: impl Iterator<Item = (Address, Address)>) -> SeenWays {
        let mut ways = SeenWays::default();
        for (src, dst) in seen {
            ways.pairs.insert((src, dst));
            ways.senders.insert(src);
        }
        ways
    }

    /// Whether packets were captured that go the way of these ends.
    fn goes(&self, ends: Ends) -> bool {
        self.pairs.contains(&(ends.src, ends.dst))
    }
}

/// The CNPs to a sender, and whether a packet of it was marked.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
struct Sender {
    cnps: u64,
    is_marked: bool,
}

/// The last NAK, and the last CNPs, from one address to another.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct LastOfPair {
    nak: i64,
    cnps: [i64; 4],
    next: u8,
}

const LONG_AGO: i64 = i64::MIN;

impl Default for LastOfPair {
    fn default() -> Self {
        LastOfPair { nak: LONG_AGO, cnps: [LONG_AGO; 4], next: 0 }
    }
}

impl Metric for Congestion {
    #[inline(always)]
    fn on_packet(&mut self, packet: &Facts, place: &Placed) {
        if place.is_capture_duplicate() {
            if place.is_marked_later {
                self.marked_later += 1;
                self.mark(packet, place);
            }
            return;
        }
        let is_control = place.is_control;
        self.packets[is_control as usize][packet.mark().0 as usize & 3] += 1;
        if is_control {
            return self.control(packet, place);
        }
        if let Some(flow) = place.flow {
            self.flows.on_data(flow, packet);
        }
        if packet.mark() == Ecn::CE {
            self.mark(packet, place);
        }
    }

    /// The packets of a run are neither control packets nor marked.
    fn on_run(&mut self, run: &RunSum) {
        self.packets[0][run.ecn.0 as usize & 3] += run.packets;
        self.flows.on_run(run);
    }

    fn on_retire(&mut self, flow: FlowId) {
        self.flows.retire(flow);
    }

    /// From the first CNP on, the bins of the flows' rates.
    fn span(&self, time_ns: i64) -> Range<i64> {
        self.flows.span(time_ns)
    }

    #[inline(always)]
    fn prefetch(&self, flow: FlowId) {
        if let Some(slot) = self.flows.slot(flow) {
            prefetch::line(slot);
        }
    }

    fn heap_bytes(&self) -> usize {
        let scopes = self.per_qp.last.allocation_size()
            + self.per_ip_pair.last.allocation_size()
            + self.per_port.last.allocation_size();
        self.flows.heap_bytes() + self.pairs.allocation_size() + self.senders.allocation_size() + scopes
    }
}

impl Congestion {
    #[cold]
    #[inline(never)]
    fn mark(&mut self, packet: &Facts, place: &Placed) {
        let may_be_first = place.flow.is_none_or(|flow| {
            self.flows.happened((Happened::Mark, place.is_marked_later), flow, packet, place.frame)
        });
        // Of a flow that was marked, the sender was noted then.
        if may_be_first
            && let Some(sender) = Ends::of(packet).and_then(|ends| kept(&mut self.senders, ends.src))
        {
            sender.is_marked = true;
        }
    }

    #[inline]
    fn control(&mut self, packet: &Facts, place: &Placed) {
        if packet.opcode().is_cnp() {
            self.cnp(packet, place);
        } else if packet.syndrome() == Some(Syndrome::PSN_SEQUENCE_ERROR) {
            self.nak(packet, place);
        } else if packet.becn() && matches!(packet.encapsulation(), Encapsulation::Ib | Encapsulation::IbGrh)
        {
            self.becn_acks += 1;
        }
    }

    #[cold]
    fn cnp(&mut self, packet: &Facts, place: &Placed) {
        let now = packet.time();
        self.cnps_without_becn += !packet.becn() as u64;
        // A damaged one shows nothing of its sender.
        let is_right = place.class != Some(Class::Corrupt);
        self.cnps_with_body += (is_right && packet.has_cnp_body()) as u64;
        if let Some(flow) = place.flow {
            self.flows.happened((Happened::Cnp, false), flow, packet, place.frame);
            self.flows.slows(flow, place.peer, packet);
        }
        self.cnps += 1;
        let Some(ends) = Ends::of(packet) else {
            self.cnps_of_unknown_senders += 1;
            return;
        };
        match kept(&mut self.senders, ends.dst) {
            Some(sender) => sender.cnps += 1,
            None => self.cnps_of_unknown_senders += 1,
        }
        self.per_qp.on_cnp(now, (ends, packet.dest_qp().map_or(0, |qp| qp.0)));
        self.per_ip_pair.on_cnp(now, ends);
        self.per_port.on_cnp(now, ends.src);
        if let Some(recent) = kept(&mut self.pairs, ends) {
            if near(recent.nak, now) {
                self.cnps_near_nak += 1;
            } else {
                recent.cnps[recent.next as usize % 4] = now;
                recent.next = (recent.next + 1) % 4;
            }
        }
    }

    #[cold]
    fn nak(&mut self, packet: &Facts, place: &Placed) {
        let now = packet.time();
        if let Some(flow) = place.flow {
            self.flows.happened((Happened::Nak, false), flow, packet, place.frame);
        }
        let Some(recent) = Ends::of(packet).and_then(|ends| kept(&mut self.pairs, ends)) else { return };
        recent.nak = now;
        for cnp in recent.cnps.iter_mut().filter(|cnp| near(**cnp, now)) {
            *cnp = LONG_AGO;
            self.cnps_near_nak += 1;
        }
    }

    /// The report's section. `incast`: when links were full; `seen`: which way packets went.
    pub(crate) fn section_with_flows(
        &self,
        context: &Context<'_>,
        incast: &Judged,
        seen: &SeenWays,
    ) -> Report {
        let mut section = self.section();
        rows::fill(self, (context, incast, seen), &mut section);
        section
    }

    /// Whether any packet was marked, or a CNP seen.
    pub(crate) fn is_any(&self) -> bool {
        let marked: u64 = self.packets.iter().map(|of| of[Ecn::CE.0 as usize]).sum();
        marked + self.marked_later + self.cnps > 0
    }

    /// CNPs to senders of whose packets none was marked, of those that `is_seen`.
    fn cnps_without_ce(&self, is_seen: impl Fn(&Address) -> bool) -> u64 {
        let senders = self.senders.iter().filter(|(sender, of)| !of.is_marked && is_seen(sender));
        senders.map(|(_, of)| of.cnps).sum()
    }

    /// The report's section, without what needs the flows of the report.
    pub fn section(&self) -> Report {
        let limit = self.pacing();
        let capable = |packets: &[u64; 4]| packets[1..].iter().sum::<u64>();
        let [data, control] = &self.packets;
        let ce = data[Ecn::CE.0 as usize] + self.marked_later;
        let control_ce = control[Ecn::CE.0 as usize];
        let all = data.iter().chain(control).sum();
        Report {
            ect_packets: capable(data) + capable(control),
            ce_packets: ce + control_ce,
            ce_ratio: ratio(ce, capable(data)),
            ce_ratio_all: ratio(ce + control_ce, all),
            ce_control_packets: control_ce,
            cnps: self.cnps,
            cnp_interval_ns: CnpIntervals {
                per_qp: self.per_qp.summary(),
                per_ip_pair: self.per_ip_pair.summary(),
                per_port: self.per_port.summary(),
            },
            cnps_without_ce: Some(self.cnps_without_ce(|_| true)),
            cnps_near_nak: self.cnps_near_nak,
            cnps_without_becn: self.cnps_without_becn,
            cnps_with_body: self.cnps_with_body,
            becn_acks: self.becn_acks,
            pacing: limit.map(|limit| limit.scope),
            pacing_interval_ns: limit.map(|limit| limit.least_ns),
            pacing_confidence: limit.map(|limit| limit.confidence),
            ..Report::default()
        }
    }

    /// The widest scope at which CNPs keep a distance, unless those of a narrower one keep a far longer one than that would make of it. A
    /// scope that no CNPs of two narrower ones meet in (a single queue pair a host, say) proves nothing of its own.
    fn pacing(&self) -> Option<Limit> {
        let (qps, pairs, ports) =
            (self.per_qp.last.len(), self.per_ip_pair.last.len(), self.per_port.last.len());
        // With how many there are of each, of the next narrower one, and of the next wider one.
        let scopes = [
            (Pacing::PerPort, &self.per_port.gaps, ports, pairs, None),
            (Pacing::PerIpPair, &self.per_ip_pair.gaps, pairs, qps, Some(ports)),
            (Pacing::PerQp, &self.per_qp.gaps, qps, usize::MAX, Some(pairs)),
        ];
        // Those that share a limit in turn are as much farther apart as they are many.
        let in_turn = |least_ns: u64, few: usize, many: usize| {
            least_ns.saturating_mul((many as u64).div_ceil(few.max(1) as u64)).saturating_mul(2)
        };
        let mut found: Option<(Limit, usize)> = None;
        for (scope, gaps, keys, narrower, wider) in scopes {
            let Some(gaps) = gaps.as_deref() else { continue };
            // Too few gaps prove no limit, but that of a wider scope was none if all of them are far longer.
            if gaps.are_some()
                && found.is_some_and(|(wide, few)| gaps.shortest() > in_turn(wide.least_ns, few, keys))
            {
                found = None;
            }
            // Those of a limit each, in step with each other, keep a distance between them too: by far not as sharp as their own.
            if found.is_some_and(|(wide, _)| gaps.are_sharper(wide.near)) {
                found = None;
            }
            let Some(least_ns) = gaps.edge().filter(|_| found.is_none() && keys < narrower) else { continue };
            // One of a wider scope each may have its limit, or share it with others that sent nothing.
            let is_any = wider == Some(keys);
            let confidence = if is_any { Confidence::Possible } else { gaps.confidence() };
            found = Some((Limit { scope, least_ns, near: gaps.near(), confidence }, keys));
        }
        let limit = found.map(|(limit, _)| limit)?;
        // Where hardly a mark is within that distance from one that was answered, each has its CNP: their distances are those of the marks.
        (!self.flows.are_all_answered(limit, self.cnps)).then_some(limit)
    }
}

/// A distance that CNPs keep.
#[derive(Clone, Copy, Debug)]
struct Limit {
    scope: Pacing,
    least_ns: u64,
    /// The share of the distances that are no longer than that, or little.
    near: f64,
    confidence: Confidence,
}

fn near(then: i64, now: i64) -> bool {
    then != LONG_AGO && now.abs_diff(then) <= NEAR_NAK_NS as u64
}

/// The entry of a table that does not grow beyond [`MAX_KEYS`].
fn kept<K: std::hash::Hash + Eq, V: Default>(
    table: &mut HashMap<K, V, RandomState>,
    key: K,
) -> Option<&mut V> {
    if table.len() >= MAX_KEYS {
        return table.get_mut(&key);
    }
    Some(table.entry(key).or_default())
}
