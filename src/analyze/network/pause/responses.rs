//! How long does the paused end of a link need to stop: from the frame that asks for a pause to the last frame of the priority?
//!
//! It is what a receiver's headroom has to hold (IEEE 802.1Qbb). As with [violations](super::violations), frames are kept by their
//! addresses, and judged when the links are known.

use std::collections::BTreeMap;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::{tree::Span, violations::Hosts};
use crate::{
    analyze::{model::Address, track::distribution::exact_summary},
    heap::heap,
    report::{Reason, Summary},
};

/// Pairs of hosts that are told apart, as many as of violations, and what is kept of them in all: 1.5 MiB.
const MAX_PAIRS: usize = 1 << 12;
const MAX_KEPT: usize = 1 << 16;

/// The last frame in each pause: by the number of the pause's source, and by the frame's own source and destination.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(super) struct Responses {
    pairs: HashMap<(u8, Address, Address), Pair, RandomState>,
    /// Of pauses before the last one of each pair.
    kept: Vec<Last>,
    are_too_many: bool,
}

#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct Pair {
    number: u32,
    since: i64,
    last: i64,
}

/// The last frame of a pair in the pause since then.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct Last {
    pair: u32,
    since: i64,
    at: i64,
}

heap! { Responses { pairs, kept } Pair {} Last {} }

impl Responses {
    /// A frame in a pause of this source that began at `since`.
    #[cold]
    pub(super) fn add(&mut self, source: u8, (src, dst): (Address, Address), since: i64, now: i64) {
        let (number, key) = (self.pairs.len(), (source, src, dst));
        if number >= MAX_PAIRS && !self.pairs.contains_key(&key) {
            self.are_too_many = true;
            return;
        }
        let pair = self.pairs.entry(key).or_insert(Pair { number: number as u32, since, last: now });
        if pair.since != since {
            let Pair { number, since: before, last } = std::mem::replace(pair, Pair { since, ..*pair });
            match self.kept.len() < MAX_KEPT {
                true => self.kept.push(Last { pair: number, since: before, at: last }),
                false => self.are_too_many = true,
            }
        }
        pair.last = now;
    }

    /// From the beginning of each pause of this source, of `spans`, to the last frame that the paused end sent into it, where it was silent
    /// then for longer than that and than `allowance`. `None` where there is no such pause.
    pub(super) fn of(
        &self,
        source: u8,
        hosts: &Hosts,
        spans: &[Span],
        allowance: i64,
    ) -> Result<Option<Summary>, Reason> {
        if self.are_too_many {
            return Err(Reason::MemoryLimit);
        }
        let own = self.pairs.iter().filter(|&(&(by, src, dst), _)| by == source && hosts.are_of(src, dst));
        let mut last_in: BTreeMap<i64, i64> = BTreeMap::new();
        let mut note = |since: i64, at: i64| {
            let last = last_in.entry(since).or_insert(at);
            *last = at.max(*last);
        };
        let mut numbers: Vec<u32> = Vec::new();
        for (_, pair) in own {
            numbers.push(pair.number);
            note(pair.since, pair.last);
        }
        numbers.sort_unstable();
        let is_own = |last: &&Last| numbers.binary_search(&last.pair).is_ok();
        self.kept.iter().filter(is_own).for_each(|last| note(last.since, last.at));
        let response = |span: &Span| {
            let last = *last_in.get(&span.start)?;
            // Who sends until shortly before the end has not stopped.
            let (sent, silent) = (last.saturating_sub(span.start), span.end.saturating_sub(last));
            u64::try_from(sent).ok().filter(|_| silent > allowance.max(sent))
        };
        let all: Vec<u64> = spans.iter().filter_map(response).collect();
        Ok(exact_summary(&all))
    }
}
