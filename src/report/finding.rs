//! Findings, and their common causes.

use std::{borrow::Cow, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Bounds;

/// How serious a finding is. The most serious is the least in order.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Severity {
    /// Packets were lost, corrupted or refused, or traffic stood still.
    Error,
    /// Time was lost, or the capture itself cannot be trusted in full.
    Warning,
    /// Worth knowing. Unknown words of a later version read as this.
    #[default]
    #[serde(other)]
    Note,
}

impl Severity {
    /// Its word in JSON and text.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How sure a conclusion is. The surest is the least in order.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Confidence {
    /// The capture proves it.
    Certain,
    /// Another explanation needs a rare coincidence.
    Likely,
    /// Chance may explain it too. Unknown words of a later version read as this.
    #[default]
    #[serde(other)]
    Possible,
}

impl Confidence {
    /// Its word in JSON and text.
    pub const fn name(self) -> &'static str {
        match self {
            Confidence::Certain => "certain",
            Confidence::Likely => "likely",
            Confidence::Possible => "possible",
        }
    }
}

/// A finding: one cause, and the flows that it affects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct Finding {
    /// How serious it is.
    pub severity: Severity,
    /// Its kind, which `rdmawire explain finding` explains: "loss.downstream".
    pub id: Cow<'static, str>,
    /// What was found, in one sentence.
    pub text: String,
    /// What to do next.
    pub next: String,
    /// Some of the frames that show it, counted from 1.
    pub frames: Vec<u64>,
    /// Index of the flow concerned into the list of flows; `None` where there is none, or more than one.
    pub flow: Option<usize>,
    /// The flows concerned, those that lost most time first. The list is cut: see `flow_count`.
    pub flows: Vec<Affected>,
    /// Number of flows concerned.
    pub flow_count: u64,
    /// Time that these flows lost by it, in nanoseconds, added up over the flows; `None` where that is not known.
    pub time_lost_ns: Option<u64>,
    /// What the flows concerned have in common, and others do not; `None` where nothing stands out.
    pub cause: Option<Cause>,
}

/// A flow that a finding concerns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct Affected {
    /// Index into the list of flows.
    pub flow: usize,
    /// What the finding counts (packets, time-outs), at least and at most.
    pub count: Bounds,
    /// Time that the flow lost by it, in nanoseconds; `None` where that is not known.
    pub time_lost_ns: Option<u64>,
}

/// What the flows of a finding have in common. Of the properties, those are known that name the cause: flows between two
/// hosts have `src` and `dst`, flows to one host have `dst` only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct Cause {
    /// Source address.
    pub src: Option<String>,
    /// Destination address.
    pub dst: Option<String>,
    /// UDP source port, by which switches choose among equal paths.
    pub udp_src_port: Option<u16>,
    /// DSCP, by which switches choose the queue.
    pub dscp: Option<u8>,
    /// VLAN number.
    pub vlan: Option<u16>,
    /// When it happened, where all happened at nearly one time: nanoseconds since 1970, first and last.
    pub between_ns: Option<[i64; 2]>,
    /// Flows with these properties that the finding concerns, and all flows with these properties.
    pub affected: [u64; 2],
    /// Flows without these properties that show the same, and all flows without these properties.
    pub others: [u64; 2],
    /// How sure it is that the common property is no chance.
    pub confidence: Confidence,
}
