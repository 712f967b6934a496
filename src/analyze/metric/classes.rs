//! The class of each packet.

use std::ops::Range;

use super::{Metric, Placed, Verdict};
use crate::analyze::{
    model::{Class, Event, Space},
    packet::PacketView,
};

/// A metric that calls a function with the number, the PSN space and the class of every frame: once for each frame, when its
/// class is known.
#[derive(Clone, Debug)]
pub struct Classes<F>(
    /// The function.
    pub F,
);

impl<F: FnMut(u64, Option<Space>, Class)> Metric for Classes<F> {
    fn on_packet(&mut self, _: &impl PacketView, place: &Placed) {
        if let Some(class) = place.class {
            (self.0)(place.frame, place.space, class);
        }
    }

    fn on_verdict(&mut self, verdict: &Verdict) {
        (self.0)(verdict.frame, Some(verdict.space), verdict.class);
    }

    fn on_frame(&mut self, event: &Event<'_>) {
        (self.0)(event.number, None, Class::Unsequenced);
    }

    /// An empty span, so that no packet is in a run.
    fn span(&self, time_ns: i64) -> Range<i64> {
        time_ns..time_ns
    }
}
