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
    report::{PriorityBy, Report, TrafficClass},
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
            // The checksum is one's complement arithmetic (RFC 1624): what the first word gains, the checksum loses.
            let gained = (10u16 << 2).wrapping_sub(26 << 2);
            let word = u16::from_be_bytes([frame.bytes[at], frame.bytes[at + 1]]);
            let sum = u16::from_be_bytes([frame.bytes[at + 10], frame.bytes[at + 11]]);
            frame.bytes[at..at + 2].copy_from_slice(&word.wrapping_add(gained).to_be_bytes());
            let more = sum as u32 + (26 << 2) - (10 << 2);
            let folded = (more & 0xffff) + (more >> 16);
            frame.bytes[at + 10..at + 12].copy_from_slice(&(folded as u16).to_be_bytes());
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
