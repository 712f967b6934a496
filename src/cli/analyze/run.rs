//! The work of `analyze`: captures are read, several at a time, and their analyses handed to the outputs.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

#[cfg(feature = "parquet")]
use super::indexed;
use super::{output::Printer, state::State};
use crate::cli::{
    Outcome,
    every::{print_so_far, while_working},
    input::{PartFiles, Progress, STOP, describe, try_open},
    pipeline::{self, Step},
    say,
    signals::{is_stopped, stop_after_failure},
    trace::merged,
    tracking::{self, name_interfaces, push_if_matching},
};
use rdmawire::{
    analyze::{
        Analysis, Batch, Ended, Files, Options,
        metric::{
            messages::Messages,
            timeline::{self, Ends, Timeline},
        },
    },
    capture::{self, Compression, Merge, Series, Source, Time},
    filter::Filter,
    grammar::print::several,
};

/// What is meant by the arguments.
pub(super) struct Run {
    pub(super) captures: Vec<PartFiles>,
    /// All files are one trace.
    pub(super) merge: bool,
    pub(super) filter: Option<Filter>,
    /// Of each analysis.
    pub(super) options: Options,
    /// Of all analyses.
    pub(super) threads: usize,
    /// How often there are reports before the end.
    pub(super) every: Option<Duration>,
    pub(super) has_messages: bool,
    pub(super) has_pictures: bool,
    /// Flows that get pictures in any case.
    pub(super) pictured: Vec<Ends>,
    pub(super) state: State,
    pub(super) printer: Arc<Mutex<Printer>>,
}

/// What one analysis reads.
pub(super) trait Input {
    /// Its name in tables.
    fn name(&self) -> String;

    /// The time of its first frame, where it can be read twice.
    fn first_time(&self) -> Option<Time>;

    /// Whether it ends by itself: a file, not a stream, which may end when the user says so.
    fn has_end(&self) -> bool;

    /// Passes all of it to an analysis. Returns what is known of its files, and whether all of it could be read; errors are printed.
    fn feed(self, run: &Run, analysis: &mut Analysis) -> (Files, bool);
}

/// The frames of one capture, or of several that are one trace.
struct Frames<S> {
    source: S,
    threads: usize,
    /// What is known of its files.
    captures: fn(&S) -> Vec<&Series>,
}

impl<S: Source + Send> Frames<S> {
    fn new(source: S, threads: usize, captures: fn(&S) -> Vec<&Series>) -> Frames<S> {
        // Each compressed file has a thread that decompresses it.
        let is_compressed = |capture: &&Series| capture.info().compression != Compression::None;
        let compressed = captures(&source).into_iter().filter(is_compressed).count();
        Frames { source, threads: threads.saturating_sub(compressed), captures }
    }

    /// What is known of its files after so many frames.
    fn described(&self, frames: u64) -> Files {
        describe((self.captures)(&self.source).into_iter(), frames)
    }

    /// Whether there are enough bytes to be worth a second thread.
    fn is_long(&self) -> bool {
        let info = self.source.info();
        let long = if info.compression == Compression::None { 1 << 20 } else { 64 << 10 };
        info.total_bytes.is_some_and(|bytes| bytes >= long)
    }
}

impl<S: Source + Send> Input for Frames<S> {
    fn name(&self) -> String {
        let captures = (self.captures)(&self.source);
        captures.into_iter().flat_map(Series::names).collect::<Vec<_>>().join(",")
    }

    fn first_time(&self) -> Option<Time> {
        let first = |name: String| {
            // Standard input cannot be read twice.
            let path = Path::new(&name);
            let mut reader = path.is_file().then(|| capture::open(path).ok()).flatten()?;
            Some(reader.next().ok()??.time)
        };
        (self.captures)(&self.source).into_iter().filter_map(|capture| first(capture.names().next()?)).min()
    }

    fn has_end(&self) -> bool {
        self.source.info().total_bytes.is_some()
    }

    fn feed(mut self, run: &Run, analysis: &mut Analysis) -> (Files, bool) {
        let is_all = match self.threads > 1 && self.is_long() {
            true => feed_on_threads(&mut self.source, self.threads, run, analysis),
            false => tracking::feed(&mut self.source, &run.options, &run.filter, &mut *analysis),
        };
        (self.described(analysis.frames()), is_all)
    }
}

impl Run {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let is_all = if self.merge { self.merged()? } else { self.each()? };
        self.printer().end()?;
        Ok(if is_all { Outcome::Done } else { Outcome::Failed })
    }

    fn printer(&self) -> MutexGuard<'_, Printer> {
        held(&self.printer)
    }

    /// Analyzes each file by itself, several at a time. Returns whether all of them could be read.
    fn each(&self) -> anyhow::Result<bool> {
        let threads = if self.has_messages { 1 } else { self.threads.min(self.captures.len()).max(1) };
        let (next, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let all_read = AtomicBool::new(true);
        let failed: Mutex<Option<anyhow::Error>> = Mutex::new(None);
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(parts) = self.captures.get(at) else { break };
                if STOP.load(Ordering::Relaxed) {
                    break;
                }
                // Threads without a file help the others.
                let unended = self.captures.len() - ended.load(Ordering::Relaxed);
                let done = self.capture(parts, self.threads / threads.min(unended));
                ended.fetch_add(1, Ordering::Relaxed);
                let result = done.and_then(|(ended, is_all)| {
                    all_read.fetch_and(is_all, Ordering::Relaxed);
                    self.printer().put(at, ended)
                });
                if let Err(error) = result {
                    // The output cannot be written: the other threads stop.
                    stop_after_failure();
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            }
        };
        if threads == 1 {
            work();
        } else {
            thread::scope(|scope| (0..threads).for_each(|_| _ = scope.spawn(work)));
        }
        let unread = self.captures.len().saturating_sub(next.into_inner());
        if unread > 0 && is_stopped() {
            all_read.fetch_and(false, Ordering::Relaxed);
            say(format_args!("{} not read: ended by the user", several(unread as u64, "more capture")));
        }
        let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        failed.map_or(Ok(all_read.into_inner()), Err)
    }

    /// Analyzes one capture. Returns the analysis, `None` if it could not be opened, and whether all of it could be read. Errors
    /// are printed.
    fn capture(&self, parts: &[PathBuf], threads: usize) -> anyhow::Result<(Option<Ended>, bool)> {
        #[cfg(feature = "parquet")]
        if let [path] = parts
            && path.is_dir()
        {
            let Some(index) = indexed::open(path) else { return Ok((None, false)) };
            let (ended, is_all) = self.analyze(index)?;
            return Ok((Some(ended), is_all));
        }
        let Some(capture) = try_open(parts) else { return Ok((None, false)) };
        let (ended, is_all) = self.frames(Frames::new(capture, threads, |capture| vec![capture]))?;
        Ok((Some(ended), is_all))
    }

    /// Analyzes all files as one trace. Returns whether all of them could be read.
    fn merged(&self) -> anyhow::Result<bool> {
        let captures: Vec<Series> = self.captures.iter().filter_map(|parts| try_open(parts)).collect();
        let all_read = captures.len() == self.captures.len();
        if captures.is_empty() {
            return Ok(false);
        }
        let merge = Frames::new(merged(captures), self.threads, captures_of);
        let (ended, is_all) = self.frames(merge)?;
        self.printer().put(0, Some(ended))?;
        Ok(all_read && is_all)
    }

    fn frames<S: Source + Send>(&self, frames: Frames<S>) -> anyhow::Result<(Ended, bool)> {
        match self.every {
            Some(every) => self.analyze_reporting(frames, every),
            None => self.analyze(frames),
        }
    }

    /// Analyzes an input to its end; messages go to the outputs, where they are asked for. Returns the analysis, and whether all of the
    /// input could be read.
    fn analyze(&self, input: impl Input) -> anyhow::Result<(Ended, bool)> {
        let mut analysis = self.state.begin(self.options.clone(), self.timeline())?;
        if self.has_messages {
            let (name, printer) = (input.name(), self.printer.clone());
            analysis.add(Messages::new(move |message| held(&printer).message(&name, message)));
        }
        if self.state.goes_on() && begins_before(&input, &analysis) {
            say(format_args!(
                "warning: {} begins before the state ends: what the state has already counts twice",
                input.name()
            ));
        }
        let has_end = input.has_end();
        let (files, is_all) = input.feed(self, &mut analysis);
        let is_part = has_end && !is_all && is_stopped();
        let mut ended = self.state.end(analysis, files, self.has_pictures, is_part)?;
        if let Some(messages) = ended.metric_mut::<Messages>() {
            messages.end();
            self.printer().written()?;
        }
        Ok((ended, is_all))
    }

    /// What pictures need, if an output has some.
    fn timeline(&self) -> Option<Timeline> {
        let captures = if self.merge { 1 } else { self.captures.len() };
        let budget = (timeline::BUDGET / self.threads.min(captures).max(1))
            .min(timeline::budget(self.options.max_memory));
        self.has_pictures.then(|| Timeline::new(budget, self.pictured.clone()))
    }

    /// Analyzes frames, and writes reports meanwhile.
    fn analyze_reporting<S: Source + Send>(
        &self,
        mut frames: Frames<S>,
        every: Duration,
    ) -> anyhow::Result<(Ended, bool)> {
        let analysis = Mutex::new(self.state.begin(self.options.clone(), None)?);
        let name = frames.source.info().name.clone();
        let print =
            || print_so_far(&analysis, &name, b"", |report, out| self.printer().report_so_far(report, out));
        let is_all = while_working(every, print, || {
            let is_all = tracking::feed(&mut frames.source, &self.options, &self.filter, &analysis);
            // A report now and then is for captures that have no other end.
            is_all || is_stopped()
        })?;
        let analysis = analysis.into_inner().unwrap_or_else(PoisonError::into_inner);
        let files = frames.described(analysis.frames());
        let is_part = frames.has_end() && is_stopped();
        Ok((self.state.end(analysis, files, false, is_part)?, is_all))
    }
}

/// Whether an input begins before what was analyzed ends, by more than a capture of several cores is unsorted.
fn begins_before(input: &impl Input, analysis: &Analysis) -> bool {
    const UNSORTED_NS: i64 = 1_000_000;
    let latest = analysis.latest().map(|Time(latest)| latest.saturating_sub(UNSORTED_NS));
    input.first_time().zip(latest).is_some_and(|(Time(first), latest)| first < latest)
}

fn held(printer: &Mutex<Printer>) -> MutexGuard<'_, Printer> {
    printer.lock().unwrap_or_else(PoisonError::into_inner)
}

fn captures_of(merge: &Merge) -> Vec<&Series> {
    merge.captures().collect()
}

/// [`tracking::feed`] on several threads.
fn feed_on_threads(
    source: &mut (impl Source + Send),
    threads: usize,
    run: &Run,
    analysis: &mut Analysis,
) -> bool {
    let (options, filter) = (&run.options, run.filter.as_ref());
    let mut progress = Progress::new(source.info());
    let mut number = analysis.frames();
    let result = pipeline::run(source, options, threads, filter.is_some(), &STOP, |step| match step {
        Step::Packets(prepared, glimpses) => analysis.push_prepared(Batch::Fast(prepared, glimpses)),
        Step::Encap(packet, glimpse) => analysis.push_prepared(Batch::Encap(packet, glimpse)),
        Step::Frame(record, icrc) => match (filter, icrc) {
            (None, Some(icrc)) => analysis.push_prepared(Batch::Frame(record, icrc)),
            (None, None) => analysis.push(record),
            (Some(filter), _) => {
                number += 1;
                let (d, icrc) = match icrc {
                    Some(icrc) => (options.dissection(record), icrc),
                    None => options.examine(record),
                };
                push_if_matching(analysis, record, &d, icrc, filter, number);
            }
        },
        Step::Interfaces(from, interfaces) => name_interfaces(analysis, interfaces, from),
        Step::Progress(bytes) => progress.show(bytes),
    });
    progress.clear();
    result.inspect_err(|error| say(format_args!("{error}"))).is_ok() && !STOP.load(Ordering::Relaxed)
}
