//! Tests of `src/analyze/table/flow.rs`.

use super::*;

#[test]
fn a_quiet_flow_is_small() {
    // With a ring of four transmissions, and acknowledgements or messages.
    assert!(size_of::<Flow>() <= 624, "{}", size_of::<Flow>());
}
