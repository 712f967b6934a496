//! When each endpoint waited, and for what: the parts of requests' times, as they followed each other.

use crate::in_order::InOrder;
use std::collections::{BTreeMap, BTreeSet};

use super::{
    Collectives,
    cut::{Timed, ns_between, union},
    ends::Ends,
};
use crate::report::{CollectiveWait, RequestTime, WaitCause};

/// Rows of the report.
const MOST_WAITS: usize = 1 << 16;

/// A part of a request's time: what it waited for, from when, until when.
pub(super) type Piece = (WaitCause, i64, i64);

/// The parts of a time, from those that are known: the rest is transfer, of which the first part is the link's own time.
pub(super) fn pieces(known: Vec<Piece>, time: &RequestTime, (begin, end): (i64, i64)) -> Vec<Piece> {
    let taken = union(known.iter().map(|&(_, from, to)| (from, to)), (begin, end));
    let mut all: Vec<Piece> = known.into_iter().filter(|(_, from, to)| from < to).collect();
    let needed = time.line_rate_ns.unwrap_or(u64::MAX).saturating_add(time.round_trip_ns.unwrap_or(0));
    let needs = if time.line_rate_ns.is_some() { WaitCause::LineRate } else { WaitCause::Transfer };
    let slower = if time.throttled_ns.unwrap_or(0) > 0 { WaitCause::Throttled } else { WaitCause::Queueing };
    let (mut at, mut left) = (begin, needed);
    for (from, to) in taken.into_iter().chain([(end, end)]) {
        if at < from {
            let middle = at.saturating_add_unsigned(left).min(from);
            left = left.saturating_sub(ns_between(at, middle));
            all.extend([(needs, at, middle), (slower, middle, from)].into_iter().filter(|(_, a, b)| a < b));
        }
        at = at.max(to);
    }
    all
}

/// A piece on the time of an endpoint.
struct Wait {
    cause: WaitCause,
    from: i64,
    to: i64,
    peer: usize,
    timed: usize,
}

/// What each endpoint waited for: of several requests at a time, the first cause.
pub(super) fn rows(
    all: &Collectives,
    timed: &[Timed],
    ends: &Ends,
    place: &BTreeMap<usize, usize>,
) -> Vec<CollectiveWait> {
    let mut of_rank: BTreeMap<usize, Vec<Wait>> = BTreeMap::new();
    for (at, one) in timed.iter().enumerate() {
        let Some(&(sender, receiver)) = ends.of.get(&one.connection) else { continue };
        for &(cause, from, to) in &one.pieces {
            let (rank, peer) = match cause {
                WaitCause::ReceiverLate | WaitCause::ReceiverSilent => (sender, receiver),
                _ => (receiver, sender),
            };
            of_rank.entry(rank).or_default().push(Wait { cause, from, to, peer, timed: at });
        }
    }
    let mut rows = Vec::new();
    for (rank, waits) in of_rank {
        for (wait, from, to, requests) in flat(&waits) {
            let one = &timed[wait.timed];
            let name = |end: usize| ends.names.get(end).cloned().unwrap_or_default();
            let request = all.connections.get(one.connection).and_then(|of| of.requests.get(one.request));
            let first = request.and_then(|of| all.chunks_of(of).map(|chunk| chunk.first.0).min());
            let cts = request.and_then(|of| Some(of.cts.as_ref()?.frame));
            rows.push(CollectiveWait {
                rank: name(rank),
                peer: name(wait.peer),
                cause: wait.cause,
                start_ns: from,
                lasted_ns: ns_between(from, to),
                connection: place.get(&one.connection).copied().unwrap_or_default(),
                request: request.map_or(0, |of| of.index),
                requests,
                frame: first.or(cts),
            });
        }
    }
    if rows.len() > MOST_WAITS {
        rows.order_by_key(|row| std::cmp::Reverse(row.lasted_ns));
        rows.truncate(MOST_WAITS);
    }
    rows.order_by(|a, b| (a.start_ns, &a.rank).cmp(&(b.start_ns, &b.rank)));
    rows
}

/// Waits without overlaps: of those at a time, the one whose cause comes first. What follows with the same cause and for the same peer is one, with
/// its number of requests.
fn flat(waits: &[Wait]) -> Vec<(&Wait, i64, i64, u64)> {
    let mut events: Vec<(i64, bool, usize)> = Vec::with_capacity(waits.len() * 2);
    for (at, wait) in waits.iter().enumerate() {
        events.extend([(wait.from, true, at), (wait.to, false, at)]);
    }
    events.sort_unstable();
    let mut active: BTreeSet<(WaitCause, usize)> = BTreeSet::new();
    let mut flat: Vec<(&Wait, i64, i64, usize, u64)> = Vec::new();
    let mut since = i64::MIN;
    for (time, begins, at) in events {
        if let Some(&(cause, first)) = active.first().filter(|_| since < time) {
            let wait = &waits[first];
            match flat.last_mut() {
                Some((last, _, to, of, requests))
                    if *to == since && last.cause == cause && last.peer == wait.peer =>
                {
                    *to = time;
                    *requests += u64::from(*of != first);
                    *of = first;
                }
                _ => flat.push((wait, since, time, first, 1)),
            }
        }
        since = time;
        let key = (waits[at].cause, at);
        if begins {
            active.insert(key)
        } else {
            active.remove(&key)
        };
    }
    flat.into_iter().map(|(wait, from, to, _, requests)| (wait, from, to, requests)).collect()
}
