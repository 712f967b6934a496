//! The event queue, and the record of everything that happens.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};

use super::{
    Connection, End, Error, IpId, Operation, Scenario, Side, Tap, UdpPort, Verb, check,
    manage::Management,
    network::{Held, Refusal, Target},
    qp::Qp,
    rng::Rng,
};
use crate::{
    dissect,
    in_order::InOrder,
    message::Segments,
    opcode::Opcode,
    random::{SplitMix64, mix},
    wire::{Mac, Psn, Qpn, Udp},
    wire_cost::{Contents, Envelope, FCS, GAP, PREAMBLE},
};

/// The latest time, in ns.
const END: u64 = 4_000_000_000_000_000_000;

/// An index that refers to nothing.
pub(super) const NONE: u32 = u32::MAX;

/// Why a packet was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// For the first time.
    #[default]
    First,
    /// Again, after a sequence NAK.
    Nak,
    /// Again, after a timeout.
    Timeout,
    /// Again, after an RNR NAK.
    Rnr,
    /// Again, since a later response or acknowledgement came instead of the expected response.
    ImpliedNak,
    /// A response again, since its request came again.
    Duplicate,
}

/// A flow: what one queue pair sends to another.
#[derive(Clone, Debug)]
pub struct SentFlow {
    /// Sending host: its index.
    pub src: u32,
    /// Receiving host: its index.
    pub dst: u32,
    /// Destination queue pair.
    pub dest_qp: u32,
    /// How many flows used this queue pair number before.
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
#[derive(Clone, Copy, Debug, Default)]
pub struct Transmission {
    /// When it began to leave the host, in ns from the beginning.
    pub sent: u64,
    /// Packet sequence number, counted on through wraps. Packets have its lower 24 bits.
    pub psn: u64,
    /// Index into [`Run::flows`].
    pub flow: u32,
    /// Index into [`Run::messages`], if it belongs to a message.
    pub message: u32,
    /// Bytes of the message before it.
    pub offset: u32,
    /// How many PSNs it takes: only a READ request takes more than one.
    pub count: u32,
    /// How many PSNs right before it have no packets in this space: between READ responses there may be WRITEs.
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
    /// The number of this transmission among those of its PSN, from 1.
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
    /// Whether the receiver had accepted all of it before it was sent.
    pub needless: bool,
}

impl Transmission {
    /// A first transmission that belongs to no message. [`Sim::send`] sets time, identification and `original`.
    pub(super) fn new(flow: u32, opcode: Opcode, udp_port: u16) -> Transmission {
        let none = Transmission { message: NONE, original: NONE, episode: NONE, ..Default::default() };
        Transmission { flow, opcode, udp_port, count: 1, ordinal: 1, ..none }
    }
}

/// A message.
#[derive(Clone, Copy, Debug)]
pub struct SentMessage {
    /// Its flow.
    pub flow: u32,
    /// Its number among the messages of its requester, from 1.
    pub number: u64,
    /// The operation.
    pub verb: Verb,
    /// Bytes.
    pub len: u32,
    pub(super) segments: Segments,
    /// First PSN, counted on through wraps.
    pub psn: u64,
    /// How many PSNs it takes.
    pub count: u32,
    /// When its requester learned that it was complete.
    pub completed: Option<u64>,
}

/// A rewind of a requester: it goes back and retransmits.
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
    /// Whether the responder had already accepted that PSN, so its answer was lost.
    pub answer_lost: bool,
}

/// A transmission on its way. A duplicate made by the network is a journey of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Journey {
    pub(super) tx: u32,
    /// The segment that lost it.
    pub(super) lost: u8,
    /// The segment that damaged it, or trimmed it.
    pub(super) corrupt: u8,
    pub(super) is_trimmed: bool,
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
    /// Its priority; `None` for IEEE 802.3 PAUSE.
    pub priority: Option<u8>,
    /// The pause time; 0 ends a pause.
    pub quanta: u16,
    /// The tap on its link.
    pub tap: u32,
    /// It is no pause: it says by LLDP who its sender is.
    pub is_lldp: bool,
}

/// A frame passing a tap.
#[derive(Clone, Copy, Debug)]
pub struct Sighting {
    /// When, in ns from the beginning.
    pub time: u64,
    pub(super) journey: u32,
    pub(super) control: u32,
    pub(super) sequence: u32,
    /// To which side it goes.
    pub(super) way: Side,
    pub(super) ecn: u8,
    pub(super) ttl: u8,
    /// Whether the capture has it.
    pub recorded: bool,
    /// Whether it is the second copy of a mirror.
    pub again: bool,
}

impl Sighting {
    /// A packet or a control frame that passes at this time.
    pub(super) fn new(time: u64, journey: u32, control: u32) -> Sighting {
        let way = Side::Right;
        Sighting { time, journey, control, sequence: 0, way, ecn: 0, ttl: 0, recorded: true, again: false }
    }
}

/// The record of one tap.
#[derive(Clone, Debug)]
pub struct Capture {
    /// The tap.
    pub tap: Tap,
    /// All frames that passed it, in order.
    pub sightings: Vec<Sighting>,
    /// Where frames do not stand in that order: indices of the sightings, in the order of the file.
    pub(super) order: Vec<u32>,
    pub(super) passed: u64,
    pub(super) burst_left: u64,
    pub(super) sequence: u32,
    pub(super) rng: Rng,
}

/// The record of a simulation.
#[derive(Debug)]
pub struct Run {
    /// The scenario with its defaults filled in.
    pub scenario: Scenario,
    /// Every connection, with each copy as one.
    pub connections: Vec<Connection>,
    /// Every flow.
    pub flows: Vec<SentFlow>,
    /// Every message.
    pub messages: Vec<SentMessage>,
    /// Every packet sent, in the order of sending.
    pub transmissions: Vec<Transmission>,
    /// Every rewind of a requester.
    pub episodes: Vec<Episode>,
    /// Every PAUSE and PFC frame.
    pub controls: Vec<Control>,
    /// Every tap's record.
    pub captures: Vec<Capture>,
    /// Of each event of the scenario, whether it struck a packet.
    pub struck: Vec<bool>,
    pub(super) journeys: Vec<Journey>,
}

impl Run {
    pub(super) fn side(&self, host: u32) -> Side {
        self.scenario.host[host as usize].side.unwrap_or(if host == 0 { Side::Left } else { Side::Right })
    }

    /// The side that a flow's packets go to.
    pub(super) fn way(&self, flow: u32) -> Side {
        self.side(self.flows[flow as usize].dst)
    }

    /// Whether a packet that goes this way crosses the segment before the tap.
    pub(super) fn is_before(&self, way: Side, segment: u8, tap: &Tap) -> bool {
        match way {
            Side::Right => (segment as u32) < tap.after,
            Side::Left => (segment as u32) >= tap.after,
        }
    }

    /// The headers around the transport of a flow's packets.
    pub(super) fn encapsulation(&self, flow: &SentFlow) -> dissect::Encapsulation {
        let given =
            flow.connection.map_or_else(Default::default, |c| self.connections[c as usize].encapsulation);
        given.over(self.scenario.host[flow.src as usize].address.is_ipv6())
    }

    /// A host's Ethernet address.
    pub(super) fn mac(&self, host: u32) -> Mac {
        let given = self.scenario.host[host as usize].mac.as_deref().and_then(|mac| mac.parse().ok());
        given.unwrap_or(Mac([2, 0, 0, 0, ((host + 1) >> 8) as u8, (host + 1) as u8]))
    }
}
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// A host's link becomes free.
    Free(u32),
    /// A packet comes to a point of the road.
    Arrive(u32, u8),
    /// A queue pair may have something to send.
    Wake(u32),
    /// A requester's timer may have expired.
    Timer(u32),
    /// Acknowledgements that were held back are sent.
    Acknowledge(u32),
    Begin(u32),
    /// A queue pair is gone.
    Die(u32),
    /// A mirror's second copy: tap and sighting.
    Again(u32, u32),
    /// A packet that a segment holds back has waited long enough: slot and journey.
    Release(u32, u32),
    /// A PAUSE or PFC frame of this pause.
    Pause(u32),
    /// A host's pause of a priority expires.
    Unpause(u32, u8),
    /// Both ends of a tapped link say by LLDP who they are.
    Lldp(u32),
}

/// A host.
#[derive(Debug, Default)]
pub(super) struct Port {
    pub(super) rate: u64,
    pub(super) busy: bool,
    pub(super) ready: std::collections::VecDeque<u32>,
    /// Congestion notifications and connection management, which are sent first.
    pub(super) control: std::collections::VecDeque<u32>,
    pub(super) paused: [u64; 8],
    pub(super) ip_id: u16,
}

/// The state of a simulation.
pub(super) struct Sim {
    pub(super) run: Run,
    pub(super) now: u64,
    pub(super) order: u64,
    pub(super) heap: BinaryHeap<Reverse<(u64, u64, What)>>,
    pub(super) qps: Vec<Qp>,
    pub(super) ports: Vec<Port>,
    pub(super) rngs: Vec<[Rng; 2]>,
    pub(super) path_rng: Rng,
    /// Of each flow, its last IPv4 identification.
    pub(super) ip_ids: Vec<u16>,
    pub(super) held: Vec<Vec<Held>>,
    pub(super) targets: Vec<Vec<Target>>,
    pub(super) refusals: HashMap<(u32, u64), Refusal>,
    pub(super) notified: HashMap<(u32, u64), u64>,
    /// Of each connection, the state of its handshake.
    pub(super) cm: Vec<Option<Management>>,
    pub(super) gsi_psn: Vec<u64>,
    pub(super) pauses: Vec<u64>,
    pub(super) full: bool,
}

/// Runs a scenario.
///
/// # Errors
/// An unknown host, a value out of range, more packets than its limit.
pub fn run(scenario: &Scenario) -> Result<Run, Error> {
    let mut sim = Sim::new(scenario.clone())?;
    sim.play()?;
    sim.run.captures.iter_mut().for_each(Capture::untidy);
    Ok(sim.run)
}

impl Run {
    /// Bytes that a packet takes on its first link, preamble and gap included.
    fn l1_bytes(&self, t: &Transmission) -> u32 {
        let flow = &self.flows[t.flow as usize];
        let tagged = flow.connection.is_some_and(|c| self.connections[c as usize].vlan.is_some());
        let envelope = Envelope::new(self.encapsulation(flow)).with_vlans(tagged as u8);
        envelope.l1_bytes(Contents::new(t.opcode, t.payload as u32).len())
    }

    /// Bytes of its frame, without frame check sequence.
    pub(super) fn frame_len(&self, t: &Transmission) -> u32 {
        self.l1_bytes(t).saturating_sub(PREAMBLE + FCS + GAP)
    }
}

impl Sim {
    fn new(mut scenario: Scenario) -> Result<Sim, Error> {
        check::fill_in(&mut scenario)?;
        let connections = check::expand(&scenario)?;
        let seed = scenario.seed;
        let mut ports = Vec::new();
        for (i, host) in scenario.host.iter().enumerate() {
            ports.push(Port {
                rate: host.rate.unwrap_or(scenario.rate).0,
                ip_id: SplitMix64(seed ^ i as u64).next() as u16,
                ..Port::default()
            });
        }
        let captures = scenario.tap.iter().enumerate().map(|(i, tap)| Capture {
            tap: tap.clone(),
            sightings: Vec::new(),
            order: Vec::new(),
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
            ip_ids: Vec::new(),
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
                struck: vec![false; scenario.event.len()],
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
        for qp in 0..sim.qps.len() as u32 {
            sim.set_death(qp);
        }
        for i in 0..sim.pauses.len() as u32 {
            sim.at(sim.pauses[i as usize], What::Pause(i));
        }
        for i in 0..sim.run.captures.len() {
            let tap = &sim.run.captures[i].tap;
            if tap.lldp {
                sim.at(tap.start.0, What::Lldp(i as u32));
            }
        }
        Ok(sim)
    }

    /// Makes the queue pairs and flows of the connections.
    fn connect(&mut self) -> Result<(), Error> {
        let find = |name: &str| self.run.scenario.host.iter().position(|host| host.name == name);
        let mut gsi: HashMap<(u32, u32), u32> = HashMap::new();
        let mut flows: Vec<SentFlow> = Vec::new();
        for (i, connection) in self.run.connections.iter().enumerate() {
            let host = |name: &str| {
                find(name).map(|host| host as u32).ok_or_else(|| {
                    Error::new(format!("connection {:?}: no host is called {name:?}", connection.name))
                })
            };
            let ends = [host(&connection.from)?, host(&connection.to)?];
            if self.run.side(ends[0]) == self.run.side(ends[1]) {
                return Err(Error::new(format!(
                    "connection {:?}: {} and {} are on the same side of the road: expected one left, one right",
                    connection.name, connection.from, connection.to
                )));
            }
            let qp = connection.qp.unwrap_or_default();
            let psn = connection.psn.unwrap_or_default();
            let index = self.qps.len() as u32;
            for end in 0..2 {
                let flow = flows.len() as u32;
                flows.push(SentFlow {
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
                let peer = index + 1 - end as u32;
                self.qps.push(Qp::new(i as u32, ends[end], flow, peer, starts, operations, connection));
            }
            for name in &connection.also_to {
                let qp = &mut self.qps[index as usize];
                qp.also.push(flows.len() as u32);
                flows.push(SentFlow { dst: host(name)?, receiver: NONE, ..flows[qp.flow as usize].clone() });
            }
            self.cm.push(connection.cm.then(|| {
                let mut flow = |src: u32, dst: u32| {
                    *gsi.entry((src, dst)).or_insert_with(|| {
                        let (dest_qp, peer_qp, back, sender, receiver) = (1, 1, NONE, NONE, NONE);
                        let (epoch, connection) = (0, None);
                        flows.push(SentFlow {
                            src,
                            dst,
                            dest_qp,
                            epoch,
                            peer_qp,
                            connection,
                            back,
                            sender,
                            receiver,
                        });
                        flows.len() as u32 - 1
                    })
                };
                Management { flows: [flow(ends[0], ends[1]), flow(ends[1], ends[0])], closing: false }
            }));
        }
        // Epochs count the flows that use one queue pair number, in order of time.
        let mut order: Vec<usize> = (0..flows.len()).collect();
        order.order_by_key(|&i| flows[i].connection.map_or(0, |c| self.run.connections[c as usize].start.0));
        let mut users: HashMap<(u32, u32, u32), u32> = HashMap::new();
        for i in order {
            let users = users.entry((flows[i].src, flows[i].dst, flows[i].dest_qp)).or_default();
            flows[i].epoch = *users;
            *users += 1;
        }
        self.targets = vec![Vec::new(); flows.len()];
        self.ip_ids = (0..flows.len() as u64).map(|flow| mix(flow) as u16).collect();
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
                What::Die(qp) => self.die(qp),
                What::Again(tap, sighting) => self.record_again(tap, sighting),
                What::Release(slot, journey) => self.release(slot, journey),
                What::Pause(pause) => self.pause(pause),
                What::Lldp(tap) => self.lldp(tap),
                What::Unpause(host, priority) => {
                    if self.ports[host as usize].paused[priority as usize] <= time {
                        self.wake_host(host);
                    }
                }
            }
            if self.full {
                let limit = self.run.scenario.limit;
                let what = format!("more than {limit} packets: raise `limit`, or `stop` earlier");
                return Err(Error::new(what));
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

    /// Puts a queue pair into its host's queue, and starts the link if it is idle.
    pub(super) fn ready(&mut self, qp: u32) {
        let state = &mut self.qps[qp as usize];
        let host = state.host;
        if !state.ready {
            state.ready = true;
            self.ports[host as usize].ready.push_back(qp);
        }
        self.transmit(host);
    }

    /// Sends the next packet on a host's link if it is free.
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

    /// Records a packet that a host is about to send.
    pub(super) fn send(&mut self, host: u32, mut t: Transmission) -> u32 {
        let connection = self.run.flows[t.flow as usize].connection;
        let mode = connection.map_or(IpId::Host, |c| self.run.connections[c as usize].ip_id);
        let (port, flow) = (&mut self.ports[host as usize], &mut self.ip_ids[t.flow as usize]);
        t.ip_id = match mode {
            IpId::Zero => 0,
            IpId::Flow => {
                *flow = flow.wrapping_add(1);
                *flow
            }
            IpId::Host => {
                port.ip_id = port.ip_id.wrapping_add(1);
                port.ip_id
            }
            IpId::Random => mix((t.flow as u64) << 32 | self.run.transmissions.len() as u64) as u16,
        };
        let index = self.run.transmissions.len() as u32;
        if index >= self.run.scenario.limit {
            self.full = true;
        }
        t.sent = self.now;
        if t.original == NONE {
            t.original = index;
        }
        self.run.transmissions.push(t);
        index
    }

    /// Bytes that a packet takes on its first link, preamble and gap included.
    fn wire_len(&self, t: &Transmission) -> u32 {
        self.run.l1_bytes(t)
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
