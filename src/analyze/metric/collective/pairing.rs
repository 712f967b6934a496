//! Which way back acknowledges which way there. Queue pairs of one connection carry like messages with like PSNs, so a PSN alone often does
//! not tell them apart; then the source port may, or the times.

use std::collections::BTreeMap;

use super::{
    Collectives,
    way::{Role, psn_distance},
};
use crate::analyze::packet::{key::Pair, path_tag};

/// Ways between two addresses that are compared with each other, at most.
const MOST_WAYS: usize = 256;
/// Acknowledgements of a way that are compared.
const MOST_COMPARED: usize = 256;

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

    /// Ways back that could not be told apart belong to those whose packets they follow soonest, and never precede. What is equal in that is in the
    /// order of queue pairs.
    pub(super) fn join_by_time(&mut self, only: Option<Pair>) {
        let mut backs: BTreeMap<_, Vec<u32>> = BTreeMap::new();
        let is_here = |pair: Pair| only.is_none_or(|only| only == pair);
        for (at, way) in (0..).zip(&self.ways) {
            if way.peer.is_none() && way.candidates.is_some() && is_here(way.key.pair()) {
                backs.entry((way.key.src, way.key.dst)).or_default().push(at);
            }
        }
        for backs in backs.into_values().filter(|backs| backs.len() <= MOST_WAYS) {
            let mut fits: Vec<(i64, u32, u32, u32, u32)> = Vec::new();
            for &back in &backs {
                let way = &self.ways[back as usize];
                for &there in way.candidates.iter().flatten().filter(|&&there| self.may_be_of(back, there)) {
                    if let Some(delay) = self.delay(back, there) {
                        let queue_pair = |at: u32| self.ways[at as usize].key.dest_qp();
                        fits.push((delay, queue_pair(back), queue_pair(there), back, there));
                    }
                }
            }
            fits.sort_unstable();
            for (.., back, there) in fits {
                let is_free = |at: u32| self.ways[at as usize].peer.is_none();
                if is_free(back) && is_free(there) {
                    self.join(back, there);
                }
            }
        }
    }

    /// How long the acknowledgements of one way come behind the packets of another one, on average; `None` if one of them comes before its packet.
    fn delay(&self, back: u32, there: u32) -> Option<i64> {
        let (back, there) = (self.ways.get(back as usize)?, self.ways.get(there as usize)?);
        let mut ends = BTreeMap::new();
        for chunk in there.chunks.iter().filter_map(|&chunk| self.chunks.get(chunk as usize)) {
            ends.insert(chunk.last_psn, chunk.last.1);
        }
        for (psn, connection, request) in there.elements() {
            let cts = self.request(connection, request).and_then(|request| request.cts.as_ref());
            ends.extend(cts.map(|cts| (psn, cts.time)));
        }
        let (mut sum, mut count) = (0i64, 0i64);
        for &(psn, time) in back.waiting.iter().rev().take(MOST_COMPARED) {
            let Some(&end) = ends.get(&psn) else { continue };
            if end > time {
                return None;
            }
            sum = sum.saturating_add(time.saturating_sub(end));
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
