//! Rows as lines of text: CSV and NDJSON.

use std::fmt::Write as _;

use super::{CAPTURE, COLUMNS, Cell, Form, Name, Part, Row, TOLD_COLUMNS};
use crate::report::{clean, json};

/// Lines, each without its end: what the analysis tells comes behind.
#[derive(Default)]
pub(super) struct Lines {
    text: String,
    /// Where each line ends.
    ends: Vec<usize>,
    is_json: bool,
}

impl Lines {
    pub(super) fn csv() -> Lines {
        Lines::default()
    }

    pub(super) fn ndjson() -> Lines {
        Lines { is_json: true, ..Lines::default() }
    }

    /// What comes before all rows.
    pub(super) fn head(&self) -> String {
        if self.is_json {
            return String::new();
        }
        let names: Vec<_> = super::Column::all().map(|column| column.name).collect();
        names.join(",") + "\n"
    }

    /// The text of rows that are complete.
    pub(super) fn complete(&self, part: &Part<Lines>) -> std::io::Result<String> {
        let Part { capture, headers, told } = part;
        let mut start = Vec::new();
        if self.is_json {
            start.extend_from_slice(format!("{{\"{}\":", CAPTURE.name).as_bytes());
            json::write(&mut start, &&**capture)?;
        } else {
            // Names of files may contain anything.
            let mut field = csv::Writer::from_writer(&mut start);
            field.write_record([&*clean(capture)])?;
            field.flush()?;
            drop(field);
            start.pop();
        }
        let start = String::from_utf8_lossy(&start);
        let mut text = String::with_capacity(headers.text.len() + told.len() * (start.len() + 32));
        let mut from = 0;
        for (&end, told) in headers.ends.iter().zip(told) {
            text.push_str(&start);
            text.push_str(headers.text.get(from..end).unwrap_or_default());
            from = end;
            for column in &TOLD_COLUMNS {
                self.cell(&mut text, column.name, column.told(told));
            }
            text.push_str(if self.is_json { "}\n" } else { "\n" });
        }
        Ok(text)
    }

    fn cell(&self, to: &mut String, name: &str, cell: Cell) {
        if self.is_json { write_json(to, name, cell) } else { write_csv(to, cell) }
            .unwrap_or_else(|_| unreachable!("a string takes everything"));
    }
}

impl Form for Lines {
    type Headers = Lines;

    fn push(&mut self, row: &Row<'_>) {
        let mut text = std::mem::take(&mut self.text);
        for column in COLUMNS {
            self.cell(&mut text, column.name, column.value(row));
        }
        self.text = text;
        self.ends.push(self.text.len());
    }

    fn cut(&mut self) -> Lines {
        let fresh =
            Lines { text: String::with_capacity(self.text.len()), ends: Vec::new(), is_json: self.is_json };
        std::mem::replace(self, fresh)
    }
}

/// Only a meaning of several words may have a comma; nothing has quotation marks.
fn write_csv(to: &mut String, cell: Cell) -> std::fmt::Result {
    match cell {
        Cell::Name(Name::Syndrome(_)) => {
            to.push_str(",\"");
            cell.write(to)?;
            to.write_char('"')
        }
        plain => {
            to.push(',');
            plain.write(to)
        }
    }
}

/// Words and names of this program need no escapes.
fn write_json(to: &mut String, name: &str, cell: Cell) -> std::fmt::Result {
    to.push_str(",\"");
    to.push_str(name);
    to.push_str("\":");
    match cell {
        Cell::Empty => to.write_str("null"),
        Cell::Word(_) | Cell::Name(Name::Address(_) | Name::Mac(_) | Name::Syndrome(_)) => {
            to.push('"');
            cell.write(to)?;
            to.write_char('"')
        }
        number => number.write(to),
    }
}
