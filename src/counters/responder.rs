//! The responder's state for the requests to one of its queue pairs, as Linux's `rxe_resp.c` keeps it (IBTA vol. 1, 9.7).

use std::collections::VecDeque;

use crate::{
    analyze::Facts,
    opcode::Operation,
    wire::{Kind, Psn},
};

/// Most messages without an acknowledgement that are remembered.
const MAX_OPEN: usize = 1 << 12;

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It was the expected one.
    Next,
    /// It came before: a duplicate.
    Before,
    /// Its PSN is too high: a NAK, if none is under way, or silence.
    Beyond,
}

/// A message that takes a receive buffer. Its end came, and is not acknowledged yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    psn: Psn,
    pub(super) is_send: bool,
}

/// The responder of a flow of requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Responder {
    /// The first PSN seen; `None` before any request.
    pub(super) first: Option<Psn>,
    /// The PSN that the responder waits for, and the one behind the highest seen.
    expected: Psn,
    highest: Psn,
    /// It passed over the expected PSN: further requests are dropped without a word.
    has_complained: bool,
    /// NAKs that follow from this state and were not seen yet.
    naks_due: u32,
    /// A READ whose number of responses is unknown came: any PSN may follow.
    is_loose: bool,
    /// Path MTU, from full packets.
    pub(super) mtu: Option<u32>,
    /// Requests with a PSN not seen before, and the PSN behind the last one that was acknowledged.
    fresh: u64,
    answered: Option<Psn>,
    /// Acknowledgements that the requests ask for, and those that came.
    asked: u64,
    pub(super) answers: u64,
    /// Requests since the queue pair's last sign of life.
    pub(super) unanswered: u64,
    /// Second records of a request.
    pub(super) copies: u64,
    /// The PSN behind the last request, and whether one came since the last NAK.
    behind: Psn,
    has_moved: bool,
    pub(super) open: VecDeque<Open>,
    /// Answers since the last request.
    pub(super) trailing: u64,
    /// Messages that are not in `open` because there are too many.
    pub(super) forgotten: u64,
    /// An unreliable message has all its packets so far.
    is_whole: bool,
}

impl Responder {
    /// A request over a reliable connection. Returns what the responder makes of it, and whether the tap saw its PSN, or a later
    /// one, before. `is_new`: nothing before it is missing.
    pub(super) fn request(&mut self, packet: &Facts, operation: Operation, is_new: bool) -> (Taken, bool) {
        let psn = packet.psn();
        self.trailing = 0;
        if self.first.is_none() {
            (self.first, self.highest, self.is_loose) = (Some(psn), psn, true);
        }
        if self.is_loose && is_new {
            (self.expected, self.is_loose) = (psn, false);
        }
        let (psns, is_known) = self.psns(packet, operation);
        let is_repeat = psn.distance_from(self.highest) < 0;
        if !is_repeat {
            self.highest = psn.plus(psns);
            self.fresh += 1;
        }
        self.unanswered += 1;
        (self.behind, self.has_moved) = (psn.plus(psns), true);
        self.asked += (packet.is_ack_expected() || is_repeat) as u64;
        self.open_message(packet, operation);
        let taken = match psn.distance_from(self.expected) {
            0 => {
                (self.expected, self.has_complained, self.is_loose) = (psn.plus(psns), false, !is_known);
                Taken::Next
            }
            ..0 => Taken::Before,
            _ => {
                self.naks_due += !self.has_complained as u32;
                self.has_complained = true;
                Taken::Beyond
            }
        };
        (taken, is_repeat)
    }

    /// The PSNs that a request takes, and whether their number is known.
    pub(super) fn psns(&self, packet: &Facts, operation: Operation) -> (u32, bool) {
        let bytes = packet.dma_len().filter(|_| operation == Operation::ReadRequest).unwrap_or(0);
        match self.mtu.filter(|mtu| *mtu > 0) {
            Some(mtu) => (bytes.div_ceil(mtu).max(1), true),
            // The smallest path MTU is 256 bytes.
            None => (1, bytes <= 256),
        }
    }

    /// Remembers the end of a message that takes a receive buffer, in the order of PSNs.
    fn open_message(&mut self, packet: &Facts, operation: Operation) {
        let psn = packet.psn();
        let is_done = self.answered.is_some_and(|answered| psn.distance_from(answered) < 0);
        if is_done || !packet.opcode().shape().ends || !takes_buffer(packet, operation) {
            return;
        }
        let before = self.open.iter().rev().take_while(|open| open.psn.distance_from(psn) >= 0).count();
        let at = self.open.len() - before;
        if self.open.get(at).is_some_and(|open| open.psn == psn) {
            return;
        }
        match self.open.len() < MAX_OPEN {
            true => self.open.insert(at, Open { psn, is_send: operation == Operation::Send }),
            false => self.forgotten += 1,
        }
    }

    /// A request over an unreliable connection. Whether it ends a message all of whose packets came.
    pub(super) fn unreliable(&mut self, packet: &Facts) -> bool {
        let shape = packet.opcode().shape();
        let is_next = self.first.is_some() && packet.psn() == self.expected;
        self.is_whole = shape.begins || self.is_whole && is_next;
        (self.first, self.expected) = (Some(packet.psn()), packet.psn().plus(1));
        shape.ends && self.is_whole
    }

    /// The responder acknowledged all before this PSN.
    pub(super) fn acknowledge(&mut self, behind: Psn) -> impl Iterator<Item = Open> + '_ {
        if self.answered.is_none_or(|answered| behind.distance_from(answered) > 0) {
            self.answered = Some(behind);
        }
        // It has what the tap has not.
        if self.first.is_some() && behind.distance_from(self.expected) > 0 {
            (self.expected, self.has_complained) = (behind, false);
        }
        let done = self.open.iter().take_while(|open| open.psn.distance_from(behind) < 0).count();
        self.open.drain(..done)
    }

    /// It said that it waits for this PSN.
    pub(super) fn complain(&mut self, psn: Psn, is_rnr: bool) {
        if !is_rnr && self.naks_due > 0 {
            self.naks_due -= 1;
            return;
        }
        if psn.distance_from(self.expected) < 0 {
            (self.expected, self.has_complained) = (psn, !is_rnr);
        }
    }

    /// Whether a NAK of this PSN finds the requester sending what comes behind it. Otherwise it is going back already: Soft-RoCE
    /// then drops the NAK.
    pub(super) fn moved_past(&mut self, psn: Psn) -> bool {
        self.behind.distance_from(psn) > 0 && std::mem::take(&mut self.has_moved)
    }

    /// Requests that were surely handed to the responder: those that it acknowledged.
    pub(super) fn proved(&self) -> u64 {
        let Some(answered) = self.answered else { return 0 };
        let beyond = self.highest.distance_from(answered).max(0);
        self.fresh.saturating_sub(beyond as u64)
    }

    /// Acknowledgements that nothing in the capture asks for, if second records are no requests.
    pub(super) fn unasked(&self) -> u64 {
        self.answers.saturating_sub(self.asked)
    }
}

/// Whether the message takes a receive buffer.
pub(super) fn takes_buffer(packet: &Facts, operation: Operation) -> bool {
    operation == Operation::Send || operation == Operation::Write && packet.opcode().has(Kind::ImmDt)
}
