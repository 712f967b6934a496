//! Why is a connection slow: what did the time of its sender go to?
//!
//! The times between the packets of a flow's requests divide its time: what is short is sending, and each [`Silence`] goes to one
//! cause, by what came in it. A pause goes before anything else, if its priority is that of the flow: it stops the sender, or the
//! acknowledgements that the sender waits for. CNPs cannot be seen in single silences: all of the sender's time after the first one
//! is compared with what it would have needed at its rate before. A full link cannot either: the [incast](super::incast) metric
//! knows the bins in which one was full.
//!
//! The priority of a flow is by the user's map, or by the last one of DCBX. Silences are not kept: before DCBX says anything, an eighth of the
//! DSCP stands for it. A flow for which that proves wrong gives the time of its pauses back to what it would have gone to without them.
//!
//! So a flow has one sum for each cause, and they add up to its time. What no rule explains is a sum too.

mod rows;

use std::ops::Range;

use super::{
    Context, Metric, Placed, QUIET_NS, Silence,
    dcbx::Dcbx,
    incast::Incast,
    pause::{Pause, Stop},
    per_flow::PerFlow,
};
use crate::{
    analyze::{
        model::{Event, FlowId, QosMap, Trigger},
        packet::{PacketView, path_tag},
        table::run::RunSum,
    },
    dissect::Encapsulation,
    opcode::Direction,
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
/// Senders of pauses that are kept for each flow.
const STOPS: usize = 4;
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
    flows: PerFlow<OfFlow>,
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
    /// Bytes on the wire of its requests.
    bytes: u64,
    /// The place in `spent`.
    spent: u32,
    early: Early,
}

/// The first few silences of a flow, where they are nothing but waiting and idleness. Most flows of large captures have no others.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Early {
    ns: [u64; 2],
    /// The longest one in nanoseconds, and the frame that ended it, as far as they fit.
    longest: [(u32, u32); 2],
    times: [u8; 2],
}

impl Early {
    /// The causes of such silences.
    const CAUSES: [TimeCause; 2] = [TimeCause::Waiting, TimeCause::Idle];
    const MOST: u8 = 8;

    /// Takes a silence, if it is such a one.
    fn take(&mut self, silence: &Silence) -> bool {
        let (until, first, second) = Spent::new(silence.flow, 0).causes(silence);
        let parts = [(first, until - silence.from_ns), (second, silence.to_ns - until)];
        let place = |cause: TimeCause| Early::CAUSES.iter().position(|&one| one == cause);
        // A long wait may be an answer that is late.
        let is_simple = |&(cause, ns): &(TimeCause, i64)| match place(cause) {
            Some(0) => ns <= LATE_NS,
            known => ns == 0 || known.is_some(),
        };
        let room = self.times.iter().all(|&times| times < Early::MOST);
        if silence.again.is_some() || !room || !parts.iter().all(is_simple) {
            return false;
        }
        for (cause, ns) in parts.into_iter().filter(|&(_, ns)| ns > 0) {
            if let Some(at) = place(cause) {
                self.ns[at] += ns as u64;
                self.times[at] += 1;
                let frame = u32::try_from(silence.frame).unwrap_or(u32::MAX);
                self.longest[at] = self.longest[at].max((u32::try_from(ns).unwrap_or(u32::MAX), frame));
            }
        }
        true
    }

    fn add_to(self, spent: &mut Spent) {
        for (n, cause) in Early::CAUSES.into_iter().enumerate() {
            let at = cause as usize;
            spent.ns[at] += self.ns[n];
            spent.times[at] += u32::from(self.times[n]);
            let (ns, frame) = self.longest[n];
            spent.longest[at] = spent.longest[at].max((ns.into(), frame.into()));
        }
    }
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

/// What the time of one flow's requests went to.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct Spent {
    flow: FlowId,
    start: i64,
    /// Nanoseconds by cause, without those of the sending.
    ns: [u64; CAUSES],
    /// What the paused time would have gone to without pauses.
    paused_from: [u64; CAUSES],
    /// The part of `ns` that came after the first CNP.
    notified: [u64; CAUSES],
    /// The part of the waiting in which an answer was late, and how often.
    late: (u64, u32),
    /// Silences by cause, and the longest one with its last frame.
    times: [u32; CAUSES],
    longest: [(u64, u64); CAUSES],
    /// When the first CNP for it came, and how many bytes it had sent.
    first_cnp: Option<(i64, u64)>,
    cnps: u64,
    timeouts: u32,
    naks: u32,
    resent: u32,
    /// Silences in the middle of messages: their sum and number.
    pace: (u64, u32),
    /// The path tag of its last silence, the interface and priority by it, and how long that was paused before.
    tag: u64,
    place: (u16, u8),
    asked_before: i64,
    /// Numbers of senders of pauses, and how long these stopped it.
    stopped: [(u8, u64); STOPS],
    /// The pause in which its last timeout was.
    timed_out_in: Option<u8>,
}

impl Spent {
    fn new(flow: FlowId, start: i64) -> Spent {
        Spent {
            flow,
            start,
            ns: [0; CAUSES],
            paused_from: [0; CAUSES],
            notified: [0; CAUSES],
            late: (0, 0),
            times: [0; CAUSES],
            longest: [(0, 0); CAUSES],
            first_cnp: None,
            cnps: 0,
            timeouts: 0,
            naks: 0,
            resent: 0,
            pace: (0, 0),
            tag: 0,
            place: (0, 8),
            asked_before: 0,
            stopped: [(u8::MAX, 0); STOPS],
            timed_out_in: None,
        }
    }

    /// Adds a time from `from` on, that ended with this frame; 0 without one.
    fn add(&mut self, cause: TimeCause, ns: i64, from: i64, frame: u64) {
        let ns = ns.max(0) as u64;
        let at = cause as usize;
        if ns == 0 {
            return;
        }
        self.ns[at] += ns;
        if self.first_cnp.is_some_and(|(since, _)| from >= since) {
            self.notified[at] += ns;
        }
        self.times[at] = self.times[at].saturating_add(1);
        self.longest[at] = self.longest[at].max((ns, frame));
    }

    /// Whether a silence in the middle of a message is as long as such silences are.
    fn is_usual(&self, ns: u64) -> bool {
        let (sum, times) = self.pace;
        times == 0 || ns.saturating_mul(times as u64) <= sum.saturating_mul(UNUSUAL)
    }

    /// Up to when a silence goes to its first cause, and the two causes.
    fn causes(&mut self, silence: &Silence) -> (i64, TimeCause, TimeCause) {
        let &Silence { from_ns: from, to_ns: to, .. } = silence;
        let answered = silence.answered_ns.clamp(from, to);
        let rest = to.saturating_sub(answered);
        match silence.again {
            Some(Trigger::Rnr) => return (answered, TimeCause::Waiting, TimeCause::NotReady),
            Some(_) => return (answered, TimeCause::Waiting, TimeCause::Recovering),
            None if !silence.hears => return (from, TimeCause::Waiting, TimeCause::Unknown),
            None => {}
        }
        // Between the tap and the sender the answer is not seen: that takes no longer than a round trip behind the tap.
        let reaction = silence.rtt_ns.map_or(0, i64::from).saturating_add(QUIET_NS);
        let has_answer = answered > from;
        if has_answer && rest <= reaction {
            return (to, TimeCause::Waiting, TimeCause::Waiting);
        }
        if silence.begins && (silence.is_answered || !has_answer) {
            let is_pace = self.first_cnp.is_some() && self.pace.1 > 0 && self.is_usual(rest as u64);
            return (
                answered,
                TimeCause::Waiting,
                if is_pace { TimeCause::Sending } else { TimeCause::Idle },
            );
        }
        if self.is_usual(rest as u64) {
            self.pace = (self.pace.0 + rest as u64, self.pace.1.saturating_add(1));
            return (answered, TimeCause::Waiting, TimeCause::Sending);
        }
        (answered, TimeCause::Waiting, TimeCause::Unknown)
    }

    /// Its priority is another one than was thought: no pause so far was one of it.
    fn forget_pauses(&mut self) {
        let at = TimeCause::Paused as usize;
        (self.ns[at], self.times[at], self.longest[at]) = (0, 0, (0, 0));
        for (ns, back) in self.ns.iter_mut().zip(std::mem::take(&mut self.paused_from)) {
            *ns += back;
        }
        self.stopped = [(u8::MAX, 0); STOPS];
        self.timed_out_in = None;
    }

    /// Notes how long a pause stopped it.
    fn stopped_by(&mut self, asker: u8, ns: u64) {
        let known = self.stopped.iter_mut().find(|(by, _)| *by == asker || *by == u8::MAX);
        if let Some(known) = known {
            *known = (asker, known.1 + ns);
        }
    }
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

impl Verdicts {
    /// With what tells of pauses and of full links, and the map of priorities.
    pub(crate) fn new(pause: Pause, incast: Incast, map: Option<&QosMap>) -> Verdicts {
        Verdicts {
            pause,
            incast,
            priorities: priorities(map.unwrap_or(&QosMap::default())),
            dcbx: map.is_none().then(Default::default),
            flows: PerFlow::default(),
            spent: Vec::new(),
            free: Vec::new(),
            effects: Vec::new(),
            stops: Vec::new(),
            not_kept: 0,
        }
    }

    fn priority(&self, tag: u64) -> u8 {
        let dscp = path_tag::dscp(tag).map_or(64, usize::from);
        let pcp = path_tag::pcp(tag).map_or(8, usize::from);
        self.priorities.get(dscp).and_then(|row| row.get(pcp)).copied().unwrap_or(8)
    }

    #[inline(always)]
    fn sent(&mut self, flow: FlowId, bytes: u64) {
        if let Some(flow) = self.flows.entry(flow) {
            flow.bytes += bytes;
        }
    }

    /// The sums of a flow; `None` if too many flows have some.
    fn spent(&mut self, id: FlowId, start: Option<i64>) -> Option<usize> {
        let flow = self.flows.known(id)?;
        if flow.spent == NONE {
            let mut new = Spent::new(id, start?);
            std::mem::take(&mut flow.early).add_to(&mut new);
            match self.free.pop() {
                Some(at) => (flow.spent, self.spent[at as usize]) = (at, new),
                None if self.spent.len() < MAX_SPENT => {
                    flow.spent = self.spent.len() as u32;
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
            self.spent[at] = Spent::new(id, start);
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

    #[cold]
    #[inline(never)]
    fn notified(&mut self, id: FlowId, now: i64) {
        let bytes = self.flows.get(id).map_or(0, |flow| flow.bytes);
        // Without a silence so far, its beginning is not known here: the first silence tells it.
        let Some(at) = self.spent(id, None).or_else(|| self.spent(id, Some(i64::MIN))) else { return };
        let spent = &mut self.spent[at];
        spent.cnps += 1;
        spent.first_cnp.get_or_insert((now, bytes));
    }

    fn take_silence(&mut self, silence: &Silence) {
        let id = silence.flow;
        let stops_any = self.pause.stops_any();
        let flow = self.flows.entry(id);
        if !stops_any
            && let Some(flow) = flow
            && flow.spent == NONE
            && flow.early.take(silence)
        {
            return;
        }
        let early = self.spent(id, None).filter(|&at| self.spent[at].start == i64::MIN);
        if let Some(at) = early {
            self.spent[at].start = silence.start_ns;
        }
        let Some(at) = self.spent(id, Some(silence.start_ns)) else { return };
        let place = (silence.interface, self.priority(silence.path_tag));
        let is_by = self.priority(self.spent[at].tag);
        let spent = &mut self.spent[at];
        let was = std::mem::replace(&mut spent.tag, silence.path_tag);
        if spent.place != place {
            // Not the flow has changed, but the map.
            if was != 0 && is_by != spent.place.1 {
                spent.forget_pauses();
            }
            spent.place = place;
            spent.asked_before = if stops_any { self.pause.asked_ns(place, silence.start_ns) } else { 0 };
        }
        match silence.again {
            Some(Trigger::Timeout) if silence.to_ns - silence.from_ns > QUIET_NS => spent.timeouts += 1,
            Some(Trigger::Nak | Trigger::ImpliedNak) if silence.to_ns - silence.from_ns > QUIET_NS => {
                spent.naks += 1
            }
            _ => {}
        }
        spent.resent += silence.again.is_some() as u32;
        let (until, first, second) = spent.causes(silence);
        let parts = [(first, silence.from_ns, until), (second, until, silence.to_ns)];
        if stops_any {
            self.pause.within(place, silence.from_ns, silence.to_ns, &mut self.stops);
        }
        let stops = &self.stops[..if stops_any { self.stops.len() } else { 0 }];
        // A packet within a pause shows that its sender is not stopped; but the answers that it waits for may be.
        let on_its_way = silence.rtt_ns.map_or(HELD_NS, |rtt| HELD_NS + i64::from(rtt));
        let is_unanswered = |stop: &Stop| {
            !silence.is_answered && silence.answered_ns <= stop.since.saturating_add(on_its_way)
        };
        let is_held = stops.last().is_some_and(|last| last.is_over && silence.to_ns - last.to <= HELD_NS);
        for (cause, from, to) in parts {
            let mut left = to.saturating_sub(from);
            let may_be_paused = cause != TimeCause::Idle || is_held;
            let stops_it = |stop: &&Stop| stop.is_over && may_be_paused || is_unanswered(stop);
            for stop in stops.iter().filter(stops_it) {
                let stopped = stop.to.min(to).saturating_sub(stop.from.max(from)).max(0);
                if stopped > 0 {
                    left -= stopped;
                    spent.add(TimeCause::Paused, stopped, silence.from_ns, silence.frame);
                    spent.paused_from[cause as usize] += stopped as u64;
                    spent.stopped_by(stop.asker, stopped as u64);
                }
            }
            spent.add(cause, left, silence.from_ns, silence.frame);
            let rtt = silence.rtt_ns.map_or(i64::MAX / LATE_ROUND_TRIPS, i64::from);
            if cause == TimeCause::Waiting
                && silence.again.is_none()
                && left > LATE_NS
                && left > rtt * LATE_ROUND_TRIPS
            {
                spent.late = (spent.late.0 + left as u64, spent.late.1.saturating_add(1));
            }
        }
        let Some(longest) = stops.iter().max_by_key(|stop| stop.to.saturating_sub(stop.from)) else {
            spent.resent_after(silence, &mut self.effects);
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
            effect.messages += !silence.begins as u64;
            effect.spanning += silence.messages as u64;
        }
        let lasted = silence.to_ns - silence.from_ns;
        // A timer that ran for a shorter time in the pause than out of it would have expired anyway.
        if silence.again == Some(Trigger::Timeout) && lasted > QUIET_NS && paused * 2 > lasted {
            effect.timeouts += 1;
            effect.resent += 1;
            spent.timed_out_in = Some(by);
        } else {
            spent.resent_after(silence, &mut self.effects);
        }
    }
}

impl Spent {
    /// The part of the waiting beyond what this flow waits if answers are not late. A late answer takes the place of one that would have
    /// been waited for as usual, unless there are as many of those beside it. Usual are two round trips at most, for the rest of the
    /// way is behind the tap.
    fn late_ns(&self, rtt_ns: u64) -> u64 {
        let (late, times) = self.late;
        let waiting = TimeCause::Waiting as usize;
        let others = self.times[waiting].saturating_sub(times);
        let usual = self.ns[waiting].saturating_sub(late).checked_div(others.into()).unwrap_or(u64::MAX);
        let replaced = u64::from(times.saturating_sub(others));
        late.saturating_sub(usual.min(2 * rtt_ns).saturating_mul(replaced))
    }

    /// A packet that is sent again after a timeout counts for the pause of that timeout.
    fn resent_after(&mut self, silence: &Silence, effects: &mut [Effect]) {
        match (silence.again, self.timed_out_in) {
            (Some(Trigger::Timeout), Some(by)) => {
                if let Some(effect) = effects.get_mut(by as usize) {
                    effect.resent += 1;
                }
            }
            (None, _) => self.timed_out_in = None,
            _ => {}
        }
    }
}

impl Metric for Verdicts {
    #[inline(always)]
    fn on_packet(&mut self, packet: &impl PacketView, place: &Placed) {
        self.incast.on_packet(packet, place);
        if place.is_capture_duplicate() {
            return;
        }
        if !place.is_control {
            if let Some(flow) = place.flow.filter(|_| place.space == Some(Direction::Request)) {
                self.sent(flow, packet.l1_bytes() as u64);
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
        if run.space == Direction::Request {
            self.sent(run.flow, run.l1_bytes);
        }
    }

    #[inline]
    fn on_frame(&mut self, event: &Event<'_>) {
        self.pause.on_frame(event);
        if event.packet.has(Kind::Lldp) {
            self.hear(event);
        }
    }

    fn on_silence(&mut self, silence: &Silence) {
        self.take_silence(silence);
    }

    fn on_retire(&mut self, flow: FlowId) {
        self.incast.on_retire(flow);
        let old = self.flows.retire(flow).filter(|old| old.spent != NONE);
        self.free.extend(old.map(|old| old.spent));
    }

    fn on_interface(&mut self, number: u16, name: &str, speed_bps: Option<u64>) {
        self.pause.on_interface(number, name, speed_bps);
    }

    fn span(&self, time_ns: i64) -> Range<i64> {
        self.incast.span(time_ns)
    }

    fn heap_bytes(&self) -> usize {
        self.spent.capacity() * size_of::<Spent>() + self.incast.heap_bytes() + self.pause.heap_bytes()
    }

    fn contribute<F, C, E>(&self, context: &Context<'_>, report: &mut report::Report<F, C, E>) {
        self.pause.contribute(context, report);
        self.incast.contribute(context, report);
        self.report(context, report);
    }
}
