//! Two taps and more: what was lost between them is what truly was lost.

use std::{fs, path::Path};

use rdmawire::{
    capture::{self, Source},
    report::{
        Fate,
        diff::{Diff, Direction, Flow},
    },
    taps::{Options, Taps},
};
use serde_json::Value;

/// Compares captures of `pcaps/`.
fn diff(names: &[&str]) -> Diff {
    let open = |name: &&str| capture::open(&Path::new("pcaps").join(name)).unwrap();
    let mut sources: Vec<_> = names.iter().map(open).collect();
    let mut taps = Taps::new(Options::default(), names.iter().copied());
    while let Some(tap) = taps.next_tap() {
        match sources[tap].next().unwrap() {
            Some(record) => taps.push(tap, &record),
            None => taps.end(tap),
        }
    }
    taps.finish()
}

fn flow<'a>(diff: &'a Diff, truth: &Value) -> Option<(&'a Direction, &'a Flow)> {
    let mut directions = diff.segments.iter().flat_map(|segment| &segment.directions);
    directions.find_map(|direction| {
        let is_it = |flow: &&Flow| {
            flow.src == truth["src"] && flow.dst == truth["dst"] && flow.dest_qp == truth["qpn"]
        };
        Some((direction, direction.flows.iter().find(is_it)?))
    })
}

/// The taps saw all that host A sent before, and all that it was handed after the faults on this way.
fn judge(scenario: &str, diff: &Diff, ways: &[&str]) -> u64 {
    let text = fs::read_to_string(format!("pcaps/truth/{scenario}.json")).unwrap();
    let truth: Value = serde_json::from_str(&text).unwrap();
    let mut events = 0;
    for flow_truth in truth["flows"].as_array().unwrap() {
        let way = flow_truth["direction"].as_str().unwrap();
        if !ways.contains(&way) {
            continue;
        }
        let (direction, flow) =
            flow(diff, flow_truth).unwrap_or_else(|| panic!("{scenario}: no {flow_truth}"));
        let counts = &flow.counts;
        let at = |name: &str| flow_truth[name].as_u64().unwrap();
        assert_eq!(direction.from, usize::from(way == "B->A"), "{scenario}: which tap is first");
        // The truth compares bytes: what came damaged is lost. It does not look at the checksum of the IP header.
        let expected = [
            at("sent"),
            at("lost"),
            at("lost_retransmissions"),
            at("corrupted_or_modified_in_network"),
            at("bad_ip_checksum_received"),
            at("duplicated_by_network"),
            at("delivered_late"),
            at("sent"),
        ];
        let found = [
            counts.sent,
            counts.lost + counts.corrupted,
            counts.lost_retransmissions,
            counts.corrupted,
            counts.bad_ip_checksum,
            counts.duplicated,
            counts.late,
            counts.delivered + counts.undelivered(),
        ];
        assert_eq!(found, expected, "{scenario} {way} QP {}", flow.dest_qp);
        let psns: Vec<u32> = diff
            .losses
            .iter()
            .filter(|loss| matches!(loss.fate, Fate::Lost | Fate::Corrupted))
            .filter(|loss| (&loss.src, &loss.dst, loss.dest_qp) == (&flow.src, &flow.dst, flow.dest_qp))
            .map(|loss| loss.psn)
            .collect();
        let listed = flow_truth.get("lost_psns").or(flow_truth.get("lost_psns_first"));
        let listed = listed.map_or(&[][..], |list| list.as_array().unwrap());
        assert!(psns.iter().zip(listed).all(|(psn, truth)| *psn == *truth), "{scenario}: {psns:?}");
        assert_eq!(psns.len() as u64, at("lost"));
        assert!(psns.len() >= listed.len());
        events += at("lost") + at("duplicated_by_network") + at("delivered_late");
    }
    events
}

#[test]
fn soft_roce_pairs_show_what_befell_each_packet() {
    let mut events = 0;
    for entry in fs::read_dir("pcaps").unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some((scenario, tap)) = name.strip_suffix(".pcap.zst").and_then(|stem| stem.rsplit_once('-'))
        else {
            continue;
        };
        let [a, b] = ["A", "B"].map(|tap| format!("{scenario}-{tap}.pcap.zst"));
        match tap {
            // What is lost on the way to A is lost behind tap A.
            "B" if Path::new("pcaps").join(format!("{scenario}-A-stack.pcap.zst")).exists() => {
                events += judge(scenario, &diff(&[&a, &b]), &["A->B"]);
            }
            "B" => events += judge(scenario, &diff(&[&a, &b]), &["A->B", "B->A"]),
            "stack" => {
                let scenario = scenario.strip_suffix("-A").unwrap();
                let b = format!("{scenario}-B.pcap.zst");
                events += judge(scenario, &diff(&[&name, &b]), &["A->B", "B->A"]);
            }
            _ => {}
        }
    }
    assert!(events > 26_000, "{events} losses, duplicates and late packets");
}

/// A DSCP of which a bit was flipped is not re-marked: the checksum of its header is wrong.
#[test]
fn a_damaged_dscp_is_no_re_marking() {
    let diff = diff(&["corrupt_rc_write-A.pcap.zst", "corrupt_rc_write-B.pcap.zst"]);
    let mut ways = diff.segments.iter().flat_map(|segment| &segment.directions);
    assert!(ways.all(|way| way.dscp_changes.is_empty()));
}

/// Taps in the other order are the same comparison, seen from the other end.
#[test]
fn order_of_files_does_not_matter() {
    let names = ["loss1_both_rc_write-A-stack.pcap.zst", "loss1_both_rc_write-B.pcap.zst"];
    let [there, back] = [diff(&names), diff(&[names[1], names[0]])];
    assert_eq!(there.total(), back.total());
    let key = |loss: &rdmawire::report::diff::Loss, flip| (loss.frame, loss.psn, (loss.from == 0) ^ flip);
    let mut one: Vec<_> = there.losses.iter().map(|loss| key(loss, false)).collect();
    let mut other: Vec<_> = back.losses.iter().map(|loss| key(loss, true)).collect();
    one.sort_unstable();
    other.sort_unstable();
    assert_eq!(one.len(), 132);
    assert_eq!(one, other);
}
