//! Decides whether a repeated packet was recorded twice, or retransmitted.
//!
//! IPv4 identifications decide, if they vary. If they are constant, a single repetition may be either, but several differ:
//!
//! * a mirror copies nearly every packet of a flow, with a nearly constant lag, and its copies come between new packets;
//! * a sender that goes back sends all packets from there on, and then goes on with new PSNs.
//!
//! So an undecided repetition waits for the flow's next packets. What is learned is of a flow: that most of its packets are recorded
//! again, where, and how much later. Other flows may have the same mirror, and are told, as long as nothing of their own contradicts.

use std::{cell::Cell, ops::Range};

use super::{
    ring::{PLACES, Sent},
    step::Packet,
};
use crate::heap::heap;

/// Lags of copies at the same place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, crate::stored::Stored)]
struct Lags {
    shortest: i64,
    longest: i64,
}

impl Lags {
    fn of(lag: i64) -> Lags {
        Lags { shortest: lag, longest: lag }
    }

    /// Both, if a mirror's lag can vary so much.
    fn join(self, other: Lags) -> Option<Lags> {
        let (shortest, longest) = (self.shortest.min(other.shortest), self.longest.max(other.longest));
        Some(Lags { shortest, longest }).filter(|lags| lags.are_of_mirror())
    }

    /// Whether a mirror's lag can vary so much: packets wait nowhere between the two.
    fn are_of_mirror(self) -> bool {
        const LEAST_NS: i64 = 2_000;
        self.longest <= 2 * self.shortest + LEAST_NS
    }

    fn has(self, lag: i64) -> bool {
        (self.shortest - margin(self.shortest)..=self.longest + margin(self.longest)).contains(&lag)
    }
}

/// The copies of a capture, learned over all its flows.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct Copying(Cell<Learned>);

#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
struct Learned {
    /// All duplicates, and those seen at another place than the original.
    copies: u32,
    elsewhere: u32,
    /// Of flows most of whose packets are recorded twice at one place.
    lags: Option<Lags>,
    /// Of so many copies at the same place, by their PSNs: those that a lag told, too.
    at_place: u32,
    seen: Option<Lags>,
    /// Pairs of places of which the second records what the first one has recorded.
    ways: [Option<[u16; 2]>; Copying::WAYS],
}

/// After this number of duplicates, more are expected.
const ENOUGH: u32 = 3;
/// So many of them are needed where a flow had none before.
const MANY: u32 = 64;
/// So many packets from the beginning, a flow may have copies that it had not before.
const YOUNG: u64 = 64;
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
    const WAYS: usize = 8;

    /// A packet was recorded again, at the same place or at another one.
    #[inline]
    pub(crate) fn count(&self, is_at_same_place: bool) {
        let mut learned = self.0.get();
        learned.copies = learned.copies.saturating_add(1);
        learned.elsewhere = learned.elsewhere.saturating_add(!is_at_same_place as u32);
        self.0.set(learned);
    }

    /// A packet was recorded again at the same place, after this time.
    pub(crate) fn see(&self, lag: i64) {
        let mut learned = self.0.get();
        learned.at_place = learned.at_place.saturating_add(1);
        let one = Lags::of(lag);
        learned.seen = Some(learned.seen.map_or(one, |seen| Lags {
            shortest: seen.shortest.min(one.shortest),
            longest: seen.longest.max(one.longest),
        }));
        self.0.set(learned);
    }

    /// Most packets of a flow are recorded again, with these lags.
    fn learn(&self, lags: Lags) {
        let mut learned = self.0.get();
        let joined = learned.lags.map_or(Some(lags), |known| known.join(lags));
        if joined.is_some() && joined != learned.lags {
            learned.lags = joined;
            self.0.set(learned);
        }
    }

    /// Most packets of a flow are recorded again at the second place.
    fn learn_way(&self, way: [u16; 2]) {
        let mut learned = self.0.get();
        if !learned.ways.contains(&Some(way))
            && let Some(free) = learned.ways.iter_mut().find(|way| way.is_none())
        {
            *free = Some(way);
            self.0.set(learned);
        }
    }

    /// Whether the second place records what the first one has recorded, of other flows.
    pub(crate) fn leads(&self, way: [u16; 2]) -> bool {
        self.0.get().ways.contains(&Some(way))
    }

    /// Whether an interface records most packets of some flows twice, as it taps several links: other headers tell, or what packets waited between them.
    pub(crate) fn is_of_several_links(&self, interface: u16) -> bool {
        let Learned { at_place, seen, ways, .. } = self.0.get();
        let is_it = |way: [u16; 2]| way.map(|place| place >> 8) == [interface; 2];
        let is_uneven = seen.is_some_and(|seen| !seen.are_of_mirror());
        at_place >= MANY && is_uneven || ways.into_iter().flatten().any(is_it)
    }

    /// Whether of two interfaces one records what the other one has recorded, of most packets of some flows, whichever way they go.
    pub(crate) fn are_on_one_path(&self, a: u16, b: u16) -> bool {
        let of = |place: u16| place >> 8;
        let is_it = |way: [u16; 2]| [of(way[0]), of(way[1])];
        let ways = self.0.get().ways;
        ways.into_iter().flatten().map(is_it).any(|way| way == [of(a), of(b)] || way == [of(b), of(a)])
    }

    /// Whether duplicates are expected, perhaps at another place.
    pub(crate) fn is_learned(&self) -> bool {
        self.0.get().copies >= ENOUGH
    }

    /// Packets that were recorded again at another place.
    pub(crate) fn elsewhere(&self) -> u64 {
        self.0.get().elsewhere.into()
    }

    /// Whether the interfaces of a capture of so many packets are places of one path: at several, many were recorded. Others may be
    /// parallel links.
    pub(crate) fn is_of_one_path(&self, packets: u64) -> bool {
        self.elsewhere() > packets / 8
    }

    /// Nanoseconds from a packet to its copy at the same place, shortest and longest, once they are learned.
    pub(crate) fn lags(&self) -> Option<[u64; 2]> {
        let Lags { shortest, longest } = self.0.get().lags?;
        Some([shortest, longest].map(|lag| lag.max(0) as u64))
    }

    /// Whether flows of this capture are recorded again after such a lag.
    pub(crate) fn has(&self, lag: i64) -> bool {
        self.0.get().lags.is_some_and(|lags| lags.has(lag))
    }

    /// Whether it is so short that no receiver sends two CNPs of a queue pair so soon, and some packets were recorded again after such a lag.
    fn has_seen_short(&self, lag: i64) -> bool {
        const SHORT_NS: i64 = 3_000;
        let Learned { at_place, seen, .. } = self.0.get();
        lag <= SHORT_NS && at_place >= ENOUGH && seen.is_some_and(|seen| seen.has(lag))
    }

    /// The same, where packets that are alike come one after another: once so many copies were seen, no other comes much sooner or later
    /// than these.
    pub(crate) fn has_among_equals(&self, lag: i64) -> bool {
        const LEAST_NS: i64 = 2;
        let Learned { at_place, seen, .. } = self.0.get();
        let is_as_seen = |Lags { shortest, longest }: Lags| {
            let margin = (longest - shortest) / 4 + LEAST_NS;
            (shortest - margin..=longest + margin).contains(&lag)
        };
        self.has(lag) && seen.filter(|_| at_place >= MANY).is_none_or(is_as_seen)
    }
}

fn margin(lag: i64) -> i64 {
    lag / 8 + 100
}

/// How the packets of a flow are recorded again: at which places after the first one (behind a switch, at a second mirror; a packet
/// passes few), and how many of them.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(crate) struct Places {
    known: [u16; Places::MOST],
    len: u8,
    /// PSNs that were recorded again, of those from `from` on.
    psns: u32,
    from: u64,
    /// Of those at the same place, unless only their lag told what they are.
    lags: Option<Lags>,
}

/// Records of a transmission, and of those before it, that are still to come at a place: a pause can hold back a packet on its way there,
/// and all that its sender repeats of it meanwhile.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Awaited {
    /// Of this transmission. No bits are set: so it begins.
    One = 0,
    None = 1,
    Two = 2,
    /// Not counted any more: what the place records is what another one has recorded.
    Many = 3,
}

impl Awaited {
    fn of(sent: &Sent, place: usize) -> Awaited {
        match sent.flags >> shift(place) & 3 {
            0 => Awaited::One,
            1 => Awaited::None,
            2 => Awaited::Two,
            _ => Awaited::Many,
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
            Awaited::Many => Awaited::Many,
        };
        awaited.set(sent, place);
    }

    /// PSNs of the flow were recorded again: `way`: where first, and where now. With a lag that tells more than what it admits.
    pub(crate) fn note(&mut self, psns: Range<u64>, way: [u16; 2], lag: Option<i64>, copying: &Copying) {
        const LONG: u64 = 4096;
        let [first, now] = way;
        copying.count(first == now);
        if self.psns == 0 {
            self.from = psns.start;
        }
        let n = (psns.end - psns.start).min(LONG) as u32;
        self.psns = self.psns.saturating_add(n);
        let span = psns.end.saturating_sub(self.from);
        if span > LONG {
            (self.from, self.psns) = (self.from + span / 2, self.psns / 2);
        }
        if let Some(lag) = lag.filter(|lag| first == now && *lag < MIRROR_NS) {
            // A mirror that begins to lag otherwise is another one.
            let lags = self.lags.map_or(Some(Lags::of(lag)), |lags| lags.join(Lags::of(lag)));
            match lags {
                Some(_) => self.lags = lags,
                None if !self.are_of_most(psns.end) => self.lags = Some(Lags::of(lag)),
                None => {}
            }
        }
        if self.are_of_most(psns.end) {
            match self.lags.filter(|_| first == now) {
                Some(lags) => copying.learn(lags),
                None if first != now => copying.learn_way(way),
                None => {}
            }
        }
    }

    /// Whether no packet of the flow was recorded again.
    pub(crate) fn are_none(&self) -> bool {
        self.psns == 0
    }

    /// Whether most packets of the flow are recorded again, up to this PSN.
    pub(crate) fn are_of_most(&self, x: u64) -> bool {
        self.psns >= ENOUGH && 2 * u64::from(self.psns) >= x.saturating_sub(self.from)
    }

    /// Whether most packets are recorded again, and here.
    pub(crate) fn has(&self, x: u64, vantage: u16) -> bool {
        self.are_of_most(x) && self.find(vantage).is_some()
    }

    /// Whether most packets are recorded again at the same place, after such a lag. A flow whose copies the lag of others told has none of
    /// its own: it has theirs.
    pub(crate) fn has_lag(&self, x: u64, lag: i64, copying: &Copying) -> bool {
        self.are_of_most(x) && self.lags.map_or_else(|| copying.has(lag), |lags| lags.has(lag))
    }

    /// A packet is retransmitted before some places have recorded the transmission before it.
    pub(crate) fn carry(&self, before: &Sent, again: &mut Sent) {
        for place in 0..self.known().len() {
            let awaited = match Awaited::of(before, place) {
                Awaited::None => Awaited::One,
                Awaited::One => Awaited::Two,
                Awaited::Two | Awaited::Many => Awaited::Many,
            };
            awaited.set(again, place);
        }
    }
}

/// The CNPs of a flow by the place that recorded them. A CNP has no PSN, and where no identification tells a flow's CNPs apart, those of one
/// place are counted, and one more than another place has had is new.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(crate) struct CnpRecords {
    places: [CnpsOfPlace; CnpRecords::MOST],
    len: u8,
    /// The identifications of the last ones, and when they came; and whether these differ.
    recent: [Recent; CnpRecords::RECENT],
    are_told_apart: bool,
}

/// The identification of a CNP, and when it came, in microseconds; 0: there is none.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
struct Recent {
    id: u16,
    us: u32,
}

#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
struct CnpsOfPlace {
    vantage: u16,
    count: u32,
    last: i64,
    /// The last ones, until their copies come.
    open: [Option<i64>; 4],
}

impl CnpRecords {
    const MOST: usize = 4;
    const RECENT: usize = 16;

    /// Whether its identification tells that one was recorded before, or not; `None` where it tells nothing. `is_elsewhere`: no other one came at this place.
    fn is_same(&mut self, id: u16, time: i64, is_elsewhere: bool) -> Option<bool> {
        // These times come again after an hour: no identification is kept so long.
        let us = (time / 1_000) as u32 | 1;
        let is_near =
            |one: &Recent| one.us.wrapping_sub(us).cast_signed().abs() <= (MIRROR_NS / 1_000) as i32;
        let is_same = self.recent.iter().any(|one| one.us != 0 && one.id == id && is_near(one));
        self.are_told_apart |= self.recent[0].us != 0 && self.recent[0].id != id;
        if !is_same {
            self.recent.rotate_right(1);
            self.recent[0] = Recent { id, us };
        }
        // The first one, at a second place: a host that does not count has identifications of 0.
        let is_first = is_same && is_elsewhere && id != 0;
        (self.are_told_apart || is_first).then_some(is_same)
    }

    /// Takes one. Returns whether it was recorded before: at the same place by a mirror that copies all packets, or at another one, if
    /// `is_one_path` or what was learned of these says that packets pass both. More than the most places are not told apart from new CNPs.
    pub(crate) fn is_recorded(
        &mut self,
        (vantage, id): (u16, Option<u16>),
        time: i64,
        copying: &Copying,
        is_one_path: bool,
    ) -> bool {
        let len = (self.len as usize).min(Self::MOST);
        let known = self.places[..len].iter().position(|place| place.vantage == vantage);
        let is_elsewhere = len > 0 && known.is_none();
        if let Some(is_same) = id.and_then(|id| self.is_same(id, time, is_elsewhere)) {
            return is_same;
        }
        let at = match known {
            Some(at) => at,
            None if len == Self::MOST => return false,
            None => {
                self.places[len] = CnpsOfPlace { vantage, last: i64::MIN, ..CnpsOfPlace::default() };
                self.len = len as u8 + 1;
                len
            }
        };
        let is_lag = |lag: i64| copying.has(lag) || copying.has_seen_short(lag);
        let is_copy = |one: &&mut Option<i64>| one.is_some_and(|one| is_lag(time.saturating_sub(one)));
        let open = &mut self.places[at].open;
        if let Some(one) = open.iter_mut().find(is_copy) {
            *one = None;
            return true;
        }
        open.rotate_right(1);
        open[0] = Some(time);
        let others =
            || self.places.iter().enumerate().filter(|&(other, _)| other != at).map(|(_, place)| place);
        let most = others().map(|place| place.count).max().unwrap_or(0);
        // No copy is later. So a place counts that still records, and began with the others.
        let is_recent = |place: &&CnpsOfPlace| time.saturating_sub(place.last) <= MIRROR_NS;
        let count = self.places[at].count.saturating_add(1);
        let mut having = others().filter(is_recent).filter(|place| place.count >= count);
        let is_recorded = having.clone().next().is_some();
        let is_one_path = is_one_path || having.any(|place| copying.are_on_one_path(place.vantage, vantage));
        let count = if is_recorded { count } else { count.max(most.saturating_add(1)) };
        self.places[at] = CnpsOfPlace { count, last: time, ..self.places[at] };
        is_recorded && is_one_path
    }
}

/// Transmissions that were retransmitted so soon that places may record them still. Only identifications tell them from the later ones.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct Replaced(Vec<Sent>);

heap! { Replaced { 0 } }

impl Replaced {
    const MOST: usize = 512;

    /// The one that this record may be of: no mirror is later, but a pause may hold it back on its way to another place.
    pub(crate) fn find(&self, x: u64, p: &Packet) -> Option<&Sent> {
        let is_it = |sent: &&Sent| sent.x == x as u32 && sent.fingerprint == p.fingerprint;
        let is_soon = |sent: &&Sent| sent.vantage != p.vantage || (p.time - sent.time).abs() < MIRROR_NS;
        self.0.iter().rev().find(is_it).filter(is_soon)
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
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct Repeated {
    x: u64,
    end: u64,
    lag: i64,
}

/// Repetitions that wait for the next packets, with the data that their flow will need.
#[derive(Clone, Debug, crate::stored::Stored)]
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

/// So many copies between new packets show that a flow has a mirror, after so many PSNs without any.
pub(crate) fn enough(psns: u64, copying: &Copying) -> u32 {
    // A mirror copies a flow from its first packets on.
    const FEW: u64 = 16;
    if psns < FEW || copying.lags().is_some() { ENOUGH } else { MANY }
}

/// Whether copies that begin so many PSNs after the flow did are those of all its packets.
pub(crate) fn is_young(packets: u64) -> bool {
    packets < YOUNG
}

impl<T> Repetitions<T> {
    pub(crate) fn push(&mut self, x: u64, end: u64, lag: i64, packet: T) {
        self.waiting.push((Repeated { x, end, lag }, packet));
    }

    /// The PSN of the first one.
    pub(crate) fn first(&self) -> Option<u64> {
        self.waiting.first().map(|(repeated, _)| repeated.x)
    }

    /// Removes all repetitions.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = T> + use<T> {
        self.new = 0;
        std::mem::take(&mut self.waiting).into_iter().map(|(_, packet)| packet)
    }

    /// The verdict after the next packet. `hi`: one past the highest PSN before it. `enough`: so many copies show a mirror.
    pub(crate) fn judge(&mut self, next: Behind, hi: u64, enough: u32) -> Verdict {
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
                    (1.., true) if self.waiting.len() + 1 >= enough as usize => Verdict::Copies,
                    (1.., true) => Verdict::Wait,
                    _ => Verdict::Resent,
                }
            }
            Behind::Missing => Verdict::Resent,
        }
    }

    /// Whether new packets followed the last one: who retransmits for a reason repeats what is behind it first.
    pub(crate) fn is_lone(&self) -> bool {
        self.new > 0
    }

    /// The first of those that wait.
    pub(crate) fn first_packet(&self) -> Option<&T> {
        self.waiting.first().map(|(_, packet)| packet)
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
