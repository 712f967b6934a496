//! Values in the messages of communication management: which message, reasons, services, timeouts.

use core::{
    fmt,
    net::{IpAddr, Ipv6Addr},
};

use super::{Bits, Header, Show};

number! {
    /// Attribute number of a datagram of communication management: which message it is (IBTA vol. 1, 12.6.3 and 16.7.3).
    CmAttribute(u16) as Show::Named(|v| Some(match v {
        0x10 => "REQ", 0x11 => "MRA", 0x12 => "REJ", 0x13 => "REP", 0x14 => "RTU", 0x15 => "DREQ", 0x16 => "DREP",
        0x17 => "SIDR_REQ", 0x18 => "SIDR_REP", 0x19 => "LAP", 0x1a => "APR", 0x1b => "SAP", 0x1c => "SPR", _ => return None,
    }))
}

impl CmAttribute {
    /// Connection request.
    pub const REQ: CmAttribute = CmAttribute(0x10);
    /// Message receipt acknowledgement.
    pub const MRA: CmAttribute = CmAttribute(0x11);
    /// Rejection.
    pub const REJ: CmAttribute = CmAttribute(0x12);
    /// Reply.
    pub const REP: CmAttribute = CmAttribute(0x13);
    /// Ready to use.
    pub const RTU: CmAttribute = CmAttribute(0x14);
    /// Disconnect request.
    pub const DREQ: CmAttribute = CmAttribute(0x15);
    /// Disconnect reply.
    pub const DREP: CmAttribute = CmAttribute(0x16);
    /// Service ID resolution request.
    pub const SIDR_REQ: CmAttribute = CmAttribute(0x17);
    /// Service ID resolution response.
    pub const SIDR_REP: CmAttribute = CmAttribute(0x18);
    /// Load alternate path.
    pub const LAP: CmAttribute = CmAttribute(0x19);
    /// Alternate path response.
    pub const APR: CmAttribute = CmAttribute(0x1a);
}

number! {
    /// Transport service in a connection request.
    CmTransport(u8) as Show::Named(|v| Some(["RC", "UC", "RD", "extended"][v as usize & 3]))
}

impl CmTransport {
    /// Reliable connection.
    pub const RC: CmTransport = CmTransport(0);
    /// Unreliable connection.
    pub const UC: CmTransport = CmTransport(1);
    /// Reliable datagram.
    pub const RD: CmTransport = CmTransport(2);
    /// What `extended_transport_type` says.
    pub const EXTENDED: CmTransport = CmTransport(3);
}

number! {
    /// Path MTU by code.
    PathMtu(u8) as Show::Decoded(|v, f| match PathMtu(v as u8).bytes() { Some(n) => write!(f, "{n} bytes"), None => f.write_str("reserved") })
}

impl PathMtu {
    /// In bytes; `None` for a reserved code.
    pub const fn bytes(self) -> Option<u16> {
        match self.0 {
            1..=5 => Some(128 << self.0),
            _ => None,
        }
    }

    /// The code for a number of bytes.
    pub const fn from_bytes(bytes: u16) -> Option<PathMtu> {
        match bytes {
            256 => Some(PathMtu(1)),
            512 => Some(PathMtu(2)),
            1024 => Some(PathMtu(3)),
            2048 => Some(PathMtu(4)),
            4096 => Some(PathMtu(5)),
            _ => None,
        }
    }
}

number! {
    /// The message that an MRA or REJ answers.
    CmMessage(u8) as Show::Named(|v| Some(["REQ", "REP", "other", "reserved"][v as usize & 3]))
}

impl CmMessage {
    /// A connection request.
    pub const REQ: CmMessage = CmMessage(0);
    /// A reply.
    pub const REP: CmMessage = CmMessage(1);
    /// Of an MRA, a LAP; of a REJ, no message.
    pub const OTHER: CmMessage = CmMessage(2);
}

number! {
    /// A time of 4.096 us · 2^n: how long an answer may take.
    CmTimeout(u8) as Show::Decoded(|v, f| write_ns(CmTimeout(v as u8).ns(), f))
}

impl CmTimeout {
    /// In nanoseconds.
    pub const fn ns(self) -> u64 {
        4096 << (self.0 & 31)
    }
}

number! {
    /// How long a queue pair waits for an acknowledgement before it retransmits: 4.096 us · 2^n; 0 is without end.
    AckTimeout(u8) as Show::Decoded(|v, f| match AckTimeout(v as u8).ns() { Some(ns) => write_ns(ns, f), None => f.write_str("no limit") })
}

impl AckTimeout {
    /// In nanoseconds; `None` where it waits without end.
    pub const fn ns(self) -> Option<u64> {
        match self.0 & 31 {
            0 => None,
            n => Some(4096 << n),
        }
    }
}

/// A time with three decimals.
fn write_ns(ns: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (unit, name) = match ns {
        ..1_000_000 => (1_000, "us"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    write!(f, "{}.{:03} {name}", ns / unit, ns % unit / (unit / 1_000))
}

number! {
    /// Service of a connection request. RDMA-CM: port space, port.
    ServiceId(u64) as Show::Decoded(|v, f| match ServiceId(v).rdma_cm() {
        Some((space, port)) => write!(f, "RDMA-CM {} port {port}", space.name()),
        None => f.write_str("not RDMA-CM"),
    }) => ServiceId
}

impl ServiceId {
    /// Whether the RDMA IP CM service's header starts the private data (annex A11).
    pub const fn is_rdma_cm(self) -> bool {
        self.0 & 0xffff_ffff_ff00_0000 == 0x0000_0000_0100_0000
    }

    /// The port space and the port of a service of Linux's RDMA-CM.
    pub const fn rdma_cm(self) -> Option<(PortSpace, u16)> {
        let space = match self.0 >> 16 {
            0x0106 => PortSpace::Tcp,
            0x0111 => PortSpace::Udp,
            0x013f => PortSpace::Ib,
            0x0002 => PortSpace::Ipoib,
            _ => return None,
        };
        Some((space, self.0 as u16))
    }

    /// The service of a port.
    pub const fn of_port(space: PortSpace, port: u16) -> ServiceId {
        ServiceId((space as u64) << 16 | port as u64)
    }
}

/// A space of ports of RDMA-CM: the upper part of a service ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(u16)]
pub enum PortSpace {
    /// Over IPoIB.
    Ipoib = 0x0002,
    /// Connections.
    Tcp = 0x0106,
    /// Datagrams.
    Udp = 0x0111,
    /// InfiniBand's own.
    Ib = 0x013f,
}

impl PortSpace {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            PortSpace::Ipoib => "IPoIB",
            PortSpace::Tcp => "TCP",
            PortSpace::Udp => "UDP",
            PortSpace::Ib => "IB",
        }
    }
}

number! {
    /// Why a connection was rejected (IBTA vol. 1, 12.6.7.2).
    RejectReason(u16) as Show::Named(|v| Some(match v {
        1 => "no QP", 2 => "no EEC", 3 => "no resources", 4 => "timeout", 5 => "unsupported request", 6 => "invalid communication ID",
        7 => "invalid communication instance", 8 => "invalid service ID", 9 => "invalid transport service type", 10 => "stale connection",
        11 => "RDC does not exist", 12 => "primary remote GID", 13 => "primary remote LID", 14 => "invalid primary SL",
        15 => "invalid primary traffic class", 16 => "invalid primary hop limit", 17 => "invalid primary packet rate",
        18 => "alternate remote GID", 19 => "alternate remote LID", 20 => "invalid alternate SL", 21 => "invalid alternate traffic class",
        22 => "invalid alternate hop limit", 23 => "invalid alternate packet rate", 24 => "CM redirection", 25 => "port redirection",
        26 => "invalid path MTU", 27 => "insufficient responder resources", 28 => "consumer reject", 29 => "RNR retry count",
        30 => "duplicate local communication ID", 31 => "class version not supported", 32 => "invalid flow label", 33 => "invalid alternate flow label",
        35 => "vendor option not supported", _ => return None,
    }))
}

impl RejectReason {
    /// The receiver's queue pairs, contexts or memory are used up.
    pub const NO_RESOURCES: RejectReason = RejectReason(3);
    /// The peer did not answer in time.
    pub const TIMEOUT: RejectReason = RejectReason(4);
    /// Nobody listens to the service.
    pub const INVALID_SERVICE_ID: RejectReason = RejectReason(8);
    /// The receiver still has an older connection with this queue pair.
    pub const STALE_CONNECTION: RejectReason = RejectReason(10);
    /// The application refused: its private data may say why.
    pub const CONSUMER: RejectReason = RejectReason(28);

    /// Its name; `None` for a number that is not assigned.
    pub fn name(self) -> Option<&'static str> {
        Self::SHOW.name(self.0.into())
    }
}

number! {
    /// What became of an alternate path (IBTA vol. 1, 12.8.2).
    ApStatus(u8) as Show::Named(|v| Some(match v {
        0 => "path loaded", 1 => "invalid communication ID", 2 => "alternate paths not supported", 3 => "rejected", 4 => "redirection",
        5 => "is the primary path", 6 => "QPN or EECN mismatch", 7 => "invalid LID", 8 => "invalid GID", 9 => "invalid flow label",
        10 => "invalid traffic class", 11 => "invalid hop limit", 12 => "invalid packet rate", 13 => "invalid SL", _ => return None,
    }))
}

number! {
    /// What became of a request for a service's queue pair (IBTA vol. 1, 12.11.2).
    SidrStatus(u8) as Show::Named(|v| Some(match v {
        0 => "valid", 1 => "service ID not supported", 2 => "rejected by the service", 3 => "no QP available", 4 => "redirection",
        5 => "class version not supported", _ => return None,
    }))
}

impl SidrStatus {
    /// The answer has a queue pair.
    pub const VALID: SidrStatus = SidrStatus(0);

    /// Its name; `None` for a number that is not assigned.
    pub fn name(self) -> Option<&'static str> {
        Self::SHOW.name(self.0.into())
    }
}

/// An address in RDMA-CM's header (annex A11): of IPv4, in the last four bytes, with zeros before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IpCmAddress(pub Ipv6Addr);

impl IpCmAddress {
    /// An address of this version.
    pub const fn of(ip: IpAddr) -> IpCmAddress {
        match ip {
            IpAddr::V4(ip) => IpCmAddress(ip.to_ipv6_compatible()),
            IpAddr::V6(ip) => IpCmAddress(ip),
        }
    }
}

impl super::IpCm {
    /// The addresses of who asks and of who is asked, as the version says.
    pub fn addresses(&self) -> [IpAddr; 2] {
        [5, 6].map(|n| Self::FIELDS[n].ip(self.bytes()))
    }
}

bits! {
    // The version is the first four bits of the header's second byte.
    IpCmAddress as Show::Ip(8) => Ipv6, Ipv6Addr: IpCmAddress, |address: IpCmAddress| address.0;
}

/// Additional information of an answer: what it is depends on the reason or status. It may be a GID or a LID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CmInfo(pub [u8; 72]);

bits!(CmInfo as Show::Bytes => Opaque, [u8; 72]: CmInfo, |info: CmInfo| info.0;);
