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

/// Packets of one queue pair that follow each other.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct Turn {
    way: u32,
    first: i64,
    last: i64,
    packets: u32,
    /// The last one is within a message: the queue pair had more to send.
    goes_on: bool,
}

#[derive(Clone, Debug, Default, crate::stored::Stored)]
struct Queue {
    recent: VecDeque<Turn>,
    /// The newest of them, behind these.
    last: Option<Turn>,
    /// The largest payload, and the last packet with much: its time and payload.
    largest: u32,
    large: Option<(i64, u32)>,
    /// The shortest time between two such packets, for its bytes: those of the first one, where taps note when packets begin, or of the second one, where they
    /// note when packets end.
    quickest: [(i64, u32); 2],
    /// What the largest takes at that speed. Packets of unlike sizes make it too short by those bytes that are not meant, so the longer one of both is it.
    pace: Option<i64>,
    /// Packets that a queue pair sends in its turn, where others have more to send: the number that was seen most, and how much more often than others.
    burst: (u32, u32),
}

impl Queues {
    /// An adapter sends a packet. Returns since when it may have been ready: all packets in between followed each other, and were the next ones of
    /// queue pairs whose turn it was. `known`: the adapter's place, once it is known.
    pub(super) fn pass(
        &mut self,
        (adapter, known): (Wide, &mut Option<u32>),
        (way, time): (u32, i64),
        (payload, goes_on): (u32, bool),
    ) -> i64 {
        let place = known.or_else(|| self.place(adapter));
        *known = place;
        let queue = place.and_then(|at| self.all.get_mut(at as usize));
        queue.map_or(time, |queue| queue.pass((way, time), (payload, goes_on)))
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
            queue.note((way, time), true);
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
    fn pass(&mut self, (way, time): (u32, i64), (payload, goes_on): (u32, bool)) -> i64 {
        self.keep_pace(time, payload);
        let pace = self.pace.unwrap_or(0);
        let most = pace.saturating_mul(PACES);
        let each = self.burst.0.max(1);
        let mut since = time;
        let newest_first = || self.last.iter().chain(self.recent.iter().rev());
        for (at, turn) in newest_first().enumerate() {
            let had_its_turn = turn.way == way || newest_first().take(at).any(|later| later.way == turn.way);
            if had_its_turn || since.saturating_sub(turn.last) > most {
                break;
            }
            // Of more packets than a turn has, the first ones were sent when no other had one.
            let whole = pace.saturating_mul(i64::from(each - 1));
            since = turn.first.max(turn.last.saturating_sub(whole));
            if turn.packets > each {
                break;
            }
        }
        self.note((way, time), goes_on);
        since.min(time)
    }

    #[inline(always)]
    fn keep_pace(&mut self, time: i64, payload: u32) {
        if payload < LARGE {
            return;
        }
        // Of an adapter that had nothing more to send, the time to the next packet says nothing.
        let had_more = self.last.is_some_and(|last| last.goes_on);
        if let Some((before, bytes)) = self.large.replace((time, payload))
            && had_more
            && time > before
        {
            let apart = time.saturating_sub(before);
            let is_quicker = |(known, of): (i64, u32), bytes: u32| {
                of == 0 || apart.saturating_mul(of.into()) < known.saturating_mul(bytes.into())
            };
            let [first, second] = self.quickest;
            if payload > self.largest || is_quicker(first, bytes) || is_quicker(second, payload) {
                self.largest = self.largest.max(bytes).max(payload);
                for (known, bytes) in self.quickest.iter_mut().zip([bytes, payload]) {
                    if is_quicker(*known, bytes) {
                        *known = (apart, bytes);
                    }
                }
                let whole =
                    |(time, of): (i64, u32)| time.saturating_mul(self.largest.into()) / i64::from(of.max(1));
                self.pace = self.quickest.into_iter().map(whole).max();
            }
        }
    }

    #[inline(always)]
    fn note(&mut self, (way, time): (u32, i64), goes_on: bool) {
        match &mut self.last {
            Some(last) if last.way == way => {
                (last.last, last.goes_on) = (time, goes_on);
                last.packets = last.packets.saturating_add(1);
            }
            _ => self.take_turn(Turn { way, first: time, last: time, packets: 1, goes_on }),
        }
    }

    #[inline(never)]
    fn take_turn(&mut self, turn: Turn) {
        if self.recent.len() + 1 == MOST {
            self.recent.pop_front();
        }
        let ended = self.last.replace(turn);
        if let (Some(ended), Some(before)) = (ended, self.recent.back()) {
            let (packets, more) = self.burst;
            let follows =
                turn.first.saturating_sub(ended.last) <= self.pace.unwrap_or(0).saturating_mul(PACES);
            let seen = match ended.goes_on {
                // Between others that had more to send, and with more to send itself, its turn is as long as turns are.
                true => before.goes_on.then_some(ended.packets),
                // A whole message that the next one follows at once: this would have been sent in between, if turns were shorter.
                false => (follows && ended.packets > 1).then(|| ended.packets.max(packets)),
            };
            self.burst = match seen {
                None => self.burst,
                Some(seen) if more == 0 => (seen, 1),
                Some(seen) if seen == packets => (packets, more.saturating_add(1)),
                Some(_) => (packets, more - 1),
            };
        }
        self.recent.extend(ended);
    }
}

#[cfg(test)]
#[path = "../../../../tests/unit/analyze_metric_collective_queue.rs"]
mod tests;
