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

use std::{borrow::Cow, collections::BTreeMap};

use field::Types;

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
