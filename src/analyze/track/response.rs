//! The responses of a flow: acknowledgements, and the data of READs.

use std::{collections::VecDeque, ops::Range};

use super::{
    class::{Counts, Evidence, Flaw, Place},
    config::TrackConfig,
    copies::{Copying, Repetitions, Verdict},
    history::History,
    holes::Hole,
    on_demand::{OnDemand, quiet},
    order::IdOrder,
    push_last,
    request::{Read, Requests, RunState},
    sequence::Sequence,
    shadow::{Answers, AskedFor, BEHIND, may_be_lost},
    step::{Context, Packet, Resolved, Step},
};
use crate::{
    analyze::{
        model::{Class, Trigger},
        packet::Facts,
    },
    heap::heap,
    opcode::{Position, Shape},
    prefetch,
    wire::Psn,
};

/// The responses of a flow.
#[derive(Debug, Default, crate::stored::Stored)]
pub(crate) struct Responses {
    pub(crate) counts: Counts,
    /// Responses other than READ data.
    pub(crate) acks_seen: u64,
    /// The last acknowledgements, to find capture duplicates.
    acks: VecDeque<Ack>,
    last_ack: Option<(Psn, u32)>,
    /// It was a NAK: the responder lacks the packet of this PSN, and has not acknowledged it.
    was_negative: bool,
    /// So many of them may have a PSN beyond that of the last one.
    ahead: u8,
    /// Acknowledgements of atomics; [`u16::MAX`]: so many or more.
    atomics: u16,
    /// Answers to atomics that were lost before the tap, and behind it, as the order of answers proves.
    results_proved: [u16; 2],
    /// Those behind it that count as lost, proved or not.
    results_lost: u16,
    pub(crate) read: OnDemand<Data>,
}

/// The READ responses among them.
#[derive(Debug, Default, crate::stored::Stored)]
pub(crate) struct Data {
    pub(crate) seq: Sequence,
    pub(crate) goodput: u64,
    /// A message of several packets is open: the next PSN is due.
    open: bool,
    /// From which PSN on a READ was requested again, and when.
    asked: Option<(u64, i64)>,
    /// Some READ was requested again from within.
    asks_from_within: bool,
    /// The same, whatever came since.
    asked_last: Option<(u64, i64)>,
    /// When what was last requested again came. What had come before it, and is behind it, was refused.
    answered: i64,
    /// Why, and the frame of the request.
    asked_by: Option<(Trigger, u64)>,
    /// The frame with which the requester went back then.
    went_back: u64,
    /// The PSN that the requester expects, if it sees the packets as the tap does. It takes responses in order only.
    expected: u64,
    skipped: u64,
    /// PSNs among them that no READ asked for.
    skipped_others: u64,
    /// Losses before the tap that the order of responses which come again proves, and nothing else.
    sure_by_order: u64,
    /// Losses behind the tap that are proved if no packet overtakes another there: their requester did not wait.
    sure_in_order: u32,
    /// Responses that may have been lost before the tap behind the last one that came, when READs were requested again: they came since, and
    /// looked new.
    tails: u64,
    /// PSNs of the longest gap.
    longest_gap: u64,
    /// Responses that were sent and lost before the tap, and have not come since: those that come are repetitions.
    sent: Range<u64>,
    /// The response from which on all was counted as lost before the tap, when it was requested again: proved if it is answered then.
    unanswered: Option<u64>,
    /// Responses that came late after another transmission of theirs had passed the tap.
    late_again: u64,
    /// Packets with a wrong checksum, or cut, that are not known to be among those that come again.
    flawed: u64,
    /// Where they came: which PSN was due, how many of them, and what the last one was.
    flaws: VecDeque<(u64, u64, Flaw)>,
    /// Repeated packets that may be capture duplicates.
    repeated: Repetitions<(Packet, Position)>,
}

/// The content of an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledged<'a> {
    /// Messages completed.
    pub(crate) msn: Option<u32>,
    /// It is a NAK, or an RNR NAK.
    pub(crate) negative: bool,
    /// It answers an atomic.
    pub(crate) atomic: bool,
    /// The lags of capture duplicates. Without any, equal acknowledgements answer equal requests.
    pub(crate) copying: &'a Copying,
}

/// A READ that is requested again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AskedAgain {
    pub(crate) psn: Psn,
    /// It was requested from an earlier PSN on, and the responses before this one have arrived.
    pub(crate) is_from_within: bool,
    /// Responses that are due from this PSN on, and those of them that this READ asks for.
    pub(crate) responses: u64,
    pub(crate) rest: u64,
    /// The network was seen to reorder the requests.
    pub(crate) is_reordered: bool,
    /// When, since its responses were last asked for, an answer to what is behind it first passed the tap: the requester may ask again because of
    /// that.
    pub(crate) passed_over: Option<i64>,
    /// The shortest time in which its requester reacted to a NAK.
    pub(crate) reaction: Option<i64>,
    /// A response from this PSN on passed the tap since it was last requested.
    pub(crate) is_answered: bool,
    /// So many responses from this PSN on had surely been sent before, and did not pass the tap: an answer to what is behind them did.
    pub(crate) executed: u64,
    /// An answer to something behind this PSN passed the tap: its requester may have noticed that it lacks this response.
    pub(crate) is_answered_behind: bool,
    /// When it was requested before.
    pub(crate) asked_before: i64,
    /// Its responses may have crossed this request, if a timer made its requester ask.
    pub(crate) may_have_crossed: bool,
}

/// What is known at the end of who gets these responses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Requester {
    /// The shortest time in which it reacted to what it was told.
    pub(crate) reaction: Option<i64>,
    /// What it was told was stamped after that.
    pub(crate) is_apart: bool,
    /// When it sent last.
    pub(crate) until: i64,
}

/// Where the response of a READ was lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataLoss {
    pub(crate) place: Place,
    pub(crate) is_sure: bool,
    /// It was the answer to an atomic.
    pub(crate) is_result: bool,
    /// When it passed the tap, and in which frame: the low bits of its number.
    pub(crate) sent: Option<(i64, u64)>,
}

quiet!(Responses);
quiet!(Data);

heap! { Responses { counts, read, acks } Data { seq, flaws } Ack {} (u64, u64, Flaw) {} }

impl Data {
    /// Why data was last requested again.
    pub(crate) fn trigger(&self) -> Trigger {
        self.asked_by.map_or(Trigger::Unknown, |(by, _)| by)
    }

    /// Whether the response with this PSN came with a flaw, as far as what was due then tells.
    fn flaw_of(&self, x: u64) -> Option<Flaw> {
        let is_it = |(due, n, _): &&(u64, u64, Flaw)| (*due..due.saturating_add(*n)).contains(&x);
        self.flaws.iter().rev().find(is_it).map(|&(.., flaw)| flaw)
    }

    /// The history of data that comes again: the READ was requested again.
    fn asked_in(&self, history: History, class: Class) -> History {
        match self.asked_by {
            Some((trigger, frame)) if class == Class::Retransmission => {
                History { trigger, asked: Some(frame), ..history }
            }
            _ => history,
        }
    }
}

#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct Ack {
    psn: Psn,
    fingerprint: u32,
    time: i64,
    vantage: u16,
    /// Its copy at the same place has come: one more is another acknowledgement.
    is_copied: bool,
}

/// Most acknowledgements that are remembered.
const ACKS: usize = 8;
const COPIED_ACKS: usize = 64;
/// A requester that lacks a response asks for it sooner, or gets no more of them.
const LONG_NS: i64 = 1_000_000;
/// A larger step of PSNs may be a wrap.
const FAR: i32 = 1 << 19;

impl Responses {
    /// Prefetches the cache lines that a response needs.
    #[inline(always)]
    pub(crate) fn fetch(&self) {
        prefetch::line(&self.counts.packets);
        prefetch::line(&self.acks_seen);
    }

    /// When the last READ response came.
    #[inline(always)]
    pub(crate) fn last_data(&self) -> Option<i64> {
        let read = self.read.get().filter(|read| read.seq.is_started())?;
        Some(read.seq.last_time)
    }

    /// Prefetches the state on the heap.
    #[inline(always)]
    pub(crate) fn fetch_last(&self) {
        self.acks.back().into_iter().for_each(prefetch::line);
    }

    /// Takes an acknowledgement: ACK, NAK, RNR NAK, or that of an atomic.
    #[inline]
    pub(crate) fn acknowledge(&mut self, p: &Packet, ack: &Acknowledged, ids: &IdOrder) -> Class {
        self.counts.packets += 1;
        self.acks_seen += 1;
        self.atomics = self.atomics.saturating_add(ack.atomic.into());
        let class = self.class_of_ack(p, ack, ids);
        let evidence = match class {
            Class::CaptureDuplicate if p.id.is_some() && ids.varies() => Evidence::IpId,
            Class::CaptureDuplicate => Evidence::Lag,
            Class::LateOriginal if p.id.is_some() && ids.counts_up() => Evidence::IpId,
            Class::LateOriginal => Evidence::Msn,
            _ => Evidence::Unknown,
        };
        self.counts.decided(class, evidence);
        if class == Class::CaptureDuplicate {
            self.counts.copied(p.l1_bytes, p.bytes);
        }
        class
    }

    fn class_of_ack(&mut self, p: &Packet, said: &Acknowledged, ids: &IdOrder) -> Class {
        let Acknowledged { msn, negative, .. } = *said;
        let Packet { psn, fingerprint, time, vantage, .. } = *p;
        let ack = Ack { psn, fingerprint, time, vantage, is_copied: false };
        let step = self.last_ack.map_or(0, |(last, _)| p.psn.distance_from(last));
        // If its PSN is beyond all remembered ones, it is no duplicate.
        let is_newest = self.ahead == 0 && (1..FAR).contains(&step);
        let ids_vary = || p.id.is_some() && ids.varies();
        if !is_newest && self.is_among(&ack, ids_vary(), said.copying) {
            return Class::CaptureDuplicate;
        }
        // A copy may come after many acknowledgements.
        let most = if said.copying.is_learned() { COPIED_ACKS } else { ACKS };
        push_last(&mut self.acks, most, ack);
        self.ahead =
            if step >= FAR || step < 0 && negative { most as u8 } else { self.ahead.saturating_sub(1) };
        // An older acknowledgement that comes after a NAK does not acknowledge what that lacks.
        let is_older = step < 0 && !negative;
        let was_negative = self.was_negative;
        self.was_negative = if is_older { was_negative } else { negative };
        let Some((last, last_msn)) = self.last_ack else {
            self.last_ack = Some((p.psn, msn.unwrap_or(0)));
            return if self.read.get().is_some_and(|read| read.seq.is_started()) {
                Class::New
            } else {
                Class::First
            };
        };
        let ahead = p.psn.distance_from(last);
        if ahead > 0 || negative || ahead == 0 && was_negative {
            self.last_ack = Some((p.psn, msn.unwrap_or(last_msn)));
            return Class::New;
        }
        if ahead == 0 {
            return Class::RepeatedAck;
        }
        let overtaken = match p.id {
            Some(id) if ids.counts_up() => ids.ahead(id) < 0,
            // A repeated atomic gets the old answer again, with its old MSN.
            _ => !said.atomic && msn.is_some_and(|msn| Psn(msn).distance_from(Psn(last_msn)) < 0),
        };
        if overtaken { Class::LateOriginal } else { Class::RepeatedAck }
    }

    /// Whether it was recorded before. Equal acknowledgements follow each other where a receiver gets again what it has: each has a copy of
    /// its own, and copies come in the order of what they are of.
    #[inline(never)]
    fn is_among(&mut self, ack: &Ack, ids_vary: bool, copying: &Copying) -> bool {
        let is_it = |before: &&mut Ack| before.is_same(ack, ids_vary, copying);
        let Some(before) = self.acks.iter_mut().find(is_it) else { return false };
        before.is_copied |= before.vantage == ack.vantage;
        true
    }

    /// The answer to an atomic was lost. Returns what is known of that by the other answers, too.
    pub(crate) fn lost_result(&mut self, lost: DataLoss) -> DataLoss {
        let DataLoss { place, is_sure, .. } = lost;
        let is_flawed = self.read.get().is_some_and(|read| read.flawed > 0 || !read.flaws.is_empty());
        let is_sure = is_sure && !self.counts.are_untidy() && !is_flawed;
        let proved = &mut self.results_proved[usize::from(place == Place::Downstream)];
        let is_sure = is_sure && *proved < u16::MAX;
        *proved += u16::from(is_sure);
        if is_sure {
            self.counts.prove(place);
        } else {
            self.counts.lost(place, 0, 1);
        }
        self.results_lost = self.results_lost.saturating_add((place == Place::Downstream).into());
        self.counts.episode(place, is_sure);
        DataLoss { is_sure, ..lost }
    }

    /// The order of answers at the tap need not be that at their requester.
    pub(crate) fn results_are_not_proved(&mut self) {
        for (place, proved) in [Place::Upstream, Place::Downstream].into_iter().zip(self.results_proved) {
            self.are_not_proved(place, proved.into());
        }
        self.results_proved = [0; 2];
    }

    /// The same, of the responses to READs: those that their requester lacked may have been late, also before that showed.
    pub(crate) fn data_is_not_proved(&mut self) {
        let proved = self.read.get_mut().map_or(0, |read| std::mem::take(&mut read.sure_in_order));
        self.are_not_proved(Place::Downstream, proved);
    }

    /// So many losses that counted as proved are not.
    fn are_not_proved(&mut self, place: Place, losses: u32) {
        if losses > 0 {
            self.counts.doubt(place, losses.into());
            self.counts.not_certain(place, losses);
        }
    }

    /// Answers to atomics that were lost behind the tap, as it shows: counted there.
    pub(crate) fn results_shown(&self) -> u64 {
        self.results_lost.into()
    }

    /// The acknowledgements of atomics among these responses; at most so many, where there are very many.
    pub(crate) fn atomics(&self) -> u64 {
        if self.atomics == u16::MAX { self.acks_seen } else { self.atomics.into() }
    }

    /// Whether a READ response is the next one, and nothing is undecided.
    #[inline(always)]
    pub(crate) fn expects_data(&self, facts: &Facts, ids: &IdOrder) -> bool {
        self.read.get().is_some_and(|read| read.seq.expects(facts, ids) && read.sent.is_empty())
    }

    /// Takes an expected READ response. The result is that of [`read`](Self::read).
    #[inline(always)]
    pub(crate) fn take_expected_data(&mut self, facts: &Facts, shape: &Shape, frame: u64) {
        let Some(read) = self.read.get_mut() else { return };
        let x = read.seq.take_expected(facts, frame, 0);
        if x == read.expected || read.expected == 0 {
            read.expected = x + 1;
        }
        read.open = !shape.ends;
        read.goodput += facts.payload() as u64;
        self.counts.packets += 1;
        self.counts.class(Class::New);
    }

    /// Begins a run of READ responses, if possible. The state of the responses does not change until it
    /// [ends](Self::end_run).
    pub(crate) fn begin_run(&mut self) -> Option<RunState> {
        let Data { seq, open, expected, .. } = self.read.get_mut()?;
        if *expected <= seq.hi { RunState::of_data(seq, *open) } else { None }
    }

    /// Ends a run of this number of packets.
    pub(crate) fn end_run(&mut self, run: RunState, packets: u64) {
        let Some(Data { seq, open, expected, goodput, .. }) = self.read.get_mut() else { return };
        *goodput += run.payload() as u64;
        *open = run.is_data_open();
        // The expected PSN may lie before the run. Then it stays.
        let is_expected = packets > 0 && (*expected == seq.hi || *expected == 0);
        run.give_back(seq);
        if is_expected {
            *expected = seq.hi;
        }
        self.counts.packets += packets;
        self.counts.are_new(packets);
    }

    /// Takes a READ response. `requests`: the requests that it answers, if they are known.
    pub(crate) fn read(
        &mut self,
        p: &Packet,
        position: Position,
        requests: Option<&Requests>,
        ids: &IdOrder,
        config: &TrackConfig,
        resolved: &mut Vec<Resolved>,
    ) -> Option<Class> {
        if self.read.seq.has_repeated {
            let behind = self.read.seq.behind_repeated(p);
            let (hi, enough) =
                (self.read.seq.hi, self.read.seq.enough_copies(self.read.repeated.first(), &config.copying));
            let mut verdict = self.read.repeated.judge(behind, hi, enough);
            if verdict == Verdict::Resent && self.read.repeated.is_lone() && self.is_unasked(requests) {
                verdict = Verdict::Copies;
            }
            self.judge_repeated(verdict, requests, ids, config, resolved);
        }
        self.take_in(p, position, None, requests, ids, config, resolved)
    }

    /// Whether the READ of the first repetition that waits was seen, and not issued again.
    fn is_unasked(&self, requests: Option<&Requests>) -> bool {
        let asked = requests.zip(self.read.repeated.first_packet());
        let asked = asked.and_then(|(requests, (p, _))| requests.asked_for(p.psn));
        asked.is_some_and(|asked| asked.again.is_none()) && self.counts.of(Class::LateOriginal) == 0
    }

    /// Decides the class of the repetitions that wait.
    #[cold]
    fn judge_repeated(
        &mut self,
        verdict: Verdict,
        requests: Option<&Requests>,
        ids: &IdOrder,
        config: &TrackConfig,
        resolved: &mut Vec<Resolved>,
    ) {
        if verdict == Verdict::Wait {
            return;
        }
        self.read.seq.has_repeated = false;
        for (p, position) in self.read.repeated.take() {
            let is_copy = Some(verdict == Verdict::Copies);
            let class = self.take_in(&p, position, is_copy, requests, ids, config, resolved);
            resolved.extend(class.map(|class| Resolved::of(&p, class)));
        }
    }

    fn context<'a>(&self, ids: &'a IdOrder, config: &'a TrackConfig) -> Context<'a> {
        Context {
            is_copy: None,
            asked_time: 0,
            copying: &config.copying,
            age: self.counts.packets,
            rtt_min: None,
            is_apart: false,
            spread_ns: 0,
            reverse_visible: true,
            asked: self.read.asked,
            was_asked: None,
            was_trimmed: false,
            late_ns: config.late_ns,
            timeout_ns: i64::MAX,
            una: 0,
            last_progress: 0,
            ids,
            is_same_again: false,
        }
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "each is one thing that a packet of the responses is judged by"
    )]
    fn take_in(
        &mut self,
        p: &Packet,
        position: Position,
        is_copy: Option<bool>,
        requests: Option<&Requests>,
        ids: &IdOrder,
        config: &TrackConfig,
        resolved: &mut Vec<Resolved>,
    ) -> Option<Class> {
        let context = Context {
            is_copy,
            asked_time: requests.map_or(0, |requests| requests.asked_again(p.psn)),
            reverse_visible: requests.is_some(),
            ..self.context(ids, config)
        };
        self.read.seq.has_jumps = true;
        let began = resolved.len();
        let (open, sparse, hi) = (self.read.open, self.read.seq.is_sparse(), self.read.seq.hi);
        // In a pass of repetitions, the next one is due, which is behind the end of the gap.
        let is_next_due = open && self.read.seq.cur == hi;
        let missed = self.read.seq.rare.holes.psns();
        let goes_on = matches!(position, Position::Middle | Position::Last);
        let mut step = self.read.seq.on_packet(
            p,
            &context,
            |gap, holes| match requests {
                // A capture with few of the packets does not have all requests.
                _ if sparse || requests.is_none() && open => holes.push(gap, p.time, p.id),
                _ => {
                    // Skipped PSNs are missing if a READ requested them, or if they belong to a message of which parts were seen.
                    let (first, last) = (gap.start, gap.end - 1);
                    let asked = requests.into_iter().flat_map(|requests| asked_for(requests, gap.clone()));
                    asked.for_each(|part| holes.push(part, p.time, p.id));
                    for (x, _) in
                        [(first, is_next_due), (last, goes_on)].into_iter().filter(|(_, is_due)| *is_due)
                    {
                        if holes.get(x).is_none() {
                            holes.push(x..x + 1, p.time, p.id);
                        }
                    }
                }
            },
            resolved,
        );
        if let Some(requests) = requests.filter(|_| !step.left_out.is_empty()) {
            let all = step.left_out.end - step.left_out.start;
            // Those that a READ asked for, whatever the tap saw of them before.
            let due: u64 = parts_of(requests, step.left_out.clone(), |read| !read.is_atomic)
                .map(|part| part.end - part.start)
                .sum();
            // READs that overlap ask for some twice.
            self.read.skipped_others += all.saturating_sub(due);
        }
        if let Some(lag) = step.repeated {
            self.read.repeated.push(step.x, step.x + 1, lag, (*p, position));
            return None;
        }
        let was_sent = self.comes_again(&mut step);
        self.read.open = matches!(position, Position::First | Position::Middle);
        if step.gap > 0 {
            let gap = self.read.seq.rare.holes.psns().saturating_sub(missed);
            self.read.longest_gap = self.read.longest_gap.max(gap);
        }
        self.counts.packets += 1;
        self.settle(&resolved[began..], requests.and_then(|requests| requests.rtt_min), config);
        if step.class != Some(Class::CaptureDuplicate) {
            if self.read.asked_last.is_some_and(|(x, _)| x == step.x) {
                self.read.answered = p.time;
            }
            let is_in_order = step.x == hi && step.gap == 0;
            if self.is_next(step.x, is_in_order, p.time, requests) {
                self.read.expected = step.x + 1;
            }
        }
        let Some(class) = step.class else {
            self.read.goodput += p.bytes as u64;
            return None;
        };
        if resolved[began..].iter().any(|verdict| verdict.fill.frame == p.frame) {
            self.read.goodput += p.bytes as u64;
            return Some(class);
        }
        self.counts.decided(class, step.evidence);
        config.histories.keep(|| self.read.asked_in(History::of(p, &step, class), class));
        if step.original_late {
            self.read.late_again += u64::from(class == Class::LateOriginal);
            self.counts.doubt(Place::Upstream, 1);
        }
        match class {
            Class::First | Class::New | Class::NewAfterGap | Class::Resync => {
                self.read.goodput += p.bytes as u64
            }
            Class::Retransmission => {
                self.again(p, &step);
                self.read.goodput += if was_sent { p.bytes.into() } else { 0 };
            }
            Class::CaptureDuplicate => self.counts.copied(p.l1_bytes, p.bytes),
            Class::Ambiguous => self.counts.ambiguous(),
            _ => {}
        }
        Some(class)
    }

    /// Whether it is a response that was lost before the tap when it was sent first.
    #[inline]
    fn comes_again(&mut self, step: &mut Step) -> bool {
        let sent = &mut self.read.sent;
        if step.x < sent.start || sent.is_empty() || step.class == Some(Class::CaptureDuplicate) {
            return false;
        }
        let is_it = sent.contains(&step.x) && matches!(step.class, Some(Class::New | Class::NewAfterGap));
        sent.start = step.x + 1;
        if is_it {
            (step.class, step.evidence) = (Some(Class::Retransmission), Evidence::Run);
        }
        is_it
    }

    /// Whether the requester, if it sees the packets as the tap does, has all responses before this one. PSNs of other requests are between
    /// them.
    fn is_next(&self, x: u64, is_in_order: bool, time: i64, requests: Option<&Requests>) -> bool {
        let expected = self.read.expected;
        // What follows the last one is behind the missing one as that was.
        if x <= expected || expected == 0 || is_in_order {
            return x == expected || expected == 0;
        }
        if self.read.seq.rare.holes.get(x - 1).is_some() {
            return false;
        }
        let Some(requests) = requests else { return x >= self.read.seq.hi.saturating_sub(1) };
        // What was missing for long, and not asked for again, was missed by the capture.
        let long = LONG_NS + requests.rtt_min.map_or(0, |rtt| 16 * i64::from(rtt));
        let was_missed = self.read.seq.rare.holes.get(expected).is_some_and(|hole| time - hole.time > long);
        was_missed || asked_for(requests, expected..x).next().is_none()
    }

    fn again(&mut self, p: &Packet, step: &Step) {
        self.counts.trouble_mut().retransmitted_bytes += p.bytes as u64;
        self.counts.trouble_mut().overtaken_again += step.overtaken as u64;
        self.read.skipped += step.skipped;
        if step.went_back {
            self.counts.triggered(self.read.trigger());
        }
    }

    /// A READ response that the requester will not accept.
    pub(crate) fn flawed(&mut self, flaw: Flaw) {
        const MOST: usize = 64;
        let Data { flawed, flaws, seq, .. } = &mut *self.read;
        *flawed += 1;
        match flaws.back_mut() {
            Some((due, n, last)) if *due == seq.cur => (*n, *last) = (*n + 1, flaw),
            _ => push_last(flaws, MOST, (seq.cur, 1, flaw)),
        }
    }

    fn settle(&mut self, resolved: &[Resolved], rtt: Option<u32>, config: &TrackConfig) {
        let is_asking = self.read.asked_last.is_some();
        for verdict in resolved {
            // The requester lacks the response that it asks for. Responses are sent in order: those that come again after it, and were
            // passed over, had been sent.
            let asked =
                self.read.asked.take_if(|(x, time)| *x == verdict.fill.x && *time <= verdict.fill.time);
            let is_again = verdict.class == Class::Retransmission;
            let flaw = if is_again { self.read.flaw_of(verdict.fill.x) } else { None };
            let is_flawed = is_again && self.read.flawed > 0;
            self.read.flawed -= is_flawed as u64;
            // A requester that lacks one goes back to it, and repeats READs for no other loss.
            let is_by_loss =
                matches!(self.read.trigger(), Trigger::Timeout | Trigger::ImpliedNak | Trigger::Unknown);
            let is_named = |first| self.read.asked_last.is_some_and(|(x, _)| x == first);
            // Without its requests, that it goes back to what is missing shows what the requester asks for.
            let begins_at_hole =
                verdict.went_back && verdict.in_pass && verdict.fill.x == verdict.fill.hole_first;
            let is_asked = asked.is_some() || !is_asking && begins_at_hole;
            let is_sure = !is_flawed
                && (is_asked || verdict.in_pass && is_by_loss && !verdict.fill.may_be_of_capture(is_named));
            // In the first round trip of a capture, responses come behind those that came before it, and prove nothing.
            let waited = verdict.fill.time - verdict.fill.hole_time;
            let round_trip = rtt.map_or(waited, |rtt| waited.min(rtt.into()));
            let is_sure = is_sure && verdict.fill.hole_time - self.read.seq.start_time > round_trip;
            self.read.sure_by_order += u64::from(is_sure && is_again && !is_asked);
            verdict.count(&mut self.counts, is_sure as u64, flaw.is_none().into());
            if verdict.class == Class::Retransmission && verdict.went_back {
                self.counts.triggered(self.read.trigger());
            }
            config.histories.keep(|| {
                let history =
                    self.read.asked_in(History::of_fill(&verdict.fill, verdict.class), verdict.class);
                match verdict.class {
                    Class::Retransmission => {
                        History { lost: flaw.map_or(Place::Upstream, Flaw::place), ..history }
                    }
                    _ => history,
                }
            });
        }
    }

    /// A READ was requested again in this frame, since its requester went back with a frame before, for a reason. If that was no READ, its
    /// responses may have been lost as well.
    pub(crate) fn asked_with(&mut self, psn: Psn, frame: u64, (by, went_back): (Trigger, u64)) {
        let Some(read) = self.read.get_mut().filter(|read| read.seq.is_started()) else { return };
        if std::mem::replace(&mut read.went_back, went_back) == went_back {
            return;
        }
        read.asked_by = Some((by, frame));
        let most = read.seq.cur.saturating_sub(read.seq.unwrap(psn));
        self.counts.lost_in_shadow(most, if by == Trigger::Timeout { 0 } else { most });
    }

    /// So long ago those of the responses behind this one passed that [`BEHIND`] names.
    fn passed_behind(&self, x: u64, time: i64) -> [Option<i64>; BEHIND.len()] {
        let seq = &self.read.seq;
        let mut passed = (x + 1..seq.cur).filter_map(|x| seq.ring.get(x));
        let mut before = 0;
        BEHIND.map(|n| {
            let next = passed.nth((n - before - 1) as usize);
            before = n;
            next.map(|sent| time - sent.time)
        })
    }

    /// A READ was requested again in this frame, from this PSN on: its response did not arrive, or came too late. Returns where a
    /// response was lost; `None` if it may have been the request.
    pub(crate) fn asked_again(
        &mut self,
        again: &AskedAgain,
        requests: &Requests,
        (time, frame): (i64, u64),
        by: Trigger,
    ) -> Option<DataLoss> {
        /// All of a tail is lost, or none: a few are nearly as many as there are.
        const FEW: u64 = 4;
        if self.read.get().is_none_or(|read| !read.seq.is_started()) {
            // No data came at all so far: the first may have been lost, or its request.
            let is_by_loss = matches!(by, Trigger::Timeout | Trigger::ImpliedNak | Trigger::Unknown);
            self.counts.lost(Place::Upstream, 0, if is_by_loss { again.responses.min(FEW) } else { 0 });
            return None;
        }
        let late = self.counts.of(Class::LateOriginal) + self.counts.trouble().overtaken_again;
        let is_reordered = again.is_reordered || late > 0;
        self.read.asks_from_within |= again.is_from_within;
        let Data { seq, expected, asked, asked_last, asked_by, went_back, .. } = &mut *self.read;
        let x = seq.unwrap(again.psn);
        *asked = Some((x, time));
        let before = asked_last.replace((x, time));
        *asked_by = Some((by, frame));
        *went_back = frame;
        let hole = seq.rare.holes.get(x);
        let is_missing = hole.is_some();
        // No READ asked for what is between.
        if again.executed > 0
            && x > *expected
            && *expected > 0
            && !seq.rare.holes.touches(&(*expected..x))
            && asked_for(requests, *expected..x).next().is_none()
        {
            *expected = x;
        }
        // It has all before this one, whatever the tap saw. So has one that goes on, and had time enough to ask for what did not come again: it had that.
        let soon = again.reaction.zip(requests.rtt_min).map(|(took, rtt)| 4 * (took + i64::from(rtt)));
        let goes_on = before.zip(soon).is_some_and(|((_, asked), soon)| time - asked > soon)
            && !seq.rare.holes.touches(&(*expected..x.max(*expected)));
        let is_behind = (again.is_from_within || goes_on) && x > *expected;
        if is_behind {
            *expected = x + u64::from(!is_missing && seq.ring.get(x).is_some());
        }
        let sent = seq.ring.get(x).filter(|_| x < *expected && !is_missing);
        let sent = sent.map(|sent| (sent.time, u64::from(sent.frame)));
        let tail = (x + again.responses).saturating_sub(seq.cur.max(x)).min(FEW);
        // The only response of a READ is as likely to be lost as its request, whatever is lost elsewhere.
        let is_only = again.responses == 1 && !again.is_from_within && !is_missing && x >= seq.cur;
        // Nor is it chance where some of its responses came and the last ones did not: its requester asks since they were lost.
        let is_cut = !again.is_from_within && x < seq.cur && seq.cur < x + again.rest;
        let surely = if is_only || !is_cut { 0 } else { tail };
        let tail = if is_only || is_cut { 0 } else { tail };
        // Nor did any come of those before the first one that did.
        let before_all = seq.base.min(x + again.responses).saturating_sub(x);
        self.counts.lost(Place::Upstream, 0, surely + before_all);
        // Those after it may have been lost with it: PSNs of other requests are between them.
        let parts = parts_of(requests, x..seq.cur.max(x), |read| !read.is_atomic);
        let most = parts.map(|part| part.end - part.start).sum::<u64>().min(seq.cur.saturating_sub(x));
        self.counts.lost(Place::Downstream, 0, most.max((x < *expected).into()));
        self.read.tails = self.read.tails.saturating_add(tail);
        let Data { seq, expected, answered, .. } = &mut *self.read;
        let is_by_loss = matches!(by, Trigger::Timeout | Trigger::ImpliedNak | Trigger::Unknown);
        // A requester that a timer made ask has seen nothing behind it. Others take nothing of that.
        let in_shadow = if by == Trigger::Timeout { 0 } else { most };
        if by == Trigger::Timeout && before.is_some_and(|(last, _)| last == x) {
            // It had asked for this one already, and taken nothing since.
            self.counts.trouble_mut().shadow.hide(most.saturating_sub(1));
        }
        if !is_by_loss || sent.is_none() {
            self.counts.trouble_mut().shadow.hide(in_shadow);
        }
        let is_refused = |(at, _): (i64, u64)| before.is_some_and(|(last, _)| x > last) && at < *answered;
        // What it asks again for because of an answer from before this response came, or sooner than it can have missed this one.
        // So is what nothing behind it has an answer to: it was for another response that the requester went back.
        let is_for_other = by == Trigger::ImpliedNak && !again.is_answered_behind && !again.is_from_within;
        let is_on_its_way = |(at, _): (i64, u64)| {
            is_for_other
                || again.passed_over.is_some_and(|over| over < at)
                || again.reaction.is_some_and(|took| time - at < took - took / 4)
        };
        if is_by_loss && (x > *expected || sent.is_some_and(|sent| is_refused(sent) || is_on_its_way(sent))) {
            // The responses before it are due, or were when it came: the requester asks for this one anew, whether it came or not.
            if sent.is_some() {
                self.counts.trouble_mut().shadow.hide(in_shadow);
            }
            return Some(DataLoss { place: Place::None, is_sure: false, is_result: false, sent });
        }
        let is_first = x == *expected;
        *expected = x.min(*expected);
        if is_first {
            // It did not pass the tap, or came too early to be taken.
            let is_again = before.is_some_and(|(last, _)| last == x);
            // If no response to it came since it was last asked for, the request may have been lost: responders do not miss what they have answered
            // before. So may be one that is sent again from its beginning.
            let is_of_data = is_by_loss
                && match is_again {
                    true => again.is_answered,
                    false => again.is_from_within || is_missing || again.executed > 0,
                };
            if !is_of_data {
                if is_by_loss && (is_again || is_only) {
                    self.counts.lost(Place::Upstream, 0, again.responses);
                }
                return None;
            }
            // What comes before the response that was asked for is of the transmission before.
            let answered = *answered;
            let has_come = seq.ring.get(x).filter(|_| x < seq.hi && !is_missing);
            let is_answered_since =
                |(_, asked)| answered > asked && has_come.is_some_and(|sent| sent.time > answered);
            if let Some(sent) = has_come
                && before.is_none_or(is_answered_since)
                && !is_behind
            {
                // It came too early to be taken: it had overtaken one before it.
                self.counts.reordered_then_nak(true);
                self.counts.episode(Place::None, true);
                let sent = Some((sent.time, u64::from(sent.frame)));
                return Some(DataLoss { place: Place::None, is_sure: true, is_result: false, sent });
            }
            let (has_come, is_last) = (has_come.is_some(), x >= seq.hi);
            if let Some(flaw) = self.read.flaw_of(x).filter(|_| !is_behind) {
                // It came, and was counted.
                self.counts.episode(flaw.place(), true);
                return Some(DataLoss { place: flaw.place(), is_sure: true, is_result: false, sent: None });
            }
            let is_sure = self.read.flawed == 0 && !(has_come && is_reordered) && !is_behind;
            if is_last {
                // Nothing from it on passed the tap.
                let least = if is_sure { again.executed.max(1) } else { 0 };
                self.counts.lost(Place::Upstream, least, again.responses);
                if again.executed > 0 {
                    self.read.sent = x..x + again.executed;
                } else if is_sure {
                    self.read.unanswered = Some(x);
                }
            } else if is_again && is_missing {
                // What it was asked for before was lost, too.
                self.counts.lost(Place::Upstream, 0, 1);
            }
            self.counts.episode(Place::Upstream, is_sure);
            if let Some(hole) = hole.filter(|_| in_shadow > 0) {
                self.counts.trouble_mut().shadow.before(time - hole.time);
            }
            return Some(DataLoss { place: Place::Upstream, is_sure, is_result: false, sent: None });
        }
        if !is_by_loss || sent.is_none() || by == Trigger::Timeout && again.may_have_crossed {
            return None;
        }
        // Some requesters issue all of a READ again for what they lack of it.
        let responses = x..x.saturating_add(again.responses).min(self.read.seq.hi);
        let rare = &self.read.seq.rare;
        let is_cut = self.read.seq.hi < x.saturating_add(again.rest);
        let is_missing_behind =
            is_cut || rare.holes.touches(&responses) || rare.pass_holes.touches(&responses);
        if !again.is_from_within && is_missing_behind {
            // What the tap missed of it is what its requester lacks.
            let missed = self.read.seq.rare.holes.iter().find(|hole| responses.contains(&hole.start));
            let missed = missed.map(|hole| (hole.start, time));
            self.read.asked = missed.or(self.read.asked);
            self.counts.trouble_mut().shadow.hide(in_shadow);
            self.counts.episode(Place::Upstream, false);
            return Some(DataLoss { place: Place::Upstream, is_sure: false, is_result: false, sent: None });
        }
        // If packets overtake each other, one that is requested again may only have been late. A timer is long enough to tell.
        let is_in_order = !is_reordered || by == Trigger::Timeout;
        // A requester that has the responses before it lacks this one; so does one that saw a later one.
        // Nor does it lack what crossed the request before this one, and is not answered since.
        let has_crossed = sent.is_some_and(|(at, _)| at < again.asked_before);
        let is_sure =
            is_in_order && !is_behind && !has_crossed && (again.is_from_within || by == Trigger::ImpliedNak);
        if is_sure {
            self.read.sure_in_order += u32::from(by != Trigger::Timeout);
            self.counts.prove(Place::Downstream);
        }
        // Which one it lacks of a READ that it issues again as a whole, no time tells.
        let is_whole = !again.is_from_within && again.rest > 1 && !self.read.asks_from_within;
        if is_whole {
            self.counts.trouble_mut().shadow.hide(in_shadow.saturating_sub(1));
        } else if in_shadow > 0 {
            let after = self.passed_behind(x, time);
            self.counts.trouble_mut().shadow.after(AskedFor { after, waited: false, behind: in_shadow - 1 });
        }
        self.counts.episode(Place::Downstream, is_sure);
        Some(DataLoss { place: Place::Downstream, is_sure, is_result: false, sent })
    }

    /// The capture is over: decides what is undecided.
    pub(crate) fn finish(
        &mut self,
        &Requester { reaction, is_apart, until }: &Requester,
        ids: &IdOrder,
        config: &TrackConfig,
        resolved: &mut Vec<Resolved>,
    ) {
        if self.read.get().is_none() {
            return;
        }
        if self.read.seq.has_repeated {
            self.judge_repeated(self.read.repeated.alone(), None, ids, config, resolved);
        }
        let context = self.context(ids, config);
        let began = resolved.len();
        self.read.seq.finish(&context, resolved);
        self.settle(&resolved[began..], None, config);
        let skipped = self.read.skipped + self.read.seq.rare.pass_holes_left;
        let skipped = skipped.saturating_sub(self.read.skipped_others);
        // Only repeated READs are answered again: other PSNs are left out.
        self.counts.lost(Place::Upstream, 0, skipped);
        self.bound_tails();
        // What was retransmitted was perhaps lost downstream: no more than had been seen before, and is due.
        let of = |class, by| (class, by) == (Class::Retransmission, Evidence::SeenBefore);
        let again = self.counts.evidence().filter(|&(class, by, _)| of(class, by)).map(|(_, _, n)| n).sum();
        let [_, shown] = self.counts.lost_at(Place::Downstream).get();
        self.counts.widen(Place::Downstream, again);
        let open = self.read.seq.rare.holes.psns();
        // What was only late came once: it arrived, or comes again.
        let unsure = self.read.late_again + self.counts.of(Class::Ambiguous) + open;
        let due = self.read.seq.hi.saturating_sub(self.read.expected);
        if self.counts.of(Class::Resync) == 0 {
            self.counts.cap(Place::Downstream, again + unsure + due);
        }
        self.counts.lost(Place::Upstream, 0, open);
        // A requester takes responses in order: so many late ones are late at the tap only, and their order there proves nothing.
        const MANY_ARE_LATE: u64 = 8;
        let is_disordered = self.counts.of(Class::LateOriginal) > self.counts.packets / MANY_ARE_LATE;
        // Where nothing else proves a loss there, the capture may have missed what was passed over.
        let [proved, _] = self.counts.lost_at(Place::Upstream).get();
        if config.misses || is_disordered || proved <= self.read.sure_by_order {
            self.counts.doubt(Place::Upstream, self.read.sure_by_order);
        }
        if config.is_sparse || self.read.seq.is_sparse() {
            let (base, hi) = (self.read.seq.base, self.read.seq.hi);
            self.counts.nothing_sure(hi - base);
        } else if self.went_over_holes(until) {
            // What the capture missed looks lost before the tap. That it was requested again proves a loss, if not where.
            let proved = u64::from(self.counts.episodes_at(Place::Upstream).certain);
            self.counts.doubt_all(Place::Upstream);
            self.counts.lost(Place::Unknown, proved, proved);
        }
        if is_apart {
            // Answers to a READ may be stamped before it.
            [Place::Upstream, Place::Downstream].iter().for_each(|&place| self.counts.doubt_all(place));
        }
        let late = self.counts.of(Class::LateOriginal) + self.counts.trouble().overtaken_again;
        const FEW: u64 = 64;
        if open == 0
            && late <= self.counts.packets / FEW
            && !is_apart
            && self.counts.of(Class::Resync) == 0
            && !config.is_sparse
            && !self.read.seq.is_sparse()
            && !config.is_coarse
        {
            let not_known = (again, again + unsure + due);
            self.counts.cap_hidden(shown, not_known, 0, Answers { shortest: reaction, usual: None });
        }
        // With them, requests may be missing, and then their responses are no jumps.
        let jumps = if open > 0 { self.read.seq.rare.jumps.psns() } else { 0 };
        self.counts.lost(Place::Capture, 0, open + jumps);
    }

    /// The response that was counted as lost before the tap, from which on nothing came since: it need not have been sent, and is no longer proved.
    pub(crate) fn take_unanswered(&mut self) -> Option<Psn> {
        let read = self.read.get_mut()?;
        let x = read.unanswered.take().filter(|&x| x >= read.seq.hi)?;
        self.counts.doubt(Place::Upstream, 1);
        self.counts.no_episode(Place::Upstream, true);
        self.counts.episode(Place::Unknown, false);
        Some(Psn(x as u32 & (Psn::SPACE - 1)))
    }

    /// Whether the requester went on over responses that never came: it had them, and the capture missed them. What it lacks at the end it may
    /// still ask for: that proves nothing. `until`: when the requester sent last.
    fn went_over_holes(&self, until: i64) -> bool {
        let Data { seq, expected, .. } = &*self.read;
        let is_over = |hole: &Hole| hole.start < *expected || until.saturating_sub(hole.time) > LONG_NS;
        seq.rare.holes.has_forgotten() || seq.rare.holes.iter().any(is_over)
    }

    /// Behind the last response that came, as many may have been lost before the tap as the other losses there make likely.
    fn bound_tails(&mut self) {
        let Data { tails, longest_gap, .. } = *self.read;
        let [least, most] = self.counts.lost_at(Place::Upstream).get();
        // Where the tap saw no loss before it, it did not see the end of one either.
        if most == 0 {
            return;
        }
        let longest = if longest_gap > 1 { 2 * longest_gap } else { 1 };
        let known = self.counts.packets.saturating_sub(self.counts.of(Class::CaptureDuplicate));
        let lost = may_be_lost(tails, least, known).map_or(tails, |lost| lost.min(tails));
        self.counts.lost(Place::Upstream, 0, lost.saturating_mul(longest));
    }

    /// Drops detail. Counts stay exact, and bounds correct.
    pub(crate) fn shed(&mut self, config: &TrackConfig, resolved: &mut Vec<Resolved>) {
        let Some(read) = self.read.get_mut() else { return };
        let began = resolved.len();
        // Missing PSNs are in the bounds at the end.
        read.seq.shed(resolved);
        self.settle(&resolved[began..], None, config);
    }

    /// READs for this number of responses are no longer tracked: any of these may be lost.
    pub(crate) fn not_followed(&mut self, responses: u64) {
        self.counts.lost(Place::Upstream, 0, responses);
        self.counts.lost(Place::Capture, 0, responses);
    }
}

/// The parts of a range of response PSNs that READs requested. Requests and responses unwrap PSNs independently.
fn asked_for(requests: &Requests, gap: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
    parts_of(requests, gap, |read| !read.awaits_no_data())
}

/// The parts of a range of response PSNs that these READs requested.
fn parts_of(
    requests: &Requests,
    gap: Range<u64>,
    is_one: impl Fn(&Read) -> bool,
) -> impl Iterator<Item = Range<u64>> {
    let start = requests.seq.unwrap(Psn(gap.start as u32 & (Psn::SPACE - 1)));
    let shift = gap.start as i64 - start as i64;
    let open = requests.reads_from(start).filter(move |read| is_one(read));
    open.filter_map(move |read| {
        let first = read.first.wrapping_add_signed(shift).max(gap.start);
        let end = read.end.wrapping_add_signed(shift).min(gap.end);
        (first < end).then_some(first..end)
    })
}

impl Ack {
    fn is_same(&self, other: &Ack, ids_vary: bool, copying: &Copying) -> bool {
        const SURE_NS: i64 = 1_000_000_000;
        let apart = (other.time - self.time).abs();
        self.psn == other.psn
            && self.fingerprint == other.fingerprint
            && match ids_vary || self.vantage != other.vantage {
                true => apart < SURE_NS,
                false => !self.is_copied && copying.has_among_equals(apart),
            }
    }
}
