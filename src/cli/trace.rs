//! What a command reads as one: a capture, or with `--merge` all of them.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use anyhow::Context;
use clap::Args;
use serde::Serialize;

use super::{
    input::{Joining, PartFiles, name_of, open_parts, try_open},
    say,
};
use rdmawire::{
    analyze::Files,
    capture::{Error, Info, Merge, Record, Series, SharedRecord, Source},
    report::{SetClock, json},
    taps,
};

/// Which files are one capture, and which captures one trace.
#[derive(Debug, Args)]
pub(super) struct Merging {
    #[command(flatten)]
    joining: Joining,
    /// Merge all captures into one trace, in the order of time: those of several hosts, or of several interfaces. Clocks that
    /// contradict each other are set right by the packets that two captures have.
    #[arg(long, conflicts_with = "separate")]
    merge: bool,
}

impl Merging {
    /// The traces that are meant by these paths, each with its captures.
    pub(super) fn traces(&self, paths: &[PathBuf]) -> anyhow::Result<Vec<Vec<PartFiles>>> {
        let captures = self.joining.captures(paths)?;
        Ok(match self.merge {
            true => vec![captures],
            false => {
                self.joining.hint(&captures);
                captures.into_iter().map(|parts| vec![parts]).collect()
            }
        })
    }
}

/// A capture, or several that are read as one.
#[derive(Debug)]
pub(super) enum Trace {
    One(Box<Series>),
    Merged(Box<Merge>),
}

impl Trace {
    /// Opens captures. Returns what there is to read, if anything, and whether all could be opened; errors are printed.
    pub(super) fn open(captures: &[PartFiles]) -> (Option<Trace>, bool) {
        let opened: Vec<Series> = captures.iter().filter_map(|parts| try_open(parts)).collect();
        let is_all = opened.len() == captures.len();
        (Trace::of(opened, captures.len() > 1), is_all)
    }

    /// Opens captures for a command that writes nothing if one of them cannot be read.
    pub(super) fn open_all(captures: &[PartFiles]) -> anyhow::Result<Trace> {
        let opened: Result<Vec<Series>, Error> = captures.iter().map(|parts| open_parts(parts)).collect();
        Trace::of(opened?, captures.len() > 1).context("no capture")
    }

    fn of(mut opened: Vec<Series>, is_merged: bool) -> Option<Trace> {
        match (opened.len(), is_merged) {
            (0, _) => None,
            (_, false) => opened.pop().map(|one| Trace::One(one.into())),
            _ => Some(Trace::Merged(merged(opened).into())),
        }
    }
}

/// Merges captures, and says which clocks were set right.
pub(super) fn merged(captures: Vec<Series>) -> Merge {
    let merge = taps::merge(captures);
    let files = Files::of_series(merge.captures());
    let first = files.names.first().map_or("", String::as_str);
    files.clocks.iter().for_each(|clock| say(format_args!("{}", clock.text(first))));
    merge
}

/// What has captures, each in one file or in several.
pub(super) trait Captures: Source {
    fn captures(&self) -> Vec<&Series>;
}

impl Captures for Series {
    fn captures(&self) -> Vec<&Series> {
        vec![self]
    }
}

impl Captures for Trace {
    fn captures(&self) -> Vec<&Series> {
        match self {
            Trace::One(capture) => vec![capture],
            Trace::Merged(merge) => merge.captures().collect(),
        }
    }
}

/// The name of a trace in output, as tables have it.
pub(super) fn name_of_trace(captures: &[PartFiles]) -> String {
    name_of(&captures.concat())
}

/// What --json prints of a trace: its files, clocks that were set right, and the report.
#[derive(Serialize)]
struct Object<'a, R> {
    files: Vec<String>,
    set_clocks: Vec<SetClock>,
    #[serde(flatten)]
    report: &'a R,
}

/// Prints a report of a trace as a JSON object on a line.
pub(super) fn write_json(trace: &Trace, report: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    let Files { names: files, clocks: set_clocks, .. } = Files::of_series(trace.captures().into_iter());
    json::write(out, &Object { files, set_clocks, report })?;
    writeln!(out)
}

impl Source for Trace {
    fn next(&mut self) -> Result<Option<Record<'_>>, Error> {
        match self {
            Trace::One(capture) => capture.next(),
            Trace::Merged(merge) => merge.next(),
        }
    }

    fn next_shared(&mut self) -> Result<Option<SharedRecord<'_>>, Error> {
        match self {
            Trace::One(capture) => capture.next_shared(),
            Trace::Merged(merge) => merge.next_shared(),
        }
    }

    fn next_batch(&mut self, on_record: impl FnMut(&Record<'_>)) -> Result<u64, Error> {
        match self {
            Trace::One(capture) => (**capture).next_batch(on_record),
            Trace::Merged(merge) => (**merge).next_batch(on_record),
        }
    }

    fn info(&self) -> &Info {
        match self {
            Trace::One(capture) => capture.info(),
            Trace::Merged(merge) => merge.info(),
        }
    }
}
