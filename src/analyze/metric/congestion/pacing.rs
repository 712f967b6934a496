//! How far apart CNPs are, and the scope in which they keep a distance.

use std::hash::Hash;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use hdrhistogram::Histogram;

use super::MAX_KEYS;
use crate::{
    analyze::track::distribution::Distribution,
    report::{Confidence, Summary},
};

/// Gaps between CNPs from which on a lower edge is looked for.
const MIN_GAPS: u64 = 16;
/// Gaps from which on the shortest one says something.
const SOME_GAPS: u64 = 6;
/// Gaps in a row of which the least is taken, to tell an edge from chance.
const BLOCK: u32 = 16;
/// The longest gap that is told apart: an hour.
const MAX_GAP_NS: u64 = 3_600_000_000_000;
/// A limiter's distance is longer: CNPs that are nearer wait for each other, or for the frames of others, on a link.
const LEAST_NS: u64 = 1_000;
/// So many gaps within a tenth above the shortest one, and none in the tenth below it, are no chance: without an edge, there are about as many in
/// both.
const MANY_NEAR: u64 = 24;
/// So many gaps make an edge likely.
const MANY_GAPS: u64 = 64;

/// CNPs that may keep a distance from each other: those of a queue pair, of a pair of addresses, of a sender.
#[derive(Clone, Debug, crate::stored::Stored)]
pub(super) struct Scope<K> {
    pub(super) last: HashMap<K, i64, RandomState>,
    pub(super) gaps: Option<Box<Gaps>>,
}

impl<K> Default for Scope<K> {
    fn default() -> Self {
        Scope { last: HashMap::default(), gaps: None }
    }
}

impl<K: Hash + Eq> Scope<K> {
    pub(super) fn on_cnp(&mut self, now: i64, key: K) {
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

    pub(super) fn summary(&self) -> Option<Summary> {
        self.gaps.as_ref().and_then(|gaps| gaps.samples.summary())
    }
}

/// Gaps between CNPs, and the least of each block of them. About 40 KiB.
#[derive(Clone, Debug, crate::stored::Stored)]
pub(super) struct Gaps {
    samples: Distribution,
    all: Histogram<u32>,
    least: Histogram<u32>,
    block_least: u64,
    in_block: u32,
    /// The least of all, exactly.
    shortest: u64,
}

impl Gaps {
    fn new() -> Option<Gaps> {
        let histogram = || Histogram::new_with_bounds(1, MAX_GAP_NS, 2).ok();
        Some(Gaps {
            samples: Distribution::default(),
            all: histogram()?,
            least: histogram()?,
            block_least: u64::MAX,
            in_block: 0,
            shortest: u64::MAX,
        })
    }

    fn put(&mut self, gap: u64) {
        self.samples.add(gap);
        self.all.saturating_record(gap);
        self.shortest = self.shortest.min(gap);
        self.block_least = self.block_least.min(gap);
        self.in_block += 1;
        if self.in_block == BLOCK {
            self.least.saturating_record(self.block_least);
            (self.block_least, self.in_block) = (u64::MAX, 0);
        }
    }

    /// The distance that the gaps keep, if they have a sharp lower edge: their first percentile is at least 0.9 times
    /// the median of the least gaps of all blocks, or very many are near it; and a share of them is. Gaps by chance have a percentile
    /// far below that, and few of them are near the least one.
    pub(super) fn edge(&self) -> Option<u64> {
        if self.all.len() < MIN_GAPS || self.least.is_empty() {
            return None;
        }
        let (low, least) = (self.all.value_at_quantile(0.01), self.least.value_at_quantile(0.5));
        let is_sharp = least > 0 && low as f64 >= 0.9 * least as f64;
        let near = self.all.count_between(0, self.shortest.saturating_add(self.shortest / 10));
        let share = if self.all.len() < MANY_GAPS { 4 } else { 20 };
        let is_limit =
            (is_sharp || near >= MANY_NEAR) && near * share >= self.all.len() && self.shortest >= LEAST_NS;
        is_limit.then_some(self.shortest)
    }

    /// The share of the gaps that are no more than a tenth longer than the shortest one.
    pub(super) fn near(&self) -> f64 {
        let near = self.all.count_between(0, self.shortest.saturating_add(self.shortest / 10));
        near as f64 / self.all.len().max(1) as f64
    }

    /// Whether most gaps are at their edge, of gaps of a wider scope of which only this share is.
    pub(super) fn are_sharper(&self, wide: f64) -> bool {
        self.edge().is_some() && self.near() >= (1.5 * wide).max(0.6)
    }

    /// Whether there are so many that the shortest one says something.
    pub(super) fn are_some(&self) -> bool {
        self.all.len() >= SOME_GAPS
    }

    /// How sure an edge is.
    pub(super) fn confidence(&self) -> Confidence {
        if self.all.len() >= MANY_GAPS { Confidence::Likely } else { Confidence::Possible }
    }

    /// The least gap of all.
    pub(super) fn shortest(&self) -> u64 {
        self.shortest
    }
}
