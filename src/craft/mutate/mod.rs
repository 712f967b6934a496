//! Frames that are wrong on purpose: structure-aware mutants of RoCE, InfiniBand, PFC and management packets, for whoever
//! tests a parser or a device.
//!
//! A mutant knows what was done to it and what a correct parser must make of it ([`Verdict`]). Its ICRC is right unless the
//! ICRC is what is wrong, so that a device does not drop all of them at the first check. All is drawn from a seed.
//!
//! ```
//! use rdmawire::craft::mutate::{Base, Mutants, Verdict};
//! for mutant in Mutants::new(Base::all(), 7).take(100) {
//!     println!("{}: {} bytes, must {}", mutant.name(), mutant.frame.len(), mutant.verdict.must());
//! }
//! ```
//!
//! With the feature `arbitrary` a fuzz target has packets from it: [`Packet`](super::Packet) (valid but odd) and [`Mutant`]
//! (anything) implement `arbitrary::Arbitrary`.

#[cfg(feature = "arbitrary")]
mod arbitrary;
mod base;
mod list;
mod mutation;
mod verdict;

use bytes::Bytes;

pub use base::Base;
pub use list::mutations;
pub use mutation::{Crc, Mutation, Value};
pub use verdict::Verdict;

use super::message::split_mix;
use crate::dissect::Link;

/// A frame, what was done to it, and what must come of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// The frame it was made from.
    pub base: String,
    /// What was done, in the order in which it was done: "bth.opcode=max".
    pub mutation: String,
    /// What its first byte belongs to.
    pub link: Link,
    /// Its bytes.
    pub frame: Bytes,
    /// Bytes it had on the wire: more than [`Mutant::frame`] where it was cut by the capture.
    pub wire_len: u32,
    /// What a correct parser must make of it.
    pub verdict: Verdict,
}

impl Mutant {
    /// Base and mutation, fit for a file's name.
    pub fn name(&self) -> String {
        let mut name = format!("{}-{}", self.base, self.mutation);
        name.retain(|c| c.is_ascii());
        let mut name: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '=' | '+' | '-') { c } else { '_' })
            .collect();
        name.truncate(LONGEST_NAME);
        name
    }
}

/// Bytes of a name: with a number and an extension every file system takes it.
const LONGEST_NAME: usize = 200;

/// Mutants without end, the same for the same bases and seed. First every [mutation](mutations) of every base once, in an order
/// drawn from the seed, so that any number of them is spread over all; then several at a time.
#[derive(Clone, Debug)]
pub struct Mutants {
    bases: Vec<Base>,
    /// Base and mutation.
    order: Vec<(u32, Mutation)>,
    next: usize,
    random: Random,
}

impl Mutants {
    /// The mutants of these bases; none without a base.
    pub fn new(bases: Vec<Base>, seed: u64) -> Mutants {
        let mut random = Random::new(seed);
        let mut order = Vec::new();
        for (n, base) in bases.iter().enumerate() {
            order.extend(mutations(base.packet()).into_iter().map(|mutation| (n as u32, mutation)));
        }
        for n in (1..order.len()).rev() {
            order.swap(n, random.below(n + 1));
        }
        Mutants { bases, order, next: 0, random }
    }

    /// How many there are with one mutation each.
    pub fn single(&self) -> usize {
        self.order.len()
    }
}

impl Iterator for Mutants {
    type Item = Mutant;

    fn next(&mut self) -> Option<Mutant> {
        if let Some((base, mutation)) = self.order.get(self.next) {
            self.next += 1;
            return self.bases.get(*base as usize).map(|base| base.mutant(mutation));
        }
        let (base, _) = self.order.get(self.random.below(self.order.len()))?;
        let base = self.bases.get(*base as usize)?;
        let stacked = 2 + self.random.below(3);
        Some(base.stacked(stacked, &mut |n| self.random.below(n)))
    }
}

/// Numbers that are the same every time (SplitMix64).
#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// A number below `n`; 0 where that is 0.
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (split_mix(self.0) % (n.max(1) as u64)) as usize
    }
}
