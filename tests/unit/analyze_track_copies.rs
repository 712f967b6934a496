//! Tests of `src/analyze/track/copies.rs`.

use super::*;

fn judge(packets: &[Behind]) -> Vec<Verdict> {
    let mut waiting = Repetitions::default();
    waiting.push(10, 11, 5_000, ());
    packets.iter().map(|&next| waiting.judge(next, 50)).collect()
}

#[test]
fn a_sender_goes_back_and_a_mirror_copies() {
    assert_eq!(judge(&[Behind::Again(11, 12, 5_010)]), [Verdict::Resent]);
    let mut waiting = Repetitions::default();
    for x in 10..12 {
        waiting.push(x, x + 1, 5_000, ());
        assert_eq!(waiting.judge(Behind::New, 50), Verdict::Wait);
    }
    assert_eq!(waiting.judge(Behind::Again(12, 13, 5_020), 50), Verdict::Copies);
    // Far apart, or not as late, they are not of one mirror.
    assert_eq!(waiting.judge(Behind::Again(30, 31, 5_020), 50), Verdict::Resent);
    assert_eq!(waiting.judge(Behind::Again(12, 13, 9_020), 50), Verdict::Resent);
    // A READ from before the last one, and longer.
    assert_eq!(waiting.judge(Behind::Again(9, 40, 5_020), 50), Verdict::Resent);
}

#[test]
fn a_capture_is_learned() {
    let copying = Copying::default();
    (0..2).for_each(|_| copying.learn(3_000, true));
    assert!(!copying.has(3_000));
    copying.learn(3_100, true);
    assert!(copying.has(3_050) && !copying.has(5_000) && !copying.has(1_000));
}
