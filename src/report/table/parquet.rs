//! Tables as Apache Parquet.

use std::{
    collections::HashMap,
    io::{self, Write},
    sync::Arc,
};

use arrow_json::reader::{Decoder, ReaderBuilder};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, Encoding, ZstdLevel},
    file::properties::WriterProperties,
    schema::types::ColumnPath,
};
use serde_json::{Map, Value};

use super::columns::{Column, Kind};

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
    decoder: Decoder,
    rows: Vec<Map<String, Value>>,
}

impl<W: Write + Send> Parquet<W> {
    pub(super) fn new(file: W, columns: &[Column]) -> io::Result<Parquet<W>> {
        let of_column = |column: &Column| {
            let of = |kind: DataType| DataType::List(Arc::new(Field::new("element", kind, true)));
            let kind = match column.kind {
                Kind::Signed => DataType::Int64,
                Kind::Unsigned => DataType::UInt64,
                Kind::Float => DataType::Float64,
                Kind::Bool => DataType::Boolean,
                Kind::Text | Kind::Json => DataType::Utf8,
                Kind::Numbers => of(DataType::UInt64),
                Kind::Texts => of(DataType::Utf8),
            };
            field(&column.name, kind, &column.doc)
        };
        let schema = Arc::new(Schema::new(columns.iter().map(of_column).collect::<Vec<_>>()));
        let writer = writer(file, schema.clone(), &[])?;
        let decoder =
            ReaderBuilder::new(schema).with_batch_size(BATCH).build_decoder().map_err(io::Error::other)?;
        Ok(Parquet { writer, decoder, rows: Vec::with_capacity(BATCH) })
    }

    pub(super) fn put(&mut self, row: Map<String, Value>) -> io::Result<()> {
        self.rows.push(row);
        if self.rows.len() == BATCH { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.decoder.serialize(&self.rows).map_err(io::Error::other)?;
        self.rows.clear();
        if let Some(batch) = self.decoder.flush().map_err(io::Error::other)? {
            self.writer.write(&batch).map_err(io::Error::other)?;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        self.writer.into_inner().map_err(io::Error::other)
    }
}
