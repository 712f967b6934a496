//! Makes the frames of a tap's capture.

use std::collections::HashMap;

use bytes::{Bytes, BytesMut};

use super::{
    Verb, Wrap,
    engine::{Control, Journey, Run, Sighting, Transmission},
    manage::Manage,
    network::NOWHERE,
};
use crate::{
    capture::Interface,
    craft::{Channel, ComputedField, Dialog, Endpoint, Hold, Packet, Path, Trim, template},
    dissect::Link,
    icrc,
    opcode::{Opcode, Operation},
    random::SplitMix64,
    wire::*,
};

/// A frame of a tap's capture.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Nanoseconds since 1970-01-01 UTC.
    pub time_ns: i64,
    /// The link type.
    pub link: Link,
    /// Bytes on the wire. The tap may have cut `bytes`.
    pub wire_len: u32,
    /// The bytes captured.
    pub bytes: &'a [u8],
}

/// The frames of a tap's capture, one at a time.
#[derive(Debug)]
pub struct Frames<'a> {
    run: &'a Run,
    tap: usize,
    next: usize,
    packets: HashMap<(u32, Opcode), Packet>,
    bytes: Bytes,
    buffer: BytesMut,
}

/// Payloads are slices of this many pseudo-random bytes, so a retransmission has the same payload.
const PATTERN: usize = 1 << 16;

impl Run {
    /// The frames of a tap's capture.
    pub fn frames(&self, tap: usize) -> Frames<'_> {
        let mut random = SplitMix64(self.scenario.seed);
        let pattern: Vec<u8> = (0..PATTERN / 8).flat_map(|_| random.next().to_le_bytes()).collect();
        Frames {
            run: self,
            tap,
            next: 0,
            packets: HashMap::new(),
            bytes: Bytes::from(pattern),
            buffer: BytesMut::with_capacity(16 << 10),
        }
    }

    /// The interface of a tap, for the capture that its frames go into.
    pub fn interface(&self, tap: usize) -> Interface {
        let of = &self.captures[tap].tap;
        Interface {
            snaplen: of.snaplen,
            resolution_ns: u32::try_from(of.resolution.0).unwrap_or(1),
            name: Some(of.name.clone()).filter(|name| !name.is_empty()),
            speed_bps: Some(self.scenario.rate.0),
            fcs_len: of.fcs.then_some(4),
            ..Interface::new(self.link())
        }
    }

    /// The link type of all frames.
    pub fn link(&self) -> Link {
        if self.connections.first().is_some_and(|c| c.encapsulation.is_native()) {
            Link::INFINIBAND
        } else {
            Link::ETHERNET
        }
    }
}

impl Frames<'_> {
    /// The next frame; `None` at the end.
    #[allow(clippy::should_implement_trait)] // lends its buffer
    pub fn next(&mut self) -> Option<Frame<'_>> {
        let capture = &self.run.captures[self.tap];
        let sighting = loop {
            let sighting = capture.at(self.next)?;
            self.next += 1;
            if sighting.recorded {
                break *sighting;
            }
        };
        self.buffer.clear();
        match self.run.journeys.get(sighting.journey as usize) {
            Some(journey) => {
                let t = self.run.transmissions[journey.tx as usize];
                self.packet(&sighting, journey, &t);
            }
            None => self.pause(&sighting, &self.run.controls[sighting.control as usize]),
        }
        let tap = &capture.tap;
        let time = self.run.scenario.begin.0 + sighting.time;
        let wire_len = self.buffer.len() as u32;
        let kept = if tap.snaplen == 0 { wire_len } else { wire_len.min(tap.snaplen) };
        Some(Frame {
            time_ns: (time - time % tap.resolution.0) as i64,
            link: self.run.link(),
            wire_len,
            bytes: &self.buffer[..kept as usize],
        })
    }

    fn packet(&mut self, sighting: &Sighting, journey: &Journey, t: &Transmission) {
        let (run, tap) = (self.run, &self.run.captures[self.tap].tap);
        let managed = run.flows[t.flow as usize].connection.is_none();
        let mut datagram;
        let packet = if managed {
            datagram = wrapped(tap.wrap, management(run, t));
            datagram.set_keep(ComputedField::UdpSourcePort, true);
            datagram.set_keep(ComputedField::Fcs, !tap.fcs);
            &mut datagram
        } else {
            self.packets.entry((t.flow, t.opcode)).or_insert_with(|| start(run, tap, t))
        };
        packet
            .alter(|ip: Ipv4| ip.with_id(Hex16(t.ip_id)).with_ttl(sighting.ttl).with_ecn(Ecn(sighting.ecn)));
        packet.alter(|ip: Ipv6| ip.with_hop_limit(sighting.ttl).with_ecn(Ecn(sighting.ecn)));
        packet.alter(|udp: Udp| udp.with_src_port(t.udp_port));
        packet.alter(|grh: Grh| {
            let class = grh.t_class().0 & !3 | sighting.ecn;
            grh.with_hop_lmt(sighting.ttl).with_t_class(Hex8(class))
        });
        // Native InfiniBand is marked in the BTH.
        let fecn = sighting.ecn == 3 && run.link() == Link::INFINIBAND;
        packet.alter(|bth: Bth| {
            bth.with_fecn(fecn)
                .with_psn(Psn(t.psn as u32 & (Psn::SPACE - 1)))
                .with_ack_req(t.ack_req)
                .with_mig_req(t.mig_req)
        });
        packet.alter(|sequence: GreSequence| sequence.with_sequence_number(sighting.sequence));
        packet.alter(|erspan: Erspan3| erspan.with_timestamp((sighting.time / 100) as u32));
        packet.alter(|aeth: Aeth| aeth.with_syndrome(Syndrome(t.syndrome)).with_msn(t.msn));
        if let Some(message) = run.messages.get(t.message as usize).filter(|_| !managed) {
            let va = address(t.message) + t.offset as u64;
            packet.alter(|reth: Reth| {
                // A READ from its middle on requests the rest, or a part of it.
                let connection = run.flows[t.flow as usize].connection.unwrap_or(0);
                let mtu = run.connections[connection as usize].mtu as u32;
                let left = message.len - t.offset.min(message.len);
                let is_read = message.verb == Verb::Read;
                let len = if is_read { left.min(t.count.saturating_mul(mtu)) } else { message.len };
                reth.with_va(VirtualAddress(va)).with_r_key(key(t.flow)).with_dma_len(len)
            });
            packet.alter(|atomic: AtomicEth| {
                atomic
                    .with_va(VirtualAddress(va))
                    .with_r_key(key(t.flow))
                    .with_swap_data(t.message as u64 + 1)
                    .with_compare_data(if message.verb == Verb::CompareSwap { t.message as u64 } else { 0 })
            });
            packet.alter(|ack: AtomicAckEth| ack.with_original_data(t.message as u64));
            packet.alter(|immediate: ImmDt| immediate.with_data(Hex32(t.message)));
            packet.alter(|ieth: Ieth| ieth.with_r_key(key(t.flow)));
            let place = (t.message as u64) << 32 | t.offset as u64;
            let from = SplitMix64(place).below(PATTERN - 4096);
            packet.set_payload(self.bytes.slice(from..from + t.payload as usize));
        }
        let packet = &*packet;
        packet.build_into(&mut self.buffer);
        let head = packet.parts().last().map_or(0, |part| (part.at + part.len) as usize);
        let body = packet.get_payload().len().next_multiple_of(4) + 4;
        let way = run.way(t.flow);
        let is_flawed = journey.corrupt != NOWHERE && run.is_before(way, journey.corrupt, tap);
        if is_flawed && journey.is_trimmed {
            trim(run, tap, &mut self.buffer, packet);
        } else if is_flawed {
            damage(&mut self.buffer, head..head + body, journey.bit, packet);
        } else if tap.bad_icrc {
            damage(&mut self.buffer, head + body - 4..head + body, 0, packet);
        }
    }

    fn pause(&mut self, sighting: &Sighting, control: &Control) {
        let run = self.run;
        let tap = &run.captures[self.tap].tap;
        if control.is_lldp {
            run.lldp(control, &mut self.buffer);
            if tap.fcs {
                let fcs = icrc::fcs(&self.buffer);
                self.buffer.extend_from_slice(&fcs);
            }
            return;
        }
        let mac = run.end_mac(self.tap, control.from);
        let pause = Hold::new(mac, control.priority.map(|priority| 1 << priority), 0, 1);
        let mut packet = wrapped(tap.wrap, pause.frame(control.quanta));
        packet.alter(|sequence: GreSequence| sequence.with_sequence_number(sighting.sequence));
        packet.set_keep(ComputedField::Fcs, !tap.fcs);
        packet.build_into(&mut self.buffer);
    }
}

/// A frame as a mirror sends it, with the mirror's headers.
fn wrapped(wrap: Wrap, inner: Packet) -> Packet {
    let (src, dst) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
    let outer = || Packet::new(Link::ETHERNET).push(template::ethernet()).push(template::ipv4(src, dst));
    let gre = |protocol| {
        outer()
            .push(Gre::default().with_has_sequence(true).with_protocol(EtherType(protocol)))
            .push(GreSequence::default())
    };
    let outer = match wrap {
        Wrap::None => return inner,
        Wrap::Erspan2 => {
            gre(0x88be).push(Erspan2::default().with_version(1).with_encap(3).with_session_id(1))
        }
        Wrap::Erspan3 => {
            let erspan = Erspan3::default().with_version(2).with_ethernet(true);
            gre(0x22eb).push(erspan.with_granularity(1).with_session_id(1))
        }
        Wrap::Vxlan => {
            let udp = Udp::default().with_src_port(0xd000).with_dst_port(4789);
            outer().push(udp).push(Vxlan::default().with_flags(VxlanFlags(8)).with_vni(42))
        }
    };
    let parts = inner.parts().iter();
    parts.fold(outer, |packet, part| packet.push_bytes(part.kind, inner.bytes_of(part)))
}

/// Trims a frame as a switch does, which trims before another one mirrors it: what is in the mirror's headers is cut, and these are
/// for what is left.
fn trim(run: &Run, tap: &super::Tap, frame: &mut BytesMut, packet: &Packet) {
    let trimming = &run.scenario.trim;
    let trim = Trim { bytes: trimming.bytes, dscp: Some(trimming.dscp), lengths: trimming.lengths };
    let around = wrapped(tap.wrap, Packet::new(Link::ETHERNET)).parts().len();
    let from = packet.parts().get(around).map_or(0, |part| part.at as usize);
    let to = frame.len() - if tap.fcs { 4 } else { 0 };
    let mut inner = frame.get(from..to).unwrap_or_default().to_vec();
    if !trim.apply(run.link(), &mut inner) {
        return;
    }
    frame.clear();
    if around > 0 {
        let mut outer = packet.clone();
        outer.truncate(around);
        outer.payload(inner).build_into(frame);
        return;
    }
    frame.extend_from_slice(&inner);
    if tap.fcs {
        let fcs = icrc::fcs(frame);
        frame.extend_from_slice(&fcs);
    }
}

/// The headers that a flow's packets of one operation code have in common.
fn start(run: &Run, tap: &super::Tap, t: &Transmission) -> Packet {
    let flow = &run.flows[t.flow as usize];
    let ends = Channel::rc(path(run, t), Qpn(flow.peer_qp), Qpn(flow.dest_qp));
    let headers = Channel { q_key: 0x1111_1111, ..ends }.headers(t.opcode, Psn(0));
    let mut packet =
        wrapped(tap.wrap, headers.edit(|bth: Bth| bth.with_becn(t.opcode.is_cnp() && run.scenario.cnp.becn)));
    packet.set_keep(ComputedField::UdpSourcePort, true);
    packet.set_keep(ComputedField::Fcs, !tap.fcs);
    packet
}

/// The path of a flow's packets.
fn path(run: &Run, t: &Transmission) -> Path {
    let flow = &run.flows[t.flow as usize];
    let end = |host: u32| {
        let of = &run.scenario.host[host as usize];
        Endpoint::new(of.address).mac(run.mac(host)).lid(of.lid.unwrap_or(host as u16 + 1))
    };
    let path = Path::new(run.encapsulation(flow), end(flow.src), end(flow.dst));
    let Some(connection) = flow.connection else { return Path { dscp: 0, ..path } };
    let connection = &run.connections[connection as usize];
    let is_ack = t.opcode.operation() == Some(Operation::Acknowledge);
    let dscp = match connection.ack_dscp {
        _ if t.opcode.is_cnp() => run.scenario.cnp.dscp,
        Some(dscp) if is_ack => dscp,
        _ => connection.dscp,
    };
    let pcp = run.scenario.cnp.pcp.filter(|_| t.opcode.is_cnp()).unwrap_or(connection.pcp);
    Path { dscp, ttl: connection.ttl, vlan: connection.vlan.map(|vid| (pcp, vid)), ..path }
}

/// The virtual address of a message in the responder's memory: each has a page of its own.
fn address(message: u32) -> u64 {
    0x7f00_0000_0000 + ((message as u64) << 12)
}

fn key(flow: u32) -> RKey {
    RKey(0x1000 + flow)
}

/// Flips a bit of payload, padding or ICRC. The link's own CRC is right, as behind a switch.
fn damage(frame: &mut [u8], body: std::ops::Range<usize>, bit: u32, packet: &Packet) {
    let bits = body.len() as u32 * 8;
    let bit = bit % bits.max(1);
    if let Some(byte) = frame.get_mut(body.start + (bit / 8) as usize) {
        *byte ^= 1 << (bit % 8);
    }
    if !packet.keeps(ComputedField::Fcs)
        && let Some((bytes, last)) = frame.split_last_chunk_mut::<4>()
    {
        *last = icrc::fcs(bytes);
    }
    if packet.link() == Link::INFINIBAND
        && let Some((bytes, last)) = frame.split_last_chunk_mut::<2>()
    {
        *last = icrc::vcrc(bytes);
    }
}

/// A connection management datagram.
fn management(run: &Run, t: &Transmission) -> Packet {
    let connection = &run.connections[t.message as usize];
    let (qp, psn) = (connection.qp.unwrap_or_default(), connection.psn.unwrap_or_default());
    let (what, path) = (Manage::of(t.syndrome), path(run, t));
    let active = matches!(what, Manage::Req | Manage::Rtu | Manage::Dreq);
    let path = if active { path } else { path.reversed() };
    let dialog = Dialog {
        active_comm_id: 0x100 + 2 * t.message,
        passive_comm_id: 0x101 + 2 * t.message,
        active_psn: Psn(psn[0]),
        passive_psn: Psn(psn[1]),
        mtu: connection.mtu,
        transaction_id: 0x5ce0_0000_0000 + t.message as u64,
        ..Dialog::new(path, Qpn(qp[0]), Qpn(qp[1]))
    };
    match what {
        Manage::Req => dialog.req(&[]).edit(|req: CmReq| {
            req.with_retry_count(connection.retry)
                .with_rnr_retry_count(connection.rnr_retry)
                .with_primary_local_ack_timeout(AckTimeout(connection.timeout))
        }),
        Manage::Rep => dialog.rep(&[]).edit(|rep: CmRep| rep.with_rnr_retry_count(connection.rnr_retry)),
        Manage::Rtu => dialog.rtu(&[]),
        Manage::Dreq => dialog.dreq(false, &[]),
        Manage::Drep => dialog.drep(true, &[]),
    }
}
