//! Why packets were sent again: what each cause is, and that it counts once.

use crate::support::frames::Roce;
use rdmawire::{
    analyze::{Analysis, Class, Options},
    capture::{Record, Time},
    opcode::Opcode,
    report::{Location, Report, Trigger},
    wire::Ecn,
};

const RTT_NS: i64 = 5_000;
const SYNDROME_NAK: u8 = 0x60;

/// Frames of one connection, as a tap next to the requester sees them.
#[derive(Default)]
struct Trace(Vec<(i64, Roce)>);

impl Trace {
    fn request(&mut self, time: i64, opcode: Opcode, psn: u32, payload: usize) {
        self.0.push((time, Roce { opcode, psn, payload, qp: 0x12, ..Roce::default() }));
    }

    fn write(&mut self, time: i64, psn: u32) {
        self.request(time, Opcode::RC_WRITE_ONLY, psn, 64);
    }

    fn answer(&mut self, time: i64, opcode: Opcode, psn: u32, (syndrome, payload): (u8, usize)) {
        let back = Roce { src: 2, dst: 1, qp: 0x11, ..Roce::default() };
        self.0.push((time, Roce { opcode, psn, syndrome, payload, ..back }));
    }

    fn ack(&mut self, time: i64, psn: u32) {
        self.answer(time, Opcode::RC_ACKNOWLEDGE, psn, (0, 0));
    }

    fn nak(&mut self, time: i64, psn: u32) {
        self.answer(time, Opcode::RC_ACKNOWLEDGE, psn, (SYNDROME_NAK, 0));
    }

    /// Ten writes, one every 10 µs, each acknowledged: PSNs 10 to 19.
    fn begun() -> Trace {
        let mut trace = Trace::default();
        for n in 0..10 {
            trace.write(i64::from(n) * 10_000, 10 + n);
            trace.ack(i64::from(n) * 10_000 + RTT_NS, 10 + n);
        }
        trace
    }

    fn analyze(mut self) -> Report {
        self.0.sort_by_key(|(time, _)| *time);
        let mut analysis = Analysis::new(Options { verify_icrc: false, ..Options::default() });
        for (time, roce) in self.0 {
            let frame = roce.frame();
            let (time, wire_len) = (Time(time), frame.len() as u32);
            analysis.push(&Record { time, link: roce.link(), interface: 0, wire_len, frame: &frame });
        }
        analysis.finish()
    }
}

/// The flow of the requests, and that of the answers.
fn flows(report: &Report) -> [&rdmawire::report::Flow; 2] {
    let of = |qp| report.flows.iter().find(|flow| flow.dest_qp == qp).unwrap();
    [of(0x12), of(0x11)]
}

fn has(report: &Report, id: &str) -> bool {
    report.head.findings.iter().any(|finding| finding.id == id)
}

#[test]
fn one_timeout_counts_once_though_the_first_answer_passed_the_tap() {
    let mut trace = Trace::begun();
    trace.write(100_000, 20);
    trace.ack(105_000, 20);
    trace.write(110_000, 21);
    trace.write(67_115_000, 20);
    trace.write(67_120_000, 21);
    trace.ack(67_125_000, 21);
    let report = trace.analyze();
    let [requests, _] = flows(&report);
    assert_eq!((requests.requests.triggers.timeout, requests.requests.retransmits), (1, 2));
    assert_eq!((requests.timeouts.len(), report.episodes.len()), (1, 1));
    assert_eq!(report.episodes[0].retransmitted_packets, 2);
}

/// Packets of a paused sender wait behind the pause: what several timers sent comes at once, with the answers to each between.
#[test]
fn timers_that_expired_in_a_pause_count_one_by_one() {
    let mut trace = Trace::begun();
    for at in [100_000, 1_200_000, 1_210_000, 1_220_000] {
        trace.write(at, 20);
        trace.write(at + 200, 21);
        if at > 1_000_000 {
            trace.ack(at + RTT_NS, 21);
        }
    }
    let report = trace.analyze();
    let [requests, _] = flows(&report);
    let triggers = requests.requests.triggers;
    assert_eq!((triggers.timeout, triggers.unknown, requests.requests.retransmits), (3, 0, 6));
}

#[test]
fn a_repeated_read_is_the_cause_of_its_data_and_its_timeout_counts_with_the_request() {
    for before in [false, true] {
        let mut trace = Trace::begun();
        trace.write(100_000, 20);
        trace.ack(105_000, 20);
        for at in [110_000, 4_120_000] {
            // The sender goes back to the write before the READ, or to the READ.
            if before && at > 1_000_000 {
                trace.write(at - 5_000, 20);
                trace.ack(at, 20);
            }
            trace.request(at, Opcode::RC_READ_REQUEST, 21, 0);
            trace.answer(at + RTT_NS, Opcode::RC_READ_RESPONSE_ONLY, 21, (0, 256));
        }
        let report = trace.analyze();
        let [requests, responses] = flows(&report);
        assert_eq!(requests.requests.triggers.timeout, 1, "{before}");
        let triggers = responses.responses.triggers;
        assert_eq!((triggers.repeated_read, triggers.timeout, triggers.unknown), (1, 0, 0), "{before}");
        let unexplained = report.head.findings.iter().find(|finding| finding.id == "retransmit.unexplained");
        assert!(
            unexplained.is_none_or(|finding| !finding.text.contains("does not show why")),
            "{unexplained:?}"
        );
    }
}

#[test]
fn a_late_packet_before_its_nak_is_why_it_was_sent() {
    let mut trace = Trace::begun();
    // 21 overtakes 20: the receiver drops it and those after it, and asks for both.
    for (n, psn) in [21, 20, 22, 23, 24].into_iter().enumerate() {
        trace.write(100_000 + n as i64 * 500, psn);
    }
    trace.nak(104_000, 20);
    trace.nak(104_600, 21);
    for psn in 21..25 {
        trace.write(107_000 + i64::from(psn) * 100, psn);
    }
    trace.ack(115_000, 24);
    let report = trace.analyze();
    let [requests, _] = flows(&report);
    assert_eq!(requests.requests.reordering.map(|late| late.then_nak), Some(1));
    assert_eq!(requests.requests.out_of_order, 1);
    assert!(has(&report, "reorder.nak") && !has(&report, "retransmit.unexplained"));
    assert!(
        report.episodes.iter().all(|episode| episode.location == Location::None),
        "{:?}",
        report.episodes
    );
}

#[test]
fn a_nak_that_is_answered_as_late_as_a_timer_expires_was_lost() {
    for lost_first in [true, false] {
        let mut trace = Trace::begun();
        let mut time = 100_000;
        for n in 0..4u32 {
            let psn = 20 + 3 * n;
            // The middle one of three is missing. Its NAK is answered after 2 µs, or lost after the tap.
            trace.write(time, psn);
            trace.write(time + 1_000, psn + 2);
            trace.nak(time + 6_000, psn + 1);
            let is_lost = n == if lost_first { 0 } else { 3 };
            let again = time + 6_000 + if is_lost { 300_000 } else { 2_000 };
            trace.write(again, psn + 1);
            trace.write(again + 500, psn + 2);
            trace.ack(again + RTT_NS, psn + 2);
            time = again + 50_000;
        }
        let report = trace.analyze();
        let [requests, _] = flows(&report);
        let triggers = requests.requests.triggers;
        assert_eq!((triggers.nak, triggers.timeout), (3, 1), "{lost_first}");
        assert_eq!(requests.latency_ns.nak_reaction.map(|ns| ns.max), Some(2_000));
        let late: Vec<u64> = requests.timeouts.iter().map(|timeout| timeout.waited_ns).collect();
        assert_eq!(late, [300_000]);
        let of = report.episodes.iter().filter(|episode| episode.trigger == Trigger::Timeout);
        assert_eq!(of.count(), 1);
    }
}

#[test]
fn an_acknowledgement_that_waited_for_an_earlier_packet_is_no_round_trip() {
    let mut trace = Trace::begun();
    // 20 is missing until it is sent again. The receiver keeps the others.
    for psn in 21..30 {
        trace.write(100_000 + i64::from(psn) * 100, psn);
    }
    trace.nak(109_000, 20);
    trace.write(260_000, 20);
    trace.ack(265_000, 29);
    let report = trace.analyze();
    let [requests, _] = flows(&report);
    let rtt = requests.latency_ns.ack_rtt.unwrap();
    // The ten writes before.
    assert_eq!((rtt.count, rtt.max), (10, RTT_NS as u64));
}

#[test]
fn a_nak_completes_the_messages_before_it() {
    let mut trace = Trace::begun();
    for psn in [20, 21, 23] {
        trace.write(100_000 + i64::from(psn) * 100, psn);
    }
    trace.nak(108_000, 22);
    let report = trace.analyze();
    let [requests, _] = flows(&report);
    assert_eq!(requests.latency_ns.message_completion.map(|ns| ns.count), Some(12));
}

#[test]
fn a_psn_with_other_content_is_no_retransmission() {
    let mut trace = Trace::default();
    for n in 0..10u32 {
        let time = i64::from(n) * 20_000;
        for (after, payload) in [(0, 64), (15_000, 0)].into_iter().take(1 + (n % 3 == 2) as usize) {
            trace.request(time + after, Opcode::RC_SEND_ONLY, n, payload);
            trace.ack(time + after + RTT_NS, n);
        }
    }
    let report = trace.analyze();
    let [requests, _] = flows(&report);
    assert_eq!(
        (requests.requests.reused_psns, requests.requests.retransmits),
        (3, 0),
        "{:?}",
        requests.requests
    );
    assert_eq!(requests.requests.classes.get(&Class::ReusedPsn), Some(&3));
    assert_eq!(requests.requests.triggers, rdmawire::report::Triggers::default());
    assert!(has(&report, "psn.reused") && !has(&report, "timeout") && !has(&report, "retransmit.spurious"));
}

#[test]
fn a_sender_that_marks_all_its_packets_is_no_congestion() {
    let marked = |ecn: &dyn Fn(usize) -> Ecn| {
        let mut trace = Trace::default();
        for n in 0..50 {
            trace.write(i64::from(n) * 10_000, n as u32);
            trace.ack(i64::from(n) * 10_000 + RTT_NS, n as u32);
        }
        for (n, (_, roce)) in trace.0.iter_mut().enumerate() {
            roce.ecn = ecn(n);
        }
        trace.analyze()
    };
    let report = marked(&|_| Ecn::CE);
    for flow in flows(&report) {
        assert!(flow.sets_ce, "{} {} {}", flow.packets, flow.ce_packets, flow.ect_packets);
    }
    assert!(has(&report, "congestion.sender_marks"));
    let ids: Vec<&str> = report.head.findings.iter().map(|finding| finding.id.as_ref()).collect();
    assert!(!ids.contains(&"congestion.no_cnp") && !ids.contains(&"congestion.control_marked"), "{ids:?}");
    // A queue marks some.
    let report = marked(&|n| if n < 20 { Ecn::ECT0 } else { Ecn::CE });
    assert!(!has(&report, "congestion.sender_marks") && has(&report, "congestion.no_cnp"));
}
