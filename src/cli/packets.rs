//! `rdmawire packets`: a row for each packet.

use std::{
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
};

use anyhow::{Context, bail};
use clap::Args;

use super::{
    Outcome,
    input::{self, PartFiles, Progress, STOP, say_damage},
    output::{self, Kind, OutFile},
    say,
    trace::{Captures, Merging, Trace, name_of_trace},
    tracking::Tracking,
};
use rdmawire::{
    analyze::metric::messages::Messages,
    capture::{Packing, Source},
    filter::FrameMeta,
    grammar::{did_you_mean, nearest},
    packets::{Column, Format, Packets as Rows},
    report::table::Messages as MessageRows,
};

/// Write a row for each packet: values of its headers, and what the analysis says of it. Or a row for each message.
///
/// For DuckDB, ClickHouse, Polars, Spark and notebooks. `rdmawire explain table packets` lists the columns. There is no payload.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire packets x.pcap -o packets.csv
  rdmawire packets --filter 'aeth.nak' host-a.pcap host-b.pcap -o naks.ndjson
  rdmawire packets --messages x.pcap -o messages.csv")]
pub(super) struct Packets {
    /// The captures, one after the other, unless they are merged; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    merging: Merging,
    /// The file to write: .csv or .ndjson, with .gz or .zst behind, or .parquet where that feature is built in; `-` is CSV on standard output.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Replace the file if it exists.
    #[arg(long)]
    force: bool,
    /// Write a row for each message instead: operation, PSNs, frames, size, times, completion, retransmitted packets.
    /// `rdmawire explain table messages` lists the columns.
    #[arg(long)]
    messages: bool,
    /// Write only these columns, in this order: src,dst,bth.psn,class. Without a column of the analysis, frames are not analyzed.
    #[arg(long, value_name = "A,B,C", value_delimiter = ',', value_parser = column, conflicts_with = "messages")]
    fields: Vec<&'static Column>,
    #[command(flatten)]
    tracking: Tracking,
}

fn column(name: &str) -> Result<&'static Column, String> {
    Column::of(name.trim()).ok_or_else(|| {
        let near = nearest(name, Column::all().flat_map(Column::names).map(str::to_owned));
        format!(
            "there is no such column{}",
            did_you_mean(&near, "; rdmawire explain table packets lists all")
        )
    })
}

impl Packets {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        super::signals::end_on_signal(&STOP);
        let traces = self.merging.traces(&self.files)?;
        // Nothing is written if the first capture cannot be read, nor the line with the names of the columns.
        let first = traces.first().map(|captures| Trace::open_all(captures)).transpose()?;
        if self.output == Path::new("-") {
            let out = io::BufWriter::new(io::stdout());
            let (mut out, is_all) = self.write(&traces, first, out, Format::Csv)?;
            out.flush()?;
            return Ok(if is_all { Outcome::Done } else { Outcome::Failed });
        }
        let (packing, plain) = Packing::of(&self.output);
        let format = match plain.extension().and_then(|end| end.to_str()) {
            Some("csv") => Format::Csv,
            Some("ndjson" | "jsonl") => Format::Ndjson,
            #[cfg(feature = "parquet")]
            Some("parquet") => Format::Parquet,
            #[cfg(not(feature = "parquet"))]
            Some("parquet") => bail!(
                "{}: this build has no Parquet: it comes with the feature parquet, as of `cargo install --path . --features parquet`",
                self.output.display()
            ),
            _ => bail!(
                "{}: its name must end in .csv, .ndjson or .parquet; .gz or .zst may follow the first two",
                self.output.display()
            ),
        };
        #[cfg(feature = "parquet")]
        if format == Format::Parquet && packing != Packing::None {
            bail!("{}: Parquet is compressed inside: leave .gz or .zst away", self.output.display());
        }
        let file = output::create(&self.output, Kind::Other, self.force)?;
        let file = packing.around(file).with_context(|| self.output.display().to_string())?;
        let (file, is_all) = self.write(&traces, first, file, format)?;
        file.finish().and_then(OutFile::keep)?;
        Ok(if is_all { Outcome::Done } else { Outcome::Failed })
    }

    /// Writes all rows; `first` is the first trace. Returns the file, and whether all captures could be read.
    fn write<W: Write + Send + 'static>(
        &self,
        traces: &[Vec<PartFiles>],
        first: Option<Trace>,
        file: W,
        format: Format,
    ) -> anyhow::Result<(W, bool)> {
        match self.messages {
            true => self.write_messages(traces, first, file, format),
            false => {
                let is_shown = self.output == Path::new("-") && io::stdout().is_terminal();
                let Packets { tracking, fields, .. } = self;
                RowsOf { tracking, fields, is_shown }.write(traces, first, file, format)
            }
        }
    }

    /// Writes all messages; `first` is the first trace. Returns the file, and whether all captures could be read.
    fn write_messages<W: Write + Send + 'static>(
        &self,
        traces: &[Vec<PartFiles>],
        mut first: Option<Trace>,
        file: W,
        format: Format,
    ) -> anyhow::Result<(W, bool)> {
        let table = MessageFile::new(file, format)?;
        let mut is_all = true;
        for captures in traces {
            let Some(mut source) = first.take().or_else(|| opened(captures)) else {
                is_all = false;
                continue;
            };
            let metric = table.metric(&name_of_trace(captures));
            let (mut ended, is_read) = self.tracking.follow_with(&mut source, metric)?;
            if let Some(messages) = ended.metric_mut::<Messages>() {
                messages.end();
            }
            is_all &= is_read;
        }
        Ok((table.finish()?, is_all && !STOP.load(Ordering::Relaxed)))
    }
}

/// A capture behind the first one. If it cannot be read, that is said, and the rows of the others are written.
fn opened(captures: &[PartFiles]) -> Option<Trace> {
    Trace::open_all(captures).inspect_err(|error| say(format_args!("{error:#}"))).ok()
}

/// A table of messages that analyses write into.
pub(super) struct MessageFile<W: Write + Send + 'static>(Arc<Mutex<(MessageRows<W>, io::Result<()>)>>);

impl<W: Write + Send + 'static> MessageFile<W> {
    pub(super) fn new(file: W, format: Format) -> io::Result<MessageFile<W>> {
        Ok(MessageFile(Arc::new(Mutex::new((MessageRows::new(file, format)?, Ok(()))))))
    }

    /// The metric of the analysis of a capture of this name: its messages come into the table.
    pub(super) fn metric(&self, capture: &str) -> Messages {
        let (capture, to) = (capture.to_owned(), self.0.clone());
        Messages::new(move |message| {
            let (rows, written) = &mut *to.lock().unwrap_or_else(PoisonError::into_inner);
            if written.is_ok() {
                *written = rows.put(&capture, message);
            }
        })
    }

    /// Completes the file after all analyses, and gives it back.
    pub(super) fn finish(self) -> anyhow::Result<W> {
        let table = Arc::into_inner(self.0).context("the table of messages is still in use")?;
        let (rows, written) = table.into_inner().unwrap_or_else(PoisonError::into_inner);
        written?;
        Ok(rows.finish()?)
    }
}

/// Rows of packets.
pub(super) struct RowsOf<'a> {
    pub(super) tracking: &'a Tracking,
    /// All columns if there are none.
    pub(super) fields: &'a [&'static Column],
    /// The user sees them as they come: no progress is shown.
    pub(super) is_shown: bool,
}

impl RowsOf<'_> {
    /// Writes all rows; `first` is the first trace. Returns the file, and whether all captures could be read.
    pub(super) fn write<W: Write + Send + 'static>(
        &self,
        traces: &[Vec<PartFiles>],
        mut first: Option<Trace>,
        file: W,
        format: Format,
    ) -> anyhow::Result<(W, bool)> {
        let filter = self.tracking.filter()?;
        let options = self.tracking.options(1);
        let mut rows = match self.fields {
            [] => Rows::new(file, format)?,
            columns => Rows::with_columns(file, format, columns)?,
        };
        let mut is_all = true;
        for captures in traces {
            let Some(mut source) = first.take().or_else(|| opened(captures)) else {
                is_all = false;
                continue;
            };
            let progress = (!self.is_shown).then(|| Progress::new(source.info()));
            rows.begin(&name_of_trace(captures), options.clone())?;
            let read = input::each_while(&mut source, progress, |number, record| {
                // Without a filter, only some columns ask for the ICRC.
                let Some(filter) = &filter else {
                    rows.push(record)?;
                    return Ok(true);
                };
                let (d, icrc) = options.examine(record);
                let meta = FrameMeta { number, time_ns: record.time.0, icrc: Some(icrc) };
                match filter.matches(&d, &meta) {
                    true => rows.push_examined(record, &d, icrc)?,
                    false => rows.pass_over(),
                }
                Ok(true)
            })?;
            is_all &= read.was_read_whole(&source.info().name);
            source.captures().into_iter().flat_map(|capture| capture.files()).for_each(say_damage);
        }
        Ok((rows.finish()?, is_all && !STOP.load(Ordering::Relaxed)))
    }
}
