//! What a packet at the tap shows: whether its sender had sent it before, and what became of that.

use super::{
    super::turns::Place,
    Entropy, REMEMBERED, SHOWN, Sent, Sprayed,
    slot::{
        ARRIVED, COUNTED_LATE, FIRST, LOST_AFTER, LOST_BEFORE, LOST_TWICE, MISSED, MISSED_LONG,
        NACKED_TRIMMED, REFUSED, RESENT, STAMPED, Slot, TRIMMED, UNIT_NS, UNPROVEN,
    },
};

/// After a request to skip a path, so many packets may still take it, or a window of them: they are on their way, or chosen.
const GRACE: u64 = 256;
/// What so many packets in order show of a tap, if they took so many paths: it is where they were sent, as paths differ by more than a packet.
const IN_ORDER: u64 = 64;
const SEVERAL_PATHS: usize = 4;

impl Sprayed {
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
}
