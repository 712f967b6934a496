//! Structure-aware mutants of RoCE, InfiniBand, PFC and management packets, to test parsers and devices.
//!
//! A mutant knows its mutation and how a correct parser must handle it ([`Handling`]). Its ICRC is right unless the mutation
//! is about the ICRC; otherwise a device would drop all mutants at that check. The seed determines all of them.
//!
//! ```
//! use rdmawire::craft::mutate::{Base, Mutants, Handling};
//! for mutant in Mutants::new(Base::all(), 7).take(100) {
//!     println!("{}: {} bytes, must {}", mutant.name(), mutant.frame.len(), mutant.verdict.must());
//! }
//! ```
//!
//! With the feature `arbitrary`, [`Packet`](super::Packet) (valid but unusual) and [`Mutant`] (anything) implement
//! `arbitrary::Arbitrary` for fuzz targets.

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
pub use verdict::Handling;

use crate::{dissect::Link, random::SplitMix64};

/// A mutated frame, its mutation, and how it must be handled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// The name of the frame it was made from.
    pub base: String,
    /// Its mutations in order: "bth.opcode=max".
    pub mutation: String,
    /// Its link type.
    pub link: Link,
    /// Its bytes.
    pub frame: Bytes,
    /// Bytes on the wire: more than [`Mutant::frame`] has if the capture cut it.
    pub wire_len: u32,
    /// How a correct parser must handle it.
    pub verdict: Handling,
}

impl Mutant {
    /// Base and mutation, as a file name.
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

/// The longest name. With a number and an extension it is short enough for every file system.
const LONGEST_NAME: usize = 200;

/// An endless sequence of mutants, determined by bases and seed. First comes every [mutation](mutations) of every base, in
/// random order; then mutants with several mutations each.
#[derive(Clone, Debug)]
pub struct Mutants {
    bases: Vec<Base>,
    /// Base and mutation.
    order: Vec<(u32, Mutation)>,
    next: usize,
    random: SplitMix64,
}

impl Mutants {
    /// The mutants of these bases. Without a base there are none.
    pub fn new(bases: Vec<Base>, seed: u64) -> Mutants {
        let mut random = SplitMix64(seed);
        let mut order = Vec::new();
        for (n, base) in bases.iter().enumerate() {
            order.extend(mutations(base.packet()).into_iter().map(|mutation| (n as u32, mutation)));
        }
        for n in (1..order.len()).rev() {
            order.swap(n, random.below(n + 1));
        }
        Mutants { bases, order, next: 0, random }
    }

    /// How many mutants with one mutation come first.
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
