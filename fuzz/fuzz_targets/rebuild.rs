//! Frames, to packets to edit, back to the same bytes.
#![no_main]

#[path = "../../tests/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::rebuild::rebuilding(data));
