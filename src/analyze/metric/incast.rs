//! Incast: when did several senders together send more to one receiver than its link carries?
//!
//! Needs the speed of all links. The tap must be where the senders' packets come together: behind the receiver's link, there is never more
//! than it carries.

use std::ops::Range;

use super::{Metric, Placed, bins::Axis, bit_rate, numbers::Numbers, per_flow::PerFlow};
use crate::{
    analyze::{model::FlowId, network::Network, packet::Facts, table::run::RunSum},
    heap::{Heap, heap},
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
const NONE: u32 = u32::MAX;

/// The metric. Without a speed it does nothing.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub struct Incast {
    /// The speed of all links in bit/s, where the user gives it.
    given_bps: Option<u64>,
    /// Of each interface, by number, where the capture has it.
    speeds: Vec<Option<u64>>,
    flows: PerFlow<OfFlow>,
    numbers: Numbers,
    /// The hosts by their numbers.
    hosts: Vec<Host>,
    /// Hosts that got something in the bin at hand.
    active: Vec<u32>,
    start: i64,
    found: Vec<report::Incast>,
    is_open: bool,
}

/// A flow: its source and destination, as places in `hosts`.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct OfFlow {
    ends: [u32; 2],
    /// The last bin in which it had packets, and the last one that was full.
    bin: i64,
    full_bin: i64,
    /// How long it shared a link that was full.
    full_ns: u64,
}

impl Default for OfFlow {
    fn default() -> OfFlow {
        OfFlow { ends: [NONE; 2], bin: i64::MIN, full_bin: i64::MIN, full_ns: 0 }
    }
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
    /// The speed of its link in bit/s: that of the interface where it was seen first; 0 where it is not known.
    speed_bps: u64,
    /// What it got in the bin at hand, and from how many.
    received: Load,
    senders: Vec<u32>,
    sent: Load,
    /// Its last time of incast, in `found`, and when that ended.
    last: Option<(usize, i64)>,
}

heap! { Host { received, senders, sent } Load { flows } }

impl Incast {
    /// With the speed of all links in bit/s, where it is known before the first frame.
    pub fn new(speed_bps: Option<u64>) -> Incast {
        let given_bps = speed_bps.filter(|&bps| bps > 0);
        Incast { given_bps, numbers: Numbers::new(MAX_ADDRESSES), ..Incast::default() }
    }

    /// The speed of an interface's link.
    fn speed_bps(&self, interface: u16) -> Option<u64> {
        self.given_bps.or_else(|| self.speeds.get(usize::from(interface)).copied().flatten())
    }

    #[inline]
    fn knows_speed(&self) -> bool {
        self.given_bps.is_some() || !self.speeds.is_empty()
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
        let speed = self.speed_bps(packet.interface()).unwrap_or(0);
        for end in ends {
            if let Some(host) = self.hosts.get_mut(end as usize).filter(|host| host.speed_bps == 0) {
                host.speed_bps = speed;
            }
        }
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
        let Incast { start, active, numbers, hosts, found, flows, .. } = self;
        let (start, end) = (*start, start.saturating_add(BIN_NS));
        for number in active.drain(..) {
            let host = &mut hosts[number as usize];
            // Bytes that its link carries in a bin, and that with a fiftieth: frames are counted when they end.
            let carries = match host.speed_bps {
                0 => u128::MAX / 64,
                bps => u128::from(bps) * BIN_NS as u128 / 8_000_000_000,
            };
            let most = carries * 51 / 50;
            for load in [&mut host.received, &mut host.sent] {
                // A link is full at 19 of 20 bytes: there is always some time between frames.
                let is_full = load.bytes as u128 * 20 >= carries * 19 && load.flows.len() > 1;
                for flow in load.flows.drain(..).filter(|_| is_full) {
                    if let Some(flow) = flows.known(flow)
                        && std::mem::replace(&mut flow.full_bin, start) != start
                    {
                        flow.full_ns += BIN_NS as u64;
                    }
                }
            }
            host.sent.bytes = 0;
            let (bytes, senders) = (std::mem::take(&mut host.received.bytes), host.senders.len() as u64);
            host.senders.clear();
            if bytes as u128 <= most || senders < 2 {
                continue;
            }
            let rate = bit_rate(bytes, BIN_NS as u64);
            let goes_on = host.last.filter(|&(_, ended)| ended == start || found.len() >= MAX_LISTED);
            let at = match goes_on {
                Some((at, _)) => at,
                None if found.len() >= MAX_LISTED => continue,
                None => {
                    let receiver = numbers.name(number);
                    found.push(report::Incast { receiver, start_ns: start, ..report::Incast::default() });
                    found.len() - 1
                }
            };
            let incast = &mut found[at];
            incast.end_ns = end;
            incast.bins += 1;
            incast.bytes += bytes;
            incast.senders = incast.senders.max(senders);
            incast.peak_bps = incast.peak_bps.max(rate);
            host.last = Some((at, end));
        }
    }

    /// Times of incast, by time: the first ones.
    pub(crate) fn section(&self) -> Result<Vec<report::Incast>, Reason> {
        if !self.knows_speed() {
            return Err(Reason::UnknownSpeed);
        }
        let mut ended = self.clone();
        ended.close();
        let mut found = ended.found;
        found.sort_by(|a, b| (a.start_ns, &a.receiver).cmp(&(b.start_ns, &b.receiver)));
        Ok(found)
    }

    /// How long a flow shared a link with others while that was full, in nanoseconds; `None` without the link's speed.
    pub(super) fn full_ns(&self, flow: FlowId) -> Option<u64> {
        let Some(known) = self.flows.get(flow) else { return self.knows_speed().then_some(0) };
        let is_known = |&end: &u32| self.hosts.get(end as usize).is_some_and(|host| host.speed_bps > 0);
        known.ends.iter().all(is_known).then_some(known.full_ns)
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
        let (at, speed) = (usize::from(number), network.speed_bps(number));
        if speed.is_some() && self.speeds.len() <= at {
            self.speeds.resize(at + 1, None);
        }
        if let Some(known) = self.speeds.get_mut(at) {
            *known = speed;
        }
    }

    fn span(&self, time_ns: i64) -> Range<i64> {
        if !self.knows_speed() {
            return i64::MIN..i64::MAX;
        }
        BINS.span(BINS.at(time_ns))
    }

    fn heap_bytes(&self) -> usize {
        self.hosts.heap_bytes() + self.numbers.heap_bytes()
    }
}
