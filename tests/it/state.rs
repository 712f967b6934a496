//! An analysis that goes on from the state of another has the report of one analysis, wherever the frames are divided.

use std::{
    net::Ipv4Addr,
    path::{Path, PathBuf},
};

use rdmawire::{
    analyze::{Analysis, Options, StateError, metric::timeline::Timeline},
    capture::Record,
    craft::Packet,
    dissect::Link,
    opcode::{Opcode, Service},
    wire::*,
};

use crate::{
    properties::{Random, tunnel},
    support::{
        trace::{Frame, read},
        traffic::{both_ways, of_every_operation},
    },
};

fn options() -> Options {
    Options { interval_ns: Some(1_000_000), speed_bps: Some(25_000_000_000), ..Options::default() }
}

fn state_of(analysis: &Analysis) -> Vec<u8> {
    let mut state = Vec::new();
    let saved = match analysis.metric::<Timeline>() {
        Some(_) => analysis.save_with::<Timeline>(&mut state),
        None => analysis.save(&mut state),
    };
    saved.expect("memory does not fail");
    state
}

/// The same analysis, from its state.
fn again(analysis: Analysis, options: &Options) -> Analysis {
    let state = state_of(&analysis);
    let resumed = match analysis.metric::<Timeline>() {
        Some(_) => Analysis::resume_with::<Timeline>(options.clone(), &state[..]),
        None => Analysis::resume(options.clone(), &state[..]),
    };
    resumed.unwrap_or_else(|error| panic!("{error}"))
}

/// The frames on interface 0; every third one on interface 1, if there are `two`.
fn records(frames: &[Frame], two: bool) -> impl Iterator<Item = Record<'_>> {
    let on = move |n: usize| (two && n.is_multiple_of(3)) as u16;
    frames.iter().enumerate().map(move |(n, frame)| Record { interface: on(n), ..frame.record() })
}

fn report(analysis: Analysis) -> (String, Option<Timeline>) {
    let (report, metric) = analysis.finish_with();
    (serde_json::to_string(&report).expect("a report is JSON"), metric)
}

/// Where the first difference is, for people.
#[track_caller]
fn assert_same(a: &str, b: &str, what: &str) {
    if a != b {
        let at = a.bytes().zip(b.bytes()).position(|(a, b)| a != b).unwrap_or(a.len().min(b.len()));
        let near = |text: &str| text[at.saturating_sub(200)..(at + 100).min(text.len())].to_owned();
        panic!("{what}, byte {at}:\n{}\n{}", near(a), near(b));
    }
}

/// One analysis of all frames, and one that goes on from its state at each of the cuts.
#[track_caller]
fn assert_cuts_change_nothing(
    frames: &[Frame],
    options: &Options,
    is_cut: &mut dyn FnMut(usize) -> bool,
    what: &str,
) {
    let two = frames.len().is_multiple_of(2);
    let mut whole = Analysis::with(options.clone(), Timeline::default());
    let mut divided = Analysis::with(options.clone(), Timeline::default());
    let mut plain = Analysis::new(options.clone());
    // Where memory is short, what pictures hold is taken off the flows' share.
    let is_short = options.max_memory < Options::default().max_memory;
    let mut unpictured = is_short.then(|| Analysis::new(options.clone()));
    for analysis in [&mut whole, &mut divided].into_iter().chain([&mut plain]).chain(&mut unpictured) {
        analysis.interface(0, "eth0".into(), Some(100_000_000_000));
    }
    let mut cuts = 0;
    for (n, record) in records(frames, two).enumerate() {
        if n == 1 || is_cut(n) {
            divided = again(divided, options);
            plain = again(plain, options);
            cuts += 1;
        }
        whole.push(&record);
        divided.push(&record);
        plain.push(&record);
        unpictured.iter_mut().for_each(|analysis| analysis.push(&record));
    }
    let memory = [whole.memory(), divided.memory()];
    let (whole, pictures) = report(whole);
    let (divided, other_pictures) = report(divided);
    assert_same(&whole, &divided, &format!("{what}, {cuts} cuts"));
    let whole = unpictured.map_or(whole, |analysis| report(analysis).0);
    assert_same(&whole, &report(plain).0, &format!("{what}, {cuts} cuts, without pictures"));
    let lines = |timeline: &Option<Timeline>| {
        format!("{:?}", timeline.as_ref().expect("it was given").lines().collect::<Vec<_>>())
    };
    assert_same(&lines(&pictures), &lines(&other_pictures), &format!("{what}: lines"));
    assert_eq!(memory[0], memory[1], "{what}, {cuts} cuts");
}

fn files() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("pcaps");
    let entries = std::fs::read_dir(dir).expect("the captures are there").flatten();
    let mut all: Vec<_> = entries.map(|entry| entry.path()).collect();
    all.sort();
    all
}

fn captures() -> impl Iterator<Item = (Vec<Frame>, String)> {
    let named = |path: PathBuf| Some((read(&path).ok()?, path.display().to_string()));
    files().into_iter().filter_map(named).filter(|(frames, _)| frames.len() > 1)
}

/// Cuts behind some of the first frames, and at random.
fn some_cuts(frames: usize, random: &mut Random) -> Vec<usize> {
    let mut cuts = vec![1, 2 + random.below(8)];
    cuts.extend((0..10).map(|_| 1 + random.below(frames)));
    cuts
}

#[test]
fn captures_can_be_divided_anywhere() {
    let mut random = Random::new(31);
    let mut all = 0;
    for (frames, what) in captures() {
        let cuts = some_cuts(frames.len(), &mut random);
        let what = format!("{what} at {cuts:?}");
        assert_cuts_change_nothing(&frames, &options(), &mut |n| cuts.contains(&n), &what);
        all += 1;
    }
    assert!(all > 10 || cfg!(not(feature = "compression")), "{all}");
}

#[test]
fn a_cut_may_be_behind_every_frame() {
    for (frames, what) in captures().filter(|(frames, _)| frames.len() <= 400) {
        assert_cuts_change_nothing(&frames, &options(), &mut |_| true, &what);
    }
}

/// Times that step back: frames wait for those before them.
#[test]
fn frames_that_wait_are_in_the_state() {
    let mut random = Random::new(3);
    for (mut frames, what) in captures().take(12) {
        frames.truncate(1500);
        for frame in &mut frames {
            frame.time += random.below(30_000) as i64;
        }
        assert_cuts_change_nothing(&frames, &options(), &mut |_| random.below(40) == 0, &what);
    }
}

/// All ICRCs are wrong: the first frames are held back.
#[test]
fn frames_that_are_held_back_are_in_the_state() {
    for (mut frames, what) in captures().take(6) {
        frames.truncate(40);
        for frame in &mut frames {
            frame.time = 0;
            if let Some(last) = frame.bytes.last_mut() {
                *last ^= 0x55;
            }
        }
        assert_cuts_change_nothing(&frames, &options(), &mut |_| true, &what);
    }
}

#[test]
fn tunnels_and_mirrors_can_be_divided() {
    let mut random = Random::new(4);
    for (mut frames, what) in captures().take(12) {
        frames.truncate(1200);
        let mirrored = frames[0].link == Link::ETHERNET && random.below(2) == 0;
        for (n, frame) in frames.iter_mut().enumerate() {
            let len = frame.bytes.len() as u16;
            let number = n as u32 + (n % 50 == 0) as u32;
            let (protocol, header) = match mirrored {
                true => (IpProtocol::GRE, tunnel::erspan2(1, number)),
                false => (IpProtocol::UDP, tunnel::vxlan(n as u32 & 1, len)),
            };
            frame.bytes = tunnel::frame(protocol, &header, &frame.bytes, len);
            frame.wire_len = frame.bytes.len() as u32;
        }
        assert_cuts_change_nothing(&frames, &options(), &mut |_| random.below(60) == 0, &what);
    }
}

#[test]
fn traffic_of_all_kinds_can_be_divided() {
    let mut random = Random::new(5);
    for turn in 0..12 {
        let service = [Service::Rc, Service::Rc, Service::Xrc, Service::Rd][turn % 4];
        let frames = match turn % 3 {
            0 => of_every_operation(1_000, &mut random),
            _ => both_ways(1_500, service, &mut random),
        };
        let options = Options { max_flows: if turn == 3 { 3 } else { 100 }, ..options() };
        assert_cuts_change_nothing(
            &frames,
            &options,
            &mut |_| random.below(50) == 0,
            &format!("turn {turn}"),
        );
    }
}

/// Timeouts, CNPs, pauses, storms, several taps: all scenarios that are shipped.
#[cfg(feature = "sim")]
#[test]
fn scenarios_can_be_divided() {
    use rdmawire::sim::{Scenario, run};
    let mut random = Random::new(6);
    for entry in std::fs::read_dir("examples/scenarios").unwrap() {
        let path = entry.unwrap().path();
        let run = run(&Scenario::parse(&std::fs::read_to_string(&path).unwrap()).unwrap()).unwrap();
        for tap in 0..run.captures.len() {
            let (mut all, mut frames) = (Vec::new(), run.frames(tap));
            while let Some(frame) = frames.next() {
                let (time, link, wire_len) = (frame.time_ns, frame.link, frame.wire_len);
                all.push(Frame { time, link, wire_len, bytes: frame.bytes.to_vec() });
            }
            let cuts = some_cuts(all.len(), &mut random);
            let what = format!("{}, tap {tap}, at {cuts:?}", path.display());
            assert_cuts_change_nothing(&all, &options(), &mut |n| cuts.contains(&n), &what);
        }
    }
}

/// Many connections that write and are acknowledged, some of them with gaps.
fn many(connections: u32, rounds: u32) -> Vec<Frame> {
    let (a, b) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let (mut frames, mut time) = (Vec::new(), 0);
    for k in 0..rounds {
        for n in 0..connections {
            let psn = Psn(n.wrapping_mul(0x9e37_79b9) >> 8).plus(if n % 7 == 0 { 3 * k } else { k });
            let bth = |opcode, qp| {
                let bth = Bth::default().with_opcode(opcode).with_dest_qp(Qpn(qp));
                bth.with_psn(psn).with_ack_req(true)
            };
            let write = Packet::rocev2(a, b).push(bth(Opcode::RC_WRITE_ONLY, 0x1000 + n));
            let write = write.push(Reth::default().with_dma_len(64)).payload(vec![0; 64]).build();
            let ack = Packet::rocev2(b, a).push(bth(Opcode::RC_ACKNOWLEDGE, 0x2000 + n));
            let ack = ack.push(Aeth::default().with_syndrome(Syndrome::ACK).with_msn(k + 1)).build();
            for bytes in [write, ack] {
                time += 1000 + (n as i64 * 37) % 400;
                frames.push(Frame {
                    time,
                    link: Link::ETHERNET,
                    wire_len: bytes.len() as u32,
                    bytes: bytes.into(),
                });
            }
        }
    }
    frames
}

/// More than 1024 flows: frames are collected into batches.
#[test]
fn batches_can_be_divided() {
    let mut random = Random::new(7);
    let frames = many(1200, 6);
    assert_cuts_change_nothing(&frames, &options(), &mut |_| random.below(1000) == 0, "many flows");
}

/// Memory is short: flows lose detail, and are evicted. They do at the same frames.
#[test]
fn short_memory_can_be_divided() {
    let mut random = Random::new(8);
    let frames = many(600, 12);
    let mut shed = 0;
    for max_memory in [1 << 20, 2 << 20, 4 << 20] {
        let options = Options { max_memory, ..options() };
        let mut analysis = Analysis::new(options.clone());
        records(&frames, false).for_each(|record| analysis.push(&record));
        let capture = analysis.finish().head.capture;
        shed += capture.evicted_flows + capture.flows_without_detail;
        let what = format!("{max_memory} bytes");
        assert_cuts_change_nothing(&frames, &options, &mut |_| random.below(800) == 0, &what);
    }
    assert!(shed > 0);
}

fn small_state() -> Vec<u8> {
    let mut analysis = Analysis::new(options());
    let frames = read(Path::new("pcaps/loss1_rc_write-B-300.pcap")).expect("the capture is there");
    records(&frames[..120], false).for_each(|record| analysis.push(&record));
    state_of(&analysis)
}

#[test]
fn saving_again_changes_nothing() {
    let state = small_state();
    let once = Analysis::resume(options(), &state[..]).expect("it is a state");
    let twice = Analysis::resume(options(), &state_of(&once)[..]).expect("it is a state");
    let (once, twice) = (report(once).0, report(twice).0);
    assert_same(&once, &twice, "a state that was saved again");
    assert!(once.contains("\"packets\":120"));
}

#[test]
fn damage_is_found() {
    let state = small_state();
    assert!(Analysis::resume(options(), &state[..]).is_ok());
    for len in 0..state.len() {
        let error = Analysis::resume(options(), &state[..len]).err();
        assert!(error.is_some(), "{len} bytes of {}", state.len());
    }
    let mut damaged = state.clone();
    for at in 0..state.len() {
        for flip in [1, 0x80, 0xff] {
            damaged[at] ^= flip;
            let error = Analysis::resume(options(), &damaged[..]).err();
            assert!(error.is_some_and(|error| !error.to_string().is_empty()), "byte {at} of {}", state.len());
            damaged[at] ^= flip;
        }
    }
}

fn error(options: Options, state: &[u8]) -> String {
    Analysis::resume(options, state).err().expect("it cannot go on").to_string()
}

#[test]
fn errors_say_what_is_wrong() {
    let state = small_state();
    assert_eq!(error(options(), b""), "not the state of an analysis");
    assert_eq!(error(options(), &[0xd4, 0xc3, 0xb2, 0xa1]), "not the state of an analysis");
    assert_eq!(
        error(options(), &state[..state.len() - 1]),
        "a damaged state: it ends too early: analyze the earlier captures again"
    );
    let mut other = state.clone();
    other[8] += 1;
    assert_eq!(
        error(options(), &other),
        format!(
            "the state of version with format {}, and this is version {}: analyze the earlier captures again",
            other[8],
            env!("CARGO_PKG_VERSION")
        )
    );
    let without = Options { verify_icrc: false, ..options() };
    assert_eq!(
        error(without, &state),
        "the state was made with verify_icrc = true, and now it is false: give the same options, or analyze the earlier \
         captures again"
    );
    let with_pictures = Analysis::resume_with::<Timeline>(options(), &state[..]).err();
    assert!(matches!(with_pictures, Some(StateError::Metric { .. })), "{with_pictures:?}");
}

/// Bounds are no results: they may change.
#[test]
fn bounds_may_change() {
    let frames = many(100, 4);
    let (first, second) = frames.split_at(frames.len() / 2);
    let mut analysis = Analysis::new(options());
    records(first, false).for_each(|record| analysis.push(&record));
    let less = Options { max_memory: 64 << 10, max_flows: 50, ..options() };
    let mut analysis = Analysis::resume(less, &state_of(&analysis)[..]).expect("bounds may change");
    records(second, false).for_each(|record| analysis.push(&record));
    let report = analysis.finish();
    assert_eq!(report.head.capture.packets, frames.len() as u64);
}
