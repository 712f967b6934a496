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

use super::{Cell, Column, Kind, row::Row};

/// Rows that are converted at a time.
const BATCH: usize = 1024;
/// Most rows of a row group. Readers skip groups by their statistics.
const GROUP: usize = 1 << 17;

/// A column, with what it means as metadata. Each may be empty.
pub(crate) fn field(name: &str, kind: DataType, doc: &str) -> Field {
    Field::new(name, kind, true).with_metadata(HashMap::from([("doc".to_owned(), doc.to_owned())]))
}

/// The writer of a file: compressed, in row groups. Integers are written as differences: to hash them for a dictionary takes longer, and
/// the file is larger. Bytes differ from row to row, and have no dictionary either.
pub(crate) fn writer<W: Write + Send>(file: W, schema: SchemaRef) -> io::Result<ArrowWriter<W>> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(GROUP));
    for field in schema.fields() {
        let column = ColumnPath::from(field.name().as_str());
        if field.data_type().is_integer() {
            properties = properties.set_column_encoding(column.clone(), Encoding::DELTA_BINARY_PACKED);
        }
        if field.data_type().is_integer() || field.data_type().is_binary() {
            properties = properties.set_column_dictionary_enabled(column, false);
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
        let writer = writer(file, schema.clone())?;
        let cells = columns.iter().map(|column| Builder::of(column.kind)).collect();
        Ok(Parquet { writer, schema, cells, rows: 0 })
    }

    pub(super) fn put(&mut self, row: &impl Row) -> io::Result<()> {
        let mut cells = self.cells.iter_mut();
        row.put_cells(&mut |cell| match cells.next() {
            Some(to) => to.put(cell),
            None => Ok(()),
        })?;
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
            Kind::I64 => Builder::Signed(Int64Builder::new()),
            Kind::U64 => Builder::Unsigned(UInt64Builder::new()),
            Kind::F64 => Builder::Float(Float64Builder::new()),
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

    /// Adds a value.
    ///
    /// # Errors
    /// The column is of another type.
    fn put(&mut self, cell: Cell<'_>) -> io::Result<()> {
        match (self, cell) {
            (Builder::Signed(to), Cell::Signed(number)) => to.append_value(number),
            (Builder::Signed(to), Cell::Empty) => to.append_null(),
            (Builder::Unsigned(to), Cell::Unsigned(number)) => to.append_value(number),
            (Builder::Unsigned(to), Cell::Empty) => to.append_null(),
            (Builder::Float(to), Cell::Float(number)) => to.append_value(number),
            (Builder::Float(to), Cell::Empty) => to.append_null(),
            (Builder::Bool(to), Cell::Bool(is)) => to.append_value(is),
            (Builder::Bool(to), Cell::Empty) => to.append_null(),
            (Builder::Text(to), Cell::Text(text)) => to.append_value(text),
            (Builder::Json(to), Cell::Json(any)) => {
                let mut text = Vec::new();
                any.write(&mut text)?;
                to.append_value(String::from_utf8_lossy(&text));
            }
            (Builder::Text(to) | Builder::Json(to), Cell::Empty) => to.append_null(),
            (Builder::Numbers(to), Cell::List(list)) => {
                list.items(&mut |item| {
                    to.values().append_option(if let Cell::Unsigned(number) = item {
                        Some(number)
                    } else {
                        None
                    });
                    Ok(())
                })?;
                to.append(true);
            }
            (Builder::Numbers(to), Cell::Empty) => to.append(false),
            (Builder::Texts(to), Cell::List(list)) => {
                list.items(&mut |item| {
                    to.values().append_option(if let Cell::Text(text) = item { Some(text) } else { None });
                    Ok(())
                })?;
                to.append(true);
            }
            (Builder::Texts(to), Cell::Empty) => to.append(false),
            _ => return Err(io::Error::other("a cell is of another type than its column")),
        }
        Ok(())
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
