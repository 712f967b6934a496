//! In which order frames are analyzed: that of the file, or that of their times.
//!
//! A packet must not count as late if only the capturing side changed the order. Queues that are flushed in turn give right times
//! in a wrong order; clocks that jitter give wrong times in the right order. The PSNs tell the two apart: in the right order, more
//! packets have the PSN that their flow expects. So where times step back, frames wait until enough of them are there to decide,
//! and again when that changes. In the order of times, a frame waits a little longer than times step back.
//!
//! Copies of a mirror that numbers them are analyzed in the order of the numbers. If the first frames are in order, no frame waits
//! until one comes too early.

use std::collections::VecDeque;

use super::{Analysis, held::Held};
use crate::{
    analyze::packet::{Facts, FastForm, key::Key},
    opcode::{Numbering, Opcode, Operation},
    report::FrameOrder,
    wire::Psn,
};

/// Frames that wait for those before them.
#[derive(crate::stored::Stored)]
pub(crate) struct Sorting {
    /// The latest time of all frames, since a clock was set.
    newest: i64,
    /// Frames that are not earlier need not wait.
    is_open: bool,
    mode: Mode,
    /// The user said which order is right.
    is_told: bool,
    /// How long frames wait in the order of times.
    window: i64,
    /// The latest time of frames that no longer wait.
    released: i64,
    /// Number and time of the last frame that did not simply pass.
    last: (u64, i64),
    /// The farthest that a frame came behind a later one, where it was decided which order is right.
    apart: i64,
    waiting: VecDeque<Waiting>,
    bytes: usize,
    by_time: Expected,
    by_file: Expected,
}

#[derive(Clone, Copy, PartialEq, Eq, crate::stored::Stored)]
enum Mode {
    /// Frames wait until it can be decided, for at least this time.
    Trial(i64),
    /// The two orders are the same.
    InOrder,
    /// Each frame waits for those with earlier times.
    Time,
    /// Times step back, and mean nothing. After so many more such frames, that is decided anew.
    File(u32),
}

#[derive(crate::stored::Stored)]
struct Waiting {
    time: i64,
    number: u64,
    frame: Held,
    place: Option<Place>,
}

/// A packet's place in its flow.
#[derive(Clone, Copy, crate::stored::Stored)]
pub(super) struct Place {
    flow: u32,
    psn: Psn,
    /// An acknowledgement: its PSN is not behind that of the one before.
    skips: bool,
}

/// How many packets have the PSN that their flow expects, in one of the orders.
#[derive(Default, crate::stored::Stored)]
struct Expected {
    /// The next PSN of a flow. Flows may share a slot.
    next: Vec<(u32, Psn)>,
    met: u32,
}

/// Smaller steps back in time are no disorder: captures of several queues have them.
const JITTER_NS: i64 = 50;
/// Larger steps back in time are no disorder: one file follows another, or a clock was set.
const LONGEST_NS: i64 = 100_000_000;
const SHORTEST_NS: i64 = 20_000;
/// This number of frames decides.
const ENOUGH: usize = 1024;
const MAX_WAITING: usize = 8192;
const MAX_BYTES: usize = 16 << 20;
/// After so many frames the order of times is weighed again, and after so many steps back that of the file.
const AGAIN: u32 = 8192;

impl Default for Sorting {
    fn default() -> Sorting {
        Sorting {
            newest: i64::MIN,
            is_open: false,
            mode: Mode::Trial(0),
            is_told: false,
            window: SHORTEST_NS,
            released: i64::MIN,
            last: (0, i64::MIN),
            apart: 0,
            waiting: VecDeque::new(),
            bytes: 0,
            by_time: Expected::default(),
            by_file: Expected::default(),
        }
    }
}

impl Place {
    pub(super) fn of(packet: &impl FastForm) -> Option<Place> {
        Place::new(&packet.key(), packet.fast().opcode(), packet.fast().psn())
    }

    pub(super) fn of_facts(facts: &Facts) -> Option<Place> {
        Place::new(facts.key()?, facts.opcode(), facts.psn())
    }

    fn new(key: &Key, opcode: Opcode, psn: Psn) -> Option<Place> {
        let shape = opcode.shape();
        let is_response = match shape.operation? {
            Operation::AtomicAcknowledge | Operation::Cnp => return None,
            operation => operation == Operation::ReadResponse,
        };
        let skips = opcode.operation() == Some(Operation::Acknowledge);
        let is_in_order = opcode.service().numbering() == Numbering::InOrder;
        let space = u32::from(is_response) | u32::from(skips) << 1;
        is_in_order.then(|| Place { flow: key.digest() ^ space, psn, skips })
    }
}

impl Expected {
    const SLOTS: usize = 1024;

    fn take(&mut self, place: Option<Place>) {
        /// An acknowledgement is for no more packets.
        const MOST: i32 = 1 << 16;
        let Some(Place { flow, psn, skips }) = place else { return };
        self.next.resize(Self::SLOTS, (0, Psn(0)));
        let slot = &mut self.next[flow as usize % Self::SLOTS];
        let is_met = |next: Psn| next == psn || skips && (0..MOST).contains(&psn.distance_from(next));
        self.met += (slot.0 == flow && is_met(slot.1)) as u32;
        *slot = (flow, psn.plus(1));
    }

    fn of(places: impl Iterator<Item = Option<Place>>) -> Expected {
        let mut expected = Expected::default();
        places.for_each(|place| expected.take(place));
        expected
    }
}

impl Sorting {
    /// Frames in this order; `None`: in the one that proves right.
    pub(crate) fn new(order: Option<FrameOrder>) -> Sorting {
        let mut sorting = Sorting { is_told: order.is_some(), ..Sorting::default() };
        match order {
            Some(FrameOrder::Time) => sorting.enter(Mode::Time),
            Some(FrameOrder::File) => sorting.enter(Mode::File(AGAIN)),
            Some(FrameOrder::Unknown) | None => {}
        }
        sorting
    }

    /// Whether a frame of this time need not wait.
    #[inline(always)]
    pub(crate) fn passes(&mut self, time: i64) -> bool {
        let is_next = time >= self.newest.saturating_sub(JITTER_NS);
        self.newest = self.newest.max(time);
        is_next & self.is_open
    }

    /// The latest time of all frames, since a clock was set.
    pub(crate) fn newest(&self) -> i64 {
        self.newest
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// The order in which frames are analyzed, where the two differ, and how far in nanoseconds.
    pub(crate) fn order(&self) -> Option<(FrameOrder, u64)> {
        let order = match self.mode {
            Mode::File(_) => FrameOrder::File,
            Mode::Time => FrameOrder::Time,
            Mode::Trial(_) | Mode::InOrder => return None,
        };
        (self.apart > 0).then_some((order, self.apart.unsigned_abs()))
    }

    /// A mirror's copy came too late to be put into its place.
    pub(crate) fn miss(&mut self) {
        self.sort_by_time(self.window);
    }

    fn enter(&mut self, mode: Mode) {
        self.mode = mode;
        self.is_open = matches!(mode, Mode::InOrder | Mode::File(_));
        (self.by_time, self.by_file) = (Expected::default(), Expected::default());
    }

    /// From now on, frames wait for others that come so late.
    fn sort_by_time(&mut self, late: i64) {
        self.window = self.window.max(late.saturating_mul(2)).min(2 * LONGEST_NS);
        if self.mode != Mode::Time && !self.is_told {
            self.enter(Mode::Time);
        }
    }

    /// Whether time steps back to this frame, from the one before it.
    fn steps_back(&mut self, time: i64, number: u64) -> bool {
        let before = if self.last.0 + 1 == number { self.last.1 } else { self.newest };
        self.last = (number, time);
        number > 1 && before.saturating_sub(time) > JITTER_NS
    }

    /// A frame comes so long after a later one. Returns whether it waits.
    fn takes(&mut self, late: i64) -> bool {
        match &mut self.mode {
            Mode::Trial(_) | Mode::Time => true,
            Mode::File(_) if self.is_told => false,
            Mode::InOrder => {
                self.enter(Mode::Trial(2 * late));
                true
            }
            Mode::File(left) if late <= self.apart.saturating_mul(2) && *left > 0 => {
                *left -= 1;
                false
            }
            Mode::File(_) => {
                self.enter(Mode::Trial(2 * late));
                true
            }
        }
    }

    fn insert(&mut self, waiting: Waiting) {
        let copy = waiting.frame.copy();
        let is_later = |one: &Waiting| match (copy, one.frame.copy()) {
            (Some(this), Some(other)) if this.key == other.key => {
                (1..1 << 20).contains(&other.number.wrapping_sub(this.number))
            }
            _ => one.time > waiting.time,
        };
        let mut at = self.waiting.len();
        while at > 0 && is_later(&self.waiting[at - 1]) {
            at -= 1;
        }
        if let Some(latest) = self.waiting.back().filter(|_| at < self.waiting.len()) {
            self.apart = self.apart.max(latest.time.saturating_sub(waiting.time));
        }
        self.bytes += waiting.frame.captured();
        if self.mode == Mode::Time {
            self.by_file.take(waiting.place);
            // Others that come so late are to be put into their place.
            if waiting.time < self.released {
                self.apart = self.apart.max(self.newest.saturating_sub(waiting.time));
                self.sort_by_time(self.apart);
            }
        }
        self.waiting.insert(at, waiting);
    }

    fn is_full(&self) -> bool {
        self.waiting.len() >= MAX_WAITING || self.bytes > MAX_BYTES
    }

    /// Decides, if there are enough frames, or no more will come.
    fn decide(&mut self, at_once: bool) {
        match self.mode {
            Mode::Trial(span) => {
                let ends = self.waiting.front().zip(self.waiting.back());
                let waited = ends.is_some_and(|(first, last)| last.time.saturating_sub(first.time) >= span);
                if at_once || self.is_full() || self.waiting.len() >= ENOUGH && waited {
                    self.end_trial(at_once);
                }
            }
            // A few more are chance.
            Mode::Time if self.by_file.met >= AGAIN && !self.is_told => {
                let is_wrong = self.by_file.met > self.by_time.met + AGAIN / 8 + self.waiting.len() as u32;
                (self.by_time, self.by_file) = (Expected::default(), Expected::default());
                if is_wrong {
                    self.take_order_of_file();
                }
            }
            _ => {}
        }
    }

    fn end_trial(&mut self, at_once: bool) {
        if self.waiting.iter().map(|one| one.number).is_sorted() {
            return self.go_on_in_order(at_once);
        }
        let mut by_file: Vec<_> = self.waiting.iter().map(|one| (one.number, one.place)).collect();
        by_file.sort_unstable_by_key(|(number, _)| *number);
        let by_file = Expected::of(by_file.into_iter().map(|(_, place)| place)).met;
        let by_time = Expected::of(self.waiting.iter().map(|one| one.place)).met;
        match by_file > by_time {
            true => self.take_order_of_file(),
            false if self.apart > JITTER_NS || by_time > by_file => self.sort_by_time(self.apart),
            false => {
                self.restore_order_of_file();
                self.go_on_in_order(at_once);
            }
        }
    }

    /// The frames that wait are in order. If they are all that came, others may show more.
    fn go_on_in_order(&mut self, at_once: bool) {
        if let Some(last) = self.waiting.back().filter(|_| !at_once) {
            // Those before them may have had another clock.
            self.newest = last.time;
            self.enter(Mode::InOrder);
        }
    }

    fn take_order_of_file(&mut self) {
        self.enter(Mode::File(AGAIN));
        self.restore_order_of_file();
    }

    fn restore_order_of_file(&mut self) {
        self.waiting.make_contiguous().sort_unstable_by_key(|one| one.number);
    }

    /// The next frame that has waited long enough; with `at_once`, the next frame.
    fn next(&mut self, at_once: bool) -> Option<Waiting> {
        let first = self.waiting.front()?;
        let waits = match self.mode {
            Mode::Trial(_) => true,
            Mode::Time => self.newest.saturating_sub(first.time) < self.window && !self.is_full(),
            Mode::InOrder | Mode::File(_) => false,
        };
        if waits && !at_once {
            return None;
        }
        let first = self.waiting.pop_front()?;
        self.bytes -= first.frame.captured();
        self.released = self.released.max(first.time);
        if self.mode == Mode::Time {
            self.by_time.take(first.place);
        }
        Some(first)
    }
}

impl Analysis {
    /// A frame that waits for those before it. `time`: its own.
    #[inline(never)]
    pub(super) fn sort(&mut self, time: i64, frame: Held, place: Option<Place>) {
        self.catch_up();
        let number = self.tracker.number() + self.intake.sorting.len() as u64 + self.intake.held() as u64 + 1;
        let sorting = &mut self.intake.sorting;
        self.tracker.capture.steps_back += sorting.steps_back(time, number) as u64;
        let mut late = sorting.newest.saturating_sub(time);
        if late >= LONGEST_NS {
            self.flush_sorted();
            let sorting = &mut self.intake.sorting;
            (sorting.newest, sorting.released, late) = (time, i64::MIN, 0);
        }
        let sorting = &mut self.intake.sorting;
        if (late > JITTER_NS || !sorting.is_open) && sorting.takes(late) {
            sorting.insert(Waiting { time, number, frame, place });
            sorting.decide(false);
            self.release_sorted(false);
        } else {
            self.push_in_place(number, frame);
        }
        self.tracker.capture.order = self.intake.sorting.order();
    }

    fn release_sorted(&mut self, at_once: bool) {
        while let Some(Waiting { number, frame, .. }) = self.intake.sorting.next(at_once) {
            self.push_in_place(number, frame);
        }
    }

    /// Analyzes all frames that wait.
    pub(crate) fn flush_sorted(&mut self) {
        self.intake.sorting.decide(true);
        self.tracker.capture.order = self.intake.sorting.order();
        self.release_sorted(true);
    }
}
