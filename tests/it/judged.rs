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

/// Packets of this class: JSON has none of which there are none.
fn class(stream: &Value, name: &str) -> u64 {
    stream["classes"].as_object().unwrap().get(name).map_or(0, |packets| packets.as_u64().unwrap())
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

/// An application goes on to post while its queue pair tries in vain: the new packets are no progress.
#[test]
fn gave_up_while_the_application_posts() {
    let report = judged("gave-up-posting.pcap");
    assert_eq!(findings(&report), ["retries.exhausted", "timeout"]);
}

/// The next connection with a queue pair's number counts its packets from anywhere: none of them is late.
#[test]
fn a_number_used_anew_counts_from_anywhere() {
    let report = judged("number-used-anew.pcap");
    assert_eq!(class(stream(&report, 0x900, "requests"), "late_original"), 0);
}

/// All queue pairs begin at PSN 0, as NCCL's do: the port that both ends have tells which NAK is whose from the first packet on.
#[test]
fn pairs_by_one_port_of_both_ends() {
    let report = judged("psns-from-zero.pcap");
    let flows = report["flows"].as_array().unwrap();
    for flow in flows.iter().filter(|flow| flow["dest_qp"].as_u64() >= Some(0x900)) {
        assert_eq!(flow["peer_qp"].as_u64(), flow["dest_qp"].as_u64().map(|qp| qp - 0x800));
        assert_eq!(flow["requests"]["triggers"]["unknown"], 0);
    }
}

#[test]
fn an_acknowledgement_after_a_nak_of_its_psn_is_new() {
    let report = judged("atomic-after-nak.pcap");
    assert_eq!(class(stream(&report, 0x100, "responses"), "repeated_ack"), 0);
}

/// A pass of repetitions that lost some again fills holes sooner than a round trip: these are no late packets.
#[test]
fn a_pass_fills_its_holes() {
    let report = judged("pass-with-gaps.pcap");
    assert!(!findings(&report).contains(&"reorder"));
    let requests = stream(&report, 0x900, "requests");
    assert_eq!((class(requests, "late_original"), class(requests, "retransmission")), (0, 331));
}

/// A copy behind a NAK looks like a fast reaction to it: that makes no timeouts of the reactions to all other NAKs.
#[test]
fn one_fast_reaction_makes_no_timeouts() {
    let report = judged("one-fast-reaction.pcap");
    let triggers = &stream(&report, 0x901, "requests")["triggers"];
    assert_eq!(triggers["nak"], 9);
    // The NAK that the copy had taken.
    assert!(triggers["timeout"].as_u64() <= Some(1), "{triggers}");
}

#[test]
fn naks_of_one_direction_are_found() {
    let report = judged("naks-only.pcap");
    assert_eq!(findings(&report), ["naks.one_way"]);
    assert!(report["findings"][0]["text"].as_str().unwrap().contains("14 NAKs"));
}

/// Without the other direction, what comes again from a gap on, or alone and by its identification later than what is behind it, was lost
/// before the tap.
#[test]
fn losses_that_one_direction_proves() {
    let report = judged("read-data-only.pcap");
    assert_eq!(findings(&report), ["loss.upstream"]);
    assert!(bounds(stream(&report, 0x100, "responses"), "upstream")[0] >= 3);
    assert_eq!(bounds(stream(&judged("selective-one-way.pcap"), 0x900, "requests"), "upstream"), [13, 13]);
}

/// What a NAK asked for comes again, the rest of its pass is lost, and a timer expires: nothing was late.
#[test]
fn an_answer_to_a_nak_whose_pass_is_lost() {
    let report = judged("pass-lost-after-nak.pcap");
    assert_eq!(findings(&report), ["loss.downstream", "loss.upstream", "timeout"]);
}

/// A pass comes to the packet of a NAK that was lost behind the tap: that begins no episode of its own. Nor is a NAK the cause that is older than
/// the queue pair's timer.
#[test]
fn old_naks_are_no_reasons() {
    let triggers = |name| {
        stream(&judged(name), if name.starts_with("old") { 0x901 } else { 0x900 }, "requests")["triggers"]
            .clone()
    };
    let old = triggers("old-nak-in-pass.pcap");
    assert_eq!((&old["nak"], &old["timeout"]), (&2.into(), &2.into()));
    let late = triggers("nak-older-than-timer.pcap");
    assert_eq!((&late["nak"], &late["timeout"]), (&0.into(), &3.into()));
}

/// Answers are stamped 30 us before what they answer, by the clock of another interface: they are paired by their port, and the clocks are
/// said to be apart.
#[test]
fn answers_of_a_clock_that_is_behind() {
    let report = judged("clock-behind.pcapng");
    assert!(findings(&report).contains(&"clocks.apart"));
    let requests = stream(&report, 0x900, "requests");
    assert!(requests["triggers"]["nak"].as_u64() >= Some(5), "{}", requests["triggers"]);
}

/// A packet behind a silence may have been sent before, and lost: as often as packets are lost whose loss shows. That other flows of the
/// host take identifications from the same counter makes no losses: three requests were lost before the tap in 48 flows, most of which wait for each answer.
#[test]
fn silences_hide_few_losses_where_few_show() {
    let most = |report: &Value| -> u64 {
        let flows = report["flows"].as_array().unwrap().iter();
        flows.map(|flow| bounds(&flow["requests"], "upstream")[1]).sum()
    };
    let clean = judged("clean-silences.pcap");
    assert!(most(&clean) <= 3, "{}", most(&clean));
    let shared = judged("shared-ids.pcap");
    assert!((3..=110).contains(&most(&shared)), "{}", most(&shared));
}

/// The number of PSNs of READs is known before the path MTU: one response tells of no longer one.
#[test]
fn reads_before_the_path_mtu_is_known() {
    let report = judged("reads-before-mtu.pcap");
    assert_eq!(findings(&report), [""; 0]);
    assert_eq!(class(stream(&report, 0x22, "requests"), "new_after_gap"), 0);
}

/// What a requester lacks when the capture ends, it may still ask for: what was proved before stays proved.
#[test]
fn a_gap_at_the_end_undoes_no_proof() {
    let report = judged("ends-in-gap-of-data.pcap");
    assert_eq!(findings(&report), ["loss.upstream"]);
    assert_eq!(bounds(stream(&report, 0x11, "responses"), "upstream")[0], 1);
}

/// A NAK that comes when its packet was just sent again, and then arrives, is no sign of reordering: it was for the transmission before.
#[test]
fn a_nak_behind_the_repetition() {
    let report = judged("nak-behind-repetition.pcap");
    // One of them shows by an acknowledgement after a timeout, of less than the tap had seen.
    assert_eq!(bounds(stream(&report, 288_686, "requests"), "downstream")[0], 3);
    assert_eq!(bounds(stream(&report, 3_654_466, "requests"), "downstream")[0], 5);
}

/// A READ whose answer came so late that a timer had expired was not asked for again because a response was lost.
#[test]
fn slow_answers_are_no_loss() {
    let report = judged("slow-answer-timeout.pcap");
    let requests = stream(&report, 0x22, "requests");
    assert!(!findings(&report).contains(&"loss.downstream"), "{:?}", findings(&report));
    assert_eq!(
        (&requests["triggers"]["timeout"], &requests["triggers"]["implied_nak"]),
        (&1.into(), &0.into())
    );
}

/// Soft-RoCE, of which nothing was lost: acknowledgements that wait for as long as the timer runs come behind it, and are of the originals.
#[test]
fn slow_acknowledgements_are_no_loss() {
    let report = judged("slow-acknowledgements.pcap");
    assert!(!findings(&report).contains(&"loss.downstream"), "{:?}", findings(&report));
    assert_eq!(bounds(stream(&report, 0x32, "requests"), "downstream")[0], 0);
}

/// The same, where the timer ran longer: what is acknowledged before it came again had arrived, and all before it.
#[test]
fn acknowledged_before_it_came_again() {
    let report = judged("acknowledged-before-repeated.pcap");
    assert!(!findings(&report).contains(&"loss.downstream"), "{:?}", findings(&report));
    assert_eq!(bounds(stream(&report, 0x32, "requests"), "downstream")[0], 0);
}

/// Where the requests of the other end pass the tap, so would its answers: who gets none gives up.
#[test]
fn gave_up_without_any_answer() {
    let report = judged("gave-up-never-answered.pcap");
    assert_eq!(findings(&report), ["retries.exhausted", "timeout"]);
}

/// Where an answer to what is behind a READ came, its own had been sent: it was lost before the tap, and comes again.
#[test]
fn data_lost_before_a_later_answer() {
    for name in ["read-lost-before-ack.pcap", "read-lost-before-atomic.pcap"] {
        let report = judged(name);
        assert_eq!(findings(&report), ["loss.upstream"], "{name}");
        let data = stream(&report, 0x11, "responses");
        assert_eq!((bounds(data, "upstream")[0], class(data, "retransmission")), (1, 1), "{name}");
    }
}

/// Of what was sent before a capture began, nothing is missing.
#[test]
fn a_capture_that_begins_in_a_recovery() {
    let report = judged("begins-in-selective-repeat.pcap");
    assert_eq!(findings(&report), ["loss.upstream"]);
    assert_eq!(bounds(stream(&report, 0x22, "requests"), "upstream")[0], 3);
}

/// The rest of a READ that nothing answers any more need not have been sent.
#[test]
fn a_responder_that_died_within_a_read() {
    let report = judged("died-within-read.pcap");
    assert_eq!(findings(&report), ["timeout"]);
    assert_eq!(bounds(stream(&report, 0x11, "responses"), "upstream")[0], 0);
}

/// Tries that were answered end with an answer that arrived, unless they are as many as there can be.
#[test]
fn nothing_to_send_after_tries() {
    let report = judged("idle-after-tries.pcap");
    assert!(!findings(&report).contains(&"retries.exhausted"), "{:?}", findings(&report));
}

/// An older acknowledgement after a NAK does not acknowledge what that lacks: the answer to it is the first.
#[test]
fn an_answer_after_a_late_acknowledgement() {
    let report = judged("atomic-after-late-ack.pcap");
    let answers = stream(&report, 0x11, "responses");
    // The late one acknowledges nothing new.
    assert_eq!((class(answers, "new"), class(answers, "repeated_ack")), (7, 1));
}

/// The first response of a READ is lost, and lost again.
#[test]
fn data_lost_twice() {
    assert!(bounds(stream(&judged("data-lost-again.pcap"), 627_029, "responses"), "upstream")[1] >= 3);
}

/// A sender may go back twice within a microsecond: where nothing else was recorded twice, the second time is no copy.
#[test]
fn two_rewinds_at_once() {
    let report = judged("two-rewinds-at-once.pcap");
    assert_eq!(class(stream(&report, 1_436_713, "requests"), "capture_duplicate"), 0);
}

/// A requester that issues all of a READ again names no response that it lacks: the one that did not pass the tap is why.
#[test]
fn a_whole_read_again_names_no_response() {
    let report = judged("whole-read-again.pcapng");
    assert!(!findings(&report).contains(&"loss.downstream"), "{:?}", findings(&report));
    let data = stream(&report, 0x100, "responses");
    assert_eq!(bounds(data, "downstream")[0], 0);
    assert!(bounds(data, "upstream")[1] >= 1);
}

/// Where a READ of one response is not answered, that was lost as likely as the request, whatever else is lost.
#[test]
fn the_only_response_of_a_read() {
    let report = judged("only-response-lost.pcapng");
    assert_eq!(bounds(stream(&report, 1_975_361, "responses"), "upstream"), [0, 2]);
}

/// A READ that one response answered tells of no shorter path MTU: what is missing behind the next one was lost.
#[test]
fn a_gap_behind_a_read_of_one_response() {
    let report = judged("gap-behind-read.pcapng");
    let [least, most] = bounds(stream(&report, 2_288_505, "requests"), "upstream");
    assert!(least == 2 && most >= 2, "{least} {most}");
}

/// What a pass leaves out may be the answer to a READ that had been answered before.
#[test]
fn an_answer_left_out_of_a_pass() {
    let report = judged("read-left-out-of-pass.pcapng");
    assert!(bounds(stream(&report, 5_816_517, "responses"), "upstream")[1] >= 3);
}

/// What was ever outstanding at the tap is no window: the last packet of a burst is lost that was longer by one.
#[test]
fn a_tail_beyond_all_that_was_outstanding() {
    let report = judged("tail-beyond-reach.pcapng");
    let [least, most] = bounds(stream(&report, 1_524_214, "requests"), "upstream");
    assert!(least <= 5 && (5..=10).contains(&most), "{least} {most}");
}

/// Silences of some microseconds hide no loss where the timer takes milliseconds, as a timeout shows.
#[test]
fn silences_shorter_than_the_timer() {
    let report = judged("short-silences.pcapng");
    let [_, most] = bounds(stream(&report, 4_164_844, "requests"), "upstream");
    assert!(most <= 5, "{most}");
}

/// A READ is issued again from within, where nothing was sent before: the first try has no distance from another one. And timers that vary do
/// not grow: the next try is not awaited for longer than any before.
#[test]
fn gave_up_within_a_read_and_with_timers_that_vary() {
    for name in ["gave-up-within-read.pcapng", "gave-up-varying.pcapng"] {
        let report = judged(name);
        assert!(findings(&report).contains(&"retries.exhausted"), "{name} {:?}", findings(&report));
    }
}

/// A READ is issued again while its responses still come, and that request is lost behind the tap: they are no answer to it, and the next
/// repetition proves no loss before the tap.
#[test]
fn responses_under_way_are_no_answer_to_a_repetition() {
    let report = judged("read-requested-under-way.pcapng");
    assert!(!findings(&report).contains(&"loss.upstream"), "{:?}", findings(&report));
    assert_eq!(bounds(stream(&report, 0x100, "responses"), "upstream")[0], 0);
}

/// The one row of a section.
fn row<'a>(report: &'a Value, section: &str) -> &'a Value {
    let rows = report[section].as_array().unwrap();
    assert_eq!(rows.len(), 1, "{section}");
    &rows[0]
}

/// Paths in this state.
fn paths_in(report: &Value, state: &str) -> usize {
    report["paths"].as_array().unwrap().iter().filter(|path| path["state"] == state).count()
}

/// The answer to a retransmission comes a few nanoseconds sooner than any before: that it is to that one is in the time stamp or in the flag, and the first transmission was lost.
#[test]
fn a_fast_answer_to_a_retransmission_proves_no_late_packet() {
    for (name, section) in [("mrc-lost.pcap", "mrc"), ("uet-lost.pcap", "uet")] {
        let report = judged(name);
        let row = row(&report, section);
        assert_eq!((&row["lost_after_tap"], &row["spurious_retransmits"]), (&2.into(), &0.into()), "{name}");
    }
    let files =
        ["mrc-lost.pcap", "mrc-lost-receiver.pcap"].map(|name| format!("tests/data/judged/{name}.zst"));
    let args = ["analyze", "--json", "--merge", &files[0], &files[1]];
    let merged: Value = serde_json::from_str(&printed(cli().args(args))).unwrap();
    let row = row(&merged, "mrc");
    assert_eq!((&row["lost_after_tap"], &row["spurious_retransmits"]), (&2.into(), &0.into()));
}

/// A receiver answers half a microsecond after a packet, when the next one has come: the offset of what it answers is negative, and all round trips are measured.
#[test]
fn answers_of_a_receiver_that_is_behind_measure_round_trips() {
    let report = judged("mrc-answers-late.pcap");
    assert_eq!(findings(&report), ["path.bad"]);
    assert_eq!(row(&report, "mrc")["ack_rtt_ns"]["count"], 256);
    assert_eq!((paths_in(&report, "slow"), paths_in(&report, "good")), (1, 31));
}

/// Half of the paths lose, or some take not quite twice as long: they are told together.
#[test]
fn paths_that_are_bad_together_are_named() {
    let report = judged("mrc-four-bad-paths.pcap");
    assert_eq!((paths_in(&report, "lossy"), paths_in(&report, "good")), (8, 8));
    let found = findings(&report);
    assert_eq!(found.iter().filter(|&&id| id == "path.bad").count(), 2, "{found:?}");
    let slow = judged("mrc-slow-path.pcap");
    assert_eq!((paths_in(&slow, "slow"), paths_in(&slow, "good")), (2, 14));
}

/// Where the sender is tapped, two round trips show whether it heeds a request to skip a path.
#[test]
fn a_skip_that_is_ignored_shows_soon_at_the_sender() {
    let report = judged("mrc-skip-ignored.pcap");
    assert!(findings(&report).contains(&"mrc.skip_ignored"));
    assert!(row(&report, "mrc")["after_skip"].as_u64() >= Some(40));
}

/// The first packet of all came trimmed, before any whole one.
#[test]
fn what_is_trimmed_first_is_trimmed() {
    for (name, section, trimmed) in [
        ("mrc-all", "mrc", 5),
        ("mrc-none", "mrc", 5),
        ("uet-all", "uet", 4),
        ("uet-none", "uet", 4),
        ("uet-ip", "uet", 4),
    ] {
        let report = judged(&format!("first-trimmed-{name}.pcap"));
        let row = row(&report, section);
        let counts = (&row["trimmed"], &row["payload_bytes"], &row["reordered"]);
        assert_eq!(counts, (&trimmed.into(), &8192.into(), &0.into()), "{name}");
        assert!(!findings(&report).contains(&"class.several"), "{name}");
    }
    let report = judged("first-trimmed-rc.pcap");
    assert_eq!(class(&report["flows"][0]["requests"], "trimmed"), 12);
    assert_eq!(class(&report["flows"][0]["requests"], "corrupt"), 0);
    assert_eq!(report["capture"]["malformed_packets"], 0);
}

/// The capture keeps no more of a packet than its delivery header: nothing of it hides, and its lengths say the payload. With a reserved bit in IP protocol 253, it is no telemetry.
#[test]
fn what_is_left_of_ultra_ethernet_is_enough() {
    let report = judged("uet-cut.pcap");
    assert_eq!(findings(&report), [""; 0]);
    assert_eq!(row(&report, "uet")["payload_bytes"], 8192);
    let reserved = judged("uet-reserved-bit.pcap");
    assert_eq!(reserved["capture"]["not_decoded"].as_array().map(Vec::len), Some(0));
    assert_eq!(row(&reserved, "uet")["packets"], 4);
}

/// The identifications of a host go round while one of its flows is silent: what comes then seems to be half of all numbers behind, and is new.
#[test]
fn numbers_that_go_round_overtake_nobody() {
    let report = judged("numbers-go-round.pcap");
    let requests = stream(&report, 0x900, "requests");
    assert_eq!((class(requests, "late_original"), class(requests, "new_after_gap")), (0, 6));
    assert_eq!(bounds(requests, "upstream"), [7, 8]);
}

/// A pass of repetitions leaves out one packet, which was lost again, and the next one fills a hole: 19 packets were lost before the tap.
#[test]
fn what_is_left_out_before_a_hole_may_be_lost() {
    let report = judged("left-out-before-hole.pcap");
    assert!(bounds(stream(&report, 0x900, "requests"), "upstream")[1] >= 19);
}

/// The tail of a burst was lost. Of what the sender repeats, only packets come that had not come before: it goes back once.
#[test]
fn a_pass_that_fills_only_holes_is_one() {
    let report = judged("pass-of-holes.pcap");
    for flow in report["flows"].as_array().unwrap() {
        assert_eq!(flow["requests"]["triggers"]["unknown"], 0, "{}", flow["dest_qp"]);
    }
    assert!(!findings(&report).contains(&"retransmit.unexplained"));
}

/// Answers are stamped 30 us before what they answer, and no port tells whose they are: they are the only ones that could be. All but the first NAKs,
/// which came before that was known, are causes; three packets were lost before the tap and six behind it.
#[test]
fn answers_of_a_clock_that_is_behind_are_paired_by_what_follows() {
    let report = judged("clock-behind-unpaired.pcapng");
    assert_eq!(report["connections"][0]["paired_by"], "psn");
    let requests = stream(&report, 0x900, "requests");
    assert!(requests["triggers"]["nak"].as_u64() >= Some(6), "{}", requests["triggers"]);
    let [before, behind] = [("upstream", 3), ("downstream", 6)];
    for (place, lost) in [before, behind] {
        let [least, most] = bounds(requests, place);
        assert!((lost..=12 * lost).contains(&most) && least <= lost, "{place}: {least} to {most}");
    }
    // What came after its acknowledgement was not missed.
    assert_eq!(bounds(requests, "capture")[0], 0);
}

/// A requester that waits for each answer, and for 3 ms then, and numbers its packets: where the next number comes next, nothing was sent meanwhile.
#[test]
fn the_next_number_comes_after_no_loss() {
    let report = judged("one-at-a-time-numbered.pcap");
    assert!(bounds(stream(&report, 0x900, "requests"), "upstream")[1] <= 10);
}

/// The mirror missed 17 packets, most of them such as came again. It misses few: of the losses behind the tap, as many are possible as are likely.
#[test]
fn a_mirror_that_misses_few_packets_bounds_losses() {
    let report = judged("mirror-misses-few.pcap");
    let requests = stream(&report, 0x900, "requests");
    assert!(bounds(requests, "capture")[1] >= 17);
    let [_, behind] = bounds(requests, "downstream");
    assert!((5..=25).contains(&behind), "{behind}");
}

/// Seven tries, each twice as late as the one before, and then silence for twice as long as before the last one: no retry count allows more.
#[test]
fn who_tried_seven_times_gave_up() {
    let report = judged("gave-up-by-growing-timer.pcap");
    assert!(findings(&report).contains(&"retries.exhausted"));
    let flow = report["flows"].as_array().unwrap().iter().find(|flow| flow["dest_qp"] == 0x900).unwrap();
    assert_eq!(flow["gave_up"]["tries"], 8);
}

/// A switch dropped the tail of the first burst, when nothing was acknowledged yet, and tails of what was sent again: 55 packets.
#[test]
fn tails_of_bursts_are_as_long_as_bursts() {
    let report = judged("tail-of-first-burst.pcap");
    assert!(bounds(stream(&report, 0x902, "requests"), "upstream")[1] >= 55);
}

/// UC repeats nothing: what is missing at the tap was lost before it, or by the capture, and breaks messages.
#[test]
fn broken_messages_say_how_many_packets_are_missing() {
    let report = judged("uc-broken.pcap");
    let text = report["findings"][0]["text"].as_str().unwrap();
    assert!(text.contains("4 messages broken (0 to 5 packets lost before the tap)"), "{text}");
}
