//! Captures of several places as one trace: clocks that contradict each other are set right first.
//!
//! A packet that two captures have is found again as in a comparison. One direction's packets come later to the second place, the
//! other direction's come earlier: the offset of the clocks lies between the two differences. Where no offset lies there too, the
//! clocks may be right, and times stay as they are. Otherwise answers would come before their questions, and each transmission would be
//! taken for two.

use std::{
    collections::{HashMap, hash_map::Entry},
    path::Path,
};

use super::packet::identity;
use crate::{
    capture::{ClockOffset, Merge, Series, Source},
    dissect::dissect,
};

/// How many frames of each capture are looked at.
const LOOKED_AT: usize = 1 << 17;
/// So many packets in common are enough evidence.
const ENOUGH: usize = 8;
/// A packet does not come sooner than it was sent: clocks of which this much is wrong are not right. Less is left to the analysis, which compares the clocks of
/// interfaces.
const LEAST_NS: i64 = 2_000;
/// If packets of one direction only are in common, the clocks are wrong if the difference is longer than any delay.
const LONGEST_DELAY_NS: i64 = 2_000_000_000;

/// Captures as one trace, in the order of time, by the first one's clock: [`Series::clock`] says of the others which were set right for
/// it. Captures in files are opened a second time for that; streams are taken as they are.
pub fn merge(captures: Vec<Series>) -> Merge {
    let offsets = offsets(&captures);
    let mut merge = Merge::of(captures, Merge::WINDOW_NS);
    for (capture, offset) in offsets {
        merge.set_clock(capture, offset);
    }
    merge
}

/// The captures whose clocks are wrong.
fn offsets(captures: &[Series]) -> Vec<(usize, ClockOffset)> {
    let mut known = Known::default();
    let mut offsets = Vec::new();
    for (capture, series) in captures.iter().enumerate() {
        let seen = series.files().next().map(|info| first_packets(Path::new(&info.name))).unwrap_or_default();
        let offset = known.offset(&seen);
        offsets.extend(offset.map(|offset| (capture, offset)));
        known.add(seen, offset.map_or(0, |offset| offset.ns));
    }
    offsets
}

/// A transmission: the hash of what no router changes, with the ICRC.
type Key = (u64, [u8; 4]);

/// When a transmission was recorded, and whether it goes from the lower address to the higher one. `None`: more than once, so that
/// records of two places cannot be told to be the same one.
type Seen = HashMap<Key, Option<(i64, bool)>>;

fn first_packets(path: &Path) -> Seen {
    let mut seen = Seen::new();
    let opened = path.is_file().then(|| Series::open(path, []).ok()).flatten();
    let Some(mut file) = opened else { return seen };
    let hasher = foldhash::fast::FixedState::default();
    for _ in 0..LOOKED_AT {
        // What cannot be read is said by those who read it all.
        let Ok(Some(record)) = file.next() else { break };
        let d = dissect(record.link, record.frame, record.wire_len);
        let Some((addresses, key)) = identity(&d, &hasher) else { continue };
        let is_up = addresses[0] < addresses[1];
        seen.entry((key, d.icrc().unwrap_or_default()))
            .and_modify(|one| *one = None)
            .or_insert(Some((record.time.0, is_up)));
    }
    seen
}

/// Of at least one, which are sorted.
fn middle(sorted: &[i64]) -> i64 {
    sorted[sorted.len() / 2]
}

/// The packets of the captures before, by the first one's clock.
#[derive(Default)]
struct Known(Seen);

impl Known {
    /// The offset of the clock of a capture with these packets, if it must be wrong, and the packets that show it.
    fn offset(&self, seen: &Seen) -> Option<ClockOffset> {
        let mut differences = [Vec::new(), Vec::new()];
        for (key, here) in seen {
            if let (Some((here, is_up)), Some(&Some((there, _)))) = (here, self.0.get(key)) {
                differences[usize::from(*is_up)].push(here.saturating_sub(there));
            }
        }
        let packets: usize = differences.iter().map(Vec::len).sum();
        if packets < ENOUGH {
            return None;
        }
        differences.iter_mut().for_each(|those| those.sort_unstable());
        let [down, up] = &differences;
        let (low, high) = match (down.is_empty(), up.is_empty()) {
            (false, false) if middle(down) > middle(up) => (up, down),
            (false, false) => (down, up),
            (is_none, _) => (if is_none { up } else { down }, if is_none { up } else { down }),
        };
        // The offset is between the shortest delays of both directions. A packet that was sent again with the same bytes, and lost at
        // one of the places, is at the edges.
        let edge = low.len() / 50;
        let [from, to] = [low[low.len() - 1 - edge], high[high.len() / 50]];
        // Clocks that drift apart have another offset at the end.
        let [from, to] = if from <= to { [from, to] } else { [middle(low), middle(high)] };
        let is_right = match down.is_empty() || up.is_empty() {
            true => middle(low).saturating_abs() <= LONGEST_DELAY_NS,
            false => from <= LEAST_NS && to >= -LEAST_NS,
        };
        let ns = from + to.saturating_sub(from) / 2;
        (!is_right).then_some(ClockOffset { ns, packets: packets as u64 })
    }

    fn add(&mut self, seen: Seen, offset: i64) {
        for (key, one) in seen {
            let one = one.map(|(time, is_up)| (time.saturating_sub(offset), is_up));
            if let Entry::Vacant(free) = self.0.entry(key) {
                free.insert(one);
            }
        }
    }
}
