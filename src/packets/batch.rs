//! Rows as Arrow record batches.

use std::{collections::HashMap, sync::Arc};

use arrow_array::{
    ArrayRef, RecordBatch, StringArray,
    builder::{
        BooleanBuilder, Int64Builder, StringBuilder, UInt8Builder, UInt16Builder, UInt32Builder,
        UInt64Builder,
    },
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use super::{Column, Form, Get, Name, Part, Row};

/// Most texts that are kept to be copied.
const MOST_NAMES: usize = 1 << 16;

/// The schema of these columns. Each field has its meaning as metadata.
pub fn schema(columns: &[&Column]) -> SchemaRef {
    let field = |column: &&Column| {
        let doc = HashMap::from([("doc".to_owned(), column.doc.to_owned())]);
        Field::new(column.name, column.data_type(), true).with_metadata(doc)
    };
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

impl Column {
    /// Its Arrow type.
    pub fn data_type(&self) -> DataType {
        match self.get {
            Get::U8(_) => DataType::UInt8,
            Get::U16(_) => DataType::UInt16,
            Get::U32(_) | Get::ToldU32(_) => DataType::UInt32,
            Get::U64(_) => DataType::UInt64,
            Get::I64(_) => DataType::Int64,
            Get::Bool(_) => DataType::Boolean,
            Get::Word(_) | Get::Name(_) | Get::Capture | Get::ToldWord(_) => DataType::Utf8,
        }
    }
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

/// Rows of these columns, as record batches.
pub struct Batch {
    schema: SchemaRef,
    columns: Vec<&'static Column>,
    /// Of the columns of headers.
    cells: Vec<Cells>,
    names: HashMap<Name, String, foldhash::fast::RandomState>,
}

/// The columns of headers, as arrays.
pub struct Headers(Vec<ArrayRef>);

impl Batch {
    /// Batches of these columns, with room for so many rows.
    pub fn new(columns: &[&'static Column], rows: usize) -> Batch {
        let cells = |column: &&Column| {
            Some(match column.get {
                Get::U8(get) => Cells::U8(get, UInt8Builder::with_capacity(rows)),
                Get::U16(get) => Cells::U16(get, UInt16Builder::with_capacity(rows)),
                Get::U32(get) => Cells::U32(get, UInt32Builder::with_capacity(rows)),
                Get::U64(get) => Cells::U64(get, UInt64Builder::with_capacity(rows)),
                Get::I64(get) => Cells::I64(get, Int64Builder::with_capacity(rows)),
                Get::Bool(get) => Cells::Bool(get, BooleanBuilder::with_capacity(rows)),
                Get::Word(get) => Cells::Word(get, StringBuilder::with_capacity(rows, 16 * rows)),
                Get::Name(get) => Cells::Name(get, StringBuilder::with_capacity(rows, 16 * rows)),
                Get::Capture | Get::ToldWord(_) | Get::ToldU32(_) => return None,
            })
        };
        Batch {
            schema: schema(columns),
            columns: columns.to_vec(),
            cells: columns.iter().filter_map(cells).collect(),
            names: HashMap::default(),
        }
    }

    /// Its schema.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Rows that are complete, as a batch.
    ///
    /// # Errors
    /// The part is of another batch's columns.
    pub fn complete(&self, part: Part<Headers>) -> Result<RecordBatch, ArrowError> {
        let Part { capture, headers: Headers(headers), told } = part;
        let mut headers = headers.into_iter();
        let arrays = self.columns.iter().map(|column| -> Result<ArrayRef, ArrowError> {
            Ok(match column.get {
                Get::Capture => Arc::new(StringArray::new_repeated(&capture, told.len())),
                Get::ToldWord(get) => Arc::new(StringArray::from_iter(told.iter().map(get))),
                Get::ToldU32(get) => Arc::new(told.iter().map(get).collect::<arrow_array::UInt32Array>()),
                _ => headers.next().ok_or_else(|| ArrowError::SchemaError("too few columns".into()))?,
            })
        });
        RecordBatch::try_new(self.schema.clone(), arrays.collect::<Result<_, _>>()?)
    }
}

impl Form for Batch {
    type Headers = Headers;

    fn push(&mut self, row: &Row<'_>) {
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
    }

    fn cut(&mut self) -> Headers {
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
        Headers(arrays.collect())
    }
}
