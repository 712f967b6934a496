//! What the analysis finds in a capture is the same after anonymizing, but for the names.

use std::{collections::HashMap, net::IpAddr, path::Path};

use rdmawire::{
    analyze::{Analysis, Options},
    capture::{self, Record, Source},
    craft::rewrite::{Plan, Rewriter},
};
use serde_json::Value;

/// Who and where: each value may be another, as long as it is always the same one.
const NAMES: &[&str] = &[
    "src",
    "dst",
    "addr",
    "ip",
    "receiver",
    "dest_qp",
    "src_qp",
    "peer_qp",
    "qp",
    "udp_src_ports",
    "uid",
    "gid",
    "lid",
    "ca_guid",
    "comm_id",
];

#[derive(Default)]
struct Compare {
    there: HashMap<String, String>,
    back: HashMap<String, String>,
    names: usize,
    values: usize,
}

impl Compare {
    fn same(&mut self, at: &str, key: &str, a: &Value, b: &Value) {
        match (a, b) {
            (Value::Object(a), Value::Object(b)) => {
                assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>(), "{at}");
                // With the private data goes what only it showed.
                let is_gone = a.get("application_by").is_some_and(|by| by == "private_data");
                let kept = a
                    .iter()
                    .filter(|(key, _)| *key != "see_also" && !(is_gone && key.starts_with("application")));
                kept.for_each(|(key, value)| self.same(&format!("{at}.{key}"), key, value, &b[key]));
            }
            (Value::Array(a), Value::Array(b)) => {
                assert_eq!(a.len(), b.len(), "{at}");
                for (n, (a, b)) in a.iter().zip(b).enumerate() {
                    self.same(&format!("{at}[{n}]"), key, a, b);
                }
            }
            _ if NAMES.contains(&key) && !a.is_null() => {
                let kind = if key == "ca_guid" {
                    "adapter"
                } else if key == "gid" {
                    "GID"
                } else if a.is_string() {
                    "address"
                } else if key.ends_with("qp") {
                    "queue pair"
                } else {
                    key
                };
                let (a, b) = (format!("{kind} {a}"), format!("{kind} {b}"));
                assert_eq!(self.there.entry(a.clone()).or_insert_with(|| b.clone()), &b, "{at}: {a}");
                assert_eq!(self.back.entry(b.clone()).or_insert_with(|| a.clone()), &a, "{at}: {b}");
                self.names += 1;
            }
            // Private data may be addresses: it is gone.
            _ if key == "private_data" => {}
            // A finding's words name flows.
            (Value::String(a), Value::String(b)) if key == "text" || key == "next" => {
                assert_eq!(without_names(a), without_names(b), "{at}");
                self.values += 1;
            }
            _ => {
                assert_eq!(a, b, "{at}");
                self.values += 1;
            }
        }
    }
}

/// All words but addresses and the numbers of queue pairs.
fn without_names(text: &str) -> String {
    let words = text.split(' ').map(|word| word.trim_end_matches([',', ':', ';']));
    let is_name = |word: &&str| word.parse::<IpAddr>().is_err() && !word.starts_with("0x");
    words.filter(is_name).collect::<Vec<_>>().join(" ")
}

fn report(path: &Path, rewriter: Option<&mut Rewriter>) -> Value {
    let mut analysis = Analysis::new(Options::default());
    let mut reader = capture::open(path).unwrap();
    match rewriter {
        None => {
            while let Some(record) = reader.next().unwrap() {
                analysis.push(&record);
            }
        }
        Some(rewriter) => {
            let mut first = capture::open(path).unwrap();
            while let Some(record) = first.next().unwrap() {
                rewriter.learn(&record);
            }
            while let Some(record) = reader.next().unwrap() {
                let (time, interface) = (record.time, record.interface);
                let new = rewriter.rewrite(&record).unwrap();
                let (link, wire_len, frame) = (new.link, new.wire_len, new.frame);
                analysis.push(&Record { time, interface, link, wire_len, frame });
            }
        }
    }
    serde_json::to_value(analysis.finish()).unwrap()
}

/// Clear-to-send elements are payload: they keep the addresses and keys that headers no longer have, or are zeroed, so that what was proved
/// only looks like it afterwards, or is not found. Kinds of traffic that they tell are told no more either.
fn without_collectives(mut report: Value, had_some: bool) -> Value {
    if had_some {
        for kinds in ["pair_classes", "pair_class_count"] {
            report[kinds] = Value::Null;
        }
    }
    report["collectives"] = Value::Null;
    // A cause by its name, as others before it may go.
    if let Some(findings) = report["findings"].as_array_mut() {
        let ids: Vec<Value> = findings.iter().map(|finding| finding["id"].clone()).collect();
        for finding in findings.iter_mut() {
            if let Some(of) = finding["effect_of"].as_u64() {
                finding["effect_of"] = ids[of as usize].clone();
            }
        }
        findings.retain(|finding| !finding["id"].as_str().is_some_and(|id| id.starts_with("collective.")));
    }
    report
}

#[test]
fn findings_are_unchanged_by_anonymizing() {
    let mut captures = 0;
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/pcaps")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.to_string_lossy().into_owned();
        if ![".pcap", ".pcap.zst", ".pcapng", ".erf"].iter().any(|end| name.ends_with(end)) {
            continue;
        }
        if name.ends_with(".zst") && !cfg!(feature = "compression") {
            continue;
        }
        let before = report(&path, None);
        let had_some = !before["collectives"].is_null();
        let before = without_collectives(before, had_some);
        for zero_payload in [false, true] {
            let plan = Plan { anonymize: true, zero_payload, seed: 3, ..Plan::default() };
            let after = report(&path, Some(&mut Rewriter::new(plan)));
            let after = without_collectives(after, had_some);
            let mut compare = Compare::default();
            compare.same(&name, "", &before, &after);
            assert!(compare.values > 50, "{name}: {}", compare.values);
        }
        captures += 1;
    }
    assert!(captures > 1, "{captures}");
}
