//! Packets as rows for databases and notebooks: the values of their headers, and what the analysis says of each.

#[cfg(feature = "arrow")]
mod batch;
mod columns;
#[cfg(feature = "arrow")]
mod headers;
#[cfg(feature = "parquet")]
mod index;
#[cfg(feature = "parquet")]
mod index_reader;
#[cfg(feature = "arrow")]
mod merge;
#[cfg(feature = "parquet")]
mod parquet;
mod rows;
#[cfg(feature = "cli")]
mod text;
#[cfg(feature = "cli")]
mod writer;

#[cfg(feature = "cli")]
pub use crate::report::table::Format;
#[cfg(feature = "arrow")]
pub use batch::{Batch, Headers, schema};
pub use columns::{CAPTURE, COLUMNS, Cell, Column, Name, Row, RowVerdict, VERDICT_COLUMNS};
#[cfg(feature = "arrow")]
pub use headers::{FileFacts, FileSpan, HeaderRows, analyze_headers, header_schema};
#[cfg(feature = "parquet")]
pub use index::Index;
#[cfg(feature = "parquet")]
pub use index_reader::IndexReader;
#[cfg(feature = "arrow")]
pub use merge::HeaderMerge;
pub use rows::{Form, Part, Rows};
#[cfg(feature = "cli")]
pub use writer::Packets;
