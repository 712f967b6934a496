//! What the analysis reads from a packet: all of it, once, and nothing that refers to the frame.
//!
//! [`Dissected`] holds the facts of a dissection, whatever the packet is wrapped in. [`Plain`] holds those of the frames
//! that nearly all are: RoCEv2 over IPv4 in an Ethernet frame, with one VLAN tag at most and no length that lies, read
//! from fixed offsets. It refuses everything else. It is as long as a cache line, for it is what threads hand on; the
//! rest follows from it. Dissecting took a third of an analysis; this takes a sixth. `tests/plain.rs` and the fuzz target
//! `analysis` hold the two against each other.

use super::{FARTHEST, flow::Key};
use crate::{
    capture::Record,
    checksum,
    cost::{self, Contents, FCS, GAP, ICRC, PREAMBLE, SHORTEST_FRAME, extended_len},
    dissect::{self, Dissection, Encapsulation, Link, Severity},
    icrc::{self, State},
    opcode::{Direction, Opcode, Operation, PayloadRule, Position},
    wire::*,
};

/// What the capture says of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) time: i64,
    /// Bytes on the wire, and those captured.
    pub(crate) wire_len: u32,
    pub(crate) captured: u32,
    pub(crate) link: u16,
    pub(crate) interface: u16,
    pub(crate) is_cut: bool,
    pub(crate) is_malformed: bool,
}

impl Frame {
    pub(crate) fn of(record: &Record<'_>, d: &Dissection<'_>) -> Frame {
        Frame {
            time: record.time.0,
            wire_len: d.wire_len(),
            captured: record.frame.len() as u32,
            link: record.link.0,
            interface: record.interface,
            is_cut: d.is_cut(),
            is_malformed: !d.notes().is_empty() && d.severity() == Some(Severity::Error),
        }
    }
}

/// What a packet of the transport says.
pub(crate) trait Facts {
    fn frame(&self) -> Frame;
    /// `None` for a packet without addresses that a key could be made of.
    fn key(&self) -> Option<Key>;
    fn wrap(&self) -> Encapsulation;
    fn icrc(&self) -> State;
    fn opcode(&self) -> Opcode;
    fn ack_req(&self) -> bool;
    fn psn(&self) -> Psn;
    /// IPv4 identification.
    fn ip_id(&self) -> Option<u16>;
    /// Whether the IPv4 header's checksum is right; `None` without one.
    fn ip_right(&self) -> Option<bool>;
    /// VLAN, DSCP, TTL and source port, see [`look`].
    fn look(&self) -> u64;
    /// The ECN field of the network header; 0 without one.
    fn ecn(&self) -> Ecn;
    /// The mark: in the network header, or FECN of native InfiniBand, where all packets are capable.
    fn mark(&self) -> Ecn;
    /// By the lengths that the packet states; of those that lie, as far as they can be followed.
    fn payload(&self) -> u32;
    fn contents(&self) -> Contents;
    fn vlan_bytes(&self) -> u32;
    /// Bytes of the network header, options and extension headers included.
    fn network(&self) -> u32;
    /// Bytes that the frame takes on the wire, see [`l1_bytes`].
    fn l1_bytes(&self) -> u32;
    fn aeth(&self) -> Option<Aeth>;
    fn dma_len(&self) -> Option<u32>;
    /// What tells one transmission of a PSN from another, as far as the headers do.
    fn fingerprint(&self) -> u32;

    #[inline(always)]
    fn time(&self) -> i64 {
        self.frame().time
    }

    /// UDP source port.
    #[inline(always)]
    fn port(&self) -> Option<u16> {
        look::port(self.look())
    }

    /// Where it was seen: capture interface and TTL.
    #[inline(always)]
    fn vantage(&self) -> u16 {
        self.frame().interface << 8 | look::ttl(self.look()).unwrap_or(0) as u16
    }

    /// It is a request that an acknowledgement is due for.
    #[inline(always)]
    fn is_ack_expected(&self) -> bool {
        let shape = self.opcode().shape();
        let is_due = self.ack_req() || matches!(shape.position, Position::Last | Position::Only);
        is_due && shape.direction == Direction::Request
    }

    /// An ACK or a NAK; not the acknowledgement of an atomic, which carries data.
    #[inline(always)]
    fn is_acknowledge(&self) -> bool {
        self.opcode().operation() == Some(Operation::Acknowledge)
    }

    /// What an acknowledgement says.
    #[inline(always)]
    fn syndrome(&self) -> Option<Syndrome> {
        if self.is_acknowledge() { self.aeth().map(|aeth| aeth.syndrome()) } else { None }
    }
}

/// The facts of any packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dissected {
    frame: Frame,
    key: Option<Key>,
    wrap: Encapsulation,
    icrc: State,
    opcode: Opcode,
    ack_req: bool,
    psn: Psn,
    ip_id: Option<u16>,
    ip_right: Option<bool>,
    look: u64,
    ecn: Ecn,
    mark: Ecn,
    payload: u32,
    contents: Contents,
    vlan_bytes: u32,
    network: u32,
    l1_bytes: u32,
    aeth: Option<Aeth>,
    dma_len: Option<u32>,
    fingerprint: u32,
}

impl Dissected {
    /// Of a packet that has a BTH.
    pub(crate) fn of(record: &Record<'_>, d: &Dissection<'_>, icrc: State) -> Option<Dissected> {
        let (bth, wrap) = (d.get::<Bth>()?, d.encapsulation()?);
        let udp = d.get::<Udp>();
        let (ip_id, ttl, tos) = if let Some(ip) = d.get::<Ipv4>() {
            (Some(ip.id().0), Some(ip.ttl()), ip.dscp() << 2 | ip.ecn().0)
        } else if let Some(ip) = d.get::<Ipv6>() {
            (None, Some(ip.hop_limit()), ip.dscp() << 2 | ip.ecn().0)
        } else if let Some(grh) = d.get::<Grh>() {
            (None, Some(grh.hop_lmt()), grh.t_class().0)
        } else {
            (None, None, 0)
        };
        let is_right = |ip: &Ipv4| ip.ihl() != 5 || checksum::internet(ip.bytes()) == 0;
        let is_ip = d.has(Kind::Ipv4) || d.has(Kind::Ipv6);
        let mark = match wrap {
            _ if is_ip => Ecn(tos & 3),
            Encapsulation::RoceV1 => Ecn(tos & 3),
            _ if d.has(Kind::Lrh) && bth.fecn() => Ecn::CE,
            _ => Ecn::ECT0,
        };
        let at = d.offset(Kind::Bth).unwrap_or(0) as u32;
        let before = if udp.is_some() { at.saturating_sub(Udp::LEN as u32) } else { at };
        let port = udp.map(Udp::src_port);
        let aeth = d.get::<Aeth>().copied();
        Some(Dissected {
            frame: Frame::of(record, d),
            key: Key::of(d, bth),
            wrap,
            icrc,
            opcode: bth.opcode(),
            ack_req: bth.ack_req(),
            psn: bth.psn(),
            ip_id,
            ip_right: d.get::<Ipv4>().map(is_right),
            look: look::of(d.get::<Vlan>().map(Vlan::vid), ttl, tos, port),
            ecn: Ecn(tos & 3),
            mark,
            payload: d.payload_len(),
            contents: contents(d.end().saturating_sub(at), bth),
            vlan_bytes: vlan_bytes(d),
            network: network(d).map_or(0, |from| before.saturating_sub(from)),
            l1_bytes: l1_bytes(d),
            dma_len: d.get::<Reth>().map(Reth::dma_len),
            fingerprint: fingerprint(ip_id, port, bth, d.payload_len(), aeth.as_ref()),
            aeth,
        })
    }
}

macro_rules! told {
    ($($name:ident: $type:ty),*) => { $(
        #[inline(always)]
        fn $name(&self) -> $type {
            self.$name
        }
    )* };
}

impl Facts for Dissected {
    told! {
        frame: Frame, key: Option<Key>, wrap: Encapsulation, icrc: State, opcode: Opcode, ack_req: bool, psn: Psn,
        ip_id: Option<u16>, ip_right: Option<bool>, look: u64, ecn: Ecn, mark: Ecn, payload: u32, contents: Contents,
        vlan_bytes: u32, network: u32, l1_bytes: u32, aeth: Option<Aeth>, dma_len: Option<u32>, fingerprint: u32
    }
}

/// The facts of a plain packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain {
    time: i64,
    look: u64,
    src: u32,
    dst: u32,
    dest_qp: u32,
    psn: u32,
    fingerprint: u32,
    /// The AETH, or the RETH's length.
    said: u32,
    wire_len: u32,
    captured: u32,
    ip_id: u16,
    /// The IPv4 header's total length.
    total: u16,
    interface: u16,
    opcode: u8,
    ecn: u8,
    pad: u8,
    icrc: State,
    ack_req: bool,
    ip_right: bool,
}

const _: () = assert!(size_of::<Plain>() == 64);

impl Plain {
    /// Of a plain packet; `None` of any other. Its ICRC is verified on the way if that is wanted: the headers are at hand.
    #[inline(always)]
    pub(crate) fn of(options: &dissect::Options, record: &Record<'_>, verify: bool) -> Option<Plain> {
        let frame = record.frame;
        if record.link != Link::ETHERNET || record.time.0.unsigned_abs() > FARTHEST as u64 {
            return None;
        }
        let (ethernet, rest) = Ethernet::view(frame)?;
        let (rest, vlan) = match ethernet.ether_type() {
            EtherType::IPV4 => (rest, None),
            EtherType::VLAN => {
                let (tag, rest) = Vlan::view(rest)?;
                if tag.ether_type() != EtherType::IPV4 {
                    return None;
                }
                (rest, Some(tag.vid()))
            }
            _ => return None,
        };
        let headers: &[u8; HEADERS] = rest.first_chunk()?;
        let (ip, after) = Ipv4::view(headers)?;
        let (udp, after) = Udp::view(after)?;
        let (bth, _) = Bth::view(after)?;
        let opcode = bth.opcode();
        let shape = opcode.shape();
        let total = ip.total_len();
        let captured = frame.len() as u32;
        let wire_len = record.wire_len.max(captured);
        let (port, dest_qp) = (udp.dst_port(), bth.dest_qp());
        let is_plain = (ip.bytes()[0] == 0x45)
            & !ip.mf()
            & (ip.fragment_offset() == 0)
            & (ip.protocol() == IpProtocol::UDP)
            & (port == options.roce_ports[0] || port == options.roce_ports[1] && port != 0)
            & (udp.length() as u32 + Ipv4::LEN as u32 == total as u32)
            & (captured - rest.len() as u32 + total as u32 <= wire_len)
            & (bth.tver() == 0)
            & shape.is_plain
            & (dest_qp.0 > 1);
        let extended = shape.extended as u32;
        let fixed = HEADERS as u32 + extended + ICRC;
        if !is_plain || (total as u32) < fixed || rest.len() < HEADERS + extended as usize {
            return None;
        }
        let pad = bth.pad_cnt();
        let payload = (total as u32 - fixed).wrapping_sub(pad as u32);
        let fits = match shape.payload {
            PayloadRule::Full => payload.is_power_of_two() && (256..=4096).contains(&payload),
            PayloadRule::Some => payload.wrapping_sub(1) <= u16::MAX as u32,
            PayloadRule::Any => payload <= u16::MAX as u32,
            PayloadRule::None => payload == 0,
            PayloadRule::Eight => payload == 8,
        };
        if !fits {
            return None;
        }
        let body = &rest[HEADERS..];
        let aeth = if shape.has_aeth { Aeth::view(body).map(|(aeth, _)| aeth) } else { None };
        let reth = if shape.has_reth { Reth::view(body).map(|(reth, _)| reth) } else { None };
        let said = match reth {
            Some(reth) => reth.dma_len(),
            None => body.first_chunk().map_or(0, |word| u32::from_be_bytes(*word)),
        };
        let icrc = match rest.get(HEADERS..total as usize) {
            Some(covered) if verify => verify_plain(headers, covered),
            _ => State::Unchecked,
        };
        let (ip_id, source, tos) = (ip.id().0, udp.src_port(), ip.bytes()[1]);
        Some(Plain {
            time: record.time.0,
            look: look::of(vlan, Some(ip.ttl()), tos, Some(source)),
            src: ip.src().into(),
            dst: ip.dst().into(),
            dest_qp: dest_qp.0,
            psn: bth.psn().0,
            fingerprint: fingerprint(Some(ip_id), Some(source), bth, payload, aeth),
            said,
            wire_len,
            captured,
            ip_id,
            total,
            interface: record.interface,
            opcode: opcode.0,
            ecn: tos & 3,
            pad,
            icrc,
            ack_req: bth.ack_req(),
            ip_right: checksum::internet_of_twenty(ip.bytes()) == 0,
        })
    }
}

impl Facts for Plain {
    #[inline(always)]
    fn frame(&self) -> Frame {
        Frame {
            time: self.time,
            wire_len: self.wire_len,
            captured: self.captured,
            link: Link::ETHERNET.0,
            interface: self.interface,
            is_cut: self.captured < self.wire_len,
            is_malformed: false,
        }
    }

    #[inline(always)]
    fn key(&self) -> Option<Key> {
        Some(Key::of_ipv4(self.src, self.dst, self.dest_qp))
    }

    #[inline(always)]
    fn wrap(&self) -> Encapsulation {
        Encapsulation::RoceV2Ipv4
    }

    told! { icrc: State, ack_req: bool, look: u64, fingerprint: u32 }

    #[inline(always)]
    fn opcode(&self) -> Opcode {
        Opcode(self.opcode)
    }

    #[inline(always)]
    fn psn(&self) -> Psn {
        Psn(self.psn)
    }

    #[inline(always)]
    fn ip_id(&self) -> Option<u16> {
        Some(self.ip_id)
    }

    #[inline(always)]
    fn ip_right(&self) -> Option<bool> {
        Some(self.ip_right)
    }

    #[inline(always)]
    fn ecn(&self) -> Ecn {
        Ecn(self.ecn)
    }

    #[inline(always)]
    fn mark(&self) -> Ecn {
        Ecn(self.ecn)
    }

    #[inline(always)]
    fn payload(&self) -> u32 {
        let fixed = HEADERS as u32 + self.opcode().shape().extended as u32 + ICRC;
        (self.total as u32).wrapping_sub(fixed + self.pad as u32)
    }

    #[inline(always)]
    fn contents(&self) -> Contents {
        let extended = self.opcode().shape().extended as u32;
        Contents { extended, payload: self.payload(), pad: self.pad as u32 }
    }

    #[inline(always)]
    fn vlan_bytes(&self) -> u32 {
        if look::vlan(self.look).is_some() { Vlan::LEN as u32 } else { 0 }
    }

    #[inline(always)]
    fn network(&self) -> u32 {
        Ipv4::LEN as u32
    }

    #[inline(always)]
    fn l1_bytes(&self) -> u32 {
        let frame = Ethernet::LEN as u32 + self.vlan_bytes() + self.total as u32 + FCS;
        frame.max(SHORTEST_FRAME) + PREAMBLE + GAP
    }

    #[inline(always)]
    fn aeth(&self) -> Option<Aeth> {
        let aeth = || Aeth::view(&self.said.to_be_bytes()).map(|(aeth, _)| *aeth);
        if self.opcode().shape().has_aeth { aeth() } else { None }
    }

    #[inline(always)]
    fn dma_len(&self) -> Option<u32> {
        self.opcode().shape().has_reth.then_some(self.said)
    }
}

/// IPv4, UDP and BTH.
const HEADERS: usize = Ipv4::LEN + Udp::LEN + Bth::LEN;

/// `covered` is what follows the BTH, ICRC included.
#[inline]
fn verify_plain(headers: &[u8; HEADERS], covered: &[u8]) -> State {
    let Some((body, there)) = covered.split_last_chunk::<4>() else { return State::Unchecked };
    if icrc::of_rocev2_ipv4(headers, body) == *there { State::Good } else { State::Bad }
}

/// Bytes of extended headers, payload and pad, by the lengths that the packet states, captured or not. `left`: from
/// its BTH on.
fn contents(left: u32, bth: &Bth) -> Contents {
    let room = left.saturating_sub(Bth::LEN as u32 + ICRC);
    let extended = extended_len(bth.opcode());
    let pad = (bth.pad_cnt() as u32).min(room.saturating_sub(extended));
    Contents { extended, payload: room.saturating_sub(extended + pad), pad }
}

#[inline(always)]
fn fingerprint(id: Option<u16>, port: Option<u16>, bth: &Bth, payload: u32, aeth: Option<&Aeth>) -> u32 {
    let bytes = bth.bytes();
    let flags = u16::from_be_bytes([bytes[0], bytes[1]]) ^ (bytes[8] as u16) << 3;
    let rest = flags.rotate_left(5) ^ port.unwrap_or(0) ^ (payload as u16).rotate_left(9);
    let syndrome = aeth.map_or(0, |aeth| aeth.syndrome().0 as u16 ^ (aeth.msn() as u16).rotate_left(4));
    (id.unwrap_or(0) as u32) << 16 | (rest ^ syndrome) as u32
}

/// Bytes that the frame takes on the wire: with preamble, frame check sequence and inter-frame gap if it is an Ethernet
/// frame, from LRH to VCRC if it is native InfiniBand. By the lengths that its headers state, never by what was
/// captured; of the innermost packet, where there are tunnels.
pub fn l1_bytes(d: &Dissection<'_>) -> u32 {
    if d.link() != Link::ETHERNET {
        if let Some(lrh) = d.offset(Kind::Lrh) {
            return d.end().saturating_sub(lrh as u32).saturating_add(cost::VCRC);
        }
        if d.has(Kind::LinkPacket) {
            return LinkPacket::LEN as u32;
        }
    }
    let frame = match network(d) {
        Some(network) => {
            (Ethernet::LEN as u32 + vlan_bytes(d) + FCS).saturating_add(d.end().saturating_sub(network))
        }
        None => other_frame(d),
    };
    frame.max(SHORTEST_FRAME).saturating_add(PREAMBLE + GAP)
}

/// Where the network header starts.
fn network(d: &Dissection<'_>) -> Option<u32> {
    let at = d.offset(Kind::Ipv4).or_else(|| d.offset(Kind::Ipv6)).or_else(|| d.offset(Kind::Grh))?;
    Some(at as u32)
}

/// A frame that is not of a network protocol this toolkit reads, without its preamble and gap.
#[cold]
fn other_frame(d: &Dissection<'_>) -> u32 {
    let from = d.offset(Kind::Ethernet).unwrap_or(0) as u32;
    // An ERF record of an Ethernet frame counts its frame check sequence; the other formats' rarely have it.
    let fcs = if d.link() == Link::ERF && !d.end_is_known() { 0 } else { FCS };
    d.end().saturating_sub(from).saturating_add(fcs)
}

/// Bytes of VLAN tags.
fn vlan_bytes(d: &Dissection<'_>) -> u32 {
    let Some(last) = d.offset(Kind::Vlan) else { return 0 };
    let after = |kind, len| d.offset(kind).map(|at| at + len);
    let first = after(Kind::Ethernet, Ethernet::LEN)
        .or_else(|| after(Kind::Sll, Sll::LEN))
        .or_else(|| after(Kind::Sll2, Sll2::LEN))
        .unwrap_or(last);
    (last + Vlan::LEN).saturating_sub(first) as u32
}

/// VLAN, DSCP, TTL and source port as one number that is never 0: each with a bit that says whether it is there.
pub(crate) mod look {
    const THERE: u64 = 1 << 16;
    const NETWORK: u32 = 20;
    const VLAN: u32 = 40;

    #[inline(always)]
    pub(super) fn of(vlan: Option<u16>, ttl: Option<u8>, tos: u8, port: Option<u16>) -> u64 {
        let vlan = vlan.map_or(0, |vlan| THERE | vlan as u64);
        let network = ttl.map_or(0, |ttl| THERE | (ttl as u64) << 8 | (tos >> 2) as u64);
        let port = port.map_or(0, |port| THERE | port as u64);
        1 << 63 | vlan << VLAN | network << NETWORK | port
    }

    pub(crate) fn vlan(look: u64) -> Option<u16> {
        part(look >> VLAN)
    }

    pub(crate) fn ttl(look: u64) -> Option<u8> {
        part(look >> NETWORK).map(|part| (part >> 8) as u8)
    }

    pub(crate) fn dscp(look: u64) -> Option<u8> {
        part(look >> NETWORK).map(|part| part as u8)
    }

    pub(crate) fn port(look: u64) -> Option<u16> {
        part(look)
    }

    fn part(look: u64) -> Option<u16> {
        (look & THERE != 0).then_some(look as u16)
    }
}
