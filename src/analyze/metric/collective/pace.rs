//! How fast connections are as a rule, and what one lost.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    cut::{Timed, ns_between},
    ends::Ends,
};
use crate::in_order::InOrder;
use crate::report::CollectiveCause;

/// So many operations show what is usual for those that are like them.
const ENOUGH: usize = 3;
/// What is usual is what the fastest of so many connections take.
const FASTEST: usize = 4;

/// What the requests of one connection lost on the network in an operation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lost {
    pub(super) paused: u64,
    pub(super) recovering: u64,
    pub(super) slow: u64,
    pub(super) is_throttled: bool,
}

impl Lost {
    pub(super) fn all(self) -> u64 {
        self.paused.saturating_add(self.recovering).saturating_add(self.slow)
    }

    pub(super) fn cause(self) -> CollectiveCause {
        let slow = if self.is_throttled { CollectiveCause::Throttled } else { CollectiveCause::Slow };
        let parts = [
            (self.paused, CollectiveCause::Paused),
            (self.recovering, CollectiveCause::Recovering),
            (self.slow, slow),
        ];
        parts.into_iter().max_by_key(|(lost, _)| *lost).map_or(slow, |(_, cause)| cause)
    }

    /// What was lost by one cause.
    pub(super) fn by(self, cause: CollectiveCause) -> u64 {
        match cause {
            CollectiveCause::Paused => self.paused,
            CollectiveCause::Recovering => self.recovering,
            _ => self.slow,
        }
    }
}

/// What is usual for connections: their time on the network in an operation, and when in it a request's data begins.
#[derive(Default)]
pub(super) struct Usual {
    /// Time on the network for a gibibyte on its busiest link, of connections with so many requests in an operation: that of the fastest quarter.
    pub(super) pace: BTreeMap<usize, u64>,
    /// The same of connections with so many requests and bytes, where there are enough such operations.
    alike: BTreeMap<(usize, u64), u64>,
    /// By connection, and the request's place in its operation.
    pub(super) begins: BTreeMap<(usize, usize), i64>,
}

/// What is usual in one operation: [`Usual::pace`], by the number of requests.
pub(super) struct Paces {
    pub(super) of: BTreeMap<usize, u64>,
    /// All links carry as much.
    pub(super) is_even: bool,
}

/// Requests of a connection in an operation.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    pub(super) members: Vec<usize>,
    pub(super) bytes: u64,
    pub(super) transfer: u64,
    /// Requests whose elements took the path of its data: those of connections the other way, if there are some. And in how many parts that is divided.
    pub(super) asked: Vec<usize>,
    pub(super) asked_parts: u64,
    /// Its own elements took the path of other connections' data.
    pub(super) has_back: bool,
    pub(super) is_complete: bool,
    /// From the first data packet of each request to its last, in all.
    pub(super) sending: u64,
    /// Bytes that its sender sends in the operation, or its receiver gets, whichever are more: they share a link.
    pub(super) load: u64,
    /// Both carry as much.
    pub(super) is_even: bool,
}

impl Part {
    /// The time of a request on the network that is of its own path.
    pub(super) fn own(&self, one: &Timed) -> u64 {
        one.time.transfer_ns.saturating_sub(if self.has_back { one.asking_ns } else { 0 })
    }

    /// What elements on its path lost there.
    pub(super) fn asked_ns(&self, timed: &[Timed], is_meant: impl Fn(&usize) -> bool) -> u64 {
        let asked = self.asked.iter().filter(|at| is_meant(at)).map(|&at| timed[at].asking_ns);
        asked.fold(0, u64::saturating_add) / self.asked_parts.max(1)
    }

    /// Its time on the network for a gibibyte on its busiest link.
    pub(super) fn pace(&self) -> u64 {
        ((u128::from(self.transfer) << 30) / u128::from(self.load.max(1))).try_into().unwrap_or(u64::MAX)
    }
}

/// What most of the fastest quarter take.
pub(super) fn of_the_fastest(mut paces: Vec<u64>) -> u64 {
    paces.sort_unstable();
    paces.get(paces.len() / FASTEST).copied().unwrap_or(0)
}

/// The requests of each connection in an operation.
pub(super) fn parts(timed: &[Timed], ends: &Ends, members: &[usize]) -> BTreeMap<usize, Part> {
    let mut parts: BTreeMap<usize, Part> = BTreeMap::new();
    for &at in members {
        let one = &timed[at];
        let part = parts.entry(one.connection).or_insert(Part { is_complete: true, ..Part::default() });
        part.members.push(at);
        part.bytes = part.bytes.saturating_add(one.bytes);
        part.is_complete &= one.is_complete;
        let sending = one.first.zip(one.last).map_or(0, |(first, last)| ns_between(first, last));
        part.sending = part.sending.saturating_add(sending);
    }
    let mut between: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for connection in parts.keys() {
        if let Some(ends) = ends.of.get(connection) {
            between.entry(*ends).or_default().push(*connection);
        }
    }
    for (&(sender, receiver), connections) in &between {
        let Some(back) = between.get(&(receiver, sender)) else { continue };
        let asked: Vec<usize> =
            back.iter().filter_map(|of| parts.get(of)).flat_map(|part| part.members.clone()).collect();
        for of in connections {
            let Some(part) = parts.get_mut(of) else { continue };
            (part.has_back, part.asked_parts) = (true, connections.len() as u64);
            part.asked.clone_from(&asked);
        }
    }
    for part in parts.values_mut() {
        let own = part.members.iter().map(|&at| part.own(&timed[at])).fold(0, u64::saturating_add);
        part.transfer = own.saturating_add(part.asked_ns(timed, |_| true));
    }
    let mut loads: BTreeMap<(usize, bool), u64> = BTreeMap::new();
    for (connection, part) in &parts {
        let Some(&(sender, receiver)) = ends.of.get(connection) else { continue };
        for link in [(sender, true), (receiver, false)] {
            let load = loads.entry(link).or_default();
            *load = load.saturating_add(part.bytes);
        }
    }
    for (connection, part) in &mut parts {
        part.members.order_by_key(|&at| timed[at].request);
        let Some(&(sender, receiver)) = ends.of.get(connection) else { continue };
        let of = |link| loads.get(&link).copied().unwrap_or(0);
        let (sent, got) = (of((sender, true)), of((receiver, false)));
        (part.load, part.is_even) = (sent.max(got), sent == got);
    }
    parts
}

impl Usual {
    pub(super) fn of(timed: &[Timed], ends: &Ends, operations: &[Vec<usize>]) -> Usual {
        let mut paces: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        let mut begins: BTreeMap<(usize, usize), Vec<i64>> = BTreeMap::new();
        let mut alike: BTreeMap<(usize, u64), BTreeMap<usize, Vec<u64>>> = BTreeMap::new();
        for (operation, members) in operations.iter().enumerate() {
            let Some(start) = members.iter().map(|&at| timed[at].begin).min() else { continue };
            for (connection, part) in
                parts(timed, ends, members).into_iter().filter(|(_, part)| part.is_complete && part.load > 0)
            {
                paces.entry(part.members.len()).or_default().push(part.pace());
                let like = alike.entry((part.members.len(), part.bytes)).or_default();
                like.entry(operation).or_default().push(part.pace());
                for (place, at) in part.members.iter().enumerate() {
                    let begin = timed[*at].first.unwrap_or(start).saturating_sub(start);
                    begins.entry((connection, place)).or_default().push(begin);
                }
            }
        }
        let middle = |mut all: Vec<i64>| {
            all.sort_unstable();
            all[all.len() / 2]
        };
        let are_enough = |(_, of): &(_, BTreeMap<usize, Vec<u64>>)| of.len() >= ENOUGH;
        let all = |of: BTreeMap<usize, Vec<u64>>| of_the_fastest(of.into_values().flatten().collect());
        Usual {
            alike: alike.into_iter().filter(are_enough).map(|(key, of)| (key, all(of))).collect(),
            pace: paces.into_iter().map(|(requests, all)| (requests, of_the_fastest(all))).collect(),
            begins: begins.into_iter().map(|(key, all)| (key, middle(all))).collect(),
        }
    }

    /// What is usual in an operation: no less than its own connections show. Where all of these are between the same two hosts, they are slow together,
    /// and show nothing: then what is usual of others that are like it.
    pub(super) fn in_operation(&self, parts: &BTreeMap<usize, Part>, are_of_two: bool) -> Paces {
        let mut paces: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for part in parts.values() {
            paces.entry(part.members.len()).or_default().push(part.pace());
        }
        let usual = |requests: usize| self.pace.get(&requests).copied().unwrap_or(0);
        let pace = |(requests, all)| {
            let own = of_the_fastest(all).max(usual(requests));
            let is_same = |part: &&Part| part.members.len() == requests;
            let alike = parts.values().filter(is_same).map(|part| self.alike.get(&(requests, part.bytes)));
            let alike = alike.max().flatten().filter(|_| are_of_two);
            (requests, alike.map_or(own, |alike| own.min(*alike)))
        };
        let least = parts.values().map(|part| part.load).min();
        let is_even = parts.values().all(|part| part.is_even && Some(part.load) == least);
        Paces { of: paces.into_iter().map(pace).collect(), is_even }
    }
}

impl Part {
    /// How much slower it was than others of this pace.
    pub(super) fn slow(&self, paces: &Paces) -> u64 {
        let pace = paces.of.get(&self.members.len()).copied().unwrap_or(u64::MAX);
        let usual = ((u128::from(pace) * u128::from(self.load)) >> 30).try_into().unwrap_or(u64::MAX);
        // Links are not shared evenly, and least where some carry more than others.
        let (times, of) = if paces.is_even { (5, 4) } else { (3, 1) };
        // What has no bytes is of no pace.
        let is_slow = self.load > 0 && self.transfer.saturating_mul(of) >= u64::saturating_mul(usual, times);
        if is_slow { self.transfer.saturating_sub(usual) } else { 0 }
    }

    /// What it lost on the network, where it was so much slower than it should be.
    pub(super) fn lost(&self, timed: &[Timed], slow: u64) -> Lost {
        let mut lost = Lost { slow, ..Lost::default() };
        for one in self.members.iter().map(|&at| &timed[at]) {
            let time = &one.time;
            // What held back answers is of the host that could not send them.
            lost.paused = lost.paused.saturating_add(time.paused_ns.saturating_sub(one.held_answer_ns));
            lost.recovering = lost.recovering.saturating_add(time.recovering_ns);
            lost.is_throttled |= time.throttled_ns.unwrap_or(0) > 0;
        }
        lost
    }

    /// What of that is of requests that the operation's end waited for.
    pub(super) fn on(&self, timed: &[Timed], path: &BTreeSet<usize>, all: Lost) -> Lost {
        let members: Vec<usize> = self.members.iter().copied().filter(|at| path.contains(at)).collect();
        let transfer = members.iter().map(|&at| self.own(&timed[at])).fold(0, u64::saturating_add);
        let transfer = transfer.saturating_add(self.asked_ns(timed, |at| path.contains(at)));
        let slow = u128::from(all.slow) * u128::from(transfer) / u128::from(self.transfer.max(1));
        let part = Part { members, ..Part::default() };
        part.lost(timed, slow.try_into().unwrap_or(u64::MAX))
    }
}
