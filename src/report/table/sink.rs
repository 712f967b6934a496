//! Files of tables.

use std::io::{self, BufWriter, Write};

#[cfg(feature = "parquet")]
use super::parquet::Parquet;
use super::{Cell, Column, row::Row};
use crate::report::{clean, json};

/// The form of a table's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values (RFC 4180) with a line of names. Lists are JSON.
    Csv,
    /// A JSON object on each line.
    Ndjson,
    /// Apache Parquet, compressed with zstd.
    #[cfg(feature = "parquet")]
    Parquet,
}

impl Format {
    /// The extension of file names.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Ndjson => "ndjson",
            #[cfg(feature = "parquet")]
            Format::Parquet => "parquet",
        }
    }
}

/// Rows are long: so many bytes are written at a time.
const BUFFER: usize = 1 << 17;

/// The file of a table.
pub(super) struct Sink<W: Write + Send> {
    file: File<W>,
    /// Of a row, or of a cell.
    text: Vec<u8>,
}

enum File<W: Write + Send> {
    Csv(Box<csv::Writer<W>>),
    /// With what stands before each value.
    Ndjson(BufWriter<W>, Vec<String>),
    #[cfg(feature = "parquet")]
    Parquet(Box<Parquet<W>>),
}

impl<W: Write + Send> Sink<W> {
    pub(super) fn new(file: W, format: Format, columns: Vec<Column>) -> io::Result<Sink<W>> {
        let file = match format {
            Format::Csv => {
                let mut file = csv::WriterBuilder::new().buffer_capacity(BUFFER).from_writer(file);
                file.write_record(columns.iter().map(|column| &column.name)).map_err(io_error)?;
                File::Csv(Box::new(file))
            }
            Format::Ndjson => {
                let key = |(n, column): (usize, &Column)| {
                    Ok(format!("{}{}:", if n == 0 { '{' } else { ',' }, serde_json::to_string(&column.name)?))
                };
                let keys = columns.iter().enumerate().map(key).collect::<io::Result<_>>()?;
                File::Ndjson(BufWriter::with_capacity(BUFFER, file), keys)
            }
            #[cfg(feature = "parquet")]
            Format::Parquet => File::Parquet(Box::new(Parquet::new(file, &columns)?)),
        };
        Ok(Sink { file, text: Vec::new() })
    }

    /// Writes a row.
    pub(super) fn put(&mut self, row: &impl Row) -> io::Result<()> {
        let Sink { file, text } = self;
        match file {
            File::Csv(file) => {
                row.put_cells(&mut |cell| put_csv(file, cell, text).map_err(io_error))?;
                file.write_record(None::<&[u8]>).map_err(io_error)
            }
            File::Ndjson(file, keys) => {
                text.clear();
                let mut keys = keys.iter();
                row.put_cells(&mut |cell| {
                    text.extend_from_slice(keys.next().map_or(&[], |key| key.as_bytes()));
                    Ok(cell.write_json(text)?)
                })?;
                text.push(b'}');
                json::write_text(file, text)?;
                // No part of the text: it would be escaped there.
                file.write_all(b"\n")
            }
            #[cfg(feature = "parquet")]
            File::Parquet(file) => file.put(row),
        }
    }

    /// Completes the file, and gives it back.
    pub(super) fn finish(self) -> io::Result<W> {
        match self.file {
            File::Csv(mut file) => {
                file.flush()?;
                file.into_inner().map_err(|error| io::Error::other(error.to_string()))
            }
            File::Ndjson(file, _) => file.into_inner().map_err(io::IntoInnerError::into_error),
            #[cfg(feature = "parquet")]
            File::Parquet(file) => file.finish(),
        }
    }
}

/// The error of the file. Its kind says whether the reader closed the pipe.
fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// Writes a value in CSV. Names from captures may contain anything: control characters are replaced.
fn put_csv<W: Write>(file: &mut csv::Writer<W>, cell: Cell<'_>, text: &mut Vec<u8>) -> csv::Result<()> {
    text.clear();
    match cell {
        Cell::Empty => file.write_field(""),
        Cell::Text(text) => file.write_field(&*clean(text)),
        Cell::Bool(_) | Cell::Signed(_) | Cell::Unsigned(_) | Cell::Float(_) => {
            cell.write_json(text).map_err(io::Error::from)?;
            file.write_field(text)
        }
        Cell::List(_) | Cell::Json(_) => {
            cell.write_json(text).map_err(io::Error::from)?;
            match &text[..] {
                b"[]" => file.write_field(""),
                some => file.write_field(&*clean(&String::from_utf8_lossy(some))),
            }
        }
    }
}
