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

/// Two READs that asked for the same PSNs: each of these is missing once, and one hole never becomes larger than it was.
#[test]
fn holes_are_disjoint() {
    let mut holes = Holes::default();
    holes.push(10..40, 1, None);
    holes.push(20..30, 2, None);
    holes.push(5..50, 3, None);
    let all = |holes: &Holes| holes.iter().map(|h| (h.start, h.end, h.time)).collect::<Vec<_>>();
    assert_eq!((all(&holes), holes.psns()), (vec![(5, 10, 3), (10, 40, 1), (40, 50, 3)], 45));
    holes.fill(0..100);
    assert_eq!((all(&holes), holes.psns()), (vec![], 0));
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
