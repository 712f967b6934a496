//! Why a packet has its class: what went before it. It is kept only for metrics that ask for it.

use std::cell::RefCell;

use super::{
    class::Place,
    step::{GapFill, Packet, Step},
};
use crate::analyze::model::{Class, Trigger};

/// What went before a packet that was retransmitted, late, recorded twice, or new after a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The packet's frame number, from 1.
    pub frame: u64,
    /// The frame that had this PSN before; `None` if the capture has none.
    pub previous: Option<u64>,
    /// Why it was retransmitted.
    pub trigger: Trigger,
    /// The frame that asked for it: a NAK, or a repeated READ request.
    pub asked: Option<u64>,
    /// Where the packet was lost that it repeats.
    pub lost: Place,
    /// It was retransmitted although its acknowledgement had passed the tap.
    pub is_acknowledged: bool,
    /// It was retransmitted only because its sender goes back: a packet before it was missing. It had passed the tap.
    pub is_behind: bool,
    /// A packet that was sent later had come before it.
    pub is_overtaken: bool,
    /// PSNs between the expected one and that of the packet: they were missing when it came.
    pub gap: u64,
    /// Nanoseconds since a packet that was sent later had passed the tap; `None` unless that is known.
    pub late_ns: Option<u64>,
}

impl History {
    /// What the sequence knows of a packet whose class is known at once.
    pub(crate) fn of(p: &Packet, step: &Step, class: Class) -> History {
        let widen = |before: u32| widened(p.frame, before);
        let previous = step.before.map(|(_, frame)| widen(frame));
        let gap = if class == Class::NewAfterGap { step.gap } else { 0 };
        History { frame: p.frame, previous, gap, is_overtaken: step.overtaken, ..History::default() }
    }

    /// What is known of a packet that filled a hole.
    pub(crate) fn of_fill(fill: &GapFill, class: Class) -> History {
        let late = (fill.time - fill.hole_time).max(0) as u64;
        let is_late = class == Class::LateOriginal;
        let late_ns = is_late.then_some(late);
        History { frame: fill.frame, late_ns, is_overtaken: is_late || fill.overtaken, ..History::default() }
    }
}

/// The number of an earlier transmission's frame, of which the low bits are remembered. Frames that were written out of order are sorted
/// by time: then the earlier transmission may be a few frames behind in the file.
pub(super) fn widened(frame: u64, before: u32) -> u64 {
    const MOST_BEHIND: u32 = 1 << 24;
    let (back, ahead) = ((frame as u32).wrapping_sub(before), before.wrapping_sub(frame as u32));
    match ahead <= MOST_BEHIND {
        true => frame.saturating_add(ahead.into()),
        false => frame.saturating_sub(back.into()),
    }
}

/// The histories of the packets at hand.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histories {
    is_wanted: bool,
    list: RefCell<Vec<History>>,
}

impl Histories {
    pub(crate) fn new(is_wanted: bool) -> Histories {
        Histories { is_wanted, list: RefCell::default() }
    }

    /// Keeps a history, if one is wanted.
    #[inline]
    pub(crate) fn keep(&self, make: impl FnOnce() -> History) {
        if self.is_wanted {
            self.list.borrow_mut().push(make());
        }
    }

    /// Gives all of them, and forgets them.
    #[inline]
    pub(crate) fn drain(&self, give: impl FnMut(History)) {
        if self.is_wanted {
            self.list.borrow_mut().drain(..).for_each(give);
        }
    }
}
