//! The last transmissions of a flow, by PSN.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use zerocopy::FromZeros;

#[cfg(feature = "state")]
use crate::stored::{Sink, Spring, Stored};
use crate::{heap::heap, prefetch, wire::Psn};

/// One transmission. All zeros: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromZeros, crate::stored::Stored)]
pub(crate) struct Sent {
    /// Nanoseconds.
    pub(crate) time: i64,
    /// The frame's number; the low bits.
    pub(crate) frame: u32,
    /// A hash of the header fields that differ between two transmissions of one PSN.
    pub(crate) fingerprint: u32,
    /// The PSN, unwrapped; the low bits. All ones: none.
    pub(crate) x: u32,
    /// Where it was seen: capture interface and TTL.
    pub(crate) vantage: u16,
    /// The bits below.
    pub(crate) flags: u16,
}

/// The slot has a transmission.
pub(crate) const SENT: u16 = 1;
/// The PSN was sent before.
pub(crate) const SENT_AGAIN: u16 = 2;
/// The packet requests an acknowledgement, or ends a message: it can be timed.
pub(crate) const ACK_EXPECTED: u16 = 4;
/// The first transmission seen was a repetition.
pub(crate) const RETRANSMITTED: u16 = 8;
/// It was repeated, and it is undecided whether it was retransmitted.
pub(crate) const UNSURE: u16 = 16;
/// A record of it is marked: ECN's CE, or FECN.
pub(crate) const MARKED: u16 = 32;
/// Where the transmission was recorded again: two bits for each of [`Places`](super::copies::Places), from this one on.
pub(crate) const PLACES: u32 = 6;

/// A ring that is indexed by the low bits of PSNs. It grows with the outstanding packets of the flow, up to a bound, and while all
/// rings together have room: forged PSNs can make any number outstanding.
#[derive(Debug, Default, crate::stored::Stored)]
pub(crate) struct Ring {
    slots: Box<[Sent]>,
    room: Option<Room>,
}

heap! { Ring { slots } Sent {} }

/// Most packets between a transmission and a late copy of it.
pub(crate) const LATE_COPIES: u64 = 63;
const SMALLEST: usize = 4;
/// Every ring may have this number of slots.
const FEW: usize = 8;
const LARGEST: usize = 8192;
/// Most slots of a flow without acknowledgements, for example if one direction is captured: the number of outstanding packets
/// is not known then. Senders have fewer.
const UNANSWERED: usize = 1024;
/// Bytes that all rings of more than [`FEW`] slots have together, 48 MiB: of 256 full ones.
const ROOM: usize = 256 * LARGEST * size_of::<Sent>();

/// The bytes that are left for all rings of an analysis.
#[derive(Clone, Debug)]
pub(crate) struct Room(Arc<AtomicUsize>);

impl Room {
    /// Room of `bytes`, or of the most that rings need.
    pub(crate) fn of(bytes: usize) -> Room {
        Room(Arc::new(AtomicUsize::new(bytes.min(ROOM))))
    }

    /// The bound of the memory changes.
    #[cfg(feature = "state")]
    pub(crate) fn rebound(&self, before: usize, now: usize) {
        let left = self.0.load(Ordering::Relaxed);
        self.0.store((left + now.min(ROOM)).saturating_sub(before.min(ROOM)), Ordering::Relaxed);
    }

    fn take(&self, bytes: usize) -> bool {
        let less = |left: usize| left.checked_sub(bytes);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

#[cfg(feature = "state")]
impl Stored for Room {
    fn store(&self, to: &mut Sink<'_>) {
        self.0.load(Ordering::Relaxed).store(to);
    }

    /// A room of its own: the rings of an analysis [share](Ring::return_to) one again afterwards.
    fn restore(from: &mut Spring<'_>) -> Room {
        Room(Arc::new(AtomicUsize::new(usize::restore(from))))
    }
}

/// The slots of a ring in the state of an analysis: how many there are, and those in use.
#[cfg(feature = "state")]
impl Stored for Box<[Sent]> {
    fn store(&self, to: &mut Sink<'_>) {
        let is_used = |slot: &Sent| *slot != Sent::default();
        let used: Vec<(u16, Sent)> =
            (0..).zip(self.iter().copied()).filter(|(_, slot)| is_used(slot)).collect();
        (self.len() as u16, used).store(to);
    }

    fn restore(from: &mut Spring<'_>) -> Box<[Sent]> {
        let (len, used) = <(u16, Vec<(u16, Sent)>)>::restore(from);
        let len = usize::from(len);
        if len > LARGEST || len > 0 && !len.is_power_of_two() {
            return from.damage("a ring whose slots are no power of two");
        }
        let mut slots = if len == 0 { Box::default() } else { empty(len) };
        for (at, sent) in used {
            match slots.get_mut(usize::from(at)) {
                Some(slot) => *slot = sent,
                None => return from.damage("a slot behind the end of a ring"),
            }
        }
        slots
    }
}

/// The bytes that a ring takes of the room.
fn share(slots: usize) -> usize {
    if slots > FEW { slots * size_of::<Sent>() } else { 0 }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if let Some(room) = &self.room {
            room.give_back(share(self.slots.len()));
        }
    }
}

impl Ring {
    /// Sets the room that it takes its memory from.
    pub(crate) fn grow_within(&mut self, room: &Room) {
        self.room = Some(room.clone());
    }

    /// Takes its memory from the same room as all others, after it was read from a file.
    #[cfg(feature = "state")]
    pub(crate) fn return_to(&mut self, room: &Room) {
        if let Some(own) = &mut self.room {
            *own = room.clone();
        }
    }

    /// Takes over the memory of a ring that is no longer needed, if it has the smallest size.
    pub(crate) fn take_over(&mut self, other: &mut Ring) {
        if other.slots.len() == SMALLEST {
            self.slots = std::mem::take(&mut other.slots);
            self.slots.fill(Sent::default());
        }
    }

    /// The room that it takes its memory from.
    pub(crate) fn room(&self) -> Option<&Room> {
        self.room.as_ref()
    }

    /// Prefetches the slot of a PSN.
    #[inline(always)]
    pub(crate) fn fetch(&self, psn: Psn) {
        fetch(&self.slots, psn.0 as u64);
    }

    #[inline]
    pub(crate) fn get(&self, x: u64) -> Option<&Sent> {
        let slot = self.slots.get(place(&self.slots, x))?;
        (slot.x == x as u32 && slot.flags & SENT != 0).then_some(slot)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, x: u64) -> Option<&mut Sent> {
        let at = place(&self.slots, x);
        self.slots.get_mut(at).filter(|slot| slot.x == x as u32 && slot.flags & SENT != 0)
    }

    /// Whether the ring is large enough for this number of outstanding PSNs, or has its largest size.
    #[inline(always)]
    pub(crate) fn has_room_for(&self, outstanding: u64) -> bool {
        outstanding < self.slots.len() as u64 || self.slots.len() >= LARGEST
    }

    #[inline(never)]
    pub(crate) fn make_room(&mut self, outstanding: u64) {
        if !self.has_room_for(outstanding) {
            self.grow(outstanding);
        }
    }

    /// Writes a transmission. `outstanding`: PSNs from the oldest that matters to this one.
    pub(crate) fn put(&mut self, x: u64, outstanding: u64, sent: Sent) {
        self.make_room(outstanding);
        self.put_in_room(x, sent);
    }

    /// Writes a transmission that needs no growth.
    #[inline(always)]
    pub(crate) fn put_in_room(&mut self, x: u64, sent: Sent) {
        put(&mut self.slots, x, sent);
    }

    /// The first PSN that may not have a slot, if nothing before `una` matters and the first PSN is `base`:
    /// see [`outstanding`].
    pub(crate) fn room_until(&self, base: u64, una: u64, unanswered: Unanswered) -> u64 {
        let len = self.slots.len() as u64;
        match len {
            _ if len >= LARGEST as u64 || una == 0 && len >= unanswered.slots() => u64::MAX,
            _ if len > LATE_COPIES => (base + len).max(una + len),
            _ => base + len,
        }
    }

    /// Swaps its slots with others: a run writes into them and swaps them back.
    #[inline(always)]
    pub(crate) fn swap(&mut self, slots: &mut Box<[Sent]>) {
        std::mem::swap(&mut self.slots, slots);
    }

    #[cold]
    fn grow(&mut self, outstanding: u64) {
        let mut len =
            (outstanding.min(LARGEST as u64 - 1) as usize + 1).next_power_of_two().clamp(SMALLEST, LARGEST);
        let more = share(len) - share(self.slots.len());
        if self.room.as_ref().is_some_and(|room| !room.take(more)) {
            len = FEW.min(len);
            if self.slots.len() >= len {
                return;
            }
        }
        let old = std::mem::replace(&mut self.slots, empty(len));
        for sent in old.iter().filter(|sent| sent.flags & SENT != 0) {
            self.slots[sent.x as usize & (len - 1)] = *sent;
        }
    }
}

/// Empty slots. The system provides zeros, and memory only for slots that are written to: flows whose PSNs jump write to few of
/// many slots.
fn empty(len: usize) -> Box<[Sent]> {
    <[Sent]>::new_box_zeroed_with_elems(len).unwrap_or_else(|_| vec![Sent::default(); len].into_boxed_slice())
}

/// The slot of a PSN. The number of slots is a power of two, or 0.
#[inline(always)]
fn place(slots: &[Sent], x: u64) -> usize {
    x as usize & slots.len().wrapping_sub(1)
}

/// See [`Ring::fetch`].
#[inline(always)]
pub(crate) fn fetch(slots: &[Sent], x: u64) {
    if let Some(slot) = slots.get(place(slots, x)) {
        prefetch::line(slot);
    }
}

/// The distance to a slot that will be written soon, and is in another cache line.
pub(crate) const AHEAD: u64 = prefetch::LINE.div_ceil(size_of::<Sent>()) as u64;

/// Writes a transmission into the slot of its PSN.
#[inline(always)]
pub(crate) fn put(slots: &mut [Sent], x: u64, sent: Sent) {
    let at = place(slots, x);
    if let Some(slot) = slots.get_mut(at) {
        *slot = Sent { x: x as u32, ..sent };
    }
}

/// How many slots matter of a flow without acknowledgements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, crate::stored::Stored)]
pub(crate) enum Unanswered {
    #[default]
    Some,
    /// Another place records its packets again: what a slow path carries comes there late, and the first answer behind it.
    All,
}

impl Unanswered {
    #[inline(always)]
    fn slots(self) -> u64 {
        match self {
            Unanswered::Some => UNANSWERED as u64,
            Unanswered::All => LARGEST as u64,
        }
    }
}

/// The number of PSNs that need a slot when `x` is written: the outstanding ones, and those that mirrors may copy late, but none
/// before `base`.
#[inline(always)]
pub(crate) fn outstanding(x: u64, base: u64, una: u64, unanswered: Unanswered) -> u64 {
    let behind = match una {
        0 => unanswered.slots() - 1,
        _ => x.saturating_sub(una).clamp(LATE_COPIES, 1 << 16),
    };
    (x - base).min(behind)
}

#[cfg(test)]
#[path = "../../../tests/unit/analyze_track_ring.rs"]
mod tests;
