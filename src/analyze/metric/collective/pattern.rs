//! Requests without the fields of their clear-to-send elements: where only the direction of the data was captured, or frames were cut. Then the
//! immediate data shows them, as it is the size of what they carry. Where that was cut too, the addresses that the elements go to do: they are
//! slots that follow each other.

use std::collections::BTreeMap;

use super::{
    Chunk, Collectives, Connection, Cts, Request, SLOTS,
    way::{Role, Way},
};
use crate::{analyze::packet::key::Wide, report::CtsLayout};

/// So many requests of a queue pair must have the size as their immediate data, or so many elements go to slots that follow each other.
pub(super) const ENOUGH: usize = 4;
/// Chunks of a request on several queue pairs are multiples of so many bytes.
const ALIGNED: u64 = 128;
/// Queue pairs of a request, at most.
const MOST_WAYS: usize = 16;
/// Bytes of a clear-to-send element, in all versions.
const ELEMENTS: [u32; 3] = [32, 48, 64];
/// Elements of a slot.
const OF_SLOT: u64 = 8;

/// Queue pairs that may be of one connection.
struct Group {
    ways: Vec<u32>,
    /// The way of its elements.
    elements: Option<u32>,
}

impl Collectives {
    /// Finds connections among the messages of no request.
    pub(super) fn find_patterns(&mut self) {
        for group in self.groups() {
            let mut of = Connection::new(CtsLayout::Unknown);
            let requests = self.requests_of(&group, &mut of);
            if requests.len() < ENOUGH {
                continue;
            }
            of.ways_per_request = requests.iter().map(|one| self.ways_of(one)).max().unwrap_or(0);
            of.data_ways.clone_from(&group.ways);
            of.requests = requests;
            match group.elements {
                Some(elements) => self.add_elements(&mut of, elements),
                None => self.find_elements(&mut of),
            }
            let at = self.connections.len() as u32;
            for &way in &group.ways {
                self.ways[way as usize].role = Role::Data(at);
            }
            for &way in &of.cts_ways {
                self.ways[way as usize].role = Role::ClearToSend(at);
            }
            self.connections.push(of);
        }
    }

    /// Queue pairs that may be of one connection, host by host.
    fn groups(&self) -> Vec<Group> {
        let mut between: BTreeMap<(Wide, Wide), Vec<(u32, u32)>> = BTreeMap::new();
        for (at, way) in (0..).zip(&self.ways) {
            if !Collectives::is_data(way.role) && self.messages(at).iter().any(|chunk| chunk.is_ended) {
                let ways = between.entry((way.key.src, way.key.dst)).or_default();
                ways.push((way.key.dest_qp(), at));
            }
        }
        let mut elements: BTreeMap<(Wide, Wide), Vec<u32>> = BTreeMap::new();
        for (at, way) in (0..).zip(&self.ways) {
            if way.role == Role::Unknown && self.are_elements(at) {
                elements.entry((way.key.dst, way.key.src)).or_default().push(at);
            }
        }
        let mut groups = Vec::new();
        for (ends, mut ways) in between {
            ways.sort_unstable();
            let ways: Vec<u32> = ways.into_iter().map(|(_, at)| at).collect();
            let elements = elements.get(&ends).map_or(&[][..], |all| all);
            groups.extend(self.groups_between(&ways, elements));
        }
        groups
    }

    /// Whether all messages of a way are as long as elements.
    fn are_elements(&self, at: u32) -> bool {
        let messages = self.messages(at);
        let is_element = |chunk: &&Chunk| !chunk.is_ended && ELEMENTS.contains(&chunk.bytes);
        !messages.is_empty() && messages.iter().all(is_element)
    }

    /// The same, between two hosts. A connection's elements go on its first queue pair, and queue pairs are made in their order.
    fn groups_between(&self, ways: &[u32], elements: &[u32]) -> Vec<Group> {
        let back = |at: u32| self.ways.get(at as usize).and_then(|way| way.peer);
        let of_first = |at: u32| back(at).filter(|back| elements.contains(back));
        let mut groups: Vec<Group> = Vec::new();
        for &way in ways {
            match (of_first(way), groups.last_mut()) {
                (None, Some(group)) => group.ways.push(way),
                (elements, _) => groups.push(Group { ways: vec![way], elements }),
            }
        }
        if let ([only], [elements]) = (&mut groups[..], elements)
            && only.elements.is_none()
        {
            only.elements = Some(*elements);
        }
        let fits = |group: &Group| {
            group.elements.is_some()
                && !self.requests_of(group, &mut Connection::new(CtsLayout::Unknown)).is_empty()
        };
        let (mut all, mut rest) = (Vec::new(), Vec::new());
        for group in groups {
            if fits(&group) { all.push(group) } else { rest.extend(group.ways) }
        }
        all.extend(self.groups_by_size(&rest).into_iter().map(|ways| Group { ways, elements: None }));
        all
    }

    /// Queue pairs whose messages have the same immediate data carry the parts of the same requests, unless each has whole ones.
    fn groups_by_size(&self, ways: &[u32]) -> Vec<Vec<u32>> {
        let mut alike: BTreeMap<Vec<u32>, Vec<u32>> = BTreeMap::new();
        for &at in ways {
            let immediates: Vec<u32> = self.messages(at).iter().filter_map(|chunk| chunk.immediate).collect();
            if immediates.len() >= ENOUGH {
                alike.entry(immediates).or_default().push(at);
            }
        }
        let mut groups = Vec::new();
        for (immediates, ways) in alike {
            let parts = |order: fn(u32) -> u32| {
                let sizes = ways.first().map(|&way| self.sizes(way)).unwrap_or_default();
                let parts = immediates
                    .iter()
                    .zip(sizes)
                    .map(|(&immediate, bytes)| u64::from(order(immediate)).div_ceil(bytes.max(1)));
                parts.max().and_then(|parts| usize::try_from(parts).ok()).unwrap_or(0)
            };
            let parts = parts(|size| size).min(parts(u32::swap_bytes));
            if (1..=MOST_WAYS).contains(&parts) && ways.len().is_multiple_of(parts) {
                groups.extend(ways.chunks(parts).map(<[u32]>::to_vec));
            }
        }
        groups
    }

    fn messages(&self, at: u32) -> Vec<&Chunk> {
        let loose = self.ways.get(at as usize).map_or(&[][..], |way| &way.loose);
        loose.iter().filter_map(|&chunk| self.chunks.get(chunk as usize)).collect()
    }

    /// Bytes up to each message with immediate data.
    fn sizes(&self, at: u32) -> Vec<u64> {
        let (mut sizes, mut bytes) = (Vec::new(), 0);
        for chunk in self.messages(at) {
            bytes += u64::from(chunk.bytes);
            if chunk.is_ended {
                sizes.push(std::mem::take(&mut bytes));
            }
        }
        sizes
    }

    /// The messages of a way up to each with immediate data, as requests.
    fn parts_of(&self, way: u32) -> Vec<Request> {
        let mut requests: Vec<Request> = Vec::new();
        let mut is_ended = true;
        for &chunk in self.ways.get(way as usize).map_or(&[][..], |way| &way.loose) {
            if std::mem::replace(&mut is_ended, false) {
                requests.push(Request::default());
            }
            let (Some(request), Some(of)) = (requests.last_mut(), self.chunks.get(chunk as usize)) else {
                break;
            };
            request.chunks.push(chunk);
            request.immediate = of.immediate;
            request.closed += usize::from(of.is_ended);
            is_ended = of.is_ended;
        }
        requests
    }

    /// The requests of these queue pairs; none where the sizes do not fit.
    fn requests_of(&self, group: &Group, of: &mut Connection) -> Vec<Request> {
        let asked = group.elements.map(|at| self.messages(at)).unwrap_or_default();
        let parts: Vec<Vec<Request>> = group.ways.iter().map(|&way| self.parts_of(way)).collect();
        let ways = parts.len();
        let is_in_turn = ways > 1 && parts.iter().map(Vec::len).sum::<usize>() <= asked.len();
        let mut requests = if is_in_turn { self.in_turn(parts) } else { joined(parts) };
        for (index, request) in (1..).zip(&mut requests) {
            request.index = index;
        }
        let ways = if is_in_turn { 1 } else { ways };
        if ways > MOST_WAYS || group.elements.is_some() && !self.are_asked(&requests, &asked) {
            return Vec::new();
        }
        for request in &requests {
            let bytes: u64 = self.chunks_of(request).map(|chunk| u64::from(chunk.bytes)).sum();
            let is_whole = request.closed >= ways;
            if is_whole && ways > 1 && !self.is_split(request, bytes, ways as u64) {
                return Vec::new();
            }
            let Some(immediate) = request.immediate else { continue };
            let [big, little] = [immediate, immediate.swap_bytes()].map(|size| u64::from(size) == bytes);
            if is_whole && !big && !little {
                return Vec::new();
            }
            if big != little {
                (of.big, of.little) = (of.big + u64::from(big), of.little + u64::from(little));
            }
        }
        // Zero reads the same in any order, and anyone may send it.
        let by_size = of.big.max(of.little) >= ENOUGH as u64;
        of.slots = group.elements.map(|at| self.slots_of(at)).unwrap_or_default();
        let is_known = (by_size || !of.slots.is_empty()) && of.big.min(of.little) == 0;
        if is_known { requests } else { Vec::new() }
    }

    /// Requests that queue pairs carry in turn.
    fn in_turn(&self, parts: Vec<Vec<Request>>) -> Vec<Request> {
        let begins = |one: &Request| self.chunks_of(one).map(|chunk| chunk.first.1).min();
        let mut requests: Vec<Request> = parts.into_iter().flatten().collect();
        requests.sort_by_key(begins);
        requests
    }

    /// Whether each request was asked for before it began.
    fn are_asked(&self, requests: &[Request], asked: &[&Chunk]) -> bool {
        let begins = |one: &Request| self.chunks_of(one).map(|chunk| chunk.first.1).min();
        let is_before =
            |(one, cts): (&Request, &&Chunk)| begins(one).is_none_or(|begin| cts.first.1 <= begin);
        requests.len() <= asked.len() && requests.iter().zip(asked).all(is_before)
    }

    /// Whether the parts are as long as NCCL makes them.
    fn is_split(&self, request: &Request, bytes: u64, ways: u64) -> bool {
        let part = bytes.div_ceil(ways).div_ceil(ALIGNED) * ALIGNED;
        self.chunks_of(request).all(|chunk| u64::from(chunk.bytes) <= part)
    }

    /// Numbers of slots that elements can have that go to one after the other, and where these begin; none where they do not.
    fn slots_of(&self, at: u32) -> Vec<(u64, u64)> {
        let messages = self.messages(at);
        let bytes = messages.first().map_or(0, |chunk| u64::from(chunk.bytes));
        let Some(base) = messages.iter().map(|chunk| chunk.va).min().filter(|&base| base > 0) else {
            return Vec::new();
        };
        let steps = || messages.windows(2).map(|pair| pair[1].va.wrapping_sub(pair[0].va));
        let wraps = |slots: u64, stride: u64| stride.wrapping_mul(slots - 1).wrapping_neg();
        for stride in [bytes * OF_SLOT, bytes] {
            let onward = steps().filter(|&step| step == stride).count();
            let seen: Vec<u64> =
                SLOTS.into_iter().filter(|&slots| steps().any(|step| step == wraps(slots, stride))).collect();
            let back = steps().filter(|&step| seen.iter().any(|&slots| step == wraps(slots, stride))).count();
            // Messages behind each other are in any ring of buffers: those must begin anew.
            let is_so = onward + 1 >= ENOUGH
                && (onward + back) * 10 >= (messages.len() - 1) * 9
                && (stride > bytes || back > 0);
            if is_so {
                let slots = if seen.is_empty() { SLOTS.to_vec() } else { seen };
                return slots.into_iter().map(|slots| (slots, base)).collect();
            }
        }
        Vec::new()
    }

    /// Adds the elements of a connection, in their order: those of its requests, and of requests that had no data.
    fn add_elements(&self, of: &mut Connection, at: u32) {
        for (n, cts) in self.messages(at).into_iter().enumerate() {
            if n == of.requests.len() {
                of.requests.push(Request { index: n as u64 + 1, ..Request::default() });
            }
            let (frame, time) = cts.first;
            let (again, acknowledged) = (cts.again, cts.acknowledged);
            let elements = Vec::new();
            of.requests[n].cts = Some(Cts { frame, time, again, arrived: None, acknowledged, elements });
        }
        of.cts_ways.push(at);
    }

    /// The WRITEs the other way that can be the elements of these requests, by their number and their order.
    fn find_elements(&self, of: &mut Connection) {
        let Some(data) = of.data_ways.first().and_then(|&way| self.ways.get(way as usize)) else { return };
        let fits = |&at: &u32| {
            let is_back = |way: &Way| {
                way.key.src == data.key.dst && way.key.dst == data.key.src && way.role == Role::Unknown
            };
            self.ways.get(at as usize).is_some_and(is_back)
                && self.are_elements(at)
                && self.are_asked(&of.requests, &self.messages(at))
        };
        let found: Vec<u32> = (0..self.ways.len() as u32).filter(fits).collect();
        // It goes on one of the connection's queue pairs.
        let back = of.data_ways.iter().filter_map(|&way| self.ways.get(way as usize)?.peer);
        let own: Vec<u32> = back.filter(|back| found.contains(back)).collect();
        if let &[at] | &[at, ..] = if own.is_empty() && found.len() == 1 { &found[..] } else { &own[..] } {
            self.add_elements(of, at);
        }
    }
}

/// Requests whose parts go on several queue pairs: the nth of each.
fn joined(parts: Vec<Vec<Request>>) -> Vec<Request> {
    let mut requests: Vec<Request> = Vec::new();
    for of_way in parts {
        for (at, part) in of_way.into_iter().enumerate() {
            match requests.get_mut(at) {
                Some(request) => {
                    request.chunks.extend(part.chunks);
                    request.immediate = request.immediate.or(part.immediate);
                    request.closed += part.closed;
                }
                None => requests.push(part),
            }
        }
    }
    requests
}
