//! What switches and capture cards put between the Ethernet addresses and the EtherType: tags of ports, groups and times, and LLC.
//!
//! Each but LLC stands behind an EtherType of its own, and ends with the EtherType of what follows.

use super::{EtherType, Hex8, Hex16, Hex32, Show};

header! {
    /// VN-Tag (Cisco; IEEE 802.1Qbh), behind EtherType 0x8926: the ports of a fabric extender.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-+-+---------------------------+-+-+---+-----------------------+
    /// |D|P|       destination         |L|R|ver|        source         |
    /// +-+-+---------------------------+-+-+---+-----------------------+
    /// |           EtherType           |
    /// +-------------------------------+
    /// ```
    VnTag "VN-Tag", 6 bytes {
        /// To the extender, or from it.
        direction with_direction: 1 as bool,
        /// The destination is a list of ports.
        pointer with_pointer: 1 as bool,
        /// Where the frame goes to.
        destination with_destination: 14 as u16,
        /// The frame goes back to where it came from.
        looped with_looped: 1 as bool,
        /// Reserved.
        reserved with_reserved: 1 as bool,
        /// 0.
        version with_version: 2 as u8,
        /// Where the frame comes from.
        source with_source: 12 as u16,
        /// What follows.
        ether_type with_ether_type: 16 as EtherType,
    }
}

header! {
    /// E-TAG (IEEE 802.1BR, 7.5), behind EtherType 0x893f: the ports of a port extender.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-----+-+-----------------------+---+---+-----------------------+
    /// | PCP |D|     ingress base      |res|grp|         base          |
    /// +-----+-+-------+---------------+---+---+-----------------------+
    /// | ingress ext   |   extension   |           EtherType           |
    /// +---------------+---------------+-------------------------------+
    /// ```
    ETag "E-TAG", 8 bytes {
        /// Priority code point.
        pcp with_pcp: 3 as u8,
        /// Drop eligible.
        dei with_dei: 1 as bool,
        /// Where the frame comes from.
        ingress with_ingress: 12 as u16,
        /// Reserved.
        reserved with_reserved: 2 as u8,
        /// Group.
        group with_group: 2 as u8,
        /// Where the frame goes to.
        base with_base: 12 as u16,
        /// More bits of `ingress`.
        ingress_extension with_ingress_extension: 8 as Hex8,
        /// More bits of `base`.
        extension with_extension: 8 as Hex8,
        /// What follows.
        ether_type with_ether_type: 16 as EtherType,
    }
}

header! {
    /// Cisco metadata, behind EtherType 0x8909: a security group tag (draft-smith-kandula-sxp, TrustSec).
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------+---------------+-------------------------------+
    /// |    version    |    length     |            option             |
    /// +---------------+---------------+-------------------------------+
    /// |      security group tag       |           EtherType           |
    /// +-------------------------------+-------------------------------+
    /// ```
    CiscoMetadata "Cisco metadata", 8 bytes {
        /// 1.
        version with_version: 8 as u8,
        /// Length of the options in words of four bytes: 1.
        length with_length: 8 as u8,
        /// What the option says: 1 is a security group tag.
        option with_option: 16 as Hex16,
        /// Security group tag.
        sgt with_sgt: 16 as u16,
        /// What follows.
        ether_type with_ether_type: 16 as EtherType,
    }
}

header! {
    /// Redundancy tag (IEEE 802.1CB, 7.8), behind EtherType 0xf1c1.
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |           reserved            |        sequence number        |
    /// +-------------------------------+-------------------------------+
    /// |           EtherType           |
    /// +-------------------------------+
    /// ```
    RTag "R-TAG", 6 bytes {
        /// Reserved.
        reserved with_reserved: 16 as Hex16,
        /// The number of the frame; a copy on another path has it too.
        sequence_number with_sequence_number: 16 as u16,
        /// What follows.
        ether_type with_ether_type: 16 as EtherType,
    }
}

header! {
    /// Arista's vendor specific protocol, behind EtherType 0xd28b: a mirror's time stamp follows.
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |            subtype            |            version            |
    /// +-------------------------------+-------------------------------+
    /// ```
    AristaTag "Arista tag", 4 bytes {
        /// 1: a time stamp.
        subtype with_subtype: 16 as u16,
        /// The form of the time stamp: 0x10 has 64 bits, 0x20 has 48; with 0x100 it is UTC, without TAI.
        version with_version: 16 as Hex16,
    }
}

header! {
    /// Arista's time stamp of 64 bits.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                            seconds                            |
    /// +---------------------------------------------------------------+
    /// |                          nanoseconds                          |
    /// +-------------------------------+-------------------------------+
    /// |           EtherType           |
    /// +-------------------------------+
    /// ```
    AristaTime64 "Arista time", 10 bytes {
        /// Seconds since 1970.
        seconds with_seconds: 32 as u32,
        /// Nanoseconds of the second.
        nanoseconds with_nanoseconds: 32 as u32,
        /// What follows.
        ether_type with_ether_type: 16 as EtherType,
    }
}

header! {
    /// Arista's time stamp of 48 bits.
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |            seconds            |          nanoseconds          |
    /// +-------------------------------+-------------------------------+
    /// |              …                |           EtherType           |
    /// +-------------------------------+-------------------------------+
    /// ```
    AristaTime48 "Arista time (48 bits)", 8 bytes {
        /// The lower 16 bits of the seconds since 1970.
        seconds with_seconds: 16 as u16,
        /// Nanoseconds of the second.
        nanoseconds with_nanoseconds: 32 as u32,
        /// What follows.
        ether_type with_ether_type: 16 as EtherType,
    }
}

header! {
    /// The second half of a tag of Marvell (DSA) or Broadcom switches, in captures with its link type. The first half is where the
    /// EtherType would be.
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |        rest of the tag        |           EtherType           |
    /// +-------------------------------+-------------------------------+
    /// ```
    SwitchTag "switch tag", 4 bytes {
        /// Port, priority and VLAN, as the switch has them.
        tag with_tag: 16 as Hex16,
        /// What follows.
        ether_type with_ether_type: 16 as EtherType,
    }
}

header! {
    /// A tag of Marvell switches (EDSA), behind EtherType 0xdada.
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |           reserved            |              tag              |
    /// +-------------------------------+-------------------------------+
    /// |              …                |           EtherType           |
    /// +-------------------------------+-------------------------------+
    /// ```
    EdsaTag "EDSA tag", 8 bytes {
        /// Reserved.
        reserved with_reserved: 16 as Hex16,
        /// Port, priority and VLAN, as the switch has them.
        tag with_tag: 32 as Hex32,
        /// What follows.
        ether_type with_ether_type: 16 as EtherType,
    }
}

header! {
    /// A tag of Broadcom switches before an Ethernet frame, in captures with its link type.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                              tag                              |
    /// +---------------------------------------------------------------+
    /// ```
    BroadcomTag "Broadcom tag", 4 bytes {
        /// Operation, class and port, as the switch has them.
        tag with_tag: 32 as Hex32,
    }
}

header! {
    /// Logical link control (IEEE 802.2), where the EtherType is a length.
    ///
    /// ```text
    /// +---------------+---------------+---------------+
    /// |     DSAP      |     SSAP      |    control    |
    /// +---------------+---------------+---------------+
    /// ```
    Llc "LLC", 3 bytes {
        /// Destination service access point: 0xaa is SNAP.
        dsap with_dsap: 8 as Hex8,
        /// Source service access point.
        ssap with_ssap: 8 as Hex8,
        /// 3: unnumbered information.
        control with_control: 8 as Hex8,
    }
}

header! {
    /// SNAP (IEEE 802), behind LLC.
    ///
    /// ```text
    /// +-----------------------------------------------+
    /// |                 organization                  |
    /// +-------------------------------+---------------+
    /// |           EtherType           |
    /// +-------------------------------+
    /// ```
    Snap "SNAP", 5 bytes {
        /// Whose number follows: 0 is an EtherType.
        organization with_organization: 24 as Hex32,
        /// What follows.
        ether_type with_ether_type: 16 as EtherType,
    }
}

number! {
    /// The address family of BSD's loopback header, in the byte order of the host that captured it.
    LoopbackFamily(u32) as Show::Named(|v| match LoopbackFamily(v as u32).family() {
        2 => Some("IPv4"), 10 | 24 | 28 | 30 => Some("IPv6"), _ => None,
    })
}

impl LoopbackFamily {
    /// The number, whatever the byte order was.
    pub const fn family(self) -> u32 {
        if self.0 > 0xffff { self.0.swap_bytes() } else { self.0 }
    }
}

header! {
    /// BSD's loopback header (LINKTYPE_NULL 0, LINKTYPE_LOOP 108).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                        address family                         |
    /// +---------------------------------------------------------------+
    /// ```
    Loopback "loopback", 4 bytes {
        /// What follows: 2 is IPv4; 24, 28 and 30 are IPv6.
        family with_family: 32 as LoopbackFamily,
    }
}

number! {
    /// What PPP carries.
    PppProtocol(u16) as Show::Named(|v| match v {
        0x21 => Some("IPv4"), 0x57 => Some("IPv6"), 0x281 => Some("MPLS"), 0xc021 => Some("LCP"), 0x8021 => Some("IPCP"),
        0x8057 => Some("IPv6CP"), _ => None,
    })
}

impl PppProtocol {
    /// IPv4.
    pub const IPV4: PppProtocol = PppProtocol(0x0021);
    /// IPv6.
    pub const IPV6: PppProtocol = PppProtocol(0x0057);
    /// MPLS.
    pub const MPLS: PppProtocol = PppProtocol(0x0281);
}

header! {
    /// PPP's framing as in HDLC, where it is captured.
    ///
    /// ```text
    /// +---------------+---------------+
    /// |    address    |    control    |
    /// +---------------+---------------+
    /// ```
    PppAddress "PPP address", 2 bytes {
        /// 0xff: all stations.
        address with_address: 8 as Hex8,
        /// 3: unnumbered information.
        control with_control: 8 as Hex8,
    }
}

header! {
    /// PPP (RFC 1661; LINKTYPE_PPP 9, LINKTYPE_PPP_HDLC 50).
    ///
    /// ```text
    /// +-------------------------------+
    /// |           protocol            |
    /// +-------------------------------+
    /// ```
    Ppp "PPP", 2 bytes {
        /// What follows.
        protocol with_protocol: 16 as PppProtocol,
    }
}

number! {
    /// A number whose bytes are in little-endian order.
    Little32(u32) as Show::Decoded(|v, f| core::fmt::Display::fmt(&Little32(v as u32).value(), f))
}

impl Little32 {
    /// The number.
    pub const fn value(self) -> u32 {
        self.0.swap_bytes()
    }
}

header! {
    /// The beginning of Apple's header of captures on several interfaces (LINKTYPE_PKTAP 258). All is little-endian.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                     length of the header                      |
    /// +---------------------------------------------------------------+
    /// |                      type of the record                       |
    /// +---------------------------------------------------------------+
    /// |                     link type of the frame                    |
    /// +---------------------------------------------------------------+
    /// ```
    Pktap "PKTAP", 12 bytes {
        /// Bytes of the whole header.
        length with_length: 32 as Little32,
        /// 1: a frame follows.
        record_type with_record_type: 32 as Little32,
        /// The frame's link type.
        link_type with_link_type: 32 as Little32,
    }
}

header! {
    /// Header of Linux's netfilter log (LINKTYPE_NFLOG 239). Values with a type follow.
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |    family     |    version    |           resource            |
    /// +---------------+---------------+-------------------------------+
    /// ```
    Nflog "NFLOG", 4 bytes {
        /// Address family: 2 is IPv4, 10 is IPv6.
        family with_family: 8 as u8,
        /// 0.
        version with_version: 8 as u8,
        /// The group of the rule.
        resource with_resource: 16 as u16,
    }
}

header! {
    /// Header of a value in Linux's netfilter log, in the byte order of the host. The value is padded to four bytes.
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |            length             |             type              |
    /// +-------------------------------+-------------------------------+
    /// ```
    NflogValue "NFLOG value", 4 bytes {
        /// Bytes of this header and the value.
        length with_length: 16 as Hex16,
        /// What the value is: 9 is the packet.
        value_type with_value_type: 16 as Hex16,
    }
}

/// The first half of the place of a GRH, which drivers leave empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HalfGrh(pub [u8; 20]);

bits!(HalfGrh as Show::Bytes => Opaque, [u8; 20]: HalfGrh, |half: HalfGrh| half.0;);

header! {
    /// What is before an IP packet over InfiniBand (RFC 4391, 6), with the place of a GRH before it (LINKTYPE_IPOIB 242).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                      not used (20 bytes)                      |
    /// +---------------+-----------------------------------------------+
    /// |     flags     |            destination queue pair             |
    /// +---------------+-----------------------------------------------+
    /// |                   destination GID (128 bits)                  |
    /// +-------------------------------+-------------------------------+
    /// |           EtherType           |           reserved            |
    /// +-------------------------------+-------------------------------+
    /// ```
    Ipoib "IPoIB", 44 bytes {
        /// Not used.
        unused with_unused: 160 as HalfGrh,
        /// Flags.
        flags with_flags: 8 as Hex8,
        /// The queue pair that it goes to.
        dest_qp with_dest_qp: 24 as super::Qpn,
        /// The port that it goes to.
        dgid with_dgid: 128 as core::net::Ipv6Addr,
        /// What follows.
        ether_type with_ether_type: 16 as EtherType,
        /// Reserved.
        reserved with_reserved: 16 as Hex16,
    }
}
