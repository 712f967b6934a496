//! How right the analyzer is about the scenarios: retransmissions and late originals each within 1 % of the truth in
//! every scenario, and nothing at all in clean ones.
#![cfg(feature = "sim")]

use rdmawire::{
    analyze::{Analysis, Class, Options, metric::classes::Classes},
    capture::{Record, Time},
    sim::{
        Run,
        accuracy::{Verdict, measure, parse_many},
    },
};

/// Scenarios in which that does not hold yet, and what goes wrong there.
const OPEN: &[(&str, &str)] = &[
    (
        "reorder_8_tolerated",
        "a packet that is overtaken until the end of a burst looks like one that a timeout sends again",
    ),
    (
        "reorder_64_tolerated",
        "a packet that is overtaken until the end of a burst looks like one that a timeout sends again",
    ),
    ("random_selective", "of the late packets, one in a hundred"),
];

fn analyze(run: &Run, tap: usize) -> Verdict {
    let mut classes = vec!["nothing"; run.recorded(tap).count()];
    let mut analysis = Analysis::with(
        Options::default(),
        Classes(|number, _, class: Class| classes[number as usize - 1] = class.name()),
    );
    let mut frames = run.frames(tap);
    while let Some(frame) = frames.next() {
        let time = Time(frame.time_ns);
        analysis.push(&Record {
            time,
            link: frame.link,
            interface: 0,
            wire_len: frame.wire_len,
            frame: frame.bytes,
        });
    }
    let report = serde_json::to_value(analysis.finish()).unwrap();
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
