//! The tails of bursts: what a sender that went back may have sent before, behind the last packet that the tap saw. All of a tail was
//! lost before the tap, if there was one: its sender sends it again, and that looks new.

use std::collections::VecDeque;

use crate::{
    analyze::track::{push_last, shadow::may_be_lost},
    heap::heap,
};

/// What a flow's tails may have been.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct Tails {
    /// The latest ones.
    latest: VecDeque<Tail>,
    /// Packets in tails before those: where the sender was asked to go back, and where a timer may have expired.
    asked: u64,
    timed: u64,
    /// The tails where a timer may have expired.
    timers: u32,
    /// Those where the sender was asked to go back.
    questions: u32,
    /// The gap that was filled last, and how many packets it has been filled with.
    filled: (u64, u64),
    /// PSNs of the longest gap, of READs packets, and the most that a sender went back.
    longest_gap: u64,
    farthest: u64,
    /// Packets that one of them may have beyond all that was ever outstanding: where a timer may have expired, and where the sender was asked.
    beyond: [u64; 2],
}

/// What was perhaps sent behind the highest PSN, and not seen.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(crate) struct Tail {
    /// One past the highest PSN then.
    pub(crate) hi: u64,
    /// Packets that it may have.
    pub(crate) most: u64,
    /// The sender went back without a silence: it was asked to.
    pub(crate) is_asked: bool,
    /// So many PSNs were outstanding before it, and nothing was answered yet.
    pub(crate) unanswered: Option<u64>,
}

/// A silence in which a timer may have expired more than once.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(crate) struct Wait {
    pub(crate) ns: i64,
    /// Packets that the timer was for.
    pub(crate) outstanding: u64,
    /// More do not fit into that time.
    pub(crate) room: u64,
    /// It ends with the first timeout.
    pub(crate) since_seen: bool,
}

heap! { Tails { latest } Tail {} Wait {} }

/// Tails that are kept; of older ones, the sums.
const LATEST: usize = 64;

impl Tails {
    /// The sender went back by so many PSNs.
    pub(crate) fn add(&mut self, tail: Tail, back: u64) {
        self.farthest = self.farthest.max(back);
        if tail.most == 0 {
            return;
        }
        self.timers = self.timers.saturating_add(u32::from(!tail.is_asked));
        self.questions = self.questions.saturating_add(u32::from(tail.is_asked));
        if self.latest.len() == LATEST
            && let Some(&oldest) = self.latest.front()
        {
            let most = oldest.until(tail.hi, 0);
            *(if oldest.is_asked { &mut self.asked } else { &mut self.timed }) += most;
        }
        push_last(&mut self.latest, LATEST, tail);
    }

    /// A tail may be so much longer than what was ever outstanding. Who has been at the end of its window does not go beyond it each time.
    pub(crate) fn goes_beyond(&mut self, tail: Tail, packets: u64) {
        let beyond = &mut self.beyond[usize::from(tail.is_asked)];
        *beyond = packets.max(*beyond);
        let is_new = tail.is_asked && tail.most == 0 && packets > 0;
        self.questions = self.questions.saturating_add(u32::from(is_new));
    }

    /// Whether packets are lost many at a time, as where a switch drops the tails of bursts: a tail is as long as its burst, then, and no chance tells of it.
    pub(crate) fn are_of_bursts(&self) -> bool {
        const MANY: u64 = 4;
        self.longest_gap >= MANY
    }

    /// So many PSNs were passed over at once.
    pub(crate) fn gap(&mut self, psns: u64) {
        self.longest_gap = self.longest_gap.max(psns);
    }

    /// A packet came that had been passed over, in the gap that began with this PSN.
    pub(crate) fn filled(&mut self, first: u64) {
        let (gap, packets) = self.filled;
        self.filled = (first, if gap == first { packets + 1 } else { 1 });
        self.longest_gap = self.longest_gap.max(self.filled.1);
    }

    /// The most packets that were passed over at once.
    pub(crate) fn longest_gap(&self) -> u64 {
        self.longest_gap
    }

    /// The most packets of all tails, where the sender has come to `hi` since and has had `reach` outstanding at most: those where a
    /// timer may have expired, and those where it was asked to go back.
    pub(crate) fn most(&self, hi: u64, reach: u64) -> (u64, u64) {
        let window = Some(reach).filter(|&reach| reach > 0);
        let reach = reach.max(self.farthest);
        let [timed, asked] = self.beyond;
        let sums = (self.timed.saturating_add(timed), self.asked.saturating_add(asked));
        self.latest.iter().fold(sums, |(timed, asked), tail| {
            // Nobody has much more outstanding at first than later, when answers come before its burst ends.
            let window =
                window.zip(tail.unanswered).map(|(window, had)| window.saturating_mul(2).saturating_sub(had));
            let tail = Tail { most: tail.most.min(window.unwrap_or(u64::MAX)), ..*tail };
            match (tail.is_asked, tail.until(hi, reach)) {
                (false, most) => (timed.saturating_add(most), asked),
                (true, most) => (timed, asked.saturating_add(most)),
            }
        })
    }

    /// How many packets may have been lost in tails for which a timer expired: one is why it did.
    pub(crate) fn may_be_lost_by_timers(&self, packets: u64, losses: u64, sent: u64) -> u64 {
        let timers = u64::from(self.timers);
        let most = self.may_be_lost(packets, losses.saturating_add(timers), sent);
        most.saturating_add(timers).min(packets)
    }

    /// How many of these packets, in tails of senders that were asked to go back, may have been lost: such a tail ends with the last packet
    /// that was sent, and all of it was lost. The last one is lost as often as others.
    pub(crate) fn may_be_lost_by_questions(&self, packets: u64, losses: u64, sent: u64) -> u64 {
        let tails = packets.min(self.questions.into());
        let longest = if self.longest_gap > 1 { 2 * self.longest_gap } else { 1 };
        let losses = may_be_lost(tails, losses, sent).unwrap_or(tails);
        losses.saturating_mul(longest).min(packets)
    }

    /// How many of these packets, in tails of senders that were asked to go back, may have been lost, if `losses` were seen among `sent`
    /// packets: they come as often behind the last packet of a burst as elsewhere, and are not much longer there.
    pub(crate) fn may_be_lost(&self, packets: u64, losses: u64, sent: u64) -> u64 {
        let longest = if self.longest_gap > 1 { 2 * self.longest_gap } else { 1 };
        let losses = may_be_lost(packets, losses, sent);
        losses.map_or(packets, |losses| losses.saturating_mul(longest).min(packets))
    }
}

impl Tail {
    /// What was in it was sent again since, and came, but for what is outstanding still.
    fn until(self, hi: u64, reach: u64) -> u64 {
        self.most.min(hi.saturating_sub(self.hi).max(reach))
    }
}

#[cfg(test)]
#[path = "../../../../tests/unit/analyze_track_request_tails.rs"]
mod tests;
