//! When the packets of one PSN space went on, and when their sender repeated some, and why.

use std::collections::VecDeque;

/// PSNs are numbers of 24 bits.
const MASK: u32 = 0xff_ffff;
/// Recoveries that are kept: commands that take longer than so many are rare.
const KEPT: usize = 1024;

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    New,
    /// Later packets overtook it.
    Late,
    /// Its sender sent it again.
    Again,
    /// A second record of one transmission: of a mirror, or of another tap.
    Copy,
}

/// Why a sender repeats packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The receiver says that some are missing, or the capture shows it.
    Lost,
    /// The receiver says that it was not ready: an RNR NAK.
    NotReady,
    /// Nothing in the capture says so: the packet was lost behind the tap, or its acknowledgement, or the receiver was too slow.
    Unknown,
}

/// An answer to packets of the other direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// All up to this one came.
    Came,
    /// From this one on, they are wanted again.
    Again(Why),
}

/// Since when a sender recovers, and why.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    since: i64,
    why: Why,
}

/// PSNs that were passed over: the first one, how many, and when that showed.
#[derive(Clone, Copy, Debug)]
struct Gap {
    first: u32,
    psns: u32,
    time: i64,
}

/// A PSN that came.
#[derive(Clone, Copy, Debug)]
struct Sent {
    psn: u32,
    time: i64,
    is_again: bool,
}

/// The packets of one PSN space of a direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    /// The PSN behind the last one, and how many more the last one may take: a READ takes those of its responses.
    next: Option<u32>,
    room: u32,
    /// The last time something new came.
    last_new: i64,
    /// Where the first packet was captured.
    place: u16,
    /// The last PSN that was acknowledged.
    acked: Option<u32>,
    missing: VecDeque<Gap>,
    /// The receiver wants packets again, from this one on.
    asked: Option<(u32, Why)>,
    /// The last PSNs and when they came: of new ones some, which stand for those behind them.
    sent: VecDeque<Sent>,
    /// Second records at the same place, and the longest time that one came behind the first.
    copies: u32,
    copied_after: i64,
    recovering: Option<Recovery>,
    recovered: VecDeque<(i64, i64, Why)>,
}

/// How many PSNs `psn` is ahead of `from`; negative if it is behind.
fn ahead(psn: u32, from: u32) -> i64 {
    let distance = i64::from(psn.wrapping_sub(from) & MASK);
    if distance < 1 << 23 { distance } else { distance - (1 << 24) }
}

impl Progress {
    /// A packet, captured at this place, which takes so many PSNs at most.
    pub(crate) fn see(&mut self, psn: u32, time: i64, place: u16, psns: u32) -> Seen {
        let distance = self.next.map_or(0, |next| ahead(psn, next));
        if self.next.is_none() {
            self.place = place;
        }
        if distance < 0 {
            return self.repeat(psn, time, place);
        }
        if distance > i64::from(self.room) {
            const GAPS: usize = 16;
            if self.missing.len() == GAPS {
                self.missing.pop_front();
            }
            let first = psn.wrapping_sub(distance as u32) & MASK;
            self.missing.push_back(Gap { first, psns: distance as u32, time });
        }
        self.end_recovery(time);
        (self.next, self.last_new) = (Some(psn.wrapping_add(1) & MASK), time);
        self.room = psns.saturating_sub(1);
        self.note(Sent { psn, time, is_again: false });
        Seen::New
    }

    /// When a PSN came: a moment is enough.
    fn note(&mut self, sent: Sent) {
        const MOMENT_NS: i64 = 1_000;
        const NOTED: usize = 64;
        let is_near = |last: &Sent| !last.is_again && sent.time.saturating_sub(last.time) < MOMENT_NS;
        if !sent.is_again && self.sent.back().is_some_and(is_near) {
            return;
        }
        if self.sent.len() == NOTED {
            self.sent.pop_front();
        }
        self.sent.push_back(sent);
    }

    /// A packet whose PSN is not new.
    fn repeat(&mut self, psn: u32, time: i64, place: u16) -> Seen {
        /// What comes so late behind later packets, and was not asked for, was overtaken.
        const LATE_NS: i64 = 50_000;
        if place != self.place {
            return Seen::Copy;
        }
        let asked = self.asked.filter(|(from, _)| ahead(psn, *from) >= 0).map(|(_, why)| why);
        let in_gap = |gap: &Gap| (0..i64::from(gap.psns)).contains(&ahead(psn, gap.first));
        if let Some(at) = self.missing.iter().position(in_gap) {
            let gap = self.missing[at];
            self.fill(at, psn);
            if asked.is_none() && time.saturating_sub(gap.time) < LATE_NS {
                return Seen::Late;
            }
            self.recover(time, psn, asked.filter(|why| *why == Why::NotReady).unwrap_or(Why::Lost));
            return Seen::Again;
        }
        if self.is_copy(psn, time, asked.is_some()) {
            return Seen::Copy;
        }
        self.recover(time, psn, asked.unwrap_or(Why::Unknown));
        self.note(Sent { psn, time, is_again: true });
        Seen::Again
    }

    /// Whether a PSN that came before is a second record of one transmission.
    fn is_copy(&mut self, psn: u32, time: i64, is_asked: bool) -> bool {
        /// What comes sooner was recorded twice: no answer can come so soon.
        const SURE_NS: i64 = 1_000;
        /// No mirror has a longer lag; and timers are longer.
        const MIRROR_NS: i64 = 1_000_000;
        /// After so many copies, others are expected.
        const ENOUGH: u32 = 3;
        let is_it = |sent: &&Sent| match sent.is_again {
            true => sent.psn == psn,
            false => ahead(psn, sent.psn) >= 0,
        };
        let Some(before) = self.sent.iter().rev().find(is_it) else { return false };
        let lag = time.saturating_sub(before.time);
        let is_usual = self.copies >= ENOUGH && lag <= self.copied_after.saturating_mul(2);
        let is_copy = lag < SURE_NS || is_usual || !is_asked && lag < MIRROR_NS;
        if is_copy {
            self.copies = self.copies.saturating_add(1);
            self.copied_after = self.copied_after.max(lag.max(SURE_NS));
        }
        is_copy
    }

    /// A packet that was missing came.
    fn fill(&mut self, at: usize, psn: u32) {
        let gap = &mut self.missing[at];
        let before = ahead(psn, gap.first) as u32;
        let rest = Gap { first: psn.wrapping_add(1) & MASK, psns: gap.psns - before - 1, ..*gap };
        gap.psns = before;
        if rest.psns > 0 {
            self.missing.insert(at + 1, rest);
        }
        self.missing.retain(|gap| gap.psns > 0);
    }

    /// The sender repeats packets: nothing new came since the last new one. What was acknowledged before is no trouble until it comes again.
    fn recover(&mut self, time: i64, psn: u32, why: Why) {
        let was_acked = self.acked.is_some_and(|acked| ahead(psn, acked) <= 0);
        let since = if was_acked { time } else { self.last_new };
        let of = self.recovering.get_or_insert(Recovery { since, why });
        if of.why == Why::Unknown {
            of.why = why;
        }
    }

    /// What the receiver says of this PSN.
    pub(crate) fn answer(&mut self, psn: u32, time: i64, answer: Answer) {
        let Some(next) = self.next else { return };
        // A READ's acknowledgement is its last response.
        let end = i64::from(self.room);
        if ahead(psn, next) > end {
            return;
        }
        let was_acked = self.acked.is_some_and(|acked| ahead(psn, acked) <= 0);
        match answer {
            Answer::Came => {
                if !was_acked {
                    self.acked = Some(psn);
                }
                self.asked = self.asked.filter(|(from, _)| ahead(psn, *from) < 0);
                if ahead(psn, next) >= -1 {
                    self.end_recovery(time);
                }
            }
            Answer::Again(why) if !was_acked => {
                self.asked = Some((psn, why));
                // Nothing goes on from here: the timer runs.
                if why == Why::NotReady {
                    self.recovering.get_or_insert(Recovery { since: time, why });
                }
            }
            Answer::Again(_) => {}
        }
    }

    /// The receiver wants READ responses again, from this one on.
    pub(crate) fn ask(&mut self, psn: u32) {
        self.asked = Some((psn, Why::Lost));
    }

    fn end_recovery(&mut self, time: i64) {
        let Some(Recovery { since, why }) = self.recovering.take() else { return };
        if self.recovered.len() == KEPT {
            self.recovered.pop_front();
        }
        self.recovered.push_back((since, time, why));
    }

    /// The recoveries within this time.
    pub(crate) fn within(&self, from: i64, to: i64) -> impl Iterator<Item = (i64, i64, Why)> {
        // The one that goes on is not over before this time.
        let open = self.recovering.map(|of| (of.since, to, of.why));
        let all = self.recovered.iter().rev().take_while(move |(_, until, _)| *until > from).copied();
        all.chain(open)
            .map(move |(since, until, why)| (since.max(from), until.min(to), why))
            .filter(|(since, until, _)| since < until)
    }

    /// Whether this PSN is one of the last before the next one.
    pub(crate) fn has_sent(&self, psn: u32) -> bool {
        const NEAR: u32 = 4096;
        self.next.is_some_and(|next| (1..=NEAR).contains(&(next.wrapping_sub(psn) & MASK)))
    }
}

/// The length of all intervals together, each moment once.
pub(crate) fn union(intervals: &mut [(i64, i64)]) -> u64 {
    intervals.sort_unstable();
    let (mut sum, mut reached) = (0u64, i64::MIN);
    for &(from, to) in intervals.iter() {
        let from = from.max(reached);
        if to > from {
            sum = sum.saturating_add(to.abs_diff(from));
            reached = to;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Milliseconds.
    const MS: i64 = 1_000_000;

    fn see(progress: &mut Progress, packets: &[(u32, i64)]) -> Vec<Seen> {
        packets.iter().map(|&(psn, time)| progress.see(psn, time, 0, 1)).collect()
    }

    #[test]
    fn repeated_packets_are_a_recovery_until_something_new_comes() {
        let mut progress = Progress::default();
        let seen =
            see(&mut progress, &[(0xff_ffff, 10 * MS), (0, 20 * MS), (0xff_ffff, 50 * MS), (0, 60 * MS)]);
        assert_eq!(seen, [Seen::New, Seen::New, Seen::Again, Seen::Again]);
        assert_eq!(progress.within(0, 55 * MS).collect::<Vec<_>>(), [(20 * MS, 55 * MS, Why::Unknown)]);
        see(&mut progress, &[(1, 70 * MS)]);
        assert_eq!(progress.within(30 * MS, 100 * MS).count(), 1);
        assert_eq!(progress.within(70 * MS, 100 * MS).count(), 0);
        assert!(progress.has_sent(0) && !progress.has_sent(2));
    }

    #[test]
    fn an_acknowledgement_ends_a_recovery() {
        let mut progress = Progress::default();
        see(&mut progress, &[(1, 0), (2, 100)]);
        progress.answer(1, 4_000, Answer::Again(Why::Lost));
        assert_eq!(see(&mut progress, &[(1, 9_000), (2, 9_100)]), [Seen::Again; 2]);
        progress.answer(2, 12_000, Answer::Came);
        assert_eq!(progress.within(0, MS).collect::<Vec<_>>(), [(100, 12_000, Why::Lost)]);
    }

    #[test]
    fn who_was_not_ready_lost_nothing() {
        let mut progress = Progress::default();
        see(&mut progress, &[(7, 0)]);
        progress.answer(7, 3_000, Answer::Again(Why::NotReady));
        assert_eq!(see(&mut progress, &[(7, 2 * MS)]), [Seen::Again]);
        progress.answer(7, 3 * MS, Answer::Came);
        assert_eq!(progress.within(0, 9 * MS).collect::<Vec<_>>(), [(3_000, 3 * MS, Why::NotReady)]);
    }

    #[test]
    fn copies_and_late_packets_are_no_recovery() {
        let mut progress = Progress::default();
        let seen =
            see(&mut progress, &[(1, 0), (1, 3_000), (2, 10_000), (4, 11_000), (3, 12_000), (3, 14_000)]);
        assert_eq!(seen, [Seen::New, Seen::Copy, Seen::New, Seen::New, Seen::Late, Seen::Copy]);
        // Another tap's.
        assert_eq!(progress.see(4, 5 * MS, 1, 1), Seen::Copy);
        assert_eq!(progress.within(0, 9 * MS).count(), 0);
    }

    #[test]
    fn each_moment_counts_once() {
        assert_eq!(union(&mut [(5, 10), (0, 6), (20, 21)]), 11);
        assert_eq!(union(&mut []), 0);
    }
}
