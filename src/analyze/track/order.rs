//! The order in which a sender sent its packets, by their IPv4 identifications.
//!
//! Linux increments the identification for every packet to a host. Adapters keep it constant, increment it, or draw it at random.
//! If the identifications of a flow increase, a packet with a smaller one was sent before the others, and overtaken; a packet with
//! the largest one was sent last. If they vary in any way, equal identifications mean one transmission.

use std::hint::select_unpredictable;

use crate::report::IpId;

/// The identifications of a flow.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(crate) struct IdOrder {
    newest: u16,
    last: u16,
    started: bool,
    up: u16,
    same: u16,
    other: u16,
}

/// The number of steps that are needed for a conclusion.
const ENOUGH: u16 = 6;

/// A packet is overtaken by less than so many others of its host. One that seems to be farther behind comes after a silence in which its host sent
/// others: they share the counter, and it goes round.
const BEHIND: u16 = 0x1000;

/// How far an identification is ahead of another one; less than 0: it was sent before that.
#[inline]
pub(crate) fn ahead_of(id: u16, other: u16) -> i32 {
    i32::from(id.wrapping_sub(other).wrapping_add(BEHIND)) - i32::from(BEHIND)
}

impl IdOrder {
    /// The identification of a packet that is no capture duplicate.
    #[inline]
    pub(crate) fn push(&mut self, id: u16) {
        if !self.started {
            (self.started, self.newest, self.last) = (true, id, id);
            return;
        }
        self.push_next(id);
    }

    /// The identification of an acknowledgement that says what the last one said: with the same identification, it may be a copy of that one,
    /// and shows nothing.
    pub(crate) fn push_repeated(&mut self, id: u16) {
        if id != self.last {
            self.push(id);
        }
    }

    /// The queue pair's number is used anew: its next connection may number its packets from anywhere, in the same manner.
    pub(crate) fn begin_again(&mut self, id: u16) {
        (self.newest, self.last) = (id, id);
    }

    /// The identification of any packet but the first.
    #[inline(always)]
    pub(crate) fn push_next(&mut self, id: u16) {
        let step = id.wrapping_sub(self.last);
        if step == 0 {
            // For adapters that keep it constant, every step.
            self.same += 1;
            return self.halve_if_full(self.same);
        }
        // If they are random, a branch would be mispredicted every other time.
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
    pub(crate) fn ahead(&self, id: u16) -> i32 {
        ahead_of(id, self.newest)
    }

    /// Whether they increase: there are few steps back, and each is explained by one packet out of order.
    #[inline]
    pub(crate) fn counts_up(&self) -> bool {
        self.up >= ENOUGH && self.up / 4 >= self.other && self.same <= self.up / 8
    }

    /// Whether a packet with this identification was sent before others that were seen.
    #[inline(always)]
    pub(crate) fn is_overtaken(&self, id: u16) -> bool {
        // In this order, since random identifications make the second test unpredictable.
        self.counts_up() && self.ahead(id) < 0
    }

    /// How the sender numbers its packets.
    pub(crate) fn numbering(&self) -> IpId {
        match () {
            _ if self.counts_up() => IpId::CountsUp,
            _ if self.varies() => IpId::Varies,
            _ if self.same >= ENOUGH && self.up as u32 + self.other as u32 == 0 => IpId::Constant,
            _ => IpId::Unknown,
        }
    }

    /// Whether they vary from packet to packet.
    #[inline]
    pub(crate) fn varies(&self) -> bool {
        self.up as u32 + self.other as u32 >= 4
            && self.same as u32 <= (self.up as u32 + self.other as u32) / 8
    }
}
