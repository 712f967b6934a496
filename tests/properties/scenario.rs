//! Scenarios: any text is one or says where it is wrong; one that is plays within its limit, the same every time, with times and frames
//! that a capture holds.

use rdmawire::sim::{
    Error, Scenario, run,
    spray::{self, Spray},
};

/// A fuzzer's input: a scenario's text.
pub fn scenario(data: &[u8]) {
    let text = String::from_utf8_lossy(data.get(..data.len().min(16 << 10)).unwrap_or_default());
    let refused = |error: Error| {
        assert!(error.line <= text.lines().count() + 1 && !error.what.is_empty(), "{error:?}");
        assert!(!error.to_string().contains(char::is_control), "{error:?}");
    };
    if Spray::is(&text) {
        return match Spray::parse(&text) {
            Ok(scenario) => sprayed(scenario),
            Err(error) => refused(error),
        };
    }
    let mut scenario = match Scenario::parse(&text) {
        Ok(scenario) => scenario,
        Err(error) => return refused(error),
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

/// A scenario of a sprayed transport: few packets, so that it is soon played.
fn sprayed(mut scenario: Spray) {
    (scenario.contexts, scenario.messages) = (scenario.contexts.min(2), scenario.messages.min(4));
    scenario.size.0 = scenario.size.0.min(16 << 10);
    match spray::play(&scenario) {
        Ok(played) => {
            for frame in played.frames() {
                assert!(frame.bytes.len() <= 16 << 10 && frame.wire_len as usize >= frame.bytes.len());
            }
            assert!(played.frames().windows(2).all(|two| two[0].time_ns <= two[1].time_ns));
        }
        Err(error) => assert!(!error.what.is_empty(), "{error:?}"),
    }
}
