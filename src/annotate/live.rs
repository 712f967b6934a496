//! Annotating while frames come in.

use std::collections::{BTreeMap, VecDeque};

use super::{
    comment,
    directory::{Begun, Known},
    notes::{DEFAULT_MOST, Note, Notes},
};
use crate::{
    analyze::{Analysis, Options, metric::History},
    capture::{Error, Record, Time},
    dissect::{self, Link, dissect_with},
};

/// Annotates frames while they come in. Each waits a little, since the class of a packet shows only with the packets behind it;
/// what is decided later is not said.
///
/// Numbers of flows are in the order of their beginning, not those of a report. A connection has the smaller number of its two
/// flows.
pub struct Live {
    analysis: Analysis,
    dissect: dissect::Options,
    hold_ns: i64,
    /// Frames that came in.
    number: u64,
    waiting: VecDeque<OwnedFrame>,
    bytes: usize,
    notes: BTreeMap<u64, Note>,
    histories: BTreeMap<u64, History>,
    begun: Begun,
}

/// A frame with bytes of its own.
#[derive(Clone, Debug)]
pub struct OwnedFrame {
    time: Time,
    link: Link,
    interface: u16,
    wire_len: u32,
    frame: Box<[u8]>,
}

impl OwnedFrame {
    /// A copy of a frame.
    pub fn of(&Record { time, link, interface, wire_len, frame }: &Record<'_>) -> OwnedFrame {
        OwnedFrame { time, link, interface, wire_len, frame: frame.into() }
    }

    /// The frame.
    pub fn record(&self) -> Record<'_> {
        let &OwnedFrame { time, link, interface, wire_len, ref frame } = self;
        Record { time, link, interface, wire_len, frame }
    }
}

/// Frames wait no longer if there are more bytes of them.
const MOST_BYTES: usize = 64 << 20;

impl Live {
    /// Frames will wait for `hold_ns` nanoseconds.
    pub fn new(options: Options, hold_ns: u64) -> Live {
        Live {
            dissect: options.dissect,
            analysis: Analysis::with(options, Notes::new(DEFAULT_MOST)),
            hold_ns: i64::try_from(hold_ns).unwrap_or(i64::MAX),
            number: 0,
            waiting: VecDeque::new(),
            bytes: 0,
            notes: BTreeMap::new(),
            histories: BTreeMap::new(),
            begun: Begun::default(),
        }
    }

    /// Takes a frame.
    pub fn push(&mut self, frame: OwnedFrame) {
        self.analysis.push(&frame.record());
        self.number += 1;
        self.bytes += frame.frame.len();
        self.waiting.push_back(frame);
    }

    /// Gives the frames that have waited long enough at the time `now`, each with its comment, if it has one.
    ///
    /// # Errors
    /// That of `give`.
    pub fn give_until(
        &mut self,
        now: Time,
        mut give: impl FnMut(&Record<'_>, Option<&str>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.analysis.settle();
        self.take_notes();
        let until = now.0.saturating_sub(self.hold_ns);
        while self.waiting.front().is_some_and(|first| first.time.0 <= until || self.bytes > MOST_BYTES) {
            self.give_first(&mut give)?;
        }
        Ok(())
    }

    /// No more frames come: gives those that wait.
    ///
    /// # Errors
    /// That of `give`.
    pub fn finish(
        mut self,
        mut give: impl FnMut(&Record<'_>, Option<&str>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.analysis.decide();
        self.take_notes();
        while !self.waiting.is_empty() {
            self.give_first(&mut give)?;
        }
        Ok(())
    }

    /// Takes the notes on frames that still wait.
    fn take_notes(&mut self) {
        let first = self.number - self.waiting.len() as u64 + 1;
        let Some(notes) = self.analysis.metric_mut::<Notes>() else { return };
        notes.beginnings.clear();
        self.notes.extend(notes.list.drain(..).map(|note| (note.frame, note)).filter(|(n, _)| *n >= first));
        let histories = notes.histories.drain(..).map(|history| (history.frame, history));
        self.histories.extend(histories.filter(|(n, _)| *n >= first));
    }

    fn give_first(
        &mut self,
        give: &mut impl FnMut(&Record<'_>, Option<&str>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let number = self.number - self.waiting.len() as u64 + 1;
        let Some(owned) = self.waiting.pop_front() else { return Ok(()) };
        let record = owned.record();
        self.bytes -= record.frame.len();
        let note = self.notes.remove(&number);
        let history = self.histories.remove(&number).unwrap_or_default();
        let comment = note.and_then(|note| {
            let d = dissect_with(self.dissect, record.link, record.frame, record.wire_len);
            let known = self.begun.of(&d, &note).map(|(flow, first_frame)| {
                let (opposite, peer_qp) = self.analysis.opposite(flow);
                let connection = opposite.map(|opposite| flow.0.min(opposite.0));
                Known { flow: flow.0 as usize, connection, peer_qp, first_frame }
            });
            comment::write(&note, &history, &d, known.as_ref())
        });
        give(&record, comment.as_deref())
    }
}
