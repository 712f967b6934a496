//! Numbers in sentences.

use crate::report::{
    Bounds,
    units::{count, plural},
};

/// "13", "10 to 14", "at least 10". An upper bound is named only if it is tight.
pub(super) fn bounds([least, most]: Bounds) -> String {
    match () {
        _ if least == most => count(least),
        _ if most <= least.saturating_mul(2) => format!("{} to {}", count(least), count(most)),
        _ => format!("at least {}", count(least)),
    }
}

/// Bounds with a noun: "13 packets".
pub(super) fn counted(n: Bounds, what: &str) -> String {
    let is_one = n[0] == 1 && (n[1] == 1 || n[1] > 2);
    format!("{} {}", bounds(n), plural(if is_one { 1 } else { 2 }, what))
}
