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
    /// Later packets overtook it, or another tap has what this one lacks.
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

/// From where on the receiver wants packets again.
#[derive(Clone, Copy, Debug)]
struct Asked {
    from: u32,
    /// The last one that had come when some came again.
    to: Option<u32>,
    why: Why,
    /// No acknowledgement says when they came: something new does.
    is_until_new: bool,
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
    /// The first PSN, of the set-up.
    start: Option<u32>,
    /// Up to here all came in order, and the packet at its end takes so many PSNs at most: a receiver drops what comes behind a gap.
    taken: Option<(u32, u32)>,
    /// The last time something new came.
    last_new: i64,
    /// The last PSN that was acknowledged.
    acked: Option<u32>,
    missing: VecDeque<Gap>,
    asked: Option<Asked>,
    /// New packets.
    news: u32,
    /// The last PSNs and when they came: of new ones some, which stand for those behind them.
    sent: VecDeque<Sent>,
    /// Second records at the same place, and the longest time that one came behind the first.
    copies: u32,
    copied_after: i64,
    /// Packets that came a second time soon, and nobody asked for.
    streak: Option<Streak>,
    recovering: Option<Recovery>,
    recovered: VecDeque<(i64, i64, Why)>,
}

/// Packets that came a second time soon, and nobody asked for: of a mirror that began amid the capture, nearly all from then on.
#[derive(Clone, Copy, Debug)]
struct Streak {
    /// New packets before the first of them.
    from: u32,
    /// Of them.
    packets: u32,
    /// How often something new came between two of them.
    turns: u32,
    /// New packets when the last of them came.
    news: u32,
}

impl Streak {
    /// Nobody sends several bursts again without being asked, and nearly all that is new with them.
    fn is_mirror(self) -> bool {
        const ENOUGH: u32 = 8;
        const TURNS: u32 = 4;
        self.packets >= ENOUGH && self.turns >= TURNS
    }
}

/// How many PSNs `psn` is ahead of `from`; negative if it is behind.
fn ahead(psn: u32, from: u32) -> i64 {
    let distance = i64::from(psn.wrapping_sub(from) & MASK);
    if distance < 1 << 23 { distance } else { distance - (1 << 24) }
}

impl Progress {
    /// A packet that takes so many PSNs at most. `is_here`: it was captured at the tap that counts, and not at another one.
    pub(crate) fn see(&mut self, psn: u32, time: i64, is_here: bool, psns: u32) -> Seen {
        /// The capture may lack more packets at the beginning: then it shows no gap.
        const MOST_LACKING: i64 = 256;
        if let Some(start) = self.start.take()
            && self.next.is_none()
            && (0..MOST_LACKING).contains(&ahead(psn, start))
        {
            (self.next, self.last_new) = (Some(start), time);
            self.taken = Some((start.wrapping_sub(1) & MASK, 1));
        }
        let distance = self.next.map_or(0, |next| ahead(psn, next));
        if distance < 0 {
            return self.again(psn, time, is_here, psns);
        }
        self.take(psn, psns);
        self.asked = self.asked.filter(|asked| !asked.is_until_new || asked.to.is_none());
        self.news = self.news.saturating_add(1);
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

    /// A packet whose PSN is not new.
    pub(crate) fn again(&mut self, psn: u32, time: i64, is_here: bool, psns: u32) -> Seen {
        let seen = if is_here { self.repeat(psn, time) } else { self.lend(psn) };
        if seen != Seen::Copy {
            self.take(psn, psns);
        }
        seen
    }

    /// A READ request for the rest of one before: who asks lacks its responses, and goes back to there. What it sent since comes again.
    pub(crate) fn resume(&mut self, psn: u32, time: i64, is_here: bool, psns: u32) -> Seen {
        let Some(next) = self.next.filter(|_| is_here) else { return Seen::Copy };
        if self.asked.is_none_or(|asked| ahead(psn, asked.from) < 0) {
            let to = Some(next.wrapping_sub(1) & MASK);
            self.asked = Some(Asked { from: psn, to, why: Why::Unknown, is_until_new: false });
        }
        self.recover(time, psn, Why::Unknown);
        self.note(Sent { psn, time, is_again: true });
        self.take(psn, psns);
        Seen::Again
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

    /// The set-up says with which PSN it begins.
    pub(crate) fn starts_with(&mut self, psn: u32) {
        self.start = Some(psn);
    }

    /// A packet comes to its receiver.
    fn take(&mut self, psn: u32, psns: u32) {
        let is_next = |(taken, span): (u32, u32)| (1..=i64::from(span)).contains(&ahead(psn, taken));
        if self.taken.is_none_or(is_next) {
            self.taken = Some((psn, psns.max(1)));
        }
    }

    /// Whether it came behind a gap, so that its receiver has to get it again, and no acknowledgement says that it came.
    pub(crate) fn is_untaken(&self, psn: u32) -> bool {
        self.taken.is_some_and(|(taken, _)| ahead(psn, taken) > 0)
    }

    /// The gap in which this PSN is missing.
    fn gap_of(&self, psn: u32) -> Option<usize> {
        self.missing.iter().position(|gap| (0..i64::from(gap.psns)).contains(&ahead(psn, gap.first)))
    }

    /// A packet of another tap, whose PSN is not new.
    fn lend(&mut self, psn: u32) -> Seen {
        let Some(at) = self.gap_of(psn) else { return Seen::Copy };
        self.fill(at, psn);
        Seen::Late
    }

    /// A packet whose PSN is not new.
    fn repeat(&mut self, psn: u32, time: i64) -> Seen {
        let asked = self.asked.filter(|asked| ahead(psn, asked.from) >= 0).map(|asked| asked.why);
        let gap = self.gap_of(psn);
        if gap.is_none() && self.is_copy(psn, time, asked.is_some()) {
            return Seen::Copy;
        }
        let mut is_last = false;
        if let Some(of) = self.asked.as_mut().filter(|_| asked.is_some()) {
            of.to = of.to.or(self.next.map(|next| next.wrapping_sub(1) & MASK));
            is_last = of.is_until_new && of.to.is_some_and(|to| ahead(psn, to) >= 0);
        }
        let seen = self.repeat_of(psn, time, asked, gap);
        if is_last {
            // Nothing else says that they came.
            self.asked = None;
            self.end_recovery(time);
        }
        seen
    }

    /// A packet that came before, or is missing in a gap, and why it is wanted again.
    fn repeat_of(&mut self, psn: u32, time: i64, asked: Option<Why>, gap: Option<usize>) -> Seen {
        /// What comes so late behind later packets, and was not asked for, was overtaken.
        const LATE_NS: i64 = 50_000;
        if let Some(at) = gap {
            let Gap { time: since, .. } = self.missing[at];
            self.fill(at, psn);
            if asked.is_none() && time.saturating_sub(since) < LATE_NS {
                return Seen::Late;
            }
            self.recover(time, psn, asked.filter(|why| *why == Why::NotReady).unwrap_or(Why::Lost));
            return Seen::Again;
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
        /// After so many copies, others are expected, if one packet in so many has one: a mirror copies all that it sees.
        const ENOUGH: u32 = 3;
        const OF: u32 = 4;
        let is_it = |sent: &&Sent| match sent.is_again {
            true => sent.psn == psn,
            false => ahead(psn, sent.psn) >= 0,
        };
        let Some(before) = self.sent.iter().rev().find(is_it) else { return false };
        let lag = time.saturating_sub(before.time);
        /// So many packets that have no copy show that there is no mirror, if fewer than one in so many has one.
        const NONE: u32 = 4;
        const HALF: u32 = 2;
        // Copies come in the order of their packets: those before this one had theirs.
        let behind = self.next.map_or(0, |next| ahead(next, psn).max(0) as u32);
        let passed = self.news.saturating_sub(behind);
        if !is_asked && lag < MIRROR_NS {
            self.go_on(passed);
        }
        let has_begun = self.streak.is_some_and(Streak::is_mirror);
        if lag >= SURE_NS && passed >= NONE && self.copies < passed / HALF && !has_begun {
            return false;
        }
        let is_mirrored = self.copies >= ENOUGH && self.copies >= self.news / OF || has_begun;
        let is_usual = is_mirrored && lag <= self.copied_after.saturating_mul(2);
        let is_copy = lag < SURE_NS || is_usual || !is_asked && lag < MIRROR_NS;
        if is_copy {
            self.copies = self.copies.saturating_add(1);
            self.copied_after = self.copied_after.max(lag.max(SURE_NS));
        }
        is_copy
    }

    /// Another packet of a streak, or the first of one: of those that are new, before this one and since the streak began, most are in it.
    fn go_on(&mut self, passed: u32) {
        let old = self.streak.filter(|of| {
            let new = passed.saturating_sub(of.from);
            passed >= of.from && u64::from(of.packets) * 4 >= u64::from(new) * 3
        });
        let of = old.unwrap_or(Streak { from: passed, packets: 0, turns: 0, news: self.news });
        let turns = of.turns.saturating_add(u32::from(of.news != self.news));
        self.streak = Some(Streak { packets: of.packets.saturating_add(1), turns, news: self.news, ..of });
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
        let was_acked = self.is_acked(psn);
        let since = if was_acked { time } else { self.last_new };
        let of = self.recovering.get_or_insert(Recovery { since, why });
        if of.why == Why::Unknown {
            of.why = why;
        }
    }

    /// What the receiver says of this PSN. Returns whether it says something of what came.
    pub(crate) fn answer(&mut self, psn: u32, time: i64, answer: Answer) -> bool {
        let Some(next) = self.next else { return false };
        // A READ's acknowledgement is its last response.
        let end = i64::from(self.room);
        if ahead(psn, next) > end {
            return false;
        }
        let was_acked = self.is_acked(psn);
        match answer {
            Answer::Came => {
                if !was_acked {
                    self.acked = Some(psn);
                }
                if let Some((taken, span)) = self.taken.as_mut().filter(|(taken, _)| ahead(psn, *taken) > 0) {
                    let rest = i64::from(*span) - ahead(psn, *taken);
                    (*taken, *span) = (psn, rest.max(1) as u32);
                }
                if let Some(asked) = self.asked.as_mut().filter(|asked| ahead(psn, asked.from) >= 0) {
                    asked.from = psn.wrapping_add(1) & MASK;
                    // The rest of what is repeated is still to come.
                    if asked.to.is_none_or(|to| ahead(psn, to) >= 0) {
                        self.asked = None;
                    }
                }
                if ahead(psn, next) >= -1 {
                    self.end_recovery(time);
                }
            }
            Answer::Again(why) if !was_acked => {
                self.asked = Some(Asked { from: psn, to: None, why, is_until_new: false });
                let before = psn.wrapping_sub(1) & MASK;
                self.taken = self.taken.map(|of| if ahead(of.0, before) > 0 { (before, 1) } else { of });
                // Nothing goes on from here: the timer runs.
                if why == Why::NotReady {
                    self.recovering.get_or_insert(Recovery { since: time, why });
                }
            }
            Answer::Again(_) => return false,
        }
        true
    }

    /// The receiver wants READ responses again, from this one on.
    pub(crate) fn ask(&mut self, psn: u32) {
        // Of several READs that are asked again, the first one says from where on.
        if self.asked.is_none_or(|asked| ahead(psn, asked.from) < 0) {
            self.asked = Some(Asked { from: psn, to: None, why: Why::Lost, is_until_new: true });
        }
    }

    /// Whether this PSN is so far from all that came that another connection must have sent it.
    pub(crate) fn is_elsewhere(&self, psn: u32) -> bool {
        const FAR: i64 = 1 << 14;
        self.next.or(self.start).is_some_and(|next| ahead(psn, next).abs() > FAR)
    }

    /// The last response of a READ: if it was the last packet, it is known how many PSNs it took.
    pub(crate) fn read_ended(&mut self, psn: u32) {
        let Some(next) = self.next else { return };
        let more = ahead(psn, next) + 1;
        if (0..i64::from(self.room)).contains(&more) {
            self.room = more as u32;
        }
        if let Some((taken, span)) = &mut self.taken {
            let more = ahead(psn, *taken);
            if (0..i64::from(*span)).contains(&more) {
                *span = more as u32 + 1;
            }
        }
    }

    /// Whether one of these is before the other.
    pub(crate) fn is_before(psn: u32, other: u32) -> bool {
        ahead(psn, other) < 0
    }

    /// Whether packets before this one are missing which no acknowledgement covers: the receiver takes what is in order.
    pub(crate) fn is_behind_gap(&self, psn: u32) -> bool {
        self.missing.iter().any(|gap| {
            let last = gap.first.wrapping_add(gap.psns - 1) & MASK;
            ahead(psn, gap.first) > 0 && !self.is_acked(last)
        })
    }

    /// Whether a PSN that came is wanted again if the receiver wants all from the other one on.
    pub(crate) fn is_from(&self, psn: u32, from: u32) -> bool {
        ahead(psn, from) >= 0 && !self.is_acked(psn)
    }

    /// Whether an acknowledgement covers this PSN.
    pub(crate) fn is_acked(&self, psn: u32) -> bool {
        self.acked.is_some_and(|acked| ahead(psn, acked) <= 0)
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
        packets.iter().map(|&(psn, time)| progress.see(psn, time, true, 1)).collect()
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
        assert_eq!(progress.see(4, 5 * MS, false, 1), Seen::Copy);
        assert_eq!(progress.within(0, 9 * MS).count(), 0);
    }

    /// A burst that goes back to a lost packet is sent again, also behind the acknowledgement of its first packets, and however many of them
    /// there are: no mirror copies a few.
    #[test]
    fn a_burst_that_was_asked_for_is_no_copy() {
        let mut progress = Progress::default();
        see(&mut progress, &[(1, 0), (2, 10_000), (3, 20_000), (4, 30_000), (5, 40_000), (6, 50_000)]);
        progress.answer(2, 60_000, Answer::Again(Why::Lost));
        assert_eq!(see(&mut progress, &[(2, 70_000)]), [Seen::Again]);
        progress.answer(2, 80_000, Answer::Came);
        assert_eq!(
            see(&mut progress, &[(3, 90_000), (4, 91_000), (5, 92_000), (6, 93_000)]),
            [Seen::Again; 4]
        );
        progress.answer(6, 100_000, Answer::Came);
        // What was asked for has come: what comes again has another reason.
        assert_eq!(see(&mut progress, &[(6, 105_000)]), [Seen::Again]);
        assert_eq!(progress.within(104_000, MS).collect::<Vec<_>>(), [(105_000, MS, Why::Unknown)]);
    }

    /// Who asks for the rest of a READ goes back to it, and so does who answers, up to what was the last.
    #[test]
    fn the_rest_of_a_read_is_no_new_request() {
        let mut progress = Progress::default();
        assert_eq!(progress.see(10, 0, true, 8), Seen::New);
        see(&mut progress, &[(18, 1_000), (19, 3_000)]);
        assert_eq!(progress.resume(14, 20_000, true, 4), Seen::Again);
        assert_eq!(see(&mut progress, &[(18, 21_000), (19, 22_000)]), [Seen::Again; 2]);
        assert_eq!(progress.resume(14, 23_000, false, 4), Seen::Copy);
        let mut progress = Progress::default();
        see(&mut progress, &[(10, 0), (11, 2_000), (12, 4_000)]);
        progress.ask(11);
        progress.ask(12);
        assert_eq!(see(&mut progress, &[(11, 9_000), (12, 10_000)]), [Seen::Again; 2]);
        assert_eq!(progress.within(0, MS).collect::<Vec<_>>(), [(4_000, 10_000, Why::Lost)]);
    }

    /// A mirror copies all that it sees: where packets had no copy, what comes twice was sent again.
    #[test]
    fn no_mirror_copies_one() {
        let mut progress = Progress::default();
        let first: Vec<_> = (0..8).map(|n| (n, i64::from(n) * 10_000)).collect();
        see(&mut progress, &first);
        assert_eq!(see(&mut progress, &[(6, 80_000), (7, 81_000)]), [Seen::Again; 2]);
        // Before that, it may be one that lags behind.
        let mut progress = Progress::default();
        see(&mut progress, &first);
        assert_eq!(see(&mut progress, &[(0, 80_000), (1, 81_000), (2, 82_000)]), [Seen::Copy; 3]);
    }

    /// A mirror that begins amid the capture is known after some packets; bursts that are sent again are none.
    #[test]
    fn a_mirror_may_begin_later() {
        let again = |seen: &[Seen]| seen.iter().filter(|&&seen| seen == Seen::Again).count();
        let mut progress = Progress::default();
        let first: Vec<_> = (0..100).map(|n| (n, i64::from(n) * 10_000)).collect();
        see(&mut progress, &first);
        let mirrored: Vec<_> = (100..200)
            .flat_map(|n| [(n, i64::from(n) * 10_000), (n, i64::from(n) * 10_000 + 3_000)])
            .collect();
        let seen = see(&mut progress, &mirrored);
        assert!(again(&seen) < 10 && again(&seen[100..]) == 0, "{seen:?}");
        // What is asked for is sent again.
        progress.ask(195);
        assert_eq!(see(&mut progress, &[(195, 2 * MS)]), [Seen::Again]);
        let mut progress = Progress::default();
        see(&mut progress, &first);
        let bursts: Vec<_> = (0..40).map(|n| (100 + n % 20, i64::from(n) * 1_000 + MS)).collect();
        assert_eq!(again(&see(&mut progress, &bursts)), 20);
    }

    #[test]
    fn a_receiver_takes_what_is_in_order() {
        let mut progress = Progress::default();
        progress.starts_with(10);
        see(&mut progress, &[(11, 0), (12, 1_000)]);
        assert!(progress.is_behind_gap(12) && progress.is_untaken(11) && progress.is_untaken(12));
        progress.answer(10, 3_000, Answer::Again(Why::Lost));
        // One of them is lost again: it was seen, but not taken.
        see(&mut progress, &[(10, 9_000), (12, 9_100)]);
        assert!(!progress.is_untaken(10) && progress.is_untaken(12) && !progress.is_behind_gap(12));
        progress.answer(12, 12_000, Answer::Came);
        assert!(!progress.is_untaken(12));
        // A READ takes the PSNs of its responses, and its last one says how many.
        progress.see(13, 13_000, true, 512);
        progress.read_ended(15);
        progress.answer(15, 14_000, Answer::Came);
        progress.see(17, 15_000, true, 1);
        assert!(progress.is_untaken(17));
    }

    #[test]
    fn each_moment_counts_once() {
        assert_eq!(union(&mut [(5, 10), (0, 6), (20, 21)]), 11);
        assert_eq!(union(&mut []), 0);
    }
}
