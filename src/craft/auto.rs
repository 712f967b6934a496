//! What is computed when a packet is built, unless it is kept as put.

use std::fmt;

use crate::wire::Kind;

macro_rules! autos {
    ($($(#[doc = $doc:literal])* $name:ident $text:literal;)*) => {
        /// A value that [`super::Packet::build`] computes unless it is kept. This is all of them: whatever is not
        /// here stays as it was put.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Auto { $($(#[doc = $doc])* $name),* }

        impl Auto {
            /// All of them.
            pub const ALL: &'static [Auto] = &[$(Auto::$name),*];

            /// Its name on the command line.
            pub const fn name(self) -> &'static str {
                match self { $(Auto::$name => $text),* }
            }

            /// What is computed, and from what.
            pub const fn doc(self) -> &'static str {
                match self { $(Auto::$name => concat!($($doc, "\n",)* "")),* }
            }
        }
    };
}

autos! {
    /// The EtherType before what follows: Ethernet, VLAN, Linux cooked, RWH, GENEVE. A VLAN tag's or an MPLS
    /// label's stays where it is one of those that announce it. Before a payload it stays.
    EtherType "ether_type";
    /// 4 and 6 in IPv4, IPv6 and GRH.
    IpVersion "ip_version";
    /// IPv4's protocol, IPv6's next header, that of the last IPv6 extension.
    IpProtocol "ip_protocol";
    /// IPv4's header length, from the options.
    Ipv4HeaderLength "ihl";
    /// IPv4's total length, IPv6's payload length.
    IpLength "ip_length";
    /// IPv4's header checksum.
    IpChecksum "ip_checksum";
    /// UDP's source port before a BTH, by Linux's formula, where the sender's queue pair is known
    /// ([`super::Packet::source_qp`], or the DETH's).
    UdpSourcePort "udp_source_port";
    /// UDP's destination port before BTH (4791), VXLAN (4789), GENEVE (6081).
    UdpDestinationPort "udp_destination_port";
    /// UDP's length.
    UdpLength "udp_length";
    /// UDP's checksum. Kept from the start, that is zero: RoCE adapters do not compute it.
    UdpChecksum "udp_checksum";
    /// The bottom-of-stack bit of the last MPLS label.
    MplsBottom "mpls_bottom";
    /// GRE's C, K and S bits, from what follows.
    GreFlags "gre_flags";
    /// GRE's protocol type. Before an Ethernet frame, ERSPAN's and Everflow's stay, others become 0x6558.
    GreProtocol "gre_protocol";
    /// GRE's checksum, if it has one.
    GreChecksum "gre_checksum";
    /// ERSPAN's version, and type III's O bit.
    Erspan "erspan";
    /// GENEVE's option length.
    GeneveLength "geneve_length";
    /// The MAC control opcode before PAUSE and PFC.
    MacControl "mac_control";
    /// LRH's link next header.
    Lnh "lnh";
    /// LRH's packet length.
    LrhLength "lrh_length";
    /// GRH's next header.
    GrhNextHeader "grh_next_header";
    /// GRH's payload length.
    GrhLength "grh_length";
    /// BTH's pad count, and as many bytes of zero after the payload.
    Pad "pad";
    /// The invariant CRC, over the bytes as laid out: lengths that lie do not matter.
    Icrc "icrc";
    /// The variant CRC of native InfiniBand.
    Vcrc "vcrc";
    /// The CRC of a link packet.
    Lpcrc "lpcrc";
    /// Zeros up to Ethernet's shortest frame: 60 bytes without its check sequence.
    FramePadding "frame_padding";
    /// Ethernet's frame check sequence. Kept from the start, that is absent, as in nearly all captures.
    Fcs "fcs";
    /// ERF's record type and extension bits.
    ErfType "erf_type";
    /// ERF's record and wire length.
    ErfLength "erf_length";
}

impl Auto {
    /// What computes this field, if anything does.
    pub fn of(kind: Kind, field: &str) -> Option<Auto> {
        Some(match (kind, field) {
            (Kind::Ethernet | Kind::Vlan | Kind::Sll | Kind::Sll2 | Kind::Rwh, "ether_type") => {
                Auto::EtherType
            }
            (Kind::Geneve, "protocol") => Auto::EtherType,
            (Kind::Geneve, "opt_len") => Auto::GeneveLength,
            (Kind::Ipv4 | Kind::Ipv6, "version") | (Kind::Grh, "ip_ver") => Auto::IpVersion,
            (Kind::Ipv4, "protocol") | (Kind::Ipv6, "next_header") => Auto::IpProtocol,
            (Kind::Ipv4, "ihl") => Auto::Ipv4HeaderLength,
            (Kind::Ipv4, "total_len") | (Kind::Ipv6, "payload_len") => Auto::IpLength,
            (Kind::Ipv4, "checksum") => Auto::IpChecksum,
            (Kind::Udp, "src_port") => Auto::UdpSourcePort,
            (Kind::Udp, "dst_port") => Auto::UdpDestinationPort,
            (Kind::Udp, "length") => Auto::UdpLength,
            (Kind::Udp, "checksum") => Auto::UdpChecksum,
            (Kind::Mpls, "bottom") => Auto::MplsBottom,
            (Kind::Gre, "has_checksum" | "has_key" | "has_sequence") => Auto::GreFlags,
            (Kind::Gre, "protocol") => Auto::GreProtocol,
            (Kind::GreChecksum, "checksum") => Auto::GreChecksum,
            (Kind::Erspan2, "version") | (Kind::Erspan3, "version" | "optional") => Auto::Erspan,
            (Kind::MacControl, "opcode") => Auto::MacControl,
            (Kind::Lrh, "lnh") => Auto::Lnh,
            (Kind::Lrh, "pkt_len") => Auto::LrhLength,
            (Kind::Grh, "nxt_hdr") => Auto::GrhNextHeader,
            (Kind::Grh, "pay_len") => Auto::GrhLength,
            (Kind::Bth, "pad_cnt") => Auto::Pad,
            (Kind::LinkPacket, "lpcrc") => Auto::Lpcrc,
            (Kind::Erf, "extension" | "record_type") | (Kind::ErfExtension, "extension") => Auto::ErfType,
            (Kind::Erf, "record_len" | "wire_len") => Auto::ErfLength,
            _ => return None,
        })
    }

    /// Whether a header of this kind has it.
    pub fn is_in(self, kind: Kind) -> bool {
        let fields = kind.info().map_or(&[][..], |info| info.fields);
        fields.iter().any(|field| Auto::of(kind, field.name) == Some(self))
            || kind == Kind::Ipv6Extension && self == Auto::IpProtocol
    }

    /// Whether it is computed from everything that it covers.
    pub(super) fn is_sum(self) -> bool {
        matches!(self, Auto::IpChecksum | Auto::UdpChecksum | Auto::GreChecksum | Auto::Lpcrc)
    }

    /// The value of this name.
    pub fn from_name(name: &str) -> Option<Auto> {
        Self::ALL.iter().copied().find(|auto| auto.name() == name)
    }
}

impl fmt::Display for Auto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A set of [`Auto`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Autos(u32);

const _: () = assert!(Auto::ALL.len() <= 32, "a set is a word of 32 bits");

impl Autos {
    /// None of them.
    pub const NONE: Autos = Autos(0);
    /// All of them.
    pub const ALL: Autos = Autos(u32::MAX >> (32 - Auto::ALL.len()));
    /// What is kept from the start.
    pub(super) const DEFAULT: Autos = Autos(1 << Auto::UdpChecksum as u8 | 1 << Auto::Fcs as u8);

    /// Whether it is in the set.
    #[inline]
    pub const fn has(self, auto: Auto) -> bool {
        self.0 >> auto as u8 & 1 == 1
    }

    /// Put it in, or take it out.
    #[inline]
    pub fn set(&mut self, auto: Auto, on: bool) {
        self.0 = self.0 & !(1 << auto as u8) | (on as u32) << auto as u8;
    }
}
