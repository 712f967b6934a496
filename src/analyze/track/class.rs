//! What a packet is, and how many there were of each.

use std::ops::{Deref, DerefMut};

use super::lazy::{Lazy, quiet};

/// A packet's class: every packet has exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Class {
    /// The flow's first: nothing before it is missed.
    First,
    /// The expected PSN.
    New,
    /// A PSN beyond the expected one: what lies between was not seen.
    NewAfterGap,
    /// Its sender had sent this PSN before.
    Retransmission,
    /// Overtaken on its way to the tap by a packet sent later.
    LateOriginal,
    /// Late, and either of the two before.
    Ambiguous,
    /// One transmission recorded again.
    CaptureDuplicate,
    /// Its ICRC, or its IP header's checksum, is wrong.
    Corrupt,
    /// So far from the expected PSN that the count begins anew.
    Resync,
    /// Before the first PSN seen: the capture began in the middle.
    BeforeStart,
    /// An acknowledgement of what was acknowledged before.
    RepeatedAck,
    /// In no PSN space that could be followed: datagrams, unknown operation codes.
    Unsequenced,
}

impl Class {
    /// All of them.
    pub const ALL: [Class; 12] = [
        Class::First,
        Class::New,
        Class::NewAfterGap,
        Class::Retransmission,
        Class::LateOriginal,
        Class::Ambiguous,
        Class::CaptureDuplicate,
        Class::Corrupt,
        Class::Resync,
        Class::BeforeStart,
        Class::RepeatedAck,
        Class::Unsequenced,
    ];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Class::First => "first",
            Class::New => "new",
            Class::NewAfterGap => "new_after_gap",
            Class::Retransmission => "retransmission",
            Class::LateOriginal => "late_original",
            Class::Ambiguous => "ambiguous",
            Class::CaptureDuplicate => "capture_duplicate",
            Class::Corrupt => "corrupt",
            Class::Resync => "resync",
            Class::BeforeStart => "before_start",
            Class::RepeatedAck => "repeated_ack",
            Class::Unsequenced => "unsequenced",
        }
    }
}

/// Why a sender sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Trigger {
    /// A NAK asked for this PSN.
    Nak,
    /// Nothing asked, and time had passed.
    Timeout,
    /// The receiver had not been ready.
    Rnr,
    /// A response showed that an earlier one was lost.
    ImpliedNak,
    /// The capture does not show it.
    Unknown,
}

impl Trigger {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Trigger::Nak => "nak",
            Trigger::Timeout => "timeout",
            Trigger::Rnr => "rnr",
            Trigger::ImpliedNak => "implied_nak",
            Trigger::Unknown => "unknown",
        }
    }
}

/// Where a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Place {
    Upstream,
    Downstream,
    AckPath,
    Corrupt,
    Capture,
}

/// At least, at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) least: u32,
    pub(crate) most: u32,
}

impl Bounds {
    pub(crate) fn add(&mut self, least: u64, most: u64) {
        self.least = self.least.saturating_add(least.min(u32::MAX as u64) as u32);
        self.most = self.most.saturating_add(most.min(u32::MAX as u64) as u32);
    }
}

/// The counts of one PSN space in one direction. What only trouble counts is apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) packets: u64,
    new: u64,
    unsequenced: u32,
    first: u16,
    /// What may have been lost upstream, for all that is known, of flows that fall silent: no trouble.
    perhaps: u16,
    trouble: Lazy<Trouble>,
}

/// The counts of a flow that is not only new packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trouble {
    pub(crate) retransmitted_bytes: u64,
    classes: [u64; Class::ALL.len()],
    pub(crate) triggers: [u32; 5],
    /// See [`Counts::lost_at`].
    pub(crate) losses: [Bounds; 5],
    pub(crate) spurious: u32,
    /// Retransmissions that were overtaken too.
    pub(crate) overtaken_again: u64,
    pub(crate) reordered_then_nak: u32,
    pub(crate) max_extent: u32,
    pub(crate) max_late_ns: u64,
}

quiet!(Trouble);

impl Deref for Counts {
    type Target = Trouble;

    fn deref(&self) -> &Trouble {
        &self.trouble
    }
}

impl DerefMut for Counts {
    fn deref_mut(&mut self) -> &mut Trouble {
        &mut self.trouble
    }
}

impl Counts {
    #[inline]
    pub(crate) fn class(&mut self, class: Class) {
        match class {
            Class::New => self.new += 1,
            Class::First if self.first < u16::MAX => self.first += 1,
            Class::Unsequenced if self.unsequenced < u32::MAX => self.unsequenced += 1,
            _ => self.rare_class(class),
        }
    }

    /// So many packets of the expected PSN.
    pub(crate) fn are_new(&mut self, packets: u64) {
        self.new += packets;
    }

    #[cold]
    fn rare_class(&mut self, class: Class) {
        self.classes[class as usize] += 1;
    }

    pub(crate) fn of(&self, class: Class) -> u64 {
        self.classes[class as usize]
            + match class {
                Class::New => self.new,
                Class::First => self.first as u64,
                Class::Unsequenced => self.unsequenced as u64,
                _ => 0,
            }
    }

    /// Whether nothing was wrong, surely lost, late or sent again.
    pub(crate) fn are_quiet(&self) -> bool {
        self.trouble.get().is_none()
    }

    /// Bytes on the heap.
    pub(crate) fn heap(&self) -> usize {
        self.trouble.heap()
    }

    pub(crate) fn lost(&mut self, place: Place, least: u64, most: u64) {
        if least == 0 && most == 0 {
            return;
        }
        self.losses[place as usize].add(least, most.max(least));
    }

    /// So many may have been lost upstream, or none.
    #[inline]
    pub(crate) fn lost_perhaps(&mut self, most: u64) {
        match u16::try_from(most).ok().and_then(|most| self.perhaps.checked_add(most)) {
            Some(sum) => self.perhaps = sum,
            None => self.lost(Place::Upstream, 0, most),
        }
    }

    /// What was lost at this place.
    pub(crate) fn lost_at(&self, place: Place) -> Bounds {
        let mut bounds = self.losses[place as usize];
        if place == Place::Upstream {
            bounds.add(0, self.perhaps as u64);
        }
        bounds
    }

    pub(crate) fn triggered(&mut self, trigger: Trigger) {
        self.triggers[trigger as usize] += 1;
    }
}
