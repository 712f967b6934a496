//! What answers show: which requests have arrived, which are missing, and which were not lost, though they were sent again.

use super::{
    REMEMBERED, Refused, SHOWN, Said, Sprayed,
    slot::{
        ANSWERED, ARRIVED, COUNTED_LATE, LOST_AFTER, LOST_TWICE, MISSED, MISSED_LONG, NACKED_TRIMMED,
        REFUSED, RESENT, Slot, TRIMMED, UNPROVEN,
    },
};

/// So many times tell how soon what is sent is shown to have arrived.
const ENOUGH_SHOWN: u64 = 8;

impl Sprayed {
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
}
