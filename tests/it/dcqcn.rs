//! The model of a sender, against the equations of the paper.

use rdmawire::dcqcn::{HPCC, NVIDIA, PAPER, ReactionPoint, SETS};

const LINE: u64 = 100_000_000_000;

fn is_near(rate: u64, expected: f64) -> bool {
    (rate as f64 - expected).abs() <= expected * 1e-4
}

/// Zhu et al., equations 1 to 4: RT = RC, RC = RC (1 - alpha / 2), alpha = (1 - g) alpha + g with a CNP, (1 - g) alpha without.
#[test]
fn cuts_and_recoveries_of_the_paper() {
    let mut sender = ReactionPoint::new(&PAPER, LINE);
    assert_eq!(sender.rate(1_000_000), LINE);
    sender.cnp(1_000_000);
    assert!(is_near(sender.rate(1_000_000), 50e9));
    // Fast recovery: half of the way to the target every 55 us.
    for (after_us, expected) in [(54, 50e9), (56, 75e9), (111, 87.5e9), (166, 93.75e9), (221, 96.875e9)] {
        let rate = sender.rate(1_000_000 + after_us * 1_000);
        assert!(is_near(rate, expected), "{after_us}: {rate}");
    }
    // Alpha: one update with the CNP, (255/256) + 1/256 = 1; then three without.
    let alpha = (255.0f64 / 256.0).powi(3);
    sender.cnp(1_000_000 + 221_000);
    assert!(is_near(sender.rate(1_221_000), 96.875e9 * (1.0 - alpha / 2.0)));
}

/// After F increases by time, the target grows too; the byte counter counts beside the timer.
#[test]
fn additive_increase_follows_recovery() {
    let mut sender = ReactionPoint::new(&PAPER, LINE);
    (0..400).for_each(|n| sender.cnp(n * 1_000));
    assert_eq!(sender.rate(400_000), PAPER.least_bps);
    // Ten megabytes take far longer than a timer at such rates: only time counts. The target was lowered with the rate.
    let at = |n: u64| 399_000 + n * 55_000 + 1_000;
    assert_eq!([1, 4].map(|n| sender.rate(at(n))), [PAPER.least_bps; 2]);
    // Then 40 Mbit/s more for each timer, of which the rate makes half the way.
    let (mut rate, mut target) = (PAPER.least_bps as f64, PAPER.least_bps as f64);
    for n in 5..12 {
        target += 40e6;
        rate = (rate + target) / 2.0;
        assert!(is_near(sender.rate(at(n)), rate), "{n}");
    }
    // Without a clamp, cuts that follow each other leave the target: recovery goes back to it.
    let mut sender = ReactionPoint::new(&HPCC, LINE);
    (0..60).for_each(|n| sender.cnp(n * 1_000));
    assert!(sender.rate(60_000) < 1_000_000_000);
    assert!(sender.rate(60_000 + 5 * 1_500_000) > 90_000_000_000);
}

#[test]
fn decreases_keep_their_distance() {
    for (set, cuts) in [(&HPCC, 3), (&NVIDIA, 3)] {
        let mut sender = ReactionPoint::new(set, LINE);
        // Ten CNPs in 9 us: at 0, and then as the monitor period of 4 us allows.
        (0..10).for_each(|n| sender.cnp(n * 1_000));
        let rate = sender.rate(9_000) as f64;
        let least = LINE as f64 * 0.5f64.powi(cuts);
        assert!(rate >= least * 0.99 && rate <= least * 1.3, "{}: {rate}", set.name);
    }
}

#[test]
fn any_times_end() {
    for set in SETS {
        for gap in [1, 777, 50_000, 10_000_000, 5_000_000_000] {
            let mut sender = ReactionPoint::new(set, LINE);
            for n in 0..200 {
                sender.cnp(n * gap);
                let rate = sender.rate(n * gap + gap / 2);
                assert!((set.least_bps..=LINE).contains(&rate), "{} {gap}: {rate}", set.name);
            }
        }
        let mut alone = ReactionPoint::new(set, LINE);
        alone.cnp(5);
        assert_eq!(alone.rate(60_000_000_000), LINE, "{}", set.name);
    }
}
