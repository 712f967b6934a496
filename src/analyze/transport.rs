//! A packet of the transport finds its flow, its PSN space and its class.

use super::{
    Analysis, FlowId, Observer, Space,
    connection::{Place as PlaceOfRequests, is_new_place, is_tried},
    facts::Facts,
    flow::{Flow, REQUESTS, RESPONSES},
    metric::overhead,
    track::{
        Class, Trigger,
        class::Place,
        request::{Request, Response},
        response::Acknowledged,
        sequence::{Packet, Resolved},
    },
};
use crate::{
    dissect::{Dissection, Encapsulation},
    opcode::{Direction, Opcode, Operation, PayloadRule, Service, Shape},
    wire::*,
};

impl Analysis {
    /// A packet of the transport: its flow, and its class where that is known at once. `whole` is there for what
    /// facts do not tell: management.
    #[inline(always)]
    pub(super) fn see_transport(
        &mut self,
        facts: &impl Facts,
        whole: Option<&Dissection<'_>>,
    ) -> (Option<FlowId>, Option<Class>) {
        self.capture.rdma_packets += 1;
        let corrupt = self.is_corrupt(facts);
        if !corrupt && let Some(id) = self.see_expected(facts) {
            let seen = (Some(id), Some(Class::New));
            self.count(facts, seen, false);
            return seen;
        }
        self.see_in_full(facts, whole, corrupt)
    }

    /// Takes a packet that nothing needs to be found out about, as nearly all are: see [`Flow::expects`]. What
    /// [`place`](Self::place) would do comes down to this then.
    #[inline(always)]
    fn see_expected(&mut self, facts: &impl Facts) -> Option<FlowId> {
        let shape = facts.opcode().shape();
        if !shape.is_streamed {
            let is_data = shape.operation == Some(Operation::ReadResponse);
            return if is_data { self.see_expected_data(facts, shape) } else { None };
        }
        let (id, frame) = (self.flows.see(&facts.key()?)?, self.number());
        let flow = self.flows.get_mut(id);
        if !flow.expects(facts, shape) {
            return None;
        }
        let is_alike = flow.looks.is_as_last(facts.look());
        flow.take_expected(facts, shape, frame, &self.knobs);
        if is_new_place(flow) {
            self.connections.moved(&self.flows, id);
        }
        // One that has another source port with every packet would have as many stretches.
        if is_alike {
            self.flows.begin_stretch(id, facts, &self.knobs);
        }
        self.say(Some(Direction::Request), Class::New);
        Some(id)
    }

    /// The same of a READ response.
    #[inline(never)]
    fn see_expected_data(&mut self, facts: &impl Facts, shape: &Shape) -> Option<FlowId> {
        let (id, frame) = (self.flows.see(&facts.key()?)?, self.number());
        let peer = self.flows.get(id).peer;
        let (flow, peer) = self.flows.two(id, peer);
        let tells_mtu = shape.payload == PayloadRule::Full
            && peer.as_ref().is_some_and(|peer| !peer.requests.knows_mtu());
        if tells_mtu || peer.is_none() && is_tried(flow) || !flow.expects_data(facts) {
            return None;
        }
        let is_alike = flow.looks.is_as_last(facts.look());
        flow.take_expected_data(facts, shape, frame);
        let mut goes_on = false;
        if let Some(peer) = peer {
            peer.requests.answer(&Response::with_data(facts, frame), &mut self.resolved, &self.knobs);
            // What tells the path MTU is to be looked at.
            goes_on = is_alike && peer.requests.knows_mtu();
            if !self.resolved.is_empty() {
                let place = (Direction::Request, flow.encapsulation);
                tell(&mut self.observer, &mut self.resolved, &mut self.overhead, place, frame);
            }
        }
        if goes_on {
            self.flows.begin_stretch(id, facts, &self.knobs);
        }
        self.say(Some(Direction::Response), Class::New);
        Some(id)
    }

    /// The same of any packet.
    #[inline(never)]
    fn see_in_full(
        &mut self,
        facts: &impl Facts,
        whole: Option<&Dissection<'_>>,
        corrupt: bool,
    ) -> (Option<FlowId>, Option<Class>) {
        let seen = self.place(facts, whole, corrupt);
        self.count(facts, seen, facts.is_control());
        seen
    }

    /// A packet finds its flow, its PSN space and its class.
    #[inline(always)]
    fn place(
        &mut self,
        facts: &impl Facts,
        whole: Option<&Dissection<'_>>,
        corrupt: bool,
    ) -> (Option<FlowId>, Option<Class>) {
        let Some(key) = &facts.key() else {
            self.say(None, Class::Unsequenced);
            return (None, None);
        };
        let (opcode, psn, l1_bytes, icrc) = (facts.opcode(), facts.psn(), facts.l1_bytes(), facts.icrc());
        let service = opcode.service();
        let (time, frame) = (facts.time(), self.number());
        let id = if corrupt {
            // A wrong packet proves nothing, not even that there is such a flow.
            match self.flows.find(key) {
                Some(id) => id,
                None => {
                    self.remember_stray(key, opcode.0, l1_bytes, icrc);
                    self.say(None, Class::Corrupt);
                    return (None, None);
                }
            }
        } else {
            match self.flows.see(key) {
                Some(id) => id,
                None => self.begin(key, facts),
            }
        };
        let mut flow = self.flows.get_mut(id);
        if flow.renew || flow.was_silent(time) && flow.is_reused(opcode, psn) {
            self.renew(id, service, time, psn.0);
            flow = self.flows.get_mut(id);
        }
        if flow.service == Service::Cn {
            // Only notifications so far: they do not tell.
            flow.service = service;
        }

        flow.count(facts);
        if corrupt {
            return (Some(id), self.see_corrupt(id, opcode));
        }
        flow.look_at(facts);
        let payload = facts.payload();
        let shape = opcode.shape();
        let operation = match shape.operation {
            Some(Operation::Cnp) => {
                flow.cnps += 1;
                if let Some(id) = facts.ip_id() {
                    flow.ids.see(id);
                }
                self.say(None, Class::Unsequenced);
                return (Some(id), None);
            }
            Some(operation) if matches!(service, Service::Rc | Service::Uc | Service::Xrc | Service::Rd) => {
                operation
            }
            _ => {
                self.see_datagram(id, facts, whole);
                return (Some(id), None);
            }
        };
        let (position, direction) = (shape.position, shape.direction);
        let is_request = direction == Direction::Request;
        flow.last_psn = psn.0;
        flow.payload_bytes += payload as u64;
        if shape.payload == PayloadRule::Full {
            let moved = match flow.peer {
                _ if is_request => flow.requests.full_packet(payload).then_some(id),
                Some(peer) => self.flows.get_mut(peer).requests.full_packet(payload).then_some(peer),
                None => None,
            };
            if let Some(id) = moved {
                self.connections.moved(&self.flows, id);
            }
        }
        let packet = Packet::of(facts, frame);
        let mut request = Request { packet, operation, position, message_bytes: facts.dma_len() };
        let class = match is_request {
            true => self.see_request(id, &mut request),
            false => self.see_response(id, &request, facts),
        };
        let is_duplicate = class == Some(Class::CaptureDuplicate);
        if !is_duplicate && let Some(ip_id) = facts.ip_id() {
            self.flows.get_mut(id).ids.see(ip_id);
        }
        self.capture.duplicates += is_duplicate as u64;
        if let Some(class) = class {
            self.say(Some(direction), class);
        }
        (Some(id), class)
    }

    /// A wrong packet of a flow that was seen before.
    #[cold]
    #[inline(never)]
    fn see_corrupt(&mut self, id: FlowId, opcode: Opcode) -> Option<Class> {
        let flow = self.flows.get_mut(id);
        let direction = opcode.operation().map(|_| opcode.direction());
        let counts = match direction {
            Some(Direction::Response) => &mut flow.responses.counts,
            _ => &mut flow.requests.counts,
        };
        counts.packets += 1;
        counts.class(Class::Corrupt);
        counts.lost(Place::Corrupt, 1, 1);
        if direction == Some(Direction::Request) {
            flow.requests.corrupt();
        }
        self.say(direction, Class::Corrupt);
        None
    }

    /// A packet in no PSN space that could be followed.
    #[inline(never)]
    fn see_datagram(&mut self, id: FlowId, facts: &impl Facts, whole: Option<&Dissection<'_>>) {
        let flow = self.flows.get_mut(id);
        flow.requests.counts.packets += 1;
        flow.requests.counts.class(Class::Unsequenced);
        flow.requests.goodput += facts.payload() as u64;
        flow.payload_bytes += facts.payload() as u64;
        flow.last_psn = facts.psn().0;
        if let Some(id) = facts.ip_id() {
            flow.ids.see(id);
        }
        if facts.opcode().service() == Service::Ud
            && let (Some(key), Some(d)) = (facts.key(), whole)
            && key.dest_qp() == 1
        {
            self.see_management(d, &key);
        }
        self.say(Some(Direction::Request), Class::Unsequenced);
    }

    #[inline]
    fn see_request(&mut self, id: FlowId, request: &mut Request) -> Option<Class> {
        let psn = request.packet.psn;
        let flow = self.flows.get_mut(id);
        flow.completeness |= REQUESTS;
        let place = PlaceOfRequests::of(flow);
        let before =
            if request.operation == Operation::ReadRequest { flow.requests.counts.triggers } else { [0; 5] };
        let class = flow.requests.see(request, &flow.ids, &self.knobs, &mut self.resolved);
        if !self.resolved.is_empty() {
            let wrap = flow.encapsulation;
            tell(
                &mut self.observer,
                &mut self.resolved,
                &mut self.overhead,
                (Direction::Request, wrap),
                request.packet.frame,
            );
        }
        if PlaceOfRequests::of(self.flows.get(id)) != place {
            self.connections.moved(&self.flows, id);
        }
        let flow = self.flows.get_mut(id);
        // A READ asked for again tells what became of its response.
        if request.operation == Operation::ReadRequest && class == Some(Class::Retransmission) {
            let by = Trigger::of_change(&before, &flow.requests.counts.triggers);
            if let (Some(by), Some(peer)) = (by, flow.peer) {
                let x = flow.requests.seq.unwrap(psn);
                let middle = flow.requests.reads().any(|read| read.first < x && x < read.end);
                if let Some(responses) = self.flows.get_mut(peer).responses.get_mut() {
                    responses.asked_again(psn, request.packet.time, middle, by);
                }
            }
        }
        class
    }

    #[inline]
    fn see_response(&mut self, id: FlowId, response: &Request, facts: &impl Facts) -> Option<Class> {
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
        let class = if operation == Operation::ReadResponse {
            flow.follow_reads();
            let requests = peer.as_deref().map(|peer| &peer.requests);
            flow.responses.read(packet, position, requests, &flow.ids, &self.knobs, &mut self.resolved)
        } else {
            let said = Acknowledged {
                msn,
                negative: syndrome.is_some_and(|s| !s.is_ack()),
                atomic: operation == Operation::AtomicAcknowledge,
                recorded_twice: self.capture.duplicates > 0,
            };
            Some(flow.responses.acknowledge(packet, &said, &flow.ids))
        };
        let wrap = flow.encapsulation;
        if !self.resolved.is_empty() {
            let place = (Direction::Response, wrap);
            tell(&mut self.observer, &mut self.resolved, &mut self.overhead, place, packet.frame);
        }
        if class == Some(Class::CaptureDuplicate) {
            return class;
        }
        if operation == Operation::Acknowledge {
            count_acknowledgement(flow, syndrome);
        }
        if let Some(peer) = peer {
            let response = Response {
                psn,
                operation,
                syndrome,
                time: packet.time,
                frame: packet.frame,
                repeated: class == Some(Class::Retransmission),
            };
            peer.requests.answer(&response, &mut self.resolved, &self.knobs);
            if !self.resolved.is_empty() {
                let place = (Direction::Request, wrap);
                tell(&mut self.observer, &mut self.resolved, &mut self.overhead, place, packet.frame);
            }
        }
        class
    }
}

/// Tell the observer of verdicts that waited; the packet at hand is told of by whoever sees it.
pub(super) fn tell(
    observer: &mut Option<Observer>,
    resolved: &mut Vec<Resolved>,
    overhead: &mut overhead::Overhead,
    (space, wrap): (Space, Encapsulation),
    number: u64,
) {
    for verdict in resolved.drain(..).filter(|verdict| verdict.fill.frame != number) {
        if verdict.class == Class::Retransmission {
            overhead.retransmitted(wrap, verdict.fill.l1_bytes);
        }
        if let Some(observer) = observer {
            observer(verdict.fill.frame, Some(space), verdict.class);
        }
    }
}

#[inline]
fn count_acknowledgement(flow: &mut Flow, syndrome: Option<Syndrome>) {
    match syndrome.map(Syndrome::meaning) {
        Some(Acknowledgement::Ack { .. }) => flow.acks += 1,
        Some(Acknowledgement::RnrNak { .. }) => flow.rnr_naks += 1,
        Some(Acknowledgement::Nak(code)) => {
            let at = match code {
                NakCode::PsnSequenceError => 0,
                NakCode::InvalidRequest => 1,
                NakCode::RemoteAccessError => 2,
                NakCode::RemoteOperationalError => 3,
                NakCode::InvalidRdRequest => 4,
                NakCode::Reserved(_) => return,
            };
            flow.naks[at] += 1;
        }
        _ => {}
    }
}

impl Trigger {
    /// Which count went up.
    fn of_change(before: &[u32; 5], after: &[u32; 5]) -> Option<Trigger> {
        const ALL: [Trigger; 5] =
            [Trigger::Nak, Trigger::Timeout, Trigger::Rnr, Trigger::ImpliedNak, Trigger::Unknown];
        ALL.into_iter().find(|&trigger| after[trigger as usize] > before[trigger as usize])
    }
}
