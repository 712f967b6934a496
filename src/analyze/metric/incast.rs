//! Incast: when did several senders together send more to one receiver than its link carries?
//!
//! Needs the speeds of the receivers' links. The tap must be where the senders' packets come together: behind the receiver's link, there is
//! never more than it carries. Which interface taps a receiver's own link is known at the end: until then, each bin is judged by each speed
//! that the capture has, for they are few.

use std::{collections::BTreeSet, ops::Range};

use super::{Metric, Placed, bins::Axis, bit_rate, numbers::Numbers, per_flow::PerFlow};
use crate::{
    analyze::{
        model::{Address, FlowId},
        network::{HostSpeeds, Network},
        packet::Facts,
        table::run::RunSum,
    },
    heap::{Heap, heap},
    in_order::InOrder,
    report::{self, Reason},
};

/// The length of a bin, in nanoseconds.
pub const BIN_NS: i64 = 50_000;
const BINS: Axis = Axis::since_1970(BIN_NS);
/// Addresses that are told apart.
const MAX_ADDRESSES: usize = 1 << 16;
/// Senders of a bin that are told apart.
const MAX_SENDERS: usize = 1024;
/// Times of incast that are listed; the last one is extended by those after it.
const MAX_LISTED: usize = 1024;
/// Speeds of links that are told apart.
const MAX_SPEEDS: usize = 4;
/// Steps of a clock that are longer move too many bytes from bin to bin.
const COARSE_NS: u64 = BIN_NS as u64 / 20;
/// A card may give the frames of so many bins the time of the last one.
const BATCH_BINS: i64 = 5;
const NONE: u32 = u32::MAX;

/// The metric. Without a speed it does nothing.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub struct Incast {
    /// Different speeds in bit/s by which bins are judged: the user's alone, or those of interfaces.
    speeds: Vec<u64>,
    is_given: bool,
    flows: PerFlow<OfFlow>,
    /// Of flows that shared a link that was full.
    full: Vec<Full>,
    numbers: Numbers,
    /// The hosts by their numbers.
    hosts: Vec<Host>,
    /// Hosts that got something in the bin at hand.
    active: Vec<u32>,
    start: i64,
    found: Vec<Found>,
    is_open: bool,
}

/// A flow: its source and destination, as places in `hosts`.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct OfFlow {
    ends: [u32; 2],
    /// The last bin in which it had packets.
    bin: i64,
    /// Its place in `full`.
    full: u32,
}

impl Default for OfFlow {
    fn default() -> OfFlow {
        OfFlow { ends: [NONE; 2], bin: i64::MIN, full: NONE }
    }
}

/// In how many bins a flow shared a link that was full, if the link has one of the speeds: that of its source, that of its destination, and
/// both.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct Full {
    bin: i64,
    /// In that bin, a bit for each speed.
    is_full: [u8; 2],
    bins: [[u32; MAX_SPEEDS]; 2],
    both: [[u32; MAX_SPEEDS]; MAX_SPEEDS],
}

impl Full {
    fn add(&mut self, start: i64, end: usize, speed: usize) {
        if std::mem::replace(&mut self.bin, start) != start {
            self.is_full = [0; 2];
        }
        if self.is_full[end] >> speed & 1 == 1 {
            return;
        }
        self.is_full[end] |= 1 << speed;
        self.bins[end][speed] += 1;
        for other in (0..MAX_SPEEDS).filter(|other| self.is_full[1 - end] >> other & 1 == 1) {
            let [src, dst] = if end == 0 { [speed, other] } else { [other, speed] };
            self.both[src][dst] += 1;
        }
    }
}

/// A time of incast, if the receiver's link has the speed with this number.
#[derive(Clone, Debug, crate::stored::Stored)]
struct Found {
    host: u32,
    speed: u8,
    /// There was more than the link carries from [`BATCH_BINS`] before it on, too.
    is_lasting: bool,
    row: report::Incast,
}

/// What goes through one direction of a host's link in the bin at hand.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
struct Load {
    bytes: u64,
    /// Flows that share it: the first ones.
    flows: Vec<FlowId>,
}

#[derive(Clone, Debug, Default, crate::stored::Stored)]
struct Host {
    /// What it got in the bin at hand, and from how many.
    received: Load,
    senders: Vec<u32>,
    sent: Load,
    /// By speed, its last time of incast, in `found`, and when that ended.
    last: [Option<(u32, i64)>; MAX_SPEEDS],
    /// When its last bin with anything ended, and how much more its link would have carried in the bins before it, by speed.
    until: i64,
    room: [i64; MAX_SPEEDS],
    /// It got packets of several senders in one bin.
    is_shared: bool,
}

heap! { Host { received, senders, sent } Load { flows } Full {} }

impl Incast {
    /// With the speed of all links in bit/s, where it is known before the first frame.
    pub fn new(speed_bps: Option<u64>) -> Incast {
        let speeds: Vec<u64> = speed_bps.filter(|&bps| bps > 0).into_iter().collect();
        let is_given = !speeds.is_empty();
        Incast { speeds, is_given, numbers: Numbers::new(MAX_ADDRESSES), ..Incast::default() }
    }

    #[inline]
    fn knows_speed(&self) -> bool {
        !self.speeds.is_empty()
    }

    #[cold]
    #[inline(never)]
    fn begin(&mut self, flow: FlowId, packet: &Facts) {
        let (Some(src), Some(dst)) = (packet.source(), packet.destination()) else { return };
        if self.flows.entry(flow).is_none() {
            return;
        }
        let ends = [src, dst].map(|address| self.numbers.of(address).unwrap_or(NONE));
        self.hosts.resize_with(self.numbers.len(), Host::default);
        if let Some(of_flow) = self.flows.known(flow) {
            *of_flow = OfFlow { ends, ..OfFlow::default() };
        }
    }

    fn add(&mut self, flow: FlowId, time: i64, bytes: u64) {
        if !self.is_open || time >= self.start.saturating_add(BIN_NS) {
            self.close();
            (self.is_open, self.start) = (true, BINS.span(BINS.at(time)).start);
        }
        let Some(of_flow) = self.flows.known(flow) else { return };
        let is_first = std::mem::replace(&mut of_flow.bin, self.start) != self.start;
        let [src, dst] = of_flow.ends;
        for (end, is_source) in [(src, true), (dst, false)] {
            let Some(host) = self.hosts.get_mut(end as usize) else { continue };
            if host.received.bytes + host.sent.bytes == 0 {
                self.active.push(end);
            }
            let load = if is_source { &mut host.sent } else { &mut host.received };
            load.bytes += bytes;
            if is_first && load.flows.len() < MAX_SENDERS {
                load.flows.push(flow);
            }
            if !is_source
                && host.senders.last() != Some(&src)
                && host.senders.len() < MAX_SENDERS
                && !host.senders.contains(&src)
            {
                host.senders.push(src);
            }
        }
    }

    /// The bin at hand is over.
    fn close(&mut self) {
        let Incast { speeds, start, active, numbers, hosts, found, flows, full, .. } = self;
        let (start, end) = (*start, start.saturating_add(BIN_NS));
        for number in active.drain(..) {
            let host = &mut hosts[number as usize];
            let (received, sent) = (host.received.bytes, host.sent.bytes);
            let senders = host.senders.len() as u64;
            host.is_shared |= senders > 1;
            let idle = start.saturating_sub(host.until).div_euclid(BIN_NS).clamp(0, BATCH_BINS);
            host.until = end;
            for (at, &bps) in speeds.iter().enumerate() {
                // Bytes that its link carries in a bin, and that with a fiftieth: frames are counted when they end.
                let carries =
                    (u128::from(bps) * BIN_NS as u128 / 8_000_000_000).min(u128::from(u64::MAX / 64)) as u64;
                let most = carries + carries / 50;
                for (end, load) in [(0, &host.sent), (1, &host.received)] {
                    // A link is full at 19 of 20 bytes: there is always some time between frames.
                    if load.bytes as u128 * 20 < carries as u128 * 19 || load.flows.len() < 2 {
                        continue;
                    }
                    for &flow in &load.flows {
                        let Some(flow) = flows.known(flow) else { continue };
                        if flow.full == NONE {
                            flow.full = full.len() as u32;
                            full.push(Full {
                                bin: i64::MIN,
                                is_full: [0; 2],
                                bins: [[0; MAX_SPEEDS]; 2],
                                both: [[0; MAX_SPEEDS]; MAX_SPEEDS],
                            });
                        }
                        if let Some(full) = full.get_mut(flow.full as usize) {
                            full.add(start, end, at);
                        }
                    }
                }
                // What was idle before may have carried what came in this bin.
                let deepest = (carries as i64).saturating_mul(BATCH_BINS);
                let room = host.room[at].saturating_add((carries as i64).saturating_mul(idle)).min(deepest);
                let room = room.saturating_add(most as i64).saturating_sub(received as i64);
                host.room[at] = room.clamp(0, deepest);
                if received <= most || senders < 2 {
                    continue;
                }
                let are_many = found.len() >= MAX_LISTED * speeds.len();
                let goes_on = host.last[at].filter(|&(_, ended)| ended == start || are_many);
                let place = match goes_on {
                    Some((place, _)) => place as usize,
                    None if are_many => continue,
                    None => {
                        let receiver = numbers.name(number);
                        let row = report::Incast { receiver, start_ns: start, ..report::Incast::default() };
                        found.push(Found { host: number, speed: at as u8, is_lasting: false, row });
                        found.len() - 1
                    }
                };
                let one = &mut found[place];
                one.is_lasting |= room < 0;
                let row = &mut one.row;
                row.end_ns = end;
                row.bins += 1;
                row.bytes += received;
                row.senders = row.senders.max(senders);
                row.peak_bps = row.peak_bps.max(bit_rate(received, BIN_NS as u64));
                host.last[at] = Some((place as u32, end));
            }
            debug_assert!(received + sent > 0);
            for load in [&mut host.received, &mut host.sent] {
                load.bytes = 0;
                load.flows.clear();
            }
            host.senders.clear();
        }
    }

    /// By the speeds of hosts' links. `step_ns`: that of the capture's clock, or of batches of times.
    pub(crate) fn judged(&self, speeds: &HostSpeeds, step_ns: u64) -> Judged {
        let mut all = self.clone();
        all.close();
        let place = |bps: u64| all.speeds.iter().position(|&known| known == bps);
        let of = |number: u32| {
            let given = self.is_given.then_some(0);
            given.or_else(|| place(speeds.of(all.numbers.address(number)?)?))
        };
        let of_host = (0..all.hosts.len() as u32).map(of).collect();
        let is_one = !self.is_given && speeds.are_of_one_interface();
        Judged { all, of_host, is_one, is_coarse: step_ns > COARSE_NS }
    }
}

/// What links carried, by their speeds.
#[derive(Debug)]
pub(crate) struct Judged {
    all: Incast,
    /// Of each host the place of its link's speed, where that is known.
    of_host: Vec<Option<usize>>,
    /// All was captured by one interface, which says how fast it is.
    is_one: bool,
    is_coarse: bool,
}

impl Judged {
    fn speed(&self, host: u32) -> Option<usize> {
        self.of_host.get(host as usize).copied().flatten()
    }

    /// Times of incast, by time: the first ones.
    pub(crate) fn section(&self) -> Result<Vec<report::Incast>, Reason> {
        if !self.all.knows_speed() {
            return Err(Reason::UnknownSpeed);
        }
        if self.is_coarse {
            return Err(Reason::CoarseTimes);
        }
        let mut found: Vec<report::Incast> = self.sure().map(|one| one.row.clone()).collect();
        let is_unknown = |(number, host): (u32, &Host)| host.is_shared && self.speed(number).is_none();
        if found.is_empty() && (0..).zip(&self.all.hosts).any(is_unknown) {
            return Err(Reason::UnknownSpeed);
        }
        found.order_by(|a, b| (a.start_ns, &a.receiver).cmp(&(b.start_ns, &b.receiver)));
        found.truncate(MAX_LISTED);
        Ok(found)
    }

    /// Times of incast by the speeds of the receivers' links.
    fn sure(&self) -> impl Iterator<Item = &Found> {
        // An interface cannot have got more than its link carries. What is so for a short time only may be times of batches; else it
        // is a mirror of several links, of which it says the speed.
        let is_sure = |one: &&Found| {
            self.speed(one.host) == Some(usize::from(one.speed)) && (one.is_lasting || !self.is_one)
        };
        self.all.found.iter().filter(|_| !self.is_coarse).filter(is_sure)
    }

    /// Who got more than its link carries.
    pub(crate) fn receivers(&self) -> Vec<Address> {
        let numbers: BTreeSet<u32> = self.sure().map(|one| one.host).collect();
        numbers.into_iter().filter_map(|number| self.all.numbers.address(number)).collect()
    }

    /// How long a flow shared a link with others while that was full, in nanoseconds; `None` without the speeds of both its links.
    pub(super) fn full_ns(&self, flow: FlowId) -> Option<u64> {
        let known = !self.is_coarse && self.all.knows_speed();
        let Some(of_flow) = self.all.flows.get(flow).filter(|_| known) else { return known.then_some(0) };
        let [src, dst] = of_flow.ends.map(|end| self.speed(end));
        let (src, dst) = src.zip(dst)?;
        let Some(full) = self.all.full.get(of_flow.full as usize) else { return Some(0) };
        let bins = full.bins[0][src] + full.bins[1][dst] - full.both[src][dst];
        Some(u64::from(bins) * BIN_NS as u64)
    }

    /// As [`full_ns`](Self::full_ns), at least: of the link whose speed is known.
    pub(super) fn least_full_ns(&self, flow: FlowId) -> u64 {
        let at_one_end = || {
            let of_flow = self.all.flows.get(flow).filter(|_| !self.is_coarse)?;
            let full = self.all.full.get(of_flow.full as usize)?;
            let of_end = |(end, &host): (usize, &u32)| Some(full.bins[end][self.speed(host)?]);
            of_flow.ends.iter().enumerate().filter_map(of_end).max()
        };
        self.full_ns(flow).unwrap_or_else(|| at_one_end().map_or(0, |bins| u64::from(bins) * BIN_NS as u64))
    }
}

impl Metric for Incast {
    #[inline(always)]
    fn on_packet(&mut self, packet: &Facts, place: &Placed) {
        if self.knows_speed()
            && let Some(flow) = place.flow
            && !place.is_capture_duplicate()
        {
            if self.flows.get(flow).is_none_or(|flow| flow.ends[0] == NONE) {
                self.begin(flow, packet);
            }
            self.add(flow, packet.time(), packet.l1_bytes() as u64);
        }
    }

    fn on_run(&mut self, run: &RunSum) {
        if self.knows_speed() {
            self.add(run.flow, run.last_ns, run.l1_bytes);
        }
    }

    fn on_retire(&mut self, flow: FlowId) {
        self.flows.retire(flow);
    }

    fn on_interface(&mut self, number: u16, network: &Network) {
        let speed = network.speed_bps(number).filter(|_| !self.is_given);
        if let Some(speed) = speed.filter(|&bps| bps > 0 && self.speeds.len() < MAX_SPEEDS)
            && !self.speeds.contains(&speed)
        {
            self.speeds.push(speed);
        }
    }

    fn span(&self, time_ns: i64) -> Range<i64> {
        if !self.knows_speed() {
            return i64::MIN..i64::MAX;
        }
        BINS.span(BINS.at(time_ns))
    }

    fn heap_bytes(&self) -> usize {
        self.hosts.heap_bytes() + self.numbers.heap_bytes() + self.full.heap_bytes()
    }
}
