//! ICRC, VCRC and FCS against an implementation without tables.
#![no_main]

#[path = "../../tests/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::crc::agreement(data));
