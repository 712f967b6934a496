//! Inputs that once broke something, each with the name of what it broke.

use std::{net::Ipv4Addr, path::Path};

use crate::{properties::dissect::invariants, support::trace::read};
use rdmawire::{
    analyze::{Analysis, Options},
    capture::{Record, Time},
    craft::{Packet, recipe},
    dissect::{Dissection, Link, Problem, dissect},
    icrc::{self, State},
    opcode::Opcode,
    wire::*,
};

fn checked(link: Link, frame: &[u8]) -> Dissection<'_> {
    let d = dissect(link, frame, frame.len() as u32);
    invariants(&d);
    d
}

fn ethernet(ether_type: EtherType) -> Vec<u8> {
    Ethernet::default().with_ether_type(ether_type).bytes().to_vec()
}

fn ipv6(next: u8, after: usize) -> Vec<u8> {
    let ip =
        Ipv6::default().with_version(6).with_payload_len(after as u16).with_next_header(IpProtocol(next));
    ip.bytes().to_vec()
}

/// It said nothing when the frame ended with the last label.
#[test]
fn mpls_labels_before_nothing_are_a_truncation() {
    for after in [&[][..], &[0], &[0, 0, 0]] {
        let mut frame = ethernet(EtherType::MPLS);
        frame.extend_from_slice(Mpls::default().with_bottom(true).bytes());
        frame.extend_from_slice(after);
        let d = checked(Link::ETHERNET, &frame);
        assert!(d.notes().iter().any(|n| matches!(n.problem, Problem::Truncated { .. })), "{d:?}");
    }
}

/// Offsets were kept in sixteen bits and wrapped.
#[test]
fn parts_that_reach_beyond_64_kib() {
    let mut lldp = ethernet(EtherType::LLDP);
    lldp.resize(100_000, 0xaa);
    let d = checked(Link::ETHERNET, &lldp);
    assert!(d.has(Kind::Lldp));

    // A length of 0 bounds nothing; then tunnels, each with extension headers of 2048 bytes.
    let ip = Ipv4::default().with_version(4).with_ihl(5).with_protocol(IpProtocol::IPV6);
    let mut frame = ip.bytes().to_vec();
    for n in 0..4 {
        frame.extend_from_slice(&ipv6(60, 65535 - n * 16424));
        for n in 0..8 {
            frame.extend_from_slice(&[if n == 7 { 41 } else { 60 }, 255]);
            frame.resize(frame.len() + 2046, 0);
        }
    }
    frame.extend_from_slice(&ipv6(17, 8));
    frame.extend_from_slice(Udp::default().with_dst_port(4791).with_length(8).bytes());
    frame.resize(70_000, 0);
    let d = checked(Link::IPV4, &frame);
    assert!(!d.notes().is_empty());
}

/// More layers than the list had room for: the index knew of headers that the list did not have.
#[test]
fn more_tags_than_are_followed() {
    let mut frame = ethernet(EtherType(0x1234));
    for _ in 0..4 {
        let mut outer = ethernet(EtherType(0x8100));
        for n in 0..15 {
            let next = if n == 14 { EtherType::IPV4 } else { EtherType(0x8100) };
            outer.extend_from_slice(Vlan::default().with_ether_type(next).bytes());
        }
        let ip = Ipv4::default().with_version(4).with_ihl(5).with_protocol(IpProtocol::GRE);
        outer.extend_from_slice(ip.with_total_len(24 + frame.len() as u16).bytes());
        outer.extend_from_slice(Gre::default().with_protocol(EtherType::ETHERNET).bytes());
        outer.extend_from_slice(&frame);
        frame = outer;
    }
    let d = checked(Link::ETHERNET, &frame);
    assert!(d.notes().iter().any(|n| matches!(n.problem, Problem::Depth { .. })), "{d:?}");
}

/// MPLS in IP was no tunnel: two IP headers of different versions shared one place in the index.
#[test]
fn mpls_between_ip_headers_is_a_tunnel() {
    let inner = ipv6(59, 4);
    let ip = Ipv4::default().with_version(4).with_ihl(5).with_protocol(IpProtocol::MPLS);
    let mut frame = ip.with_total_len(28 + inner.len() as u16).bytes().to_vec();
    frame.extend_from_slice(Mpls::default().with_bottom(true).bytes());
    frame.extend_from_slice(&inner);
    frame.extend_from_slice(&[0; 4]);
    let d = checked(Link::IPV4, &frame);
    assert_eq!((d.get::<Ipv4>(), d.offset(Kind::Ipv6), d.tunnel_depth()), (None, Some(24), 1));
}

/// Behind a tunnel the LRH's place was that of the inner Ethernet header.
#[test]
fn the_lrh_of_a_tunnel_is_not_the_inner_packets() {
    let inner = ethernet(EtherType(0x1234));
    let mut frame = Lrh::default().with_lnh(Lnh::IPV6).with_pkt_len(20).bytes().to_vec();
    frame.extend_from_slice(&ipv6(47, 4 + inner.len()));
    frame.extend_from_slice(Gre::default().with_protocol(EtherType::ETHERNET).bytes());
    frame.extend_from_slice(&inner);
    frame.resize(90, 0);
    let d = checked(Link::INFINIBAND, &frame);
    assert_eq!((d.get::<Lrh>(), d.offset(Kind::Ethernet)), (None, Some(52)));
    assert_eq!(d.layers()[0].kind, Kind::Lrh);
}

/// A GRH's payload length that ends the packet early moved the VCRC with it, which then was called bad.
#[test]
fn a_vcrc_stands_where_the_lrh_says() {
    let mut frame = Lrh::default().with_lnh(Lnh::GLOBAL).with_pkt_len(24).bytes().to_vec();
    let grh = Grh::default().with_ip_ver(6).with_nxt_hdr(IpProtocol::IBA).with_pay_len(36);
    frame.extend_from_slice(grh.bytes());
    frame.extend_from_slice(Bth::default().bytes());
    frame.resize(24 * 4 + 2, 0);
    let d = checked(Link::INFINIBAND, &frame);
    assert_eq!(d.end(), 84);
    assert_eq!((d.vcrc(), icrc::verify_vcrc(&d)), (None, State::Unchecked));
}

/// An IPv6 packet in native InfiniBand: the ICRC was computed as if it were InfiniBand's own.
#[test]
fn rocev2_inside_raw_infiniband() {
    let mut frame = Lrh::default().with_lnh(Lnh::IPV6).with_pkt_len(19).bytes().to_vec();
    frame.extend_from_slice(&ipv6(17, 28));
    frame.extend_from_slice(Udp::default().with_dst_port(4791).with_length(28).bytes());
    frame.extend_from_slice(Bth::default().with_opcode(rdmawire::opcode::Opcode::UC_SEND_ONLY).bytes());
    frame.resize(frame.len() + 10, 0);
    let d = checked(Link::INFINIBAND, &frame);
    let computed = icrc::compute(&d).unwrap();
    // The same packet without the LRH.
    let alone = dissect(Link::IPV6, &frame[8..76], 68);
    assert_eq!(icrc::compute(&alone), Some(computed));
}

/// Reading a field of 128 bits as a number shifted by a negative number of bits.
#[test]
fn a_wide_field_as_a_number() {
    for kind in Kind::ALL {
        for field in kind.info().map_or(&[][..], |info| info.fields) {
            let mut bytes = [0xff; 256];
            let value = field.get(&bytes);
            field.set(&mut bytes, value);
            assert_eq!(bytes, [0xff; 256], "{kind:?} {}", field.name);
        }
    }
}

/// Durations of captures that begin at one end of time and end at the other overflowed.
#[test]
fn times_that_no_clock_has() {
    let ends = [i64::MIN, i64::MAX, 0, i64::MIN, -1, i64::MAX];
    let mut analysis = Analysis::new(Options { interval_ns: Some(1), ..Options::default() });
    let frame = [0; 60];
    for time in ends {
        let (time, link) = (Time(time), Link::ETHERNET);
        analysis.push(&Record { time, link, interface: 0, wire_len: 60, frame: &frame });
    }
    let capture = analysis.finish().head.capture;
    assert_eq!((capture.packets, capture.duration_ns > Some(0)), (6, true));
}

/// A recipe forgot padding that stood behind no BTH.
#[test]
fn padding_without_a_bth_is_in_the_recipe() {
    let packet = recipe::parse("eth dst=52:54:00:77:00:01 / aeth msn=5 / pad hex:6e85").unwrap();
    let printed = recipe::print(&packet);
    assert_eq!(recipe::parse(&printed).unwrap().build(), packet.build(), "{printed}");
}

/// The length of a frame that says it had four gigabytes on the wire, and its check sequence, overflowed.
#[test]
fn a_frame_of_four_gigabytes_on_the_wire() {
    for link in [Link::ETHERNET, Link::INFINIBAND, Link::RAW, Link::ERF] {
        let mut analysis = Analysis::new(Options::default());
        let record = Record { time: Time(0), link, interface: 0, wire_len: u32::MAX, frame: &[0x45; 60] };
        analysis.push(&record);
        assert_eq!(analysis.finish().head.capture.packets, 1);
    }
}

/// An error repeated all of the word that was wrong.
#[test]
fn errors_of_recipes_are_short() {
    let error = recipe::parse(&format!("eth {}", "x=".repeat(50_000))).unwrap_err();
    assert!(error.to_string().len() < 1000);
    let error = recipe::parse(&"y".repeat(50_000)).unwrap_err();
    assert!(error.to_string().len() < 1000);
}

/// A field's name in quotes stood in the error as it was, with its line ends.
#[test]
fn errors_of_recipes_hold_no_control_characters() {
    for text in ["sll2 '~_index\n\r\n=3 address'=4", "eth 'a\u{1b}[31m\u{9b}'=1", "'eth\n'"] {
        let error = recipe::parse(text).unwrap_err().to_string();
        assert_eq!(error.lines().count(), 3, "{text:?}: {error:?}");
        assert!(!error.contains(|c: char| c.is_control() && c != '\n'), "{text:?}: {error:?}");
    }
}

/// Three times a round trip of centuries, as forged times make it, overflowed.
#[test]
fn a_round_trip_of_two_centuries() {
    let (a, b) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let bth = |opcode, qp, psn| {
        Bth::default().with_opcode(opcode).with_dest_qp(Qpn(qp)).with_psn(Psn(psn)).with_ack_req(true)
    };
    let send =
        |psn| Packet::rocev2(a, b).push(bth(Opcode::RC_SEND_ONLY, 0x11, psn)).payload(vec![0; 8]).build();
    let aeth = Aeth::default().with_syndrome(Syndrome::ACK).with_msn(1);
    let ack = Packet::rocev2(b, a).push(bth(Opcode::RC_ACKNOWLEDGE, 0x12, 7)).push(aeth).build();
    let mut analysis = Analysis::new(Options::default());
    for (time, frame) in [(i64::MIN, send(7)), (i64::MAX, ack), (i64::MAX, send(8)), (i64::MAX, send(10))] {
        let (time, link, wire_len) = (Time(time), Link::ETHERNET, frame.len() as u32);
        analysis.push(&Record { time, link, interface: 0, wire_len, frame: &frame });
    }
    let report = analysis.finish();
    let rtt = report.flows[0].latency_ns.ack_rtt.expect("the acknowledgement was for it");
    assert!(rtt.max > i64::MAX as u64 / 2, "{rtt:?}");
    assert_eq!(report.flows[0].requests.packets, 3);
}

/// Something writes IP headers anew, and computes no checksum: the first few packets are as intact as those behind them.
#[test]
fn checksums_of_ip_that_are_all_wrong_are_no_corruption() {
    let classes = |is_damaged: &dyn Fn(usize) -> bool| {
        let mut analysis = Analysis::new(Options::default());
        for (at, frame) in read(Path::new("pcaps/loss1_rc_write-B-300.pcap")).unwrap().iter().enumerate() {
            let mut bytes = frame.bytes.clone();
            if is_damaged(at) && bytes[12..15] == [8, 0, 0x45] {
                bytes[24] ^= 0xff;
            }
            analysis.push(&Record { frame: &bytes, ..frame.record() });
        }
        let report = analysis.finish();
        let requests = &report.flows.iter().max_by_key(|flow| flow.packets).unwrap().requests;
        (requests.losses.corrupt, requests.retransmits)
    };
    let intact = classes(&|_| false);
    assert_eq!(intact, (Some([0, 0]), 85));
    assert_eq!(classes(&|_| true), intact);
    // One of many is.
    assert_eq!(classes(&|at| at == 20).0, Some([1, 1]));
}
