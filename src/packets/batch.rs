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

use super::{Cell, CellKind, Column, Form, Name, Part, Row};

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

/// The types of columns: Arrow's type, and what builds arrays of it.
macro_rules! types {
    ($($kind:ident $type:ident $builder:ident;)*) => {
        impl Column {
            /// Its Arrow type.
            pub fn data_type(&self) -> DataType {
                match self.kind { $(CellKind::$kind => DataType::$type,)* }
            }
        }

        /// Cells of one column.
        enum Builder { $($kind($builder),)* }

        impl Builder {
            fn new(kind: CellKind) -> Builder {
                match kind { $(CellKind::$kind => Builder::$kind($builder::default()),)* }
            }

            fn push_null(&mut self) {
                match self { $(Builder::$kind(to) => to.append_null(),)* }
            }

            fn finish(&mut self) -> ArrayRef {
                match self { $(Builder::$kind(of) => Arc::new(of.finish()),)* }
            }
        }
    };
}

types! {
    U8 UInt8 UInt8Builder;
    U16 UInt16 UInt16Builder;
    U32 UInt32 UInt32Builder;
    U64 UInt64 UInt64Builder;
    I64 Int64 Int64Builder;
    Bool Boolean BooleanBuilder;
    Text Utf8 StringBuilder;
}

/// Texts of names that were written before.
type Names = HashMap<Name, String, foldhash::fast::RandomState>;

impl Builder {
    fn push(&mut self, cell: Cell, names: &mut Names) {
        match (self, cell) {
            (Builder::U8(to), Cell::Unsigned(n)) => to.append_value(n as u8),
            (Builder::U16(to), Cell::Unsigned(n)) => to.append_value(n as u16),
            (Builder::U32(to), Cell::Unsigned(n)) => to.append_value(n as u32),
            (Builder::U64(to), Cell::Unsigned(n)) => to.append_value(n),
            (Builder::I64(to), Cell::Signed(n)) => to.append_value(n),
            (Builder::Bool(to), Cell::Bool(is)) => to.append_value(is),
            (Builder::Text(to), Cell::Word(word)) => to.append_value(word),
            (Builder::Text(to), Cell::Name(name)) => {
                if names.len() >= MOST_NAMES {
                    names.clear();
                }
                to.append_value(names.entry(name).or_insert_with(|| name.to_string()));
            }
            (builder, _) => builder.push_null(),
        }
    }
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
            builders: of_frames.map(|column| (*column, Builder::new(column.kind))).collect(),
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
                let mut builder = Builder::new(column.kind);
                verdicts.iter().for_each(|said| builder.push(column.verdict(said), &mut Names::default()));
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
            builder.push(column.value(row), &mut self.names);
        }
    }

    fn cut(&mut self) -> Headers {
        Headers(self.builders.iter_mut().map(|(_, builder)| builder.finish()).collect())
    }
}
