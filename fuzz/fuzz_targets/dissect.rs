//! Dissection, for every link type, with captured length and length on the wire independent of each other.
#![no_main]

#[path = "../../tests/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::dissect::dissection(data));
