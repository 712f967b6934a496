//! Scenarios of Ultra Ethernet: what the analysis finds of each context is what was played.

use rdmawire::{
    analyze::{Analysis, Options},
    capture::{Record, Time},
    dissect::Link,
    report::{Report, UetCounted, UetState},
    sim::uet::{Played, Uet, play},
};

fn played(text: &str) -> Played {
    let scenario = Uet::parse(&format!("kind = \"uet\"\n{text}"));
    play(&scenario.unwrap_or_else(|error| panic!("{error}\n{text}"))).unwrap()
}

fn analyzed(played: &Played) -> Report {
    let mut analysis = Analysis::new(Options::default());
    for frame in played.frames() {
        let (time, wire_len) = (Time(frame.time_ns), frame.wire_len);
        analysis.push(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame: &frame.bytes });
    }
    analysis.finish()
}

/// All that is counted of contexts is true.
fn check(text: &str) -> (Played, Report) {
    let played = played(text);
    let report = analyzed(&played);
    assert_eq!(report.head.uet.len(), played.truth.contexts.len(), "{text}");
    for truth in &played.truth.contexts {
        let row = report.head.uet.iter().find(|row| row.spdcid == truth.spdcid).expect("its row");
        assert_eq!(
            (&row.src, &row.dst, row.dpdcid, row.state),
            (&truth.src, &truth.dst, Some(truth.dpdcid), UetState::Closed),
            "{text}"
        );
        assert_eq!(
            (row.packets, row.retransmits, row.trimmed, row.ce_packets),
            (Some(truth.packets), Some(truth.retransmits), Some(truth.trimmed), Some(truth.ce_packets)),
            "{text}: {truth:?}"
        );
        assert_eq!(
            (row.acks, row.marked_acks, row.sacked_missing, row.nacks),
            (
                Some(truth.acks),
                Some(truth.marked_acks),
                Some(truth.sacked_missing),
                Some(truth.nacks.values().sum())
            ),
            "{text}: {truth:?}"
        );
        // What says that it is a retransmission is one by its PSN too, but where nobody told the sender.
        // Late, too: an overtaken packet that was taken for lost came after all.
        if truth.timeouts == 0 && truth.retransmits > 0 && !text.contains("late") {
            assert_eq!(row.retransmit_agreement, Some(1.0), "{text}: {row:?}");
        }
        let counts = |counted: UetCounted, from: u8| {
            let of = report.head.uet_counts.iter().filter(move |one| one.spdcid == truth.spdcid);
            of.filter(move |one| one.counted == counted && one.code >= from)
                .map(|one| (one.code, one.count))
                .collect::<std::collections::BTreeMap<_, _>>()
        };
        assert_eq!(counts(UetCounted::Nack, 0), truth.nacks, "{text}");
        assert_eq!(counts(UetCounted::ReturnCode, 2), truth.return_codes, "{text}");
    }
    (played, report)
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
        let frames = played(&format!("seed = {seed}\nloss = 0.05")).frames().to_vec();
        frames.into_iter().map(|frame| (frame.time_ns, frame.bytes)).collect::<Vec<_>>()
    };
    assert_eq!(of(7), of(7));
    assert_ne!(of(7), of(8));
    for text in ["refuse = 1.0", "trim = 1.0", "loss = 1.0"] {
        let scenario = Uet::parse(&format!("kind = \"uet\"\n{text}")).unwrap();
        assert!(play(&scenario).is_err(), "{text}");
    }
    for text in [
        "kind = \"uet\"\nsize = \"1GB\"\nmtu = 64\nmessages = 1000",
        "kind = \"uet\"\nloss = 2",
        "kind = \"uet\"\nwhat = 1",
    ] {
        assert!(Uet::parse(text).is_err(), "{text}");
    }
}
