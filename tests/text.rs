//! Reports as text: what an engineer reads, from reports made by hand.

#![cfg(feature = "cli")]

use rdmawire::report::{
    analysis::*,
    text::{Options, Sort, find_flow, sorted, trouble, write, write_flow},
};

fn sample() -> Analysis {
    let clean = Flow {
        src: "10.0.0.2".into(),
        dst: "10.0.0.1".into(),
        dest_qp: 0x11,
        service: "RC",
        encapsulation: "rocev2-ipv4",
        first_ns: 1_000_000_000,
        last_ns: 2_000_000_000,
        packets: 5_000,
        wire_bytes: 430_000,
        acks: 4_999,
        ..Flow::default()
    };
    let lossy = Flow {
        src: "10.0.0.1".into(),
        dst: "10.0.0.2".into(),
        dest_qp: 0x12,
        connection: Some(0),
        peer_qp: Some(0x11),
        paired_by: Some("psn"),
        packets: 1_234_567,
        wire_bytes: 1_365_431_102,
        payload_bytes: 1_264_196_608,
        goodput_bytes: 1_264_179_200,
        udp_src_ports: vec![0xc123],
        dscps: vec![26],
        ttls: vec![64],
        requests: Stream {
            packets: 1_234_567,
            retransmits: 17,
            retransmitted_bytes: 17_408,
            spurious: Some(4),
            gap_psns: 0,
            triggers: Triggers { nak: 1, timeout: 1, ..Triggers::default() },
            losses: Losses {
                upstream: Some([0, 0]),
                downstream: Some([1, 13]),
                ack_path: None,
                corrupt: Some([0, 0]),
                capture: Some([0, 0]),
            },
            ..Stream::default()
        },
        naks: Naks { psn_sequence_error: 0, ..Naks::default() },
        ecn_ect: 1_234_567,
        ecn_ce: 60,
        icrc: Icrc { good: 1_234_566, bad: 1, unchecked: 0 },
        opcodes: [("RC RDMA WRITE Middle".to_owned(), 1_234_567)].into(),
        messages: Messages {
            completed: 1_205,
            open: 1,
            broken: 0,
            size_bytes: Some(Summary {
                count: 1_205,
                min: 1 << 20,
                p50: 1 << 20,
                p99: 1 << 20,
                max: 1 << 20,
            }),
        },
        path_mtu: Some(1024),
        path_mtu_by: Some("payload"),
        recovery_mode: "go-back-N",
        latency_ns: Latencies {
            ack_rtt: Some(Summary { count: 900, min: 1_900, p50: 3_210, p99: 48_000, max: 1_200_000 }),
            ..Latencies::default()
        },
        timeouts: vec![Timeout { frame: 99, waited_ns: 67_108_864, nearest_exponent: 14 }],
        psn: Psns { first: 16_777_000, last: 1_234_351 },
        why: [("latency_ns.nak_reaction", Reason::OneWay)].into(),
        ..clean.clone()
    };
    Analysis {
        schema: SCHEMA,
        capture: Capture {
            files: vec!["spine\x1b[2J.pcap".into(), "b.pcap".into()],
            packets: 1_239_600,
            rdma_packets: 1_239_567,
            truncated_packets: 12,
            bytes_on_wire: 1_365_861_102,
            first_ns: Some(1_795_262_738_000_000_000),
            duration_ns: Some(1_500_000_000),
            problems: vec![CaptureProblem {
                file: "b.pcap".into(),
                offset: 4_096,
                what: "the file ends within a record".into(),
            }],
            proves: vec!["Both directions of 1 connection are there: losses can be placed before or after the tap.".into()],
            ..Capture::default()
        },
        flows: vec![clean, lossy],
        connections: vec![Connection { id: 0, visibility: "full", paired_by: "psn", ..Connection::default() }],
        pause: None,
        congestion: Congestion {
            ect_packets: 1_234_567,
            ce_packets: 60,
            ce_ratio: Some(0.004_5),
            cnps: 33,
            cnp_interval_ns: CnpIntervals {
                per_qp: Some(Summary { count: 32, min: 50_100, p50: 61_000, p99: 90_000, max: 120_000 }),
                ..CnpIntervals::default()
            },
            cnps_near_nak: 2,
            pacing: Some("per_ip_pair"),
            pacing_interval_ns: Some(50_100),
            ..Congestion::default()
        },
        overhead: Overhead {
            total: Cost {
                l1_bytes: 1_365_861_102,
                efficiency_ratio: Some(0.9255),
                as_native_ib: Some(Price { l1_bytes: 1, efficiency_ratio: Some(0.975) }),
                control_ratio: Some(0.000_314),
                retransmit_ratio: Some(0.000_013),
                ..Cost::default()
            },
            ..Overhead::default()
        },
        ports: Some(Ports { flows: 2, ports: 1, effective_flows: 1.0, ..Ports::default() }),
        episodes: vec![Episode {
            flow: 1,
            space: "request",
            trigger: "nak",
            location: "downstream",
            lost_psn: 77,
            original_frame: Some(1_280),
            nak_frame: Some(1_294),
            first_retransmit_frame: 1_301,
            retransmitted_packets: 17,
            needless_packets: 4,
            recovered_ns: Some(46_100),
            ..Episode::default()
        }],
        findings: vec![
            Finding { severity: "note", id: "a", text: "A note.".into(), ..Finding::default() },
            Finding {
                severity: "error",
                id: "loss.downstream",
                text: "QP 0x12 to 10.0.0.2 lost 13 packets after the tap; NAK in frame 1294, resent 17 packets from frame 1301; 46 µs stalled."
                    .into(),
                next: "Look at the drop counters of the switch ports between the tap and 10.0.0.2.".into(),
                frames: vec![1_294, 1_301, 1_302, 1_303, 1_304],
                flow: Some(1),
            },
        ],
        ..Analysis::default()
    }
}

fn text(report: &Analysis, options: Options) -> String {
    let mut out = Vec::new();
    write(report, &options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn plain(width: usize) -> Options {
    Options { width, ..Options::default() }
}

#[test]
fn a_report_on_a_wide_terminal() {
    assert_eq!(text(&sample(), plain(120)), include_str!("data/text/wide.txt"));
}

#[test]
fn a_report_on_a_narrow_terminal() {
    let narrow = text(&sample(), plain(72));
    assert_eq!(narrow, include_str!("data/text/narrow.txt"));
    assert!(narrow.lines().all(|line| line.chars().count() <= 72), "{narrow}");
}

#[test]
fn a_flow_in_depth() {
    let mut out = Vec::new();
    write_flow(&sample(), 1, &plain(100), &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), include_str!("data/text/flow.txt"));
}

#[test]
fn colour_is_for_terminals_only() {
    let report = sample();
    assert!(!text(&report, plain(100)).contains('\x1b'));
    let coloured = text(&report, Options { colour: true, ..plain(100) });
    assert!(coloured.contains("\x1b[1;31merror  \x1b[0m"));
    // The same text but for the colours; a file's name cannot steer the terminal.
    let mut without = String::new();
    let mut rest = coloured.as_str();
    while let Some(at) = rest.find('\x1b') {
        without += &rest[..at];
        rest = &rest[at + rest[at..].find('m').unwrap() + 1..];
    }
    assert_eq!(without + rest, text(&report, plain(100)));
}

#[test]
fn an_empty_report_has_its_text_too() {
    let empty = text(&Analysis::default(), plain(80));
    assert_eq!(
        empty,
        "no file\n\
         \x20 0 packets, 0 of them RDMA; 0 B on the wire\n\
         \n\
         Findings  nothing stands out\n\
         \n\
         Flows  none\n\
         \n\
         Congestion  no packet is ECN-capable, and there are no CNPs\n\
         Pause       not known: the capture has no MAC control frames, which mirrors and\n\
         \x20           most adapters do not show\n\
         Overhead    no RDMA packets\n"
    );
}

#[test]
fn flows_are_sorted_and_found() {
    let mut report = sample();
    assert_eq!(trouble(&report.flows[0]), 0);
    assert_eq!(sorted(&report, Sort::Trouble), [1, 0]);
    report.flows[0].first_ns = -5;
    assert_eq!(sorted(&report, Sort::Time), [0, 1]);
    report.flows[0].first_ns = 1_000_000_001;
    assert_eq!(sorted(&report, Sort::Time), [1, 0]);
    report.flows[0].responses.out_of_order = 1;
    assert_eq!(sorted(&report, Sort::OutOfOrder), [0, 1]);
    for (name, sort) in Sort::ALL {
        assert_eq!(sorted(&report, sort).len(), 2, "{name}");
    }
    assert_eq!(find_flow(&report, "1"), Ok(1));
    assert_eq!(find_flow(&report, "10.0.0.1,10.0.0.2,0x12"), Ok(1));
    assert_eq!(find_flow(&report, "10.0.0.1, 10.0.0.2, 18"), Ok(1));
    for wrong in ["2", "x", "10.0.0.1,10.0.0.2", "10.0.0.1,10.0.0.2,zz", "10.0.0.1,10.0.0.2,19", ""] {
        assert!(find_flow(&report, wrong).is_err(), "{wrong}");
    }
}

#[test]
fn pauses_in_words() {
    let mut report = sample();
    let pause = |paused_ns| Pause {
        link: "eth0".into(),
        sender: "02:00:00:00:00:01".into(),
        priority: Some(3),
        xoff: 834,
        xon: 1,
        intervals: paused_ns,
        paused_ns,
        longest_ns: paused_ns,
        storms: paused_ns.map(|_| vec![Storm::default()]),
        ..Pause::default()
    };
    report.pause = Some(vec![]);
    assert!(text(&report, plain(400)).contains("Pause       none\n"));
    report.pause = Some(vec![pause(None)]);
    let line = "Pause       eth0 02:00:00:00:00:01 priority 3: 834 XOFF, 1 XON (durations need the link's speed: --speed)\n";
    assert!(text(&report, plain(400)).contains(line));
    report.pause = Some(vec![pause(Some(250_000_000))]);
    assert!(
        text(&report, plain(400))
            .contains("834 XOFF, 1 XON, paused 250 ms in 250,000,000, longest 250 ms, 1 storm\n")
    );
}

#[test]
fn lists_are_cut_and_say_so() {
    let mut report = sample();
    report.flows = vec![report.flows[0].clone(); 25];
    report.findings = vec![report.findings[0].clone(); 12];
    report.interval_ns = Some(1_000_000);
    report.intervals = Some(vec![Interval { packets: 3, l1_bytes: 125_000, ..Interval::default() }; 70]);
    let cut = text(&report, plain(100));
    assert!(
        cut.contains("Flows  10 of 25 by trouble\n") && cut.contains("  and 2 more (--top 0 shows all)\n")
    );
    assert!(cut.contains("Intervals  of 1.00 ms\n") && cut.contains("  and 10 more (--json has all)\n"));
    let all = text(&report, Options { top: 0, ..plain(100) });
    assert!(all.contains("Flows  25 by trouble\n") && !all.contains("--top 0"));
}
