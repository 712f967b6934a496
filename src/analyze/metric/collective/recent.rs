//! The ways that were looked up last, found without a hash: packets of a few queue pairs alternate.

use crate::analyze::packet::key::Key;

/// Ways that are remembered.
const MOST: usize = 64;

/// Places of ways. What is found may be of another key, so it is compared.
#[derive(Clone, Debug)]
pub(super) struct Recent([u32; MOST]);

/// Both ends of a key in short, see [`Key::short`]; those of some keys are the same.
pub(super) type Short = (u64, u32);

impl Default for Recent {
    fn default() -> Recent {
        Recent([u32::MAX; MOST])
    }
}

impl Recent {
    #[inline(always)]
    pub(super) fn get(&self, short: Short) -> Option<u32> {
        self.0.get(place(short)).copied()
    }

    pub(super) fn set(&mut self, short: Short, at: u32) {
        if let Some(known) = self.0.get_mut(place(short)) {
            *known = at;
        }
    }
}

/// Of a key that has none, all are the same.
#[inline(always)]
pub(super) fn short(key: &Key) -> Short {
    key.short().unwrap_or_default()
}

#[inline(always)]
fn place((addresses, queue_pair): Short) -> usize {
    // Addresses and queue pairs of a few hosts count up.
    let [src, dst] = [addresses >> 32, addresses];
    (src.wrapping_mul(5).wrapping_add(dst.wrapping_mul(9)) as usize).wrapping_add(queue_pair as usize) % MOST
}
