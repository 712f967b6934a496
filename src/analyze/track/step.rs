//! What a [`Sequence`](super::sequence::Sequence) is told of a packet, and what it says of it, at once or later.

use super::{
    class::{Counts, Place},
    copies::Copying,
    order::IdOrder,
};
use crate::{
    analyze::{model::Class, packet::PacketView},
    wire::Psn,
};

/// A packet of the sequence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) psn: Psn,
    /// PSNs it consumes.
    pub(crate) n: u32,
    pub(crate) time: i64,
    pub(crate) frame: u64,
    /// Payload bytes.
    pub(crate) bytes: u32,
    /// Bytes on the wire.
    pub(crate) l1_bytes: u32,
    pub(crate) fingerprint: u32,
    pub(crate) id: Option<u16>,
    pub(crate) vantage: u16,
    /// An acknowledgement is due for it.
    pub(crate) ack_expected: bool,
}

impl Packet {
    /// Of one PSN: what a READ request takes is known only to who follows the flow's requests.
    #[inline(always)]
    pub(crate) fn of(facts: &impl PacketView, frame: u64) -> Packet {
        Packet {
            psn: facts.psn(),
            n: 1,
            time: facts.time(),
            frame,
            bytes: facts.payload(),
            l1_bytes: facts.l1_bytes(),
            fingerprint: facts.fingerprint(),
            id: facts.ip_id(),
            vantage: facts.vantage(),
            ack_expected: facts.is_ack_expected(),
        }
    }
}

/// What is known beside the sequence itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    /// The shortest round trip seen, in nanoseconds.
    pub(crate) rtt_min: Option<u32>,
    /// The other direction was seen too.
    pub(crate) reverse_visible: bool,
    /// The PSN that was asked for again, and when.
    pub(crate) asked: Option<(u64, i64)>,
    /// Without a round trip: what comes sooner than this is late.
    pub(crate) late_ns: i64,
    /// What comes later than this, unasked, may be the answer to a timeout.
    pub(crate) timeout_ns: i64,
    /// When anything last asked for packets again, of what the other direction shows: where it may not show all, the end of
    /// time.
    pub(crate) asked_time: i64,
    /// What this capture records twice.
    pub(crate) copying: &'a Copying,
    /// A packet that waited: whether it is known to be a copy.
    pub(crate) is_copy: Option<bool>,
    /// One past the largest PSN acknowledged; 0 before the first.
    pub(crate) una: u64,
    pub(crate) ids: &'a IdOrder,
}

/// A packet in a hole, its class undecided.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GapFill {
    pub(crate) x: u64,
    pub(crate) end: u64,
    pub(crate) time: i64,
    pub(crate) frame: u64,
    pub(crate) bytes: u32,
    pub(crate) l1_bytes: u32,
    /// When the hole appeared.
    pub(crate) hole_time: i64,
    /// By the identifications: it was sent before the packet that showed the hole.
    pub(super) sent_before: Option<bool>,
    /// By the identifications: a packet sent later came before it.
    pub(crate) overtaken: bool,
    /// PSNs between it and the highest.
    pub(crate) extent: u32,
}

/// A verdict on a packet that had to wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resolved {
    pub(crate) fill: GapFill,
    pub(crate) class: Class,
    /// It opened a pass of repetitions: its sender went back.
    pub(crate) went_back: bool,
}

impl Resolved {
    /// Of a packet that came again, and is counted.
    pub(crate) fn of(p: &Packet, class: Class) -> Resolved {
        let &Packet { time, frame, bytes, l1_bytes, .. } = p;
        let fill = GapFill { time, frame, bytes, l1_bytes, hole_time: time, ..GapFill::default() };
        Resolved { fill, class, went_back: false }
    }

    /// Nothing tells what it was.
    pub(crate) fn ambiguous(fill: GapFill) -> Resolved {
        Resolved { fill, class: Class::Ambiguous, went_back: false }
    }

    /// Counts it. A retransmission that filled a hole was lost upstream, unless it is known to have come, but wrong.
    pub(crate) fn count(&self, counts: &mut Counts, lost_upstream: u64, start: i64) {
        let fill = &self.fill;
        counts.class(self.class);
        match self.class {
            Class::Retransmission => {
                counts.retransmitted_bytes += fill.bytes as u64;
                counts.overtaken_again += fill.overtaken as u64;
                // What came before the capture began proves nothing.
                let least = if fill.hole_time == start { 0 } else { lost_upstream };
                counts.lost(Place::Upstream, least, lost_upstream);
            }
            Class::LateOriginal => {
                counts.max_extent = counts.max_extent.max(fill.extent);
                let late = (fill.time - fill.hole_time).max(0) as u64;
                counts.max_late_ns = counts.max_late_ns.max(late);
            }
            Class::Ambiguous => counts.lost(Place::Upstream, 0, 1),
            _ => {}
        }
    }
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Step {
    /// `None`: it has to wait.
    pub(crate) class: Option<Class>,
    /// It comes again, so long after the one before, and what comes next is to tell whether it was recorded twice.
    pub(crate) repeated: Option<i64>,
    /// Its PSN, unwrapped.
    pub(crate) x: u64,
    /// PSNs passed over before it.
    pub(crate) gap: u64,
    /// PSNs that the pass of repetitions before this packet passed over for good: repetitions that did not come.
    pub(crate) skipped: u64,
    /// PSNs that the pass at hand passed over just before it.
    pub(crate) pass_gap: u64,
    /// A packet sent later came before it.
    pub(crate) overtaken: bool,
    /// At most so many packets were sent between the one before and this one, that the tap did not see and no gap
    /// accounts for: what was lost at the end of a burst comes again, and looks new. By the identifications, which
    /// Linux advances by a random number after a silence.
    pub(crate) unseen: u64,
    /// Its sender went back.
    pub(crate) went_back: bool,
    /// It comes late: what was taken for lost was not.
    pub(crate) not_lost: bool,
    /// It may be the original of a packet that came as a repetition first: that one was not lost.
    pub(crate) original_late: bool,
    /// When, and in which frame, this PSN was last sent before.
    pub(crate) before: Option<(i64, u32)>,
}
