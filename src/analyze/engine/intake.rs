//! How frames come in: read from fixed offsets or dissected, held back until ICRCs can be believed, analyzed in batches
//! where there are many flows.

use super::{
    Analysis,
    prepared::{Known, Prepared, PreparedEncap},
    sorting::Sorting,
};
use crate::{
    analyze::{
        metric::Metric,
        model::FlowId,
        packet::{EncapPacket, FastForm, FastPacket, MirrorCopy},
    },
    capture::{Record, Time},
    dissect::{Dissection, Link},
    icrc::State,
};

/// Packets that came in and were not analyzed yet.
#[derive(Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Intake {
    batch: PacketBatch,
    /// The first frames, if their ICRCs are wrong, until it is known whether all ICRCs are wrong.
    held: Vec<Held>,
    held_bad: u64,
    /// Frames that wait for those before them.
    pub(super) sorting: Sorting,
}

impl Intake {
    /// Whether the next packet may be analyzed at once: no packet waits.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.held.len() | self.batch.len == 0
    }

    pub(super) fn held(&self) -> usize {
        self.held.len()
    }

    /// Packets that wait to be analyzed together.
    pub(super) fn batched(&self) -> usize {
        self.batch.len
    }
}

/// A frame held back, as bytes or prepared.
#[derive(serde::Serialize, serde::Deserialize)]
pub(super) enum Held {
    Frame(Box<HeldFrame>),
    Fast(FastPacket),
    Encap(Box<PreparedEncap>),
}

/// A frame's bytes, and the result of its dissection.
#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct HeldFrame {
    time: Time,
    link: Link,
    interface: u16,
    wire_len: u32,
    frame: Box<[u8]>,
    icrc: State,
    /// A mirror made it.
    copy: Option<MirrorCopy>,
}

impl Held {
    fn frame(record: &Record<'_>, icrc: State, copy: Option<MirrorCopy>) -> Held {
        let &Record { time, link, interface, wire_len, frame } = record;
        Held::Frame(Box::new(HeldFrame { time, link, interface, wire_len, frame: frame.into(), icrc, copy }))
    }

    /// The mirror's sequence number, if a mirror made the frame.
    pub(super) fn copy(&self) -> Option<&MirrorCopy> {
        match self {
            Held::Encap(prepared) => prepared.copy.as_ref(),
            Held::Frame(held) => held.copy.as_ref(),
            Held::Fast(_) => None,
        }
    }

    pub(super) fn icrc(&self) -> State {
        match *self {
            Held::Frame(ref held) => held.icrc,
            Held::Fast(ref packet) => packet.icrc(),
            Held::Encap(ref prepared) => prepared.icrc(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Held::Frame(held) => held.frame.len(),
            Held::Fast(_) => size_of::<FastPacket>(),
            Held::Encap(_) => size_of::<PreparedEncap>(),
        }
    }
}

/// If so many ICRCs are wrong, from the first one on, no ICRC is trusted.
const HELD_BAD: u64 = 8;

/// Frames that are held back until it is known whether ICRCs can be trusted.
const MAX_HELD: usize = 256;

/// The bytes of these frames.
const MAX_HELD_BYTES: usize = 1 << 20;

/// Packets in a batch, where there are many flows.
const TOGETHER: usize = 32;

/// Packets that wait to be analyzed together: of one kind at a time, so that their order stays.
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct PacketBatch {
    /// How many they are.
    len: usize,
    fast: Vec<FastPacket>,
    encap: Vec<EncapPacket>,
}

impl Analysis {
    /// One frame.
    #[inline(always)]
    pub fn push(&mut self, record: &Record<'_>) {
        if !self.intake.sorting.passes(record.time.0) {
            self.push_to_sort(&Record { ..*record });
        } else if !(self.intake.is_empty() && self.tracker.goes_on(record)) {
            // The call gets a copy, so that the original stays in registers.
            self.push_slow(&Record { ..*record });
        }
    }

    #[cold]
    #[inline(never)]
    fn push_to_sort(&mut self, record: &Record<'_>) {
        match self.tracker.options.prepare(record) {
            Known::Fast(Prepared(packet)) => self.sort(record.time.0, Held::Fast(packet)),
            Known::Encap(prepared) => self.sort(record.time.0, Held::Encap(Box::new(prepared))),
            Known::Icrc(icrc) => {
                let d = self.tracker.options.dissection(record);
                self.sort_frame(record, &d, icrc);
            }
        }
    }

    pub(super) fn sort_frame(&mut self, record: &Record<'_>, d: &Dissection<'_>, icrc: State) {
        let copy = if d.tunnel_depth() > 0 { MirrorCopy::of_dissection(d) } else { None };
        self.sort(record.time.0, Held::frame(record, icrc, copy));
    }

    #[inline(never)]
    fn push_slow(&mut self, record: &Record<'_>) {
        let options = &self.tracker.options;
        if options.reference {
            return self.push_any(record);
        }
        match FastPacket::of(&options.dissect, record, options.verify_icrc) {
            Some(packet) => self.push_or_hold_fast(&packet),
            None if self.push_encap(record) => {}
            None => self.push_any(record),
        }
    }

    /// Takes a packet in its other fast form, [`EncapPacket`], if it has one.
    #[inline(never)]
    fn push_encap(&mut self, record: &Record<'_>) -> bool {
        let Some((packet, inside)) = EncapPacket::candidate(&self.tracker.options.dissect, record) else {
            return false;
        };
        let rest = inside.rest;
        if !self.intake.held.is_empty() {
            return false;
        }
        let (options, verify) = (self.tracker.options.dissect, self.tracker.options.verify_icrc);
        let icrc = || if verify { packet.verify(rest) } else { State::Unchecked };
        if self.intake.is_empty() && self.tracker.goes_on_encap(&packet, rest, icrc) {
            self.note_mirror_copy(&inside.copy);
            return true;
        }
        let Some(packet) = packet.checked(&options, rest, icrc) else { return false };
        if !self.is_settled(packet.fast().icrc()) {
            return false;
        }
        self.push_settled_encap(&packet, &inside.copy);
        true
    }

    pub(super) fn push_settled_encap(&mut self, packet: &EncapPacket, copy: &Option<MirrorCopy>) {
        self.note_mirror_copy(copy);
        if self.tracker.flows.are_many() {
            self.collect_encap(packet);
        } else {
            self.catch_up();
            self.push_fast(packet);
        }
    }

    #[inline(always)]
    pub(super) fn note_mirror_copy(&mut self, copy: &Option<MirrorCopy>) {
        if let Some(copy) = copy {
            let is_in_place = self.tracker.mirrors.on_copy(copy);
            if !is_in_place {
                self.intake.sorting.miss();
            }
        }
    }

    /// Takes a packet in its fast form, or holds it back.
    #[inline(always)]
    pub(super) fn push_or_hold_fast(&mut self, packet: &FastPacket) {
        if !self.is_settled(packet.icrc()) {
            self.hold_fast(packet);
        } else if self.tracker.flows.are_many() {
            self.collect(packet);
        } else {
            self.push_fast(packet);
        }
    }

    #[cold]
    fn hold_fast(&mut self, packet: &FastPacket) {
        // Those before it may settle it.
        self.catch_up();
        match self.is_settled(packet.icrc()) {
            true => self.push_fast(packet),
            false => self.hold(Held::Fast(*packet)),
        }
    }

    /// Adds a packet to the batch: where there are many flows, most are not in the processor's caches.
    #[inline]
    fn collect(&mut self, packet: &FastPacket) {
        if !self.intake.batch.encap.is_empty() {
            self.catch_up();
        }
        self.intake.batch.fast.push(*packet);
        self.one_more_is_collected();
    }

    fn collect_encap(&mut self, packet: &EncapPacket) {
        if !self.intake.batch.fast.is_empty() {
            self.catch_up();
        }
        self.intake.batch.encap.push(*packet);
        self.one_more_is_collected();
    }

    #[inline]
    fn one_more_is_collected(&mut self) {
        self.intake.batch.len += 1;
        if self.intake.batch.len == TOGETHER {
            self.flush_batch();
        }
    }

    #[inline(never)]
    fn flush_batch(&mut self) {
        let PacketBatch { mut fast, mut encap, .. } = std::mem::take(&mut self.intake.batch);
        if !fast.is_empty() {
            self.push_batch(&fast);
        } else {
            self.push_batch(&encap);
        }
        fast.clear();
        encap.clear();
        self.intake.batch = PacketBatch { len: 0, fast, encap };
    }

    /// Looks up the flows of all packets first, and prefetches their state: all cache misses are waited for at once.
    #[inline]
    fn push_batch(&mut self, collected: &[impl FastForm]) {
        let keys: [_; TOGETHER] = std::array::from_fn(|n| collected.get(n).map(FastForm::key));
        let flows = self.tracker.flows.likely(&keys);
        fetch_each(&flows, collected, |flow, packet| self.tracker.flows.fetch_own(flow, packet));
        // Packets that continue a run need little else of their flows.
        let (mut going_on, mut others) = ([None; TOGETHER], flows);
        for (n, packet) in collected.iter().enumerate() {
            if let Some(flow) = flows[n].filter(|flow| self.tracker.flows.has_run_for(*flow, packet)) {
                (going_on[n], others[n]) = (Some(flow), None);
            }
        }
        fetch_each(&going_on, collected, |flow, packet| {
            self.tracker.flows.fetch_ring(flow, packet.fast().psn())
        });
        fetch_each(&going_on, collected, |flow, packet| {
            self.tracker.flows.fetch_completed(flow, packet.fast())
        });
        fetch_each(&others, collected, |flow, packet| self.tracker.flows.fetch(flow, packet.fast()));
        fetch_each(&others, collected, |flow, _| self.metrics.prefetch(flow));
        fetch_each(&others, collected, |flow, packet| self.tracker.flows.fetch_beyond(flow, packet.fast()));
        fetch_each(&others, collected, |flow, packet| self.tracker.flows.fetch_farther(flow, packet.fast()));
        self.tracker.flows.remember(&keys, &others);
        for (packet, flow) in collected.iter().zip(going_on) {
            let flow = flow.filter(|flow| self.tracker.flows.has_run_for(*flow, packet));
            let goes_on = match flow {
                Some(flow) => self.tracker.goes_on_in::<true>(flow, packet, 0, || packet.fast().icrc()),
                None => {
                    packet.fast().opcode().shape().is_data_within()
                        && self.tracker.goes_on_within_data::<true>(packet, 0, || packet.fast().icrc())
                }
            };
            if !goes_on {
                self.push_fast(packet);
            }
        }
    }

    /// Analyzes the packets of the batch, if there are any.
    #[inline(always)]
    pub(crate) fn catch_up(&mut self) {
        if self.intake.batch.len > 0 {
            self.flush_batch();
        }
    }

    #[inline(never)]
    fn push_any(&mut self, record: &Record<'_>) {
        let (d, icrc) = self.tracker.options.examine(record);
        self.push_or_hold(record, &d, icrc);
    }

    pub(super) fn push_or_hold(&mut self, record: &Record<'_>, d: &Dissection<'_>, icrc: State) {
        match self.is_settled(icrc) {
            true => self.push_parsed(record, d, icrc),
            false => self.hold(Held::frame(record, icrc, None)),
        }
    }

    /// Whether the analysis knows if this ICRC can be trusted.
    #[inline(always)]
    pub(super) fn is_settled(&self, icrc: State) -> bool {
        self.intake.held.is_empty() && (icrc != State::Bad || self.tracker.trust.has_checked())
    }

    /// The first ICRC that could be verified is wrong. The next few packets show whether this packet is corrupt, or all ICRCs
    /// are wrong.
    #[cold]
    pub(super) fn hold(&mut self, held: Held) {
        self.catch_up();
        let icrc = held.icrc();
        self.intake.held.push(held);
        self.intake.held_bad += (icrc == State::Bad) as u64;
        let bytes: usize = self.intake.held.iter().map(Held::bytes).sum();
        let is_full = self.intake.held.len() >= MAX_HELD || bytes >= MAX_HELD_BYTES;
        if icrc == State::Good || self.intake.held_bad >= HELD_BAD || is_full {
            self.release();
        }
    }

    pub(crate) fn release(&mut self) {
        if self.intake.held_bad >= HELD_BAD {
            // A device rewrites packets, or the sender computes no ICRC.
            self.tracker.trust.give_up(HELD_BAD);
        }
        for held in std::mem::take(&mut self.intake.held) {
            self.push_held(held);
        }
    }

    fn push_held(&mut self, held: Held) {
        match held {
            Held::Fast(packet) => self.push_fast(&packet),
            Held::Encap(prepared) => {
                self.note_mirror_copy(&prepared.copy);
                self.push_fast(&prepared.packet);
            }
            Held::Frame(held) => {
                let HeldFrame { time, link, interface, wire_len, frame, icrc, .. } = *held;
                let record = &Record { time, link, interface, wire_len, frame: &frame };
                let d = self.tracker.options.dissection(record);
                self.push_parsed(record, &d, icrc);
            }
        }
    }

    /// A frame that waited for those before it, of this number.
    pub(super) fn push_in_place(&mut self, number: u64, held: Held) {
        if !self.is_settled(held.icrc()) {
            return self.hold(held);
        }
        let passed_over = self.tracker.passed_over;
        self.tracker.passed_over = number.wrapping_sub(self.tracker.capture.packets + 1);
        self.push_held(held);
        self.tracker.passed_over = passed_over;
    }
}

/// Calls `fetch` for each packet whose flow is known.
#[inline(always)]
fn fetch_each<P>(flows: &[Option<FlowId>; TOGETHER], packets: &[P], fetch: impl Fn(FlowId, &P)) {
    let known = flows.iter().zip(packets).filter_map(|(flow, packet)| Some(((*flow)?, packet)));
    known.for_each(|(flow, packet)| fetch(flow, packet));
}
