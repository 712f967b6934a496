//! Packets: built, dissected to the same fields, and rebuilt bit for bit.

use crate::samples::{self, Sample};
use bytes::Bytes;
use proptest::prelude::*;
use rdmawire::{
    craft::{ComputedField, Edit, Packet, recipe, template},
    dissect::{Dissection, Link, dissect},
    icrc::{self, State},
    opcode::Opcode,
    wire::*,
};
use std::net::{Ipv4Addr, Ipv6Addr};

fn vectors() -> Vec<Sample> {
    samples::vectors_and_more().iter().map(Sample::from).collect()
}

/// Rebuilt as captured, and nothing kept that need not be.
fn rebuilds(link: Link, frame: &[u8], wire_len: u32) -> Packet {
    let d = dissect(link, frame, wire_len);
    let packet = Packet::from(&d);
    assert_eq!(packet.build(), frame, "{d:?} {packet:?}");
    packet
}

#[test]
fn every_vector_rebuilds_bit_for_bit_whole_and_cut() {
    for Sample { name, link, frame, .. } in vectors() {
        let packet = rebuilds(link, &frame, frame.len() as u32);
        assert_eq!(packet.wire_len() as usize, frame.len(), "{name}");
        for cut in 0..frame.len() {
            rebuilds(link, &frame[..cut], frame.len() as u32);
            rebuilds(link, &frame[..cut], cut as u32);
        }
    }
}

#[test]
fn what_is_right_is_computed_again_and_what_is_wrong_is_kept() {
    for Sample { name, link, frame, .. } in vectors() {
        let d = dissect(link, &frame, frame.len() as u32);
        let packet = Packet::from(&d);
        match icrc::verify(&d) {
            State::Good => assert!(!packet.keeps(ComputedField::Icrc), "{name}"),
            State::Bad => assert!(packet.keeps(ComputedField::Icrc), "{name}"),
            State::Unchecked | State::Trimmed => {}
        }
        // An edit reaches the checksum, and the ICRC is right after it if it was before.
        if icrc::verify(&d) == State::Good && d.notes().is_empty() && !d.has(Kind::Mad) {
            let edited =
                packet.edit(|bth: Bth| bth.with_psn(bth.psn().plus(1000))).payload(vec![7; 21]).build();
            let again = dissect(link, &edited, edited.len() as u32);
            assert_eq!(icrc::verify(&again), State::Good, "{name} {again:?}");
            assert_eq!(again.payload(), [7; 21], "{name}");
            assert_eq!(again.get::<Bth>().unwrap().pad_cnt(), 3, "{name}");
            if let Some(ip) = again.get::<Ipv4>() {
                assert_eq!(rdmawire::checksum::internet(ip.bytes()), 0, "{name}");
            }
        }
    }
}

#[test]
fn a_lie_is_covered_by_what_is_computed() {
    let honest = Packet::rocev2(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2))
        .push(Bth::default().with_opcode(Opcode::RC_SEND_ONLY).with_p_key(PKey(0xffff)))
        .payload(&b"hello"[..]);
    let lie = honest.clone().edit(|ip: Ipv4| ip.with_total_len(40)).keep(ComputedField::IpLength);
    let (honest, frame) = (honest.build(), lie.build());
    let ip = Ipv4::view(&frame[14..]).unwrap().0;
    assert_eq!(ip.total_len(), 40);
    assert_eq!(rdmawire::checksum::internet(ip.bytes()), 0);
    // The ICRC covers the lie too: it differs from the honest packet's, and from nothing else.
    assert_ne!(frame[frame.len() - 4..], honest[honest.len() - 4..]);
    let mut masked = vec![0xff; 8];
    masked.extend_from_slice(&frame[14..frame.len() - 4]);
    for at in [1, 8, 10, 11, 26, 27, 32] {
        masked[8 + at] = 0xff;
    }
    assert_eq!(crc32fast::hash(&masked).to_le_bytes(), frame[frame.len() - 4..]);
    // Kept, the ICRC stays as put.
    let kept = lie.icrc(Some([1, 2, 3, 4])).build();
    assert_eq!(kept[kept.len() - 4..], [1, 2, 3, 4]);
    rebuilds(Link::ETHERNET, &frame, frame.len() as u32);
    rebuilds(Link::ETHERNET, &kept, kept.len() as u32);
}

#[test]
fn checksums_asked_for_are_right() {
    let bth = Bth::default().with_opcode(Opcode::UD_SEND_ONLY).with_dest_qp(Qpn(0x11));
    let packet = Packet::rocev2(Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED)
        .push(bth)
        .push(Deth::default().with_src_qp(Qpn(0x22)))
        .payload(&[1, 2, 3][..])
        .compute(ComputedField::UdpChecksum)
        .compute(ComputedField::Fcs);
    let frame = packet.build();
    let d = dissect(Link::ETHERNET, &frame, frame.len() as u32);
    let udp = d.get::<Udp>().unwrap();
    assert_eq!(udp.src_port(), Udp::linux_source_port(Qpn(0x11), Qpn(0x22)));
    let len = (udp.length() as u32).to_be_bytes();
    let at = d.offset(Kind::Udp).unwrap();
    let parts = [&frame[22..54], &len, &[0, 0, 0, 17], &frame[at..frame.len() - 4]];
    assert_eq!(rdmawire::checksum::internet_parts(&parts), 0);
    assert!(icrc::has_fcs(&d));
    assert_eq!(icrc::verify(&d), State::Good);
    let again = rebuilds(Link::ETHERNET, &frame, frame.len() as u32);
    assert!(!again.keeps(ComputedField::UdpChecksum) && !again.keeps(ComputedField::Fcs));
}

/// Stacks that the dissector follows, outermost first; `[0]` stands for a part of that many bytes.
const ROADS: &[(Link, &[Kind])] = {
    use Kind::*;
    &[
        (Link::ETHERNET, &[Ethernet, Ipv4, Udp]),
        (Link::ETHERNET, &[Ethernet, Vlan, Vlan, Ipv6, Udp]),
        (Link::ETHERNET, &[Ethernet, Ipv4, Ipv4Options, Udp]),
        (Link::ETHERNET, &[Ethernet, Ipv6, Ipv6Extension, Udp]),
        (Link::ETHERNET, &[Ethernet, Vlan, Grh]),
        (Link::ETHERNET, &[Ethernet, Mpls, Mpls, Ipv4, Udp]),
        (Link::ETHERNET, &[Ethernet, Ipv4, Udp, Vxlan, Ethernet, Vlan, Ipv4, Udp]),
        (Link::ETHERNET, &[Ethernet, Ipv6, Udp, Geneve, GeneveOptions, Ethernet, Ipv6, Udp]),
        (Link::ETHERNET, &[Ethernet, Ipv4, Gre, GreChecksum, GreKey, GreSequence, Ethernet, Ipv4, Udp]),
        (Link::ETHERNET, &[Ethernet, Ipv4, Gre, GreSequence, Erspan2, Ethernet, Grh]),
        (Link::ETHERNET, &[Ethernet, Ipv4, Gre, GreSequence, Erspan3, ErspanPlatform, Ethernet, Ipv4, Udp]),
        (Link::ETHERNET, &[Ethernet, Ipv4, Gre, Ipv6, Udp]),
        (Link::ETHERNET, &[Ethernet, Ipv4, Ipv4, Udp]),
        (Link::RAW, &[Ipv4, Udp]),
        (Link::IPV6, &[Ipv6, Udp]),
        (Link::LINUX_SLL, &[Sll, Ipv4, Udp]),
        (Link::LINUX_SLL2, &[Sll2, Vlan, Ipv6, Udp]),
        (Link::INFINIBAND, &[Lrh]),
        (Link::INFINIBAND, &[Lrh, Grh]),
        (Link::ERF, &[Erf, ErfExtension, ErfExtension, Lrh, Grh]),
        (Link::ERF, &[Erf, ErfEthernet, Ethernet, Ipv4, Udp]),
    ]
};

/// Fields that decide what the frame is: their values are settled, and any value elsewhere is the same packet.
fn decides(kind: Kind, field: &str) -> bool {
    match kind {
        Kind::Ipv4 => matches!(field, "mf" | "fragment_offset" | "version" | "ihl" | "protocol"),
        Kind::Gre => matches!(field, "has_routing" | "version"),
        Kind::Geneve => field == "version",
        Kind::Erspan3 => matches!(field, "frame_type"),
        Kind::Bth => field == "opcode",
        _ => false,
    }
}

fn stack() -> impl Strategy<Value = (Packet, Vec<u8>)> {
    let opcode = prop::sample::select(Opcode::of_transport(Transport::Ib).collect::<Vec<_>>());
    let road = prop::sample::select(ROADS);
    (road, opcode, any::<[u8; 32]>(), prop::collection::vec(any::<u8>(), 0..300), any::<u32>(), any::<bool>())
        .prop_map(|((link, kinds), opcode, noise, payload, keeps, sums)| {
            let chain = [&[Kind::Bth], opcode.chain()].concat();
            let mut packet = Packet::new(link);
            for (n, &kind) in kinds.iter().chain(&chain).enumerate() {
                let mut bytes = match kind {
                    Kind::Ipv4Options => vec![1; 8],
                    // Destination options with padding.
                    Kind::Ipv6Extension => vec![0, 0, 1, 4, 0, 0, 0, 0],
                    Kind::GeneveOptions => vec![0, 1, 2, 1, 9, 9, 9, 9],
                    _ => template(kind),
                };
                for field in kind.info().map_or(&[][..], |info| info.fields) {
                    if !decides(kind, field.name) && field.width <= 64 {
                        let at = (n * 7 + field.bit as usize) % 24;
                        let value = u64::from_be_bytes(noise[at..at + 8].try_into().unwrap());
                        field.set(&mut bytes, value.rotate_left(field.bit as u32));
                    }
                }
                packet = packet.push_bytes(kind, bytes);
            }
            packet = packet.edit(|bth: Bth| bth.with_opcode(opcode)).payload(payload.clone());
            if kinds.contains(&Kind::Ipv6Extension) {
                packet = packet.edit(|ip: Ipv6| ip.with_next_header(IpProtocol(60)));
            }
            if sums {
                packet = packet.compute(ComputedField::UdpChecksum).compute(ComputedField::Fcs);
            }
            // Lies that do not change where the packet ends.
            for (bit, auto) in [
                ComputedField::IpChecksum,
                ComputedField::Icrc,
                ComputedField::Vcrc,
                ComputedField::UdpSourcePort,
                ComputedField::FramePadding,
            ]
            .into_iter()
            .enumerate()
            {
                // Behind a label, only a right checksum shows that IPv4 follows.
                let shows = auto == ComputedField::IpChecksum && kinds.contains(&Kind::Mpls);
                if keeps >> bit & 1 == 1 && !shows {
                    packet = packet.keep(auto);
                }
            }
            (packet, payload)
        })
}

fn same_fields(built: &Packet, d: &Dissection<'_>) -> Result<(), TestCaseError> {
    let layers = d.layers();
    for (part, layer) in built.parts().iter().zip(layers.iter()) {
        prop_assert_eq!((part.kind, part.at, part.len), (layer.kind, layer.at, layer.len));
        let bytes = &d.frame()[layer.at as usize..][..layer.len as usize];
        for field in part.kind.info().map_or(&[][..], |info| info.fields) {
            if settled(part.kind, field.name) {
                continue;
            }
            if field.width <= 64 {
                prop_assert_eq!(
                    field.get(bytes),
                    field.get(built.bytes_of(part)),
                    "{:?} {}",
                    part.kind,
                    field.name
                );
            } else {
                prop_assert_eq!(field.bytes(bytes), field.bytes(built.bytes_of(part)));
            }
        }
    }
    Ok(())
}

/// Fields that `ComputedField` has.
fn settled(kind: Kind, field: &str) -> bool {
    matches!(
        (kind, field),
        (Kind::Ipv4, "version" | "ihl" | "total_len" | "protocol" | "checksum")
            | (Kind::Ipv6, "version" | "payload_len" | "next_header")
            | (Kind::Udp, "src_port" | "dst_port" | "length" | "checksum")
            | (Kind::Gre, "has_checksum" | "has_key" | "has_sequence" | "protocol")
            | (Kind::GreChecksum, "checksum")
            | (Kind::Erspan2, "version")
            | (Kind::Erspan3, "version" | "optional")
            | (Kind::Geneve, "opt_len" | "protocol")
            | (Kind::Mpls, "bottom")
            | (Kind::Lrh, "lnh" | "pkt_len")
            | (Kind::Grh, "ip_ver" | "pay_len" | "nxt_hdr")
            | (Kind::Bth, "pad_cnt")
            | (Kind::Erf, "extension" | "record_type" | "record_len" | "wire_len")
            | (Kind::ErfExtension, "extension")
            | (_, "ether_type")
    )
}

#[test]
fn every_vector_is_a_recipe() {
    for Sample { name, link, frame, .. } in vectors() {
        for cut in [frame.len(), frame.len() / 2] {
            let packet = rebuilds(link, &frame[..cut], frame.len() as u32);
            let text = recipe::print(&packet);
            let again = recipe::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}: {text}"));
            assert_eq!(again.build(), frame[..cut], "{name}: {text}");
            assert_eq!(
                (again.link(), again.wire_len()),
                (packet.link(), packet.wire_len()),
                "{name}: {text}"
            );
            assert_eq!(recipe::print(&again), text, "{name}");
        }
    }
}

#[test]
fn a_recipe_says_what_it_says() {
    let packet = recipe::parse(
        "eth / ipv4 dst=10.0.0.2 dscp=26 / udp / bth opcode=rc-write-only dest_qp=0x11 psn=7 ack_req / reth dma_len=64 / payload 64",
    )
    .unwrap();
    let frame = packet.build();
    let d = dissect(packet.link(), &frame, frame.len() as u32);
    assert!(d.notes().is_empty());
    assert_eq!(icrc::verify(&d), State::Good);
    let bth = d.get::<Bth>().unwrap();
    assert_eq!(
        (bth.opcode(), bth.dest_qp(), bth.psn(), bth.ack_req()),
        (Opcode::RC_WRITE_ONLY, Qpn(0x11), Psn(7), true)
    );
    assert_eq!((d.get::<Reth>().unwrap().dma_len(), d.payload().len()), (64, 64));
    assert_eq!(d.get::<Ipv4>().unwrap().dst(), Ipv4Addr::new(10, 0, 0, 2));
    let aeth =
        recipe::parse("lrh / bth opcode=RC_ACKNOWLEDGE / aeth syndrome=psn-sequence-error msn=3").unwrap();
    assert_eq!(aeth.get::<Aeth>().unwrap().syndrome(), Syndrome::PSN_SEQUENCE_ERROR);
    assert_eq!(Syndrome::PSN_SEQUENCE_ERROR.to_string(), "NAK, PSN sequence error");
    assert_eq!(aeth.link(), Link::INFINIBAND);
    // What is given is kept, checksum asked for is computed.
    let lie = recipe::parse("ip total_len=40 / udp checksum=auto / bth / payload 'a / b'").unwrap();
    assert_eq!(lie.get_payload().as_ref(), b"a / b");
    assert!(lie.keeps(ComputedField::IpLength) && !lie.keeps(ComputedField::UdpChecksum));
}

#[test]
fn a_wrong_recipe_says_where_and_what_was_expected() {
    for (text, at, says) in [
        ("", 0, "expected a header"),
        ("eth / ipv4 dts=10.0.0.2", 11, "\"dts\" is no field of ipv4; it has version, ihl"),
        ("eth / ipv4 dts=10.0.0.2", 11, "; did you mean dst?"),
        ("eth / bht", 6, "; did you mean bth?"),
        ("eth / ipv4 dst=10.0.0", 15, "expected an IPv4 address"),
        ("eth / ipv7", 6, "there are ipv4, ipv4_options, ipv6, ipv6_extension"),
        ("eth / bth opcode=frobnicate", 17, "an operation code like rc-write-only"),
        ("eth / bth psn=0x1000000", 14, "at most 0xffffff, psn has 24 bits"),
        ("eth / payload hex:abc", 14, "hexadecimal digits, two a byte"),
        ("eth / payload 99999999999", 14, "at most 16777216 bytes"),
        ("eth / payload 'abc", 14, "a quote that does not end"),
        ("eth / payload 3 / udp", 18, "headers come before the payload"),
        ("eth / icrc hex:00", 6, "expected 4 bytes"),
    ] {
        let error = recipe::parse(text).unwrap_err();
        assert_eq!(error.offset(), at, "{text}: {error}");
        assert!(error.to_string().contains(says), "{text}: {error}");
    }
}

#[test]
fn edits_reach_the_header_they_name() {
    let text = "eth / ip / udp / vxlan vni=7 / eth / ip src=10.9.9.9 / udp / bth psn=0xffffff / payload 4";
    let mut packet = recipe::parse(text).unwrap();
    for edit in ["bth.psn+=1000", "ipv4.dst=1.2.3.4", "ipv4[0].ttl=3", "udp[0].checksum=auto", "payload='hi'"]
    {
        assert_eq!(Edit::parse(edit).unwrap().apply(&mut packet, 0), Ok(true), "{edit}");
    }
    let frame = packet.build();
    let d = dissect(packet.link(), &frame, frame.len() as u32);
    assert_eq!(d.get::<Bth>().unwrap().psn(), Psn(999));
    assert_eq!(d.get::<Ipv4>().unwrap().dst(), Ipv4Addr::new(1, 2, 3, 4));
    assert_eq!(frame[22], 3);
    assert_eq!(d.payload(), b"hi");
    assert_eq!(icrc::verify(&d), State::Good);
    assert_eq!(Edit::parse("grh.hop_lmt=1").unwrap().apply(&mut packet, 0), Ok(false));
    for (edit, at, says) in [
        ("bth.psn", 7, "expected NAME.FIELD=VALUE"),
        ("bth.psm=1", 4, "\"psm\" is no field of bth; it has opcode"),
        ("bth.psm=1", 4, "; did you mean psn?"),
        ("btg.psn=1", 0, "\"btg\" is no header"),
        ("bth=1", 0, "expected NAME.FIELD=VALUE"),
        ("bth.psn=x", 8, "expected a number"),
        ("bth.psn+=x", 9, "expected a number"),
        ("bth.psn=0x1000000", 8, "psn has 24 bits"),
        ("ipv4[x].ttl=1", 5, "expected a number in []"),
        ("payload=zeros many", 8, "expected a length"),
    ] {
        let error = Edit::parse(edit).unwrap_err();
        assert_eq!(error.offset(), at, "{edit}: {error}");
        assert!(error.message().contains(says), "{edit}: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_stack_dissects_to_the_same_fields_and_rebuilds((packet, payload) in stack()) {
        let frame = packet.build();
        prop_assert_eq!(packet.wire_len() as usize, frame.len());
        let d = dissect(packet.link(), &frame, frame.len() as u32);
        same_fields(&packet, &d)?;
        let bth = d.get::<Bth>().unwrap();
        prop_assert_eq!(bth.opcode(), packet.get::<Bth>().unwrap().opcode());
        prop_assert_eq!(d.payload(), &payload[..]);
        if !packet.keeps(ComputedField::Icrc) && icrc::verify(&d) != State::Unchecked {
            prop_assert_eq!(icrc::verify(&d), State::Good);
        }
        if d.vcrc().is_some() && !packet.keeps(ComputedField::Vcrc) {
            prop_assert_eq!(icrc::verify_vcrc(&d), State::Good);
        }
        let again = Packet::from(&d);
        prop_assert_eq!(again.build(), &frame[..]);
        // Nothing is kept that had been computed, if it was put differently at all.
        let kept = |p: &Packet| [ComputedField::IpLength, ComputedField::UdpLength, ComputedField::Pad, ComputedField::EtherType, ComputedField::IpProtocol].iter().any(|&a| p.keeps(a));
        prop_assert!(!kept(&again), "{:?}", again);
    }

    #[test]
    fn a_recipe_prints_and_parses((packet, _) in stack()) {
        let text = recipe::print(&packet);
        let again = recipe::parse(&text).unwrap();
        prop_assert_eq!(again.build(), packet.build(), "{}", text);
        prop_assert_eq!(again.link(), packet.link());
        prop_assert_eq!(recipe::print(&again), text);
    }

    #[test]
    fn any_text_is_a_recipe_or_an_error_within_it(text in "[a-z0-9=/' :.]{0,60}") {
        match recipe::parse(&text) {
            Ok(packet) => { packet.build(); }
            Err(error) => prop_assert!(error.offset() <= text.len() && !error.message().is_empty()),
        }
    }

    #[test]
    fn any_bytes_rebuild(frame in prop::collection::vec(any::<u8>(), 0..200), link in prop::sample::select(&[1u16, 101, 113, 197, 228, 229, 247, 276, 999][..]), more in 0u32..99) {
        let d = dissect(Link(link), &frame, frame.len() as u32 + more);
        prop_assert_eq!(Packet::from(&d).build(), Bytes::from(frame));
    }

    #[test]
    fn any_damage_rebuilds(n in 0usize..10_000, at in 0usize..10_000, to in any::<[u8; 3]>(), cut in any::<bool>()) {
        let all = vectors();
        let Sample { link, mut frame, .. } = all[n % all.len()].clone();
        for (i, byte) in to.into_iter().enumerate() {
            let len = frame.len();
            frame[(at * (i + 1)) % len] = byte;
        }
        let wire_len = frame.len() as u32;
        if cut { frame.truncate(at % frame.len()); }
        let d = dissect(link, &frame, wire_len);
        prop_assert_eq!(Packet::from(&d).build(), Bytes::from(frame));
    }
}
