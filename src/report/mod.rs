//! The results of an analysis as data, and renderers for them.
//!
//! A [`Report`] is all that a [`Renderer`] needs. Its JSON form is stable: names and words change only with the number in
//! [`SCHEMA`], and [`schema`] describes it. Units stand in the names of fields. A figure that the capture cannot prove is
//! `None`, and `why` of the object that has it says why.

#[macro_use]
pub(crate) mod field;
#[macro_use]
mod head;
#[macro_use]
pub mod table;

mod capture;
pub mod chart;
mod collective;
mod congestion;
mod connection;
mod credits;
pub mod diff;
pub mod figure;
mod finding;
mod flow;
#[cfg(feature = "cli")]
pub mod html;
pub mod json;
#[cfg(feature = "cli")]
mod labels;
mod list;
mod log;
mod message;
mod microburst;
mod mrc;
mod one_sided;
mod order;
mod overhead;
mod paths;
mod pause;
mod pause_tree;
pub mod price;
mod renamed;
mod render;
#[cfg(feature = "cli")]
mod section;
mod see_also;
pub mod set;
mod setup;
mod slow;
mod telemetry;
mod terms;
#[cfg(feature = "cli")]
pub mod text;
mod traffic;
mod trimming;
mod uet;
pub mod units;

use std::{borrow::Cow, collections::BTreeMap};

use field::Types;
#[cfg(feature = "cli")]
use section::Section;
use table::row::{FlowKey, FlowNumber, IntervalLength, Loss, OfCulprit, OfFlow, OfSlowFlow, WithoutFirst};
#[cfg(feature = "cli")]
use units::{count, several};

pub use capture::*;
pub use collective::*;
pub use congestion::*;
pub use connection::*;
pub use credits::*;
pub use field::plain_doc;
pub use finding::*;
pub use flow::*;
pub use head::*;
#[cfg(feature = "cli")]
pub use labels::{LABELS, Label};
pub use list::{List, Rows};
pub use log::*;
pub use message::*;
pub use microburst::*;
pub use mrc::*;
pub use one_sided::*;
pub use order::{Sort, find_flow, sorted, trouble};
pub use overhead::*;
pub use paths::*;
pub use pause::*;
pub use pause_tree::*;
pub use renamed::Renamed;
pub(crate) use render::has;
pub use render::{Renderer, clean, steers};
pub use see_also::*;
pub use setup::*;
pub use slow::*;
pub use telemetry::*;
pub use terms::*;
pub use traffic::*;
pub use trimming::*;
pub use uet::*;

/// The name and number of the schema.
pub const SCHEMA: &str = "rdmawire.analysis/3";

/// Why figures are missing: from the field to the reason.
pub type Why = BTreeMap<Cow<'static, str>, Reason>;

/// The JSON Schema of a report.
pub fn schema() -> serde_json::Value {
    Types::document::<read::Report>("Report")
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
        /// Connections by the connection manager's messages, those that were refused too, in the order in which they began: the first 16384.
        setups: Vec<Setup>,
        /// How many there are.
        setup_count: u64,
        /// Other commands that follow what this report does not.
        see_also: Vec<SeeAlso>,
        /// Messages of the connection manager that were not captured as a whole: what they say is told as far as it is there.
        setup_messages_cut: u64,
        /// Those of them, or of what may be such messages, of which nothing could be read: there may be more set-ups.
        setup_messages_unread: u64,
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
        /// Classes by pair of hosts and kind of traffic, those of the pairs with most bytes first: 4096 at most.
        pair_classes: Vec<PairClass>,
        /// How many there are.
        pair_class_count: u64,
        /// Packets of flows that are in none of them: there are too many pairs of hosts.
        pair_classes_not_kept: u64,
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
        /// The paths of flows that take several, those that stand out first: 4096 at most.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        paths: Vec<FlowPath>,
        /// Connections of MRC, the Multipath Reliable Connection: 1024 at most.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        mrc: Vec<MrcConnection>,
        /// Contexts of Ultra Ethernet's transport, by the side that sends requests, and requests without a context, by addresses: 1024 at most of each.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        uet: Vec<UetContext>,
        /// NACKs of Ultra Ethernet by code, operations, and what became of them, by context.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        uet_counts: Vec<UetCount>,
        /// Packets of Ultra Ethernet: all, and those that are of no context.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        uet_packets: BTreeMap<UetPackets, u64>,
        /// What switches wrote into packets on their way, by hop, those with the longest delays first: 1024 at most.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        telemetry: Vec<TelemetryHop>,
        /// Tags of congestion signaling, by signal and locator, most packets first: 256 at most.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        csig: Vec<CsigRow>,
        /// Packets that switches cut to their headers instead of dropping them, by receiver, size and DSCP, most packets first: 256 at most.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        trimmed: Vec<TrimmedTo>,
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
        /// Errors in the logs of hosts that were given with the capture: the first 1024 of each log.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        log: Vec<LogLine>,
        /// Sections of a user's own [metrics](crate::analyze::metric::Metric), by their names.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        sections: BTreeMap<String, serde_json::Value>,
        /// Collectives: requests of NCCL's transport, and who was waited for; `None` where no such traffic was seen.
        collectives: Option<Collectives>,
        /// One-sided traffic: data that moves by WRITEs and READs with no messages above them; `None` where there is none.
        one_sided: Option<OneSided>,
        /// Why figures are missing.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        why: Why,
    } []
}

tables! {
    "captures": WithoutFirst<Capture>, "What was read: one row for each capture.",
        |report, each| each(&WithoutFirst(&report.head.capture))?;
    "flows": (FlowNumber, Flow), "Packets from one address to one queue pair of another: one direction of a connection.",
        |report, each| for (at, flow) in report.flows.iter().enumerate() {
            each(&(FlowNumber { flow: at }, flow))?;
        };
    "connections": Connection, "Two flows in opposite directions between two queue pairs.",
        |report, each| for one in report.connections.iter() { each(&one)?; };
    "setups": Setup, "A connection that was asked for, by the connection manager's messages, and what became of it.",
        |report, each| for one in &report.head.setups { each(one)?; };
    "episodes": (FlowKey, WithoutFirst<Episode>), "A loss or a timeout, and how the sender recovered from it: 256 of a flow at most, see `flows.episodes_not_listed`.",
        |report, each| for one in report.episodes.iter() {
            let flow = report.flows.row(one.flow).map(|flow| FlowKey::of(one.flow, &flow));
            each(&(flow, WithoutFirst(&*one)))?;
        };
    "losses": (FlowKey, Loss), "Packets lost, by flow, PSN space and place. A place without losses has no row.",
        |report, each| for at in Loss::flows(report) {
            let Some(flow) = report.flows.row(at) else { continue };
            for loss in Loss::of(&flow) {
                each(&(FlowKey::of(at, &flow), loss))?;
            }
        };
    "pauses": Pause, "Pauses of a priority on a link.",
        |report, each| for one in report.head.pause.iter().flatten() { each(one)?; };
    "pause_tree": PauseEdge, "Pauses that a device asked for because it was paused itself: who paused it, and whom it paused; needs --links or LLDP.",
        |report, each| for one in report.head.pause_tree.iter().flat_map(|tree| &tree.edges) { each(one)?; };
    "pause_victims": (OfCulprit, OfFlow, PauseVictim), "A flow that was silent in the pauses of a device, or in those that they caused; needs --links or LLDP.",
        |report, each| for culprit in report.head.pause_tree.iter().flat_map(|tree| &tree.culprits) {
            for one in &culprit.flows {
                each(&(OfCulprit::of(culprit), OfFlow::of(report, Some(one.flow)), one))?;
            }
        };
    "marks": (OfFlow, MarkedFlow), "Marks and notifications of a flow that has some.",
        |report, each| for one in &report.head.congestion.flows { each(&(OfFlow::of(report, one.flow), one))?; };
    "slow": (FlowKey, OfSlowFlow, TimeShare), "A share of a slow flow's time; the shares of a flow add up to it.",
        |report, each| for slow in &report.head.slow_flows {
            let Some(flow) = report.flows.row(slow.flow) else { continue };
            for share in &slow.shares {
                each(&(FlowKey::of(slow.flow, &flow), OfSlowFlow::of(slow), share))?;
            }
        };
    "classes": TrafficClass, "Traffic with one DSCP and priority, or one service level and virtual lane.",
        |report, each| for one in &report.head.traffic_classes { each(one)?; };
    "pair_classes": PairClass, "Traffic of one kind from one host to another with one DSCP and priority, or one service level and virtual lane.",
        |report, each| for one in &report.head.pair_classes { each(one)?; };
    "microbursts": Microburst, "A time of a millisecond at most in which the link of a receiver is busy; needs the link's speed.",
        |report, each| for one in &report.head.microbursts.bursts { each(one)?; };
    "credits": Credits, "Credits of one end of a native InfiniBand link on one virtual lane.",
        |report, each| for one in &report.head.credits { each(one)?; };
    "paths": (OfFlow, FlowPath), "A path of a flow that takes several, by UDP source port and flow label.",
        |report, each| for one in &report.head.paths { each(&(OfFlow::of(report, one.flow), one))?; };
    "mrc": (OfFlow, MrcConnection), "A connection of MRC, the Multipath Reliable Connection.",
        |report, each| for one in &report.head.mrc { each(&(OfFlow::of(report, one.flow), one))?; };
    "uet": UetContext, "A packet delivery context of Ultra Ethernet: requests of one side, and what the other said of them; or requests without a context, between two addresses.",
        |report, each| for one in &report.head.uet { each(one)?; };
    "uet_counts": UetCount, "NACKs of Ultra Ethernet by code, operations, and what became of them, by context.",
        |report, each| for one in &report.head.uet_counts { each(one)?; };
    "telemetry": TelemetryHop, "What a switch wrote into packets that left by one of its ports and queues: in-band telemetry.",
        |report, each| for one in &report.head.telemetry { each(one)?; };
    "csig": CsigRow, "What tags of congestion signaling said of the worst place of paths, by signal and locator.",
        |report, each| for one in &report.head.csig { each(one)?; };
    "trimmed": TrimmedTo, "Packets to one receiver that switches cut to their headers instead of dropping them.",
        |report, each| for one in &report.head.trimmed { each(one)?; };
    "links": LinkLoad, "What one link, or tap, carried.",
        |report, each| for one in &report.head.links { each(one)?; };
    "intervals": (Interval, IntervalLength), "Traffic in a span of time; needs --interval.",
        |report, each| for one in report.head.intervals.iter().flatten() {
            each(&(one, IntervalLength { interval_ns: report.head.interval_ns }))?;
        };
    "collective_connections": CollectiveConnection, "A connection of NCCL's transport: one direction of one channel between two ranks.",
        |report, each| for one in report.head.collectives.iter().flat_map(|all| &all.connections) { each(one)?; };
    "collective_requests": CollectiveRequest, "A request of NCCL's transport: what a receiver asked for, what it got, and what its time went to.",
        |report, each| for one in report.head.collectives.iter().flat_map(|all| &all.requests) { each(one)?; };
    "collective_operations": CollectiveOperation, "Requests of collectives with no silence between them, and who was waited for.",
        |report, each| for one in report.head.collectives.iter().flat_map(|all| all.operations.iter().flatten()) { each(one)?; };
    "stragglers": Straggler, "An endpoint or a path that operations of collectives waited for.",
        |report, each| for one in report.head.collectives.iter().flat_map(|all| &all.stragglers) { each(one)?; };
    "collective_waits": CollectiveWait, "A time in which an endpoint of a collective waited, and what for.",
        |report, each| for one in report.head.collectives.iter().flat_map(|all| &all.waits) { each(one)?; };
    "one_sided": (OfFlow, OneSidedQueuePair), "A queue pair that moves data by WRITEs and READs with no messages above them: puts of GPUs, transfers of KV caches.",
        |report, each| for one in report.head.one_sided.iter().flat_map(|all| &all.queue_pairs) {
            each(&(OfFlow::of(report, Some(one.flow)), one))?;
        };
    "one_sided_rails": OneSidedRail, "A pair of addresses with one-sided traffic, and its part of what the same hosts exchange on several.",
        |report, each| for one in report.head.one_sided.iter().flat_map(|all| &all.rails) { each(one)?; };
    "log": LogLine, "An error in the log of a host, and the flows that it can be about; needs --log.",
        |report, each| for one in &report.head.log { each(one)?; };
    "findings": (OfFlow, Finding), "What stands out, most serious first.",
        |report, each| for one in &report.head.findings { each(&(OfFlow::of(report, one.flow), one))?; };
}

/// The sections beside the flows, in their order in text and page.
#[cfg(feature = "cli")]
const SECTIONS: &[Section] = &[
    Section::new("Log", |head| head.log.iter().map(LogLine::sentence).collect())
        .titled("Logs of hosts")
        .at_most(10, |n| several(n, "more line")),
    Section::new("Commands", |head| head.see_also.iter().map(SeeAlso::sentence).collect())
        .titled("Commands and management"),
    Section::new("Set-up", |head| {
        let trouble = head.setups.iter().filter(|setup| setup.is_in_trouble()).map(Setup::sentence);
        let all = Setup::sentence_of(&head.setups, head.setup_count);
        all.into_iter().chain(Setup::cut_words(head)).chain(trouble).collect()
    })
    .at_most(6, |n| several(n, "more set-up"))
    .titled("Connections set up")
    .table("setups", "Connections that were asked for, by the connection manager's messages"),
    Section::new("Congestion", |head| vec![head.congestion.sentence(head.is_native())])
        .table("marked", "Flows with marks or congestion notifications")
        .below(text::marked_flows),
    Section::new("Slow", |head| {
        head.slow_flows.iter().filter(|slow| slow.lost_much()).map(SlowFlow::sentence).collect()
    })
    .at_most(5, |n| several(n, "more flow"))
    .only_in_text(),
    Section::new("Collectives", |head| head.collectives.iter().flat_map(Collectives::sentences).collect())
        .table("collective_connections", "Connections of NCCL's transport, and what their time went to"),
    Section::new("One-sided", |head| head.one_sided.iter().flat_map(OneSided::sentences).collect())
        .titled("One-sided traffic")
        .table("one_sided", "Queue pairs that move data by WRITEs and READs with no messages above them"),
    Section::new("Incast", |head| {
        let incast = head.incast.iter().filter(|all| !all.is_empty());
        incast.map(|all| Incast::sentence_of(all)).collect()
    }),
    Section::new("Microbursts", |head| {
        let microbursts = Some(&head.microbursts).filter(|all| all.count.is_some_and(|count| count > 0));
        microbursts.map(Microbursts::sentence).into_iter().collect()
    }),
    Section::new("Credits", |head| head.credits.iter().map(Credits::sentence).collect())
        .at_most(16, |n| format!("{} more", count(n))),
    Section::new("Classes", |_| Vec::new())
        .titled("Traffic classes")
        .table("classes", "Traffic by DSCP and priority, or by service level and virtual lane")
        .below(text::classes),
    Section::new("Pairs", |_| Vec::new())
        .titled("Classes by pair of hosts")
        .table(
            "pair_classes",
            "Traffic from host to host by kind, DSCP and PCP, or service level and virtual lane",
        )
        .below(text::pair_classes),
    Section::new("DCBX", |head| {
        Some(&head.qos).filter(|qos| !qos.dcbx.is_empty()).map(Qos::dcbx_sentence).into_iter().collect()
    })
    .only_in_text(),
    // Links of InfiniBand have credits instead.
    Section::new("Pause", |head| match (&head.pause, head.is_native()) {
        (None, true) => Vec::new(),
        (all, _) => vec![Pause::sentence_of(all.as_deref(), head.why.get("pause"))],
    })
    .titled("Pauses")
    .table_instead("pauses", "Pauses by link, sender and priority"),
    Section::new("Pause tree", |head| {
        head.pause_tree.as_ref().and_then(PauseTree::sentence).into_iter().collect()
    })
    .table("pause_tree", "Pauses that a device sent because it was paused itself")
    .below(|report, page| match (&report.head.pause_tree, report.head.why.get("pause_tree")) {
        // The links are known: only the speed is missing.
        (None, Some(Reason::UnknownSpeed)) => {
            page.entry("Pause tree", "not known: pause times need the link's speed: --speed")
        }
        _ => Ok(()),
    }),
    Section::new("Overhead", |head| vec![head.overhead.sentence()]).only_in_text(),
    Section::new("Ports", |head| head.ports.iter().map(Ports::sentence).collect())
        .titled("Source ports")
        .table("ports", "Traffic and trouble by UDP source port"),
    Section::new("Paths", |head| FlowPath::sentence_of(&head.paths).into_iter().collect()).only_in_text(),
    Section::new("MRC", |head| head.mrc.iter().map(MrcConnection::sentence).collect())
        .at_most(10, |n| several(n, "more connection"))
        .only_in_text(),
    Section::new("UET", |head| UetContext::sentences_of(&head.uet, &head.uet_counts, &head.uet_packets))
        .titled("Ultra Ethernet")
        .at_most(11, |n| several(n, "more context")),
    Section::new("Telemetry", |head| {
        let tags = head.csig.iter().map(CsigRow::sentence);
        head.telemetry.iter().map(TelemetryHop::sentence).chain(tags).collect()
    })
    .titled("Delays and queues by hop")
    .at_most(10, |n| several(n, "more hop")),
    Section::new("Trimmed", |head| TrimmedTo::sentence_of(&head.trimmed).into_iter().collect())
        .only_in_text(),
    Section::new("Links", |head| {
        head.balance.iter().filter_map(|balance| balance.sentence(&head.links)).collect()
    }),
    Section::new("Intervals", |_| Vec::new()).below(text::intervals).only_in_text(),
];
