//! The acknowledgement timeout that the connection manager agrees on tells which silences may hide a loss.

use rdmawire::{
    analyze::{Analysis, Options},
    capture::{Record, Time},
    report::Flow,
    sim::{Scenario, run},
};

/// The flow with the requests: writes with pauses of 1 ms, many round trips long, and shorter than the timeout of 67 ms.
fn requests(cm: bool, options: Options) -> Flow {
    let scenario = format!(
        r#"
        [[connection]]
        cm = {cm}
        timeout = 14
        operations = [{{ op = "write", size = "4KiB", count = 20, every = "1ms" }}]
        "#
    );
    let run = run(&Scenario::parse(&scenario).unwrap()).unwrap();
    let mut analysis = Analysis::new(options);
    let mut frames = run.frames(0);
    while let Some(frame) = frames.next() {
        let (time, link, wire_len) = (Time(frame.time_ns), frame.link, frame.wire_len);
        analysis.push(&Record { time, link, interface: 0, wire_len, frame: frame.bytes });
    }
    let flows = analysis.finish().flows.into_iter();
    flows.max_by_key(|flow| flow.messages.completed).unwrap()
}

#[test]
fn a_silence_shorter_than_the_timeout_hides_no_loss() {
    for reference in [false, true] {
        let options = Options { reference, ..Options::default() };
        let flow = requests(true, options.clone());
        assert_eq!(flow.messages.completed, 20);
        assert_eq!(flow.requests.losses.upstream, Some([0, 0]));
        // Without the connection manager nobody knows the timeout: pauses may hide as many losses as are likely where none shows.
        let [least, most] = requests(false, options).requests.losses.upstream.unwrap();
        assert!(least == 0 && (1..15).contains(&most), "{least} {most}");
    }
}

#[test]
fn what_the_user_says_goes_before_what_the_connection_manager_says() {
    let options = Options { ack_timeout_ns: Some(500_000), ..Options::default() };
    let [least, most] = requests(true, options).requests.losses.upstream.unwrap();
    assert!(least == 0 && (1..15).contains(&most), "{least} {most}");
}
