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
    /// LLDP.
    Lldp "lldp" "LLDP";
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

const _: () = assert!(Kind::ALL.len() <= 64, "sets of kinds are words of 64 bits");

impl Kind {
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
