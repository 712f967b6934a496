//! Tests of `src/capture/erf.rs`.

use super::*;

#[test]
fn every_nanosecond_survives_the_fixed_point() {
    for ns in (0..1_000_000_000).step_by(997).chain([1, 999_999_999]) {
        let time = Time(1_700_000_000_000_000_000 + ns);
        assert_eq!(from_fixed(to_fixed(time)), time);
    }
}
