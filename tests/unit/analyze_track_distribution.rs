//! What is left of a distribution when memory is short.

use super::*;

/// A thousand samples and more, and what they are.
fn distribution(count: u64) -> (Distribution, Summary) {
    let mut distribution = Distribution::default();
    (0..count).for_each(|n| distribution.add(500 + n * 7919 % 30_000));
    let summary = distribution.summary().unwrap();
    (distribution, summary)
}

/// Count, smallest, largest and sum are the same; quantiles are within the error that is stated.
fn assert_still_right(less: &Summary, all: &Summary) {
    assert_eq!((less.count, less.min, less.max, less.sum), (all.count, all.min, all.max, all.sum));
    for (is, ought) in [(less.p50, all.p50), (less.p99, all.p99)] {
        let [least, most] = less.within(is);
        assert!(least <= ought && ought <= most, "{less:?} {all:?}");
    }
}

#[test]
fn memory_is_freed_in_steps_and_the_error_says_so() {
    let (mut less, all) = distribution(3000);
    assert_eq!(all.error_ratio, 0.0);
    let exact = less.heap_bytes();
    less.coarsen();
    let coarse = less.summary().unwrap();
    assert_still_right(&coarse, &all);
    assert!(coarse.error_ratio > 0.0 && coarse.error_ratio <= 0.0079, "{coarse:?}");
    let counted = less.heap_bytes();
    assert!(counted < exact / 2, "{counted} of {exact}");
    less.shed();
    let octaves = less.summary().unwrap();
    assert_still_right(&octaves, &all);
    assert!(octaves.error_ratio > 0.1 && octaves.error_ratio <= 0.5, "{octaves:?}");
    assert!(less.heap_bytes() < 400, "{}", less.heap_bytes());
    // Samples still count.
    less.add(7);
    let one_more = less.summary().unwrap();
    assert_eq!((one_more.count, one_more.min, one_more.sum), (3001, 7, all.sum + 7));
}

#[test]
fn where_a_histogram_is_larger_samples_stay() {
    let (mut less, all) = distribution(400);
    let exact = less.heap_bytes();
    less.coarsen();
    assert_eq!((less.summary(), less.heap_bytes()), (Some(all), exact));
    less.shed();
    assert_still_right(&less.summary().unwrap(), &all);
    assert!(less.heap_bytes() < exact);
}

#[test]
fn the_summary_of_a_flow_that_is_over_is_as_exact_as_before() {
    let (mut over, all) = distribution(3000);
    over.end();
    assert_eq!(over.summary(), Some(all));
    assert!(over.heap_bytes() < 100);
}

#[test]
fn several_distributions_together_are_as_exact_as_the_least_exact() {
    let mut parts = [distribution(40).0, distribution(1000).0, distribution(3).0];
    let mut samples: Vec<u64> = Vec::new();
    for count in [40, 1000, 3] {
        samples.extend((0..count).map(|n: u64| 500 + n * 7919 % 30_000));
    }
    let all = exact_summary(&samples).unwrap();
    let pool = |parts: &[Distribution]| {
        let mut pool = Pool::default();
        parts.iter().for_each(|part| pool.add(part));
        pool.summary()
    };
    assert_eq!(pool(&parts), Some(all));
    parts[1].coarsen();
    assert_still_right(&pool(&parts).unwrap(), &all);
    parts[0].shed();
    let less = pool(&parts).unwrap();
    assert_still_right(&less, &all);
    assert!(less.error_ratio >= 0.5);
    assert_eq!(pool(&[]), None);
}
