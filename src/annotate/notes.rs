//! The frames that get a comment.

use crate::{
    analyze::{
        Class, Facts, FlowId, FlowKey,
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
    /// The epoch of the flow that has this number, and one more; 0 before its first packet.
    begun: Vec<u32>,
    pub(super) beginnings: Vec<Beginning>,
}

/// A frame that gets a comment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Note {
    pub(super) frame: u64,
    pub(super) class: Class,
    pub(super) flow: Option<FlowId>,
    /// It is the first packet of its flow.
    pub(super) begins: bool,
    /// It is of no flow: it is corrupt, and its addresses and queue pair are those of none that was seen before.
    pub(super) is_stray: bool,
}

/// Where a flow began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beginning {
    pub(super) key: FlowKey,
    pub(super) epoch: u32,
    pub(super) frame: u64,
    pub(super) time_ns: i64,
}

/// Beginnings that are kept. They take about 70 bytes each.
const MOST_BEGINNINGS: usize = 1 << 21;

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
            beginnings: Vec::new(),
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

    fn note(&mut self, note: Note) {
        match self.list.len() < self.most {
            true => self.list.push(note),
            false => self.left_out += 1,
        }
    }

    /// Whether it is the first packet of its flow, which is noted.
    fn begins(&mut self, packet: &Facts, place: &Placed) -> bool {
        let Some(((FlowId(flow), key), epoch)) = place.flow.zip(packet.key()).zip(place.epoch) else {
            return false;
        };
        let at = flow as usize;
        if self.begun.len() <= at {
            self.begun.resize(at + 1, 0);
        }
        let begins = std::mem::replace(&mut self.begun[at], epoch + 1) != epoch + 1;
        if begins && self.beginnings.len() < MOST_BEGINNINGS {
            let (frame, time_ns) = (place.frame, packet.time());
            self.beginnings.push(Beginning { key: *key, epoch, frame, time_ns });
        }
        begins
    }
}

impl Metric for Notes {
    fn wants(&self) -> Wants {
        Wants { history: true, identity: true, ..Wants::default() }
    }

    fn on_packet(&mut self, packet: &Facts, place: &Placed) {
        let begins = self.begins(packet, place);
        // An undecided packet is noted with the verdict.
        let Some(class) = place.class else { return };
        if begins || self.matters(class) || packet.syndrome().is_some_and(is_negative) {
            let &Placed { frame, flow, .. } = place;
            self.note(Note { frame, class, flow, begins, is_stray: flow.is_none() });
        }
    }

    fn on_verdict(&mut self, verdict: &Verdict) {
        if self.matters(verdict.class) {
            let &Verdict { frame, class, .. } = verdict;
            self.note(Note { frame, class, flow: None, begins: false, is_stray: false });
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
        if let Some(begun) = self.begun.get_mut(flow as usize) {
            *begun = 0;
        }
    }
}

pub(super) fn is_negative(syndrome: Syndrome) -> bool {
    !syndrome.is_ack()
}
