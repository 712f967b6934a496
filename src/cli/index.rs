//! `rdmawire index`: captures become rows of headers, for an analysis on other machines.

use std::{path::PathBuf, sync::atomic::Ordering};

use anyhow::{Context, bail};
use clap::Args;

use super::{
    Outcome,
    arg::within,
    input::{self, STOP, open, say_damage},
    tracking::Tracking,
};
use rdmawire::{
    capture::Source as _,
    packets::{FileFacts, FileSpan, Index as Files},
};

/// Write the headers of all frames as Parquet files, in directories by tap, hour and bucket: for an analysis in Spark.
///
/// Rows have no payload: about 50 bytes a packet. `rdmawire.spark` of the Python package analyzes them; `rdmawire explain table headers`
/// lists the columns. Files of one tap may be indexed by any number of commands at a time.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire index --tap leaf1 -o index host-a.pcap host-b.pcap
  rdmawire index --tap leaf1 --buckets 16 -o index x.pcap")]
pub(super) struct Index {
    /// The captures. Their names, without directories, must differ within an hour of a tap; one that began in another hour than a capture
    /// of its name gets the hour behind its name.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where they were taken. Files of one tap are analyzed together.
    #[arg(long, value_name = "NAME")]
    tap: String,
    /// The directory to write to.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Into how many directories the pairs of addresses are spread. Frames without addresses have one more.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = within(1..=Files::MOST_BUCKETS))]
    buckets: u32,
    /// Replace files that exist.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    tracking: Tracking,
}

impl Index {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        super::signals::end_on_signal(&STOP);
        let options = self.tracking.options(1);
        if self.tracking.filter()?.is_some() {
            bail!("--filter: an index has all frames");
        }
        let mut is_all = true;
        for path in &self.files {
            let mut source = open(path)?;
            let Some(name) = path.file_name() else {
                bail!("{}: its name must be that of a file", path.display())
            };
            let name = name.to_string_lossy();
            let mut files = Files::new(&self.output, &self.tap, &name, self.buckets, self.force);
            let mut span = FileSpan::default();
            let read = input::each(&mut source, |_, record| {
                let number = span.add(record);
                files.push(&options.headers(number, record)).context("cannot write the index")
            })?;
            is_all &= read.was_read_whole(&source.info().name);
            if STOP.load(Ordering::Relaxed) {
                // Files that were begun are removed.
                return Ok(Outcome::Failed);
            }
            let mut facts = FileFacts::of(source.info(), span);
            facts.file = files.file().to_owned();
            say_damage(source.info());
            files.finish(&facts).context("cannot write the index")?;
        }
        Ok(if is_all { Outcome::Done } else { Outcome::Failed })
    }
}
