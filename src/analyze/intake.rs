//! How frames come in: read from fixed offsets or dissected, held back until ICRCs can be believed, looked at together
//! where there are many flows.

use super::{
    Analysis, FlowId, Options,
    doubt::MirrorCopy,
    facts::Facts,
    plain::{AnyPlain, Plain, Wrapped},
};
use crate::{
    capture::{Record, Time},
    dissect::{Dissection, Link, dissect_with},
    icrc::{self, State},
};

/// A frame held back, or what there is to know of it.
pub(super) enum Held {
    Frame { time: Time, link: Link, interface: u16, wire_len: u32, frame: Box<[u8]>, icrc: State },
    Plain(Plain),
    Wrapped(Box<PreparedWrapped>),
}

impl Held {
    fn frame(record: &Record<'_>, icrc: State) -> Held {
        let &Record { time, link, interface, wire_len, frame } = record;
        Held::Frame { time, link, interface, wire_len, frame: frame.into(), icrc }
    }

    fn icrc(&self) -> State {
        match *self {
            Held::Frame { icrc, .. } => icrc,
            Held::Plain(ref facts) => facts.icrc(),
            Held::Wrapped(ref wrapped) => wrapped.icrc(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Held::Frame { frame, .. } => frame.len(),
            Held::Plain(_) => size_of::<Plain>(),
            Held::Wrapped(_) => size_of::<PreparedWrapped>(),
        }
    }
}

/// Wrong ICRCs in a row, from the first one on, after which none is believed.
const HELD_BAD: u64 = 8;

/// Frames held back until that is known.
const MAX_HELD: usize = 256;

/// Their bytes, which no snap length bounds.
const MAX_HELD_BYTES: usize = 1 << 20;

/// Packets that are looked at together where there are many flows.
const TOGETHER: usize = 32;

/// Packets that wait to be looked at together: of one kind at a time, for they are seen in their order.
#[derive(Default)]
pub(super) struct Collected {
    /// How many they are.
    pub(super) len: usize,
    plain: Vec<Plain>,
    wrapped: Vec<Wrapped>,
}

/// All that an analysis asks of a frame that can be known of it by itself, whatever came before: so it can be found out on
/// another thread. It is as long as a cache line: what one core hands to another takes longer than finding it out.
#[derive(Clone, Copy, Debug)]
pub struct Prepared(Plain);

impl Prepared {
    /// What became of its ICRC.
    pub fn icrc(&self) -> State {
        self.0.icrc()
    }
}

/// The same of a frame that is wrapped otherwise than in Ethernet and IPv4: longer.
#[derive(Clone, Copy, Debug)]
pub struct PreparedWrapped {
    facts: Wrapped,
    /// A mirror made it.
    copy: Option<MirrorCopy>,
}

impl PreparedWrapped {
    /// What became of its ICRC.
    pub fn icrc(&self) -> State {
        self.facts.icrc()
    }
}

/// What can be found out of a frame by itself.
#[derive(Clone, Copy, Debug)]
pub enum Known {
    /// All that is asked: for [`Analysis::see_prepared`].
    Plain(Prepared),
    /// The same: for [`Analysis::see_prepared_wrapped`].
    Wrapped(PreparedWrapped),
    /// Of a frame that is not as most are, only what became of its ICRC: for [`Analysis::see_verified`].
    Icrc(State),
}

impl Known {
    /// What became of the ICRC.
    pub fn icrc(&self) -> State {
        match self {
            Known::Plain(prepared) => prepared.icrc(),
            Known::Wrapped(wrapped) => wrapped.icrc(),
            Known::Icrc(icrc) => *icrc,
        }
    }
}

impl Options {
    /// Dissects a frame as an analysis with these options does.
    pub fn dissection<'a>(&self, record: &Record<'a>) -> Dissection<'a> {
        dissect_with(self.dissect, record.link, record.frame, record.wire_len)
    }

    /// The same, and verifies its ICRC if that is wanted.
    pub fn examine<'a>(&self, record: &Record<'a>) -> (Dissection<'a>, State) {
        let d = self.dissection(record);
        let icrc = if self.verify_icrc { icrc::verify(&d) } else { State::Unchecked };
        (d, icrc)
    }

    /// Prepares a frame for an analysis with these options.
    #[inline(always)]
    pub fn prepare(&self, record: &Record<'_>) -> Known {
        match Plain::of(&self.dissect, record, self.verify_icrc) {
            Some(facts) => Known::Plain(Prepared(facts)),
            None => self.prepare_other(record),
        }
    }

    #[inline(never)]
    fn prepare_other(&self, record: &Record<'_>) -> Known {
        match Wrapped::of(&self.dissect, record, self.verify_icrc) {
            Some((facts, copy)) => Known::Wrapped(PreparedWrapped { facts, copy }),
            None => Known::Icrc(self.examine(record).1),
        }
    }
}

impl Analysis {
    /// One frame.
    #[inline(always)]
    pub fn see(&mut self, record: &Record<'_>) {
        if !(self.may_go_on() && self.goes_on(record)) {
            // A copy of its own: the others stay in registers.
            self.see_another(&Record { ..*record });
        }
    }

    /// Whether nothing is to be done before a packet of a stretch is seen, and metrics that were added do not want the
    /// dissection.
    #[inline(always)]
    fn may_go_on(&self) -> bool {
        self.held.len() | self.collected.len | self.metrics.len() == 0
    }

    #[inline(never)]
    fn see_another(&mut self, record: &Record<'_>) {
        let (options, verify) = (self.options.dissect, self.options.verify_icrc);
        // Metrics that were added want the dissection.
        let plain = if self.metrics.is_empty() { Plain::of(&options, record, verify) } else { None };
        match plain {
            Some(facts) => self.see_or_hold_plain(&facts),
            None if self.see_wrapped(record) => {}
            None => self.see_any(record),
        }
    }

    /// Takes a packet that is wrapped otherwise, if it is plain.
    #[inline(never)]
    fn see_wrapped(&mut self, record: &Record<'_>) -> bool {
        let Some((packet, inside)) = Wrapped::candidate(&self.options.dissect, record) else { return false };
        let rest = inside.rest;
        if self.held.len() + self.metrics.len() > 0 {
            return false;
        }
        let (options, verify) = (self.options.dissect, self.options.verify_icrc);
        let icrc = || if verify { packet.verify(rest) } else { State::Unchecked };
        if self.may_go_on() && self.goes_on_wrapped(&packet, rest, icrc) {
            self.see_any_copy(&inside.copy);
            return true;
        }
        let Some(facts) = packet.checked(&options, rest, icrc) else { return false };
        if !self.is_settled(facts.icrc()) {
            return false;
        }
        self.see_settled_wrapped(&facts, &inside.copy);
        true
    }

    fn see_settled_wrapped(&mut self, facts: &Wrapped, copy: &Option<MirrorCopy>) {
        self.see_any_copy(copy);
        if self.flows.are_many() && self.observer.is_none() {
            self.collect_wrapped(facts);
        } else {
            self.catch_up();
            self.see_plain(facts);
        }
    }

    #[inline(always)]
    fn see_any_copy(&mut self, copy: &Option<MirrorCopy>) {
        if let Some(copy) = copy {
            self.see_copy(copy);
        }
    }

    /// [`see`](Analysis::see) of frames that follow each other and were [prepared](Options::prepare) with the same options.
    /// Metrics that were [added](Analysis::with) want the dissection, and do not see them.
    #[inline(never)]
    pub fn see_prepared(&mut self, prepared: &[Prepared]) {
        for Prepared(facts) in prepared {
            if !(self.may_go_on() && self.goes_on_with_plain(facts)) {
                self.see_or_hold_plain(facts);
            }
        }
    }

    /// The same of a packet that is wrapped otherwise.
    #[inline(never)]
    pub fn see_prepared_wrapped(&mut self, wrapped: &PreparedWrapped) {
        let PreparedWrapped { facts, copy } = wrapped;
        if self.may_go_on() && self.goes_on_with_wrapped(facts) {
            self.see_any_copy(copy);
        } else if self.is_settled(facts.icrc()) {
            self.see_settled_wrapped(facts, copy);
        } else {
            self.hold_wrapped(wrapped);
        }
    }

    /// [`see`](Analysis::see) of a frame of which it is known what became of its ICRC, and that it is neither of those.
    pub fn see_verified(&mut self, record: &Record<'_>, icrc: State) {
        let d = self.options.dissection(record);
        self.see_or_hold(record, &d, icrc);
    }

    /// Most frames need not be dissected, where nobody asks for more than the facts.
    #[inline(always)]
    fn see_or_hold_plain(&mut self, facts: &Plain) {
        if !self.is_settled(facts.icrc()) {
            self.hold_plain(facts);
        } else if self.flows.are_many() && self.observer.is_none() {
            self.collect(facts);
        } else {
            self.see_plain(facts);
        }
    }

    #[cold]
    fn hold_plain(&mut self, facts: &Plain) {
        // Those before it may settle it.
        self.catch_up();
        match self.is_settled(facts.icrc()) {
            true => self.see_plain(facts),
            false => self.hold(Held::Plain(*facts)),
        }
    }

    #[cold]
    fn hold_wrapped(&mut self, wrapped: &PreparedWrapped) {
        self.catch_up();
        match self.is_settled(wrapped.icrc()) {
            true => self.see_settled_wrapped(&wrapped.facts, &wrapped.copy),
            false => self.hold(Held::Wrapped(Box::new(*wrapped))),
        }
    }

    /// Puts a packet to those that are looked at together, because their flows are not in the processor's caches.
    #[inline]
    fn collect(&mut self, facts: &Plain) {
        if !self.collected.wrapped.is_empty() {
            self.catch_up();
        }
        self.collected.plain.push(*facts);
        self.one_more_is_collected();
    }

    fn collect_wrapped(&mut self, facts: &Wrapped) {
        if !self.collected.plain.is_empty() {
            self.catch_up();
        }
        self.collected.wrapped.push(*facts);
        self.one_more_is_collected();
    }

    #[inline]
    fn one_more_is_collected(&mut self) {
        self.collected.len += 1;
        if self.collected.len == TOGETHER {
            self.see_collected();
        }
    }

    /// Sees the packets collected.
    #[inline(never)]
    fn see_collected(&mut self) {
        let Collected { mut plain, mut wrapped, .. } = std::mem::take(&mut self.collected);
        if !plain.is_empty() {
            self.see_together(&plain);
        } else {
            self.see_together(&wrapped);
        }
        plain.clear();
        wrapped.clear();
        self.collected = Collected { len: 0, plain, wrapped };
    }

    /// Looks at packets first for their flows, all at once, so that memory is waited for but once.
    #[inline]
    fn see_together(&mut self, collected: &[impl AnyPlain]) {
        let keys: [_; TOGETHER] = std::array::from_fn(|n| collected.get(n).and_then(Facts::key));
        let flows = self.flows.likely(&keys);
        fetch_each(&flows, collected, |flow, facts| self.flows.fetch_own(flow, facts));
        // Those that go on with stretches need little else of their flows.
        let (mut going_on, mut others) = ([None; TOGETHER], flows);
        for (n, facts) in collected.iter().enumerate() {
            if let Some(flow) = flows[n].filter(|flow| self.flows.has_stretch_for(*flow, facts)) {
                (going_on[n], others[n]) = (Some(flow), None);
            }
        }
        fetch_each(&going_on, collected, |flow, facts| self.flows.fetch_ring(flow, facts.psn()));
        fetch_each(&going_on, collected, |flow, facts| self.flows.fetch_completed(flow, facts));
        fetch_each(&others, collected, |flow, facts| self.flows.fetch(flow, facts));
        fetch_each(&others, collected, |flow, _| self.asked.entropy.fetch(flow));
        fetch_each(&others, collected, |flow, facts| self.flows.fetch_beyond(flow, facts));
        fetch_each(&others, collected, |flow, facts| self.flows.fetch_farther(flow, facts));
        self.flows.remember(&keys, &others);
        for (facts, flow) in collected.iter().zip(going_on) {
            let flow = flow.filter(|flow| self.flows.has_stretch_for(*flow, facts));
            let goes_on = match flow {
                Some(flow) => self.goes_on_in::<true>(flow, facts, 0, || facts.icrc()),
                None => {
                    facts.opcode().shape().is_data_within()
                        && self.goes_on_within_data::<true>(facts, 0, || facts.icrc())
                }
            };
            if !goes_on {
                self.see_plain(facts);
            }
        }
    }

    /// Nothing waits any more.
    #[inline(always)]
    pub(super) fn catch_up(&mut self) {
        if self.collected.len > 0 {
            self.see_collected();
        }
    }

    #[inline(never)]
    fn see_any(&mut self, record: &Record<'_>) {
        let (d, icrc) = self.options.examine(record);
        self.see_or_hold(record, &d, icrc);
    }

    fn see_or_hold(&mut self, record: &Record<'_>, d: &Dissection<'_>, icrc: State) {
        match self.is_settled(icrc) {
            true => self.see_dissected(record, d, icrc),
            false => self.hold(Held::frame(record, icrc)),
        }
    }

    /// Whether it is known what to think of this ICRC.
    #[inline(always)]
    fn is_settled(&self, icrc: State) -> bool {
        self.held.is_empty() && (icrc != State::Bad || self.trust.icrc_checked > 0)
    }

    /// The first ICRC that could be verified is wrong: that packet alone, or all of them? The next few tell.
    #[cold]
    fn hold(&mut self, held: Held) {
        self.catch_up();
        let icrc = held.icrc();
        self.held.push(held);
        self.held_bad += (icrc == State::Bad) as u64;
        let bytes: usize = self.held.iter().map(Held::bytes).sum();
        let is_full = self.held.len() >= MAX_HELD || bytes >= MAX_HELD_BYTES;
        if icrc == State::Good || self.held_bad >= HELD_BAD || is_full {
            self.release();
        }
    }

    pub(super) fn release(&mut self) {
        if self.held_bad >= HELD_BAD {
            // Something rewrites packets, or nobody computes it.
            (self.trust.icrc_checked, self.trust.icrc_bad) = (HELD_BAD, 2 * HELD_BAD);
        }
        for held in std::mem::take(&mut self.held) {
            match held {
                Held::Plain(facts) => self.see_plain(&facts),
                Held::Wrapped(wrapped) => {
                    self.see_any_copy(&wrapped.copy);
                    self.see_plain(&wrapped.facts);
                }
                Held::Frame { time, link, interface, wire_len, frame, icrc } => {
                    let record = &Record { time, link, interface, wire_len, frame: &frame };
                    let d = self.options.dissection(record);
                    self.see_dissected(record, &d, icrc);
                }
            }
        }
    }
}

/// Fetches something for each packet whose flow is there.
#[inline(always)]
fn fetch_each<P>(flows: &[Option<FlowId>; TOGETHER], packets: &[P], fetch: impl Fn(FlowId, &P)) {
    let known = flows.iter().zip(packets).filter_map(|(flow, packet)| Some(((*flow)?, packet)));
    known.for_each(|(flow, packet)| fetch(flow, packet));
}
