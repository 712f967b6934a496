//! Marks and notifications, and what came of them.

use std::collections::BTreeMap;

use super::{
    Confidence, Pacing, Summary, Why, clean,
    units::{bits, count, duration, percent, several},
};

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
        /// Marked data packets of flows whose other direction is not in the capture, where CNPs for them would be.
        pub ce_packets_one_way: u64,
        /// CNPs to a sender of whose packets none was marked at the tap; of senders of which packets were captured.
        pub cnps_without_ce: Option<u64>,
        /// CNPs within 5 µs of a NAK of the same flow.
        pub cnps_near_nak: u64,
        /// The widest scope in which CNPs keep a distance, unless a narrower one keeps a far longer one.
        pub pacing: Option<Pacing>,
        /// That distance in nanoseconds.
        pub pacing_interval_ns: Option<u64>,
        /// How sure that is: it is inferred from the distances.
        pub pacing_confidence: Option<Confidence>,
        /// CNPs that receivers with such a limit send for the marks at the tap, and for NAKs, where they come with CNPs.
        pub expected_cnps: Option<u64>,
        /// CNPs near a NAK of the same addresses, without a mark at the usual distance before; where no distance is usual, without one so near.
        pub cnps_for_losses: Option<u64>,
        /// CNPs with neither a mark in the millisecond before nor a NAK near: the flow was marked after the tap.
        pub cnps_unmarked: Option<u64>,
        /// CNPs whose BECN bit is not set.
        pub cnps_without_becn: u64,
        /// CNPs whose sixteen reserved bytes are not all zero.
        pub cnps_with_body: u64,
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
        /// CNPs that a receiver with the capture's limit sends for its marks, and for its NAKs, where they come with CNPs. Where flows share
        /// the limit, of a pair of addresses or a port, which of them gets a CNP hangs on microseconds: only their sum says something.
        pub expected_cnps: Option<u64>,
        /// CNPs within a millisecond of a mark.
        pub cnps_for_marks: Option<u64>,
        /// CNPs near a NAK of the same addresses, without a mark at the usual distance before; where no distance is usual, without one so near.
        pub cnps_for_losses: Option<u64>,
        /// CNPs with neither: it was marked after the tap.
        pub cnps_unmarked: Option<u64>,
        /// Times between its CNPs in nanoseconds.
        pub cnp_interval_ns: Option<Summary>,
        /// Times from a mark to the CNP for it, in nanoseconds: at the tap. Of several marks before a CNP, it is for the one at the distance that
        /// comes with most CNPs; where none does, for the last one.
        pub ce_to_cnp_ns: Option<Summary>,
        /// Bits per second on the wire until the first CNP.
        pub rate_before_bps: Option<u64>,
        /// Bits per second on the wire from the first CNP to the last one.
        pub rate_after_bps: Option<u64>,
        /// CNPs of which the rate before and after is known: those in the first quarter of a second after the capture's first CNP.
        pub reactions: u64,
        /// The median over these CNPs: rate in the 48 µs after a CNP over the rate in the 48 µs before it; 64 µs where flows are slow.
        pub reaction_ratio: Option<f64>,
        /// Whether the sender keeps its rate although it gets CNPs: it ignores them, or something else keeps it slower than they do. Behind the
        /// bottleneck, the rate at the tap does not show it.
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
    #[cfg_attr(feature = "state", derive(crate::stored::Stored))]
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
    #[derive(Copy)]
    pub struct CnpIntervals {
        /// For one queue pair.
        pub per_qp: Option<Summary>,
        /// From one IP address to another.
        pub per_ip_pair: Option<Summary>,
        /// From one IP address.
        pub per_port: Option<Summary>,
    }
}

impl Congestion {
    /// What they are over the whole capture, in a sentence. `is_native`: all of it is native InfiniBand, where any packet can be marked (FECN).
    pub fn sentence(&self, is_native: bool) -> String {
        if self.ect_packets == 0 && self.cnps == 0 && !is_native {
            return "no RDMA packet is ECN-capable, and there are no CNPs".into();
        }
        let mut text = match (self.ce_ratio, is_native) {
            (Some(ratio), false) => {
                format!("{} of the ECN-capable data packets are marked (CE)", percent(ratio))
            }
            (Some(ratio), true) => format!("{} of the data packets are marked (FECN)", percent(ratio)),
            (None, false) => "no data packet is ECN-capable".into(),
            (None, true) => "no data packet is marked (FECN)".into(),
        };
        if self.ce_control_packets > 0 {
            text += &format!(", and {} (ACKs or CNPs)", several(self.ce_control_packets, "control packet"));
        }
        text += &match self.cnps {
            0 => "; no CNPs".to_owned(),
            n => format!("; {}", several(n, "CNP")),
        };
        if let Some(gaps) = self.cnp_interval_ns.per_qp {
            text += &format!(", per queue pair {} apart in the median", gaps.quantile(gaps.p50, duration));
        }
        if let (Some(scope), Some(ns)) = (self.pacing, self.pacing_interval_ns) {
            text += &format!(", paced at {} or more {}", duration(ns), scope.words());
            if let Some(sure) = self.pacing_confidence {
                text += &format!(" (inferred, {})", sure.name());
            }
        }
        if let Some(expected) = self.expected_cnps.filter(|_| self.ce_packets > 0) {
            text += &format!("; the marks should trigger {}", count(expected));
        }
        if let Some(cnps) = self.cnps_without_ce.filter(|&cnps| cnps > 0) {
            text += &format!(
                "; {} to senders without a marked packet: the congestion is after the tap, or the CNPs answer losses",
                several(cnps, "CNP")
            );
        }
        if self.cnps_near_nak > 0 {
            text += &format!("; {} within 5 µs of a NAK", count(self.cnps_near_nak));
        }
        if self.cnps_unattributed > 0 {
            text += &format!(
                "; {} target flows that are not in the capture",
                several(self.cnps_unattributed, "CNP")
            );
        }
        if self.becn_acks > 0 {
            text += &format!("; {} with BECN", several(self.becn_acks, "ACK"));
        }
        text
    }
}

impl Dcqcn {
    /// Which model is nearest, and how far the others are off.
    pub fn sentence(&self) -> String {
        let off = |ratio: f64| match ratio {
            10.0.. => format!("{ratio:.0} times off"),
            _ => format!("{} off", percent(ratio)),
        };
        let others = self
            .models
            .iter()
            .skip(1)
            .map(|model| format!("{} {}", clean(&model.name), off(model.error_ratio)));
        let others = others.collect::<Vec<_>>().join(", ");
        let start = match self.start_is_speed {
            true => "the link's speed",
            false => "its rate before",
        };
        let best = match (&*self.best, self.fits) {
            ("none", true) => "nearest is a sender that ignores CNPs".to_owned(),
            (name, true) => format!("parameters {} fit best", clean(name)),
            (name, false) => format!("no parameters fit; nearest: {}", clean(name)),
        };
        format!("{best}, {} ({others}); from {start}", off(self.error_ratio))
    }
}

impl Incast {
    /// What several are, in a sentence; empty for none.
    pub fn sentence_of(all: &[Incast]) -> String {
        let sum: u64 = all.iter().map(|one| one.end_ns.saturating_sub(one.start_ns).max(0) as u64).sum();
        let Some(worst) = all.iter().max_by_key(|one| one.peak_bps) else { return String::new() };
        format!(
            "{}, {} in all; the worst: {} to {} at {} together, for {}",
            several(all.len() as u64, "time"),
            duration(sum),
            several(worst.senders, "sender"),
            clean(&worst.receiver),
            bits(worst.peak_bps as f64),
            duration(worst.end_ns.saturating_sub(worst.start_ns).max(0) as u64)
        )
    }
}
