//! The fields that are computed when a packet is built.

use std::fmt;

use crate::{named, wire::Kind};

named! {
    /// A field that [`super::Packet::build`] computes, unless it is [kept](super::Packet::keep). No other field is
    /// computed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[repr(u8)]
    pub enum ComputedField {
        /// The EtherType of Ethernet, tags, Linux cooked, SNAP, IPoIB, RWH and GENEVE, the next protocol of VXLAN-GPE and NSH, the
        /// protocol of PPP, from the header that follows. One that announces a VLAN tag or an MPLS label stays if the next header is one; before a payload it stays too.
        EtherType "ether_type",
        /// The version of IPv4, IPv6 and GRH.
        IpVersion "ip_version",
        /// The protocol of IPv4, GUE and IFA, the next header of IPv6 and of the last IPv6 extension header.
        IpProtocol "ip_protocol",
        /// IPv4's header length, from the options.
        Ipv4HeaderLength "ihl",
        /// IPv4's total length, IPv6's payload length.
        IpLength "ip_length",
        /// IPv4's header checksum.
        IpChecksum "ip_checksum",
        /// UDP's source port before a BTH, by Linux's formula. The sender's queue pair must be known, from
        /// [`super::Packet::source_qp`] or from the DETH.
        UdpSourcePort "udp_source_port",
        /// UDP's destination port before BTH (4791), VXLAN (4789), GENEVE (6081).
        UdpDestinationPort "udp_destination_port",
        /// UDP's length.
        UdpLength "udp_length",
        /// UDP's checksum. It is kept by default, so it is zero: RoCE adapters do not compute it.
        UdpChecksum "udp_checksum",
        /// The bottom-of-stack bit of the last MPLS label.
        MplsBottom "mpls_bottom",
        /// GRE's C, K and S bits, from what follows.
        GreFlags "gre_flags",
        /// GRE's protocol type. Before an Ethernet frame it becomes 0x6558, unless it is that of ERSPAN or Everflow.
        GreProtocol "gre_protocol",
        /// GRE's checksum, if it has one.
        GreChecksum "gre_checksum",
        /// ERSPAN's version, and type III's O bit.
        Erspan "erspan",
        /// GENEVE's option length.
        GeneveLength "geneve_length",
        /// The MAC control opcode before PAUSE and PFC.
        MacControl "mac_control",
        /// LRH's link next header.
        Lnh "lnh",
        /// LRH's packet length.
        LrhLength "lrh_length",
        /// GRH's next header.
        GrhNextHeader "grh_next_header",
        /// GRH's payload length.
        GrhLength "grh_length",
        /// The BTH's pad count, and that many zero bytes after the payload.
        Pad "pad",
        /// The invariant CRC of the packet as it is built, even if its length fields are wrong; of Ultra Ethernet, its CRC32C.
        Icrc "icrc",
        /// The variant CRC of native InfiniBand.
        Vcrc "vcrc",
        /// The CRC of a link packet.
        Lpcrc "lpcrc",
        /// Zeros up to the shortest Ethernet frame: 60 bytes without its check sequence.
        FramePadding "frame_padding",
        /// Ethernet's frame check sequence. It is kept by default, so it is absent, as in nearly all captures.
        Fcs "fcs",
        /// ERF's record type and extension bits.
        ErfType "erf_type",
        /// ERF's record and wire length.
        ErfLength "erf_length",
        /// Of Ultra Ethernet: the type of a packet, its flags syn, epsn and sp, and the type of its state of congestion, from the headers.
        UetType "uet_type",
        /// Of Ultra Ethernet: which header of the semantic sublayer follows.
        UetNextHeader "uet_next_header",
        /// How many words of metadata IFA and INT have.
        TelemetryLength "telemetry_length",
    }
}

impl ComputedField {
    /// The checksums over a part of the packet.
    pub(super) const SUMS: [ComputedField; 4] = [
        ComputedField::IpChecksum,
        ComputedField::UdpChecksum,
        ComputedField::GreChecksum,
        ComputedField::Lpcrc,
    ];

    /// The headers that have this field.
    pub fn of(kind: Kind, field: &str) -> Option<ComputedField> {
        Some(match (kind, field) {
            (Kind::Ethernet | Kind::Vlan | Kind::Sll | Kind::Sll2 | Kind::Rwh, "ether_type") => {
                ComputedField::EtherType
            }
            (kind, "ether_type") if kind.is_rare() => ComputedField::EtherType,
            (Kind::Geneve | Kind::Ppp, "protocol") => ComputedField::EtherType,
            (Kind::VxlanGpe | Kind::Nsh, "next_protocol") => ComputedField::EtherType,
            (Kind::Gue | Kind::Ifa, "protocol") => ComputedField::IpProtocol,
            (Kind::Geneve, "opt_len") => ComputedField::GeneveLength,
            (Kind::Ipv4 | Kind::Ipv6, "version") | (Kind::Grh, "ip_ver") => ComputedField::IpVersion,
            (Kind::Ipv4, "protocol") | (Kind::Ipv6, "next_header") => ComputedField::IpProtocol,
            (Kind::Ipv4, "ihl") => ComputedField::Ipv4HeaderLength,
            (Kind::Ipv4, "total_len") | (Kind::Ipv6, "payload_len") => ComputedField::IpLength,
            (Kind::Ipv4, "checksum") => ComputedField::IpChecksum,
            (Kind::Udp, "src_port") => ComputedField::UdpSourcePort,
            (Kind::Udp, "dst_port") => ComputedField::UdpDestinationPort,
            (Kind::Udp, "length") => ComputedField::UdpLength,
            (Kind::Udp, "checksum") => ComputedField::UdpChecksum,
            (Kind::Mpls, "bottom") => ComputedField::MplsBottom,
            (Kind::Gre, "has_checksum" | "has_key" | "has_sequence") => ComputedField::GreFlags,
            (Kind::Gre, "protocol") => ComputedField::GreProtocol,
            (Kind::GreChecksum, "checksum") => ComputedField::GreChecksum,
            (Kind::Erspan2, "version") | (Kind::Erspan3, "version" | "optional") => ComputedField::Erspan,
            (Kind::MacControl, "opcode") => ComputedField::MacControl,
            (Kind::Lrh, "lnh") => ComputedField::Lnh,
            (Kind::Lrh, "pkt_len") => ComputedField::LrhLength,
            (Kind::Grh, "nxt_hdr") => ComputedField::GrhNextHeader,
            (Kind::Grh, "pay_len") => ComputedField::GrhLength,
            (kind, "pad_cnt") if kind.is_bth() => ComputedField::Pad,
            (Kind::LinkPacket, "lpcrc") => ComputedField::Lpcrc,
            (Kind::Erf, "extension" | "record_type") | (Kind::ErfExtension, "extension") => {
                ComputedField::ErfType
            }
            (Kind::Erf, "record_len" | "wire_len") => ComputedField::ErfLength,
            (kind, "kind" | "syn" | "epsn" | "sp" | "cc_type") if kind.is_uet() => ComputedField::UetType,
            (kind, "next_header") if kind.is_uet() => ComputedField::UetNextHeader,
            (Kind::IfaMetadata | Kind::IntShim, "length") => ComputedField::TelemetryLength,
            _ => return None,
        })
    }

    /// Whether a header of this kind has it.
    pub fn is_in(self, kind: Kind) -> bool {
        kind.fields().iter().any(|field| ComputedField::of(kind, field.name) == Some(self))
            || kind == Kind::Ipv6Extension && self == ComputedField::IpProtocol
    }

    /// Whether it comes after the headers.
    pub(super) fn is_behind_headers(self) -> bool {
        use ComputedField::{Fcs, FramePadding, Icrc, Vcrc};
        matches!(self, Icrc | Vcrc | Fcs | FramePadding)
    }

    /// Whether it is a checksum over a part of the packet.
    pub(super) fn is_sum(self) -> bool {
        ComputedField::SUMS.contains(&self)
    }

    /// The value of this name.
    pub fn from_name(name: &str) -> Option<ComputedField> {
        Self::ALL.iter().copied().find(|field| field.name() == name)
    }
}

impl fmt::Display for ComputedField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A set of computed fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ComputedFields(u32);

const _: () = assert!(ComputedField::ALL.len() <= 32, "a set is a word of 32 bits");

impl ComputedFields {
    /// The fields that are kept by default.
    pub(super) const DEFAULT: ComputedFields =
        ComputedFields(1 << ComputedField::UdpChecksum as u8 | 1 << ComputedField::Fcs as u8);

    /// Whether it is in the set.
    #[inline]
    pub const fn has(self, field: ComputedField) -> bool {
        self.0 >> field as u8 & 1 == 1
    }

    /// Adds or removes it.
    #[inline]
    pub fn set(&mut self, field: ComputedField, on: bool) {
        self.0 = self.0 & !(1 << field as u8) | (on as u32) << field as u8;
    }
}
