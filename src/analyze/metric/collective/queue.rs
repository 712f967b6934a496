//! Packets that wait in their adapter for packets of other queue pairs: adapters take queue pairs in turn. Such a wait is no lateness.

use std::collections::VecDeque;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::analyze::packet::key::Wide;

/// Adapters whose packets are followed.
const MAX_ADAPTERS: usize = 4096;
/// Packets of an adapter that are kept: one turn of so many queue pairs.
const MOST: usize = 64;
/// A packet with so much payload takes its time on the link.
const LARGE: u32 = 1024;
/// Packets follow each other if their times are no further apart than so many times the shortest such time.
const PACES: i64 = 2;

/// The last packets of each adapter, and the adapters by their addresses.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(super) struct Queues {
    all: Vec<Queue>,
    places: HashMap<Wide, u32, RandomState>,
}

type Turn = (u32, i64, bool);

#[derive(Clone, Debug, Default, crate::stored::Stored)]
struct Queue {
    /// Queue pair, and time: of packets of one that follow each other, the last one. And whether there were several.
    recent: VecDeque<Turn>,
    /// The newest of them, behind these.
    last: Option<Turn>,
    /// When the last packet with much payload was there.
    large: Option<i64>,
    /// The shortest time from such a packet to the next such one: taps note when packets begin, or when they end, and then a short one comes at once
    /// behind a long one.
    pace: Option<i64>,
}

impl Queues {
    /// An adapter sends a packet. Returns since when it may have been ready: all packets in between followed each other, and were the next ones of
    /// queue pairs whose turn it was. `known`: the adapter's place, once it is known.
    pub(super) fn pass(
        &mut self,
        (adapter, known): (Wide, &mut Option<u32>),
        (way, time): (u32, i64),
        payload: u32,
    ) -> i64 {
        let place = known.or_else(|| self.place(adapter));
        *known = place;
        let queue = place.and_then(|at| self.all.get_mut(at as usize));
        queue.map_or(time, |queue| queue.pass((way, time), payload))
    }

    /// The same, where it does not matter how long the packet was ready.
    #[inline(always)]
    pub(super) fn note(
        &mut self,
        (adapter, known): (Wide, &mut Option<u32>),
        (way, time): (u32, i64),
        payload: u32,
    ) {
        let place = known.or_else(|| self.place(adapter));
        *known = place;
        if let Some(queue) = place.and_then(|at| self.all.get_mut(at as usize)) {
            queue.keep_pace(time, payload);
            queue.note((way, time));
        }
    }

    #[cold]
    #[inline(never)]
    fn place(&mut self, adapter: Wide) -> Option<u32> {
        if let Some(&at) = self.places.get(&adapter) {
            return Some(at);
        }
        let at = self.all.len() as u32;
        if self.all.len() >= MAX_ADAPTERS {
            return None;
        }
        self.all.push(Queue::default());
        self.places.insert(adapter, at);
        Some(at)
    }
}

impl Queue {
    fn pass(&mut self, (way, time): (u32, i64), payload: u32) -> i64 {
        self.keep_pace(time, payload);
        let most = self.pace.unwrap_or(0).saturating_mul(PACES);
        let mut since = time;
        let newest_first = || self.last.iter().chain(self.recent.iter().rev());
        for (at, &(other, sent, has_several)) in newest_first().enumerate() {
            let had_its_turn = other == way || newest_first().take(at).any(|&(later, ..)| later == other);
            if had_its_turn || since.saturating_sub(sent) > most {
                break;
            }
            since = sent;
            if has_several {
                break;
            }
        }
        self.note((way, time));
        since.min(time)
    }

    #[inline(always)]
    fn keep_pace(&mut self, time: i64, payload: u32) {
        if payload < LARGE {
            return;
        }
        if let Some(before) = self.large.replace(time)
            && time > before
        {
            let apart = time.saturating_sub(before);
            self.pace = Some(self.pace.map_or(apart, |pace| pace.min(apart)));
        }
    }

    #[inline(always)]
    fn note(&mut self, (way, time): (u32, i64)) {
        match &mut self.last {
            Some(last) if last.0 == way => (last.1, last.2) = (time, true),
            _ => self.take_turn((way, time, false)),
        }
    }

    #[inline(never)]
    fn take_turn(&mut self, turn: Turn) {
        if self.recent.len() + 1 == MOST {
            self.recent.pop_front();
        }
        self.recent.extend(self.last.replace(turn));
    }
}
