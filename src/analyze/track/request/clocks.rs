//! Where each direction has a tap and a clock of its own: an answer that is stamped after what it made its requester do.
//!
//! No answer comes sooner than the shortest round trip. One that comes sooner after a sender went back had been under way before: it is
//! why the sender went back, and its clock is ahead by the difference at least.

use super::Requests;
use crate::analyze::model::Trigger;

impl Requests {
    /// An answer came that asks for this PSN again. Whether its requester had gone back to it already because of this answer. Then the
    /// last episode gets its cause.
    #[cold]
    pub(super) fn is_overdue(&mut self, x: u64, (time, frame): (i64, u64), by: Trigger) -> bool {
        let Some(rtt) = self.rtt_min else { return false };
        let Some(recovery) = self.more.as_mut().and_then(|more| more.recovery.get_mut()) else {
            return false;
        };
        let is_open = |trigger| match by {
            Trigger::Nak => matches!(trigger, Trigger::Unknown | Trigger::Timeout),
            _ => trigger == Trigger::Unknown,
        };
        let Some(episode) = recovery.episodes.last_mut() else { return false };
        let late = time - episode.start;
        if episode.x != x || !is_open(episode.trigger) || !(0..i64::from(rtt)).contains(&late) {
            return false;
        }
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
        true
    }

    /// The shortest round trip, without what clocks that are apart add to it.
    pub(super) fn shortest_rtt(&self) -> Option<u32> {
        let ahead = self.trouble.get().map_or(0, |trouble| trouble.answers_ahead);
        self.rtt_min.map(|rtt| rtt.saturating_sub(u32::try_from(ahead).unwrap_or(u32::MAX)))
    }
}
