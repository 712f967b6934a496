//! Tests of `src/analyze/table/cache.rs`.

use super::*;

#[test]
fn two_flows_that_share_places_are_both_found() {
    let key = |qp| Key::of_ipv4(0x0a00_0001, 0x0a00_0002, qp);
    let short = |qp| key(qp).short().expect("it is of IPv4");
    let place = |qp| FlowCache::place(short(qp)).0;
    let (mut same, mut neighbours) = (0, 0);
    let qps: Vec<u32> =
        (1..600u64).map(|n| (n.wrapping_mul(GOLDEN).rotate_left(17) & 0xff_ffff) as u32).collect();
    for (n, &a) in qps.iter().enumerate() {
        for &b in &qps[..n] {
            if place(a) ^ place(b) > 1 {
                continue;
            }
            *(if place(a) == place(b) { &mut same } else { &mut neighbours }) += 1;
            let mut recent = FlowCache::default();
            // The second time they are there.
            for (qp, at) in [(a, 1), (b, 2), (a, 1), (b, 2)] {
                if !recent.has(&key(qp), at) {
                    recent.put(&key(qp), at);
                }
            }
            let found = [(a, 1), (b, 2)].map(|(qp, at)| recent.find(short(qp), |found| found == at));
            assert_eq!(found, [Some(1), Some(2)], "{a} {b}");
        }
    }
    assert!(same > 5 && neighbours > 5, "{same} {neighbours}");
}

#[test]
fn few_strangers_are_asked() {
    // What hosts and queue pairs there are follows no rule.
    let key = |n: u32| {
        let mixed = (n as u64 + 1).wrapping_mul(GOLDEN) ^ (n as u64) << 40;
        let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        Key::of_ipv4(mixed as u32, (mixed >> 32) as u32, (mixed >> 20) as u32 & 0xff_ffff)
    };
    let short = |n| key(n).short().expect("it is of IPv4");
    let mut recent = FlowCache::default();
    (0..10_000).for_each(|n| recent.put(&key(n), n));
    assert!(recent.slots.iter().filter(|&&slot| slot != EMPTY).count() > SLOTS / 2);
    let asked = std::cell::Cell::new(0);
    for n in 10_000..60_000 {
        recent.find(short(n), |found| {
            asked.set(asked.get() + (found < 10_000) as u32);
            false
        });
    }
    // Of two slots for each, one of 256.
    assert!((100..800).contains(&asked.get()), "{}", asked.get());
    recent.put(&key(7), 1 << NUMBER);
    assert!(recent.find(short(7), |found| found >> NUMBER == 0).is_none_or(|found| found == 7));
}
