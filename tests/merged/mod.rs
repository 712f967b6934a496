//! Several taps' records of a simulation as one capture: an interface for each tap, in the order of time.

use rdmawire::{
    analyze::Analysis,
    capture::{Record, Time},
    sim::Run,
};

/// Pushes what these taps recorded into an analysis.
pub(crate) fn push(run: &Run, taps: &[usize], analysis: &mut Analysis) {
    let mut all = Vec::new();
    for (interface, &tap) in (0..).zip(taps) {
        let known = run.interface(tap);
        analysis.interface(interface, known.name.unwrap_or_default(), known.speed_bps);
        let mut frames = run.frames(tap);
        while let Some(frame) = frames.next() {
            all.push((frame.time_ns, interface, frame.link, frame.bytes.to_vec()));
        }
    }
    all.sort_by_key(|(time, interface, ..)| (*time, *interface));
    for (time, interface, link, frame) in all {
        let wire_len = frame.len() as u32;
        analysis.push(&Record { time: Time(time), link, interface, wire_len, frame: &frame });
    }
}
