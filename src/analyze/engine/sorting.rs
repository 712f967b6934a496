//! Sorts frames that the capture has out of order: captures of several queues, mirrors on several paths.
//!
//! A packet must not count as late if only the capturing side changed the order. So frames wait a little longer than times step
//! back, and are analyzed in the order of their times. Copies of a mirror that numbers them are analyzed in the order of the
//! numbers. If the first frames are in order, no frame waits until one comes too early.

use std::collections::VecDeque;

use super::{Analysis, held::Held};

/// Frames that wait for those before them.
#[derive(serde::Serialize, serde::Deserialize)]
pub(crate) struct Sorting {
    /// The newest time of all frames, and of those that no longer wait.
    newest: i64,
    released: i64,
    /// How many frames are still to wait: all, after one came late.
    left: u32,
    window: i64,
    waiting: VecDeque<Waiting>,
    bytes: usize,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Waiting {
    time: i64,
    number: u64,
    frame: Held,
}

/// Smaller steps back in time are no disorder: captures of several queues have them.
const JITTER_NS: i64 = 50;
/// Larger steps back in time are no disorder: one file follows another, or a clock was set.
const LONGEST_NS: i64 = 1_000_000;
const SHORTEST_NS: i64 = 20_000;
/// At the beginning, this number of frames wait.
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

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// A mirror's copy came too late to be put into its place.
    pub(crate) fn miss(&mut self) {
        self.widen(self.window);
    }

    /// A frame came too late to be put into its place: from now on frames wait longer.
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

    /// The next frame that has waited long enough; with `at_once`, the next frame.
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

impl Analysis {
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

    /// Analyzes all frames that wait.
    pub(crate) fn flush_sorted(&mut self) {
        self.release_sorted(true);
    }
}
