//! How many samples are between two powers of two: some ten counts, for flows that had to give up memory.

use crate::{
    heap::{Heap, heap},
    report::Summary,
};

use super::{Totals, due};

#[derive(Clone, Debug, crate::stored::Stored)]
pub(super) struct Octaves {
    pub(super) totals: Totals,
    /// By the number of bits of the values, the smallest first; 65 at most.
    counts: Vec<Octave>,
}

#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct Octave {
    bits: u32,
    count: u64,
}

heap! { Octave {} }

impl Octaves {
    pub(super) fn new(totals: Totals) -> Octaves {
        Octaves { totals, counts: Vec::new() }
    }

    pub(super) fn add(&mut self, value: u64) {
        self.totals.add(value);
        self.count(value, 1);
    }

    /// Counts samples that the totals have.
    pub(super) fn count(&mut self, value: u64, count: u64) {
        let bits = u64::BITS - value.leading_zeros();
        match self.counts.binary_search_by_key(&bits, |octave| octave.bits) {
            Ok(at) => self.counts[at].count += count,
            Err(at) => self.counts.insert(at, Octave { bits, count }),
        }
    }

    pub(super) fn summary(&self) -> Summary {
        self.totals.summary(|share| self.within(share))
    }

    fn within(&self, share: f64) -> [u64; 2] {
        let due = due(share, self.totals.count);
        let mut upto = 0;
        let found = self.counts.iter().find(|octave| {
            upto += octave.count;
            upto >= due
        });
        found.map_or([0, u64::MAX], |octave| bounds(octave.bits))
    }

    /// Calls `show` with the bounds of each octave that has samples, and their number.
    pub(super) fn each(&self, mut show: impl FnMut([u64; 2], u64)) {
        self.counts.iter().for_each(|octave| show(bounds(octave.bits), octave.count));
    }
}

/// The smallest and the largest value with so many bits.
fn bounds(bits: u32) -> [u64; 2] {
    let most = u64::MAX.checked_shr(u64::BITS.saturating_sub(bits)).unwrap_or(0);
    [most / 2 + u64::from(bits > 0), most]
}

impl Heap for Octaves {
    fn heap_bytes(&self) -> usize {
        self.counts.heap_bytes()
    }
}
