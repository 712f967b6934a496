//! One question asked of a trace, a file each.

pub mod congestion;
pub mod ends;
pub mod entropy;
pub mod latency;
pub mod overhead;
pub mod pause;
pub mod rate;

use super::{
    Class, Event, FlowId,
    facts::{Dissected, Facts},
};
use crate::report::analysis::{Analysis as Report, Reason};

/// One question asked of a trace.
pub trait Metric {
    /// A frame. Allocates nothing per packet.
    fn see(&mut self, event: &Event<'_>);
}

/// A packet of the InfiniBand transport in its place: what the analysis' own metrics see of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a, F> {
    pub(crate) facts: &'a F,
    pub(crate) flow: Option<FlowId>,
    pub(crate) class: Option<Class>,
    pub(crate) is_capture_duplicate: bool,
    /// An ACK, a NAK or a CNP.
    pub(crate) is_control: bool,
}

impl Seen<'_, Dissected> {
    /// Shows a packet to a metric; `None` for what is no packet of the transport.
    fn show(event: &Event<'_>, to: impl FnOnce(&Seen<'_, Dissected>)) -> Option<()> {
        let facts = &Dissected::of(event.record, event.packet, event.icrc)?;
        let Event { flow, class, is_capture_duplicate, .. } = *event;
        let is_control = facts.is_control();
        to(&Seen { facts, flow, class, is_capture_duplicate, is_control });
        Some(())
    }
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
    pub fn fill<F, C, E>(
        &self,
        report: &mut Report<F, C, E>,
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

impl Metrics {
    /// A packet of the transport.
    #[inline(always)]
    pub(crate) fn packet(&mut self, seen: &Seen<'_, impl Facts>) {
        self.congestion.packet(seen);
        self.entropy.packet(seen);
        self.rate.packet(seen);
    }

    /// A frame of anything else.
    pub(crate) fn other(&mut self, event: &Event<'_>) {
        self.pause.see(event);
        self.rate.other(event);
    }
}
