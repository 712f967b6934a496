//! Where each direction has a tap and a clock of its own: an answer that is stamped after what it made its requester do.
//!
//! No answer comes sooner than the shortest round trip. One that comes sooner after a sender went back had been under way before: it is
//! why the sender went back, and its clock is ahead by the difference at least.

use super::{Requests, recovery::Asked};
use crate::analyze::{
    model::{Class, Trigger},
    track::{class::Evidence, push_last},
};

impl Requests {
    /// An answer came that asks for this PSN again. Whether its requester had gone back to it already because of this answer: then the
    /// last episode gets its cause, and it is said when the packet that was refused or lost had passed the tap, if it had, and when it came
    /// again.
    #[cold]
    pub(super) fn is_overdue(
        &mut self,
        x: u64,
        (time, frame): (i64, u64),
        by: Trigger,
    ) -> Option<(Option<i64>, i64)> {
        let rtt = self.rtt_min?;
        let recovery = self.more.as_mut().and_then(|more| more.recovery.get_mut())?;
        let is_open = |trigger| match by {
            Trigger::Nak => matches!(trigger, Trigger::Unknown | Trigger::Timeout),
            _ => trigger == Trigger::Unknown,
        };
        let (episode, earlier) = recovery.episodes.split_last_mut()?;
        let late = time - episode.start;
        if episode.x != x || !is_open(episode.trigger) || !(0..i64::from(rtt)).contains(&late) {
            return None;
        }
        // A pass since then that left it out lost it before the tap.
        let is_left_out = |passed: i64| {
            let mut since = earlier.iter().rev().take_while(|before| before.start > passed);
            since.any(|before| before.x < x)
        };
        let passed = (episode.original_time.filter(|&passed| !is_left_out(passed)), episode.start);
        let before = std::mem::replace(&mut episode.trigger, by);
        if by == Trigger::Nak {
            (episode.nak_frame, episode.nak_time) = (Some(frame), Some(time));
        }
        let first = episode.first_frame;
        recovery.timeouts.retain(|timeout| timeout.frame != first);
        let triggers = &mut self.counts.trouble_mut().triggers;
        triggers[before as usize] = triggers[before as usize].saturating_sub(1);
        triggers[by as usize] = triggers[by as usize].saturating_add(1);
        let trouble = &mut *self.trouble;
        trouble.suspect = None;
        trouble.answers_ahead = trouble.answers_ahead.max(late);
        Some(passed)
    }

    /// The response that a requester asked for again for no reason that shows, if a later one comes: by a clock that is ahead, the requester had
    /// seen that one, and noticed the gap. What the tap saw in order was not, behind it.
    pub(super) fn asked_early(&self, x: u64) -> Option<u64> {
        if !self.is_recovering || !self.few_are_late() {
            return None;
        }
        let last = self.more.as_ref()?.recovery.get()?.episodes.last()?;
        (last.trigger == Trigger::Unknown && x > last.x).then_some(last.x)
    }

    /// The NAK that a sender went back for, to this PSN, where its clock is ahead: it came while the first packet waited for its verdict.
    pub(super) fn take_early_nak(&mut self, x: u64, time: i64) -> Option<Asked> {
        let rtt = i64::from(self.rtt_min?);
        let is_tidy = self.counts.of(Class::LateOriginal) == 0 || self.is_apart();
        let trouble = self.trouble.get_mut().filter(|_| is_tidy)?;
        let is_it = |nak: &mut Asked| nak.x == x && (1..rtt).contains(&(nak.time - time));
        let nak = trouble.asked.take_if(is_it)?;
        trouble.answers_ahead = trouble.answers_ahead.max(nak.time - time);
        Some(nak)
    }

    /// A packet was recorded again sooner than an answer can come: so it seems to be a copy.
    pub(super) fn copied_soon(&mut self, x: u64, end: u64, time: i64) {
        const MOST: usize = 8;
        let copies = &mut self.trouble.copied_soon;
        match copies.back_mut() {
            // What is repeated behind another one was not asked for.
            Some((_, next, _)) if *next == x => *next = end,
            _ => push_last(copies, MOST, (x, end, time)),
        }
    }

    /// A NAK asks for this PSN. Whether its requester had gone back to it already because of this NAK, and what it sent then looked like copies:
    /// its clock is ahead, and no answer comes as late as it seemed.
    pub(super) fn learn_from_copies(&mut self, x: u64, time: i64) {
        let Some((rtt, trouble)) = self.rtt_min.zip(self.trouble.get_mut()) else { return };
        let ahead = |&(first, _, at): &(u64, u64, i64)| {
            let ahead = time - at;
            (first == x && (1..i64::from(rtt)).contains(&ahead)).then_some(ahead)
        };
        if let Some(ahead) = trouble.copied_soon.iter().rev().find_map(ahead) {
            trouble.answers_ahead = trouble.answers_ahead.max(ahead);
        }
    }

    /// The last NAK asks for a packet that seemed to have come late, just before it. Whoever gets a NAK sends that packet again: one that
    /// does not, and goes on, had done so, and its clock is ahead of that of the NAK.
    pub(super) fn judge_unanswered(&mut self, time: i64) {
        const SEVERAL: u8 = 2;
        let Some((rtt, trouble)) = self.rtt_min.map(i64::from).zip(self.trouble.get_mut()) else { return };
        let is_over = |nak: &Asked| nak.was_late && self.una > nak.x && time - nak.time > 2 * rtt;
        let Some(nak) = trouble.asked.filter(is_over) else { return };
        let Some(sent) = self.seq.ring.get(nak.x).filter(|sent| (1..rtt).contains(&(nak.time - sent.time)))
        else {
            return;
        };
        trouble.asked = Some(Asked { was_late: false, ..nak });
        trouble.unanswered = trouble.unanswered.saturating_add(1);
        if trouble.unanswered >= SEVERAL {
            trouble.answers_ahead = trouble.answers_ahead.max(nak.time - sent.time);
        }
    }

    /// Whether answers were stamped after what they made their requester do. Where many packets are late, one of them may seem to be answered
    /// before.
    pub(crate) fn is_apart(&self) -> bool {
        self.trouble.get().is_some_and(|trouble| trouble.answers_ahead > 0) && self.few_are_late()
    }

    /// Whether few packets are late at the tap.
    pub(super) fn few_are_late(&self) -> bool {
        const MANY_ARE_LATE: u64 = 64;
        self.counts.of(Class::LateOriginal) <= self.counts.packets / MANY_ARE_LATE
    }

    /// Where clocks are apart, packets that came again sooner than answers seemed to be able to: late ones, and copies. Those may have been
    /// retransmitted.
    pub(super) fn too_soon(&self) -> [u64; 2] {
        [Class::LateOriginal, Class::CaptureDuplicate].map(|class| {
            let is_it = |&(of, by, _): &(Class, Evidence, u64)| (of, by) == (class, Evidence::RoundTrip);
            let found = self.counts.evidence().filter(is_it).map(|(_, _, packets)| packets);
            if self.is_apart() { found.sum() } else { 0 }
        })
    }

    /// The shortest round trip, without what clocks that are apart add to it.
    pub(super) fn shortest_rtt(&self) -> Option<u32> {
        let ahead = self.trouble.get().map_or(0, |trouble| trouble.answers_ahead);
        self.rtt_min.map(|rtt| rtt.saturating_sub(u32::try_from(ahead).unwrap_or(u32::MAX)))
    }
}
