//! What several tests use.

pub(crate) mod frames;
#[cfg(feature = "sim")]
pub(crate) mod merged;
pub(crate) mod mutants;
#[cfg(feature = "cli")]
pub(crate) mod programs;
pub(crate) mod schema;
pub(crate) mod scratch;
pub(crate) mod trace;
pub(crate) mod traffic;
