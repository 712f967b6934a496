//! Classes of traffic, against scenarios and against the frames one by one.

use std::collections::BTreeMap;

use crate::support::{
    merged,
    programs::{cli, printed},
};
use rdmawire::{
    analyze::{Analysis, Class, Options, QosMap, metric::classes::Classes},
    capture::{Record, Time},
    dissect::{Link, dissect},
    opcode::Operation,
    report::{
        PairClass, PriorityBy, Reason, Renderer, Report, TrafficClass, TrafficKind,
        text::{self, Text},
    },
    sim::{self, Run, Scenario},
    wire::*,
};

struct Frame {
    time: i64,
    link: Link,
    wire_len: u32,
    bytes: Vec<u8>,
}

fn play(text: &str) -> Run {
    sim::run(&Scenario::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"))).unwrap()
}

fn frames(run: &Run) -> Vec<Frame> {
    let (mut frames, mut all) = (run.frames(0), Vec::new());
    while let Some(frame) = frames.next() {
        let bytes = frame.bytes.to_vec();
        all.push(Frame { time: frame.time_ns, link: frame.link, wire_len: frame.wire_len, bytes });
    }
    all
}

fn analyze(frames: &[Frame], options: Options) -> Report {
    let mut analysis = Analysis::new(options);
    for Frame { time, link, wire_len, bytes } in frames {
        let (time, wire_len) = (Time(*time), *wire_len);
        analysis.push(&Record { time, link: *link, interface: 0, wire_len, frame: bytes });
    }
    analysis.finish()
}

fn with_map(text: &str, map: &str) -> Report {
    let map: QosMap = toml::from_str(map).unwrap();
    map.check().unwrap();
    analyze(&frames(&play(text)), Options { qos: Some(map), ..Options::default() })
}

/// What each class has, counted over the frames: packets, ACKs, CNPs, marked packets, WRITEs.
type Counts = BTreeMap<(Option<u8>, Option<u8>), [u64; 5]>;

fn counted(frames: &[Frame]) -> Counts {
    let mut counts = Counts::new();
    for frame in frames {
        let d = dissect(frame.link, &frame.bytes, frame.wire_len);
        let (ip, opcode) = (d.get::<Ipv4>().unwrap(), d.opcode().unwrap());
        let key = (Some(ip.dscp()), d.get::<Vlan>().map(Vlan::pcp));
        let is = |operation| (opcode.operation() == Some(operation)) as u64;
        let more = [
            1,
            is(Operation::Acknowledge),
            is(Operation::Cnp),
            (ip.ecn() == Ecn::CE) as u64,
            is(Operation::Write),
        ];
        let class = counts.entry(key).or_default();
        (0..5).for_each(|n| class[n] += more[n]);
    }
    counts
}

fn reported(report: &Report) -> Counts {
    let row = |class: &TrafficClass| {
        let o = &class.operations;
        ((class.dscp, class.pcp), [class.packets, o.acks, o.cnps, class.ce_packets, o.writes])
    };
    report.head.traffic_classes.iter().map(row).collect()
}

fn ids(report: &Report) -> Vec<&str> {
    report.head.findings.iter().map(|finding| &*finding.id).filter(|id| id.starts_with("class.")).collect()
}

const MARKED: &str = "[[segment]]\nright = { mark = 0.05, drop = 0.002 }\n[[segment]]\n";
const WRITES: &str = "operations = [{ op = \"write\", size = \"64KiB\", count = 30 }]\n";

#[test]
fn classes_have_what_the_frames_have() {
    let both_ways = "operations = [{ op = \"write\", size = \"64KiB\", count = 30 }, { op = \"write\", size = \"16KiB\", count = 30, by = \"to\" }]\n";
    let texts = [
        format!("[[connection]]\nvlan = 7\n{WRITES}{MARKED}[cnp]\npcp = 6"),
        // Two connections, in two classes, whose ACKs are in a third.
        format!(
            "[[connection]]\nack_dscp = 10\n{WRITES}[[connection]]\ndscp = 8\nack_dscp = 10\n{WRITES}{MARKED}"
        ),
        // ACKs and data of both directions in the same flows.
        format!("[[connection]]\nack_dscp = 10\n{both_ways}"),
    ];
    for text in texts {
        let run = play(&text);
        let frames = frames(&run);
        for reference in [false, true] {
            let report = analyze(&frames, Options { reference, ..Options::default() });
            assert_eq!(reported(&report), counted(&frames), "{text}");
            let sum = |of: fn(&TrafficClass) -> u64| report.head.traffic_classes.iter().map(of).sum::<u64>();
            let resent: u64 = report.flows.iter().map(|flow| flow.requests.retransmits).sum();
            let bytes: u64 = report.flows.iter().map(|flow| flow.wire_bytes).sum();
            let lost: u64 = report
                .flows
                .iter()
                .filter_map(|f| f.requests.losses.on_network())
                .map(|[least, _]| least)
                .sum();
            assert_eq!((sum(|c| c.retransmits), sum(|c| c.wire_bytes)), (resent, bytes), "{text}");
            let of_classes: u64 =
                report.head.traffic_classes.iter().filter_map(|c| c.lost).map(|[least, _]| least).sum();
            assert_eq!(of_classes, lost, "{text}");
            for class in &report.head.traffic_classes {
                let ratio =
                    (class.ect_packets > 0).then(|| class.ce_packets as f64 / class.ect_packets as f64);
                assert_eq!(class.ce_ratio, ratio, "{text}");
            }
            let data = &report.head.traffic_classes[0];
            assert!(data.ack_rtt_ns.is_some() && data.rate_bps > Some(1_000_000_000), "{data:?}");
        }
    }
}

#[test]
fn a_priority_that_changes_within_a_flow() {
    let mut frames = frames(&play(&format!("[[connection]]\nvlan = 7\npcp = 3\n{WRITES}")));
    let mut changed = 0;
    for (n, frame) in frames.iter_mut().enumerate().filter(|(n, _)| n % 7 == 3) {
        assert_eq!(frame.bytes[14] >> 5, 3, "{n}");
        frame.bytes[14] = frame.bytes[14] & 0x1f | 5 << 5;
        changed += 1;
    }
    let report = analyze(&frames, Options::default());
    assert_eq!(reported(&report), counted(&frames));
    let of_5 = report.head.traffic_classes.iter().find(|class| class.pcp == Some(5)).unwrap();
    assert_eq!((of_5.packets, of_5.priority, of_5.priority_by), (changed, Some(5), Some(PriorityBy::Pcp)));
    assert!(ids(&report).contains(&"class.several"), "{:?}", report.head.qos);
}

#[test]
fn what_the_map_wants() {
    let right = "pfc = [3]\ncnp = 6\n[dscp]\n26 = 3";
    let text =
        |connection: &str| format!("[[connection]]\n{connection}\n{WRITES}{MARKED}[cnp]\ninterval = \"4us\"");
    let found = |connection: &str, map: &str| {
        let report = with_map(&text(connection), map);
        ids(&report).iter().map(|&id| id.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found("", right), [""; 0]);
    assert_eq!(found("", "pfc = [4]\ncnp = 6"), ["class.no_pfc"]);
    assert_eq!(found("", "pfc = [3]\ncnp = 5"), ["class.cnp"]);
    assert_eq!(found("vlan = 9\npcp = 3", right), [""; 0]);
    assert_eq!(found("vlan = 9\npcp = 4", right), ["class.disagree"]);
    // Trusting the tag, that is another priority too.
    assert_eq!(found("vlan = 9\npcp = 4", &format!("trust = \"pcp\"\n{right}\n[pcp]\n4 = 3")), ["class.cnp"]);
    assert_eq!(found("ack_dscp = 46", right), ["class.ack"]);
    assert_eq!(found("ack_dscp = 46", &format!("ack = 5\n{right}")), [""; 0]);
    let class = &with_map(&text(""), right).head.traffic_classes[0];
    assert_eq!((class.priority, class.priority_by, class.pfc), (Some(3), Some(PriorityBy::Map), Some(true)));
}

/// Sets the DSCP of an IPv4 header, and its checksum.
fn set_dscp(ip: &mut [u8], dscp: u8) {
    ip[1] = ip[1] & 3 | dscp << 2;
    ip[10..12].fill(0);
    let sum: u32 = ip[..20].chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    ip[10..12].copy_from_slice(&(!((folded & 0xffff) + (folded >> 16)) as u16).to_be_bytes());
}

#[test]
fn connections_of_which_each_direction_has_a_class() {
    let mut frames = frames(&play(
        "[[connection]]\noperations = [{ op = \"write\", size = \"64KiB\", count = 9 }, { op = \"write\", size = \"64KiB\", count = 9, by = \"to\" }]",
    ));
    assert_eq!(ids(&analyze(&frames, Options::default())), [""; 0]);
    for frame in &mut frames {
        let d = dissect(frame.link, &frame.bytes, frame.wire_len);
        let at = d.offset(Kind::Ipv4).unwrap();
        let ip = d.get::<Ipv4>().unwrap();
        if ip.src().octets()[3] == 2 {
            set_dscp(&mut frame.bytes[at..], 10);
        }
    }
    let report = analyze(&frames, Options::default());
    assert_eq!(reported(&report), counted(&frames));
    assert_eq!((report.head.qos.several_classes.len(), report.head.qos.several_classes_count), (1, 1));
    assert!(ids(&report).contains(&"class.several"));
}

/// One queue pair of a job whose class was not set; a host whose class was not set.
#[test]
fn queue_pairs_in_another_class_than_their_siblings() {
    let odd = |scenario: &str| {
        let report = analyze(&frames(&play(scenario)), Options::default());
        let odd = report.head.qos.odd_class.clone();
        assert_eq!(ids(&report).contains(&"class.siblings"), !odd.is_empty(), "{scenario}");
        odd.into_iter()
            .map(|one| {
                let flow = &report.flows[one.flow];
                (flow.src.clone(), flow.dst.clone(), one.dscp, one.siblings_dscp, one.siblings)
            })
            .collect::<Vec<_>>()
    };
    let job = |more: &str| format!("[[connection]]\ncopies = 5\n{WRITES}\n[[connection]]\n{more}\n{WRITES}");
    let (a, b) = ("10.0.0.1".to_owned(), "10.0.0.2".to_owned());
    assert_eq!(odd(&job("dscp = 0")), [(a, b, Some(0), Some(26), 5)]);
    assert_eq!(odd(&job("")), []);
    // As many of the one as of the other: nobody knows which is meant.
    assert_eq!(odd(&job("copies = 5\ndscp = 0")), []);
    let hosts = "[[host]]\nname = \"a\"\naddress = \"10.0.0.1\"\nside = \"left\"\n[[host]]\nname = \"b\"\naddress = \"10.0.0.2\"\nside = \"left\"\n\
        [[host]]\nname = \"c\"\naddress = \"10.0.0.3\"\n[[host]]\nname = \"d\"\naddress = \"10.0.0.4\"\n";
    let all = |of_b: u8| {
        let one = |(from, to): (&str, &str)| {
            let dscp = if from == "b" { of_b } else { 26 };
            format!("[[connection]]\nfrom = \"{from}\"\nto = \"{to}\"\ndscp = {dscp}\n{WRITES}\n")
        };
        let pairs =
            ["a", "b"].into_iter().flat_map(|left| ["c", "d"].map(|right| [(left, right), (right, left)]));
        hosts.to_owned() + &pairs.flatten().map(one).collect::<String>()
    };
    let mut found = odd(&all(0));
    found.sort();
    let of_b = |to: &str| ("10.0.0.2".to_owned(), to.to_owned(), Some(0), Some(26), 6);
    assert_eq!(found, [of_b("10.0.0.3"), of_b("10.0.0.4")]);
    assert_eq!(odd(&all(26)), []);
    // One queue pair between two hosts, each of which has others with all the rest.
    let of = |odd_one: u8, to_storage: u8| {
        let names = ["a", "b", "c", "d"];
        let mut text = String::new();
        for (n, name) in names.iter().enumerate() {
            let side = if n < 4 { "left" } else { "right" };
            text += &format!("[[host]]\nname = \"l{name}\"\naddress = \"10.0.1.{n}\"\nside = \"{side}\"\n");
            text += &format!("[[host]]\nname = \"r{name}\"\naddress = \"10.0.2.{n}\"\n");
        }
        for from in names {
            for to in names {
                let dscp = match (from, to) {
                    ("b", "c") => odd_one,
                    (_, "d") => to_storage,
                    _ => 26,
                };
                text +=
                    &format!("[[connection]]\nfrom = \"l{from}\"\nto = \"r{to}\"\ndscp = {dscp}\n{WRITES}\n");
            }
        }
        odd(&text)
    };
    assert_eq!(of(0, 26), [("10.0.1.1".to_owned(), "10.0.2.2".to_owned(), Some(0), Some(26), 3)]);
    // All that one host gets is in a class of its own: it is meant.
    assert_eq!(of(26, 10), []);
}

/// Rows by pair of hosts and kind are the frames, one by one; the sum of a class is that of its rows.
#[test]
fn classes_by_pair_are_what_the_frames_are() {
    let both_ways = "operations = [{ op = \"write\", size = \"64KiB\", count = 30 }, { op = \"read\", size = \"16KiB\", count = 9 }, { op = \"write\", size = \"16KiB\", count = 9, by = \"to\" }]\n";
    let text = format!(
        "[[connection]]\ncm = true\nack_dscp = 10\n{both_ways}[[connection]]\ndscp = 8\nvlan = 7\npcp = 5\n{both_ways}{MARKED}[cnp]\ndscp = 48\n"
    );
    let mut frames = frames(&play(&text));
    // The class of one connection changes in the middle.
    let changes = frames.len() / 2;
    for frame in &mut frames[changes..] {
        if dissect(frame.link, &frame.bytes, frame.wire_len).get::<Vlan>().is_some() {
            frame.bytes[14] = frame.bytes[14] & 0x1f | 3 << 5;
        }
    }
    let mut counted: BTreeMap<_, [u64; 4]> = BTreeMap::new();
    for frame in &frames {
        let d = dissect(frame.link, &frame.bytes, frame.wire_len);
        let (ip, bth, opcode) = (d.get::<Ipv4>().unwrap(), d.get::<Bth>().unwrap(), d.opcode().unwrap());
        let kind = match opcode.operation() {
            _ if bth.dest_qp().0 == 1 => TrafficKind::Management,
            Some(Operation::Cnp) => TrafficKind::Cnp,
            Some(Operation::Acknowledge) => TrafficKind::Ack,
            Some(Operation::ReadRequest) => TrafficKind::Request,
            _ => TrafficKind::Data,
        };
        let key =
            (ip.src().to_string(), ip.dst().to_string(), kind, ip.dscp(), d.get::<Vlan>().map(Vlan::pcp));
        let sums = counted.entry(key).or_default();
        let more = [1, u64::from(ip.ecn().0 & 3 != 0), u64::from(ip.ecn() == Ecn::CE), frame.wire_len as u64];
        (0..4).for_each(|n| sums[n] += more[n]);
    }
    for reference in [false, true] {
        let report = analyze(&frames, Options { reference, ..Options::default() });
        let head = &report.head;
        let row = |c: &PairClass| {
            // Preamble, frame check sequence, gap.
            let bytes = c.wire_bytes - 24 * c.packets;
            (
                (c.src.clone(), c.dst.clone(), c.kind, c.dscp.unwrap(), c.pcp),
                [c.packets, c.ect_packets, c.ce_packets, bytes],
            )
        };
        let rows: BTreeMap<_, _> = head.pair_classes.iter().map(row).collect();
        assert_eq!(rows, counted);
        assert_eq!((head.pair_class_count, head.pair_classes_not_kept), (counted.len() as u64, 0));
        for class in &head.traffic_classes {
            let of = head.pair_classes.iter().filter(|row| (row.dscp, row.pcp) == (class.dscp, class.pcp));
            let sums = of.fold((0, 0, 0), |sum, row| {
                (sum.0 + row.retransmits, sum.1 + row.naks, sum.2 + row.wire_bytes)
            });
            assert_eq!(sums, (class.retransmits, class.naks, class.wire_bytes), "{class:?}");
        }
        // The connection of one class has its losses; the other one is in several.
        let lost: u64 = report
            .flows
            .iter()
            .filter(|flow| flow.dscps.contains(&26))
            .filter_map(|f| f.lost())
            .map(|[least, _]| least)
            .sum();
        let of_26 = head.pair_classes.iter().filter(|row| row.dscp == Some(26)).filter_map(|row| row.lost);
        assert_eq!(of_26.map(|[least, _]| least).sum::<u64>(), lost);
        let changed =
            head.pair_classes.iter().find(|row| row.kind == TrafficKind::Data && row.pcp == Some(3)).unwrap();
        assert_eq!(
            (changed.lost, changed.why.get("lost")),
            (None, Some(&Reason::SeveralClasses)),
            "{changed:?}"
        );
    }
}

/// Text has the pairs of which a kind is in several classes, and none else.
#[test]
fn text_has_the_pairs_that_stand_out() {
    let shown = |dscp: u8| {
        let job = format!("[[connection]]\ncopies = 5\n{WRITES}\n[[connection]]\ndscp = {dscp}\n{WRITES}");
        let report = analyze(&frames(&play(&job)), Options::default());
        let mut out = Vec::new();
        Text { options: text::Options { width: 160, ..text::Options::default() }, flow: None }
            .render(&report.view(), &mut out)
            .unwrap();
        String::from_utf8(out).unwrap()
    };
    assert!(!shown(26).contains("Pairs "), "{}", shown(26));
    let apart = shown(0);
    let rows: Vec<&str> = apart.lines().skip_while(|line| !line.starts_with("Pairs ")).collect();
    assert!(
        rows.iter().any(|row| row.contains("data") && row.contains("0/-") && row.contains(" no ")),
        "{apart}"
    );
}

/// Management datagrams and corrupt packets are in no class that could be wrong.
#[test]
fn real_captures_are_as_they_should_be() {
    for name in ["ecn_rc_write-B.pcap.zst", "corrupt_rc_write-B.pcap.zst", "ipv6_clean-A.pcap.zst"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("pcaps").join(name);
        let mut source = rdmawire::capture::open(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut analysis = Analysis::with(Options::default(), Classes::default());
        while let Some(record) = rdmawire::capture::Source::next(&mut source).unwrap() {
            analysis.push(&record);
        }
        let (report, classes) = analysis.finish_with::<Classes>();
        let classes = classes.expect("it was given").0;
        let corrupt = classes.iter().filter(|(.., class)| *class == Class::Corrupt).count() as u64;
        assert_eq!(ids(&report), [""; 0], "{name}: {:?}", report.head.qos);
        let packets: u64 = report.head.traffic_classes.iter().map(|class| class.packets).sum();
        assert_eq!(packets + corrupt, report.head.capture.rdma_packets, "{name}");
    }
}

#[test]
fn native_infiniband_has_lanes() {
    let report = analyze(
        &frames(&play(&format!("[[connection]]\nencapsulation = \"ib\"\n{WRITES}"))),
        Options::default(),
    );
    let [class] = &report.head.traffic_classes[..] else { panic!("{:?}", report.head.traffic_classes) };
    assert_eq!(
        (class.sl, class.vl, class.dscp, class.pcp, class.priority),
        (Some(0), Some(0), None, None, None)
    );
    assert_eq!(class.packets, report.head.capture.rdma_packets);
}

#[test]
fn a_map_that_is_wrong_is_refused() {
    let map =
        |text: &str| toml::from_str::<QosMap>(text).map_err(|e| e.to_string()).and_then(|map| map.check());
    for wrong in [
        "pfc = [8]",
        "cnp = 9",
        "[dscp]\n64 = 1",
        "[dscp]\n026 = 1",
        "[pcp]\n3 = 8",
        "[dscp]\nx = 1",
        "pfcs = [3]",
        "trust = \"ttl\"",
    ] {
        assert!(map(wrong).is_err(), "{wrong}");
    }
    // What `explain qos` shows is a map.
    let text = printed(cli().args(["explain", "qos"]));
    let shown: Vec<&str> = text.split("\n\n").collect();
    assert_eq!(map(shown[1]), Ok(()), "{text}");
}

/// Two taps on one path, of which the second one is behind a device that sets the DSCP.
#[test]
fn a_device_between_taps_rewrites_the_dscp() {
    let run = play(include_str!("../../examples/scenarios/two-taps.toml"));
    let report = |dscp: u8| {
        let mut analysis = Analysis::new(Options::default());
        merged::push_altered(&run, &[0, 1], &mut analysis, |tap, link, frame| {
            // To the right, the second tap is the later one.
            if tap == 1 {
                merged::set_dscp(link, frame, "10.0.0.1", dscp);
            }
        });
        analysis.finish()
    };
    let (same, other) = (report(26), report(0));
    assert_eq!(same.head.qos.rewritten_count, 0);
    assert!(!ids(&same).contains(&"class.rewritten"));
    // Two connections: the flows with data to the right.
    let rewritten: Vec<_> = other.head.qos.rewritten.iter().map(|one| (one.dscp, one.then)).collect();
    assert_eq!((rewritten, other.head.qos.rewritten_count), (vec![(26, 0); 2], 2));
    assert!(other.head.qos.rewritten.iter().all(|one| other.flows[one.flow].src == "10.0.0.1"));
    assert!(ids(&other).contains(&"class.rewritten"));
    // A packet counts once, in the class that it had first.
    assert_eq!(same.head.traffic_classes, other.head.traffic_classes);
    let resent = |report: &Report| report.flows.iter().map(|flow| flow.requests.retransmits).sum::<u64>();
    assert_eq!(resent(&same), resent(&other));
}

/// Clear-to-send elements, and the ACKs of them, are kinds of their own.
#[test]
fn clear_to_send_elements_are_a_kind() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("pcaps/nccl_ring-A.pcap.zst");
    let mut source = rdmawire::capture::open(&path).unwrap();
    let mut frames = Vec::new();
    while let Some(record) = rdmawire::capture::Source::next(&mut source).unwrap() {
        let Record { time: Time(time), link, wire_len, frame, .. } = record;
        frames.push(Frame { time, link, wire_len, bytes: frame.to_vec() });
    }
    let report = analyze(&frames, Options::default());
    let collectives = report.head.collectives.as_ref().unwrap();
    let is_cts = |src: &str, dst: &str, qp: u32| {
        collectives
            .connections
            .iter()
            .any(|c| (&*c.receiver, &*c.sender) == (src, dst) && c.cts_queue_pairs.contains(&qp))
    };
    let of = |kind: TrafficKind| {
        report
            .head
            .pair_classes
            .iter()
            .filter(move |row| row.kind == kind)
            .map(|row| row.packets)
            .sum::<u64>()
    };
    let (mut cts, mut answers) = (0, 0);
    for (at, flow) in report.flows.iter().enumerate() {
        if !is_cts(&flow.src, &flow.dst, flow.dest_qp) {
            continue;
        }
        cts += flow.requests.packets;
        let connection = report.connections.iter().find(|c| c.flows.contains(&at)).unwrap();
        let peer = connection.flows.into_iter().find(|&peer| peer != at).unwrap();
        answers += report.flows[peer].acks + report.flows[peer].naks.total();
    }
    assert!(cts > 0 && answers > 0, "{cts} {answers}");
    assert_eq!((of(TrafficKind::ClearToSend), of(TrafficKind::ClearToSendAck)), (cts, answers));
    assert!(of(TrafficKind::Data) > 0 && of(TrafficKind::Ack) > 0);
    assert_eq!(ids(&report), [""; 0]);
    // NCCL_IB_FIFO_TC: whoever sends the elements has all that it sends on this queue pair in a class of its own, ACKs of data too.
    for frame in &mut frames {
        let d = dissect(frame.link, &frame.bytes, frame.wire_len);
        let (Some(ip), Some(bth), Some(at)) = (d.get::<Ipv4>(), d.get::<Bth>(), d.offset(Kind::Ipv4)) else {
            continue;
        };
        if is_cts(&ip.src().to_string(), &ip.dst().to_string(), bth.dest_qp().0) {
            set_dscp(&mut frame.bytes[at..], 48);
        }
    }
    let apart = analyze(&frames, Options::default());
    assert_eq!(ids(&apart), [""; 0], "{:?}", apart.head.qos);
    let kinds = apart.head.pair_classes.iter().filter(|row| row.dscp == Some(48)).map(|row| row.kind);
    let kinds: std::collections::BTreeSet<TrafficKind> = kinds.collect();
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), [TrafficKind::ClearToSend, TrafficKind::Ack]);
}
