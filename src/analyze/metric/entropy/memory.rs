//! What is remembered of the last transmissions of a flow.

use crate::wire::Psn;

/// PSNs of a flow whose last transmission is remembered.
pub(super) const REMEMBERED: usize = 1 << 11;
/// Times are kept in units of 32 ns, above two bits.
const TICK: u32 = 5;
const BITS: u32 = 2;
const LOW: u32 = (1 << BITS) - 1;
/// It asked for an acknowledgement.
const ASKED: u32 = 1;
/// The tap saw its first transmission: it came in its order.
const FIRST: u32 = 1 << 1;
/// It was a retransmission.
const RESENT: u32 = 1 << 7;

/// A transmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) psn: Psn,
    /// In nanoseconds.
    pub(super) time: i64,
    /// For an acknowledgement, where that is known.
    pub(super) is_asked: Option<bool>,
    /// It came in its order.
    pub(super) is_first: bool,
}

/// The last transmissions of the newest PSNs; without memory until there is one.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(super) struct Memory {
    /// By the PSN: the time with its two bits, the PSN, whether it was a retransmission, and the place of the port.
    ring: Vec<u64>,
}

/// What is kept of one.
#[derive(Clone, Copy)]
struct Noted {
    /// The place of the port, and whether it was a retransmission.
    place: u32,
    /// The time, and the bits below it.
    time: u32,
}

impl Memory {
    /// The last transmission of this PSN had the port of this place.
    pub(super) fn note(&mut self, sent: &Sent, place: usize, is_resent: bool) {
        if self.ring.is_empty() {
            self.ring = vec![u64::MAX; REMEMBERED];
        }
        let &Sent { psn, time, is_asked, is_first } = sent;
        // Where it is not known, nothing is concluded from it.
        let asked = if is_asked.unwrap_or(true) { ASKED } else { 0 };
        let first = if is_first || self.was_first(psn) { FIRST } else { 0 };
        let time = ticks(time) | asked | first;
        let known = psn.0 << 8 | if is_resent { RESENT } else { 0 } | place as u32;
        self.ring[psn.0 as usize % REMEMBERED] = u64::from(time) << u32::BITS | u64::from(known);
    }

    /// The place of the port that the last transmission of this PSN had, if that is remembered.
    pub(super) fn place_of(&self, psn: Psn) -> Option<usize> {
        self.noted(psn).map(|noted| (noted.place & !RESENT) as usize)
    }

    /// Whether the last transmission of this PSN was a retransmission.
    pub(super) fn was_resent(&self, psn: Psn) -> bool {
        self.noted(psn).is_some_and(|noted| noted.place & RESENT != 0)
    }

    /// Whether the tap saw the first transmission of this PSN.
    pub(super) fn was_first(&self, psn: Psn) -> bool {
        self.noted(psn).is_some_and(|noted| noted.time & FIRST != 0)
    }

    /// Whether the last transmission of this PSN asked for an acknowledgement, for all that is known.
    pub(super) fn was_asked(&self, psn: Psn) -> bool {
        self.noted(psn).is_none_or(|noted| noted.time & ASKED != 0)
    }

    /// When the last transmission of this PSN was sent, as seen at this time.
    pub(super) fn sent_at(&self, psn: Psn, now: i64) -> Option<i64> {
        let since = |time: u32| i64::from(ticks(now).wrapping_sub(time & !LOW) >> BITS) << TICK;
        self.noted(psn).map(|noted| now - since(noted.time))
    }

    /// Whether the last transmission of this PSN came behind that of the PSN before, if that is remembered. `None`: it is not remembered itself.
    pub(super) fn is_behind_last(&self, psn: Psn) -> Option<bool> {
        let own = self.noted(psn)?.time | LOW;
        let before = self.noted(psn.plus(u32::MAX));
        Some(before.is_none_or(|before| own.wrapping_sub(before.time).cast_signed() >= 0))
    }

    fn noted(&self, psn: Psn) -> Option<Noted> {
        let there = *self.ring.get(psn.0 as usize % REMEMBERED)?;
        let known = there as u32;
        let noted = || Noted { place: known & 0xff, time: (there >> u32::BITS) as u32 };
        (there != u64::MAX && known >> 8 == psn.0).then(noted)
    }
}

/// A time as it is remembered.
fn ticks(time: i64) -> u32 {
    ((time >> TICK) as u32) << BITS
}
