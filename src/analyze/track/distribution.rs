//! Distributions of times and sizes. Count, smallest, largest and sum are exact. So are quantiles of up to [`EXACT`] samples, which
//! are kept as they are; of more, a histogram says between which two values they are. Where memory is short, flows change to
//! histograms earlier, and then to powers of two.

mod counted;
mod octaves;
mod pool;
mod samples;
mod totals;

use crate::{
    heap::{Heap, heap},
    prefetch,
    report::Summary,
};

use counted::{Counted, Followed};
use octaves::Octaves;
use samples::Samples;

pub(crate) use pool::Pool;
pub(crate) use totals::Totals;

/// A distribution. Empty it takes no memory on the heap.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub struct Distribution(Inner);

#[derive(Clone, Debug, Default, crate::stored::Stored)]
enum Inner {
    #[default]
    Empty,
    /// All samples are equal: many queue pairs send messages of one size.
    Alike {
        value: u64,
        count: u64,
    },
    Exact(Samples),
    /// Samples are buffered, since a histogram is rarely in the cache.
    Buffered(Box<Buffered>),
    /// Little memory is left.
    Octaves(Box<Octaves>),
    /// The flow is over: no sample comes any more.
    Over(Box<Summary>),
}

/// Up to this number, samples are kept unchanged while there is memory.
pub const EXACT: usize = 4096;
/// Up to this number, a histogram takes more memory than they do.
const MANY: usize = 512;
/// Up to this number, they are kept in any case.
const FEW: usize = 32;

/// The fields that every sample needs come first.
#[derive(Clone, Debug, crate::stored::Stored)]
#[repr(C)]
struct Buffered {
    used: usize,
    totals: Totals,
    /// The state of a percentile that is tracked.
    followed: Followed,
    waiting: [u64; FEW],
    histogram: Counted,
    /// All samples, while they are few enough: where a percentile is tracked, there is a histogram before it is needed.
    exact: Option<Samples>,
}

impl Buffered {
    #[inline]
    fn add(&mut self, value: u64) {
        self.totals.add(value);
        if let Some(room) = self.waiting.get_mut(self.used) {
            *room = value;
            self.used += 1;
        }
        if let Some(exact) = &mut self.exact {
            match exact.len() < EXACT {
                true => exact.push(value),
                false => self.exact = None,
            }
        }
        if self.used == FEW {
            self.flush();
        }
    }

    #[inline(never)]
    fn flush(&mut self) {
        self.histogram.record(&self.waiting[..self.used]);
        self.used = 0;
    }

    /// The histogram of all samples.
    fn all(&self) -> Counted {
        let mut all = self.histogram.clone();
        all.record(&self.waiting[..self.used]);
        all
    }

    /// Finds the 99th percentile, to follow it.
    fn find(&mut self) -> u64 {
        self.flush();
        let p99;
        (p99, self.followed) = self.histogram.find();
        p99
    }

    /// Moves the percentile by buckets. One sample moves it by one occupied bucket at most.
    #[inline(never)]
    fn follow(&mut self, p99: u64) -> u64 {
        self.flush();
        self.histogram.follow(&mut self.followed, p99)
    }
}

/// A distribution whose 99th percentile is updated with each sample, to two digits. The histogram, which is rarely in the cache, is
/// read only when the percentile moves.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub struct Tracked {
    all: Distribution,
    p99: u64,
}

heap! { Tracked { all } }

impl Tracked {
    /// One more sample.
    #[inline]
    pub fn add(&mut self, value: u64) {
        let Inner::Buffered(buffered) = &mut self.all.0 else { return self.add_to_few(value) };
        buffered.add(value);
        if buffered.followed.add(value, self.p99) {
            self.p99 = buffered.follow(self.p99);
        }
    }

    /// Without a histogram, the percentile is the largest sample.
    #[cold]
    fn add_to_few(&mut self, value: u64) {
        if let Inner::Octaves(_) | Inner::Over(_) = &self.all.0 {
            return self.all.add(value);
        }
        if self.all.count() == FEW as u64 {
            self.all.buffer(true);
        }
        self.all.add(value);
        self.p99 = self.p99.max(value);
        if let Inner::Buffered(buffered) = &mut self.all.0 {
            self.p99 = buffered.find();
        }
    }

    /// The 99th percentile, at most 1 % too large; of up to a hundred samples it is the largest.
    #[inline]
    pub fn p99(&self) -> Option<u64> {
        (!matches!(self.all.0, Inner::Empty)).then_some(self.p99)
    }

    /// The distribution.
    pub fn all(&self) -> &Distribution {
        &self.all
    }

    /// [`Distribution::coarsen`].
    pub(crate) fn coarsen(&mut self) {
        self.all.coarsen();
    }

    /// [`Distribution::shed`]: the 99th percentile stays as it is.
    pub(crate) fn shed(&mut self) {
        self.all.shed();
    }

    /// [`Distribution::end`].
    pub(crate) fn end(&mut self) {
        self.all.end();
    }
}

/// The summary of samples as they are; `None` without samples.
pub(crate) fn exact_summary(samples: &[u64]) -> Option<Summary> {
    let mut totals = Totals::default();
    samples.iter().for_each(|&sample| totals.add(sample));
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    let at = |share: f64| sorted.get(rank(share, totals.count) as usize).copied().unwrap_or(totals.max);
    (!sorted.is_empty()).then(|| totals.summary(|share| [at(share); 2]))
}

/// The place, from 0, of the smallest sample that at least this share of the samples does not exceed.
fn rank(share: f64, count: u64) -> u64 {
    due(share, count).max(1) - 1
}

/// The number of samples that must not exceed a quantile: its share of `count`, rounded up.
#[inline]
fn due(share: f64, count: u64) -> u64 {
    let exact = share * count as f64;
    let whole = exact as u64;
    whole + ((whole as f64) < exact) as u64
}

impl Distribution {
    /// One more sample.
    #[inline]
    pub fn add(&mut self, value: u64) {
        match &mut self.0 {
            Inner::Buffered(buffered) => buffered.add(value),
            Inner::Alike { value: all, count } if *all == value => *count += 1,
            Inner::Exact(samples) if samples.len() < EXACT => samples.push(value),
            _ => self.add_to_few(value),
        }
    }

    #[cold]
    fn add_to_few(&mut self, value: u64) {
        match &mut self.0 {
            Inner::Empty => self.0 = Inner::Alike { value, count: 1 },
            &mut Inner::Alike { value: all, count } if count < EXACT as u64 => {
                let mut samples = Samples::of(all, count);
                samples.push(value);
                self.0 = Inner::Exact(samples);
            }
            Inner::Octaves(octaves) => octaves.add(value),
            // No quantile is known any more.
            Inner::Over(summary) => {
                let Summary { count, min, max, sum, .. } = **summary;
                let mut totals = Totals { count, min, max, sum };
                totals.add(value);
                **summary = Summary { error_ratio: 1.0, ..totals.summary(|_| [0, u64::MAX]) };
            }
            _ => {
                self.buffer(false);
                if let Inner::Buffered(buffered) = &mut self.0 {
                    buffered.add(value);
                }
            }
        }
    }

    /// Changes to a histogram. The samples may be kept beside it.
    fn buffer(&mut self, is_exact: bool) {
        let (totals, histogram, exact) = match std::mem::take(&mut self.0) {
            Inner::Empty => (Totals::default(), Counted::new(), is_exact.then(Samples::default)),
            Inner::Alike { value, count } => {
                let exact = is_exact && count <= EXACT as u64;
                let samples = exact.then(|| Samples::of(value, count));
                (Totals::of(value, count), Counted::of(value, count), samples)
            }
            Inner::Exact(samples) => {
                let histogram = Counted::new().map(|mut histogram| {
                    samples.each(|value| histogram.record(&[value]));
                    histogram
                });
                (samples.totals(), histogram, is_exact.then_some(samples))
            }
            other => return self.0 = other,
        };
        if let Some(histogram) = histogram {
            let (used, waiting, followed) = (0, [0; FEW], Followed::default());
            let buffered = Buffered { used, totals, followed, waiting, histogram, exact };
            self.0 = Inner::Buffered(Box::new(buffered));
        }
    }

    /// Prefetches the place of the next sample.
    #[inline]
    pub(crate) fn fetch(&self) {
        match &self.0 {
            Inner::Exact(samples) => samples.fetch(),
            Inner::Buffered(buffered) => {
                prefetch::line(&buffered.used);
                prefetch::lines(&buffered.waiting);
            }
            _ => {}
        }
    }

    /// How many samples.
    pub fn count(&self) -> u64 {
        match &self.0 {
            Inner::Empty => 0,
            &Inner::Alike { count, .. } => count,
            Inner::Exact(samples) => samples.len() as u64,
            Inner::Buffered(buffered) => buffered.totals.count,
            Inner::Octaves(octaves) => octaves.totals.count,
            Inner::Over(summary) => summary.count,
        }
    }

    /// The smallest, the largest and what lies between; `None` without samples.
    pub fn summary(&self) -> Option<Summary> {
        match &self.0 {
            Inner::Empty => None,
            &Inner::Alike { value, count } => Some(Totals::of(value, count).summary(|_| [value; 2])),
            Inner::Exact(samples) => exact_summary(&samples.all()),
            Inner::Buffered(buffered) => match &buffered.exact {
                Some(samples) => exact_summary(&samples.all()),
                None => {
                    let all = buffered.all();
                    Some(buffered.totals.summary(|share| all.within(share)))
                }
            },
            Inner::Octaves(octaves) => Some(octaves.summary()),
            Inner::Over(summary) => Some(**summary),
        }
    }

    /// [`summary`](Self::summary) of the samples that are not zero, where so many are; `None` too where that is not known any more.
    pub(crate) fn summary_above_zero(&self, zeros: u64) -> Option<Summary> {
        let above = |samples: &Samples| {
            exact_summary(&samples.all().iter().copied().filter(|&one| one > 0).collect::<Vec<_>>())
        };
        match &self.0 {
            Inner::Alike { value: 0, .. } | Inner::Octaves(_) | Inner::Over(_) => None,
            Inner::Empty | Inner::Alike { .. } => self.summary(),
            Inner::Exact(samples) => above(samples),
            Inner::Buffered(buffered) => match &buffered.exact {
                Some(samples) => above(samples),
                None => {
                    let (all, Totals { count, max, sum, .. }) = (buffered.all(), buffered.totals);
                    let left = count.checked_sub(zeros).filter(|&left| left > 0)?;
                    // Between two samples' shares, as those of floats are not exact.
                    let at = |place: f64| all.within((zeros as f64 + place - 0.5) / count as f64);
                    let totals = Totals { count: left, min: at(1.0)[0], max, sum };
                    Some(totals.summary(|share| at(due(share, left) as f64)))
                }
            },
        }
    }

    /// The 99th percentile, as [summaries](Self::summary) have it.
    pub fn p99(&self) -> Option<u64> {
        self.summary().map(|summary| summary.p99)
    }

    /// Memory is short: what is kept as it is becomes a histogram, where that is smaller.
    pub(crate) fn coarsen(&mut self) {
        match &mut self.0 {
            Inner::Exact(samples) if samples.len() > MANY => self.buffer(false),
            Inner::Buffered(buffered) => buffered.exact = None,
            _ => {}
        }
    }

    /// Memory is shorter: counts of powers of two remain, and what takes no more than these.
    pub(crate) fn shed(&mut self) {
        let octaves = match &self.0 {
            Inner::Exact(samples) if samples.len() > FEW => {
                let mut octaves = Octaves::new(samples.totals());
                samples.each(|value| octaves.count(value, 1));
                octaves
            }
            Inner::Buffered(buffered) => {
                let mut octaves = Octaves::new(buffered.totals);
                buffered.histogram.each(|value, count| octaves.count(value, count));
                buffered.waiting.iter().take(buffered.used).for_each(|&value| octaves.count(value, 1));
                octaves
            }
            _ => return,
        };
        self.0 = Inner::Octaves(Box::new(octaves));
    }

    /// No sample will come: only the summary is kept.
    pub(crate) fn end(&mut self) {
        let is_large = match &self.0 {
            Inner::Exact(samples) => samples.len() > FEW,
            Inner::Buffered(_) => true,
            _ => false,
        };
        if is_large && let Some(summary) = self.summary() {
            self.0 = Inner::Over(Box::new(summary));
        }
    }
}

impl Heap for Distribution {
    fn heap_bytes(&self) -> usize {
        match &self.0 {
            Inner::Empty | Inner::Alike { .. } => 0,
            Inner::Exact(samples) => samples.heap_bytes(),
            Inner::Buffered(buffered) => {
                size_of::<Buffered>() + buffered.histogram.heap_bytes() + buffered.exact.heap_bytes()
            }
            Inner::Octaves(octaves) => size_of::<Octaves>() + octaves.heap_bytes(),
            Inner::Over(_) => size_of::<Summary>(),
        }
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/analyze_track_distribution.rs"]
mod tests;
