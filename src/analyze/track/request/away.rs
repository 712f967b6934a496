//! Several taps on the way of a flow. A request is recorded first at the tap nearest to who asks, an answer at that nearest to who answers. A time
//! from one to the other is that of one tap only if the answer is taken where the requests are: when it is recorded there, again.

use std::collections::VecDeque;

use super::{Requests, TrackConfig, thrice};
use crate::{
    analyze::track::{
        distribution::{Distribution, Tracked},
        measured::What,
        push_last,
    },
    heap::heap,
    wire::Psn,
};

/// Where the requests of a flow are recorded first, and what was answered at another tap.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(super) struct Away {
    /// The interface of the requests, once an answer was recorded there again.
    home: Option<u16>,
    /// No answer is: the first ones did not come there.
    is_nowhere: bool,
    /// The answer at hand was recorded at another one.
    is_away: bool,
    /// What is measured when its answer comes home: the PSN that ends it, and when it began. Until the first one does, what was measured
    /// elsewhere.
    waiting: VecDeque<(What, u64, i64)>,
}

heap! { Away { waiting } (What, u64, i64) {} }

impl Away {
    /// This was measured elsewhere, and is again if its answer comes home: one of the first does, or none.
    fn may_wait(&mut self, measured: (What, u64, i64)) {
        const FIRST: usize = 256;
        if self.waiting.len() == FIRST {
            (self.is_nowhere, self.waiting) = (true, VecDeque::new());
        }
        if !self.is_nowhere {
            self.waiting.push_back(measured);
        }
    }

    /// What ends with the answer to this PSN, or ended before it. Answers to it alone are waited for, unless it is a message: the next one
    /// acknowledges that too.
    fn ended(&mut self, x: u64) -> Option<(What, u64, i64)> {
        while let Some(&(what, last, _)) = self.waiting.front().filter(|&&(_, last, _)| last <= x) {
            let ended = self.waiting.pop_front();
            if what == What::Message || last == x {
                return ended;
            }
        }
        None
    }
}

impl Requests {
    /// An answer comes, on this interface.
    #[inline]
    pub(super) fn is_answered_on(&mut self, interface: u16) {
        if let Some(away) = self.more.as_mut().and_then(|more| more.away.as_mut()) {
            away.is_away = away.home.is_some_and(|home| interface != home);
        }
    }

    /// So long it took until the answer at hand, which has this PSN. That counts when the answer is recorded where its request was.
    #[inline]
    pub(super) fn took(&mut self, what: What, x: u64, (since, time): (i64, i64), config: &TrackConfig) {
        /// Between two taps of a network, fewer are under way.
        const MOST: usize = 1024;
        let more = self.more();
        if more.away.is_none() && config.copying.elsewhere() > 0 {
            more.away = Some(Box::default());
        }
        match more.away.as_mut() {
            Some(away) if away.is_away => return push_last(&mut away.waiting, MOST, (what, x, since)),
            Some(away) if away.home.is_none() => away.may_wait((what, x, since)),
            _ => {}
        }
        config.measures.add(what, x, since, time);
        let ns = (time - since).max(0) as u64;
        match what {
            What::AckRtt => {
                more.ack_rtt.add(ns);
                self.thrice_rtt = more.ack_rtt.p99().map_or(0, thrice);
            }
            What::Message => more.completion.add(ns),
            What::ReadFirst => more.recovery_mut().read_first.add(ns),
            What::ReadLast => more.recovery_mut().read_last.add(ns),
        }
    }

    /// An answer that another tap had recorded before passes the tap of the requests, which has this interface.
    #[cold]
    pub(crate) fn answered_at_home(&mut self, psn: Psn, time: i64, home: u16, config: &TrackConfig) {
        if !self.seq.is_started() {
            return;
        }
        let x = self.seq.unwrap(psn);
        let more = self.more();
        if more.away.as_ref().is_none_or(|away| away.home.is_none()) {
            // What was measured so far began at one tap, and ended at another one.
            (more.ack_rtt, more.completion) = (Tracked::default(), Distribution::default());
            if let Some(recovery) = more.recovery.get_mut() {
                (recovery.read_first, recovery.read_last) = Default::default();
            }
        }
        let away = more.away.get_or_insert_default();
        (away.home, away.is_away) = (Some(home), false);
        while let Some((what, last, since)) = self.more.as_mut().and_then(|more| more.away.as_mut()?.ended(x))
        {
            self.took(what, last, (since, time), config);
        }
    }
}
