//! Whether a capture has both directions: of one alone, no command can be followed.

use std::{collections::HashSet, hash::RandomState};

use crate::dissect::Address;

/// Which addresses sent to which.
#[derive(Debug, Default)]
pub(crate) struct Directions {
    seen: HashSet<[Address; 2], RandomState>,
    /// Two addresses sent to each other, or there are too many to tell.
    is_settled: bool,
    /// Taps that have packets of the set-up from one address to another.
    seen_at: HashSet<(Address, Address, u16), RandomState>,
}

impl Directions {
    /// Pairs of addresses beyond this number are not told apart.
    const MOST: usize = 1 << 12;

    /// A packet.
    #[inline]
    pub(crate) fn see(&mut self, src: Address, dst: Address) {
        if !self.is_settled && !self.seen.contains(&[src, dst]) {
            self.add(src, dst);
        }
    }

    #[cold]
    fn add(&mut self, src: Address, dst: Address) {
        self.is_settled = self.seen.len() >= Self::MOST || self.seen.contains(&[dst, src]);
        self.seen.insert([src, dst]);
    }

    /// A packet of the set-up of a connection, and its tap.
    pub(crate) fn see_at(&mut self, src: Address, dst: Address, tap: u16) {
        if self.seen_at.len() < Self::MOST {
            self.seen_at.insert((src, dst, tap));
        }
    }

    /// Whether a tap has some from one address to another.
    pub(crate) fn has_seen_at(&self, src: Address, dst: Address, tap: u16) -> bool {
        self.seen_at.contains(&(src, dst, tap))
    }

    /// Whether there are packets, and no two addresses sent to each other.
    pub(crate) fn are_one_way(&self) -> bool {
        !self.is_settled && !self.seen.is_empty()
    }
}
