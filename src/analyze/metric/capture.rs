//! Counts over all frames.

use super::unread::UnreadFrames;
use crate::{analyze::packet::Frame, report::FrameOrder};

/// Counts over the whole capture.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct CaptureCounts {
    pub(crate) packets: u64,
    pub(crate) rdma_packets: u64,
    pub(crate) malformed: u64,
    pub(crate) truncated: u64,
    pub(crate) captured: u64,
    pub(crate) on_wire: u64,
    pub(crate) first: Option<i64>,
    pub(crate) last: i64,
    pub(crate) steps_back: u64,
    /// The order of analysis, where that of times is another than that of the file, and how far the two are apart.
    pub(crate) order: Option<(FrameOrder, u64)>,
    stamps: Stamps,
    /// The coarsest unit of ten that all timestamps are multiples of.
    pub(crate) resolution: Resolution,
    /// The [place] of the last frame; 0 before the first one.
    at: u64,
    pub(crate) link_types: Vec<u16>,
    pub(crate) evicted_flows: u64,
    /// Packets of the transport that are in several IP fragments.
    pub(crate) fragmented: u64,
    pub(crate) unread: UnreadFrames,
    /// By the number of the interface, without the frames since the interface changed.
    interfaces: Vec<OfInterface>,
    /// The counts of all frames when it changed.
    counted: OfInterface,
}

/// What one interface captured.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(crate) struct OfInterface {
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    /// Flows whose first packet it captured.
    pub(crate) flows: u64,
    /// The link type of its last frame.
    pub(crate) link_type: u16,
}

/// Frames of one time.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
struct Stamps {
    /// How often time went on.
    steps: u64,
    /// Times that as many frames have as the time before.
    regular: u64,
    /// Frames that have the present time, and had the one before.
    alike: u64,
    before: u64,
}

impl Stamps {
    /// Time goes on with a frame.
    #[inline(always)]
    fn step(&mut self) {
        self.steps += 1;
        self.regular += u64::from(self.alike == self.before);
        (self.before, self.alike) = (self.alike, 1);
    }
}

/// Frames that have one time, and the time from these to the next ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StampBatch {
    pub(crate) frames: u64,
    pub(crate) step_ns: u64,
}

/// The link type and the interface of a frame, never 0.
#[inline(always)]
fn place(link: u16, interface: u16) -> u64 {
    1 << 32 | (link as u64) << 16 | interface as u64
}

/// Interfaces that are counted.
const MAX_INTERFACES: usize = 1024;

impl CaptureCounts {
    #[inline(always)]
    pub(crate) fn count(&mut self, frame: &Frame) {
        if self.at != place(frame.link, frame.interface) {
            self.change(frame.link, frame.interface, frame.time);
        }
        self.packets += 1;
        self.captured += frame.captured as u64;
        self.on_wire += frame.wire_len as u64;
        self.truncated += frame.is_cut as u64;
        self.malformed += frame.is_malformed as u64;
        let time = frame.time;
        if time > self.last {
            self.last = time;
            self.stamps.step();
        } else if time == self.last {
            self.stamps.alike += 1;
        }
        if !self.resolution.divides(time) {
            self.resolution = self.resolution.divisor_of(time);
        }
    }

    /// Whether the frames have times: not all the same one.
    pub(crate) fn has_times(&self) -> bool {
        self.packets < 2 || self.first != Some(self.last)
    }

    /// Whether batches of frames have common times, as those of some adapters and drivers: nearly all batches are of one size.
    pub(crate) fn batch(&self) -> Option<StampBatch> {
        const SMALLEST: u64 = 4;
        // Times that stepped back were made equal to those before.
        if matches!(self.order, Some((FrameOrder::File, _))) {
            return None;
        }
        let Stamps { steps, regular, .. } = self.stamps;
        let frames = self.packets.checked_div(steps + 1)?;
        let lasted = self.last.saturating_sub(self.first?).max(0) as u64;
        let step_ns = lasted.checked_div(steps)?;
        let is_batched = steps >= 4 && frames >= SMALLEST && regular * 10 >= (steps - 1) * 8;
        (is_batched && step_ns > self.resolution.ns).then_some(StampBatch { frames, step_ns })
    }

    /// What each interface captured, by its number.
    pub(crate) fn interfaces(&self) -> Vec<OfInterface> {
        let mut all = self.interfaces.clone();
        self.add_to(&mut all);
        all
    }

    /// Adds the frames since the interface changed.
    fn add_to(&self, all: &mut [OfInterface]) {
        if let Some(of) = all.get_mut(self.at as u16 as usize) {
            of.frames += self.packets - self.counted.frames;
            of.bytes += self.on_wire - self.counted.bytes;
        }
    }

    /// A frame of another interface or link type than the last one.
    #[cold]
    fn change(&mut self, link: u16, interface: u16, time: i64) {
        let mut all = std::mem::take(&mut self.interfaces);
        self.add_to(&mut all);
        let number = interface as usize;
        if number >= all.len() && number < MAX_INTERFACES {
            all.resize_with(number + 1, OfInterface::default);
        }
        if let Some(of) = all.get_mut(number) {
            of.link_type = link;
        }
        self.interfaces = all;
        (self.counted.frames, self.counted.bytes) = (self.packets, self.on_wire);
        if self.at == 0 {
            (self.first, self.last, self.resolution) = (Some(time), time, Resolution::COARSEST);
        }
        self.at = place(link, interface);
        if !self.link_types.contains(&link) && self.link_types.len() < 32 {
            self.link_types.push(link);
        }
    }

    /// A flow began with a packet of this interface.
    pub(crate) fn flow_began(&mut self, interface: u16) {
        if let Some(of) = self.interfaces.get_mut(interface as usize) {
            of.flows += 1;
        }
    }
}

/// A power of ten, with a test for its multiples that needs no division: multiply by the inverse of its odd part modulo 2^64,
/// rotate right by its factors of two, and compare with the largest quotient (Warren, Hacker's Delight, 10-17).
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(crate) struct Resolution {
    pub(crate) ns: u64,
    inverse: u64,
    quotients: u64,
    twos: u32,
}

impl Default for Resolution {
    fn default() -> Resolution {
        Resolution::of(1)
    }
}

impl Resolution {
    const COARSEST: Resolution = Resolution::of(1_000_000_000);

    const fn of(ns: u64) -> Resolution {
        let twos = ns.trailing_zeros();
        let odd = ns >> twos;
        // Each step doubles the bits that are right; three are to begin with.
        let (mut inverse, mut step) = (odd, 0);
        while step < 5 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
            step += 1;
        }
        Resolution { ns, inverse, quotients: u64::MAX / ns, twos }
    }

    #[inline(always)]
    fn divides(self, time: i64) -> bool {
        time.unsigned_abs().wrapping_mul(self.inverse).rotate_right(self.twos) <= self.quotients
    }

    /// The coarsest one that divides a time too.
    #[cold]
    fn divisor_of(self, time: i64) -> Resolution {
        let mut ns = self.ns;
        while ns > 1 && time % ns as i64 != 0 {
            ns /= 10;
        }
        Resolution::of(ns)
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/analyze_metric_capture.rs"]
mod tests;
