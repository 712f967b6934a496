//! Frames as a line, a tree, JSON and hexadecimal.
#![no_main]

#[path = "../../tests/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::print::printing(data));
