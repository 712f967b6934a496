//! How well are flows spread over equal-cost paths?
//!
//! Switches choose a path by a hash over addresses and UDP ports, of which only the source port differs between the
//! queue pairs of two hosts. Few ports, or the same port for several queue pairs, put flows onto the same path. A flow
//! whose packets have several ports in turns is sprayed: then it arrives out of order without any loss.

use std::{borrow::Cow, slice};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::{
    KnownFlow, Metric, Placed, Verdict,
    crossings::Crossings,
    ends::Ends,
    paths::{BehindTap, Carried, OfFlow, Tally, View, in_order, rows, settle},
    per_flow::PerFlow,
    suspects::{Acked, Late, Suspects},
    turns::{Place, Turns, Unseen},
};
use crate::{
    analyze::{
        model::{Class, FlowId, Space},
        network::Network,
        packet::{Facts, path_tag},
        table::run::RunSum,
    },
    opcode::{Direction, Operation},
    prefetch,
    report::{FlowPath, PortCollision, Ports as Report, SprayedFlow},
    wire::{Psn, Qpn, Udp},
};

/// Flows that are gone and stay in the sums.
const MAX_RETIRED: usize = 1 << 17;
/// Pairs of hosts; flows of others are not looked at.
const MAX_PAIRS: usize = 1 << 17;
/// Ports that are told apart per flow; packets of others count for the last of these.
const MAX_PORTS: usize = 128;
/// Flows of several ports that may have so many; of later ones, only a few ports are told apart.
const MAX_SEVERAL: usize = 1 << 12;
const FEW_PORTS: usize = 4;
/// Flows of several ports of which is told what comes to a second tap.
const MAX_CROSSED: usize = 512;
/// Collisions and sprayed flows that are listed.
const MAX_LISTED: usize = 100;
/// How often a flow must come back to a port that it has left.
const MIN_RETURNS: u64 = 8;

/// Packets of a flow of several ports whose port is remembered.
const REMEMBERED: usize = 1 << 11;
/// Times are remembered in units of so many bits of a nanosecond, above the bits of what else is.
const TICK: u32 = 5;
const BITS: u32 = 2;
/// So many retransmissions that went on with others show how the sender retransmits.
const MIN_SWEPT: u64 = 16;
/// Requests that had arrived already, and whose class is not known.
const MAX_STALE: usize = 64;
/// Of what is remembered: it was a retransmission. Places of ports are below it.
const RESENT: u32 = 1 << 7;
/// It asked for an acknowledgement.
const ASKED: u32 = 1;
/// The tap saw its first transmission: it came in its order.
const FIRST: u32 = 1 << 1;
const LOW: u32 = (1 << BITS) - 1;

/// The metric. A flow of one port costs 32 bytes and a few additions a packet.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub struct Entropy {
    flows: PerFlow<Flow>,
    /// Flows whose numbers are others' by now.
    gone: Vec<Flow>,
    /// Pairs of hosts, of which there are fewer.
    pairs: Vec<Ends>,
    numbers: HashMap<Ends, u32, RandomState>,
    /// Flows that ever had several ports, and those of them that came to a second tap.
    several: usize,
    crossed: usize,
    /// There may be several taps.
    has_interfaces: bool,
}

/// A flow; the default, without bytes, is none.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
struct Flow {
    /// Which of the pairs.
    pair: u32,
    qp: u32,
    /// The port of the last packet, and what it had since the flow came to it.
    used: Used,
    /// Once there was a second port.
    many: Option<Box<Many>>,
}

#[derive(Clone, Debug, Default, crate::stored::Stored)]
struct Many {
    /// In the order in which they came, and what each carried.
    ports: Vec<u16>,
    tallies: Vec<Tally>,
    /// Of the last PSNs, which port each had, and when: the time, the PSN, whether it was a retransmission, and the place in the list.
    ring: Vec<u64>,
    /// The newest PSN.
    newest: Option<Psn>,
    turns: Turns,
    /// Packets on all of them that were beyond all before: what comes late, or again, makes no other path silent.
    packets: u64,
    /// The newest one of requests, and of responses.
    ahead: [Option<Psn>; 2],
    /// Requests, and responses with data.
    data: u64,
    /// Retransmissions that follow each other, and one that came between them.
    sweep: Option<Sweep>,
    aside: Option<Aside>,
    /// Retransmissions that went on with others, and those that stood alone.
    swept: u64,
    alone: u64,
    /// All requests up to this one have arrived, as answers say.
    answered: Option<Psn>,
    /// Requests that came when they had arrived already, and where, until their class is known; and the last of them.
    stale: Vec<(Psn, u16)>,
    last_stale: Option<Psn>,
    /// PSNs that were lost before the tap, on a port that is not known.
    unattributed: u64,
    /// The ports between which most of these were.
    unseen: Unseen,
    /// Losses before the tap, and behind it.
    lost: [u64; 2],
    switches: u64,
    /// Switches to a port that the flow had before.
    returns: u64,
    /// What came to a second tap.
    crossings: Crossings,
    /// Frames of it whose class is not known.
    elsewhere: Vec<u64>,
    /// What was perhaps lost behind the tap; and acknowledgements, of which each may show one that was not.
    suspects: Suspects,
    acks: u64,
    /// Ports that are told apart.
    max: usize,
}

/// A transmission; `is_asked`: for an acknowledgement, where that is known; `is_first`: it came in its order.
#[derive(Clone, Copy, Debug)]
struct Sent {
    psn: Psn,
    time: i64,
    is_asked: Option<bool>,
    is_first: bool,
}

/// PSNs wrap after 24 bits.
fn place_of(psn: Psn) -> Place {
    Place(psn.0 << 8)
}

/// A time as it is remembered.
fn ticks(time: i64) -> u32 {
    ((time >> TICK) as u32) << BITS
}

/// Retransmissions one behind the other, as go-back-N has them.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct Sweep {
    next: Psn,
    packets: u32,
}

/// A retransmission on the port `at`, which does not go on with those before. It is a loss on a port, before the tap (0) or behind it (1), unless they
/// go on, or it stands alone where the sender goes back.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct Aside {
    sweep: Option<Sweep>,
    at: u16,
    lost: Option<(u16, u8)>,
}

impl Sweep {
    /// Whether a retransmission of this PSN is one more of them. What is lost leaves a gap.
    fn goes_on(&self, psn: Psn) -> bool {
        const MOST_LOST: i32 = 4;
        let ahead = psn.distance_from(self.next);
        ahead == 0 || self.is_long() && (1..=MOST_LOST).contains(&ahead)
    }

    /// One alone is none.
    fn is_long(&self) -> bool {
        self.packets > 1
    }
}

#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
struct Used {
    port: u16,
    packets: u32,
    bytes: u64,
}

/// A flow of one port.
#[derive(Clone, Copy, Debug)]
struct Alone {
    pair: u32,
    port: u16,
    qp: u32,
    id: Option<FlowId>,
}

impl Metric for Entropy {
    #[inline(always)]
    fn on_packet(&mut self, packet: &Facts, place: &Placed) {
        let (Some(id), Some(port)) = (place.flow, packet.port()) else { return };
        if place.is_capture_duplicate() {
            if self.several > 0
                && let Some(many) = self.flows.known(id).and_then(|flow| flow.many.as_deref_mut())
            {
                let had = many.crossings.are_prepared();
                if had || self.crossed < MAX_CROSSED {
                    many.elsewhere(port, packet, place);
                }
                self.crossed += usize::from(many.crossings.are_prepared() != had);
            }
            return;
        }
        if self.several > 0
            && let Some(peer) = place.peer
        {
            self.on_answer(peer, packet);
        }
        let bytes = packet.l1_bytes() as u64;
        match self.flows.known(id) {
            Some(flow) if flow.used.port == port && flow.used.bytes > 0 => {
                flow.used.bytes += bytes;
                flow.used.packets = flow.used.packets.saturating_add(1);
                if let Some(many) = &mut flow.many {
                    many.packet(port, packet, place);
                }
            }
            Some(flow) if flow.used.bytes > 0 => {
                let had = flow.many.is_some();
                flow.switch(port, packet, place, &mut self.several);
                if !had
                    && self.has_interfaces
                    && self.crossed < MAX_CROSSED
                    && let Some(many) = flow.many.as_deref_mut()
                {
                    many.crossings.prepare();
                    self.crossed += 1;
                }
            }
            _ => self.start(id, port, packet),
        }
    }

    fn on_verdict(&mut self, verdict: &Verdict) {
        let Some(many) = self.flows.known(verdict.flow).and_then(|flow| flow.many.as_deref_mut()) else {
            return;
        };
        if let Some(at) = many.elsewhere.iter().position(|&frame| frame == verdict.frame) {
            many.elsewhere.swap_remove(at);
            return;
        }
        if let (Some(port), Direction::Request) = (path_tag::port(verdict.path_tag), verdict.space) {
            many.classified(
                port,
                Sent { psn: verdict.psn, time: verdict.time_ns, is_asked: None, is_first: false },
                verdict.class,
            );
        }
    }

    /// The packets of a run have the source port of the flow's last packet.
    fn on_run(&mut self, run: &RunSum) {
        if let Some(flow) = self.flows.known(run.flow).filter(|flow| flow.used.bytes > 0) {
            flow.used.bytes += run.l1_bytes;
            flow.used.packets =
                flow.used.packets.saturating_add(u32::try_from(run.packets).unwrap_or(u32::MAX));
            if let Some(many) = &mut flow.many {
                many.run(flow.used.port, run);
            }
        }
    }

    fn on_interface(&mut self, number: u16, _: &Network) {
        self.has_interfaces |= number > 0;
    }

    fn on_retire(&mut self, flow: FlowId) {
        let Some(gone) = self.flows.retire(flow).filter(|gone| gone.used.bytes > 0) else { return };
        if self.gone.len() < MAX_RETIRED {
            self.gone.push(gone);
        }
    }

    #[inline(always)]
    fn prefetch(&self, flow: FlowId) {
        if let Some(flow) = self.flows.get(flow) {
            prefetch::lines(flow);
        }
    }

    fn heap_bytes(&self) -> usize {
        let of_several = size_of::<Many>()
            + MAX_PORTS * (size_of::<u16>() + size_of::<Tally>())
            + Turns::bytes(MAX_PORTS)
            + REMEMBERED * size_of::<u64>()
            + MAX_STALE * size_of::<(Psn, u16)>()
            + Suspects::BYTES;
        self.several.min(MAX_SEVERAL) * of_several
            + self.crossed * Crossings::bytes(MAX_PORTS)
            + self.pairs.capacity() * size_of::<Ends>()
            + self.numbers.allocation_size()
            + self.gone.capacity() * size_of::<Flow>()
    }
}

impl Flow {
    #[cold]
    fn switch(&mut self, port: u16, packet: &Facts, place: &Placed, several: &mut usize) {
        // A CNP is no part of what its flow sends: adapters give it a port of its own.
        if packet.opcode().is_cnp() {
            return;
        }
        let bytes = packet.l1_bytes() as u64;
        let left = std::mem::replace(&mut self.used, Used { port, packets: 1, bytes });
        let is_new = self.many.is_none();
        let many = self.many.get_or_insert_with(|| {
            *several += 1;
            let max = if *several > MAX_SEVERAL { FEW_PORTS } else { MAX_PORTS };
            Box::new(Many { max, ..Many::default() })
        });
        if is_new {
            // What the first port carried until now.
            many.begin(&left, packet);
        }
        many.switches += 1;
        many.returns += many.find(port).is_some() as u64;
        many.packet(port, packet, place);
    }

    /// The source ports of the flow, with the bytes of each.
    fn ports(&self) -> Cow<'_, [Used]> {
        let Some(many) = &self.many else {
            return Cow::Borrowed(slice::from_ref(&self.used));
        };
        let used = many.ports.iter().zip(&many.tallies).map(|(&port, tally)| Used {
            port,
            packets: u32::try_from(tally.packets).unwrap_or(u32::MAX),
            bytes: tally.bytes,
        });
        Cow::Owned(used.collect())
    }
}

impl Many {
    /// The place of a port in the lists, which may begin with it.
    fn place(&mut self, port: u16) -> usize {
        let is_full = self.ports.len() >= self.max;
        if let Some(at) = self.find(port).or(is_full.then(|| self.max - 1)) {
            return at;
        }
        self.ports.push(port);
        self.tallies.push(Tally::default());
        self.ports.len() - 1
    }

    /// The flow had one port before.
    fn begin(&mut self, used: &Used, next: &Facts) {
        let at = self.place(used.port);
        let (packets, bytes) = (u64::from(used.packets), used.bytes);
        self.packets = packets;
        self.tallies[at] =
            Tally { packets, bytes, last_at: packets, ..Tally::at(next.interface(), next.time()) };
    }

    fn packet(&mut self, port: u16, packet: &Facts, place: &Placed) {
        let at = self.place(port);
        // What comes to another tap passed the first one, whatever it looks like.
        if self.tallies[at].interface.is_elsewhere(packet.interface())
            && place.space == Some(Direction::Request)
            && !matches!(place.class, Some(Class::Corrupt | Class::Trimmed))
            && self.crossings.pass(packet.interface())
        {
            if place.class.is_none() && self.elsewhere.len() < MAX_STALE {
                self.elsewhere.push(place.frame);
            }
            return self.elsewhere(port, packet, place);
        }
        // Damaged or trimmed between two taps, it is no copy of what the first one recorded.
        if self.crossings.are_seen()
            && matches!(place.class, Some(Class::Corrupt | Class::Trimmed))
            && self.tallies[at].interface.is_elsewhere(packet.interface())
        {
            self.tallies[at].trimmed += u64::from(place.class == Some(Class::Trimmed));
            return;
        }
        // Answers take the paths of what they answer, or any: what is on these says nothing.
        let is_data = !place.is_control && (place.space == Some(Direction::Request) || packet.payload() > 0);
        self.data += u64::from(is_data);
        self.packets += u64::from(self.goes_ahead(packet.psn(), place.space));
        let carried = Carried { is_marked: place.is_mark(packet), ..Carried::of(packet) };
        self.tallies[at].add(&carried, self.packets);
        if place.space != Some(Direction::Request) {
            return;
        }
        self.crossings.passes(packet.psn().0, at, packet.time());
        let is_stale = self.answered.is_some_and(|answered| packet.psn().distance_from(answered) <= 0);
        if is_stale && matches!(place.class, None | Some(Class::Retransmission)) {
            if self.stale.len() == MAX_STALE {
                self.stale.remove(0);
            }
            self.stale.push((packet.psn(), at as u16));
        }
        match place.class {
            // It may be sent again: the verdict tells.
            None => {}
            Some(class) => {
                let is_asked = Some(packet.is_ack_expected());
                let is_first = matches!(class, Class::New | Class::NewAfterGap);
                let sent = Sent { psn: packet.psn(), time: packet.time(), is_asked, is_first };
                self.classified(port, sent, class);
                if !matches!(class, Class::Retransmission | Class::Trimmed | Class::Corrupt) {
                    self.remember(sent, at);
                }
            }
        }
    }

    /// Whether a packet is beyond all of its kind before.
    fn goes_ahead(&mut self, psn: Psn, space: Option<Space>) -> bool {
        let Some(space) = space else { return true };
        let newest = &mut self.ahead[usize::from(space == Direction::Response)];
        let is_ahead = newest.is_none_or(|newest| psn.distance_from(newest) > 0);
        if is_ahead {
            *newest = Some(psn);
        }
        is_ahead
    }

    /// One of its packets was recorded before, perhaps at another tap.
    #[cold]
    fn elsewhere(&mut self, port: u16, packet: &Facts, place: &Placed) {
        let at = self.place(port);
        let tally = &mut self.tallies[at];
        tally.marked += u64::from(place.is_mark(packet));
        if place.space == Some(Direction::Request) && tally.interface.is_elsewhere(packet.interface()) {
            self.crossings.arrives(packet.psn().0, at, packet.interface(), packet.time());
        }
    }

    fn run(&mut self, port: u16, run: &RunSum) {
        let at = self.place(port);
        let tally = &mut self.tallies[at];
        self.packets += run.packets;
        self.ahead[usize::from(run.space == Direction::Response)] = Some(run.last_psn);
        self.data += run.packets;
        // The first one of the run may be behind others of the flow.
        tally.comes_at(self.packets - run.packets + 1);
        tally.last_at = self.packets;
        tally.packets += run.packets;
        tally.bytes += run.l1_bytes;
        tally.last_ns = tally.last_ns.max(run.last_ns);
        if run.space == Direction::Request {
            let newest = run.packets.min(REMEMBERED as u64) as u32;
            for back in (0..newest).rev() {
                let psn = run.last_psn.plus(back.wrapping_neg());
                self.remember(Sent { psn, time: run.last_ns, is_asked: None, is_first: true }, at);
            }
        }
    }

    /// Which port this PSN had.
    fn remember(&mut self, sent: Sent, at: usize) {
        let psn = sent.psn;
        if self.max <= FEW_PORTS {
            return;
        }
        self.turns.takes(at, place_of(psn));
        if let Some(before) = self.port_of(psn.plus(u32::MAX)) {
            self.turns.follows(before, at, place_of(psn));
        }
        // Packets of a slow path come behind those that were sent behind them.
        if let Some(behind) = self.port_of(psn.plus(1)) {
            self.turns.follows(at, behind, place_of(psn.plus(1)));
        }
        if self.newest.is_none_or(|newest| psn.distance_from(newest) > 0) {
            self.newest = Some(psn);
        }
        self.note(sent, at, 0);
    }

    /// The last packet of this PSN had this port. `resent`: 0, or the bit for it.
    fn note(&mut self, Sent { psn, time, is_asked, is_first }: Sent, at: usize, resent: u32) {
        if self.max <= FEW_PORTS {
            return;
        }
        if self.ring.is_empty() {
            self.ring = vec![u64::MAX; REMEMBERED];
        }
        // Where it is not known, nothing is concluded from it.
        let asked = if is_asked.unwrap_or(true) { ASKED } else { 0 };
        let first = self.noted(psn).map_or(0, |(_, before)| before & FIRST);
        let time = ticks(time) | asked | if is_first { FIRST } else { first };
        let known = psn.0 << 8 | resent | at as u32;
        self.ring[psn.0 as usize % REMEMBERED] = u64::from(time) << u32::BITS | u64::from(known);
    }

    /// The place of the port that this PSN had, if that is remembered.
    fn port_of(&self, psn: Psn) -> Option<usize> {
        self.noted(psn).map(|(there, _)| (there & !RESENT) as usize & 0xff)
    }

    /// Whether the last packet of this PSN was a retransmission.
    fn was_resent(&self, psn: Psn) -> bool {
        self.noted(psn).is_some_and(|(there, _)| there & RESENT != 0)
    }

    /// When the last packet of this PSN was sent, as seen at this time.
    fn sent_at(&self, psn: Psn, now: i64) -> Option<i64> {
        let since = |sent: u32| i64::from(ticks(now).wrapping_sub(sent & !LOW) >> BITS) << TICK;
        self.noted(psn).map(|(_, sent)| now - since(sent))
    }

    /// What is remembered of it, and its time.
    fn noted(&self, psn: Psn) -> Option<(u32, u32)> {
        let there = *self.ring.get(psn.0 as usize % REMEMBERED)?;
        let known = there as u32;
        (there != u64::MAX && known >> 8 == psn.0).then_some((known, (there >> u32::BITS) as u32))
    }

    /// Whether the tap saw the last transmission of this PSN: it saw it behind the last one of the PSN before, and the next PSN took the port whose turn was
    /// next. Where a sender goes back several times, what was seen may be of an earlier time.
    fn was_seen(&self, psn: Psn) -> bool {
        let (before, behind) = (psn.plus(u32::MAX), psn.plus(1));
        let Some((_, own)) = self.noted(psn) else { return false };
        let is_behind = self.noted(before).is_none_or(|(_, time)| (own | LOW).wrapping_sub(time) as i32 >= 0);
        let next = self.port_of(psn).and_then(|at| self.turns.behind(at));
        is_behind && next.zip(self.port_of(behind)).is_none_or(|(next, behind)| next == behind)
    }

    /// The place of the port that a PSN must have had which was not seen, as seen at this time.
    fn port_in_turn(&self, psn: Psn, now: i64) -> Option<usize> {
        let [before, behind] = [psn.plus(u32::MAX), psn.plus(1)];
        let were_resent = [before, behind].map(|one| self.was_resent(one));
        // A sender that goes back sends what is before it and behind it at other times: then it was not between them.
        if self.goes_back() || were_resent.contains(&true) {
            let [first, last] = [before, behind].map(|one| self.sent_at(one, now));
            let (first, last) = (first?, last?);
            let are_together = last >= first && (last - first) * 2 <= now - last;
            if were_resent[0] != were_resent[1] || !are_together {
                return None;
            }
        }
        self.turns.between(self.port_of(before), self.port_of(behind), place_of(psn))
    }

    /// Whether the packets of a whole turn came before this one.
    fn is_far_behind(&self, psn: Psn) -> bool {
        self.newest.is_some_and(|newest| newest.distance_from(psn) > self.ports.len() as i32)
    }

    /// A packet was lost on this port: before the tap (0), or behind it (1).
    fn lost_on(&mut self, at: usize, side: usize) {
        self.lost[side] += 1;
        if let Some(aside) = &mut self.aside {
            aside.lost = Some((at as u16, side as u8));
        }
    }

    fn lost_before(&mut self, at: usize, again: &Sent) {
        let sent = self.sent_at(again.psn.plus(u32::MAX), again.time);
        self.tallies[at].loses_before(sent.unwrap_or(again.time));
        self.lost_on(at, 0);
    }

    /// One that was sent on this port is sent again.
    fn lost_behind(&mut self, at: usize, again: &Sent) {
        let sent = self.sent_at(again.psn, again.time).unwrap_or(again.time);
        self.tallies[at].loses(sent);
        self.suspects.add(again.psn, at, [sent, again.time]);
        self.lost_on(at, 1);
    }

    /// All requests up to this one have arrived; an acknowledgement says so, or a NAK.
    fn answers(&mut self, psn: Psn, is_ack: bool, time: i64) {
        let before = self.answered;
        if before.is_none_or(|before| psn.distance_from(before) > 0) {
            self.answered = Some(psn);
            let new = before.map_or(1, |before| psn.distance_from(before).unsigned_abs());
            for back in 0..new.min(REMEMBERED as u32) {
                let one = psn.plus(back.wrapping_neg());
                // Which transmission of several arrived is not known.
                if let (Some(at), Some(sent)) = (self.port_of(one), self.sent_at(one, time))
                    && !self.was_resent(one)
                {
                    self.tallies[at].lives(sent);
                }
            }
        }
        self.suspects.on_progress(psn, time);
        if !is_ack {
            return self.suspects.on_nak(self.sent_at(psn.plus(2), time), time);
        }
        self.acks += 1;
        let sent = self.sent_at(psn, time).filter(|_| !self.was_resent(psn));
        let is_asked = self.noted(psn).is_none_or(|(_, time)| time & ASKED != 0);
        let tallies = &self.tallies;
        let usual = |path: usize| tallies[path].lateness.spread()[1];
        if let Some(Late { path, sent, by, is_sure }) =
            self.suspects.on_ack(&Acked { psn, time, sent, is_asked }, usual)
        {
            self.tallies[path].was_late(sent, by);
            self.tallies[path].guessed_late += u64::from(!is_sure);
            self.lost[1] = self.lost[1].saturating_sub(1);
        }
    }

    /// Whether the sender goes back to what was lost, and sends all behind it again.
    fn goes_back(&self) -> bool {
        self.swept >= MIN_SWEPT && self.swept / 4 > self.alone
    }

    /// A retransmission on this port. Returns whether it does not follow the one before.
    fn begins_sweep(&mut self, psn: Psn, at: usize) -> bool {
        let (sweep, aside) = (self.sweep, self.aside.take());
        let goes_on = |sweep: &Sweep| sweep.goes_on(psn);
        let is_alone = aside.is_some() && !sweep.is_some_and(|sweep| goes_on(&sweep));
        let before = aside.and_then(|aside| aside.sweep).filter(|before| is_alone && goes_on(before));
        if let Some(Aside { at, lost: Some((lost, side)), .. }) = aside.filter(|_| is_alone)
            && (before.is_some() || self.goes_back())
        {
            // What came between was late.
            for count in [&mut self.tallies[usize::from(lost)].lost, &mut self.lost[usize::from(side)]] {
                *count = count.saturating_sub(1);
            }
            if side == 0 {
                let tally = &mut self.tallies[usize::from(lost)];
                tally.lost_before = tally.lost_before.saturating_sub(1);
            }
            let tally = &mut self.tallies[usize::from(at)];
            (tally.late, tally.resent) = (tally.late + 1, tally.resent.saturating_sub(1));
        }
        let same = before.or(sweep.filter(goes_on));
        (self.alone, self.swept) = (self.alone + u64::from(is_alone), self.swept + u64::from(same.is_some()));
        let packets = same.map_or(1, |sweep| sweep.packets.saturating_add(1));
        self.sweep = Some(Sweep { next: psn.plus(1), packets });
        if same.is_none() {
            self.aside = Some(Aside { sweep: sweep.filter(Sweep::is_long), at: at as u16, lost: None });
        }
        same.is_none()
    }

    /// Whether a packet had come that had arrived before.
    fn was_stale(&mut self, psn: Psn, at: usize) -> bool {
        let Some(place) = self.stale.iter().position(|&stale| stale == (psn, at as u16)) else {
            return false;
        };
        self.stale.swap_remove(place);
        true
    }

    /// Whether a retransmission of what had arrived is one of several: these, too, follow each other.
    fn goes_on(&mut self, psn: Psn) -> bool {
        let last = self.last_stale.replace(psn);
        let follows = last.is_some_and(|last| psn.distance_from(last) == 1);
        follows || self.sweep.is_some_and(|sweep| sweep.goes_on(psn))
    }

    /// The class of a packet of requests is known.
    fn classified(&mut self, port: u16, sent: Sent, class: Class) {
        let psn = sent.psn;
        let at = self.place(port);
        match class {
            // Sent again, it would have taken the port whose turn it was then.
            Class::LateOriginal | Class::Ambiguous => {
                let is_in_turn = self.port_in_turn(psn, sent.time).is_none_or(|there| there == at);
                let is_late = is_in_turn || class == Class::LateOriginal;
                if is_late && self.is_far_behind(psn) {
                    let behind = self.sent_at(psn.plus(1), sent.time);
                    let tally = &mut self.tallies[at];
                    tally.late += 1;
                    if let Some(behind) = behind {
                        tally.later(sent.time.saturating_sub(behind).max(0) as u64);
                    }
                }
                self.remember(sent, at);
            }
            Class::Trimmed => {
                self.tallies[at].trimmed += 1;
            }
            Class::Retransmission => {
                let before = psn.plus(u32::MAX);
                let is_edge = self.was_resent(psn) && !self.was_resent(before);
                let last = self.port_of(psn);
                // What came again was late, and not lost, if it came on the path whose turn it was behind a packet that was sent once.
                let is_own = is_edge
                    && last.is_some_and(|last| last != at)
                    && self.port_of(before).and_then(|before| self.turns.behind(before)) == Some(at);
                let is_stale = self.was_stale(psn, at);
                // Where the tap saw its first transmission, this is another one. A sender that goes back has sent what comes alone before.
                let was_first =
                    !self.goes_back() && self.noted(psn).is_some_and(|(_, before)| before & FIRST != 0);
                let is_own = is_own && !was_first;
                let is_late = is_stale && !was_first && !self.goes_on(psn);
                let tally = &mut self.tallies[at];
                tally.filled += u64::from(last.is_none());
                tally.behind_filled += u64::from(is_late);
                if is_stale && !is_late {
                    self.suspects.expects();
                }
                if is_own {
                    let tally = &mut self.tallies[at];
                    (tally.lost, tally.lost_before) =
                        (tally.lost.saturating_sub(1), tally.lost_before.saturating_sub(1));
                    self.lost[0] = self.lost[0].saturating_sub(1);
                }
                let is_first = !is_late && self.begins_sweep(psn, at);
                // It is repeated with others, and may have arrived: its answer shows nothing of these.
                if !is_late && !is_first && !is_stale {
                    self.suspects.expects();
                }
                if is_own || is_late {
                    self.tallies[at].late += 1;
                } else {
                    self.tallies[at].resent += 1;
                }
                if is_late {
                    return;
                }
                let turn = self.port_in_turn(psn, sent.time);
                // Where the sender goes back, the tap may not have seen the transmission that was lost.
                let goes_back = self.goes_back();
                let was_seen = goes_back && self.was_seen(psn);
                // Of packets that were all retransmitted, the tap saw the last transmission of those beside it, and not its own.
                let is_left_out = self.was_resent(before)
                    && !self.was_resent(psn)
                    && (self.was_resent(psn.plus(1)) || self.alone <= self.swept);
                match (last, turn) {
                    (Some(_), _) if is_own || !is_first || is_stale => {}
                    (Some(last), Some(turn)) if last != turn && !is_edge && !was_seen && is_left_out => {
                        self.lost_before(turn, &sent)
                    }
                    (Some(last), _) if was_seen || !goes_back && !is_left_out => {
                        self.lost_behind(last, &sent)
                    }
                    // It may have taken any.
                    (Some(_), _) => self.unattributed += 1,
                    (None, Some(turn)) => self.lost_before(turn, &sent),
                    (None, None) => {
                        self.unattributed += 1;
                        if let (Some(before), Some(behind)) =
                            (self.port_of(before), self.port_of(psn.plus(1)))
                        {
                            self.unseen.add([before, behind]);
                        }
                    }
                }
                self.note(sent, at, RESENT);
            }
            _ => {}
        }
    }

    /// What each path carried, and what is known of it in the end; whether a second tap told that; and packets that were lost on none that is known.
    fn judged(&self) -> (Vec<Tally>, bool, u64) {
        let mut tallies = self.tallies.clone();
        let is_told = self.crossings.tell(&mut tallies);
        let mut unattributed = self.unattributed;
        if !is_told {
            let [all, packets] = [|tally: &Tally| tally.filled, |tally: &Tally| tally.packets]
                .map(|of| tallies.iter().map(of).sum::<u64>());
            let share = |n: u64, tally: &Tally| n as f64 / tally.packets.max(1) as f64;
            // Where more of another path was late, what looks like retransmissions are those of what was late there.
            let latest = tallies.iter().map(|tally| share(tally.late, tally)).fold(0.0, f64::max);
            // What is late was sent again, too: that comes behind it. Behind what was lost, nothing does, whichever path its sender takes then.
            let behind: u64 = tallies.iter().map(|tally| tally.behind_filled).sum();
            let is_filled = |tally: &Tally| {
                tally.is_filled(all, packets)
                    && share(tally.filled, tally) > latest
                    && behind * 2 >= tally.filled
            };
            let are_filled: Vec<bool> = tallies.iter().map(is_filled).collect();
            if are_filled.contains(&true) && !self.goes_back() {
                for (tally, is_filled) in tallies.iter_mut().zip(are_filled) {
                    if is_filled {
                        unattributed = unattributed.saturating_sub(tally.filled);
                        tally.was_filled();
                    } else {
                        // What came behind those was sent again for them.
                        tally.late = tally.late.saturating_sub(tally.behind_filled);
                        tally.resent += tally.behind_filled;
                    }
                }
            }
            unattributed += self.doubt(&mut tallies);
            // What comes twice is acknowledged at once. That shows, unless something new was acknowledged with it.
            let answered = (self.acks as f64 / self.data.max(1) as f64).clamp(0.5, 1.0);
            settle(&mut tallies, answered);
        }
        (tallies, is_told, unattributed)
    }

    /// Takes back what this flow does not prove. Returns how many losses were taken back.
    fn doubt(&self, tallies: &mut [Tally]) -> u64 {
        // Answers that tell something new, too, are believed where others tell nothing new.
        // What others show of another path says nothing of this one: a receiver that has asked for a packet may acknowledge it unasked.
        for tally in &mut *tallies {
            if tally.proven_late.saturating_sub(tally.guessed_late) * 16 < tally.guessed_late {
                tally.doubt_guesses();
            }
        }
        // Which of several was late is a guess: a path of few may be of no one.
        let most = tallies.iter().map(|tally| tally.proven_late).max().unwrap_or(0);
        let goes_back = self.goes_back();
        // Where the sender goes back, what is repeated was mostly not lost: where most was lost before the tap, what was seen may have been repeated for that.
        let [before, behind] = self.lost;
        let is_all_before = goes_back && before + self.unattributed > 2 * behind;
        let mut unattributed = 0;
        for tally in &mut *tallies {
            if tally.proven_late < most / 4 {
                tally.proven_late = 0;
            }
            if is_all_before {
                unattributed += tally.lost.saturating_sub(tally.lost_before);
                tally.lost = tally.lost.min(tally.lost_before);
            }
            // Most of what arrives was sent several times: that nothing is known to have arrived shows nothing.
            if goes_back && tally.lost_before * 2 <= tally.lost {
                tally.lost_in_a_row = 0;
            }
        }
        unattributed
    }

    /// The position of a port. Blocks that do not have it are skipped, 16 ports at a time.
    fn find(&self, port: u16) -> Option<usize> {
        let is_among = |ports: &[u16; 16]| ports.iter().fold(false, |is_any, &one| is_any | (one == port));
        let (many, _) = self.ports.as_chunks();
        let before = many.iter().take_while(|&ports| !is_among(ports)).count() * 16;
        self.ports.get(before..)?.iter().position(|&one| one == port).map(|at| before + at)
    }
}

impl Entropy {
    /// An acknowledgement of the requests of a flow.
    fn on_answer(&mut self, peer: FlowId, packet: &Facts) {
        // Responses with data come in runs, too: these do not show each.
        let Some(aeth) =
            packet.aeth().filter(|_| packet.opcode().operation() == Some(Operation::Acknowledge))
        else {
            return;
        };
        let Some(many) = self.flows.known(peer).and_then(|flow| flow.many.as_deref_mut()) else { return };
        // A NAK is for the packet that is missing.
        let is_ack = aeth.syndrome().is_ack();
        let psn = if is_ack { packet.psn() } else { packet.psn().plus(u32::MAX) };
        many.answers(psn, is_ack, packet.time());
    }

    #[cold]
    fn start(&mut self, id: FlowId, port: u16, packet: &Facts) {
        let Some(ends) = Ends::of(packet) else { return };
        let is_full = self.pairs.len() >= MAX_PAIRS && !self.numbers.contains_key(&ends);
        if is_full || packet.opcode().is_cnp() {
            return;
        }
        let Some(flow) = self.flows.entry(id) else { return };
        let pairs = &mut self.pairs;
        let pair = *self.numbers.entry(ends).or_insert_with(|| {
            pairs.push(ends);
            pairs.len() as u32 - 1
        });
        let (qp, bytes) = (packet.dest_qp().map_or(0, |qp| qp.0), packet.l1_bytes() as u64);
        *flow = Flow { pair, qp, used: Used { port, packets: 1, bytes }, many: None };
    }

    /// The rank of each pair of hosts in the order of addresses.
    fn ranks(&self) -> Vec<u32> {
        let mut order: Vec<usize> = (0..self.pairs.len()).collect();
        order.sort_unstable_by_key(|&pair| self.pairs[pair]);
        let mut ranks = vec![0; order.len()];
        for (rank, pair) in (0..).zip(order) {
            ranks[pair] = rank;
        }
        ranks
    }

    /// The report's section: `None` where no flow has UDP ports. `known` says where a flow stands in the report.
    pub fn section(&self, known: impl Fn(FlowId) -> Option<KnownFlow>) -> Option<Report> {
        let mut report = Report::default();
        let mut by_port = HashMap::<u16, u64, RandomState>::default();
        let mut same = Vec::new();
        let mut by_flow = Vec::new();
        let here = self.flows.iter().map(|(id, flow)| (Some(id), flow));
        let all = here.chain(self.gone.iter().map(|flow| (None, flow)));
        for (id, flow) in all.filter(|(_, flow)| flow.used.bytes > 0) {
            let ports = flow.ports();
            report.flows += 1;
            by_flow.push(ports.iter().map(|used| used.bytes).sum());
            for used in &*ports {
                *by_port.entry(used.port).or_default() += used.bytes;
            }
            let known = id.and_then(&known);
            if let [only] = *ports {
                same.push(Alone { pair: flow.pair, port: only.port, qp: flow.qp, id });
                if let Some(peer) = known.and_then(|known| known.peer_qp) {
                    let is_linux = only.port == Udp::linux_source_port(Qpn(flow.qp), Qpn(peer));
                    let linux = report.linux_formula.get_or_insert_default();
                    linux.flows += 1;
                    linux.matching += is_linux as u64;
                }
            }
            if let Some(many) = flow.many.as_deref() {
                report.several_ports += 1;
                if many.returns >= MIN_RETURNS {
                    report.sprayed += 1;
                    report.lost_unattributed += many.unattributed;
                    if let (Some(known), true) = (known, report.sprayed_flows.len() < MAX_LISTED) {
                        report.sprayed_flows.push(SprayedFlow {
                            flow: known.index,
                            ports: ports.len() as u64,
                            switches: many.switches,
                        });
                    }
                }
            }
        }
        if report.flows == 0 {
            return None;
        }
        report.ports = by_port.len() as u64;
        // Sums of fractions differ in their last digits with the order of the ports, which says nothing: there is one order,
        // and the last digits are left out.
        let mut by_port: Vec<_> = by_port.into_iter().collect();
        by_port.sort_unstable_by_key(|&(port, _)| port);
        let rounded = |bits: f64| (bits * 1e9).round() / 1e9;
        report.entropy_bits = rounded(entropy(by_port.iter().map(|&(_, bytes)| bytes)));
        report.effective_flows = rounded(report.entropy_bits.exp2());
        report.flow_entropy_bits = rounded(entropy(by_flow.into_iter()));
        let ranks = self.ranks();
        same.sort_by_cached_key(|one| (ranks[one.pair as usize] as u64) << u16::BITS | one.port as u64);
        for flows in same.chunk_by(|a, b| (a.pair, a.port) == (b.pair, b.port)) {
            let Some(&first) = flows.first().filter(|first| flows.iter().any(|one| one.qp != first.qp))
            else {
                continue;
            };
            report.collisions += 1;
            if report.collision_groups.len() < MAX_LISTED {
                let (ends, udp_src_port) = (self.pairs[first.pair as usize], first.port);
                report.collision_groups.push(PortCollision {
                    src: ends.src.to_string(),
                    dst: ends.dst.to_string(),
                    udp_src_port,
                    flows: flows.iter().filter_map(|one| known(one.id?).map(|known| known.index)).collect(),
                });
            }
        }
        Some(report)
    }

    /// What the paths of flows show of packets that were taken for lost behind the tap, by the places of the flows. `known` as in [`section`](Self::section).
    pub(crate) fn behind_tap(
        &self,
        known: impl Fn(FlowId) -> Option<KnownFlow>,
    ) -> std::collections::HashMap<usize, BehindTap> {
        let several = self.flows.iter().filter_map(|(id, flow)| Some((id, flow.many.as_deref()?)));
        let told = several.filter(|(_, many)| many.returns >= MIN_RETURNS && many.data > 0);
        told.filter_map(|(id, many)| {
            let (tallies, is_told, _) = many.judged();
            // Who goes back repeats much that was not lost: it is no evidence.
            if many.goes_back() && !is_told {
                return None;
            }
            Some((known(id)?.index, BehindTap::of(&tallies, is_told)?))
        })
        .collect()
    }

    /// The paths of flows that come back to them, those that stand out first. `known` as in [`section`](Self::section).
    pub(crate) fn paths(&self, known: impl Fn(FlowId) -> Option<KnownFlow>) -> Vec<FlowPath> {
        let here = self.flows.iter().map(|(id, flow)| (Some(id), flow));
        let all = here.chain(self.gone.iter().map(|flow| (None, flow)));
        let mut paths = Vec::new();
        for (id, flow) in all {
            let Some(many) = flow.many.as_deref().filter(|many| many.returns >= MIN_RETURNS) else {
                continue;
            };
            if many.max <= FEW_PORTS || many.data == 0 {
                continue;
            }
            let ends = self.pairs[flow.pair as usize];
            let (flow, dest_qp) = (id.and_then(&known).map(|known| known.index), Some(flow.qp));
            let of = OfFlow { flow, src: ends.src, dst: ends.dst, dest_qp, spdcid: None };
            let unseen = many.unseen.left_out(many.unattributed, |at| many.ports.get(at).copied());
            let unseen = unseen.filter(|(port, _)| !many.ports.contains(port));
            let (mut tallies, is_told, unattributed) = many.judged();
            tallies.extend(unseen.map(|(_, lost)| Tally::never_seen(lost)));
            let entropy = many.ports.iter().copied().chain(unseen.map(|(port, _)| port));
            let entropy = entropy.map(|port| (port, None));
            let is_known = is_told || many.answered.is_some();
            let view = View { is_lost_before: many.lost[0] + many.unattributed > many.lost[1], is_known };
            let lost_unattributed = unattributed.saturating_sub(unseen.map_or(0, |(_, lost)| lost));
            let with_those = |path| FlowPath { lost_unattributed, ..path };
            paths.extend(rows(&of, &tallies, view, entropy).map(with_those));
        }
        in_order(paths)
    }
}

/// Shannon's entropy of shares, in bits.
fn entropy(shares: impl Iterator<Item = u64> + Clone) -> f64 {
    let total: u64 = shares.clone().sum();
    let bits: f64 = shares
        .filter(|&share| share > 0)
        .map(|share| share as f64 / total as f64)
        .map(|p| -p * p.log2())
        .sum();
    // The maximum of 0 and -0 may be either: it would depend on the compiler's optimizations.
    if bits > 0.0 { bits } else { 0.0 }
}
