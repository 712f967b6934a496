//! Outcomes as SARIF 2.1.0, which code hosts and dashboards read.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::{Checked, lines};
use crate::{
    gate::{Outcome, Unknown, Verdict},
    report::{clean, has, json as report_json},
};

/// Who wrote the file: near its beginning, as keys are in order.
const GENERATOR: &str = concat!("rdmawire ", env!("CARGO_PKG_VERSION"));

/// Whether bytes are the beginning of a file that [`sarif`] wrote.
pub fn is_sarif(first: &[u8]) -> bool {
    has(first, "/sarif-schema-2.1.0.json\"") && has(first, "\"generator\"") && has(first, "\"rdmawire ")
}

/// Writes the outcomes: a result for each rule and file, also for rules that hold.
///
/// # Errors
/// What `to` fails with.
pub fn sarif(to: &mut dyn Write, checked: &[Checked], unknown: Unknown) -> io::Result<()> {
    let rules = checked.first().map_or(&[][..], |one| &one.outcomes);
    let rule = |(at, outcome): (usize, &Outcome)| {
        json!({
            "id": id(at),
            "name": clean(outcome.title()),
            "shortDescription": { "text": clean(&outcome.rule) },
            "defaultConfiguration": { "level": outcome.severity.name() },
        })
    };
    let results = checked.iter().flat_map(|one| {
        let outcomes = one.outcomes.iter().enumerate();
        outcomes.map(|(at, outcome)| result(at, outcome, &one.file, unknown))
    });
    let log = json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "properties": { "generator": GENERATOR },
        "runs": [{
            "tool": { "driver": {
                "name": "rdmawire",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().enumerate().map(rule).collect::<Vec<_>>(),
            } },
            "results": results.collect::<Vec<_>>(),
        }],
    });
    report_json::write(to, &log)?;
    writeln!(to)
}

fn result(at: usize, outcome: &Outcome, file: &str, unknown: Unknown) -> Value {
    // "open": there is not enough information to decide. Where that fails the gate, it is a failure.
    let (kind, level) = match outcome.verdict {
        Verdict::Held => ("pass", "none"),
        Verdict::Unknown if !outcome.fails(unknown) => ("open", "none"),
        Verdict::Unknown | Verdict::Violated => ("fail", outcome.severity.name()),
    };
    let mut text = vec![format!("{}: {}", outcome.verdict.name(), clean(outcome.title()))];
    text.extend(lines(outcome));
    json!({
        "ruleId": id(at),
        "ruleIndex": at,
        "kind": kind,
        "level": level,
        "message": { "text": text.join("\n") },
        "locations": [{ "physicalLocation": { "artifactLocation": { "uri": uri(file) } } }],
    })
}

fn id(at: usize) -> String {
    format!("gate-{}", at + 1)
}

/// A file's name as a relative reference.
fn uri(file: &str) -> String {
    file.bytes().fold(String::new(), |mut uri, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                uri.push(byte.into())
            }
            _ => uri += &format!("%{byte:02X}"),
        }
        uri
    })
}
