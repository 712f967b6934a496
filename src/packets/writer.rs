//! Files of rows.
//!
//! ```no_run
//! use rdmawire::{analyze::Options, capture::{self, Source}, packets::{Format, Packets}};
//!
//! let mut source = capture::open("x.pcap".as_ref())?;
//! let mut packets = Packets::new(std::fs::File::create("packets.csv")?, Format::Csv)?;
//! packets.begin("x.pcap", Options::default())?;
//! while let Some(record) = source.next()? {
//!     packets.push(&record)?;
//! }
//! packets.finish()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::io;

#[cfg(feature = "parquet")]
use super::parquet::Parquet;
use super::{Column, Format, Rows, text::Lines};
use crate::{analyze::Options, capture::Record, dissect::Dissection, icrc::State};

/// Lines that are written at a time.
const LINES: usize = 1 << 10;

/// Writes packets as rows. A row is written when the class of its packet is known, or after
/// [`Rows::MOST_WAITING`] others.
pub struct Packets<W: io::Write + Send> {
    file: File<W>,
    /// Whether a column is of the analysis.
    is_analyzed: bool,
}

enum File<W: io::Write + Send> {
    Text(Box<Rows<Lines>>, W),
    #[cfg(feature = "parquet")]
    Parquet(Box<Parquet<W>>),
}

/// Calls a function of the rows, and writes those that are complete.
macro_rules! with_rows {
    ($file:expr, $rows:ident => $change:expr) => {
        match &mut $file {
            File::Text($rows, file) => {
                $change;
                while let Some(part) = $rows.next_part() {
                    file.write_all($rows.form().complete(&part)?.as_bytes())?;
                }
            }
            #[cfg(feature = "parquet")]
            File::Parquet(parquet) => {
                let $rows = &mut parquet.rows;
                $change;
                while let Some(part) = parquet.rows.next_part() {
                    parquet.put(part)?;
                }
            }
        }
    };
}

impl<W: io::Write + Send> Packets<W> {
    /// Starts a file with all columns.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(file: W, format: Format) -> io::Result<Packets<W>> {
        Packets::with_columns(file, format, &Column::all().collect::<Vec<_>>())
    }

    /// Starts a file with these columns, in this order. One that is named twice comes once. Frames are analyzed only for columns that need it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn with_columns(mut file: W, format: Format, columns: &[&'static Column]) -> io::Result<Packets<W>> {
        let mut once: Vec<&'static Column> = Vec::new();
        for &column in columns {
            if once.iter().all(|before| before.name != column.name) {
                once.push(column);
            }
        }
        let columns = &once[..];
        let is_analyzed = columns.iter().any(|column| column.is_verdict());
        let lines = match format {
            Format::Csv => Lines::new(columns, false),
            Format::Ndjson => Lines::new(columns, true),
            #[cfg(feature = "parquet")]
            Format::Parquet => {
                let file = File::Parquet(Box::new(Parquet::new(file, columns)?));
                return Ok(Packets { file, is_analyzed });
            }
        };
        file.write_all(lines.head().as_bytes())?;
        let file = File::Text(Box::new(Rows::new(lines, LINES)), file);
        Ok(Packets { file, is_analyzed })
    }

    /// Begins with another capture.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin(&mut self, capture: &str, options: Options) -> io::Result<()> {
        let is_analyzed = self.is_analyzed;
        with_rows!(self.file, rows => rows.begin(capture, options, is_analyzed));
        Ok(())
    }

    /// Adds a frame.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn push(&mut self, record: &Record<'_>) -> io::Result<()> {
        with_rows!(self.file, rows => rows.push(record));
        Ok(())
    }

    /// Adds a frame that was dissected, and whose ICRC was verified, [with the same options](Options::examine).
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn push_examined(&mut self, record: &Record<'_>, d: &Dissection<'_>, icrc: State) -> io::Result<()> {
        with_rows!(self.file, rows => rows.push_examined(record, d, Some(icrc)));
        Ok(())
    }

    /// Passes over a frame. The analysis does not see it.
    pub fn pass_over(&mut self) {
        match &mut self.file {
            File::Text(rows, _) => rows.pass_over(),
            #[cfg(feature = "parquet")]
            File::Parquet(parquet) => parquet.rows.pass_over(),
        }
    }

    /// Completes the file, and gives it back.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        with_rows!(self.file, rows => rows.end());
        match self.file {
            File::Text(_, file) => Ok(file),
            #[cfg(feature = "parquet")]
            File::Parquet(parquet) => parquet.finish(),
        }
    }
}
