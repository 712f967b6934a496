//! The state of a run: requests of a flow, or its READ responses, in order, while nothing is undecided.
//! It has all fields of the sequence that every packet needs. The rest of the flow's state does not change during a run.

use std::hint::select_unpredictable;

use super::{Assembly, Requests, TrackConfig, Waiting};
use crate::{
    analyze::{
        packet::FastForm,
        track::{
            SILENCE_NS,
            goodput::Marks,
            order::IdOrder,
            ring::{self, Sent},
            sequence::{Sequence, is_next_sent, sent_in_run, unseen},
        },
    },
    heap::heap,
    opcode::{Operation, Shape},
    wire::Psn,
};

/// Consecutive requests, or consecutive READ responses.
#[derive(Debug, Default, crate::stored::Stored)]
pub(crate) struct RunState {
    /// The next PSN, unwrapped.
    next: u64,
    /// Time of the last packet.
    time: i64,
    ring: Box<[Sent]>,
    /// The PSN at which the run ends in any case; the low bits.
    stop: u32,
    /// Payload bytes.
    payload: u32,
    /// Bytes of all packets, from their network headers on.
    pub(crate) bytes: u32,
    of: Of,
}

heap! { RunState { ring } }

/// The kind of packets, and the fields that only this kind has.
#[derive(Debug, crate::stored::Stored)]
enum Of {
    Requests(RequestRun),
    Data(DataRun),
}

impl Default for Of {
    fn default() -> Of {
        Of::Requests(RequestRun::default())
    }
}

const MTU: u8 = 1;
/// No packet is missing: so one within a message that was not seen to begin is no edge of it.
const ALL_BEFORE: u8 = 2;
/// Bits of what is known.
const KNOWN_BITS: u32 = 2;

/// A run of SENDs and WRITEs. Both kinds are packed, so that a run is two cache lines.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
#[repr(C, packed(2))]
struct RequestRun {
    /// When the open message began.
    message_time: i64,
    /// The payload bytes when it began, modulo 2^32.
    message_start: u32,
    /// The operation of the open message.
    open: Option<Operation>,
    /// What the requests know, one bit each: the path MTU; all packets before. Above them, the [most packets](Requests::burst_exponent)
    /// that a silence may hide, as a power of two.
    knows: u8,
    /// Payload bytes that the requests know of.
    told: u32,
    /// A silence longer than this may hide a loss.
    floor: u32,
    /// Packets that may have been lost in silences, and those silences.
    perhaps: u16,
    silences: u16,
}

/// A run of READ responses.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
#[repr(C, packed(2))]
struct DataRun {
    /// When the next mark of goodput is due.
    due: i64,
    /// The smallest distance of marks of goodput; 0 while the requests learn of each response at once.
    apart: u32,
    /// The distance of the last two marks of goodput; 0 if the requests know of the last one.
    late: u32,
    /// The first PSN that the requests do not know of; the low bits.
    told: u32,
    /// The next PSN that the requests learn of at once; the low bits.
    until: u32,
    /// The last response did not complete its READ.
    is_open: bool,
}

/// The next READ responses, if they change nothing in the requests but the number of answered PSNs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MayWait {
    /// The number of these responses.
    psns: u32,
    /// When the next mark of goodput is due,
    due: i64,
    /// ... and the smallest distance of the marks after it.
    apart: u32,
}

/// PSNs after which a run ends. Its counters are narrow, and requests of an unpaired flow must be examined again
/// (see [`Place`](crate::analyze::table::connection::Place)).
const LONGEST: u64 = 8192;

impl RunState {
    /// The silence before a packet of a SEND or WRITE in nanoseconds; `None` if it is not the next packet of the run, in the open
    /// message or a new one.
    #[inline(always)]
    pub(crate) fn next(&self, packet: &impl FastForm, shape: &Shape, ids: &IdOrder) -> Option<u64> {
        let Of::Requests(RequestRun { open, knows, .. }) = &self.of else { return None };
        let may_begin = shape.begins | (knows & ALL_BEFORE != 0);
        let fits = (open.is_none() & may_begin) | (!shape.begins & (*open == shape.operation));
        self.silence_before(packet, fits, ids)
    }

    /// Whether a READ response is the next one of the run.
    #[inline(always)]
    pub(crate) fn is_next_data(&self, packet: &impl FastForm, ids: &IdOrder) -> bool {
        self.silence_before(packet, self.is_data(), ids).is_some()
    }

    /// Whether a READ response is the next one of the run, and the requests may learn of it [later](MayWait).
    #[inline(always)]
    pub(crate) fn is_next_to_wait(&self, packet: &impl FastForm, ids: &IdOrder) -> bool {
        let Of::Data(DataRun { apart, until, .. }) = self.of else { return false };
        self.silence_before(packet, (apart != 0) & (self.next as u32 != until), ids).is_some()
    }

    /// The silence before a packet in nanoseconds, if it has the next PSN, and `fits`.
    #[inline(always)]
    fn silence_before(&self, packet: &impl FastForm, fits: bool, ids: &IdOrder) -> Option<u64> {
        let silence = packet.fast().time().wrapping_sub(self.time) as u64;
        let is_next = (packet.fast().psn().0 ^ self.next as u32) & (Psn::SPACE - 1) == 0;
        let goes_far = (self.next as u32 != self.stop) & (silence <= SILENCE_NS as u64);
        if !(is_next & fits & goes_far) {
            return None;
        }
        let overtaken = packet.ip_id().is_some_and(|id| ids.is_overtaken(id));
        (!overtaken).then_some(silence)
    }

    /// Takes the next request. Returns the message that it ends, and its bytes.
    #[inline(always)]
    pub(crate) fn take(
        &mut self,
        silence: u64,
        packet: &impl FastForm,
        shape: &Shape,
        frame: u64,
        ids: &IdOrder,
    ) -> Option<(u64, Waiting)> {
        let (x, time, payload) = (self.next, packet.fast().time(), self.payload);
        self.put(packet, frame);
        let Of::Requests(run) = &mut self.of else { return None };
        // In many traces, the processor would predict a branch wrong.
        let is_silent = (silence > run.floor as u64) & !is_next_sent(packet.ip_id(), ids);
        let perhaps = (unseen(packet.ip_id(), ids) as u32).min(1 << (run.knows >> KNOWN_BITS)).max(1);
        // More were not lost than came after.
        run.perhaps = run.perhaps.saturating_add(select_unpredictable(is_silent, perhaps as u16, 0));
        run.silences += u16::from(is_silent);
        (run.message_start, run.message_time) =
            if shape.begins { (payload, time) } else { (run.message_start, run.message_time) };
        let is_complete = shape.ends & (shape.begins | run.open.is_some());
        run.open = if shape.ends {
            None
        } else if shape.begins {
            shape.operation
        } else {
            run.open
        };
        if !is_complete {
            return None;
        }
        let bytes = self.payload.wrapping_sub(run.message_start) as u64;
        Some((bytes, Waiting { last: x, first_time: run.message_time }))
    }

    /// Takes a READ response of which the requests learn later.
    #[inline(always)]
    pub(crate) fn take_to_wait(&mut self, packet: &impl FastForm, frame: u64) {
        self.put(packet, frame);
        let Of::Data(run) = &mut self.of else { return };
        if self.time >= run.due {
            let late = self.time.saturating_sub(run.due);
            run.late = late.saturating_add(run.apart as i64).min(u32::MAX as i64) as u32;
            run.due = self.time + run.apart as i64;
        }
    }

    /// Takes a READ response.
    #[inline(always)]
    pub(crate) fn take_data(&mut self, packet: &impl FastForm, shape: &Shape, frame: u64) {
        self.put(packet, frame);
        if let Of::Data(run) = &mut self.of {
            run.is_open = !shape.ends;
        }
    }

    #[inline(always)]
    fn put(&mut self, packet: &impl FastForm, frame: u64) {
        let x = self.next;
        ring::put(&mut self.ring, x, sent_in_run(packet.fast(), frame));
        // The caches cannot hold the rings of all flows.
        ring::fetch(&self.ring, x + ring::AHEAD);
        (self.next, self.time) = (x + 1, packet.fast().time());
        self.payload += packet.fast().payload();
    }

    /// Begins a run of READ responses of this sequence, if possible. `is_open`: the last response did not complete its READ. The
    /// sequence does not change until the run is [given back](Self::give_back).
    pub(crate) fn of_data(seq: &mut Sequence, is_open: bool) -> Option<RunState> {
        let (next, stop) = (seq.hi, stop(seq, 0, seq.hi));
        if !seq.is_undisturbed() || stop <= next {
            return None;
        }
        let of = Of::Data(DataRun { is_open, ..DataRun::default() });
        let mut run = RunState { next, time: seq.last_time, stop: stop as u32, of, ..RunState::default() };
        seq.ring.swap(&mut run.ring);
        Some(run)
    }

    /// The requests may learn of the next READ responses later.
    #[inline(always)]
    pub(crate) fn wait(&mut self, may_wait: &MayWait) {
        let (&MayWait { psns, due, apart }, next) = (may_wait, self.next as u32);
        if let Of::Data(run) = &mut self.of {
            (run.told, run.until) = (next, next.wrapping_add(psns));
            (run.due, run.apart, run.late) = (due, apart, 0);
        }
    }

    /// Ends the run: the sequence gets all its READ responses.
    pub(crate) fn give_back(mut self, seq: &mut Sequence) {
        seq.go_on(self.next, self.time);
        seq.ring.swap(&mut self.ring);
    }

    /// Whether it is a run of READ responses.
    #[inline(always)]
    pub(crate) fn is_data(&self) -> bool {
        matches!(self.of, Of::Data(_))
    }

    /// Whether the last READ response did not complete its READ.
    pub(crate) fn is_data_open(&self) -> bool {
        matches!(self.of, Of::Data(DataRun { is_open: true, .. }))
    }

    /// Prefetches the slot of the ring for a packet.
    #[inline(always)]
    pub(crate) fn fetch(&self, psn: Psn) {
        ring::fetch(&self.ring, psn.0 as u64);
    }

    /// Whether the path MTU is known. Full packets show it, so the first full packet of a flow must not be counted in a run.
    #[inline(always)]
    pub(crate) fn knows_mtu(&self) -> bool {
        matches!(self.of, Of::Requests(RequestRun { knows, .. }) if knows & MTU != 0)
    }

    /// Payload bytes of all its packets.
    pub(crate) fn payload(&self) -> u32 {
        self.payload
    }

    /// The PSN of its last packet.
    pub(crate) fn last(&self) -> Psn {
        Psn(self.next.wrapping_sub(1) as u32 & (Psn::SPACE - 1))
    }

    /// The unwrapped PSN of its last packet.
    pub(crate) fn last_unwrapped(&self) -> u64 {
        self.next.wrapping_sub(1)
    }

    /// When its last packet came.
    pub(crate) fn time(&self) -> i64 {
        self.time
    }
}

impl Requests {
    /// Begins a run of requests, if possible. The state of the requests does not change until it [ends](Self::end_run).
    pub(crate) fn begin_run(&mut self, config: &TrackConfig) -> Option<RunState> {
        let next = self.seq.hi;
        let stop = stop(&self.seq, self.una, next);
        let is_open = match &self.assembly {
            Some(assembly) => assembly.next == next && assembly.bytes <= u32::MAX as u64 / 2,
            None => true,
        };
        if !is_open || !self.is_in_order() || stop <= next {
            return None;
        }
        let knows = if self.knows_mtu() { MTU } else { 0 } | if self.is_patchy() { 0 } else { ALL_BEFORE };
        let knows = knows | self.burst_bits();
        let mut of = RequestRun { floor: self.floor(config), knows, ..RequestRun::default() };
        if let Some(assembly) = self.assembly.take() {
            of.message_start = 0u32.wrapping_sub(assembly.bytes as u32);
            (of.message_time, of.open) = (assembly.first_time, Some(assembly.operation));
        }
        let (time, of) = (self.seq.last_time, Of::Requests(of));
        let mut run = RunState { next, time, stop: stop as u32, of, ..RunState::default() };
        self.seq.ring.swap(&mut run.ring);
        Some(run)
    }

    /// Ends a run of this number of packets.
    pub(crate) fn end_run(&mut self, mut run: RunState, packets: u64) {
        self.catch_up(&mut run);
        self.counts.packets += packets;
        self.counts.are_new(packets);
        let Of::Requests(of) = run.of else { return };
        if of.perhaps > 0 {
            self.lost_perhaps(of.silences.into(), of.perhaps.into());
        }
        self.assembly = of.open.map(|operation| Assembly {
            next: run.next,
            bytes: run.payload.wrapping_sub(of.message_start) as u64,
            first_time: of.message_time,
            operation,
        });
    }

    /// Brings the requests up to date for an acknowledgement. Afterwards the run has to [go on](Self::go_on).
    #[inline(always)]
    pub(crate) fn catch_up(&mut self, run: &mut RunState) {
        self.learn(run);
        self.seq.ring.swap(&mut run.ring);
    }

    /// Takes over the counts of the run, without the single transmissions.
    #[inline(always)]
    pub(crate) fn learn(&mut self, run: &mut RunState) {
        if run.next != self.seq.hi {
            self.responder.go_on(self.seq.hi, run.next);
            self.seq.go_on(run.next, run.time);
        }
        if let Of::Requests(of) = &mut run.of {
            self.goodput += (run.payload - of.told) as u64;
            of.told = run.payload;
        }
    }

    /// Continues a run after an acknowledgement. Returns false if the run has to end.
    #[inline(always)]
    pub(crate) fn go_on(&mut self, run: &mut RunState, config: &TrackConfig) -> bool {
        run.stop = stop(&self.seq, self.una, run.next) as u32;
        if let Of::Requests(of) = &mut run.of {
            of.floor = self.floor(config);
            of.knows = of.knows & ((1 << KNOWN_BITS) - 1) | self.burst_bits();
        }
        self.seq.ring.swap(&mut run.ring);
        self.is_in_order() && self.seq.hi == run.next
    }

    /// The READ responses behind this PSN of which the requests may learn later, all at once. The last response of a READ
    /// completes it, so it is not among them.
    #[inline(always)]
    pub(crate) fn may_wait(&self, psn: Psn) -> Option<MayWait> {
        let (reads, next, hi) = (self.reads.get()?, self.seq.unwrap(psn) + 1, self.seq.hi);
        let at = reads.place(next - 1)?;
        let read = reads.list.get(at)?;
        let is_quiet = !self.is_recovering
            && self.trouble.get().is_none_or(|trouble| trouble.lost_behind.is_none())
            && self.seq.has_decided_all();
        let is_answered = read.answered && read.next == next && self.una == next && !reads.out_of_sequence;
        // So near that unwrapping keeps the order of the PSNs.
        let is_near = read.end <= hi && hi - next < Psn::SPACE as u64 / 4;
        let is_alone =
            || reads.list.range(at + 1..).all(|later| later.first >= read.end || later.end <= next);
        if !(is_quiet && is_answered && is_near && is_alone()) {
            return None;
        }
        let psns = read.end.checked_sub(next + 1)? as u32;
        match (&self.more, self.rtt_min) {
            (Some(more), Some(rtt)) => {
                // The first mark after an episode shows its goodput, so the requests need it at once.
                let recovered = more.recovery().episodes.last().and_then(|last| last.recovered);
                let is_over = recovered.is_none_or(|recovered| recovered < more.marks.last());
                let apart = is_over.then(|| Marks::apart(rtt)).flatten()?;
                Some(MayWait { psns, due: more.marks.due(rtt), apart })
            }
            _ => Some(MayWait { psns, due: i64::MAX, apart: 1 }),
        }
    }

    /// Learns of all READ responses of a run that continues. It learns of the next ones at once.
    pub(crate) fn learn_of_data(&mut self, run: &mut RunState) {
        let Of::Data(of) = &mut run.of else { return };
        let apart = of.apart;
        of.apart = 0;
        let (psns, last) = ((run.next as u32).wrapping_sub(of.told), run.next.wrapping_sub(1));
        if apart == 0 || psns == 0 {
            return;
        }
        let x = self.seq.unwrap(Psn(last as u32 & (Psn::SPACE - 1)));
        self.acks_seen += psns as u64;
        if let Some(reads) = self.reads.get_mut() {
            reads.last_time = run.time;
            if let Some(at) = reads.place(x) {
                let read = &mut reads.list[at];
                (read.next, read.last) = (x + 1, x + 1);
                read.seen += psns as u64;
            }
        }
        self.responder.acknowledged(x + 1);
        self.go_to(x + 1, run.time);
        if let (Some(more), Some(rtt)) = (&mut self.more, self.rtt_min)
            && of.late > 0
        {
            more.marks.go_on(of.due - apart as i64, of.late, self.goodput, rtt);
        }
    }

    #[inline(always)]
    fn is_in_order(&self) -> bool {
        self.is_quiet() && self.seq.is_undisturbed() && self.responder.is_steady(self.seq.hi)
    }

    #[inline(always)]
    fn burst_bits(&self) -> u8 {
        (self.burst_exponent() << KNOWN_BITS) as u8
    }

    #[inline(always)]
    fn floor(&self, config: &TrackConfig) -> u32 {
        self.silence_floor(config).clamp(0, u32::MAX as i64) as u32
    }
}

/// The PSN at which a run of this sequence has to end. `una` as in [`outstanding`](ring::outstanding).
#[inline(always)]
fn stop(seq: &Sequence, una: u64, next: u64) -> u64 {
    let room = seq.ring.room_until(seq.base, una, seq.unanswered);
    room.min((next / LONGEST + 1) * LONGEST - 1).max(next)
}
