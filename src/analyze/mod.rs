//! Frames -> meaning: who retransmits, what was lost and where, what arrived out of order.
//!
//! ```no_run
//! use rdmawire::{analyze::{Analysis, Options}, capture::{self, Source}};
//! let mut trace = capture::open("trace.pcap".as_ref())?;
//! let mut analysis = Analysis::new(Options::default());
//! while let Some(record) = trace.next()? {
//!     analysis.see(&record);
//! }
//! for flow in analysis.finish().flows {
//!     println!("{} -> {} QP {:#x}: {} sent again", flow.src, flow.dst, flow.dest_qp, flow.requests.retransmits);
//! }
//! # Ok::<(), capture::Error>(())
//! ```

mod connection;
mod counts;
mod doubt;
mod facts;
mod finding;
mod flow;
mod flows;
mod intake;
mod key;
mod lists;
pub mod metric;
mod plain;
mod results;
mod stretch;
mod track;
mod transport;

pub use intake::{Known, Prepared, PreparedWrapped};
pub use key::Address;
pub use lists::{Connections as ConnectionList, Episodes as EpisodeList, Flows as FlowList};
pub use results::{Ended, Files, Streamed};
pub use track::{Class, Trigger};

use connection::Connections;
use counts::CaptureCounts;
use doubt::{Mirror, Stray, Trust};
use facts::{Dissected, Facts, Frame};
use flow::Flow;
use flows::{Begin, Flows};
use intake::{Collected, Held};
use key::Key;
use metric::{Metric, Metrics, overhead};
use plain::AnyPlain;
use track::{request::Knobs, sequence::Resolved};

use crate::{
    capture::{Record, Time},
    dissect::{self, Dissection},
    icrc::{self, State},
    opcode::{Direction, Operation, Service},
    wire::*,
};

/// A flow's number in its analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// One frame in its place.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// The frame's number, from 1.
    pub number: u64,
    /// The frame.
    pub record: &'a Record<'a>,
    /// Its headers.
    pub packet: &'a Dissection<'a>,
    /// What became of its ICRC.
    pub icrc: icrc::State,
    /// Bytes on the wire, with preamble, frame check sequence and inter-frame gap; without tunnels around it.
    pub l1_bytes: u32,
    /// The flow it belongs to, if it is of the InfiniBand transport.
    pub flow: Option<FlowId>,
    /// The opposite flow, if it is known.
    pub peer: Option<FlowId>,
    /// Whether it is one transmission recorded again.
    pub is_capture_duplicate: bool,
    /// What it is, where that is known at once.
    pub class: Option<Class>,
}

/// What the analysis is told.
#[derive(Clone, Debug)]
pub struct Options {
    /// How to dissect.
    pub dissect: dissect::Options,
    /// Verify every ICRC that can be.
    pub verify_icrc: bool,
    /// Flows kept at a time.
    pub max_flows: usize,
    /// A packet that comes sooner than this after one sent later, in nanoseconds, is late where nothing better is known.
    pub late_ns: i64,
    /// The queue pairs' acknowledgement timeout in nanoseconds.
    pub ack_timeout_ns: Option<i64>,
    /// The link's speed in bits per second.
    pub speed_bps: Option<u64>,
    /// Report traffic over time, in intervals of so many nanoseconds.
    pub interval_ns: Option<u64>,
    /// Connections that the user knows of.
    pub connections: Vec<KnownConnection>,
}

/// A connection that the user knows of: two ends, each a queue pair and, where it is known, an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownConnection {
    /// One end.
    pub a: (Option<Address>, u32),
    /// The other.
    pub b: (Option<Address>, u32),
}

impl KnownConnection {
    /// The connections in the JSON that `rdma -j resource show qp` prints on a host: local and remote queue pairs. It
    /// has no addresses, so the numbers hold between any two hosts of the capture.
    ///
    /// # Errors
    /// What is wrong with the text, and where.
    pub fn from_rdma_json(text: &str) -> Result<Vec<KnownConnection>, String> {
        #[derive(serde::Deserialize)]
        struct Row {
            lqpn: u32,
            rqpn: Option<u32>,
        }
        let rows: Vec<Row> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let connected = |row: Row| {
            Some(KnownConnection { a: (None, row.lqpn), b: (None, row.rqpn.filter(|&qp| qp > 1)?) })
        };
        Ok(rows.into_iter().filter_map(connected).collect())
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            dissect: dissect::Options::default(),
            verify_icrc: true,
            // A million, in less than 1 GiB if each has few packets, however many more a forged capture has.
            max_flows: 1 << 20,
            late_ns: 50_000,
            ack_timeout_ns: None,
            speed_bps: None,
            interval_ns: None,
            connections: Vec::new(),
        }
    }
}

/// Which of a flow's two PSN spaces.
pub type Space = Direction;

/// Who is told of every packet's class. Some are known only when later packets have come.
pub type Observer = Box<dyn FnMut(u64, Option<Space>, Class) + Send>;

/// An analysis under way. It keeps nothing of the frames: its memory is bounded by the number of flows.
pub struct Analysis {
    options: Options,
    knobs: Knobs,
    flows: Flows,
    connections: Connections,
    capture: CaptureCounts,
    overhead: overhead::Overhead,
    asked: Metrics,
    gone: Vec<Gone>,
    resolved: Vec<Resolved>,
    observer: Option<Observer>,
    mirrors: Vec<Mirror>,
    strays: Vec<Stray>,
    trust: Trust,
    metrics: Vec<Box<dyn Metric + Send>>,
    /// Packets that are looked at together.
    collected: Collected,
    /// Frames whose first ICRCs are wrong, until it is known whether all are.
    held: Vec<Held>,
    held_bad: u64,
    /// Frames that have a number and are not analyzed.
    passed_over: u64,
    /// The interfaces' names.
    links: Vec<String>,
    files: Files,
}

/// A flow put away: evicted, or of an epoch that is over.
pub(crate) struct Gone {
    pub(crate) flow: Box<Flow>,
    pub(crate) evicted: bool,
}

/// Flows put away that are reported one by one; of the others, the evicted ones are counted.
const MAX_GONE: usize = 4096;

/// Nanoseconds from 1970 beyond which times count as this: 146 years. Any two differ by less than an `i64` holds.
const FARTHEST: i64 = (1 << 62) - 1;

impl Analysis {
    /// An analysis that has seen nothing.
    pub fn new(options: Options) -> Analysis {
        let mut connections = Connections::default();
        for known in &options.connections {
            connections.insert(known);
        }
        Analysis {
            knobs: Knobs { late_ns: options.late_ns, ack_timeout_ns: options.ack_timeout_ns },
            flows: Flows::new(options.max_flows),
            connections,
            capture: CaptureCounts::default(),
            overhead: overhead::Overhead::default(),
            asked: Metrics::new(options.speed_bps, options.interval_ns),
            gone: Vec::new(),
            resolved: Vec::new(),
            observer: None,
            mirrors: Vec::new(),
            strays: Vec::new(),
            trust: Trust::default(),
            metrics: Vec::new(),
            collected: Collected::default(),
            held: Vec::new(),
            held_bad: 0,
            passed_over: 0,
            links: Vec::new(),
            files: Files::default(),
            options,
        }
    }

    /// Ask one more question of the trace.
    #[must_use]
    pub fn with(mut self, metric: impl Metric + Send + 'static) -> Analysis {
        self.metrics.push(Box::new(metric));
        self
    }

    /// Be told of every packet's class as soon as it is certain: the frame's number, the PSN space, the class.
    pub fn observe(&mut self, observer: Observer) {
        self.observer = Some(observer);
    }

    /// A packet of which nothing but its facts is needed.
    #[inline]
    fn see_plain(&mut self, facts: &impl AnyPlain) {
        self.capture.see(&facts.frame());
        let is_taken = match facts.opcode().operation() {
            Some(Operation::Acknowledge) => self.acknowledges(facts),
            Some(Operation::ReadResponse) => self.goes_on_with_data(facts),
            _ => false,
        };
        if !is_taken {
            self.see_transport(facts, None);
        }
    }

    /// One frame that was dissected, and its ICRC verified, by somebody else.
    pub fn see_dissected(&mut self, record: &Record<'_>, d: &Dissection<'_>, icrc: State) {
        if record.time.0.unsigned_abs() > FARTHEST as u64 {
            return self.see_far(record, d, icrc);
        }
        self.catch_up();
        self.capture.see(&Frame::of(record, d));
        if d.tunnel_depth() > 0 {
            self.see_mirror(d);
        }
        let mut event = Event {
            number: self.number(),
            record,
            packet: d,
            icrc,
            l1_bytes: 0,
            flow: None,
            peer: None,
            is_capture_duplicate: false,
            class: None,
        };
        if let Some(facts) = Dissected::of(record, d, icrc) {
            let (flow, class) = self.see_transport(&facts, Some(d));
            (event.l1_bytes, event.flow, event.class) = (facts.l1_bytes(), flow, class);
            event.is_capture_duplicate = class == Some(Class::CaptureDuplicate);
            event.peer = flow.and_then(|id| self.flows.get_mut(id).peer);
        } else {
            event.l1_bytes = facts::l1_bytes(d);
            self.say(None, Class::Unsequenced);
            self.overhead.other(&event);
            self.asked.other(&event);
        }
        for metric in &mut self.metrics {
            metric.see(&event);
        }
    }

    /// A packet in its place, for the questions that are always asked. One that `is_control` only steers.
    #[inline(always)]
    fn count(
        &mut self,
        facts: &impl Facts,
        (flow, class): (Option<FlowId>, Option<Class>),
        is_control: bool,
    ) {
        let is_capture_duplicate = class == Some(Class::CaptureDuplicate);
        let seen = metric::Seen { facts, flow, class, is_capture_duplicate, is_control };
        self.gather();
        self.overhead.packet(&seen);
        self.asked.packet(&seen);
        if class == Some(Class::Retransmission) {
            self.overhead.retransmitted(facts.wrap(), facts.l1_bytes());
        }
    }

    /// The number of the frame at hand.
    #[inline(always)]
    fn number(&self) -> u64 {
        self.capture.packets + self.passed_over
    }

    /// A frame of a time that only a forged or damaged capture has.
    #[cold]
    #[inline(never)]
    fn see_far(&mut self, record: &Record<'_>, d: &Dissection<'_>, icrc: State) {
        let time = Time(record.time.0.clamp(-FARTHEST, FARTHEST));
        self.see_dissected(&Record { time, ..*record }, d, icrc);
    }

    /// The first packet of a flow.
    #[cold]
    #[inline(never)]
    fn begin(&mut self, key: &Key, facts: &impl Facts) -> FlowId {
        let (opcode, psn) = (facts.opcode(), facts.psn().0);
        let (key, service, is_cnp) = (*key, opcode.service(), opcode.is_cnp());
        let begin = &Begin { key, service, encapsulation: facts.wrap(), time: facts.time(), psn };
        let id = self.flows.add(begin).unwrap_or_else(|| self.evict_for(begin));
        if let Some(at) = self.strays.iter().position(|stray| stray.key == key) {
            let stray = self.strays.swap_remove(at);
            let flow = self.flows.get_mut(id);
            flow.packets += stray.packets;
            flow.wire_bytes += stray.l1_bytes;
            for (opcode, n) in stray.opcodes.iter() {
                flow.opcodes.add_many(opcode, n);
            }
            flow.icrc[State::Bad as usize] += stray.icrc[State::Bad as usize];
            flow.icrc[State::Good as usize] += stray.icrc[State::Good as usize];
            flow.icrc[State::Unchecked as usize] += stray.icrc[State::Unchecked as usize];
            let counts = &mut flow.requests.counts;
            counts.packets += stray.packets;
            (0..stray.packets).for_each(|_| counts.class(Class::Corrupt));
            counts.lost(track::class::Place::Corrupt, stray.packets, stray.packets);
            (0..stray.packets).for_each(|_| flow.requests.corrupt());
        }
        if service.is_reliable() || service == Service::Uc || is_cnp {
            self.connections.appeared(&mut self.flows, id);
        }
        id
    }

    /// Puts a flow away for another one.
    fn evict_for(&mut self, begin: &Begin) -> FlowId {
        let id = self.flows.oldest();
        self.capture.evicted_flows += 1;
        self.connections.disappears(&self.flows, id);
        self.flows.leave(id);
        self.gather();
        self.asked.entropy.put_away(id);
        let new = self.flows.new_flow(begin);
        self.put_away(id, new, true);
        self.flows.enter(id);
        id
    }

    #[cold]
    fn renew(&mut self, id: FlowId, service: Service, time: i64, psn: u32) {
        let old = self.flows.get(id);
        let (key, encapsulation, peer, epoch) = (old.key, old.encapsulation, old.peer, old.epoch + 1);
        let mut new = self.flows.new_flow(&Begin { key, service, encapsulation, time, psn });
        new.epoch = epoch;
        self.put_away(id, new, false);
        if let Some(peer) = peer {
            let peer = self.flows.get_mut(peer);
            if peer.peer == Some(id) {
                peer.peer = None;
                // It is of the old epoch too, unless it was the first to begin the new one.
                peer.renew = peer.epoch < epoch;
            }
        }
        self.connections.appeared(&mut self.flows, id);
    }

    /// Puts a new flow into an old one's place, and that to those that are gone while they are reported one by one.
    fn put_away(&mut self, id: FlowId, mut new: Flow, evicted: bool) {
        let place = self.flows.get_mut(id);
        if self.gone.len() >= MAX_GONE {
            new.requests.seq.ring.take_over(&mut place.requests.seq.ring);
            *place = new;
            return;
        }
        let mut flow = Box::new(std::mem::replace(place, new));
        let Flow { requests, responses, ids, .. } = &mut *flow;
        requests.finish(ids, &self.knobs, &mut self.resolved);
        if let Some(responses) = responses.get_mut() {
            responses.finish(ids, &self.knobs, &mut self.resolved);
        }
        self.resolved.clear();
        flow.forget();
        self.gone.push(Gone { flow, evicted });
    }

    /// Connections announce themselves.
    #[cold]
    #[inline(never)]
    fn see_management(&mut self, d: &Dissection<'_>, key: &Key) {
        if let Some(req) = d.get::<CmReq>() {
            self.connections.request(*key, req);
        }
        if let Some(rep) = d.get::<CmRep>() {
            for key in self.connections.reply(*key, rep).into_iter().flatten() {
                if let Some(id) = self.flows.find(&key) {
                    self.flows.get_mut(id).renew = true;
                }
            }
        }
    }

    /// Tell the observer of the packet at hand.
    #[inline(always)]
    fn say(&mut self, space: Option<Space>, class: Class) {
        let number = self.number();
        if let Some(observer) = &mut self.observer {
            observer(number, space, class);
        }
    }

    /// Pass over a frame: it is not analyzed, but has its number.
    #[inline]
    pub fn pass_over(&mut self) {
        self.catch_up();
        self.passed_over += 1;
    }

    /// What is known of a capture interface, by [`Record::interface`]: its name, and its speed in bit/s.
    pub fn interface(&mut self, number: u16, name: String, speed_bps: Option<u64>) {
        let at = number as usize;
        if self.links.len() <= at {
            self.links.resize(at + 1, String::new());
        }
        self.links[at] = name;
        if let Some(speed) = speed_bps {
            self.asked.pause.set_speed(number, speed);
        }
    }

    /// Frames seen so far.
    pub fn packets(&self) -> u64 {
        self.capture.packets + self.collected.len as u64
    }

    /// Bytes of memory that the flows take.
    pub fn memory(&self) -> usize {
        self.flows.memory()
    }
}
