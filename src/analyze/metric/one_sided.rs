//! Where in memory WRITEs and READs go: that tells those who move data from those who write one buffer again and again, as benchmarks do.
//!
//! Addresses are in few packets, and most packets are counted in runs, which do not have them: of a long capture, only some are looked at.

use std::hash::BuildHasher;

use foldhash::fast::{FixedState, RandomState};
use hashbrown::HashMap;

use super::Metric;
use crate::{
    analyze::packet::{Facts, key::Key},
    opcode::Operation,
};

/// The first messages of a capture, each of which is looked at; of later ones, one of so many.
const FIRST: u64 = 1 << 12;
const EVERY: u32 = 61;
/// Flows that are followed.
const MOST_FLOWS: usize = 1 << 12;
/// Messages within so many bytes go to the same buffer.
const NEAR: u64 = 64 << 10;
/// Bytes of a message that may be a signal.
const SMALL: u32 = 64;
/// Messages of a flow that must be looked at.
const ENOUGH: u32 = 16;
/// Who moves data sends one of so many messages to another buffer than the first, at least.
const ELSEWHERE: u32 = 8;

/// The metric.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct OneSided {
    /// By the hashes of flows' keys, which are long.
    flows: HashMap<u64, Noted, RandomState>,
    pub(crate) sampled: Sampled,
}

/// Which messages of a capture are looked at.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct Sampled {
    seen: u64,
    /// Messages that are passed over.
    skip: u32,
    last_frame: u64,
}

impl Sampled {
    /// Whether the next message is to be noted.
    #[inline(always)]
    pub(crate) fn is_next(&mut self) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        true
    }

    /// The message of a frame is noted; not where it was already.
    pub(crate) fn takes(&mut self, frame: u64) -> bool {
        if std::mem::replace(&mut self.last_frame, frame) == frame {
            return false;
        }
        self.seen += 1;
        if self.seen >= FIRST {
            self.skip = EVERY - 1;
        }
        true
    }
}

/// What was noted of a flow's messages.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(crate) struct Noted {
    first: u64,
    messages: u32,
    elsewhere: u32,
    small: u32,
}

impl OneSided {
    /// A message begins at this address.
    pub(crate) fn note(&mut self, packet: &Facts, va: u64, frame: u64) {
        if !self.sampled.takes(frame) {
            return;
        }
        let Some(&key) = packet.key() else { return };
        let (hash, known) = (hash(&key), self.flows.len());
        let noted = match self.flows.get_mut(&hash) {
            Some(noted) => noted,
            None if known < MOST_FLOWS => {
                self.flows.entry(hash).or_insert(Noted { first: va, ..Noted::default() })
            }
            None => return,
        };
        noted.messages = noted.messages.saturating_add(1);
        noted.elsewhere = noted.elsewhere.saturating_add(u32::from(va.abs_diff(noted.first) >= NEAR));
        let is_write = packet.opcode().operation() == Some(Operation::Write);
        let is_small = is_write && packet.dma_len().is_some_and(|bytes| bytes <= SMALL);
        noted.small = noted.small.saturating_add(u32::from(is_small));
    }

    /// Whether there is a flow whose messages go to more than one buffer.
    pub(crate) fn has_moving(&self) -> bool {
        self.flows.values().any(Noted::is_moving)
    }

    /// What was noted of a flow, if its messages go to more than one buffer.
    pub(crate) fn moving(&self, key: &Key) -> Option<&Noted> {
        self.flows.get(&hash(key)).filter(|noted| noted.is_moving())
    }

    /// Whether each message was noted.
    pub(crate) fn has_all(&self) -> bool {
        self.sampled.seen < FIRST
    }
}

impl Noted {
    /// WRITEs of at most 64 bytes.
    pub(crate) fn small(&self) -> u64 {
        self.small.into()
    }

    fn is_moving(&self) -> bool {
        self.messages >= ENOUGH && self.elsewhere.saturating_mul(ELSEWHERE) >= self.messages
    }
}

/// A flow's key, which is long, as a number.
pub(super) fn hash(key: &Key) -> u64 {
    FixedState::default().hash_one(key)
}

impl Metric for OneSided {
    fn heap_bytes(&self) -> usize {
        self.flows.capacity() * (size_of::<(u64, Noted)>() + 1)
    }
}
