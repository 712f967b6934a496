//! Stretches: packets of one kind that follow each other, as a line from the first to the last.

use crate::{analyze::model::Space, wire::Psn};

/// What the packets of a stretch are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, crate::stored::Stored)]
pub enum Kind {
    /// Sent for the first time, in order or after a gap.
    New,
    /// Retransmitted.
    Again,
    /// Overtaken on its way to the tap.
    Late,
    /// One transmission that was recorded twice.
    Copy,
    /// Either overtaken or retransmitted.
    Ambiguous,
    /// With a wrong ICRC or checksum.
    Corrupt,
    /// A packet that a switch cut to its headers.
    Trimmed,
    /// An acknowledgement.
    Ack,
    /// An acknowledgement of what was acknowledged before.
    AckAgain,
    /// A NAK. Its PSN is the one that it asks for.
    Nak,
    /// An RNR NAK: the receiver was not ready.
    RnrNak,
    /// A congestion notification packet. It slows the opposite flow.
    Cnp,
    /// A packet marked "congestion experienced". It is also in the stretch of its class.
    Ce,
}

impl Kind {
    /// Its name, as in data for pictures.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::New => "first transmission",
            Kind::Again => "retransmission",
            Kind::Late => "late original",
            Kind::Copy => "capture duplicate",
            Kind::Ambiguous => "ambiguous",
            Kind::Corrupt => "corrupt",
            Kind::Trimmed => "trimmed",
            Kind::Ack => "ACK",
            Kind::AckAgain => "repeated ACK",
            Kind::Nak => "NAK",
            Kind::RnrNak => "RNR NAK",
            Kind::Cnp => "CNP",
            Kind::Ce => "CE mark",
        }
    }

    /// Whether it is ordinary: its stretches become longer when there are too many. All others are events.
    pub const fn is_ordinary(self) -> bool {
        matches!(self, Kind::New | Kind::Ack)
    }
}

/// Packets of one kind that follow each other. Between the first and the last, a straight line is near the truth: no further off
/// in time than the track's grain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, crate::stored::Stored)]
pub struct Stretch {
    /// What they are.
    pub kind: Kind,
    /// Their PSN space.
    pub space: Space,
    /// It directly follows the stretch before it: no PSN lies between.
    pub joins: bool,
    /// Of an RNR NAK or a NAK: its syndrome.
    pub syndrome: u8,
    /// How many packets they are.
    pub packets: u32,
    /// PSN of the first.
    pub from_psn: u32,
    /// PSN of the last.
    pub to_psn: u32,
    /// Time of the first, in nanoseconds since 1970.
    pub from_ns: i64,
    /// Time of the last.
    pub to_ns: i64,
    /// Frame number of the first, from 1; 0 where it came in a run.
    pub frame: u64,
}

impl Stretch {
    /// Whether it has a packet with this PSN.
    pub fn has(&self, psn: u32) -> bool {
        let reach = Psn(self.to_psn).distance_from(Psn(self.from_psn));
        (0..=reach.max(0)).contains(&Psn(psn).distance_from(Psn(self.from_psn)))
    }

    /// When the packet with this PSN came, by the straight line.
    pub fn time_of(&self, psn: u32) -> i64 {
        let reach = Psn(self.to_psn).distance_from(Psn(self.from_psn)).max(1) as i128;
        let at = Psn(psn).distance_from(Psn(self.from_psn)).max(0) as i128;
        let lasted = self.to_ns as i128 - self.from_ns as i128;
        (self.from_ns as i128 + lasted * at.min(reach) / reach) as i64
    }

    /// The last PSN of it that had come by this time, by the straight line.
    pub fn psn_at(&self, ns: i64) -> u32 {
        let reach = Psn(self.to_psn).distance_from(Psn(self.from_psn)).max(0) as i128;
        let lasted = (self.to_ns as i128 - self.from_ns as i128).max(1);
        let past = (ns as i128 - self.from_ns as i128).clamp(0, lasted);
        Psn(self.from_psn).plus((reach * past / lasted) as u32).0
    }

    /// Takes the next stretch into this one.
    fn add(&mut self, next: &Stretch) {
        (self.to_psn, self.to_ns) = (next.to_psn, next.to_ns);
        self.packets = self.packets.saturating_add(next.packets);
    }
}

/// Stretches of one flow, in the order in which they were decided. When there are too many, those that follow each other become
/// one: nothing is left out.
#[derive(Clone, Debug, crate::stored::Stored)]
pub struct Track {
    stretches: Vec<Stretch>,
    /// Longest time of a stretch of several packets, in nanoseconds.
    grain_ns: i64,
    most: usize,
}

/// The first grain of a track.
const FINEST_NS: i64 = 1_000;
const COARSEST_NS: i64 = 1 << 60;

impl Track {
    pub(super) fn new(most: usize) -> Track {
        Track { stretches: Vec::new(), grain_ns: FINEST_NS, most }
    }

    /// The stretches.
    pub fn stretches(&self) -> &[Stretch] {
        &self.stretches
    }

    /// How far times within a stretch may be wrong at most, in nanoseconds. The times of its ends are right.
    pub fn grain_ns(&self) -> i64 {
        self.grain_ns
    }

    pub(super) fn bytes(&self) -> usize {
        self.stretches.capacity() * size_of::<Stretch>()
    }

    /// The time of the last packet.
    pub(super) fn last(&self) -> Option<&Stretch> {
        self.stretches.last()
    }

    #[inline]
    pub(super) fn push(&mut self, next: Stretch) {
        if let Some(last) = self.stretches.last_mut()
            && can_join(last, &next, self.grain_ns)
        {
            return last.add(&next);
        }
        if self.stretches.len() >= self.most {
            self.thin(self.most);
        }
        self.stretches.push(next);
    }

    /// Makes neighbours one until half of `most` are left, or no more can be joined: then `most` becomes larger.
    #[cold]
    pub(super) fn thin(&mut self, most: usize) {
        self.most = most;
        while self.stretches.len() > most / 2 {
            if self.grain_ns >= COARSEST_NS {
                self.most = self.stretches.len() * 2;
                break;
            }
            self.grain_ns *= 4;
            let grain = self.grain_ns;
            self.stretches.dedup_by(|next, before| {
                let joined = can_join(before, next, grain);
                if joined {
                    before.add(next);
                }
                joined
            });
        }
        self.stretches.shrink_to(most);
    }
}

/// Whether two stretches may be one of this grain.
fn can_join(before: &Stretch, next: &Stretch, grain_ns: i64) -> bool {
    let is_same = (before.kind, before.space) == (next.kind, next.space) && next.joins;
    is_same && next.to_ns >= before.from_ns && next.to_ns.saturating_sub(before.from_ns) <= grain_ns
}
