//! Traffic by class, and whether classes are as they should be.

use std::collections::BTreeMap;

use super::{
    Bounds, PriorityBy, Summary, TrafficKind, Why, clean,
    units::{plural, several},
};

records! {
    /// Packets of the transport with one DSCP and one priority, or, of native InfiniBand, one service level and virtual lane.
    pub struct TrafficClass {
        /// DSCP; `None` without a network header.
        pub dscp: Option<u8>,
        /// Priority code point of the VLAN tag; `None` without a tag.
        pub pcp: Option<u8>,
        /// Service level of native InfiniBand.
        pub sl: Option<u8>,
        /// Virtual lane of native InfiniBand.
        pub vl: Option<u8>,
        /// Its priority, 0 to 7.
        pub priority: Option<u8>,
        /// How that is known.
        pub priority_by: Option<PriorityBy>,
        /// Whether the priority has PFC, as the map says.
        pub pfc: Option<bool>,
        /// Packets, without those that are corrupt or were recorded twice.
        pub packets: u64,
        /// Bytes on the wire, with preamble, frame check sequence and inter-frame gap.
        pub wire_bytes: u64,
        /// Bits per second on the wire, from its first packet to its last.
        pub rate_bps: Option<u64>,
        /// Packets by what they do.
        pub operations: Operations,
        /// ECN-capable packets, marked ones included.
        pub ect_packets: u64,
        /// Marked packets (CE).
        pub ce_packets: u64,
        /// Marked packets among ECN-capable ones: 0 to 1.
        pub ce_ratio: Option<f64>,
        /// Retransmitted packets.
        pub retransmits: u64,
        /// NAKs for missing packets that are in this class.
        pub naks: u64,
        /// Flows all of whose data is in this class. The three figures below are theirs.
        pub flows: u64,
        /// Packets lost on the network: at least, at most.
        pub lost: Option<Bounds>,
        /// Nanoseconds for which its priority was paused, in sum over links and senders.
        pub paused_ns: Option<u64>,
        /// From a request to its acknowledgement, in nanoseconds.
        pub ack_rtt_ns: Option<Summary>,
        /// Why figures are missing.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub why: Why,
    }

    /// Traffic of one kind from one host to another in one class.
    pub struct PairClass {
        /// Source address.
        pub src: String,
        /// Destination address.
        pub dst: String,
        /// Virtual network of an overlay.
        pub vni: Option<u32>,
        /// What it is.
        pub kind: TrafficKind,
        /// DSCP; `None` without a network header.
        pub dscp: Option<u8>,
        /// Priority code point of the VLAN tag; `None` without a tag.
        pub pcp: Option<u8>,
        /// Service level of native InfiniBand.
        pub sl: Option<u8>,
        /// Virtual lane of native InfiniBand.
        pub vl: Option<u8>,
        /// Whether more than half of the capture's queue pairs with traffic of this kind have it in this class; `None` where no class has so many.
        pub usual: Option<bool>,
        /// Queue pairs that it goes to; `None` where there are too many to tell them apart.
        pub queue_pairs: Option<u64>,
        /// Packets, without those that are corrupt or were recorded twice.
        pub packets: u64,
        /// Bytes on the wire, with preamble, frame check sequence and inter-frame gap.
        pub wire_bytes: u64,
        /// ECN-capable packets, marked ones included.
        pub ect_packets: u64,
        /// Marked packets (CE).
        pub ce_packets: u64,
        /// Marked packets among ECN-capable ones: 0 to 1.
        pub ce_ratio: Option<f64>,
        /// Retransmitted packets.
        pub retransmits: u64,
        /// NAKs for missing packets that are in it.
        pub naks: u64,
        /// Packets of its flows lost on the network: at least, at most. `None` of ACKs, CNPs and datagrams, and of flows in several classes.
        pub lost: Option<Bounds>,
        /// How long pauses stopped the flow of it that they stopped longest, in nanoseconds.
        pub paused_ns: Option<u64>,
        /// Why figures are missing.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub why: Why,
    }

    /// Packets by what they do.
    #[derive(Copy, Eq)]
    #[cfg_attr(feature = "state", derive(crate::stored::Stored))]
    pub struct Operations {
        /// RDMA WRITE, with or without immediate data.
        pub writes: u64,
        /// SEND, with or without immediate data.
        pub sends: u64,
        /// READ requests.
        pub read_requests: u64,
        /// READ responses.
        pub read_responses: u64,
        /// Atomics, and their results.
        pub atomics: u64,
        /// ACKs and NAKs.
        pub acks: u64,
        /// Congestion notification packets (CNPs).
        pub cnps: u64,
        /// All others.
        pub others: u64,
    }

    /// Classes that are not as they should be. Flows are indices into [`Report::flows`](super::Report::flows): the first 256.
    #[derive(Eq)]
    pub struct Qos {
        /// Whether the user gave a map of priorities.
        pub map_given: bool,
        /// Whether the map of priorities is from DCBX in the capture: the user gave none. Which pauses stopped which flows is by it too:
        /// by the last one. Where a port changed its map, flows whose priority changed with it count no pause before that.
        pub map_from_dcbx: bool,
        /// What the ports of links say of their priorities: DCBX, the last of each port; 64 ports at most.
        pub dcbx: Vec<DcbxPort>,
        /// Connections whose data is in several classes: one flow of each.
        pub several_classes: Vec<usize>,
        /// How many.
        pub several_classes_count: u64,
        /// Flows whose ACKs are in another class than the data that they acknowledge, and not in that of the map.
        pub acks_elsewhere: Vec<usize>,
        /// How many.
        pub acks_elsewhere_count: u64,
        /// Flows with data in a priority without PFC, by the map.
        pub without_pfc: Vec<usize>,
        /// How many.
        pub without_pfc_count: u64,
        /// Flows whose data is not ECN-capable, in a class where that of other flows is.
        pub not_ect: Vec<usize>,
        /// How many.
        pub not_ect_count: u64,
        /// Flows with CNPs in another priority than that of the map.
        pub cnps_elsewhere: Vec<usize>,
        /// How many.
        pub cnps_elsewhere_count: u64,
        /// Flows whose PCP and DSCP have different priorities, by the map.
        pub disagreeing: Vec<usize>,
        /// How many.
        pub disagreeing_count: u64,
        /// Flows whose data is in another class than that of most others like them. The first 256.
        pub odd_class: Vec<OddClass>,
        /// How many.
        pub odd_class_count: u64,
        /// Flows whose data has another DSCP at a later tap: a device between the taps rewrites it. The first 256.
        pub rewritten: Vec<Rewritten>,
        /// How many.
        pub rewritten_count: u64,
        /// Flows whose data is ECN-capable at the tap that recorded it first, and not at a later one. The first 256.
        pub ecn_cleared: Vec<EcnCleared>,
        /// How many.
        pub ecn_cleared_count: u64,
    }

    /// A flow whose data is in another class than that of its siblings: flows between the same two hosts that are about as large, those
    /// that other hosts send, also to its sender, or most that its sender sends and most that its receiver gets.
    #[derive(Copy, Eq)]
    pub struct OddClass {
        /// The flow, as an index into [`Report::flows`](super::Report::flows).
        pub flow: usize,
        /// DSCP of its data; `None` without a network header.
        pub dscp: Option<u8>,
        /// Priority code point of its data; `None` without a VLAN tag.
        pub pcp: Option<u8>,
        /// Service level of its data, of native InfiniBand.
        pub sl: Option<u8>,
        /// How many siblings are in the class below.
        pub siblings: u64,
        /// DSCP of their data.
        pub siblings_dscp: Option<u8>,
        /// Priority code point of their data.
        pub siblings_pcp: Option<u8>,
        /// Service level of their data.
        pub siblings_sl: Option<u8>,
    }

    /// A flow whose DSCP changes on its way.
    #[derive(Copy, Eq)]
    pub struct Rewritten {
        /// The flow, as an index into [`Report::flows`](super::Report::flows).
        pub flow: usize,
        /// Its DSCP at the tap that recorded it first.
        pub dscp: u8,
        /// Its DSCP at a tap behind that.
        pub then: u8,
    }

    /// A flow whose data is not ECN-capable any more at a later tap.
    #[derive(Copy, Eq)]
    pub struct EcnCleared {
        /// The flow, as an index into [`Report::flows`](super::Report::flows).
        pub flow: usize,
        /// Packets that were recorded again without ECN.
        pub packets: u64,
    }

    /// What a port says of its priorities: DCBX, in LLDP.
    #[derive(Eq)]
    #[cfg_attr(feature = "state", derive(crate::stored::Stored))]
    pub struct DcbxPort {
        /// The interface that captured it.
        pub link: String,
        /// The port's Ethernet address.
        pub sender: String,
        /// The port's name, where it has one that is text.
        pub port: Option<String>,
        /// Whether it is the DCBX of CEE, and not that of IEEE.
        pub is_cee: bool,
        /// Priorities with PFC; `None` where it does not say.
        pub pfc: Option<Vec<u8>>,
        /// Whether it takes its neighbour's PFC instead.
        pub pfc_willing: Option<bool>,
        /// The traffic class of each priority; of CEE, its priority group.
        pub traffic_classes: Option<Vec<u8>>,
        /// Per cent of the bandwidth that each traffic class gets.
        pub bandwidth_percent: Option<Vec<u8>>,
        /// Whether it takes its neighbour's traffic classes instead.
        pub ets_willing: Option<bool>,
        /// Priorities of applications.
        pub applications: Vec<DcbxApplication>,
        /// Priorities with congestion notification (IEEE 802.1Qau).
        pub congestion_notification: Vec<u8>,
        /// Its first frame, from 1.
        pub first_frame: u64,
        /// Its frames with DCBX.
        pub frames: u64,
    }

    /// The priority of an application.
    #[derive(Eq)]
    #[cfg_attr(feature = "state", derive(crate::stored::Stored))]
    pub struct DcbxApplication {
        /// What the protocol is: 1 an EtherType, 2 a port of TCP or SCTP, 3 of UDP or DCCP, 4 of any of these, 5 a DSCP.
        pub selector: u8,
        /// The protocol.
        pub protocol: u16,
        /// Its priorities: one, but for CEE.
        pub priorities: Vec<u8>,
    }
}

impl OddClass {
    /// "DSCP 0, and 6 others like it DSCP 26".
    pub fn text(&self) -> String {
        let (is, usual) = (
            in_words(self.dscp, self.pcp, self.sl),
            in_words(self.siblings_dscp, self.siblings_pcp, self.siblings_sl),
        );
        format!("{is}, and {} like it {usual}", several(self.siblings, "other"))
    }
}

/// "DSCP 26, PCP 3".
fn in_words(dscp: Option<u8>, pcp: Option<u8>, sl: Option<u8>) -> String {
    let words = [("DSCP", dscp), ("PCP", pcp), ("service level", sl)];
    let known: Vec<String> =
        words.into_iter().filter_map(|(what, n)| Some(format!("{what} {}", n?))).collect();
    if known.is_empty() { "no class".to_owned() } else { known.join(", ") }
}

/// Most ports that are written.
const MAX_PORTS: usize = 4;

impl Qos {
    /// What ports say of their priorities by DCBX.
    pub fn dcbx_sentence(&self) -> String {
        let list = |numbers: &[u8]| match numbers {
            [] => "none".to_owned(),
            some => some.iter().map(u8::to_string).collect::<Vec<_>>().join(" "),
        };
        let one = |port: &DcbxPort| {
            let name = port.port.as_deref().map_or_else(String::new, |name| format!(" ({})", clean(name)));
            let mut text = format!("{}{name} on {}", port.sender, clean(&port.link));
            if let Some(pfc) = &port.pfc {
                text += &format!(": PFC on {} {}", plural(pfc.len() as u64, "priority"), list(pfc));
            }
            if port.pfc_willing == Some(true) {
                text += ", or what its neighbor has";
            }
            if let Some(bandwidth) = &port.bandwidth_percent {
                text += &format!("; bandwidth of the classes {} %", list(bandwidth));
            }
            match port.applications.len() {
                0 => {}
                n => text += &format!("; {}", several(n as u64, "application priority")),
            }
            text
        };
        let mut text = self.dcbx.iter().take(MAX_PORTS).map(one).collect::<Vec<_>>().join(". ");
        if self.dcbx.len() > MAX_PORTS {
            text += &format!(". And {}", several((self.dcbx.len() - MAX_PORTS) as u64, "more port"));
        }
        if self.map_from_dcbx {
            text += ". The priorities above are those of DCBX";
        }
        text
    }
}
