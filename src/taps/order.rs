//! Which of two taps a packet passes first, and the clocks of the taps: each is evidence for the other.

use std::collections::HashMap;

use super::{
    clock::{Line, Point},
    tally::Way,
};
use crate::report::OrderBy;

/// For each way the tap that is first, and how that is known; and the line of the clocks' offset.
pub(super) fn of(ways: &[Way], ticks: [u64; 2]) -> (Vec<(usize, OrderBy)>, Option<Line>) {
    let place: HashMap<_, _> = ways.iter().enumerate().map(|(at, way)| (way.addresses, at)).collect();
    let opposite = |way: &Way| place.get(&[way.addresses[1], way.addresses[0]]).copied();
    let mut order: Vec<Option<(usize, OrderBy)>> = ways.iter().map(by_ttl).collect();
    for (at, way) in ways.iter().enumerate() {
        if order[at].is_some() {
            continue;
        }
        let Some(other) = opposite(way) else { continue };
        order[at] = match by_ttl(&ways[other]) {
            Some((first, by)) => Some((1 - first, by)),
            None => by_times(way, &ways[other], ticks),
        };
    }
    let line = fit(ways, &order, ticks);
    let decided = ways
        .iter()
        .zip(&order)
        .map(|(way, order)| order.or_else(|| by_offset(way, line?)).unwrap_or((0, OrderBy::Given)));
    let decided: Vec<_> = decided.collect();
    // Those that were decided last may know the clocks better.
    let all: Vec<_> = decided.iter().copied().map(Some).collect();
    let line = fit(ways, &all, ticks);
    (decided, line)
}

/// A packet has passed more routers at the later tap.
fn by_ttl(way: &Way) -> Option<(usize, OrderBy)> {
    let [first_lower, second_lower] = way.ttl_lower;
    let first = usize::from(first_lower > second_lower);
    (first_lower != second_lower).then_some((first, OrderBy::Ttl))
}

/// Two opposite ways: the offset of the clocks is below the differences of the one that passes the first tap first, and above those
/// of the other.
fn by_times(way: &Way, opposite: &Way, ticks: [u64; 2]) -> Option<(usize, OrderBy)> {
    let margin = |first: &Way, second: &Way| {
        let [above, below] =
            [bound(first.envelope.lows(), 0, ticks), bound(second.envelope.highs(), 1, ticks)];
        let is_two_way = !above.is_empty() && !below.is_empty();
        is_two_way.then(|| Line::between(&above, &below).map(|line| line.margin)).flatten()
    };
    let (forward, backward) = (margin(way, opposite)?, margin(opposite, way)?);
    (forward != backward).then_some((usize::from(forward < backward), OrderBy::Delay))
}

/// The offset is known from other ways.
fn by_offset(way: &Way, line: Line) -> Option<(usize, OrderBy)> {
    let error = line.error?;
    let delays = || way.samples.kept.iter().map(|&point| line.without_offset(point));
    let [shortest, longest] =
        [delays().fold(f64::INFINITY, f64::min), delays().fold(f64::NEG_INFINITY, f64::max)];
    match () {
        _ if shortest > error => Some((0, OrderBy::Delay)),
        _ if longest < -error => Some((1, OrderBy::Delay)),
        _ => None,
    }
}

fn fit(ways: &[Way], order: &[Option<(usize, OrderBy)>], ticks: [u64; 2]) -> Option<Line> {
    let of = |side: usize| {
        ways.iter().zip(order).filter(move |(_, order)| order.is_some_and(|(first, _)| first == side))
    };
    let above: Vec<Point> = of(0).flat_map(|(way, _)| bound(way.envelope.lows(), 0, ticks)).collect();
    let below: Vec<Point> = of(1).flat_map(|(way, _)| bound(way.envelope.highs(), 1, ticks)).collect();
    Line::between(&above, &below)
}

/// What the differences say of the offset, whatever times the clocks' ticks cut off.
fn bound(points: impl Iterator<Item = Point>, first: usize, ticks: [u64; 2]) -> Vec<Point> {
    let cut = match first {
        0 => ticks[1] as i64 - 1,
        _ => 1 - ticks[0] as i64,
    };
    points.map(|(time, difference)| (time, difference.saturating_add(cut))).collect()
}
