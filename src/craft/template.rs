//! Default values of headers.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::wire::*;

/// A header's bytes with usual values: addresses of two hosts (10.0.0.1 and 10.0.0.2, locally administered Ethernet
/// addresses, LIDs 1 and 2), a time to live of 64, P_Key 0xffff. Other fields are zero.
pub fn template(kind: Kind) -> Vec<u8> {
    let gid = |n| Ipv4Addr::new(10, 0, 0, n).to_ipv6_mapped();
    match kind {
        Kind::Ethernet => bytes(ethernet()),
        Kind::Sll => bytes(Sll::default().with_arphrd(1).with_address_len(6)),
        Kind::Sll2 => bytes(Sll2::default().with_arphrd(1).with_address_len(6).with_if_index(1)),
        Kind::Mpls => bytes(Mpls::default().with_ttl(64)),
        Kind::Ipv4 => bytes(ipv4(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2))),
        Kind::Ipv6 => bytes(ipv6(
            Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1),
            Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2),
        )),
        Kind::Udp => bytes(udp()),
        Kind::Erspan2 => bytes(Erspan2::default().with_version(1).with_encap(3)),
        Kind::Erspan3 => bytes(Erspan3::default().with_version(2).with_ethernet(true).with_granularity(2)),
        Kind::VxlanGpe => bytes(VxlanGpe::default().with_flags(VxlanFlags(0xc))),
        Kind::Nsh => bytes(Nsh::default().with_ttl(63).with_length(2).with_md_type(2)),
        Kind::Tzsp => bytes(Tzsp::default().with_version(1).with_protocol(1)),
        Kind::TzspTags => vec![1],
        Kind::EtherIp => bytes(EtherIp::default().with_version(3)),
        Kind::Trill => bytes(Trill::default().with_hops(63)),
        Kind::Ifa => bytes(Ifa::default().with_version(2).with_gns(15)),
        Kind::IfaHop => bytes(IfaHop::default().with_lns(1).with_ttl(64)),
        Kind::IntShim => {
            bytes(IntShim::default().with_int_type(IntType(1)).with_npt(1).with_original(ROCE_PORT))
        }
        Kind::IntHeader => bytes(IntHeader::default().with_version(2)),
        Kind::Psp => bytes(Psp::default().with_next_header(IpProtocol::IPV4).with_length(1).with_one(true)),
        Kind::Esp => bytes(Esp::default().with_spi(Hex32(0x1001)).with_sequence_number(1)),
        Kind::MacSec => bytes(MacSec::default().with_packet_number(1)),
        Kind::CiscoMetadata => {
            bytes(CiscoMetadata::default().with_version(1).with_length(1).with_option(Hex16(1)))
        }
        Kind::AristaTag => bytes(AristaTag::default().with_subtype(1).with_version(Hex16(0x10))),
        Kind::Llc => bytes(Llc::default().with_dsap(Hex8(0xaa)).with_ssap(Hex8(0xaa)).with_control(Hex8(3))),
        Kind::Loopback => bytes(Loopback::default().with_family(LoopbackFamily(2))),
        Kind::Vxlan => bytes(Vxlan::default().with_flags(VxlanFlags(8))),
        Kind::Lrh => bytes(lrh(1, 2)),
        Kind::Grh => bytes(grh(gid(1), gid(2))),
        Kind::Bth | Kind::MrcBth => bytes(bth()),
        Kind::Tseth => bytes(Tseth::default().with_ftype(1)),
        Kind::Seth => bytes(Seth::default().with_sack_offset(Hex16(1))),
        Kind::Neth => bytes(Neth::default().with_reason(NackReason::TRIMMED).with_cc_type(2)),
        Kind::Peth => bytes(Peth::default().with_ftype(1)),
        Kind::Erth => bytes(Erth::default().with_ftype(1)),
        Kind::Aeth => bytes(Aeth::default().with_syndrome(Syndrome::ACK)),
        Kind::PdsRequest => bytes(PdsRequest::default().with_kind(PdsType::RUD_REQUEST)),
        Kind::PdsRequestSyn => bytes(PdsRequestSyn::default().with_kind(PdsType::RUD_REQUEST).with_syn(true)),
        Kind::PdsSack => bytes(PdsSack::default().with_sack_psn_offset(Hex16(1))),
        Kind::PdsNack => bytes(PdsNack::default().with_nack_code(PdsNackCode::TRIMMED)),
        Kind::SesSmall => bytes(SesSmall::default().with_opcode(SesOpcode(5)).with_som(true).with_eom(true)),
        Kind::SesMedium => {
            bytes(SesMedium::default().with_opcode(SesOpcode(5)).with_som(true).with_eom(true))
        }
        Kind::SesStandard => {
            bytes(SesStandard::default().with_opcode(SesOpcode(1)).with_som(true).with_eom(true))
        }
        Kind::SesStandardLater => bytes(SesStandardLater::default().with_opcode(SesOpcode(1))),
        Kind::SesDeferrable => {
            bytes(SesDeferrable::default().with_opcode(SesOpcode(8)).with_som(true).with_eom(true))
        }
        Kind::SesRestart => {
            bytes(SesRestart::default().with_opcode(SesOpcode(12)).with_som(true).with_eom(true))
        }
        Kind::SesResponse => bytes(SesResponse::default().with_return_code(SesReturnCode::OK)),
        Kind::SesResponseData => bytes(
            SesResponseData::default().with_opcode(SesResponseOpcode(2)).with_return_code(SesReturnCode::OK),
        ),
        Kind::SesResponseSmall => bytes(
            SesResponseSmall::default().with_opcode(SesResponseOpcode(2)).with_return_code(SesReturnCode::OK),
        ),
        Kind::Mad => bytes(mad(MgmtClass::CM, MadMethod(3))),
        Kind::MadDirected => bytes(
            MadDirected::default()
                .with_base_version(1)
                .with_mgmt_class(MgmtClass::SUBN_DIRECTED)
                .with_class_version(1)
                .with_method(MadMethod::GET),
        ),
        Kind::SmpDirected => {
            bytes(SmpDirected::default().with_dr_slid(Lid(0xffff)).with_dr_dlid(Lid(0xffff)))
        }
        _ => vec![0; kind.info().map_or(0, |info| info.len)],
    }
}

fn bytes(header: impl Header) -> Vec<u8> {
    header.as_bytes().to_vec()
}

pub(crate) fn ethernet() -> Ethernet {
    Ethernet::default().with_dst(Mac([2, 0, 0, 0, 0, 2])).with_src(Mac([2, 0, 0, 0, 0, 1]))
}

pub(crate) fn ipv4(src: Ipv4Addr, dst: Ipv4Addr) -> Ipv4 {
    Ipv4::default().with_version(4).with_ihl(5).with_df(true).with_ttl(64).with_src(src).with_dst(dst)
}

pub(super) fn ipv6(src: Ipv6Addr, dst: Ipv6Addr) -> Ipv6 {
    Ipv6::default().with_version(6).with_hop_limit(64).with_src(src).with_dst(dst)
}

pub(super) fn udp() -> Udp {
    Udp::default().with_src_port(0xc000)
}

pub(super) fn grh(sgid: Ipv6Addr, dgid: Ipv6Addr) -> Grh {
    Grh::default()
        .with_ip_ver(6)
        .with_nxt_hdr(IpProtocol::IBA)
        .with_hop_lmt(64)
        .with_sgid(sgid)
        .with_dgid(dgid)
}

pub(super) fn lrh(slid: u16, dlid: u16) -> Lrh {
    Lrh::default().with_slid(Lid(slid)).with_dlid(Lid(dlid))
}

pub(crate) fn bth() -> Bth {
    Bth::default().with_p_key(PKey(0xffff))
}

pub(super) fn mad(class: MgmtClass, method: MadMethod) -> Mad {
    Mad::default().with_base_version(1).with_mgmt_class(class).with_class_version(2).with_method(method)
}
