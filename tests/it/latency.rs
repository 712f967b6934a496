//! Distributions: count, smallest, largest and sum are exact, quantiles too as long as samples are kept, and else within their error.

use rdmawire::{
    analyze::metric::latency::{Distribution, EXACT, Tracked},
    report::Summary,
};

/// The summary of these samples, sorted.
fn plain(samples: &[u64]) -> Summary {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    let at = |percent: usize| sorted[(sorted.len() * percent).div_ceil(100).max(1) - 1];
    let mut summary = Summary::default();
    (summary.count, summary.min, summary.max) = (sorted.len() as u64, sorted[0], sorted[sorted.len() - 1]);
    (summary.p50, summary.p99) = (at(50), at(99));
    summary.sum = sorted.iter().fold(0u64, |sum, &sample| sum.saturating_add(sample));
    summary
}

/// Whether a summary is right: exact but for its quantiles, and these within what it says of them.
fn assert_right(summary: &Summary, samples: &[u64], about: &str) {
    let truth = plain(samples);
    let exact = |summary: &Summary| (summary.count, summary.min, summary.max, summary.sum);
    assert_eq!(exact(summary), exact(&truth), "{about}");
    for (is, ought) in [(summary.p50, truth.p50), (summary.p99, truth.p99)] {
        let least = is as f64 * (1.0 - summary.error_ratio);
        assert!(ought <= is && ought as f64 >= least, "{about}: {is} for {ought}, {summary:?}");
    }
}

fn numbers() -> impl Iterator<Item = u64> {
    let mut random = 1u64;
    std::iter::repeat_with(move || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        random >> 33
    })
}

#[test]
fn quantiles_are_exact_while_samples_are_kept_and_within_their_error_beyond() {
    let (mut distribution, mut tracked, mut all) =
        (Distribution::default(), Tracked::default(), Vec::<u64>::new());
    for (n, number) in numbers().take(3 * EXACT).enumerate() {
        // Small and large, rising and falling in turns; the last of the exact ones needs more than 32 bits.
        let value = if n == EXACT - 1 { 1 << 40 } else { number % (1 << (8 + (n / 500) * 3 % 23)) };
        distribution.add(value);
        tracked.add(value);
        all.push(value);
        if n % 191 == 0 || (EXACT - 2..EXACT + 2).contains(&n) {
            for summary in [distribution.summary(), tracked.all().summary()] {
                let summary = summary.unwrap();
                assert_right(&summary, &all, &format!("after {}", n + 1));
                match n < EXACT {
                    true => assert_eq!(summary, plain(&all)),
                    false => assert!(summary.error_ratio <= 0.0079, "{summary:?}"),
                }
            }
        }
    }
    assert!(distribution.summary().unwrap().error_ratio > 0.0);
}

#[test]
fn the_percentile_that_is_followed_is_at_most_one_percent_too_large() {
    let (mut tracked, mut all) = (Tracked::default(), Vec::<u64>::new());
    for (n, number) in numbers().take(6000).enumerate() {
        let value = number % (1 << (8 + (n / 600) * 3 % 25));
        tracked.add(value);
        all.insert(all.partition_point(|&other| other < value), value);
        let (is, exact) = (tracked.p99().unwrap(), all[(all.len() * 99).div_ceil(100) - 1]);
        assert!(exact <= is && is as f64 <= exact as f64 * 1.01, "after {n}: {is} for {exact}");
    }
}

#[test]
fn counters_grow_wider_and_nothing_is_lost() {
    let (mut distribution, mut all) = (Distribution::default(), Vec::new());
    for n in 0..70_000u64 {
        // Zeros, one value that no narrow counter could count, and a spread.
        let value = if n % 7 < 5 { n % 2 * 1234 } else { n * n };
        distribution.add(value);
        all.push(value);
        if [200, 256, 288, 1000, 4095, 4096, 65_535, 65_568, 69_999].contains(&n) {
            assert_right(&distribution.summary().unwrap(), &all, &format!("after {n}"));
            assert_eq!(distribution.count(), n + 1);
        }
    }
}

#[test]
fn counters_grow_wider_at_the_end_of_numbers_too() {
    let (mut distribution, mut all) = (Distribution::default(), Vec::new());
    for n in 0..2 * EXACT as u64 {
        let value = u64::MAX - ((n % 5) << 61);
        distribution.add(value);
        all.push(value);
    }
    let summary = distribution.summary().unwrap();
    assert_right(&summary, &all, "large");
    assert_eq!(summary.sum, u64::MAX);
}

#[test]
fn samples_that_are_alike_are_counted_as_others_are() {
    for alike in [1, 2, 31, 32, 33, 255, 256, 300, 4095, 4096, 4097, 65_535, 65_600] {
        let (mut distribution, mut tracked) = (Distribution::default(), Tracked::default());
        let mut all = Vec::new();
        for n in 0..alike + 40 {
            // Then one that is not, and some more.
            let value = if n < alike { 1_048_577 } else { (n - alike) * 12_345 };
            distribution.add(value);
            tracked.add(value);
            all.push(value);
            if n + 2 > alike {
                assert_right(&distribution.summary().unwrap(), &all, &format!("{n} of {alike}"));
                assert_right(&tracked.all().summary().unwrap(), &all, &format!("{n} of {alike}"));
            }
            // However many they are, equal samples are exact.
            if n + 1 == alike {
                assert_eq!(distribution.summary(), Some(plain(&all)));
            }
        }
        assert_eq!(distribution.count(), alike + 40);
    }
}
