//! READs and atomics that wait for their responses.

use std::collections::VecDeque;

use crate::{analyze::track::on_demand::quiet, heap::heap};

/// A READ or atomic whose response is still to come, or came recently.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(crate) struct Read {
    pub(crate) first: u64,
    /// One past its last PSN.
    pub(crate) end: u64,
    pub(crate) time: i64,
    /// One past the last response PSN seen in order.
    pub(crate) next: u64,
    /// The same, when it was last requested again.
    pub(super) next_before: u64,
    /// One past the last response that had come when it was last requested again, and the same of the time before.
    pub(super) reach: u64,
    pub(super) reach_before: u64,
    /// One past the last response that came.
    pub(super) last: u64,
    /// A response came since then that is no later than those: it is not of what was sent before. And the same of the time before.
    pub(super) is_repeated: bool,
    pub(super) was_repeated: bool,
    /// Its first response came.
    pub(super) answered: bool,
    /// When the first response since it was last requested came, and the same of the time before; 0 if none did.
    pub(super) came: i64,
    pub(super) came_before: i64,
    /// Responses seen, each once.
    pub(super) seen: u64,
    /// Its last response came, and the READ was requested once.
    pub(super) ended: bool,
    pub(super) complete: bool,
    pub(super) retried: bool,
    pub(crate) is_atomic: bool,
    /// Answers to an atomic since it was last requested.
    pub(super) results: u32,
    /// Its request, the last time but one, had arrived: an answer came since, or each of the two was answered.
    pub(super) had_arrived: bool,
    /// When it was requested again, and before that.
    pub(super) again: i64,
    pub(super) again_before: i64,
    /// One past the last PSN that its latest request asked for, and the one before that.
    pub(super) due: u64,
    pub(super) due_before: u64,
    /// When the first acknowledgement since it was last requested again passed the tap, of what is behind it; and that of the time before. 0: none
    /// did.
    pub(super) over: i64,
    pub(super) over_before: i64,
}

impl Read {
    /// Whether none of the data to come is of it: it is an atomic, whose answer is among the acknowledgements, or has its only response.
    pub(crate) fn awaits_no_data(&self) -> bool {
        self.is_atomic || self.answered && self.end - self.first == 1
    }

    /// Whether its latest request arrived, as an answer shows. One that goes on from the last answer may be of the request before.
    pub(super) fn has_arrived(&self) -> bool {
        self.came > 0 && (self.again == 0 || self.is_repeated)
    }

    /// Whether a response with this PSN belongs to it.
    pub(super) fn has(&self, x: u64) -> bool {
        self.first <= x && x < self.end
    }
}

/// State that only flows with READs or atomics need.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(super) struct Reads {
    pub(super) list: VecDeque<Read>,
    /// No READ of the list ends beyond this PSN.
    pub(super) end: u64,
    /// The list is not in the order of PSNs.
    pub(super) in_disorder: bool,
    /// A response beyond the expected one passed the tap.
    pub(super) out_of_sequence: bool,
    /// When the last response passed the tap.
    pub(super) last_time: i64,
    /// The PSN of the last acknowledgement, and when it passed the tap.
    pub(super) acked: (u64, i64),
    /// The first acknowledgement since a READ was last requested again, of what is behind it.
    pub(super) over: Option<i64>,
    /// One past the last PSN of the READ that was last requested again.
    pub(super) again_end: u64,
    /// Where many responses are late, twice the time by which they are.
    pub(super) spread_ns: i64,
    /// A response came whose request was not seen.
    pub(super) unasked: bool,
    /// The length of one was cut off.
    pub(super) any_cut: bool,
    /// Requests for atomics, each as often as it came, and answers to them.
    pub(super) atomics: u64,
    pub(super) results: u64,
    /// Answers to those that were requested again after them.
    pub(super) results_again: u64,
    /// A READ whose number of PSNs is a guess, and its length.
    pub(super) guess: Option<(u64, u32)>,
}

quiet!(Reads);

impl Reads {
    /// The position of the last READ with this PSN. If one ends before it, so do all READs before that one.
    #[inline(always)]
    pub(super) fn place(&self, x: u64) -> Option<usize> {
        let is_last = |read: &Read| read.end <= x && !self.in_disorder;
        let at = self.list.iter().rposition(|read| read.has(x) || is_last(read))?;
        self.list.get(at).filter(|read| read.has(x)).map(|_| at)
    }

    /// The last READ with this PSN.
    #[inline(always)]
    pub(super) fn at(&self, x: u64) -> Option<&Read> {
        self.list.get(self.place(x)?)
    }

    /// Whether a response to the READ with this PSN passed the tap.
    pub(super) fn is_answered(&self, x: u64) -> bool {
        self.at(x).is_some_and(|read| read.answered)
    }

    /// Whether a READ that comes after this one was answered.
    pub(super) fn is_answered_behind(&self, read: &Read) -> bool {
        self.from(read.end).any(|later| later.first >= read.end && later.answered)
    }

    /// One of them is requested again: the acknowledgement of what is behind the last one that was is of those before it, too.
    pub(super) fn keep_over(&mut self) {
        let Some(over) = self.over.take() else { return };
        let end = self.again_end;
        let is_over =
            |read: &&mut Read| read.over == 0 && read.end <= end && read.time.max(read.again) < over;
        self.list.iter_mut().filter(is_over).for_each(|read| read.over = over);
    }

    /// The READs that do not end before this PSN, and perhaps others.
    pub(super) fn from(&self, x: u64) -> impl Iterator<Item = &Read> {
        let before = self.list.iter().rposition(|read| read.end <= x).filter(|_| !self.in_disorder);
        self.list.range(before.map_or(0, |before| before + 1)..)
    }
}

heap! { Reads { list } Read {} }
