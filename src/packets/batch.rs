//! Rows as Arrow record batches.

use std::{collections::HashMap, sync::Arc};

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};

use super::{Cell, Column, Form, Name, Part, Row};
use crate::report::table::{
    self,
    arrow::{Builder, field},
};

/// Most texts that are kept to be copied.
const MOST_NAMES: usize = 1 << 16;

/// The schema of these columns. Each field has its meaning as metadata.
pub fn schema(columns: &[&Column]) -> SchemaRef {
    let fields = columns.iter().map(|column| field(column.name, column.data_type(), column.doc));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

impl Column {
    /// Its Arrow type.
    pub fn data_type(&self) -> DataType {
        self.kind.data_type()
    }
}

/// Texts of names that were written before.
type Names = HashMap<Name, String, foldhash::fast::RandomState>;

/// Adds a cell to its column.
fn put(builder: &mut Builder, cell: Cell, names: &mut Names) {
    let cell = match cell {
        Cell::Empty => table::Cell::Empty,
        Cell::Unsigned(n) => table::Cell::Unsigned(n),
        Cell::Signed(n) => table::Cell::Signed(n),
        Cell::Bool(is) => table::Cell::Bool(is),
        Cell::Word(word) => table::Cell::Text(word),
        Cell::Name(name) => {
            if names.len() >= MOST_NAMES {
                names.clear();
            }
            table::Cell::Text(names.entry(name).or_insert_with(|| name.to_string()))
        }
    };
    // Values have the types of their columns.
    builder.put(cell).unwrap_or_else(|_| builder.put_null());
}

/// Rows of these columns, as record batches.
pub struct Batch {
    schema: SchemaRef,
    columns: Vec<&'static Column>,
    /// Of the columns of frames.
    builders: Vec<(&'static Column, Builder)>,
    names: Names,
}

/// The columns of frames, as arrays.
pub struct Headers(Vec<ArrayRef>);

impl Batch {
    /// Batches of these columns.
    pub fn new(columns: &[&'static Column]) -> Batch {
        let of_frames = columns.iter().filter(|column| !column.is_of_rows());
        Batch {
            schema: schema(columns),
            columns: columns.to_vec(),
            builders: of_frames.map(|column| (*column, Builder::of(column.kind))).collect(),
            names: Names::default(),
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
        let Part { capture, headers: Headers(headers), verdicts } = part;
        let mut headers = headers.into_iter();
        let arrays = self.columns.iter().map(|column| -> Result<ArrayRef, ArrowError> {
            if column.is_capture() {
                return Ok(Arc::new(StringArray::new_repeated(&capture, verdicts.len())));
            }
            if column.is_verdict() {
                let mut builder = Builder::of(column.kind);
                verdicts
                    .iter()
                    .for_each(|said| put(&mut builder, column.verdict(said), &mut Names::default()));
                return Ok(builder.finish());
            }
            headers.next().ok_or_else(|| ArrowError::SchemaError("too few columns".into()))
        });
        RecordBatch::try_new(self.schema.clone(), arrays.collect::<Result<_, _>>()?)
    }
}

impl Form for Batch {
    type Headers = Headers;

    fn push(&mut self, row: &Row<'_>) {
        for (column, builder) in &mut self.builders {
            put(builder, column.value(row), &mut self.names);
        }
    }

    fn cut(&mut self) -> Headers {
        Headers(self.builders.iter_mut().map(|(_, builder)| builder.finish()).collect())
    }
}
