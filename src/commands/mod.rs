//! Commands of upper layers: which request each reply answers, how long that took, and what the time went to.
//!
//! A connection's protocol is known by its set-up (service ID or private data), or by a message that can only be of that protocol
//! ([`Protocol::of`]). Nothing else is followed. Times are those at the tap, from the first packet of a request to the last one of its reply.
//! NVMe has a module of its own ([`crate::nvme`]), whose queues have more to say.

mod chunk;
mod conversation;
mod iser;
mod lnet;
mod rds;
mod rows;
mod rpc;
mod smb;
mod smc;
mod srp;

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, VecDeque},
    hash::RandomState,
};

use crate::{
    capture::Record,
    dissect::{Address, Dissection},
    follow::{
        Answer, Directions, Doubt, Ending, HalfKnown, Key, MOST_UNSURE, Named, Piece, Progress, Requests,
        Seen, Sums, Tap, Transfers, Turn, is_of_asking,
    },
    opcode::{Operation, Service, Shape},
    report::ApplicationBy,
    upper::{Application, Message, Protocol},
    wire::{self, Aeth, Bth, CmRej, CmRep, CmReq, Psn, Reth},
};
use conversation::{Conversation, Done, Held, Moved, Said, Taken};

pub use rows::{CommandRow, ConversationRow, FailedRow, OperationRow, Report, SCHEMA, TimeRow, schema};

/// Connections beyond this number are not followed.
const MOST_CONVERSATIONS: usize = 1 << 14;
/// Bytes of a message that are kept until it is whole. Headers are at its beginning.
const MOST_BYTES: usize = 8 << 10;
/// Kinds of commands of all connections that are told one by one: numbers in packets may name any.
const MOST_OPERATIONS: usize = 1 << 15;
/// Messages by whose first PSN a retransmission is known.
const HANDLED: usize = 64;

/// The commands of a capture, frame by frame.
#[derive(Debug, Default)]
pub struct Commands {
    ways: HashMap<Key, Way, RandomState>,
    all: Vec<Conversation>,
    /// The connections between a client and a server of which the client's queue pair is not known.
    half_known: HalfKnown,
    requests: Requests<Request>,
    /// Requests for what is followed that were rejected.
    rejected: u64,
    named: Named,
    directions: Directions,
    /// Completed commands by connection and operation, and how many of them have a status that was not captured.
    operations: BTreeMap<(usize, Cow<'static, str>), (Sums, u64)>,
    /// Each with its connection, in the order of their replies, as far as they are kept.
    done: Vec<(usize, Done)>,
    keep: usize,
    span: Option<[i64; 2]>,
    doubt: Doubt,
    cut_messages: u64,
    /// SENDs of unknown connections that are cut before what tells whose they are.
    cut_unknown: u64,
    not_followed: u64,
    /// What the message at hand says: made once.
    said: Vec<Said>,
}

#[derive(Debug)]
struct Way {
    role: Role,
    /// Commands are known by the side that asked and their number.
    transfers: Transfers<Moved>,
    /// The message that is on its way.
    coming: Option<Coming>,
    /// First PSNs of the last messages.
    handled: VecDeque<u32>,
}

impl Way {
    fn new(role: Role) -> Way {
        Way { role, transfers: Transfers::default(), coming: None, handled: VecDeque::new() }
    }
}

/// A message of which not all packets came yet.
#[derive(Debug)]
struct Coming {
    first_psn: u32,
    next_psn: u32,
    frame: u64,
    start: i64,
    bytes: Vec<u8>,
    len: usize,
}

/// To which end of a connection a direction goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    ToServer(usize),
    ToClient(usize),
}

impl Role {
    fn connection(self) -> usize {
        let (Role::ToServer(at) | Role::ToClient(at)) = self;
        at
    }
}

/// A request for a connection.
#[derive(Clone, Copy, Debug)]
struct Request {
    qp: u32,
    /// Of what the server sends.
    first_psn: Psn,
    known: Option<(Application, ApplicationBy)>,
}

impl Request {
    /// Whether it is for a protocol that is followed here.
    fn is_followed(&self) -> bool {
        self.known.and_then(|(application, _)| application.protocol()).is_some_and(is_followed)
    }
}

/// What is read of a packet.
struct Packet<'a> {
    key: Key,
    shape: &'static Shape,
    psn: u32,
    time: i64,
    frame: u64,
    /// Where it was captured.
    place: u16,
    payload: &'a [u8],
    /// Of the payload, captured or not.
    len: u32,
    reth: Option<&'a Reth>,
    aeth: Option<&'a Aeth>,
}

/// A whole message.
#[derive(Clone, Copy, Debug)]
struct Whole<'a> {
    frame: u64,
    /// When its first packet came, and its last one.
    start: i64,
    end: i64,
    message: Message<'a>,
    /// From the client to the server.
    from_client: bool,
}

impl Whole<'_> {
    /// Not all of it was captured, as far as it is kept.
    fn is_cut(&self) -> bool {
        self.message.bytes.len() < self.message.len.unwrap_or(0).min(MOST_BYTES)
    }
}

impl Commands {
    /// Keeps so many commands one by one for the report.
    pub fn keeping(keep: usize) -> Commands {
        Commands { keep, ..Commands::default() }
    }

    /// One frame and its number, from 1.
    pub fn push(&mut self, frame: u64, record: &Record<'_>, d: &Dissection<'_>) {
        match self.doubt.take(frame, record, d) {
            Turn::Now => self.read(frame, record, d),
            Turn::Later => {}
            Turn::All(held) => held.iter().for_each(|one| one.with(|n, record, d| self.read(n, record, d))),
        }
    }

    fn read(&mut self, frame: u64, record: &Record<'_>, d: &Dissection<'_>) {
        let (Some(bth), Some([src, dst])) = (d.get::<Bth>(), d.addresses()) else { return };
        let time = record.time.0;
        self.span = Some(self.span.map_or([time; 2], |[from, to]| [from.min(time), to.max(time)]));
        self.directions.see(src, dst);
        if d.has(wire::Kind::Mad) {
            if self.doubt.accepts(d) {
                self.directions.see_at(src, dst, record.interface);
                self.on_management(d, [src, dst], time, frame);
            }
            return;
        }
        let (opcode, shape) = (bth.opcode(), bth.opcode().shape());
        if opcode.service() != Service::Rc {
            return;
        }
        let packet = Packet {
            key: Key { src, dst, qp: bth.dest_qp().0 },
            shape,
            psn: bth.psn().0,
            time,
            frame,
            place: record.interface,
            payload: d.payload(),
            len: d.payload_len(),
            reth: d.get(),
            aeth: d.get(),
        };
        /// The headers that tell a protocol are no longer.
        const TELLING: usize = 80;
        let is_known = self.is_known(&packet);
        let may_begin = shape.begins && shape.operation == Some(Operation::Send);
        let is_cut = packet.payload.len() < TELLING.min(packet.len as usize);
        if !is_known && may_begin && is_cut && packet.protocol().is_none() {
            self.cut_unknown += 1;
        }
        // Most packets of a capture are of no such connection: their ICRCs need no look.
        let may_bind = || {
            shape.operation == Some(Operation::Acknowledge)
                && !self.half_known.answered_by(packet.key).is_empty()
        };
        if is_known || may_begin && packet.protocol().is_some() || may_bind() {
            if !self.doubt.accepts(d) || !is_known && !self.finds(&packet) {
                return;
            }
            self.on_packet(&packet);
        }
    }

    /// Whether its direction is one of a connection. One that was closed has no packets with other PSNs: its queue pairs are used again, and
    /// that set-up was not captured.
    fn is_known(&mut self, packet: &Packet<'_>) -> bool {
        let Some(way) = self.ways.get(&packet.key) else { return false };
        let of = &self.all[way.role.connection()];
        let is_closed = of.ended.is_some_and(|end| end.by.is_some() && packet.time > end.time);
        if !is_closed || !is_of_asking(packet.shape) || !way.transfers.requests.is_elsewhere(packet.psn) {
            return true;
        }
        let at = way.role.connection();
        let [to_server, to_client] = [Some(of.key_to_server()), of.key_to_client()];
        for key in [to_server, to_client].into_iter().flatten() {
            if self.ways.get(&key).is_some_and(|way| way.role.connection() == at) {
                self.ways.remove(&key);
            }
        }
        self.half_known.remove(of.client, of.server, at);
        false
    }

    /// What the frames show.
    pub fn finish(mut self) -> Report {
        for held in self.doubt.release() {
            held.with(|frame, record, d| self.read(frame, record, d));
        }
        // Nothing says any more that they came.
        for at in 0..self.all.len() {
            self.release(at, |_| true);
            self.settle(at, |_| true);
        }
        rows::report(self)
    }

    fn on_management(&mut self, d: &Dissection<'_>, [src, dst]: [Address; 2], time: i64, frame: u64) {
        let of_way = |key| self.ways.get(&key).map(|way| way.role.connection());
        if let Some((at, by)) = self.named.ended(d, [src, dst], of_way) {
            self.all[at].ended.get_or_insert(Ending { time, frame, by: Some(by) });
        }
        let by_private = || Some((d.application_by_private_data()?, ApplicationBy::PrivateData));
        if let Some(req) = d.get::<CmReq>() {
            let by_service =
                d.application_by_service().map(|application| (application, ApplicationBy::Service));
            let known = by_service.or_else(by_private);
            let is_set_up = |&at: &usize| {
                let of = &self.all[at];
                of.ended.is_none() && of.client_qp == Some(req.local_qpn().0)
            };
            // One that is repeated, and comes late.
            if self.named.repeated((src, req.local_comm_id().0), time).filter(is_set_up).is_some() {
                return;
            }
            self.requests.add(
                src,
                req.local_comm_id().0,
                Request { qp: req.local_qpn().0, first_psn: req.starting_psn(), known },
            );
        }
        if let Some(rej) = d.get::<CmRej>() {
            let rejected = self.requests.take(dst, rej.remote_comm_id().0);
            self.rejected += u64::from(rejected.is_some_and(|request| request.is_followed()));
        }
        if let Some(rep) = d.get::<CmRep>() {
            let Some(request) = self.requests.take(dst, rep.remote_comm_id().0) else { return };
            let Some((application, by)) = request.known.or_else(by_private) else { return };
            let Some(protocol) = application.protocol().filter(|&is| is_followed(is)) else { return };
            let to = Key { src: dst, dst: src, qp: rep.local_qpn().0 };
            if let Some(at) = self.add(to, (protocol, by), time, frame) {
                let sides = [(dst, rep.remote_comm_id().0), (src, rep.local_comm_id().0)];
                self.named.add(sides, at, time);
                self.bind(at, request.qp, time);
                let back = Key { src, dst, qp: request.qp };
                for (key, psn) in [(to, rep.starting_psn()), (back, request.first_psn)] {
                    if let Some(way) = self.ways.get_mut(&key) {
                        way.transfers.requests.starts_with(psn.0);
                    }
                }
            }
        }
    }

    /// The number of a new connection; `None` where there are too many.
    fn add(
        &mut self,
        to: Key,
        (protocol, by): (Protocol, ApplicationBy),
        time: i64,
        frame: u64,
    ) -> Option<usize> {
        let at = self.all.len();
        if at >= MOST_CONVERSATIONS {
            self.not_followed += 1;
            return None;
        }
        self.all.push(Conversation::new(to, protocol, by));
        // A queue pair that is used again has another connection.
        if let Some(old) = self.ways.insert(to, Way::new(Role::ToServer(at))) {
            self.all[old.role.connection()].ended.get_or_insert(Ending { time, frame, by: None });
        }
        self.half_known.add(to, at);
        Some(at)
    }

    /// The client's queue pair of a connection is known.
    fn bind(&mut self, at: usize, client_qp: u32, time: i64) {
        let of = &mut self.all[at];
        (of.client_qp, of.bound_at) = (Some(client_qp), time);
        let (client, server) = (of.client, of.server);
        self.half_known.remove(client, server, at);
        self.ways.insert(Key { src: server, dst: client, qp: client_qp }, Way::new(Role::ToClient(at)));
    }

    /// Whether a packet of a direction that is not known begins a connection, or is the reply on one.
    fn finds(&mut self, packet: &Packet<'_>) -> bool {
        if packet.shape.operation == Some(Operation::Acknowledge) {
            return self.is_acknowledged_by(packet);
        }
        let Some(protocol) = packet.protocol() else { return false };
        let mut said = std::mem::take(&mut self.said);
        let waiting = self.half_known.answered_by(packet.key);
        let mut found = waiting.iter().copied().filter(|&at| {
            let of = &self.all[at];
            said.clear();
            of.protocol == protocol && {
                of.read(&packet.alone(false), &mut said);
                said.iter().any(|said| of.is_answered_by(said))
            }
        });
        let (first, second) = (found.next(), found.next());
        let is_request = first.is_none() && {
            said.clear();
            let begins = Conversation::new(packet.key, protocol, ApplicationBy::Messages);
            begins.read(&packet.alone(true), &mut said);
            said.iter().any(|said| matches!(said, Said::Request(_)))
        };
        self.said = said;
        match (first, second) {
            (Some(at), None) => {
                self.bind(at, packet.key.qp, packet.time);
                true
            }
            (None, _) if is_request => {
                let known = (protocol, ApplicationBy::Messages);
                self.add(packet.key, known, packet.time, packet.frame).is_some()
            }
            _ => false,
        }
    }

    /// Whether an acknowledgement of a direction that is not known fits the packets of one connection alone.
    fn is_acknowledged_by(&mut self, packet: &Packet<'_>) -> bool {
        if !packet.aeth.is_some_and(|aeth| aeth.syndrome().is_ack()) {
            return false;
        }
        let waiting = self.half_known.answered_by(packet.key).iter().copied();
        let mut found = waiting.filter(|&at| {
            let way = self.ways.get(&self.all[at].key_to_server());
            way.is_some_and(|way| way.transfers.requests.has_sent(packet.psn))
        });
        let (Some(at), None) = (found.next(), found.next()) else { return false };
        self.bind(at, packet.key.qp, packet.time);
        true
    }

    fn on_packet(&mut self, packet: &Packet<'_>) {
        let Some(operation) = packet.shape.operation else { return };
        let Some(way) = self.ways.get_mut(&packet.key) else { return };
        let role = way.role;
        let (Role::ToServer(at) | Role::ToClient(at)) = role;
        let to_server = role == Role::ToServer(at);
        let of = &mut self.all[at];
        let directions = &self.directions;
        let tap = of
            .taps
            .look(to_server, packet.place, |tap| directions.has_seen_at(packet.key.src, packet.key.dst, tap));
        if tap == Tap::Before || tap == Tap::Behind && operation == Operation::Acknowledge {
            return;
        }
        let piece = packet.piece(operation);
        let seen = way.transfers.see(&piece, tap == Tap::Here);
        if seen == Seen::Copy {
            return;
        }
        let mut answer = None;
        if let Some(back) = of.key_back(to_server)
            && let Some(back) = self.ways.get_mut(&back)
        {
            answer = back.transfers.hear(&piece, seen);
            while let Some((psn, moved)) = back.transfers.take_acked() {
                if let Some(moving) = of.moving(moved) {
                    moving.acked(psn, packet.time);
                }
            }
            match answer {
                Some(Answer::Again(_)) => of.take_back(!to_server, packet.psn, &back.transfers.requests),
                Some(Answer::Came) if !of.taken.is_empty() => self.settle_acked(at, !to_server),
                _ => {}
            }
        }
        let Some(way) = self.ways.get_mut(&packet.key) else { return };
        let of = &mut self.all[at];
        match operation {
            Operation::Send => self.on_send(packet),
            Operation::ReadRequest => self.on_read_request(packet, role, seen),
            Operation::ReadResponse => {
                if let Some((moved, begins)) = way.transfers.read_by(packet.psn) {
                    of.on_data(moved, packet, begins);
                    if packet.shape.ends
                        && way.transfers.end_read(packet.psn)
                        && let Some(moving) = of.moving(moved)
                    {
                        moving.read_ended(packet.time);
                    }
                }
            }
            Operation::Write => {
                if let Some(reth) = packet.reth
                    && let Some(moved) = of.with_memory(!to_server, reth)
                {
                    way.transfers.begin_write(&piece, reth, moved);
                }
                if let Some((moved, begins)) = way.transfers.written_by(packet.psn) {
                    of.on_data(moved, packet, begins);
                    if packet.shape.ends {
                        way.transfers.await_ack(packet.psn, moved);
                    }
                }
            }
            _ => {}
        }
        if !self.all[at].held.is_empty() {
            self.decide_held(at, packet, (to_server, answer == Some(Answer::Came), seen));
        }
    }

    /// Answers that were held: which of them came.
    #[cold]
    fn decide_held(
        &mut self,
        at: usize,
        packet: &Packet<'_>,
        (to_server, is_answer, seen): (bool, bool, Seen),
    ) {
        let of = &mut self.all[at];
        let keys = [of.key_to_client(), Some(of.key_to_server())];
        // Of answers to the client, and of those to the server.
        let [to_client, to_its_server] =
            keys.map(|key| self.ways.get(&key?).map(|way| &way.transfers.requests));
        let progress = |held: &Held| if held.whole.from_client { to_its_server } else { to_client };
        if is_answer {
            let is_acked = |held: &&Held| {
                held.whole.from_client != to_server
                    && progress(held).is_some_and(|of| of.is_acked(held.last_psn))
            };
            let acked: Vec<u32> = of.held.iter().filter(is_acked).map(|held| held.first_psn).collect();
            self.release(at, |held| held.whole.from_client != to_server && acked.contains(&held.first_psn));
        } else if matches!(seen, Seen::Late | Seen::Again) {
            // What was missing came. If the other side kept what was behind it, it is taken now, and not sent again.
            let is_whole = |held: &&mut Held| {
                held.whole.from_client == to_server
                    && Progress::is_before(packet.psn, held.first_psn)
                    && progress(held).is_some_and(|of| !of.is_behind_gap(held.last_psn))
            };
            let held = of.held.iter_mut().filter(is_whole);
            held.for_each(|held| held.whole.end = held.whole.end.max(packet.time));
        }
    }

    /// Answers that were held, and came.
    fn release(&mut self, at: usize, is_taken: impl Fn(&Held) -> bool) {
        let held = std::mem::take(&mut self.all[at].held);
        let (taken, rest): (Vec<Held>, Vec<Held>) = held.into_iter().partition(is_taken);
        self.all[at].held = rest;
        for held in taken {
            let psns = [held.first_psn, held.last_psn];
            held.said.into_iter().for_each(|said| self.take(at, said, psns, &held.whole));
        }
    }

    /// Answers to this side's requests that are acknowledged by now.
    fn settle_acked(&mut self, at: usize, from_client: bool) {
        let key = self.all[at].key_back(!from_client);
        let Some(way) = key.and_then(|key| self.ways.get(&key)) else { return };
        let progress = &way.transfers.requests;
        let is_acked = |taken: &mut Taken| taken.is_of(from_client) && progress.is_acked(taken.psns[1]);
        let settled: Vec<Taken> = self.all[at].taken.extract_if(.., is_acked).collect();
        settled.into_iter().for_each(|taken| self.count(at, taken));
    }

    /// Commands whose answer was taken for sure.
    fn settle(&mut self, at: usize, is_sure: impl Fn(&Taken) -> bool) {
        let settled: Vec<Taken> = self.all[at].taken.extract_if(.., |taken| is_sure(taken)).collect();
        settled.into_iter().for_each(|taken| self.count(at, taken));
    }

    /// Who reads has been given the memory before: its requests go against the request that named it.
    fn on_read_request(&mut self, packet: &Packet<'_>, role: Role, seen: Seen) {
        let (Role::ToServer(at) | Role::ToClient(at)) = role;
        let Some(reth) = packet.reth else { return };
        let of = &mut self.all[at];
        let Some(moved) = of.with_memory(role == Role::ToClient(at), reth) else { return };
        let Some(back) = of.key_back(role == Role::ToServer(at)) else { return };
        if let Some(way) = self.ways.get_mut(&back) {
            let piece = packet.piece(Operation::ReadRequest);
            let reading = way.transfers.await_read(&piece, reth, moved, seen == Seen::Again);
            if let Some(moving) = of.moving(moved) {
                moving.read(packet.time, reading);
            }
        }
    }

    /// A packet of a message: when it is whole, it is read.
    fn on_send(&mut self, packet: &Packet<'_>) {
        let Some(way) = self.ways.get_mut(&packet.key) else { return };
        let (Role::ToServer(at) | Role::ToClient(at)) = way.role;
        let from_client = way.role == Role::ToServer(at);
        if packet.shape.begins {
            let is_held = self.all[at].held.iter().any(|held| held.is_of(from_client, packet.psn));
            if way.handled.contains(&packet.psn) && !is_held {
                self.all[at].sent_again += u64::from(packet.shape.ends);
                return;
            }
            way.coming = None;
            if !packet.shape.ends {
                way.coming = Some(Coming {
                    first_psn: packet.psn,
                    next_psn: packet.psn.wrapping_add(1) & 0xff_ffff,
                    frame: packet.frame,
                    start: packet.time,
                    bytes: packet.payload.iter().copied().take(MOST_BYTES).collect(),
                    len: packet.len as usize,
                });
                return;
            }
            self.handle(at, [packet.psn; 2], packet.key, &packet.alone(from_client));
            return;
        }
        let Some(coming) = way.coming.as_mut().filter(|coming| coming.next_psn == packet.psn) else { return };
        coming.next_psn = packet.psn.wrapping_add(1) & 0xff_ffff;
        // Where a frame is cut, what follows is not where it belongs.
        if coming.bytes.len() == coming.len && coming.bytes.len() < MOST_BYTES {
            coming.bytes.extend_from_slice(packet.payload);
        }
        coming.len += packet.len as usize;
        if packet.shape.ends
            && let Some(coming) = way.coming.take()
        {
            let whole = Whole {
                frame: coming.frame,
                start: coming.start,
                end: packet.time,
                message: Message { bytes: &coming.bytes, len: Some(coming.len) },
                from_client,
            };
            self.handle(at, [coming.first_psn, packet.psn], packet.key, &whole);
        }
    }

    /// A whole message of a connection, with its first and last PSN.
    fn handle(&mut self, at: usize, [first_psn, last_psn]: [u32; 2], key: Key, whole: &Whole<'_>) {
        let Some(way) = self.ways.get_mut(&key) else { return };
        if way.handled.len() == HANDLED {
            way.handled.pop_front();
        }
        way.handled.push_back(first_psn);
        let is_untaken = way.transfers.requests.is_untaken(last_psn);
        let mut said = std::mem::take(&mut self.said);
        said.clear();
        let of = &mut self.all[at];
        of.read(whole, &mut said);
        if said.is_empty() && whole.is_cut() {
            self.cut_messages += 1;
        }
        let held = of.held.len();
        of.held.retain(|held| !held.is_of(whole.from_client, first_psn));
        if of.held.len() < held {
            // What it asks was heard the first time.
            said.retain(|said| !matches!(said, Said::Request(_)));
        }
        const MOST_HELD: usize = 1024;
        if is_untaken && of.held.len() < MOST_HELD {
            let message = Message { bytes: &[], len: whole.message.len.or(Some(whole.message.bytes.len())) };
            let answers: Vec<Said> = said.extract_if(.., |said| !matches!(said, Said::Request(_))).collect();
            let whole = Whole { message, ..*whole };
            if !answers.is_empty() {
                of.held.push(Held { first_psn, last_psn, whole, said: answers });
            }
        }
        said.drain(..).for_each(|said| self.take(at, said, [first_psn, last_psn], whole));
        self.said = said;
    }

    /// Takes what a message with these PSNs says.
    fn take(&mut self, at: usize, said: Said, psns: [u32; 2], whole: &Whole<'_>) {
        if let Said::Request(asked) = &said {
            // Who asked took the answer: its number is used again.
            let (from_client, id) = (whole.from_client, asked.id);
            if self.all[at].held.iter().any(|held| held.answers(from_client, id)) {
                self.release(at, |held| held.answers(from_client, id));
            }
            if self.all[at].taken.iter().any(|taken| taken.answers(from_client, id)) {
                self.settle(at, |taken| taken.answers(from_client, id));
            }
        }
        let of = &mut self.all[at];
        let ways = [Some(of.key_to_server()), of.key_to_client()];
        let progress: Vec<&Progress> = ways
            .into_iter()
            .flatten()
            .filter_map(|key| self.ways.get(&key))
            .flat_map(|way| [&way.transfers.requests, &way.transfers.responses])
            .collect();
        of.take(said, psns, whole, &progress);
        if of.taken.len() > MOST_UNSURE {
            let sure: Vec<Taken> = of.taken.drain(..MOST_UNSURE / 2).collect();
            sure.into_iter().for_each(|taken| self.count(at, taken));
        }
    }

    /// A completed command.
    fn count(&mut self, at: usize, taken: Taken) {
        let done = self.all[at].count(taken);
        let mut kind = (at, done.operation.clone());
        if self.operations.len() >= MOST_OPERATIONS && !self.operations.contains_key(&kind) {
            kind.1 = "others".into();
        }
        let (sums, unread) = self.operations.entry(kind).or_default();
        sums.take(done.start, &done.time, done.size.unwrap_or(0), done.status.is_error);
        *unread += u64::from(!done.status.is_known);
        if self.done.len() < self.keep {
            self.done.push((at, done));
        }
    }
}

/// Whether it has commands that are followed here: NVMe's are elsewhere, IP has none.
fn is_followed(protocol: Protocol) -> bool {
    !matches!(protocol, Protocol::Nvme | Protocol::Ipoib)
}

impl<'a> Packet<'a> {
    fn piece(&self, operation: Operation) -> Piece<'a> {
        let &Packet { shape, psn, time, len, reth, aeth, .. } = self;
        Piece { operation, shape, psn, time, len, reth, aeth }
    }

    /// Of its beginning alone.
    fn protocol(&self) -> Option<Protocol> {
        let len = self.shape.ends.then_some(self.len as usize);
        Protocol::of(Message { bytes: self.payload, len }).filter(|&is| is_followed(is))
    }

    /// As a message of one packet, or as the beginning of a longer one.
    fn alone(&self, from_client: bool) -> Whole<'a> {
        let len = self.shape.ends.then_some(self.len as usize);
        let message = Message { bytes: self.payload, len };
        Whole { frame: self.frame, start: self.time, end: self.time, message, from_client }
    }
}
