//! Figures: what a row of a report can be asked for. Each is defined once, in `table.rs`. Rules of gates, tables, pages, orders and sums
//! name them.

mod column;
mod losses;
mod otg;
#[cfg(feature = "cli")]
mod show;
mod table;
mod types;
mod value;

pub(crate) use column::{Column, Subject};
#[cfg(feature = "cli")]
pub(crate) use show::bounds;
pub use types::{Figure, Natural, Scope, Unit};
pub use value::Range;
pub(crate) use value::Value;
