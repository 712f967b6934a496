//! Credits of native InfiniBand.

use std::collections::BTreeMap;

use super::{
    Why, clean,
    units::{duration, percent, several},
};

records! {
    /// Credits of one end of a link on one virtual lane: how much it may still send. They are the limit (FCCL) that its peer
    /// gave minus what it has sent (FCTBS), modulo 4096, in blocks of 64 bytes: known whenever one of the two sends a link packet.
    pub struct Credits {
        /// The interface that captured its link packets.
        pub link: String,
        /// The capture port, as ERF has it.
        pub port: u8,
        /// The virtual lane.
        pub vl: u8,
        /// Its link packets.
        pub packets: u64,
        /// Those that set flow control up.
        pub init_packets: u64,
        /// Blocks that it sent, by its FCTBS: modulo 4096 between two link packets.
        pub blocks: u64,
        /// The fewest blocks that it had left.
        pub least: Option<u16>,
        /// When that was first so, in nanoseconds since 1970-01-01 UTC.
        pub least_ns: Option<i64>,
        /// The mean over time.
        pub mean: Option<f64>,
        /// The most blocks that it had left.
        pub most: Option<u16>,
        /// Times in which it had none left: it could send nothing.
        pub stalls: Option<u64>,
        /// Nanoseconds of these, in sum.
        pub stalled_ns: Option<u64>,
        /// The longest one, in nanoseconds.
        pub longest_stall_ns: Option<u64>,
        /// These over the time in which credits are known: 0 to 1.
        pub stall_ratio: Option<f64>,
        /// Link packets after which more was sent than the limit allows: it is no number of credits.
        pub over_limit: Option<u64>,
        /// The first 64 of these times.
        pub stall_list: Vec<CreditStall>,
        /// How long a bin of `over_time` is, in nanoseconds.
        pub bin_ns: Option<u64>,
        /// Credits over time: bins that have a link packet of either end, 256 at most.
        pub over_time: Vec<CreditBin>,
        /// Its first link packet, from 1.
        pub first_frame: u64,
        /// Why figures are missing.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub why: Why,
    }

    /// A time without credits.
    #[derive(Copy, Eq)]
    #[cfg_attr(feature = "state", derive(crate::stored::Stored))]
    pub struct CreditStall {
        /// The link packet that shows it, from 1.
        pub frame: u64,
        /// When that came, in nanoseconds since 1970-01-01 UTC.
        pub start_ns: i64,
        /// When a link packet gave credits again, in nanoseconds since 1970-01-01 UTC; or the last one of the capture.
        pub end_ns: i64,
        /// Whether it ended within the capture.
        pub is_over: bool,
    }

    /// Credits in a span of time.
    #[derive(Copy, Eq)]
    #[cfg_attr(feature = "state", derive(crate::stored::Stored))]
    pub struct CreditBin {
        /// When it begins, in nanoseconds since 1970-01-01 UTC.
        pub start_ns: i64,
        /// The fewest blocks left after a link packet in it.
        pub least: u16,
        /// The most.
        pub most: u16,
    }
}

impl Credits {
    /// The credits of one end on one lane, in a sentence.
    pub fn sentence(&self) -> String {
        let place = format!("port {} of {}, VL {}", self.port, clean(&self.link), self.vl);
        let Some((least, most)) = self.least.zip(self.most) else {
            let why = self.why.get("least").map_or("", |why| why.words());
            return format!(
                "{place}: {}; credits are not known: {why}",
                several(self.packets, "link packet")
            );
        };
        let mut text = format!("{place}: {least} to {most} blocks of 64 bytes left");
        if let Some(mean) = self.mean {
            text += &format!(", {mean:.1} on average");
        }
        text += &match (self.stalls.unwrap_or(0), self.stalled_ns, self.stall_ratio) {
            (0, ..) => "; never exhausted".to_owned(),
            (n, ns, ratio) => format!(
                "; exhausted {}, for {} ({})",
                several(n, "time"),
                duration(ns.unwrap_or(0)),
                percent(ratio.unwrap_or(0.0))
            ),
        };
        text
    }
}
