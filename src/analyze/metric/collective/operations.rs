//! Operations, and who was waited for in each.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Collectives,
    cut::{Timed, ns, ns_between},
};
use crate::report::{
    self, CollectiveCause, CollectiveConnection, CollectiveOperation, RequestTime, Straggler, Topology,
};

/// A silence of all connections divides operations if it is so many times longer than the longest one that does not.
const APART: i64 = 4;
/// A shorter silence divides nothing.
const LEAST_NS: i64 = 10_000;
/// What cost less than this part of an operation is not worth a name: a twentieth.
const WORTH: u64 = 20;
/// Each step waits for a round trip: a host is late that takes longer than so many.
const ROUND_TRIPS: u64 = 3;
/// Steps back along the waits of an operation.
const MOST_STEPS: usize = 4096;
/// A request hangs if it is silent so many times longer than the longest complete one took, and so long at least.
const HUNG: i64 = 3;
const HUNG_NS: i64 = 1_000_000;
/// A tree has so many branches at an endpoint, at most.
const BRANCHES: usize = 3;

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

/// Who sends to whom.
pub(super) fn topology(connections: &[CollectiveConnection], ranks: usize) -> Topology {
    let edges: BTreeSet<(&str, &str)> =
        connections.iter().map(|one| (one.sender.as_str(), one.receiver.as_str())).collect();
    let mut next: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut before: BTreeMap<&str, usize> = BTreeMap::new();
    for &(from, to) in &edges {
        next.entry(from).or_default().insert(to);
        *before.entry(to).or_default() += 1;
    }
    if is_ring(&next, ranks) {
        return Topology::Ring;
    }
    if ranks > 2 && edges.len() == ranks * (ranks - 1) {
        return Topology::AllToAll;
    }
    let both = edges.iter().filter(|(from, to)| edges.contains(&(to, from))).count();
    let is_tree =
        both == edges.len() && edges.len() == 2 * (ranks - 1) && next.values().all(|to| to.len() <= BRANCHES);
    if is_tree && ranks > 2 { Topology::Tree } else { Topology::Pairs }
}

/// Whether each endpoint has one next one, and all of them are one circle.
fn is_ring(next: &BTreeMap<&str, BTreeSet<&str>>, ranks: usize) -> bool {
    if next.len() != ranks || next.values().any(|to| to.len() != 1) {
        return false;
    }
    let Some(&first) = next.keys().next() else { return false };
    let mut at = first;
    for step in 1..=ranks {
        let Some(&to) = next.get(at).and_then(|to| to.first()) else { return false };
        at = to;
        if at == first {
            return step == ranks;
        }
    }
    false
}

/// A request was waited for, and who is to blame.
struct Blame {
    at: usize,
    cause: CollectiveCause,
    rank: String,
    peer: Option<String>,
    queue_pair: Option<u32>,
    lost: u64,
}

/// What requests of one size usually take on their way.
struct Usual(BTreeMap<u64, u64>);

impl Usual {
    fn of(timed: &[Timed]) -> Usual {
        let mut by_size: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for one in timed.iter().filter(|one| one.is_complete) {
            by_size.entry(one.bytes).or_default().push(one.time.transfer_ns);
        }
        let median = |mut all: Vec<u64>| {
            all.sort_unstable();
            all[all.len() / 2]
        };
        Usual(by_size.into_iter().map(|(bytes, all)| (bytes, median(all))).collect())
    }

    /// What a request lost on the network, and to what most of it.
    fn lost(&self, one: &Timed) -> (u64, CollectiveCause) {
        let RequestTime { paused_ns, recovering_ns, transfer_ns, throttled_ns, .. } = one.time;
        let slow = self.0.get(&one.bytes).map_or(0, |usual| transfer_ns.saturating_sub(*usual));
        let slower =
            if throttled_ns.unwrap_or(0) > 0 { CollectiveCause::Throttled } else { CollectiveCause::Slow };
        let parts = [
            (paused_ns, CollectiveCause::Paused),
            (recovering_ns, CollectiveCause::Recovering),
            (slow, slower),
        ];
        let most =
            parts.into_iter().max_by_key(|(lost, _)| *lost).map_or(CollectiveCause::Slow, |(_, cause)| cause);
        (paused_ns.saturating_add(recovering_ns).saturating_add(slow), most)
    }
}

/// The rows of operations.
pub(super) fn rows(
    all: &Collectives,
    rows: &report::Collectives,
    place: &BTreeMap<usize, usize>,
    timed: &[Timed],
    spans: &[Span],
) -> Vec<CollectiveOperation> {
    let usual = Usual::of(timed);
    let mut of_operation: Vec<Vec<usize>> = vec![Vec::new(); spans.len()];
    for (at, one) in timed.iter().enumerate() {
        if let Some(of) = one.operation.and_then(|operation| of_operation.get_mut(operation)) {
            of.push(at);
        }
    }
    let row = |(operation, (span, members)): (usize, (&Span, Vec<usize>))| {
        let lasted = ns_between(span.start, span.end);
        let bytes = members.iter().map(|&at| timed[at].bytes).sum();
        let blame = Waits { all, timed, members: &members, usual: &usual }.blame(lasted);
        let mut row = CollectiveOperation {
            operation: operation as u64,
            start_ns: span.start,
            lasted_ns: lasted,
            requests: members.len() as u64,
            bytes,
            bus_bps: bus_bps(all, rows.topology, timed, &members, lasted),
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

/// What the endpoint that sends most sends, over the time: nccl-tests' bus bandwidth of rings, and of all to all.
fn bus_bps(
    all: &Collectives,
    topology: Topology,
    timed: &[Timed],
    members: &[usize],
    lasted: u64,
) -> Option<u64> {
    if !matches!(topology, Topology::Ring | Topology::AllToAll) || lasted == 0 {
        return None;
    }
    let mut sent: BTreeMap<String, u64> = BTreeMap::new();
    for &at in members {
        let (sender, _) = ends(all, timed[at].connection)?;
        *sent.entry(sender).or_default() += timed[at].bytes;
    }
    let most = sent.into_values().max()?;
    Some((u128::from(most) * 8_000_000_000 / u128::from(lasted)) as u64)
}

/// Sender and receiver of a connection.
fn ends(all: &Collectives, connection: usize) -> Option<(String, String)> {
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
}

/// What most of a request's time was lost to.
enum Wait {
    Sender(i64, i64),
    Receiver(i64, i64),
    Network(u64, CollectiveCause),
}

impl Wait {
    fn lost(&self) -> u64 {
        match self {
            Wait::Sender(from, to) | Wait::Receiver(from, to) => ns_between(*from, *to),
            Wait::Network(lost, _) => *lost,
        }
    }
}

impl Waits<'_> {
    /// Who was waited for, back along the waits from the longest one to somebody who waited for nobody.
    fn blame(&self, lasted: u64) -> Option<Blame> {
        if let Some(hung) = self.hung() {
            return Some(hung);
        }
        let mut at = self.members.iter().copied().max_by_key(|&at| self.wait(at).lost())?;
        let mut seen = BTreeSet::new();
        for _ in 0..MOST_STEPS {
            if !seen.insert(at) {
                break;
            }
            match self.before(at) {
                Some(before) => at = before,
                None => break,
            }
        }
        let wait = self.wait(at);
        let lost = wait.lost();
        if lost.saturating_mul(WORTH) < lasted || lost == 0 {
            return None;
        }
        let connection = self.timed[at].connection;
        let of = self.all.connections.get(connection)?;
        let of_data = of.data_ways.iter().filter_map(|&way| self.all.ways.get(way as usize)?.round_trip_ns);
        let round_trip = of.round_trip_to_sender(self.all).into_iter().chain(of_data).max();
        let is_host = !matches!(wait, Wait::Network(..));
        if is_host && lost < ns(round_trip.unwrap_or(0)).saturating_mul(ROUND_TRIPS) {
            return None;
        }
        let (sender, receiver) = ends(self.all, connection)?;
        Some(match wait {
            Wait::Sender(..) => self.host(at, sender, receiver, lost),
            Wait::Receiver(..) => self.host(at, receiver, sender, lost),
            Wait::Network(_, cause) => {
                let queue_pair = self.slowest_queue_pair(at);
                Blame { at, cause, rank: sender, peer: Some(receiver), queue_pair, lost }
            }
        })
    }

    fn host(&self, at: usize, rank: String, peer: String, lost: u64) -> Blame {
        Blame { at, cause: CollectiveCause::HostLate, rank, peer: Some(peer), queue_pair: None, lost }
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
        // One that was begun; else the earliest step: elements come long before their data.
        let step = |one: &Timed| one.request - began.get(&one.connection).copied().unwrap_or(0);
        let at = open.min_by_key(|&at| {
            let one = &self.timed[at];
            (one.first.is_none(), step(one), activity(one))
        })?;
        let longest =
            self.timed.iter().filter(|one| one.is_complete).map(|one| one.time.lasted_ns as i64).max();
        if silent < HUNG_NS
            || !self.is_resent_at_the_end(at)
                && silent < longest.map_or(last.saturating_sub(first), |longest| longest.saturating_mul(HUNG))
        {
            return None;
        }
        let (sender, receiver) = ends(self.all, self.timed[at].connection)?;
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

    /// What most of a request's time was lost to.
    fn wait(&self, at: usize) -> Wait {
        let one = &self.timed[at];
        let (lost, cause) = self.usual.lost(one);
        let receiver = one.time.receiver_late_ns.unwrap_or(0);
        let sender = one.time.sender_late_ns.or(one.time.late_ns).unwrap_or(0);
        if lost >= receiver.max(sender) {
            return Wait::Network(lost, cause);
        }
        let asked = one.cts.unwrap_or(one.begin).max(one.begin);
        match receiver > sender {
            true => Wait::Receiver(one.begin, asked),
            false => {
                let to = one.first.unwrap_or(one.end);
                Wait::Sender(to.saturating_sub_unsigned(sender), to)
            }
        }
    }

    /// The request that the late one of this request waited for itself: one that it took part in, and that ended when it went on.
    fn before(&self, at: usize) -> Option<usize> {
        let (from, to, is_sender) = match self.wait(at) {
            Wait::Sender(from, to) => (from, to, true),
            Wait::Receiver(from, to) => (from, to, false),
            Wait::Network(..) => return None,
        };
        let (sender, receiver) = ends(self.all, self.timed[at].connection)?;
        let late = if is_sender { sender } else { receiver };
        let is_part = |&other: &usize| {
            let one = &self.timed[other];
            let Some((sender, receiver)) = ends(self.all, one.connection) else { return false };
            // It went on soon after the other one ended, and waited for it most of the time.
            let near = to.saturating_sub(from) / 4;
            let arrived = one.last.unwrap_or(i64::MAX);
            let is_there = arrived > from && arrived <= to && to.saturating_sub(arrived) <= near;
            other != at
                && (receiver == late || !is_sender && sender == late)
                && is_there
                && self.wait(other).lost().saturating_mul(2) >= ns_between(from, to)
        };
        let candidates = self.members.iter().copied().filter(is_part);
        candidates.max_by_key(|&other| self.wait(other).lost())
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
    let usual = Usual::of(timed);
    let Blame { cause, rank, peer, lost, .. } =
        Waits { all, timed, members: &members, usual: &usual }.hung()?;
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
