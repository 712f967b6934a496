//! What is kept of single flows: how many of their packets could be marked, and for those that were marked or notified, what
//! happened to them and how fast they sent.

use std::ops::Range;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::analyze::{
    metric::{bins::Axis, ends::Ends, per_flow::PerFlow},
    model::FlowId,
    packet::Facts,
    table::run::RunSum,
};

/// Flows that were marked or notified, of which more is kept.
const MAX_NOTED: usize = 1 << 16;
/// Flows whose rate over time is kept: 16 KiB each.
const MAX_RATES: usize = 1 << 10;
/// Pairs of hosts whose flows may have CNPs that are not known to be for one of them.
const MAX_AWAITED: usize = 1 << 12;
/// Marks, CNPs and NAKs that are kept one by one: 32 MiB.
const MAX_EVENTS: usize = 1 << 21;
/// Bytes of a noted flow's row while the report is made.
const ROW_BYTES: usize = 256;
/// Frames that are named as evidence for a flow.
const MAX_FRAMES: usize = 4;
const NONE: u32 = u32::MAX;

/// Bins of a rate: the shortest, and how many there are at most. Runs of packets end with a bin. So that this costs little, bins are
/// longer from the first on if flows are slow: on average, they have so many packets of a flow, or they are the longest.
const FINEST_NS: i64 = 8_000;
const PACKETS_IN_BIN: u64 = 8;
const MOST_BINS: i64 = 1 << 12;
/// The longest bins in which the reaction to one CNP shows.
pub(super) const COARSEST_NS: i64 = 64_000;

/// What happened to a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, crate::stored::Stored)]
pub(super) enum Happened {
    /// A data packet of it was marked.
    Mark,
    /// A CNP in it, for the opposite flow.
    Cnp,
    /// A NAK for a missing packet in it, about the opposite flow.
    Nak,
}

#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(super) struct Event {
    pub(super) time: i64,
    /// The noted flow that the packet is of.
    pub(super) noted: u32,
    pub(super) what: Happened,
}

/// What is counted of every flow.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
#[repr(align(32))]
pub(super) struct Slot {
    /// Its data packets that could be marked.
    capable: u64,
    /// Bytes on the wire of its data packets after the first: over the time since then, they are its rate.
    bytes: u64,
    first_ns: i64,
    /// Its data packets that could not be marked.
    incapable: u32,
    noted: u32,
}

impl Default for Slot {
    fn default() -> Slot {
        Slot { capable: 0, bytes: 0, first_ns: i64::MAX, incapable: 0, noted: NONE }
    }
}

/// A flow that was marked, or has CNPs, or is slowed by CNPs.
#[derive(Clone, Debug, crate::stored::Stored)]
pub(super) struct Noted {
    /// `None` once its number is another's.
    pub(super) flow: Option<FlowId>,
    pub(super) ends: Ends,
    /// The queue pair that its packets go to, where a packet of it was seen.
    pub(super) qp: Option<u32>,
    pub(super) marks: u64,
    /// Of these, those that only a later record of the packet has: they were set behind the place where its rate is measured.
    pub(super) marks_later: u64,
    pub(super) cnps: u64,
    /// Frames of its first CNPs.
    pub(super) frames: Vec<u64>,
    /// Path tag of its last data packet, and of its last CNP; 0 where there was none.
    pub(super) data_tag: u64,
    pub(super) cnp_tag: u64,
    /// The noted flow that its CNPs slow.
    pub(super) slows: Option<u32>,
    /// When the first CNP slowed it, and its bytes of data until then.
    pub(super) slowed: Option<(i64, u64)>,
    /// Its counts when its number became another's.
    left: Option<Slot>,
    /// Bytes on the wire by bin, from the capture's first CNP on, and since when they are counted, if it was marked or got CNPs;
    /// `None` where there are too many such flows.
    rate: Option<Vec<u32>>,
    rated_since: i64,
    /// How its rate changed with CNPs while bins were short enough to tell.
    pub(super) reaction: Option<Reaction>,
}

/// How a rate changed with single CNPs.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(super) struct Reaction {
    /// CNPs that were looked at.
    pub(super) cnps: u64,
    /// The median of the rate after one over the rate before it.
    pub(super) ratio: f64,
}

#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(super) struct Marks {
    slots: PerFlow<Slot>,
    noted: Vec<Noted>,
    events: Vec<Event>,
    /// CNPs whose opposite was not known when they came: the ends of the data that the first of each slows, and when it came.
    awaited: HashMap<Ends, i64, RandomState>,
    /// There were too many events: none is kept.
    are_too_many: bool,
    axis: Option<Axis>,
    /// The noted flows that have a rate.
    rated: Vec<u32>,
}

impl Marks {
    #[inline(always)]
    pub(super) fn slot(&self, flow: FlowId) -> Option<&Slot> {
        self.slots.get(flow)
    }

    /// Bytes on the heap: of what is noted and of its rows in the report; slots are small.
    pub(super) fn heap_bytes(&self) -> usize {
        let rate = |&at: &u32| self.noted.get(at as usize)?.rate.as_ref().map(Vec::capacity);
        let rates: usize = self.rated.iter().filter_map(rate).sum();
        self.events.capacity() * size_of::<Event>()
            + self.noted.capacity() * (size_of::<Noted>() + ROW_BYTES)
            + rates * size_of::<u32>()
    }

    /// A data packet that is not in a run.
    #[inline(always)]
    pub(super) fn on_data(&mut self, flow: FlowId, packet: &Facts) {
        let (time, bytes) = (packet.time(), packet.l1_bytes() as u64);
        let is_capable = packet.mark().0 & 3 != 0;
        let Some(slot) = self.slots.entry(flow) else { return };
        slot.capable += is_capable as u64;
        slot.incapable = slot.incapable.saturating_add(!is_capable as u32);
        match slot.first_ns {
            i64::MAX => slot.first_ns = time,
            _ => slot.bytes += bytes,
        }
        let noted = slot.noted;
        if noted != NONE {
            self.note(noted, packet.path_tag(), time, bytes);
        } else if !self.awaited.is_empty() {
            self.may_be_awaited(flow, packet, bytes);
        }
    }

    /// Data of a flow that is not noted: perhaps a CNP is for it.
    #[cold]
    #[inline(never)]
    fn may_be_awaited(&mut self, flow: FlowId, packet: &Facts, bytes: u64) {
        let Some(ends) = Ends::of(packet) else { return };
        let Some(&since) = self.awaited.get(&ends) else { return };
        let sent = self.slot(flow).map_or(0, |slot| slot.bytes.saturating_sub(bytes));
        let Some(at) = self.noting(flow, ends, packet.dest_qp().map(|qp| qp.0)) else { return };
        if let Some(noted) = self.noted.get_mut(at as usize) {
            noted.slowed.get_or_insert((since, sent));
        }
        self.begin_rate(at, packet.time());
        self.note(at, packet.path_tag(), packet.time(), bytes);
    }

    pub(super) fn on_run(&mut self, run: &RunSum) {
        // A run goes on where a packet was: the slot is there.
        let Some(slot) = self.slots.entry(run.flow) else { return };
        match run.ecn.0 & 3 {
            0 => slot.incapable = slot.incapable.saturating_add(run.packets as u32),
            _ => slot.capable += run.packets,
        }
        slot.bytes += run.l1_bytes;
        if slot.noted != NONE {
            let noted = slot.noted;
            self.note(noted, run.path_tag, run.last_ns, run.l1_bytes);
        }
    }

    /// Data of a noted flow.
    #[cold]
    #[inline(never)]
    fn note(&mut self, noted: u32, path_tag: u64, time: i64, bytes: u64) {
        self.reach(time);
        let axis = self.axis;
        let Some(noted) = self.noted.get_mut(noted as usize) else { return };
        noted.data_tag = path_tag;
        let Some(at) = axis.and_then(|axis| axis.index(time)) else { return };
        if let Some(rate) = &mut noted.rate {
            if rate.len() <= at {
                rate.resize(at + 1, 0);
            }
            rate[at] = rate[at].saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
        }
    }

    /// Makes bins so long that this time is in one.
    fn reach(&mut self, time: i64) {
        let Some(axis) = self.axis else { return };
        let longer = axis.reaching(time, MOST_BINS);
        if longer == axis {
            return;
        }
        if axis.width_ns <= COARSEST_NS && longer.width_ns > COARSEST_NS {
            self.keep_reactions();
        }
        let times = (longer.width_ns / axis.width_ns) as usize;
        for &at in &self.rated {
            let Some(rate) = self.noted.get_mut(at as usize).and_then(|noted| noted.rate.as_mut()) else {
                continue;
            };
            let sum = |bins: &[u32]| bins.iter().fold(0u32, |sum, &bin| sum.saturating_add(bin));
            *rate = rate.chunks(times).map(sum).collect();
        }
        self.axis = Some(longer);
    }

    pub(super) fn span(&self, time: i64) -> Range<i64> {
        let Some(axis) = self.axis else { return i64::MIN..i64::MAX };
        let axis = axis.reaching(time, MOST_BINS);
        match axis.at(time) {
            ..0 => i64::MIN..axis.origin_ns,
            at => axis.span(at),
        }
    }

    /// A flow's number will be another's.
    pub(super) fn retire(&mut self, flow: FlowId) {
        let Some(left) = self.slots.retire(flow) else { return };
        if let Some(noted) = self.noted.get_mut(left.noted as usize) {
            (noted.flow, noted.left) = (None, Some(left));
        }
    }

    /// The place of a noted flow; it is noted now, if it was not.
    fn noting(&mut self, flow: FlowId, ends: Ends, qp: Option<u32>) -> Option<u32> {
        let many = self.noted.len();
        let slot = self.slots.entry(flow)?;
        if slot.noted == NONE {
            if many >= MAX_NOTED {
                return None;
            }
            slot.noted = many as u32;
            self.noted.push(Noted {
                flow: Some(flow),
                ends,
                qp: None,
                marks: 0,
                marks_later: 0,
                cnps: 0,
                frames: Vec::new(),
                data_tag: 0,
                cnp_tag: 0,
                slows: None,
                slowed: None,
                left: None,
                rate: None,
                rated_since: i64::MAX,
                reaction: None,
            });
        }
        let at = self.slot(flow)?.noted;
        let noted = self.noted.get_mut(at as usize)?;
        noted.qp = qp.or(noted.qp);
        Some(at)
    }

    /// A mark, a CNP or a NAK of this flow; `is_later`: a mark that the first record of its packet has not. Returns whether it may be the
    /// first mark.
    #[inline(never)]
    pub(super) fn happened(
        &mut self,
        (what, is_later): (Happened, bool),
        flow: FlowId,
        packet: &Facts,
        frame: u64,
    ) -> bool {
        let (Some(ends), Some(qp)) = (Ends::of(packet), packet.dest_qp()) else { return true };
        let Some(at) = self.noting(flow, ends, Some(qp.0)) else {
            self.give_up_events();
            return true;
        };
        if what == Happened::Mark {
            self.begin_rate(at, packet.time());
        }
        let noted = &mut self.noted[at as usize];
        match what {
            Happened::Mark => {
                noted.marks += 1;
                noted.marks_later += u64::from(is_later);
                noted.data_tag = packet.path_tag();
            }
            Happened::Cnp => {
                noted.cnps += 1;
                noted.cnp_tag = packet.path_tag();
                if noted.frames.len() < MAX_FRAMES {
                    noted.frames.push(frame);
                }
            }
            Happened::Nak => {}
        }
        let may_be_first = noted.marks <= 1;
        match self.events.len() < MAX_EVENTS {
            _ if self.are_too_many => {}
            true => self.events.push(Event { time: packet.time(), noted: at, what }),
            false => self.give_up_events(),
        }
        may_be_first
    }

    /// Single causes need all events. Of those until now, only how rates changed is kept.
    #[cold]
    fn give_up_events(&mut self) {
        if !self.are_too_many {
            self.keep_reactions();
            (self.are_too_many, self.events) = (true, Vec::new());
        }
    }

    fn keep_reactions(&mut self) {
        let reactions = self.reactions();
        for (noted, reaction) in self.noted.iter_mut().zip(reactions) {
            noted.reaction = reaction;
        }
    }

    /// A CNP of `flow` slows its opposite.
    pub(super) fn slows(&mut self, flow: FlowId, opposite: Option<FlowId>, packet: &Facts) {
        let now = packet.time();
        if let (Some(opposite), Some(ends)) =
            (opposite.filter(|&opposite| opposite != flow), Ends::of(packet))
        {
            let back = Ends { src: ends.dst, dst: ends.src };
            let sent = self.slot(opposite).map_or(0, |slot| slot.bytes);
            if let Some(at) = self.noting(opposite, back, None) {
                self.noted[at as usize].slowed.get_or_insert((now, sent));
                self.begin_rate(at, now);
                if let Some(own) = self.find(flow) {
                    self.noted[own].slows = Some(at);
                }
            }
        }
        if opposite.is_none()
            && let Some(ends) = Ends::of(packet)
            && self.awaited.len() < MAX_AWAITED
        {
            self.awaited.entry(Ends { src: ends.dst, dst: ends.src }).or_insert(now);
        }
        if self.axis.is_none() {
            // Packets at this very time came before it, or after it: they are left out.
            self.axis = Some(Axis { origin_ns: now.saturating_add(1), width_ns: self.first_width(now) });
        }
    }

    /// How long bins are at first. All runs have ended: it is the same with them and without.
    #[cold]
    fn first_width(&self, now: i64) -> i64 {
        let seen = self.slots.iter().map(|(_, slot)| slot).filter(|slot| slot.first_ns != i64::MAX);
        let (flows, packets, first) = seen.fold((0u64, 0u64, now), |(flows, packets, first), slot| {
            (flows + 1, packets + slot.capable + slot.incapable as u64, first.min(slot.first_ns))
        });
        let all = now.saturating_sub(first).max(0) as u128 * flows as u128 * PACKETS_IN_BIN as u128;
        let mut width = FINEST_NS;
        while width < COARSEST_NS && (width as u128) * (packets as u128) < all {
            width *= 2;
        }
        width
    }

    pub(super) fn noted(&self) -> &[Noted] {
        &self.noted
    }

    /// All events, in the order of the frames; `None` if there were too many.
    pub(super) fn events(&self) -> Option<&[Event]> {
        (!self.are_too_many).then_some(&self.events)
    }

    /// Where a flow is among the noted ones.
    pub(super) fn find(&self, flow: FlowId) -> Option<usize> {
        self.slot(flow).filter(|slot| slot.noted != NONE).map(|slot| slot.noted as usize)
    }

    /// Data packets of a noted flow that could be marked, and that could not.
    pub(super) fn data_packets(&self, at: usize) -> [u64; 2] {
        let slot = self.slot_of(at).unwrap_or_default();
        [slot.capable, slot.incapable as u64]
    }

    fn slot_of(&self, at: usize) -> Option<Slot> {
        let noted = self.noted.get(at)?;
        noted.left.or_else(|| noted.flow.and_then(|flow| self.slot(flow).copied()))
    }

    fn begin_rate(&mut self, at: u32, now: i64) {
        let noted = &mut self.noted[at as usize];
        if noted.rate.is_none() && self.rated.len() < MAX_RATES {
            (noted.rate, noted.rated_since) = (Some(Vec::new()), now);
            self.rated.push(at);
        }
    }

    /// Bytes per second before the first CNP for a flow.
    pub(super) fn bytes_before(&self, at: usize, first_cnp: i64) -> Option<f64> {
        let (noted, slot) = (self.noted.get(at)?, self.slot_of(at)?);
        let (sent, until) = match noted.slowed {
            Some((time, sent)) if time == first_cnp => (sent, first_cnp),
            // Its opposite was not known then: all but what it sent in the bins from that of the CNP on.
            _ if noted.rated_since <= first_cnp => {
                let (axis, rate) = self.rate(at)?;
                let from = axis.index(first_cnp.max(axis.origin_ns))?;
                let after: u64 = rate.iter().skip(from).map(|&bytes| bytes as u64).sum();
                (
                    slot.bytes.saturating_sub(after),
                    axis.start_ns(from as i64).max(noted.rated_since).min(first_cnp),
                )
            }
            _ => return None,
        };
        let since = until.saturating_sub(slot.first_ns);
        (sent > 0 && since > 0).then(|| sent as f64 * 1e9 / since as f64)
    }

    /// The bytes of a flow from the first CNP for it to the end of a bin, where it is known how many there were before.
    pub(super) fn bytes_since(&self, at: usize, first_cnp: i64, bin: usize) -> Option<u64> {
        let (noted, slot) = (self.noted.get(at)?, self.slot_of(at)?);
        let (_, before) = noted.slowed.filter(|&(time, _)| time == first_cnp && noted.rated_since <= time)?;
        let (_, rate) = self.rate(at)?;
        let after: u64 = rate.iter().skip(bin + 1).map(|&bytes| u64::from(bytes)).sum();
        slot.bytes.checked_sub(before + after)
    }

    /// The bytes of a flow by bin, and where the bins lie.
    pub(super) fn rate(&self, at: usize) -> Option<(Axis, &[u32])> {
        Some((self.axis?, self.noted.get(at)?.rate.as_deref()?))
    }

    /// How the rate of each noted flow changed with the CNPs for it; `None` where that does not show.
    pub(super) fn reactions(&self) -> Vec<Option<Reaction>> {
        /// How long a rate is measured before and after a CNP.
        const WINDOW_NS: i64 = 48_000;
        /// Bins behind that of a CNP that are left out: the sender has not heard of it.
        const DEAF: usize = 1;
        let known = || self.noted.iter().map(|noted| noted.reaction).collect();
        let is_fine = |axis: &Axis| axis.width_ns <= COARSEST_NS && !self.are_too_many;
        let Some(axis) = self.axis.filter(is_fine) else { return known() };
        let bins = (WINDOW_NS / axis.width_ns).max(1) as usize;
        let mut ratios = vec![Vec::new(); self.noted.len()];
        for event in self.events.iter().filter(|event| event.what == Happened::Cnp) {
            let Some(slowed) = self.noted[event.noted as usize].slows.map(|at| at as usize) else { continue };
            let Some((_, rate)) = self.rate(slowed) else { continue };
            let Some(bin) = axis.index(event.time) else { continue };
            let sum = |bins: Range<usize>| {
                rate.get(bins).map(|bins| bins.iter().map(|&bytes| bytes as u64).sum::<u64>())
            };
            let (Some(from), after) = (bin.checked_sub(bins), bin + 1 + DEAF) else { continue };
            let (Some(before), Some(after)) = (sum(from..bin), sum(after..after + bins)) else { continue };
            if before > 0 {
                ratios[slowed].push(after as f64 / before as f64);
            }
        }
        let median = |mut ratios: Vec<f64>| {
            ratios.sort_unstable_by(f64::total_cmp);
            let ratio = *ratios.get(ratios.len() / 2)?;
            Some(Reaction { cnps: ratios.len() as u64, ratio })
        };
        ratios.into_iter().map(median).collect()
    }
}
