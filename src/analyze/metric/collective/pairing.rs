//! Which way back acknowledges which way there. Queue pairs of one connection carry like messages with like PSNs, so a PSN alone often does
//! not tell them apart; then the source port may, or the times.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Collectives,
    way::{Role, psn_distance},
};
use crate::analyze::packet::{key::Pair, path_tag};

/// Ways between two addresses that are compared with each other, at most.
const MOST_WAYS: usize = 256;
/// Acknowledgements of a way that are compared.
const MOST_COMPARED: usize = 256;
/// How often all pairs are looked through for two that are the other way round; and that must be better by one part in so many.
const MOST_TRIES: usize = 8;
const CLEARLY: u128 = 16;

impl Collectives {
    /// The way whose packets a way acknowledges: the one that has a message that ends with this PSN, if there is just one. Elements, and the data that
    /// went where they say, prove more than PSNs do: a queue pair is of one connection.
    pub(super) fn pair(&mut self, at: u32, psn: u32) -> Option<u32> {
        let fits = |&other: &u32| self.may_be_of(at, other) && self.waits_for(other, psn);
        let way = self.ways.get(at as usize)?;
        let known: Vec<u32> = way.candidates.iter().flatten().copied().filter(fits).collect();
        let mut found = match known.is_empty() {
            true => self.counterparts(at).into_iter().filter(fits).collect(),
            false => known,
        };
        found.sort_unstable();
        found.dedup();
        // Linux, and adapters by default, give both directions of a queue pair one source port.
        let port = path_tag::port(way.path_tag);
        let has_port = |&other: &u32| path_tag::port(self.ways[other as usize].path_tag) == port;
        let with_port: Vec<u32> = found.iter().copied().filter(has_port).collect();
        if let ([peer], _) | (_, [peer]) = (&found[..], &with_port[..]) {
            let peer = *peer;
            self.join(at, peer);
            return Some(peer);
        }
        if !found.is_empty() {
            self.ways[at as usize].candidates = Some(found);
        }
        None
    }

    /// Ways that the acknowledgements of this one may be of.
    fn counterparts(&self, at: u32) -> Vec<u32> {
        let Some(way) = self.ways.get(at as usize) else { return Vec::new() };
        let of = |connection: &u32| self.connections.get(*connection as usize);
        let loose = self.loose.get(&way.key.pair()).into_iter().flatten().copied();
        match &way.role {
            Role::Data(connection) => of(connection).map_or_else(Vec::new, |of| of.cts_ways.clone()),
            Role::ClearToSend(connection) => {
                of(connection).into_iter().flat_map(|of| of.data_ways.iter().copied()).chain(loose).collect()
            }
            Role::Unknown => {
                let between = self.between.get(&way.key.pair()).into_iter().flatten().filter_map(of);
                between.flat_map(|of| of.data_ways.iter().chain(&of.cts_ways).copied()).chain(loose).collect()
            }
        }
    }

    /// Whether two ways can be the two directions of one queue pair: of one connection, its elements and its data.
    fn may_be_of(&self, at: u32, other: u32) -> bool {
        let (Some(way), Some(other)) = (self.ways.get(at as usize), self.ways.get(other as usize)) else {
            return false;
        };
        let are_opposite = other.key.src == way.key.dst && other.key.dst == way.key.src;
        are_opposite
            && match (way.role, other.role) {
                (Role::Data(of), Role::ClearToSend(other)) | (Role::ClearToSend(of), Role::Data(other)) => {
                    of == other
                }
                (Role::Unknown, _) | (_, Role::Unknown) => true,
                _ => false,
            }
    }

    /// Whether a way, of which nobody knows the way back, has a message or an element that ends with this PSN and was not acknowledged.
    fn waits_for(&self, at: u32, psn: u32) -> bool {
        let Some(way) = self.ways.get(at as usize) else { return false };
        let waiting = way.chunks.iter().skip(way.acknowledged);
        let waiting = waiting.filter_map(|&chunk| self.chunks.get(chunk as usize));
        let mut last = waiting.filter(|chunk| chunk.goes_on.is_none()).map(|chunk| chunk.last_psn);
        way.peer.is_none() && (way.element(psn).is_some() || last.any(|last| last == psn))
    }

    /// A way turns out to have data of a connection: what it acknowledges can only be elements of that.
    pub(super) fn prove(&mut self, at: u32, connection: u32) {
        let peer = self.ways.get(at as usize).and_then(|way| way.peer);
        if let Some(peer) = peer.filter(|&peer| !self.may_be_of(at, peer)) {
            self.part(at, peer);
        }
        let Some(way) = self.ways.get(at as usize).filter(|way| way.peer.is_none()) else { return };
        if way.waiting.is_empty() {
            return;
        }
        let own = self.connections.get(connection as usize).map_or(&[][..], |of| &of.cts_ways);
        if let Some(&elements) = own.iter().find(|&&elements| self.may_be_of(at, elements)) {
            if let Some(wrong) = self.ways[elements as usize].peer {
                self.part(elements, wrong);
            }
            self.join(at, elements);
        }
    }

    /// Two ways do not belong together: what was taken for their acknowledgements was of others.
    fn part(&mut self, at: u32, peer: u32) {
        for at in [at, peer] {
            let Some(way) = self.ways.get_mut(at as usize) else { continue };
            (way.peer, way.candidates, way.round_trip_ns) = (None, None, None);
            for &chunk in &way.chunks {
                if let Some(chunk) = self.chunks.get_mut(chunk as usize) {
                    chunk.acknowledged = None;
                }
            }
            if let Role::ClearToSend(of) = way.role
                && let Some(of) = self.connections.get_mut(of as usize)
            {
                of.requests
                    .iter_mut()
                    .filter_map(|one| one.cts.as_mut())
                    .for_each(|cts| cts.acknowledged = None);
            }
        }
    }

    /// Two ways belong together.
    fn join(&mut self, at: u32, peer: u32) {
        self.ways[at as usize].peer = Some(peer);
        self.ways[peer as usize].peer = Some(at);
        for (psn, time) in std::mem::take(&mut self.ways[at as usize].waiting) {
            self.acknowledge(peer, psn, time);
        }
        for (psn, time) in std::mem::take(&mut self.ways[peer as usize].waiting) {
            self.acknowledge(at, psn, time);
        }
    }

    /// Ways back that could not be told apart belong to those whose packets they follow soonest, and never precede. Queue pairs are made in their order at both
    /// ends: what times do not speak against is in this order.
    pub(super) fn join_by_time(&mut self, only: Option<Pair>) {
        let mut backs: BTreeMap<_, Vec<u32>> = BTreeMap::new();
        let is_here = |pair: Pair| only.is_none_or(|only| only == pair);
        for (at, way) in (0..).zip(&self.ways) {
            if way.peer.is_none() && way.candidates.is_some() && is_here(way.key.pair()) {
                backs.entry((way.key.src, way.key.dst)).or_default().push(at);
            }
        }
        for backs in backs.into_values().filter(|backs| backs.len() <= MOST_WAYS) {
            for (back, there) in self.by_time(backs) {
                let is_free = |at: u32| self.ways[at as usize].peer.is_none();
                if is_free(back) && is_free(there) {
                    self.join(back, there);
                }
            }
        }
    }

    /// Which ways belong to these ways back, by times.
    fn by_time(&self, mut backs: Vec<u32>) -> Vec<(u32, u32)> {
        let queue_pair = |at: u32| self.ways[at as usize].key.dest_qp();
        backs.sort_unstable_by_key(|&back| queue_pair(back));
        let mut costs: BTreeMap<(u32, u32), u128> = BTreeMap::new();
        for &back in &backs {
            let way = &self.ways[back as usize];
            for &there in way.candidates.iter().flatten().filter(|&&there| self.may_be_of(back, there)) {
                costs.extend(self.cost(back, there).map(|cost| ((back, there), cost)));
            }
        }
        let mut theres: Vec<u32> = costs.keys().map(|&(_, there)| there).collect();
        theres.sort_unstable_by_key(|&there| queue_pair(there));
        theres.dedup();
        let in_order: Vec<(u32, u32)> = backs.iter().copied().zip(theres.iter().copied()).collect();
        let is_whole = backs.len() == theres.len() && in_order.iter().all(|pair| costs.contains_key(pair));
        let mut found = if is_whole { in_order } else { soonest(&costs, queue_pair) };
        // Of any two that are the other way round, the sum of the squares is less if that is right.
        let mut is_better = true;
        for _ in 0..MOST_TRIES {
            if !std::mem::take(&mut is_better) {
                break;
            }
            for one in 0..found.len() {
                for other in one + 1..found.len() {
                    let ((a, to_a), (b, to_b)) = (found[one], found[other]);
                    let cost = |pair: (u32, u32)| costs.get(&pair).copied();
                    let (Some(crossed_a), Some(crossed_b)) = (cost((a, to_b)), cost((b, to_a))) else {
                        continue;
                    };
                    let now = cost((a, to_a)).unwrap_or(0).saturating_add(cost((b, to_b)).unwrap_or(0));
                    let crossed = crossed_a.saturating_add(crossed_b);
                    if crossed.saturating_add(crossed / CLEARLY) < now {
                        (found[one], found[other]) = ((a, to_b), (b, to_a));
                        is_better = true;
                    }
                }
            }
        }
        found
    }

    /// How long the acknowledgements of one way come behind the packets of another one: the square of that, on average. `None` if one of them comes before its
    /// packet.
    fn cost(&self, back: u32, there: u32) -> Option<u128> {
        let (back, there) = (self.ways.get(back as usize)?, self.ways.get(there as usize)?);
        let mut ends = BTreeMap::new();
        for chunk in there.chunks.iter().filter_map(|&chunk| self.chunks.get(chunk as usize)) {
            ends.insert(chunk.last_psn, chunk.last.1);
        }
        for (psn, connection, request) in there.elements() {
            let cts = self.request(connection, request).and_then(|request| request.cts.as_ref());
            ends.extend(cts.map(|cts| (psn, cts.time)));
        }
        let (mut sum, mut count) = (0u128, 0u128);
        for &(psn, time) in back.waiting.iter().rev().take(MOST_COMPARED) {
            let Some(&end) = ends.get(&psn) else { continue };
            if end > time {
                return None;
            }
            let behind = u128::from(time.abs_diff(end));
            sum = sum.saturating_add(behind * behind);
            count += 1;
        }
        let last = there.chunks.back().and_then(|&chunk| self.chunks.get(chunk as usize));
        let last = last.map(|chunk| chunk.last_psn).or(there.elements().last().map(|(psn, ..)| psn));
        let is_behind = |last: i32| last <= 0;
        let newest = back.waiting.last().map(|&(psn, _)| psn);
        let fits = last.zip(newest).is_some_and(|(last, newest)| is_behind(psn_distance(newest, last)));
        (count > 0 && fits).then(|| sum / count)
    }
}

/// Those whose packets they follow soonest, one by one. What is equal in that is in the order of queue pairs.
fn soonest(costs: &BTreeMap<(u32, u32), u128>, queue_pair: impl Fn(u32) -> u32) -> Vec<(u32, u32)> {
    let mut fits: Vec<(u128, u32, u32, (u32, u32))> = Vec::with_capacity(costs.len());
    fits.extend(
        costs
            .iter()
            .map(|(&(back, there), &cost)| (cost, queue_pair(back), queue_pair(there), (back, there))),
    );
    fits.sort_unstable();
    let (mut taken, mut found) = (BTreeSet::new(), Vec::new());
    for (.., (back, there)) in fits {
        if !taken.contains(&back) && !taken.contains(&there) {
            taken.extend([back, there]);
            found.push((back, there));
        }
    }
    found
}
