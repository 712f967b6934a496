//! One direction to one queue pair: its PSNs, its messages, and what was sent again.

use std::collections::VecDeque;

use super::recent::{Short, short};
use crate::{analyze::packet::key::Key, heap::Heap};

/// Packets of a way whose times are kept until they are acknowledged.
const MOST_SENT: usize = 4096;
/// Ranges of PSNs of a way that were passed over.
const MOST_HOLES: usize = 64;
/// Messages of a way that are kept to be acknowledged, or sent again.
const MOST_CHUNKS: usize = 1024;
/// Silences, recoveries and CNPs of a way.
const MOST_SPANS: usize = 4096;
/// Acknowledgements that wait until it is known what they acknowledge.
const MOST_WAITING: usize = 4096;
/// A shorter time between two packets of a message is no silence.
const SILENT_NS: i64 = 5_000;
/// PSNs have so many bits.
const PSN_MASK: u32 = 0xff_ffff;

/// How far a PSN is behind another one: negative where it is before.
pub(super) fn psn_distance(psn: u32, from: u32) -> i32 {
    (psn.wrapping_sub(from) << 8) as i32 >> 8
}

/// The PSN so many packets later.
pub(super) fn psn_after(psn: u32, packets: u32) -> u32 {
    psn.wrapping_add(packets) & PSN_MASK
}

/// What a way is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, crate::stored::Stored)]
pub(super) enum Role {
    #[default]
    Unknown,
    /// Clear-to-send WRITEs of a connection.
    ClearToSend(u32),
    /// Data of a connection.
    Data(u32),
}

/// What a packet is in the order of its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It has the expected PSN, or a later one.
    New,
    /// It was missing, or was sent before.
    Again { was_seen: bool },
}

/// The last transmission of a packet.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct Sent {
    psn: u32,
    time: i64,
    /// It was seen at a second place.
    is_seen_again: bool,
}

#[derive(Clone, Debug, crate::stored::Stored)]
pub(super) struct Way {
    pub(super) key: Key,
    /// That in short, if no other key has the same.
    ends: Option<Short>,
    /// Capture interface and TTL where it was seen first: other records of its packets are copies.
    pub(super) vantage: u16,
    pub(super) path_tag: u64,
    pub(super) role: Role,
    /// The place of its adapter in [`super::queue::Queues`], once it is known.
    pub(super) adapter: Option<u32>,
    /// The way back.
    pub(super) peer: Option<u32>,
    next: Option<u32>,
    /// The last PSN of the newest message, whose length is known.
    until: Option<u32>,
    /// The last packet within that message, if its message does not know of it: frame and time.
    passed: Option<(u64, i64)>,
    pub(super) last_ns: i64,
    /// When its receiver answered last: an acknowledgement, or a NAK.
    pub(super) answered_ns: i64,
    /// Packets that are not acknowledged.
    sent: VecDeque<Sent>,
    /// Packets of it are also seen where they arrive.
    is_seen_again: bool,
    holes: Vec<(u32, u32, i64)>,
    /// The packet before was one sent again, with this PSN.
    again: Option<u32>,
    /// Messages, the last ones, and how many of them are acknowledged.
    pub(super) chunks: VecDeque<u32>,
    pub(super) acknowledged: usize,
    /// They are not in the order of their PSNs.
    pub(super) is_mixed: bool,
    /// The request whose message was the last one.
    pub(super) current: Option<(u32, u32)>,
    /// Messages of no request.
    pub(super) loose: Vec<u32>,
    /// Its place among the ways between two addresses that have such messages.
    pub(super) loose_place: u32,
    /// It can be of no collective.
    pub(super) is_dismissed: bool,
    /// It has messages as long as elements that were captured whole, and are none.
    pub(super) has_others: bool,
    /// From when a packet was sent, or missed, until it was sent again.
    pub(super) recoveries: Vec<(i64, i64)>,
    /// Times between two packets of one message.
    pub(super) silences: Vec<(i64, i64)>,
    /// CNPs that came this way.
    pub(super) cnps: Vec<i64>,
    /// Acknowledgements, as long as nobody knows of what: PSN and time.
    pub(super) waiting: Vec<(u32, i64)>,
    /// The ways that they may be of, where there was one that told.
    pub(super) candidates: Option<Vec<u32>>,
    /// The shortest time from a packet to its acknowledgement.
    pub(super) round_trip_ns: Option<i64>,
    pub(super) mtu: u32,
    /// Its messages have no length: their RETHs were cut.
    pub(super) is_cut: bool,
    /// Clear-to-send elements that are not acknowledged: PSN, connection, request.
    elements: VecDeque<(u32, u32, u32)>,
}

impl Way {
    pub(super) fn new(key: Key, vantage: u16, path_tag: u64) -> Way {
        Way {
            key,
            ends: key.is_short().then(|| short(&key)),
            vantage,
            path_tag,
            role: Role::Unknown,
            adapter: None,
            peer: None,
            next: None,
            until: None,
            passed: None,
            last_ns: i64::MIN,
            answered_ns: i64::MIN,
            sent: VecDeque::new(),
            is_seen_again: false,
            holes: Vec::new(),
            again: None,
            chunks: VecDeque::new(),
            acknowledged: 0,
            is_mixed: false,
            current: None,
            loose: Vec::new(),
            loose_place: 0,
            is_dismissed: false,
            has_others: false,
            recoveries: Vec::new(),
            silences: Vec::new(),
            cnps: Vec::new(),
            waiting: Vec::new(),
            candidates: None,
            round_trip_ns: None,
            mtu: 0,
            is_cut: false,
            elements: VecDeque::new(),
        }
    }

    /// Forgets what came: it can be of no collective.
    pub(super) fn dismiss(&mut self) {
        *self = Way { is_dismissed: true, ..Way::new(self.key, self.vantage, self.path_tag) };
    }

    /// Whether it is the way of a packet with these ends, which no other key has.
    #[inline(always)]
    pub(super) fn is_between(&self, ends: Short) -> bool {
        self.ends == Some(ends)
    }

    /// Whether this is the PSN of its next packet.
    #[inline(always)]
    pub(super) fn is_next(&self, psn: u32) -> bool {
        self.next == Some(psn)
    }

    /// Whether the next packet is within the newest message, if the length of that is known.
    #[inline(always)]
    pub(super) fn is_within(&self, psn: u32) -> bool {
        self.until.is_some_and(|until| psn_distance(psn, until) <= 0)
    }

    /// Takes the next packet, one in the middle of a message: its message learns of it later, from [`take_passed`](Self::take_passed).
    #[inline(always)]
    pub(super) fn pass(&mut self, psn: u32, (frame, time): (u64, i64)) {
        if time.saturating_sub(self.last_ns) > SILENT_NS {
            push_bounded(&mut self.silences, (self.last_ns, time));
        }
        let latest = self.passed.map_or(time, |(_, before)| before.max(time));
        self.passed = Some((frame, latest));
        (self.next, self.again) = (Some(psn_after(psn, 1)), None);
        self.note(psn, time);
    }

    /// Whether the newest message does not know of the last packet within it.
    pub(super) fn has_passed(&self) -> bool {
        self.passed.is_some()
    }

    /// The newest message, and the last packet within it that it does not know of.
    pub(super) fn take_passed(&mut self) -> Option<(u32, (u64, i64))> {
        let passed = self.passed.take()?;
        Some((*self.chunks.back()?, passed))
    }

    /// How many packets from this one on were sent, up to the furthest one.
    pub(super) fn sent_from(&self, psn: u32) -> u32 {
        self.next.map_or(0, |next| psn_distance(next, psn)).max(0).unsigned_abs()
    }

    /// Takes a packet.
    pub(super) fn step(&mut self, psn: u32, time: i64, begins: bool) -> Step {
        let ahead = self.next.map_or(0, |next| psn_distance(psn, next));
        if ahead < 0 {
            return self.step_back(psn, time);
        }
        if ahead > 0
            && let Some(next) = self.next
            && self.holes.len() < MOST_HOLES
        {
            self.holes.push((next, psn, time));
        }
        if !begins && time.saturating_sub(self.last_ns) > SILENT_NS && self.last_ns != i64::MIN {
            push_bounded(&mut self.silences, (self.last_ns, time));
        }
        (self.next, self.again) = (Some(psn_after(psn, 1)), None);
        self.note(psn, time);
        Step::New
    }

    fn step_back(&mut self, psn: u32, time: i64) -> Step {
        let hole = self
            .holes
            .iter()
            .position(|&(from, to, _)| psn_distance(psn, from) >= 0 && psn_distance(psn, to) < 0);
        let sent = self.place_of(psn).and_then(|at| self.sent.get_mut(at));
        let mut was_lost = false;
        let since = match (hole, sent) {
            (Some(at), _) => {
                let (from, to, since) = self.holes.swap_remove(at);
                let rest = [(from, psn, since), (psn_after(psn, 1), to, since)];
                self.holes.extend(rest.into_iter().filter(|(from, to, _)| from != to));
                since
            }
            (None, Some(sent)) => {
                was_lost = self.is_seen_again && !sent.is_seen_again;
                sent.is_seen_again = false;
                std::mem::replace(&mut sent.time, time)
            }
            (None, None) => self.last_ns,
        };
        // Those that follow a packet sent again cost no more than it did.
        let goes_on = self.again.is_some_and(|before| psn_distance(psn, before) == 1);
        self.again = Some(psn);
        if !goes_on && since < time && since != i64::MIN {
            push_bounded(&mut self.recoveries, (since, time));
        } else if let Some(last) = self.recoveries.last_mut().filter(|last| was_lost && since <= last.1) {
            // They do if they had been lost too.
            last.1 = last.1.max(time);
        }
        self.last_ns = self.last_ns.max(time);
        Step::Again { was_seen: hole.is_none() }
    }

    #[inline(always)]
    fn note(&mut self, psn: u32, time: i64) {
        self.last_ns = self.last_ns.max(time);
        if self.sent.len() == MOST_SENT {
            self.sent.pop_front();
        }
        self.sent.push_back(Sent { psn, time, is_seen_again: false });
    }

    /// The place of a packet among those that are not acknowledged.
    fn place_of(&self, psn: u32) -> Option<usize> {
        let at = self.end_of(psn).checked_sub(1)?;
        (self.sent.get(at)?.psn == psn).then_some(at)
    }

    /// How many of those that are not acknowledged are no later than this one.
    fn end_of(&self, psn: u32) -> usize {
        let Some(ahead) = self.sent.front().map(|first| psn_distance(psn, first.psn)) else { return 0 };
        let Ok(place) = usize::try_from(ahead) else { return 0 };
        // Where none was passed over, the distance tells.
        match self.sent.get(place) {
            Some(sent) if sent.psn == psn => place + 1,
            _ => self.sent.partition_point(|sent| psn_distance(sent.psn, psn) <= 0),
        }
    }

    /// A packet was seen at a second place.
    #[inline(always)]
    pub(super) fn see_again(&mut self, psn: u32) {
        self.is_seen_again = true;
        if let Some(sent) = self.place_of(psn).and_then(|at| self.sent.get_mut(at)) {
            sent.is_seen_again = true;
        }
    }

    /// A message begins. `until`: its last PSN, if that is known.
    pub(super) fn add_chunk(&mut self, chunk: u32, until: Option<u32>) {
        self.until = until;
        if self.chunks.len() == MOST_CHUNKS {
            self.chunks.pop_front();
            self.acknowledged = self.acknowledged.saturating_sub(1);
        }
        self.chunks.push_back(chunk);
    }

    /// All packets up to this one are acknowledged.
    pub(super) fn forget_until(&mut self, psn: u32, time: i64) {
        self.answered_ns = self.answered_ns.max(time);
        if let Some(sent) = self.place_of(psn).and_then(|at| self.sent.get(at)).filter(|of| of.time <= time) {
            let took = time - sent.time;
            self.round_trip_ns = Some(self.round_trip_ns.map_or(took, |least| least.min(took)));
        }
        let until = self.end_of(psn);
        self.sent.drain(..until);
    }

    /// A clear-to-send element of a request.
    pub(super) fn add_element(&mut self, psn: u32, (connection, request): (u32, u32)) {
        if self.elements.len() < MOST_CHUNKS {
            self.elements.push_back((psn, connection, request));
        }
    }

    /// Elements that are not acknowledged: PSN, connection, request.
    pub(super) fn elements(&self) -> impl DoubleEndedIterator<Item = (u32, u32, u32)> {
        self.elements.iter().copied()
    }

    /// The request whose element has this PSN, if it is not acknowledged.
    pub(super) fn element(&self, psn: u32) -> Option<(u32, u32)> {
        self.elements.iter().find(|of| of.0 == psn).map(|&(_, connection, request)| (connection, request))
    }

    /// A request has another place.
    pub(super) fn move_element(&mut self, from: (u32, u32), to: u32) {
        let moved = self.elements.iter_mut().find(|of| (of.1, of.2) == from);
        if let Some(moved) = moved {
            moved.2 = to;
        }
    }

    /// The next request whose element is acknowledged with this PSN.
    pub(super) fn next_element_until(&mut self, psn: u32) -> Option<(u32, u32)> {
        let &(sent, connection, request) = self.elements.front()?;
        if psn_distance(sent, psn) > 0 {
            return None;
        }
        self.elements.pop_front();
        Some((connection, request))
    }

    pub(super) fn cnp(&mut self, time: i64) {
        push_bounded(&mut self.cnps, time);
    }

    /// An acknowledgement that waits.
    pub(super) fn wait(&mut self, psn: u32, time: i64) {
        if self.waiting.len() < MOST_WAITING {
            self.waiting.push((psn, time));
        }
    }
}

fn push_bounded<T>(list: &mut Vec<T>, one: T) {
    if list.len() < MOST_SPANS {
        list.push(one);
    }
}

/// Bytes on the heap beside those of the ways' lists of numbers.
pub(super) fn heap_bytes(ways: &[Way]) -> usize {
    let lists = |way: &Way| {
        way.sent.len() * size_of::<Sent>()
            + (way.recoveries.len() + way.silences.len()) * 16
            + (way.holes.len() + way.elements.len()) * 16
            + way.cnps.len() * 8
    };
    ways.iter()
        .map(|way| way.chunks.heap_bytes() + way.loose.heap_bytes() + way.waiting.len() * 16 + lists(way))
        .sum()
}
