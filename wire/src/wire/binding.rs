//! Which header follows which: the value of a field before it announces it. Dissection reads the tables forwards, crafting backwards.

use super::{ErfType, EtherType, IpProtocol, Kind, Lnh, MacControlOpcode};

/// The UDP port of RoCEv2 (IANA).
pub const ROCE_PORT: u16 = 4791;
/// The UDP port of VXLAN (IANA).
pub const VXLAN_PORT: u16 = 4789;
/// The UDP port of GENEVE (IANA).
pub const GENEVE_PORT: u16 = 6081;

macro_rules! bindings {
    ($($(#[$doc:meta])* $table:ident($type:ty) { $($value:path => $first:ident $(| $other:ident)*;)* })*) => { $(
        $(#[$doc])*
        pub struct $table;

        impl $table {
            /// The header that this value announces.
            #[inline(always)]
            pub const fn next(value: $type) -> Option<Kind> {
                match value {
                    $($value => Some(Kind::$first),)*
                    _ => None,
                }
            }

            /// The value before this header: the one that is there, if it fits; else the first of the table that does.
            #[allow(unreachable_patterns, reason = "several values may announce one header")]
            pub fn before(next: Kind, there: $type) -> $type {
                match (there, next) {
                    $(($value, Kind::$first $(| Kind::$other)*) => there,)*
                    $((_, Kind::$first $(| Kind::$other)*) => $value,)*
                    _ => there,
                }
            }
        }
    )* };
}

bindings! {
    /// Of Ethernet, VLAN tags, Linux cooked headers and raw headers.
    EtherTypes(EtherType) {
        EtherType::IPV4 => Ipv4;
        EtherType::IPV6 => Ipv6;
        EtherType::ROCE => Grh;
        EtherType::VLAN => Vlan;
        EtherType::SERVICE_VLAN => Vlan;
        EtherType::QINQ => Vlan;
        EtherType::MPLS => Mpls;
        EtherType::MPLS_UPSTREAM => Mpls;
        EtherType::MAC_CONTROL => MacControl;
        EtherType::LLDP => Lldp;
    }

    /// Of GRE and GENEVE, beside EtherTypes. What is behind ERSPAN's first type, GRE's sequence number and the frame itself tell.
    TunnelTypes(EtherType) {
        EtherType::ETHERNET => Ethernet;
        EtherType::EVERFLOW => Everflow | Ethernet;
        EtherType::ERSPAN => Erspan2 | Everflow | Ethernet;
        EtherType::ERSPAN3 => Erspan3;
    }

    /// Of IPv4, and of IPv6 and its extensions.
    IpProtocols(IpProtocol) {
        IpProtocol::UDP => Udp;
        IpProtocol::IPV4 => Ipv4;
        IpProtocol::IPV6 => Ipv6;
        IpProtocol::GRE => Gre;
        IpProtocol::MPLS => Mpls;
    }

    /// Of a GRH.
    GrhHeaders(IpProtocol) {
        IpProtocol::IBA => Bth;
    }

    /// Of an LRH.
    LrhHeaders(Lnh) {
        Lnh::LOCAL => Bth;
        Lnh::GLOBAL => Grh;
        Lnh::IPV6 => Ipv6;
        Lnh::RAW => Rwh;
    }

    /// Destination ports of UDP. Those of RoCE can be others: the dissector's options say which transport is behind a port.
    UdpPorts(u16) {
        ROCE_PORT => Bth;
        VXLAN_PORT => Vxlan;
        GENEVE_PORT => Geneve;
    }

    /// Types of ERF records.
    ErfTypes(ErfType) {
        ErfType::ETHERNET => ErfEthernet;
        ErfType::INFINIBAND => Lrh;
        ErfType::INFINIBAND_LINK => LinkPacket;
        ErfType::IPV4 => Ipv4;
        ErfType::IPV6 => Ipv6;
    }

    /// Operation codes of MAC control.
    MacControlOpcodes(MacControlOpcode) {
        MacControlOpcode::PAUSE => Pause;
        MacControlOpcode::PFC => Pfc;
    }
}
