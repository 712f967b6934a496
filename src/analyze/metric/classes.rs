//! The class of each packet.

use std::ops::Range;

use super::{Metric, Placed, Verdict};
use crate::analyze::{
    model::{Class, Event, Space},
    packet::Facts,
};

/// A metric that collects the number, the PSN space and the class of every frame: once for each frame, when its class is known. An
/// analysis that goes on for long should be relieved of them now and then: [`Analysis::metric_mut`](crate::analyze::Analysis::metric_mut).
#[derive(Clone, Debug, Default)]
pub struct Classes(
    /// In the order in which they became known.
    pub Vec<(u64, Option<Space>, Class)>,
);

impl Metric for Classes {
    fn on_packet(&mut self, _: &Facts, place: &Placed) {
        if let Some(class) = place.class {
            self.0.push((place.frame, place.space, class));
        }
    }

    fn on_verdict(&mut self, verdict: &Verdict) {
        self.0.push((verdict.frame, Some(verdict.space), verdict.class));
    }

    fn on_frame(&mut self, event: &Event<'_>) {
        self.0.push((event.number, None, Class::Unsequenced));
    }

    /// An empty span, so that no packet is in a run.
    fn span(&self, time_ns: i64) -> Range<i64> {
        time_ns..time_ns
    }
}
