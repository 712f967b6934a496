//! The table of flows.

use std::{borrow::Cow, io};

use super::{
    Options, limit,
    page::{Page, Paint},
    some,
};
use crate::report::{
    Bounds, Flow, Sort, View,
    order::first,
    units::{bits_per_second, count, duration},
};

/// A column of the table of flows.
struct Column {
    head: &'static str,
    /// Where the terminal is too narrow, columns with higher ranks are left out first.
    rank: u8,
    /// Left out where it is empty for all flows.
    is_optional: bool,
    value: fn(&Flow) -> String,
}

const fn always(head: &'static str, rank: u8, value: fn(&Flow) -> String) -> Column {
    Column { head, rank, is_optional: false, value }
}

const fn optional(head: &'static str, rank: u8, value: fn(&Flow) -> String) -> Column {
    Column { head, rank, is_optional: true, value }
}

const COLUMNS: &[Column] = &[
    always("service", 8, |f| f.service.to_string()),
    always("packets", 0, |f| count(f.packets)),
    optional("rate", 7, |f| rate(f, f.wire_bytes)),
    optional("goodput", 5, |f| rate(f, f.goodput_bytes)),
    always("resent", 0, |f| some(f.requests.retransmits + f.responses.retransmits)),
    always("lost", 0, |f| both(f.requests.losses.on_network(), f.responses.losses.on_network())),
    always("late", 1, |f| some(f.requests.out_of_order + f.responses.out_of_order)),
    optional("NAK", 2, |f| some(f.naks.total())),
    optional("RNR", 2, |f| some(f.rnr_naks)),
    optional("timeouts", 3, |f| some(f.requests.triggers.timeout + f.responses.triggers.timeout)),
    optional("CNP", 4, |f| some(f.cnps)),
    optional("CE", 4, |f| some(f.ecn_ce)),
    optional("bad ICRC", 3, |f| some(f.icrc.bad)),
    optional("copies", 9, |f| some(f.requests.capture_duplicates + f.responses.capture_duplicates)),
    optional("ACK p50", 8, |f| f.latency_ns.ack_rtt.map_or(String::new(), |summary| duration(summary.p50))),
    optional("p99", 6, |f| f.latency_ns.ack_rtt.map_or(String::new(), |summary| duration(summary.p99))),
];

pub(super) fn rate(flow: &Flow, bytes: u64) -> String {
    let ns = flow.last_ns.saturating_sub(flow.first_ns);
    if ns <= 0 || bytes == 0 { String::new() } else { bits_per_second(bytes, ns as u64) }
}

/// "13", "4-5", "≥10" where the upper bound is not tight, nothing where none is proved, "?" where nothing can be.
pub(super) fn bounds(bounds: Option<Bounds>) -> String {
    match bounds {
        None => "?".to_owned(),
        Some([0, _]) => String::new(),
        Some([least, most]) if least == most => count(least),
        Some([least, most]) if most <= least.saturating_mul(2) => format!("{}-{}", count(least), count(most)),
        Some([least, _]) => format!("≥{}", count(least)),
    }
}

pub(in crate::report) fn both(a: Option<Bounds>, b: Option<Bounds>) -> String {
    match (a, b) {
        (Some([a, b]), Some([c, d])) => bounds(Some([a.saturating_add(c), b.saturating_add(d)])),
        (one, other) => bounds(one.or(other)),
    }
}

/// Flows that are written at most: the layout of a table needs all of its rows in memory, kilobytes each.
const MAX_FLOWS: usize = 1 << 14;

pub(super) fn flows(report: &View<'_>, options: &Options, page: &mut Page<'_>) -> io::Result<()> {
    let all = report.flows.len();
    if all == 0 {
        page.wrapped(Paint::Heading, "Flows  ", "none")?;
        return page.blank();
    }
    let shown = limit(all, options.top).0.min(MAX_FLOWS);
    let left = all - shown;
    let by = Sort::ALL.iter().find(|(_, sort)| *sort == options.sort).map_or("", |(name, _)| *name);
    let of = if left > 0 { format!("{shown} of {}", count(all as u64)) } else { count(all as u64) };
    page.wrapped(Paint::Heading, "Flows  ", &format!("{of} by {by}"))?;
    let order = first(report, options.sort, shown);
    let rows: Vec<(usize, Cow<'_, Flow>)> =
        order.into_iter().filter_map(|at| Some((at, report.flows.row(at)?))).collect();
    let mut columns: Vec<(&Column, Vec<String>)> = COLUMNS
        .iter()
        .map(|column| (column, rows.iter().map(|(_, flow)| (column.value)(flow)).collect::<Vec<_>>()))
        .filter(|(column, cells)| !column.is_optional || cells.iter().any(|cell| !cell.is_empty()))
        .collect();
    let mut first = vec![
        ("#", rows.iter().map(|(index, _)| index.to_string()).collect::<Vec<_>>()),
        ("from", rows.iter().map(|(_, flow)| flow.src.clone()).collect()),
        ("to", rows.iter().map(|(_, flow)| flow.dst.clone()).collect()),
        ("QP", rows.iter().map(|(_, flow)| queue_pair(flow)).collect()),
    ];
    let width = |head: &str, cells: &[String]| {
        cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0).max(head.chars().count()) + 2
    };
    let fixed: usize = first.iter().map(|(head, cells)| width(head, cells)).sum();
    while let Some(rank) = columns.iter().map(|(column, _)| column.rank).max().filter(|&rank| rank > 0)
        && fixed + columns.iter().map(|(column, cells)| width(column.head, cells)).sum::<usize>() > page.width
        && let Some(at) = columns.iter().rposition(|(column, _)| column.rank == rank)
    {
        columns.remove(at);
    }
    first.extend(columns.into_iter().map(|(column, cells)| (column.head, cells)));
    let head: Vec<&str> = first.iter().map(|(head, _)| *head).collect();
    let mut table = page.table(&head, &[1, 2]);
    for row in 0..rows.len() {
        table.row(first.iter().map(|(_, cells)| cells.get(row).map_or("", String::as_str)));
    }
    page.put_table(&table)?;
    page.blank()
}

pub(in crate::report) fn queue_pair(flow: &Flow) -> String {
    match flow.epoch {
        0 => format!("{:#x}", flow.dest_qp),
        epoch => format!("{:#x}/{epoch}", flow.dest_qp),
    }
}
