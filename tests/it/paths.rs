//! Queue pairs that take several paths: which path is bad, and that nothing is said of good ones.

use rdmawire::{
    analyze::{Analysis, Options},
    capture::{Record, Time},
    dissect::Link,
    report::{PathState, Report},
    sim::{
        Run, Scenario,
        label::{Class, Labels},
        run,
    },
};

use crate::support::merged;

/// Eight paths in turn, of which one may be worse.
fn scenario(seed: u64, bad: &str) -> String {
    format!(
        "seed = {seed}\n[[connection]]\nudp_port = \"spray:8\"\nrecovery = \"selective\"\ntolerate = 64\nnotify = false\n\
         operations = [{{ op = \"write\", size = \"256KiB\", count = 16 }}]\n[[segment]]\ndelay = \"2us\"\n[[segment]]\ndelay = \"2us\"\n\
         [paths]\ncount = 8\nby = \"remainder\"\n{bad}\n"
    )
}

fn analyze(text: &str, options: Options) -> Report {
    let run = run(&Scenario::parse(text).unwrap()).unwrap();
    let mut analysis = Analysis::new(options);
    let mut frames = run.frames(0);
    while let Some(frame) = frames.next() {
        let (time, wire_len, frame) = (Time(frame.time_ns), frame.wire_len, frame.bytes);
        analysis.push(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame });
    }
    analysis.finish()
}

#[test]
fn the_bad_path_is_named_and_no_other() {
    for (bad, state) in [
        ("bad_drop = 0.2", PathState::Lossy),
        ("bad_drop = 0.2\nbad_segment = 2", PathState::Lossy),
        ("bad_drop = 1.0\nbad_from = \"100us\"", PathState::Dead),
        ("bad_drop = 1.0\nbad_segment = 2", PathState::Dead),
        ("bad_delay = \"3us\"", PathState::Slow),
        ("bad_mark = 0.5", PathState::Congested),
        ("bad_trim = 0.2", PathState::Trimming),
    ] {
        for seed in 1..5 {
            let text = scenario(seed, &format!("bad = {}\n{bad}", seed + 1));
            let report = analyze(&text, Options::default());
            let paths = &report.head.paths;
            let standing: Vec<_> = paths
                .iter()
                .filter(|path| path.state != PathState::Good)
                .map(|path| (u64::from(path.udp_src_port % 8), path.state))
                .collect();
            assert_eq!(standing, [(seed + 1, state)], "{text}\n{paths:#?}");
            let findings = report.head.findings.iter().filter(|finding| finding.id == "path.bad");
            assert_eq!(findings.count(), 1, "{text}");
        }
    }
}

/// Go-back-N repeats all behind a loss: only the first of these was lost, on the path of its last transmission.
#[test]
fn the_bad_path_is_named_with_go_back_n() {
    for (tap, copies) in [(1, 1), (2, 1), (2, 8)] {
        for (bad, states) in [
            ("bad_drop = 0.3", [PathState::Lossy, PathState::Lossy]),
            ("bad_drop = 1.0\nbad_from = \"200us\"", [PathState::Dead, PathState::Dead]),
        ] {
            let text = format!(
                "seed = 3\n[[connection]]\ncopies = {copies}\nudp_port = \"spray:16\"\ntolerate = 64\nmtu = 4096\n\
                 operations = [{{ op = \"write\", size = \"256KiB\", count = 20 }}]\n[[segment]]\ndelay = \"1us\"\n[[segment]]\ndelay = \"1us\"\n\
                 [[tap]]\nafter = {tap}\n[paths]\ncount = 16\nby = \"remainder\"\nbad = 5\nbad_segment = 1\n{bad}\n"
            );
            let report = analyze(&text, Options::default());
            let standing: Vec<_> =
                report.head.paths.iter().filter(|path| path.state != PathState::Good).collect();
            assert!(!standing.is_empty(), "{text}");
            for path in standing {
                assert!(path.udp_src_port % 16 == 5 && states.contains(&path.state), "{text}\n{path:?}");
            }
        }
    }
}

/// A path that is a little slower makes a sender go back again and again. What was sent several times proves nothing against the paths of earlier
/// transmissions, and what comes alone between retransmissions was late.
#[test]
fn a_slow_path_is_named_where_the_sender_goes_back() {
    for tap in [1, 2] {
        for seed in 1..4 {
            let text = format!(
                "seed = {seed}\n[[connection]]\nudp_port = \"spray:16\"\ntolerate = 64\nmtu = 4096\n\
                 operations = [{{ op = \"write\", size = \"256KiB\", count = 20 }}]\n[[segment]]\ndelay = \"1us\"\n[[segment]]\ndelay = \"1us\"\n\
                 [[tap]]\nafter = {tap}\n[paths]\ncount = 16\nby = \"remainder\"\nbad = 5\nbad_segment = 1\nbad_delay = \"30us\"\n"
            );
            let report = analyze(&text, Options::default());
            let standing = report.head.paths.iter().filter(|path| path.state != PathState::Good);
            let standing: Vec<_> = standing.map(|path| (path.udp_src_port % 16, path.state)).collect();
            assert_eq!(standing, [(5, PathState::Slow)], "{text}\n{:#?}", report.head.paths);
        }
    }
}

#[test]
fn of_good_paths_nothing_is_said() {
    for (seed, more) in (1..5).flat_map(|seed| [(seed, ""), (seed, "skew = \"20ns\"")]) {
        let report = analyze(&scenario(seed, more), Options::default());
        assert_eq!(report.head.paths.len(), 8);
        assert!(
            report.head.paths.iter().all(|path| path.state == PathState::Good && !path.is_uneven),
            "{:#?}",
            report.head.paths
        );
        assert!(!report.head.findings.iter().any(|finding| finding.id.starts_with("path.")));
        let packets: u64 = report.head.paths.iter().map(|path| path.packets).sum();
        let flow = report.flows.iter().max_by_key(|flow| flow.packets).unwrap();
        assert_eq!(packets, flow.packets);
    }
}

/// In runs and one by one, packets are counted alike.
#[test]
fn both_ways_to_analyze_count_alike() {
    let text = scenario(3, "bad = 2\nbad_drop = 0.1");
    let slow = analyze(&text, Options { reference: true, ..Options::default() });
    let fast = analyze(&text, Options::default());
    assert_eq!(format!("{:?}", fast.head.paths), format!("{:?}", slow.head.paths));
}

/// What a slow path carries comes to the receiver late, and nothing of it was sent again; the other paths have ended by then, and are not dead. Identifications
/// say so where the sender counts them, though every other packet may be late.
#[test]
fn what_a_slow_path_delivers_late_is_no_retransmission() {
    for paths in [2, 4, 16] {
        for delay in ["60us", "200us", "1ms"] {
            let text = format!(
                "seed = 3\n[[connection]]\nudp_port = \"spray:{paths}\"\nrecovery = \"selective\"\ntolerate = 100000\nip_id = \"flow\"\nmtu = 1024\n\
                 notify = false\noperations = [{{ op = \"write\", size = \"256KiB\", count = 8 }}]\n[[segment]]\ndelay = \"2us\"\n[[segment]]\n\
                 delay = \"2us\"\n[[tap]]\nafter = 2\n[paths]\ncount = {paths}\nby = \"remainder\"\nbad = 1\nbad_segment = 1\nbad_delay = \"{delay}\"\n"
            );
            let report = analyze(&text, Options::default());
            let bad = report.head.paths.iter().filter(|path| path.state != PathState::Good);
            let bad: Vec<_> = bad.map(|path| (path.udp_src_port % paths, path.state)).collect();
            assert_eq!(bad, [(1, PathState::Slow)], "{text}\n{:#?}", report.head.paths);
            let flow = report.flows.iter().max_by_key(|flow| flow.packets).unwrap();
            assert_eq!(flow.requests.retransmits, 0, "{text}");
            let late = report.head.paths.iter().find(|path| path.udp_src_port % paths == 1).unwrap().packets;
            assert!(flow.requests.out_of_order.abs_diff(late) <= 16, "{text}");
        }
    }
}

/// Of few paths, one loses: the others are not blamed for what retransmissions in between do to the order of turns.
#[test]
fn of_few_paths_only_the_one_that_loses_is_named() {
    for bad in ["bad_drop = 0.2", "bad_drop = 0.2\nbad_segment = 2"] {
        for count in [2, 4] {
            let text = format!(
                "seed = 3\n[[connection]]\nudp_port = \"spray:{count}\"\nrecovery = \"selective\"\ntolerate = 64\nnotify = false\n\
                 operations = [{{ op = \"write\", size = \"256KiB\", count = 8 }}]\n[[segment]]\ndelay = \"2us\"\n[[segment]]\ndelay = \"2us\"\n\
                 [paths]\ncount = {count}\nby = \"remainder\"\nbad = 1\n{bad}\n"
            );
            let report = analyze(&text, Options::default());
            for path in report.head.paths.iter().filter(|path| path.udp_src_port % count != 1) {
                assert_eq!(path.state, PathState::Good, "{text}\n{path:?}");
            }
        }
    }
}

/// Sixteen paths between two taps, of which one may be worse. The receiver misses at once what is overtaken.
fn between_taps(seed: u64, recovery: &str, bad: &str) -> Run {
    let text = format!(
        "seed = {seed}\n[[connection]]\nudp_port = \"spray:16\"\nrecovery = \"{recovery}\"\nmtu = 4096\nnotify = false\n\
         operations = [{{ op = \"write\", size = \"256KiB\", count = 32 }}]\n[[segment]]\ndelay = \"1us\"\n[[segment]]\ndelay = \"3us\"\n\
         [[segment]]\ndelay = \"1us\"\n[[tap]]\nname = \"s\"\nafter = 1\n[[tap]]\nname = \"r\"\nafter = 2\n[[tap]]\nname = \"one\"\nafter = 1\nonly = \"right\"\n\
         [paths]\ncount = 16\nby = \"remainder\"\nbad = 5\nbad_segment = 2\n{bad}\n"
    );
    run(&Scenario::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))).unwrap()
}

fn at_taps(run: &Run, taps: &[usize]) -> Report {
    let mut analysis = Analysis::new(Options::default());
    merged::push(run, taps, &mut analysis);
    analysis.finish()
}

fn standing(report: &Report) -> Vec<(u16, PathState)> {
    let standing = report.head.paths.iter().filter(|path| path.state != PathState::Good);
    standing.map(|path| (path.udp_src_port % 16, path.state)).collect()
}

/// Before the paths, retransmissions of what comes late look like those of what is lost. Answers to what had arrived tell them apart.
#[test]
fn a_slow_path_is_told_from_a_dead_one_and_a_lossy_one_before_it() {
    for (bad, state) in [
        ("bad_delay = \"20us\"", PathState::Slow),
        ("bad_delay = \"200us\"", PathState::Slow),
        ("bad_delay = \"2ms\"", PathState::Slow),
        ("bad_drop = 0.2", PathState::Lossy),
        ("bad_drop = 1.0\nbad_from = \"400us\"", PathState::Dead),
    ] {
        for seed in 1..4 {
            let run = between_taps(seed, "selective", bad);
            let report = at_taps(&run, &[0]);
            assert_eq!(standing(&report), [(5, state)], "{bad}, seed {seed}: {:#?}", report.head.paths);
            // Without answers, it is not told.
            let report = at_taps(&run, &[2]);
            assert_eq!(standing(&report), [(5, PathState::Repeated)], "{bad}: {:#?}", report.head.paths);
        }
    }
}

/// What comes from one tap to the other is neither lost nor guessed.
#[test]
fn between_two_taps_losses_and_delays_of_paths_are_exact() {
    for recovery in ["selective", "go_back_n"] {
        for (bad, state, delay) in [
            ("", PathState::Good, 3_000),
            ("bad_delay = \"20us\"", PathState::Slow, 23_000),
            ("bad_delay = \"200us\"", PathState::Slow, 203_000),
            ("bad_drop = 0.2", PathState::Lossy, 3_000),
            ("bad_drop = 1.0\nbad_from = \"400us\"", PathState::Dead, 3_000),
            ("bad_trim = 0.2", PathState::Trimming, 3_000),
            ("bad_mark = 0.3", PathState::Congested, 3_000),
        ] {
            let run = between_taps(7, recovery, bad);
            let report = at_taps(&run, &[0, 1]);
            let expected = if state == PathState::Good { vec![] } else { vec![(5, state)] };
            assert_eq!(standing(&report), expected, "{recovery} {bad}: {:#?}", report.head.paths);
            let sent = |tap: usize| {
                let frames = run.recorded(tap).filter_map(|sighting| run.transmission(sighting));
                frames.filter(|sent| sent.flow == 0).map(|sent| sent.udp_port)
            };
            let labels = run.labels(1);
            let trimmed = sent_trimmed(&run, &labels);
            for path in &report.head.paths {
                let of = |port: &u16| *port == path.udp_src_port;
                let trimmed = trimmed.iter().copied().filter(|port| of(port)).count() as u64;
                let [before, behind] = [0, 1].map(|tap| sent(tap).filter(|port| of(port)).count() as u64);
                assert_eq!(
                    (path.packets, path.lost, path.trimmed),
                    (before, before - behind + trimmed, trimmed),
                    "{recovery} {bad}: {path:?}"
                );
                let own = if path.udp_src_port % 16 == 5 { delay } else { 3_000 };
                assert_eq!(path.transit_mean_ns, Some(own), "{recovery} {bad}: {path:?}");
            }
        }
    }
}

/// The source ports of what came trimmed to the second tap.
fn sent_trimmed(run: &Run, labels: &Labels) -> Vec<u16> {
    let frames = run.recorded(1).zip(&labels.frames).filter(|(_, label)| label.class == Class::Trimmed);
    frames.filter_map(|(sighting, _)| run.transmission(sighting)).map(|sent| sent.udp_port).collect()
}

/// At the receiver, behind the paths: what a slow path delivers comes behind the NAK that asks for it, and looks like a retransmission. Its path carries
/// nothing else.
#[test]
fn a_slow_path_is_named_behind_it() {
    for seed in 1..4 {
        let run = between_taps(seed, "selective", "bad_delay = \"40us\"");
        let report = at_taps(&run, &[1]);
        let slow = report.head.paths.iter().find(|path| path.udp_src_port % 16 == 5).expect("its row");
        assert_eq!(slow.state, PathState::Slow, "{slow:?}");
        assert!(slow.late * 10 > slow.packets * 9 && slow.lost == 0, "{slow:?}");
    }
}

/// Much is lost between two taps: some of what is sent again looks late. What did not come to the second tap was lost all the same.
#[test]
fn two_taps_tell_of_much_that_is_lost() {
    for seed in [1, 3, 4, 7] {
        let text = scenario(seed, "");
        let text = text.replace("spray:8", "spray:16").replacen("\"2us\"", "\"1us\"", 1).replacen(
            "\"2us\"",
            "\"3us\"\nright = { drop = 0.2 }\n[[segment]]\ndelay = \"1us\"",
            1,
        );
        let text = format!("{text}[[tap]]\nname = \"s\"\nafter = 1\n[[tap]]\nname = \"r\"\nafter = 2\n")
            .replace("count = 8", "count = 16")
            .replace("count = 16 }]", "count = 32 }]")
            .replace("notify = false", "mtu = 4096\nnotify = false");
        let run = run(&Scenario::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))).unwrap();
        let report = at_taps(&run, &[0, 1]);
        assert!(report.head.paths.iter().all(|path| path.transit_mean_ns.is_some()), "{seed}");
    }
}
