//! The table of all flows.

use std::hash::BuildHasher;

use hashbrown::HashTable;

pub(crate) mod budget;
mod cache;
pub(crate) mod connection;
mod fetch;
pub(crate) mod flow;
mod lids;
#[cfg(feature = "state")]
mod restore;
pub(crate) mod run;

use budget::Budget;
use cache::{FlowCache, GOLDEN};
use flow::Flow;
use run::{InOrderRun, RunSum};

use super::{
    model::FlowId,
    packet::{Facts, FastForm, key::Key},
    track::{config::TrackConfig, request::Waiting, ring::Room},
};
use crate::{dissect::Encapsulation, heap::Heap, opcode::Service};

/// All flows.
#[derive(crate::stored::Stored)]
pub(crate) struct Flows {
    /// It is made again when an analysis goes on.
    #[stored(skip)]
    table: HashTable<Entry>,
    recent: FlowCache,
    /// The runs of the first flows, by flow number.
    runs: Vec<InOrderRun>,
    /// Flows whose runs began since they were last [settled](Self::settle_begun).
    begun: Vec<u32>,
    /// The sums of runs that are over, until they are [taken](Self::take_sums).
    sums: Vec<RunSum>,
    #[stored(skip)]
    hasher: foldhash::fast::RandomState,
    pub(crate) flows: Vec<Flow>,
    /// Flows with a packet since the clock's hand last passed them.
    seen: Vec<bool>,
    max: usize,
    room: Room,
    budget: Budget,
    hand: usize,
    /// Flows up to here were prefetched: they are probably evicted next.
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
    pub(crate) p_key: u16,
}

/// The number of flows that are kept, if as many are wanted.
fn most_flows(wanted: usize, max_memory: usize) -> usize {
    wanted.min(budget::flows_that_fit(max_memory)).max(2)
}

/// The share of the memory that rings may take.
fn room(max_memory: usize) -> usize {
    max_memory / 8
}

/// Flows that the table has room for at the beginning.
const FIRST: usize = 256;

impl Flows {
    /// At most so many flows, in so many bytes.
    pub(crate) fn new(max: usize, max_memory: usize) -> Flows {
        let max = most_flows(max, max_memory);
        Flows {
            table: HashTable::new(),
            recent: FlowCache::default(),
            runs: Vec::new(),
            begun: Vec::new(),
            sums: Vec::new(),
            hasher: foldhash::fast::RandomState::default(),
            flows: Vec::with_capacity(FIRST.min(max)),
            seen: Vec::new(),
            max,
            room: Room::of(room(max_memory)),
            budget: Budget::of(max_memory),
            hand: 0,
            ahead: 0,
        }
    }

    #[inline]
    fn hash(&self, key: &Key) -> u32 {
        (self.hasher.hash_one(key) >> u32::BITS) as u32
    }

    /// The first entry with this hash for which `is_it` holds.
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

    /// The flows that packets probably belong to, by the hashes of their keys: all cache misses are waited for at once.
    #[inline]
    pub(crate) fn likely<const N: usize>(&self, keys: &[Option<Key>; N]) -> [Option<FlowId>; N] {
        let hashes = keys.each_ref().map(|key| key.as_ref().map_or(0, |key| self.hash(key)));
        hashes.map(|hash| self.entry(hash, |_| true).map(FlowId))
    }

    /// Puts those flows that were guessed right into the cache.
    #[inline]
    pub(crate) fn remember<const N: usize>(&mut self, keys: &[Option<Key>; N], likely: &[Option<FlowId>; N]) {
        for (key, id) in keys.iter().zip(likely) {
            if let (Some(key), Some(id)) = (key, id)
                && !self.recent.has(key, id.0)
                && self.unsettled(*id).key == *key
            {
                self.recent.put(key, id.0);
            }
        }
    }

    /// The flow of this key, if it is known. Notes that a packet of it came.
    #[inline(always)]
    pub(crate) fn touch(&mut self, key: &Key) -> Option<FlowId> {
        let at = match self.lately(key) {
            Some(at) => at,
            None => self.recall(key)?,
        };
        self.seen[at as usize] = true;
        Some(FlowId(at))
    }

    /// The flow of this key, if the cache has it.
    #[inline(always)]
    fn lately(&self, key: &Key) -> Option<u32> {
        self.recent.find(key.short()?, |at| self.is_of(at, key))
    }

    #[inline(always)]
    fn is_of(&self, at: u32, key: &Key) -> bool {
        self.flows.get(at as usize).is_some_and(|flow| flow.key == *key)
    }

    /// Looks up a flow that the cache does not have, and puts it there.
    #[inline(never)]
    fn recall(&mut self, key: &Key) -> Option<u32> {
        let at = self.look_up(key, self.hash(key))?;
        self.recent.put(key, at);
        Some(at)
    }

    /// Adds a flow; `None` if there is no room.
    pub(crate) fn add(&mut self, begin: &Begin) -> Option<FlowId> {
        if self.is_exhausted() {
            return None;
        }
        let flow = self.new_flow(begin);
        let id = match self.vacant() {
            Some(id) => {
                (self.flows[id.0 as usize], self.seen[id.0 as usize]) = (flow, true);
                id
            }
            None if self.flows.len() >= self.max => return None,
            None => {
                self.flows.push(flow);
                self.seen.push(true);
                self.budget.grow();
                FlowId(self.flows.len() as u32 - 1)
            }
        };
        self.enter(id);
        Some(id)
    }

    pub(crate) fn new_flow(&self, begin: &Begin) -> Flow {
        let mut flow = Flow::new(begin);
        flow.grow_within(&self.room);
        flow
    }

    /// Enters a flow into the hash table.
    pub(crate) fn enter(&mut self, id: FlowId) {
        let key = *self.key(id);
        let hash = self.hash(&key);
        self.table.insert_unique(spread(hash), Entry { hash, flow: id.0 }, |entry| spread(entry.hash));
        self.recent.put(&key, id.0);
    }

    /// Removes a flow from the hash table, and from its peer: it is about to be evicted.
    pub(crate) fn leave(&mut self, id: FlowId) {
        self.settle(id);
        let old = self.unsettled(id);
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

    /// The flow to evict, by the clock algorithm: the first one without a packet since the hand last passed it.
    pub(crate) fn oldest(&mut self) -> FlowId {
        loop {
            self.settle(FlowId(self.hand as u32));
            if !std::mem::take(&mut self.seen[self.hand]) && self.flows[self.hand].packets > 0 {
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

    /// Whether there are more flows than the processor's caches hold.
    #[inline(always)]
    pub(crate) fn are_many(&self) -> bool {
        self.flows.len() > 1024
    }

    /// A flow without the packets of its present run: for fields that runs do not change.
    #[inline(always)]
    pub(super) fn unsettled(&self, id: FlowId) -> &Flow {
        &self.flows[id.0 as usize]
    }

    /// The key of a flow.
    #[inline(always)]
    pub(crate) fn key(&self, id: FlowId) -> &Key {
        &self.unsettled(id).key
    }

    /// The flow in the opposite direction, if it is known.
    #[inline(always)]
    pub(crate) fn peer(&self, id: FlowId) -> Option<FlowId> {
        self.unsettled(id).peer
    }

    /// The flow of this key, if the cache has it. It is not noted that a packet came.
    #[inline(always)]
    pub(crate) fn found(&self, key: &Key) -> Option<FlowId> {
        self.lately(key).map(FlowId)
    }

    /// Whether a packet with the flow's addresses and queue pair is of the flow.
    #[inline(always)]
    fn has(&self, at: u32, packet: &impl FastForm) -> bool {
        packet.is_told_by_ends() || self.is_of(at, &packet.key())
    }

    /// Whether a packet is of the flow, and of its run.
    #[inline(always)]
    fn has_in_run(&self, at: u32, packet: &impl FastForm) -> bool {
        let run = self.runs.get(at as usize);
        run.is_some_and(|run| run.is_of(packet)) && self.has(at, packet)
    }

    /// The flow of a packet in a fast form, if the cache has it and the packet is of its run. The run key is compared instead of
    /// the flow's key.
    #[inline(always)]
    pub(crate) fn with_run_for(&self, packet: &impl FastForm) -> Option<FlowId> {
        self.recent.find(packet.ends(), |at| self.has_in_run(at, packet)).map(FlowId)
    }

    /// The run of a flow; `None` if it never had one.
    #[inline(always)]
    pub(crate) fn run(&mut self, FlowId(at): FlowId) -> Option<&mut InOrderRun> {
        self.runs.get_mut(at as usize)
    }

    /// A message of a flow's run is complete. Returns how many messages are.
    #[inline(always)]
    pub(crate) fn completed(&mut self, id: FlowId, bytes: u64, waiting: Waiting) -> u64 {
        let Some(flow) = self.flows.get_mut(id.0 as usize) else { return 0 };
        flow.requests.completed(bytes, waiting);
        let completed = flow.requests.messages_completed;
        if !self.are_many() {
            self.fetch_acknowledged(id);
        }
        completed
    }

    /// Begins a run of a flow behind this packet, if possible.
    pub(crate) fn begin_run(&mut self, FlowId(id): FlowId, packet: &Facts, config: &TrackConfig) {
        let at = id as usize;
        // The beginning and the end of a run cost as much as a few packets that are counted in the flow.
        if self.are_many() && (at >= MAX_RUNS || self.flows[at].packets < WORTH_IT) {
            return;
        }
        let Some(run_key) = packet.run_key() else { return };
        if self.runs.len() <= at {
            self.runs.resize_with(at + 1, InOrderRun::default);
        }
        let (flow, run) = (&mut self.flows[at], &mut self.runs[at]);
        flow.in_run = run.begin(flow, packet, run_key, config);
        if flow.in_run && !std::mem::replace(&mut flow.is_listed, true) {
            self.begun.push(id);
        }
    }

    /// Ends a flow's run.
    #[inline(never)]
    fn end_run(&mut self, at: usize) {
        if self.runs.get(at).is_some_and(InOrderRun::is_data)
            && let Some(FlowId(asking)) = self.flows[at].peer
            && self.flows[asking as usize].peer == Some(FlowId(at as u32))
        {
            self.learn(asking as usize);
        }
        let (Some(flow), Some(run)) = (self.flows.get_mut(at), self.runs.get_mut(at)) else {
            return;
        };
        flow.in_run = false;
        if let Some(sum) = run.end(FlowId(at as u32), flow) {
            self.sums.push(sum);
            self.seen[at] = true;
        }
    }

    /// For an acknowledgement: the flow that responds, and the opposite flow with the requests. No run ends. `None` if the opposite
    /// flow is not known.
    #[inline(always)]
    pub(crate) fn responder(&mut self, id: FlowId) -> Option<Responder<'_>> {
        let answering = id.0 as usize;
        let asking = self.flows.get(answering)?.peer?;
        let asked = asking.0 as usize;
        if self.flows.get(asked)?.is_behind {
            self.learn(asked);
        }
        let [flow, peer] = self.flows.get_disjoint_mut([answering, asked]).ok()?;
        let (own, asked) = match (flow.in_run, peer.in_run) {
            (false, false) => (None, None),
            (false, true) => (None, self.runs.get_mut(asked)),
            (true, false) => (self.runs.get_mut(answering), None),
            (true, true) => {
                let [own, asked] = self.runs.get_disjoint_mut([answering, asked]).ok()?;
                (Some(own), Some(asked))
            }
        };
        Some(Responder { flow, peer, asking, own, asked, seen: self.seen.get_mut(answering)? })
    }

    /// For the next READ response: the run of responses, and the flow with the requests, with its number.
    #[inline(always)]
    pub(crate) fn answering(&mut self, id: FlowId) -> Option<(&mut InOrderRun, FlowId, &mut Flow)> {
        let asker = self.flows.get(id.0 as usize)?.peer?;
        let asking = asker.0 as usize;
        let Flow { in_run, is_behind, .. } = *self.flows.get(asking)?;
        if in_run && self.runs.get(asking).is_some_and(|run| !run.is_data()) {
            self.end_run(asking);
        }
        if is_behind {
            self.learn(asking);
        }
        Some((self.runs.get_mut(id.0 as usize)?, asker, self.flows.get_mut(asking)?))
    }

    /// Ends a flow's run. Afterwards the flow knows of all its packets, and of all answers to them.
    #[inline(always)]
    pub(crate) fn settle(&mut self, id: FlowId) {
        let at = id.0 as usize;
        let Some(&Flow { in_run, is_behind, .. }) = self.flows.get(at) else { return };
        if in_run | is_behind {
            self.settle_now(at, in_run);
        }
    }

    #[inline(never)]
    fn settle_now(&mut self, at: usize, in_run: bool) {
        self.learn(at);
        if in_run {
            self.end_run(at);
        }
    }

    /// Brings a flow's requests up to date with all READ responses. The run of the opposite flow goes on.
    #[inline(never)]
    fn learn(&mut self, at: usize) {
        let Some(flow) = self.flows.get_mut(at).filter(|flow| flow.is_behind) else { return };
        flow.is_behind = false;
        if let Some(run) = flow.peer.and_then(|peer| self.runs.get_mut(peer.0 as usize)) {
            run.notify(flow);
        }
    }

    /// Brings a flow's requests up to date with all its packets, and all answers to them. Its run goes on.
    pub(crate) fn catch_up(&mut self, FlowId(at): FlowId) {
        self.learn(at as usize);
        let (flow, run) = (self.flows.get_mut(at as usize), self.runs.get_mut(at as usize));
        if let (Some(flow), Some(run)) = (flow.filter(|flow| flow.in_run), run) {
            run.catch_up(flow);
        }
    }

    /// Ends the run of the opposite flow.
    #[cold]
    pub(crate) fn settle_peer(&mut self, id: FlowId) {
        if let Some(peer) = self.unsettled(id).peer {
            self.settle(peer);
        }
    }

    /// Ends all runs that have begun since the last call, in the order of their packets.
    pub(crate) fn settle_begun(&mut self) {
        for at in std::mem::take(&mut self.begun) {
            self.flows[at as usize].is_listed = false;
            self.settle(FlowId(at));
        }
    }

    /// Ends all runs.
    pub(crate) fn settle_all(&mut self) {
        (0..self.runs.len() as u32).for_each(|at| self.settle(FlowId(at)));
    }

    /// Whether there are sums of runs that were not taken yet.
    #[inline(always)]
    pub(crate) fn has_sums(&self) -> bool {
        !self.sums.is_empty()
    }

    /// The sums of runs that are over.
    pub(crate) fn take_sums(&mut self) -> impl Iterator<Item = RunSum> + '_ {
        self.sums.drain(..)
    }

    /// Bytes of memory that the flows take.
    pub(crate) fn memory(&self) -> usize {
        self.flows.heap_bytes() + self.runs.heap_bytes()
    }

    /// Whether a packet probably continues this flow's run. Then it is of this flow.
    #[inline(always)]
    pub(crate) fn has_run_for(&self, FlowId(at): FlowId, packet: &impl FastForm) -> bool {
        packet.fast().opcode().shape().is_streamed && self.has_in_run(at, packet)
    }

    /// A flow. Its run ends first, so it knows of all its packets.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: FlowId) -> &mut Flow {
        self.settle(id);
        &mut self.flows[id.0 as usize]
    }

    /// Two flows at once, [settled](Self::settle). `None` for the second where it does not exist or is the first.
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

/// Flows that can have runs, where there are many flows: their runs take 8 MiB.
const MAX_RUNS: usize = 1 << 16;
/// Packets that such a flow must have had before.
const WORTH_IT: u64 = 16;

/// The state that an acknowledgement changes.
pub(crate) struct Responder<'a> {
    /// The flow of the acknowledgement.
    pub(crate) flow: &'a mut Flow,
    /// The flow whose requests it acknowledges, and its number.
    pub(crate) peer: &'a mut Flow,
    pub(crate) asking: FlowId,
    /// Their runs, if they have any.
    pub(crate) own: Option<&'a mut InOrderRun>,
    pub(crate) asked: Option<&'a mut InOrderRun>,
    /// Set when a packet of the flow comes.
    pub(crate) seen: &'a mut bool,
}

/// A flow's number and its key's hash. With the hash, the table can grow, and distinguish most flows, without reading them.
#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u32,
    flow: u32,
}

/// The 64-bit hash that the table asks for.
#[inline(always)]
fn spread(hash: u32) -> u64 {
    (hash as u64).wrapping_mul(GOLDEN)
}
