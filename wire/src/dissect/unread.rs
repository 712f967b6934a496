//! What was not read of a frame: by what it is announced, and whether a packet may be in it.

use core::fmt;

use super::{Dissection, Link, Note, Problem};
use crate::{
    named,
    wire::{
        Bth, EtherType, Hex8, IpProtocol, Kind, MacControlOpcode, NextProtocol, PppProtocol, Show, Transport,
        Udp,
    },
};

named! {
    /// What a number that announces a header counts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum Numbers {
        /// Link types of captures.
        LinkType "link type",
        /// Types of ERF records.
        ErfType "ERF type",
        /// EtherTypes.
        EtherType "EtherType",
        /// Service access points of LLC.
        Llc "LLC SAP",
        /// Protocols of IP.
        IpProtocol "IP protocol",
        /// IP fragments behind the first one, by the protocol of IP.
        Fragment "later IP fragments of protocol",
        /// Versions of IP.
        IpVersion "IP version",
        /// UDP ports: the lower one of two that are not known.
        UdpPort "UDP port",
        /// What PPP carries.
        PppProtocol "PPP protocol",
        /// What VXLAN-GPE and NSH carry.
        NextProtocol "next protocol",
        /// What TZSP carries.
        TzspProtocol "TZSP protocol",
        /// Frame types of ERSPAN III.
        ErspanFrame "ERSPAN III frame type",
        /// UDP on the port of RoCE that is no RoCE, by the port that it comes from.
        NotRoce "UDP on RoCE's port that is no RoCE, from port",
        /// UDP that is encrypted, by its port.
        EncryptedUdp "encrypted UDP port",
        /// Flags of IFA with which its metadata stands elsewhere.
        IfaFlags "IFA flags",
        /// Kinds of INT.
        IntType "INT type",
        /// What INT has behind its metadata.
        IntNext "INT next protocol",
        /// Which header follows one of Ultra Ethernet's.
        UetHeader "UET next header",
        /// Operations of MAC control.
        MacControl "MAC control opcode",
        /// Nothing: the capture has only a part of a pause frame, without the times.
        CutPause "pauses cut before their times",
        /// Nothing: the capture has only a part of the headers.
        Cut "headers cut by the capture",
    }
}

impl Numbers {
    pub(super) const MIN: Numbers = Numbers::LinkType;

    /// Whether a number stands for what is not read.
    pub const fn has_numbers(self) -> bool {
        !matches!(self, Numbers::Cut | Numbers::CutPause)
    }
}

/// What was not read of a frame. Displays as "EtherType 0x88e5 (MACsec)".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Unread {
    /// What the number counts.
    pub of: Numbers,
    /// The number.
    pub number: u16,
}

impl Unread {
    /// What the number stands for, if that is known.
    pub fn name(self) -> Option<&'static str> {
        let number = self.number;
        let named = |show: Show| match show {
            Show::Named(name) => name(number.into()),
            _ => None,
        };
        match self.of {
            Numbers::LinkType => Link(number).name(),
            Numbers::EtherType => EtherType(number).name(),
            Numbers::Llc => llc(number),
            Numbers::IpProtocol | Numbers::Fragment => named(<IpProtocol as crate::wire::Bits>::SHOW),
            Numbers::UdpPort | Numbers::NotRoce | Numbers::EncryptedUdp => service(number),
            Numbers::PppProtocol => named(<PppProtocol as crate::wire::Bits>::SHOW),
            Numbers::NextProtocol => named(<NextProtocol as crate::wire::Bits>::SHOW),
            Numbers::MacControl => named(<MacControlOpcode as crate::wire::Bits>::SHOW),
            Numbers::ErfType => named(<crate::wire::ErfType as crate::wire::Bits>::SHOW),
            _ => None,
        }
    }

    /// Whether it is encrypted: nobody without the key can say what is in it.
    pub fn is_encrypted(self) -> bool {
        match self.of {
            Numbers::EtherType => self.number == EtherType::MACSEC.0,
            Numbers::IpProtocol => self.number == u16::from(IpProtocol::ESP.0),
            of => of == Numbers::EncryptedUdp,
        }
    }

    /// Whether a packet of the transport may be in such a frame, which was not found. Protocols that are known to carry something
    /// else, and UDP ports, have none.
    pub fn may_hide_packets(self) -> bool {
        match self.of {
            Numbers::EtherType => !is_other_ether_type(self.number),
            Numbers::Llc => llc(self.number).is_none(),
            Numbers::IpProtocol => {
                !matches!(self.number, 1 | 2 | 6 | 8 | 46 | 58 | 59 | 88 | 89 | 103 | 112 | 132 | 136)
            }
            Numbers::Fragment => self.number == u16::from(IpProtocol::UDP.0),
            Numbers::PppProtocol => self.number < 0x8000,
            Numbers::UdpPort | Numbers::NotRoce | Numbers::MacControl | Numbers::UetHeader => false,
            _ => true,
        }
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = self.of.name();
        match self.of {
            Numbers::EtherType | Numbers::PppProtocol | Numbers::MacControl | Numbers::IfaFlags => {
                write!(f, "{of} {:#06x}", self.number)?
            }
            Numbers::Cut | Numbers::CutPause => f.write_str(of)?,
            Numbers::Llc => write!(f, "{of} {:#04x}", Hex8(self.number as u8).0)?,
            _ => write!(f, "{of} {}", self.number)?,
        }
        match self.name() {
            Some(name) => write!(f, " ({name})"),
            None => Ok(()),
        }
    }
}

impl Dissection<'_> {
    /// Where the dissection of a frame without a packet of the transport ended: at something that is not read. `None` where it has
    /// such a packet, and of frames that were read to their end, as pauses and LLDP are.
    pub fn unread(&self) -> Option<Unread> {
        if self.has(Kind::Bth) {
            let other = self.get::<Udp>().filter(|_| self.is_other_udp(false))?;
            return Some(Unread { of: Numbers::NotRoce, number: other.src_port() });
        }
        let stop = |note: &Note| match note.problem {
            Problem::LinkType { of, number } | Problem::Unread { of, number } => Some(Unread { of, number }),
            Problem::Fragment { offset } if offset > 0 => {
                Some(Unread { of: Numbers::Fragment, number: self.ip_protocol()? })
            }
            // PPTP.
            Problem::Version { .. } if note.layer == Kind::Gre => {
                Some(Unread { of: Numbers::IpProtocol, number: IpProtocol::GRE.0.into() })
            }
            Problem::Version { says } => Some(Unread { of: Numbers::IpVersion, number: says.into() }),
            // What delivers a packet of Ultra Ethernet was read: only what it is for was not.
            Problem::Cut { .. } if self.uet_cut().is_some() => None,
            Problem::Cut { .. } => {
                let of = if self.has(Kind::MacControl) { Numbers::CutPause } else { Numbers::Cut };
                Some(Unread { of, number: 0 })
            }
            _ => None,
        };
        if let Some(unread) = self.notes().iter().find_map(stop) {
            return Some(unread);
        }
        if self.is_uet() {
            return None;
        }
        let udp = self.get::<Udp>()?;
        let [to, from] = [udp.dst_port(), udp.src_port()];
        let number = match (service(to), service(from)) {
            (Some(_), _) => to,
            (None, Some(_)) => from,
            // The client's port comes from a range of high numbers.
            _ => to.min(from),
        };
        Some(Unread { of: Numbers::UdpPort, number })
    }

    /// Whether UDP on the port of RoCE is something else: it comes from a port on which something else speaks, or its BTH breaks the
    /// specification in several places. A packet whose ICRC is right is none of that.
    #[inline]
    pub fn is_other_udp(&self, is_icrc_good: bool) -> bool {
        !is_icrc_good
            && match (self.get::<Udp>(), self.get::<Bth>()) {
                (Some(udp), Some(bth)) => {
                    let bytes = bth.bytes();
                    let has_reserved = bytes[4] & 0x3f | bytes[8] & 0x7f != 0;
                    // MRC's source ports are paths, and may be any.
                    self.transport == Transport::Ib
                        && udp.src_port() < FIRST_PORT
                        && service(udp.src_port()).is_some()
                        || bth.tver() != 0 && (has_reserved || !bth.opcode().is_known())
                }
                _ => false,
            }
    }

    fn ip_protocol(&self) -> Option<u16> {
        if let Some(ip) = self.get::<crate::wire::Ipv4>() {
            return Some(ip.protocol().0.into());
        }
        let extension = self.offset(Kind::Ipv6Extension)?;
        self.frame().get(extension).map(|&next| next.into())
    }
}

/// EtherTypes that carry no packet of another protocol.
const fn is_other_ether_type(number: u16) -> bool {
    matches!(
        number,
        0x0806
            | 0x0842
            | 0x2000
            | 0x22ea
            | 0x22f0
            | 0x6002
            | 0x8035
            | 0x8137
            | 0x8809
            | 0x8863
            | 0x888e
            | 0x8892
            | 0x88a4
            | 0x88ca
            | 0x88cc
            | 0x88e1
            | 0x88f5
            | 0x88f6
            | 0x88f7
            | 0x88fb
            | 0x8902
            | 0x8906
            | 0x8914
            | 0x8917
            | 0x9000
            | 0x9ac6
    )
}

const fn llc(sap: u16) -> Option<&'static str> {
    Some(match sap {
        0x00 => "null",
        0x42 => "STP",
        0xaa => "SNAP of an organization",
        0xe0 => "IPX",
        0xf0 => "NetBIOS",
        0xfe => "OSI",
        _ => return None,
    })
}

/// Ports from here on are no [services](Unread::name).
pub const FIRST_PORT: u16 = 8192;

/// What speaks on a UDP port.
pub(super) const fn service(port: u16) -> Option<&'static str> {
    Some(match port {
        53 => "DNS",
        67 | 68 => "DHCP",
        69 => "TFTP",
        88 => "Kerberos",
        111 => "portmapper",
        123 => "NTP",
        137 | 138 => "NetBIOS",
        161 | 162 => "SNMP",
        319 | 320 => "PTP",
        443 => "QUIC",
        500 => "IKE",
        514 => "syslog",
        546 | 547 => "DHCPv6",
        623 => "RMCP",
        1000 => "PSP",
        1812 | 1813 => "RADIUS",
        1900 => "SSDP",
        2049 => "NFS",
        2055 => "NetFlow",
        3784 => "BFD",
        4500 => "IPsec",
        4739 => "IPFIX",
        5353 => "mDNS",
        5355 => "LLMNR",
        6343 => "sFlow",
        _ => return None,
    })
}
