//! Pauses: who asked for them, and how long they lasted.

use rdmawire::{
    analyze::{Analysis, Options, StormProfile},
    capture::{Record, Time},
    dissect::Link,
    report::{Pause as Report, PauseEnd, PauseFault, Reason},
    wire::*,
};

const G100: u64 = 100_000_000_000;

fn mac_control(sender: u8, body: &[u8], opcode: MacControlOpcode) -> Vec<u8> {
    let ethernet = Ethernet::default()
        .with_dst(Mac([1, 0x80, 0xc2, 0, 0, 1]))
        .with_src(Mac([2, 0, 0, 0, 0, sender]))
        .with_ether_type(EtherType::MAC_CONTROL);
    let mut frame = [ethernet.bytes(), MacControl::default().with_opcode(opcode).bytes(), body].concat();
    frame.resize(60, 0);
    frame
}

fn pfc(sender: u8, times: &[(u8, u16)]) -> Vec<u8> {
    let header =
        times.iter().fold(Pfc::default(), |pfc, &(priority, quanta)| pfc.with_time(priority, quanta));
    mac_control(sender, header.bytes(), MacControlOpcode::PFC)
}

/// The pauses of frames at times, captured by an interface of this speed.
fn pauses(speed: Option<u64>, frames: &[(i64, Vec<u8>)]) -> Option<Vec<Report>> {
    let mut analysis = Analysis::new(Options::default());
    analysis.interface(3, "eth3".into(), speed);
    for (time, frame) in frames {
        let (time, wire_len) = (Time(*time), frame.len() as u32);
        analysis.push(&Record { time, link: Link::ETHERNET, interface: 3, wire_len, frame });
    }
    analysis.finish().head.pause
}

/// Quanta of one sender's priority 3 at times, and the capture's end.
fn story(speed: Option<u64>, frames: &[(i64, u16)], end: i64) -> Report {
    let mut all: Vec<_> = frames.iter().map(|&(time, quanta)| (time, pfc(1, &[(3, quanta)]))).collect();
    // A MAC control frame of another kind asks for nothing.
    all.push((end, mac_control(2, &[], MacControlOpcode(2))));
    let mut all = pauses(speed, &all).unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn a_quantum_is_512_bit_times() {
    for (speed, ns) in [(100, 335_539), (200, 167_769), (400, 83_884), (800, 41_942)] {
        assert_eq!(quanta_ns(65_535, speed * 1_000_000_000), ns);
    }
    assert_eq!(quanta_ns(65_535, 1), 65_535 * 512 * 1_000_000_000);
}

#[test]
fn xoff_then_xon() {
    let report = story(Some(G100), &[(1_000, 65_535), (11_000, 0)], 1_000_000);
    assert_eq!((report.link.as_str(), report.sender.as_str()), ("eth3", "02:00:00:00:00:01"));
    assert_eq!((report.priority, report.first_frame), (Some(3), 1));
    assert_eq!(
        (report.frames, report.xoff, report.xon, report.stray_xon, report.refreshes),
        (2, 1, 1, Some(0), Some(0))
    );
    assert_eq!(
        (report.intervals, report.paused_ns, report.longest_ns),
        (Some(1), Some(10_000), Some(10_000))
    );
    assert_eq!((report.quanta, report.storms.unwrap().len()), (65_535, 0));
    // Nothing could have been marked, or stopped, and nothing says what the link joins.
    assert_eq!(report.why.keys().collect::<Vec<_>>(), ["after_marks", "effect", "response_ns", "violations"]);
}

#[test]
fn a_timer_runs_out() {
    // 100 quanta are 512 ns at 100 Gbit/s.
    let report = story(Some(G100), &[(0, 100), (10_000, 100), (20_000, 0)], 1_000_000);
    assert_eq!((report.intervals, report.paused_ns, report.longest_ns), (Some(2), Some(1_024), Some(512)));
    assert_eq!((report.stray_xon, report.refreshes), (Some(1), Some(0)));
}

#[test]
fn a_refresh_overwrites_the_timer() {
    // Longer: to 400 + 512 ns. Shorter: to 300 + 5 ns.
    let longer = story(Some(G100), &[(0, 100), (400, 100)], 1_000_000);
    assert_eq!((longer.intervals, longer.paused_ns, longer.refreshes), (Some(1), Some(912), Some(1)));
    let shorter = story(Some(G100), &[(0, 100), (300, 1)], 1_000_000);
    assert_eq!((shorter.intervals, shorter.paused_ns), (Some(1), Some(305)));
}

#[test]
fn the_capture_ends_in_a_pause() {
    let report = story(Some(G100), &[(0, 100)], 200);
    assert_eq!((report.intervals, report.paused_ns), (Some(1), Some(200)));
}

#[test]
fn without_a_speed_there_are_no_durations() {
    let report = story(None, &[(0, 100), (5, 100), (10, 0), (20, 0)], 1_000_000);
    assert_eq!((report.intervals, report.paused_ns, report.longest_ns), (None, None, None));
    assert!(report.storms.is_none());
    assert_eq!(report.why["paused_ns"], Reason::UnknownSpeed);
    assert_eq!((report.quanta, report.refreshes, report.stray_xon), (200, None, None));
    assert_eq!(report.why["refreshes"], Reason::UnknownSpeed);
}

#[test]
fn an_interfaces_speed_is_its_own() {
    let paused_ns = |speed| story(Some(speed), &[(0, 100)], 1_000).paused_ns;
    assert_eq!((paused_ns(G100), paused_ns(G100 / 2), paused_ns(0)), (Some(512), Some(1_000), None));
}

#[test]
fn priorities_and_senders_are_kept_apart() {
    // A timer whose enable bit is not set is not meant.
    let mut silent = pfc(1, &[]);
    silent[18 + 6..18 + 8].copy_from_slice(&[0xff, 0xff]);
    let frames = [
        (0, pfc(1, &[(3, 100), (4, 200)])),
        (0, pfc(2, &[(3, 300)])),
        (0, mac_control(1, &[0, 50], MacControlOpcode::PAUSE)),
        (0, silent),
        (1_000_000, mac_control(1, &[], MacControlOpcode(2))),
    ];
    let all = pauses(Some(G100), &frames).unwrap();
    let rows: Vec<_> =
        all.iter().map(|r| (r.sender.chars().last().unwrap(), r.priority, r.paused_ns.unwrap())).collect();
    assert_eq!(rows, [('2', Some(3), 1_536), ('1', Some(4), 1_024), ('1', Some(3), 512), ('1', None, 256)]);
}

#[test]
fn a_quarter_of_a_second_without_a_break_is_a_storm() {
    // At 100 Gbit/s a pause of 65535 quanta must be renewed every 335 us.
    let held: Vec<(i64, u16)> = (0..834).map(|n| (n * 300_000, 65_535)).collect();
    let report = story(Some(G100), &held, i64::MAX);
    let storms = report.storms.unwrap();
    assert_eq!(storms.len(), 1);
    assert_eq!((storms[0].start_ns, storms[0].end_ns, storms[0].frames), (0, 833 * 300_000 + 335_539, 834));
    assert_eq!(report.intervals, Some(1));
    // The same frames with breaks between them are many pauses, and no storm.
    let broken: Vec<(i64, u16)> = (0..834).map(|n| (n * 400_000, 65_535)).collect();
    let report = story(Some(G100), &broken, i64::MAX);
    assert_eq!((report.intervals, report.storms.unwrap().len()), (Some(834), 0));
}

#[test]
fn no_mac_control_frame_no_claim() {
    assert!(pauses(Some(G100), &[]).is_none());
    // A MAC control frame of another kind shows that the capture has such frames: no pauses, then.
    let other = mac_control(1, &[0; 4], MacControlOpcode(2));
    assert!(pauses(Some(G100), &[(0, other)]).unwrap().is_empty());
    // Cut before its timers: counted as a frame, not as a pause.
    assert!(pauses(Some(G100), &[(0, pfc(1, &[(3, 1)])[..20].to_vec())]).unwrap().is_empty());
}

/// A filter leaves pause frames out, and not the capture.
#[test]
fn a_filter_hides_pauses() {
    let mut analysis = Analysis::new(Options::default());
    analysis.pass_over();
    let head = analysis.finish().head;
    assert_eq!(
        (head.pause, head.why["pause"], head.why["pause_tree"]),
        (None, Reason::Filtered, Reason::Filtered)
    );
    let told = |words: &str| head.capture.limitations.iter().any(|one| one.contains(words));
    assert!(
        told("A filter left frames out, and no MAC control frame is among the others"),
        "{:?}",
        head.capture
    );
}

#[test]
fn forged_senders_do_not_fill_the_memory() {
    let forged = |n: u32| {
        let mut frame = pfc(1, &[(3, 1)]);
        frame[8..12].copy_from_slice(&n.to_be_bytes());
        (i64::MAX - 5, frame)
    };
    let frames: Vec<_> = (0..10_000).map(forged).collect();
    assert_eq!(pauses(Some(G100), &frames).unwrap().len(), 4096);
}

const MS: i64 = 1_000_000;

/// The report of pause frames at times.
fn analyze(options: Options, frames: &[(i64, Vec<u8>)]) -> rdmawire::report::Report {
    let mut analysis = Analysis::new(options);
    for (time, frame) in frames {
        let (time, wire_len) = (Time(*time), frame.len() as u32);
        analysis.push(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame });
    }
    analysis.finish()
}

#[test]
fn the_ledger_says_how_each_pause_ended() {
    let report =
        story(Some(G100), &[(0, 100), (100, 0), (10_000, 100), (10_200, 100), (20_000, 100)], 20_100);
    let ledger: Vec<_> =
        report.ledger.iter().map(|p| (p.frame, p.start_ns, p.end_ns, p.end, p.frames)).collect();
    let expected = [
        (1, 0, 100, PauseEnd::Xon, 1),
        (3, 10_000, 10_200 + 512, PauseEnd::Expired, 2),
        (5, 20_000, 20_100, PauseEnd::CaptureEnd, 1),
    ];
    assert_eq!(ledger, expected);
    assert_eq!(report.ended.values().copied().collect::<Vec<_>>(), [1, 1, 1]);
    // The ledger ends, the sums do not.
    let many: Vec<(i64, u16)> = (0..1000).map(|n| (n * 10_000, 100)).collect();
    let report = story(Some(G100), &many, i64::MAX);
    assert_eq!((report.ledger.len(), report.intervals), (256, Some(1000)));
}

#[test]
fn malformed_frames_are_counted() {
    let good = pfc(1, &[(3, 100)]);
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = good.clone();
        change(&mut frame);
        frame
    };
    // Seven timers, and a checksum as text: what a generator of SONiC's tests sends.
    let seven = with(&|frame| frame[32..40].copy_from_slice(b"7f3a09c1"));
    let cases = [
        (good.clone(), None),
        (with(&|frame| frame[5] = 2), Some(PauseFault::WrongAddress)),
        (with(&|frame| frame.truncate(59)), Some(PauseFault::Short)),
        (with(&|frame| frame.truncate(30)), Some(PauseFault::Short)),
        (seven, Some(PauseFault::SevenTimers)),
        (with(&|frame| frame[16] = 1), Some(PauseFault::ClassVector)),
        (with(&|frame| frame[21] = 1), Some(PauseFault::SilentTimer)),
        (with(&|frame| drop(frame.splice(12..12, [0x81, 0, 0x60, 5]))), Some(PauseFault::Tagged)),
    ];
    for (frame, fault) in cases {
        let report = analyze(Options::default(), &[(0, frame)]);
        let found: Vec<_> = report.head.pause_faults.into_iter().collect();
        assert_eq!(found, fault.map(|fault| (fault, 1)).into_iter().collect::<Vec<_>>());
        assert_eq!(
            report.head.findings.iter().any(|f| f.id == "pause.malformed"),
            fault.is_some(),
            "{fault:?}"
        );
    }
}

#[test]
fn watchdogs_differ() {
    // Held for 150 ms, a break of 1 ms, held for 100 ms; then 500 ms later for 120 ms.
    let mut frames = Vec::new();
    for (from, to) in [(0, 150), (151, 251), (751, 871)] {
        frames.extend((0..(to - from) * 5).map(|n| (from * MS + n * MS / 5, pfc(1, &[(3, 65_535)]))));
        frames.push((to * MS, pfc(1, &[(3, 0)])));
    }
    frames.push((3_000 * MS, pfc(2, &[(3, 0)])));
    let storms = |profile: &str| {
        let storm = StormProfile::parse(profile).unwrap();
        let report = analyze(Options { speed_bps: Some(G100), storm, ..Options::default() }, &frames);
        let pauses = report.head.pause.unwrap();
        let storms = pauses[0].storms.clone().unwrap();
        assert_eq!(report.head.findings.iter().any(|f| f.id == "pause.storm"), !storms.is_empty());
        let in_ms = |ns: i64| ns / MS;
        storms
            .iter()
            .map(|s| (in_ms(s.start_ns), in_ms(s.fired_ns), in_ms(s.end_ns), s.restored_ns.map(in_ms)))
            .collect::<Vec<_>>()
    };
    // The break ends the first pause; no pause lasts 200 ms.
    assert_eq!(storms("sonic-broadcom"), []);
    assert_eq!(storms("juniper"), []);
    // A break of less than 1 % of a poll counts as none.
    assert_eq!(storms("sonic-mellanox"), [(0, 200, 251, Some(451))]);
    // 100 ms suffice, and the queue stays down until 1 s without a pause.
    assert_eq!(storms("cisco"), [(0, 100, 871, Some(1871))]);
    assert_eq!(storms("110ms, 400ms"), [(0, 110, 251, Some(651)), (751, 861, 871, Some(1271))]);
    assert_eq!(storms("110ms,10s"), [(0, 110, 871, None)]);
    for wrong in ["sonic", "0,1s", "1ms", ""] {
        assert!(StormProfile::parse(wrong).unwrap_err().contains("sonic-broadcom"), "{wrong}");
    }
}

#[cfg(feature = "sim")]
#[test]
fn pauses_of_scenarios_at_all_speeds() {
    use rdmawire::sim;
    for (rate, gigabit) in [("100G", 100), ("200G", 200), ("400G", 400), ("800G", 800)] {
        for xon in [true, false] {
            let text = format!(
                "rate = \"{rate}\"\n[[connection]]\noperations = [{{ op = \"write\", size = 1000, count = 20, every = \"1ms\" }}]\n\
                 timeout = 0\n[[pause]]\nfrom = \"right\"\npriority = 3\nat = \"5ms\"\nhold = \"7ms\"\nxon = {xon}\nstops = [\"a\"]\n"
            );
            let run = sim::run(&sim::Scenario::parse(&text).unwrap()).unwrap();
            let mut analysis =
                Analysis::new(Options { speed_bps: Some(gigabit * 1_000_000_000), ..Options::default() });
            let mut frames = run.frames(0);
            let mut last = 0;
            while let Some(frame) = frames.next() {
                last = frame.time_ns;
                analysis.push(&Record {
                    time: Time(frame.time_ns),
                    link: frame.link,
                    interface: 0,
                    wire_len: frame.wire_len,
                    frame: frame.bytes,
                });
            }
            let report = analysis.finish();
            let pauses = report.head.pause.unwrap();
            let [pause] = &pauses[..] else { panic!("{pauses:?}") };
            let [one] = pause.ledger[..] else { panic!("{pause:?}") };
            // Held for 7 ms from its first frame on, then ended, or left to expire.
            let timer = quanta_ns(65_535, gigabit * 1_000_000_000);
            let lasted = one.end_ns - one.start_ns;
            if xon {
                assert_eq!((lasted, one.end), (7 * MS, PauseEnd::Xon), "{rate}");
            } else {
                assert!((7 * MS + 1..=7 * MS + timer).contains(&lasted), "{rate}: {lasted}");
                assert_eq!(one.end, PauseEnd::Expired);
            }
            assert_eq!(
                (pause.priority, pause.longest_ns, pause.refreshes),
                (Some(3), Some(lasted as u64), Some(pause.xoff - 1))
            );
            let first = report.head.capture.first_ns.unwrap();
            let duty = lasted as f64 / (last - first) as f64;
            assert!((pause.duty_ratio.unwrap() - duty).abs() < 0.001, "{:?} {duty}", pause.duty_ratio);
        }
    }
}
