//! `rdmawire connections`: who set up which connection, and what became of it.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use clap::Args;
use serde::Serialize;

use super::{
    Outcome,
    signals::{STOP, end_on_signal},
    terminal::{self, Color},
    trace::{Merging, Trace},
    tracking::Tracking,
};
use rdmawire::report::{Capture, SetClock, Setup, json, text};

/// Show connections as the connection manager set them up: who asked whom, for which service, on which terms, how long it took; who refused,
/// and why; what was never answered; who closed it, and how.
///
/// It reads the messages of the connection manager (REQ, REP, RTU, REJ, MRA, DREQ, DREP, SIDR). Connections that were set up otherwise, as
/// perftest does over TCP, are in `rdmawire analyze` only.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire connections x.pcap
  rdmawire connections --json x.pcap
  rdmawire connections --merge host-a.pcap host-b.pcap")]
pub(super) struct Connections {
    /// Capture files; - is standard input. Each capture is answered for by itself, unless they are merged.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    merging: Merging,
    /// Print a JSON object for each capture, on a line each.
    #[arg(long)]
    json: bool,
    /// Rows of the table; 0: all.
    #[arg(long, value_name = "N", default_value_t = 0)]
    top: usize,
    #[command(flatten)]
    tracking: Tracking,
}

/// The object of --json.
#[derive(Serialize)]
struct Output<'a> {
    schema: &'static str,
    files: &'a [String],
    set_clocks: &'a [SetClock],
    setup_count: u64,
    setups: &'a [Setup],
}

impl Connections {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        end_on_signal(&STOP);
        let mut outcome = Outcome::Done;
        for captures in self.merging.traces(&self.files)? {
            let (source, is_opened) = Trace::open(&captures);
            let Some(mut source) = source else {
                outcome = Outcome::Failed;
                continue;
            };
            let (ended, is_all) = self.tracking.follow(&mut source)?;
            let report = ended.report();
            let out = &mut io::stdout().lock();
            if self.json {
                let (setup_count, setups) = (report.head.setup_count, &report.head.setups[..]);
                let schema = "rdmawire.connections/1";
                let Capture { files, set_clocks, .. } = &report.head.capture;
                json::write(out, &Output { schema, files, set_clocks, setup_count, setups })?;
                writeln!(out)?;
            } else {
                let (width, colour) = (terminal::width(), Color::Auto.is_on());
                let options = text::Options { width, colour, top: self.top, ..Default::default() };
                text::write_setups(&report.head, &options, out)?;
            }
            if !(is_all && is_opened) {
                outcome = Outcome::Failed;
            }
        }
        Ok(outcome)
    }
}
