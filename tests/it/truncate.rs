//! Every truncation of every sample frame, at every length, dissects and says why; so do frames with bytes changed at random.

use crate::{
    properties::{Random, dissect::invariants},
    samples::{self, Sample},
};
use rdmawire::{
    dissect::{Severity, dissect},
    filter::{Filter, FrameMeta},
    icrc::{self, State},
    wire::Kind,
};

fn all_samples() -> Vec<Sample> {
    let mut all = samples::vectors();
    all.extend(samples::shipped(6, 240));
    assert!(all.len() > 90, "{}", all.len());
    all
}

#[test]
fn every_truncation_says_why() {
    let mut cuts = 0;
    for sample in all_samples() {
        let len = sample.frame.len();
        let whole = dissect(sample.link, &sample.frame, sample.wire_len);
        let end = if whole.end_is_known() { (whole.end() as usize).min(len) } else { 0 };
        let state = icrc::verify(&whole);
        // Every byte of headers and of what ends the frame; of a payload, where one cut is as another, some.
        let layers = whole.layers();
        let headers = layers.iter().filter(|layer| {
            !matches!(layer.kind, Kind::Payload | Kind::Pad | Kind::Icrc | Kind::Vcrc | Kind::Trailer)
        });
        let payload = headers.map(|layer| (layer.at + layer.len) as usize).max().unwrap_or(len);
        for have in
            (0..len).filter(|have| !(payload + 64..len.saturating_sub(64)).contains(have) || have % 16 == 0)
        {
            let frame = &sample.frame[..have];
            for wire_len in [have, len, len + 1, len + 1000, u32::MAX as usize] {
                let d = dissect(sample.link, frame, wire_len as u32);
                let what = || format!("{}: {have} of {len}, {wire_len} on the wire: {d:?}", sample.name);
                invariants(&d);
                cuts += 1;
                assert_eq!(d.frame().len(), have);
                // What the capture left out before the packet's end is said, and costs nothing but the check.
                if have < end {
                    assert!(!d.notes().is_empty(), "{}", what());
                    assert_ne!(icrc::verify(&d), State::Bad, "{}", what());
                    assert_ne!(icrc::verify_vcrc(&d), State::Bad, "{}", what());
                }
                if wire_len > have && have < end {
                    assert!(d.is_cut(), "{}", what());
                    assert_eq!(icrc::verify(&d), State::Unchecked, "{}", what());
                    // It was the capture, or the mirror before it; the packet is not to blame.
                    if whole.severity() < Some(Severity::Error) {
                        assert!(d.severity() < Some(Severity::Error), "{}", what());
                    }
                }
                // The packet is all there: nothing has changed for it.
                if whole.end_is_known() && have >= end && wire_len >= end && !whole.is_cut() {
                    assert_eq!(icrc::verify(&d), state, "{}", what());
                    assert_eq!(d.payload(), whole.payload(), "{}", what());
                }
                // Headers that were captured whole are found where they were.
                if wire_len >= len {
                    for layer in whole.layers().iter() {
                        let (kind, to) = (layer.kind, (layer.at + layer.len) as usize);
                        let is_rest = matches!(kind, Kind::Payload | Kind::Pad | Kind::Icrc | Kind::Vcrc)
                            || matches!(kind, Kind::Trailer | Kind::Lldp | Kind::LldpValue | Kind::CmPrivate)
                            || kind.is_in_payload();
                        if to <= have && !is_rest && whole.offset(kind) == Some(layer.at as usize) {
                            let found = d.layers().iter().any(|l| l == layer);
                            // What stands between a mirror's header and the frame is found by looking at what follows.
                            assert!(found || guessed(&whole), "{kind:?} {}", what());
                        }
                    }
                }
            }
        }
    }
    assert!(cuts > 100_000, "{cuts}");
}

/// However few bytes of its headers behind the BTH were captured, a packet has as much payload as its length and its operation code say: in the
/// dissection, filters and columns alike.
#[test]
fn a_cut_among_headers_changes_no_payload() {
    let mut cuts = 0;
    for sample in all_samples() {
        let whole = dissect(sample.link, &sample.frame, sample.wire_len);
        let Some(bth) = whole
            .offset(Kind::Bth)
            .filter(|_| whole.has(Kind::Ipv4) && whole.has(Kind::Reth) && whole.severity().is_none())
        else {
            continue;
        };
        let filter = Filter::parse(&format!("payload.len == {}", whole.payload_len())).unwrap();
        assert_eq!(whole.whole_payload_len(), whole.payload_len(), "{}", sample.name);
        for have in bth + 12..whole.payload_at() {
            let d = dissect(sample.link, &sample.frame[..have], sample.wire_len);
            if !d.end_is_known() {
                continue;
            }
            assert_eq!(d.whole_payload_len(), whole.payload_len(), "{}: {have}", sample.name);
            assert!(filter.matches(&d, &FrameMeta::default()), "{}: {have}", sample.name);
            cuts += 1;
        }
    }
    assert!(cuts > 0);
}

/// Whether something about the frame was not said by any field but concluded from bytes further on.
fn guessed(d: &rdmawire::dissect::Dissection<'_>) -> bool {
    d.layers().iter().any(|layer| matches!(layer.kind, Kind::Everflow | Kind::Mpls))
}

#[test]
fn more_on_the_wire_than_captured_is_no_fault_of_the_frame() {
    for sample in all_samples() {
        let whole = dissect(sample.link, &sample.frame, sample.wire_len);
        for more in [1, 4, 60, 1500, 70_000] {
            let d = dissect(sample.link, &sample.frame, sample.wire_len + more);
            invariants(&d);
            assert!(d.is_cut());
            if whole.end_is_known() {
                assert_eq!(icrc::verify(&d), icrc::verify(&whole), "{} {d:?}", sample.name);
                assert_eq!(d.payload(), whole.payload(), "{} {d:?}", sample.name);
            }
        }
    }
}

#[test]
fn changed_bytes_break_nothing() {
    let mut random = Random::new(0x0077_6972_6564);
    let interesting = [0u8, 1, 2, 3, 4, 0x0f, 0x10, 0x3f, 0x40, 0x45, 0x46, 0x60, 0x7f, 0x80, 0xfe, 0xff];
    for sample in all_samples() {
        let mut frame = sample.frame.clone();
        for _ in 0..300 {
            frame.clone_from(&sample.frame);
            for _ in 0..=random.below(4) {
                let at = random.below(frame.len().min(120));
                frame[at] = match random.below(3) {
                    0 => random.next() as u8,
                    1 => interesting[random.below(interesting.len())],
                    _ => frame[at] ^ 1 << random.below(8),
                };
            }
            frame.truncate(frame.len() - random.below(4) / 3 * random.below(frame.len()));
            let wire_len = match random.below(3) {
                0 => frame.len(),
                1 => sample.frame.len(),
                _ => random.below(70_000),
            };
            invariants(&dissect(sample.link, &frame, wire_len as u32));
        }
    }
}
