//! What the time of slow connections went to, on scenarios in which that is known, and what pauses did.

use crate::support::merged;
use rdmawire::{
    analyze::{Analysis, Options, Trigger},
    capture::{Record, Time},
    dissect::dissect,
    report::{Reason, Report, SlowFlow, Space, TimeCause},
    sim::{Scenario, run},
    wire::Kind,
};

/// Analyzes what the first tap of a scenario records. `speed`: of the links, in Gbit/s.
fn analyzed(text: &str, speed: Option<u64>, reference: bool) -> Report {
    let run = run(&Scenario::parse(text).unwrap()).unwrap();
    let speed_bps = speed.map(|gbps| gbps * 1_000_000_000);
    let mut analysis = Analysis::new(Options { speed_bps, reference, ..Options::default() });
    let mut frames = run.frames(0);
    while let Some(frame) = frames.next() {
        let (time, link, wire_len) = (Time(frame.time_ns), frame.link, frame.wire_len);
        analysis.push(&Record { time, link, interface: 0, wire_len, frame: frame.bytes });
    }
    analysis.finish()
}

/// The report, which is the same with runs of packets and without. In it, shares add up.
fn report(text: &str, speed: Option<u64>) -> Report {
    let report = analyzed(text, speed, false);
    let slow = &report.head.slow_flows;
    assert_eq!(slow, &analyzed(text, speed, true).head.slow_flows);
    for flow in slow {
        assert_eq!(flow.shares.iter().map(|share| share.ns).sum::<u64>(), flow.lasted_ns);
        assert!(flow.shares.iter().all(|share| !share.evidence.is_empty() && share.ns > 0));
    }
    report
}

/// The one slow flow.
fn slow(text: &str, speed: Option<u64>) -> SlowFlow {
    let mut report = report(text, speed);
    assert_eq!(
        (report.head.slow_flows.len(), report.head.slow_flow_count),
        (1, 1),
        "{:?}",
        report.head.slow_flows
    );
    report.head.slow_flows.remove(0)
}

fn ns(flow: &SlowFlow, cause: TimeCause) -> u64 {
    flow.shares.iter().find(|share| share.cause == cause).map_or(0, |share| share.ns)
}

/// Whether a time is within 2 % of the truth, and of its unit, 5 microseconds.
#[track_caller]
fn near(ns: u64, truth: u64) {
    assert!(ns.abs_diff(truth) <= truth / 50 + 5_000, "{ns} ns instead of {truth}");
}

#[test]
fn a_small_window_waits() {
    let flow = slow(
        "[[connection]]\nwindow = 8\nmtu = 4096\noperations = [{ op = \"write\", size = \"1MiB\", count = 20 }]\n\
         [[segment]]\ndelay = \"1us\"\n[[segment]]\ndelay = \"20us\"",
        None,
    );
    assert_eq!((flow.verdict, flow.lost_ns), (Some(TimeCause::Waiting), 0));
    // 5120 packets of 4 KiB, with headers 4178 bytes, at 100 Gbit/s.
    let sent = 5120 * 4178 * 8 / 100;
    assert!(ns(&flow, TimeCause::Waiting).abs_diff(flow.lasted_ns - sent) * 100 < flow.lasted_ns * 2);
}

#[test]
fn a_sender_without_work_is_idle() {
    let flow = slow(
        "[[connection]]\noperations = [{ op = \"write\", size = \"64KiB\", count = 50, every = \"100us\" }]",
        None,
    );
    assert_eq!((flow.verdict, flow.lost_ns), (Some(TimeCause::Idle), 0));
    // A message takes 64 packets of 1 KiB, with headers 1106 bytes or 1122, and 4 us until its acknowledgement.
    near(ns(&flow, TimeCause::Idle), 49 * (100_000 - 64 * 1106 * 8 / 100 - 4_000));
}

#[test]
fn pauses_stop_their_priority() {
    let pauses = "[[pause]]\nfrom = \"right\"\npriority = 3\nat = \"100us\"\nhold = \"900us\"\nstops = [\"a\"]\n\
        [[pause]]\nfrom = \"right\"\npriority = 3\nat = \"1200us\"\nhold = \"250us\"\nstops = [\"a\"]\n";
    for (speed, size) in [(100, "1MiB"), (200, "2MiB"), (400, "4MiB"), (800, "8MiB")] {
        let traffic = format!(
            "rate = \"{speed}G\"\n[[connection]]\ntimeout = 14\nmtu = 4096\nwindow = 2000\n\
             operations = [{{ op = \"write\", size = \"{size}\", count = 4 }}]\n"
        );
        let report = report(&(traffic + pauses), Some(speed));
        let flow = &report.head.slow_flows[0];
        assert_eq!(flow.verdict, Some(TimeCause::Paused), "{speed}G: {flow:?}");
        near(ns(flow, TimeCause::Paused), if flow.lasted_ns > 1_300_000 { 1_150_000 } else { 900_000 });
        let pause = &report.head.pause.as_deref().unwrap()[0];
        assert_eq!((pause.paused_ns, pause.xon, pause.intervals), (Some(1_150_000), 2, Some(2)));
        assert!(pause.refreshes > Some(3 * speed / 100), "a frame lasts 335 us at 100 Gbit/s");
        let did = pause.effect.unwrap();
        near(did.effective_ns, ns(flow, TimeCause::Paused));
        assert_eq!((did.flows, did.timeouts, did.retransmits), (1, 0, 0));
        assert!(did.messages_spanning >= did.messages_stopped && did.messages_stopped <= 2);
        // Another priority stops nothing, and without a speed nobody knows how long a pause lasts.
    }
}

/// A message that waits for two pauses is stopped twice, and is one.
#[test]
fn a_message_that_spans_two_pauses() {
    for (apart, spanning) in [(20, 1), (400, 2)] {
        let report = report(
            &format!(
                "[[connection]]\ntimeout = 14\nmtu = 4096\nwindow = 2000\noperations = [{{ op = \"write\", size = \"4MiB\", count = 4 }}]\n\
                 [[pause]]\nfrom = \"right\"\npriority = 3\nat = \"100us\"\nhold = \"100us\"\nstops = [\"a\"]\n\
                 [[pause]]\nfrom = \"right\"\npriority = 3\nat = \"{}us\"\nhold = \"100us\"\nstops = [\"a\"]\n",
                200 + apart
            ),
            Some(100),
        );
        let did = report.head.pause.as_deref().unwrap()[0].effect.unwrap();
        assert_eq!(
            (did.flows, did.messages_stopped, did.messages_spanning),
            (1, 2, spanning),
            "{apart}: {did:?}"
        );
    }
}

#[test]
fn pauses_of_another_priority_stop_nothing() {
    let traffic =
        "[[connection]]\noperations = [{ op = \"write\", size = \"4KiB\", count = 50, every = \"20us\" }]\n";
    let of = |priority: u8| {
        format!(
            "{traffic}[[pause]]\nfrom = \"right\"\npriority = {priority}\nat = \"100us\"\nhold = \"400us\"\n"
        )
    };
    // Nobody honors this pause, of the priority of the data: the sender goes on in it as before.
    for priority in [3, 4] {
        let report = report(&of(priority), Some(100));
        let flow = &report.head.slow_flows[0];
        assert_eq!((flow.verdict, flow.lost_ns), (Some(TimeCause::Idle), 0), "{flow:?}");
        assert_eq!(report.head.pause.as_deref().unwrap()[0].effect.unwrap().flows, 0);
    }
    let report = report(&of(3), None);
    assert_eq!(report.head.pause.as_deref().unwrap()[0].effect, None);
}

#[test]
fn a_pause_that_expires_and_one_whose_end_is_lost() {
    // 20000 quanta are 102.4 us at 100 Gbit/s: the last frame of the pause comes up to half of that before its end.
    let flow = |hold: &str| {
        let text = format!(
            "[[connection]]\ntimeout = 14\noperations = [{{ op = \"write\", size = \"1MiB\", count = 6 }}]\n\
             [[pause]]\nfrom = \"right\"\npriority = 3\nat = \"100us\"\nhold = \"{hold}\"\nxon = false\n\
             quanta = 20000\nstops = [\"a\"]\n"
        );
        report(&text, Some(100))
    };
    for hold in ["400us", "700us"] {
        let report = flow(hold);
        let pause = &report.head.pause.as_deref().unwrap()[0];
        let (asked, row) = (pause.paused_ns.unwrap(), &report.head.slow_flows[0]);
        assert_eq!((pause.xon, pause.intervals), (0, Some(1)));
        near(ns(row, TimeCause::Paused), asked);
        near(pause.effect.unwrap().effective_ns, asked);
        assert_eq!(row.verdict, Some(TimeCause::Paused));
    }
}

/// Which pauses came after congestion: of three, the one between.
#[test]
fn pauses_after_marks() {
    let text = |ecn: bool| {
        let pauses = [("5us", "10us"), ("200us", "50us"), ("4ms", "50us")].map(|(at, hold)| {
            format!("[[pause]]\nfrom = \"right\"\npriority = 3\nat = \"{at}\"\nhold = \"{hold}\"\n")
        });
        let mark = if ecn { "[[event]]\ndo = \"mark\"\npacket = 400\ntimes = 10\n" } else { "" };
        format!(
            "[[connection]]\necn = {ecn}\noperations = [{{ op = \"write\", size = \"64KiB\", count = 100 }}]\n{mark}{}",
            pauses.concat()
        )
    };
    let of = |ecn: bool| report(&text(ecn), Some(100)).head.pause.unwrap().remove(0);
    let (marked, incapable) = (of(true), of(false));
    assert_eq!((marked.intervals, marked.after_marks), (Some(3), Some(1)), "{marked:?}");
    assert_eq!((incapable.after_marks, incapable.why["after_marks"]), (None, Reason::NotEct));
}

#[test]
fn a_storm_of_250_ms() {
    let report = report(include_str!("../../examples/scenarios/pfc-storm.toml"), Some(100));
    let flow = &report.head.slow_flows[0];
    assert_eq!((flow.verdict, ns(flow, TimeCause::Paused)), (Some(TimeCause::Paused), 250_000_000));
    let pause = &report.head.pause.as_deref().unwrap()[0];
    assert_eq!(pause.effect.unwrap().effective_ns, 250_000_000);
    let finding = report.head.findings.iter().find(|finding| finding.id == "slow").unwrap();
    assert_eq!((finding.flow, finding.time_lost_ns), (Some(flow.flow), Some(250_000_000)));
    assert!(finding.text.contains("pause"), "{}", finding.text);
}

#[test]
fn a_pause_longer_than_the_timer_causes_timeouts() {
    let report = report(include_str!("../../examples/scenarios/pause-longer-than-timeout.toml"), Some(100));
    let timeouts = report.flows.iter().map(|flow| flow.requests.triggers.timeout).sum::<u64>();
    let resent = report.flows.iter().map(|flow| flow.requests.retransmits).sum::<u64>();
    let did = report.head.pause.as_deref().unwrap()[0].effect.unwrap();
    assert!(timeouts > 1 && resent > timeouts, "{timeouts}, {resent}");
    assert_eq!((did.flows, did.timeouts), (1, timeouts));
    // The timeouts are no loss to look for: they are told with the pause.
    let at = |id: &str| report.head.findings.iter().position(|finding| finding.id == id);
    let timeout = at("timeout").map(|at| &report.head.findings[at]);
    assert!(timeout.is_none_or(|finding| finding.effect_of == at("pause.timeout")), "{timeout:?}");
    assert!(at("pause.timeout").is_some());
    assert!(did.retransmits <= resent && did.retransmits >= timeouts, "{did:?}");
}

/// A pause of a link behind the first tap holds packets and their acknowledgements: what the sender repeats meanwhile is no recovery.
#[test]
fn a_pause_of_a_later_link_is_one() {
    let text = include_str!("../../examples/scenarios/pause-longer-than-timeout.toml");
    let alone = slow(text, Some(100));
    let of_one_tap = ns(&alone, TimeCause::Paused);
    assert!(of_one_tap > 300_000, "{alone:?}");
    let run = run(&Scenario::parse(text).unwrap()).unwrap();
    let mut all = Vec::new();
    let mut frames = run.frames(0);
    while let Some(frame) = frames.next() {
        let (time, link, bytes) = (frame.time_ns, frame.link, frame.bytes.to_vec());
        if bytes[12..14] == [0x88, 0x08] {
            all.push((time, 1, link, bytes));
            continue;
        }
        let later = if bytes[26..30] == [10, 0, 0, 1] { 1_000 } else { -1_000 };
        all.extend([(time, 0, link, bytes.clone()), (time + later, 1, link, bytes)]);
    }
    let mut analysis = Analysis::new(Options { speed_bps: Some(100_000_000_000), ..Options::default() });
    merged::push_in_order(all, &mut analysis);
    let report = analysis.finish();
    let [flow] = &report.head.slow_flows[..] else { panic!("{:?}", report.head.slow_flows) };
    // But for the end of the pause, at which the acknowledgements come.
    let paused = ns(flow, TimeCause::Paused);
    assert!(paused * 10 >= of_one_tap * 8 && paused <= of_one_tap, "{paused} of {of_one_tap}");
    assert_eq!(flow.shares.iter().map(|share| share.ns).sum::<u64>(), flow.lasted_ns);
}

/// What a storm does shows while it lasts: the capture ends in it.
#[test]
fn a_pause_that_lasts_to_the_end() {
    let text = |every: &str| {
        format!(
            "stop = \"1ms\"\n[[connection]]\ntimeout = 14\nmtu = 4096\n\
             operations = [{{ op = \"write\", size = \"64KiB\", count = 400{every} }}]\n\
             [[pause]]\nfrom = \"right\"\npriority = 3\nat = \"200us\"\nhold = \"100ms\"\nstops = [\"a\"]\n"
        )
    };
    // In the middle of a message, and between two that come every 40 us.
    for every in ["", ", every = \"40us\""] {
        let report = report(&text(every), Some(100));
        let pause = &report.head.pause.as_deref().unwrap()[0];
        let did = pause.effect.unwrap();
        assert_eq!((did.flows, did.timeouts, pause.intervals), (1, 0, Some(1)), "{pause:?}");
        near(did.effective_ns, pause.paused_ns.unwrap());
        let flow = &report.head.slow_flows[0];
        assert_eq!(flow.verdict, Some(TimeCause::Paused), "{flow:?}");
        near(ns(flow, TimeCause::Paused), pause.paused_ns.unwrap());
    }
    // One that had ended long before is not stopped by it.
    let over = text("").replace("count = 400", "count = 2");
    let report = report(&over, Some(100));
    assert_eq!(report.head.pause.as_deref().unwrap()[0].effect.unwrap().flows, 0);
    assert!(report.head.slow_flows.is_empty());
}

/// Where nearly all packets of many flows have a time before them that is longer than a pause, a pause is one still.
#[test]
fn pauses_beside_many_flows() {
    let pauses: String = (1..8)
        .map(|n| {
            format!(
                "[[pause]]\nfrom = \"right\"\npriority = 3\nat = \"{}us\"\nhold = \"30us\"\nstops = [\"a\"]\n",
                300 * n
            )
        })
        .collect();
    let text = format!(
        "[[host]]\nname = \"a\"\naddress = \"10.3.0.1\"\nside = \"left\"\n\
         [[host]]\nname = \"b\"\naddress = \"10.3.0.2\"\nside = \"left\"\n\
         [[host]]\nname = \"sink\"\naddress = \"10.3.0.9\"\n\
         [[connection]]\nfrom = \"a\"\nto = \"sink\"\nrate = \"40G\"\nmtu = 4096\n\
         operations = [{{ op = \"write\", size = \"1MiB\", count = 11 }}]\n\
         [[connection]]\nfrom = \"b\"\nto = \"sink\"\ncopies = 120\nrate = \"300M\"\ndscp = 0\nmtu = 1024\n\
         operations = [{{ op = \"write\", size = \"64KiB\", count = 2 }}]\n{pauses}"
    );
    let report = report(&text, Some(100));
    let pause = &report.head.pause.as_deref().unwrap()[0];
    let did = pause.effect.unwrap();
    assert_eq!((did.flows, pause.intervals), (1, Some(7)), "{pause:?}");
    // One of them comes between two messages.
    assert_eq!(did.messages_stopped, 6, "{pause:?}");
    assert!((180_000..=210_000).contains(&did.effective_ns), "{pause:?}");
    let others = report.head.slow_flows.iter().filter(|flow| flow.src == "10.3.0.2");
    assert!(others.clone().all(|flow| flow.lost_ns == 0), "{:?}", others.collect::<Vec<_>>());
}

/// A tap whose directions are two interfaces: the pauses come on one, what they stop goes on the other.
#[test]
fn directions_on_two_interfaces() {
    let text = "[[connection]]\ntimeout = 14\nmtu = 4096\nwindow = 2000\n\
        operations = [{ op = \"write\", size = \"1MiB\", count = 4 }]\n\
        [[pause]]\nfrom = \"right\"\npriority = 3\nat = \"100us\"\nhold = \"150us\"STOPS\n";
    let links = "[[link]]\ntap = [\"if0\", \"if1\"]\na = { device = \"a\" }\nb = { device = \"b\" }\n\
        [device.a]\nkind = \"host\"\naddress = \"10.0.0.1\"\n[device.b]\nkind = \"host\"\naddress = \"10.0.0.2\"\n";
    let of = |stops: &str, keep: [bool; 2]| {
        let run = run(&Scenario::parse(&text.replace("STOPS", stops)).unwrap()).unwrap();
        let mut pauser = None;
        let mut frames = run.frames(0);
        while let Some(frame) = frames.next() {
            if frame.bytes[12..14] == [0x88, 0x08] {
                pauser = Some(format!("{}", rdmawire::wire::Mac(frame.bytes[6..12].try_into().unwrap())));
            }
        }
        let links = links
            .replace("{ device = \"b\" }", &format!("{{ device = \"b\", mac = \"{}\" }}", pauser.unwrap()));
        let links = Some(rdmawire::analyze::Links::parse(&links).unwrap());
        let mut analysis =
            Analysis::new(Options { speed_bps: Some(100_000_000_000), links, ..Options::default() });
        analysis.interface(0, "if0".into(), None);
        analysis.interface(1, "if1".into(), None);
        let mut frames = run.frames(0);
        while let Some(frame) = frames.next() {
            let is_back = frame.bytes[12..14] == [0x88, 0x08] || frame.bytes[26..30] == [10, 0, 0, 2];
            if keep[usize::from(is_back)] {
                let (time, link, wire_len) = (Time(frame.time_ns), frame.link, frame.wire_len);
                let interface = u16::from(is_back);
                analysis.push(&Record { time, link, interface, wire_len, frame: frame.bytes });
            }
        }
        analysis.finish().head.pause.unwrap().remove(0)
    };
    let honored = of("\nstops = [\"a\"]", [true; 2]);
    let did = honored.effect.unwrap();
    assert_eq!((did.flows, honored.violations.unwrap().frames), (1, 0), "{honored:?}");
    near(did.effective_ns, 150_000);
    let ignored = of("", [true; 2]);
    assert_eq!(ignored.effect.unwrap().flows, 0);
    assert!(ignored.violations.unwrap().frames > 100, "{ignored:?}");
    // Of the pausing end's direction alone, nothing shows what the pauses do.
    let mirrored = of("", [false, true]);
    assert_eq!((mirrored.effect, mirrored.violations), (None, None));
    assert_eq!((mirrored.why["effect"], mirrored.why["violations"]), (Reason::OneWay, Reason::OneWay));
}

#[test]
fn a_receiver_that_is_not_ready() {
    let flow = slow(include_str!("../../examples/scenarios/rnr.toml"), None);
    assert_eq!(flow.verdict, Some(TimeCause::NotReady));
    // Three waits of 1.28 ms times 1.3.
    near(ns(&flow, TimeCause::NotReady), 3 * 1_280_000 * 13 / 10);
}

#[test]
fn recovering_from_loss() {
    let report = report(include_str!("../../examples/scenarios/timeout-tail-loss.toml"), None);
    let flow = &report.head.slow_flows[0];
    let timeouts = report.flows[flow.flow].requests.triggers.timeout;
    assert!(timeouts > 0 && report.episodes.iter().all(|episode| episode.trigger == Trigger::Timeout));
    let waited: u64 = report.flows[flow.flow].timeouts.iter().map(|timeout| timeout.waited_ns).sum();
    near(ns(flow, TimeCause::Recovering), waited);
}

#[test]
fn cnps_throttle() {
    let report = report(include_str!("../../examples/scenarios/dcqcn.toml"), None);
    assert_eq!(report.head.slow_flows.len(), 1, "the sender that ignores CNPs is not slow");
    let flow = &report.head.slow_flows[0];
    assert_eq!((flow.verdict, flow.src.as_str()), (Some(TimeCause::Throttled), "10.4.0.1"));
    // Before its first CNP, it sent at the line rate: nearly all of its time is beyond what that takes.
    let needed = flow.wire_bytes * 8 / 100;
    let truth = flow.lasted_ns - needed;
    assert!(ns(flow, TimeCause::Throttled).abs_diff(truth) * 100 < truth * 3, "{flow:?}");
}

#[test]
fn two_senders_fill_one_link() {
    let text = "rate = \"100G\"\n[[host]]\nname = \"a\"\naddress = \"10.3.0.1\"\nside = \"left\"\n\
        [[host]]\nname = \"b\"\naddress = \"10.3.0.2\"\nside = \"left\"\n\
        [[host]]\nname = \"sink\"\naddress = \"10.3.0.9\"\n\
        [[connection]]\nfrom = \"a\"\nto = \"sink\"\noperations = [{ op = \"write\", size = \"1MiB\", count = 8 }]\n\
        [[connection]]\nfrom = \"b\"\nto = \"sink\"\noperations = [{ op = \"write\", size = \"1MiB\", count = 8 }]\n";
    let with_speed = report(text, Some(100));
    assert_eq!(with_speed.head.slow_flows.len(), 2);
    assert!(with_speed.head.slow_flows.iter().all(|flow| flow.verdict == Some(TimeCause::LinkFull)));
    for flow in &with_speed.head.slow_flows {
        // Both send all the time, at full speed.
        near(
            ns(flow, TimeCause::LinkFull) + ns(flow, TimeCause::Idle) + ns(flow, TimeCause::Waiting),
            flow.lasted_ns,
        );
    }
    // Without a speed nobody knows.
    assert!(report(text, None).head.slow_flows.iter().all(|flow| ns(flow, TimeCause::LinkFull) == 0));
}

/// Two flows share the sink's link for as long as the shorter one lasts.
#[test]
fn a_link_that_is_full_for_a_part_of_the_time() {
    let text = |first: u32, second: u32| {
        format!(
            "[[host]]\nname = \"a\"\naddress = \"10.3.0.1\"\nside = \"left\"\n\
             [[host]]\nname = \"b\"\naddress = \"10.3.0.2\"\nside = \"left\"\n\
             [[host]]\nname = \"sink\"\naddress = \"10.3.0.9\"\n\
             [[connection]]\nfrom = \"a\"\nto = \"sink\"\nrate = \"60G\"\nmtu = 4096\nwindow = 4000\n\
             operations = [{{ op = \"write\", size = \"1MiB\", count = {first} }}]\n\
             [[connection]]\nfrom = \"b\"\nto = \"sink\"\nrate = \"60G\"\nmtu = 4096\nwindow = 4000\n\
             operations = [{{ op = \"write\", size = \"1MiB\", count = {second} }}]\n"
        )
    };
    for (first, second) in [(60, 30), (40, 25)] {
        let report = report(&text(first, second), Some(100));
        let of = |src: &str| report.head.slow_flows.iter().find(|flow| flow.src == src).unwrap();
        // A message has 256 packets of 4 KiB, with headers 4178 bytes, at 60 Gbit/s.
        let shared = u64::from(second) * 256 * 4178 * 8 / 60;
        let full = ns(of("10.3.0.1"), TimeCause::LinkFull);
        // The bins of 50 us at both ends are shared for a part of them.
        assert!(
            full.abs_diff(shared) <= shared / 50 + 50_000 && full.abs_diff(shared) * 50 <= shared * 2,
            "{full} {shared}"
        );
        assert_eq!(of("10.3.0.2").verdict, Some(TimeCause::LinkFull));
    }
}

/// What the receiver takes longer is what the same traffic is slower than with a quick one.
#[test]
fn how_long_a_receiver_was_slow() {
    for (times, by) in [(400, 300), (800, 200), (100, 1000)] {
        let text = |more: &str| {
            format!(
                "[[connection]]\nwindow = 64\ntimeout = 14\n\
                 operations = [{{ op = \"write\", size = \"64KiB\", count = 200 }}]\n{more}"
            )
        };
        let delay = format!(
            "[[event]]\ndo = \"delay\"\nfrom = \"to\"\nof = \"acks\"\npacket = 20\ntimes = {times}\nby = \"{by}us\"\nsegment = 2\n"
        );
        let quick = slow(&text(""), Some(100));
        let flow = slow(&text(&delay), Some(100));
        let truth = flow.lasted_ns - quick.lasted_ns;
        let found = ns(&flow, TimeCause::ReceiverSlow);
        assert!(
            found.abs_diff(truth) * 50 <= truth,
            "{times} by {by} us: {found} ns instead of {truth}: {flow:?}"
        );
    }
}

#[test]
fn a_slow_receiver() {
    let text = "[[connection]]\nwindow = 64\ntimeout = 14\n\
        operations = [{ op = \"write\", size = \"64KiB\", count = 200 }]\n\
        [[event]]\ndo = \"delay\"\nfrom = \"to\"\nof = \"acks\"\npacket = 20\ntimes = 400\nby = \"300us\"\n\
        segment = 2\n";
    let flow = slow(text, Some(100));
    assert_eq!(flow.verdict, Some(TimeCause::ReceiverSlow), "{flow:?}");
    // Without a speed, a full link may be why: it is waiting.
    assert_eq!(slow(text, None).verdict, Some(TimeCause::Waiting));
}

/// READs one at a time: each waits for a round trip, and that is nothing else.
#[test]
fn the_data_of_reads_waits_for_its_requests() {
    let flow = slow(
        "[[connection]]\nmtu = 4096\nmax_reads = 1\noperations = [{ op = \"read\", size = \"64KiB\", count = 100 }]\n\
         [[segment]]\ndelay = \"1us\"\n[[segment]]\ndelay = \"20us\"",
        Some(100),
    );
    assert_eq!((flow.verdict, flow.lost_ns, flow.space), (Some(TimeCause::Waiting), 0, Space::Response));
    assert_eq!(flow.src, "10.0.0.2", "the verdict is about the sender of the data");
    // 16 packets of 4 KiB: with headers 4178 bytes at 100 Gbit/s, the first and the last one 4 more.
    let sent = 100 * 16 * 4178 * 8 / 100;
    near(ns(&flow, TimeCause::Waiting), flow.lasted_ns - sent);
}

#[test]
fn nobody_reads() {
    let flow = slow(
        "[[connection]]\noperations = [{ op = \"read\", size = \"64KiB\", count = 50, every = \"100us\" }]",
        None,
    );
    assert_eq!((flow.verdict, flow.lost_ns, flow.space), (Some(TimeCause::Idle), 0, Space::Response));
    // A READ takes 4 us from the tap to the first response, and its 64 packets 1106 bytes each.
    near(ns(&flow, TimeCause::Idle), 49 * (100_000 - 64 * 1106 * 8 / 100 - 4_000));
    near(ns(&flow, TimeCause::Waiting), 49 * 4_000);
}

#[test]
fn pauses_stop_the_data_of_reads() {
    for (speed, size) in [(100, "1MiB"), (400, "4MiB")] {
        let text = format!(
            "rate = \"{speed}G\"\n[[connection]]\ntimeout = 14\nmtu = 4096\n\
             operations = [{{ op = \"read\", size = \"{size}\", count = 8 }}]\n\
             [[pause]]\nfrom = \"left\"\npriority = 3\nat = \"100us\"\nhold = \"900us\"\nstops = [\"b\"]\n\
             [[pause]]\nfrom = \"left\"\npriority = 3\nat = \"1200us\"\nhold = \"250us\"\nstops = [\"b\"]\n"
        );
        let report = report(&text, Some(speed));
        assert_eq!(report.head.slow_flows.len(), 1, "{:?}", report.head.slow_flows);
        let flow = &report.head.slow_flows[0];
        assert_eq!((flow.verdict, flow.space), (Some(TimeCause::Paused), Space::Response));
        near(ns(flow, TimeCause::Paused), 1_150_000);
        let did = report.head.pause.as_deref().unwrap()[0].effect.unwrap();
        near(did.effective_ns, 1_150_000);
        assert_eq!((did.flows, did.timeouts, did.retransmits), (1, 0, 0));
        assert_eq!((did.messages_stopped, did.messages_spanning), (2, 2));
    }
}

#[test]
fn cnps_throttle_the_data_of_reads() {
    let text = |dcqcn: &str| {
        format!(
            "[[connection]]\nmtu = 4096\ndcqcn = \"{dcqcn}\"\nmax_reads = 16\n\
             operations = [{{ op = \"read\", size = \"1MiB\", count = 64 }}]\n\
             [[event]]\ndo = \"mark\"\nfrom = \"to\"\nof = \"responses\"\npacket = 1000\ntimes = 4000\nsegment = 2\n"
        )
    };
    let flow = slow(&text("paper"), Some(100));
    assert_eq!((flow.verdict, flow.space), (Some(TimeCause::Throttled), Space::Response), "{flow:?}");
    let truth = flow.lasted_ns - flow.wire_bytes * 8 / 100;
    assert!(ns(&flow, TimeCause::Throttled).abs_diff(truth) * 50 < truth, "{flow:?}");
    // One that ignores CNPs sends all the time.
    assert_eq!(report(&text("none"), Some(100)).head.slow_flows, []);
}

/// What the responder takes longer is what the same traffic is slower than with a quick one.
#[test]
fn how_long_a_responder_was_slow() {
    for (times, by) in [(60, 300), (20, 1000), (90, 50)] {
        let text = |more: &str| {
            format!(
                "[[connection]]\nmax_reads = 1\ntimeout = 14\n\
                 operations = [{{ op = \"read\", size = \"64KiB\", count = 100 }}]\n{more}"
            )
        };
        let delay = format!(
            "[[event]]\ndo = \"delay\"\nof = \"requests\"\npacket = 5\ntimes = {times}\nby = \"{by}us\"\nsegment = 2\n"
        );
        let quick = slow(&text(""), Some(100));
        let flow = slow(&text(&delay), Some(100));
        assert_eq!(flow.space, Space::Response);
        near(ns(&flow, TimeCause::ResponderSlow), flow.lasted_ns - quick.lasted_ns);
        near(ns(&flow, TimeCause::ResponderSlow), times * by * 1000);
        // Without a speed, a full link may be why: it is waiting.
        assert_eq!(ns(&slow(&text(&delay), None), TimeCause::ResponderSlow), 0);
    }
}

/// A READ whose data is lost: the requester asks again after its timer.
#[test]
fn the_data_of_reads_recovers_from_loss() {
    let flow = slow(
        "[[connection]]\nmax_reads = 1\ntimeout = 8\noperations = [{ op = \"read\", size = \"64KiB\", count = 20 }]\n\
         [[event]]\ndo = \"drop\"\nfrom = \"to\"\nof = \"responses\"\npacket = 640\nsegment = 2\n\
         [[event]]\ndo = \"drop\"\nof = \"requests\"\npacket = 16\nsegment = 2\n",
        Some(100),
    );
    assert_eq!((flow.verdict, flow.space), (Some(TimeCause::Recovering), Space::Response), "{flow:?}");
    // Two timeouts of 4.096 us * 2^8, from the request on; the first data took 64 packets at most.
    near(ns(&flow, TimeCause::Recovering), 2 * 1_048_576);
}

/// A connection that WRITEs more than it READs is judged by its requests.
/// One interface taps two links, and each packet passes both: nothing says which of them a pause stopped.
#[test]
fn what_a_pause_stops_is_not_known_where_an_interface_taps_several_links() {
    let text = "[[connection]]\ntimeout = 14\nmtu = 4096\nwindow = 2000\noperations = [{ op = \"write\", size = \"1MiB\", count = 4 }]\n\
        [[pause]]\nfrom = \"right\"\npriority = 3\nat = \"100us\"\nhold = \"100us\"\nstops = [\"a\"]\n";
    let run = run(&Scenario::parse(text).unwrap()).unwrap();
    for are_several in [false, true] {
        let (mut frames, mut all) = (run.frames(0), Vec::new());
        while let Some(frame) = frames.next() {
            let bytes = frame.bytes.to_vec();
            if are_several && !dissect(frame.link, &bytes, frame.wire_len).has(Kind::MacControl) {
                // Packets wait between the links, longer and shorter: no mirror is so uneven.
                let phase = frame.time_ns % 200_000;
                let waited = 700 + phase.min(200_000 - phase) / 10;
                all.push((frame.time_ns + waited, 0, frame.link, bytes.clone()));
            }
            all.push((frame.time_ns, 0, frame.link, bytes));
        }
        let mut analysis = Analysis::new(Options { speed_bps: Some(100_000_000_000), ..Options::default() });
        merged::push_in_order(all, &mut analysis);
        let report = analysis.finish();
        let pause = &report.head.pause.as_deref().unwrap()[0];
        assert_eq!(pause.paused_ns, Some(100_000));
        assert_eq!(pause.effect.map(|did| did.flows), if are_several { None } else { Some(1) }, "{pause:?}");
        let why = are_several.then_some(&Reason::RecordedTwice);
        assert_eq!(pause.why.get("effect"), why);
    }
}

/// Both directions fall silent in a pause: what one host WRITEs, and what it READs, for which it cannot ask. Without the links nobody knows
/// which of them the pause stopped. Larger READs go on, and are not stopped.
#[test]
fn of_two_directions_a_pause_stops_one() {
    for (size, flows) in [("4KiB", None), ("64KiB", Some(1))] {
        let text = format!(
            "[[connection]]\ntimeout = 14\nmtu = 4096\nwindow = 2000\noperations = [{{ op = \"write\", size = \"1MiB\", count = 4 }}]\n\
             [[connection]]\ntimeout = 14\nmtu = 4096\noperations = [{{ op = \"read\", size = \"{size}\", count = 200 }}]\n\
             [[segment]]\ndelay = \"1us\"\n[[segment]]\ndelay = \"500ns\"\n[[tap]]\nname = \"l\"\nends = [\"s\", \"b\"]\n\
             [[pause]]\nfrom = \"right\"\npriority = 3\nat = \"50us\"\nhold = \"100us\"\nstops = [\"a\"]\n"
        );
        let report = report(&text, Some(100));
        let pause = &report.head.pause.as_deref().unwrap()[0];
        assert_eq!(pause.effect.map(|did| did.flows), flows, "{size}: {pause:?}");
        let why = flows.is_none().then_some(&Reason::UnknownDirection);
        assert_eq!(pause.why.get("effect"), why);
    }
}

#[test]
fn a_connection_has_one_verdict() {
    let text = |write: &str, read: &str| {
        format!(
            "[[connection]]\noperations = [{{ op = \"write\", size = \"{write}\", count = 20, every = \"50us\" }},\n\
             {{ op = \"read\", size = \"{read}\", count = 20, every = \"50us\" }}]"
        )
    };
    for (write, read, space) in [("16KiB", "4KiB", Space::Request), ("4KiB", "16KiB", Space::Response)] {
        assert_eq!(slow(&text(write, read), None).space, space);
    }
}

#[test]
fn nothing_is_claimed_on_clean_traffic() {
    for speed in [None, Some(100)] {
        let report = report(include_str!("../../examples/scenarios/clean.toml"), speed);
        assert!(report.head.findings.iter().all(|finding| finding.id != "slow"));
        assert!(report.head.slow_flows.iter().all(|flow| flow.lost_ns == 0), "{:?}", report.head.slow_flows);
    }
}

#[test]
fn shares_add_up_in_all_scenarios() {
    for entry in std::fs::read_dir("examples/scenarios").unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        report(&text, None);
        report(&text, Some(100));
    }
}
