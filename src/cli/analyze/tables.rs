//! `--csv`, `--ndjson`, `--parquet`: tables of a report, and of messages.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow, bail};
use clap::Args;

use super::output::Output;
use crate::cli::output;
use rdmawire::{
    analyze::metric::timeline::Timeline,
    capture::WholeFile,
    report::{
        Message, View,
        table::{Format, Messages, Tables},
    },
};

/// Which tables are written, and where.
#[derive(Debug, Args)]
pub(super) struct TableFiles {
    /// Also write tables for databases and notebooks into this directory: flows.csv, episodes.csv, …; `rdmawire explain tables`
    /// describes them.
    #[arg(long, value_name = "DIR")]
    csv: Option<PathBuf>,
    /// Also write these tables with one JSON object on each line.
    #[arg(long, value_name = "DIR")]
    ndjson: Option<PathBuf>,
    /// Also write these tables as Parquet.
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "DIR")]
    parquet: Option<PathBuf>,
    /// Add a table of messages, a row for each one. Captures are then analyzed one after the other.
    #[arg(long)]
    messages: bool,
    /// Replace tables that exist.
    #[arg(long)]
    force: bool,
}

impl TableFiles {
    pub(super) fn has_messages(&self) -> bool {
        self.messages
    }

    pub(super) fn check(&self) -> anyhow::Result<()> {
        if self.messages && self.directories().next().is_none() {
            bail!("--messages is a table: give the directory of --csv, --ndjson or --parquet");
        }
        Ok(())
    }

    /// The tables of each format that is asked for.
    pub(super) fn outputs(&self) -> anyhow::Result<Vec<Box<dyn Output>>> {
        let output = |(directory, format)| Ok(Box::new(self.begin(directory, format)?) as Box<dyn Output>);
        self.directories().map(output).collect()
    }

    fn directories(&self) -> impl Iterator<Item = (&Path, Format)> {
        let asked = [
            (&self.csv, Format::Csv),
            (&self.ndjson, Format::Ndjson),
            #[cfg(feature = "parquet")]
            (&self.parquet, Format::Parquet),
        ];
        asked.into_iter().filter_map(|(directory, format)| Some((directory.as_deref()?, format)))
    }

    fn begin(&self, directory: &Path, format: Format) -> anyhow::Result<TableOutput> {
        fs::create_dir_all(directory).with_context(|| format!("making {}", directory.display()))?;
        let mut at = PathBuf::new();
        let mut create = |table: &str| {
            at = directory.join(format!("{table}.{}", format.extension()));
            output::create(&at, self.force)
        };
        let begun = Tables::new(format, |table| create(table.name())).and_then(|tables| {
            let messages = self.messages.then(|| Messages::new(create("messages")?, format));
            Ok(TableOutput { tables, messages: messages.transpose()? })
        });
        begun.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => anyhow!("{} exists; --force replaces it", at.display()),
            _ => anyhow!("{}: {error}", at.display()),
        })
    }
}

/// Tables of one format.
struct TableOutput {
    tables: Tables<WholeFile>,
    messages: Option<Messages<WholeFile>>,
}

impl Output for TableOutput {
    fn report(&mut self, report: &View<'_>, _: Option<&Timeline>) -> anyhow::Result<()> {
        Ok(self.tables.add(report)?)
    }

    fn message(&mut self, capture: &str, message: &Message) -> io::Result<()> {
        self.messages.as_mut().map_or(Ok(()), |rows| rows.put(capture, message))
    }

    fn end(self: Box<Self>) -> anyhow::Result<()> {
        self.tables.finish()?.into_iter().try_for_each(WholeFile::keep)?;
        Ok(self.messages.map_or(Ok(()), |rows| rows.finish()?.keep())?)
    }
}
