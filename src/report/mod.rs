//! The results of an analysis as data, and renderers for them.
//!
//! A [`Report`] is all that a [`Renderer`] needs. Its JSON form is stable: names and words change only with the number in
//! [`SCHEMA`], and [`schema`] describes it. Units stand in the names of fields. A figure that the capture cannot prove is
//! `None`, and `why` of the object that has it says why.

#[macro_use]
mod field;

mod capture;
pub mod chart;
mod congestion;
mod connection;
mod credits;
pub mod diff;
mod finding;
mod flow;
mod head;
#[cfg(feature = "cli")]
pub mod html;
pub mod json;
mod list;
mod message;
mod microburst;
mod order;
mod overhead;
mod paths;
mod pause;
mod pause_tree;
pub mod price;
mod render;
#[cfg(feature = "cli")]
mod section;
pub mod set;
mod slow;
pub mod table;
mod terms;
#[cfg(feature = "cli")]
pub mod text;
mod traffic;
pub mod units;

use std::{borrow::Cow, collections::BTreeMap};

use field::Types;
#[cfg(feature = "cli")]
use section::Section;
#[cfg(feature = "cli")]
use units::{count, several};

pub use capture::*;
pub use congestion::*;
pub use connection::*;
pub use credits::*;
pub use finding::*;
pub use flow::*;
pub use head::*;
pub use list::{List, Rows};
pub use message::*;
pub use microburst::*;
pub use order::{Sort, find_flow, sorted, trouble};
pub use overhead::*;
pub use paths::*;
pub use pause::*;
pub use pause_tree::*;
pub use render::{Renderer, clean};
pub use slow::*;
pub use terms::*;
pub use traffic::*;

/// The name and number of the schema.
pub const SCHEMA: &str = "rdmawire.analysis/2";

/// Why figures are missing: from the field to the reason.
pub type Why = BTreeMap<Cow<'static, str>, Reason>;

/// The JSON Schema of a report.
pub fn schema() -> serde_json::Value {
    Types::document::<head::read::Report>("Report")
}

/// The sections beside the flows, in their order in text and page.
#[cfg(feature = "cli")]
const SECTIONS: &[Section] = &[
    Section::new("Congestion", |head| vec![head.congestion.sentence()])
        .table("marked", "Flows with marks or congestion notifications")
        .below(text::marked_flows),
    Section::new("Slow", |head| {
        head.slow_flows.iter().filter(|slow| slow.lost_much()).map(SlowFlow::sentence).collect()
    })
    .at_most(5, |n| several(n, "more flow"))
    .only_in_text(),
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
    Section::new("DCBX", |head| {
        Some(&head.qos).filter(|qos| !qos.dcbx.is_empty()).map(Qos::dcbx_sentence).into_iter().collect()
    })
    .only_in_text(),
    Section::new("Pause", |head| vec![Pause::sentence_of(head.pause.as_deref(), head.why.get("pause"))])
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
    Section::new("Links", |head| {
        head.balance.iter().filter_map(|balance| balance.sentence(&head.links)).collect()
    }),
    Section::new("Intervals", |_| Vec::new()).below(text::intervals).only_in_text(),
];
