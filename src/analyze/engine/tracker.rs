//! The state that each packet changes: flows, connections, trust. Metrics are apart.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use super::{
    mrc::Mrc,
    telemetry::Written,
    trims::Trims,
    trust::{Mirrors, Strays, Trust},
};
use crate::{
    analyze::{
        metric::{Metric, Metrics, Placed, Verdict, Wants, capture::CaptureCounts, microburst::Microbursts},
        model::{Event, Files, FlowId, Options, Space},
        network::{Network, Passage},
        packet::{Facts, key::Key},
        table::{Begin, Flows, budget::Relief, connection::Connections, flow::Flow},
        track::{
            config::TrackConfig,
            copies::Copying,
            history::Histories,
            measured::Measures,
            response::{Requester, Responses},
            ring,
            silence::{DataSilence, PassingSilence, QUIET_NS, RequesterState, Silence, SilenceEnd},
            step::Resolved,
        },
    },
    dissect::{Address, Dissection, Encapsulation},
    heap::Heap,
    icrc::State,
    opcode::{Numbering, Service},
    wire::*,
};

/// The flows of a capture, and all that their analysis needs. It keeps nothing of the frames: its memory is bounded by the number of flows.
#[derive(crate::stored::Stored)]
pub(crate) struct Tracker {
    /// They are given anew when an analysis goes on.
    #[stored(skip)]
    pub(crate) options: Options,
    pub(crate) config: TrackConfig,
    pub(crate) flows: Flows,
    pub(crate) connections: Connections,
    pub(crate) capture: CaptureCounts,
    pub(crate) bursts: Microbursts,
    pub(crate) network: Network,
    pub(crate) retired: Vec<Retired>,
    /// Verdicts on earlier packets that the metrics have not been told of.
    pub(super) resolved: Vec<Resolved>,
    /// Silences that the metrics have not been told of.
    silences: Vec<Silence>,
    data_silences: Vec<DataSilence>,
    passing_silences: Vec<PassingSilence>,
    /// A shorter time between two requests of a flow, or two READ responses, is no silence, unless a pause was in it.
    pace_ns: i64,
    /// A shorter time is not looked at: near pauses, that is less than the pace.
    pub(super) quiet_ns: i64,
    /// Silences that are nothing but the pace of a sender, and the packets before the first of them.
    paced: (u32, u64),
    pub(crate) mirrors: Mirrors,
    pub(crate) strays: Strays,
    pub(super) trust: Trust,
    pub(crate) trims: Trims,
    pub(crate) mrc: Mrc,
    pub(crate) written: Written,
    pub(super) window: Window,
    /// Frames that have a number and are not analyzed.
    pub(super) passed_over: u64,
    /// A metric wants to know the [identity](Self::identity) of flows.
    #[stored(skip)]
    wants_identity: bool,
    pub(crate) files: Files,
}

/// A flow that is over: evicted, or of an epoch that is over.
#[derive(crate::stored::Stored)]
pub(crate) struct Retired {
    pub(crate) flow: Box<Flow>,
    pub(crate) evicted: bool,
}

/// Silences that wait. With the last one, the next packet interrupts the window, and the metrics are told.
const MAX_SILENCES: usize = 256;

/// Retired flows that are reported one by one. Beyond this number, only evictions are counted.
const MAX_RETIRED: usize = 4096;

/// A span of time that no metric divides: runs end at its end. It is empty if a metric needs each packet.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(super) struct Window {
    start: i64,
    ns: u64,
    /// Its length, while it is interrupted.
    rest: u64,
}

impl Window {
    pub(super) const EMPTY: Window = Window { start: 0, ns: 0, rest: 0 };

    fn of(Range { start, end }: Range<i64>) -> Window {
        Window { start, ns: if end > start { end.abs_diff(start) } else { 0 }, rest: 0 }
    }

    /// Until the next packet that is in no run it is empty, and no run ends for that.
    fn interrupt(&mut self) {
        (self.ns, self.rest) = (0, self.ns.max(self.rest));
    }

    fn go_on(&mut self) {
        (self.ns, self.rest) = (self.ns.max(self.rest), 0);
    }

    #[inline(always)]
    pub(super) fn has(&self, time: i64) -> bool {
        (time.wrapping_sub(self.start) as u64) < self.ns
    }

    fn is_empty(&self) -> bool {
        self.ns == 0
    }

    /// After the first CNP, a metric may divide the time that none divided before. Returns whether that changes anything.
    pub(super) fn close_if_endless(&mut self) -> bool {
        let is_endless = self.ns > i64::MAX as u64;
        if is_endless {
            *self = Window::EMPTY;
        }
        is_endless
    }
}

impl Tracker {
    pub(super) fn new(options: Options) -> Tracker {
        let network = Network::new(&options);
        let mut connections = Connections::default();
        for known in &options.connections {
            connections.insert(known);
        }
        Tracker {
            config: TrackConfig {
                late_ns: options.reorder_window_ns,
                ack_timeout_ns: options.ack_timeout_ns,
                copying: Copying::default(),
                histories: Histories::default(),
                measures: Measures::default(),
                is_sparse: false,
                misses: false,
                is_coarse: false,
            },
            flows: Flows::new(options.max_flows, options.max_memory),
            connections,
            capture: CaptureCounts::default(),
            bursts: Microbursts::new(network.interfaces.common_bps()),
            network,
            retired: Vec::new(),
            resolved: Vec::new(),
            silences: Vec::with_capacity(MAX_SILENCES),
            data_silences: Vec::new(),
            passing_silences: Vec::new(),
            pace_ns: QUIET_NS,
            quiet_ns: QUIET_NS,
            paced: (0, 0),
            mirrors: Mirrors::default(),
            strays: Strays::default(),
            trust: Trust::default(),
            trims: Trims::default(),
            mrc: Mrc::default(),
            written: Written::default(),
            wants_identity: false,
            // The first packet asks the metrics.
            window: Window::EMPTY,
            passed_over: 0,
            files: Files::default(),
            options,
        }
    }

    /// After it was read from a file: makes what is not in the file. `None` if its numbers do not fit together.
    #[cfg(feature = "state")]
    pub(super) fn rebuild(&mut self) -> Option<()> {
        self.flows.rebuild()?;
        self.retired.iter_mut().for_each(|retired| self.flows.take_in(&mut retired.flow));
        Some(())
    }

    /// Asks the metrics what they need.
    pub(super) fn ask_wants(&mut self, metrics: &Metrics) {
        let Wants { history, measured, identity } = metrics.wants();
        self.config.histories = Histories::new(history);
        self.config.measures = Measures::new(measured);
        self.wants_identity = identity;
    }

    /// The next packet asks the metrics for their span.
    pub(super) fn forget_window(&mut self) {
        self.window = Window::EMPTY;
    }

    /// A packet of a dissected frame: with the state of its ICRC, if a switch trimmed it. Where most ICRCs are wrong, a wrong one shows
    /// nothing: runs take such packets without a look.
    pub(super) fn look_for_trimming(&mut self, facts: Facts, d: &Dissection<'_>) -> Facts {
        match facts.icrc() {
            State::Good => facts,
            State::Bad if self.trust.accepts(State::Bad) => facts,
            _ => self.trims.look(facts, d, self.options.trim.as_ref()),
        }
    }

    /// The number of the frame at hand.
    #[inline(always)]
    pub(super) fn number(&self) -> u64 {
        self.capture.packets.wrapping_add(self.passed_over)
    }

    /// Called before each packet: if a metric divides the time before it, runs end.
    #[inline(always)]
    pub(super) fn enter_window(&mut self, time: i64, metrics: &mut Metrics) {
        if !self.window.has(time) {
            self.change_window(time, metrics);
        }
    }

    /// A pause begins, goes on or ends: the next packet asks the network whether each one in it has to be seen, and which times are
    /// silences.
    fn await_pause(&mut self) {
        self.window = Window::EMPTY;
    }

    #[cold]
    #[inline(never)]
    fn change_window(&mut self, time: i64, metrics: &mut Metrics) {
        if self.window.rest > 0 {
            self.notify_silences(metrics);
            self.ask_for_memory(metrics);
            self.window.go_on();
            if self.window.has(time) && !self.flows.is_short() {
                return;
            }
        }
        self.flows.settle_begun();
        self.gather(metrics);
        self.ask_for_memory(metrics);
        if self.flows.is_short() {
            self.relieve(time, metrics);
        }
        let (asked, paused) = (metrics.span(time), self.network.span(time));
        self.quiet_ns = if self.network.pauses.are_near(time) { QUIET_NS } else { self.pace_ns };
        let span = asked.start.max(paused.start)..asked.end.min(paused.end);
        self.window = if self.options.reference { Window::EMPTY } else { Window::of(span) };
    }

    /// From time to time, metrics say what they hold.
    fn ask_for_memory(&mut self, metrics: &Metrics) {
        if self.flows.is_to_hear_of_metrics() {
            self.flows.set_aside(metrics.heap_bytes() + self.heap_bytes());
        }
    }

    /// Bytes on the heap beside those of flows: each part counts what it may hold beyond some 100 bytes for each flow.
    pub(super) fn heap_bytes(&self) -> usize {
        self.bursts.heap_bytes()
            + self.network.heap_bytes()
            + self.connections.heap_bytes()
            + self.trims.heap_bytes()
            + self.mrc.heap_bytes()
            + self.written.heap_bytes()
    }

    /// Whether packets may be counted in runs.
    #[inline(always)]
    pub(super) fn may_run(&self) -> bool {
        !self.window.is_empty()
    }

    /// Tells the metrics of the runs that are over, and of silences.
    #[inline(always)]
    pub(super) fn gather(&mut self, metrics: &mut Metrics) {
        if self.flows.has_sums() {
            gather_sums(&mut self.flows, &mut self.bursts, metrics);
        }
        if !self.silences.is_empty() || !self.data_silences.is_empty() || !self.passing_silences.is_empty() {
            self.notify_silences(metrics);
        }
    }

    #[cold]
    #[inline(never)]
    fn notify_silences(&mut self, metrics: &mut Metrics) {
        let network = &self.network;
        metrics.on_silences(&self.silences, network);
        self.silences.clear();
        self.data_silences.drain(..).for_each(|silence| metrics.on_data_silence(&silence, network));
        self.passing_silences.drain(..).for_each(|silence| metrics.on_passing_silence(&silence, network));
    }

    /// Tells of a packet whose place is known.
    #[inline(always)]
    pub(super) fn notify_packet(&mut self, packet: &Facts, place: &Placed, metrics: &mut Metrics) {
        self.bursts.on_packet(packet, place);
        let is_cnp = packet.opcode().is_cnp() && !place.is_capture_duplicate();
        self.network.on_packet(packet, place.frame, is_cnp || place.is_mark(packet));
        if self.network.pauses.stop_any() && packet.is_acknowledge() {
            self.note_answer(packet, place);
        }
        metrics.on_packet(packet, place);
    }

    /// Tells of a frame that is not of the transport.
    pub(super) fn notify_frame(&mut self, event: &Event<'_>, metrics: &mut Metrics) {
        if asks_for_pause(event.packet) {
            self.bursts.on_pause(event.record.time.0);
        }
        if event.packet.has(Kind::MacControl) {
            self.await_pause();
        }
        self.capture.unread.on_frame(event);
        self.network.on_frame(event, &mut |paused| metrics.on_pause(paused));
        metrics.on_frame(event);
    }

    /// Notes a silence that this request packet ended: the metrics are told soon.
    pub(super) fn silent(&mut self, id: FlowId, state: RequesterState, end: SilenceEnd, packet: &Facts) {
        let SilenceEnd { time: to, begins, again, shows_timeout, retransmits } = end;
        let place = (packet.interface(), packet.path_tag());
        let silence = state.end(id, to, self.number(), place);
        let messages = silence.messages + state.is_within as u32;
        let is_pace = again.is_none() && to.saturating_sub(state.from) <= self.pace_ns;
        if is_pace && !self.network.pauses.may_have_stopped(place.0, state.from, to) {
            return;
        }
        if !begins && again.is_none() && silence.answered_ns <= silence.from_ns {
            self.note_pace(to - state.from);
        }
        self.silences.push(Silence {
            begins,
            again,
            shows_timeout,
            retransmits,
            messages,
            is_pace,
            ..silence
        });
        if self.silences.len() >= MAX_SILENCES {
            self.window.interrupt();
        }
    }

    /// A packet that is recorded again on another link: notes the silence there that it ended, if that may have been a pause.
    #[inline]
    pub(super) fn passes(&mut self, id: FlowId, space: Space, packet: &Facts) {
        let sent = self.sent_first(id, space, packet);
        let passed = (packet, self.number());
        let Some(before) = self.network.pass(id, (space, sent), passed) else { return };
        let (from, to) = (before.last, packet.time());
        if to.saturating_sub(from) <= QUIET_NS
            || !self.network.pauses.may_have_stopped(before.interface, from, to)
        {
            return;
        }
        let silence = self.passing(id, &before, to, false);
        self.passing_silences.push(silence);
    }

    /// When the transmission of a request that is recorded again was recorded first, and the low bits of the interface that did. That before the latest one of its PSN was sent before
    /// anything that its sender went back for.
    fn sent_first(&self, id: FlowId, space: Space, packet: &Facts) -> Option<(i64, u8)> {
        let requests = &self.flows.unsettled(id).requests;
        let sent =
            requests.seq.ring.get(requests.seq.unwrap(packet.psn())).filter(|_| space == Space::Request)?;
        let is_replaced = sent.flags & ring::SENT_AGAIN != 0 && sent.fingerprint != packet.fingerprint();
        Some((if is_replaced { i64::MIN } else { sent.time }, (sent.vantage >> 8) as u8))
    }

    /// A silence behind the last packet that passed another link.
    fn passing(&self, id: FlowId, before: &Passage, to: i64, is_open: bool) -> PassingSilence {
        let &Passage { interface, space, path_tag, start, last, last_psn, packets, is_within, .. } = before;
        let (waiting, begun) = match space {
            Space::Request => {
                let requests = &self.flows.unsettled(id).requests;
                let waiting = requests.waiting_until(last_psn);
                let begun = requests.messages_done() + u64::from(waiting) + u64::from(is_within);
                (waiting, Some(begun))
            }
            Space::Response => (0, None),
        };
        PassingSilence {
            flow: id,
            space,
            start_ns: start,
            from_ns: last,
            to_ns: to,
            is_within,
            is_open,
            messages: waiting + is_within as u32,
            begun,
            packets,
            interface,
            path_tag,
        }
    }

    /// An acknowledgement on a link, in a capture with pauses: how many messages are acknowledged there.
    #[cold]
    #[inline(never)]
    fn note_answer(&mut self, packet: &Facts, place: &Placed) {
        let Some(asking) = place.peer.filter(|_| place.space == Some(Space::Response)) else { return };
        let done = match place.is_capture_duplicate() {
            true => None,
            false => Some(self.flows.get_mut(asking).requests.messages_done()),
        };
        self.network.passages.answered(asking, (packet.interface(), packet.psn(), packet.time()), done);
    }

    /// The capture ends in pauses: tells of the flows that are silent then.
    fn tell_open_silences(&mut self, metrics: &mut Metrics) {
        let end = self.capture.last;
        if !self.network.pauses.hold_at(end) {
            return;
        }
        for (id, flow) in (0..).map(FlowId).zip(&self.flows.flows) {
            let interface = self.network.passages.first(id).unwrap_or(0);
            let path_tag = flow.path_tags.last();
            let requests = &flow.requests;
            if requests.seq.is_started() && end - requests.seq.last_time > QUIET_NS {
                let state = requests.state_before(requests.seq.hi);
                let messages = state.messages + state.is_within as u32;
                let silence = state.end(id, end, 0, (interface, path_tag));
                metrics.on_silence(&Silence { is_open: true, messages, ..silence }, &self.network);
            }
            let data = flow.responses.get().and_then(|responses| responses.read.get());
            if let Some(read) =
                data.filter(|read| read.seq.is_started() && end - read.seq.last_time > QUIET_NS)
            {
                let silence = DataSilence {
                    flow: id,
                    frame: 0,
                    start_ns: read.seq.start_time,
                    from_ns: read.seq.last_time,
                    to_ns: end,
                    asked_ns: None,
                    begins: true,
                    is_open: true,
                    is_pace: false,
                    packets: flow.responses.counts.packets,
                    again: None,
                    rtt_ns: None,
                    interface,
                    path_tag,
                };
                metrics.on_data_silence(&silence, &self.network);
            }
            for passage in self.network.passages.of(id).iter().filter(|one| end - one.last > QUIET_NS) {
                metrics.on_passing_silence(&self.passing(id, passage, end, true), &self.network);
            }
        }
    }

    /// Notes a silence of a responder, from this time on, that this READ response ended. `is_again`: it was retransmitted.
    #[cold]
    #[inline(never)]
    pub(super) fn silent_data(&mut self, id: FlowId, from: i64, packet: &Facts, is_again: bool) {
        let flow = self.flows.unsettled(id);
        let Some(read) = flow.responses.get().and_then(|responses| responses.read.get()) else { return };
        let asking = flow.peer.map(|peer| &self.flows.unsettled(peer).requests);
        let (shape, to) = (packet.opcode().shape(), packet.time());
        // Times that mean nothing, of frames in the file's order, step back.
        if to <= from {
            return;
        }
        let asked = asking.and_then(|requests| requests.asked_for(packet.psn()));
        let is_asked_again = asked.and_then(|asked| asked.again).is_some_and(|at| at > from && at <= to);
        let is_pace = to.saturating_sub(from) <= self.pace_ns;
        let silence = DataSilence {
            flow: id,
            frame: self.number(),
            start_ns: read.seq.start_time,
            from_ns: from,
            to_ns: to,
            asked_ns: asked.map(|asked| asked.first),
            begins: shape.begins,
            is_open: false,
            is_pace,
            packets: 0,
            again: (is_again || is_asked_again).then(|| read.trigger()),
            rtt_ns: asking.and_then(|requests| requests.rtt_min),
            interface: packet.interface(),
            path_tag: packet.path_tag(),
        };
        if is_pace
            && silence.again.is_none()
            && !self.network.pauses.may_have_stopped(packet.interface(), from, to)
        {
            return;
        }
        if !silence.begins && silence.again.is_none() {
            self.note_pace(to - from);
        }
        self.data_silences.push(silence);
        if self.data_silences.len() >= MAX_SILENCES {
            self.window.interrupt();
        }
    }

    /// Ends all runs: flows and metrics then know of all packets.
    pub(super) fn settle_all(&mut self, metrics: &mut Metrics) {
        self.flows.settle_all();
        self.gather(metrics);
    }

    /// The epoch of a flow and its sender's queue pair, for metrics that want them.
    #[inline(always)]
    pub(super) fn identity(&self, flow: Option<FlowId>) -> (Option<u32>, Option<u32>) {
        let wanted = flow.filter(|_| self.wants_identity);
        let flow = wanted.and_then(|FlowId(id)| self.flows.flows.get(id as usize));
        flow.map_or((None, None), |flow| (Some(flow.epoch), flow.peer_qp))
    }

    /// A silence in the middle of a message, in which nothing came. Where many flows share a link, nearly all packets have one before
    /// them: then only longer ones count.
    fn note_pace(&mut self, lasted: i64) {
        const MANY: u32 = 256;
        const PACKETS_OF_ONE: u64 = 16;
        const LONGEST_NS: i64 = 1_000_000;
        // What is looked at only near pauses is no more of a silence than it is elsewhere.
        if lasted <= self.pace_ns {
            return;
        }
        self.paced.0 += 1;
        if self.paced.0 == MANY {
            let packets = self.capture.packets - self.paced.1;
            if packets < MANY as u64 * PACKETS_OF_ONE && self.pace_ns < LONGEST_NS {
                self.quiet_ns = if self.quiet_ns == self.pace_ns { self.pace_ns * 2 } else { self.quiet_ns };
                self.pace_ns *= 2;
            }
            self.paced = (0, self.capture.packets);
        }
    }

    /// Tells the metrics of the latencies of the requests that this flow answered.
    #[inline(always)]
    pub(super) fn notify_measured(&self, responder: FlowId, metrics: &mut Metrics) {
        if self.config.measures.are_wanted() {
            let asking = self.flows.peer(responder);
            self.config.measures.take(|measured| {
                if let Some(asking) = asking {
                    metrics.on_measured(asking, &measured);
                }
            });
        }
    }

    /// Begins a flow with its first packet.
    #[cold]
    #[inline(never)]
    pub(super) fn begin(&mut self, key: &Key, packet: &Facts, metrics: &mut Metrics) -> FlowId {
        let (opcode, psn) = (packet.opcode(), packet.psn().0);
        let (key, service, is_cnp) = (*key, opcode.service(), opcode.is_cnp());
        let (encapsulation, time, p_key) = (packet.encapsulation(), packet.time(), packet.p_key());
        let begin = &Begin { key, service, encapsulation, time, psn, p_key };
        let id = self.flows.add(begin).unwrap_or_else(|| self.evict_for(begin, metrics));
        self.capture.flow_began(packet.interface());
        self.network.begin(id, packet);
        self.strays.give_to(self.flows.get_mut(id));
        if service.numbering() == Numbering::InOrder || is_cnp {
            self.appeared(id);
        }
        id
    }

    /// A flow began that may be one of a connection: what its set-up said is known of it.
    fn appeared(&mut self, id: FlowId) {
        self.connections.appeared(&mut self.flows, id);
        let requests = &self.flows.get_mut(id).requests;
        if requests.knows_mtu() {
            self.trims.full_packet(requests.mtu.bytes.into());
        }
    }

    /// Evicts a flow for another one.
    fn evict_for(&mut self, begin: &Begin, metrics: &mut Metrics) -> FlowId {
        let id = self.flows.oldest();
        self.evict(id, begin, metrics);
        self.flows.enter(id);
        id
    }

    /// Evicts a flow. Its place gets a new flow that is not in the hash table yet.
    fn evict(&mut self, id: FlowId, begin: &Begin, metrics: &mut Metrics) {
        self.capture.evicted_flows += 1;
        self.connections.disappears(&self.flows, id);
        self.flows.leave(id);
        self.gather(metrics);
        metrics.on_retire(id);
        self.bursts.on_retire(id);
        let new = self.flows.new_flow(begin);
        self.retire(id, new, true, metrics);
    }

    /// Measures the memory of a flow now and then. If all flows hold too much, or it is time to ask what metrics hold, the next packet
    /// ends the window and [frees memory](Self::relieve).
    #[inline(always)]
    pub(super) fn account_memory(&mut self, id: FlowId) {
        if self.flows.is_to_measure(id) && self.flows.measure(id) {
            self.window.interrupt();
        }
    }

    /// [`account_memory`](Self::account_memory) for a flow whose run completed another message.
    #[cold]
    #[inline(never)]
    pub(super) fn account_memory_of_run(&mut self, id: FlowId) {
        if self.flows.measure(id) {
            self.window.interrupt();
        }
    }

    /// Flows hold too much memory: some lose detail, or are evicted.
    #[cold]
    #[inline(never)]
    fn relieve(&mut self, time: i64, metrics: &mut Metrics) {
        const AT_ONCE: usize = 16;
        for _ in 0..AT_ONCE {
            match self.flows.relief(time) {
                None => return,
                Some(Relief::Shed(id)) => {
                    let Flow { requests, responses, encapsulation, .. } = self.flows.get_mut(id);
                    let encapsulation = *encapsulation;
                    let unanswered = requests.shed(&self.config, &mut self.resolved);
                    notify(metrics, &mut self.resolved, (id, Space::Request, encapsulation), 0);
                    if let Some(responses) = responses.get_mut() {
                        responses.shed(&self.config, &mut self.resolved);
                        notify(metrics, &mut self.resolved, (id, Space::Response, encapsulation), 0);
                    }
                    self.flows.on_shed(id, unanswered);
                }
                Some(Relief::Evict(id)) => {
                    let Flow { service, encapsulation, .. } = *self.flows.get_mut(id);
                    let nobody =
                        Begin { key: Key::default(), service, encapsulation, time, psn: 0, p_key: 0 };
                    self.evict(id, &nobody, metrics);
                    self.flows.vacate(id);
                }
            }
        }
    }

    /// A queue pair number is used anew: a new epoch of the flow begins.
    #[cold]
    pub(super) fn renew(
        &mut self,
        id: FlowId,
        (service, time, psn): (Service, i64, u32),
        metrics: &mut Metrics,
    ) {
        let old = self.flows.get_mut(id);
        let Flow { key, encapsulation, peer, p_key, .. } = *old;
        let epoch = old.epoch + 1;
        let mut new = self.flows.new_flow(&Begin { key, service, encapsulation, time, psn, p_key });
        new.epoch = epoch;
        self.retire(id, new, false, metrics);
        if let Some(peer) = peer {
            let peer = self.flows.get_mut(peer);
            if peer.peer == Some(id) {
                peer.peer = None;
                // It is of the old epoch too, unless it was the first to begin the new one.
                peer.renew = peer.epoch < epoch;
            }
        }
        self.appeared(id);
    }

    /// Puts a new flow into the place of an old one. The old one is retired, as long as retired flows are reported one by one.
    fn retire(&mut self, id: FlowId, mut new: Flow, evicted: bool, metrics: &mut Metrics) {
        let place = self.flows.get_mut(id);
        if self.retired.len() >= MAX_RETIRED {
            new.requests.seq.ring.take_over(&mut place.requests.seq.ring);
            let old = std::mem::replace(place, new);
            return self.flows.drop_held(&old);
        }
        let mut flow = Box::new(std::mem::replace(place, new));
        finish(id, &mut flow, &OtherEnd::default(), &self.config, &mut self.resolved, metrics);
        flow.forget();
        if self.flows.keep_retired(&mut flow) {
            self.retired.push(Retired { flow, evicted });
        }
    }

    /// A datagram of the connection manager.
    #[cold]
    #[inline(never)]
    pub(super) fn on_management(&mut self, d: &Dissection<'_>, key: &Key, time: i64) {
        if let Some(req) = d.get::<CmReq>() {
            self.connections.request(*key, req, time);
        }
        if let Some(rep) = d.get::<CmRep>() {
            for key in self.connections.reply(*key, rep).into_iter().flatten().flatten().flatten() {
                if let Some(id) = self.flows.find(&key) {
                    self.flows.get_mut(id).renew = true;
                }
            }
        }
        if let Some(rtu) = d.get::<CmRtu>() {
            self.connections.ready(&mut self.flows, *key, rtu, time);
        }
        if let Some(dreq) = d.get::<CmDreq>() {
            self.connections.disconnect(&mut self.flows, *key, dreq, time);
        }
    }

    /// Whether frames were passed over: a filter left them out.
    pub(crate) fn leaves_out(&self) -> bool {
        self.passed_over > 0
    }

    /// The step of the capture's clock, where it is longer than round trips; the time between batches, where these have a common time.
    pub(crate) fn coarse_ns(&self) -> Option<u64> {
        const COARSE_NS: u64 = 100_000;
        if let Some(batch) = self.capture.batch() {
            return Some(batch.step_ns);
        }
        Some(self.resolution_ns()).filter(|&ns| ns >= COARSE_NS)
    }

    /// The step in which times count: as the files have them, where a merge set clocks right.
    pub(crate) fn resolution_ns(&self) -> u64 {
        self.files.step_ns.unwrap_or(self.capture.resolution.ns)
    }

    /// The step of the times in the report: as above, and longer than all of them where frames have no times.
    pub(crate) fn step_ns(&self) -> Option<u64> {
        if self.capture.has_times() { self.coarse_ns() } else { Some(u64::MAX) }
    }

    /// No more packets come: decides what was left open, as well as the evidence allows.
    pub(super) fn decide(&mut self, metrics: &mut Metrics) {
        self.settle_all(metrics);
        self.connections.by_port(&mut self.flows);
        self.tell_open_silences(metrics);
        self.config.is_coarse = self.coarse_ns().is_some();
        self.config.is_sparse = is_sparse(&self.flows.flows);
        self.config.misses = misses(&self.flows.flows);
        let ahead = answers_ahead(&self.flows.flows);
        let of_other_clocks = self.flows.flows.iter().filter(|flow| flow.requests.has_other_clock());
        let of_other_clocks: HashSet<_> = of_other_clocks.map(way).collect();
        for at in 0..self.flows.flows.len() {
            let flow = &self.flows.flows[at];
            let ahead = if ahead.is_empty() { 0 } else { ahead.get(&way(flow)).copied().unwrap_or(0) };
            let peer = flow.peer.and_then(|FlowId(peer)| self.flows.flows.get(peer as usize));
            let mut other = OtherEnd { ahead, ..peer.map_or_else(OtherEnd::default, OtherEnd::of) };
            other.requester.is_apart |= peer.is_some_and(|peer| of_other_clocks.contains(&way(peer)));
            let (flow, peer) = self.flows.two(FlowId(at as u32), flow.peer);
            let unanswered = flow.responses.get_mut().and_then(Responses::take_unanswered);
            if let Some(peer) = peer {
                if let Some(psn) = unanswered {
                    peer.requests.data_may_not_be_sent(psn);
                }
                // What shows late may have been so before.
                if peer.requests.is_reordered()
                    && let Some(responses) = flow.responses.get_mut()
                {
                    responses.data_is_not_proved();
                    peer.requests.data_is_not_proved();
                }
                // Answers travel with the requests of their flow.
                if (flow.requests.is_untidy() || peer.requests.is_untidy())
                    && let Some(responses) = flow.responses.get_mut()
                {
                    responses.results_are_not_proved();
                    peer.requests.results_are_not_proved();
                }
            }
            finish(FlowId(at as u32), flow, &other, &self.config, &mut self.resolved, metrics);
        }
        self.config.histories.drain(|history| metrics.on_history(&history));
        self.network.pauses.each_open(self.capture.last, &mut |paused| metrics.on_pause(paused));
    }
}

/// Whether a frame asks for a pause, of any priority.
fn asks_for_pause(d: &Dissection<'_>) -> bool {
    let of_priority = |pfc: &Pfc| (0..8).any(|priority| pfc.time(priority).is_some_and(|quanta| quanta > 0));
    d.has(Kind::MacControl)
        && (d.get::<Pfc>().is_some_and(of_priority)
            || d.get::<Pause>().is_some_and(|pause| pause.pause_time() > 0))
}

/// Whether most requests of all flows are missing, and not in a few bursts.
fn is_sparse(flows: &[Flow]) -> bool {
    let sequences = flows.iter().map(|flow| &flow.requests.seq).filter(|seq| seq.is_started());
    let (holes, missing, all) = sequences.fold((0, 0, 0), |(holes, missing, all), seq| {
        let here = seq.rare.get().map_or((0, 0), |rare| (rare.holes.len(), rare.holes.psns()));
        (holes + here.0, missing + here.1, all + (seq.hi - seq.base))
    });
    holes >= 4 && 2 * missing > all
}

/// Whether the capture missed more than one in many packets: of fewer, hardly one is among those that were sent again for other reasons.
fn misses(flows: &[Flow]) -> bool {
    const MANY: u64 = 1 << 16;
    let requests = flows.iter().map(|flow| &flow.requests).filter(|requests| requests.seq.is_started());
    let (missed, all) = requests.fold((0, 0), |(missed, all), requests| {
        (missed + requests.surely_missed() + requests.reasons_missed(), all + requests.counts.packets)
    });
    missed > all / MANY
}

/// The hosts of a flow, in this direction.
fn way(flow: &Flow) -> (Address, Address) {
    (flow.key.source(), flow.key.destination())
}

/// By how much the clock that stamps answers is ahead at least, of hosts where that shows.
fn answers_ahead(flows: &[Flow]) -> HashMap<(Address, Address), i64> {
    let mut all = HashMap::new();
    for (flow, ahead) in flows.iter().filter_map(|flow| Some((flow, flow.requests.answers_ahead()?))) {
        all.entry(way(flow)).and_modify(|most: &mut i64| *most = ahead.max(*most)).or_insert(ahead);
    }
    all
}

/// What is known at the end of the flow in the other direction.
#[derive(Default)]
struct OtherEnd {
    /// By how much the clock that stamps answers is ahead, by other flows.
    ahead: i64,
    /// It has requests of its own: where they pass the tap, answers would, too.
    is_seen: bool,
    requester: Requester,
}

impl OtherEnd {
    fn of(peer: &Flow) -> OtherEnd {
        let requests = &peer.requests;
        let (reaction, is_apart) = (requests.fastest_reaction(), requests.is_apart());
        let requester = Requester { reaction, is_apart, until: peer.last_time };
        OtherEnd { ahead: 0, is_seen: requests.seq.is_started(), requester }
    }
}

/// Decides what a flow has left open.
fn finish(
    id: FlowId,
    flow: &mut Flow,
    other: &OtherEnd,
    config: &TrackConfig,
    resolved: &mut Vec<Resolved>,
    metrics: &mut Metrics,
) {
    let Flow { requests, responses, ids, encapsulation, .. } = flow;
    requests.finish((other.ahead, other.is_seen), ids, config, resolved);
    notify(metrics, resolved, (id, Space::Request, *encapsulation), 0);
    if let Some(responses) = responses.get_mut() {
        responses.finish(&other.requester, ids, config, resolved);
        notify(metrics, resolved, (id, Space::Response, *encapsulation), 0);
    }
}

#[cold]
#[inline(never)]
fn gather_sums(flows: &mut Flows, bursts: &mut Microbursts, metrics: &mut Metrics) {
    for sum in flows.take_sums() {
        bursts.on_run(&sum);
        metrics.on_run(&sum);
    }
}

/// Tells the metrics of verdicts on earlier packets of a flow's PSN space. They hear of the current packet by `on_packet`.
#[inline(always)]
pub(super) fn notify(
    metrics: &mut Metrics,
    resolved: &mut Vec<Resolved>,
    of: (FlowId, Space, Encapsulation),
    frame: u64,
) {
    if !resolved.is_empty() {
        notify_all(metrics, resolved, of, frame);
    }
}

#[cold]
#[inline(never)]
fn notify_all(
    metrics: &mut Metrics,
    resolved: &mut Vec<Resolved>,
    (flow, space, encapsulation): (FlowId, Space, Encapsulation),
    frame: u64,
) {
    for Resolved { class, fill, .. } in resolved.drain(..).filter(|resolved| resolved.fill.frame != frame) {
        metrics.on_verdict(&Verdict {
            frame: fill.frame,
            flow,
            space,
            psn: fill.psn,
            class,
            time_ns: fill.time,
            encapsulation,
            payload: fill.bytes,
            l1_bytes: fill.l1_bytes,
            path_tag: fill.path_tag,
        });
    }
}
