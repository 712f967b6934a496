//! Where each direction has a tap and a clock of its own: an answer that is stamped after what it made its requester do.
//!
//! No answer comes sooner than the shortest round trip. One that comes sooner after a sender went back had been under way before: it is
//! why the sender went back, and its clock is ahead by the difference at least.

use super::{
    Requests,
    recovery::{Asked, Episode},
};
use crate::analyze::{
    model::{Class, Trigger},
    track::{
        class::{Counts, Evidence, Place},
        history::widened,
        push_last,
        ring::SENT_AGAIN,
        sequence::SHORTEST_TIMER_NS,
    },
};

/// A NAK after which nothing that it asked for had come yet, or had come without being told as an answer.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(crate) struct Unmatched {
    x: u64,
    /// One past the highest PSN.
    hi: u64,
    time: i64,
    frame: u64,
    /// When the packet that it asked for seemed to come late, before it, and in which frame: the low bits of its number.
    late: Option<(i64, u32)>,
}

crate::heap::heap! { Unmatched {} }

/// Answers that were stamped before what they answer.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(crate) struct EarlyAnswers {
    /// The first one whose packet has not come: its PSN, and its time.
    waiting: Option<(u64, i64)>,
    /// The PSNs that are acknowledged so, and have not come, from one to another.
    unseen: (u64, u64),
    /// So many of which the packet came afterwards, and the longest time by which it did.
    pub(crate) count: u64,
    pub(crate) most_ns: i64,
}

/// One packet in so many is late where many are.
const MANY_ARE_LATE: u64 = 64;

/// Twice the time by which packets are late at most, as far as no timer is as short.
fn spread(counts: &Counts) -> i64 {
    let latest = i64::try_from(counts.trouble().max_late_ns).unwrap_or(i64::MAX);
    latest.saturating_mul(2).min(SHORTEST_TIMER_NS / 2)
}

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
        // With answers so late, the sender may have gone back for the next one already.
        let is_it = |episode: &Episode| {
            let late = time - episode.start;
            episode.x == x && is_open(episode.trigger) && (0..i64::from(rtt)).contains(&late)
        };
        let recent =
            recovery.episodes.iter().rev().take_while(|episode| time - episode.start < i64::from(rtt));
        let back = recent.clone().position(is_it).filter(|back| by == Trigger::Nak || *back == 0)?;
        let at = recovery.episodes.len() - 1 - back;
        let (earlier, since) = recovery.episodes.split_at_mut(at);
        let episode = since.first_mut()?;
        let late = time - episode.start;
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
        match by {
            Trigger::ImpliedNak => {
                trouble.data_late.count = trouble.data_late.count.saturating_add(1);
                trouble.data_late.most_ns = trouble.data_late.most_ns.max(late);
            }
            _ => trouble.answers_ahead = trouble.answers_ahead.max(late),
        }
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

    /// A NAK came that no sender had gone back for, as it seems.
    pub(super) fn note_unmatched(&mut self, x: u64, hi: u64, (time, frame): (i64, u64)) {
        const MOST: usize = 64;
        const NEAR: u64 = 64;
        let sent = self.seq.ring.get(x).filter(|_| x < hi && self.seq.rare.holes.get(x).is_none());
        let is_late = |came: i64| {
            let mut behind = (x + 1..hi.min(x + NEAR)).filter_map(|x| self.seq.ring.get(x));
            behind.any(|sent| sent.time < came)
        };
        let late = sent.filter(|sent| is_late(sent.time)).map(|sent| (sent.time, sent.frame));
        push_last(&mut self.trouble.naks, MOST, Unmatched { x, hi, time, frame, late });
    }

    /// How much the clock that stamps answers is ahead, at least.
    pub(crate) fn answers_ahead(&self) -> Option<i64> {
        self.is_apart().then(|| self.ahead())
    }

    /// An answer came to a packet that was not seen yet. So many PSNs up to it seem to be unseen.
    #[cold]
    pub(super) fn came_early(&mut self, x: u64, time: i64, unseen: u64) {
        let early = &mut self.trouble.answers_early;
        early.waiting.get_or_insert((x, time));
        if unseen > 0 {
            let (from, until) = (x + 1 - unseen, x + 1);
            early.unseen = if early.unseen.1 == from { (early.unseen.0, until) } else { (from, until) };
        }
    }

    /// What early answers acknowledge may have come since. If their packet did: no answer is sent before, so that it is stamped by another clock.
    #[inline]
    pub(super) fn judge_early(&mut self) {
        /// Clocks that are farther apart are another trouble: what comes later was sent again, or answered elsewhere.
        const FAR_NS: i64 = 10_000_000;
        let hi = self.seq.hi;
        let Some(trouble) = self.trouble.get_mut() else { return };
        let (from, until) = trouble.answers_early.unseen;
        let came = hi.min(until).saturating_sub(from);
        trouble.answers_early.unseen.0 += came;
        self.acked_unseen = self.acked_unseen.saturating_sub(came);
        let Some((x, time)) = trouble.answers_early.waiting.take_if(|(x, _)| *x < hi) else { return };
        let sent = self.seq.ring.get(x).filter(|_| self.seq.rare.holes.get(x).is_none());
        let sent = sent.filter(|sent| sent.flags & SENT_AGAIN == 0).map(|sent| sent.time);
        // Data within a READ has no request of its own.
        let read = self.reads.get().and_then(|reads| reads.at(x));
        let asked = read.filter(|read| read.first < x && read.again == 0).map(|read| read.time);
        let late = sent.or(asked).map(|sent| sent - time);
        let Some(late) = late.filter(|late| (1..FAR_NS).contains(late)) else { return };
        trouble.answers_early.count += 1;
        trouble.answers_early.most_ns = trouble.answers_early.most_ns.max(late);
    }

    /// Answers that were stamped before what they answer, where there are several.
    pub(crate) fn early_answers(&self) -> Option<EarlyAnswers> {
        const SEVERAL: u64 = 3;
        self.trouble.get().map(|trouble| trouble.answers_early).filter(|early| early.count >= SEVERAL)
    }

    /// The capture is over, and whether clocks are apart is known, by this flow or others: the NAKs that came before that was known find what
    /// they had asked for.
    pub(super) fn settle_apart(&mut self, others: i64) {
        let known = self.ahead();
        let Some(trouble) = self.trouble.get_mut() else { return };
        let (naks, ahead) = (std::mem::take(&mut trouble.naks), known.max(others));
        let limit = self.rtt_min.map_or(ahead, i64::from);
        let is_apart = ahead > 0;
        for nak in naks {
            let Some(recovery) = self.more.as_mut().and_then(|more| more.recovery.get_mut()) else { return };
            let episodes = &mut recovery.episodes;
            if episodes.iter().any(|episode| episode.nak_frame == Some(nak.frame)) {
                continue;
            }
            let is_its = |episode: &Episode| {
                let is_open = match episode.trigger {
                    Trigger::Unknown => true,
                    Trigger::Timeout => is_apart && episode.nak_frame.is_none(),
                    _ => false,
                };
                // What looked like copies, or seemed late, may hide the first packets that came again.
                let is_there = episode.x == nak.x || is_apart && (nak.x..nak.hi).contains(&episode.x);
                is_open && is_there && (0..limit).contains(&(nak.time - episode.start)) && !episode.is_of_data
            };
            if let Some(at) = episodes.iter().rposition(is_its) {
                self.was_asked_by(at, &nak);
                continue;
            }
            let late = nak.late.filter(|(came, _)| is_apart && (0..limit).contains(&(nak.time - came)));
            let Some((came, frame)) = late else { continue };
            let is_answered = |episode: &Episode| {
                (nak.x..nak.hi).contains(&episode.x) && (came..nak.time + limit).contains(&episode.start)
            };
            if !episodes.iter().any(is_answered) {
                self.hid_answer(&nak, came, frame);
            }
        }
    }

    /// The sender went back in this episode because of this NAK.
    fn was_asked_by(&mut self, at: usize, nak: &Unmatched) {
        let Some(recovery) = self.more.as_mut().and_then(|more| more.recovery.get_mut()) else { return };
        let Some(episode) = recovery.episodes.get_mut(at) else { return };
        let (before, first) = (std::mem::replace(&mut episode.trigger, Trigger::Nak), episode.first_frame);
        (episode.nak_frame, episode.nak_time) = (Some(nak.frame), Some(nak.time));
        let ahead = nak.time - episode.start;
        recovery.timeouts.retain(|timeout| timeout.frame != first);
        let triggers = &mut self.counts.trouble_mut().triggers;
        triggers[before as usize] = triggers[before as usize].saturating_sub(1);
        triggers[Trigger::Nak as usize] = triggers[Trigger::Nak as usize].saturating_add(1);
        self.trouble.answers_ahead = self.trouble.answers_ahead.max(ahead);
    }

    /// What seemed to be a late packet had been asked for by this NAK: it began an episode.
    fn hid_answer(&mut self, nak: &Unmatched, came: i64, frame: u32) {
        self.counts.triggered(Trigger::Nak);
        self.counts.episode(Place::Upstream, false);
        let recovery = self.more().recovery_mut();
        let at = recovery.episodes.partition_point(|episode| episode.start <= came);
        let frame = widened(nak.frame, frame);
        recovery.insert_episode(at, Episode::hidden(nak.x, (came, frame), (nak.time, nak.frame)));
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

    /// By how much the clock that stamps answers is ahead, at least. Data that comes just after its READ was requested again is no sign of that
    /// where other data came before: a requester that goes back for one READ asks for the next ones again, too, whose data is on its way.
    fn ahead(&self) -> i64 {
        let Some(trouble) = self.trouble.get() else { return 0 };
        let EarlyAnswers { count, most_ns, .. } = trouble.data_late;
        let implied = u64::from(self.counts.trouble().triggers[Trigger::ImpliedNak as usize]);
        let of_data = if 2 * count > implied { most_ns } else { 0 };
        trouble.answers_ahead.max(of_data)
    }

    /// Whether answers were stamped after what they made their requester do. Where many packets are late, one of them may seem to be answered
    /// before.
    pub(crate) fn is_apart(&self) -> bool {
        self.ahead() > 0 && self.few_are_late()
    }

    /// Where many packets are late, twice the time by which they are at most. No timer is as short.
    pub(super) fn spread_ns(&self) -> i64 {
        let of_data = self.reads.get().map_or(0, |reads| reads.spread_ns);
        if self.few_are_late() { of_data } else { spread(&self.counts).max(of_data) }
    }

    /// Where much of the data that was asked for is late, requests are, too, though they may be too few to show it.
    pub(crate) fn data_came(&mut self, counts: &Counts) {
        let is_late = counts.of(Class::LateOriginal) > counts.packets / MANY_ARE_LATE;
        if let Some(reads) = self.reads.get_mut().filter(|_| is_late) {
            reads.spread_ns = spread(counts);
        }
    }

    /// Whether answers are stamped by another clock than what they answer: before it, or after what they made their requester do.
    pub(crate) fn has_other_clock(&self) -> bool {
        self.is_apart() || self.early_answers().is_some()
    }

    /// By how much packets are late at most.
    pub(super) fn latest_ns(&self) -> i64 {
        i64::try_from(self.counts.trouble().max_late_ns).unwrap_or(i64::MAX)
    }

    /// Whether few packets are late at the tap.
    pub(super) fn few_are_late(&self) -> bool {
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
        let ahead = self.ahead();
        self.rtt_min.map(|rtt| rtt.saturating_sub(u32::try_from(ahead).unwrap_or(u32::MAX)))
    }
}
