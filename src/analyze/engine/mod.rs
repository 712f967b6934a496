//! The running analysis: intake of frames, tracking of their flows, trust in ICRCs and checksums.

mod headers;
mod held;
mod intake;
mod mrc;
mod prepared;
mod runs;
mod sorting;
#[cfg(feature = "state")]
mod state;
mod telemetry;
mod tracker;
mod transport;
mod trims;
mod trust;
mod view;

pub use headers::Headers;
pub(crate) use held::HeldFrame;
pub use held::Looked;
pub use prepared::Batch;
#[cfg(feature = "state")]
pub use state::{StateError, is_state};
use tracker::Window;
pub(crate) use tracker::{Retired, Tracker};

use super::{
    metric::{Metric, Metrics, Own, built_in},
    model::{Event, Files, FlowId, Options},
    packet::{self, FARTHEST, Facts, FastForm, Frame, MirrorCopy},
};
use crate::{
    capture::{Record, Time},
    dissect::Dissection,
    icrc::{self, State},
    opcode::Operation,
};
use headers::Shortened;
pub(crate) use intake::{HELD_BAD, Intake, MAX_HELD, MAX_HELD_BYTES};
pub(crate) use trust::Trust as IcrcTrust;

/// A running analysis, with a user's metrics beside the built-in ones. It keeps nothing of the frames: its memory is bounded by the
/// number of flows.
pub struct Analysis {
    pub(crate) tracker: Tracker,
    pub(crate) metrics: Metrics,
    pub(crate) intake: Intake,
    /// Of frames that came without payload.
    pub(crate) shortened: Shortened,
}

impl Analysis {
    /// An analysis without frames.
    pub fn new(options: Options) -> Analysis {
        let metrics = (built_in(&options), Own::default());
        let intake = Intake::new(&options);
        let tracker = Tracker::new(options);
        Analysis { metrics, tracker, intake, shortened: Shortened::default() }
    }

    /// An analysis with a metric of the user's own.
    pub fn with(options: Options, metric: impl Metric) -> Analysis {
        let mut analysis = Analysis::new(options);
        analysis.add(metric);
        analysis
    }

    /// Adds a metric of the user's own. It is told of the frames that come from now on.
    pub fn add(&mut self, metric: impl Metric) {
        self.metrics.1.push(metric);
        self.tracker.ask_wants(&self.metrics);
        self.tracker.forget_window();
    }

    /// The user's metric of this type, the first one that was [added](Self::add), in its present state. It may not know of the last
    /// packets yet.
    pub fn metric<M: Metric>(&self) -> Option<&M> {
        self.metrics.1.get()
    }

    /// [`metric`](Self::metric), to take out what it has found so far.
    pub fn metric_mut<M: Metric>(&mut self) -> Option<&mut M> {
        self.metrics.1.get_mut()
    }

    /// A packet in its fast form.
    #[inline]
    fn push_fast(&mut self, packet: &impl FastForm) {
        let Analysis { tracker, metrics, .. } = self;
        tracker.capture.count(&packet.frame());
        tracker.enter_window(packet.fast().time(), metrics);
        let operation = packet.fast().opcode().operation();
        if operation == Some(Operation::ReadResponse) && tracker.takes_data(packet, metrics) {
            return;
        }
        let facts = &packet.facts();
        if operation != Some(Operation::Acknowledge) || !tracker.acknowledges(facts, metrics) {
            tracker.on_transport(facts, None, metrics);
        }
    }

    /// One frame that the caller has dissected, and whose ICRC the caller has verified.
    pub fn push_dissected(&mut self, record: &Record<'_>, d: &Dissection<'_>, icrc: State) {
        self.view_dissected(record, d, icrc);
        match self.intake.sorting.passes(record.time.0) {
            true => self.push_parsed(record, d, icrc),
            false => self.sort_frame(record, d, icrc),
        }
    }

    fn push_parsed(&mut self, record: &Record<'_>, d: &Dissection<'_>, icrc: State) {
        if record.time.0.unsigned_abs() > FARTHEST as u64 {
            return self.push_far(record, d, icrc);
        }
        self.catch_up();
        if d.tunnel_depth() > 0 {
            self.note_mirror_copy(MirrorCopy::of_dissection(d).as_ref());
        }
        let Analysis { tracker, metrics, .. } = self;
        let facts = Facts::of(record, d, icrc).map(|facts| {
            let vcrc = tracker.options.checked(|| icrc::verify_vcrc(d));
            tracker.look_for_trimming(facts, d).with_vcrc(vcrc)
        });
        let icrc = facts.as_ref().map_or(icrc, Facts::icrc);
        tracker.capture.count(&Frame::of(record, d, icrc));
        tracker.enter_window(record.time.0, metrics);
        if d.has_telemetry() && icrc != State::Bad {
            let number = tracker.number();
            tracker.written.on_packet(d, number);
        }
        match facts {
            Some(packet) => {
                tracker.capture.fragmented += u64::from(d.is_fragment());
                tracker.on_transport(&packet, Some(d), metrics);
            }
            None => {
                let (number, l1_bytes) = (tracker.number(), packet::l1_bytes(d));
                tracker.notify_frame(&Event { number, record, packet: d, l1_bytes }, metrics);
            }
        }
    }

    /// A frame with a time so far from 1970 that the capture must be forged or damaged.
    #[cold]
    #[inline(never)]
    fn push_far(&mut self, record: &Record<'_>, d: &Dissection<'_>, icrc: State) {
        let time = Time(record.time.0.clamp(-FARTHEST, FARTHEST));
        self.push_parsed(&Record { time, ..*record }, d, icrc);
    }

    /// Skips a frame: it gets a number, and is not analyzed.
    #[inline]
    pub fn pass_over(&mut self) {
        self.catch_up();
        self.tracker.passed_over += 1;
    }

    /// What is known of a capture interface, by [`Record::interface`]: its name, and its speed in bit/s.
    pub fn interface(&mut self, number: u16, name: String, speed_bps: Option<u64>) {
        let Analysis { tracker, metrics, .. } = self;
        tracker.settle_all(metrics);
        let Tracker { network, bursts, window, .. } = tracker;
        network.interfaces.set(number, name, speed_bps);
        network.on_interface(number);
        bursts.set_speed(network.interfaces.common_bps());
        metrics.on_interface(number, network);
        // A metric that needs speeds may divide time from now on.
        *window = Window::EMPTY;
    }

    /// The file that a capture interface is of, where several files are merged: [`Interface::file`](crate::capture::Interface::file).
    pub fn interface_file(&mut self, number: u16, file: &str) {
        self.tracker.network.interfaces.set_file(number, file);
        self.tracker.network.on_interface(number);
    }

    /// An interface of the next capture, where an analysis goes on from earlier ones. If nothing but its number is known, what an earlier
    /// capture said of it stays. Returns the name before, if it was another one.
    pub fn next_interface(
        &mut self,
        number: u16,
        name: Option<&str>,
        speed_bps: Option<u64>,
        file: Option<&str>,
    ) -> Option<String> {
        let (before, name) = (self.interface_name(number), name.unwrap_or_default());
        if before.is_some() && name.is_empty() {
            return None;
        }
        let other = before.filter(|before| !before.is_empty() && *before != name).map(str::to_owned);
        self.interface(number, name.to_owned(), speed_bps);
        if let Some(file) = file {
            self.interface_file(number, file);
        }
        other
    }

    /// The name of a capture interface, if there was one with this number.
    pub fn interface_name(&self, number: u16) -> Option<&str> {
        self.tracker.network.interfaces.told_name(number)
    }

    /// The flow in the other direction and the queue pair of a flow's sender, as far as they are known by now.
    pub(crate) fn opposite(&self, FlowId(flow): FlowId) -> (Option<FlowId>, Option<u32>) {
        self.tracker.flows.flows.get(flow as usize).map_or((None, None), |flow| (flow.peer, flow.peer_qp))
    }

    /// Where the frames came from: part of the report, and evidence for its findings.
    pub(crate) fn set_files(&mut self, files: Files) {
        self.tracker.files = files;
    }

    /// More files, or interfaces, that the frames come from, behind those that are known: part of the report, and evidence for
    /// its findings.
    pub fn add_files(&mut self, files: Files) {
        self.tracker.files.add(files);
    }

    /// Where the frames came from, as far as it was said.
    pub fn files(&self) -> &Files {
        &self.tracker.files
    }

    /// The number of the last frame: of all so far, with those that were [passed over](Self::pass_over).
    pub fn frames(&self) -> u64 {
        let waiting = self.intake.batched() + self.intake.held() + self.intake.sorting.len();
        self.tracker.number() + waiting as u64
    }

    /// The latest time of all frames so far; where an analysis goes on, those of the earlier one.
    pub fn latest(&self) -> Option<Time> {
        Some(self.intake.sorting.newest()).filter(|&time| time > i64::MIN).map(Time)
    }

    /// Number of frames so far.
    pub fn packets(&self) -> u64 {
        self.tracker.capture.packets + (self.intake.batched() + self.intake.sorting.len()) as u64
    }

    /// Bytes of memory that the flows take.
    pub fn memory(&self) -> usize {
        self.tracker.flows.memory() + self.tracker.heap_bytes() + self.metrics.heap_bytes()
    }

    /// Ends batches and runs: flows and metrics know of all packets that came.
    pub(crate) fn settle(&mut self) {
        self.flush_sorted();
        self.catch_up();
        self.tracker.settle_all(&mut self.metrics);
    }

    /// Ends the analysis: decides the class of all packets that are undecided, as well as the evidence allows.
    pub(crate) fn decide(&mut self) {
        self.flush_sorted();
        self.release();
        self.catch_up();
        self.tracker.decide(&mut self.metrics);
    }
}
