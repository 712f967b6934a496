//! When the packets of one PSN space went on, and when they were recovering.

use std::collections::VecDeque;

/// PSNs are numbers of 24 bits.
const MASK: u32 = 0xff_ffff;
/// Recoveries that are kept: commands that take longer than so many are rare.
const KEPT: usize = 1024;

/// The packets of one PSN space of a direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    /// The PSN behind the last one.
    next: Option<u32>,
    /// The last time something new came.
    last_new: i64,
    /// The sender repeats packets: since when nothing new came.
    recovering: Option<i64>,
    recovered: VecDeque<(i64, i64)>,
}

impl Progress {
    /// A packet. One with a PSN that is not new is a retransmission: since the last new one, the sender recovers.
    pub(crate) fn see(&mut self, psn: u32, time: i64) {
        let ahead = self.next.map_or(0, |next| psn.wrapping_sub(next) & MASK);
        if ahead < 1 << 23 {
            if let Some(since) = self.recovering.take() {
                self.keep(since, time);
            }
            (self.next, self.last_new) = (Some(psn.wrapping_add(1) & MASK), time);
        } else {
            self.recovering.get_or_insert(self.last_new);
        }
    }

    fn keep(&mut self, since: i64, until: i64) {
        if self.recovered.len() == KEPT {
            self.recovered.pop_front();
        }
        self.recovered.push_back((since, until));
    }

    /// The recoveries within this time.
    pub(crate) fn within(&self, from: i64, to: i64) -> impl Iterator<Item = (i64, i64)> {
        // The one that goes on is not over before this time.
        let open = self.recovering.map(|since| (since, to));
        let all =
            self.recovered.iter().rev().take_while(move |(_, until)| *until > from).copied().chain(open);
        all.map(move |(since, until)| (since.max(from), until.min(to))).filter(|(since, until)| since < until)
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

    #[test]
    fn repeated_packets_are_a_recovery_until_something_new_comes() {
        let mut progress = Progress::default();
        [(0xff_ffff, 10), (0, 20), (0xff_ffff, 50), (0, 60)]
            .into_iter()
            .for_each(|(psn, time)| progress.see(psn, time));
        assert_eq!(progress.within(0, 55).collect::<Vec<_>>(), [(20, 55)]);
        progress.see(1, 70);
        assert_eq!(progress.within(30, 100).collect::<Vec<_>>(), [(30, 70)]);
        assert!(progress.has_sent(0) && !progress.has_sent(2));
    }

    #[test]
    fn each_moment_counts_once() {
        assert_eq!(union(&mut [(5, 10), (0, 6), (20, 21)]), 11);
        assert_eq!(union(&mut []), 0);
    }
}
