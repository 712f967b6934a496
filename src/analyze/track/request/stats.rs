//! What is measured of the answers to requests, and of recoveries.

use super::{
    away::Away,
    recovery::{Episode, MAX_EPISODES, MAX_TIMEOUTS, is_far_beyond, nearest_exponent},
};
use crate::{
    analyze::track::{
        distribution::{Distribution, Tracked},
        goodput::Marks,
        on_demand::{OnDemand, quiet},
    },
    heap::heap,
    report,
};

/// State that only flows with answers need.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct AnswerStats {
    pub(crate) ack_rtt: Tracked,
    pub(crate) completion: Distribution,
    pub(super) marks: Marks,
    pub(super) away: Option<Box<Away>>,
    pub(super) recovery: OnDemand<RecoveryStats>,
}

/// State that only flows with READs, NAKs or timeouts need.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct RecoveryStats {
    pub(crate) read_first: Distribution,
    pub(crate) read_last: Distribution,
    pub(crate) nak_generation: Distribution,
    pub(crate) nak_reaction: Distribution,
    /// The last of these times, and of those that seemed to be timeouts, in nanoseconds; and how many there were.
    recent: [u32; RECENT],
    reactions: u32,
    pub(crate) rnr_asked: Distribution,
    pub(crate) rnr_waited: Distribution,
    pub(crate) rnr_early: u64,
    pub(crate) rnr_stalled: u64,
    pub(crate) timeouts: Vec<report::Timeout>,
    /// What silences were before the first timeout told how long they must be to hide one.
    pub(super) unsorted: Unsorted,
    pub(crate) episodes: Vec<Episode>,
    /// Number of episodes that are not kept.
    pub(crate) episodes_dropped: u64,
}

/// Silences that were counted before anything was known of the sender's timer.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(super) struct Unsorted {
    pub(super) silences: u32,
    /// Packets that may have been lost in them, and all that came until then.
    pub(super) perhaps: u64,
    pub(super) packets: u64,
}

/// So many reactions to NAKs tell how fast the next ones are.
const RECENT: usize = 8;

quiet!(RecoveryStats);

/// The shortest of these times, but for those far below what most take: these are chance, as of a copy, or of what came by anyway.
pub(super) fn fastest_reaction(times: &mut [u64]) -> Option<u64> {
    times.sort_unstable();
    let usual = *times.get(times.len() / 4)?;
    times.iter().copied().find(|&ns| !is_far_beyond(usual as i64, ns.max(1)))
}

impl AnswerStats {
    /// What is known of recoveries: nothing, if it is not written to.
    pub(crate) fn recovery(&self) -> &RecoveryStats {
        &self.recovery
    }

    /// What is known of recoveries, for changes: it is allocated.
    pub(crate) fn recovery_mut(&mut self) -> &mut RecoveryStats {
        &mut self.recovery
    }
}

impl RecoveryStats {
    pub(super) fn distributions_mut(&mut self) -> [&mut Distribution; 6] {
        let RecoveryStats {
            read_first, read_last, nak_generation, nak_reaction, rnr_asked, rnr_waited, ..
        } = self;
        [read_first, read_last, nak_generation, nak_reaction, rnr_asked, rnr_waited]
    }

    /// Keeps only the first few episodes, and the last one, which may not be over.
    pub(super) fn shed_episodes(&mut self) {
        const FEW: usize = 4;
        let last = self.episodes.len().saturating_sub(1);
        self.episodes_dropped += self.episodes.drain(FEW.min(last)..last).count() as u64;
        self.episodes.shrink_to_fit();
    }

    /// The sender went back so long after a NAK, because of it or because its timer expired.
    pub(super) fn went_back(&mut self, ns: i64) {
        self.recent[self.reactions as usize % RECENT] = u32::try_from(ns.max(0)).unwrap_or(u32::MAX);
        self.reactions = self.reactions.checked_add(1).unwrap_or(RECENT as u32);
    }

    /// The shortest time in which the sender reacts to a NAK.
    pub(super) fn fastest_reaction(&self) -> Option<u64> {
        fastest_reaction(&mut self.recent.map(u64::from)[..RECENT.min(self.reactions as usize)])
    }

    /// The sender's timer expired after this time of silence, and it sent this frame.
    pub(super) fn timed_out(&mut self, frame: u64, waited: i64) {
        if self.timeouts.len() < MAX_TIMEOUTS {
            let waited_ns = waited.max(0) as u64;
            let nearest_exponent = nearest_exponent(waited_ns);
            self.timeouts.push(report::Timeout { frame, waited_ns, nearest_exponent });
        }
    }

    /// The shortest time that the sender's timer may take, by the timeouts so far: IBTA lets it take up to four times as long as it is set to.
    pub(super) fn shortest_timer(&self) -> Option<i64> {
        /// What is repeated with another packet has not waited for a timer of its own.
        const SHORTEST_NS: u64 = 20_000;
        let waits = self.timeouts.iter().map(|timeout| timeout.waited_ns).filter(|&ns| ns >= SHORTEST_NS);
        waits.min().map(|ns| (ns / 4) as i64)
    }

    /// Keeps an episode that began before others, if there is room.
    pub(super) fn insert_episode(&mut self, at: usize, episode: Episode) {
        match self.episodes.len() < MAX_EPISODES {
            true => self.episodes.insert(at, episode),
            false => self.episodes_dropped += 1,
        }
    }

    /// Keeps an episode, instead of the last one if there are too many: packets are added to the last episode.
    pub(super) fn keep_episode(&mut self, episode: Episode) {
        if self.episodes.len() < MAX_EPISODES {
            return self.episodes.push(episode);
        }
        self.episodes_dropped += 1;
        if let Some(last) = self.episodes.last_mut() {
            *last = episode;
        }
    }
}

heap! {
    AnswerStats { ack_rtt, completion, recovery, away }
    RecoveryStats { read_first, read_last, nak_generation, nak_reaction, rnr_asked, rnr_waited, episodes, timeouts }
    Episode {}
    report::Timeout {}
}
