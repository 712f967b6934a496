//! Does the paused end of a link honor the pause: which frames of the priority came later than it needs to stop?
//!
//! Frames do not say which end of a link sent them. With the addresses of the host at one end, that is sure: what goes to the host comes
//! from the other end, and what comes from the host is its own. So frames are counted by their addresses, and judged when the links are
//! known. Between two switches, the hosts that the user's other links join to them say it: of what goes from none of these to none, nothing does.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::{
    analyze::model::{Address, sent_by},
    heap::heap,
    report::{PauseViolations, Reason},
    wire::{QUANTUM_BITS, quanta_ns},
};

/// Pairs of hosts that are told apart.
const MAX_PAIRS: usize = 1 << 12;
/// How long the paused end may still send: to take in the frame, and for the cable.
const REACTION_NS: i64 = 2_000;
/// And to send the largest frame to its end, with preamble and gap: one that it had begun.
const LARGEST_FRAME: u64 = 9_216 + 38;

/// Frames that came late into pauses: by the number of the pause's source, and by their own source and destination.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(super) struct Violations {
    late: HashMap<(u8, Address, Address), Late, RandomState>,
    not_kept: u64,
}

#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct Late {
    frames: u64,
    first: u64,
    most_ns: i64,
}

heap! { Violations { late } Late {} }

/// Hosts at the ends of a link, by their addresses, or behind a switch at an end; empty where none is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Hosts {
    /// At the end that sends the pauses.
    pub(super) pausing: Vec<Address>,
    /// At the end that is paused.
    pub(super) paused: Vec<Address>,
}

impl Hosts {
    /// Whether the paused end sent a frame with this source and destination, or the pausing one; `None` where that is not known.
    pub(super) fn is_from_paused(&self, src: Address, dst: Address) -> Option<bool> {
        sent_by([&self.pausing, &self.paused], src, dst).map(|end| end == 1)
    }

    /// Whether the paused end sent it, for sure.
    pub(super) fn are_of(&self, src: Address, dst: Address) -> bool {
        self.is_from_paused(src, dst) == Some(true)
    }
}

/// How long after a frame that asks for a pause the other end of a link of this speed may still send.
pub(super) fn allowance_ns(speed: u64) -> i64 {
    let quanta = (LARGEST_FRAME * 8).div_ceil(QUANTUM_BITS);
    REACTION_NS + quanta_ns(quanta as u16, speed)
}

impl Violations {
    /// A frame that came so long after the beginning of a pause of this source, beyond what is allowed.
    #[cold]
    pub(super) fn add(&mut self, source: u8, (src, dst): (Address, Address), frame: u64, late_ns: i64) {
        let key = (source, src, dst);
        if self.late.len() >= MAX_PAIRS && !self.late.contains_key(&key) {
            self.not_kept += 1;
            return;
        }
        let late = self.late.entry(key).or_insert(Late { frames: 0, first: frame, most_ns: 0 });
        late.frames += 1;
        late.most_ns = late.most_ns.max(late_ns);
    }

    /// Whether a frame from one address to another came so late into pauses of this source.
    pub(super) fn any(&self, source: u8, src: Address, dst: Address) -> bool {
        self.late.contains_key(&(source, src, dst))
    }

    /// The frames that the paused end sent into this source's pauses.
    pub(super) fn of(&self, source: u8, hosts: &Hosts) -> Result<PauseViolations, Reason> {
        if hosts.pausing.is_empty() && hosts.paused.is_empty() {
            return Err(Reason::UnknownDirection);
        }
        if self.not_kept > 0 {
            return Err(Reason::MemoryLimit);
        }
        let its = self.late.iter().filter(|&(&(by, src, dst), _)| by == source && hosts.are_of(src, dst));
        let mut all = PauseViolations::default();
        for (_, late) in its {
            all.frames += late.frames;
            all.first_frame = Some(all.first_frame.map_or(late.first, |first| first.min(late.first)));
            all.latest_ns = all.latest_ns.max(late.most_ns.max(0) as u64);
        }
        Ok(all)
    }
}
