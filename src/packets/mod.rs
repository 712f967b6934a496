//! Packets as rows for databases and notebooks: the values of their headers, and what the analysis says of each.

mod columns;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "cli")]
mod sink;
#[cfg(feature = "cli")]
mod writer;

#[cfg(feature = "cli")]
pub use crate::report::table::Format;
pub use columns::{COLUMNS, Cell, Column, Get, Name, Row};
#[cfg(feature = "cli")]
pub use writer::Packets;

/// Columns that are not of headers: name, type, what it means. They stand before and behind those of [`COLUMNS`].
pub const MORE_COLUMNS: [(&str, &str, &str); 3] = [
    ("capture", "text", "The name of the capture."),
    ("space", "text", "Its PSN space: request or response. Empty if it has none."),
    (
        "class",
        "text",
        "What it is, as in `rdmawire analyze`: new, retransmission, late_original and others. Empty if that stayed open \
         for too long.",
    ),
];
