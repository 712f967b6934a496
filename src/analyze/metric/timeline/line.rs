//! What is kept of one flow.

use super::{
    bins::{Bins, MOST},
    track::{Kind, Stretch, Track},
};
use crate::analyze::metric::Measured;
use crate::{
    analyze::model::{Address, Space},
    heap::Heap,
    wire::Psn,
};

/// Which flow: source, destination, destination queue pair.
pub type Ends = (Address, Address, u32);

/// PSNs that were passed over when a later one came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, crate::stored::Stored)]
pub struct Hole {
    /// Their PSN space.
    pub space: Space,
    /// The first of them.
    pub psn: u32,
    /// How many.
    pub packets: u32,
    /// When the packet after them came, in nanoseconds since 1970.
    pub ns: i64,
    /// The frame of that packet, from 1.
    pub frame: u64,
    /// Of how many the first that came was retransmitted: they were lost before the tap.
    pub resent: u32,
    /// How many were only late.
    pub late: u32,
}

impl Hole {
    fn has(&self, space: Space, psn: u32) -> bool {
        let distance = Psn(psn).distance_from(Psn(self.psn));
        self.space == space && (0..self.packets as i64).contains(&(distance as i64))
    }

    /// Packets that were not just late: lost before the tap, or missing in the capture.
    pub fn missing(&self) -> u32 {
        self.packets.saturating_sub(self.late)
    }
}

/// Latencies one by one, in the order of time. Where there are too many, the longer one of two is kept.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub struct Samples {
    kept: Vec<Measured>,
    /// How many were measured.
    pub measured: u64,
    /// The longest of 2 to this power is kept.
    thinned: u32,
    group: u64,
}

impl Samples {
    /// Those that are kept.
    pub fn samples(&self) -> &[Measured] {
        &self.kept
    }

    pub(super) fn push(&mut self, measured: Measured) {
        let group = self.measured >> self.thinned;
        self.measured += 1;
        let is_same = std::mem::replace(&mut self.group, group) == group && self.measured > 1;
        if is_same && let Some(last) = self.kept.last_mut() {
            if measured.took_ns() > last.took_ns() {
                *last = measured;
            }
            return;
        }
        if self.kept.len() >= ORDINARY {
            self.thin(ORDINARY);
        }
        self.kept.push(measured);
    }

    fn thin(&mut self, most: usize) {
        while self.kept.len() > most / 2 && self.kept.len() > 1 {
            let longest = |two: &[Measured]| two.iter().max_by_key(|one| one.took_ns()).copied();
            self.kept = self.kept.chunks(2).filter_map(longest).collect();
            self.thinned += 1;
        }
    }
}

/// Stretches of a track to begin with.
const ORDINARY: usize = 2048;
const EVENTS: usize = 8192;
/// Holes among which the one of a late packet is looked for: the last ones.
const LAST_HOLES: usize = 256;

/// What is kept of one flow: of its packets in one direction. A queue pair number that is used again continues its line.
#[derive(Clone, Debug, crate::stored::Stored)]
pub struct Line {
    /// Which flow.
    pub ends: Ends,
    /// The virtual network of an overlay that it is in: others may have the same addresses.
    pub vni: Option<u32>,
    /// First transmissions: requests, and responses of READs.
    pub sent: [Track; 2],
    /// Its acknowledgements: of the opposite flow's requests.
    pub acks: Track,
    /// All else, in the order in which it was decided.
    pub events: Track,
    /// PSNs that were passed over.
    pub holes: Vec<Hole>,
    /// Latencies of its requests, by [`What`](super::What).
    pub latency: [Samples; 4],
    /// Its traffic over time.
    pub bins: Bins,
    /// Packets of which no picture is kept, as there are too many flows: all that came before, or everything.
    pub left_out: u64,
    /// The packets' traffic class, by the DSCP of the last.
    pub dscp: Option<u8>,
    /// The interfaces that recorded them, a bit each; the last bit stands for all from 63 on.
    pub(super) interfaces: u64,
    pub(super) score: u64,
    pub(super) packets: u64,
    next: [Option<u32>; 2],
}

impl Line {
    pub(super) fn new(ends: Ends, vni: Option<u32>) -> Line {
        Line {
            ends,
            vni,
            sent: [Track::new(ORDINARY), Track::new(ORDINARY)],
            acks: Track::new(ORDINARY),
            events: Track::new(EVENTS),
            holes: Vec::new(),
            latency: Default::default(),
            bins: Bins::default(),
            left_out: 0,
            dscp: None,
            interfaces: 0,
            score: 0,
            packets: 0,
            next: [None; 2],
        }
    }

    /// All its stretches.
    pub fn stretches(&self) -> impl Iterator<Item = &Stretch> {
        let tracks = [&self.sent[0], &self.sent[1], &self.acks, &self.events];
        tracks.into_iter().flat_map(|track| track.stretches())
    }

    /// How many packets of a kind the pictures show.
    pub fn count(&self, kind: Kind) -> u64 {
        self.stretches().filter(|stretch| stretch.kind == kind).map(|stretch| stretch.packets as u64).sum()
    }

    pub(super) fn bytes(&self) -> usize {
        let tracks: usize =
            [&self.sent[0], &self.sent[1], &self.acks, &self.events].map(Track::bytes).iter().sum();
        let latency: usize =
            self.latency.iter().map(|samples| samples.kept.capacity() * size_of::<Measured>()).sum();
        size_of::<Line>()
            + tracks
            + latency
            + self.bins.heap_bytes()
            + self.holes.capacity() * size_of::<Hole>()
    }

    /// A first transmission. `goes_on`: it has the PSN that was expected.
    pub(super) fn sent(&mut self, space: Space, psn: u32, ns: i64, frame: u64, goes_on: bool) {
        let next = self.next[space as usize].replace(Psn(psn).plus(1).0);
        if !goes_on && let Some(from) = next {
            let packets = Psn(psn).distance_from(Psn(from)).max(0) as u32;
            if packets > 0 {
                let hole = Hole { space, psn: from, packets, ns, frame, resent: 0, late: 0 };
                self.holes.push(hole);
                self.score += 10;
            }
        }
        self.sent[space as usize].push(Stretch { joins: goes_on, ..one(Kind::New, space, psn, ns, frame) });
    }

    /// The next PSN is not known: a READ request consumes several.
    pub(super) fn forget_next(&mut self, space: Space) {
        self.next[space as usize] = None;
    }

    /// A run of first transmissions. It followed the flow's last packet.
    pub(super) fn sent_run(&mut self, space: Space, last_psn: u32, ns: i64, packets: u32) {
        self.next[space as usize] = Some(Psn(last_psn).plus(1).0);
        let track = &mut self.sent[space as usize];
        let from_ns = track.last().map_or(ns, |last| last.to_ns.min(ns));
        let from_psn = last_psn.wrapping_sub(packets.saturating_sub(1)) & (Psn::SPACE - 1);
        let last = one(Kind::New, space, last_psn, ns, 0);
        track.push(Stretch { joins: true, packets, from_psn, from_ns, ..last });
    }

    /// A packet that is not a first transmission.
    pub(super) fn event(&mut self, event: Stretch) {
        let joins = match event.kind {
            Kind::Nak | Kind::RnrNak => false,
            Kind::Ce | Kind::Cnp => true,
            _ => self.events.last().is_some_and(|last| Psn(last.to_psn).plus(1).0 == event.from_psn),
        };
        self.score += match event.kind {
            Kind::Nak | Kind::RnrNak => 100,
            Kind::Ce | Kind::Cnp | Kind::Late | Kind::Ambiguous => 1,
            Kind::Copy | Kind::AckAgain => 0,
            _ => 10,
        };
        if matches!(event.kind, Kind::Again | Kind::Late) {
            self.fill(&event);
        }
        self.events.push(Stretch { joins, ..event });
    }

    /// The packet may be one that was missing.
    fn fill(&mut self, event: &Stretch) {
        let mut holes = self.holes.iter_mut().rev().take(LAST_HOLES);
        let Some(hole) = holes.find(|hole| hole.has(event.space, event.from_psn)) else { return };
        if event.kind == Kind::Again {
            hole.resent = (hole.resent + 1).min(hole.missing());
        } else {
            hole.late = (hole.late + 1).min(hole.packets - hole.resent);
        }
    }

    pub(super) fn ack(&mut self, psn: u32, ns: i64, frame: u64) {
        let is_forward = self.acks.last().is_some_and(|last| Psn(psn).distance_from(Psn(last.to_psn)) >= 0);
        self.acks.push(Stretch { joins: is_forward, ..one(Kind::Ack, Space::Response, psn, ns, frame) });
    }

    /// Gives up detail: of the finest, an eighth is left at each level.
    pub(super) fn shed(&mut self, level: u8) {
        let most = ORDINARY >> (3 * level as usize).min(11);
        self.sent.iter_mut().for_each(|track| track.thin(most));
        self.acks.thin(most);
        self.events.thin(EVENTS >> (3 * level as usize).min(11));
        self.bins.bound(MOST as usize >> (3 * level as usize).min(10));
        self.latency.iter_mut().for_each(|samples| samples.thin(most));
        self.holes.shrink_to_fit();
    }
}

/// A stretch of one packet.
pub(super) fn one(kind: Kind, space: Space, psn: u32, ns: i64, frame: u64) -> Stretch {
    Stretch {
        kind,
        space,
        joins: false,
        syndrome: 0,
        packets: 1,
        from_psn: psn,
        to_psn: psn,
        from_ns: ns,
        to_ns: ns,
        frame,
    }
}
