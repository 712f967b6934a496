//! Captures of several taps on one path, analyzed as one: each transmission counts once, however many taps recorded it.
#![cfg(feature = "sim")]

use std::fmt::Debug;

use rdmawire::{
    analyze::{Analysis, Options},
    report::{Flow, Report, Stream},
    sim::{Run, Scenario, run},
};

mod merged;

/// A row of taps, between segments that lose packets.
fn play(ip_id: &str, taps: u32) -> Run {
    let mut text = format!(
        r#"
        seed = 11
        [[connection]]
        copies = 2
        ip_id = "{ip_id}"
        operations = [
            {{ op = "write", size = "64KiB", count = 30 }},
            {{ op = "read", size = "16KiB", count = 30 }},
            {{ op = "fetch_add", count = 20 }},
        ]
        "#
    );
    for _ in 0..=taps {
        text += "[[segment]]\ndelay = \"700ns\"\nright = { drop = 0.001 }\nleft = { drop = 0.001 }\n";
    }
    for tap in 0..taps {
        text += &format!("[[tap]]\nname = \"tap{tap}\"\nafter = {}\n", tap + 1);
    }
    run(&Scenario::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))).unwrap()
}

fn analyze(run: &Run, taps: &[usize]) -> Report {
    let mut analysis = Analysis::new(Options::default());
    merged::push(run, taps, &mut analysis);
    analysis.finish()
}

/// What of a flow cannot depend on how many taps recorded it: its transmissions, as the first of these taps saw them.
fn transmissions(flow: &Flow) -> impl PartialEq + Debug + use<> {
    let of = |stream: &Stream| {
        let Stream { packets, capture_duplicates, retransmits, out_of_order, gap_psns, .. } = *stream;
        (packets - capture_duplicates, retransmits, out_of_order, gap_psns)
    };
    (flow.src.clone(), flow.dest_qp, of(&flow.requests), of(&flow.responses), flow.goodput_bytes)
}

#[test]
fn however_many_taps_record_a_transmission_it_counts_once() {
    let mut resent = 0;
    for ip_id in ["zero", "flow", "random"] {
        for taps in [2, 3, 6] {
            let run = play(ip_id, taps as u32);
            let all = analyze(&run, &Vec::from_iter(0..taps));
            // The first tap of packets to the right is the last one of packets to the left.
            let [left, right] = [0, taps - 1].map(|tap| analyze(&run, &[tap]));
            for flow in &all.flows {
                let first = if flow.src == left.flows[0].src { &left } else { &right };
                let same = |one: &&Flow| one.src == flow.src && one.dest_qp == flow.dest_qp;
                let one = first.flows.iter().find(same).unwrap();
                assert_eq!(transmissions(flow), transmissions(one), "{ip_id}, {taps} taps");
                resent += one.requests.retransmits + one.responses.retransmits;
            }
        }
    }
    assert!(resent > 500, "{resent}");
}
