//! Files of tables.

use std::{
    borrow::Cow,
    io::{self, BufWriter, Write},
};

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

#[cfg(feature = "parquet")]
use super::parquet::Parquet;
use super::{Column, cells::Cells};
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

/// The file of a table.
pub(super) struct Sink<W: Write + Send> {
    row: Cells,
    file: File<W>,
    /// Of a row.
    text: Vec<u8>,
}

enum File<W: Write + Send> {
    Csv(Box<csv::Writer<W>>),
    Ndjson(BufWriter<W>),
    #[cfg(feature = "parquet")]
    Parquet(Box<Parquet<W>>),
}

impl<W: Write + Send> Sink<W> {
    pub(super) fn new(file: W, format: Format, columns: Vec<Column>) -> io::Result<Sink<W>> {
        let file = match format {
            Format::Csv => {
                let mut file = csv::Writer::from_writer(file);
                file.write_record(columns.iter().map(|column| &column.name)).map_err(io_error)?;
                File::Csv(Box::new(file))
            }
            Format::Ndjson => File::Ndjson(BufWriter::new(file)),
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
            File::Ndjson(file) => file.into_inner().map_err(io::IntoInnerError::into_error),
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
                .try_for_each(|(_, value)| file.write_field(&*text(value)))
                .and_then(|()| file.write_record(None::<&[u8]>))
                .map_err(io_error),
            File::Ndjson(file) => {
                line.clear();
                serde_json::to_writer(&mut *line, &Line(row))?;
                json::write_text(file, line)?;
                file.write_all(b"\n")
            }
            #[cfg(feature = "parquet")]
            File::Parquet(file) => file.put(row),
        }
    }
}

/// A row as an object.
struct Line<'a>(&'a Cells);

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut object = to.serialize_map(None)?;
        self.0.iter().try_for_each(|(column, value)| object.serialize_entry(&column.name, value))?;
        object.end()
    }
}

/// The error of the file. Its kind says whether the reader closed the pipe.
fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// A value in CSV. Names from captures may contain anything: control characters are replaced.
fn text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed(""),
        Value::String(text) => clean(text),
        Value::Array(list) if list.is_empty() => Cow::Borrowed(""),
        Value::Number(number) => Cow::Owned(number.to_string()),
        other => Cow::Owned(clean(&other.to_string()).into_owned()),
    }
}
