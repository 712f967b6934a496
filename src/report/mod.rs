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

use schemars::{Schema, generate::SchemaSettings, transform::RecursiveTransform};

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
pub fn schema() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    // Defaults are for readers of older reports. A written report has all fields.
    let settings =
        settings.with_transform(RecursiveTransform(|part: &mut Schema| _ = part.remove("default")));
    settings.into_generator().into_root_schema_for::<Whole>()
}
