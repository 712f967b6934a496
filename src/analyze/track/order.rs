//! What a sender's IPv4 identifications tell of the order in which it sent.
//!
//! Linux counts them up for every packet to a host; adapters keep them constant, count them, or draw them at
//! random. Where a flow's packets were seen to count up, a packet whose number lies before others was sent before
//! them and overtaken; one whose number is the newest was sent last. Where they vary at all, equal numbers mean
//! one transmission.

use std::hint::select_unpredictable;

/// The identifications of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IdOrder {
    newest: u16,
    last: u16,
    started: bool,
    up: u16,
    same: u16,
    other: u16,
}

/// Steps to see before anything is concluded.
const ENOUGH: u16 = 6;

impl IdOrder {
    /// A packet that is no capture duplicate. `None` where it has no identification.
    #[inline]
    pub(crate) fn push(&mut self, id: u16) {
        if !self.started {
            (self.started, self.newest, self.last) = (true, id, id);
            return;
        }
        self.push_next(id);
    }

    /// One that is not the first.
    #[inline(always)]
    pub(crate) fn push_next(&mut self, id: u16) {
        let step = id.wrapping_sub(self.last);
        if step == 0 {
            // Of adapters that keep it constant, all of them.
            self.same += 1;
            return self.halve_if_full(self.same);
        }
        // A branch would be guessed wrong every other time where they are random.
        self.newest = select_unpredictable(self.ahead(id) > 0, id, self.newest);
        self.last = id;
        let count = if step <= 0xfff { &mut self.up } else { &mut self.other };
        *count += 1;
        let count = *count;
        self.halve_if_full(count);
    }

    #[inline(always)]
    fn halve_if_full(&mut self, count: u16) {
        if count == u16::MAX {
            self.halve();
        }
    }

    #[cold]
    fn halve(&mut self) {
        (self.up, self.same, self.other) = (self.up / 2, self.same / 2, self.other / 2);
    }

    /// How far this identification is ahead of the newest one seen.
    #[inline]
    pub(crate) fn ahead(&self, id: u16) -> i16 {
        id.wrapping_sub(self.newest) as i16
    }

    /// Whether they count up: few steps back, and each of those explained by one packet out of order.
    #[inline]
    pub(crate) fn counts_up(&self) -> bool {
        self.up >= ENOUGH && self.up / 4 >= self.other && self.same <= self.up / 8
    }

    /// Whether a packet with this identification was sent before others that were seen.
    #[inline(always)]
    pub(crate) fn is_overtaken(&self, id: u16) -> bool {
        // Asked in this order: where they are random, every other one is behind the newest, and nobody can tell which.
        self.counts_up() && self.ahead(id) < 0
    }

    /// Whether they vary from packet to packet.
    #[inline]
    pub(crate) fn varies(&self) -> bool {
        self.up as u32 + self.other as u32 >= 4
            && self.same as u32 <= (self.up as u32 + self.other as u32) / 8
    }
}
