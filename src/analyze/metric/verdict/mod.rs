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

mod gap;
mod rows;
mod spent;

use std::ops::Range;

use self::{
    gap::Gap,
    spent::{Early, Spent},
};
use super::{
    Context, DataSilence, Metric, Placed, QUIET_NS, Silence,
    dcbx::Dcbx,
    incast::Incast,
    pause::{Pause, Stop},
    per_flow::PerFlow,
};
use crate::{
    analyze::{
        model::{Event, FlowId, QosMap, Space, Trigger},
        packet::{Facts, path_tag},
        table::run::RunSum,
    },
    dissect::Encapsulation,
    opcode::{Direction, Operation},
    report::{self, TimeCause},
    wire::Kind,
};

/// Flows whose silences are counted: about a kilobyte each.
const MAX_SPENT: usize = 1 << 16;
/// A sender that goes on so soon after a pause had waited for its end.
const HELD_NS: i64 = 5_000;
/// A silence in the middle of a message that is so many times longer than usual is no pace.
const UNUSUAL: u64 = 8;
/// An answer that takes longer than so many round trips, and than this time, is late.
const LATE_ROUND_TRIPS: i64 = 4;
const LATE_NS: i64 = 20_000;
/// A responder whose data was late less often is not slow.
const MIN_LATE: u32 = 8;
/// Flows that are kept ready for a map of priorities that comes later: about a kilobyte each.
const MAX_UNTOLD: usize = 1 << 12;
/// Senders of pauses that are kept for each flow.
const STOPS: usize = 4;
const PRIORITIES: usize = 8;
const CAUSES: usize = TimeCause::ALL.len();
const NONE: u32 = u32::MAX;

/// The metric. It has the metrics of pauses and of full links, and reports what they do to flows. A packet costs an addition; a
/// silence, a few dozen.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Verdicts {
    pause: Pause,
    incast: Incast,
    /// The priority by DSCP and PCP, each with one more for none; 8: not known.
    #[serde(with = "crate::stored::array")]
    priorities: Box<[[u8; 9]; 65]>,
    /// What the ports say, and the map of it, where the user gives none.
    dcbx: Option<(Dcbx, Option<QosMap>)>,
    /// By PSN space: of the requests of flows, and of the READ data that they carry.
    flows: [PerFlow<OfFlow>; 2],
    #[serde(with = "crate::stored::roomy")]
    spent: Vec<Spent>,
    free: Vec<u32>,
    /// What pauses did, by the number of who asked for them.
    effects: Vec<Effect>,
    stops: Vec<Stop>,
    not_kept: u64,
}

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct OfFlow {
    /// Bytes on the wire of its requests, or of its data.
    bytes: u64,
    /// The place in `spent`.
    spent: u32,
    early: Early,
}

impl Default for OfFlow {
    fn default() -> OfFlow {
        OfFlow { bytes: 0, spent: NONE, early: Early::default() }
    }
}

/// What one sender's pauses of one priority did.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Effect {
    messages: u64,
    spanning: u64,
    timeouts: u64,
    resent: u64,
}

/// The priority by DSCP and PCP, each with one more for none; 8: not known.
fn priorities(map: &QosMap) -> Box<[[u8; 9]; 65]> {
    let mut priorities = Box::new([[8; 9]; 65]);
    for (dscp, row) in (0..).zip(priorities.iter_mut()) {
        for (pcp, priority) in (0..).zip(row) {
            let known = map.priority(Some(dscp).filter(|&n| n < 64), Some(pcp).filter(|&n| n < 8));
            *priority = known.unwrap_or(8);
        }
    }
    priorities
}

/// The priority of packets with this path tag; 8: not known.
fn priority(priorities: &[[u8; 9]; 65], tag: u64) -> u8 {
    let dscp = path_tag::dscp(tag).map_or(64, usize::from);
    let pcp = path_tag::pcp(tag).map_or(8, usize::from);
    priorities.get(dscp).and_then(|row| row.get(pcp)).copied().unwrap_or(8)
}

impl Verdicts {
    /// With what tells of pauses and of full links, and the map of priorities.
    pub(crate) fn new(pause: Pause, incast: Incast, map: Option<&QosMap>) -> Verdicts {
        Verdicts {
            pause,
            incast,
            priorities: priorities(map.unwrap_or(&QosMap::default())),
            dcbx: map.is_none().then(Default::default),
            flows: Default::default(),
            spent: Vec::new(),
            free: Vec::new(),
            effects: Vec::new(),
            stops: Vec::new(),
            not_kept: 0,
        }
    }

    fn priority(&self, tag: u64) -> u8 {
        priority(&self.priorities, tag)
    }

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

    /// The sums of a flow; `None` if too many flows have some.
    fn spent(&mut self, id: FlowId, space: Space, start: Option<i64>) -> Option<usize> {
        let many = self.spent.len();
        let flow = self.flows[space as usize].known(id)?;
        if flow.spent == NONE {
            let mut new = Spent::new(id, space, start?);
            std::mem::take(&mut flow.early).add_to(&mut new);
            match self.free.pop() {
                Some(at) => (flow.spent, self.spent[at as usize]) = (at, new),
                None if many < MAX_SPENT => {
                    flow.spent = many as u32;
                    self.spent.push(new);
                }
                None => {
                    self.not_kept += 1;
                    return None;
                }
            }
        }
        let at = flow.spent as usize;
        if let Some(start) = start.filter(|&start| start != self.spent[at].start) {
            // Its queue pair was given to a new connection.
            self.spent[at] = Spent::new(id, space, start);
        }
        Some(at)
    }

    /// LLDP: perhaps with a map of priorities.
    #[cold]
    #[inline(never)]
    fn hear(&mut self, event: &Event<'_>) {
        let Some((dcbx, known)) = &mut self.dcbx else { return };
        dcbx.on_frame(event);
        let map = dcbx.map();
        if *known != map {
            self.priorities = priorities(map.as_ref().unwrap_or(&QosMap::default()));
            *known = map;
        }
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
            let at = self.spent(id, space, None).or_else(|| self.spent(id, space, Some(i64::MIN)));
            let Some(spent) = at.and_then(|at| self.spent.get_mut(at)) else { continue };
            spent.cnps += 1;
            spent.first_cnp.get_or_insert((now, bytes));
        }
    }

    fn take(&mut self, gap: &Gap) {
        let (id, space) = (gap.flow, gap.space());
        let stops_any = self.pause.stops_any();
        let flow = self.flows[space as usize].entry(id);
        if !stops_any
            && let Some(flow) = flow
            && flow.spent == NONE
            && flow.early.take(gap)
        {
            return;
        }
        let early = self.spent(id, space, None).filter(|&at| self.spent[at].start == i64::MIN);
        if let Some(at) = early {
            self.spent[at].start = gap.start;
        }
        let Some(at) = self.spent(id, space, Some(gap.start)) else { return };
        let place = (gap.interface, self.priority(gap.tag));
        let is_by = self.priority(self.spent[at].tag);
        let spent = &mut self.spent[at];
        let was = std::mem::replace(&mut spent.tag, gap.tag);
        if spent.place != place {
            // Not the flow has changed, but the map.
            if was != 0 && is_by != spent.place.1 {
                spent.change_priority(place.1);
            }
            spent.place = place;
            spent.asked_before = if stops_any { self.pause.asked_ns(place, gap.start) } else { 0 };
        }
        match gap.again {
            Some(Trigger::Timeout) if gap.lasted() > QUIET_NS => spent.timeouts += 1,
            Some(Trigger::Nak | Trigger::ImpliedNak) if gap.lasted() > QUIET_NS => spent.naks += 1,
            _ => {}
        }
        spent.resent += gap.again.is_some() as u32;
        let parts = gap.parts(spent);
        // Until DCBX says which priority a flow has, it may be any that is paused.
        if stops_any && at < MAX_UNTOLD && matches!(self.dcbx, Some((_, None))) {
            for priority in (0..PRIORITIES as u8).filter(|&priority| priority != place.1) {
                if self.pause.stops(gap.interface, priority) {
                    self.pause.within((gap.interface, priority), gap.from, gap.to, &mut self.stops);
                    spent.note_other(priority, gap, &parts, &self.stops);
                }
            }
        }
        if stops_any {
            self.pause.within(place, gap.from, gap.to, &mut self.stops);
        }
        let stops = &self.stops[..if stops_any { self.stops.len() } else { 0 }];
        spent.divide(gap, parts, stops);
        let Some(longest) = stops.iter().max_by_key(|stop| stop.to.saturating_sub(stop.from)) else {
            spent.resent_after(gap, &mut self.effects);
            return;
        };
        let by = longest.asker;
        if self.effects.len() <= by as usize {
            self.effects.resize(by as usize + 1, Effect::default());
        }
        let paused = stops.iter().fold(0, |sum, stop| sum + (stop.to - stop.from));
        let effect = &mut self.effects[by as usize];
        // Each pause counts once, with the silence in which it ended.
        if stops.iter().any(|stop| stop.is_over) {
            effect.messages += !gap.begins as u64;
            effect.spanning += gap.messages as u64;
        }
        // Of READs, the requests tell of their timeouts.
        if space == Space::Response {
            return;
        }
        // A timer that ran for a shorter time in the pause than out of it would have expired anyway.
        if gap.again == Some(Trigger::Timeout) && gap.lasted() > QUIET_NS && paused * 2 > gap.lasted() {
            effect.timeouts += 1;
            effect.resent += 1;
            spent.timed_out_in = Some(by);
        } else {
            spent.resent_after(gap, &mut self.effects);
        }
    }
}

impl Metric for Verdicts {
    #[inline(always)]
    fn on_packet(&mut self, packet: &Facts, place: &Placed) {
        self.incast.on_packet(packet, place);
        let priorities = &self.priorities;
        self.pause.look_at(packet, place.frame, || priority(priorities, packet.path_tag()));
        let is_new = !place.is_capture_duplicate();
        if place.is_mark(packet) || is_new && packet.opcode().is_cnp() {
            self.pause.congested(packet.time());
        }
        if !is_new {
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
        self.incast.on_run(run);
        self.sent(run.flow, run.space, run.l1_bytes);
    }

    #[inline]
    fn on_frame(&mut self, event: &Event<'_>) {
        self.pause.on_frame(event);
        if event.packet.has(Kind::Lldp) {
            self.hear(event);
        }
    }

    fn on_silence(&mut self, silence: &Silence) {
        self.take(&Gap::from(silence));
    }

    fn on_data_silence(&mut self, silence: &DataSilence) {
        self.take(&Gap::from(silence));
    }

    fn on_retire(&mut self, flow: FlowId) {
        self.incast.on_retire(flow);
        for flows in &mut self.flows {
            let old = flows.retire(flow).filter(|old| old.spent != NONE);
            self.free.extend(old.map(|old| old.spent));
        }
    }

    fn on_interface(&mut self, number: u16, name: &str, speed_bps: Option<u64>) {
        self.pause.on_interface(number, name, speed_bps);
    }

    fn span(&self, time_ns: i64) -> Range<i64> {
        let (full, paused) = (self.incast.span(time_ns), self.pause.judging_span(time_ns));
        full.start.max(paused.start)..full.end.min(paused.end)
    }

    fn heap_bytes(&self) -> usize {
        // What waits for a map of priorities is about as large again.
        let waiting = self.spent.len().min(MAX_UNTOLD) * size_of::<Spent>();
        let waiting = if self.dcbx.is_some() && self.pause.stops_any() { waiting } else { 0 };
        waiting
            + self.spent.capacity() * size_of::<Spent>()
            + self.incast.heap_bytes()
            + self.pause.heap_bytes()
    }

    fn contribute(&self, context: &Context<'_>, head: &mut report::Head) {
        let told = self.pause.contribute_with(context, head);
        self.incast.contribute(context, head);
        self.report(&told, context, head);
    }
}
