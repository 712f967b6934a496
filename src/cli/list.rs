//! A list with a title, as commands print several of.

use std::io::{self, Write};

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use rdmawire::report::{clean, units::count};

/// Writes the first `top` rows, all if that is 0, and how many are left out. `right`: the heads of columns that are aligned to the right.
pub(super) fn write(
    out: &mut impl Write,
    title: &str,
    head: &[&str],
    right: &[&str],
    rows: impl ExactSizeIterator<Item = Vec<String>>,
    top: usize,
) -> io::Result<()> {
    let most = if top == 0 { usize::MAX } else { top };
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_header(head);
    let left_out = rows.len().saturating_sub(most);
    for row in rows.take(most) {
        // Names in packets may steer a terminal.
        table.add_row(row.iter().map(|cell| clean(cell)));
    }
    for (column, _) in table.column_iter_mut().zip(head).filter(|(_, name)| right.contains(name)) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(out, "\n{title}\n{}", table.trim_fmt())?;
    if left_out > 0 {
        writeln!(out, "  and {} more (--top 0 shows all)", count(left_out as u64))?;
    }
    Ok(())
}
