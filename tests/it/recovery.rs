//! Goodput before and after an episode, where the sender's rate is known.

use crate::support::frames::Roce;
use rdmawire::{
    analyze::{Analysis, Options},
    capture::{self, Record, Source, Time},
    opcode::Opcode,
    report::{Episode, Location, Reason, Report, Trigger},
};

const PAYLOAD: usize = 1024;
/// From the tap to the responder and back.
const RTT_NS: i64 = 4_000;

/// A sender that goes back, and what comes back to it, as a tap next to it sees them.
#[derive(Default)]
struct Trace {
    frames: Vec<(i64, Roce)>,
}

impl Trace {
    fn send(&mut self, time: i64, psn: u32) {
        let opcode = Opcode::RC_SEND_ONLY;
        self.frames.push((time, Roce { opcode, psn, payload: PAYLOAD, ..Roce::default() }));
    }

    fn answer(&mut self, time: i64, psn: u32, syndrome: u8) {
        let opcode = Opcode::RC_ACKNOWLEDGE;
        self.frames.push((time, Roce { src: 2, dst: 1, qp: 0x12, opcode, psn, syndrome, ..Roce::default() }));
    }

    /// Packets from this PSN on, one every `gap` from `start` on, each acknowledged. When the next one would be due.
    fn run(&mut self, psns: std::ops::Range<u32>, start: i64, gap: i64) -> i64 {
        let mut time = start;
        for psn in psns {
            self.send(time, psn);
            self.answer(time + RTT_NS, psn, 0);
            time += gap;
        }
        time
    }

    fn analyze(mut self) -> Report {
        self.frames.sort_by_key(|(time, _)| *time);
        let mut analysis = Analysis::new(Options { verify_icrc: false, ..Options::default() });
        for (time, roce) in self.frames {
            let frame = roce.frame();
            let wire_len = frame.len() as u32;
            let time = Time(time);
            analysis.push(&Record { time, link: roce.link(), interface: 0, wire_len, frame: &frame });
        }
        analysis.finish()
    }
}

/// Within a packet in ten, which is where a window begins or ends.
fn is_about(bps: Option<u64>, bytes: usize, gap: i64) -> bool {
    let rate = 8e9 * bytes as f64 / gap as f64;
    bps.is_some_and(|bps| (bps as f64 / rate - 1.0).abs() <= 0.1)
}

/// A packet lost after the tap, asked for with a NAK, and all from it on retransmitted.
fn lost_and_asked_for(gap_after: i64, packets_after: u32) -> Vec<Episode> {
    let mut trace = Trace::default();
    let lost_at = trace.run(0..200, 0, 1_000);
    // Sent until the NAK is there, and thrown away by the responder.
    for n in 0..6 {
        trace.send(lost_at + 1_000 * n, 200 + n as u32);
    }
    trace.answer(lost_at + 1_000 + RTT_NS, 200, 0x60);
    trace.run(200..206 + packets_after, lost_at + 6_000, gap_after);
    trace.analyze().episodes
}

#[test]
fn a_constant_rate_is_the_same_before_and_after() {
    let episodes = lost_and_asked_for(1_000, 200);
    let [episode] = &episodes[..] else { panic!("{episodes:?}") };
    assert_eq!((episode.trigger, episode.location), (Trigger::Nak, Location::Downstream));
    assert!(is_about(episode.goodput_before_bps, PAYLOAD, 1_000), "{episode:?}");
    assert!(is_about(episode.goodput_after_bps, PAYLOAD, 1_000), "{episode:?}");
    assert!(episode.why.is_empty());
}

#[test]
fn a_sender_that_slows_down_shows() {
    let episodes = lost_and_asked_for(4_000, 200);
    let [episode] = &episodes[..] else { panic!("{episodes:?}") };
    assert!(is_about(episode.goodput_before_bps, PAYLOAD, 1_000), "{episode:?}");
    assert!(is_about(episode.goodput_after_bps, PAYLOAD, 4_000), "{episode:?}");
}

#[test]
fn a_flow_that_ends_too_soon_does_not_tell() {
    let episodes = lost_and_asked_for(1_000, 12);
    let [episode] = &episodes[..] else { panic!("{episodes:?}") };
    assert!(is_about(episode.goodput_before_bps, PAYLOAD, 1_000), "{episode:?}");
    assert_eq!(episode.goodput_after_bps, None);
    assert_eq!(episode.why.get("goodput_after_bps"), Some(&Reason::Midstream));
}

#[test]
fn the_silence_before_a_timeout_is_not_counted() {
    let mut trace = Trace::default();
    let lost_at = trace.run(0..200, 0, 1_000);
    // The last packet is lost: nobody asks.
    trace.send(lost_at, 200);
    trace.run(200..400, lost_at + 1_000_000, 2_000);
    let episodes = trace.analyze().episodes;
    let [episode] = &episodes[..] else { panic!("{episodes:?}") };
    assert_eq!(episode.trigger, Trigger::Timeout);
    assert!(is_about(episode.goodput_before_bps, PAYLOAD, 1_000), "{episode:?}");
    assert!(is_about(episode.goodput_after_bps, PAYLOAD, 2_000), "{episode:?}");
}

#[test]
fn without_acknowledgements_there_is_no_round_trip() {
    let mut trace = Trace::default();
    for psn in (0..200).chain(150..300) {
        let time = trace.frames.len() as i64 * 1_000;
        trace.send(time, psn);
    }
    let episodes = trace.analyze().episodes;
    assert!(!episodes.is_empty());
    for episode in episodes {
        assert_eq!((episode.goodput_before_bps, episode.goodput_after_bps), (None, None));
        assert_eq!(episode.why.get("goodput_before_bps"), Some(&Reason::Unpaired));
    }
}

#[test]
fn a_real_senders_rate_is_no_more_than_its_flows_all() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/pcaps/");
    let mut known = 0;
    for entry in std::fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if !path.to_str().is_some_and(|name| name.contains(".pcap")) {
            continue;
        }
        let mut analysis = Analysis::new(Options::default());
        let mut reader = capture::open(&path).unwrap();
        while let Ok(Some(record)) = reader.next() {
            analysis.push(&record);
        }
        let report = analysis.finish();
        for episode in &report.episodes {
            let flow = &report.flows[episode.flow];
            for bps in [episode.goodput_before_bps, episode.goodput_after_bps].into_iter().flatten() {
                // Of a window of ten round trips no more can pass than the flow sent in all.
                let round_trip = flow.latency_ns.ack_rtt.map_or(1, |rtt| rtt.min.max(1));
                let most = 8e9 * flow.payload_bytes as f64 / (10 * round_trip) as f64;
                assert!(bps as f64 <= most, "{}: {episode:?}", path.display());
                known += 1;
            }
        }
    }
    assert!(known > 20, "{known}");
}
