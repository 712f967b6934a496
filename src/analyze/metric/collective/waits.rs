//! Who was waited for in an operation: the walk back along the waits.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Collectives,
    cut::{Timed, ns, ns_between, union},
    ends::{Ends, addresses},
    pace::{Lost, Part, Usual, parts},
};
use crate::report::{CollectiveCause, Topology};

/// What cost less than this part of an operation is not worth a name: a twentieth.
const WORTH: u64 = 20;
/// Each step waits for a round trip: a host is late that takes longer than so many.
const ROUND_TRIPS: u64 = 3;
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

/// Who is to blame for an operation's time.
pub(super) struct Blame {
    /// A request that shows it.
    pub(super) at: usize,
    pub(super) cause: CollectiveCause,
    pub(super) rank: String,
    pub(super) peer: Option<String>,
    pub(super) queue_pair: Option<u32>,
    pub(super) lost: u64,
}

/// The waits of one operation.
pub(super) struct Waits<'a> {
    pub(super) all: &'a Collectives,
    pub(super) timed: &'a [Timed],
    pub(super) members: &'a [usize],
    pub(super) usual: &'a Usual,
    pub(super) ends: &'a Ends,
    pub(super) topology: Topology,
    /// All hosts have taps.
    pub(super) are_all_seen: bool,
    /// When each host sent data.
    pub(super) sends: BTreeMap<usize, Vec<(i64, i64)>>,
    /// How much longer than others each host took from the operation before.
    pub(super) gaps: Option<&'a BTreeMap<usize, u64>>,
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
    pub(super) fn blame(&self, lasted: u64) -> Option<Blame> {
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
    pub(super) fn hung(&self) -> Option<Blame> {
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

/// How much longer than others each host took from what it did last in the operation before until what it did first: the half of them that was
/// faster took no longer. A host that ended later begins later, and is not late for that. None of the first operation.
pub(super) fn gaps(timed: &[Timed], ends: &Ends, operations: &[Vec<usize>]) -> Vec<BTreeMap<usize, u64>> {
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
pub(super) fn sends(timed: &[Timed], ends: &Ends, members: &[usize]) -> BTreeMap<usize, Vec<(i64, i64)>> {
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
