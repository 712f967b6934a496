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

/// A receiver is slow at each request that waits for so many, but the first.
const EACH: usize = 3;

/// What is done: the data of a connection's first request in an operation or of a later one, or what asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    is_sender: bool,
    is_first: bool,
}

/// What is usual in an operation.
#[derive(Default)]
pub(super) struct Turns {
    /// For others than a host.
    usual: BTreeMap<(Kind, usize), u64>,
    /// The first requests of connections.
    pub(super) firsts: BTreeSet<usize>,
    /// Requests of each connection.
    counts: BTreeMap<usize, usize>,
    /// Connections whose receiver is slow at each request, unlike those of other hosts: so long at least.
    slow: BTreeMap<usize, u64>,
}

impl Turns {
    /// What of a wait is beyond what other hosts take.
    pub(super) fn beyond(&self, late: Late) -> Late {
        let of = |is_first| {
            let kind = Kind { is_sender: late.is_sender, is_first };
            self.usual.get(&(kind, late.host)).copied()
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
        let mut all: BTreeMap<Kind, BTreeMap<usize, Vec<u64>>> = BTreeMap::new();
        for &at in self.members {
            let Some(&(sender, receiver)) = self.ends.of.get(&self.timed[at].connection) else { continue };
            for (host, is_sender) in [(receiver, false), (sender, true)] {
                let kind = Kind { is_sender, is_first: turns.firsts.contains(&at) };
                if let Some(took) = self.turn(at, (host, is_sender), (arrivals, &turns)) {
                    all.entry(kind).or_default().entry(host).or_default().push(took);
                }
            }
        }
        for (kind, hosts) in all {
            let usual_of = |mut of: Vec<u64>| {
                of.sort_unstable();
                of.get(of.len() / FASTEST).copied().unwrap_or(0)
            };
            let mut usual: Vec<(u64, usize)> =
                hosts.into_iter().map(|(host, of)| (usual_of(of), host)).collect();
            usual.sort_unstable();
            // The middle one of all others.
            let middle = (usual.len() - 1) / 2;
            for (place, &(_, host)) in usual.iter().enumerate() {
                let other = if middle < place { middle } else { middle + 1 };
                if let Some(&(took, _)) = usual.get(other) {
                    turns.usual.insert((kind, host), took);
                }
            }
        }
        turns.slow = self.slow_receivers(parts);
        turns
    }

    /// The shortest wait for the receiver of each connection, but for its first request: where it is longer than round trips explain, and than that of
    /// most other hosts.
    fn slow_receivers(&self, parts: &BTreeMap<usize, Part>) -> BTreeMap<usize, u64> {
        let wait = |&at: &usize| self.timed[at].time.receiver_late_ns.unwrap_or(0);
        let least = |(&connection, part): (&usize, &Part)| {
            let (_, behind) = part.members.split_first()?;
            let &(_, receiver) = self.ends.of.get(&connection)?;
            let least = behind.iter().map(wait).min().filter(|_| behind.len() >= EACH)?;
            Some((connection, self.shape.host_of(receiver), least))
        };
        let all: Vec<(usize, usize, u64)> = parts.iter().filter_map(least).collect();
        let is_slow = |&&(connection, host, least): &&(usize, usize, u64)| {
            let others = || all.iter().filter(|(_, other, _)| *other != host);
            let as_slow = others().filter(|(.., other)| other.saturating_mul(2) >= least).count();
            least > 0 && least >= self.short(connection) && 2 * as_slow < others().count()
        };
        all.iter().filter(is_slow).map(|&(connection, _, least)| (connection, least)).collect()
    }

    /// Whether a request waited for its receiver, which is slow at each: for nothing else then, and how long.
    pub(super) fn slow_at_each(&self, turns: &Turns, late: &Late) -> Option<u64> {
        let slow = turns.slow.get(&self.timed[late.at].connection).copied();
        slow.filter(|&slow| !late.is_sender && !turns.firsts.contains(&late.at) && slow <= late.ns())
    }

    /// Whether a request may wait for this one: the first data of a connection waits for nothing but the first data of others, which may be of
    /// several requests.
    pub(super) fn may_need(&self, turns: &Turns, (at, is_sender): (usize, bool), other: usize) -> bool {
        let count = |at: usize| turns.counts.get(&self.timed[at].connection).copied().unwrap_or(0);
        let is_first = is_sender && turns.firsts.contains(&at);
        other != at && (!is_first || turns.firsts.contains(&other) || count(other) > count(at))
    }

    /// From when a host had what it waited for, until it sent the data of a request, or asked for it.
    fn turn(
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
        // Connections of an all to all wait for nothing but their own requests.
        if self.shape.topology == Topology::AllToAll {
            let before = one.before.filter(|&before| self.timed[before].operation == one.operation);
            return before.map(|_| waited);
        }
        let to = if is_sender { one.first? } else { one.cts? };
        let latest = |is_sent: bool| {
            let is_it = |other: usize| self.may_need(turns, (at, is_sender), other);
            self.latest(arrivals, (host, is_sent), to, is_it).map(|(arrived, _)| arrived)
        };
        let passed = (!is_sender && self.passes_on()).then(|| latest(true)).flatten();
        let had = latest(false).into_iter().chain(passed).max()?;
        let asked = if is_sender { to.saturating_sub_unsigned(waited) } else { had };
        Some(ns_between(had.max(asked), to))
    }
}
