//! Credits of native InfiniBand: how much could each end of a link still send on each virtual lane, and when could it send nothing?
//!
//! Both ends send link packets (IBTA vol. 1, 7.9.4). In them is what the end has sent so far (FCTBS), and up to where its peer may send
//! (FCCL): so the credits of an end are the FCCL of its peer minus its own FCTBS, modulo 4096, in blocks of 64 bytes. They are known when
//! one of the two sends a link packet. Which two directions are one link: the capture ports of ERF, of which 0 and 1, 2 and 3 and so on are
//! one; or the only two that there are.

use super::{
    Context, Metric,
    bins::{Axis, Binned, InBin},
};
use crate::{
    analyze::model::Event,
    heap::{Heap, heap},
    icrc,
    report::{self, CreditBin, CreditStall, Reason},
    wire::{Erf, Hex16, Kind, LinkPacket},
};

/// Directions of links that are told apart.
const MAX_DIRECTIONS: usize = 64;
const LANES: usize = 16;
/// Stalls that are listed of a lane.
const MAX_STALLS: usize = 64;
/// Bins of credits over time: when there are more, they become twice as long.
const MAX_BINS: usize = 256;
const FINEST_NS: i64 = 1_000;
/// Both counters are of 12 bits, and a limit is at most half of that beyond what was sent.
const MASK: u16 = 0xfff;
const MOST: u16 = 2048;
/// Flow control is set up.
const INIT: u8 = 1;

/// The metric.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub struct Credits {
    directions: Vec<Direction>,
    bad_crcs: u64,
    last_ns: i64,
}

/// What one end of a link sends.
#[derive(Clone, Debug, crate::stored::Stored)]
struct Direction {
    interface: u16,
    port: u8,
    peer: Option<usize>,
    lanes: Vec<Option<Box<Lane>>>,
}

#[derive(Clone, Debug, Default, crate::stored::Stored)]
struct Lane {
    packets: u64,
    init_packets: u64,
    fctbs: u16,
    fccl: u16,
    /// Blocks that it sent, by the steps of FCTBS.
    blocks: u64,
    first_frame: u64,
    first_ns: i64,
    last_ns: i64,
    left: Left,
}

/// The credits that an end has left on a lane.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
struct Left {
    now: Option<u16>,
    since: i64,
    samples: u64,
    over_limit: u64,
    least: Option<(u16, i64)>,
    most: u16,
    known_ns: u64,
    /// Blocks times nanoseconds.
    sum: u128,
    stall: Option<CreditStall>,
    stalls: u64,
    stalled_ns: u64,
    longest_ns: u64,
    listed: Vec<CreditStall>,
    bins: Bins,
}

#[derive(Clone, Debug, crate::stored::Stored)]
struct Bins(Binned<CreditBin>);

impl Default for Bins {
    fn default() -> Bins {
        Bins(Binned::new(Axis::since_1970(FINEST_NS)))
    }
}

heap! {
    Direction { lanes }
    Lane { left }
    Left { listed, bins }
    Bins { 0 }
    CreditStall {}
    CreditBin {}
}

impl InBin for CreditBin {
    fn at(&self, axis: &Axis) -> i64 {
        axis.at(self.start_ns)
    }

    fn put(&mut self, at: i64, axis: &Axis) {
        self.start_ns = axis.start_ns(at);
    }

    fn add(&mut self, other: &CreditBin) {
        (self.least, self.most) = (self.least.min(other.least), self.most.max(other.most));
    }
}

impl Bins {
    fn add(&mut self, time_ns: i64, credits: u16) {
        let now = CreditBin { least: credits, most: credits, ..CreditBin::default() };
        if let Some(bin) = self.0.entry(time_ns, || now) {
            bin.add(&now);
        }
        self.0.bound(MAX_BINS);
    }
}

impl Left {
    /// So many credits are left from this time on; `None`: more was sent than the limit allows.
    fn set(&mut self, time: i64, frame: u64, credits: Option<u16>) {
        self.until(time);
        self.samples += 1;
        self.over_limit += credits.is_none() as u64;
        self.now = credits;
        self.since = time;
        match (credits, self.stall.is_some()) {
            (Some(0), false) => {
                let mut stall = CreditStall::default();
                (stall.start_ns, stall.end_ns, stall.frame) = (time, time, frame);
                self.stall = Some(stall);
            }
            (Some(0), true) | (_, false) => {}
            (_, true) => self.end_stall(time, true),
        }
        let Some(credits) = credits else { return };
        if self.least.is_none_or(|(least, _)| credits < least) {
            self.least = Some((credits, time));
        }
        self.most = self.most.max(credits);
        self.bins.add(time, credits);
    }

    /// What is known holds until this time.
    fn until(&mut self, time: i64) {
        let ns = time.saturating_sub(self.since).max(0) as u64;
        if let Some(now) = self.now {
            self.known_ns += ns;
            self.sum += u128::from(now) * u128::from(ns);
        }
        self.since = self.since.max(time);
    }

    fn end_stall(&mut self, time: i64, is_over: bool) {
        let Some(mut stall) = self.stall.take() else { return };
        (stall.end_ns, stall.is_over) = (time.max(stall.start_ns), is_over);
        let ns = stall.end_ns.abs_diff(stall.start_ns);
        self.stalls += 1;
        self.stalled_ns += ns;
        self.longest_ns = self.longest_ns.max(ns);
        if self.listed.len() < MAX_STALLS {
            self.listed.push(stall);
        }
    }
}

impl Credits {
    /// The direction of a frame.
    fn direction(&mut self, interface: u16, port: u8) -> Option<usize> {
        let known = self.directions.iter().position(|one| (one.interface, one.port) == (interface, port));
        if known.is_some() || self.directions.len() >= MAX_DIRECTIONS {
            return known;
        }
        let lanes = (0..LANES).map(|_| None).collect();
        self.directions.push(Direction { interface, port, peer: None, lanes });
        self.pair();
        Some(self.directions.len() - 1)
    }

    /// Finds the other direction of each link.
    fn pair(&mut self) {
        let all: Vec<(u16, u8)> = self.directions.iter().map(|one| (one.interface, one.port)).collect();
        let find = |is_it: &dyn Fn(&(u16, u8)) -> bool| {
            let mut found = (0..all.len()).filter(|&at| is_it(&all[at]));
            found.next().filter(|_| found.next().is_none())
        };
        for (at, &(interface, port)) in all.iter().enumerate() {
            let of_ports = find(&|&other| other == (interface, port ^ 1))
                .or_else(|| find(&|&(other, of)| other != interface && of == port ^ 1));
            let peer = of_ports.or_else(|| (all.len() == 2).then(|| 1 - at));
            if self.directions[at].peer != peer {
                self.directions[at].peer = peer;
                // What was known of another pair proves nothing.
                self.directions[at].lanes.iter_mut().flatten().for_each(|lane| lane.left = Left::default());
            }
        }
    }

    /// The credits of a direction on a lane, if both ends have told what they are made of.
    fn weigh(&mut self, sender: usize, vl: usize, time: i64, frame: u64) {
        let lane = |direction: Option<&Direction>| Some(direction?.lanes.get(vl)?.as_ref()?.counters());
        let own = self.directions.get(sender);
        let peer = own.and_then(|own| self.directions.get(own.peer?));
        let Some(([fctbs, _], [_, fccl])) = lane(own).zip(lane(peer)) else { return };
        let left = fccl.wrapping_sub(fctbs) & MASK;
        if let Some(Some(lane)) = self.directions.get_mut(sender).and_then(|own| own.lanes.get_mut(vl)) {
            lane.left.set(time, frame, Some(left).filter(|&left| left <= MOST));
        }
    }
}

impl Lane {
    /// FCTBS and FCCL of its last packet.
    fn counters(&self) -> [u16; 2] {
        [self.fctbs, self.fccl]
    }
}

impl Metric for Credits {
    #[inline]
    fn on_frame(&mut self, event: &Event<'_>) {
        if event.packet.has(Kind::LinkPacket) {
            self.on_link_packet(event);
        }
    }

    fn heap_bytes(&self) -> usize {
        self.directions.heap_bytes()
    }
}

impl Credits {
    #[cold]
    #[inline(never)]
    fn on_link_packet(&mut self, event: &Event<'_>) {
        let d = event.packet;
        let Some(packet) = d.get::<LinkPacket>() else { return };
        let time = event.record.time.0;
        let [a, b] = icrc::vcrc(packet.bytes().get(..4).unwrap_or(&[]));
        if packet.lpcrc() != Hex16(u16::from_be_bytes([a, b])) {
            self.bad_crcs += 1;
            return;
        }
        self.last_ns = self.last_ns.max(time);
        // Capture ports are bits 0, 1 and 6 of the flags.
        let port = d.get::<Erf>().map_or(0, |erf| erf.flags().0 & 3 | erf.flags().0 >> 4 & 4);
        let Some(at) = self.direction(event.record.interface, port) else { return };
        let vl = packet.vl() as usize;
        let direction = &mut self.directions[at];
        let peer = direction.peer;
        let Some(place) = direction.lanes.get_mut(vl) else { return };
        let is_first = place.is_none();
        let lane = place.get_or_insert_with(Box::default);
        if is_first {
            (lane.first_frame, lane.first_ns, lane.fctbs) = (event.number, time, packet.fctbs());
        }
        let is_init = packet.op().0 == INIT;
        lane.packets += 1;
        lane.init_packets += is_init as u64;
        if !is_init {
            lane.blocks += u64::from(packet.fctbs().wrapping_sub(lane.fctbs) & MASK);
        }
        (lane.fctbs, lane.fccl, lane.last_ns) = (packet.fctbs(), packet.fccl(), time);
        self.weigh(at, vl, time, event.number);
        if let Some(peer) = peer {
            self.weigh(peer, vl, time, event.number);
        }
    }

    /// A row for each lane of each end of a link.
    pub(crate) fn section(&self, context: &Context<'_>) -> Vec<report::Credits> {
        let of_direction = |direction: &Direction| {
            let lanes = (0..).zip(&direction.lanes).filter_map(|(vl, lane)| Some((vl, lane.as_deref()?)));
            let link = context.interface(direction.interface);
            lanes.map(|(vl, lane)| self.row(link.clone(), direction, vl, lane)).collect::<Vec<_>>()
        };
        self.directions.iter().flat_map(of_direction).collect()
    }

    /// Link packets whose checksum is wrong.
    pub(crate) fn bad_crcs(&self) -> u64 {
        self.bad_crcs
    }

    fn row(&self, link: String, direction: &Direction, vl: u8, lane: &Lane) -> report::Credits {
        let mut left = lane.left.clone();
        left.until(self.last_ns);
        left.end_stall(self.last_ns, false);
        let mut row = report::Credits {
            link,
            port: direction.port,
            vl,
            packets: lane.packets,
            init_packets: lane.init_packets,
            blocks: lane.blocks,
            first_frame: lane.first_frame,
            ..report::Credits::default()
        };
        let reason = match direction.peer {
            None => Some(Reason::OneWay),
            // Of two directions that are no link, half of the samples are beyond the limit.
            Some(_) if left.over_limit * 4 > left.samples => Some(Reason::Unpaired),
            Some(_) if left.least.is_none() => Some(Reason::TooFew),
            Some(_) => None,
        };
        if let Some(reason) = reason {
            row.why.insert("least".into(), reason);
            return row;
        }
        row.over_limit = Some(left.over_limit);
        (row.least, row.least_ns) = left.least.unzip();
        row.most = Some(left.most);
        row.mean = (left.known_ns > 0).then(|| left.sum as f64 / left.known_ns as f64);
        row.stalls = Some(left.stalls);
        row.stalled_ns = Some(left.stalled_ns);
        row.longest_stall_ns = Some(left.longest_ns);
        row.stall_ratio = (left.known_ns > 0).then(|| left.stalled_ns as f64 / left.known_ns as f64);
        row.stall_list = left.listed;
        let (bins, width_ns) = left.bins.0.get();
        (row.bin_ns, row.over_time) = (Some(width_ns as u64), bins.to_vec());
        row
    }
}
