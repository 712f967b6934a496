//! What the analysis knows of a packet.

use super::{
    RunKey,
    key::Key,
    lengths::{contents, l1_bytes, network, vlan_bytes},
    path_tag,
};
use crate::{
    analyze::model::Address,
    capture::Record,
    checksum,
    dissect::{Dissection, Encapsulation},
    icrc::State,
    opcode::{Direction, Opcode, Operation},
    wire::*,
    wire_cost::Contents,
};

/// What the analysis knows of a packet of the InfiniBand transport, in any encapsulation. Nothing of it is borrowed from the frame.
///
/// Lengths are those that the packet states, captured or not. Of packets in a tunnel or a mirror's copy, all is of the innermost
/// one.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub(super) time: i64,
    pub(super) path_tag: u64,
    pub(super) key: Key,
    pub(super) psn: Psn,
    pub(super) payload: u32,
    /// Payload as [`Contents`] has it: of malformed packets it may differ.
    pub(super) stated_payload: u32,
    pub(super) l1_bytes: u32,
    /// Bytes of the network header.
    pub(super) network: u32,
    /// The AETH, or the RETH's DMA length.
    pub(super) ext_word: u32,
    pub(super) fingerprint: u32,
    /// UDP destination port, of a packet with a fast form.
    pub(super) dst_port: u16,
    pub(super) interface: u16,
    pub(super) ip_id: u16,
    pub(super) vlan_bytes: u16,
    pub(super) opcode: Opcode,
    pub(super) icrc: State,
    /// Unchecked where no VCRC was captured.
    pub(super) vcrc: State,
    pub(super) encapsulation: Encapsulation,
    pub(super) ip_right: Option<bool>,
    /// Bytes of extended headers.
    pub(super) extended: u8,
    pub(super) pad: u8,
    pub(super) ecn: Ecn,
    pub(super) mark: Ecn,
    pub(super) p_key: u16,
    /// The BTH's fifth and ninth bytes: FECN and BECN, AckReq.
    pub(super) bth_4: u8,
    pub(super) bth_8: u8,
    /// The bits below.
    pub(super) flags: u8,
}

const _: () = assert!(size_of::<Facts>() <= 128);

/// It has addresses, and so a key.
pub(super) const HAS_KEY: u8 = 1;
pub(super) const HAS_IP_ID: u8 = 1 << 1;
/// Its AETH or RETH, if its operation code has one, was read.
pub(super) const HAS_EXT_WORD: u8 = 1 << 2;

/// It has a fast form.
pub(super) const IS_FAST: u8 = 1 << 3;
/// It is a CNP whose reserved bytes are not all zero.
const HAS_CNP_BODY: u8 = 1 << 4;

/// In the BTH's fifth byte.
const BECN: u8 = 1 << 6;
/// In its ninth.
const ACK_REQ: u8 = 1 << 7;

/// A flag, if it holds.
#[inline(always)]
pub(super) fn flag(flag: u8, holds: bool) -> u8 {
    if holds { flag } else { 0 }
}

/// Whether the network marked a tunnel around the packet: its end gives the mark to a packet that is capable of it (RFC 6040). What a mirror's
/// way to the capture marked is none of the packet's.
#[cold]
#[inline(never)]
fn is_marked_around(d: &Dissection<'_>) -> bool {
    let own = d.offset(Kind::Ipv4).or(d.offset(Kind::Ipv6));
    let (mut is_marked, mut is_gre) = (false, false);
    for layer in d.layers().iter() {
        let at = layer.at as usize;
        let bytes = d.frame().get(at..).unwrap_or(&[]);
        let ecn = match layer.kind {
            Kind::Ipv4 => Ipv4::view(bytes).map(|(ip, _)| ip.ecn()),
            Kind::Ipv6 => Ipv6::view(bytes).map(|(ip, _)| ip.ecn()),
            _ => None,
        };
        match layer.kind {
            Kind::Ipv4 | Kind::Ipv6 if own == Some(at) => break,
            Kind::Ipv4 | Kind::Ipv6 => (is_marked, is_gre) = (is_marked || ecn == Some(Ecn::CE), false),
            Kind::Gre => is_gre = true,
            // Ethernet in GRE is a mirror's copy.
            Kind::Ethernet if is_gre => is_marked = false,
            Kind::Erspan2 | Kind::Erspan3 | Kind::Everflow | Kind::Tzsp => is_marked = false,
            _ => {}
        }
    }
    is_marked
}

impl Facts {
    /// The packet of a dissected frame; `None` without a BTH, and where UDP on the port of RoCE is something else.
    pub fn of(record: &Record<'_>, d: &Dissection<'_>, icrc: State) -> Option<Facts> {
        if d.is_other_udp(icrc == State::Good) {
            return None;
        }
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
            _ if d.tunnel_depth() > 0 && tos & 3 != 0 && is_marked_around(d) => Ecn::CE,
            _ if is_ip => Ecn(tos & 3),
            Encapsulation::RoceV1 => Ecn(tos & 3),
            _ if d.has(Kind::Lrh) && bth.fecn() => Ecn::CE,
            _ => Ecn::ECT0,
        };
        let at = d.offset(Kind::Bth).unwrap_or(0) as u32;
        let before = if udp.is_some() { at.saturating_sub(Udp::LEN as u32) } else { at };
        let port = udp.map(Udp::src_port);
        let aeth = d.get::<Aeth>().map(|aeth| (aeth.syndrome().0 as u32) << 24 | aeth.msn());
        let dma_len = d.get::<Reth>().map(Reth::dma_len);
        let Contents { extended, payload, pad } = contents(d.end().saturating_sub(at), bth, d.chain());
        let key = Key::of(d, bth);
        Some(Facts {
            time: record.time.0,
            path_tag: path_tag::of(d.get::<Vlan>().map(|tag| (tag.vid(), tag.pcp())), ttl, tos, port)
                | d.get::<Lrh>().map_or(0, |lrh| path_tag::of_lrh(lrh.sl(), lrh.vl())),
            key: key.unwrap_or_default(),
            psn: bth.psn(),
            payload: d.whole_payload_len(),
            stated_payload: payload,
            l1_bytes: l1_bytes(d),
            network: network(d).map_or(0, |from| before.saturating_sub(from)),
            ext_word: aeth.or(dma_len).unwrap_or(0),
            fingerprint: Marks {
                id: ip_id.unwrap_or(0),
                port: port.unwrap_or(0),
                opcode: u16::from_be_bytes([bth.bytes()[0], bth.bytes()[1]]),
                ack: bth.bytes()[8],
                payload: d.whole_payload_len(),
                aeth: aeth.unwrap_or(0),
            }
            .fingerprint(),
            dst_port: 0,
            interface: record.interface,
            ip_id: ip_id.unwrap_or(0),
            vlan_bytes: u16::try_from(vlan_bytes(d)).unwrap_or(u16::MAX),
            opcode: d.opcode()?,
            icrc,
            vcrc: State::Unchecked,
            encapsulation: wrap,
            ip_right: d.get::<Ipv4>().map(is_right),
            extended: extended as u8,
            pad: pad as u8,
            ecn: Ecn(tos & 3),
            mark,
            p_key: bth.p_key().0,
            bth_4: bth.bytes()[4],
            bth_8: bth.bytes()[8],
            flags: flag(HAS_KEY, key.is_some())
                | flag(HAS_IP_ID, ip_id.is_some())
                | flag(HAS_EXT_WORD, aeth.or(dma_len).is_some())
                | flag(HAS_CNP_BODY, d.get::<Cnp>().is_some_and(|cnp| *cnp.bytes() != [0; Cnp::LEN])),
        })
    }

    /// The packet, with another state of its ICRC.
    pub(crate) fn with_icrc(self, icrc: State) -> Facts {
        Facts { icrc, ..self }
    }

    /// The packet, with the state of its VCRC.
    pub(crate) fn with_vcrc(self, vcrc: State) -> Facts {
        Facts { vcrc, ..self }
    }

    /// The state of its VCRC, which native InfiniBand has; unchecked where none was captured.
    #[inline(always)]
    pub fn vcrc(&self) -> State {
        self.vcrc
    }

    /// When it was captured, in nanoseconds since 1970.
    #[inline(always)]
    pub fn time(&self) -> i64 {
        self.time
    }

    /// The number of the interface that captured it.
    #[inline(always)]
    pub fn interface(&self) -> u16 {
        self.interface
    }

    /// What carries the packet: RoCEv2 over IPv4 or IPv6, RoCE v1, native InfiniBand.
    #[inline(always)]
    pub fn encapsulation(&self) -> Encapsulation {
        self.encapsulation
    }

    /// Who sent it; `None` where no address is in the capture.
    pub fn source(&self) -> Option<Address> {
        self.key().map(Key::source)
    }

    /// Whom it goes to; `None` where no address is in the capture.
    pub fn destination(&self) -> Option<Address> {
        self.key().map(Key::destination)
    }

    /// The BTH's destination queue pair; `None` for a packet without addresses.
    pub fn dest_qp(&self) -> Option<Qpn> {
        self.key().map(|key| Qpn(key.dest_qp()))
    }

    /// UDP source port.
    #[inline(always)]
    pub fn port(&self) -> Option<u16> {
        path_tag::port(self.path_tag)
    }

    /// The state of its ICRC.
    #[inline(always)]
    pub fn icrc(&self) -> State {
        self.icrc
    }

    /// The BTH's operation code.
    #[inline(always)]
    pub fn opcode(&self) -> Opcode {
        self.opcode
    }

    /// The BTH's P_Key.
    #[inline(always)]
    pub fn p_key(&self) -> u16 {
        self.p_key
    }

    /// The BTH's AckReq bit.
    #[inline(always)]
    pub fn ack_req(&self) -> bool {
        self.bth_8 & ACK_REQ != 0
    }

    /// The BTH's BECN bit: of a CNP, and of native InfiniBand.
    #[inline(always)]
    pub fn becn(&self) -> bool {
        self.bth_4 & BECN != 0
    }

    /// The BTH's packet sequence number.
    #[inline(always)]
    pub fn psn(&self) -> Psn {
        self.psn
    }

    /// IPv4 identification; `None` over anything else.
    #[inline(always)]
    pub fn ip_id(&self) -> Option<u16> {
        (self.flags & HAS_IP_ID != 0).then_some(self.ip_id)
    }

    /// Whether the IPv4 header's checksum is right; `None` without one.
    #[inline(always)]
    pub fn ip_right(&self) -> Option<bool> {
        self.ip_right
    }

    /// The ECN field of the network header; 0 without one.
    #[inline(always)]
    pub fn ecn(&self) -> Ecn {
        self.ecn
    }

    /// The congestion mark: the ECN field, or of native InfiniBand its FECN bit, as CE or ECT(0).
    #[inline(always)]
    pub fn mark(&self) -> Ecn {
        self.mark
    }

    /// Bytes of payload, without pad.
    #[inline(always)]
    pub fn payload(&self) -> u32 {
        self.payload
    }

    /// Bytes of extended headers, payload and pad.
    #[inline(always)]
    pub fn contents(&self) -> Contents {
        Contents { extended: self.extended as u32, payload: self.stated_payload, pad: self.pad as u32 }
    }

    /// Bytes of VLAN tags.
    #[inline(always)]
    pub fn vlan_bytes(&self) -> u32 {
        self.vlan_bytes as u32
    }

    /// Bytes of the network header, options and extension headers included.
    #[inline(always)]
    pub fn network(&self) -> u32 {
        self.network
    }

    /// Bytes that the frame takes on the wire, see [`l1_bytes`].
    #[inline(always)]
    pub fn l1_bytes(&self) -> u32 {
        self.l1_bytes
    }

    /// The AETH, of packets that have one.
    #[inline(always)]
    pub fn aeth(&self) -> Option<Aeth> {
        let aeth = |word: u32| Aeth::view(&word.to_be_bytes()).map(|(aeth, _)| *aeth);
        self.ext_word(self.opcode.shape().has_aeth).and_then(aeth)
    }

    /// The RETH's DMA length in bytes, of packets that have one.
    #[inline(always)]
    pub fn dma_len(&self) -> Option<u32> {
        self.ext_word(self.opcode.shape().has_reth)
    }

    /// Whether it is a CNP whose sixteen reserved bytes are not all zero.
    #[inline(always)]
    pub fn has_cnp_body(&self) -> bool {
        self.flags & HAS_CNP_BODY != 0
    }

    #[inline(always)]
    fn ext_word(&self, has_it: bool) -> Option<u32> {
        (has_it & (self.flags & HAS_EXT_WORD != 0)).then_some(self.ext_word)
    }

    /// Whether it is a request whose receiver must acknowledge it.
    #[inline(always)]
    pub fn is_ack_expected(&self) -> bool {
        is_ack_expected(self.opcode, self.ack_req())
    }

    /// Whether it is an ACK or a NAK. The acknowledgement of an atomic, which carries data, does not count.
    #[inline(always)]
    pub fn is_acknowledge(&self) -> bool {
        self.opcode.operation() == Some(Operation::Acknowledge)
    }

    /// Whether it is a control packet: an ACK, a NAK or a CNP; of MRC, what answers, asks or probes, and carries no data.
    #[inline(always)]
    pub fn is_control(&self) -> bool {
        use Operation::{Acknowledge, Cnp, Endpoint, Nack, Probe, Sack};
        matches!(self.opcode.operation(), Some(Acknowledge | Cnp | Sack | Nack | Probe | Endpoint))
    }

    /// The syndrome of an acknowledgement.
    #[inline(always)]
    pub fn syndrome(&self) -> Option<Syndrome> {
        if self.is_acknowledge() { self.aeth().map(|aeth| aeth.syndrome()) } else { None }
    }

    /// `None` for a packet without addresses that a key could be made of.
    #[inline(always)]
    pub(crate) fn key(&self) -> Option<&Key> {
        (self.flags & HAS_KEY != 0).then_some(&self.key)
    }

    /// The header fields that all packets of a run share; `None` for a packet without a fast form.
    pub(crate) fn run_key(&self) -> Option<RunKey> {
        if self.flags & IS_FAST != 0 { RunKey::of(self) } else { None }
    }

    /// VLAN, DSCP, TTL, source port and priorities, see [`path_tag`].
    #[inline(always)]
    pub(crate) fn path_tag(&self) -> u64 {
        self.path_tag
    }

    /// A hash of the header fields that differ between two transmissions of one PSN.
    #[inline(always)]
    pub(crate) fn fingerprint(&self) -> u32 {
        self.fingerprint
    }

    /// Where it was seen, see [`vantage`].
    #[inline(always)]
    pub(crate) fn vantage(&self) -> u16 {
        vantage(self.interface, self.path_tag)
    }
}

/// Whether a packet is a request whose receiver must acknowledge it.
#[inline(always)]
pub(super) fn is_ack_expected(opcode: Opcode, ack_req: bool) -> bool {
    let shape = opcode.shape();
    (ack_req | shape.ends) & (shape.direction == Direction::Request)
}

/// Where a packet was seen: capture interface and TTL.
#[inline(always)]
pub(super) fn vantage(interface: u16, path_tag: u64) -> u16 {
    // Without a TTL it is 0.
    interface << 8 | (path_tag >> 56) as u16
}

/// The header fields that differ between two transmissions of one PSN.
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

/// The bits of a fingerprint that are of what a packet carries, and of its source port: two transmissions of one packet by one path have
/// them alike. Senders set AckReq and MigReq anew, which have bits of their own, and so does the identification.
const CONTENT: u32 = 0x3fff;

/// Whether two packets with one PSN and one source port differ in operation or length, by their fingerprints.
pub(crate) fn differ_in_content(one: u32, other: u32) -> bool {
    (one ^ other) & CONTENT != 0
}

impl Marks {
    #[inline(always)]
    pub(super) fn fingerprint(&self) -> u32 {
        const MIG_REQ: u16 = 0x40;
        const ACK_REQ: u8 = 0x80;
        let opcode = self.opcode & !MIG_REQ ^ (self.ack & !ACK_REQ) as u16;
        let rest = opcode.rotate_left(5) ^ self.port ^ (self.payload as u16).rotate_left(9);
        let aeth = (self.aeth >> 24) as u16 ^ (self.aeth as u16).rotate_left(4);
        let content = (rest ^ aeth) as u32;
        let own = ((self.opcode & MIG_REQ) as u32) << 8 | ((self.ack & ACK_REQ) as u32) << 8;
        (self.id as u32) << 16 | own | (content ^ content >> 14) & CONTENT
    }
}
