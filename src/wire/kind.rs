//! The kinds of headers: one list, in wire order. A row has the layer, then `header` or a name in text, then `part` where it is one.

use super::{Field, Header, HeaderInfo};

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $name:ident $layer:literal $what:tt $($part:ident)?;)*) => {
        /// A header, or another part of a frame. The order is wire order.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Kind { $($(#[doc = $doc])* $name),* }

        impl Kind {
            /// All of them, in wire order.
            pub const ALL: &'static [Kind] = &[$(Kind::$name),*];

            /// The layer that it is or belongs to: the name in JSON, in filters and for `explain`.
            pub const fn layer(self) -> &'static str {
                match self { $(Kind::$name => $layer),* }
            }

            /// Its table of fields; `None` for a part without fields.
            pub const fn info(self) -> Option<&'static HeaderInfo> {
                match self { $(Kind::$name => kinds!(@info $name $what)),* }
            }

            /// Its name in text.
            pub const fn label(self) -> &'static str {
                match self { $(Kind::$name => kinds!(@label $name $what)),* }
            }

            /// Whether it continues the header before it rather than being a layer of its own.
            pub const fn is_part(self) -> bool {
                match self { $(Kind::$name => kinds!(@is_part $($part)?)),* }
            }

            /// Its fields; a part without a table has none.
            pub fn fields(self) -> &'static [Field] {
                self.info().map_or(&[], |info| info.fields)
            }
        }
    };
    (@info $name:ident header) => { Some(<super::$name as Header>::INFO) };
    (@info $name:ident $label:literal) => { None };
    (@label $name:ident header) => { <super::$name as Header>::NAME };
    (@label $name:ident $label:literal) => { $label };
    (@is_part part) => { true };
    (@is_part) => { false };
}

kinds! {
    /// ERF record header.
    Erf "erf" header;
    /// ERF extension header.
    ErfExtension "erf" header part;
    /// ERF's two bytes before an Ethernet frame.
    ErfEthernet "erf" header part;
    /// Linux cooked header.
    Sll "sll" header;
    /// Linux cooked header, version 2.
    Sll2 "sll2" header;
    /// Ethernet header.
    Ethernet "ethernet" header;
    /// VLAN tag.
    Vlan "vlan" header;
    /// MPLS label stack entry.
    Mpls "mpls" header;
    /// Pseudowire control word.
    ControlWord "control_word" header;
    /// IPv4 header.
    Ipv4 "ipv4" header;
    /// IPv4 options.
    Ipv4Options "ipv4" "IPv4 options" part;
    /// IPv6 header.
    Ipv6 "ipv6" header;
    /// IPv6 extension header.
    Ipv6Extension "ipv6" "IPv6 extension" part;
    /// UDP header.
    Udp "udp" header;
    /// GRE header.
    Gre "gre" header;
    /// GRE checksum.
    GreChecksum "gre" header part;
    /// GRE key.
    GreKey "gre" header part;
    /// GRE sequence number.
    GreSequence "gre" header part;
    /// ERSPAN type II header.
    Erspan2 "erspan" header;
    /// ERSPAN type III header.
    Erspan3 "erspan" header;
    /// ERSPAN type III platform sub-header.
    ErspanPlatform "erspan" header part;
    /// Bytes that a SONiC Everflow mirror puts before the frame, not decoded.
    Everflow "everflow" "Everflow";
    /// VXLAN header.
    Vxlan "vxlan" header;
    /// GENEVE header.
    Geneve "geneve" header;
    /// GENEVE options.
    GeneveOptions "geneve" "GENEVE options" part;
    /// InfiniBand link packet.
    LinkPacket "link_packet" header;
    /// Local route header.
    Lrh "lrh" header;
    /// Raw header.
    Rwh "rwh" header;
    /// Global route header.
    Grh "grh" header;
    /// Base transport header.
    Bth "bth" header;
    /// Reliable datagram extended header.
    Rdeth "rdeth" header;
    /// Datagram extended header.
    Deth "deth" header;
    /// Extended reliable connection header.
    Xrceth "xrceth" header;
    /// FLUSH extended header.
    Feth "feth" header;
    /// RDMA extended header.
    Reth "reth" header;
    /// Atomic extended header.
    AtomicEth "atomiceth" header;
    /// ACK extended header.
    Aeth "aeth" header;
    /// Atomic ACK extended header.
    AtomicAckEth "atomicacketh" header;
    /// Immediate data.
    ImmDt "immdt" header;
    /// Invalidate extended header.
    Ieth "ieth" header;
    /// Body of a congestion notification.
    Cnp "cnp" header;
    /// MAC control header.
    MacControl "mac_control" header;
    /// PAUSE.
    Pause "mac_control" header part;
    /// Priority flow control.
    Pfc "mac_control" header part;
    /// Header of an LLDP TLV.
    Lldp "lldp" header;
    /// Beginning of a chassis ID.
    LldpChassis "lldp" header part;
    /// Beginning of a port ID.
    LldpPort "lldp" header part;
    /// Time to live of LLDP.
    LldpTtl "lldp" header part;
    /// Beginning of an organization's own value.
    LldpOrg "lldp" header part;
    /// Beginning of a value of IEEE 802.1.
    LldpIeee "lldp" header part;
    /// Port VLAN ID.
    PortVlan "lldp" header part;
    /// Congestion notification.
    CongestionNotification "lldp" header part;
    /// ETS configuration.
    EtsConfiguration "lldp" header part;
    /// ETS recommendation.
    EtsRecommendation "lldp" header part;
    /// Priority flow control configuration.
    PfcConfiguration "lldp" header part;
    /// Beginning of an application priority table.
    ApplicationTable "lldp" header part;
    /// Application priority.
    ApplicationPriority "lldp" header part;
    /// Beginning of a value of CEE's DCBX.
    LldpCee "lldp" header part;
    /// Header of a TLV in the DCBX of CEE.
    CeeTlv "lldp" header;
    /// DCBX control of CEE.
    CeeControl "lldp" header part;
    /// Beginning of a feature of CEE.
    CeeFeature "lldp" header part;
    /// Priority groups of CEE.
    CeePriorityGroups "lldp" header part;
    /// Priority flow control of CEE.
    CeePfc "lldp" header part;
    /// Application priority of CEE.
    CeeApplication "lldp" header part;
    /// A value in LLDP, or the rest of it.
    LldpValue "lldp" "value" part;
    /// Management datagram.
    Mad "mad" header;
    /// CM connection request.
    CmReq "cm" header;
    /// CM message receipt acknowledgement.
    CmMra "cm" header;
    /// CM rejection.
    CmRej "cm" header;
    /// CM reply.
    CmRep "cm" header;
    /// CM ready to use.
    CmRtu "cm" header;
    /// CM disconnect request.
    CmDreq "cm" header;
    /// CM disconnect reply.
    CmDrep "cm" header;
    /// RDMA-CM's header in the private data of a REQ.
    IpCm "cm" header part;
    /// A CM message's private data.
    CmPrivate "cm" "CM private data" part;
    /// What the transport carries; without a BTH, what follows the last header.
    Payload "payload" "payload";
    /// Padding between payload and ICRC.
    Pad "pad" "padding";
    /// Invariant CRC.
    Icrc "icrc" "ICRC";
    /// Variant CRC.
    Vcrc "vcrc" "VCRC";
    /// Bytes after the packet: Ethernet padding, a frame check sequence.
    Trailer "trailer" "trailer";
}

/// Kinds without a bit: parts of LLDP and of management datagrams. Only the list of layers has them.
const DETAILS: u8 = Kind::CmPrivate as u8 - Kind::LldpChassis as u8 + 1;
const _: () = assert!(Kind::ALL.len() - DETAILS as usize <= 64, "sets of kinds are words of 64 bits");

impl Kind {
    /// The kind's bit in a set of kinds; 0 for a [detail](Self::is_detail).
    #[inline(always)]
    pub(crate) const fn bit(self) -> u64 {
        let n = self as u8;
        if n < Kind::LldpChassis as u8 {
            1 << n
        } else if n > Kind::CmPrivate as u8 {
            1 << (n - DETAILS)
        } else {
            0
        }
    }

    /// Whether it is a part of a management datagram.
    #[inline(always)]
    pub const fn is_management(self) -> bool {
        self as u8 >= Kind::Mad as u8 && self as u8 <= Kind::CmPrivate as u8
    }

    /// Whether it is a part of LLDP behind the header of a TLV.
    #[inline(always)]
    pub const fn is_in_lldp(self) -> bool {
        self as u8 >= Kind::LldpChassis as u8 && self as u8 <= Kind::LldpValue as u8
    }

    /// Whether only the list of layers has it.
    #[inline(always)]
    pub(crate) const fn is_detail(self) -> bool {
        self as u8 >= Kind::LldpChassis as u8 && self as u8 <= Kind::CmPrivate as u8
    }
}
