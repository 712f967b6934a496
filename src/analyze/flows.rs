//! The table of all flows.

use std::{hash::BuildHasher, hint::black_box};

use hashbrown::HashTable;

use super::{
    FlowId,
    facts::Facts,
    flow::Flow,
    key::Key,
    plain::AnyPlain,
    stretch::{Stretch, Sum},
    track::{
        request::{Knobs, Waiting},
        ring::Room,
    },
};
use crate::{
    dissect::Encapsulation,
    fetch,
    opcode::{Direction, Service},
    wire::Psn,
};

/// All flows.
pub(crate) struct Flows {
    table: HashTable<Entry>,
    recent: Recent,
    /// For each of the first flows, its packets while they are a stretch; as far as there was one.
    stretches: Vec<Stretch>,
    /// What was counted in those that are over, until it is [taken](Self::take_sums).
    sums: Vec<Sum>,
    hasher: foldhash::fast::RandomState,
    pub(crate) flows: Vec<Flow>,
    /// Which were seen since the clock's hand last came by.
    seen: Vec<bool>,
    max: usize,
    room: Room,
    hand: usize,
    /// Which will make room next, as it looks; read into the cache.
    ahead: usize,
}

/// How a flow begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begin {
    pub(crate) key: Key,
    pub(crate) service: Service,
    pub(crate) encapsulation: Encapsulation,
    pub(crate) time: i64,
    pub(crate) psn: u32,
}

/// Flows that there is room for at once. That is more memory than the usual allocators copy where a table doubles.
const FIRST: usize = 256;

/// Flows for which memory is asked for at once, where there are as many.
const AT_ONCE: usize = 1024;

impl Flows {
    pub(crate) fn new(max: usize) -> Flows {
        Flows {
            table: HashTable::new(),
            recent: Recent::default(),
            stretches: Vec::new(),
            sums: Vec::new(),
            hasher: foldhash::fast::RandomState::default(),
            flows: Vec::with_capacity(FIRST.min(max)),
            seen: Vec::new(),
            max: max.max(2),
            room: Room::default(),
            hand: 0,
            ahead: 0,
        }
    }

    #[inline]
    fn hash(&self, key: &Key) -> u32 {
        (self.hasher.hash_one(key) >> u32::BITS) as u32
    }

    /// The first entry of this hash that is it.
    #[inline(always)]
    fn entry(&self, hash: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let found = self.table.find(spread(hash), |entry| entry.hash == hash && is_it(entry.flow));
        found.map(|entry| entry.flow)
    }

    /// The flow of this key, if it is known.
    #[cold]
    pub(crate) fn find(&self, key: &Key) -> Option<FlowId> {
        self.lately(key).or_else(|| self.look_up(key, self.hash(key))).map(FlowId)
    }

    #[inline(always)]
    fn look_up(&self, key: &Key, hash: u32) -> Option<u32> {
        self.entry(hash, |at| self.is_of(at, key))
    }

    /// Which flows many packets are likely of, by the hashes of their keys: memory is waited for but once.
    #[inline]
    pub(crate) fn likely<const N: usize>(&self, keys: &[Option<Key>; N]) -> [Option<FlowId>; N] {
        let hashes = keys.each_ref().map(|key| key.as_ref().map_or(0, |key| self.hash(key)));
        hashes.map(|hash| self.entry(hash, |_| true).map(FlowId))
    }

    /// They are found again soon, those that are what they were likely to be.
    #[inline]
    pub(crate) fn remember<const N: usize>(&mut self, keys: &[Option<Key>; N], likely: &[Option<FlowId>; N]) {
        for (key, id) in keys.iter().zip(likely) {
            if let (Some(key), Some(id)) = (key, id)
                && !self.recent.has(key, id.0)
                && self.get(*id).key == *key
            {
                self.recent.put(key, id.0);
            }
        }
    }

    /// The flow of this key, if it is known, of which a packet came.
    #[inline(always)]
    pub(crate) fn see(&mut self, key: &Key) -> Option<FlowId> {
        let at = match self.lately(key) {
            Some(at) => at,
            None => self.recall(key)?,
        };
        self.seen[at as usize] = true;
        Some(FlowId(at))
    }

    /// The flow of this key, if it was found lately.
    #[inline(always)]
    fn lately(&self, key: &Key) -> Option<u32> {
        self.recent.find(key.short()?, |at| self.is_of(at, key))
    }

    #[inline(always)]
    fn is_of(&self, at: u32, key: &Key) -> bool {
        self.flows.get(at as usize).is_some_and(|flow| flow.key == *key)
    }

    /// One that was not found lately.
    #[inline(never)]
    fn recall(&mut self, key: &Key) -> Option<u32> {
        let at = self.look_up(key, self.hash(key))?;
        self.recent.put(key, at);
        Some(at)
    }

    /// A new flow; `None` where there is no room.
    pub(crate) fn add(&mut self, begin: &Begin) -> Option<FlowId> {
        if self.flows.len() >= self.max {
            return None;
        }
        let len = self.flows.len();
        if len > 0 && len.is_multiple_of(AT_ONCE) {
            self.fetch_spare();
        }
        let id = FlowId(len as u32);
        let flow = self.new_flow(begin);
        self.flows.push(flow);
        self.seen.push(true);
        self.enter(id);
        Some(id)
    }

    /// Asks for memory for the next flows.
    #[cold]
    fn fetch_spare(&mut self) {
        self.flows.reserve(AT_ONCE);
        fetch::pages(&mut self.flows.spare_capacity_mut()[..AT_ONCE]);
    }

    pub(crate) fn new_flow(&self, begin: &Begin) -> Flow {
        let mut flow = Flow::new(begin);
        flow.grow_within(&self.room);
        flow
    }

    /// From now on a flow is found.
    pub(crate) fn enter(&mut self, id: FlowId) {
        let key = self.get(id).key;
        let hash = self.hash(&key);
        self.table.insert_unique(spread(hash), Entry { hash, flow: id.0 }, |entry| spread(entry.hash));
        self.recent.put(&key, id.0);
    }

    /// A flow is not found any more, and nobody's opposite: it is about to be put away.
    pub(crate) fn leave(&mut self, id: FlowId) {
        self.settle(id);
        let old = self.get(id);
        let (key, peer) = (old.key, old.peer);
        self.recent.forget(&key, id.0);
        if let Ok(entry) = self.table.find_entry(spread(self.hash(&key)), |entry| entry.flow == id.0) {
            entry.remove();
        }
        if let Some(peer) = peer
            && let Some(peer) = self.flows.get_mut(peer.0 as usize).filter(|peer| peer.peer == Some(id))
        {
            peer.peer = None;
        }
    }

    /// The clock goes round: what was not seen since it last came by makes room. What packets a stretch had is known when
    /// it ends.
    pub(crate) fn oldest(&mut self) -> FlowId {
        loop {
            self.settle(FlowId(self.hand as u32));
            if !std::mem::take(&mut self.seen[self.hand]) {
                break;
            }
            self.hand = (self.hand + 1) % self.flows.len();
        }
        let at = self.hand;
        if at >= self.ahead || at == 0 {
            self.fetch_ahead();
        }
        self.hand = (at + 1) % self.flows.len();
        self.seen[at] = true;
        FlowId(at as u32)
    }

    /// Fetches the flows that are put away next, and reads where they are found, all at once.
    fn fetch_ahead(&mut self) {
        const MANY: usize = 8;
        let next = || (self.hand..self.flows.len()).filter(|&at| !self.seen[at]).take(MANY);
        for at in next() {
            self.flows[at].fetch_all();
        }
        for at in next() {
            black_box(self.entry(self.hash(&self.flows[at].key), |_| true));
        }
        self.ahead = next().last().map_or(self.flows.len(), |last| last + 1);
    }

    /// More than the processor's caches hold.
    #[inline(always)]
    pub(crate) fn are_many(&self) -> bool {
        self.flows.len() > 1024
    }

    /// A flow as it was before its stretch, if it has one.
    #[inline(always)]
    pub(crate) fn get(&self, id: FlowId) -> &Flow {
        &self.flows[id.0 as usize]
    }

    /// The flow of a plain packet, if it was found lately.
    #[inline(always)]
    pub(super) fn found(&self, facts: &impl AnyPlain) -> Option<FlowId> {
        let key = facts.key()?;
        self.recent.find(facts.ends(), |at| self.is_of(at, &key)).map(FlowId)
    }

    /// Whether a packet is of the flow, where its ends are.
    #[inline(always)]
    fn has(&self, at: u32, packet: &impl AnyPlain) -> bool {
        packet.is_told_by_ends() || packet.key().is_some_and(|key| self.is_of(at, &key))
    }

    /// Whether a packet is of the flow, and of its stretch.
    #[inline(always)]
    fn has_in_stretch(&self, at: u32, packet: &impl AnyPlain) -> bool {
        let stretch = self.stretches.get(at as usize);
        stretch.is_some_and(|stretch| stretch.is_of(packet)) && self.has(at, packet)
    }

    /// The flow of a plain packet, if it was found lately and has a stretch that the packet is of. That tells the flow too:
    /// where it was found is not compared.
    #[inline(always)]
    pub(super) fn with_stretch_for(&self, packet: &impl AnyPlain) -> Option<FlowId> {
        self.recent.find(packet.ends(), |at| self.has_in_stretch(at, packet)).map(FlowId)
    }

    /// Where a flow's packets are counted while they are a stretch, if it ever had one.
    #[inline(always)]
    pub(crate) fn stretch(&mut self, FlowId(at): FlowId) -> Option<&mut Stretch> {
        self.stretches.get_mut(at as usize)
    }

    /// A message of a flow's stretch is complete.
    #[inline(always)]
    pub(crate) fn completed(&mut self, id: FlowId, bytes: u64, waiting: Waiting) {
        if let Some(flow) = self.flows.get_mut(id.0 as usize) {
            flow.requests.completed(bytes, waiting);
        }
        if !self.are_many() {
            self.fetch_acknowledged(id);
        }
    }

    /// Fetches what the acknowledgement will need that is due, as far as there is little to wait for to know where that is.
    #[inline(always)]
    fn fetch_acknowledged(&self, id: FlowId) {
        let Some(flow) = self.flows.get(id.0 as usize) else { return };
        flow.requests.fetch();
        flow.requests.fetch_more();
        if let Some(peer) = flow.peer.and_then(|peer| self.flows.get(peer.0 as usize)) {
            peer.fetch_answering();
            peer.responses.fetch();
        }
    }

    /// A stretch of a flow begins behind this packet, if it can.
    pub(crate) fn begin_stretch(&mut self, FlowId(id): FlowId, facts: &impl Facts, knobs: &Knobs) {
        let (at, Some(alike)) = (id as usize, facts.alike()) else { return };
        // To begin and to end one reads as much of a flow as some packets do that are counted there.
        if self.are_many() && (at >= MOST_STRETCHES || self.flows[at].packets < WORTH_IT) {
            return;
        }
        if self.stretches.len() <= at {
            self.stretches.resize_with(at + 1, Stretch::default);
        }
        let (flow, stretch) = (&mut self.flows[at], &mut self.stretches[at]);
        flow.in_stretch = stretch.begin(flow, facts, alike, knobs);
    }

    /// Ends a flow's stretch.
    #[inline(never)]
    fn end_stretch(&mut self, at: usize) {
        if self.stretches.get(at).is_some_and(Stretch::is_data)
            && let Some(FlowId(asking)) = self.flows[at].peer
            && self.flows[asking as usize].peer == Some(FlowId(at as u32))
        {
            self.learn(asking as usize);
        }
        let (Some(flow), Some(stretch)) = (self.flows.get_mut(at), self.stretches.get_mut(at)) else {
            return;
        };
        flow.in_stretch = false;
        if let Some(sum) = stretch.end(FlowId(at as u32), flow) {
            self.sums.push(sum);
            self.seen[at] = true;
        }
    }

    /// A flow that responds, and the opposite one whose requests it responds to, for an acknowledgement: neither's stretch
    /// ends. `None` where there is no other such.
    #[inline(always)]
    pub(crate) fn responder(&mut self, id: FlowId) -> Option<Responder<'_>> {
        let answering = id.0 as usize;
        let asked = self.flows.get(answering)?.peer?.0 as usize;
        if self.flows.get(asked)?.is_behind {
            self.learn(asked);
        }
        let [flow, peer] = self.flows.get_disjoint_mut([answering, asked]).ok()?;
        let (own, asked) = match (flow.in_stretch, peer.in_stretch) {
            (false, false) => (None, None),
            (false, true) => (None, self.stretches.get_mut(asked)),
            (true, false) => (self.stretches.get_mut(answering), None),
            (true, true) => {
                let [own, asked] = self.stretches.get_disjoint_mut([answering, asked]).ok()?;
                (Some(own), Some(asked))
            }
        };
        Some(Responder { flow, peer, own, asked, seen: self.seen.get_mut(answering)? })
    }

    /// A stretch of READ responses, and the flow whose requests they answer, for the next of them.
    #[inline(always)]
    pub(crate) fn answering(&mut self, id: FlowId) -> Option<(&mut Stretch, &mut Flow)> {
        let asking = self.flows.get(id.0 as usize)?.peer?.0 as usize;
        let Flow { in_stretch, is_behind, .. } = *self.flows.get(asking)?;
        if in_stretch && self.stretches.get(asking).is_some_and(|stretch| !stretch.is_data()) {
            self.end_stretch(asking);
        }
        if is_behind {
            self.learn(asking);
        }
        Some((self.stretches.get_mut(id.0 as usize)?, self.flows.get_mut(asking)?))
    }

    /// Ends a flow's stretch: it knows of all its packets then, and of all that answers them.
    #[inline(always)]
    pub(crate) fn settle(&mut self, id: FlowId) {
        let at = id.0 as usize;
        let Some(&Flow { in_stretch, is_behind, .. }) = self.flows.get(at) else { return };
        if in_stretch | is_behind {
            self.settle_now(at, in_stretch);
        }
    }

    #[inline(never)]
    fn settle_now(&mut self, at: usize, in_stretch: bool) {
        self.learn(at);
        if in_stretch {
            self.end_stretch(at);
        }
    }

    /// A flow's requests know of all READ responses then: its opposite one's stretch goes on.
    #[inline(never)]
    fn learn(&mut self, at: usize) {
        let Some(flow) = self.flows.get_mut(at).filter(|flow| flow.is_behind) else { return };
        flow.is_behind = false;
        if let Some(stretch) = flow.peer.and_then(|peer| self.stretches.get_mut(peer.0 as usize)) {
            stretch.tell(flow);
        }
    }

    /// A flow's requests know of all its packets then, and of all that answers them, and its stretch goes on.
    pub(crate) fn catch_up(&mut self, FlowId(at): FlowId) {
        self.learn(at as usize);
        let (flow, stretch) = (self.flows.get_mut(at as usize), self.stretches.get_mut(at as usize));
        if let (Some(flow), Some(stretch)) = (flow.filter(|flow| flow.in_stretch), stretch) {
            stretch.catch_up(flow);
        }
    }

    /// Ends the stretch of the opposite flow.
    #[cold]
    pub(crate) fn settle_peer(&mut self, id: FlowId) {
        if let Some(peer) = self.get(id).peer {
            self.settle(peer);
        }
    }

    /// Ends all stretches.
    pub(crate) fn settle_all(&mut self) {
        (0..self.stretches.len() as u32).for_each(|at| self.settle(FlowId(at)));
    }

    /// Whether stretches ended whose sums were not taken.
    #[inline(always)]
    pub(crate) fn has_sums(&self) -> bool {
        !self.sums.is_empty()
    }

    /// What was counted in stretches that are over.
    pub(crate) fn take_sums(&mut self) -> impl Iterator<Item = Sum> + '_ {
        self.sums.drain(..)
    }

    /// Bytes of memory that the flows take.
    pub(crate) fn memory(&self) -> usize {
        let own =
            self.flows.capacity() * size_of::<Flow>() + self.stretches.capacity() * size_of::<Stretch>();
        let heap: usize = self.flows.iter().map(Flow::heap).sum();
        own + heap + self.stretches.iter().map(Stretch::heap).sum::<usize>()
    }

    /// Fetches where a flow's packets are counted, if it ever had a stretch.
    #[inline(always)]
    pub(super) fn fetch_own(&self, id: FlowId, packet: &impl AnyPlain) {
        self.fetch_stretch(id);
        if !packet.is_told_by_ends() {
            fetch::line(&self.get(id).key);
        }
    }

    #[inline(always)]
    fn fetch_stretch(&self, FlowId(at): FlowId) {
        self.stretches.get(at as usize).into_iter().for_each(fetch::lines);
    }

    /// Whether a packet likely goes on with this flow's stretch: it is of the flow then.
    #[inline(always)]
    pub(super) fn has_stretch_for(&self, FlowId(at): FlowId, packet: &impl AnyPlain) -> bool {
        packet.opcode().shape().is_streamed && self.has_in_stretch(at, packet)
    }

    /// Fetches where it will go then.
    #[inline(always)]
    pub(crate) fn fetch_ring(&self, FlowId(at): FlowId, psn: Psn) {
        self.stretches.get(at as usize).into_iter().for_each(|stretch| stretch.fetch_ring(psn));
    }

    /// Fetches what a message adds to that it ends.
    #[inline(always)]
    pub(crate) fn fetch_completed(&self, id: FlowId, facts: &impl Facts) {
        if facts.opcode().shape().ends {
            self.get(id).requests.fetch_message();
        }
    }

    /// Fetches what a packet of a flow needs that is no stretch's next one.
    #[inline(always)]
    pub(crate) fn fetch(&self, id: FlowId, facts: &impl Facts) {
        self.seen.get(id.0 as usize).into_iter().for_each(fetch::line);
        let flow = self.get(id);
        if is_response(facts) { flow.fetch_answering() } else { flow.fetch() }
    }

    /// What it will need beyond the flow itself.
    #[inline(always)]
    pub(crate) fn fetch_beyond(&self, id: FlowId, facts: &impl Facts) {
        let flow = self.get(id);
        if !is_response(facts) {
            return flow.requests.seq.ring.fetch(facts.psn());
        }
        flow.responses.fetch();
        if let Some(peer) = flow.peer {
            self.get(peer).requests.fetch();
            self.fetch_stretch(peer);
        }
    }

    /// ... and beyond that: what a message that ends adds to, or its acknowledgement.
    #[inline(always)]
    pub(crate) fn fetch_farther(&self, id: FlowId, facts: &impl Facts) {
        let flow = self.get(id);
        if !is_response(facts) {
            return self.fetch_completed(id, facts);
        }
        flow.responses.fetch_last();
        if let Some(peer) = flow.peer {
            let requests = &self.get(peer).requests;
            requests.fetch_answered();
            requests.seq.ring.fetch(facts.psn());
            self.fetch_ring(peer, facts.psn());
        }
    }

    /// A flow that knows of all its packets.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: FlowId) -> &mut Flow {
        self.settle(id);
        &mut self.flows[id.0 as usize]
    }

    /// Two flows at once; `None` for the second where there is none, or where it is the first.
    #[inline]
    pub(crate) fn two(&mut self, a: FlowId, b: Option<FlowId>) -> (&mut Flow, Option<&mut Flow>) {
        self.settle(a);
        b.inspect(|&b| self.settle(b));
        let (a, b) = (a.0 as usize, b.map_or(usize::MAX, |b| b.0 as usize));
        if b == usize::MAX || a == b || b >= self.flows.len() {
            return (&mut self.flows[a], None);
        }
        let (low, high) = self.flows.split_at_mut(a.max(b));
        if a < b { (&mut low[a], Some(&mut high[0])) } else { (&mut high[0], Some(&mut low[b])) }
    }
}

#[inline(always)]
fn is_response(facts: &impl Facts) -> bool {
    facts.opcode().shape().direction == Direction::Response
}

/// Flows that can have stretches where there are many: of those, they take 8 MiB.
const MOST_STRETCHES: usize = 1 << 16;
/// Packets that such a flow has had before.
const WORTH_IT: u64 = 16;

/// What an acknowledgement changes.
pub(crate) struct Responder<'a> {
    /// Whose it is.
    pub(crate) flow: &'a mut Flow,
    /// Whose requests it acknowledges.
    pub(crate) peer: &'a mut Flow,
    /// Their stretches, where they have some.
    pub(crate) own: Option<&'a mut Stretch>,
    pub(crate) asked: Option<&'a mut Stretch>,
    /// That a packet of the flow came.
    pub(crate) seen: &'a mut bool,
}

/// Flows over IP that were found lately, each in one of the two places where it can be, by their keys' [short](Key::short)
/// form: what most look-ups come down to. The flows tell whether they are it, so that all that are seen at a time fit into
/// the fastest cache. A slot has the flow's number below and eight bits of the hash above it: of 256 others, one is asked.
#[derive(Debug)]
struct Recent {
    slots: Box<[u32; SLOTS]>,
}

/// 2^64 over the golden ratio: multiplied by it, numbers spread (Knuth, The Art of Computer Programming, 6.4).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// No flow has this slot.
const EMPTY: u32 = u32::MAX;
/// 16 KiB.
const SLOTS: usize = 1 << 12;
/// Bits of a flow's number; those with larger ones are not here.
const NUMBER: u32 = 24;

impl Default for Recent {
    fn default() -> Recent {
        Recent { slots: Box::new([EMPTY; SLOTS]) }
    }
}

impl Recent {
    /// Where a flow can be, and what is above its number then.
    #[inline(always)]
    fn place((addresses, qp): (u64, u32)) -> (usize, u32) {
        let product = (addresses ^ (qp as u64) << 20).wrapping_mul(GOLDEN);
        let place = product >> (u64::BITS - SLOTS.trailing_zeros());
        (place as usize, (product >> 8) as u32 & !0 << NUMBER)
    }

    #[inline(always)]
    fn find(&self, short: (u64, u32), is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let (place, above) = Recent::place(short);
        // Its neighbour is in the same cache line. What is another's becomes a number that no flow has.
        let [here, there] = [place, place ^ 1].map(|place| self.slots[place] ^ above);
        if is_it(here) { Some(here) } else { Some(there).filter(|&there| is_it(there)) }
    }

    /// Whether this flow is found.
    fn has(&self, key: &Key, at: u32) -> bool {
        key.short().is_some_and(|short| self.find(short, |found| found == at).is_some())
    }

    /// Whoever had the place before moves to the neighbour's.
    #[inline]
    fn put(&mut self, key: &Key, at: u32) {
        let Some((place, above)) = key.short().map(Recent::place) else { return };
        if at >> NUMBER == 0
            && let Ok([here, there]) = self.slots.get_disjoint_mut([place, place ^ 1])
        {
            let before = std::mem::replace(here, above | at);
            if before != EMPTY {
                *there = before;
            }
        }
    }

    /// Forgets a flow that is no more.
    fn forget(&mut self, key: &Key, at: u32) {
        let Some((place, above)) = key.short().map(Recent::place) else { return };
        for place in [place, place ^ 1] {
            if self.slots[place] == above | at {
                self.slots[place] = EMPTY;
            }
        }
    }
}

/// A flow's number, and its key's hash: the table grows, and tells nearly all other flows, without looking at any.
#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u32,
    flow: u32,
}

/// A hash of as many bits as the table asks for.
#[inline(always)]
fn spread(hash: u32) -> u64 {
    (hash as u64).wrapping_mul(GOLDEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_flows_that_share_places_are_both_found() {
        let key = |qp| Key::of_ipv4(0x0a00_0001, 0x0a00_0002, qp);
        let short = |qp| key(qp).short().expect("it is of IPv4");
        let place = |qp| Recent::place(short(qp)).0;
        let (mut same, mut neighbours) = (0, 0);
        let qps: Vec<u32> =
            (1..600u64).map(|n| (n.wrapping_mul(GOLDEN).rotate_left(17) & 0xff_ffff) as u32).collect();
        for (n, &a) in qps.iter().enumerate() {
            for &b in &qps[..n] {
                if place(a) ^ place(b) > 1 {
                    continue;
                }
                *(if place(a) == place(b) { &mut same } else { &mut neighbours }) += 1;
                let mut recent = Recent::default();
                // The second time they are there.
                for (qp, at) in [(a, 1), (b, 2), (a, 1), (b, 2)] {
                    if !recent.has(&key(qp), at) {
                        recent.put(&key(qp), at);
                    }
                }
                let found = [(a, 1), (b, 2)].map(|(qp, at)| recent.find(short(qp), |found| found == at));
                assert_eq!(found, [Some(1), Some(2)], "{a} {b}");
            }
        }
        assert!(same > 5 && neighbours > 5, "{same} {neighbours}");
    }

    #[test]
    fn few_strangers_are_asked() {
        // What hosts and queue pairs there are follows no rule.
        let key = |n: u32| {
            let mixed = (n as u64 + 1).wrapping_mul(GOLDEN) ^ (n as u64) << 40;
            let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            Key::of_ipv4(mixed as u32, (mixed >> 32) as u32, (mixed >> 20) as u32 & 0xff_ffff)
        };
        let short = |n| key(n).short().expect("it is of IPv4");
        let mut recent = Recent::default();
        (0..10_000).for_each(|n| recent.put(&key(n), n));
        assert!(recent.slots.iter().filter(|&&slot| slot != EMPTY).count() > SLOTS / 2);
        let asked = std::cell::Cell::new(0);
        for n in 10_000..60_000 {
            recent.find(short(n), |found| {
                asked.set(asked.get() + (found < 10_000) as u32);
                false
            });
        }
        // Of two slots for each, one of 256.
        assert!((100..800).contains(&asked.get()), "{}", asked.get());
        recent.put(&key(7), 1 << NUMBER);
        assert!(recent.find(short(7), |found| found >> NUMBER == 0).is_none_or(|found| found == 7));
    }
}
