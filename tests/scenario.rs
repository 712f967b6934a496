//! Scenarios: what the simulator does, and that its frames are what it says.
#![cfg(feature = "scenario")]

use std::collections::BTreeMap;

use rdmawire::{
    craft::scenario::{Run, Scenario, label::Class, run},
    dissect, icrc,
    wire::Bth,
};

fn play(text: &str) -> Run {
    run(&Scenario::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}")))
        .unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn classes(run: &Run, tap: usize) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for label in &run.labels(tap).frames {
        *counts.entry(label.class.name()).or_default() += 1;
    }
    counts
}

/// Every frame dissects without a note, has the ICRC it should have and the PSN its transmission has.
fn sound(run: &Run, tap: usize) {
    let labels = run.labels(tap).frames;
    let sightings: Vec<_> = run.recorded(tap).collect();
    assert_eq!(labels.len(), sightings.len());
    let mut frames = run.frames(tap);
    let mut n = 0;
    while let Some(frame) = frames.next() {
        let d = dissect::dissect(frame.link, frame.bytes, frame.wire_len);
        let label = &labels[n];
        assert!(d.notes().is_empty(), "frame {}: {:?}", n + 1, d.notes());
        if label.class != Class::Pause && frame.bytes.len() == frame.wire_len as usize {
            let state = if label.class == Class::Corrupt { icrc::State::Bad } else { icrc::State::Good };
            assert_eq!(icrc::verify(&d), state, "frame {}: {label:?}", n + 1);
            let t = run.transmission(sightings[n]).unwrap();
            assert_eq!(d.get::<Bth>().unwrap().psn().0, t.psn as u32 & 0xff_ffff);
        }
        n += 1;
    }
    assert_eq!(n, labels.len());
}

fn all_done(run: &Run) {
    let open = run.messages.iter().filter(|message| message.completed.is_none()).count();
    assert_eq!(open, 0, "{open} of {} messages are not complete", run.messages.len());
}

#[test]
fn clean() {
    for op in ["write", "write_imm", "send", "send_imm", "send_inv", "read", "compare_swap", "fetch_add"] {
        let run = play(&format!(
            "[[connection]]\noperations = [{{ op = \"{op}\", size = 5000, count = 20 }}, {{ op = \"write\", size = 1 }}]"
        ));
        all_done(&run);
        sound(&run, 0);
        let classes = classes(&run, 0);
        assert_eq!(
            classes
                .keys()
                .copied()
                .collect::<Vec<_>>()
                .iter()
                .filter(|c| !["new", "ack"].contains(c))
                .count(),
            0,
            "{op}: {classes:?}"
        );
        println!("{op}: {classes:?}");
    }
}

#[test]
fn lossy() {
    for recovery in ["go_back_n", "selective"] {
        for op in ["write", "read", "send", "fetch_add"] {
            let run = play(&format!(
                "seed = 3
                [[connection]]
                recovery = \"{recovery}\"
                psn = [16776000, 16777000]
                operations = [{{ op = \"{op}\", size = 20000, count = 200 }}, {{ op = \"{op}\", size = 20000, count = 200, by = \"to\" }}]
                [[segment]]
                delay = \"2us\"
                right = {{ drop = 0.01 }}
                left = {{ drop = 0.01, corrupt = 0.005 }}
                [[segment]]
                delay = \"3us\"
                right = {{ drop = 0.01, corrupt = 0.01, duplicate = 0.01, reorder = 0.01, reorder_depth = 3 }}
                left = {{ drop = 0.01 }}"
            ));
            println!("{recovery} {op}: {:?} {} episodes", classes(&run, 0), run.episodes.len());
            all_done(&run);
            sound(&run, 0);
        }
    }
}
