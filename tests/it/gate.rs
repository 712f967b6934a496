//! Gates: rules against captures of which it is known what happened, and the queries of acceptance tests.

#[cfg(feature = "compression")]
use std::fs;
use std::path::Path;

use rdmawire::{
    analyze::{Analysis, Options},
    capture::{self, Source},
    gate::{self, Figure, Rule, Verdict},
    report::Report,
};
#[cfg(feature = "compression")]
use serde_json::Value;

fn report(name: &str) -> Report {
    let mut trace = capture::open(&Path::new("pcaps").join(name)).unwrap();
    let mut analysis = Analysis::new(Options::default());
    while let Some(record) = trace.next().unwrap() {
        analysis.push(&record);
    }
    analysis.finish()
}

fn verdict(report: &Report, rule: Rule) -> Verdict {
    gate::check(&[rule], &report.view(), None)[0].verdict
}

fn rule(report: &Report, text: &str) -> Verdict {
    verdict(report, Rule::parse(text).unwrap_or_else(|error| panic!("{error}")))
}

#[cfg(feature = "compression")]
fn query(report: &Report, text: &str) -> Verdict {
    verdict(report, Rule::fail_if(text).unwrap_or_else(|error| panic!("{error}")))
}

/// What both hosts know is never refuted by what one tap shows, and what they refute never holds.
#[test]
#[cfg(feature = "compression")]
fn figures_of_traffic_generators_include_the_truth() {
    let mut proved = 0;
    for truth in fs::read_dir("pcaps/truth").unwrap() {
        let truth: Value = serde_json::from_slice(&fs::read(truth.unwrap().path()).unwrap()).unwrap();
        let scenario = truth["scenario"].as_str().unwrap();
        for tap in ["A", "B"] {
            let name = format!("{scenario}-{tap}.pcap.zst");
            if !Path::new("pcaps").join(&name).exists() {
                continue;
            }
            let report = report(&name);
            for flow in truth["flows"].as_array().unwrap() {
                let count = |field: &str| flow[field].as_u64().unwrap_or(0);
                let classes = &flow["classes"];
                let requests =
                    classes["req_new"].as_u64().unwrap_or(0) + classes["req_retx"].as_u64().unwrap_or(0);
                // Requests only: no answers in the other direction are mixed into the truth of the flow.
                if requests == 0 || requests != count("sent") || count("qpn") <= 1 {
                    continue;
                }
                let [src, dst, qp] =
                    ["src", "dst", "qpn"].map(|field| flow[field].to_string().replace('"', ""));
                let rows = format!("where src == {src} and dst == {dst} and dest_qp == {qp}");
                if rule(&report, &format!("count(service != unknown) == 1 {rows}")) != Verdict::Held {
                    continue;
                }
                let wrong = count("bad_icrc_received") + count("bad_ip_checksum_received");
                let received = count("received") - count("duplicated_by_network") - wrong;
                let delta = count("sent") - received;
                let mut must = vec![
                    ("data_frames_tx", count("sent")),
                    ("data_frames_rx", received),
                    ("frame_delta", delta),
                    ("losses", delta),
                ];
                if tap == "A" {
                    must.push(("data_frames_retransmitted", count("retransmitted_packets")));
                }
                for (figure, is) in must {
                    let equal = rule(&report, &format!("{figure} == {is} {rows}"));
                    assert_ne!(equal, Verdict::Violated, "{name}: {figure} is {is} {rows}");
                    for wrong in
                        [format!("{figure} != {is}"), format!("{figure} < {is}"), format!("{figure} > {is}")]
                    {
                        assert_ne!(
                            rule(&report, &format!("{wrong} {rows}")),
                            Verdict::Held,
                            "{name}: {wrong} {rows}"
                        );
                    }
                    proved += usize::from(equal == Verdict::Held);
                }
            }
        }
    }
    assert!(proved > 50, "only {proved} figures are proved: bounds are too wide to be of use");
}

/// The queries of sonic-mgmt's RoCEv2 tests over flow results, word for word, where DSCP lists are those of the capture. A row
/// that fits a query is a failure.
#[test]
#[cfg(feature = "compression")]
fn queries_of_sonic_mgmt() {
    let marked = report("ecn_rc_write-A.pcap.zst");
    let lossy = report("loss1_rc_write-A.pcap.zst");
    use Verdict::{Held, Unknown, Violated};
    // Each: without loss, on ECN-capable traffic of DSCP 26; and with 1 % of the packets lost after the tap.
    for (text, without, with) in [
        ("message_fail != 0 or frame_delta != 0", Unknown, Violated),
        ("nak_tx != 0 or nak_rx != 0 or frame_sequence_error != 0", Unknown, Violated),
        ("avg_latency > 5000", Unknown, Unknown),
        ("ip_dscp in [26] and (message_fail != 0 or frame_delta != 0)", Held, Held),
        ("ip_dscp in [26] and message_fail != 0", Held, Held),
        ("ip_dscp in [26] and (nak_tx != 0 or nak_rx != 0 or frame_sequence_error != 0)", Held, Held),
        ("ip_dscp in [26] and ack_tx == 0", Held, Held),
        // An acknowledgement that was lost leaves no trace.
        ("ip_dscp in [26] and (ack_tx == 0 or ack_rx != ack_tx)", Unknown, Held),
        ("ip_dscp in [26] and ecn_ce_rx != 0", Held, Held),
        ("ip_dscp in [26] and ecn_ce_rx == 0", Violated, Held),
        ("ip_dscp in [26] and (cnp_tx != 0 or cnp_rx != 0)", Held, Held),
        ("ip_dscp in [26] and (cnp_tx == 0 or cnp_rx == 0)", Violated, Held),
        ("ip_dscp in [26] and seq_err_pct > 1.0", Held, Held),
        ("ip_dscp in [0] and message_fail == 0 and frame_delta == 0", Violated, Held),
        ("ip_dscp in [0] and seq_err_pct > 1.0", Unknown, Unknown),
        ("ip_dscp in [0] and seq_err_pct > 0.5", Unknown, Violated),
        ("ip_dscp not in [26] and frame_delta != 0", Unknown, Violated),
        // No pause frame is in these captures, and none could be.
        ("PFC3 != 0 or PFC4 != 0", Unknown, Unknown),
        ("PFC3 > 100 or PFC4 > 100", Unknown, Unknown),
        ("PFC3 == 0 or PFC4 == 0", Unknown, Unknown),
    ] {
        assert_eq!((query(&marked, text), query(&lossy, text)), (without, with), "{text}");
    }
}

#[test]
fn bounds_decide_or_leave_it_open() {
    let mut capture = report("loss1_rc_write-B-300.pcap");
    for (text, expected) in [
        ("retransmits == 85 and out_of_order == 0", Verdict::Held),
        ("retransmits == 0 or naks.sequence == 1", Verdict::Held),
        ("!(retransmits == 85)", Verdict::Violated),
        ("any(retransmits > 0) and none(retransmits > 85)", Verdict::Held),
        ("all(packets > 1) and count(packets > 1) == 2", Verdict::Held),
        ("all(service == RC and src in [10.77.0.1, 10.77.0.2])", Verdict::Held),
        ("max(packets) > min(packets)", Verdict::Held),
        ("retransmits == 85 where dscp in [0, 26..46]", Verdict::Held),
        // No flow fits: nothing was proved.
        ("retransmits == 0 where dscp == 5", Verdict::Unknown),
        ("pause.longest < 1ms", Verdict::Unknown),
        ("pause.longest < 1ms and retransmits == 0", Verdict::Violated),
        ("pause.longest < 1ms or retransmits == 85", Verdict::Held),
        ("capture.drops == 0", Verdict::Unknown),
    ] {
        assert_eq!(rule(&capture, text), expected, "{text}");
    }
    let at = capture.flows.iter().position(|flow| flow.requests.packets > 0).unwrap();
    capture.flows[at].requests.losses.downstream = Some([3, 9]);
    for (text, expected) in [
        ("losses.downstream <= 9", Verdict::Held),
        ("losses.downstream < 9", Verdict::Unknown),
        ("losses.downstream < 3", Verdict::Violated),
        ("losses.downstream >= 3", Verdict::Held),
        ("losses.downstream == 5", Verdict::Unknown),
        ("losses.downstream != 2", Verdict::Held),
        ("losses.downstream in [3..9]", Verdict::Held),
        ("count(losses.downstream > 5) <= 1", Verdict::Held),
        ("count(losses.downstream > 5) == 1", Verdict::Unknown),
        // It is not known whether the flow is chosen.
        ("retransmits <= 85 where losses.downstream > 5", Verdict::Held),
        ("retransmits == 85 where losses.downstream > 5", Verdict::Unknown),
        ("max(retransmits) > 0 where losses.downstream > 5", Verdict::Unknown),
    ] {
        assert_eq!(rule(&capture, text), expected, "{text}");
    }
}

#[test]
fn a_quantile_decides_only_outside_of_its_error() {
    let mut capture = report("loss1_rc_write-B-300.pcap");
    let at = capture.flows.iter().position(|flow| flow.latency_ns.ack_rtt.is_some()).unwrap();
    let flow = &mut capture.flows[at];
    let mut many = flow.latency_ns.ack_rtt.unwrap();
    (many.count, many.min, many.p50, many.max) = (9000, 1000, 20_000, 62_000);
    (many.p99, many.error_ratio) = (61_951, 0.0078);
    flow.latency_ns.ack_rtt = Some(many);
    for (text, expected) in [
        // What is exact decides.
        ("max(ack_rtt.max) <= 62us", Verdict::Held),
        ("max(ack_rtt.max) < 62us", Verdict::Violated),
        ("min(ack_rtt.min) >= 1us", Verdict::Held),
        ("max(ack_rtt.p99) <= 62us", Verdict::Held),
        ("max(ack_rtt.p99) < 61.9us", Verdict::Unknown),
        ("max(ack_rtt.p99) < 61.4us", Verdict::Violated),
        ("max(ack_rtt.p50) <= 19.9us", Verdict::Unknown),
    ] {
        assert_eq!(rule(&capture, text), expected, "{text}");
    }
}

#[test]
fn a_wrong_rule_shows_its_place() {
    for (text, at, why) in [
        ("retransmit == 0", 0, "did you mean retransmits?"),
        ("max(retransmits == 0", 16, "expected &&, || or )"),
        ("mx(retransmits) == 0", 0, "did you mean max?"),
        ("retransmits == 1ms", 15, "expected a number"),
        ("pause.longest < 5", 16, "expected a duration"),
        ("src == 10.0.0.1", 0, "src chooses rows"),
        ("sum(dscp) == 1", 4, "no quantity"),
        ("retransmits == 0 where priority == 3", 23, "priority is of pauses"),
        ("retransmits == 0 and pause.frames == 0 where dscp == 3", 39, "about flows and pauses"),
        ("flows == 1 where dscp == 3", 11, "no rows to choose"),
        ("any(service == RX)", 15, "did you mean RC or RD?"),
        ("any(service < RC)", 12, "no order"),
        ("retransmits < ack_rtt.p99", 14, "do not compare"),
        ("ack_rtt < 1ms", 0, "ack_rtt.p99"),
        ("retransmits", 11, "expected =="),
        ("retransmits = 0", 12, "did you mean ==?"),
        ("retransmits == 0 0", 17, "where or the end"),
        ("any(dscp in [5..3])", 13, "the smaller one first"),
        ("retransmits <= +5x", 15, "expected a number"),
        ("any(src == 10.0.0)", 11, "expected an address"),
    ] {
        let error = Rule::parse(text).unwrap_err();
        assert_eq!(error.offset(), at, "{error}");
        assert!(error.to_string().contains(why), "{error}");
    }
    let deep = format!("{}retransmits == 0{}", "(".repeat(5000), ")".repeat(5000));
    assert!(Rule::parse(&deep).is_err());
    assert!(Rule::parse(&"!".repeat(20_000)).is_err());
}

/// Each figure is defined once, under names of its own, and its example is a rule.
#[test]
fn every_figure_has_an_example() {
    let names: Vec<&str> = Figure::ALL.iter().flat_map(|figure| figure.names.iter().copied()).collect();
    for (n, name) in names.iter().enumerate() {
        assert!(!names[..n].contains(name), "{name} twice");
        assert!(Figure::by_name(name).is_some_and(|figure| figure.names.contains(name)), "{name}");
    }
    for figure in Figure::ALL {
        let example = figure.example();
        assert!(example.contains(figure.names[0]), "{example}");
        assert!(Rule::parse(&example).is_ok(), "{example}: {:?}", Rule::parse(&example).err());
    }
}

/// A capture that has pauses has them all: of another priority, there are none.
#[test]
fn priorities_without_pauses_have_none() {
    let mut frame = [0; 60];
    frame[..6].copy_from_slice(&[0x01, 0x80, 0xc2, 0, 0, 1]);
    frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
    frame[12..16].copy_from_slice(&[0x88, 0x08, 0x01, 0x01]);
    // Priority 4, 255 quanta.
    (frame[17], frame[27]) = (0x10, 0xff);
    let mut analysis = Analysis::new(Options::default());
    for at in 0..20 {
        let (time, link) = (capture::Time(at * 100_000), rdmawire::dissect::Link::ETHERNET);
        analysis.push(&capture::Record { time, link, interface: 0, wire_len: 60, frame: &frame });
    }
    let report = analysis.finish();
    assert_eq!(rule(&report, "pause.frames == 20 where priority == 4"), Verdict::Held);
    assert_eq!(rule(&report, "pause.frames == 0 where priority == 3"), Verdict::Held);
    assert_eq!(rule(&report, "PFC3 == 0"), Verdict::Held);
    assert_eq!(rule(&report, "max(pause.frames) == 0 where priority == 3"), Verdict::Unknown);
    let nothing = Analysis::new(Options::default()).finish();
    assert_eq!(rule(&nothing, "pause.frames == 0 where priority == 3"), Verdict::Unknown);
}

/// NAKs are frames of the flow that answers; the losses that they are of are the other flow's.
#[test]
fn naks_have_their_frames() {
    let report = report("loss1_rc_write-B-300.pcap");
    let outcomes = gate::check(&[Rule::parse("naks == 0").unwrap()], &report.view(), None);
    let worst = &outcomes[0].measures[0].worst[0];
    assert_eq!((worst.row, &worst.frames[..]), (1, &[82][..]), "{worst:?}");
}
