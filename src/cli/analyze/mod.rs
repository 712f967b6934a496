//! `rdmawire analyze`: who retransmits, what was lost and where.

mod args;
#[cfg(feature = "parquet")]
mod indexed;
mod output;
mod page;
mod run;
mod state;
mod tables;
mod trace;

pub(super) use args::Analyze;
