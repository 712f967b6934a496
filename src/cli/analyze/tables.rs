//! `--csv`, `--ndjson`, `--parquet`: tables of a report, and of messages.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use clap::Args;

use super::output::Output;
use crate::cli::{
    output::{self, Kind, OutFile},
    say,
};
use rdmawire::{
    analyze::metric::timeline::Timeline,
    grammar::print::several,
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
    pub(super) fn outputs(&self, force: bool) -> anyhow::Result<Vec<Box<dyn Output>>> {
        let output =
            |(directory, format)| Ok(Box::new(self.begin(directory, format, force)?) as Box<dyn Output>);
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

    fn begin(&self, directory: &Path, format: Format, force: bool) -> anyhow::Result<TableOutput> {
        let directory = Directory::make(directory)?;
        let mut failed = None;
        let mut create = |table: &str| {
            let path = directory.path.join(format!("{table}.{}", format.extension()));
            output::create(&path, Kind::Other, force).map_err(|error| {
                failed = Some(error);
                io::Error::other("not created")
            })
        };
        let begun = Tables::new(format, |table| create(table.name())).and_then(|tables| {
            let messages = self.messages.then(|| Messages::new(create("messages")?, format));
            Ok((tables, messages.transpose()?))
        });
        match (begun, failed) {
            (Ok((tables, messages)), _) => Ok(TableOutput { tables, messages, directory }),
            (Err(_), Some(error)) => Err(error),
            (Err(error), None) => Err(error).with_context(|| directory.path.display().to_string()),
        }
    }
}

/// Tables of one format.
struct TableOutput {
    // Files are dropped before the directory that they are in.
    tables: Tables<OutFile>,
    messages: Option<Messages<OutFile>>,
    directory: Directory,
}

/// The directory of tables. If this run made it, and nothing came into it, it goes again.
struct Directory {
    path: PathBuf,
    is_new: bool,
}

impl Directory {
    fn make(path: &Path) -> anyhow::Result<Directory> {
        let is_new = !path.exists();
        fs::create_dir_all(path).with_context(|| format!("making {}", path.display()))?;
        Ok(Directory { path: path.to_owned(), is_new })
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if self.is_new {
            // Fails if there is something in it.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

impl Output for TableOutput {
    fn report(&mut self, report: &View<'_>, _: Option<&Timeline>) -> anyhow::Result<()> {
        Ok(self.tables.add(report)?)
    }

    fn message(&mut self, capture: &str, message: &Message) -> io::Result<()> {
        self.messages.as_mut().map_or(Ok(()), |rows| rows.put(capture, message))
    }

    fn end(self: Box<Self>) -> anyhow::Result<()> {
        let TableOutput { tables, messages, directory } = *self;
        let mut files = tables.finish()?;
        if let Some(messages) = messages {
            files.push(messages.finish()?);
        }
        let count = several(files.len() as u64, "table");
        files.into_iter().try_for_each(OutFile::keep_quietly)?;
        say(format_args!("wrote {count} into {}", directory.path.display()));
        Ok(())
    }
}
