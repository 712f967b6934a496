//! Marks and notifications of flows, against scenarios whose truth is known.

use std::path::Path;

use crate::support::{
    programs::{cli, done, printed},
    scratch::Scratch,
};
use rdmawire::{
    analyze::{Analysis, Options},
    capture::{Record, Time},
    craft::{
        Edit,
        rewrite::{Plan, Rewriter},
    },
    dissect::dissect,
    report::{MarkedFlow, Pacing, Reason, Report},
    sim::{self, Run, Scenario},
    wire::Kind,
};

fn play(text: &str) -> Run {
    sim::run(&Scenario::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"))).unwrap()
}

fn analyze(run: &Run, options: Options) -> Report {
    analyze_with(run, options, |_| ())
}

/// `prepare` comes before the first frame.
fn analyze_with(run: &Run, options: Options, prepare: impl FnOnce(&mut Analysis)) -> Report {
    let mut analysis = Analysis::new(options);
    prepare(&mut analysis);
    let mut frames = run.frames(0);
    while let Some(frame) = frames.next() {
        let (time, link, wire_len) = (Time(frame.time_ns), frame.link, frame.wire_len);
        analysis.push(&Record { time, link, interface: 0, wire_len, frame: frame.bytes });
    }
    analysis.finish()
}

fn report(text: &str) -> Report {
    analyze(&play(text), Options::default())
}

fn ids(report: &Report) -> Vec<&str> {
    report
        .head
        .findings
        .iter()
        .map(|finding| &*finding.id)
        .filter(|id| id.starts_with("congestion"))
        .collect()
}

fn flow_to(report: &Report, src: &str) -> MarkedFlow {
    let mut of = report.head.congestion.flows.iter().filter(|flow| flow.src == src);
    of.next().unwrap_or_else(|| panic!("{src}: {:?}", report.head.congestion.flows)).clone()
}

/// Two senders with two queue pairs each, and one receiver.
fn incast(more: &str) -> String {
    let hosts = [("a", "10.0.0.1", "left"), ("b", "10.0.0.2", "left"), ("z", "10.0.0.9", "right")];
    let hosts = hosts.map(|(name, ip, side)| {
        format!("[[host]]\nname = \"{name}\"\naddress = \"{ip}\"\nside = \"{side}\"\n")
    });
    let connections = ["a", "b"].map(|from| {
        format!(
            "[[connection]]\nfrom = \"{from}\"\nto = \"z\"\ncopies = 2\nrate = \"40G\"\nmtu = 256\nwindow = 4000\n\
             operations = [{{ op = \"write\", size = \"256KiB\", count = 20 }}]\n"
        )
    });
    hosts.concat() + &connections.concat() + more
}

fn is_within(found: u64, truth: u64, share: f64) -> bool {
    found.abs_diff(truth) as f64 <= truth as f64 * share
}

#[test]
fn limits_of_4_to_50_us_are_found_at_every_scope() {
    for (pacing, word) in
        [(Pacing::PerQp, "per_qp"), (Pacing::PerIpPair, "per_ip_pair"), (Pacing::PerPort, "per_port")]
    {
        for us in [4, 10, 50] {
            let run = play(&incast(&format!(
                "[[segment]]\ndelay = \"2us\"\nright = {{ mark = 0.3 }}\n[[segment]]\ndelay = \"3us\"\n\
                 [cnp]\npacing = \"{word}\"\ninterval = \"{us}us\""
            )));
            let labels = run.labels(0);
            let report = analyze(&run, Options::default());
            let congestion = &report.head.congestion;
            let name = format!("{word} {us}");
            assert_eq!(congestion.pacing, Some(pacing), "{name}: {congestion:?}");
            let interval = congestion.pacing_interval_ns.unwrap();
            assert!(is_within(interval, us * 1000, 0.02), "{name}: {interval}");
            let sent: u64 = labels.flows.iter().map(|flow| flow.cnps).sum();
            assert_eq!(congestion.cnps, sent, "{name}");
            let expected = congestion.expected_cnps.unwrap();
            assert!(is_within(expected, sent, 0.02), "{name}: {expected} of {sent}");
            assert_eq!((congestion.cnps_for_losses, congestion.cnps_unmarked), (Some(0), Some(0)), "{name}");
            assert_eq!(congestion.flows.len(), 4, "{name}");
            for flow in &congestion.flows {
                // Each CNP is of the flow in the other direction of its connection.
                let at = flow.flow.unwrap();
                assert_eq!(report.flows[at].src, flow.src, "{name}");
                assert_eq!(
                    (Some(report.flows[at].dest_qp), report.flows[at].peer_qp),
                    (flow.dest_qp, flow.src_qp)
                );
                assert_eq!(flow.ce_packets, report.flows[at].ce_packets, "{name}");
                assert!((flow.ce_ratio.unwrap() - 0.3).abs() < 0.02, "{name}: {flow:?}");
                assert_eq!(flow.cnps_for_marks, Some(flow.cnps), "{name}");
                // From the tap to the receiver and back.
                let latency = flow.ce_to_cnp_ns.unwrap();
                assert!(latency.min >= 6_000 && is_within(latency.p50, 6_000, 0.02), "{name}: {latency:?}");
            }
        }
    }
}

const WRITES: &str =
    "[[connection]]\nrate = \"40G\"\noperations = [{ op = \"write\", size = \"64KiB\", count = 60 }]\n";

#[test]
fn cnps_for_losses_and_for_marks_behind_the_tap() {
    let losses = report(&format!(
        "{WRITES}[[segment]]\ndelay = \"2us\"\n[[segment]]\ndelay = \"2us\"\nright = {{ drop = 0.01 }}\n[cnp]\non_nak = true\ninterval = \"4us\""
    ));
    let flow = flow_to(&losses, "10.0.0.1");
    assert!(flow.cnps > 10 && flow.ce_packets == 0, "{flow:?}");
    assert_eq!(
        (flow.cnps_for_losses, flow.cnps_unmarked, flow.cnps_for_marks),
        (Some(flow.cnps), Some(0), Some(0))
    );
    assert!(
        losses
            .head
            .findings
            .iter()
            .any(|f| f.id == "congestion.unmarked" && f.text.contains("sent for losses"))
    );

    let behind = report(&format!(
        "{WRITES}[[segment]]\ndelay = \"2us\"\n[[segment]]\ndelay = \"2us\"\nright = {{ mark = 0.1 }}"
    ));
    let flow = flow_to(&behind, "10.0.0.1");
    assert!(flow.cnps > 10 && flow.ce_packets == 0, "{flow:?}");
    assert_eq!((flow.cnps_for_losses, flow.cnps_unmarked), (Some(0), Some(flow.cnps)));
    assert!(
        behind
            .head
            .findings
            .iter()
            .any(|f| f.id == "congestion.unmarked" && f.text.contains("after the tap"))
    );
}

/// The data of one sender is not in the capture: the CNPs for it slow nobody that is known.
#[test]
fn cnps_for_a_sender_that_is_not_there() {
    let run = play(&incast(
        "[[segment]]\ndelay = \"1us\"\nright = { mark = 0.05 }\n[[segment]]\ndelay = \"1us\"\n",
    ));
    let whole = analyze(&run, Options::default()).head.congestion;
    let to_a: u64 = whole.flows.iter().filter(|flow| flow.src == "10.0.0.1").map(|flow| flow.cnps).sum();
    assert!(to_a > 0 && to_a < whole.cnps);
    assert_eq!(whole.cnps_unattributed, 0);
    let mut analysis = Analysis::new(Options::default());
    let mut frames = run.frames(0);
    while let Some(frame) = frames.next() {
        if frame.bytes[26..30] != [10, 0, 0, 1] {
            let (time, link, wire_len) = (Time(frame.time_ns), frame.link, frame.wire_len);
            analysis.push(&Record { time, link, interface: 0, wire_len, frame: frame.bytes });
        }
    }
    let report = analysis.finish().head.congestion;
    assert_eq!((report.cnps, report.cnps_unattributed), (whole.cnps, to_a));
}

#[test]
fn a_burst_of_marks() {
    let run = play(&format!("{WRITES}[[event]]\ndo = \"mark\"\npacket = 500\ntimes = 300\n"));
    let report = analyze(&run, Options::default());
    let flow = flow_to(&report, "10.0.0.1");
    assert_eq!((flow.ce_packets, flow.ect_packets), (300, 60 * 64));
    assert_eq!(flow.ce_ratio, Some(300.0 / 3840.0));
    // How far apart CNPs are sent, so few do not tell.
    assert!(flow.cnps < 6, "{}", flow.cnps);
    assert_eq!((flow.expected_cnps, flow.why["expected_cnps"]), (None, Reason::TooFew));
}

/// Senders that react, by any parameters, beside one that does not.
#[test]
fn a_sender_that_keeps_rate() {
    for set in ["paper", "hpcc", "nvidia"] {
        let scenario =
            incast("[[segment]]\ndelay = \"2us\"\nright = { mark = 0.05 }\n[[segment]]\ndelay = \"3us\"\n")
                .replacen("copies = 2\nrate = \"40G\"", &format!("dcqcn = \"{set}\""), 1);
        let report = report(&scenario);
        let (reacts, ignores) = (flow_to(&report, "10.0.0.1"), flow_to(&report, "10.0.0.2"));
        // With this set, it is as fast as before a few microseconds later.
        let is_quick = set == "nvidia";
        assert_eq!(reacts.keeps_rate, Some(false).filter(|_| !is_quick), "{set}: {reacts:?}");
        assert!(reacts.rate_after_bps < reacts.rate_before_bps, "{set}: {reacts:?}");
        assert_eq!(ignores.keeps_rate, Some(true), "{set}: {ignores:?}");
        let finding = report.head.findings.iter().find(|f| f.id == "congestion.ignored").unwrap();
        assert!(
            finding.text.contains("10.0.0.2 → 10.0.0.9") && finding.text.contains("2 flows"),
            "{finding:?}"
        );
        assert_eq!(finding.frames, ignores.cnp_frames);
    }
}

/// Which flow of a shared limit gets a CNP hangs on microseconds: all of them together must get what their marks trigger.
#[test]
fn flows_that_share_a_limit_are_judged_together() {
    let run = play(&incast(
        "[[segment]]\ndelay = \"2us\"\nright = { mark = 0.3 }\n[[segment]]\ndelay = \"3us\"\n[cnp]\npacing = \"per_port\"\ninterval = \"4us\"",
    ));
    let is_cnp = |frame: &sim::Frame<'_>| {
        let d = dissect(frame.link, frame.bytes, frame.wire_len);
        d.get::<rdmawire::wire::Bth>().is_some_and(|bth| bth.opcode().is_cnp())
    };
    let all = analyze(&run, Options::default());
    assert_eq!(all.head.congestion.pacing, Some(Pacing::PerPort));
    assert!(!ids(&all).contains(&"congestion.few_cnps"), "{:?}", ids(&all));
    // After a third, the receiver sends no more.
    let few = {
        let mut analysis = Analysis::new(Options::default());
        let (mut frames, mut left) = (run.frames(0), all.head.congestion.cnps / 3);
        while let Some(frame) = frames.next() {
            if is_cnp(&frame) {
                if left == 0 {
                    continue;
                }
                left -= 1;
            }
            let (time, link, wire_len) = (Time(frame.time_ns), frame.link, frame.wire_len);
            analysis.push(&Record { time, link, interface: 0, wire_len, frame: frame.bytes });
        }
        analysis.finish()
    };
    let finding = few.head.findings.iter().find(|finding| finding.id == "congestion.few_cnps");
    let finding = finding.unwrap_or_else(|| panic!("{:?}", ids(&few)));
    assert!(finding.text.contains("and 3 flows that share its limit"), "{finding:?}");
    // No more are said to be missing than are.
    let congestion = &few.head.congestion;
    let missing: u64 = finding.flows.iter().map(|affected| affected.count[1]).sum();
    assert!(missing <= congestion.expected_cnps.unwrap() - congestion.cnps, "{finding:?}");
}

/// A queue marks most packets, and all of a short flow's: that is no sender that marks.
#[test]
fn a_flow_of_which_a_queue_marks_all_is_no_sender_that_marks() {
    let short = "[[connection]]\nfrom = \"a\"\nto = \"z\"\nmtu = 256\noperations = [{ op = \"write\", size = \"512\" }]\n";
    let path = "[[segment]]\ndelay = \"2us\"\nright = { mark = 0.99 }\n[[segment]]\ndelay = \"3us\"";
    let report = report(&incast(&format!("{short}{path}")));
    let all_marked = |flow: &&rdmawire::report::Flow| flow.ce_packets > 0 && flow.ce_packets == flow.packets;
    let short = report.flows.iter().find(all_marked).expect("all of its packets are marked");
    assert!(short.packets < 10 && !short.sets_ce, "{short:?}");
    assert!(!ids(&report).contains(&"congestion.sender_marks"), "{:?}", ids(&report));
}

/// Behind a queue, the rate is the link's whatever the senders do: without its speed too.
#[test]
fn behind_a_full_link_nobody_ignores_cnps() {
    // All flows are together as fast as before.
    let report = report(&incast(
        "[[segment]]\ndelay = \"2us\"\nright = { mark = 0.05 }\n[[segment]]\ndelay = \"3us\"\n",
    ));
    let flows = &report.head.congestion.flows;
    assert!(flows.iter().all(|flow| flow.keeps_rate.is_none()), "{flows:?}");
    assert!(flows.iter().all(|flow| flow.why["keeps_rate"] == Reason::BehindBottleneck), "{flows:?}");
    assert!(!ids(&report).contains(&"congestion.ignored"));
    // One flow alone has no others that fill the queue.
    let alone = analyze(&play(&reacting("none", 0.02)), Options::default());
    assert_eq!(flow_to(&alone, "10.0.0.1").keeps_rate, Some(true));
    assert!(ids(&alone).contains(&"congestion.ignored"), "{:?}", ids(&alone));
}

/// What keeps a sender far below its link's speed hides whether it reacts: a reaction would leave it faster.
#[test]
fn a_sender_that_something_else_limits_is_not_blamed() {
    let speed = Options { speed_bps: Some(100_000_000_000), ..Options::default() };
    let limited = reacting("none", 0.002).replacen("window", "rate = \"5G\"\nwindow", 1);
    let report = analyze(&play(&limited), speed);
    let flow = flow_to(&report, "10.0.0.1");
    assert!(flow.cnps > 20 && flow.reaction_ratio >= Some(0.95), "{flow:?}");
    assert_eq!((flow.keeps_rate, flow.why["keeps_rate"]), (None, Reason::OtherLimit), "{flow:?}");
    assert!(!ids(&report).contains(&"congestion.ignored"));
}

/// Vendors put something into the bytes of a CNP that are reserved.
#[test]
fn notifications_that_carry_something() {
    let run = play(&format!("{WRITES}[[segment]]\nright = {{ mark = 0.05 }}\n[[segment]]\n"));
    for edited in [0, 1, 3] {
        let (mut analysis, mut reference) = (
            Analysis::new(Options::default()),
            Analysis::new(Options { reference: true, ..Options::default() }),
        );
        let edits = vec![Edit::parse("cnp.reserved=00000000000000000000000000000007").unwrap()];
        let mut rewriter = Rewriter::new(Plan { edits, ..Plan::default() });
        let (mut frames, mut cnps) = (run.frames(0), 0);
        while let Some(frame) = frames.next() {
            let (time, link, wire_len) = (Time(frame.time_ns), frame.link, frame.wire_len);
            let record = Record { time, link, interface: 0, wire_len, frame: frame.bytes };
            let is_cnp = dissect(link, frame.bytes, wire_len).has(Kind::Cnp);
            cnps += u64::from(is_cnp);
            let frame = match is_cnp && cnps <= edited {
                true => rewriter.rewrite(&record).unwrap().frame.to_vec(),
                false => frame.bytes.to_vec(),
            };
            analysis.push(&Record { frame: &frame, ..record });
            reference.push(&Record { frame: &frame, ..record });
        }
        let report = analysis.finish();
        assert!(cnps > 3);
        assert_eq!(report.head.congestion.cnps_with_body, edited);
        assert_eq!(report.head.congestion, reference.finish().head.congestion);
        assert_eq!(ids(&report).contains(&"congestion.cnp_body"), edited > 0, "{:?}", ids(&report));
    }
}

#[test]
fn what_is_set_up_wrong() {
    let marks = "[[segment]]\ndelay = \"2us\"\nright = { mark = 0.05 }\n[[segment]]\n[cnp]\n";
    let of = |more: &str| report(&format!("{WRITES}{marks}{more}"));
    let found = |more: &str| ids(&of(more)).iter().map(|&id| id.to_owned()).collect::<Vec<_>>();
    let usual = found("");
    assert!(!usual.iter().any(|id| id != "congestion" && id != "congestion.ignored"), "{usual:?}");
    assert!(found("becn = false").contains(&"congestion.no_becn".to_owned()));
    assert!(found("dscp = 26").contains(&"congestion.one_queue".to_owned()));
    assert!(found("enabled = false").contains(&"congestion.no_cnp".to_owned()));
    assert!(
        found("[[event]]\ndo = \"mark\"\nof = \"acks\"\nfrom = \"to\"")
            .contains(&"congestion.control_marked".to_owned())
    );
    // In another priority, the same DSCP is another class.
    let tagged = |more: &str| report(&format!("{WRITES}vlan = 5\n{marks}dscp = 26\n{more}"));
    assert!(ids(&tagged("")).contains(&"congestion.one_queue"));
    assert!(!ids(&tagged("pcp = 6")).contains(&"congestion.one_queue"));
    let not_capable =
        report(&format!("{WRITES}ecn = false\n[[event]]\ndo = \"drop\"\npacket = 99\n[cnp]\non_nak = true"));
    assert!(ids(&not_capable).contains(&"congestion.not_ect"), "{:?}", ids(&not_capable));
    // One of two receivers sends none.
    let two = |notify: bool| {
        let connections = format!("{}{}\nnotify = {notify}\n", WRITES, WRITES);
        report(&format!("{connections}{marks}interval = \"10us\""))
    };
    assert!(!ids(&two(true)).contains(&"congestion.few_cnps"));
    let few = two(false);
    assert!(ids(&few).contains(&"congestion.few_cnps"), "{:?}", few.head.congestion);
    let silent = few.head.congestion.flows.iter().find(|flow| flow.cnps == 0).unwrap();
    // Nothing proves a limit: how many are missing is not known.
    assert!(silent.expected_cnps.is_none() && silent.ce_packets > 100, "{silent:?}");
}

#[test]
fn clean_traffic_has_nothing() {
    let report = report(&incast(""));
    assert!(report.head.congestion.flows.is_empty() && ids(&report).is_empty(), "{:?}", ids(&report));
    assert_eq!((report.head.congestion.cnps, report.head.congestion.expected_cnps), (0, None));
}

/// Runs of packets change nothing: bins and marks are those of single packets.
#[test]
fn it_is_the_same_packet_by_packet() {
    let marks = "[[segment]]\ndelay = \"2us\"\nright = { mark = 0.01 }\n[[segment]]\ndelay = \"3us\"\n";
    let texts = [
        incast(marks).replacen("rate = \"40G\"", "dcqcn = \"paper\"", 1),
        // Longer than bins are short.
        format!(
            "[[connection]]\nrate = \"1G\"\ndcqcn = \"hpcc\"\noperations = [{{ op = \"write\", size = \"1MiB\", count = 12 }}]\n{marks}"
        ),
    ];
    for text in texts {
        let run = play(&text);
        let [fast, slow] = [false, true].map(|reference| {
            let options = Options { reference, ..Options::default() };
            serde_json::to_value(analyze(&run, options).head.congestion).unwrap()
        });
        assert_eq!(fast, slow);
        assert!(fast["flows"][0]["reactions"].as_u64() > Some(0), "{fast}");
    }
}

/// A sender whose parameters are known.
fn reacting(set: &str, mark: f64) -> String {
    format!(
        "[[connection]]\ndcqcn = \"{set}\"\nwindow = 4000\noperations = [{{ op = \"write\", size = \"1MiB\", count = 24 }}]\n\
         [[segment]]\ndelay = \"1us\"\nright = {{ mark = {mark} }}\n[[segment]]\ndelay = \"2us\"\n"
    )
}

#[test]
fn the_parameters_of_a_sender_fit_best() {
    let speed = Options { speed_bps: Some(100_000_000_000), ..Options::default() };
    for set in ["paper", "hpcc", "nvidia", "none"] {
        for mark in [0.002, 0.02] {
            for options in [speed.clone(), Options::default()] {
                let report = analyze(&play(&reacting(set, mark)), options);
                let flow = flow_to(&report, "10.0.0.1");
                let dcqcn = flow.dcqcn.clone().unwrap_or_else(|| panic!("{set} {mark}: {flow:?}"));
                let errors =
                    || dcqcn.models.iter().map(|m| (m.name.clone(), m.error_ratio)).collect::<Vec<_>>();
                assert!(
                    is_within(flow.rate_before_bps.unwrap(), 100_000_000_000, 0.02),
                    "{set} {mark}: {flow:?}"
                );
                assert_eq!((&*dcqcn.best, dcqcn.fits), (set, true), "{mark}: {:?}", errors());
                assert!(dcqcn.error_ratio < 0.05, "{set} {mark}: {:?}", errors());
                assert_eq!(dcqcn.measured_bps.len(), dcqcn.model_bps.len());
            }
        }
    }
}

/// So many senders of 20 Gbit/s each, for a millisecond.
fn fan_in(senders: usize) -> String {
    let hosts: String = (1..=senders)
        .map(|n| format!("[[host]]\nname = \"h{n}\"\naddress = \"10.1.0.{n}\"\nside = \"left\"\n"))
        .collect();
    let connections: String = (1..=senders)
        .map(|n| {
            format!(
                "[[connection]]\nfrom = \"h{n}\"\nto = \"sink\"\nrate = \"20G\"\nstart = \"1ms\"\nmtu = 4096\n\
                 operations = [{{ op = \"write\", size = \"64KiB\", count = 38 }}]\n"
            )
        })
        .collect();
    hosts + "[[host]]\nname = \"sink\"\naddress = \"10.1.9.9\"\nside = \"right\"\n" + &connections
}

#[test]
fn incast_of_2_to_64() {
    for senders in [2, 5, 8, 64] {
        let run = play(&fan_in(senders));
        let of = |speed_bps, reference| analyze(&run, Options { speed_bps, reference, ..Options::default() });
        assert_eq!(of(None, false).head.incast, None);
        // One link of 10 Gbit/s is less than any two senders have.
        for (gbps, is_incast) in [(10, true), (100, senders > 5), (400, senders > 20)] {
            let report = of(Some(gbps * 1_000_000_000), false);
            let incast = report.head.incast.clone().unwrap();
            assert_eq!(incast, of(Some(gbps * 1_000_000_000), true).head.incast.unwrap());
            assert_eq!(ids(&report).contains(&"congestion.incast"), is_incast, "{senders} {gbps}");
            if !is_incast {
                assert!(incast.is_empty(), "{senders} {gbps}: {incast:?}");
                continue;
            }
            let [one] = &incast[..] else { panic!("{senders} {gbps}: {incast:?}") };
            assert_eq!((&*one.receiver, one.senders), ("10.1.9.9", senders as u64));
            assert!(is_within(one.peak_bps, senders as u64 * 20_000_000_000, 0.03), "{one:?}");
            // 38 messages of 64 KiB at 20 Gbit/s last 1.016 ms; a bin at each end may be too empty.
            assert!(is_within((one.end_ns - one.start_ns) as u64, 1_000_000, 0.06), "{one:?}");
        }
    }
}

/// The capture says how fast its link is, as pcapng can: that is as good as a speed that the user gives.
#[test]
fn incast_with_the_speed_of_the_interface() {
    let run = play(&fan_in(8));
    let of = |options, speed_bps| {
        analyze_with(&run, options, |analysis| analysis.interface(0, "eth0".into(), speed_bps))
    };
    let told = of(Options::default(), Some(100_000_000_000));
    assert!(ids(&told).contains(&"congestion.incast"), "{:?}", ids(&told));
    let given = of(Options { speed_bps: Some(100_000_000_000), ..Options::default() }, None);
    assert_eq!((&told.head.incast, &told.head.slow_flows), (&given.head.incast, &given.head.slow_flows));
    let unknown = of(Options::default(), None);
    assert_eq!((unknown.head.incast, unknown.head.why["incast"]), (None, Reason::UnknownSpeed));
}

/// InfiniBand marks in the BTH, IP in its header: a rewritten capture has the marks of the other.
#[test]
fn marks_survive_another_encapsulation() {
    let scratch = Scratch::new("marks");
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("pcaps/ecn_rc_write-B.pcap.zst");
    let mut from = capture;
    for (n, to) in ["ib", "rocev2-ipv6", "ib-grh", "rocev2-ipv4"].into_iter().enumerate() {
        let path = scratch.join(format!("{n}.pcapng"));
        done(cli().args(["rewrite", "--quiet", "--to", to]).arg(&from).arg(&path));
        let report = printed(cli().args(["analyze", "--json"]).arg(&path));
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["congestion"]["ce_packets"], 300, "{to}");
        let flows = report["flows"].as_array().unwrap();
        assert_eq!(flows.iter().map(|flow| flow["ce_packets"].as_u64().unwrap()).max(), Some(300), "{to}");
        let findings = report["findings"].as_array().unwrap();
        let found = findings.iter().find(|finding| finding["id"] == "congestion.no_cnp").unwrap();
        assert_eq!(found["text"].as_str().unwrap().contains("(FECN)"), to.starts_with("ib"), "{to}");
        from = path;
    }
}

/// Native InfiniBand marks with FECN: what is said of it, and what is to be done, is of its own congestion control.
#[test]
fn native_marks_are_told_in_their_own_words() {
    let scratch = crate::support::scratch::Scratch::new("fecn");
    let file = scratch.join("native.erf");
    let from = "pcaps/ecn_rc_write-B.pcap.zst";
    let mut rewrite = crate::support::programs::cli();
    crate::support::programs::printed(rewrite.args(["rewrite", "-q", "--to", "ib", from]).arg(&file));
    let text = crate::support::programs::printed(crate::support::programs::cli().arg("analyze").arg(&file));
    let heads = text.lines().find(|line| line.contains(" packets ") && line.contains(" QP ")).unwrap();
    assert!(heads.contains(" FECN") && !heads.contains(" CE"), "{heads}");
    let congestion = text.lines().find(|line| line.starts_with("Congestion")).unwrap();
    assert!(congestion.contains("of the data packets are marked (FECN)"), "{congestion}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("marked (FECN), and neither a CNP nor an ACK with BECN was seen"), "{text}");
    assert!(
        text.contains("CongestionControl's CA settings") && !text.contains("notification point"),
        "{text}"
    );
}

/// Of packets that come at a constant rate and are all marked, several are at a constant distance before each CNP: which of them it is for, nothing
/// tells. That each mark has its CNP shows no limit.
#[test]
fn what_dense_or_rare_marks_do_not_show() {
    let path = |more: &str| {
        format!(
            "[[segment]]\ndelay = \"2us\"\nright = {{ mark = 1.0 }}\n[[segment]]\ndelay = \"3us\"\n[cnp]\npacing = \"per_qp\"\n{more}"
        )
    };
    let dense = report(&format!("{WRITES}{}", path("interval = \"50us\"")));
    let flow = flow_to(&dense, "10.0.0.1");
    assert!(flow.cnps > 10 && flow.ce_packets > 16 * flow.cnps, "{flow:?}");
    // The first CNP can be for the first mark only: one says nothing of the others.
    assert_eq!((flow.ce_to_cnp_ns, flow.why.get("ce_to_cnp_ns")), (None, Some(&Reason::TooFew)), "{flow:?}");
    assert_eq!(flow.cnps_for_marks, Some(flow.cnps));
    let slow =
        "[[connection]]\nrate = \"40M\"\noperations = [{ op = \"write\", size = \"1KiB\", count = 200 }]\n";
    let rare = report(&format!("{slow}{}", path("interval = \"4us\"")));
    let congestion = &rare.head.congestion;
    assert!(congestion.cnps > 100, "{congestion:?}");
    assert_eq!((congestion.pacing, congestion.expected_cnps), (None, None));
}
