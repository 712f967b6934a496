//! Scenarios: any text is one or says where it is wrong; one that is plays within its limit, the same every time, with times and frames
//! that a capture holds.

use rdmawire::sim::{Scenario, run};

/// A fuzzer's input: a scenario's text.
pub fn scenario(data: &[u8]) {
    let text = String::from_utf8_lossy(data.get(..data.len().min(16 << 10)).unwrap_or_default());
    let mut scenario = match Scenario::parse(&text) {
        Ok(scenario) => scenario,
        Err(error) => {
            assert!(error.line <= text.lines().count() + 1 && !error.what.is_empty(), "{error:?}");
            return assert!(!error.to_string().contains(char::is_control), "{error:?}");
        }
    };
    scenario.limit = scenario.limit.min(500);
    let limit = scenario.limit as usize;
    match run(&scenario) {
        Ok(played) => {
            for tap in 0..played.captures.len() {
                let mut frames = played.frames(tap);
                let mut n = 0;
                while let Some(frame) = frames.next() {
                    assert!(frame.bytes.len() <= 16 << 10 && frame.wire_len as usize >= frame.bytes.len());
                    n += 1;
                }
                // Copies at the tap come on top.
                assert!(n <= limit * 8, "{n} frames, limit {limit}");
                played.expect(tap);
            }
        }
        Err(error) => {
            assert!(!error.what.is_empty() && !error.to_string().contains(char::is_control), "{error:?}")
        }
    }
}
