//! A flow's requests, and what the other direction says of them.

use std::{
    collections::VecDeque,
    ops::{Deref, DerefMut},
};

use super::{
    class::{Class, Counts, Place, Trigger},
    goodput::Marks,
    lazy::{Lazy, quiet},
    order::IdOrder,
    push_last,
    ring::ACK_EXPECTED,
    sequence::{Context, Packet, Resolved, Sequence, Step, unseen},
    shadow::{Nakked, Shadow},
};
use crate::{
    analyze::{
        facts::Facts,
        metric::latency::{Distribution, Tracked},
    },
    opcode::{Operation, Position},
    report::analysis,
    wire::{Acknowledgement, NakCode, Psn, Syndrome},
};

/// A request, beside its place in the sequence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) packet: Packet,
    pub(crate) operation: Operation,
    pub(crate) position: Position,
    /// Bytes of the whole message, where the packet says: RETH, or a message of one packet.
    pub(crate) message_bytes: Option<u32>,
}

/// What a request is of its message.
struct Part {
    operation: Operation,
    position: Position,
    /// PSNs.
    n: u32,
    time: i64,
    /// Of a READ request, those that it asks for.
    bytes: u64,
}

impl Request {
    fn part(&self) -> Part {
        let &Request { packet: Packet { n, time, bytes, .. }, operation, position, message_bytes } = self;
        let bytes = match operation {
            Operation::ReadRequest => message_bytes.unwrap_or(0),
            _ => bytes,
        };
        Part { operation, position, n, time, bytes: bytes as u64 }
    }
}

/// An acknowledgement, or a response that is one too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Response {
    pub(crate) psn: Psn,
    pub(crate) operation: Operation,
    pub(crate) syndrome: Option<Syndrome>,
    pub(crate) time: i64,
    pub(crate) frame: u64,
    /// The response stream had it before.
    pub(crate) repeated: bool,
}

/// A READ or atomic whose response is awaited, or came not long ago.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub(crate) first: u64,
    /// One past its last PSN.
    pub(crate) end: u64,
    pub(crate) time: i64,
    /// One past the last response PSN seen in order.
    pub(crate) next: u64,
    /// When its first response came.
    answered: bool,
    complete: bool,
    retried: bool,
}

/// A message on the wire that is not acknowledged yet.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    last: u64,
    first_time: i64,
}

/// A message being assembled.
#[derive(Clone, Copy, Debug)]
struct Assembly {
    next: u64,
    bytes: u64,
    first_time: i64,
    operation: Operation,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    x: u64,
    time: i64,
    frame: u64,
    /// When the packet behind the missing one passed the tap, if that is known.
    cause_time: Option<i64>,
    hi: u64,
    downstream: bool,
}

#[derive(Clone, Copy, Debug)]
struct NotReady {
    x: u64,
    time: i64,
    timer_ns: u64,
}

/// A loss or a timeout, and how it is overcome.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Episode {
    pub(crate) trigger: Trigger,
    pub(crate) place: Option<Place>,
    pub(crate) certain: bool,
    pub(crate) x: u64,
    pub(crate) original_frame: Option<u64>,
    pub(crate) original_time: Option<i64>,
    pub(crate) nak_frame: Option<u64>,
    pub(crate) nak_time: Option<i64>,
    pub(crate) nak_generation: Option<u64>,
    pub(crate) first_frame: u64,
    pub(crate) start: i64,
    pub(crate) recovered: Option<i64>,
    /// Goodput in bit/s in the ten round trips before it began and after it was over, or some more.
    pub(crate) goodput_before: Option<u64>,
    pub(crate) goodput_after: Option<u64>,
    /// What had been reached when it began.
    hi: u64,
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) needless: u64,
    pub(crate) retries: u32,
}

/// A packet that passed the tap and that the responder asked for.
#[derive(Clone, Copy, Debug)]
struct LostBehind {
    x: u64,
    /// As many may be lost with it.
    most: u64,
    /// When it was sent again.
    resent: Option<i64>,
}

/// A timeout whose cause shows only later.
#[derive(Clone, Copy, Debug)]
struct Suspect {
    x: u64,
    end: u64,
    acks: u32,
    time: i64,
}

/// The requests of a flow. In this order, what every packet needs is together, and comes first.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Requests {
    /// One past the largest PSN acknowledged; 0 before the first.
    pub(crate) una: u64,
    /// Goodput: payload of first transmissions.
    pub(crate) goodput: u64,
    pub(crate) counts: Counts,
    trouble: Lazy<Trouble>,
    reads: Lazy<Reads>,
    shadow: Shadow,
    assembly: Option<Assembly>,
    /// Of the acknowledgements' round trips, the 99th percentile so far.
    rtt_p99: u64,
    pub(crate) mtu: Mtu,
    /// The last episode is not over.
    is_recovering: bool,
    pub(crate) fatal: Option<u8>,
    pub(crate) seq: Sequence,
    pub(crate) messages_completed: u64,
    waiting: VecDeque<Waiting>,
    pub(crate) acks_seen: u64,
    last_progress: i64,
    /// The most PSNs that were ever outstanding.
    reach: u64,
    pub(crate) rtt_min: Option<u32>,
    pub(crate) more: Option<Box<More>>,
    /// Bytes of messages.
    pub(crate) sizes: Distribution,
    /// PSNs acknowledged that the tap never saw.
    pub(crate) acked_unseen: u64,
    /// Messages acknowledged together with a later one: their own acknowledgement was not sent, or was lost.
    pub(crate) acks_not_seen: u64,
    pub(crate) messages_broken: u64,
}

/// What only flows with READs or atomics have.
#[derive(Clone, Debug, Default)]
struct Reads {
    list: VecDeque<Read>,
    /// A response beyond the expected one passed the tap.
    out_of_sequence: bool,
    /// A READ whose number of PSNs is a guess, and its length.
    guess: Option<(u64, u32)>,
}

quiet!(Reads);

/// What is open with a flow that had trouble.
#[derive(Clone, Debug, Default)]
struct Trouble {
    asked: Option<Asked>,
    asked_before: Option<Asked>,
    not_ready: Option<NotReady>,
    suspect: Option<Suspect>,
    last_retry: Option<(u64, u32)>,
    /// Wrong packets since the last right one.
    corrupted: u64,
    /// Gaps in whose place wrong packets came, and how many.
    corrupt_gaps: VecDeque<(std::ops::Range<u64>, u64)>,
    lost_behind: Option<LostBehind>,
    lost_behind_sure: u32,
    late_behind: u32,
    /// Repetitions that passes passed over, and those of them that came late.
    skipped: u64,
    skipped_late: u64,
}

quiet!(Trouble);

/// What only flows with answers have.
#[derive(Clone, Debug, Default)]
pub(crate) struct More {
    pub(crate) ack_rtt: Tracked,
    pub(crate) completion: Distribution,
    marks: Marks,
    rare: Lazy<Rare>,
}

/// What only flows with READs, NAKs or timeouts have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rare {
    pub(crate) read_first: Distribution,
    pub(crate) read_last: Distribution,
    pub(crate) nak_generation: Distribution,
    pub(crate) nak_reaction: Distribution,
    pub(crate) rnr_asked: Distribution,
    pub(crate) rnr_waited: Distribution,
    pub(crate) rnr_early: u64,
    pub(crate) rnr_stalled: u64,
    pub(crate) timeouts: Vec<analysis::Timeout>,
    pub(crate) episodes: Vec<Episode>,
    /// Episodes that there was no room for.
    pub(crate) episodes_dropped: u64,
}

quiet!(Rare);

impl Deref for More {
    type Target = Rare;

    fn deref(&self) -> &Rare {
        &self.rare
    }
}

impl DerefMut for More {
    fn deref_mut(&mut self) -> &mut Rare {
        &mut self.rare
    }
}

/// Path MTU and where it is known from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mtu {
    pub(crate) bytes: u16,
    pub(crate) by: MtuBy,
}

/// Where a path MTU is known from, weakest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
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

/// What most paths have, until something better is known.
const LIKELY_MTU: u32 = 1024;
const MAX_CORRUPT_GAPS: usize = 64;
const MAX_READS: usize = 256;
const MAX_WAITING: usize = 1024;
const MAX_EPISODES: usize = 256;
const MAX_TIMEOUTS: usize = 64;

/// What the analysis as a whole knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Knobs {
    pub(crate) late_ns: i64,
    /// The queue pair's timeout, where the user or CM says it.
    pub(crate) ack_timeout_ns: Option<i64>,
}

impl Requests {
    pub(crate) fn more(&mut self) -> &mut More {
        self.more.get_or_insert_default()
    }

    /// Reads something of each line that a packet needs.
    #[inline(always)]
    pub(crate) fn touch(&self) -> u64 {
        self.una ^ self.rtt_p99 ^ self.seq.base ^ self.messages_completed ^ self.reach
    }

    fn context<'a>(&self, ids: &'a IdOrder, knobs: &Knobs) -> Context<'a> {
        Context {
            rtt_min: self.rtt_min,
            reverse_visible: self.acks_seen > 0,
            asked: self.trouble.get().and_then(|trouble| trouble.asked).map(|nak| (nak.x, nak.time)),
            late_ns: knobs.late_ns,
            timeout_ns: self.timeout_floor(knobs),
            una: self.una,
            ids,
        }
    }

    /// The shortest silence that a timeout may end.
    fn timeout_floor(&self, knobs: &Knobs) -> i64 {
        if let Some(timeout) = knobs.ack_timeout_ns {
            return timeout;
        }
        (3 * self.rtt_p99 as i64).max(20_000)
    }

    /// Takes a request that is the expected one of a flow without trouble at the moment, which nearly all are: then
    /// what [`see`](Self::see) would do comes down to this. Whether it did.
    #[inline(always)]
    pub(crate) fn see_expected(
        &mut self,
        facts: &impl Facts,
        frame: u64,
        ids: &IdOrder,
        knobs: &Knobs,
    ) -> bool {
        let shape = facts.opcode().shape();
        let (time, bytes) = (facts.time(), facts.payload());
        let is_plain = matches!(shape.operation, Some(Operation::Write | Operation::Send))
            && self.seq.expects(facts, ids)
            && self.reads.get().is_none_or(|reads| reads.guess.is_none())
            && !self.is_recovering
            && self.trouble.get().is_none_or(|trouble| trouble.corrupted == 0);
        if !is_plain {
            return false;
        }
        if time - self.seq.last_time > self.timeout_floor(knobs) {
            self.after_silence(facts.ip_id(), ids);
        }
        let x = self.seq.take_expected(facts, frame, self.una);
        self.shadow.see(x, 1, time);
        self.counts.packets += 1;
        self.counts.class(Class::New);
        self.goodput += bytes as u64;
        if let (Position::Middle, Some(assembly)) = (shape.position, &mut self.assembly)
            && assembly.next == x
            && Some(assembly.operation) == shape.operation
        {
            assembly.next = x + 1;
            assembly.bytes += bytes as u64;
        } else if let Some(operation) = shape.operation {
            let part = Part { operation, position: shape.position, n: 1, time, bytes: bytes as u64 };
            self.assemble(&part, x, false);
        }
        true
    }

    /// After a silence as long as a timeout: sent before, perhaps, and lost.
    #[inline(never)]
    fn after_silence(&mut self, id: Option<u16>, ids: &IdOrder) {
        self.counts.lost_perhaps(unseen(id, ids).max(1));
    }

    /// A request. Its class, or `None` where that has to wait: then it is among `resolved`, later.
    #[inline(never)]
    pub(crate) fn see(
        &mut self,
        request: &mut Request,
        ids: &IdOrder,
        knobs: &Knobs,
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
        let (begins, silent) = (!self.seq.is_started(), p.time - self.seq.last_time);
        let context = self.context(ids, knobs);
        let began = resolved.len();
        let step = self.seq.see(p, &context, |gap, holes| holes.push(gap, p.time, p.id), resolved);
        if resolved.len() > began {
            self.settle(began, resolved, knobs);
        }
        self.counts.packets += 1;
        let Some(class) = step.class else {
            self.shadow.see(step.x, p.n, p.time);
            self.goodput += p.bytes as u64;
            self.assemble(&request.part(), step.x, true);
            return None;
        };
        match class {
            Class::New if step.unseen == 0 && silent <= context.timeout_ns => {}
            Class::CaptureDuplicate => {
                self.counts.class(class);
                return Some(class);
            }
            Class::First | Class::Resync => {
                self.shadow.start(step.x);
                self.last_progress = p.time;
                self.una = 0;
                self.waiting.clear();
                if let Some(reads) = self.reads.get_mut() {
                    reads.list.clear();
                }
                self.assembly = None;
            }
            // The verdict was given in `settle`, with the others.
            Class::Retransmission
                if resolved.len() > began && resolved[began..].iter().any(|r| r.fill.frame == p.frame) =>
            {
                self.shadow.see(step.x, p.n, p.time);
                self.goodput += p.bytes as u64;
                self.assemble(&request.part(), step.x, true);
                return Some(class);
            }
            Class::Retransmission => self.again(request, &step, knobs),
            Class::NewAfterGap | Class::New if step.unseen > 0 => {
                self.counts.lost(Place::Upstream, 0, step.unseen)
            }
            // After a silence as long as a timeout: sent before, perhaps, and lost.
            Class::New if silent > context.timeout_ns => self.counts.lost(Place::Upstream, 0, 1),
            _ => {}
        }
        self.counts.class(class);
        if step.original_late {
            let upstream = &mut self.counts.losses[Place::Upstream as usize];
            upstream.least = upstream.least.saturating_sub(1);
        }
        self.shadow.see(step.x, p.n, p.time);
        if begins && matches!(request.position, Position::Middle | Position::Last) {
            // The message's first packet was before the capture, or did not come.
            self.counts.lost(Place::Upstream, 0, 1);
        }
        if step.gap > 0 && self.trouble.corrupted > 0 {
            // Wrong packets came in the place of those that are missing.
            let n = self.trouble.corrupted.min(step.gap);
            push_last(&mut self.trouble.corrupt_gaps, MAX_CORRUPT_GAPS, (step.x - step.gap..step.x, n));
        }
        if let Some(trouble) = self.trouble.get_mut() {
            trouble.skipped_late += trouble.corrupted.min(step.pass_gap);
            trouble.corrupted = 0;
        }
        if matches!(class, Class::First | Class::New | Class::NewAfterGap | Class::Resync)
            || step.x + p.n as u64 == self.seq.hi
        {
            self.goodput += p.bytes as u64;
            self.assemble(&request.part(), step.x, false);
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

    /// How many PSNs a READ of so many bytes takes: one for every packet of its response.
    pub(crate) fn psns_of_read(&self, length: u32) -> u32 {
        let mtu = if self.mtu.by == MtuBy::Unknown { LIKELY_MTU } else { self.mtu.bytes as u32 };
        length.div_ceil(mtu).clamp(1, Psn::SPACE / 2)
    }

    /// The request after a READ tells how many PSNs that took, and so the path MTU.
    #[cold]
    fn solve(&mut self, next: Psn) {
        let Some((x, length)) = self.take_guess() else { return };
        let took = self.seq.unwrap(next).wrapping_sub(x);
        let mtu = [4096u16, 2048, 1024, 512, 256]
            .into_iter()
            .find(|&mtu| length.div_ceil(mtu as u32) as u64 == took);
        // A request that the capture lost makes a READ seem longer, and the path MTU smaller than it is.
        if let Some(mtu) = mtu.filter(|&mtu| self.mtu.by == MtuBy::Unknown || mtu > self.mtu.bytes) {
            self.set_mtu(Mtu { bytes: mtu, by: MtuBy::ReadPsns }, x, length);
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
            read.end = end;
        }
        self.shadow.acknowledged(end);
    }

    #[inline]
    fn open_episode(&mut self) -> Option<&mut Episode> {
        if !self.is_recovering {
            return None;
        }
        self.more.as_mut()?.episodes.last_mut().filter(|episode| episode.recovered.is_none())
    }

    /// Verdicts on packets that waited.
    #[cold]
    fn settle(&mut self, from: usize, resolved: &[Resolved], knobs: &Knobs) {
        for verdict in &resolved[from..] {
            let fill = verdict.fill;
            self.counts.class(verdict.class);
            match verdict.class {
                Class::Retransmission => {
                    self.counts.retransmitted_bytes += fill.bytes as u64;
                    self.counts.overtaken_again += fill.overtaken as u64;
                    if !self.was_corrupt(fill.x) {
                        self.counts.lost(Place::Upstream, 1, 1);
                    }
                    let asked = self.trouble.get().and_then(|trouble| trouble.asked);
                    let asked = asked.is_some_and(|nak| nak.x == fill.x && nak.time <= fill.time);
                    if verdict.went_back || asked || self.open_episode().is_none() {
                        let lost = Some(Place::Upstream);
                        self.begin(fill.x, fill.end, fill.time, fill.frame, None, lost, knobs);
                    }
                    if let Some(episode) = self.open_episode() {
                        episode.packets += 1;
                        episode.bytes += fill.bytes as u64;
                    }
                }
                Class::LateOriginal => {
                    self.counts.max_extent = self.counts.max_extent.max(fill.extent);
                    let late = (fill.time - fill.hole_time).max(0) as u64;
                    self.counts.max_late_ns = self.counts.max_late_ns.max(late);
                    if self.shadow.was_asked(fill.x) {
                        self.counts.reordered_then_nak += 1;
                    }
                }
                Class::Ambiguous => self.counts.lost(Place::Upstream, 0, 1),
                _ => {}
            }
        }
    }

    /// A PSN that was seen before.
    #[cold]
    fn again(&mut self, request: &Request, step: &Step, knobs: &Knobs) {
        let p = &request.packet;
        let x = step.x;
        let end = x + p.n as u64;
        self.counts.retransmitted_bytes += p.bytes as u64;
        self.counts.overtaken_again += step.overtaken as u64;
        if step.skipped > 0 {
            self.trouble.skipped += step.skipped;
        }
        self.trouble.skipped_late += step.not_lost as u64;
        if step.unseen > 0 {
            self.counts.lost(Place::Upstream, 0, step.unseen);
        } else if step.went_back {
            // How much of the burst's end was lost before the sender went back, nobody can tell who did not see it.
            let room = self.reach.saturating_sub(self.seq.hi.saturating_sub(self.una));
            self.counts.lost(Place::Upstream, 0, room.min(1 << 16));
        }
        if let Some(lost) = self.trouble.get_mut().and_then(|trouble| trouble.lost_behind.as_mut())
            && lost.x == x
            && lost.resent.is_none()
        {
            lost.resent = Some(p.time);
        }
        if end <= self.una {
            self.counts.spurious += 1;
        }
        // A sender that repeats single packets goes on to the next one asked for.
        let asked = self.trouble.get().and_then(|trouble| trouble.asked).is_some_and(|nak| nak.x == x);
        if step.went_back || step.pass_gap > 0 && asked {
            self.begin(x, end, p.time, p.frame, step.before, None, knobs);
        }
        let una = self.una;
        if let Some(episode) = self.more.as_mut().and_then(|more| more.episodes.last_mut()) {
            episode.packets += 1;
            episode.bytes += p.bytes as u64;
            // What lies behind the missing packet had arrived, as far as the tap knows.
            episode.needless += (x > episode.x || end <= una) as u64;
        }
    }

    /// A packet with a wrong ICRC, or IP checksum.
    pub(crate) fn corrupt(&mut self) {
        self.trouble.corrupted = self.trouble.corrupted.saturating_add(1);
    }

    /// Whether a packet that was missing had come, but wrong: then it was not lost upstream, and is counted already.
    fn was_corrupt(&mut self, x: u64) -> bool {
        let Some(trouble) = self.trouble.get_mut() else { return false };
        let Some((_, n)) = trouble.corrupt_gaps.iter_mut().find(|(gap, n)| *n > 0 && gap.contains(&x)) else {
            return false;
        };
        *n -= 1;
        true
    }

    /// The responder lacked what the tap had seen: lost behind it, or only overtaken there?
    fn judge_lost_behind(&mut self, una: u64, time: i64) {
        let Some(lost) = self.trouble.lost_behind.filter(|lost| una > lost.x) else { return };
        self.trouble.lost_behind = None;
        // Before it was sent again, or sooner than that can have got there and back: it had only been late.
        let late = match lost.resent {
            None => true,
            Some(resent) => self.rtt_min.is_some_and(|rtt| time - resent < rtt as i64),
        };
        self.trouble.late_behind += late as u32;
        self.trouble.lost_behind_sure += !late as u32;
        self.counts.lost(Place::Downstream, !late as u64, lost.most);
    }

    /// The sender went back to `x`: why, and what does it tell of losses?
    #[allow(clippy::too_many_arguments)]
    fn begin(
        &mut self,
        x: u64,
        end: u64,
        time: i64,
        frame: u64,
        before: Option<(i64, u32)>,
        place: Option<Place>,
        knobs: &Knobs,
    ) {
        let trouble = &mut *self.trouble;
        let asked = trouble.asked.take_if(|nak| x >= nak.x && x <= nak.hi.max(nak.x) && nak.time <= time);
        let asked = asked.or_else(|| trouble.asked_before.take_if(|nak| nak.x == x && nak.time <= time));
        let not_ready = trouble.not_ready.take_if(|rnr| rnr.x == x && rnr.time <= time);
        let read = self.reads.list.iter().rev().find(|read| read.first <= x && x < read.end).copied();
        let waited = time - self.last_progress.max(before.map_or(i64::MIN, |(sent, _)| sent));
        let trigger = if not_ready.is_some() {
            Trigger::Rnr
        } else if asked.is_some() {
            Trigger::Nak
        } else if read.is_some()
            && (self.reads.out_of_sequence || self.reads.list.iter().any(|read| read.next > x + 1))
        {
            // A response beyond the missing one passed the tap, and went on to the requester.
            Trigger::ImpliedNak
        } else if self.acks_seen == 0 {
            Trigger::Unknown
        } else if waited >= self.timeout_floor(knobs) {
            Trigger::Timeout
        } else {
            Trigger::Unknown
        };
        self.counts.triggered(trigger);
        if let Some(reads) = self.reads.get_mut() {
            reads.out_of_sequence = false;
        }
        let retries = match self.trouble.last_retry {
            Some((before, n)) if before == x => n + 1,
            _ => 1,
        };
        self.trouble.last_retry = Some((x, retries));
        let mut episode = Episode {
            trigger,
            place,
            certain: place.is_some(),
            x,
            original_frame: before.map(|(_, frame)| frame as u64),
            original_time: before.map(|(sent, _)| sent),
            nak_frame: asked.map(|nak| nak.frame),
            nak_time: asked.map(|nak| nak.time),
            nak_generation: asked.and_then(|nak| Some((nak.time - nak.cause_time?).max(0) as u64)),
            first_frame: frame,
            start: time,
            recovered: None,
            goodput_before: self.rate_before(x, time, before),
            goodput_after: None,
            hi: self.seq.hi,
            packets: 0,
            bytes: 0,
            needless: 0,
            retries,
        };
        match trigger {
            Trigger::Nak => {
                if let Some(nak) = asked {
                    let reaction = (time - nak.time).max(0) as u64;
                    self.more().nak_reaction.add(reaction);
                    if nak.downstream {
                        (episode.place, episode.certain) = (Some(Place::Downstream), true);
                    }
                }
            }
            Trigger::Rnr => {
                if let Some(rnr) = not_ready {
                    let waited = (time - rnr.time).max(0) as u64;
                    let more = self.more();
                    more.rnr_waited.add(waited);
                    more.rnr_stalled += waited;
                    more.rnr_early += (waited < rnr.timer_ns) as u64;
                }
            }
            Trigger::Timeout if place.is_none() => {
                let exponent = nearest_exponent(waited.max(0) as u64);
                let more = self.more();
                if more.timeouts.len() < MAX_TIMEOUTS {
                    more.timeouts.push(analysis::Timeout {
                        frame,
                        waited_ns: waited.max(0) as u64,
                        nearest_exponent: exponent,
                    });
                }
                if end <= self.una {
                    // Its acknowledgement passed the tap before: lost behind it, or too late for the timer.
                    self.counts.lost(Place::AckPath, 0, 1);
                } else {
                    self.suspect(x, end, time);
                }
            }
            Trigger::ImpliedNak | Trigger::Timeout | Trigger::Unknown => {
                if place.is_none() && end > self.una {
                    self.suspect(x, end, time);
                }
            }
        }
        self.is_recovering = true;
        let more = self.more();
        if more.episodes.len() < MAX_EPISODES {
            more.episodes.push(episode);
        } else {
            more.episodes_dropped += 1;
            // The last one is the one that packets are added to.
            if let Some(last) = more.episodes.last_mut() {
                *last = episode;
            }
        }
    }

    /// A timeout on a packet that had passed the tap: it, or its acknowledgement, was lost, or neither.
    fn suspect(&mut self, x: u64, end: u64, time: i64) {
        self.judge_suspect();
        self.trouble.suspect = Some(Suspect { x, end, acks: 0, time });
    }

    fn judge_suspect(&mut self) {
        let Some(suspect) = self.trouble.get_mut().and_then(|trouble| trouble.suspect.take()) else { return };
        // Two acknowledgements of two transmissions: both had arrived.
        if suspect.acks < 2 {
            let outstanding = self.seq.hi.saturating_sub(suspect.x).max(1);
            self.counts.lost(Place::Downstream, 0, outstanding);
            self.counts.lost(Place::AckPath, 0, 1);
        }
    }

    fn remember_read(&mut self, request: &Request, x: u64) {
        if !matches!(request.operation, Operation::ReadRequest | Operation::CompareSwap | Operation::FetchAdd)
        {
            return;
        }
        let end = x + request.packet.n as u64;
        let retried = self.reads.list.iter_mut().rev().find(|read| read.first <= x && end <= read.end);
        if let Some(read) = retried {
            read.retried = true;
            read.next = x;
            return;
        }
        if request.operation == Operation::ReadRequest && self.mtu.by <= MtuBy::ReadPsns {
            self.reads.guess =
                request.message_bytes.map(|length| (x, length)).filter(|&(_, length)| length > 256);
        }
        let read = Read {
            first: x,
            end,
            time: request.packet.time,
            next: x,
            answered: false,
            complete: false,
            retried: false,
        };
        push_last(&mut self.reads.list, MAX_READS, read);
    }

    /// Bytes on the heap, without what distributions have there.
    pub(crate) fn heap(&self) -> usize {
        self.seq.heap()
            + self.counts.heap()
            + self.shadow.heap()
            + self.trouble.heap()
            + self.reads.heap()
            + self.reads.list.capacity() * size_of::<Read>()
            + self.waiting.capacity() * size_of::<Waiting>()
            + self.more.as_ref().map_or(0, |more| size_of::<More>() + more.rare.heap())
    }

    /// READs and atomics whose PSNs lie in this range: what responses may be missing there.
    pub(crate) fn reads(&self) -> impl Iterator<Item = &Read> {
        self.reads.list.iter()
    }

    /// Follow the operation codes: messages, their sizes, those that do not add up.
    #[inline]
    fn assemble(&mut self, part: &Part, x: u64, filled: bool) {
        let &Part { operation, position, n, time, bytes } = part;
        let whole = match position {
            Position::First => {
                self.broken_if_open(filled);
                self.assembly = Some(Assembly { next: x + 1, bytes, first_time: time, operation });
                return;
            }
            Position::Middle | Position::Last => {
                let Some(mut assembly) = self.assembly else { return };
                if assembly.next != x || assembly.operation != operation {
                    if !filled && x >= assembly.next {
                        self.assembly = None;
                        self.messages_broken += 1;
                    }
                    return;
                }
                assembly.next = x + 1;
                assembly.bytes += bytes;
                if position == Position::Middle {
                    self.assembly = Some(assembly);
                    return;
                }
                self.assembly = None;
                assembly
            }
            Position::Only => {
                self.broken_if_open(filled);
                Assembly { next: x + n as u64, bytes, first_time: time, operation }
            }
        };
        self.messages_completed += 1;
        self.sizes.add(whole.bytes);
        let answered =
            !matches!(whole.operation, Operation::ReadRequest | Operation::CompareSwap | Operation::FetchAdd);
        if answered {
            let waiting = Waiting { last: whole.next - 1, first_time: whole.first_time };
            push_last(&mut self.waiting, MAX_WAITING, waiting);
        }
    }

    #[inline]
    fn broken_if_open(&mut self, filled: bool) {
        if !filled && self.assembly.take().is_some() {
            self.messages_broken += 1;
        }
    }

    pub(crate) fn messages_open(&self) -> u64 {
        self.assembly.is_some() as u64
    }

    /// What the responder says.
    #[inline]
    pub(crate) fn answer(&mut self, response: &Response, resolved: &mut Vec<Resolved>, knobs: &Knobs) {
        if !self.seq.is_started() {
            return;
        }
        self.acks_seen += 1;
        let x = self.seq.unwrap(response.psn);
        let meaning = response.syndrome.map_or(Acknowledgement::Ack { credits: None }, Syndrome::meaning);
        match (response.operation, meaning) {
            (Operation::Acknowledge, Acknowledgement::Ack { .. }) => {
                self.acknowledge(x, response, resolved, knobs)
            }
            (Operation::Acknowledge, Acknowledgement::RnrNak { timer_us }) => self.rnr(x, timer_us, response),
            (Operation::Acknowledge, Acknowledgement::Nak(NakCode::PsnSequenceError)) => {
                self.nak(x, response, resolved, knobs)
            }
            (Operation::Acknowledge, Acknowledgement::Nak(_)) => {
                self.fatal = response.syndrome.map(|s| s.0);
                self.progress(x, response.time, resolved, knobs);
            }
            (Operation::ReadResponse | Operation::AtomicAcknowledge, _) => {
                self.read_response(x, response, resolved, knobs)
            }
            _ => {}
        }
    }

    #[inline]
    fn acknowledge(&mut self, x: u64, response: &Response, resolved: &mut Vec<Resolved>, knobs: &Knobs) {
        if x >= self.seq.hi {
            // Acknowledged, and never seen: the capture lost it, or it went another way.
            self.acked_unseen += (x + 1).saturating_sub(self.seq.hi.max(self.una)).min(1 << 20);
        }
        if self.una != 0 && x + 1 < self.una {
            return;
        }
        self.time_ack(x, response.time);
        if let Some(suspect) = self.trouble.get_mut().and_then(|trouble| trouble.suspect.as_mut()) {
            if x >= suspect.x && x < suspect.end {
                suspect.acks += 1;
            } else if x >= suspect.end {
                self.judge_suspect_by(x, response.time);
            }
        }
        let mut together = 0;
        while let Some(message) = self.waiting.front().copied().filter(|message| message.last <= x) {
            together += 1;
            self.acks_not_seen += (together > 1) as u64;
            self.waiting.pop_front();
            let took = (response.time - message.first_time).max(0) as u64;
            self.more().completion.add(took);
        }
        self.shadow.acknowledged(x + 1);
        self.progress(x + 1, response.time, resolved, knobs);
    }

    /// An acknowledgement beyond what was sent again: if that much was not sent again yet, the original had arrived.
    #[cold]
    fn judge_suspect_by(&mut self, x: u64, time: i64) {
        let Some(suspect) = self.trouble.suspect else { return };
        let soon = self.rtt_min.is_some_and(|rtt| time - suspect.time < rtt as i64);
        if x >= self.seq.cur || soon {
            self.trouble.suspect = None;
            self.counts.lost(Place::AckPath, 0, 1);
        } else {
            self.judge_suspect();
        }
    }

    #[inline]
    fn progress(&mut self, una: u64, time: i64, resolved: &mut Vec<Resolved>, knobs: &Knobs) {
        if una <= self.una {
            return;
        }
        if self.trouble.get().is_some_and(|trouble| trouble.lost_behind.is_some()) {
            self.judge_lost_behind(una, time);
        }
        self.reach = self.reach.max(self.seq.hi.saturating_sub(self.una.max(self.seq.base)));
        self.una = una;
        self.last_progress = time;
        let began = resolved.len();
        self.seq.acknowledged(una, resolved);
        if resolved.len() > began {
            self.settle(began, resolved, knobs);
        }
        if let Some(episode) = self.open_episode()
            && una >= episode.hi
        {
            episode.recovered = Some(time);
            self.recovered(time);
        }
        let (goodput, rtt) = (self.goodput, self.rtt_min);
        if let Some(more) = &mut self.more
            && let Some((since, rate)) = more.marks.pass(time, goodput, rtt)
            && let Some(rare) = more.rare.get_mut()
            && let Some(last) = rare.episodes.last_mut().filter(|last| last.recovered == Some(since))
        {
            last.goodput_after = rate;
        }
    }

    /// The last episode is over.
    #[cold]
    fn recovered(&mut self, time: i64) {
        self.is_recovering = false;
        let goodput = self.goodput;
        self.more().marks.restart(time, goodput);
    }

    /// The rate until the newest packet passed the tap: the silence before a timeout is no part of it.
    fn rate_before(&self, x: u64, time: i64, before: Option<(i64, u32)>) -> Option<u64> {
        let newest = self.seq.hi.saturating_sub(1);
        let sent = match before {
            Some((sent, _)) if x == newest => Some(sent),
            _ => self.seq.ring.get(newest).map(|sent| sent.time),
        };
        self.more.as_ref()?.marks.rate(sent.map_or(time, |sent| sent.min(time)), self.goodput)
    }

    /// Karn: only packets sent once are timed, and only those that an acknowledgement is due for.
    #[inline]
    fn time_ack(&mut self, x: u64, time: i64) {
        let Some(sent) = self.seq.ring.get(x) else { return };
        if sent.count != 1 || sent.flags & ACK_EXPECTED == 0 || x < self.una {
            return;
        }
        let rtt = time - sent.time;
        if rtt < 0 {
            return;
        }
        let short = rtt.min(u32::MAX as i64) as u32;
        self.rtt_min = Some(self.rtt_min.map_or(short, |min| min.min(short)));
        let tracked = &mut self.more().ack_rtt;
        tracked.add(rtt as u64);
        self.rtt_p99 = tracked.p99().unwrap_or(0);
    }

    #[cold]
    fn nak(&mut self, x: u64, response: &Response, resolved: &mut Vec<Resolved>, knobs: &Knobs) {
        // The requester may have gone back already, and the NAK is then of the pass before.
        let hi = self.seq.hi;
        let outcome = self.shadow.nakked(x, response.time);
        let mut downstream = false;
        // What followed the missing packet may have been lost behind the tap too: a responder asks but once.
        self.counts.lost(Place::Downstream, 0, self.shadow.sent_since(x).saturating_sub(1));
        let mut cause_time = None;
        match outcome {
            // Before the first packet seen: the tap cannot have seen what is missing.
            _ if x < self.seq.base => self.counts.lost(Place::Upstream, 0, 1),
            Nakked::Expected { since } => cause_time = Some(since),
            Nakked::Again => {}
            Nakked::Ahead if x < hi && self.seq.rare.holes.get(x).is_none() => {
                // What the tap saw, of a responder that has more than its shadow: one that keeps what comes early.
                downstream = true;
                self.judge_lost_behind(x, response.time);
                self.trouble.lost_behind = Some(LostBehind { x, most: hi - x, resent: None });
            }
            Nakked::Downstream { sent_since } => {
                downstream = true;
                self.judge_lost_behind(x, response.time);
                self.trouble.lost_behind = Some(LostBehind { x, most: sent_since.max(1), resent: None });
            }
            Nakked::Ahead | Nakked::Unseen => {
                let unseen = x.saturating_sub(hi);
                self.counts.lost(Place::Capture, 0, unseen.max(1));
            }
        }
        if let Some(since) = cause_time {
            self.more().nak_generation.add((response.time - since).max(0) as u64);
        }
        // The same NAK again is not another question; another one may come before the answer to this is seen.
        let trouble = &mut *self.trouble;
        if trouble.asked.is_none_or(|nak| nak.x != x) {
            trouble.asked_before = trouble.asked;
            trouble.asked =
                Some(Asked { x, time: response.time, frame: response.frame, cause_time, hi, downstream });
        }
        self.trouble.suspect = None;
        self.progress(x, response.time, resolved, knobs);
    }

    #[cold]
    fn rnr(&mut self, x: u64, timer_us: u32, response: &Response) {
        let timer_ns = timer_us as u64 * 1000;
        self.more().rnr_asked.add(timer_ns);
        self.trouble.not_ready = Some(NotReady { x, time: response.time, timer_ns });
        self.shadow.not_ready(x);
    }

    fn read_response(&mut self, x: u64, response: &Response, resolved: &mut Vec<Resolved>, knobs: &Knobs) {
        let Some(reads) = self.reads.get_mut() else { return };
        let found = reads.list.iter_mut().rfind(|read| read.first <= x && x < read.end);
        let Some(read) = found else { return };
        let (sent, retried) = (read.time, read.retried);
        let mut first = None;
        let mut last = None;
        reads.out_of_sequence |= x > read.next && !response.repeated;
        if x >= read.next {
            read.next = x + 1;
        }
        if !read.answered {
            read.answered = true;
            first = (x == read.first && !retried).then_some(response.time - sent);
        }
        if x + 1 == read.end && !read.complete {
            read.complete = true;
            last = (!retried).then_some(response.time - sent);
        }
        if let Some(took) = first {
            self.more().read_first.add(took.max(0) as u64);
            let short = took.clamp(0, u32::MAX as i64) as u32;
            self.rtt_min = Some(self.rtt_min.map_or(short, |min| min.min(short)));
        }
        if let Some(took) = last {
            self.more().read_last.add(took.max(0) as u64);
            self.more().completion.add(took.max(0) as u64);
        }
        self.shadow.acknowledged(x + 1);
        if !self.reads.out_of_sequence {
            self.progress(x + 1, response.time, resolved, knobs);
        }
    }

    /// A full packet's payload tells the path MTU.
    #[inline]
    pub(crate) fn full_packet(&mut self, bytes: u32) {
        if self.mtu.by < MtuBy::FullPackets && bytes.is_power_of_two() && (256..=4096).contains(&bytes) {
            let mtu = Mtu { bytes: bytes as u16, by: MtuBy::FullPackets };
            match self.take_guess() {
                Some((x, length)) => self.set_mtu(mtu, x, length),
                None => self.mtu = mtu,
            }
        }
    }

    /// The capture is over.
    pub(crate) fn finish(&mut self, ids: &IdOrder, knobs: &Knobs, resolved: &mut Vec<Resolved>) {
        let context = self.context(ids, knobs);
        let began = resolved.len();
        self.seq.finish(&context, resolved);
        self.settle(began, resolved, knobs);
        self.judge_suspect();
        if let Some(lost) = self.trouble.get_mut().and_then(|trouble| trouble.lost_behind.take()) {
            self.counts.lost(Place::Downstream, 0, lost.most);
        }
        // Repetitions that a sender that goes back does not leave out: lost on the way to the tap, unless they came late.
        let skipped = self.trouble.skipped + self.seq.rare.pass_holes_left;
        let sure = self.seq.recovery_mode() == "go_back_n";
        self.counts.lost(
            Place::Upstream,
            if sure { skipped.saturating_sub(self.trouble.skipped_late) } else { 0 },
            skipped,
        );
        // Where NAKs were seen to be answered by packets that had only been late, none of them proves a loss.
        if self.trouble.late_behind * 8 > self.trouble.lost_behind_sure {
            let sure = self.trouble.lost_behind_sure;
            let downstream = &mut self.counts.losses[Place::Downstream as usize];
            downstream.least = downstream.least.saturating_sub(sure);
        }
        self.acks_not_seen += self.waiting.len() as u64;
        let una = self.una;
        let (mut covered, mut open) = (0, 0);
        for hole in self.seq.rare.holes.iter() {
            covered += hole.end.min(una).saturating_sub(hole.start);
            open += hole.end.saturating_sub(hole.start.max(una));
        }
        // Acknowledged, and no transmission of it ever seen: the network did not lose it.
        self.counts.lost(Place::Capture, covered, covered + open);
        self.counts.lost(Place::Upstream, 0, open);
        self.counts.lost(Place::Capture, self.acked_unseen, self.acked_unseen);
    }
}

/// The exponent of the nearest IBTA timeout: 4.096 us times two to it.
pub(crate) fn nearest_exponent(ns: u64) -> u8 {
    let ratio = ns.max(1) as f64 / 4096.0;
    ratio.log2().round().clamp(0.0, 31.0) as u8
}
