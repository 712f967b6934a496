//! Whether wrong ICRCs say that packets are corrupt, by the rule of the analysis: if most are wrong, something rewrites packets on their way to
//! the capture, or the sender computes none. What follows commands and datagrams reads them then, as the analysis does.

use crate::{
    analyze::{HELD_BAD, HeldFrame, IcrcTrust, MAX_HELD, MAX_HELD_BYTES},
    capture::Record,
    dissect::{Dissection, Options, dissect_with},
    icrc::{self, State},
    wire::Kind,
};

/// What is known of the ICRCs of a capture, and the frames that wait until it is.
#[derive(Default)]
pub(crate) struct Doubt {
    trust: IcrcTrust,
    is_settled: bool,
    held: Vec<Waiting>,
    held_bad: u64,
    bytes: usize,
    /// Packets that were read although their ICRC is wrong.
    pub(crate) read: u64,
    /// Packets that were not, because of that.
    pub(crate) refused: u64,
}

/// When a frame is read.
pub(crate) enum Turn {
    Now,
    Later,
    /// Those that waited, this one behind them.
    All(Vec<Waiting>),
}

/// A frame that waits.
pub(crate) struct Waiting {
    number: u64,
    frame: HeldFrame,
    options: Options,
}

impl Waiting {
    /// Calls a function with its number, the frame and its dissection.
    pub(crate) fn with(&self, read: impl FnOnce(u64, &Record<'_>, &Dissection<'_>)) {
        let record = self.frame.record();
        read(self.number, &record, &dissect_with(self.options, record.link, record.frame, record.wire_len));
    }
}

impl Doubt {
    /// The next frame. The first ones wait if their ICRCs are wrong: the next few show what that means.
    #[inline]
    pub(crate) fn take(&mut self, number: u64, record: &Record<'_>, d: &Dissection<'_>) -> Turn {
        if self.is_settled || !d.has(Kind::Bth) { Turn::Now } else { self.wait(number, record, d) }
    }

    #[cold]
    fn wait(&mut self, number: u64, record: &Record<'_>, d: &Dissection<'_>) -> Turn {
        let icrc = icrc::verify(d);
        self.is_settled = icrc == State::Good;
        if self.held.is_empty() && icrc != State::Bad {
            return Turn::Now;
        }
        self.held.push(Waiting { number, frame: HeldFrame::new(record, icrc, None), options: d.options() });
        self.held_bad += u64::from(icrc == State::Bad);
        self.bytes += record.frame.len();
        if self.held_bad >= HELD_BAD {
            self.trust.give_up(HELD_BAD);
            self.is_settled = true;
        }
        self.is_settled |= self.held.len() >= MAX_HELD || self.bytes >= MAX_HELD_BYTES;
        if self.is_settled { Turn::All(self.release()) } else { Turn::Later }
    }

    /// The frames that still wait: no more come.
    pub(crate) fn release(&mut self) -> Vec<Waiting> {
        self.is_settled = true;
        std::mem::take(&mut self.held)
    }

    /// Whether a packet is read: its ICRC is right, or cannot be trusted.
    pub(crate) fn accepts(&mut self, d: &Dissection<'_>) -> bool {
        let icrc = icrc::verify(d);
        let is_read = self.trust.takes(icrc);
        self.read += u64::from(is_read && icrc == State::Bad);
        self.refused += u64::from(!is_read);
        is_read
    }
}

impl std::fmt::Debug for Doubt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Doubt { is_settled, read, refused, .. } = self;
        f.debug_struct("Doubt")
            .field("is_settled", is_settled)
            .field("read", read)
            .field("refused", refused)
            .finish_non_exhaustive()
    }
}
