//! Tables of a page by their columns.

use std::borrow::{Borrow, Cow};

use super::{Cell, Head, Table};
use crate::report::{Bounds, Summary, clean, figure::bounds};

/// How many rows a table has at most, and when the capture begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    pub(super) most: usize,
    pub(super) start_ns: i64,
}

/// A column of a table with rows of `T`.
pub(super) struct Column<T> {
    head: Head,
    /// Left out where all cells are empty.
    is_optional: bool,
    /// A cell of a row, with the number that the table hands to all rows.
    value: fn(&T, i64) -> Cell,
}

impl<T> Column<T> {
    /// Its label, and what it means.
    pub(super) fn explained(&self) -> [Cow<'static, str>; 2] {
        [self.head.label.clone(), self.head.about.clone()]
    }
}

pub(super) const fn column<T>(
    label: &'static str,
    unit: &'static str,
    about: &'static str,
    value: fn(&T, i64) -> Cell,
) -> Column<T> {
    Column {
        head: Head { label: Cow::Borrowed(label), unit, about: Cow::Borrowed(about) },
        is_optional: false,
        value,
    }
}

pub(super) const fn optional<T>(
    label: &'static str,
    unit: &'static str,
    about: &'static str,
    value: fn(&T, i64) -> Cell,
) -> Column<T> {
    let mut column = column(label, unit, about, value);
    column.is_optional = true;
    column
}

pub(super) fn list<T, R: Borrow<T>>(
    columns: &[Column<T>],
    rows: impl Iterator<Item = R>,
    all: usize,
    Limit { most, start_ns }: Limit,
) -> Table {
    let cells = |row: R| columns.iter().map(|column| (column.value)(row.borrow(), start_ns)).collect();
    let rows: Vec<_> = rows.take(most).map(cells).collect();
    let left_out = all.saturating_sub(rows.len());
    let heads: Vec<_> = columns.iter().map(|column| (column.head.clone(), column.is_optional)).collect();
    finish(&heads, rows, left_out)
}

/// Leaves out columns that are empty, and may be.
pub(super) fn finish(heads: &[(Head, bool)], mut rows: Vec<Vec<Cell>>, left_out: usize) -> Table {
    let is_empty = |at: usize| rows.iter().all(|row| matches!(row.get(at), None | Some(Cell::None)));
    let keep: Vec<bool> =
        heads.iter().enumerate().map(|(at, (_, is_optional))| !is_optional || !is_empty(at)).collect();
    for row in &mut rows {
        let mut kept = keep.iter();
        row.retain(|_| kept.next() == Some(&true));
    }
    let kept = heads.iter().zip(keep).filter(|(_, keep)| *keep).map(|((head, _), _)| head.clone());
    Table { columns: kept.collect(), rows, left_out: left_out as u64, in_trouble: None }
}

pub(super) fn text(text: impl AsRef<str>) -> Cell {
    Cell::Text(clean(text.as_ref()).into_owned().into())
}

/// A count; 0 is empty, so that other counts are easy to see.
pub(super) fn some(n: u64) -> Cell {
    if n == 0 { Cell::None } else { Cell::Number(n) }
}

pub(super) fn number(n: Option<u64>) -> Cell {
    n.map_or(Cell::None, Cell::Number)
}

pub(super) fn ranked(known: Option<Bounds>) -> Cell {
    match bounds(known) {
        none if none.is_empty() => Cell::None,
        shown => Cell::Ranked(known.map_or(0, |[least, _]| least), shown),
    }
}

/// Bounds that begin with more than nothing: what may have been lost and did not show is no trouble.
pub(super) fn proved(known: Option<Bounds>) -> Cell {
    known.filter(|&[least, _]| least > 0).map_or(Cell::None, |bounds| ranked(Some(bounds)))
}

pub(super) fn of_summary(summary: Option<Summary>, value: fn(Summary) -> u64) -> Cell {
    number(summary.map(value))
}
