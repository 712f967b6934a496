//! The bytes to one receiver: cells of a microsecond, and windows over them.

use super::{
    CELL_NS, LONGEST_NS, MOST_CELLS, SPREAD_NS,
    burst::{Burst, Cell, EFFECTS, Pending},
    windows::Windows,
};
use crate::{
    analyze::{metric::bit_rate, packet::FARTHEST},
    heap::heap,
};

const SECOND_NS: i64 = 1_000_000_000;

/// What is kept of a receiver. The first fields are those that each packet changes.
#[derive(Clone, Debug, crate::stored::Stored)]
#[repr(align(64))]
pub(super) struct Receiver {
    /// When the cell at hand begins, and how long it is for packets that only add to it.
    pub(super) start: i64,
    pub(super) cell_ns: u64,
    /// Its bytes, and its number.
    pub(super) bytes: u32,
    number: u32,
    /// Time of the last packet.
    pub(super) last: i64,
    pub(super) windows: Windows,
    /// Cells and seconds are counted from here: the capture's first packet.
    origin: i64,
    /// When the second at hand begins.
    second: i64,
    /// Bytes before it.
    before_second: u64,
    /// Bytes that are in no cell: the speed was not known.
    other_bytes: u64,
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

heap! { Receiver { windows, burst, ended, pending } }

/// When a cell begins, and its number, modulo 2^32.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) start: i64,
    number: u32,
}

impl Place {
    pub(super) fn before(self) -> Place {
        Place { start: self.start - CELL_NS, number: self.number.wrapping_sub(1) }
    }

    pub(super) fn next(self) -> Place {
        Place { start: self.start + CELL_NS, number: self.number.wrapping_add(1) }
    }
}

impl Receiver {
    pub(super) fn new(time: i64, origin: i64) -> Receiver {
        // The first packet enters a cell, too.
        let Place { start, number } = cell_of(time, origin).before();
        Receiver {
            origin,
            start,
            cell_ns: CELL_NS as u64,
            bytes: 0,
            number,
            last: -FARTHEST,
            windows: Windows::default(),
            second: floor(time, origin, SECOND_NS),
            before_second: 0,
            other_bytes: 0,
            first: time,
            burst: None,
            ended: None,
            busy_until: None,
            pending: Pending::default(),
            bursts: 0,
        }
    }

    /// The cell of this time, if that is behind the cell at hand, or if the clock was set back a long way.
    #[inline(always)]
    pub(super) fn next_cell(&self, time: i64) -> Option<Place> {
        let since = time.wrapping_sub(self.start) as u64;
        // Nearly all packets are so near, and the division is cheap.
        let cell = match since <= u32::MAX as u64 {
            true => self.behind(since as u32 / CELL_NS as u32),
            false => cell_of(time, self.origin),
        };
        (cell.start > self.start || time <= self.start - SECOND_NS).then_some(cell)
    }

    /// The cell so many cells behind the one at hand.
    #[inline(always)]
    pub(super) fn behind(&self, cells: u32) -> Place {
        Place { start: self.start + i64::from(cells) * CELL_NS, number: self.number.wrapping_add(cells) }
    }

    /// Ends all cells before this one, of a packet `since` so many nanoseconds. Its bytes passed in that time, or, where it is long, in the
    /// last of these cells: else a window that begins with the first packet of a train has one too many. `busy` and `step`: of
    /// [`end_cell`](Self::end_cell), and what becomes of it. Returns the bytes that are in none of them.
    #[inline(always)]
    pub(super) fn leave_cells(
        &mut self,
        cell: Place,
        since: i64,
        bytes: u32,
        busy: u64,
        mut step: impl FnMut(&mut Receiver, Cell),
    ) -> u32 {
        let mut end_cell = |this: &mut Receiver, next: Place, next_bytes: u32| {
            if let Some(cell) = this.end_cell(next, next_bytes, busy) {
                step(this, cell);
            }
        };
        if !(1..=SPREAD_NS).contains(&since) || cell.start.saturating_sub(self.start) > MOST_CELLS * CELL_NS {
            end_cell(self, cell.before(), bytes);
            end_cell(self, cell, 0);
            return 0;
        }
        let (mut from, mut end, mut rest) = (self.last, self.behind(1), bytes);
        while end.start <= cell.start {
            let part = u64::from(bytes) * (end.start - from).max(0) as u64 / since as u64;
            let part = (part as u32).min(rest);
            rest -= part;
            self.bytes = self.bytes.saturating_add(part);
            end_cell(self, end, 0);
            (from, end) = (end.start, end.next());
        }
        rest
    }

    /// Ends the cell at hand; the next one has so many bytes. Returns it if a burst goes on, or if the shortest window has the bytes
    /// with which one begins.
    #[inline(always)]
    pub(super) fn end_cell(&mut self, next: Place, next_bytes: u32, busy: u64) -> Option<Cell> {
        let (number, bytes) = (self.number, self.bytes);
        (self.start, self.number, self.bytes) = (next.start, next.number, next_bytes);
        if bytes == 0 {
            return None;
        }
        self.windows.push(number, bytes);
        let is_of_interest = self.windows.reaches(busy) || self.burst.is_some();
        is_of_interest.then(|| Cell { number, bytes, last: self.last, sums: self.windows.sums() })
    }

    /// The burst that begins within the shortest window: with its first busy cell, and the one before that, where the packets follow
    /// each other. `sums`: of the windows. `full`: so many bytes make a cell busy.
    pub(super) fn new_burst(&self, number: u32, sums: [u64; 3], full: u64) -> Box<Burst> {
        let is_new = |cell: u32| self.busy_until.is_none_or(|until| cell.wrapping_sub(until) as i32 > 0);
        let cells = || self.windows.shortest().filter(|&(cell, _)| is_new(cell));
        let busy = cells().find(|&(_, bytes)| u64::from(bytes) >= full).or_else(|| cells().next());
        let (number_of_last, of_last) = self.last_cell();
        let first_busy = busy.map_or(number_of_last, |(cell, _)| cell);
        let before = first_busy.wrapping_sub(1);
        let first = if cells().any(|(cell, _)| cell == before) { before } else { first_busy };
        let within = || cells().filter(|&(cell, _)| cell.wrapping_sub(first) as i32 >= 0);
        let last = within().next_back().map_or(first, |(cell, _)| cell);
        let last_busy =
            within().rfind(|&(_, bytes)| u64::from(bytes) >= full).map_or(first, |(cell, _)| cell);
        // The cell's begin, from its number modulo 2^32.
        let distance = first.wrapping_sub(number_of_last) as i32;
        Box::new(Burst {
            number,
            start_ns: of_last.saturating_add(i64::from(distance) * CELL_NS),
            end_ns: self.last,
            is_exact: false,
            bytes: within().map(|(_, bytes)| u64::from(bytes)).sum(),
            tail: 0,
            last_busy,
            last,
            peaks: sums,
            flows: Vec::new(),
            effects: [0; EFFECTS],
            flow_count: 0,
            sender_count: 0,
            senders: Vec::new(),
        })
    }

    /// The last burst that is over goes to those of its second.
    pub(super) fn keep_ended(&mut self) {
        if let Some(burst) = self.ended.take() {
            self.pending.add(*burst);
        }
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
        self.second = floor(time, self.origin, SECOND_NS);
        self.before_second = self.windows.total;
    }

    /// The mean of the second at hand, or of what the capture has of it: a millisecond at least.
    pub(super) fn mean_bps(&self, first_ns: i64, last_ns: i64) -> u64 {
        let from = self.second;
        let to = from.saturating_add(SECOND_NS).min(last_ns);
        let bytes = self.windows.total - self.before_second;
        bit_rate(bytes, to.saturating_sub(from.max(first_ns)).max(LONGEST_NS) as u64)
    }

    /// The cell of its last packet.
    pub(super) fn last_cell(&self) -> (u32, i64) {
        let Place { start, number } = cell_of(self.last, self.origin);
        (number, start)
    }

    /// So many bytes passed up to a time, while the speed was not known.
    #[inline]
    pub(super) fn count(&mut self, time: i64, bytes: u64) {
        self.other_bytes += bytes;
        self.last = self.last.max(time);
    }

    /// Its bytes, without those of the cell at hand.
    pub(super) fn all_bytes(&self) -> u64 {
        self.windows.total + self.other_bytes
    }
}

fn cell_of(time: i64, origin: i64) -> Place {
    let start = floor(time, origin, CELL_NS);
    Place { start, number: start.saturating_sub(origin).div_euclid(CELL_NS) as u32 }
}

/// The last multiple of a length from the origin on.
fn floor(time: i64, origin: i64, length: i64) -> i64 {
    time.saturating_sub(time.saturating_sub(origin).rem_euclid(length))
}
