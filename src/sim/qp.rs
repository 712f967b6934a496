//! Queue pairs: the state of requesters and responders.
//!
//! They follow IBTA vol. 1, 9.7 as Linux's Soft-RoCE does. A responder sends one NAK for a gap, then nothing until the
//! missing packet comes. It acknowledges duplicates of SEND and WRITE with the last PSN, answers duplicate READs again,
//! and replays the answers of duplicate atomics. For a requester, a missing READ response is an implied NAK. It ignores
//! NAKs for packets that it is already retransmitting. A lost retransmission waits for the timer.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{
    Connection, Operation, Verb,
    engine::{Cause, NONE},
};
use crate::{
    dcqcn::ReactionPoint,
    opcode::{Opcode, Operation as Op},
};

/// A queue pair: a requester in its own PSN space, and a responder in the PSN space of its peer.
#[derive(Debug, Default)]
pub(super) struct Qp {
    pub(super) connection: u32,
    pub(super) host: u32,
    pub(super) flow: u32,
    pub(super) peer: u32,
    /// Further flows that it sends datagrams on in turn.
    pub(super) also: Vec<u32>,
    pub(super) ready: bool,
    pub(super) wake: u64,
    pub(super) sprayed: u32,
    pub(super) program: Program,
    pub(super) number: u64,
    pub(super) begun: bool,
    pub(super) error: bool,
    /// First PSN of the requests.
    pub(super) start: u64,
    /// The highest PSN sent, plus one.
    pub(super) hi: u64,
    /// The lowest PSN that is not acknowledged.
    pub(super) una: u64,
    /// The next PSN to retransmit; `hi` if there is none.
    pub(super) cursor: u64,
    pub(super) again: VecDeque<(u64, u32)>,
    pub(super) messages: VecDeque<u32>,
    pub(super) reads: u32,
    pub(super) rewind: Option<Rewind>,
    pub(super) rnr_until: u64,
    pub(super) rnr_psn: u64,
    pub(super) deadline: u64,
    pub(super) timer_set: bool,
    pub(super) retries: u8,
    pub(super) rnr_retries: u8,
    pub(super) implied: u64,
    pub(super) early_responses: BTreeSet<u64>,
    pub(super) episode: u32,
    pub(super) cause: Cause,
    pub(super) pace: u64,
    /// When it may send the next data of a READ.
    pub(super) data_pace: u64,
    /// What CNPs do to its rate.
    pub(super) reaction: Option<ReactionPoint>,
    /// Of each PSN from `start`: its first transmission, and how often it was sent.
    pub(super) requests: Vec<(u32, u16)>,

    pub(super) expected: u64,
    pub(super) refused: bool,
    pub(super) nak_psn: u64,
    pub(super) early: BTreeMap<u64, u32>,
    pub(super) msn: u32,
    pub(super) answers: VecDeque<Answer>,
    pub(super) ack_held: u32,
    pub(super) ack_timer: bool,
    pub(super) response_end: u64,
    pub(super) responses: Vec<(u32, u16)>,
    pub(super) peer_start: u64,
}

/// A rewind that is planned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rewind {
    pub(super) to: u64,
    pub(super) count: u32,
    pub(super) cause: Cause,
    pub(super) not_before: u64,
    pub(super) lag: u32,
}

/// An answer that a responder has to send.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answer {
    Acknowledge { psn: u64, syndrome: u8, msn: u32 },
    Read { psn: u64, first: u64, end: u64, message: u32, bytes_end: u32 },
    Atomic { psn: u64, message: u32, msn: u32 },
}

/// The messages of a requester, in order.
#[derive(Debug, Default)]
pub(super) struct Program {
    operations: Vec<Operation>,
    at: usize,
    done: u64,
    rounds: u64,
    pub(super) next: u64,
}

impl Program {
    fn new(operations: Vec<Operation>, rounds: u64, start: u64) -> Program {
        let mut program = Program { operations, at: 0, done: 0, rounds, next: start };
        program.settle();
        program
    }

    /// Goes on to the next operation that has messages left.
    fn settle(&mut self) {
        if self.operations.iter().all(|op| op.count == 0) {
            self.rounds = 0;
        }
        while self.rounds > 0 && self.operations.get(self.at).is_some_and(|op| self.done >= op.count) {
            self.done = 0;
            self.at += 1;
            if self.at == self.operations.len() {
                self.at = 0;
                self.rounds -= 1;
            }
        }
    }

    /// The next message and when it is posted, if there is one.
    pub(super) fn peek(&self) -> Option<(&Operation, u64)> {
        (self.rounds > 0).then(|| self.operations.get(self.at).map(|op| (op, self.next))).flatten()
    }

    pub(super) fn take(&mut self) {
        if let Some(op) = self.operations.get(self.at) {
            self.next = self.next.saturating_add(op.every.0);
        }
        self.done += 1;
        self.settle();
    }
}

impl Qp {
    pub(super) fn new(
        connection: u32,
        host: u32,
        flow: u32,
        peer: u32,
        [start, peer_start]: [u64; 2],
        operations: Vec<Operation>,
        of: &Connection,
    ) -> Qp {
        Qp {
            connection,
            host,
            flow,
            peer,
            wake: u64::MAX,
            program: Program::new(operations, of.repeat, of.start.0),
            start,
            hi: start,
            una: start,
            cursor: start,
            retries: of.retry,
            rnr_retries: of.rnr_retry,
            episode: NONE,
            expected: peer_start,
            response_end: peer_start,
            peer_start,
            ..Qp::default()
        }
    }

    /// Whether it has nothing left to do.
    pub(super) fn is_idle(&self) -> bool {
        self.error || (self.program.peek().is_none() && self.una == self.hi && self.messages.is_empty())
    }
}

pub(super) fn is_answered(verb: Verb) -> bool {
    matches!(verb, Verb::Read | Verb::CompareSwap | Verb::FetchAdd)
}

/// The time that a packet takes at this rate: its payload, and the headers, preamble and gap around it over IPv4.
pub(super) fn sending_ns(payload: u64, rate: u64) -> u64 {
    8 * (payload + 82) * 1_000_000_000 / rate.max(1)
}

/// Records a transmission of `count` PSNs from `psn` on. Returns the first transmission of `psn`, and the number of this
/// one.
pub(super) fn note(sent: &mut Vec<(u32, u16)>, start: u64, psn: u64, count: u32, tx: u32) -> (u32, u16) {
    let at = (psn - start) as usize;
    let end = at + count as usize;
    if sent.len() < end {
        sent.resize(end, (NONE, 0));
    }
    for slot in &mut sent[at..end] {
        if slot.1 == 0 {
            slot.0 = tx;
        }
        slot.1 = slot.1.saturating_add(1);
    }
    sent[at]
}

/// Whether a response has a PSN of its own: READ responses and atomic acknowledges.
pub(super) fn is_sequenced(opcode: Opcode) -> bool {
    matches!(opcode.operation(), Some(Op::ReadResponse | Op::AtomicAcknowledge))
}
