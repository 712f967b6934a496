//! Microbursts, against scenarios whose truth is known.

use rdmawire::{
    analyze::{Analysis, Options},
    capture::{Record, Time},
    report::{BurstEffect, Microbursts, Reason, Report},
    sim::{self, Scenario},
};

/// 100 Gbit/s.
const SPEED: u64 = 100_000_000_000;

/// What the simulator put on the wire at the tap, packet by packet: time, receiver, sender, bytes of the frame.
struct Played {
    report: Report,
    packets: Vec<(i64, u64)>,
}

fn play(text: &str, options: Options) -> Played {
    let run = sim::run(&Scenario::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"))).unwrap();
    let mut analysis = Analysis::new(options);
    let (mut frames, mut packets) = (run.frames(0), Vec::new());
    while let Some(frame) = frames.next() {
        let (time, link, wire_len) = (Time(frame.time_ns), frame.link, frame.wire_len);
        // From left to right: to 10.1.9.9. Preamble, check sequence and gap are not in the frame.
        if frame.bytes.get(30..34) == Some(&[10, 1, 9, 9]) {
            packets.push((frame.time_ns, u64::from(wire_len) + 24));
        }
        analysis.push(&Record { time, link, interface: 0, wire_len, frame: frame.bytes });
    }
    Played { report: analysis.finish(), packets }
}

fn at_speed() -> Options {
    Options { speed_bps: Some(SPEED), ..Options::default() }
}

/// So many senders that each send a message of so many KiB every 5 ms, ten times, at so many Gbit/s. Their packets come in turns.
fn bursts(senders: usize, kib: usize, gbps: usize, more: &str) -> String {
    let hosts: String = (1..=senders)
        .map(|n| format!("[[host]]\nname = \"h{n}\"\naddress = \"10.1.0.{n}\"\nside = \"left\"\n"))
        .collect();
    let connections: String = (1..=senders)
        .map(|n| {
            let start = n * 1078 * 8 / gbps / senders;
            format!(
                "[[connection]]\nfrom = \"h{n}\"\nto = \"sink\"\nrate = \"{gbps}G\"\nmtu = 1024\nwindow = 4000\nstart = {start}\n\
                 operations = [{{ op = \"write\", size = \"{kib}KiB\", count = 10, every = \"5ms\" }}]\n"
            )
        })
        .collect();
    hosts + "[[host]]\nname = \"sink\"\naddress = \"10.1.9.9\"\nside = \"right\"\n" + &connections + more
}

fn is_within(found: u64, truth: u64, share: f64) -> bool {
    found.abs_diff(truth) as f64 <= truth as f64 * share
}

/// Trains of packets with pauses of more than 100 µs between them: first packet, last packet, bytes.
fn trains(packets: &[(i64, u64)]) -> Vec<(i64, i64, u64)> {
    let of = |train: &[(i64, u64)]| {
        (train[0].0, train[train.len() - 1].0, train.iter().map(|(_, bytes)| bytes).sum::<u64>())
    };
    packets.chunk_by(|a, b| b.0 - a.0 <= 100_000).map(of).collect()
}

/// The most bytes in a window of this length, exactly: packet by packet.
fn peak(packets: &[(i64, u64)], window: i64) -> u64 {
    let (mut from, mut sum, mut most) = (0, 0, 0);
    for &(time, bytes) in packets {
        sum += bytes;
        while packets[from].0 <= time - window {
            sum -= packets[from].1;
            from += 1;
        }
        most = most.max(sum);
    }
    (most as u128 * 8_000_000_000 / window as u128) as u64
}

#[test]
fn bursts_of_2_to_64_senders() {
    // Senders, KiB of a message, Gbit/s of each.
    for (senders, kib, gbps) in [(2, 256, 40), (8, 64, 10), (16, 64, 10), (64, 8, 2), (1, 512, 80)] {
        let name = format!("{senders} senders, {kib} KiB, {gbps} Gbit/s");
        let Played { report, packets } = play(&bursts(senders, kib, gbps, ""), at_speed());
        let all = &report.head.microbursts;
        let truth = trains(&packets);
        assert_eq!(truth.len(), 10, "{name}");
        assert_eq!(
            (all.count, all.other_bursts, all.followed),
            (Some(10), Some(0), Some(0)),
            "{name}: {all:?}"
        );
        let mut bursts = all.bursts.clone();
        bursts.sort_by_key(|burst| burst.start_ns);
        for (burst, &(first, last, bytes)) in bursts.iter().zip(&truth) {
            assert_eq!((&*burst.receiver, burst.start_ns), ("10.1.9.9", first), "{name}: {burst:?}");
            assert!(
                is_within(burst.duration_ns, (last - first) as u64, 0.02),
                "{name}: {burst:?} {}",
                last - first
            );
            assert!(is_within(burst.bytes, bytes, 0.02), "{name}: {burst:?} {bytes}");
            assert_eq!((burst.senders, burst.flows), (senders as u64, senders as u64), "{name}: {burst:?}");
            let rate = (senders * gbps) as u64 * 1_000_000_000;
            assert!(is_within(burst.peak_10us_bps, rate, 0.02), "{name}: {burst:?}");
            assert!(is_within(burst.peak_1ms_bps, peak(&packets, 1_000_000), 0.02), "{name}: {burst:?}");
            let most = burst.largest_senders.iter().map(|sender| sender.bytes).max().unwrap();
            assert!(is_within(most, bytes / senders as u64, 0.02), "{name}: {burst:?}");
            assert_eq!(burst.largest_senders.len(), senders.min(8), "{name}");
        }
        assert!(!report.head.findings.iter().any(|finding| finding.id == "congestion.microburst"), "{name}");
        let peaks = all.receivers.iter().find(|peaks| peaks.receiver == "10.1.9.9").unwrap();
        assert_eq!(peaks.bursts, Some(10), "{name}");
        let most = peaks.peak_100us_bps.unwrap();
        assert!(is_within(most, peak(&packets, 100_000), 0.02), "{name}: {most} {}", peak(&packets, 100_000));
    }
}

/// Runs of packets change nothing.
#[test]
fn it_is_the_same_packet_by_packet() {
    for (senders, kib, gbps) in [(2, 256, 40), (16, 64, 10), (3, 100, 7)] {
        let text = bursts(senders, kib, gbps, "[[segment]]\nright = { mark = 0.01 }\n[[segment]]\n");
        let [fast, slow] = [false, true]
            .map(|reference| play(&text, Options { reference, ..at_speed() }).report.head.microbursts);
        assert_eq!(fast, slow, "{senders}");
    }
}

fn of(text: &str, options: Options) -> Microbursts {
    play(text, options).report.head.microbursts
}

#[test]
fn what_is_no_microburst() {
    // A third of the link's speed is no burst; two milliseconds at 80 % are too long; in a short capture the mean is high.
    let slow = of(&bursts(2, 256, 15, ""), at_speed());
    assert_eq!((slow.count, slow.other_bursts), (Some(0), Some(0)), "{slow:?}");
    let long = of(&bursts(1, 20_480, 80, ""), at_speed());
    assert_eq!((long.count, long.other_bursts), (Some(0), Some(10)), "{long:?}");
    assert!(long.bursts.is_empty());
    let busy = of(&bursts(2, 256, 40, "").replace("5ms", "70us"), at_speed());
    assert_eq!(busy.count, Some(0), "{busy:?}");
    // Peaks are known in all cases.
    let peaks = slow.receivers.iter().find(|peaks| peaks.receiver == "10.1.9.9").unwrap();
    assert!(is_within(peaks.peak_10us_bps.unwrap(), 30_000_000_000, 0.02), "{peaks:?}");
    assert_eq!(peaks.peak_ratio.map(|ratio| (ratio * 100.0).round()), Some(30.0));
}

#[test]
fn without_a_speed_and_with_a_coarse_clock() {
    let text = bursts(2, 256, 40, "");
    let unknown = of(&text, Options::default());
    assert_eq!((unknown.count, unknown.why.get("count")), (None, Some(&Reason::UnknownSpeed)));
    assert_eq!(unknown.why.get("peak_10us_bps"), Some(&Reason::UnknownSpeed));
    let to_sink =
        |all: &Microbursts| all.receivers.iter().find(|peaks| peaks.receiver == "10.1.9.9").unwrap().clone();
    let (peaks, known) = (to_sink(&unknown), to_sink(&of(&text, at_speed())));
    assert_eq!(
        (peaks.peak_10us_bps, peaks.peak_1ms_bps, peaks.peak_ratio, peaks.bursts),
        (None, None, None, None)
    );
    // Nothing but windows needs a speed.
    assert!(known.peak_10us_bps.is_some() && peaks.wire_bytes > 0);
    assert_eq!((peaks.wire_bytes, peaks.mean_bps), (known.wire_bytes, known.mean_bps));
    let coarse = of(&format!("{text}[[tap]]\nresolution = \"1ms\"\n"), at_speed());
    assert_eq!((coarse.count, coarse.why.get("count")), (None, Some(&Reason::CoarseTimes)));
    assert!(
        coarse.receivers.iter().all(|peaks| peaks.peak_10us_bps.is_none() && peaks.peak_1ms_bps.is_none())
    );
    // Microseconds are enough.
    let micro = of(&format!("{text}[[tap]]\nresolution = \"1us\"\n"), at_speed());
    assert_eq!(micro.count, Some(10), "{micro:?}");
}

#[test]
fn what_came_of_them() {
    let finding =
        |report: &Report| report.head.findings.iter().find(|f| f.id == "congestion.microburst").cloned();
    let marked =
        play(&bursts(2, 256, 40, "[[segment]]\nright = { mark = 0.05 }\n[[segment]]\n"), at_speed()).report;
    let all = &marked.head.microbursts;
    assert_eq!((all.count, all.followed), (Some(10), Some(10)), "{all:?}");
    let marks: u64 = all.bursts.iter().map(|burst| burst.followed_by[&BurstEffect::Mark]).sum();
    assert_eq!(marks, marked.head.congestion.ce_packets);
    assert_eq!(all.followed_by[&BurstEffect::Cnp], 10);
    assert!(
        finding(&marked).is_some_and(|finding| finding.text.contains("10 of 10 microbursts")),
        "{:?}",
        finding(&marked)
    );
    let lossy = "[[event]]\ndo = \"drop\"\npacket = 300\nwhere = \"after\"\n";
    let lossy = play(&bursts(2, 256, 40, lossy).replace("5ms", "20ms"), at_speed()).report;
    assert_eq!(
        lossy.head.microbursts.followed_by.get(&BurstEffect::Loss),
        Some(&1),
        "{:?}",
        lossy.head.microbursts
    );
    let pause = "[[pause]]\nfrom = \"right\"\npriority = 3\nat = \"5010us\"\nhold = \"10us\"\n";
    let paused = play(&bursts(2, 256, 40, pause), at_speed()).report;
    assert_eq!(
        paused.head.microbursts.followed_by.get(&BurstEffect::Pause),
        Some(&1),
        "{:?}",
        paused.head.microbursts
    );
}
