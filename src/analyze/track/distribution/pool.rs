//! The distribution of several flows' samples together.

use crate::report::Summary;

use super::{Distribution, EXACT, Inner, Totals, counted::Counted, exact_summary};

/// Samples of several distributions. What is known of them is as exact as the least exact one.
#[derive(Default)]
pub(crate) struct Pool {
    totals: Totals,
    /// All samples, while there are few enough.
    exact: Vec<u64>,
    histogram: Option<Counted>,
    /// By which share of itself a value may be too large, beside what the histogram adds.
    error_ratio: f64,
}

impl Pool {
    /// Adds the samples of a distribution.
    pub(crate) fn add(&mut self, other: &Distribution) {
        match &other.0 {
            Inner::Empty => {}
            &Inner::Alike { value, count } => {
                self.totals.merge(Totals::of(value, count));
                self.put(value, count);
            }
            Inner::Exact(samples) => {
                self.totals.merge(samples.totals());
                samples.each(|value| self.put(value, 1));
            }
            Inner::Buffered(buffered) => {
                self.totals.merge(buffered.totals);
                match &buffered.exact {
                    Some(samples) => samples.each(|value| self.put(value, 1)),
                    None => {
                        self.spread();
                        buffered.histogram.each(|value, count| self.put(value, count));
                        let waiting = buffered.waiting.iter().take(buffered.used);
                        waiting.for_each(|&value| self.put(value, 1));
                    }
                }
            }
            Inner::Octaves(octaves) => {
                self.totals.merge(octaves.totals);
                self.spread();
                octaves.each(|[_, most], count| self.put(most.min(octaves.totals.max), count));
                self.error_ratio = self.error_ratio.max(0.5);
            }
            Inner::Over(summary) => {
                let Summary { count, min, max, sum, p50, .. } = **summary;
                self.totals.merge(Totals { count, min, max, sum });
                self.spread();
                // Half of them are not above the median.
                self.put(p50, count.div_ceil(2));
                self.put(max, count / 2);
                self.error_ratio = 1.0;
            }
        }
    }

    fn put(&mut self, value: u64, count: u64) {
        if self.histogram.is_none() {
            if self.exact.len() as u64 + count <= EXACT as u64 {
                return self.exact.extend(std::iter::repeat_n(value, count as usize));
            }
            self.spread();
        }
        if let Some(histogram) = &mut self.histogram {
            histogram.record_many(value, count);
        }
    }

    /// Changes to a histogram.
    fn spread(&mut self) {
        if self.histogram.is_none() {
            self.histogram = Counted::new();
            if let Some(histogram) = &mut self.histogram {
                histogram.record(&std::mem::take(&mut self.exact));
            }
        }
    }

    /// The summary of all samples; `None` without samples.
    pub(crate) fn summary(&self) -> Option<Summary> {
        let Some(histogram) = &self.histogram else { return exact_summary(&self.exact) };
        let of_all = self.totals.summary(|share| histogram.within(share));
        Some(Summary { error_ratio: (of_all.error_ratio + self.error_ratio).min(1.0), ..of_all })
    }
}
