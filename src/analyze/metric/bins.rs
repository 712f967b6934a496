//! Bins of time that become longer when there are too many.

use std::ops::Range;

use crate::heap::Heap;

/// Where bins lie: one after the other from an origin on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, crate::stored::Stored)]
pub struct Axis {
    /// Where bin 0 begins, in nanoseconds since 1970.
    pub origin_ns: i64,
    /// How long a bin is, in nanoseconds.
    pub width_ns: i64,
}

impl Axis {
    /// With bins that begin at multiples of their length since 1970.
    pub const fn since_1970(width_ns: i64) -> Axis {
        Axis { origin_ns: 0, width_ns }
    }

    /// The bin of a time; below 0 before the origin.
    #[inline(always)]
    pub fn at(&self, time_ns: i64) -> i64 {
        time_ns.saturating_sub(self.origin_ns).div_euclid(self.width_ns)
    }

    /// When a bin begins.
    pub fn start_ns(&self, at: impl Into<i64>) -> i64 {
        self.origin_ns.saturating_add(self.width_ns.saturating_mul(at.into()))
    }

    /// The times of a bin.
    pub fn span(&self, at: i64) -> Range<i64> {
        let start = self.start_ns(at);
        start..start.saturating_add(self.width_ns)
    }

    /// The bin of a time, where bins are a list; `None` before the origin.
    pub(super) fn index(&self, time_ns: i64) -> Option<usize> {
        usize::try_from(self.at(time_ns)).ok()
    }

    /// With bins so long, by doubling, that this time is among the first `most`.
    pub(super) fn reaching(mut self, time_ns: i64, most: i64) -> Axis {
        while self.at(time_ns) >= most && self.width_ns < i64::MAX {
            self.width_ns = self.width_ns.saturating_mul(2);
        }
        self
    }
}

/// What is known of one bin.
pub trait InBin {
    /// The number of its bin.
    fn at(&self, axis: &Axis) -> i64;

    /// Gives it the bin with this number.
    fn put(&mut self, at: i64, axis: &Axis);

    /// Takes in a later bin.
    fn add(&mut self, later: &Self);
}

/// Bins that had something, in the order of time.
#[derive(Clone, Debug, crate::stored::Stored)]
pub struct Binned<T> {
    axis: Axis,
    bins: Vec<T>,
}

impl<T: Heap> Heap for Binned<T> {
    fn heap_bytes(&self) -> usize {
        self.bins.heap_bytes()
    }
}

impl<T> Binned<T> {
    pub(super) fn new(axis: Axis) -> Binned<T> {
        Binned { axis, bins: Vec::new() }
    }

    /// The bins, and how long each is.
    pub fn get(&self) -> (&[T], i64) {
        (&self.bins, self.axis.width_ns)
    }

    pub(super) fn axis(&self) -> Axis {
        self.axis
    }

    pub(super) fn set_origin(&mut self, origin_ns: i64) {
        self.axis.origin_ns = origin_ns;
    }
}

impl<T: InBin> Binned<T> {
    /// What is known of the bin of a time: it begins as `new`. Back in time, it is that bin, or the nearest before it, or the first.
    pub(super) fn entry(&mut self, time_ns: i64, new: impl FnOnce() -> T) -> Option<&mut T> {
        let (axis, at) = (self.axis, self.axis.at(time_ns));
        let n = match self.bins.last().map(|last| last.at(&axis)) {
            Some(last) if last == at => self.bins.len() - 1,
            Some(last) if last > at => self.bins.partition_point(|bin| bin.at(&axis) <= at).saturating_sub(1),
            _ => {
                let mut new = new();
                new.put(at, &axis);
                self.bins.push(new);
                self.bins.len() - 1
            }
        };
        self.bins.get_mut(n)
    }

    /// Makes bins longer, by doubling, until there are at most so many.
    pub(super) fn bound(&mut self, most: usize) {
        while self.bins.len() > most.max(1) && self.axis.width_ns < i64::MAX {
            self.widen(self.axis.width_ns.saturating_mul(2));
        }
    }

    /// Puts the bins onto an axis whose bins are as long, or longer by a power of two.
    pub(super) fn widen(&mut self, width_ns: i64) {
        let before = std::mem::replace(&mut self.axis.width_ns, width_ns);
        let (was, axis) = (Axis { width_ns: before, ..self.axis }, self.axis);
        for bin in &mut self.bins {
            bin.put(axis.at(was.start_ns(bin.at(&was))), &axis);
        }
        self.bins.dedup_by(|later, bin| {
            let is_same = later.at(&axis) == bin.at(&axis);
            if is_same {
                bin.add(later);
            }
            is_same
        });
    }
}
