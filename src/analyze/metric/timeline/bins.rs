//! Traffic over time in bins, which become twice as long when there are too many.

/// One bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Bin {
    /// Its number: it begins at the axis's `origin_ns` plus so many times its `width_ns`.
    pub at: u32,
    /// Packets, without those that were recorded twice.
    pub packets: u32,
    /// Bytes on the wire, with preamble, frame check sequence and inter-frame gap.
    pub l1_bytes: u64,
    /// Bytes of payload that was sent for the first time.
    pub goodput_bytes: u64,
    /// Retransmitted packets.
    pub resent: u32,
    /// Packets marked "congestion experienced".
    pub ce: u32,
    /// Congestion notification packets.
    pub cnps: u32,
    /// NAKs of all kinds.
    pub naks: u32,
    /// The highest PSN that was sent as a request by the end of the bin, if the flow has sent one.
    pub sent_psn: Option<u32>,
    /// The highest PSN that was acknowledged by this flow by the end of the bin, if it has acknowledged one.
    pub acked_psn: Option<u32>,
}

impl Bin {
    pub(super) fn add(&mut self, later: &Bin) {
        self.packets = self.packets.saturating_add(later.packets);
        self.l1_bytes += later.l1_bytes;
        self.goodput_bytes += later.goodput_bytes;
        self.resent = self.resent.saturating_add(later.resent);
        self.ce = self.ce.saturating_add(later.ce);
        self.cnps = self.cnps.saturating_add(later.cnps);
        self.naks = self.naks.saturating_add(later.naks);
        self.sent_psn = later.sent_psn.or(self.sent_psn);
        self.acked_psn = later.acked_psn.or(self.acked_psn);
    }
}

/// Where bins lie: the same for all flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Axis {
    /// Where bin 0 begins, in nanoseconds since 1970.
    pub origin_ns: i64,
    /// How long a bin is: [`Axis::FINEST_NS`] times a power of two.
    pub width_ns: i64,
}

impl Axis {
    /// The length of a bin to begin with.
    pub const FINEST_NS: i64 = 1_000;
    /// Bins of the whole capture, at most.
    pub const MOST: u32 = 1024;

    /// The bin of a time. Times before the origin are in the first one.
    pub fn at(&self, time_ns: i64) -> u32 {
        let at = time_ns.saturating_sub(self.origin_ns).max(0) / self.width_ns;
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// When a bin begins.
    pub fn start_ns(&self, at: u32) -> i64 {
        self.origin_ns.saturating_add(self.width_ns.saturating_mul(at as i64))
    }

    /// Makes the bins so long that this time is in one of them.
    pub(super) fn reach(&mut self, time_ns: i64) {
        while self.at(time_ns) >= Axis::MOST {
            self.width_ns *= 2;
        }
    }
}

/// Bins that had traffic, in the order of time.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Bins {
    #[serde(with = "crate::stored::roomy")]
    bins: Vec<Bin>,
    width_ns: i64,
}

impl Default for Bins {
    fn default() -> Bins {
        Bins { bins: Vec::new(), width_ns: Axis::FINEST_NS }
    }
}

impl Bins {
    /// The bins, and how long each is.
    pub fn get(&self) -> (&[Bin], i64) {
        (&self.bins, self.width_ns)
    }

    pub(super) fn bytes(&self) -> usize {
        self.bins.capacity() * size_of::<Bin>()
    }

    /// The bin of a time.
    pub(super) fn of(&mut self, axis: &Axis, time_ns: i64) -> Option<&mut Bin> {
        if self.width_ns < axis.width_ns {
            self.widen(axis.width_ns);
        }
        let at = Axis { width_ns: self.width_ns, ..*axis }.at(time_ns);
        let n = match self.bins.last() {
            Some(last) if last.at == at => self.bins.len() - 1,
            Some(last) if last.at > at => {
                // Back in time: to its bin, or the nearest before it, or the first.
                self.bins.partition_point(|bin| bin.at <= at).saturating_sub(1)
            }
            _ => {
                self.bins.push(Bin { at, ..Bin::default() });
                self.bins.len() - 1
            }
        };
        self.bins.get_mut(n)
    }

    /// Makes bins longer until there are at most so many.
    pub(super) fn thin(&mut self, most: usize) {
        while self.bins.len() > most.max(1) {
            self.widen(self.width_ns.saturating_mul(2));
        }
        self.bins.shrink_to_fit();
    }

    fn widen(&mut self, width_ns: i64) {
        let times = u32::try_from(width_ns / self.width_ns).unwrap_or(u32::MAX);
        self.width_ns = width_ns;
        self.bins.iter_mut().for_each(|bin| bin.at /= times);
        self.bins.dedup_by(|later, bin| {
            let is_same = later.at == bin.at;
            if is_same {
                bin.add(later);
            }
            is_same
        });
    }
}
