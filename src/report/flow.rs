//! What is known of one flow: one direction of one connection.

use std::{borrow::Cow, collections::BTreeMap};

use super::{
    Class, Encapsulation, Evidence, GiveUp, IpId, MtuBy, PairedBy, RecoveryMode, Service, StillSends,
    Visibility, Why,
};

/// At least, at most.
pub type Bounds = [u64; 2];

records! {
    /// Packets from one address to one queue pair of another: one direction of one connection.
    pub struct Flow {
        /// Source address: an IPv4 or IPv6 address, a GID, or a LID as "lid:0x0012".
        pub src: String,
        /// Destination address, written as the source address is.
        pub dst: String,
        /// The queue pair that the packets go to.
        pub dest_qp: u32,
        /// 0, and one more each time that the queue pair was given to a new connection.
        pub epoch: u32,
        /// What identifies the flow in every table, and at every place where it was captured: a hash of its addresses, queue pair, virtual
        /// network and epoch, as 16 hexadecimal digits.
        pub uid: String,
        /// The virtual network (VNI) of the VXLAN or GENEVE tunnel that it is in.
        pub vni: Option<u32>,
        /// The transport service.
        pub service: Service,
        /// What carries the packets.
        pub encapsulation: Encapsulation,
        /// The number of its connection: [`Connection::id`](super::Connection::id).
        pub connection: Option<u32>,
        /// The queue pair of the sender, where it is known.
        pub peer_qp: Option<u32>,
        /// How the opposite flow was found.
        pub paired_by: Option<PairedBy>,
        /// VLAN identifiers seen, 32 at most, in the order in which they came; so are the three below.
        pub vlans: Vec<u16>,
        /// DSCP values seen.
        pub dscps: Vec<u8>,
        /// UDP source ports seen.
        pub udp_src_ports: Vec<u16>,
        /// IPv4 times to live, or IPv6 hop limits, seen.
        pub ttls: Vec<u8>,
        /// Service levels of native InfiniBand seen.
        pub sls: Vec<u8>,
        /// Virtual lanes of native InfiniBand seen: those of the captured link.
        pub vls: Vec<u8>,
        /// The P_Key of its first packet: the partition, of members with 0x8000.
        pub p_key: u16,
        /// The application, as its connection's set-up shows it, else as its messages do, or those of the other direction.
        pub application: Option<Cow<'static, str>>,
        /// How the application is known: `service`, of whose convention a port says no more; `private_data`, which can be no other's; or
        /// `messages`, which can be no other's: of UCX, the Q_Key of its datagrams, and those of them that announce queue pairs.
        pub application_by: Option<Cow<'static, str>>,
        /// Time of the first packet, in nanoseconds since 1970-01-01 UTC.
        pub first_ns: i64,
        /// Time of the latest packet, in nanoseconds since 1970-01-01 UTC.
        pub last_ns: i64,
        /// Packets recorded, of whatever class: corrupt, trimmed and capture duplicates too.
        pub packets: u64,
        /// Bytes on the wire, with preamble, frame check sequence and inter-frame gap. What was recorded twice counts once.
        pub wire_bytes: u64,
        /// Bytes of RDMA payload, without corrupt and trimmed packets. What was recorded twice counts once.
        pub payload_bytes: u64,
        /// Bytes of RDMA payload sent for the first time.
        pub goodput_bytes: u64,
        /// The PSN space of requests.
        pub requests: Stream,
        /// The PSN space of responses: acknowledgements, data of READs, results of atomics.
        pub responses: Stream,
        /// Packets that acknowledge: ACKs, and responses that carry an acknowledgement.
        pub acks: u64,
        /// NAKs by their code.
        pub naks: Naks,
        /// RNR NAKs: this flow's sender was not ready to receive.
        pub rnr_naks: u64,
        /// Congestion notification packets (CNPs) in this flow. They slow the opposite one.
        pub cnps: u64,
        /// ECN-capable packets, marked ones included; without corrupt and trimmed ones.
        pub ect_packets: u64,
        /// Packets of these that are marked "congestion experienced" (CE).
        pub ce_packets: u64,
        /// Packets with BECN, CNPs apart: in InfiniBand's own networks, answers tell the opposite flow of congestion so.
        pub becn_packets: u64,
        /// Whether its sender sets that mark itself: all packets have it, and no queue can be the reason.
        pub sets_ce: bool,
        /// What became of the packets' ICRCs.
        pub icrc: Icrc,
        /// What became of the packets' VCRCs, which native InfiniBand has; `None` where none was captured.
        pub vcrc: Option<Vcrc>,
        /// Packets by the name of their operation code.
        pub opcodes: BTreeMap<String, u64>,
        /// Messages that the requests carry.
        pub messages: Messages,
        /// Path MTU in bytes of payload.
        pub path_mtu: Option<u16>,
        /// How the path MTU is known.
        pub path_mtu_by: Option<MtuBy>,
        /// How the sender numbers its IPv4 packets.
        pub ip_id: IpId,
        /// What the sender retransmits after a loss.
        pub recovery_mode: RecoveryMode,
        /// Latencies in nanoseconds.
        pub latency_ns: Latencies,
        /// Retransmission timeouts of the sender: the first ones.
        pub timeouts: Vec<Timeout>,
        /// Episodes that the list of episodes lacks: of a flow it has 256 at most, the first ones and the last one; fewer where memory is short.
        pub episodes_not_listed: u64,
        /// What happened when the receiver was not ready; `None` where it always was.
        pub rnr: Option<Rnr>,
        /// How the sender gave up; `None` where it did not, as far as the capture shows it.
        pub gave_up: Option<GaveUp>,
        /// How often the sender tried the same packets since the last answer, to the end of the capture, where that is more often than the largest
        /// retry count allows; `None` otherwise. Its peer is silent, and it may try without end, as Soft-RoCE does with a count of 7.
        pub unanswered_tries: Option<u32>,
        /// When the sender's queue pair gives up, as far as the capture shows it.
        pub retry: Option<Retry>,
        /// Request packets that an acknowledgement covers, in the mean: more than one where the responder coalesces them.
        pub packets_per_ack: Option<f64>,
        /// PSNs as they are on the wire.
        pub psn: Psns,
        /// What the tap showed of the flow's connection.
        pub visibility: Option<Visibility>,
        /// Why figures are missing.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub why: Why,
    }

    /// Packets of one PSN space in one direction.
    pub struct Stream {
        /// Packets recorded, of whatever class.
        pub packets: u64,
        /// Packets whose PSN the sender had sent before.
        pub retransmits: u64,
        /// First transmissions that were overtaken on their way to the tap by a packet sent later: late originals.
        pub out_of_order: u64,
        /// Retransmissions that were overtaken on their way to the tap by a packet sent later.
        pub retransmits_out_of_order: u64,
        /// Packets that are a second record of one transmission; CNPs apart, which have no PSN space.
        pub capture_duplicates: u64,
        /// Late packets, either overtaken or retransmitted: the capture does not tell which.
        pub ambiguous: u64,
        /// Packets whose PSN their sender had used for another packet: it does not conform.
        pub reused_psns: u64,
        /// PSNs between the first and the last that were never seen.
        pub gap_psns: u64,
        /// Bytes of payload in retransmitted packets.
        pub retransmitted_bytes: u64,
        /// Packets retransmitted that were not lost: they had been acknowledged at the tap before, or, of a flow of several paths, answers or a second tap show
        /// that they came late; `None` if the service has no acknowledgements.
        pub spurious: Option<u64>,
        /// Packets by class.
        pub classes: BTreeMap<Class, u64>,
        /// Packets that were retransmitted, late or recorded twice, by class and by the evidence for it.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub evidence: BTreeMap<Class, BTreeMap<Evidence, u64>>,
        /// Retransmission episodes by cause.
        pub triggers: Triggers,
        /// Packets lost, by place.
        pub losses: Losses,
        /// Losses that the capture shows, by place: how often packets were lost, whatever their number.
        pub loss_episodes: LossEpisodes,
        /// How far packets were overtaken; `None` where none was.
        pub reordering: Option<Reordering>,
        /// Why figures are missing.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub why: Why,
    }

    /// Retransmission episodes by cause.
    #[derive(Copy, Eq)]
    pub struct Triggers {
        /// A NAK asked for the packet.
        pub nak: u64,
        /// The sender's timer expired.
        pub timeout: u64,
        /// The receiver had not been ready.
        pub rnr: u64,
        /// A response showed that an earlier one was lost.
        pub implied_nak: u64,
        /// Of responses: a READ was requested again. Why, the requests of the opposite flow say.
        pub repeated_read: u64,
        /// The capture does not show the cause.
        pub unknown: u64,
    }

    /// Packets lost, by place: at least so many, at most so many. `None` where the capture cannot show such losses. Of responses, the data of
    /// READs and the results of atomics count. Of a flow that has ACKs only, these do: one that is lost leaves no trace, so that any may be.
    ///
    /// A receiver that takes packets in order drops what follows a lost packet, until that comes again: whether those packets were lost
    /// too, no capture shows. Where losses are seen to come one by one, the upper bound has as many of them as may be lost at the
    /// rate of the others: one bound of two thousand may be too low. Where losses come in clumps, or nothing is known of that,
    /// it has all of them.
    #[derive(Copy, Eq)]
    pub struct Losses {
        /// Between their sender and the tap.
        pub upstream: Option<Bounds>,
        /// Between the tap and their receiver.
        pub downstream: Option<Bounds>,
        /// They arrived; their acknowledgement was lost.
        pub ack_path: Option<Bounds>,
        /// They were at the tap with a wrong checksum or ICRC.
        pub corrupt: Option<Bounds>,
        /// Switches before the tap cut them to their headers, instead of dropping them.
        pub trimmed: Option<Bounds>,
        /// They passed the tap, and are not in the capture.
        pub capture: Option<Bounds>,
        /// On the network, and the capture, which lost packets itself, does not show where: what NAKs and repeated READs prove beside
        /// the places above. The upper bounds there contain it.
        pub unknown: Option<Bounds>,
    }

    /// Losses that the capture shows, by place. A NAK, a timeout, an implied NAK or a READ requested again for which packets were
    /// retransmitted is one, whatever number of packets was lost with it. None is counted where the packet was only late.
    #[derive(Copy, Eq)]
    pub struct LossEpisodes {
        /// Between their sender and the tap.
        pub upstream: u64,
        /// Between the tap and their receiver.
        pub downstream: u64,
        /// They arrived; their acknowledgement was lost, or came too late.
        pub ack_path: u64,
        /// They were at the tap with a wrong checksum or ICRC.
        pub corrupt: u64,
        /// Switches before the tap cut them to their headers, instead of dropping them.
        pub trimmed: u64,
        /// The capture does not show where.
        pub unknown: u64,
        /// Those of all these whose place is proved.
        pub certain: u64,
    }
}

impl Losses {
    /// Packets lost on the network, wherever. Losses of the capture do not count, nor acknowledgements that were lost: these are packets of
    /// the other direction, and what they acknowledge arrived.
    pub fn on_network(&self) -> Option<Bounds> {
        let places = [self.upstream, self.downstream, self.corrupt, self.trimmed];
        let [least, most] = places.into_iter().flatten().reduce(add)?;
        let [elsewhere, _] = self.unknown.unwrap_or_default();
        let least = least.saturating_add(elsewhere);
        Some([least, most.max(least)])
    }
}

impl LossEpisodes {
    /// All of them.
    pub fn total(&self) -> u64 {
        let LossEpisodes { upstream, downstream, ack_path, corrupt, trimmed, unknown, certain: _ } = self;
        upstream + downstream + ack_path + corrupt + trimmed + unknown
    }
}

fn add([a, b]: Bounds, [c, d]: Bounds) -> Bounds {
    [a.saturating_add(c), b.saturating_add(d)]
}

/// Bounds of two kinds together; where one is not known, those of the other.
pub(crate) fn plus(one: Option<Bounds>, other: Option<Bounds>) -> Option<Bounds> {
    match (one, other) {
        (Some(one), Some(other)) => Some(add(one, other)),
        (one, other) => one.or(other),
    }
}

impl Flow {
    /// Packets lost on the network, of requests and responses.
    pub fn lost(&self) -> Option<Bounds> {
        plus(self.requests.losses.on_network(), self.responses.losses.on_network())
    }

    /// Losses that the capture shows, of requests and responses.
    pub fn loss_episodes(&self) -> u64 {
        self.requests.loss_episodes.total() + self.responses.loss_episodes.total()
    }

    /// The queue pair that its packets go to, with its epoch where that is not the first: "0x12", "0x12/1".
    pub fn queue_pair(&self) -> String {
        match self.epoch {
            0 => format!("{:#x}", self.dest_qp),
            epoch => format!("{:#x}/{epoch}", self.dest_qp),
        }
    }
}

records! {
    /// How far packets were overtaken, in the terms of RFC 4737.
    #[derive(Copy)]
    pub struct Reordering {
        /// Overtaken packets among all packets sent for the first time: 0 to 1.
        pub ratio: f64,
        /// Most packets that overtook a single one.
        pub max_extent_packets: u64,
        /// Longest time that a packet came after the first one that overtook it, in nanoseconds.
        pub max_late_ns: u64,
        /// Overtaken packets that the receiver took for lost and asked for with a NAK.
        pub then_nak: u64,
        /// The order is that of the tap, not of the receiver: it takes packets in their order only, for its sender went back where one was
        /// missing, and it asked for next to none of the many that were overtaken at the tap. Links whose clocks are apart, or a mirror, do that.
        pub is_at_tap: bool,
    }

    /// NAKs by their code.
    #[derive(Copy, Eq)]
    pub struct Naks {
        /// Code 0: a packet is missing; the sender goes back to it.
        pub psn_sequence_error: u64,
        /// Code 1: the request is against the rules; the connection ends.
        pub invalid_request: u64,
        /// Code 2: the remote key, address or right does not fit; the connection ends.
        pub remote_access_error: u64,
        /// Code 3: the responder could not carry the request out; the connection ends.
        pub remote_operational_error: u64,
        /// Code 4: the request of a reliable datagram is against the rules.
        pub invalid_rd_request: u64,
    }
}

impl Naks {
    /// NAKs of all codes.
    pub fn total(&self) -> u64 {
        self.psn_sequence_error + self.fatal()
    }

    /// NAKs that end a connection: all but those for missing packets.
    pub fn fatal(&self) -> u64 {
        self.invalid_request
            + self.remote_access_error
            + self.remote_operational_error
            + self.invalid_rd_request
    }
}

impl Summary {
    /// A quantile as people read it: with "≤" where it is an upper bound.
    pub(crate) fn quantile(&self, value: u64, show: fn(u64) -> String) -> String {
        format!("{}{}", if self.error_ratio > 0.0 { "≤" } else { "" }, show(value))
    }

    /// The smallest and the largest value that a quantile may have.
    pub(crate) fn within(&self, value: u64) -> [u64; 2] {
        let least = value as f64 * (1.0 - self.error_ratio);
        [(least as u64).clamp(self.min.min(value), value), value]
    }
}

records! {
    /// Packets by the state of their ICRC.
    #[derive(Copy, Eq)]
    pub struct Icrc {
        /// It is right.
        pub good: u64,
        /// It is wrong.
        pub bad: u64,
        /// It was not verified: the frame is cut, or verification is off.
        pub unchecked: u64,
    }

    /// Packets of native InfiniBand by the state of their VCRC, which each link computes anew. Of others none was captured.
    #[derive(Copy, Eq)]
    pub struct Vcrc {
        /// It is right.
        pub good: u64,
        /// It is wrong.
        pub bad: u64,
    }

    /// Messages of a flow's requests.
    #[derive(Copy)]
    pub struct Messages {
        /// Messages seen from the first packet to the last; of UD, datagrams.
        pub completed: u64,
        /// Messages whose last packet was not seen.
        pub open: u64,
        /// Messages whose packets do not fit together.
        pub broken: u64,
        /// Sizes of completed messages in bytes.
        pub size_bytes: Option<Summary>,
    }

    /// A distribution. Its unit is that of the field that has it.
    #[derive(Copy)]
    #[cfg_attr(feature = "state", derive(crate::stored::Stored))]
    pub struct Summary {
        /// How many values there are.
        pub count: u64,
        /// The smallest value.
        pub min: u64,
        /// The median. `error_ratio` says how exact it is.
        pub p50: u64,
        /// The 99th percentile. `error_ratio` says how exact it is.
        pub p99: u64,
        /// The largest value.
        pub max: u64,
        /// The sum of all values. It saturates.
        pub sum: u64,
        /// `p50` and `p99` may be too large by this share of themselves, and are never too small. 0: they are exact, as they are of up
        /// to 4,096 values; of more, it is below 0.8 %, unless memory got short.
        pub error_ratio: f64,
    }

    /// Latencies as the tap sees them, in nanoseconds. `None` where there was nothing to measure.
    #[derive(Copy)]
    pub struct Latencies {
        /// From a request packet to the acknowledgement that covers it.
        pub ack_rtt: Option<Summary>,
        /// From the first packet of a message to its acknowledgement.
        pub message_completion: Option<Summary>,
        /// From a READ request to its first response.
        pub read_first: Option<Summary>,
        /// From a READ request to its last response.
        pub read_last: Option<Summary>,
        /// From the packet after a gap to the NAK for the gap.
        pub nak_generation: Option<Summary>,
        /// From a NAK to the first retransmitted packet.
        pub nak_reaction: Option<Summary>,
    }

    /// A retransmission timeout.
    #[derive(Copy, Eq)]
    #[cfg_attr(feature = "state", derive(crate::stored::Stored))]
    pub struct Timeout {
        /// The first retransmitted frame: its number, from 1.
        pub frame: u64,
        /// Nanoseconds of silence before it.
        pub waited_ns: u64,
        /// The exponent t for which 4.096 µs times 2^t is nearest to that.
        pub nearest_exponent: u8,
    }

    /// What happened when the receiver was not ready.
    #[derive(Copy)]
    pub struct Rnr {
        /// How long the RNR NAKs asked to wait, in nanoseconds.
        pub asked_ns: Summary,
        /// How long the sender waited, in nanoseconds.
        pub waited_ns: Option<Summary>,
        /// How often the sender retransmitted too early.
        pub early_resends: u64,
        /// Nanoseconds from RNR NAKs to the retransmitted packets, in sum.
        pub stalled_ns: u64,
    }

    /// How a requester gave up: it sent the same packets again, without progress, and then nothing more.
    #[derive(Copy, Eq)]
    pub struct GaveUp {
        /// What it gave up for.
        pub by: GiveUp,
        /// The PSN that was not acknowledged.
        pub psn: u32,
        /// How often it was sent, the first time included; where the receiver was not ready, how often it said so.
        pub tries: u32,
        /// When it was sent for the first time, in nanoseconds since 1970-01-01 UTC.
        pub first_ns: i64,
        /// When it was sent, or refused, for the last time.
        pub last_ns: i64,
        /// Nanoseconds between two tries, at least.
        pub shortest_ns: Option<u64>,
        /// Nanoseconds between two tries, at most.
        pub longest_ns: Option<u64>,
        /// Nanoseconds from the last try until the capture or the connection ended, in which it sent nothing more.
        pub silent_ns: u64,
        /// When the peer last acknowledged something new; `None` where it never did.
        pub answered_ns: Option<i64>,
        /// Answers to these tries passed the tap: they did not reach the requester.
        pub is_answered: bool,
        /// Whom the peer still sent to after the second try; `None` where the capture has nothing else of it.
        pub peer_sends: Option<StillSends>,
        /// ICMP messages that say that packets to the peer cannot be delivered.
        pub unreachables: u64,
        /// Messages that were sent, and not acknowledged.
        pub messages: u64,
    }

    /// When a queue pair gives up.
    #[derive(Copy, Eq)]
    pub struct Retry {
        /// Acknowledgement timeout: 4.096 µs times two to this. From the connection manager, or the one that the silences before timeouts fit:
        /// IBTA lets a timer run up to four times as long.
        pub timeout_exponent: Option<u8>,
        /// How often it tries again without an answer. From the connection manager; or of a queue pair that gave up, as it did.
        pub count: Option<u8>,
        /// How often it tries again where the receiver is not ready; 7 means no limit.
        pub rnr_count: Option<u8>,
    }

    /// PSNs as they are on the wire.
    #[derive(Copy, Eq)]
    pub struct Psns {
        /// Of the first packet of the flow.
        pub first: u32,
        /// Of the last packet of the flow.
        pub last: u32,
    }
}
