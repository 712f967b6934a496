//! Operations: groups of requests, and who was waited for over all of them.

use std::collections::BTreeMap;

use super::{
    Collectives,
    cut::{Timed, ns_between},
    ends::Ends,
    pace::Usual,
    topology::Shape,
    waits::{Blame, Waits, gaps, sends},
};
use crate::report::{CollectiveCause, CollectiveOperation, Straggler, Topology};

/// A silence of all connections divides operations if it is so many times longer than the longest one that does not.
const APART: i64 = 4;
/// A shorter silence divides nothing.
const LEAST_NS: i64 = 10_000;

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
