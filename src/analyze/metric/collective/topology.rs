//! Who sends to whom, and the bandwidths that nccl-tests has of that.

use std::collections::{BTreeMap, BTreeSet};

use super::{Collectives, cut::Timed, ends::Ends};
use crate::{analyze::metric::bit_rate, report::Topology};

/// A tree has so many branches at a host, at most.
const BRANCHES: usize = 3;
/// Hosts of which is looked whether they are two trees, at most.
const MOST_OF_TREES: usize = 1024;

/// Who sends to whom, host by host.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) topology: Topology,
    /// All hosts have taps, so that all traffic of each was seen.
    pub(super) are_all_seen: bool,
    /// Hosts of each ring, tree, or all to all: there is one for each rail, where hosts are not known.
    hosts: usize,
    /// The host of each endpoint, by its place in the list of names.
    host_of: Vec<usize>,
    /// Hosts of which only some traffic was seen: that with the hosts that have a tap.
    half_seen: BTreeSet<usize>,
    /// The ring, tree, or all to all that a host is in.
    part_of: BTreeMap<usize, usize>,
}

/// Bits per second in an operation, as nccl-tests has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bandwidths {
    /// Bytes of a rank's buffer over the time.
    pub(super) algorithm_bps: u64,
    /// That, times what the kind of operation needs of each link.
    pub(super) bus_bps: u64,
}

/// Hosts that send to each other, and no others.
#[derive(Default)]
struct Part {
    /// To whom a host sends, on how many connections.
    next: BTreeMap<usize, BTreeMap<usize, usize>>,
}

impl Shape {
    /// That of all connections.
    pub(super) fn of(all: &Collectives, ends: &Ends) -> Shape {
        let taps = taps(all, ends);
        let are_all_seen = taps.is_some();
        let host_of = taps.unwrap_or_else(|| (0..ends.names.len()).collect());
        let half_seen = if are_all_seen { BTreeSet::new() } else { half_seen(all, ends, &host_of) };
        let shape = Shape {
            topology: Topology::Unknown,
            are_all_seen,
            hosts: 0,
            host_of,
            half_seen,
            part_of: BTreeMap::new(),
        };
        shape.among(ends.of.values().copied())
    }

    /// That of some connections, by their ends.
    pub(super) fn among(&self, connections: impl Iterator<Item = (usize, usize)>) -> Shape {
        let mut edges: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for (sender, receiver) in connections {
            *edges.entry((self.host_of(sender), self.host_of(receiver))).or_insert(0) += 1;
        }
        let part_of = joined(edges.keys().copied());
        let mut parts: BTreeMap<usize, Part> = BTreeMap::new();
        for (&(from, to), &connections) in &edges {
            let next = &mut parts.entry(part_of[&from]).or_default().next;
            next.entry(from).or_default().insert(to, connections);
            next.entry(to).or_default();
        }
        // What hosts without a tap send to each other is not there.
        let is_half_seen = |part: &Part| {
            part.next.len() > 2 && part.next.keys().filter(|host| self.half_seen.contains(host)).count() > 0
        };
        let shapes: BTreeSet<(usize, &str)> =
            parts.values().map(|part| (part.next.len(), part.topology().words())).collect();
        let hosts = parts.values().map(|part| part.next.len()).max().unwrap_or(0);
        // Several times two hosts that send to each other are pairs.
        let is_one = shapes.len() == 1 && (parts.len() == 1 || hosts > 2);
        let first = parts.values().next().filter(|_| is_one);
        let topology = match parts.values().any(is_half_seen) {
            true => Topology::Unknown,
            false => first.map_or(Topology::Pairs, Part::topology),
        };
        Shape { topology, hosts, part_of, ..self.clone() }
    }

    /// Whether some hosts have taps, and others have none.
    pub(super) fn is_half_seen(&self) -> bool {
        !self.half_seen.is_empty()
    }

    /// Whether all is known that the host of an endpoint did and waited for.
    pub(super) fn is_seen(&self, end: usize) -> bool {
        self.topology != Topology::Unknown || !self.half_seen.contains(&self.host_of(end))
    }

    /// The ring, tree, all to all or pair that an endpoint is in.
    pub(super) fn part_of(&self, end: usize) -> Option<usize> {
        self.part_of_host(self.host_of(end))
    }

    /// The same of a host.
    pub(super) fn part_of_host(&self, host: usize) -> Option<usize> {
        self.part_of.get(&host).copied()
    }

    /// The host of an endpoint, by its place in the list of names: the endpoint itself, where hosts are not known.
    pub(super) fn host_of(&self, end: usize) -> usize {
        self.host_of.get(end).copied().unwrap_or(end)
    }

    /// The bandwidths of an operation that took so long; `None` where endpoints send to several others in no order that is known.
    pub(super) fn bandwidths(
        &self,
        ends: &Ends,
        timed: &[Timed],
        members: &[usize],
        lasted_ns: u64,
    ) -> Option<Bandwidths> {
        let mut sent: BTreeMap<usize, BTreeMap<usize, u64>> = BTreeMap::new();
        let mut total = 0u128;
        for &at in members {
            let &(sender, _) = ends.of.get(&timed[at].connection)?;
            let host = *self.host_of.get(sender)?;
            let part = self.part_of.get(&host).copied()?;
            let bytes = sent.entry(part).or_default().entry(host).or_default();
            *bytes = bytes.saturating_add(timed[at].bytes);
            total += u128::from(timed[at].bytes);
        }
        if lasted_ns == 0 || self.hosts < 2 {
            return None;
        }
        // What the host sends that sends most. Rails work side by side.
        let most: u128 =
            sent.values().filter_map(|part| part.values().max()).map(|&most| u128::from(most)).sum();
        let (hosts, others) = (self.hosts as u128, self.hosts as u128 - 1);
        let ends_of = || members.iter().filter_map(|&at| ends.of.get(&timed[at].connection).copied());
        let rate = |bytes: u128| bit_rate(u64::try_from(bytes).unwrap_or(u64::MAX), lasted_ns);
        let (algorithm, bus) = match self.topology {
            Topology::Ring => (most * hosts / (2 * others), most),
            Topology::Chain => (most, most),
            Topology::AllToAll => (most * hosts / others, most),
            // Each edge carries the whole buffer, up and down.
            Topology::Tree => (total / (2 * others), total / hosts),
            Topology::Pairs if self.sends_to_one(ends_of()) => {
                let most = sent.values().flat_map(BTreeMap::values).max().map_or(0, |&most| u128::from(most));
                (most, most)
            }
            _ => return None,
        };
        Some(Bandwidths { algorithm_bps: rate(algorithm), bus_bps: rate(bus) })
    }

    /// Whether no host sends to several others.
    fn sends_to_one(&self, connections: impl Iterator<Item = (usize, usize)>) -> bool {
        let mut next: BTreeMap<usize, usize> = BTreeMap::new();
        let mut all = connections.map(|(sender, receiver)| (self.host_of(sender), self.host_of(receiver)));
        all.all(|(from, to)| *next.entry(from).or_insert(to) == to)
    }
}

impl Part {
    fn topology(&self) -> Topology {
        let hosts = self.next.len();
        let edges: usize = self.next.values().map(BTreeMap::len).sum();
        if self.is_ring() {
            return Topology::Ring;
        }
        if self.is_chain(edges) {
            return Topology::Chain;
        }
        let mut times = self.next.values().flat_map(BTreeMap::values);
        let first = times.next();
        let (is_to_all, are_alike) = (edges == hosts * (hosts - 1), times.all(|n| Some(n) == first));
        match hosts {
            ..=2 => Topology::Pairs,
            // Two trees of four hosts may join all of them, but some by more connections.
            _ if is_to_all && are_alike => Topology::AllToAll,
            _ if self.is_tree(edges) || self.is_double_tree() => Topology::Tree,
            _ if is_to_all => Topology::AllToAll,
            _ => Topology::Pairs,
        }
    }

    /// Whether connections go both ways between hosts, as many one way as the other.
    fn is_both_ways(&self, from: usize, to: usize) -> bool {
        let of = |from: usize, to: usize| self.next.get(&from)?.get(&to);
        of(from, to).is_some() && of(from, to) == of(to, from)
    }

    fn is_tree(&self, edges: usize) -> bool {
        edges == 2 * (self.next.len() - 1)
            && self.next.iter().all(|(from, next)| next.keys().all(|to| self.next[to].contains_key(from)))
            && self.next.values().all(|next| next.len() <= BRANCHES)
    }

    /// Whether these are two trees of the same hosts, as NCCL makes them: half of the channels go over one of them, half over the other.
    fn is_double_tree(&self) -> bool {
        let hosts: BTreeMap<usize, usize> =
            self.next.keys().enumerate().map(|(n, &host)| (host, n)).collect();
        let pairs =
            self.next.iter().flat_map(|(&from, next)| next.iter().map(move |(&to, &n)| (from, to, n)));
        let pairs: Vec<(usize, usize, usize)> = pairs.collect();
        if hosts.len() > MOST_OF_TREES || !pairs.iter().all(|&(from, to, _)| self.is_both_ways(from, to)) {
            return false;
        }
        let pairs: Vec<(usize, usize, usize)> = pairs.into_iter().filter(|(from, to, _)| from < to).collect();
        let connections: usize = pairs.iter().map(|(.., n)| n).sum();
        let channels = connections / (hosts.len() - 1);
        let half = channels / 2;
        let is_so = half > 0
            && channels == 2 * half
            && connections == channels * (hosts.len() - 1)
            && pairs.iter().all(|&(.., n)| n == half || n == channels);
        let branches = |host: usize| self.next[&host].values().sum::<usize>() / half.max(1);
        if !is_so || self.next.keys().any(|&host| branches(host) > 2 * BRANCHES) {
            return false;
        }
        let mut edges = pairs.iter().flat_map(|&(from, to, n)| vec![(hosts[&from], hosts[&to]); n / half]);
        let mut forests = Forests::new(hosts.len());
        edges.all(|(from, to)| forests.takes(from, to))
    }

    /// Whether each of more than two hosts has one next one at most, and one before it; all of them belong together.
    fn is_chain(&self, edges: usize) -> bool {
        let to: BTreeSet<usize> = self.next.values().flat_map(BTreeMap::keys).copied().collect();
        let hosts = self.next.len();
        let is_to_one = self.next.values().all(|next| next.len() <= 1);
        hosts > 2 && edges + 1 == hosts && to.len() == edges && is_to_one
    }

    /// Whether each host has one next one, and all of them are one circle.
    fn is_ring(&self) -> bool {
        let only = |host: usize| {
            let next = self.next.get(&host).filter(|next| next.len() == 1)?;
            next.keys().next().copied()
        };
        let Some(&first) = self.next.keys().next() else { return false };
        let mut at = first;
        for step in 1..=self.next.len() {
            let Some(to) = only(at) else { return false };
            at = to;
            if at == first {
                return step == self.next.len();
            }
        }
        false
    }
}

/// Edges that are taken one by one, as long as they fit into two forests of these nodes: each node has two edges that are its own, at most, and three
/// are to be had for the two ends of the next edge (the pebble game of Lee and Streinu).
struct Forests {
    free: Vec<usize>,
    /// The other ends of the edges that are a node's own.
    own: Vec<Vec<usize>>,
}

impl Forests {
    fn new(nodes: usize) -> Forests {
        Forests { free: vec![2; nodes], own: vec![Vec::new(); nodes] }
    }

    fn takes(&mut self, from: usize, to: usize) -> bool {
        while self.free[from] + self.free[to] < 3 {
            if !self.frees(from, to) && !self.frees(to, from) {
                return false;
            }
        }
        let (owner, other) = if self.free[from] > 0 { (from, to) } else { (to, from) };
        self.free[owner] -= 1;
        self.own[owner].push(other);
        true
    }

    /// Frees an edge of this node: along edges to a node with a free one, each of which becomes the next node's own.
    fn frees(&mut self, node: usize, not: usize) -> bool {
        let mut came_from: Vec<Option<usize>> = vec![None; self.free.len()];
        (came_from[node], came_from[not]) = (Some(node), Some(not));
        let mut next = vec![node];
        while let Some(at) = next.pop() {
            if at != node && self.free[at] > 0 {
                let mut at = at;
                self.free[at] -= 1;
                while let Some(before) = came_from[at].filter(|_| at != node) {
                    if let Some(edge) = self.own[before].iter().position(|&other| other == at) {
                        self.own[before].swap_remove(edge);
                    }
                    self.own[at].push(before);
                    at = before;
                }
                self.free[node] += 1;
                return true;
            }
            for &other in &self.own[at] {
                if came_from[other].is_none() {
                    came_from[other] = Some(at);
                    next.push(other);
                }
            }
        }
        false
    }
}

/// The part that each is in of those that are joined, by its smallest member.
pub(super) fn joined(edges: impl Iterator<Item = (usize, usize)>) -> BTreeMap<usize, usize> {
    let mut part_of: BTreeMap<usize, usize> = BTreeMap::new();
    for (from, to) in edges {
        let known = [from, to].map(|host| part_of.get(&host).copied().unwrap_or(host));
        let (joined, part) = (known[0].max(known[1]), known[0].min(known[1]));
        part_of.extend([(from, part), (to, part)]);
        part_of.values_mut().filter(|of| **of == joined).for_each(|of| *of = part);
    }
    part_of
}

/// Hosts that have no tap, where each tap is at a host: all that it saw first is from or to one, on each rail. What they do with others that have none is not
/// there.
fn half_seen(all: &Collectives, ends: &Ends, host_of: &[usize]) -> BTreeSet<usize> {
    let mut at_tap: BTreeMap<u16, BTreeSet<(usize, usize)>> = BTreeMap::new();
    let mut hosts: BTreeSet<usize> = BTreeSet::new();
    for (connection, &(sender, receiver)) in &ends.of {
        let here = (host_of[sender], host_of[receiver]);
        hosts.extend([here.0, here.1]);
        let Some(of) = all.connections.get(*connection) else { continue };
        for &way in of.data_ways.iter().chain(&of.cts_ways) {
            if let Some(way) = all.ways.get(way as usize) {
                at_tap.entry(way.vantage >> 8).or_default().insert(here);
            }
        }
    }
    let mut seen: BTreeSet<usize> = BTreeSet::new();
    for pairs in at_tap.into_values() {
        let rail_of = joined(pairs.iter().copied());
        let mut rails: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (from, to) in pairs {
            let common = rails.entry(rail_of[&from]).or_insert_with(|| [from, to].into());
            common.retain(|host| [from, to].contains(host));
        }
        if rails.values().any(BTreeSet::is_empty) {
            return BTreeSet::new();
        }
        seen.extend(rails.into_values().flatten());
    }
    hosts.difference(&seen).copied().collect()
}

/// The tap of each endpoint: where its packets were seen first, if that tells hosts apart, as adapters of one host send nothing to each other. Without it,
/// as with a tap in the network, each endpoint is taken for a host.
fn taps(all: &Collectives, ends: &Ends) -> Option<Vec<usize>> {
    let mut tap_of: BTreeMap<usize, BTreeSet<u16>> = BTreeMap::new();
    for (connection, &(sender, receiver)) in &ends.of {
        let Some(of) = all.connections.get(*connection) else { continue };
        let data = of.data_ways.iter().map(|way| (way, sender));
        for (&way, end) in data.chain(of.cts_ways.iter().map(|way| (way, receiver))) {
            let Some(way) = all.ways.get(way as usize) else { continue };
            tap_of.entry(end).or_default().insert(way.vantage >> 8);
        }
    }
    let tap = |end: usize| match tap_of.get(&end)?.iter().collect::<Vec<_>>()[..] {
        [&tap] => Some(usize::from(tap)),
        _ => None,
    };
    let taps: Vec<usize> = (0..ends.names.len()).map(tap).collect::<Option<_>>()?;
    ends.of.values().all(|&(from, to)| taps[from] != taps[to]).then_some(taps)
}

#[cfg(test)]
#[path = "../../../../tests/unit/analyze_metric_collective_topology.rs"]
mod tests;
