//! The recent goodput of a flow, at the cost of one comparison per acknowledgement. Two marks are kept. The older one is dropped
//! when the newer one is old enough.

/// The goodput of a flow at some time.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct Mark {
    time: i64,
    bytes: u64,
}

/// No mark.
const NEVER: Mark = Mark { time: i64::MIN, bytes: 0 };

/// Marks at least ten round trips apart.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(crate) struct Marks {
    older: Mark,
    newer: Mark,
}

/// A rate is taken over at least so many round trips.
const SPAN: i64 = 10;
/// ... and at most over so many: a flow that is not acknowledged for longer has stopped.
const STALL: i64 = 100;

impl Marks {
    /// The goodput at a time. After ten round trips since the newer mark, a new mark is set.
    #[inline]
    pub(crate) fn pass(&mut self, time: i64, bytes: u64, rtt: Option<u32>) -> Option<Passed> {
        let rtt = rtt?;
        if time < self.due(rtt) {
            return None;
        }
        let (past, now) = (self.newer, Mark { time, bytes });
        let from = past.unless_stopped(time.saturating_sub(past.time), rtt);
        *self = Marks { older: from, newer: now };
        Some(Passed { since: past.time, from, now })
    }

    /// When the next mark is due.
    #[inline(always)]
    pub(crate) fn due(&self, rtt: u32) -> i64 {
        self.newer.time.saturating_add(span(rtt))
    }

    /// The smallest distance of two marks; `None` if the distance may exceed a `u32` before the flow has stopped.
    pub(crate) fn apart(rtt: u32) -> Option<u32> {
        let may_be_told = STALL * (rtt as i64) < u32::MAX as i64;
        may_be_told.then_some(span(rtt) as u32)
    }

    /// When the last mark was set.
    pub(crate) fn last(&self) -> i64 {
        self.newer.time
    }

    /// Catches up with marks at constant goodput. The last one was set at `time`, `took` nanoseconds after the one before.
    pub(crate) fn go_on(&mut self, time: i64, took: u32, bytes: u64, rtt: u32) {
        let before = time.saturating_sub(took as i64);
        let past = if before == self.newer.time { self.newer } else { Mark { time: before, bytes } };
        *self = Marks { older: past.unless_stopped(took as i64, rtt), newer: Mark { time, bytes } };
    }

    /// Restarts with this mark.
    pub(crate) fn restart(&mut self, time: i64, bytes: u64) {
        *self = Marks { older: NEVER, newer: Mark { time, bytes } };
    }

    /// The rate from the older mark on, in bit/s.
    pub(crate) fn rate(&self, time: i64, bytes: u64) -> Option<u64> {
        self.older.rate_to(Mark { time, bytes })
    }
}

/// The interval from one mark to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passed {
    /// When the earlier mark was set.
    pub(crate) since: i64,
    from: Mark,
    now: Mark,
}

impl Passed {
    /// The rate in bit/s; `None` if the flow had stopped, or there was no mark.
    pub(crate) fn rate(&self) -> Option<u64> {
        self.from.rate_to(self.now)
    }
}

impl Default for Marks {
    fn default() -> Marks {
        Marks { older: NEVER, newer: NEVER }
    }
}

/// The smallest distance of two marks.
#[inline(always)]
fn span(rtt: u32) -> i64 {
    (SPAN * rtt as i64).max(1)
}

impl Mark {
    /// The mark, unless the flow had stopped before the next one.
    fn unless_stopped(self, took: i64, rtt: u32) -> Mark {
        if took > STALL * rtt as i64 { NEVER } else { self }
    }

    fn rate_to(self, now: Mark) -> Option<u64> {
        if self.time == NEVER.time {
            return None;
        }
        let ns = u64::try_from(now.time.checked_sub(self.time)?).ok().filter(|&ns| ns > 0)?;
        let bits = 8 * now.bytes.checked_sub(self.bytes)? as u128;
        u64::try_from(bits * 1_000_000_000 / ns as u128).ok()
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/analyze_track_goodput.rs"]
mod tests;
