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
mod facts;
mod finding;
mod flow;
mod lists;
pub mod metric;
mod results;
mod track;

pub use flow::Address;
pub use lists::{Connections as ConnectionList, Episodes as EpisodeList, Flows as FlowList};
pub use results::{Ended, Streamed};
pub use track::{Class, Trigger};

use connection::Connections;
use facts::{Dissected, Facts, Frame, Plain};
use flow::{Flow, Flows, Found, Key, Opcodes};
use metric::{Metric, Metrics, overhead};
use track::{
    request::{Knobs, Request, Response},
    response::Acknowledged,
    sequence::{Packet, Resolved},
};

use crate::{
    capture::{Record, Time},
    dissect::{self, Dissection, Encapsulation, Link, dissect_with},
    icrc::{self, State},
    opcode::{Direction, Opcode, Operation, PayloadRule, Service},
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
            // A flow of one packet takes about 1 KB: all 2^24 queue pairs of a forged capture, 263 MiB.
            max_flows: 1 << 18,
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
    capture: results::CaptureCounts,
    overhead: overhead::Overhead,
    asked: Metrics,
    gone: Vec<Gone>,
    gone_more: u64,
    resolved: Vec<Resolved>,
    observer: Option<Observer>,
    mirrors: Vec<Mirror>,
    strays: Vec<Stray>,
    trust: Trust,
    metrics: Vec<Box<dyn Metric + Send>>,
    /// Packets that are looked at together.
    collected: Vec<Plain>,
    /// Frames whose first ICRCs are wrong, until it is known whether all are.
    held: Vec<Held>,
    held_bad: u64,
    /// Frames that have a number and are not analyzed.
    passed_over: u64,
    /// The interfaces' names.
    links: Vec<String>,
}

/// Packets that are looked at together where there are many flows.
const TOGETHER: usize = 32;

/// A flow put away: evicted, or of an epoch that is over.
pub(crate) struct Gone {
    pub(crate) flow: Box<Flow>,
    pub(crate) evicted: bool,
}

/// Flows put away that are reported one by one; the others are counted.
const MAX_GONE: usize = 4096;

/// A frame held back, or what there is to know of it.
enum Held {
    Frame { time: Time, link: Link, interface: u16, wire_len: u32, frame: Box<[u8]>, icrc: State },
    Plain(Plain),
}

impl Held {
    fn frame(record: &Record<'_>, icrc: State) -> Held {
        let &Record { time, link, interface, wire_len, frame } = record;
        Held::Frame { time, link, interface, wire_len, frame: frame.into(), icrc }
    }

    fn icrc(&self) -> State {
        match *self {
            Held::Frame { icrc, .. } => icrc,
            Held::Plain(ref facts) => facts.icrc(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Held::Frame { frame, .. } => frame.len(),
            Held::Plain(_) => size_of::<Plain>(),
        }
    }
}

/// Wrong ICRCs in a row, from the first one on, after which none is believed.
const HELD_BAD: u64 = 8;
/// Frames held back until that is known.
const MAX_HELD: usize = 256;
/// Their bytes, which no snap length bounds.
const MAX_HELD_BYTES: usize = 1 << 20;

/// Nanoseconds from 1970 beyond which times count as this: 146 years. Any two differ by less than an `i64` holds.
const FARTHEST: i64 = (1 << 62) - 1;

/// What a flow was seen to have.
const REQUESTS: u8 = 8;
const RESPONSES: u8 = 16;

/// A queue pair silent for so long may be another one when it is heard again.
const SILENCE_NS: i64 = 1_000_000_000;

/// A mirror's sequence of copies.
struct Mirror {
    key: (u128, u128, u16),
    next: u32,
}

const MAX_MIRRORS: usize = 256;

/// Wrong packets of a flow that was not seen yet.
struct Stray {
    key: Key,
    packets: u64,
    l1_bytes: u64,
    icrc: [u64; 3],
    opcodes: Opcodes,
}

const MAX_STRAYS: usize = 256;

/// Whether ICRCs and IP checksums can be believed: where most are wrong, something rewrites packets.
#[derive(Default)]
struct Trust {
    icrc_checked: u64,
    icrc_bad: u64,
    ip_checked: u64,
    ip_bad: u64,
}

impl Trust {
    /// A few wrong ones at the beginning are believed to be wrong.
    const DOUBT: u64 = 4;

    fn believes(bad: u64, checked: u64) -> bool {
        bad * 2 <= checked + Self::DOUBT
    }
}

/// What can be known of a frame by itself, whatever came before: so it can be found out on another thread.
#[derive(Clone, Debug)]
pub struct Prepared {
    facts: Option<Plain>,
    icrc: State,
}

impl Prepared {
    /// Prepares a frame for an analysis with these options.
    #[inline]
    pub fn new(options: &Options, record: &Record<'_>) -> Prepared {
        if let Some(facts) = Plain::of(&options.dissect, record, options.verify_icrc) {
            return Prepared { icrc: facts.icrc(), facts: Some(facts) };
        }
        let d = dissect_with(options.dissect, record.link, record.frame, record.wire_len);
        let icrc = if options.verify_icrc { icrc::verify(&d) } else { State::Unchecked };
        Prepared { facts: None, icrc }
    }

    /// What became of its ICRC.
    pub fn icrc(&self) -> State {
        self.icrc
    }

    /// Whether the frame's bytes are not needed any more.
    #[inline]
    pub fn is_all(&self) -> bool {
        self.facts.is_some()
    }
}

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
            capture: results::CaptureCounts::default(),
            overhead: overhead::Overhead::default(),
            asked: Metrics::new(options.speed_bps, options.interval_ns),
            gone: Vec::new(),
            gone_more: 0,
            resolved: Vec::new(),
            observer: None,
            mirrors: Vec::new(),
            strays: Vec::new(),
            trust: Trust::default(),
            metrics: Vec::new(),
            collected: Vec::new(),
            held: Vec::new(),
            held_bad: 0,
            passed_over: 0,
            links: Vec::new(),
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

    /// One frame.
    #[inline]
    pub fn see(&mut self, record: &Record<'_>) {
        let (options, verify) = (self.options.dissect, self.options.verify_icrc);
        match Plain::of(&options, record, verify) {
            Some(facts) if self.metrics.is_empty() => self.see_or_hold_plain(&facts),
            _ => self.see_any(record),
        }
    }

    /// [`see`](Analysis::see) of a frame that was prepared, on another thread perhaps, with the same options. Where that is
    /// [all](Prepared::is_all) there is to know, and no metric was [added](Analysis::with), the record may be without its bytes.
    #[inline]
    pub fn see_prepared(&mut self, record: &Record<'_>, prepared: &Prepared) {
        match &prepared.facts {
            Some(facts) if self.metrics.is_empty() => self.see_or_hold_plain(facts),
            _ => {
                let d = dissect_with(self.options.dissect, record.link, record.frame, record.wire_len);
                self.see_or_hold(record, &d, prepared.icrc);
            }
        }
    }

    /// Most frames need not be dissected, where nobody asks for more than the facts.
    #[inline(always)]
    fn see_or_hold_plain(&mut self, facts: &Plain) {
        if !self.is_settled(facts.icrc()) {
            self.hold_plain(facts);
        } else if self.flows.are_many() && self.observer.is_none() {
            self.collect(facts);
        } else {
            self.see_plain(facts);
        }
    }

    #[cold]
    fn hold_plain(&mut self, facts: &Plain) {
        // Those before it may settle it.
        self.catch_up();
        match self.is_settled(facts.icrc()) {
            true => self.see_plain(facts),
            false => self.hold(Held::Plain(*facts)),
        }
    }

    /// Puts a packet to those that are looked at together, because their flows are not in the processor's caches.
    #[inline]
    fn collect(&mut self, facts: &Plain) {
        self.collected.push(*facts);
        if self.collected.len() == TOGETHER {
            self.see_collected();
        }
    }

    /// Looks at the packets collected: first for their flows, all at once, so that memory is waited for but once.
    #[inline(never)]
    fn see_collected(&mut self) {
        let collected = std::mem::take(&mut self.collected);
        let mut flows = [None; TOGETHER];
        for (flow, facts) in flows.iter_mut().zip(&collected) {
            *flow = facts.key().and_then(|key| self.flows.find(&key));
        }
        for flow in flows.iter().flatten() {
            std::hint::black_box(self.flows.get(*flow).touch());
            std::hint::black_box(self.asked.entropy.touch(*flow));
        }
        for (flow, facts) in flows.iter().zip(&collected) {
            if let Some(flow) = flow {
                std::hint::black_box(self.flows.touch_beyond(*flow, facts));
            }
        }
        for facts in &collected {
            self.see_plain(facts);
        }
        self.collected = collected;
        self.collected.clear();
    }

    /// Nothing waits any more.
    #[inline(always)]
    fn catch_up(&mut self) {
        if !self.collected.is_empty() {
            self.see_collected();
        }
    }

    #[inline(never)]
    fn see_any(&mut self, record: &Record<'_>) {
        let d = dissect_with(self.options.dissect, record.link, record.frame, record.wire_len);
        let icrc = if self.options.verify_icrc { icrc::verify(&d) } else { State::Unchecked };
        self.see_or_hold(record, &d, icrc);
    }

    fn see_or_hold(&mut self, record: &Record<'_>, d: &Dissection<'_>, icrc: State) {
        match self.is_settled(icrc) {
            true => self.see_dissected(record, d, icrc),
            false => self.hold(Held::frame(record, icrc)),
        }
    }

    /// Whether it is known what to think of this ICRC.
    #[inline(always)]
    fn is_settled(&self, icrc: State) -> bool {
        self.held.is_empty() && (icrc != State::Bad || self.trust.icrc_checked > 0)
    }

    /// The first ICRC that could be verified is wrong: that packet alone, or all of them? The next few tell.
    #[cold]
    fn hold(&mut self, held: Held) {
        self.catch_up();
        let icrc = held.icrc();
        self.held.push(held);
        self.held_bad += (icrc == State::Bad) as u64;
        let bytes: usize = self.held.iter().map(Held::bytes).sum();
        let is_full = self.held.len() >= MAX_HELD || bytes >= MAX_HELD_BYTES;
        if icrc == State::Good || self.held_bad >= HELD_BAD || is_full {
            self.release();
        }
    }

    fn release(&mut self) {
        if self.held_bad >= HELD_BAD {
            // Something rewrites packets, or nobody computes it.
            (self.trust.icrc_checked, self.trust.icrc_bad) = (HELD_BAD, 2 * HELD_BAD);
        }
        for held in std::mem::take(&mut self.held) {
            match held {
                Held::Plain(facts) => self.see_plain(&facts),
                Held::Frame { time, link, interface, wire_len, frame, icrc } => {
                    let d = dissect_with(self.options.dissect, link, &frame, wire_len);
                    self.see_dissected(&Record { time, link, interface, wire_len, frame: &frame }, &d, icrc);
                }
            }
        }
    }

    /// A packet of which nothing but its facts is needed.
    #[inline]
    fn see_plain(&mut self, facts: &Plain) {
        self.capture.see(&facts.frame());
        let (flow, class) = self.see_transport(facts, None);
        self.count(facts, flow, class);
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
            self.count(&facts, flow, class);
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

    /// A packet in its place, for the questions that are always asked.
    #[inline(always)]
    fn count(&mut self, facts: &impl Facts, flow: Option<FlowId>, class: Option<Class>) {
        let is_capture_duplicate = class == Some(Class::CaptureDuplicate);
        let seen = metric::Seen { facts, flow, class, is_capture_duplicate };
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

    /// A packet of the transport: its flow, and its class where that is known at once. `whole` is there for what
    /// facts do not tell: management.
    #[inline(always)]
    fn see_transport(
        &mut self,
        facts: &impl Facts,
        whole: Option<&Dissection<'_>>,
    ) -> (Option<FlowId>, Option<Class>) {
        self.capture.rdma_packets += 1;
        let corrupt = self.is_corrupt(facts);
        let Some(key) = &facts.key() else {
            self.say(None, Class::Unsequenced);
            return (None, None);
        };
        let (opcode, psn, l1_bytes, icrc) = (facts.opcode(), facts.psn(), facts.l1_bytes(), facts.icrc());
        let service = opcode.service();
        let time = facts.time();
        let id = if corrupt {
            // A wrong packet proves nothing, not even that there is such a flow.
            match self.flows.find(key) {
                Some(id) => id,
                None => {
                    self.remember_stray(key, opcode.0, l1_bytes, icrc);
                    self.say(None, Class::Corrupt);
                    return (None, None);
                }
            }
        } else {
            match self.flows.get_or_add(key, service, facts.wrap(), time, psn.0) {
                Found::Known(id) => id,
                found => self.appeared(found, service, opcode.is_cnp()),
            }
        };
        let mut flow = self.flows.get_mut(id);
        if flow.renew || time - flow.last_time > SILENCE_NS && flow.is_reused(opcode, psn) {
            self.renew(id, service, time, psn.0);
            flow = self.flows.get_mut(id);
        }
        if flow.service == Service::Cn {
            // Only notifications so far: they do not tell.
            flow.service = service;
        }

        flow.packets += 1;
        flow.last_time = flow.last_time.max(time);
        flow.wire_bytes += l1_bytes as u64;
        flow.icrc[icrc as usize] += 1;
        flow.opcodes.add(opcode.0);
        if corrupt {
            return (Some(id), self.see_corrupt(id, opcode));
        }
        match facts.ecn().0 {
            0 => {}
            3 => flow.ecn_ce += 1,
            _ => flow.ecn_ect += 1,
        }
        flow.looks.add(facts.look());
        let payload = facts.payload();
        let shape = opcode.shape();
        let operation = match shape.operation {
            Some(Operation::Cnp) => {
                flow.cnps += 1;
                if let Some(id) = facts.ip_id() {
                    flow.ids.see(id);
                }
                self.say(None, Class::Unsequenced);
                return (Some(id), None);
            }
            Some(operation) if matches!(service, Service::Rc | Service::Uc | Service::Xrc | Service::Rd) => {
                operation
            }
            _ => {
                self.see_datagram(id, facts, whole);
                return (Some(id), None);
            }
        };
        let (position, direction) = (shape.position, shape.direction);
        let is_request = direction == Direction::Request;
        let frame = self.capture.packets + self.passed_over;
        flow.last_psn = psn.0;
        flow.payload_bytes += payload as u64;
        if shape.payload == PayloadRule::Full {
            match flow.peer {
                _ if is_request => flow.requests.full_packet(payload),
                Some(peer) => self.flows.get_mut(peer).requests.full_packet(payload),
                None => {}
            }
        }
        let flow = self.flows.get_mut(id);
        if is_request && flow.requests.see_expected(facts, frame, &flow.ids, &self.knobs) {
            flow.completeness |= REQUESTS;
            if let Some(ip_id) = facts.ip_id() {
                flow.ids.see(ip_id);
            }
            self.say(Some(direction), Class::New);
            return (Some(id), Some(Class::New));
        }
        let packet = Packet {
            psn,
            n: 1,
            time,
            frame,
            bytes: payload,
            l1_bytes,
            fingerprint: facts.fingerprint(),
            id: facts.ip_id(),
            vantage: facts.vantage(),
            ack_expected: is_request && facts.is_ack_expected(),
        };
        let mut request = Request { packet, operation, position, message_bytes: facts.dma_len() };
        let class = match is_request {
            true => self.see_request(id, &mut request),
            false => self.see_response(id, &request, facts),
        };
        let is_duplicate = class == Some(Class::CaptureDuplicate);
        if !is_duplicate && let Some(ip_id) = facts.ip_id() {
            self.flows.get_mut(id).ids.see(ip_id);
        }
        self.capture.duplicates += is_duplicate as u64;
        if let Some(class) = class {
            self.say(Some(direction), class);
        }
        (Some(id), class)
    }

    /// A wrong packet of a flow that was seen before.
    #[cold]
    #[inline(never)]
    fn see_corrupt(&mut self, id: FlowId, opcode: Opcode) -> Option<Class> {
        let flow = self.flows.get_mut(id);
        let direction = opcode.operation().map(|_| opcode.direction());
        let counts = match direction {
            Some(Direction::Response) => &mut flow.responses.counts,
            _ => &mut flow.requests.counts,
        };
        counts.packets += 1;
        counts.class(Class::Corrupt);
        counts.lost(track::class::Place::Corrupt, 1, 1);
        if direction == Some(Direction::Request) {
            flow.requests.corrupt();
        }
        self.say(direction, Class::Corrupt);
        None
    }

    /// A packet in no PSN space that could be followed.
    #[inline(never)]
    fn see_datagram(&mut self, id: FlowId, facts: &impl Facts, whole: Option<&Dissection<'_>>) {
        let flow = self.flows.get_mut(id);
        flow.requests.counts.packets += 1;
        flow.requests.counts.class(Class::Unsequenced);
        flow.requests.goodput += facts.payload() as u64;
        flow.payload_bytes += facts.payload() as u64;
        flow.last_psn = facts.psn().0;
        if let Some(id) = facts.ip_id() {
            flow.ids.see(id);
        }
        if facts.opcode().service() == Service::Ud
            && let (Some(key), Some(d)) = (facts.key(), whole)
            && key.dest_qp() == 1
        {
            self.see_management(d, &key, facts.time());
        }
        self.say(Some(Direction::Request), Class::Unsequenced);
    }

    #[inline]
    fn see_request(&mut self, id: FlowId, request: &mut Request) -> Option<Class> {
        let psn = request.packet.psn;
        let flow = self.flows.get_mut(id);
        flow.completeness |= REQUESTS;
        let before =
            if request.operation == Operation::ReadRequest { flow.requests.counts.triggers } else { [0; 5] };
        let class = flow.requests.see(request, &flow.ids, &self.knobs, &mut self.resolved);
        if !self.resolved.is_empty() {
            let wrap = flow.encapsulation;
            tell(
                &mut self.observer,
                &mut self.resolved,
                &mut self.overhead,
                (Direction::Request, wrap),
                request.packet.frame,
            );
        }
        let flow = self.flows.get_mut(id);
        // A READ asked for again tells what became of its response.
        if request.operation == Operation::ReadRequest && class == Some(Class::Retransmission) {
            let by = Trigger::of_change(&before, &flow.requests.counts.triggers);
            if let (Some(by), Some(peer)) = (by, flow.peer) {
                let x = flow.requests.seq.unwrap(psn);
                let middle = flow.requests.reads().any(|read| read.first < x && x < read.end);
                self.flows.get_mut(peer).responses.asked_again(psn, request.packet.time, middle, by);
            }
        }
        class
    }

    #[inline]
    fn see_response(&mut self, id: FlowId, response: &Request, facts: &impl Facts) -> Option<Class> {
        let &Request { ref packet, operation, position, .. } = response;
        let aeth = facts.aeth();
        let aeth = aeth.as_ref();
        let psn = packet.psn;
        if self.flows.get_mut(id).peer.is_none() {
            let exact = operation != Operation::Acknowledge;
            self.connections.attempt(&mut self.flows, id, psn, exact, facts.port());
        }
        let peer = self.flows.get_mut(id).peer;
        let (flow, peer) = self.flows.two(id, peer);
        flow.completeness |= RESPONSES;
        let class = if operation == Operation::ReadResponse {
            flow.follow_reads();
            let requests = peer.as_deref().map(|peer| &peer.requests);
            flow.responses.read(packet, position, requests, &flow.ids, &self.knobs, &mut self.resolved)
        } else {
            let syndrome = aeth.map(Aeth::syndrome);
            let said = Acknowledged {
                msn: aeth.map(Aeth::msn),
                negative: syndrome.is_some_and(|s| !s.is_ack()),
                atomic: operation == Operation::AtomicAcknowledge,
                recorded_twice: self.capture.duplicates > 0,
            };
            Some(flow.responses.acknowledge(packet, &said, &flow.ids))
        };
        let wrap = flow.encapsulation;
        if !self.resolved.is_empty() {
            let place = (Direction::Response, wrap);
            tell(&mut self.observer, &mut self.resolved, &mut self.overhead, place, packet.frame);
        }
        if class == Some(Class::CaptureDuplicate) {
            return class;
        }
        if operation == Operation::Acknowledge {
            count_acknowledgement(flow, aeth);
        }
        if let Some(peer) = peer {
            let response = Response {
                psn,
                operation,
                syndrome: aeth.map(Aeth::syndrome),
                time: packet.time,
                frame: packet.frame,
                repeated: class == Some(Class::Retransmission),
            };
            peer.requests.answer(&response, &mut self.resolved, &self.knobs);
            if !self.resolved.is_empty() {
                let place = (Direction::Request, wrap);
                tell(&mut self.observer, &mut self.resolved, &mut self.overhead, place, packet.frame);
            }
        }
        class
    }

    /// A wrong packet of a flow that was not seen: counted, should the flow appear.
    #[cold]
    fn remember_stray(&mut self, key: &Key, opcode: u8, l1_bytes: u32, icrc: State) {
        let room = self.strays.len() < MAX_STRAYS;
        match self.strays.iter_mut().find(|stray| stray.key == *key) {
            Some(stray) => {
                stray.packets += 1;
                stray.opcodes.add(opcode);
                stray.l1_bytes += l1_bytes as u64;
                stray.icrc[icrc as usize] += 1;
            }
            None if room => {
                let opcodes = Opcodes::default();
                let mut stray =
                    Stray { key: *key, packets: 1, l1_bytes: l1_bytes as u64, icrc: [0; 3], opcodes };
                stray.opcodes.add(opcode);
                stray.icrc[icrc as usize] += 1;
                self.strays.push(stray);
            }
            None => {}
        }
    }

    #[cold]
    #[inline(never)]
    fn appeared(&mut self, found: Found, service: Service, is_cnp: bool) -> FlowId {
        let id = match found {
            Found::Known(id) | Found::New(id) => id,
            Found::Evicted(id, old) => {
                self.capture.evicted_flows += 1;
                self.put_away(old, true);
                id
            }
        };
        let key = self.flows.get_mut(id).key;
        if let Some(at) = self.strays.iter().position(|stray| stray.key == key) {
            let stray = self.strays.swap_remove(at);
            let flow = self.flows.get_mut(id);
            flow.packets += stray.packets;
            flow.wire_bytes += stray.l1_bytes;
            for (opcode, n) in stray.opcodes.iter() {
                (0..n).for_each(|_| flow.opcodes.add(opcode));
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

    #[cold]
    fn renew(&mut self, id: FlowId, service: Service, time: i64, psn: u32) {
        let old = self.flows.renew(id, service, time, psn);
        let (peer, epoch) = (old.peer, old.epoch + 1);
        self.put_away(old, false);
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

    fn put_away(&mut self, flow: Box<Flow>, evicted: bool) {
        let mut flow = flow;
        let Flow { requests, responses, ids, .. } = &mut *flow;
        requests.finish(ids, &self.knobs, &mut self.resolved);
        responses.finish(ids, &self.knobs, &mut self.resolved);
        self.resolved.clear();
        flow.forget();
        if self.gone.len() < MAX_GONE {
            self.gone.push(Gone { flow, evicted });
        } else {
            self.gone_more += 1;
        }
    }

    /// Wrong packets, unless all are wrong.
    #[inline(always)]
    fn is_corrupt(&mut self, facts: &impl Facts) -> bool {
        let icrc = facts.icrc();
        let mut corrupt = false;
        if icrc != State::Unchecked {
            let bad = icrc == State::Bad;
            self.trust.icrc_checked += 1;
            self.trust.icrc_bad += bad as u64;
            corrupt = bad && Trust::believes(self.trust.icrc_bad, self.trust.icrc_checked);
        }
        if let Some(right) = facts.ip_right() {
            self.trust.ip_checked += 1;
            if !right {
                self.trust.ip_bad += 1;
                corrupt |= Trust::believes(self.trust.ip_bad, self.trust.ip_checked);
            }
        }
        corrupt
    }

    /// Connections announce themselves.
    #[cold]
    #[inline(never)]
    fn see_management(&mut self, d: &Dissection<'_>, key: &Key, _time: i64) {
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

    /// A mirror numbers its copies: a gap is a copy that was lost, not a packet.
    #[cold]
    #[inline(never)]
    fn see_mirror(&mut self, d: &Dissection<'_>) {
        let layers = d.layers();
        let at = |kind| {
            layers
                .iter()
                .find(|layer| layer.kind == kind)
                .and_then(|layer| d.frame().get(layer.at as usize..))
        };
        let Some((sequence, _)) = at(Kind::GreSequence).and_then(GreSequence::view) else { return };
        let (src, dst) = match (at(Kind::Ipv4).and_then(Ipv4::view), at(Kind::Ipv6).and_then(Ipv6::view)) {
            (Some((ip, _)), _) => (u32::from(ip.src()) as u128, u32::from(ip.dst()) as u128),
            (_, Some((ip, _))) => (u128::from(ip.src()), u128::from(ip.dst())),
            _ => return,
        };
        let session = at(Kind::Erspan2).and_then(Erspan2::view).map(|(h, _)| h.session_id());
        let session =
            session.or_else(|| at(Kind::Erspan3).and_then(Erspan3::view).map(|(h, _)| h.session_id()));
        let key = (src, dst, session.unwrap_or(u16::MAX));
        let number = sequence.sequence_number();
        let room = self.mirrors.len() < MAX_MIRRORS;
        match self.mirrors.iter_mut().find(|mirror| mirror.key == key) {
            Some(mirror) => {
                let ahead = number.wrapping_sub(mirror.next) as i32;
                if (0..1 << 20).contains(&ahead) {
                    self.capture.mirror_lost += ahead as u64;
                } else if ahead < 0 && ahead > -1024 {
                    // It was only late.
                    self.capture.mirror_lost = self.capture.mirror_lost.saturating_sub(1);
                    return;
                }
                mirror.next = number.wrapping_add(1);
            }
            None if room => {
                self.mirrors.push(Mirror { key, next: number.wrapping_add(1) });
            }
            None => {}
        }
        self.capture.mirrored = true;
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
        self.capture.packets + self.collected.len() as u64
    }

    /// Bytes of memory that the flows take.
    pub fn memory(&self) -> usize {
        self.flows.flows.capacity() * size_of::<Flow>()
            + self.flows.flows.iter().map(Flow::heap).sum::<usize>()
    }
}

/// Tell the observer of verdicts that waited; the packet at hand is told of by whoever sees it.
fn tell(
    observer: &mut Option<Observer>,
    resolved: &mut Vec<Resolved>,
    overhead: &mut overhead::Overhead,
    (space, wrap): (Space, Encapsulation),
    number: u64,
) {
    for verdict in resolved.drain(..).filter(|verdict| verdict.fill.frame != number) {
        if verdict.class == Class::Retransmission {
            overhead.retransmitted(wrap, verdict.fill.l1_bytes);
        }
        if let Some(observer) = observer {
            observer(verdict.fill.frame, Some(space), verdict.class);
        }
    }
}

#[inline]
fn count_acknowledgement(flow: &mut Flow, aeth: Option<&Aeth>) {
    match aeth.map(|aeth| aeth.syndrome().meaning()) {
        Some(Acknowledgement::Ack { .. }) => flow.acks += 1,
        Some(Acknowledgement::RnrNak { .. }) => flow.rnr_naks += 1,
        Some(Acknowledgement::Nak(code)) => {
            let at = match code {
                NakCode::PsnSequenceError => 0,
                NakCode::InvalidRequest => 1,
                NakCode::RemoteAccessError => 2,
                NakCode::RemoteOperationalError => 3,
                NakCode::InvalidRdRequest => 4,
                NakCode::Reserved(_) => return,
            };
            flow.naks[at] += 1;
        }
        _ => {}
    }
}

impl Trigger {
    /// Which count went up.
    fn of_change(before: &[u32; 5], after: &[u32; 5]) -> Option<Trigger> {
        const ALL: [Trigger; 5] =
            [Trigger::Nak, Trigger::Timeout, Trigger::Rnr, Trigger::ImpliedNak, Trigger::Unknown];
        ALL.into_iter().find(|&trigger| after[trigger as usize] > before[trigger as usize])
    }
}
