//! The table of flows.

use std::{borrow::Cow, io};

use super::{
    Options, limit,
    page::{Page, Paint},
};
use crate::report::{
    Flow, Sort, View, figure,
    order::first,
    units::{bits_per_second, count},
};

/// A column of the table of flows.
struct Column {
    figure: figure::Column,
    /// Where the terminal is too narrow, columns with higher ranks are left out first.
    rank: u8,
    /// Left out where it is empty for all flows.
    is_optional: bool,
}

const fn always(figure: &str, rank: u8) -> Column {
    Column { figure: figure::Column::named(figure), rank, is_optional: false }
}

const fn optional(figure: &str, rank: u8) -> Column {
    Column { is_optional: true, ..always(figure, rank) }
}

const FIRST: [figure::Column; 3] =
    [figure::Column::named("src"), figure::Column::named("dst"), figure::Column::named("queue_pair")];

const COLUMNS: &[Column] = &[
    always("service", 8),
    always("packets", 0),
    optional("rate", 7),
    optional("goodput", 5),
    always("retransmits", 0),
    always("loss_episodes", 0),
    always("lost", 1),
    always("out_of_order", 1),
    optional("naks", 2),
    optional("rnr_naks", 2),
    optional("timeouts", 3),
    optional("cnps", 4),
    optional("ce_packets", 4),
    optional("icrc.bad", 3),
    optional("vcrc.bad", 3),
    optional("capture_duplicates", 9),
    optional("ack_rtt.p50", 8),
    optional("ack_rtt.p99", 6),
];

pub(super) fn rate(flow: &Flow, bytes: u64) -> String {
    let ns = flow.last_ns.saturating_sub(flow.first_ns);
    if ns <= 0 || bytes == 0 { String::new() } else { bits_per_second(bytes, ns as u64) }
}

/// Whether packets may have been lost at several places: then a finding has fewer of them.
fn is_lost_at_several_places(flow: &Flow) -> bool {
    [&flow.requests, &flow.responses].into_iter().any(|stream| {
        let losses = &stream.losses;
        let all = [losses.upstream, losses.downstream, losses.corrupt, losses.trimmed, losses.unknown];
        stream.loss_episodes.total() > 0
            && all.into_iter().flatten().filter(|&[_, most]| most > 0).count() > 1
    })
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
        .map(|column| (column, rows.iter().map(|(_, flow)| column.figure.text(flow)).collect::<Vec<_>>()))
        .filter(|(column, cells)| !column.is_optional || cells.iter().any(|cell| !cell.is_empty()))
        .collect();
    let cells_of = |column: figure::Column| rows.iter().map(|(_, flow)| column.text(flow)).collect();
    let mut first =
        vec![("#".to_owned(), rows.iter().map(|(index, _)| index.to_string()).collect::<Vec<_>>())];
    first.extend(FIRST.map(|column| (column.label(), cells_of(column))));
    // Of several virtual networks, flows with the same addresses are not the same.
    if rows.windows(2).any(|pair| pair[0].1.vni != pair[1].1.vni) {
        let vni = figure::Column::named("vni");
        first.push((vni.label(), cells_of(vni)));
    }
    let width = |head: &str, cells: &[String]| {
        cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0).max(head.chars().count()) + 2
    };
    let fixed: usize = first.iter().map(|(head, cells)| width(head, cells)).sum();
    while let Some(rank) = columns.iter().map(|(column, _)| column.rank).max().filter(|&rank| rank > 0)
        && fixed + columns.iter().map(|(column, cells)| width(&column.figure.label(), cells)).sum::<usize>()
            > page.width
        && let Some(at) = columns.iter().rposition(|(column, _)| column.rank == rank)
    {
        columns.remove(at);
    }
    let label = |column: &Column| report.head.label(&column.figure.label()).into_owned();
    first.extend(columns.into_iter().map(|(column, cells)| (label(column), cells)));
    let head: Vec<&str> = first.iter().map(|(head, _)| head.as_str()).collect();
    let mut table = page.table(&head, &[1, 2]);
    for row in 0..rows.len() {
        table.row(first.iter().map(|(_, cells)| cells.get(row).map_or("", String::as_str)));
    }
    page.put_table(table)?;
    let shows_lost = first.iter().any(|(head, _)| head == "lost packets");
    if shows_lost && rows.iter().any(|(_, flow)| is_lost_at_several_places(flow)) {
        page.wrapped(
            Paint::Plain,
            "  ",
            "lost packets: at all places together; a finding counts those of one",
        )?;
    }
    page.blank()
}
