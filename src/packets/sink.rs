//! Files of rows.

use std::{
    fmt::Write as _,
    io::{self, BufWriter, Write},
};

#[cfg(feature = "parquet")]
use super::parquet::Parquet;
use super::{COLUMNS, Cell, MORE_COLUMNS, Name};
use crate::report::{clean, json, table::Format};

pub(super) enum Sink<W: Write + Send> {
    Csv(Box<csv::Writer<W>>, String),
    Ndjson(BufWriter<W>, String),
    #[cfg(feature = "parquet")]
    Parquet(Box<Parquet<W>>),
}

/// The names of all columns, in their order.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let [capture, space, class] = MORE_COLUMNS.map(|(name, ..)| name);
    [capture].into_iter().chain(COLUMNS.iter().map(|column| column.name)).chain([space, class])
}

impl<W: Write + Send> Sink<W> {
    pub(super) fn new(file: W, format: Format) -> io::Result<Sink<W>> {
        Ok(match format {
            Format::Csv => {
                let mut file = csv::Writer::from_writer(file);
                file.write_record(names())?;
                Sink::Csv(Box::new(file), String::new())
            }
            Format::Ndjson => Sink::Ndjson(BufWriter::new(file), String::new()),
            #[cfg(feature = "parquet")]
            Format::Parquet => Sink::Parquet(Box::new(Parquet::new(file)?)),
        })
    }

    /// Writes a row.
    pub(super) fn put(&mut self, capture: &str, cells: &[Cell], told: [Cell; 2]) -> io::Result<()> {
        let all = cells.iter().copied().chain(told);
        match self {
            Sink::Csv(file, text) => {
                // Names from captures may contain anything.
                file.write_field(&*clean(capture))?;
                for cell in all {
                    text.clear();
                    cell.write(text).map_err(io::Error::other)?;
                    file.write_field(&*text)?;
                }
                Ok(file.write_record(None::<&[u8]>)?)
            }
            Sink::Ndjson(file, text) => {
                text.clear();
                let mut names = names();
                let first = names.next().unwrap_or_default();
                write!(text, "{{\"{first}\":").map_err(io::Error::other)?;
                file.write_all(text.as_bytes())?;
                json::write(file, &capture)?;
                text.clear();
                for (name, cell) in names.zip(all) {
                    write_json(text, name, cell).map_err(io::Error::other)?;
                }
                text.push_str("}\n");
                file.write_all(text.as_bytes())
            }
            #[cfg(feature = "parquet")]
            Sink::Parquet(file) => file.put(capture, cells, told),
        }
    }

    /// Completes the file, and gives it back.
    pub(super) fn finish(self) -> io::Result<W> {
        match self {
            Sink::Csv(file, _) => file.into_inner().map_err(|error| io::Error::other(error.to_string())),
            Sink::Ndjson(file, _) => file.into_inner().map_err(io::IntoInnerError::into_error),
            #[cfg(feature = "parquet")]
            Sink::Parquet(file) => file.finish(),
        }
    }
}

/// Words and names of this program need no escapes.
fn write_json(to: &mut String, name: &str, cell: Cell) -> std::fmt::Result {
    write!(to, ",\"{name}\":")?;
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
