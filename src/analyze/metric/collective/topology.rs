//! Who sends to whom, and the bandwidths that nccl-tests has of that.

use std::collections::{BTreeMap, BTreeSet};

use super::{Collectives, cut::Timed, ends::Ends};
use crate::{analyze::metric::bit_rate, report::Topology};

/// A tree has so many branches at a host, at most.
const BRANCHES: usize = 3;

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
    next: BTreeMap<usize, BTreeSet<usize>>,
}

impl Shape {
    pub(super) fn of(all: &Collectives, ends: &Ends) -> Shape {
        let taps = taps(all, ends);
        let are_all_seen = taps.is_some();
        let host_of = taps.unwrap_or_else(|| (0..ends.names.len()).collect());
        let mut edges: BTreeSet<(usize, usize)> = BTreeSet::new();
        for &(sender, receiver) in ends.of.values() {
            edges.insert((host_of[sender], host_of[receiver]));
        }
        let mut part_of: BTreeMap<usize, usize> = BTreeMap::new();
        for &(from, to) in &edges {
            let known = [from, to].map(|host| part_of.get(&host).copied().unwrap_or(host));
            let (joined, part) = (known[0].max(known[1]), known[0].min(known[1]));
            part_of.extend([(from, part), (to, part)]);
            part_of.values_mut().filter(|of| **of == joined).for_each(|of| *of = part);
        }
        let mut parts: BTreeMap<usize, Part> = BTreeMap::new();
        for &(from, to) in &edges {
            let next = &mut parts.entry(part_of[&from]).or_default().next;
            next.entry(from).or_default().insert(to);
            next.entry(to).or_default();
        }
        let shapes: BTreeSet<(usize, &str)> =
            parts.values().map(|part| (part.next.len(), part.topology().words())).collect();
        let hosts = parts.values().map(|part| part.next.len()).max().unwrap_or(0);
        // Several times two hosts that send to each other are pairs.
        let is_one = shapes.len() == 1 && (parts.len() == 1 || hosts > 2);
        let first = parts.values().next().filter(|_| is_one);
        let topology = first.map_or(Topology::Pairs, Part::topology);
        Shape { topology, are_all_seen, hosts, host_of, part_of }
    }

    /// The ring, tree, all to all or pair that an endpoint is in.
    pub(super) fn part_of(&self, end: usize) -> Option<usize> {
        self.part_of.get(&self.host_of(end)).copied()
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
        let rate = |bytes: u128| bit_rate(u64::try_from(bytes).unwrap_or(u64::MAX), lasted_ns);
        let (algorithm, bus) = match self.topology {
            Topology::Ring => (most * hosts / (2 * others), most),
            Topology::AllToAll => (most * hosts / others, most),
            // Each edge carries the whole buffer, up and down.
            Topology::Tree => (total / (2 * others), total / hosts),
            Topology::Pairs if self.sends_to_one(ends) => {
                let most = sent.values().flat_map(BTreeMap::values).max().map_or(0, |&most| u128::from(most));
                (most, most)
            }
            _ => return None,
        };
        Some(Bandwidths { algorithm_bps: rate(algorithm), bus_bps: rate(bus) })
    }

    /// Whether no host sends to several others.
    fn sends_to_one(&self, ends: &Ends) -> bool {
        let mut next: BTreeMap<usize, usize> = BTreeMap::new();
        let is_only = |&(sender, receiver): &(usize, usize)| {
            let to = self.host_of[receiver];
            *next.entry(self.host_of[sender]).or_insert(to) == to
        };
        ends.of.values().all(is_only)
    }
}

impl Part {
    fn topology(&self) -> Topology {
        let hosts = self.next.len();
        let edges: usize = self.next.values().map(BTreeSet::len).sum();
        if self.is_ring() {
            return Topology::Ring;
        }
        if hosts > 2 && edges == hosts * (hosts - 1) {
            return Topology::AllToAll;
        }
        let is_back =
            |(from, next): (&usize, &BTreeSet<usize>)| next.iter().all(|to| self.next[to].contains(from));
        let is_tree = edges == 2 * (hosts - 1)
            && self.next.iter().all(is_back)
            && self.next.values().all(|next| next.len() <= BRANCHES);
        if is_tree && hosts > 2 { Topology::Tree } else { Topology::Pairs }
    }

    /// Whether each host has one next one, and all of them are one circle.
    fn is_ring(&self) -> bool {
        let only = |host: usize| Some(self.next.get(&host)?).filter(|next| next.len() == 1)?.first().copied();
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
