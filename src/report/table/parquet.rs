//! Tables as Apache Parquet.

use std::{
    collections::HashMap,
    io::{self, Write},
    sync::Arc,
};

use arrow_array::{
    ArrayRef, RecordBatch,
    builder::{BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, StringBuilder, UInt64Builder},
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, Encoding, ZstdLevel},
    file::properties::WriterProperties,
    schema::types::ColumnPath,
};
use serde_json::Value;

use super::{
    cells::Cells,
    columns::{Column, Kind},
};

/// Rows that are converted at a time.
const BATCH: usize = 1024;
/// Most rows of a row group. Readers skip groups by their statistics.
const GROUP: usize = 1 << 17;

/// A column, with what it means as metadata. Each may be empty.
pub(crate) fn field(name: &str, kind: DataType, doc: &str) -> Field {
    Field::new(name, kind, true).with_metadata(HashMap::from([("doc".to_owned(), doc.to_owned())]))
}

/// The writer of a file: compressed, in row groups. A dictionary of its values is kept for each column, but for those of `distinct`: in
/// them most values differ from each other; integers are written as differences.
pub(crate) fn writer<W: Write + Send>(
    file: W,
    schema: SchemaRef,
    distinct: &[&str],
) -> io::Result<ArrowWriter<W>> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(GROUP));
    for field in schema.fields().iter().filter(|field| distinct.contains(&field.name().as_str())) {
        let column = ColumnPath::from(field.name().as_str());
        properties = properties.set_column_dictionary_enabled(column.clone(), false);
        if field.data_type().is_integer() {
            properties = properties.set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
        }
    }
    ArrowWriter::try_new(file, schema, Some(properties.build())).map_err(io::Error::other)
}

/// A Parquet file.
pub(super) struct Parquet<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: SchemaRef,
    cells: Vec<Builder>,
    rows: usize,
}

impl<W: Write + Send> Parquet<W> {
    pub(super) fn new(file: W, columns: &[Column]) -> io::Result<Parquet<W>> {
        let of_column =
            |column: &Column| field(&column.name, Builder::of(column.kind).data_type(), &column.doc);
        let schema = Arc::new(Schema::new(columns.iter().map(of_column).collect::<Vec<_>>()));
        let writer = writer(file, schema.clone(), &[])?;
        let cells = columns.iter().map(|column| Builder::of(column.kind)).collect();
        Ok(Parquet { writer, schema, cells, rows: 0 })
    }

    pub(super) fn put(&mut self, row: &Cells) -> io::Result<()> {
        for ((column, value), cells) in row.iter().zip(&mut self.cells) {
            let put = cells.put(value);
            put.ok_or_else(|| {
                io::Error::other(format!("column {}: {value} is no {}", column.name, column.kind.name()))
            })?;
        }
        self.rows += 1;
        if self.rows == BATCH { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let arrays = self.cells.iter_mut().map(Builder::finish).collect();
        self.rows = 0;
        let batch = RecordBatch::try_new(self.schema.clone(), arrays).map_err(io::Error::other)?;
        self.writer.write(&batch).map_err(io::Error::other)
    }

    pub(super) fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        self.writer.into_inner().map_err(io::Error::other)
    }
}

/// The values of a column.
enum Builder {
    Signed(Int64Builder),
    Unsigned(UInt64Builder),
    Float(Float64Builder),
    Bool(BooleanBuilder),
    Text(StringBuilder),
    Json(StringBuilder),
    Numbers(ListBuilder<UInt64Builder>),
    Texts(ListBuilder<StringBuilder>),
}

impl Builder {
    fn of(kind: Kind) -> Builder {
        let element = |kind| Field::new("element", kind, true);
        match kind {
            Kind::Signed => Builder::Signed(Int64Builder::new()),
            Kind::Unsigned => Builder::Unsigned(UInt64Builder::new()),
            Kind::Float => Builder::Float(Float64Builder::new()),
            Kind::Bool => Builder::Bool(BooleanBuilder::new()),
            Kind::Text => Builder::Text(StringBuilder::new()),
            Kind::Json => Builder::Json(StringBuilder::new()),
            Kind::Numbers => {
                let list = ListBuilder::new(UInt64Builder::new());
                Builder::Numbers(list.with_field(element(DataType::UInt64)))
            }
            Kind::Texts => {
                let list = ListBuilder::new(StringBuilder::new());
                Builder::Texts(list.with_field(element(DataType::Utf8)))
            }
        }
    }

    fn data_type(&self) -> DataType {
        let list = |kind| DataType::List(Arc::new(Field::new("element", kind, true)));
        match self {
            Builder::Signed(_) => DataType::Int64,
            Builder::Unsigned(_) => DataType::UInt64,
            Builder::Float(_) => DataType::Float64,
            Builder::Bool(_) => DataType::Boolean,
            Builder::Text(_) | Builder::Json(_) => DataType::Utf8,
            Builder::Numbers(_) => list(DataType::UInt64),
            Builder::Texts(_) => list(DataType::Utf8),
        }
    }

    /// Adds a value; `None` if it is of another type.
    fn put(&mut self, value: &Value) -> Option<()> {
        let is_there = !value.is_null();
        match self {
            Builder::Signed(to) if is_there => to.append_value(value.as_i64()?),
            Builder::Signed(to) => to.append_null(),
            Builder::Unsigned(to) if is_there => to.append_value(value.as_u64()?),
            Builder::Unsigned(to) => to.append_null(),
            Builder::Float(to) if is_there => to.append_value(value.as_f64()?),
            Builder::Float(to) => to.append_null(),
            Builder::Bool(to) if is_there => to.append_value(value.as_bool()?),
            Builder::Bool(to) => to.append_null(),
            Builder::Text(to) if is_there => to.append_value(value.as_str()?),
            Builder::Json(to) if is_there => to.append_value(value.to_string()),
            Builder::Text(to) | Builder::Json(to) => to.append_null(),
            Builder::Numbers(to) if is_there => {
                value.as_array()?.iter().for_each(|one| to.values().append_option(one.as_u64()));
                to.append(true);
            }
            Builder::Numbers(to) => to.append(false),
            Builder::Texts(to) if is_there => {
                value.as_array()?.iter().for_each(|one| to.values().append_option(one.as_str()));
                to.append(true);
            }
            Builder::Texts(to) => to.append(false),
        }
        Some(())
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::Signed(of) => Arc::new(of.finish()),
            Builder::Unsigned(of) => Arc::new(of.finish()),
            Builder::Float(of) => Arc::new(of.finish()),
            Builder::Bool(of) => Arc::new(of.finish()),
            Builder::Text(of) | Builder::Json(of) => Arc::new(of.finish()),
            Builder::Numbers(of) => Arc::new(of.finish()),
            Builder::Texts(of) => Arc::new(of.finish()),
        }
    }
}
