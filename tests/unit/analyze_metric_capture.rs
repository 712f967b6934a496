//! Tests of `src/analyze/metric/capture.rs`.

use super::*;

#[test]
fn multiples_of_a_resolution_are_told_without_dividing() {
    let times = (0..200).flat_map(|n| [n, n * 1000, n * 1_234_567_890, i64::MAX - n, i64::MIN + n]);
    for time in times.flat_map(|time: i64| [time, time.wrapping_neg()]) {
        for digits in 0..=9 {
            let resolution = Resolution::of(10u64.pow(digits));
            assert_eq!(resolution.divides(time), time % 10i64.pow(digits) == 0, "{time} {digits}");
        }
    }
}
