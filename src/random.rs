//! Numbers that look random and are the same for the same seed, on every machine and in every version.
//!
//! SplitMix64: G. Steele, D. Lea and C. Flood, "Fast splittable pseudorandom number generators", 2014. Written out here,
//! since what is made from a seed must not change with the version of a library.

/// A sequence of numbers.
#[derive(Clone, Debug)]
pub(crate) struct SplitMix64(pub(crate) u64);

impl SplitMix64 {
    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// The next number, below `n`; 0 where `n` is 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// The finalizer of SplitMix64: maps each number to another one, so that neighbours become unlike.
pub(crate) fn mix(number: u64) -> u64 {
    let z = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
#[path = "../tests/unit/random.rs"]
mod tests;
