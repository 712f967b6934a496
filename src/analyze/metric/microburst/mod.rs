//! Microbursts: times of a millisecond at most in which a receiver's link is busy, in a second in which it is not.
//!
//! The bytes to each receiver are summed in cells of a microsecond: those of a packet over the time since the packet before it, or, of the
//! first one of a train, in the cell before. Three windows slide over the cells: of 10 µs, 100 µs and 1 ms. A burst begins when the rate
//! over 10 µs reaches half of the link's speed, and ends when it falls below; that a link is busy from one half on is the usual definition
//! (Zhang et al., High-resolution measurement of data center microbursts, IMC 2017). It is a microburst if it lasts for a millisecond at
//! most, and the mean of its second is below a quarter of the link's speed.
//!
//! Packets of runs count one by one: the tracker tells of each packet by [`Microbursts::pass`], so no run ends for it. Without a speed
//! there are no bursts, and no windows, which would cost a seventh of an analysis: then the sums of runs are all that is counted.

mod burst;
mod receiver;
mod rows;
mod windows;

use super::{numbers::Numbers, per_flow::PerFlow};
use crate::{
    analyze::{
        metric::Placed,
        model::{Class, FlowId},
        packet::Facts,
        table::run::RunSum,
    },
    heap::heap,
    prefetch,
    report::BurstEffect,
    wire::{Ecn, Syndrome},
};
use burst::{Cell, Found};
use receiver::Receiver;

/// The length of a cell, in nanoseconds.
const CELL_NS: i64 = 1_000;
/// Windows, in cells.
const WINDOWS: [u32; 3] = [10, 100, 1_000];
/// The shortest one.
const SHORTEST_NS: i64 = WINDOWS[0] as i64 * CELL_NS;
/// A burst that lasts longer is no microburst.
const LONGEST_NS: i64 = 1_000_000;
/// What comes so soon after a burst may be due to it.
const FOLLOW_NS: i64 = 100_000;
/// Bytes are spread over the time since the packet before, if that is so short.
const SPREAD_NS: i64 = 2_500;
/// Cells that they are in, at most.
const MOST_CELLS: i64 = SPREAD_NS / CELL_NS + 2;
/// Receivers that are looked at: 8 KB each.
const MAX_RECEIVERS: usize = 1 << 12;
/// The last packets of all flows: whoever began a burst is among them.
const RECENT: usize = 1 << 11;
/// Flows of a burst that are told apart.
const MAX_FLOWS: usize = 1 << 12;
const NONE: u32 = u32::MAX;

/// The metric. It belongs to the tracker, not to the list of metrics: it needs each packet.
#[derive(Clone, Debug, crate::stored::Stored)]
pub(crate) struct Microbursts {
    /// The speed of all links, where they have one.
    speed_bps: Option<u64>,
    /// Half of the links' speed, in bytes in 10 µs; `u64::MAX` where the speed is not known.
    busy: u64,
    numbers: Numbers,
    receivers: Vec<Receiver>,
    senders: Senders,
    found: Found,
    first_ns: i64,
    last_ns: i64,
    are_too_many: bool,
}

heap! { Microbursts { receivers, numbers, found } }

/// Who sends to receivers, and which of them have bursts.
#[derive(Clone, Debug, crate::stored::Stored)]
struct Senders {
    flows: PerFlow<OfFlow>,
    recent: Vec<Passed>,
    passed: usize,
    /// Bursts so far: each has a number.
    bursts: u32,
    /// Receivers with a burst that goes on, or has just ended.
    lately: Vec<u32>,
}

/// What is kept of a flow.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct OfFlow {
    /// Its source and destination, by their numbers.
    sender: u32,
    receiver: u32,
    /// The last burst it took part in, and with how many bytes.
    burst: u32,
    bytes: u32,
}

impl Default for OfFlow {
    fn default() -> OfFlow {
        OfFlow { sender: NONE, receiver: NONE, burst: 0, bytes: 0 }
    }
}

#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct Passed {
    time: i64,
    flow: FlowId,
    /// Bytes on the wire, less than 2^24, and above them what the packet shows: bits by [`BurstEffect`], and the highest one if that
    /// is about its receiver.
    bytes: u32,
}

const EFFECTS_AT: u32 = 24;

impl Passed {
    fn shows(&self, effect: BurstEffect) -> bool {
        self.bytes >> EFFECTS_AT >> effect as u32 & 1 == 1
    }

    /// Whether that is about its receiver; else it is about its sender.
    fn is_to_it(&self) -> bool {
        self.bytes >> 31 == 1
    }
}

impl Microbursts {
    /// With the speed of all links in bit/s, where it is known.
    pub(crate) fn new(speed_bps: Option<u64>) -> Microbursts {
        let nothing = Passed { time: i64::MIN, flow: FlowId(NONE), bytes: 0 };
        let mut new = Microbursts {
            speed_bps: None,
            busy: u64::MAX,
            numbers: Numbers::new(MAX_RECEIVERS),
            receivers: Vec::new(),
            senders: Senders {
                flows: PerFlow::default(),
                recent: vec![nothing; RECENT],
                passed: 0,
                bursts: 0,
                lately: Vec::new(),
            },
            found: Found::default(),
            first_ns: i64::MAX,
            last_ns: i64::MIN,
            are_too_many: false,
        };
        new.set_speed(speed_bps);
        new
    }

    /// The speed of all links in bit/s, where they have one: from now on. All runs are over.
    pub(crate) fn set_speed(&mut self, speed_bps: Option<u64>) {
        let in_window = |bps: u64| (bps as u128 * SHORTEST_NS as u128 / 16_000_000_000) as u64;
        self.speed_bps = speed_bps;
        self.busy = speed_bps.map_or(u64::MAX, |bps| in_window(bps).max(1));
    }

    /// Whether there may be bursts.
    #[inline(always)]
    fn has_speed(&self) -> bool {
        self.busy != u64::MAX
    }

    /// A packet of a run passes, as many bytes as it takes on the wire.
    #[inline(always)]
    pub(crate) fn pass(&mut self, flow: FlowId, time: i64, bytes: u32) {
        if self.has_speed() {
            self.take(flow, time, bytes);
        }
    }

    /// A run is over.
    pub(crate) fn on_run(&mut self, run: &RunSum) {
        if !self.has_speed() {
            self.count(run.flow, run.last_ns, run.l1_bytes);
        }
    }

    /// So many bytes passed up to a time, while the speed was not known.
    #[inline]
    fn count(&mut self, flow: FlowId, time: i64, bytes: u64) {
        let at = self.senders.flows.get(flow).map_or(NONE, |of_flow| of_flow.receiver);
        if let Some(receiver) = self.receivers.get_mut(at as usize) {
            receiver.count(time, bytes);
        }
    }

    #[inline(always)]
    fn take(&mut self, flow: FlowId, time: i64, bytes: u32) {
        let Some(at) = self.senders.flows.get(flow).map(|of_flow| of_flow.receiver) else { return };
        let Some(receiver) = self.receivers.get_mut(at as usize) else { return };
        self.senders.pass(Passed { time, flow, bytes });
        // In the cell at hand, and no burst goes on.
        if time.wrapping_sub(receiver.start) as u64 >= receiver.cell_ns {
            return self.enter_cell(flow, at, time, bytes);
        }
        receiver.bytes = receiver.bytes.saturating_add(bytes);
        receiver.last = time;
    }

    /// A packet that is not in a run: it may be of a new flow, and may show what a burst did.
    #[inline(always)]
    pub(crate) fn on_packet(&mut self, packet: &Facts, place: &Placed) {
        let Some(flow) = place.flow.filter(|_| !place.is_capture_duplicate()) else {
            return self.again(packet, place);
        };
        if self.senders.flows.get(flow).is_none_or(|flow| flow.receiver == NONE) {
            self.begin(flow, packet);
        }
        if !self.has_speed() {
            return self.count(flow, packet.time(), packet.l1_bytes().into());
        }
        self.take(flow, packet.time(), packet.l1_bytes());
        // Most control packets are acknowledgements.
        let is_notice =
            || packet.opcode().is_cnp() || packet.syndrome() == Some(Syndrome::PSN_SEQUENCE_ERROR);
        let is_loss = place.class == Some(Class::Retransmission);
        if is_loss || packet.mark() == Ecn::CE || place.is_control && is_notice() {
            self.shows(flow, packet, is_loss);
        }
    }

    /// A packet without a flow, or one that was recorded before: a switch may have marked it meanwhile.
    #[cold]
    #[inline(never)]
    fn again(&mut self, packet: &Facts, place: &Placed) {
        if let Some(flow) = place.flow.filter(|_| place.is_marked_later) {
            self.shows(flow, packet, false);
        }
    }

    #[cold]
    #[inline(never)]
    fn begin(&mut self, flow: FlowId, packet: &Facts) {
        let (Some(src), Some(dst)) = (packet.source(), packet.destination()) else { return };
        if self.senders.flows.entry(flow).is_none() {
            return;
        }
        let [sender, receiver] = [src, dst].map(|address| self.numbers.of(address).unwrap_or(NONE));
        self.are_too_many |= receiver == NONE;
        let time = packet.time();
        if self.first_ns == i64::MAX {
            self.first_ns = time;
        }
        while self.receivers.len() < self.numbers.len() {
            self.receivers.push(Receiver::new(time, self.first_ns));
        }
        if let Some(of_flow) = self.senders.flows.known(flow) {
            *of_flow = OfFlow { sender, receiver, ..OfFlow::default() };
        }
    }

    /// A packet outside of its receiver's cell, or while the receiver has a burst.
    #[inline(never)]
    fn enter_cell(&mut self, flow: FlowId, at: u32, time: i64, bytes: u32) {
        self.last_ns = self.last_ns.max(time);
        let senders = &mut self.senders;
        let Some(receiver) = self.receivers.get_mut(at as usize) else { return };
        let (busy, since) = (self.busy, time.saturating_sub(receiver.last));
        let rest = match receiver.next_cell(time) {
            Some(cell) => receiver.leave_cells(cell, since, bytes, busy, |receiver, cell| {
                senders.step(at, receiver, cell, busy)
            }),
            // A clock that was set back a little.
            None => bytes,
        };
        if since >= SHORTEST_NS && receiver.burst.is_some() {
            senders.end(receiver);
        }
        receiver.bytes = receiver.bytes.saturating_add(rest);
        receiver.last = time;
        let burst = receiver.burst.as_mut().map(|burst| (burst.number, &mut burst.flows));
        if let Some((number, flows)) = burst {
            take_part(&mut senders.flows, flows, number, flow, bytes);
        }
        if !receiver.is_in_second(time) {
            self.begin_second(at, time);
        }
    }

    /// The last packet shows what may have come of a burst: a mark, a packet retransmitted, a CNP or a NAK. It is one to its receiver, or,
    /// of what a receiver sends, to its sender.
    #[cold]
    #[inline(never)]
    fn shows(&mut self, flow: FlowId, packet: &Facts, is_loss: bool) {
        let (effect, is_to_it) = match () {
            () if packet.opcode().is_cnp() => (BurstEffect::Cnp, false),
            () if packet.mark() == Ecn::CE => (BurstEffect::Mark, true),
            () => (BurstEffect::Loss, is_loss),
        };
        let Senders { flows, recent, passed, .. } = &mut self.senders;
        let Some(&of_flow) = flows.get(flow) else { return };
        let last = recent.get_mut(passed.wrapping_sub(1) % RECENT);
        if let Some(last) = last.filter(|last| last.flow == flow) {
            last.bytes |= (1 << (effect as u32) << EFFECTS_AT) | ((is_to_it as u32) << 31);
        }
        let receiver = if is_to_it { of_flow.receiver } else { of_flow.sender };
        if let Some(burst) = self.receivers.get_mut(receiver as usize).and_then(Receiver::last_burst) {
            burst.follows(packet.time(), effect);
        }
    }

    /// A frame asks for a pause: it may be due to the burst of any receiver.
    #[cold]
    pub(crate) fn on_pause(&mut self, time: i64) {
        let Microbursts { senders, receivers, .. } = self;
        for &at in &senders.lately {
            if let Some(burst) = receivers.get_mut(at as usize).and_then(Receiver::last_burst) {
                burst.follows(time, BurstEffect::Pause);
            }
        }
    }

    /// A packet of this flow comes soon.
    #[inline(always)]
    pub(crate) fn prefetch(&self, flow: FlowId) {
        self.senders.flows.get(flow).into_iter().for_each(prefetch::line);
    }

    /// A flow's number will be another's.
    pub(crate) fn on_retire(&mut self, flow: FlowId) {
        self.senders.flows.retire(flow);
    }
}

/// A flow sends in a burst.
#[inline]
fn take_part(flows: &mut PerFlow<OfFlow>, all: &mut Vec<FlowId>, burst: u32, id: FlowId, bytes: u32) {
    let Some(flow) = flows.known(id) else { return };
    if std::mem::replace(&mut flow.burst, burst) != burst {
        flow.bytes = 0;
        if all.len() < MAX_FLOWS {
            all.push(id);
        }
    }
    flow.bytes = flow.bytes.saturating_add(bytes);
}

/// Bursts of receivers: their begin and end.
impl Senders {
    /// One of the last packets of all.
    #[inline(always)]
    fn pass(&mut self, packet: Passed) {
        if let Some(place) = self.recent.get_mut(self.passed % RECENT) {
            *place = packet;
            self.passed = self.passed.wrapping_add(1);
        }
    }

    /// A cell of a receiver is over, and in its windows. It is busy, as from so many bytes on, or a burst goes on.
    #[cold]
    #[inline(never)]
    fn step(&mut self, at: u32, receiver: &mut Receiver, cell: Cell, busy: u64) {
        let is_busy = cell.sums[0] >= busy;
        // So many bytes make a cell busy.
        let full = busy / WINDOWS[0] as u64;
        if let Some(burst) = receiver.burst.as_mut() {
            burst.add(cell, full, is_busy);
            if burst.is_long() {
                // The flows of a microburst are of interest, those of a long burst are in the list of flows.
                burst.flows = Vec::new();
                receiver.cell_ns = CELL_NS as u64;
            }
            if !is_busy {
                self.end(receiver);
            }
            return;
        }
        self.bursts = self.bursts.wrapping_add(1).max(1);
        let mut burst = receiver.new_burst(self.bursts, cell.sums, full);
        let since = burst.start_ns;
        // The packets that began it are among the last ones.
        let last = self.passed.wrapping_sub(1);
        for back in (0..RECENT).rev() {
            let Some(passed) = self.recent.get(last.wrapping_sub(back) % RECENT) else { continue };
            // The last one is not counted yet.
            if back == 0 || passed.time < since {
                continue;
            }
            let Some(&OfFlow { sender, receiver, .. }) = self.flows.get(passed.flow) else { continue };
            if receiver == at {
                burst.began_at(passed.time);
                let bytes = passed.bytes & ((1 << EFFECTS_AT) - 1);
                take_part(&mut self.flows, &mut burst.flows, self.bursts, passed.flow, bytes);
            }
            if at == if passed.is_to_it() { receiver } else { sender } {
                for effect in [BurstEffect::Mark, BurstEffect::Cnp, BurstEffect::Loss] {
                    burst.effects[effect as usize] += passed.shows(effect) as u64;
                }
            }
        }
        receiver.burst = Some(burst);
        receiver.cell_ns = 0;
        if !self.lately.contains(&at) {
            self.lately.push(at);
        }
        // The burst before it is over, and nothing can follow it any more.
        receiver.keep_ended();
    }

    /// The burst of a receiver is over.
    fn end(&mut self, receiver: &mut Receiver) {
        receiver.cell_ns = CELL_NS as u64;
        let Some(mut burst) = receiver.burst.take() else { return };
        receiver.busy_until = Some(burst.last);
        burst.name(&self.flows);
        receiver.ended = Some(burst);
    }
}

/// Seconds of receivers: bursts are judged by their means.
impl Microbursts {
    /// A second of a receiver is over.
    #[cold]
    #[inline(never)]
    fn begin_second(&mut self, at: u32, time: i64) {
        if let Some(receiver) = self.receivers.get_mut(at as usize) {
            receiver.keep_ended();
        }
        self.judge(at);
        if let Some(receiver) = self.receivers.get_mut(at as usize) {
            receiver.begin_second(time);
        }
        let receivers = &self.receivers;
        self.senders.lately.retain(|&at| receivers.get(at as usize).is_some_and(Receiver::has_burst));
    }

    fn judge(&mut self, at: u32) {
        let Some(receiver) = self.receivers.get_mut(at as usize) else { return };
        let mean = receiver.mean_bps(self.first_ns, self.last_ns);
        let pending = std::mem::take(&mut receiver.pending);
        let speed = self.speed_bps.unwrap_or(0);
        let found = &mut self.found;
        receiver.bursts += found.take(pending, at, mean, speed);
    }

    /// No more packets come.
    fn finish(&mut self) {
        let (busy, senders) = (self.busy, &mut self.senders);
        for (at, receiver) in (0..).zip(&mut self.receivers) {
            if let Some(cell) = receiver.end_cell(receiver.behind(1), 0, busy) {
                senders.step(at, receiver, cell, busy);
            }
            receiver.keep_ended();
            senders.end(receiver);
            receiver.keep_ended();
        }
        (0..self.receivers.len() as u32).for_each(|at| self.judge(at));
    }
}
