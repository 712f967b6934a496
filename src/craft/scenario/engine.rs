//! The clock: what happens when, to whom, and the record of it all.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};

use super::{
    Connection, Encapsulation, End, Error, IpId, Operation, Scenario, Side, Tap, UdpPort, Verb, check,
    manage::Management,
    network::{Held, Target},
    qp::Qp,
    rng::{Rng, splitmix},
};
use crate::{
    opcode::Opcode,
    wire::{Mac, Psn, Qpn, Udp},
};

/// The end of time, in ns.
const END: u64 = 4_000_000_000_000_000_000;

/// No such thing, in an index.
pub(super) const NONE: u32 = u32::MAX;

/// Why a packet was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// For the first time.
    #[default]
    First,
    /// Again: a sequence NAK came.
    Nak,
    /// Again: no answer came in time.
    Timeout,
    /// Again: the responder had not been ready.
    Rnr,
    /// Again: a response, or an acknowledgement of something later, came in place of the response that was due.
    ImpliedNak,
    /// A response again: its request came again.
    Duplicate,
}

/// A flow: what one queue pair sends to another.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Sending host: its index.
    pub src: u32,
    /// Receiving host: its index.
    pub dst: u32,
    /// Destination queue pair.
    pub dest_qp: u32,
    /// Which user of this number it is, from 0.
    pub epoch: u32,
    /// The sender's own queue pair: the peer's destination.
    pub peer_qp: u32,
    /// Index into [`Run::connections`]; `None` for connection management.
    pub connection: Option<u32>,
    /// The flow of the opposite direction: an index into [`Run::flows`].
    pub back: u32,
    pub(super) sender: u32,
    pub(super) receiver: u32,
}

/// One packet that a host sent, once.
#[derive(Clone, Copy, Debug)]
pub struct Transmission {
    /// When it began to leave the host, in ns from the beginning.
    pub sent: u64,
    /// Packet sequence number, counted on through wraps: the lower 24 bits are those of the wire.
    pub psn: u64,
    /// Index into [`Run::flows`].
    pub flow: u32,
    /// Index into [`Run::messages`], where it belongs to one.
    pub message: u32,
    /// Bytes of the message before it.
    pub offset: u32,
    /// PSNs it takes: more than one for READ requests only.
    pub count: u32,
    /// PSNs right before it that nobody sends packets of in this space: a READ response's neighbours may be WRITEs.
    pub jump: u32,
    /// The first transmission of this PSN: an index into [`Run::transmissions`].
    pub original: u32,
    /// Which retransmission episode it belongs to: an index into [`Run::episodes`].
    pub episode: u32,
    /// MSN of an AETH.
    pub msn: u32,
    /// UDP source port.
    pub udp_port: u16,
    /// IPv4 identification.
    pub ip_id: u16,
    /// Payload bytes.
    pub payload: u16,
    /// The how-manieth transmission of this PSN it is in its space, from 1.
    pub ordinal: u16,
    /// Operation code.
    pub opcode: Opcode,
    /// AETH syndrome.
    pub syndrome: u8,
    /// Why it was sent.
    pub cause: Cause,
    /// AckReq bit.
    pub ack_req: bool,
    /// MigReq bit.
    pub mig_req: bool,
    /// The receiver had taken all of it when it was sent.
    pub needless: bool,
}

/// A message.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Its flow.
    pub flow: u32,
    /// The how-manieth of its requester, from 1.
    pub number: u64,
    /// What it does.
    pub verb: Verb,
    /// Bytes.
    pub len: u32,
    /// First PSN, counted on through wraps.
    pub psn: u64,
    /// PSNs it takes.
    pub count: u32,
    /// When the requester knew that it was done.
    pub completed: Option<u64>,
}

/// A rewind of a requester.
#[derive(Clone, Copy, Debug)]
pub struct Episode {
    /// In which flow.
    pub flow: u32,
    /// Why.
    pub cause: Cause,
    /// When.
    pub at: u64,
    /// To which PSN.
    pub psn: u64,
    /// Whether the responder had already taken that PSN, and its answer to it was lost on the way.
    pub answer_lost: bool,
}

/// A copy of a transmission on its way: the network makes more than one where it duplicates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Journey {
    pub(super) tx: u32,
    /// The segment that lost it.
    pub(super) lost: u8,
    /// The segment that damaged it.
    pub(super) corrupt: u8,
    pub(super) ecn: u8,
    pub(super) path: u8,
    pub(super) bit: u32,
    pub(super) delivered: bool,
}

/// A PAUSE or PFC frame.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// Which end of the tapped link sent it.
    pub from: Side,
    /// Of which priority; `None` for IEEE 802.3 PAUSE.
    pub priority: Option<u8>,
    /// For how long; 0 ends a pause.
    pub quanta: u16,
}

/// A frame passing a tap.
#[derive(Clone, Copy, Debug)]
pub struct Sighting {
    /// When, in ns from the beginning.
    pub time: u64,
    pub(super) journey: u32,
    pub(super) control: u32,
    pub(super) sequence: u32,
    pub(super) ecn: u8,
    pub(super) ttl: u8,
    /// Whether it is in the capture.
    pub recorded: bool,
    /// Whether the mirror had copied it before.
    pub again: bool,
}

/// What one tap saw.
#[derive(Clone, Debug)]
pub struct Capture {
    /// The tap.
    pub tap: Tap,
    /// All that passed it, in order.
    pub sightings: Vec<Sighting>,
    pub(super) passed: u64,
    pub(super) burst_left: u64,
    pub(super) sequence: u32,
    pub(super) rng: Rng,
}

/// What happened.
#[derive(Debug)]
pub struct Run {
    /// The scenario with its defaults filled in.
    pub scenario: Scenario,
    /// Every connection: copies one by one, numbered and seeded.
    pub connections: Vec<Connection>,
    /// Every flow.
    pub flows: Vec<Flow>,
    /// Every message.
    pub messages: Vec<Message>,
    /// Every packet sent, in the order of sending.
    pub transmissions: Vec<Transmission>,
    /// Every rewind.
    pub episodes: Vec<Episode>,
    /// Every PAUSE and PFC frame.
    pub controls: Vec<Control>,
    /// Every tap's record.
    pub captures: Vec<Capture>,
    pub(super) journeys: Vec<Journey>,
}

impl Run {
    pub(super) fn side(&self, host: u32) -> Side {
        self.scenario.host[host as usize].side.unwrap_or(if host == 0 { Side::Left } else { Side::Right })
    }

    /// Which way a flow's packets go.
    pub(super) fn way(&self, flow: u32) -> Side {
        self.side(self.flows[flow as usize].dst)
    }

    /// Whether a packet going that way crosses the segment before it comes to the tap.
    pub(super) fn is_before(&self, way: Side, segment: u8, tap: &Tap) -> bool {
        match way {
            Side::Right => (segment as u32) < tap.after,
            Side::Left => (segment as u32) >= tap.after,
        }
    }

    /// A host's Ethernet address.
    pub(super) fn mac(&self, host: u32) -> Mac {
        let given = self.scenario.host[host as usize].mac.as_deref().and_then(|mac| mac.parse().ok());
        given.unwrap_or(Mac([2, 0, 0, 0, ((host + 1) >> 8) as u8, (host + 1) as u8]))
    }
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// A host's link is free.
    Free(u32),
    /// A journey comes to a point of the road.
    Arrive(u32, u8),
    /// A queue pair may have something to send.
    Wake(u32),
    /// A requester's timer may have run out.
    Timer(u32),
    /// Acknowledgements that were held back go.
    Acknowledge(u32),
    /// A connection begins.
    Begin(u32),
    /// A mirror's second copy: tap and sighting.
    Again(u32, u32),
    /// What a segment holds back has waited long enough: slot and journey.
    Release(u32, u32),
    /// A PAUSE frame: which pause.
    Pause(u32),
    /// A pause is over.
    Unpause(u32, u8),
}

/// A host.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) rate: u64,
    pub(super) busy: bool,
    pub(super) ready: std::collections::VecDeque<u32>,
    /// Notifications and connection management: they go first.
    pub(super) control: std::collections::VecDeque<u32>,
    pub(super) paused: [u64; 8],
    pub(super) ip_id: u16,
}

/// The world.
pub(super) struct Sim {
    pub(super) run: Run,
    pub(super) now: u64,
    pub(super) order: u64,
    pub(super) heap: BinaryHeap<Reverse<(u64, u64, What)>>,
    pub(super) qps: Vec<Qp>,
    pub(super) ports: Vec<Port>,
    pub(super) rngs: Vec<[Rng; 2]>,
    pub(super) path_rng: Rng,
    pub(super) held: Vec<Vec<Held>>,
    pub(super) targets: Vec<Vec<Target>>,
    pub(super) refusals: HashMap<(u32, u64), (u64, bool)>,
    pub(super) notified: HashMap<(u32, u64), u64>,
    /// Per connection: its two management flows, and how far the handshake is.
    pub(super) cm: Vec<Option<Management>>,
    pub(super) gsi_psn: Vec<u64>,
    pub(super) pauses: Vec<u64>,
    pub(super) full: bool,
}

/// Play a scenario.
///
/// # Errors
/// What does not make sense in it: an unknown host, a value out of range, more packets than its limit.
pub fn run(scenario: &Scenario) -> Result<Run, Error> {
    let mut sim = Sim::new(scenario.clone())?;
    sim.play()?;
    Ok(sim.run)
}

impl Sim {
    fn new(mut scenario: Scenario) -> Result<Sim, Error> {
        check::fill_in(&mut scenario)?;
        let connections = check::expand(&scenario)?;
        let seed = scenario.seed;
        let mut ports = Vec::new();
        for (i, host) in scenario.host.iter().enumerate() {
            let mut state = seed ^ i as u64;
            ports.push(Port {
                rate: host.rate.unwrap_or(scenario.rate).0,
                busy: false,
                ready: Default::default(),
                control: Default::default(),
                paused: [0; 8],
                ip_id: splitmix(&mut state) as u16,
            });
        }
        let captures = scenario.tap.iter().enumerate().map(|(i, tap)| Capture {
            tap: tap.clone(),
            sightings: Vec::new(),
            passed: 0,
            burst_left: 0,
            sequence: 0,
            rng: Rng::new(seed, 0x7a00 + i as u64),
        });
        let segments = scenario.segment.len();
        let rng = |i: usize, way| Rng::new(seed, 0x5e00 + 2 * i as u64 + way);
        let mut sim = Sim {
            now: 0,
            order: 0,
            heap: BinaryHeap::new(),
            qps: Vec::new(),
            ports,
            rngs: (0..segments).map(|i| [rng(i, 0), rng(i, 1)]).collect(),
            path_rng: Rng::new(seed, 0x9a00),
            held: vec![Vec::new(); 2 * segments],
            targets: Vec::new(),
            refusals: HashMap::new(),
            notified: HashMap::new(),
            cm: Vec::new(),
            gsi_psn: vec![1 << 24; scenario.host.len()],
            pauses: scenario.pause.iter().map(|pause| pause.at.0).collect(),
            full: false,
            run: Run {
                captures: captures.collect(),
                scenario,
                connections,
                flows: Vec::new(),
                messages: Vec::new(),
                transmissions: Vec::new(),
                episodes: Vec::new(),
                controls: Vec::new(),
                journeys: Vec::new(),
            },
        };
        sim.connect()?;
        sim.aim()?;
        for i in 0..sim.run.connections.len() as u32 {
            sim.at(sim.run.connections[i as usize].start.0, What::Begin(i));
        }
        for i in 0..sim.pauses.len() as u32 {
            sim.at(sim.pauses[i as usize], What::Pause(i));
        }
        Ok(sim)
    }

    /// Make queue pairs and flows of the connections.
    fn connect(&mut self) -> Result<(), Error> {
        let find = |name: &str| self.run.scenario.host.iter().position(|host| host.name == name);
        let mut gsi: HashMap<(u32, u32), u32> = HashMap::new();
        let mut flows: Vec<Flow> = Vec::new();
        for (i, connection) in self.run.connections.iter().enumerate() {
            let host = |name: &str| {
                find(name).map(|host| host as u32).ok_or_else(|| {
                    Error::new(format!("connection {:?}: no host is called {name:?}", connection.name))
                })
            };
            let ends = [host(&connection.from)?, host(&connection.to)?];
            if self.run.side(ends[0]) == self.run.side(ends[1]) {
                return Err(Error::new(format!(
                    "connection {:?}: {} and {} stand on the same side of the road: expected one left, one right",
                    connection.name, connection.from, connection.to
                )));
            }
            let qp = connection.qp.unwrap_or_default();
            let psn = connection.psn.unwrap_or_default();
            let index = self.qps.len() as u32;
            for end in 0..2 {
                let flow = flows.len() as u32;
                flows.push(Flow {
                    src: ends[end],
                    dst: ends[1 - end],
                    dest_qp: qp[1 - end],
                    epoch: 0,
                    peer_qp: qp[end],
                    connection: Some(i as u32),
                    back: if end == 0 { flow + 1 } else { flow - 1 },
                    sender: index + end as u32,
                    receiver: index + 1 - end as u32,
                });
                let by = [End::From, End::To][end];
                let operations: Vec<Operation> =
                    connection.operations.iter().filter(|op| op.by == by).cloned().collect();
                let starts = [psn[end], psn[1 - end]].map(|psn| psn as u64 + Psn::SPACE as u64);
                self.qps.push(Qp::new(
                    i as u32,
                    ends[end],
                    flow,
                    index + 1 - end as u32,
                    starts,
                    operations,
                    connection,
                ));
            }
            for name in &connection.also_to {
                self.qps[index as usize].also.push(flows.len() as u32);
                flows.push(Flow {
                    dst: host(name)?,
                    receiver: NONE,
                    ..flows[self.qps[index as usize].flow as usize].clone()
                });
            }
            self.cm.push(connection.cm.then(|| {
                let mut flow = |src: u32, dst: u32| {
                    *gsi.entry((src, dst)).or_insert_with(|| {
                        flows.push(Flow {
                            src,
                            dst,
                            dest_qp: 1,
                            epoch: 0,
                            peer_qp: 1,
                            connection: None,
                            back: NONE,
                            sender: NONE,
                            receiver: NONE,
                        });
                        flows.len() as u32 - 1
                    })
                };
                Management { flows: [flow(ends[0], ends[1]), flow(ends[1], ends[0])], closing: false }
            }));
        }
        // A number that is used again begins an epoch, in the order of time.
        let mut order: Vec<usize> = (0..flows.len()).collect();
        order.sort_by_key(|&i| flows[i].connection.map_or(0, |c| self.run.connections[c as usize].start.0));
        let mut users: HashMap<(u32, u32, u32), u32> = HashMap::new();
        for i in order {
            let users = users.entry((flows[i].src, flows[i].dst, flows[i].dest_qp)).or_default();
            flows[i].epoch = *users;
            *users += 1;
        }
        self.targets = vec![Vec::new(); flows.len()];
        self.run.flows = flows;
        Ok(())
    }

    pub(super) fn at(&mut self, time: u64, what: What) {
        self.order += 1;
        self.heap.push(Reverse((time.max(self.now), self.order, what)));
    }

    fn play(&mut self) -> Result<(), Error> {
        let stop = self.run.scenario.stop.map_or(u64::MAX, |stop| stop.0);
        while let Some(Reverse((time, _, what))) = self.heap.pop() {
            if time > stop.min(END) {
                break;
            }
            self.now = time;
            match what {
                What::Free(host) => {
                    self.ports[host as usize].busy = false;
                    self.transmit(host);
                }
                What::Arrive(journey, point) => self.arrive(journey, point),
                What::Wake(qp) => {
                    if self.qps[qp as usize].wake == time {
                        self.qps[qp as usize].wake = u64::MAX;
                    }
                    self.ready(qp);
                }
                What::Timer(qp) => self.timer(qp),
                What::Acknowledge(qp) => self.flush(qp),
                What::Begin(connection) => self.begin(connection),
                What::Again(tap, sighting) => self.record_again(tap, sighting),
                What::Release(slot, journey) => self.release(slot, journey),
                What::Pause(pause) => self.pause(pause),
                What::Unpause(host, priority) => {
                    if self.ports[host as usize].paused[priority as usize] <= time {
                        self.wake_host(host);
                    }
                }
            }
            if self.full {
                let limit = self.run.scenario.limit;
                return Err(Error::new(format!(
                    "more than {limit} packets: raise `limit`, or `stop` earlier"
                )));
            }
        }
        Ok(())
    }

    fn wake_host(&mut self, host: u32) {
        for qp in 0..self.qps.len() as u32 {
            if self.qps[qp as usize].host == host {
                self.ready(qp);
            }
        }
    }

    /// Put a queue pair in its host's queue, and start the link if it is idle.
    pub(super) fn ready(&mut self, qp: u32) {
        let state = &mut self.qps[qp as usize];
        let host = state.host;
        if !state.ready {
            state.ready = true;
            self.ports[host as usize].ready.push_back(qp);
        }
        self.transmit(host);
    }

    /// Send what is next on a host's link, if that is free.
    pub(super) fn transmit(&mut self, host: u32) {
        if self.ports[host as usize].busy {
            return;
        }
        let tx = loop {
            let port = &mut self.ports[host as usize];
            if let Some(tx) = port.control.pop_front() {
                break tx;
            }
            let Some(qp) = port.ready.pop_front() else { return };
            self.qps[qp as usize].ready = false;
            let connection = self.qps[qp as usize].connection as usize;
            let priority = (self.run.connections[connection].dscp >> 3) as usize;
            if self.ports[host as usize].paused[priority] > self.now {
                continue;
            }
            if let Some(tx) = self.poll(qp) {
                let state = &mut self.qps[qp as usize];
                if !state.ready {
                    state.ready = true;
                    self.ports[host as usize].ready.push_back(qp);
                }
                break tx;
            }
        };
        let t = self.run.transmissions[tx as usize];
        let bits = 8 * self.wire_len(&t) as u64;
        let port = &mut self.ports[host as usize];
        port.busy = true;
        let took = (bits * 1_000_000_000).div_ceil(port.rate).max(1);
        let freed = self.now + took;
        self.run.transmissions[tx as usize].sent = self.now;
        self.at(freed, What::Free(host));
        self.depart(tx, freed);
    }

    /// Number a packet that is about to leave, and keep it.
    pub(super) fn send(&mut self, host: u32, mut t: Transmission) -> u32 {
        let port = &mut self.ports[host as usize];
        port.ip_id = port.ip_id.wrapping_add(1);
        t.ip_id = port.ip_id;
        if let Some(connection) = self.run.flows[t.flow as usize].connection
            && self.run.connections[connection as usize].ip_id == IpId::Constant
        {
            t.ip_id = 0;
        }
        let index = self.run.transmissions.len() as u32;
        if index >= self.run.scenario.limit {
            self.full = true;
        }
        t.sent = self.now;
        self.run.transmissions.push(t);
        index
    }

    /// Bytes that a packet takes on its first link, preamble and gap included.
    fn wire_len(&self, t: &Transmission) -> u32 {
        let extended: usize =
            t.opcode.chain().iter().filter_map(|kind| kind.info()).map(|info| info.len).sum();
        let padded = (t.payload as u32).next_multiple_of(4);
        let flow = &self.run.flows[t.flow as usize];
        let connection = flow.connection.map(|i| &self.run.connections[i as usize]);
        let v6 = self.run.scenario.host[flow.src as usize].address.is_ipv6();
        let transport = 12 + extended as u32 + padded + 4;
        let ethernet = |network: u32| {
            let tag = if connection.is_some_and(|c| c.vlan.is_some()) { 4 } else { 0 };
            24 + (14 + tag + network + transport).max(60)
        };
        match connection.map_or(Encapsulation::Rocev2, |c| c.encapsulation) {
            Encapsulation::Rocev2 => ethernet(if v6 { 48 } else { 28 }),
            Encapsulation::Rocev1 => ethernet(40),
            Encapsulation::Ib => 8 + transport + 2,
            Encapsulation::IbGrh => 48 + transport + 2,
        }
    }

    /// The UDP source port of a queue pair's next packet.
    pub(super) fn udp_port(&mut self, qp: u32) -> u16 {
        let state = &mut self.qps[qp as usize];
        let connection = &self.run.connections[state.connection as usize];
        let flow = &self.run.flows[state.flow as usize];
        let migrated = connection.migrate_at.is_some_and(|at| self.now >= at.0) as u16;
        let linux = Udp::linux_source_port(Qpn(flow.peer_qp), Qpn(flow.dest_qp));
        match connection.udp_port {
            UdpPort::Linux => linux ^ migrated,
            UdpPort::Fixed(port) => port ^ migrated,
            UdpPort::Spray(ports) => {
                state.sprayed = state.sprayed.wrapping_add(1);
                0xc000 | (linux.wrapping_add((state.sprayed % ports as u32) as u16) & 0x3fff)
            }
        }
    }
}
