//! Tests of `src/random.rs`.

use super::*;

#[test]
fn reference_values() {
    // Outputs of Vigna's reference code for the seed 0.
    let mut random = SplitMix64(0);
    assert_eq!([random.next(), random.next()], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
    assert_eq!(random.below(0), 0);
}
