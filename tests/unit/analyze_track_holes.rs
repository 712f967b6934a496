//! Tests of `src/analyze/track/holes.rs`.

use super::*;

#[test]
fn holes_are_filled_from_all_sides() {
    let mut holes = Holes::default();
    holes.push(10..20, 1, None);
    holes.push(30..31, 2, None);
    assert_eq!(holes.psns(), 11);
    assert!(holes.get(9).is_none() && holes.get(20).is_none());
    assert_eq!(holes.get(30).unwrap().time, 2);
    holes.fill(14..16);
    assert_eq!(holes.psns(), 9);
    assert!(holes.get(13).is_some() && holes.get(14).is_none() && holes.get(16).is_some());
    holes.fill(0..12);
    holes.fill(19..40);
    assert_eq!(holes.iter().map(|h| (h.start, h.end)).collect::<Vec<_>>(), [(12, 14), (16, 19)]);
}

#[test]
fn their_number_is_bounded_and_none_is_uncounted() {
    let mut holes = Holes::default();
    for i in 0..100_000 {
        holes.push(i * 2..i * 2 + 1, 0, None);
    }
    assert!(holes.iter().count() <= MAX_HOLES);
    assert_eq!(holes.psns(), 100_000);
}
