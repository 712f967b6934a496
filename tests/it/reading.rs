//! Links and encapsulations that are read, with tshark as a second judge; what is not read is said, and gates over it are undecided.

use std::{fs, net::Ipv4Addr};

use crate::support::{
    programs::{cli, ended, has_wireshark, skip},
    scratch::Scratch,
};
use rdmawire::{
    analyze::{Analysis, Ended, Options},
    capture::{self, Format, Interface, Record, Sink, Source, Time},
    craft::{Channel, Data, Packet, Path as Way, Request, recipe},
    dissect::{self, Link, dissect, dissect_with},
    icrc,
    wire::*,
};

/// A RoCEv2 packet, behind what a recipe begins with.
const PACKET: &str = "ipv4 / udp / bth opcode=rc-send-only dest_qp=0x11 psn=7 / payload 64";

/// The link type, the beginning of the recipe, and whether tshark reads it as we do.
const WRAPPED: &[(u16, &str, bool)] = &[
    (0, "loopback", true),
    (108, "loopback", true),
    (9, "ppp", true),
    (50, "ppp_address address=0xff control=3 / ppp", true),
    (242, "ipoib", true),
    (282, "broadcom_tag tag=0x20000000 / eth", false),
    (1, "eth / vntag", true),
    (1, "eth / etag", true),
    (1, "eth / cisco_metadata", true),
    (1, "eth / rtag", true),
    (1, "eth / arista_tag / arista_time64 seconds=1700000000", true),
    (1, "eth / edsa_tag", false),
    (1, "eth ether_type=0x92 / llc / snap", true),
    (1, "eth / vlan / vntag / vlan vid=7", true),
    (1, "eth / itag / eth", true),
    (1, "eth / trill / eth", true),
    (1, "eth / nsh / eth", true),
    (1, "eth / ipv4 / udp / vxlan_gpe / eth", true),
    (1, "eth / ipv4 / udp / vxlan_gpe", true),
    (1, "eth / ipv4 / udp / vxlan_gpe / nsh / eth", true),
    (1, "eth / ipv4 / udp dst_port=8472 / vxlan / eth", false),
    (1, "eth / ipv4 / udp / mpls", true),
    (1, "eth / ipv4 / udp / gue", false),
    (1, "eth / ipv4 / udp / gre / eth", true),
    (1, "eth / ipv4 / udp / tzsp / tzsp_tags hex:01 / eth", true),
    (1, "eth / ipv4 / etherip / eth", true),
    (1, "eth / ipv6 / eth", true),
    (1, "eth / ipv4 / eth", true),
];

/// A packet of this beginning.
fn wrapped(link: u16, around: &str) -> Packet {
    let text = format!("link {link} / {around} / {PACKET}");
    recipe::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn links_and_encapsulations_are_read() {
    let scratch = Scratch::new("reading");
    let path = scratch.join("all.pcapng");
    let mut sink = capture::create(&path, Format::Pcapng, &[], capture::Options::default()).unwrap();
    for (n, (link, around, _)) in WRAPPED.iter().enumerate() {
        let packet = wrapped(*link, around);
        let frame = packet.build();
        let d = dissect(Link(*link), &frame, frame.len() as u32);
        assert_eq!(d.get::<Bth>().map(|bth| bth.psn()), Some(Psn(7)), "{link} {around}: {d:?}");
        assert_eq!(
            (icrc::verify(&d), d.payload_len(), d.notes()),
            (icrc::State::Good, 64, &[][..]),
            "{around}"
        );
        assert_eq!(Packet::from(&d).build(), frame, "{around}: it rebuilds bit for bit");
        let time = Time(n as i64 * 1000);
        let wire_len = frame.len() as u32;
        sink.put(&Record { time, link: Link(*link), interface: n as u16, wire_len, frame: &frame }).unwrap();
    }
    sink.finish().unwrap();
    if !has_wireshark("tshark") {
        return skip("tshark", "it is not installed");
    }
    let mut tshark = std::process::Command::new("tshark");
    tshark.arg("-r").arg(&path).args(["-T", "fields", "-e", "frame.number", "-e", "infiniband.bth.psn"]);
    let (_, text, _) = ended(&mut tshark);
    for (line, (link, around, is_judge)) in text.lines().zip(WRAPPED) {
        assert!(!is_judge || line.ends_with("\t7"), "tshark reads {link} {around} as {line:?}");
    }
}

/// A switch's in-band telemetry changes the IP header, so that the ICRC cannot be checked.
#[test]
fn a_packet_with_metadata_of_switches_is_read() {
    let head = recipe::parse(
        "eth / ipv4 / ifa / udp dst_port=4791 / ifa_metadata length=2 / payload 8 / no_padding",
    )
    .unwrap()
    .build();
    let plain = recipe::parse(&format!("eth / {PACKET}")).unwrap().build();
    let bth = plain.len() - 64 - 4 - 12;
    let mut frame = [&head[..], &plain[bth..]].concat();
    let total = (frame.len() - 14) as u16;
    frame[16..18].copy_from_slice(&total.to_be_bytes());
    let d = dissect(Link::ETHERNET, &frame, frame.len() as u32);
    assert_eq!((d.get::<Bth>().map(|bth| bth.psn()), d.payload_len()), (Some(Psn(7)), 64), "{d:?}");
    assert_eq!(icrc::verify(&d), icrc::State::Unchecked);
}

/// A tunnel on a port of the user's.
#[test]
fn a_port_can_be_that_of_a_tunnel() {
    let frame = wrapped(1, "eth / ipv4 / udp dst_port=5555 / vxlan vni=9 / eth").build();
    let mut told = dissect::Options::default();
    told.tunnels[0] = (5555, Kind::Vxlan);
    let of = |options| dissect_with(options, Link::ETHERNET, &frame, frame.len() as u32);
    assert!(!of(dissect::Options::default()).has(Kind::Bth));
    assert_eq!(of(told).get::<Vxlan>().map(Vxlan::vni), Some(9));
    // The fast form of the analysis knows it too.
    for reference in [false, true] {
        let options = Options { dissect: told, reference, ..Options::default() };
        assert_eq!(analyzed(options, &[(Link::ETHERNET, &frame)]).report().head.capture.rdma_packets, 1);
    }
}

fn analyzed(options: Options, frames: &[(Link, &[u8])]) -> Ended {
    let mut analysis = Analysis::new(options);
    for (n, (link, frame)) in frames.iter().enumerate() {
        let (time, wire_len) = (Time(n as i64 * 1000), frame.len() as u32);
        analysis.push(&Record { time, link: *link, interface: 0, wire_len, frame });
    }
    analysis.end()
}

/// What is not read, and whether a packet may be in it.
#[test]
fn what_is_not_read_is_counted_and_named() {
    let eth = |ether_type: &str| {
        recipe::parse(&format!("eth ether_type={ether_type} / payload zeros 60")).unwrap().build()
    };
    let ip = |protocol: &str| {
        recipe::parse(&format!("eth / ipv4 protocol={protocol} / payload 60")).unwrap().build()
    };
    let udp = |ports: &str| recipe::parse(&format!("eth / ipv4 / udp {ports} / payload 60")).unwrap().build();
    let cases = [
        (Link::ETHERNET, eth("0x88e5"), "EtherType 0x88e5 (MACsec)", true),
        (Link::ETHERNET, eth("0x0806"), "EtherType 0x0806 (ARP)", false),
        (Link::ETHERNET, eth("0x1234"), "EtherType 0x1234", true),
        (Link::ETHERNET, ip("6"), "IP protocol 6 (TCP)", false),
        (Link::ETHERNET, ip("50"), "IP protocol 50 (ESP)", true),
        (Link::ETHERNET, udp("src_port=40000 dst_port=53"), "UDP port 53 (DNS)", false),
        (Link::ETHERNET, udp("src_port=5001 dst_port=40000"), "UDP port 5001", false),
        (Link(127), vec![0; 60].into(), "link type 127 (IEEE 802.11 radiotap)", true),
        (Link(300), vec![0; 60].into(), "link type 300", true),
        (Link::ETHERNET, eth("0x8808"), "MAC control opcode 0x0000", false),
    ];
    for (link, frame, what, may_hold) in &cases {
        let ended = analyzed(Options::default(), &[(*link, frame)]);
        let head = &ended.report().head;
        let [one] = &head.capture.not_decoded[..] else { panic!("{what}: {:?}", head.capture.not_decoded) };
        assert_eq!((one.what.as_str(), one.frames, one.may_hold_packets), (*what, 1, *may_hold));
        assert_eq!(head.capture.hidden_frames(), u64::from(*may_hold));
        let says = |id: &str| head.findings.iter().any(|finding| finding.id == id);
        // What is encrypted has a finding of its own, and no other.
        let is_encrypted = says("capture.encrypted");
        assert_eq!(is_encrypted, what.contains("MACsec") || what.contains("ESP"), "{what}");
        assert_eq!(says("capture.not_decoded"), *may_hold && !is_encrypted, "{what}");
        assert!(says("capture.no_rdma") || is_encrypted || what.starts_with("MAC control"), "{what}");
    }
}

/// Frames of one interface cannot be read: no gate over the rest holds, but one that more frames cannot break.
#[test]
fn gates_over_what_was_not_read_are_undecided() {
    let scratch = Scratch::new("reading-gate");
    let path = scratch.join("half.pcapng");
    let interfaces = [Interface::new(Link::ETHERNET), Interface::new(Link(127))];
    let mut sink = capture::create(&path, Format::Pcapng, &interfaces, capture::Options::default()).unwrap();
    let frame = recipe::parse(&format!("eth / {PACKET}")).unwrap().build();
    for (n, of) in interfaces.iter().enumerate() {
        let (interface, wire_len) = (n as u16, frame.len() as u32);
        sink.put(&Record { time: Time(n as i64), link: of.link, interface, wire_len, frame: &frame })
            .unwrap();
    }
    sink.finish().unwrap();
    let status = |rule: &str| ended(cli().args(["check", rule]).arg(&path)).0;
    for undecided in
        ["naks == 0", "flows == 1", "none(naks > 0)", "all(packets < 9)", "capture.rdma_packets <= 1"]
    {
        assert_eq!(status(undecided), Some(2), "{undecided}");
    }
    for holds in ["flows >= 1", "capture.packets == 2", "capture.not_decoded == 1", "any(packets >= 1)"] {
        assert_eq!(status(holds), Some(0), "{holds}");
    }
    let (_, text, _) = ended(cli().args(["check", "naks == 0"]).arg(&path));
    assert!(text.contains("1 unknown"), "{text}");
}

/// Packets that IP fragmented: the first fragment says how long they are.
#[test]
fn fragments_count_with_the_length_that_their_headers_promise() {
    let way = Way::rocev2(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let channel = Channel { mtu: 4096, ..Channel::rc(way, Qpn(0x12), Qpn(0x11)) };
    let write = Request::Write { len: 4096, va: 0, r_key: 1, imm: None };
    let whole = channel.request(Psn(5), write).unwrap().data(Data::pattern(1)).iter().next().unwrap().build();
    let fragments = fragments_of(&whole, 14, 1480);
    assert_eq!(fragments.len(), 3);
    for reference in [false, true] {
        let options = Options { reference, ..Options::default() };
        let frames: Vec<(Link, &[u8])> = fragments.iter().map(|frame| (Link::ETHERNET, &frame[..])).collect();
        let ended = analyzed(options, &frames);
        let report = ended.report();
        let capture = &report.head.capture;
        assert_eq!((capture.rdma_packets, capture.fragmented_packets, capture.malformed_packets), (1, 1, 0));
        assert_eq!((capture.truncated_packets, capture.hidden_frames()), (0, 0));
        assert_eq!(report.flows.row(0).unwrap().payload_bytes, 4096);
        assert!(report.head.findings.iter().any(|finding| finding.id == "fragments"));
    }
    // In a tunnel whose outer packet is fragmented: nothing was cut.
    let outer = recipe::parse("eth / ipv4 / udp / vxlan / no_padding").unwrap().build();
    let mut tunnelled = [&outer[..], &whole[..]].concat();
    let len = tunnelled.len() as u16;
    tunnelled[16..18].copy_from_slice(&(len - 14).to_be_bytes());
    tunnelled[38..40].copy_from_slice(&(len - 34).to_be_bytes());
    let first = &fragments_of(&tunnelled, 14, 1480)[0];
    let d = dissect(Link::ETHERNET, first, first.len() as u32);
    assert_eq!((d.payload_len(), d.is_cut(), d.is_fragment()), (4096, false, true));
    assert_eq!(icrc::verify(&d), icrc::State::Unchecked);
}

/// The fragments of an IPv4 packet behind a link header of so many bytes.
fn fragments_of(frame: &[u8], link: usize, most: usize) -> Vec<Vec<u8>> {
    let body = &frame[link + 20..];
    let parts = body.chunks(most).enumerate();
    parts
        .map(|(n, part)| {
            let mut one = [&frame[..link + 20], part].concat();
            let total = (20 + part.len()) as u16;
            let offset = (n * most / 8) as u16 | if (n + 1) * most < body.len() { 0x2000 } else { 0 };
            one[link + 2..link + 4].copy_from_slice(&total.to_be_bytes());
            one[link + 6..link + 8].copy_from_slice(&offset.to_be_bytes());
            one[link + 10..link + 12].fill(0);
            let sum = rdmawire::checksum::internet(&one[link..link + 20]);
            one[link + 10..link + 12].copy_from_slice(&sum.to_be_bytes());
            one
        })
        .collect()
}

/// Answers of a name server to a client whose port is that of RoCE.
#[test]
fn other_traffic_on_the_port_is_no_roce() {
    let reply = |n: u16| {
        let dns =
            [&n.to_be_bytes()[..], &[0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0, 3, b'w', b'w', b'w', 0]].concat();
        let packet = recipe::parse("eth / ipv4 / udp src_port=53 dst_port=4791").unwrap();
        packet.keep(rdmawire::craft::ComputedField::UdpSourcePort).payload(dns).build()
    };
    let replies: Vec<_> = (0..512u16).map(|n| reply(n * 0x53)).collect();
    for reference in [false, true] {
        let frames: Vec<(Link, &[u8])> = replies.iter().map(|frame| (Link::ETHERNET, &frame[..])).collect();
        let ended = analyzed(Options { reference, ..Options::default() }, &frames);
        let capture = &ended.report().head.capture;
        assert_eq!((capture.rdma_packets, capture.not_decoded.len()), (0, 1), "{:?}", capture.not_decoded);
        assert_eq!(capture.malformed_packets, 0);
        assert!(capture.not_decoded[0].what.ends_with("from port 53 (DNS)"));
    }
}

/// Pauses of which the capture has only the beginning.
#[test]
fn pauses_that_are_cut_are_not_none() {
    let pause = rdmawire::craft::Hold::new(Mac([2, 0, 0, 0, 0, 9]), Some(8), 0, 1).frame(100).build();
    let frames: Vec<(Link, &[u8])> = (0..4).map(|_| (Link::ETHERNET, &pause[..18])).collect();
    let mut analysis = Analysis::new(Options::default());
    for (n, (link, frame)) in frames.iter().enumerate() {
        analysis.push(&Record { time: Time(n as i64), link: *link, interface: 0, wire_len: 60, frame });
    }
    let ended = analysis.end();
    let head = &ended.report().head;
    assert_eq!((&head.pause, head.capture.hidden_frames()), (&None, 4));
    assert_eq!(head.why["pause"], rdmawire::report::Reason::Truncated);
}

/// The FECN bit of native InfiniBand is a mark, of the flow too.
#[test]
fn a_native_mark_counts_for_its_flow() {
    let frame =
        recipe::parse("lrh / bth opcode=rc-send-only dest_qp=0x11 fecn=1 / payload 64").unwrap().build();
    let ended = analyzed(Options::default(), &[(Link::INFINIBAND, &frame), (Link::INFINIBAND, &frame)]);
    let report = ended.report();
    assert_eq!((report.head.congestion.ce_packets, report.flows.row(0).unwrap().ce_packets), (2, 2));
}

/// An ACK with BECN tells the sender of congestion, where a CNP would elsewhere: it counts for its flow, and a CNP does not count twice.
#[test]
fn native_answers_with_becn_count_for_their_flow() {
    let build = |text: &str| recipe::parse(text).unwrap().build();
    let told = build("lrh / bth opcode=rc-acknowledge dest_qp=0x11 becn=1 / aeth");
    let plain = build("lrh / bth opcode=rc-acknowledge dest_qp=0x11 psn=1 / aeth");
    let cnp = build("lrh / bth opcode=0x80 dest_qp=0x11 becn=1 / cnp");
    let frames = [&told, &plain, &told, &cnp].map(|frame| (Link::INFINIBAND, &frame[..]));
    let ended = analyzed(Options::default(), &frames);
    let flow = ended.report().flows.row(0).unwrap().into_owned();
    assert_eq!((flow.becn_packets, flow.cnps, flow.ce_packets), (2, 1, 0));
}

/// Service levels and virtual lanes of a native flow, which may change on its way.
#[test]
fn lanes_of_a_native_flow_are_listed() {
    let frames: Vec<_> = [(3, 1), (3, 2), (4, 1)]
        .iter()
        .map(|(sl, vl)| {
            recipe::parse(&format!(
                "lrh sl={sl} vl={vl} / bth opcode=ud-send-only p_key=0x8007 dest_qp=0x11 / deth src_qp=0x12 / payload 64"
            ))
        })
        .map(|packet| packet.unwrap().build())
        .collect();
    let frames: Vec<(Link, &[u8])> = frames.iter().map(|frame| (Link::INFINIBAND, &frame[..])).collect();
    let ended = analyzed(Options::default(), &frames);
    let flow = ended.report().flows.row(0).unwrap().into_owned();
    assert_eq!((flow.sls, flow.vls, flow.dscps), (vec![3, 4], vec![1, 2], vec![]));
    assert_eq!((flow.p_key, flow.application), (0x8007, None));
}

/// Frames that have the same time, 32 at a time.
#[test]
fn times_of_batches_are_learned() {
    let way = Way::rocev2(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let there = Channel::rc(way, Qpn(0x12), Qpn(0x11));
    let mut analysis = Analysis::new(Options::default());
    for n in 0..32 * 20u32 {
        let write = Request::Write { len: 64, va: 0, r_key: 1, imm: None };
        let packet = match n % 2 {
            0 => there.request(Psn(n / 2), write).unwrap().iter().next().unwrap(),
            _ => there.reversed().ack(Psn(n / 2), n / 2),
        };
        let frame = packet.build();
        let (time, wire_len) = (Time(i64::from(n / 32) * 1_000_003), frame.len() as u32);
        analysis.push(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame: &frame });
    }
    let ended = analysis.end();
    let report = ended.report();
    let capture = &report.head.capture;
    assert_eq!((capture.timestamp_batch_frames, capture.timestamp_batch_ns), (Some(32), Some(1_000_003)));
    let row = report.flows.row(0).unwrap();
    assert!(row.latency_ns.ack_rtt.is_none(), "{:?}", row.latency_ns.ack_rtt);
}

/// Two captures that were joined byte by byte.
#[test]
fn joined_captures_are_read_as_one() {
    let one = fs::read("pcaps/loss1_rc_write-B-300.pcap").unwrap();
    let frames = |bytes: Vec<u8>| {
        let mut reader = capture::Reader::from_read(std::io::Cursor::new(bytes), "joined").unwrap();
        let mut frames = Vec::new();
        while let Some(record) = reader.next().unwrap() {
            frames.push((record.time, record.frame.to_vec()));
        }
        (frames, reader.info().clone())
    };
    let (single, _) = frames(one.clone());
    let (joined, info) = frames([&one[..], &one[..]].concat());
    assert_eq!(joined, [&single[..], &single[..]].concat());
    assert_eq!((info.interfaces.len(), info.problem_count), (1, 0));
    // The second one has another link type.
    let mut other = one.clone();
    other[20] = 101;
    let (_, info) = frames([&one[..], &other[..]].concat());
    assert_eq!(info.interfaces.iter().map(|of| of.link).collect::<Vec<_>>(), [Link::ETHERNET, Link::RAW]);
}

/// The header of an ERF record was not on the wire.
#[test]
fn lengths_do_not_count_the_header_of_an_erf_record() {
    let scratch = Scratch::new("reading-erf");
    let path = scratch.join("x.erf");
    let frame = recipe::parse(&format!("eth / {PACKET}")).unwrap().build();
    let mut sink = capture::create(&path, Format::Erf, &[], capture::Options::default()).unwrap();
    let wire_len = frame.len() as u32;
    sink.put(&Record { time: Time(1), link: Link::ETHERNET, interface: 0, wire_len, frame: &frame }).unwrap();
    sink.finish().unwrap();
    let mut reader = capture::open(&path).unwrap();
    let record = reader.next().unwrap().unwrap();
    assert_eq!(record.lengths(), (wire_len, wire_len));
    let mut analysis = Analysis::new(Options::default());
    analysis.push(&record);
    let ended = analysis.end();
    let capture = &ended.report().head.capture;
    assert_eq!((capture.bytes_on_wire, capture.bytes_captured), (wire_len.into(), wire_len.into()));
}

/// What the network marks on a tunnel is the packet's mark, where it is capable of one (RFC 6040); a mirror's way to the capture is not the packet's.
#[test]
fn marks_on_tunnels_count() {
    let roce = |ecn: u8| {
        format!(
            "ipv4 src=10.0.0.1 dst=10.0.0.2 ecn={ecn} / udp / bth opcode=rc-send-only dest_qp=0x11 / payload 64"
        )
    };
    let marked_of = |text: String| {
        let frame = recipe::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}")).build();
        [true, false].map(|reference| {
            let options = Options { reference, ..Options::default() };
            let ended = analyzed(options, &[(Link::ETHERNET, &frame), (Link::ETHERNET, &frame)]);
            let flow = ended.report().flows.row(0).unwrap().into_owned();
            (flow.ce_packets, flow.ect_packets)
        })
    };
    for (outer, is_tunnel) in [
        ("eth / ipv4 ecn=3 / udp / vxlan / eth / ", true),
        ("eth / ipv6 ecn=3 / udp / vxlan / eth / ", true),
        ("eth / ipv4 ecn=3 / ", true),
        ("eth / ipv4 ecn=3 / gre / ", true),
        ("eth / ipv4 ecn=3 / gre / erspan2 / eth / ", false),
        ("eth / ipv4 ecn=3 / gre / eth / ", false),
    ] {
        let marked = if is_tunnel { (2, 2) } else { (0, 2) };
        assert_eq!(marked_of(format!("{outer}{}", roce(2))), [marked; 2], "{outer}");
        assert_eq!(marked_of(format!("{outer}{}", roce(0))), [(0, 0); 2], "{outer}");
        assert_eq!(marked_of(format!("{outer}{}", roce(3))), [(2, 2); 2], "{outer}");
        let unmarked = outer.replace("ecn=3", "ecn=2");
        assert_eq!(marked_of(format!("{unmarked}{}", roce(2))), [(0, 2); 2], "{unmarked}");
    }
}

/// VCRCs of native InfiniBand are counted beside ICRCs: a wrong one is a finding, and where nearly all are wrong, they say nothing. Without any there is
/// no count, and the reason.
#[test]
fn wrong_vcrcs_are_counted() {
    let packet = |psn: u32| {
        recipe::parse(&format!("lrh / bth opcode=rc-send-only dest_qp=0x11 psn={psn} / payload 64"))
            .unwrap()
            .build()
            .to_vec()
    };
    let analysis = |is_bad: fn(u32) -> bool, cut: usize| {
        let mut analysis = Analysis::new(Options::default());
        for psn in 0..20 {
            let mut frame = packet(psn);
            if is_bad(psn) {
                *frame.last_mut().unwrap() ^= 1;
            }
            let (wire_len, kept) = (frame.len() as u32, frame.len() - cut);
            let (time, link) = (Time(psn.into()), Link::INFINIBAND);
            analysis.push(&Record { time, link, interface: 0, wire_len, frame: &frame[..kept] });
        }
        analysis.end()
    };
    let of = |ended: &Ended| {
        let report = ended.report();
        let flow = report.flows.row(0).unwrap().into_owned();
        let found: Vec<String> = report.head.findings.iter().map(|one| one.id.to_string()).collect();
        (flow.vcrc.map(|of| [of.good, of.bad]), flow.icrc.bad, flow.why.get("vcrc").copied(), found)
    };
    let (counts, icrcs, _, found) = of(&analysis(|psn| psn % 10 == 3, 0));
    assert_eq!((counts, icrcs), (Some([18, 2]), 0));
    assert!(found.contains(&"vcrc".to_owned()) && !found.contains(&"vcrc.global".to_owned()), "{found:?}");
    let (counts, _, _, found) = of(&analysis(|_| true, 0));
    assert_eq!(counts, Some([0, 20]));
    assert!(found.contains(&"vcrc.global".to_owned()) && !found.contains(&"vcrc".to_owned()), "{found:?}");
    let (counts, _, why, found) = of(&analysis(|_| true, 2));
    assert_eq!((counts, why), (None, Some(rdmawire::report::Reason::NoVcrc)));
    assert!(!found.iter().any(|id| id.starts_with("vcrc")), "{found:?}");
    // RoCE has none: there is no figure, and no reason to give.
    let roce = recipe::parse("eth / ipv4 / udp / bth opcode=rc-send-only dest_qp=0x11 / payload 64")
        .unwrap()
        .build();
    let ended = analyzed(Options::default(), &[(Link::ETHERNET, &roce)]);
    let flow = ended.report().flows.row(0).unwrap().into_owned();
    assert!(flow.vcrc.is_none() && !flow.why.contains_key("vcrc"));
}

/// A VCRC is computed eight bytes at a time: where its parts are divided makes no difference.
#[test]
fn a_vcrc_of_parts_is_that_of_the_whole() {
    let bytes: Vec<u8> = (0..100u32).map(|n| (n * 37 + 11) as u8).collect();
    for len in 0..bytes.len() {
        let whole = icrc::vcrc(&bytes[..len]);
        for at in 0..=len {
            assert_eq!(icrc::vcrc_of_parts(&[&bytes[..at], &bytes[at..len]]), whole, "{len} {at}");
        }
        let by_bytes: Vec<&[u8]> = bytes[..len].chunks(1).collect();
        assert_eq!(icrc::vcrc_of_parts(&by_bytes), whole, "{len}");
    }
}
