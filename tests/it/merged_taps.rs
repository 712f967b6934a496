//! Captures of several taps on one path, analyzed as one: each transmission counts once, however many taps recorded it.

use std::{fmt::Debug, path::Path};

use crate::support::{merged, programs::cli, scratch::Scratch};
use rdmawire::{
    analyze::{Analysis, Options},
    capture::{ClockOffset, Series, Source},
    dissect::{Link, dissect},
    report::{Flow, Latencies, MarkedFlow, Report, Stream},
    sim::{Run, Scenario, run},
    taps,
    wire::{Bth, Ipv4},
};

/// A row of taps, between segments that lose packets.
fn play(ip_id: &str, taps: u32) -> Run {
    let mut text = format!(
        r#"
        seed = 11
        [[connection]]
        copies = 2
        ip_id = "{ip_id}"
        operations = [
            {{ op = "write", size = "64KiB", count = 30 }},
            {{ op = "read", size = "16KiB", count = 30 }},
            {{ op = "fetch_add", count = 20 }},
        ]
        "#
    );
    for _ in 0..=taps {
        text += "[[segment]]\ndelay = \"700ns\"\nright = { drop = 0.001 }\nleft = { drop = 0.001 }\n";
    }
    for tap in 0..taps {
        text += &format!("[[tap]]\nname = \"tap{tap}\"\nafter = {}\n", tap + 1);
    }
    run(&Scenario::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))).unwrap()
}

fn analyze(run: &Run, taps: &[usize]) -> Report {
    let mut analysis = Analysis::new(Options::default());
    merged::push(run, taps, &mut analysis);
    analysis.finish()
}

fn read(source: &mut impl Source) -> Report {
    let mut analysis = Analysis::new(Options::default());
    while let Some(record) = source.next().unwrap() {
        analysis.push(&record);
    }
    analysis.finish()
}

/// What of a flow cannot depend on how many taps recorded it: its transmissions, as the first of these taps saw them.
fn transmissions(flow: &Flow) -> impl PartialEq + Debug + use<> {
    let of = |stream: &Stream| {
        let Stream { packets, capture_duplicates, retransmits, out_of_order, gap_psns, .. } = *stream;
        (packets - capture_duplicates, retransmits, out_of_order, gap_psns)
    };
    (flow.src.clone(), flow.dest_qp, of(&flow.requests), of(&flow.responses), flow.goodput_bytes)
}

#[test]
fn however_many_taps_record_a_transmission_it_counts_once() {
    let mut resent = 0;
    for ip_id in ["zero", "flow", "random"] {
        for taps in [2, 3, 6] {
            let run = play(ip_id, taps as u32);
            let all = analyze(&run, &Vec::from_iter(0..taps));
            // The first tap of packets to the right is the last one of packets to the left.
            let [left, right] = [0, taps - 1].map(|tap| analyze(&run, &[tap]));
            for flow in &all.flows {
                let first = if flow.src == left.flows[0].src { &left } else { &right };
                let same = |one: &&Flow| one.src == flow.src && one.dest_qp == flow.dest_qp;
                let one = first.flows.iter().find(same).unwrap();
                assert_eq!(transmissions(flow), transmissions(one), "{ip_id}, {taps} taps");
                resent += one.requests.retransmits + one.responses.retransmits;
            }
        }
    }
    assert!(resent > 500, "{resent}");
}

/// A round trip begins and ends at one tap: the one nearest to the requester, where all answers come.
#[test]
fn round_trips_are_those_of_one_tap() {
    let text = |taps: usize| {
        let mut text = String::from(
            r#"
            seed = 3
            [[connection]]
            copies = 3
            rate = "10G"
            operations = [
                { op = "write", size = "16KiB", count = 60 },
                { op = "read", size = "16KiB", count = 60 },
                { op = "send", size = "2KiB", count = 60, by = "to" },
            ]
            "#,
        );
        for _ in 0..=taps {
            text += "[[segment]]\ndelay = \"1500ns\"\n";
        }
        for tap in 0..taps {
            text += &format!("[[tap]]\nname = \"tap{tap}\"\nafter = {}\n", tap + 1);
        }
        text
    };
    for taps in [2, 3, 4] {
        let run = run(&Scenario::parse(&text(taps)).unwrap()).unwrap();
        let all = analyze(&run, &Vec::from_iter(0..taps));
        let [left, right] = [0, taps - 1].map(|tap| analyze(&run, &[tap]));
        let mut measured = 0;
        for flow in &all.flows {
            let nearest = if flow.src == "10.0.0.1" { &left } else { &right };
            let same = |one: &&Flow| one.src == flow.src && one.dest_qp == flow.dest_qp;
            let one = nearest.flows.iter().find(same).unwrap();
            let of = |flow: &Flow| {
                let Latencies { ack_rtt, message_completion, read_first, read_last, .. } = flow.latency_ns;
                [ack_rtt, message_completion, read_first, read_last]
            };
            for (merged, alone) in of(flow).into_iter().zip(of(one)) {
                assert_eq!(merged.is_some(), alone.is_some(), "{taps} taps: {merged:?}, {alone:?}");
                let Some((merged, alone)) = merged.zip(alone) else { continue };
                // Those of the first answers, too.
                assert_eq!(merged, alone, "{taps} taps");
                measured += 1;
            }
        }
        assert!(measured >= 15, "{measured}");
    }
}

/// A switch between two taps marks packets. The first tap's records are not marked, and the first marked records are those that count.
#[test]
fn marks_between_taps_count_once() {
    let scenario = |ip_id: &str| {
        format!(
            r#"
            seed = 5
            [[connection]]
            copies = 3
            ip_id = "{ip_id}"
            rate = "20G"
            operations = [{{ op = "write", size = "64KiB", count = 30 }}]
            [[connection]]
            copies = 2
            ip_id = "{ip_id}"
            operations = [{{ op = "read", size = "64KiB", count = 30 }}]
            [[segment]]
            delay = "1us"
            right = {{ mark = 0.02 }}
            [[segment]]
            delay = "1us"
            right = {{ mark = 0.05 }}
            left = {{ mark = 0.05 }}
            [[segment]]
            delay = "1us"
            [[tap]]
            name = "before"
            after = 1
            [[tap]]
            name = "behind"
            after = 2
            [cnp]
            interval = "4us"
            "#
        )
    };
    for ip_id in ["zero", "flow", "random"] {
        let text = scenario(ip_id);
        let run = run(&Scenario::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))).unwrap();
        let both = analyze(&run, &[0, 1]).head.congestion;
        // Data to the right is marked for good behind the second tap; to the left, behind the first one.
        let [left, right] = [0, 1].map(|tap| analyze(&run, &[tap]).head.congestion);
        assert_eq!(both.cnps, right.cnps);
        assert!(left.ce_packets > 100 && right.ce_packets > left.ce_packets, "{ip_id}");
        for flow in &both.flows {
            let of = |taps: &rdmawire::report::Congestion| {
                let same = |one: &&MarkedFlow| (&one.src, one.dest_qp) == (&flow.src, flow.dest_qp);
                taps.flows.iter().find(same).map(|one| (one.ce_packets, one.ect_packets))
            };
            let most = of(&left).max(of(&right));
            assert_eq!(Some((flow.ce_packets, flow.ect_packets)), most, "{ip_id} {}", flow.src);
            assert_eq!(flow.cnps_unmarked.unwrap_or(0), 0, "{ip_id}: {flow:?}");
        }
        let marks: u64 = both.flows.iter().map(|flow| flow.ce_packets).sum();
        assert_eq!(both.ce_packets, marks, "{ip_id}");
        assert!(both.ce_packets > left.ce_packets.max(right.ce_packets), "{ip_id}");
    }
}

/// Where a capture begins with a CNP, nothing is learned of its taps yet: its identification tells that the other one records its copy.
#[test]
fn the_first_cnp_of_all_counts_once() {
    let text = r#"
        seed = 5
        [[connection]]
        ip_id = "flow"
        rate = "20G"
        operations = [{ op = "write", size = "64KiB", count = 30 }]
        [[segment]]
        delay = "1us"
        right = { mark = 0.05 }
        [[segment]]
        delay = "1us"
        [[segment]]
        delay = "1us"
        [[tap]]
        name = "before"
        after = 1
        [[tap]]
        name = "behind"
        after = 2
        [cnp]
        interval = "4us"
    "#;
    let run = run(&Scenario::parse(text).unwrap()).unwrap();
    let of = |taps: &[usize]| {
        let (mut all, mut begin) = (Vec::new(), i64::MAX);
        for (interface, &tap) in (0..).zip(taps) {
            let mut frames = run.frames(tap);
            while let Some(frame) = frames.next() {
                let d = dissect(frame.link, frame.bytes, frame.wire_len);
                if d.get::<Bth>().is_some_and(|bth| bth.opcode().is_cnp()) {
                    begin = begin.min(frame.time_ns);
                }
                all.push((frame.time_ns, interface, frame.link, frame.bytes.to_vec()));
            }
        }
        all.retain(|(time, ..)| *time >= begin);
        let mut analysis = Analysis::new(Options::default());
        merged::push_in_order(all, &mut analysis);
        analysis.finish().head.congestion.cnps
    };
    let alone = of(&[1]);
    assert!(alone > 3);
    assert_eq!(of(&[0, 1]), alone);
}

/// A pause between two taps lasts longer than the requester's timer: what was sent, and sent again, passes the second one at its end.
#[test]
fn what_a_pause_holds_back_was_recorded_before() {
    const HELD: std::ops::Range<i64> = 650_000..4_650_000;
    // Four times the timer, which is longer than any lag of a mirror.
    let text = include_str!("../../examples/scenarios/pause-longer-than-timeout.toml")
        .replace("timeout = 5", "timeout = 8")
        .replace("400us", "4ms");
    for ip_id in ["zero", "flow"] {
        let scenario = text.replace("[[connection]]", &format!("[[connection]]\nip_id = \"{ip_id}\""));
        let run = run(&Scenario::parse(&scenario).unwrap()).unwrap();
        let mut near = Vec::new();
        let mut frames = run.frames(0);
        while let Some(frame) = frames.next() {
            near.push((frame.time_ns, 0, frame.link, frame.bytes.to_vec()));
        }
        let begin = near[0].0;
        let is_request = |link: Link, bytes: &[u8]| {
            let d = dissect(link, bytes, bytes.len() as u32);
            d.get::<Ipv4>().is_some_and(|ip| ip.src().to_string() == "10.0.0.1")
        };
        let requests = near.iter().filter(|(_, _, link, bytes)| is_request(*link, bytes));
        let far = requests.enumerate().map(|(n, (time, _, link, bytes))| {
            let late =
                if HELD.contains(&(time - begin)) { begin + HELD.end + n as i64 } else { time + 1_000 };
            (late, 1, *link, bytes.clone())
        });
        let of = |frames: Vec<_>| {
            let mut analysis = Analysis::new(Options::default());
            merged::push_in_order(frames, &mut analysis);
            analysis.finish().flows
        };
        let [alone, both] = [of(near.clone()), of(near.iter().cloned().chain(far).collect())];
        let resent = alone[0].requests.retransmits;
        assert!(resent > 2, "{resent}");
        assert_eq!(transmissions(&both[0]), transmissions(&alone[0]), "{ip_id}");
        assert_eq!(both[0].requests.triggers.timeout, alone[0].requests.triggers.timeout, "{ip_id}");
    }
}

/// Hosts' clocks are often seconds apart. Packets that both taps have show it, and their answers show in which order they were.
#[test]
fn clocks_apart_are_set_right() {
    let at_hosts = ["loss1_rc_write-A.pcap.zst", "loss1_rc_write-B.pcap.zst"];
    let open = |name: &&str| Series::open(&Path::new("pcaps").join(name), []).unwrap();
    let alone = read(&mut open(&at_hosts[0]));
    let mut merge = taps::merge(at_hosts.iter().map(open).collect());
    let offsets: Vec<_> = merge.captures().map(Series::clock).collect();
    let merged = read(&mut merge);
    let &[None, Some(ClockOffset { ns, packets, .. })] = &offsets[..] else { panic!("{offsets:?}") };
    // As `diff` says, to 136 µs.
    let diff = -15_400_141_094;
    assert_eq!(packets, 26_829);
    let paths = at_hosts.map(|name| format!("pcaps/{name}"));
    let report = crate::support::programs::printed(cli().args(["analyze", "--merge", "--json"]).args(&paths));
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let told = &report["capture"]["set_clocks"];
    assert_eq!((&told[0]["file"], &told[0]["offset_ns"]), (&paths[1].as_str().into(), &ns.into()), "{told}");
    assert!((ns - diff).abs() < 300_000, "{ns}");
    assert_eq!(merged.flows[0].requests.retransmits, alone.flows[0].requests.retransmits);
    // Both files count in microseconds; what is subtracted is no step of theirs.
    let mut halves =
        taps::merge(["A", "B"].iter().map(|tap| open(&&*format!("rtt_delay10-{tap}.pcap.zst"))).collect());
    let ahead = halves.captures().find_map(Series::clock).expect("clocks apart").ns;
    assert!(ahead % 1_000 != 0, "{ahead}");
    read(&mut halves);
    assert_eq!(halves.captures().map(Series::step_ns).collect::<Vec<_>>(), [Some(1_000); 2]);
    let files = paths.map(|path| path.replace("loss1_rc_write", "rtt_delay10"));
    let told = crate::support::programs::printed(cli().args(["analyze", "--merge"]).args(&files));
    assert!(told.contains("Timestamps count in steps of 1.00 µs"), "{told}");
    // Merged again, by the right clock.
    let same = taps::merge([at_hosts[0]; 2].iter().map(open).collect());
    assert!(same.captures().all(|capture| capture.clock().is_none()));
}

/// What a tap recorded, by a clock of its own.
fn pcap(run: &Run, tap: usize, clock: impl Fn(i64) -> i64) -> Vec<u8> {
    let mut bytes: Vec<u8> = Vec::new();
    let head = [0xa1b2_3c4d_u32, 4 << 16 | 2, 0, 0, 1 << 18, 1];
    head.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    let mut frames = run.frames(tap);
    while let Some(frame) = frames.next() {
        let (ns, len) = (clock(frame.time_ns), frame.bytes.len() as u32);
        let words = [(ns / 1_000_000_000) as u32, (ns % 1_000_000_000) as u32, len, frame.wire_len];
        words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes.extend(frame.bytes);
    }
    bytes
}

/// Clocks drift apart, by up to 100 ppm each: the offset at the beginning is not that at the end.
#[test]
fn clocks_that_drift_apart_are_set_right() {
    let text = "seed = 3\n[[connection]]\noperations = [{ op = \"write\", size = \"16KiB\", count = 400, every = \"1ms\" }]\n[[segment]]\n\
                delay = \"1us\"\n[[segment]]\ndelay = \"3us\"\n[[segment]]\ndelay = \"1us\"\n[[tap]]\nname = \"s\"\nafter = 1\n[[tap]]\nname = \"r\"\nafter = 2\n";
    let run = run(&Scenario::parse(text).unwrap()).unwrap();
    let scratch = Scratch::new("drift");
    let first = scratch.file("s.pcap", &pcap(&run, 0, |time| time));
    let begin = run.frames(0).next().unwrap().time_ns;
    for (ahead, ppm) in [(0, 100), (0, -180), (700_000, 60), (-2_000_000, -20)] {
        let clock = |time: i64| time + ahead + (time - begin) * ppm / 1_000_000;
        let second = scratch.file("r.pcap", &pcap(&run, 1, clock));
        let open = |path| Series::open(path, []).unwrap();
        let mut merge = taps::merge([&*first, &*second].map(open).into());
        let found = merge.captures().find_map(Series::clock).unwrap();
        let drift = found.drift_ppt as f64 / 1e6;
        // 0.4 s, and delays of 3 us each way.
        assert!((drift - ppm as f64).abs() < 10.0, "{ppm}: {found:?}");
        for time in [begin, begin + 200_000_000, begin + 400_000_000] {
            assert!((found.at(clock(time)) - (clock(time) - time)).abs() <= 3_100, "{ppm}: {found:?}");
        }
        assert!(found.error_ns.is_some_and(|error| error <= 6_500), "{found:?}");
        let report = read(&mut merge);
        assert!(report.flows.iter().all(|flow| flow.requests.retransmits == 0), "{ppm}: {:?}", report.flows);
        assert_eq!(report.flows[0].requests.capture_duplicates * 2, report.flows[0].packets, "{ppm}");
    }
}

/// Clocks that are apart by less than a millisecond are set right too, where packets would come before they were sent.
#[test]
fn clocks_that_are_little_apart_are_set_right() {
    let text = "seed = 3\n[[connection]]\noperations = [{ op = \"write\", size = \"256KiB\", count = 8 }]\n[[segment]]\ndelay = \"1us\"\n[[segment]]\n\
                delay = \"3us\"\n[[segment]]\ndelay = \"1us\"\n[[tap]]\nname = \"s\"\nafter = 1\n[[tap]]\nname = \"r\"\nafter = 2\n";
    let run = run(&Scenario::parse(text).unwrap()).unwrap();
    let pcap = |tap: usize, ahead: i64| pcap(&run, tap, |time| time + ahead);
    let scratch = Scratch::new("clocks");
    let first = scratch.file("s.pcap", &pcap(0, 0));
    for ahead in [-1_000_000, -300_000, -100_000, -10_000, 0, 10_000, 100_000, 1_000_000] {
        let second = scratch.file("r.pcap", &pcap(1, ahead));
        let open = |path| Series::open(path, []).unwrap();
        let mut merge = taps::merge([&*first, &*second].map(open).into());
        let clock = merge.captures().find_map(Series::clock);
        assert_eq!(clock.is_some(), ahead != 0, "{ahead}");
        assert!(clock.is_none_or(|clock| (clock.ns - ahead).abs() <= 4_000), "{ahead}: {clock:?}");
        let report = read(&mut merge);
        let [one, other] = &report.flows[..] else { panic!("{:?}", report.flows) };
        assert_eq!((one.requests.retransmits, other.requests.retransmits), (0, 0), "{ahead}");
        assert_eq!(one.requests.capture_duplicates * 2, one.packets, "{ahead}");
    }
}

/// What is on its way between taps when the capture begins is recorded by the later ones alone, while the first one records what is sent behind it: nothing is
/// late, and each flow is one of the first tap.
#[test]
fn what_was_on_its_way_when_the_capture_began_is_not_late() {
    for (taps, ip_id) in [(2, "flow"), (2, "zero"), (3, "flow")] {
        let mut text = format!(
            "[[connection]]\nrate = \"40G\"\nip_id = \"{ip_id}\"\nwindow = 4000\noperations = [{{ op = \"write\", size = \"64KiB\", count = 40 }}]\n"
        );
        for _ in 0..=taps {
            text += "[[segment]]\ndelay = \"20us\"\n";
        }
        for tap in 0..taps {
            text += &format!("[[tap]]\nname = \"tap{tap}\"\nafter = {}\n", tap + 1);
        }
        let played = run(&Scenario::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))).unwrap();
        let mut analysis = Analysis::new(Options::default());
        let mut all = Vec::new();
        for tap in 0..taps {
            let known = played.interface(tap);
            analysis.interface(tap as u16, known.name.unwrap_or_default(), known.speed_bps);
            let mut frames = played.frames(tap);
            while let Some(frame) = frames.next() {
                all.push((frame.time_ns, tap as u16, frame.link, frame.bytes.to_vec()));
            }
        }
        let begin = all.iter().map(|(time, ..)| *time).min().unwrap() + 200_000;
        all.retain(|(time, ..)| *time >= begin);
        merged::push_in_order(all, &mut analysis);
        let report = analysis.finish();
        let ids: Vec<_> = report.head.findings.iter().map(|finding| &*finding.id).collect();
        let is_about_order = |id: &&&str| {
            ["reorder", "ambiguous", "timeout", "loss", "retransmit"].iter().any(|kind| id.starts_with(kind))
        };
        assert_eq!(ids.iter().find(is_about_order), None, "{taps} {ip_id}: {ids:?}");
        let sent = report.flows.iter().find(|flow| flow.goodput_bytes > 0).unwrap();
        assert_eq!((sent.requests.retransmits, sent.requests.out_of_order), (0, 0), "{taps} {ip_id}");
    }
}
