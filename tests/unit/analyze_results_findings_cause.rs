//! Tests of `src/analyze/results/findings/cause.rs`.

use super::*;

#[test]
fn chances_are_those_of_a_draw() {
    // 7 of 8 inside, of 7 affected among 16: C(8,7) of C(16,7).
    let inside = Share { affected: 7, all: 8 };
    let chance = ln_chance(inside, Share { affected: 7, all: 16 }).exp();
    assert!((chance - 8.0 / 11_440.0).abs() < 1e-6, "{chance}");
    // What must be so is sure.
    let all = Share { affected: 5, all: 5 };
    assert!(ln_chance(all, all).abs() < 1e-3);
    assert!((ln_factorial(10) - 3_628_800f64.ln()).abs() < 1e-6);
    // 50,000 flows neither overflow nor take long.
    let half = Share { affected: 25_000, all: 25_000 };
    assert!(ln_chance(half, Share { affected: 25_000, all: 50_000 }) < -30_000.0);
}
