//! Frames shown as lines, JSON, trees and columns.
#![no_main]

#[path = "../../tests/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::frame::shown(data));
