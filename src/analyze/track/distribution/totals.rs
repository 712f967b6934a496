//! What is exact of any number of samples.

use crate::report::Summary;

/// Count, extremes and sum of samples.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(crate) struct Totals {
    pub(crate) count: u64,
    /// All ones without samples.
    pub(super) min: u64,
    pub(crate) max: u64,
    /// It saturates.
    pub(crate) sum: u64,
}

impl Default for Totals {
    fn default() -> Totals {
        Totals { count: 0, min: u64::MAX, max: 0, sum: 0 }
    }
}

impl Totals {
    #[inline]
    pub(crate) fn add(&mut self, value: u64) {
        self.count += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum = self.sum.saturating_add(value);
    }

    pub(super) fn of(value: u64, count: u64) -> Totals {
        Totals { count, min: value, max: value, sum: value.saturating_mul(count) }
    }

    pub(crate) fn merge(&mut self, other: Totals) {
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum = self.sum.saturating_add(other.sum);
    }

    /// The smallest one, the mean and the largest one.
    pub(crate) fn spread(&self) -> [Option<u64>; 3] {
        let known = |n: u64| (self.count > 0).then_some(n);
        [known(self.min), self.sum.checked_div(self.count), known(self.max)]
    }

    /// The summary. `within` gives the smallest and the largest value that a quantile may have.
    pub(super) fn summary(&self, within: impl Fn(f64) -> [u64; 2]) -> Summary {
        let Totals { count, min, max, sum } = *self;
        let [p50, p99] = [0.5, 0.99].map(within).map(|[low, high]| [low.max(min), high.min(max)]);
        let error = [p50, p99].map(|[low, high]| high.saturating_sub(low) as f64 / (high as f64).max(1.0));
        // Rounded up, so that what it leaves is not more than what is known.
        let error_ratio = (error[0].max(error[1]) * 1e4).ceil() / 1e4;
        Summary { count, min, p50: p50[1], p99: p99[1], max, sum, error_ratio }
    }
}
