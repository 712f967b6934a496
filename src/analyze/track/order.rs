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
    started: bool,
    up: u16,
    same: u16,
    other: u16,
    /// How many identifications were passed over, less those that came since.
    left_out: i16,
}

/// The number of steps that are needed for a conclusion.
const ENOUGH: u16 = 6;
/// So far ahead of the newest one, or behind it, an identification is still of the same order.
const NEAR: i16 = 0xfff;
/// So many of those that a step passes over may come late, and so many more than were passed over.
const MOST_LEFT_OUT: i16 = 16;
const FEW_LEFT_OUT: i16 = 8;

impl IdOrder {
    /// The identification of a packet that is no capture duplicate.
    #[inline]
    pub(crate) fn push(&mut self, id: u16) {
        if !self.started {
            (self.started, self.newest) = (true, id);
            return;
        }
        self.push_next(id);
    }

    /// The identification of any packet but the first.
    #[inline(always)]
    pub(crate) fn push_next(&mut self, id: u16) {
        let ahead = self.ahead(id);
        if ahead == 0 {
            // For adapters that keep it constant, every step.
            self.same += 1;
            return self.halve_if_full(self.same);
        }
        // What comes late was passed over before: it is no step back. Where numbers of several counters take turns, some are behind without end, and nothing
        // was passed over.
        let (left_out, is_late) = match ahead {
            1..=NEAR => (ahead.min(MOST_LEFT_OUT) - 1, false),
            _ => (-1, ahead >= -NEAR && self.left_out > -FEW_LEFT_OUT),
        };
        self.left_out = (self.left_out + left_out).clamp(-FEW_LEFT_OUT, NEAR);
        let count = if is_late {
            return;
        } else if left_out >= 0 {
            &mut self.up
        } else {
            &mut self.other
        };
        *count += 1;
        let count = *count;
        // If they are random, a branch would be mispredicted every other time.
        self.newest = select_unpredictable(ahead > 0, id, self.newest);
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

    /// Whether they increase: there are few steps back, but for those of packets that come late.
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
            _ if self.same >= ENOUGH && self.varied() == 0 => IpId::Constant,
            _ => IpId::Unknown,
        }
    }

    /// Whether they vary from packet to packet.
    #[inline]
    pub(crate) fn varies(&self) -> bool {
        self.varied() >= 4 && self.same as u32 <= self.varied() / 8
    }

    fn varied(&self) -> u32 {
        self.up as u32 + self.other as u32
    }
}
