//! The cache in front of the hash table of flows.

use crate::analyze::packet::key::Key;

/// A cache of flow numbers by the [short](Key::short) form of their keys, in front of the hash table: two-way associative, 16 KiB.
/// A slot has the flow's number in its low bits and eight bits of the hash above. The flow's own key confirms a hit, and one
/// of 256 misses has to look at a flow in vain.
#[derive(Debug, crate::stored::Stored)]
pub(super) struct FlowCache {
    slots: Box<[u32; SLOTS]>,
}

/// 2^64 over the golden ratio: multiplied by it, numbers spread (Knuth, The Art of Computer Programming, 6.4).
pub(super) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// The value of an empty slot: no flow has it.
const EMPTY: u32 = u32::MAX;
/// 16 KiB.
const SLOTS: usize = 1 << 12;
/// Bits of a flow's number. Flows with larger numbers are not cached.
const NUMBER: u32 = 24;

impl Default for FlowCache {
    fn default() -> FlowCache {
        FlowCache { slots: Box::new([EMPTY; SLOTS]) }
    }
}

impl FlowCache {
    /// A flow's slot, and the hash bits above its number.
    #[inline(always)]
    pub(super) fn place((addresses, qp): (u64, u32)) -> (usize, u32) {
        let product = (addresses ^ (qp as u64) << 20).wrapping_mul(GOLDEN);
        let place = product >> (u64::BITS - SLOTS.trailing_zeros());
        (place as usize, (product >> 8) as u32 & !0 << NUMBER)
    }

    #[inline(always)]
    pub(super) fn find(&self, short: (u64, u32), is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let (place, above) = FlowCache::place(short);
        // The neighbouring slot is in the same cache line. The slot of another key becomes a number that no flow has.
        let of = |place: usize| Some(self.slots[place] ^ above).filter(|&at| is_it(at));
        of(place).or_else(|| of(place ^ 1))
    }

    pub(super) fn has(&self, key: &Key, at: u32) -> bool {
        key.short().is_some_and(|short| self.find(short, |found| found == at).is_some())
    }

    /// Puts a flow into its slot. The flow that was there moves to the neighbouring slot.
    #[inline]
    pub(super) fn put(&mut self, key: &Key, at: u32) {
        let Some((place, above)) = key.short().map(FlowCache::place) else { return };
        if at >> NUMBER == 0
            && let Ok([here, there]) = self.slots.get_disjoint_mut([place, place ^ 1])
        {
            let before = std::mem::replace(here, above | at);
            if before != EMPTY {
                *there = before;
            }
        }
    }

    /// Removes a flow that no longer exists.
    pub(super) fn forget(&mut self, key: &Key, at: u32) {
        let Some((place, above)) = key.short().map(FlowCache::place) else { return };
        for place in [place, place ^ 1] {
            if self.slots[place] == above | at {
                self.slots[place] = EMPTY;
            }
        }
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/analyze_table_cache.rs"]
mod tests;
