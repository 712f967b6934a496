//! Traffic over time, in bins.

use std::ops::Range;

use super::{Metric, Placed, bins, ratio};
use crate::{
    analyze::{
        model::{Class, Event},
        packet::Facts,
        table::run::RunSum,
    },
    report::{Interval, Reason},
    wire::{Ecn, Kind},
};

/// Bins that are kept: when there are more, they become twice as long until there are not.
pub const MAX_BINS: usize = 10_000;

/// The metric. Packets whose class is decided only later are in their bin, but not among its goodput, retransmissions and
/// late ones: the sums over the bins are at most the flows'. Bins start at multiples of their length since 1970; bins without traffic are not there.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Rate {
    /// 0: not asked for.
    width: i64,
    bins: Vec<Interval>,
    at: usize,
    start: i64,
    /// One past the last nanosecond of the bin at hand.
    end: i64,
}

impl Rate {
    /// With bins of so many nanoseconds, or none.
    pub fn new(width_ns: Option<u64>) -> Rate {
        let width = width_ns.map_or(0, |ns| i64::try_from(ns).unwrap_or(i64::MAX).max(1));
        Rate { width, bins: Vec::new(), at: 0, start: 0, end: i64::MIN }
    }

    /// How long a bin is, and the bins in the order of time.
    ///
    /// # Errors
    /// They were not asked for.
    pub fn section(&self) -> Result<(u64, Vec<Interval>), Reason> {
        let with_ratio = |bin: &Interval| Interval { ce_ratio: ratio(bin.ce, bin.ect), ..bin.clone() };
        match self.width {
            0 => Err(Reason::NotRequested),
            width => Ok((width as u64, self.bins.iter().map(with_ratio).collect())),
        }
    }

    /// Finds the bin of a time outside the one at hand.
    #[cold]
    fn go_to(&mut self, time: i64) {
        let start = bins::floor(time, self.width);
        let after = self.bins.partition_point(|bin| bin.start_ns <= start);
        if after == self.bins.len() && self.bins.last().is_none_or(|last| last.start_ns < start) {
            self.bins.push(Interval { start_ns: start, ..Interval::default() });
            while self.bins.len() > MAX_BINS {
                self.coalesce();
            }
            self.at = self.bins.len() - 1;
        } else {
            // Back in time: to its bin, or the nearest before it, or the first.
            self.at = after.saturating_sub(1);
        }
        self.start = bins::floor(time, self.width);
        self.end = self.start.saturating_add(self.width);
    }

    /// Doubles the length of the bins.
    fn coalesce(&mut self) {
        bins::coalesce(&mut self.bins, &mut self.width, |bin| &mut bin.start_ns, |bin, later| bin.add(later));
    }
}

impl Metric for Rate {
    #[inline(always)]
    fn on_packet(&mut self, packet: &Facts, place: &Placed) {
        if self.width > 0 {
            self.on_packet_asked(packet, place);
        }
    }

    fn on_run(&mut self, run: &RunSum) {
        if self.width > 0
            && let Some(bin) = self.bin(run.last_ns)
        {
            bin.packets += run.packets;
            bin.l1_bytes += run.l1_bytes;
            bin.payload_bytes += run.payload;
            bin.goodput_bytes += run.payload;
            bin.ect += if run.ecn == Ecn::default() { 0 } else { run.packets };
        }
    }

    fn on_frame(&mut self, event: &Event<'_>) {
        if self.width > 0
            && let Some(bin) = self.bin(event.record.time.0)
        {
            bin.packets += 1;
            bin.l1_bytes += event.l1_bytes as u64;
            bin.pause_frames += event.packet.has(Kind::MacControl) as u64;
        }
    }

    fn span(&self, time_ns: i64) -> Range<i64> {
        if self.width == 0 {
            return i64::MIN..i64::MAX;
        }
        let start = bins::floor(time_ns, self.width);
        start..start.saturating_add(self.width)
    }
}

impl Rate {
    #[inline(never)]
    fn on_packet_asked(&mut self, packet: &Facts, place: &Placed) {
        let Some(bin) = self.bin(packet.time()) else { return };
        bin.ce += place.is_mark(packet) as u64;
        if place.is_capture_duplicate() {
            return;
        }
        bin.packets += 1;
        bin.l1_bytes += packet.l1_bytes() as u64;
        if packet.opcode().is_cnp() {
            bin.cnps += 1;
        } else if let Some(syndrome) = packet.syndrome() {
            bin.naks += syndrome.is_nak() as u64;
        } else {
            let payload = packet.contents().payload as u64;
            bin.payload_bytes += payload;
            match place.class {
                Some(Class::First | Class::New | Class::NewAfterGap | Class::Unsequenced | Class::Resync) => {
                    bin.goodput_bytes += payload;
                }
                Some(Class::LateOriginal) => {
                    bin.goodput_bytes += payload;
                    bin.out_of_order += 1;
                }
                Some(Class::Retransmission) => bin.retransmits += 1,
                _ => {}
            }
        }
        bin.ect += (packet.mark() != Ecn::default()) as u64;
    }

    fn bin(&mut self, time: i64) -> Option<&mut Interval> {
        if time < self.start || time >= self.end {
            self.go_to(time);
        }
        self.bins.get_mut(self.at)
    }
}

impl Interval {
    fn add(&mut self, other: &Interval) {
        self.packets += other.packets;
        self.l1_bytes += other.l1_bytes;
        self.payload_bytes += other.payload_bytes;
        self.goodput_bytes += other.goodput_bytes;
        self.retransmits += other.retransmits;
        self.out_of_order += other.out_of_order;
        self.naks += other.naks;
        self.cnps += other.cnps;
        self.ce += other.ce;
        self.ect += other.ect;
        self.pause_frames += other.pause_frames;
    }
}
