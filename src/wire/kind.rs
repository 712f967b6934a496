//! Which header: one list, in wire order.

use super::{Header, HeaderInfo};

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $name:ident $layer:literal $($has:ident)?;)*) => {
        /// Which header, or which part of a frame that is none. The order is wire order.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Kind { $($(#[doc = $doc])* $name),* }

        impl Kind {
            /// All of them, in wire order.
            pub const ALL: &'static [Kind] = &[$(Kind::$name),*];

            /// The layer it is, or is a part of: the name in JSON, in filters and for `explain`.
            pub const fn layer(self) -> &'static str {
                match self { $(Kind::$name => $layer),* }
            }

            /// Its table of fields; `None` for what is only bytes.
            pub const fn info(self) -> Option<&'static HeaderInfo> {
                match self { $(Kind::$name => kinds!(@info $name $($has)?)),* }
            }
        }
    };
    (@info $name:ident header) => { Some(<super::$name as Header>::INFO) };
    (@info $name:ident) => { None };
}

kinds! {
    /// ERF record header.
    Erf "erf" header;
    /// ERF extension header.
    ErfExtension "erf" header;
    /// What ERF puts before an Ethernet frame.
    ErfEthernet "erf" header;
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
    /// Its options.
    Ipv4Options "ipv4";
    /// IPv6 header.
    Ipv6 "ipv6" header;
    /// An extension header of it.
    Ipv6Extension "ipv6";
    /// UDP header.
    Udp "udp" header;
    /// GRE header.
    Gre "gre" header;
    /// Its checksum.
    GreChecksum "gre" header;
    /// Its key.
    GreKey "gre" header;
    /// Its sequence number.
    GreSequence "gre" header;
    /// ERSPAN type II header.
    Erspan2 "erspan" header;
    /// ERSPAN type III header.
    Erspan3 "erspan" header;
    /// Its platform sub-header.
    ErspanPlatform "erspan" header;
    /// What a SONiC Everflow mirror puts before the frame: opaque.
    Everflow "everflow";
    /// VXLAN header.
    Vxlan "vxlan" header;
    /// GENEVE header.
    Geneve "geneve" header;
    /// Its options.
    GeneveOptions "geneve";
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
    Pause "mac_control" header;
    /// Priority flow control.
    Pfc "mac_control" header;
    /// LLDP.
    Lldp "lldp";
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
    IpCm "cm" header;
    /// A CM message's private data.
    CmPrivate "cm";
    /// What the transport carries, or what nobody here can read.
    Payload "payload";
    /// Padding between payload and ICRC.
    Pad "pad";
    /// Invariant CRC.
    Icrc "icrc";
    /// Variant CRC.
    Vcrc "vcrc";
    /// What follows the packet within its frame: Ethernet padding, a frame check sequence.
    Trailer "trailer";
}

const _: () = assert!(Kind::ALL.len() <= 64, "sets of kinds are words of 64 bits");

impl Kind {
    /// Whether it continues the header before it rather than being a layer of its own.
    pub const fn is_part(self) -> bool {
        matches!(
            self,
            Kind::ErfExtension
                | Kind::ErfEthernet
                | Kind::Ipv4Options
                | Kind::Ipv6Extension
                | Kind::GreChecksum
                | Kind::GreKey
                | Kind::GreSequence
                | Kind::ErspanPlatform
                | Kind::GeneveOptions
                | Kind::Pause
                | Kind::Pfc
                | Kind::IpCm
                | Kind::CmPrivate
        )
    }

    /// Its name as people write it.
    pub const fn label(self) -> &'static str {
        match self.info() {
            Some(info) => info.label,
            None => match self {
                Kind::Ipv4Options => "IPv4 options",
                Kind::Ipv6Extension => "IPv6 extension",
                Kind::Everflow => "Everflow",
                Kind::GeneveOptions => "GENEVE options",
                Kind::Lldp => "LLDP",
                Kind::CmPrivate => "CM private data",
                Kind::Payload => "payload",
                Kind::Pad => "padding",
                Kind::Icrc => "ICRC",
                Kind::Vcrc => "VCRC",
                _ => "trailer",
            },
        }
    }

    /// The kind's bit in a set of kinds.
    #[inline(always)]
    pub(crate) const fn bit(self) -> u64 {
        1 << self as u8
    }

    /// Whether it is a part of a management datagram.
    #[inline(always)]
    pub const fn is_management(self) -> bool {
        self as u8 >= Kind::Mad as u8 && self as u8 <= Kind::CmPrivate as u8
    }
}
