//! Reports as text: what an engineer reads, from reports made by hand.

use rdmawire::report::{
    self, Interval, Pause, Renderer, Report, Sort, Storm, find_flow, sorted,
    text::{Options, Text},
    trouble, units,
};

/// A report that has no capture: what JSON leaves out has its default.
fn sample() -> Report {
    serde_json::from_str(include_str!("../data/text/report.json")).unwrap()
}

fn text(report: &Report, options: Options) -> String {
    rendered(report, Text { options, flow: None })
}

fn rendered(report: &Report, mut renderer: impl Renderer) -> String {
    let mut out = Vec::new();
    renderer.render(&report.view(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn plain(width: usize) -> Options {
    Options { width, ..Options::default() }
}

#[test]
fn a_report_on_a_wide_terminal() {
    assert_eq!(text(&sample(), plain(120)), include_str!("../data/text/wide.txt"));
}

#[test]
fn a_report_on_a_narrow_terminal() {
    let narrow = text(&sample(), plain(72));
    assert_eq!(narrow, include_str!("../data/text/narrow.txt"));
    assert!(narrow.lines().all(|line| line.chars().count() <= 72), "{narrow}");
}

#[test]
fn a_flow_in_depth() {
    let in_depth = rendered(&sample(), Text { options: plain(100), flow: Some(1) });
    assert_eq!(in_depth, include_str!("../data/text/flow.txt"));
}

#[test]
fn colour_is_for_terminals_only() {
    let report = sample();
    assert!(!text(&report, plain(100)).contains('\x1b'));
    let coloured = text(&report, Options { colour: true, ..plain(100) });
    assert!(coloured.contains("\x1b[1;31merror\x1b[0m"));
    // The same text but for the colours; a file's name cannot steer the terminal.
    let mut without = String::new();
    let mut rest = coloured.as_str();
    while let Some(at) = rest.find('\x1b') {
        without += &rest[..at];
        rest = &rest[at + rest[at..].find('m').unwrap() + 1..];
    }
    assert_eq!(without + rest, text(&report, plain(100)));
}

#[test]
fn an_empty_report_has_its_text_too() {
    let empty = text(&Report::default(), plain(80));
    assert_eq!(
        empty,
        "no file\n\
         \x20 0 packets, 0 of them RDMA; 0 B of frames\n\
         \n\
         Findings  nothing stands out\n\
         \n\
         Flows  none\n\
         \n\
         Congestion  no RDMA packet is ECN-capable, and there are no CNPs\n\
         Pause       not known: the capture has no MAC control frames, which mirrors and\n\
         \x20           most adapters do not show\n\
         Overhead    no RDMA packets\n"
    );
}

#[test]
fn flows_are_sorted_and_found() {
    let mut report = sample();
    assert_eq!(trouble(&report.flows[0]), 0);
    assert_eq!(sorted(&report.view(), Sort::Trouble), [1, 0]);
    report.flows[0].first_ns = -5;
    assert_eq!(sorted(&report.view(), Sort::Time), [0, 1]);
    report.flows[0].first_ns = 1_000_000_001;
    assert_eq!(sorted(&report.view(), Sort::Time), [1, 0]);
    report.flows[0].responses.out_of_order = 1;
    assert_eq!(sorted(&report.view(), Sort::OutOfOrder), [0, 1]);
    for (name, sort) in Sort::ALL {
        assert_eq!(sorted(&report.view(), sort).len(), 2, "{name}");
    }
    assert_eq!(find_flow(&report.view(), "1"), Ok(1));
    assert_eq!(find_flow(&report.view(), "10.0.0.1,10.0.0.2,0x12"), Ok(1));
    assert_eq!(find_flow(&report.view(), "10.0.0.1, 10.0.0.2, 18"), Ok(1));
    for wrong in ["2", "x", "10.0.0.1,10.0.0.2", "10.0.0.1,10.0.0.2,zz", "10.0.0.1,10.0.0.2,19", ""] {
        assert!(find_flow(&report.view(), wrong).is_err(), "{wrong}");
    }
}

#[test]
fn pauses_in_words() {
    let mut report = sample();
    let pause = |paused_ns| {
        let mut pause = Pause::default();
        (pause.link, pause.sender) = ("eth0".into(), "02:00:00:00:00:01".into());
        (pause.priority, pause.xoff, pause.xon) = (Some(3), 834, 1);
        (pause.intervals, pause.paused_ns, pause.longest_ns) = (paused_ns, paused_ns, paused_ns);
        pause.storms = paused_ns.map(|_| vec![Storm::default()]);
        pause
    };
    report.head.pause = Some(vec![]);
    assert!(text(&report, plain(400)).contains("Pause       none\n"));
    report.head.pause = Some(vec![pause(None)]);
    let line = "Pause       eth0 02:00:00:00:00:01 priority 3: 834 XOFF, 1 XON (durations need the link's speed: --speed)\n";
    assert!(text(&report, plain(400)).contains(line));
    report.head.pause = Some(vec![pause(Some(250_000_000))]);
    assert!(
        text(&report, plain(400))
            .contains("834 XOFF, 1 XON, paused 250 ms in 250,000,000, longest 250 ms, 1 storm\n")
    );
}

#[test]
fn lists_are_cut_and_say_so() {
    let mut report = sample();
    report.flows = vec![report.flows[0].clone(); 25];
    report.head.findings = vec![report.head.findings[0].clone(); 12];
    report.head.interval_ns = Some(1_000_000);
    let mut interval = Interval::default();
    (interval.packets, interval.wire_bytes) = (3, 125_000);
    report.head.intervals = Some(vec![interval; 70]);
    let cut = text(&report, plain(100));
    assert!(
        cut.contains("Flows  10 of 25 by trouble\n") && cut.contains("  and 2 more (--top 0 shows all)\n")
    );
    assert!(cut.contains("Intervals  of 1.00 ms\n") && cut.contains("  and 10 more (--json has all)\n"));
    let all = text(&report, Options { top: 0, ..plain(100) });
    assert!(all.contains("Flows  25 by trouble\n") && !all.contains("--top 0"));
}

/// JSON has words with underscores; people read others.
#[test]
fn terms_have_words_for_text() {
    fn check<T: Copy>(all: &[T], words: fn(T) -> &'static str, name: fn(T) -> &'static str) {
        for &term in all {
            assert!(!words(term).is_empty() && !words(term).contains('_'), "{}", name(term));
        }
    }
    macro_rules! vocabularies {
        ($($name:ident)+) => { $(check(&report::$name::ALL, report::$name::words, report::$name::name);)+ };
    }
    vocabularies! {
        Service Encapsulation PairedBy Visibility Coverage Class Evidence IpId Trigger Location Space RecoveryMode MtuBy Pacing Fate
        OrderBy PriorityBy PauseEnd PauseFault KnownBy BurstEffect TimeCause Reason
    }
    assert_eq!(report::RecoveryMode::GoBackN.words(), "go-back-N");
    assert_eq!(report::Location::AckPath.words(), "ACK path");
}

#[test]
fn counts_agree_with_their_nouns() {
    use rdmawire::report::units::several;
    let all = [
        (0, "packet"),
        (1, "packet"),
        (1_234_567, "packet"),
        (2, "copy"),
        (1, "copy"),
        (2, "class"),
        (2, "key"),
    ];
    let written = all.map(|(n, noun)| several(n, noun));
    let right = ["0 packets", "1 packet", "1,234,567 packets", "2 copies", "1 copy", "2 classes", "2 keys"];
    assert_eq!(written, right);
}

#[test]
fn means_and_losses_do_not_read_as_nothing() {
    assert_eq!([0.0, 0.004, 0.06, 2.44].map(units::mean), ["0.0", "<0.1", "0.1", "2.4"]);
    assert_eq!(units::losses(2, " after the tap", [8, 20]), "2 losses after the tap (8 to 20 packets)");
    assert_eq!(units::losses(0, " before the tap", [1, 1]), "1 packet lost before the tap");
}
