//! Sightings -> frames.

use std::{collections::HashMap, net::IpAddr};

use bytes::{Bytes, BytesMut};

use super::{
    Encapsulation, Verb, Wrap,
    engine::{Control, Journey, Run, Sighting, Transmission},
    manage::Manage,
    network::NOWHERE,
    rng::splitmix,
};
use crate::{
    craft::{Auto, Packet, template},
    dissect::Link,
    icrc,
    opcode::Opcode,
    wire::*,
};

/// A frame of a tap's capture.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Nanoseconds since 1970-01-01 UTC.
    pub time_ns: i64,
    /// What its first byte is.
    pub link: Link,
    /// Bytes on the wire; `bytes` may hold fewer.
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

/// Payloads are pieces of this many pseudo-random bytes: the same message and offset give the same bytes.
const PATTERN: usize = 1 << 16;

impl Run {
    /// The frames of a tap's capture.
    pub fn frames(&self, tap: usize) -> Frames<'_> {
        let mut state = self.scenario.seed;
        let pattern: Vec<u8> = (0..PATTERN / 8).flat_map(|_| splitmix(&mut state).to_le_bytes()).collect();
        Frames {
            run: self,
            tap,
            next: 0,
            packets: HashMap::new(),
            bytes: Bytes::from(pattern),
            buffer: BytesMut::with_capacity(16 << 10),
        }
    }

    /// What the frames' first byte is.
    pub fn link(&self) -> Link {
        let native =
            |c: &super::Connection| matches!(c.encapsulation, Encapsulation::Ib | Encapsulation::IbGrh);
        if self.connections.first().is_some_and(native) { Link::INFINIBAND } else { Link::ETHERNET }
    }
}

impl Frames<'_> {
    /// The next frame; `None` at the end.
    #[allow(clippy::should_implement_trait)] // lends its buffer
    pub fn next(&mut self) -> Option<Frame<'_>> {
        let capture = &self.run.captures[self.tap];
        let sighting = loop {
            let sighting = capture.sightings.get(self.next)?;
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
        let packet = self.packets.entry((t.flow, t.opcode)).or_insert_with(|| start(run, tap, t));
        packet
            .alter(|ip: Ipv4| ip.with_id(Hex16(t.ip_id)).with_ttl(sighting.ttl).with_ecn(Ecn(sighting.ecn)));
        packet.alter(|ip: Ipv6| ip.with_hop_limit(sighting.ttl).with_ecn(Ecn(sighting.ecn)));
        packet.alter(|udp: Udp| udp.with_src_port(t.udp_port));
        packet.alter(|grh: Grh| {
            let class = grh.t_class().0 & !3 | sighting.ecn;
            grh.with_hop_lmt(sighting.ttl).with_t_class(Hex8(class))
        });
        packet.alter(|bth: Bth| {
            bth.with_psn(Psn(t.psn as u32 & (Psn::SPACE - 1))).with_ack_req(t.ack_req).with_mig_req(t.mig_req)
        });
        packet.alter(|sequence: GreSequence| sequence.with_sequence_number(sighting.sequence));
        packet.alter(|erspan: Erspan3| erspan.with_timestamp((sighting.time / 100) as u32));
        packet.alter(|aeth: Aeth| aeth.with_syndrome(Syndrome(t.syndrome)).with_msn(t.msn));
        let managed = run.flows[t.flow as usize].connection.is_none();
        if managed {
            let body = management(run, t);
            packet.set_payload(body);
        } else if let Some(message) = run.messages.get(t.message as usize) {
            let va = address(t.message) + t.offset as u64;
            packet.alter(|reth: Reth| {
                // Of a READ from its middle on: what is left, or as much as was asked for.
                let mtu =
                    run.connections[run.flows[t.flow as usize].connection.unwrap_or(0) as usize].mtu as u32;
                let left = message.len - t.offset.min(message.len);
                let len = if message.verb == Verb::Read {
                    left.min(t.count.saturating_mul(mtu))
                } else {
                    message.len
                };
                reth.with_va(Hex64(va)).with_r_key(key(t.flow)).with_dma_len(len)
            });
            packet.alter(|atomic: AtomicEth| {
                atomic
                    .with_va(Hex64(va))
                    .with_r_key(key(t.flow))
                    .with_swap_data(t.message as u64 + 1)
                    .with_compare_data(if message.verb == Verb::CompareSwap { t.message as u64 } else { 0 })
            });
            packet.alter(|ack: AtomicAckEth| ack.with_original_data(t.message as u64));
            packet.alter(|immediate: ImmDt| immediate.with_data(Hex32(t.message)));
            packet.alter(|ieth: Ieth| ieth.with_r_key(key(t.flow)));
            let mut state = (t.message as u64) << 32 | t.offset as u64;
            let from = splitmix(&mut state) as usize % (PATTERN - 4096);
            packet.set_payload(self.bytes.slice(from..from + t.payload as usize));
        }
        let packet = &*packet;
        packet.build_into(&mut self.buffer);
        let head = packet.parts().last().map_or(0, |part| (part.at + part.len) as usize);
        let body = packet.get_payload().len().next_multiple_of(4) + 4;
        let way = run.way(t.flow);
        if journey.corrupt != NOWHERE && run.is_before(way, journey.corrupt, tap) {
            damage(&mut self.buffer, head..head + body, journey.bit, packet);
        } else if tap.bad_icrc {
            damage(&mut self.buffer, head + body - 4..head + body, 0, packet);
        }
    }

    fn pause(&mut self, sighting: &Sighting, control: &Control) {
        let run = self.run;
        let from =
            (0..run.scenario.host.len() as u32).find(|&host| run.side(host) == control.from).unwrap_or(0);
        let Mac(mut mac) = run.mac(from);
        // The port at that end, not the host behind it.
        mac[1] ^= 0x10;
        let tap = &run.captures[self.tap].tap;
        let packet = wrapped(tap.wrap).push(
            Ethernet::default()
                .with_dst(Mac([0x01, 0x80, 0xc2, 0, 0, 0x01]))
                .with_src(Mac(mac))
                .with_ether_type(EtherType::MAC_CONTROL),
        );
        let packet = packet.push(MacControl::default());
        let mut packet = match control.priority {
            None => packet.push(Pause::default().with_pause_time(control.quanta)),
            Some(priority) => packet.push(Pfc::default().with_time(priority, control.quanta)),
        };
        packet.alter(|sequence: GreSequence| sequence.with_sequence_number(sighting.sequence));
        packet.set_keep(Auto::Fcs, !tap.fcs);
        packet.build_into(&mut self.buffer);
    }
}

/// What a mirror puts before the frame.
fn wrapped(wrap: Wrap) -> Packet {
    let packet = Packet::new(Link::ETHERNET);
    let (src, dst) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
    let outer = |packet: Packet| packet.push(template::ethernet()).push(template::ipv4(src, dst));
    let gre = |protocol| {
        outer(Packet::new(Link::ETHERNET))
            .push(Gre::default().with_has_sequence(true).with_protocol(EtherType(protocol)))
            .push(GreSequence::default())
    };
    match wrap {
        Wrap::None => packet,
        Wrap::Erspan2 => {
            gre(0x88be).push(Erspan2::default().with_version(1).with_encap(3).with_session_id(1))
        }
        Wrap::Erspan3 => gre(0x22eb).push(
            Erspan3::default().with_version(2).with_ethernet(true).with_granularity(1).with_session_id(1),
        ),
        Wrap::Vxlan => {
            let udp = Udp::default().with_src_port(0xd000).with_dst_port(4789);
            outer(packet).push(udp).push(Vxlan::default().with_flags(VxlanFlags(8)).with_vni(42))
        }
    }
}

/// A flow's packets of one operation code, with all that they have in common.
fn start(run: &Run, tap: &super::Tap, t: &Transmission) -> Packet {
    let flow = &run.flows[t.flow as usize];
    let hosts = [&run.scenario.host[flow.src as usize], &run.scenario.host[flow.dst as usize]];
    let managed = super::Connection { dscp: 0, ..super::Connection::default() };
    let connection = flow.connection.map_or(&managed, |c| &run.connections[c as usize]);
    let is_cnp = t.opcode.is_cnp();
    let dscp = if is_cnp { run.scenario.cnp.dscp } else { connection.dscp };
    let gid = |address: IpAddr| match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    };
    let [src, dst] = hosts.map(|host| host.address);
    let lid = |index: u32, host: &super::Host| Hex16(host.lid.unwrap_or(index as u16 + 1));
    let lids = [lid(flow.src, hosts[0]), lid(flow.dst, hosts[1])];
    let ethernet = |packet: Packet| {
        let packet = packet.push(
            Ethernet::default()
                .with_dst(run.mac(flow.dst))
                .with_src(run.mac(flow.src))
                .with_ether_type(EtherType::VLAN),
        );
        match connection.vlan {
            Some(vid) => packet.push(Vlan::default().with_vid(vid).with_pcp(connection.pcp)),
            None => packet,
        }
    };
    let grh = || template::grh(gid(src), gid(dst)).with_t_class(Hex8(dscp << 2));
    let packet = match connection.encapsulation {
        Encapsulation::Rocev2 => {
            let packet = ethernet(wrapped(tap.wrap));
            let packet = match (src, dst) {
                (IpAddr::V4(src), IpAddr::V4(dst)) => packet.push(template::ipv4(src, dst).with_dscp(dscp)),
                _ => packet.push(template::ipv6(gid(src), gid(dst)).with_dscp(dscp)),
            };
            packet.push(template::udp())
        }
        Encapsulation::Rocev1 => ethernet(wrapped(tap.wrap)).push(grh()),
        Encapsulation::Ib => Packet::new(Link::INFINIBAND).push(template::lrh(lids[0].0, lids[1].0)),
        Encapsulation::IbGrh => {
            Packet::new(Link::INFINIBAND).push(template::lrh(lids[0].0, lids[1].0)).push(grh())
        }
    };
    let mut packet = packet.push(
        template::bth()
            .with_opcode(t.opcode)
            .with_dest_qp(Qpn(flow.dest_qp))
            .with_becn(is_cnp)
            .with_se(false),
    );
    for &kind in t.opcode.chain() {
        packet = match kind {
            Kind::Deth if flow.connection.is_none() => {
                packet.push(Deth::default().with_q_key(Hex32(0x8001_0000)).with_src_qp(Qpn(1)))
            }
            Kind::Deth => {
                packet.push(Deth::default().with_q_key(Hex32(0x1111_1111)).with_src_qp(Qpn(flow.peer_qp)))
            }
            _ => packet.push_bytes(kind, vec![0; kind.info().map_or(0, |info| info.len)]),
        };
    }
    packet.set_keep(Auto::UdpSourcePort, true);
    packet.set_keep(Auto::Fcs, !tap.fcs);
    packet
}

/// Where the messages of a scenario lie in the responder's memory: a page of its own for each.
fn address(message: u32) -> u64 {
    0x7f00_0000_0000 + ((message as u64) << 12)
}

fn key(flow: u32) -> Hex32 {
    Hex32(0x1000 + flow)
}

/// Flip a bit of payload, padding or ICRC; what the link added for itself is right again, as after a switch.
fn damage(frame: &mut [u8], body: std::ops::Range<usize>, bit: u32, packet: &Packet) {
    let bits = body.len() as u32 * 8;
    let bit = bit % bits.max(1);
    if let Some(byte) = frame.get_mut(body.start + (bit / 8) as usize) {
        *byte ^= 1 << (bit % 8);
    }
    if !packet.keeps(Auto::Fcs) {
        if let Some((bytes, last)) = frame.split_last_chunk_mut::<4>() {
            *last = icrc::fcs(bytes);
        }
    }
    if packet.link() == Link::INFINIBAND {
        if let Some((bytes, last)) = frame.split_last_chunk_mut::<2>() {
            *last = icrc::vcrc(bytes);
        }
    }
}

/// The 256 bytes of a connection management datagram.
fn management(run: &Run, t: &Transmission) -> Vec<u8> {
    let what = Manage::of(t.syndrome);
    let connection = &run.connections[t.message as usize];
    let (qp, psn) = (connection.qp.unwrap_or_default(), connection.psn.unwrap_or_default());
    let id = |end: u32| Hex32(0x100 + 2 * t.message + end);
    let flow = &run.flows[t.flow as usize];
    let hosts = [&run.scenario.host[flow.src as usize], &run.scenario.host[flow.dst as usize]];
    let gid = |host: &super::Host| match host.address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    };
    let active = matches!(what, Manage::Req | Manage::Rtu | Manage::Dreq);
    let (local, remote) = if active { (id(0), id(1)) } else { (id(1), id(0)) };
    // The first PSN that the sender expects is its peer's first.
    let mtu_code = connection.mtu.trailing_zeros() as u8 - 7;
    let (attribute, body) = match what {
        Manage::Req => (
            0x10,
            CmReq::default()
                .with_local_comm_id(local)
                .with_local_qpn(Qpn(qp[0]))
                .with_starting_psn(Psn(psn[0]))
                .with_responder_resources(connection.max_reads.min(255) as u8)
                .with_initiator_depth(connection.max_reads.min(255) as u8)
                .with_retry_count(connection.retry)
                .with_rnr_retry_count(connection.rnr_retry)
                .with_p_key(PKey(0xffff))
                .with_path_mtu(PathMtu(mtu_code))
                .with_primary_local_gid(gid(hosts[0]))
                .with_primary_remote_gid(gid(hosts[1]))
                .with_primary_local_ack_timeout(connection.timeout)
                .bytes()
                .to_vec(),
        ),
        Manage::Rep => (
            0x13,
            CmRep::default()
                .with_local_comm_id(local)
                .with_remote_comm_id(remote)
                .with_local_qpn(Qpn(qp[1]))
                .with_starting_psn(Psn(psn[1]))
                .with_rnr_retry_count(connection.rnr_retry)
                .bytes()
                .to_vec(),
        ),
        Manage::Rtu => {
            (0x14, CmRtu::default().with_local_comm_id(local).with_remote_comm_id(remote).bytes().to_vec())
        }
        Manage::Dreq => (
            0x15,
            CmDreq::default()
                .with_local_comm_id(local)
                .with_remote_comm_id(remote)
                .with_remote_qpn(Qpn(qp[1]))
                .bytes()
                .to_vec(),
        ),
        Manage::Drep => {
            (0x16, CmDrep::default().with_local_comm_id(local).with_remote_comm_id(remote).bytes().to_vec())
        }
    };
    let mad = Mad::default()
        .with_base_version(1)
        .with_mgmt_class(MgmtClass::CM)
        .with_class_version(2)
        .with_method(MadMethod(3))
        .with_transaction_id(Hex64(0x5ce0_0000_0000 + t.message as u64))
        .with_attribute_id(Hex16(attribute));
    let mut bytes = mad.bytes().to_vec();
    bytes.extend(body);
    bytes.resize(256, 0);
    bytes
}
