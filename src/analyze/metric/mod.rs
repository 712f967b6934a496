//! One question asked of a trace, a file each.

pub mod congestion;
pub mod ends;
pub mod entropy;
pub mod facts;
pub mod latency;
pub mod overhead;
pub mod pause;
pub mod rate;

use super::{Event, FlowId};
use crate::report::analysis::{Analysis as Report, Reason};

/// One question asked of a trace.
pub trait Metric {
    /// A frame. Allocates nothing per packet.
    fn see(&mut self, event: &Event<'_>);
}

/// The questions that every analysis asks beside its flows' own: marks, pauses, source ports, traffic over time.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// Who stops whom.
    pub pause: pause::Pause,
    /// Marks and notifications.
    pub congestion: congestion::Congestion,
    /// Source ports.
    pub entropy: entropy::Entropy,
    /// Traffic over time.
    pub rate: rate::Rate,
}

impl Metrics {
    /// With the links' speed in bit/s, and bins of so many nanoseconds, where they are wanted.
    pub fn new(speed_bps: Option<u64>, interval_ns: Option<u64>) -> Metrics {
        Metrics {
            pause: pause::Pause::new(speed_bps),
            congestion: congestion::Congestion::default(),
            entropy: entropy::Entropy::default(),
            rate: rate::Rate::new(interval_ns),
        }
    }

    /// Writes the report's sections. `link` names an interface, `known` says where a flow stands in the report.
    pub fn fill(
        &self,
        report: &mut Report,
        link: impl Fn(u16) -> String,
        known: impl Fn(FlowId) -> Option<entropy::Known>,
    ) {
        report.congestion = self.congestion.section();
        report.pause = self.pause.section(report.capture.last_ns.unwrap_or(0), link);
        if report.pause.is_none() {
            report.why.insert("pause", Reason::NoPfcVisibility);
        }
        report.ports = self.entropy.section(known);
        match self.rate.section() {
            Some((width, bins)) => (report.interval_ns, report.intervals) = (Some(width), Some(bins)),
            None => _ = report.why.insert("intervals", Reason::NotRequested),
        }
    }
}

impl Metric for Metrics {
    #[inline]
    fn see(&mut self, event: &Event<'_>) {
        self.congestion.see(event);
        self.pause.see(event);
        self.entropy.see(event);
        self.rate.see(event);
    }
}
