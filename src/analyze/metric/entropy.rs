//! How well are flows spread over equal-cost paths?
//!
//! Switches choose a path by a hash over addresses and UDP ports, of which only the source port differs between the
//! queue pairs of two hosts. Few ports, or the same port for several queue pairs, put flows onto the same path. A flow
//! whose packets have several ports in turns is sprayed: then it arrives out of order without any loss.

use std::{borrow::Cow, slice};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::{KnownFlow, Metric, Placed, ends::Ends, per_flow::PerFlow};
use crate::{
    analyze::{model::FlowId, packet::Facts, table::run::RunSum},
    prefetch,
    report::{PortCollision, Ports as Report, SprayedFlow},
    wire::{Qpn, Udp},
};

/// Flows that are gone and stay in the sums.
const MAX_RETIRED: usize = 1 << 17;
/// Pairs of hosts; flows of others are not looked at.
const MAX_PAIRS: usize = 1 << 17;
/// Ports that are told apart per flow; packets of others count for the last of these.
const MAX_PORTS: usize = 64;
/// Flows of several ports that may have so many; of later ones, only a few ports are told apart.
const MAX_SEVERAL: usize = 1 << 16;
const FEW_PORTS: usize = 4;
/// Collisions and sprayed flows that are listed.
const MAX_LISTED: usize = 100;
/// How often a flow must come back to a port that it has left.
const MIN_RETURNS: u64 = 8;

/// The metric. A flow of one port costs 32 bytes and a few additions a packet.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Entropy {
    flows: PerFlow<Flow>,
    /// Flows whose numbers are others' by now.
    #[serde(with = "crate::stored::roomy")]
    gone: Vec<Flow>,
    /// Pairs of hosts, of which there are fewer.
    #[serde(with = "crate::stored::roomy")]
    pairs: Vec<Ends>,
    numbers: HashMap<Ends, u32, RandomState>,
    /// Flows that ever had several ports.
    several: usize,
}

/// A flow; the default, without bytes, is none.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Flow {
    /// Which of the pairs.
    pair: u32,
    qp: u32,
    /// The port of the last packet, and what it had since the flow came to it.
    used: Used,
    /// Once there was a second port.
    many: Option<Box<Many>>,
}

#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Many {
    /// In the order in which they came, and the bytes of each.
    ports: Vec<u16>,
    bytes: Vec<u64>,
    switches: u64,
    /// Switches to a port that the flow had before.
    returns: u64,
    /// Ports that are told apart.
    max: usize,
}

#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Used {
    port: u16,
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
            return;
        }
        let bytes = packet.l1_bytes() as u64;
        match self.flows.known(id) {
            Some(flow) if flow.used.port == port && flow.used.bytes > 0 => flow.used.bytes += bytes,
            Some(flow) if flow.used.bytes > 0 => flow.switch(port, packet, &mut self.several),
            _ => self.start(id, port, packet),
        }
    }

    /// The packets of a run have the source port of the flow's last packet.
    fn on_run(&mut self, run: &RunSum) {
        if let Some(flow) = self.flows.known(run.flow).filter(|flow| flow.used.bytes > 0) {
            flow.used.bytes += run.l1_bytes;
        }
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
        let of_several = size_of::<Many>() + MAX_PORTS * (size_of::<u16>() + size_of::<u64>());
        self.several.min(MAX_SEVERAL) * of_several
            + self.pairs.capacity() * size_of::<Ends>()
            + self.numbers.allocation_size()
            + self.gone.capacity() * size_of::<Flow>()
    }
}

impl Flow {
    #[cold]
    fn switch(&mut self, port: u16, packet: &Facts, several: &mut usize) {
        // A CNP is no part of what its flow sends: adapters give it a port of its own.
        if packet.opcode().is_cnp() {
            return;
        }
        let bytes = packet.l1_bytes() as u64;
        let left = std::mem::replace(&mut self.used, Used { port, bytes });
        let many = self.many.get_or_insert_with(|| {
            *several += 1;
            let max = if *several > MAX_SEVERAL { FEW_PORTS } else { MAX_PORTS };
            Box::new(Many { max, ..Many::default() })
        });
        many.add(left);
        many.switches += 1;
        many.returns += many.find(port).is_some() as u64;
    }

    /// The source ports of the flow, with the bytes of each.
    fn ports(&self) -> Cow<'_, [Used]> {
        let Some(many) = &self.many else {
            return Cow::Borrowed(slice::from_ref(&self.used));
        };
        let mut many = many.clone();
        many.add(self.used);
        let used = many.ports.iter().zip(&many.bytes).map(|(&port, &bytes)| Used { port, bytes });
        Cow::Owned(used.collect())
    }
}

impl Many {
    fn add(&mut self, more: Used) {
        let is_full = self.ports.len() >= self.max;
        let at = self.find(more.port).or(is_full.then(|| self.max - 1));
        match at.and_then(|at| self.bytes.get_mut(at)) {
            Some(bytes) => *bytes += more.bytes,
            None => {
                self.ports.push(more.port);
                self.bytes.push(more.bytes);
            }
        }
    }

    /// The position of a port. Blocks that do not have it are skipped, 16 ports at a time.
    fn find(&self, port: u16) -> Option<usize> {
        let is_among = |ports: &[u16; 16]| ports.iter().fold(false, |is_any, &one| is_any | (one == port));
        let (many, _) = self.ports.as_chunks();
        let before = many.iter().take_while(|&ports| !is_among(ports)).count() * 16;
        self.ports.get(before..)?.iter().position(|&one| one == port).map(|at| before + at)
    }
}

impl Entropy {
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
        *flow = Flow { pair, qp, used: Used { port, bytes }, many: None };
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
