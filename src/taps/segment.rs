//! Two taps: which record of the one is the same transmission as which record of the other.
//!
//! The last packets of each tap stay in a window, in the order in which they came. A packet leaves it when the other capture
//! has been read far beyond it, by its time and by a later packet that was matched: then it has been matched, or the other tap did not
//! see it.

use std::collections::{HashMap, VecDeque};

use super::{
    packet::TapPacket,
    tally::{Odd, Tally, is_far},
};
use crate::report::{Class, Fate};

/// How long packets wait, and how many.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) window_ns: i64,
    pub(super) packets: usize,
}

/// A packet in a window.
#[derive(Clone, Copy, Debug)]
struct Entry {
    seen: TapPacket,
    flow: u32,
    /// The place of its other record.
    mate: Option<u64>,
    /// The record that is the same one is damaged, here or there.
    is_damaged: bool,
    /// The two records were counted: they stay together.
    is_counted: bool,
    /// An earlier packet of this tap has the same key, and was matched or is such a copy itself.
    is_copy: bool,
    /// The place of the next packet with the same key.
    next: Option<u64>,
}

/// Packets with the same key, by their places.
#[derive(Clone, Copy, Debug)]
struct Chain {
    first: u64,
    last: u64,
    /// Where searches begin: but for a few, all packets before it are matched.
    from: u64,
}

/// The window of one tap.
#[derive(Debug, Default)]
struct TapSide {
    ring: VecDeque<Entry>,
    /// The place of the first packet in the ring. Places count up, and never change.
    base: u64,
    /// By key.
    chains: HashMap<u64, Chain, foldhash::fast::RandomState>,
    first_time: Option<i64>,
    /// The time of the last frame that was read, of whatever kind.
    now: i64,
    is_over: bool,
    /// One past the place of the last packet that was matched: the other capture has been read beyond those before it, whatever its clock says.
    matched: u64,
    /// Packets that left the window without the other tap's record.
    alone: VecDeque<Entry>,
    /// How many of them are damaged.
    alone_damaged: usize,
}

impl TapSide {
    fn get(&mut self, place: u64) -> Option<&mut Entry> {
        self.ring.get_mut(usize::try_from(place.checked_sub(self.base)?).ok()?)
    }

    fn put(&mut self, entry: Entry) -> u64 {
        let place = self.base + self.ring.len() as u64;
        let one = Chain { first: place, last: place, from: place };
        let chain = self.chains.entry(entry.seen.key).or_insert(one);
        let before = std::mem::replace(&mut chain.last, place);
        self.ring.push_back(entry);
        if before != place
            && let Some(before) = self.get(before)
        {
            before.next = Some(place);
        }
        place
    }

    /// A packet's other record is that of another one.
    fn part(&mut self, place: u64) {
        let Some(entry) = self.get(place) else { return };
        (entry.mate, entry.is_damaged) = (None, false);
        let key = entry.seen.key;
        if let Some(chain) = self.chains.get_mut(&key) {
            chain.from = chain.from.min(place);
        }
    }

    fn take(&mut self) -> Option<(u64, Entry)> {
        let entry = self.ring.pop_front()?;
        let place = self.base;
        self.base += 1;
        let Some(next) = entry.next else {
            self.chains.remove(&entry.seen.key);
            return Some((place, entry));
        };
        if let Some(chain) = self.chains.get_mut(&entry.seen.key) {
            chain.first = next;
            chain.from = chain.from.max(next);
        }
        let is_matched = entry.mate.is_some() || entry.is_copy;
        if let Some(next) = self.get(next) {
            // In another virtual network, it is another host's.
            next.is_copy |= is_matched && next.seen.vni == entry.seen.vni;
        }
        Some((place, entry))
    }
}

/// The stretch between two taps.
#[derive(Debug)]
pub(super) struct SegmentMatch {
    bounds: Limits,
    sides: [TapSide; 2],
    pub(super) tally: Tally,
    /// How much later the second tap saw the last packets, once one was matched.
    lag: Option<i64>,
    /// Matches in a row that were far from it.
    strange: u32,
    pub(super) decided_early: u64,
    pub(super) untracked: [u64; 2],
}

impl SegmentMatch {
    /// Records with the same key that are looked at, from the first that may be unmatched.
    const LONGEST_SEARCH: usize = 64;
    /// Packets of each tap that wait for a damaged copy.
    const MOST_ALONE: usize = 4096;

    pub(super) fn new(bounds: Limits) -> SegmentMatch {
        SegmentMatch {
            bounds,
            sides: Default::default(),
            tally: Tally::default(),
            lag: None,
            strange: 0,
            decided_early: 0,
            untracked: [0; 2],
        }
    }

    /// Clock offset, tap 2 minus tap 1, including transit. Without a match: both
    /// captures began at the same time, or, if that leads nowhere, both clocks are right.
    pub(super) fn lag(&self) -> i64 {
        let [a, b] = &self.sides;
        let is_full = |side: &TapSide| side.ring.len() >= self.bounds.packets;
        match (self.lag, a.first_time, b.first_time) {
            (Some(lag), ..) => lag,
            (None, Some(a_began), Some(b_began)) if !is_full(a) && !is_full(b) => {
                b_began.saturating_sub(a_began)
            }
            _ => 0,
        }
    }

    /// A frame of a tap was read.
    pub(super) fn pass(&mut self, side: usize, time: i64) {
        self.sides[side].now = time;
        self.sides[side].first_time.get_or_insert(time);
    }

    /// A packet of a tap.
    pub(super) fn push(&mut self, side: usize, seen: TapPacket) {
        let Some(flow) = self.tally.flow(side, &seen) else {
            self.untracked[side] += 1;
            return;
        };
        self.tally.on_packet(flow, side, &seen);
        let entry = Entry {
            seen,
            flow,
            mate: None,
            is_damaged: false,
            is_counted: false,
            is_copy: false,
            next: None,
        };
        let found = self.find(1 - side, &entry);
        let place = self.sides[side].put(entry);
        if let Some(mate) = found {
            self.join(side, place, mate);
        }
        self.expire();
    }

    /// The class of a packet, which became known later.
    pub(super) fn classify(&mut self, side: usize, frame: u64, class: Class) {
        let TapSide { ring, alone, .. } = &mut self.sides[side];
        for waiting in [ring, alone] {
            if let Ok(at) = waiting.binary_search_by_key(&frame, |entry| entry.seen.frame) {
                waiting[at].seen.class = Some(class);
                return;
            }
        }
        self.tally.classify(side, frame, class);
    }

    /// No more frames of this tap.
    pub(super) fn end(&mut self, side: usize) {
        self.sides[side].is_over = true;
    }

    /// The place at this tap of the record that is the same transmission. If several may be it: the one behind the last match that
    /// fits best in time, since a network keeps the order more often than not.
    fn find(&mut self, at: usize, entry: &Entry) -> Option<u64> {
        let (ids_vary, last) = {
            let flow = &self.tally.flows[entry.flow as usize];
            (flow.ids_vary, flow.last[at])
        };
        let lag = self.tally.lag(entry.flow);
        let sign = if at == 1 { 1 } else { -1 };
        let [first, second] = &mut self.sides;
        let (side, other) = if at == 0 { (first, second) } else { (second, first) };
        let chain = side.chains.get(&entry.seen.key).copied();
        let mut next = chain.map(|chain| chain.from);
        // Matched packets at the beginning of the search, and the one from which the next search may begin.
        let (mut matched, mut from) = (Some(0), None);
        let (mut best, mut is_repeat) =
            (None::<(bool, bool, i64, u64)>, chain.is_some_and(|chain| chain.first < chain.from));
        let mut better = None::<(i64, u64)>;
        for _ in 0..SegmentMatch::LONGEST_SEARCH {
            let Some(place) = next else { break };
            let Some(there) = side.get(place) else { break };
            next = there.next;
            matched = matched.filter(|_| there.mate.is_some()).map(|n| n + 1);
            if matched == Some(SegmentMatch::LONGEST_SEARCH / 2) {
                from = next;
            }
            if let Some(mate) = there.mate {
                is_repeat = true;
                // It was matched with an earlier transmission, before this one was read.
                let (false, false, Some((lag, spread))) = (ids_vary, there.is_counted, lag) else { continue };
                let Some(mate) = other.get(mate) else { continue };
                let off = |time: i64| {
                    let difference = there.seen.time.saturating_sub(time).saturating_mul(sign);
                    difference.saturating_sub(lag).saturating_abs()
                };
                let (known, here) = (off(mate.seen.time), off(entry.seen.time));
                if is_far(known, spread) && here < known / 2 && there.seen.fits(&entry.seen) {
                    better = better.max(Some((known - here, place)));
                }
                continue;
            }
            if there.seen.class == Some(Class::CaptureDuplicate) || !there.seen.fits(&entry.seen) {
                continue;
            }
            if there.seen.vni != entry.seen.vni
                && !self.tally.may_be_one(1 - at, entry.seen.vni, there.seen.vni)
            {
                continue;
            }
            if ids_vary {
                return Some(place);
            }
            let difference = there.seen.time.saturating_sub(entry.seen.time).saturating_mul(sign);
            let (lag, spread) = lag.unwrap_or((difference, 0));
            let off = difference.saturating_sub(lag).saturating_abs();
            // A second copy of what was matched already: the other tap sees it only if the sender sent it again.
            const JITTER: i64 = 1_000_000;
            if is_repeat && off > spread.saturating_mul(8).max(JITTER) {
                continue;
            }
            // Of those that fit in time, the network kept the order.
            let rank = (is_far(off, spread), last.is_some_and(|last| place < last), off, place);
            if best.is_none_or(|best| rank < best) {
                best = Some(rank);
            }
        }
        if let (Some(from), Some(chain)) = (from, side.chains.get_mut(&entry.seen.key)) {
            chain.from = from;
        }
        best.map(|(.., place)| place).or(better.map(|(_, place)| place))
    }

    /// Two records are the same transmission.
    fn join(&mut self, side: usize, place: u64, mate: u64) {
        let Some(mut here) = self.sides[side].get(place).copied() else { return };
        let Some(there) = self.sides[1 - side].get(mate) else { return };
        let former = there.mate.replace(place);
        here.mate = Some(mate);
        let is_damaged =
            here.seen.is_damaged() != there.seen.is_damaged() || here.seen.size != there.seen.size;
        (here.is_damaged, there.is_damaged) = (is_damaged, is_damaged);
        let there = *there;
        if let Some(former) = former {
            self.sides[side].part(former);
        }
        for (side, place) in [(side, place), (1 - side, mate)] {
            self.sides[side].matched = self.sides[side].matched.max(place + 1);
        }
        let (pair, places) = match side {
            0 => ([&here.seen, &there.seen], [place, mate]),
            _ => ([&there.seen, &here.seen], [mate, place]),
        };
        let times = pair.map(|seen| seen.time);
        if self.tally.on_match(here.flow, times, places) {
            self.follow(times[1].saturating_sub(times[0]));
        }
        if let Some(entry) = self.sides[side].get(place) {
            *entry = here;
        }
    }

    /// Follows the lag. A single packet far from it may be a mistake, many are a clock that was set.
    fn follow(&mut self, lag: i64) {
        const MANY: u32 = 16;
        let known = *self.lag.get_or_insert(lag);
        let off = lag.saturating_sub(known);
        let is_strange = off.saturating_abs() > self.bounds.window_ns;
        self.strange = if is_strange { self.strange + 1 } else { 0 };
        if self.strange >= MANY {
            self.lag = Some(lag);
        } else if !is_strange {
            self.lag = Some(known.saturating_add(off / 8));
        }
    }

    /// Takes the packets out of the windows that have waited long enough.
    fn expire(&mut self) {
        for side in 0..2 {
            // Where the other capture has been read up to, by this tap's clock.
            let lag = self.lag();
            let there = self.sides[1 - side].now;
            let read_to = if side == 0 { there.saturating_sub(lag) } else { there.saturating_add(lag) };
            while let Some(first) = self.sides[side].ring.front() {
                // What an ended capture has not shown by now does not come; but copies of this tap's packets may.
                let read_to = if self.sides[1 - side].is_over { self.sides[side].now } else { read_to };
                // A clock that was stepped, or stood still, makes all look old that waits: none of it was matched yet.
                let is_passed = self.sides[side].base < self.sides[side].matched;
                let is_old = is_passed && read_to.saturating_sub(first.seen.time) > self.bounds.window_ns;
                let is_full = self.sides[side].ring.len() > self.bounds.packets;
                if !(is_old && self.lag.is_some() || is_full) {
                    break;
                }
                self.decided_early += u64::from(!is_old && first.mate.is_none() && !first.is_copy);
                self.leave(side);
            }
            let two_windows = self.bounds.window_ns.saturating_mul(2);
            while let Some(first) = self.sides[side].alone.front() {
                let is_old = read_to.saturating_sub(first.seen.time) > two_windows;
                if !is_old && self.sides[side].alone.len() <= SegmentMatch::MOST_ALONE {
                    break;
                }
                self.miss(side);
            }
        }
    }

    /// The oldest packet of a window leaves it.
    fn leave(&mut self, side: usize) {
        let Some((_, mut entry)) = self.sides[side].take() else { return };
        self.tally.on_sent(entry.flow, side, &entry.seen);
        if let (Some(mate), false) = (entry.mate, entry.is_counted)
            && let Some(mate) = self.sides[1 - side].get(mate)
        {
            mate.is_counted = true;
            if mate.flow != entry.flow {
                // The virtual network tells flows apart that have the same addresses: the tap that saw it is right.
                let of_mate = entry.seen.vni.is_none();
                let (from, to, at) = match of_mate {
                    true => (entry.flow, mate.flow, side),
                    false => (mate.flow, entry.flow, 1 - side),
                };
                self.tally.give(from, to, at);
                (entry.flow, mate.flow) = (to, to);
            }
            let pair = if side == 0 { [&entry.seen, &mate.seen] } else { [&mate.seen, &entry.seen] };
            self.tally.on_pair(entry.flow, pair);
        }
        match entry.mate {
            Some(mate) if !entry.is_damaged => self.tally.on_leave(entry.flow, side, mate),
            Some(_) => {}
            None if self.is_copy(side, &entry) => {
                self.tally.flows[entry.flow as usize].counts.copies[side] += 1
            }
            None => self.leave_alone(side, entry),
        }
    }

    /// Whether a packet that was not matched is a second record of one that was.
    fn is_copy(&mut self, side: usize, entry: &Entry) -> bool {
        let ids_vary = self.tally.flows[entry.flow as usize].ids_vary;
        let is_duplicate = |entry: &Entry| entry.seen.class == Some(Class::CaptureDuplicate);
        if entry.is_copy {
            // The same bytes again, which the other tap did not see again: retransmitted and lost, unless it is a copy.
            return ids_vary || is_duplicate(entry) || entry.seen.class != Some(Class::Retransmission);
        }
        let next = entry.next.and_then(|next| self.sides[side].get(next));
        next.is_some_and(|next| {
            next.mate.is_some() && next.seen.vni == entry.seen.vni && (ids_vary || is_duplicate(next))
        })
    }

    /// A packet leaves its window unmatched. If it is damaged, or its copy is, that has other headers: then it is searched among
    /// those that are alone too.
    fn leave_alone(&mut self, side: usize, entry: Entry) {
        let others = &mut self.sides[1 - side];
        // One of the two is damaged: mostly none is.
        let may_be = entry.seen.is_damaged() || others.alone_damaged > 0;
        let resembles = |other: &Entry| other.seen.resembles(&entry.seen);
        let found = if may_be { others.alone.iter().position(resembles) } else { None };
        let Some(other) = found.and_then(|at| others.alone.remove(at)) else {
            self.tally.on_alone(entry.flow, side, &entry.seen);
            self.sides[side].alone_damaged += usize::from(entry.seen.is_damaged());
            self.sides[side].alone.push_back(entry);
            return;
        };
        others.alone_damaged -= usize::from(other.seen.is_damaged());
        let (right, wrong, at) = match entry.seen.is_damaged() {
            true => (other, entry, 1 - side),
            false => (entry, other, side),
        };
        self.tally.on_damage(right.flow, at, &right.seen, &wrong.seen, Fate::Corrupted);
    }

    /// The other tap did not see this packet.
    fn miss(&mut self, side: usize) {
        let Some(entry) = self.sides[side].alone.pop_front() else { return };
        self.sides[side].alone_damaged -= usize::from(entry.seen.is_damaged());
        let other = &self.sides[1 - side];
        let lag = self.tally.lag(entry.flow).map_or(self.lag(), |(lag, _)| lag);
        let expected = entry.seen.time.saturating_add(if side == 0 { lag } else { lag.saturating_neg() });
        let had_begun = other.first_time.is_some_and(|first| expected >= first);
        let was_over = other.is_over && expected > other.now;
        let is_outside = !had_begun || was_over;
        let odd =
            Odd { seen: entry.seen, side, flow: entry.flow, fate: Fate::Lost, arrived_as: None, is_outside };
        self.tally.put_odd(odd);
    }

    /// Both captures are over.
    pub(super) fn finish(&mut self) {
        for side in 0..2 {
            while !self.sides[side].ring.is_empty() {
                self.leave(side);
            }
        }
        for side in 0..2 {
            while !self.sides[side].alone.is_empty() {
                self.miss(side);
            }
        }
    }
}
