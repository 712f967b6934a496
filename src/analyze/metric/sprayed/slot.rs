//! What is known of a PSN.

use crate::heap::heap;

/// Times between two transmissions are remembered in such units.
pub(super) const UNIT_NS: u32 = 128;

/// What is known of a PSN.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(super) struct Slot {
    /// How often the ring was filled before it; 0: nothing is known.
    pub(super) lap: u32,
    /// When its last transmission came, in nanoseconds since the first packet; what is four seconds old is forgotten before.
    pub(super) time: u32,
    /// The place of the last transmission's path, and one; 0: the tap saw none.
    pub(super) path: u16,
    /// The same of the transmission before, which was lost. Of one that was lost before the tap, that is the path whose turn it was.
    pub(super) lost_on: u16,
    /// How long before the last one that came, in units: the most stands for longer. Of what was sent once, whether it was counted as late.
    pub(super) lost_before: u16,
    /// The time stamp of the last transmission, if it has one.
    pub(super) stamp: u16,
    /// SACKs that showed it missing.
    pub(super) shown: u8,
    /// The bits below.
    pub(super) flags: u16,
}

pub(super) const COUNTED_LATE: u16 = 1;

/// A transmission of it came trimmed, or a NACK says that one was.
pub(super) const TRIMMED: u16 = 1;
pub(super) const NACKED_TRIMMED: u16 = 1 << 1;
/// Its receiver refused it.
pub(super) const REFUSED: u16 = 1 << 2;
/// A SACK shows that it has arrived.
pub(super) const ARRIVED: u16 = 1 << 3;
/// It was sent again, as it was lost behind the tap, or before it.
pub(super) const LOST_AFTER: u16 = 1 << 4;
pub(super) const LOST_BEFORE: u16 = 1 << 5;
pub(super) const RESENT: u16 = 1 << 6;
/// A SACK has shown it missing, whichever of its transmissions.
pub(super) const MISSED: u16 = 1 << 7;
/// An answer names it, since its last transmission.
pub(super) const ANSWERED: u16 = 1 << 8;
/// Its last transmission has a time stamp.
pub(super) const STAMPED: u16 = 1 << 9;
/// One came that does not say that it is a retransmission.
pub(super) const FIRST: u16 = 1 << 10;
/// A SACK showed it missing later than answers to what was sent with it came, or a NACK that it is missing where nothing overtakes.
pub(super) const MISSED_LONG: u16 = 1 << 11;
/// It was sent again, and nothing but silence said that it was lost.
pub(super) const UNPROVEN: u16 = 1 << 12;
/// It was sent twice more, and the first transmission, too, is taken for lost behind the tap.
pub(super) const LOST_TWICE: u16 = 1 << 13;

impl Slot {
    /// Whether any of these flags is set.
    pub(super) fn has(&self, flags: u16) -> bool {
        self.flags & flags != 0
    }

    /// How long after the transmission before the last one this is, where that is known.
    pub(super) fn since_first(&self, since: u32) -> Option<u64> {
        let before = u64::from(self.lost_before) * u64::from(UNIT_NS);
        (self.lost_before < u16::MAX).then(|| u64::from(since.wrapping_sub(self.time)) + before)
    }

    /// Whether the packet with this time stamp is the last transmission, or the one before; `None`: that is not told.
    pub(super) fn is_last(&self, stamp: u16) -> Option<bool> {
        const CLOSE: u16 = 4;
        let before = self.stamp.wrapping_sub(stamp);
        match self.has(STAMPED) {
            true if before == 0 => Some(true),
            // As the tap has them, transmissions are as far apart as at their sender, nearly. What takes longer than stamps wrap tells nothing.
            true if self.lost_before < u16::MAX
                && before.abs_diff(self.lost_before) <= self.lost_before / CLOSE =>
            {
                Some(false)
            }
            _ => None,
        }
    }

    /// The place of the last transmission's path.
    pub(super) fn way(&self) -> Option<usize> {
        usize::from(self.path).checked_sub(1)
    }
}

heap! { Slot {} }
