//! Tests of `src/analyze/metric/collective/dismissed.rs`.

use super::*;
use crate::{
    analyze::packet::{Facts, FastForm, FastPacket},
    capture::{Record, Time},
    dissect::{self, Link},
    icrc::State,
    opcode::Opcode,
};

/// A WRITE as long as an element: the facts of it, and what is read of it where the frame was cut behind the RETH.
fn write(dest_qp: u32, psn: u32, va: Option<u64>) -> (Facts, Glimpse) {
    let payload = 64u16;
    let udp = 8 + 12 + 16 + payload + 4;
    let mut frame = vec![0; 12];
    frame.extend(0x0800u16.to_be_bytes());
    frame.extend([0x45, 0]);
    frame.extend((20 + udp).to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0xc0, 0, 0x12, 0xb7]);
    frame.extend(udp.to_be_bytes());
    frame.extend([0, 0, Opcode::RC_WRITE_ONLY.code, 0, 0xff, 0xff]);
    frame.extend(dest_qp.to_be_bytes());
    frame.extend(psn.to_be_bytes());
    frame.extend(va.unwrap_or(0).to_be_bytes());
    frame.extend(7u32.to_be_bytes());
    frame.extend(u32::from(payload).to_be_bytes());
    frame.resize(14 + 20 + usize::from(udp), 0);
    let time = Time(1_700_000_000_000_000_000 + i64::from(psn) * 1_000);
    let wire_len = frame.len() as u32;
    let record = Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame: &frame };
    let (packet, rest) = FastPacket::candidate(&record).unwrap();
    let packet = packet.checked(&dissect::Options::default(), rest, || State::Unchecked).unwrap();
    (packet.facts(), Glimpse { memory: va.map(|va| (va, 7)), is_cut: true, ..Glimpse::default() })
}

/// Shows it a message, as the analysis does. Returns whether it was needed.
fn show(view: &mut Collectives, dest_qp: u32, psn: u32, va: impl Into<Option<u64>>) -> bool {
    let (facts, glimpse) = write(dest_qp, psn, va.into());
    let is_needed = view.needs(|| facts.key().copied(), Some(&glimpse));
    if is_needed {
        view.see(&facts, u64::from(psn) + 1, Some(&glimpse));
    }
    is_needed
}

/// Somewhere in memory: with no step from one to the next that is more frequent than others.
fn anywhere(n: u32) -> u64 {
    let mixed = n.wrapping_mul(2_654_435_761);
    let mixed = (mixed ^ mixed >> 15).wrapping_mul(2_246_822_519);
    0x7f00_0000_0000 + (u64::from(mixed) << 6)
}

#[test]
fn writes_to_anywhere_end_the_view_until_another_flow_begins_it() {
    let mut view = Collectives::default();
    let seen = (0..1000).filter(|&psn| show(&mut view, 0x11, psn, anywhere(psn))).count();
    assert_eq!(seen, FIRST_LOOK);
    assert!(!view.is_active() && view.chunks.is_empty());
    assert!(show(&mut view, 0x12, 0, anywhere(0)) && view.is_active());
    // While another one is looked at, it does not come back.
    assert!(show(&mut view, 0x11, 1000, anywhere(1)));
    assert_eq!(view.chunks.len(), 1);
}

#[test]
fn what_goes_from_slot_to_slot_is_kept() {
    for (slots, stride) in [(8, 512), (64, 32), (256, 512)] {
        let mut view = Collectives::default();
        for n in 0..2000u32 {
            let va = 0x7f00_0000_1000 + u64::from(n % slots) * stride;
            assert!(show(&mut view, 0x11, n, va));
        }
        assert_eq!(view.chunks.len(), 2000, "{slots} slots");
    }
}

#[test]
fn what_never_comes_back_to_a_slot_is_dismissed_late() {
    let mut view = Collectives::default();
    let seen = (0..2000).filter(|&n| show(&mut view, 0x11, n, 0x7f00_0000_0000 + u64::from(n) * 64)).count();
    assert_eq!(seen, 2 * MOST_SLOTS);
}

#[test]
fn addresses_that_were_not_captured_dismiss_nothing() {
    let mut view = Collectives::default();
    assert_eq!((0..2000).filter(|&psn| show(&mut view, 0x11, psn, None)).count(), 2000);
}

#[test]
fn one_address_is_no_fifo() {
    let mut view = Collectives::default();
    assert_eq!((0..2000).filter(|&psn| show(&mut view, 0x11, psn, 0)).count(), FIRST_LOOK);
}

/// Flows between two hosts are dismissed one by one; those that are left keep their places.
#[test]
fn flows_are_dismissed_in_any_order() {
    let mut view = Collectives::default();
    let slot = |n: u32| 0x7f00_0000_1000 + u64::from(n % 8) * 512;
    let alone = [0x11, 0x13];
    for n in 0..64 {
        for dest_qp in 0x10..0x15 {
            let va = if alone.contains(&dest_qp) { slot(n) } else { anywhere(n * 7 + dest_qp) };
            show(&mut view, dest_qp, n, va);
        }
    }
    let left: Vec<&Vec<u32>> = view.loose.values().collect();
    let [left] = left[..] else { panic!("{left:?}") };
    let mut queue_pairs: Vec<u32> = left.iter().map(|&at| view.ways[at as usize].key.dest_qp()).collect();
    queue_pairs.sort_unstable();
    assert_eq!(queue_pairs, alone);
    for (place, &at) in left.iter().enumerate() {
        assert_eq!(view.ways[at as usize].loose_place as usize, place);
    }
}
