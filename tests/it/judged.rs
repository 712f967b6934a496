//! Captures of a simulator that is not this project's, in each of which one thing went wrong that was judged wrong once: what is right is known
//! from that simulator. Payloads are zeros or the letter Z.

use crate::support::programs::{cli, printed};
use serde_json::Value;

/// The report of one of these captures.
fn judged(name: &str) -> Value {
    let file = format!("tests/data/judged/{name}.zst");
    serde_json::from_str(&printed(cli().args(["analyze", "--json", &file]))).unwrap()
}

/// The findings that are no notes, by their names.
fn findings(report: &Value) -> Vec<&str> {
    let all = report["findings"].as_array().unwrap().iter();
    all.filter(|finding| finding["severity"] != "note")
        .map(|finding| finding["id"].as_str().unwrap())
        .collect()
}

/// What one flow's stream has, by the flow's queue pair.
fn stream<'a>(report: &'a Value, qp: u64, side: &str) -> &'a Value {
    let flows = report["flows"].as_array().unwrap();
    &flows.iter().find(|flow| flow["dest_qp"] == qp).unwrap()[side]
}

fn bounds(stream: &Value, place: &str) -> [u64; 2] {
    [0, 1].map(|at| stream["losses"][place][at].as_u64().unwrap())
}

/// READ data that were lost before the tap are the responder's, whatever requests are between the READs.
#[test]
fn data_lost_between_writes_have_a_place() {
    let report = judged("readup-RWR.pcap");
    assert_eq!(findings(&report), ["loss.upstream"]);
    let data = stream(&report, 0x11, "responses");
    assert_eq!(
        (&data["loss_episodes"]["upstream"], &data["loss_episodes"]["certain"]),
        (&1.into(), &1.into())
    );
    assert_eq!(bounds(stream(&report, 0x22, "requests"), "upstream")[0], 0);
}

/// Responses behind one that never came are refused, and come again: nothing of them was lost.
#[test]
fn refused_data_were_not_lost() {
    for name in ["read-behind-gap.pcap", "read-stale-responses.pcap"] {
        let report = judged(name);
        assert!(!findings(&report).contains(&"loss.downstream"), "{name}");
        for flow in report["flows"].as_array().unwrap() {
            assert_eq!(bounds(&flow["responses"], "downstream")[0], 0, "{name}");
        }
    }
}

/// A READ that is issued again and gets no answer was not acknowledged before, nor were its data lost before the tap for sure.
#[test]
fn a_read_without_an_answer_was_not_acknowledged() {
    for name in ["reissued-read-lost.pcap", "rr3.pcap"] {
        let report = judged(name);
        let found = findings(&report);
        assert!(found.contains(&"loss.downstream"), "{name} {found:?}");
        assert!(
            !found.contains(&"retransmit.spurious") && !found.contains(&"loss.upstream"),
            "{name} {found:?}"
        );
    }
    assert!(bounds(stream(&judged("rr4.pcap"), 0x11, "responses"), "upstream")[1] >= 3);
}

#[test]
fn corrupt_data_were_not_lost_elsewhere() {
    let report = judged("corrupt-read.pcap");
    let data = stream(&report, 0x11, "responses");
    assert_eq!(
        (&data["loss_episodes"]["corrupt"], &data["loss_episodes"]["upstream"]),
        (&1.into(), &0.into())
    );
    assert_eq!((bounds(data, "corrupt"), bounds(data, "upstream")), ([1, 1], [0, 0]));
}

/// A repetition that its pass leaves out, and that is asked for, was lost before the tap: an older copy proves nothing.
#[test]
fn repetitions_that_passes_leave_out() {
    let report = judged("rewind-gap-certain.pcap");
    let requests = stream(&report, 0x22, "requests");
    let place = |of: &str| requests["loss_episodes"][of].as_u64().unwrap();
    assert_eq!((place("upstream"), place("downstream")), (1, 1));
    assert!(bounds(requests, "upstream")[0] == 1 && bounds(requests, "downstream")[0] == 1);
}

/// What was only late, and made its receiver ask, was not lost: before the tap, and behind it.
#[test]
fn late_packets_that_were_asked_for() {
    assert_eq!(findings(&judged("reordered-read.pcap")), ["reorder.nak"]);
    let report = judged("reordered-after-tap.pcap");
    let requests = stream(&report, 0x22, "requests");
    assert_eq!((&requests["loss_episodes"]["downstream"], bounds(requests, "downstream")[0]), (&0.into(), 0));
}

#[test]
fn a_read_request_lost_before_the_tap() {
    assert_eq!(findings(&judged("request-lost-before-tap-R2048.pcap")), ["loss.upstream"]);
}

/// The last try of a queue pair that gave up is lost, too; times between tries are those of the same packet.
#[test]
fn queue_pairs_that_gave_up() {
    assert!(bounds(stream(&judged("giveup-fixed-131072.pcap"), 0x22, "requests"), "downstream")[1] >= 16);
    let report = judged("giveup-ackpath-fixed.pcap");
    let text = report["findings"][0]["text"].as_str().unwrap();
    assert!(text.contains("was sent 8 times 131 µs apart (timeout exponent 5, retry count 7)"), "{text}");
}

/// One frame that only the capture missed proves no loss, although the sender goes over it again for another reason.
#[test]
fn what_only_the_capture_missed() {
    let report = judged("tap-missed-one-21.pcap");
    assert_eq!(findings(&report), ["loss.downstream"]);
    assert_eq!(bounds(stream(&report, 0x22, "requests"), "upstream")[0], 0);
}

/// Acknowledgements that are stamped before their packets: two clocks.
#[test]
fn clocks_of_two_directions() {
    let report = judged("two-ports-8000.pcapng");
    assert!(findings(&report).contains(&"clocks.apart"), "{:?}", findings(&report));
    let apart = report["capture"]["clocks_apart_ns"].as_u64().unwrap();
    assert!((2_000..8_000).contains(&apart), "{apart}");
}
