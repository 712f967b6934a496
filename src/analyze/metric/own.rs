//! The metrics that a user brings.

use std::{any::Any, ops::Range};

use serde_json::Value;

use super::{
    Context, DataSilence, History, Measured, Metric, PassingSilence, Placed, Silence, Verdict, Wants,
};
use crate::analyze::{
    model::{Event, FlowId},
    network::{Network, Paused},
    packet::Facts,
    table::run::RunSum,
};

/// The user's metrics, of any types. They are found again by their types.
#[derive(Default)]
pub(crate) struct Own(Vec<Box<dyn Metric>>);

impl Own {
    pub(crate) fn push(&mut self, metric: impl Metric) {
        self.0.push(Box::new(metric));
    }

    /// The first metric of this type.
    pub(crate) fn get<M: Metric>(&self) -> Option<&M> {
        self.0.iter().find_map(|metric| (&**metric as &dyn Any).downcast_ref())
    }

    pub(crate) fn get_mut<M: Metric>(&mut self) -> Option<&mut M> {
        self.0.iter_mut().find_map(|metric| (&mut **metric as &mut dyn Any).downcast_mut())
    }

    /// Takes the first metric of this type out.
    pub(crate) fn take<M: Metric>(&mut self) -> Option<M> {
        let at = self.0.iter().position(|metric| (&**metric as &dyn Any).is::<M>())?;
        let metric: Box<dyn Any> = self.0.remove(at);
        metric.downcast().ok().map(|metric| *metric)
    }
}

/// Calls all of them.
macro_rules! each {
    ($($(#[$inline:meta])? fn $name:ident(&mut self, $($arg:ident: $type:ty),*);)+) => {$(
        $(#[$inline])?
        fn $name(&mut self, $($arg: $type),*) {
            self.0.iter_mut().for_each(|metric| metric.$name($($arg),*));
        }
    )+};
}

impl Metric for Own {
    fn wants(&self) -> Wants {
        self.0.iter().fold(Wants::default(), |wants, metric| wants.or(metric.wants()))
    }

    each! {
        #[inline(always)] fn on_packet(&mut self, packet: &Facts, place: &Placed);
        fn on_run(&mut self, run: &RunSum);
        fn on_verdict(&mut self, verdict: &Verdict);
        fn on_history(&mut self, history: &History);
        fn on_frame(&mut self, event: &Event<'_>);
        fn on_measured(&mut self, flow: FlowId, measured: &Measured);
        fn on_silence(&mut self, silence: &Silence, network: &Network);
        fn on_silences(&mut self, silences: &[Silence], network: &Network);
        fn on_data_silence(&mut self, silence: &DataSilence, network: &Network);
        fn on_passing_silence(&mut self, silence: &PassingSilence, network: &Network);
        fn on_retire(&mut self, flow: FlowId);
        fn on_pause(&mut self, paused: &Paused);
        fn on_interface(&mut self, number: u16, network: &Network);
    }

    fn span(&self, time_ns: i64) -> Range<i64> {
        let spans = self.0.iter().map(|metric| metric.span(time_ns));
        spans.fold(i64::MIN..i64::MAX, |a, b| a.start.max(b.start)..a.end.min(b.end))
    }

    #[inline(always)]
    fn prefetch(&self, flow: FlowId) {
        self.0.iter().for_each(|metric| metric.prefetch(flow));
    }

    #[inline(always)]
    fn prefetch_beyond(&self, flow: FlowId) {
        self.0.iter().for_each(|metric| metric.prefetch_beyond(flow));
    }

    fn heap_bytes(&self) -> usize {
        self.0.iter().map(|metric| metric.heap_bytes()).sum()
    }

    fn contribute(&self, context: &Context<'_>) -> Vec<(String, Value)> {
        self.0.iter().flat_map(|metric| metric.contribute(context)).collect()
    }
}
