//! The state of an analysis in a file: as it was written it is read, and any damage is found.

use std::sync::OnceLock;

use rdmawire::{
    analyze::{Analysis, Options, is_state},
    capture::{Record, Time},
    craft::{Channel, Path},
    dissect::Link,
    opcode::Opcode,
    wire::{Psn, Qpn},
};

/// A fuzzer's input: what is changed in a state, in groups of four bytes: a place (24 bits), and a byte to add; then, if a byte is left,
/// how many bytes are cut off.
pub fn damaged(data: &[u8]) {
    static STATE: OnceLock<Vec<u8>> = OnceLock::new();
    let whole = STATE.get_or_init(state);
    let mut state = whole.clone();
    let groups = data.chunks_exact(4);
    let cut = groups.remainder().first().map_or(0, |cut| usize::from(*cut));
    for group in groups.take(64) {
        let &[a, b, c, change] = group else { return };
        let at = u32::from_le_bytes([a, b, c, 0]) as usize % state.len();
        state[at] = state[at].wrapping_add(change);
    }
    state.truncate(state.len().saturating_sub(cut));
    is_state(&state[..]);
    let resumed = Analysis::resume(Options::default(), &state[..]);
    match (resumed, state == *whole) {
        (Ok(analysis), true) => assert_eq!(analysis.finish().head.capture.packets, 200),
        (Err(error), false) => assert!(!error.to_string().is_empty()),
        (Ok(_), false) => panic!("damage was not found"),
        (Err(error), true) => panic!("{error}"),
    }
}

fn state() -> Vec<u8> {
    let mut analysis = Analysis::new(Options::default());
    let path = Path::rocev2(std::net::Ipv4Addr::new(10, 0, 0, 1), std::net::Ipv4Addr::new(10, 0, 0, 2));
    let mut frame = Vec::new();
    for n in 0..200 {
        let channel = Channel::rc(path, Qpn(0x20), Qpn(0x10 + n % 5));
        frame.clear();
        channel.headers(Opcode::RC_SEND_ONLY, Psn(n / 5 + n % 7)).payload(vec![0; 64]).build_into(&mut frame);
        let (time, wire_len) = (Time(i64::from(n) * 1000), frame.len() as u32);
        analysis.push(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame: &frame });
    }
    let mut state = Vec::new();
    analysis.save(&mut state).expect("memory does not fail");
    state
}
