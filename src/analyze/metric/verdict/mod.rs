//! Why is a connection slow: what did the time of its sender go to?
//!
//! The times between the packets of a flow's requests divide its time: what is short is sending, and each [`Silence`] goes to one
//! cause, by what came in it. A pause goes before anything else, if its priority is that of the flow: it stops the sender, or the
//! acknowledgements that the sender waits for. CNPs cannot be seen in single silences: all of the sender's time after the first one
//! is compared with what it would have needed at its rate before. A full link cannot either: the [incast](super::incast) metric
//! knows the bins in which one was full.
//!
//! The priority of a flow is by the user's map, or by the last one of DCBX. Before DCBX says anything, an eighth of the DSCP stands for
//! it, and what pauses of the other priorities would have taken is kept. A flow for which the map proves the guess wrong gives the time of
//! its pauses back to what it would have gone to without them, and takes that of its priority. Where a map follows another one, silences
//! before it are not judged again: then no pause before it counts.
//!
//! Of READs, the sender of the data is judged in the same way: its silences are those between responses, and each has a part before
//! the READ was asked for, and one after. Where most bytes of a connection are such data, its requests have no verdict.
//!
//! So a flow has one sum for each cause, and they add up to its time. What no rule explains is a sum too.

mod budget;
mod evidence;
mod gap;
mod opposed;
mod rows;
mod stops;

use self::{
    budget::{Early, TimeBudget},
    gap::{Gap, mean_ns},
    stops::Quiet,
};
use super::{DataSilence, Metric, PassingSilence, Placed, QUIET_NS, Silence, per_flow::PerFlow};
use crate::{
    analyze::{
        model::{FlowId, Space, Trigger},
        network::{Network, pause::Stop, priorities::PRIORITIES},
        packet::Facts,
        table::run::RunSum,
    },
    dissect::Encapsulation,
    opcode::{Direction, Operation},
    prefetch,
    report::TimeCause,
};
pub(crate) use rows::SlowFlows;

/// Flows whose silences are counted: about a kilobyte each.
const MAX_BUDGETS: usize = 1 << 16;
/// A silence in the middle of a message that is so many times longer than usual is no pace.
const UNUSUAL: u64 = 8;
/// An answer that takes longer than so many round trips, and than this time, is late.
const LATE_ROUND_TRIPS: i64 = 4;
const LATE_NS: i64 = 20_000;
/// A responder whose data was late less often is not slow.
const MIN_LATE: u32 = 8;
/// Flows that are kept ready for a map of priorities that comes later: about a kilobyte each.
const MAX_UNTOLD: usize = 1 << 12;
const CAUSES: usize = TimeCause::ALL.len();
const NONE: u32 = u32::MAX;

/// The metric. A packet costs an addition; a silence, a few dozen.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub struct Verdicts {
    /// By PSN space: of the requests of flows, and of the READ data that they carry.
    flows: [PerFlow<OfFlow>; 2],
    budgets: Vec<TimeBudget>,
    free: Vec<u32>,
    stops: Vec<Stop>,
    /// What budgets hold beside themselves, of pauses that stopped them.
    stops_bytes: usize,
    not_kept: u64,
    /// Some flows are kept ready for a map of priorities.
    are_untold: bool,
}

#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct OfFlow {
    /// Bytes on the wire of its requests, or of its data.
    bytes: u64,
    /// The place in `budgets`.
    budget: u32,
    early: Early,
}

impl Default for OfFlow {
    fn default() -> OfFlow {
        OfFlow { bytes: 0, budget: NONE, early: Early::default() }
    }
}

impl Verdicts {
    #[inline(always)]
    fn sent(&mut self, flow: FlowId, space: Space, bytes: u64) {
        if let Some(flow) = self.flows[space as usize].entry(flow) {
            flow.bytes += bytes;
        }
    }

    /// Bytes on the wire of a flow's requests, or of its data.
    fn bytes(&self, flow: FlowId, space: Space) -> u64 {
        self.flows[space as usize].get(flow).map_or(0, |flow| flow.bytes)
    }

    /// How long pauses stopped a flow's requests or data: those of the source that did so longest.
    pub(crate) fn stopped_ns(&self, id: FlowId) -> u64 {
        let budgets = self.flows.iter().filter_map(|flows| self.budgets.get(flows.get(id)?.budget as usize));
        budgets.flat_map(|budget| budget.stops.iter()).map(|stopped| stopped.ns).max().unwrap_or(0)
    }

    /// The sums of a flow; `None` if too many flows have some.
    fn budget(&mut self, id: FlowId, space: Space, start: Option<i64>) -> Option<usize> {
        let many = self.budgets.len();
        let flow = self.flows[space as usize].known(id)?;
        if flow.budget == NONE {
            let start = start?;
            let mut new = TimeBudget::new(id, space, start);
            let early = std::mem::take(&mut flow.early);
            if early.start == start || start == i64::MIN {
                early.add_to(&mut new);
            }
            match self.free.pop() {
                Some(at) => (flow.budget, self.budgets[at as usize]) = (at, new),
                None if many < MAX_BUDGETS => {
                    flow.budget = many as u32;
                    self.budgets.push(new);
                }
                None => {
                    self.not_kept += 1;
                    return None;
                }
            }
        }
        let at = flow.budget as usize;
        if let Some(start) = start.filter(|&start| start != self.budgets[at].start) {
            // Its queue pair was given to a new connection.
            self.budgets[at] = TimeBudget::new(id, space, start);
        }
        Some(at)
    }

    /// A CNP slows this flow: its requests, and the data that it carries.
    #[cold]
    #[inline(never)]
    fn notified(&mut self, id: FlowId, now: i64) {
        for space in [Space::Request, Space::Response] {
            let bytes = self.bytes(id, space);
            if space == Space::Response && bytes == 0 {
                continue;
            }
            // Without a silence so far, its beginning is not known here: the first silence tells it.
            let at = self.budget(id, space, None).or_else(|| self.budget(id, space, Some(i64::MIN)));
            let Some(budget) = at.and_then(|at| self.budgets.get_mut(at)) else { continue };
            budget.cnps += 1;
            budget.first_cnp.get_or_insert((now, bytes));
        }
    }

    /// Takes a silence where nothing is paused and nothing was retransmitted, of a flow that has sums and is on its path. Nearly all are
    /// such. Returns whether it is.
    #[inline]
    fn take_alone(&mut self, gap: &Gap, network: &Network) -> bool {
        let flow = self.flows[gap.space() as usize].get(gap.flow);
        let budget = flow.and_then(|flow| self.budgets.get_mut(flow.budget as usize));
        let Some(budget) = budget.filter(|budget| budget.start == gap.start && budget.tag == gap.tag) else {
            return false;
        };
        if gap.again.is_some() || budget.place != (gap.interface, network.priorities.of(gap.tag)) {
            return false;
        }
        let parts = gap.parts(&mut budget.pace, budget.first_cnp.is_some());
        budget.add_left(gap, parts, parts.map(|part| part.to.saturating_sub(part.from)));
        true
    }

    /// Whether a pause stopped the flow in this silence.
    fn was_stopped(&mut self, gap: &Gap, network: &Network) -> bool {
        let place = (gap.interface, network.priorities.of(gap.tag));
        network.stops_within(gap.flow, place, (gap.from, gap.to), &mut self.stops);
        let quiet = Quiet::from(gap);
        self.stops.iter().any(|stop| quiet.is_of(stop))
    }

    fn take(&mut self, gap: &Gap, network: &Network) {
        let (id, space) = (gap.flow, gap.space());
        let pauses = &network.pauses;
        let stops_any = pauses.stop_any();
        if gap.is_pace && gap.again.is_none() && !self.was_stopped(gap, network) {
            return;
        }
        let flow = self.flows[space as usize].entry(id);
        if !stops_any
            && let Some(flow) = flow
            && flow.budget == NONE
            && flow.early.take(gap)
        {
            return;
        }
        if !stops_any && self.take_alone(gap, network) {
            return;
        }
        let early = self.budget(id, space, None).filter(|&at| self.budgets[at].start == i64::MIN);
        if let Some(at) = early {
            self.budgets[at].start = gap.start;
        }
        let Some(at) = self.budget(id, space, Some(gap.start)) else { return };
        let place = (gap.interface, network.priorities.of(gap.tag));
        let is_by = network.priorities.of(self.budgets[at].tag);
        let budget = &mut self.budgets[at];
        let was = std::mem::replace(&mut budget.tag, gap.tag);
        if budget.place != place {
            // Not the flow has changed, but the map.
            if was != 0 && is_by != budget.place.1 {
                budget.change_priority(place.1);
            }
            budget.place = place;
            budget.asked_before = if stops_any { network.asked_ns(id, place, gap.start) } else { 0 };
        }
        let done = |until| network.passages.done(id, gap.interface, until);
        match gap.again {
            Some(Trigger::Timeout) if gap.lasted() > QUIET_NS => budget.timeouts += 1,
            Some(Trigger::Nak | Trigger::ImpliedNak) if gap.lasted() > QUIET_NS => budget.naks += 1,
            _ => {}
        }
        let held = budget.stops.heap_bytes();
        if gap.is_open {
            network.stops_within(gap.flow, place, (gap.from, gap.to), &mut self.stops);
            let longest = budget.longest.iter().map(|&(ns, _)| ns).max().unwrap_or(0);
            let longest = i64::try_from(longest.saturating_mul(2)).unwrap_or(i64::MAX);
            let usual = longest.max(gap.mean_ns().saturating_mul(UNUSUAL as i64));
            let quiet = Quiet { open: Some(usual), ..Quiet::from(gap) };
            if budget.stops.take_quiet(&quiet, &self.stops, &done) {
                budget.held_until = Some(gap.to);
            }
            self.stops_bytes += budget.stops.heap_bytes() - held;
            return;
        }
        let parts = gap.parts(&mut budget.pace, budget.first_cnp.is_some());
        // Until DCBX says which priority a flow has, it may be any that is paused.
        if stops_any && at < MAX_UNTOLD && network.priorities.map().is_none() {
            self.are_untold = true;
            for priority in (0..PRIORITIES as u8).filter(|&priority| priority != place.1) {
                if pauses.are_of(gap.interface, priority) {
                    network.stops_within(id, (gap.interface, priority), (gap.from, gap.to), &mut self.stops);
                    budget.note_other(priority, gap, &parts, &self.stops, &done);
                }
            }
        }
        if stops_any {
            network.stops_within(gap.flow, place, (gap.from, gap.to), &mut self.stops);
        }
        let stops = &self.stops[..if stops_any { self.stops.len() } else { 0 }];
        let mut elsewhere = Vec::new();
        if stops_any && stops.is_empty() && gap.lasted() > QUIET_NS {
            network.add_stops_elsewhere(id, gap.from, gap.to, &mut elsewhere);
            // Those of several links may overlap: the link that was paused longest.
            let longest =
                elsewhere.iter().map(|stop| stop.source).max_by_key(|&source| sum(&elsewhere, source));
            elsewhere.retain(|stop| Some(stop.source) == longest);
        }
        budget.divide(gap, parts, (stops, &elsewhere), &done);
        // Of READs, the requests tell of their timeouts.
        if stops_any && space == Space::Request {
            let mut paused = Vec::new();
            if gap.again == Some(Trigger::Timeout) && gap.lasted() > QUIET_NS {
                network.add_stops_elsewhere(id, gap.from, gap.to, &mut self.stops);
                // A timer that ran for a shorter time in the pause than out of it would have expired anyway.
                paused = self.stops.iter().map(|stop| stop.source).collect();
                paused.sort_unstable();
                paused.dedup();
                paused.retain(|&source| sum(&self.stops, source) * 2 > gap.lasted());
            }
            budget.stops.retransmission(gap, paused);
        }
        self.stops_bytes += budget.stops.heap_bytes().saturating_sub(held);
    }

    /// A silence on another link than that where the flow is seen first.
    fn take_elsewhere(&mut self, silence: &PassingSilence, network: &Network) {
        let &PassingSilence { flow: id, space, start_ns, from_ns, to_ns, is_within, messages, begun, .. } =
            silence;
        let place = (silence.interface, network.priorities.of(silence.path_tag));
        network.stops_within(id, place, (from_ns, to_ns), &mut self.stops);
        if self.stops.is_empty() {
            return;
        }
        // Without a silence so far where it is seen first, its beginning is not known here: the first silence tells it.
        let at = self.budget(id, space, None).or_else(|| self.budget(id, space, Some(i64::MIN)));
        let Some(budget) = at.and_then(|at| self.budgets.get_mut(at)) else { return };
        let mean = || mean_ns(start_ns, from_ns, silence.packets);
        let open = silence.is_open.then(|| mean().saturating_mul(UNUSUAL as i64));
        let held = budget.stops.heap_bytes();
        let quiet = Quiet { start: start_ns, from: from_ns, is_within, messages, begun, open };
        let done = |until| network.passages.done(id, silence.interface, until);
        budget.stops.take_quiet(&quiet, &self.stops, &done);
        self.stops_bytes += budget.stops.heap_bytes() - held;
    }
}

/// How long the pauses of one source lasted.
fn sum(stops: &[Stop], source: u8) -> i64 {
    stops.iter().filter(|stop| stop.source == source).map(|stop| stop.to - stop.from).sum()
}

impl Metric for Verdicts {
    #[inline(always)]
    fn on_packet(&mut self, packet: &Facts, place: &Placed) {
        if place.is_capture_duplicate() {
            return;
        }
        if !place.is_control {
            // What has no PSN space of data is neither: the answer to an atomic.
            let is_of = |space| match space {
                Direction::Request => true,
                Direction::Response => packet.opcode().operation() == Some(Operation::ReadResponse),
            };
            if let (Some(flow), Some(space)) = (place.flow, place.space.filter(|&space| is_of(space))) {
                self.sent(flow, space, packet.l1_bytes() as u64);
            }
        } else if packet.becn()
            && let Some(slowed) = place.peer
            && (packet.opcode().is_cnp()
                || matches!(packet.encapsulation(), Encapsulation::Ib | Encapsulation::IbGrh))
        {
            self.notified(slowed, packet.time());
        }
    }

    fn on_run(&mut self, run: &RunSum) {
        self.sent(run.flow, run.space, run.l1_bytes);
    }

    fn on_silence(&mut self, silence: &Silence, network: &Network) {
        self.take(&Gap::from(silence), network);
    }

    /// Where there are many flows, their sums are in no cache.
    fn on_silences(&mut self, silences: &[Silence], network: &Network) {
        const AHEAD: usize = 8;
        const MANY: FlowId = FlowId(1 << 10);
        if self.flows[Space::Request as usize].get(MANY).is_none() {
            return silences.iter().for_each(|silence| self.take(&Gap::from(silence), network));
        }
        let flows = &self.flows[Space::Request as usize];
        let known = |at: usize| silences.get(at).and_then(|silence| flows.get(silence.flow));
        (0..2 * AHEAD).filter_map(known).for_each(prefetch::line);
        for (n, silence) in silences.iter().enumerate() {
            let flows = &self.flows[Space::Request as usize];
            let known = |at: usize| silences.get(at).and_then(|silence| flows.get(silence.flow));
            known(n + 2 * AHEAD).into_iter().for_each(prefetch::line);
            let budget = known(n + AHEAD).and_then(|flow| self.budgets.get(flow.budget as usize));
            budget.into_iter().for_each(prefetch::lines);
            self.take(&Gap::from(silence), network);
        }
    }

    fn on_data_silence(&mut self, silence: &DataSilence, network: &Network) {
        self.take(&Gap::from(silence), network);
    }

    #[inline(always)]
    fn prefetch(&self, flow: FlowId) {
        self.flows.iter().filter_map(|flows| flows.get(flow)).for_each(prefetch::line);
    }

    /// A packet that is in no run often ends a silence.
    #[inline(always)]
    fn prefetch_beyond(&self, flow: FlowId) {
        let of_flow = self.flows[Space::Request as usize].get(flow);
        let budget = of_flow.and_then(|flow| self.budgets.get(flow.budget as usize));
        budget.into_iter().for_each(prefetch::lines);
    }

    fn on_passing_silence(&mut self, silence: &PassingSilence, network: &Network) {
        self.take_elsewhere(silence, network);
    }

    fn on_retire(&mut self, flow: FlowId) {
        for flows in &mut self.flows {
            let old = flows.retire(flow).filter(|old| old.budget != NONE);
            self.free.extend(old.map(|old| old.budget));
        }
    }

    fn heap_bytes(&self) -> usize {
        // What waits for a map of priorities is about as large again.
        let waiting = if self.are_untold { self.budgets.len().min(MAX_UNTOLD) } else { 0 };
        (waiting + self.budgets.capacity()) * size_of::<TimeBudget>() + self.stops_bytes
    }
}
