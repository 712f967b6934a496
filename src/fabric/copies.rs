//! Datagrams that were recorded twice: by a mirror, or at several taps.

use std::{
    collections::{HashMap, VecDeque},
    hash::{BuildHasher, RandomState},
};

use crate::dissect::Address;

/// The last datagrams, by a hash of all that they say: where each was recorded first, and when last.
#[derive(Debug, Default)]
pub(super) struct Copies {
    hasher: RandomState,
    seen: HashMap<u64, (u16, i64)>,
    order: VecDeque<u64>,
}

impl Copies {
    /// Whether a datagram is a second record of one. Who sends one again waits longer than any mirror; and two hosts that ask for the same, as
    /// subnet managers do, seldom ask at once: clocks of taps differ by less.
    pub(super) fn has(&mut self, datagram: ([Address; 2], &[u8]), place: u16, time: i64) -> bool {
        const MIRROR_NS: u64 = 1_000_000;
        const CLOCKS_NS: u64 = 1_000_000_000;
        const KEPT: usize = 1 << 14;
        let hash = self.hasher.hash_one(datagram);
        if let Some((first, last)) = self.seen.get_mut(&hash) {
            let apart = time.abs_diff(*last);
            let is_copy = apart < if *first == place { MIRROR_NS } else { CLOCKS_NS };
            if !is_copy {
                *first = place;
            }
            *last = time;
            return is_copy;
        }
        if self.order.len() == KEPT
            && let Some(old) = self.order.pop_front()
        {
            self.seen.remove(&old);
        }
        self.seen.insert(hash, (place, time));
        self.order.push_back(hash);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_places_and_moments_have_copies() {
        let (mut copies, at) = (Copies::default(), |byte: u8| [byte; 256]);
        let ends = [Address::Lid(1), Address::Lid(2)];
        let mut has = |byte, place, time| copies.has((ends, &at(byte)), place, time);
        assert!(!has(1, 0, 0) && has(1, 1, 5_000_000) && !has(2, 1, 0));
        // Sent again.
        assert!(!has(2, 1, 100_000_000) && has(2, 1, 100_002_000));
        // Another host asks for the same, and its mirror has that too.
        assert!(!has(2, 0, 9_000_000_000) && has(2, 1, 9_000_002_000));
    }
}
