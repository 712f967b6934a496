//! Scenarios of Ultra Ethernet and MRC: what the analysis finds of each context and path is what was played.

use rdmawire::{
    analyze::{Analysis, Options},
    capture::{Record, Time},
    dissect::Link,
    report::{FlowPath, MrcConnection, PathState, Report, UetCounted, UetState},
    sim::{
        Scenario,
        spray::{Played, Spray, TrueContext, play},
    },
};

fn played(kind: &str, text: &str) -> Played {
    let scenario = Spray::parse(&format!("kind = \"{kind}\"\n{text}"));
    play(&scenario.unwrap_or_else(|error| panic!("{error}\n{text}"))).unwrap()
}

fn analyzed(played: &Played) -> Report {
    analysis(played).finish()
}

fn analysis(played: &Played) -> Analysis {
    let mut analysis = Analysis::new(Options::default());
    for frame in played.frames() {
        let (time, wire_len) = (Time(frame.time_ns), frame.wire_len);
        analysis.push(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame: &frame.bytes });
    }
    analysis
}

/// All that is counted of contexts is true.
fn check(text: &str) -> (Played, Report) {
    let played = played("uet", text);
    let report = analyzed(&played);
    let has_contexts = !text.contains("\"rudi\"") && !text.contains("\"uud\"");
    let is_answered = !text.contains("\"uud\"");
    assert_eq!(report.head.uet.len(), played.truth.contexts.len(), "{text}");
    for truth in &played.truth.contexts {
        let of_ends = |src: &str, dst: &str| (src, dst) == (&truth.src, &truth.dst);
        let row = report.head.uet.iter().find(|row| of_ends(&row.src, &row.dst)).expect("its row");
        let of_contexts = |n: u16| has_contexts.then_some(n);
        let of_answers = |n: u64| is_answered.then_some(n);
        assert_eq!(
            (row.spdcid, row.dpdcid, row.state),
            (of_contexts(truth.spdcid), of_contexts(truth.dpdcid), has_contexts.then_some(UetState::Closed)),
            "{text}"
        );
        assert_eq!(
            (row.packets, row.retransmits, row.trimmed, row.ce_packets),
            (Some(truth.packets), of_answers(truth.retransmits), Some(truth.trimmed), Some(truth.ce_packets)),
            "{text}: {truth:?}"
        );
        assert_eq!(
            (row.acks, row.marked_acks, row.sacked_missing, row.nacks),
            (
                of_answers(truth.acks),
                of_answers(truth.marked_acks),
                of_answers(truth.sacked_missing).filter(|_| has_contexts),
                of_answers(truth.nacks.values().sum())
            ),
            "{text}: {truth:?}"
        );
        assert_eq!(row.completed, of_answers(truth.completed), "{text}: {truth:?}");
        if is_answered && !has_contexts {
            assert_eq!(row.unanswered, Some(0), "{text}: {truth:?}");
        }
        // What says that it is a retransmission is one by its PSN too, but where nobody told the sender.
        // Late, too: an overtaken packet that was taken for lost came after all.
        // And ordered ones: what was lost right behind a trimmed one is repeated with it, before anybody misses it.
        let is_repeated = text.contains("\"rod\"") && text.contains("loss = 0.01");
        let is_told = !(text.contains("late") || is_repeated);
        if truth.timeouts == 0 && truth.retransmits > 0 && is_told {
            assert_eq!(row.retransmit_agreement, Some(1.0), "{text}: {row:?}");
        }
        let counts = |counted: UetCounted, from: u8| {
            let of = report.head.uet_counts.iter().filter(|one| of_ends(&one.src, &one.dst));
            of.filter(|one| one.counted == counted && one.code >= from)
                .map(|one| (one.code, one.count))
                .collect::<std::collections::BTreeMap<_, _>>()
        };
        assert_eq!(counts(UetCounted::Nack, 0), truth.nacks, "{text}");
        assert_eq!(counts(UetCounted::ReturnCode, 2), truth.return_codes, "{text}");
        check_paths(text, truth, &report);
    }
    (played, report)
}

/// What is counted of the paths of a context of Ultra Ethernet is true.
fn check_paths(text: &str, truth: &TrueContext, report: &Report) {
    let used: Vec<_> = truth.paths.iter().filter(|path| path.packets > 0).collect();
    let of_ends = |row: &&FlowPath| (&row.src, &row.dst) == (&truth.src, &truth.dst);
    let found: Vec<_> = report.head.paths.iter().filter(of_ends).collect();
    assert_eq!(found.len(), if used.len() > 1 { used.len() } else { 0 }, "{text}: {found:?}");
    for found in found {
        let path = used.iter().find(|path| path.udp_src_port == found.udp_src_port).expect("its path");
        assert_eq!((found.packets, found.resent), (path.packets, path.retransmits), "{text}: {path:?}");
        // An ACK does not say which transmission it answers: of late ones the last is not the one.
        if !text.contains("late") {
            assert_eq!(found.marked, path.marked_acks.max(path.ce_packets), "{text}: {path:?}");
        }
        // A NACK does not, either; and a message's only packet says no length where it is the last.
        if !text.contains("late") {
            assert!(found.trimmed <= path.trimmed, "{text}: {found:?} {path:?}");
        }
        if text.contains("\"sender\"") && !text.contains("late") && !text.contains("\"uud\"") {
            assert_eq!(found.lost, path.lost + path.trimmed, "{text}: {found:?} {path:?} {truth:?}");
        }
    }
}

fn ids(report: &Report) -> Vec<&str> {
    let of = report.head.findings.iter().map(|finding| &*finding.id);
    of.filter(|id| id.starts_with("uet.") || id.starts_with("trimmed.")).collect()
}

#[test]
fn contexts_are_what_was_played() {
    for tap in ["sender", "receiver"] {
        for trouble in [
            "",
            "loss = 0.02",
            "trim = 0.05",
            "trim = 0.05\nlast_hop = false",
            "late = 0.2",
            "ce = 0.1",
            "refuse = 0.03",
            "fail = 0.3",
            "loss = 0.01\ntrim = 0.03\nlate = 0.1\nce = 0.1\nrefuse = 0.01\nfail = 0.1",
            "size = 100\nmessages = 200\nloss = 0.02",
            "size = 9000\nmessages = 64\ntrim = 0.1\nwindow = 64",
        ] {
            for seed in 1..4 {
                let (played, report) =
                    check(&format!("seed = {seed}\ntap = \"{tap}\"\ncontexts = 3\nreceivers = 2\n{trouble}"));
                let lost: u64 = played.truth.contexts.iter().map(|one| one.lost).sum();
                assert_eq!(lost > 0, trouble.contains("loss"), "{trouble}");
                if trouble.is_empty() || trouble == "ce = 0.1" {
                    assert_eq!(ids(&report), Vec::<&str>::new(), "{tap} {trouble}");
                }
            }
        }
    }
}

/// Ordered contexts, idempotent requests, unreliable ones.
#[test]
fn each_mode_is_what_was_played() {
    for tap in ["sender", "receiver"] {
        for mode in ["rod", "rudi", "uud"] {
            for trouble in [
                "",
                "loss = 0.02",
                "trim = 0.05",
                "ce = 0.1",
                "refuse = 0.03",
                "fail = 0.3",
                "loss = 0.01\ntrim = 0.03\nce = 0.1\nrefuse = 0.01\nfail = 0.1",
                "size = 9000\nmessages = 64\ntrim = 0.1\nwindow = 64",
            ] {
                for seed in 1..4 {
                    let text = format!(
                        "seed = {seed}\nmode = \"{mode}\"\ntap = \"{tap}\"\ncontexts = 3\nreceivers = 2\n{trouble}"
                    );
                    let (played, report) = check(&text);
                    let lost: u64 = played.truth.contexts.iter().map(|one| one.lost).sum();
                    assert!(lost == 0 || trouble.contains("loss"), "{text}");
                    assert!(lost > 0 || trouble != "loss = 0.02", "{text}");
                    let ids = ids(&report);
                    if matches!(trouble, "" | "ce = 0.1") || mode == "uud" {
                        assert_eq!(ids, Vec::<&str>::new(), "{text}");
                    }
                    for row in &report.head.uet {
                        assert_eq!(
                            row.mode.words(),
                            match mode {
                                "rod" => "ROD",
                                "rudi" => "RUDI",
                                _ => "UUD",
                            }
                        );
                        // Receivers of ordered requests do not take what is behind a loss: that is repeated, not lost.
                        let truth = played.truth.contexts.iter().find(|one| one.src == row.src).unwrap();
                        if tap == "sender" && mode == "rudi" {
                            assert_eq!(row.lost_after_tap, Some(truth.lost), "{text}: {row:?} {truth:?}");
                            assert_eq!(row.spurious_retransmits, Some(truth.spurious), "{text}: {row:?}");
                        }
                        if tap == "sender" && mode == "rod" && truth.spurious == 0 {
                            let lost = row.lost_after_tap.unwrap();
                            assert!(lost <= truth.lost, "{text}: {row:?} {truth:?}");
                            // What is lost behind a packet that was refused or trimmed is repeated with it.
                            if trouble == "loss = 0.02" {
                                assert_eq!(lost > 0, truth.lost > 0, "{text}: {row:?} {truth:?}");
                            }
                        }
                    }
                }
            }
        }
    }
    // An ordered request that was overtaken is not taken.
    let (_, report) = check("mode = \"rod\"\nlate = 0.05");
    assert!(ids(&report).contains(&"uet.disordered"), "{:?}", ids(&report));
}

/// One path of sixteen is bad: it is named, and no other.
#[test]
fn the_bad_path_of_ultra_ethernet_is_named_and_no_other() {
    for mode in ["rud", "rudi"] {
        for (trouble, state) in [
            ("loss = 0.2", PathState::Lossy),
            ("trim = 0.2", PathState::Trimming),
            ("ce = 0.3", PathState::Congested),
            ("delay = \"30us\"", PathState::Slow),
        ] {
            for seed in 1..4 {
                let text = format!(
                    "seed = {seed}\nmode = \"{mode}\"\ntap = \"sender\"\nsize = \"256KiB\"\nmessages = 40\npaths = 16\nwindow = 64\npatience = 60\n[[path]]\nnumber = 5\n{trouble}"
                );
                let report = analyzed(&played("uet", &text));
                let bad = bad(&report);
                assert!(!bad.is_empty(), "{text}\n{:?}", report.head.paths);
                for path in bad {
                    assert_eq!((path.udp_src_port, path.state), (0xc005, state), "{text}: {path:?}");
                }
                assert!(report.head.findings.iter().any(|finding| finding.id == "path.bad"), "{text}");
            }
        }
    }
}

/// What is lost before the tap is on the path whose turn it was; without an order of requests, on the one that carried less than the others by so many. A path
/// that carried nothing at all is between its neighbours.
#[test]
fn the_path_of_what_was_lost_before_the_tap_is_named() {
    for (kind, mode, loss) in [
        ("uet", "rud", 0.05),
        ("uet", "rud", 0.3),
        ("uet", "rud", 1.0),
        ("uet", "rudi", 0.1),
        ("uet", "rudi", 0.3),
        ("mrc", "rud", 0.3),
        ("mrc", "rud", 1.0),
    ] {
        for (seed, contexts) in [(1, 1), (2, 4), (3, 1)] {
            let text = format!(
                "seed = {seed}\nmode = \"{mode}\"\ncontexts = {contexts}\nsize = \"256KiB\"\nmessages = 60\npaths = 16\nwindow = 64\npatience = 60\n[[path]]\nnumber = 5\nloss = {loss}"
            );
            let report = analyzed(&played(kind, &text));
            let bad = bad(&report);
            assert_eq!(bad.len(), contexts, "{kind} {text}\n{bad:?}");
            for path in bad {
                let states = [PathState::Lossy, PathState::Dead];
                assert!(
                    path.udp_src_port == 0xc005 && states.contains(&path.state),
                    "{kind} {text}: {path:?}"
                );
            }
            assert!(report.head.findings.iter().any(|finding| finding.id == "path.bad"), "{kind} {text}");
        }
    }
}

/// Of many paths some lose, trim or mark more than others by chance: that is no path's fault.
#[test]
fn chance_is_no_bad_path() {
    for kind in ["uet", "mrc"] {
        for tap in ["sender", "receiver"] {
            for (paths, trouble) in [
                (64, "loss = 0.01"),
                (64, "ce = 0.02"),
                (64, "trim = 0.02"),
                (128, "loss = 0.03"),
                (128, "ce = 0.02\nheeds_skip = false"),
                (128, "trim = 0.02"),
                (128, "late = 0.3\nlate_by = \"20us\""),
            ] {
                for seed in 1..5 {
                    let text = format!(
                        "seed = {seed}\ntap = \"{tap}\"\nsize = \"256KiB\"\nmessages = 40\npaths = {paths}\nwindow = 64\npatience = 60\n{trouble}"
                    );
                    let report = analyzed(&played(kind, &text));
                    let bad = bad(&report);
                    let is_told = |path: &&&FlowPath| path.state != PathState::Skipped;
                    assert_eq!(bad.iter().filter(is_told).count(), 0, "{kind} {text}\n{bad:?}");
                }
            }
        }
    }
}

/// Losses that are too few in each flow are enough where all flows have them on one path.
#[test]
fn a_path_that_several_flows_take_is_judged_by_all_of_them() {
    for tap in ["sender", "receiver"] {
        let text = format!(
            "seed = 3\ntap = \"{tap}\"\ncontexts = 8\nsize = \"256KiB\"\nmessages = 40\npaths = 16\nwindow = 64\npatience = 60\n[[path]]\nnumber = 5\nloss = 0.01"
        );
        let played = played("mrc", &text);
        assert!(played.truth.contexts.iter().all(|one| one.lost < 5), "{:?}", played.truth);
        let report = analyzed(&played);
        let bad = bad(&report);
        assert!(!bad.is_empty() && bad.iter().all(|path| path.udp_src_port == 0xc005), "{text}\n{bad:?}");
    }
}

#[test]
fn each_trouble_has_its_finding() {
    for (trouble, found) in [
        ("loss = 0.05", &["uet.retransmitted"][..]),
        ("trim = 0.1", &["trimmed.last_hop", "uet.retransmitted"]),
        ("refuse = 0.1", &["uet.retransmitted", "uet.nack"]),
        ("fail = 0.5", &["uet.failed"]),
    ] {
        let (_, report) = check(trouble);
        let mut ids = ids(&report);
        ids.sort_unstable();
        let mut found = found.to_vec();
        found.sort_unstable();
        assert_eq!(ids, found, "{trouble}");
    }
}

/// The same seed is the same capture; nothing is played for ever.
#[test]
fn a_scenario_is_what_its_seed_says_and_ends() {
    let of = |seed: u64| {
        let frames = played("uet", &format!("seed = {seed}\nloss = 0.05")).frames().to_vec();
        frames.into_iter().map(|frame| (frame.time_ns, frame.bytes)).collect::<Vec<_>>()
    };
    assert_eq!(of(7), of(7));
    assert_ne!(of(7), of(8));
    for kind in ["uet", "mrc"] {
        for text in ["refuse = 1.0", "trim = 1.0", "loss = 1.0"] {
            let scenario = Spray::parse(&format!("kind = \"{kind}\"\n{text}")).unwrap();
            assert!(play(&scenario).is_err(), "{kind}: {text}");
        }
    }
    for text in [
        "kind = \"uet\"\nsize = \"1GB\"\nmtu = 64\nmessages = 1000",
        "kind = \"uet\"\nloss = 2",
        "kind = \"uet\"\nwhat = 1",
        "kind = \"uet\"\nipv6 = true",
        "kind = \"mrc\"\npaths = 4\n[[path]]\nnumber = 4",
        "kind = \"mrc\"\nmode = \"rod\"",
        "kind = \"uet\"\nmode = \"rude\"",
    ] {
        assert!(Spray::parse(text).is_err(), "{text}");
    }
    let unknown = Scenario::parse("kind = \"mrx\"").unwrap_err();
    assert!(unknown.to_string().contains("expected \"uet\", \"mrc\""), "{unknown}");
}

/// A connection of MRC, and its row.
fn connections<'a>(
    played: &'a Played,
    report: &'a Report,
) -> impl Iterator<Item = (&'a TrueContext, &'a MrcConnection)> {
    played.truth.contexts.iter().map(|truth| {
        let row = report.head.mrc.iter().find(|row| row.dest_qp == u32::from(truth.dpdcid));
        (truth, row.expect("its row"))
    })
}

/// All that is counted of connections of MRC and of their paths is true.
fn check_mrc(text: &str) -> (Played, Report) {
    let played = played("mrc", text);
    let report = analyzed(&played);
    assert_eq!(report.head.mrc.len(), played.truth.contexts.len(), "{text}");
    let is_before = text.contains("\"sender\"");
    for (truth, row) in connections(&played, &report) {
        assert_eq!((&row.src, &row.dst), (&truth.src, &truth.dst), "{text}");
        assert_eq!(
            (row.packets, row.rtx_packets, row.ce_packets),
            (truth.packets, truth.retransmits, truth.ce_packets),
            "{text}: {truth:?}"
        );
        // The last packet of a message may be short: where all lengths are new, only its NACK says that it was trimmed.
        if text.contains("\"ip\"") || text.contains("\"none\"") || !text.contains("trim") {
            assert_eq!(row.trimmed, truth.trimmed, "{text}: {truth:?}");
        }
        assert!(row.trimmed <= truth.trimmed, "{text}: {truth:?}");
        assert_eq!(
            (row.sacks, row.nacks, row.skip_once.zip(row.skip_always).map(|(once, always)| once + always)),
            (Some(truth.acks), Some(truth.nacks.values().sum()), Some(truth.marked_acks)),
            "{text}: {truth:?}"
        );
        assert_eq!((row.probes, row.completed), (truth.probes, Some(truth.completed)), "{text}: {truth:?}");
        assert_eq!(row.spurious_retransmits, truth.spurious, "{text}: {row:?} {truth:?}");
        assert_eq!(row.retransmits, truth.retransmits, "{text}: {row:?}");
        if truth.timeouts == 0 && truth.retransmits > 0 {
            assert_eq!(row.rtx_agreement, Some(1.0), "{text}: {row:?} {truth:?}");
        }
        // What the counter counts is rounded, and begins with the first SACK.
        let counted = row.receiver_bytes.unwrap_or(0);
        assert!(truth.received_bytes.abs_diff(counted) <= 4096 + 512, "{text}: {row:?} {truth:?}");
        for path in &truth.paths {
            let found = report.head.paths.iter().find(|row| {
                row.dest_qp == Some(u32::from(truth.dpdcid))
                    && (row.udp_src_port, row.flow_label, &row.segments)
                        == (path.udp_src_port, path.flow_label, &path.segments)
            });
            let Some(found) = found else {
                assert_eq!(path.packets, 0, "{text}: {path:?}");
                continue;
            };
            assert_eq!(
                (found.packets, found.resent, found.trimmed, found.skipped_ns),
                (path.packets, path.retransmits, path.trimmed, path.skipped_ns),
                "{text}: {path:?}"
            );
            assert_eq!(found.marked, path.marked_acks.max(path.ce_packets), "{text}: {path:?}");
            // Of what is lost before the tap, the path is known where the packets beside it show whose turn it was.
            let most = path.lost + path.trimmed;
            let least = if is_before { most } else { path.trimmed };
            assert!((least..=most).contains(&found.lost), "{text}: {found:?} {path:?} {truth:?}");
        }
    }
    (played, report)
}

#[test]
fn connections_of_mrc_are_what_was_played() {
    for tap in ["sender", "receiver"] {
        for trouble in [
            "",
            "ipv6 = true\npaths = 32",
            "loss = 0.02",
            "ipv6 = true\nloss = 0.02\ntimestamps = false",
            "trim = 0.05",
            "trim = 0.05\nlast_hop = false\ntrim_lengths = \"none\"\nsize = 9000\nmessages = 64",
            "trim = 0.05\ntrim_lengths = \"ip\"",
            "ce = 0.1",
            "refuse = 0.03",
            "size = 100\nmessages = 200\nloss = 0.02",
            "loss = 0.01\ntrim = 0.03\nce = 0.1\nrefuse = 0.01",
            "late = 0.2\npatience = 60",
            "srv6 = true\npaths = 32",
            "srv6 = true\nloss = 0.02\nce = 0.1\nrefuse = 0.01",
            "[[path]]\nnumber = 3\ndelay = \"20us\"",
        ] {
            for seed in 1..4 {
                let text = format!("seed = {seed}\ntap = \"{tap}\"\ncontexts = 3\nreceivers = 2\n{trouble}");
                let (_, report) = check_mrc(&text);
                if matches!(trouble, "" | "ce = 0.1")
                    || trouble.starts_with("late")
                    || trouble.ends_with("32")
                {
                    assert_eq!(mrc_ids(&report), Vec::<&str>::new(), "{text}");
                    let found: Vec<_> = report.head.findings.iter().map(|finding| &*finding.id).collect();
                    assert!(!found.contains(&"congestion.not_ect"), "{text}: {found:?}");
                    let limits = &report.head.capture.limitations;
                    assert!(
                        !limits.iter().any(|limit| limit.contains("One direction")),
                        "{text}: {limits:?}"
                    );
                }
            }
        }
    }
}

fn mrc_ids(report: &Report) -> Vec<&str> {
    let of = report.head.findings.iter().map(|finding| &*finding.id);
    of.filter(|id| ["mrc.", "path.", "trimmed."].iter().any(|begin| id.starts_with(begin))).collect()
}

/// The paths that do not stand as the others do.
fn bad(report: &Report) -> Vec<&FlowPath> {
    report.head.paths.iter().filter(|path| path.state != PathState::Good).collect()
}

/// One path of sixteen is bad: it is named at both taps, and no other.
#[test]
fn the_bad_path_of_mrc_is_named_and_no_other() {
    for tap in ["sender", "receiver"] {
        for (trouble, states) in [
            ("loss = 0.2", &[PathState::Lossy, PathState::Dead][..]),
            ("trim = 0.2", &[PathState::Trimming][..]),
            ("ce = 0.2", &[PathState::Congested, PathState::Skipped][..]),
            ("ce = 0.9", &[PathState::Skipped][..]),
            ("delay = \"30us\"", &[PathState::Slow][..]),
            ("dead_at = \"20us\"", &[PathState::Dead][..]),
        ] {
            for seed in 1..6 {
                let text = format!(
                    "seed = {seed}\ntap = \"{tap}\"\nsize = \"256KiB\"\nmessages = 40\npaths = 16\nwindow = 64\npatience = 60\n[[path]]\nnumber = 5\n{trouble}"
                );
                let report = analyzed(&played("mrc", &text));
                let bad = bad(&report);
                assert!(!bad.is_empty(), "{text}\n{:?}", report.head.paths);
                for path in bad {
                    assert_eq!(path.udp_src_port, 0xc005, "{text}: {path:?}");
                    assert!(states.contains(&path.state), "{text}: {path:?}");
                }
            }
        }
    }
}

/// Answers to the packets of a path take as long as it makes them, to the nanosecond.
#[test]
fn delays_of_paths_are_those_played() {
    let text = "tap = \"sender\"\npaths = 4\npatience = 60\n[[path]]\nnumber = 2\ndelay = \"7us\"";
    let report = analyzed(&played("mrc", text));
    let rtts: Vec<_> =
        report.head.paths.iter().map(|path| (path.udp_src_port, path.ack_rtt_mean_ns)).collect();
    for (port, rtt) in rtts {
        assert_eq!(rtt, Some(if port == 0xc002 { 11_000 } else { 4_000 }), "{port:#x}");
    }
}

/// A path is marked always, its receiver asks to skip it, and its sender does not.
pub(crate) fn ignored_skips() -> Analysis {
    let text = "heeds_skip = false\nsize = \"256KiB\"\nmessages = 40\n[[path]]\nnumber = 3\nce = 1.0";
    analysis(&played("mrc", text))
}

/// Ordered requests of which some are overtaken.
pub(crate) fn disordered() -> Analysis {
    analysis(&played("uet", "mode = \"rod\"\nlate = 0.05"))
}

/// A sender that does not heed its receiver is told of; one that does is not.
#[test]
fn a_sender_that_ignores_skips_is_told_of() {
    for heeds in [true, false] {
        for tap in ["sender", "receiver"] {
            let text = format!(
                "tap = \"{tap}\"\nheeds_skip = {heeds}\nsize = \"256KiB\"\nmessages = 40\n[[path]]\nnumber = 3\nce = 1.0"
            );
            let report = analyzed(&played("mrc", &text));
            let ids = mrc_ids(&report);
            assert!(ids.contains(&"path.skipped"), "{text}: {ids:?}");
            assert_eq!(ids.contains(&"mrc.skip_ignored"), !heeds, "{text}: {ids:?}");
        }
    }
}

/// Receivers of MRC say in SACKs that packets came marked: nobody misses CNPs. Packets that were trimmed are told in frames that the capture cut, too.
#[test]
fn marks_of_mrc_need_no_cnp_and_trimmed_packets_are_told_in_cut_frames() {
    let (_, report) = check_mrc("contexts = 3\nreceivers = 2\nce = 0.1");
    assert!(!report.head.findings.iter().any(|finding| finding.id.starts_with("congestion.")));
    let played = played("mrc", "trim = 0.05\nsnaplen = 96\nsize = \"256KiB\"\nmessages = 20");
    let report = analyzed(&played);
    for (truth, row) in connections(&played, &report) {
        assert!(truth.trimmed > 4 && row.trimmed == truth.trimmed, "{row:?} {truth:?}");
    }
    assert_eq!(report.head.capture.malformed_packets, 0);
}

/// A sender that takes every packet that comes late for lost sends again what was not lost.
#[test]
fn impatience_is_no_loss() {
    let text = "tap = \"sender\"\nlate = 0.1\nlate_by = \"2us\"\npatience = 2";
    let (played, report) = check_mrc(text);
    let (truth, row) = connections(&played, &report).next().unwrap();
    assert!(truth.spurious > 4, "{truth:?}");
    assert_eq!((row.lost_before_tap, row.lost_after_tap), (0, 0), "{row:?}");
}

/// In SRv6 paths differ in segments only, and switches mark the header around packets: the bad one is named by its segments.
#[test]
fn a_bad_path_of_srv6_is_named_by_its_segments() {
    for tap in ["sender", "receiver"] {
        for (trouble, state) in [("loss = 0.2", PathState::Lossy), ("ce = 0.5", PathState::Congested)] {
            let text = format!(
                "srv6 = true\ntap = \"{tap}\"\npaths = 16\nmessages = 32\ncontexts = 1\n[[path]]\nnumber = 11\n{trouble}"
            );
            let (played, report) = check_mrc(&text);
            let bad: Vec<&FlowPath> = report
                .head
                .paths
                .iter()
                .filter(|path| !matches!(path.state, PathState::Good | PathState::Skipped))
                .collect();
            let truth = &played.truth.contexts[0].paths[11];
            assert_eq!(truth.segments.as_deref(), Some("fc00:5:1001:2003:3101::"));
            // A sender leaves a path that its receiver asks it to skip.
            let skipped = report.head.paths.iter().find(|path| path.state == PathState::Skipped);
            let one = bad.first().copied().or(skipped).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(one.segments, truth.segments, "{text}: {one:?}");
            assert!(bad.len() <= 1 && (bad.is_empty() || bad[0].state == state), "{text}: {bad:?}");
            let names = bad.first().map(|path| path.name());
            assert!(names.is_none_or(|name| name == "segments fc00:5:1001:2003:3101::"));
        }
    }
}

/// Half of all paths are bad, and none of them beside the other half: they are those of one plane, which an interface of its own recorded.
#[test]
fn a_bad_plane_is_named_once() {
    for (kind, tap) in [("mrc", "sender"), ("mrc", "receiver"), ("uet", "sender"), ("uet", "receiver")] {
        for (trouble, says) in [("loss = 0.1", "loses"), ("ce = 0.3", "is congested")] {
            let bad: String =
                (1..16).step_by(2).map(|n| format!("[[path]]\nnumber = {n}\n{trouble}\n")).collect();
            let stays = if kind == "mrc" { "heeds_skip = false\n" } else { "" };
            let text = format!("tap = \"{tap}\"\npaths = 16\nmessages = 32\n{stays}{bad}");
            let played = played(kind, &text);
            let first = played.truth.contexts[0].paths[0].udp_src_port;
            let mut analysis = Analysis::new(Options::default());
            for (number, name) in [(0, "plane0"), (1, "plane1")] {
                analysis.interface(number, name.into(), None);
            }
            for frame in played.frames() {
                let (time, wire_len) = (Time(frame.time_ns), frame.wire_len);
                let port = u16::from_be_bytes([frame.bytes[34], frame.bytes[35]]);
                let interface = port.wrapping_sub(first) % 2;
                let record = Record { time, link: Link::ETHERNET, interface, wire_len, frame: &frame.bytes };
                analysis.push(&record);
            }
            let report = analysis.finish();
            let of = report.head.findings.iter().filter(|finding| finding.id == "path.bad");
            let said: Vec<&str> = of.map(|finding| &*finding.text).collect();
            let [one] = said[..] else { panic!("{kind}: {text}: {said:?}") };
            assert!(one.contains(&format!("the plane of interface plane1, with 16 paths, {says}")), "{one}");
        }
    }
}

/// The captures of several taps as one.
fn merged(taps: &[&Played]) -> Report {
    let mut frames: Vec<_> = (0..)
        .zip(taps)
        .flat_map(|(interface, played)| {
            played.frames().iter().map(move |frame| (frame.time_ns, interface, frame))
        })
        .collect();
    frames.sort_by_key(|&(time, interface, _)| (time, interface));
    let mut analysis = Analysis::new(Options::default());
    for number in 0..taps.len() as u16 {
        analysis.interface(number, format!("tap {number}"), None);
    }
    for (time, interface, frame) in frames {
        let (time, wire_len) = (Time(time), frame.wire_len);
        analysis.push(&Record { time, link: Link::ETHERNET, interface, wire_len, frame: &frame.bytes });
    }
    analysis.finish()
}

/// One context over 16 paths, of which number 5 may have this trouble, as taps beside the sender and the receiver see it.
fn at_both_taps(kind: &str, seed: u64, trouble: &str) -> [Played; 2] {
    let path = if trouble.is_empty() { String::new() } else { format!("[[path]]\nnumber = 5\n{trouble}") };
    ["sender", "receiver"].map(|tap| {
        let text = format!(
            "seed = {seed}\ntap = \"{tap}\"\ncontexts = 1\nsize = \"256KiB\"\nmessages = 32\npaths = 16\nwindow = 64\npatience = 60\n{path}"
        );
        played(kind, &text)
    })
}

/// The captures of both taps of one scenario, merged: each packet counts once, and its path is known by what came of it.
#[test]
fn two_taps_of_mrc_tell_what_arrived() {
    for (trouble, states) in [
        ("", &[][..]),
        ("delay = \"20us\"", &[PathState::Slow]),
        ("delay = \"200us\"", &[PathState::Slow]),
        ("loss = 0.2", &[PathState::Lossy]),
        ("dead_at = \"100us\"", &[PathState::Dead]),
        ("trim = 0.2", &[PathState::Trimming]),
    ] {
        for seed in 1..4 {
            let [sender, receiver] = at_both_taps("mrc", seed, trouble);
            let report = merged(&[&sender, &receiver]);
            let truth = &sender.truth.contexts[0];
            let [row] = &report.head.mrc[..] else { panic!("{:?}", report.head.mrc) };
            assert_eq!((row.packets, row.retransmits), (truth.packets, truth.retransmits), "{trouble}");
            let trimmed = receiver.truth.contexts[0].trimmed;
            assert_eq!((row.sacks, row.trimmed), (Some(truth.acks), trimmed), "{trouble}: {row:?}");
            for found in &report.head.paths {
                let path = truth.paths.iter().find(|path| path.udp_src_port == found.udp_src_port).unwrap();
                let counts = (found.packets, found.resent, found.lost, found.trimmed);
                let true_counts = (path.packets, path.retransmits, path.lost + path.trimmed, path.trimmed);
                assert_eq!(counts, true_counts, "{trouble}: {found:?}");
                assert!(
                    found.state == PathState::Good || found.udp_src_port == 0xc005,
                    "{trouble}: {found:?}"
                );
            }
            let bad: Vec<_> = bad(&report).iter().map(|path| path.state).collect();
            assert_eq!(bad, states, "{trouble}: {:#?}", report.head.paths);
        }
    }
}

/// The same of Ultra Ethernet, whose packets have no PSN of InfiniBand; and in each capture and in both, flows carry as much.
#[test]
fn two_taps_of_ultra_ethernet_count_once() {
    for (trouble, states) in [
        ("", &[][..]),
        ("delay = \"20us\"", &[PathState::Slow]),
        ("delay = \"200us\"", &[PathState::Slow]),
        ("loss = 0.2", &[PathState::Lossy]),
        ("dead_at = \"100us\"", &[PathState::Dead]),
    ] {
        let [sender, receiver] = at_both_taps("uet", 2, trouble);
        let report = merged(&[&sender, &receiver]);
        let truth = &sender.truth.contexts[0];
        let row = report.head.uet.iter().find(|row| row.packets.is_some()).expect("a context");
        assert_eq!(row.packets, Some(truth.packets), "{trouble}: {row:?}");
        assert_eq!(row.retransmits, Some(truth.retransmits), "{trouble}: {row:?}");
        assert_eq!(row.acks, Some(truth.acks), "{trouble}: {row:?}");
        for found in &report.head.paths {
            let path = truth.paths.iter().find(|path| path.udp_src_port == found.udp_src_port).unwrap();
            assert_eq!((found.packets, found.lost), (path.packets, path.lost), "{trouble}: {found:?}");
            assert!(found.transit_mean_ns.is_some(), "{trouble}: {found:?}");
        }
        let bad: Vec<_> = bad(&report).iter().map(|path| path.state).collect();
        assert_eq!(bad, states, "{trouble}: {:#?}", report.head.paths);
    }
}

/// A copy of another tap is none of what a flow of MRC carried, and its answers are on no path that is judged.
#[test]
fn flows_of_mrc_carry_as_much_at_two_taps() {
    let text = |tap: &str| {
        format!("seed = 2\ntap = \"{tap}\"\ncontexts = 1\nsize = \"64KiB\"\nmessages = 8\npaths = 8")
    };
    let [sender, receiver] = ["sender", "receiver"].map(|tap| played("mrc", &text(tap)));
    let [one, both] = [analyzed(&sender), merged(&[&sender, &receiver])];
    let carried = |report: &Report| report.flows.iter().map(|flow| flow.goodput_bytes).max();
    assert_eq!(carried(&both), carried(&one));
    assert_eq!(both.head.mrc[0].sacks, one.head.mrc[0].sacks);
    assert!(both.flows.iter().all(|flow| flow.requests.capture_duplicates > 0), "{:?}", both.flows);
    let source = &sender.truth.contexts[0].src;
    assert!([one, both].iter().all(|report| report.head.paths.iter().all(|path| path.src == *source)));
}
