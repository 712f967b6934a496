//! Figures: what a row of a report can be asked for. Each is defined once, in `table.rs`. Rules of gates, tables, pages, orders and sums
//! name them.

mod column;
mod losses;
mod otg;
mod table;
mod types;
mod value;

pub(crate) use column::{Column, Subject, bounds};
pub use types::{Figure, Natural, Scope, Unit};
pub use value::Range;
pub(crate) use value::Value;
