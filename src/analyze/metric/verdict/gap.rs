//! A silence of requests or of READ data, and the causes of its parts.

use super::{LATE_ROUND_TRIPS, budget::Pace};
use crate::{
    analyze::{
        metric::{DataSilence, QUIET_NS, Silence},
        model::{FlowId, Space, Trigger},
    },
    report::TimeCause,
};

/// A silence, as this metric counts it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    pub(super) flow: FlowId,
    /// The frame that ended it.
    pub(super) frame: u64,
    /// When the flow's requests, or its data, began.
    pub(super) start: i64,
    pub(super) from: i64,
    pub(super) to: i64,
    /// Why what ended it was retransmitted.
    pub(super) again: Option<Trigger>,
    /// The packet before it was not the end of a message.
    pub(super) is_within: bool,
    /// Nothing ended it but the end of the capture.
    pub(super) is_open: bool,
    /// Without pauses it would be no silence.
    pub(super) is_pace: bool,
    /// What ended it begins a message.
    pub(super) begins: bool,
    /// Another timeout showed with what ended it.
    pub(super) shows_timeout: bool,
    /// Retransmitted packets so far.
    pub(super) retransmits: u64,
    /// Messages that were not complete then.
    pub(super) messages: u32,
    /// Messages that had begun before it, from the flow's first one on; `None` of READ data.
    pub(super) begun: Option<u64>,
    /// Packets before it, if it is open.
    pub(super) packets: u64,
    /// The shortest round trip so far.
    pub(super) rtt: Option<u32>,
    pub(super) interface: u16,
    pub(super) tag: u64,
    of: Of,
}

/// What is known of its middle.
#[derive(Clone, Copy, Debug)]
enum Of {
    /// When an answer last acknowledged something, whether any was seen, and whether all was acknowledged at the end.
    Requests { answered: i64, hears: bool, is_answered: bool },
    /// When the data was requested.
    Data { asked: Option<i64> },
}

/// A part of a silence, and its cause if no pause stands before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) cause: TimeCause,
    pub(super) from: i64,
    pub(super) to: i64,
    /// An answer that takes longer than so many round trips is late; `None` where nobody waits for one that may be.
    pub(super) patience: Option<i64>,
}

impl Part {
    const fn new(cause: TimeCause, from: i64, to: i64) -> Part {
        Part { cause, from, to, patience: None }
    }

    /// Of no length.
    const fn none(at: i64) -> Part {
        Part::new(TimeCause::Unknown, at, at)
    }
}

/// The mean time between so many packets.
pub(super) fn mean_ns(from: i64, to: i64, packets: u64) -> i64 {
    to.saturating_sub(from) / i64::try_from(packets).unwrap_or(i64::MAX).max(1)
}

impl From<&Silence> for Gap {
    fn from(silence: &Silence) -> Gap {
        let &Silence { from_ns: from, to_ns: to, answered_ns: answered, hears, is_answered, .. } = silence;
        Gap {
            flow: silence.flow,
            frame: silence.frame,
            start: silence.start_ns,
            from,
            to,
            again: silence.again,
            is_within: silence.is_within,
            is_open: silence.is_open,
            is_pace: silence.is_pace,
            begins: silence.begins,
            shows_timeout: silence.shows_timeout,
            retransmits: silence.retransmits,
            messages: silence.messages,
            begun: Some(silence.begun),
            packets: silence.packets,
            rtt: silence.rtt_ns,
            interface: silence.interface,
            tag: silence.path_tag,
            of: Of::Requests { answered, hears, is_answered },
        }
    }
}

impl From<&DataSilence> for Gap {
    fn from(silence: &DataSilence) -> Gap {
        Gap {
            flow: silence.flow,
            frame: silence.frame,
            start: silence.start_ns,
            from: silence.from_ns,
            to: silence.to_ns,
            again: silence.again,
            is_within: !silence.begins,
            is_open: silence.is_open,
            is_pace: silence.is_pace,
            begins: silence.begins,
            shows_timeout: false,
            retransmits: 0,
            messages: !silence.begins as u32,
            begun: None,
            packets: silence.packets,
            rtt: silence.rtt_ns,
            interface: silence.interface,
            tag: silence.path_tag,
            of: Of::Data { asked: silence.asked_ns },
        }
    }
}

impl Gap {
    /// Whether it is one of READ data, or of requests.
    pub(super) fn space(&self) -> Space {
        match self.of {
            Of::Requests { .. } => Space::Request,
            Of::Data { .. } => Space::Response,
        }
    }

    /// The mean time between the packets before it.
    pub(super) fn mean_ns(&self) -> i64 {
        mean_ns(self.start, self.from, self.packets)
    }

    /// Whether it is one of READ data.
    pub(super) fn is_data(&self) -> bool {
        matches!(self.of, Of::Data { .. })
    }

    pub(super) fn lasted(&self) -> i64 {
        self.to.saturating_sub(self.from)
    }

    /// Whether the answers that a sender of requests waits for did not come by this time.
    pub(super) fn is_unanswered_at(&self, time: i64) -> bool {
        matches!(self.of, Of::Requests { answered, is_answered: false, .. } if answered <= time)
    }

    /// Its parts in the order of time. `is_notified`: a CNP for the flow was seen.
    pub(super) fn parts(&self, pace: &mut Pace, is_notified: bool) -> [Part; 3] {
        match self.of {
            Of::Requests { answered, hears, is_answered } => {
                let (until, first, second) = self.causes(pace, is_notified, (answered, hears, is_answered));
                let part = |cause, from, to| {
                    let waits = cause == TimeCause::Waiting && self.again.is_none();
                    Part { patience: waits.then_some(LATE_ROUND_TRIPS), ..Part::new(cause, from, to) }
                };
                [part(first, self.from, until), part(second, until, self.to), Part::none(self.to)]
            }
            Of::Data { asked } => self.of_data(pace, asked),
        }
    }

    /// Up to when a silence of requests goes to its first cause, and the two causes.
    fn causes(
        &self,
        pace: &mut Pace,
        is_notified: bool,
        (answered, hears, is_answered): (i64, bool, bool),
    ) -> (i64, TimeCause, TimeCause) {
        let &Gap { from, to, .. } = self;
        let answered = answered.clamp(from, to);
        let rest = to.saturating_sub(answered);
        match self.again {
            Some(Trigger::Rnr) => return (answered, TimeCause::Waiting, TimeCause::NotReady),
            Some(_) => return (answered, TimeCause::Waiting, TimeCause::Recovering),
            None if !hears => return (from, TimeCause::Waiting, TimeCause::Unknown),
            None => {}
        }
        let has_answer = answered > from;
        if has_answer && rest <= self.reaction() {
            return (to, TimeCause::Waiting, TimeCause::Waiting);
        }
        if self.begins && (is_answered || !has_answer) {
            let is_pace = is_notified && pace.is_known() && pace.is_usual(rest as u64);
            return (
                answered,
                TimeCause::Waiting,
                if is_pace { TimeCause::Sending } else { TimeCause::Idle },
            );
        }
        (answered, TimeCause::Waiting, pace.take(rest as u64))
    }

    /// Between the tap and the requester the answer is not seen: that takes no longer than a round trip after the tap.
    fn reaction(&self) -> i64 {
        self.rtt.map_or(0, i64::from).saturating_add(QUIET_NS)
    }

    /// The parts of a silence of READ data: until a READ asks for it, the shortest time to the first response, and the rest.
    fn of_data(&self, pace: &mut Pace, asked: Option<i64>) -> [Part; 3] {
        let &Gap { from, to, .. } = self;
        let Some(asked) = asked.map(|asked| asked.clamp(from, to)) else {
            return [Part::new(TimeCause::Unknown, from, to), Part::none(to), Part::none(to)];
        };
        let cause =
            if asked.saturating_sub(from) <= self.reaction() { TimeCause::Waiting } else { TimeCause::Idle };
        let first = Part::new(cause, from, asked);
        let again = match self.again {
            Some(Trigger::Rnr) => Some(TimeCause::NotReady),
            Some(_) => Some(TimeCause::Recovering),
            None if !self.begins => Some(pace.take(to.saturating_sub(asked) as u64)),
            None => None,
        };
        if let Some(cause) = again {
            return [first, Part::new(cause, asked, to), Part::none(to)];
        }
        // Of a READ that was asked for earlier, a part of that time has passed.
        let due = match self.of {
            Of::Data { asked: Some(asked) } => asked.saturating_add(self.rtt.map_or(0, i64::from)),
            _ => asked,
        };
        let due = due.clamp(asked, to);
        let rest = Part { patience: Some(LATE_ROUND_TRIPS - 1), ..Part::new(TimeCause::Waiting, due, to) };
        [first, Part::new(TimeCause::Waiting, asked, due), rest]
    }
}
