//! The picture of collectives: what each rank waited for, over time.

use crate::in_order::InOrder;
use std::collections::{BTreeMap, BTreeSet};

use crate::report::{
    CollectiveOperation, CollectiveRequest, Collectives, View, WaitCause,
    chart::{Chart, Mark, Series, Style},
    clean,
    units::several,
};

/// Rows of the picture.
const MOST_RANKS: usize = 64;
/// Marks of the picture, about: beyond that, times that are near each other are one.
const MOST_MARKS: usize = 12_000;
/// The series of who was waited for.
pub const STRAGGLER: &str = "straggler";

/// What each rank waited for, over time, by cause; and who was waited for. `None` where there is no such traffic.
pub fn waiting_chart(report: &View<'_>) -> Option<Chart> {
    let found = report.head.collectives.as_ref()?;
    let start_ns = report.head.capture.first_ns.unwrap_or(0);
    let (ranks, left_out) = shown(found);
    // The first one is on top.
    let row_of: BTreeMap<&str, i64> = ranks.iter().rev().copied().zip(0..).collect();
    let mut of_row: BTreeMap<i64, Vec<(WaitCause, Mark)>> = BTreeMap::new();
    for wait in &found.waits {
        let Some(&row) = row_of.get(wait.rank.as_str()) else { continue };
        let from = wait.start_ns.saturating_sub(start_ns);
        let to = from.saturating_add_unsigned(wait.lasted_ns);
        let mark = (from, to, row, row, wait.requests, wait.frame.unwrap_or(0));
        of_row.entry(row).or_default().push((wait.cause, mark));
    }
    let is_thinned = thin(&mut of_row);
    let mut by_cause: BTreeMap<WaitCause, Vec<Mark>> = BTreeMap::new();
    for (cause, mark) in of_row.into_values().flatten() {
        by_cause.entry(cause).or_default().push(mark);
    }
    let mut series: Vec<Series> =
        by_cause.into_iter().map(|(cause, marks)| one(cause.words(), cause.name(), marks)).collect();
    let requests: BTreeMap<(usize, u64), &CollectiveRequest> =
        found.requests.iter().map(|one| ((one.connection, one.index), one)).collect();
    let waited_for = found.operations.iter().flatten().filter_map(|of| {
        let row = *row_of.get(of.straggler.as_deref()?)?;
        let request = requests.get(&(of.connection?, of.request?))?;
        let time = |ns: i64| ns.saturating_sub(start_ns);
        let frame = request.first_frame.unwrap_or(0);
        Some(
            waited_for(of, request)
                .into_iter()
                .map(move |(from, to)| (time(from), time(to), row, row, 1, frame)),
        )
    });
    let waited_for: Vec<Mark> = waited_for.flatten().take(MOST_MARKS).collect();
    if series.is_empty() {
        return None;
    }
    if !waited_for.is_empty() {
        series.push(one("waited for", STRAGGLER, waited_for));
    }
    let numbers = numbers(found);
    let name = |rank: &&str| match numbers.get(rank) {
        Some(number) => format!("rank {number}, {}", clean(rank)),
        None => clean(rank).into_owned(),
    };
    let mut about = "A row for each rank, and what it waited for; where nothing is, it waited for nothing that packets show. A rank that the \
                     others waited for is marked."
        .to_owned();
    if left_out > 0 {
        about += &format!(" {} that waited less are not drawn.", several(left_out as u64, "rank"));
    }
    if is_thinned {
        about += " Of waits that are near each other, the longest is drawn.";
    }
    Some(Chart {
        title: "Who waited for what",
        about,
        style: Style::Marks,
        unit: "row",
        rows: ranks.iter().rev().map(name).collect(),
        series,
        ..Chart::default()
    })
}

fn one(name: &str, role: &'static str, marks: Vec<Mark>) -> Series {
    Series { name: name.into(), role, marks, ..Series::default() }
}

/// The ranks that are drawn, in their order: those that were waited for, then those that waited longest. And how many are left out.
fn shown(found: &Collectives) -> (Vec<&str>, usize) {
    let mut waited: BTreeMap<&str, u64> = BTreeMap::new();
    for wait in &found.waits {
        let sum = waited.entry(&wait.rank).or_default();
        *sum = sum.saturating_add(wait.lasted_ns);
    }
    let stragglers = found.stragglers.iter().map(|one| one.rank.as_str());
    let mut longest: Vec<&str> = found.ranks.iter().map(String::as_str).collect();
    longest.order_by_key(|rank| std::cmp::Reverse(waited.get(rank).copied().unwrap_or(0)));
    let mut chosen: BTreeSet<&str> = BTreeSet::new();
    for rank in stragglers.chain(longest) {
        if chosen.len() < MOST_RANKS {
            chosen.insert(rank);
        }
    }
    let ranks: Vec<&str> =
        found.ranks.iter().map(String::as_str).filter(|rank| chosen.contains(rank)).collect();
    let left_out = found.ranks.len() - ranks.len();
    (ranks, left_out)
}

/// Ranks' numbers, where a log of NCCL says them.
fn numbers(found: &Collectives) -> BTreeMap<&str, u32> {
    let ends = found
        .connections
        .iter()
        .flat_map(|of| [(of.sender.as_str(), of.sender_rank), (of.receiver.as_str(), of.receiver_rank)]);
    ends.filter_map(|(address, number)| Some((address, number?))).collect()
}

/// When an operation waited for its straggler. Of a path nobody knows when it cost how much: as long as it cost, up to the end of the request
/// that shows it.
fn waited_for(of: &CollectiveOperation, request: &CollectiveRequest) -> Vec<(i64, i64)> {
    let at = |ns: u64| of.start_ns.saturating_add_unsigned(ns);
    let known: Vec<(i64, i64)> =
        of.waited_at_ns.chunks_exact(2).map(|span| (at(span[0]), at(span[1]))).collect();
    if !known.is_empty() {
        return known;
    }
    let lost = of.lost_ns.unwrap_or(0).min(of.lasted_ns);
    let end = request.begin_ns.saturating_add_unsigned(request.time.lasted_ns);
    let end = end.clamp(at(lost), at(of.lasted_ns));
    vec![(end.saturating_sub_unsigned(lost), end)]
}

/// Makes marks fewer where there are too many: time is divided into parts, and of each part of a row the longest wait is kept, over all of it.
fn thin(of_row: &mut BTreeMap<i64, Vec<(WaitCause, Mark)>>) -> bool {
    let count: usize = of_row.values().map(Vec::len).sum();
    let all = || of_row.values().flatten().map(|(_, mark)| mark);
    let ends = all().map(|mark| mark.0).min().zip(all().map(|mark| mark.1).max());
    let Some((first, last)) = ends.filter(|_| count > MOST_MARKS) else { return false };
    let parts = (MOST_MARKS / of_row.len()).max(1) as i64;
    let width = (last.saturating_sub(first) / parts + 1).max(1);
    let start_of = |part: i64| first.saturating_add(part.saturating_mul(width));
    for marks in of_row.values_mut() {
        let mut longest: BTreeMap<i64, BTreeMap<WaitCause, (i64, Mark)>> = BTreeMap::new();
        for &(cause, mark) in marks.iter() {
            let of = |ns: i64| ns.saturating_sub(first) / width;
            for part in of(mark.0)..=of(mark.1.saturating_sub(1).max(mark.0)) {
                let within = mark.1.min(start_of(part + 1)).saturating_sub(mark.0.max(start_of(part)));
                let known = longest.entry(part).or_default().entry(cause).or_insert((0, mark));
                known.0 = known.0.saturating_add(within);
            }
        }
        marks.clear();
        for (part, causes) in longest {
            let longest = causes.into_iter().max_by_key(|(_, (ns, _))| *ns);
            let Some((cause, (_, mark))) = longest else { continue };
            let (from, to) = (start_of(part), start_of(part + 1).min(last));
            match marks.last_mut() {
                Some((before, known)) if *before == cause && known.1 == from => known.1 = to,
                _ => marks.push((cause, (from, to, mark.2, mark.3, mark.4, mark.5))),
            }
        }
    }
    true
}
