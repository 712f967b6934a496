//! The fields of a packet that the analysis reads. They borrow nothing from the frame.
//!
//! A [`ParsedPacket`] is made from a dissection, in any encapsulation. A [`FastPacket`] is read from fixed offsets, which is
//! possible for most frames.

pub(crate) mod encap;
pub(crate) mod fast;
mod inside;
pub(crate) mod key;

pub(crate) use encap::EncapPacket;
pub(crate) use fast::{FastForm, FastPacket, RunKey};

use key::Key;

use crate::{
    analyze::model::Address,
    capture::Record,
    checksum,
    dissect::{Dissection, Encapsulation, Link, Severity},
    icrc::State,
    opcode::{Direction, Opcode, Operation},
    wire::*,
    wire_cost::{self, Contents, FCS, GAP, ICRC, PREAMBLE, SHORTEST_FRAME, extended_len},
};

/// A copy that a mirror made, identified by its sender, receiver and session.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct MirrorCopy {
    pub(crate) key: (u128, u128, u16),
    pub(crate) number: u32,
}

impl MirrorCopy {
    /// What the outer headers say of a mirror's copy; `None` if no mirror numbers it. `at` gives the bytes from the outermost
    /// header of a kind on.
    pub(crate) fn of<'a>(at: impl Fn(Kind) -> Option<&'a [u8]>) -> Option<MirrorCopy> {
        let (sequence, _) = at(Kind::GreSequence).and_then(GreSequence::view)?;
        let (src, dst) = match (at(Kind::Ipv4).and_then(Ipv4::view), at(Kind::Ipv6).and_then(Ipv6::view)) {
            (Some((ip, _)), _) => (u32::from(ip.src()) as u128, u32::from(ip.dst()) as u128),
            (_, Some((ip, _))) => (u128::from(ip.src()), u128::from(ip.dst())),
            _ => return None,
        };
        let session = at(Kind::Erspan2).and_then(Erspan2::view).map(|(erspan, _)| erspan.session_id());
        let of_third = || at(Kind::Erspan3).and_then(Erspan3::view).map(|(erspan, _)| erspan.session_id());
        let session = session.or_else(of_third).unwrap_or(u16::MAX);
        Some(MirrorCopy { key: (src, dst, session), number: sequence.sequence_number() })
    }

    /// What a dissected frame says of it.
    #[cold]
    #[inline(never)]
    pub(crate) fn of_dissection(d: &Dissection<'_>) -> Option<MirrorCopy> {
        let layers = d.layers();
        MirrorCopy::of(|kind| {
            let layer = layers.iter().find(|layer| layer.kind == kind)?;
            d.frame().get(layer.at as usize..)
        })
    }
}

/// The largest distance of a time from 1970 in nanoseconds, 146 years; larger ones count as this. The difference of two times
/// then fits into an `i64`.
pub(crate) const FARTHEST: i64 = (1 << 62) - 1;

/// The properties of a frame in the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Frame {
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
    pub(crate) fn of(record: &Record<'_>, d: &Dissection<'_>, icrc: State) -> Frame {
        Frame {
            time: record.time.0,
            wire_len: d.wire_len(),
            captured: record.frame.len() as u32,
            link: record.link.0,
            interface: record.interface,
            is_cut: d.is_cut(),
            is_malformed: !d.notes().is_empty()
                && icrc != State::Trimmed
                && d.severity() == Some(Severity::Error),
        }
    }
}

/// The fields of a packet of the InfiniBand transport, in any encapsulation.
///
/// Lengths are those that the packet states, captured or not. Of packets in a tunnel or a mirror's copy, all is of the innermost
/// one.
pub trait PacketView {
    #[doc(hidden)]
    fn frame(&self) -> Frame;
    /// `None` for a packet without addresses that a key could be made of.
    #[doc(hidden)]
    fn key(&self) -> Option<Key>;
    /// What carries the packet: RoCEv2 over IPv4 or IPv6, RoCE v1, native InfiniBand.
    fn encapsulation(&self) -> Encapsulation;
    /// The state of its ICRC.
    fn icrc(&self) -> State;
    /// The BTH's operation code.
    fn opcode(&self) -> Opcode;
    /// The BTH's AckReq bit.
    fn ack_req(&self) -> bool;
    /// The BTH's BECN bit: of a CNP, and of native InfiniBand.
    fn becn(&self) -> bool;
    /// The BTH's packet sequence number.
    fn psn(&self) -> Psn;
    /// IPv4 identification; `None` over anything else.
    fn ip_id(&self) -> Option<u16>;
    /// Whether the IPv4 header's checksum is right; `None` without one.
    fn ip_right(&self) -> Option<bool>;
    /// VLAN, DSCP, TTL, source port and priorities, see [`path_tag`].
    #[doc(hidden)]
    fn path_tag(&self) -> u64;
    /// The ECN field of the network header; 0 without one.
    fn ecn(&self) -> Ecn;
    /// The congestion mark: the ECN field, or of native InfiniBand its FECN bit, as CE or ECT(0).
    fn mark(&self) -> Ecn;
    /// Bytes of payload, without pad.
    fn payload(&self) -> u32;
    /// Bytes of extended headers, payload and pad.
    fn contents(&self) -> Contents;
    /// Bytes of VLAN tags.
    fn vlan_bytes(&self) -> u32;
    /// Bytes of the network header, options and extension headers included.
    fn network(&self) -> u32;
    /// Bytes that the frame takes on the wire, see [`l1_bytes`].
    fn l1_bytes(&self) -> u32;
    /// The AETH, of packets that have one.
    fn aeth(&self) -> Option<Aeth>;
    /// The RETH's DMA length in bytes, of packets that have one.
    fn dma_len(&self) -> Option<u32>;
    /// A hash of the header fields that differ between two transmissions of one PSN.
    #[doc(hidden)]
    fn fingerprint(&self) -> u32;

    /// The header fields that all packets of a run share; `None` for a packet without a fast form.
    #[doc(hidden)]
    #[inline(always)]
    fn run_key(&self) -> Option<RunKey> {
        None
    }

    /// When it was captured, in nanoseconds since 1970.
    #[inline(always)]
    fn time(&self) -> i64 {
        self.frame().time
    }

    /// Who sent it; `None` where no address is in the capture.
    fn source(&self) -> Option<Address> {
        self.key().map(|key| key.source())
    }

    /// Whom it goes to; `None` where no address is in the capture.
    fn destination(&self) -> Option<Address> {
        self.key().map(|key| key.destination())
    }

    /// The BTH's destination queue pair; `None` for a packet without addresses.
    fn dest_qp(&self) -> Option<Qpn> {
        self.key().map(|key| Qpn(key.dest_qp()))
    }

    /// UDP source port.
    #[inline(always)]
    fn port(&self) -> Option<u16> {
        path_tag::port(self.path_tag())
    }

    /// Where it was seen: capture interface and TTL.
    #[doc(hidden)]
    #[inline(always)]
    fn vantage(&self) -> u16 {
        // Without a TTL it is 0.
        self.frame().interface << 8 | (self.path_tag() >> 56) as u16
    }

    /// Whether it is a request whose receiver must acknowledge it.
    #[inline(always)]
    fn is_ack_expected(&self) -> bool {
        let shape = self.opcode().shape();
        (self.ack_req() | shape.ends) & (shape.direction == Direction::Request)
    }

    /// Whether it is an ACK or a NAK. The acknowledgement of an atomic, which carries data, does not count.
    #[inline(always)]
    fn is_acknowledge(&self) -> bool {
        self.opcode().operation() == Some(Operation::Acknowledge)
    }

    /// Whether it is a control packet: an ACK, a NAK or a CNP.
    #[inline(always)]
    fn is_control(&self) -> bool {
        self.is_acknowledge() || self.opcode().is_cnp()
    }

    /// The syndrome of an acknowledgement.
    #[inline(always)]
    fn syndrome(&self) -> Option<Syndrome> {
        if self.is_acknowledge() { self.aeth().map(|aeth| aeth.syndrome()) } else { None }
    }
}

/// A packet read from its dissection, in any encapsulation.
#[derive(Clone, Copy, Debug)]
pub struct ParsedPacket {
    frame: Frame,
    key: Option<Key>,
    encapsulation: Encapsulation,
    icrc: State,
    opcode: Opcode,
    ack_req: bool,
    becn: bool,
    psn: Psn,
    ip_id: Option<u16>,
    ip_right: Option<bool>,
    path_tag: u64,
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

impl ParsedPacket {
    /// The packet of a dissected frame; `None` without a BTH.
    pub fn of(record: &Record<'_>, d: &Dissection<'_>, icrc: State) -> Option<ParsedPacket> {
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
        Some(ParsedPacket {
            frame: Frame::of(record, d, icrc),
            key: Key::of(d, bth),
            encapsulation: wrap,
            icrc,
            opcode: bth.opcode(),
            ack_req: bth.ack_req(),
            becn: bth.becn(),
            psn: bth.psn(),
            ip_id,
            ip_right: d.get::<Ipv4>().map(is_right),
            path_tag: path_tag::of(d.get::<Vlan>().map(|tag| (tag.vid(), tag.pcp())), ttl, tos, port)
                | d.get::<Lrh>().map_or(0, |lrh| path_tag::of_lrh(lrh.sl(), lrh.vl())),
            ecn: Ecn(tos & 3),
            mark,
            payload: d.payload_len(),
            contents: contents(d.end().saturating_sub(at), bth),
            vlan_bytes: vlan_bytes(d),
            network: network(d).map_or(0, |from| before.saturating_sub(from)),
            l1_bytes: l1_bytes(d),
            dma_len: d.get::<Reth>().map(Reth::dma_len),
            fingerprint: Marks {
                id: ip_id.unwrap_or(0),
                port: port.unwrap_or(0),
                opcode: u16::from_be_bytes([bth.bytes()[0], bth.bytes()[1]]),
                ack: bth.bytes()[8],
                payload: d.payload_len(),
                aeth: aeth.map_or(0, |aeth| (aeth.syndrome().0 as u32) << 24 | aeth.msn()),
            }
            .fingerprint(),
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

impl PacketView for ParsedPacket {
    told! {
        frame: Frame, key: Option<Key>, encapsulation: Encapsulation, icrc: State, opcode: Opcode, ack_req: bool, becn: bool, psn: Psn,
        ip_id: Option<u16>, ip_right: Option<bool>, path_tag: u64, ecn: Ecn, mark: Ecn, payload: u32, contents: Contents,
        vlan_bytes: u32, network: u32, l1_bytes: u32, aeth: Option<Aeth>, dma_len: Option<u32>, fingerprint: u32
    }
}

/// Bytes of extended headers, payload and pad, by the lengths that the packet states, captured or not. `left`: from
/// its BTH on.
fn contents(left: u32, bth: &Bth) -> Contents {
    let room = left.saturating_sub(Bth::LEN as u32 + ICRC);
    let extended = extended_len(bth.opcode());
    let pad = (bth.pad_cnt() as u32).min(room.saturating_sub(extended));
    Contents { extended, payload: room.saturating_sub(extended + pad), pad }
}

/// The header fields that differ between two transmissions of one PSN.
pub(crate) struct Marks {
    pub(crate) id: u16,
    pub(crate) port: u16,
    /// The BTH's first two bytes.
    pub(crate) opcode: u16,
    /// Its ninth, with the AckReq bit.
    pub(crate) ack: u8,
    pub(crate) payload: u32,
    /// Syndrome and MSN.
    pub(crate) aeth: u32,
}

impl Marks {
    #[inline(always)]
    pub(crate) fn fingerprint(&self) -> u32 {
        let flags = self.opcode ^ (self.ack as u16) << 3;
        let rest = flags.rotate_left(5) ^ self.port ^ (self.payload as u16).rotate_left(9);
        let aeth = (self.aeth >> 24) as u16 ^ (self.aeth as u16).rotate_left(4);
        (self.id as u32) << 16 | (rest ^ aeth) as u32
    }
}

/// Bytes that the frame takes on the wire: with preamble, frame check sequence and inter-frame gap if it is an Ethernet
/// frame, from LRH to VCRC if it is native InfiniBand. By the lengths that its headers state, never by what was
/// captured; of the innermost packet, where there are tunnels.
pub fn l1_bytes(d: &Dissection<'_>) -> u32 {
    if d.link() != Link::ETHERNET {
        if let Some(lrh) = d.offset(Kind::Lrh) {
            return d.end().saturating_sub(lrh as u32).saturating_add(wire_cost::VCRC);
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

/// VLAN, DSCP, TTL, source port and priorities as one number, which is never 0. Most fields are at their positions in words of the
/// header, so that they need not be shifted. One bit for each says whether it is present. PCP: of the VLAN tag; SL, VL: of the LRH.
///
/// ```text
/// 63   56 55  50  49  48 43..40 39..36  34..32 31         16 15  14      13       12    11    0
/// |  TTL | DSCP |   |LRH?|  VL  |  SL  |  PCP | source port | 1 |port?|network?|VLAN?|   VID   |
/// ```
pub(crate) mod path_tag {
    pub(crate) const TTL: u64 = 0xff << 56;
    pub(crate) const DSCP: u64 = 0x3f << 50;
    pub(crate) const PORT: u64 = 0xffff << 16;
    pub(crate) const PCP: u64 = 7 << 32;
    const HAS_LRH: u64 = 1 << 48;
    const VID: u64 = 0xfff;
    pub(crate) const HAS_VLAN: u64 = 1 << 12;
    pub(crate) const VLAN: u64 = HAS_VLAN | VID;
    const HAS_NETWORK: u64 = 1 << 13;
    const HAS_PORT: u64 = 1 << 14;
    const SOME: u64 = 1 << 15;
    /// All fields are present, except a VLAN.
    pub(crate) const PLAIN: u64 = HAS_NETWORK | HAS_PORT | SOME;

    /// `vlan`: its identifier and its priority.
    pub(crate) fn of(vlan: Option<(u16, u8)>, ttl: Option<u8>, tos: u8, port: Option<u16>) -> u64 {
        let vlan = vlan.map_or(0, |(vlan, pcp)| HAS_VLAN | vlan as u64 & VID | (pcp as u64) << 32 & PCP);
        let network = ttl.map_or(0, |ttl| HAS_NETWORK | (ttl as u64) << 56 | (tos as u64) << 48 & DSCP);
        let port = port.map_or(0, |port| HAS_PORT | (port as u64) << 16);
        SOME | vlan | network | port
    }

    /// Service level and virtual lane.
    pub(crate) fn of_lrh(sl: u8, vl: u8) -> u64 {
        HAS_LRH | (sl as u64 & 0xf) << 36 | (vl as u64 & 0xf) << 40
    }

    /// The priority of the VLAN tag.
    pub(crate) fn pcp(path_tag: u64) -> Option<u8> {
        (path_tag & HAS_VLAN != 0).then_some((path_tag >> 32 & 7) as u8)
    }

    /// Service level and virtual lane of native InfiniBand.
    pub(crate) fn lanes(path_tag: u64) -> Option<(u8, u8)> {
        (path_tag & HAS_LRH != 0).then_some(((path_tag >> 36 & 0xf) as u8, (path_tag >> 40 & 0xf) as u8))
    }

    /// The bits that say which class of traffic a packet is in.
    pub(crate) const CLASS: u64 = DSCP | PCP | 0xff << 36 | HAS_LRH | HAS_VLAN | HAS_NETWORK;

    pub(crate) fn vlan(path_tag: u64) -> Option<u16> {
        (path_tag & HAS_VLAN != 0).then_some((path_tag & VID) as u16)
    }

    pub(crate) fn ttl(path_tag: u64) -> Option<u8> {
        (path_tag & HAS_NETWORK != 0).then_some((path_tag >> 56) as u8)
    }

    pub(crate) fn dscp(path_tag: u64) -> Option<u8> {
        (path_tag & HAS_NETWORK != 0).then_some((path_tag >> 50 & 0x3f) as u8)
    }

    #[inline(always)]
    pub(crate) fn port(path_tag: u64) -> Option<u16> {
        (path_tag & HAS_PORT != 0).then_some((path_tag >> 16) as u16)
    }
}
