//! Sightings -> frames.

use std::collections::HashMap;

use bytes::{Bytes, BytesMut};

use super::{
    Verb, Wrap,
    engine::{Control, Journey, Run, Sighting, Transmission},
    manage::Manage,
    network::NOWHERE,
    rng::splitmix,
};
use crate::{
    craft::{self, Auto, Dialog, Endpoint, Packet, Path, template},
    dissect::{Encapsulation, Link},
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
        let native = |c: &super::Connection| {
            matches!(c.encapsulation, super::Encapsulation::Ib | super::Encapsulation::IbGrh)
        };
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
        let managed = run.flows[t.flow as usize].connection.is_none();
        let mut datagram;
        let packet = if managed {
            datagram = wrapped(tap.wrap, management(run, t));
            datagram.set_keep(Auto::UdpSourcePort, true);
            datagram.set_keep(Auto::Fcs, !tap.fcs);
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
        // Native InfiniBand has its own mark.
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
        let mut packet = wrapped(
            tap.wrap,
            match control.priority {
                None => craft::pause(Mac(mac), control.quanta),
                Some(priority) => {
                    let quanta = |n| (n == priority as usize).then_some(control.quanta);
                    craft::pfc(Mac(mac), std::array::from_fn(quanta))
                }
            },
        );
        packet.alter(|sequence: GreSequence| sequence.with_sequence_number(sighting.sequence));
        packet.set_keep(Auto::Fcs, !tap.fcs);
        packet.build_into(&mut self.buffer);
    }
}

/// A frame as a mirror sends it: with its headers before it.
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

/// A flow's packets of one operation code, with all that they have in common.
fn start(run: &Run, tap: &super::Tap, t: &Transmission) -> Packet {
    let flow = &run.flows[t.flow as usize];
    let path = path(run, t);
    let mut packet = wrapped(tap.wrap, path.packet());
    let bth =
        template::bth().with_opcode(t.opcode).with_dest_qp(Qpn(flow.dest_qp)).with_becn(t.opcode.is_cnp());
    packet = packet.push(bth);
    for &kind in t.opcode.chain() {
        packet = match kind {
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

/// What the headers of a flow's packets say.
fn path(run: &Run, t: &Transmission) -> Path {
    let flow = &run.flows[t.flow as usize];
    let end = |host: u32| {
        let of = &run.scenario.host[host as usize];
        Endpoint::new(of.address).mac(run.mac(host)).lid(of.lid.unwrap_or(host as u16 + 1))
    };
    let connection = flow.connection.map(|c| &run.connections[c as usize]);
    let v6 = run.scenario.host[flow.src as usize].address.is_ipv6();
    let encapsulation = match connection.map_or(super::Encapsulation::Rocev2, |c| c.encapsulation) {
        super::Encapsulation::Rocev2 if v6 => Encapsulation::RoceV2Ipv6,
        super::Encapsulation::Rocev2 => Encapsulation::RoceV2Ipv4,
        super::Encapsulation::Rocev1 => Encapsulation::RoceV1,
        super::Encapsulation::Ib => Encapsulation::Ib,
        super::Encapsulation::IbGrh => Encapsulation::IbGrh,
    };
    let path = Path::new(encapsulation, end(flow.src), end(flow.dst));
    let Some(connection) = connection else { return Path { dscp: 0, ..path } };
    let dscp = if t.opcode.is_cnp() { run.scenario.cnp.dscp } else { connection.dscp };
    Path { dscp, ttl: connection.ttl, vlan: connection.vlan.map(|vid| (connection.pcp, vid)), ..path }
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
    if !packet.keeps(Auto::Fcs)
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
    let what = Manage::of(t.syndrome);
    let path = path(run, t);
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
                .with_primary_local_ack_timeout(connection.timeout)
        }),
        Manage::Rep => dialog.rep(&[]).edit(|rep: CmRep| rep.with_rnr_retry_count(connection.rnr_retry)),
        Manage::Rtu => dialog.rtu(&[]),
        Manage::Dreq => dialog.dreq(false, &[]),
        Manage::Drep => dialog.drep(true, &[]),
    }
}
