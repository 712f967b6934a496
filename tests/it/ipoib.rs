//! IP over InfiniBand: address resolution and IP in datagrams and connections.

use std::net::{Ipv4Addr, Ipv6Addr};

use rdmawire::{
    checksum,
    craft::Packet,
    dissect::{Link, dissect},
    filter::{Filter, FrameMeta},
    frame::Info,
    icrc,
    opcode::Opcode,
    upper::{Application, Message, Protocol},
    wire::*,
};

fn header(ether_type: EtherType) -> IpoibHeader {
    IpoibHeader::default().with_ether_type(ether_type)
}

fn arp() -> Vec<u8> {
    let arp = IpoibArp::default()
        .with_hardware(32)
        .with_protocol(EtherType::IPV4)
        .with_hardware_len(20)
        .with_protocol_len(4)
        .with_operation(ArpOperation(1))
        .with_sender_flags(Hex8(0x80))
        .with_sender_qp(Qpn(0x404))
        .with_sender_gid(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1))
        .with_sender_ip(Ipv4Addr::new(192, 0, 2, 1))
        .with_target_ip(Ipv4Addr::new(192, 0, 2, 2));
    [header(EtherType::ARP).bytes(), arp.bytes()].concat()
}

fn ipv4(payload: usize) -> Vec<u8> {
    let ip = IpoibIpv4::default()
        .with_version(4)
        .with_ihl(5)
        .with_total_len((IpoibIpv4::LEN + payload) as u16)
        .with_ttl(64)
        .with_protocol(IpProtocol::UDP)
        .with_src(Ipv4Addr::new(192, 0, 2, 1))
        .with_dst(Ipv4Addr::new(192, 0, 2, 2));
    let ip = ip.with_checksum(Hex16(checksum::internet(ip.bytes())));
    [header(EtherType::IPV4).bytes(), ip.bytes(), &vec![7; payload]].concat()
}

fn ipv6(payload: usize) -> Vec<u8> {
    let ip = IpoibIpv6::default()
        .with_version(6)
        .with_payload_len(payload as u16)
        .with_next_header(IpProtocol(58))
        .with_hop_limit(255)
        .with_src(Ipv6Addr::LOCALHOST);
    [header(EtherType::IPV6).bytes(), ip.bytes(), &vec![7; payload]].concat()
}

fn datagram(payload: &[u8]) -> Packet {
    let bth = Bth::default().with_opcode(Opcode::UD_SEND_ONLY).with_dest_qp(Qpn::MULTICAST).with_psn(Psn(7));
    let deth = Deth::default().with_q_key(Hex32(0xb1b)).with_src_qp(Qpn(0x404));
    Packet::ib(1, 0xc000).push(bth).push(deth).payload(payload.to_vec())
}

fn connected(payload: &[u8]) -> Packet {
    let bth = Bth::default().with_opcode(Opcode::RC_SEND_ONLY).with_dest_qp(Qpn(0x405)).with_psn(Psn(7));
    Packet::ib(1, 2).push(bth).payload(payload.to_vec())
}

#[test]
fn datagrams_and_messages_of_connections_are_read() {
    for (message, kinds, says) in [
        (arp(), [Kind::IpoibHeader, Kind::IpoibArp], "IPoIB ARP IPv4 request"),
        (ipv4(30), [Kind::IpoibHeader, Kind::IpoibIpv4], "IPoIB IPv4 UDP"),
        (ipv6(24), [Kind::IpoibHeader, Kind::IpoibIpv6], "IPoIB IPv6 ICMPv6"),
    ] {
        for packet in [datagram(&message), connected(&message)] {
            let frame = packet.build();
            let d = dissect(Link::INFINIBAND, &frame, frame.len() as u32);
            let found: Vec<Kind> =
                d.layers().iter().map(|layer| layer.kind).filter(|kind| kind.is_of_message()).collect();
            assert_eq!(found, kinds, "{says}");
            assert_eq!((d.payload(), icrc::verify(&d)), (&message[..], icrc::State::Good), "{says}");
            let line = Info::new(&d, icrc::verify(&d)).to_string();
            assert!(line.contains(says), "{line}");
            assert_eq!(Packet::from(&d).build(), frame, "{says}");
            // The headers of IP are none of the packet's.
            assert!(!d.has(Kind::Ipv4) && !d.has(Kind::Ipv6), "{says}");
        }
    }
    let frame = datagram(&arp()).build();
    let d = dissect(Link::INFINIBAND, &frame, frame.len() as u32);
    for (text, holds) in [
        ("ipoib_arp.sender_ip == 192.0.2.1 && ipoib_arp.sender_qp == 0x404", true),
        ("ipoib_arp.operation == 2 || ipoib_ipv4", false),
    ] {
        let filter: Filter = text.parse().unwrap();
        assert_eq!(filter.matches(&d, &FrameMeta { number: 1, time_ns: 0, icrc: None }), holds, "{text}");
    }
}

/// Anything else is not taken for it.
#[test]
fn what_does_not_fit_is_no_ipoib() {
    let of = |bytes: &[u8]| Protocol::of(Message { bytes, len: Some(bytes.len()) });
    for message in [arp(), ipv4(30), ipv6(24)] {
        assert_eq!(of(&message), Some(Protocol::Ipoib));
        let message_of = Message { bytes: &message, len: Some(message.len()) };
        assert_eq!(Application::of_message(message_of), Some(Application::Ipoib));
        for len in 0..message.len() {
            assert_eq!(of(&message[..len]), None, "{len}");
        }
        assert_eq!(of(&[&message[..], &[0]].concat()), None);
        // The reserved bytes, the version or the hardware type.
        for at in [2, 3, 4] {
            let mut wrong = message.clone();
            wrong[at] ^= 0x41;
            assert_eq!(of(&wrong), None, "{at}");
        }
    }
    let mut wrong = ipv4(30);
    wrong[14] ^= 1;
    assert_eq!(of(&wrong), None);
}
