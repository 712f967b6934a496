//! The network: segments that delay, drop, corrupt, duplicate and reorder packets, taps that record them, and delivery.

use super::{
    Action, End, Error, Faults, Kind, Side, Spread, Where,
    engine::{Control, Journey, NONE, Sighting, Sim, What},
    qp::is_sequenced,
};
use crate::{
    opcode::{Direction, Opcode, Operation, Service},
    random::SplitMix64,
};

/// No segment.
pub(super) const NOWHERE: u8 = u8::MAX;

/// How long a packet is held back at most until others have overtaken it, in ns.
const PATIENCE: u64 = 1_000_000;

/// A packet that is held back until others have passed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    journey: u32,
    flow: u32,
    left: u32,
}

/// A message that its receiver refuses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refusal {
    /// How often it still does.
    pub(super) times: u64,
    /// With a NAK that ends the connection.
    pub(super) fatal: bool,
    /// The place of its event in the scenario.
    pub(super) event: usize,
}

/// A fault of single packets of a flow.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// The place of its event in the scenario.
    event: usize,
    action: Action,
    of: Kind,
    opcode: Option<Opcode>,
    psn: Option<u64>,
    transmission: Option<u16>,
    segment: u8,
    first: u64,
    times: u64,
    by: u64,
    depth: u32,
    seen: u64,
}

/// The faults of a packet on a segment.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    drop: bool,
    corrupt: bool,
    trim: bool,
    duplicate: bool,
    mark: bool,
    later: u64,
    overtaken_by: u32,
}

impl Sim {
    /// Finds the flow of each event.
    pub(super) fn aim(&mut self) -> Result<(), Error> {
        for (i, event) in self.run.scenario.event.iter().enumerate() {
            let wrong = |what: &str| Error::new(format!("event {}: {what}", i + 1));
            let connections = &self.run.connections;
            let at =
                connections.iter().position(|c| event.connection.is_empty() || c.name == event.connection);
            let unknown = || wrong(&format!("no connection is called {:?}", event.connection));
            let connection = at.ok_or_else(unknown)?;
            let qp = 2 * connection + (event.from == End::To) as usize;
            let flow = self.qps[qp].flow;
            if matches!(event.action, Action::Rnr | Action::AccessError) {
                let fatal = event.action == Action::AccessError;
                let key = (flow, event.message.unwrap_or(1));
                self.refusals.insert(key, Refusal { times: event.times, fatal, event: i });
                continue;
            }
            if event.message.is_some() {
                return Err(wrong("message: expected with rnr and access_error only"));
            }
            let way = self.run.way(flow);
            let segments = self.run.scenario.segment.len();
            let after = self.run.scenario.tap[0].after as i64;
            let segment = match (event.segment, event.place, way) {
                (Some(segment), _, _) => segment as i64 - 1,
                (None, Where::Before, Side::Right) | (None, Where::After, Side::Left) => after - 1,
                (None, Where::Before, Side::Left) | (None, Where::After, Side::Right) => after,
            };
            if segment < 0 || segment >= segments as i64 {
                return Err(wrong("there is no such segment on that side of the tap"));
            }
            let opcode = |name: &String| {
                let expected = || wrong(&format!("opcode {name:?}: expected a name like \"rc-write-only\""));
                Opcode::from_name(name).ok_or_else(expected)
            };
            let opcode = event.opcode.as_ref().map(opcode).transpose()?;
            if event.packet == Some(0) || event.transmission == Some(0) {
                return Err(wrong("packet and transmission are counted from 1"));
            }
            let start = self.run.connections[connection].psn.unwrap_or_default();
            // Responses are numbered in the other end's space.
            let space = if event.of == Kind::Requests { event.from } else { other(event.from) };
            let start = start[(space == End::To) as usize] as u64 + (1 << 24);
            self.targets[flow as usize].push(Target {
                event: i,
                action: event.action,
                of: event.of,
                opcode,
                psn: event.psn.map(|psn| start + psn as u64),
                transmission: event.transmission,
                segment: segment as u8,
                first: event.packet.unwrap_or(1),
                times: event.times,
                by: event.by.0,
                depth: event.depth.min(1 << 20) as u32,
                seen: 0,
            });
        }
        Ok(())
    }

    /// A packet leaves its host.
    pub(super) fn depart(&mut self, tx: u32, time: u64) {
        let t = &self.run.transmissions[tx as usize];
        let flow = &self.run.flows[t.flow as usize];
        let capable =
            flow.connection.is_some_and(|c| self.run.connections[c as usize].ecn) && !t.opcode.is_cnp();
        let paths = self.run.scenario.paths.count as u64;
        let path = match (paths, self.run.scenario.paths.by) {
            (1, _) => 0,
            (_, Spread::Packet) => self.path_rng.below(paths) as u8,
            (_, Spread::Remainder) => (t.udp_port as u64 % paths) as u8,
            (_, Spread::Port) => {
                let tuple = (flow.src as u64) << 40 | (flow.dst as u64) << 20 | t.udp_port as u64;
                SplitMix64(tuple).below(paths as usize) as u8
            }
        };
        let way = self.run.way(t.flow);
        let journey = self.run.journeys.len() as u32;
        self.run.journeys.push(Journey {
            tx,
            lost: NOWHERE,
            corrupt: NOWHERE,
            is_trimmed: false,
            ecn: if capable { 2 } else { 0 },
            path,
            bit: 0,
            delivered: false,
        });
        let point = if way == Side::Right { 0 } else { self.run.scenario.segment.len() as u8 };
        self.at(time, What::Arrive(journey, point));
    }

    /// A packet comes to a point between segments: taps record it, then it goes on or is delivered.
    pub(super) fn arrive(&mut self, journey: u32, point: u8) {
        for tap in 0..self.run.captures.len() {
            let of = &self.run.captures[tap].tap;
            if of.after == point as u32 && !of.off_road {
                self.pass_tap(tap, journey);
            }
        }
        let flow = self.run.transmissions[self.run.journeys[journey as usize].tx as usize].flow;
        let way = self.run.way(flow);
        let end = if way == Side::Right { self.run.scenario.segment.len() as u8 } else { 0 };
        if point == end {
            self.deliver(journey);
            return;
        }
        let (segment, next) = if way == Side::Right { (point, point + 1) } else { (point - 1, point - 1) };
        let begins = point as usize == if way == Side::Right { 0 } else { self.run.scenario.segment.len() };
        let fate = self.fate(journey, flow, segment, way);
        let road = &self.run.scenario.segment[segment as usize];
        let (skew, delay) = (self.run.scenario.paths.skew.0, road.delay.0);
        let j = &self.run.journeys[journey as usize];
        let is_longer = fate.trim
            && j.corrupt == NOWHERE
            && self.run.frame_len(&self.run.transmissions[j.tx as usize]) > self.run.scenario.trim.bytes;
        let j = &mut self.run.journeys[journey as usize];
        if fate.drop {
            j.lost = segment;
            return;
        }
        let mut time = self.now + delay + fate.later;
        if fate.trim && !is_longer {
            j.lost = segment;
            return;
        }
        if fate.trim {
            (j.corrupt, j.is_trimmed) = (segment, true);
            time = time.saturating_sub(self.run.scenario.trim.ahead.0).max(self.now);
        }
        if begins {
            time += skew * j.path as u64;
        }
        if fate.mark && j.ecn != 0 {
            j.ecn = 3;
        }
        if fate.corrupt && j.corrupt == NOWHERE {
            j.corrupt = segment;
            j.bit = self.rngs[segment as usize][(way == Side::Left) as usize].next() as u32;
        }
        if fate.duplicate {
            let copy = self.run.journeys[journey as usize];
            self.run.journeys.push(copy);
            self.full |= self.run.journeys.len() > 2 * self.run.scenario.limit as usize;
            self.at(time + 100, What::Arrive(self.run.journeys.len() as u32 - 1, next));
        }
        let slot = 2 * segment as usize + (way == Side::Left) as usize;
        if fate.overtaken_by > 0 {
            self.held[slot].push(Held { journey, flow, left: fate.overtaken_by });
            self.at(self.now + PATIENCE, What::Release(slot as u32, journey));
            return;
        }
        self.at(time, What::Arrive(journey, next));
        if !self.held[slot].is_empty() {
            self.overtake(slot, flow, time, next);
        }
    }

    /// A packet of this flow has passed. Packets that enough others have overtaken follow it.
    fn overtake(&mut self, slot: usize, flow: u32, time: u64, next: u8) {
        let mut held = std::mem::take(&mut self.held[slot]);
        held.retain_mut(|held| {
            if held.flow == flow {
                held.left -= 1;
            }
            if held.left == 0 {
                self.at(time + 1, What::Arrive(held.journey, next));
            }
            held.left > 0
        });
        self.held[slot] = held;
    }

    /// Not enough packets came to overtake it: the packet goes on.
    pub(super) fn release(&mut self, slot: u32, journey: u32) {
        let held = &mut self.held[slot as usize];
        if let Some(at) = held.iter().position(|held| held.journey == journey) {
            held.remove(at);
            let segment = (slot / 2) as u8;
            let next = if slot.is_multiple_of(2) { segment + 1 } else { segment };
            self.at(self.now, What::Arrive(journey, next));
        }
    }

    /// The faults of this packet on this segment.
    fn fate(&mut self, journey: u32, flow: u32, segment: u8, way: Side) -> Fate {
        let t = &self.run.transmissions[self.run.journeys[journey as usize].tx as usize];
        let mut fate = Fate::default();
        if self.run.flows[flow as usize].connection.is_none() {
            return fate;
        }
        let kind = match t.opcode.direction() {
            _ if t.opcode.is_cnp() => None,
            Direction::Request => Some(Kind::Requests),
            Direction::Response if is_sequenced(t.opcode) => Some(Kind::Responses),
            Direction::Response if t.syndrome >> 5 == 0 => Some(Kind::Acks),
            Direction::Response => Some(Kind::Naks),
        };
        for target in &mut self.targets[flow as usize] {
            let meant = target.segment == segment
                && Some(target.of) == kind
                && target.opcode.is_none_or(|opcode| opcode == t.opcode)
                && target.psn.is_none_or(|psn| psn == t.psn)
                && target.transmission.is_none_or(|ordinal| ordinal == t.ordinal);
            if !meant {
                continue;
            }
            target.seen += 1;
            if target.seen < target.first || target.seen - target.first >= target.times {
                continue;
            }
            self.run.struck[target.event] = true;
            match target.action {
                Action::Drop => fate.drop = true,
                Action::Mark => fate.mark = true,
                Action::Corrupt => fate.corrupt = true,
                Action::Trim => fate.trim = true,
                Action::Duplicate => fate.duplicate = true,
                Action::Delay => fate.later += target.by,
                Action::Reorder => fate.overtaken_by = target.depth,
                Action::Rnr | Action::AccessError => {}
            }
        }
        let paths = &self.run.scenario.paths;
        let path = self.run.journeys[journey as usize].path;
        let data = matches!(kind, Some(Kind::Requests | Kind::Responses));
        if paths.bad == Some(path.into())
            && paths.bad_segment == u32::from(segment) + 1
            && data
            && way == Side::Right
            && self.now >= paths.bad_from.0
        {
            let rng = &mut self.path_rng;
            fate.drop |= rng.chance(paths.bad_drop);
            fate.mark |= rng.chance(paths.bad_mark);
            fate.trim |= rng.chance(paths.bad_trim);
            fate.later += paths.bad_delay.0;
        }
        let road = &self.run.scenario.segment[segment as usize];
        let left = way == Side::Left;
        let faults: &Faults = if left { &road.left } else { &road.right };
        let rng = &mut self.rngs[segment as usize][left as usize];
        fate.drop |= rng.chance(faults.drop);
        fate.corrupt |= rng.chance(faults.corrupt);
        fate.trim |= faults.trim > 0.0 && data && rng.chance(faults.trim);
        fate.duplicate |= rng.chance(faults.duplicate);
        fate.mark |= data && rng.chance(faults.mark);
        if rng.chance(faults.reorder) {
            match faults.reorder_by {
                Some(by) => fate.later += by.0,
                None => fate.overtaken_by = faults.reorder_depth,
            }
        }
        fate
    }

    /// Delivers a packet to its receiver, which drops it if it is corrupt.
    fn deliver(&mut self, journey: u32) {
        let j = &mut self.run.journeys[journey as usize];
        if j.corrupt != NOWHERE {
            let tx = j.tx;
            if j.is_trimmed && self.run.scenario.trim.nak {
                self.on_trimmed(tx);
            }
            return;
        }
        j.delivered = true;
        let (tx, marked) = (j.tx, j.ecn == 3);
        let t = &self.run.transmissions[tx as usize];
        let flow = &self.run.flows[t.flow as usize];
        let (opcode, receiver) = (t.opcode, flow.receiver);
        if flow.connection.is_none() {
            self.on_manage(tx);
            return;
        }
        if receiver == NONE {
            return;
        }
        if opcode.is_cnp() {
            self.slow_down(receiver);
            return;
        }
        if marked && self.run.scenario.cnp.enabled && opcode.operation() != Some(Operation::Acknowledge) {
            self.notify(receiver);
        }
        if opcode.service() != Service::Rc {
            return;
        }
        match opcode.direction() {
            Direction::Request => self.on_request(receiver, tx),
            Direction::Response => self.on_response(receiver, tx),
        }
    }
}

fn other(end: End) -> End {
    match end {
        End::From => End::To,
        End::To => End::From,
    }
}
impl Sim {
    /// A packet passes a tap.
    fn pass_tap(&mut self, tap: usize, journey: u32) {
        let j = self.run.journeys[journey as usize];
        let t = &self.run.transmissions[j.tx as usize];
        let way = self.run.way(t.flow);
        let ttl =
            self.run.flows[t.flow as usize].connection.map_or(64, |c| self.run.connections[c as usize].ttl);
        let capture = &self.run.captures[tap];
        if capture.tap.paths.is_some_and(|paths| j.path as u32 >= paths) {
            return;
        }
        let sighting = Sighting { ecn: j.ecn, ttl, ..Sighting::new(self.now, journey, NONE) };
        self.capture(tap, way, sighting);
    }

    /// Records a frame, unless a fault of the tap loses it.
    fn capture(&mut self, tap: usize, way: Side, mut sighting: Sighting) {
        let now = self.now;
        let capture = &mut self.run.captures[tap];
        let out = capture.tap.only.is_some_and(|only| only != way);
        if out || now < capture.tap.start.0 || capture.tap.stop.is_some_and(|stop| now >= stop.0) {
            return;
        }
        capture.passed += 1;
        (sighting.sequence, sighting.way) = (capture.sequence, way);
        capture.sequence = capture.sequence.wrapping_add(1);
        if let Some(burst) = capture.tap.burst.iter().find(|burst| burst.at == capture.passed) {
            capture.burst_left = burst.frames;
        }
        if capture.rng.chance(capture.tap.loss) {
            capture.burst_left = capture.burst_left.max(capture.tap.loss_frames as u64);
        }
        sighting.recorded = capture.burst_left == 0
            && (capture.tap.sample == 1 || capture.rng.below(capture.tap.sample as u64) == 0);
        capture.burst_left = capture.burst_left.saturating_sub(1);
        capture.sightings.push(sighting);
        let twice = sighting.recorded && capture.rng.chance(capture.tap.duplicate);
        if twice {
            let (after, index) = (capture.tap.duplicate_after.0, capture.sightings.len() as u32 - 1);
            self.at(now + after, What::Again(tap as u32, index));
        }
    }

    /// Records the mirror's second copy of a frame.
    pub(super) fn record_again(&mut self, tap: u32, sighting: u32) {
        let capture = &mut self.run.captures[tap as usize];
        let mut copy = capture.sightings[sighting as usize];
        copy.time = self.now;
        copy.again = true;
        copy.ttl = copy.ttl.saturating_sub(capture.tap.duplicate_ttl);
        copy.sequence = capture.sequence;
        capture.sequence = capture.sequence.wrapping_add(1);
        capture.sightings.push(copy);
    }

    /// Sends a frame of a pause, and stops or resumes hosts.
    pub(super) fn pause(&mut self, index: u32) {
        let pause = &self.run.scenario.pause[index as usize];
        let ends = pause.at.0 + pause.hold.0;
        let on = self.now < ends;
        let rate = self.run.scenario.rate.0 as u128;
        let quanta_ns = (pause.quanta as u128 * 512 * 1_000_000_000 / rate) as u64;
        let refresh = pause.refresh.map_or(quanta_ns / 2, |refresh| refresh.0).max(1);
        let (from, priority) = (pause.from, pause.priority);
        let quanta = if on { pause.quanta } else { 0 };
        let next = if self.now + refresh < ends { self.now + refresh } else { ends };
        let again = on && (next < ends || pause.xon);
        let hosts: Vec<u32> = (0..self.run.scenario.host.len() as u32)
            .filter(|&host| pause.stops.contains(&self.run.scenario.host[host as usize].name))
            .collect();
        let until = if on { self.now + quanta_ns } else { self.now };
        for host in hosts {
            for class in 0..8 {
                if priority.is_none_or(|priority| priority == class) {
                    self.ports[host as usize].paused[class as usize] = until;
                    self.at(until, What::Unpause(host, class));
                }
            }
        }
        let tap = self.run.scenario.tap_of(&self.run.scenario.pause[index as usize]) as u32;
        self.pass_control(Control { from, priority, quanta, tap, is_lldp: false });
        if again {
            self.at(next, What::Pause(index));
        }
    }

    /// Both ends of a tapped link say who they are.
    pub(super) fn lldp(&mut self, tap: u32) {
        for from in [Side::Left, Side::Right] {
            self.pass_control(Control { from, priority: None, quanta: 0, tap, is_lldp: true });
        }
    }

    fn pass_control(&mut self, control: Control) {
        let at = self.run.controls.len() as u32;
        self.run.controls.push(control);
        self.full |= at >= self.run.scenario.limit;
        let way = if control.from == Side::Left { Side::Right } else { Side::Left };
        self.capture(control.tap as usize, way, Sighting::new(self.now, NONE, at));
    }
}
