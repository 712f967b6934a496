//! The requests of a flow, and the answers to them.

mod answer;
mod away;
mod clocks;
mod losses;
mod messages;
mod reads;
mod recovery;
mod run;
mod stats;
mod suspect;
mod tails;
mod tries;

use std::collections::VecDeque;

pub(crate) use answer::Response;
pub(crate) use reads::Read;
use reads::Reads;
pub(crate) use recovery::Episode;
pub(crate) use run::{MayWait, RunState};
pub(crate) use stats::AnswerStats;
pub(crate) use tries::Stopped;

use super::{
    class::{Counts, Evidence, Flaw, Place},
    config::TrackConfig,
    copies::Verdict,
    distribution::{Distribution, Tracked},
    history::History,
    holes::Hole,
    on_demand::OnDemand,
    order::IdOrder,
    push_last,
    responder_model::ResponderModel,
    sequence::{Sequence, is_next_sent, unseen},
    shed_first,
    silence::{Asked, RequesterState},
    step::{Context, Packet, Resolved},
};
use crate::{
    analyze::{
        model::{Class, Trigger},
        packet::Facts,
    },
    heap::heap,
    opcode::{Operation, Position, Shape},
    prefetch, report,
    wire::Psn,
};
use recovery::{FlawedGap, MAX_FLAWED_GAPS, Trouble};

/// A request packet.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(crate) struct Request {
    pub(crate) packet: Packet,
    pub(crate) operation: Operation,
    pub(crate) position: Position,
    /// Bytes of the whole message, if the packet states them: in a RETH, or as a message of one packet.
    pub(crate) message_bytes: Option<u32>,
    /// One past the largest PSN acknowledged when it came, if it had to wait for its verdict.
    pub(crate) una_before: Option<u64>,
}

/// A packet as a part of its message.
struct Part {
    operation: Operation,
    position: Position,
    /// PSNs.
    n: u32,
    time: i64,
    /// Payload bytes; for a READ request, the bytes that it asks for.
    bytes: u64,
}

impl Request {
    fn part(&self) -> Part {
        let &Request { packet: Packet { n, time, bytes, .. }, operation, position, message_bytes, .. } = self;
        let bytes = match operation {
            Operation::ReadRequest => message_bytes.unwrap_or(0),
            _ => bytes,
        };
        Part { operation, position, n, time, bytes: bytes as u64 }
    }
}

/// A message on the wire that is not acknowledged yet.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(crate) struct Waiting {
    last: u64,
    first_time: i64,
}

/// A message being assembled.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct Assembly {
    next: u64,
    bytes: u64,
    first_time: i64,
    operation: Operation,
}

/// The requests of a flow. The fields that every packet needs come first.
#[derive(Debug, Default, crate::stored::Stored)]
#[repr(C)]
pub(crate) struct Requests {
    /// One past the largest PSN acknowledged; 0 before the first.
    pub(crate) una: u64,
    /// Goodput: payload of first transmissions.
    pub(crate) goodput: u64,
    pub(crate) counts: Counts,
    trouble: OnDemand<Trouble>,
    reads: OnDemand<Reads>,
    responder: ResponderModel,
    assembly: Option<Assembly>,
    /// Three times the 99th percentile of the acknowledgements' round trips so far.
    thrice_rtt: i64,
    pub(crate) mtu: Mtu,
    /// The last episode is not over.
    is_recovering: bool,
    pub(crate) fatal: Option<u8>,
    /// The queue pair's acknowledgement timeout, as IBTA's exponent, where CM says it; 0 where it is not known.
    pub(crate) ack_timeout: u8,
    pub(crate) seq: Sequence,
    pub(crate) messages_completed: u64,
    waiting: VecDeque<Waiting>,
    pub(crate) acks_seen: u64,
    pub(crate) last_progress: i64,
    /// The largest number of PSNs that were outstanding.
    reach: u32,
    /// How often all was acknowledged: what came last before that was followed by nothing that would show its loss.
    emptied: u32,
    pub(crate) rtt_min: Option<u32>,
    pub(crate) more: Option<Box<AnswerStats>>,
    /// Bytes of messages.
    pub(crate) sizes: Distribution,
    /// Acknowledged PSNs that the tap never saw.
    pub(crate) acked_unseen: u64,
    /// Messages that were acknowledged together with a later one. Their own acknowledgement was not sent, or was lost.
    pub(crate) acks_not_seen: u64,
    pub(crate) messages_broken: u32,
    /// Silences that may hide losses.
    silences: u32,
}

heap! {
    Requests { seq, counts, responder, trouble, reads, waiting, sizes, more }
    Waiting {}
}

/// Path MTU, and the evidence for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, crate::stored::Stored)]
pub(crate) struct Mtu {
    pub(crate) bytes: u16,
    pub(crate) by: MtuBy,
}

/// The evidence for a path MTU, weakest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, crate::stored::Stored)]
pub(crate) enum MtuBy {
    #[default]
    Unknown,
    /// The number of PSNs that a READ took.
    ReadPsns,
    /// Full packets.
    FullPackets,
    /// A connection request.
    Cm,
}

/// The assumed path MTU until it is known.
const LIKELY_MTU: u32 = 1024;
/// The length of a READ whose frame was cut before the RETH, and the most PSNs that it may have.
const UNKNOWN: u32 = 0;
const LONGEST_UNKNOWN: u64 = 1 << 16;
const MAX_READS: usize = 256;
const MAX_WAITING: usize = 1024;
impl Requests {
    pub(crate) fn more(&mut self) -> &mut AnswerStats {
        self.more.get_or_insert_default()
    }

    /// Prefetches the cache lines that a packet needs. Neighbouring fields of these are at most a line apart.
    #[inline(always)]
    pub(crate) fn fetch(&self) {
        prefetch::line(&self.una);
        prefetch::line(&self.responder);
        prefetch::line(&self.thrice_rtt);
        prefetch::line(&self.seq.last_time);
        prefetch::line(&self.messages_completed);
        prefetch::line(&self.reach);
    }

    /// Prefetches the counts of losses.
    #[inline(always)]
    pub(crate) fn fetch_losses(&self) {
        prefetch::line(&self.counts.packets);
        prefetch::line(&self.acks_not_seen);
    }

    /// Prefetches the state that the end of a message changes.
    #[inline(always)]
    pub(crate) fn fetch_message(&self) {
        self.sizes.fetch();
        self.waiting.back().into_iter().for_each(prefetch::line);
    }

    /// Prefetches the state that an acknowledgement changes.
    #[inline(always)]
    pub(crate) fn fetch_answered(&self) {
        self.waiting.front().into_iter().for_each(prefetch::line);
        self.fetch_more();
    }

    /// Prefetches the distributions of times.
    #[inline(always)]
    pub(crate) fn fetch_more(&self) {
        if let Some(more) = &self.more {
            prefetch::lines(&**more);
            more.completion.fetch();
            more.ack_rtt.all().fetch();
        }
    }

    fn context<'a>(&self, ids: &'a IdOrder, config: &'a TrackConfig) -> Context<'a> {
        let asked_time = match self.reads.get() {
            // A response that did not come makes the requester ask again, too.
            Some(_) if self.acks_seen > 0 => i64::MAX,
            _ => self.trouble.get().map_or(0, |trouble| trouble.asked_time),
        };
        Context {
            asked_time,
            copying: &config.copying,
            age: self.counts.packets,
            is_copy: None,
            rtt_min: self.shortest_rtt(),
            is_apart: self.is_apart(),
            spread_ns: self.spread_ns(),
            reverse_visible: self.acks_seen > 0,
            asked: self.trouble.get().and_then(|trouble| trouble.asked).map(|nak| (nak.x, nak.time)),
            was_asked: None,
            was_trimmed: false,
            late_ns: config.late_ns,
            timeout_ns: self.timeout_floor(config),
            una: self.una,
            last_progress: self.last_progress,
            ids,
            is_same_again: true,
        }
    }

    /// The shortest silence that a timeout may end. IBTA vol. 1, 11.2.4.2: 4.096 us times 2 to the exponent.
    pub(crate) fn timeout_floor(&self, config: &TrackConfig) -> i64 {
        // Where nothing asks for packets again, acknowledgements wait for timers, and are no measure of one.
        let waits = || !self.is_asking() && self.seq.recovery_mode() != report::RecoveryMode::GoBackN;
        match (config.ack_timeout_ns, self.ack_timeout) {
            (Some(timeout), _) => timeout,
            (None, 0) => match self.rtt_min {
                Some(rtt) if waits() => self.thrice_rtt.min(4 * i64::from(rtt)).max(20_000),
                Some(_) => self.thrice_rtt.max(20_000),
                // No acknowledgement was timed yet. A timer is not shorter than the time in which a sender reacts to a NAK.
                None => self.fastest_reaction().unwrap_or(0).max(20_000),
            },
            (None, exponent) => 4096 << exponent,
        }
    }

    /// Whether the capture has too few packets to show why they were sent again.
    pub(crate) fn hides_causes(&self) -> bool {
        self.trouble.get().is_some_and(|trouble| trouble.hides_causes)
    }

    /// Whether the responder asked for any packet again.
    fn is_asking(&self) -> bool {
        self.trouble.get().is_some_and(|trouble| trouble.asked_time != 0)
    }

    /// Whether a packet of a SEND or WRITE is the expected one, and the flow has no trouble at the moment. Nearly all are.
    #[inline(always)]
    pub(crate) fn expects(&self, facts: &Facts, ids: &IdOrder) -> bool {
        self.seq.expects(facts, ids) && self.is_quiet()
    }

    /// Whether there is no trouble at the moment, and no READ whose length the next request will show.
    #[inline(always)]
    fn is_quiet(&self) -> bool {
        self.reads.get().is_none_or(|reads| reads.guess.is_none())
            && !self.is_recovering
            && self
                .trouble
                .get()
                .is_none_or(|trouble| trouble.flawed == 0 && trouble.trimmed_until <= self.seq.hi)
            && self.has_no_open_edge()
    }

    /// Takes an expected request. The result is that of [`on_request`](Self::on_request).
    #[inline(always)]
    pub(crate) fn take_expected(
        &mut self,
        facts: &Facts,
        shape: &Shape,
        frame: u64,
        ids: &IdOrder,
        config: &TrackConfig,
    ) {
        let (time, bytes) = (facts.time(), facts.payload() as u64);
        if self.may_hide_timeout(time - self.seq.last_time, config) {
            self.after_silence(facts.ip_id(), ids);
        }
        let x = self.seq.take_expected(facts, frame, self.una);
        self.responder.on_request(x, 1, time);
        self.counts.packets += 1;
        self.counts.class(Class::New);
        self.goodput += bytes;
        if let Some(operation) = shape.operation {
            self.assemble(&Part { operation, position: shape.position, n: 1, time, bytes }, x);
        }
    }

    /// After a silence as long as a timeout, the packet may have been sent before, and lost.
    #[inline(never)]
    fn after_silence(&mut self, id: Option<u16>, ids: &IdOrder) {
        if !is_next_sent(id, ids) {
            self.lost_perhaps(1, unseen(id, ids).clamp(1, self.burst()));
        }
    }

    /// Takes a request. Returns its class; `None` if it is undecided: then the verdict comes in `resolved` later.
    #[inline(never)]
    pub(crate) fn on_request(
        &mut self,
        request: &mut Request,
        ids: &IdOrder,
        config: &TrackConfig,
        resolved: &mut Vec<Resolved>,
    ) -> Option<Class> {
        if self.seq.has_repeated {
            let behind = self.seq.behind_repeated(&request.packet);
            let enough = self.seq.enough_copies(self.trouble.repeated.first(), &config.copying);
            let verdict = self.trouble.repeated.judge(behind, self.seq.hi, enough);
            self.judge_repeated(verdict, ids, config, resolved);
        }
        self.take_in(request, None, ids, config, resolved)
    }

    /// Decides the class of the repetitions that wait.
    #[cold]
    fn judge_repeated(
        &mut self,
        verdict: Verdict,
        ids: &IdOrder,
        config: &TrackConfig,
        resolved: &mut Vec<Resolved>,
    ) {
        if verdict == Verdict::Wait {
            return;
        }
        self.seq.has_repeated = false;
        for mut request in self.trouble.repeated.take() {
            let class = self.take_in(&mut request, Some(verdict == Verdict::Copies), ids, config, resolved);
            resolved.extend(class.map(|class| Resolved::of(&request.packet, class)));
        }
    }

    /// Takes a request. `is_copy`: for a repetition that waited, whether it is a capture duplicate.
    fn take_in(
        &mut self,
        request: &mut Request,
        is_copy: Option<bool>,
        ids: &IdOrder,
        config: &TrackConfig,
        resolved: &mut Vec<Resolved>,
    ) -> Option<Class> {
        if self.reads.guess.is_some() {
            self.solve(request.packet.psn);
        }
        if request.operation == Operation::ReadRequest {
            request.packet.n = self.psns_of_read(request.message_bytes.unwrap_or(0));
        }
        let request = &*request;
        let p = &request.packet;
        let (begins, silent, hi) = (!self.seq.is_started(), p.time - self.seq.last_time, self.seq.hi);
        let (was_asked, was_trimmed) = self.trouble.get().map_or((None, false), |trouble| {
            let x = self.seq.unwrap(p.psn);
            (trouble.last_nak(x, p.time).map(|nak| nak.time), trouble.was_trimmed(x, p.vantage))
        });
        let context = Context { is_copy, was_asked, was_trimmed, ..self.context(ids, config) };
        let began = resolved.len();
        let mut step = self.seq.on_packet(p, &context, |gap, holes| holes.push(gap, p.time, p.id), resolved);
        if !step.left_out.is_empty() && self.reads.get().is_some() {
            self.leave_out_responses(&mut step);
        }
        if resolved.len() > began {
            self.settle(began, resolved, config);
        }
        if let Some(lag) = step.repeated {
            let waiting = Request { una_before: Some(self.una), ..*request };
            self.trouble.repeated.push(step.x, step.x + p.n as u64, lag, waiting);
            return None;
        }
        self.counts.packets += 1;
        if step.x < hi && step.class != Some(Class::CaptureDuplicate) {
            self.came_behind(step.x, p.time);
        }
        let Some(class) = step.class else {
            self.responder.on_request(step.x, p.n, p.time);
            self.goodput += p.bytes as u64;
            self.assemble(&request.part(), step.x);
            // Its response may come before its verdict.
            self.remember_read(request, step.x);
            return None;
        };
        match class {
            Class::New if step.unseen == 0 && silent <= context.timeout_ns => {}
            Class::CaptureDuplicate => {
                self.counts.decided(class, step.evidence);
                self.counts.copied(p.l1_bytes, p.bytes);
                if step.evidence == Evidence::RoundTrip {
                    self.copied_soon(step.x, step.x + u64::from(p.n), p.time);
                }
                config.histories.keep(|| History::of(p, &step, class));
                return Some(class);
            }
            Class::First | Class::Resync => {
                self.responder.start(step.x);
                self.last_progress = p.time;
                self.una = 0;
                self.waiting.clear();
                if let Some(reads) = self.reads.get_mut() {
                    reads.list.clear();
                }
                self.assembly = None;
                if let Some(trouble) = self.trouble.get_mut() {
                    trouble.edges.clear();
                    trouble.early.clear();
                    trouble.trimmed_until = 0;
                }
            }
            // `settle` has counted it, with the others.
            Class::Retransmission
                if resolved.len() > began && resolved[began..].iter().any(|r| r.fill.frame == p.frame) =>
            {
                self.responder.on_request(step.x, p.n, p.time);
                self.goodput += p.bytes as u64;
                self.assemble(&request.part(), step.x);
                self.remember_read(request, step.x);
                return Some(class);
            }
            Class::Retransmission => self.again(request, &step, silent, config),
            Class::Ambiguous => self.counts.ambiguous(),
            // Whoever goes back goes on to new packets when it has repeated all.
            Class::NewAfterGap | Class::New if step.is_dropped && step.unseen > 0 && self.goes_back() => {
                self.counts.lost(Place::Upstream, 0, step.unseen.min(self.burst()))
            }
            Class::NewAfterGap | Class::New if !self.may_hide_timeout(silent, config) => {}
            Class::NewAfterGap | Class::New if step.unseen > 0 => {
                self.lost_perhaps(1, step.unseen.min(self.burst()))
            }
            // After a silence as long as a timeout: sent before, perhaps, and lost.
            Class::New if !is_next_sent(p.id, ids) => self.lost_perhaps(1, 1),
            _ => {}
        }
        self.counts.decided(class, step.evidence);
        config.histories.keep(|| match class {
            Class::Retransmission => {
                self.recovering(History::of(p, &step, class), step.x, step.x + p.n as u64)
            }
            _ => History::of(p, &step, class),
        });
        if step.original_late {
            self.trouble.late_again += u64::from(class == Class::LateOriginal);
            self.counts.doubt(Place::Upstream, 1);
            self.now_known(step.x, Place::Upstream, (Place::None, false));
        }
        self.responder.on_request(step.x, p.n, p.time);
        if begins && matches!(request.position, Position::Middle | Position::Last) {
            // The first packet of the message was sent before the capture began, or was lost.
            self.counts.lost(Place::Upstream, 0, 1);
        }
        // How many packets were passed over shows when READs that are among them come.
        if step.gap > 0 && self.reads.get().is_none() {
            self.trouble.tails.gap(step.gap);
        }
        let missing = step.gap.max(step.pass_gap);
        if missing > 0 && self.trouble.flawed > 0 && self.trouble.flaw == Flaw::Corrupt {
            // Corrupt packets came instead of the missing ones. Of trimmed ones, the PSNs are known.
            let Trouble { flawed, flaw, .. } = *self.trouble;
            let range = step.x - missing..step.x;
            let gap = FlawedGap { range, left: flawed.min(missing), flaw, vantage: p.vantage };
            push_last(&mut self.trouble.flawed_gaps, MAX_FLAWED_GAPS, gap);
        }
        if let Some(trouble) = self.trouble.get_mut() {
            trouble.skipped_late += trouble.flawed.min(step.pass_gap);
            trouble.flawed = 0;
        }
        if matches!(class, Class::First | Class::New | Class::NewAfterGap | Class::Resync) || self.seq.hi > hi
        {
            self.goodput += p.bytes as u64;
            self.assemble(&request.part(), step.x);
        }
        self.remember_read(request, step.x);
        if let Some(episode) = self.open_episode()
            && episode.recovered.is_none()
            && step.x + p.n as u64 > episode.hi
            && class != Class::Retransmission
        {
            episode.recovered = Some(p.time);
            self.recovered(p.time);
        }
        Some(class)
    }

    /// A packet came, or came again, behind the highest PSN.
    #[cold]
    fn came_behind(&mut self, x: u64, time: i64) {
        let una = self.una;
        let behind = &mut self.trouble.behind;
        let lowest = behind.map(|(lowest, _)| lowest).filter(|&lowest| lowest >= una);
        *behind = Some((lowest.map_or(x, |lowest| lowest.min(x)), time));
    }

    /// The PSNs of a READ of `length` bytes: one for each packet of its response.
    pub(crate) fn psns_of_read(&self, length: u32) -> u32 {
        let mtu = if self.mtu.by == MtuBy::Unknown { LIKELY_MTU } else { self.mtu.bytes as u32 };
        length.div_ceil(mtu).clamp(1, Psn::SPACE / 2)
    }

    /// The request after a READ shows the number of its PSNs, and so the path MTU.
    #[cold]
    fn solve(&mut self, next: Psn) {
        let Some((x, length)) = self.take_guess() else { return };
        // The READ itself, again or as another tap has it, shows nothing.
        if self.seq.unwrap(next) == x {
            self.reads.guess = Some((x, length));
            return;
        }
        if length == UNKNOWN {
            return self.reach_to(x, self.seq.unwrap(next));
        }
        let next = self.seq.unwrap(next);
        if next <= x {
            // The requester went back before it went on.
            self.reads.guess = Some((x, length));
            return;
        }
        let took = next - x;
        // As long as it is not known, it is known to be no less than what one response had.
        let least = if self.mtu.by == MtuBy::Unknown { self.mtu.bytes } else { 0 };
        let mut fitting = [4096u16, 2048, 1024, 512, 256]
            .into_iter()
            .filter(|&mtu| mtu >= least && u64::from(length.div_ceil(mtu.into())) == took);
        if took == 1 && self.mtu.by == MtuBy::Unknown {
            self.mtu.bytes = least.max(length.min(LIKELY_MTU) as u16);
        }
        // One response fits into any path MTU that is as long. Too short a guess shows with the next READ; too long a one makes gaps.
        let mtu = match took {
            1 if self.psns_of_read(length) == 1 => None,
            1 => fitting.next_back(),
            _ => fitting.next(),
        };
        // If the capture lost a request, the READ seems to be longer, and the path MTU smaller.
        if let Some(mtu) = mtu.filter(|&mtu| self.mtu.by == MtuBy::Unknown || mtu > self.mtu.bytes) {
            self.set_mtu(Mtu { bytes: mtu, by: MtuBy::ReadPsns }, x, length);
        }
    }

    /// The READ at `x`, whose length was cut off, takes the PSNs up to this one.
    fn reach_to(&mut self, x: u64, end: u64) {
        let Some(reads) = self.reads.get_mut() else { return };
        let Some(read) = reads.list.back_mut().filter(|read| read.first == x && read.end < end) else {
            return;
        };
        if self.seq.hi == read.end && end - x < LONGEST_UNKNOWN {
            (read.end, read.due, reads.end) = (end, end, reads.end.max(end));
            (self.seq.hi, self.seq.cur) = (end, end);
            self.responder.acknowledged(end);
        }
    }

    fn take_guess(&mut self) -> Option<(u64, u32)> {
        self.reads.get_mut()?.guess.take()
    }

    fn set_mtu(&mut self, mtu: Mtu, x: u64, length: u32) {
        self.mtu = mtu;
        let end = x + self.psns_of_read(length) as u64;
        if let Some(read) = self.reads.list.iter_mut().rev().find(|read| read.first == x) {
            if self.seq.hi == read.end {
                self.seq.hi = end;
                self.seq.cur = end;
            }
            (read.end, read.due) = (end, end);
            let reads = &mut *self.reads;
            let follow = |one: &&Read, next: &&Read| one.first <= next.first && one.end <= next.end;
            reads.in_disorder = !reads.list.iter().is_sorted_by(follow);
            reads.end = reads.end.max(end);
        }
        self.responder.acknowledged(end);
    }

    fn remember_read(&mut self, request: &Request, x: u64) {
        if !(request.operation == Operation::ReadRequest || request.operation.is_atomic()) {
            return;
        }
        let is_atomic = request.operation != Operation::ReadRequest;
        self.reads.atomics += u64::from(is_atomic);
        let refused = self.refused_from();
        let end = x + request.packet.n as u64;
        // A READ beyond all others is new.
        if end <= self.reads.end {
            self.reads.keep_over();
        }
        let known = match end <= self.reads.end {
            true => self.reads.list.iter_mut().rev().find(|read| read.first <= x && end <= read.end),
            false => None,
        };
        if let Some(read) = known {
            read.retried = true;
            read.had_arrived = read.has_arrived();
            read.again_before = std::mem::replace(&mut read.again, request.packet.time);
            read.came_before = std::mem::take(&mut read.came);
            read.due_before = std::mem::replace(&mut read.due, end);
            read.reach_before = read.reach;
            read.reach = read.reach.max(read.next);
            read.was_repeated = std::mem::take(&mut read.is_repeated);
            read.next_before = std::mem::replace(&mut read.next, x);
            read.over_before = std::mem::take(&mut read.over);
            let is_one = (read.first, read.end) == (x, x + 1);
            let results = std::mem::take(&mut read.results);
            // It was not executed before: it has no result.
            let was_refused = is_atomic && results == 0 && refused.is_some_and(|from| x >= from);
            let reads = &mut *self.reads;
            reads.results_again += u64::from(results);
            reads.atomics = reads.atomics.saturating_sub(was_refused.into());
            reads.again_end = end;
            // Where the request is cut, what follows it tells how long it is: the last one of a pass of repetitions is followed by others again.
            let is_last = is_one && end == reads.end;
            if is_last && request.operation == Operation::ReadRequest && request.message_bytes.is_none() {
                self.reads.guess = Some((x, UNKNOWN));
            }
            return;
        }
        let is_cut = request.message_bytes.is_none();
        self.reads.any_cut |= is_cut && request.operation == Operation::ReadRequest;
        if request.operation == Operation::ReadRequest && (is_cut || self.mtu.by <= MtuBy::ReadPsns) {
            self.reads.guess = match request.message_bytes {
                None => Some((x, UNKNOWN)),
                Some(length) => Some((x, length)).filter(|_| length > 256),
            };
        }
        let time = request.packet.time;
        let read = Read { first: x, end, time, next: x, due: end, is_atomic, ..Read::default() };
        let last = self.reads.list.back();
        self.reads.in_disorder |= last.is_some_and(|last| last.first > x || last.end > end);
        self.reads.end = self.reads.end.max(end);
        push_last(&mut self.reads.list, MAX_READS, read);
    }

    /// The PSN from which on the responder had taken nothing when the sender last went back, where it did so for a NAK.
    fn refused_from(&self) -> Option<u64> {
        let last = self.more.as_ref().filter(|_| self.is_recovering)?.recovery.get()?.episodes.last()?;
        last.asked.filter(|_| last.trigger == Trigger::Nak)
    }

    /// At least so many packets were acknowledged that the capture does not have.
    pub(crate) fn missed(&self) -> u64 {
        let before_una = |hole: &Hole| hole.end.min(self.una).saturating_sub(hole.start);
        // What was sent before the capture began is not missing.
        let holes = self.seq.rare.get().into_iter().flat_map(|rare| rare.holes.iter());
        let late = holes.filter(|hole| hole.time - self.seq.start_time >= self.beginning());
        let covered: u64 = late.map(before_una).sum();
        self.acked_unseen + covered + self.reads.get().is_some_and(|reads| reads.unasked) as u64
    }

    /// Whether there was never any trouble.
    pub(crate) fn is_quiet_so_far(&self) -> bool {
        self.counts.are_quiet()
            && self.messages_broken == 0
            && self.more.as_deref().is_none_or(|more| more.recovery().rnr_asked.count() == 0)
    }

    /// Drops detail. Counts stay exact, and bounds correct. Returns how many PSNs of READs may still be answered without being
    /// tracked.
    pub(crate) fn shed(&mut self, config: &TrackConfig, resolved: &mut Vec<Resolved>) -> u64 {
        let began = resolved.len();
        let missing = self.seq.shed(resolved);
        self.settle(began, resolved, config);
        self.counts.lost(Place::Upstream, 0, missing);
        self.counts.lost(Place::Capture, 0, missing);
        self.acks_not_seen += shed_first(&mut self.waiting).count() as u64;
        let reads = self.reads.get_mut().map(|reads| shed_first(&mut reads.list));
        let unanswered = reads.into_iter().flatten().map(|read| read.end.saturating_sub(read.next)).sum();
        self.each_distribution(Distribution::shed, Tracked::shed);
        self.shed_episodes();
        unanswered
    }

    /// Keeps only the first few episodes, and the last one.
    pub(crate) fn shed_episodes(&mut self) {
        if let Some(recovery) = self.more.as_mut().and_then(|more| more.recovery.get_mut()) {
            recovery.shed_episodes();
        }
    }

    /// What is measured is no longer kept as it is, but in histograms.
    pub(crate) fn coarsen(&mut self) {
        self.each_distribution(Distribution::coarsen, Tracked::coarsen);
    }

    fn each_distribution(&mut self, change: fn(&mut Distribution), change_tracked: fn(&mut Tracked)) {
        change(&mut self.sizes);
        let Some(more) = &mut self.more else { return };
        change_tracked(&mut more.ack_rtt);
        change(&mut more.completion);
        if let Some(recovery) = more.recovery.get_mut() {
            recovery.distributions_mut().into_iter().for_each(change);
        }
    }

    /// The flow is over: drops the state that only further packets would need.
    pub(crate) fn forget(&mut self) {
        self.seq.forget();
        self.waiting = VecDeque::new();
        self.reads = OnDemand::default();
        self.each_distribution(Distribution::end, Tracked::end);
    }

    /// What it may wait for, before its packet with the PSN `next`.
    pub(crate) fn state_before(&self, next: u64) -> RequesterState {
        let trouble = self.trouble.get();
        let refused = trouble.and_then(|trouble| trouble.not_ready).filter(|refused| refused.x >= self.una);
        let is_asked = trouble.is_some_and(|trouble| trouble.asked.is_some_and(|asked| asked.x >= self.una));
        let last = || Some(self.more.as_ref()?.recovery.get()?.episodes.last()?.trigger);
        RequesterState {
            start: self.seq.start_time,
            from: self.seq.last_time,
            hi: next,
            answered: self.last_progress.max(refused.map_or(i64::MIN, |refused| refused.time)),
            is_answered: self.una >= next,
            hears: self.acks_seen > 0,
            messages: self.waiting.len() as u32,
            completed: self.messages_completed,
            is_within: self.assembly.is_some() || !self.has_no_open_edge(),
            packets: self.counts.packets,
            retransmits: self.counts.of(Class::Retransmission),
            timeouts: self.counts.trouble().triggers[Trigger::Timeout as usize],
            rtt: self.rtt_min,
            trouble: match refused {
                Some(_) => Some(Trigger::Rnr),
                None if is_asked => Some(Trigger::Nak),
                None if self.is_recovering => last(),
                None => None,
            },
        }
    }

    /// Messages up to this PSN that are complete and not acknowledged.
    pub(crate) fn waiting_until(&self, psn: Psn) -> u32 {
        let x = self.seq.unwrap(psn);
        self.waiting.partition_point(|message| message.last <= x) as u32
    }

    /// These requests are paired with their answers, the last of which had this PSN. What was acknowledged before, nobody knows when, is not
    /// measured; what the answer at hand acknowledges is.
    pub(crate) fn was_answered_to(&mut self, psn: Psn) {
        let x = self.seq.unwrap(psn);
        let before = self.waiting.partition_point(|message| message.last < x);
        self.waiting.drain(..before);
    }

    /// Messages that are acknowledged, of those that are complete.
    pub(crate) fn messages_done(&self) -> u64 {
        self.messages_completed.saturating_sub(self.waiting.len() as u64)
    }

    /// Whether there was a READ or an atomic.
    pub(crate) fn has_reads(&self) -> bool {
        self.reads.get().is_some()
    }

    /// The last READs and atomics.
    pub(crate) fn reads(&self) -> impl Iterator<Item = &Read> {
        self.reads.list.iter()
    }

    /// When the READ or atomic with this PSN was requested again; 0 if it was not.
    pub(crate) fn asked_again(&self, psn: Psn) -> i64 {
        let at = self.reads.place(self.seq.unwrap(psn));
        at.and_then(|at| self.reads.list.get(at)).map_or(0, |read| read.again)
    }

    /// When the data with this PSN was requested, if that was seen.
    pub(crate) fn asked_for(&self, psn: Psn) -> Option<Asked> {
        let reads = self.reads.get()?;
        let read = reads.at(self.seq.unwrap(psn))?;
        Some(Asked { first: read.time, again: read.retried.then_some(read.again) })
    }

    /// The READs that do not end before this PSN, and perhaps others.
    pub(crate) fn reads_from(&self, x: u64) -> impl Iterator<Item = &Read> {
        self.reads.from(x)
    }

    /// A message is complete, and waits for its acknowledgement.
    #[inline(always)]
    pub(crate) fn completed(&mut self, bytes: u64, waiting: Waiting) {
        self.messages_completed += 1;
        self.sizes.add(bytes);
        if self.waiting.len() < MAX_WAITING
            && self.waiting.back().is_some_and(|last| last.last > waiting.last)
        {
            // The message was completed late.
            let at = self.waiting.partition_point(|before| before.last < waiting.last);
            self.waiting.insert(at, waiting);
            return;
        }
        push_last(&mut self.waiting, MAX_WAITING, waiting);
    }

    pub(crate) fn messages_open(&self) -> u64 {
        self.assembly.is_some() as u64
    }

    /// Whether the path MTU is known, so that full packets need not be examined.
    #[inline(always)]
    pub(crate) fn knows_mtu(&self) -> bool {
        self.mtu.by >= MtuBy::FullPackets
    }

    /// The payload of a full packet shows the path MTU. Returns whether that changed the end of a READ.
    #[inline]
    pub(crate) fn full_packet(&mut self, bytes: u32) -> bool {
        if !self.knows_mtu() && bytes.is_power_of_two() && (256..=4096).contains(&bytes) {
            let mtu = Mtu { bytes: bytes as u16, by: MtuBy::FullPackets };
            let is_cut = self.reads.guess.is_some_and(|(_, length)| length == UNKNOWN);
            match if is_cut { None } else { self.take_guess() } {
                Some((x, length)) => {
                    self.set_mtu(mtu, x, length);
                    return true;
                }
                None => self.mtu = mtu,
            }
        }
        false
    }

    /// The capture is over: decides what is undecided. `ahead`: by how much the clock that stamps answers is ahead, by other flows of the same hosts;
    /// `is_peer_seen`: requests of the other end pass the tap.
    pub(crate) fn finish(
        &mut self,
        (ahead, is_peer_seen): (i64, bool),
        ids: &IdOrder,
        config: &TrackConfig,
        resolved: &mut Vec<Resolved>,
    ) {
        if self.seq.has_repeated {
            self.judge_repeated(self.trouble.repeated.alone(), ids, config, resolved);
        }
        let context = self.context(ids, config);
        let began = resolved.len();
        self.seq.finish(&context, resolved);
        self.settle(began, resolved, config);
        self.sweep(self.una, true);
        self.judge_early();
        self.settle_apart(ahead);
        if let Some(trouble) = self.trouble.get_mut() {
            trouble.is_peer_seen = is_peer_seen;
        }
        self.settle_causes(config);
        self.judge_suspect();
        if let Some(lost) = self.trouble.get_mut().and_then(|trouble| trouble.lost_behind.take()) {
            self.was_lost_behind(0, &lost);
        }
        self.acks_not_seen += self.waiting.len() as u64;
        self.bound_losses(config);
    }
}

/// Three times the value. It saturates, since forged times can make round trips of centuries.
fn thrice(ns: u64) -> i64 {
    i64::try_from(ns.saturating_mul(3)).unwrap_or(i64::MAX)
}
