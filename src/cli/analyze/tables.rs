//! `--csv`, `--ndjson`, `--parquet`: tables of a report, and of messages.

use std::io;

use anyhow::{Context as _, bail};
use clap::Args;

use super::output::Output;
use crate::cli::{
    output::OutFile,
    table_files::{TableDirectories, TableDirectory},
};
use rdmawire::{
    analyze::metric::timeline::Timeline,
    report::{
        Message, View,
        table::{Messages, Tables},
    },
};

/// Which tables are written, and where.
#[derive(Debug, Args)]
pub(super) struct TableFiles {
    #[command(flatten)]
    directories: TableDirectories,
    /// Add a table of messages, a row for each one. Captures are then analyzed one after the other.
    #[arg(long)]
    messages: bool,
}

impl TableFiles {
    pub(super) fn has_messages(&self) -> bool {
        self.messages
    }

    pub(super) fn check(&self) -> anyhow::Result<()> {
        if self.messages && !self.directories.are_asked() {
            bail!("--messages is a table: give the directory of --csv, --ndjson or --parquet");
        }
        Ok(())
    }

    /// The tables of each format that is asked for.
    pub(super) fn outputs(&self, force: bool) -> anyhow::Result<Vec<Box<dyn Output>>> {
        let output = |directory| Ok(Box::new(self.begin(directory?)?) as Box<dyn Output>);
        self.directories.make(force).map(output).collect()
    }

    fn begin(&self, directory: TableDirectory) -> anyhow::Result<TableOutput> {
        let format = directory.format;
        let mut failed = None;
        let mut create = |table: &str| {
            directory.create(table).map_err(|error| {
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
            (Err(error), None) => Err(error).with_context(|| directory.display().to_string()),
        }
    }
}

/// Tables of one format.
struct TableOutput {
    // Files are dropped before the directory that they are in.
    tables: Tables<OutFile>,
    messages: Option<Messages<OutFile>>,
    directory: TableDirectory,
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
        directory.keep(files)
    }
}
