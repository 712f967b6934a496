//! Reports with any values in them, to all renderers and gates.
#![no_main]

#[path = "../../tests/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::shown::forged(data));
