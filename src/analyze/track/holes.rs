//! Holes, ranges of PSNs that were skipped: an ordered set of bounded size.

use std::ops::Range;

use crate::heap::heap;

/// A range of PSNs never seen, and when it was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, crate::stored::Stored)]
pub(crate) struct Hole {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// When the packet after it came, in nanoseconds.
    pub(crate) time: i64,
    /// The IPv4 identification of the packet after it. A packet that was sent earlier has a smaller one.
    pub(crate) id: Option<u16>,
    /// Its first PSN, and the number of its PSNs, before any of them came.
    pub(crate) first: u64,
    pub(crate) psns: u32,
}

/// The holes of a PSN space, in order, disjoint.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct Holes {
    holes: Vec<Hole>,
    /// Number of PSNs in the holes.
    total: u64,
    /// Number of PSNs of holes that are no longer kept.
    forgotten: u64,
}

heap! { Holes { holes } Hole {} }

/// Most holes that are kept. The oldest are dropped first.
const MAX_HOLES: usize = 4096;

impl Holes {
    /// A range was skipped. Nearly always, it is beyond all others. What of it is in a hole already stays in that one: two READs may have
    /// asked for one PSN.
    pub(crate) fn push(&mut self, range: Range<u64>, time: i64, id: Option<u16>) {
        let mut start = range.start;
        while start < range.end {
            let (until, after) = match self.holes.get(self.first_behind(start)) {
                Some(hole) => (hole.start.min(range.end), hole.end),
                None => (range.end, range.end),
            };
            if start < until {
                let psns = u32::try_from(until - start).unwrap_or(u32::MAX);
                self.insert(Hole { start, end: until, time, id, first: start, psns });
            }
            start = after;
        }
    }

    /// A hole that is in no other one.
    fn insert(&mut self, hole: Hole) {
        if self.holes.len() == MAX_HOLES {
            let old: u64 = self.holes.drain(..MAX_HOLES / 4).map(|hole| hole.end - hole.start).sum();
            self.forgotten += old;
            self.total -= old;
        }
        self.total += hole.end - hole.start;
        self.holes.insert(self.first_behind(hole.start), hole);
    }

    /// The hole with this PSN.
    #[inline]
    pub(crate) fn get(&self, x: u64) -> Option<Hole> {
        let hole = *self.holes.get(self.index(x)?)?;
        Some(hole)
    }

    fn index(&self, x: u64) -> Option<usize> {
        let at = self.first_behind(x);
        (self.holes.get(at)?.start <= x).then_some(at)
    }

    /// The position of the first hole that does not end before this PSN. Most PSNs are beyond all holes.
    fn first_behind(&self, x: u64) -> usize {
        match self.holes.last() {
            Some(last) if last.end > x => self.holes.partition_point(|hole| hole.end <= x),
            _ => self.holes.len(),
        }
    }

    /// Whether any of these PSNs is in a hole.
    pub(crate) fn touches(&self, range: &Range<u64>) -> bool {
        self.holes.get(self.first_behind(range.start)).is_some_and(|hole| hole.start < range.end)
    }

    /// Removes PSNs that have come.
    pub(crate) fn fill(&mut self, range: Range<u64>) {
        let mut at = self.first_behind(range.start);
        while let Some(&hole) = self.holes.get(at) {
            if hole.start >= range.end {
                break;
            }
            self.total -= hole.end.min(range.end).saturating_sub(hole.start.max(range.start));
            let left = Hole { end: range.start, ..hole };
            let right = Hole { start: range.end, ..hole };
            match (left.start < left.end, right.start < right.end) {
                (false, false) => {
                    self.holes.remove(at);
                }
                (true, false) => {
                    self.holes[at] = left;
                    at += 1;
                }
                (false, true) => {
                    self.holes[at] = right;
                    at += 1;
                }
                (true, true) if self.holes.len() < MAX_HOLES => {
                    self.holes[at] = left;
                    self.holes.insert(at + 1, right);
                    at += 2;
                }
                (true, true) => {
                    self.forgotten += left.end - left.start;
                    self.total -= left.end - left.start;
                    self.holes[at] = right;
                    at += 1;
                }
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.holes.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Hole> {
        self.holes.iter()
    }

    /// Number of PSNs in holes, with those no longer kept.
    pub(crate) fn psns(&self) -> u64 {
        self.forgotten + self.total
    }

    /// Whether some holes are no longer kept.
    pub(crate) fn has_forgotten(&self) -> bool {
        self.forgotten > 0
    }

    /// Removes all holes, and returns the number of their PSNs.
    pub(crate) fn take(&mut self) -> u64 {
        let psns = self.psns();
        *self = Holes { holes: std::mem::take(&mut self.holes), ..Holes::default() };
        self.holes.clear();
        psns
    }

    /// Removes all holes. Their PSNs stay counted.
    pub(crate) fn retire(&mut self) {
        self.forgotten = self.psns();
        self.total = 0;
        self.holes.clear();
    }

    /// [`retire`](Self::retire), and frees the memory. Returns how many PSNs were in holes.
    pub(crate) fn shed(&mut self) -> u64 {
        let known = self.psns() - self.forgotten;
        self.retire();
        self.holes = Vec::new();
        known
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/analyze_track_holes.rs"]
mod tests;
