//! The outlines of a report's flows, one made over the other, say what the rows do.

use std::{fs, path::Path};

use crate::support::trace;
use rdmawire::{
    analyze::{Analysis, FINDINGS, Options, Scope},
    report::Flow,
};
use serde_json::Value;

/// What an outline does not have.
const IN_FULL: [&str; 21] = [
    "uid",
    "src",
    "dst",
    "vlans",
    "dscps",
    "udp_src_ports",
    "ttls",
    "sls",
    "vls",
    "p_key",
    "application",
    "application_by",
    "opcodes",
    "path_mtu",
    "path_mtu_by",
    "latency_ns",
    "timeouts",
    "visibility",
    "why",
    "retry",
    "packets_per_ack",
];

fn counts(flow: &Flow) -> Value {
    let mut value = serde_json::to_value(flow).expect("a flow is JSON");
    let mut without = |part: &str, names: &[&str]| {
        let part = if part.is_empty() { &mut value } else { &mut value[part] };
        let fields = part.as_object_mut().expect("it has fields");
        names.iter().for_each(|name| _ = fields.remove(*name));
    };
    without("", &IN_FULL);
    without("requests", &["classes", "evidence", "why"]);
    without("responses", &["classes", "evidence", "why"]);
    without("messages", &["size_bytes"]);
    value
}

#[test]
fn outlines_say_what_rows_do() {
    // Flows of all kinds, side by side.
    let mut analysis = Analysis::new(Options::default());
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("pcaps");
    for entry in fs::read_dir(dir).expect("the captures are there").flatten() {
        let frames = trace::read(&entry.path()).unwrap_or_default();
        frames.iter().take(3000).for_each(|frame| analysis.push(&frame.record()));
    }
    let ended = analysis.end();
    let report = ended.report();
    let mut seen = vec![false; report.flows.len()];
    report.flows.each_outline(&mut |at, outline| {
        assert!(!std::mem::replace(&mut seen[at], true), "{at} twice");
        let row = report.flows.row(at).expect("there is a row for each outline");
        assert_eq!(counts(outline), counts(&row), "{at}");
    });
    assert!(seen.iter().all(|seen| *seen));
    let mut in_trouble = vec![false; report.flows.len()];
    report.flows.each_in_trouble(&mut |at, outline| {
        in_trouble[at] = true;
        let row = report.flows.row(at).expect("there is a row for each outline");
        assert_eq!(counts(outline), counts(&row), "{at}");
    });
    for (at, row) in report.flows.iter().enumerate().filter(|(at, _)| !in_trouble[*at]) {
        let shown = FINDINGS.iter().find(|kind| kind.count(&row).is_some());
        assert!(
            shown.is_none_or(|kind| kind.scope != Scope::FlowsInTrouble),
            "{at}: {shown:?} {}",
            counts(&row)
        );
        assert!(row.cnps + row.ce_packets == 0, "{at}");
        assert!(report.head.findings.iter().all(|finding| finding.flow != Some(at)), "{at}");
    }
    let left_out = in_trouble.iter().filter(|in_trouble| !**in_trouble).count();
    assert!(left_out > 10 && left_out < seen.len() - 10 || cfg!(not(feature = "compression")), "{left_out}");
    assert!(seen.len() > 20 || cfg!(not(feature = "compression")), "{}", seen.len());
}
