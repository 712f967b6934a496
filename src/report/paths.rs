//! How flows spread over paths: source ports, and the links of a capture.

use super::{
    PathState,
    units::{count, several},
};

records! {
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
        /// Packets of these flows, and of connections of MRC, that were lost before the tap on a path that is not known.
        pub lost_unattributed: u64,
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

    /// A path of a flow that takes several: what it carried, and how it stands beside the others.
    pub struct FlowPath {
        /// The flow, as an index into [`Report::flows`](super::Report::flows); `None` where it is no longer in the list.
        pub flow: Option<usize>,
        /// Source address.
        pub src: String,
        /// Destination address.
        pub dst: String,
        /// Destination queue pair; `None` of Ultra Ethernet.
        pub dest_qp: Option<u32>,
        /// Of Ultra Ethernet: the sender's number of the context (PDC).
        pub spdcid: Option<u16>,
        /// UDP source port; of Ultra Ethernet without UDP, the entropy value.
        pub udp_src_port: u16,
        /// The low 16 bits of the flow label, of MRC and Ultra Ethernet over IPv6.
        pub flow_label: Option<u16>,
        /// Where the IPv6 header around the packets goes, of MRC and Ultra Ethernet in SRv6: the segments that are left at the tap.
        pub segments: Option<String>,
        /// How many paths the flow has.
        pub paths: u64,
        /// Packets on this one, retransmissions and trimmed ones included.
        pub packets: u64,
        /// Its share of the flow's packets: 0 to 1.
        pub share: f64,
        /// Packets that were lost on it: retransmitted, and first of a row of such. Of what was lost before the tap, the path is known where the
        /// flow takes its paths in turn.
        pub lost: u64,
        /// Packets of the flow that were lost before the tap on a path that is not known.
        pub lost_unattributed: u64,
        /// Retransmissions that took it.
        pub resent: u64,
        /// Packets that came marked (CE), or of which SACKs of MRC or ACKs of Ultra Ethernet say so; these
        /// name no path: of a packet that was retransmitted, it is that of the last transmission.
        pub marked: u64,
        /// Packets that were overtaken by more packets than the flow has paths, or that arrived behind their retransmissions, as answers show.
        pub late: u64,
        /// How much later these came than others: the mean, in nanoseconds; of captures that are merged, how much longer all of its packets took from tap to
        /// tap than those of the other paths.
        pub late_mean_ns: Option<u64>,
        /// Packets that a switch trimmed: they came so, or NACKs of MRC or Ultra Ethernet say so.
        pub trimmed: u64,
        /// From a packet of MRC or Ultra Ethernet to the SACK or ACK that it caused, at the tap: the mean, in nanoseconds.
        pub ack_rtt_mean_ns: Option<u64>,
        /// The longest.
        pub ack_rtt_max_ns: Option<u64>,
        /// From the tap that recorded its packets first to the one that recorded them last, of captures that are merged: the mean, in nanoseconds.
        pub transit_mean_ns: Option<u64>,
        /// The longest.
        pub transit_max_ns: Option<u64>,
        /// When the receiver first asked not to use it any more, in nanoseconds since 1970.
        pub skipped_ns: Option<i64>,
        /// When its last packet came, in nanoseconds since 1970.
        pub last_ns: i64,
        /// The number of the interface that recorded its packets, if it was one: a plane, where each has its own.
        pub interface: Option<u16>,
        /// The name of this interface.
        pub link: Option<String>,
        /// How it stands beside the others.
        pub state: PathState,
        /// The flow's packets are spread unevenly over its paths.
        pub is_uneven: bool,
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

impl Ports {
    /// How evenly they are used, in a sentence.
    pub fn sentence(&self) -> String {
        let mut text = format!(
            "{} for {}, entropy equal to {:.1} equally loaded ports",
            several(self.ports, "UDP source port"),
            several(self.flows, "flow"),
            self.effective_flows,
        );
        if self.collisions > 0 {
            text += &format!(
                "; {} of queue pairs with one port, and so one path",
                several(self.collisions, "group")
            );
        }
        if self.sprayed > 0 {
            text += &format!("; {} sprayed over several ports", several(self.sprayed, "flow"));
        }
        if let Some(linux) = self.linux_formula {
            text += &format!(
                "; {} of {} match Linux's source-port formula",
                count(linux.matching),
                count(linux.flows)
            );
        }
        text
    }
}

impl Balance {
    /// How evenly these links carry traffic, in a sentence.
    pub fn sentence(&self, links: &[LinkLoad]) -> Option<String> {
        let Balance { links: number, jain_bytes, max_over_mean_bytes, jain_flows, max_over_mean_flows } =
            *self;
        let busiest = links.iter().max_by_key(|link| link.bytes)?;
        let mut text = format!(
            "{number} links, if they are parallel: Jain's index of their bytes is {jain_bytes:.2}; the busiest, {}, has {max_over_mean_bytes:.2} times the mean",
            busiest.link
        );
        if let Some((jain, most)) = jain_flows.zip(max_over_mean_flows) {
            text += &format!("; of their flows {jain:.2}, and {most:.2} times the mean");
        }
        Some(text)
    }
}

impl FlowPath {
    /// Its name: the segments, or else the source port, and the flow label where it has one.
    pub fn name(&self) -> String {
        match (&self.segments, self.flow_label) {
            (Some(segments), _) => format!("segments {segments}"),
            (None, Some(label)) => format!("flow label {label:#x}, source port {}", self.udp_src_port),
            (None, None) => format!("source port {}", self.udp_src_port),
        }
    }

    /// Whether they are paths of one flow.
    pub fn is_of_the_flow_of(&self, other: &FlowPath) -> bool {
        self.flow_key() == other.flow_key()
    }

    pub(crate) fn flow_key(&self) -> impl Ord + '_ {
        (&self.src, &self.dst, self.dest_qp, self.spdcid)
    }

    /// The flow that takes it: its queue pair or context, and its ends.
    pub fn flow_name(&self) -> String {
        let number = match (self.dest_qp, self.spdcid) {
            (Some(qp), _) => format!("QP {qp:#x}"),
            (None, Some(spdcid)) => format!("PDC {spdcid:#x}"),
            (None, None) => "datagrams".to_owned(),
        };
        format!("{number} {} \u{2192} {}", self.src, self.dst)
    }

    /// All paths of flows that have several, in a sentence.
    pub fn sentence_of(all: &[FlowPath]) -> Option<String> {
        let bad = all.iter().filter(|path| path.state != PathState::Good).count() as u64;
        let mut flows: Vec<_> = all.iter().map(FlowPath::flow_key).collect();
        flows.sort_unstable();
        flows.dedup();
        let listed = several(all.len() as u64, "path");
        let flows = several(flows.len() as u64, "flow");
        (!all.is_empty()).then(|| match bad {
            0 => format!("{listed} of {flows}, none of which stands out"),
            _ => format!(
                "{listed} of {flows}, {} out: see the table `paths`",
                match bad {
                    1 => "1 of which stands".to_owned(),
                    _ => format!("{} of which stand", count(bad)),
                }
            ),
        })
    }
}
