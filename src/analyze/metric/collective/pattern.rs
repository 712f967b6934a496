//! Requests without the fields of their clear-to-send elements: where only the direction of the data was captured, or frames were cut. Then the
//! immediate data shows them, as it is the size of what they carry. Where that was cut too, the addresses that the elements go to do: they are
//! slots that follow each other.

use std::collections::BTreeMap;

use super::{
    Chunk, Collectives, Connection, Cts, Request, SLOTS,
    way::{Role, Way},
};
use crate::{analyze::packet::key::Wide, in_order::InOrder, report::CtsLayout};

/// So many requests of a queue pair must have the size as their immediate data, or so many elements go to slots that follow each other.
pub(super) const ENOUGH: usize = 4;
/// Chunks of a request on several queue pairs are multiples of so many bytes.
const ALIGNED: u64 = 128;
/// Queue pairs of a request, at most.
const MOST_WAYS: usize = 16;
/// Bytes of a clear-to-send element, in all versions.
const ELEMENTS: [u64; 3] = [64, 48, 32];
/// Requests of a queue pair that are compared before all are.
const FIRST_TURNS: usize = 256;
/// Elements of a slot, at most.
const OF_SLOT: u64 = 8;
/// Bytes that the sizes of received messages take, each, which end a request of several.
const OF_SIZE: u64 = 4;

/// Slots that elements go to, one after the other.
struct Slots {
    /// Numbers of slots that there can be, and where these begin.
    fit: Vec<(u64, u64)>,
    /// Bytes of an element.
    each: u64,
}

/// Queue pairs that may be of one connection.
#[derive(Default)]
struct Group {
    ways: Vec<u32>,
    /// The way of its elements.
    elements: Option<u32>,
    /// Each request is whole on one of them, the next one on the next.
    is_in_turn: bool,
}

/// A request that a queue pair carries whole.
#[derive(Clone, Copy)]
struct Turn {
    begin: i64,
    va: u64,
    bytes: u64,
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
            if of.cts_ways.is_empty() && self.asks_nothing(&of) {
                continue;
            }
            self.mark_sizes(&group, &of.requests);
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

    /// What ends requests of several messages has no data.
    fn mark_sizes(&mut self, group: &Group, requests: &[Request]) {
        let Some(elements) = group.elements else { return };
        let (slots, asked) = (self.slots_of(elements), self.messages(elements));
        let is_of_several = |at: &usize| self.of_several(slots.as_ref(), &asked, *at) > 1;
        let several: Vec<usize> = (0..requests.len()).filter(is_of_several).collect();
        for &chunk in several.into_iter().flat_map(|at| &requests[at].chunks) {
            if let Some(chunk) = self.chunks.get_mut(chunk as usize) {
                chunk.is_closing |= chunk.is_ended;
            }
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

    /// Whether the receiver's packets were captured, and none of them can be an element: then it asked for nothing, and its messages are of another
    /// program.
    fn asks_nothing(&self, of: &Connection) -> bool {
        let ways = || of.data_ways.iter().filter_map(|&way| self.ways.get(way as usize));
        let Some(data) = ways().next() else { return false };
        let may_ask = |(at, way): (u32, &Way)| {
            let is_back = way.key.src == data.key.dst && way.key.dst == data.key.src;
            is_back && self.are_elements(at)
        };
        ways().any(|way| way.peer.is_some()) && !(0..).zip(&self.ways).any(may_ask)
    }

    /// Whether all messages of a way are as long as elements, and none of them shows that it is something else.
    fn are_elements(&self, at: u32) -> bool {
        let has_others = self.ways.get(at as usize).is_some_and(|way| way.has_others);
        !has_others && are_elements(&self.messages(at))
    }

    /// The same, between two hosts. A connection's elements go on its first queue pair, and queue pairs are made in their order.
    fn groups_between(&self, ways: &[u32], elements: &[u32]) -> Vec<Group> {
        let back = |at: u32| self.ways.get(at as usize).and_then(|way| way.peer);
        let of_first = |at: u32| back(at).filter(|back| elements.contains(back));
        let mut groups: Vec<Group> = Vec::new();
        for &way in ways {
            match (of_first(way), groups.last_mut()) {
                (None, Some(group)) => group.ways.push(way),
                (elements, _) => groups.push(Group { ways: vec![way], elements, is_in_turn: false }),
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
        let in_turn = self.groups_in_turn(&mut rest);
        all.extend(in_turn.into_iter().map(|ways| Group { ways, is_in_turn: true, ..Group::default() }));
        all.extend(self.groups_by_size(&rest).into_iter().map(|ways| Group { ways, ..Group::default() }));
        all
    }

    /// Takes those out of queue pairs, which are in their order, that carry the requests of one connection in turn.
    fn groups_in_turn(&self, ways: &mut Vec<u32>) -> Vec<Vec<u32>> {
        let mut turns: Vec<Option<Vec<Turn>>> = ways.iter().map(|&way| self.turns_of(way)).collect();
        let (mut groups, mut at) = (Vec::new(), 0);
        while at + 1 < ways.len() {
            let most = (ways.len() - at).min(MOST_WAYS);
            match (2..=most).rev().find(|&count| are_in_turn(&turns[at..at + count])) {
                Some(count) => {
                    turns.drain(at..at + count);
                    groups.push(ways.drain(at..at + count).collect());
                }
                None => at += 1,
            }
        }
        groups
    }

    /// The requests of a queue pair, if each is whole; the last one may not be.
    fn turns_of(&self, way: u32) -> Option<Vec<Turn>> {
        let turn = |request: Request| {
            let bytes: u64 = self.chunks_of(&request).map(|chunk| u64::from(chunk.bytes)).sum();
            let is_size = |size: u32| u64::from(size) == bytes || u64::from(size.swap_bytes()) == bytes;
            let is_whole = request.closed == 0 || request.immediate.is_some_and(is_size);
            let first = self.chunks_of(&request).next().filter(|first| is_whole && first.va > 0)?;
            Some(Turn { begin: first.first.1, va: first.va, bytes })
        };
        self.parts_of(way).into_iter().map(turn).collect()
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
            let fits = |&parts: &usize| {
                let is_so = (1..=MOST_WAYS).contains(&parts) && ways.len().is_multiple_of(parts);
                let first = || Group { ways: ways[..parts].to_vec(), ..Group::default() };
                is_so && !self.requests_of(&first(), &mut Connection::new(CtsLayout::Unknown)).is_empty()
            };
            // What the immediate data is in the other order may be less than each of them carries.
            let found = [parts(|size| size), parts(u32::swap_bytes)].into_iter().find(fits);
            groups.extend(found.into_iter().flat_map(|parts| ways.chunks(parts)).map(<[u32]>::to_vec));
        }
        groups
    }

    /// The messages of a way that are of no request.
    pub(super) fn messages(&self, at: u32) -> Vec<&Chunk> {
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
        let slots = group.elements.and_then(|at| self.slots_of(at));
        let asked = group.elements.map(|at| self.messages(at)).unwrap_or_default();
        let parts: Vec<Vec<Request>> = group.ways.iter().map(|&way| self.parts_of(way)).collect();
        let ways = parts.len();
        let is_in_turn =
            group.is_in_turn || ways > 1 && parts.iter().map(Vec::len).sum::<usize>() <= asked.len();
        let mut requests = if is_in_turn { self.in_turn(parts) } else { joined(parts) };
        for (index, request) in (1..).zip(&mut requests) {
            request.index = index;
        }
        let ways = if is_in_turn { 1 } else { ways };
        if ways > MOST_WAYS || group.elements.is_some() && !self.are_asked(&requests, &asked) {
            return Vec::new();
        }
        for (at, request) in requests.iter().enumerate() {
            let is_whole = request.closed >= ways;
            if self.of_several(slots.as_ref(), &asked, at) > 1 {
                let sizes = OF_SIZE * self.of_several(slots.as_ref(), &asked, at);
                let mut ended = self.chunks_of(request).filter(|chunk| chunk.is_ended);
                if !ended.all(|chunk| [0, sizes].contains(&chunk.bytes.into())) {
                    return Vec::new();
                }
                continue;
            }
            let bytes: u64 = self.chunks_of(request).map(|chunk| u64::from(chunk.bytes)).sum();
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
        let is_known = (by_size || slots.is_some()) && of.big.min(of.little) == 0;
        of.slots = slots.map(|slots| slots.fit).unwrap_or_default();
        if is_known { requests } else { Vec::new() }
    }

    /// How many messages a request is for: that many elements ask for it.
    fn of_several(&self, slots: Option<&Slots>, asked: &[&Chunk], at: usize) -> u64 {
        slots.zip(asked.get(at)).map_or(1, |(slots, cts)| u64::from(cts.bytes) / slots.each.max(1))
    }

    /// Requests that queue pairs carry in turn.
    fn in_turn(&self, parts: Vec<Vec<Request>>) -> Vec<Request> {
        let begins = |one: &Request| self.chunks_of(one).map(|chunk| chunk.first.1).min();
        let mut requests: Vec<Request> = parts.into_iter().flatten().collect();
        requests.order_by_key(begins);
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

    /// The slots of elements that go to one after the other; `None` where they do not.
    fn slots_of(&self, at: u32) -> Option<Slots> {
        let messages = self.messages(at);
        let base = messages.iter().map(|chunk| chunk.va).min().filter(|&base| base > 0)?;
        let steps = || messages.windows(2).map(|pair| pair[1].va.wrapping_sub(pair[0].va));
        let wraps = |slots: u64, stride: u64| stride.wrapping_mul(slots - 1).wrapping_neg();
        let sizes = ELEMENTS.into_iter().filter(|&each| are_of(&messages, each));
        let is_one = |each: u64| messages.iter().all(|chunk| u64::from(chunk.bytes) == each);
        // The oldest have one element to a slot.
        let strides = sizes.flat_map(|each| [(each, each * OF_SLOT), (each, each)]);
        for (each, stride) in strides.filter(|&(each, stride)| stride > each || is_one(each)) {
            let onward = steps().filter(|&step| step == stride).count();
            let seen: Vec<u64> =
                SLOTS.into_iter().filter(|&slots| steps().any(|step| step == wraps(slots, stride))).collect();
            let back = steps().filter(|&step| seen.iter().any(|&slots| step == wraps(slots, stride))).count();
            // Messages behind each other are in any ring of buffers: those must begin anew.
            let is_so = onward + 1 >= ENOUGH
                && (onward + back) * 10 >= (messages.len() - 1) * 9
                && (stride > each || back > 0);
            if is_so {
                let slots = if seen.is_empty() { SLOTS.to_vec() } else { seen };
                return Some(Slots { fit: slots.into_iter().map(|slots| (slots, base)).collect(), each });
            }
        }
        None
    }

    /// Adds the elements of a connection, in their order: those of its requests, and of requests that had no data.
    fn add_elements(&self, of: &mut Connection, at: u32) {
        let (slots, asked) = (self.slots_of(at), self.messages(at));
        for (n, cts) in asked.iter().enumerate() {
            if n == of.requests.len() {
                of.requests.push(Request { index: n as u64 + 1, ..Request::default() });
            }
            let (frame, time) = cts.first;
            let (again, acknowledged) = (cts.again, cts.acknowledged);
            let receives = self.of_several(slots.as_ref(), &asked, n);
            let (arrived, elements) = (None, Vec::new());
            of.requests[n].cts = Some(Cts { frame, time, again, arrived, acknowledged, receives, elements });
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

/// Whether queue pairs carry whole requests in turn: as many each, or one less.
fn are_in_turn(ways: &[Option<Vec<Turn>>]) -> bool {
    let Some(ways) = ways.iter().map(Option::as_deref).collect::<Option<Vec<&[Turn]>>>() else {
        return false;
    };
    let least = ways.iter().map(|of| of.len()).min().unwrap_or(0);
    let is_even = least >= 2 && ways.iter().all(|of| of.len() - least <= 1);
    // The first ones mostly tell that they do not.
    let first: Vec<&[Turn]> = ways.iter().map(|of| &of[..of.len().min(FIRST_TURNS)]).collect();
    is_even && follow_in_turn(&first) && follow_in_turn(&ways)
}

/// Whether requests begin one after the other on these queue pairs, and go to one place after the other of one ring of buffers.
fn follow_in_turn(ways: &[&[Turn]]) -> bool {
    let mut places: Vec<(i64, usize, u64, u64)> = Vec::new();
    for (way, of) in ways.iter().enumerate() {
        places.extend(of.iter().map(|turn| (turn.begin, way, turn.va, turn.bytes)));
    }
    places.sort_unstable();
    let steps = || places.windows(2).map(|pair| (pair[0], pair[1]));
    let count = places.len().saturating_sub(1);
    let is_most = |times: usize| times * 10 >= count * 9;
    let order: Vec<usize> = places.iter().take(ways.len()).map(|&(_, way, ..)| way).collect();
    let is_turn = |(at, &(_, way, ..)): (usize, &(i64, usize, u64, u64))| order[at % order.len()] == way;
    if count + 1 < ENOUGH || !is_most(places.iter().enumerate().filter(|&place| is_turn(place)).count()) {
        return false;
    }
    let mut often: BTreeMap<u64, usize> = BTreeMap::new();
    for (one, next) in steps().filter(|(one, next)| next.2 > one.2) {
        *often.entry(next.2 - one.2).or_insert(0) += 1;
    }
    let stride = often.into_iter().max_by_key(|&(_, times)| times).map_or(0, |(stride, _)| stride);
    let base = places.iter().map(|&(_, _, va, _)| va).min().unwrap_or(0);
    let onward = steps().filter(|(one, next)| {
        let step = next.2.wrapping_sub(one.2);
        step == stride || step == one.3 || next.2 == base
    });
    stride > 0 && is_most(onward.count())
}

/// Whether all messages are as long as elements.
pub(super) fn are_elements(messages: &[&Chunk]) -> bool {
    !messages.is_empty() && ELEMENTS.iter().any(|&each| are_of(messages, each))
}

/// Whether messages are one to eight elements of so many bytes each.
fn are_of(messages: &[&Chunk], each: u64) -> bool {
    let is_so = |chunk: &&Chunk| {
        let bytes = u64::from(chunk.bytes);
        !chunk.is_ended && bytes > 0 && bytes.is_multiple_of(each) && bytes / each <= OF_SLOT
    };
    messages.iter().all(is_so)
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
