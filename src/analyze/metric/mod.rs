//! Metrics: each answers one question about a capture, and has one file. The trait [`Metric`] is the door for a user's own.
//!
//! A built-in metric is one file here, one line in `built_in!`, and its fields in the report.

mod bins;
pub(crate) mod capture;
pub mod classes;
pub(crate) mod collective;
pub mod congestion;
pub mod credits;
pub(crate) mod crossings;
pub mod ends;
pub mod entropy;
pub mod incast;
pub mod messages;
pub(crate) mod microburst;
pub(crate) mod named;
mod numbers;
pub(crate) mod one_sided;
pub mod overhead;
pub(crate) mod paths;
mod per_flow;
pub mod rate;
pub mod setup;
pub(crate) mod sprayed;
pub(crate) mod suspects;
pub mod timeline;
pub mod traffic;
pub(crate) mod turns;
pub mod uet;
mod unread;
pub mod verdict;

mod own;

use std::{any::Any, ops::Range};

use serde_json::Value;

pub(crate) use own::Own;

pub use super::track::{
    distribution as latency,
    history::History,
    measured::{Measured, What},
    silence::{DataSilence, PassingSilence, QUIET_NS, Silence},
};
use super::{
    model::{Address, Class, Event, FlowId, Options, Space},
    network::{Network, Paused},
    packet::Facts,
    table::run::RunSum,
};
use crate::{
    dissect::{Dissection, Encapsulation},
    report,
    wire::{Ecn, Psn},
};

/// The answer to one question about a capture. The analysis tells it of all frames, asks it for its section of the report, and
/// gives it back at the end. See `examples/metric.rs`.
///
/// Most packets directly follow the last packet of their flow, and change only sums. The analysis counts them in *runs*, and
/// tells of a run when it ends. So a packet comes by [`on_packet`](Self::on_packet) or in a [`RunSum`], never by both. No
/// function may allocate for each packet.
pub trait Metric: Any + Send {
    /// What it needs beyond what every metric is told. It is asked once.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// A packet of the InfiniBand transport that is not in a run.
    #[inline(always)]
    fn on_packet(&mut self, _packet: &Facts, _place: &Placed) {}

    /// Packets of one flow that followed each other: new, not marked, neither acknowledgements nor CNPs.
    fn on_run(&mut self, _run: &RunSum) {}

    /// The class of an earlier packet, whose [`Placed::class`] was not known when it came.
    fn on_verdict(&mut self, _verdict: &Verdict) {}

    /// What went before a packet of the classes retransmission, late original, capture duplicate or new after a gap; before or after
    /// its class is told.
    fn on_history(&mut self, _history: &History) {}

    /// A frame that is not of the InfiniBand transport: PAUSE, ARP, anything.
    fn on_frame(&mut self, _event: &Event<'_>) {}

    /// A management datagram to queue pair 1 with its headers, after [`on_packet`](Self::on_packet) or before it: it is whole. `frame`: its
    /// number, from 1.
    fn on_management(&mut self, _packet: &Facts, _headers: &Dissection<'_>, _frame: u64) {}

    /// A latency of this flow's requests, if the metric [wants](Self::wants) them one by one.
    fn on_measured(&mut self, _flow: FlowId, _measured: &Measured) {}

    /// A silence of a reliable flow's requests. It is told soon after the packet that ended it.
    fn on_silence(&mut self, _silence: &Silence, _network: &Network) {}

    /// Several silences, in the order of the packets that ended them: a metric may prefetch what it keeps of their flows.
    fn on_silences(&mut self, silences: &[Silence], network: &Network) {
        silences.iter().for_each(|silence| self.on_silence(silence, network));
    }

    /// A silence of a responder's data. It is told soon after the packet that ended it.
    fn on_data_silence(&mut self, _silence: &DataSilence, _network: &Network) {}

    /// A silence of a flow on a link that it passes after the one where it is seen first, where that may have been a pause. It is told
    /// soon after the packet that ended it.
    fn on_passing_silence(&mut self, _silence: &PassingSilence, _network: &Network) {}

    /// A pause of a link that is over. One that holds when the capture ends is told at the end.
    fn on_pause(&mut self, _paused: &Paused) {}

    /// A flow is evicted because there are too many. Its number will be used for another flow.
    fn on_retire(&mut self, _flow: FlowId) {}

    /// The capture tells of an interface with this number: the network knows its name, and the speed of its link.
    fn on_interface(&mut self, _number: u16, _network: &Network) {}

    /// The bin of this metric around `time_ns`: packets in it may arrive as one run. No run crosses its end. A metric with intervals
    /// returns the interval; a metric that needs each packet returns an empty range; others keep the default.
    fn span(&self, _time_ns: i64) -> Range<i64> {
        i64::MIN..i64::MAX
    }

    /// A packet of this flow comes soon: the metric may prefetch its state.
    #[inline(always)]
    fn prefetch(&self, _flow: FlowId) {}

    /// The same a little later: what [`prefetch`](Self::prefetch) asked for is in the cache, and what it refers to may be prefetched.
    #[inline(always)]
    fn prefetch_beyond(&self, _flow: FlowId) {}

    /// Bytes on the heap beyond some 100 for each flow. Flows may hold so much less.
    fn heap_bytes(&self) -> usize {
        0
    }

    /// Entries of [`Head::sections`](crate::report::Head::sections): names and values.
    fn contribute(&self, _context: &Context<'_>) -> Vec<(String, Value)> {
        Vec::new()
    }
}

/// What a metric needs beyond what every metric is told: it takes some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// [`Metric::on_history`] is called.
    pub history: bool,
    /// [`Metric::on_measured`] is called.
    pub measured: bool,
    /// [`Placed::epoch`] and [`Placed::peer_qp`] are told.
    pub identity: bool,
}

impl Wants {
    /// What either of two metrics needs.
    #[must_use]
    pub fn or(self, other: Wants) -> Wants {
        Wants {
            history: self.history || other.history,
            measured: self.measured || other.measured,
            identity: self.identity || other.identity,
        }
    }
}

/// Where a packet belongs.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    /// The frame's number, from 1.
    pub frame: u64,
    /// `None` for a packet without addresses, and for a corrupt one of a flow not seen before.
    pub flow: Option<FlowId>,
    /// Its PSN space; `None` where it has none that could be followed, as a CNP.
    pub space: Option<Space>,
    /// `None` if only later packets will show it: see [`Metric::on_verdict`].
    pub class: Option<Class>,
    /// It is a capture duplicate that is marked (ECN's CE, or FECN), of a packet that was not marked where it was recorded before: a switch
    /// between the taps has marked it.
    pub is_marked_later: bool,
    /// It is an ACK, a NAK or a CNP.
    pub is_control: bool,
    /// Of a response: the flow of the requests that it answers; of a CNP: the flow that it slows; where that is known.
    pub peer: Option<FlowId>,
    /// The epoch of the flow, if the metric [wants](Metric::wants) it.
    pub epoch: Option<u32>,
    /// The sender's queue pair, if it is known, and the metric wants it.
    pub peer_qp: Option<u32>,
    /// Bytes of its payload that are new to the receiver, as far as the capture shows: the flow's goodput.
    pub goodput: u32,
}

impl Placed {
    /// Whether it is a second record of one transmission.
    #[inline(always)]
    pub fn is_capture_duplicate(&self) -> bool {
        self.class == Some(Class::CaptureDuplicate)
    }

    /// Whether the packet is the first marked record of one transmission.
    #[inline(always)]
    pub(crate) fn is_mark(&self, packet: &Facts) -> bool {
        packet.mark() == Ecn::CE && (self.is_marked_later || !self.is_capture_duplicate())
    }
}

/// The class of an earlier packet that was undecided when it came.
#[derive(Clone, Copy, Debug)]
pub struct Verdict {
    /// The packet's frame number.
    pub frame: u64,
    /// Its flow, which may have been [retired](Metric::on_retire) just before.
    pub flow: FlowId,
    /// Its PSN space.
    pub space: Space,
    /// Its PSN.
    pub psn: Psn,
    /// What it was.
    pub class: Class,
    /// When it was captured, in nanoseconds since 1970.
    pub time_ns: i64,
    /// Its encapsulation.
    pub encapsulation: Encapsulation,
    /// Bytes of its payload, without pad.
    pub payload: u32,
    /// Its bytes on the wire, see [`overhead::l1_bytes`].
    pub l1_bytes: u32,
    pub(crate) path_tag: u64,
}

/// What a metric may need for its section of the report.
pub struct Context<'a> {
    pub(crate) network: &'a Network,
    pub(crate) flow: &'a dyn Fn(FlowId) -> Option<KnownFlow>,
    pub(crate) detail: &'a dyn Fn(FlowId) -> Option<Detail<'a>>,
    pub(crate) lost: &'a dyn Fn(FlowId) -> Option<report::Bounds>,
}

/// What became of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detail<'a> {
    /// From a request to its acknowledgement, in nanoseconds.
    pub(crate) ack_rtt: Option<&'a latency::Distribution>,
    pub(crate) activity: FlowActivity,
    /// Of its READ responses, where it has some and the requests are known.
    pub(crate) data: Option<FlowActivity>,
}

/// The time of a flow's requests, or of its READ responses, and what is counted of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowActivity {
    pub(crate) src: Address,
    pub(crate) dst: Address,
    pub(crate) dest_qp: u32,
    /// Times in nanoseconds since 1970.
    pub(crate) start_ns: i64,
    pub(crate) last_request_ns: i64,
    pub(crate) last_answer_ns: i64,
    /// Answers were seen.
    pub(crate) hears: bool,
    pub(crate) packets: u64,
    pub(crate) rtt_ns: Option<u32>,
    pub(crate) timeouts: u64,
    pub(crate) naks: u64,
    /// READs that were issued again for a response that did not come: implied NAKs.
    pub(crate) repeated_reads: u64,
    pub(crate) rnr: u64,
}

/// A flow as the report has it.
#[derive(Clone, Copy, Debug)]
pub struct KnownFlow {
    /// Its place in the report's list.
    pub index: usize,
    /// Its peer's queue pair.
    pub peer_qp: Option<u32>,
    /// The opposite flow.
    pub peer: Option<FlowId>,
}

impl<'a> Context<'a> {
    /// What the capture showed of the network.
    pub fn network(&self) -> &'a Network {
        self.network
    }

    /// An interface's name; `if3` for one without.
    pub fn interface(&self, number: u16) -> String {
        self.network.interfaces.name(number)
    }

    /// What became of a flow.
    pub(crate) fn detail(&self, id: FlowId) -> Option<Detail<'_>> {
        (self.detail)(id)
    }

    /// Packets that a flow lost on the network; `None` where the capture cannot show losses.
    pub(crate) fn lost(&self, id: FlowId) -> Option<report::Bounds> {
        (self.lost)(id)
    }

    /// Where a flow stands in the report.
    pub fn flow(&self, id: FlowId) -> Option<KnownFlow> {
        (self.flow)(id)
    }
}

/// So many bytes in so many nanoseconds, in bit/s.
pub(crate) fn bit_rate(bytes: u64, ns: u64) -> u64 {
    let ns = u128::from(ns.max(1));
    // Rounded, as every figure for people is.
    u64::try_from((u128::from(bytes) * 8_000_000_000 + ns / 2) / ns).unwrap_or(u64::MAX)
}

/// How evenly something is spread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    /// Jain's index: 1 where all have the same, one over their number where one has all.
    pub(crate) jain: f64,
    /// The most of one over the mean.
    pub(crate) max_over_mean: f64,
}

/// How evenly these values are spread; `None` where all are 0.
pub(crate) fn spread(values: impl Iterator<Item = u64> + Clone) -> Option<Spread> {
    let values = values.map(|value| value as f64);
    let (n, sum) = (values.clone().count() as f64, values.clone().sum::<f64>());
    let squares: f64 = values.clone().map(|value| value * value).sum();
    let most = values.fold(0.0, f64::max);
    (sum > 0.0).then(|| Spread { jain: sum * sum / (n * squares), max_over_mean: most * n / sum })
}

/// A part of a whole, where there is one.
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Calls both metrics of a pair.
macro_rules! both {
    ($($(#[$inline:meta])? fn $name:ident(&mut self, $($arg:ident: $type:ty),*);)+) => {$(
        $(#[$inline])?
        fn $name(&mut self, $($arg: $type),*) {
            self.0.$name($($arg),*);
            self.1.$name($($arg),*);
        }
    )+};
}

/// Two metrics; pairs of pairs are any number. All calls are direct ones.
impl<A: Metric, B: Metric> Metric for (A, B) {
    fn wants(&self) -> Wants {
        self.0.wants().or(self.1.wants())
    }

    both! {
        #[inline(always)] fn on_packet(&mut self, packet: &Facts, place: &Placed);
        fn on_run(&mut self, run: &RunSum);
        fn on_verdict(&mut self, verdict: &Verdict);
        fn on_history(&mut self, history: &History);
        fn on_frame(&mut self, event: &Event<'_>);
        fn on_management(&mut self, packet: &Facts, headers: &Dissection<'_>, frame: u64);
        fn on_measured(&mut self, flow: FlowId, measured: &Measured);
        fn on_silence(&mut self, silence: &Silence, network: &Network);
        fn on_silences(&mut self, silences: &[Silence], network: &Network);
        fn on_data_silence(&mut self, silence: &DataSilence, network: &Network);
        fn on_passing_silence(&mut self, silence: &PassingSilence, network: &Network);
        fn on_pause(&mut self, paused: &Paused);
        fn on_retire(&mut self, flow: FlowId);
        fn on_interface(&mut self, number: u16, network: &Network);
    }

    fn span(&self, time_ns: i64) -> Range<i64> {
        let (a, b) = (self.0.span(time_ns), self.1.span(time_ns));
        a.start.max(b.start)..a.end.min(b.end)
    }

    #[inline(always)]
    fn prefetch(&self, flow: FlowId) {
        self.0.prefetch(flow);
        self.1.prefetch(flow);
    }

    #[inline(always)]
    fn prefetch_beyond(&self, flow: FlowId) {
        self.0.prefetch_beyond(flow);
        self.1.prefetch_beyond(flow);
    }

    fn heap_bytes(&self) -> usize {
        self.0.heap_bytes() + self.1.heap_bytes()
    }

    fn contribute(&self, context: &Context<'_>) -> Vec<(String, Value)> {
        [self.0.contribute(context), self.1.contribute(context)].concat()
    }
}

/// All metrics of an analysis: the built-in ones are called directly, those of the user by their tables of functions.
pub(crate) type Metrics = (BuiltIn, Own);

/// The collective's view, the first of the built-in metrics: it is shown packets by the engine, with addresses and keys.
pub(crate) fn collectives(all: &mut Metrics) -> &mut collective::Collectives {
    &mut all.0.0
}

/// Where in memory WRITEs and READs go, the second of the built-in metrics: the engine tells it.
pub(crate) fn one_sided(all: &mut Metrics) -> &mut one_sided::OneSided {
    &mut all.0.1.0
}

/// Whose messages flows carry, the third of the built-in metrics: the engine tells it.
pub(crate) fn named(all: &mut Metrics) -> &mut named::Named {
    &mut all.0.1.1.0
}

/// Registers the built-in metrics. `built_in` makes nested pairs of them from the options. They are called in this order. Their
/// sections are put together in `results/sections.rs`.
macro_rules! built_in {
    ($options:ident: $($name:ident: $metric:ty = $new:expr;)+) => {
        /// The metrics of every analysis.
        pub(crate) type BuiltIn = built_in!(@pairs $($metric,)+);

        pub(crate) fn built_in($options: &Options) -> BuiltIn {
            built_in!(@pairs $($new,)+)
        }

        /// The built-in metrics by their names.
        pub(crate) struct Each<'a> {
            $(pub(crate) $name: &'a $metric,)+
        }

        pub(crate) fn each(all: &BuiltIn) -> Each<'_> {
            let built_in!(@pairs $($name,)+) = all;
            Each { $($name,)+ }
        }
    };
    (@pairs $last:tt,) => { $last };
    (@pairs $first:tt, $($rest:tt,)+) => { ($first, built_in!(@pairs $($rest,)+)) };
}

built_in! { options:
    collectives: collective::Collectives = Default::default();
    one_sided: one_sided::OneSided = Default::default();
    named: named::Named = Default::default();
    overhead: overhead::Overhead = Default::default();
    congestion: congestion::Congestion = Default::default();
    incast: incast::Incast = incast::Incast::new(options.speed_bps);
    verdicts: verdict::Verdicts = Default::default();
    entropy: entropy::Entropy = Default::default();
    rate: rate::Rate = rate::Rate::new(options.interval_ns);
    traffic: traffic::Traffic = traffic::Traffic::new(options.max_memory);
    credits: credits::Credits = Default::default();
    setups: setup::Setups = Default::default();
    uet: uet::Uet = uet::Uet::new(options.verify_icrc, options.max_memory);
}
