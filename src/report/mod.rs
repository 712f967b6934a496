//! The results of an analysis as data, and renderers for them.
//!
//! A [`Report`] is all that a [`Renderer`] needs. Its JSON form is stable: names and words change only with the number in
//! [`SCHEMA`], and [`schema`] describes it. Units stand in the names of fields. A figure that the capture cannot prove is
//! `None`, and `why` of the object that has it says why.

/// The structs of a report. Every field has a default, so that reports of other versions can be read.
macro_rules! records {
    ($($(#[$about:meta])+ pub struct $name:ident { $($(#[$doc:meta])+ pub $field:ident: $type:ty,)+ })+) => {$(
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(default)]
        #[non_exhaustive]
        $(#[$about])+
        pub struct $name {
            $($(#[$doc])+ pub $field: $type,)+
        }
    )+};
}

mod capture;
pub mod chart;
mod congestion;
mod connection;
mod credits;
pub mod diff;
mod finding;
mod flow;
#[cfg(feature = "cli")]
pub mod html;
pub mod json;
mod list;
mod message;
mod microburst;
mod order;
mod overhead;
mod pause_tree;
pub mod price;
mod render;
pub mod set;
mod slow;
pub mod table;
mod terms;
#[cfg(feature = "cli")]
pub mod text;
mod traffic;
pub mod units;

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde::{Deserialize, Serialize};

pub use capture::*;
pub use congestion::*;
pub use connection::*;
pub use credits::*;
pub use finding::*;
pub use flow::*;
pub use list::{List, Rows};
pub use message::*;
pub use microburst::*;
pub use order::{Sort, find_flow, sorted, trouble};
pub use overhead::*;
pub use pause_tree::*;
pub use render::{Renderer, clean};
pub use slow::*;
pub use terms::*;
pub use traffic::*;

/// The name and number of the schema.
pub const SCHEMA: &str = "rdmawire.analysis/2";

/// Why figures are missing: from the field to the reason.
pub type Why = BTreeMap<Cow<'static, str>, Reason>;

/// The whole report. Its long lists are kept, or, in a [`View`], made row by row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(
    rename = "Report",
    bound = "F: JsonSchema + Default + Serialize, C: JsonSchema + Default + Serialize, E: JsonSchema + Default + Serialize"
)]
#[non_exhaustive]
pub struct Report<F = Vec<Flow>, C = Vec<Connection>, E = Vec<Episode>> {
    /// [`SCHEMA`].
    pub schema: Cow<'static, str>,
    /// The capture: files and counts.
    pub capture: Capture,
    /// Flows, most packets first.
    pub flows: F,
    /// Pairs of flows.
    pub connections: C,
    /// Pauses per link, sender and priority, the longest first; `None` where the capture has no MAC control frame.
    pub pause: Option<Vec<Pause>>,
    /// Pause frames that are not as the standard has them, by what is wrong.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pause_faults: BTreeMap<PauseFault, u64>,
    /// Who paused whom, from victim to culprit; `None` where nothing says what the captured links join.
    pub pause_tree: Option<PauseTree>,
    /// Flows that send for less than four fifths of their time, and what the rest went to, those that lost most to trouble first:
    /// 1024 at most.
    pub slow_flows: Vec<SlowFlow>,
    /// How many flows are slow.
    pub slow_flow_count: u64,
    /// Marks and notifications.
    pub congestion: Congestion,
    /// Traffic by class, most bytes first.
    pub traffic_classes: Vec<TrafficClass>,
    /// Classes that are not as they should be.
    pub qos: Qos,
    /// Times in which several senders sent more to one receiver than its link carries, by time: the first 1024; `None` without the
    /// link's speed.
    pub incast: Option<Vec<Incast>>,
    /// Bursts that are too short for a mean rate to show, and the highest rates to each receiver.
    pub microbursts: Microbursts,
    /// Credits of native InfiniBand per end of a link and virtual lane, where the capture has link packets.
    pub credits: Vec<Credits>,
    /// Link packets whose checksum (LPCRC) is wrong: they are not among the credits.
    pub bad_lpcrcs: u64,
    /// What headers cost.
    pub overhead: Overhead,
    /// How flows spread over source ports; `None` where none has UDP.
    pub ports: Option<Ports>,
    /// What each link of the capture carried: the first 1024 interfaces, those that captured something.
    pub links: Vec<LinkLoad>,
    /// How evenly these carry traffic; `None` of a single link, and where links follow each other on a path.
    pub balance: Option<Balance>,
    /// Losses and timeouts one by one, by time.
    pub episodes: E,
    /// The length of an interval in nanoseconds: longer than asked for where there were too many.
    pub interval_ns: Option<u64>,
    /// Traffic over time, where it was asked for: intervals that had some.
    pub intervals: Option<Vec<Interval>>,
    /// Findings, most serious first.
    pub findings: Vec<Finding>,
    /// Sections of a user's own [metrics](crate::analyze::metric::Metric), by their names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sections: BTreeMap<String, serde_json::Value>,
    /// Why figures are missing.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub why: Why,
}

/// A report as renderers see it.
pub type View<'a> = Report<Rows<'a, Flow>, Rows<'a, Connection>, Rows<'a, Episode>>;

impl Report {
    /// The report as renderers see it.
    pub fn view(&self) -> View<'_> {
        self.with_lists(
            Rows::new(Arc::new(&self.flows[..])),
            Rows::new(Arc::new(&self.connections[..])),
            Rows::new(Arc::new(&self.episodes[..])),
        )
    }
}

impl View<'_> {
    /// Makes all rows, and keeps them.
    pub fn collect(&self) -> Report {
        self.with_lists(
            self.flows.iter().map(Cow::into_owned).collect(),
            self.connections.iter().map(Cow::into_owned).collect(),
            self.episodes.iter().map(Cow::into_owned).collect(),
        )
    }
}

impl<F, C, E> Report<F, C, E> {
    /// The report with other lists.
    pub(crate) fn with_lists<G, D, H>(&self, flows: G, connections: D, episodes: H) -> Report<G, D, H> {
        Report {
            schema: self.schema.clone(),
            capture: self.capture.clone(),
            flows,
            connections,
            pause: self.pause.clone(),
            pause_faults: self.pause_faults.clone(),
            pause_tree: self.pause_tree.clone(),
            slow_flows: self.slow_flows.clone(),
            slow_flow_count: self.slow_flow_count,
            congestion: self.congestion.clone(),
            traffic_classes: self.traffic_classes.clone(),
            qos: self.qos.clone(),
            incast: self.incast.clone(),
            microbursts: self.microbursts.clone(),
            credits: self.credits.clone(),
            bad_lpcrcs: self.bad_lpcrcs,
            overhead: self.overhead.clone(),
            ports: self.ports.clone(),
            links: self.links.clone(),
            balance: self.balance,
            episodes,
            interval_ns: self.interval_ns,
            intervals: self.intervals.clone(),
            findings: self.findings.clone(),
            sections: self.sections.clone(),
            why: self.why.clone(),
        }
    }
}

/// The JSON Schema of a report.
pub fn schema() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    // Defaults are for readers of older reports. A written report has all fields.
    let settings =
        settings.with_transform(RecursiveTransform(|part: &mut Schema| _ = part.remove("default")));
    settings.into_generator().into_root_schema_for::<Report>()
}
