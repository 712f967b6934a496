//! What was read, and traffic over time.

use std::collections::BTreeMap;

use super::{Bounds, FrameOrder, IpId, units};
use crate::dissect::Numbers;

records! {
    /// What was read.
    pub struct Capture {
        /// What identifies the capture, whatever its files are called: a hash of its times, frames and bytes, as 16 hexadecimal digits.
        pub id: String,
        /// Names of the files, or of the network interface.
        pub files: Vec<String>,
        /// Of each capture that is in several of these files, rotated or split, their names in the order of time: they were read as one.
        pub parts: Vec<Vec<String>>,
        /// Captures whose clocks were set right when they were merged with the first one: packets that both have show how far they are apart.
        pub set_clocks: Vec<SetClock>,
        /// Captures that were merged with the first one and have no packets in common with it, nor by others between: nothing shows whether their
        /// clocks agree.
        pub untied_files: Vec<String>,
        /// Frames read.
        pub packets: u64,
        /// Frames with a packet of the InfiniBand transport.
        pub rdma_packets: u64,
        /// Frames whose dissection found an error.
        pub malformed_packets: u64,
        /// Packets with a wrong ICRC or IP checksum of queue pairs of which no intact packet came: they are in no flow.
        pub corrupt_without_flow: u64,
        /// Frames of which the capture has only the first part.
        pub truncated_packets: u64,
        /// Answers that are stamped before the packets that they answer: two clocks stamped them, one for each direction.
        pub answers_early: u64,
        /// By so many nanoseconds these clocks are apart, at least; `None` where no answer is early.
        pub clocks_apart_ns: Option<u64>,
        /// Bytes of the frames that are in the capture.
        pub bytes_captured: u64,
        /// Bytes of the frames before the capture cut any, as it says; without preamble and gap, which `wire_bytes` of flows has.
        pub bytes_on_wire: u64,
        /// Time of the first frame in the capture's order, in nanoseconds since 1970-01-01 UTC.
        pub first_ns: Option<i64>,
        /// Time of the latest frame, in nanoseconds since 1970-01-01 UTC.
        pub last_ns: Option<i64>,
        /// Nanoseconds from `first_ns` to `last_ns`.
        pub duration_ns: Option<u64>,
        /// The step of the timestamps in nanoseconds.
        pub timestamp_resolution_ns: Option<u64>,
        /// Frames that have the same time, where a capture gives times to batches of them. `None` where each has its own.
        pub timestamp_batch_frames: Option<u64>,
        /// Nanoseconds from one batch to the next. Shorter times are not known.
        pub timestamp_batch_ns: Option<u64>,
        /// Link types, by the numbers of tcpdump.org (LINKTYPE_).
        pub link_types: Vec<u16>,
        /// Frames without an RDMA packet that were not read to their end, by what is not read, most frames first.
        pub not_decoded: Vec<NotDecoded>,
        /// RDMA packets that are in several IP fragments. They are counted with the length that their first fragments promise.
        pub fragmented_packets: u64,
        /// Places where files are damaged.
        pub problems: Vec<CaptureProblem>,
        /// Mirrored copies that are missing, by the sequence numbers in the mirror's headers; `None` where it has none.
        pub mirror_lost_packets: Option<u64>,
        /// Frames that the capturing system says it dropped; `None` where it does not say.
        pub capture_drops: Option<u64>,
        /// How often time stepped back by more than 50 ns from one frame to the next.
        pub time_steps_back: u64,
        /// The order in which frames are analyzed, where the order of their times is not that of the file: the one in which more
        /// packets have the PSN that their flow expects, or the one asked for. `None` where the two are the same.
        pub frame_order: Option<FrameOrder>,
        /// How far the two orders are apart: the most nanoseconds by which a frame is behind a later one.
        pub order_apart_ns: Option<u64>,
        /// Flows that left the table because there were too many.
        pub evicted_flows: u64,
        /// Flows that gave up detail because all held more memory than they may.
        pub flows_without_detail: u64,
        /// What was learned about senders, the network and the tap. Verdicts stand on it.
        pub learned: Learned,
        /// What this capture can prove and what it cannot, a sentence each.
        pub limitations: Vec<String>,
    }

    /// A capture whose clock was set right, by that of the first capture.
    #[cfg_attr(feature = "state", derive(crate::stored::Stored))]
    pub struct SetClock {
        /// Its name: that of its first file.
        pub file: String,
        /// What its clock shows more than that of the first capture, in nanoseconds. It was subtracted from all of its times.
        pub offset_ns: i64,
        /// How many packets, which it has and a capture before it, show that.
        pub common_packets: u64,
        /// How much faster its clock runs, in parts per million: then `offset_ns` is that of the first packet in common. `None` where one offset
        /// fits all of them.
        pub drift_ppm: Option<f64>,
        /// How far the offset may be off, in nanoseconds: as far as the shortest delays of both directions leave it open. `None` where packets of
        /// one direction only are in common.
        pub error_ns: Option<u64>,
    }

    /// What was learned about senders, the network and the tap.
    pub struct Learned {
        /// Flows by how their senders number IPv4 packets.
        pub ip_id: BTreeMap<IpId, u64>,
        /// Nanoseconds from a packet to its copy, shortest and longest; `None` where no flow has most of its packets recorded twice
        /// at one place.
        pub copy_lag_ns: Option<Bounds>,
        /// The most packets that overtook a single one, over all flows.
        pub reordering_packets: u64,
        /// The longest time that a packet came after the first one that overtook it, over all flows, in nanoseconds.
        pub reordering_ns: u64,
        /// Flows of reliable services of which only one direction was captured.
        pub one_way_flows: u64,
        /// Flows of reliable services.
        pub reliable_flows: u64,
        /// The capture has about one packet in so many: it samples, or the others take other paths. `None` where it has nearly all.
        pub one_in: Option<u64>,
    }

    /// Frames of a kind that is not read.
    #[derive(Eq)]
    pub struct NotDecoded {
        /// What it is: "EtherType 0x88e5 (MACsec)".
        pub what: String,
        /// What its number counts: "EtherType", "IP protocol", "UDP port", "link type", …
        pub kind: String,
        /// The number; `None` where the kind has none.
        pub number: Option<u16>,
        /// What the number stands for, as Wireshark has it, if it is known.
        pub name: Option<String>,
        /// How many frames.
        pub frames: u64,
        /// Their bytes, before the capture cut any.
        pub bytes: u64,
        /// The first of them, from 1.
        pub first_frame: u64,
        /// An RDMA packet or a pause may be in them, which was not found: what a report says of counts is a lower bound. Protocols that are known to
        /// be something else have none.
        pub may_hold_packets: bool,
        /// They are encrypted: nobody without the key can say what is in them.
        pub is_encrypted: bool,
    }

    /// Damage in a file.
    #[derive(Eq)]
    #[cfg_attr(feature = "state", derive(crate::stored::Stored))]
    pub struct CaptureProblem {
        /// The name of the file.
        pub file: String,
        /// Where: bytes from the start of the file, decompressed.
        pub offset: u64,
        /// What is wrong.
        pub what: String,
    }
}

impl Capture {
    /// "x-0.pcap to x-3.pcap: 4 files that are parts of one capture", for each capture in several files.
    pub fn parts_in_words(&self) -> impl Iterator<Item = String> {
        let ends = self.parts.iter().filter_map(|files| Some((files.first()?, files.last()?, files.len())));
        ends.map(|(first, last, files)| {
            format!("{first} to {last}: {files} files that are parts of one capture")
        })
    }

    /// "the clock of b.pcap is 15.4 s behind that of a.pcap: 26,829 packets in common show it; its times are set right".
    pub fn clocks_in_words(&self) -> impl Iterator<Item = String> {
        let first = self.files.first().map_or("", String::as_str);
        self.set_clocks.iter().map(|clock| clock.text(first))
    }

    /// Frames that may hold RDMA packets or pauses which were not found.
    pub fn hidden_frames(&self) -> u64 {
        self.hiding().map(|one| one.frames).sum()
    }

    /// Frames that are encrypted: whether RDMA packets are in them is not known.
    pub fn encrypted(&self) -> impl Iterator<Item = &NotDecoded> {
        self.not_decoded.iter().filter(|one| one.is_encrypted)
    }

    /// Whether it has only the beginning of pause frames, without the times.
    pub(crate) fn has_cut_pauses(&self) -> bool {
        self.not_decoded.iter().any(|one| one.kind == Numbers::CutPause.name())
    }

    /// What these frames are.
    pub fn hiding(&self) -> impl Iterator<Item = &NotDecoded> {
        self.not_decoded.iter().filter(|one| one.may_hold_packets)
    }
}

impl SetClock {
    /// What was done, beside the clock of the first capture.
    pub fn text(&self, first: &str) -> String {
        let SetClock { file, offset_ns, common_packets, .. } = self;
        let way = if *offset_ns > 0 { "ahead of" } else { "behind" };
        let (by, common) =
            (units::duration(offset_ns.unsigned_abs()), units::several(*common_packets, "packet"));
        let drift = self.drift_ppm.map_or_else(String::new, |ppm| {
            format!(" and runs {:.1} ppm {}", ppm.abs(), if ppm > 0.0 { "faster" } else { "slower" })
        });
        let error = match self.error_ns {
            Some(ns) => format!(", to ± {}", units::duration(ns)),
            None => "; how far they may be off is not known, as all of these go one way".to_owned(),
        };
        format!(
            "the clock of {file} is {by} {way} that of {first}{drift}: {common} in common show it; its times are set right{error}"
        )
    }
}

impl NotDecoded {
    /// The capture has only the beginning of these frames: more bytes of each would tell.
    pub fn is_cut(&self) -> bool {
        [Numbers::Cut, Numbers::CutPause].iter().any(|cut| self.kind == cut.name())
    }

    /// Whether it is a transport of its own, and carries no RDMA.
    pub(crate) fn is_other_transport(&self) -> bool {
        self.name.as_deref() == Some("TTPoE")
    }

    /// "20 frames of EtherType 0x88e5 (MACsec)".
    pub fn text(&self) -> String {
        format!("{} of {}", units::several(self.frames, "frame"), self.what)
    }

    /// The first few of these, and how many there are beside them.
    pub fn list<'a>(all: impl Iterator<Item = &'a NotDecoded>) -> String {
        const FEW: usize = 5;
        let all: Vec<String> = all.map(NotDecoded::text).collect();
        let mut text = all[..all.len().min(FEW)].join(", ");
        if all.len() > FEW {
            text += &format!(", and {}", units::several((all.len() - FEW) as u64, "more kind"));
        }
        text
    }
}

impl CaptureProblem {
    /// Damage in a file at an offset.
    pub fn new(file: impl Into<String>, offset: u64, what: impl Into<String>) -> CaptureProblem {
        CaptureProblem { file: file.into(), offset, what: what.into() }
    }
}

records! {
    /// Traffic in a span of time. Its length is [`Report::interval_ns`](super::Head::interval_ns).
    #[cfg_attr(feature = "state", derive(crate::stored::Stored))]
    pub struct Interval {
        /// When it begins, in nanoseconds since 1970-01-01 UTC.
        pub start_ns: i64,
        /// Frames of all kinds. Recorded copies do not count, here and below.
        pub packets: u64,
        /// Bytes on the wire, with preamble, frame check sequence and inter-frame gap.
        pub wire_bytes: u64,
        /// Bytes of RDMA payload, without corrupt and trimmed packets.
        pub payload_bytes: u64,
        /// Bytes of RDMA payload sent for the first time: as flows have them.
        pub goodput_bytes: u64,
        /// Retransmitted packets.
        pub retransmits: u64,
        /// Packets that came out of order: late originals.
        pub out_of_order: u64,
        /// NAKs; RNR NAKs do not count.
        pub naks: u64,
        /// Congestion notification packets.
        pub cnps: u64,
        /// Packets marked "congestion experienced" (CE).
        pub ce_packets: u64,
        /// ECN-capable packets, marked ones included.
        pub ect_packets: u64,
        /// Marked packets among these: 0 to 1. `None` where all is native InfiniBand, whose packets are not ECN-capable.
        pub ce_ratio: Option<f64>,
        /// Pause frames: PFC and 802.3x.
        pub pause_frames: u64,
    }
}
