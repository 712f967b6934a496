//! Connections of MRC, the Multipath Reliable Connection.

use std::collections::BTreeMap;

use super::{
    Summary, Why,
    units::{count, duration, several},
};

records! {
    /// What one connection of MRC sent, and what its receiver said of it.
    pub struct MrcConnection {
        /// The flow of its WRITEs, as an index into [`Report::flows`](super::Report::flows); `None` where it is no longer in the list.
        pub flow: Option<usize>,
        /// Who sends.
        pub src: String,
        /// Who receives.
        pub dst: String,
        /// The receiver's queue pair.
        pub dest_qp: u32,
        /// Paths that it took.
        pub paths: u64,
        /// How evenly their bytes are spread: Jain's index, 1 where all paths carry the same, one over their number where one carries all.
        pub path_fairness: Option<f64>,
        /// Packets of WRITEs, retransmissions and trimmed ones included.
        pub packets: u64,
        /// Their payload, without that of trimmed ones.
        pub payload_bytes: u64,
        /// Retransmissions: they say so, or their PSN came before, or was NACKed; of senders that never say so, also those by their PSN.
        pub retransmits: u64,
        /// Packets that say that they are retransmissions: the RTX bit.
        pub rtx_packets: u64,
        /// Packets that are retransmissions by their PSN: it came before, was NACKed, or three SACKs showed it missing; without the
        /// bit, of the last only what comes a round trip later, and not on the path whose turn it was.
        pub inferred_retransmits: u64,
        /// Of the packets that are retransmissions by either, the share that is by both: 0 to 1; `None` without any, and where there are no answers,
        /// without which PSNs do not tell what was lost before the tap.
        pub rtx_agreement: Option<f64>,
        /// Retransmissions of packets that the tap had not seen: they were lost before it. Trimmed ones are in `trimmed` and `nacks_trimmed`.
        pub lost_before_tap: u64,
        /// Retransmissions of packets that the tap had seen, and their receiver did not have: they were lost behind it.
        pub lost_after_tap: u64,
        /// Retransmissions of packets that were lost behind the tap, or late, or had arrived: their path is slow, and SACKs do not name each packet; or no SACK said anything
        /// of them, where SACKs are lost or stand for several packets.
        pub lost_or_late: u64,
        /// Retransmissions of what was not lost: the receiver had said that it had it, or the first transmission came after all.
        pub spurious_retransmits: u64,
        /// Packets that came behind one with a higher PSN, and are no retransmissions. That is normal.
        pub reordered: u64,
        /// The furthest that one came behind the highest PSN.
        pub max_reorder_extent: u64,
        /// Packets with a mark of congestion (ECN CE).
        pub ce_packets: u64,
        /// Packets that a switch trimmed before the tap.
        pub trimmed: u64,
        /// Selective acknowledgements.
        pub sacks: Option<u64>,
        /// Negative acknowledgements.
        pub nacks: Option<u64>,
        /// Those for trimmed packets, at the last switch or before.
        pub nacks_trimmed: Option<u64>,
        /// Those for packets that the last switch before the receiver trimmed.
        pub nacks_trimmed_last_hop: Option<u64>,
        /// SACKs that ask to skip a path once.
        pub skip_once: Option<u64>,
        /// SACKs that ask not to use a path any more.
        pub skip_always: Option<u64>,
        /// Packets that took a path long after the tap had seen such a request: a sender that does not honor it.
        pub after_skip: Option<u64>,
        /// Probes of the receiver's state.
        pub probes: u64,
        /// Answers to them.
        pub probe_answers: Option<u64>,
        /// Messages that began.
        pub messages: u64,
        /// Messages of which SACKs say that all has arrived.
        pub completed: Option<u64>,
        /// From the first packet of a message to the SACK that completes it, in nanoseconds.
        pub completion_ns: Option<Summary>,
        /// From a packet to the SACK that it caused, at the tap, without retransmissions, in nanoseconds.
        pub ack_rtt_ns: Option<Summary>,
        /// The receive window that the last SACK gives, in packets.
        pub window_packets: Option<u64>,
        /// The most packets that were not acknowledged at once.
        pub most_outstanding: Option<u64>,
        /// Bytes that the receiver counted from the first SACK to the last.
        pub receiver_bytes: Option<u64>,
        /// The same in bits per second.
        pub receiver_rate_bps: Option<u64>,
        /// Why figures are missing.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub why: Why,
    }
}

impl MrcConnection {
    /// What it sent, in a sentence.
    pub fn sentence(&self) -> String {
        let mut text = format!(
            "QP {:#x} {} \u{2192} {}: {} over {}, {} with RTX",
            self.dest_qp,
            self.src,
            self.dst,
            several(self.packets, "packet"),
            several(self.paths, "path"),
            count(self.rtx_packets),
        );
        if let Some(agreement) = self.rtx_agreement {
            text += &format!(", {:.1} % of them retransmissions by their PSN too", agreement * 100.0);
        }
        text += &format!(
            "; {} out of order, by {} at most",
            count(self.reordered),
            count(self.max_reorder_extent),
        );
        if let (Some(sacks), Some(nacks)) = (self.sacks, self.nacks) {
            text += &format!("; {}, {}", several(sacks, "SACK"), several(nacks, "NACK"));
        }
        if self.spurious_retransmits > 0 {
            text +=
                &format!("; {} of what was not lost", several(self.spurious_retransmits, "retransmission"));
        }
        if let Some(rtt) = self.ack_rtt_ns.as_ref() {
            text += &format!("; SACKs after {} (p50), {} (p99)", duration(rtt.p50), duration(rtt.p99));
        }
        text
    }
}
