//! Marks, notifications, pauses, and how flows spread over paths.

use std::collections::BTreeMap;

use super::{Confidence, Pacing, PauseEnd, Summary, Why};

records! {
    /// Marks and notifications over the whole capture.
    pub struct Congestion {
        /// ECN-capable packets: ECT(0), ECT(1) or CE.
        pub ect_packets: u64,
        /// Packets marked "congestion experienced" (CE).
        pub ce_packets: u64,
        /// Marked data packets among ECN-capable data packets: 0 to 1.
        pub ce_ratio: Option<f64>,
        /// Marked packets among all packets of the transport: 0 to 1.
        pub ce_ratio_all: Option<f64>,
        /// Marked packets that are acknowledgements or CNPs.
        pub ce_control_packets: u64,
        /// Congestion notification packets (CNPs).
        pub cnps: u64,
        /// Times between CNPs in nanoseconds.
        pub cnp_interval_ns: CnpIntervals,
        /// CNPs to a sender of whose packets none was marked at the tap.
        pub cnps_without_ce: u64,
        /// CNPs within 5 µs of a NAK of the same flow.
        pub cnps_near_nak: u64,
        /// The widest scope in which CNPs keep a distance.
        pub pacing: Option<Pacing>,
        /// That distance in nanoseconds.
        pub pacing_interval_ns: Option<u64>,
        /// How sure that is: it is inferred from the distances.
        pub pacing_confidence: Option<Confidence>,
        /// CNPs that receivers with such a limit send for the marks at the tap, and for NAKs, where they come with CNPs; with the
        /// shortest distance between two CNPs of a queue pair, where no limit shows.
        pub expected_cnps: Option<u64>,
        /// CNPs near a NAK of the same addresses, without a mark in the millisecond before.
        pub cnps_for_losses: Option<u64>,
        /// CNPs with neither a mark in the millisecond before nor a NAK near: the flow was marked after the tap.
        pub cnps_unmarked: Option<u64>,
        /// CNPs whose BECN bit is not set.
        pub cnps_without_becn: u64,
        /// CNPs of which it is not known whose data they slow: nothing from the queue pair that they go to is in the capture, or nothing
        /// shows which of the flows it is.
        pub cnps_unattributed: u64,
        /// ACKs of native InfiniBand with BECN: they notify as CNPs do.
        pub becn_acks: u64,
        /// Flows that were marked, or notified.
        pub flow_count: u64,
        /// These flows, most CNPs first: 1024 at most.
        pub flows: Vec<MarkedFlow>,
        /// Why figures are missing.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub why: Why,
    }

    /// A flow that was marked, or whose sender was notified.
    pub struct MarkedFlow {
        /// The flow of the data, as an index into [`Report::flows`](super::Report::flows).
        pub flow: Option<usize>,
        /// Source address of the data: CNPs go there.
        pub src: String,
        /// Destination address of the data: CNPs come from there.
        pub dst: String,
        /// The queue pair that the data goes to.
        pub dest_qp: Option<u32>,
        /// The queue pair that the CNPs go to.
        pub src_qp: Option<u32>,
        /// ECN-capable data packets, marked ones included.
        pub ect_packets: u64,
        /// Data packets that are not ECN-capable: switches drop them where they would mark others.
        pub not_ect_packets: u64,
        /// Marked data packets.
        pub ce_packets: u64,
        /// Marked data packets among ECN-capable ones: 0 to 1.
        pub ce_ratio: Option<f64>,
        /// CNPs for it.
        pub cnps: u64,
        /// CNPs that a receiver with the capture's limit sends for its marks, and for its NAKs, where they come with CNPs.
        pub expected_cnps: Option<u64>,
        /// CNPs within a millisecond of a mark.
        pub cnps_for_marks: Option<u64>,
        /// CNPs near a NAK of the same addresses, without a mark in the millisecond before.
        pub cnps_for_losses: Option<u64>,
        /// CNPs with neither: it was marked after the tap.
        pub cnps_unmarked: Option<u64>,
        /// Times between its CNPs in nanoseconds.
        pub cnp_interval_ns: Option<Summary>,
        /// Times from a mark, which the receiver's limit let through, to its CNP, in nanoseconds: at the tap.
        pub ce_to_cnp_ns: Option<Summary>,
        /// Bits per second on the wire until the first CNP.
        pub rate_before_bps: Option<u64>,
        /// Bits per second on the wire from the first CNP to the last one.
        pub rate_after_bps: Option<u64>,
        /// CNPs of which the rate before and after is known: those in the first quarter of a second after the capture's first CNP.
        pub reactions: u64,
        /// The median over these CNPs: rate in the 48 µs after a CNP over the rate in the 48 µs before it; 64 µs where flows are slow.
        pub reaction_ratio: Option<f64>,
        /// Whether the sender keeps its rate although it gets CNPs: it ignores them, or something else keeps it slower than they do.
        pub keeps_rate: Option<bool>,
        /// Whether its CNPs have the DSCP and the priority of its data.
        pub cnps_with_data: bool,
        /// The frames of its first CNPs.
        pub cnp_frames: Vec<u64>,
        /// DCQCN's reaction point, replayed with its CNPs: a model. Of the 16 flows with most CNPs.
        pub dcqcn: Option<Dcqcn>,
        /// Why figures are missing.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub why: Why,
    }

    /// A model of the sender beside its measured rate: what DCQCN does with these CNPs, with sets of parameters that are published.
    pub struct Dcqcn {
        /// The rate in bits per second that the models have before the first CNP.
        pub start_bps: u64,
        /// Whether that is the link's speed. Otherwise it is the rate that the flow had.
        pub start_is_speed: bool,
        /// The model that is nearest to the measured rate: a set of parameters, or "none", a sender that ignores CNPs.
        pub best: String,
        /// How far it is off: the average difference of the rates over the average rate.
        pub error_ratio: f64,
        /// Whether it is off by 15 % at most. If not, the sender has other parameters, or another algorithm, or something else limits it.
        pub fits: bool,
        /// All models, the nearest first.
        pub models: Vec<DcqcnModel>,
        /// When the first cell begins, in nanoseconds since 1970-01-01 UTC.
        pub start_ns: i64,
        /// How long a cell is, in nanoseconds.
        pub cell_ns: u64,
        /// The measured rate in each cell, in bits per second on the wire.
        pub measured_bps: Vec<u64>,
        /// The rate of the nearest model in each cell, in bits per second.
        pub model_bps: Vec<u64>,
    }

    /// One model of a sender.
    pub struct DcqcnModel {
        /// The name of its parameters.
        pub name: String,
        /// Where these are from.
        pub source: String,
        /// Its rate on average, in bits per second.
        pub mean_bps: u64,
        /// How far it is off: the average difference of the rates over the average measured rate.
        pub error_ratio: f64,
    }

    /// A time in which several senders together sent more to one receiver than its link carries: bins of 50 µs that follow each other.
    #[derive(Eq)]
    pub struct Incast {
        /// The receiver's address.
        pub receiver: String,
        /// When the first bin begins, in nanoseconds since 1970-01-01 UTC.
        pub start_ns: i64,
        /// When the last bin ends, in nanoseconds since 1970-01-01 UTC.
        pub end_ns: i64,
        /// Bins of 50 µs with too much.
        pub bins: u64,
        /// Senders with packets in one bin, at most.
        pub senders: u64,
        /// Bytes on the wire in these bins.
        pub bytes: u64,
        /// The rate in the fullest bin, in bits per second.
        pub peak_bps: u64,
    }

    /// Times from one CNP to the next one in the same scope, in nanoseconds.
    #[derive(Copy, Eq)]
    pub struct CnpIntervals {
        /// For one queue pair.
        pub per_qp: Option<Summary>,
        /// From one IP address to another.
        pub per_ip_pair: Option<Summary>,
        /// From one IP address.
        pub per_port: Option<Summary>,
    }

    /// Pauses that one sender asked for at one priority.
    pub struct Pause {
        /// The interface that captured the frames.
        pub link: String,
        /// The sender's Ethernet address.
        pub sender: String,
        /// The priority, 0 to 7; `None` for 802.3x, which stops all priorities.
        pub priority: Option<u8>,
        /// Pause frames about this priority.
        pub frames: u64,
        /// Frames that ask for a pause.
        pub xoff: u64,
        /// Frames that end a pause.
        pub xon: u64,
        /// Frames that end a pause while there was none.
        pub stray_xon: u64,
        /// Frames that prolong a pause.
        pub refreshes: u64,
        /// How many pauses there were.
        pub intervals: Option<u64>,
        /// How many of them began within a millisecond after a mark (CE) or a CNP, of any flow in the capture: the network was congested
        /// first, as with incast. A receiver that is slow by itself pauses without that. `None` where nothing is ECN-capable.
        pub after_marks: Option<u64>,
        /// Nanoseconds paused, in sum.
        pub paused_ns: Option<u64>,
        /// The longest pause in nanoseconds.
        pub longest_ns: Option<u64>,
        /// The share of the capture's time that was paused: 0 to 1.
        pub duty_ratio: Option<f64>,
        /// How many pauses ended how.
        pub ended: BTreeMap<PauseEnd, u64>,
        /// The pauses one by one, by time: the first 256 of each sender and priority at most.
        pub ledger: Vec<PauseInterval>,
        /// Pause quanta asked for, in sum: 512 bit times each.
        pub quanta: u64,
        /// The first frame about this priority, from 1.
        pub first_frame: u64,
        /// What it did to flows of this priority on this link; `None` without the link's speed.
        pub effect: Option<PauseEffect>,
        /// Frames of this priority that the paused end sent although it was paused; `None` where the link's speed is not known, or which
        /// end sent a frame: that needs `--links` with a host's address at one end.
        pub violations: Option<PauseViolations>,
        /// Times in which the sender paused the link without a break.
        pub storms: Option<Vec<Storm>>,
        /// Why figures are missing.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub why: Why,
    }

    /// What pauses did to flows: those whose requests were silent during most of them.
    #[derive(Copy, Eq)]
    pub struct PauseEffect {
        /// Flows that were silent in them. Their sender stopped, or their acknowledgements did.
        pub flows: u64,
        /// Nanoseconds of the pauses in which these flows were silent: the one that was so longest.
        pub effective_ns: u64,
        /// Messages whose sending stopped in the middle, each time that it did.
        pub messages_stopped: u64,
        /// Messages that had begun before a pause and were not acknowledged before its end, each time.
        pub messages_spanning: u64,
        /// Retransmission timeouts, where the sender waited for the most part in a pause.
        pub timeouts: u64,
        /// Retransmitted packets after these.
        pub retransmits: u64,
    }

    /// Frames of a paused priority that came later than the paused end needs to stop: 2 µs and the time of one frame of 9,216 bytes after
    /// the frame that asked for the pause.
    #[derive(Copy, Eq)]
    pub struct PauseViolations {
        /// How many, of the InfiniBand transport.
        pub frames: u64,
        /// The first one.
        pub first_frame: Option<u64>,
        /// How long after the beginning of its pause the latest one came, in nanoseconds.
        pub latest_ns: u64,
    }

    /// One pause.
    #[derive(Copy, Eq)]
    pub struct PauseInterval {
        /// The number of the frame that began it.
        pub frame: u64,
        /// When it began, in nanoseconds since 1970-01-01 UTC.
        pub start_ns: i64,
        /// When it ended, in nanoseconds since 1970-01-01 UTC.
        pub end_ns: i64,
        /// How it ended.
        pub end: PauseEnd,
        /// Frames that asked for it, the first one included.
        pub frames: u64,
    }

    /// A pause storm: what a watchdog would have taken for one.
    #[derive(Copy, Eq)]
    pub struct Storm {
        /// When it began, in nanoseconds since 1970-01-01 UTC.
        pub start_ns: i64,
        /// When it ended, in nanoseconds since 1970-01-01 UTC.
        pub end_ns: i64,
        /// Pause frames in it.
        pub frames: u64,
        /// When the watchdog would have fired, in nanoseconds since 1970-01-01 UTC.
        pub fired_ns: i64,
        /// When it would have gone back, in nanoseconds since 1970-01-01 UTC; `None` if not within the capture.
        pub restored_ns: Option<i64>,
    }

    /// How flows spread over UDP source ports, by which switches choose among equal paths.
    pub struct Ports {
        /// Flows that have UDP ports.
        pub flows: u64,
        /// Different source ports.
        pub ports: u64,
        /// Shannon entropy of the bytes by source port, in bits.
        pub entropy_bits: f64,
        /// 2 to the entropy: so many flows of equal size would spread as well.
        pub effective_flows: f64,
        /// Shannon entropy of the bytes by flow, in bits: what a hash over the queue pair could reach.
        pub flow_entropy_bits: f64,
        /// Groups of flows between the same addresses that share a source port.
        pub collisions: u64,
        /// The first of these groups.
        pub collision_groups: Vec<PortCollision>,
        /// Flows with more than one source port.
        pub several_ports: u64,
        /// Flows whose packets alternate between source ports.
        pub sprayed: u64,
        /// The first of these flows.
        pub sprayed_flows: Vec<SprayedFlow>,
        /// Flows with the source port that Linux computes; `None` where no flow's peer is known.
        pub linux_formula: Option<LinuxPorts>,
    }

    /// What one link, or tap, carried.
    #[derive(Eq)]
    pub struct LinkLoad {
        /// The interface that captured it.
        pub link: String,
        /// Frames of whatever kind.
        pub frames: u64,
        /// Their bytes, from the first header to the last one before the frame check sequence.
        pub bytes: u64,
        /// Flows that had their first packet here.
        pub flows: u64,
        /// Its bytes over the time of the capture, in bits per second; `None` where that has no length.
        pub rate_bps: Option<u64>,
    }

    /// How evenly the links of the capture carry traffic, taken as parallel: the planes of a fabric, the links of a bundle, the uplinks of
    /// a switch. Jain's index is 1 where all carry the same, and 1/n where one of n carries all.
    #[derive(Copy)]
    pub struct Balance {
        /// How many links there are.
        pub links: u64,
        /// Jain's fairness index of their bytes: 0 to 1.
        pub jain_bytes: f64,
        /// The bytes of the busiest link over the mean.
        pub max_over_mean_bytes: f64,
        /// Jain's fairness index of the flows that began on each: 0 to 1; `None` without flows.
        pub jain_flows: Option<f64>,
        /// The most flows of a link over the mean.
        pub max_over_mean_flows: Option<f64>,
    }

    /// Flows that share addresses and source port, and so take the same path.
    #[derive(Eq)]
    pub struct PortCollision {
        /// Source address.
        pub src: String,
        /// Destination address.
        pub dst: String,
        /// The source port that they share.
        pub udp_src_port: u16,
        /// The flows, as indices into [`Report::flows`](super::Report::flows).
        pub flows: Vec<usize>,
    }

    /// A flow that takes several paths at once.
    #[derive(Copy, Eq)]
    pub struct SprayedFlow {
        /// The flow, as an index into [`Report::flows`](super::Report::flows).
        pub flow: usize,
        /// Source ports that it has.
        pub ports: u64,
        /// How often a packet had another port than the one before it.
        pub switches: u64,
    }

    /// Flows with one port whose peer is known, and how many of them have the port that Linux computes from the two queue pairs.
    #[derive(Copy, Eq)]
    pub struct LinuxPorts {
        /// Flows with one port whose peer is known.
        pub flows: u64,
        /// Those that have the computed port.
        pub matching: u64,
    }
}
