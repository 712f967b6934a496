//! Connections of MRC, the Multipath Reliable Connection.

use super::units::{count, several};

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
        /// Packets of WRITEs, retransmissions and trimmed ones included.
        pub packets: u64,
        /// Their payload, without that of trimmed ones.
        pub payload_bytes: u64,
        /// Packets that say that they are retransmissions: the RTX bit.
        pub rtx_packets: u64,
        /// Packets that are retransmissions by their PSN: it came before, was NACKed, or three SACKs showed it missing.
        pub inferred_retransmits: u64,
        /// Of the packets that are retransmissions by either, the share that is by both: 0 to 1; `None` without any.
        pub rtx_agreement: Option<f64>,
        /// Packets that came behind one with a higher PSN, and are no retransmissions. That is normal.
        pub reordered: u64,
        /// The furthest that one came behind the highest PSN.
        pub max_reorder_extent: u64,
        /// Packets that a switch trimmed before the tap.
        pub trimmed: u64,
        /// Selective acknowledgements.
        pub sacks: u64,
        /// Negative acknowledgements.
        pub nacks: u64,
        /// Those for trimmed packets, at the last switch or before.
        pub nacks_trimmed: u64,
        /// Those for packets that the last switch before the receiver trimmed.
        pub nacks_trimmed_last_hop: u64,
        /// SACKs that ask to skip a path once.
        pub skip_once: u64,
        /// SACKs that ask not to use a path any more.
        pub skip_always: u64,
        /// Probes of the receiver's state.
        pub probes: u64,
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
        text + &format!(
            "; {} out of order, by {} at most; {}, {}",
            count(self.reordered),
            count(self.max_reorder_extent),
            several(self.sacks, "SACK"),
            several(self.nacks, "NACK"),
        )
    }
}
