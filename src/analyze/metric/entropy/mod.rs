//! How well are flows spread over equal-cost paths?
//!
//! Switches choose a path by a hash over addresses and UDP ports, of which only the source port differs between the
//! queue pairs of two hosts. Few ports, or the same port for several queue pairs, put flows onto the same path. A flow
//! whose packets have several ports in turns is sprayed: then it arrives out of order without any loss.

use std::{borrow::Cow, slice};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

mod many;
mod memory;

use self::{
    many::{MAX_STALE, Many},
    memory::{REMEMBERED, Sent},
};
use super::{
    KnownFlow, Metric, Placed, Verdict,
    crossings::Crossings,
    ends::Ends,
    paths::{BehindTap, OfFlow, Tally, View, in_order, rows},
    per_flow::PerFlow,
    suspects::Suspects,
    turns::Turns,
};
use crate::{
    analyze::{
        model::FlowId,
        network::Network,
        packet::{Facts, path_tag},
        table::run::RunSum,
    },
    opcode::{Direction, Operation},
    prefetch,
    report::{FlowPath, PortCollision, Ports as Report, SprayedFlow},
    wire::{Psn, Qpn, Udp},
};

/// Flows that are gone and stay in the sums.
const MAX_RETIRED: usize = 1 << 17;
/// Pairs of hosts; flows of others are not looked at.
const MAX_PAIRS: usize = 1 << 17;
/// Ports that are told apart per flow; packets of others count for the last of these.
const MAX_PORTS: usize = 128;
/// Flows of several ports that may have so many; of later ones, only a few ports are told apart.
const MAX_SEVERAL: usize = 1 << 12;
const FEW_PORTS: usize = 4;
/// Flows of several ports of which is told what comes to a second tap.
const MAX_CROSSED: usize = 512;
/// Collisions and sprayed flows that are listed.
const MAX_LISTED: usize = 100;
/// How often a flow must come back to a port that it has left.
const MIN_RETURNS: u64 = 8;

/// The metric. A flow of one port costs 32 bytes and a few additions a packet.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub struct Entropy {
    flows: PerFlow<Flow>,
    /// Flows whose numbers are others' by now.
    gone: Vec<Flow>,
    /// Pairs of hosts, of which there are fewer.
    pairs: Vec<Ends>,
    numbers: HashMap<Ends, u32, RandomState>,
    /// Flows that ever had several ports, and those of them that came to a second tap.
    several: usize,
    crossed: usize,
    /// There may be several taps.
    has_interfaces: bool,
}

/// A flow; the default, without bytes, is none.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
struct Flow {
    /// Which of the pairs.
    pair: u32,
    qp: u32,
    /// The port of the last packet, and what it had since the flow came to it.
    used: Used,
    /// Once there was a second port.
    many: Option<Box<Many>>,
}

#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
struct Used {
    port: u16,
    packets: u32,
    bytes: u64,
}

/// A flow of one port.
#[derive(Clone, Copy, Debug)]
struct Alone {
    pair: u32,
    port: u16,
    qp: u32,
    id: Option<FlowId>,
}

impl Metric for Entropy {
    #[inline(always)]
    fn on_packet(&mut self, packet: &Facts, place: &Placed) {
        let (Some(id), Some(port)) = (place.flow, packet.port()) else { return };
        if place.is_capture_duplicate() {
            if self.several > 0
                && let Some(many) = self.flows.known(id).and_then(|flow| flow.many.as_deref_mut())
            {
                let had = many.crossings.are_prepared();
                if had || self.crossed < MAX_CROSSED {
                    many.elsewhere(port, packet, place);
                }
                self.crossed += usize::from(many.crossings.are_prepared() != had);
            }
            return;
        }
        if self.several > 0
            && let Some(peer) = place.peer
        {
            self.on_answer(peer, packet);
        }
        let bytes = packet.l1_bytes() as u64;
        match self.flows.known(id) {
            Some(flow) if flow.used.port == port && flow.used.bytes > 0 => {
                flow.used.bytes += bytes;
                flow.used.packets = flow.used.packets.saturating_add(1);
                if let Some(many) = &mut flow.many {
                    many.packet(port, packet, place);
                }
            }
            Some(flow) if flow.used.bytes > 0 => {
                let had = flow.many.is_some();
                flow.switch(port, packet, place, &mut self.several);
                if !had
                    && self.has_interfaces
                    && self.crossed < MAX_CROSSED
                    && let Some(many) = flow.many.as_deref_mut()
                {
                    many.crossings.prepare();
                    self.crossed += 1;
                }
            }
            _ => self.start(id, port, packet),
        }
    }

    fn on_verdict(&mut self, verdict: &Verdict) {
        let Some(many) = self.flows.known(verdict.flow).and_then(|flow| flow.many.as_deref_mut()) else {
            return;
        };
        if let Some(at) = many.elsewhere.iter().position(|&frame| frame == verdict.frame) {
            many.elsewhere.swap_remove(at);
            return;
        }
        if let (Some(port), Direction::Request) = (path_tag::port(verdict.path_tag), verdict.space) {
            many.classified(
                port,
                Sent { psn: verdict.psn, time: verdict.time_ns, is_asked: None, is_first: false },
                verdict.class,
            );
        }
    }

    /// The packets of a run have the source port of the flow's last packet.
    fn on_run(&mut self, run: &RunSum) {
        if let Some(flow) = self.flows.known(run.flow).filter(|flow| flow.used.bytes > 0) {
            flow.used.bytes += run.l1_bytes;
            flow.used.packets =
                flow.used.packets.saturating_add(u32::try_from(run.packets).unwrap_or(u32::MAX));
            if let Some(many) = &mut flow.many {
                many.run(flow.used.port, run);
            }
        }
    }

    fn on_interface(&mut self, number: u16, _: &Network) {
        self.has_interfaces |= number > 0;
    }

    fn on_retire(&mut self, flow: FlowId) {
        let Some(gone) = self.flows.retire(flow).filter(|gone| gone.used.bytes > 0) else { return };
        if self.gone.len() < MAX_RETIRED {
            self.gone.push(gone);
        }
    }

    #[inline(always)]
    fn prefetch(&self, flow: FlowId) {
        if let Some(flow) = self.flows.get(flow) {
            prefetch::lines(flow);
        }
    }

    fn heap_bytes(&self) -> usize {
        let of_several = size_of::<Many>()
            + MAX_PORTS * (size_of::<u16>() + size_of::<Tally>())
            + Turns::bytes(MAX_PORTS)
            + REMEMBERED * size_of::<u64>()
            + MAX_STALE * size_of::<(Psn, u16)>()
            + Suspects::BYTES;
        self.several.min(MAX_SEVERAL) * of_several
            + self.crossed * Crossings::bytes(MAX_PORTS)
            + self.pairs.capacity() * size_of::<Ends>()
            + self.numbers.allocation_size()
            + self.gone.capacity() * size_of::<Flow>()
    }
}

impl Flow {
    #[cold]
    fn switch(&mut self, port: u16, packet: &Facts, place: &Placed, several: &mut usize) {
        // A CNP is no part of what its flow sends: adapters give it a port of its own.
        if packet.opcode().is_cnp() {
            return;
        }
        let bytes = packet.l1_bytes() as u64;
        let left = std::mem::replace(&mut self.used, Used { port, packets: 1, bytes });
        let is_new = self.many.is_none();
        let many = self.many.get_or_insert_with(|| {
            *several += 1;
            let max = if *several > MAX_SEVERAL { FEW_PORTS } else { MAX_PORTS };
            Box::new(Many::new(max))
        });
        if is_new {
            // What the first port carried until now.
            many.begin(&left, packet);
        }
        many.switches += 1;
        many.returns += many.find(port).is_some() as u64;
        many.packet(port, packet, place);
    }

    /// The source ports of the flow, with the bytes of each.
    fn ports(&self) -> Cow<'_, [Used]> {
        let Some(many) = &self.many else {
            return Cow::Borrowed(slice::from_ref(&self.used));
        };
        let used = many.ports.iter().zip(&many.tallies).map(|(&port, tally)| Used {
            port,
            packets: u32::try_from(tally.packets).unwrap_or(u32::MAX),
            bytes: tally.bytes,
        });
        Cow::Owned(used.collect())
    }
}

impl Entropy {
    /// An acknowledgement of the requests of a flow.
    fn on_answer(&mut self, peer: FlowId, packet: &Facts) {
        // Responses with data come in runs, too: these do not show each.
        let Some(aeth) =
            packet.aeth().filter(|_| packet.opcode().operation() == Some(Operation::Acknowledge))
        else {
            return;
        };
        let Some(many) = self.flows.known(peer).and_then(|flow| flow.many.as_deref_mut()) else { return };
        // A NAK is for the packet that is missing.
        let is_ack = aeth.syndrome().is_ack();
        let psn = if is_ack { packet.psn() } else { packet.psn().plus(u32::MAX) };
        many.answers(psn, is_ack, packet.time());
    }

    #[cold]
    fn start(&mut self, id: FlowId, port: u16, packet: &Facts) {
        let Some(ends) = Ends::of(packet) else { return };
        let is_full = self.pairs.len() >= MAX_PAIRS && !self.numbers.contains_key(&ends);
        if is_full || packet.opcode().is_cnp() {
            return;
        }
        let Some(flow) = self.flows.entry(id) else { return };
        let pairs = &mut self.pairs;
        let pair = *self.numbers.entry(ends).or_insert_with(|| {
            pairs.push(ends);
            pairs.len() as u32 - 1
        });
        let (qp, bytes) = (packet.dest_qp().map_or(0, |qp| qp.0), packet.l1_bytes() as u64);
        *flow = Flow { pair, qp, used: Used { port, packets: 1, bytes }, many: None };
    }

    /// The rank of each pair of hosts in the order of addresses.
    fn ranks(&self) -> Vec<u32> {
        let mut order: Vec<usize> = (0..self.pairs.len()).collect();
        order.sort_unstable_by_key(|&pair| self.pairs[pair]);
        let mut ranks = vec![0; order.len()];
        for (rank, pair) in (0..).zip(order) {
            ranks[pair] = rank;
        }
        ranks
    }

    /// The report's section: `None` where no flow has UDP ports. `known` says where a flow stands in the report.
    pub fn section(&self, known: impl Fn(FlowId) -> Option<KnownFlow>) -> Option<Report> {
        let mut report = Report::default();
        let mut by_port = HashMap::<u16, u64, RandomState>::default();
        let mut same = Vec::new();
        let mut by_flow = Vec::new();
        let here = self.flows.iter().map(|(id, flow)| (Some(id), flow));
        let all = here.chain(self.gone.iter().map(|flow| (None, flow)));
        for (id, flow) in all.filter(|(_, flow)| flow.used.bytes > 0) {
            let ports = flow.ports();
            report.flows += 1;
            by_flow.push(ports.iter().map(|used| used.bytes).sum());
            for used in &*ports {
                *by_port.entry(used.port).or_default() += used.bytes;
            }
            let known = id.and_then(&known);
            if let [only] = *ports {
                same.push(Alone { pair: flow.pair, port: only.port, qp: flow.qp, id });
                if let Some(peer) = known.and_then(|known| known.peer_qp) {
                    let is_linux = only.port == Udp::linux_source_port(Qpn(flow.qp), Qpn(peer));
                    let linux = report.linux_formula.get_or_insert_default();
                    linux.flows += 1;
                    linux.matching += is_linux as u64;
                }
            }
            if let Some(many) = flow.many.as_deref() {
                report.several_ports += 1;
                if many.returns >= MIN_RETURNS {
                    report.sprayed += 1;
                    report.lost_unattributed += many.unattributed;
                    if let (Some(known), true) = (known, report.sprayed_flows.len() < MAX_LISTED) {
                        report.sprayed_flows.push(SprayedFlow {
                            flow: known.index,
                            ports: ports.len() as u64,
                            switches: many.switches,
                        });
                    }
                }
            }
        }
        if report.flows == 0 {
            return None;
        }
        report.ports = by_port.len() as u64;
        // Sums of fractions differ in their last digits with the order of the ports, which says nothing: there is one order,
        // and the last digits are left out.
        let mut by_port: Vec<_> = by_port.into_iter().collect();
        by_port.sort_unstable_by_key(|&(port, _)| port);
        let rounded = |bits: f64| (bits * 1e9).round() / 1e9;
        report.entropy_bits = rounded(entropy(by_port.iter().map(|&(_, bytes)| bytes)));
        report.effective_flows = rounded(report.entropy_bits.exp2());
        report.flow_entropy_bits = rounded(entropy(by_flow.into_iter()));
        let ranks = self.ranks();
        same.sort_by_cached_key(|one| (ranks[one.pair as usize] as u64) << u16::BITS | one.port as u64);
        for flows in same.chunk_by(|a, b| (a.pair, a.port) == (b.pair, b.port)) {
            let Some(&first) = flows.first().filter(|first| flows.iter().any(|one| one.qp != first.qp))
            else {
                continue;
            };
            report.collisions += 1;
            if report.collision_groups.len() < MAX_LISTED {
                let (ends, udp_src_port) = (self.pairs[first.pair as usize], first.port);
                report.collision_groups.push(PortCollision {
                    src: ends.src.to_string(),
                    dst: ends.dst.to_string(),
                    udp_src_port,
                    flows: flows.iter().filter_map(|one| known(one.id?).map(|known| known.index)).collect(),
                });
            }
        }
        Some(report)
    }

    /// What the paths of flows show of packets that were taken for lost behind the tap, by the places of the flows. `known` as in [`section`](Self::section).
    pub(crate) fn behind_tap(
        &self,
        known: impl Fn(FlowId) -> Option<KnownFlow>,
    ) -> std::collections::HashMap<usize, BehindTap> {
        let several = self.flows.iter().filter_map(|(id, flow)| Some((id, flow.many.as_deref()?)));
        let told = several.filter(|(_, many)| many.returns >= MIN_RETURNS && many.data > 0);
        told.filter_map(|(id, many)| {
            let (tallies, is_told, _) = many.judged();
            // Who goes back repeats much that was not lost: it is no evidence.
            if many.goes_back() && !is_told {
                return None;
            }
            Some((known(id)?.index, BehindTap::of(&tallies, is_told)?))
        })
        .collect()
    }

    /// The paths of flows that come back to them, those that stand out first. `known` as in [`section`](Self::section).
    pub(crate) fn paths(&self, known: impl Fn(FlowId) -> Option<KnownFlow>) -> Vec<FlowPath> {
        let here = self.flows.iter().map(|(id, flow)| (Some(id), flow));
        let all = here.chain(self.gone.iter().map(|flow| (None, flow)));
        let mut paths = Vec::new();
        for (id, flow) in all {
            let Some(many) = flow.many.as_deref().filter(|many| many.returns >= MIN_RETURNS) else {
                continue;
            };
            if many.has_few() || many.data == 0 {
                continue;
            }
            let ends = self.pairs[flow.pair as usize];
            let (flow, dest_qp) = (id.and_then(&known).map(|known| known.index), Some(flow.qp));
            let of = OfFlow { flow, src: ends.src, dst: ends.dst, dest_qp, spdcid: None };
            let unseen = many.unseen.left_out(many.unattributed, |at| many.ports.get(at).copied());
            let unseen = unseen.filter(|(port, _)| !many.ports.contains(port));
            let (mut tallies, is_told, unattributed) = many.judged();
            tallies.extend(unseen.map(|(_, lost)| Tally::never_seen(lost)));
            let entropy = many.ports.iter().copied().chain(unseen.map(|(port, _)| port));
            let entropy = entropy.map(|port| (port, None));
            let is_known = is_told || many.answered.is_some();
            let view = View { is_lost_before: many.lost[0] + many.unattributed > many.lost[1], is_known };
            let lost_unattributed = unattributed.saturating_sub(unseen.map_or(0, |(_, lost)| lost));
            let with_those = |path| FlowPath { lost_unattributed, ..path };
            paths.extend(rows(&of, &tallies, view, entropy).map(with_those));
        }
        in_order(paths)
    }
}

/// Shannon's entropy of shares, in bits.
fn entropy(shares: impl Iterator<Item = u64> + Clone) -> f64 {
    let total: u64 = shares.clone().sum();
    let bits: f64 = shares
        .filter(|&share| share > 0)
        .map(|share| share as f64 / total as f64)
        .map(|p| -p * p.log2())
        .sum();
    // The maximum of 0 and -0 may be either: it would depend on the compiler's optimizations.
    if bits > 0.0 { bits } else { 0.0 }
}
