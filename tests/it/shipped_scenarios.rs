//! Every shipped scenario, crafted and analyzed, gives exactly what it is expected to.

use crate::judge::expect;
use rdmawire::{
    analyze::{Analysis, Options},
    capture::{Record, Time},
    sim::{Scenario, run},
};

#[test]
fn the_analysis_finds_what_the_scenario_expects() {
    let (mut scenarios, mut wrong) = (0, Vec::new());
    for entry in std::fs::read_dir("examples/scenarios").unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# "), "{}: a line on what it shows", path.display());
        let run = run(&Scenario::parse(&text).unwrap()).unwrap();
        for tap in 0..run.captures.len() {
            let mut analysis = Analysis::new(Options::default());
            let mut frames = run.frames(tap);
            while let Some(frame) = frames.next() {
                let (time, link, wire_len) = (Time(frame.time_ns), frame.link, frame.wire_len);
                analysis.push(&Record { time, link, interface: 0, wire_len, frame: frame.bytes });
            }
            let report = serde_json::to_value(analysis.finish()).unwrap();
            let mismatches = expect::check(&run.expect(tap), &report);
            wrong.extend(mismatches.iter().map(|m| format!("{}, tap {tap}: {m}", path.display())));
        }
        scenarios += 1;
    }
    assert!(scenarios >= 12, "{scenarios}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
