//! Mutants, to the dissector that must keep their promise.
#![no_main]

#[path = "../../tests/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::mutant::mutated(data));
