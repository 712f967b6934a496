//! The fast form of a packet: RoCEv2 over IPv4 in an Ethernet frame, with at most one VLAN tag, and with correct lengths.
//!
//! The headers of such a frame are always at the same offsets. So they are not dissected but copied, as five words, and each
//! field is a shift and a mask. Any other frame is refused, and dissected. A [`FastPacket`] is one cache line long: threads pass
//! it on. `tests/it/reference.rs` and the fuzz target `analysis` compare it with what a dissection says.
//!
//! [`EncapPacket`](super::EncapPacket) is the fast form over IPv6, with another link header, or in a tunnel.

use super::{
    FARTHEST, Facts, Frame, Glimpse, MirrorCopy,
    facts::{HAS_EXT_WORD, HAS_IP_ID, HAS_KEY, IS_FAST, Marks, flag, is_ack_expected, vantage},
    inside,
    key::Key,
    path_tag,
};
use crate::{
    capture::Record,
    dissect::{self, Encapsulation, Link},
    icrc::{self, State},
    opcode::{Opcode, Operation, Shape, Transport},
    wire::*,
    wire_cost::{FCS, GAP, ICRC, PREAMBLE, SHORTEST_FRAME},
};

/// A packet in its fast form: RoCEv2 over Ethernet and IPv4. It is as long as a cache line, since to pass it to another core takes
/// longer than to make it.
///
/// ```text
///            63            48 47            32 31            16 15             0
/// headers 0 |4 | 5 |   TOS   |  total length  | identification |flags, offset  |
///         1 |  TTL | protocol| header checksum|         source address         |
///         2 |       destination address       |  source port   | dest. port    |
///         3 |   UDP length   |       PCP      |opcode|S M Pad TVer|   P_Key    |
///         4 |F B resv|  destination QP        |A resv|         PSN            |
/// ```
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub struct FastPacket {
    pub(super) time: i64,
    pub(super) headers: [u64; WORDS],
    /// The AETH, or the RETH's DMA length. For other packets it has no meaning.
    pub(super) ext_word: u32,
    pub(super) wire_len: u32,
    pub(super) captured: u32,
    pub(super) interface: u16,
    /// VLAN as in [`path_tag`], and the bits below. Its priority is where the UDP checksum, which nobody needs, would be.
    pub(super) tags: u16,
}

const _: () = assert!(size_of::<FastPacket>() == 64);

/// The [`State`] of its ICRC is above the VLAN; whether the header checksum is right, above that.
const ICRC_STATE: u32 = 13;
const IP_RIGHT: u16 = 1 << 15;

/// The header fields that all packets of a run have in common.
///
/// ```text
///           63            48 47            32 31            16 15             0
/// network   |4 | 5 |   TOS   |  source port   |   dest. port   | fragment offset|
/// addresses |         source address          |       destination address       |
///                                      around |ser-|V| VID    | TTL  | protocol |
///                                          qp |P kind |      destination QP     |
/// ```
///
/// Addresses of IPv6 are mixed: see [`Key::short`]. P: the priority of the VLAN tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, crate::stored::Stored)]
pub(crate) struct RunKey {
    network: u64,
    addresses: u64,
    around: u32,
    qp: u32,
}

impl RunKey {
    /// The key of a packet with a fast form, as [`FastForm::run_key`] has it.
    pub(super) fn of(facts: &Facts) -> Option<RunKey> {
        let Facts { key, path_tag, ecn, dst_port, opcode, .. } = *facts;
        let (addresses, qp) = key.short()?;
        let version = if key.is_ipv4() { VERSION_4_WHOLE } else { VERSION_6 };
        let ports = path_tag & path_tag::PORT | dst_port as u64;
        let vlan = (path_tag & path_tag::VLAN) << 16;
        let hops = path_tag >> 56 << 8 | IpProtocol::UDP.0 as u64;
        Some(RunKey {
            network: version | path_tag & path_tag::DSCP | (ecn.0 as u64) << 48 | ports << 16,
            addresses,
            around: (hops | vlan) as u32 | (opcode.code as u32) << 24 & SERVICE,
            qp: qp ^ ((path_tag & PCP) >> (32 - RUN_PCP)) as u32,
        })
    }

    pub(crate) fn ecn(self) -> Ecn {
        Ecn((self.network >> 48) as u8 & 3)
    }

    pub(crate) fn vlan_bytes(self) -> u32 {
        if self.around >> 16 & path_tag::HAS_VLAN as u32 != 0 { Vlan::LEN as u32 } else { 0 }
    }

    /// The [`path_tag`] of these packets.
    pub(crate) fn path_tag(self) -> u64 {
        let [ttl, vlan] = [self.around >> 8 & 0xff, self.around >> 16 & path_tag::VLAN as u32];
        let priority = (self.qp as u64) << (32 - RUN_PCP) & PCP;
        self.network & path_tag::DSCP
            | (ttl as u64) << 56
            | (self.source_port() as u64) << 16
            | priority
            | vlan as u64
            | path_tag::PLAIN
    }

    #[inline(always)]
    pub(crate) fn source_port(self) -> u16 {
        (self.network >> 32) as u16
    }

    /// The length of the network headers, in bytes.
    pub(crate) fn network(self) -> u32 {
        if self.network & VERSION_AND_FRAGMENT == VERSION_6 { Ipv6::LEN as u32 } else { Ipv4::LEN as u32 }
    }

    /// The upper bits of the operation codes.
    pub(crate) fn service(self) -> u8 {
        ((self.around & SERVICE) >> 24) as u8
    }
}

/// The service, in an operation code where a BTH's first four bytes have it. Above the bits of a VLAN tag.
const SERVICE: u32 = 0xe0 << 24;
const _: () = assert!((path_tag::VLAN as u32) << 16 & SERVICE == 0 && path_tag::VLAN <= 0xffff);

impl Default for RunKey {
    /// The key of no packet: two unused bits are set.
    fn default() -> RunKey {
        RunKey { network: u64::MAX, addresses: 0, around: 0, qp: 0 }
    }
}

/// The priority of the VLAN tag, in a packet's fourth word and in a [`path_tag`]; and in a run key's queue pair.
const PCP: u64 = path_tag::PCP;
const RUN_PCP: u32 = 28;
/// Where a fast form's fourth word has the UDP checksum.
const CHECKSUM: u64 = 0xffff << 32;

/// IPv4, UDP and BTH.
pub(super) const HEADERS: usize = Ipv4::LEN + Udp::LEN + Bth::LEN;
pub(super) const WORDS: usize = HEADERS / 8;

/// The bits that are equal in all packets with a fast form, and their values: IP version 4 without options, no fragment, UDP, BTH
/// version 0.
const VERSION_AND_FRAGMENT: u64 = 0xff00_0000_0000_3fff;
pub(super) const VERSION_4_WHOLE: u64 = 0x45 << 56;
/// IP version 6, in an [`EncapPacket`](super::EncapPacket).
pub(super) const VERSION_6: u64 = 0x60 << 56;
/// Bytes that an IPv6 header is longer than IPv4's.
pub(super) const IPV6_MORE: u32 = (Ipv6::LEN - Ipv4::LEN) as u32;
const TOS: u64 = 0xff << 48;
const PROTOCOL: u64 = 0xff << 48;
const PROTOCOL_UDP: u64 = (IpProtocol::UDP.0 as u64) << 48;
const TRANSPORT_VERSION: u64 = 0xf << 16;

impl FastPacket {
    /// The fast form of a frame, not checked yet, and the bytes behind its link header.
    #[inline(always)]
    pub(crate) fn candidate<'a>(record: &Record<'a>) -> Option<(FastPacket, &'a [u8])> {
        let frame = record.frame;
        if record.link != Link::ETHERNET {
            return None;
        }
        let (ether_type, tags, rest) = inside::ethernet(frame)?;
        if ether_type != EtherType::IPV4 {
            return None;
        }
        let headers = with_priority(words::<HEADERS, WORDS>(rest.first_chunk()?), tags);
        let tags = tags & path_tag::VLAN as u16;
        let captured = frame.len() as u32;
        let wire_len = record.wire_len.max(captured);
        let interface = record.interface;
        Some((
            FastPacket { time: record.time.0, headers, ext_word: 0, wire_len, captured, interface, tags },
            rest,
        ))
    }

    /// The packet with its ICRC's state, if all that the fast form assumes holds. `rest`: the bytes behind its link header.
    #[inline(always)]
    pub(crate) fn checked(
        &self,
        options: &dissect::Options,
        rest: &[u8],
        icrc: impl FnOnce() -> State,
    ) -> Option<FastPacket> {
        let ext_word = self.ext_word(options, VERSION_4_WHOLE, rest.get(HEADERS..)?)?;
        Some(self.with(ext_word, icrc()))
    }

    /// The state of its ICRC; unchecked where the packet was cut. `rest`: the bytes behind its link header.
    #[inline(always)]
    pub(crate) fn verify(&self, rest: &[u8]) -> State {
        self.verifier(rest)()
    }

    /// What tells [this](Self::verify) without the packet, which can stay in registers.
    #[inline(always)]
    pub(crate) fn verifier<'a>(&self, rest: &'a [u8]) -> impl FnOnce() -> State + use<'a> {
        let total = self.total();
        move || verify(rest, total, icrc::of_rocev2_ipv4)
    }

    /// The value for the field `ext_word`; `None` if the packet has no fast form. `version`: the first bits of the network header;
    /// `behind`: the captured bytes after the BTH.
    #[inline(always)]
    pub(super) fn ext_word(&self, options: &dissect::Options, version: u64, behind: &[u8]) -> Option<u32> {
        let [network, protocol, ports, lengths, _] = self.headers;
        let odd = network & VERSION_AND_FRAGMENT ^ version
            | protocol & PROTOCOL ^ PROTOCOL_UDP
            | lengths & TRANSPORT_VERSION;
        let (port, shape) = (ports as u16, self.opcode().shape());
        let is_plain = (odd == 0)
            & (self.time.unsigned_abs() <= FARTHEST as u64)
            & (options.transport_of(port) == Some(Transport::Ib))
            & (self.source_port() >= dissect::FIRST_PORT)
            & shape.operation.is_some()
            // Management datagrams are dissected.
            & (self.dest_qp() > 1);
        if !is_plain || !self.is_whole(shape, HEADERS + behind.len()) {
            return None;
        }
        if shape.operation == Some(Operation::Cnp) && behind.iter().take(Cnp::LEN).any(|&byte| byte != 0) {
            return None;
        }
        let word = behind.get(shape.word as usize..).and_then(|behind| behind.first_chunk());
        Some(word.map_or(0, |word| u32::from_be_bytes(*word)))
    }

    #[inline(always)]
    pub(super) fn with(&self, ext_word: u32, icrc: State) -> FastPacket {
        let right = if self.is_right() { IP_RIGHT } else { 0 };
        FastPacket { ext_word, tags: self.tags | (icrc as u16) << ICRC_STATE | right, ..*self }
    }

    /// Whether its lengths agree, its payload fits its operation code, and all headers are captured. `rest`: number of captured
    /// bytes after the link header.
    #[inline(always)]
    pub(crate) fn is_whole(&self, shape: &Shape, rest: usize) -> bool {
        let total = self.total();
        let before = Ethernet::LEN as u32 + self.vlan_bytes();
        ((self.headers[3] >> 48) as u32 + Ipv4::LEN as u32 == total)
            & (before + total <= self.wire_len)
            & (rest >= HEADERS + shape.extended as usize)
            // If the total length is too short, the payload wraps around to a number that is too large.
            & shape.allows(self.payload())
    }

    /// The run key of a packet with these ends.
    #[inline(always)]
    pub(super) fn run_key_of(&self, (addresses, qp): (u64, u32)) -> RunKey {
        let [network, protocol, ports, ..] = self.headers;
        let vlan = (self.tags as u32 & path_tag::VLAN as u32) << 16;
        let service = self.headers[3] as u32 & SERVICE;
        RunKey {
            network: network & (VERSION_AND_FRAGMENT | TOS) | (ports & 0xffff_ffff) << 16,
            addresses,
            around: (protocol >> 48) as u32 | vlan | service,
            qp: qp ^ ((self.headers[3] & PCP) >> (32 - RUN_PCP)) as u32,
        }
    }

    /// Whether the IPv4 header's checksum is right: the sum of its words is a multiple of 65535 (RFC 1071).
    #[inline(always)]
    pub(super) fn is_right(&self) -> bool {
        let [network, protocol, ports, ..] = self.headers;
        // 2^16 is 1 modulo 65535, so a word is worth the sum of its quarters, and so is what it carries over.
        let (sum, carry) = network.overflowing_add(protocol);
        let (sum, more) = (sum + carry as u64).overflowing_add(ports >> 32);
        let sum = sum + more as u64;
        // Whether that is a multiple, see `Resolution`; it is not 0, for the version is not.
        const INVERSE: u64 = 0xfffe_fffe_fffe_ffff;
        const _: () = assert!(INVERSE.wrapping_mul(0xffff) == 1);
        sum.wrapping_mul(INVERSE) <= u64::MAX / 0xffff
    }

    /// The IPv4 header's total length.
    #[inline(always)]
    pub(crate) fn total(&self) -> u32 {
        (self.headers[0] >> 32) as u16 as u32
    }

    /// The bytes of its frame on the wire, if its network header is `more` bytes longer.
    #[inline(always)]
    pub(super) fn l1_bytes_with(&self, more: u32) -> u32 {
        let frame = Ethernet::LEN as u32 + self.vlan_bytes() + self.total() + more + FCS;
        frame.max(SHORTEST_FRAME) + PREAMBLE + GAP
    }

    #[inline(always)]
    fn tos(&self) -> u8 {
        (self.headers[0] >> 48) as u8
    }

    #[inline(always)]
    pub(crate) fn id(&self) -> u16 {
        (self.headers[0] >> 16) as u16
    }

    #[inline(always)]
    fn source_port(&self) -> u16 {
        (self.headers[2] >> 16) as u16
    }

    #[inline(always)]
    fn pad(&self) -> u32 {
        (self.headers[3] >> 20) as u32 & 3
    }

    #[inline(always)]
    pub(super) fn dest_qp(&self) -> u32 {
        (self.headers[4] >> 32) as u32 & 0xff_ffff
    }

    #[inline(always)]
    fn aeth_word(&self) -> u32 {
        if self.opcode().shape().has_aeth { self.ext_word } else { 0 }
    }

    /// What became of its ICRC.
    #[inline(always)]
    pub fn icrc(&self) -> State {
        const GOOD: u16 = State::Good as u16;
        const BAD: u16 = State::Bad as u16;
        match self.tags >> ICRC_STATE & 3 {
            GOOD => State::Good,
            BAD => State::Bad,
            _ => State::Unchecked,
        }
    }

    #[inline(always)]
    pub(crate) fn opcode(&self) -> Opcode {
        Opcode::ib((self.headers[3] >> 24) as u8)
    }

    #[inline(always)]
    pub(crate) fn ack_req(&self) -> bool {
        self.headers[4] as u32 >> 31 != 0
    }

    #[inline(always)]
    pub(crate) fn psn(&self) -> Psn {
        Psn(self.headers[4] as u32 & (Psn::SPACE - 1))
    }

    #[inline(always)]
    pub(crate) fn path_tag(&self) -> u64 {
        let [network, protocol, ports, ..] = self.headers;
        let vlan = self.tags as u64 & path_tag::VLAN;
        let priority = self.headers[3] & PCP;
        network & path_tag::DSCP
            | protocol & path_tag::TTL
            | ports & path_tag::PORT
            | priority
            | vlan
            | path_tag::PLAIN
    }

    #[inline(always)]
    pub(crate) fn ecn(&self) -> Ecn {
        Ecn(self.tos() & 3)
    }

    #[inline(always)]
    pub(crate) fn payload(&self) -> u32 {
        let fixed = HEADERS as u32 + self.opcode().shape().extended as u32 + ICRC;
        self.total().wrapping_sub(fixed + self.pad())
    }

    #[inline(always)]
    pub(crate) fn vlan_bytes(&self) -> u32 {
        if self.tags & path_tag::HAS_VLAN as u16 != 0 { Vlan::LEN as u32 } else { 0 }
    }

    #[inline(always)]
    pub(crate) fn fingerprint(&self) -> u32 {
        Marks {
            id: self.id(),
            port: self.source_port(),
            opcode: (self.headers[3] >> 16) as u16,
            ack: (self.headers[4] >> 24) as u8,
            payload: self.payload(),
            aeth: self.aeth_word(),
        }
        .fingerprint()
    }

    /// When it was captured, in nanoseconds since 1970.
    #[inline(always)]
    pub(crate) fn time(&self) -> i64 {
        self.time
    }

    /// The number of the interface that captured it.
    #[inline(always)]
    pub(crate) fn interface(&self) -> u16 {
        self.interface
    }

    /// Where it was seen, see [`vantage`].
    #[inline(always)]
    pub(crate) fn vantage(&self) -> u16 {
        vantage(self.interface, self.path_tag())
    }

    /// Whether it is a request whose receiver must acknowledge it.
    #[inline(always)]
    pub(crate) fn is_ack_expected(&self) -> bool {
        is_ack_expected(self.opcode(), self.ack_req())
    }
}

/// A packet in one of the fast forms.
pub(crate) trait FastForm: Clone {
    /// The packet as it would be over IPv4 in an Ethernet frame.
    fn fast(&self) -> &FastPacket;

    /// The mirror that made it, if a mirror did.
    fn copy(&self) -> Option<&MirrorCopy>;

    /// Addresses and the destination's queue pair, as [`Key::short`] has them.
    fn ends(&self) -> (u64, u32);

    /// Whether its ends identify its flow: no other flow can have the same.
    fn is_told_by_ends(&self) -> bool;

    fn key(&self) -> Key;

    fn frame(&self) -> Frame;

    fn is_ipv4(&self) -> bool;

    /// The length of its network header beyond that of IPv4, in bytes.
    #[inline(always)]
    fn more(&self) -> u32 {
        if self.is_ipv4() { 0 } else { IPV6_MORE }
    }

    /// What else is read of a packet. `rest`: the bytes behind its link header.
    #[inline(always)]
    fn glimpse(&self, rest: &[u8]) -> Option<Glimpse> {
        Glimpse::of(self.fast().opcode(), self.fast().payload(), self.behind(rest)?)
    }

    /// The bytes behind its BTH.
    #[inline(always)]
    fn behind<'a>(&self, rest: &'a [u8]) -> Option<&'a [u8]> {
        rest.get(HEADERS + self.more() as usize..)
    }

    #[inline(always)]
    fn ip_id(&self) -> Option<u16> {
        self.is_ipv4().then(|| self.fast().id())
    }

    /// Whether its IPv4 header's checksum is right; `None` without one. It is computed.
    #[inline(always)]
    fn is_ip_right(&self) -> Option<bool> {
        self.is_ipv4().then(|| self.fast().is_right())
    }

    /// [`is_ip_right`](Self::is_ip_right) of a packet that was checked: it is noted there.
    #[inline(always)]
    fn ip_right(&self) -> Option<bool> {
        self.is_ipv4().then(|| self.fast().tags & IP_RIGHT != 0)
    }

    #[inline(always)]
    fn l1_bytes(&self) -> u32 {
        self.fast().l1_bytes_with(self.more())
    }

    /// The header fields that it shares with all packets of its run.
    #[inline(always)]
    fn run_key(&self) -> RunKey {
        self.fast().run_key_of(self.ends())
    }

    /// What the analysis knows of it. It was checked.
    #[inline(always)]
    fn facts(&self) -> Facts {
        let (fast, is_ipv4) = (self.fast(), self.is_ipv4());
        let (opcode, payload, shape) = (fast.opcode(), fast.payload(), fast.opcode().shape());
        Facts {
            time: fast.time,
            path_tag: fast.path_tag(),
            key: self.key(),
            psn: fast.psn(),
            payload,
            stated_payload: payload,
            l1_bytes: self.l1_bytes(),
            network: Ipv4::LEN as u32 + self.more(),
            ext_word: fast.ext_word,
            fingerprint: fast.fingerprint(),
            dst_port: fast.headers[2] as u16,
            interface: fast.interface,
            ip_id: fast.id(),
            vlan_bytes: fast.vlan_bytes() as u16,
            opcode,
            icrc: fast.icrc(),
            vcrc: State::Unchecked,
            encapsulation: if is_ipv4 { Encapsulation::RoceV2Ipv4 } else { Encapsulation::RoceV2Ipv6 },
            ip_right: self.ip_right(),
            extended: shape.extended,
            pad: fast.pad() as u8,
            ecn: fast.ecn(),
            mark: fast.ecn(),
            p_key: fast.headers[3] as u16,
            bth_4: (fast.headers[4] >> 56) as u8,
            bth_8: (fast.headers[4] >> 24) as u8,
            flags: IS_FAST | HAS_KEY | HAS_EXT_WORD | flag(HAS_IP_ID, is_ipv4),
        }
    }
}

impl FastForm for FastPacket {
    #[inline(always)]
    fn fast(&self) -> &FastPacket {
        self
    }

    #[inline(always)]
    fn copy(&self) -> Option<&MirrorCopy> {
        None
    }

    #[inline(always)]
    fn ends(&self) -> (u64, u32) {
        (self.headers[1] << 32 | self.headers[2] >> 32, self.dest_qp())
    }

    #[inline(always)]
    fn is_told_by_ends(&self) -> bool {
        true
    }

    #[inline(always)]
    fn key(&self) -> Key {
        let (src, dst) = (self.headers[1] as u32, (self.headers[2] >> 32) as u32);
        Key::of_ipv4(src, dst, self.dest_qp())
    }

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
    fn is_ipv4(&self) -> bool {
        true
    }
}

#[inline(always)]
pub(super) fn words<const BYTES: usize, const WORDS: usize>(bytes: &[u8; BYTES]) -> [u64; WORDS] {
    const { assert!(BYTES == 8 * WORDS) };
    let mut words = [0; WORDS];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u64::from_be_bytes(*bytes);
    }
    words
}

/// The headers with the priority of the VLAN tag: `tags` as [`inside::ethernet`] has them.
#[inline(always)]
pub(super) fn with_priority(mut headers: [u64; WORDS], tags: u16) -> [u64; WORDS] {
    headers[3] &= !CHECKSUM;
    if tags != 0 {
        headers[3] |= (tags as u64 >> 13) << 32;
    }
    headers
}

/// The state of a packet's ICRC, by the function that computes it; unchecked where it was cut. `rest`: the bytes from its network
/// header on, of which `total` are the packet.
#[inline(always)]
pub(super) fn verify(rest: &[u8], total: u32, icrc: impl Fn(&[u8]) -> Option<[u8; 4]>) -> State {
    if rest.len() < total as usize { State::Unchecked } else { verify_whole(&rest[..total as usize], icrc) }
}

#[inline(never)]
fn verify_whole(packet: &[u8], icrc: impl Fn(&[u8]) -> Option<[u8; 4]>) -> State {
    let Some((covered, there)) = packet.split_last_chunk::<4>() else { return State::Unchecked };
    State::of(*there, icrc(covered))
}

#[cfg(test)]
#[path = "../../../tests/unit/analyze_packet_fast.rs"]
mod tests;
