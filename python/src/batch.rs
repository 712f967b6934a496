//! Packets as Arrow record batches.

use std::{collections::HashMap, sync::Arc};

use arrow_array::{
    ArrayRef, RecordBatch,
    builder::{
        BooleanBuilder, Int64Builder, StringBuilder, UInt8Builder, UInt16Builder, UInt32Builder,
        UInt64Builder,
    },
};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};

use rdmawire::packets::{Column, Get, Name, Row};

use crate::column::data_type;

/// Most texts that are kept to be copied.
const MOST_NAMES: usize = 1 << 16;

/// The schema of these columns. Each field has its meaning as metadata.
pub(crate) fn schema(columns: &[&Column]) -> SchemaRef {
    let field = |column: &&Column| {
        let doc = HashMap::from([("doc".to_owned(), column.doc.to_owned())]);
        Field::new(column.name, data_type(column), true).with_metadata(doc)
    };
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// Cells of a column, and how they are read.
enum Cells {
    U8(fn(&Row<'_>) -> Option<u8>, UInt8Builder),
    U16(fn(&Row<'_>) -> Option<u16>, UInt16Builder),
    U32(fn(&Row<'_>) -> Option<u32>, UInt32Builder),
    U64(fn(&Row<'_>) -> Option<u64>, UInt64Builder),
    I64(fn(&Row<'_>) -> Option<i64>, Int64Builder),
    Bool(fn(&Row<'_>) -> Option<bool>, BooleanBuilder),
    Word(fn(&Row<'_>) -> Option<&'static str>, StringBuilder),
    Name(fn(&Row<'_>) -> Option<Name>, StringBuilder),
}

/// A record batch that is being filled.
pub(crate) struct Batch {
    schema: SchemaRef,
    cells: Vec<Cells>,
    names: HashMap<Name, String, foldhash::fast::RandomState>,
    rows: usize,
}

impl Batch {
    /// A batch with room for so many rows.
    pub(crate) fn new(columns: &[&Column], rows: usize) -> Batch {
        let cells = |column: &&Column| match column.get {
            Get::U8(get) => Cells::U8(get, UInt8Builder::with_capacity(rows)),
            Get::U16(get) => Cells::U16(get, UInt16Builder::with_capacity(rows)),
            Get::U32(get) => Cells::U32(get, UInt32Builder::with_capacity(rows)),
            Get::U64(get) => Cells::U64(get, UInt64Builder::with_capacity(rows)),
            Get::I64(get) => Cells::I64(get, Int64Builder::with_capacity(rows)),
            Get::Bool(get) => Cells::Bool(get, BooleanBuilder::with_capacity(rows)),
            Get::Word(get) => Cells::Word(get, StringBuilder::with_capacity(rows, 16 * rows)),
            Get::Name(get) => Cells::Name(get, StringBuilder::with_capacity(rows, 16 * rows)),
        };
        let names = HashMap::default();
        Batch { schema: schema(columns), cells: columns.iter().map(cells).collect(), names, rows: 0 }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, row: &Row<'_>) {
        let names = &mut self.names;
        for cells in &mut self.cells {
            match cells {
                Cells::U8(get, to) => to.append_option(get(row)),
                Cells::U16(get, to) => to.append_option(get(row)),
                Cells::U32(get, to) => to.append_option(get(row)),
                Cells::U64(get, to) => to.append_option(get(row)),
                Cells::I64(get, to) => to.append_option(get(row)),
                Cells::Bool(get, to) => to.append_option(get(row)),
                Cells::Word(get, to) => to.append_option(get(row)),
                Cells::Name(get, to) => match get(row) {
                    None => to.append_null(),
                    Some(name) => {
                        if names.len() >= MOST_NAMES {
                            names.clear();
                        }
                        to.append_value(names.entry(name).or_insert_with(|| name.to_string()));
                    }
                },
            }
        }
        self.rows += 1;
    }

    /// The rows as a batch. The next rows begin another one.
    pub(crate) fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        self.rows = 0;
        let arrays = self.cells.iter_mut().map(|cells| -> ArrayRef {
            match cells {
                Cells::U8(_, of) => Arc::new(of.finish()),
                Cells::U16(_, of) => Arc::new(of.finish()),
                Cells::U32(_, of) => Arc::new(of.finish()),
                Cells::U64(_, of) => Arc::new(of.finish()),
                Cells::I64(_, of) => Arc::new(of.finish()),
                Cells::Bool(_, of) => Arc::new(of.finish()),
                Cells::Word(_, of) | Cells::Name(_, of) => Arc::new(of.finish()),
            }
        });
        RecordBatch::try_new(self.schema.clone(), arrays.collect())
    }
}
