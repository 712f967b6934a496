//! What each host sent and was handed, as far as a capture shows.

use std::ops::Range;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::{
    fact::Fact,
    responder::{Responder, Taken, takes_buffer},
};
use crate::{
    analyze::{
        Address, Class, Facts, FlowId,
        metric::{Metric, Placed},
    },
    icrc::State,
    opcode::{Direction, Operation, PayloadRule, Service},
    sums::{Sum, sums},
    wire::{Ecn, Psn, Qpn, Syndrome},
};

/// Most hosts that are kept apart. Those beyond are not predicted.
const MAX_HOSTS: usize = 1 << 16;

/// A count at a host that saw what the tap saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    /// What the capture shows.
    pub(super) seen: u64,
    /// How many of these the host may not have counted.
    pub(super) less: u64,
    /// How many it may have counted beside them.
    pub(super) more: u64,
}
#[derive(Clone, Debug, Default)]
pub(super) struct Host {
    counts: [Count; Fact::ALL.len()],
    /// Packets that it must have been handed, because it acknowledged them.
    pub(super) proved: u64,
    /// Requests to it whose PSN the tap saw before.
    pub(super) repeats: u64,
    /// The packets that it may have sent in answer to what it was handed.
    pub(super) may_answer: u64,
    /// Its answers that no request in the capture asks for: perhaps there were copies after the tap.
    pub(super) unasked: u64,
    /// Answers to it that came after its last request over their queue pair: that may have been gone.
    pub(super) trailing: u64,
    /// Second records of requests, how many of them it answered, and second records of other packets to it.
    pub(super) copied_requests: u64,
    pub(super) copies_answered: u64,
    pub(super) copies: u64,
    /// Requests that came to it over reliable connections.
    pub(super) requests_received: u64,
    /// Data packets to it that the network may mark.
    pub(super) may_be_marked: u64,
    /// Requests that it sent over reliable connections; other packets of it, whose loss before the tap leaves no trace, and
    /// whether some are no answers.
    pub(super) requests: u64,
    pub(super) has_untraced: bool,
}

impl Sum for Count {
    fn add(&mut self, other: &Count) {
        sums! { self += other: seen, less, more }
    }
}

impl Host {
    pub(super) fn at(&mut self, fact: Fact) -> &mut Count {
        &mut self.counts[fact as usize]
    }

    pub(super) fn count(&self, fact: Fact) -> Count {
        self.counts[fact as usize]
    }

    /// Adds what came to, and from, another address of the same host.
    pub(super) fn add(&mut self, other: &Host) {
        sums! { self += other: counts, proved, repeats, may_answer, unasked, trailing, copied_requests }
        sums! { self += other: copies_answered, copies, requests_received, may_be_marked, requests, has_untraced }
    }

    fn saw(&mut self, fact: Fact) {
        self.at(fact).seen += 1;
    }
}

/// The metric behind [`predict`](super::predict): it follows both ends of each queue pair.
#[derive(Clone, Debug, Default)]
pub struct HostCounts {
    pub(super) hosts: HashMap<Address, Host, RandomState>,
    flows: HashMap<FlowId, HostFlow, RandomState>,
    /// Packets to groups: any host may have been handed them.
    pub(super) multicast: u64,
}

/// The packets from one host to a queue pair of another.
#[derive(Clone, Debug)]
struct HostFlow {
    src: Address,
    dst: Address,
    responder: Responder,
    /// Behind the last PSN whose acknowledgement the requester has, by the responses in this flow.
    acknowledged: Option<Psn>,
    /// The queue pair that the packets go to is in its error state, and takes nothing.
    has_failed: bool,
}

impl Metric for HostCounts {
    fn on_packet(&mut self, packet: &Facts, place: &Placed) {
        let (Some(src), Some(dst)) = (packet.source(), packet.destination()) else { return };
        let Some(id) = place.flow else { return };
        let is_group = matches!(dst, Address::Ip(ip) if ip.is_multicast());
        if !self.knows(src) || !is_group && !self.knows(dst) {
            return;
        }
        let opcode = packet.opcode();
        let is_request = opcode.direction() == Direction::Request;
        if place.is_capture_duplicate() {
            return self.copy(id, dst, is_request);
        }
        if place.class == Some(Class::First) && is_request {
            self.close(id);
        }
        self.host(src).saw(Fact::Sent);
        if place.class == Some(Class::Corrupt) {
            return self.corrupt(packet, dst);
        }
        if is_group {
            self.multicast += 1;
            return self.datagram(packet, src, None);
        }
        let flow = self.flows.entry(id).or_insert_with(|| HostFlow {
            src,
            dst,
            responder: Responder::default(),
            acknowledged: None,
            has_failed: false,
        });
        if flow.has_failed {
            return;
        }
        self.arrives(packet, dst, place.is_control);
        match (opcode.service(), opcode.operation()) {
            (_, Some(Operation::Cnp)) => {
                let sender = self.host(src);
                sender.saw(Fact::CnpsSent);
                sender.has_untraced = true;
                self.host(dst).saw(Fact::CnpsReceived);
            }
            (Service::Rc | Service::Xrc, Some(operation)) if is_request => {
                self.request(packet, id, operation, place);
            }
            (Service::Rc | Service::Xrc, _) => self.response(packet, id, place.peer),
            (Service::Uc, Some(operation)) => self.unreliable(packet, id, operation),
            _ => self.datagram(packet, src, Some(dst)),
        }
    }

    fn on_retire(&mut self, flow: FlowId) {
        self.close(flow);
    }

    /// Every packet comes by itself.
    fn span(&self, time_ns: i64) -> Range<i64> {
        time_ns..time_ns
    }
}

impl HostCounts {
    /// The hosts, after all packets.
    pub(super) fn ended(&self) -> HashMap<Address, Host, RandomState> {
        let mut all = self.clone();
        let ids: Vec<FlowId> = all.flows.keys().copied().collect();
        ids.into_iter().for_each(|id| all.close(id));
        all.hosts
    }

    fn knows(&mut self, address: Address) -> bool {
        if self.hosts.len() >= MAX_HOSTS {
            return self.hosts.contains_key(&address);
        }
        self.hosts.entry(address).or_default();
        true
    }

    fn host(&mut self, address: Address) -> &mut Host {
        self.hosts.entry(address).or_default()
    }

    /// A flow ends, or another one begins in its place.
    fn close(&mut self, id: FlowId) {
        let Some(HostFlow { src, dst, responder, .. }) = self.flows.remove(&id) else { return };
        let open = |wanted: fn(&super::responder::Open) -> bool| {
            responder.open.iter().filter(|open| wanted(open)).count() as u64 + responder.forgotten
        };
        let sender = self.host(src);
        sender.at(Fact::SendsDone).more += open(|open| open.is_send);
        sender.trailing += responder.trailing;
        let host = self.host(dst);
        host.at(Fact::ReceivesDone).more += open(|_| true);
        host.at(Fact::Received).less += responder.unanswered;
        host.proved += responder.proved();
        let unasked = responder.unasked();
        host.unasked += unasked;
        host.copied_requests += responder.copies;
        // Each copy of a request is answered.
        host.copies_answered += responder.copies.min(unasked);
    }

    /// A second record of a packet. At the host's own tap it is a copy that the network made.
    fn copy(&mut self, id: FlowId, dst: Address, is_request: bool) {
        match self.flows.get_mut(&id).filter(|_| is_request) {
            Some(flow) => flow.responder.copies += 1,
            None => self.host(dst).copies += 1,
        }
    }

    /// A packet whose IP header's checksum is wrong does not get as far as the transport.
    fn corrupt(&mut self, packet: &Facts, dst: Address) {
        if packet.icrc() == State::Bad && packet.ip_right() != Some(false) {
            self.host(dst).saw(Fact::BadIcrcs);
        }
    }

    fn arrives(&mut self, packet: &Facts, dst: Address, is_control: bool) {
        let host = self.host(dst);
        host.saw(Fact::Received);
        if !is_control && packet.mark() != Ecn(0) {
            host.may_be_marked += 1;
            host.at(Fact::Marked).seen += (packet.mark() == Ecn::CE) as u64;
        }
    }

    fn datagram(&mut self, packet: &Facts, src: Address, dst: Option<Address>) {
        let sender = self.host(src);
        sender.saw(Fact::SendsDone);
        sender.has_untraced = true;
        let Some(dst) = dst else { return };
        // Linux keeps buffers at the management queue pairs. Without a buffer, a datagram is dropped silently.
        let is_sure = packet.dest_qp().is_some_and(|Qpn(qp)| qp <= 1);
        let receives = self.host(dst).at(Fact::ReceivesDone);
        receives.seen += 1;
        receives.less += !is_sure as u64;
    }

    fn unreliable(&mut self, packet: &Facts, id: FlowId, operation: Operation) {
        let Some(flow) = self.flows.get_mut(&id) else { return };
        let (src, dst, is_done) = (flow.src, flow.dst, flow.responder.unreliable(packet));
        let sender = self.host(src);
        sender.has_untraced = true;
        if packet.opcode().shape().ends && operation == Operation::Send {
            sender.saw(Fact::SendsDone);
        }
        if is_done && takes_buffer(packet, operation) {
            let receives = self.host(dst).at(Fact::ReceivesDone);
            receives.seen += 1;
            receives.less += 1;
        }
    }

    fn request(&mut self, packet: &Facts, id: FlowId, operation: Operation, place: &Placed) {
        let shape = packet.opcode().shape();
        let Some(flow) = self.flows.get_mut(&id) else { return };
        let (src, dst, responder) = (flow.src, flow.dst, &mut flow.responder);
        if shape.payload == PayloadRule::Full {
            responder.mtu = Some(packet.payload());
        }
        let is_new = matches!(place.class, Some(Class::New | Class::First));
        let (taken, is_repeat) = responder.request(packet, operation, is_new);
        let answers = responder.psns(packet, operation).0;
        self.host(src).requests += 1;
        let host = self.host(dst);
        host.requests_received += 1;
        host.may_answer += answers as u64;
        host.repeats += is_repeat as u64;
        host.at(Fact::Duplicates).seen += (taken == Taken::Before) as u64;
        let kind = match operation {
            Operation::Write => Fact::WriteRequests,
            Operation::ReadRequest => Fact::ReadRequests,
            Operation::CompareSwap | Operation::FetchAdd => Fact::AtomicRequests,
            _ => return,
        };
        if shape.begins {
            let count = host.at(kind);
            count.seen += (taken == Taken::Next) as u64;
            count.more += (taken != Taken::Next) as u64;
        }
    }

    fn response(&mut self, packet: &Facts, id: FlowId, peer: Option<FlowId>) {
        let (psn, syndrome) = (packet.psn(), packet.syndrome());
        let Some(flow) = self.flows.get_mut(&id) else { return };
        let (src, dst, known) = (flow.src, flow.dst, flow.acknowledged);
        // A refusal acknowledges what is before it.
        let is_refusal = syndrome.is_some_and(|syndrome| !syndrome.is_ack());
        let behind = if is_refusal { psn } else { psn.plus(1) };
        if known.is_none_or(|known| behind.distance_from(known) > 0) {
            flow.acknowledged = Some(behind);
        }
        let (mut first, mut is_of_use) = (None, true);
        let mut done = (0, 0);
        let is_fatal = syndrome.is_some_and(|s| s.is_nak() && s != Syndrome::PSN_SEQUENCE_ERROR);
        // Requests behind the one that failed: the queue pair may have been in its error state.
        let mut dropped = 0;
        if let Some(HostFlow { responder, .. }) = peer.and_then(|peer| self.flows.get_mut(&peer)) {
            if packet.opcode().payload_rule() == PayloadRule::Full {
                responder.mtu = Some(packet.payload());
            }
            if is_fatal {
                dropped = responder.unanswered.saturating_sub(1);
            }
            (first, responder.unanswered) = (responder.first, 0);
            responder.trailing += 1;
            responder.answers += packet.is_acknowledge() as u64;
            for open in responder.acknowledge(behind) {
                done = (done.0 + open.is_send as u64, done.1 + 1);
            }
            if is_refusal {
                is_of_use = responder.moved_past(psn);
                responder.complain(psn, syndrome.is_some_and(Syndrome::is_rnr));
            }
        }
        self.host(dst).at(Fact::SendsDone).seen += done.0;
        self.host(src).at(Fact::ReceivesDone).seen += done.1;
        if let Some(syndrome) = syndrome.filter(|_| is_refusal) {
            let is_beyond = known.or(first).map(|known| psn.distance_from(known) > 0);
            self.refuse(syndrome, [src, dst], is_beyond, is_of_use);
            self.host(src).at(Fact::Received).less += dropped;
            if is_fatal {
                for id in [Some(id), peer].into_iter().flatten() {
                    self.flows.entry(id).and_modify(|flow| flow.has_failed = true);
                }
            }
        }
    }

    /// A NAK or an RNR NAK. `is_beyond`: it acknowledges something new, where that is known.
    fn refuse(
        &mut self,
        syndrome: Syndrome,
        [src, dst]: [Address; 2],
        is_beyond: Option<bool>,
        is_of_use: bool,
    ) {
        if syndrome.is_rnr() {
            self.host(src).saw(Fact::RnrSent);
            return self.host(dst).saw(Fact::RnrReceived);
        }
        match syndrome {
            Syndrome::PSN_SEQUENCE_ERROR => {
                self.host(src).saw(Fact::OutOfSequence);
                let host = self.host(dst);
                host.saw(Fact::SequenceNaks);
                let new = host.at(Fact::NewSequenceNaks);
                new.seen += (is_beyond == Some(true)) as u64;
                new.less += (is_beyond == Some(true) && !is_of_use) as u64;
                new.more += is_beyond.is_none() as u64;
            }
            Syndrome::INVALID_REQUEST => self.host(dst).saw(Fact::InvalidRequestNaks),
            Syndrome::REMOTE_ACCESS_ERROR => self.host(dst).saw(Fact::AccessNaks),
            Syndrome::REMOTE_OPERATIONAL_ERROR => self.host(dst).saw(Fact::OperationNaks),
            _ => {}
        }
    }
}
