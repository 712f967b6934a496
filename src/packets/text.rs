//! Rows as lines of text: CSV and NDJSON.

use std::fmt::Write as _;

use super::{Cell, Column, Form, Name, Part, Row};
use crate::report::{clean, json};

/// Lines of some columns, in their order. Cells of frames are written at once; the capture's name, and what the analysis says, when that is known.
pub(super) struct Lines {
    pieces: Vec<Piece>,
    /// Cells of frames, each with a comma before it.
    text: String,
    /// Where each piece of frames ends, line by line.
    ends: Vec<usize>,
    is_json: bool,
}

/// Columns of a line that are known at the same time, beside each other.
#[derive(Clone)]
enum Piece {
    Capture,
    Frame(Vec<&'static Column>),
    Verdict(&'static Column),
}

impl Lines {
    /// Lines of these columns.
    pub(super) fn new(columns: &[&'static Column], is_json: bool) -> Lines {
        let mut pieces = Vec::new();
        for &column in columns {
            match pieces.last_mut() {
                _ if column.is_capture() => pieces.push(Piece::Capture),
                _ if column.is_verdict() => pieces.push(Piece::Verdict(column)),
                Some(Piece::Frame(before)) => before.push(column),
                _ => pieces.push(Piece::Frame(vec![column])),
            }
        }
        Lines { pieces, text: String::new(), ends: Vec::new(), is_json }
    }

    /// What comes before all rows.
    pub(super) fn head(&self) -> String {
        if self.is_json {
            return String::new();
        }
        let names = self.pieces.iter().flat_map(|piece| match piece {
            Piece::Capture => vec![super::CAPTURE.name],
            Piece::Frame(columns) => columns.iter().map(|column| column.name).collect(),
            Piece::Verdict(column) => vec![column.name],
        });
        names.collect::<Vec<_>>().join(",") + "\n"
    }

    /// The text of rows that are complete.
    pub(super) fn complete(&self, part: &Part<Lines>) -> std::io::Result<String> {
        let Part { capture, headers, verdicts } = part;
        let is_named = self.pieces.iter().any(|piece| matches!(piece, Piece::Capture));
        let name = if is_named { self.capture(capture)? } else { String::new() };
        let open = if self.is_json { "{" } else { "" };
        let close = if self.is_json { "}\n" } else { "\n" };
        let mut text = String::with_capacity(headers.text.len() + verdicts.len() * (name.len() + 32));
        let (mut ends, mut from, mut line) = (headers.ends.iter(), 0, String::new());
        for verdict in verdicts {
            line.clear();
            for piece in &self.pieces {
                match piece {
                    Piece::Capture => line.push_str(&name),
                    Piece::Frame(_) => {
                        let end = ends.next().copied().unwrap_or(from);
                        line.push_str(headers.text.get(from..end).unwrap_or_default());
                        from = end;
                    }
                    Piece::Verdict(column) => {
                        write_cell(&mut line, self.is_json, column.name, column.verdict(verdict));
                    }
                }
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
}

impl Form for Lines {
    type Headers = Lines;

    fn push(&mut self, row: &Row<'_>) {
        for piece in &self.pieces {
            let Piece::Frame(columns) = piece else { continue };
            for column in columns {
                write_cell(&mut self.text, self.is_json, column.name, column.value(row));
            }
            self.ends.push(self.text.len());
        }
    }

    fn cut(&mut self) -> Lines {
        let pieces = self.pieces.clone();
        let text = String::with_capacity(self.text.len());
        std::mem::replace(self, Lines { pieces, text, ends: Vec::new(), is_json: self.is_json })
    }
}

fn write_cell(to: &mut String, is_json: bool, name: &str, cell: Cell) {
    // A string takes everything.
    let _ = if is_json { write_json(to, name, cell) } else { write_csv(to, cell) };
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
