//! Datagrams in several segments, put together (IBTA vol. 1, 13.6): bounded in bytes and in number.

use std::collections::HashMap;

use crate::{
    dissect::Address,
    wire::{Mad, MgmtClass, Rmpp, RmppType},
};

/// Bytes of all transfers that are on their way.
const MOST_BYTES: usize = 64 << 20;
/// Transfers that are on their way.
const MOST: usize = 1 << 12;

/// What identifies a transfer: sender, receiver, class, attribute, transaction.
pub(super) type Key = (Address, Address, MgmtClass, u16, u64);

/// A transfer that is on its way.
#[derive(Debug, Default)]
pub(super) struct Transfer {
    next: u32,
    bytes: Vec<u8>,
    last_ns: i64,
}

impl Transfer {
    pub(super) fn key(from: Address, to: Address, mad: &Mad) -> Key {
        (from, to, mad.mgmt_class(), mad.attribute_id().0, mad.transaction_id().0)
    }
}

/// Transfers that are on their way.
#[derive(Debug, Default)]
pub(super) struct Segments {
    open: HashMap<Key, Transfer>,
    held: usize,
    /// Transfers that are complete.
    pub(super) whole: u64,
    /// Transfers of which segments are missing, or that were too large.
    pub(super) broken: u64,
    /// Transfers that one side has ended.
    pub(super) aborted: u64,
}

impl Segments {
    /// Transfers that have not ended.
    pub(super) fn unfinished(&self) -> usize {
        self.open.len()
    }

    /// A segment with `data` behind the class's headers, which are `before` bytes. Returns the whole with the last segment.
    pub(super) fn add(
        &mut self,
        key: Key,
        rmpp: &Rmpp,
        data: &[u8],
        before: usize,
        time: i64,
    ) -> Option<Vec<u8>> {
        match rmpp.rmpp_type() {
            RmppType::DATA if rmpp.active() => {}
            RmppType::STOP | RmppType::ABORT => {
                let back = (key.1, key.0, key.2, key.3, key.4);
                let ended = self.end(&key).is_some() | self.end(&back).is_some();
                self.aborted += u64::from(ended);
                return None;
            }
            _ => return None,
        }
        let number = rmpp.segment_number();
        if number == 1 {
            // One that begins again has been lost, or was sent twice.
            let old = self.end(&key);
            self.broken += u64::from(old.is_some_and(|old| old.next > 2));
            self.make_room();
            self.open.insert(key, Transfer { next: 1, ..Transfer::default() });
        }
        let transfer = self.open.get_mut(&key)?;
        if number < transfer.next {
            return None;
        }
        let used = match rmpp.last() {
            true => (rmpp.payload_length() as usize).checked_sub(before).filter(|&used| used <= data.len()),
            false => None,
        };
        let used = match (rmpp.last(), rmpp.first()) {
            // A single segment has the length of all in it, which is its own.
            (true, _) => used.unwrap_or(data.len()),
            _ => data.len(),
        };
        if number > transfer.next || self.held + used > MOST_BYTES {
            self.end(&key);
            self.broken += 1;
            return None;
        }
        transfer.bytes.extend_from_slice(data.get(..used)?);
        (transfer.next, transfer.last_ns) = (number.saturating_add(1), time);
        self.held += used;
        if !rmpp.last() {
            return None;
        }
        self.whole += 1;
        self.end(&key).map(|transfer| transfer.bytes)
    }

    fn end(&mut self, key: &Key) -> Option<Transfer> {
        let transfer = self.open.remove(key)?;
        self.held -= transfer.bytes.len();
        Some(transfer)
    }

    fn make_room(&mut self) {
        if self.open.len() < MOST {
            return;
        }
        // Those silent longest: half of them at once, so that each costs little.
        let mut last: Vec<i64> = self.open.values().map(|transfer| transfer.last_ns).collect();
        let (_, &mut middle, _) = last.select_nth_unstable(MOST / 2);
        let old: Vec<Key> = self
            .open
            .iter()
            .filter(|(_, transfer)| transfer.last_ns <= middle)
            .map(|(key, _)| *key)
            .collect();
        self.broken += old.len() as u64;
        for key in old {
            self.end(&key);
        }
    }
}
