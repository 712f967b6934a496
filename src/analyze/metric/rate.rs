//! Traffic over time, in bins.

use std::ops::Range;

use super::{
    Metric, Placed, Verdict,
    bins::{Axis, Binned, InBin},
    ratio,
};
use crate::{
    analyze::{
        model::{Class, Event},
        packet::Facts,
        table::run::RunSum,
    },
    dissect::Encapsulation,
    report::{Interval, Reason},
    sums::sums,
    wire::{Ecn, Kind},
};

/// Bins that are kept: when there are more, they become twice as long until there are not.
pub const MAX_BINS: usize = 10_000;

/// The metric. Packets whose class is decided only later are in the bin of their time, too; a copy that shows itself so stays among its
/// packets. Goodput is that of its flow. Bins start at multiples of their length since 1970; bins without traffic are not there.
#[derive(Clone, Debug, crate::stored::Stored)]
pub struct Rate {
    /// `None`: not asked for.
    bins: Option<Binned<Interval>>,
    /// A packet came that could be ECN-capable: one of native InfiniBand is not, and its FECN is a share of nothing.
    has_ecn: bool,
}

impl Rate {
    /// With bins of so many nanoseconds, or none.
    pub fn new(width_ns: Option<u64>) -> Rate {
        let axis = |ns| Axis::since_1970(i64::try_from(ns).unwrap_or(i64::MAX).max(1));
        Rate { bins: width_ns.map(|ns| Binned::new(axis(ns))), has_ecn: false }
    }

    /// How long a bin is, and the bins in the order of time.
    ///
    /// # Errors
    /// They were not asked for.
    pub fn section(&self) -> Result<(u64, Vec<Interval>), Reason> {
        let share = |bin: &Interval| ratio(bin.ce_packets, bin.ect_packets).filter(|_| self.has_ecn);
        let with_ratio = |bin: &Interval| Interval { ce_ratio: share(bin), ..bin.clone() };
        let (bins, width_ns) = self.bins.as_ref().ok_or(Reason::NotRequested)?.get();
        Ok((width_ns as u64, bins.iter().map(with_ratio).collect()))
    }

    #[inline(never)]
    fn add(&mut self, time_ns: i64, traffic: &Interval) {
        let Some(bins) = &mut self.bins else { return };
        if let Some(bin) = bins.entry(time_ns, Interval::default) {
            bin.add(traffic);
        }
        bins.bound(MAX_BINS);
    }
}

impl Metric for Rate {
    #[inline(always)]
    fn on_packet(&mut self, packet: &Facts, place: &Placed) {
        if self.bins.is_some() {
            self.has_ecn |= has_ecn(packet.encapsulation());
            self.add(packet.time(), &Interval::of(packet, place));
        }
    }

    fn on_run(&mut self, run: &RunSum) {
        if self.bins.is_some() {
            self.has_ecn |= has_ecn(run.encapsulation);
            self.add(run.last_ns, &Interval::of_run(run));
        }
    }

    fn on_verdict(&mut self, verdict: &Verdict) {
        if self.bins.is_some() {
            self.add(verdict.time_ns, &Interval::of_class(Some(verdict.class)));
        }
    }

    fn on_frame(&mut self, event: &Event<'_>) {
        if self.bins.is_some() {
            let pause_frames = event.packet.has(Kind::MacControl) as u64;
            let wire_bytes = event.l1_bytes as u64;
            let frame = Interval { packets: 1, wire_bytes, pause_frames, ..Interval::default() };
            self.add(event.record.time.0, &frame);
        }
    }

    fn span(&self, time_ns: i64) -> Range<i64> {
        let axis = self.bins.as_ref().map(Binned::axis);
        axis.map_or(i64::MIN..i64::MAX, |axis| axis.span(axis.at(time_ns)))
    }
}

fn has_ecn(encapsulation: Encapsulation) -> bool {
    !matches!(encapsulation, Encapsulation::Ib | Encapsulation::IbGrh)
}

/// Sums of traffic: all that count packets in bins count them so.
impl Interval {
    /// One packet; of one that was recorded before, only a new mark. What a corrupt packet says proves nothing, and a trimmed one has no
    /// payload.
    pub(super) fn of(packet: &Facts, place: &Placed) -> Interval {
        let ce_packets = place.is_mark(packet) as u64;
        if place.is_capture_duplicate() {
            return Interval { ce_packets, ..Interval::default() };
        }
        let (packets, wire_bytes) = (1, packet.l1_bytes() as u64);
        if let Some(Class::Corrupt | Class::Trimmed) = place.class {
            return Interval { packets, wire_bytes, ..Interval::default() };
        }
        let mut sum = Interval {
            packets,
            wire_bytes,
            ce_packets,
            ect_packets: (packet.mark() == Ecn::CE || packet.ecn() != Ecn::default()) as u64,
            ..Interval::default()
        };
        if packet.opcode().is_cnp() {
            sum.cnps = 1;
        } else if let Some(syndrome) = packet.syndrome() {
            sum.naks = syndrome.is_nak() as u64;
        } else {
            (sum.payload_bytes, sum.goodput_bytes) = (packet.payload() as u64, place.goodput as u64);
        }
        // Acknowledgements come late, too.
        let of_class = Interval::of_class(place.class);
        sums! { sum += of_class: retransmits, out_of_order }
        sum
    }

    /// What counts of a packet's class, when it is known.
    fn of_class(class: Option<Class>) -> Interval {
        Interval {
            retransmits: (class == Some(Class::Retransmission)) as u64,
            out_of_order: (class == Some(Class::LateOriginal)) as u64,
            ..Interval::default()
        }
    }

    pub(super) fn of_run(run: &RunSum) -> Interval {
        Interval {
            packets: run.packets,
            wire_bytes: run.l1_bytes,
            payload_bytes: run.payload,
            goodput_bytes: run.payload,
            ect_packets: if run.ecn == Ecn::default() { 0 } else { run.packets },
            ..Interval::default()
        }
    }
}

impl InBin for Interval {
    fn at(&self, axis: &Axis) -> i64 {
        axis.at(self.start_ns)
    }

    fn put(&mut self, at: i64, axis: &Axis) {
        self.start_ns = axis.start_ns(at);
    }

    fn add(&mut self, other: &Interval) {
        sums! { self += other: packets, wire_bytes, payload_bytes, goodput_bytes, retransmits, out_of_order }
        sums! { self += other: naks, cnps, ce_packets, ect_packets, pause_frames }
    }
}
