//! Which path comes behind which, where a sender takes its paths in turn: that tells the path of a packet which the tap did not see.

use crate::heap::heap;

/// So often in a row at most a successor is confirmed: one that has changed is learned soon.
const MOST_VOTES: u8 = 4;

/// The successors of the paths of one flow. Paths are known by their places in the list of the flow.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct Turns {
    next: Vec<Next>,
    /// How often a packet had the path that was expected behind that of the PSN before it, and how often not.
    in_turn: u32,
    out_of_turn: u32,
}

/// The path behind one, by the majority of what was seen.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
struct Next {
    at: u16,
    votes: u8,
}

/// Two paths between whose turns most was lost that is on no path which the tap has seen.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(crate) struct Unseen {
    between: [u16; 2],
    votes: u64,
    pub(crate) lost: u64,
}

impl Unseen {
    /// One was lost between packets on these.
    pub(crate) fn add(&mut self, between: [usize; 2]) {
        let between = between.map(|at| at as u16);
        match self.votes {
            0 => *self = Unseen { between, votes: 1, lost: 1 },
            _ if self.between == between => (self.votes, self.lost) = (self.votes + 1, self.lost + 1),
            _ => self.votes -= 1,
        }
    }

    pub(crate) fn between(&self) -> [usize; 2] {
        self.between.map(usize::from)
    }

    /// A port that the ports of these two leave out, and what was lost there; `all`: of what was lost on no path that the tap has seen, it must be most.
    pub(crate) fn left_out(&self, all: u64, port: impl Fn(usize) -> Option<u16>) -> Option<(u16, u64)> {
        /// So few show nothing.
        const ENOUGH: u64 = 4;
        let [before, behind] = self.between.map(|at| port(at.into()));
        let there = before?.checked_add(1)?;
        let is_one = behind? == there.checked_add(1)?;
        (is_one && self.votes >= ENOUGH && self.lost * 2 > all).then_some((there, self.lost))
    }
}

heap! {
    Turns { next }
    Next {}
}

impl Turns {
    /// What the paths of a flow take at most.
    pub(crate) const fn bytes(paths: usize) -> usize {
        paths * size_of::<Next>()
    }

    /// A packet on `at` has the PSN behind that of one on `before`; neither is a retransmission.
    pub(crate) fn follows(&mut self, before: usize, at: usize) {
        if self.next.len() <= before {
            self.next.resize(before + 1, Next::default());
        }
        let next = &mut self.next[before];
        let is_expected = usize::from(next.at) == at;
        match next.votes {
            0 => *next = Next { at: at as u16, votes: 1 },
            _ if is_expected => {
                next.votes = (next.votes + 1).min(MOST_VOTES);
                self.in_turn = self.in_turn.saturating_add(1);
            }
            _ => {
                next.votes -= 1;
                self.out_of_turn = self.out_of_turn.saturating_add(1);
            }
        }
    }

    fn next(&self, at: usize) -> Option<usize> {
        self.next.get(at).filter(|next| next.votes > 1).map(|next| next.at.into())
    }

    /// The path of the packet behind one on this path, if paths are taken in turn.
    pub(crate) fn behind(&self, at: usize) -> Option<usize> {
        let is_in_turn = self.in_turn as usize >= 2 * self.next.len() && self.in_turn / 4 > self.out_of_turn;
        self.next(at).filter(|_| is_in_turn)
    }

    /// The path of a packet between those with the PSNs before and behind it, if paths are taken in turn, and both agree.
    pub(crate) fn between(&self, before: Option<usize>, behind: Option<usize>) -> Option<usize> {
        let there = self.behind(before?)?;
        (self.next(there) == Some(behind?)).then_some(there)
    }
}
