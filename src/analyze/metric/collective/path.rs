//! Paths that were slow, lost packets or were paused: what the data on their links explains, and which end several of them have in common.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    cut::{Timed, ns, ns_between, union},
    pace::{Lost, Part},
    topology::joined,
    waits::{Blame, ROUND_TRIPS, WORTH, Waits, length},
};
use crate::report::CollectiveCause;

/// Requests of an operation that are compared with each other, at most.
const MOST_COMPARED: usize = 2048;
/// So many are enough to tell what is usual from chance.
const SEVERAL: usize = 3;
/// A request of so many bytes shows how fast a link is.
const ENOUGH_BYTES: u64 = 16 << 10;

/// Bytes in a second that a link carries, as the fastest requests of the capture had them.
pub(super) fn speed(timed: &[Timed]) -> Option<u64> {
    let rate = |one: &Timed| {
        let took = ns_between(one.first?, one.last?);
        (one.is_complete && one.bytes >= ENOUGH_BYTES && took > 0)
            .then(|| (u128::from(one.bytes) * 1_000_000_000 / u128::from(took)) as u64)
    };
    let mut rates: Vec<u64> = timed.iter().filter_map(rate).collect();
    let at = rates.len().checked_sub(1 + rates.len() / 10)?;
    let (_, rate, _) = rates.select_nth_unstable(at);
    Some(*rate).filter(|&rate| rate > 0)
}

impl Waits<'_> {
    /// What most paths have for a round trip: a slow one has a longer one.
    pub(super) fn round_trip(&self) -> u64 {
        let mut all: Vec<u64> = self.ends.of.keys().map(|&of| self.short(of) / ROUND_TRIPS).collect();
        all.sort_unstable();
        all.get(all.len().saturating_sub(1) / 2).copied().unwrap_or(0)
    }

    /// What most paths have from a packet until its answer, as the taps saw both: where each end has one, that is one way.
    pub(super) fn flight(&self) -> u64 {
        let of_way = |&way: &u32| self.all.ways.get(way as usize)?.round_trip_ns;
        let of = |of: &usize| self.all.connections.get(*of)?.data_ways.iter().filter_map(of_way).max();
        let mut all: Vec<u64> = self.ends.of.keys().filter_map(of).map(ns).collect();
        all.sort_unstable();
        all.get(all.len().saturating_sub(1) / 2).copied().unwrap_or(0)
    }

    /// How much longer the requests of a connection took than the data on its links explains: what its sender sent, or its receiver got, in their time,
    /// at this speed, and the way of a packet. Requests whose data was sent side by side are one. Over several adapters, each has a part, and nothing is
    /// told: how fast all of them are together hangs on how these overlap.
    pub(super) fn excess(&self, part: &Part, (speed, flight): (u64, u64)) -> u64 {
        let Some(&first) = part.members.first() else { return 0 };
        let connection = self.timed[first].connection;
        let Some(&(sender, receiver)) = self.ends.of.get(&connection) else { return 0 };
        if self.members.len() > MOST_COMPARED || self.is_merged(connection) {
            return 0;
        }
        let span = |one: &Timed| (one.first.unwrap_or(one.end), one.end);
        // Its first packet may have waited for others of its adapter.
        let since = |one: &Timed| {
            one.end.saturating_sub_unsigned(part.own(one)).min(one.first.unwrap_or(one.end)).max(one.begin)
        };
        let share = |one: &Timed, (from, to): (i64, i64)| {
            let (first, end) = span(one);
            let within = ns_between(first.max(from), end.min(to));
            (u128::from(one.bytes) * u128::from(within) / u128::from(ns_between(first, end).max(1))) as u64
        };
        let (mut sum, mut at) = (0u64, 0);
        while let Some(&begins) = part.members.get(at) {
            let (mut within, mut sent_until) = (span(&self.timed[begins]), self.timed[begins].last);
            let queued = (since(&self.timed[begins]), within.0.max(self.timed[begins].begin));
            within.0 = queued.1;
            let mut took = 0u64;
            while let Some(one) = part.members.get(at).map(|&at| &self.timed[at])
                && (took == 0 || one.first < sent_until)
            {
                within.1 = within.1.max(span(one).1);
                sent_until = sent_until.max(one.last);
                took = took.saturating_add(part.own(one).max(1));
                at += 1;
            }
            // First it waits for its sender's link, then for that of its receiver.
            let (mut before, mut sent, mut got) = (0u64, 0u64, 0u64);
            for other in self.members.iter().map(|&at| &self.timed[at]) {
                let Some(ends) = self.ends.of.get(&other.connection) else { continue };
                if ends.0 == sender {
                    before = before.saturating_add(share(other, queued));
                    sent = sent.saturating_add(share(other, within));
                }
                if ends.1 == receiver {
                    got = got.saturating_add(share(other, within));
                }
            }
            let bytes = before.saturating_add(sent.max(got));
            let line = u128::from(bytes) * 1_000_000_000 / u128::from(speed.max(1));
            let excess = took.saturating_sub(line as u64).saturating_sub(flight);
            sum = sum.saturating_add(excess);
        }
        sum
    }

    /// Whether the data of a connection goes between several adapters.
    fn is_merged(&self, connection: usize) -> bool {
        let ways = self.all.connections.get(connection).map_or(&[][..], |of| &of.data_ways);
        let mut ends =
            ways.iter().filter_map(|&way| self.all.ways.get(way as usize)).map(|way| way.key.pair());
        ends.next().is_some_and(|first| ends.any(|other| other != first))
    }

    /// Whether paths that have no end in common with one of these lost half as much or more: then it is how the operation goes.
    pub(super) fn is_usual(&self, all: &BTreeMap<usize, Lost>, connection: usize) -> bool {
        let Some(&(sender, receiver)) = self.ends.of.get(&connection) else { return false };
        let hosts = |(a, b): (usize, usize)| [self.shape.host_of(a), self.shape.host_of(b)];
        let own = hosts((sender, receiver));
        let is_apart = |other: &usize| {
            let ends = self.ends.of.get(other);
            ends.is_some_and(|&ends| !hosts(ends).iter().any(|host| own.contains(host)))
        };
        let slow = all.get(&connection).map_or(0, |lost| lost.slow);
        if self.is_of_slow_rail(all, own, slow) {
            return false;
        }
        all.iter().any(|(other, lost)| is_apart(other) && lost.slow.saturating_mul(2) >= slow)
    }

    /// Whether paths between the adapters of another rail of these hosts all lost less than half of this: then all of one rail are slow.
    fn is_of_slow_rail(&self, all: &BTreeMap<usize, Lost>, own: [usize; 2], slow: u64) -> bool {
        let ends = || all.iter().filter_map(|(of, lost)| Some((*self.ends.of.get(of)?, lost)));
        let rail_of = joined(ends().map(|(ends, _)| ends));
        let mut rails: BTreeMap<usize, (BTreeSet<usize>, u64)> = BTreeMap::new();
        for ((from, to), lost) in ends() {
            let (hosts, most) = rails.entry(rail_of[&from]).or_default();
            hosts.extend([self.shape.host_of(from), self.shape.host_of(to)]);
            *most = lost.slow.max(*most);
        }
        let mut others = rails.into_values().filter(|(hosts, _)| own.iter().all(|host| hosts.contains(host)));
        others.any(|(_, most)| most.saturating_mul(2) < slow)
    }

    /// Whether this connection, and all that are about as slow, took longer than each of the others that have as many requests and bytes: with several others by a
    /// quarter; with fewer, by as long again for several requests. Then it is no chance, however short it was.
    pub(super) fn is_apart(
        &self,
        parts: &BTreeMap<usize, Part>,
        all: &BTreeMap<usize, Lost>,
        connection: usize,
    ) -> bool {
        let (Some(own), Some(part)) = (all.get(&connection), parts.get(&connection)) else { return false };
        let alike = || {
            let is_like =
                |other: &Part| other.bytes == part.bytes && other.members.len() == part.members.len();
            parts.iter().filter(move |(_, other)| is_like(other))
        };
        let is_slow = |of: &usize| all.get(of).is_some_and(|other| other.slow.saturating_mul(2) >= own.slow);
        let (others, slow) = (
            || alike().filter(|(of, _)| !is_slow(of)).map(|(_, other)| other.transfer),
            alike().filter(|(of, _)| is_slow(of)).map(|(_, other)| other.transfer).min(),
        );
        let (Some(longest), Some(slow)) = (others().max(), slow) else { return false };
        match others().count() {
            SEVERAL.. => slow.saturating_mul(4) >= longest.saturating_mul(5),
            _ => part.members.len() >= SEVERAL && slow >= longest.saturating_mul(2),
        }
    }

    /// A path; or one of its ends, where that is what all slow paths have in common.
    pub(super) fn slow_path(
        &self,
        parts: &BTreeMap<usize, Part>,
        all: &BTreeMap<usize, Lost>,
        (connection, lost): (usize, Lost),
        lasted: u64,
    ) -> Option<Blame> {
        let part = parts.get(&connection)?;
        let costs = |&&at: &&usize| {
            let time = &self.timed[at].time;
            time.network_ns
        };
        let at = *part.members.iter().max_by_key(costs)?;
        let cause = lost.cause();
        let lost_so = all.get(&connection)?.by(cause);
        let slow: BTreeSet<usize> = all
            .iter()
            .filter(|(_, other)| other.by(cause) >= lost_so / 2)
            .map(|(connection, _)| *connection)
            .collect();
        let lost_ns = match cause {
            CollectiveCause::Recovering => lost.all().min(self.lost_by_losses(&slow)),
            CollectiveCause::Slow | CollectiveCause::Throttled => {
                let lost = lost.all().max(self.lost_together(parts, all, &slow));
                // Where all are sent at once, queues at receivers make some slower, and nothing longer.
                if self.is_at_once() { lost.min(self.behind_others(&slow)) } else { lost }
            }
            _ => lost.all(),
        };
        let slow: BTreeSet<(usize, usize)> =
            slow.iter().filter_map(|connection| self.ends.of.get(connection).copied()).collect();
        let &(sender, receiver) = self.ends.of.get(&connection)?;
        let host = |end: usize| self.shape.host_of(end);
        let is_common =
            |end: usize| slow.iter().all(|&(from, to)| [host(from), host(to)].contains(&host(end)));
        let common = [sender, receiver].map(is_common);
        // Other adapters of its host say nothing of an adapter.
        let adapters: BTreeSet<usize> = slow.iter().flat_map(|&(from, to)| [from, to]).collect();
        let has_fast = |end: usize| {
            let mut ends = parts.keys().filter_map(|connection| self.ends.of.get(connection));
            let is_there = |other: usize| host(other) == host(end) && adapters.contains(&other);
            ends.any(|ends| (is_there(ends.0) || is_there(ends.1)) && !slow.contains(ends))
        };
        let name = |end: usize| self.ends.names.get(end).cloned();
        let are_several = slow.len() > 1;
        let (rank, peer) = match (common, [sender, receiver].map(has_fast)) {
            ([true, false], _) if are_several => (name(sender)?, None),
            ([false, true], _) => (name(receiver)?, None),
            // Both ways between two: whichever is fast to nobody else. Where both are, it is the path: elements of the one way go with the data of the other.
            ([true, true], [true, false]) if are_several => (name(receiver)?, None),
            ([true, true], [false, true]) if are_several => (name(sender)?, None),
            ([true, true], [false, false])
                if are_several && self.sends_slower(parts, &adapters, sender, receiver) =>
            {
                (name(sender)?, None)
            }
            ([true, true], [false, false])
                if are_several && self.sends_slower(parts, &adapters, receiver, sender) =>
            {
                (name(receiver)?, None)
            }
            _ if cause == CollectiveCause::Recovering && self.lost_elements(part) => {
                (name(receiver)?, name(sender))
            }
            _ => (name(sender)?, name(receiver)),
        };
        let queue_pair = self.slowest_queue_pair(at);
        (lost_ns.saturating_mul(WORTH) >= lasted && lost_ns > 0).then_some(Blame {
            at,
            cause,
            rank,
            peer,
            queue_pair,
            lost: lost_ns,
            spans: Vec::new(),
        })
    }

    /// Whether the data of one host left it much slower than that of another one, byte by byte: then its own adapter is slow.
    /// Of these adapters only.
    fn sends_slower(
        &self,
        parts: &BTreeMap<usize, Part>,
        adapters: &BTreeSet<usize>,
        slow: usize,
        fast: usize,
    ) -> bool {
        let of = |end: usize| {
            let is_its = |(connection, _): &(&usize, &Part)| {
                self.ends.of.get(connection).is_some_and(|(sender, receiver)| {
                    adapters.contains(sender)
                        && adapters.contains(receiver)
                        && self.shape.host_of(*sender) == self.shape.host_of(end)
                })
            };
            parts.iter().filter(is_its).fold((0u128, 0u128), |(sending, bytes), (_, part)| {
                (sending + u128::from(part.sending), bytes + u128::from(part.bytes))
            })
        };
        let ((slow_ns, slow_bytes), (fast_ns, fast_bytes)) = (of(slow), of(fast));
        slow_bytes > 0 && fast_ns > 0 && slow_ns * fast_bytes >= 2 * fast_ns * slow_bytes
    }

    /// Whether most of what these requests lost by losses went to their elements: these go the other way.
    fn lost_elements(&self, part: &Part) -> bool {
        let sum = |of: fn(&Timed) -> u64| {
            part.members.iter().map(|&at| of(&self.timed[at])).fold(0, u64::saturating_add)
        };
        sum(|one| one.lost_cts_ns).saturating_mul(2) > sum(|one| one.time.recovering_ns)
    }

    /// What several connections lost that were slow together, as with a slow adapter: one after the other, they make the operation wait for each of them. The time in
    /// which one of them was under way, as far as these are slower than usual.
    fn lost_together(
        &self,
        parts: &BTreeMap<usize, Part>,
        all: &BTreeMap<usize, Lost>,
        slow: &BTreeSet<usize>,
    ) -> u64 {
        let of = || slow.iter().filter_map(|of| parts.get(of));
        let members = of().flat_map(|part| &part.members).map(|&at| &self.timed[at]);
        let spans = members.map(|one| (one.first.unwrap_or(one.end).max(one.begin), one.end));
        let under_way = length(&union(spans, (i64::MIN, i64::MAX)));
        let transfer = of().map(|part| part.transfer).fold(0, u64::saturating_add);
        let lost =
            slow.iter().filter_map(|of| all.get(of)).map(|lost| lost.slow).fold(0, u64::saturating_add);
        let part = u128::from(under_way) * u128::from(lost) / u128::from(transfer.max(1));
        u64::try_from(part).unwrap_or(u64::MAX).min(under_way)
    }

    /// What losses of connections between these hosts can have cost, at most. In an all to all, where none waits for data of another, how much later than others they
    /// ended; elsewhere, how much longer the operation took than those like it without losses.
    fn lost_by_losses(&self, of: &BTreeSet<usize>) -> u64 {
        match self.is_at_once() {
            true => self.behind_others(of).max(self.longer),
            false => self.longer_than_whole.unwrap_or(u64::MAX),
        }
    }

    /// How much later than others the connections between these hosts ended, where none waits for data of another: than those that have no end in common with
    /// them, as data that comes later shares the links of their ends with others; with few hosts there are none, then than the
    /// half of all others that ended first.
    pub(super) fn behind_others(&self, slow: &BTreeSet<usize>) -> u64 {
        // Each adapter by itself: those of other rails show what is usual.
        let ends_of = |connection: &usize| self.ends.of.get(connection).map(|&(from, to)| [from, to]);
        let paths: BTreeSet<[usize; 2]> = slow.iter().filter_map(ends_of).collect();
        let ends: BTreeSet<usize> = paths.iter().flatten().copied().collect();
        let (mut apart, mut beside, mut latest) = (None::<i64>, BTreeMap::<usize, i64>::new(), None::<i64>);
        for one in self.members.iter().map(|&at| &self.timed[at]) {
            let Some([from, to]) = ends_of(&one.connection) else { continue };
            if paths.contains(&[from, to]) || paths.contains(&[to, from]) {
                latest = latest.max(Some(one.end));
            } else if ends.contains(&from) || ends.contains(&to) {
                let end = beside.entry(one.connection).or_insert(one.end);
                *end = one.end.max(*end);
            } else {
                apart = apart.max(Some(one.end));
            }
        }
        let mut beside: Vec<i64> = beside.into_values().collect();
        beside.sort_unstable();
        let usual = apart.or_else(|| beside.get(beside.len().saturating_sub(1) / 2).copied());
        latest.zip(usual).map_or(u64::MAX, |(latest, usual)| ns_between(usual, latest))
    }

    /// What a path that was waited for in the operation before lost again, by the same cause.
    pub(super) fn lost_again(&self, before: &Blame, parts: &BTreeMap<usize, Part>) -> u64 {
        let is_its = |connection: &&usize| {
            let name = |end: usize| self.ends.names.get(end);
            let ends = self.ends.of.get(connection);
            ends.is_some_and(|&(from, to)| {
                name(from) == Some(&before.rank) && name(to) == before.peer.as_ref()
            })
        };
        let own: BTreeSet<usize> = parts.keys().filter(is_its).copied().collect();
        let lost = own.iter().filter_map(|of| parts.get(of)).map(|part| part.lost(self.timed, 0));
        let most = lost.map(|lost| lost.by(before.cause)).max().unwrap_or(0);
        match before.cause {
            CollectiveCause::Recovering => most.min(self.lost_by_losses(&own)),
            CollectiveCause::Paused => most,
            _ => 0,
        }
    }

    /// The queue pair on which a request ended last, where it used several.
    fn slowest_queue_pair(&self, at: usize) -> Option<u32> {
        let one = &self.timed[at];
        let request = self.all.connections.get(one.connection)?.requests.get(one.request)?;
        let last =
            self.all.chunks_of(request).max_by_key(|chunk| chunk.acknowledged.unwrap_or(chunk.last.1))?;
        self.all.ways.get(last.way as usize).map(|way| way.key.dest_qp())
    }
}
