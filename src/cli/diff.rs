//! `rdmawire diff`: captures of several places on a path.

use std::{
    io::{self, Write},
    path::PathBuf,
    sync::atomic::Ordering,
};

use anyhow::bail;
use clap::Args;

use super::{
    Outcome,
    input::{Joining, Progress, STOP, describe, name_of, open_parts},
    say,
    table_files::TableDirectories,
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
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    joining: Joining,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// The longest delay between two captures: how long a packet waits for its other record.
    #[arg(long, value_name = "TIME", value_parser = units::positive_duration, default_value = "1s")]
    window: u64,
    /// How many packets of each capture wait at a time; fewer, where --max-memory leaves no room.
    #[arg(long, value_name = "N", value_parser = units::count, default_value = "262144")]
    max_waiting: u64,
    /// Rows of each list; 0: all.
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    #[command(flatten)]
    tables: TableDirectories,
    /// Replace files that exist.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    tracking: Tracking,
}

impl Diff {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let filter = self.tracking.filter()?;
        let captures = self.joining.captures(&self.files)?;
        if captures.len() < 2 {
            let files = captures.concat();
            let what = if files.len() > 1 { "one capture in several files" } else { "one capture" };
            bail!("{}: {what}: a comparison needs two places", name_of(&files));
        }
        let analyze = self.tracking.options(captures.len());
        let max_waiting = usize::try_from(self.max_waiting).unwrap_or(usize::MAX);
        let options = Options { analyze: analyze.clone(), window_ns: self.window, max_waiting };
        let options = options.within(captures.len());
        super::signals::end_on_signal(&STOP);
        let tables = self.tables.open(self.force)?;
        let mut sources = captures.iter().map(|parts| open_parts(parts)).collect::<Result<Vec<_>, _>>()?;
        let mut taps = Taps::new(options, captures.iter().map(|parts| name_of(parts)));
        let mut numbers = vec![0u64; sources.len()];
        let mut is_all = true;
        let mut progress = Progress::of(sources.iter().map(Source::info));
        while let Some(tap) = taps.next_tap() {
            if STOP.load(Ordering::Relaxed) {
                is_all = false;
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
                Err(_) if STOP.load(Ordering::Relaxed) => {}
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
        let files = describe(sources.iter(), numbers.iter().sum());
        let mut report = taps.finish();
        report.problems = files.problems;
        let names: Vec<&str> = report.taps.iter().map(|tap| tap.name.as_str()).collect();
        tables.write(&names.join(", "), &report)?;
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
        if self.json && report.is_apart() {
            say(format_args!("the captures have no packet in common: they are not compared"));
        }
        Ok(match report.total().undelivered() {
            _ if !is_all || report.is_apart() => Outcome::Failed,
            0 => Outcome::Done,
            _ => Outcome::Unmet,
        })
    }
}
