//! A stretch of a flow: requests, or READ responses, that look alike and follow each other, while nothing happens to them.
//! They are counted where all of them need is close together, and the flow, which takes a dozen cache lines, learns of them
//! when the stretch ends: with a packet that is not the next one, or is of another kind, or when somebody asks for the flow.
//! Where there are more flows than caches hold, two lines are waited for instead of a dozen. Requests learn of acknowledgements
//! at once; of the READ responses in the middle of a READ when something else comes, or when somebody asks for them.

use super::{
    Analysis, Class, FARTHEST, FlowId,
    facts::Facts,
    flow::{Flow, RESPONSES},
    flows::Responder,
    metric::Seen,
    plain::{Alike, AnyPlain, Plain, Wrapped, verify_plain},
    track::{
        order::IdOrder,
        request::{Course, Knobs, MayWait, Response, Waiting},
        response::{Acknowledged, Responses},
        sequence::{Packet, Resolved},
    },
    transport::tell,
};
use crate::{
    capture::Record,
    cost::{FCS, GAP, ICRC, PREAMBLE, SHORTEST_FRAME},
    dissect::Encapsulation,
    icrc::State,
    opcode::{Direction, Opcode, Operation, PayloadRule, Service, Shape},
    wire::*,
};

/// Where a flow's packets are counted while they are a stretch.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Stretch {
    /// What its packets have alike; nothing where there is no stretch.
    alike: Alike,
    course: Course,
    /// Bytes of all, from their network headers on.
    bytes: u32,
    /// The flow's.
    ids: IdOrder,
    /// How often each [part](Shape::part) was there.
    packets: [u8; Shape::PARTS],
}

const _: () = assert!(size_of::<Stretch>() == 128);

/// What the next packet of a stretch is.
struct Next {
    /// Since the one before.
    silence: u64,
    /// How many there are of its part then.
    packets: u8,
}

/// What the packets of a stretch add to the sums over all flows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sum {
    pub(crate) flow: FlowId,
    pub(crate) wrap: Encapsulation,
    pub(crate) ecn: Ecn,
    pub(crate) packets: u64,
    pub(crate) l1_bytes: u64,
    pub(crate) payload: u64,
    pub(crate) extended: u64,
    pub(crate) pad: u64,
    pub(crate) vlan: u64,
    pub(crate) network: u64,
}

impl Stretch {
    /// From now on a flow's packets are counted here, if they can be: the last one was this.
    pub(super) fn begin(&mut self, flow: &mut Flow, facts: &impl Facts, alike: Alike, knobs: &Knobs) -> bool {
        // Further from the end of time than a stretch is long.
        let is_near = facts.time().unsigned_abs() <= FARTHEST as u64 / 2;
        if facts.ecn() == Ecn::CE || !is_near {
            return false;
        }
        let course = match facts.opcode().direction() {
            Direction::Request => flow.requests.begin_course(knobs),
            Direction::Response => flow.responses.get_mut().and_then(Responses::begin_course),
        };
        let Some(course) = course else { return false };
        *self = Stretch { alike, course, ids: flow.ids, ..Stretch::default() };
        true
    }

    /// Whether a packet [of its flow](Self::is_of) is the next one. Of one that is not `KNOWN` to be plain, it is to be
    /// found out too; `rest`: bytes captured after its link header, as many as there were if it were over IPv4.
    #[inline(always)]
    fn next<const KNOWN: bool>(
        &mut self,
        packet: &impl AnyPlain,
        shape: &Shape,
        rest: usize,
    ) -> Option<Next> {
        if !is_fit::<KNOWN>(packet, shape, rest) {
            return None;
        }
        let silence = self.course.next(packet, shape, &self.ids)?;
        let packets = self.with_one_more(shape)?;
        if packets == 1 && shape.payload == PayloadRule::Full && !self.course.knows_mtu() {
            return None;
        }
        Some(Next { silence, packets })
    }

    /// Takes it. What it ends is a message of so many bytes.
    #[inline(always)]
    fn take(
        &mut self,
        next: Next,
        packet: &impl AnyPlain,
        shape: &Shape,
        frame: u64,
        icrc: State,
    ) -> Option<(u64, Waiting)> {
        self.count(next.packets, packet, shape);
        let message = self.course.take(next.silence, packet, shape, frame, icrc, &self.ids);
        if let Some(id) = packet.ip_id() {
            self.ids.see_another(id);
        }
        message
    }

    /// Whether a READ response that is known to be plain is the next one: how many there are of its part then.
    #[inline(always)]
    fn next_data(&self, packet: &impl AnyPlain, shape: &Shape) -> Option<u8> {
        let is_next = is_fit::<true>(packet, shape, 0) && self.course.is_next_data(packet, &self.ids);
        if is_next { self.with_one_more(shape) } else { None }
    }

    /// The same of one of which the requests may learn later, and of one that is not `KNOWN` to be plain: see
    /// [`next`](Self::next).
    #[inline(always)]
    fn next_to_wait<const KNOWN: bool>(
        &self,
        packet: &impl AnyPlain,
        shape: &Shape,
        rest: usize,
    ) -> Option<u8> {
        let is_next = is_fit::<KNOWN>(packet, shape, rest) && self.course.is_next_to_wait(packet, &self.ids);
        if is_next { self.with_one_more(shape) } else { None }
    }

    /// How many of its part there are with one more packet, if they can be counted.
    #[inline(always)]
    fn with_one_more(&self, shape: &Shape) -> Option<u8> {
        self.packets.get(shape.part as usize)?.checked_add(1)
    }

    /// Takes it.
    #[inline(always)]
    fn take_data(&mut self, packets: u8, packet: &impl AnyPlain, shape: &Shape, frame: u64) {
        self.count(packets, packet, shape);
        self.course.take_data(packet, shape, frame, packet.icrc());
        if let Some(id) = packet.ip_id() {
            self.ids.see_another(id);
        }
    }

    /// Takes one of which the requests learn later.
    #[inline(always)]
    fn take_to_wait(&mut self, packets: u8, packet: &impl AnyPlain, shape: &Shape, frame: u64, icrc: State) {
        self.count(packets, packet, shape);
        self.course.take_to_wait(packet, frame, icrc);
        if let Some(id) = packet.ip_id() {
            self.ids.see_another(id);
        }
    }

    /// So many of its part are there with this packet.
    #[inline(always)]
    fn count(&mut self, packets: u8, packet: &impl AnyPlain, shape: &Shape) {
        if let Some(before) = self.packets.get_mut(shape.part as usize) {
            *before = packets;
        }
        self.bytes += packet.plain().total();
    }

    /// Whether it is of READ responses.
    #[inline(always)]
    pub(crate) fn is_data(&self) -> bool {
        self.course.is_data()
    }

    /// The stretch is over: its flow learns what there was.
    #[cold]
    #[inline(never)]
    pub(crate) fn end(&mut self, id: FlowId, flow: &mut Flow) -> Option<Sum> {
        let Stretch { alike, course, ids, packets, bytes, .. } = std::mem::take(self);
        let (payload, time) = (course.payload() as u64, course.time());
        let (last, good, bad) = (course.last(), course.good() as u64, course.bad() as u64);
        let n: u64 = packets.iter().map(|&n| n as u64).sum();
        let is_data = course.is_data();
        match is_data {
            false => flow.requests.end_course(course, n),
            true => flow.responses.end_course(course, n),
        }
        flow.ids = ids;
        if n == 0 {
            return None;
        }
        flow.packets += n;
        flow.last_time = flow.last_time.max(time);
        flow.payload_bytes += payload;
        flow.icrc[State::Good as usize] += good;
        flow.icrc[State::Bad as usize] += bad;
        flow.icrc[State::Unchecked as usize] += n - good - bad;
        if let Some(psn) = last {
            flow.last_psn = psn.0;
        }
        let mut extended = 0;
        for (part, &n) in (0..).zip(&packets).filter(|(_, n)| **n > 0) {
            let opcode = match is_data {
                false => Opcode::of_part(alike.service(), part),
                true => Opcode::of_data_part(alike.service(), part),
            };
            flow.opcodes.add_many(opcode.0, n as u64);
            extended += opcode.shape().extended as u64 * n as u64;
        }
        let ecn = alike.ecn();
        if ecn != Ecn::default() {
            flow.ecn_ect += n;
        }
        let vlan = alike.vlan_bytes() as u64 * n;
        let (bytes, network) = (bytes as u64, alike.network() as u64 * n);
        // Those of IPv6 were counted as if they were of IPv4.
        let headers = (Ipv4::LEN + Udp::LEN + Bth::LEN) as u64 * n + ICRC as u64 * n;
        let pad = bytes - headers - extended - payload;
        let l1_bytes = bytes - Ipv4::LEN as u64 * n + network + vlan + AROUND as u64 * n;
        flow.wire_bytes += l1_bytes;
        let wrap = flow.encapsulation;
        Some(Sum { flow: id, wrap, ecn, packets: n, l1_bytes, payload, extended, pad, vlan, network })
    }

    /// Whether a packet is of its flow, and looks as it may.
    #[inline(always)]
    pub(crate) fn is_of(&self, packet: &impl Facts) -> bool {
        packet.alike().is_some_and(|alike| alike == self.alike)
    }

    /// Fetches where a packet of its flow goes.
    #[inline(always)]
    pub(crate) fn fetch_ring(&self, psn: Psn) {
        self.course.fetch(psn);
    }

    /// What a response of the same flow needs of it: it is the flow's last packet now.
    #[inline(always)]
    pub(crate) fn interrupt(&mut self) -> &mut IdOrder {
        self.course.interrupt();
        &mut self.ids
    }

    /// Whether its packets have this source port.
    #[inline(always)]
    pub(crate) fn has_port_of(&self, facts: &impl Facts) -> bool {
        facts.port() == Some(self.alike.source_port())
    }

    /// The requests that are answered by its flow may learn of the next responses later.
    #[inline(always)]
    fn wait(&mut self, may_wait: &MayWait) {
        self.course.wait(may_wait);
    }

    /// The requests that are answered by its flow learn of all that it has.
    pub(crate) fn tell(&mut self, asking: &mut Flow) {
        asking.requests.learn_of_data(&mut self.course);
    }

    /// Its flow's requests learn what they can while it goes on.
    pub(crate) fn catch_up(&mut self, flow: &mut Flow) {
        if !self.is_data() {
            flow.requests.learn(&mut self.course);
        }
    }

    /// What a response says of its requests. Whether it can go on.
    #[inline(always)]
    fn answer(
        &mut self,
        flow: &mut Flow,
        response: &Response,
        resolved: &mut Vec<Resolved>,
        knobs: &Knobs,
    ) -> bool {
        flow.requests.catch_up(&mut self.course);
        flow.requests.answer(response, resolved, knobs);
        flow.requests.go_on(&mut self.course, knobs)
    }

    /// Bytes on the heap.
    pub(crate) fn heap(&self) -> usize {
        self.course.heap()
    }
}

/// Bytes of a frame before its network header and after its packet, but for VLAN tags.
const AROUND: u32 = PREAMBLE + Ethernet::LEN as u32 + FCS + GAP;
/// The shortest packet, from its network header on, whose frame needs no padding.
const SHORTEST: u32 = SHORTEST_FRAME - Ethernet::LEN as u32 - FCS;

/// Whether a packet is long enough and, where that is not `KNOWN`, [whole](Plain::is_whole).
#[inline(always)]
fn is_fit<const KNOWN: bool>(packet: &impl AnyPlain, shape: &Shape, rest: usize) -> bool {
    let plain = packet.plain();
    plain.total() >= SHORTEST && (KNOWN || plain.is_whole(shape, rest))
}

impl Analysis {
    /// Takes a frame, if it is the next packet of a stretch, whatever it may be.
    #[inline(always)]
    pub(super) fn goes_on(&mut self, record: &Record<'_>) -> bool {
        let Some((packet, rest)) = Plain::candidate(record) else { return false };
        let (verify, total, len) = (self.options.verify_icrc, packet.total(), rest.len());
        let icrc = move || if verify { verify_plain(rest, total) } else { State::Unchecked };
        self.goes_on_with::<false>(&packet, len, icrc)
    }

    /// The same of a packet that is [wrapped](Wrapped) otherwise. `rest`: from its network header on.
    #[inline(always)]
    pub(super) fn goes_on_wrapped(
        &mut self,
        packet: &Wrapped,
        rest: &[u8],
        icrc: impl FnOnce() -> State,
    ) -> bool {
        self.goes_on_with::<false>(packet, rest.len() - packet.more(), icrc)
    }

    /// Takes a packet, if it is the next one of a stretch.
    #[inline(always)]
    pub(super) fn goes_on_with_plain(&mut self, packet: &Plain) -> bool {
        // A copy of its own stays in registers.
        let packet = *packet;
        self.goes_on_with::<true>(&packet, 0, || packet.icrc())
    }

    /// The same of one that is [wrapped](Wrapped) otherwise.
    pub(super) fn goes_on_with_wrapped(&mut self, packet: &Wrapped) -> bool {
        self.goes_on_with::<true>(packet, 0, || packet.icrc())
    }

    #[inline(always)]
    fn goes_on_with<const KNOWN: bool>(
        &mut self,
        packet: &impl AnyPlain,
        rest: usize,
        icrc: impl FnOnce() -> State,
    ) -> bool {
        let shape = packet.opcode().shape();
        if !shape.is_streamed {
            // A copy of its own: the others stay in registers.
            return shape.is_data_within() && self.goes_on_within_data::<KNOWN>(&packet.clone(), rest, icrc);
        }
        let Some(id) = self.flows.with_stretch_for(packet) else { return false };
        self.goes_on_in::<KNOWN>(id, packet, rest, icrc)
    }

    /// Takes a packet, if it is the next one of this flow's stretch, [of which](Stretch::is_of) it is.
    #[inline(always)]
    pub(super) fn goes_on_in<const KNOWN: bool>(
        &mut self,
        id: FlowId,
        packet: &impl AnyPlain,
        rest: usize,
        icrc: impl FnOnce() -> State,
    ) -> bool {
        let (shape, frame) = (packet.opcode().shape(), self.number() + 1);
        let Some(stretch) = self.flows.stretch(id) else { return false };
        let is_right = if KNOWN { packet.ip_right() } else { packet.is_ip_right() };
        if !self.trust.accepts_ip(is_right) {
            return false;
        }
        let Some(next) = stretch.next::<KNOWN>(packet, shape, rest) else { return false };
        let icrc = icrc();
        if !self.trust.accepts(icrc) {
            return false;
        }
        if let Some((bytes, waiting)) = stretch.take(next, packet, shape, frame, icrc) {
            self.flows.completed(id, bytes, waiting);
        }
        self.capture.see(&packet.frame());
        self.went_on(id, packet, icrc, is_right, Direction::Request);
        true
    }

    /// Takes a READ response from the middle of a READ, if it is the next packet of a stretch and changes nothing that the
    /// requests would have to know of at once: that is nearly all of them.
    #[inline(never)]
    pub(super) fn goes_on_within_data<const KNOWN: bool>(
        &mut self,
        packet: &impl AnyPlain,
        rest: usize,
        icrc: impl FnOnce() -> State,
    ) -> bool {
        let (shape, frame) = (packet.opcode().shape(), self.number() + 1);
        let Some(id) = self.flows.with_stretch_for(packet) else { return false };
        let is_right = if KNOWN { packet.ip_right() } else { packet.is_ip_right() };
        if !self.trust.accepts_ip(is_right) {
            return false;
        }
        let Some(stretch) = self.flows.stretch(id) else { return false };
        let Some(packets) = stretch.next_to_wait::<KNOWN>(packet, shape, rest) else { return false };
        let icrc = icrc();
        if !self.trust.accepts(icrc) {
            return false;
        }
        stretch.take_to_wait(packets, packet, shape, frame, icrc);
        self.capture.see(&packet.frame());
        self.went_on(id, packet, icrc, is_right, Direction::Response);
        true
    }

    /// What is known at once of a packet that a stretch took.
    #[inline(always)]
    fn went_on(
        &mut self,
        id: FlowId,
        packet: &impl AnyPlain,
        icrc: State,
        is_right: Option<bool>,
        space: Direction,
    ) {
        self.see_right(icrc, is_right);
        self.say(Some(space), Class::New);
        if self.asked.rate.is_asked() {
            // A copy of its own: the other packets stay in registers.
            self.asked.rate.packet(&Seen {
                facts: &packet.clone(),
                flow: Some(id),
                class: Some(Class::New),
                is_capture_duplicate: false,
                is_control: false,
            });
        }
    }

    /// Takes an acknowledgement of a flow whose opposite is known, if it is neither wrong nor negative: what
    /// [`place`](Self::place) would do comes down to this, and stretches go on.
    #[inline]
    pub(super) fn acknowledges(&mut self, facts: &impl AnyPlain) -> bool {
        let Some(aeth) = facts.aeth().filter(|aeth| aeth.syndrome().is_ack()) else { return false };
        let is_right = facts.ip_right();
        if !self.trust.accepts(facts.icrc()) || !self.trust.accepts_ip(is_right) {
            return false;
        }
        let Some(id) = self.flows.found(facts) else { return false };
        let frame = self.number();
        let Some(Responder { flow, peer, mut own, asked, seen }) = self.flows.responder(id) else {
            return false;
        };
        let is_usual = !flow.renew && !flow.was_silent(facts.time()) && flow.service != Service::Cn;
        // Ports are told apart by the order in which they come.
        if !is_usual || own.as_ref().is_some_and(|own| !own.has_port_of(facts)) {
            return false;
        }
        *seen = true;
        flow.count(facts);
        flow.look_at(facts);
        flow.last_psn = facts.psn().0;
        flow.completeness |= RESPONSES;
        let ids = match &mut own {
            Some(own) => own.interrupt(),
            None => &mut flow.ids,
        };
        let packet = Packet::of(facts, frame);
        let said = Acknowledged {
            msn: Some(aeth.msn()),
            negative: false,
            atomic: false,
            recorded_twice: self.capture.duplicates > 0,
        };
        let class = flow.responses.acknowledge(&packet, &said, ids);
        if class == Class::CaptureDuplicate {
            self.capture.duplicates += 1;
        } else {
            if let Some(id) = facts.ip_id() {
                ids.see(id);
            }
            flow.acks += 1;
            let response = Response {
                psn: facts.psn(),
                operation: Operation::Acknowledge,
                syndrome: Some(aeth.syndrome()),
                time: facts.time(),
                frame,
                repeated: false,
            };
            let wrap = flow.encapsulation;
            let goes_on = match asked.filter(|asked| !asked.is_data()) {
                Some(asked) => asked.answer(peer, &response, &mut self.resolved, &self.knobs),
                None => {
                    peer.requests.answer(&response, &mut self.resolved, &self.knobs);
                    true
                }
            };
            if !goes_on {
                self.flows.settle_peer(id);
            }
            if !self.resolved.is_empty() {
                let place = (Direction::Request, wrap);
                tell(&mut self.observer, &mut self.resolved, &mut self.overhead, place, frame);
            }
        }
        self.see_right(facts.icrc(), is_right);
        self.say(Some(Direction::Response), class);
        self.count(facts, (Some(id), Some(class)), true);
        true
    }

    /// Takes a READ response, if it is the next packet of a stretch of them.
    #[inline(never)]
    pub(super) fn goes_on_with_data(&mut self, facts: &impl AnyPlain) -> bool {
        let (icrc, is_right) = (facts.icrc(), facts.ip_right());
        if !self.trust.accepts(icrc) || !self.trust.accepts_ip(is_right) {
            return false;
        }
        let Some(id) = self.flows.with_stretch_for(facts) else { return false };
        let (shape, frame) = (facts.opcode().shape(), self.number());
        let Some((stretch, asking)) = self.flows.answering(id) else { return false };
        let Some(packets) = stretch.next_data(facts, shape) else { return false };
        stretch.take_data(packets, facts, shape, frame);
        asking.requests.answer(&Response::with_data(facts, frame), &mut self.resolved, &self.knobs);
        if !shape.ends
            && asking.peer == Some(id)
            && let Some(may_wait) = asking.requests.may_wait(facts.psn())
        {
            stretch.wait(&may_wait);
            asking.is_behind = true;
        }
        if !self.resolved.is_empty() {
            let place = (Direction::Request, facts.wrap());
            tell(&mut self.observer, &mut self.resolved, &mut self.overhead, place, frame);
        }
        self.went_on(id, facts, icrc, is_right, Direction::Response);
        true
    }

    /// Flows and sums know of all packets.
    pub(super) fn settle_all(&mut self) {
        self.flows.settle_all();
        self.gather();
    }

    /// Adds what was counted in stretches that are over to the sums over all flows.
    #[inline(always)]
    pub(super) fn gather(&mut self) {
        if self.flows.has_sums() {
            self.gather_sums();
        }
    }

    #[cold]
    #[inline(never)]
    fn gather_sums(&mut self) {
        for sum in self.flows.take_sums() {
            self.overhead.stretch(&sum);
            self.asked.congestion.stretch(&sum);
            self.asked.entropy.stretch(&sum);
        }
    }
}
