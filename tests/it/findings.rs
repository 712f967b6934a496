//! The table of findings: every row is documented, is found somewhere, and flows without trouble show none of it.

use std::{collections::BTreeMap, net::Ipv4Addr, path::Path};

use crate::support::{
    frames::{self, Roce},
    merged, trace,
};
use rdmawire::sim::{self, Scenario};
use rdmawire::{
    analyze::{Analysis, Ended, FINDINGS, Files, FindingKind, Links, Options, QosMap, Scope},
    capture::{Record, Time},
    craft::{
        self,
        rewrite::{Plan, Rewriter},
    },
    opcode::Opcode,
    report::{Confidence, Finding, Severity},
    wire::*,
};

/// Kinds of findings, and in which captures each was found.
type Found = BTreeMap<String, Vec<String>>;

/// Analyzes frames; what is true of every report is checked.
fn look(name: &str, analysis: Analysis, found: &mut Found) {
    check(name, &analysis.end(), found);
}

fn check(name: &str, ended: &Ended, found: &mut Found) {
    let report = ended.report();
    let mut in_trouble = vec![false; report.flows.len()];
    report.flows.each_in_trouble(&mut |at, _| in_trouble[at] = true);
    for (at, row) in report.flows.iter().enumerate().filter(|(at, _)| !in_trouble[*at]) {
        for kind in FINDINGS.iter().filter(|kind| kind.scope == Scope::FlowsInTrouble) {
            assert_eq!(kind.count(&row), None, "{name}: {} of quiet flow {at}", kind.id);
        }
    }
    for finding in &report.head.findings {
        let kind = FindingKind::by_id(&finding.id).unwrap_or_else(|| panic!("{name}: {}", finding.id));
        assert_eq!(finding.severity, kind.severity, "{name}");
        assert!(!finding.text.is_empty() && finding.next.contains(kind.next), "{name}: {finding:?}");
        assert_eq!(finding.flow_count == 0, kind.scope == Scope::Capture, "{name}: {finding:?}");
        let order = |n: usize| (finding.flows[n].time_lost_ns.unwrap_or(0), finding.flows[n].count[0]);
        assert!((1..finding.flows.len()).all(|n| order(n - 1) >= order(n)), "{name}: {finding:?}");
        found.entry(finding.id.to_string()).or_default().push(name.to_owned());
    }
    // Each cause has its effects behind it, and is as serious as the most serious of these.
    let all = &report.head.findings;
    let root = |at: usize| all[at].effect_of.unwrap_or(at);
    assert!((0..all.len()).all(|at| root(at) <= at && all[root(at)].effect_of.is_none()), "{name}");
    assert!((0..all.len()).is_sorted_by_key(root), "{name}");
    let groups: Vec<_> = (0..all.len()).filter(|&at| root(at) == at).collect();
    let worst = |&of: &usize| (0..all.len()).filter(|&at| root(at) == of).map(|at| all[at].severity).min();
    assert!(groups.is_sorted_by_key(worst), "{name}");
}

fn pcaps(found: &mut Found) {
    let folders = ["pcaps", "tests/data/judged"].map(|name| Path::new(env!("CARGO_MANIFEST_DIR")).join(name));
    for entry in folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap()) {
        let path = entry.unwrap().path();
        let mut analysis = Analysis::new(Options::default());
        let frames = trace::read(&path).unwrap_or_default();
        frames.iter().for_each(|frame| analysis.push(&frame.record()));
        look(&path.display().to_string(), analysis, found);
    }
}

fn frame(analysis: &mut Analysis, time: i64, frame: &[u8]) {
    let wire_len = frame.len() as u32;
    let (time, link) = (Time(time), rdmawire::dissect::Link::ETHERNET);
    analysis.push(&Record { time, link, interface: 0, wire_len, frame });
}

/// Connections that are set up badly, or not at all.
fn connections(found: &mut Found) {
    let path = |host| craft::Path::rocev2(Ipv4Addr::new(10, 0, 0, host), Ipv4Addr::new(10, 0, 0, 9));
    let dialog = |n: u32| craft::Dialog::new(path(n as u8), Qpn(n), Qpn(0x100 + n));
    let (late, back, again) = (dialog(1), dialog(2), dialog(3));
    let back = craft::Dialog { path: back.path.reversed(), mtu: 4096, ..back };
    let mut analysis = Analysis::new(Options::default());
    let messages = [
        (0, late.req(&[])),
        (2000, late.rep(&[]).edit(|rep: CmRep| rep.with_rnr_retry_count(0))),
        (2001, late.rtu(&[])),
        (2002, back.req(&[])),
        (2003, back.rej(RejectReason(8), &[])),
        (2004, craft::Dialog { path: back.path.reversed(), ..dialog(4) }.req(&[])),
        (7000, craft::Dialog { path: back.path.reversed(), ..dialog(4) }.req(&[])),
        (7001, again.req(&[])),
        (7002, craft::Dialog { passive_qp: late.passive_qp, ..again }.rep(&[])),
        (30_000, again.rtu(&[])),
    ];
    for (n, (ms, packet)) in messages.into_iter().enumerate() {
        let packet = packet.edit(|bth: Bth| bth.with_psn(Psn(n as u32)));
        frame(&mut analysis, ms * 1_000_000, &packet.build());
    }
    look("connections", analysis, found);
}

/// What neither a capture nor a scenario shows: refusals, wrong ICRCs, too many flows, ports that collide, drops.
fn made_by_hand(found: &mut Found) {
    let packet = |opcode, psn| {
        let hosts = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
        let bth = Bth::default().with_opcode(opcode).with_dest_qp(Qpn(7)).with_psn(Psn(psn));
        craft::Packet::rocev2(hosts[0], hosts[1]).push(bth)
    };
    let mut analysis = Analysis::new(Options::default());
    for (n, syndrome) in [0x60, 0x61, 0x62, 0x63, 0x64].into_iter().enumerate() {
        let aeth = Aeth::default().with_syndrome(Syndrome(syndrome));
        frame(&mut analysis, n as i64, &packet(Opcode::RC_ACKNOWLEDGE, n as u32).push(aeth).build());
    }
    look("refusals", analysis, found);

    connections(found);

    let mut analysis = Analysis::new(Options::default());
    let mut corrupt = packet(Opcode::RC_SEND_ONLY, 1).payload(vec![0; 64]).build().to_vec();
    *corrupt.last_mut().unwrap() ^= 1;
    frame(&mut analysis, 0, &corrupt);
    look("corrupt alone", analysis, found);

    let mut analysis = Analysis::new(Options::default());
    let mut pause = [&[2; 12][..], &[0x88, 0x08, 0, 1, 0, 9]].concat();
    pause.resize(60, 0);
    frame(&mut analysis, 1, &pause);
    look("malformed pause", analysis, found);

    let mut analysis = Analysis::new(Options::default());
    frame(&mut analysis, 1, &[&[2; 12][..], &[0x88, 0xe5], &[0; 46]].concat());
    look("encrypted", analysis, found);

    let mut analysis = Analysis::new(Options::default());
    frame(&mut analysis, 1, &[&[2; 12][..], &[0x12, 0x34], &[0; 46]].concat());
    look("of an unknown EtherType", analysis, found);

    let mut analysis = Analysis::new(Options::default());
    let fragment = packet(Opcode::RC_SEND_ONLY, 1).edit(|ip: Ipv4| ip.with_mf(true)).payload(vec![0; 64]);
    frame(&mut analysis, 1, &fragment.build());
    look("fragments", analysis, found);

    // One VCRC of native InfiniBand is wrong, then all are.
    for wrong in [3..4, 0..20] {
        let mut analysis = Analysis::new(Options::default());
        for n in 0..20u32 {
            let bth = Bth::default().with_opcode(Opcode::RC_SEND_ONLY).with_dest_qp(Qpn(7)).with_psn(Psn(n));
            let mut bytes = craft::Packet::ib(1, 2).push(bth).payload(vec![0; 64]).build().to_vec();
            let last = bytes.len() - 1;
            bytes[last] ^= u8::from(wrong.contains(&n));
            let (time, link) = (Time(n.into()), rdmawire::dissect::Link::INFINIBAND);
            analysis.push(&Record { time, link, interface: 0, wire_len: bytes.len() as u32, frame: &bytes });
        }
        look("wrong VCRCs", analysis, found);
    }

    // End 0 sent all that end 1 allowed, for 50 µs.
    let mut analysis = Analysis::new(Options::default());
    for (n, (port, fctbs, fccl)) in [(0, 0, 64), (1, 0, 64), (0, 64, 64), (1, 0, 128)].into_iter().enumerate()
    {
        let mut bytes = craft::flow_control(LinkOp(0), 0, fctbs, fccl).build().to_vec();
        bytes[9] |= port;
        let (time, wire_len) = (Time(n as i64 * 50_000), bytes.len() as u32);
        let link = rdmawire::dissect::Link::ERF;
        analysis.push(&Record { time, link, interface: 0, wire_len, frame: &bytes });
    }
    look("no credits", analysis, found);

    // The hole is filled when the capture ends, in one direction.
    let mut analysis = Analysis::new(Options::default());
    for (n, psn) in (0..10).chain(11..21).chain([10]).enumerate() {
        let time = if psn == 10 { 60_000 } else { n as i64 * 1000 };
        frame(&mut analysis, time, &packet(Opcode::RC_SEND_ONLY, psn).payload(vec![0; 64]).build());
    }
    look("late or retransmitted", analysis, found);

    let mut analysis = Analysis::new(Options::default());
    let whole = packet(Opcode::RC_SEND_ONLY, 1).payload(vec![0; 256]).build();
    frame(&mut analysis, 1, &frames::trimmed(&whole, 128));
    look("trimmed", analysis, found);

    let mut analysis = Analysis::new(Options::default());
    for n in 0..40 {
        let roce = Roce { psn: n / 2, payload: n as usize, ecn: Ecn::CE, ..Roce::default() };
        frame(&mut analysis, n as i64 * 1000, &roce.frame());
    }
    look("one PSN for two packets, which their sender marks", analysis, found);

    // Of eight ports in turn, one is used twice as often, and its packets come marked.
    let mut analysis = Analysis::new(Options::default());
    for n in 0..2000u32 {
        let port = 0xc000 + [0, 1, 2, 3, 0, 4, 5, 6, 7][n as usize % 9];
        let ecn = if port == 0xc000 { Ecn::CE } else { Ecn::ECT0 };
        let roce = Roce { port, ecn, psn: n, payload: 256, ..Roce::default() };
        frame(&mut analysis, n as i64 * 1000, &roce.frame());
    }
    look("a bad path", analysis, found);

    look("a path of MRC that is not to be used, and incast", crate::mrc::skipped_and_trimmed(), found);

    look("a sender of MRC that does not heed its receiver", crate::spray_played::ignored_skips(), found);
    look("Ultra Ethernet", crate::uet::in_trouble(), found);
    look("ordered requests of Ultra Ethernet out of order", crate::spray_played::disordered(), found);

    let mut analysis = Analysis::new(Options { max_flows: 4, ..Options::default() });
    for n in 0..200 {
        let roce = Roce { qp: n % 20, psn: n, payload: 256, ..Roce::default() };
        frame(&mut analysis, n as i64 * 1000, &roce.frame());
    }
    look("many flows, one port, wrong ICRCs", analysis, found);

    let files = Files { drops: Some(3), ..Files::default() };
    check("drops", &Analysis::new(Options::default()).end().from(files), found);
}

fn run(text: &str) -> Vec<Analysis> {
    let run = sim::run(&Scenario::parse(text).unwrap()).unwrap();
    let taps = 0..run.captures.len();
    taps.map(|tap| {
        let mut analysis = Analysis::new(Options { speed_bps: Some(100_000_000_000), ..Options::default() });
        let mut frames = run.frames(tap);
        while let Some(frame) = frames.next() {
            let (time, link, wire_len) = (Time(frame.time_ns), frame.link, frame.wire_len);
            analysis.push(&Record { time, link, interface: 0, wire_len, frame: frame.bytes });
        }
        analysis
    })
    .collect()
}

/// Pauses of several links, as one capture with an interface for each.
fn of_several_links(found: &mut Found) {
    let file = |name: &str| std::fs::read_to_string(format!("examples/scenarios/{name}.toml")).unwrap();
    let ignored = "[[connection]]\nwindow = 1000\noperations = [{ op = \"write\", size = \"4MiB\" }]\n\
        [[tap]]\nname = \"l\"\nends = [\"s\", \"b\"]\n[[pause]]\nfrom = \"right\"\npriority = 3\nat = \"50us\"\nhold = \"200us\"\n";
    let all = [
        ("pause-tree", file("pause-tree")),
        ("pause-deadlock", file("pause-deadlock")),
        ("a pause that nobody honors", ignored.to_owned()),
    ];
    for (name, text) in all {
        let run = sim::run(&Scenario::parse(&text).unwrap()).unwrap();
        let links = Some(Links::parse(&run.links()).unwrap());
        let mut analysis =
            Analysis::new(Options { links, speed_bps: Some(100_000_000_000), ..Options::default() });
        merged::push(&run, &Vec::from_iter(0..run.captures.len()), &mut analysis);
        look(name, analysis, found);
    }
    let run = sim::run(&Scenario::parse(&file("two-taps")).unwrap()).unwrap();
    let mut analysis = Analysis::new(Options::default());
    merged::push_altered(&run, &[0, 1], &mut analysis, |tap, link, frame| {
        merged::set_dscp(link, frame, "10.0.0.1", [26, 0][tap]);
    });
    look("another DSCP behind a switch", analysis, found);
    let mut analysis = Analysis::new(Options::default());
    let mut frames = Vec::new();
    for (interface, name) in [(0, "A"), (1, "B")] {
        analysis.interface(interface, name.into(), None);
        let path = format!("{}/tests/data/doors/late_between-{name}.pcap.zst", env!("CARGO_MANIFEST_DIR"));
        for frame in trace::read(Path::new(&path)).unwrap() {
            let record = frame.record();
            frames.push((record.time.0, interface, record.link, record.frame.to_vec()));
        }
    }
    merged::push_in_order(frames, &mut analysis);
    look("late between two taps", analysis, found);
    look("ECN that a device clears", crate::own_links::cleared(), found);
    look("two ends of a link with other priorities", crate::own_links::disagreeing(), found);
}

/// A network whose priorities are not those of the map.
fn in_the_wrong_class(found: &mut Found) {
    let text = "[[connection]]\nvlan = 3\npcp = 4\nack_dscp = 8\noperations = [{ op = \"write\", size = \"64KiB\", count = 20 }]\n\
                [[segment]]\nright = { mark = 0.1 }\n[[segment]]\n";
    let run = sim::run(&Scenario::parse(text).unwrap()).unwrap();
    let mut qos = QosMap::default();
    (qos.pfc, qos.cnp) = (vec![5], Some(7));
    let mut analysis = Analysis::new(Options { qos: Some(qos), ..Options::default() });
    let (mut frames, mut n) = (run.frames(0), 0);
    while let Some(shown) = frames.next() {
        let mut bytes = shown.bytes.to_vec();
        n += 1;
        bytes[14] ^= if n % 50 == 0 { 0x20 } else { 0 };
        frame(&mut analysis, shown.time_ns, &bytes);
    }
    look("wrong classes", analysis, found);
}

/// CNPs that have something in their reserved bytes.
fn cnps_with_bodies(found: &mut Found) {
    let text = "[[connection]]\noperations = [{ op = \"write\", size = \"64KiB\", count = 20 }]\n\
                [[segment]]\nright = { mark = 0.1 }\n[[segment]]\n";
    let run = sim::run(&Scenario::parse(text).unwrap()).unwrap();
    let edits = vec![craft::Edit::parse("cnp.reserved=00000000000000000000000000000007").unwrap()];
    let mut rewriter = Rewriter::new(Plan { edits, ..Plan::default() });
    let mut analysis = Analysis::new(Options::default());
    let mut frames = run.frames(0);
    while let Some(shown) = frames.next() {
        let (time, link, wire_len) = (Time(shown.time_ns), shown.link, shown.wire_len);
        let record = Record { time, link, interface: 0, wire_len, frame: shown.bytes };
        let frame = rewriter.rewrite(&record).unwrap().frame.to_vec();
        analysis.push(&Record { frame: &frame, ..record });
    }
    look("CNPs with bodies", analysis, found);
}

/// A sender that gives one of its paths what another one would carry.
fn unbalanced(found: &mut Found) {
    let text = "[[connection]]\nudp_port = \"spray:8\"\noperations = [{ op = \"write\", size = \"64KiB\", count = 40 }]\n";
    let run = sim::run(&Scenario::parse(text).unwrap()).unwrap();
    let mut analysis = Analysis::new(Options::default());
    let mut frames = run.frames(0);
    while let Some(shown) = frames.next() {
        let (time, link, wire_len) = (Time(shown.time_ns), shown.link, shown.wire_len);
        let record = Record { time, link, interface: 0, wire_len, frame: shown.bytes };
        let port = u16::from_be_bytes([shown.bytes[34], shown.bytes[35]]);
        if port % 8 != 3 {
            analysis.push(&record);
            continue;
        }
        let edits = vec![craft::Edit::parse(&format!("udp.src_port={}", port - 1)).unwrap()];
        let mut rewriter = Rewriter::new(Plan { edits, ..Plan::default() });
        let frame = rewriter.rewrite(&record).unwrap().frame.to_vec();
        analysis.push(&Record { frame: &frame, ..record });
    }
    look("unbalanced paths", analysis, found);
}

fn scenarios(found: &mut Found) {
    for entry in std::fs::read_dir("examples/scenarios").unwrap() {
        let path = entry.unwrap().path();
        for analysis in run(&std::fs::read_to_string(&path).unwrap()) {
            look(&path.display().to_string(), analysis, found);
        }
    }
    const WRITES: &str = "[[connection]]\noperations = [{ op = \"write\", size = \"64KiB\", count = 20 }]\n";
    let others = [
        "[[segment]]\nright = { drop = 0.02, reorder = 0.05, reorder_depth = 6 }\n[[segment]]\n[[tap]]\nafter = 1\nonly = \"right\"\nloss = 0.02",
        "[paths]\ncount = 4\nby = \"packet\"\nskew = \"3us\"\n[[segment]]\nright = { drop = 0.03 }\n[[segment]]\n[[tap]]\nafter = 1\nonly = \"right\"\nstart = \"40us\"",
        "[[tap]]\nburst = [{ at = 100, frames = 7 }]",
        "[[event]]\ndo = \"drop\"\npacket = 99\nwhere = \"before\"\n[[tap]]\nonly = \"right\"\nloss = 0.01",
        "[[event]]\ndo = \"drop\"\npacket = 99\nwhere = \"before\"\n[[tap]]\nburst = [{ at = 1000, frames = 40 }]",
        "[[event]]\ndo = \"drop\"\npacket = 99\n[cnp]\non_nak = true",
        "rate = \"40G\"\n[[segment]]\nright = { mark = 0.1 }\n[[segment]]\n[cnp]\nbecn = false\ndscp = 26\ninterval = \"4us\"\n[[event]]\ndo = \"mark\"\nof = \"acks\"\nfrom = \"to\"",
        "notify = false\n[[connection]]\noperations = [{ op = \"write\", size = \"64KiB\", count = 20 }]\n[[segment]]\nright = { mark = 0.3 }\n[[segment]]\n[cnp]\ninterval = \"4us\"",
        "ecn = false\n[[event]]\ndo = \"drop\"\npacket = 99\n[cnp]\non_nak = true",
        "retry = 2\ndies_at = \"20us\"\n[[connection]]\noperations = [{ op = \"write\", size = \"1KiB\", count = 20, every = \"20ms\" }]",
        "retry = 200\ntimeout = 10\ndies_at = \"60us\"\n[[connection]]\noperations = [{ op = \"write\", size = \"1KiB\", count = 20, every = \"20ms\" }]",
        "rnr_retry = 1\n[[event]]\ndo = \"rnr\"\nmessage = 9\ntimes = 9\n[[connection]]\noperations = [{ op = \"write\", size = \"1KiB\", count = 20, every = \"20ms\" }]",
        "copies = 5\n[[connection]]\ndscp = 0\noperations = [{ op = \"write\", size = \"64KiB\", count = 20 }]",
        "recovery = \"selective\"\n[[event]]\ndo = \"drop\"\npacket = 99\n[[tap]]\nonly = \"right\"",
    ];
    for more in others {
        for analysis in run(&format!("{WRITES}{more}")) {
            look(more, analysis, found);
        }
    }
}

#[test]
fn every_kind_is_found_somewhere() {
    let mut found = Found::new();
    pcaps(&mut found);
    made_by_hand(&mut found);
    in_the_wrong_class(&mut found);
    cnps_with_bodies(&mut found);
    unbalanced(&mut found);
    of_several_links(&mut found);
    scenarios(&mut found);
    let missing: Vec<_> = FINDINGS.iter().map(|kind| kind.id).filter(|id| !found.contains_key(*id)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    // What is clean shows nothing worse than a note.
    let serious = FINDINGS.iter().filter(|kind| kind.severity != Severity::Note);
    for name in serious.flat_map(|kind| &found[kind.id]) {
        assert!(!name.contains("/clean.toml") && !name.contains("ipv6_clean"), "{name}");
    }
}

#[test]
fn the_table_is_well_formed() {
    for (n, kind) in FINDINGS.iter().enumerate() {
        let is_word =
            |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        assert!(kind.id.split('.').all(is_word), "{}", kind.id);
        assert!(FINDINGS[..n].iter().all(|other| other.id != kind.id), "{} twice", kind.id);
        assert!(kind.doc.ends_with('.') && kind.doc.len() < 130 && !kind.doc.contains('\n'), "{}", kind.doc);
        assert!(!kind.next.is_empty() && kind.next.starts_with(char::is_lowercase), "{}", kind.next);
        assert_eq!(FindingKind::by_id(kind.id).map(|found| found.doc), Some(kind.doc));
    }
    assert!(FINDINGS.is_sorted_by_key(|kind| kind.severity));
}

#[cfg(feature = "cli")]
#[test]
fn explain_knows_every_kind() {
    let explain = |id: &[&str]| {
        let output = crate::support::programs::cli().args(["explain", "finding"]).args(id).output().unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    let all = explain(&[]);
    for kind in FINDINGS {
        assert!(all.contains(kind.id) && all.contains(kind.doc), "{}", kind.id);
        let one = explain(&[kind.id]);
        assert!(
            one.contains(kind.doc) && one.contains(kind.next) && one.contains(kind.severity.name()),
            "{one}"
        );
        assert!(kind.needs.iter().all(|need| one.contains(need.doc())), "{one}");
    }
    assert!(explain(&["loss.downstreem"]).contains("did you mean loss.downstream?"));
}

/// Four hosts on the left, each with a connection to each of four hosts on the right, and what is wrong.
fn all_to_all(connection: &str, wrong: &str) -> Vec<Finding> {
    let mut text = String::new();
    for n in 0..4 {
        text += &format!("[[host]]\nname = \"l{n}\"\naddress = \"10.0.0.{}\"\nside = \"left\"\n", n + 1);
        text += &format!("[[host]]\nname = \"r{n}\"\naddress = \"10.0.1.{}\"\n", n + 1);
    }
    for (l, r) in (0..16).map(|n| (n / 4, n % 4)) {
        text +=
            &format!("[[connection]]\nname = \"{l}{r}\"\nfrom = \"l{l}\"\nto = \"r{r}\"\nrate = \"5G\"\n");
        text += "operations = [{ op = \"write\", size = \"64KiB\", count = 8 }]\n";
        text += connection;
    }
    let ended = run(&(text + wrong)).remove(0).end();
    check("all to all", &ended, &mut Found::new());
    ended.report().head.into_owned().findings
}

/// A packet that is lost after the tap, of each of these connections.
fn drops(connections: &[&str], place: &str, packet: impl Fn(usize) -> usize) -> String {
    let event = |(n, name): (usize, &&str)| {
        let packet = packet(n);
        format!("[[event]]\ndo = \"drop\"\nconnection = \"{name}\"\npacket = {packet}\nwhere = \"{place}\"\n")
    };
    connections.iter().enumerate().map(event).collect()
}

/// How many of how many.
fn of(share: rdmawire::report::Share) -> [u64; 2] {
    [share.affected, share.flows]
}

fn of_kind<'a>(findings: &'a [Finding], id: &str) -> Vec<&'a Finding> {
    findings.iter().filter(|finding| finding.id == id).collect()
}

/// Packets at different times of connections that begin together.
fn apart(n: usize) -> usize {
    20 + 31 * n
}

#[test]
fn loss_at_one_hosts_link_is_one_finding() {
    let findings = all_to_all("", &drops(&["02", "12", "22", "32"], "after", apart));
    let [loss] = of_kind(&findings, "loss.downstream")[..] else { panic!("{findings:#?}") };
    let cause = loss.cause.as_ref().expect("they go to one host");
    assert_eq!((cause.src.as_deref(), cause.dst.as_deref()), (None, Some("10.0.1.3")));
    assert_eq!((of(cause.with), of(cause.without), cause.confidence), ([4, 4], [0, 12], Confidence::Likely));
    assert_eq!((loss.flow_count, loss.flows.len(), loss.flow), (4, 4, None));
    assert!(
        loss.text.contains("all 4 flows to 10.0.1.3") && loss.text.contains("other flows: 0 of 12"),
        "{}",
        loss.text
    );
    assert!(loss.next.contains("likely the link or the NIC of 10.0.1.3"), "{}", loss.next);
    assert!(loss.time_lost_ns.is_some_and(|ns| ns > 4_000), "{loss:#?}");
    assert_eq!(findings.len(), 1, "{findings:#?}");

    let findings = all_to_all("", &drops(&["10", "11", "12", "13"], "before", apart));
    let [loss] = of_kind(&findings, "loss.upstream")[..] else { panic!("{findings:#?}") };
    let cause = loss.cause.as_ref().expect("they come from one host");
    assert_eq!((cause.src.as_deref(), cause.dst.as_deref()), (Some("10.0.0.2"), None));
}

#[test]
fn two_causes_are_two_findings() {
    let ill = ["00", "10", "20", "30", "03", "13", "23", "33"];
    let ill: Vec<String> = ill.iter().flat_map(|name| [1, 2].map(|n| format!("{name}.{n}"))).collect();
    let ill: Vec<&str> = ill.iter().map(String::as_str).collect();
    let findings = all_to_all("copies = 2\n", &drops(&ill, "after", apart));
    let [a, b] = of_kind(&findings, "loss.downstream")[..] else { panic!("{findings:#?}") };
    let dst = |finding: &Finding| {
        let cause = finding.cause.as_ref()?;
        assert_eq!((of(cause.with), of(cause.without)), ([8, 8], [0, 16]));
        cause.dst.clone()
    };
    let mut both = [dst(a), dst(b)];
    both.sort();
    assert_eq!(both, [Some("10.0.1.1".to_owned()), Some("10.0.1.4".to_owned())]);
}

#[test]
fn a_path_between_two_hosts_is_told_from_the_hosts() {
    // Twelve queue pairs of two hosts over two source ports: one port's packets are lost.
    let mut text = String::new();
    for port in [50_000, 50_001] {
        text +=
            &format!("[[connection]]\nname = \"p{port}\"\ncopies = 6\nudp_port = {port}\nrate = \"5G\"\n");
        text += "operations = [{ op = \"write\", size = \"64KiB\", count = 8 }]\n";
    }
    let ill: Vec<String> = (1..=6).map(|n| format!("p50001.{n}")).collect();
    let ill: Vec<&str> = ill.iter().map(String::as_str).collect();
    let findings = run(&(text + &drops(&ill, "after", apart))).remove(0).finish().head.findings;
    let [loss] = of_kind(&findings, "loss.downstream")[..] else { panic!("{findings:#?}") };
    let cause = loss.cause.as_ref().expect("they take one path");
    assert_eq!((cause.udp_src_port, cause.dst.as_deref()), (Some(50_001), Some("10.0.0.2")));

    // All queue pairs between two of many hosts.
    let ill: Vec<String> = (1..=6).map(|n| format!("21.{n}")).collect();
    let ill: Vec<&str> = ill.iter().map(String::as_str).collect();
    let findings = all_to_all("copies = 6\n", &drops(&ill, "after", apart));
    let [loss] = of_kind(&findings, "loss.downstream")[..] else { panic!("{findings:#?}") };
    let cause = loss.cause.as_ref().expect("they have both hosts in common");
    assert_eq!((cause.src.as_deref(), cause.dst.as_deref()), (Some("10.0.0.3"), Some("10.0.1.2")));
}

#[test]
fn what_happened_at_one_time_is_said() {
    let all: Vec<String> = (0..16).map(|n| format!("{}{}", n / 4, n % 4)).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let findings = all_to_all("", &drops(&all, "after", |n| 100 + n % 2));
    let [loss] = of_kind(&findings, "loss.downstream")[..] else { panic!("{findings:#?}") };
    let cause = loss.cause.as_ref().expect("all at once");
    assert!(
        cause.src.is_none()
            && cause.dst.is_none()
            && cause.first_ns.is_some()
            && cause.last_ns >= cause.first_ns,
        "{cause:?}"
    );
    assert!(loss.text.contains("all of it began within") && loss.next.contains("happened then"), "{loss:?}");
    // Spread over the capture it is no one event.
    let findings = all_to_all("", &drops(&all, "after", apart));
    let [loss] = of_kind(&findings, "loss.downstream")[..] else { panic!("{findings:#?}") };
    assert_eq!(loss.cause, None, "{loss:?}");
    assert!(loss.text.starts_with("all 16 flows with data together had "), "{}", loss.text);
}

#[test]
fn chance_is_no_cause() {
    // All flows of two hosts: nothing to compare with.
    let pair = "[[connection]]\nname = \"p\"\ncopies = 6\noperations = [{ op = \"write\", size = \"64KiB\", count = 8 }]\n";
    let all = ["p.1", "p.2", "p.3", "p.4", "p.5", "p.6"];
    let findings = run(&(pair.to_owned() + &drops(&all, "after", apart))).remove(0).finish().head.findings;
    let [loss] = of_kind(&findings, "loss.downstream")[..] else { panic!("{findings:#?}") };
    assert_eq!(loss.cause, None, "{}", loss.text);
    // Nothing wrong: nothing found. Losses anywhere: no host is blamed.
    assert_eq!(all_to_all("", ""), []);
    let (mut losses, mut blamed) = (0, 0);
    for n in 0..12 {
        let random =
            format!("[[segment]]\nright = {{ drop = {} }}\n[[segment]]\n", 0.0005 + 0.0001 * n as f64);
        let findings = all_to_all("", &random);
        losses += of_kind(&findings, "loss.upstream").len();
        blamed += findings.iter().filter(|finding| finding.cause.is_some()).count();
    }
    assert!(losses >= 12 && blamed <= 1, "{losses} {blamed}");
}

/// What the capture cut needs more bytes, and what something wraps needs its name.
#[test]
fn advice_for_what_is_not_decoded_is_for_why_it_is_not() {
    let pause = [&[1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 0x08, 1, 1, 0, 8][..], &[0; 42]].concat();
    let macsec = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0x77][..], &[0; 46]].concat();
    let next = |frames: &[(&[u8], usize)]| {
        let mut analysis = Analysis::new(Options::default());
        for (n, (bytes, kept)) in frames.iter().enumerate() {
            analysis.push(&Record {
                time: Time(n as i64 * 1_000),
                link: rdmawire::dissect::Link::ETHERNET,
                interface: 0,
                wire_len: bytes.len() as u32,
                frame: &bytes[..*kept],
            });
        }
        let report = analysis.finish();
        let of =
            |id: &str| report.head.findings.iter().find(|one| one.id == id).map(|one| one.next.to_string());
        let of_hidden = of("capture.not_decoded").unwrap_or_else(|| panic!("{report:#?}"));
        (of_hidden, of("capture.no_rdma"))
    };
    let (text, none) = next(&[(&pause, 18), (&pause, 18)]);
    assert!(text.starts_with("record more bytes of each frame") && !text.contains("--decap"), "{text}");
    assert!(!text.contains("offloaded"), "{text}");
    // Where all was cut, one finding says so.
    assert_eq!(none, None);
    let (wrapped, none) = next(&[(&macsec, 60)]);
    let none = none.expect("no RDMA packet");
    assert!(wrapped.starts_with("name a tunnel") && none.contains("offloaded"), "{wrapped}; {none}");
    let (both, _) = next(&[(&macsec, 60), (&pause, 18)]);
    assert!(both.starts_with("record more bytes") && both.contains("; name a tunnel"), "{both}");
}
