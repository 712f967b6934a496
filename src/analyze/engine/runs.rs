//! The shortcut for packets that continue a run, and for acknowledgements of such packets. Most packets of a capture are one of
//! these two.

use super::tracker::{Tracker, notify};
use crate::{
    analyze::{
        metric::{Metrics, Placed},
        model::{Class, FlowId},
        packet::{Facts, FastForm},
        table::{Responder, flow::RESPONSES},
        track::{
            request::Response,
            response::Acknowledged,
            silence::{RequesterState, SilenceEnd},
            step::Packet,
        },
    },
    icrc::State,
    opcode::{Direction, Operation, Service},
};

/// The memory of a flow with a run is measured again after this number of messages.
const MEASURED: u64 = 64;

impl Tracker {
    /// Takes a packet if it is the next one of a run. Where it is not `KNOWN` to have the fast form, that is checked too. `rest`: bytes
    /// captured after its link header, as if it were over IPv4.
    #[inline(always)]
    pub(crate) fn continues_run<const KNOWN: bool>(
        &mut self,
        packet: &impl FastForm,
        rest: usize,
        icrc: impl FnOnce() -> State,
    ) -> bool {
        let shape = packet.fast().opcode().shape();
        if !shape.is_streamed {
            // The call gets a copy, so that the original stays in registers.
            return shape.is_data_within() && self.continues_data_run::<KNOWN>(&packet.clone(), rest, icrc);
        }
        let Some(id) = self.flows.with_run_for(packet) else { return false };
        self.continues_run_of::<KNOWN>(id, packet, rest, icrc)
    }

    /// Takes a packet if it is the next one of this flow's run. The packet must be [of this run](crate::analyze::table::run::InOrderRun::is_of).
    #[inline(always)]
    pub(crate) fn continues_run_of<const KNOWN: bool>(
        &mut self,
        id: FlowId,
        packet: &impl FastForm,
        rest: usize,
        icrc: impl FnOnce() -> State,
    ) -> bool {
        let (shape, frame) = (packet.fast().opcode().shape(), self.number() + 1);
        let Some(run) = self.flows.run(id) else { return false };
        let is_right = if KNOWN { packet.ip_right() } else { packet.is_ip_right() };
        if !self.trust.accepts_ip(is_right) || !self.window.has(packet.fast().time()) {
            return false;
        }
        let Some(next) = run.next::<KNOWN>(packet, shape, rest) else { return false };
        let icrc = icrc();
        if !self.trust.accepts(icrc) {
            return false;
        }
        let silence = next.silence;
        if let Some((bytes, waiting)) = run.take(next, packet, shape, frame, icrc)
            && self.flows.completed(id, bytes, waiting).is_multiple_of(MEASURED)
        {
            self.account_memory_of_run(id);
        }
        self.bursts.pass(id, packet.fast().time(), packet.l1_bytes());
        self.count_accepted(packet, icrc, is_right);
        if silence > self.quiet_ns as u64 {
            self.silent_in_run(id, &packet.facts(), silence as i64);
        }
        true
    }

    /// Notes the silence before a packet that a run took.
    #[cold]
    #[inline(never)]
    fn silent_in_run(&mut self, id: FlowId, packet: &Facts, silence: i64) {
        let Some(x) = self.flows.run(id).map(|run| run.last_unwrapped()) else { return };
        let begins = packet.opcode().shape().begins;
        // The message that this packet ended waits already.
        let ended = packet.opcode().shape().ends as u32;
        let state = self.flows.unsettled(id).requests.state_before(x);
        let state = RequesterState {
            from: packet.time() - silence,
            messages: state.messages - ended.min(state.messages),
            is_within: !begins,
            ..state
        };
        let (time, retransmits) = (packet.time(), state.retransmits);
        let end = SilenceEnd { time, begins, again: None, shows_timeout: false, retransmits };
        self.silent(id, state, end, packet);
    }

    /// Takes a response from the middle of a READ if it is the next packet of a run, and the requests may learn of it later.
    /// That holds for nearly all such responses.
    #[inline(never)]
    pub(crate) fn continues_data_run<const KNOWN: bool>(
        &mut self,
        packet: &impl FastForm,
        rest: usize,
        icrc: impl FnOnce() -> State,
    ) -> bool {
        let (shape, frame) = (packet.fast().opcode().shape(), self.number() + 1);
        let Some(id) = self.flows.with_run_for(packet) else { return false };
        let is_right = if KNOWN { packet.ip_right() } else { packet.is_ip_right() };
        if !self.trust.accepts_ip(is_right) || !self.window.has(packet.fast().time()) {
            return false;
        }
        let Some(run) = self.flows.run(id) else { return false };
        let Some(packets) = run.next_to_wait::<KNOWN>(packet, shape, rest) else { return false };
        let icrc = icrc();
        if !self.trust.accepts(icrc) {
            return false;
        }
        let silence = run.silence(packet.fast().time());
        run.take_to_wait(packets, packet, shape, frame, icrc);
        self.bursts.pass(id, packet.fast().time(), packet.l1_bytes());
        self.count_accepted(packet, icrc, is_right);
        if silence > self.quiet_ns {
            self.silent_data(id, packet.fast().time() - silence, &packet.facts(), false);
        }
        true
    }

    /// Counts a packet that a run took.
    #[inline(always)]
    fn count_accepted(&mut self, packet: &impl FastForm, icrc: State, is_right: Option<bool>) {
        self.capture.count(&packet.frame());
        self.capture.rdma_packets += 1;
        self.trust.accept(icrc, is_right);
    }

    /// Takes an ACK of a flow whose peer is known, if it is not corrupt: the part of [`place`](Self::place) that it needs. Runs
    /// go on.
    #[inline]
    pub(super) fn acknowledges(&mut self, packet: &Facts, metrics: &mut Metrics) -> bool {
        let Some(aeth) = packet.aeth().filter(|aeth| aeth.syndrome().is_ack()) else { return false };
        let is_right = packet.ip_right();
        if !self.trust.accepts(packet.icrc()) || !self.trust.accepts_ip(is_right) {
            return false;
        }
        let Some(id) = packet.key().and_then(|key| self.flows.found(key)) else { return false };
        let frame = self.number();
        let Some(Responder { flow, peer, asking, mut own, asked, seen }) = self.flows.responder(id) else {
            return false;
        };
        let is_usual = !flow.renew && !flow.was_silent(packet.time()) && flow.service != Service::Cn;
        // The list of source ports is in the order of the packets.
        if !is_usual || own.as_ref().is_some_and(|own| !own.has_port_of(packet)) {
            return false;
        }
        *seen = true;
        flow.count(packet);
        flow.note_path(packet);
        flow.last_psn = packet.psn().0;
        flow.completeness |= RESPONSES;
        let ids = match &mut own {
            Some(own) => own.interrupt(),
            None => &mut flow.ids,
        };
        let sighting = Packet::of(packet, frame);
        let said = Acknowledged {
            msn: Some(aeth.msn()),
            negative: false,
            atomic: false,
            copying: &self.config.copying,
        };
        let class = flow.responses.acknowledge(&sighting, &said, ids);
        if class != Class::CaptureDuplicate {
            match packet.ip_id() {
                Some(id) if class == Class::RepeatedAck => ids.push_repeated(id),
                Some(id) => ids.push(id),
                None => {}
            }
            flow.acks += 1;
            let response = Response {
                psn: packet.psn(),
                operation: Operation::Acknowledge,
                syndrome: Some(aeth.syndrome()),
                time: packet.time(),
                frame,
                interface: packet.interface(),
                repeated: false,
            };
            let wrap = flow.encapsulation;
            let continues = match asked.filter(|asked| !asked.is_data()) {
                Some(asked) => asked.answer(peer, &response, &mut self.resolved, &self.config),
                None => {
                    peer.requests.answer(&response, &mut self.resolved, &self.config);
                    true
                }
            };
            if !continues {
                self.flows.settle_peer(id);
            }
            notify(metrics, &mut self.resolved, (asking, Direction::Request, wrap), frame);
            self.notify_measured(id, metrics);
        } else {
            flow.was_noted(packet, false);
            self.comes_home(id, (packet.psn(), packet.time(), packet.interface()), metrics);
        }
        self.capture.rdma_packets += 1;
        self.trust.accept(packet.icrc(), is_right);
        let (flow, space, class) = (Some(id), Some(Direction::Response), Some(class));
        let peer = self.flows.peer(id);
        let (epoch, peer_qp) = self.identity(flow);
        let (is_marked_later, is_control, goodput) = (false, true, 0);
        let place =
            Placed { frame, flow, space, class, is_marked_later, is_control, peer, epoch, peer_qp, goodput };
        self.notify_packet(packet, &place, metrics);
        self.account_memory(id);
        true
    }

    /// Takes a READ response if it is the next packet of a run of READ responses.
    #[inline(never)]
    pub(super) fn takes_data(&mut self, packet: &impl FastForm, metrics: &mut Metrics) -> bool {
        let (icrc, is_right) = (packet.fast().icrc(), packet.ip_right());
        if !self.trust.accepts(icrc)
            || !self.trust.accepts_ip(is_right)
            || !self.window.has(packet.fast().time())
        {
            return false;
        }
        let Some(id) = self.flows.with_run_for(packet) else { return false };
        let (shape, frame) = (packet.fast().opcode().shape(), self.number());
        let Some((run, asker, asking)) = self.flows.answering(id) else { return false };
        let Some(packets) = run.next_data(packet, shape) else { return false };
        let (silence, plain) = (run.silence(packet.fast().time()), packet.fast());
        run.take_data(packets, packet, shape, frame);
        asking.requests.answer(
            &Response::with_data(plain.psn(), (plain.time(), frame, plain.interface())),
            &mut self.resolved,
            &self.config,
        );
        if !shape.ends
            && asking.peer == Some(id)
            && let Some(may_wait) = asking.requests.may_wait(packet.fast().psn())
        {
            run.wait(&may_wait);
            asking.is_behind = true;
        }
        notify(metrics, &mut self.resolved, (asker, Direction::Request, asking.encapsulation), frame);
        self.notify_measured(id, metrics);
        self.capture.rdma_packets += 1;
        self.bursts.pass(id, packet.fast().time(), packet.l1_bytes());
        self.trust.accept(icrc, is_right);
        if silence > self.quiet_ns {
            self.silent_data(id, packet.fast().time() - silence, &packet.facts(), false);
        }
        true
    }
}
