//! How right the analyzer is about the scenarios: retransmissions and late originals each within 1 % of the truth in
//! every scenario, and nothing at all in clean ones.
#![cfg(feature = "scenario")]

use std::sync::{Arc, Mutex};

use rdmawire::{
    analyze::{Analysis, Options},
    capture::{Record, Time},
    craft::scenario::{
        Run,
        accuracy::{Verdict, measure, parse_many},
    },
};

/// Scenarios in which that does not hold yet, and what goes wrong there.
const OPEN: &[(&str, &str)] = &[];

fn analyze(run: &Run, tap: usize) -> Verdict {
    let mut analysis = Analysis::new(Options::default());
    let classes = Arc::new(Mutex::new(vec!["nothing"; run.recorded(tap).count()]));
    let told = Arc::clone(&classes);
    analysis
        .observe(Box::new(move |number, _, class| told.lock().unwrap()[number as usize - 1] = class.name()));
    let mut frames = run.frames(tap);
    while let Some(frame) = frames.next() {
        let time = Time(frame.time_ns);
        analysis.see(&Record {
            time,
            link: frame.link,
            interface: 0,
            wire_len: frame.wire_len,
            frame: frame.bytes,
        });
    }
    let report = serde_json::to_value(analysis.finish()).unwrap();
    let classes = classes.lock().unwrap().clone();
    Verdict { classes, report }
}

#[test]
fn within_one_percent() {
    let scenarios = parse_many(include_str!("data/scenarios.txt")).unwrap();
    let accuracy = measure(&scenarios, 1..3, analyze).unwrap();
    let mut wrong = Vec::new();
    for row in &accuracy.rows {
        assert!(row.frames > 0, "{}: an empty capture proves nothing", row.name);
        let (retransmits, late) = (row.retransmits.error_percent(), row.out_of_order.error_percent());
        let holds = retransmits <= 1.0 && late <= 1.0;
        let open = OPEN.iter().any(|(name, _)| *name == row.name);
        match (holds, open) {
            (false, false) => {
                wrong.push(format!("{}: retransmissions {retransmits:.2} %, late {late:.2} %", row.name));
            }
            (true, true) => {
                wrong.push(format!("{}: holds now; strike it off the list of those open", row.name))
            }
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}\n{accuracy}", wrong.join("\n"));
}
