//! Frames built by hand for the metrics' tests.

use std::net::{Ipv4Addr, Ipv6Addr};

use rdmawire::{
    analyze::{
        Class, Event, Facts, FlowId,
        metric::{Metric, Placed, overhead::l1_bytes},
    },
    capture::{Record, Time},
    checksum,
    dissect::{Encapsulation, Link, dissect},
    icrc,
    opcode::Opcode,
    wire::*,
    wire_cost::extended_len,
};

/// What may differ between frames.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Roce {
    pub(crate) wrap: Encapsulation,
    pub(crate) vlans: u8,
    pub(crate) src: u8,
    pub(crate) dst: u8,
    pub(crate) port: u16,
    pub(crate) opcode: Opcode,
    pub(crate) qp: u32,
    pub(crate) psn: u32,
    pub(crate) ecn: Ecn,
    pub(crate) payload: usize,
    /// First byte of the AETH, where there is one.
    pub(crate) syndrome: u8,
}

impl Default for Roce {
    fn default() -> Self {
        Roce {
            wrap: Encapsulation::RoceV2Ipv4,
            vlans: 0,
            src: 1,
            dst: 2,
            port: 0xc123,
            opcode: Opcode::RC_SEND_MIDDLE,
            qp: 0x11,
            psn: 0,
            ecn: Ecn::ECT0,
            payload: 0,
            syndrome: 0,
        }
    }
}

impl Roce {
    /// The frame as a host captures it: padded to 60 bytes, without frame check sequence.
    pub(crate) fn frame(self) -> Vec<u8> {
        let pad = self.payload.wrapping_neg() & 3;
        let body = extended_len(self.opcode) as usize + self.payload + pad + 4;
        let mut transport = Bth::default()
            .with_opcode(self.opcode)
            .with_pad_cnt(pad as u8)
            .with_dest_qp(Qpn(self.qp))
            .with_psn(Psn(self.psn))
            .bytes()
            .to_vec();
        let aeth = transport.len();
        transport.resize(transport.len() + body, 0);
        if self.opcode.chain().first() == Some(&Kind::Aeth) {
            transport[aeth] = self.syndrome;
        }
        let len = transport.len() as u16;
        let v6 = |host: u8| Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, host as u16);
        let (mut packet, ether_type) = match self.wrap {
            Encapsulation::RoceV2Ipv4 => (
                Ipv4::default()
                    .with_version(4)
                    .with_ihl(5)
                    .with_ecn(self.ecn)
                    .with_total_len(28 + len)
                    .with_protocol(IpProtocol::UDP)
                    .with_src(Ipv4Addr::new(10, 0, 0, self.src))
                    .with_dst(Ipv4Addr::new(10, 0, 0, self.dst))
                    .bytes()
                    .to_vec(),
                EtherType::IPV4,
            ),
            Encapsulation::RoceV2Ipv6 => (
                Ipv6::default()
                    .with_version(6)
                    .with_ecn(self.ecn)
                    .with_payload_len(8 + len)
                    .with_next_header(IpProtocol::UDP)
                    .with_src(v6(self.src))
                    .with_dst(v6(self.dst))
                    .bytes()
                    .to_vec(),
                EtherType::IPV6,
            ),
            Encapsulation::Ib => (Vec::new(), EtherType::ROCE),
            _ => (
                Grh::default()
                    .with_ip_ver(6)
                    .with_t_class(Hex8(self.ecn.0))
                    .with_pay_len(len)
                    .with_nxt_hdr(IpProtocol::IBA)
                    .with_sgid(v6(self.src))
                    .with_dgid(v6(self.dst))
                    .bytes()
                    .to_vec(),
                EtherType::ROCE,
            ),
        };
        if matches!(self.wrap, Encapsulation::RoceV2Ipv4 | Encapsulation::RoceV2Ipv6) {
            let udp = Udp::default().with_src_port(self.port).with_dst_port(4791).with_length(8 + len);
            packet.extend(udp.bytes());
        }
        packet.extend(transport);
        if matches!(self.wrap, Encapsulation::Ib | Encapsulation::IbGrh) {
            let global = self.wrap == Encapsulation::IbGrh;
            let lrh = Lrh::default()
                .with_lnh(if global { Lnh::GLOBAL } else { Lnh::LOCAL })
                .with_pkt_len((8 + packet.len()) as u16 / 4)
                .with_slid(Lid(self.src as u16))
                .with_dlid(Lid(self.dst as u16));
            return [lrh.bytes(), &packet, &[0; 2]].concat();
        }
        let mac = |host| Mac([2, 0, 0, 0, 0, host]);
        let first = if self.vlans > 0 { EtherType::VLAN } else { ether_type };
        let mut frame = Ethernet::default()
            .with_dst(mac(self.dst))
            .with_src(mac(self.src))
            .with_ether_type(first)
            .bytes()
            .to_vec();
        for left in (0..self.vlans).rev() {
            let next = if left > 0 { EtherType::VLAN } else { ether_type };
            frame.extend(Vlan::default().with_vid(7).with_ether_type(next).bytes());
        }
        frame.extend(packet);
        frame.resize(frame.len().max(60), 0);
        frame
    }

    pub(crate) fn link(self) -> Link {
        match self.wrap {
            Encapsulation::Ib | Encapsulation::IbGrh => Link::INFINIBAND,
            _ => Link::ETHERNET,
        }
    }
}

/// Shows a frame to a metric.
pub(crate) struct Shown<'a> {
    pub(crate) time: i64,
    pub(crate) link: Link,
    pub(crate) frame: &'a [u8],
    pub(crate) interface: u16,
    pub(crate) number: u64,
    pub(crate) flow: Option<u32>,
    pub(crate) class: Option<Class>,
}

impl Shown<'_> {
    pub(crate) fn to(&self, metric: &mut impl Metric) {
        let wire_len = self.frame.len() as u32;
        let record = Record {
            time: Time(self.time),
            link: self.link,
            interface: self.interface,
            wire_len,
            frame: self.frame,
        };
        let packet = dissect(self.link, self.frame, wire_len);
        match Facts::of(&record, &packet, icrc::State::Unchecked) {
            Some(view) => {
                let (frame, flow, space, class) =
                    (self.number, self.flow.map(FlowId), Some(view.opcode().direction()), self.class);
                let is_control = view.opcode().is_cnp() || view.syndrome().is_some();
                let (is_marked_later, peer, epoch, peer_qp) = (false, None, None, None);
                let is_new = matches!(
                    class,
                    Some(
                        Class::First | Class::New | Class::NewAfterGap | Class::Resync | Class::LateOriginal
                    )
                );
                let goodput = if is_new { view.payload() } else { 0 };
                metric.on_packet(
                    &view,
                    &Placed {
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
                    },
                );
            }
            None => {
                let (number, l1_bytes) = (self.number, l1_bytes(&packet));
                metric.on_frame(&Event { number, record: &record, packet: &packet, l1_bytes });
            }
        }
    }
}

/// A frame at a time, of a flow.
pub(crate) fn shown(time: i64, link: Link, frame: &[u8], flow: Option<u32>) -> Shown<'_> {
    Shown { time, link, frame, interface: 0, number: 1, flow, class: None }
}

/// What a switch that trims packets makes of one over Ethernet and IPv4: so many bytes, another DSCP, IP's length and checksum for
/// that.
pub(crate) fn trimmed(frame: &[u8], to: usize) -> Vec<u8> {
    const IP: usize = 14;
    let mut frame = frame[..to].to_vec();
    let ip = &mut frame[IP..IP + Ipv4::LEN];
    ip[1] = 48 << 2;
    ip[2..4].copy_from_slice(&((to - IP) as u16).to_be_bytes());
    ip[10..12].fill(0);
    let sum = checksum::internet(ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    frame
}
