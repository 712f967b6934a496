//! Rows as Apache Parquet.

use std::{
    collections::HashMap,
    io::{self, Write},
    sync::Arc,
};

use arrow_array::{
    ArrayRef, RecordBatch,
    builder::{
        BooleanBuilder, Int64Builder, StringBuilder, UInt8Builder, UInt16Builder, UInt32Builder,
        UInt64Builder,
    },
};
use arrow_schema::{DataType, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;

use super::{COLUMNS, Cell, Get, MORE_COLUMNS, Name};
use crate::report::table::parquet::{field, writer};

/// Rows that are converted at a time.
const BATCH: usize = 1 << 13;
/// Most texts that are kept to be copied.
const MOST_NAMES: usize = 1 << 16;

/// A Parquet file.
pub(super) struct Parquet<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: SchemaRef,
    builders: Vec<Builder>,
    names: HashMap<Name, String, foldhash::fast::RandomState>,
    rows: usize,
}

enum Builder {
    U8(UInt8Builder),
    U16(UInt16Builder),
    U32(UInt32Builder),
    U64(UInt64Builder),
    I64(Int64Builder),
    Bool(BooleanBuilder),
    Text(StringBuilder),
}

impl Builder {
    fn of(get: &Get) -> (Builder, DataType) {
        match get {
            Get::U8(_) => (Builder::U8(UInt8Builder::new()), DataType::UInt8),
            Get::U16(_) => (Builder::U16(UInt16Builder::new()), DataType::UInt16),
            Get::U32(_) => (Builder::U32(UInt32Builder::new()), DataType::UInt32),
            Get::U64(_) => (Builder::U64(UInt64Builder::new()), DataType::UInt64),
            Get::I64(_) => (Builder::I64(Int64Builder::new()), DataType::Int64),
            Get::Bool(_) => (Builder::Bool(BooleanBuilder::new()), DataType::Boolean),
            Get::Word(_) | Get::Name(_) => Builder::text(),
        }
    }

    fn text() -> (Builder, DataType) {
        (Builder::Text(StringBuilder::new()), DataType::Utf8)
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::U8(of) => Arc::new(of.finish()),
            Builder::U16(of) => Arc::new(of.finish()),
            Builder::U32(of) => Arc::new(of.finish()),
            Builder::U64(of) => Arc::new(of.finish()),
            Builder::I64(of) => Arc::new(of.finish()),
            Builder::Bool(of) => Arc::new(of.finish()),
            Builder::Text(of) => Arc::new(of.finish()),
        }
    }
}

impl<W: Write + Send> Parquet<W> {
    pub(super) fn new(file: W) -> io::Result<Parquet<W>> {
        let mut builders = Vec::new();
        let mut fields = Vec::new();
        let mut add = |name: &str, doc: &str, (builder, kind): (Builder, DataType)| {
            fields.push(field(name, kind, doc));
            builders.push(builder);
        };
        let [(capture, _, doc), behind @ ..] = MORE_COLUMNS;
        add(capture, doc, Builder::text());
        for column in COLUMNS {
            add(column.name, column.doc, Builder::of(&column.get));
        }
        for (name, _, doc) in behind {
            add(name, doc, Builder::text());
        }
        let schema = Arc::new(Schema::new(fields));
        let writer = writer(file, schema.clone())?;
        Ok(Parquet { writer, schema, builders, names: HashMap::default(), rows: 0 })
    }

    pub(super) fn put(&mut self, capture: &str, cells: &[Cell], told: [Cell; 2]) -> io::Result<()> {
        let Parquet { builders, names, .. } = self;
        let Some((first, builders)) = builders.split_first_mut() else { return Ok(()) };
        if let Builder::Text(to) = first {
            to.append_value(capture);
        }
        for (builder, cell) in builders.iter_mut().zip(cells.iter().copied().chain(told)) {
            let number = match cell {
                Cell::Unsigned(n) => Some(n),
                _ => None,
            };
            match builder {
                // The columns' types say how long the numbers are.
                Builder::U8(to) => to.append_option(number.map(|n| n as u8)),
                Builder::U16(to) => to.append_option(number.map(|n| n as u16)),
                Builder::U32(to) => to.append_option(number.map(|n| n as u32)),
                Builder::U64(to) => to.append_option(number),
                Builder::I64(to) => match cell {
                    Cell::Signed(n) => to.append_value(n),
                    _ => to.append_null(),
                },
                Builder::Bool(to) => match cell {
                    Cell::Bool(is) => to.append_value(is),
                    _ => to.append_null(),
                },
                Builder::Text(to) => match cell {
                    Cell::Word(word) => to.append_value(word),
                    Cell::Name(name) => {
                        if names.len() >= MOST_NAMES {
                            names.clear();
                        }
                        to.append_value(names.entry(name).or_insert_with(|| name.to_string()));
                    }
                    _ => to.append_null(),
                },
            }
        }
        self.rows += 1;
        if self.rows == BATCH { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.rows = 0;
        let arrays = self.builders.iter_mut().map(Builder::finish).collect();
        let batch = RecordBatch::try_new(self.schema.clone(), arrays).map_err(io::Error::other)?;
        self.writer.write(&batch).map_err(io::Error::other)
    }

    pub(super) fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        self.writer.into_inner().map_err(io::Error::other)
    }
}
