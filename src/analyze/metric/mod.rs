//! One question asked of a trace, a file each.

pub mod congestion;
pub mod ends;
pub mod entropy;
pub mod facts;
pub mod latency;
pub mod overhead;
pub mod pause;
pub mod rate;

use super::Event;

/// One question asked of a trace.
pub trait Metric {
    /// A frame. Allocates nothing per packet.
    fn see(&mut self, event: &Event<'_>);
}
