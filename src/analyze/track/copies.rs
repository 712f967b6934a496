//! Decides whether a repeated packet was recorded twice, or retransmitted.
//!
//! IPv4 identifications decide, if they vary. If they are constant, a single repetition may be either, but several differ:
//!
//! * a mirror copies nearly every packet, with a nearly constant lag, and its copies come between new packets; so its lag is
//!   learned over all flows of a capture;
//! * a sender that goes back sends all packets from there on, and then goes on with new PSNs.
//!
//! So an undecided repetition waits for the flow's next packets.

use std::cell::Cell;

use super::ring::{PLACES, Sent};
use crate::{heap::heap, stored::roomy};

/// The lags of capture duplicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Lags {
    /// All duplicates, and those seen at the same place as the original.
    copies: u32,
    seen: u32,
    shortest: i64,
    longest: i64,
}

/// The lags of a capture, learned over all its flows.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Copying(Cell<Lags>);

/// After this number of duplicates, more are expected.
const ENOUGH: u32 = 3;
/// A repetition that comes sooner was recorded twice: no answer can come so soon.
pub(crate) const SURE_NS: i64 = 1_000;
/// A single repetition that comes later was retransmitted: timers are longer.
const TIMER_NS: i64 = 10_000;
/// No mirror has a longer lag.
pub(crate) const MIRROR_NS: i64 = 1_000_000;

/// Whether the clock of the capture may be too coarse to tell these two times apart.
pub(crate) fn is_coarse(before: i64, time: i64) -> bool {
    before % MIRROR_NS == 0 && time % MIRROR_NS == 0
}
/// The largest distance of consecutive copies, in packets.
const NEAR: u64 = 8;
/// The number of new packets that a repetition waits for.
const PATIENCE: u32 = 32;

impl Copying {
    /// A packet was recorded again after this lag, at the same place or at another one.
    #[inline]
    pub(crate) fn learn(&self, lag: i64, at_same_place: bool) {
        let mut lags = self.0.get();
        lags.copies = lags.copies.saturating_add(1);
        if at_same_place {
            (lags.shortest, lags.longest) = match lags.seen {
                0 => (lag, lag),
                _ => (lags.shortest.min(lag), lags.longest.max(lag)),
            };
            lags.seen = lags.seen.saturating_add(1);
        }
        self.0.set(lags);
    }

    /// Whether duplicates are expected, perhaps at another place.
    pub(crate) fn is_learned(&self) -> bool {
        self.0.get().copies >= ENOUGH
    }

    /// Packets that were recorded again at another place.
    pub(crate) fn elsewhere(&self) -> u64 {
        let Lags { copies, seen, .. } = self.0.get();
        copies.saturating_sub(seen).into()
    }

    /// Whether the interfaces of a capture of so many packets are places of one path: at several, many were recorded. Others may be
    /// parallel links.
    pub(crate) fn is_of_one_path(&self, packets: u64) -> bool {
        self.elsewhere() > packets / 8
    }

    /// Nanoseconds from a packet to its copy at the same place, shortest and longest, once they are learned.
    pub(crate) fn lags(&self) -> Option<[u64; 2]> {
        let Lags { seen, shortest, longest, .. } = self.0.get();
        (seen >= ENOUGH).then(|| [shortest, longest].map(|lag| lag.max(0) as u64))
    }

    /// Whether packets are recorded again after such a lag.
    pub(crate) fn has(&self, lag: i64) -> bool {
        let Lags { seen, shortest, longest, .. } = self.0.get();
        seen >= ENOUGH && (shortest - margin(shortest)..=longest + margin(longest)).contains(&lag)
    }
}

fn margin(lag: i64) -> i64 {
    lag / 8 + 100
}

/// The places where packets of a flow are recorded after the first one: behind a switch, at a second mirror. A packet passes few.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Places {
    known: [u16; Places::MOST],
    len: u8,
}

/// Records of a transmission, and of those just before it, that are still to come at a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Awaited {
    /// Of this transmission. No bits are set: so it begins.
    One = 0,
    None = 1,
    Two = 2,
    Three = 3,
}

impl Awaited {
    fn of(sent: &Sent, place: usize) -> Awaited {
        match sent.flags >> shift(place) & 3 {
            0 => Awaited::One,
            1 => Awaited::None,
            2 => Awaited::Two,
            _ => Awaited::Three,
        }
    }

    fn set(self, sent: &mut Sent, place: usize) {
        sent.flags = sent.flags & !(3 << shift(place)) | (self as u16) << shift(place);
    }
}

fn shift(place: usize) -> u32 {
    PLACES + 2 * place as u32
}

impl Places {
    const MOST: usize = (u16::BITS - PLACES) as usize / 2;

    fn known(&self) -> &[u16] {
        &self.known[..(self.len as usize).min(Self::MOST)]
    }

    fn find(&self, vantage: u16) -> Option<usize> {
        self.known().iter().position(|&place| place == vantage)
    }

    /// Whether no record of this transmission is to come at this place: one more is of another transmission.
    pub(crate) fn had(&self, sent: &Sent, vantage: u16) -> bool {
        let had = |place| Awaited::of(sent, place) == Awaited::None;
        // Where it was recorded first, it was retransmitted if another place has it.
        if sent.vantage == vantage { (0..Self::MOST).any(had) } else { self.find(vantage).is_some_and(had) }
    }

    /// A transmission was recorded again at this place. More than the most places are not told apart from new ones.
    pub(crate) fn record(&mut self, sent: &mut Sent, vantage: u16) {
        if self.find(vantage).is_none()
            && let Some(free) = self.known.get_mut(self.len as usize)
        {
            *free = vantage;
            self.len += 1;
        }
        let Some(place) = self.find(vantage) else { return };
        let awaited = match Awaited::of(sent, place) {
            Awaited::None | Awaited::One => Awaited::None,
            Awaited::Two => Awaited::One,
            Awaited::Three => Awaited::Two,
        };
        awaited.set(sent, place);
    }

    /// A packet is retransmitted so soon that some places have not recorded the transmission before it yet.
    pub(crate) fn carry(&self, before: &Sent, again: &mut Sent) {
        for place in 0..self.known().len() {
            let awaited = match Awaited::of(before, place) {
                Awaited::None => Awaited::One,
                Awaited::One => Awaited::Two,
                Awaited::Two | Awaited::Three => Awaited::Three,
            };
            awaited.set(again, place);
        }
    }
}

/// The CNPs of a flow by the interface that recorded them. A CNP has no PSN, and a flow's CNPs are all alike: so those of one place are
/// counted, and one more than another place has had is new.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct CnpRecords {
    places: [CnpsOfPlace; CnpRecords::MOST],
    len: u8,
}

#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct CnpsOfPlace {
    interface: u16,
    count: u32,
    last: i64,
}

impl CnpRecords {
    const MOST: usize = 4;

    /// Takes one. Returns whether another interface has recorded it before, if the interfaces are places of one path. More than the most
    /// interfaces are not told apart from new CNPs.
    pub(crate) fn is_recorded(&mut self, interface: u16, time: i64) -> bool {
        let len = (self.len as usize).min(Self::MOST);
        let at = match self.places[..len].iter().position(|place| place.interface == interface) {
            Some(at) => at,
            None if len == Self::MOST => return false,
            None => {
                self.places[len] = CnpsOfPlace { interface, count: 0, last: i64::MIN };
                self.len = len as u8 + 1;
                len
            }
        };
        let others =
            || self.places.iter().enumerate().filter(|&(other, _)| other != at).map(|(_, place)| place);
        let most = others().map(|place| place.count).max().unwrap_or(0);
        // No copy is later. So a place counts that still records, and began with the others.
        let is_recent = |place: &&CnpsOfPlace| time.saturating_sub(place.last) <= MIRROR_NS;
        let count = self.places[at].count.saturating_add(1);
        let is_recorded = others().filter(is_recent).any(|place| place.count >= count);
        let count = if is_recorded { count } else { count.max(most.saturating_add(1)) };
        self.places[at] = CnpsOfPlace { interface, count, last: time };
        is_recorded
    }
}

/// Transmissions that were retransmitted so soon that places may record them still. Only identifications tell them from the later ones.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Replaced(#[serde(with = "roomy")] Vec<Sent>);

heap! { Replaced { 0 } }

impl Replaced {
    const MOST: usize = 128;

    /// The one that this record may be of: no mirror is later.
    pub(crate) fn find(&self, x: u64, fingerprint: u32, now: i64) -> Option<&Sent> {
        let is_it = |sent: &&Sent| sent.x == x as u32 && sent.fingerprint == fingerprint;
        self.0.iter().rev().find(is_it).filter(|sent| (now - sent.time).abs() < MIRROR_NS)
    }

    /// Takes one. Where there is no room, the older half goes.
    pub(crate) fn push(&mut self, sent: Sent) {
        if self.0.len() == Self::MOST {
            self.0.drain(..Self::MOST / 2);
        }
        self.0.push(sent);
    }

    pub(crate) fn shed(&mut self) {
        self.0 = Vec::new();
    }
}

/// A repetition that waits.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Repeated {
    x: u64,
    end: u64,
    lag: i64,
}

/// Repetitions that wait for the next packets, with the data that their flow will need.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Repetitions<T> {
    waiting: Vec<(Repeated, T)>,
    /// New packets since the first repetition.
    new: u32,
}

impl<T> Default for Repetitions<T> {
    fn default() -> Self {
        Repetitions { waiting: Vec::new(), new: 0 }
    }
}

/// A packet that comes after repetitions that wait.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Behind {
    /// Beyond all others.
    New,
    /// A repetition: its PSN, one past its last PSN, and its lag.
    Again(u64, u64, i64),
    /// A packet that was missing.
    Missing,
}

/// The verdict on the repetitions that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// They wait on.
    Wait,
    /// They were recorded twice.
    Copies,
    /// They were retransmitted.
    Resent,
}

impl<T> Repetitions<T> {
    pub(crate) fn push(&mut self, x: u64, end: u64, lag: i64, packet: T) {
        self.waiting.push((Repeated { x, end, lag }, packet));
    }

    /// Removes all repetitions.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = T> + use<T> {
        self.new = 0;
        std::mem::take(&mut self.waiting).into_iter().map(|(_, packet)| packet)
    }

    /// The verdict after the next packet. `hi`: one past the highest PSN before it.
    pub(crate) fn judge(&mut self, next: Behind, hi: u64) -> Verdict {
        let Some(&(last, _)) = self.waiting.last() else { return Verdict::Wait };
        match next {
            Behind::New if last.end < hi && self.new < PATIENCE => {
                self.new += 1;
                Verdict::Wait
            }
            Behind::New => self.alone(),
            Behind::Again(x, end, lag) => {
                // A READ that asks again from before ends later too.
                let is_near = x >= last.x && x - last.x <= NEAR;
                let is_alike = (lag - last.lag).abs() <= margin(last.lag) && end > last.end && is_near;
                match (self.new, is_alike) {
                    (1.., true) if self.waiting.len() + 1 >= ENOUGH as usize => Verdict::Copies,
                    (1.., true) => Verdict::Wait,
                    _ => Verdict::Resent,
                }
            }
            Behind::Missing => Verdict::Resent,
        }
    }

    /// The verdict if no further packet comes.
    pub(crate) fn alone(&self) -> Verdict {
        match self.waiting.last() {
            Some((last, _)) if self.new == 0 && last.lag < TIMER_NS => Verdict::Copies,
            _ => Verdict::Resent,
        }
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/analyze_track_copies.rs"]
mod tests;
