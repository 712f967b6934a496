//! Types of field values: addresses, queue pair numbers, PSNs, the AETH's syndrome.

use core::fmt;

use super::{EtherTypes, Kind, Show};

/// An Ethernet address, first byte on the wire first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Whether it is a group address: a multicast or the broadcast.
    #[inline]
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl core::str::FromStr for Mac {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut mac = [0; 6];
        let mut parts = text.split([':', '-']);
        for byte in &mut mac {
            let part = parts
                .next()
                .filter(|p| matches!(p.len(), 1 | 2))
                .ok_or("an Ethernet address has six bytes")?;
            *byte = u8::from_str_radix(part, 16).map_err(|_| "an Ethernet address has hexadecimal bytes")?;
        }
        if parts.next().is_some() { Err("an Ethernet address has six bytes") } else { Ok(Mac(mac)) }
    }
}

/// A set of operation codes and headers: what the packets behind a UDP port, an EtherType or a link header are. The dissector
/// decides it once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Transport {
    /// InfiniBand's transport, which RoCE has too.
    #[default]
    Ib,
    /// The Multipath Reliable Connection of OCP.
    Mrc,
}

impl Transport {
    /// All of them, in the order of their numbers.
    pub const ALL: [Transport; 2] = [Transport::Ib, Transport::Mrc];
}

/// BTH operation code of a transport. Every code from 0 to 255 is one; those of the transport's table have a meaning. InfiniBand's:
///
/// ```text
///   7   6   5   4   3   2   1   0
/// +-----------+-------------------+
/// |  service  |     operation     |
/// +-----------+-------------------+
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Opcode {
    /// Whose code it is.
    pub transport: Transport,
    /// The BTH's first byte.
    pub code: u8,
}

impl Opcode {
    /// A code of this transport.
    #[inline(always)]
    pub const fn of(transport: Transport, code: u8) -> Opcode {
        Opcode { transport, code }
    }

    /// A code of InfiniBand's transport.
    #[inline(always)]
    pub const fn ib(code: u8) -> Opcode {
        Opcode::of(Transport::Ib, code)
    }
}

number! {
    /// Packet sequence number, 24 bits. Ordered modulo 2^24 by [`Psn::distance_from`], not by `Ord`, which is
    /// there for sorting only (IBTA vol. 1, 9.7.1).
    Psn(u32) as Show::Dec
}

impl Psn {
    /// How many PSNs there are: 2^24.
    pub const SPACE: u32 = 1 << 24;

    /// The PSN that comes `n` later.
    #[inline]
    #[must_use]
    pub const fn plus(self, n: u32) -> Psn {
        Psn(self.0.wrapping_add(n) & (Self::SPACE - 1))
    }

    /// How far this PSN is ahead of `other`: from -2^23 to 2^23 - 1. Negative means behind it.
    #[inline]
    pub const fn distance_from(self, other: Psn) -> i32 {
        (self.0.wrapping_sub(other.0) << 8) as i32 >> 8
    }

    /// The number that goes on where PSNs begin again with 0: of all that are this PSN modulo 2^24, the nearest to `near`.
    #[inline]
    #[must_use]
    pub const fn unwrap_near(self, near: u64) -> u64 {
        near.wrapping_add_signed(self.distance_from(Psn(near as u32)) as i64)
    }
}

impl fmt::Display for Psn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

number! {
    /// Queue pair number, 24 bits.
    Qpn(u32) as Show::Hex => QueuePair
}

impl Qpn {
    /// The destination of multicast packets.
    pub const MULTICAST: Qpn = Qpn(0xff_ffff);
}

impl fmt::Display for Qpn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

number! {
    /// Number of a shared receive queue, 24 bits.
    Srqn(u32) as Show::Hex => QueuePair
}
number! {
    /// Number of an end-to-end context of reliable datagrams, 24 bits; 0 where there is none.
    EeContext(u32) as Show::Hex => EeContext
}
number! {
    /// Key to a region of memory.
    RKey(u32) as Show::Hex => RKey
}
number! {
    /// Address in the memory of the host that a request goes to.
    VirtualAddress(u64) as Show::Hex => VirtualAddress
}
number! {
    /// Local identifier of a port in a subnet.
    Lid(u16) as Show::Hex => Lid
}

impl Lid {
    /// Whether it is a port's own: neither reserved (0), nor a multicast group's (from 0xc000 on), nor permissive (0xffff).
    pub const fn is_unicast(self) -> bool {
        matches!(self.0, 1..0xc000)
    }
}

number! {
    /// Globally unique identifier of a device.
    Guid(u64) as Show::Hex => Guid
}
number! {
    /// A connection manager's number for a connection; 0 where there is none.
    CommId(u32) as Show::Hex => CommId
}
number! {
    /// Number that a management datagram and its answer have in common.
    TransactionId(u64) as Show::Hex => TransactionId
}

number! {
    /// Partition key: bit 15 is full membership, the rest the partition.
    PKey(u16) as Show::Hex
}

number! {
    /// A number written in hexadecimal.
    Hex8(u8) as Show::Hex
}
number! {
    /// A number written in hexadecimal.
    Hex16(u16) as Show::Hex
}
number! {
    /// A number written in hexadecimal.
    Hex32(u32) as Show::Hex
}
number! {
    /// A number written in hexadecimal.
    Hex64(u64) as Show::Hex
}

number! {
    /// Explicit congestion notification, the two low bits of an IP header's second byte (RFC 3168).
    Ecn(u8) as Show::Named(|v| Some(["Not-ECT", "ECT(1)", "ECT(0)", "CE"][v as usize & 3]))
}

impl Ecn {
    /// Congestion experienced.
    pub const CE: Ecn = Ecn(3);
    /// ECN-capable transport, code point 0.
    pub const ECT0: Ecn = Ecn(2);
    /// ECN-capable transport, code point 1.
    pub const ECT1: Ecn = Ecn(1);

    /// Whether the packet is ECN-capable: ECT(0), ECT(1) or CE.
    #[inline]
    pub const fn is_capable(self) -> bool {
        self.0 != 0
    }
}

number! {
    /// What an Ethernet frame or a tunnel carries.
    EtherType(u16) as Show::Named(|v| EtherType(v as u16).name())
}

impl EtherType {
    /// IPv4.
    pub const IPV4: EtherType = EtherType(0x0800);
    /// IPv6.
    pub const IPV6: EtherType = EtherType(0x86dd);
    /// RoCE version 1: a GRH follows.
    pub const ROCE: EtherType = EtherType(0x8915);
    /// IEEE 802.1Q tag.
    pub const VLAN: EtherType = EtherType(0x8100);
    /// IEEE 802.1ad service tag.
    pub const SERVICE_VLAN: EtherType = EtherType(0x88a8);
    /// The outer tag of early stacked VLANs.
    pub const QINQ: EtherType = EtherType(0x9100);
    /// Others that are in use for it.
    pub const QINQ_9200: EtherType = EtherType(0x9200);
    /// Others that are in use for it.
    pub const QINQ_9300: EtherType = EtherType(0x9300);
    /// VN-Tag of a fabric extender.
    pub const VN_TAG: EtherType = EtherType(0x8926);
    /// E-TAG of a port extender (IEEE 802.1BR).
    pub const E_TAG: EtherType = EtherType(0x893f);
    /// Cisco metadata.
    pub const CISCO_METADATA: EtherType = EtherType(0x8909);
    /// Redundancy tag (IEEE 802.1CB).
    pub const R_TAG: EtherType = EtherType(0xf1c1);
    /// Arista's vendor specific protocol: time stamps.
    pub const ARISTA: EtherType = EtherType(0xd28b);
    /// Tag of Marvell switches.
    pub const EDSA: EtherType = EtherType(0xdada);
    /// I-TAG of provider backbone bridges (IEEE 802.1ah).
    pub const I_TAG: EtherType = EtherType(0x88e7);
    /// TRILL.
    pub const TRILL: EtherType = EtherType(0x22f3);
    /// Network service header.
    pub const NSH: EtherType = EtherType(0x894f);
    /// Compact tag of congestion signaling, where the operator has no other.
    pub const CSIG: EtherType = EtherType(0x9900);
    /// MACsec (IEEE 802.1AE).
    pub const MACSEC: EtherType = EtherType(0x88e5);
    /// MAC control: PAUSE and PFC.
    pub const MAC_CONTROL: EtherType = EtherType(0x8808);
    /// LLDP.
    pub const LLDP: EtherType = EtherType(0x88cc);
    /// MPLS.
    pub const MPLS: EtherType = EtherType(0x8847);
    /// MPLS with an upstream label.
    pub const MPLS_UPSTREAM: EtherType = EtherType(0x8848);
    /// Address resolution.
    pub const ARP: EtherType = EtherType(0x0806);
    /// An Ethernet frame (transparent bridging), in GRE and GENEVE.
    pub const ETHERNET: EtherType = EtherType(0x6558);
    /// ERSPAN I and II, in GRE.
    pub const ERSPAN: EtherType = EtherType(0x88be);
    /// ERSPAN III, in GRE.
    pub const ERSPAN3: EtherType = EtherType(0x22eb);
    /// SONiC Everflow on NVIDIA switches, in GRE.
    pub const EVERFLOW: EtherType = EtherType(0x8949);

    /// Its name.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            EtherType::IPV4 => "IPv4",
            EtherType::IPV6 => "IPv6",
            EtherType::ROCE => "RoCE",
            EtherType::VLAN => "802.1Q",
            EtherType::SERVICE_VLAN => "802.1ad",
            EtherType::QINQ => "QinQ",
            EtherType::MAC_CONTROL => "MAC control",
            EtherType::LLDP => "LLDP",
            EtherType::MPLS => "MPLS",
            EtherType::MPLS_UPSTREAM => "MPLS upstream",
            EtherType::ARP => "ARP",
            EtherType::ETHERNET => "Ethernet",
            EtherType::ERSPAN => "ERSPAN",
            EtherType::ERSPAN3 => "ERSPAN III",
            EtherType::EVERFLOW => "Everflow",
            EtherType::QINQ_9200 | EtherType::QINQ_9300 => "QinQ",
            EtherType::VN_TAG => "VN-Tag",
            EtherType::E_TAG => "802.1BR",
            EtherType::CISCO_METADATA => "Cisco metadata",
            EtherType::R_TAG => "R-TAG",
            EtherType::ARISTA => "Arista",
            EtherType::EDSA => "EDSA",
            EtherType::I_TAG => "802.1ah",
            EtherType::TRILL => "TRILL",
            EtherType::NSH => "NSH",
            EtherType::CSIG => "CSIG",
            EtherType::MACSEC => "MACsec",
            EtherType(number) => return other_ether_type(number),
        })
    }

    /// Whether it is the length of an IEEE 802.3 frame instead.
    #[inline]
    pub const fn is_length(self) -> bool {
        self.0 < 0x0600
    }

    /// Whether a VLAN tag follows.
    #[inline]
    pub const fn is_vlan(self) -> bool {
        matches!(EtherTypes::next(self), Some(Kind::Vlan))
    }
}

/// The names of EtherTypes that announce no header that is read, as Wireshark has them.
const fn other_ether_type(number: u16) -> Option<&'static str> {
    Some(match number {
        0x0842 => "Wake on LAN",
        0x2000 => "CDP",
        0x22ea => "SRP",
        0x22f0 => "AVTP",
        0x6002 => "DEC DNA remote console",
        0x8035 => "RARP",
        0x8137 => "IPX",
        0x8809 => "slow protocols",
        0x880b => "PPP",
        0x8863 => "PPPoE discovery",
        0x8864 => "PPPoE session",
        0x888e => "802.1X authentication",
        0x8892 => "PROFINET",
        0x88a4 => "EtherCAT",
        0x88ca => "TIPC",
        0x88e1 => "HomePlug AV",
        0x88f5 => "MVRP",
        0x88f6 => "MMRP",
        0x88f7 => "PTPv2",
        0x88fb => "PRP",
        0x8902 => "CFM",
        0x8906 => "FCoE",
        0x8914 => "FIP",
        0x8917 => "LLT",
        0x9000 => "loopback",
        0x9ac6 => "TTPoE",
        _ => return None,
    })
}

number! {
    /// The protocol after an IP header or a GRH (IANA protocol numbers).
    IpProtocol(u8) as Show::Named(|v| Some(match v {
        0 => "hop-by-hop options", 1 => "ICMP", 2 => "IGMP", 4 => "IPv4", 6 => "TCP", 8 => "EGP", 17 => "UDP",
        27 => "IBA transport", 41 => "IPv6", 43 => "routing", 44 => "fragment", 46 => "RSVP", 47 => "GRE", 50 => "ESP", 51 => "AH",
        58 => "ICMPv6", 59 => "none", 60 => "destination options", 88 => "EIGRP", 89 => "OSPF", 97 => "EtherIP", 103 => "PIM",
        108 => "IPComp", 112 => "VRRP", 115 => "L2TP", 132 => "SCTP", 136 => "UDPLite", 137 => "MPLS", 143 => "Ethernet",
        253 => "IFA", _ => return None,
    }))
}

impl IpProtocol {
    /// UDP.
    pub const UDP: IpProtocol = IpProtocol(17);
    /// IPv4 in IP.
    pub const IPV4: IpProtocol = IpProtocol(4);
    /// IPv6 in IP.
    pub const IPV6: IpProtocol = IpProtocol(41);
    /// GRE.
    pub const GRE: IpProtocol = IpProtocol(47);
    /// MPLS in IP.
    pub const MPLS: IpProtocol = IpProtocol(137);
    /// An Ethernet frame (RFC 8986), as in SRv6.
    pub const ETHERNET: IpProtocol = IpProtocol(143);
    /// EtherIP.
    pub const ETHER_IP: IpProtocol = IpProtocol(97);
    /// Inband flow analyzer: a number for experiments (RFC 3692), which adapters and switches use so.
    pub const IFA: IpProtocol = IpProtocol(253);
    /// IPsec's encapsulating security payload.
    pub const ESP: IpProtocol = IpProtocol(50);
    /// The InfiniBand transport, after a GRH.
    pub const IBA: IpProtocol = IpProtocol(0x1b);
}

number! {
    /// The AETH's first byte: an acknowledgement with credits, an RNR NAK (receiver not ready) or a NAK.
    ///
    /// ```text
    ///    7    6   5    4   3   2   1   0
    /// +-----+-------+-------------------+
    /// |  0  | type  |       value       |   type 0 ACK: credits   1 RNR NAK: timer   3 NAK: code
    /// +-----+-------+-------------------+
    /// ```
    /// IBTA vol. 1, 9.7.5.2.
    Syndrome(u8) as Show::Decoded(|v, f| fmt::Display::fmt(&Syndrome(v as u8), f))
}

/// What a syndrome says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Acknowledgement {
    /// Everything up to this PSN has arrived.
    Ack {
        /// Receive credits on top of the MSN; `None` where the code says that they are not counted (31).
        /// Some RoCE adapters always send code 0: zero credits do not mean that the requester is blocked.
        credits: Option<u16>,
    },
    /// The receiver has no buffer: the requester waits this long and retransmits.
    RnrNak {
        /// The least time to wait, in microseconds.
        timer_us: u32,
    },
    /// Negative acknowledgement.
    Nak(NakCode),
    /// A reserved type, or the reserved bit.
    Reserved(u8),
}

/// The reason of a NAK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NakCode {
    /// A PSN that was not expected. The NAK's own PSN field has the expected one.
    PsnSequenceError,
    /// An operation that is not supported or not allowed, or a wrong length.
    InvalidRequest,
    /// A wrong R_Key, a wrong address, or no right to access it.
    RemoteAccessError,
    /// The responder failed to execute the request.
    RemoteOperationalError,
    /// A reliable datagram that is not supported or not allowed.
    InvalidRdRequest,
    /// A reserved code.
    Reserved(u8),
}

/// RNR timers in microseconds by code; codes double in pairs (IBTA vol. 1, table 45).
const RNR_TIMER_US: [u32; 32] = [
    655_360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1_280, 1_920, 2_560, 3_840, 5_120,
    7_680, 10_240, 15_360, 20_480, 30_720, 40_960, 61_440, 81_920, 122_880, 163_840, 245_760, 327_680,
    491_520,
];

/// Credits by code; code 31 means that credits are not counted.
const CREDITS: [u16; 31] = [
    0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072,
    4096, 6144, 8192, 12288, 16384, 24576, 32768,
];

impl Syndrome {
    /// An acknowledgement that does not count credits.
    pub const ACK: Syndrome = Syndrome(0x1f);
    /// PSN sequence error.
    pub const PSN_SEQUENCE_ERROR: Syndrome = Syndrome(0x60);
    /// Invalid request.
    pub const INVALID_REQUEST: Syndrome = Syndrome(0x61);
    /// Remote access error.
    pub const REMOTE_ACCESS_ERROR: Syndrome = Syndrome(0x62);
    /// Remote operational error.
    pub const REMOTE_OPERATIONAL_ERROR: Syndrome = Syndrome(0x63);
    /// Invalid RD request.
    pub const INVALID_RD_REQUEST: Syndrome = Syndrome(0x64);

    /// Receiver not ready, with the shortest timer that is not shorter than `us` microseconds.
    pub fn rnr(us: u32) -> Syndrome {
        let code = (1..32).find(|&code| RNR_TIMER_US[code] >= us).unwrap_or(0);
        Syndrome(0x20 | code as u8)
    }

    /// What it says.
    #[inline]
    pub const fn meaning(self) -> Acknowledgement {
        let value = self.0 & 0x1f;
        match self.0 >> 5 {
            0 if value == 31 => Acknowledgement::Ack { credits: None },
            0 => Acknowledgement::Ack { credits: Some(CREDITS[value as usize]) },
            1 => Acknowledgement::RnrNak { timer_us: RNR_TIMER_US[value as usize] },
            3 => Acknowledgement::Nak(match value {
                0 => NakCode::PsnSequenceError,
                1 => NakCode::InvalidRequest,
                2 => NakCode::RemoteAccessError,
                3 => NakCode::RemoteOperationalError,
                4 => NakCode::InvalidRdRequest,
                _ => NakCode::Reserved(value),
            }),
            _ => Acknowledgement::Reserved(self.0),
        }
    }

    /// Whether it is a positive acknowledgement: type 0.
    #[inline]
    pub const fn is_ack(self) -> bool {
        self.0 >> 5 == 0
    }

    /// Whether it is a NAK: type 3.
    #[inline]
    pub const fn is_nak(self) -> bool {
        self.0 >> 5 == 3
    }

    /// Whether it is an RNR NAK: type 1.
    #[inline]
    pub const fn is_rnr(self) -> bool {
        self.0 >> 5 == 1
    }
}

/// What it says.
impl fmt::Display for Syndrome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.meaning().fmt(f)
    }
}

impl fmt::Display for Acknowledgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Acknowledgement::Ack { credits: None } => f.write_str("ACK"),
            Acknowledgement::Ack { credits: Some(n) } => write!(f, "ACK, {n} credits"),
            Acknowledgement::RnrNak { timer_us } => {
                write!(f, "RNR NAK, wait {} ms", *timer_us as f64 / 1000.0)
            }
            Acknowledgement::Nak(code) => write!(f, "NAK, {code}"),
            Acknowledgement::Reserved(_) => f.write_str("reserved"),
        }
    }
}

impl fmt::Display for NakCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NakCode::PsnSequenceError => "PSN sequence error",
            NakCode::InvalidRequest => "invalid request",
            NakCode::RemoteAccessError => "remote access error",
            NakCode::RemoteOperationalError => "remote operational error",
            NakCode::InvalidRdRequest => "invalid RD request",
            NakCode::Reserved(code) => return write!(f, "reserved code {code}"),
        })
    }
}
