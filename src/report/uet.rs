//! Ultra Ethernet: packet delivery contexts, what is counted of them, and packets without one.

use std::collections::BTreeMap;

use super::{
    Summary, UetCounted, UetMode, UetPackets, UetState, Why,
    units::{count, duration, several},
};

records! {
    /// Requests of one side of a packet delivery context (PDC), and what the other side said of them. Or requests without a context, from one address to another.
    pub struct UetContext {
        /// Who sends.
        pub src: String,
        /// Who receives.
        pub dst: String,
        /// The sender's number of the context; `None` without one.
        pub spdcid: Option<u16>,
        /// The receiver's; `None` as long as it has not answered.
        pub dpdcid: Option<u16>,
        /// How they are delivered.
        pub mode: UetMode,
        /// How far the context came.
        pub state: Option<UetState>,
        /// From the first packet with SYN to the first answer, in nanoseconds.
        pub setup_ns: Option<u64>,
        /// Paths that the requests took.
        pub paths: Option<u64>,
        /// How evenly their bytes are spread: Jain's index, 1 where all paths carry the same, one over their number where one carries all.
        pub path_fairness: Option<f64>,
        /// Requests, retransmissions and trimmed ones included.
        pub packets: Option<u64>,
        /// Their payload, without that of trimmed ones.
        pub payload_bytes: Option<u64>,
        /// Requests that say that they are retransmissions.
        pub retransmits: Option<u64>,
        /// Requests that are retransmissions by their PSN, or of RUDI by their number: it came before, was NACKed, or three SACKs, or the NACK of
        /// an ordered one behind it, showed it missing; without the flag, of the last only what comes a round trip later, and not on the path whose turn it was.
        pub inferred_retransmits: Option<u64>,
        /// Of the requests that are retransmissions by either, the share that is by both: 0 to 1; `None` without any, and where numbers can tell nothing: what
        /// was lost before the tap shows in SACKs only, and RUDI has none.
        pub retransmit_agreement: Option<f64>,
        /// Retransmissions of requests that the tap had not seen: they were lost before it. Trimmed ones are in `trimmed` and `nacks_trimmed`.
        pub lost_before_tap: Option<u64>,
        /// Retransmissions of requests that the tap had seen, and their receiver did not have: they, or of RUDI their responses, were lost behind it. Of ordered ones, which a
        /// sender repeats in a row, only the first of each row: a lower bound.
        pub lost_after_tap: Option<u64>,
        /// Retransmissions of requests that were lost behind the tap, or late, or had arrived: their path is slow, and answers do not name each request; or no answer
        /// said anything of them, where answers are lost or stand for several requests.
        pub lost_or_late: Option<u64>,
        /// Retransmissions of what was not lost: it had been answered, or the first transmission came after all.
        pub spurious_retransmits: Option<u64>,
        /// Requests that came behind one with a higher PSN, and are no retransmissions. Of unordered ones that is normal; a receiver of ordered
        /// ones does not take them.
        pub reordered: Option<u64>,
        /// The furthest that one came behind the highest PSN.
        pub max_reorder_extent: Option<u64>,
        /// Requests that a switch trimmed before the tap: they say more payload than there is.
        pub trimmed: Option<u64>,
        /// Requests with a mark of congestion (ECN CE).
        pub ce_packets: Option<u64>,
        /// Messages that began; of RUDI, requests without retransmissions.
        pub messages: Option<u64>,
        /// Messages of which acknowledgements say that all has arrived; of RUDI, requests that were answered.
        pub completed: Option<u64>,
        /// From the first packet of a message to the acknowledgement that completes it, in nanoseconds; not of RUDI: see `rtt_mean_ns`.
        pub completion_ns: Option<Summary>,
        /// Requests that nobody had answered when the capture ended.
        pub unanswered: Option<u64>,
        /// Acknowledgements; of RUDI, responses.
        pub acks: Option<u64>,
        /// Those that say that the request was marked.
        pub marked_acks: Option<u64>,
        /// PSNs that SACKs showed missing, below one that had arrived. They were lost or late.
        pub sacked_missing: Option<u64>,
        /// Payload of acknowledgements and responses: what was read.
        pub response_bytes: Option<u64>,
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
        /// Control packets that ask for credits.
        pub credit_requests: u64,
        /// Acknowledgements that give more credits than before, and control packets that give some.
        pub credit_grants: u64,
        /// Credits that acknowledgements gave, from the first that says so to the last.
        pub credits_granted: Option<u64>,
        /// The most by which credits that the sender wanted were more than those it had.
        pub most_credits_wanted: Option<u64>,
        /// For how long the sender wanted more credits than it had, in nanoseconds: from the request that says so to the acknowledgement that gives all. What had not ended
        /// counts up to the last packet that says what is wanted or given.
        pub credit_wait_ns: Option<u64>,
        /// The longest of these times.
        pub credit_wait_max_ns: Option<u64>,
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
        /// The sender's number of the context; `None` without one.
        pub spdcid: Option<u16>,
        /// How they are delivered.
        pub mode: UetMode,
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
        (self.mode, self.spdcid) == (context.mode, context.spdcid)
            && (&self.src, &self.dst) == (&context.src, &context.dst)
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
        let mut text = match self.spdcid {
            Some(spdcid) => format!("PDC {spdcid:#x} "),
            None => String::new(),
        };
        text += &format!("{} \u{2192} {}, {}", self.src, self.dst, self.mode.words());
        if let Some(state) = self.state {
            text += &format!(", {}", state.words());
        }
        text += ": ";
        match (self.packets, self.retransmits) {
            (Some(packets), Some(again)) => {
                text += &format!("{}, {} retransmitted", several(packets, "request"), count(again));
            }
            (Some(packets), None) => text += &several(packets, "request"),
            _ => text += "its requests were not captured",
        }
        if let Some(agreement) = self.retransmit_agreement {
            text += &format!(
                ", {:.1} % of them by their {} too",
                agreement * 100.0,
                match self.mode {
                    UetMode::Idempotent => "number",
                    _ => "PSN",
                }
            );
        }
        if let Some(paths) = self.paths.filter(|&paths| paths > 1) {
            text += &format!(", over {paths} paths");
        }
        match self.acks {
            Some(acks) if self.mode == UetMode::Idempotent => {
                text += &format!("; {}", several(acks, "response"));
                if let Some(unanswered) = self.unanswered.filter(|&n| n > 0) {
                    text += &format!(", {} without one", count(unanswered));
                }
            }
            Some(acks) => {
                let missing = count(self.sacked_missing.unwrap_or(0));
                text += &format!("; {}, {missing} missing by SACK", several(acks, "ACK"));
            }
            None if self.mode == UetMode::Unreliable => {}
            None => text += "; its answers were not captured",
        }
        for nack in nacks {
            text += &format!(", NACK {} {}", nack.name, count(nack.count));
        }
        for code in codes.filter(|code| code.code > 1) {
            text += &format!(", {} {}", code.name, count(code.count));
        }
        if let Some(wait) = self.credit_wait_ns.filter(|&ns| ns > 0) {
            text += &format!("; it waited {} for credits", duration(wait));
        }
        if let (Some(least), Some(mean)) = (self.rtt_min_ns, self.rtt_mean_ns) {
            text += &format!("; RTT {} at least, {} in the mean", duration(least), duration(mean));
        }
        text
    }
}
