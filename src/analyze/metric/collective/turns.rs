//! How long hosts take from what they waited for to what they do next: what all of them need for a step is nobody's lateness.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    cut::ns_between,
    pace::Part,
    waits::{Arrivals, Late, SHORTEST_WAIT_NS, Waits},
};
use crate::report::Topology;

/// What is usual for a host is what the fastest of so many of its steps take: longer ones may be waits for somebody else.
const FASTEST: usize = 4;

/// So many hosts that do the same show what is usual for it: of two, none knows which one is slow.
const SEVERAL: usize = 3;

/// A receiver is slow at each request if it is at so many, at least.
const EACH: usize = 3;

/// What is done: the data of a connection's first request in an operation or of a later one, or what asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    is_sender: bool,
    is_first: bool,
    /// In a ring the step, as all hosts do the same in it; else the bytes, as a host needs longer for more of them. `None`: whatever they are.
    like: Option<u64>,
}

/// What is usual in an operation.
#[derive(Default)]
pub(super) struct Turns {
    /// For others than the host of an endpoint.
    usual: BTreeMap<(Kind, usize), u64>,
    /// The first requests of connections.
    pub(super) firsts: BTreeSet<usize>,
    /// Requests of each connection.
    counts: BTreeMap<usize, usize>,
    /// In a ring, which step a request is of: its place among those of its connection.
    steps: BTreeMap<usize, usize>,
    /// What a request is like, see [`Kind`].
    like: BTreeMap<usize, u64>,
    /// Connections whose receiver is slow at each request, unlike those of other hosts: so long after it had what was in its place.
    slow: BTreeMap<usize, u64>,
}

impl Turns {
    /// The step of a request in a ring.
    pub(super) fn step(&self, at: usize) -> Option<usize> {
        self.steps.get(&at).copied()
    }

    /// The step whose data a request passes on: none does in the first one.
    pub(super) fn step_before(&self, at: usize) -> Option<usize> {
        self.step(at)?.checked_sub(1)
    }

    /// What of a wait is beyond what other hosts take.
    pub(super) fn beyond(&self, late: Late) -> Late {
        let like = self.like.get(&late.at).copied();
        let of = |is_first| {
            let kind = |like| Kind { is_sender: late.is_sender, is_first, like };
            let of = |kind| self.usual.get(&(kind, late.host)).copied();
            like.and_then(|like| of(kind(Some(like)))).or_else(|| of(kind(None)))
        };
        let first = of(true).filter(|_| self.firsts.contains(&late.at));
        let usual = first.or(of(false)).unwrap_or(0);
        Late { from: late.from.saturating_add_unsigned(usual).min(late.to), ..late }
    }
}

impl Waits<'_> {
    /// For each host, what most others take in this operation: the middle one of theirs.
    pub(super) fn turns(&self, parts: &BTreeMap<usize, Part>, arrivals: &Arrivals) -> Turns {
        let mut turns = Turns {
            firsts: parts.values().filter_map(|part| part.members.first().copied()).collect(),
            counts: parts.iter().map(|(&of, part)| (of, part.members.len())).collect(),
            ..Turns::default()
        };
        let mut counts = turns.counts.values();
        let first = counts.next();
        if self.shape.topology == Topology::Ring && counts.all(|count| Some(count) == first) {
            let steps = parts.values().flat_map(|part| part.members.iter().copied().enumerate());
            turns.steps = steps.map(|(step, at)| (at, step)).collect();
        }
        let like = |&at: &usize| {
            let step = turns.steps.get(&at).map(|&step| step as u64);
            (at, step.unwrap_or(self.timed[at].bytes))
        };
        turns.like = self.members.iter().map(like).collect();
        let mut all: BTreeMap<Kind, BTreeMap<usize, Vec<u64>>> = BTreeMap::new();
        for &at in self.members {
            let Some(&(sender, receiver)) = self.ends.of.get(&self.timed[at].connection) else { continue };
            for (host, is_sender) in [(receiver, false), (sender, true)] {
                let Some(took) = self.turn(at, (host, is_sender), (arrivals, &turns)) else { continue };
                let host = self.shape.host_of(host);
                for like in [None, turns.like.get(&at).copied()] {
                    let kind = Kind { is_sender, is_first: turns.firsts.contains(&at), like };
                    all.entry(kind).or_default().entry(host).or_default().push(took);
                }
            }
        }
        // Few hosts do what is like this: then all that they do tells more.
        let count = |all: &BTreeMap<Kind, BTreeMap<usize, Vec<u64>>>, kind: Kind| {
            all.get(&kind).map_or(0, BTreeMap::len)
        };
        let few: BTreeSet<Kind> = all
            .keys()
            .filter(|&&kind| {
                let hosts = count(&all, kind);
                kind.like.is_some() && (hosts < SEVERAL || hosts < count(&all, Kind { like: None, ..kind }))
            })
            .copied()
            .collect();
        for (kind, hosts) in all.into_iter().filter(|(kind, _)| !few.contains(kind)) {
            let usual_of = |mut of: Vec<u64>| {
                of.sort_unstable();
                // Channels that do the same step share an adapter, and none waits for another.
                let is_step = kind.like.is_some() && !turns.steps.is_empty();
                let at = if is_step { of.len().saturating_sub(1) } else { of.len() / FASTEST };
                of.get(at).copied().unwrap_or(0)
            };
            let mut usual: Vec<(u64, usize)> =
                hosts.into_iter().map(|(host, of)| (usual_of(of), host)).collect();
            usual.sort_unstable();
            // The middle one of all others.
            let middle = (usual.len() - 1) / 2;
            for (place, &(_, host)) in usual.iter().enumerate() {
                let other = if middle < place { middle } else { middle + 1 };
                if let Some(&(took, _)) = usual.get(other) {
                    let ends = (0..self.ends.names.len()).filter(|&end| self.shape.host_of(end) == host);
                    turns.usual.extend(ends.map(|end| ((kind, end), took)));
                }
            }
        }
        turns.slow = self.slow_receivers(parts);
        turns
    }

    /// The shortest time that the receiver of each connection takes from a request that it has until it asks for the next one in its place, where it is longer than
    /// round trips explain, and than that of most other hosts.
    fn slow_receivers(&self, parts: &BTreeMap<usize, Part>) -> BTreeMap<usize, u64> {
        let least = |(&connection, part): (&usize, &Part)| {
            let &(_, receiver) = self.ends.of.get(&connection)?;
            let host = self.shape.host_of(receiver);
            let passed = self.passed_on(host, part, parts);
            let asked = self.asked_behind(part, &passed);
            let least = asked.iter().copied().min().filter(|_| asked.len() >= EACH)?;
            Some((connection, host, least))
        };
        let all: Vec<(usize, usize, u64)> = parts.iter().filter_map(least).collect();
        let is_slow = |&&(connection, host, least): &&(usize, usize, u64)| {
            let others = || all.iter().filter(|(_, other, _)| *other != host);
            let as_slow = others().filter(|(.., other)| other.saturating_mul(2) >= least).count();
            least > 0 && least >= self.least(connection) && 2 * as_slow < others().count()
        };
        all.iter().filter(is_slow).map(|&(connection, _, least)| (connection, least)).collect()
    }

    /// When a host had passed on what it got on a connection, by the place of the request: on the connections that carry as many requests further.
    fn passed_on(&self, host: usize, part: &Part, parts: &BTreeMap<usize, Part>) -> Vec<i64> {
        let mut passed: Vec<i64> = Vec::new();
        if !self.passes_on() {
            return passed;
        }
        let is_next = |(connection, next): &(&usize, &Part)| {
            let sender = self.ends.of.get(connection).map(|&(sender, _)| self.shape.host_of(sender));
            sender == Some(host) && next.members.len() == part.members.len()
        };
        for (_, next) in parts.iter().filter(is_next) {
            passed.resize(passed.len().max(next.members.len()), i64::MIN);
            for (known, &at) in passed.iter_mut().zip(&next.members) {
                *known = self.timed[at].end.max(*known);
            }
        }
        passed
    }

    /// How long after a receiver had a request, and had passed it on, it asked for the one that takes its place: as many further as it asks for ahead.
    fn asked_behind(&self, part: &Part, passed: &[i64]) -> Vec<u64> {
        let had = |at: usize| self.timed[at].acknowledged.or(self.timed[at].last);
        let mut ahead = 0;
        let mut open = 0;
        for (place, &at) in part.members.iter().enumerate() {
            let Some(cts) = self.timed[at].cts else { return Vec::new() };
            while open < place && had(part.members[open]).is_some_and(|had| had <= cts) {
                open += 1;
            }
            ahead = ahead.max(place + 1 - open);
        }
        let behind = part.members.iter().enumerate().skip(ahead);
        let took = behind.filter_map(|(place, &at)| {
            let before = place - ahead;
            let cts = self.timed[at].cts?;
            // What it passes on is the next step's.
            let passed = passed.get(before + 1).filter(|&&passed| passed <= cts).copied().unwrap_or(i64::MIN);
            Some(ns_between(had(part.members[before])?.max(passed), cts))
        });
        took.collect()
    }

    /// Whether a request waited for its receiver, which is slow at each: for nothing else then, and how long.
    pub(super) fn slow_at_each(&self, turns: &Turns, late: &Late) -> Option<u64> {
        let slow = turns.slow.get(&self.timed[late.at].connection).copied();
        slow.filter(|_| !late.is_sender && !turns.firsts.contains(&late.at))
    }

    /// Whether a request may wait for this one: the first data of a connection waits for nothing but the first data of others, which may be of
    /// several requests.
    pub(super) fn may_need(&self, turns: &Turns, (at, is_sender): (usize, bool), other: usize) -> bool {
        if self.takes_turns {
            return self.timed[other].connection != self.timed[at].connection;
        }
        let count = |at: usize| turns.counts.get(&self.timed[at].connection).copied().unwrap_or(0);
        let is_first = is_sender && turns.firsts.contains(&at);
        other != at && (!is_first || turns.firsts.contains(&other) || count(other) > count(at))
    }

    /// From when a host had what it waited for, until it sent the data of a request, or asked for it.
    pub(super) fn turn(
        &self,
        at: usize,
        (host, is_sender): (usize, bool),
        (arrivals, turns): (&Arrivals, &Turns),
    ) -> Option<u64> {
        let one = &self.timed[at];
        let waited = match is_sender {
            true => one.time.sender_late_ns.or(one.time.late_ns),
            false => one.time.receiver_late_ns,
        };
        let waited = waited.filter(|&waited| waited > SHORTEST_WAIT_NS)?;
        let to = if is_sender { one.first? } else { one.cts? };
        // What a host does first waits for nothing: since it was asked, or began.
        let is_first = turns.firsts.contains(&at) && self.shape.topology != Topology::Tree;
        let began = self.starts.and_then(|starts| starts.get(&self.shape.host_of(host)));
        let began = began.map_or(i64::MIN, |start| start.did.min(to));
        let since = || ns_between(to.saturating_sub_unsigned(waited).max(began), to);
        if self.waits_for_own_only(turns, at) {
            let before = one.before.filter(|&before| self.timed[before].operation == one.operation);
            return if before.is_some() { Some(waited) } else { is_first.then(since) };
        }
        let latest = |is_sent: bool| {
            let is_it = |other: usize| self.may_need(turns, (at, is_sender), other);
            self.latest(arrivals, (host, is_sent), to, is_it).map(|(arrived, _)| arrived)
        };
        let passed = (!is_sender && self.passes_on()).then(|| latest(true)).flatten();
        let step = is_sender.then(|| self.step_before(turns, arrivals, (at, host), to)).flatten();
        let step = step.map(|(arrived, _)| arrived);
        let Some(had) = step.or_else(|| latest(false).into_iter().chain(passed).max()) else {
            // In rounds, the first one is unlike others: these need what the round before took.
            return (is_first && !self.takes_turns).then(since);
        };
        let asked = if is_sender { to.saturating_sub_unsigned(waited) } else { had };
        Some(ns_between(had.max(asked), to))
    }
}
