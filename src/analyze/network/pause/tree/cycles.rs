//! Cyclic dependencies: devices each of which is paused by the next one.

use crate::in_order::InOrder;
use std::collections::{BTreeMap, VecDeque};

use super::{ALL, Stream, topology::Topology};

/// Steps of searches, in all.
const MAX_STEPS: usize = 1 << 26;
/// Cycles that are told apart.
const MAX_CYCLES: usize = 1 << 10;

/// A cycle, and when all of it was paused at once.
#[derive(Clone, Debug)]
pub(super) struct Cycle {
    pub(super) priority: u8,
    /// Each is paused by the next one.
    pub(super) devices: Vec<usize>,
    pub(super) began_by: usize,
    pub(super) times: u64,
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) all_ns: u64,
    pub(super) longest_ns: u64,
}

/// All cycles, the longest time first.
pub(super) fn cycles(streams: &[Stream], topology: &Topology) -> Vec<Cycle> {
    let mut found = BTreeMap::new();
    let mut steps = 0;
    for priority in 0..=ALL {
        // A pause of all priorities is one of each of them.
        if streams.iter().any(|stream| stream.priority == priority) {
            of_priority(streams, topology, priority, &mut found, &mut steps);
        }
    }
    let mut all: Vec<Cycle> = found.into_values().collect();
    all.order_by(|a, b| (b.all_ns, &a.devices).cmp(&(a.all_ns, &b.devices)));
    all
}

type Found = BTreeMap<(u8, Vec<usize>), Cycle>;

fn of_priority(streams: &[Stream], topology: &Topology, priority: u8, found: &mut Found, steps: &mut usize) {
    let is_mine = |stream: &Stream| {
        let passes_on = |device| !topology.is_host(device);
        (stream.priority == priority || stream.priority == ALL)
            && passes_on(stream.place.by)
            && passes_on(stream.place.of)
    };
    let mine = streams.iter().enumerate().filter(|(_, stream)| is_mine(stream));
    // What ends goes before what begins at the same time.
    let mut events: Vec<(i64, bool, usize, i64)> = mine
        .flat_map(|(at, stream)| {
            stream
                .spans
                .iter()
                .flat_map(move |span| [(span.start, true, at, span.end), (span.end, false, at, span.end)])
        })
        .collect();
    events.sort_unstable();
    // The pauses that hold: when each began and ends.
    let mut held: Vec<Option<(i64, i64)>> = vec![None; streams.len()];
    let mut waits: Vec<Vec<usize>> = vec![Vec::new(); topology.devices.len()];
    for (now, begins, at, end) in events {
        let place = streams[at].place;
        if !begins {
            held[at] = None;
            waits[place.of].retain(|&other| other != at);
            continue;
        }
        held[at] = Some((now, end));
        waits[place.of].push(at);
        let is_mine = |&at: &usize| streams[at].priority == priority;
        if let Some(path) = path(streams, &waits, at, steps).filter(|path| path.iter().any(is_mine)) {
            note(streams, &held, &path, (priority, now), found);
        }
        if *steps > MAX_STEPS {
            return;
        }
    }
}

/// The pauses by which the sender of this one waits, over others, for the device that it paused.
fn path(streams: &[Stream], waits: &[Vec<usize>], last: usize, steps: &mut usize) -> Option<Vec<usize>> {
    let (from, to) = (streams[last].place.by, streams[last].place.of);
    let mut came: BTreeMap<usize, usize> = BTreeMap::new();
    let mut next = VecDeque::from([from]);
    while let Some(device) = next.pop_front() {
        for &at in waits.get(device)? {
            *steps += 1;
            let place = streams[at].place;
            // Two ends of one link that pause each other are no cycle: each way has buffers of its own.
            if place.link == streams[last].place.link || place.by == from || came.contains_key(&place.by) {
                continue;
            }
            came.insert(place.by, at);
            if place.by != to {
                next.push_back(place.by);
                continue;
            }
            let mut path = vec![last];
            let mut device = to;
            while device != from {
                let at = *came.get(&device)?;
                path.push(at);
                device = streams[at].place.of;
            }
            // From the one that the last pause stopped on: each waits for the next one.
            path[1..].reverse();
            return Some(path);
        }
    }
    None
}

fn note(
    streams: &[Stream],
    held: &[Option<(i64, i64)>],
    path: &[usize],
    (priority, now): (u8, i64),
    found: &mut Found,
) {
    let mut devices: Vec<usize> = path.iter().map(|&at| streams[at].place.of).collect();
    let first = (0..devices.len()).min_by_key(|&n| devices[n]).unwrap_or(0);
    devices.rotate_left(first);
    let times = path.iter().filter_map(|&at| Some((held[at]?, at)));
    let end = times.clone().map(|((_, end), _)| end).min().unwrap_or(now);
    let began = times.min().map_or(path[0], |(_, at)| at);
    let key = (priority, devices);
    if found.len() >= MAX_CYCLES && !found.contains_key(&key) {
        return;
    }
    let devices = key.1.clone();
    let cycle = found.entry(key).or_insert_with(|| Cycle {
        priority,
        devices,
        began_by: streams[began].place.by,
        times: 0,
        start: now,
        end: now,
        all_ns: 0,
        longest_ns: 0,
    });
    // With several links between two devices, it may hold already.
    let ns = end.saturating_sub(now.max(cycle.end)).max(0) as u64;
    if ns > 0 {
        cycle.times += 1;
        cycle.all_ns += ns;
        cycle.longest_ns = cycle.longest_ns.max(ns);
        cycle.end = end;
    }
}
