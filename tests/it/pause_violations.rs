//! Frames of a paused priority that the paused end of a link sends nevertheless.

use rdmawire::{
    analyze::{Analysis, Links, Options},
    capture::{Record, Time},
    report::{Pause, Reason, Report},
    sim::{Scenario, run},
};

/// A pause of 400 us by the host `b` of the link to a switch, from 100 us on.
fn scenario(more: &str) -> String {
    format!(
        "[[connection]]\nmtu = 4096\nwindow = 1000\noperations = [{{ op = \"write\", size = \"1MiB\", count = 32 }}]\n\
         [[segment]]\ndelay = \"1us\"\n[[segment]]\ndelay = \"500ns\"\n[[tap]]\nname = \"l\"\nends = [\"s\", \"b\"]\n\
         [[pause]]\nfrom = \"right\"\npriority = 3\nat = \"100us\"\nhold = \"400us\"\n{more}"
    )
}

/// The report, with the links of the scenario and without runs and with them; and the times of the data frames.
fn analyzed(text: &str, speed: Option<u64>, knows_links: bool) -> (Report, Vec<i64>) {
    let run = run(&Scenario::parse(text).unwrap()).unwrap();
    let mut data = Vec::new();
    let [report, reference] = [false, true].map(|reference| {
        let links = knows_links.then(|| Links::parse(&run.links()).unwrap());
        let options = Options { links, speed_bps: speed, reference, ..Options::default() };
        let mut analysis = Analysis::new(options);
        analysis.interface(0, "l".into(), None);
        let mut frames = run.frames(0);
        data.clear();
        while let Some(frame) = frames.next() {
            if frame.bytes.len() > 500 {
                data.push(frame.time_ns);
            }
            let (time, link, wire_len) = (Time(frame.time_ns), frame.link, frame.wire_len);
            analysis.push(&Record { time, link, interface: 0, wire_len, frame: frame.bytes });
        }
        analysis.finish()
    });
    assert_eq!(report.head.pause, reference.head.pause);
    assert_eq!(report.flows, reference.flows);
    (report, data)
}

fn pause(report: &Report) -> &Pause {
    &report.head.pause.as_deref().unwrap()[0]
}

#[test]
fn a_sender_that_does_not_honor_pauses() {
    for speed in [100, 400] {
        let text = format!("rate = \"{speed}G\"\n{}", scenario(""));
        let (report, data) = analyzed(&text, Some(speed * 1_000_000_000), true);
        let pause = pause(&report);
        let interval = pause.ledger[0];
        // 9,254 bytes, in quanta of 64 bytes, and 2 us.
        let allowed = interval.start_ns + 2_000 + 145 * 512 / speed as i64;
        let late: Vec<i64> =
            data.into_iter().filter(|time| *time > allowed && *time < interval.end_ns).collect();
        let came = pause.violations.unwrap();
        assert_eq!(came.frames, late.len() as u64);
        assert!(came.frames > 500 && came.first_frame.is_some());
        assert_eq!(came.latest_ns, (late.last().unwrap() - interval.start_ns) as u64);
        // It never stopped.
        assert_eq!((pause.response_ns, pause.why["response_ns"]), (None, Reason::TooFew));
        let finding = report.head.findings.iter().find(|finding| finding.id == "pause.ignored").unwrap();
        assert_eq!(finding.frames, [came.first_frame.unwrap()]);
    }
}

#[test]
fn a_sender_that_honors_them() {
    let (report, data) = analyzed(&scenario("stops = [\"a\"]\n"), Some(100_000_000_000), true);
    let came = pause(&report).violations.unwrap();
    assert_eq!((came.frames, came.first_frame, came.latest_ns), (0, None, 0));
    // From XOFF to the last frame that was on its way.
    let interval = pause(&report).ledger[0];
    let last = data.into_iter().filter(|time| *time < interval.end_ns).max().unwrap();
    let took = pause(&report).response_ns.unwrap();
    assert!(last > interval.start_ns);
    assert_eq!((took.count, took.max), (1, (last - interval.start_ns) as u64));
    assert!(report.head.findings.iter().all(|finding| finding.id != "pause.ignored"));
}

/// A mirror delays each frame: then some seem late, and nothing is claimed.
#[test]
fn a_mirror_that_is_late() {
    for jitter in ["5us", "40us", "150us"] {
        let jitter = format!("name = \"l\"\nmirror_jitter = \"{jitter}\"\n");
        let text = scenario("stops = [\"a\"]\n").replace("name = \"l\"\n", &jitter);
        let (report, _) = analyzed(&text, Some(100_000_000_000), true);
        assert!(
            report.head.findings.iter().all(|finding| finding.id != "pause.ignored"),
            "{:?}",
            pause(&report)
        );
    }
}

/// What goes the other way, or has another priority, is not stopped.
#[test]
fn frames_that_no_pause_stops() {
    let other = |what: &str| {
        format!(
            "stops = [\"a\"]\n[[connection]]\n{what}\nmtu = 4096\nwindow = 8000\ntimeout = 0\n\
             operations = [{{ op = \"write\", size = \"16MiB\" }}]\n"
        )
    };
    for what in ["from = \"b\"\nto = \"a\"", "dscp = 0"] {
        let (report, data) = analyzed(&scenario(&other(what)), Some(100_000_000_000), true);
        let interval = pause(&report).ledger[0];
        let within = |time: &&i64| **time > interval.start_ns + 10_000 && **time < interval.end_ns;
        assert!(data.iter().filter(within).count() > 500, "they are there");
        assert_eq!(pause(&report).violations.unwrap().frames, 0, "{what}");
    }
}

#[test]
fn it_is_said_why_it_is_not_known() {
    let why = |speed: Option<u64>, knows_links: bool, text: &str| {
        let (report, _) = analyzed(text, speed, knows_links);
        assert_eq!((pause(&report).violations, pause(&report).response_ns), (None, None));
        assert_eq!(pause(&report).why["violations"], pause(&report).why["response_ns"]);
        pause(&report).why["violations"]
    };
    let speed = Some(100_000_000_000);
    assert_eq!(why(speed, false, &scenario("")), Reason::UnknownDirection);
    assert_eq!(why(None, true, &scenario("")), Reason::UnknownSpeed);
    // Between two switches nothing says who sent a frame.
    let between = scenario("").replace("[\"s\", \"b\"]", "[\"s\", \"t\"]");
    assert_eq!(why(speed, true, &between), Reason::UnknownDirection);
    // A clock of 10 us.
    let coarse = scenario("").replace("name = \"l\"\n", "name = \"l\"\nresolution = \"10us\"\n");
    assert_eq!(why(speed, true, &coarse), Reason::CoarseTimes);
}
