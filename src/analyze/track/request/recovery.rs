//! Losses and timeouts, and the recovery from them: which packets were requested, which were retransmitted and why, where they were
//! lost.

use std::collections::VecDeque;

use super::{
    Request, Requests, TrackConfig,
    clocks::{EarlyAnswers, Unmatched},
    messages::Edge,
    reads::Read,
    stats::fastest_reaction,
    suspect::{Lacked, Suspect},
    tails::{Tails, Wait},
    thrice,
    tries::{Refusals, Tries, fitting_exponent},
};
use crate::{
    analyze::{
        model::{Class, Trigger},
        track::{
            class::{Evidence, Flaw, Place},
            copies::{Repetitions, is_coarse},
            distribution::Distribution,
            history::History,
            on_demand::quiet,
            push_last,
            response::DataLoss,
            ring::{RETRANSMITTED, SENT_AGAIN},
            sequence::FEW_BEHIND,
            shadow::{AskedFor, BEHIND},
            step::{GapFill, Resolved, SHORTEST_TIMEOUT_NS, Step},
        },
    },
    heap::heap,
    in_order::InOrder,
    report,
    wire::Psn,
};

#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(crate) struct Asked {
    pub(crate) x: u64,
    pub(crate) time: i64,
    pub(crate) frame: u64,
    /// The last time that it was asked for, where the receiver repeats its NAK: when, and in which frame.
    pub(crate) last: (i64, u64),
    /// When the packet after the missing one passed the tap, if that is known.
    pub(crate) cause_time: Option<i64>,
    pub(crate) hi: u64,
    /// One past the largest PSN that was acknowledged before it.
    pub(crate) una: u64,
    pub(crate) downstream: bool,
    /// The packet was only late: it had passed the tap after the one that overtook it, and before the NAK.
    pub(crate) was_late: bool,
    /// The tap had seen the packet before, and the sender went back since: this repetition did not pass the tap, those around it did.
    pub(crate) is_left_out: bool,
}

#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(crate) struct NotReady {
    pub(crate) x: u64,
    pub(crate) time: i64,
    pub(crate) timer_ns: u64,
}

/// A loss or a timeout, and the recovery from it.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(crate) struct Episode {
    pub(crate) trigger: Trigger,
    /// Where the packet was lost; `None` if that is not known.
    pub(crate) place: Option<Place>,
    /// The place is proved.
    pub(crate) certain: bool,
    /// What was lost is the response of a READ that is requested again: a packet of the opposite flow.
    pub(crate) is_of_data: bool,
    /// It is the answer to an atomic.
    pub(crate) is_of_result: bool,
    /// The responder lacked it for longer than packets are late, and acknowledged it after the retransmission: for how long, beyond a
    /// round trip.
    pub(crate) lacked_ns: Option<i64>,
    /// What passed the tap and was lost behind it was the last transmission.
    pub(crate) is_last: bool,
    /// It began with a READ. Its requester lacks the response, whatever the tap saw of it, and goes back for that.
    pub(crate) is_of_read: bool,
    /// What was lost is a repetition: those around it passed the tap, and the responder asked for it.
    pub(crate) is_left_out: bool,
    /// The packet that the NAK asked for, which need not be the first one that came.
    pub(crate) asked: Option<u64>,
    pub(crate) x: u64,
    pub(crate) original_frame: Option<u64>,
    pub(crate) original_time: Option<i64>,
    pub(crate) nak_frame: Option<u64>,
    pub(crate) nak_time: Option<i64>,
    pub(crate) nak_generation: Option<u64>,
    pub(crate) first_frame: u64,
    pub(crate) start: i64,
    pub(crate) recovered: Option<i64>,
    /// Goodput in bit/s in about ten round trips before it began, and after it was over.
    pub(crate) goodput_before: Option<u64>,
    pub(crate) goodput_after: Option<u64>,
    /// One past the highest PSN when it began.
    pub(crate) hi: u64,
    pub(crate) packets: u64,
    /// Those of them whose last transmission had arrived, as answers show.
    pub(crate) arrived: u64,
    pub(crate) bytes: u64,
    pub(crate) needless: u64,
    pub(crate) retries: u32,
}

impl Episode {
    /// A loss of this PSN, whose repetition seemed to be no repetition when it came, and the NAK that asked for it: time and frame of both.
    pub(super) fn hidden(
        x: u64,
        (start, first_frame): (i64, u64),
        (nak_time, nak_frame): (i64, u64),
    ) -> Episode {
        Episode {
            trigger: Trigger::Nak,
            place: Some(Place::Upstream),
            certain: false,
            is_of_data: false,
            is_of_result: false,
            lacked_ns: None,
            is_last: false,
            is_of_read: false,
            is_left_out: false,
            asked: Some(x),
            x,
            original_frame: None,
            original_time: None,
            nak_frame: Some(nak_frame),
            nak_time: Some(nak_time),
            nak_generation: None,
            first_frame,
            start,
            recovered: None,
            goodput_before: None,
            goodput_after: None,
            hi: x + 1,
            packets: 0,
            arrived: 0,
            bytes: 0,
            needless: 0,
            retries: 0,
        }
    }
}

/// A packet that passed the tap and that the responder asked for.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(crate) struct LostBehind {
    pub(crate) x: u64,
    /// At most so many packets were lost with it.
    pub(crate) most: u64,
    pub(crate) asked: AskedFor,
    /// How long after it had passed the tap the responder still lacked it, beyond a round trip.
    pub(crate) lacked_ns: i64,
    /// The responder had more packets than had passed the tap in order.
    pub(crate) is_ahead: bool,
    /// It passed the tap last when it was due: no repetition of it was left out since.
    pub(crate) is_last: bool,
    /// It had been retransmitted just before the question came, which may be for the transmission before.
    pub(crate) was_again: bool,
    /// When it was retransmitted.
    pub(crate) resent: Option<i64>,
}

/// The undecided state of a flow that had trouble.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct Trouble {
    pub(crate) asked: Option<Asked>,
    /// NAKs before that, of other packets, whose answers have not come: receivers that keep early packets ask for many.
    pub(crate) asked_before: VecDeque<Asked>,
    pub(crate) not_ready: Option<NotReady>,
    /// When the responder last requested a packet again.
    pub(crate) asked_time: i64,
    /// Repeated packets that may be capture duplicates.
    pub(crate) repeated: Repetitions<Request>,
    pub(crate) suspect: Option<Suspect>,
    pub(crate) lacked: Option<Lacked>,
    /// How often the sender went back to the same PSN, and how often the responder was not ready for it.
    pub(super) tries: Option<Tries>,
    pub(super) refusals: Refusals,
    /// When a NAK ended the connection.
    pub(super) refused: Option<i64>,
    /// The lowest of the last packets that came behind the highest PSN, and when the last of them came.
    pub(super) behind: Option<(u64, i64)>,
    /// What it may have sent before it went back, unseen.
    pub(super) tails: Tails,
    /// Silences in which a timer may have expired, and more may have been lost.
    pub(super) waits: VecDeque<Wait>,
    /// Packets that were sent again, and are no atomics.
    pub(super) others_again: u64,
    /// READs and atomics that were sent again and whose last transmission had arrived, as answers show.
    pub(super) arrived: u64,
    /// Repetitions before the one that was asked for, of a sender that goes back: they were sent, and did not come.
    pub(super) repeated_unseen: u64,
    /// The edges of messages of which a packet is missing, by PSN.
    pub(crate) edges: VecDeque<Edge>,
    /// Packets over a gap, by PSN, and when they came: the messages of which they are began no later.
    pub(super) early: VecDeque<(u64, i64)>,
    /// Corrupt and trimmed packets since the last good one, and what the last one was.
    pub(crate) flawed: u64,
    pub(crate) flaw: Flaw,
    /// One past the highest packet that came trimmed.
    pub(crate) trimmed_until: u64,
    /// Gaps filled by corrupt or trimmed packets.
    pub(crate) flawed_gaps: VecDeque<FlawedGap>,
    pub(crate) lost_behind: Option<LostBehind>,
    pub(crate) lost_behind_sure: u32,
    pub(crate) late_behind: u32,
    /// How soon the last of them were acknowledged after they came again.
    pub(super) late_by: VecDeque<i64>,
    /// Packets that were either late there, or had been sent again just before they were asked for.
    pub(crate) late_again_behind: u32,
    /// PSNs among those that passes left out that no packet of theirs has: they are of READ responses.
    pub(super) skipped_responses: u64,
    /// Losses before the tap that the order of a pass of repetitions proves, and nothing else.
    pub(super) sure_by_order: u64,
    /// Packets that a NAK asked for, and that surely were not recorded before.
    pub(super) asked_unseen: u32,
    /// Repetitions that passes left out, those of them that came late, and those that the responder asked for.
    pub(crate) skipped: u64,
    pub(crate) skipped_late: u64,
    pub(crate) skipped_asked: u64,
    /// Packets that came late after another transmission of theirs had passed the tap.
    pub(super) late_again: u64,
    /// The last packets that were recorded again sooner than an answer can come: from which PSN to which, and when the first of them was.
    pub(super) copied_soon: VecDeque<(u64, u64, i64)>,
    /// The clock that stamps answers is ahead by so much at least.
    pub(crate) answers_ahead: i64,
    /// NAKs for packets that had seemed late just before, after which these did not come again.
    pub(super) unanswered: u8,
    /// The last NAKs that came after no repetition that they had asked for, as far as was known then.
    pub(super) naks: VecDeque<Unmatched>,
    /// Requests of the other end pass the tap: its answers would, too.
    pub(super) is_peer_seen: bool,
    pub(super) answers_early: EarlyAnswers,
    /// Data that came just after its READ had been requested again for no reason that shows, as if a clock were ahead.
    pub(super) data_late: EarlyAnswers,
    /// The capture has so few packets that most causes cannot be seen.
    pub(crate) hides_causes: bool,
}

quiet!(Trouble);

heap! {
    Trouble { flawed_gaps, tails, waits, asked_before, copied_soon, naks, late_by }
    Asked {}
    FlawedGap {}
    (u64, u64, i64) {}
}

/// PSNs in whose place packets came that their receiver will not accept: how many of them are not sent again yet, and where they were recorded.
#[derive(Clone, Debug, crate::stored::Stored)]
pub(crate) struct FlawedGap {
    pub(crate) range: std::ops::Range<u64>,
    pub(crate) left: u64,
    pub(crate) flaw: Flaw,
    pub(crate) vantage: u16,
}

impl FlawedGap {
    fn has(&self, x: u64) -> bool {
        self.left > 0 && self.range.contains(&x)
    }
}

pub(crate) const MAX_FLAWED_GAPS: usize = 128;

pub(crate) const MAX_EPISODES: usize = 256;

pub(crate) const MAX_TIMEOUTS: usize = 64;

/// Late packets of which it is kept by how much.
const MOST_LATE: usize = 64;

impl Trouble {
    /// NAKs under way at a time, at most.
    const NAKS: usize = 16;

    /// The last NAK for this packet, until then, whose answer has not come.
    pub(super) fn last_nak(&self, x: u64, until: i64) -> Option<Asked> {
        let is_it = |nak: &&Asked| nak.x == x && nak.time <= until;
        self.asked.iter().chain(self.asked_before.iter().rev()).find(is_it).copied()
    }

    /// Whether this place has recorded this packet cut to its headers, and it was not sent again yet.
    pub(super) fn was_trimmed(&self, x: u64, vantage: u16) -> bool {
        let is_it = |gap: &FlawedGap| gap.has(x) && (gap.flaw, gap.vantage) == (Flaw::Trimmed, vantage);
        self.flawed_gaps.iter().any(is_it)
    }

    /// The NAK that this packet answers: the one for it, or the last one, of a sender that goes back to a packet behind the one that was asked
    /// for.
    fn take_nak(&mut self, x: u64, time: i64) -> Option<Asked> {
        let is_it = |nak: &Asked| nak.x == x && nak.time <= time;
        if self.asked.is_none_or(|nak| !is_it(&nak))
            && let Some(at) = self.asked_before.iter().rposition(is_it)
        {
            return self.asked_before.remove(at);
        }
        self.asked.take_if(|nak| x >= nak.x && x <= nak.hi.max(nak.x) && nak.time <= time)
    }

    /// The receiver asks for a packet.
    pub(super) fn ask(&mut self, nak: Asked) {
        if let Some(before) = self.asked.replace(nak) {
            push_last(&mut self.asked_before, Self::NAKS, before);
        }
    }
}

impl Requests {
    /// The episode that is open.
    fn open_recovery(&self) -> Option<&Episode> {
        let recovery = self.more.as_ref().filter(|_| self.is_recovering)?.recovery.get()?;
        recovery.episodes.last().filter(|episode| episode.recovered.is_none())
    }

    #[inline]
    pub(crate) fn open_episode(&mut self) -> Option<&mut Episode> {
        if !self.is_recovering {
            return None;
        }
        self.more.as_mut()?.recovery_mut().episodes.last_mut().filter(|episode| episode.recovered.is_none())
    }

    /// Counts the verdicts on packets that waited.
    #[cold]
    pub(crate) fn settle(&mut self, from: usize, resolved: &[Resolved], config: &TrackConfig) {
        for verdict in &resolved[from..] {
            let fill = verdict.fill;
            let is_again = verdict.class == Class::Retransmission;
            let (from, until) = verdict.left_out;
            if from < until && self.reads.get().is_some() {
                self.trouble.skipped_responses += until - from - self.packets_in(from..until);
            }
            let flaw = if is_again { self.had_flaw(fill.x) } else { None };
            let place = flaw.map_or(Place::Upstream, Flaw::place);
            let nak = self.trouble.get().and_then(|trouble| trouble.last_nak(fill.x, fill.time));
            // What it repeats may overtake what was asked for, as its packets do.
            let is_overtaken =
                nak.is_none() && verdict.class == Class::Retransmission && self.answers_late(&fill);
            let asked = nak.is_some() || is_overtaken;
            // A sender sends in order: what comes again, and was passed over, had been sent.
            // Where no answers are seen, so does what was sent later by its identification, or comes much later than anything that was late.
            let is_late = || !fill.is_sprayed && fill.time - fill.hole_time > 4 * self.latest_ns();
            let is_shown = self.acks_seen == 0
                && is_again
                && (verdict.evidence == Evidence::IpId || verdict.evidence == Evidence::Timer && is_late());
            let is_reasoned = asked || fill.timed_out || verdict.evidence == Evidence::Nak || is_shown;
            let is_sure = is_reasoned || verdict.in_pass;
            // In the first round trip of a capture, packets come that were sent before it, and prove nothing.
            let waited = fill.time - fill.hole_time;
            let round_trip = self.rtt_min.map_or(waited, |rtt| waited.min(rtt.into()));
            let is_early = fill.hole_time - self.seq.start_time <= round_trip;
            // But for what a receiver asks for, of a sender that goes back: it sends in order.
            let is_asked_since = nak.is_some_and(|nak| nak.cause_time.is_some());
            let is_sure = is_sure && (!is_early || is_asked_since && self.goes_back());
            let timed_out = fill.timed_out || fill.is_due && self.is_next_timeout(fill.x);
            let is_reason = verdict.went_back || is_reasoned;
            let is_named = |first| {
                let episode = self.open_recovery();
                episode.is_some_and(|episode| episode.x == first || episode.asked == Some(first))
                    || self.trouble.get().is_some_and(|trouble| trouble.last_nak(first, fill.time).is_some())
            };
            let is_sure = is_sure && (is_reason || !fill.may_be_of_capture(is_named));
            self.trouble.sure_by_order += u64::from(is_sure && is_again && flaw.is_none() && !is_reason);
            verdict.count(&mut self.counts, is_sure as u64, (is_again && flaw.is_none()) as u64);
            if is_again && verdict.went_back && !fill.is_next_sent && self.goes_back() {
                let most = Some(fill.unseen).filter(|&unseen| unseen > 0);
                let hi = fill.x + u64::from(fill.extent);
                self.sent_unseen((fill.x, hi), (fill.time, fill.silent), most, config);
            }
            if is_again && self.reads.get().is_some() {
                self.trouble.tails.filled(fill.hole_first);
            }
            if is_again {
                // It may have been sent again before, and lost again.
                let asked = nak.map_or(fill.hole_time, |nak| nak.time);
                let wait = Wait { ns: fill.time - asked, outstanding: 1, room: u64::MAX, since_seen: false };
                self.waited(wait, config);
            }
            match verdict.class {
                Class::Retransmission => {
                    if asked && is_sure && flaw.is_none() {
                        self.trouble.asked_unseen += 1;
                    }
                    let is_reason = verdict.went_back || timed_out || asked;
                    if is_overtaken {
                        self.lost_first(fill.x, (place, is_sure || flaw.is_some()));
                    } else if is_reason && !fill.goes_on || self.open_episode().is_none() {
                        self.begin(
                            (fill.x, fill.end),
                            (fill.hole_time, fill.time),
                            fill.frame,
                            None,
                            Some((place, is_sure || flaw.is_some())),
                            config,
                        );
                    }
                    if let Some(episode) = self.open_episode() {
                        episode.packets += 1;
                        episode.bytes += fill.bytes as u64;
                    }
                }
                // The NAK came before it. One that comes after it finds it among those seen.
                Class::LateOriginal if asked => self.counts.trouble_mut().reordered_then_nak += 1,
                _ => {}
            }
            config.histories.keep(|| match History::of_fill(&fill, verdict.class) {
                history if verdict.class == Class::Retransmission => {
                    History { lost: place, ..self.recovering(history, fill.x, fill.end) }
                }
                history => history,
            });
        }
    }

    /// Whether this packet is the one that a NAK asked for, and the next ones, which the sender repeats behind it, came first: by no more than
    /// packets of the flow are late.
    fn answers_late(&mut self, fill: &GapFill) -> bool {
        let latest = self.latest_ns();
        self.open_episode().is_some_and(|episode| {
            episode.asked == Some(fill.x)
                && fill.x < episode.x
                && fill.time - episode.start <= latest.saturating_mul(2)
        })
    }

    /// Whether this packet, the first one that is not acknowledged, waited for a timer of its own: nothing asks for packets, and since the
    /// sender repeated one before it, that one was acknowledged.
    fn is_next_timeout(&self, x: u64) -> bool {
        !self.is_asking()
            && !self.has_reads()
            && self.seq.recovery_mode() != report::RecoveryMode::GoBackN
            && self.open_recovery().is_some_and(|episode| episode.x < x)
    }

    /// The episode that is open began with a packet before the one that came first.
    fn lost_first(&mut self, x: u64, (place, certain): (Place, bool)) {
        let Some(episode) = self.open_episode() else { return };
        let (seemed, was_certain) = (episode.place.unwrap_or_default(), episode.certain);
        (episode.x, episode.place, episode.certain) = (x, Some(place), certain);
        (episode.original_frame, episode.original_time) = (None, None);
        self.counts.no_episode(seemed, was_certain);
        self.counts.episode(place, certain);
    }

    /// The history of a retransmission of the PSNs from `x` to before `end`: by the episode that it belongs to.
    #[cold]
    pub(crate) fn recovering(&self, history: History, x: u64, end: u64) -> History {
        let history = History { is_acknowledged: end <= self.una, ..history };
        let Some(episode) = self.more.as_ref().and_then(|more| more.recovery().episodes.last()) else {
            return history;
        };
        // Of the packets that a sender repeats, the first one was lost; those behind it, nobody knows.
        let place = episode.place.filter(|&place| place != Place::None);
        let lost = place.filter(|_| history.frame == episode.first_frame).unwrap_or_default();
        let is_behind = history.previous.is_some() && x > episode.x && !history.is_acknowledged;
        History { trigger: episode.trigger, asked: episode.nak_frame, lost, is_behind, ..history }
    }

    /// A retransmission, after a silence of so many nanoseconds.
    #[cold]
    pub(crate) fn again(&mut self, request: &Request, step: &Step, silent: i64, config: &TrackConfig) {
        /// A burst is sent so often at most, as IBTA's retry count has three bits.
        const TIMES: u64 = 8;
        let p = &request.packet;
        let x = step.x;
        let end = x + p.n as u64;
        self.counts.trouble_mut().retransmitted_bytes += p.bytes as u64;
        self.counts.trouble_mut().overtaken_again += step.overtaken as u64;
        self.trouble.others_again += u64::from(!request.operation.is_atomic());
        if step.skipped > 0 {
            self.trouble.skipped += step.skipped;
        }
        self.trouble.skipped_late += step.not_lost as u64;
        if !step.went_back {
            self.counts.lost(Place::Upstream, 0, step.unseen.min(self.burst().saturating_mul(TIMES)));
        } else if !step.is_next_sent {
            // Identifications of one flow alone tell how many packets were sent; those of others are among them, where they have one counter.
            let most = Some(step.unseen).filter(|&unseen| unseen > 0);
            self.sent_unseen((x, self.seq.hi), (p.time, silent), most, config);
        }
        // It may have been sent again for this question before, and lost, unless identifications tell that nothing was.
        let nak = self.trouble.get().and_then(|trouble| trouble.last_nak(x, p.time));
        if let Some(nak) = nak.filter(|_| !step.is_next_sent) {
            let wait = Wait { ns: p.time - nak.time, outstanding: 1, room: u64::MAX, since_seen: false };
            self.waited(wait, config);
        }
        if let Some(lost) = self.trouble.get_mut().and_then(|trouble| trouble.lost_behind.as_mut())
            && lost.x == x
            && lost.resent.is_none()
        {
            lost.resent = Some(p.time);
        }
        // A sender that repeats single packets goes on to the next one asked for.
        let asked = self
            .trouble
            .get()
            .and_then(|trouble| trouble.asked)
            .is_some_and(|nak| nak.x == x && (nak.last.0 > self.pass_began() || !self.goes_back()));
        let is_due = (x == self.una || request.una_before == Some(x)) && self.is_next_timeout(x);
        if step.went_back || step.timed_out || is_due || step.pass_gap > 0 && asked {
            let sent = step.before.map_or(p.time, |(sent, _)| sent);
            self.begin((x, end), (sent, p.time), p.frame, step.before, None, config);
        }
        // What is acknowledged while it waits for its verdict was not when it was sent.
        let una = request.una_before.unwrap_or(self.una);
        // A requester drops what follows a missing response, whatever the tap saw of it.
        let mut is_due = false;
        // What its requester lacks is the answer. The repetition of what is no READ may be lost in turn, and nobody asks for it.
        let is_answered = step.is_second
            && self.goes_back()
            && self.reads.get().is_some_and(|reads| reads.place(x).is_some())
            && (end <= una || request.una_before.is_none() && self.has_answer_from(end));
        let had_arrived = step.before.is_some() && (is_answered || self.had_arrived(x));
        if let Some(episode) = self.more.as_mut().and_then(|more| more.recovery_mut().episodes.last_mut()) {
            episode.packets += 1;
            episode.bytes += p.bytes as u64;
            // Packets after the missing one had arrived, as far as the tap shows.
            episode.needless += (x > episode.x || end <= una) as u64;
            is_due = episode.trigger == Trigger::ImpliedNak || episode.is_of_read;
            episode.arrived += u64::from(had_arrived);
        }
        self.trouble.arrived += u64::from(had_arrived);
        match (end <= una, is_due) {
            (true, false) => self.counts.trouble_mut().spurious += 1,
            // Its acknowledgement may have been lost with the data.
            (true, true) => self.counts.lost(Place::AckPath, 0, 1),
            (false, _) => {}
        }
    }

    /// A READ or atomic that was sent again then had arrived before, as its answers show since.
    pub(super) fn arrived_after_all(&mut self, again: i64) {
        self.trouble.arrived += 1;
        if let Some(recovery) = self.more.as_mut().and_then(|more| more.recovery.get_mut())
            && let Some(episode) = recovery.episodes.last_mut().filter(|episode| episode.start <= again)
        {
            episode.arrived += 1;
        }
    }

    /// Whether its sender repeats all from the packet that is asked for.
    pub(super) fn goes_back(&self) -> bool {
        self.seq.recovery_mode() == report::RecoveryMode::GoBackN
    }

    /// When the last pass of repetitions began.
    fn pass_began(&self) -> i64 {
        self.seq.rare.get().map_or(i64::MIN, |rare| rare.pass_began.1)
    }

    /// Whether this PSN is of a READ that is remembered.
    pub(super) fn is_read(&self, x: u64) -> bool {
        self.reads.get().is_some_and(|reads| reads.place(x).is_some())
    }

    /// A packet that its receiver will not accept.
    pub(crate) fn flawed(&mut self, flaw: Flaw) {
        let trouble = &mut *self.trouble;
        (trouble.flawed, trouble.flaw) = (trouble.flawed.saturating_add(1), flaw);
    }

    /// A packet that a switch cut to its headers: they are right, so its PSN is known. It may have overtaken whole packets, and another tap may have
    /// recorded it before it was cut.
    pub(crate) fn trimmed(&mut self, psn: Psn, vantage: u16) {
        if !self.seq.is_started() {
            return;
        }
        let x = self.seq.unwrap(psn);
        /// What is further ahead is not of this flow.
        const FAR: u64 = 1 << 16;
        if x < self.seq.hi + FAR {
            self.trouble.trimmed_until = self.trouble.trimmed_until.max(x + 1);
        }
        let came_whole = x < self.seq.hi && self.seq.rare.holes.get(x).is_none();
        let was_elsewhere = || self.seq.ring.get(x).is_some_and(|sent| sent.vantage != vantage);
        if came_whole && !was_elsewhere() {
            // A repetition that a pass seems to leave out.
            self.trouble.skipped_late += 1;
            return;
        }
        let gaps = &mut self.trouble.flawed_gaps;
        match gaps.back_mut() {
            Some(FlawedGap { range, left, flaw: Flaw::Trimmed, vantage: there })
                if range.end == x && *there == vantage =>
            {
                (range.end, *left) = (x + 1, *left + 1);
            }
            _ => {
                let gap = FlawedGap { range: x..x + 1, left: 1, flaw: Flaw::Trimmed, vantage };
                push_last(gaps, MAX_FLAWED_GAPS, gap);
            }
        }
    }

    /// Whether a missing packet had come with a flaw. Then it was not lost upstream, and is counted already.
    pub(crate) fn had_flaw(&mut self, x: u64) -> Option<Flaw> {
        let gaps = &mut self.trouble.get_mut()?.flawed_gaps;
        let gap = gaps.iter_mut().find(|gap| gap.has(x))?;
        gap.left -= 1;
        Some(gap.flaw)
    }

    /// Whether a tap has recorded this packet cut to its headers, and it was not sent again yet.
    pub(super) fn is_trimmed(&self, x: u64) -> bool {
        let is_it = |gap: &FlawedGap| gap.has(x) && gap.flaw == Flaw::Trimmed;
        self.trouble.get().is_some_and(|trouble| trouble.flawed_gaps.iter().any(is_it))
    }

    /// The responder asked for a packet that the tap had seen. At most `most` were lost with it. `overdue`: the sender had gone back to it
    /// already because of this question, whose clock is ahead: see [`is_overdue`](Self::is_overdue).
    pub(super) fn lost_behind(
        &mut self,
        x: u64,
        (most, is_ahead): (u64, bool),
        time: i64,
        overdue: Option<(Option<i64>, i64)>,
    ) {
        self.judge_lost_behind(x, time);
        // In the first round trip of a capture, packets come that were sent before it, and prove nothing.
        let overdue = overdue.and_then(|(passed, again)| Some((passed?, again)));
        let seen = self.seq.ring.get(x).map_or(self.seq.start_time, |sent| sent.time);
        let (seen, resent) = overdue.map_or((seen, None), |(passed, again)| (passed, Some(again)));
        if overdue.is_some() {
            self.now_known(x, Place::Unknown, (Place::Downstream, false));
        }
        let round_trip = self.rtt_min.map_or(time - seen, |rtt| (time - seen).min(rtt.into()));
        // What was repeated sooner than an answer can come back is not what the responder lacked.
        let is_repeated = overdue.is_none()
            && self.seq.ring.get(x).is_some_and(|sent| sent.flags & (SENT_AGAIN | RETRANSMITTED) != 0);
        // Where packets are late, an answer to one may be, too.
        let latest = self.latest_ns();
        let answered =
            |rtt: u32| seen.saturating_add(i64::from(rtt) * 3 / 4).saturating_add(latest.min(rtt.into()));
        let is_too_soon = is_repeated && self.rtt_min.is_some_and(|rtt| time < answered(rtt));
        let was_again = is_repeated && self.rtt_min.is_some_and(|rtt| time - seen < 2 * i64::from(rtt));
        let mut behind = (0, x);
        let after = BEHIND.map(|n| {
            while behind.0 < n {
                behind = (behind.0 + 1, self.next_packet(behind.1));
            }
            // Of those that came again since, it is not kept when they passed before.
            self.seq.ring.get(behind.1).filter(|_| overdue.is_none()).map(|sent| time - sent.time)
        });
        let waited = self.is_behind_data(time);
        let asked = AskedFor { after, waited, behind: most.saturating_sub(1) };
        // Where those around it are repeated since, so is it, and that was lost before the tap, or is still to come.
        let is_last = !self.is_due_in_pass(x, seen);
        let rtt = self.rtt_min.filter(|_| is_last);
        let lacked_ns = rtt.map_or(i64::MIN, |rtt| time - seen - i64::from(rtt));
        let is_ahead = is_ahead && overdue.is_none();
        let lost = LostBehind { x, most, is_ahead, asked, lacked_ns, is_last, was_again, resent };
        if seen - self.seq.start_time <= round_trip || is_too_soon {
            return self.was_lost_behind(0, &lost);
        }
        self.trouble.lost_behind = Some(lost);
    }

    /// Whether data of READs passed just before this time, so that what its responder answered then had to wait for that data.
    fn is_behind_data(&self, time: i64) -> bool {
        /// The data of READs follows each other in less.
        const NEXT_NS: i64 = 2_000;
        self.reads.get().is_some_and(|reads| (0..NEXT_NS).contains(&(time - reads.last_time)))
    }

    /// Whether the current pass of repetitions is due to have this packet, which was seen at this time, and it was not seen since the pass began.
    fn is_due_in_pass(&self, x: u64, seen: i64) -> bool {
        let (first, began) = self.seq.rare.get().map_or((0, i64::MIN), |rare| rare.pass_began);
        x >= first && seen < began
    }

    /// Whether a sender that goes back repeated what is behind this packet since it was seen, and not this one: the repetition was lost before the tap.
    pub(super) fn is_passed_by(&self, x: u64) -> bool {
        let sent = self.seq.ring.get(x).filter(|_| x < self.seq.hi && self.seq.rare.holes.get(x).is_none());
        let next = self.seq.ring.get(self.next_packet(x));
        let is_in_order = self.seq.recovery_mode() == report::RecoveryMode::GoBackN;
        sent.zip(next).is_some_and(|(sent, next)| {
            is_in_order
                && self.is_due_in_pass(x, sent.time)
                && !self.is_due_in_pass(x, next.time)
                && next.time > sent.time.saturating_add(self.latest_ns().saturating_mul(2))
        })
    }

    /// Counts a packet that was lost behind the tap, surely or perhaps, and those with it.
    pub(super) fn was_lost_behind(&mut self, least: u64, lost: &LostBehind) {
        self.counts.lost(Place::Downstream, least, lost.most);
        self.counts.trouble_mut().shadow.after(lost.asked);
    }

    /// The responder lacked a packet that the tap had seen: decides whether it was lost downstream, or only late.
    pub(crate) fn judge_lost_behind(&mut self, una: u64, time: i64) {
        let Some(lost) = self.trouble.lost_behind.filter(|lost| una > lost.x) else { return };
        self.trouble.lost_behind = None;
        self.reconsider_late();
        // It was acknowledged before it was retransmitted, or much sooner than a round trip after that: it had only been late.
        let late = match lost.resent {
            None => true,
            Some(resent) => self.rtt_min.is_some_and(|rtt| time - resent < i64::from(rtt) * 3 / 4),
        };
        // Or what arrived was the repetition that had been under way when the responder asked.
        if late && lost.was_again {
            self.trouble.late_again_behind += 1;
            if lost.resent.is_some() {
                self.now_known(lost.x, Place::Downstream, (Place::Unknown, false));
            }
            return self.was_lost_behind(0, &lost);
        }
        self.trouble.late_behind += late as u32;
        if let Some(resent) = lost.resent.filter(|_| late) {
            push_last(&mut self.trouble.late_by, MOST_LATE, time - resent);
        }
        // The responder still lacked it when all that is as late as packets are at the tap had come, and its acknowledgement waited for the
        // retransmission.
        let latest = self.latest_ns();
        let is_of_last = lost.is_last || self.seq.recovery_mode() == report::RecoveryMode::Selective;
        let is_awaited = !late
            && self.trouble.late_behind == 0
            && lost.lacked_ns >= latest.saturating_mul(2).max(1)
            && is_of_last;
        let is_sure = !late && (is_awaited || lost.most >= self.overtaking());
        // A responder that takes packets in order, and has more than passed the tap, shows that the capture missed some: of a later pass, too.
        let is_sure = is_sure && (!lost.is_ahead || is_of_last);
        self.trouble.lost_behind_sure += is_sure as u32;
        self.was_lost_behind(is_sure as u64, &lost);
        let place = if late { Place::None } else { Place::Downstream };
        if let Some(episode) = self.now_known(lost.x, Place::Downstream, (place, is_sure))
            && is_sure
        {
            episode.lacked_ns = is_awaited.then_some(lost.lacked_ns);
            episode.is_last = lost.is_last;
        }
    }

    /// The first round trips are not the shortest ones: what seemed to be late, since it was acknowledged sooner than these after it came again,
    /// need not have been.
    pub(super) fn reconsider_late(&mut self) {
        let Some((rtt, trouble)) = self.rtt_min.zip(self.trouble.get_mut()) else { return };
        let before = trouble.late_by.len();
        trouble.late_by.retain(|&ns| ns < i64::from(rtt) * 3 / 4);
        let fewer = (before - trouble.late_by.len()) as u32;
        trouble.late_behind = trouble.late_behind.saturating_sub(fewer);
    }

    /// Whether the tap saw this packet after the last NAK for it, if there was one.
    pub(super) fn has_passed_since_asked(&self, x: u64) -> bool {
        let asked = self.trouble.get().and_then(|trouble| trouble.last_nak(x, i64::MAX)).map(|nak| nak.time);
        let sent = self.seq.ring.get(x).filter(|_| x < self.seq.hi && self.seq.rare.holes.get(x).is_none());
        sent.is_some_and(|sent| asked.is_none_or(|asked| sent.time > asked))
    }

    /// So many packets behind a missing one show that it was lost: had it only been late, one of them would have come after it, and been
    /// asked for instead. One, unless the network reorders.
    fn overtaking(&self) -> u64 {
        /// Where packets are overtaken behind the tap, nobody knows by how many.
        const MANY: u64 = 16;
        let is_late_behind = self.trouble.get().is_some_and(|trouble| trouble.late_behind > 0);
        match u64::from(self.counts.trouble().max_extent) {
            0 if !is_late_behind => 1,
            extent => (2 * extent).max(MANY),
        }
    }

    /// More is known of the loss of the packet `x`, which seemed to be lost at this place: where it was lost, and whether that is proved.
    pub(super) fn now_known(
        &mut self,
        x: u64,
        seemed: Place,
        (place, certain): (Place, bool),
    ) -> Option<&mut Episode> {
        let more = self.more.as_mut().and_then(|more| more.recovery.get_mut())?;
        let is_it = |episode: &&mut Episode| episode.x == x && episode.place.unwrap_or_default() == seemed;
        let episode = more.episodes.iter_mut().rev().find(is_it)?;
        self.counts.no_episode(seemed, episode.certain);
        self.counts.episode(place, certain);
        (episode.place, episode.certain) = (Some(place), certain);
        Some(episode)
    }

    /// The READ that was just sent again had been sent again because its response was lost.
    pub(crate) fn lost_data(&mut self, &DataLoss { place, is_sure, is_result, sent }: &DataLoss) {
        let Some(more) = self.more.as_mut().and_then(|more| more.recovery.get_mut()) else { return };
        let Some(episode) = more.episodes.last_mut() else { return };
        self.counts.no_episode(episode.place.unwrap_or_default(), episode.certain);
        (episode.place, episode.certain, episode.is_of_data) = (Some(place), is_sure, true);
        episode.is_of_result = is_result;
        (episode.original_time, episode.original_frame) = sent.unzip();
    }

    /// The sender went back to `x`, which it had sent before. Finds the trigger, and counts losses.
    pub(crate) fn begin(
        &mut self,
        (x, end): (u64, u64),
        (sent, time): (i64, i64),
        frame: u64,
        before: Option<(i64, u32)>,
        lost: Option<(Place, bool)>,
        config: &TrackConfig,
    ) {
        let (place, certain) = lost.map_or((None, false), |(place, certain)| (Some(place), certain));
        let asked = self.trouble.take_nak(x, time);
        // What came in a pass since then answered it already, and what is acknowledged since needs no answer.
        let asked = asked.filter(|nak| nak.x == x || nak.x >= self.una);
        let fastest = self.more.as_ref().and_then(|more| more.recovery().fastest_reaction());
        let is_answered = |nak: &Asked, (sent, _): (i64, u32)| {
            let since = sent - nak.last.0;
            nak.x == x && since > 0 && fastest.is_some_and(|fastest| since as u64 >= fastest)
        };
        let asked = asked.filter(|nak| before.is_none_or(|before| !is_answered(nak, before)));
        let asked = asked.or_else(|| self.take_early_nak(x, time));
        // Where packets are late, one of those behind it may come first.
        let spread = self.spread_ns();
        let near = if spread > 0 { x.saturating_sub(FEW_BEHIND.into()) } else { x };
        let not_ready = self.trouble.not_ready.take_if(|rnr| (near..=x).contains(&rnr.x) && rnr.time <= time);
        let sent_before = before.map(|(sent, _)| sent);
        // What had an acknowledgement at the tap, and waited for one, did not get that, nor those that came since.
        let progress = if x < self.una && sent_before.is_some() { i64::MIN } else { self.last_progress };
        let waited = time - progress.max(sent_before.unwrap_or(i64::MIN));
        let (floor, shortest) = (self.timeout_floor(config), self.shortest_timeout(config));
        // Nor does a READ wait for less than its response takes.
        let reads = self.reads.get().filter(|_| self.few_are_late());
        let read = reads.and_then(|reads| reads.at(x));
        let waits = |read: &Read| time - read.time.max(read.again);
        let is_too_soon =
            read.zip(self.rtt_min).is_some_and(|(read, rtt)| (1..i64::from(rtt)).contains(&waits(read)));
        let has_waited = (waited >= floor || time - sent >= shortest) && !is_too_soon;
        // Whoever goes back starts its timer anew.
        let last = self.more.as_ref().and_then(|more| more.recovery().episodes.last());
        let fresh = shortest.min(SHORTEST_TIMEOUT_NS);
        let is_fresh = last.is_some_and(|last| (0..fresh).contains(&(time - last.start)));
        let has_waited = has_waited && !is_fresh;
        let may_have_timed_out = has_waited || is_coarse(sent, time) && time > self.trouble.asked_time;
        // A NAK that is answered as late as a timer expires was lost after the tap, or what answered it before the tap.
        // The NAK that made it go back: the last one until then.
        let told = asked.map(|nak| if nak.last.0 <= time { nak.last } else { (nak.time, nak.frame) });
        if let Some((told, _)) = told.filter(|&(told, _)| told <= time) {
            self.more().recovery_mut().went_back(time - told);
        }
        let is_too_late = told.is_some_and(|(told, _)| self.is_too_late(time - told, config));
        let trigger = match (not_ready, asked) {
            (Some(_), _) => Trigger::Rnr,
            (_, Some(_)) if is_too_late => Trigger::Timeout,
            (_, Some(_)) => Trigger::Nak,
            _ if self.may_have_crossed(x, time, config) => Trigger::Timeout,
            // A later response passed the tap: the requester noticed the gap at once.
            _ if self.implies_nak(x, time, config) => Trigger::ImpliedNak,
            // No NAK came. An acknowledgement that passed the tap may have been lost before the sender. A coarse clock does not
            // show the wait.
            _ if self.acks_seen > 0 && (may_have_timed_out || self.repeats_timeout(x)) => Trigger::Timeout,
            _ => Trigger::Unknown,
        };
        self.counts.triggered(trigger);
        if let Some(reads) = self.reads.get_mut() {
            reads.out_of_sequence = false;
        }
        let retries = self.try_again(x, sent, (time, waited), trigger);
        let is_of_read = self.is_read(x);
        let mut episode = Episode {
            trigger,
            place,
            certain,
            is_of_data: false,
            is_of_result: false,
            lacked_ns: None,
            is_last: false,
            is_of_read,
            is_left_out: false,
            asked: asked.map(|nak| nak.x),
            x,
            original_frame: before.map(|(_, frame)| frame as u64),
            original_time: before.map(|(sent, _)| sent),
            nak_frame: told.map(|(_, frame)| frame),
            nak_time: told.map(|(told, _)| told),
            nak_generation: asked.and_then(|nak| Some((nak.time - nak.cause_time?).max(0) as u64)),
            first_frame: frame,
            start: time,
            recovered: None,
            goodput_before: self.rate_before(x, time, before),
            goodput_after: None,
            hi: self.seq.hi,
            packets: 0,
            arrived: 0,
            bytes: 0,
            needless: 0,
            retries,
        };
        let is_left_out = asked.is_some_and(|nak| nak.is_left_out && nak.x == x);
        let flaw = if is_left_out { self.had_flaw(x) } else { None };
        match asked {
            Some(nak) if nak.was_late => (episode.place, episode.certain) = (Some(Place::None), true),
            // The acknowledgements to come tell whether it was only late.
            Some(nak) if nak.downstream && nak.x == x => episode.place = Some(Place::Downstream),
            // What is repeated behind it overtook it.
            Some(nak)
                if nak.downstream && nak.x < x && x - nak.x <= self.counts.trouble().max_extent.into() =>
            {
                let original = self.seq.ring.get(nak.x).map(|sent| (sent.time, u64::from(sent.frame)));
                (episode.x, episode.place) = (nak.x, Some(Place::Downstream));
                (episode.original_time, episode.original_frame) = original.unzip();
            }
            // It came after the packet that made the responder ask.
            Some(Asked { x: lacked, cause_time: Some(since), .. })
                if lacked == x && before.is_some_and(|(sent, _)| since <= sent) =>
            {
                episode.place = Some(Place::None);
            }
            Some(_) if flaw.is_some() => {
                (episode.place, episode.certain) = (flaw.map(Flaw::place), true);
            }
            // Whether that is proved shows at the end: none may be late, nor missed by the capture.
            Some(_) if is_left_out && trigger == Trigger::Nak => {
                (episode.place, episode.is_left_out) = (Some(Place::Upstream), true);
            }
            _ => {}
        }
        match trigger {
            Trigger::Nak => {
                if let Some(nak) = asked {
                    let told = told.map_or(nak.time, |(told, _)| told);
                    if time >= told {
                        self.more().recovery_mut().nak_reaction.add((time - told) as u64);
                    }
                    // What passed the tap between the NAK and this is in the shadow, too.
                    let since = self.packets_in(nak.hi.max(x)..self.seq.hi);
                    self.counts.lost_in_shadow(since, since);
                }
            }
            Trigger::Rnr => {
                episode.place = Some(Place::None);
                if let Some(rnr) = not_ready {
                    let waited = (time - rnr.time).max(0) as u64;
                    let recovery = self.more().recovery_mut();
                    recovery.rnr_waited.add(waited);
                    recovery.rnr_stalled += waited;
                    recovery.rnr_early += (waited < rnr.timer_ns) as u64;
                }
            }
            Trigger::Timeout => {
                if has_waited {
                    self.sort_silences_from_here();
                    self.more().recovery_mut().timed_out(frame, waited);
                }
                // Of a READ, the tap saw the data, and not whether they arrived.
                match (place.is_some() || asked.is_some(), end <= self.una && !is_of_read) {
                    // It is known what was lost: the packet was missing at the tap, or a NAK said so. If no NAK came, those behind it may
                    // be lost too.
                    (true, _) if asked.is_none() => {
                        let outstanding = self.packets_in(x..self.seq.hi);
                        let outstanding = outstanding.saturating_sub(self.arrived_from(x));
                        self.counts.trouble_mut().shadow.unanswered(outstanding);
                    }
                    (true, _) => {}
                    // Its acknowledgement had passed the tap: it was lost later, or came too late for the timer.
                    (false, true) => {
                        self.counts.lost(Place::AckPath, 0, 1);
                        episode.place = Some(Place::AckPath);
                    }
                    (false, false) => self.suspect(x, end, (time, waited)),
                }
            }
            Trigger::ImpliedNak | Trigger::Unknown => {
                // What has an answer had arrived.
                if place.is_none() && end > self.una && !self.reads.is_answered(x) {
                    self.suspect(x, end, (time, waited));
                }
            }
        }
        self.is_recovering = true;
        self.counts.episode(episode.place.unwrap_or_default(), episode.certain);
        self.more().recovery_mut().keep_episode(episode);
    }

    /// No timer expires sooner. Where acknowledgements are slow, timers are shorter than a multiple of their round trips.
    fn shortest_timeout(&self, config: &TrackConfig) -> i64 {
        let four_trips = self.rtt_min.map_or(0, |rtt| 4 * i64::from(rtt));
        four_trips.max(SHORTEST_TIMEOUT_NS).min(self.timeout_floor(config))
    }

    /// The shortest time in which the sender reacted to a NAK, in nanoseconds.
    pub(crate) fn fastest_reaction(&self) -> Option<i64> {
        let fastest = self.more.as_ref()?.recovery.get()?.fastest_reaction()?;
        i64::try_from(fastest).ok()
    }

    /// Whether a sender that reacted so long after a NAK did not react to it, but to its timer: it reacts much sooner to others.
    fn is_too_late(&self, reaction: i64, config: &TrackConfig) -> bool {
        let usual = self.more.as_ref().and_then(|more| more.recovery().fastest_reaction());
        self.known_timeout(config).is_some_and(|timeout| reaction >= timeout)
            || self.longest_timeout().is_some_and(|timeout| reaction > timeout)
            || reaction >= self.timeout_floor(config)
                && usual.is_some_and(|usual| is_far_beyond(reaction, usual))
    }

    /// The longest silence before a timeout that no NAK had come before.
    fn longest_timeout(&self) -> Option<i64> {
        let episodes = &self.more.as_ref()?.recovery.get()?.episodes;
        let is_it = |episode: &&Episode| episode.trigger == Trigger::Timeout && episode.nak_time.is_none();
        episodes.iter().filter(is_it).filter_map(|episode| Some(episode.start - episode.original_time?)).max()
    }

    /// The timer of the queue pair, as the user or the connection manager says.
    fn known_timeout(&self, config: &TrackConfig) -> Option<i64> {
        config.ack_timeout_ns.or((self.ack_timeout > 0).then_some(4096 << self.ack_timeout))
    }

    /// What the first NAKs were answered by shows only with the reaction to later ones: some were lost after the tap, and it was the
    /// timer that expired.
    pub(crate) fn settle_causes(&mut self, config: &TrackConfig) {
        let floor = self.timeout_floor(config);
        self.settle_first_causes(floor);
        if config.is_sparse || self.seq.is_sparse() {
            return self.hide_causes();
        }
        self.settle_short_causes();
        let known =
            self.known_timeout(config).into_iter().chain(self.longest_timeout().map(|ns| ns + 1)).min();
        let Some(recovery) = self.more.as_mut().and_then(|more| more.recovery.get_mut()) else { return };
        let reaction = |episode: &Episode| Some(episode.start - episode.nak_time?);
        let is_timed = |episode: &&Episode| matches!(episode.trigger, Trigger::Nak | Trigger::Timeout);
        let times = recovery.episodes.iter().filter(is_timed).filter_map(reaction);
        let mut times: Vec<u64> = times.filter_map(|ns| u64::try_from(ns).ok()).collect();
        let Some(usual) = fastest_reaction(&mut times) else { return };
        let is_late =
            |ns| ns >= floor && is_far_beyond(ns, usual) || known.is_some_and(|timeout| ns >= timeout);
        // What seemed to be late for its time, too, may be no later than all that came since.
        let is_other = |episode: &Episode| match (episode.trigger, reaction(episode)) {
            (Trigger::Nak, Some(ns)) => is_late(ns),
            (Trigger::Timeout, Some(ns)) => !is_late(ns),
            _ => false,
        };
        let (mut now_late, mut now_nak) = (Vec::new(), Vec::new());
        for episode in recovery.episodes.iter_mut().filter(|episode| is_other(episode)) {
            let (frame, ns) = (episode.first_frame, reaction(episode).unwrap_or(0));
            episode.trigger = match episode.trigger {
                Trigger::Nak => {
                    now_late.push((frame, ns));
                    Trigger::Timeout
                }
                _ => {
                    now_nak.push(frame);
                    Trigger::Nak
                }
            };
        }
        if now_late.is_empty() && now_nak.is_empty() {
            return;
        }
        recovery.timeouts.retain(|timeout| !now_nak.contains(&timeout.frame));
        now_late.iter().for_each(|&(frame, waited)| recovery.timed_out(frame, waited));
        recovery.timeouts.order_by_key(|timeout| timeout.frame);
        if recovery.episodes_dropped == 0 {
            recovery.nak_reaction = Distribution::default();
            let naks = recovery.episodes.iter().filter(|episode| episode.trigger == Trigger::Nak);
            naks.filter_map(reaction).for_each(|ns| recovery.nak_reaction.add(ns.max(0) as u64));
        }
        let triggers = &mut self.counts.trouble_mut().triggers;
        let moved = [
            (Trigger::Nak, &now_late.len(), &now_nak.len()),
            (Trigger::Timeout, &now_nak.len(), &now_late.len()),
        ];
        for (trigger, &less, &more) in moved {
            let count = &mut triggers[trigger as usize];
            *count = count.saturating_sub(less as u32).saturating_add(more as u32);
        }
    }

    /// What waited for a small part of the time of a timer that shows later waited for no timer.
    fn settle_short_causes(&mut self) {
        /// Senders that adapt their timers double them a few times.
        const PART: u64 = 64;
        /// None of theirs is as short.
        const SHORT_NS: u64 = 1_000_000;
        // Who repeats single packets has a timer for each, and acknowledgements of others come meanwhile.
        if self.seq.recovery_mode() != report::RecoveryMode::GoBackN {
            return;
        }
        let Some(recovery) = self.more.as_mut().and_then(|more| more.recovery.get_mut()) else { return };
        let longest = recovery.timeouts.iter().map(|timeout| timeout.waited_ns).max().unwrap_or(0);
        let shortest = SHORT_NS.min(longest / PART);
        let is_short = |timeout: &&report::Timeout| timeout.waited_ns < shortest;
        let short: Vec<u64> =
            recovery.timeouts.iter().filter(is_short).map(|timeout| timeout.frame).collect();
        if short.is_empty() {
            return;
        }
        recovery.timeouts.retain(|timeout| timeout.waited_ns >= shortest);
        let is_it = |episode: &&mut Episode| {
            episode.trigger == Trigger::Timeout && short.contains(&episode.first_frame)
        };
        recovery.episodes.iter_mut().filter(is_it).for_each(|episode| episode.trigger = Trigger::Unknown);
        let n = short.len() as u32;
        let triggers = &mut self.counts.trouble_mut().triggers;
        triggers[Trigger::Timeout as usize] = triggers[Trigger::Timeout as usize].saturating_sub(n);
        triggers[Trigger::Unknown as usize] = triggers[Trigger::Unknown as usize].saturating_add(n);
    }

    /// Where most packets are missing, so are most NAKs: that none shows is no evidence of a timer, and times are chance. What an answer shows
    /// stays.
    fn hide_causes(&mut self) {
        let Some(recovery) = self.more.as_mut().and_then(|more| more.recovery.get_mut()) else { return };
        let is_guess = |trigger| matches!(trigger, Trigger::Timeout | Trigger::ImpliedNak);
        for episode in recovery.episodes.iter_mut().filter(|episode| is_guess(episode.trigger)) {
            episode.trigger = Trigger::Unknown;
        }
        recovery.timeouts.clear();
        self.trouble.hides_causes = true;
        let triggers = &mut self.counts.trouble_mut().triggers;
        for guess in [Trigger::Timeout, Trigger::ImpliedNak] {
            let n = std::mem::take(&mut triggers[guess as usize]);
            triggers[Trigger::Unknown as usize] = triggers[Trigger::Unknown as usize].saturating_add(n);
        }
    }

    /// Before the first answer, it is not known whether a capture has the answers. If it has, a silence that no NAK ended ended with a timer. So
    /// did one that is as long as others: where answers are slow, or their clock is ahead, timers may be as short as a round trip seems to be.
    fn settle_first_causes(&mut self, floor: i64) {
        const SOME: usize = 3;
        if !self.hears() {
            return;
        }
        let rtt = self.rtt_min.unwrap_or(0);
        let shortest = match self.rtt_min {
            Some(rtt) => (4 * i64::from(rtt)).max(SHORTEST_TIMEOUT_NS).min(floor),
            None => floor,
        };
        let least = i64::from(rtt).max(SHORTEST_TIMEOUT_NS);
        let episodes = || self.more.iter().flat_map(|more| &more.recovery().episodes);
        let open = episodes().filter(|episode| episode.trigger == Trigger::Unknown && !episode.is_of_data);
        let waits: Vec<i64> = open
            .filter_map(|episode| Some(episode.start - episode.original_time?))
            .filter(|&ns| ns > least)
            .collect();
        // Packets that wait for a timer came as much later than they were sent as others do.
        let latest = self.latest_ns();
        let is_alike = |one: i64, other: i64| (one - other).abs() <= one / 32 + latest.min(one / 8);
        let is_timer = |ns: i64| waits.iter().filter(|&&other| is_alike(ns, other)).count() >= SOME;
        // Where packets are late, those between two late ones are as far apart as others.
        let is_tidy = |waited: i64| waited > latest.saturating_mul(4);
        let Some(recovery) = self.more.as_mut().and_then(|more| more.recovery.get_mut()) else { return };
        let mut n = 0;
        let mut before = None;
        for at in 0..recovery.episodes.len() {
            let episode = &mut recovery.episodes[at];
            let since = before.replace(episode.start).map_or(i64::MAX, |before| episode.start - before);
            let Some(waited) = episode.original_time.map(|sent| episode.start - sent) else { continue };
            let is_long = waited >= shortest || is_tidy(waited) && waited > least && is_timer(waited);
            // Whoever goes back starts its timer anew.
            let is_fresh = (0..shortest.min(SHORTEST_TIMEOUT_NS)).contains(&since);
            if episode.trigger != Trigger::Unknown || episode.is_of_data || !is_long || is_fresh {
                continue;
            }
            episode.trigger = Trigger::Timeout;
            let frame = episode.first_frame;
            n += 1;
            recovery.timed_out(frame, waited);
        }
        if n == 0 {
            return;
        }
        recovery.timeouts.order_by_key(|timeout| timeout.frame);
        let triggers = &mut self.counts.trouble_mut().triggers;
        triggers[Trigger::Unknown as usize] = triggers[Trigger::Unknown as usize].saturating_sub(n);
        triggers[Trigger::Timeout as usize] = triggers[Trigger::Timeout as usize].saturating_add(n);
    }

    /// Whether the capture has the answers to it, if there are any.
    pub(super) fn hears(&self) -> bool {
        self.acks_seen > 0 || self.trouble.get().is_some_and(|trouble| trouble.is_peer_seen)
    }

    /// A response that was asked for again need not have been sent: its responder answered nothing any more.
    pub(crate) fn data_may_not_be_sent(&mut self, psn: Psn) {
        let x = self.seq.unwrap(psn);
        let Some(more) = self.more.as_mut().and_then(|more| more.recovery.get_mut()) else { return };
        let is_it = |episode: &&mut Episode| {
            episode.is_of_data && episode.x == x && episode.place == Some(Place::Upstream)
        };
        for episode in more.episodes.iter_mut().rev().filter(is_it).take(1) {
            (episode.place, episode.certain) = (None, false);
        }
    }

    /// Why the sender went back last, and the frame with which it did.
    pub(crate) fn went_back(&self) -> Option<(Trigger, u64)> {
        let last = self.more.as_ref()?.recovery.get()?.episodes.last()?;
        Some((last.trigger, last.first_frame))
    }

    /// Whether a later READ response passed the tap lately, so that the requester of this PSN noticed the gap.
    pub(super) fn implies_nak(&self, x: u64, time: i64, config: &TrackConfig) -> bool {
        let Some(read) = self.reads.place(x).and_then(|at| self.reads.list.get(at)) else { return false };
        let is_open = self.reads.out_of_sequence || self.reads.list.iter().any(|read| read.next > x + 1);
        let waited = u64::try_from(time - read.time.max(read.again)).unwrap_or(0);
        // An acknowledgement says as much, of what the requester lacks the response to.
        let (acked, acked_time) = self.reads.acked;
        let is_acked = acked + 1 >= read.end && acked_time > read.time;
        let last = if is_acked { acked_time.max(self.reads.last_time) } else { self.reads.last_time };
        (is_open || is_acked) && time - last < self.patience(waited, config)
    }

    /// Whether the READ that begins with this PSN is asked for again when a timer may have expired, and its answers came in order, and so late that they
    /// may have crossed this request on its way.
    fn may_have_crossed(&self, x: u64, time: i64, config: &TrackConfig) -> bool {
        let Some(reads) = self.reads.get().filter(|reads| !reads.out_of_sequence) else { return false };
        let Some(read) = reads.place(x).and_then(|at| reads.list.get(at)) else { return false };
        let asked = read.time.max(read.again);
        let is_passed_over =
            reads.acked.0 + 1 >= read.end && reads.acked.1 > read.time || reads.is_answered_behind(read);
        let (came, since) = (read.came - asked, time - read.came);
        let is_late = self.rtt_min.is_some_and(|rtt| came > 4 * i64::from(rtt));
        x == read.first
            && read.came > asked
            && !is_passed_over
            && is_late
            && since < came
            && self.may_be_timer(time - asked, config)
    }

    /// Whether a timer of this queue pair may last so long.
    fn may_be_timer(&self, ns: i64, config: &TrackConfig) -> bool {
        match self.known_timeout(config) {
            Some(timeout) => ns >= timeout,
            None => ns >= self.shortest_timeout(config) && fitting_exponent(ns.max(0) as u64).is_some(),
        }
    }

    /// How long a requester that asks again so long after it asked may have taken to do so after a READ response. Some are slow, or far behind
    /// the tap: without acknowledgements, the times of READs and of reactions to NAKs are the only measure.
    fn patience(&self, waited: u64, config: &TrackConfig) -> i64 {
        /// Few requesters are farther away, and few timers are shorter.
        const FAR_NS: i64 = 60_000;
        let known = config.ack_timeout_ns.or((self.ack_timeout > 0).then_some(4096 << self.ack_timeout));
        let first = self.more.as_ref().and_then(|more| more.recovery().read_first.p99()).unwrap_or(0);
        let usual = self.timeout_floor(config).max(thrice(first));
        if known.is_some() || fitting_exponent(waited).is_some() {
            return usual;
        }
        usual.max(self.fastest_reaction().unwrap_or(0).saturating_mul(3)).max(FAR_NS)
    }

    /// The last episode is over.
    #[cold]
    pub(crate) fn recovered(&mut self, time: i64) {
        self.is_recovering = false;
        let goodput = self.goodput;
        self.more().marks.restart(time, goodput);
    }

    /// The goodput until the newest packet passed the tap. The silence before a timeout does not count.
    pub(crate) fn rate_before(&self, x: u64, time: i64, before: Option<(i64, u32)>) -> Option<u64> {
        let newest = self.seq.hi.saturating_sub(1);
        let sent = match before {
            Some((sent, _)) if x == newest => Some(sent),
            _ => self.seq.ring.get(newest).map(|sent| sent.time),
        };
        self.more.as_ref()?.marks.rate(sent.map_or(time, |sent| sent.min(time)), self.goodput)
    }
}

/// Whether a reaction took so much longer than the shortest one that it was none.
pub(super) fn is_far_beyond(ns: i64, usual: u64) -> bool {
    const MANY: u64 = 8;
    u64::try_from(ns).is_ok_and(|ns| ns > usual.saturating_mul(MANY))
}

/// The exponent of the nearest IBTA timeout: 4.096 us times two to it.
pub(super) fn nearest_exponent(ns: u64) -> u8 {
    let ratio = ns.max(1) as f64 / 4096.0;
    ratio.log2().round().clamp(0.0, 31.0) as u8
}
