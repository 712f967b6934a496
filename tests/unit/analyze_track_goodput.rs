//! Tests of `src/analyze/track/goodput.rs`.

use super::*;

#[test]
fn rates_are_taken_over_ten_round_trips_and_more() {
    let (mut marks, rtt) = (Marks::default(), Some(1_000));
    // 1 byte a nanosecond: 8 Gbit/s.
    let at = |marks: &mut Marks, time: i64| {
        marks.pass(time, time as u64, rtt).map(|passed| (passed.since, passed.rate()))
    };
    assert_eq!(at(&mut marks, 0).map(|(_, rate)| rate), Some(None));
    assert_eq!((at(&mut marks, 9_999), marks.rate(9_999, 9_999)), (None, None));
    assert_eq!(at(&mut marks, 10_000), Some((0, Some(8_000_000_000))));
    assert_eq!(marks.rate(15_000, 15_000), Some(8_000_000_000));
    // Nothing for a while: what was before tells nothing of now.
    assert_eq!(at(&mut marks, 200_000), Some((10_000, None)));
    assert_eq!(marks.rate(205_000, 205_000), None);
    marks.restart(300_000, 300_000);
    assert_eq!((marks.rate(301_000, 301_000), at(&mut marks, 309_999)), (None, None));
    // Half as fast.
    let passed = marks.pass(310_000, 305_000, rtt).expect("ten round trips are over");
    assert_eq!((passed.since, passed.rate()), (300_000, Some(4_000_000_000)));
    // Neither a step back in time nor one of the counter is a rate.
    assert_eq!((marks.rate(299_999, 400_000), marks.rate(400_000, 1)), (None, None));
}
