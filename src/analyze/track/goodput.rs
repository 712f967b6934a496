//! What a flow delivered lately, at the cost of a comparison per acknowledgement: two marks, of which the older one is
//! given up when the newer one is old enough.

/// Where a flow's goodput stood.
#[derive(Clone, Copy, Debug)]
struct Mark {
    time: i64,
    bytes: u64,
}

/// No mark.
const NEVER: Mark = Mark { time: i64::MIN, bytes: 0 };

/// Marks at least ten round trips apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    older: Mark,
    newer: Mark,
}

/// Round trips that a rate is taken over, at least.
const SPAN: i64 = 10;
/// ... and at most: a flow that nobody acknowledges for so long has stopped.
const STALL: i64 = 100;

impl Marks {
    /// The flow stands here. Where ten round trips are over since the newer mark, there is one more.
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

    /// From when on there is another one.
    #[inline(always)]
    pub(crate) fn due(&self, rtt: u32) -> i64 {
        self.newer.time.saturating_add(span(rtt))
    }

    /// How far marks are apart at least; `None` where the way to the next one may be longer than a `u32` tells before the flow
    /// has stopped.
    pub(crate) fn apart(rtt: u32) -> Option<u32> {
        let may_be_told = STALL * (rtt as i64) < u32::MAX as i64;
        may_be_told.then_some(span(rtt) as u32)
    }

    /// When the last one was set.
    pub(crate) fn last(&self) -> i64 {
        self.newer.time
    }

    /// There were marks meanwhile, at the same goodput: the last one at this time, so many nanoseconds after the one before.
    pub(crate) fn go_on(&mut self, time: i64, took: u32, bytes: u64, rtt: u32) {
        let before = time.saturating_sub(took as i64);
        let past = if before == self.newer.time { self.newer } else { Mark { time: before, bytes } };
        *self = Marks { older: past.unless_stopped(took as i64, rtt), newer: Mark { time, bytes } };
    }

    /// The flow begins anew.
    pub(crate) fn restart(&mut self, time: i64, bytes: u64) {
        *self = Marks { older: NEVER, newer: Mark { time, bytes } };
    }

    /// The rate from the older mark on, in bit/s.
    pub(crate) fn rate(&self, time: i64, bytes: u64) -> Option<u64> {
        self.older.rate_to(Mark { time, bytes })
    }
}

/// A flow's way from a mark to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passed {
    /// When the former was set.
    pub(crate) since: i64,
    from: Mark,
    now: Mark,
}

impl Passed {
    /// The rate, in bit/s; `None` where the flow had stopped, or there was no mark.
    pub(crate) fn rate(&self) -> Option<u64> {
        self.from.rate_to(self.now)
    }
}

impl Default for Marks {
    fn default() -> Marks {
        Marks { older: NEVER, newer: NEVER }
    }
}

/// How far marks are apart at least.
#[inline(always)]
fn span(rtt: u32) -> i64 {
    (SPAN * rtt as i64).max(1)
}

impl Mark {
    /// The mark, if the way to the next one took no longer than a flow may take.
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
