//! Tests of `src/analyze/track/copies.rs`.

use super::*;

fn judge(packets: &[Behind]) -> Vec<Verdict> {
    let mut waiting = Repetitions::default();
    waiting.push(10, 11, 5_000, ());
    packets.iter().map(|&next| waiting.judge(next, 50, ENOUGH)).collect()
}

#[test]
fn a_sender_goes_back_and_a_mirror_copies() {
    assert_eq!(judge(&[Behind::Again(11, 12, 5_010)]), [Verdict::Resent]);
    let mut waiting = Repetitions::default();
    for x in 10..12 {
        waiting.push(x, x + 1, 5_000, ());
        assert_eq!(waiting.judge(Behind::New, 50, ENOUGH), Verdict::Wait);
    }
    assert_eq!(waiting.judge(Behind::Again(12, 13, 5_020), 50, ENOUGH), Verdict::Copies);
    // Far apart, or not as late, they are not of one mirror.
    assert_eq!(waiting.judge(Behind::Again(30, 31, 5_020), 50, ENOUGH), Verdict::Resent);
    assert_eq!(waiting.judge(Behind::Again(12, 13, 9_020), 50, ENOUGH), Verdict::Resent);
    // A READ from before the last one, and longer.
    assert_eq!(waiting.judge(Behind::Again(9, 40, 5_020), 50, ENOUGH), Verdict::Resent);
}

/// PSNs from 100 on are recorded again at the same place, after this lag.
fn noted(psns: impl IntoIterator<Item = u64>, lag: i64, copying: &Copying) -> Places {
    let mut places = Places::default();
    psns.into_iter().for_each(|x| places.note(x..x + 1, [1, 1], Some(lag), copying));
    places
}

#[test]
fn a_mirror_copies_most_packets() {
    let copying = Copying::default();
    let places = noted([100, 101], 3_000, &copying);
    assert!(!places.has_lag(102, 3_000, &copying) && copying.lags().is_none());
    let places = noted(100..103, 3_000, &copying);
    assert!(
        places.has_lag(103, 3_050, &copying)
            && !places.has_lag(103, 5_000, &copying)
            && !places.has_lag(103, 1_000, &copying)
    );
    assert_eq!(copying.lags(), Some([3_000; 2]));
    // It has ended long ago.
    assert!(!places.has_lag(110, 3_050, &copying));
    // Three of many.
    let copying = Copying::default();
    assert!(!noted([100, 150, 200], 3_000, &copying).has_lag(200, 3_000, &copying));
    assert!(!copying.has(3_000) && copying.is_learned());
}

/// A flow whose copies only the lag of others told has no lag of its own, and has theirs.
#[test]
fn the_lag_of_other_flows() {
    let copying = Copying::default();
    noted(100..110, 3_000, &copying);
    let mut places = Places::default();
    (100..110).for_each(|x| places.note(x..x + 1, [1, 1], None, &copying));
    assert!(places.has_lag(110, 3_050, &copying) && !places.has_lag(110, 5_000, &copying));
    // Few of its packets are recorded again.
    assert!(!places.has_lag(200, 3_050, &copying));
    // Its own lag counts, where it has one.
    assert!(!noted(100..110, 9_000, &Copying::default()).has_lag(110, 3_050, &copying));
}

/// What only a lag admits does not widen it, and one far from it does neither.
#[test]
fn lags_are_bounded() {
    let copying = Copying::default();
    let mut places = noted(100..110, 3_000, &copying);
    places.note(110..111, [1, 1], None, &copying);
    places.note(111..112, [1, 1], Some(300_000), &copying);
    assert_eq!(copying.lags(), Some([3_000; 2]));
    places.note(112..113, [1, 1], Some(4_000), &copying);
    assert_eq!(copying.lags(), Some([3_000, 4_000]));
}

#[test]
fn one_place_leads_to_another() {
    let copying = Copying::default();
    let mut places = Places::default();
    for x in 100..103 {
        assert!(!copying.leads([1, 2]));
        places.note(x..x + 1, [1, 2], Some(3_000), &copying);
    }
    assert!(copying.leads([1, 2]) && !copying.leads([2, 1]) && copying.lags().is_none());
    assert_eq!(copying.elsewhere(), 3);
}

#[test]
fn identifications_tell_cnps_apart() {
    let (copying, mut records) = (Copying::default(), CnpRecords::default());
    let mut is_copy = |id, time| records.is_recorded((1, Some(id)), time, &copying, false);
    // Nothing tells how the first one is numbered.
    assert!(!is_copy(7, 0));
    assert!(!is_copy(9, 4_000) && is_copy(9, 9_000));
    assert!(!is_copy(12, 10_000) && !is_copy(13, 11_000) && is_copy(12, 15_000) && is_copy(13, 16_000));
    // Identifications come again in time.
    assert!(!is_copy(12, 1_000_000_000));
    // The first one is recorded at two places.
    let mut records = CnpRecords::default();
    assert!(!records.is_recorded((1, Some(7)), 0, &copying, false));
    assert!(records.is_recorded((0x102, Some(7)), 300, &copying, false));
    assert!(!records.is_recorded((1, Some(8)), 4_000, &copying, false));
    assert!(records.is_recorded((0x102, Some(8)), 4_300, &copying, false));
    // A receiver that does not number them.
    let mut records = CnpRecords::default();
    assert!((0..20).all(|n| !records.is_recorded((1, Some(0)), n * 50_000, &copying, false)));
}
