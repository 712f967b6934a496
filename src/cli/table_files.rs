//! `--csv`, `--ndjson`, `--parquet`: directories for tables, one file for each.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use clap::Args;

use super::{
    output::{self, Kind, OutFile},
    say,
};
use rdmawire::{
    grammar::print::several,
    report::table::{Format, TableOf, Tabular},
};

/// Where tables are written, and in which formats.
#[derive(Debug, Args)]
pub(super) struct TableDirectories {
    /// Also write tables for databases and notebooks into this directory, a CSV file for each; `rdmawire explain tables` describes
    /// them.
    #[arg(long, value_name = "DIR")]
    csv: Option<PathBuf>,
    /// Also write these tables with one JSON object on each line.
    #[arg(long, value_name = "DIR")]
    ndjson: Option<PathBuf>,
    /// Also write these tables as Parquet.
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "DIR")]
    parquet: Option<PathBuf>,
}

impl TableDirectories {
    pub(super) fn are_asked(&self) -> bool {
        self.asked().next().is_some()
    }

    /// Makes the directories that are not there. Files that exist are only replaced with `force`.
    pub(super) fn make(&self, force: bool) -> impl Iterator<Item = anyhow::Result<TableDirectory>> {
        self.asked().map(move |(path, format)| TableDirectory::make(path, format, force))
    }

    /// Opens the files of all tables of a report, before anything is read for it.
    pub(super) fn open<R: Tabular>(&self, force: bool) -> anyhow::Result<OpenTables<R>> {
        let open = |directory: anyhow::Result<TableDirectory>| {
            let directory = directory?;
            let files = R::TABLES.iter().map(|table| Ok((table, directory.create(table.name())?)));
            anyhow::Ok(OpenDirectory { files: files.collect::<anyhow::Result<_>>()?, directory })
        };
        Ok(OpenTables(self.make(force).map(open).collect::<anyhow::Result<_>>()?))
    }

    fn asked(&self) -> impl Iterator<Item = (&Path, Format)> {
        let asked = [
            (&self.csv, Format::Csv),
            (&self.ndjson, Format::Ndjson),
            #[cfg(feature = "parquet")]
            (&self.parquet, Format::Parquet),
        ];
        asked.into_iter().filter_map(|(directory, format)| Some((directory.as_deref()?, format)))
    }
}

/// The files of the tables of a report, in each directory that was asked for. Those that are not written are not left behind.
pub(super) struct OpenTables<R: 'static>(Vec<OpenDirectory<R>>);

/// The files go before their directory.
struct OpenDirectory<R: 'static> {
    files: Vec<(&'static TableOf<R>, OutFile)>,
    directory: TableDirectory,
}

impl<R> OpenTables<R> {
    /// Writes and keeps them. `capture` is the name of what the report is of.
    pub(super) fn write(self, capture: &str, report: &R) -> anyhow::Result<()> {
        self.0.into_iter().try_for_each(|OpenDirectory { files, directory }| {
            let write =
                |(table, file): (&TableOf<R>, _)| table.write(file, directory.format, capture, report);
            directory.keep(files.into_iter().map(write).collect::<Result<_, _>>()?)
        })
    }
}

/// A directory for tables. If this run made it, and nothing came into it, it goes again: drop the files before it.
pub(super) struct TableDirectory {
    pub(super) format: Format,
    path: PathBuf,
    force: bool,
    is_new: bool,
}

impl TableDirectory {
    fn make(path: &Path, format: Format, force: bool) -> anyhow::Result<TableDirectory> {
        if path == Path::new("-") {
            bail!(
                "tables are several files: give a directory (./- for one of that name); `rdmawire sql` prints one table to standard output"
            );
        }
        let is_new = !path.exists();
        if path.is_file() {
            bail!("{}: is a file; the tables need a directory", path.display());
        }
        fs::create_dir_all(path).with_context(|| format!("making {}", path.display()))?;
        Ok(TableDirectory { format, path: path.to_owned(), force, is_new })
    }

    /// The file of a table.
    pub(super) fn create(&self, table: &str) -> anyhow::Result<OutFile> {
        output::create(
            &self.path.join(format!("{table}.{}", self.format.extension())),
            Kind::Other,
            self.force,
        )
    }

    /// Keeps the files that were written into it, and says so.
    pub(super) fn keep(&self, files: Vec<OutFile>) -> anyhow::Result<()> {
        let count = several(files.len() as u64, "table");
        files.into_iter().try_for_each(OutFile::keep_quietly)?;
        say(format_args!("wrote {count} into {}", self.path.display()));
        Ok(())
    }

    pub(super) fn display(&self) -> impl std::fmt::Display {
        self.path.display()
    }
}

impl Drop for TableDirectory {
    fn drop(&mut self) {
        if self.is_new {
            // Fails if there is something in it.
            let _ = fs::remove_dir(&self.path);
        }
    }
}
