//! Windows that slide over the cells of a receiver, and the sums of the bytes in them.

use super::WINDOWS;
use crate::heap::heap;
#[cfg(feature = "state")]
use crate::stored::{Sink, Spring, Stored};

/// Cells that the longest window may hold, the one that just came included, as a power of two.
const MOST_CELLS: usize = (WINDOWS[2] as usize + 1).next_power_of_two();

/// A cell's number, modulo 2^32, and its bytes.
type OfCell = (u32, u32);

/// The cells of the last millisecond that have bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Windows {
    /// A ring, as long as a power of two: the place of a cell is its count modulo that.
    ring: Vec<OfCell>,
    /// Cells so far, modulo 2^32.
    count: u32,
    /// The number of the last one.
    last: u32,
    /// The bytes of all cells.
    pub(super) total: u64,
    /// Up to this total, no window has more bytes than it ever had.
    limit: u64,
    windows: [Window; 3],
}

/// A window. Cells that are too old are taken out only when they matter, so it may have too many bytes, and never too few.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    /// The count of cells before its first one, modulo 2^32, and their bytes.
    begin: u32,
    before: u64,
    /// The most bytes that it had.
    peak: u64,
}

heap! { Windows { ring } OfCell {} }

impl Windows {
    /// The next cell: the windows end with it.
    #[inline(always)]
    pub(super) fn push(&mut self, number: u32, bytes: u32) {
        if number.wrapping_sub(self.last) >= WINDOWS[2] {
            self.clear();
        }
        if self.count.wrapping_sub(self.windows[2].begin) as usize >= self.ring.len() {
            self.make_room();
        }
        let last = self.ring.len().wrapping_sub(1);
        if let Some(place) = self.ring.get_mut(self.count as usize & last) {
            *place = (number, bytes);
        }
        self.last = number;
        self.count = self.count.wrapping_add(1);
        self.total += u64::from(bytes);
        if self.total > self.limit {
            self.find_peaks();
        }
    }

    /// The largest numbers of bytes that the windows had.
    pub(super) fn peaks(&self) -> [u64; 3] {
        self.windows.map(|window| window.peak)
    }

    /// The bytes in the windows.
    pub(super) fn sums(&mut self) -> [u64; 3] {
        (0..WINDOWS.len()).rev().for_each(|n| self.advance(n));
        self.windows.map(|window| self.total - window.before)
    }

    /// Whether the shortest window has so many bytes.
    #[inline(always)]
    pub(super) fn reaches(&mut self, bytes: u64) -> bool {
        self.total - self.windows[0].before >= bytes && self.sums()[0] >= bytes
    }

    /// The cells of the shortest window, the first one first. That has no old ones after [`sums`](Self::sums).
    pub(super) fn shortest(&self) -> impl DoubleEndedIterator<Item = OfCell> + '_ {
        self.since(self.windows[0].begin)
    }

    #[inline(always)]
    fn cell(&self, count: u32) -> Option<OfCell> {
        self.ring.get(count as usize & self.ring.len().wrapping_sub(1)).copied()
    }

    fn since(&self, begin: u32) -> impl DoubleEndedIterator<Item = OfCell> + '_ {
        let many = self.count.wrapping_sub(begin);
        (0..many).filter_map(move |n| self.cell(begin.wrapping_add(n)))
    }

    /// One of the windows may have more bytes than ever.
    #[inline(never)]
    fn find_peaks(&mut self) {
        self.limit = u64::MAX;
        for n in (0..WINDOWS.len()).rev() {
            if self.total > self.windows[n].before + self.windows[n].peak {
                self.advance(n);
            }
            let window = &mut self.windows[n];
            window.peak = window.peak.max(self.total - window.before);
            self.limit = self.limit.min(window.before + window.peak);
        }
    }

    /// Takes the cells that are too old out of a window.
    fn advance(&mut self, n: usize) {
        let (last, mut window) = (self.last, self.windows[n]);
        let place = window.begin as usize & self.ring.len().wrapping_sub(1);
        let Some((ends, begins)) = self.ring.split_at_checked(place) else { return };
        let cells = begins.iter().chain(ends).take(self.count.wrapping_sub(window.begin) as usize);
        cells.take_while(|&&(number, _)| last.wrapping_sub(number) >= WINDOWS[n]).for_each(|&(_, bytes)| {
            window.begin = window.begin.wrapping_add(1);
            window.before += u64::from(bytes);
        });
        self.windows[n] = window;
        // What a window has no more, a shorter one has no more either.
        for shorter in &mut self.windows[..n] {
            if (window.begin.wrapping_sub(shorter.begin) as i32) > 0 {
                (shorter.begin, shorter.before) = (window.begin, window.before);
            }
        }
    }

    /// All cells are too old.
    fn clear(&mut self) {
        for window in &mut self.windows {
            (window.begin, window.before) = (self.count, self.total);
        }
        // A longer window never has less.
        self.limit = self.total + self.windows[0].peak;
    }

    /// Makes room for another cell: in the place of old ones, or for twice as many.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        self.advance(2);
        if self.count.wrapping_sub(self.windows[2].begin) as usize >= self.ring.len() {
            *self = Windows::of(Kept::of(self, (self.ring.len() * 2).max(4)));
        }
    }

    fn of(kept: Kept) -> Windows {
        let Kept { room, cells, within, total, sums, peaks } = kept;
        let last = cells.last().map_or(0, |&(number, _)| number);
        let count = cells.len() as u32;
        let room = match (room as usize).min(MOST_CELLS).max(cells.len()) {
            0 => 0,
            room => room.next_power_of_two(),
        };
        let mut ring = cells;
        ring.reserve_exact(room - ring.len());
        ring.resize(room, (0, 0));
        let window = |n: usize| Window {
            begin: count - within[n].min(count),
            before: total.saturating_sub(sums[n]),
            peak: peaks[n],
        };
        // The next cell finds the limit.
        Windows { ring, count, last, total, limit: 0, windows: std::array::from_fn(window) }
    }
}

/// What the state of an analysis keeps.
#[derive(crate::stored::Stored)]
struct Kept {
    room: u32,
    cells: Vec<OfCell>,
    within: [u32; 3],
    total: u64,
    sums: [u64; 3],
    peaks: [u64; 3],
}

impl Kept {
    /// With this much room.
    fn of(windows: &mut Windows, room: usize) -> Kept {
        let sums = windows.sums();
        Kept {
            room: room as u32,
            cells: windows.since(windows.windows[2].begin).collect(),
            within: windows.windows.map(|window| windows.count.wrapping_sub(window.begin)),
            total: windows.total,
            sums,
            peaks: windows.peaks(),
        }
    }
}

#[cfg(feature = "state")]
impl Stored for Windows {
    fn store(&self, to: &mut Sink<'_>) {
        let room = self.ring.len();
        Kept::of(&mut self.clone(), room).store(to);
    }

    fn restore(from: &mut Spring<'_>) -> Windows {
        Windows::of(Kept::restore(from))
    }
}
