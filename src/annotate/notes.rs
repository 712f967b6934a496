//! The frames that get a comment.

use crate::{
    analyze::{
        Class, Facts, FlowId,
        metric::{History, Metric, Placed, Verdict, Wants},
    },
    wire::Syndrome,
};

/// The metric that notes the frames that matter: retransmissions, late packets, second records, packets after a gap, corrupt
/// packets, NAKs, and the first packet of each flow.
#[derive(Debug)]
pub struct Notes {
    most: usize,
    /// Also what is as usual, but for new packets.
    is_every: bool,
    pub(super) list: Vec<Note>,
    pub(super) histories: Vec<History>,
    pub(super) left_out: u64,
    /// The flows that have a packet, by their number.
    begun: Vec<bool>,
}

/// A frame that gets a comment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Note {
    pub(super) frame: u64,
    pub(super) class: Class,
    pub(super) flow: Option<FlowId>,
}

/// Frames that get a comment, unless somebody says another number. They take about 100 bytes each.
pub const DEFAULT_MOST: usize = 1_000_000;

impl Notes {
    /// Notes at most so many frames.
    pub fn new(most: usize) -> Notes {
        Notes {
            most,
            is_every: false,
            list: Vec::new(),
            histories: Vec::new(),
            left_out: 0,
            begun: Vec::new(),
        }
    }

    /// Notes every frame that is not simply the next one, at most so many.
    pub fn every(most: usize) -> Notes {
        Notes { is_every: true, ..Notes::new(most) }
    }

    /// Whether packets of this class are noted.
    fn matters(&self, class: Class) -> bool {
        // A flow has one first packet in each of its PSN spaces.
        let is_usual = matches!(class, Class::RepeatedAck | Class::Unsequenced | Class::Unknown);
        class != Class::New && (self.is_every || !is_usual)
    }

    fn note(&mut self, frame: u64, class: Class, flow: Option<FlowId>) {
        match self.list.len() < self.most {
            true => self.list.push(Note { frame, class, flow }),
            false => self.left_out += 1,
        }
    }

    /// Whether it is the first packet of its flow.
    fn begins(&mut self, FlowId(flow): FlowId) -> bool {
        let at = flow as usize;
        if self.begun.len() <= at {
            self.begun.resize(at + 1, false);
        }
        !std::mem::replace(&mut self.begun[at], true)
    }
}

impl Metric for Notes {
    fn wants(&self) -> Wants {
        Wants { history: true, ..Wants::default() }
    }

    fn on_packet(&mut self, packet: &Facts, place: &Placed) {
        let begins = place.flow.is_some_and(|flow| self.begins(flow));
        // An undecided packet is noted with the verdict.
        let Some(class) = place.class else { return };
        if begins || self.matters(class) || packet.syndrome().is_some_and(is_negative) {
            self.note(place.frame, class, place.flow);
        }
    }

    fn on_verdict(&mut self, verdict: &Verdict) {
        if self.matters(verdict.class) {
            self.note(verdict.frame, verdict.class, None);
        }
    }

    fn on_history(&mut self, history: &History) {
        if *history != (History { frame: history.frame, ..History::default() })
            && self.histories.len() < self.most
        {
            self.histories.push(*history);
        }
    }

    fn on_retire(&mut self, FlowId(flow): FlowId) {
        self.begun[flow as usize] = false;
    }
}

pub(super) fn is_negative(syndrome: Syndrome) -> bool {
    !syndrome.is_ack()
}
