//! Queue pairs that give up: who tried how often, when, and whom the peer still sends to.

use rdmawire::{
    analyze::{Analysis, Options},
    capture::{Record, Time},
    report::{ConnectionState, Flow, GaveUp, GiveUp, Report, Retry, StillSends},
    sim::{Scenario, run},
};

fn report(text: &str) -> Report {
    let run = run(&Scenario::parse(text).unwrap()).unwrap();
    let mut analysis = Analysis::new(Options::default());
    let mut frames = run.frames(0);
    while let Some(frame) = frames.next() {
        let (time, link, wire_len) = (Time(frame.time_ns), frame.link, frame.wire_len);
        analysis.push(&Record { time, link, interface: 0, wire_len, frame: frame.bytes });
    }
    analysis.finish()
}

/// Of the connection from a to b, the passive end is gone at some time. Another one, from a to c, goes on.
fn killed(seed: u64, retry: u8, more: &str) -> String {
    let at = 5_000 + 137 * seed;
    format!(
        r#"
        seed = {seed}
        stop = "3s"
        [[connection]]
        from = "a"
        to = "c"
        operations = [{{ op = "send", size = 256, count = 550, every = "5ms" }}]
        [[connection]]
        from = "a"
        to = "b"
        timeout = 12
        retry = {retry}
        {more}
        dies_at = "{at}us"
        operations = [{{ op = "write", size = "4KiB", count = 200, every = "100us" }}]
        "#
    )
}

const HOSTS: &str = r#"
    [[host]]
    name = "a"
    address = "10.0.0.1"
    [[host]]
    name = "b"
    address = "10.0.0.2"
    [[host]]
    name = "c"
    address = "10.0.0.3"
    [[host]]
    name = "d"
    address = "10.0.0.4"
    side = "left"
"#;

/// The only flow whose sender gave up. Its connection says so, and one finding does.
fn only(report: &Report) -> (&Flow, GaveUp, Retry) {
    let all: Vec<&Flow> = report.flows.iter().filter(|flow| flow.gave_up.is_some()).collect();
    let [flow] = all[..] else { panic!("{} flows gave up", all.len()) };
    let found = report.head.findings.iter().filter(|finding| finding.id.ends_with(".exhausted"));
    assert_eq!(found.count(), 1);
    for connection in &report.connections {
        let is_its = Some(connection.id) == flow.connection;
        assert_eq!(connection.state == ConnectionState::GaveUp, is_its, "{connection:?}");
    }
    (flow, flow.gave_up.unwrap(), flow.retry.unwrap())
}

#[test]
fn a_queue_pair_that_gave_up_is_found_with_its_retry_count() {
    for seed in 1..=3 {
        for retry in 1..=7 {
            let report = report(&(killed(seed, retry, "") + HOSTS));
            let (flow, gave_up, limits) = only(&report);
            assert_eq!((flow.src.as_str(), flow.dst.as_str()), ("10.0.0.1", "10.0.0.2"));
            assert_eq!((gave_up.by, gave_up.tries), (GiveUp::Retries, u32::from(retry) + 1));
            assert_eq!((limits.count, limits.timeout_exponent), (Some(retry), Some(12)));
            let expected = 4096 << 12;
            let apart = [gave_up.shortest_ns, gave_up.longest_ns].map(|ns| ns.unwrap().abs_diff(expected));
            assert!(apart.iter().all(|&apart| apart < expected / 20), "{gave_up:?}");
            assert!(gave_up.messages > 0 && gave_up.silent_ns > 1_000_000_000 && !gave_up.is_answered);
            assert!(gave_up.answered_ns.is_some_and(|at| at < gave_up.last_ns), "{gave_up:?}");
            // What was sent, and not acknowledged, is not complete.
            assert_eq!(flow.messages.open, gave_up.messages, "{:?}", flow.messages);
            assert_eq!(gave_up.peer_sends, None);
        }
    }
}

#[test]
fn whom_the_peer_still_sends_to_tells_what_died() {
    let beside = |from: &str, to: &str| {
        format!(
            "[[connection]]\nfrom = {from:?}\nto = {to:?}\n\
            operations = [{{ op = \"send\", size = 256, count = 550, every = \"5ms\" }}]\n"
        )
    };
    let sends = |hosts: &str, more: &str| {
        let report = report(&(killed(1, 3, "") + hosts + more));
        report.flows.iter().filter_map(|flow| flow.gave_up).map(|gave_up| gave_up.peer_sends).max().unwrap()
    };
    assert_eq!(sends(HOSTS, &beside("a", "b")), Some(StillSends::SameHost));
    assert_eq!(sends(HOSTS, &beside("d", "b")), Some(StillSends::OtherHosts));
    let dies = HOSTS.replace("\"10.0.0.2\"", "\"10.0.0.2\"\n    dies_at = \"5ms\"");
    assert_eq!(sends(&dies, &beside("d", "b")), Some(StillSends::Nobody));
}

#[test]
fn who_tries_without_end_has_a_silent_peer() {
    // Soft-RoCE takes a retry count of 7 as endless.
    let report = report(&(killed(1, u8::MAX, "") + HOSTS));
    let unanswered: Vec<&Flow> = report.flows.iter().filter(|flow| flow.unanswered_tries.is_some()).collect();
    let [flow] = unanswered[..] else { panic!("{} flows are not answered", unanswered.len()) };
    // The timer of exponent 12 is 16.8 ms.
    assert!(flow.unanswered_tries.is_some_and(|tries| tries > 100), "{:?}", flow.unanswered_tries);
    assert!(flow.gave_up.is_none() && flow.messages.open > 0, "{:?}", flow.messages);
    let first = &report.head.findings[0];
    assert_eq!((&*first.id, first.flows.len()), ("peer.silent", 1), "{}", first.text);
    let timeout = report.head.findings.iter().find(|finding| finding.id == "timeout").unwrap();
    assert!(!timeout.text.contains("does not answer"), "{}", timeout.text);
}

#[test]
fn without_proof_nobody_gave_up() {
    let nobody = |report: &Report| {
        assert!(report.flows.iter().all(|flow| flow.gave_up.is_none() && flow.unanswered_tries.is_none()));
        let said = |id: &str| id.ends_with(".exhausted") || id == "peer.silent";
        assert!(report.head.findings.iter().all(|finding| !said(&finding.id)));
    };
    // It lives.
    let lives = report(&(killed(1, 3, "").replace("dies_at", "# dies_at") + HOSTS));
    nobody(&lives);
    assert!(lives.connections.iter().all(|connection| connection.state == ConnectionState::Running));
    // The capture ends before the timer would have expired once more.
    let short = killed(1, 3, "").replace("3s", "70ms");
    let short = report(&(short + HOSTS));
    nobody(&short);
    assert_eq!(short.connections.iter().filter(|one| one.state == ConnectionState::Silent).count(), 1);
    // It tries again, and is answered at last.
    let late = killed(1, 7, "").replace("dies_at", "# dies_at")
        + "[[event]]\ndo = \"drop\"\nconnection = \"2\"\npsn = 400\ntimes = 3\nwhere = \"after\"\n";
    nobody(&report(&(late + HOSTS)));
}

#[test]
fn what_the_connection_manager_says_goes_first() {
    for retry in [1, 3, 7] {
        let report = report(&(killed(2, retry, "cm = true") + HOSTS));
        // DREQ comes as soon as the requester gives up.
        let (flow, gave_up, limits) = only(&report);
        assert_eq!((gave_up.tries, limits.count), (u32::from(retry) + 1, Some(retry)));
        assert_eq!((limits.timeout_exponent, limits.rnr_count), (Some(12), Some(7)));
        let connection = &report.connections[flow.connection.unwrap() as usize];
        assert!(connection.set_up_ns.is_some_and(|ns| ns > 0), "{connection:?}");
        assert!(connection.closed_ns.is_some_and(|at| at > gave_up.last_ns), "{connection:?}");
    }
}

#[test]
fn a_receiver_that_is_never_ready_makes_the_sender_give_up() {
    for rnr_retry in [1u8, 2, 6] {
        let text = format!(
            r#"
            stop = "1s"
            [[connection]]
            name = "other"
            operations = [{{ op = "write", size = 256, count = 180, every = "5ms" }}]
            [[connection]]
            name = "refused"
            rnr_retry = {rnr_retry}
            operations = [{{ op = "send", size = "4KiB", count = 20, every = "50us" }}]
            [[event]]
            do = "rnr"
            connection = "refused"
            message = 10
            times = 100
            "#
        );
        let report = report(&text);
        let (_, gave_up, limits) = only(&report);
        assert_eq!((gave_up.by, gave_up.tries), (GiveUp::Rnr, u32::from(rnr_retry) + 1));
        assert_eq!(limits.rnr_count, Some(rnr_retry));
        let finding = report.head.findings.iter().find(|finding| finding.id == "rnr.exhausted").unwrap();
        assert!(finding.text.contains("was not ready"), "{}", finding.text);
    }
}
