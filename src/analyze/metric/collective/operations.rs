//! Operations: groups of requests, and who was waited for over all of them.

use crate::in_order::InOrder;
use std::collections::{BTreeMap, BTreeSet};

use super::{
    Collectives, ahead,
    cut::{Timed, ns_between, union},
    ends::Ends,
    pace::Usual,
    path::speed,
    topology::Shape,
    waits::{Blame, Start, Waits, sends, starts, takes_turns},
    way::{Role, Way},
};
use crate::report::{CollectiveCause, CollectiveOperation, Straggler, Topology};

/// A silence of all connections divides operations if it is so many times longer than the longest one that does not.
const APART: i64 = 4;
/// A shorter silence divides nothing.
pub(super) const LEAST_NS: i64 = 10_000;
/// Silences of a connection that divide operations are one for so many of its requests, at most.
const FEW: usize = 4;
/// So many operations that are alike show what divides them, and so many silences are tried.
const EVEN: usize = 3;
const EVEN_TRIES: usize = 8;
/// Operations of one span, at most, and kinds of operations that are compared.
const MOST_TOGETHER: usize = 64;

/// The time of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) start: i64,
    pub(super) end: i64,
}

/// The operations of some requests, and of each request, by its place, the one that it is of.
type Divided = (Vec<Span>, Vec<(usize, Option<usize>)>);

/// Groups the requests, which are in the order of their beginnings.
///
/// Hosts that send nothing to others wait for none of them: what is a silence of all is one of those that belong together. If they began together, as pairs
/// do, and have as many operations, the nth of each is one; else nothing ties them, and each has its own. So has each of several jobs on the same hosts.
pub(super) fn group(timed: &mut [Timed], (ends, shape): (&Ends, &Shape)) -> Vec<Span> {
    let mut parts: BTreeMap<(Option<usize>, usize), Vec<usize>> = BTreeMap::new();
    for (at, one) in timed.iter().enumerate().filter(|(_, one)| one.shows_data) {
        let part = ends.of.get(&one.connection).and_then(|&(sender, _)| shape.part_of(sender));
        parts.entry((part, ends.job_of(one.connection))).or_default().push(at);
    }
    let are_several = |members: &Vec<usize>| {
        members
            .first()
            .is_some_and(|&first| members.iter().any(|&at| timed[at].connection != timed[first].connection))
    };
    if parts.len() < 2 || !parts.values().all(are_several) {
        return grouped(timed, (ends, shape));
    }
    // The operations of each part: their times, and those of its requests.
    let mut all: Vec<Divided> = Vec::new();
    for members in parts.into_values() {
        let mut own: Vec<Timed> = members.iter().map(|&at| timed[at].clone()).collect();
        let spans = grouped(&mut own, (ends, shape));
        all.push((spans, members.into_iter().zip(own.iter().map(|one| one.operation)).collect()));
    }
    let counts: BTreeSet<usize> = all.iter().map(|(spans, _)| spans.len()).collect();
    let first = || all.iter().filter_map(|(spans, _)| Some(spans.first()?.start));
    let apart = first().min().zip(first().max()).map_or(0, |(first, last)| last.saturating_sub(first));
    if counts.len() == 1 && apart < LEAST_NS {
        let mut together: Vec<Span> = Vec::new();
        for (spans, members) in all {
            members.into_iter().for_each(|(at, operation)| timed[at].operation = operation);
            for (at, span) in spans.into_iter().enumerate() {
                match together.get_mut(at) {
                    Some(known) => {
                        (known.start, known.end) = (known.start.min(span.start), known.end.max(span.end));
                    }
                    None => together.push(span),
                }
            }
        }
        return together;
    }
    let of_part = |(part, (spans, _)): (usize, &(Vec<Span>, _))| {
        spans.iter().enumerate().map(move |(at, span)| (span.start, part, at)).collect::<Vec<_>>()
    };
    let mut order: Vec<(i64, usize, usize)> = all.iter().enumerate().flat_map(of_part).collect();
    order.sort_unstable();
    let place: BTreeMap<(usize, usize), usize> =
        order.iter().enumerate().map(|(place, &(_, part, at))| ((part, at), place)).collect();
    for (part, (_, members)) in all.iter().enumerate() {
        for &(at, operation) in members {
            timed[at].operation = operation.and_then(|of| place.get(&(part, of)).copied());
        }
    }
    order.into_iter().map(|(_, part, at)| all[part].0[at]).collect()
}

/// Groups the requests of connections that belong together.
fn grouped(timed: &mut [Timed], (ends, shape): (&Ends, &Shape)) -> Vec<Span> {
    let mut until = i64::MIN;
    let mut silences = Vec::new();
    for one in timed.iter().filter(|one| one.shows_data) {
        if until != i64::MIN && one.begin > until {
            silences.push(one.begin.saturating_sub(until));
        }
        until = until.max(one.end);
    }
    if let Some(least) = evenly_dividing(timed, &silences) {
        let spans = divided_by(timed, least);
        return ahead::divide(timed, (ends, shape), spans);
    }
    let own = own_silences(timed);
    let least = match dividing(silences) {
        i64::MAX => of_most(&own).unwrap_or(i64::MAX),
        least => least,
    };
    let spans = divided_by(timed, least);
    let count = spans.len();
    let spans = without_waits(timed, spans, (ends, &own));
    // What was only a wait divides nothing else.
    let gaps = spans.windows(2).map(|pair| pair[1].start.saturating_sub(pair[0].end));
    let least = if spans.len() < count { gaps.min().unwrap_or(i64::MAX) } else { least };
    let spans = divided(timed, spans, least);
    ahead::divide(timed, (ends, shape), spans)
}

/// Divides where all are silent for so long.
fn divided_by(timed: &mut [Timed], least: i64) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for one in timed.iter_mut().filter(|one| one.shows_data) {
        match spans.last_mut() {
            Some(last) if one.begin.saturating_sub(last.end) < least => last.end = last.end.max(one.end),
            _ => spans.push(Span { start: one.begin, end: one.end }),
        }
        one.operation = spans.len().checked_sub(1);
    }
    spans
}

/// The shortest silence that divides into operations which are alike, each of as many requests of each connection: then silences need not be so much longer than those
/// within. The widest step of those that do.
fn evenly_dividing(timed: &[Timed], silences: &[i64]) -> Option<i64> {
    let mut sorted: Vec<i64> = silences.iter().copied().filter(|&silence| silence >= LEAST_NS).collect();
    sorted.sort_unstable();
    let steps = sorted.windows(2).map(|pair| (pair[0], pair[1]));
    let mut steps: Vec<(i64, i64)> =
        steps.filter(|(below, above)| above.saturating_mul(2) >= below.saturating_mul(3)).collect();
    steps.order_by_key(|(below, above)| std::cmp::Reverse(above.saturating_mul(16) / below));
    steps.into_iter().take(EVEN_TRIES).map(|(_, above)| above).find(|&least| are_even(timed, least))
}

/// Whether a silence divides into several operations of as many requests of each connection, and more than one of each.
fn are_even(timed: &[Timed], least: i64) -> bool {
    let (mut until, mut last): (Option<i64>, Option<Counts>) = (None, None);
    let (mut counts, mut spans) = (Counts::new(), 1);
    let mut is_like_last = |counts: &mut Counts| {
        let ended = std::mem::take(counts);
        let is_so = last.as_ref().is_none_or(|last| *last == ended);
        last = Some(ended);
        is_so && last.iter().all(|last| last.len() > 1 && last.values().all(|&requests| requests > 1))
    };
    for one in timed.iter().filter(|one| one.shows_data) {
        if until.is_some_and(|until| one.begin.saturating_sub(until) >= least) {
            spans += 1;
            if !is_like_last(&mut counts) {
                return false;
            }
        }
        until = until.max(Some(one.end));
        *counts.entry(one.connection).or_insert(0) += 1;
    }
    spans >= EVEN && is_like_last(&mut counts)
}

/// What connections do: requests, and silences between these, by when they end.
#[derive(Default)]
struct Own {
    requests: usize,
    silences: BTreeMap<i64, i64>,
    until: Option<i64>,
}

fn own_silences(timed: &[Timed]) -> BTreeMap<usize, Own> {
    let mut all: BTreeMap<usize, Own> = BTreeMap::new();
    for one in timed.iter().filter(|one| one.shows_data) {
        let own = all.entry(one.connection).or_default();
        let silence = own.until.map_or(0, |until| one.begin.saturating_sub(until));
        if silence >= LEAST_NS {
            own.silences.insert(one.begin, silence);
        }
        own.requests += 1;
        own.until = own.until.max(Some(one.end));
    }
    all
}

/// The shortest silence of a connection that divides operations, where no moment is silent on all of them: on most they are few among many requests.
fn of_most(all: &BTreeMap<usize, Own>) -> Option<i64> {
    let least = dividing(all.values().flat_map(|own| own.silences.values().copied()).collect());
    let are_few = |own: &&Own| {
        let silences = own.silences.values().filter(|&&silence| silence >= least / 2).count();
        silences > 0 && silences * FEW <= own.requests
    };
    (all.values().filter(are_few).count() * 2 > all.len()).then_some(least)
}

/// Joins spans that are only a wait apart: when one receiver alone goes on, and is silent as long
/// within operations, or much longer elsewhere, others have ended.
fn without_waits(
    timed: &mut [Timed],
    spans: Vec<Span>,
    (ends, own): (&Ends, &BTreeMap<usize, Own>),
) -> Vec<Span> {
    let mut receivers: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); spans.len()];
    let mut connections: Vec<BTreeSet<usize>> = receivers.clone();
    for one in timed.iter() {
        if let (Some(span), Some(&(_, receiver))) = (one.operation, ends.of.get(&one.connection)) {
            receivers[span].insert(receiver);
            connections[span].insert(one.connection);
        }
    }
    if spans.len() < 2 || receivers.iter().all(|of| of.len() < 2) {
        return spans;
    }
    let begins: BTreeSet<i64> = spans.iter().map(|span| span.start).collect();
    // Much shorter than others of this connection, or as long as those that divide nothing.
    let is_wait = |own: &Own, at: usize| {
        let Some((&ends, &silence)) = own.silences.range(spans[at].start..).next() else { return false };
        let longest = own.silences.values().copied().max().unwrap_or(0);
        let mut within = own.silences.iter().filter(|&(&at, _)| at != ends && !begins.contains(&at));
        silence.saturating_mul(APART) <= longest
            || within.any(|(_, &other)| other.saturating_mul(2) >= silence)
    };
    let joins = |&at: &usize| {
        let both = [at - 1, at];
        both.iter()
            .any(|&alone| receivers[alone].len() == 1 && connections[alone].is_subset(&connections[both[0]]))
            && connections[at]
                .iter()
                .filter(|of| connections[at - 1].contains(of))
                .all(|of| own.get(of).is_some_and(|own| is_wait(own, at)))
    };
    let joins: BTreeSet<usize> = (1..spans.len()).filter(joins).collect();
    let mut places = Vec::with_capacity(spans.len());
    let mut all: Vec<Span> = Vec::new();
    for (at, span) in spans.into_iter().enumerate() {
        match all.last_mut().filter(|_| joins.contains(&at)) {
            Some(last) => last.end = last.end.max(span.end),
            None => all.push(span),
        }
        places.push(all.len() - 1);
    }
    for one in timed.iter_mut() {
        one.operation = one.operation.and_then(|at| places.get(at).copied());
    }
    all
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
        of.order_by_key(|&at| timed[at].request);
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
    usual.order_by_key(|&(_, times)| std::cmp::Reverse(times));
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
pub(super) fn dividing(mut silences: Vec<i64>) -> i64 {
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
    (whole, ends): (&Shape, &Ends),
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
    let starts = starts(timed, (ends, whole), &of_operation);
    // Of the same hosts, and the same job.
    let part_of = |members: &[usize]| {
        let first = members.iter().map(|&at| timed[at].connection).min();
        let sender = first.and_then(|of| ends.of.get(&of)).map(|&(sender, _)| sender);
        (sender.and_then(|sender| whole.part_of(sender)), first.map_or(0, |of| ends.job_of(of)))
    };
    let usually_carried = usually_carried(&starts, of_operation.iter().map(|members| part_of(members)));
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
    let has_lost = |&at: &usize| timed[at].time.recovering_ns > 0;
    let mut whole_ones: BTreeMap<(usize, u64), Vec<u64>> = BTreeMap::new();
    for (span, members) in spans.iter().zip(&of_operation).filter(|(_, of)| !of.iter().any(has_lost)) {
        let took = own_time(members, (timed, ends, whole)).unwrap_or(ns_between(span.start, span.end));
        whole_ones.entry(size(members)).or_default().push(took);
    }
    whole_ones.values_mut().for_each(|all| all.sort_unstable());
    let mut shapes: BTreeMap<BTreeSet<usize>, Shape> = BTreeMap::new();
    // Who was waited for in the operation before, of the same hosts.
    let mut before: BTreeMap<(Option<usize>, usize), Blame> = BTreeMap::new();
    let mut before_ns: BTreeMap<(Option<usize>, usize), i64> = BTreeMap::new();
    let mut half_seen: BTreeSet<(Option<usize>, usize)> = BTreeSet::new();
    let unasked = all.unasked();
    let row = |(operation, (span, members)): (usize, (&Span, Vec<usize>))| {
        let lasted = ns_between(span.start, span.end);
        let like @ (_, bytes) = size(&members);
        let connections: BTreeSet<usize> = members.iter().map(|&at| timed[at].connection).collect();
        let ends_of = connections.iter().filter_map(|of| ends.of.get(of).copied()).collect::<Vec<_>>();
        let part = part_of(&members);
        let shape = &*shapes.entry(connections).or_insert_with(|| whole.among(ends_of.into_iter()));
        let is_since = |at: &i64| before_ns.get(&part).is_none_or(|ended| ended < at) && *at <= span.end;
        let is_half_seen = unasked.iter().any(is_since);
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
            lasted,
            longer_than_whole: whole_ones
                .get(&like)
                .and_then(|all| all.get(all.len() / 2))
                .map(|&usual| lasted.saturating_sub(usual)),
            longer: lasted - shortest.get(&like).copied().unwrap_or(0).min(lasted),
            // What is behind one that was half seen may have waited for what was not seen.
            is_begun: !is_half_seen && !half_seen.contains(&part),
            starts: starts.get(operation),
            usually_carried: usually_carried.get(&part).copied().unwrap_or(0),
            takes_turns: takes_turns(timed, (ends, shape), &members),
        };
        before_ns.insert(part, span.end);
        match is_half_seen {
            true => half_seen.insert(part),
            false => half_seen.remove(&part),
        };
        let own = waits.blame(lasted);
        // What was wrong before has its effects here, too.
        let carried = before.remove(&part).and_then(|again| waits.carried(again, lasted));
        let blame = match (own, carried) {
            (Some(own), Some(carried)) if own.lost >= carried.lost => Some(own),
            (own, carried) => carried.or(own),
        };
        if let Some(blame) = &blame {
            before.insert(part, blame.clone());
        }
        let bandwidths = shape.bandwidths(ends, timed, &members, lasted);
        let mut row = CollectiveOperation {
            operation: operation as u64,
            start_ns: span.start,
            lasted_ns: lasted,
            requests: members.len() as u64,
            bytes,
            topology: shape.topology,
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

/// How much later than the first host the last one begins in most operations, but the first one, as it ended the one before later: of each part that has several.
fn usually_carried(
    starts: &[BTreeMap<usize, Start>],
    parts: impl Iterator<Item = (Option<usize>, usize)>,
) -> BTreeMap<(Option<usize>, usize), u64> {
    let mut all: BTreeMap<(Option<usize>, usize), Vec<u64>> = BTreeMap::new();
    for (part, starts) in parts.zip(starts) {
        all.entry(part).or_default().push(starts.values().map(|start| start.carried).max().unwrap_or(0));
    }
    let usual = |(part, times): (_, Vec<u64>)| {
        let mut times: Vec<u64> = times.into_iter().skip(1).collect();
        times.sort_unstable();
        (times.len() >= EVEN).then(|| (part, times[(times.len() - 1) / 2]))
    };
    all.into_iter().filter_map(usual).collect()
}

/// The time of an operation without that until its hosts began it: hosts that send nothing to others may have been in the one before for long.
fn own_time(members: &[usize], (timed, ends, whole): (&[Timed], &Ends, &Shape)) -> Option<u64> {
    let mut parts: BTreeMap<Option<usize>, (i64, i64)> = BTreeMap::new();
    for one in members.iter().map(|&at| &timed[at]) {
        let part = ends.of.get(&one.connection).and_then(|&(sender, _)| whole.part_of(sender));
        let began = one.cts.or(one.first).unwrap_or(one.begin);
        let (from, to) = parts.entry(part).or_insert((began, one.end));
        (*from, *to) = ((*from).min(began), (*to).max(one.end));
    }
    // One part alone begins with the operation.
    let times = (parts.len() > 1).then_some(parts)?.into_values();
    times.map(|(from, to)| ns_between(from, to)).max()
}

impl Collectives {
    /// When data came that no element in the capture asked for: it began after that, or lost some.
    fn unasked(&self) -> Vec<i64> {
        // Of others, which were found by patterns, no element is known.
        let is_proved = |way: &&Way| match way.role {
            Role::Data(of) => self.connections.get(of as usize).is_some_and(|of| of.is_proved),
            _ => false,
        };
        let of_data = self.ways.iter().filter(is_proved);
        let chunks = of_data.flat_map(|way| &way.loose).filter_map(|&chunk| self.chunks.get(chunk as usize));
        chunks.map(|chunk| chunk.first.1).collect()
    }
}

/// Times of an operation in nanoseconds since it began, one after the other: the longest of them.
fn since(of: &Span, times: Vec<(i64, i64)>) -> Vec<u64> {
    /// So many of one operation.
    const MOST: usize = 256;
    let mut times = union(times.into_iter(), (of.start, of.end));
    times.order_by_key(|&(from, to)| std::cmp::Reverse(ns_between(from, to)));
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
        lasted: 0,
        longer: 0,
        longer_than_whole: None,
        is_begun: true,
        starts: None,
        usually_carried: 0,
        takes_turns: false,
    };
    let Blame { cause, rank, peer, lost, .. } = waits.hung()?;
    Some(Straggler { rank, peer, cause, operations: 1, lost_ns: lost, ..Straggler::default() })
}

/// Who sends to whom: that of all operations, if they are alike. One that hangs has not shown all, if there are others.
pub(super) fn topology(operations: &[CollectiveOperation]) -> Option<Topology> {
    let is_over = |one: &&CollectiveOperation| one.cause != Some(CollectiveCause::Hang);
    let mut over = operations.iter().filter(is_over).map(|one| one.topology);
    let first = over.next().or(operations.first().map(|one| one.topology))?;
    Some(if over.all(|one| one == first) { first } else { Topology::Mixed })
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
    rows.order_by_key(|row| std::cmp::Reverse(row.lost_ns));
    rows
}
