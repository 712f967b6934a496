//! Captures of several places as one trace: clocks that contradict each other are set right first.
//!
//! Captures are compared in pairs, those first that have most packets in common, in both directions if there are such: each capture is set by one that
//! is tied to it, and so all that are tied have one clock, in whatever order they are given. Captures that nothing ties keep their own.
//!
//! A packet that two captures have is found again as in a comparison. One direction's packets come later to the second place, the
//! other direction's come earlier: the offset of the clocks lies between the two differences. Where no offset lies there too, the
//! clocks may be right, and times stay as they are. Otherwise answers would come before their questions, and each transmission would be
//! taken for two.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    path::Path,
};

use super::packet::identity;
use crate::{
    capture::{ClockOffset, Merge, Series, Source},
    dissect::dissect,
    in_order::InOrder,
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
    let Clocks { offsets, untied } = clocks(&captures);
    let mut merge = Merge::of(captures, Merge::WINDOW_NS);
    for (capture, offset) in offsets {
        merge.set_clock(capture, offset);
    }
    untied.into_iter().for_each(|capture| merge.set_untied(capture));
    merge
}

/// What is known of the captures' clocks.
struct Clocks {
    /// Those that are wrong.
    offsets: Vec<(usize, ClockOffset)>,
    /// Captures with packets that nothing ties to the first one that has some.
    untied: Vec<usize>,
}

fn clocks(captures: &[Series]) -> Clocks {
    let first = |series: &Series| {
        series.files().next().map(|info| first_packets(Path::new(&info.name))).unwrap_or_default()
    };
    let seen: Vec<Seen> = captures.iter().map(first).collect();
    let with_packets: Vec<usize> = (0..seen.len()).filter(|&capture| !seen[capture].is_empty()).collect();
    let mut untied = Vec::new();
    let ties = spanning(captures.len(), ties(seen.into_iter()));
    let mut clocks: Vec<Option<i64>> = vec![None; captures.len()];
    let mut offsets = Vec::new();
    for root in 0..captures.len() {
        if clocks[root].is_some() {
            continue;
        }
        clocks[root] = Some(0);
        let is_first = with_packets.first().is_none_or(|&first| root <= first);
        let mut next = VecDeque::from([root]);
        while let Some(known) = next.pop_front() {
            if !is_first && with_packets.contains(&known) {
                untied.push(known);
            }
            for tie in ties.iter().filter(|tie| tie.of.contains(&known)) {
                let other = tie.of[usize::from(tie.of[0] == known)];
                if clocks[other].is_some() {
                    continue;
                }
                let offset = tie.offset(known, clocks[known].unwrap_or(0));
                clocks[other] = Some(offset.map_or(0, |offset| offset.ns));
                offsets.extend(offset.map(|offset| (other, offset)));
                next.push_back(other);
            }
        }
    }
    offsets.sort_unstable_by_key(|&(capture, _)| capture);
    untied.sort_unstable();
    Clocks { offsets, untied }
}

/// Two captures that have packets in common, and what the second one's clock shows more of each, by direction.
struct Tie {
    of: [usize; 2],
    differences: [Vec<i64>; 2],
}

/// All captures that have packets in common.
fn ties(captures: impl Iterator<Item = Seen>) -> Vec<Tie> {
    let mut all: Vec<(Key, usize, (i64, bool))> = Vec::new();
    for (capture, seen) in captures.enumerate() {
        all.extend(seen.into_iter().filter_map(|(key, one)| Some((key, capture, one?))));
    }
    all.sort_unstable();
    let mut ties: BTreeMap<[usize; 2], [Vec<i64>; 2]> = BTreeMap::new();
    for same in all.chunk_by(|a, b| a.0 == b.0) {
        for (at, &(_, a, (then, is_up))) in same.iter().enumerate() {
            for &(_, b, (here, _)) in &same[at + 1..] {
                let of = ties.entry([a, b]).or_default();
                of[usize::from(is_up)].push(here.saturating_sub(then));
            }
        }
    }
    let ties = ties.into_iter().map(|(of, differences)| Tie { of, differences });
    ties.filter(|tie| tie.packets() >= ENOUGH).collect()
}

/// Those that tie all captures that can be tied, without a circle: the best ones.
fn spanning(captures: usize, mut ties: Vec<Tie>) -> Vec<Tie> {
    let goodness = |tie: &Tie| (tie.differences.iter().all(|those| !those.is_empty()), tie.packets());
    ties.order_by(|a, b| goodness(b).cmp(&goodness(a)).then(a.of.cmp(&b.of)));
    let mut group: Vec<usize> = (0..captures).collect();
    ties.retain(|tie| {
        let [a, b] = tie.of.map(|capture| group[capture]);
        group.iter_mut().filter(|group| **group == b).for_each(|group| *group = a);
        a != b
    });
    ties
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

impl Tie {
    fn packets(&self) -> usize {
        self.differences.iter().map(Vec::len).sum()
    }

    /// The offset of the clock of the other capture, if it must be wrong, and the packets that show it. `known`: the capture whose clock
    /// shows so much more than the right one.
    fn offset(&self, known: usize, clock: i64) -> Option<ClockOffset> {
        let turned = |&difference: &i64| match self.of[0] == known {
            true => difference.saturating_add(clock),
            false => clock.saturating_sub(difference),
        };
        let mut differences =
            self.differences.each_ref().map(|those| those.iter().map(turned).collect::<Vec<i64>>());
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
        (!is_right).then_some(ClockOffset { ns, packets: self.packets() as u64 })
    }
}
