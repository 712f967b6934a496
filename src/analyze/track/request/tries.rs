//! A requester that sends the same packets again and again, and one that gave up.
//!
//! A queue pair whose timer expires sends again what is not acknowledged. After as many times as its retry count allows without
//! progress, it gives up: the application is told "transport retry counter exceeded". Receivers that are not ready (RNR NAK) have a
//! counter of their own. On the wire, both end in silence.

use super::{Requests, recovery::NotReady};
use crate::{
    analyze::{
        model::Trigger,
        track::{SILENCE_NS, sequence::SHORTEST_TIMER_NS},
    },
    report::GiveUp,
};

/// How often a requester went back to one PSN without progress.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(crate) struct Tries {
    /// The PSN.
    pub(super) x: u64,
    /// How often, whatever the reason; after timeouts; and how often an answer had passed the tap since the time before.
    again: u32,
    timers: u32,
    answered: u32,
    /// When it was sent for the first time, for the second time, and for the last time.
    first: i64,
    second: i64,
    last: i64,
    /// Between two timeouts: the shortest time and the longest, the last two.
    shortest: i64,
    longest: i64,
    latest: i64,
    before: i64,
    /// One past the highest PSN sent, the last time.
    hi: u64,
    /// Answers seen until the last time.
    answers: u64,
    /// The last time was after a timeout.
    is_after_timeout: bool,
    /// A distance was shorter than the one before: they vary, as IBTA lets them, and do not grow.
    varies: bool,
}

/// A requester gave up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopped {
    pub(crate) by: GiveUp,
    pub(crate) x: u64,
    /// Transmissions, the first one included.
    pub(crate) tries: u32,
    pub(crate) first: i64,
    /// When it was sent again, or refused, for the first time: who lives has answered by then.
    pub(crate) since: i64,
    pub(crate) last: i64,
    /// The shortest and the longest time between tries.
    pub(crate) apart: Option<[u64; 2]>,
    /// Answers passed the tap after each try, and did not reach the requester.
    pub(crate) is_answered: bool,
}

/// Refusals (RNR NAKs) of one PSN in a row.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(crate) struct Refusals {
    x: u64,
    count: u32,
    first: i64,
    last: i64,
    timer_ns: u64,
}

/// No queue pair is silent so long before it sends a refused packet again, beyond the time that it is told.
const AFTER_ONE_REFUSAL_NS: i64 = 100_000_000;
const AFTER_REFUSALS_NS: i64 = 1_000_000;

/// Where no answers were seen, a shorter distance between two tries is no timer's.
const SHORTEST_UNHEARD_NS: i64 = 100_000;

/// The largest retry count is 7.
const MOST_RETRIES: u32 = 7;
const MOST_TRIES: u32 = 1 + MOST_RETRIES;

impl Tries {
    /// The time within which the next try would come: distances may grow.
    fn patience(&self) -> i64 {
        let next = match self.timers {
            0 | 1 => self.latest.saturating_mul(4),
            // Not more than four times as long as the one before.
            _ => {
                let grown = self.latest as i128 * self.latest as i128 / self.before.max(1) as i128;
                let most = self.latest.saturating_mul(4);
                let grown = i64::try_from(grown).unwrap_or(most).clamp(self.latest, most);
                if self.varies { grown.min(self.longest) } else { grown }
            }
        };
        next.saturating_add(next / 2)
    }
}

impl Requests {
    /// The sender went back to `x`, first sent at `sent`, after some time without progress. Returns how often in a row it did so.
    pub(super) fn try_again(
        &mut self,
        x: u64,
        sent: i64,
        (time, waited): (i64, i64),
        trigger: Trigger,
    ) -> u32 {
        let (hi, answers) = (self.seq.hi, self.acks_seen);
        let is_timer = matches!(trigger, Trigger::Timeout | Trigger::Unknown);
        // Its acknowledgement passed the tap, and was lost behind it: which of those before it began the timer anew, nobody knows.
        let is_unheard = self.una > x;
        let trouble = &mut *self.trouble;
        let tries = match &mut trouble.tries {
            Some(tries) if tries.x == x => tries,
            other => other.insert(Tries { x, first: sent, last: sent, answers, ..Tries::default() }),
        };
        if tries.again == 0 {
            tries.second = time;
        }
        if is_timer {
            // Its timer began anew with each acknowledgement.
            let waited = if is_unheard { i64::MAX } else { waited };
            // A READ that is issued again from within was not sent from there on before.
            let since =
                if tries.again == 0 && sent >= time { waited } else { time.saturating_sub(tries.last) };
            let apart = since.min(waited).max(0);
            tries.varies |= tries.timers > 0 && apart < tries.latest - tries.latest / 8;
            tries.before = if tries.timers > 0 { tries.latest } else { 0 };
            tries.shortest = if tries.timers > 0 { tries.shortest.min(apart) } else { apart };
            (tries.latest, tries.longest) = (apart, tries.longest.max(apart));
            tries.timers = tries.timers.saturating_add(1);
        }
        tries.is_after_timeout = trigger == Trigger::Timeout;
        tries.answered += (answers > tries.answers) as u32;
        tries.again = tries.again.saturating_add(1);
        (tries.last, tries.hi, tries.answers) = (time, hi, answers);
        tries.again
    }

    /// Whether it goes back to a PSN after a timeout as it did before, and nothing asked for that since. Packets of a paused sender wait in its
    /// adapter, and come at once.
    pub(super) fn repeats_timeout(&self, x: u64) -> bool {
        let Some(trouble) = self.trouble.get() else { return false };
        trouble.tries.is_some_and(|tries| {
            let is_unasked = tries.answers == self.acks_seen || trouble.asked_time < tries.last;
            tries.x == x && tries.is_after_timeout && is_unasked
        })
    }

    /// The responder refused this PSN.
    pub(super) fn refused(&mut self, refused: &NotReady) {
        let &NotReady { x, time, timer_ns } = refused;
        let before = &mut self.trouble.refusals;
        let (count, first) = if before.x == x { (before.count + 1, before.first) } else { (1, time) };
        *before = Refusals { x, count, first, last: time, timer_ns };
    }

    /// Whether it ever went back, or was refused.
    pub(crate) fn has_tried(&self) -> bool {
        self.trouble.get().is_some_and(|trouble| trouble.tries.is_some() || trouble.not_ready.is_some())
    }

    /// Whether and how it gave up, if the capture shows it until then. `is_closed`: the connection ended then, and not the capture. `allowed`:
    /// its retry count, if that is known.
    pub(crate) fn stopped(&self, until: i64, is_closed: bool, allowed: Option<u8>) -> Option<Stopped> {
        self.refused_for_good(until).or_else(|| self.unanswered_for_good(until, is_closed, allowed))
    }

    fn unanswered_for_good(&self, until: i64, is_closed: bool, allowed: Option<u8>) -> Option<Stopped> {
        let tries = self.trouble.get()?.tries?;
        let Tries { x, again, timers, answered, .. } = tries;
        // Without answers, it is not known that no NAK asked for it. Those come sooner.
        let shortest = if self.hears() { SHORTEST_TIMER_NS } else { SHORTEST_UNHEARD_NS };
        let is_timer = timers > 0 && tries.shortest >= shortest;
        if !is_timer || !self.is_at(&tries) || allowed.is_some_and(|allowed| again < allowed.into()) {
            return None;
        }
        // With few tries, or if its answers may take another path, it may have been answered at last, and the capture lacks that.
        let is_heard = self.hears() && self.acked_unseen == 0;
        let enough = match is_heard {
            true if self.acks_seen > 0 => 1,
            // Who never answered may come up yet.
            true => 3,
            // What goes on with new packets was answered, if it was not its last try.
            false if self.seq.hi > tries.hi => MOST_TRIES - 1,
            false => 3,
        };
        let is_answered = self.una > x;
        // The answer to the last try reached it, as far as anybody knows, unless it stopped where all have to.
        let may_stop = again >= allowed.map_or(MOST_TRIES - 1, u32::from);
        let is_in_vain = may_stop && again > 3 && answered + 1 >= again && self.acks_seen > tries.answers;
        if again < enough || is_answered && !is_in_vain {
            return None;
        }
        let quiet_since = tries.last.max(self.seq.last_time);
        let apart = Some([tries.shortest, tries.longest].map(|ns| ns as u64));
        // The last try that is allowed; and who gives up closes the connection, when the timer expires once more.
        let is_last = is_closed || allowed.is_some_and(|allowed| again >= allowed.into());
        let patience = match again {
            _ if is_last => tries.latest - tries.latest / 8,
            // No retry count allows more, so that no try comes for which a growing timer waits longer.
            MOST_RETRIES.. => tries.latest.saturating_add(tries.latest / 2),
            _ => tries.patience(),
        };
        let (first, since, last) = (tries.first, tries.second, tries.last);
        (until.saturating_sub(quiet_since) > patience).then_some(Stopped {
            by: GiveUp::Retries,
            x,
            tries: again.saturating_add(1),
            first,
            since,
            last,
            apart,
            is_answered,
        })
    }

    /// Whether these tries were the last it did. Its application may go on with new packets until the timer expires once more.
    fn is_at(&self, tries: &Tries) -> bool {
        let since = self.seq.last_time.saturating_sub(tries.last);
        self.seq.hi <= tries.hi || tries.timers > 1 && since <= tries.latest.saturating_add(tries.latest / 4)
    }

    fn refused_for_good(&self, until: i64) -> Option<Stopped> {
        let trouble = self.trouble.get()?;
        let refused = trouble.not_ready.filter(|refused| refused.x >= self.una)?;
        let Refusals { x, count, first, last, timer_ns } = trouble.refusals;
        if x != refused.x {
            return None;
        }
        let waited = self.more.as_ref().and_then(|more| more.recovery().rnr_waited.summary());
        let wait = waited.map_or(0, |waited| waited.max).max(timer_ns);
        let wait = i64::try_from(wait).unwrap_or(i64::MAX).saturating_mul(4);
        let more = if count > 1 { AFTER_REFUSALS_NS } else { AFTER_ONE_REFUSAL_NS };
        let quiet_since = last.max(self.seq.last_time);
        let apart = waited.map(|waited| [waited.min, waited.max]);
        (until.saturating_sub(quiet_since) > wait.saturating_add(more)).then_some(Stopped {
            by: GiveUp::Rnr,
            x,
            tries: count,
            first: self.seq.ring.get(x).map_or(first, |sent| sent.time.min(first)),
            since: first,
            last,
            apart,
            is_answered: true,
        })
    }

    /// The last tries, and how long they took in nanoseconds, if several were not answered until the capture ended.
    pub(crate) fn tries_in_vain(&self) -> Option<(u32, u64)> {
        let tries = self.trouble.get()?.tries?;
        let is_in_vain = tries.timers > 1 && self.una <= tries.x && self.is_at(&tries);
        is_in_vain.then(|| (tries.again + 1, (tries.last - tries.first).max(0) as u64))
    }

    /// The number of these tries, where it is more than the largest retry count allows, and the peer answered before.
    pub(crate) fn tries_without_end(&self) -> Option<u32> {
        let (tries, _) = self.tries_in_vain().filter(|_| self.acks_seen > 0)?;
        (tries > MOST_TRIES).then_some(tries)
    }

    /// The frames in which it went back, the last ones.
    pub(crate) fn tried_in(&self) -> Vec<u64> {
        let Some(tries) = self.trouble.get().and_then(|trouble| trouble.tries) else { return Vec::new() };
        let episodes = self.more.as_ref().map_or(&[][..], |more| &more.recovery().episodes);
        let mine = episodes.iter().rev().take_while(|episode| episode.x == tries.x).map(|e| e.first_frame);
        let mut frames: Vec<u64> = mine.collect();
        frames.reverse();
        frames
    }

    /// When a NAK ended the connection.
    pub(crate) fn refused_at(&self) -> Option<i64> {
        self.trouble.get()?.refused
    }

    /// Whether it waits for an answer at this time so long already, or has tried again, that the peer seems to be silent.
    pub(crate) fn waits_in_vain(&self, now: i64) -> bool {
        let waits = self.acks_seen > 0 && self.una > 0 && self.una < self.seq.hi;
        let quiet_since = self.last_progress.max(self.seq.start_time);
        let has_tried =
            || self.trouble.get().and_then(|trouble| trouble.tries).is_some_and(|tries| tries.timers > 0);
        waits && (now.saturating_sub(quiet_since) > SILENCE_NS || self.is_recovering && has_tried())
    }

    /// Messages of which a packet is not acknowledged, of those that are whole on the wire; the last ones, if there are many.
    pub(crate) fn unacknowledged(&self) -> u64 {
        let waiting = self.waiting.iter().filter(|message| message.last >= self.una).count();
        let asked = self.reads.get().map_or(0, |reads| {
            reads.list.iter().filter(|read| !read.complete && read.end > self.una).count()
        });
        (waiting + asked) as u64
    }

    /// The exponent of the acknowledgement timeout that fits the silences before timeouts, by IBTA vol. 1, 9.7.6.1.3; `None` where there
    /// was no timeout, or none fits.
    pub(crate) fn fitting_timeout(&self) -> Option<u8> {
        // Without an answer, the timer alone makes the distances of tries.
        let tried = self.trouble.get().and_then(|trouble| trouble.tries).filter(|tries| tries.timers > 1);
        if let Some(tries) = tried {
            return fitting_exponent(tries.shortest as u64);
        }
        let timeouts = &self.more.as_ref()?.recovery.get()?.timeouts;
        let fitting: Vec<u8> =
            timeouts.iter().filter_map(|timeout| fitting_exponent(timeout.waited_ns)).collect();
        let of = |exponent: u8| fitting.iter().filter(|&&other| other == exponent).count();
        let most = fitting.iter().copied().max_by_key(|&exponent| of(exponent))?;
        // Most silences fit one timeout.
        (2 * of(most) > timeouts.len()).then_some(most)
    }
}

/// The exponent of an IBTA timeout, 4.096 us times two to it, that a timer of this length has: senders take a little longer.
pub(crate) fn fitting_exponent(ns: u64) -> Option<u8> {
    (1..=31).find(|&exponent| {
        let timeout = 4096u64 << exponent;
        (timeout - timeout / 16..=timeout + timeout / 4).contains(&ns)
    })
}
