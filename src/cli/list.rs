//! A list with a title, as commands print several of.

use std::io::{self, Write};

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::terminal;
use rdmawire::report::{clean, text, units::count};

/// A column of such a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) head: &'static str,
    /// Whether it is aligned to the right.
    is_number: bool,
    /// What it means, for `explain`.
    pub(super) about: &'static str,
}

/// A column of words.
pub(super) const fn words(head: &'static str, about: &'static str) -> Column {
    Column { head, is_number: false, about }
}

/// A column of numbers.
pub(super) const fn number(head: &'static str, about: &'static str) -> Column {
    Column { head, is_number: true, about }
}

/// Writes the first `top` rows, all if that is 0, and how many are left out.
pub(super) fn write(
    out: &mut impl Write,
    title: &str,
    columns: &[Column],
    rows: impl ExactSizeIterator<Item = Vec<String>>,
    top: usize,
) -> io::Result<()> {
    let most = if top == 0 { usize::MAX } else { top };
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(terminal::width().try_into().unwrap_or(u16::MAX));
    table.set_header(columns.iter().map(|column| column.head));
    let left_out = rows.len().saturating_sub(most);
    for row in rows.take(most) {
        // Names in packets may steer a terminal.
        table.add_row(row.iter().map(|cell| text::held_together(&clean(cell))));
    }
    for (column, _) in table.column_iter_mut().zip(columns).filter(|(_, column)| column.is_number) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(out, "\n{title}\n{}", text::with_spaces(&table.trim_fmt()))?;
    if left_out > 0 {
        writeln!(out, "  and {} more (--top 0 shows all)", count(left_out as u64))?;
    }
    Ok(())
}
