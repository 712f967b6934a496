//! Windows that slide over the cells of a receiver, and the sums of the bytes in them.

use super::WINDOWS;

/// Cells that the longest window may hold, the one that just came included, as a power of two.
const MOST_CELLS: usize = (WINDOWS[2] as usize + 1).next_power_of_two();

/// A cell's number, modulo 2^32, and its bytes.
type OfCell = (u32, u32);

/// The cells of the last millisecond that have bytes.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(into = "Stored", from = "Stored")]
pub(super) struct Windows {
    /// A ring, as long as a power of two: the place of a cell is its count modulo that.
    ring: Vec<OfCell>,
    /// Cells so far, modulo 2^32.
    count: u32,
    /// The count at the first cell of each window.
    begins: [u32; 3],
    pub(super) sums: [u64; 3],
    /// The largest sums.
    pub(super) peaks: [u64; 3],
}

impl Windows {
    /// The next cell: the windows end with it.
    #[inline]
    pub(super) fn push(&mut self, number: u32, bytes: u32) {
        if self.count.wrapping_sub(self.begins[2]) as usize >= self.ring.len() {
            self.grow();
        }
        let ring = &mut self.ring[..];
        let last = ring.len().wrapping_sub(1) as u32;
        if let Some(place) = ring.get_mut((self.count & last) as usize) {
            *place = (number, bytes);
        }
        self.count = self.count.wrapping_add(1);
        for (n, &window) in WINDOWS.iter().enumerate() {
            let mut sum = self.sums[n] + u64::from(bytes);
            let mut begin = self.begins[n];
            while let Some(&(old, bytes)) = ring.get((begin & last) as usize)
                && number.wrapping_sub(old) >= window
            {
                sum -= u64::from(bytes);
                begin = begin.wrapping_add(1);
            }
            (self.sums[n], self.begins[n]) = (sum, begin);
            self.peaks[n] = self.peaks[n].max(sum);
        }
    }

    /// The cells of the shortest window, the first one first.
    pub(super) fn shortest(&self) -> impl DoubleEndedIterator<Item = OfCell> + '_ {
        self.since(self.begins[0])
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.ring.capacity() * size_of::<OfCell>()
    }

    fn since(&self, begin: u32) -> impl DoubleEndedIterator<Item = OfCell> + '_ {
        let last = self.ring.len().wrapping_sub(1) as u32;
        let many = self.count.wrapping_sub(begin);
        (0..many).map(move |n| self.ring[(begin.wrapping_add(n) & last) as usize])
    }

    /// Makes room for twice as many cells.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        *self = Windows::of(Stored::of(self, (self.ring.len() * 2).max(4)));
    }

    fn of(stored: Stored) -> Windows {
        let Stored { room, cells, within, sums, peaks } = stored;
        let count = cells.len() as u32;
        let room = match (room as usize).min(MOST_CELLS).max(cells.len()) {
            0 => 0,
            room => room.next_power_of_two(),
        };
        let mut ring = cells;
        ring.reserve_exact(room - ring.len());
        ring.resize(room, (0, 0));
        Windows { ring, count, begins: within.map(|within| count - within.min(count)), sums, peaks }
    }
}

/// What the state of an analysis keeps.
#[derive(serde::Serialize, serde::Deserialize)]
struct Stored {
    room: u32,
    cells: Vec<OfCell>,
    within: [u32; 3],
    sums: [u64; 3],
    peaks: [u64; 3],
}

impl Stored {
    /// With this much room.
    fn of(windows: &Windows, room: usize) -> Stored {
        Stored {
            room: room as u32,
            cells: windows.since(windows.begins[2]).collect(),
            within: windows.begins.map(|begin| windows.count.wrapping_sub(begin)),
            sums: windows.sums,
            peaks: windows.peaks,
        }
    }
}

impl From<Windows> for Stored {
    fn from(windows: Windows) -> Stored {
        Stored::of(&windows, windows.ring.len())
    }
}

impl From<Stored> for Windows {
    fn from(stored: Stored) -> Windows {
        Windows::of(stored)
    }
}
