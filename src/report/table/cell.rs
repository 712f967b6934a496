//! Columns, and what is in them.

use std::io;

use serde::Serialize;
use serde_json::{Error, Value};

use crate::report::field::Field;

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name: the names of the report on the way to the value, joined by `_`, with the unit at the end.
    pub name: String,
    /// The type of its values.
    pub kind: Kind,
    /// What it means.
    pub doc: &'static str,
}

/// The type of a column. Every column may be empty: then the capture does not show the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number, 8 bits.
    U8,
    /// A whole number, 16 bits.
    U16,
    /// A whole number, 32 bits.
    U32,
    /// A whole number that may be negative, 64 bits.
    I64,
    /// A whole number, 64 bits.
    U64,
    /// A point in time: nanoseconds since 1970-01-01 UTC, 64 bits with sign; in CSV and NDJSON as a number.
    Time,
    /// A number with a fraction, 64 bits.
    F64,
    /// True or false.
    Bool,
    /// Text.
    Text,
    /// Several whole numbers.
    Numbers,
    /// Several texts.
    Texts,
    /// What has no columns of its own, as JSON.
    Json,
}

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::U8 => "uint8",
            Kind::U16 => "uint16",
            Kind::U32 => "uint32",
            Kind::I64 => "int64",
            Kind::U64 => "uint64",
            Kind::Time => "timestamp",
            Kind::F64 => "float64",
            Kind::Bool => "bool",
            Kind::Text => "text",
            Kind::Numbers => "list of int64",
            Kind::Texts => "list of text",
            Kind::Json => "JSON",
        }
    }
}

/// The value of a row in one column.
#[derive(Clone, Copy)]
pub enum Cell<'a> {
    /// The capture does not show it.
    Empty,
    /// True or false.
    Bool(bool),
    /// A whole number that may be negative.
    Signed(i64),
    /// A whole number.
    Unsigned(u64),
    /// A number with a fraction.
    Float(f64),
    /// Text.
    Text(&'a str),
    /// Several numbers or texts.
    List(&'a dyn List),
    /// What has no columns of its own.
    Json(&'a dyn Json),
}

/// What takes the cells of a row, one for each column.
pub type Put<'a> = dyn FnMut(Cell<'_>) -> io::Result<()> + 'a;

/// A list in one column.
pub trait List: Json {
    /// Hands on its items.
    ///
    /// # Errors
    /// What `put` fails with.
    fn items(&self, put: &mut Put<'_>) -> io::Result<()>;
}

impl<T: Field> List for Vec<T> {
    fn items(&self, put: &mut Put<'_>) -> io::Result<()> {
        self.iter().try_for_each(|item| put(item.cell()))
    }
}

/// What can be written as JSON.
pub trait Json {
    /// Adds it to a text.
    ///
    /// # Errors
    /// What serialization fails with.
    fn write(&self, to: &mut Vec<u8>) -> Result<(), Error>;
}

impl<T: Serialize> Json for T {
    fn write(&self, to: &mut Vec<u8>) -> Result<(), Error> {
        serde_json::to_writer(to, self)
    }
}

impl Cell<'_> {
    /// The value as JSON.
    pub(super) fn value(self) -> Result<Value, Error> {
        let mut text = Vec::new();
        self.write_json(&mut text)?;
        serde_json::from_slice(&text)
    }

    /// Adds the value as JSON text.
    pub(super) fn write_json(self, to: &mut Vec<u8>) -> Result<(), Error> {
        match self {
            Cell::Empty => to.extend_from_slice(b"null"),
            Cell::Bool(is) => is.write(to)?,
            Cell::Signed(number) => number.write(to)?,
            Cell::Unsigned(number) => number.write(to)?,
            Cell::Float(number) => number.write(to)?,
            Cell::Text(text) => text.write(to)?,
            Cell::List(list) => list.write(to)?,
            Cell::Json(any) => any.write(to)?,
        }
        Ok(())
    }
}
