//! Files of tables.

use std::io::{self, BufWriter, Write};

#[cfg(feature = "parquet")]
use super::parquet::Parquet;
use super::{
    Column,
    cells::{Cell, Cells},
};
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
    row: Cells,
    file: File<W>,
    /// Of a row.
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
        Ok(Sink { row: Cells::new(columns), file, text: Vec::new() })
    }

    /// Writes the rows that `make` fills and hands on.
    pub(super) fn put(
        &mut self,
        make: impl FnOnce(&mut Cells, &mut dyn FnMut(&Cells) -> io::Result<()>) -> io::Result<()>,
    ) -> io::Result<()> {
        let Sink { row, file, text } = self;
        make(row, &mut |row| file.put(row, text))
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

impl<W: Write + Send> File<W> {
    fn put(&mut self, row: &Cells, line: &mut Vec<u8>) -> io::Result<()> {
        match self {
            File::Csv(file) => row
                .iter()
                .try_for_each(|cell| put_csv(file, cell, line))
                .and_then(|()| file.write_record(None::<&[u8]>))
                .map_err(io_error),
            File::Ndjson(file, keys) => {
                line.clear();
                for (key, cell) in keys.iter().zip(row.iter()) {
                    line.extend_from_slice(key.as_bytes());
                    cell.write_json(line)?;
                }
                line.push(b'}');
                json::write_text(file, line)?;
                // No part of the text: it would be escaped there.
                file.write_all(b"\n")
            }
            #[cfg(feature = "parquet")]
            File::Parquet(file) => file.put(row),
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
fn put_csv<W: Write>(file: &mut csv::Writer<W>, cell: Cell<'_>, number: &mut Vec<u8>) -> csv::Result<()> {
    match cell {
        Cell::Empty | Cell::Json("[]") => file.write_field(""),
        Cell::Text(text) | Cell::Json(text) => file.write_field(&*clean(text)),
        Cell::Bool(_) | Cell::Signed(_) | Cell::Unsigned(_) | Cell::Float(_) => {
            number.clear();
            cell.write_json(number).map_err(io::Error::from)?;
            file.write_field(number)
        }
    }
}
