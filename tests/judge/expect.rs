//! Compares a report with what a scenario expects of it: see [`rdmawire::sim::expect`].

use std::fmt;

use serde_json::{Map, Value};

/// A figure that differs from the expectation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mismatch {
    /// Which: `flows[10.0.0.1 > 10.0.0.2 0x11 #0].requests.retransmits`.
    pub(crate) path: String,
    /// The expected value.
    pub(crate) expected: Value,
    /// The value in the analysis; `None` if it has none.
    pub(crate) actual: Option<Value>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, ", self.path, self.expected)?;
        match &self.actual {
            Some(actual) => write!(f, "the analysis has {actual}"),
            None => f.write_str("the analysis has nothing"),
        }
    }
}

/// Where an analysis differs from an expectation.
pub(crate) fn check(expected: &Value, actual: &Value) -> Vec<Mismatch> {
    let mut wrong = Vec::new();
    object("", expected, actual, &mut wrong);
    wrong
}

fn object(path: &str, expected: &Value, actual: &Value, wrong: &mut Vec<Mismatch>) {
    let Some(members) = expected.as_object() else { return };
    for (name, expected) in members {
        let inner = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match (name.as_str(), expected) {
            ("schema", _) | ("epoch", _) => {}
            ("flows", Value::Array(flows)) => check_flows(flows, actual.get("flows"), wrong),
            (_, Value::Object(members)) if !is_bounds(members) => match actual.get(name) {
                Some(actual @ Value::Object(_)) => object(&inner, expected, actual, wrong),
                other => {
                    wrong.push(Mismatch { path: inner, expected: expected.clone(), actual: other.cloned() })
                }
            },
            _ => {
                let found = actual.get(name);
                // Ambiguous frames may be either.
                let ambiguous = actual.get("ambiguous").and_then(Value::as_u64).unwrap_or(0);
                let slack =
                    if matches!(name.as_str(), "retransmits" | "out_of_order") { ambiguous } else { 0 };
                if !found.is_some_and(|found| agrees(expected, found, slack)) {
                    wrong.push(Mismatch { path: inner, expected: expected.clone(), actual: found.cloned() });
                }
            }
        }
    }
}

fn is_bounds(members: &Map<String, Value>) -> bool {
    members.len() == 2 && members.contains_key("least") && members.contains_key("most")
}

/// Whether a figure is as expected. It may be up to `slack` lower.
pub(crate) fn agrees(expected: &Value, actual: &Value, slack: u64) -> bool {
    let pair = actual.as_array().filter(|pair| pair.len() == 2);
    let interval = pair.map(|pair| (pair[0].as_u64(), pair[1].as_u64()));
    if expected.is_null() {
        return actual.is_null() || matches!(interval, Some((Some(0), _)));
    }
    let wanted = match (expected.as_u64(), expected.as_object()) {
        (Some(exact), _) => (exact, exact),
        (None, Some(members)) => match (members["least"].as_u64(), members["most"].as_u64()) {
            (Some(least), Some(most)) => (least, most),
            _ => return false,
        },
        _ => return expected == actual,
    };
    match (interval, actual.as_u64()) {
        // An open end is `null`.
        (Some((least, most)), _) => least.unwrap_or(0) <= wanted.1 && most.unwrap_or(u64::MAX) >= wanted.0,
        (None, Some(actual)) => wanted.0 <= actual.saturating_add(slack) && actual <= wanted.1,
        (None, None) => false,
    }
}

type Key<'a> = (&'a Value, &'a Value, &'a Value);

fn key(flow: &Value) -> Key<'_> {
    (&flow["src"], &flow["dst"], &flow["dest_qp"])
}

/// Compares flows. They are matched by source, destination and queue pair, and by `epoch` if the analysis has it, otherwise
/// by order.
fn check_flows(expected: &[Value], actual: Option<&Value>, wrong: &mut Vec<Mismatch>) {
    let none = Vec::new();
    let actual = actual.and_then(Value::as_array).unwrap_or(&none);
    let mut taken = vec![false; actual.len()];
    for flow in expected {
        let name = format!(
            "flows[{} > {} {:#x} #{}]",
            flow["src"].as_str().unwrap_or("?"),
            flow["dst"].as_str().unwrap_or("?"),
            flow["dest_qp"].as_u64().unwrap_or(0),
            flow["epoch"]
        );
        let same = |i: &usize| !taken[*i] && key(&actual[*i]) == key(flow);
        let exact = (0..actual.len()).filter(same).find(|&i| actual[i].get("epoch") == flow.get("epoch"));
        let unsaid = (0..actual.len()).filter(same).find(|&i| actual[i].get("epoch").is_none());
        match exact.or(unsaid) {
            Some(i) => {
                taken[i] = true;
                object(&name, flow, &actual[i], wrong);
            }
            None => wrong.push(Mismatch { path: name, expected: flow["packets"].clone(), actual: None }),
        }
    }
    for (i, flow) in actual.iter().enumerate() {
        if !taken[i] && flow["service"].as_str() == Some("RC") {
            let path = format!("flows[{} > {} {}]", flow["src"], flow["dst"], flow["dest_qp"]);
            wrong.push(Mismatch { path, expected: Value::Null, actual: Some(flow["packets"].clone()) });
        }
    }
}
