//! Distributions of times and sizes: a few samples as they are, many in a histogram.

use hdrhistogram::{Counter, Histogram};

use crate::{
    heap::{Heap, heap},
    prefetch,
    report::Summary,
    stored::{histogram, roomy},
};

/// A distribution. Empty it takes no memory on the heap.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Distribution(Inner);

#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
enum Inner {
    #[default]
    Empty,
    /// All samples are equal: many queue pairs send messages of one size.
    Alike {
        value: u64,
        count: u64,
    },
    Few(#[serde(with = "roomy")] Vec<u64>),
    /// Samples are buffered, since a histogram is rarely in the cache.
    Buffered(Box<Buffered>),
    /// The summary of a histogram that was dropped. Its percentiles are those of that time.
    Summed(Box<Summary>),
}

/// The fields that every sample needs come first.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[repr(C)]
struct Buffered {
    used: usize,
    /// The state of a percentile that is tracked.
    followed: Followed,
    waiting: [u64; FEW],
    histogram: Counted,
}

/// A histogram whose counters are as wide as the number of samples needs. Most flows have few samples, and histograms take most
/// of the memory of many flows.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
enum Counted {
    Bytes(#[serde(with = "histogram")] Histogram<u8>),
    Shorts(#[serde(with = "histogram")] Histogram<u16>),
    Longs(#[serde(with = "histogram")] Histogram<u32>),
}

/// Calls the same method of any variant.
macro_rules! of_each {
    ($counted:expr, $histogram:ident => $result:expr) => {
        match $counted {
            Counted::Bytes($histogram) => $result,
            Counted::Shorts($histogram) => $result,
            Counted::Longs($histogram) => $result,
        }
    };
}

impl Buffered {
    #[inline]
    fn add(&mut self, value: u64) {
        if let Some(room) = self.waiting.get_mut(self.used) {
            *room = value;
            self.used += 1;
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
        let mut all = self.clone();
        all.flush();
        all.histogram
    }
}

/// A distribution whose 99th percentile is updated with each sample. The histogram, which is rarely in the cache, is read only
/// when the percentile moves.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Tracked {
    all: Distribution,
    p99: u64,
}

heap! { Tracked { all } }

/// The position of a percentile in a histogram.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Followed {
    /// The smallest value in the percentile's bucket.
    low: u64,
    /// Number of samples, of samples up to the percentile, and of samples in its bucket.
    count: u64,
    upto: u64,
    here: u64,
}

impl Tracked {
    /// One more sample.
    #[inline]
    pub fn add(&mut self, value: u64) {
        let Inner::Buffered(buffered) = &mut self.all.0 else { return self.add_to_few(value) };
        buffered.add(value);
        let Followed { low, count, upto, here } = &mut buffered.followed;
        *count += 1;
        *upto += (value <= self.p99) as u64;
        *here += (*low <= value && value <= self.p99) as u64;
        let due = share(*count);
        if *upto < due || *upto - *here >= due {
            self.p99 = buffered.follow(self.p99);
        }
    }

    /// Without a histogram, the percentile is the largest sample.
    #[cold]
    fn add_to_few(&mut self, value: u64) {
        if let Inner::Summed(_) = &self.all.0 {
            return self.all.add(value);
        }
        if self.all.count() == FEW as u64 {
            self.all.buffer();
        }
        self.all.add(value);
        self.p99 = self.p99.max(value);
        if let Inner::Buffered(buffered) = &mut self.all.0 {
            self.p99 = buffered.find();
        }
    }

    /// The 99th percentile; of up to a hundred samples that is the largest.
    #[inline]
    pub fn p99(&self) -> Option<u64> {
        (!matches!(self.all.0, Inner::Empty)).then_some(self.p99)
    }

    /// The distribution.
    pub fn all(&self) -> &Distribution {
        &self.all
    }

    /// Drops the histogram: the 99th percentile stays as it is.
    pub(crate) fn shed(&mut self) {
        self.all.shed();
    }
}

impl Buffered {
    /// Finds the 99th percentile, to follow it.
    fn find(&mut self) -> u64 {
        self.flush();
        let (p99, followed) = of_each!(&self.histogram, histogram => find(histogram));
        self.followed = followed;
        p99
    }

    /// Moves the percentile by buckets. One sample moves it by one occupied bucket at most.
    #[inline(never)]
    fn follow(&mut self, p99: u64) -> u64 {
        self.flush();
        of_each!(&self.histogram, histogram => follow(histogram, &mut self.followed, p99))
    }
}

fn find<C: Counter>(histogram: &Histogram<C>) -> (u64, Followed) {
    let p99 = histogram.value_at_quantile(0.99);
    let steps = histogram.iter_recorded().take_while(|step| step.value_iterated_to() <= p99);
    let followed = Followed {
        low: histogram.lowest_equivalent(p99),
        count: histogram.len(),
        upto: steps.map(|step| step.count_since_last_iteration()).sum(),
        here: histogram.count_at(p99).as_u64(),
    };
    (p99, followed)
}

fn follow<C: Counter>(histogram: &Histogram<C>, followed: &mut Followed, mut p99: u64) -> u64 {
    let Followed { low, count, upto, here } = followed;
    let due = share(*count);
    while *upto < due {
        p99 = histogram.highest_equivalent(p99 + 1);
        *here = histogram.count_at(p99).as_u64();
        *upto += *here;
    }
    while *upto - *here >= due {
        *upto -= *here;
        p99 = histogram.lowest_equivalent(p99) - 1;
        *here = histogram.count_at(p99).as_u64();
    }
    *low = histogram.lowest_equivalent(p99);
    p99
}

impl Counted {
    /// A histogram without samples; `None` if the library refuses its parameters.
    fn new() -> Option<Counted> {
        // The library refuses only an invalid number of digits.
        let mut histogram = Histogram::new(DIGITS).ok()?;
        histogram.auto(true);
        Some(Counted::Bytes(histogram))
    }

    /// A histogram of equal samples.
    fn of(value: u64, count: u64) -> Option<Counted> {
        let mut counted = Counted::new()?;
        counted.widen_for(count);
        // The widest counter saturates.
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let _ = match &mut counted {
            Counted::Bytes(histogram) => histogram.record_n(value, count as u8),
            Counted::Shorts(histogram) => histogram.record_n(value, count as u16),
            Counted::Longs(histogram) => histogram.record_n(value, count),
        };
        Some(counted)
    }

    /// Makes the counters wide enough for `more` samples.
    #[inline]
    fn widen_for(&mut self, more: u64) {
        let count = of_each!(self, histogram => histogram.len()) + more;
        if let Counted::Bytes(narrow) = self
            && count > u8::MAX.into()
        {
            *self = Counted::Shorts(wider(narrow));
        }
        if let Counted::Shorts(narrow) = self
            && count > u16::MAX.into()
        {
            *self = Counted::Longs(wider(narrow));
        }
    }

    /// Adds samples.
    fn record(&mut self, values: &[u64]) {
        self.widen_for(values.len() as u64);
        // A histogram that resizes itself refuses nothing. `saturating_record` would not let it grow.
        of_each!(self, histogram => values.iter().for_each(|&value| _ = histogram.record(value)));
    }

    fn summary(&self) -> Summary {
        of_each!(self, histogram => summary(histogram))
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Counted::Bytes(histogram) => histogram.distinct_values(),
            Counted::Shorts(histogram) => histogram.distinct_values() * size_of::<u16>(),
            Counted::Longs(histogram) => histogram.distinct_values() * size_of::<u32>(),
        }
    }
}

/// The same histogram with wider counters.
#[cold]
fn wider<C: Counter, W: Counter + From<C>>(narrow: &Histogram<C>) -> Histogram<W> {
    let mut wide = Histogram::new_from(narrow);
    for (value, count) in histogram::values(narrow) {
        let _ = wide.record_n(value, count.into());
    }
    wide
}

/// The number of samples that must not exceed the 99th percentile: 99 % of `count`, rounded up.
#[inline]
fn share(count: u64) -> u64 {
    let exact = 0.99 * count as f64;
    let whole = exact as u64;
    whole + ((whole as f64) < exact) as u64
}

/// The summary of a histogram. Its values have two significant digits.
pub(crate) fn summary<C: Counter>(histogram: &Histogram<C>) -> Summary {
    Summary {
        count: histogram.len(),
        min: histogram.min(),
        p50: histogram.value_at_quantile(0.5),
        p99: histogram.value_at_quantile(0.99),
        max: histogram.max(),
    }
}

/// The summary of samples as they are; `None` without samples.
pub(crate) fn exact_summary(samples: &[u64]) -> Option<Summary> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    let (&min, &max) = (sorted.first()?, sorted.last()?);
    // The smallest value that at least this share of the samples does not exceed.
    let at = |percent: usize| sorted[(sorted.len() * percent).div_ceil(100).max(1) - 1];
    Some(Summary { count: sorted.len() as u64, min, p50: at(50), p99: at(99), max })
}

/// Up to this number, samples are kept unchanged.
const FEW: usize = 32;
/// Two significant digits: values are right to one in a hundred.
const DIGITS: u8 = 2;

impl Distribution {
    /// One more sample.
    #[inline]
    pub fn add(&mut self, value: u64) {
        match &mut self.0 {
            Inner::Buffered(buffered) => buffered.add(value),
            Inner::Alike { value: all, count } if *all == value => *count += 1,
            _ => self.add_to_few(value),
        }
    }

    #[cold]
    fn add_to_few(&mut self, value: u64) {
        match &mut self.0 {
            Inner::Empty => self.0 = Inner::Alike { value, count: 1 },
            &mut Inner::Alike { value: all, count } if count < FEW as u64 => {
                let few = std::iter::repeat_n(all, count as usize).chain([value]);
                self.0 = Inner::Few(few.collect());
            }
            Inner::Few(few) if few.len() < FEW => few.push(value),
            Inner::Summed(summary) => {
                let Summary { count, min, max, .. } = &mut **summary;
                (*count, *min, *max) = (*count + 1, value.min(*min), value.max(*max));
            }
            _ => {
                self.buffer();
                if let Inner::Buffered(buffered) = &mut self.0 {
                    buffered.add(value);
                }
            }
        }
    }

    /// Changes to a histogram.
    fn buffer(&mut self) {
        if let Some(histogram) = self.histogram() {
            let (used, waiting, followed) = (0, [0; FEW], Followed::default());
            self.0 = Inner::Buffered(Box::new(Buffered { used, waiting, followed, histogram }));
        }
    }

    /// A histogram of all samples.
    fn histogram(&self) -> Option<Counted> {
        match &self.0 {
            Inner::Empty => Counted::new(),
            &Inner::Alike { value, count } => Counted::of(value, count),
            Inner::Few(few) => Counted::new().map(|mut histogram| {
                histogram.record(few);
                histogram
            }),
            Inner::Buffered(buffered) => Some(buffered.all()),
            Inner::Summed(_) => None,
        }
    }

    /// Prefetches the place of the next sample.
    #[inline]
    pub(crate) fn fetch(&self) {
        match &self.0 {
            Inner::Few(few) => few.last().into_iter().for_each(prefetch::line),
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
            Inner::Few(few) => few.len() as u64,
            Inner::Buffered(buffered) => {
                of_each!(&buffered.histogram, histogram => histogram.len()) + buffered.used as u64
            }
            Inner::Summed(summary) => summary.count,
        }
    }

    /// The smallest, the largest and what lies between; `None` without samples.
    pub fn summary(&self) -> Option<Summary> {
        match &self.0 {
            Inner::Empty => None,
            &Inner::Alike { value, count } if count <= FEW as u64 => {
                Some(Summary { count, min: value, p50: value, p99: value, max: value })
            }
            Inner::Few(few) => exact_summary(few),
            Inner::Summed(summary) => Some(**summary),
            Inner::Alike { .. } | Inner::Buffered(_) => Some(self.histogram()?.summary()),
        }
    }

    /// Calls `show` with each value and how often it is there. Where only a summary is left, there is none.
    pub(crate) fn each(&self, mut show: impl FnMut(u64, u64)) {
        match &self.0 {
            Inner::Empty | Inner::Summed(_) => {}
            &Inner::Alike { value, count } => show(value, count),
            Inner::Few(few) => few.iter().for_each(|&value| show(value, 1)),
            Inner::Buffered(_) => {
                let Some(all) = self.histogram() else { return };
                of_each!(&all, histogram => for step in histogram.iter_recorded() {
                    show(step.value_iterated_to(), step.count_at_value().into());
                });
            }
        }
    }

    /// The value that this share of the samples, from 0 to 1, does not exceed.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        match &self.0 {
            Inner::Alike { .. } | Inner::Buffered(_) if self.count() > FEW as u64 => {
                Some(of_each!(self.histogram()?, histogram => histogram.value_at_quantile(share)))
            }
            _ => self.summary().map(|s| if share < 0.9 { s.p50 } else { s.p99 }),
        }
    }

    /// Drops the histogram and keeps its summary. Later samples change only the count and the extremes.
    pub(crate) fn shed(&mut self) {
        if let Inner::Buffered(_) = &self.0
            && let Some(summary) = self.summary()
        {
            self.0 = Inner::Summed(Box::new(summary));
        }
    }
}

impl Heap for Distribution {
    fn heap_bytes(&self) -> usize {
        match &self.0 {
            Inner::Empty | Inner::Alike { .. } => 0,
            Inner::Few(few) => few.capacity() * size_of::<u64>(),
            Inner::Buffered(buffered) => size_of::<Buffered>() + buffered.histogram.heap_bytes(),
            Inner::Summed(_) => size_of::<Summary>(),
        }
    }
}
