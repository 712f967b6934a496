//! The directions of connections: which two belong together, and which command the data of a direction is of.

use std::{
    collections::{HashMap, VecDeque},
    hash::RandomState,
};

use super::{Answer, Progress, Reading, Seen, progress::Why};
use crate::{
    dissect::Address,
    opcode::{Operation, Shape},
    wire::{Acknowledgement, Aeth, NakCode, Reth},
};

/// Packets from one address to a queue pair of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) src: Address,
    pub(crate) dst: Address,
    pub(crate) qp: u32,
}

/// The connections between a client and a server of which the client's queue pair is not known, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct HalfKnown(HashMap<[Address; 2], Vec<usize>, RandomState>);

impl HalfKnown {
    /// So many of two addresses wait: each packet of an unknown direction is compared with all of them.
    const MOST: usize = 256;

    /// One whose packets to the server have this key.
    pub(crate) fn add(&mut self, to_server: Key, at: usize) {
        let waiting = self.0.entry([to_server.src, to_server.dst]).or_default();
        if waiting.len() == Self::MOST {
            waiting.remove(0);
        }
        waiting.push(at);
    }

    /// Its other direction is known.
    pub(crate) fn remove(&mut self, client: Address, server: Address, at: usize) {
        if let Some(waiting) = self.0.get_mut(&[client, server]) {
            waiting.retain(|&other| other != at);
        }
    }

    /// Those of which a packet with this key may be the other direction.
    pub(crate) fn answered_by(&self, key: Key) -> &[usize] {
        self.0.get(&[key.dst, key.src]).map_or(&[], Vec::as_slice)
    }
}

/// Connection requests that wait for their reply, by who asked and the number that the asker gave them.
#[derive(Debug)]
pub(crate) struct Requests<T>(HashMap<(Address, u32), T, RandomState>);

impl<T> Default for Requests<T> {
    fn default() -> Self {
        Requests(HashMap::default())
    }
}

impl<T> Requests<T> {
    const MOST: usize = 1 << 12;

    pub(crate) fn add(&mut self, from: Address, id: u32, request: T) {
        if self.0.len() < Self::MOST {
            self.0.insert((from, id), request);
        }
    }

    /// Those that had no reply.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &T> {
        self.0.values()
    }

    /// The one that a reply to this address is for, or a rejection.
    pub(crate) fn take(&mut self, from: Address, id: u32) -> Option<T> {
        self.0.remove(&(from, id))
    }
}

/// A packet of a connection, as far as what follows commands needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) operation: Operation,
    pub(crate) shape: &'static Shape,
    pub(crate) psn: u32,
    pub(crate) time: i64,
    /// Of the payload, captured or not.
    pub(crate) len: u32,
    pub(crate) reth: Option<&'a Reth>,
    pub(crate) aeth: Option<&'a Aeth>,
}

/// The packets of a direction, and of which commands the data is: `I` is what a command is known by.
#[derive(Debug)]
pub(crate) struct Transfers<I> {
    pub(crate) requests: Progress,
    pub(crate) responses: Progress,
    writes: Spans<I>,
    /// Of READ requests on the opposite way.
    reads: Spans<I>,
    /// Of WRITEs that nothing acknowledged yet: the last PSN, and the command.
    unacked: VecDeque<(u32, I)>,
    /// READ requests of this way.
    wanted: VecDeque<Wanted>,
    mtu: Mtu,
    /// A message that no acknowledgement covers yet: its last PSN, and when that came.
    timed: Option<(u32, i64)>,
    /// The shortest time from a message to its acknowledgement.
    pub(crate) fastest_ack: Option<u64>,
}

impl<I> Default for Transfers<I> {
    fn default() -> Self {
        let (requests, responses, mtu) = Default::default();
        let (writes, reads, unacked, wanted) = Default::default();
        Transfers { requests, responses, writes, reads, unacked, wanted, mtu, timed: None, fastest_ack: None }
    }
}

impl<I: Copy> Transfers<I> {
    /// A packet in its PSN space. `is_here`: captured at the tap that counts.
    pub(crate) fn see(&mut self, piece: &Piece<'_>, is_here: bool) -> Seen {
        let &Piece { operation, psn, time, .. } = piece;
        self.mtu.learn(piece);
        let seen = match operation {
            Operation::Send | Operation::Write => self.requests.see(psn, time, is_here, 1),
            Operation::ReadRequest => {
                let psns = piece.reth.map_or(1, |reth| self.mtu.most_psns(reth));
                match piece.reth.and_then(|reth| self.want(psn, psns, reth)) {
                    None => self.requests.see(psn, time, is_here, psns),
                    Some(Rest::New) => self.requests.resume(psn, time, is_here, psns),
                    Some(Rest::Again) => self.requests.again(psn, time, is_here, psns),
                }
            }
            Operation::ReadResponse => self.responses.see(psn, time, is_here, 1),
            _ => return Seen::New,
        };
        match seen {
            Seen::New if is_here && operation == Operation::Send && piece.shape.ends => {
                self.timed.get_or_insert((psn, time));
            }
            // Which of them is acknowledged is not known.
            Seen::Again => self.timed = None,
            _ => {}
        }
        seen
    }

    /// A READ request, which may want the rest of one before: it ends where that one ends, and its PSN is one of that one's responses.
    fn want(&mut self, psn: u32, psns: u32, reth: &Reth) -> Option<Rest> {
        /// Adapters have no more outstanding.
        const KEPT: usize = 128;
        let (key, from) = (reth.r_key().0, reth.va().0);
        let end = from.wrapping_add(reth.dma_len().into());
        let distance = |one: &Wanted| psn.wrapping_sub(one.psn) & 0xff_ffff;
        let is_of = |one: &&Wanted| one.key == key && one.end == end && distance(one) < one.psns;
        let before = self.wanted.iter().rev().find(is_of).copied();
        let is_rest = before.is_some_and(|one| one.psn != psn && one.from < from);
        match before {
            Some(one) if one.psn == psn && one.from == from => return one.is_rest.then_some(Rest::Again),
            _ => {}
        }
        if self.wanted.len() == KEPT {
            self.wanted.pop_front();
        }
        self.wanted.push_back(Wanted { psn, psns, key, from, end, is_rest });
        is_rest.then_some(Rest::New)
    }

    /// A packet of the opposite way: what it says of the packets of this one.
    pub(crate) fn hear(&mut self, piece: &Piece<'_>, seen: Seen) -> Option<Answer> {
        let &Piece { operation, psn, time, .. } = piece;
        self.mtu.learn(piece);
        let answer = match operation {
            Operation::Acknowledge => match piece.aeth.map(|aeth| aeth.syndrome().meaning()) {
                Some(Acknowledgement::RnrNak { .. }) => Answer::Again(Why::NotReady),
                Some(Acknowledgement::Nak(NakCode::PsnSequenceError)) => Answer::Again(Why::Lost),
                Some(Acknowledgement::Ack { .. }) => Answer::Came,
                _ => return None,
            },
            Operation::ReadResponse => {
                if piece.shape.ends {
                    self.requests.read_ended(psn);
                }
                Answer::Came
            }
            Operation::ReadRequest if seen == Seen::Again => {
                self.responses.ask(psn);
                return None;
            }
            _ => return None,
        };
        let is_heard = self.requests.answer(psn, time, answer);
        match self.timed {
            _ if answer != Answer::Came => self.timed = None,
            Some((of, since)) if self.requests.is_acked(of) => {
                let ns = time.abs_diff(since);
                self.fastest_ack = Some(self.fastest_ack.map_or(ns, |fastest| fastest.min(ns)));
                self.timed = None;
            }
            _ => {}
        }
        (is_heard || answer == Answer::Came).then_some(answer)
    }

    /// The last packet of a WRITE of a command's data.
    pub(crate) fn await_ack(&mut self, psn: u32, command: I) {
        const KEPT: usize = 1024;
        if self.unacked.len() == KEPT {
            self.unacked.pop_front();
        }
        self.unacked.push_back((psn, command));
    }

    /// One of those that are acknowledged by now: its PSN and command.
    pub(crate) fn take_acked(&mut self) -> Option<(u32, I)> {
        self.unacked.front().filter(|(psn, _)| self.requests.is_acked(*psn))?;
        self.unacked.pop_front()
    }

    /// The opposite way asks for data of a command, again or not.
    pub(crate) fn await_read(
        &mut self,
        piece: &Piece<'_>,
        reth: &Reth,
        command: I,
        is_again: bool,
    ) -> Reading {
        let old = self.reads.find(piece.psn).filter(|_| is_again).map(|old| (old.since, !old.is_over));
        let (since, was_open) = old.unwrap_or((piece.time, false));
        self.reads.add(piece.psn, self.mtu.most_psns(reth), command, since);
        Reading { since, was_open }
    }

    /// The last response to a READ has this PSN. Returns whether it was open.
    pub(crate) fn end_read(&mut self, psn: u32) -> bool {
        self.reads.find(psn).is_some_and(|read| !std::mem::replace(&mut read.is_over, true))
    }

    /// The command whose data a READ response with this PSN carries, and whether it is the first one.
    pub(crate) fn read_by(&self, psn: u32) -> Option<(I, bool)> {
        self.reads.of(psn)
    }

    /// A WRITE of data of a command begins.
    pub(crate) fn begin_write(&mut self, piece: &Piece<'_>, reth: &Reth, command: I) {
        self.writes.add(piece.psn, self.mtu.most_psns(reth), command, piece.time);
    }

    /// The command whose data a packet of a WRITE with this PSN carries, and whether it is the first one.
    pub(crate) fn written_by(&self, psn: u32) -> Option<(I, bool)> {
        self.writes.of(psn)
    }
}

/// A READ request: what it wants, and the PSNs of its responses, at most.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    psn: u32,
    psns: u32,
    key: u32,
    from: u64,
    end: u64,
    is_rest: bool,
}

/// A READ request for the rest of one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    New,
    /// It was asked for before.
    Again,
}

/// READs or WRITEs of commands.
#[derive(Debug)]
struct Spans<I>(VecDeque<Span<I>>);

#[derive(Debug)]
struct Span<I> {
    first: u32,
    psns: u32,
    command: I,
    /// When it was asked for.
    since: i64,
    /// Its last packet came.
    is_over: bool,
}

impl<I> Default for Spans<I> {
    fn default() -> Self {
        Spans(VecDeque::new())
    }
}

impl<I: Copy> Spans<I> {
    /// Those that are on their way.
    const KEPT: usize = 256;

    fn add(&mut self, first: u32, psns: u32, command: I, since: i64) {
        if self.0.len() == Self::KEPT {
            self.0.pop_front();
        }
        self.0.push_back(Span { first, psns, command, since, is_over: false });
    }

    fn find(&mut self, psn: u32) -> Option<&mut Span<I>> {
        self.0.iter_mut().rev().find(|span| span.has(psn))
    }

    fn of(&self, psn: u32) -> Option<(I, bool)> {
        let span = self.0.iter().rev().find(|span| span.has(psn))?;
        Some((span.command, psn == span.first))
    }
}

impl<I> Span<I> {
    fn has(&self, psn: u32) -> bool {
        psn.wrapping_sub(self.first) & 0xff_ffff < self.psns
    }
}

/// What packets show of a connection's path MTU.
#[derive(Clone, Copy, Debug, Default)]
struct Mtu {
    /// A packet that is not the last of its message has as much.
    exact: Option<u32>,
    /// It is at least that.
    least: u32,
}

impl Mtu {
    fn learn(&mut self, piece: &Piece<'_>) {
        let has_data =
            matches!(piece.operation, Operation::Send | Operation::Write | Operation::ReadResponse);
        if !has_data || self.exact == Some(piece.len) {
            return;
        }
        match piece.shape.ends {
            false if piece.len >= Self::LEAST => self.exact = Some(piece.len),
            _ => self.least = self.least.max(piece.len.min(Self::MOST).next_power_of_two()),
        }
    }

    /// No path MTU is smaller, or larger.
    const LEAST: u32 = 256;
    const MOST: u32 = 4096;

    /// The responses to a READ are at most so many.
    fn most_psns(&self, reth: &Reth) -> u32 {
        let mtu = self.exact.unwrap_or(self.least.max(Self::LEAST));
        reth.dma_len().div_ceil(mtu).max(1)
    }
}

/// At which of several taps a connection is read: at the one near who asks, where requests come first. What is seen at others says when a
/// packet passed there, which is another time, and that it got that far, which is not all the way.
#[derive(Debug, Default)]
pub(crate) struct Taps {
    near: Option<u16>,
    has_others: bool,
    /// Where answers are read as long as the near tap shows none: it may have one direction only.
    answers: Option<u16>,
    has_near_answers: bool,
}

/// How a packet of one of several taps is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tap {
    Here,
    /// It passed the tap that counts before: what is new was lost there by the capture.
    Behind,
    /// It comes to the tap that counts later, if it comes.
    Before,
}

impl Taps {
    /// A packet of this tap. `has_seen`: whether a tap has packets of that direction between the two addresses.
    pub(crate) fn look(&mut self, is_request: bool, tap: u16, has_seen: impl FnOnce(u16) -> bool) -> Tap {
        let is_near = self.near.is_some_and(|near| near == tap);
        let here = if is_request {
            Some(*self.near.get_or_insert(tap))
        } else {
            self.has_near_answers |= is_near || !self.has_near_answers && self.near.is_some_and(has_seen);
            if self.has_near_answers { self.near } else { Some(*self.answers.get_or_insert(tap)) }
        };
        if here == Some(tap) {
            return Tap::Here;
        }
        self.has_others = true;
        if is_request || !self.has_near_answers { Tap::Behind } else { Tap::Before }
    }

    /// Where it is read, if several taps have packets of it.
    pub(crate) fn of_several(&self) -> Option<u16> {
        self.near.filter(|_| self.has_others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_read_at_the_tap_near_who_asks() {
        let mut taps = Taps::default();
        assert_eq!(taps.look(true, 1, |_| false), Tap::Here);
        // The other tap has the answer first; whether the near one will have it is not known yet.
        assert_eq!(taps.look(false, 0, |_| false), Tap::Here);
        assert_eq!(taps.look(true, 0, |_| false), Tap::Behind);
        assert_eq!(taps.look(false, 1, |_| false), Tap::Here);
        assert_eq!(taps.look(false, 0, |_| false), Tap::Before);
        assert_eq!(taps.of_several(), Some(1));
        // Each direction has a tap of its own.
        let mut taps = Taps::default();
        for _ in 0..3 {
            assert_eq!([taps.look(true, 0, |_| false), taps.look(false, 1, |_| false)], [Tap::Here; 2]);
        }
        assert_eq!(taps.of_several(), None);
        // The set-up shows that the near tap has answers.
        let mut taps = Taps::default();
        assert_eq!(taps.look(true, 0, |_| true), Tap::Here);
        assert_eq!(taps.look(false, 1, |tap| tap == 0), Tap::Before);
    }
}
