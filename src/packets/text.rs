//! Rows as lines of text: CSV and NDJSON.

use std::fmt::Write as _;

use super::{Cell, Column, Form, Name, Part, Row};
use crate::report::{clean, json};

/// Lines of some columns. Those of frames are written at once; before them comes the capture's name, behind them what the analysis says.
pub(super) struct Lines {
    columns: Vec<&'static Column>,
    /// Cells, each with a comma before it.
    text: String,
    /// Where each line ends.
    ends: Vec<usize>,
    is_json: bool,
}

impl Lines {
    /// Lines of these columns, which come in the order of all.
    pub(super) fn new(columns: &[&'static Column], is_json: bool) -> Lines {
        let is_asked = |column: &&Column| columns.iter().any(|asked| asked.name == column.name);
        let columns = Column::all().filter(is_asked).collect();
        Lines { columns, text: String::new(), ends: Vec::new(), is_json }
    }

    /// What comes before all rows.
    pub(super) fn head(&self) -> String {
        if self.is_json {
            return String::new();
        }
        let names: Vec<_> = self.columns.iter().map(|column| column.name).collect();
        names.join(",") + "\n"
    }

    /// The text of rows that are complete.
    pub(super) fn complete(&self, part: &Part<Lines>) -> std::io::Result<String> {
        let Part { capture, headers, verdicts } = part;
        let start = if self.columns.iter().any(|column| column.is_capture()) {
            self.capture(capture)?
        } else {
            String::new()
        };
        let open = if self.is_json { "{" } else { "" };
        let close = if self.is_json { "}\n" } else { "\n" };
        let mut text = String::with_capacity(headers.text.len() + verdicts.len() * (start.len() + 32));
        let (mut from, mut line) = (0, String::new());
        for (&end, verdict) in headers.ends.iter().zip(verdicts) {
            line.clear();
            line.push_str(&start);
            line.push_str(headers.text.get(from..end).unwrap_or_default());
            from = end;
            for column in self.columns.iter().filter(|column| column.is_verdict()) {
                self.cell(&mut line, column.name, column.verdict(verdict));
            }
            let cells = line.strip_prefix(',').unwrap_or(&line);
            text.push_str(open);
            // Readers pass over an empty line.
            text.push_str(if cells.is_empty() && !self.is_json { "\"\"" } else { cells });
            text.push_str(close);
        }
        Ok(text)
    }

    /// The cell with the name of the capture.
    fn capture(&self, capture: &str) -> std::io::Result<String> {
        if self.is_json {
            let mut cell = format!(",\"{}\":", super::CAPTURE.name).into_bytes();
            json::write(&mut cell, &capture)?;
            return Ok(String::from_utf8_lossy(&cell).into_owned());
        }
        // Names of files may contain anything.
        let mut cell = csv::Writer::from_writer(vec![b',']);
        cell.write_record([&*clean(capture)])?;
        let cell = cell.into_inner().map_err(|error| std::io::Error::other(error.to_string()))?;
        Ok(String::from_utf8_lossy(&cell).trim_end_matches('\n').to_owned())
    }

    fn cell(&self, to: &mut String, name: &str, cell: Cell) {
        // A string takes everything.
        let _ = if self.is_json { write_json(to, name, cell) } else { write_csv(to, cell) };
    }
}

impl Form for Lines {
    type Headers = Lines;

    fn push(&mut self, row: &Row<'_>) {
        let mut text = std::mem::take(&mut self.text);
        for column in self.columns.iter().filter(|column| !column.is_of_rows()) {
            self.cell(&mut text, column.name, column.value(row));
        }
        self.text = text;
        self.ends.push(self.text.len());
    }

    fn cut(&mut self) -> Lines {
        let columns = self.columns.clone();
        let text = String::with_capacity(self.text.len());
        std::mem::replace(self, Lines { columns, text, ends: Vec::new(), is_json: self.is_json })
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
        Cell::Word(_) | Cell::Name(_) => {
            to.push('"');
            cell.write(to)?;
            to.write_char('"')
        }
        number => number.write(to),
    }
}
