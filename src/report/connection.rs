//! Pairs of flows, and their losses one by one.

use std::collections::BTreeMap;

use super::{Confidence, ConnectionState, Coverage, Location, PairedBy, Space, Trigger, Why};

records! {
    /// Two flows in opposite directions between two queue pairs.
    pub struct Connection {
        /// Its number: its place in the list of connections.
        pub id: u32,
        /// The end that sends the flow with more packets.
        pub a: End,
        /// The other end.
        pub b: End,
        /// The flow that `a` sends and the one that `b` sends, as indices into [`Report::flows`](super::Report::flows).
        pub flows: [usize; 2],
        /// What was seen of it, as bits: 1 REQ, 2 REP and 4 RTU of the connection manager, 8 requests, 16 responses, 32 DREQ of the
        /// connection manager, 64 a NAK that ends the connection.
        pub completeness: u8,
        /// What became of it.
        pub state: ConnectionState,
        /// Since when, in nanoseconds since 1970-01-01 UTC: when it was in use first; closed or refused; tried for the last time; answered
        /// last.
        pub since_ns: Option<i64>,
        /// Nanoseconds that the connection manager took to set it up: from the first REQ to the RTU.
        pub set_up_ns: Option<u64>,
        /// When one end asked to disconnect it (DREQ).
        pub closed_ns: Option<i64>,
        /// Whether the capture has all its packets.
        pub visibility: Coverage,
        /// How the two flows were found to belong together.
        pub paired_by: PairedBy,
        /// How strong the evidence for that is: a wrong pair has a chance of one in 2 to this power.
        pub evidence_bits: u32,
    }

    /// One end of a connection.
    #[derive(Eq)]
    pub struct End {
        /// Its address, written as that of a flow.
        pub addr: String,
        /// Its queue pair.
        pub qp: u32,
        /// The `uid` of the flow that it sends.
        pub uid: String,
    }

    /// A loss or a timeout, and how the sender recovered from it.
    pub struct Episode {
        /// The flow that lost the packet, as an index into [`Report::flows`](super::Report::flows).
        pub flow: usize,
        /// The PSN space of that packet. Of a response, a READ was requested again.
        pub space: Space,
        /// Why packets were retransmitted.
        pub trigger: Trigger,
        /// Where the packet was lost.
        pub location: Location,
        /// How sure that is.
        pub confidence: Confidence,
        /// PSN of the first retransmitted packet.
        pub lost_psn: u32,
        /// The frame that sent this PSN for the first time, from 1; `None` where the tap did not see it.
        pub original_frame: Option<u64>,
        /// The frame with the NAK, from 1.
        pub nak_frame: Option<u64>,
        /// The first retransmitted frame, from 1.
        pub first_retransmit_frame: u64,
        /// When that was, in nanoseconds since 1970-01-01 UTC.
        pub start_ns: i64,
        /// Nanoseconds from the packet after the gap to the NAK.
        pub nak_generation_ns: Option<u64>,
        /// Nanoseconds from the NAK to the first retransmitted packet.
        pub nak_reaction_ns: Option<u64>,
        /// Nanoseconds from the first transmission to the second.
        pub retransmission_ns: Option<u64>,
        /// Nanoseconds from the first retransmitted packet until all of it was acknowledged, or its sender went on with new packets, which those that
        /// repeat single packets do at once; `None` where neither was seen.
        pub recovered_ns: Option<u64>,
        /// Bits per second of payload sent for the first time, over ten round trips or somewhat more before the episode began.
        /// The silence before a timeout does not count.
        pub goodput_before_bps: Option<u64>,
        /// Bits per second of payload sent for the first time, over the same span after the episode; `None` where the flow stopped,
        /// or the next episode began, sooner.
        pub goodput_after_bps: Option<u64>,
        /// Retransmitted packets.
        pub retransmitted_packets: u64,
        /// Retransmitted bytes of payload.
        pub retransmitted_bytes: u64,
        /// Retransmitted packets that had arrived before.
        pub needless_packets: u64,
        /// How often in a row the sender went back to this PSN, with this time.
        pub retries: u32,
        /// Why figures are missing.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub why: Why,
    }
}

impl Episode {
    /// How sure the place is, for a table; empty where it is not known.
    pub fn sure(&self) -> &'static str {
        if self.location == Location::Unknown { "" } else { self.confidence.name() }
    }
}
