//! Numbers in sentences.

use crate::report::{
    Bounds,
    units::{between, plural},
};

/// Bounds with a noun: "13 packets".
pub(super) fn counted(n: Bounds, what: &str) -> String {
    format!("{} {}", between(n), plural(if n == [1; 2] { 1 } else { 2 }, what))
}
