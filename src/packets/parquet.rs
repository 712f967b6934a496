//! Rows as Apache Parquet.

use std::io::{self, Write};

use parquet::arrow::ArrowWriter;

use super::{Batch, Column, Headers, Part, Rows};
use crate::report::table::parquet::writer;

/// Rows that are converted at a time.
const BATCH: usize = 1 << 13;
pub(super) struct Parquet<W: Write + Send> {
    pub(super) rows: Rows<Batch>,
    writer: ArrowWriter<W>,
}

impl<W: Write + Send> Parquet<W> {
    pub(super) fn new(file: W, columns: &[&'static Column]) -> io::Result<Parquet<W>> {
        let batch = Batch::new(columns);
        let writer = writer(file, batch.schema().clone())?;
        Ok(Parquet { rows: Rows::new(batch, BATCH), writer })
    }

    pub(super) fn put(&mut self, part: Part<Headers>) -> io::Result<()> {
        let batch = self.rows.form().complete(part).map_err(io::Error::other)?;
        self.writer.write(&batch).map_err(io::Error::other)
    }

    pub(super) fn finish(self) -> io::Result<W> {
        self.writer.into_inner().map_err(io::Error::other)
    }
}
