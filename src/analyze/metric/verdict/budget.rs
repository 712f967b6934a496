//! Sums of what a flow's time went to.

use super::{
    CAUSES, LATE_NS, LATE_ROUND_TRIPS, MIN_LATE, PRIORITIES, Stop, UNUSUAL,
    gap::{Gap, Part},
    stops::{Done, Pauses, Stops, held},
};
use crate::{
    analyze::model::{FlowId, Space},
    report::TimeCause,
};

/// The first silences of a flow, where they are nothing but waiting, idleness, its pace, and what nothing explains. Most flows of large captures have no others,
/// and no sums of their own.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(super) struct Early {
    /// When the flow's requests, or its data, began.
    pub(super) start: i64,
    /// The path tag of the last one.
    pub(super) tag: u64,
    ns: [u64; Early::CAUSES.len()],
    /// The longest one in nanoseconds, and the frame that ended it.
    longest: [(u32, u32); Early::CAUSES.len()],
    /// Those in the middle of messages.
    paces: u32,
    pub(super) interface: u16,
    times: [u8; Early::CAUSES.len()],
}

impl Early {
    /// The causes of such silences.
    const CAUSES: [TimeCause; 4] =
        [TimeCause::Waiting, TimeCause::Idle, TimeCause::Unknown, TimeCause::Sending];
    const WAITING: usize = 0;
    const SENDING: usize = 3;
    /// One silence adds up to three.
    const MOST: u8 = 250;

    /// Nanoseconds in which the flow did not send.
    pub(super) fn silent_ns(&self) -> u64 {
        self.ns[..Early::SENDING].iter().fold(0, |sum, &ns| sum.saturating_add(ns))
    }

    /// Takes a silence, if it is such a one.
    pub(super) fn take(&mut self, gap: &Gap) -> bool {
        let mut known = *self;
        if known.start != gap.start {
            // Its queue pair was given to a new connection.
            known = Early { start: gap.start, ..Early::default() };
        }
        let mut pace = Pace(known.ns[Early::SENDING], known.paces);
        let parts = gap.parts(&mut pace, false).map(|part| (part.cause, part.to.saturating_sub(part.from)));
        let place = |cause: TimeCause| Early::CAUSES.iter().position(|&one| one == cause);
        // A long wait may be an answer that is late.
        let is_simple = |&(cause, ns): &(TimeCause, i64)| match place(cause) {
            Some(Early::WAITING) => ns <= LATE_NS,
            Some(_) => ns <= i64::from(u32::MAX),
            None => ns == 0,
        };
        let has_room = known.times.iter().all(|&times| times < Early::MOST);
        let Ok(frame) = u32::try_from(gap.frame) else { return false };
        if gap.again.is_some() || !has_room || !parts.iter().all(is_simple) {
            return false;
        }
        for (cause, ns) in parts.into_iter().filter(|&(_, ns)| ns > 0) {
            if let Some(at) = place(cause) {
                grow(&mut known.ns[at], ns as u64);
                known.times[at] += 1;
                known.longest[at] = known.longest[at].max((ns as u32, frame));
            }
        }
        *self = Early { paces: pace.1, tag: gap.tag, interface: gap.interface, ..known };
        true
    }

    pub(super) fn add_to(self, budget: &mut TimeBudget) {
        for (n, cause) in Early::CAUSES.into_iter().enumerate() {
            let at = cause as usize;
            grow(&mut budget.ns[at], self.ns[n]);
            budget.times[at] += u32::from(self.times[n]);
            let (ns, frame) = self.longest[n];
            budget.longest[at] = budget.longest[at].max((ns.into(), frame.into()));
        }
        budget.pace = Pace(self.ns[Early::SENDING], self.paces);
    }
}

/// Silences in the middle of messages: their sum and number.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(super) struct Pace(u64, u32);

impl Pace {
    /// Whether there was any.
    pub(super) fn is_known(self) -> bool {
        self.1 > 0
    }

    /// Whether a silence in the middle of a message is as long as such silences are.
    pub(super) fn is_usual(self, ns: u64) -> bool {
        let Pace(sum, times) = self;
        times == 0 || ns.saturating_mul(times as u64) <= sum.saturating_mul(UNUSUAL)
    }

    /// Takes a silence in the middle of a message. Returns its cause: the pace, if it is as long as such silences are.
    pub(super) fn take(&mut self, ns: u64) -> TimeCause {
        if !self.is_usual(ns) {
            return TimeCause::Unknown;
        }
        *self = Pace(self.0.saturating_add(ns), self.1.saturating_add(1));
        TimeCause::Sending
    }
}

/// What the time of one flow's requests, or READ data, went to.
#[derive(Clone, Debug, crate::stored::Stored)]
pub(super) struct TimeBudget {
    pub(super) flow: FlowId,
    /// Whether it is about its requests, or about its READ data.
    pub(super) space: Space,
    pub(super) start: i64,
    /// Nanoseconds by cause, without those of the sending.
    pub(super) ns: [u64; CAUSES],
    /// What the paused time would have gone to without pauses.
    pub(super) paused_from: [u64; CAUSES],
    /// The part of `ns` that came after the first CNP.
    pub(super) notified: [u64; CAUSES],
    /// The part of the waiting in which an answer was late, and how often.
    pub(super) late: (u64, u32),
    /// Silences by cause, and the longest one with its last frame.
    pub(super) times: [u32; CAUSES],
    pub(super) longest: [(u64, u64); CAUSES],
    /// When the first CNP for it came, and how many bytes it had sent.
    pub(super) first_cnp: Option<(i64, u64)>,
    pub(super) cnps: u64,
    pub(super) timeouts: u32,
    pub(super) naks: u32,
    pub(super) pace: Pace,
    /// The path tag of its last silence, the interface and priority by it, and how long that was paused before.
    pub(super) tag: u64,
    pub(super) place: (u16, u8),
    pub(super) asked_before: i64,
    /// The pauses that stopped it.
    pub(super) stops: Stops,
    /// The source whose pauses were in its longest paused silence.
    pub(super) paused_by: Option<u8>,
    /// A pause holds it, and the capture ends then.
    pub(super) held_until: Option<i64>,
    /// By priority, what pauses of it would have taken, while it is not known which one is its own.
    others: Option<Box<[Other; PRIORITIES]>>,
}

/// What pauses of a priority would have taken of a flow's time.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
struct Other {
    from: [u64; CAUSES],
    times: u32,
    longest: (u64, u64),
    stops: Stops,
    paused_by: Option<u8>,
}

/// Adds to a sum. The times of a capture may say anything.
fn grow(sum: &mut u64, ns: u64) {
    *sum = sum.saturating_add(ns);
}

impl TimeBudget {
    pub(super) fn new(flow: FlowId, space: Space, start: i64) -> TimeBudget {
        TimeBudget {
            flow,
            space,
            start,
            ns: [0; CAUSES],
            paused_from: [0; CAUSES],
            notified: [0; CAUSES],
            late: (0, 0),
            times: [0; CAUSES],
            longest: [(0, 0); CAUSES],
            first_cnp: None,
            cnps: 0,
            timeouts: 0,
            naks: 0,
            pace: Pace::default(),
            tag: 0,
            place: (0, 8),
            asked_before: 0,
            stops: Stops::default(),
            paused_by: None,
            held_until: None,
            others: None,
        }
    }

    /// Adds a time from `from` on, that ended with this frame; 0 without one.
    pub(super) fn add(&mut self, cause: TimeCause, ns: i64, from: i64, frame: u64) {
        let ns = ns.max(0) as u64;
        let at = cause as usize;
        if ns == 0 {
            return;
        }
        grow(&mut self.ns[at], ns);
        if self.first_cnp.is_some_and(|(since, _)| from >= since) {
            grow(&mut self.notified[at], ns);
        }
        self.times[at] = self.times[at].saturating_add(1);
        self.longest[at] = self.longest[at].max((ns, frame));
    }

    /// Adds the parts of a silence: what of them was in a pause goes to the pause. `elsewhere`: pauses of another link that the flow passes,
    /// where none of its own was.
    pub(super) fn divide(
        &mut self,
        gap: &Gap,
        parts: [Part; 3],
        (stops, elsewhere): (&[Stop], &[Stop]),
        done: &Done<'_>,
    ) {
        let mut left = parts.map(|part| part.to.saturating_sub(part.from));
        let which = if stops.is_empty() { Pauses::Elsewhere(elsewhere) } else { Pauses::Own(stops) };
        held(gap, &parts, which, |at, stop, ns| {
            left[at] = left[at].saturating_sub(ns);
            if ns as u64 > self.longest[TimeCause::Paused as usize].0 {
                self.paused_by = Some(stop.source);
            }
            self.add(TimeCause::Paused, ns, gap.from, gap.frame);
            grow(&mut self.paused_from[parts[at].cause as usize], ns as u64);
        });
        self.stops.take(gap, &parts, stops, done);
        self.add_left(gap, parts, left);
    }

    /// Adds the parts of a silence, of each what is left of it.
    #[inline]
    pub(super) fn add_left(&mut self, gap: &Gap, parts: [Part; 3], left: [i64; 3]) {
        for (Part { cause, patience, .. }, left) in parts.into_iter().zip(left) {
            if left <= 0 {
                continue;
            }
            self.add(cause, left, gap.from, gap.frame);
            let rtt = gap.rtt.map_or(i64::MAX / LATE_ROUND_TRIPS, i64::from);
            if patience.is_some_and(|most| left > LATE_NS && left > rtt.saturating_mul(most)) {
                grow(&mut self.late.0, left as u64);
                self.late.1 = self.late.1.saturating_add(1);
            }
        }
    }

    /// Notes what of a silence was in pauses of another priority than its own: if a map that comes later says that this is its own.
    pub(super) fn note_other(
        &mut self,
        priority: u8,
        gap: &Gap,
        parts: &[Part; 3],
        stops: &[Stop],
        done: &Done<'_>,
    ) {
        let others = &mut self.others;
        held(gap, parts, Pauses::Own(stops), |at, stop, ns| {
            let others = others.get_or_insert_with(Default::default);
            let Some(other) = others.get_mut(priority as usize) else { return };
            grow(&mut other.from[parts[at].cause as usize], ns as u64);
            other.times = other.times.saturating_add(1);
            if (ns as u64, gap.frame) > other.longest {
                (other.longest, other.paused_by) = ((ns as u64, gap.frame), Some(stop.source));
            }
        });
        if !stops.is_empty() {
            let others = self.others.get_or_insert_with(Default::default);
            others[priority as usize].stops.take(gap, parts, stops, done);
        }
    }

    /// Its priority is another one than was thought: no pause so far was one of that, but perhaps one of this.
    pub(super) fn change_priority(&mut self, priority: u8) {
        let at = TimeCause::Paused as usize;
        (self.ns[at], self.times[at], self.longest[at]) = (0, 0, (0, 0));
        for (ns, back) in self.ns.iter_mut().zip(std::mem::take(&mut self.paused_from)) {
            grow(ns, back);
        }
        (self.stops, self.paused_by) = (Stops::default(), None);
        let others = self.others.take();
        let other = others.and_then(|others| others.into_iter().nth(priority.into()));
        let Some(other) = other else { return };
        for (cause, from) in other.from.into_iter().enumerate() {
            let from = from.min(self.ns[cause]);
            self.ns[cause] -= from;
            self.paused_from[cause] = from;
            grow(&mut self.ns[at], from);
        }
        (self.times[at], self.longest[at]) = (other.times, other.longest);
        (self.stops, self.paused_by) = (other.stops, other.paused_by);
    }

    /// The part of the waiting beyond what this flow waits if answers are not late. A late answer takes the place of one that would have
    /// been waited for as usual, unless there are as many of those beside it. Usual are two round trips at most, for the rest of the
    /// way is after the tap.
    pub(super) fn late_ns(&self, rtt_ns: u64) -> u64 {
        let (late, times) = self.late;
        if self.space == Space::Response {
            // Of data, only the time beyond the shortest round trip counts as late. Few delays are a host that was busy for once.
            return if times < MIN_LATE { 0 } else { late };
        }
        let waiting = TimeCause::Waiting as usize;
        let others = self.times[waiting].saturating_sub(times);
        let usual = self.ns[waiting].saturating_sub(late).checked_div(others.into()).unwrap_or(u64::MAX);
        let replaced = u64::from(times.saturating_sub(others));
        late.saturating_sub(usual.min(2 * rtt_ns).saturating_mul(replaced))
    }
}
