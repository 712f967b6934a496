//! Transmissions of one flow between the tap that records them first and the one that records them last, of captures that are merged: which of them
//! arrived there, and how long each took. What arrives late is not lost, however often its sender repeats it meanwhile.

use super::paths::Tally;
use crate::{analyze::track::distribution::Totals, heap::heap};

/// PSNs of which transmissions are remembered.
const REMEMBERED: usize = 1 << 11;

/// Taps on a path, without the first one.
const MAX_TAPS: usize = 4;

/// The transmissions of a flow, by their paths: places in the list of the flow. Without a second tap it is empty.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct Crossings {
    /// The interface of the last tap.
    far: Option<u16>,
    /// The interfaces of taps that are not the first one.
    taps: Vec<u16>,
    /// How many more packets came to each of these behind the last tap than before it: several transmissions on one path look like the first, now and then.
    behind: [i32; MAX_TAPS],
    /// The last two transmissions of each PSN at the first tap, the newer one first.
    ring: Vec<[Passed; 2]>,
    paths: Vec<Crossed>,
    last_ns: i64,
}

/// What of a path arrived at the last tap, and after what time.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
struct Crossed {
    arrived: u64,
    /// At each of these taps.
    arrived_at: [u64; MAX_TAPS],
    transit: Totals,
    /// How many passed the first tap, and of these, how many behind the newest one that arrived.
    sent: u8,
    behind: u64,
}

/// A transmission at the first tap.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
struct Passed {
    time: i64,
    psn: u32,
    path: u16,
    fate: Fate,
    /// The how manieth of its path it is.
    nth: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, crate::stored::Stored)]
enum Fate {
    /// There is no transmission.
    #[default]
    Nothing,
    OnItsWay,
    Arrived,
}

heap! {
    Crossings { taps, ring, paths }
    Passed {}
    Crossed {}
}

impl Passed {
    fn is(&self, psn: u32, path: usize) -> bool {
        (self.psn, usize::from(self.path)) == (psn, path)
    }
}

impl Crossings {
    /// What it takes at most, of so many paths.
    pub(crate) const fn bytes(paths: usize) -> usize {
        REMEMBERED * size_of::<[Passed; 2]>() + paths * size_of::<Crossed>()
    }

    /// Packets may come to a second tap: those that pass the first one are remembered.
    pub(crate) fn prepare(&mut self) {
        if self.ring.is_empty() {
            self.ring = vec![[Passed::default(); 2]; REMEMBERED];
        }
    }

    pub(crate) fn are_prepared(&self) -> bool {
        !self.ring.is_empty()
    }

    /// Whether packets came to a second tap.
    pub(crate) fn are_seen(&self) -> bool {
        self.far.is_some()
    }

    /// Whether this is the interface of a tap behind the first one.
    pub(crate) fn pass(&self, interface: u16) -> bool {
        self.taps.contains(&interface)
    }

    /// A packet comes to the first tap.
    pub(crate) fn passes(&mut self, psn: u32, path: usize, time: i64) {
        self.last_ns = self.last_ns.max(time);
        let Some(slot) = self.ring.get_mut(psn as usize % REMEMBERED) else { return };
        if self.paths.len() <= path {
            self.paths.resize(path + 1, Crossed::default());
        }
        let crossed = &mut self.paths[path];
        (crossed.sent, crossed.behind) = (crossed.sent.wrapping_add(1), crossed.behind + 1);
        let nth = crossed.sent;
        *slot = [Passed { time, psn, path: path as u16, fate: Fate::OnItsWay, nth }, slot[0]];
    }

    /// A packet comes to another tap, which is this interface.
    pub(crate) fn arrives(&mut self, psn: u32, path: usize, interface: u16, time: i64) {
        self.prepare();
        self.last_ns = self.last_ns.max(time);
        if self.paths.len() <= path {
            self.paths.resize(path + 1, Crossed::default());
        }
        let tap = self.taps.iter().position(|&tap| tap == interface);
        if tap.is_none() && self.taps.len() < MAX_TAPS {
            self.taps.push(interface);
        }
        let tap = tap.or_else(|| self.taps.iter().position(|&tap| tap == interface));
        if let Some(tap) = tap {
            self.paths[path].arrived_at[tap] += 1;
        }
        let slot = &mut self.ring[psn as usize % REMEMBERED];
        let is_it = |one: &Passed| one.is(psn, path);
        let is_beyond = slot.iter().any(|one| is_it(one) && one.fate == Fate::Arrived)
            && !slot.iter().any(|one| is_it(one) && one.fate == Fate::OnItsWay);
        let votes = tap.map(|tap| &mut self.behind[tap]).filter(|_| self.far != Some(interface));
        let is_behind = votes.is_none_or(|votes| {
            *votes = votes.saturating_add(if is_beyond { 1 } else { -1 });
            *votes > 0
        });
        match self.far {
            Some(far) if far == interface => {}
            // What has arrived comes to a tap behind.
            Some(_) if is_beyond && is_behind => {
                // What came there before it was known to be behind arrived, too.
                for path in &mut self.paths {
                    let arrived = tap.map_or(0, |tap| path.arrived_at[tap]);
                    *path = Crossed { arrived, transit: Totals::default(), ..*path };
                }
                self.paths[path].arrived -= u64::from(tap.is_some());
                self.far = Some(interface);
            }
            Some(_) => return,
            None => self.far = Some(interface),
        }
        let crossed = &mut self.paths[path];
        crossed.arrived += 1;
        let usual = crossed.transit.spread()[1];
        let transit = |one: &Passed| time.saturating_sub(one.time).max(0) as u64;
        // Of two on one path, the one that took about as long as others did.
        let nearest = slot
            .iter_mut()
            .filter(|one| is_it(one) && (one.fate == Fate::OnItsWay || is_beyond))
            .min_by_key(|one| usual.map_or(u64::MAX - transit(one), |usual| usual.abs_diff(transit(one))));
        if let Some(one) = nearest {
            one.fate = Fate::Arrived;
            crossed.behind = crossed.behind.min(crossed.sent.wrapping_sub(one.nth).into());
            crossed.transit.add(transit(one));
        }
    }

    /// Tells the paths what of their packets arrived, and what did not. `resent`: retransmissions of the flow. What was lost is sent again: where there are
    /// fewer of these, the last tap does not see all.
    /// Returns whether they were told.
    pub(crate) fn tell(&self, tallies: &mut [Tally]) -> bool {
        let slowest = self.paths.iter().map(|path| path.transit.max).max().unwrap_or(0);
        let since = self.last_ns.saturating_sub(slowest.try_into().unwrap_or(i64::MAX));
        let mut on_their_way = vec![0; tallies.len()];
        for one in self.ring.iter().flatten() {
            if one.fate == Fate::OnItsWay
                && one.time > since
                && let Some(path) = on_their_way.get_mut(usize::from(one.path))
            {
                *path += 1;
            }
        }
        let crossed = |at: usize| self.paths.get(at).copied().unwrap_or_default();
        let missing = |at: usize, tally: &Tally| {
            tally.packets.saturating_sub(crossed(at).arrived).saturating_sub(on_their_way[at])
        };
        let all: u64 = tallies.iter().enumerate().map(|(at, tally)| missing(at, tally)).sum();
        let resent: u64 = tallies.iter().map(|tally| tally.resent).sum();
        // Some of these may be taken for late packets.
        if !self.are_seen() || all > resent + resent / 16 + 2 {
            return false;
        }
        let mut transit = Totals::default();
        self.paths.iter().for_each(|path| transit.merge(path.transit));
        for (at, tally) in tallies.iter_mut().enumerate() {
            let own = crossed(at).transit;
            let of_others = (transit.sum - own.sum).checked_div(transit.count - own.count);
            let later = own.spread()[1].zip(of_others).map(|(own, others)| own.saturating_sub(others));
            (tally.lost, tally.late, tally.transit) = (tally.lost_before + missing(at, tally), 0, own);
            (tally.proven_late, tally.unproven) = (0, 0);
            tally.lateness = Totals::default();
            later.into_iter().for_each(|later| tally.lateness.add(later));
            let behind = crossed(at).behind.saturating_sub(on_their_way[at]);
            tally.lost_in_a_row = if crossed(at).arrived > 0 { behind } else { missing(at, tally) };
        }
        true
    }
}
