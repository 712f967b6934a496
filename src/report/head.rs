//! The report: its head, and its long lists.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::*;

/// The whole report.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// All but the long lists.
    pub head: Head,
    /// Flows, most packets first.
    pub flows: Vec<Flow>,
    /// Pairs of flows.
    pub connections: Vec<Connection>,
    /// Losses and timeouts one by one, by time.
    pub episodes: Vec<Episode>,
}

/// A report as renderers see it: its lists are in memory, or made row by row.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct View<'a> {
    /// All but the long lists.
    pub head: Cow<'a, Head>,
    /// Flows, most packets first.
    pub flows: Rows<'a, Flow>,
    /// Pairs of flows.
    pub connections: Rows<'a, Connection>,
    /// Losses and timeouts one by one, by time.
    pub episodes: Rows<'a, Episode>,
}

impl Report {
    /// The report as renderers see it.
    pub fn view(&self) -> View<'_> {
        View {
            head: Cow::Borrowed(&self.head),
            flows: Rows::new(Arc::new(&self.flows[..])),
            connections: Rows::new(Arc::new(&self.connections[..])),
            episodes: Rows::new(Arc::new(&self.episodes[..])),
        }
    }
}

impl View<'_> {
    /// Makes all rows, and keeps them.
    pub fn collect(&self) -> Report {
        Report {
            flows: self.flows.iter().map(Cow::into_owned).collect(),
            connections: self.connections.iter().map(Cow::into_owned).collect(),
            episodes: self.episodes.iter().map(Cow::into_owned).collect(),
            head: Head::clone(&self.head),
        }
    }
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.head.with_lists(&self.flows, &self.connections, &self.episodes).serialize(to)
    }
}

impl Serialize for View<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.head.with_lists(&self.flows, &self.connections, &self.episodes).serialize(to)
    }
}

impl<'de> Deserialize<'de> for Report {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Report, D::Error> {
        read::Report::deserialize(from).map(Report::from)
    }
}

/// The head, and the object that a report is in JSON, where the long lists stand between fields of the head.
macro_rules! head {
    ($({ $($(#[doc = $doc:literal])+ $(#[serde(skip_serializing_if = $empty:literal)])? $field:ident: $type:ty,)+ }
       [ $($(#[doc = $list_doc:literal])+ $list:ident: $rows:ident $row:ty,)* ])+) => {
        /// A report without its long lists.
        #[derive(Clone, Debug, Default, PartialEq)]
        #[non_exhaustive]
        pub struct Head {
            $($($(#[doc = $doc])+ pub $field: $type,)+)+
        }

        /// A report that is written.
        #[derive(Serialize)]
        pub(super) struct Written<'a, F, C, E> {
            $($($(#[serde(skip_serializing_if = $empty)])? $field: &'a $type,)+ $($list: $rows,)*)+
        }

        pub(super) mod read {
            use super::*;

            records! {
                /// The whole report.
                pub struct Report {
                    $($($(#[doc = $doc])+ $(#[serde(skip_serializing_if = $empty)])? pub $field: $type,)+
                      $($(#[doc = $list_doc])+ pub $list: Vec<$row>,)*)+
                }
            }
        }

        impl Head {
            /// The report with these lists.
            pub(super) fn with_lists<F, C, E>(&self, $($($list: $rows,)*)+) -> Written<'_, F, C, E> {
                Written { $($($field: &self.$field,)+)+ $($($list,)*)+ }
            }
        }

        impl From<read::Report> for Report {
            fn from(read: read::Report) -> Report {
                let head = Head { $($($field: read.$field,)+)+ };
                Report { head, $($($list: read.$list,)*)+ }
            }
        }
    };
}

head! {
    {
        /// [`SCHEMA`].
        schema: Cow<'static, str>,
        /// The capture: files and counts.
        capture: Capture,
    } [
        /// Flows, most packets first.
        flows: F Flow,
        /// Pairs of flows.
        connections: C Connection,
    ] {
        /// Pauses per link, sender and priority, the longest first; `None` where the capture has no MAC control frame.
        pause: Option<Vec<Pause>>,
        /// Pause frames that are not as the standard has them, by what is wrong.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pause_faults: BTreeMap<PauseFault, u64>,
        /// Who paused whom, from victim to culprit; `None` where nothing says what the captured links join.
        pause_tree: Option<PauseTree>,
        /// Flows that send for less than four fifths of their time, and what the rest went to, those that lost most to trouble first:
        /// 1024 at most.
        slow_flows: Vec<SlowFlow>,
        /// How many flows are slow.
        slow_flow_count: u64,
        /// Marks and notifications.
        congestion: Congestion,
        /// Traffic by class, most bytes first.
        traffic_classes: Vec<TrafficClass>,
        /// Classes that are not as they should be.
        qos: Qos,
        /// Times in which several senders sent more to one receiver than its link carries, by time: the first 1024; `None` without the
        /// link's speed.
        incast: Option<Vec<Incast>>,
        /// Bursts that are too short for a mean rate to show, and the highest rates to each receiver.
        microbursts: Microbursts,
        /// Credits of native InfiniBand per end of a link and virtual lane, where the capture has link packets.
        credits: Vec<Credits>,
        /// Link packets whose checksum (LPCRC) is wrong: they are not among the credits.
        bad_lpcrcs: u64,
        /// What headers cost.
        overhead: Overhead,
        /// How flows spread over source ports; `None` where none has UDP.
        ports: Option<Ports>,
        /// What each link of the capture carried: the first 1024 interfaces, those that captured something.
        links: Vec<LinkLoad>,
        /// How evenly these carry traffic; `None` of a single link, and where links follow each other on a path.
        balance: Option<Balance>,
    } [
        /// Losses and timeouts one by one, by time.
        episodes: E Episode,
    ] {
        /// The length of an interval in nanoseconds: longer than asked for where there were too many.
        interval_ns: Option<u64>,
        /// Traffic over time, where it was asked for: intervals that had some.
        intervals: Option<Vec<Interval>>,
        /// Findings, most serious first.
        findings: Vec<Finding>,
        /// Sections of a user's own [metrics](crate::analyze::metric::Metric), by their names.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        sections: BTreeMap<String, serde_json::Value>,
        /// Why figures are missing.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        why: Why,
    } []
}
