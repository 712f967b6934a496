//! Bursts that are too short for a mean rate to show.

use std::collections::BTreeMap;

use super::{
    BurstEffect, Why, clean,
    units::{bits, bytes, count, duration, several},
};

records! {
    /// Microbursts: the link of a receiver is busy for a millisecond at most, in a second in which it is not. A burst begins when the
    /// rate over 10 µs reaches half of the link's speed, and ends when it falls below. It is a microburst if the mean of its second, or of
    /// what the capture has of that, is below a quarter of the speed. The receiver is the destination address of the packets.
    pub struct Microbursts {
        /// The speed of the links, in bits per second, where they have one.
        pub speed_bps: Option<u64>,
        /// The rate at which a link is busy, in bits per second.
        pub threshold_bps: Option<u64>,
        /// How many there are.
        pub count: Option<u64>,
        /// How many of them had a mark, CNP, loss or pause in them or within 100 µs after them.
        pub followed: Option<u64>,
        /// How many of them had each of these.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub followed_by: BTreeMap<BurstEffect, u64>,
        /// Bursts that last longer, or are in seconds with a higher mean: these are no microbursts.
        pub other_bursts: Option<u64>,
        /// The largest microbursts, most bytes first: 256 at most.
        pub bursts: Vec<Microburst>,
        /// How many addresses received something.
        pub receiver_count: u64,
        /// The highest rates to each receiver, most bytes first: 256 at most.
        pub receivers: Vec<LinkPeaks>,
        /// Why figures are missing.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub why: Why,
    }

    /// A microburst. Rates are of bytes on the wire.
    pub struct Microburst {
        /// The receiver's address.
        pub receiver: String,
        /// Its first packet, in nanoseconds since 1970-01-01 UTC.
        pub start_ns: i64,
        /// From its first packet to its last one, in nanoseconds.
        pub duration_ns: u64,
        /// Its bytes on the wire.
        pub bytes: u64,
        /// The highest rate over 10 µs, in bits per second.
        pub peak_10us_bps: u64,
        /// The highest rate over 100 µs that end in it, in bits per second.
        pub peak_100us_bps: u64,
        /// The highest rate over a millisecond that ends in it, in bits per second.
        pub peak_1ms_bps: u64,
        /// The highest rate over 10 µs, over the link's speed. Where the tap is before the receiver's link, it may be above 1.
        pub peak_ratio: Option<f64>,
        /// The mean of the receiver's second, in bits per second.
        pub mean_bps: u64,
        /// Flows that had packets in it.
        pub flows: u64,
        /// Addresses that sent these.
        pub senders: u64,
        /// The addresses that sent most: 8 at most.
        pub largest_senders: Vec<BurstSender>,
        /// How many marked packets, CNPs, losses and pause frames were in it, or within 100 µs after it.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub followed_by: BTreeMap<BurstEffect, u64>,
    }

    /// Who sends in a microburst.
    #[derive(Eq)]
    pub struct BurstSender {
        /// The sender's address.
        pub src: String,
        /// Its bytes on the wire, from the burst's first packet until the rate was low again.
        pub bytes: u64,
        /// Its flows.
        pub flows: u64,
    }

    /// The highest rates to a receiver: of all its traffic, in bursts and out of them.
    pub struct LinkPeaks {
        /// The receiver's address.
        pub receiver: String,
        /// Bytes on the wire to it.
        pub wire_bytes: u64,
        /// Bits per second, from the first packet to the last one.
        pub mean_bps: Option<u64>,
        /// The highest rate over 10 µs, in bits per second.
        pub peak_10us_bps: Option<u64>,
        /// The highest rate over 100 µs, in bits per second.
        pub peak_100us_bps: Option<u64>,
        /// The highest rate over a millisecond, in bits per second.
        pub peak_1ms_bps: Option<u64>,
        /// The highest rate over 10 µs, over the link's speed.
        pub peak_ratio: Option<f64>,
        /// Microbursts to it.
        pub bursts: Option<u64>,
    }
}

impl Microbursts {
    /// How many there are, the largest, and what followed, in a sentence.
    pub fn sentence(&self) -> String {
        let n = self.count.unwrap_or(0);
        let mut text = format!(
            "{} of a millisecond at most with {} or more to one receiver",
            several(n, "time"),
            bits(self.threshold_bps.unwrap_or(0) as f64)
        );
        if let Some(largest) = self.bursts.first() {
            text += &format!(
                "; the largest: {} to {} in {}, {} over 10 µs, by {} of {}",
                bytes(largest.bytes),
                clean(&largest.receiver),
                duration(largest.duration_ns),
                bits(largest.peak_10us_bps as f64),
                several(largest.flows, "flow"),
                several(largest.senders, "sender"),
            );
        }
        if let Some(followed) = self.followed.filter(|&n| n > 0) {
            text += &format!("; {} with {}", count(followed), effects(&self.followed_by));
        }
        text
    }
}

/// What bursts were followed by: "marks (3), pauses (1)".
fn effects(all: &BTreeMap<BurstEffect, u64>) -> String {
    all.iter().map(|(effect, &n)| format!("{} ({})", effect.words(), count(n))).collect::<Vec<_>>().join(", ")
}
