//! A run of a flow: requests, or READ responses, with equal headers and consecutive PSNs, while nothing is lost or late.
//!
//! A flow's state takes a dozen cache lines, a run's two. Packets of a run change only these two; the flow is updated when the
//! run ends: with a packet that is not the next one or has another header, or when the flow's state is needed. Requests learn
//! of acknowledgements at once, and of responses in the middle of a READ later, all together.

use super::flow::Flow;
use crate::{
    analyze::{
        model::{FlowId, Space},
        packet::{FARTHEST, Facts, FastForm, RunKey},
        track::{
            config::TrackConfig,
            order::IdOrder,
            request::{MayWait, Response, RunState, Waiting},
            response::Responses,
            step::Resolved,
        },
    },
    dissect::Encapsulation,
    heap::heap,
    icrc::State,
    opcode::{Direction, Opcode, Operation, PayloadRule, Shape},
    wire::*,
    wire_cost::{FCS, GAP, ICRC, PREAMBLE, SHORTEST_FRAME},
};

/// The run of a flow; empty where it has none.
#[derive(Debug, Default, crate::stored::Stored)]
#[repr(align(64))]
pub(crate) struct InOrderRun {
    /// The header fields that its packets share. Without a run, no packet has this key.
    run_key: RunKey,
    run: RunState,
    /// The flow's order of identifications.
    ids: IdOrder,
    /// How many ICRCs were right, and how many were wrong.
    good: u16,
    bad: u16,
    /// Packets by [part](Shape::part).
    packets: [u8; Shape::PARTS],
    /// The flow's last packet was one of these.
    is_last: bool,
}

heap! { InOrderRun { run } }

const _: () = assert!(size_of::<InOrderRun>() == 128);

/// The result of [`InOrderRun::next`], for [`InOrderRun::take`].
pub(crate) struct Next {
    /// Nanoseconds since the packet before.
    pub(crate) silence: u64,
    /// Packets of its part, this one included.
    packets: u8,
}

/// The sums of a run: consecutive packets of one flow. Bytes are counted by the lengths that the packets state.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
#[non_exhaustive]
pub struct RunSum {
    /// The flow.
    pub flow: FlowId,
    /// The PSN space: requests, or the responses of READs.
    pub space: Space,
    /// PSN of the last packet. The others have those before it.
    pub last_psn: Psn,
    /// Its encapsulation.
    pub encapsulation: Encapsulation,
    /// The ECN field of all the packets.
    pub ecn: Ecn,
    /// VLAN, DSCP, TTL, source port and priorities of all the packets, as `Facts::path_tag` has them.
    #[doc(hidden)]
    pub path_tag: u64,
    /// Packets of SENDs; all other requests are of WRITEs.
    pub sends: u64,
    /// Time of the last packet, in nanoseconds since 1970. All packets are in one [span](crate::analyze::metric::Metric::span).
    pub last_ns: i64,
    /// Number of packets.
    pub packets: u64,
    /// Bytes on the wire, with preamble, frame check sequence and inter-frame gap.
    pub l1_bytes: u64,
    /// Bytes of payload, without pad.
    pub payload: u64,
    /// Bytes of extended headers.
    pub extended: u64,
    /// Bytes of pad.
    pub pad: u64,
    /// Bytes of VLAN tags.
    pub vlan: u64,
    /// Bytes of network headers.
    pub network: u64,
}

impl InOrderRun {
    /// Begins a run behind this packet, the flow's last one, if that is possible.
    pub(crate) fn begin(
        &mut self,
        flow: &mut Flow,
        packet: &Facts,
        run_key: RunKey,
        config: &TrackConfig,
    ) -> bool {
        // The time must not overflow within a run.
        let is_near = packet.time().unsigned_abs() <= FARTHEST as u64 / 2;
        if packet.ecn() == Ecn::CE || !is_near {
            return false;
        }
        let run = match packet.opcode().direction() {
            Direction::Request => flow.requests.begin_run(config),
            Direction::Response => flow.responses.get_mut().and_then(Responses::begin_run),
        };
        let Some(run) = run else { return false };
        *self = InOrderRun { run_key, run, ids: flow.ids, ..InOrderRun::default() };
        true
    }

    /// Whether a packet [of the run](Self::is_of) is the next one. Where it is not `KNOWN` to have the fast form, that is checked
    /// too. `rest`: bytes captured after its link header, as if it were over IPv4.
    #[inline(always)]
    pub(crate) fn next<const KNOWN: bool>(
        &mut self,
        packet: &impl FastForm,
        shape: &Shape,
        rest: usize,
    ) -> Option<Next> {
        if !is_fit::<KNOWN>(packet, shape, rest) {
            return None;
        }
        let silence = self.run.next(packet, shape, &self.ids)?;
        let packets = self.with_one_more(shape)?;
        if packets == 1 && shape.payload == PayloadRule::Full && !self.run.knows_mtu() {
            return None;
        }
        Some(Next { silence, packets })
    }

    /// Takes the next packet. Returns the bytes of the message that it ends, if it ends one.
    #[inline(always)]
    pub(crate) fn take(
        &mut self,
        next: Next,
        packet: &impl FastForm,
        shape: &Shape,
        frame: u64,
        icrc: State,
    ) -> Option<(u64, Waiting)> {
        self.count(next.packets, packet, shape, icrc);
        let message = self.run.take(next.silence, packet, shape, frame, &self.ids);
        if let Some(id) = packet.ip_id() {
            self.ids.push_next(id);
        }
        message
    }

    /// Whether a READ response is the next one: the number of packets of its part, this one included.
    #[inline(always)]
    pub(crate) fn next_data(&self, packet: &impl FastForm, shape: &Shape) -> Option<u8> {
        let is_next = is_fit::<true>(packet, shape, 0) && self.run.is_next_data(packet, &self.ids);
        if is_next { self.with_one_more(shape) } else { None }
    }

    /// [`next_data`](Self::next_data) of one that the requests may learn of later. `KNOWN` and `rest` as in [`next`](Self::next).
    #[inline(always)]
    pub(crate) fn next_to_wait<const KNOWN: bool>(
        &self,
        packet: &impl FastForm,
        shape: &Shape,
        rest: usize,
    ) -> Option<u8> {
        let is_next = is_fit::<KNOWN>(packet, shape, rest) && self.run.is_next_to_wait(packet, &self.ids);
        if is_next { self.with_one_more(shape) } else { None }
    }

    /// The packets of its part with one more, if the counter has room.
    #[inline(always)]
    fn with_one_more(&self, shape: &Shape) -> Option<u8> {
        self.packets.get(shape.part as usize)?.checked_add(1)
    }

    /// Takes the next READ response.
    #[inline(always)]
    pub(crate) fn take_data(&mut self, packets: u8, packet: &impl FastForm, shape: &Shape, frame: u64) {
        self.count(packets, packet, shape, packet.fast().icrc());
        self.run.take_data(packet, shape, frame);
        if let Some(id) = packet.ip_id() {
            self.ids.push_next(id);
        }
    }

    /// Takes a READ response of which the requests learn later.
    #[inline(always)]
    pub(crate) fn take_to_wait(
        &mut self,
        packets: u8,
        packet: &impl FastForm,
        shape: &Shape,
        frame: u64,
        icrc: State,
    ) {
        self.count(packets, packet, shape, icrc);
        self.run.take_to_wait(packet, frame);
        if let Some(id) = packet.ip_id() {
            self.ids.push_next(id);
        }
    }

    /// Counts a packet: `packets` is the number of its part, this one included.
    #[inline(always)]
    fn count(&mut self, packets: u8, packet: &impl FastForm, shape: &Shape, icrc: State) {
        if let Some(before) = self.packets.get_mut(shape.part as usize) {
            *before = packets;
        }
        self.run.bytes += packet.fast().total();
        self.is_last = true;
        if icrc != State::Unchecked {
            self.good += (icrc == State::Good) as u16;
            self.bad += (icrc == State::Bad) as u16;
        }
    }

    /// The unwrapped PSN of its last packet.
    pub(crate) fn last_unwrapped(&self) -> u64 {
        self.run.last_unwrapped()
    }

    /// Whether it is a run of READ responses.
    #[inline(always)]
    pub(crate) fn is_data(&self) -> bool {
        self.run.is_data()
    }

    /// Nanoseconds since its last packet.
    #[inline(always)]
    pub(crate) fn silence(&self, time: i64) -> i64 {
        time.wrapping_sub(self.run.time())
    }

    /// Ends the run: its flow is brought up to date.
    #[cold]
    #[inline(never)]
    pub(crate) fn end(&mut self, id: FlowId, flow: &mut Flow) -> Option<RunSum> {
        let InOrderRun { run_key, run, ids, packets, good, bad, is_last } = std::mem::take(self);
        let (payload, time, bytes) = (run.payload() as u64, run.time(), run.bytes as u64);
        let last_psn = run.last();
        let (last, good, bad) = (is_last.then_some(last_psn), good as u64, bad as u64);
        let n: u64 = packets.iter().map(|&n| n as u64).sum();
        let is_data = run.is_data();
        match is_data {
            false => flow.requests.end_run(run, n),
            true => flow.responses.end_run(run, n),
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
        let (mut extended, mut sends) = (0, 0);
        for (part, &n) in (0..).zip(&packets).filter(|(_, n)| **n > 0) {
            let opcode = match is_data {
                false => Opcode::of_part(run_key.service(), part),
                true => Opcode::of_data_part(run_key.service(), part),
            };
            flow.opcodes.add_many(opcode.code, n as u64);
            extended += opcode.shape().extended as u64 * n as u64;
            sends += if opcode.operation() == Some(Operation::Send) { n as u64 } else { 0 };
        }
        let ecn = run_key.ecn();
        if ecn != Ecn::default() {
            flow.ecn_ect += n;
        }
        let vlan = run_key.vlan_bytes() as u64 * n;
        let network = run_key.network() as u64 * n;
        // Packets over IPv6 were counted as if they were over IPv4.
        let headers = (Ipv4::LEN + Udp::LEN + Bth::LEN) as u64 * n + ICRC as u64 * n;
        let pad = bytes - headers - extended - payload;
        let l1_bytes = bytes - Ipv4::LEN as u64 * n + network + vlan + AROUND as u64 * n;
        flow.wire_bytes += l1_bytes;
        Some(RunSum {
            flow: id,
            space: if is_data { Space::Response } else { Space::Request },
            last_psn,
            encapsulation: flow.encapsulation,
            ecn,
            path_tag: run_key.path_tag(),
            sends,
            last_ns: time,
            packets: n,
            l1_bytes,
            payload,
            extended,
            pad,
            vlan,
            network,
        })
    }

    /// Whether a packet has the run's header fields.
    #[inline(always)]
    pub(crate) fn is_of(&self, packet: &impl FastForm) -> bool {
        packet.run_key() == self.run_key
    }

    /// Prefetches the slot of the ring for a packet of its flow.
    #[inline(always)]
    pub(crate) fn fetch_ring(&self, psn: Psn) {
        self.run.fetch(psn);
    }

    /// A response of the same flow comes between the run's packets. Returns the order of identifications.
    #[inline(always)]
    pub(crate) fn interrupt(&mut self) -> &mut IdOrder {
        self.is_last = false;
        &mut self.ids
    }

    /// Whether its packets have this source port.
    #[inline(always)]
    pub(crate) fn has_port_of(&self, packet: &Facts) -> bool {
        packet.port() == Some(self.run_key.source_port())
    }

    /// The peer's requests may learn of the next responses later.
    #[inline(always)]
    pub(crate) fn wait(&mut self, may_wait: &MayWait) {
        self.run.wait(may_wait);
    }

    /// The peer's requests learn of all its responses.
    pub(crate) fn notify(&mut self, asking: &mut Flow) {
        asking.requests.learn_of_data(&mut self.run);
    }

    /// The flow's requests are brought up to date, and the run goes on.
    pub(crate) fn catch_up(&mut self, flow: &mut Flow) {
        if !self.is_data() {
            flow.requests.learn(&mut self.run);
        }
    }

    /// A response answers its requests. Returns whether the run can go on.
    #[inline(always)]
    pub(crate) fn answer(
        &mut self,
        flow: &mut Flow,
        response: &Response,
        resolved: &mut Vec<Resolved>,
        config: &TrackConfig,
    ) -> bool {
        flow.requests.catch_up(&mut self.run);
        flow.requests.answer(response, resolved, config);
        flow.requests.go_on(&mut self.run, config)
    }
}

/// Bytes of a frame before its network header and after its packet, but for VLAN tags.
const AROUND: u32 = PREAMBLE + Ethernet::LEN as u32 + FCS + GAP;
/// The shortest packet, from its network header on, whose frame needs no padding.
const SHORTEST: u32 = SHORTEST_FRAME - Ethernet::LEN as u32 - FCS;

/// Whether a packet is long enough and, where that is not `KNOWN`, [whole](crate::analyze::packet::FastPacket::is_whole).
#[inline(always)]
fn is_fit<const KNOWN: bool>(packet: &impl FastForm, shape: &Shape, rest: usize) -> bool {
    let plain = packet.fast();
    plain.total() >= SHORTEST && (KNOWN || plain.is_whole(shape, rest))
}
