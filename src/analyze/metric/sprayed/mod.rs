//! Requests that are sprayed over paths and acknowledged selectively, of MRC and of Ultra Ethernet: which of them were retransmissions, what was lost and where,
//! and what each path carried.

mod home;
mod way;

use std::collections::VecDeque;

use home::Home;
pub(crate) use way::{Entropy, Ways};

use super::{
    crossings::Crossings,
    paths::{Carried, OfFlow},
    turns::{Place, Turns},
};
use crate::{
    analyze::track::distribution::{Distribution, Totals},
    heap::heap,
    report::{FlowPath, Summary},
};

/// PSNs that are remembered.
const REMEMBERED: usize = 1 << 12;
/// Times between two transmissions are remembered in such units.
const UNIT_NS: u32 = 128;
/// Messages that are remembered.
const MAX_MESSAGES: usize = 1 << 10;
/// A PSN is missing, and not only late, if so many SACKs showed it so.
const SHOWN: u8 = 3;
/// After a request to skip a path, so many packets may still take it, or a window of them: they are on their way, or chosen.
const GRACE: u64 = 256;
/// What so many packets in order show of a tap, if they took so many paths: it is where they were sent, as paths differ by more than a packet.
const IN_ORDER: u64 = 64;
const SEVERAL_PATHS: usize = 4;
/// So many times tell how soon what is sent is shown to have arrived.
const ENOUGH_SHOWN: u64 = 8;

/// Requests of one sender to one receiver.
#[derive(Debug, crate::stored::Stored)]
pub(crate) struct Sprayed {
    /// One past the highest PSN, counted on through wraps.
    hi: u64,
    /// Packets that were beyond all before.
    ahead: u64,
    /// How many bits a PSN has.
    bits: u32,
    /// One past the highest PSN up to which all have arrived, as SACKs say; `None` before the first.
    acked: Option<u64>,
    /// One past the highest PSN that has arrived, as they say.
    newest: u64,
    /// The last packet, if it was a retransmission.
    last_again: Option<u64>,
    begin: i64,
    /// What is known of the last PSNs.
    ring: Vec<Slot>,
    ways: Ways,
    turns: Turns,
    /// What came to a second tap, and which tap is next to the sender.
    crossings: Crossings,
    home: Home,
    messages: VecDeque<Message>,
    /// From a packet to the acknowledgement that it caused, without retransmissions.
    ack_rtt: Distribution,
    min_rtt: Option<u64>,
    longest_rtt: u64,
    /// From a packet to the first SACK that shows it, whichever packet caused that; without retransmissions.
    shown_after: Totals,
    /// How long behind one that was sent later packets came, at most, without the bit of retransmissions.
    latest: u32,
    /// The same, of all of them.
    late_by: Totals,
    /// Answers say whether they are to a retransmission.
    says_again: bool,
    /// When the packet came that caused the last SACK.
    cause: Option<u32>,
    /// Answers that name the packet that caused them.
    answers: u64,
    completion: Distribution,
    /// The receive window, in packets; 0: not known.
    pub(crate) window: u64,
    pub(crate) sums: Sums,
}

/// What is counted of them.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(crate) struct Sums {
    pub(crate) packets: u64,
    /// Retransmissions: they say so, or their PSN came before, or was NACKed.
    pub(crate) again: u64,
    /// Those that say so.
    pub(crate) rtx: u64,
    /// Those by their PSN.
    pub(crate) inferred: u64,
    pub(crate) both: u64,
    /// Those that say so, and of which PSNs tell nothing: no packet behind was there to show them missing.
    untold: u64,
    pub(crate) lost_before: u64,
    pub(crate) lost_after: u64,
    /// Of what was sent again, these were lost, or late on a path that is slow, or nothing but silence said that they were lost: see [`lost_or_late`](super::paths::lost_or_late).
    pub(crate) lost_or_late: u64,
    pub(crate) spurious: u64,
    pub(crate) reordered: u64,
    pub(crate) max_extent: u64,
    pub(crate) marked: u64,
    pub(crate) trimmed: u64,
    /// PSNs that SACKs showed missing below one that had arrived.
    pub(crate) missing: u64,
    /// Packets that took a path long after its receiver had asked to skip it.
    pub(crate) after_skip: u64,
    pub(crate) messages: u64,
    pub(crate) completed: u64,
    most_outstanding: u64,
}

/// What is known of a PSN.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
struct Slot {
    /// How often the ring was filled before it; 0: nothing is known.
    lap: u32,
    /// When its last transmission came, in nanoseconds since the first packet; what is four seconds old is forgotten before.
    time: u32,
    /// The place of the last transmission's path, and one; 0: the tap saw none.
    path: u16,
    /// The same of the transmission before, which was lost. Of one that was lost before the tap, that is the path whose turn it was.
    lost_on: u16,
    /// How long before the last one that came, in units: the most stands for longer. Of what was sent once, whether it was counted as late.
    lost_before: u16,
    /// The time stamp of the last transmission, if it has one.
    stamp: u16,
    /// SACKs that showed it missing.
    shown: u8,
    /// The bits below.
    flags: u16,
}

const COUNTED_LATE: u16 = 1;

/// A transmission of it came trimmed, or a NACK says that one was.
const TRIMMED: u16 = 1;
const NACKED_TRIMMED: u16 = 1 << 1;
/// Its receiver refused it.
const REFUSED: u16 = 1 << 2;
/// A SACK shows that it has arrived.
const ARRIVED: u16 = 1 << 3;
/// It was sent again, as it was lost behind the tap, or before it.
const LOST_AFTER: u16 = 1 << 4;
const LOST_BEFORE: u16 = 1 << 5;
const RESENT: u16 = 1 << 6;
/// A SACK has shown it missing, whichever of its transmissions.
const MISSED: u16 = 1 << 7;
/// An answer names it, since its last transmission.
const ANSWERED: u16 = 1 << 8;
/// Its last transmission has a time stamp.
const STAMPED: u16 = 1 << 9;
/// One came that does not say that it is a retransmission.
const FIRST: u16 = 1 << 10;
/// A SACK showed it missing later than answers to what was sent with it came, or a NACK that it is missing where nothing overtakes.
const MISSED_LONG: u16 = 1 << 11;
/// It was sent again, and nothing but silence said that it was lost.
const UNPROVEN: u16 = 1 << 12;
/// It was sent twice more, and the first transmission, too, is taken for lost behind the tap.
const LOST_TWICE: u16 = 1 << 13;

/// A message that is not complete.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct Message {
    id: u16,
    first_ns: i64,
    last: Option<u64>,
}

heap! {
    Sprayed { ring, ways, turns, crossings, messages, ack_rtt, completion }
    Slot {}
    Message {}
}

/// A packet at the tap.
#[derive(Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) carried: Carried,
    pub(crate) is_rtx: bool,
    /// When it was sent, by its sender's clock, in units of 128 ns.
    pub(crate) stamp: Option<u16>,
    pub(crate) is_trimmed: bool,
    /// Its receiver takes what is in order only: a sender repeats all behind what was lost.
    pub(crate) is_ordered: bool,
}

/// What a receiver says of the path of a packet.
#[derive(Clone, Copy, Default)]
pub(crate) struct Said {
    /// The packet came marked.
    pub(crate) is_marked: bool,
    /// The path is not to be used any more.
    pub(crate) is_skipped: bool,
    /// The path by its entropy value, where the answer has one.
    pub(crate) entropy: Option<u32>,
    /// The time stamp of the packet.
    pub(crate) echo: Option<u16>,
    /// The packet was a retransmission.
    pub(crate) is_again: bool,
}

/// What tells of which requests an answer is, each step more than the one before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// PSNs near this one were sent.
    Near,
    /// The tap saw this one.
    Sent,
    /// It took this path.
    Path,
}

/// Why a packet was not taken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    Trimmed,
    /// Something before it has not arrived.
    OutOfOrder,
    Otherwise,
}

impl Sums {
    /// A packet that is no retransmission comes so far behind the highest one.
    fn comes_behind(&mut self, extent: u64) {
        self.reordered += 1;
        self.max_extent = self.max_extent.max(extent);
    }
}

impl Slot {
    fn has(&self, flags: u16) -> bool {
        self.flags & flags != 0
    }

    /// How long after the transmission before the last one this is, where that is known.
    fn since_first(&self, since: u32) -> Option<u64> {
        let before = u64::from(self.lost_before) * u64::from(UNIT_NS);
        (self.lost_before < u16::MAX).then(|| u64::from(since.wrapping_sub(self.time)) + before)
    }

    /// Whether the packet with this time stamp is the last transmission, or the one before; `None`: that is not told.
    fn is_last(&self, stamp: u16) -> Option<bool> {
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
    fn way(&self) -> Option<usize> {
        usize::from(self.path).checked_sub(1)
    }
}

impl Sprayed {
    /// What the ring takes: the most of it.
    pub(crate) const BYTES: usize = REMEMBERED * size_of::<Slot>();

    /// Those of PSNs of so many bits, of which this is the first that came.
    pub(crate) fn new(bits: u32, psn: u32, begin: i64) -> Sprayed {
        Sprayed {
            hi: (2_u64 << bits) + u64::from(psn),
            ahead: 0,
            bits,
            acked: None,
            newest: 0,
            last_again: None,
            begin,
            ring: vec![Slot::default(); REMEMBERED],
            ways: Ways::default(),
            turns: Turns::default(),
            crossings: Crossings::default(),
            home: Home::default(),
            messages: VecDeque::new(),
            ack_rtt: Distribution::default(),
            min_rtt: None,
            longest_rtt: 0,
            shown_after: Totals::default(),
            latest: 0,
            late_by: Totals::default(),
            says_again: false,
            cause: None,
            answers: 0,
            completion: Distribution::default(),
            window: 0,
            sums: Sums::default(),
        }
    }

    /// Whether a packet with this PSN, on a path with this entropy value, may have been sent, as far as the step tells.
    pub(crate) fn fits(&mut self, psn: u32, entropy: u32, step: Fit) -> bool {
        let x = self.unwrap(psn);
        let path = self.slot(x).and_then(|slot| slot.way());
        match step {
            Fit::Near => x.abs_diff(self.hi) <= REMEMBERED as u64,
            Fit::Sent => path.is_some(),
            Fit::Path => path.is_some_and(|at| self.ways.get_mut(at).has(entropy)),
        }
    }

    /// Of all numbers that are this PSN, the nearest to the highest one.
    fn unwrap(&self, psn: u32) -> u64 {
        let shift = 32 - self.bits;
        let difference = (psn.wrapping_sub(self.hi as u32) << shift) as i32 >> shift;
        self.hi.wrapping_add_signed(difference.into())
    }

    /// What is known of this PSN; of one that is too old, or so far ahead that it would push out all others, nothing.
    fn slot(&mut self, x: u64) -> Option<&mut Slot> {
        if x > self.hi + REMEMBERED as u64 {
            return None;
        }
        let lap = (x / REMEMBERED as u64) as u32;
        let slot = &mut self.ring[x as usize % REMEMBERED];
        if slot.lap < lap {
            *slot = Slot { lap, ..Slot::default() };
        }
        (slot.lap == lap).then_some(slot)
    }

    fn has_arrived(&self, x: u64, slot: &Slot) -> bool {
        slot.has(ARRIVED) || self.acked.is_some_and(|acked| x < acked)
    }

    fn since_begin(&self, time: i64) -> u32 {
        time.wrapping_sub(self.begin) as u32
    }

    /// Whether an interface other than the first one of its path records a packet that has passed there: it comes to another tap. That is counted then.
    pub(crate) fn comes_elsewhere(&mut self, psn: u32, entropy: Entropy, sent: &Sent) -> bool {
        let Sent { carried, is_trimmed, .. } = *sent;
        let Some(at) = self.ways.find(entropy) else { return false };
        let x = self.unwrap(psn);
        let Some(slot) = self.slot(x).copied() else { return false };
        let there = at as u16 + 1;
        let way = self.ways.get_mut(at);
        // Of what was sent more than twice, the first path is not remembered: a slow one may deliver it yet.
        let has_passed = [slot.path, slot.lost_on].contains(&there)
            || slot.path > 0 && slot.lost_on > 0 && self.crossings.pass(carried.interface);
        if !way.tally.interface.is_elsewhere(carried.interface) || !has_passed {
            return false;
        }
        way.tally.marked += u64::from(carried.is_marked);
        self.sums.marked += u64::from(carried.is_marked);
        if !is_trimmed {
            self.crossings.arrives(psn, at, carried.interface, carried.time);
            return true;
        }
        // A NACK will tell of it too.
        if slot.has(TRIMMED) {
            return true;
        }
        way.tally.trimmed += 1;
        self.sums.trimmed += 1;
        if let Some(slot) = self.slot(x) {
            slot.flags |= TRIMMED;
        }
        true
    }

    /// The first packets that were sent, as it turns out, came trimmed: those with these PSNs, in the order in which they came.
    pub(crate) fn were_trimmed(&mut self, psns: impl Iterator<Item = u32>) {
        let mut first = None;
        for psn in psns {
            let x = self.unwrap(psn);
            first = first.or(Some(x));
            let Some(slot) = self.slot(x).filter(|slot| slot.path > 0 && !slot.has(TRIMMED)) else {
                continue;
            };
            slot.flags |= TRIMMED;
            let (at, is_told) = (usize::from(slot.path) - 1, slot.has(NACKED_TRIMMED));
            let way = self.ways.get_mut(at);
            way.tally.trimmed += 1;
            way.trimmed_after -= u64::from(is_told);
            self.sums.trimmed += 1;
        }
        // What is whole comes behind them.
        if let Some(first) = first.filter(|_| self.sums.trimmed == self.sums.packets) {
            self.hi = first;
        }
    }

    /// Whether packets come to another tap.
    pub(crate) fn comes_to_several(&self) -> bool {
        self.crossings.are_seen()
    }

    /// Whether answers that this interface recorded are counted, and what else has no number: of several taps, those of one.
    pub(crate) fn takes_answers(&mut self, interface: u16) -> bool {
        !self.comes_to_several() || self.home.takes_answers(interface)
    }

    /// What is counted of them. What came to the last tap was not lost, whatever its sender took it for.
    pub(crate) fn sums(&self) -> Sums {
        if let Some(lost) = self.ways.lost_between_taps(&self.crossings) {
            // Whatever answers seemed to show.
            let late = self.ways.proven_late().min(self.sums.spurious);
            let all = self.sums.lost_after + late;
            let lost_after = all.min(lost);
            let spurious = self.sums.spurious - late + (all - lost_after);
            return Sums { lost_after, spurious, ..self.sums };
        }
        let lost_or_late = self.ways.lost_or_late(self.answered()).min(self.sums.lost_after);
        Sums { lost_after: self.sums.lost_after - lost_or_late, lost_or_late, ..self.sums }
    }

    /// A request. Returns whether it is a retransmission.
    pub(crate) fn on_sent(&mut self, psn: u32, entropy: Entropy, sent: &Sent) -> bool {
        let Sent { carried, is_rtx, stamp, is_trimmed, is_ordered } = *sent;
        self.home.begins(carried.interface);
        self.sums.packets += 1;
        let (hi, x) = (self.hi, self.unwrap(psn));
        // What comes late, or again, makes no other path silent.
        self.ahead += u64::from(x >= hi);
        let at = self.ways.carries(entropy, &carried, self.ahead, is_trimmed);
        self.crossings.passes(psn, at, carried.time);
        let skipped = self.ways.get_mut(at).skipped;
        self.sums.after_skip +=
            u64::from(skipped.is_some_and(|asked| self.is_heeded_by(asked, carried.time)));
        self.sums.marked += u64::from(carried.is_marked);
        self.sums.trimmed += u64::from(is_trimmed);
        // So far ahead, nothing that is known is of it.
        if x > hi + REMEMBERED as u64 {
            self.hi = x;
        }
        let since = self.since_begin(carried.time);
        // Without the bit, a hole is a loss only if what fills it took another path than the one whose turn it was.
        let is_out_of_turn = !is_rtx && x < hi && self.is_out_of_turn(x, at, since);
        let is_behind_one = is_ordered && self.last_again.is_some_and(|last| last + 1 == x);
        let is_long_after = is_rtx && self.is_long_after(x, since);
        let knows_bit = self.sums.rtx > 0;
        let Some(slot) = self.slot(x) else { return is_rtx };
        let before = *slot;
        let is_known = before.path > 0 || before.has(NACKED_TRIMMED | REFUSED);
        let is_again = is_known
            || before.shown >= SHOWN && (is_rtx || is_out_of_turn)
            || before.shown > 0 && is_long_after;
        let is_late = before.has(LOST_BEFORE) && !is_rtx;
        // Those before it said that they are retransmissions: they overtook it.
        let is_overtaken = before.path > 0 && !before.has(FIRST) && !is_rtx;
        let is_first = is_late || is_overtaken;
        // What SACKs show missing, and does not say that it is a retransmission, was late.
        // A sender that never says so may not know the bit.
        let is_unsaid = is_again && !knows_bit;
        let again = if is_rtx || (is_known || is_unsaid) && !is_first { RESENT } else { 0 };
        let trimmed = if is_trimmed { TRIMMED } else { 0 };
        let stamped = if stamp.is_some() { STAMPED } else { 0 };
        let (lost_on, lost_time) = if is_late { (at as u16 + 1, since) } else { (before.path, before.time) };
        let lost_before = match is_late || again != 0 {
            true => (since.wrapping_sub(lost_time) / UNIT_NS).min(u16::MAX.into()) as u16,
            false => 0,
        };
        (slot.path, slot.lost_on, slot.lost_before) = (at as u16 + 1, lost_on, lost_before);
        (slot.time, slot.shown, slot.stamp) = (since, 0, stamp.unwrap_or(0));
        // What was said of the transmission before is not said of this one.
        let first = if is_rtx { 0 } else { FIRST };
        slot.flags = before.flags & (ARRIVED | RESENT | MISSED | FIRST) | again | trimmed | stamped | first;
        self.last_again = (again != 0).then_some(x);
        self.sums.again += u64::from(again != 0);
        self.sums.rtx += u64::from(is_rtx);
        self.sums.inferred += u64::from(is_again && !is_first);
        self.sums.both += u64::from(is_rtx && is_again);
        self.sums.untold += u64::from(is_long_after && !is_again && before.shown == 0);
        match () {
            // The first transmission comes behind its retransmission: it was late, not lost.
            () if is_late => {
                self.sums.lost_before -= 1;
                self.ways.was_not_lost_before(usize::from(before.lost_on).checked_sub(1));
                self.sums.spurious += 1;
                self.ways.get_mut(at).tally.comes_late(None);
                if x < hi && !is_trimmed {
                    self.sums.comes_behind(hi - 1 - x);
                }
            }
            // Go-back-N: what the tap saw before is only repeated, behind what was lost. Some of it may have been lost too.
            () if again != 0 && is_behind_one && before.path > 0 => self.ways.resent(at),
            () if again != 0 => self.on_again(x, at, &before, carried.time),
            () if x < hi && !is_trimmed => {
                // To be overtaken by less than a packet of each path is nothing.
                if hi - x > self.ways.len() as u64 {
                    let by = self.overtaken_at(x).map(|behind| since.wrapping_sub(behind).into());
                    let tally = &mut self.ways.get_mut(at).tally;
                    tally.comes_late(by);
                    tally.overtaken += 1;
                    if let Some(slot) = self.slot(x) {
                        slot.lost_before = COUNTED_LATE;
                    }
                }
                let later = self.sent_once(x + 1);
                let by = later.map_or(0, |later| since.wrapping_sub(later));
                self.latest = self.latest.max(by);
                self.late_by.add(by.into());
                self.sums.comes_behind(hi - 1 - x);
            }
            () => {}
        }
        if again == 0 {
            self.takes_turn(x, at);
        }
        if !is_trimmed {
            self.hi = hi.max(x + 1);
            if let Some(acked) = self.acked {
                self.sums.most_outstanding = self.sums.most_outstanding.max(self.hi.saturating_sub(acked));
            }
        }
        again != 0
    }

    /// Whether its sender must have heeded a request to skip a path, of that time, when there had been so many packets. The next packets were on their way, or chosen: a
    /// window of them, or those of two round trips at a tap that is where they are sent.
    fn is_heeded_by(&self, (asked, n): (i64, u64), time: i64) -> bool {
        let is_at_sender = self.sums.packets >= IN_ORDER
            && self.ways.len() >= SEVERAL_PATHS
            && (self.sums.reordered, self.sums.lost_before) == (0, 0);
        let longest = self.ack_rtt.summary().map(|rtt| rtt.max).filter(|_| is_at_sender);
        self.sums.packets > n + self.window.max(GRACE)
            || longest.is_some_and(|rtt| {
                u64::try_from(time.saturating_sub(asked)).is_ok_and(|since| since > rtt.saturating_mul(2))
            })
    }

    /// Whether a packet comes longer after its neighbours than any that was late, and than packets follow each other.
    fn is_long_after(&mut self, x: u64, since: u32) -> bool {
        const NEIGHBOURS: u64 = 4;
        const MANY: u64 = 16;
        let neighbour = match x < self.hi {
            true => (x + 1..=x + NEIGHBOURS).find_map(|x| self.sent_once(x)),
            false => self.slot(x.wrapping_sub(1)).filter(|slot| slot.path > 0).map(|slot| slot.time),
        };
        let long = (u64::from(self.latest) * 2).max(u64::from(since) / self.sums.packets * MANY);
        neighbour.is_some_and(|time| u64::from(since.wrapping_sub(time)) > long)
    }

    /// Whether a packet that was missing comes on another path than the one whose turn it was, and after what was shown to be missing could be sent again.
    fn is_out_of_turn(&mut self, x: u64, at: usize, since: u32) -> bool {
        const MANY: u64 = 8;
        let is_missing = self.slot(x).is_some_and(|slot| slot.path == 0 && slot.shown >= SHOWN);
        let Some(shortest) = self.min_rtt.filter(|_| is_missing) else { return false };
        // A tap near the receiver does not see a round trip: what comes as late as others came was not sent again.
        let usual = self.late_by.spread()[1].unwrap_or(0);
        let least = shortest.max(usual * MANY);
        let is_soon = |behind: u32| u64::from(since.wrapping_sub(behind)) < least;
        if self.sent_once(x + 1).is_none_or(is_soon) {
            return false;
        }
        let [first, next] = [x.wrapping_sub(1), x + 1].map(|x| self.first_way(x));
        self.turns.between(first, next, Place(x as u32)).is_some_and(|there| there != at)
    }

    /// When the only transmission of this PSN came, if that is known.
    fn sent_once(&mut self, x: u64) -> Option<u32> {
        let slot = self.slot(x)?;
        (slot.path > 0 && !slot.has(RESENT)).then_some(slot.time)
    }

    /// When the first of those came that were sent next behind this one: some of them may be late, too.
    fn overtaken_at(&mut self, x: u64) -> Option<u32> {
        const NEXT: u64 = 8;
        let begin = (x + 1..=x + NEXT).filter_map(|x| self.sent_once(x));
        begin.reduce(|a, b| if (b.wrapping_sub(a) as i32) < 0 { b } else { a })
    }

    /// The path of the first transmission of this PSN, as far as that is known.
    fn first_way(&mut self, x: u64) -> Option<usize> {
        let slot = self.slot(x)?;
        let first = if slot.has(RESENT) { slot.lost_on } else { slot.path };
        usize::from(first).checked_sub(1)
    }

    /// A first transmission on the path `at`, beside those of its neighbours.
    fn takes_turn(&mut self, x: u64, at: usize) {
        self.turns.takes(at, Place(x as u32));
        if let Some(before) = self.first_way(x.wrapping_sub(1)) {
            self.turns.follows(before, at, Place(x as u32));
        }
        if let Some(behind) = self.first_way(x + 1) {
            self.turns.follows(at, behind, Place((x + 1) as u32));
        }
    }

    /// A retransmission on the path `at`: what became of the transmission before.
    fn on_again(&mut self, x: u64, at: usize, before: &Slot, time: i64) {
        self.ways.resent(at);
        if self.has_arrived(x, before) {
            self.sums.spurious += 1;
            return;
        }
        if before.has(REFUSED) {
            return;
        }
        let is_trimmed = before.has(TRIMMED | NACKED_TRIMMED);
        if let Some(lost) = before.way() {
            let tally = &mut self.ways.get_mut(lost).tally;
            match is_trimmed {
                true => tally.lost += 1,
                false => tally.loses(x as i64),
            }
        }
        if is_trimmed {
            return;
        }
        let (flag, lost_on) = match before.way() {
            Some(_) if before.has(MISSED_LONG) => {
                self.sums.lost_after += 1;
                (LOST_AFTER, before.path)
            }
            Some(lost) => {
                self.sums.lost_after += 1;
                self.ways.get_mut(lost).tally.unproven += 1;
                (LOST_AFTER | UNPROVEN, before.path)
            }
            None => {
                self.sums.lost_before += 1;
                let [first, next] = [x.wrapping_sub(1), x + 1].map(|x| self.first_way(x));
                let there = self.turns.between(first, next, Place(x as u32));
                let since = self.since_begin(time);
                let ago = self.slot(x.wrapping_sub(1)).filter(|slot| slot.path > 0);
                let ago = ago.map(|slot| since.wrapping_sub(slot.time));
                self.ways.lost_before(there, time - i64::from(ago.unwrap_or(0)));
                if let (None, [Some(first), Some(next)]) = (there, [first, next]) {
                    self.ways.lost_between([first, next]);
                }
                (LOST_BEFORE, there.map_or(0, |there| there as u16 + 1))
            }
        };
        let twice = if flag & before.flags & LOST_AFTER != 0 { LOST_TWICE } else { 0 };
        if let Some(slot) = self.slot(x) {
            slot.flags |= flag | twice;
            slot.lost_on = lost_on;
        }
    }

    /// A packet of a message, which is not trimmed; `ends`: its last.
    pub(crate) fn on_message(&mut self, id: u16, psn: u32, time: i64, ends: bool) {
        let x = self.unwrap(psn);
        let known = self.messages.iter_mut().rev().find(|message| message.id == id);
        if let Some(message) = known {
            message.last = message.last.or(ends.then_some(x));
            return;
        }
        // A retransmission of a message that is complete, or too old, begins none.
        if self.acked.is_some_and(|acked| x < acked) {
            return;
        }
        if self.messages.len() == MAX_MESSAGES {
            self.messages.pop_front();
        }
        self.sums.messages += 1;
        self.messages.push_back(Message { id, first_ns: time, last: ends.then_some(x) });
    }

    /// The packet that caused an acknowledgement, and what that says of its path. Returns how long that took, but of retransmissions.
    pub(crate) fn on_acknowledged(&mut self, psn: u32, said: Said, time: i64) -> Option<u64> {
        let (since, x) = (self.since_begin(time), self.unwrap(psn));
        let slot = *self.slot(x)?;
        self.answers += 1;
        let hint = slot.way();
        self.cause = hint.map(|_| slot.time);
        let named = said.entropy.and_then(|entropy| self.ways.named(entropy, hint));
        // Where the entropy value is no path of ours, it is that of the packet.
        if let Some(at) = named.or(hint) {
            let way = self.ways.get_mut(at);
            way.echoes += u64::from(said.is_marked);
            if said.is_skipped {
                way.skipped.get_or_insert((time, self.sums.packets));
            }
        }
        // What has arrived may be shown by answers to others before; the next answer that names it may be to a copy.
        let rtt = hint.filter(|_| !slot.has(RESENT | ANSWERED)).map(|at| {
            let rtt = u64::from(since.wrapping_sub(slot.time));
            self.ack_rtt.add(rtt);
            self.longest_rtt = self.longest_rtt.max(rtt);
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
            self.ways.get_mut(at).answered(rtt);
            rtt
        });
        self.says_again |= said.is_again;
        let is_of_last = self.is_of_last(&slot, &said, named);
        // The answer to a transmission that was taken for lost. Where nothing else tells, it comes when the other one had arrived, and later than its answer.
        let lost_on = usize::from(slot.lost_on).checked_sub(1);
        let usual = hint.and_then(|at| self.ways.get_mut(at).tally.rtts.spread()[1]);
        let is_later = |shortest: u64| {
            u64::from(since.wrapping_sub(slot.time)) > shortest.max(usual.unwrap_or(0)) * 3 / 2
        };
        let is_second = slot.has(if said.entropy.is_some() { ANSWERED } else { ARRIVED })
            && slot.has(LOST_AFTER)
            && self.min_rtt.is_some_and(is_later);
        if slot.has(RESENT)
            && let Some(first) = lost_on.filter(|_| is_of_last.map_or(is_second, |is_last| !is_last))
        {
            if let Some(rtt) = slot.since_first(since) {
                self.ways.get_mut(first).answered(rtt);
            }
            if slot.has(LOST_AFTER) {
                self.was_not_lost(x, since);
            }
        }
        // The answer to the first of three transmissions: it names a path that neither of the others took.
        let of_first = named.filter(|named| ![hint, lost_on].contains(&Some(*named)));
        if let (Some(first), true) = (of_first, slot.has(LOST_TWICE)) {
            self.sums.lost_after -= 1;
            self.sums.spurious += 1;
            let tally = &mut self.ways.get_mut(first).tally;
            tally.lost = tally.lost.saturating_sub(1);
            tally.proven_late += 1;
            tally.comes_late(None);
            tally.lives(x as i64);
        }
        if let Some(slot) = self.slot(x) {
            slot.flags |= ANSWERED;
            slot.flags &= if of_first.is_some() { !LOST_TWICE } else { !0 };
        }
        // An answer for it is that it has arrived; if it is to the last transmission, that has.
        self.arrives(x, time, is_of_last == Some(true));
        rtt
    }

    /// Whether an answer is to the last transmission of what was sent again, and not to one before; `None`: nothing tells. `named`: the path that it names.
    fn is_of_last(&self, slot: &Slot, said: &Said, named: Option<usize>) -> Option<bool> {
        if said.is_again {
            return Some(true);
        }
        if let Some(is_last) = said.echo.and_then(|stamp| slot.is_last(stamp)) {
            return Some(is_last);
        }
        if self.says_again && slot.has(RESENT) {
            return Some(false);
        }
        let (named, lost_on) = (named?, usize::from(slot.lost_on).checked_sub(1));
        match Some(named) {
            _ if lost_on == slot.way() => None,
            named if named == slot.way() => Some(true),
            named if named == lost_on => Some(false),
            _ => None,
        }
    }

    /// The path with this entropy value is not to be used any more.
    pub(crate) fn on_skipped(&mut self, entropy: u32, time: i64) {
        if let Some(at) = self.ways.named(entropy, None) {
            self.ways.get_mut(at).skipped.get_or_insert((time, self.sums.packets));
        }
    }

    /// What a SACK shows: `bitmap` is of this PSN and those behind it.
    pub(crate) fn on_bitmap(&mut self, first: u32, bitmap: u64, time: i64) {
        let (first, since) = (self.unwrap(first), self.since_begin(time));
        // Behind the highest one that has arrived, nothing is said.
        let shown = 64 - bitmap.leading_zeros();
        for bit in 0..shown {
            let x = first + u64::from(bit);
            let is_acked = self.acked.is_some_and(|acked| x < acked);
            let Some(slot) = self.slot(x) else { continue };
            if bitmap >> bit & 1 == 1 {
                self.arrives(x, time, false);
            } else if !is_acked && !slot.has(ARRIVED) {
                slot.shown = slot.shown.saturating_add(1);
                let is_first = !slot.has(MISSED);
                slot.flags |= MISSED;
                self.sums.missing += u64::from(is_first);
                self.is_missing(x, since);
            }
        }
    }

    /// A SACK shows it missing: longer after it was sent than answers take, it was lost, and not on its way.
    fn is_missing(&mut self, x: u64, since: u32) {
        let longest = self.longest_rtt;
        let Some(slot) = self.slot(x).filter(|slot| slot.path > 0 && longest > 0) else { return };
        let is_long = |took: u64| took > longest;
        if is_long(since.wrapping_sub(slot.time).into()) {
            slot.flags |= MISSED_LONG;
        }
        // Neither it nor its retransmission has arrived.
        if slot.has(UNPROVEN) && slot.since_first(since).is_none_or(is_long) {
            self.is_proven(x);
        }
    }

    /// What else than silence tells that it was lost, or that it was not.
    fn is_proven(&mut self, x: u64) {
        let Some(slot) = self.slot(x).filter(|slot| slot.has(UNPROVEN)) else { return };
        slot.flags &= !UNPROVEN;
        if let Some(lost) = usize::from(slot.lost_on).checked_sub(1) {
            let tally = &mut self.ways.get_mut(lost).tally;
            tally.unproven = tally.unproven.saturating_sub(1);
        }
    }

    /// This PSN and all before it have arrived.
    pub(crate) fn on_cumulative(&mut self, psn: u32, time: i64) {
        let acked = self.unwrap(psn) + 1;
        if acked > self.hi + REMEMBERED as u64 {
            return;
        }
        let from = self.acked.unwrap_or(acked).max(acked.saturating_sub(REMEMBERED as u64));
        for x in from..acked {
            self.arrives(x, time, false);
        }
        // The next one is missing, if any has arrived behind it.
        if self.newest > acked {
            self.is_missing(acked, self.since_begin(time));
        }
        self.acked = self.acked.max(Some(acked));
        while let Some(message) = self.messages.front()
            && let Some(last) = message.last
            && last < acked
        {
            self.completion.add(u64::try_from(time.saturating_sub(message.first_ns)).unwrap_or(0));
            self.sums.completed += 1;
            self.messages.pop_front();
        }
    }

    /// A SACK shows that this PSN has arrived: much earlier than an answer to its retransmission could come, it was not lost. `is_of_last`: the answer is to
    /// its last transmission.
    fn arrives(&mut self, x: u64, time: i64, is_of_last: bool) {
        let (since, shortest) = (self.since_begin(time), self.min_rtt.unwrap_or(0));
        // To be overtaken by less than a packet of each path is nothing.
        let is_far = self.newest > x + 1 + self.ways.len() as u64;
        let Some(slot) = self.slot(x).copied() else { return };
        let took = u64::from(since.wrapping_sub(slot.time));
        let is_early = !is_of_last && slot.has(LOST_AFTER) && self.is_too_soon(&slot, took);
        let Some(slot) = self.slot(x) else { return };
        let is_new = !slot.has(ARRIVED);
        let is_lost = slot.has(LOST_AFTER) && is_new;
        slot.flags |= ARRIVED;
        let once = slot.way().filter(|_| !slot.has(RESENT));
        // SACKs showed it missing when the tap had seen it, and it was not sent again.
        let was_overtaken = is_new && slot.shown > 0 && is_far && slot.lost_before != COUNTED_LATE;
        if let Some(at) = once {
            if is_new {
                self.shown_after.add(took);
                self.ways.get_mut(at).shown_after.add(took);
            }
            let tally = &mut self.ways.get_mut(at).tally;
            tally.lives(x as i64);
            if was_overtaken {
                tally.comes_late(Some(took.saturating_sub(shortest)).filter(|&by| by > 0));
            }
        }
        if is_lost && is_early {
            self.was_not_lost(x, since);
        }
        self.newest = self.newest.max(x + 1);
    }

    /// Whether a SACK shows a retransmission too soon after it was sent. What others took at least, by whatever SACK showed them, need not be the shortest time.
    fn is_too_soon(&mut self, slot: &Slot, took: u64) -> bool {
        let of_all = Some(self.shown_after).filter(|all| all.count >= ENOUGH_SHOWN);
        let is_much = of_all.and_then(|all| all.spread()[0]).is_some_and(|least| took < least * 3 / 4);
        let of_path = slot.way().map(|at| self.ways.get_mut(at).shown_after);
        let of_path = of_path.filter(|path| path.count >= ENOUGH_SHOWN);
        // What was sent behind the packet that caused the SACK comes behind it, or would have to be faster than packets of its path are.
        let is_behind = self.cause.is_some_and(|cause| slot.time.wrapping_sub(cause) as i32 > 0);
        is_much
            || of_path.is_some_and(|path| {
                let [Some(least), Some(mean), _] = path.spread() else { return false };
                // As far below the least as the mean is above it.
                let margin = if is_behind { least / 32 } else { (mean - least).max(least / 16) };
                took.saturating_add(margin) < least
            })
    }

    /// What was taken for lost behind the tap was late.
    fn was_not_lost(&mut self, x: u64, since: u32) {
        self.is_proven(x);
        let shortest = self.min_rtt.unwrap_or(0);
        let Some(slot) = self.slot(x) else { return };
        slot.flags &= !LOST_AFTER;
        let by = slot.since_first(since).and_then(|took| took.checked_sub(shortest));
        let lost_on = usize::from(slot.lost_on).checked_sub(1);
        self.sums.lost_after -= 1;
        self.sums.spurious += 1;
        if let Some(at) = lost_on {
            let tally = &mut self.ways.get_mut(at).tally;
            tally.lost = tally.lost.saturating_sub(1);
            tally.proven_late += 1;
            tally.comes_late(by);
            tally.lives(x as i64);
        }
    }

    /// A NACK for this PSN.
    pub(crate) fn on_refused(&mut self, psn: u32, why: Refused) {
        let x = self.unwrap(psn);
        let Some(slot) = self.slot(x) else { return };
        let is_trimmed = why == Refused::Trimmed;
        let is_new = is_trimmed && !slot.has(TRIMMED | NACKED_TRIMMED);
        slot.flags |= if is_trimmed { NACKED_TRIMMED } else { REFUSED };
        if let Some(at) = slot.way().filter(|_| is_new) {
            self.ways.trimmed_behind(at);
        }
        if why == Refused::OutOfOrder
            && let Some(acked) = self.acked
        {
            // What is missing is among those that the tap has not seen.
            for x in acked.max(x.saturating_sub(REMEMBERED as u64))..x {
                if let Some(slot) = self.slot(x).filter(|slot| slot.path == 0) {
                    slot.shown = SHOWN;
                }
            }
            // On one path, packets stay in order: the next one was lost.
            let is_in_order = self.ways.len() == 1 && acked < x;
            if let Some(slot) = self.slot(acked).filter(|slot| is_in_order && slot.path > 0) {
                slot.flags |= MISSED_LONG;
            }
        }
    }

    /// How many of its packets have an answer of their own: 0 to 1.
    fn answered(&self) -> f64 {
        (self.answers as f64 / self.sums.packets.max(1) as f64).min(1.0)
    }

    /// How many paths it took.
    pub(crate) fn path_count(&self) -> u64 {
        self.ways.len() as u64
    }

    /// How evenly its bytes are spread over them: Jain's index.
    pub(crate) fn fairness(&self) -> Option<f64> {
        self.ways.fairness()
    }

    /// A row for each path.
    pub(crate) fn paths(&self, of: &OfFlow) -> Vec<FlowPath> {
        self.ways.rows(of, &self.crossings, self.acked.is_some(), self.answered())
    }

    /// Packets that were lost before the tap on a path that is not known.
    pub(crate) fn lost_unattributed(&self) -> u64 {
        self.ways.lost_unattributed()
    }

    /// Of what is a retransmission by its bit or by its PSN, the share that is by both. Without answers, PSNs do not tell what was lost before the tap.
    pub(crate) fn agreement(&self) -> Option<f64> {
        let Sums { rtx, inferred, both, untold, .. } = self.sums;
        let either = rtx + inferred - both - untold;
        let is_told = self.acked.is_some() || both == rtx;
        (either > 0 && is_told).then(|| both as f64 / either as f64)
    }

    /// The most packets that were not acknowledged at once.
    pub(crate) fn most_outstanding(&self) -> Option<u64> {
        self.acked.map(|_| self.sums.most_outstanding)
    }

    /// Packets that nobody has acknowledged: those behind the highest one up to which all have arrived.
    pub(crate) fn unanswered(&self) -> Option<u64> {
        self.acked.map(|acked| self.hi.saturating_sub(acked))
    }

    /// From a packet to the acknowledgement that it caused.
    pub(crate) fn ack_rtt(&self) -> Option<Summary> {
        self.ack_rtt.summary()
    }

    /// From the first packet of a message to the acknowledgement that completes it.
    pub(crate) fn completion(&self) -> Option<Summary> {
        self.completion.summary()
    }
}
