//! Connections as the connection manager sets them up: every outcome, on messages whose times are known, and on captures of real ones.

use std::net::Ipv4Addr;

use crate::support::trace;
use rdmawire::{
    analyze::{Analysis, Options},
    capture::{Record, Time},
    craft::{Channel, Dialog, Endpoint, Management, Packet, Path},
    dissect::{Encapsulation, Link},
    opcode::Opcode,
    report::{Closing, Finding, PairedBy, Reason, Report, Service, Setup, SetupOutcome, Side},
    wire::*,
};

const MS: i64 = 1_000_000;
const S: i64 = 1_000_000_000;

fn path() -> Path {
    Path::rocev2(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2))
}

fn dialog(n: u32) -> Dialog {
    let psns = (Psn(111), Psn(222));
    let dialog = Dialog::new(path(), Qpn(0x100 + n), Qpn(0x200 + n));
    Dialog { active_psn: psns.0, passive_psn: psns.1, transaction_id: u64::from(n) + 7, ..dialog }
}

/// Analyzes messages at these times, on interface 0, each with a PSN of its own, as adapters send them.
fn run(messages: &[(i64, Packet)]) -> Report {
    let mut analysis = Analysis::new(Options::default());
    for (n, (time, packet)) in messages.iter().enumerate() {
        let is_message = packet.get::<Deth>().is_some();
        let packet = if is_message { numbered(packet, n as u32) } else { packet.clone() };
        push(&mut analysis, *time, 0, &packet);
    }
    analysis.finish()
}

fn numbered(packet: &Packet, n: u32) -> Packet {
    packet.clone().edit(|bth: Bth| bth.with_psn(Psn(n)))
}

fn push(analysis: &mut Analysis, time: i64, interface: u16, packet: &Packet) {
    let frame = packet.build();
    let wire_len = frame.len() as u32;
    analysis.push(&Record { time: Time(time), link: Link::ETHERNET, interface, wire_len, frame: &frame });
}

/// A packet of the connection, or of another queue pair between the same hosts, from the passive side.
fn data(dialog: &Dialog, psn: u32) -> Packet {
    let channel = Channel::rc(dialog.path, dialog.active_qp, dialog.passive_qp);
    channel.headers(Opcode::RC_SEND_ONLY, Psn(psn)).payload(vec![1; 64])
}

fn only(report: &Report) -> &Setup {
    let [setup] = &report.head.setups[..] else { panic!("{:#?}", report.head.setups) };
    setup
}

fn of_kind<'a>(report: &'a Report, id: &str) -> Vec<&'a Finding> {
    report.head.findings.iter().filter(|finding| finding.id == id).collect()
}

#[test]
fn a_connection_has_all_that_its_messages_say() {
    let d = dialog(1);
    let report = run(&[
        (0, d.req(b"hello")),
        (3 * MS, d.rep(b"there")),
        (5 * MS, d.rtu(&[])),
        (6 * MS, data(&d, 111)),
        (60 * MS, d.dreq(true, &[])),
        (61 * MS, d.drep(false, &[])),
    ]);
    let setup = only(&report);
    assert_eq!((setup.outcome, setup.service), (SetupOutcome::Closed, Service::Rc));
    assert_eq!((setup.port, setup.port_space.as_deref()), (Some(4420), Some("TCP")));
    assert_eq!(setup.application.as_deref(), Some("NVMe-oF"));
    let flow = &report.flows[setup.active.flow.or(setup.passive.flow).unwrap()];
    assert_eq!(
        (flow.application.as_deref(), flow.application_by.as_deref()),
        (Some("NVMe-oF"), Some("service"))
    );
    assert_eq!(setup.service_id.as_deref(), Some("0x0000000001061144"));
    assert_eq!((setup.answer_ns, setup.setup_ns), (Some(3_000_000), Some(5_000_000)));
    assert_eq!((setup.closed_by, setup.closing), (Some(Side::Passive), Some(Closing::Answered)));
    assert_eq!((setup.closed_ns, setup.close_answer_ns), (Some(60 * MS), Some(1_000_000)));
    assert_eq!((setup.requests, setup.replies, setup.confirmations, setup.waits), (1, 1, 1, 0));
    assert_eq!(setup.frames, [1, 2, 3, 5, 6]);
    assert_eq!((setup.path_mtu_bytes, setup.retry_count), (Some(1024), Some(7)));
    assert_eq!(setup.ack_timeout_ns, Some(4096 << 19));
    assert_eq!(setup.remote_cm_timeout_ns, Some(4096 << 20));
    assert_eq!(setup.target_ack_delay_ns, Some(4096 << 15));
    let (active, passive) = (&setup.active, &setup.passive);
    assert_eq!((active.addr.as_str(), passive.addr.as_str()), ("10.0.0.1", "10.0.0.2"));
    assert_eq!((active.ip.as_deref(), active.port), (Some("10.0.0.1"), Some(50_000)));
    assert_eq!((passive.ip.as_deref(), passive.port), (Some("10.0.0.2"), Some(4420)));
    assert_eq!((active.qp, passive.qp), (Some(0x101), Some(0x201)));
    assert_eq!((active.starting_psn, passive.starting_psn), (Some(222), Some(111)));
    assert_eq!((active.comm_id, passive.comm_id), (Some(d.active_comm_id), Some(d.passive_comm_id)));
    assert_eq!(active.private_data.as_deref(), Some("68656c6c6f"));
    assert_eq!(passive.private_data.as_deref(), Some("7468657265"));
    assert_eq!((active.lid, active.gid.as_deref()), (None, Some("::ffff:10.0.0.1")));
    assert_eq!((active.initiator_depth, passive.responder_resources), (Some(16), Some(16)));
    let flow = &report.flows[active.flow.unwrap()];
    assert_eq!((flow.dest_qp, passive.flow), (0x201, None));
    assert!(setup.why.is_empty(), "{:?}", setup.why);
    assert!(!report.head.findings.iter().any(|finding| finding.id.starts_with("cm.")));
}

/// Who asks again had no answer; who records twice has not asked again.
#[test]
fn repetitions_count_and_copies_do_not() {
    let d = dialog(1);
    let report = run(&[
        (0, d.req(&[])),
        (4 * S, d.req(&[])),
        (4 * S + MS, d.mra(true, CmMessage::REQ, CmTimeout(24))),
        (10 * S, d.rep(&[])),
        (10 * S + MS, d.rtu(&[])),
    ]);
    let setup = only(&report);
    assert_eq!((setup.requests, setup.waits, setup.wait_ns), (2, 1, Some(4096 << 24)));
    assert_eq!((setup.outcome, setup.setup_ns), (SetupOutcome::Established, Some(10_001_000_000)));
    assert_eq!(setup.frames, [1, 2, 3, 4, 5]);
    let [slow] = of_kind(&report, "cm.slow")[..] else { panic!("{:#?}", report.head.findings) };
    assert!(slow.text.contains("up to 10.0 s") && slow.text.contains("repeated 1 time"), "{}", slow.text);

    // Two taps on the path of one message.
    let mut analysis = Analysis::new(Options::default());
    for (n, packet) in [d.req(&[]), d.rep(&[]), d.rtu(&[])].iter().enumerate() {
        let packet = numbered(packet, n as u32);
        push(&mut analysis, n as i64 * MS, 0, &packet);
        push(&mut analysis, n as i64 * MS + 2000, 1, &packet);
    }
    let report = analysis.finish();
    let setup = only(&report);
    assert_eq!((setup.requests, setup.replies, setup.confirmations), (1, 1, 1));
    assert!(!setup.is_slow());
}

/// All reasons of IBTA have words and advice; what is not assigned is said.
#[test]
fn refusals_say_who_and_why_and_what_to_do() {
    let mut words = std::collections::BTreeSet::new();
    for reason in (1..=33).chain([35, 99]) {
        let d = dialog(1);
        let report = run(&[(0, d.req(b"hi")), (2 * MS, d.rej(RejectReason(reason), b"no"))]);
        let setup = only(&report);
        let is_timeout = RejectReason(reason) == RejectReason::TIMEOUT;
        let outcome = if is_timeout { SetupOutcome::GaveUp } else { SetupOutcome::Refused };
        assert_eq!((setup.outcome, setup.rejected_by), (outcome, Some(Side::Passive)), "{reason}");
        assert_eq!((setup.reject_reason, setup.rejected_ns), (Some(reason), Some(2_000_000)));
        assert_eq!(setup.passive.private_data.as_deref(), Some("6e6f"));
        assert!(setup.next.as_deref().is_some_and(|next| next.len() > 20));
        words.insert(setup.reason.clone().unwrap());
        let id = if is_timeout { "cm.unanswered" } else { "cm.refused" };
        let [finding] = of_kind(&report, id)[..] else { panic!("{:#?}", report.head.findings) };
        if !is_timeout {
            assert!(finding.text.contains(setup.reason.as_deref().unwrap()), "{}", finding.text);
            assert!(finding.next.starts_with(setup.next.as_deref().unwrap()), "{}", finding.next);
        }
    }
    assert_eq!(words.len(), 35, "{words:?}");

    // What is acceptable instead.
    let d = dialog(1);
    let info = |reason, info: &[u8]| {
        let mut ari = [0; 72];
        ari[..info.len()].copy_from_slice(info);
        let rej = |rej: CmRej| rej.with_ari(CmInfo(ari)).with_reject_info_length(info.len() as u8);
        let report = run(&[(0, d.req(&[])), (MS, d.rej(RejectReason(reason), &[]).edit(rej))]);
        only(&report).reason.clone().unwrap().into_owned()
    };
    assert_eq!(info(26, &[0x30]), "invalid path MTU (acceptable: 1024 bytes)");
    assert_eq!(info(13, &[0, 5]), "primary remote LID (acceptable: 0x5)");
    assert_eq!(info(12, &[0; 3]), "primary remote GID");
}

#[test]
fn silence_is_told_from_a_missing_direction() {
    let d = dialog(1);
    let later = |at| (at, data(&dialog(9), 1));
    // Asked once; nothing of the other direction is in the capture.
    let report = run(&[(0, d.req(&[])), later(20 * S)]);
    let setup = only(&report);
    assert_eq!((setup.outcome, setup.why.get("outcome")), (SetupOutcome::Unknown, Some(&Reason::OneWay)));
    assert!(of_kind(&report, "cm.unanswered").is_empty());
    // Asked again: nothing had been heard.
    let report = run(&[(0, d.req(&[])), (4 * S, d.req(&[])), later(20 * S)]);
    assert_eq!(only(&report).outcome, SetupOutcome::Unanswered);
    assert_eq!(of_kind(&report, "cm.unanswered").len(), 1);
    // The other side talks, but not about this.
    let back = Channel::rc(d.path.reversed(), Qpn(9), Qpn(9)).headers(Opcode::RC_SEND_ONLY, Psn(1));
    let report = run(&[(0, d.req(&[])), (MS, back), later(20 * S)]);
    assert_eq!(only(&report).outcome, SetupOutcome::Unanswered);
    // The answer may still come.
    let report = run(&[(0, d.req(&[])), later(S)]);
    assert_eq!(only(&report).outcome, SetupOutcome::Pending);
    let report = run(&[(0, d.req(&[])), (MS, d.mra(true, CmMessage::REQ, CmTimeout(24))), later(20 * S)]);
    assert_eq!(only(&report).outcome, SetupOutcome::Pending);
    // Accepted, and never heard of again.
    let report = run(&[(0, d.req(&[])), (MS, d.rep(&[])), (4 * S, d.rep(&[])), later(20 * S)]);
    assert_eq!((only(&report).outcome, only(&report).replies), (SetupOutcome::Unconfirmed, 2));
    // Packets of the connection confirm as well as an RTU.
    let report = run(&[(0, d.req(&[])), (MS, d.rep(&[])), (2 * MS, data(&d, 111)), later(20 * S)]);
    let setup = only(&report);
    assert_eq!((setup.outcome, setup.setup_ns), (SetupOutcome::Established, None));
    assert_eq!(setup.why.get("setup_ns"), Some(&Reason::Midstream));
}

/// One direction alone, and captures that begin late: what is not known is null, with the reason.
#[test]
fn what_was_not_captured_is_null() {
    let d = dialog(1);
    let report = run(&[(0, d.req(&[])), (5 * MS, d.rtu(&[])), (6 * MS, data(&d, 111))]);
    let setup = only(&report);
    assert_eq!((setup.outcome, setup.answer_ns), (SetupOutcome::Established, None));
    assert_eq!(setup.setup_ns, Some(5_000_000));
    assert_eq!((setup.passive.qp, setup.passive.starting_psn), (None, None));
    assert_eq!(setup.why.get("passive.starting_psn"), Some(&Reason::OneWay));

    let report = run(&[(0, d.rep(b"x"))]);
    let setup = only(&report);
    assert_eq!((setup.active.addr.as_str(), setup.passive.qp), ("10.0.0.1", Some(0x201)));
    assert_eq!((setup.path_mtu_bytes, setup.service), (None, Service::Unknown));
    assert_eq!(setup.why.get("path_mtu_bytes"), Some(&Reason::OneWay));

    // How long a refusal took is not known without the request.
    let refusal = [(MS, d.rej(RejectReason(8), &[]))];
    let report = run(&refusal);
    let setup = only(&report);
    assert_eq!((setup.outcome, setup.rejected_ns), (SetupOutcome::Refused, None));
    assert_eq!(setup.why.get("rejected_ns"), Some(&Reason::OneWay));
    assert!(!setup.outcome_words().contains("after"), "{}", setup.outcome_words());
    let asked = [&[(0, d.req(&[]))], &refusal[..]].concat();
    assert_eq!(only(&run(&asked)).rejected_ns, Some(MS as u64));

    let report = run(&[(0, data(&d, 5)), (MS, d.dreq(false, &[])), (9 * MS, d.drep(true, &[]))]);
    let setup = only(&report);
    assert_eq!((setup.outcome, setup.close_answer_ns), (SetupOutcome::Closed, Some(8_000_000)));
    assert_eq!(setup.why.get("active"), Some(&Reason::Midstream));
    assert_eq!((setup.passive.qp, setup.active.flow), (Some(0x201), Some(0)));
}

#[test]
fn ends_are_told_apart() {
    let d = dialog(1);
    let up = [(0, d.req(&[])), (MS, d.rep(&[])), (2 * MS, d.rtu(&[]))];
    let closing = |more: &[(i64, Packet)]| {
        let report = run(&[&up[..], more].concat());
        let first = report.head.setups[0].clone();
        (first.closed_by, first.closing)
    };
    assert_eq!(closing(&[]), (None, None));
    let dreqs = [(9 * MS, d.dreq(false, &[])), (10 * MS, d.dreq(true, &[]))];
    assert_eq!(closing(&dreqs), (Some(Side::Active), Some(Closing::Crossed)));
    assert_eq!(closing(&dreqs[1..]), (Some(Side::Passive), Some(Closing::Unanswered)));
    assert_eq!(closing(&[(9 * MS, d.drep(false, &[]))]), (Some(Side::Passive), Some(Closing::Answered)));
    // The passive host gives its queue pair to another connection, of another host: nothing was said of the first one.
    let path = Path::rocev2(Ipv4Addr::new(10, 0, 0, 3), Ipv4Addr::new(10, 0, 0, 2));
    let other = Dialog { path, passive_comm_id: 77, ..dialog(1) };
    let more = [(S, other.req(&[])), (S + MS, other.rep(&[]))];
    assert_eq!(closing(&more), (Some(Side::Passive), Some(Closing::Unsaid)));
    let report = run(&[&up[..], &more].concat());
    assert_eq!(of_kind(&report, "cm.unsaid").len(), 1, "{:#?}", report.head.findings);
}

/// Hosts use communication IDs and queue pairs again.
#[test]
fn ids_that_are_used_again_are_other_connections() {
    let d = dialog(1);
    let again = Dialog { active_qp: Qpn(0x333), passive_qp: Qpn(0x444), passive_comm_id: 5, ..d };
    let report = run(&[
        (0, d.req(&[])),
        (MS, d.rep(&[])),
        (2 * MS, d.rtu(&[])),
        (3 * MS, d.dreq(false, &[])),
        (4 * MS, d.drep(true, &[])),
        (S, again.req(&[])),
        (S + 2 * MS, again.rep(&[])),
        (S + 3 * MS, again.rtu(&[])),
    ]);
    let setups = &report.head.setups;
    let times: Vec<_> = setups.iter().map(|setup| (setup.outcome, setup.setup_ns)).collect();
    assert_eq!(
        times,
        [(SetupOutcome::Closed, Some(2_000_000)), (SetupOutcome::Established, Some(3_000_000))]
    );
    assert_eq!((setups[1].active.qp, setups[1].passive.qp), (Some(0x333), Some(0x444)));
}

#[test]
fn services_for_datagrams_are_resolved_or_not() {
    let d = Dialog { service_id: ServiceId::of_port(PortSpace::Udp, 7174), ..dialog(1) };
    let told = run(&[(0, d.sidr_req(b"x")), (4 * MS, d.sidr_rep(SidrStatus::VALID, 0x1234, &[]))]);
    let setup = only(&told);
    assert_eq!((setup.outcome, setup.service), (SetupOutcome::Resolved, Service::Ud));
    assert_eq!((setup.passive.qp, setup.answer_ns), (Some(0x201), Some(4_000_000)));
    assert_eq!((setup.port, setup.port_space.as_deref()), (Some(7174), Some("UDP")));
    let refused = run(&[(0, d.sidr_req(&[])), (MS, d.sidr_rep(SidrStatus(1), 0, &[]))]);
    let setup = only(&refused);
    assert_eq!((setup.outcome, setup.reject_reason), (SetupOutcome::Refused, Some(1)));
    assert_eq!(setup.reason.as_deref(), Some("service ID not supported"));
}

#[test]
fn alternate_paths_are_told() {
    let d = dialog(1);
    let up = [(0, d.req(&[])), (MS, d.rep(&[])), (2 * MS, d.rtu(&[])), (3 * MS, d.lap(&d.path, &[]))];
    assert_eq!(only(&run(&up)).alternate_path.as_deref(), Some("not answered"));
    let answered = [&up[..], &[(4 * MS, d.apr(ApStatus(2), &[]))]].concat();
    let report = run(&answered);
    assert_eq!(only(&report).alternate_path.as_deref(), Some("alternate paths not supported"));
    assert_eq!(only(&report).outcome, SetupOutcome::Established);
}

#[test]
fn dangerous_terms_are_found() {
    let d = dialog(1);
    let found = |req: &dyn Fn(CmReq) -> CmReq| {
        let report = run(&[(0, d.req(&[]).edit(req)), (MS, d.rep(&[])), (2 * MS, d.rtu(&[]))]);
        let findings = of_kind(&report, "cm.terms");
        findings.iter().map(|finding| finding.text.clone()).collect::<Vec<_>>()
    };
    assert_eq!(found(&|req| req), [""; 0]);
    let has = |all: Vec<String>, words: &str| assert!(all.len() == 1 && all[0].contains(words), "{all:?}");
    has(found(&|req| req.with_rnr_retry_count(0)), "RNR retry count 0");
    has(found(&|req| req.with_retry_count(0)), "retry count 0");
    // IPoIB asks for no retries, whatever is set: TCP retries.
    let ipoib = ServiceId(0x1000_0000_0000_0404);
    assert_eq!(found(&|req| req.with_service_id(ipoib).with_rnr_retry_count(0).with_retry_count(0)), [""; 0]);
    has(found(&|req| req.with_primary_local_ack_timeout(AckTimeout(10))), "less than 0.1 s");
    has(found(&|req| req.with_primary_local_ack_timeout(AckTimeout(0))), "never noticed");

    // Both hosts ask each other, with different MTUs.
    let back = Dialog { path: d.path.reversed(), mtu: 4096, ..dialog(2) };
    let report = run(&[(0, d.req(&[])), (MS, back.req(&[]))]);
    let [finding] = of_kind(&report, "cm.mtu")[..] else { panic!("{:#?}", report.head.findings) };
    assert!(finding.text.contains("1024") && finding.text.contains("4096"), "{}", finding.text);
}

/// More connections than are listed: they are counted, and memory stays bounded.
#[test]
fn many_are_counted() {
    let mut analysis = Analysis::new(Options::default());
    let number = 20_000;
    for n in 0..number {
        push(&mut analysis, i64::from(n) * 1000, 0, &numbered(&dialog(n).req(&[]), n));
    }
    let report = analysis.finish();
    assert_eq!((report.head.setups.len(), report.head.setup_count), (1 << 14, u64::from(number)));
}

/// Soft-RoCE's own messages, and what the programs said.
#[test]
#[cfg(feature = "compression")]
fn real_connection_managers_are_understood() {
    let read = |name: &str| {
        let mut analysis = Analysis::new(Options::default());
        let frames = trace::read(format!("pcaps/{name}").as_ref()).unwrap();
        frames.iter().for_each(|frame| analysis.push(&frame.record()));
        analysis.finish()
    };
    let outcomes = |report: &Report| report.head.setups.iter().map(|s| s.outcome).collect::<Vec<_>>();
    use SetupOutcome::{Closed, GaveUp, Refused, Resolved};
    let report = read("cm_rej-A.pcap.zst");
    assert_eq!(
        outcomes(&report),
        [Refused, Refused, Refused, Refused, Refused, Closed, GaveUp, Closed, Closed]
    );
    let reasons: Vec<_> = report.head.setups.iter().map(|setup| setup.reject_reason).collect();
    assert_eq!(&reasons[..5], [Some(8), Some(8), Some(8), Some(28), Some(28)]);
    // "LAB-REJECTED-42", as the server sent it.
    let private = report.head.setups[3].passive.private_data.as_deref();
    assert_eq!(private, Some("4c41422d52454a45435445442d3432"));
    // The server accepts after 10 s, and says so in between.
    let late = &report.head.setups[5];
    assert!((late.requests, late.waits) == (2, 1) && late.setup_ns.is_some_and(|ns| ns > 10_000_000_000));
    // The server's process ends: its kernel closes the connection.
    assert_eq!(report.head.setups[8].closed_by, Some(Side::Passive));

    let report = read("cm_req_lost-A.pcap.zst");
    assert_eq!(outcomes(&report), [GaveUp, GaveUp, Refused]);
    let tries: Vec<_> = report.head.setups.iter().map(|setup| (setup.requests, setup.replies)).collect();
    assert_eq!(tries, [(4, 0), (3, 4), (1, 0)]);

    assert_eq!(outcomes(&read("cm_udaddy-A.pcap.zst")), [Resolved]);
    let report = read("cm_ucmatose-A.pcap.zst");
    assert_eq!(outcomes(&report), [Closed; 3]);
    for setup in &report.head.setups {
        let [a, b] = report.connections[setup.connection.unwrap() as usize].flows;
        let flows = [setup.active.flow.unwrap(), setup.passive.flow.unwrap()];
        assert!(flows == [a, b] || flows == [b, a]);
    }
}

/// A controller of NVMe says in its private data why it refuses a queue, a target of SRP why it refuses a login.
#[test]
fn applications_say_why_they_refuse() {
    let refused = |d: &Dialog, private: &[u8]| {
        let report = run(&[(0, d.req(&[])), (MS, d.rej(RejectReason::CONSUMER, private))]);
        let setup = only(&report);
        (setup.reason.clone().unwrap().into_owned(), setup.next.clone().unwrap().into_owned())
    };
    let d = dialog(1);
    let mut advised = std::collections::BTreeSet::new();
    for (status, says) in [
        (1, "invalid length of private data"),
        (2, "invalid record format"),
        (3, "invalid queue"),
        (4, "invalid size of the host's send queue"),
        (5, "invalid size of the host's receive queue"),
        (6, "no resources"),
        (7, "invalid depth of inbound READs"),
        (8, "invalid depth of outbound READs"),
        (9, "invalid controller"),
    ] {
        let (reason, next) = refused(&d, &[0, 0, status, 0]);
        assert_eq!(reason, format!("consumer reject: {says}"));
        advised.insert(next);
    }
    assert_eq!(advised.len(), 5, "{advised:?}");
    // Another format, a status that is none, another service: the private data says nothing that is known.
    for (d, private) in [
        (d, [1, 0, 2, 0]),
        (d, [0, 0, 77, 0]),
        (Dialog { service_id: Dialog::tcp_port(7000), ..d }, [0, 0, 2, 0]),
    ] {
        assert_eq!(refused(&d, &private).0, "consumer reject");
    }
    let srp = Dialog { service_id: Dialog::tcp_port(5000), ..d };
    let login = SrpLoginRej::default().with_opcode(SrpOpcode::LOGIN_REJ).with_reason(SrpLoginReason(65538));
    assert_eq!(refused(&srp, login.bytes()).0, "consumer reject: initiator-to-target IU too large");
}

/// A port of InfiniBand has several LIDs (LMC), so that the path of a connection may be another than that of the connection manager's datagrams:
/// the REQ names it, and one to change to. Flows on either belong together, and to the set-up.
#[test]
fn a_connection_runs_on_the_path_that_its_request_names() {
    let end = |lid: u16| Endpoint::new(Ipv4Addr::new(10, 0, 0, lid as u8)).lid(lid);
    let path = |from, to| Path::new(Encapsulation::Ib, end(from), end(to));
    let d = Dialog { path: path(4, 8), ..dialog(1) };
    let named = |req: CmReq| {
        req.with_primary_local_lid(Lid(5))
            .with_primary_remote_lid(Lid(10))
            .with_primary_subnet_local(true)
            .with_alternate_local_lid(Lid(6))
            .with_alternate_remote_lid(Lid(11))
            .with_alternate_subnet_local(true)
    };
    let run = |names: bool| {
        let req = if names { d.req(&[]).edit(named) } else { d.req(&[]) };
        let mut messages = vec![(0, req), (MS, d.rep(&[])), (2 * MS, d.rtu(&[]))];
        for (n, (a, b)) in [(5, 10), (6, 11)].into_iter().enumerate() {
            let channel = Channel::rc(path(a, b), d.active_qp, d.passive_qp);
            for psn in 0..3 {
                let at = (10 * n as i64 + 3 + psn) * MS;
                let psn = Psn(222 + 10 * n as u32 + psn as u32);
                messages.push((at, channel.headers(Opcode::RC_SEND_ONLY, psn).payload(vec![1; 64])));
                // Back, with requests of its own: no evidence but the set-up joins them.
                let back = channel.reversed();
                messages.push((at, back.headers(Opcode::RC_SEND_ONLY, psn).payload(vec![1; 64])));
            }
        }
        messages.push((30 * MS, d.dreq(false, &[])));
        messages.push((31 * MS, d.drep(true, &[])));
        let mut analysis = Analysis::new(Options::default());
        for (n, (time, packet)) in messages.iter().enumerate() {
            let is_message = packet.get::<Deth>().is_some();
            let packet = if is_message { numbered(packet, n as u32) } else { packet.clone() };
            let (frame, wire_len) = (packet.build(), packet.wire_len());
            analysis.push(&Record {
                time: Time(*time),
                link: packet.link(),
                interface: 0,
                wire_len,
                frame: &frame,
            });
        }
        analysis.finish()
    };
    let report = run(true);
    let joined: Vec<_> = report.connections.iter().filter(|one| one.paired_by == PairedBy::Cm).collect();
    assert_eq!(joined.len(), 2, "{:#?}", report.connections);
    let setup = only(&report);
    assert_eq!((setup.outcome, setup.connection.is_some()), (SetupOutcome::Closed, true));
    let of = |end: &rdmawire::report::SetupEnd| report.flows[end.flow.unwrap()].src.to_string();
    assert_eq!((of(&setup.active), of(&setup.passive)), ("lid:0x0005".to_owned(), "lid:0x000a".to_owned()));
    // Without a path, the LIDs are those of the datagrams: these flows are others.
    let report = run(false);
    assert!(report.connections.iter().all(|one| one.paired_by != PairedBy::Cm), "{:#?}", report.connections);
}

/// Both directions of a connection may have other LIDs of the two ports (LMC). An answer with a port's first LID and its LMC proves that, before the flows or
/// behind their first packets; without one, LIDs are of different ports.
#[test]
fn lids_of_one_port_belong_together() {
    let end = |lid: u16| Endpoint::new(Ipv4Addr::new(10, 0, 0, lid as u8)).lid(lid);
    let path = |from, to| Path::new(Encapsulation::Ib, end(from), end(to));
    let port = |lid: u16, lmc: u8, status: u16| {
        let info = PortInfo::default().with_lid(Lid(lid)).with_lmc(lmc).with_port_state(PortState::ACTIVE);
        let answer = Management::get(path(1, 2), MgmtClass::SUBN_LID).method(MadMethod::GET_RESP);
        answer.directed(&[1], &[1], info).edit(|mad: MadDirected| mad.with_status(Hex16(status)))
    };
    // `told`: the answers, and after how many packets they come.
    let run = |told: &[Packet], after: usize| {
        let there = Channel::rc(path(5, 10), Qpn(0x11), Qpn(0x22));
        // On its way back, each end has another LID.
        let back = Channel::rc(path(9, 4), Qpn(0x22), Qpn(0x11));
        let mut packets = Vec::new();
        for psn in 100..104 {
            packets.push(there.headers(Opcode::RC_SEND_ONLY, Psn(psn)).payload(vec![1; 64]));
            packets.push(back.headers(Opcode::RC_ACKNOWLEDGE, Psn(psn)));
        }
        packets.splice(after..after, told.iter().cloned());
        let mut analysis = Analysis::new(Options::default());
        for (n, packet) in packets.iter().enumerate() {
            let (frame, wire_len) = (packet.build(), packet.wire_len());
            let (time, link) = (Time(n as i64 * MS), packet.link());
            analysis.push(&Record { time, link, interface: 0, wire_len, frame: &frame });
        }
        let report = analysis.finish();
        report.connections.iter().filter(|one| one.paired_by == PairedBy::Psn).count()
    };
    let both = [port(4, 2, 0), port(8, 2, 0)];
    for after in [0, 3] {
        assert_eq!(run(&both, after), 1, "{after}");
    }
    assert_eq!(run(&[], 0), 0);
    assert_eq!(run(&both[..1], 0), 0);
    // Another port's LIDs, a first LID that is none, and an answer that failed.
    assert_eq!(run(&[port(4, 2, 0), port(8, 0, 0)], 0), 0);
    assert_eq!(run(&[port(4, 2, 0), port(9, 1, 0)], 0), 0);
    assert_eq!(run(&[port(4, 2, 0), port(8, 2, 0x1c)], 0), 0);
    // Two ports that contradict each other: the first one stays.
    assert_eq!(run(&[port(4, 2, 0), port(8, 1, 0), port(8, 2, 0)], 0), 0);
}

/// Why a connection was not set up is said alike wherever it is: loss, where messages were repeated; who gave up, where they were not.
#[test]
fn silence_has_one_advice() {
    let mut analysis = Analysis::new(Options::default());
    for frame in trace::read("pcaps/cm_req_lost-A.pcap.zst".as_ref()).unwrap() {
        analysis.push(&frame.record());
    }
    let report = analysis.finish();
    let setups = &report.head.setups;
    let next = |at: usize| setups[at].next.clone().unwrap();
    // All requests were lost behind the tap; all replies were lost before the asking host; its application was ended.
    assert!(next(0).contains("gets UDP port 4791") && next(0).contains("gave up before"), "{}", next(0));
    assert!(next(1).starts_with("look for loss between the tap and the asking host"), "{}", next(1));
    for at in [0, 1] {
        let same = report.head.findings.iter().filter(|finding| finding.next.starts_with(&*next(at)));
        assert_eq!(same.count(), 1, "{:#?}", report.head.findings);
    }
    // One request, and its sender gave up at once.
    let mut analysis = Analysis::new(Options::default());
    for frame in trace::read("pcaps/cm_rej-A.pcap.zst".as_ref()).unwrap() {
        analysis.push(&frame.record());
    }
    let report = analysis.finish();
    let gave_up = report.head.setups.iter().find(|setup| setup.outcome == SetupOutcome::GaveUp).unwrap();
    let next = gave_up.next.as_deref().unwrap();
    assert!(gave_up.requests == 1 && next.starts_with("it gave up before"), "{next}");
    // Never answered, and nobody gave up in the capture.
    let d = dialog(1);
    let report = run(&[(0, d.req(&[])), (4 * S, d.req(&[])), (30 * S, data(&d, 1))]);
    assert!(only(&report).next.as_deref().is_some_and(|next| next.contains("gets UDP port 4791")));
}

/// Frames that are cut say what they say: who asked whom for what, and why that was refused; and what is not there is missing.
#[test]
fn a_cut_refusal_has_its_reason() {
    let d = dialog(1);
    let mut analysis = Analysis::new(Options::default());
    for (n, packet) in [d.req(b"hello"), d.rej(RejectReason(8), &[])].iter().enumerate() {
        let frame = numbered(packet, n as u32).build();
        let (wire_len, frame) = (frame.len() as u32, &frame[..128]);
        let time = Time(n as i64 * MS);
        analysis.push(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame });
    }
    let report = analysis.finish();
    let setup = only(&report);
    assert_eq!((setup.outcome, setup.reject_reason), (SetupOutcome::Refused, Some(8)));
    assert_eq!((setup.port, setup.path_mtu_bytes, setup.p_key), (Some(4420), None, None));
    assert_eq!(setup.why.get("path_mtu_bytes"), Some(&Reason::Truncated));
    assert_eq!((report.head.setup_messages_cut, report.head.setup_messages_unread), (2, 0));
}

/// Who asks again and again, and may still be answered, is in trouble, and no failure yet.
#[test]
fn a_pending_set_up_is_neither_held_nor_failed() {
    let d = dialog(1);
    let asked: Vec<(i64, Packet)> = (0..4).map(|n| (n * 4 * S, d.req(&[]))).collect();
    let report = run(&asked);
    let setup = only(&report);
    assert_eq!((setup.outcome, setup.asking_ns), (SetupOutcome::Pending, Some(12 * S as u64)));
    assert!(setup.is_waiting() && !setup.has_failed());
    assert!(setup.outcome_words().starts_with("asked 4 times in 12.0 s"), "{}", setup.outcome_words());
}

/// A DREQ that is sent again is said, with all its frames.
#[test]
fn a_slow_end_is_said() {
    let d = dialog(1);
    let report = run(&[
        (0, d.req(&[])),
        (MS, d.rep(&[])),
        (2 * MS, d.rtu(&[])),
        (3 * MS, d.dreq(false, &[])),
        (4 * S, d.dreq(false, &[])),
        (4 * S + MS, d.drep(true, &[])),
    ]);
    let setup = only(&report);
    assert!(setup.is_closing_slow() && setup.is_in_trouble());
    assert!(
        setup.outcome_words().contains("closed with 2 DREQs, answered after"),
        "{}",
        setup.outcome_words()
    );
    assert_eq!(setup.frames, [1, 2, 3, 4, 5, 6]);
}

/// A rule over set-ups waits for those that may still be answered.
#[test]
fn a_rule_is_undecided_while_set_ups_are_pending() {
    use rdmawire::gate::{Rule, Verdict, check};
    let d = dialog(1);
    let verdict = |report: &Report| {
        check(&[Rule::parse("setups.failed == 0").unwrap()], &report.view(), None)[0].verdict
    };
    assert_eq!(verdict(&run(&[(0, d.req(&[]))])), Verdict::Unknown);
    assert_eq!(verdict(&run(&[(0, d.req(&[])), (MS, d.rep(&[])), (2 * MS, d.rtu(&[]))])), Verdict::Held);
    assert_eq!(verdict(&run(&[(0, d.req(&[])), (MS, d.rej(RejectReason(8), &[]))])), Verdict::Violated);
}
