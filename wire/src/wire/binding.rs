//! Which header follows which: the value of a field before it announces it. Dissection reads the tables forwards, crafting backwards.

use super::{
    CmAttribute, ErfType, EtherType, IpProtocol, Kind, Lnh, MRC_PORT, MacControlOpcode, NextProtocol,
    PppProtocol,
};

/// The UDP port of RoCEv2 (IANA).
pub const ROCE_PORT: u16 = 4791;
/// The UDP port of VXLAN (IANA).
pub const VXLAN_PORT: u16 = 4789;
/// The UDP port of VXLAN on Linux, unless another one is set.
const VXLAN_PORT_LINUX: u16 = 8472;
/// The UDP port of VXLAN-GPE (IANA).
const VXLAN_GPE_PORT: u16 = 4790;
/// The UDP port of GENEVE (IANA).
pub const GENEVE_PORT: u16 = 6081;
/// The UDP port of MPLS in UDP (RFC 7510).
const MPLS_PORT: u16 = 6635;
/// The UDP port of GUE (IANA).
const GUE_PORT: u16 = 6080;
/// The UDP port of GRE in UDP (RFC 8086).
const GRE_PORT: u16 = 4754;
/// The UDP port of TZSP.
const TZSP_PORT: u16 = 37008;
/// The UDP port of PSP (IANA).
const PSP_PORT: u16 = 1000;
/// The UDP port of ESP where addresses are translated (RFC 3948).
const ESP_PORT: u16 = 4500;

/// The UDP port of Ultra Ethernet's transport (IANA).
pub const UET_PORT: u16 = 4793;
/// The one that the consortium's reference provider has unless another one is set.
pub const UET_PORT_REFERENCE: u16 = 49150;

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
        EtherType::QINQ_9200 => Vlan;
        EtherType::QINQ_9300 => Vlan;
        EtherType::MPLS => Mpls;
        EtherType::MPLS_UPSTREAM => Mpls;
        EtherType::MAC_CONTROL => MacControl;
        EtherType::LLDP => Lldp;
        EtherType::VN_TAG => VnTag;
        EtherType::E_TAG => ETag;
        EtherType::CISCO_METADATA => CiscoMetadata;
        EtherType::R_TAG => RTag;
        EtherType::ARISTA => AristaTag;
        EtherType::EDSA => EdsaTag;
        EtherType::I_TAG => ITag;
        EtherType::TRILL => Trill;
        EtherType::NSH => Nsh;
        EtherType::CSIG => CsigTag;
        EtherType::MACSEC => MacSec;
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
        IpProtocol::ETHERNET => Ethernet;
        IpProtocol::ETHER_IP => EtherIp;
        IpProtocol::IFA => Ifa | UetEntropy;
        IpProtocol::ESP => Esp;
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
        ROCE_PORT => Bth | MrcBth;
        MRC_PORT => MrcBth;
        VXLAN_PORT => Vxlan;
        GENEVE_PORT => Geneve;
        VXLAN_PORT_LINUX => Vxlan;
        VXLAN_GPE_PORT => VxlanGpe;
        MPLS_PORT => Mpls;
        GUE_PORT => Gue;
        GRE_PORT => Gre;
        TZSP_PORT => Tzsp;
        PSP_PORT => Psp;
        ESP_PORT => Esp;
        UET_PORT => PdsRequest | PdsRequestSyn | PdsAck | PdsNack | PdsControl | PdsControlSyn | PdsRudi | PdsUud | Tss;
        UET_PORT_REFERENCE => PdsRequest | PdsRequestSyn | PdsAck | PdsNack | PdsControl | PdsControlSyn | PdsRudi | PdsUud | Tss;
    }

    /// Of VXLAN-GPE and NSH.
    NextProtocols(NextProtocol) {
        NextProtocol::IPV4 => Ipv4;
        NextProtocol::IPV6 => Ipv6;
        NextProtocol::ETHERNET => Ethernet;
        NextProtocol::NSH => Nsh;
        NextProtocol::MPLS => Mpls;
    }

    /// Of PPP.
    PppProtocols(PppProtocol) {
        PppProtocol::IPV4 => Ipv4;
        PppProtocol::IPV6 => Ipv6;
        PppProtocol::MPLS => Mpls;
    }

    /// Attribute numbers of communication management.
    CmAttributes(CmAttribute) {
        CmAttribute::REQ => CmReq;
        CmAttribute::MRA => CmMra;
        CmAttribute::REJ => CmRej;
        CmAttribute::REP => CmRep;
        CmAttribute::RTU => CmRtu;
        CmAttribute::DREQ => CmDreq;
        CmAttribute::DREP => CmDrep;
        CmAttribute::SIDR_REQ => CmSidrReq;
        CmAttribute::SIDR_REP => CmSidrRep;
        CmAttribute::LAP => CmLap;
        CmAttribute::APR => CmApr;
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
