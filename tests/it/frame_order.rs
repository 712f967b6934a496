//! What a capturing side does to the order of frames and to their times changes no verdict: stamps that jitter, queues that are written
//! in turn, clocks that are apart.

use rdmawire::{
    analyze::{Analysis, Options},
    capture::{Record, Time},
    report::{FrameOrder, Report},
    sim::{Run, Scenario, run},
};

/// Connections that lose packets on both sides of a tap with these faults. Identifications tell nothing.
fn play(seed: u32, rate: &str, tap: &str) -> Run {
    let text = format!(
        r#"
        seed = {seed}
        rate = "{rate}"
        [[connection]]
        copies = 2
        operations = [
            {{ op = "write", size = "64KiB", count = 40 }},
            {{ op = "read", size = "64KiB", count = 10 }},
            {{ op = "send", size = "16KiB", count = 40 }},
        ]
        [[segment]]
        delay = "1us"
        right = {{ drop = 0.002 }}
        left = {{ drop = 0.001 }}
        [[segment]]
        delay = "4us"
        right = {{ drop = 0.002 }}
        left = {{ drop = 0.001 }}
        [[tap]]
        {tap}
        "#
    );
    run(&Scenario::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))).unwrap()
}

fn analyze(run: &Run, order: Option<FrameOrder>) -> Report {
    let mut analysis = Analysis::new(Options { order, ..Options::default() });
    let mut frames = run.frames(0);
    while let Some(frame) = frames.next() {
        let (time, link, wire_len) = (Time(frame.time_ns), frame.link, frame.wire_len);
        analysis.push(&Record { time, link, interface: 0, wire_len, frame: frame.bytes });
    }
    analysis.finish()
}

/// Packets of all flows: retransmitted, out of order, recorded twice.
fn counts(report: &Report) -> [u64; 3] {
    let streams = || report.flows.iter().flat_map(|flow| [&flow.requests, &flow.responses]);
    [
        streams().map(|stream| stream.retransmits).sum(),
        streams().map(|stream| stream.out_of_order).sum(),
        streams().map(|stream| stream.capture_duplicates).sum(),
    ]
}

fn retransmitted(run: &Run) -> u64 {
    run.labels(0).frames.iter().filter(|label| label.is_retransmission()).count() as u64
}

const SEEDS: [u32; 3] = [1, 2, 3];

/// Queues that are flushed in turn: times are right, the order of the file is not, however far the two are apart.
#[test]
fn queues_that_are_flushed_in_turn() {
    for (seed, (queues, flush)) in SEEDS.into_iter().zip([(4, "20us"), (8, "200us"), (3, "2ms")]) {
        let tidy = analyze(&play(seed, "10G", ""), None);
        assert_eq!((tidy.head.capture.frame_order, tidy.head.capture.time_steps_back), (None, 0));
        let run = play(seed, "10G", &format!("queues = {queues}\nflush = \"{flush}\""));
        let report = analyze(&run, None);
        assert_eq!(counts(&report), counts(&tidy), "{flush}");
        assert!(counts(&report)[0] > 500);
        let capture = &report.head.capture;
        assert_eq!(capture.frame_order, Some(FrameOrder::Time), "{flush}");
        assert!(capture.order_apart_ns.unwrap() > 10_000 && capture.time_steps_back > 5, "{capture:?}");
        // Told otherwise, it shows what this is about.
        let by_file = analyze(&run, Some(FrameOrder::File));
        assert!(counts(&by_file)[1] > 500, "{:?}", counts(&by_file));
    }
}

/// Stamps that jitter: the order of the file is right.
#[test]
fn stamps_that_jitter() {
    for (seed, jitter) in SEEDS.into_iter().zip(["200ns", "1us", "3us"]) {
        let run = play(seed, "100G", &format!("stamp_jitter = \"{jitter}\""));
        let report = analyze(&run, None);
        let [again, late, copies] = counts(&report);
        let truth = retransmitted(&run);
        assert!(
            again.abs_diff(truth) * 200 <= truth && late <= 20 && copies == 0,
            "{jitter}: {again} of {truth}, {late}, {copies}"
        );
        assert_eq!(report.head.capture.frame_order, Some(FrameOrder::File), "{jitter}");
        let by_time = analyze(&run, Some(FrameOrder::Time));
        assert!(counts(&by_time)[1] > 500, "{:?}", counts(&by_time));
    }
}

/// Clocks that are apart, of the directions or of bonded links: packets come late, but none is a copy.
#[test]
fn clocks_that_are_apart() {
    for tap in ["left_ahead = \"12us\"", "bond_ahead = \"1500ns\""] {
        for seed in SEEDS {
            let run = play(seed, "100G", tap);
            let report = analyze(&run, None);
            let [again, _, copies] = counts(&report);
            // The receivers take packets in their order only: those that lost some saw another one.
            let streams = report.flows.iter().flat_map(|flow| [&flow.requests, &flow.responses]);
            for stream in streams.filter(|stream| stream.triggers.nak + stream.triggers.repeated_read > 0) {
                assert!(stream.reordering.is_none_or(|late| late.is_at_tap), "{tap}: {stream:?}");
            }
            let refused = report.head.findings.iter().find(|finding| finding.id == "reorder.nak");
            assert!(refused.is_none(), "{tap}: {refused:?}");
            let truth = retransmitted(&run);
            assert!(again.abs_diff(truth) * 50 <= truth, "{tap}: {again} of {truth}");
            assert_eq!(copies, 0, "{tap}");
        }
    }
}

/// One file behind another that ended later: time steps back once, and that is no disorder.
#[test]
fn a_file_behind_another() {
    let run = play(1, "100G", "");
    let (mut analysis, mut ends) = (Analysis::new(Options::default()), 0);
    for turn in 0..2 {
        let mut frames = run.frames(0);
        while let Some(frame) = frames.next() {
            // The second has other hosts.
            let mut bytes = frame.bytes.to_vec();
            bytes[14 + 12] += turn;
            bytes[14 + 16] += turn;
            let (time, link, wire_len) = (Time(frame.time_ns), frame.link, frame.wire_len);
            analysis.push(&Record { time, link, interface: 0, wire_len, frame: &bytes });
            ends = ends.max(frame.time_ns);
        }
    }
    let report = analysis.finish();
    assert_eq!(report.head.capture.time_steps_back, 1);
    assert_eq!(report.head.capture.last_ns, Some(ends));
}

/// Where the order of the file is right, times that step back are made equal to those before. These are no batches: losses are proved as with
/// a good clock.
#[test]
fn equal_times_of_a_jittering_clock_are_no_batches() {
    let proved = |report: &Report| -> u64 {
        report.flows.iter().filter_map(|flow| flow.lost()).map(|[least, _]| least).sum()
    };
    for seed in SEEDS {
        let tidy = analyze(&play(seed, "100G", ""), None);
        let report = analyze(&play(seed, "100G", "stamp_jitter = \"1us\""), None);
        assert_eq!(report.head.capture.frame_order, Some(FrameOrder::File));
        assert_eq!(report.head.capture.timestamp_batch_frames, None, "seed {seed}");
        let (with, without) = (proved(&report), proved(&tidy));
        assert!(without > 10 && with * 10 >= without * 8, "seed {seed}: {with} of {without}");
    }
}

/// A burst of acknowledgements shows the order too, where no data steps back.
#[test]
fn acknowledgements_show_the_order() {
    let text = r#"
        [[connection]]
        copies = 8
        operations = [{ op = "send", size = "4KiB", count = 150 }]
        ip_id = "random"
        recovery = "selective"
        tolerate = 4
        mtu = 4096
        [[segment]]
        delay = "20us"
        right = { drop = 0.005, reorder = 0.005, reorder_depth = 3 }
        [[segment]]
        delay = "5us"
        right = { drop = 0.0005 }
        [[tap]]
        stamp_jitter = "300ns"
    "#;
    let report = analyze(&run(&Scenario::parse(text).unwrap()).unwrap(), None);
    let late: u64 = report.flows.iter().map(|flow| flow.responses.out_of_order).sum();
    assert_eq!((report.head.capture.frame_order, late), (Some(FrameOrder::File), 0));
}

/// A mirror copies all packets. A READ takes many PSNs and is one packet: what comes behind some is still near the beginning.
#[test]
fn a_mirror_copies_what_follows_reads() {
    let text = r#"
        [[connection]]
        operations = [{ op = "read", size = "32KiB", count = 25 }, { op = "write_imm", size = 3000, count = 60 }]
        mtu = 4096
        window = 16
        [[segment]]
        delay = "20us"
        [[segment]]
        delay = "2us"
        [[tap]]
        duplicate = 1
    "#;
    let [again, late, copies] = counts(&analyze(&run(&Scenario::parse(text).unwrap()).unwrap(), None));
    // The first ones come before anything is known of it.
    assert!(again <= 20 && late == 0 && copies > 300, "{again}, {late}, {copies}");
}
