//! Results as data, and their clothes. The data is the JSON contract: names change only with the schema number.

pub mod analysis;
pub mod overhead;
pub mod set;
#[cfg(feature = "cli")]
pub mod text;
