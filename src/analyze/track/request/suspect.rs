//! Timeouts of packets that had passed the tap: the packet was lost, its acknowledgement, or neither. What comes behind them tells.

use super::Requests;
use crate::analyze::{model::Class, track::class::Place};

/// A timeout whose cause shows only later.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(crate) struct Suspect {
    pub(crate) x: u64,
    pub(crate) end: u64,
    /// The responder had asked for it, and answers no packet behind it.
    pub(crate) was_asked: bool,
    /// So many requests from it on had arrived, as their answers show.
    pub(crate) arrived: u64,
    pub(crate) acks: u32,
    pub(crate) time: i64,
    /// How long nothing had been acknowledged, and this not been sent, until then.
    pub(crate) waited: i64,
    /// One past the highest PSN then, and one past those that the responder had, if it had all that passed the tap.
    pub(crate) hi: u64,
    pub(crate) had: u64,
}

/// A packet that the responder still lacked when a timer had expired: it acknowledged those before it, or the repetition of the one before it.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(crate) struct Lacked {
    pub(crate) x: u64,
    /// The packet that the sender went back to, and when.
    pub(crate) first: u64,
    pub(crate) since: i64,
    /// The originals before this packet had arrived. Otherwise one of them may have been lost instead.
    pub(crate) is_it: bool,
}

impl Requests {
    /// A timeout on a packet that had passed the tap: the packet was lost, or its acknowledgement, or neither.
    pub(crate) fn suspect(&mut self, x: u64, end: u64, (time, waited): (i64, i64)) {
        self.judge_suspect();
        let last = self.more.as_ref().and_then(|more| more.recovery().episodes.last());
        let was_asked = last.is_some_and(|last| last.x == x && last.nak_frame.is_some());
        let (hi, had) = (self.seq.hi, self.responder.expected());
        let arrived = self.arrived_from(x);
        self.trouble.suspect = Some(Suspect { x, end, was_asked, arrived, acks: 0, time, waited, hi, had });
    }

    pub(crate) fn judge_suspect(&mut self) {
        let Some(suspect) = self.trouble.get_mut().and_then(|trouble| trouble.suspect.take()) else { return };
        // Two acknowledgements of two transmissions: both had arrived. Of READs, that says nothing of their data.
        if suspect.acks >= 2 && !self.is_read(suspect.x) {
            self.now_known(suspect.x, Place::Unknown, (Place::AckPath, false));
        } else {
            self.may_all_be_lost(&suspect);
            self.counts.lost(Place::AckPath, 0, 1);
        }
    }

    /// Nothing tells what was lost before this timeout: all that was outstanding may be.
    pub(crate) fn may_all_be_lost(&mut self, suspect: &Suspect) {
        let outstanding = self.packets_in(suspect.x..self.seq.hi).max(1).saturating_sub(suspect.arrived);
        let hidden = if suspect.was_asked { outstanding.saturating_sub(1) } else { 0 };
        self.counts.lost_in_shadow(outstanding, hidden);
    }

    /// An acknowledgement beyond the packets that were retransmitted: the originals had arrived.
    #[cold]
    pub(crate) fn judge_suspect_by(&mut self, x: u64, time: i64) {
        let Some(suspect) = self.trouble.suspect else { return };
        let soon = self.rtt_min.is_some_and(|rtt| time - suspect.time < rtt as i64);
        // A receiver that keeps early packets may acknowledge more than was retransmitted. That READs arrived does not tell whether their data did.
        if self.is_read(suspect.x) {
            self.judge_suspect();
        } else if soon || x >= self.seq.cur && self.goes_back() {
            self.trouble.suspect = None;
            self.counts.lost(Place::AckPath, 0, 1);
            self.now_known(suspect.x, Place::Unknown, (Place::AckPath, false));
            // Those behind had not.
            let lacked = self.packets_in(x + 1..suspect.hi.max(x + 1));
            self.counts.lost(Place::Downstream, 0, lacked);
        } else {
            self.judge_suspect();
        }
    }

    /// After a timeout, the responder acknowledges less than had passed the tap before: it lacks the next packet, which had passed long ago, or
    /// lacked one before it until that came again. Whoever takes packets in order acknowledges all that it has when it gets one again.
    #[cold]
    pub(super) fn note_lacked(&mut self, x: u64, time: i64) {
        let Some((suspect, rtt)) = self.trouble.get().and_then(|trouble| trouble.suspect).zip(self.rtt_min)
        else {
            return;
        };
        let waited = time - suspect.time;
        // It is the answer to a repetition, and as soon as answers are: nothing waits on its way.
        let is_answer = waited >= i64::from(rtt) * 3 / 4 && waited <= self.thrice_rtt.max(2 * i64::from(rtt));
        // A responder that lets answers wait for as long as the timer ran may be answering the originals only now: it need lack nothing.
        let is_answer = is_answer && suspect.waited > self.thrice_rtt;
        if x + 1 >= suspect.had || !is_answer || self.trouble.lacked.is_some() || self.is_read(suspect.x) {
            return;
        }
        let is_it = x >= self.seq.cur;
        self.trouble.lacked = Some(Lacked { x: x + 1, first: suspect.x, since: suspect.time, is_it });
    }

    /// A packet that the responder lacked when a timer had expired is acknowledged: since it came again, or it had only been late.
    #[cold]
    pub(super) fn judge_lacked(&mut self, una: u64, time: i64) {
        let Some(Lacked { x, first, since, is_it }) = self.trouble.lacked.filter(|lacked| una > lacked.x)
        else {
            return;
        };
        self.trouble.lacked = None;
        // Who takes packets in order and has what did not come again yet lacked nothing.
        if una > self.seq.cur {
            return;
        }
        let again = self.seq.ring.get(x).map(|sent| sent.time).filter(|&sent| sent >= since);
        let answers = |sent: i64| self.rtt_min.is_some_and(|rtt| time - sent >= i64::from(rtt) * 3 / 4);
        let has_late = self.trouble.late_behind > 0 || self.counts.of(Class::LateOriginal) > 0;
        if !again.is_some_and(answers) || has_late || !self.goes_back() {
            return;
        }
        let more = self.more.as_ref().and_then(|more| more.recovery.get());
        let is_open = |place: Option<Place>| matches!(place, None | Some(Place::Unknown | Place::AckPath));
        let place = more
            .and_then(|more| {
                more.episodes.iter().rev().find(|episode| episode.x == first && is_open(episode.place))
            })
            .map(|episode| episode.place.unwrap_or_default());
        let Some(place) = place else { return };
        self.counts.prove(Place::Downstream);
        self.trouble.lost_behind_sure += 1;
        let lacked_ns = self.rtt_min.map(|rtt| time - since - i64::from(rtt)).filter(|&ns| ns > 0);
        if let Some(episode) = self.now_known(first, place, (Place::Downstream, true)) {
            (episode.is_last, episode.lacked_ns) = (true, lacked_ns);
            if is_it {
                (episode.x, episode.original_frame, episode.original_time) = (x, None, None);
            }
        }
    }
}
