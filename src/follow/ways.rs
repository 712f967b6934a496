//! The directions of connections: which two belong together, and which command the data of a direction is of.

use std::{
    collections::{HashMap, VecDeque},
    hash::RandomState,
};

use super::{
    Progress, Seen,
    progress::{Answer, Why},
};
use crate::{
    dissect::Address,
    opcode::Operation,
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

    /// The one that a reply to this address is for.
    pub(crate) fn take(&mut self, from: Address, id: u32) -> Option<T> {
        self.0.remove(&(from, id))
    }
}

/// The packets of a direction, and of which commands the data is: `I` is what a command is known by.
#[derive(Debug)]
pub(crate) struct Transfers<I> {
    pub(crate) requests: Progress,
    pub(crate) responses: Progress,
    /// The command whose data the WRITE that is on its way carries.
    pub(crate) writing: Option<I>,
    /// Of READ requests on the opposite way: first PSN, number of PSNs, command.
    reads: VecDeque<(u32, u32, I)>,
}

impl<I> Default for Transfers<I> {
    fn default() -> Self {
        let (requests, responses) = Default::default();
        Transfers { requests, responses, writing: None, reads: VecDeque::new() }
    }
}

impl<I: Copy> Transfers<I> {
    /// A packet in its PSN space, captured at this place.
    pub(crate) fn see(
        &mut self,
        operation: Operation,
        (psn, time, place): (u32, i64, u16),
        reth: Option<&Reth>,
    ) -> Seen {
        match operation {
            Operation::Send | Operation::Write => self.requests.see(psn, time, place, 1),
            Operation::ReadRequest => self.requests.see(psn, time, place, reth.map_or(1, most_psns)),
            Operation::ReadResponse => self.responses.see(psn, time, place, 1),
            _ => Seen::New,
        }
    }

    /// A packet of the opposite way: what it says of the packets of this one.
    pub(crate) fn hear(
        &mut self,
        operation: Operation,
        (psn, time): (u32, i64),
        seen: Seen,
        aeth: Option<&Aeth>,
    ) {
        match operation {
            Operation::Acknowledge => {
                let answer = match aeth.map(|aeth| aeth.syndrome().meaning()) {
                    Some(Acknowledgement::RnrNak { .. }) => Answer::Again(Why::NotReady),
                    Some(Acknowledgement::Nak(NakCode::PsnSequenceError)) => Answer::Again(Why::Lost),
                    Some(Acknowledgement::Ack { .. }) => Answer::Came,
                    _ => return,
                };
                self.requests.answer(psn, time, answer);
            }
            Operation::ReadResponse => self.requests.answer(psn, time, Answer::Came),
            Operation::ReadRequest if seen == Seen::Again => self.responses.ask(psn),
            _ => {}
        }
    }

    /// The opposite way asks for data of a command.
    pub(crate) fn await_read(&mut self, psn: u32, reth: &Reth, command: I) {
        /// READs that are on their way.
        const KEPT: usize = 256;
        if self.reads.len() == KEPT {
            self.reads.pop_front();
        }
        self.reads.push_back((psn, most_psns(reth), command));
    }

    /// The command whose data a READ response with this PSN carries, and whether it is the first one.
    pub(crate) fn read_by(&self, psn: u32) -> Option<(I, bool)> {
        let distance = |first: u32| psn.wrapping_sub(first) & 0xff_ffff;
        let read = self.reads.iter().rev().find(|(first, psns, _)| distance(*first) < *psns);
        read.map(|&(first, _, command)| (command, psn == first))
    }
}

/// The responses to a READ are at most so many.
fn most_psns(reth: &Reth) -> u32 {
    /// No path MTU is smaller.
    const LEAST_MTU: u32 = 256;
    reth.dma_len().div_ceil(LEAST_MTU).max(1)
}
