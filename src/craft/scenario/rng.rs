//! The random numbers of a scenario: xoshiro256++, seeded by splitmix64.
//!
//! D. Blackman and S. Vigna, "Scrambled linear pseudorandom number generators", 2018. Written out here, since the
//! same seed has to give the same capture whatever the version of any library.

/// A stream of random numbers: the same seed and name give the same stream.
#[derive(Clone, Debug)]
pub(super) struct Rng([u64; 4]);

impl Rng {
    /// The stream `name` of a seed: streams are independent, so that one more fault leaves the others as they were.
    pub(super) fn new(seed: u64, name: u64) -> Rng {
        let mut state = seed ^ name.wrapping_mul(0xd1b5_4a32_d192_ed03);
        Rng(std::array::from_fn(|_| splitmix(&mut state)))
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

    /// A number below `n`; 0 where `n` is.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        ((self.next() as u128 * n as u128) >> 64) as u64
    }

    /// True with this probability. Draws nothing where it never or always is.
    pub(super) fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0
            && (probability >= 1.0 || ((self.next() >> 11) as f64) < probability * (1u64 << 53) as f64)
    }
}

/// The next number of a splitmix64 sequence; by itself a good mixer of `state`.
pub(super) fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_values() {
        // splitmix64 of seed 0, first output (Vigna's reference code).
        assert_eq!(splitmix(&mut 0), 0xe220_a839_7b1d_cdaf);
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
}
