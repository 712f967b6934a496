//! The collective's view: the requests of NCCL's transport (RCCL's and others that inherit it), one by one, from packets.
//!
//! A receiver WRITEs clear-to-send elements (CTS) into its sender's FIFO; the sender WRITEs the data to the address and with the key that
//! the element has, and a WRITE with immediate data ends it on each queue pair. That the data's RETH is the element's proves it: other
//! programs that use WRITE with immediate data (perftest, UCX, MPI, storage) have no such elements.
//!
//! The view begins with the first packet that may be of a collective: before, it costs nothing. It follows the PSNs of these queue pairs by
//! itself, as it needs addresses, keys, immediate data and elements, which [`Facts`] do not have.

mod ahead;
mod cut;
mod dismissed;
mod ends;
mod hang;
mod jobs;
mod operations;
mod pace;
mod pairing;
mod path;
mod pattern;
mod queue;
mod recent;
mod rows;
mod spans;
mod topology;
mod turns;
mod waits;
mod way;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::Metric;
use crate::{
    analyze::{
        network::Paused,
        packet::{
            Facts, FastForm, Glimpse,
            element::{Element, Slot},
            glimpse::has_immediate,
            key::{Key, Pair},
        },
    },
    opcode::{Opcode, Operation},
    report::CtsLayout,
};
use queue::Queues;
use recent::{Recent, short};
use way::{Role, Step, Way, psn_after, psn_distance};

/// Ways that are followed.
const MAX_WAYS: usize = 1 << 16;
/// Messages that are kept.
const MAX_CHUNKS: usize = 1 << 18;
/// Requests that are kept, of all connections.
const MAX_REQUESTS: usize = 1 << 16;
/// Pauses that are kept.
const MAX_PAUSES: usize = 1 << 14;
/// A request may be so many places before the last one that is complete, and still get an empty message.
const LOOK_BACK: usize = 16;
/// When so many acknowledgements wait, their times say what they acknowledge.
const MANY_WAITING: usize = 64;
/// Numbers of slots that FIFOs of versions have.
const SLOTS: [u64; 3] = [8, 64, MOST_SLOTS as u64];
const MOST_SLOTS: usize = 256;

/// The metric.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct Collectives {
    is_active: bool,
    ways: Vec<Way>,
    places: HashMap<Key, u32, RandomState>,
    #[stored(skip)]
    recent: Recent,
    connections: Vec<Connection>,
    /// Connections between two addresses, and those whose elements have a key.
    between: HashMap<Pair, Vec<u32>, RandomState>,
    by_rkey: HashMap<u32, Vec<u32>, RandomState>,
    /// Ways between two addresses that have messages of no request.
    loose: HashMap<Pair, Vec<u32>, RandomState>,
    chunks: Vec<Chunk>,
    requests: usize,
    /// Requests and messages that were not kept.
    not_kept: u64,
    /// There is no room for more messages.
    is_full: bool,
    /// Ways that can be of no collective, and do not begin the view.
    dismissed: HashMap<Key, (), RandomState>,
    pauses: Vec<Paused>,
    queues: Queues,
    last_ns: i64,
}

/// One direction of one channel between two ranks.
#[derive(Clone, Debug, crate::stored::Stored)]
struct Connection {
    /// Ways of clear-to-send WRITEs: one for each device. None where the elements were not captured.
    cts_ways: Vec<u32>,
    data_ways: Vec<u32>,
    layout: CtsLayout,
    requests: Vec<Request>,
    /// The first request that is not complete.
    open: usize,
    /// Numbers of slots that fit, and where the FIFO begins with them.
    slots: Vec<(u64, u64)>,
    /// Immediate data that was the size of its request as it is on the wire (big-endian), and with the bytes swapped.
    big: u64,
    little: u64,
    /// Queue pairs of the requests that are complete, at most.
    ways_per_request: usize,
    is_proved: bool,
}

/// A request: what a receiver asked for, and what it got.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
struct Request {
    index: u64,
    cts: Option<Cts>,
    chunks: Vec<u32>,
    immediate: Option<u32>,
    /// Messages with immediate data.
    closed: usize,
}

#[derive(Clone, Debug, crate::stored::Stored)]
struct Cts {
    frame: u64,
    time: i64,
    /// When it was sent again for the last time.
    again: Option<i64>,
    /// When it was seen at a second place, on its way to the sender of the data.
    arrived: Option<i64>,
    acknowledged: Option<i64>,
    /// Messages that it asks for.
    receives: u64,
    /// One for each; none where they were cut.
    elements: Vec<Element>,
}

/// A message of a request.
#[derive(Clone, Debug, crate::stored::Stored)]
struct Chunk {
    way: u32,
    va: u64,
    rkey: u32,
    bytes: u32,
    psn: u32,
    last_psn: u32,
    first: (u64, i64),
    last: (u64, i64),
    /// Since when its first packet may have waited for packets of other queue pairs.
    queued: i64,
    /// When one of its packets was sent again for the last time.
    again: Option<i64>,
    acknowledged: Option<i64>,
    immediate: Option<u32>,
    /// A WRITE with immediate data ended it, whether that was captured or cut.
    is_ended: bool,
    /// Its length was cut, and it goes on: with so many bytes a packet.
    goes_on: Option<u32>,
    /// It has no data of the request: a WRITE that ends it.
    is_closing: bool,
    resent: u32,
}

impl Chunk {
    /// Whether a packet from the middle of a message is of this one. Of one whose length was cut, it must be the next one, and makes it longer.
    fn goes_on_with(&mut self, psn: u32, payload: u32) -> bool {
        let ahead = psn_distance(psn, self.psn);
        let Some(each) = self.goes_on else {
            return ahead >= 0 && psn_distance(psn, self.last_psn) <= 0;
        };
        let is_next = ahead > 0 && psn_distance(psn, self.last_psn) == 1;
        if is_next {
            self.last_psn = psn;
            self.bytes = ahead.unsigned_abs().saturating_mul(each).saturating_add(payload);
        }
        is_next
    }

    /// Bytes of those of its packets that were sent, the first so many.
    fn bytes_of(&self, sent: u32) -> u32 {
        /// No path MTU is smaller.
        const LEAST_MTU: u32 = 256;
        let packets = psn_distance(self.last_psn, self.psn).unsigned_abs() + 1;
        if sent >= packets {
            return self.bytes;
        }
        let mut mtu = LEAST_MTU;
        while self.bytes.div_ceil(mtu) > packets {
            mtu = mtu.saturating_mul(2);
        }
        sent.saturating_mul(mtu).min(self.bytes)
    }
}

impl Connection {
    fn new(layout: CtsLayout) -> Connection {
        Connection {
            cts_ways: Vec::new(),
            data_ways: Vec::new(),
            layout,
            requests: Vec::new(),
            open: 0,
            slots: Vec::new(),
            big: 0,
            little: 0,
            ways_per_request: 0,
            is_proved: false,
        }
    }
}

impl Collectives {
    /// Whether packets are to be shown to it.
    #[inline(always)]
    pub(crate) fn is_active(&self) -> bool {
        self.is_active
    }

    /// Whether it needs a packet: one that may begin the view, or any behind that.
    #[inline(always)]
    pub(crate) fn needs(&self, key: impl FnOnce() -> Option<Key>, glimpse: Option<&Glimpse>) -> bool {
        self.is_active || glimpse.is_some_and(|glimpse| key().is_some_and(|key| self.begins(&key, glimpse)))
    }

    /// A packet of the InfiniBand transport, in the order of the capture, which it [needs](Self::needs).
    pub(crate) fn see(&mut self, packet: &Facts, frame: u64, glimpse: Option<&Glimpse>) {
        self.is_active = true;
        let Some(&key) = packet.key() else { return };
        self.last_ns = self.last_ns.max(packet.time());
        match packet.opcode().operation() {
            Some(Operation::Write) => self.on_write(key, packet, frame, glimpse),
            Some(Operation::Acknowledge) => self.on_acknowledge(key, packet),
            Some(Operation::Cnp) => {
                if let Some(at) = self.place(&key)
                    && let Some(way) = self.ways.get_mut(at as usize)
                {
                    way.cnp(packet.time());
                }
            }
            _ => {}
        }
    }

    /// Takes a packet that needs no more than to be noted: the next one in the middle of a message, as most are, or such a packet where it arrives.
    /// Returns whether it was one.
    #[inline(always)]
    pub(crate) fn passes(&mut self, packet: &impl FastForm, frame: u64) -> bool {
        let fast = packet.fast();
        if fast.opcode() != Opcode::RC_WRITE_MIDDLE {
            return false;
        }
        let ends = packet.ends();
        let is_it = |at: &u32| self.ways.get(*at as usize).is_some_and(|way| way.is_between(ends));
        let recent = self.recent.get(ends).filter(|at| packet.is_told_by_ends() && is_it(at));
        let Some(at) = recent.or_else(|| self.place(&packet.key())) else { return false };
        let (psn, time) = (fast.psn().0, fast.time());
        let Some(way) = self.ways.get_mut(at as usize) else { return false };
        self.last_ns = self.last_ns.max(time);
        if way.vantage != fast.vantage() {
            way.see_again(psn);
            return true;
        }
        if !way.is_next(psn) || !way.is_within(psn) && !self.lengthens(at, psn, fast.payload()) {
            return false;
        }
        let Some(way) = self.ways.get_mut(at as usize) else { return false };
        way.pass(psn, (frame, time));
        self.queues.note((way.key.src, &mut way.adapter), (at, time), fast.payload());
        true
    }

    /// Whether the next packet is within the newest message, whose length was cut: it makes that longer.
    #[inline(never)]
    fn lengthens(&mut self, at: u32, psn: u32, payload: u32) -> bool {
        let newest = self.ways.get(at as usize).and_then(|way| way.chunks.back());
        let chunk = newest.and_then(|&chunk| self.chunks.get_mut(chunk as usize));
        chunk.is_some_and(|chunk| chunk.goes_on_with(psn, payload))
    }

    /// The newest message of a way learns of its last packet.
    fn catch_up(&mut self, at: u32) {
        let passed = self.ways.get_mut(at as usize).and_then(Way::take_passed);
        if let Some((chunk, last)) = passed
            && let Some(chunk) = self.chunks.get_mut(chunk as usize)
        {
            chunk.last = chunk.last.max(last);
        }
    }

    /// The place of a way.
    #[inline(always)]
    fn place(&mut self, key: &Key) -> Option<u32> {
        let is_it = |at: &u32| self.ways.get(*at as usize).is_some_and(|way| way.key == *key);
        if let Some(at) = self.recent.get(short(key)).filter(is_it) {
            return Some(at);
        }
        let at = *self.places.get(key)?;
        self.recent.set(short(key), at);
        Some(at)
    }

    /// The way of a packet, if this is where it was seen first.
    fn way(&mut self, key: Key, packet: &Facts, may_begin: impl FnOnce(&Self) -> bool) -> Option<u32> {
        if let Some(at) = self.place(&key) {
            let way = self.ways.get(at as usize)?;
            return (way.vantage == packet.vantage() && !way.is_dismissed).then_some(at);
        }
        if self.ways.len() >= MAX_WAYS || !may_begin(self) || self.dismissed.contains_key(&key) {
            return None;
        }
        let at = self.ways.len() as u32;
        self.ways.push(Way::new(key, packet.vantage(), packet.path_tag()));
        self.places.insert(key, at);
        Some(at)
    }

    /// A packet that was recorded at another place before: an element that arrives.
    fn see_again(&mut self, key: &Key, packet: &Facts) {
        let known = self.place(key).and_then(|at| self.ways.get_mut(at as usize));
        let Some(way) = known.filter(|way| way.vantage != packet.vantage()) else { return };
        way.see_again(packet.psn().0);
        let Some((connection, request)) = way.element(packet.psn().0) else { return };
        let of = self.connections.get_mut(connection as usize);
        if let Some(cts) = of.and_then(|of| of.requests.get_mut(request as usize)?.cts.as_mut()) {
            cts.arrived.get_or_insert(packet.time());
        }
    }

    fn on_write(&mut self, key: Key, packet: &Facts, frame: u64, glimpse: Option<&Glimpse>) {
        let shape = packet.opcode().shape();
        self.see_again(&key, packet);
        let Some(at) = self.way(key, packet, |_| glimpse.is_some()) else { return };
        self.catch_up(at);
        let (psn, time) = (packet.psn().0, packet.time());
        let Some(way) = self.ways.get_mut(at as usize) else { return };
        let step = way.step(psn, time, shape.begins);
        let queued =
            self.queues.pass((way.key.src, &mut way.adapter), (at, time), (packet.payload(), !shape.ends));
        let is_again = step != Step::New;
        if shape.begins && !(is_again && self.chunk_of(at, psn).is_some()) {
            let Some(glimpse) = glimpse else { return };
            if let Some(slot) = glimpse.slot.as_deref().and_then(|slot| Slot::read(slot, packet.payload()))
                && !matches!(self.ways.get(at as usize).map(|way| way.role), Some(Role::Data(_)))
            {
                return self.on_slot(at, slot, glimpse, (frame, time, psn));
            }
            let is_whole = glimpse.memory.is_some() && !glimpse.is_cut && !has_immediate(packet.opcode());
            if let Some(way) = self.ways.get_mut(at as usize) {
                way.has_others |= is_whole && shape.ends && packet.payload() > 0;
            }
            // Of a RETH that was cut, the length is that of the packets that follow.
            let memory = glimpse.memory.unwrap_or((glimpse.address.unwrap_or(0), 0));
            self.on_message(at, memory, packet, (frame, queued));
        } else if !shape.begins {
            self.go_on(at, psn, packet);
        }
        let Some(chunk) = self.chunk_of(at, psn) else { return };
        let immediate = glimpse.and_then(|glimpse| glimpse.immediate);
        let Some(of) = self.chunks.get_mut(chunk as usize) else { return };
        match step {
            Step::Again { was_seen: true } => of.again = of.again.max(Some(time)),
            _ => of.last = of.last.max((frame, time)),
        }
        of.resent += u32::from(step == Step::Again { was_seen: true });
        of.is_ended |= has_immediate(packet.opcode());
        if let Some(immediate) = immediate
            && of.immediate.is_none()
        {
            of.immediate = Some(immediate);
            self.close(at, chunk, immediate);
        }
    }

    /// A message whose length was cut is as long as its packets.
    fn go_on(&mut self, at: u32, psn: u32, packet: &Facts) {
        let Some(way) = self.ways.get(at as usize).filter(|way| way.is_cut) else { return };
        let ahead = |chunk: u32| self.chunks.get(chunk as usize).map_or(-1, |of| psn_distance(psn, of.psn));
        let is_open = |&&chunk: &&u32| self.chunks.get(chunk as usize).is_some_and(|of| of.goes_on.is_some());
        let last = way.chunks.back().filter(is_open).copied();
        let of = match last {
            Some(last) if ahead(last) > 0 => Some(last),
            // One of the last ones that was not whole when others began.
            _ => {
                let before = way.chunks.iter().rev().take(LOOK_BACK).filter(|&&chunk| ahead(chunk) > 0);
                before.min_by_key(|&&chunk| ahead(chunk)).filter(is_open).copied()
            }
        };
        let Some(of) = of.and_then(|chunk| self.chunks.get_mut(chunk as usize)) else { return };
        let Some(each) = of.goes_on else { return };
        let packets = psn_distance(psn, of.psn).unsigned_abs();
        if psn_distance(psn, of.last_psn) > 0 {
            of.last_psn = psn;
            of.bytes = packets.saturating_mul(each).saturating_add(packet.payload());
        }
        if packet.opcode().shape().ends {
            of.goes_on = None;
        }
    }

    /// Bytes of a message as far as it was sent: what its length says is more, where the capture or its sender ended before.
    fn sent_bytes(&self, chunk: &Chunk) -> u64 {
        let sent = self.ways.get(chunk.way as usize).map_or(u32::MAX, |way| way.sent_from(chunk.psn));
        chunk.bytes_of(sent).into()
    }

    /// The message of a way that has this PSN.
    fn chunk_of(&self, way: u32, psn: u32) -> Option<u32> {
        let way = self.ways.get(way as usize)?;
        for &chunk in way.chunks.iter().rev() {
            let of = self.chunks.get(chunk as usize)?;
            let is_before = psn_distance(psn, of.last_psn) > 0;
            if !is_before && psn_distance(psn, of.psn) >= 0 {
                return Some(chunk);
            }
            // All others are before this one, but where the beginning of one was lost.
            if is_before && !way.is_mixed {
                return None;
            }
        }
        None
    }

    /// A clear-to-send slot.
    fn on_slot(&mut self, at: u32, slot: Slot, glimpse: &Glimpse, (frame, time, psn): (u64, i64, u32)) {
        let Some(way) = self.ways.get(at as usize) else { return };
        let va = glimpse.memory.map_or(0, |(va, _)| va);
        let connection = match way.role {
            Role::ClearToSend(connection) => connection,
            _ => self.connection_of_slot(at, &slot, va),
        };
        let pair = way_pair(&self.ways, at);
        let Some(of) = self.connections.get_mut(connection as usize) else { return };
        let is_next = of.requests.last().is_none_or(|last| last.index < slot.index);
        let mut last_ones = of.requests.iter_mut().rev().take(if is_next { 0 } else { 512 });
        if let Some(known) = last_ones.find(|known| known.index == slot.index) {
            if let Some(cts) = &mut known.cts {
                cts.again = Some(time);
            }
            return;
        }
        if self.requests >= MAX_REQUESTS {
            self.not_kept += 1;
            return;
        }
        self.requests += 1;
        of.layout = slot.layout;
        let bases = bases(&slot, va);
        match of.requests.is_empty() {
            true => of.slots = bases,
            false => of.slots.retain(|slots| bases.contains(slots)),
        }
        for rkey in slot.elements.iter().flat_map(|element| element.rkeys).filter(|&rkey| rkey != 0) {
            let known = self.by_rkey.entry(rkey).or_default();
            if known.last() != Some(&connection) && !known.contains(&connection) {
                known.push(connection);
            }
        }
        let (again, arrived, acknowledged) = (None, None, None);
        let receives = slot.elements.len() as u64;
        let cts = Cts { frame, time, again, arrived, acknowledged, receives, elements: slot.elements };
        of.requests.push(Request { index: slot.index, cts: Some(cts), ..Request::default() });
        // Elements of two devices overtake each other; data does not, which is sent in their order.
        let mut request = of.requests.len() - 1;
        while let Some(before) = request.checked_sub(1)
            && of.requests[before].index > slot.index
            && of.requests[before].chunks.is_empty()
        {
            of.requests.swap(before, request);
            for &way in &of.cts_ways {
                if let Some(way) = self.ways.get_mut(way as usize) {
                    way.move_element((connection, before as u32), request as u32);
                }
            }
            request = before;
        }
        let place = (connection, request as u32);
        if let Some(way) = self.ways.get_mut(at as usize) {
            way.add_element(psn, place);
        }
        if let Some(pair) = pair {
            let known = self.between.entry(pair).or_default();
            if !known.contains(&connection) {
                known.push(connection);
            }
        }
    }

    /// The connection of the first slot on a way: a new one, or that of another device whose slots it continues.
    fn connection_of_slot(&mut self, at: u32, slot: &Slot, va: u64) -> u32 {
        let here = bases(slot, va);
        let key = self.ways.get(at as usize).map(|way| way.key);
        let is_elsewhere = |&way: &u32| {
            let other = self.ways.get(way as usize).map(|way| way.key);
            other.zip(key).is_none_or(|(other, key)| other.src != key.src)
        };
        // The first element of the second device may overtake the one before it.
        let follows = |last: &Request| last.index + 1 == slot.index || last.index == slot.index + 1;
        let continues = |connection: &Connection| {
            connection.layout == slot.layout
                && connection.requests.last().is_some_and(follows)
                && connection.slots.iter().any(|slots| here.contains(slots))
                && connection.cts_ways.iter().all(is_elsewhere)
        };
        let known = self.connections.iter().position(continues);
        let connection = known.unwrap_or(self.connections.len());
        if known.is_none() {
            self.connections.push(Connection::new(slot.layout));
        }
        self.connections[connection].cts_ways.push(at);
        if let Some(way) = self.ways.get_mut(at as usize) {
            way.role = Role::ClearToSend(connection as u32);
        }
        connection as u32
    }

    /// A message begins that is no clear-to-send slot.
    fn on_message(&mut self, at: u32, (va, rkey): (u64, u32), packet: &Facts, (frame, queued): (u64, i64)) {
        if self.chunks.len() >= MAX_CHUNKS {
            return self.fill();
        }
        let is_only = packet.opcode().shape().ends;
        let goes_on = (packet.dma_len().is_none() && !is_only).then(|| packet.payload());
        let bytes = packet.dma_len().unwrap_or(packet.payload());
        let (chunk, time, psn) = (self.chunks.len() as u32, packet.time(), packet.psn().0);
        let Some(way) = self.ways.get_mut(at as usize) else { return };
        let packets = if is_only { 1 } else { bytes.div_ceil(packet.payload().max(1)).max(1) };
        way.mtu = way.mtu.max(if is_only { 0 } else { packet.payload() });
        way.is_cut |= goes_on.is_some();
        let before = way.chunks.back().and_then(|&before| self.chunks.get(before as usize));
        // Acknowledgements of elements may have another class than the data.
        if way.chunks.is_empty() {
            way.path_tag = packet.path_tag();
        }
        way.is_mixed |= before.is_some_and(|before| psn_distance(psn, before.psn) < 0);
        let last_psn = psn_after(psn, packets - 1);
        way.add_chunk(chunk, goes_on.is_none().then_some(last_psn));
        let current = way.current;
        self.chunks.push(Chunk {
            way: at,
            va,
            rkey,
            bytes,
            psn,
            last_psn,
            first: (frame, time),
            last: (frame, time),
            queued,
            again: None,
            acknowledged: None,
            immediate: None,
            is_ended: false,
            goes_on,
            is_closing: false,
            resent: 0,
        });
        let is_closing = (va, rkey, bytes) == (0, 0, 0);
        let matched = if is_closing { None } else { self.request_for(at, va, rkey, bytes) };
        let may_close = has_immediate(packet.opcode());
        let closes = |&(connection, request): &(u32, u32)| {
            may_close
                && self.request(connection, request).is_some_and(|request| !self.is_closed_on(request, at))
        };
        let place = matched.or_else(|| current.filter(closes));
        let Some((connection, request)) = place else {
            self.keep_loose(at, chunk);
            return self.judge(at);
        };
        if let Some(of) = self.chunks.get_mut(chunk as usize) {
            of.is_closing = matched.is_none();
        }
        let Some(of) = self.connections.get_mut(connection as usize) else { return };
        of.is_proved |= matched.is_some();
        if !of.data_ways.contains(&at) {
            of.data_ways.push(at);
            // Data may go between other adapters than elements: what is acknowledged there is of it, too.
            if let Some(pair) = self.ways.get(at as usize).map(|way| way.key.pair()) {
                let known = self.between.entry(pair).or_default();
                if !known.contains(&connection) {
                    known.push(connection);
                }
            }
        }
        if let Some(request) = of.requests.get_mut(request as usize) {
            request.chunks.push(chunk);
        }
        let way = &mut self.ways[at as usize];
        let is_new = way.role != Role::Data(connection);
        (way.role, way.current) = (Role::Data(connection), Some((connection, request)));
        if is_new {
            self.prove(at, connection);
        }
    }

    /// A message of no request.
    fn keep_loose(&mut self, at: u32, chunk: u32) {
        let Some(way) = self.ways.get_mut(at as usize) else { return };
        if way.loose.is_empty() {
            let others = self.loose.entry(way.key.pair()).or_default();
            way.loose_place = others.len() as u32;
            others.push(at);
        }
        // In their order: one whose beginning was lost comes late.
        let Some(psn) = self.chunks.get(chunk as usize).map(|chunk| chunk.psn) else { return };
        let is_later = |&&other: &&u32| {
            self.chunks.get(other as usize).is_some_and(|other| psn_distance(other.psn, psn) > 0)
        };
        let later = way.loose.iter().rev().take(LOOK_BACK).take_while(is_later).count();
        way.loose.insert(way.loose.len() - later, chunk);
    }

    fn request(&self, connection: u32, request: u32) -> Option<&Request> {
        self.connections.get(connection as usize)?.requests.get(request as usize)
    }

    /// Whether a request has immediate data on a way.
    fn is_closed_on(&self, request: &Request, at: u32) -> bool {
        self.chunks_of(request).any(|chunk| chunk.way == at && chunk.is_ended)
    }

    /// Queue pairs of a request.
    fn ways_of(&self, request: &Request) -> usize {
        let mut ways: Vec<u32> = self.chunks_of(request).map(|chunk| chunk.way).collect();
        ways.sort_unstable();
        ways.dedup();
        ways.len()
    }

    fn chunks_of<'a>(&'a self, request: &'a Request) -> impl Iterator<Item = &'a Chunk> + Clone {
        request.chunks.iter().filter_map(|&chunk| self.chunks.get(chunk as usize))
    }

    /// The oldest request that a message with this address and key can be of.
    fn request_for(&self, at: u32, va: u64, rkey: u32, bytes: u32) -> Option<(u32, u32)> {
        let way = self.ways.get(at as usize)?;
        if let Role::Data(connection) = way.role
            && let Some(request) = self.request_in(connection, at, (va, rkey, bytes))
        {
            return Some((connection, request));
        }
        let with_key = self.by_rkey.get(&rkey)?;
        let is_opposite = |&&connection: &&u32| {
            let first = self.connections.get(connection as usize).and_then(|of| of.cts_ways.first());
            let cts = first.and_then(|&cts| self.ways.get(cts as usize));
            cts.is_some_and(|cts| cts.key.src == way.key.dst && cts.key.dst == way.key.src)
        };
        let find = |&connection: &u32| {
            self.request_in(connection, at, (va, rkey, bytes)).map(|request| (connection, request))
        };
        // Another device of a host has another address.
        let opposite = with_key.iter().filter(is_opposite).find_map(find);
        opposite.or_else(|| {
            with_key
                .iter()
                .filter(|one| !is_opposite(one))
                .filter(|&&one| self.has_devices(one))
                .find_map(find)
        })
    }

    /// Whether the elements of a connection have keys of several devices.
    fn has_devices(&self, connection: u32) -> bool {
        let last = self.connections.get(connection as usize).and_then(|of| of.requests.last());
        let elements = last.and_then(|last| last.cts.as_ref()).map_or(&[][..], |cts| &cts.elements);
        elements.iter().any(|element| element.rkeys[1] != 0)
    }

    fn request_in(&self, connection: u32, at: u32, (va, rkey, bytes): (u64, u32, u32)) -> Option<u32> {
        let of = self.connections.get(connection as usize)?;
        let before = self.ways.get(at as usize)?.current.filter(|current| current.0 == connection);
        // A queue pair takes requests in their order.
        let from = before.map_or(0, |(_, request)| request as usize).max(of.open.saturating_sub(LOOK_BACK));
        let fits = |&(_, request): &(usize, &Request)| {
            let element = request
                .cts
                .as_ref()
                .is_some_and(|cts| cts.elements.iter().any(|element| element.has(va, rkey, bytes)));
            element && self.takes(of, request, at, (va, bytes))
        };
        of.requests.iter().enumerate().skip(from).find(fits).map(|(n, _)| n as u32)
    }

    /// Whether a request still takes a message of this way into this range.
    fn takes(&self, of: &Connection, request: &Request, at: u32, (va, bytes): (u64, u32)) -> bool {
        let mut chunks = self.chunks_of(request);
        let end = va.saturating_add(bytes.into());
        let overlaps = |chunk: &Chunk| {
            !chunk.is_closing
                && chunk.bytes > 0
                && va < chunk.va.saturating_add(chunk.bytes.into())
                && chunk.va < end
        };
        if self.is_closed_on(request, at) || bytes > 0 && chunks.clone().any(overlaps) {
            return false;
        }
        let is_single = request.cts.as_ref().is_some_and(|cts| cts.elements.len() == 1);
        if bytes == 0 && is_single {
            // An empty message: one for each queue pair.
            let is_new = !chunks.clone().any(|chunk| chunk.way == at);
            return is_new && (of.ways_per_request == 0 || self.ways_of(request) < of.ways_per_request);
        }
        // An empty message of several is repeated nowhere.
        bytes > 0 || !chunks.any(|chunk| chunk.way == at && chunk.va == va && chunk.bytes == 0)
    }

    /// A WRITE with immediate data ended a message.
    fn close(&mut self, at: u32, chunk: u32, immediate: u32) {
        let Some(way) = self.ways.get(at as usize) else { return };
        let Some((connection, request)) = way.current else { return };
        let Some(of) = self.connections.get(connection as usize) else { return };
        let Some(known) = of.requests.get(request as usize).filter(|known| known.chunks.contains(&chunk))
        else {
            return;
        };
        let bytes: u64 =
            self.chunks_of(known).filter(|chunk| !chunk.is_closing).map(|chunk| u64::from(chunk.bytes)).sum();
        let single = known.cts.as_ref().is_none_or(|cts| cts.elements.len() == 1);
        let closed = self.chunks_of(known).filter(|chunk| chunk.is_ended).count();
        let [big, little] =
            [immediate, immediate.swap_bytes()].map(|size| single && u64::from(size) == bytes);
        let count = self.ways_of(known);
        let Some(of) = self.connections.get_mut(connection as usize) else { return };
        if big != little {
            (of.big, of.little) = (of.big + u64::from(big), of.little + u64::from(little));
        }
        let Some(known) = of.requests.get_mut(request as usize) else { return };
        known.immediate.get_or_insert(immediate);
        known.closed = closed;
        if closed == count {
            of.open = of.open.max(request as usize);
            if bytes > 0 && (big || little || !single) {
                of.ways_per_request = of.ways_per_request.max(count);
            }
        }
    }

    fn on_acknowledge(&mut self, key: Key, packet: &Facts) {
        let Some(aeth) = packet.aeth() else { return };
        let (psn, time) = (packet.psn().0, packet.time());
        let psn = match aeth.syndrome().is_ack() {
            true => psn,
            // What is before it arrived.
            false => psn.wrapping_sub(1) & 0xff_ffff,
        };
        let is_known =
            |all: &Collectives| all.between.contains_key(&key.pair()) || all.loose.contains_key(&key.pair());
        let Some(at) = self.way(key, packet, is_known) else { return };
        let peer = self.ways.get(at as usize).and_then(|way| way.peer).or_else(|| self.pair(at, psn));
        match peer {
            Some(peer) => self.acknowledge(peer, psn, time),
            None => {
                let way = &mut self.ways[at as usize];
                way.wait(psn, time);
                let waiting = way.waiting.len();
                if waiting >= MANY_WAITING && waiting.is_power_of_two() {
                    let pair = way.key.pair();
                    self.join_by_time(Some(pair));
                }
            }
        }
    }

    /// All packets of a way up to this one are acknowledged.
    fn acknowledge(&mut self, at: u32, psn: u32, time: i64) {
        let Some(way) = self.ways.get_mut(at as usize) else { return };
        way.forget_until(psn, time);
        while let Some((connection, request)) = way.next_element_until(psn) {
            let of = self.connections.get_mut(connection as usize);
            let of = of.and_then(|of| of.requests.get_mut(request as usize)?.cts.as_mut());
            if let Some(cts) = of {
                cts.acknowledged = Some(time);
            }
        }
        while let Some(&chunk) = way.chunks.get(way.acknowledged) {
            // Of one whose length was cut, only the next one shows that it was over.
            let next = way.chunks.get(way.acknowledged + 1).and_then(|&next| self.chunks.get(next as usize));
            let is_over = next.is_some_and(|next| psn_distance(next.psn, psn) <= 0);
            let Some(chunk) = self.chunks.get_mut(chunk as usize) else { return };
            let goes_on = chunk.goes_on.is_some() && !is_over;
            if goes_on || psn_distance(chunk.last_psn, psn) > 0 || chunk.first.1 > time {
                return;
            }
            chunk.acknowledged = Some(time);
            way.acknowledged += 1;
        }
    }
}

impl Metric for Collectives {
    fn on_pause(&mut self, paused: &Paused) {
        if self.is_active && self.pauses.len() < MAX_PAUSES {
            self.pauses.push(paused.clone());
        }
    }

    fn heap_bytes(&self) -> usize {
        let requests: usize = self.requests * (size_of::<Request>() + size_of::<Element>() + 16);
        way::heap_bytes(&self.ways)
            + self.ways.capacity() * size_of::<Way>()
            + self.chunks.capacity() * size_of::<Chunk>()
            + self.dismissed.capacity() * size_of::<Key>()
            + requests
    }
}

/// Where the FIFO begins, with each number of slots.
fn bases(slot: &Slot, va: u64) -> Vec<(u64, u64)> {
    let stride = Slot::stride(slot.layout);
    let base = |slots: u64| {
        let at = slot.index.saturating_sub(1) % slots;
        Some((slots, va.checked_sub(at * stride)?))
    };
    SLOTS.into_iter().filter_map(base).collect()
}

fn way_pair(ways: &[Way], at: u32) -> Option<Pair> {
    ways.get(at as usize).map(|way| way.key.pair())
}
