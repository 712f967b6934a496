//! What the analysis reads from a packet: all of it, once, and nothing that refers to the frame.
//!
//! [`Dissected`] holds the facts of a dissection, whatever the packet is wrapped in;
//! [`Plain`](super::plain::Plain) those of the frames that nearly all are, which need not be dissected.

use super::{key::Key, plain::Alike};
use crate::{
    capture::Record,
    checksum,
    cost::{self, Contents, FCS, GAP, ICRC, PREAMBLE, SHORTEST_FRAME, extended_len},
    dissect::{Dissection, Encapsulation, Link, Severity},
    icrc::State,
    opcode::{Direction, Opcode, Operation},
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

    /// Of a plain packet, what those of a stretch have alike.
    #[inline(always)]
    fn alike(&self) -> Option<Alike> {
        None
    }

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
        // Without a TTL it is 0.
        self.frame().interface << 8 | (self.look() >> 56) as u16
    }

    /// It is a request that an acknowledgement is due for.
    #[inline(always)]
    fn is_ack_expected(&self) -> bool {
        let shape = self.opcode().shape();
        (self.ack_req() | shape.ends) & (shape.direction == Direction::Request)
    }

    /// An ACK or a NAK; not the acknowledgement of an atomic, which carries data.
    #[inline(always)]
    fn is_acknowledge(&self) -> bool {
        self.opcode().operation() == Some(Operation::Acknowledge)
    }

    /// ACKs, NAKs and CNPs only steer.
    #[inline(always)]
    fn is_control(&self) -> bool {
        self.is_acknowledge() || self.opcode().is_cnp()
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

impl Facts for Dissected {
    told! {
        frame: Frame, key: Option<Key>, wrap: Encapsulation, icrc: State, opcode: Opcode, ack_req: bool, psn: Psn,
        ip_id: Option<u16>, ip_right: Option<bool>, look: u64, ecn: Ecn, mark: Ecn, payload: u32, contents: Contents,
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

/// What tells one transmission of a PSN from another.
pub(super) struct Marks {
    pub(super) id: u16,
    pub(super) port: u16,
    /// The BTH's first two bytes.
    pub(super) opcode: u16,
    /// Its ninth, with the AckReq bit.
    pub(super) ack: u8,
    pub(super) payload: u32,
    /// Syndrome and MSN.
    pub(super) aeth: u32,
}

impl Marks {
    #[inline(always)]
    pub(super) fn fingerprint(&self) -> u32 {
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

/// VLAN, DSCP, TTL and source port as one number that is never 0: where words of headers have them, so that they need not be
/// moved, and with a bit each that says whether they are there.
///
/// ```text
/// 63   56 55  50       31         16 15  14      13       12    11    0
/// |  TTL | DSCP |     | source port | 1 |port?|network?|VLAN?|   VID   |
/// ```
pub(super) mod look {
    pub(crate) const TTL: u64 = 0xff << 56;
    pub(crate) const DSCP: u64 = 0x3f << 50;
    pub(crate) const PORT: u64 = 0xffff << 16;
    const VID: u64 = 0xfff;
    pub(crate) const HAS_VLAN: u64 = 1 << 12;
    pub(crate) const VLAN: u64 = HAS_VLAN | VID;
    const HAS_NETWORK: u64 = 1 << 13;
    const HAS_PORT: u64 = 1 << 14;
    const SOME: u64 = 1 << 15;
    /// That it has all but a VLAN.
    pub(crate) const PLAIN: u64 = HAS_NETWORK | HAS_PORT | SOME;

    pub(super) fn of(vlan: Option<u16>, ttl: Option<u8>, tos: u8, port: Option<u16>) -> u64 {
        let vlan = vlan.map_or(0, |vlan| HAS_VLAN | vlan as u64 & VID);
        let network = ttl.map_or(0, |ttl| HAS_NETWORK | (ttl as u64) << 56 | (tos as u64) << 48 & DSCP);
        let port = port.map_or(0, |port| HAS_PORT | (port as u64) << 16);
        SOME | vlan | network | port
    }

    pub(crate) fn vlan(look: u64) -> Option<u16> {
        (look & HAS_VLAN != 0).then_some((look & VID) as u16)
    }

    pub(crate) fn ttl(look: u64) -> Option<u8> {
        (look & HAS_NETWORK != 0).then_some((look >> 56) as u8)
    }

    pub(crate) fn dscp(look: u64) -> Option<u8> {
        (look & HAS_NETWORK != 0).then_some((look >> 50 & 0x3f) as u8)
    }

    #[inline(always)]
    pub(crate) fn port(look: u64) -> Option<u16> {
        (look & HAS_PORT != 0).then_some((look >> 16) as u16)
    }
}
