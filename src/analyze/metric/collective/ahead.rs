//! Operations whose elements come long before their data: a host that is ahead of its GPU posts those of the next operation as soon as the one before
//! has ended. Then no moment is silent on the wire's account of requests, and the time until the GPUs are ready looks like a wait.

use std::collections::{BTreeMap, BTreeSet};

use super::{cut::Timed, ends::Ends, operations::Span, topology::Shape};
use crate::{in_order::InOrder, report::Topology};

/// A shorter time without data divides nothing.
const LEAST_NS: i64 = 50_000;
/// Times without data that divide are so many times longer than those that do not.
const APART: i64 = 4;

/// Requests of a part in the order of their data.
struct Order {
    /// Those that have data, by when it begins.
    by_data: Vec<usize>,
    /// All of a connection, in their order.
    of: BTreeMap<usize, Vec<usize>>,
}

/// A moment when no connection carries data though all were asked for some: before a request, by its place in the order, and how long.
struct Moment {
    place: usize,
    silence: i64,
}

/// Divides operations where no connection carries data for long, all were asked for some, and each of them carried as many requests since the operation began: in
/// a wait for one host, others had gone on. In an all to all, where pairs of hosts may have more to say to each other than others, all carried some before it and all do behind
/// it: a wait for one host is followed by what that one has left. Until the first data nobody was late: the operation begins then.
pub(super) fn divide(timed: &mut [Timed], (ends, shape): (&Ends, &Shape), spans: Vec<Span>) -> Vec<Span> {
    let order = Order::of(timed);
    // Data that goes one way only stops with its source: that may be a wait.
    if !goes_around(&order, ends) || !is_ordered(timed, &order) {
        return spans;
    }
    let moments = order.moments(timed);
    let Some(least) = least(moments.iter().map(|moment| moment.silence).collect()) else { return spans };
    let long: Vec<Moment> = moments.into_iter().filter(|moment| moment.silence >= least).collect();
    let is_all_to_all = || {
        let of = order.of.keys().filter_map(|of| ends.of.get(of).copied());
        shape.among(of).topology == Topology::AllToAll
    };
    let whole = if is_all_to_all() { order.whole(timed, (ends, shape), &long) } else { BTreeSet::new() };
    let begins = order.begins(timed, &long, &whole);
    for (n, &at) in order.by_data.iter().enumerate() {
        timed[at].operation = begins.get(n).copied();
    }
    let count = begins.last().map_or(0, |last| last + 1);
    order.place_the_rest(timed, (count, spans.len()), !whole.is_empty());
    let mut all: BTreeMap<usize, Span> = BTreeMap::new();
    for one in timed.iter().filter(|one| one.shows_data) {
        let Some(operation) = one.operation else { continue };
        let known = all.entry(operation).or_insert(Span { start: one.begin, end: one.end });
        (known.start, known.end) = (known.start.min(one.begin), known.end.max(one.end));
    }
    for moment in &long {
        let first = order.by_data.get(moment.place).map(|&at| &timed[at]);
        let is_first = moment.place == 0 || begins[moment.place] != begins[moment.place - 1];
        if let Some(first) = first.filter(|_| is_first)
            && let (Some(at), Some(operation)) = (first.first, first.operation)
            && let Some(span) = all.get_mut(&operation)
        {
            span.start = at.min(span.end);
        }
    }
    let place: BTreeMap<usize, usize> = all.keys().enumerate().map(|(place, &of)| (of, place)).collect();
    for one in timed.iter_mut() {
        one.operation = one.operation.and_then(|of| place.get(&of).copied());
    }
    all.into_values().collect()
}

impl Order {
    fn of(timed: &[Timed]) -> Order {
        let mut of: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, one) in timed.iter().enumerate().filter(|(_, one)| one.shows_data) {
            of.entry(one.connection).or_default().push(at);
        }
        of.values_mut().for_each(|all| all.order_by_key(|&at| timed[at].request));
        let mut by_data: Vec<usize> =
            (0..timed.len()).filter(|&at| timed[at].shows_data && timed[at].first.is_some()).collect();
        by_data.order_by_key(|&at| (timed[at].first, at));
        Order { by_data, of }
    }

    /// Times without data, from when all were asked for some.
    fn moments(&self, timed: &[Timed]) -> Vec<Moment> {
        let mut carried: BTreeMap<usize, usize> = BTreeMap::new();
        let mut until = i64::MIN;
        let mut moments = Vec::new();
        for (place, &at) in self.by_data.iter().enumerate() {
            let first = timed[at].first.unwrap_or(timed[at].end);
            if until == i64::MIN || first.saturating_sub(until) >= LEAST_NS {
                let next = |(of, all): (&usize, &Vec<usize>)| {
                    all.get(carried.get(of).copied().unwrap_or(0)).map(|&at| timed[at].cts)
                };
                let asked = self.of.iter().filter_map(next).try_fold(until, |last, cts| Some(last.max(cts?)));
                let silence =
                    asked.filter(|&asked| asked > i64::MIN).map(|asked| first.saturating_sub(asked));
                let silence = silence.filter(|&silence| silence >= LEAST_NS);
                moments.extend(silence.map(|silence| Moment { place, silence }));
            }
            *carried.entry(timed[at].connection).or_insert(0) += 1;
            until = until.max(timed[at].end);
        }
        moments
    }

    /// The operation of each request that has data: a new one begins where the requests said so before, and at those moments at which all connections carried as
    /// many requests.
    fn begins(&self, timed: &[Timed], moments: &[Moment], whole: &BTreeSet<usize>) -> Vec<usize> {
        let mut moments = moments.iter().map(|moment| moment.place).peekable();
        let mut carried: BTreeMap<usize, usize> = BTreeMap::new();
        let mut since: BTreeMap<usize, usize> = BTreeMap::new();
        let (mut operation, mut before, mut begin) = (0usize, None, i64::MIN);
        let mut all = Vec::with_capacity(self.by_data.len());
        for (place, &at) in self.by_data.iter().enumerate() {
            let one = &timed[at];
            let is_moment = moments.next_if_eq(&place).is_some();
            let is_other = before.is_some_and(|before| before != one.operation);
            let is_new = place > 0
                && (is_other || is_moment && self.is_even(timed, (&carried, &since), begin))
                || whole.contains(&place);
            if is_new || place == 0 {
                operation += usize::from(is_new);
                begin = one.first.unwrap_or(one.begin);
                since.clear();
            }
            before = Some(one.operation);
            all.push(operation);
            *carried.entry(one.connection).or_insert(0) += 1;
            *since.entry(one.connection).or_insert(0) += 1;
        }
        all
    }

    /// The moments before and behind which all connections carry data. Behind the last one, those of more than one host: the capture may end there, or one
    /// hangs.
    fn whole(&self, timed: &[Timed], (ends, shape): (&Ends, &Shape), moments: &[Moment]) -> BTreeSet<usize> {
        let connections = |from: usize, to: usize| -> BTreeSet<usize> {
            self.by_data[from..to].iter().map(|&at| timed[at].connection).collect()
        };
        let are_of_one = |some: &BTreeSet<usize>| {
            let mut hosts = some
                .iter()
                .filter_map(|of| ends.of.get(of))
                .map(|&(a, b)| [shape.host_of(a), shape.host_of(b)]);
            let Some(first) = hosts.next() else { return true };
            let common = hosts.fold(first.to_vec(), |common, of| {
                common.into_iter().filter(|host| of.contains(host)).collect()
            });
            !common.is_empty()
        };
        let mut whole = BTreeSet::new();
        let mut since = 0;
        for (n, moment) in moments.iter().enumerate().filter(|(_, moment)| moment.place > 0) {
            let next = moments.get(n + 1).map_or(self.by_data.len(), |next| next.place);
            let behind = connections(moment.place, next);
            let is_last = n + 1 == moments.len();
            if connections(since, moment.place).len() == self.of.len()
                && (behind.len() == self.of.len() || is_last && !are_of_one(&behind))
            {
                whole.insert(moment.place);
                since = moment.place;
            }
        }
        whole
    }

    /// Whether all connections carried as many requests since the operation began, but those that were not asked for any by then.
    fn is_even(
        &self,
        timed: &[Timed],
        (carried, since): (&BTreeMap<usize, usize>, &BTreeMap<usize, usize>),
        begin: i64,
    ) -> bool {
        let mut counts = since.values();
        let Some(first) = counts.next() else { return false };
        let is_left = |(of, all): (&usize, &Vec<usize>)| {
            let next = all.get(carried.get(of).copied().unwrap_or(0));
            !since.contains_key(of) && next.is_some_and(|&at| timed[at].cts.is_some_and(|cts| cts <= begin))
        };
        counts.all(|count| count == first) && !self.of.iter().any(is_left)
    }

    /// Requests without data: of the last operation, or of one that had not begun when the capture ended.
    /// `is_whole`: all connections carry data in each, however much.
    fn place_the_rest(&self, timed: &mut [Timed], (count, before): (usize, usize), is_whole: bool) {
        let last = count.saturating_sub(1);
        let mut since: BTreeMap<usize, usize> = BTreeMap::new();
        let mut carried: BTreeMap<usize, usize> = BTreeMap::new();
        let mut begin = i64::MAX;
        for &at in &self.by_data {
            *carried.entry(timed[at].connection).or_insert(0) += 1;
            if timed[at].operation == Some(last) {
                *since.entry(timed[at].connection).or_insert(0) += 1;
                begin = begin.min(timed[at].first.unwrap_or(begin));
            }
        }
        let is_even =
            || self.is_even(timed, (&carried, &since), begin) || is_whole && since.len() == self.of.len();
        let is_over = count > before && is_even();
        let ended = self.by_data.iter().map(|&at| timed[at].end).max();
        for &at in self.of.values().flatten() {
            if timed[at].first.is_none() {
                let is_behind = is_over || Some(timed[at].begin) > ended;
                timed[at].operation = Some(if is_behind { count } else { last });
            }
        }
    }
}

/// Whether every endpoint sends and receives.
fn goes_around(order: &Order, ends: &Ends) -> bool {
    let of = || order.of.keys().filter_map(|of| ends.of.get(of));
    let senders: BTreeSet<usize> = of().map(|&(sender, _)| sender).collect();
    let receivers: BTreeSet<usize> = of().map(|&(_, receiver)| receiver).collect();
    senders == receivers && senders.len() > 1
}

/// Whether operations do not overlap, by their data.
fn is_ordered(timed: &[Timed], order: &Order) -> bool {
    order.by_data.is_sorted_by_key(|&at| timed[at].operation)
}

/// The shortest of these times that divides: those above the widest step.
fn least(mut all: Vec<i64>) -> Option<i64> {
    all.sort_unstable();
    let steps = all.windows(2).map(|pair| (pair[0], pair[1]));
    match steps.max_by_key(|(below, above)| above / below.max(&1)) {
        Some((below, above)) if above / below.max(1) >= APART => Some(above),
        _ => all.first().copied(),
    }
}
