//! The bytes to one receiver: cells of a microsecond, and windows over them.

use super::{
    CELL_NS, LONGEST_NS,
    burst::{Burst, Pending},
    windows::Windows,
};
use crate::analyze::metric::bit_rate;

const SECOND_NS: i64 = 1_000_000_000;

/// What is kept of a receiver. The first fields are those that each packet changes.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[repr(align(64))]
pub(super) struct Receiver {
    /// The cell at hand: when it begins, how long it is for packets that only add to it, and its bytes.
    pub(super) start: i64,
    pub(super) cell_ns: u64,
    pub(super) bytes: u32,
    /// Time of the last packet.
    pub(super) last: i64,
    pub(super) windows: Windows,
    /// Cells and seconds are counted from here: the capture's first packet.
    origin: i64,
    /// When the second at hand begins.
    second: i64,
    second_bytes: u64,
    pub(super) all_bytes: u64,
    pub(super) first: i64,
    pub(super) burst: Option<Box<Burst>>,
    /// The last burst that is over.
    pub(super) ended: Option<Box<Burst>>,
    /// The last cell of the burst before.
    pub(super) busy_until: Option<u32>,
    /// Bursts of the second at hand.
    pub(super) pending: Pending,
    /// Its microbursts.
    pub(super) bursts: u64,
}

/// A cell that is over.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Cell {
    pub(super) number: u32,
    pub(super) bytes: u32,
    /// Time of the last packet in it.
    pub(super) last: i64,
    /// The sums of the windows when it ended.
    pub(super) sums: [u64; 3],
}

impl Receiver {
    pub(super) fn new(time: i64, origin: i64) -> Receiver {
        Receiver {
            origin,
            // The first packet enters a cell, too.
            start: floor(time, origin, CELL_NS).saturating_sub(CELL_NS),
            cell_ns: CELL_NS as u64,
            bytes: 0,
            last: i64::MIN,
            windows: Windows::default(),
            second: floor(time, origin, SECOND_NS),
            second_bytes: 0,
            all_bytes: 0,
            first: time,
            burst: None,
            ended: None,
            busy_until: None,
            pending: Pending::default(),
            bursts: 0,
        }
    }

    /// When the cell of this time begins, if that is behind the cell at hand, or if the clock was set back a long way.
    #[inline(always)]
    pub(super) fn next_cell(&self, time: i64) -> Option<i64> {
        let start = self.begin_of_cell(time);
        (start > self.start || time <= self.start.saturating_sub(SECOND_NS)).then_some(start)
    }

    /// Ends the cell at hand.
    #[inline]
    pub(super) fn end_cell(&mut self) -> Option<Cell> {
        let bytes = std::mem::take(&mut self.bytes);
        if bytes == 0 {
            return None;
        }
        let number = self.cell_number(self.start);
        self.windows.push(number, bytes);
        self.second_bytes += u64::from(bytes);
        self.all_bytes += u64::from(bytes);
        Some(Cell { number, bytes, last: self.last, sums: self.windows.sums })
    }

    /// The burst that goes on, or the one that ended last.
    pub(super) fn last_burst(&mut self) -> Option<&mut Burst> {
        self.burst.as_deref_mut().or(self.ended.as_deref_mut())
    }

    pub(super) fn has_burst(&self) -> bool {
        self.burst.is_some() || self.ended.is_some()
    }

    pub(super) fn is_in_second(&self, time: i64) -> bool {
        (time.wrapping_sub(self.second) as u64) < SECOND_NS as u64
    }

    pub(super) fn begin_second(&mut self, time: i64) {
        (self.second, self.second_bytes) = (floor(time, self.origin, SECOND_NS), 0);
    }

    /// The mean of the second at hand, or of what the capture has of it: a millisecond at least.
    pub(super) fn mean_bps(&self, first_ns: i64, last_ns: i64) -> u64 {
        let from = self.second;
        let to = from.saturating_add(SECOND_NS).min(last_ns);
        bit_rate(self.second_bytes, to.saturating_sub(from.max(first_ns)).max(LONGEST_NS) as u64)
    }

    /// The number of the cell of a time, modulo 2^32, and when that cell begins.
    pub(super) fn cell_of(&self, time: i64) -> (u32, i64) {
        let start = floor(time, self.origin, CELL_NS);
        (self.cell_number(start), start)
    }

    #[inline(always)]
    fn begin_of_cell(&self, time: i64) -> i64 {
        let since = time.wrapping_sub(self.start) as u64;
        // Nearly all packets are so near, and the division is cheap.
        if since < 1 << 16 {
            return self.start + i64::from(since as u32 / CELL_NS as u32) * CELL_NS;
        }
        floor(time, self.origin, CELL_NS)
    }

    fn cell_number(&self, start: i64) -> u32 {
        start.saturating_sub(self.origin).div_euclid(CELL_NS) as u32
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let of = |burst: &Option<Box<Burst>>| burst.as_ref().map_or(0, |burst| burst.heap_bytes());
        self.windows.heap_bytes() + of(&self.burst) + of(&self.ended) + self.pending.heap_bytes()
    }
}

/// The last multiple of a length from the origin on.
fn floor(time: i64, origin: i64, length: i64) -> i64 {
    time.saturating_sub(time.saturating_sub(origin).rem_euclid(length))
}
