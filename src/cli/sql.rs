//! `rdmawire sql`: questions about captures in SQL, which DuckDB answers.

use std::{
    env,
    fs::{self, DirBuilder, File},
    io::{self, BufWriter, Write as _},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};

use super::{
    Outcome,
    explain::views,
    input::{self, PartFiles, is_stream},
    packets::{MessageFile, RowsOf},
    signals::{STOP, end_on_signal, is_stopped},
    trace::{Merging, Trace, name_of_trace},
    tracking::Tracking,
};
use rdmawire::{
    analyze::{Analysis, Options, metric::messages::Messages},
    capture::Temporary,
    grammar::units,
    report::{
        Message,
        table::{Format, Tables},
    },
};

/// The program that answers.
const DUCKDB: &str = "duckdb";

/// The form of the tables in between.
const FORM: Format = Format::Ndjson;

/// Ask captures in SQL: `rdmawire sql x.pcap 'select src, dst, packets from flows_once order by packets desc'`.
///
/// The tables are those of `analyze --ndjson`; `rdmawire explain tables` describes them. The program `duckdb` must be installed: it
/// answers. Nothing is kept. Tables of `nvme`, `commands`, `fabric` and `diff` are not among them: these commands write them with --csv, --ndjson
/// or --parquet, and `duckdb` reads such files by their names.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire sql x.pcap 'select id, severity, text from findings'
  rdmawire sql --packets x.pcap 'select class, count(*) as packets from packets group by class'
  rdmawire sql --format csv --query query.sql leaf1.pcap leaf2.pcap")]
pub(super) struct Sql {
    /// Capture files, and a query: what has a space in it, and is the name of no file.
    #[arg(required = true, value_name = "FILE|QUERY")]
    what: Vec<String>,
    #[command(flatten)]
    merging: Merging,
    /// Take the query from this file.
    #[arg(long, value_name = "FILE")]
    query: Option<PathBuf>,
    /// How rows are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Form,
    /// Add the table `messages`, a row for each message.
    #[arg(long)]
    messages: bool,
    /// Add the table `packets`, a row for each packet.
    #[arg(long)]
    packets: bool,
    /// Fill the table `intervals` with intervals of this length: 1ms, 1s.
    #[arg(long, value_name = "TIME", value_parser = units::positive_duration)]
    interval: Option<u64>,
    #[command(flatten)]
    tracking: Tracking,
}

/// How rows are printed.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Form {
    /// Boxes, as wide as the terminal.
    #[default]
    Box,
    /// Comma-separated values.
    Csv,
    /// An array of objects for each query.
    Json,
    /// An object on each line.
    Ndjson,
    /// A table of Markdown.
    Markdown,
    /// A line for each value: for rows with many columns.
    Line,
}

impl Form {
    /// DuckDB's argument for it.
    fn argument(self) -> Option<&'static str> {
        match self {
            Form::Box => None,
            Form::Csv => Some("-csv"),
            Form::Json => Some("-json"),
            Form::Ndjson => Some("-jsonlines"),
            Form::Markdown => Some("-markdown"),
            Form::Line => Some("-line"),
        }
    }
}

impl Sql {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let is_query = |what: &&String| what.contains(char::is_whitespace) && !Path::new(what).exists();
        let (queries, files): (Vec<&String>, Vec<&String>) = self.what.iter().partition(is_query);
        let query = match (queries.as_slice(), &self.query) {
            ([query], None) => (*query).clone(),
            ([], Some(path)) => input::text(path).with_context(|| path.display().to_string())?,
            ([], None) => {
                bail!(
                    "which query? like 'select * from findings'; `rdmawire explain tables` describes the tables"
                )
            }
            _ => bail!("more than one query: one may have several statements, with ; between them"),
        };
        let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        if files.is_empty() {
            bail!("which capture? no argument is the name of a file");
        }
        if self.packets
            && let Some(stream) = files.iter().find(|path| is_stream(path))
        {
            bail!("--packets reads captures twice, and {} is a stream", stream.display());
        }
        find_duckdb()?;
        end_on_signal(&STOP);
        let traces = self.merging.traces(&files)?;
        let (directory, ()) = Temporary::beside(&env::temp_dir().join("rdmawire-sql"), make_private)
            .with_context(|| format!("making a directory in {}", env::temp_dir().display()))?;
        let is_all = self.write(&traces, directory.path())?;
        if is_stopped() {
            // The answer for a part would look like that for the whole.
            return Ok(Outcome::Failed);
        }
        let load = directory.path().join("load.sql");
        fs::write(&load, views(directory.path(), self.messages, self.packets)?)?;
        let is_answered = self.answer(&load, &query)?;
        Ok(if is_all && is_answered { Outcome::Done } else { Outcome::Failed })
    }

    /// Writes all tables into a directory. Returns whether all captures could be read; what could not is said.
    fn write(&self, traces: &[Vec<PartFiles>], directory: &Path) -> anyhow::Result<bool> {
        let create = |table: &str| {
            File::create_new(directory.join(table).with_extension(FORM.extension())).map(BufWriter::new)
        };
        let mut tables = Tables::new(FORM, |table| create(table.name()))?;
        let messages = match self.messages {
            true => Some(MessageFile::new(create(Message::TABLE)?, FORM)?),
            false => None,
        };
        let (mut is_all, mut read) = (true, 0);
        for captures in traces {
            let (trace, are_opened) = Trace::open(captures);
            is_all &= are_opened;
            let Some(mut trace) = trace else { continue };
            let options = Options { interval_ns: self.interval, ..self.tracking.options(1) };
            let analysis = match &messages {
                Some(messages) => Analysis::with(options, messages.metric(&name_of_trace(captures))),
                None => Analysis::new(options),
            };
            let (mut ended, is_whole) = self.tracking.follow_by(analysis, &mut trace)?;
            ended.metric_mut::<Messages>().into_iter().for_each(Messages::end);
            tables.add(&ended.report())?;
            is_all &= is_whole;
            read += 1;
        }
        if read == 0 {
            bail!("there is nothing to ask: no capture could be read");
        }
        tables.finish()?.into_iter().try_for_each(|mut file| file.flush())?;
        if let Some(messages) = messages {
            messages.finish()?.flush()?;
        }
        if self.packets {
            let file = create("packets")?;
            let rows = RowsOf { tracking: &self.tracking, fields: &[], is_shown: false };
            let (mut file, is_whole) = rows.write(traces, None, file, FORM)?;
            file.flush()?;
            is_all &= is_whole;
        }
        Ok(is_all)
    }

    /// DuckDB answers on standard output. Returns whether it could.
    fn answer(&self, load: &Path, query: &str) -> anyhow::Result<bool> {
        let status = Command::new(DUCKDB)
            .arg("-bail")
            .args(self.format.argument())
            .args(["-cmd", &format!(".read '{}'", load.display()), "-c", query])
            .status()
            .with_context(|| DUCKDB.to_owned())?;
        Ok(status.success())
    }
}

/// Fails where DuckDB cannot be run, before the long work.
fn find_duckdb() -> anyhow::Result<()> {
    match Command::new(DUCKDB).arg("-version").output() {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => bail!(
            "the program {DUCKDB} is not installed: see https://duckdb.org, or `pip install duckdb-cli`; \
             `rdmawire analyze --ndjson DIR` writes the tables without it"
        ),
        Err(error) => Err(error).context(DUCKDB),
    }
}

/// A new directory that nobody else can read.
fn make_private(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
