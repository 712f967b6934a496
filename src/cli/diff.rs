//! `rdmawire diff`: captures of several places on a path.

use std::{
    io::{self, Write},
    path::PathBuf,
    sync::atomic::Ordering,
};

use clap::Args;

use super::{
    Outcome,
    input::{Progress, STOP, open, say_damage},
    say,
    terminal::{self, Color},
    tracking::Tracking,
};
use rdmawire::{
    capture::Source,
    filter::FrameMeta,
    grammar::units,
    report::{json, text},
    taps::{Options, Taps},
};

/// Compare captures of several places on a path: each lost packet and where, delay, marks.
///
/// Packets are found again by what no router changes. Exit status: 0 if nothing was lost or damaged on the path, 1 if something was.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire diff host-a.pcap host-b.pcap
  rdmawire diff --json leaf1.pcap spine.pcap leaf2.pcap.zst")]
pub(super) struct Diff {
    /// The captures, in the order of their places on the path, from either end.
    #[arg(required = true, num_args = 2.., value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// The longest delay between two captures: how long a packet waits for its other record.
    #[arg(long, value_name = "TIME", value_parser = units::positive_duration, default_value = "1s")]
    window: u64,
    /// How many packets of each capture wait at a time.
    #[arg(long, value_name = "N", value_parser = units::count, default_value = "262144")]
    max_waiting: u64,
    /// Rows of each list; 0: all.
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    #[command(flatten)]
    tracking: Tracking,
}

impl Diff {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let filter = self.tracking.filter()?;
        let analyze = self.tracking.options(self.files.len());
        let options = Options {
            analyze: analyze.clone(),
            window_ns: self.window,
            max_waiting: usize::try_from(self.max_waiting).unwrap_or(usize::MAX),
        };
        super::end_on_ctrl_c(&STOP);
        let mut sources = self.files.iter().map(|path| open(path)).collect::<Result<Vec<_>, _>>()?;
        let mut taps = Taps::new(options, self.files.iter().map(|path| path.display().to_string()));
        let mut numbers = vec![0u64; sources.len()];
        let mut is_all = true;
        let mut progress = Progress::of(sources.iter().map(Source::info));
        while let Some(tap) = taps.next_tap() {
            if STOP.load(Ordering::Relaxed) {
                break;
            }
            match sources[tap].next() {
                Ok(Some(record)) => {
                    numbers[tap] += 1;
                    let is_wanted = filter.as_ref().is_none_or(|filter| {
                        let (d, icrc) = analyze.examine(&record);
                        let meta =
                            FrameMeta { number: numbers[tap], time_ns: record.time.0, icrc: Some(icrc) };
                        filter.matches(&d, &meta)
                    });
                    match is_wanted {
                        true => taps.push(tap, &record),
                        false => taps.pass_over(tap),
                    }
                }
                Ok(None) => taps.end(tap),
                Err(error) => {
                    say(format_args!("{error}"));
                    is_all = false;
                    taps.end(tap);
                }
            }
            let bytes = || sources.iter().map(|source| source.info().bytes_read).sum();
            progress.frame(numbers.iter().sum(), bytes);
        }
        drop(progress);
        sources.iter().map(Source::info).for_each(say_damage);
        let report = taps.finish();
        let out = &mut io::stdout().lock();
        if self.json {
            json::write(out, &report)?;
            writeln!(out)?;
        } else {
            let options = text::Options {
                width: terminal::width(),
                colour: Color::Auto.is_on(),
                top: self.top,
                ..Default::default()
            };
            text::write_diff(&report, &options, out)?;
        }
        Ok(match report.total().undelivered() {
            _ if !is_all => Outcome::Failed,
            0 => Outcome::Done,
            _ => Outcome::Unmet,
        })
    }
}
