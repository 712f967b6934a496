//! What two or more taps saw of the same packets: the result of [`taps`](crate::taps).

use std::{borrow::Cow, collections::BTreeMap};

use super::{CaptureProblem, Class, Fate, OrderBy, Why};

/// The name and number of the schema.
pub const SCHEMA: &str = "rdmawire.diff/1";

/// The JSON Schema of [`Diff`].
pub fn schema() -> serde_json::Value {
    super::field::Types::document::<Diff>("Diff")
}

records! {
    /// The comparison of captures that were made at several places of a path.
    pub struct Diff {
        /// [`SCHEMA`].
        pub schema: Cow<'static, str>,
        /// The captures, in the order in which they were given.
        pub taps: Vec<Tap>,
        /// The stretches between neighbours of that order.
        pub segments: Vec<Segment>,
        /// Packets that did not arrive as they were sent, by time.
        pub losses: Vec<Loss>,
        /// Losses that are counted, but are not in the list because it was full.
        pub losses_omitted: u64,
        /// Damage in the captures, and where their reading was ended.
        pub problems: Vec<CaptureProblem>,
    }

    /// One capture.
    #[derive(Eq)]
    pub struct Tap {
        /// The capture's name.
        pub name: String,
        /// How many frames.
        pub frames: u64,
        /// Packets of the InfiniBand transport that were compared.
        pub packets: u64,
        /// Packets that were not compared, because there were too many flows.
        pub untracked: u64,
        /// The time of the first frame, in nanoseconds since 1970-01-01 UTC by this tap's clock.
        pub first_ns: Option<i64>,
        /// The time of the last frame.
        pub last_ns: Option<i64>,
        /// The tick of this tap's clock in nanoseconds: all its times are multiples of it.
        pub tick_ns: u64,
    }

    /// The stretch between two taps.
    pub struct Segment {
        /// The two taps, as indices into [`Diff::taps`].
        pub taps: [usize; 2],
        /// The clocks of the two taps.
        pub clock: Clock,
        /// The two directions. One that has no packets is missing.
        pub directions: Vec<Direction>,
        /// Packets that were given up before the window of time was over, since too many packets were waiting: they count as
        /// not seen by the other tap.
        pub decided_early: u64,
    }

    /// Clock offset, second tap minus first one: a line through time.
    pub struct Clock {
        /// The offset in nanoseconds, at the time of `at_ns`.
        pub offset_ns: Option<f64>,
        /// The first matched packet's time by the first tap's clock.
        pub at_ns: Option<i64>,
        /// How much faster the second clock runs, in parts per million.
        pub drift_ppm: Option<f64>,
        /// How much the drift may differ from that.
        pub drift_error_ppm: Option<f64>,
        /// The largest error of the offset and so of every delay, at any time of the capture, in nanoseconds. It holds if the
        /// clocks drift evenly, by at most 500 ppm. Half of it or more comes from the shortest delays of the two directions: no
        /// measurement at two taps tells how they share the round trip.
        pub error_ns: Option<f64>,
        /// Why figures are missing.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub why: Why,
    }

    /// Packets that pass one tap first.
    pub struct Direction {
        /// The first tap, as an index into [`Diff::taps`].
        pub from: usize,
        /// The second tap.
        pub to: usize,
        /// What became of them.
        pub counts: Passage,
        /// Delay of all of them.
        pub delay: Delay,
        /// Delay by the DSCP that the packets have at the first tap.
        pub dscp: BTreeMap<u8, Delay>,
        /// How often a DSCP became another one.
        pub dscp_changes: Vec<DscpChange>,
        /// How many hops are between the taps (difference of TTL), and of how many packets.
        pub hops: BTreeMap<i16, u64>,
        /// The flows, most losses first.
        pub flows: Vec<Flow>,
    }

    /// One flow between two taps.
    pub struct Flow {
        /// Source address.
        pub src: String,
        /// Destination address.
        pub dst: String,
        /// Destination queue pair.
        pub dest_qp: u32,
        /// The virtual network (VNI) of the tunnel that it is in, at the first tap that sees it in one.
        pub vni: Option<u32>,
        /// How it is known which tap comes first.
        pub order_by: OrderBy,
        /// What became of its packets.
        pub counts: Passage,
        /// Their delay.
        pub delay: Delay,
    }

    /// What became of packets between two taps.
    #[derive(Copy, Eq)]
    pub struct Passage {
        /// Packets at the first tap, without those that it recorded twice.
        pub sent: u64,
        /// Packets of which the second tap saw the same bytes, apart from what routers change.
        pub delivered: u64,
        /// Packets that the second tap did not see, and that no gap of its capture explains.
        pub lost: u64,
        /// Packets among the lost and the damaged ones that had been sent before.
        pub lost_retransmissions: u64,
        /// Packets that came with a wrong ICRC, and had a right one.
        pub corrupted: u64,
        /// Packets that came with a wrong checksum of the IP header alone, and had a right one.
        pub bad_ip_checksum: u64,
        /// Packets whose payload a switch cut away.
        pub trimmed: u64,
        /// Packets that the second tap did not record: they were acknowledged, and never retransmitted, or a third tap saw them.
        pub unrecorded: u64,
        /// Packets from before the second capture began or after it ended.
        pub outside: u64,
        /// Packets that only the second tap has: the first one did not record them.
        pub appeared: u64,
        /// Second and further copies at the second tap, made by the network or by its mirror.
        pub duplicated: u64,
        /// Second and further copies at the first tap. They are not traffic.
        pub recorded_twice: u64,
        /// Packets that came after one which passed the first tap later.
        pub late: u64,
        /// Packets that were marked "congestion experienced" between the taps.
        pub newly_ce: u64,
        /// Packets that could be marked at the first tap, and cannot at the second one: a device between the taps cleared ECN.
        pub ecn_cleared: u64,
        /// Packets whose DSCP is another one at the second tap.
        pub dscp_changed: u64,
        /// Packets whose TTL is lower at the second tap.
        pub ttl_lowered: u64,
        /// Packets at the first tap whose PSN had been sent before, as the analysis of its capture has them.
        pub retransmitted: u64,
    }

    /// Delay between two taps, in nanoseconds. With many packets, the percentiles are those of a sample.
    pub struct Delay {
        /// How many packets it is computed from.
        pub samples: u64,
        /// The shortest delay. `None` where the offset of the clocks is not known, as the other two.
        pub min_ns: Option<i64>,
        /// The median.
        pub p50_ns: Option<i64>,
        /// The 99th percentile.
        pub p99_ns: Option<i64>,
        /// The longest.
        pub max_ns: Option<i64>,
        /// Queueing: the median's distance from the shortest. The offset of the clocks does not change it.
        pub queueing_p50_ns: Option<i64>,
        /// The 99th percentile's distance from the shortest.
        pub queueing_p99_ns: Option<i64>,
        /// The longest one's distance from the shortest.
        pub queueing_max_ns: Option<i64>,
    }

    /// A DSCP that became another one.
    #[derive(Copy, Eq)]
    pub struct DscpChange {
        /// At the first tap.
        pub from: u8,
        /// At the second tap.
        pub to: u8,
        /// Packets.
        pub packets: u64,
    }

    /// A packet that did not arrive as it was sent.
    #[derive(Eq)]
    pub struct Loss {
        /// What became of it.
        pub fate: Fate,
        /// The tap that it passed: its place in the order of the captures, from 0.
        pub from: usize,
        /// The tap that it did not pass, or not as it was, likewise.
        pub to: usize,
        /// The frame's number in the first tap's capture, from 1.
        pub frame: u64,
        /// When the first tap saw it, in nanoseconds since 1970-01-01 UTC.
        pub time_ns: i64,
        /// The number of the damaged frame in the second tap's capture.
        pub arrived_as: Option<u64>,
        /// Source address.
        pub src: String,
        /// Destination address.
        pub dst: String,
        /// Destination queue pair.
        pub dest_qp: u32,
        /// The virtual network (VNI) of the tunnel that it is in, at the first tap that sees it in one.
        pub vni: Option<u32>,
        /// Packet sequence number.
        pub psn: u32,
        /// The name of the operation code.
        pub opcode: Cow<'static, str>,
        /// Its class at the first tap: whether it was a retransmission.
        pub class: Class,
    }
}

tables_of! { Diff {
    "diff_taps": (TapNumber, &Tap), "A capture of a comparison.", |of| (0..).zip(&of.taps).map(|(tap, one)| (TapNumber { tap }, one));
    "diff_segments": (Between, DecidedEarly, &Clock), "The clocks of two neighbours on a path.",
        |of| of.segments.iter().map(|one| {
            let [first, second] = one.taps;
            (of.between(first, second), DecidedEarly { decided_early: one.decided_early }, &one.clock)
        });
    "diff_directions": (Between, Whole, Hops), "Packets that pass one tap first: what became of them, and their delay.",
        |of| of.directions().map(|(between, one)| {
            (between, Whole { counts: one.counts, delay: one.delay.clone() }, Hops { hops: one.hops.clone() })
        });
    "diff_delays": (Between, Dscp, &Delay), "Delay between two taps of packets with one DSCP at the first.",
        |of| of.directions().flat_map(|(between, one)| {
            one.dscp.iter().map(move |(&dscp, delay)| (between.clone(), Dscp { dscp }, delay))
        });
    "diff_dscp_changes": (Between, &DscpChange), "A DSCP that became another one between two taps.",
        |of| of.directions().flat_map(|(between, one)| one.dscp_changes.iter().map(move |change| (between.clone(), change)));
    "diff_flows": (Between, &Flow), "A flow between two taps: what became of its packets, and their delay.",
        |of| of.directions().flat_map(|(between, one)| one.flows.iter().map(move |flow| (between.clone(), flow)));
    "diff_losses": (Between, &Loss), "A packet that did not arrive as it was sent.",
        |of| of.losses.iter().map(|one| (of.between(one.from, one.to), one));
} }

records! {
    /// The number of a capture in a comparison.
    struct TapNumber {
        /// Its place in the order in which captures were given, from 0.
        pub tap: usize,
    }

    /// Two taps.
    struct Between {
        /// The name of the tap that packets pass first; of clocks, of the one that was given first.
        pub from_tap: String,
        /// The name of the other tap.
        pub to_tap: String,
    }

    /// What was decided before its time.
    struct DecidedEarly {
        /// Packets that were given up before the window of time was over: they count as not seen by the other tap.
        pub decided_early: u64,
    }

    /// What became of packets.
    struct Whole {
        /// What became of them.
        pub counts: Passage,
        /// Their delay.
        pub delay: Delay,
    }

    /// Hops between two taps.
    struct Hops {
        /// How many hops are between the taps (difference of TTL), and of how many packets.
        pub hops: BTreeMap<i16, u64>,
    }

    /// A class of packets.
    struct Dscp {
        /// The DSCP at the first tap.
        pub dscp: u8,
    }
}

impl Diff {
    fn between(&self, from: usize, to: usize) -> Between {
        let name = |at: usize| self.taps.get(at).map_or_else(String::new, |tap| tap.name.clone());
        Between { from_tap: name(from), to_tap: name(to) }
    }

    fn directions(&self) -> impl Iterator<Item = (Between, &Direction)> {
        let all = self.segments.iter().flat_map(|segment| &segment.directions);
        all.map(|one| (self.between(one.from, one.to), one))
    }

    /// The sum over all segments and directions.
    pub fn total(&self) -> Passage {
        self.directions().fold(Passage::default(), |sum, (_, direction)| sum + direction.counts)
    }

    /// Whether two neighbours have packets, and none in common: then nothing can be told of what is between them.
    pub fn is_apart(&self) -> bool {
        let has_packets = |at: &usize| self.taps.get(*at).is_some_and(|tap| tap.packets > 0);
        self.segments
            .iter()
            .any(|segment| segment.directions.is_empty() && segment.taps.iter().all(has_packets))
    }
}

impl Passage {
    /// Packets that did not arrive as they were sent.
    pub fn undelivered(&self) -> u64 {
        self.lost + self.corrupted + self.bad_ip_checksum + self.trimmed
    }
}

impl std::ops::Add for Passage {
    type Output = Passage;

    fn add(self, other: Passage) -> Passage {
        Passage {
            sent: self.sent + other.sent,
            delivered: self.delivered + other.delivered,
            lost: self.lost + other.lost,
            lost_retransmissions: self.lost_retransmissions + other.lost_retransmissions,
            corrupted: self.corrupted + other.corrupted,
            bad_ip_checksum: self.bad_ip_checksum + other.bad_ip_checksum,
            trimmed: self.trimmed + other.trimmed,
            unrecorded: self.unrecorded + other.unrecorded,
            outside: self.outside + other.outside,
            appeared: self.appeared + other.appeared,
            duplicated: self.duplicated + other.duplicated,
            recorded_twice: self.recorded_twice + other.recorded_twice,
            late: self.late + other.late,
            newly_ce: self.newly_ce + other.newly_ce,
            ecn_cleared: self.ecn_cleared + other.ecn_cleared,
            dscp_changed: self.dscp_changed + other.dscp_changed,
            ttl_lowered: self.ttl_lowered + other.ttl_lowered,
            retransmitted: self.retransmitted + other.retransmitted,
        }
    }
}
