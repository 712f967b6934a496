//! Tables as Apache Parquet.

use std::{
    io::{self, Write},
    sync::Arc,
};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema, SchemaRef};
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, Encoding, ZstdLevel},
    file::properties::WriterProperties,
    schema::types::ColumnPath,
};

use super::{
    Column,
    arrow::{Builder, field},
    row::Row,
};

/// Rows that are converted at a time.
const BATCH: usize = 1024;
/// Most rows of a row group. Readers skip groups by their statistics.
const GROUP: usize = 1 << 17;

/// The writer of a file: compressed, in row groups. Integers are written as differences: to hash them for a dictionary takes longer, and
/// the file is larger. Bytes differ from row to row, and have no dictionary either.
pub(crate) fn writer<W: Write + Send>(file: W, schema: SchemaRef) -> io::Result<ArrowWriter<W>> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(GROUP));
    for field in schema.fields() {
        let column = ColumnPath::from(field.name().as_str());
        let is_time = matches!(field.data_type(), DataType::Timestamp(..));
        if field.data_type().is_integer() || is_time {
            properties = properties.set_column_encoding(column.clone(), Encoding::DELTA_BINARY_PACKED);
        }
        if field.data_type().is_integer() || is_time || field.data_type().is_binary() {
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
        let of_column = |column: &Column| field(&column.name, column.kind.data_type(), column.doc);
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
