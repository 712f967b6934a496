//! The ways that were looked up last, found without a hash: packets of a few queue pairs alternate.

use crate::analyze::packet::key::Key;

/// Ways that are remembered.
const MOST: usize = 64;

/// Places of ways. What is found may be of another key, so it is compared.
#[derive(Clone, Debug)]
pub(super) struct Recent([u32; MOST]);

impl Default for Recent {
    fn default() -> Recent {
        Recent([u32::MAX; MOST])
    }
}

impl Recent {
    #[inline(always)]
    pub(super) fn get(&self, key: &Key) -> Option<u32> {
        self.0.get(place(key)).copied()
    }

    pub(super) fn set(&mut self, key: &Key, at: u32) {
        if let Some(known) = self.0.get_mut(place(key)) {
            *known = at;
        }
    }
}

#[inline(always)]
fn place(key: &Key) -> usize {
    // Addresses and queue pairs of a few hosts count up.
    let [src, dst] = [key.src[1], key.dst[1]];
    (src.wrapping_mul(5).wrapping_add(dst.wrapping_mul(9)) as usize).wrapping_add(key.dest_qp() as usize)
        % MOST
}
