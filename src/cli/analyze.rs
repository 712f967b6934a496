//! `rdmawire analyze`: who retransmits, what was lost and where.

#[cfg(feature = "parquet")]
mod indexed;
mod pictures;
mod state;

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context as _, anyhow, bail};
use clap::Args;

use super::{
    Outcome,
    arg::positive,
    end_on_ctrl_c,
    input::{Progress, STOP, describe, try_open},
    messages::MessageTables,
    page::Making,
    pipeline::{self, Step},
    say,
    terminal::{self, Color},
    tracking::{self, Tracking, name_interfaces, push_if_matching},
};
use rdmawire::{
    analyze::{
        Address, Analysis, Batch, Ended, Files, Options,
        metric::timeline::{self, Ends, Timeline},
    },
    capture::{self, Info, Merge, Reader, Source, WholeFile},
    filter::Filter,
    grammar::units,
    report::{
        self, Renderer, Sort, View,
        html::{Article, Html},
        json::{self, Json},
        set::{self, Set, Totals},
        table::{Format, Messages as MessageRows, Tables},
        text::{self, Text},
    },
};

/// Find retransmissions, losses, reordering, congestion, and what they cost.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire analyze x.pcap
  rdmawire analyze --filter 'bth.opcode <= 0x1f' --flow 0 x.pcap
  rdmawire analyze --html report.html leaf1.pcap leaf2.pcap
  rdmawire analyze --state-out x.state x.pcap")]
pub(super) struct Analyze {
    /// Capture files: pcap, pcapng or ERF, also compressed with gzip or zstd; `-` is standard input. Each file gets a report.
    /// Several files also get a summary. A directory is the index of a tap, of `rdmawire index`.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Merge all files into one trace, in the order of time: rotated files, or several interfaces.
    #[arg(long)]
    merge: bool,
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
    /// Show traffic over time, in intervals of this length: 1ms, 1s.
    #[arg(long, value_name = "TIME", value_parser = units::positive_duration)]
    interval: Option<u64>,
    /// Print a report every N seconds: for streams that do not end.
    #[arg(long, value_name = "SECONDS", value_parser = positive::<u64>)]
    every: Option<u64>,
    /// The number of threads; 0: one per processor. Several files are analyzed at the same time. If there are fewer files than
    /// threads, several threads work on each large file: all read and verify, and one tracks the flows. The report is the same.
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    /// Also write tables for databases and notebooks into this directory: flows.csv, episodes.csv, …; `rdmawire explain tables`
    /// describes them.
    #[arg(long, value_name = "DIR")]
    csv: Option<PathBuf>,
    /// Also write these tables with one JSON object on each line.
    #[arg(long, value_name = "DIR")]
    ndjson: Option<PathBuf>,
    /// Also write these tables as Parquet.
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "DIR")]
    parquet: Option<PathBuf>,
    /// Add a table of messages, a row for each one. Captures are then analyzed one after the other.
    #[arg(long)]
    messages: bool,
    /// Replace tables that exist.
    #[arg(long)]
    force: bool,
    /// Go on from the state that an earlier run wrote: the report covers its captures too, as if they had been analyzed together.
    #[arg(long, value_name = "FILE")]
    state_in: Option<PathBuf>,
    /// Write the state after the last frame, for --state-in of the next run. It may be the same file.
    #[arg(long, value_name = "FILE")]
    state_out: Option<PathBuf>,
    /// When to colour the text.
    #[arg(long, value_enum, default_value_t)]
    color: Color,
}

fn sort(name: &str) -> Result<Sort, String> {
    let names = || Sort::ALL.map(|(name, _)| name).join(", ");
    let found = Sort::ALL.iter().find(|(other, _)| *other == name);
    found.map(|(_, sort)| *sort).ok_or_else(|| format!("expected one of {}", names()))
}

/// The flow SOURCE,DESTINATION,QP.
fn ends(flow: &str) -> Option<Ends> {
    let mut parts = flow.split(',').map(str::trim);
    let mut address = || parts.next()?.parse::<Address>().ok();
    let (src, dst) = (address()?, address()?);
    Some((src, dst, units::qpn(parts.next()?).ok()?.0))
}

/// A file with at least so many bytes is worth a second thread.
fn long(info: &Info) -> u64 {
    if info.compression == capture::Compression::None { 1 << 20 } else { 64 << 10 }
}

/// The number of threads without those that decompress files.
fn threads_left<'a>(threads: usize, files: impl Iterator<Item = &'a Info>) -> usize {
    threads.saturating_sub(files.filter(|file| file.compression != capture::Compression::None).count())
}

impl Analyze {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let filter = self.tracking.filter()?;
        end_on_ctrl_c(&STOP);
        #[cfg(feature = "parquet")]
        self.files.iter().filter(|path| path.is_dir()).try_for_each(|dir| self.check_index(dir))?;
        if self.json && self.html.as_deref() == Some(Path::new("-")) {
            bail!("--html -: standard output has the JSON; give the page a file");
        }
        if self.messages && self.formats().next().is_none() {
            bail!("--messages is a table: give the directory of --csv, --ndjson or --parquet");
        }
        if self.messages && self.every.is_some() {
            bail!("--every: reports have no table of --messages before the end");
        }
        self.check_states()?;
        let page = self.html.as_ref().map(|path| Making::begin(path, &self.files)).transpose()?;
        let printer = Mutex::new(Printer::new(&self)?);
        let all_read =
            if self.merge { self.merged(&filter, &printer)? } else { self.each(&filter, &printer)? };
        let printer = printer.into_inner().unwrap_or_else(PoisonError::into_inner);
        let articles = printer.end()?;
        if let Some(page) = page {
            page.end(&articles)?;
        }
        Ok(if all_read { Outcome::Done } else { Outcome::Failed })
    }

    /// Analyzes each file by itself, several at a time, and prints reports in the order of the files. Returns whether all files
    /// could be read.
    fn each(&self, filter: &Option<Filter>, printer: &Mutex<Printer<'_>>) -> anyhow::Result<bool> {
        let all_threads = self.threads();
        let threads = if self.messages { 1 } else { all_threads.min(self.files.len()).max(1) };
        let (next, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let all_read = AtomicBool::new(true);
        let failed: Mutex<Option<anyhow::Error>> = Mutex::new(None);
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(path) = self.files.get(at) else { break };
                if STOP.load(Ordering::Relaxed) {
                    break;
                }
                // Threads without a file help the others.
                let unended = self.files.len() - ended.load(Ordering::Relaxed);
                let done = self.file(path, filter, all_threads / threads.min(unended), printer);
                ended.fetch_add(1, Ordering::Relaxed);
                let result = done.and_then(|(done, is_all)| {
                    all_read.fetch_and(is_all, Ordering::Relaxed);
                    printer.lock().unwrap_or_else(PoisonError::into_inner).put(at, done)
                });
                if let Err(error) = result {
                    // The output cannot be written: the other threads stop.
                    STOP.store(true, Ordering::Relaxed);
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            }
        };
        if threads == 1 {
            work();
        } else {
            thread::scope(|scope| (0..threads).for_each(|_| _ = scope.spawn(work)));
        }
        let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        failed.map_or(Ok(all_read.into_inner()), Err)
    }

    fn threads(&self) -> usize {
        super::memory::threads_that_fit(match self.threads {
            0 => pipeline::cores(),
            n => n,
        })
    }

    /// Analyzes one file. Returns the analysis, `None` if the file could not be opened, and whether all of it could be read. Errors
    /// are printed.
    fn file(
        &self,
        path: &Path,
        filter: &Option<Filter>,
        threads: usize,
        printer: &Mutex<Printer<'_>>,
    ) -> anyhow::Result<(Option<Done>, bool)> {
        #[cfg(feature = "parquet")]
        if path.is_dir() {
            return self.indexed(path, printer);
        }
        let Some(mut reader) = try_open(path) else { return Ok((None, false)) };
        let threads = threads_left(threads, [reader.info()].into_iter());
        let files = |reader: &Reader| describe([reader.info()].into_iter());
        let asked = Asked { filter, threads, name: reader.info().name.clone(), printer };
        let (done, is_all) = self.done(&mut reader, &asked, files)?;
        Ok((Some(done), is_all))
    }

    /// Analyzes a source. Returns what is to be printed, and whether all of the source could be read.
    fn done<S: Source + Send>(
        &self,
        source: &mut S,
        &Asked { filter, threads, ref name, printer }: &Asked<'_, '_>,
        files: impl Fn(&S) -> Files,
    ) -> anyhow::Result<(Done, bool)> {
        if let Some(seconds) = self.every.filter(|_| !self.has_pictures()) {
            return self.report_every(seconds, source, filter, files);
        }
        self.analyze(name, printer, |analysis| {
            let is_all = self.follow(source, filter, threads, analysis);
            (files(source), is_all)
        })
    }

    /// Analyzes what `feed` passes to the analysis, and keeps what pictures need, where they are asked for; messages become rows.
    /// `feed` returns where the frames came from, and whether all of them could be read.
    fn analyze(
        &self,
        name: &str,
        printer: &Mutex<Printer<'_>>,
        feed: impl FnOnce(&mut Analysis) -> (Files, bool),
    ) -> anyhow::Result<(Done, bool)> {
        let held = || printer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut analysis = self.begin()?;
        let messages = self.messages.then(|| MessageTables::new(name, std::mem::take(&mut held().messages)));
        if let Some(messages) = &messages {
            analysis.add(messages.metric());
        }
        let (files, is_all) = feed(&mut analysis);
        let mut ended = self.end(analysis, files)?;
        if let Some(messages) = messages {
            let (tables, written) = messages.end(&mut ended);
            held().messages = tables;
            written?;
        }
        let article = self.html.is_some().then(|| self.article(&ended)).transpose()?;
        Ok((Done { ended, article }, is_all))
    }

    fn merged(&self, filter: &Option<Filter>, printer: &Mutex<Printer<'_>>) -> anyhow::Result<bool> {
        let readers: Vec<Reader> = self.files.iter().filter_map(|path| try_open(path)).collect();
        let all_read = readers.len() == self.files.len();
        if readers.is_empty() {
            return Ok(false);
        }
        let threads = threads_left(self.threads(), readers.iter().map(|reader| reader.info()));
        let mut merge = Merge::new(readers);
        let files = |merge: &Merge| describe(merge.readers().map(|reader| reader.info()));
        let names: Vec<_> = merge.readers().map(|reader| reader.info().name.clone()).collect();
        let asked = Asked { filter, threads, name: names.join(","), printer };
        let (done, is_all) = self.done(&mut merge, &asked, files)?;
        printer.lock().unwrap_or_else(PoisonError::into_inner).put(0, Some(done))?;
        Ok(all_read && is_all)
    }

    /// Analyzes a source, and prints a report every so many seconds.
    fn report_every<S: Source>(
        &self,
        seconds: u64,
        source: &mut S,
        filter: &Option<Filter>,
        files: impl Fn(&S) -> Files,
    ) -> anyhow::Result<(Done, bool)> {
        let analysis = Mutex::new(self.begin()?);
        // A second thread prints the reports: the next frame may never come.
        let (over, changed) = (Mutex::new(false), Condvar::new());
        let name = source.info().name.clone();
        let reported = thread::scope(|scope| {
            let reporter = scope.spawn(|| -> anyhow::Result<()> {
                let mut is_over = over.lock().unwrap_or_else(PoisonError::into_inner);
                loop {
                    let wait =
                        changed.wait_timeout_while(is_over, Duration::from_secs(seconds), |over| !*over);
                    is_over = wait.unwrap_or_else(PoisonError::into_inner).0;
                    if *is_over {
                        return Ok(());
                    }
                    if let Err(error) = self.print_so_far(&analysis, &name) {
                        STOP.store(true, Ordering::Relaxed);
                        return Err(error);
                    }
                }
            });
            let is_all = tracking::feed(source, &self.options(), filter, &analysis);
            *over.lock().unwrap_or_else(PoisonError::into_inner) = true;
            changed.notify_all();
            reporter.join().map(|reported| reported.map(|()| is_all))
        });
        let is_all = reported.map_err(|_| anyhow!("the report could not be made"))??;
        let analysis = analysis.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok((Done { ended: self.end(analysis, files(source))?, article: None }, is_all))
    }

    fn follow(
        &self,
        source: &mut (impl Source + Send),
        filter: &Option<Filter>,
        threads: usize,
        analysis: &mut Analysis,
    ) -> bool {
        let is_long = source.info().total_bytes.is_some_and(|bytes| bytes >= long(source.info()));
        if threads > 1 && is_long {
            self.feed_on_threads(source, filter, threads, analysis)
        } else {
            tracking::feed(source, &self.options(), filter, analysis)
        }
    }

    fn captures(&self) -> usize {
        if self.merge { 1 } else { self.files.len() }
    }

    /// What pictures need.
    fn timeline(&self) -> Timeline {
        let budget = timeline::BUDGET / self.threads().min(self.captures()).max(1);
        let wanted = self.flow.as_deref().and_then(ends).into_iter().collect();
        Timeline::new(budget, wanted)
    }

    /// The part of a page.
    fn article(&self, ended: &Ended) -> anyhow::Result<Article> {
        /// Flows with pictures in a page, but for the one that was asked for.
        const PICTURES: usize = 12;
        let report = ended.report();
        let wanted = self.flow.as_ref().map(|which| report::find_flow(&report, which)).transpose();
        let wanted = match wanted {
            Err(error) if self.is_one() => return Err(anyhow!("--flow: {error}")),
            found => found.ok().flatten(),
        };
        let wanted: Vec<usize> = wanted.into_iter().collect();
        let charts =
            |timeline: &Timeline| timeline.charts(&report, &wanted, PICTURES.div_ceil(self.captures()));
        let pictures = ended.metric().map(charts).unwrap_or_default();
        Ok(Article::of(&report, pictures, (Html::ROWS / self.captures()).max(100))?)
    }

    /// Prints the report of an analysis that continues. The analysis waits until the report is made; if the report is too long to be
    /// buffered, until it is written.
    fn print_so_far(&self, analysis: &Mutex<Analysis>, name: &str) -> anyhow::Result<()> {
        let mut held = analysis.lock().unwrap_or_else(PoisonError::into_inner);
        let mut report = held.report_so_far();
        report.head.to_mut().capture.files.push(name.to_owned());
        let mut out = stdout()?;
        if report.flows.len() > MAX_BUFFERED {
            self.write(&report, &mut out)?;
        } else {
            let mut text = Vec::new();
            self.write(&report, &mut text)?;
            drop(report);
            drop(held);
            out.write_all(&text)?;
        }
        Ok(out.flush()?)
    }

    /// [`tracking::feed`] on several threads.
    fn feed_on_threads(
        &self,
        source: &mut (impl Source + Send),
        filter: &Option<Filter>,
        threads: usize,
        analysis: &mut Analysis,
    ) -> bool {
        let options = self.options();
        let mut progress = Progress::new(source.info());
        let mut number = analysis.frames();
        let whole = filter.is_some();
        let result = pipeline::run(source, &options, threads, whole, &STOP, |step| match step {
            Step::Packets(prepared) => analysis.push_prepared(Batch::Fast(prepared)),
            Step::Encap(packet) => analysis.push_prepared(Batch::Encap(packet)),
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
        result.inspect_err(|error| say(format_args!("{error}"))).is_ok()
    }

    fn options(&self) -> Options {
        let analyses = if self.merge { 1 } else { self.threads().min(self.files.len()) };
        Options { interval_ns: self.interval, ..self.tracking.options(analyses) }
    }

    /// The directories of the tables that are asked for.
    fn formats(&self) -> impl Iterator<Item = (&PathBuf, Format)> {
        let asked = [
            (&self.csv, Format::Csv),
            (&self.ndjson, Format::Ndjson),
            #[cfg(feature = "parquet")]
            (&self.parquet, Format::Parquet),
        ];
        asked.into_iter().filter_map(|(directory, format)| Some((directory.as_ref()?, format)))
    }

    fn tables(&self) -> anyhow::Result<Vec<Tables<WholeFile>>> {
        let of_report = |(directory, format): (&PathBuf, Format)| {
            std::fs::create_dir_all(directory).with_context(|| format!("making {}", directory.display()))?;
            self.creating(|create| Tables::new(format, |table| create(directory, table.name(), format)))
        };
        self.formats().map(of_report).collect()
    }

    fn message_tables(&self) -> anyhow::Result<Vec<MessageRows<WholeFile>>> {
        let of_messages = |(directory, format): (&PathBuf, Format)| {
            self.creating(|create| MessageRows::new(create(directory, "messages", format)?, format))
        };
        self.formats().filter(|_| self.messages).map(of_messages).collect()
    }

    /// Creates files of tables. An error names the file.
    fn creating<T>(
        &self,
        make: impl FnOnce(&mut dyn FnMut(&Path, &str, Format) -> io::Result<WholeFile>) -> io::Result<T>,
    ) -> anyhow::Result<T> {
        let mut at = PathBuf::new();
        let made = make(&mut |directory, name, format| {
            at = directory.join(format!("{name}.{}", format.extension()));
            WholeFile::create(&at, self.force)
        });
        made.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => anyhow!("{} exists; --force replaces it", at.display()),
            _ => anyhow!("{}: {error}", at.display()),
        })
    }

    fn style(&self) -> text::Options {
        text::Options { width: terminal::width(), colour: self.color.is_on(), top: self.top, sort: self.sort }
    }

    /// Whether reports are printed: a page stands for their text.
    fn has_text(&self) -> bool {
        self.html.is_none() || self.json
    }

    /// Whether there is only one report.
    fn is_one(&self) -> bool {
        self.merge || self.files.len() == 1
    }

    fn text(&self, flow: Option<usize>) -> Text {
        Text { options: self.style(), flow }
    }

    fn renderer(&self, report: &View<'_>) -> anyhow::Result<Box<dyn Renderer>> {
        let find = |which| report::find_flow(report, which).map_err(|error| anyhow!("--flow: {error}"));
        Ok(match (self.json, &self.flow) {
            (true, _) => Box::new(Json { threads: self.threads() }),
            (false, Some(which)) => Box::new(self.text(Some(find(which)?))),
            (false, None) => Box::new(self.text(None)),
        })
    }

    fn write(&self, report: &View<'_>, out: &mut dyn Write) -> anyhow::Result<()> {
        Ok(self.renderer(report)?.render(report, out)?)
    }
}

/// A report of at most so many flows is buffered, so that the analysis need not wait for its reader.
const MAX_BUFFERED: usize = 4096;

fn stdout() -> io::Result<impl Write> {
    Ok(io::BufWriter::with_capacity(1 << 16, terminal::stdout()?))
}

/// What became of a file: its analysis, and its part of the page.
struct Done {
    ended: Ended,
    article: Option<Article>,
}

/// What is asked of one source.
struct Asked<'a, 'p> {
    filter: &'a Option<Filter>,
    threads: usize,
    /// The name of the capture in tables.
    name: String,
    printer: &'a Mutex<Printer<'p>>,
}

/// Prints reports in the order of the files, each as soon as possible. After several, it prints the summary.
struct Printer<'a> {
    asked: &'a Analyze,
    /// The number of the next file to print.
    next: usize,
    waiting: BTreeMap<usize, Option<Done>>,
    summaries: Vec<Totals>,
    is_flow_found: bool,
    /// The parts of a page.
    articles: Vec<Article>,
    tables: Vec<Tables<WholeFile>>,
    messages: Vec<MessageRows<WholeFile>>,
    /// The file of the Perfetto trace, until it is written.
    trace: Option<File>,
}

impl Printer<'_> {
    fn new(asked: &Analyze) -> anyhow::Result<Printer<'_>> {
        let (waiting, summaries, articles) = (BTreeMap::new(), Vec::new(), Vec::new());
        // A path that cannot be written fails before the long work.
        let (tables, messages, trace) = (asked.tables()?, asked.message_tables()?, asked.create_trace()?);
        Ok(Printer {
            asked,
            next: 0,
            waiting,
            summaries,
            is_flow_found: false,
            articles,
            tables,
            messages,
            trace,
        })
    }

    /// Takes the analysis of a file.
    fn put(&mut self, at: usize, done: Option<Done>) -> anyhow::Result<()> {
        self.waiting.insert(at, done);
        while let Some(done) = self.waiting.remove(&self.next) {
            self.next += 1;
            self.print(done)?;
        }
        Ok(())
    }

    /// Prints the reports that wait for files that were not begun.
    fn print_waiting(&mut self) -> anyhow::Result<()> {
        std::mem::take(&mut self.waiting).into_values().try_for_each(|done| self.print(done))
    }

    /// Prints the reports that wait, and the summary. Returns the parts of the page.
    fn end(mut self) -> anyhow::Result<Vec<Article>> {
        self.print_waiting()?;
        for tables in std::mem::take(&mut self.tables) {
            tables.finish()?.into_iter().try_for_each(WholeFile::keep)?;
        }
        for messages in std::mem::take(&mut self.messages) {
            messages.finish()?.keep()?;
        }
        if !self.summaries.is_empty() {
            self.print_summary()?;
        }
        Ok(self.articles)
    }

    fn print_summary(&mut self) -> anyhow::Result<()> {
        let mut out = stdout()?;
        let set = Set::of_summaries(std::mem::take(&mut self.summaries));
        if self.asked.json {
            // The fields of a serialized `Set` after its reports.
            write!(out, r#"],"summaries":"#)?;
            json::write(&mut out, &set.summaries)?;
            write!(out, r#","total":"#)?;
            json::write(&mut out, &set.total)?;
            writeln!(out, "}}")?;
            return Ok(out.flush()?);
        }
        if let Some(which) = &self.asked.flow {
            let none = || anyhow!("--flow: no file has a flow {which}");
            return self.is_flow_found.then_some(()).ok_or_else(none);
        }
        text::write_set(&set, &self.asked.style(), &mut out)?;
        Ok(out.flush()?)
    }

    fn print(&mut self, done: Option<Done>) -> anyhow::Result<()> {
        let Some(Done { ended, article }) = done else { return Ok(()) };
        self.articles.extend(article);
        if let Some(file) = self.trace.take() {
            self.asked.trace(&ended, file)?;
        }
        self.print_report(&ended.report(), &|at| self.asked.sparkline(&ended, at))?;
        self.end_with(ended);
        Ok(())
    }

    /// After the only report the process ends. To free a million flows one by one takes longer.
    fn end_with<T>(&self, ended: T) {
        if self.asked.is_one() {
            std::mem::forget(ended);
        }
    }

    /// Prints a report, and below one flow of the only one its `line` of rate and marks.
    fn print_report(
        &mut self,
        report: &View<'_>,
        line: &dyn Fn(usize) -> Option<String>,
    ) -> anyhow::Result<()> {
        self.tables.iter_mut().try_for_each(|tables| tables.add(report))?;
        let asked = self.asked;
        if !asked.has_text() {
            return Ok(());
        }
        let mut out = stdout()?;
        if asked.is_one() {
            asked.write(report, &mut out)?;
            if let Some(which) = asked.flow.as_ref().filter(|_| !asked.json) {
                let at = report::find_flow(report, which).map_err(|error| anyhow!("--flow: {error}"))?;
                line(at).map_or(Ok(()), |line| write!(out, "\n{line}"))?;
            }
            return Ok(out.flush()?);
        }
        let is_first = self.summaries.is_empty();
        self.summaries.push(Totals::of(report));
        if asked.json {
            match is_first {
                true => write!(out, r#"{{"schema":"{}","reports":["#, set::SCHEMA)?,
                false => write!(out, ",")?,
            }
            json::write(&mut out, report)?;
            return Ok(out.flush()?);
        }
        if let Some(which) = &asked.flow {
            let Ok(index) = report::find_flow(report, which) else { return Ok(()) };
            self.is_flow_found = true;
            asked.text(Some(index)).render(report, &mut out)?;
        } else {
            asked.text(None).render(report, &mut out)?;
        }
        writeln!(out)?;
        Ok(out.flush()?)
    }
}
