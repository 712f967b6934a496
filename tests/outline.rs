//! The outlines of a report's flows, one made over the other, say what the rows do.

use std::{fs, path::Path};

use rdmawire::{
    analyze::{Analysis, Options},
    report::analysis::{Flow, List, Losses, Stream, Triggers},
};
use serde_json::Value;

mod trace;

/// What an outline does not have.
const IN_FULL: [&str; 12] = [
    "src",
    "dst",
    "vlans",
    "dscps",
    "udp_src_ports",
    "ttls",
    "opcodes",
    "path_mtu",
    "path_mtu_by",
    "latency_ns",
    "timeouts",
    "why",
];

fn counts(flow: &Flow) -> Value {
    let mut value = serde_json::to_value(flow).expect("a flow is JSON");
    let mut without = |part: &str, names: &[&str]| {
        let part = if part.is_empty() { &mut value } else { &mut value[part] };
        let fields = part.as_object_mut().expect("it has fields");
        names.iter().for_each(|name| _ = fields.remove(*name));
    };
    without("", &IN_FULL);
    without("requests", &["classes", "why"]);
    without("responses", &["classes", "why"]);
    without("messages", &["size_bytes"]);
    value
}

/// Whether there is nothing that a finding could be made of.
fn is_quiet(flow: &Flow) -> bool {
    let stream = |stream: &Stream| {
        let Losses { upstream, downstream, ack_path, corrupt, capture } = stream.losses;
        let lost = [upstream, downstream, ack_path, corrupt, capture].into_iter().flatten();
        let Triggers { nak, timeout, rnr, implied_nak, unknown } = stream.triggers;
        lost.map(|[least, _]| least).sum::<u64>() == 0
            && nak + timeout + rnr + implied_nak + unknown == 0
            && stream.retransmits + stream.out_of_order + stream.capture_duplicates + stream.ambiguous == 0
            && stream.spurious.unwrap_or(0) == 0
            && stream.reordering.is_none()
    };
    let wrong = flow.icrc.bad + flow.messages.broken;
    flow.naks.total() + flow.rnr_naks + flow.cnps + flow.ecn_ce + wrong == 0
        && stream(&flow.requests)
        && stream(&flow.responses)
        && flow.rnr.is_none()
}

#[test]
fn outlines_say_what_rows_do() {
    // Flows of all kinds, side by side.
    let mut analysis = Analysis::new(Options::default());
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("pcaps");
    for entry in fs::read_dir(dir).expect("the captures are there").flatten() {
        let frames = trace::read(&entry.path()).unwrap_or_default();
        frames.iter().take(3000).for_each(|frame| analysis.see(&frame.record()));
    }
    let ended = analysis.end();
    let report = ended.report();
    let mut seen = vec![false; report.flows.len()];
    report.flows.each_outline(|at, outline| {
        assert!(!std::mem::replace(&mut seen[at], true), "{at} twice");
        let row = report.flows.row(at).expect("there is a row for each outline");
        assert_eq!(counts(outline), counts(&row), "{at}");
    });
    assert!(seen.iter().all(|seen| *seen));
    let mut in_trouble = vec![false; report.flows.len()];
    report.flows.each_in_trouble(|at, outline| {
        in_trouble[at] = true;
        let row = report.flows.row(at).expect("there is a row for each outline");
        assert_eq!(counts(outline), counts(&row), "{at}");
    });
    for (at, row) in report.flows.rows().enumerate().filter(|(at, _)| !in_trouble[*at]) {
        assert!(is_quiet(&row), "{at}: {}", counts(&row));
        assert!(report.findings.iter().all(|finding| finding.flow != Some(at)), "{at}");
    }
    let left_out = in_trouble.iter().filter(|in_trouble| !**in_trouble).count();
    assert!(left_out > 10 && left_out < seen.len() - 10 || cfg!(not(feature = "compression")), "{left_out}");
    assert!(seen.len() > 20 || cfg!(not(feature = "compression")), "{}", seen.len());
}
