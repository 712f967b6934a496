//! Tests of `src/sim/rng.rs`.

use super::*;

#[test]
fn reference_values() {
    // xoshiro256++ of the state 1, 2, 3, 4: first outputs of the reference code.
    let mut rng = Rng([1, 2, 3, 4]);
    assert_eq!([rng.next(), rng.next(), rng.next()], [41_943_041, 58_720_359, 3_588_806_011_781_223]);
}

#[test]
fn chances() {
    let mut rng = Rng::new(7, 1);
    let hits = (0..100_000).filter(|_| rng.chance(0.25)).count();
    assert!((24_000..26_000).contains(&hits), "{hits}");
    assert!(rng.chance(1.0) && !rng.chance(0.0));
    assert!((0..1000).all(|_| rng.below(10) < 10));
}
