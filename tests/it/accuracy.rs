//! How right the analyzer is about the scenarios: retransmissions and late originals each within 1 % of the truth in
//! every scenario, and nothing at all in clean ones.

use crate::judge::{
    Verdict,
    expect::{agrees, check},
    measure, parse_many,
};
use rdmawire::{
    analyze::{Analysis, Options, metric::classes::Classes},
    capture::{Record, Time},
    sim::{Ns, Run, Scenario, Tap, run},
};
use serde_json::{Value, json};

/// Scenarios in which that does not hold yet, and what goes wrong there.
const OPEN: &[(&str, &str)] = &[
    (
        "reorder_8_tolerated",
        "a packet that is overtaken until the end of a burst looks like one that a timeout retransmits",
    ),
    (
        "reorder_64_tolerated",
        "a packet that is overtaken until the end of a burst looks like one that a timeout retransmits",
    ),
];

fn analyze(run: &Run, tap: usize) -> Verdict {
    let mut classes = vec!["nothing"; run.recorded(tap).count()];
    let mut analysis = Analysis::with(Options::default(), Classes::default());
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
    let (report, told) = analysis.finish_with::<Classes>();
    for (number, _, class) in told.expect("it was given").0 {
        classes[number as usize - 1] = class.name();
    }
    Verdict { classes, report: serde_json::to_value(report).unwrap() }
}

#[test]
fn within_one_percent() {
    let scenarios = parse_many(include_str!("../data/scenarios.txt")).unwrap();
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

/// Of two bonded links whose clocks are apart, the record has the only order that there is.
#[test]
fn bonded_links_are_judged_by_the_record() {
    let text = include_str!("../data/hardware.txt");
    let bases = parse_many(text).unwrap().into_iter();
    let bonds: Vec<_> = bases
        .map(|(name, scenario)| {
            let bond = Tap { bond_ahead: Ns(1_500), ..Tap::default() };
            (name, Scenario { tap: vec![bond], ..scenario })
        })
        .collect();
    let accuracy = measure(&bonds, 201..202, analyze).unwrap();
    let wrong: u64 = accuracy.rows.iter().map(|row| row.wrong + row.ambiguous).sum();
    let late: u64 = accuracy.rows.iter().map(|row| row.out_of_order.truth).sum();
    let frames: u64 = accuracy.rows.iter().map(|row| row.frames).sum();
    assert!(late * 4 > frames && wrong * 100 <= frames, "{wrong} of {frames}, {late} late\n{accuracy}");
}

/// A mirror that records each packet twice: copies of packets that are sprayed over paths, of READ responses far apart, and of equal
/// acknowledgements in a row are no retransmissions, whichever flow the lag was learned of.
#[test]
fn copies_are_told_from_retransmissions() {
    const NAMES: [&str; 6] =
        ["spray_clean", "spray_loss", "reads", "mixed", "spurious_timeouts", "reordered_naks"];
    let bases = parse_many(include_str!("../data/hardware.txt")).unwrap();
    let twice: Vec<_> = (bases.iter().filter(|(name, _)| NAMES.contains(&name.as_str())))
        .map(|(name, scenario)| {
            let tap = Tap { duplicate: 1.0, duplicate_after: Ns(900), ..Tap::default() };
            (name.clone(), Scenario { tap: vec![tap], ..scenario.clone() })
        })
        .collect();
    assert_eq!(twice.len(), NAMES.len());
    let accuracy = measure(&twice, 201..203, analyze).unwrap();
    let wrong: Vec<String> = (accuracy.rows.iter())
        .filter(|row| (row.wrong + row.ambiguous) * 200 > row.frames || row.retransmits.error_percent() > 1.0)
        .map(|row| format!("{}: {} of {} wrong", row.name, row.wrong + row.ambiguous, row.frames))
        .collect();
    assert!(wrong.is_empty(), "{}\n{accuracy}", wrong.join("\n"));
}

/// Why adapters sent packets again: after the first timeouts, before any answer came; after acknowledgements that waited for packets of which
/// it was not known yet what they were; after an acknowledgement instead of the data of a READ; and not after a NAK that was answered before.
#[test]
fn adapters_go_back_for_these_causes() {
    let bases = parse_many(include_str!("../data/hardware.txt")).unwrap();
    let is_it = |name: &str| matches!(name, "acks_lost" | "mixed" | "spray_timeouts");
    let mut all = Vec::new();
    for (name, scenario) in bases.iter().filter(|(name, _)| is_it(name)) {
        for longer in [1, 2, 4] {
            let mut scenario = scenario.clone();
            scenario.segment.iter_mut().for_each(|segment| segment.delay.0 *= longer);
            all.push((format!("{name}, {longer} times as long"), scenario));
        }
    }
    assert_eq!(all.len(), 9);
    let accuracy = measure(&all, 201..202, analyze).unwrap();
    let wrong: Vec<String> = (accuracy.rows.iter())
        .flat_map(|row| row.mismatches.iter().map(move |mismatch| format!("{}: {mismatch}", row.name)))
        .filter(|mismatch| mismatch.contains("triggers"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Scenarios with round trips of three lengths, as this tap sees them.
fn at_tap(tap: &Tap, names: &[&str]) -> Vec<(String, Scenario)> {
    let bases = parse_many(include_str!("../data/hardware.txt")).unwrap();
    let all: Vec<_> = (bases.iter().filter(|(name, _)| names.contains(&name.as_str())))
        .flat_map(|(name, scenario)| {
            [1, 2, 4].map(|longer| {
                let mut scenario = Scenario { tap: vec![tap.clone()], ..scenario.clone() };
                scenario.segment.iter_mut().for_each(|segment| segment.delay.0 *= longer);
                (format!("{name}, {longer} times as long"), scenario)
            })
        })
        .collect();
    assert_eq!(all.len(), 3 * names.len());
    all
}

/// How many causes too few and too many reports say.
fn wrong_causes(scenarios: &[(String, Scenario)]) -> [u64; 2] {
    let accuracy = measure(scenarios, 201..202, analyze).unwrap();
    let mismatches = accuracy.rows.iter().flat_map(|row| &row.mismatches);
    mismatches.filter(|mismatch| mismatch.path.contains("triggers")).fold([0, 0], |[few, many], mismatch| {
        let said = mismatch.actual.as_ref().and_then(Value::as_u64).unwrap();
        let bound = |name: &str| mismatch.expected.as_u64().or(mismatch.expected[name].as_u64()).unwrap();
        [few + bound("least").saturating_sub(said), many + said.saturating_sub(bound("most"))]
    })
}

/// Where the clock that stamps answers is ahead, why packets are sent again shows after it: a NAK for what had seemed late, for what had seemed
/// to be a copy, or in a flow of which no round trip was measured yet; data behind what was asked for again too soon for a timer. What one flow
/// shows of the clocks of two hosts holds for others of theirs.
#[test]
fn causes_that_are_stamped_late() {
    let tap = Tap { left_ahead: Ns(12_000), ..Tap::default() };
    let most = [
        ("selective", 2),
        ("coalesced", 3),
        // Of several paths, what comes as late as a timer would is taken for late.
        ("spray_loss", 3),
        ("gbn_upstream", 0),
        ("gbn_small_messages", 0),
        ("spurious_timeouts", 8),
    ];
    for (name, most) in most {
        let wrong = wrong_causes(&at_tap(&tap, &[name]));
        assert!(wrong.iter().sum::<u64>() <= most, "{name}: {wrong:?} causes are wrong");
    }
}

/// Where two links of a bond have clocks apart, packets that are repeated seem to overtake each other: a sender that goes back once goes back
/// for one cause, and for the one that the receiver told it, whichever packet came first.
#[test]
fn causes_at_bonded_links() {
    let tap = Tap { bond_ahead: Ns(1_500), ..Tap::default() };
    for (name, most) in [("rnr", 1), ("acks_lost", 0), ("reads", 5), ("mixed", 11)] {
        let wrong = wrong_causes(&at_tap(&tap, &[name]));
        assert!(wrong.iter().sum::<u64>() <= most, "{name}: {wrong:?} causes are wrong");
    }
}

/// A capture that samples packets has few of the NAKs: that none shows is no evidence of a timer. Causes that it cannot show are not told, with the
/// reason.
#[test]
fn sampled_packets_do_not_show_timeouts() {
    let tap = Tap { sample: 16, ..Tap::default() };
    let sampled = at_tap(&tap, &["gbn_upstream", "gbn_downstream", "reads", "rnr"]);
    let [_, many] = wrong_causes(&sampled);
    assert!(many <= 1, "{many} causes are none");
    let (mut unknown, mut reasons) = (0, 0);
    for (_, scenario) in &sampled {
        let report = analyze(&run(scenario).unwrap(), 0).report;
        for flow in report["flows"].as_array().unwrap() {
            let requests = &flow["requests"];
            assert_eq!(requests["triggers"]["timeout"], 0);
            unknown += requests["triggers"]["unknown"].as_u64().unwrap();
            reasons += u64::from(requests["why"]["triggers"] == "capture_loss");
        }
    }
    assert!(unknown > 20 && reasons > 5, "{unknown} unknown, {reasons} reasons");
}

/// READs whose frames are cut before they say how long they are: the last one of those that are asked for again is as long as before.
#[test]
fn causes_where_frames_are_cut() {
    let tap = Tap { snaplen: 64, ..Tap::default() };
    let wrong = wrong_causes(&at_tap(&tap, &["reads", "reads_first"]));
    assert!(wrong.iter().sum::<u64>() <= 2, "{wrong:?} causes are wrong");
}

#[test]
fn agreement() {
    let two = json!({ "least": 2, "most": 5 });
    assert!(agrees(&json!(3), &json!(3), 0) && !agrees(&json!(3), &json!(2), 0));
    assert!(agrees(&json!(3), &json!(2), 1) && !agrees(&json!(3), &json!(4), 1));
    assert!(agrees(&json!(3), &json!([1, 7]), 0) && !agrees(&json!(3), &json!([4, 7]), 0));
    assert!(!agrees(&json!(3), &json!([0, 2]), 0) && agrees(&two, &json!([0, 2]), 0));
    assert!(agrees(&two, &json!(4), 0) && !agrees(&two, &json!(6), 0) && !agrees(&two, &json!(1), 0));
    assert!(agrees(&Value::Null, &json!([0, 9]), 0) && agrees(&Value::Null, &Value::Null, 0));
    assert!(!agrees(&Value::Null, &json!(0), 0) && !agrees(&Value::Null, &json!([1, 9]), 0));
    assert!(!agrees(&json!(3), &Value::Null, 0) && agrees(&json!("RC"), &json!("RC"), 0));
}

#[test]
fn flows_by_key_and_epoch() {
    let flow = |epoch: u32, packets: u32| json!({"src": "a", "dst": "b", "dest_qp": 1, "epoch": epoch, "packets": packets});
    let expected = json!({ "flows": [flow(0, 5), flow(1, 7)] });
    assert_eq!(check(&expected, &json!({ "flows": [flow(1, 7), flow(0, 5)] })), []);
    let wrong = check(&expected, &json!({ "flows": [flow(0, 5), flow(1, 8)] }));
    assert_eq!(wrong.len(), 1);
    assert_eq!(wrong[0].path, "flows[a > b 0x1 #1].packets");
    assert_eq!(check(&expected, &json!({ "flows": [flow(0, 5)] })).len(), 1);
}
