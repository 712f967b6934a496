//! The answers of the other direction to requests.

use super::{
    Requests, TrackConfig, UNKNOWN, Waiting,
    recovery::{Asked, NotReady, Trouble},
};
use crate::{
    analyze::{
        model::Trigger,
        track::{
            class::Place,
            measured::What,
            responder_model::Nakked,
            ring::{ACK_EXPECTED, SENT_AGAIN, UNSURE},
            step::Resolved,
        },
    },
    opcode::Operation,
    wire::{Acknowledgement, NakCode, Psn, Syndrome},
};

/// An acknowledgement, or a response that is one too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Response {
    pub(crate) psn: Psn,
    pub(crate) operation: Operation,
    pub(crate) syndrome: Option<Syndrome>,
    pub(crate) time: i64,
    pub(crate) frame: u64,
    /// Where it was recorded.
    pub(crate) interface: u16,
    /// The response stream had it before.
    pub(crate) repeated: bool,
}

impl Response {
    /// A READ response that is the next one.
    #[inline(always)]
    pub(crate) fn with_data(psn: Psn, (time, frame, interface): (i64, u64, u16)) -> Response {
        let operation = Operation::ReadResponse;
        Response { psn, operation, syndrome: None, time, frame, interface, repeated: false }
    }
}

/// A packet that is acknowledged so soon after the capture began was sent before: the capture began during a recovery.
pub(super) const START_NS: i64 = 100_000;

impl Requests {
    /// Takes an answer of the responder.
    #[inline]
    pub(crate) fn answer(&mut self, response: &Response, resolved: &mut Vec<Resolved>, config: &TrackConfig) {
        if !self.seq.is_started() {
            return;
        }
        self.acks_seen += 1;
        self.is_answered_on(response.interface);
        let x = self.seq.unwrap(response.psn);
        let meaning = response.syndrome.map_or(Acknowledgement::Ack { credits: None }, Syndrome::meaning);
        match (response.operation, meaning) {
            (Operation::Acknowledge, Acknowledgement::Ack { .. }) => {
                self.acknowledge(x, response, resolved, config)
            }
            (Operation::Acknowledge, Acknowledgement::RnrNak { timer_us }) => {
                self.rnr(x, timer_us, response, resolved, config)
            }
            (Operation::Acknowledge, Acknowledgement::Nak(NakCode::PsnSequenceError)) => {
                self.nak(x, response, resolved, config)
            }
            (Operation::Acknowledge, Acknowledgement::Nak(_)) => {
                self.fatal = response.syndrome.map(|s| s.0);
                self.trouble.refused.get_or_insert(response.time);
                self.progress(x, response.time, resolved, config);
            }
            (Operation::ReadResponse | Operation::AtomicAcknowledge, _) => {
                self.read_response(x, response, resolved, config)
            }
            _ => {}
        }
    }

    #[inline]
    pub(crate) fn acknowledge(
        &mut self,
        x: u64,
        response: &Response,
        resolved: &mut Vec<Resolved>,
        config: &TrackConfig,
    ) {
        self.judge_early();
        let began = response.time - self.seq.start_time < self.thrice_rtt.max(START_NS);
        if x >= self.seq.hi && !began {
            // An acknowledged packet was never seen: the capture lost it, it took another path, or it is stamped later than its answer.
            let unseen = (x + 1).saturating_sub(self.seq.hi.max(self.una)).min(1 << 20);
            self.acked_unseen += unseen;
            self.came_early(x, response.time, unseen);
        }
        if let Some(reads) = self.reads.get_mut() {
            reads.acked = (x, response.time);
            if reads.again_end > 0 && x + 1 >= reads.again_end {
                reads.over.get_or_insert(response.time);
            }
        }
        if self.una != 0 && x + 1 < self.una {
            return;
        }
        self.time_ack(x, response.time, config);
        if let Some(suspect) = self.trouble.get().and_then(|trouble| trouble.suspect)
            && x >= suspect.x
        {
            self.note_lacked(x, response.time);
        }
        if let Some(suspect) = self.trouble.get_mut().and_then(|trouble| trouble.suspect.as_mut()) {
            if x >= suspect.x && x < suspect.end {
                suspect.acks += 1;
            } else if x >= suspect.end {
                self.judge_suspect_by(x, response.time);
            }
        }
        if self.trouble.get().is_some_and(|trouble| !trouble.edges.is_empty()) {
            self.sweep(x + 1, false);
        }
        let mut together = 0;
        while let Some(message) = self.waiting.front().copied().filter(|message| message.last <= x) {
            together += 1;
            self.acks_not_seen += (together > 1) as u64;
            self.waiting.pop_front();
            self.message_took(&message, response.time, config);
        }
        self.responder.acknowledged(x + 1);
        self.progress(x + 1, response.time, resolved, config);
    }

    #[inline]
    pub(crate) fn progress(
        &mut self,
        una: u64,
        time: i64,
        resolved: &mut Vec<Resolved>,
        config: &TrackConfig,
    ) {
        if una <= self.una {
            return;
        }
        if self.trouble.get().is_some_and(|trouble| trouble.lost_behind.is_some()) {
            self.judge_lost_behind(una, time);
        }
        if self.trouble.get().is_some_and(|trouble| trouble.lacked.is_some()) {
            self.judge_lacked(una, time);
        }
        self.go_to(una, time);
        self.complete_before(una, time, config);
        let began = resolved.len();
        self.seq.acknowledged(una, resolved);
        if resolved.len() > began {
            self.settle(began, resolved, config);
        }
        if let Some(episode) = self.open_episode()
            && una >= episode.hi
        {
            episode.recovered = Some(time);
            self.recovered(time);
        }
        let (goodput, rtt) = (self.goodput, self.rtt_min);
        if let Some(more) = &mut self.more
            && let Some(passed) = more.marks.pass(time, goodput, rtt)
            && let Some(recovery) = more.recovery.get_mut()
            && let Some(last) =
                recovery.episodes.last_mut().filter(|last| last.recovered == Some(passed.since))
        {
            last.goodput_after = passed.rate();
        }
    }

    /// What answers a later packet acknowledges the messages before it, too: a NAK, or the data of a READ.
    fn complete_before(&mut self, una: u64, time: i64, config: &TrackConfig) {
        while let Some(message) = self.waiting.front().copied().filter(|message| message.last < una) {
            self.waiting.pop_front();
            self.acks_not_seen += 1;
            self.message_took(&message, time, config);
        }
    }

    #[inline]
    fn message_took(&mut self, message: &Waiting, time: i64, config: &TrackConfig) {
        self.took(What::Message, message.last, (message.first_time, time), config);
    }

    /// All PSNs before `una` are acknowledged.
    #[inline(always)]
    pub(crate) fn go_to(&mut self, una: u64, time: i64) {
        let outstanding = self.seq.hi.saturating_sub(self.una.max(self.seq.base));
        self.reach = self.reach.max(u32::try_from(outstanding).unwrap_or(u32::MAX));
        self.emptied = self.emptied.wrapping_add((una >= self.seq.hi).into());
        self.una = una;
        self.last_progress = time;
    }

    /// Karn's rule: only packets that were sent once are timed, and only those that must be acknowledged. Where a packet before it came,
    /// or came again, after it, the acknowledgement may have waited for that one.
    #[inline]
    pub(crate) fn time_ack(&mut self, x: u64, time: i64, config: &TrackConfig) {
        let Some(sent) = self.seq.ring.get(x) else { return };
        if sent.flags & (SENT_AGAIN | ACK_EXPECTED | UNSURE) != ACK_EXPECTED || x < self.una {
            return;
        }
        let behind = self.trouble.get().and_then(|trouble| trouble.behind);
        if behind.is_some_and(|(lowest, last)| lowest <= x && last >= sent.time) {
            return;
        }
        // So it may have for one of which it is not known yet whether it was retransmitted.
        let unsure = self.trouble.get().filter(|_| self.seq.has_repeated);
        if unsure.and_then(|trouble| trouble.repeated.first()).is_some_and(|first| first <= x) {
            return;
        }
        let rtt = time - sent.time;
        if rtt < 0 {
            return;
        }
        let (since, short) = (sent.time, rtt.min(u32::MAX as i64) as u32);
        self.rtt_min = Some(self.rtt_min.map_or(short, |min| min.min(short)));
        self.took(What::AckRtt, x, (since, time), config);
    }

    #[cold]
    pub(crate) fn nak(
        &mut self,
        x: u64,
        response: &Response,
        resolved: &mut Vec<Resolved>,
        config: &TrackConfig,
    ) {
        /// What is further ahead was acknowledged in another capture.
        const FAR: u64 = 1 << 20;
        self.judge_early();
        // The requester may have gone back already. Then the NAK belongs to the pass before.
        let (hi, una) = (self.seq.hi, self.una);
        let outcome = self.responder.nakked(x, response.time);
        let (mut downstream, mut was_late, mut is_left_out) = (false, false, false);
        // Packets after the missing one may have been lost downstream too, all but the one that made the responder send its only NAK.
        let behind = self.packets_in(x + 1..self.responder.reached().max(x + 1)).saturating_sub(1);
        let mut cause_time = None;
        let is_trimmed = self.is_trimmed(x);
        let came_whole = x < hi && self.seq.rare.holes.get(x).is_none();
        let overdue = self.is_overdue(x, (response.time, response.frame), Trigger::Nak);
        self.learn_from_copies(x, response.time);
        // The packet before it was asked for, and had only been late: this one had overtaken it, and was dropped.
        let is_next = |trouble: &Trouble| {
            trouble.lost_behind.is_some_and(|lost| lost.resent.is_none() && lost.x + 1 == x)
                && trouble.asked.is_some_and(|nak| nak.x + 1 == x)
        };
        let was_overtaking = self.trouble.get().is_some_and(is_next) && overdue.is_none();
        match outcome {
            // It lies before the first packet seen: the tap cannot have seen it.
            _ if x < self.seq.base => {
                self.counts.lost(Place::Upstream, 0, 1);
                self.counts.lost_in_shadow(behind, behind);
            }
            Nakked::Expected { since } => {
                cause_time = Some(since);
                let is_seen = x < hi && self.seq.rare.holes.get(x).is_none();
                self.trouble.skipped_asked += is_seen as u64;
                // It came after the packet that overtook it, and before the NAK.
                let sent = self.seq.ring.get(x);
                let came_late = sent.is_some_and(|sent| sent.time >= since && sent.time <= response.time);
                self.counts.reordered_then_nak(is_seen && came_late);
                // Or it overtook one that was asked for so: the receiver had dropped it.
                let after_late = self.trouble.asked.is_some_and(|nak| nak.was_late && nak.x + 1 == x);
                was_late = is_seen && (came_late || after_late);
                is_left_out = is_seen && !was_late;
                self.counts.lost_in_shadow(behind, behind);
                if !is_seen {
                    self.counts.trouble_mut().shadow.before(response.time - since);
                }
            }
            Nakked::Downstream { .. } | Nakked::Unseen | Nakked::Ahead if was_overtaking => {
                was_late = true;
                self.counts.reordered_then_nak(true);
                self.counts.lost_in_shadow(behind, behind);
            }
            // It was cut between two taps: that is counted.
            Nakked::Downstream { .. } | Nakked::Unseen | Nakked::Ahead if is_trimmed && came_whole => {
                is_left_out = true;
                self.counts.lost_in_shadow(behind, behind);
            }
            Nakked::Downstream { .. } if overdue.is_none() && self.is_passed_by(x) => {
                is_left_out = true;
                self.trouble.skipped_asked += 1;
                self.counts.lost_in_shadow(behind, behind);
            }
            // The responder keeps early packets, and was known to expect this one.
            Nakked::Unseen if self.has_passed_since_asked(x) => {
                downstream = true;
                let most = self.packets_in(x..hi).saturating_sub(1);
                self.lost_behind(x, (most.max(1), false), response.time, overdue);
            }
            Nakked::Again => self.counts.lost_in_shadow(1 + behind, behind),
            Nakked::Ahead if x < hi && self.seq.rare.holes.get(x).is_none() => {
                // The tap saw the packet, and the responder has more than the model: it keeps early packets.
                downstream = true;
                let most = self.packets_in(x..hi).saturating_sub(1);
                self.lost_behind(x, (most.max(1), true), response.time, overdue);
            }
            Nakked::Downstream { reached } => {
                downstream = true;
                let most = self.packets_in(x..reached).saturating_sub(1);
                self.lost_behind(x, (most.max(1), false), response.time, overdue);
            }
            Nakked::Ahead | Nakked::Unseen => {
                // Those before it are acknowledged.
                let unseen = x.saturating_sub(hi.max(una));
                if unseen > 0 && unseen < FAR {
                    self.acked_unseen += unseen;
                    self.came_early(x - 1, response.time, unseen);
                }
                self.counts.lost(Place::Capture, 0, u64::from(!is_trimmed));
                self.counts.lost_in_shadow(behind, behind);
            }
        }
        if let Some(since) = cause_time {
            self.more().recovery_mut().nak_generation.add((response.time - since).max(0) as u64);
        }
        self.judge_unanswered(response.time);
        if overdue.is_none() {
            self.note_unmatched(x, hi, (response.time, response.frame));
        }
        // A repeated NAK requests nothing new. Another NAK may come before the answer to this one.
        let trouble = &mut *self.trouble;
        if overdue.is_some() {
            if let Some(lost) = trouble.lost_behind.as_mut().filter(|lost| lost.x == x) {
                lost.resent.get_or_insert(response.time);
            }
        } else if let Some(nak) = trouble.asked.as_mut().filter(|nak| nak.x == x) {
            nak.last = (response.time, response.frame);
        } else {
            trouble.ask(Asked {
                x,
                time: response.time,
                frame: response.frame,
                last: (response.time, response.frame),
                cause_time,
                hi,
                una,
                downstream,
                was_late,
                is_left_out,
            });
        }
        if let Some(suspect) = self.trouble.suspect.take() {
            self.may_all_be_lost(&suspect);
        }
        self.trouble.asked_time = response.time;
        self.progress(x, response.time, resolved, config);
    }

    #[cold]
    pub(crate) fn rnr(
        &mut self,
        x: u64,
        timer_us: u32,
        response: &Response,
        resolved: &mut Vec<Resolved>,
        config: &TrackConfig,
    ) {
        let timer_ns = timer_us as u64 * 1000;
        let refused = NotReady { x, time: response.time, timer_ns };
        self.more().recovery_mut().rnr_asked.add(timer_ns);
        self.trouble.asked_time = response.time;
        self.trouble.not_ready = Some(refused);
        self.refused(&refused);
        self.responder.not_ready(x);
        self.progress(x, response.time, resolved, config);
    }

    pub(crate) fn read_response(
        &mut self,
        x: u64,
        response: &Response,
        resolved: &mut Vec<Resolved>,
        config: &TrackConfig,
    ) {
        let open = self.reads.guess.filter(|&(_, length)| length == UNKNOWN).map(|(first, _)| first);
        if let Some(first) = open {
            self.reach_to(first, x + 1);
        }
        self.judge_early();
        let Some(reads) = self.reads.get_mut() else { return };
        let Some(at) = reads.place(x) else {
            let is_unasked = x > self.seq.base && response.time - self.seq.start_time > START_NS;
            reads.unasked |= is_unasked;
            if is_unasked && x >= self.seq.hi {
                self.came_early(x, response.time, 0);
            }
            return;
        };
        let is_result = response.operation == Operation::AtomicAcknowledge;
        reads.results += u64::from(is_result);
        let read = &mut reads.list[at];
        read.results += u32::from(is_result);
        let (sent, retried) = (read.time, read.retried);
        let end = if open == Some(read.first) { x + 1 } else { read.end };
        let mut first = None;
        let mut is_last = false;
        reads.last_time = response.time;
        if read.came == 0 {
            read.came = response.time;
        }
        let missing = Some(read.next).filter(|next| x > *next && !response.repeated);
        reads.out_of_sequence |= missing.is_some();
        if x >= read.next {
            read.next = x + 1;
        }
        // Answers that come twice are those to two requests.
        let is_second = response.repeated && x < read.last || is_result && read.results > 1;
        let both_arrived = read.retried && !read.had_arrived && is_second;
        read.had_arrived |= both_arrived;
        let again = read.again;
        // What goes on from the last one is of the request before, and crossed this one.
        read.is_repeated |= x < read.reach && x < read.last;
        read.last = x + 1;
        if !read.answered {
            read.answered = true;
            first = (x == read.first && !retried).then_some(response.time - sent);
        }
        read.seen += !response.repeated as u64;
        if x + 1 == read.end && !retried && !read.ended && open != Some(read.first) {
            read.ended = true;
            is_last = true;
        }
        let is_complete = open != Some(read.first) && read.seen >= read.end - read.first && !read.complete;
        read.complete |= is_complete;
        if both_arrived {
            self.arrived_after_all(again);
        }
        let missing = missing.or_else(|| self.asked_early(x));
        if let Some(missing) = missing
            && self.is_overdue(missing, (response.time, response.frame), Trigger::ImpliedNak).is_some()
        {
            self.reads.out_of_sequence = false;
        }
        if let Some(took) = first {
            self.took(What::ReadFirst, x, (sent, response.time), config);
            let short = took.clamp(0, u32::MAX as i64) as u32;
            self.rtt_min = Some(self.rtt_min.map_or(short, |min| min.min(short)));
        }
        if is_last {
            self.took(What::ReadLast, x, (sent, response.time), config);
        }
        if is_complete {
            self.took(What::Message, x, (sent, response.time), config);
        }
        // Who answers a READ has taken all of it.
        self.responder.acknowledged(end);
        if !self.reads.out_of_sequence {
            self.progress(x + 1, response.time, resolved, config);
        }
    }
}
