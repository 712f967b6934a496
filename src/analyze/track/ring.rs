//! The last transmissions of a flow, by PSN.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use zerocopy::FromZeros;

use crate::{prefetch, wire::Psn};

/// One transmission. All zeros: none.
#[derive(Clone, Copy, Debug, Default, FromZeros)]
pub(crate) struct Sent {
    /// Nanoseconds.
    pub(crate) time: i64,
    /// The frame's number; the low bits.
    pub(crate) frame: u32,
    /// What tells one transmission of a PSN from another.
    pub(crate) fingerprint: u32,
    /// The PSN, unwrapped; the low bits. All ones: none.
    pub(crate) x: u32,
    /// Where it was seen: capture interface and TTL.
    pub(crate) vantage: u16,
    /// How often the PSN was sent.
    pub(crate) count: u8,
    pub(crate) flags: u8,
}

/// The packet asks for an acknowledgement, or ends a message: one may be timed by it.
pub(crate) const ACK_EXPECTED: u8 = 1;
/// The transmission was seen at a second place already.
pub(crate) const SEEN_TWICE: u8 = 2;

/// It came again, and nobody knows yet whether it was sent again.
pub(crate) const UNSURE: u8 = 8;

/// A ring indexed by the PSN's low bits. It grows with the flow's outstanding packets, up to a bound, and as long as all rings
/// together have room: outstanding is what two packets with forged PSNs say.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    slots: Box<[Sent]>,
    room: Option<Room>,
}

/// Packets between a transmission and a late copy of it.
pub(crate) const LATE_COPIES: u64 = 63;
const SMALLEST: usize = 4;
/// Slots that every ring may have.
const FEW: usize = 8;
const LARGEST: usize = 8192;
/// Slots of a flow of which nothing was ever acknowledged, as where one direction is captured: what is outstanding, nobody
/// knows. Senders have less on the way.
const UNANSWERED: usize = 1024;
/// Bytes that all rings of more than [`FEW`] slots have together, 48 MiB: of 256 full ones.
const ROOM: usize = 256 * LARGEST * size_of::<Sent>();

/// What all rings of an analysis share: the bytes that are left.
#[derive(Clone, Debug)]
pub(crate) struct Room(Arc<AtomicUsize>);

impl Room {
    /// So many bytes, or what rings need at most.
    pub(crate) fn of(bytes: usize) -> Room {
        Room(Arc::new(AtomicUsize::new(bytes.min(ROOM))))
    }

    fn take(&self, bytes: usize) -> bool {
        let less = |left: usize| left.checked_sub(bytes);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// What a ring of so many slots takes of the room.
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
    /// From now on it grows within this room.
    pub(crate) fn grow_within(&mut self, room: &Room) {
        self.room = Some(room.clone());
    }

    /// Takes the memory of a ring that nobody needs any more, if that is what it would take anyway.
    pub(crate) fn take_over(&mut self, other: &mut Ring) {
        if other.slots.len() == SMALLEST {
            self.slots = std::mem::take(&mut other.slots);
            self.slots.fill(Sent::default());
        }
    }

    /// The room it grows within.
    pub(crate) fn room(&self) -> Option<&Room> {
        self.room.as_ref()
    }

    /// Fetches where a PSN has its place.
    #[inline(always)]
    pub(crate) fn fetch(&self, psn: Psn) {
        fetch(&self.slots, psn.0 as u64);
    }

    #[inline]
    pub(crate) fn get(&self, x: u64) -> Option<&Sent> {
        let slot = self.slots.get(place(&self.slots, x))?;
        (slot.x == x as u32 && slot.count > 0).then_some(slot)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, x: u64) -> Option<&mut Sent> {
        let at = place(&self.slots, x);
        self.slots.get_mut(at).filter(|slot| slot.x == x as u32 && slot.count > 0)
    }

    /// Whether so many PSNs between the oldest that matters and the newest need no more room, or there is no more.
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

    /// A transmission. `outstanding`: PSNs between the oldest that matters and this one.
    pub(crate) fn put(&mut self, x: u64, outstanding: u64, sent: Sent) {
        self.make_room(outstanding);
        self.put_in_room(x, sent);
    }

    /// The same where there is room.
    #[inline(always)]
    pub(crate) fn put_in_room(&mut self, x: u64, sent: Sent) {
        put(&mut self.slots, x, sent);
    }

    /// The first PSN there may be no room for, while nothing before `una` matters and the first one of all was `base`:
    /// see [`outstanding`].
    pub(crate) fn room_until(&self, base: u64, una: u64) -> u64 {
        let len = self.slots.len() as u64;
        match len {
            _ if len >= LARGEST as u64 || una == 0 && len >= UNANSWERED as u64 => u64::MAX,
            _ if len > LATE_COPIES => (base + len).max(una + len),
            _ => base + len,
        }
    }

    /// Its slots, for who puts transmissions into them and swaps them back. Meanwhile it has those it is given.
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
        for sent in old.iter().filter(|sent| sent.count > 0) {
            self.slots[sent.x as usize & (len - 1)] = *sent;
        }
    }
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.slots)
    }
}

/// So many slots. The system gives zeros, and memory for them only when they are written to: flows whose PSNs jump write to
/// few of very many.
fn empty(len: usize) -> Box<[Sent]> {
    <[Sent]>::new_box_zeroed_with_elems(len).unwrap_or_else(|_| vec![Sent::default(); len].into_boxed_slice())
}

/// Where a PSN has its place. The number of slots is a power of two: there is always one, unless there is no slot.
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

/// Places from one that is written to one that will be soon, and is in another cache line.
pub(crate) const AHEAD: u64 = prefetch::LINE.div_ceil(size_of::<Sent>()) as u64;

/// A transmission goes where its PSN has its place.
#[inline(always)]
pub(crate) fn put(slots: &mut [Sent], x: u64, sent: Sent) {
    let at = place(slots, x);
    if let Some(slot) = slots.get_mut(at) {
        *slot = Sent { x: x as u32, ..sent };
    }
}

/// PSNs that a sequence needs a place for when `x` is put: what is outstanding, and what mirrors may copy late; none
/// that the flow never needed.
#[inline(always)]
pub(crate) fn outstanding(x: u64, base: u64, una: u64) -> u64 {
    let behind = match una {
        0 => UNANSWERED as u64 - 1,
        _ => x.saturating_sub(una).clamp(LATE_COPIES, 1 << 16),
    };
    (x - base).min(behind)
}

#[cfg(test)]
#[path = "../../../tests/unit/analyze_track_ring.rs"]
mod tests;
