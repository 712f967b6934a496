//! The input of a [`Sequence`](super::sequence::Sequence) for a packet, and its result, at once or later.

use std::ops::Range;

use super::{
    class::{Counts, Evidence, Place},
    copies::Copying,
    order::IdOrder,
};
use crate::{
    analyze::{model::Class, packet::Facts},
    wire::{Ecn, Psn},
};

/// A packet of the sequence.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(crate) struct Packet {
    pub(crate) psn: Psn,
    /// Number of PSNs that it consumes.
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
    /// Its receiver must acknowledge it.
    pub(crate) ack_expected: bool,
    pub(crate) is_marked: bool,
    /// Its flow has several UDP source ports.
    pub(crate) is_sprayed: bool,
    pub(crate) path_tag: u64,
}

impl Packet {
    /// A packet of one PSN. Only the requests of a flow know how many PSNs a READ consumes.
    #[inline(always)]
    pub(crate) fn of(facts: &Facts, frame: u64) -> Packet {
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
            is_marked: facts.mark() == Ecn::CE,
            is_sprayed: false,
            path_tag: facts.path_tag(),
        }
    }
}

/// When a transmission was recorded, and in which frame: the low bits of its number.
pub(crate) type Recorded = (i64, u32);

/// A packet that comes again sooner, and was not asked for, does so for no timeout.
pub(crate) const SHORTEST_TIMEOUT_NS: i64 = 20_000;

/// Evidence from outside of the sequence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    /// The shortest round trip seen, in nanoseconds.
    pub(crate) rtt_min: Option<u32>,
    /// Answers are stamped after what they made their requester do: which packets were asked for shows only later.
    pub(crate) is_apart: bool,
    /// Where many packets are late, so may answers be stamped early: by so much.
    pub(crate) spread_ns: i64,
    /// The other direction was seen too.
    pub(crate) reverse_visible: bool,
    /// The PSN that was requested again, and when: the newest one.
    pub(crate) asked: Option<(u64, i64)>,
    /// When this very packet was requested again last, before it came. Receivers that keep early packets ask for many.
    pub(crate) was_asked: Option<i64>,
    /// This tap has recorded it cut to its headers.
    pub(crate) was_trimmed: bool,
    /// Without a known round trip, a packet that comes sooner than this is late.
    pub(crate) late_ns: i64,
    /// A packet that comes later than this without a NAK may follow a timeout.
    pub(crate) timeout_ns: i64,
    /// When a packet was last requested again, by the other direction; `i64::MAX` if the other direction may not show all requests.
    pub(crate) asked_time: i64,
    /// The lags of capture duplicates.
    pub(crate) copying: &'a Copying,
    /// For a packet that waited: whether it is a capture duplicate.
    pub(crate) is_copy: Option<bool>,
    /// So many packets came before this one. A READ takes many PSNs, and is one of them.
    pub(crate) age: u64,
    /// One past the largest PSN acknowledged; 0 before the first.
    pub(crate) una: u64,
    /// When something was acknowledged last.
    pub(crate) last_progress: i64,
    pub(crate) ids: &'a IdOrder,
    /// A packet that is sent again has the operation and the length that it had: READ responses may begin anew in the middle.
    pub(crate) is_same_again: bool,
}

impl Context<'_> {
    /// Whether a NAK for this PSN came since then.
    pub(super) fn is_asked_since(&self, x: u64, time: i64) -> bool {
        self.asked.is_some_and(|(asked, at)| asked == x && at > time)
    }

    /// Whether this PSN is the first one that is not acknowledged, and nothing was for as long as a timeout.
    pub(super) fn has_timed_out(&self, x: u64, time: i64) -> bool {
        x == self.una && time.saturating_sub(self.last_progress) >= self.timeout_ns
    }
}

/// A packet in a hole, its class undecided.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(crate) struct GapFill {
    pub(crate) x: u64,
    pub(crate) end: u64,
    pub(crate) psn: Psn,
    pub(crate) path_tag: u64,
    pub(crate) time: i64,
    pub(crate) frame: u64,
    pub(crate) bytes: u32,
    pub(crate) l1_bytes: u32,
    /// When the hole appeared, its first PSN, and the number of its PSNs then.
    pub(crate) hole_time: i64,
    pub(crate) hole_first: u64,
    pub(crate) hole_psns: u32,
    /// By the identifications, it was sent before the packet that showed the hole.
    pub(super) sent_before: Option<bool>,
    /// By the identifications, a packet that was sent later came before it.
    pub(crate) overtaken: bool,
    /// PSNs between it and the highest.
    pub(crate) extent: u32,
    /// A timer may have expired before it.
    pub(crate) timed_out: bool,
    /// Everything before it is acknowledged.
    pub(crate) is_due: bool,
    /// Its flow has several UDP source ports.
    pub(crate) is_sprayed: bool,
    /// When it was requested again, before it came.
    pub(super) asked: Option<i64>,
    /// The tap had recorded it cut to its headers.
    pub(super) was_trimmed: bool,
    /// A pass of repetitions that began after its hole appeared had come as far.
    pub(super) is_in_pass: bool,
    /// It is the next packet of a pass of repetitions: neither a silence nor a NAK for it came since the packet before.
    pub(crate) goes_on: bool,
    /// A pass of repetitions had left it out.
    pub(super) was_left_out: bool,
    /// So many nanoseconds after the packet before it.
    pub(crate) silent: i64,
    /// See [`Step::unseen`].
    pub(crate) unseen: u64,
    /// See [`Step::is_next_sent`].
    pub(crate) is_next_sent: bool,
}

impl GapFill {
    /// Whether it is of a longer hole, of which nobody asked for the first PSN: `asked`. Captures lose packets in bursts, and what is repeated
    /// for another loss may fill the hole of such a burst.
    pub(crate) fn may_be_of_capture(&self, asked: impl Fn(u64) -> bool) -> bool {
        const LONG: u32 = 4;
        self.hole_psns >= LONG && !asked(self.hole_first)
    }
}

/// A verdict on a packet that had to wait.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(crate) struct Resolved {
    pub(crate) fill: GapFill,
    pub(crate) class: Class,
    pub(crate) evidence: Evidence,
    /// It opened a pass of repetitions: its sender went back.
    pub(crate) went_back: bool,
    /// It belongs to a pass of repetitions, opened it or came in its order.
    pub(crate) in_pass: bool,
    /// From which PSN to which the pass left them out just before it.
    pub(crate) left_out: (u64, u64),
}

impl Resolved {
    /// The verdict on a repetition that is counted already.
    pub(crate) fn of(p: &Packet, class: Class) -> Resolved {
        let &Packet { psn, path_tag, time, frame, bytes, l1_bytes, .. } = p;
        let fill =
            GapFill { psn, path_tag, time, frame, bytes, l1_bytes, hole_time: time, ..GapFill::default() };
        Resolved::by(fill, class, Evidence::Run)
    }

    /// No evidence decides.
    pub(crate) fn ambiguous(fill: GapFill) -> Resolved {
        Resolved::by(fill, Class::Ambiguous, Evidence::Unknown)
    }

    /// The verdict on a packet in a hole.
    pub(super) fn by(fill: GapFill, class: Class, evidence: Evidence) -> Resolved {
        Resolved { fill, class, evidence, went_back: false, in_pass: false, left_out: (0, 0) }
    }

    /// Counts the verdict. A retransmission filled a hole: the original was lost upstream, unless it came corrupt. `proved`, `perhaps`:
    /// how many were lost.
    pub(crate) fn count(&self, counts: &mut Counts, proved: u64, perhaps: u64) {
        let fill = &self.fill;
        counts.decided(self.class, self.evidence);
        match self.class {
            Class::Retransmission => {
                counts.trouble_mut().retransmitted_bytes += fill.bytes as u64;
                counts.trouble_mut().overtaken_again += fill.overtaken as u64;
                counts.lost(Place::Upstream, proved.min(perhaps), perhaps);
            }
            Class::LateOriginal => {
                let trouble = counts.trouble_mut();
                trouble.max_extent = trouble.max_extent.max(fill.extent);
                let late = (fill.time - fill.hole_time).max(0) as u64;
                trouble.max_late_ns = trouble.max_late_ns.max(late);
            }
            Class::Ambiguous => counts.lost(Place::Upstream, 0, 1),
            _ => {}
        }
    }
}

/// The result for a packet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Step {
    /// `None`: it has to wait.
    pub(crate) class: Option<Class>,
    pub(crate) evidence: Evidence,
    /// It is a repetition with this lag, and the next packet must decide whether it was recorded twice.
    pub(crate) repeated: Option<i64>,
    /// Its PSN, unwrapped.
    pub(crate) x: u64,
    /// PSNs skipped before it.
    pub(crate) gap: u64,
    /// PSNs that the pass of repetitions before this packet left out: repetitions that did not come.
    pub(crate) skipped: u64,
    /// PSNs that the current pass left out just before it.
    pub(crate) pass_gap: u64,
    /// Those of them that it may have to send again.
    pub(crate) left_out: Range<u64>,
    /// They are among the `unseen` ones: the sender may have dropped the rest of the pass.
    pub(crate) is_dropped: bool,
    /// A packet sent later came before it.
    pub(crate) overtaken: bool,
    /// The most packets that were sent between the previous one and this one, unseen by the tap and not in a gap. Packets that were
    /// lost at the end of a burst are retransmitted, and look new. The number follows from the identifications, which Linux advances by
    /// a random number after a silence.
    pub(crate) unseen: u64,
    /// By the identifications, its sender sent nothing between the previous packet and this one.
    pub(crate) is_next_sent: bool,
    /// Its sender went back.
    pub(crate) went_back: bool,
    /// A timeout may have expired before this repetition, within one pass of repetitions.
    pub(crate) timed_out: bool,
    /// It comes late: a packet that counted as lost was not lost.
    pub(crate) not_lost: bool,
    /// It may be the original of a packet whose repetition came first: then the original was not lost.
    pub(crate) original_late: bool,
    /// That was the only one.
    pub(crate) is_second: bool,
    /// Time and frame of the previous transmission of this PSN.
    pub(crate) before: Option<Recorded>,
}
