//! Plays a collective as discrete events: ranks, adapters, the switch.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, VecDeque},
};

use super::{
    super::{Error, rng::Rng},
    Collective, Fault, Order, Trouble,
    topology::{Edge, edges},
    truth::{TrueConnection, TrueOperation, TrueRequest, Truth, total, within},
};

mod queue_pair;
mod tell;

/// Bytes around the payload of a packet, with what its link needs.
const AROUND: u64 = 14 + 20 + 8 + 12 + 4 + 24;
/// From a NAK to the first packet that is sent again.
const REACTION_NS: u64 = 2_000;
/// A packet of a long message asks for an acknowledgement, each time after so many.
const ASKS_EVERY: u32 = 32;
/// Parts of a request on several queue pairs are multiples of so many bytes.
const ALIGNED: u32 = 128;
/// More events are an error.
const MOST_EVENTS: u64 = 100_000_000;
/// Messages of each decoy.
const DECOYS: u32 = 40;

/// A collective that was played.
#[derive(Clone, Debug)]
pub struct Played {
    pub(super) scenario: Collective,
    pub(super) ways: Vec<Way>,
    pub(super) messages: Vec<Message>,
    pub(super) adapters: usize,
    /// What each host's tap has seen, in the order of time.
    pub(super) seen: Vec<Vec<Seen>>,
    /// What is true of it.
    pub truth: Truth,
}

/// A packet at a host's tap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) time: u64,
    pub(super) packet: Packet,
    /// The host sends it.
    pub(super) is_sent: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Packet {
    /// A packet of a message of a way, counted from the way's first.
    Data { way: u32, at: u32 },
    /// An acknowledgement of all packets of another way up to this one, or a NAK that expects it.
    Answer { way: u32, at: u32, is_nak: bool },
    /// The switch stops an adapter, or lets it go on.
    Pause { adapter: u32, stops: bool },
}

/// One direction to one queue pair.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub(super) src: u32,
    pub(super) dst: u32,
    pub(super) queue_pair: u32,
    pub(super) back: u32,
    pub(super) messages: Vec<u32>,
    posted: u32,
    next: u32,
    acknowledged: u32,
    expected: u32,
    is_refused: bool,
    is_queued: bool,
    is_timed: bool,
    deadline: u64,
    /// When each packet was sent last, of those that are not acknowledged.
    sent: BTreeMap<u32, u64>,
    lost: Vec<u32>,
    recoveries: Vec<(u64, u64)>,
}

/// A message.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) first: u32,
    pub(super) packets: u32,
    pub(super) verb: Verb,
    pub(super) va: u64,
    pub(super) rkey: u32,
    pub(super) bytes: u32,
    pub(super) immediate: Option<u32>,
    pub(super) payload: Vec<u8>,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Write,
    Send,
    FetchAdd,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Element(u32, u32),
    Data(u32, u32),
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Begin { rank: u32, operation: u32 },
    Free { adapter: u32 },
    AtSwitch(Packet),
    AtPort(Packet),
    Arrive(Packet),
    Consumed { connection: u32, request: u32 },
    Again { way: u32, at: u32 },
    Timeout { way: u32 },
    Stop { adapter: u32, hold: u64 },
    Renew { adapter: u32 },
    Decoy { way: u32, n: u32 },
    Last,
}

#[derive(Clone, Debug, Default)]
struct Adapter {
    answers: VecDeque<Packet>,
    queue: VecDeque<u32>,
    is_busy: bool,
    stopped_until: u64,
    port_free: u64,
    pauses: Vec<(u64, u64)>,
}

#[derive(Clone, Debug, Default)]
struct Connection {
    edge: Edge,
    ways: Vec<u32>,
    requests: Vec<Request>,
    next_cts: usize,
    next_data: usize,
}

#[derive(Clone, Debug, Default)]
struct Request {
    bytes: u32,
    cts: Option<u64>,
    granted: Option<u64>,
    ready: Option<u64>,
    first: Option<u64>,
    last: Option<u64>,
    is_consumed: bool,
    acknowledged: Option<u64>,
    /// When its last acknowledgement left the receiver.
    answered_at: Option<u64>,
    parts: u32,
    arrived: u32,
    answered: u32,
}

/// Plays it. What each fault costs is known from playing it without that fault.
///
/// # Errors
/// It has more events than can be played.
pub fn play(scenario: &Collective) -> Result<Played, Error> {
    let mut played = Play::new(scenario).run()?;
    let mut without = Vec::new();
    for at in 0..scenario.fault.len() {
        let mut other = scenario.clone();
        other.fault.remove(at);
        without.push(Play::new(&other).run()?.truth.operations);
    }
    played.truth.blame(scenario, &without);
    Ok(played)
}

struct Play<'a> {
    of: &'a Collective,
    now: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    counted: u64,
    random: Rng,
    ways: Vec<Way>,
    messages: Vec<Message>,
    adapters: Vec<Adapter>,
    connections: Vec<Connection>,
    /// The operation that each rank has begun, if any.
    begun: Vec<Option<u32>>,
    is_between: Vec<bool>,
    path_free: BTreeMap<(u32, u32), u64>,
    seen: Vec<Vec<Seen>>,
}

impl<'a> Play<'a> {
    fn new(of: &'a Collective) -> Play<'a> {
        let ranks = of.ranks as usize;
        let mut play = Play {
            of,
            now: 0,
            events: BinaryHeap::new(),
            counted: 0,
            random: Rng::new(of.seed, 1),
            ways: Vec::new(),
            messages: Vec::new(),
            adapters: vec![Adapter::default(); ranks * of.rails as usize],
            connections: Vec::new(),
            begun: vec![None; ranks],
            is_between: vec![true; ranks],
            path_free: BTreeMap::new(),
            seen: vec![Vec::new(); ranks],
        };
        let mut next_qp = vec![0x100; play.adapters.len()];
        for edge in edges(of) {
            let rail = edge.channel % of.rails;
            let [src, dst] = [edge.from, edge.to].map(|rank| rank * of.rails + rail);
            let ways = (0..of.queue_pairs).map(|_| play.way(src, dst, &mut next_qp)).collect();
            play.connections.push(Connection { edge, ways, ..Connection::default() });
        }
        for &decoy in &of.decoys {
            let way = play.way(0, of.rails, &mut next_qp);
            let n = decoy as u32 * DECOYS;
            play.at(1_000, Event::Decoy { way, n });
        }
        play
    }

    /// Both directions of a queue pair; the one there.
    fn way(&mut self, src: u32, dst: u32, next_qp: &mut [u32]) -> u32 {
        let there = self.ways.len() as u32;
        for (src, dst, back) in [(src, dst, there + 1), (dst, src, there)] {
            let queue_pair = next_qp[dst as usize];
            next_qp[dst as usize] += 1;
            self.ways.push(Way {
                src,
                dst,
                queue_pair,
                back,
                messages: Vec::new(),
                posted: 0,
                next: 0,
                acknowledged: 0,
                expected: 0,
                is_refused: false,
                is_queued: false,
                is_timed: false,
                deadline: 0,
                sent: BTreeMap::new(),
                lost: Vec::new(),
                recoveries: Vec::new(),
            });
        }
        there
    }

    fn at(&mut self, time: u64, event: Event) {
        self.counted += 1;
        self.events.push(Reverse((time, self.counted, event)));
    }

    fn run(mut self) -> Result<Played, Error> {
        for rank in 0..self.of.ranks {
            self.begin_later(rank, 0);
        }
        while let Some(Reverse((time, _, event))) = self.events.pop() {
            self.now = time;
            if self.counted > MOST_EVENTS {
                return Err(Error::new("too many events"));
            }
            self.on(event);
            if self.events.is_empty() && self.of.tail.0 > 0 && !matches!(event, Event::Last) {
                self.at(self.now + self.of.tail.0, Event::Last);
            }
        }
        // A keepalive, so that the capture shows how long it was silent.
        if self.of.tail.0 > 0 {
            let packet = Packet::Answer { way: 0, at: 0, is_nak: false };
            self.see(packet, self.ways[0].dst, true);
        }
        let truth = self.truth();
        Ok(Played {
            scenario: self.of.clone(),
            ways: self.ways,
            messages: self.messages,
            adapters: self.adapters.len(),
            seen: self.seen,
            truth,
        })
    }

    fn on(&mut self, event: Event) {
        match event {
            Event::Begin { rank, operation } => self.begin(rank, operation),
            Event::Free { adapter } => {
                self.adapters[adapter as usize].is_busy = false;
                self.send_next(adapter);
            }
            Event::AtSwitch(packet) => self.at_switch(packet),
            Event::AtPort(packet) => self.at_port(packet),
            Event::Arrive(packet) => self.arrive(packet),
            Event::Consumed { connection, request } => self.consumed(connection, request),
            Event::Again { way, at } => self.go_back(way, at),
            Event::Timeout { way } => self.timeout(way),
            Event::Stop { adapter, hold } => self.stop(adapter, hold),
            Event::Renew { adapter } => self.see(Packet::Pause { adapter, stops: true }, adapter, false),
            Event::Decoy { way, n } => self.decoy(way, n),
            Event::Last => {}
        }
    }

    // Ranks.

    /// Faults of a kind that act in this operation.
    fn faults(&self, what: Trouble, operation: u32) -> impl Iterator<Item = &'a Fault> + use<'a> {
        let acts =
            move |fault: &&Fault| fault.what == what && fault.operation.is_none_or(|only| only == operation);
        self.of.fault.iter().filter(acts)
    }

    fn begin_later(&mut self, rank: u32, operation: u32) {
        if operation >= self.of.operations {
            return;
        }
        let late = self.faults(Trouble::LateRank, operation).filter(|fault| fault.rank == rank);
        let late: u64 = late.map(|fault| fault.by.0).sum();
        self.is_between[rank as usize] = true;
        self.at(self.now + self.of.compute.0 + late, Event::Begin { rank, operation });
    }

    fn begin(&mut self, rank: u32, operation: u32) {
        self.begun[rank as usize] = Some(operation);
        self.is_between[rank as usize] = false;
        let pauses: Vec<&Fault> = self.faults(Trouble::PausedLink, operation).collect();
        for fault in pauses.into_iter().filter(|fault| fault.rank == rank) {
            let adapter = rank * self.of.rails + fault.rail.unwrap_or(0);
            self.at(self.now + fault.at.0, Event::Stop { adapter, hold: fault.by.0 });
        }
        for at in 0..self.connections.len() {
            let edge = &self.connections[at].edge;
            if edge.from == rank || edge.to == rank {
                self.add_requests(at, operation);
                self.ask(at);
                self.post(at);
            }
        }
    }

    fn add_requests(&mut self, at: usize, operation: u32) {
        let connection = &mut self.connections[at];
        let each = connection.edge.requests.len();
        if connection.requests.len() < each * (operation as usize + 1) {
            let new = connection
                .edge
                .requests
                .iter()
                .map(|(bytes, _)| Request { bytes: *bytes, ..Request::default() });
            connection.requests.extend(new);
        }
    }

    /// The operation of a request.
    fn operation_of(&self, connection: usize, request: usize) -> u32 {
        (request / self.connections[connection].edge.requests.len().max(1)) as u32
    }

    fn has_begun(&self, rank: u32, operation: u32) -> bool {
        self.begun[rank as usize].is_some_and(|begun| begun >= operation)
    }

    /// The receiver of a connection asks for what it can take.
    fn ask(&mut self, at: usize) {
        loop {
            let connection = &self.connections[at];
            let request = connection.next_cts;
            let ahead = self.of.ahead as usize;
            let has_room = request < ahead
                || connection.requests.get(request - ahead).is_some_and(|one| one.is_consumed);
            if request >= connection.requests.len()
                || !has_room
                || !self.has_begun(connection.edge.to, self.operation_of(at, request))
            {
                return;
            }
            let cts_way = self.ways[connection.ways[0] as usize].back;
            let (slots, bytes) = self.of.version.fifo();
            let va =
                0x5600_0000_0000 + ((at as u64) << 24) + request as u64 % slots * self.of.version.stride();
            let payload = self.element(at, request);
            self.connections[at].next_cts += 1;
            let what = What::Element(at as u32, request as u32);
            self.message(cts_way, Verb::Write, (va, 0x99), bytes as u32, None, payload, what);
        }
    }

    /// The buffer that a receiver has for a request, and its key.
    fn buffer(&self, at: usize, request: usize) -> (u64, u32) {
        let address = 0x7f00_0000_0000
            + ((at as u64) << 34)
            + ((request % 8) as u64) * self.of.chunk.0.next_multiple_of(4096);
        (address, 0x5000 + self.ways[self.connections[at].ways[0] as usize].dst)
    }

    fn element(&self, at: usize, request: usize) -> Vec<u8> {
        use super::Version::*;
        let (address, rkey) = self.buffer(at, request);
        let (index, size, address) = (request as u64 + 1, self.of.chunk.0, address.to_le_bytes());
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let long = size.to_le_bytes().to_vec();
        let (size, number) = (size as u32, index.to_le_bytes().to_vec());
        let (middle, padding) = match self.of.version {
            V2_8 => (words(&[size, index as u32, rkey, 1, 0, 0]), 0),
            V2_12 => ([words(&[size, rkey, 1, 7]), number].concat(), 0),
            V2_20 => ([words(&[size, rkey, 0, 1, 7, 0]), number].concat(), 24),
            V2_30 => ([long, words(&[rkey, 0, 0, 0, 1, 7]), number].concat(), 0),
            _ => ([long, words(&[rkey, 0, 0, 0, 1, 7]), number].concat(), 16),
        };
        [&address[..], &middle, &vec![0; padding]].concat()
    }

    /// The sender of a connection sends what it has and was asked for.
    fn post(&mut self, at: usize) {
        loop {
            let connection = &self.connections[at];
            let request = connection.next_data;
            let Some(one) = connection.requests.get(request) else { return };
            let each = connection.edge.requests.len();
            let operation = self.operation_of(at, request);
            if !self.has_begun(connection.edge.from, operation) || self.hangs(at, request) {
                return;
            }
            let (_, after) = &connection.edge.requests[request % each];
            let is_got = |&(other, place): &(usize, usize)| {
                let other = &self.connections[other];
                let place = operation as usize * other.edge.requests.len() + place;
                other.requests.get(place).is_some_and(|one| one.is_consumed)
            };
            if !after.iter().all(is_got) {
                return;
            }
            let is_granted = one.granted.is_some();
            let now = self.now;
            self.connections[at].requests[request].ready.get_or_insert(now);
            if !is_granted {
                return;
            }
            self.connections[at].next_data += 1;
            self.post_data(at, request);
        }
    }

    fn hangs(&self, at: usize, request: usize) -> bool {
        let connection = &self.connections[at];
        let (operation, each) = (self.operation_of(at, request), connection.edge.requests.len());
        let hangs = |fault: &&Fault| {
            fault.what == Trouble::Hang
                && fault.rank == connection.edge.from
                && (fault.operation.unwrap_or(0), fault.request as usize) <= (operation, request % each)
        };
        self.of.fault.iter().any(|fault| hangs(&fault))
    }

    /// The queue pairs that a request uses.
    fn ways_of(&self, at: usize, request: usize) -> Vec<u32> {
        let all = &self.connections[at].ways;
        if self.of.split { all.clone() } else { vec![all[request % all.len()]] }
    }

    fn post_data(&mut self, at: usize, request: usize) {
        let bytes = self.connections[at].requests[request].bytes;
        let (address, rkey) = self.buffer(at, request);
        let ways = self.ways_of(at, request);
        let part = bytes.div_ceil(ways.len() as u32).div_ceil(ALIGNED) * ALIGNED;
        let immediate = if self.of.order() == Order::Big { bytes } else { bytes.swap_bytes() };
        self.connections[at].requests[request].parts = ways.len() as u32;
        let what = What::Data(at as u32, request as u32);
        for (way, n) in ways.into_iter().zip(0..) {
            let from = (n * part).min(bytes);
            let here = part.min(bytes - from);
            let memory = (address + u64::from(from), rkey);
            let last = (!self.of.closing).then_some(immediate);
            self.message(way, Verb::Write, memory, here, last, Vec::new(), what);
            if self.of.closing {
                self.message(way, Verb::Write, (0, 0), 0, Some(immediate), Vec::new(), what);
            }
        }
    }

    fn consumed(&mut self, connection: u32, request: u32) {
        let at = connection as usize;
        self.connections[at].requests[request as usize].is_consumed = true;
        self.ask(at);
        let to = self.connections[at].edge.to;
        self.wake(to);
        self.end_perhaps(to);
    }

    fn wake(&mut self, rank: u32) {
        for at in 0..self.connections.len() {
            if self.connections[at].edge.from == rank {
                self.post(at);
            }
        }
    }

    /// A rank that has sent and got all of an operation begins the next one.
    fn end_perhaps(&mut self, rank: u32) {
        let Some(operation) = self.begun[rank as usize].filter(|_| !self.is_between[rank as usize]) else {
            return;
        };
        let is_done = |connection: &Connection| {
            let until = (operation as usize + 1) * connection.edge.requests.len();
            let mut of_now = connection.requests.iter().take(until);
            connection.requests.len() >= until
                && (connection.edge.to != rank || of_now.clone().all(|one| one.is_consumed))
                && (connection.edge.from != rank || of_now.all(|one| one.acknowledged.is_some()))
        };
        if self.connections.iter().filter(|one| one.edge.from == rank || one.edge.to == rank).all(is_done) {
            self.begin_later(rank, operation + 1);
        }
    }
}
