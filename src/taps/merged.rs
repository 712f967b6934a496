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

use super::{
    clock::{Line, Point},
    packet::identity,
};
use crate::{
    capture::{ClockOffset, Merge, Series, Source},
    dissect::dissect,
    in_order::InOrder,
};

/// How many frames of each capture are looked at, from its beginning.
const LOOKED_AT: usize = 1 << 17;
/// And of so many behind them, one in so many: clocks drift apart.
const LOOKED_AT_MORE: usize = 1 << 22;
const ONE_IN: u64 = 64;
const MOST_KEPT: usize = 1 << 18;
/// So many packets in common are enough evidence.
const ENOUGH: usize = 8;
/// A packet does not come sooner than it was sent: clocks of which this much is wrong are not right. Less is left to the analysis, which compares the clocks of
/// interfaces.
const LEAST_NS: i64 = 2_000;
/// If packets of one direction only are in common, the clocks are wrong if the difference is longer than any delay.
const LONGEST_DELAY_NS: i64 = 2_000_000_000;
/// Stretches of time of which each has its shortest delays.
const STRETCHES: usize = 32;

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
    let mut clocks: Vec<Option<Option<ClockOffset>>> = vec![None; captures.len()];
    let mut offsets = Vec::new();
    for root in 0..captures.len() {
        if clocks[root].is_some() {
            continue;
        }
        clocks[root] = Some(None);
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
                let offset = tie.offset(known, clocks[known].flatten());
                clocks[other] = Some(offset);
                offsets.extend(offset.map(|offset| (other, offset)));
                next.push_back(other);
            }
        }
    }
    offsets.sort_unstable_by_key(|&(capture, _)| capture);
    untied.sort_unstable();
    Clocks { offsets, untied }
}

/// Two captures that have packets in common, and the times of each by both clocks, by direction.
struct Tie {
    of: [usize; 2],
    times: [Vec<[i64; 2]>; 2],
}

/// All captures that have packets in common.
fn ties(captures: impl Iterator<Item = Seen>) -> Vec<Tie> {
    let mut all: Vec<(Key, usize, (i64, bool))> = Vec::new();
    for (capture, seen) in captures.enumerate() {
        all.extend(seen.into_iter().filter_map(|(key, one)| Some((key, capture, one?))));
    }
    all.sort_unstable();
    let mut ties: BTreeMap<[usize; 2], [Vec<[i64; 2]>; 2]> = BTreeMap::new();
    for same in all.chunk_by(|a, b| a.0 == b.0) {
        for (at, &(_, a, (then, is_up))) in same.iter().enumerate() {
            for &(_, b, (here, _)) in &same[at + 1..] {
                let of = ties.entry([a, b]).or_default();
                of[usize::from(is_up)].push([then, here]);
            }
        }
    }
    let ties = ties.into_iter().map(|(of, times)| Tie { of, times });
    ties.filter(|tie| tie.packets() >= ENOUGH).collect()
}

/// Those that tie all captures that can be tied, without a circle: the best ones.
fn spanning(captures: usize, mut ties: Vec<Tie>) -> Vec<Tie> {
    let goodness = |tie: &Tie| (tie.times.iter().all(|those| !those.is_empty()), tie.packets());
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
    for frame in 0..LOOKED_AT + LOOKED_AT_MORE {
        // What cannot be read is said by those who read it all.
        let Ok(Some(record)) = file.next() else { break };
        if frame >= LOOKED_AT && !(seen.len() < MOST_KEPT && is_sample(record.frame)) {
            continue;
        }
        let d = dissect(record.link, record.frame, record.wire_len);
        let Some((addresses, key)) = identity(&d, &hasher) else { continue };
        let is_up = addresses[0] < addresses[1];
        seen.entry((key, d.icrc().unwrap_or_default()))
            .and_modify(|one| *one = None)
            .or_insert(Some((record.time.0, is_up)));
    }
    seen
}

/// Whether a frame is one of few, and a record of it at another place is too: by its last bytes, which is its ICRC where it is not cut.
fn is_sample(frame: &[u8]) -> bool {
    let Some(last) = frame.last_chunk::<4>() else { return false };
    let mixed = u64::from(u32::from_le_bytes(*last)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32).is_multiple_of(ONE_IN)
}

/// The difference in the middle, of at least one.
fn middle(sorted: &[Point]) -> i64 {
    sorted[sorted.len() / 2].1
}

/// The point whose difference is at an edge, or where `leaves_out`, of all but the outermost fiftieth: a packet that was sent again with the same
/// bytes, and lost at one of the places, is beyond the edge. `sorted`: by difference.
fn edge(sorted: &[Point], is_highest: bool, leaves_out: bool) -> Option<Point> {
    let away = if leaves_out { sorted.len() / 50 } else { 0 };
    let at = if is_highest { sorted.len().checked_sub(1 + away)? } else { away };
    sorted.get(at).copied()
}

/// The edge in each stretch of time.
fn edges(points: &[Point], is_highest: bool, leaves_out: bool) -> Vec<Point> {
    let times = points.iter().map(|point| point.0);
    let (Some(first), Some(last)) = (times.clone().min(), times.max()) else { return Vec::new() };
    let width = last.saturating_sub(first) / STRETCHES as i64 + 1;
    let mut stretches = vec![Vec::new(); STRETCHES];
    for &point in points {
        let at = point.0.saturating_sub(first) / width;
        if let Some(stretch) = stretches.get_mut(at as usize) {
            stretch.push(point);
        }
    }
    // Sorted by difference they are already.
    stretches.iter().filter_map(|stretch| edge(stretch, is_highest, leaves_out)).collect()
}

impl Tie {
    fn packets(&self) -> usize {
        self.times.iter().map(Vec::len).sum()
    }

    /// The offset of the clock of the other capture, if it must be wrong, and the packets that show it. `known`: the capture whose clock
    /// is known, and how far that is off.
    fn offset(&self, known: usize, clock: Option<ClockOffset>) -> Option<ClockOffset> {
        let point = |&[a, b]: &[i64; 2]| {
            let (here, other) = if self.of[0] == known { (a, b) } else { (b, a) };
            let right = here.saturating_sub(clock.map_or(0, |clock| clock.at(here)));
            (right, other.saturating_sub(right))
        };
        let mut points = self.times.each_ref().map(|those| those.iter().map(point).collect::<Vec<Point>>());
        points
            .iter_mut()
            .for_each(|those| those.sort_unstable_by_key(|&(time, difference)| (difference, time)));
        let [down, up] = &points;
        let (low, high) = match (down.is_empty(), up.is_empty()) {
            (false, false) if middle(down) > middle(up) => (up, down),
            (false, false) => (down, up),
            (is_none, _) => (if is_none { up } else { down }, if is_none { up } else { down }),
        };
        let is_one_way = down.is_empty() || up.is_empty();
        // The offset is between the shortest delays of both directions: queues stand for most of the time, so all packets count, if they agree.
        let bounds =
            |leaves_out: bool| Some((edge(low, true, leaves_out)?.1, edge(high, false, leaves_out)?.1));
        let all = bounds(false)?;
        let (from, to) = if all.0 <= all.1 { all } else { bounds(true)? };
        let is_right = match is_one_way {
            true => middle(low).saturating_abs() <= LONGEST_DELAY_NS,
            false => from <= LEAST_NS && to >= -LEAST_NS,
        };
        if is_right {
            return None;
        }
        let between = |from: i64, to: i64| from + to.saturating_sub(from) / 2;
        let constant = |ns: i64, error_ns: Option<u64>| ClockOffset {
            ns,
            packets: self.packets() as u64,
            drift_ppt: 0,
            at_ns: 0,
            // That of the one by which it is set adds to it.
            error_ns: error_ns.and_then(|own| Some(own + clock.map_or(Some(0), |clock| clock.error_ns)?)),
        };
        if from <= to && !is_one_way {
            return Some(constant(between(from, to), Some(to.abs_diff(from) / 2)));
        }
        // Clocks that drift apart have another offset at the end.
        let line = |leaves_out: bool| {
            let line = Line::between(&edges(high, false, leaves_out), &edges(low, true, leaves_out));
            line.filter(|line| line.margin >= 0.0 && !is_one_way)
        };
        match line(false).or_else(|| line(true)) {
            Some(line) => {
                let ns = line.offset(line.at) as i64;
                Some(ClockOffset {
                    ns,
                    drift_ppt: (line.rate * 1e12) as i64,
                    at_ns: line.at.saturating_add(ns),
                    ..constant(ns, line.error.map(|error| error as u64))
                })
            }
            None => Some(constant(between(middle(low), middle(high)), None)),
        }
    }
}
