//! Several taps, each on a link of its own: how fast a host's link is, what one direction shows, and one clock for all.

use std::path::PathBuf;

use crate::support::{
    frames::Roce,
    merged::{push_in_order, set_dscp},
    scratch::Scratch,
};
use rdmawire::{
    analyze::{Analysis, Options},
    capture::{Record, Series, Time},
    checksum,
    dissect::{Link, dissect},
    opcode::Opcode,
    report::{Reason, Report},
    sim::{Scenario, run},
    taps,
    wire::*,
};

const GBPS: u64 = 1_000_000_000;
const RECEIVER: u8 = 9;
type Frame = (i64, u16, Link, Vec<u8>);

/// A frame as hosts send it: with an identification of its own.
fn sent(roce: Roce) -> Vec<u8> {
    let mut frame = roce.frame();
    frame[18..20].copy_from_slice(&(roce.psn as u16 + 1).to_be_bytes());
    frame[22] = 64;
    frame[24..26].fill(0);
    let sum = checksum::internet(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame
}

/// Three senders, of 15 Gbit/s each, to one receiver. Each link has a tap, that of the receiver has the number 3.
fn three_to_one() -> Vec<Frame> {
    let mut all = Vec::new();
    for psn in 0..1500u32 {
        for src in 1..=3u8 {
            let time = i64::from(psn) * 600 + i64::from(src) * 200;
            let roce =
                Roce { src, dst: RECEIVER, qp: 0x10 + u32::from(src), psn, payload: 1024, ..Roce::default() };
            all.push((time, u16::from(src) - 1, Link::ETHERNET, sent(roce)));
            all.push((time + 1_000, 3, Link::ETHERNET, sent(roce)));
        }
    }
    all
}

/// With links of these speeds, in Gbit/s: those of the senders, and that of the receiver, where it has a tap.
fn report(senders: u64, receiver: Option<u64>) -> Report {
    let mut analysis = Analysis::new(Options::default());
    for number in 0..3 {
        analysis.interface(number, format!("t{number}"), Some(senders * GBPS));
    }
    let mut frames = three_to_one();
    match receiver {
        Some(speed) => analysis.interface(3, "t9".into(), Some(speed * GBPS)),
        None => frames.retain(|frame| frame.1 < 3),
    }
    push_in_order(frames, &mut analysis);
    analysis.finish()
}

/// The speed of a receiver's link is that of the tap on it, wherever its packets were seen first.
#[test]
fn incast_is_by_the_receivers_own_link() {
    assert_eq!(report(25, Some(100)).head.incast, Some(Vec::new()));
    for senders in [25, 100] {
        let report = report(senders, Some(25));
        let incast = report.head.incast.as_ref().unwrap();
        assert!(!incast.is_empty() && incast.iter().all(|one| one.receiver == "10.0.0.9"), "{incast:?}");
        let found = report.head.findings.iter().filter(|finding| finding.id == "congestion.incast");
        assert_eq!(found.count(), 1);
    }
    // Without that tap, nobody knows.
    let unknown = report(25, None).head;
    assert_eq!((&unknown.incast, unknown.why.get("incast")), (&None, Some(&Reason::UnknownSpeed)));
}

/// What a link carries in a bin is not known where times are those of batches, or count in milliseconds.
#[test]
fn coarse_times_show_no_incast() {
    let mut analysis = Analysis::new(Options { speed_bps: Some(25 * GBPS), ..Options::default() });
    for (time, _, link, frame) in three_to_one().into_iter().filter(|frame| frame.1 == 3) {
        let (time, wire_len) = (Time(time / 1_000_000 * 1_000_000), frame.len() as u32);
        analysis.push(&Record { time, link, interface: 0, wire_len, frame: &frame });
    }
    // A second frame much later, so that the step shows.
    let last = sent(Roce { src: 1, dst: RECEIVER, qp: 0x11, psn: 1500, payload: 1024, ..Roce::default() });
    analysis.push(&Record {
        time: Time(5_000_000),
        link: Link::ETHERNET,
        interface: 0,
        wire_len: last.len() as u32,
        frame: &last,
    });
    let head = analysis.finish().head;
    assert_eq!((&head.incast, head.why.get("incast")), (&None, Some(&Reason::CoarseTimes)));
}

/// The packets of a scenario that this host sends.
fn from(text: &str, src: &str) -> Report {
    let run = run(&Scenario::parse(text).unwrap()).unwrap();
    let mut analysis = Analysis::new(Options::default());
    let mut frames = run.frames(0);
    while let Some(frame) = frames.next() {
        let (time, link, wire_len) = (Time(frame.time_ns), frame.link, frame.wire_len);
        let d = dissect(link, frame.bytes, wire_len);
        if d.get::<Ipv4>().is_some_and(|ip| ip.src().to_string() == src) {
            analysis.push(&Record { time, link, interface: 0, wire_len, frame: frame.bytes });
        }
    }
    analysis.finish()
}

/// Nothing is said of the direction that was not captured.
#[test]
fn one_direction_has_no_verdict_about_the_other() {
    let text = "[[connection]]\noperations = [{ op = \"write\", size = \"256KiB\", count = 20 }]\n\
                [[segment]]\ndelay = \"2us\"\nright = { mark = 0.05 }\n[[segment]]\n";
    let has = |report: &Report, id: &str| report.head.findings.iter().any(|finding| finding.id == id);
    let data = from(text, "10.0.0.1");
    let congestion = &data.head.congestion;
    assert!(congestion.ce_packets > 0 && congestion.cnps == 0, "{congestion:?}");
    assert_eq!(congestion.ce_packets_one_way, congestion.ce_packets);
    assert!(!has(&data, "congestion.no_cnp"));
    assert_eq!(congestion.flows[0].why["expected_cnps"], Reason::OneWay);
    let answers = from(text, "10.0.0.2");
    let congestion = &answers.head.congestion;
    assert!(congestion.cnps > 0 && congestion.ce_packets == 0, "{congestion:?}");
    assert_eq!((congestion.cnps_without_ce, congestion.why["cnps_without_ce"]), (None, Reason::OneWay));
    assert_eq!(congestion.flows[0].cnps_unmarked, None);
    assert!(!has(&answers, "congestion.unmarked"));
}

/// Without a map, a priority that was paused is the one that devices go by.
#[test]
fn tags_that_disagree_are_judged_by_pauses() {
    for (pcp, paused) in [(4, 4), (0, 3), (4, 3)] {
        let text = format!(
            "[[connection]]\nvlan = 5\npcp = {pcp}\nmtu = 4096\nwindow = 2000\n\
             operations = [{{ op = \"write\", size = \"1MiB\", count = 4 }}]\n\
             [[pause]]\nfrom = \"right\"\npriority = {paused}\nat = \"100us\"\nhold = \"900us\"\nstops = [\"a\"]\n"
        );
        let run = run(&Scenario::parse(&text).unwrap()).unwrap();
        let mut analysis = Analysis::new(Options { speed_bps: Some(100 * GBPS), ..Options::default() });
        let mut frames = run.frames(0);
        while let Some(frame) = frames.next() {
            let (time, link, wire_len) = (Time(frame.time_ns), frame.link, frame.wire_len);
            analysis.push(&Record { time, link, interface: 0, wire_len, frame: frame.bytes });
        }
        let head = analysis.finish().head;
        let class = head.traffic_classes.iter().find(|class| class.operations.writes > 0).unwrap();
        let pause = &head.pause.as_ref().unwrap()[0];
        assert_eq!(class.priority, Some(paused), "{pcp}");
        assert_eq!(class.paused_ns, pause.paused_ns, "{pcp}");
        // The simulator goes by the DSCP: what is in another priority is not stopped.
        let is_stopped = pause.effect.is_some_and(|effect| effect.flows > 0);
        assert_eq!(is_stopped, paused == 26 >> 3, "{pcp}: {pause:?}");
    }
}

/// A file of frames, by a clock that is ahead by so much.
fn file(scratch: &Scratch, name: &str, frames: &[Frame], ahead: i64) -> PathBuf {
    let mut bytes: Vec<u8> = Vec::new();
    let head = [0xa1b2_3c4d_u32, 4 << 16 | 2, 0, 0, 1 << 18, 1];
    head.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    for (time, .., frame) in frames {
        let (ns, len) = (time + ahead + 1_000_000_000, frame.len() as u32);
        let words = [(ns / 1_000_000_000) as u32, (ns % 1_000_000_000) as u32, len, len];
        words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes.extend(frame);
    }
    scratch.file(name, &bytes)
}

/// Two senders' taps have nothing in common but what the receiver's tap has: in whatever order they are given, they get one clock.
#[test]
fn clocks_of_all_taps_are_tied_in_any_order() {
    let mut taps: [Vec<Frame>; 3] = Default::default();
    for psn in 0..400u32 {
        for src in 1..=2u8 {
            let time = i64::from(psn) * 2_000 + i64::from(src) * 300;
            let data =
                Roce { src, dst: RECEIVER, qp: 0x10 + u32::from(src), psn, payload: 256, ..Roce::default() };
            let opcode = Opcode::RC_ACKNOWLEDGE;
            let ack =
                Roce { src: RECEIVER, dst: src, qp: 0x20 + u32::from(src), psn, opcode, ..Roce::default() };
            let own = usize::from(src) - 1;
            taps[own].push((time, 0, Link::ETHERNET, sent(data)));
            taps[2].push((time + 1_000, 0, Link::ETHERNET, sent(data)));
            taps[2].push((time + 1_500, 0, Link::ETHERNET, sent(ack)));
            taps[own].push((time + 2_500, 0, Link::ETHERNET, sent(ack)));
        }
    }
    taps.iter_mut().for_each(|frames| frames.sort_by_key(|frame| frame.0));
    let ahead = [0, 5_000_000, -3_000_000];
    let scratch = Scratch::new("tied");
    let paths: Vec<PathBuf> =
        (0..3).map(|tap| file(&scratch, &format!("t{tap}.pcap"), &taps[tap], ahead[tap])).collect();
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let merge = taps::merge(order.iter().map(|&tap| Series::open(&paths[tap], []).unwrap()).collect());
        for (&tap, series) in order.iter().zip(merge.captures()).skip(1) {
            let expected = ahead[tap] - ahead[order[0]];
            let clock = series.clock().unwrap_or_else(|| panic!("{order:?}: {tap}"));
            assert!((clock.ns - expected).abs() <= 3_000, "{order:?}: {tap}: {clock:?} {expected}");
        }
    }
}

/// ECN that a device between two taps clears, as one that writes the whole byte of the traffic class.
pub(crate) fn cleared() -> Analysis {
    let mut analysis = Analysis::new(Options::default());
    let mut frames = Vec::new();
    for psn in 0..200u32 {
        let roce = Roce { psn, payload: 256, ..Roce::default() };
        frames.push((i64::from(psn) * 1_000, 0, Link::ETHERNET, sent(roce)));
        let mut later = sent(roce);
        later[15] &= !3;
        set_dscp(Link::ETHERNET, &mut later, "10.0.0.1", 0);
        frames.push((i64::from(psn) * 1_000 + 700, 1, Link::ETHERNET, later));
    }
    push_in_order(frames, &mut analysis);
    analysis
}

#[test]
fn ecn_that_is_cleared_between_taps_is_found() {
    let report = cleared().finish();
    let qos = &report.head.qos;
    assert_eq!(qos.ecn_cleared_count, 1, "{:?}", report.flows);
    assert!(qos.ecn_cleared[0].packets >= 190, "{:?}", qos.ecn_cleared);
    assert!(report.head.findings.iter().any(|finding| finding.id == "congestion.ecn_cleared"));
}

/// What a port says in LLDP: of which priorities it has PFC, and whether it takes over what the other end has.
fn port(sender: u8, willing: bool, pfc: u8) -> Vec<u8> {
    let mac = [2, 0, 0, 0, 0, sender];
    let tlv = |kind: u16, value: &[u8]| [&(kind << 9 | value.len() as u16).to_be_bytes()[..], value].concat();
    let dcbx = [0x00, 0x80, 0xc2, 11, u8::from(willing) << 7 | 8, pfc];
    let tlvs = [
        tlv(1, &[&[4][..], &mac].concat()),
        tlv(2, b"\x05p1"),
        tlv(3, &[0, 120]),
        tlv(127, &dcbx),
        tlv(0, &[]),
    ];
    [&[1, 0x80, 0xc2, 0, 0, 0x0e][..], &mac, &[0x88, 0xcc], &tlvs.concat()].concat()
}

fn heard(ports: [Vec<u8>; 2]) -> Analysis {
    let mut analysis = Analysis::new(Options::default());
    push_in_order(ports.map(|port| (1, 0, Link::ETHERNET, port)).into(), &mut analysis);
    analysis
}

/// Two ends of a link that have PFC on different priorities, and stay so.
pub(crate) fn disagreeing() -> Analysis {
    heard([port(1, false, 1 << 3), port(2, false, 1 << 4)])
}

#[test]
fn ends_of_a_link_that_differ_are_found() {
    let is_found = |analysis: Analysis| {
        analysis.finish().head.findings.iter().any(|finding| finding.id == "class.dcbx_differs")
    };
    assert!(is_found(disagreeing()));
    // One takes over what the other has; or both have the same.
    assert!(!is_found(heard([port(1, true, 1 << 3), port(2, false, 1 << 4)])));
    assert!(!is_found(heard([port(1, false, 1 << 4), port(2, false, 1 << 4)])));
}
