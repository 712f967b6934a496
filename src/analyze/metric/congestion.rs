//! Which packets are marked, which senders get CNPs, and how often?
//!
//! RoCE has marks in the IP header (or the GRH), and CNPs. Native InfiniBand has FECN instead of the mark, and all its packets
//! can carry it. A mark that the tap shows was set before the tap; a CNP is about the whole path. So if a sender gets CNPs and
//! none of its packets is marked, the congestion is behind the tap, or the CNPs answer losses. Such CNPs come within
//! microseconds of a NAK.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use hdrhistogram::Histogram;

use super::{Context, Metric, Placed, ends::Ends};
use crate::{
    analyze::{model::Address, packet::PacketView, table::run::RunSum, track::distribution::summary},
    report::{self, CnpIntervals, Congestion as Report, Pacing, Summary},
    wire::{Ecn, Syndrome},
};

/// A CNP so close to a NAK of the same pair was caused by the loss, not by a mark.
pub const NEAR_NAK_NS: i64 = 5_000;

/// Most queue pairs, pairs of addresses, and addresses that are kept apart. Others are in the totals only.
const MAX_KEYS: usize = 1 << 16;
/// Gaps between CNPs from which on a lower edge is looked for.
const MIN_GAPS: u64 = 16;
/// Gaps in a row of which the least is taken, to tell an edge from chance.
const BLOCK: u32 = 16;
/// The longest gap that is told apart: an hour.
const MAX_GAP_NS: u64 = 3_600_000_000_000;

/// The metric. A packet costs a few additions; tables are looked into for CNPs, NAKs and marked packets only.
#[derive(Clone, Debug, Default)]
pub struct Congestion {
    /// Packets: data or control (ACKs, NAKs, CNPs), by their ECN code point.
    packets: [[u64; 4]; 2],
    cnps: u64,
    cnps_near_nak: u64,
    per_qp: Scope<(Ends, u32)>,
    per_ip_pair: Scope<Ends>,
    per_port: Scope<Address>,
    pairs: HashMap<Ends, LastOfPair, RandomState>,
    senders: HashMap<Address, Sender, RandomState>,
    cnps_of_unknown_senders: u64,
}

/// The CNPs to a sender, and whether a packet of it was marked.
#[derive(Clone, Copy, Debug, Default)]
struct Sender {
    cnps: u64,
    is_marked: bool,
}

/// The last NAK, and the last CNPs, from one address to another.
#[derive(Clone, Copy, Debug)]
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
    fn on_packet(&mut self, packet: &impl PacketView, place: &Placed) {
        if place.is_capture_duplicate() {
            return;
        }
        let is_control = place.is_control;
        self.packets[is_control as usize][packet.mark().0 as usize & 3] += 1;
        if packet.mark() == Ecn::CE && !is_control {
            self.mark(packet);
        }
        if is_control {
            self.control(packet);
        }
    }

    /// The packets of a run are neither control packets nor marked.
    fn on_run(&mut self, run: &RunSum) {
        self.packets[0][run.ecn.0 as usize & 3] += run.packets;
    }

    fn contribute<F, C, E>(&self, _: &Context<'_>, report: &mut report::Report<F, C, E>) {
        report.congestion = self.section();
    }
}

impl Congestion {
    #[cold]
    fn mark(&mut self, packet: &impl PacketView) {
        if let Some(sender) = Ends::of(packet).and_then(|ends| kept(&mut self.senders, ends.src)) {
            sender.is_marked = true;
        }
    }

    #[inline]
    fn control(&mut self, packet: &impl PacketView) {
        if packet.opcode().is_cnp() {
            self.cnp(packet);
        } else if packet.syndrome() == Some(Syndrome::PSN_SEQUENCE_ERROR) {
            self.nak(packet);
        }
    }

    #[cold]
    fn cnp(&mut self, packet: &impl PacketView) {
        let now = packet.time();
        self.cnps += 1;
        let Some(ends) = Ends::of(packet) else {
            self.cnps_of_unknown_senders += 1;
            return;
        };
        match kept(&mut self.senders, ends.dst) {
            Some(sender) => sender.cnps += 1,
            None => self.cnps_of_unknown_senders += 1,
        }
        self.per_qp.on_cnp(now, (ends, packet.key().unwrap_or_default().dest_qp()));
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
    fn nak(&mut self, packet: &impl PacketView) {
        let now = packet.time();
        let Some(recent) = Ends::of(packet).and_then(|ends| kept(&mut self.pairs, ends)) else { return };
        recent.nak = now;
        for cnp in recent.cnps.iter_mut().filter(|cnp| near(**cnp, now)) {
            *cnp = LONG_AGO;
            self.cnps_near_nak += 1;
        }
    }

    /// The report's section.
    pub fn section(&self) -> Report {
        let ratio = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let (pacing, pacing_interval_ns) = self.pacing();
        let capable = |packets: &[u64; 4]| packets[1..].iter().sum::<u64>();
        let [data, control] = &self.packets;
        let ce = Ecn::CE.0 as usize;
        let all = data.iter().chain(control).sum();
        Report {
            ect_packets: capable(data) + capable(control),
            ce_packets: data[ce] + control[ce],
            ce_ratio: ratio(data[ce], capable(data)),
            ce_ratio_all: ratio(data[ce] + control[ce], all),
            ce_control_packets: control[ce],
            cnps: self.cnps,
            cnp_interval_ns: CnpIntervals {
                per_qp: self.per_qp.summary(),
                per_ip_pair: self.per_ip_pair.summary(),
                per_port: self.per_port.summary(),
            },
            cnps_without_ce: self.senders.values().filter(|s| !s.is_marked).map(|s| s.cnps).sum(),
            cnps_near_nak: self.cnps_near_nak,
            pacing,
            pacing_interval_ns,
            ..Report::default()
        }
    }

    /// The widest scope at which CNPs keep a distance. A scope that no CNPs of two narrower ones meet in (a single
    /// queue pair a host, say) proves nothing of its own.
    fn pacing(&self) -> (Option<Pacing>, Option<u64>) {
        let (qps, pairs, ports) =
            (self.per_qp.last.len(), self.per_ip_pair.last.len(), self.per_port.last.len());
        let scopes = [
            (Pacing::PerPort, &self.per_port.gaps, ports < pairs),
            (Pacing::PerIpPair, &self.per_ip_pair.gaps, pairs < qps),
            (Pacing::PerQp, &self.per_qp.gaps, true),
        ];
        for (scope, gaps, is_proof) in scopes {
            if let Some(edge) = gaps.as_ref().filter(|_| is_proof).and_then(|gaps| gaps.edge()) {
                return (Some(scope), Some(edge));
            }
        }
        (None, None)
    }
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

/// CNPs that may keep a distance from each other: those of a queue pair, of a pair of addresses, of a sender.
#[derive(Clone, Debug)]
struct Scope<K> {
    last: HashMap<K, i64, RandomState>,
    gaps: Option<Box<Gaps>>,
}

impl<K> Default for Scope<K> {
    fn default() -> Self {
        Scope { last: HashMap::default(), gaps: None }
    }
}

impl<K: std::hash::Hash + Eq> Scope<K> {
    fn on_cnp(&mut self, now: i64, key: K) {
        let last = match self.last.get_mut(&key) {
            Some(last) => last,
            None => {
                if self.last.len() < MAX_KEYS {
                    self.last.insert(key, now);
                }
                return;
            }
        };
        // Merged files may step back: no gap then.
        if now >= *last {
            let gap = now.abs_diff(*last);
            *last = now;
            if self.gaps.is_none() {
                self.gaps = Gaps::new().map(Box::new);
            }
            if let Some(gaps) = &mut self.gaps {
                gaps.put(gap);
            }
        }
    }

    fn summary(&self) -> Option<Summary> {
        self.gaps.as_ref().map(|gaps| summary(&gaps.all))
    }
}

/// Gaps between CNPs, and the least of each block of them. About 40 KiB.
#[derive(Clone, Debug)]
struct Gaps {
    all: Histogram<u32>,
    least: Histogram<u32>,
    block_least: u64,
    in_block: u32,
}

impl Gaps {
    fn new() -> Option<Gaps> {
        let histogram = || Histogram::new_with_bounds(1, MAX_GAP_NS, 2).ok();
        Some(Gaps { all: histogram()?, least: histogram()?, block_least: u64::MAX, in_block: 0 })
    }

    fn put(&mut self, gap: u64) {
        self.all.saturating_record(gap);
        self.block_least = self.block_least.min(gap);
        self.in_block += 1;
        if self.in_block == BLOCK {
            self.least.saturating_record(self.block_least);
            (self.block_least, self.in_block) = (u64::MAX, 0);
        }
    }

    /// The distance that the gaps keep, if they have a sharp lower edge: their first percentile is at least 0.9 times
    /// the median of the least gaps of all blocks. Gaps by chance have a percentile far below that.
    fn edge(&self) -> Option<u64> {
        if self.all.len() < MIN_GAPS || self.least.is_empty() {
            return None;
        }
        let (low, least) = (self.all.value_at_quantile(0.01), self.least.value_at_quantile(0.5));
        (least > 0 && low as f64 >= 0.9 * least as f64).then(|| self.least.min())
    }
}
