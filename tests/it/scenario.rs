//! Scenarios: what the simulator does, and that its frames are what it says.

use std::collections::BTreeMap;

use crate::judge::{expect::check, parse_many};
use proptest::prelude::*;
use rdmawire::{
    dissect, icrc,
    sim::{
        Cause, Ns, Rate, Run, Scenario, Size, UdpPort,
        label::{Class, Labels, TruthBounds},
        run,
    },
    wire::{Aeth, Bth, GreSequence},
};

fn play(text: &str) -> Run {
    let scenario = Scenario::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    run(&scenario).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn all() -> Vec<(String, Scenario)> {
    parse_many(include_str!("../data/scenarios.txt")).unwrap_or_else(|e| panic!("{e}"))
}

fn named(name: &str) -> Run {
    let (_, scenario) = all().into_iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("{name}"));
    run(&scenario).unwrap()
}

fn classes(labels: &Labels) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for label in &labels.frames {
        *counts.entry(label.class.name()).or_default() += 1;
    }
    counts
}

/// Every frame dissects without a note, has the ICRC it should have and the PSN its transmission has.
fn sound(name: &str, run: &Run, tap: usize) {
    let labels = run.labels(tap).frames;
    let sightings: Vec<_> = run.recorded(tap).collect();
    assert_eq!(labels.len(), sightings.len());
    let rewritten = run.captures[tap].tap.bad_icrc;
    let mut frames = run.frames(tap);
    let (mut n, mut last) = (0, 0);
    while let Some(frame) = frames.next() {
        let d = dissect::dissect(frame.link, frame.bytes, frame.wire_len);
        let label = &labels[n];
        assert!(frame.time_ns >= last, "{name} {}: time goes back", n + 1);
        last = frame.time_ns;
        if frame.bytes.len() == frame.wire_len as usize {
            assert!(d.notes().is_empty(), "{name} frame {}: {:?}", n + 1, d.notes());
        }
        if label.class != Class::Pause && frame.bytes.len() == frame.wire_len as usize {
            let bad = label.class == Class::Corrupt || rewritten;
            let state = if bad { icrc::State::Bad } else { icrc::State::Good };
            assert_eq!(icrc::verify(&d), state, "{name} frame {}: {label:?}", n + 1);
            let t = run.transmission(sightings[n]).unwrap();
            assert_eq!(d.get::<Bth>().unwrap().psn().0, t.psn as u32 & 0xff_ffff);
        }
        n += 1;
    }
    assert_eq!(n, labels.len(), "{name}");
}

fn all_done(name: &str, run: &Run) {
    let open = run.messages.iter().filter(|message| message.completed.is_none()).count();
    assert_eq!(open, 0, "{name}: {open} of {} messages are not complete", run.messages.len());
}

#[test]
fn every_operation_goes_clean() {
    for op in ["write", "write_imm", "send", "send_imm", "send_inv", "read", "compare_swap", "fetch_add"] {
        let run = play(&format!(
            "[[connection]]\noperations = [{{ op = \"{op}\", size = 5000, count = 20 }}, {{ op = \"write\", size = 1 }}]"
        ));
        all_done(op, &run);
        let counts = classes(&run.labels(0));
        assert!(counts.keys().all(|class| ["new", "ack"].contains(class)), "{op}: {counts:?}");
    }
}

#[test]
fn all_scenarios_are_sound_and_the_clean_ones_clean() {
    let text = include_str!("../data/scenarios.txt");
    for (name, scenario) in all() {
        let run = run(&scenario).unwrap_or_else(|e| panic!("{name}: {e}"));
        let labels = run.labels(0);
        sound(&name, &run, 0);
        let comment =
            text.split(&format!("### {name}\n")).nth(1).and_then(|text| text.lines().next()).unwrap();
        let gives_up = ["rnr_exhausted", "remote_access_error", "uc_gap"].contains(&name.as_str());
        if !gives_up {
            all_done(&name, &run);
        }
        if comment.starts_with("# clean") {
            let odd = |class| matches!(class, Class::Retransmission | Class::LateOriginal | Class::Corrupt);
            assert_eq!(labels.frames.iter().filter(|label| odd(label.class)).count(), 0, "{name}");
            for truth in &labels.flows {
                for space in [&truth.requests, &truth.responses] {
                    assert_eq!(
                        (space.upstream.most, space.downstream, space.ack_path.most),
                        (0, 0, 0),
                        "{name}"
                    );
                }
            }
        }
        // Each frame is in one flow and one of its spaces, or neither.
        let spaces: u64 =
            labels.flows.iter().map(|f| f.requests.packets + f.responses.packets + f.cnps).sum();
        let others = labels.frames.iter().filter(|label| label.class == Class::Pause).count() as u64;
        let twice =
            labels.frames.iter().filter(|l| l.space.is_none() && l.class == Class::CaptureDuplicate).count();
        assert_eq!(spaces + others + twice as u64, labels.frames.len() as u64, "{name}");
        // The exact truth satisfies the expectation.
        let mut exact = run.expect(0);
        settle(&mut exact);
        assert_eq!(check(&run.expect(0), &exact), [], "{name}");
    }
}

/// An expectation as a report that says no more than it has to.
fn settle(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(members) if members.len() == 2 && members.contains_key("least") => {
            *value = members["most"].clone();
        }
        serde_json::Value::Object(members) => members.values_mut().for_each(settle),
        serde_json::Value::Array(items) => items.iter_mut().for_each(settle),
        _ => {}
    }
}

#[test]
fn the_shipped_scenarios_play() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/scenarios");
    let mut count = 0;
    for file in std::fs::read_dir(directory).unwrap().flatten() {
        let text = std::fs::read_to_string(file.path()).unwrap();
        let name = file.path().display().to_string();
        assert!(text.starts_with("# "), "{name}: its first line says what it shows");
        let run = run(&Scenario::parse(&text).unwrap_or_else(|e| panic!("{name}: {e}"))).unwrap();
        all_done(&name, &run);
        for tap in 0..run.captures.len() {
            sound(&name, &run, tap);
        }
        count += 1;
    }
    assert!(count >= 12);
}

/// The causes of a flow's episodes, in order.
fn causes(run: &Run) -> Vec<Cause> {
    run.episodes.iter().map(|episode| episode.cause).collect()
}

#[test]
fn go_back_n_after_a_loss() {
    let run = named("loss_upstream");
    let labels = run.labels(0);
    assert_eq!(causes(&run), [Cause::Nak]);
    let truth = &labels.flows[0].requests;
    assert_eq!((truth.upstream, truth.downstream), (TruthBounds { least: 1, most: 1 }, 0));
    assert_eq!(labels.flows[1].naks[0], 1);
    // The gap, then silence until the missing one comes first of those retransmitted.
    let gap = labels.frames.iter().position(|label| label.class == Class::NewAfterGap).unwrap();
    let again: Vec<_> = labels.frames.iter().skip_while(|l| !l.is_retransmission()).collect();
    assert_eq!(gap, 76);
    assert_eq!((again[0].ordinal, again[0].original, again[1].original), (2, None, Some(77)));
    assert!(!again[0].needless);

    let run = named("loss_downstream");
    let labels = run.labels(0);
    let truth = &labels.flows[0].requests;
    assert_eq!((truth.upstream.most, truth.downstream, truth.gap_psns), (0, 1, 0));
    assert!(
        labels.frames[76].lost_downstream && labels.frames.iter().filter(|l| l.lost_downstream).count() == 1
    );
}

#[test]
fn one_nak_a_gap_and_a_lost_retransmission_waits_for_the_timer() {
    let run = named("loss_of_retransmission");
    assert_eq!(causes(&run), [Cause::Nak, Cause::Timeout]);
    let t = run.labels(0);
    assert_eq!((t.flows[1].naks[0], t.flows[0].requests.upstream.most), (1, 2));
    let [nak, timeout] = [run.episodes[0].at, run.episodes[1].at];
    // 4.096 us * 2^8.
    assert!((1_048_576..1_060_000).contains(&(timeout - nak)), "{}", timeout - nak);

    let run = named("two_losses_downstream");
    assert_eq!(run.labels(0).flows[1].naks[0] as usize, causes(&run).len());
}

#[test]
fn tails_wait_for_the_timer_and_what_never_came_is_hidden() {
    let run = named("tail_loss_upstream");
    assert_eq!(causes(&run), [Cause::Timeout, Cause::Timeout]);
    let labels = run.labels(0);
    let truth = &labels.flows[0].requests;
    // Everything unacknowledged again; of that the packet that never came looks new.
    assert_eq!(truth.retransmits, TruthBounds { least: 38, most: 40 });
    assert_eq!(truth.gap_psns, 0);
}

#[test]
fn lost_acknowledgements_make_spurious_retransmissions() {
    for (name, spurious) in [("ack_lost_before_tap", false), ("ack_lost_after_tap", true)] {
        let run = named(name);
        let labels = run.labels(0);
        assert_eq!(causes(&run), [Cause::Timeout], "{name}");
        let again: Vec<_> = labels.frames.iter().filter(|label| label.is_retransmission()).collect();
        assert!(again.iter().all(|label| label.needless && label.spurious == spurious), "{name}");
        let truth = &labels.flows[0].requests;
        assert_eq!((truth.ack_path, truth.downstream), (TruthBounds { least: 1, most: 1 }, 0), "{name}");
    }
}

#[test]
fn receiver_not_ready() {
    let run = named("rnr_once");
    assert_eq!(causes(&run), [Cause::Rnr]);
    let labels = run.labels(0);
    let frames: Vec<_> = labels.frames.iter().map(|label| label.class).collect();
    let rnr = frames.iter().position(|class| *class == Class::Rnr).unwrap();
    let nak = frames.iter().position(|class| *class == Class::Nak).unwrap();
    let sightings: Vec<_> = run.recorded(0).collect();
    let psn = |i: usize| run.transmission(sightings[i]).unwrap().psn;
    // Soft-RoCE's trailing sequence NAK has the same PSN.
    assert!(nak > rnr && psn(nak) == psn(rnr));
    let again = frames.iter().position(|class| *class == Class::Retransmission).unwrap();
    // Timer code 12: 0.64 ms, and the road.
    let waited = sightings[again].time - sightings[rnr].time;
    assert!((640_000..650_000).contains(&waited), "{waited}");
    assert_eq!(psn(again), psn(rnr));

    let run = named("rnr_exhausted");
    assert_eq!(causes(&run), [Cause::Rnr; 3]);
    assert!(run.messages.iter().any(|message| message.completed.is_none()));
}

#[test]
fn reads_are_asked_again_from_the_middle() {
    for (name, opcode) in [("read_response_lost_downstream", 0x0e), ("read_response_lost_first_mode", 0x0d)] {
        let run = named(name);
        assert_eq!(causes(&run), [Cause::ImpliedNak], "{name}");
        let labels = run.labels(0);
        let first = labels.frames.iter().position(|label| label.is_retransmission()).unwrap();
        let sightings: Vec<_> = run.recorded(0).collect();
        let t = run.transmission(sightings[first]).unwrap();
        // The 50th response is the tenth of the third message of twenty.
        assert_eq!((t.offset, t.count, t.opcode.code), (9 * 1024, 11, 0x0c), "{name}");
        let response =
            labels.frames.iter().zip(&sightings).find(|(label, s)| {
                label.is_retransmission() && run.transmission(s).unwrap().opcode.code != 0x0c
            });
        assert_eq!(run.transmission(response.unwrap().1).unwrap().opcode.code, opcode, "{name}");
    }
}

#[test]
fn reordering_makes_naks_without_loss() {
    let run = named("reorder_spurious_nak");
    let labels = run.labels(0);
    let truth = &labels.flows[0].requests;
    assert!(truth.out_of_order > 0 && labels.flows[1].naks[0] >= truth.out_of_order);
    assert_eq!((truth.upstream.most, truth.downstream), (0, 0));
    // Tolerated, there is no NAK at all.
    for name in ["reorder_1_tolerated", "reorder_8_tolerated", "reorder_64_tolerated"] {
        let labels = named(name).labels(0);
        assert!(labels.flows[0].requests.out_of_order > 10 && labels.flows[1].naks[0] == 0, "{name}");
    }
}

#[test]
fn selective_repeat_sends_only_what_is_missing() {
    let run = named("selective");
    let labels = run.labels(0);
    let truth = &labels.flows[0].requests;
    let lost = truth.upstream.most + truth.downstream;
    assert!(lost > 20 && truth.retransmits.most <= lost + truth.timeout.most, "{lost}: {truth:?}");
}

#[test]
fn taps_that_lose_and_repeat() {
    let run = named("span_duplicates_ttl");
    let labels = run.labels(0);
    let twice = labels.frames.iter().filter(|label| label.class == Class::CaptureDuplicate).count();
    assert!(twice > 400 && twice * 3 > labels.frames.len() - 400, "{twice}");

    let run = named("erspan_gaps");
    let (mut frames, mut last, mut missing) = (run.frames(0), None, 0);
    while let Some(frame) = frames.next() {
        let d = dissect::dissect(frame.link, frame.bytes, frame.wire_len);
        let number = d.get::<GreSequence>().unwrap().sequence_number();
        missing += last.map_or(0, |last| number - last - 1);
        last = Some(number);
    }
    let lost = run.captures[0].sightings.iter().filter(|sighting| !sighting.recorded).count();
    assert!(lost > 10 && missing as usize <= lost && missing as usize >= lost - 3, "{missing} of {lost}");

    let labels = named("one_of_four_paths").labels(0);
    let truth = &labels.flows[0].requests;
    assert!(truth.gap_psns > 1300 && truth.packets < 700 && truth.upstream.most == 0);
}

#[test]
fn notifications_are_paced() {
    for (name, scope) in [("cnp_per_qp", 4), ("cnp_per_ip_pair", 1), ("cnp_per_port", 1)] {
        let run = named(name);
        let labels = run.labels(0);
        let mut times: Vec<u64> = labels
            .frames
            .iter()
            .zip(run.recorded(0))
            .filter(|(label, _)| label.class == Class::Cnp)
            .map(|(_, sighting)| sighting.time)
            .collect();
        times.sort_unstable();
        let span = times.last().unwrap() - times[0];
        let most = scope * (span / 50_000 + 1);
        assert!(
            times.len() as u64 <= most && times.len() as u64 * 2 > most,
            "{name}: {} of {most}",
            times.len()
        );
    }
    assert_eq!(named("cnp_on_nak").labels(0).flows[1].cnps, 1);
}

#[test]
fn msn_counts_messages() {
    let run = play(
        "[[connection]]\noperations = [{ op = \"write\", size = 3000, count = 7 }, { op = \"read\", size = 10 }]",
    );
    let (mut frames, mut msns) = (run.frames(0), Vec::new());
    while let Some(frame) = frames.next() {
        let d = dissect::dissect(frame.link, frame.bytes, frame.wire_len);
        msns.extend(d.get::<Aeth>().map(|aeth| aeth.msn()));
    }
    assert_eq!(msns, [1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn the_same_seed_gives_the_same_capture() {
    let (_, scenario) = all().into_iter().find(|(name, _)| name == "random_everything").unwrap();
    let bytes = |seed| {
        let run = run(&Scenario { seed, ..scenario.clone() }).unwrap();
        let (mut frames, mut crc) = (run.frames(0), crc32fast::Hasher::new());
        while let Some(frame) = frames.next() {
            crc.update(&frame.time_ns.to_le_bytes());
            crc.update(frame.bytes);
        }
        crc.finalize()
    };
    assert_eq!(bytes(3), bytes(3));
    assert_ne!(bytes(3), bytes(4));
}

#[test]
fn errors_say_where_and_what_was_expected() {
    let wrong = |text: &str| match Scenario::parse(text) {
        Err(error) => error.to_string(),
        Ok(scenario) => run(&scenario).map(|_| ()).unwrap_err().to_string(),
    };
    for (text, parts) in [
        ("seed = 1\n[[connection]]\nspeed = 3\n", ["line 3", "unknown field `speed`, expected one of"]),
        ("[[connection]]\nack_delay = \"5 miles\"\n", ["line 2", "expected a duration like"]),
        ("[[connection]\n", ["line 1", "expected `]`"]),
        ("[[connection]]\nmtu = 1000\n", ["connection \"1\": mtu", "expected 256, 512"]),
        ("[[connection]]\nto = \"z\"\n", ["connection \"1\"", "no host is called \"z\""]),
        (
            "[[connection]]\n[[event]]\ndo = \"drop\"\nconnection = \"x\"\n",
            ["event 1", "no connection is called"],
        ),
        (
            "[[connection]]\n[[event]]\ndo = \"drop\"\nopcode = \"rc-fly\"\n",
            ["event 1", "expected a name like"],
        ),
        ("[[connection]]\n[[event]]\ndo = \"explode\"\n", ["line 3", "expected one of `drop`"]),
        ("[[segment]]\nright = { drop = 1.5 }\n", ["segment 1", "expected a share from 0 to 1"]),
        ("[[tap]]\nafter = 9\n", ["tap: after = 9", "expected at most 2"]),
        (
            "limit = 10\n[[connection]]\noperations = [{ op = \"write\", size = \"1MiB\" }]\n",
            ["more than 10", "limit"],
        ),
        ("[[segment]]\ndelay = \"9999999999s\"\n", ["line 2", "expected a duration"]),
    ] {
        let message = wrong(text);
        assert!(
            parts.iter().all(|part| message.contains(part)) && !message.contains('\n'),
            "{text}: {message}"
        );
    }
}

/// Whatever goes wrong on the way: nothing panics, everything ends, the sum is right, all that can be done is done.
fn any_road() -> impl Strategy<Value = String> {
    let share = || (0u32..40).prop_map(|n| n as f64 / 1000.0);
    let faults = move || {
        (share(), share(), share(), share(), 1u32..20).prop_map(|(drop, corrupt, duplicate, reorder, depth)| {
            format!("{{ drop = {drop}, corrupt = {corrupt}, duplicate = {duplicate}, reorder = {reorder}, reorder_depth = {depth} }}")
        })
    };
    let segment = move || {
        (faults(), faults())
            .prop_map(|(r, l)| format!("[[segment]]\ndelay = \"3us\"\nright = {r}\nleft = {l}\n"))
    };
    let verb = prop::sample::select(vec![
        "write",
        "write_imm",
        "send",
        "send_imm",
        "send_inv",
        "read",
        "compare_swap",
        "fetch_add",
    ]);
    let operation = (verb, 0u32..30_000, 1u32..12, prop::sample::select(vec!["from", "to"])).prop_map(
        |(op, size, count, by)| format!("{{ op = \"{op}\", size = {size}, count = {count}, by = \"{by}\" }}"),
    );
    (
        prop::collection::vec(operation, 1..5),
        segment(),
        segment(),
        prop::sample::select(vec!["go_back_n", "selective"]),
        (any::<u64>(), 1u32..200, 1u32..5, 1u32..20, 0u32..0x1000000, prop::sample::select(vec![256, 1024, 4096])),
        (0u32..30, any::<bool>(), prop::sample::select(vec!["middle", "first"])),
    )
        .prop_map(|(operations, one, two, recovery, (seed, window, copies, ack_every, psn, mtu), (lag, trailing, partial))| {
            format!(
                "seed = {}\n[[connection]]\nretry = 255\ntimeout = 6\ncopies = {copies}\nwindow = {window}\nmtu = {mtu}\npsn = [{psn}, {}]\n\
                 ack_every = {ack_every}\nnak_lag = {lag}\nrnr_trailing_nak = {trailing}\npartial_read = \"{partial}\"\n\
                 recovery = \"{recovery}\"\noperations = [{}]\n{one}{two}[[event]]\ndo = \"rnr\"\nmessage = 2\ntimes = 2\n",
                seed >> 1,
                0xffffff - psn,
                operations.join(", ")
            )
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn everything_arrives_in_the_end(text in any_road()) {
        let run = play(&text);
        all_done(&text, &run);
        sound(&text, &run, 0);
        let labels = run.labels(0);
        for truth in &labels.flows {
            for space in [&truth.requests, &truth.responses] {
                prop_assert!(space.retransmits.least <= space.retransmits.most);
                prop_assert!(space.upstream.least <= space.upstream.most);
            }
        }
        // Nothing is sent twice without a reason.
        for t in &run.transmissions {
            prop_assert_eq!(t.ordinal > 1, t.cause != Cause::First, "{:?}", t);
        }
    }
}

#[test]
fn values_have_units() {
    assert_eq!("1.5ms".parse(), Ok(Ns(1_500_000)));
    assert_eq!("400G".parse(), Ok(Rate(400_000_000_000)));
    assert_eq!("64KiB".parse(), Ok(Size(65_536)));
    assert_eq!("spray:4".parse(), Ok(UdpPort::Spray(4)));
    assert!("10".parse::<Ns>().is_err() && "-1us".parse::<Ns>().is_err() && "1e10s".parse::<Ns>().is_err());
    assert!("0G".parse::<Rate>().is_err() && "spray:0".parse::<UdpPort>().is_err());
}
