//! Frames that were written out of the order in which they passed: several queues, mirrors on several paths.
//!
//! Nothing may be called late for what only the capturing side did. So frames wait, a little longer than times run back, and
//! are seen in the order of their times; of a mirror that numbers its copies, in the order of those numbers. Where the first
//! frames are in order, none wait any more until one is not.

use std::collections::VecDeque;

use super::{Analysis, intake::Held};
use crate::analyze::metric::Metric;

/// Frames that wait for those before them.
pub(crate) struct Sorting {
    /// The newest time of any frame, and of those that wait no more.
    newest: i64,
    released: i64,
    /// Frames that are to wait: all, once one came late.
    left: u32,
    window: i64,
    waiting: VecDeque<Waiting>,
    bytes: usize,
}

struct Waiting {
    time: i64,
    number: u64,
    frame: Held,
}

/// Steps that are not worth anything: captures of several queues have them.
const JITTER_NS: i64 = 50;
/// Steps that are no disorder: files one after the other, clocks that were set.
const LONGEST_NS: i64 = 1_000_000;
const SHORTEST_NS: i64 = 20_000;
/// Frames that wait to begin with.
const AT_FIRST: u32 = 1024;
const MAX_WAITING: usize = 4096;
const MAX_BYTES: usize = 4 << 20;

impl Default for Sorting {
    fn default() -> Sorting {
        Sorting {
            newest: i64::MIN,
            released: i64::MIN,
            left: AT_FIRST,
            window: SHORTEST_NS,
            waiting: VecDeque::new(),
            bytes: 0,
        }
    }
}

impl Sorting {
    /// Whether a frame of this time need not wait.
    #[inline(always)]
    pub(crate) fn passes(&mut self, time: i64) -> bool {
        let is_next = time >= self.newest.saturating_sub(JITTER_NS);
        self.newest = self.newest.max(time);
        is_next & (self.left == 0)
    }

    /// Frames that wait.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// A mirror's copy came too late to be put into its place.
    pub(crate) fn miss(&mut self) {
        self.widen(self.window);
    }

    /// A frame came so late that it could not be put into its place: others wait longer.
    fn widen(&mut self, late: i64) {
        self.left = u32::MAX;
        self.window = self.window.max(2 * late).min(LONGEST_NS);
    }

    fn insert(&mut self, time: i64, number: u64, frame: Held) {
        let copy = frame.copy();
        let is_later = |one: &Waiting| match (copy, one.frame.copy()) {
            (Some(this), Some(other)) if this.key == other.key => {
                (1..1 << 20).contains(&other.number.wrapping_sub(this.number))
            }
            _ => one.time > time,
        };
        let mut at = self.waiting.len();
        while at > 0 && is_later(&self.waiting[at - 1]) {
            at -= 1;
        }
        let is_late = at < self.waiting.len();
        self.bytes += frame.bytes();
        self.waiting.insert(at, Waiting { time, number, frame });
        if is_late {
            self.left = u32::MAX;
        } else if self.left != u32::MAX {
            self.left = self.left.saturating_sub(1);
        }
    }

    /// The next one that waited long enough, or simply the next one.
    fn next(&mut self, at_once: bool) -> Option<Waiting> {
        let first = self.waiting.front()?;
        let is_full = self.waiting.len() > MAX_WAITING || self.bytes > MAX_BYTES;
        let waits = self.left > 0 && !is_full && !at_once;
        if waits && self.newest.saturating_sub(first.time) < self.window {
            return None;
        }
        let first = self.waiting.pop_front()?;
        self.bytes -= first.frame.bytes();
        self.released = self.released.max(first.time);
        Some(first)
    }
}

impl<M: Metric> Analysis<M> {
    /// A frame that waits for those before it. `time`: its own.
    #[inline(never)]
    pub(super) fn sort(&mut self, time: i64, frame: Held) {
        self.catch_up();
        let number = self.tracker.number() + self.intake.sorting.len() as u64 + self.intake.held() as u64 + 1;
        let late = self.intake.sorting.newest.max(self.tracker.capture.last).saturating_sub(time);
        if late > JITTER_NS && self.tracker.capture.packets + self.intake.sorting.len() as u64 > 0 {
            self.tracker.capture.steps_back += 1;
            if late < LONGEST_NS && (self.intake.sorting.left == 0 || time < self.intake.sorting.released) {
                self.intake.sorting.widen(late);
            }
        }
        self.intake.sorting.insert(time, number, frame);
        self.release_sorted(false);
    }

    fn release_sorted(&mut self, at_once: bool) {
        while let Some(Waiting { number, frame, .. }) = self.intake.sorting.next(at_once) {
            self.push_in_place(number, frame);
        }
    }

    /// Those that wait are seen now.
    pub(crate) fn flush_sorted(&mut self) {
        self.release_sorted(true);
    }
}
