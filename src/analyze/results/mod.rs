//! From what was tracked to what is reported: rows, long lists made row by row, findings.

mod findings;
mod links;
mod lists;
mod rows;
mod sections;

pub use findings::{FINDINGS, FindingKind, Need, Scope};
pub use rows::Ended;
