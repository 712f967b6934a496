//! Ultra Ethernet: packet delivery contexts, what is counted of them, and packets without one.

use std::collections::BTreeMap;

use super::{
    UetCounted, UetMode, UetPackets, UetState, Why,
    units::{count, duration, several},
};

records! {
    /// Requests of one side of a packet delivery context (PDC), and what the other side said of them.
    pub struct UetContext {
        /// Who sends.
        pub src: String,
        /// Who receives.
        pub dst: String,
        /// The sender's number of the context.
        pub spdcid: u16,
        /// The receiver's; `None` as long as it has not answered.
        pub dpdcid: Option<u16>,
        /// Unordered or ordered.
        pub mode: UetMode,
        /// How far it came.
        pub state: UetState,
        /// From the first packet with SYN to the first answer, in nanoseconds.
        pub setup_ns: Option<u64>,
        /// Requests, retransmissions and trimmed ones included.
        pub packets: Option<u64>,
        /// Their payload, without that of trimmed ones.
        pub payload_bytes: Option<u64>,
        /// Requests that say that they are retransmissions.
        pub retransmits: Option<u64>,
        /// Requests that are retransmissions by their PSN: it came before, was NACKed, or three SACKs showed it missing.
        pub inferred_retransmits: Option<u64>,
        /// Of the requests that are retransmissions by either, the share that is by both: 0 to 1; `None` without any.
        pub retransmit_agreement: Option<f64>,
        /// Requests that came behind one with a higher PSN, and are no retransmissions. Of unordered ones that is normal.
        pub reordered: Option<u64>,
        /// The furthest that one came behind the highest PSN.
        pub max_reorder_extent: Option<u64>,
        /// Requests that a switch trimmed before the tap: they say more payload than there is.
        pub trimmed: Option<u64>,
        /// Requests with a mark of congestion (ECN CE).
        pub ce_packets: Option<u64>,
        /// Acknowledgements.
        pub acks: Option<u64>,
        /// Those that say that the request was marked.
        pub marked_acks: Option<u64>,
        /// PSNs that SACKs showed missing, below one that had arrived. They were lost or late.
        pub sacked_missing: Option<u64>,
        /// Negative acknowledgements.
        pub nacks: Option<u64>,
        /// Those for trimmed packets.
        pub nacks_trimmed: Option<u64>,
        /// Those for packets that the last switch before the receiver trimmed.
        pub nacks_trimmed_last_hop: Option<u64>,
        /// Control packets of the sender.
        pub control: u64,
        /// Credits that the sender wants in all, by its last request that says so.
        pub credit_target: Option<u32>,
        /// Credits that the receiver has given in all, by its last acknowledgement that says so.
        pub credit: Option<u32>,
        /// From a request to the acknowledgement that answers it, at the tap, without retransmissions: the shortest, in nanoseconds.
        pub rtt_min_ns: Option<u64>,
        /// The mean.
        pub rtt_mean_ns: Option<u64>,
        /// The longest.
        pub rtt_max_ns: Option<u64>,
        /// The first packet of either side, from 1.
        pub first_frame: u64,
        /// Why figures are missing.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub why: Why,
    }

    /// How often something was in the packets of a context.
    pub struct UetCount {
        /// Who sends the requests.
        pub src: String,
        /// Who receives them.
        pub dst: String,
        /// The sender's number of the context.
        pub spdcid: u16,
        /// What is counted.
        pub counted: UetCounted,
        /// Its name.
        pub name: String,
        /// Its number on the wire.
        pub code: u8,
        /// How often.
        pub count: u64,
        /// Of operations: bytes of their messages, as far as standard requests say them.
        pub bytes: Option<u64>,
    }
}

impl UetCount {
    fn is_of(&self, context: &UetContext) -> bool {
        self.spdcid == context.spdcid && self.src == context.src && self.dst == context.dst
    }
}

impl UetContext {
    /// How many packets there are, and what each context sent, in a sentence each.
    pub fn sentences_of(
        contexts: &[UetContext],
        counts: &[UetCount],
        packets: &BTreeMap<UetPackets, u64>,
    ) -> Vec<String> {
        let Some(&all) = packets.get(&UetPackets::All) else { return Vec::new() };
        let mut text = several(all, "packet");
        for (what, &n) in
            packets.iter().filter(|(what, _)| !matches!(what, UetPackets::All | UetPackets::GoodCrc))
        {
            text += &format!(", {} {}", count(n), what.words());
        }
        text += &format!("; {}", several(contexts.len() as u64, "context"));
        let each = contexts.iter().map(|context| {
            let of = |counted| counts.iter().filter(move |row| row.is_of(context) && row.counted == counted);
            context.sentence(of(UetCounted::Nack), of(UetCounted::ReturnCode))
        });
        std::iter::once(text).chain(each).collect()
    }

    fn sentence<'a>(
        &self,
        nacks: impl Iterator<Item = &'a UetCount>,
        codes: impl Iterator<Item = &'a UetCount>,
    ) -> String {
        let mut text = format!(
            "PDC {:#x} {} \u{2192} {}, {}, {}: ",
            self.spdcid,
            self.src,
            self.dst,
            self.mode.words(),
            self.state.words(),
        );
        match (self.packets, self.retransmits) {
            (Some(packets), Some(again)) => {
                text += &format!("{}, {} retransmitted", several(packets, "request"), count(again));
            }
            _ => text += "its requests were not captured",
        }
        if let Some(agreement) = self.retransmit_agreement {
            text += &format!(", {:.1} % of them by their PSN too", agreement * 100.0);
        }
        match self.acks {
            Some(acks) => {
                let missing = count(self.sacked_missing.unwrap_or(0));
                text += &format!("; {}, {missing} missing by SACK", several(acks, "ACK"));
            }
            None => text += "; its answers were not captured",
        }
        for nack in nacks {
            text += &format!(", NACK {} {}", nack.name, count(nack.count));
        }
        for code in codes.filter(|code| code.code > 1) {
            text += &format!(", {} {}", code.name, count(code.count));
        }
        if let (Some(least), Some(mean)) = (self.rtt_min_ns, self.rtt_mean_ns) {
            text += &format!("; RTT {} at least, {} in the mean", duration(least), duration(mean));
        }
        text
    }
}
