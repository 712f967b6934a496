//! What the trackers of all flows share.

use super::{copies::Copying, history::Histories, measured::Measures};

/// What the trackers of all flows share.
#[derive(Clone, Debug, crate::stored::Stored)]
pub(crate) struct TrackConfig {
    pub(crate) late_ns: i64,
    /// All queue pairs' acknowledgement timeout, where the user says it.
    pub(crate) ack_timeout_ns: Option<i64>,
    /// The lags of capture duplicates.
    pub(crate) copying: Copying,
    /// What metrics are to be told of.
    #[stored(skip)]
    pub(crate) histories: Histories,
    /// Latencies one by one.
    #[stored(skip)]
    pub(crate) measures: Measures,
    /// It has only a part of the packets, of all flows.
    pub(crate) is_sparse: bool,
    /// It missed packets, of any flow: what was passed over in one need not have been lost before it.
    pub(crate) misses: bool,
    /// Its times are coarser than round trips: they prove nothing.
    pub(crate) is_coarse: bool,
}
