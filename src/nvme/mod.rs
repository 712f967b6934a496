//! NVMe over RDMA: the commands of storage queues, how long each took, and what its time went to.
//!
//! A queue is known by its set-up (a connection request for the NVMe service, or a Connect command), or by commands and responses that fit
//! each other. Nothing else is taken for NVMe. A command's time is that at the tap, from the first packet of its capsule to the response:
//! what the controller and the network behind the tap took, transfer of data, and recovery from losses.

mod capsule;
mod data;
mod identity;
mod queue;
mod rows;

use std::{
    collections::{BTreeMap, HashMap},
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
    wire::{self, Aeth, Bth, CmRej, CmRep, CmReq, NvmeCmReq, Psn, Reth},
};
use capsule::{CQE, Command, Cqe, Sqe};
use data::{Gathering, Identified, Who};
use queue::{Held, Moved, Queue, Taken};

pub use rows::{
    CommandRow, ControllerRow, FailedRow, NamespaceRow, OperationRow, QueueRow, Report, SCHEMA, SubsystemRow,
    TimeRow, schema,
};

/// Queues beyond this number are not followed.
const MOST_QUEUES: usize = 1 << 16;

/// The commands of a capture, frame by frame.
#[derive(Debug, Default)]
pub struct Commands {
    ways: HashMap<Key, Way, RandomState>,
    queues: Vec<Queue>,
    /// The queues between a host and a controller of which the host's queue pair is not known.
    half_known: HalfKnown,
    requests: Requests<Request>,
    /// Requests that were rejected.
    rejected: u64,
    named: Named,
    directions: Directions,
    gathering: Gathering,
    identified: Identified,
    /// Blocks that commands named, by kind.
    blocks: BTreeMap<Kind, u64>,
    /// Commands that were completed, by kind.
    operations: BTreeMap<Kind, Sums>,
    /// Each with its queue, in their order, as far as they are kept.
    done: Vec<(usize, queue::Done)>,
    keep: usize,
    span: Option<[i64; 2]>,
    doubt: Doubt,
    cut_capsules: u64,
    not_followed: u64,
}

/// Commands of one kind: of this host to this controller, on the admin queue or not, to this namespace.
type Kind = (Who, bool, Command, Option<u32>);

#[derive(Debug)]
struct Way {
    role: Role,
    transfers: Transfers<Moved>,
}

impl Way {
    fn new(role: Role) -> Way {
        Way { role, transfers: Transfers::default() }
    }
}

/// To which end of a queue a direction goes.
#[derive(Clone, Copy, Debug)]
enum Role {
    ToController(usize),
    ToHost(usize),
}

impl Role {
    fn queue(self) -> usize {
        let (Role::ToController(at) | Role::ToHost(at)) = self;
        at
    }
}

/// A request for a connection of an NVMe queue.
#[derive(Clone, Copy, Debug)]
struct Request {
    host_qp: u32,
    /// Of what the controller sends.
    first_psn: Psn,
    queue: u16,
    entries: u32,
    /// Of an I/O queue; hosts before version 1.1 say none.
    controller_id: Option<u16>,
}

/// What is read of a packet.
struct Packet<'a> {
    d: &'a Dissection<'a>,
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
        let key = Key { src, dst, qp: bth.dest_qp().0 };
        self.on_packet(&Packet {
            d,
            key,
            shape,
            psn: bth.psn().0,
            time,
            frame,
            place: record.interface,
            payload: d.payload(),
            len: d.payload_len(),
            reth: d.get(),
            aeth: d.get(),
        });
    }

    /// What the frames show.
    pub fn finish(mut self) -> Report {
        for held in self.doubt.release() {
            held.with(|frame, record, d| self.read(frame, record, d));
        }
        // Nothing says any more that they came.
        for at in 0..self.queues.len() {
            self.release(at, |held| !held.is_elsewhere);
            self.settle(at, |_| true);
        }
        rows::report(self)
    }

    fn on_management(&mut self, d: &Dissection<'_>, [src, dst]: [Address; 2], time: i64, frame: u64) {
        if let Some(req) = d.get::<CmReq>() {
            let Some(request) = Request::of(d, req) else { return };
            let is_set_up = |&at: &usize| {
                let of = &self.queues[at];
                of.ended.is_none() && of.host_qp == Some(request.host_qp)
            };
            // One that is repeated, and comes late.
            if self.named.repeated((src, req.local_comm_id().0), time).filter(is_set_up).is_some() {
                return;
            }
            self.requests.add(src, req.local_comm_id().0, request);
        }
        if let Some(rep) = d.get::<CmRep>() {
            let Some(request) = self.requests.take(dst, rep.remote_comm_id().0) else { return };
            let controller_qp = rep.local_qpn().0;
            let to = Key { src: dst, dst: src, qp: controller_qp };
            let sides = [(dst, rep.remote_comm_id().0), (src, rep.local_comm_id().0)];
            if let Some(at) = self.add_queue(to, time, frame) {
                self.named.add(sides, at, time);
                let of = &mut self.queues[at];
                (of.is_proved, of.number, of.entries) = (true, Some(request.queue), Some(request.entries));
                of.controller_id = request.controller_id;
                self.bind(at, request.host_qp);
                let back = Key { src, dst, qp: request.host_qp };
                for (key, psn) in [(to, rep.starting_psn()), (back, request.first_psn)] {
                    if let Some(way) = self.ways.get_mut(&key) {
                        way.transfers.requests.starts_with(psn.0);
                    }
                }
            }
        }
        if let Some(rej) = d.get::<CmRej>() {
            self.rejected += u64::from(self.requests.take(dst, rej.remote_comm_id().0).is_some());
        }
        let of_way = |key| self.ways.get(&key).map(|way| way.role.queue());
        if let Some((at, by)) = self.named.ended(d, [src, dst], of_way) {
            self.queues[at].end(Ending { time, frame, by: Some(by) });
        }
    }

    /// The number of a new queue; `None` where there are too many.
    fn add_queue(&mut self, to: Key, time: i64, frame: u64) -> Option<usize> {
        let at = self.queues.len();
        if at >= MOST_QUEUES {
            self.not_followed += 1;
            return None;
        }
        self.queues.push(Queue::new(at, to.src, to.dst, to.qp));
        // A queue pair that is used again has another queue.
        if let Some(old) = self.ways.insert(to, Way::new(Role::ToController(at))) {
            self.queues[old.role.queue()].end(Ending { time, frame, by: None });
        }
        self.half_known.add(to, at);
        Some(at)
    }

    /// The host's queue pair of a queue is known.
    fn bind(&mut self, at: usize, host_qp: u32) {
        let of = &mut self.queues[at];
        of.host_qp = Some(host_qp);
        let (host, controller) = (of.host, of.controller);
        self.half_known.remove(host, controller, at);
        let back = Key { src: controller, dst: host, qp: host_qp };
        self.ways.insert(back, Way::new(Role::ToHost(at)));
    }

    /// Whether its direction is one of a queue. One that was closed has no packets with other PSNs: its queue pairs are used again, and that
    /// set-up was not captured.
    fn is_known(&mut self, packet: &Packet<'_>) -> bool {
        let Some(way) = self.ways.get(&packet.key) else { return false };
        let at = way.role.queue();
        let of = &self.queues[at];
        let is_closed = of.ended.is_some_and(|end| end.by.is_some() && packet.time > end.time);
        if !is_closed || !is_of_asking(packet.shape) || !way.transfers.requests.is_elsewhere(packet.psn) {
            return true;
        }
        for key in [of.key_back(false), of.key_back(true)].into_iter().flatten() {
            if self.ways.get(&key).is_some_and(|way| way.role.queue() == at) {
                self.ways.remove(&key);
            }
        }
        self.half_known.remove(of.host, of.controller, at);
        false
    }

    fn on_packet(&mut self, packet: &Packet<'_>) {
        let Some(operation) = packet.shape.operation else { return };
        // Most packets of a capture are of no queue: their ICRCs need no look.
        let is_known = self.is_known(packet);
        if !is_known && !self.may_be_of_queue(packet, operation)
            || !self.doubt.accepts(packet.d)
            || !is_known && !self.finds_queue(packet, operation)
        {
            return;
        }
        let Some(way) = self.ways.get_mut(&packet.key) else { return };
        let role = way.role;
        let (at, to_controller) = (role.queue(), matches!(role, Role::ToController(_)));
        let of = &mut self.queues[at];
        let directions = &self.directions;
        let tap = of.taps.look(to_controller, packet.place, |tap| {
            directions.has_seen_at(packet.key.src, packet.key.dst, tap)
        });
        match (tap, operation) {
            (Tap::Behind, Operation::Acknowledge) => return,
            (Tap::Before, _) => {
                if let Some(held) =
                    packet.held(true).filter(|held| !way.transfers.requests.has_sent(held.psn))
                {
                    of.hold(held);
                }
                return;
            }
            _ => {}
        }
        let piece = packet.piece(operation);
        let seen = way.transfers.see(&piece, tap == Tap::Here);
        if seen == Seen::Copy {
            return;
        }
        let mut answer = None;
        if let Some(back) = of.key_back(to_controller)
            && let Some(back) = self.ways.get_mut(&back)
        {
            answer = back.transfers.hear(&piece, seen);
            while let Some((psn, moved)) = back.transfers.take_acked() {
                if let Some(moving) = of.moving(moved) {
                    moving.acked(psn, packet.time);
                }
            }
            if to_controller && !of.taken.is_empty() {
                let progress = &back.transfers.requests;
                match answer {
                    Some(Answer::Again(_)) => of.take_back(packet.psn, packet.time, progress),
                    Some(Answer::Came) => {
                        let is_acked = |taken: &mut Taken| progress.is_acked(taken.held.psn);
                        let acked: Vec<Taken> = of.taken.extract_if(.., is_acked).collect();
                        acked.into_iter().for_each(|taken| self.settle_one(at, taken));
                    }
                    None => {}
                }
            }
        }
        match role {
            Role::ToController(at) => self.on_to_controller(at, packet, operation),
            Role::ToHost(at) => self.on_to_host(at, packet, (operation, seen)),
        }
        if !self.queues[at].held.is_empty() {
            self.decide_held(at, packet, (to_controller, answer == Some(Answer::Came), seen));
        }
    }

    /// Responses that were held: which the host took.
    #[cold]
    fn decide_held(
        &mut self,
        at: usize,
        packet: &Packet<'_>,
        (to_controller, is_answer, seen): (bool, bool, Seen),
    ) {
        let Some(way) = self.queues[at].key_back(true).and_then(|key| self.ways.get(&key)) else { return };
        let progress = &way.transfers.requests;
        match seen {
            _ if to_controller && is_answer => {
                let held = self.queues[at].held.iter().map(|held| held.psn);
                let acked: Vec<u32> = held.filter(|&psn| progress.is_acked(psn)).collect();
                self.release(at, |held| acked.contains(&held.psn));
            }
            // What was missing came. If the host kept what was behind it, it is taken now, and not sent again.
            Seen::Late | Seen::Again if !to_controller => {
                let held = self.queues[at].held.iter_mut();
                let is_whole = |held: &&mut Held| {
                    !held.is_elsewhere
                        && Progress::is_before(packet.psn, held.psn)
                        && !progress.is_behind_gap(held.psn)
                };
                held.filter(is_whole).for_each(|held| held.time = held.time.max(packet.time));
            }
            _ => {}
        }
    }

    /// Completes the commands of responses that were held.
    fn release(&mut self, at: usize, is_taken: impl Fn(&Held) -> bool) {
        let held = std::mem::take(&mut self.queues[at].held);
        let (taken, rest): (Vec<Held>, Vec<Held>) = held.into_iter().partition(is_taken);
        self.queues[at].held = rest;
        for held in taken {
            self.complete(at, &held);
        }
    }

    /// A response that the host took.
    fn complete(&mut self, at: usize, held: &Held) {
        let of = &mut self.queues[at];
        let ways = [of.key_back(false), of.key_back(true)].map(|key| self.ways.get(&key?));
        let progress =
            ways.into_iter().flatten().flat_map(|way| [&way.transfers.requests, &way.transfers.responses]);
        of.complete(held, progress, (&mut self.gathering, &mut self.identified));
        if of.taken.len() > MOST_UNSURE {
            let sure: Vec<Taken> = of.taken.drain(..MOST_UNSURE / 2).collect();
            sure.into_iter().for_each(|taken| self.settle_one(at, taken));
        }
    }

    /// Commands whose response the host took for sure.
    fn settle(&mut self, at: usize, is_sure: impl Fn(&Taken) -> bool) {
        let settled: Vec<Taken> = self.queues[at].taken.extract_if(.., |taken| is_sure(taken)).collect();
        settled.into_iter().for_each(|taken| self.settle_one(at, taken));
    }

    fn settle_one(&mut self, at: usize, taken: Taken) {
        let completed = self.queues[at].settle(taken);
        completed.into_iter().for_each(|done| self.count(at, done));
    }

    /// Whether [`finds_queue`](Self::finds_queue) may find one.
    fn may_be_of_queue(&self, packet: &Packet<'_>, operation: Operation) -> bool {
        packet.may_be_command(operation) || !self.half_known.answered_by(packet.key).is_empty()
    }

    /// Whether a packet of a direction that is not known is of a queue: a command begins one, a response or an acknowledgement is of one.
    fn finds_queue(&mut self, packet: &Packet<'_>, operation: Operation) -> bool {
        if packet.may_be_command(operation) {
            if packet.payload.len() < capsule::SQE {
                self.cut_capsules += 1;
                return false;
            }
            return Sqe::read(packet.payload).is_some()
                && self.add_queue(packet.key, packet.time, packet.frame).is_some();
        }
        let [src, dst] = [packet.key.src, packet.key.dst];
        let waiting = self.half_known.answered_by(packet.key);
        let response = match operation {
            Operation::Send if packet.len as usize == CQE => Cqe::read(packet.payload),
            _ => None,
        };
        let is_of = |&&at: &&usize| match &response {
            Some(response) => self.queues[at].has_open(response.id()),
            None if operation == Operation::Acknowledge && !packet.is_nak() => {
                let to = Key { src: dst, dst: src, qp: self.queues[at].controller_qp };
                self.ways.get(&to).is_some_and(|way| way.transfers.requests.has_sent(packet.psn))
            }
            None => false,
        };
        let mut found = waiting.iter().filter(is_of);
        let (Some(&at), None) = (found.next(), found.next()) else { return false };
        self.bind(at, packet.key.qp);
        true
    }

    fn on_to_controller(&mut self, at: usize, packet: &Packet<'_>, operation: Operation) {
        let Some(way) = self.ways.get_mut(&packet.key) else { return };
        let of = &mut self.queues[at];
        match operation {
            Operation::Send if packet.shape.begins => match Sqe::read(packet.payload) {
                Some(sqe) => {
                    // The host took the response: it uses the number again.
                    if of.held.iter().any(|held| held.id() == sqe.id()) && !of.has_sent(sqe.id(), packet.psn)
                    {
                        self.release(at, |held| held.id() == sqe.id());
                    }
                    let of = &self.queues[at];
                    let is_of = |taken: &Taken| taken.held.id() == sqe.id();
                    if of.taken.iter().any(is_of) && !of.has_sent(sqe.id(), packet.psn) {
                        self.settle(at, is_of);
                    }
                    self.queues[at].begin(&sqe, packet, &mut self.gathering);
                }
                None if packet.payload.len() < capsule::SQE => self.cut_capsules += 1,
                None => of.misfits += 1,
            },
            Operation::Send => of.on_capsule_data(packet, &mut self.gathering),
            Operation::ReadResponse => {
                if let Some((moved, is_first)) = way.transfers.read_by(packet.psn) {
                    if is_first && of.is_open(moved) {
                        self.gathering.part((at, moved.id), moved.from, packet.psn);
                    }
                    of.on_data(moved, packet, &mut self.gathering);
                    if packet.shape.ends
                        && way.transfers.end_read(packet.psn)
                        && let Some(moving) = of.moving(moved)
                    {
                        moving.read_ended(packet.time);
                    }
                }
            }
            _ => {}
        }
    }

    fn on_to_host(&mut self, at: usize, packet: &Packet<'_>, (operation, seen): (Operation, Seen)) {
        let of = &mut self.queues[at];
        let to = Key { src: packet.key.dst, dst: packet.key.src, qp: of.controller_qp };
        match operation {
            Operation::Send if packet.shape.begins && packet.shape.ends && packet.len as usize == CQE => {
                let Some(held) = packet.held(false) else {
                    self.cut_capsules += 1;
                    return;
                };
                if of.has_taken(&held) {
                    return;
                }
                let way = self.ways.get(&packet.key);
                if way.is_some_and(|way| way.transfers.requests.is_untaken(packet.psn)) {
                    of.hold(held);
                    return;
                }
                of.drop_held(packet.psn);
                self.complete(at, &held);
            }
            Operation::Send => of.misfits += 1,
            Operation::ReadRequest => {
                let Some((reth, moved)) = packet.reth.and_then(|reth| Some((reth, of.with_memory(reth)?)))
                else {
                    return;
                };
                if let Some(way) = self.ways.get_mut(&to) {
                    let is_again = seen == Seen::Again;
                    let reading = way.transfers.await_read(&packet.piece(operation), reth, moved, is_again);
                    if let Some(moving) = of.moving(moved) {
                        moving.read(packet.time, reading);
                    }
                }
            }
            Operation::Write => {
                let Some(way) = self.ways.get_mut(&packet.key) else { return };
                if let Some(reth) = packet.reth
                    && let Some(moved) = of.with_memory(reth)
                {
                    way.transfers.begin_write(&packet.piece(operation), reth, moved);
                    self.gathering.part((at, moved.id), moved.from, packet.psn);
                }
                if let Some((moved, _)) = way.transfers.written_by(packet.psn) {
                    of.on_data(moved, packet, &mut self.gathering);
                    if packet.shape.ends {
                        way.transfers.await_ack(packet.psn, moved);
                    }
                }
            }
            _ => {}
        }
    }
}

impl Commands {
    /// A completed command.
    fn count(&mut self, at: usize, done: queue::Done) {
        let of = &self.queues[at];
        if done.is_counted {
            let kind = (of.who(), of.is_admin(), done.command, done.namespace);
            if let Some((_, blocks)) = done.blocks.filter(|_| !done.status.is_error()) {
                match self.blocks.get_mut(&kind) {
                    Some(sum) => *sum = sum.saturating_add(blocks.into()),
                    None => drop(self.blocks.insert(kind.clone(), blocks.into())),
                }
            }
            done.add_to(self.operations.entry(kind).or_default());
        }
        if self.done.len() < self.keep {
            self.done.push((at, done));
        }
    }
}

impl Packet<'_> {
    fn piece(&self, operation: Operation) -> Piece<'_> {
        let &Packet { shape, psn, time, len, reth, aeth, .. } = self;
        Piece { operation, shape, psn, time, len, reth, aeth }
    }

    /// The response that it is.
    fn held(&self, is_elsewhere: bool) -> Option<Held> {
        let is_one = self.shape.operation == Some(Operation::Send) && self.shape.begins && self.shape.ends;
        let response = self.payload.try_into().ok().filter(|_| is_one && self.len as usize == CQE)?;
        Some(Held { psn: self.psn, time: self.time, response, is_elsewhere })
    }

    fn is_nak(&self) -> bool {
        self.aeth.is_some_and(|aeth| aeth.syndrome().is_nak())
    }

    /// Whether it is as long as a command.
    fn may_be_command(&self, operation: Operation) -> bool {
        operation == Operation::Send && self.shape.begins && self.len as usize >= capsule::SQE
    }
}

impl Request {
    /// `None` if it is not for a queue of NVMe.
    fn of(d: &Dissection<'_>, req: &CmReq) -> Option<Request> {
        let asks = d.get::<NvmeCmReq>()?;
        Some(Request {
            host_qp: req.local_qpn().0,
            first_psn: req.starting_psn(),
            queue: asks.qid().0,
            entries: u32::from(asks.hsqsize().0) + 1,
            controller_id: Some(asks.cntlid().0).filter(|&id| id != 0 && asks.qid().0 != 0),
        })
    }
}
