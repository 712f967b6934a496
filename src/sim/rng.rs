//! The random numbers of a scenario: xoshiro256++, seeded by SplitMix64.
//!
//! D. Blackman and S. Vigna, "Scrambled linear pseudorandom number generators", 2018. Written out here, since the
//! same seed has to give the same capture whatever the version of any library.

use crate::random::SplitMix64;

/// A stream of random numbers, determined by seed and name.
#[derive(Clone, Debug)]
pub(super) struct Rng([u64; 4]);

impl Rng {
    /// The stream `name` of a seed. Streams are independent, so one more fault does not change the others.
    pub(super) fn new(seed: u64, name: u64) -> Rng {
        let mut words = SplitMix64(seed ^ name.wrapping_mul(0xd1b5_4a32_d192_ed03));
        Rng(std::array::from_fn(|_| words.next()))
    }

    pub(super) fn next(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number below `n`; 0 if `n` is 0.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        ((self.next() as u128 * n as u128) >> 64) as u64
    }

    /// True with this probability. It takes no number from the stream if the probability is 0 or 1.
    pub(super) fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0
            && (probability >= 1.0 || ((self.next() >> 11) as f64) < probability * (1u64 << 53) as f64)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/sim_rng.rs"]
mod tests;
