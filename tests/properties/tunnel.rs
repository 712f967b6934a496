//! Frames in tunnels, whose outer lengths may be any.

use rdmawire::{checksum::internet, wire::*};

/// An Ethernet frame with a tunnel over IPv4: its header and what is inside, of which the outer length says that there were
/// so many bytes.
pub fn frame(protocol: IpProtocol, header: &[u8], inside: &[u8], carried: u16) -> Vec<u8> {
    let ip = Ipv4::default().with_version(4).with_ihl(5).with_ttl(64).with_protocol(protocol);
    let ip = ip.with_total_len((Ipv4::LEN + header.len()) as u16 + carried);
    let ip = ip.with_checksum(Hex16(internet(ip.bytes())));
    [&[2; 12], &[8, 0][..], ip.bytes(), header, inside].concat()
}

/// UDP and VXLAN headers before so many bytes.
pub fn vxlan(vni: u32, carried: u16) -> Vec<u8> {
    let len = (Udp::LEN + Vxlan::LEN) as u16 + carried;
    let udp = Udp::default().with_src_port(0xc001).with_dst_port(4789).with_length(len);
    [udp.bytes(), Vxlan::default().with_vni(vni).bytes()].concat()
}

/// GRE with a sequence number, before what is of this protocol.
pub fn gre(protocol: EtherType, number: u32) -> Vec<u8> {
    let gre = Gre::default().with_has_sequence(true).with_protocol(protocol);
    [gre.bytes(), GreSequence::default().with_sequence_number(number).bytes()].concat()
}

/// GRE and an ERSPAN header of type II.
pub fn erspan2(session: u16, number: u32) -> Vec<u8> {
    let erspan = Erspan2::default().with_version(1).with_session_id(session);
    [&gre(EtherType::ERSPAN, number), erspan.bytes()].concat()
}
