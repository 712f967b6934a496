//! The table of connections that were asked for.

use std::io::{self, Write};

use super::{
    Options, limit,
    page::{Page, Paint},
    some,
};
use crate::report::{
    Closing, Head, Setup, SetupEnd, clean,
    units::{duration, several},
};

/// Set-ups of a report as text: a row for each, and below what to do about those in trouble.
///
/// # Errors
/// What writing fails with.
pub fn write_setups(head: &Head, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let page = &mut Page::new(out, options);
    page.heading(&clean(head.capture.files.first().map_or("no file", String::as_str)))?;
    let Some(sentence) = Setup::sentence_of(&head.setups, head.setup_count) else {
        return match Setup::cut_words(head) {
            Some(words) => page.wrapped(Paint::Warning, "  ", &words),
            None => page.line("  no message of the connection manager"),
        };
    };
    page.wrapped(Paint::Plain, "  ", &sentence)?;
    if let Some(words) = Setup::cut_words(head) {
        page.wrapped(Paint::Warning, "  ", &words)?;
    }
    page.blank()?;
    let (shown, left) = limit(head.setups.len(), options.top);
    table(&head.setups[..shown], page)?;
    let left = left as u64 + head.setup_count.saturating_sub(head.setups.len() as u64);
    if left > 0 {
        page.line(&format!("  and {} (--json has those of the report)", several(left, "more set-up")))?;
    }
    for setup in head.setups.iter().take(shown).filter(|setup| setup.is_in_trouble()) {
        page.blank()?;
        let frames: Vec<String> = setup.frames.iter().map(u64::to_string).collect();
        let said =
            setup.refusal_said().map_or_else(String::new, |said| format!("; its private data: {said}"));
        let text = format!("{}{said}; frames {}", setup.sentence(), frames.join(", "));
        page.wrapped(Paint::Warning, &format!("  #{} ", setup.id), &text)?;
        if let Some(next) = &setup.next {
            page.wrapped(Paint::Plain, "    ", next)?;
        }
    }
    page.blank()
}

/// The columns of the table of set-ups: their heads and meanings.
pub fn setup_columns() -> impl Iterator<Item = (&'static str, &'static str)> {
    COLUMNS.iter().map(|column| (column.head, column.about))
}

/// A column of the table.
struct Column {
    head: &'static str,
    about: &'static str,
    /// Where the terminal is too narrow, columns with higher ranks are left out first.
    rank: u8,
    is_left: bool,
    cell: fn(&Setup) -> String,
}

const fn words(head: &'static str, about: &'static str, rank: u8, cell: fn(&Setup) -> String) -> Column {
    Column { head, about, rank, is_left: true, cell }
}

const fn number(head: &'static str, about: &'static str, rank: u8, cell: fn(&Setup) -> String) -> Column {
    Column { head, about, rank, is_left: false, cell }
}

const COLUMNS: &[Column] = &[
    number("#", "Number of the set-up.", 0, |s| s.id.to_string()),
    words("from", "Who asked: the active side.", 0, |s| s.active.addr.clone()),
    number("QP", "Queue pair of that side.", 1, |s| queue_pair(&s.active)),
    words("to", "Who was asked: the passive side.", 0, |s| s.passive.addr.clone()),
    number("QP", "Queue pair of that side.", 1, |s| queue_pair(&s.passive)),
    words(
        "service",
        "Port or service ID; a name is that of the port by convention.",
        0,
        Setup::service_words,
    ),
    words("outcome", "What became of it, and why.", 0, |s| match &s.reason {
        Some(reason) => format!("{}: {reason}", s.outcome.words()),
        None => s.outcome.words().to_owned(),
    }),
    number("tries", "Requests (REQ) that were sent.", 2, |s| some(s.requests)),
    number("answer", "From the first request to the first answer.", 5, |s| time(s.answer_ns)),
    number("set up", "From the first request to the RTU.", 0, |s| time(s.setup_ns)),
    number("MTU", "Path MTU in bytes.", 4, |s| {
        s.path_mtu_bytes.map_or_else(String::new, |mtu| mtu.to_string())
    }),
    number("timeout", "How long the queue pairs wait for an acknowledgement.", 4, |s| {
        if s.ack_timeout_ns == Some(0) { "none".into() } else { time(s.ack_timeout_ns) }
    }),
    number("retry", "How often they retransmit after a timeout.", 6, |s| both(s.retry_count, None)),
    number(
        "RNR",
        "How often they retransmit after an RNR NAK; 7 is without end. Of both sides, where they differ.",
        6,
        |s| both(s.active.rnr_retry_count, s.passive.rnr_retry_count),
    ),
    number("READs", "READs and atomics outstanding at once, as both sides offer them.", 7, |s| {
        both(s.active.initiator_depth, s.passive.responder_resources)
    }),
    words("closed by", "Who closed it, and how.", 3, |s| match (s.closed_by, s.closing) {
        (Some(by), None | Some(Closing::Answered)) => by.words().to_owned(),
        (Some(by), Some(how)) => format!("{}, {}", by.words(), how.words()),
        _ => String::new(),
    }),
];

fn queue_pair(end: &SetupEnd) -> String {
    end.qp.map_or_else(String::new, |qp| format!("{qp:#x}"))
}

fn time(ns: Option<u64>) -> String {
    ns.map_or_else(String::new, duration)
}

/// What both sides say, where they differ.
fn both(active: Option<u8>, passive: Option<u8>) -> String {
    match (active, passive) {
        (Some(a), Some(b)) if a != b => format!("{a}/{b}"),
        (Some(n), _) | (None, Some(n)) => n.to_string(),
        (None, None) => String::new(),
    }
}

fn table(setups: &[Setup], page: &mut Page<'_>) -> io::Result<()> {
    let mut columns: Vec<(&Column, Vec<String>)> = COLUMNS
        .iter()
        .map(|column| (column, setups.iter().map(column.cell).collect::<Vec<_>>()))
        .filter(|(column, cells)| column.rank == 0 || cells.iter().any(|cell| !cell.is_empty()))
        .collect();
    let width = |(column, cells): &(&Column, Vec<String>)| {
        let head = column.head.chars().count();
        cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0).max(head) + 2
    };
    while columns.iter().map(width).sum::<usize>() > page.width
        && let Some(rank) = columns.iter().map(|(column, _)| column.rank).max().filter(|&rank| rank > 0)
        && let Some(at) = columns.iter().rposition(|(column, _)| column.rank == rank)
    {
        columns.remove(at);
    }
    let head: Vec<&str> = columns.iter().map(|(column, _)| column.head).collect();
    let left: Vec<usize> = (0..columns.len()).filter(|&at| columns[at].0.is_left).collect();
    let mut table = page.table(&head, &left);
    for row in 0..setups.len() {
        table.row(columns.iter().map(|(_, cells)| cells[row].as_str()));
    }
    page.put_table(table)
}
