//! One flow with a finding.

use std::cmp::Reverse;

use crate::report::{Affected, Bounds};

/// A flow with a finding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) at: u32,
    pub(super) count: Bounds,
    /// Losses with which these packets were lost; `None` where it is no finding about losses.
    pub(super) losses: Option<u64>,
    /// Nanoseconds; 0 where that is not known.
    pub(super) time_lost: u64,
    /// When its first episode began, and its last one; `None` where there are none.
    pub(super) between: Option<[i64; 2]>,
}

impl Case {
    /// The most expensive case is the first.
    pub(super) fn weight(&self) -> impl Ord + use<> {
        (Reverse(self.time_lost), Reverse(self.count[0]), self.at)
    }

    pub(super) fn affected(&self) -> Affected {
        let time_lost_ns = Some(self.time_lost).filter(|&ns| ns > 0);
        Affected { flow: self.at as usize, count: self.count, loss_episodes: self.losses, time_lost_ns }
    }
}
