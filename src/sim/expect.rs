//! The results that an analysis of a scenario's capture must have, and the comparison with a report.
//!
//! The expectation has the structure and names of `rdmawire analyze --json`, with the figures that the labels give. In it
//!
//! * a number, text or boolean is exact;
//! * `{"least": a, "most": b}` is what the capture proves and the truth: a number must be between them, an interval
//!   `[at least, at most]` must overlap them;
//! * `null` is what this capture cannot show: the analysis must have `null`, or an interval that begins with 0.
//!
//! An analysis that calls frames ambiguous may count as many fewer as retransmissions or as out of order.

use std::fmt;

use serde_json::{Map, Value, json};

use super::{
    engine::Run,
    label::{Bounds, FlowTruth, Labels, SpaceTruth},
};
use crate::opcode::{Direction, Service};

/// A figure that differs from the expectation.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// Which: `flows[10.0.0.1 > 10.0.0.2 0x11 #0].requests.retransmits`.
    pub path: String,
    /// The expected value.
    pub expected: Value,
    /// The value in the analysis; `None` if it has none.
    pub actual: Option<Value>,
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

impl Run {
    /// The expectation for a tap's capture.
    pub fn expect(&self, tap: usize) -> Value {
        self.expect_of(tap, &self.labels(tap))
    }

    /// The expectation from a tap's labels.
    pub fn expect_of(&self, tap: usize, labels: &Labels) -> Value {
        let seen = labels.flows.iter().enumerate().filter(|(_, truth)| truth.packets > 0);
        let flows: Vec<Value> = seen.map(|(i, truth)| self.expect_flow(tap, i, truth)).collect();
        let mut expected = json!({
            "schema": "rdmawire.expect/1",
            "capture": { "packets": labels.frames.len() },
            "flows": flows,
        });
        let cnps: u64 = labels.flows.iter().map(|flow| flow.cnps).sum();
        if cnps > 0 {
            expected["congestion"] = json!({ "cnps": cnps });
        }
        expected
    }

    fn expect_flow(&self, tap: usize, index: usize, truth: &FlowTruth) -> Value {
        let flow = &self.flows[index];
        let connection = flow.connection.map(|c| &self.connections[c as usize]);
        let encapsulation = self.encapsulation(flow).name();
        let address = |host: u32| match encapsulation {
            "ib" => {
                let lid = self.scenario.host[host as usize].lid.unwrap_or(host as u16 + 1);
                format!("lid:{lid:#06x}")
            }
            _ => self.scenario.host[host as usize].address.to_string(),
        };
        let service = connection.map_or(Service::Ud, |c| c.service);
        let mut out = json!({
            "src": address(flow.src),
            "dst": address(flow.dst),
            "dest_qp": flow.dest_qp,
            "epoch": flow.epoch,
            "encapsulation": encapsulation,
            "packets": truth.packets,
            "cnps": truth.cnps,
        });
        // A flow that only has notifications does not show its service.
        if truth.packets > truth.cnps {
            out["service"] = json!(service.name());
        }
        // An analysis may count frames with a bad ICRC or not.
        let all = |all: u64, bad: u64| bounds(Bounds { least: all - bad, most: all });
        if encapsulation.starts_with("rocev2") {
            out["ecn_ect"] = all(truth.ecn_ect, truth.bad[1]);
            out["ecn_ce"] = all(truth.ecn_ce, truth.bad[2]);
        }
        if self.captures[tap].tap.snaplen == 0 {
            out["payload_bytes"] = all(truth.payload_bytes, truth.bad[0]);
            let bad = if self.captures[tap].tap.bad_icrc { truth.packets } else { truth.icrc_bad };
            out["icrc"] = json!({ "bad": bad });
        }
        if service != Service::Ud {
            out["requests"] = self.expect_space(tap, service, Direction::Request, &truth.requests);
        }
        if service == Service::Rc {
            out["responses"] = self.expect_space(tap, service, Direction::Response, &truth.responses);
            out["acks"] = json!(truth.acks);
            out["rnr_naks"] = json!(truth.rnr_naks);
            out["naks"] = json!({
                "psn_sequence_error": truth.naks[0],
                "invalid_request": truth.naks[1],
                "remote_access_error": truth.naks[2],
                "remote_operational_error": truth.naks[3],
            });
        }
        out
    }

    fn expect_space(&self, tap: usize, service: Service, direction: Direction, truth: &SpaceTruth) -> Value {
        let mut out = json!({
            "packets": truth.packets,
            "retransmits": bounds(truth.retransmits),
            // Overtaken retransmissions may count too.
            "out_of_order": { "least": truth.out_of_order, "most": truth.out_of_order + truth.retransmits.most },
            "capture_duplicates": truth.capture_duplicates,
            "gap_psns": truth.gap_psns,
        });
        let cut = self.captures[tap].tap.snaplen != 0;
        if !cut {
            out["retransmitted_bytes"] = bounds(truth.retransmitted_bytes);
        }
        let both = self.sees_all(tap);
        if direction == Direction::Request && service == Service::Rc && both {
            out["triggers"] = json!({
                "nak": bounds(truth.nak),
                "timeout": bounds(truth.timeout),
                "rnr": bounds(truth.rnr),
                "implied_nak": bounds(truth.implied_nak),
            });
        }
        // Without packets, nothing is known about losses.
        if truth.packets == 0 {
            return out;
        }
        let mut losses = Map::new();
        let proves = both && service == Service::Rc;
        losses.insert("upstream".into(), if both { bounds(truth.upstream) } else { Value::Null });
        losses.insert("downstream".into(), if proves { json!(truth.downstream) } else { Value::Null });
        if direction == Direction::Request && service == Service::Rc {
            losses.insert("ack_path".into(), if proves { bounds(truth.ack_path) } else { Value::Null });
        }
        if !cut {
            losses.insert("corrupt".into(), json!(truth.corrupt));
        }
        losses.insert("capture".into(), bounds(Bounds { least: 0, most: truth.capture }));
        out["losses"] = losses.into();
        out
    }
}

/// Both bounds, or one number if they are equal.
fn bounds(bounds: Bounds) -> Value {
    if bounds.least == bounds.most {
        json!(bounds.most)
    } else {
        json!({ "least": bounds.least, "most": bounds.most })
    }
}

/// Where an analysis differs from an expectation.
pub fn check(expected: &Value, actual: &Value) -> Vec<Mismatch> {
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
fn agrees(expected: &Value, actual: &Value, slack: u64) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreement() {
        let two = json!({ "least": 2, "most": 5 });
        assert!(agrees(&json!(3), &json!(3), 0) && !agrees(&json!(3), &json!(2), 0));
        assert!(agrees(&json!(3), &json!(2), 1) && !agrees(&json!(3), &json!(4), 1));
        assert!(agrees(&json!(3), &json!([1, 7]), 0) && !agrees(&json!(3), &json!([4, 7]), 0));
        assert!(!agrees(&json!(3), &json!([0, 2]), 0) && agrees(&two, &json!([0, 2]), 0));
        assert!(agrees(&two, &json!(4), 0) && !agrees(&two, &json!(6), 0) && !agrees(&two, &json!(1), 0));
        assert!(agrees(&Value::Null, &json!([0, 9]), 0) && agrees(&Value::Null, &Value::Null, 0));
        assert!(!agrees(&Value::Null, &json!(0), 0) && !agrees(&Value::Null, &json!([1, 9]), 0));
        assert!(!agrees(&json!(3), &Value::Null, 0) && agrees(&json!("RC"), &json!("RC"), 0));
    }

    #[test]
    fn flows_by_key_and_epoch() {
        let flow = |epoch: u32, packets: u32| json!({"src": "a", "dst": "b", "dest_qp": 1, "epoch": epoch, "packets": packets});
        let expected = json!({ "flows": [flow(0, 5), flow(1, 7)] });
        assert_eq!(check(&expected, &json!({ "flows": [flow(1, 7), flow(0, 5)] })), []);
        let wrong = check(&expected, &json!({ "flows": [flow(0, 5), flow(1, 8)] }));
        assert_eq!(wrong.len(), 1);
        assert_eq!(wrong[0].path, "flows[a > b 0x1 #1].packets");
        assert_eq!(check(&expected, &json!({ "flows": [flow(0, 5)] })).len(), 1);
    }
}
