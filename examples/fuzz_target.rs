//! A fuzz target of your own that gets valid-but-odd RoCE packets: `cargo run --features arbitrary --example fuzz_target`.
//!
//! With cargo-fuzz, and `rdmawire = { version = "0.2", features = ["arbitrary"] }` in fuzz/Cargo.toml, it is five lines:
//!
//! ```ignore
//! #![no_main]
//! use rdmawire::craft::Packet;
//! libfuzzer_sys::fuzz_target!(|packet: Packet| {
//!     your_parser::parse(&packet.build()).expect("right lengths, checksums and ICRC");
//! });
//! ```
//!
//! `Mutant` instead of `Packet` gives packets that may be wrong, and says in `mutant.verdict` what must come of them. Here bytes from
//! a generator stand for the fuzzer's.

use arbitrary::{Arbitrary, Unstructured};
use rdmawire::{
    craft::{Packet, mutate::Mutant},
    dissect::dissect,
    icrc::{self, State},
    wire::Kind,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut state = 1u64;
    let mut bytes = vec![0; 1 << 20];
    bytes.fill_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    });
    let mut u = Unstructured::new(&bytes);
    let (mut good, mut packets, mut mutants) = (0, 0, 0);
    while packets < 2000 && !u.is_empty() {
        let packet = Packet::arbitrary(&mut u)?;
        let frame = packet.build();
        let d = dissect(packet.link(), &frame, packet.wire_len());
        assert!(!d.has(Kind::Bth) || icrc::verify(&d) == State::Good, "{d:?}");
        good += d.has(Kind::Bth) as u32;
        packets += 1;
        let mutant = Mutant::arbitrary(&mut u)?;
        dissect(mutant.link, &mutant.frame, mutant.wire_len);
        mutants += 1;
    }
    println!("{packets} packets, {good} with a BTH and a right ICRC; {mutants} mutants");
    Ok(())
}
