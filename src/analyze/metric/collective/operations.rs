//! Operations: groups of requests, and who was waited for over all of them.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Collectives,
    cut::{Timed, ns_between, union},
    ends::Ends,
    pace::Usual,
    path::speed,
    topology::Shape,
    waits::{Blame, Waits, sends, starts},
};
use crate::report::{CollectiveCause, CollectiveOperation, Straggler};

/// A silence of all connections divides operations if it is so many times longer than the longest one that does not.
const APART: i64 = 4;
/// A shorter silence divides nothing.
const LEAST_NS: i64 = 10_000;
/// Operations of one span, at most, and kinds of operations that are compared.
const MOST_TOGETHER: usize = 64;

/// The time of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) start: i64,
    pub(super) end: i64,
}

/// Groups the requests, which are in the order of their beginnings.
///
/// Hosts that send nothing to others, as pairs, wait for none of them: what is a silence of all is one of those that belong together, and what they do for the
/// nth time is the nth operation.
pub(super) fn group(timed: &mut [Timed], (ends, shape): (&Ends, &Shape)) -> Vec<Span> {
    let mut parts: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for (at, one) in timed.iter().enumerate().filter(|(_, one)| one.shows_data) {
        let part = ends.of.get(&one.connection).and_then(|&(sender, _)| shape.part_of(sender));
        parts.entry(part).or_default().push(at);
    }
    let are_several = |members: &Vec<usize>| {
        members
            .first()
            .is_some_and(|&first| members.iter().any(|&at| timed[at].connection != timed[first].connection))
    };
    if parts.len() < 2 || !parts.values().all(are_several) {
        return grouped(timed);
    }
    let mut spans: Vec<Span> = Vec::new();
    let mut operations: Vec<(usize, Option<usize>)> = Vec::new();
    let mut counts = BTreeSet::new();
    for members in parts.into_values() {
        let mut own: Vec<Timed> = members.iter().map(|&at| timed[at].clone()).collect();
        let of_part = grouped(&mut own);
        counts.insert(of_part.len());
        operations.extend(members.into_iter().zip(own.iter().map(|one| one.operation)));
        for (at, span) in of_part.into_iter().enumerate() {
            match spans.get_mut(at) {
                Some(known) => {
                    (known.start, known.end) = (known.start.min(span.start), known.end.max(span.end));
                }
                None => spans.push(span),
            }
        }
    }
    if counts.len() > 1 {
        return grouped(timed);
    }
    operations.into_iter().for_each(|(at, operation)| timed[at].operation = operation);
    spans
}

/// Groups the requests of connections that belong together.
fn grouped(timed: &mut [Timed]) -> Vec<Span> {
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
    divided(timed, spans, least)
}

/// Requests by connection.
type Counts = BTreeMap<usize, usize>;

/// Divides spans of several operations that overlap: some connections had begun the next one when others had not ended the last. What one operation is,
/// most spans say: each is one, or several times as many requests of each connection, most of which were silent for long where it divides.
fn divided(timed: &mut [Timed], spans: Vec<Span>, least: i64) -> Vec<Span> {
    let mut members: Vec<BTreeMap<usize, Vec<usize>>> = vec![BTreeMap::new(); spans.len()];
    for (at, one) in timed.iter().enumerate() {
        if let Some(of) = one.operation.and_then(|span| members.get_mut(span)) {
            of.entry(one.connection).or_default().push(at);
        }
    }
    for of in members.iter_mut().flat_map(BTreeMap::values_mut) {
        of.sort_by_key(|&at| timed[at].request);
    }
    let counts: Vec<Counts> = members
        .iter()
        .map(|of| of.iter().map(|(&connection, all)| (connection, all.len())).collect())
        .collect();
    let is_silent = |all: &Vec<usize>, at: usize| {
        let before = at.checked_sub(1).and_then(|before| all.get(before)).zip(all.get(at));
        before.is_some_and(|(&before, &at)| timed[at].begin.saturating_sub(timed[before].end) >= least / 2)
    };
    let divides = |span: usize, times: usize| {
        (1..times).all(|part| {
            let silent = members[span].values().filter(|all| is_silent(all, all.len() / times * part));
            silent.count() * 2 >= members[span].len()
        })
    };
    let mut often: BTreeMap<&Counts, usize> = BTreeMap::new();
    for count in &counts {
        *often.entry(count).or_insert(0) += 1;
    }
    let mut usual: Vec<(&Counts, usize)> = often.into_iter().collect();
    usual.sort_by_key(|&(_, times)| std::cmp::Reverse(times));
    let mut units: BTreeSet<Counts> =
        usual.into_iter().take(MOST_TOGETHER).map(|(count, _)| count.clone()).collect();
    for (span, count) in counts.iter().enumerate() {
        let most = count.values().copied().reduce(greatest_common_divisor).unwrap_or(1);
        let times = (2..=most.min(MOST_TOGETHER)).filter(|times| most.is_multiple_of(*times));
        for times in times.filter(|&times| divides(span, times)) {
            if units.len() >= 2 * MOST_TOGETHER {
                break;
            }
            units.insert(count.iter().map(|(&connection, n)| (connection, n / times)).collect());
        }
    }
    let requests = |count: &Counts| count.values().sum::<usize>();
    let of_span: Vec<usize> = counts.iter().map(requests).collect();
    let times = |span: usize, unit: &Counts| {
        let times = of_span[span] / requests(unit).max(1);
        let is_so =
            |(connection, n): (&usize, &usize)| unit.get(connection).is_some_and(|one| one * times == *n);
        let is_several = times > 0 && counts[span].len() == unit.len() && counts[span].iter().all(is_so);
        (is_several && divides(span, times)).then_some(times)
    };
    let explained = |unit: &Counts| (0..spans.len()).filter(|&span| times(span, unit).is_some()).count();
    let unit = units.iter().max_by_key(|unit| (explained(unit), std::cmp::Reverse(requests(unit))));
    let Some(unit) = unit else { return spans };
    let parts: Vec<usize> = (0..spans.len()).map(|span| times(span, unit).unwrap_or(1)).collect();
    let mut all: Vec<Option<Span>> = vec![None; parts.iter().sum()];
    let mut first = 0;
    for (parts, of_span) in parts.into_iter().zip(members) {
        for of_connection in of_span.into_values() {
            let each = of_connection.len().div_ceil(parts).max(1);
            for (n, at) in of_connection.into_iter().enumerate() {
                let (place, one) = (first + n / each, &mut timed[at]);
                one.operation = Some(place);
                let known = all[place].get_or_insert(Span { start: one.begin, end: one.end });
                (known.start, known.end) = (known.start.min(one.begin), known.end.max(one.end));
            }
        }
        first += parts;
    }
    all.into_iter().flatten().collect()
}

fn greatest_common_divisor(mut a: usize, mut b: usize) -> usize {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
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
    let starts = starts(timed, ends, &of_operation);
    let speed = speed(timed);
    let size = |members: &[usize]| {
        (members.len(), members.iter().map(|&at| timed[at].bytes).fold(0, u64::saturating_add))
    };
    let mut shortest: BTreeMap<(usize, u64), u64> = BTreeMap::new();
    for (span, members) in spans.iter().zip(&of_operation) {
        let lasted = ns_between(span.start, span.end);
        let known = shortest.entry(size(members)).or_insert(lasted);
        *known = lasted.min(*known);
    }
    let mut before = None::<Blame>;
    let row = |(operation, (span, members)): (usize, (&Span, Vec<usize>))| {
        let lasted = ns_between(span.start, span.end);
        let like @ (_, bytes) = size(&members);
        let waits = Waits {
            all,
            timed,
            members: &members,
            usual: &usual,
            ends,
            shape,
            sends: sends(timed, ends, &members),
            speed,
            start: span.start,
            longer: lasted - shortest.get(&like).copied().unwrap_or(0).min(lasted),
            starts: starts.get(operation),
        };
        let own = waits.blame(lasted);
        // What was wrong before has its effects here, too.
        let carried = before.take().and_then(|again| waits.carried(again, lasted));
        let blame = match (own, carried) {
            (Some(own), Some(carried)) if own.lost >= carried.lost => Some(own),
            (own, carried) => carried.or(own),
        };
        before.clone_from(&blame);
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
            // Several requests may have waited at once.
            row.lost_ns = Some(blame.lost.min(lasted));
            row.waited_at_ns = since(span, blame.spans);
        }
        row
    };
    spans.iter().zip(of_operation).enumerate().map(row).collect()
}

/// Times of an operation in nanoseconds since it began, one after the other: the longest of them.
fn since(of: &Span, times: Vec<(i64, i64)>) -> Vec<u64> {
    /// So many of one operation.
    const MOST: usize = 256;
    let mut times = union(times.into_iter(), (of.start, of.end));
    times.sort_by_key(|&(from, to)| std::cmp::Reverse(ns_between(from, to)));
    times.truncate(MOST);
    times.sort_unstable();
    times.iter().flat_map(|&(from, to)| [from, to]).map(|at| ns_between(of.start, at)).collect()
}

/// A request that hangs, where there are no operations.
pub(super) fn hung(all: &Collectives, timed: &[Timed]) -> Option<Straggler> {
    let members: Vec<usize> = (0..timed.len()).collect();
    let (usual, ends) = (Usual::default(), Ends::of(all, timed));
    let shape = Shape::of(all, &ends);
    let waits = Waits {
        all,
        timed,
        members: &members,
        usual: &usual,
        ends: &ends,
        shape: &shape,
        sends: BTreeMap::new(),
        speed: None,
        start: i64::MIN,
        longer: 0,
        starts: None,
    };
    let Blame { cause, rank, peer, lost, .. } = waits.hung()?;
    Some(Straggler { rank, peer, cause, operations: 1, lost_ns: lost, ..Straggler::default() })
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
