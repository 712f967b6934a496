//! What people type: filters, recipes, tcpdump's filters, and numbers with units; and numbers as people read them.
//!
//! The parsers are made of `nom`'s. They all complain with the same [`Error`]: where, and what was expected there.
//! A text is read once, from the left. Nesting has a limit.

mod error;
pub mod expr;
pub mod kernel;
mod near;
pub mod print;
pub(crate) mod recipe;
pub mod units;

pub use error::Error;
pub(crate) use error::{Fault, Parsed, fail, run};
pub use near::{did_you_mean, nearest, nearest_code};
