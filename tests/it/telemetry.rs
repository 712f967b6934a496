//! What switches write into packets on their way, and what is encrypted.

use crate::support::programs::{cli, printed};
use rdmawire::{
    analyze::{Analysis, Options},
    capture::{Record, Time},
    craft::{Packet, recipe, template},
    dissect::{self, Dissection, Hop, Link, Telemetry, dissect_with},
    filter::{Filter, FrameMeta},
    icrc::{self, State},
    packets::{Cell, Column, Row},
    report::{Report, TelemetryForm},
    wire::*,
};

/// UDP on this port is INT.
const INT_PORT: u16 = 5000;

fn options() -> dissect::Options {
    let mut options = dissect::Options::default();
    options.tunnels[0] = (INT_PORT, Kind::IntShim);
    options
}

fn made(text: &str) -> Packet {
    recipe::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn read(frame: &[u8]) -> Dissection<'_> {
    dissect_with(options(), Link::ETHERNET, frame, frame.len() as u32)
}

const ROCE: &str = "bth opcode=rc-send-only dest_qp=0x11 psn=7 / payload 64";
const HOPS: &str = "ifa_hop device_id=0x22 ttl=62 residence_ns=9000 queue=3 queue_depth=700 ingress_port=1 egress_port=2 congestion=3 / \
    ifa_hop device_id=0x11 ttl=63 residence_ns=800 queue_depth=4 ingress_port=5 egress_port=6";
const INT_HOPS: &str = "int_node node=0x22 / int_ports ingress_port=1 egress_port=2 / int_delay delay=9000 / int_queue queue=3 queue_depth=700 / \
    int_node node=0x11 / int_ports ingress_port=5 egress_port=6 / int_delay delay=800 / int_queue queue_depth=4";

/// What is around RoCE, and what becomes of its ICRC.
fn all() -> Vec<(String, State)> {
    let ifa = |behind: &str| format!("eth / ipv4 / ifa / udp / ifa_metadata{behind} / {ROCE}");
    let int = |behind: &str| format!("eth / ipv6 / udp dst_port={INT_PORT} / int_shim / {behind} / {ROCE}");
    [ifa(""), ifa(&format!(" / {HOPS}")), ifa(" / ifa_stack hex:0102030405060708"), ifa(&format!(" / {HOPS} / ifa_stack hex:20000000"))]
        .into_iter()
        .chain([
            int("int_header"),
            int(&format!("int_header hop_length=4 instructions=0xf000 / {INT_HOPS}")),
            int("int_header hop_length=11 instructions=0x6f80 domain=7 / int_ports / int_delay / int_ingress_time / int_egress_time / int_logical_ports / int_use / int_buffer / int_stack hex:01020304"),
            int("int_header hop_length=2 instructions=0xf000 / int_stack hex:0102030405060708"),
        ])
        .map(|text| (text, State::Unchecked))
        .chain([
            (format!("eth / csig_tag signal=2 value=17 locator=5 / ipv4 / udp / {ROCE}"), State::Good),
            (format!("eth / vlan vid=7 / csig_tag signal=1 / ipv6 / udp / {ROCE}"), State::Good),
            (format!("eth / csig_tag / vlan vid=7 / ipv4 / udp / {ROCE}"), State::Good),
            (format!("eth / macsec packet_number=9 / macsec_clear / ipv4 / udp / {ROCE} / trailer hex:00112233445566778899aabbccddeeff"), State::Good),
            (format!("eth / macsec has_sci=1 / macsecsci port=1 / macsec_clear / ipv4 / udp / {ROCE}"), State::Good),
        ])
        .collect()
}

fn kinds(d: &Dissection<'_>) -> Vec<Kind> {
    d.layers().iter().map(|layer| layer.kind).collect()
}

#[test]
fn what_is_around_roce_is_read_and_built_again_bit_for_bit() {
    for (text, state) in all() {
        let packet = made(&text);
        let frame = packet.build().to_vec();
        let d = read(&frame);
        assert!(d.notes().is_empty(), "{text}: {d:?}");
        assert_eq!(
            d.get::<Bth>().map(|bth| (bth.psn(), bth.dest_qp())),
            Some((Psn(7), Qpn(0x11))),
            "{text}: {d:?}"
        );
        assert_eq!((d.payload_len(), icrc::verify(&d), d.unread()), (64, state, None), "{text}");
        let put: Vec<Kind> = packet.parts().iter().map(|part| part.kind).collect();
        assert!(kinds(&d).starts_with(&put), "{text}: {:?}", kinds(&d));
        let again = Packet::from(&d);
        assert_eq!(again.build().to_vec(), frame, "{text}");
        assert_eq!(made(&recipe::print(&again)).build().to_vec(), frame, "{text}");
    }
}

#[test]
fn frames_cut_anywhere_are_read_as_far_as_they_go() {
    for (text, _) in all() {
        let frame = made(&text).build().to_vec();
        let whole = kinds(&read(&frame));
        for len in 0..frame.len() {
            let cut = dissect_with(options(), Link::ETHERNET, &frame[..len], frame.len() as u32);
            let headers: Vec<Kind> =
                kinds(&cut).into_iter().take_while(|kind| !matches!(kind, Kind::Payload)).collect();
            assert!(whole.starts_with(&headers), "{text} {len}: {headers:?}");
            for d in [cut, read(&frame[..len])] {
                assert_eq!(Packet::from(&d).build().to_vec(), d.frame(), "{text} {len}");
                assert!(d.hops().count() <= 2, "{text} {len}");
            }
        }
    }
}

#[test]
fn hops_are_the_same_by_ifa_and_int() {
    let far = Hop {
        device: Some(0x22),
        ttl: Some(62),
        ingress: Some(1),
        egress: Some(2),
        queue: Some(3),
        delay: Some(9000),
        queue_depth: Some(700),
        is_marked: Some(true),
    };
    let near = Hop {
        device: Some(0x11),
        ttl: Some(63),
        ingress: Some(5),
        egress: Some(6),
        queue: Some(0),
        delay: Some(800),
        queue_depth: Some(4),
        is_marked: Some(false),
    };
    let frame = made(&all()[1].0).build().to_vec();
    let d = read(&frame);
    assert_eq!((d.telemetry(), d.hops().collect::<Vec<_>>()), (Some(Telemetry::Ifa), vec![far, near]));
    let frame = made(&all()[5].0).build().to_vec();
    let d = read(&frame);
    let unsaid = |hop: Hop| Hop { ttl: None, is_marked: None, ..hop };
    assert_eq!(
        (d.telemetry(), d.hops().collect::<Vec<_>>()),
        (Some(Telemetry::Int), vec![unsaid(far), unsaid(near)])
    );
    let plain = made(&format!("eth / ipv4 / udp / {ROCE}")).build().to_vec();
    assert_eq!((read(&plain).telemetry(), read(&plain).hops().count()), (None, 0));
}

#[test]
fn filters_columns_and_explanations_know_them() {
    let frame = made(&all()[1].0).build().to_vec();
    let d = read(&frame);
    for (text, holds) in [
        ("ifa && ifa_hop && bth.psn == 7", true),
        ("ifa_hop.residence_ns == 800", true),
        ("ifa_hop.device_id == 5", false),
        ("csig || int_node", false),
    ] {
        let filter: Filter = text.parse().unwrap();
        let meta = FrameMeta { number: 1, time_ns: 0, icrc: None };
        assert_eq!(filter.matches(&d, &meta), holds, "{text}");
    }
    let value = |frame: &[u8], name: &str| {
        let record =
            Record { time: Time(0), link: Link::ETHERNET, interface: 0, wire_len: frame.len() as u32, frame };
        let d = read(frame);
        Column::of(name).unwrap().value(&Row {
            number: 1,
            record: &record,
            d: &d,
            icrc: None,
            is_other_udp: false,
        })
    };
    for (name, is) in [
        ("telemetry_hops", 2),
        ("telemetry_delay_ns", 9800),
        ("telemetry_max_delay_ns", 9000),
        ("telemetry_max_delay_device", 0x22),
        ("telemetry_max_queue_depth", 700),
    ] {
        assert_eq!(value(&frame, name), Cell::Unsigned(is), "{name}");
        assert_eq!(value(&made(&all()[8].0).build(), name), Cell::Unsigned(0).min_of(name), "{name}");
    }
    assert_eq!(value(&made(&all()[8].0).build(), "csig_value"), Cell::Unsigned(17));
    let text = printed(cli().args(["explain", "csig.signal"]));
    assert!(text.contains("delay of a hop"), "{text}");
    for kind in Kind::ALL.iter().filter(|kind| kind.is_telemetry()) {
        assert_eq!(template(*kind).len(), kind.info().unwrap().len);
    }
}

trait MinOf {
    fn min_of(self, name: &str) -> Cell;
}

impl MinOf for Cell {
    /// Of a packet with nothing but a tag: no hop, and so no delay.
    fn min_of(self, name: &str) -> Cell {
        if name == "telemetry_hops" { self } else { Cell::Empty }
    }
}

fn analyzed(frames: &[Vec<u8>]) -> Report {
    let mut analysis = Analysis::new(Options { dissect: options(), ..Options::default() });
    for (n, frame) in (0i64..).zip(frames) {
        let (time, wire_len) = (Time(n * 1000), frame.len() as u32);
        analysis.push(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame });
    }
    analysis.finish()
}

#[test]
fn roce_inside_is_analyzed_and_hops_are_rows() {
    let ifa = |n: u32| {
        made(&format!(
            "eth / ipv4 / ifa / udp / ifa_metadata / ifa_hop device_id=0x22 ttl=62 residence_ns={} queue_depth={n} congestion={} / \
             ifa_hop device_id=0x11 ttl=63 residence_ns=100 / bth opcode=rc-send-only dest_qp=0x11 psn={n} / payload 64",
            1000 + n,
            2 + u32::from(n == 9),
        ))
        .build()
        .to_vec()
    };
    let report = analyzed(&(0..10).map(ifa).collect::<Vec<_>>());
    let flow = &report.flows[0];
    assert_eq!((report.flows.len(), flow.packets, flow.payload_bytes), (1, 10, 640));
    let [far, near] = &report.head.telemetry[..] else { panic!("{:?}", report.head.telemetry) };
    assert_eq!((far.form, far.device, far.ttl, far.packets), (TelemetryForm::Ifa, Some(0x22), Some(62), 10));
    assert_eq!((far.marked, near.marked, near.device), (Some(1), Some(0), Some(0x11)));
    let delay = far.delay_ns.unwrap();
    assert_eq!((delay.min, delay.p50, delay.max), (1000, 1004, 1009));
    assert_eq!(far.queue_depth.unwrap().max, 9);
    assert!(far.sentence().contains("1.000 µs") || far.sentence().contains("1 µs"), "{}", far.sentence());
}

#[test]
fn tags_of_congestion_are_rows_and_cost_no_verdict() {
    let tagged = |n: u32| {
        let text = format!(
            "eth / csig_tag signal=2 value={n} locator=5 no_update={} / ipv4 / udp / bth opcode=rc-send-only dest_qp=0x11 psn={n} / payload 64",
            n / 9
        );
        made(&text).build().to_vec()
    };
    let report = analyzed(&(0..10).map(tagged).collect::<Vec<_>>());
    let [row] = &report.head.csig[..] else { panic!("{:?}", report.head.csig) };
    assert_eq!((row.signal, row.locator, row.packets, row.no_update), (2, 5, 10, 1));
    assert_eq!(row.value.map(|value| (value.min, value.p50, value.max)), Some((0, 4, 9)));
    assert_eq!((report.head.telemetry.len(), report.head.capture.rdma_packets), (0, 10));
    assert_eq!(report.head.capture.hidden_frames(), 0);
}

/// Metadata that does not stand where it should is not guessed.
#[test]
fn metadata_elsewhere_is_not_read() {
    for flags in [1, 8, 0x10] {
        let frame = made(&format!("eth / ipv4 / ifa flags={flags} / udp / ifa_metadata / {HOPS} / {ROCE}"))
            .build()
            .to_vec();
        let d = read(&frame);
        let unread = d.unread().unwrap();
        assert!(!d.has(Kind::Bth) && unread.may_hide_packets(), "{d:?}");
        assert_eq!(unread.to_string(), format!("IFA flags {flags:#06x}"));
    }
    // Layouts of other namespaces have another length: the words stay words.
    let frame =
        made(&format!("eth / ipv4 / ifa gns=2 / udp / ifa_metadata / {HOPS} / {ROCE}")).build().to_vec();
    let d = read(&frame);
    assert!(d.has(Kind::Bth) && d.hops().count() == 0 && kinds(&d).contains(&Kind::IfaStack), "{d:?}");
    // More hops than a packet can have.
    let many = [HOPS; 15].join(" / ");
    let frame = made(&format!("eth / ipv4 / ifa / udp / ifa_metadata / {many} / {ROCE}")).build().to_vec();
    assert_eq!((read(&frame).hops().count(), read(&frame).has(Kind::Bth)), (30, true));
}

/// What is encrypted, how it is named, and whether that is known of it.
#[test]
fn what_is_encrypted_is_counted_and_named() {
    let cases = [
        ("eth / macsec encrypted=1 changed=1 / payload 60", "EtherType 0x88e5 (MACsec)", true),
        (
            "eth / macsec has_sci=1 encrypted=1 changed=1 / macsecsci / payload 60",
            "EtherType 0x88e5 (MACsec)",
            true,
        ),
        ("eth / ipv4 / esp / payload 60", "IP protocol 50 (ESP)", true),
        ("eth / ipv6 / esp / payload 60", "IP protocol 50 (ESP)", true),
        ("eth / ipv4 / udp / esp / payload 60", "encrypted UDP port 4500 (IPsec)", true),
        ("eth / ipv4 / udp / psp / payload 60", "encrypted UDP port 1000 (PSP)", true),
        (
            "eth / ipv4 / udp / psp length=2 has_cookie=1 / pspmore hex:0102030405060708 / payload 60",
            "encrypted UDP port 1000 (PSP)",
            true,
        ),
        ("eth / ipv4 / udp dst_port=4500 / payload hex:00000000010203040506", "UDP port 4500 (IPsec)", false),
        ("eth / ipv4 / udp src_port=4500 dst_port=4500 / payload hex:ff", "UDP port 4500 (IPsec)", false),
        ("eth / ipv4 / udp dst_port=1000 / payload zeros 60", "UDP port 1000 (PSP)", false),
        ("eth ether_type=0x9ac6 / payload 60", "EtherType 0x9ac6 (TTPoE)", false),
    ];
    for (text, what, is_encrypted) in cases {
        let packet = made(text);
        let frame = packet.build().to_vec();
        assert_eq!(Packet::from(&read(&frame)).build().to_vec(), frame, "{text}");
        let report = analyzed(&[frame]);
        let [one] = &report.head.capture.not_decoded[..] else {
            panic!("{text}: {:?}", report.head.capture.not_decoded)
        };
        assert_eq!(
            (one.what.as_str(), one.is_encrypted, one.may_hold_packets),
            (what, is_encrypted, is_encrypted),
            "{text}"
        );
        let says = report.head.findings.iter().any(|finding| finding.id == "capture.encrypted");
        assert_eq!(says, is_encrypted, "{text}");
    }
}
