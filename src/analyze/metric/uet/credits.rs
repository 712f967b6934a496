//! Credits of a context: what its sender wants, what its receiver gives, and for how long the one is more than the other.
//!
//! Both are counters of all that was wanted and given. In which unit is not public, so that only their difference is used.

use crate::wire::{PdsControl, PdsControlType};

#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(super) struct Credits {
    /// What is wanted and given in all, as said last.
    pub(super) target: Option<u32>,
    pub(super) given: Option<u32>,
    /// How much the second grew.
    pub(super) granted: u64,
    /// Answers and control packets that give more.
    pub(super) grants: u64,
    /// Control packets that ask for some.
    pub(super) requests: u64,
    /// The most by which more was wanted than given.
    pub(super) most_wanted: u64,
    /// Since when more is wanted than given.
    waits_since: Option<i64>,
    /// When one of both was said last.
    said_ns: i64,
    /// Waits that are over: all, and the longest.
    waited_ns: u64,
    longest_ns: u64,
}

impl Credits {
    /// The sender wants so much in all.
    pub(super) fn want(&mut self, target: u32, time: i64) {
        self.target = Some(target);
        self.compare(time);
    }

    /// The receiver has given so much in all.
    pub(super) fn give(&mut self, given: u32, time: i64) {
        self.said_ns = self.said_ns.max(time);
        let more = self.given.map_or(0, |before| ahead(given, before));
        if self.given.is_some() && more == 0 {
            // Said again, or overtaken by one that says more.
            return;
        }
        self.granted += u64::from(more);
        self.grants += 1;
        self.given = Some(given);
        self.compare(time);
    }

    pub(super) fn on_control(&mut self, control: &PdsControl) {
        match control.control_type() {
            PdsControlType::CREDIT => self.grants += 1,
            PdsControlType::CREDIT_REQUEST => self.requests += 1,
            _ => {}
        }
    }

    fn compare(&mut self, time: i64) {
        self.said_ns = self.said_ns.max(time);
        let Some((target, given)) = self.target.zip(self.given) else { return };
        let wanted = ahead(target, given);
        self.most_wanted = self.most_wanted.max(wanted.into());
        if wanted > 0 {
            self.waits_since.get_or_insert(time);
        } else if self.waits_since.is_some() {
            [self.waited_ns, self.longest_ns] = self.waited_until(time);
            self.waits_since = None;
        }
    }

    /// For how long the sender waited in all, and the longest wait. One that is not over is as long as it is known to hold.
    pub(super) fn waited(&self) -> [u64; 2] {
        self.waited_until(self.said_ns)
    }

    fn waited_until(&self, time: i64) -> [u64; 2] {
        let since = self.waits_since.unwrap_or(time);
        let last = u64::try_from(time.saturating_sub(since)).unwrap_or(0);
        [self.waited_ns.saturating_add(last), self.longest_ns.max(last)]
    }

    /// Whether both counters are known, so that they can be compared.
    pub(super) fn are_known(&self) -> bool {
        self.target.is_some() && self.given.is_some()
    }
}

/// How far the first counter, of 24 bits, is ahead of the second; 0 where it is behind.
fn ahead(counter: u32, before: u32) -> u32 {
    const MASK: u32 = 0xff_ffff;
    let more = counter.wrapping_sub(before) & MASK;
    if more > MASK / 2 { 0 } else { more }
}
