//! What `analyze` finds, as it stands in JSON. Units stand in the names; a figure that the capture cannot prove is
//! `None`, and the object's `why` says why not.

use std::{borrow::Cow, collections::BTreeMap};

use serde::Serialize;

/// The schema's name and number.
pub const SCHEMA: &str = "rdmawire.analysis/1";

/// Why a figure is missing: from field to reason.
pub type Why = BTreeMap<&'static str, Reason>;

/// Why a figure is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Only one direction was captured.
    OneWay,
    /// The tap is on one of several paths.
    PartialPath,
    /// The capture itself lost packets.
    CaptureLoss,
    /// Frames were cut.
    Truncated,
    /// The capture began, or ended, in the middle.
    Midstream,
    /// The other direction is not known.
    Unpaired,
    /// Captures of this kind show no pause frames.
    NoPfcVisibility,
    /// The link's speed is not known.
    UnknownSpeed,
    /// It was not asked for.
    NotRequested,
}

/// The whole report. Its long lists are kept, or made row by row when they are asked for: see [`List`].
#[derive(Clone, Debug, Default, Serialize)]
pub struct Analysis<F = Vec<Flow>, C = Vec<Connection>, E = Vec<Episode>> {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// What was read.
    pub capture: Capture,
    /// One per flow and epoch, most packets first.
    pub flows: F,
    /// Pairs of flows.
    pub connections: C,
    /// Per link, sender and priority.
    pub pause: Option<Vec<Pause>>,
    /// Marks and notifications.
    pub congestion: Congestion,
    /// What the headers cost.
    pub overhead: Overhead,
    /// How flows spread over source ports; `None` where none has UDP.
    pub ports: Option<Ports>,
    /// Loss and recovery, one by one.
    pub episodes: E,
    /// Length of one of the intervals, longer than asked for where there were too many.
    pub interval_ns: Option<u64>,
    /// Traffic over time, where asked for: those that had some.
    pub intervals: Option<Vec<Interval>>,
    /// What stands out, most serious first.
    pub findings: Vec<Finding>,
    /// Why figures are missing.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub why: Why,
}

/// Rows of a report: a `Vec` has them, other lists make each when it is asked for.
pub trait List {
    /// What a row is.
    type Row: Clone;

    /// How many rows there are.
    fn len(&self) -> usize;

    /// A row; `None` behind the last one.
    fn row(&self, at: usize) -> Option<Cow<'_, Self::Row>>;

    /// Shows each row's counts: texts, lists and distributions may be missing where they would have to be made. In whatever
    /// order is quickest.
    fn each_outline(&self, mut see: impl FnMut(usize, &Self::Row)) {
        self.rows().enumerate().for_each(|(at, row)| see(at, &row));
    }

    /// The same; rows that have nothing wrong, lost, late, sent again, refused, marked or notified may be left out.
    fn each_in_trouble(&self, see: impl FnMut(usize, &Self::Row)) {
        self.each_outline(see);
    }

    /// Whether there are no rows.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All rows.
    fn rows(&self) -> impl Iterator<Item = Cow<'_, Self::Row>> {
        (0..self.len()).map_while(|at| self.row(at))
    }
}

impl<T: Clone> List for Vec<T> {
    type Row = T;

    fn len(&self) -> usize {
        self.len()
    }

    fn row(&self, at: usize) -> Option<Cow<'_, T>> {
        self.get(at).map(Cow::Borrowed)
    }
}

impl<F, C, E> Analysis<F, C, E> {
    /// The same with other lists.
    pub fn with_lists<G, D, H>(self, flows: G, connections: D, episodes: H) -> Analysis<G, D, H> {
        let Analysis { schema, capture, pause, congestion, overhead, ports, .. } = self;
        let Analysis { interval_ns, intervals, findings, why, .. } = self;
        Analysis {
            schema,
            capture,
            flows,
            connections,
            pause,
            congestion,
            overhead,
            ports,
            episodes,
            interval_ns,
            intervals,
            findings,
            why,
        }
    }
}

impl<F, C, E> Analysis<F, C, E>
where
    F: List<Row = Flow>,
    C: List<Row = Connection>,
    E: List<Row = Episode>,
{
    /// The same with all rows made, and kept.
    pub fn collect(self) -> Analysis {
        let flows = self.flows.rows().map(Cow::into_owned).collect();
        let connections = self.connections.rows().map(Cow::into_owned).collect();
        let episodes = self.episodes.rows().map(Cow::into_owned).collect();
        self.with_lists(flows, connections, episodes)
    }
}

/// What was read.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Capture {
    pub files: Vec<String>,
    pub packets: u64,
    pub rdma_packets: u64,
    pub malformed_packets: u64,
    pub truncated_packets: u64,
    pub bytes_captured: u64,
    pub bytes_on_wire: u64,
    pub first_ns: Option<i64>,
    pub last_ns: Option<i64>,
    pub duration_ns: Option<i64>,
    pub timestamp_resolution_ns: Option<u64>,
    pub link_types: Vec<u16>,
    pub problems: Vec<CaptureProblem>,
    /// Mirror copies that a sequence number in a tunnel header shows to be missing.
    pub mirror_lost_packets: Option<u64>,
    /// Frames that the capturing system says it dropped.
    pub capture_drops: Option<u64>,
    /// Steps back in time of more than 50 ns.
    pub time_steps_back: u64,
    /// Flows that were put away because there were too many.
    pub evicted_flows: u64,
    /// What this capture can prove and what it cannot, in plain words.
    pub proves: Vec<String>,
}

/// Damage in a file.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct CaptureProblem {
    pub file: String,
    pub offset: u64,
    pub what: String,
}

/// At least, at most.
pub type Bounds = [u64; 2];

/// One direction of one connection.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Flow {
    pub src: String,
    pub dst: String,
    pub dest_qp: u32,
    pub epoch: u32,
    pub service: &'static str,
    pub encapsulation: &'static str,
    pub connection: Option<u32>,
    pub peer_qp: Option<u32>,
    pub paired_by: Option<&'static str>,
    pub vlans: Vec<u16>,
    pub dscps: Vec<u8>,
    pub udp_src_ports: Vec<u16>,
    pub ttls: Vec<u8>,
    pub first_ns: i64,
    pub last_ns: i64,
    pub packets: u64,
    pub wire_bytes: u64,
    pub payload_bytes: u64,
    pub goodput_bytes: u64,
    pub requests: Stream,
    pub responses: Stream,
    pub acks: u64,
    pub naks: Naks,
    pub rnr_naks: u64,
    pub cnps: u64,
    pub ecn_ect: u64,
    pub ecn_ce: u64,
    pub icrc: Icrc,
    pub opcodes: BTreeMap<String, u64>,
    pub messages: Messages,
    pub path_mtu: Option<u16>,
    pub path_mtu_by: Option<&'static str>,
    pub recovery_mode: &'static str,
    pub latency_ns: Latencies,
    pub timeouts: Vec<Timeout>,
    pub rnr: Option<Rnr>,
    pub psn: Psns,
    /// Frames that show the worst of it, for `--flow`.
    pub visibility: Option<&'static str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub why: Why,
}

/// Packets of one PSN space in one direction.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Stream {
    pub packets: u64,
    pub retransmits: u64,
    pub out_of_order: u64,
    pub capture_duplicates: u64,
    pub ambiguous: u64,
    pub gap_psns: u64,
    pub retransmitted_bytes: u64,
    pub spurious: Option<u64>,
    pub classes: BTreeMap<&'static str, u64>,
    pub triggers: Triggers,
    pub losses: Losses,
    pub reordering: Option<Reordering>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub why: Why,
}

/// Retransmission episodes by cause.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Triggers {
    pub nak: u64,
    pub timeout: u64,
    pub rnr: u64,
    pub implied_nak: u64,
    pub unknown: u64,
}

/// Where packets were lost.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Losses {
    pub upstream: Option<Bounds>,
    pub downstream: Option<Bounds>,
    pub ack_path: Option<Bounds>,
    pub corrupt: Option<Bounds>,
    pub capture: Option<Bounds>,
}

/// How far packets were overtaken (RFC 4737).
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Reordering {
    pub ratio: f64,
    pub max_extent_packets: u64,
    pub max_late_ns: u64,
    pub then_nak: u64,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Naks {
    pub psn_sequence_error: u64,
    pub invalid_request: u64,
    pub remote_access_error: u64,
    pub remote_operational_error: u64,
    pub invalid_rd_request: u64,
}

impl Naks {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.psn_sequence_error
            + self.invalid_request
            + self.remote_access_error
            + self.remote_operational_error
            + self.invalid_rd_request
    }
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Icrc {
    pub good: u64,
    pub bad: u64,
    pub unchecked: u64,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Messages {
    pub completed: u64,
    pub open: u64,
    pub broken: u64,
    pub size_bytes: Option<Summary>,
}

/// A distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Summary {
    pub count: u64,
    pub min: u64,
    pub p50: u64,
    pub p99: u64,
    pub max: u64,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Latencies {
    pub ack_rtt: Option<Summary>,
    pub message_completion: Option<Summary>,
    pub read_first: Option<Summary>,
    pub read_last: Option<Summary>,
    pub nak_generation: Option<Summary>,
    pub nak_reaction: Option<Summary>,
}

/// An observed retransmission timeout.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Timeout {
    pub frame: u64,
    pub waited_ns: u64,
    /// The exponent t of the nearest 4.096 us times 2^t.
    pub nearest_exponent: u8,
}

/// Receivers that were not ready.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Rnr {
    pub asked_ns: Summary,
    pub waited_ns: Option<Summary>,
    pub early_resends: u64,
    pub stalled_ns: u64,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Psns {
    pub first: u32,
    pub last: u32,
}

#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct End {
    pub addr: String,
    pub qp: u32,
}

/// Two flows.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Connection {
    pub id: u32,
    pub a: End,
    pub b: End,
    /// Indices into the list of flows.
    pub flows: [usize; 2],
    /// Bits: 1 REQ, 2 REP, 4 RTU, 8 data, 16 ACK, 32 DREQ, 64 error.
    pub completeness: u8,
    /// "full", "capture_lossy", "partial_path", "one_way".
    pub visibility: &'static str,
    pub paired_by: &'static str,
    /// Bits of evidence for the pairing.
    pub evidence_bits: u32,
}

/// Pauses that one sender asked for at one priority.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Pause {
    /// The interface it was captured on.
    pub link: String,
    /// The sender's Ethernet address.
    pub sender: String,
    /// 0 to 7; `None` for 802.3x, which stops all.
    pub priority: Option<u8>,
    pub frames: u64,
    pub xoff: u64,
    pub xon: u64,
    pub stray_xon: u64,
    pub refreshes: u64,
    pub intervals: Option<u64>,
    pub paused_ns: Option<u64>,
    pub longest_ns: Option<u64>,
    pub quanta: u64,
    pub first_frame: u64,
    pub storms: Option<Vec<Storm>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub why: Why,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Storm {
    pub start_ns: i64,
    pub end_ns: i64,
    pub frames: u64,
}

/// Marks and notifications over the whole capture.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Congestion {
    pub ect_packets: u64,
    pub ce_packets: u64,
    /// CE data packets among ECN-capable data packets.
    pub ce_ratio: Option<f64>,
    /// CE packets among all RDMA packets.
    pub ce_ratio_all: Option<f64>,
    pub ce_control_packets: u64,
    pub cnps: u64,
    pub cnp_interval_ns: CnpIntervals,
    /// CNPs towards a sender none of whose packets was marked at the tap.
    pub cnps_without_ce: u64,
    pub cnps_near_nak: u64,
    pub pacing: Option<&'static str>,
    pub pacing_interval_ns: Option<u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub why: Why,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct CnpIntervals {
    pub per_qp: Option<Summary>,
    pub per_ip_pair: Option<Summary>,
    pub per_port: Option<Summary>,
}

/// How flows spread over UDP source ports, by which switches choose among equal paths.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Ports {
    /// Flows that have UDP ports.
    pub flows: u64,
    /// Different source ports.
    pub ports: u64,
    /// Shannon's entropy of the bytes by source port.
    pub entropy_bits: f64,
    /// 2 to the entropy: so many equal flows would spread as well.
    pub effective_flows: f64,
    /// The entropy of the bytes by flow: what a hash over the queue pair could reach.
    pub flow_entropy_bits: f64,
    /// Groups of flows between the same addresses with the same source port but different queue pairs.
    pub collisions: u64,
    pub collision_groups: Vec<PortCollision>,
    /// Flows with more than one source port.
    pub several_ports: u64,
    /// Flows whose packets have several source ports in turns.
    pub sprayed: u64,
    pub sprayed_flows: Vec<SprayedFlow>,
    /// `None` where no flow's peer is known.
    pub linux_formula: Option<LinuxPorts>,
}

/// Flows that surely take the same path.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct PortCollision {
    pub src: String,
    pub dst: String,
    pub udp_src_port: u16,
    /// Indices into the list of flows.
    pub flows: Vec<usize>,
}

/// A flow that is sent over several paths at once.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct SprayedFlow {
    /// Index into the list of flows.
    pub flow: usize,
    pub ports: u64,
    /// How often a packet had another port than the one before it.
    pub switches: u64,
}

/// Flows of one port whose peer is known, and how many have the port that Linux computes from the two queue pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct LinuxPorts {
    pub flows: u64,
    pub matching: u64,
}

/// What the headers cost.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Overhead {
    pub total: Cost,
    pub encapsulations: BTreeMap<&'static str, Cost>,
}

#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Cost {
    pub packets: u64,
    pub l1_bytes: u64,
    pub payload_bytes: u64,
    pub header_bytes: LayerBytes,
    pub efficiency_ratio: Option<f64>,
    pub as_native_ib: Option<Price>,
    pub as_native_ib_grh: Option<Price>,
    pub as_rocev1: Option<Price>,
    pub as_rocev2_ipv4: Option<Price>,
    pub as_rocev2_ipv6: Option<Price>,
    /// L1 bytes of ACKs, CNPs and MAC control among all.
    pub control_ratio: Option<f64>,
    /// L1 bytes of retransmissions among all.
    pub retransmit_ratio: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct LayerBytes {
    pub preamble_ifg: u64,
    pub ethernet: u64,
    pub vlan: u64,
    pub ip: u64,
    pub udp: u64,
    pub lrh: u64,
    pub grh: u64,
    pub bth: u64,
    pub extended: u64,
    pub pad: u64,
    pub icrc: u64,
    pub fcs: u64,
    pub vcrc: u64,
    /// Ethernet padding of short frames.
    pub padding: u64,
}

impl LayerBytes {
    /// Name and bytes of every layer, outermost first.
    pub fn rows(&self) -> [(&'static str, u64); 14] {
        [
            ("preamble_ifg", self.preamble_ifg),
            ("ethernet", self.ethernet),
            ("vlan", self.vlan),
            ("ip", self.ip),
            ("udp", self.udp),
            ("lrh", self.lrh),
            ("grh", self.grh),
            ("bth", self.bth),
            ("extended", self.extended),
            ("pad", self.pad),
            ("icrc", self.icrc),
            ("fcs", self.fcs),
            ("vcrc", self.vcrc),
            ("padding", self.padding),
        ]
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        self.rows().iter().map(|(_, bytes)| bytes).sum()
    }

    /// The same for so many packets.
    #[must_use]
    pub fn times(mut self, n: u64) -> LayerBytes {
        self.each().into_iter().for_each(|bytes| *bytes *= n);
        self
    }

    fn each(&mut self) -> [&mut u64; 14] {
        [
            &mut self.preamble_ifg,
            &mut self.ethernet,
            &mut self.vlan,
            &mut self.ip,
            &mut self.udp,
            &mut self.lrh,
            &mut self.grh,
            &mut self.bth,
            &mut self.extended,
            &mut self.pad,
            &mut self.icrc,
            &mut self.fcs,
            &mut self.vcrc,
            &mut self.padding,
        ]
    }
}

impl std::ops::AddAssign for LayerBytes {
    fn add_assign(&mut self, other: LayerBytes) {
        for (mine, (_, theirs)) in self.each().into_iter().zip(other.rows()) {
            *mine += theirs;
        }
    }
}

/// The same packets in another encapsulation.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Price {
    pub l1_bytes: u64,
    pub efficiency_ratio: Option<f64>,
}

/// A loss or a timeout, and how it was overcome.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Episode {
    /// Index into the list of flows.
    pub flow: usize,
    /// "request" or "response".
    pub space: &'static str,
    pub trigger: &'static str,
    /// "upstream", "downstream", "ack_path", "corrupt", "capture", "none", "unknown".
    pub location: &'static str,
    pub confidence: &'static str,
    pub lost_psn: u32,
    /// The lost packet, where the tap saw it.
    pub original_frame: Option<u64>,
    pub nak_frame: Option<u64>,
    pub first_retransmit_frame: u64,
    pub start_ns: i64,
    pub nak_generation_ns: Option<u64>,
    pub nak_reaction_ns: Option<u64>,
    pub retransmission_ns: Option<u64>,
    pub recovered_ns: Option<u64>,
    /// Payload sent for the first time, in bit/s, over ten round trips or some more before it began; the silence before
    /// a timeout is no part of them.
    pub goodput_before_bps: Option<u64>,
    /// The same after it was over; `None` too where the flow stopped, or the next episode began, sooner.
    pub goodput_after_bps: Option<u64>,
    pub retransmitted_packets: u64,
    pub retransmitted_bytes: u64,
    pub needless_packets: u64,
    pub retries: u32,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub why: Why,
}

/// Traffic in a span of time.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Interval {
    pub start_ns: i64,
    pub packets: u64,
    pub l1_bytes: u64,
    pub payload_bytes: u64,
    pub goodput_bytes: u64,
    pub retransmits: u64,
    pub out_of_order: u64,
    pub naks: u64,
    pub cnps: u64,
    pub ce: u64,
    pub pause_frames: u64,
}

/// Something that stands out.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Finding {
    pub severity: &'static str,
    pub id: &'static str,
    pub text: String,
    pub next: String,
    pub frames: Vec<u64>,
    /// Index into the list of flows.
    pub flow: Option<usize>,
}
