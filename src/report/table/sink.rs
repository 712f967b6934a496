//! Files of tables.

use std::io::{self, BufWriter, Write};

use serde_json::{Map, Value};

use super::Column;
#[cfg(feature = "parquet")]
use super::{Kind, parquet::Parquet};
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
    columns: Vec<Column>,
    file: File<W>,
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
        Ok(Sink { columns, file })
    }

    /// Writes a row.
    pub(super) fn put(&mut self, row: &Value) -> io::Result<()> {
        let values = self.columns.iter().map(|column| (column, column.value(row)));
        match &mut self.file {
            File::Csv(file) => file.write_record(values.map(|(_, value)| text(value))).map_err(io_error),
            File::Ndjson(file) => {
                let row: Map<_, _> =
                    values.map(|(column, value)| (column.name.clone(), value.clone())).collect();
                json::write(file, &row)?;
                file.write_all(b"\n")
            }
            #[cfg(feature = "parquet")]
            File::Parquet(file) => {
                let cell = |(column, value): (&Column, &Value)| {
                    let value = match column.kind {
                        Kind::Json if !value.is_null() => Value::String(value.to_string()),
                        _ => value.clone(),
                    };
                    (column.name.clone(), value)
                };
                file.put(values.map(cell).collect())
            }
        }
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

/// The error of the file. Its kind says whether the reader closed the pipe.
fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// A value in CSV. Names from captures may contain anything: control characters are replaced.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => clean(text).into_owned(),
        Value::Array(list) if list.is_empty() => String::new(),
        other => clean(&other.to_string()).into_owned(),
    }
}
