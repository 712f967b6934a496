//! Where each direction has a tap and a clock of its own: an answer that is stamped after what it made its requester do.
//!
//! No answer comes sooner than the shortest round trip. One that comes sooner after a sender went back had been under way before: it is
//! why the sender went back, and its clock is ahead by the difference at least.

use super::Requests;
use crate::analyze::model::Trigger;

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

    /// The shortest round trip, without what clocks that are apart add to it.
    pub(super) fn shortest_rtt(&self) -> Option<u32> {
        let ahead = self.trouble.get().map_or(0, |trouble| trouble.answers_ahead);
        self.rtt_min.map(|rtt| rtt.saturating_sub(u32::try_from(ahead).unwrap_or(u32::MAX)))
    }
}
