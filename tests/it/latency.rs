//! Distributions: few samples, many, and equal ones have the figures of one plain histogram.

use hdrhistogram::Histogram;
use rdmawire::{
    analyze::metric::latency::{Distribution, Tracked},
    report::Summary,
};

/// Samples that are kept as they are, before there is a histogram.
const FEW: usize = 32;

fn summary(histogram: &Histogram<u32>) -> Summary {
    let mut summary = Summary::default();
    (summary.count, summary.min, summary.max) = (histogram.len(), histogram.min(), histogram.max());
    (summary.p50, summary.p99) = (histogram.value_at_quantile(0.5), histogram.value_at_quantile(0.99));
    summary
}

/// A histogram that never needs to grow wider.
fn plain() -> Histogram<u32> {
    let mut plain = Histogram::new(2).unwrap();
    plain.auto(true);
    plain
}

#[test]
fn the_percentile_that_is_followed_is_the_one_that_is_computed() {
    let mut tracked = Tracked::default();
    let mut random = 1u64;
    for n in 0..20_000u64 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Small and large, rising and falling in turns.
        let most = 1 << (8 + (n / 2000) * 3 % 25);
        tracked.add((random >> 33) % most);
        assert_eq!(tracked.p99(), tracked.all().quantile(0.99), "after {n}");
    }
}

#[test]
fn counters_grow_wider_and_nothing_is_lost() {
    let mut distribution = Distribution::default();
    let mut plain = plain();
    for n in 0..70_000u64 {
        // Zeros, one value that no narrow counter could count, and a spread.
        let value = if n % 7 < 5 { n % 2 * 1234 } else { n * n };
        distribution.add(value);
        plain.record(value).unwrap();
        if [200, 256, 288, 1000, 65_535, 65_568, 69_999].contains(&n) {
            assert_eq!(distribution.summary(), Some(summary(&plain)), "after {n}");
            assert_eq!(distribution.count(), n + 1);
        }
    }
}

#[test]
fn counters_grow_wider_at_the_end_of_numbers_too() {
    let mut distribution = Distribution::default();
    let mut plain = plain();
    for n in 0..1000u64 {
        let value = u64::MAX - ((n % 5) << 61);
        distribution.add(value);
        plain.record(value).unwrap();
    }
    assert_eq!(distribution.summary(), Some(summary(&plain)));
}

#[test]
fn samples_that_are_alike_are_counted_as_others_are() {
    for alike in [1, 2, 31, 32, 33, 255, 256, 300, 65_535, 65_600] {
        let (mut distribution, mut tracked) = (Distribution::default(), Tracked::default());
        let mut plain = plain();
        for n in 0..alike + 40 {
            // Then one that is not, and some more.
            let value = if n < alike { 1_048_577 } else { (n - alike) * 12_345 };
            distribution.add(value);
            tracked.add(value);
            plain.record(value).unwrap();
            if n + 2 > alike && n >= FEW as u64 {
                assert_eq!(distribution.summary(), Some(summary(&plain)), "{n} of {alike}");
                assert_eq!(distribution.quantile(0.99), Some(plain.value_at_quantile(0.99)));
                assert_eq!(tracked.p99(), distribution.quantile(0.99), "{n} of {alike}");
            }
        }
        assert_eq!(distribution.count(), alike + 40);
    }
    let mut few = Distribution::default();
    (0..FEW).for_each(|_| few.add(1_048_577));
    let summary = few.summary().unwrap();
    assert_eq!((summary.count, summary.min, summary.max), (FEW as u64, 1_048_577, 1_048_577));
    assert_eq!(few.quantile(0.5), Some(1_048_577));
}

#[test]
fn many_samples_are_summed_up_as_few_are() {
    let mut distribution = Distribution::default();
    for value in 1..=1000u64 {
        distribution.add(value * 1000);
    }
    let summary = distribution.summary().unwrap();
    assert_eq!((summary.count, distribution.count()), (1000, 1000));
    for (is, ought) in [(summary.min, 1e3), (summary.p50, 5e5), (summary.p99, 9.9e5), (summary.max, 1e6)] {
        assert!((is as f64 / ought - 1.0).abs() < 0.01, "{summary:?}");
    }
}
