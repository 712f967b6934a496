//! A report as tables, for databases and notebooks: one file each for captures, flows, connections, episodes, losses, pauses, what
//! caused them and whom they stopped, marks, slow flows, classes, microbursts, credits, links, intervals
//! and findings.
//!
//! Rows and names are those of the report. What is nested becomes one column for each value: `requests.losses.upstream` becomes
//! `requests_losses_upstream_least` and `requests_losses_upstream_most`. A value that the capture cannot prove is empty. In every
//! table, `capture_id` identifies the capture, `capture` names it, and `uid` identifies the flow of the row: with both, rows of different
//! tables are joined. The same flow has the same `uid` wherever it was captured.

#[cfg(feature = "arrow")]
pub(crate) mod arrow;
mod cell;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
pub(super) mod row;
#[cfg(feature = "cli")]
mod sink;

use std::io;

use serde_json::{Map, Value};

use super::{Message, View, field::Columns};
pub use cell::{Cell, Column, Json, Kind, List, Put};
use row::{OfCapture, Row};
#[cfg(feature = "cli")]
pub use sink::Format;
#[cfg(feature = "cli")]
use sink::Sink;

/// A table.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    pub(super) name: &'static str,
    pub(super) doc: &'static str,
    pub(super) columns: fn(&mut Vec<Column>),
    pub(super) rows: fn(&View<'_>, &mut Each<'_>) -> io::Result<()>,
}

/// What is done with each row.
pub(crate) type Each<'a> = dyn FnMut(&dyn Row) -> io::Result<()> + 'a;

/// The tables: name, what a row is and its type, and the rows of a report.
macro_rules! tables {
    ($($name:literal: $row:ty, $doc:literal, |$report:ident, $each:ident| $rows:stmt;)+) => {
        impl table::Table {
            /// All of them.
            pub const ALL: [table::Table; [$($name),+].len()] = [$(table::Table {
                name: $name,
                doc: $doc,
                columns: |to| <$row as field::Columns>::columns("", "", to),
                rows: |$report, $each| {
                    $rows
                    Ok(())
                },
            }),+];
        }
    };
}

impl Table {
    /// Its name, that of its file without the extension.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// What a row is.
    pub fn doc(self) -> &'static str {
        self.doc
    }

    /// Its columns.
    pub fn columns(self) -> Vec<Column> {
        let mut columns = Vec::new();
        OfCapture::columns("", "", &mut columns);
        (self.columns)(&mut columns);
        columns
    }

    /// Calls `on_row` with each row of a report: values by the names of columns.
    ///
    /// # Errors
    /// What `on_row` fails with.
    pub fn each(
        self,
        report: &View<'_>,
        on_row: &mut dyn FnMut(Map<String, Value>) -> io::Result<()>,
    ) -> io::Result<()> {
        let columns = self.columns();
        let capture = OfCapture::of(report);
        (self.rows)(report, &mut |row| on_row(values(&columns, &(&capture, row))?))
    }
}

/// Rows of the table `messages`, which is no part of a report.
impl Message {
    /// The name of the table.
    pub const TABLE: &str = "messages";
    /// What a row is.
    pub const DOC: &str = "A message of a requester: what `rdmawire packets --messages` and `rdmawire analyze --messages` write.";

    /// The columns of the table.
    pub fn columns() -> Vec<Column> {
        let mut columns = Vec::new();
        <(OfCapture, Message)>::columns("", "", &mut columns);
        columns
    }

    /// The row of a message of a capture: values by the names of columns.
    ///
    /// # Errors
    /// A value cannot be written as JSON.
    pub fn row(&self, capture: &str) -> io::Result<Map<String, Value>> {
        let capture = OfCapture { capture_id: None, capture: capture.to_owned() };
        values(&Message::columns(), &(&capture, self as &dyn Row))
    }
}

/// Values of a row by the names of its columns.
fn values(columns: &[Column], row: &dyn Row) -> io::Result<Map<String, Value>> {
    let (mut names, mut values) = (columns.iter(), Map::new());
    row.put_cells(&mut |cell| {
        let name = names.next().map_or("", |column| &column.name);
        values.insert(name.to_owned(), cell.value()?);
        Ok(())
    })?;
    Ok(values)
}

/// A file of messages.
#[cfg(feature = "cli")]
pub struct Messages<W: io::Write + Send>(Sink<W>);

#[cfg(feature = "cli")]
impl<W: io::Write + Send> Messages<W> {
    /// Starts a file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(file: W, format: Format) -> io::Result<Messages<W>> {
        Sink::new(file, format, Message::columns()).map(Messages)
    }

    /// Adds a message of a capture.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn put(&mut self, capture: &str, message: &Message) -> io::Result<()> {
        self.0.put(&(OfCapture { capture_id: None, capture: capture.to_owned() }, message))
    }

    /// Completes the file, and gives it back.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(self) -> io::Result<W> {
        self.0.finish()
    }
}

/// A table of a report of type `R`, which is not that of an analysis.
#[derive(Debug)]
pub struct TableOf<R> {
    name: &'static str,
    doc: &'static str,
    columns: fn(&mut Vec<Column>),
    rows: fn(&R, &mut Each<'_>) -> io::Result<()>,
}

impl<R> TableOf<R> {
    pub(crate) const fn new(
        name: &'static str,
        doc: &'static str,
        columns: fn(&mut Vec<Column>),
        rows: fn(&R, &mut Each<'_>) -> io::Result<()>,
    ) -> TableOf<R> {
        TableOf { name, doc, columns, rows }
    }

    /// Its name, that of its file without the extension.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What a row is.
    pub fn doc(&self) -> &'static str {
        self.doc
    }

    /// Its columns.
    pub fn columns(&self) -> Vec<Column> {
        let mut columns = Vec::new();
        OfCapture::columns("", "", &mut columns);
        (self.columns)(&mut columns);
        columns
    }

    /// Calls `on_row` with each row of a report: values by the names of columns. `capture` is the name of what the report is of.
    ///
    /// # Errors
    /// What `on_row` fails with.
    pub fn each(
        &self,
        report: &R,
        capture: &str,
        on_row: &mut dyn FnMut(Map<String, Value>) -> io::Result<()>,
    ) -> io::Result<()> {
        let columns = self.columns();
        let of = OfCapture { capture_id: None, capture: capture.to_owned() };
        (self.rows)(report, &mut |row| on_row(values(&columns, &(&of, row))?))
    }

    /// Writes its file, and gives it back. `capture` is the name of what the report is of.
    ///
    /// # Errors
    /// The file cannot be written.
    #[cfg(feature = "cli")]
    pub fn write<W: io::Write + Send>(
        &self,
        file: W,
        format: Format,
        capture: &str,
        report: &R,
    ) -> io::Result<W> {
        let mut sink = Sink::new(file, format, self.columns())?;
        let of = OfCapture { capture_id: None, capture: capture.to_owned() };
        (self.rows)(report, &mut |row| sink.put(&(&of, row)))?;
        sink.finish()
    }
}

/// A report that has tables.
pub trait Tabular: Sized + 'static {
    /// All of them. Their names are of no other report's.
    const TABLES: &'static [TableOf<Self>];
}

/// The tables of a report that is not that of an analysis: name, type and meaning of a row, and the rows.
macro_rules! tables_of {
    ($report:ty { $($name:literal: $row:ty, $doc:literal, |$of:ident| $rows:expr;)+ }) => {
        impl $crate::report::table::Tabular for $report {
            const TABLES: &'static [$crate::report::table::TableOf<$report>] =
                &[$($crate::report::table::TableOf::new(
                    $name,
                    $doc,
                    |to| <$row as $crate::report::field::Columns>::columns("", "", to),
                    |$of, each| {
                        $rows.try_for_each(|row: $row| each(&row))
                    },
                )),+];
        }
    };
}
#[cfg(feature = "analyze")]
pub(crate) use tables_of;

/// All tables of one or several reports, one file each.
#[cfg(feature = "cli")]
pub struct Tables<W: io::Write + Send>(Vec<(Table, Sink<W>)>);

#[cfg(feature = "cli")]
impl<W: io::Write + Send> Tables<W> {
    /// Starts the files of all tables: `open` gives each.
    ///
    /// # Errors
    /// What `open` fails with; a file cannot be written.
    pub fn new(format: Format, mut open: impl FnMut(Table) -> io::Result<W>) -> io::Result<Tables<W>> {
        let open = |table: Table| Ok((table, Sink::new(open(table)?, format, table.columns())?));
        Table::ALL.into_iter().map(open).collect::<io::Result<_>>().map(Tables)
    }

    /// Adds the rows of a report.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn add(&mut self, report: &View<'_>) -> io::Result<()> {
        let capture = OfCapture::of(report);
        self.0
            .iter_mut()
            .try_for_each(|(table, sink)| (table.rows)(report, &mut |row| sink.put(&(&capture, row))))
    }

    /// Completes the files, and gives them back.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn finish(self) -> io::Result<Vec<W>> {
        self.0.into_iter().map(|(_, sink)| sink.finish()).collect()
    }
}
