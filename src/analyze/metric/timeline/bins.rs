//! Traffic over time in bins, which become twice as long when there are too many.

use super::super::bins::InBin;
pub use super::super::bins::{Axis, Binned};
use crate::{heap::heap, report::Interval, sums::sums};

/// The length of a bin to begin with.
pub(super) const FINEST_NS: i64 = 1_000;
/// Bins of the whole capture, at most.
pub(super) const MOST: i64 = 1024;

/// One bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, crate::stored::Stored)]
pub struct Bin {
    /// Its number: it begins at the axis's `origin_ns` plus so many times its `width_ns`.
    pub at: u32,
    /// Packets, without those that were recorded twice.
    pub packets: u32,
    /// Bytes on the wire, with preamble, frame check sequence and inter-frame gap.
    pub l1_bytes: u64,
    /// Bytes of payload that was sent for the first time.
    pub goodput_bytes: u64,
    /// Retransmitted packets.
    pub resent: u32,
    /// Packets marked "congestion experienced".
    pub ce: u32,
    /// Congestion notification packets.
    pub cnps: u32,
    /// NAKs of all kinds.
    pub naks: u32,
    /// The highest PSN that was sent as a request by the end of the bin, if the flow has sent one.
    pub sent_psn: Option<u32>,
    /// The highest PSN that was acknowledged by this flow by the end of the bin, if it has acknowledged one.
    pub acked_psn: Option<u32>,
}

heap! { Bin {} }

impl From<&Interval> for Bin {
    fn from(traffic: &Interval) -> Bin {
        let few = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        Bin {
            packets: few(traffic.packets),
            l1_bytes: traffic.wire_bytes,
            goodput_bytes: traffic.goodput_bytes,
            resent: few(traffic.retransmits),
            ce: few(traffic.ce_packets),
            cnps: few(traffic.cnps),
            naks: few(traffic.naks),
            ..Bin::default()
        }
    }
}

impl InBin for Bin {
    fn at(&self, _: &Axis) -> i64 {
        self.at.into()
    }

    fn put(&mut self, at: i64, _: &Axis) {
        self.at = u32::try_from(at).unwrap_or(u32::MAX);
    }

    fn add(&mut self, later: &Bin) {
        sums! { self += later: packets, l1_bytes, goodput_bytes, resent, ce, cnps, naks }
        self.sent_psn = later.sent_psn.or(self.sent_psn);
        self.acked_psn = later.acked_psn.or(self.acked_psn);
    }
}

/// Bins of one flow, or of one class, on the axis of all of them.
pub type Bins = Binned<Bin>;

impl Default for Bins {
    fn default() -> Bins {
        Bins::new(Axis::since_1970(FINEST_NS))
    }
}

impl Bins {
    /// The bin of a time. Times before the origin are in the first one.
    pub(super) fn of(&mut self, axis: &Axis, time_ns: i64) -> Option<&mut Bin> {
        self.set_origin(axis.origin_ns);
        if self.axis().width_ns < axis.width_ns {
            self.widen(axis.width_ns);
        }
        self.entry(time_ns.max(axis.origin_ns), Bin::default)
    }
}
