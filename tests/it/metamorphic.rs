//! What must not change an analysis, or only in one way: all PSNs moved, every frame recorded twice, frames cut, time
//! shifted, a capture in two files, packets that the capture lost. On real captures, with random choices.

use std::path::Path;

use proptest::prelude::*;
use rdmawire::{
    analyze::{Analysis, Options},
    capture::{Record, Time},
    craft::Packet,
    dissect::dissect,
    report::{Report, Service},
    wire::{Bth, Psn},
};
use serde_json::Value;

use crate::support::trace::{self, Frame};

fn read(path: &str) -> Vec<Frame> {
    trace::read(Path::new(path)).unwrap()
}

fn analyze(frames: &[Frame]) -> Report {
    let mut analysis = Analysis::new(Options::default());
    for frame in frames {
        analysis.push(&frame.record());
    }
    analysis.finish()
}

/// The report without these members, wherever they are.
fn without(report: &Report, names: &[&str]) -> Value {
    fn strip(value: &mut Value, names: &[&str]) {
        match value {
            Value::Object(members) => {
                members.retain(|name, _| !names.contains(&name.as_str()));
                members.values_mut().for_each(|value| strip(value, names));
            }
            Value::Array(values) => values.iter_mut().for_each(|value| strip(value, names)),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(report).unwrap();
    strip(&mut value, names);
    value
}

/// Captures with losses, READs, reordering, both directions; small enough to be read often.
const SOME: [&str; 4] = [
    "pcaps/loss1_rc_write-B-300.pcap",
    "pcaps/rtt_delay10-B.pcap.zst",
    "pcaps/pingpong_clean-A.pcap.zst",
    "pcaps/rc_atomic_clean-A.pcap.zst",
];
const LOSSY: [&str; 2] = ["pcaps/loss1_rc_read-B.pcap.zst", "pcaps/loss1_both_rc_write-A.pcap.zst"];
const CLEAN: [&str; 3] =
    ["pcaps/rc_write_clean-A.pcap.zst", "pcaps/rc_send_clean-A.pcap.zst", "pcaps/rc_read_clean-A.pcap.zst"];

fn move_psns(frames: &[Frame], by: u32) -> Vec<Frame> {
    let mut moved = frames.to_vec();
    for frame in &mut moved {
        let d = dissect(frame.link, &frame.bytes, frame.wire_len);
        // Datagrams have PSNs of their own, and CM tells of them in its messages.
        if d.opcode().is_some_and(|opcode| opcode.code < 0x60) {
            let psn = |bth: Bth| bth.with_psn(Psn((bth.psn().0 + by) & 0xff_ffff));
            frame.bytes = Packet::from(&d).edit(psn).build().to_vec();
        }
    }
    moved
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_constant_added_to_all_psns_changes_nothing(by in 0u32..1 << 24, which in 0..SOME.len()) {
        let frames = read(SOME[which]);
        let names = ["psn", "lost_psn"];
        prop_assert_eq!(without(&analyze(&frames), &names), without(&analyze(&move_psns(&frames, by)), &names));
    }

    #[test]
    fn shifted_time_changes_nothing_but_time(by in -1_000_000_000_000i64..1_000_000_000_000, which in 0..SOME.len()) {
        let frames = read(SOME[which]);
        let mut shifted = frames.clone();
        shifted.iter_mut().for_each(|frame| frame.time += by);
        let times = ["first_ns", "last_ns", "start_ns", "since_ns", "closed_ns"];
        let names = [&times[..], &["timestamp_resolution_ns", "limitations", "id"]].concat();
        prop_assert_eq!(without(&analyze(&frames), &names), without(&analyze(&shifted), &names));
    }

    #[test]
    fn packets_that_the_capture_lost_are_no_loss_of_the_network(seed in any::<u64>(), which in 0..CLEAN.len()) {
        let mut state = seed | 1;
        let mut frames = read(CLEAN[which]);
        frames.retain(|_| {
            // xorshift; one in 64 is lost.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % 64 != 0
        });
        let report = analyze(&frames);
        for flow in &report.flows {
            for stream in [&flow.requests, &flow.responses] {
                for bounds in [stream.losses.upstream, stream.losses.downstream, stream.losses.ack_path] {
                    prop_assert_eq!(bounds.map_or(0, |[least, _]| least), 0, "{} {:#x}", &flow.src, flow.dest_qp);
                }
                prop_assert_eq!((stream.retransmits, stream.out_of_order), (0, 0));
            }
        }
    }
}

#[test]
fn moved_psns_change_nothing_where_packets_are_lost() {
    for path in LOSSY {
        let frames = read(path);
        // The middle of the capture comes to lie at the wrap.
        let moved = move_psns(&frames, 0x7f_fff0);
        let names = ["psn", "lost_psn"];
        assert_eq!(without(&analyze(&frames), &names), without(&analyze(&moved), &names), "{path}");
    }
}

#[test]
fn every_frame_twice_changes_only_capture_duplicates() {
    for path in SOME.iter().chain(&LOSSY) {
        let frames = read(path);
        let twice: Vec<Frame> = frames
            .iter()
            .flat_map(|frame| {
                let copy = Frame { time: frame.time + 300, ..frame.clone() };
                [frame.clone(), copy]
            })
            .collect();
        let (once, twice) = (analyze(&frames), analyze(&twice));
        assert_eq!(once.flows.len(), twice.flows.len());
        for (a, b) in once.flows.iter().zip(&twice.flows) {
            let who = format!("{path} {} {:#x}", a.src, a.dest_qp);
            if a.service == Service::Ud {
                continue;
            }
            assert_eq!(b.packets, 2 * a.packets, "{who}");
            for (a, b) in [(&a.requests, &b.requests), (&a.responses, &b.responses)] {
                assert_eq!(b.capture_duplicates, a.packets, "{who}");
                assert_eq!(b.retransmits, a.retransmits, "{who}");
                assert_eq!(b.out_of_order, a.out_of_order, "{who}");
                assert_eq!(b.gap_psns, a.gap_psns, "{who}");
                assert_eq!(b.losses.upstream.unwrap()[0], a.losses.upstream.unwrap()[0], "{who}");
            }
            assert_eq!(a.goodput_bytes, b.goodput_bytes, "{who}");
        }
    }
}

#[test]
fn cutting_changes_only_what_needs_the_whole_frame() {
    for path in SOME.iter().chain(&LOSSY) {
        let frames = read(path);
        let mut cut = frames.clone();
        cut.iter_mut().for_each(|frame| frame.bytes.truncate(96));
        let names = ["icrc", "corrupt", "why", "truncated_packets", "bytes_captured", "limitations", "id"];
        assert_eq!(without(&analyze(&frames), &names), without(&analyze(&cut), &names), "{path}");
    }
}

#[test]
fn a_capture_in_two_files_is_one() {
    for path in SOME {
        let frames = read(path);
        let (first, second) = frames.split_at(frames.len() / 3);
        let mut analysis = Analysis::new(Options::default());
        for half in [first, second] {
            for frame in half {
                let (time, link, wire_len) = (Time(frame.time), frame.link, frame.wire_len);
                analysis.push(&Record { time, link, interface: 0, wire_len, frame: &frame.bytes });
            }
        }
        assert_eq!(without(&analyze(&frames), &[]), without(&analysis.finish(), &[]), "{path}");
    }
}
