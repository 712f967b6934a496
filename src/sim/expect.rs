//! The results that an analysis of a scenario's capture must have.
//!
//! The expectation has the structure and names of `rdmawire analyze --json`, with the figures that the labels give. In it
//!
//! * a number, text or boolean is exact;
//! * `{"least": a, "most": b}` is what the capture proves and the truth: a number must be between them, an interval
//!   `[at least, at most]` must overlap them;
//! * `null` is what this capture cannot show: the analysis must have `null`, or an interval that begins with 0.
//!
//! An analysis that calls frames ambiguous may count as many fewer as retransmissions or as out of order.

use std::io;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::{
    engine::Run,
    label::{FlowTruth, Labels, SpaceTruth, TruthBounds},
};
use crate::opcode::{Direction, Service};

impl Run {
    /// The expectation for a tap's capture.
    pub fn expect(&self, tap: usize) -> Value {
        self.expect_of(tap, &self.labels(tap))
    }

    /// The expectation from a tap's labels.
    pub fn expect_of(&self, tap: usize, labels: &Labels) -> Value {
        // No part of it can fail.
        serde_json::to_value(self.expected(tap, labels)).unwrap_or_default()
    }

    /// Writes the expectation for a tap's capture as JSON, flow by flow: there may be many.
    ///
    /// # Errors
    /// What `to` fails with.
    pub fn write_expect(&self, tap: usize, mut to: impl io::Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut to, &self.expected(tap, &self.labels(tap)))?;
        writeln!(to)?;
        to.flush()
    }

    fn expected<'a>(&'a self, tap: usize, labels: &'a Labels) -> Expected<'a> {
        let cnps: u64 = labels.flows.iter().map(|flow| flow.cnps).sum();
        Expected {
            capture: json!({ "packets": labels.frames.len() }),
            congestion: (cnps > 0).then(|| json!({ "cnps": cnps })),
            flows: ExpectedFlows { run: self, tap, labels },
            schema: "rdmawire.expect/1",
        }
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
        let all = |all: u64, bad: u64| bounds(TruthBounds { least: all - bad, most: all });
        if encapsulation.starts_with("rocev2") {
            out["ect_packets"] = all(truth.ecn_ect + truth.ecn_ce, truth.bad[1] + truth.bad[2]);
            out["ce_packets"] = all(truth.ecn_ce, truth.bad[2]);
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
        // Without answers, a sender that goes back to what was passed over still proves a loss.
        let least = if both { truth.upstream.least } else { 0 };
        losses.insert("upstream".into(), bounds(TruthBounds { least, ..truth.upstream }));
        let behind = TruthBounds { least: truth.downstream, most: truth.downstream + truth.of_no_use };
        losses.insert("downstream".into(), if proves { bounds(behind) } else { Value::Null });
        if direction == Direction::Request && service == Service::Rc {
            losses.insert("ack_path".into(), if proves { bounds(truth.ack_path) } else { Value::Null });
        }
        if !cut {
            losses.insert("corrupt".into(), json!(truth.corrupt));
            if truth.trimmed > 0 {
                losses.insert("trimmed".into(), json!(truth.trimmed));
            }
        }
        losses.insert("capture".into(), bounds(TruthBounds { least: 0, most: truth.capture }));
        out["losses"] = losses.into();
        out
    }
}

/// An expectation. Its flows are made as they are written.
#[derive(Serialize)]
struct Expected<'a> {
    capture: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    congestion: Option<Value>,
    flows: ExpectedFlows<'a>,
    schema: &'static str,
}

struct ExpectedFlows<'a> {
    run: &'a Run,
    tap: usize,
    labels: &'a Labels,
}

impl Serialize for ExpectedFlows<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let seen = self.labels.flows.iter().enumerate().filter(|(_, truth)| truth.packets > 0);
        to.collect_seq(seen.map(|(at, truth)| self.run.expect_flow(self.tap, at, truth)))
    }
}

/// Both bounds, or one number if they are equal.
fn bounds(bounds: TruthBounds) -> Value {
    if bounds.least == bounds.most {
        json!(bounds.most)
    } else {
        json!({ "least": bounds.least, "most": bounds.most })
    }
}
