//! How frames come in: read from fixed offsets or dissected, held back until ICRCs can be believed, analyzed in batches
//! where there are many flows.

use super::{
    Analysis,
    held::{Held, Looked, PacketBatch, Waits},
    sorting::{Place, Sorting},
    tracker::Tracker,
    trims::Trims,
};
use crate::{
    analyze::{
        metric::Metric,
        model::{FlowId, Options},
        packet::{EncapPacket, Facts, FastForm, FastPacket, MirrorCopy},
    },
    capture::Record,
    dissect::Dissection,
    icrc::State,
};

/// Packets that came in and were not analyzed yet.
#[derive(Default, crate::stored::Stored)]
pub(crate) struct Intake {
    batch: PacketBatch,
    /// The first frames, if their ICRCs are wrong, until it is known whether all ICRCs are wrong.
    held: Vec<Held>,
    held_bad: u64,
    held_good: bool,
    /// One of them may be trimmed, and one is long enough to tell.
    awaits_full: bool,
    held_full: bool,
    /// Frames that wait for those before them.
    pub(super) sorting: Sorting,
}

impl Intake {
    pub(super) fn new(options: &Options) -> Intake {
        Intake { sorting: Sorting::new(options.order), ..Intake::default() }
    }

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

/// If so many ICRCs are wrong, from the first one on, no ICRC is trusted.
pub(crate) const HELD_BAD: u64 = 8;

/// Frames that are held back until it is known whether ICRCs can be trusted.
pub(crate) const MAX_HELD: usize = 256;

/// The bytes of these frames.
pub(crate) const MAX_HELD_BYTES: usize = 1 << 20;

/// Packets in a batch, where there are many flows.
const TOGETHER: usize = 32;

impl Analysis {
    /// One frame.
    #[inline(always)]
    pub fn push(&mut self, record: &Record<'_>) {
        if self.has_view() {
            if self.push_within(record) {
                return;
            }
            self.view_next(record);
        }
        if !self.intake.sorting.passes(record.time.0) {
            return self.push_to_sort(&Record { ..*record });
        }
        // The calls get copies, so that the originals stay in registers.
        if !self.intake.is_empty() {
            return self.push_behind(&Record { ..*record });
        }
        let Some((packet, rest)) = FastPacket::candidate(record) else {
            return self.push_slow(&Record { ..*record });
        };
        self.view_first(record, &packet, rest);
        let (verify, verifier) = (self.tracker.options.verify_icrc, packet.verifier(rest));
        let icrc = move || if verify { verifier() } else { State::Unchecked };
        if !self.tracker.continues_run::<false>(&packet, rest.len(), icrc) {
            self.push_candidate(&Record { ..*record }, &{ packet }, rest);
        }
    }

    /// A frame behind others that wait: where there are many flows, that is nearly every one.
    #[inline(never)]
    fn push_behind(&mut self, record: &Record<'_>) {
        match FastPacket::candidate(record) {
            Some((packet, rest)) => {
                self.view_first(record, &packet, rest);
                self.push_alone(record, &packet, rest);
            }
            None => self.push_slow(record),
        }
    }

    #[cold]
    #[inline(never)]
    fn push_to_sort(&mut self, record: &Record<'_>) {
        if !self.has_view() {
            self.view_record(record);
        }
        match self.tracker.options.look(record) {
            Looked::Fast(packet) => self.sort(record.time.0, packet.held(), Place::of(&packet)),
            Looked::Encap(packet) => self.sort(record.time.0, packet.held(), Place::of(&packet)),
            Looked::Other(icrc) => {
                let d = self.tracker.options.dissection(record);
                self.sort_frame(record, &d, icrc);
            }
        }
    }

    pub(super) fn sort_frame(&mut self, record: &Record<'_>, d: &Dissection<'_>, icrc: State) {
        let copy = if d.tunnel_depth() > 0 { MirrorCopy::of_dissection(d) } else { None };
        let place = Facts::of(record, d, icrc).and_then(|facts| Place::of_facts(&facts));
        self.sort(record.time.0, Held::frame(record, icrc, copy), place);
    }

    /// A frame that continues no run: a candidate for the fast form, and the bytes behind its link header.
    #[inline(never)]
    fn push_candidate(&mut self, record: &Record<'_>, candidate: &FastPacket, rest: &[u8]) {
        self.push_alone(record, candidate, rest);
    }

    #[inline(always)]
    fn push_alone(&mut self, record: &Record<'_>, candidate: &FastPacket, rest: &[u8]) {
        let options = &self.tracker.options;
        let icrc = || options.checked(|| candidate.verify(rest));
        if !options.reference
            && let Some(packet) = candidate.checked(&options.dissect, rest, icrc)
        {
            return self.push_or_wait(&packet);
        }
        self.push_slow(record);
    }

    /// A frame without the fast form.
    #[inline(never)]
    fn push_slow(&mut self, record: &Record<'_>) {
        match self.tracker.options.reference {
            true => self.push_any(record),
            false => self.push_encap(record),
        }
    }

    /// A frame whose packet may have its other fast form, [`EncapPacket`].
    #[inline(never)]
    fn push_encap(&mut self, record: &Record<'_>) {
        let options = &self.tracker.options;
        let Some((packet, rest)) = EncapPacket::candidate(&options.dissect, record) else {
            return self.push_any(record);
        };
        let (dissect, verify) = (options.dissect, options.verify_icrc);
        self.view_first(record, &packet, rest);
        let icrc = || if verify { packet.verify(rest) } else { State::Unchecked };
        if self.intake.is_empty()
            && self.tracker.continues_run::<false>(&packet, rest.len() - packet.more() as usize, icrc)
        {
            return self.note_mirror_copy(packet.copy());
        }
        match packet.checked(&dissect, rest, icrc) {
            Some(packet) => self.push_or_wait(&packet),
            None => self.push_any(record),
        }
    }

    #[inline(always)]
    pub(super) fn note_mirror_copy(&mut self, copy: Option<&MirrorCopy>) {
        if let Some(copy) = copy {
            let is_in_place = self.tracker.mirrors.on_copy(copy);
            if !is_in_place {
                self.intake.sorting.miss();
            }
        }
    }

    /// Analyzes a packet in a fast form. It waits if it is not known whether its ICRC can be trusted, or, where there are many flows, for
    /// others: see [`push_batch`](Self::push_batch).
    #[inline(always)]
    pub(super) fn push_or_wait(&mut self, packet: &impl Waits) {
        if !self.is_packet_settled(packet) {
            return self.hold_packet(packet);
        }
        self.note_mirror_copy(packet.copy());
        if self.tracker.flows.are_many() {
            self.collect(packet);
        } else {
            self.catch_up();
            self.push_fast(packet);
        }
    }

    #[cold]
    fn hold_packet(&mut self, packet: &impl Waits) {
        // Those before it may settle it.
        self.catch_up();
        if !self.is_packet_settled(packet) {
            return self.hold(packet.held());
        }
        self.note_mirror_copy(packet.copy());
        self.push_fast(packet);
    }

    /// Adds a packet to the batch: where there are many flows, most are not in the processor's caches.
    #[inline]
    fn collect<F: Waits>(&mut self, packet: &F) {
        if F::list(&mut self.intake.batch).len() < self.intake.batch.len {
            self.catch_up();
        }
        F::list(&mut self.intake.batch).push(packet.clone());
        self.intake.batch.len += 1;
        if self.intake.batch.len == TOGETHER {
            self.flush_batch();
        }
    }

    #[inline(never)]
    fn flush_batch(&mut self) {
        let PacketBatch { mut fast, mut encap, .. } = std::mem::take(&mut self.intake.batch);
        self.push_batch(&fast);
        self.push_batch(&encap);
        fast.clear();
        encap.clear();
        self.intake.batch = PacketBatch { len: 0, fast, encap };
    }

    /// Looks up the flows of all packets first, and prefetches their state: all cache misses are waited for at once.
    #[inline]
    fn push_batch(&mut self, collected: &[impl FastForm]) {
        if collected.is_empty() {
            return;
        }
        let keys: [_; TOGETHER] = std::array::from_fn(|n| collected.get(n).map(FastForm::key));
        let flows = self.tracker.flows.likely(&keys);
        fetch_each(&flows, collected, |flow, packet| self.tracker.flows.fetch_own(flow, packet));
        // Packets that continue a run need little else of their flows.
        let (mut continuing, mut others) = ([None; TOGETHER], flows);
        for (n, packet) in collected.iter().enumerate() {
            if let Some(flow) = flows[n].filter(|flow| self.tracker.flows.has_run_for(*flow, packet)) {
                (continuing[n], others[n]) = (Some(flow), None);
            }
        }
        fetch_each(&continuing, collected, |flow, packet| {
            self.tracker.flows.fetch_ring(flow, packet.fast().psn())
        });
        fetch_each(&continuing, collected, |flow, packet| {
            self.tracker.flows.fetch_completed(flow, packet.fast())
        });
        fetch_each(&others, collected, |flow, packet| self.tracker.flows.fetch(flow, packet.fast()));
        fetch_each(&others, collected, |flow, _| {
            self.tracker.bursts.prefetch(flow);
            self.metrics.prefetch(flow);
        });
        fetch_each(&others, collected, |flow, packet| self.tracker.flows.fetch_beyond(flow, packet.fast()));
        fetch_each(&others, collected, |flow, packet| self.tracker.flows.fetch_farther(flow, packet.fast()));
        fetch_each(&others, collected, |flow, _| self.metrics.prefetch_beyond(flow));
        self.tracker.flows.remember(&keys, &others);
        for (packet, flow) in collected.iter().zip(flows) {
            // A packet of the batch may have begun the run, or ended it.
            let flow = flow.filter(|flow| self.tracker.flows.has_run_for(*flow, packet));
            let continues = match flow {
                Some(flow) => self.tracker.continues_run_of::<true>(flow, packet, 0, || packet.fast().icrc()),
                None => {
                    packet.fast().opcode().shape().is_data_within()
                        && self.tracker.continues_data_run::<true>(packet, 0, || packet.fast().icrc())
                }
            };
            if !continues {
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
        if !self.has_view() {
            self.view_dissected(record, &d, icrc);
        }
        self.push_or_hold(record, &d, icrc);
    }

    pub(super) fn push_or_hold(&mut self, record: &Record<'_>, d: &Dissection<'_>, icrc: State) {
        match self.is_settled(icrc, || Facts::of(record, d, icrc)) {
            true => self.push_parsed(record, d, icrc),
            false => self.hold(Held::frame(record, icrc, None)),
        }
    }

    /// Whether the analysis knows if this ICRC can be trusted, and whether the packet was trimmed.
    #[inline(always)]
    pub(super) fn is_settled(&self, icrc: State, facts: impl FnOnce() -> Option<Facts>) -> bool {
        let Tracker { trust, trims, .. } = &self.tracker;
        let is_whole = || icrc == State::Good || !facts().is_some_and(|facts| trims.awaits_full(&facts));
        self.intake.held.is_empty()
            && (icrc != State::Bad || trust.has_checked())
            && (!trims.may_await() || is_whole())
    }

    /// The same of a packet in its fast form: such a one is doubtful only with a wrong ICRC.
    #[inline(always)]
    fn is_packet_settled(&self, packet: &impl Waits) -> bool {
        let icrc = packet.fast().icrc();
        self.is_settled(icrc, || (icrc == State::Bad).then(|| packet.facts()))
    }

    /// The first ICRC that could be verified is wrong. The next few packets show whether this packet is corrupt, or all ICRCs
    /// are wrong. Or it may be trimmed: a longer one shows that.
    #[cold]
    pub(super) fn hold(&mut self, held: Held) {
        self.catch_up();
        let icrc = held.icrc();
        if self.tracker.trims.may_await()
            && let Some(facts) = self.facts_of(&held)
        {
            self.intake.awaits_full |= self.tracker.trims.awaits_full(&facts);
            self.intake.held_full |= Trims::is_full(&facts);
        }
        self.intake.held.push(held);
        self.intake.held_bad += (icrc == State::Bad) as u64;
        self.intake.held_good |= icrc == State::Good;
        let bytes: usize = self.intake.held.iter().map(Held::bytes).sum();
        let is_full = self.intake.held.len() >= MAX_HELD || bytes >= MAX_HELD_BYTES;
        let is_trusted = self.intake.held_good || self.tracker.trust.has_checked();
        let are_all_bad = !is_trusted && self.intake.held_bad >= HELD_BAD;
        // Where no ICRC is checked, or none is wrong, only a longer packet is waited for.
        let is_known = is_trusted || self.intake.held_bad == 0;
        if is_known && (self.intake.held_full || !self.intake.awaits_full) || are_all_bad || is_full {
            self.release();
        }
    }

    fn facts_of(&self, held: &Held) -> Option<Facts> {
        match held {
            Held::Fast(packet) => Some(packet.facts()),
            Held::Encap(packet) => Some(packet.facts()),
            Held::Frame(held) => {
                let record = &held.record();
                Facts::of(record, &self.tracker.options.dissection(record), held.icrc)
            }
        }
    }

    pub(crate) fn release(&mut self) {
        let is_trusted = std::mem::take(&mut self.intake.held_good) || self.tracker.trust.has_checked();
        if self.intake.held_bad >= HELD_BAD && !is_trusted {
            // A device rewrites packets, or the sender computes no ICRC.
            self.tracker.trust.give_up(HELD_BAD);
        }
        (self.intake.held_bad, self.intake.held_full) = (0, false);
        if std::mem::take(&mut self.intake.awaits_full) {
            let first: Vec<Facts> = self.intake.held.iter().filter_map(|held| self.facts_of(held)).collect();
            self.tracker.trims.learn(&first);
        }
        for held in std::mem::take(&mut self.intake.held) {
            self.push_held(held);
        }
    }

    fn push_held(&mut self, held: Held) {
        match held {
            Held::Fast(packet) => self.push_fast(&packet),
            Held::Encap(packet) => {
                self.note_mirror_copy(packet.copy());
                self.push_fast(&*packet);
            }
            Held::Frame(held) => {
                let record = &held.record();
                let d = self.tracker.options.dissection(record);
                self.push_parsed(record, &d, held.icrc);
            }
        }
    }

    /// A frame that waited for those before it, of this number.
    pub(super) fn push_in_place(&mut self, number: u64, held: Held) {
        if !self.is_settled(held.icrc(), || self.facts_of(&held)) {
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
