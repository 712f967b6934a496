//! Datagrams in several segments, put together (IBTA vol. 1, 13.6): bounded in bytes and in number.

use std::collections::{BTreeMap, HashMap};

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
#[derive(Debug)]
struct Transfer {
    /// The first segment that has not come.
    next: u32,
    bytes: Vec<u8>,
    /// The length of the first segment's data.
    first: usize,
    /// Segments behind a missing one, which receivers keep: its repetition comes after them.
    ahead: BTreeMap<u32, Segment>,
    last_ns: i64,
}

/// The data of one segment.
#[derive(Debug)]
struct Segment {
    data: Vec<u8>,
    is_last: bool,
}

impl Transfer {
    fn held(&self) -> usize {
        self.bytes.len() + self.ahead.values().map(|segment| segment.data.len()).sum::<usize>()
    }

    /// Appends what is in order now. Returns whether the last segment is among it.
    fn join(&mut self) -> bool {
        while let Some(segment) = self.ahead.remove(&self.next) {
            self.bytes.extend_from_slice(&segment.data);
            self.next = self.next.saturating_add(1);
            if segment.is_last {
                return true;
            }
        }
        false
    }
}

/// What identifies the transfer that a datagram is a segment of.
pub(super) fn key(from: Address, to: Address, mad: &Mad) -> Key {
    (from, to, mad.mgmt_class(), mad.attribute_id().0, mad.transaction_id().0)
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
        let used = match rmpp.last() {
            // A single segment has the length of all in it, which is its own.
            true => (rmpp.payload_length() as usize).checked_sub(before).filter(|&used| used <= data.len()),
            false => None,
        };
        let data = &data[..used.unwrap_or(data.len())];
        if number == 1 {
            // With the same bytes it is a repetition. With others another transfer begins.
            match self.open.get(&key) {
                Some(old) if old.bytes.get(..old.first) == Some(data) => return None,
                _ => {}
            }
            let old = self.end(&key);
            self.broken += u64::from(old.is_some());
            self.make_room();
            let (first, ahead) = (data.len(), BTreeMap::new());
            self.open.insert(key, Transfer { next: 1, bytes: Vec::new(), first, ahead, last_ns: time });
        }
        let transfer = self.open.get_mut(&key)?;
        transfer.last_ns = time;
        if number < transfer.next || transfer.ahead.contains_key(&number) {
            return None;
        }
        if self.held + data.len() > MOST_BYTES {
            self.end(&key);
            self.broken += 1;
            return None;
        }
        self.held += data.len();
        transfer.ahead.insert(number, Segment { data: data.to_vec(), is_last: rmpp.last() });
        if !transfer.join() {
            return None;
        }
        self.whole += 1;
        self.end(&key).map(|transfer| transfer.bytes)
    }

    fn end(&mut self, key: &Key) -> Option<Transfer> {
        let transfer = self.open.remove(key)?;
        self.held -= transfer.held();
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
