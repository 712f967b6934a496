//! The bytes to one receiver: cells of a microsecond, and windows over them.

use std::collections::VecDeque;

use super::{
    CELL_NS, LONGEST_NS, SPREAD_NS, WINDOWS,
    burst::{Burst, Pending},
};
use crate::analyze::metric::bit_rate;

const SECOND_NS: i64 = 1_000_000_000;
/// Cells that a packet's bytes are in, at most.
const MOST_CELLS: usize = (SPREAD_NS / CELL_NS) as usize + 2;

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
    /// The sums of the windows, and how many of the last cells are in each.
    pub(super) sums: [u64; 3],
    within: [u32; 3],
    /// Cells of the last millisecond that have bytes: their number, modulo 2^32, and the bytes.
    #[serde(with = "crate::stored::roomy")]
    cells: VecDeque<(u32, u32)>,
    /// The largest sums.
    pub(super) peaks: [u64; 3],
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

/// The cells that a packet leaves behind.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Left {
    cells: [Option<Cell>; MOST_CELLS],
    /// The packet's bytes that are in none of them.
    pub(super) rest: u32,
}

impl Left {
    pub(super) fn iter(&self) -> impl Iterator<Item = Cell> {
        self.cells.into_iter().flatten()
    }
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
            sums: [0; 3],
            within: [0; 3],
            cells: VecDeque::new(),
            peaks: [0; 3],
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

    /// Ends the cells before the one of this time; `None` if it is in the cell at hand, or before it. Bytes of the packet may have
    /// passed in these cells.
    pub(super) fn leave_cells(&mut self, time: i64, bytes: u32) -> Option<Left> {
        let start = floor(time, self.origin, CELL_NS);
        if start <= self.start && time > self.start - SECOND_NS {
            return None;
        }
        let mut left = Left { cells: [None; MOST_CELLS], rest: bytes };
        let since = time.saturating_sub(self.last);
        if since <= 0 || since > SPREAD_NS {
            left.cells[0] = self.last_cell();
            // The first packet of a train was on the wire before its time: else a window that begins with it has one too many.
            (self.start, self.bytes) = (start.saturating_sub(CELL_NS), bytes);
            left.cells[1] = self.last_cell();
            left.rest = 0;
            return Some(left);
        }
        let mut from = self.last;
        for cell in &mut left.cells {
            let end = self.start + CELL_NS;
            if end > start {
                break;
            }
            let part = (i64::from(bytes) * (end - from).max(0) / since) as u32;
            let part = part.min(left.rest);
            self.bytes += part;
            left.rest -= part;
            from = end;
            *cell = self.last_cell();
            self.start = end;
        }
        Some(left)
    }

    /// Ends the cell at hand.
    pub(super) fn last_cell(&mut self) -> Option<Cell> {
        let bytes = std::mem::take(&mut self.bytes);
        if bytes == 0 {
            return None;
        }
        let number = self.cell_number(self.start);
        self.cells.push_back((number, bytes));
        for ((sum, within), (peak, window)) in
            self.sums.iter_mut().zip(&mut self.within).zip(self.peaks.iter_mut().zip(WINDOWS))
        {
            *sum += u64::from(bytes);
            *within += 1;
            while let Some(&(old, bytes)) = self.cells.get(self.cells.len() - *within as usize)
                && number.wrapping_sub(old) >= window
            {
                *sum -= u64::from(bytes);
                *within -= 1;
            }
            *peak = (*peak).max(*sum);
        }
        while self.cells.len() > self.within[2] as usize {
            self.cells.pop_front();
        }
        self.second_bytes += u64::from(bytes);
        self.all_bytes += u64::from(bytes);
        Some(Cell { number, bytes, last: self.last, sums: self.sums })
    }

    /// A packet is in the cell of this time.
    pub(super) fn enter(&mut self, time: i64, bytes: u32) {
        let start = floor(time, self.origin, CELL_NS);
        // A clock that was set back a long way begins anew.
        if start > self.start || time <= self.start - SECOND_NS {
            self.start = start;
        }
        self.bytes = self.bytes.saturating_add(bytes);
        self.last = time;
    }

    /// The cells of the shortest window, the first one first.
    pub(super) fn shortest(&self) -> impl DoubleEndedIterator<Item = (u32, u32)> + '_ {
        let from = self.cells.len().saturating_sub(self.within[0] as usize);
        self.cells.range(from..).copied()
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

    fn cell_number(&self, start: i64) -> u32 {
        start.saturating_sub(self.origin).div_euclid(CELL_NS) as u32
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let of = |burst: &Option<Box<Burst>>| burst.as_ref().map_or(0, |burst| burst.heap_bytes());
        self.cells.capacity() * size_of::<(u32, u32)>()
            + of(&self.burst)
            + of(&self.ended)
            + self.pending.heap_bytes()
    }
}

/// The last multiple of a length from the origin on.
fn floor(time: i64, origin: i64, length: i64) -> i64 {
    time.saturating_sub(time.saturating_sub(origin).rem_euclid(length))
}
