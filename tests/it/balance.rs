//! How evenly links carry traffic.

use crate::support::merged;
use rdmawire::{
    analyze::{Analysis, Options},
    report::{Reason, Report},
    sim::{Run, Scenario, run},
};

fn play(text: &str) -> Run {
    run(&Scenario::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))).unwrap()
}

/// Captures of this number of messages, each as one of several planes: no packet is on two of them.
fn planes(messages: &[u32]) -> Report {
    let mut analysis = Analysis::new(Options::default());
    let mut all = Vec::new();
    for (interface, count) in (0..).zip(messages) {
        let text = format!(
            "seed = {interface}\n[[host]]\nname = \"a\"\naddress = \"10.{interface}.0.1\"\n[[host]]\nname = \"b\"\naddress = \"10.{interface}.0.2\"\n\
             [[connection]]\ncopies = {}\noperations = [{{ op = \"write\", size = \"64KiB\", count = {count} }}]\n",
            interface + 1
        );
        let run = play(&text);
        analysis.interface(interface, format!("plane{interface}"), None);
        let mut frames = run.frames(0);
        while let Some(frame) = frames.next() {
            all.push((frame.time_ns, interface, frame.link, frame.bytes.to_vec()));
        }
    }
    merged::push_in_order(all, &mut analysis);
    analysis.finish()
}

#[test]
fn planes_are_compared() {
    let report = planes(&[40, 20, 10]);
    let balance = report.head.balance.unwrap();
    let bytes: Vec<f64> = report.head.links.iter().map(|link| link.bytes as f64).collect();
    // Connections and so bytes: 1 x 40, 2 x 20, 3 x 10 messages.
    let [a, b, c] = bytes[..] else { panic!("{bytes:?}") };
    assert!((b / a - 1.0).abs() < 0.02 && (c / a - 0.75).abs() < 0.02, "{bytes:?}");
    let jain = (a + b + c).powi(2) / (3.0 * (a * a + b * b + c * c));
    assert!((balance.jain_bytes - jain).abs() < 1e-9);
    assert!((balance.max_over_mean_bytes - 3.0 * a.max(b) / (a + b + c)).abs() < 1e-9);
    // Two flows for each connection: 2, 4, 6.
    assert_eq!(report.head.links.iter().map(|link| link.flows).collect::<Vec<_>>(), [2, 4, 6]);
    assert_eq!(balance.jain_flows, Some(144.0 / (3.0 * 56.0)));
    assert_eq!(balance.max_over_mean_flows, Some(1.5));
    assert_eq!(report.head.links.iter().map(|link| link.frames).sum::<u64>(), report.head.capture.packets);
    assert_eq!(&*report.head.links[2].link, "plane2");
    let even = planes(&[24, 12, 8]).head.balance.unwrap();
    assert!(even.jain_bytes > 0.999 && even.max_over_mean_bytes < 1.02, "{even:?}");
}

#[test]
fn links_of_one_path_are_not_compared() {
    let run = play(include_str!("../../examples/scenarios/two-taps.toml"));
    let of = |taps: &[usize]| {
        let mut analysis = Analysis::new(Options::default());
        merged::push(&run, taps, &mut analysis);
        let report = analysis.finish();
        (report.head.links.len(), report.head.balance, report.head.why["balance"])
    };
    assert_eq!(of(&[0, 1]), (2, None, Reason::LinksInSeries));
    assert_eq!(of(&[0]), (1, None, Reason::OneLink));
}

/// Frames that cannot get the encapsulation of the others stay Ethernet beside InfiniBand, on an interface of their own: that is no second link.
#[test]
fn links_of_another_kind_are_not_parallel() {
    let scratch = crate::support::scratch::Scratch::new("balance-kinds");
    let file = scratch.join("native.pcapng");
    let from = "pcaps/nvme_basic-A.pcap.zst";
    crate::support::programs::printed(
        crate::support::programs::cli().args(["rewrite", "-q", "--to", "ib", from]).arg(&file),
    );
    let mut analysis = Analysis::new(Options::default());
    let mut trace = rdmawire::capture::open(&file).unwrap();
    while let Some(record) = rdmawire::capture::Source::next(&mut trace).unwrap() {
        analysis.push(&record);
    }
    let report = analysis.finish();
    assert_eq!(report.head.links.len(), 2);
    assert_eq!((report.head.balance, report.head.why["balance"]), (None, Reason::OneLink));
}
