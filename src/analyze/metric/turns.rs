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
    /// What was behind it before, and where that was last seen to have changed; where another one was first seen that is not confirmed.
    before: Option<u16>,
    since: Option<u32>,
    doubted: Option<u32>,
    /// How many packets of this path there were since then, and of how many the packet behind was seen.
    packets: u32,
    followed: u32,
    /// The last packet of this path.
    last: Option<u32>,
}

/// Where in the order of its flow a packet was sent: of two, the difference tells which is first. They wrap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place(pub(crate) u32);

impl Place {
    fn is_before(self, other: u32) -> bool {
        (self.0.wrapping_sub(other) as i32) < 0
    }
}

impl Next {
    /// Takes the path of a packet behind one of this path. Returns whether it was expected; `None`: nothing was.
    fn takes(&mut self, at: u16, place: Place) -> Option<bool> {
        self.followed += 1;
        if self.before == Some(at) && self.since.is_some_and(|since| place.is_before(since)) {
            return Some(true);
        }
        match self.votes {
            0 => {
                let was_known = self.since.is_some();
                (self.before, self.since) = (was_known.then_some(self.at), self.doubted.or(Some(place.0)));
                (self.at, self.votes, self.doubted) = (at, 1, None);
                (self.packets, self.followed) = (0, 0);
                None
            }
            _ if self.at == at => {
                (self.votes, self.doubted) = ((self.votes + 1).min(MOST_VOTES), None);
                Some(true)
            }
            _ => {
                self.votes -= 1;
                self.doubted.get_or_insert(place.0);
                Some(false)
            }
        }
    }

    fn at(&self) -> Option<u16> {
        (self.votes > 1).then_some(self.at)
    }
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

    fn room_for(&mut self, path: usize) -> &mut Next {
        if self.next.len() <= path {
            self.next.resize(path + 1, Next::default());
        }
        &mut self.next[path]
    }

    /// A packet on this path, which is no retransmission.
    pub(crate) fn takes(&mut self, at: usize, place: Place) {
        let next = self.room_for(at);
        next.packets += 1;
        if next.last.is_none_or(|last| !place.is_before(last)) {
            next.last = Some(place.0);
        }
    }

    /// A packet on `at`, sent at that place, has the PSN behind that of one on `before`; neither is a retransmission.
    pub(crate) fn follows(&mut self, before: usize, at: usize, place: Place) {
        match self.room_for(before).takes(at as u16, place) {
            Some(true) => self.in_turn = self.in_turn.saturating_add(1),
            Some(false) => self.out_of_turn = self.out_of_turn.saturating_add(1),
            None => {}
        }
    }

    fn next(&self, at: usize) -> Option<usize> {
        self.next.get(at).and_then(Next::at).map(Into::into)
    }

    fn are_taken(&self) -> bool {
        self.in_turn as usize >= 2 * self.next.len() && self.in_turn / 4 > self.out_of_turn
    }

    /// The path of the packet behind one on this path, if paths are taken in turn.
    pub(crate) fn behind(&self, at: usize) -> Option<usize> {
        self.next(at).filter(|_| self.are_taken())
    }

    /// The path of a packet at that place, between those with the PSNs before and behind it, if paths are taken in turn, and both agree.
    pub(crate) fn between(
        &self,
        before: Option<usize>,
        behind: Option<usize>,
        place: Place,
    ) -> Option<usize> {
        let next = self.next.get(before?).filter(|_| self.are_taken())?;
        let is_old = next.since.is_some_and(|since| place.is_before(since));
        let there = match next.before {
            Some(old) if is_old || self.may_be_used(next, old) => Some(old),
            _ => next.at(),
        };
        let there = usize::from(there?);
        (self.next_at(there, place) == Some(behind?)).then_some(there)
    }

    /// The path that was behind one at that time.
    fn next_at(&self, at: usize, place: Place) -> Option<usize> {
        let next = self.next.get(at)?;
        let is_old = next.since.is_some_and(|since| place.is_before(since));
        next.before.filter(|_| is_old).or(next.at()).map(Into::into)
    }

    /// Whether a sender may still use the path that was behind one before, and all of it is lost: nothing was seen of it since, and most packets of the one before
    /// it are followed by nothing. What is seen behind these then comes in place of a retransmission that was lost, too.
    fn may_be_used(&self, next: &Next, old: u16) -> bool {
        let last = self.next.get(usize::from(old)).and_then(|old| old.last);
        let is_silent = last.zip(next.since).is_none_or(|(last, since)| Place(last).is_before(since));
        is_silent && u64::from(next.followed) * 2 < u64::from(next.packets)
    }
}
