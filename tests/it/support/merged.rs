//! Several taps' records of a simulation as one capture: an interface for each tap, in the order of time.

use rdmawire::{
    analyze::Analysis,
    capture::{Record, Time},
    checksum,
    dissect::{Link, dissect},
    sim::Run,
    wire::{Ipv4, Kind},
};

/// Pushes what these taps recorded into an analysis.
pub(crate) fn push(run: &Run, taps: &[usize], analysis: &mut Analysis) {
    push_altered(run, taps, analysis, |_, _, _| {});
}

/// Pushes what these taps recorded into an analysis, each frame after `alter`, which gets the number of its tap.
pub(crate) fn push_altered(
    run: &Run,
    taps: &[usize],
    analysis: &mut Analysis,
    alter: impl Fn(usize, Link, &mut [u8]),
) {
    let mut all = Vec::new();
    for (interface, &tap) in (0..).zip(taps) {
        let known = run.interface(tap);
        analysis.interface(interface, known.name.unwrap_or_default(), known.speed_bps);
        let mut frames = run.frames(tap);
        while let Some(frame) = frames.next() {
            let mut bytes = frame.bytes.to_vec();
            alter(tap, frame.link, &mut bytes);
            all.push((frame.time_ns, interface, frame.link, bytes));
        }
    }
    push_in_order(all, analysis);
}

/// Pushes frames in the order of time: each with its time, its interface and its link type.
pub(crate) fn push_in_order(mut all: Vec<(i64, u16, Link, Vec<u8>)>, analysis: &mut Analysis) {
    all.sort_by_key(|(time, interface, ..)| (*time, *interface));
    for (time, interface, link, frame) in all {
        let wire_len = frame.len() as u32;
        analysis.push(&Record { time: Time(time), link, interface, wire_len, frame: &frame });
    }
}

/// Gives the packets of a source another DSCP. The ICRC does not cover it.
pub(crate) fn set_dscp(link: Link, frame: &mut [u8], src: &str, dscp: u8) {
    let d = dissect(link, frame, frame.len() as u32);
    let Some((ip, at)) = d.get::<Ipv4>().copied().zip(d.offset(Kind::Ipv4)) else { return };
    if ip.src().to_string() != src {
        return;
    }
    frame[at + 1] = dscp << 2 | ip.ecn().0;
    frame[at + 10..at + 12].fill(0);
    let sum = checksum::internet(&frame[at..at + 20]);
    frame[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
}
