//! A histogram whose counters are as wide as the number of samples needs. Most flows have few samples, and histograms take most
//! of the memory of many flows.

use hdrhistogram::{Counter, Histogram};

use crate::{heap::Heap, stored::came};

use super::due;

#[derive(Clone, Debug, crate::stored::Stored)]
pub(super) enum Counted {
    Bytes(Histogram<u8>),
    Shorts(Histogram<u16>),
    Longs(Histogram<u32>),
}

/// Two significant digits: values are told apart to one in a hundred.
const DIGITS: u8 = 2;

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

impl Counted {
    /// A histogram without samples; `None` if the library refuses its parameters.
    pub(super) fn new() -> Option<Counted> {
        // The library refuses only an invalid number of digits.
        let mut histogram = Histogram::new(DIGITS).ok()?;
        histogram.auto(true);
        Some(Counted::Bytes(histogram))
    }

    /// A histogram of equal samples.
    pub(super) fn of(value: u64, count: u64) -> Option<Counted> {
        let mut counted = Counted::new()?;
        counted.record_many(value, count);
        Some(counted)
    }

    /// Adds equal samples.
    pub(super) fn record_many(&mut self, value: u64, count: u64) {
        self.widen_for(count);
        // The widest counter saturates.
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let _ = match self {
            Counted::Bytes(histogram) => histogram.record_n(value, count as u8),
            Counted::Shorts(histogram) => histogram.record_n(value, count as u16),
            Counted::Longs(histogram) => histogram.record_n(value, count),
        };
    }

    /// Adds samples.
    pub(super) fn record(&mut self, values: &[u64]) {
        self.widen_for(values.len() as u64);
        // A histogram that resizes itself refuses nothing. `saturating_record` would not let it grow.
        of_each!(self, histogram => values.iter().for_each(|&value| _ = histogram.record(value)));
    }

    /// Makes the counters wide enough for `more` samples.
    #[inline]
    fn widen_for(&mut self, more: u64) {
        let count = of_each!(self, histogram => histogram.len()).saturating_add(more);
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

    /// The smallest and the largest value that this quantile may have.
    pub(super) fn within(&self, share: f64) -> [u64; 2] {
        of_each!(self, histogram => {
            let high = histogram.value_at_quantile(share);
            // The library's last bucket ends before the largest number.
            let most = if high >= u64::MAX - 1 { u64::MAX } else { high };
            [histogram.lowest_equivalent(high), most]
        })
    }

    /// Calls `show` with the largest value of each bucket that has samples, and their number.
    pub(super) fn each(&self, mut show: impl FnMut(u64, u64)) {
        of_each!(self, histogram => for (value, count) in came(histogram) {
            show(histogram.highest_equivalent(value), count.into());
        });
    }

    /// Finds the 99th percentile, to follow it.
    pub(super) fn find(&self) -> (u64, Followed) {
        of_each!(self, histogram => find(histogram))
    }

    /// Moves the percentile.
    pub(super) fn follow(&self, followed: &mut Followed, p99: u64) -> u64 {
        of_each!(self, histogram => follow(histogram, followed, p99))
    }
}

impl Heap for Counted {
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
    for (value, count) in came(narrow) {
        let _ = wide.record_n(value, count.into());
    }
    wide
}

/// The position of the 99th percentile in a histogram.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(super) struct Followed {
    /// The smallest value in the percentile's bucket.
    low: u64,
    /// Number of samples, of samples up to the percentile, and of samples in its bucket.
    count: u64,
    upto: u64,
    here: u64,
}

impl Followed {
    /// One more sample. Returns whether the percentile moves.
    #[inline]
    pub(super) fn add(&mut self, value: u64, p99: u64) -> bool {
        let Followed { low, count, upto, here } = self;
        *count += 1;
        *upto += (value <= p99) as u64;
        *here += (*low <= value && value <= p99) as u64;
        let due = due(0.99, *count);
        *upto < due || *upto - *here >= due
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
    let due = due(0.99, *count);
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
