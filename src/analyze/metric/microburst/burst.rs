//! One burst, and those that were found.

use std::cmp::Reverse;

use super::{FOLLOW_NS, LONGEST_NS, OfFlow};
use crate::{
    analyze::{metric::per_flow::PerFlow, model::FlowId},
    heap::heap,
    in_order::InOrder,
    report::BurstEffect,
};

/// Bursts that are kept of a second of a receiver, and of the capture: the largest ones.
const MAX_PENDING: usize = 64;
pub(super) const MAX_LISTED: usize = 256;
/// Senders that are listed of a burst.
const MAX_SENDERS: usize = 8;
pub(super) const EFFECTS: usize = BurstEffect::ALL.len();

/// A cell that is over.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(super) struct Cell {
    pub(super) number: u32,
    pub(super) bytes: u32,
    /// Time of the last packet in it.
    pub(super) last: i64,
    /// The sums of the windows when it ended.
    pub(super) sums: [u64; 3],
}

#[derive(Clone, Debug, crate::stored::Stored)]
pub(super) struct Burst {
    pub(super) number: u32,
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    pub(super) is_exact: bool,
    pub(super) bytes: u64,
    /// Bytes since the last cell that was busy.
    pub(super) tail: u64,
    pub(super) last_busy: u32,
    /// The last cell that is its.
    pub(super) last: u32,
    pub(super) peaks: [u64; 3],
    pub(super) flows: Vec<FlowId>,
    /// What came of it.
    pub(super) effects: [u64; EFFECTS],
    pub(super) flow_count: u64,
    pub(super) sender_count: u64,
    /// Sender, bytes, flows: most bytes first.
    pub(super) senders: Vec<Sender>,
}

#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(super) struct Sender {
    pub(super) number: u32,
    pub(super) bytes: u64,
    pub(super) flows: u64,
}

heap! {
    Burst { flows, senders }
    Sender {}
    Pending { bursts }
    One { burst }
    Found { all }
}

impl Burst {
    /// One of its first packets.
    pub(super) fn began_at(&mut self, time: i64) {
        self.start_ns = if self.is_exact { self.start_ns.min(time) } else { time };
        self.is_exact = true;
    }

    /// A cell while it goes on, or, where the window `is_busy` no longer, the one that ends it.
    pub(super) fn add(&mut self, cell: Cell, full: u64, is_busy: bool) {
        if !is_busy {
            return;
        }
        let is_full = u64::from(cell.bytes) >= full;
        self.tail += u64::from(cell.bytes);
        // The packets behind the last busy cell may fill a part of the next one.
        if is_full || cell.number.wrapping_sub(self.last_busy) == 1 {
            self.bytes += std::mem::take(&mut self.tail);
            self.end_ns = cell.last;
            self.last = cell.number;
        }
        if is_full {
            self.last_busy = cell.number;
        }
        for (peak, sum) in self.peaks.iter_mut().zip(cell.sums) {
            *peak = (*peak).max(sum);
        }
    }

    pub(super) fn is_long(&self) -> bool {
        self.duration() > LONGEST_NS as u64
    }

    pub(super) fn duration(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns).max(0) as u64
    }

    /// Something happened that may be due to it.
    pub(super) fn follows(&mut self, time: i64, what: BurstEffect) {
        if time >= self.start_ns && time <= self.end_ns.saturating_add(FOLLOW_NS) {
            self.effects[what as usize] += 1;
        }
    }

    /// It is over: counts who took part.
    pub(super) fn name(&mut self, flows: &PerFlow<OfFlow>) {
        let took_part = |id: &FlowId| flows.get(*id).filter(|flow| flow.burst == self.number).copied();
        let mut all: Vec<OfFlow> = self.flows.iter().filter_map(took_part).collect();
        self.flows = Vec::new();
        self.flow_count = all.len() as u64;
        all.order_by_key(|flow| flow.sender);
        let of_sender = |flows: &[OfFlow]| Sender {
            number: flows[0].sender,
            bytes: flows.iter().map(|flow| u64::from(flow.bytes)).sum(),
            flows: flows.len() as u64,
        };
        let mut senders: Vec<Sender> = all.chunk_by(|a, b| a.sender == b.sender).map(of_sender).collect();
        self.sender_count = senders.len() as u64;
        senders.order_by_key(|sender| Reverse(sender.bytes));
        senders.truncate(MAX_SENDERS);
        senders.shrink_to_fit();
        self.senders = senders;
    }
}

/// The bursts of a second of a receiver: their number, and the largest ones.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(super) struct Pending {
    count: u64,
    long: u64,
    with: [u64; EFFECTS],
    with_any: u64,
    bursts: Vec<Burst>,
}

impl Pending {
    pub(super) fn add(&mut self, burst: Burst) {
        if burst.is_long() {
            self.long += 1;
            return;
        }
        self.count += 1;
        self.with_any += burst.effects.iter().any(|&n| n > 0) as u64;
        for (with, &n) in self.with.iter_mut().zip(&burst.effects) {
            *with += (n > 0) as u64;
        }
        self.bursts.push(burst);
        if self.bursts.len() >= 2 * MAX_PENDING {
            self.bursts.order_by_key(|burst| (burst.effects.iter().all(|&n| n == 0), Reverse(burst.bytes)));
            self.bursts.truncate(MAX_PENDING);
        }
    }
}

/// A microburst.
#[derive(Clone, Debug, crate::stored::Stored)]
pub(super) struct One {
    pub(super) receiver: u32,
    pub(super) mean_bps: u64,
    pub(super) burst: Burst,
}

/// All microbursts: their number, and the largest ones.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(super) struct Found {
    pub(super) count: u64,
    pub(super) others: u64,
    pub(super) with: [u64; EFFECTS],
    pub(super) with_any: u64,
    pub(super) all: Vec<One>,
}

impl Found {
    /// Takes those of a second with this mean. Returns how many are microbursts.
    pub(super) fn take(&mut self, pending: Pending, receiver: u32, mean_bps: u64, speed_bps: u64) -> u64 {
        let Pending { count, long, with, with_any, bursts } = pending;
        self.others += long;
        if mean_bps >= speed_bps / 4 {
            self.others += count;
            return 0;
        }
        self.count += count;
        self.with_any += with_any;
        for (sum, with) in self.with.iter_mut().zip(with) {
            *sum += with;
        }
        self.all.extend(bursts.into_iter().map(|burst| One { receiver, mean_bps, burst }));
        if self.all.len() >= 2 * MAX_LISTED {
            self.keep_largest();
        }
        count
    }

    pub(super) fn keep_largest(&mut self) {
        let key = |one: &One| (Reverse(one.burst.bytes), one.burst.start_ns, one.receiver);
        self.all.order_by_key(key);
        self.all.truncate(MAX_LISTED);
    }
}
