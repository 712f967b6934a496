//! Operations, and who was waited for in each.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Collectives,
    cut::{Timed, ns, ns_between, union},
    topology::Shape,
};
use crate::report::{CollectiveCause, CollectiveOperation, Straggler, Topology};

/// A silence of all connections divides operations if it is so many times longer than the longest one that does not.
const APART: i64 = 4;
/// A shorter silence divides nothing.
const LEAST_NS: i64 = 10_000;
/// What cost less than this part of an operation is not worth a name: a twentieth.
const WORTH: u64 = 20;
/// Each step waits for a round trip: a host is late that takes longer than so many.
const ROUND_TRIPS: u64 = 3;
/// What is usual is what the fastest of so many connections take.
const FASTEST: usize = 4;
/// Steps back along the waits of an operation.
const MOST_STEPS: usize = 4096;
/// Requests of an operation that are compared with each other, at most.
const MOST_COMPARED: usize = 2048;
/// A request of so many bytes shows how fast a link is.
const ENOUGH_BYTES: u64 = 16 << 10;
/// A shorter wait is none.
const SHORTEST_WAIT_NS: u64 = 100;
/// A request hangs if it is silent so many times longer than the longest complete one took, and so long at least.
const HUNG: i64 = 3;
const HUNG_NS: i64 = 1_000_000;

/// The time of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) start: i64,
    pub(super) end: i64,
}

/// Groups the requests, which are in the order of their beginnings. `None` with one connection only.
pub(super) fn group(timed: &mut [Timed], connections: usize) -> Option<Vec<Span>> {
    if connections < 2 {
        return None;
    }
    let mut until = i64::MIN;
    let mut silences = Vec::new();
    for one in timed.iter().filter(|one| one.shows_data) {
        if until != i64::MIN && one.begin > until {
            silences.push(one.begin.saturating_sub(until));
        }
        until = until.max(one.end);
    }
    let least = dividing(silences);
    let mut spans: Vec<Span> = Vec::new();
    for one in timed.iter_mut().filter(|one| one.shows_data) {
        match spans.last_mut() {
            Some(last) if one.begin.saturating_sub(last.end) < least => last.end = last.end.max(one.end),
            _ => spans.push(Span { start: one.begin, end: one.end }),
        }
        one.operation = spans.len().checked_sub(1);
    }
    Some(spans)
}

/// The shortest silence that divides operations: those above the widest step of all silences.
fn dividing(mut silences: Vec<i64>) -> i64 {
    silences.retain(|&silence| silence >= LEAST_NS);
    silences.sort_unstable();
    let widest =
        silences.windows(2).max_by_key(|pair| pair[1] / pair[0].max(1)).map(|pair| (pair[0], pair[1]));
    match widest {
        Some((below, above)) if above / below.max(1) >= APART => above,
        _ => silences.first().copied().unwrap_or(i64::MAX),
    }
}

/// Who is to blame for an operation's time.
struct Blame {
    /// A request that shows it.
    at: usize,
    cause: CollectiveCause,
    rank: String,
    peer: Option<String>,
    queue_pair: Option<u32>,
    lost: u64,
}

/// What the requests of one connection lost on the network in an operation.
#[derive(Clone, Copy, Debug, Default)]
struct Lost {
    paused: u64,
    recovering: u64,
    slow: u64,
    is_throttled: bool,
}

impl Lost {
    fn all(self) -> u64 {
        self.paused.saturating_add(self.recovering).saturating_add(self.slow)
    }

    fn cause(self) -> CollectiveCause {
        let slow = if self.is_throttled { CollectiveCause::Throttled } else { CollectiveCause::Slow };
        let parts = [
            (self.paused, CollectiveCause::Paused),
            (self.recovering, CollectiveCause::Recovering),
            (self.slow, slow),
        ];
        parts.into_iter().max_by_key(|(lost, _)| *lost).map_or(slow, |(_, cause)| cause)
    }

    /// What was lost by one cause.
    fn by(self, cause: CollectiveCause) -> u64 {
        match cause {
            CollectiveCause::Paused => self.paused,
            CollectiveCause::Recovering => self.recovering,
            _ => self.slow,
        }
    }
}

/// What is usual for connections: their time on the network in an operation, and when in it a request's data begins.
#[derive(Default)]
struct Usual {
    /// Time on the network for a gibibyte on its busiest link, of connections with so many requests in an operation: that of the fastest quarter.
    pace: BTreeMap<usize, u64>,
    /// By connection, and the request's place in its operation.
    begins: BTreeMap<(usize, usize), i64>,
}

/// What is usual in one operation: [`Usual::pace`], by the number of requests.
struct Paces {
    of: BTreeMap<usize, u64>,
    /// All links carry as much.
    is_even: bool,
}

/// Requests of a connection in an operation.
#[derive(Clone, Debug, Default)]
struct Part {
    members: Vec<usize>,
    bytes: u64,
    transfer: u64,
    is_complete: bool,
    /// Bytes that its sender sends in the operation, or its receiver gets, whichever are more: they share a link.
    load: u64,
    /// Both carry as much.
    is_even: bool,
}

impl Part {
    /// Its time on the network for a gibibyte on its busiest link.
    fn pace(&self) -> u64 {
        ((u128::from(self.transfer) << 30) / u128::from(self.load.max(1))).try_into().unwrap_or(u64::MAX)
    }
}

/// What most of the fastest quarter take.
fn of_the_fastest(mut paces: Vec<u64>) -> u64 {
    paces.sort_unstable();
    paces.get(paces.len() / FASTEST).copied().unwrap_or(0)
}

/// The requests of each connection in an operation.
fn parts(timed: &[Timed], ends: &Ends, members: &[usize]) -> BTreeMap<usize, Part> {
    let mut parts: BTreeMap<usize, Part> = BTreeMap::new();
    for &at in members {
        let one = &timed[at];
        let part = parts.entry(one.connection).or_insert(Part { is_complete: true, ..Part::default() });
        part.members.push(at);
        part.bytes = part.bytes.saturating_add(one.bytes);
        part.transfer = part.transfer.saturating_add(one.time.transfer_ns);
        part.is_complete &= one.is_complete;
    }
    let mut loads: BTreeMap<(usize, bool), u64> = BTreeMap::new();
    for (connection, part) in &parts {
        let Some(&(sender, receiver)) = ends.of.get(connection) else { continue };
        for link in [(sender, true), (receiver, false)] {
            let load = loads.entry(link).or_default();
            *load = load.saturating_add(part.bytes);
        }
    }
    for (connection, part) in &mut parts {
        part.members.sort_by_key(|&at| timed[at].request);
        let Some(&(sender, receiver)) = ends.of.get(connection) else { continue };
        let of = |link| loads.get(&link).copied().unwrap_or(0);
        let (sent, got) = (of((sender, true)), of((receiver, false)));
        (part.load, part.is_even) = (sent.max(got), sent == got);
    }
    parts
}

impl Usual {
    fn of(timed: &[Timed], ends: &Ends, operations: &[Vec<usize>]) -> Usual {
        let mut paces: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        let mut begins: BTreeMap<(usize, usize), Vec<i64>> = BTreeMap::new();
        for members in operations {
            let Some(start) = members.iter().map(|&at| timed[at].begin).min() else { continue };
            for (connection, part) in
                parts(timed, ends, members).into_iter().filter(|(_, part)| part.is_complete)
            {
                paces.entry(part.members.len()).or_default().push(part.pace());
                for (place, at) in part.members.iter().enumerate() {
                    let begin = timed[*at].first.unwrap_or(start).saturating_sub(start);
                    begins.entry((connection, place)).or_default().push(begin);
                }
            }
        }
        let middle = |mut all: Vec<i64>| {
            all.sort_unstable();
            all[all.len() / 2]
        };
        Usual {
            pace: paces.into_iter().map(|(requests, all)| (requests, of_the_fastest(all))).collect(),
            begins: begins.into_iter().map(|(key, all)| (key, middle(all))).collect(),
        }
    }

    /// What is usual in an operation: no less than its own connections show.
    fn in_operation(&self, parts: &BTreeMap<usize, Part>) -> Paces {
        let mut paces: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for part in parts.values() {
            paces.entry(part.members.len()).or_default().push(part.pace());
        }
        let usual = |requests: usize| self.pace.get(&requests).copied().unwrap_or(0);
        let pace = |(requests, all)| (requests, of_the_fastest(all).max(usual(requests)));
        let least = parts.values().map(|part| part.load).min();
        let is_even = parts.values().all(|part| part.is_even && Some(part.load) == least);
        Paces { of: paces.into_iter().map(pace).collect(), is_even }
    }
}

impl Part {
    /// How much slower it was than others of this pace.
    fn slow(&self, paces: &Paces) -> u64 {
        let pace = paces.of.get(&self.members.len()).copied().unwrap_or(u64::MAX);
        let usual = ((u128::from(pace) * u128::from(self.load)) >> 30).try_into().unwrap_or(u64::MAX);
        // Links are not shared evenly, and least where some carry more than others.
        let (times, of) = if paces.is_even { (5, 4) } else { (3, 1) };
        let is_slow = self.transfer.saturating_mul(of) >= u64::saturating_mul(usual, times);
        if is_slow { self.transfer.saturating_sub(usual) } else { 0 }
    }

    /// What it lost on the network, where it was so much slower than it should be.
    fn lost(&self, timed: &[Timed], slow: u64) -> Lost {
        let mut lost = Lost { slow, ..Lost::default() };
        for time in self.members.iter().map(|&at| &timed[at].time) {
            lost.paused = lost.paused.saturating_add(time.paused_ns);
            lost.recovering = lost.recovering.saturating_add(time.recovering_ns);
            lost.is_throttled |= time.throttled_ns.unwrap_or(0) > 0;
        }
        lost
    }

    /// What of that is of requests that the operation's end waited for.
    fn on(&self, timed: &[Timed], path: &BTreeSet<usize>, all: Lost) -> Lost {
        let members: Vec<usize> = self.members.iter().copied().filter(|at| path.contains(at)).collect();
        let transfer = members.iter().map(|&at| timed[at].time.transfer_ns).fold(0, u64::saturating_add);
        let slow = u128::from(all.slow) * u128::from(transfer) / u128::from(self.transfer.max(1));
        let part = Part { members, ..Part::default() };
        part.lost(timed, slow.try_into().unwrap_or(u64::MAX))
    }
}

/// Who sends and who receives, by connection: places in a list of names.
pub(super) struct Ends {
    pub(super) names: Vec<String>,
    pub(super) of: BTreeMap<usize, (usize, usize)>,
}

impl Ends {
    pub(super) fn of(all: &Collectives, timed: &[Timed]) -> Ends {
        let mut ends = Ends { names: Vec::new(), of: BTreeMap::new() };
        let connections: BTreeSet<usize> = timed.iter().map(|one| one.connection).collect();
        for connection in connections {
            let Some((sender, receiver)) = addresses(all, connection) else { continue };
            let mut place = |name: String| {
                ends.names.iter().position(|known| *known == name).unwrap_or_else(|| {
                    ends.names.push(name);
                    ends.names.len() - 1
                })
            };
            let pair = (place(sender), place(receiver));
            ends.of.insert(connection, pair);
        }
        ends
    }
}

/// The rows of operations.
pub(super) fn rows(
    all: &Collectives,
    (shape, ends): (&Shape, &Ends),
    place: &BTreeMap<usize, usize>,
    timed: &[Timed],
    spans: &[Span],
) -> Vec<CollectiveOperation> {
    let mut of_operation: Vec<Vec<usize>> = vec![Vec::new(); spans.len()];
    for (at, one) in timed.iter().enumerate() {
        if let Some(of) = one.operation.and_then(|operation| of_operation.get_mut(operation)) {
            of.push(at);
        }
    }
    let usual = Usual::of(timed, ends, &of_operation);
    let gaps = gaps(timed, ends, &of_operation);
    let row = |(operation, (span, members)): (usize, (&Span, Vec<usize>))| {
        let lasted = ns_between(span.start, span.end);
        let bytes = members.iter().map(|&at| timed[at].bytes).sum();
        let waits = Waits {
            all,
            timed,
            members: &members,
            usual: &usual,
            ends,
            topology: shape.topology,
            are_all_seen: shape.are_all_seen,
            sends: sends(timed, ends, &members),
            gaps: gaps.get(operation),
        };
        let blame = waits.blame(lasted);
        let bandwidths = shape.bandwidths(ends, timed, &members, lasted);
        let mut row = CollectiveOperation {
            operation: operation as u64,
            start_ns: span.start,
            lasted_ns: lasted,
            requests: members.len() as u64,
            bytes,
            algorithm_bps: bandwidths.map(|of| of.algorithm_bps),
            bus_bps: bandwidths.map(|of| of.bus_bps),
            ..CollectiveOperation::default()
        };
        if let Some(blame) = blame {
            let one = &timed[blame.at];
            row.straggler = Some(blame.rank);
            row.straggler_peer = blame.peer;
            row.cause = Some(blame.cause);
            row.connection = place.get(&one.connection).copied();
            row.request =
                all.connections[one.connection].requests.get(one.request).map(|request| request.index);
            row.queue_pair = blame.queue_pair;
            row.lost_ns = Some(blame.lost);
        }
        row
    };
    spans.iter().zip(of_operation).enumerate().map(row).collect()
}

/// How much longer than others each host took from what it did last in the operation before until what it did first: the half of them that was
/// faster took no longer. A host that ended later begins later, and is not late for that. None of the first operation.
fn gaps(timed: &[Timed], ends: &Ends, operations: &[Vec<usize>]) -> Vec<BTreeMap<usize, u64>> {
    let mut before: BTreeMap<usize, i64> = BTreeMap::new();
    let mut all = Vec::new();
    for members in operations {
        let (mut first, mut last) = (BTreeMap::<usize, i64>::new(), BTreeMap::<usize, i64>::new());
        for one in members.iter().map(|&at| &timed[at]) {
            let Some(&(sender, receiver)) = ends.of.get(&one.connection) else { continue };
            for (host, did) in [(receiver, one.cts), (sender, one.first)] {
                if let Some(did) = did {
                    first.entry(host).and_modify(|known| *known = did.min(*known)).or_insert(did);
                }
                last.entry(host).and_modify(|known| *known = one.end.max(*known)).or_insert(one.end);
            }
        }
        let gap = |(host, first): (&usize, &i64)| Some((*host, ns_between(*before.get(host)?, *first)));
        let mut gaps: BTreeMap<usize, u64> = first.iter().filter_map(gap).collect();
        let mut sorted: Vec<u64> = gaps.values().copied().collect();
        sorted.sort_unstable();
        let usual = sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(0);
        gaps.values_mut().for_each(|gap| *gap = gap.saturating_sub(usual));
        all.push(gaps);
        before = last;
    }
    all
}

/// When each host sent data: from the first packet of a request to its last.
fn sends(timed: &[Timed], ends: &Ends, members: &[usize]) -> BTreeMap<usize, Vec<(i64, i64)>> {
    let mut sends: BTreeMap<usize, Vec<(i64, i64)>> = BTreeMap::new();
    for one in members.iter().map(|&at| &timed[at]) {
        if let (Some(&(sender, _)), Some(first), Some(last)) =
            (ends.of.get(&one.connection), one.first, one.last)
        {
            sends.entry(sender).or_default().push((first, last));
        }
    }
    sends.into_iter().map(|(host, spans)| (host, union(spans.into_iter(), (i64::MIN, i64::MAX)))).collect()
}

/// Sender and receiver of a connection.
fn addresses(all: &Collectives, connection: usize) -> Option<(String, String)> {
    let of = all.connections.get(connection)?;
    let data = of.data_ways.first().and_then(|&way| all.ways.get(way as usize)).map(|way| way.key);
    let cts = of.cts_ways.first().and_then(|&way| all.ways.get(way as usize)).map(|way| way.key.reverse(0));
    let key = data.or(cts)?;
    Some((key.source().to_string(), key.destination().to_string()))
}

/// The waits of one operation.
struct Waits<'a> {
    all: &'a Collectives,
    timed: &'a [Timed],
    members: &'a [usize],
    usual: &'a Usual,
    ends: &'a Ends,
    topology: Topology,
    /// All hosts have taps.
    are_all_seen: bool,
    /// When each host sent data.
    sends: BTreeMap<usize, Vec<(i64, i64)>>,
    /// How much longer than others each host took from the operation before.
    gaps: Option<&'a BTreeMap<usize, u64>>,
}

/// The time that a host let a request wait.
#[derive(Clone, Copy, Debug)]
struct Late {
    at: usize,
    host: usize,
    is_sender: bool,
    from: i64,
    to: i64,
}

impl Late {
    fn ns(&self) -> u64 {
        ns_between(self.from, self.to)
    }
}

impl Waits<'_> {
    /// Who was waited for: the host, or the path, to which the waits lead back and that cost most.
    fn blame(&self, lasted: u64) -> Option<Blame> {
        if let Some(hung) = self.hung() {
            return Some(hung);
        }
        let parts = parts(self.timed, self.ends, self.members);
        let paces = self.usual.in_operation(&parts);
        let (on_path, own) = self.critical();
        let host = self.latest_host(&parts).into_iter().chain(own).max_by_key(|(_, lost)| *lost);
        let speed = self.speed().filter(|_| self.are_all_seen && !paces.is_even);
        let round_trip = self.round_trip();
        let lost = |part: &Part| match speed {
            Some(speed) => part.lost(self.timed, self.excess(part, (speed, round_trip))),
            None => part.lost(self.timed, part.slow(&paces)),
        };
        let all: BTreeMap<usize, Lost> =
            parts.iter().map(|(&connection, part)| (connection, lost(part))).collect();
        let path = all
            .iter()
            .map(|(connection, lost)| (parts[connection].on(self.timed, &on_path, *lost), *connection))
            .max_by_key(|(lost, _)| lost.all());
        let by_path = path.map_or(0, |(lost, _)| lost.all());
        let by_host = host.map_or(0, |(_, lost)| lost);
        if by_host.max(by_path).saturating_mul(WORTH) < lasted || by_host.max(by_path) == 0 {
            return None;
        }
        match (host, path) {
            (Some((late, lost)), _) if by_host >= by_path => {
                let &(sender, receiver) = self.ends.of.get(&self.timed[late.at].connection)?;
                let peer = self.ends.names.get(if late.is_sender { receiver } else { sender }).cloned();
                let rank = self.ends.names.get(late.host)?.clone();
                let is_paused = self.paused(&late).saturating_mul(2) > late.ns();
                Some(Blame {
                    at: late.at,
                    cause: if is_paused { CollectiveCause::Paused } else { CollectiveCause::HostLate },
                    rank,
                    peer,
                    queue_pair: None,
                    lost,
                })
            }
            (_, Some((lost, connection))) => self.slow_path(&parts, &all, (connection, lost), lasted),
            _ => None,
        }
    }

    /// The requests that the end of the operation waited for: back from the last one along the waits. And the host that took longest for what it did
    /// between these, with the longest such time, and all of it.
    fn critical(&self) -> (BTreeSet<usize>, Option<(Late, u64)>) {
        let mut own: BTreeMap<usize, (Late, u64)> = BTreeMap::new();
        let (arrivals, mut path) = (self.arrivals(), BTreeSet::new());
        let mut before: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for &at in self.members {
            before.insert((self.timed[at].connection, self.timed[at].request), at);
        }
        let complete = self.members.iter().copied().filter(|&at| self.timed[at].is_complete);
        let mut next = complete.max_by_key(|&at| self.timed[at].end);
        while let Some(at) = next.filter(|&at| path.len() < MOST_STEPS && path.insert(at)) {
            let one = &self.timed[at];
            let Some(&(sender, receiver)) = self.ends.of.get(&one.connection) else { break };
            let [by_receiver, by_sender] =
                [one.time.receiver_late_ns, one.time.sender_late_ns.or(one.time.late_ns)]
                    .map(Option::unwrap_or_default);
            let first = one.first.unwrap_or(one.end);
            let waited = match (by_receiver, by_sender) {
                (_, by_sender) if by_sender > SHORTEST_WAIT_NS => Some((sender, first)),
                (by_receiver, _) if by_receiver > SHORTEST_WAIT_NS => {
                    Some((receiver, one.cts.unwrap_or(first)))
                }
                _ => None,
            };
            next = match waited {
                Some((host, to)) => {
                    let before = arrivals.get(&(host, false)).and_then(|all| {
                        let until = all.partition_point(|(arrived, _)| *arrived <= to);
                        all[..until].iter().rev().copied().find(|(_, at)| !path.contains(at))
                    });
                    if let Some((from, _)) = before {
                        let late = Late { at, host, is_sender: host == sender, from, to };
                        if late.ns() >= self.short(one.connection) && late.ns() > 0 {
                            let known = own.entry(host).or_insert((late, 0));
                            known.1 = known.1.saturating_add(late.ns());
                            if known.0.ns() < late.ns() {
                                known.0 = late;
                            }
                        }
                    }
                    before.map(|(_, at)| at)
                }
                None => one.request.checked_sub(1).and_then(|n| before.get(&(one.connection, n)).copied()),
            };
        }
        (path, own.into_values().max_by_key(|(_, lost)| *lost))
    }

    /// What most paths have for a round trip: a slow one has a longer one.
    fn round_trip(&self) -> u64 {
        let mut all: Vec<u64> = self.ends.of.keys().map(|&of| self.short(of) / ROUND_TRIPS).collect();
        all.sort_unstable();
        all.get(all.len() / 2).copied().unwrap_or(0)
    }

    /// Bytes in a second that a link carries, as the fastest requests of the capture had them.
    fn speed(&self) -> Option<u64> {
        let rate = |one: &Timed| {
            let took = ns_between(one.first?, one.last?);
            (one.is_complete && one.bytes >= ENOUGH_BYTES && took > 0)
                .then(|| (u128::from(one.bytes) * 1_000_000_000 / u128::from(took)) as u64)
        };
        let mut rates: Vec<u64> = self.timed.iter().filter_map(rate).collect();
        rates.sort_unstable();
        rates.get(rates.len().checked_sub(1 + rates.len() / 10)?).copied().filter(|&rate| rate > 0)
    }

    /// How much longer the requests of a connection took than the data on its links explains: what its sender sent, or its receiver got, in their time,
    /// at this speed, and a round trip.
    fn excess(&self, part: &Part, (speed, round_trip): (u64, u64)) -> u64 {
        let Some(&first) = part.members.first() else { return 0 };
        let connection = self.timed[first].connection;
        let Some(&(sender, receiver)) = self.ends.of.get(&connection) else { return 0 };
        let shares = |one: &Timed, (from, to): (i64, i64)| {
            let (first, end) = (one.first.unwrap_or(one.end).max(one.begin), one.end);
            let within = ns_between(first.max(from), end.min(to));
            (u128::from(one.bytes) * u128::from(within) / u128::from(ns_between(first, end).max(1))) as u64
        };
        let excess = |&at: &usize| {
            let one = &self.timed[at];
            let span = (one.first.unwrap_or(one.end).max(one.begin), one.end);
            let (mut sent, mut got) = (0u64, 0u64);
            for other in self.members.iter().map(|&at| &self.timed[at]) {
                let Some(ends) = self.ends.of.get(&other.connection) else { continue };
                if ends.0 == sender {
                    sent = sent.saturating_add(shares(other, span));
                }
                if ends.1 == receiver {
                    got = got.saturating_add(shares(other, span));
                }
            }
            let line = u128::from(sent.max(got)) * 1_000_000_000 / u128::from(speed.max(1));
            one.time.transfer_ns.saturating_sub(line as u64).saturating_sub(round_trip)
        };
        if self.members.len() > MOST_COMPARED {
            return 0;
        }
        part.members.iter().map(excess).fold(0, u64::saturating_add)
    }

    /// A path; or one of its ends, where that is what all slow paths have in common.
    fn slow_path(
        &self,
        parts: &BTreeMap<usize, Part>,
        all: &BTreeMap<usize, Lost>,
        (connection, lost): (usize, Lost),
        lasted: u64,
    ) -> Option<Blame> {
        let part = parts.get(&connection)?;
        let costs = |&&at: &&usize| {
            let time = &self.timed[at].time;
            time.network_ns
        };
        let at = *part.members.iter().max_by_key(costs)?;
        let cause = lost.cause();
        let lost_so = all.get(&connection)?.by(cause);
        let slow: BTreeSet<usize> = all
            .iter()
            .filter(|(_, other)| other.by(cause) >= lost_so / 2)
            .map(|(connection, _)| *connection)
            .collect();
        let lost_ns = match cause {
            CollectiveCause::Recovering => lost.all().min(self.behind_others(&slow)),
            _ => lost.all(),
        };
        let slow: BTreeSet<(usize, usize)> =
            slow.iter().filter_map(|connection| self.ends.of.get(connection).copied()).collect();
        let &(sender, receiver) = self.ends.of.get(&connection)?;
        let is_common = |end: usize| slow.iter().all(|&(from, to)| from == end || to == end);
        let common = [sender, receiver].map(is_common);
        let name = |end: usize| self.ends.names.get(end).cloned();
        let (rank, peer) = match common {
            [true, false] if slow.len() > 1 => (name(sender)?, None),
            [false, true] => (name(receiver)?, None),
            _ => (name(sender)?, name(receiver)),
        };
        let queue_pair = self.slowest_queue_pair(at);
        (lost_ns.saturating_mul(WORTH) >= lasted && lost_ns > 0).then_some(Blame {
            at,
            cause,
            rank,
            peer,
            queue_pair,
            lost: lost_ns,
        })
    }

    /// How much later than all others the connections between these hosts ended, where none waits for data of another.
    fn behind_others(&self, slow: &BTreeSet<usize>) -> u64 {
        if self.topology != Topology::AllToAll {
            return u64::MAX;
        }
        let paths: BTreeSet<(usize, usize)> =
            slow.iter().filter_map(|connection| self.ends.of.get(connection).copied()).collect();
        let is_slow = |one: &&Timed| {
            let ends = self.ends.of.get(&one.connection);
            ends.is_some_and(|&(from, to)| paths.contains(&(from, to)) || paths.contains(&(to, from)))
        };
        let of = |wanted: bool| {
            let members = self.members.iter().map(|&at| &self.timed[at]);
            members.filter(|one| is_slow(one) == wanted).map(|one| one.end).max()
        };
        of(true).zip(of(false)).map_or(u64::MAX, |(slow, others)| ns_between(others, slow))
    }

    /// For how much of this time the adapter of the host was paused.
    fn paused(&self, late: &Late) -> u64 {
        let of = self.all.connections.get(self.timed[late.at].connection);
        let ways = of.and_then(|of| if late.is_sender { of.data_ways.first() } else { of.cts_ways.first() });
        let Some(way) = ways.and_then(|&way| self.all.ways.get(way as usize)) else { return 0 };
        let here = self.all.pauses.iter().filter(|pause| pause.interface == way.vantage >> 8);
        let spans = union(here.map(|pause| (pause.start_ns, pause.end_ns)), (late.from, late.to));
        spans.iter().map(|&(from, to)| ns_between(from, to)).sum()
    }

    /// The host that was late without waiting for anybody, and how long: on that of its connections that waited longest.
    fn latest_host(&self, parts: &BTreeMap<usize, Part>) -> Option<(Late, u64)> {
        let arrivals = self.arrivals();
        let mut by_host: BTreeMap<(usize, usize), BTreeMap<usize, Late>> = BTreeMap::new();
        for &at in parts.values().flat_map(|part| &part.members) {
            if let Some(root) = self.late(at).and_then(|late| self.root(late, &arrivals)) {
                let roots = by_host.entry((root.host, self.timed[root.at].connection)).or_default();
                let known = roots.entry(root.at).or_insert(root);
                if known.ns() < root.ns() {
                    *known = root;
                }
            }
        }
        let longest = |roots: BTreeMap<usize, Late>| {
            let lost = roots.values().fold(0u64, |sum, late| sum.saturating_add(late.ns()));
            Some((roots.into_values().max_by_key(Late::ns)?, lost))
        };
        by_host.into_values().filter_map(longest).max_by_key(|(_, lost)| *lost)
    }

    /// The side that let a request wait longer, if it did longer than round trips explain. A host whose adapter had other data to send was not
    /// late.
    fn late(&self, at: usize) -> Option<Late> {
        let one = &self.timed[at];
        let &(sender, receiver) = self.ends.of.get(&one.connection)?;
        let by_receiver = one.time.receiver_late_ns.unwrap_or(0);
        let by_sender = one.time.sender_late_ns.or(one.time.late_ns).unwrap_or(0);
        let late = match by_receiver > by_sender {
            true => {
                let to = one.cts.unwrap_or(one.begin).max(one.begin);
                Late { at, host: receiver, is_sender: false, from: one.begin, to }
            }
            false => {
                let to = one.first.unwrap_or(one.end);
                Late { at, host: sender, is_sender: true, from: to.saturating_sub_unsigned(by_sender), to }
            }
        };
        let busy = if late.is_sender { self.busy(&late) } else { 0 };
        let idle = late.ns().saturating_sub(busy);
        (idle > 0 && idle >= self.short(one.connection) && idle >= busy).then_some(late)
    }

    /// For how much of this time the host sent data of other requests.
    fn busy(&self, late: &Late) -> u64 {
        let Some(sends) = self.sends.get(&late.host) else { return 0 };
        let from = sends.partition_point(|&(_, to)| to <= late.from);
        let within = sends[from..].iter().take_while(|&&(from, _)| from < late.to);
        within.map(|&(from, to)| ns_between(from.max(late.from), to.min(late.to))).sum()
    }

    /// What is not late: some round trips of a connection.
    fn short(&self, connection: usize) -> u64 {
        let Some(of) = self.all.connections.get(connection) else { return 0 };
        let of_data = of.data_ways.iter().filter_map(|&way| self.all.ways.get(way as usize)?.round_trip_ns);
        let round_trip = of.round_trip_to_sender(self.all).into_iter().chain(of_data).max();
        ns(round_trip.unwrap_or(0)).saturating_mul(ROUND_TRIPS)
    }

    /// What each host got, by when it was there; and what it sent.
    fn arrivals(&self) -> BTreeMap<(usize, bool), Vec<(i64, usize)>> {
        let mut arrivals: BTreeMap<(usize, bool), Vec<(i64, usize)>> = BTreeMap::new();
        for &at in self.members {
            let one = &self.timed[at];
            let Some(&(sender, receiver)) = self.ends.of.get(&one.connection) else { continue };
            if let Some(arrived) = one.acknowledged.or(one.last) {
                arrivals.entry((receiver, false)).or_default().push((arrived, at));
                arrivals.entry((sender, true)).or_default().push((arrived, at));
            }
        }
        arrivals.values_mut().for_each(|all| all.sort_unstable());
        arrivals
    }

    /// Back along the waits, to the host that waited for nobody; `None` if that leads to data that was only on its way.
    fn root(&self, late: Late, arrivals: &BTreeMap<(usize, bool), Vec<(i64, usize)>>) -> Option<Late> {
        let (mut late, mut waited_for_nobody) = (late, false);
        let mut seen = BTreeSet::new();
        for _ in 0..MOST_STEPS {
            if !seen.insert(late.at) {
                break;
            }
            // It went on when this was there. In a ring or a tree, a receiver may also have waited until it could pass on what it had.
            let latest = |is_sent: bool| {
                let all = arrivals.get(&(late.host, is_sent))?;
                let until = all.partition_point(|(arrived, _)| *arrived <= late.to);
                all[..until].iter().rev().copied().find(|&(_, at)| at != late.at)
            };
            let passes_on = !late.is_sender && matches!(self.topology, Topology::Ring | Topology::Tree);
            let sent = passes_on.then(|| latest(true)).flatten();
            let before = [latest(false), sent].into_iter().flatten().max();
            let Some((arrived, other)) = before.filter(|(arrived, _)| *arrived > late.from) else {
                waited_for_nobody = before.is_none();
                break;
            };
            let own = ns_between(arrived, late.to);
            if own.saturating_mul(2) >= late.ns() {
                late.from = arrived;
                break;
            }
            let further = self.late(other).filter(|further| further.ns().saturating_mul(4) >= late.ns());
            late = further?;
        }
        if waited_for_nobody && let Some(&gap) = self.gaps.and_then(|gaps| gaps.get(&late.host)) {
            late.from = late.from.max(late.to.saturating_sub_unsigned(gap.max(self.paused(&late))));
        }
        (late.ns() > 0 && late.ns() >= self.short(self.timed[late.at].connection)).then_some(late)
    }

    /// A request that never ended, after a silence that is much longer than any request took, or in which it was only sent again.
    fn hung(&self) -> Option<Blame> {
        let activity = |one: &Timed| one.last.or(one.cts).unwrap_or(one.begin);
        let last = self.members.iter().map(|&at| activity(&self.timed[at])).max()?;
        let first = self.members.iter().map(|&at| self.timed[at].begin).min()?;
        let silent = self.all.last_ns.saturating_sub(last);
        let is_open = |one: &Timed| one.shows_data && !one.is_complete;
        let open = self.members.iter().copied().filter(|&at| is_open(&self.timed[at]));
        let mut began: BTreeMap<usize, usize> = BTreeMap::new();
        for one in self.members.iter().map(|&at| &self.timed[at]) {
            let first = began.entry(one.connection).or_insert(one.request);
            *first = (*first).min(one.request);
        }
        // One that was begun; else the one whose data usually begins first; else the earliest step: elements come long before their data.
        let step = |one: &Timed| one.request - began.get(&one.connection).copied().unwrap_or(0);
        let usually = |one: &Timed| self.usual.begins.get(&(one.connection, step(one))).copied();
        let at = open.min_by_key(|&at| {
            let one = &self.timed[at];
            (one.first.is_none(), usually(one).unwrap_or(i64::MAX), step(one), activity(one))
        })?;
        let longest =
            self.timed.iter().filter(|one| one.is_complete).map(|one| one.time.lasted_ns as i64).max();
        if silent < HUNG_NS
            || !self.is_resent_at_the_end(at)
                && silent < longest.map_or(last.saturating_sub(first), |longest| longest.saturating_mul(HUNG))
        {
            return None;
        }
        let (sender, receiver) = addresses(self.all, self.timed[at].connection)?;
        let (cause, lost) = (CollectiveCause::Hang, ns(silent));
        Some(Blame { at, cause, rank: sender, peer: Some(receiver), queue_pair: None, lost })
    }

    /// Whether packets of a request were sent again, and were not acknowledged any more.
    fn is_resent_at_the_end(&self, at: usize) -> bool {
        let one = &self.timed[at];
        let request = self.all.connections.get(one.connection).and_then(|of| of.requests.get(one.request));
        let mut chunks = request.into_iter().flat_map(|request| self.all.chunks_of(request));
        chunks.any(|chunk| chunk.acknowledged.is_none() && chunk.again > Some(chunk.last.1))
    }

    /// The queue pair on which a request ended last, where it used several.
    fn slowest_queue_pair(&self, at: usize) -> Option<u32> {
        let one = &self.timed[at];
        let request = self.all.connections.get(one.connection)?.requests.get(one.request)?;
        let last =
            self.all.chunks_of(request).max_by_key(|chunk| chunk.acknowledged.unwrap_or(chunk.last.1))?;
        self.all.ways.get(last.way as usize).map(|way| way.key.dest_qp())
    }
}

/// A request that hangs, where there are no operations.
pub(super) fn hung(all: &Collectives, timed: &[Timed]) -> Option<Straggler> {
    let members: Vec<usize> = (0..timed.len()).collect();
    let (usual, ends) = (Usual::default(), Ends::of(all, timed));
    let waits = Waits {
        all,
        timed,
        members: &members,
        usual: &usual,
        ends: &ends,
        topology: Topology::Pairs,
        are_all_seen: false,
        sends: BTreeMap::new(),
        gaps: None,
    };
    let Blame { cause, rank, peer, lost, .. } = waits.hung()?;
    Some(Straggler { rank, peer, cause, operations: 1, queue_pairs: Vec::new(), lost_ns: lost })
}

/// The time from one operation to the next one: the median.
pub(super) fn period(operations: &[CollectiveOperation]) -> Option<u64> {
    let mut apart: Vec<u64> =
        operations.windows(2).map(|pair| ns_between(pair[0].start_ns, pair[1].start_ns)).collect();
    apart.sort_unstable();
    apart.get(apart.len() / 2).copied()
}

/// Who was waited for, over all operations.
pub(super) fn stragglers(operations: &[CollectiveOperation]) -> Vec<Straggler> {
    let mut all: BTreeMap<(String, Option<String>, CollectiveCause), Straggler> = BTreeMap::new();
    for one in operations {
        let (Some(rank), Some(cause)) = (&one.straggler, one.cause) else { continue };
        // A host is late for all of its peers.
        let peer = one.straggler_peer.clone().filter(|_| cause != CollectiveCause::HostLate);
        let row = all.entry((rank.clone(), peer.clone(), cause)).or_insert_with(|| Straggler {
            rank: rank.clone(),
            peer,
            cause,
            ..Straggler::default()
        });
        row.operations += 1;
        row.lost_ns = row.lost_ns.saturating_add(one.lost_ns.unwrap_or(0));
        row.queue_pairs.extend(one.queue_pair);
    }
    let mut rows: Vec<Straggler> = all.into_values().collect();
    for row in &mut rows {
        row.queue_pairs.sort_unstable();
        row.queue_pairs.dedup();
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.lost_ns));
    rows
}
