//! One question asked of a trace, a file each.

pub mod overhead;

use super::Event;

/// One question asked of a trace.
pub trait Metric {
    /// A frame. Allocates nothing per packet.
    fn see(&mut self, event: &Event<'_>);
}
