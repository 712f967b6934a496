//! Tests of `src/analyze/packet/encap.rs`.

use super::*;
use crate::{
    analyze::{Analysis, FlowId, Options, packet::key::mixed},
    capture::Time,
    dissect::Link,
};

/// A SEND of eight bytes.
fn frame(src: [u64; 2], dst: [u64; 2], psn: u8) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 32, 17, 64]);
    frame.extend([src, dst].as_flattened().iter().flat_map(|word| word.to_be_bytes()));
    frame.extend([0xc0, 0, 0x12, 0xb7, 0, 32, 0, 0]);
    frame.extend([4, 0, 0xff, 0xff, 0, 0, 0, 9, 0, 0, 0, psn]);
    frame.extend([0; 8 + 4]);
    frame
}

#[test]
fn addresses_that_are_mixed_to_the_same_are_two_flows() {
    let (src, other) = ([0x2001_0db8_0000_0000, 1], [0x2001_0db8_0000_0000, 2]);
    let to = [0x2001_0db8_0000_0000, 3];
    let as_well = [to[0], to[1] ^ mixed(src, [0, 0]) ^ mixed(other, [0, 0])];
    assert_eq!(mixed(src, to), mixed(other, as_well));
    let mut analysis = Analysis::new(Options { verify_icrc: false, ..Options::default() });
    for n in 0..64 {
        // Now in turns, now one after the other.
        let is_first = if n < 32 { n % 2 == 0 } else { n < 48 };
        let (src, dst) = if is_first { (src, to) } else { (other, as_well) };
        let psn = if n < 32 { n / 2 } else { 16 + n % 16 };
        let frame = frame(src, dst, psn);
        let (time, link, wire_len) = (Time(n as i64 * 1000), Link::ETHERNET, frame.len() as u32);
        analysis.push(&Record { time, link, interface: 0, wire_len, frame: &frame });
    }
    // The report is not made: all that makes it would be built for this test.
    analysis.flush_sorted();
    let flows = &mut analysis.tracker.flows;
    (0..flows.flows.len()).for_each(|at| flows.catch_up(FlowId(at as u32)));
    let counts: Vec<_> = flows.flows.iter().map(|flow| flow.packets).collect();
    assert_eq!(counts, [32, 32]);
}
