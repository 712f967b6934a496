//! Finds the flow, the PSN space and the class of a transport packet.

use super::tracker::{Tracker, notify};
use crate::{
    analyze::{
        metric::{Metric, Metrics, Placed},
        model::{Class, FlowId, Space, Trigger},
        packet::{Facts, key::Key},
        table::{
            connection::{Place as PlaceOfRequests, is_new_place, is_tried},
            flow::{Flow, REQUESTS, RESPONSES},
        },
        track::{
            class::{Flaw, Flawed},
            request::{Request, Response},
            response::{Acknowledged, AskedAgain},
            silence::{RequesterState, SilenceEnd},
            step::Packet,
        },
    },
    dissect::Dissection,
    icrc::State,
    opcode::{Direction, Numbering, Operation, PayloadRule, Service, Shape},
    wire::*,
};

impl Tracker {
    /// Finds the place of a transport packet, and tells the metrics. `whole` is needed for management datagrams only.
    #[inline(never)]
    pub(super) fn on_transport(
        &mut self,
        facts: &Facts,
        whole: Option<&Dissection<'_>>,
        metrics: &mut Metrics,
    ) {
        self.capture.rdma_packets += 1;
        // As of a dissected frame: see [`look_for_trimming`](Self::look_for_trimming).
        if facts.icrc() == State::Bad && whole.is_none() && !self.trust.accepts(State::Bad) {
            let trimmed = self.trims.look_alone(facts, self.options.trim.as_ref());
            if trimmed.icrc() == State::Trimmed {
                let flaw = self.trust.flaw_of(&trimmed);
                return self.on_transport_in_full(&trimmed, whole, flaw, metrics);
            }
        }
        let flaw = self.trust.flaw_of(facts);
        if flaw.is_none()
            && let Some((id, space)) = self.take_expected(facts, metrics)
        {
            let (flow, space, class) = (Some(id), Some(space), Some(Class::New));
            self.gather(metrics);
            self.account_memory(id);
            let (frame, peer) = (self.number(), self.asking(flow, space));
            let (epoch, peer_qp) = self.identity(flow);
            let (is_marked_later, is_control, goodput) = (false, false, facts.payload());
            let place = Placed {
                frame,
                flow,
                space,
                class,
                is_marked_later,
                is_control,
                peer,
                epoch,
                peer_qp,
                goodput,
            };
            return self.notify_packet(facts, &place, metrics);
        }
        self.on_transport_in_full(facts, whole, flaw, metrics);
    }

    /// Takes the packet if its flow expects it, as for nearly all packets: see [`Flow::expects`]. The result is that of
    /// [`place`](Self::place).
    #[inline(always)]
    fn take_expected(&mut self, facts: &Facts, metrics: &mut Metrics) -> Option<(FlowId, Direction)> {
        if self.options.reference {
            return None;
        }
        let shape = facts.opcode().shape();
        if !shape.is_streamed {
            let is_data = shape.operation == Some(Operation::ReadResponse);
            return if is_data { self.take_expected_data(facts, shape, metrics) } else { None };
        }
        let (id, frame) = (self.flows.touch(facts.key()?)?, self.number());
        let flow = self.flows.get_mut(id);
        if !flow.expects(facts, shape) {
            return None;
        }
        let is_alike = flow.path_tags.is_as_last(facts.path_tag());
        let is_silent = facts.time() - flow.requests.seq.last_time > self.quiet_ns;
        let state = is_silent.then(|| flow.requests.state_before(flow.requests.seq.hi));
        flow.take_expected(facts, shape, frame, &self.config);
        if is_new_place(flow) {
            self.connections.moved(&self.flows, id);
        }
        if let Some(state) = state {
            let end = SilenceEnd {
                time: facts.time(),
                begins: shape.begins,
                again: None,
                shows_timeout: false,
                retransmits: state.retransmits,
            };
            self.silent(id, state, end, facts);
        }
        // A flow that changes its source port with every packet would have a run for each.
        if is_alike && self.may_run() {
            self.flows.begin_run(id, facts, &self.config);
        }
        Some((id, Direction::Request))
    }

    /// [`take_expected`](Self::take_expected) of a READ response.
    #[inline(never)]
    fn take_expected_data(
        &mut self,
        facts: &Facts,
        shape: &Shape,
        metrics: &mut Metrics,
    ) -> Option<(FlowId, Direction)> {
        let (id, frame) = (self.flows.touch(facts.key()?)?, self.number());
        let peer = self.flows.peer(id);
        let (flow, peer) = self.flows.two(id, peer);
        let tells_mtu = shape.payload == PayloadRule::Full
            && peer.as_ref().is_some_and(|peer| !peer.requests.knows_mtu());
        if tells_mtu || peer.is_none() && is_tried(flow) || !flow.expects_data(facts) {
            return None;
        }
        let is_alike = flow.path_tags.is_as_last(facts.path_tag());
        let before = flow.responses.last_data();
        flow.take_expected_data(facts, shape, frame);
        let mut goes_on = false;
        if let Some((peer, asking)) = peer.zip(flow.peer) {
            peer.requests.answer(
                &Response::with_data(facts.psn(), (facts.time(), frame, facts.interface())),
                &mut self.resolved,
                &self.config,
            );
            // A packet that shows the path MTU must not be counted in a run.
            goes_on = is_alike && peer.requests.knows_mtu();
            notify(metrics, &mut self.resolved, (asking, Direction::Request, flow.encapsulation), frame);
        }
        self.notify_measured(id, metrics);
        if let Some(before) = before.filter(|before| facts.time() - before > self.quiet_ns) {
            self.silent_data(id, before, facts, false);
        }
        if goes_on && self.may_run() {
            self.flows.begin_run(id, facts, &self.config);
        }
        Some((id, Direction::Response))
    }

    #[inline(never)]
    fn on_transport_in_full(
        &mut self,
        facts: &Facts,
        whole: Option<&Dissection<'_>>,
        flaw: Option<Flaw>,
        metrics: &mut Metrics,
    ) {
        let mut goodput_before = 0;
        let (flow, space, class) = self.place(facts, whole, flaw, &mut goodput_before, metrics);
        self.gather(metrics);
        if let Some(id) = flow {
            self.account_memory(id);
        }
        if class == Some(Class::CaptureDuplicate)
            && let Some((id, space)) = flow.zip(space)
            && !facts.is_control()
        {
            self.passes(id, space, facts);
        }
        let (frame, is_control) = (self.number(), facts.is_control());
        let peer = match facts.opcode().is_cnp() {
            true => flow.and_then(|id| self.flows.peer(id)),
            false => self.asking(flow, space),
        };
        self.config.histories.drain(|history| metrics.on_history(&history));
        let (epoch, peer_qp) = self.identity(flow);
        let is_duplicate = class == Some(Class::CaptureDuplicate);
        let is_marked_later = is_duplicate
            && facts.mark() == Ecn::CE
            && flow.zip(space).is_some_and(|(id, space)| self.flows.get_mut(id).take_mark(space));
        let mut goodput = 0;
        if let Some(id) = flow {
            let flow = self.flows.get_mut(id);
            goodput = u32::try_from(flow.goodput().saturating_sub(goodput_before)).unwrap_or(u32::MAX);
            if is_duplicate {
                flow.was_noted(facts, is_marked_later);
            }
        }
        let place =
            Placed { frame, flow, space, class, is_marked_later, is_control, peer, epoch, peer_qp, goodput };
        self.notify_packet(facts, &place, metrics);
    }

    /// The flow of the requests that a response of this flow answers.
    #[inline(always)]
    fn asking(&self, flow: Option<FlowId>, space: Option<Space>) -> Option<FlowId> {
        flow.filter(|_| space == Some(Direction::Response)).and_then(|id| self.flows.peer(id))
    }

    /// Finds the flow of a packet, its PSN space and its class. `goodput`: gets that of the flow before the packet.
    #[inline(always)]
    fn place(
        &mut self,
        facts: &Facts,
        whole: Option<&Dissection<'_>>,
        flaw: Option<Flaw>,
        goodput: &mut u64,
        metrics: &mut Metrics,
    ) -> (Option<FlowId>, Option<Space>, Option<Class>) {
        let Some(key) = facts.key() else { return (None, None, Some(Class::Unsequenced)) };
        let (opcode, psn) = (facts.opcode(), facts.psn());
        let service = opcode.service();
        let (time, frame) = (facts.time(), self.number());
        let Some(id) = self.flow_of(key, facts, flaw, metrics) else {
            return (None, None, Some(Class::Corrupt));
        };
        let mut flow = self.flows.get_mut(id);
        if flow.renew || flow.was_silent(time) && flow.is_reused(opcode, psn) {
            self.renew(id, (service, time, psn.0), metrics);
            flow = self.flows.get_mut(id);
        }
        if flow.service == Service::Cn {
            // A CNP does not show the service.
            flow.service = service;
        }

        *goodput = flow.goodput();
        flow.count(facts);
        let mut is_counted_elsewhere = false;
        if service == Service::Mrc
            && let Some(d) = whole
        {
            let shape = opcode.shape();
            if shape.payload == PayloadRule::Full && shape.allows(facts.payload()) {
                self.trims.full_packet(facts.payload());
            }
            is_counted_elsewhere = self.mrc.on_packet(id, facts, d, self.options.max_memory);
            flow = self.flows.get_mut(id);
        }
        if let Some(flaw) = flaw {
            return (Some(id), self.on_flaw(id, facts, flaw), Some(flaw.class()));
        }
        if is_counted_elsewhere {
            self.config.copying.count(false);
            flow.note_marks(facts);
            let counts = &mut flow.requests.counts;
            counts.packets += 1;
            counts.class(Class::CaptureDuplicate);
            counts.copied(facts.l1_bytes(), facts.payload());
            return (Some(id), Some(Direction::Request), Some(Class::CaptureDuplicate));
        }
        flow.note_path(facts);
        let payload = facts.payload();
        let shape = opcode.shape();
        let operation = match (shape.operation, service.numbering()) {
            (Some(Operation::Cnp), _) => {
                return (Some(id), None, Some(self.on_cnp(id, facts)));
            }
            (Some(operation), Numbering::InOrder) => operation,
            (None, Numbering::InOrder) | (_, Numbering::AnyOrder | Numbering::None) => {
                self.on_datagram(id, facts, whole, metrics);
                return (Some(id), Some(Direction::Request), Some(Class::Unsequenced));
            }
        };
        let (position, direction) = (shape.position, shape.direction);
        let is_request = direction == Direction::Request;
        flow.last_psn = psn.0;
        flow.payload_bytes += payload as u64;
        let is_sprayed = flow.path_tags.has_several_ports();
        let packet = Packet { is_sprayed, ..Packet::of(facts, frame) };
        if shape.payload == PayloadRule::Full {
            self.on_full_packet(id, is_request, payload);
        }
        let mut request =
            Request { packet, operation, position, message_bytes: facts.dma_len(), una_before: None };
        let class = match is_request {
            true => {
                let requests = &self.flows.get_mut(id).requests;
                let state = requests.seq.is_started().then(|| requests.state_before(requests.seq.hi));
                let class = self.on_request(id, &mut request, metrics);
                if let Some(state) = state {
                    self.after_request(id, &state, facts, class);
                }
                class
            }
            false => self.on_response(id, &request, facts, metrics),
        };
        let is_duplicate = class == Some(Class::CaptureDuplicate);
        if !is_duplicate && let Some(ip_id) = facts.ip_id() {
            let ids = &mut self.flows.get_mut(id).ids;
            match class {
                Some(Class::Resync) => ids.begin_again(ip_id),
                Some(Class::RepeatedAck) => ids.push_repeated(ip_id),
                _ => ids.push(ip_id),
            }
        }
        (Some(id), Some(direction), class)
    }

    /// The flow of a packet, which may begin with it; `None` for a corrupt packet of a flow that was not seen before.
    #[inline(always)]
    fn flow_of(
        &mut self,
        key: &Key,
        facts: &Facts,
        flaw: Option<Flaw>,
        metrics: &mut Metrics,
    ) -> Option<FlowId> {
        if flaw != Some(Flaw::Corrupt) {
            return Some(self.flows.touch(key).unwrap_or_else(|| self.begin(key, facts, metrics)));
        }
        // A corrupt packet proves nothing, not even that its flow exists.
        let known = self.flows.find(key);
        if known.is_none() {
            self.strays.remember(key, facts);
        }
        known
    }

    /// A CNP. Returns its class.
    #[inline(never)]
    fn on_cnp(&mut self, id: FlowId, facts: &Facts) -> Class {
        let flow = self.flows.get_mut(id);
        let (copying, (vantage, time)) = (&self.config.copying, (facts.vantage(), facts.time()));
        let is_one_path = copying.is_of_one_path(self.capture.rdma_packets);
        let records = &mut flow.signals_mut().cnp_records;
        let ip_id = facts.ip_id();
        if records.is_recorded((vantage, ip_id), time, copying, is_one_path) {
            flow.responses.counts.copied(facts.l1_bytes(), 0);
            return Class::CaptureDuplicate;
        }
        flow.signals_mut().cnps += 1;
        if let Some(id) = facts.ip_id() {
            flow.ids.push(id);
        }
        // Metrics count what the other flow sent before it.
        if flow.peer.is_some() {
            self.flows.settle_peer(id);
        }
        if self.window.close_if_endless() {
            self.flows.settle_begun();
        }
        Class::Unsequenced
    }

    /// A packet as long as the path MTU allows shows it to the requests that it is of, or answers.
    fn on_full_packet(&mut self, id: FlowId, is_request: bool, payload: u32) {
        let Some(asking) = (if is_request { Some(id) } else { self.flows.peer(id) }) else { return };
        let requests = &mut self.flows.get_mut(asking).requests;
        // Shortcuts take later ones unseen.
        if requests.knows_mtu() {
            return;
        }
        self.trims.full_packet(payload);
        if requests.full_packet(payload) {
            self.connections.moved(&self.flows, asking);
        }
    }

    /// A request packet was taken: notes the silence before it, or before the repetition that waited for it. `state`: before the packet.
    fn after_request(&mut self, id: FlowId, state: &RequesterState, facts: &Facts, class: Option<Class>) {
        let requests = &self.flows.get_mut(id).requests;
        let after = requests.state_before(state.hi);
        let silence = after.from - state.from;
        let trouble = state.trouble.or(after.trouble);
        let has_timed_out = silence >= requests.timeout_floor(&self.config);
        let again = match class {
            Some(Class::Retransmission) => trouble.or(Some(Trigger::Unknown)),
            None => trouble.or(has_timed_out.then_some(Trigger::Timeout)),
            Some(_) => None,
        };
        // A repetition that waits for the next packet has not been taken yet, and a capture duplicate never is.
        if silence > self.quiet_ns || silence > 0 && again.is_some() {
            let shows_timeout = after.timeouts > state.timeouts;
            let begins = facts.opcode().shape().begins;
            let (time, retransmits) = (after.from, after.retransmits);
            let end = SilenceEnd { time, begins, again, shows_timeout, retransmits };
            self.silent(id, *state, end, facts);
        }
    }

    /// A corrupt or trimmed packet: its PSN space, by its operation code.
    #[cold]
    #[inline(never)]
    fn on_flaw(&mut self, id: FlowId, facts: &Facts, flaw: Flaw) -> Option<Space> {
        let (flow, opcode) = (self.flows.get_mut(id), facts.opcode());
        let direction = opcode.operation().map(|_| opcode.direction());
        let counts = match direction {
            Some(Direction::Response) => &mut flow.responses.counts,
            _ => &mut flow.requests.counts,
        };
        counts.packets += 1;
        counts.class(flaw.class());
        // A mirror copies what is damaged, too.
        let copying = &self.config.copying;
        let before = counts.had_flaw(facts);
        let is_copy = |before: &Flawed| match before.vantage == facts.vantage() {
            true => copying.has(facts.time().saturating_sub(before.time).saturating_abs()),
            false => copying.elsewhere() > 0,
        };
        if before.as_ref().is_some_and(is_copy) {
            return direction;
        }
        counts.lost(flaw.place(), 1, 1);
        match direction {
            Some(Direction::Request) if flaw == Flaw::Trimmed => {
                flow.requests.trimmed(facts.psn(), facts.vantage())
            }
            Some(Direction::Request) => flow.requests.flawed(flaw),
            Some(Direction::Response) => flow.responses.flawed(flaw),
            None => {}
        }
        direction
    }

    /// A packet whose PSN space cannot be tracked.
    #[inline(never)]
    fn on_datagram(
        &mut self,
        id: FlowId,
        facts: &Facts,
        whole: Option<&Dissection<'_>>,
        metrics: &mut Metrics,
    ) {
        let flow = self.flows.get_mut(id);
        flow.requests.counts.packets += 1;
        flow.requests.counts.class(Class::Unsequenced);
        flow.requests.goodput += facts.payload() as u64;
        flow.payload_bytes += facts.payload() as u64;
        flow.last_psn = facts.psn().0;
        if let Some(id) = facts.ip_id() {
            flow.ids.push(id);
        }
        if facts.opcode().service() == Service::Ud
            && let (Some(key), Some(d)) = (facts.key(), whole)
            && key.dest_qp() <= 1
        {
            if d.has(Kind::PortInfo) {
                self.connections.on_subnet(d);
            }
            if key.dest_qp() == 1 {
                self.on_management(d, key, facts.time());
                metrics.on_management(facts, d, self.number());
            }
        }
    }

    #[inline]
    fn on_request(&mut self, id: FlowId, request: &mut Request, metrics: &mut Metrics) -> Option<Class> {
        let psn = request.packet.psn;
        let flow = self.flows.get_mut(id);
        flow.completeness |= REQUESTS;
        let place = PlaceOfRequests::of(flow);
        let is_atomic = request.operation.is_atomic();
        let before = if request.operation == Operation::ReadRequest || is_atomic {
            flow.requests.counts.trouble().triggers
        } else {
            [0; 5]
        };
        let class = flow.requests.on_request(request, &flow.ids, &self.config, &mut self.resolved);
        notify(
            metrics,
            &mut self.resolved,
            (id, Direction::Request, flow.encapsulation),
            request.packet.frame,
        );
        if PlaceOfRequests::of(flow) != place {
            self.connections.moved(&self.flows, id);
        }
        let flow = self.flows.get_mut(id);
        if is_atomic && class == Some(Class::Retransmission) {
            let by = Trigger::of_change(&before, &flow.requests.counts.trouble().triggers);
            self.on_atomic_again(id, psn, request.packet.time, by);
            return class;
        }
        // A repeated READ request shows that its response was lost.
        if request.operation == Operation::ReadRequest && class == Some(Class::Retransmission) {
            let by = Trigger::of_change(&before, &flow.requests.counts.trouble().triggers);
            let again = AskedAgain {
                psn,
                is_from_within: flow.requests.has_part_of(psn),
                responses: flow.requests.responses_from(psn),
                rest: flow.requests.rest_of(psn),
                is_reordered: flow.requests.is_reordered(),
                passed_over: flow.requests.passed_over(psn),
                reaction: flow.requests.fastest_reaction(),
                is_answered: flow.requests.was_answered(psn),
                executed: flow.requests.executed(psn),
                is_answered_behind: flow.requests.is_answered_behind(psn),
                asked_before: flow.requests.asked_before(psn),
                may_have_crossed: flow.requests.may_have_crossed_before(psn),
            };
            let (frame, time, went_back) =
                (request.packet.frame, request.packet.time, flow.requests.went_back());
            let peer = flow.peer;
            let (flow, Some(peer)) = self.flows.two(id, peer) else { return class };
            let Some(responses) = peer.responses.get_mut() else { return class };
            if let Some(by) = by {
                if let Some(lost) = responses.asked_again(&again, &flow.requests, (time, frame), by) {
                    flow.requests.lost_data(&lost);
                }
            } else if let Some(went_back) = went_back {
                // The requester had gone back for a request before this one.
                responses.asked_with(psn, frame, went_back);
            }
        }
        class
    }

    /// An atomic was requested again, and its requester went back to it for this reason: its answer was lost.
    #[cold]
    fn on_atomic_again(&mut self, id: FlowId, psn: Psn, time: i64, by: Option<Trigger>) {
        if by != Some(Trigger::ImpliedNak) {
            return;
        }
        let peer = self.flows.get_mut(id).peer;
        let (flow, Some(peer)) = self.flows.two(id, peer) else { return };
        if let Some(lost) = flow.requests.lost_result(psn, time) {
            let lost = peer.responses.lost_result(lost);
            flow.requests.lost_data(&lost);
        }
    }

    #[inline]
    fn on_response(
        &mut self,
        id: FlowId,
        response: &Request,
        facts: &Facts,
        metrics: &mut Metrics,
    ) -> Option<Class> {
        let &Request { ref packet, operation, position, .. } = response;
        let (syndrome, msn) = facts.aeth().map(|aeth| (aeth.syndrome(), aeth.msn())).unzip();
        let psn = packet.psn;
        if self.flows.get_mut(id).peer.is_none() {
            let exact = operation != Operation::Acknowledge;
            self.connections.attempt(&mut self.flows, id, psn, exact, facts.port());
        }
        let peer = self.flows.get_mut(id).peer;
        let (flow, peer) = self.flows.two(id, peer);
        flow.completeness |= RESPONSES;
        let before = flow.responses.last_data();
        let class = if operation == Operation::ReadResponse {
            flow.follow_reads();
            let requests = peer.as_deref().map(|peer| &peer.requests);
            flow.responses.read(packet, position, requests, &flow.ids, &self.config, &mut self.resolved)
        } else {
            let said = Acknowledged {
                msn,
                negative: syndrome.is_some_and(|s| !s.is_ack()),
                atomic: operation == Operation::AtomicAcknowledge,
                copying: &self.config.copying,
            };
            Some(flow.responses.acknowledge(packet, &said, &flow.ids))
        };
        let wrap = flow.encapsulation;
        notify(metrics, &mut self.resolved, (id, Direction::Response, wrap), packet.frame);
        if class == Some(Class::CaptureDuplicate) {
            self.comes_home(id, (psn, packet.time, facts.interface()), metrics);
            return class;
        }
        if operation == Operation::Acknowledge {
            count_acknowledgement(flow, syndrome);
        }
        if let Some((peer, asking)) = peer.zip(flow.peer) {
            let response = Response {
                psn,
                operation,
                syndrome,
                time: packet.time,
                frame: packet.frame,
                interface: facts.interface(),
                repeated: class == Some(Class::Retransmission),
            };
            if operation == Operation::ReadResponse {
                peer.requests.data_came(&flow.responses.counts);
            }
            peer.requests.answer(&response, &mut self.resolved, &self.config);
            notify(metrics, &mut self.resolved, (asking, Direction::Request, wrap), packet.frame);
            self.notify_measured(id, metrics);
        }
        if let Some(before) = before.filter(|_| operation == Operation::ReadResponse) {
            self.after_data(id, before, facts, class);
        }
        class
    }

    /// An answer was recorded again. Where its requests are recorded first, it ends what they began.
    #[cold]
    pub(super) fn comes_home(&mut self, id: FlowId, (psn, time, at): (Psn, i64, u16), metrics: &mut Metrics) {
        let Some(asking) = self.flows.peer(id) else { return };
        let [first, home] = [id, asking].map(|flow| self.network.passages.first(flow));
        if home == Some(at) && first != home {
            self.flows.get_mut(asking).requests.answered_at_home(psn, time, at, &self.config);
            self.notify_measured(id, metrics);
        }
    }

    /// A READ response was taken: notes the silence before it. `before`: the time of the one before.
    fn after_data(&mut self, id: FlowId, before: i64, facts: &Facts, class: Option<Class>) {
        let last = self.flows.unsettled(id).responses.last_data();
        let is_again = class == Some(Class::Retransmission);
        let silence = last.map_or(0, |last| last - before);
        if silence > self.quiet_ns || silence > 0 && is_again {
            self.silent_data(id, before, facts, is_again);
        }
    }
}

#[inline]
fn count_acknowledgement(flow: &mut Flow, syndrome: Option<Syndrome>) {
    match syndrome.map(Syndrome::meaning) {
        Some(Acknowledgement::Ack { .. }) => flow.acks += 1,
        Some(Acknowledgement::RnrNak { .. }) => flow.signals_mut().rnr_naks += 1,
        Some(Acknowledgement::Nak(code)) => {
            let at = match code {
                NakCode::PsnSequenceError => 0,
                NakCode::InvalidRequest => 1,
                NakCode::RemoteAccessError => 2,
                NakCode::RemoteOperationalError => 3,
                NakCode::InvalidRdRequest => 4,
                NakCode::Reserved(_) => return,
            };
            flow.signals_mut().naks[at] += 1;
        }
        _ => {}
    }
}

impl Trigger {
    /// The trigger whose count has grown.
    fn of_change(before: &[u32; 5], after: &[u32; 5]) -> Option<Trigger> {
        const ALL: [Trigger; 5] =
            [Trigger::Nak, Trigger::Timeout, Trigger::Rnr, Trigger::ImpliedNak, Trigger::Unknown];
        ALL.into_iter().find(|&trigger| after[trigger as usize] > before[trigger as usize])
    }
}
