//! The arguments of `analyze`, and what they mean.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::bail;
use clap::Args;

use super::{
    output::{JsonText, Output, PlainText, Printer},
    page::Page,
    run::Run,
    state::State,
    tables::TableFiles,
    trace::Perfetto,
};
use crate::cli::{
    Outcome,
    input::{Joining, PartFiles},
    log, memory, pipeline,
    signals::{STOP, end_on_signal},
    terminal::{self, Color},
    tracking::Tracking,
};
use rdmawire::{
    analyze::{Address, Options, metric::timeline::Ends},
    dissect,
    grammar::units,
    report::{Sort, text},
};

/// Find retransmissions, losses, reordering, congestion, and what they cost.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire analyze x.pcap
  rdmawire analyze --filter 'bth.opcode <= 0x1f' --flow 0 x.pcap
  rdmawire analyze --html report.html leaf1.pcap leaf2.pcap
  rdmawire analyze --log nccl.log x.pcap
  rdmawire analyze --state-out x.state x.pcap")]
pub(in crate::cli) struct Analyze {
    /// Capture files: pcap, pcapng or ERF, also compressed with gzip or zstd; `-` is standard input. Each capture gets a report.
    /// Several also get a summary. A directory stands for all captures in it.
    #[cfg_attr(feature = "parquet", doc = "Or it is the index of a tap, of `rdmawire index`.")]
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Merge all files into one trace, in the order of time: rotated files, or several interfaces.
    #[arg(long, conflicts_with = "separate")]
    merge: bool,
    #[command(flatten)]
    joining: Joining,
    /// Write the report as one JSON object.
    #[arg(long)]
    json: bool,
    /// Write the reports of all files into one HTML page instead of text. It opens offline in any browser; `-` is standard output.
    #[arg(long, value_name = "FILE", conflicts_with = "every")]
    html: Option<PathBuf>,
    /// Show one flow in detail: its number in the list, or SOURCE,DESTINATION,QP.
    #[arg(long, value_name = "FLOW", conflicts_with = "json")]
    flow: Option<String>,
    /// Write the timeline of the flows in trouble, and of the largest, as a trace that ui.perfetto.dev opens.
    #[arg(long, value_name = "FILE", conflicts_with = "every")]
    perfetto: Option<PathBuf>,
    /// Show at most N rows of each list, and N findings; 0 shows all.
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Sort flows by trouble, packets, bytes, retransmits, out-of-order, losses, marks, latency, or time.
    #[arg(long, value_name = "BY", value_parser = sort, default_value = "trouble")]
    sort: Sort,
    #[command(flatten)]
    tracking: Tracking,
    /// A log of a host, of NCCL, UCX, SPDK or another program: its errors are shown with the flows that they are about, and what was found there.
    /// NCCL's with NCCL_DEBUG=INFO also names the ranks of collectives. May be given several times; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    log: Vec<PathBuf>,
    /// Show traffic over time, in intervals of this length: 1ms, 1s.
    #[arg(long, value_name = "TIME", value_parser = units::positive_duration)]
    interval: Option<u64>,
    /// Print a report so often: 1s, 1min. For streams that do not end.
    #[arg(long, value_name = "TIME", value_parser = units::positive_duration)]
    every: Option<u64>,
    /// The number of threads; 0: one per processor. Several files are analyzed at the same time. If there are fewer files than
    /// threads, several threads work on each large file: all read and verify, and one tracks the flows. The report is the same.
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    #[command(flatten)]
    tables: TableFiles,
    /// Replace files that exist. Without it, only pages, traces and states of earlier runs are replaced. No file that is read is.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    state: State,
    /// When to colour the text.
    #[arg(long, value_enum, default_value_t)]
    color: Color,
}

impl Analyze {
    pub(in crate::cli) fn run(self) -> anyhow::Result<Outcome> {
        let filter = self.tracking.filter()?;
        end_on_signal(&STOP);
        let captures = self.joining.captures(&self.files)?;
        if !self.merge {
            self.joining.hint(&captures);
        }
        let reports = if self.merge { 1 } else { captures.len() };
        self.check(reports)?;
        let logs = log::read(&self.log)?;
        let outputs = self.outputs(&captures, reports)?;
        let run = Run {
            filter,
            options: self.options(reports),
            threads: self.threads(),
            every: self.every.map(Duration::from_nanos),
            has_messages: self.tables.has_messages(),
            has_pictures: outputs.iter().any(|output| output.has_pictures()),
            pictured: self.flow.as_deref().and_then(ends).into_iter().collect(),
            printer: Arc::new(Mutex::new(Printer::new(outputs, logs, reports == 1))),
            captures,
            merge: self.merge,
            state: self.state,
        };
        run.run()
    }

    /// How a page's lines of frames are dissected: there are none where frames count on from earlier captures.
    fn lines(&self) -> Option<dissect::Options> {
        (!self.state.goes_on()).then(|| self.options(1).dissect)
    }

    /// Refuses what does not go together, before the long work.
    fn check(&self, reports: usize) -> anyhow::Result<()> {
        #[cfg(feature = "parquet")]
        self.files
            .iter()
            .filter(|path| crate::cli::input::is_index(path))
            .try_for_each(|dir| self.check_index(dir))?;
        if self.json && self.html.as_deref() == Some(Path::new("-")) {
            bail!("--html -: standard output has the JSON; give the page a file");
        }
        self.tables.check()?;
        if self.tables.has_messages() && self.every.is_some() {
            bail!("--every: reports have no table of --messages before the end");
        }
        self.state.check(reports == 1, self.tables.has_messages(), self.force)
    }

    /// An index has no frames, which some options need.
    #[cfg(feature = "parquet")]
    fn check_index(&self, dir: &Path) -> anyhow::Result<()> {
        let dir = dir.display();
        match self {
            Analyze { merge: true, .. } => {
                bail!("{dir}: an index has all files of a tap, so there is nothing to --merge")
            }
            Analyze { every: Some(_), .. } => bail!("{dir}: --every is for captures, not for an index"),
            _ if self.tracking.filter()?.is_some() => {
                bail!("{dir}: --filter is for captures; an index has headers only")
            }
            _ => Ok(()),
        }
    }

    /// What the reports become: each flag makes one. A path that cannot be written fails here, before the long work.
    fn outputs(&self, files: &[PartFiles], captures: usize) -> anyhow::Result<Vec<Box<dyn Output>>> {
        let flow = self.flow.clone();
        // The page knows from its start on which files there are, and comes last, when all is known.
        let page = match &self.html {
            Some(path) => {
                let (files, lines) = (files.concat(), self.lines());
                Some(Page::begin(path, &files, flow.clone(), captures, lines, self.force)?)
            }
            None => None,
        };
        let mut outputs = self.tables.outputs(self.force)?;
        if let Some(path) = &self.perfetto {
            outputs.push(Box::new(Perfetto::begin(path, flow.clone(), captures, self.force)?));
        }
        // A page stands for the text.
        if self.json {
            outputs.push(Box::new(JsonText::new(self.threads(), captures == 1)));
        } else if page.is_none() {
            let has_line = self.every.is_none();
            outputs.push(Box::new(PlainText::new(self.style(), flow, captures == 1, has_line)));
        }
        outputs.extend(page.map(|page| Box::new(page) as Box<dyn Output>));
        Ok(outputs)
    }

    fn style(&self) -> text::Options {
        text::Options { width: terminal::width(), colour: self.color.is_on(), top: self.top, sort: self.sort }
    }

    fn options(&self, reports: usize) -> Options {
        let analyses = self.threads().min(reports);
        Options { interval_ns: self.interval, ..self.tracking.options(analyses) }
    }

    fn threads(&self) -> usize {
        memory::threads_that_fit(match self.threads {
            0 => pipeline::cores(),
            n => n,
        })
    }
}

fn sort(name: &str) -> Result<Sort, String> {
    let names = || Sort::ALL.map(|(name, _)| name).join(", ");
    Sort::by_name(name).ok_or_else(|| format!("expected one of {}", names()))
}

/// The flow SOURCE,DESTINATION,QP.
fn ends(flow: &str) -> Option<Ends> {
    let mut parts = flow.split(',').map(str::trim);
    let mut address = || parts.next()?.parse::<Address>().ok();
    let (src, dst) = (address()?, address()?);
    Some((src, dst, units::qpn(parts.next()?).ok()?.0))
}
