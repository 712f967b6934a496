//! Requests that are sprayed over paths and acknowledged selectively, of MRC and of Ultra Ethernet: which of them were retransmissions, what was lost and where,
//! and what each path carried.

mod answers;
mod home;
mod sent;
mod slot;
mod way;

use std::collections::VecDeque;

use home::Home;
use slot::{ARRIVED, NACKED_TRIMMED, Slot, TRIMMED};
pub(crate) use way::{Entropy, Ways};

use super::{
    crossings::Crossings,
    paths::{Carried, OfFlow},
    turns::Turns,
};
use crate::{
    analyze::track::distribution::{Distribution, Totals},
    heap::heap,
    report::{FlowPath, Summary},
};

/// PSNs that are remembered.
const REMEMBERED: usize = 1 << 12;
/// Messages that are remembered.
const MAX_MESSAGES: usize = 1 << 10;
/// A PSN is missing, and not only late, if so many SACKs showed it so.
const SHOWN: u8 = 3;

/// Requests of one sender to one receiver.
#[derive(Debug, crate::stored::Stored)]
pub(crate) struct Sprayed {
    /// One past the highest PSN, counted on through wraps.
    hi: u64,
    /// Packets that were beyond all before.
    ahead: u64,
    /// How many bits a PSN has.
    bits: u32,
    /// One past the highest PSN up to which all have arrived, as SACKs say; `None` before the first.
    acked: Option<u64>,
    /// One past the highest PSN that has arrived, as they say.
    newest: u64,
    /// The last packet, if it was a retransmission.
    last_again: Option<u64>,
    begin: i64,
    /// What is known of the last PSNs.
    ring: Vec<Slot>,
    ways: Ways,
    turns: Turns,
    /// What came to a second tap, and which tap is next to the sender.
    crossings: Crossings,
    home: Home,
    messages: VecDeque<Message>,
    /// From a packet to the acknowledgement that it caused, without retransmissions.
    ack_rtt: Distribution,
    min_rtt: Option<u64>,
    longest_rtt: u64,
    /// From a packet to the first SACK that shows it, whichever packet caused that; without retransmissions.
    shown_after: Totals,
    /// How long behind one that was sent later packets came, at most, without the bit of retransmissions.
    latest: u32,
    /// The same, of all of them.
    late_by: Totals,
    /// Answers say whether they are to a retransmission.
    says_again: bool,
    /// When the packet came that caused the last SACK.
    cause: Option<u32>,
    /// Answers that name the packet that caused them.
    answers: u64,
    completion: Distribution,
    /// The receive window, in packets; 0: not known.
    pub(crate) window: u64,
    pub(crate) sums: Sums,
}

/// What is counted of them.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(crate) struct Sums {
    pub(crate) packets: u64,
    /// Retransmissions: they say so, or their PSN came before, or was NACKed.
    pub(crate) again: u64,
    /// Those that say so.
    pub(crate) rtx: u64,
    /// Those by their PSN.
    pub(crate) inferred: u64,
    pub(crate) both: u64,
    /// Those that say so, and of which PSNs tell nothing: no packet behind was there to show them missing.
    untold: u64,
    pub(crate) lost_before: u64,
    pub(crate) lost_after: u64,
    /// Of what was sent again, these were lost, or late on a path that is slow, or nothing but silence said that they were lost: see [`lost_or_late`](super::paths::lost_or_late).
    pub(crate) lost_or_late: u64,
    pub(crate) spurious: u64,
    pub(crate) reordered: u64,
    pub(crate) max_extent: u64,
    pub(crate) marked: u64,
    pub(crate) trimmed: u64,
    /// PSNs that SACKs showed missing below one that had arrived.
    pub(crate) missing: u64,
    /// Packets that took a path long after its receiver had asked to skip it.
    pub(crate) after_skip: u64,
    pub(crate) messages: u64,
    pub(crate) completed: u64,
    most_outstanding: u64,
}

/// A message that is not complete.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct Message {
    id: u16,
    first_ns: i64,
    last: Option<u64>,
}

heap! {
    Sprayed { ring, ways, turns, crossings, messages, ack_rtt, completion }
    Message {}
}

/// A packet at the tap.
#[derive(Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) carried: Carried,
    pub(crate) is_rtx: bool,
    /// When it was sent, by its sender's clock, in units of 128 ns.
    pub(crate) stamp: Option<u16>,
    pub(crate) is_trimmed: bool,
    /// Its receiver takes what is in order only: a sender repeats all behind what was lost.
    pub(crate) is_ordered: bool,
}

/// What a receiver says of the path of a packet.
#[derive(Clone, Copy, Default)]
pub(crate) struct Said {
    /// The packet came marked.
    pub(crate) is_marked: bool,
    /// The path is not to be used any more.
    pub(crate) is_skipped: bool,
    /// The path by its entropy value, where the answer has one.
    pub(crate) entropy: Option<u32>,
    /// The time stamp of the packet.
    pub(crate) echo: Option<u16>,
    /// The packet was a retransmission.
    pub(crate) is_again: bool,
}

/// What tells of which requests an answer is, each step more than the one before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// PSNs near this one were sent.
    Near,
    /// The tap saw this one.
    Sent,
    /// It took this path.
    Path,
}

/// Why a packet was not taken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    Trimmed,
    /// Something before it has not arrived.
    OutOfOrder,
    Otherwise,
}

impl Sums {
    /// A packet that is no retransmission comes so far behind the highest one.
    fn comes_behind(&mut self, extent: u64) {
        self.reordered += 1;
        self.max_extent = self.max_extent.max(extent);
    }
}

impl Sprayed {
    /// What the ring takes: the most of it.
    pub(crate) const BYTES: usize = REMEMBERED * size_of::<Slot>();

    /// Those of PSNs of so many bits, of which this is the first that came.
    pub(crate) fn new(bits: u32, psn: u32, begin: i64) -> Sprayed {
        Sprayed {
            hi: (2_u64 << bits) + u64::from(psn),
            ahead: 0,
            bits,
            acked: None,
            newest: 0,
            last_again: None,
            begin,
            ring: vec![Slot::default(); REMEMBERED],
            ways: Ways::default(),
            turns: Turns::default(),
            crossings: Crossings::default(),
            home: Home::default(),
            messages: VecDeque::new(),
            ack_rtt: Distribution::default(),
            min_rtt: None,
            longest_rtt: 0,
            shown_after: Totals::default(),
            latest: 0,
            late_by: Totals::default(),
            says_again: false,
            cause: None,
            answers: 0,
            completion: Distribution::default(),
            window: 0,
            sums: Sums::default(),
        }
    }

    /// Whether a packet with this PSN, on a path with this entropy value, may have been sent, as far as the step tells.
    pub(crate) fn fits(&mut self, psn: u32, entropy: u32, step: Fit) -> bool {
        let x = self.unwrap(psn);
        let path = self.slot(x).and_then(|slot| slot.way());
        match step {
            Fit::Near => x.abs_diff(self.hi) <= REMEMBERED as u64,
            Fit::Sent => path.is_some(),
            Fit::Path => path.is_some_and(|at| self.ways.get_mut(at).has(entropy)),
        }
    }

    /// Of all numbers that are this PSN, the nearest to the highest one.
    fn unwrap(&self, psn: u32) -> u64 {
        let shift = 32 - self.bits;
        let difference = (psn.wrapping_sub(self.hi as u32) << shift) as i32 >> shift;
        self.hi.wrapping_add_signed(difference.into())
    }

    /// What is known of this PSN; of one that is too old, or so far ahead that it would push out all others, nothing.
    fn slot(&mut self, x: u64) -> Option<&mut Slot> {
        if x > self.hi + REMEMBERED as u64 {
            return None;
        }
        let lap = (x / REMEMBERED as u64) as u32;
        let slot = &mut self.ring[x as usize % REMEMBERED];
        if slot.lap < lap {
            *slot = Slot { lap, ..Slot::default() };
        }
        (slot.lap == lap).then_some(slot)
    }

    fn has_arrived(&self, x: u64, slot: &Slot) -> bool {
        slot.has(ARRIVED) || self.acked.is_some_and(|acked| x < acked)
    }

    fn since_begin(&self, time: i64) -> u32 {
        time.wrapping_sub(self.begin) as u32
    }

    /// Whether an interface other than the first one of its path records a packet that has passed there: it comes to another tap. That is counted then.
    pub(crate) fn comes_elsewhere(&mut self, psn: u32, entropy: Entropy, sent: &Sent) -> bool {
        let Sent { carried, is_trimmed, .. } = *sent;
        let Some(at) = self.ways.find(entropy) else { return false };
        let x = self.unwrap(psn);
        let Some(slot) = self.slot(x).copied() else { return false };
        let there = at as u16 + 1;
        let way = self.ways.get_mut(at);
        // Of what was sent more than twice, the first path is not remembered: a slow one may deliver it yet.
        let has_passed = [slot.path, slot.lost_on].contains(&there)
            || slot.path > 0 && slot.lost_on > 0 && self.crossings.pass(carried.interface);
        if !way.tally.interface.is_elsewhere(carried.interface) || !has_passed {
            return false;
        }
        way.tally.marked += u64::from(carried.is_marked);
        self.sums.marked += u64::from(carried.is_marked);
        if !is_trimmed {
            self.crossings.arrives(psn, at, carried.interface, carried.time);
            return true;
        }
        // A NACK will tell of it too.
        if slot.has(TRIMMED) {
            return true;
        }
        way.tally.trimmed += 1;
        self.sums.trimmed += 1;
        if let Some(slot) = self.slot(x) {
            slot.flags |= TRIMMED;
        }
        true
    }

    /// The first packets that were sent, as it turns out, came trimmed: those with these PSNs, in the order in which they came.
    pub(crate) fn were_trimmed(&mut self, psns: impl Iterator<Item = u32>) {
        let mut first = None;
        for psn in psns {
            let x = self.unwrap(psn);
            first = first.or(Some(x));
            let Some(slot) = self.slot(x).filter(|slot| slot.path > 0 && !slot.has(TRIMMED)) else {
                continue;
            };
            slot.flags |= TRIMMED;
            let (at, is_told) = (usize::from(slot.path) - 1, slot.has(NACKED_TRIMMED));
            let way = self.ways.get_mut(at);
            way.tally.trimmed += 1;
            way.trimmed_after -= u64::from(is_told);
            self.sums.trimmed += 1;
        }
        // What is whole comes behind them.
        if let Some(first) = first.filter(|_| self.sums.trimmed == self.sums.packets) {
            self.hi = first;
        }
    }

    /// Whether packets come to another tap.
    pub(crate) fn comes_to_several(&self) -> bool {
        self.crossings.are_seen()
    }

    /// Whether answers that this interface recorded are counted, and what else has no number: of several taps, those of one.
    pub(crate) fn takes_answers(&mut self, interface: u16) -> bool {
        !self.comes_to_several() || self.home.takes_answers(interface)
    }

    /// What is counted of them. What came to the last tap was not lost, whatever its sender took it for.
    pub(crate) fn sums(&self) -> Sums {
        if let Some(lost) = self.ways.lost_between_taps(&self.crossings) {
            // Whatever answers seemed to show.
            let late = self.ways.proven_late().min(self.sums.spurious);
            let all = self.sums.lost_after + late;
            let lost_after = all.min(lost);
            let spurious = self.sums.spurious - late + (all - lost_after);
            return Sums { lost_after, spurious, ..self.sums };
        }
        let lost_or_late = self.ways.lost_or_late(self.answered()).min(self.sums.lost_after);
        Sums { lost_after: self.sums.lost_after - lost_or_late, lost_or_late, ..self.sums }
    }

    /// A packet of a message, which is not trimmed; `ends`: its last.
    pub(crate) fn on_message(&mut self, id: u16, psn: u32, time: i64, ends: bool) {
        let x = self.unwrap(psn);
        let known = self.messages.iter_mut().rev().find(|message| message.id == id);
        if let Some(message) = known {
            message.last = message.last.or(ends.then_some(x));
            return;
        }
        // A retransmission of a message that is complete, or too old, begins none.
        if self.acked.is_some_and(|acked| x < acked) {
            return;
        }
        if self.messages.len() == MAX_MESSAGES {
            self.messages.pop_front();
        }
        self.sums.messages += 1;
        self.messages.push_back(Message { id, first_ns: time, last: ends.then_some(x) });
    }

    /// How many of its packets have an answer of their own: 0 to 1.
    fn answered(&self) -> f64 {
        (self.answers as f64 / self.sums.packets.max(1) as f64).min(1.0)
    }

    /// How many paths it took.
    pub(crate) fn path_count(&self) -> u64 {
        self.ways.len() as u64
    }

    /// How evenly its bytes are spread over them: Jain's index.
    pub(crate) fn fairness(&self) -> Option<f64> {
        self.ways.fairness()
    }

    /// A row for each path.
    pub(crate) fn paths(&self, of: &OfFlow) -> Vec<FlowPath> {
        self.ways.rows(of, &self.crossings, self.acked.is_some(), self.answered())
    }

    /// Packets that were lost before the tap on a path that is not known.
    pub(crate) fn lost_unattributed(&self) -> u64 {
        self.ways.lost_unattributed()
    }

    /// Of what is a retransmission by its bit or by its PSN, the share that is by both. Without answers, PSNs do not tell what was lost before the tap.
    pub(crate) fn agreement(&self) -> Option<f64> {
        let Sums { rtx, inferred, both, untold, .. } = self.sums;
        let either = rtx + inferred - both - untold;
        let is_told = self.acked.is_some() || both == rtx;
        (either > 0 && is_told).then(|| both as f64 / either as f64)
    }

    /// The most packets that were not acknowledged at once.
    pub(crate) fn most_outstanding(&self) -> Option<u64> {
        self.acked.map(|_| self.sums.most_outstanding)
    }

    /// Packets that nobody has acknowledged: those behind the highest one up to which all have arrived.
    pub(crate) fn unanswered(&self) -> Option<u64> {
        self.acked.map(|acked| self.hi.saturating_sub(acked))
    }

    /// From a packet to the acknowledgement that it caused.
    pub(crate) fn ack_rtt(&self) -> Option<Summary> {
        self.ack_rtt.summary()
    }

    /// From the first packet of a message to the acknowledgement that completes it.
    pub(crate) fn completion(&self) -> Option<Summary> {
        self.completion.summary()
    }
}
