//! `rdmawire analyze`: who retransmits, what was lost and where.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, IsTerminal, Read, Write},
    path::{Path, PathBuf},
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::anyhow;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::{
    Outcome,
    arg::{self, Check, RocePorts},
    end_on_ctrl_c,
    pipeline::{self, Step},
    say,
    terminal::{self, Color},
};
use rdmawire::{
    analyze::{Address, Analysis, Batch, Ended, Files, KnownConnection, Options},
    capture::{self, Info, Interface, Merge, Reader, Source},
    dissect::Dissection,
    filter::{Filter, FrameMeta},
    grammar::units,
    icrc,
    report::{
        self, CaptureProblem, Renderer, Sort, View,
        json::{self, Json},
        set::{self, Set, Totals},
        text::{self, Text},
    },
};

/// Find retransmissions, losses, reordering, congestion, and what they cost.
#[derive(Debug, Args)]
pub(super) struct Analyze {
    /// Capture files: pcap, pcapng or ERF, also compressed with gzip or zstd; `-` is standard input. Each file gets a report.
    /// Several files also get a summary.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Merge all files into one trace, in the order of time: rotated files, or several interfaces.
    #[arg(long)]
    merge: bool,
    /// Write the report as one JSON object.
    #[arg(long)]
    json: bool,
    /// Show one flow in detail: its number in the list, or SOURCE,DESTINATION,QP.
    #[arg(long, value_name = "FLOW", conflicts_with = "json")]
    flow: Option<String>,
    /// Show at most N rows of each list, and N findings; 0 shows all.
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Sort flows by trouble, packets, bytes, retransmits, out-of-order, losses, marks, latency, or time.
    #[arg(long, value_name = "BY", value_parser = sort, default_value = "trouble")]
    sort: Sort,
    /// Analyze only frames that match: `ip.dst == 10.0.0.2`; see `rdmawire explain filter`.
    #[arg(short, long, value_name = "EXPR")]
    filter: Option<String>,
    /// Show traffic over time, in intervals of this length: 1ms, 1s.
    #[arg(long, value_name = "TIME", value_parser = units::positive_duration)]
    interval: Option<u64>,
    /// Print a report every N seconds: for streams that do not end.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    every: Option<u64>,
    /// The speed of the links, such as 400G. The durations of pauses need it.
    #[arg(long, value_name = "SPEED", value_parser = units::bit_rate)]
    speed: Option<u64>,
    /// Whether to verify ICRCs.
    #[arg(long, value_enum, default_value_t)]
    icrc: Check,
    #[command(flatten)]
    roce: RocePorts,
    /// A file with the queue pairs that are connected: lines with ADDRESS,QP,ADDRESS,QP, or the output of
    /// `rdma -j resource show qp`.
    #[arg(long, value_name = "FILE", value_parser = qp_map)]
    qp_map: Option<QpMap>,
    /// The memory of all analyses together. Beyond it, the flows that have been silent longest lose detail, such as single
    /// episodes and percentiles.
    #[arg(long, value_name = "SIZE", value_parser = units::size, default_value = "512MiB")]
    max_memory: u64,
    /// The number of flows that are kept at a time. Beyond it, the flow that has been silent longest is evicted. Never more
    /// than fit into --max-memory.
    #[arg(long, value_name = "N", default_value_t = Options::default().max_flows)]
    max_flows: usize,
    /// How late the network may deliver a packet. A packet that comes within this time after a later one counts as reordered,
    /// not as retransmitted, unless there is better evidence.
    #[arg(long, value_name = "TIME", value_parser = units::duration, default_value = "50us")]
    reorder_window: u64,
    /// The acknowledgement timeout of all queue pairs: IBTA's exponent (14), or a time (67ms). By default, the connection
    /// manager's messages state it; without them, it is estimated from round trips.
    #[arg(long, value_name = "TIMEOUT", value_parser = ack_timeout)]
    ack_timeout: Option<i64>,
    /// The number of threads; 0: one per processor. Several files are analyzed at the same time. If there are fewer files than
    /// threads, several threads work on each large file: all read and verify, and one tracks the flows. The report is the same.
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    /// When to colour the text.
    #[arg(long, value_enum, default_value_t)]
    color: Color,
}

fn sort(name: &str) -> Result<Sort, String> {
    let names = || Sort::ALL.map(|(name, _)| name).join(", ");
    let found = Sort::ALL.iter().find(|(other, _)| *other == name);
    found.map(|(_, sort)| *sort).ok_or_else(|| format!("expected one of {}", names()))
}

/// IBTA vol. 1, 11.2.4.2: the timeout is 4.096 us times 2 to the exponent.
fn ack_timeout(text: &str) -> Result<i64, String> {
    let ns = match text.parse::<u32>() {
        Ok(exponent @ 1..=31) => 4096 << exponent,
        Ok(_) => return Err("an exponent from 1 to 31".into()),
        Err(_) => units::positive_duration(text).map_err(|error| error.to_string())?,
    };
    i64::try_from(ns).map_err(|_| "a time below 292 years".into())
}

/// The connections of a file for --qp-map.
#[derive(Clone, Debug)]
struct QpMap(Vec<KnownConnection>);

fn qp_map(path: &str) -> Result<QpMap, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    if text.trim_start().starts_with('[') {
        return KnownConnection::from_rdma_json(&text).map(QpMap);
    }
    let lines = text.lines().enumerate().map(|(n, line)| (n + 1, line.trim()));
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(n, line)| {
            let parts: Vec<&str> = line.split(',').map(str::trim).collect();
            let [a, a_qp, b, b_qp] = parts[..] else {
                return Err(format!("line {n}: expected ADDRESS,QP,ADDRESS,QP"));
            };
            let end = |address: &str, qp: &str| {
                let no_address =
                    || format!("line {n}: {address:?} is neither an IP address, nor gid:, nor lid:");
                let no_qp = |_| format!("line {n}: {qp:?} is not the number of a queue pair");
                let address = end_address(address).ok_or_else(no_address)?;
                Ok::<_, String>((Some(address), units::qpn(qp).map_err(no_qp)?.0))
            };
            Ok(KnownConnection { a: end(a, a_qp)?, b: end(b, b_qp)? })
        })
        .collect::<Result<_, _>>()
        .map(QpMap)
}

fn end_address(text: &str) -> Option<Address> {
    if let Some(gid) = text.strip_prefix("gid:") {
        return gid.parse().ok().map(Address::Gid);
    }
    if let Some(lid) = text.strip_prefix("lid:") {
        return u16::try_from(units::integer(lid).ok()?).ok().map(Address::Lid);
    }
    text.parse().ok().map(Address::Ip)
}

/// A file with at least so many bytes is worth a second thread.
fn long(info: &Info) -> u64 {
    if info.compression == capture::Compression::None { 1 << 20 } else { 64 << 10 }
}

/// The number of threads without those that decompress files.
fn threads_left<'a>(threads: usize, files: impl Iterator<Item = &'a Info>) -> usize {
    threads.saturating_sub(files.filter(|file| file.compression != capture::Compression::None).count())
}

/// Set by Ctrl-C: the work ends.
static STOP: AtomicBool = AtomicBool::new(false);

impl Analyze {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let filter = arg::filter(&self.filter)?;
        end_on_ctrl_c(&STOP);
        let printer = Mutex::new(Printer::new(&self));
        let all_read =
            if self.merge { self.merged(&filter, &printer)? } else { self.each(&filter, &printer)? };
        printer.into_inner().unwrap_or_else(PoisonError::into_inner).end()?;
        Ok(if all_read { Outcome::Done } else { Outcome::Failed })
    }

    /// Analyzes each file by itself, several at a time, and prints reports in the order of the files. Returns whether all files
    /// could be read.
    fn each(&self, filter: &Option<Filter>, printer: &Mutex<Printer<'_>>) -> anyhow::Result<bool> {
        let all_threads = self.threads();
        let threads = all_threads.min(self.files.len()).max(1);
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
                let done = self.file(path, filter, all_threads / threads.min(unended));
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
    ) -> anyhow::Result<(Option<Ended>, bool)> {
        let Some(mut reader) = try_open(path) else { return Ok((None, false)) };
        let threads = threads_left(threads, [reader.info()].into_iter());
        let (analysis, is_all) = self.analyze(&mut reader, filter, threads)?;
        Ok((Some(analysis.from(describe([reader.info()].into_iter()))), is_all))
    }

    fn merged(&self, filter: &Option<Filter>, printer: &Mutex<Printer<'_>>) -> anyhow::Result<bool> {
        let readers: Vec<Reader> = self.files.iter().filter_map(|path| try_open(path)).collect();
        let all_read = readers.len() == self.files.len();
        if readers.is_empty() {
            return Ok(false);
        }
        let threads = threads_left(self.threads(), readers.iter().map(|reader| reader.info()));
        let mut merge = Merge::new(readers);
        let (analysis, is_all) = self.analyze(&mut merge, filter, threads)?;
        let done = analysis.from(describe(merge.readers().map(|reader| reader.info())));
        printer.lock().unwrap_or_else(PoisonError::into_inner).put(0, Some(done))?;
        Ok(all_read && is_all)
    }

    /// Analyzes a source. Returns the analysis, and whether all of the source could be read.
    fn analyze(
        &self,
        source: &mut (impl Source + Send),
        filter: &Option<Filter>,
        threads: usize,
    ) -> anyhow::Result<(Ended, bool)> {
        let analysis = Mutex::new(Analysis::new(self.options()));
        let Some(seconds) = self.every else {
            let mut held = analysis.lock().unwrap_or_else(PoisonError::into_inner);
            let is_long = source.info().total_bytes.is_some_and(|bytes| bytes >= long(source.info()));
            let is_all = if threads > 1 && is_long {
                self.feed_on_threads(source, filter, threads, &mut held)
            } else {
                self.feed(source, filter, &mut *held)
            };
            drop(held);
            return Ok((analysis.into_inner().unwrap_or_else(PoisonError::into_inner).end(), is_all));
        };
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
            let is_all = self.feed(source, filter, &analysis);
            *over.lock().unwrap_or_else(PoisonError::into_inner) = true;
            changed.notify_all();
            reporter.join().map(|reported| reported.map(|()| is_all))
        });
        let is_all = reported.map_err(|_| anyhow!("the report could not be made"))??;
        Ok((analysis.into_inner().unwrap_or_else(PoisonError::into_inner).end(), is_all))
    }

    /// Prints the report of an analysis that continues. The analysis waits until the report is made; if the report is too long to be
    /// buffered, until it is written.
    fn print_so_far(&self, analysis: &Mutex<Analysis>, name: &str) -> anyhow::Result<()> {
        let mut held = analysis.lock().unwrap_or_else(PoisonError::into_inner);
        let mut report = held.report_so_far();
        report.capture.files = vec![name.to_owned()];
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

    /// Passes all frames of a source to the analysis. Returns whether all of it could be read; errors are printed.
    #[inline(never)]
    fn feed(&self, source: &mut impl Source, filter: &Option<Filter>, mut to: impl Access) -> bool {
        let options = self.options();
        let mut progress = Progress::new(source.info());
        let (mut interfaces, mut number, mut untold) = (0, 0u64, 0);
        loop {
            let shown = match filter {
                None => source.next_batch(|record| to.with(|analysis| analysis.push(record))),
                Some(filter) => source.next_batch(|record| {
                    let (d, icrc) = options.examine(record);
                    number += 1;
                    to.with(|analysis| push_if_matching(analysis, record, &d, icrc, filter, number));
                }),
            };
            match shown {
                Ok(0) => break,
                Ok(frames) => untold += frames,
                Err(error) => {
                    progress.clear();
                    say(format_args!("{error}"));
                    return false;
                }
            }
            let known = source.info().interfaces.len();
            if known != interfaces {
                let new = &source.info().interfaces[interfaces..];
                to.with(|analysis| name_interfaces(analysis, new, interfaces));
                interfaces = known;
            }
            if STOP.load(Ordering::Relaxed) {
                break;
            }
            if untold > 0xffff {
                untold = 0;
                progress.show(source.info().bytes_read);
            }
        }
        progress.clear();
        true
    }

    /// [`feed`](Self::feed) on several threads.
    fn feed_on_threads(
        &self,
        source: &mut (impl Source + Send),
        filter: &Option<Filter>,
        threads: usize,
        analysis: &mut Analysis,
    ) -> bool {
        let options = self.options();
        let mut progress = Progress::new(source.info());
        let mut number = 0;
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

    /// The memory of each analysis. Files that are analyzed at the same time share it.
    fn max_memory(&self) -> usize {
        let analyses = if self.merge { 1 } else { self.threads().min(self.files.len()) };
        super::memory::for_each(self.max_memory, analyses)
    }

    fn options(&self) -> Options {
        Options {
            dissect: self.roce.options(),
            verify_icrc: self.icrc == Check::Verify,
            max_flows: self.max_flows,
            max_memory: self.max_memory(),
            reorder_window_ns: i64::try_from(self.reorder_window).unwrap_or(i64::MAX),
            ack_timeout_ns: self.ack_timeout,
            speed_bps: self.speed,
            interval_ns: self.interval,
            connections: self.qp_map.as_ref().map_or_else(Vec::new, |map| map.0.clone()),
            reference: false,
        }
    }

    fn style(&self) -> text::Options {
        text::Options { width: terminal::width(), colour: self.color.is_on(), top: self.top, sort: self.sort }
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

/// Prints reports in the order of the files, each as soon as possible. After several, it prints the summary.
struct Printer<'a> {
    asked: &'a Analyze,
    /// The number of the next file to print.
    next: usize,
    waiting: BTreeMap<usize, Option<Ended>>,
    summaries: Vec<Totals>,
    is_flow_found: bool,
}

impl Printer<'_> {
    fn new(asked: &Analyze) -> Printer<'_> {
        let (waiting, summaries) = (BTreeMap::new(), Vec::new());
        Printer { asked, next: 0, waiting, summaries, is_flow_found: false }
    }

    /// Takes the analysis of a file.
    fn put(&mut self, at: usize, done: Option<Ended>) -> anyhow::Result<()> {
        self.waiting.insert(at, done);
        while let Some(done) = self.waiting.remove(&self.next) {
            self.next += 1;
            self.print(done)?;
        }
        Ok(())
    }

    /// Prints the reports that wait for files that were not begun, and the summary.
    fn end(mut self) -> anyhow::Result<()> {
        for (_, done) in std::mem::take(&mut self.waiting) {
            self.print(done)?;
        }
        if self.summaries.is_empty() {
            return Ok(());
        }
        let mut out = stdout()?;
        let set = Set::of_summaries(self.summaries);
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

    fn print(&mut self, done: Option<Ended>) -> anyhow::Result<()> {
        let Some(done) = done else { return Ok(()) };
        let report = done.report();
        let asked = self.asked;
        let mut out = stdout()?;
        if asked.is_one() {
            asked.write(&report, &mut out)?;
            out.flush()?;
            drop(report);
            // The process ends. To free a million flows one by one takes longer.
            std::mem::forget(done);
            return Ok(());
        }
        let is_first = self.summaries.is_empty();
        self.summaries.push(Totals::of(&report));
        if asked.json {
            match is_first {
                true => write!(out, r#"{{"schema":"{}","reports":["#, set::SCHEMA)?,
                false => write!(out, ",")?,
            }
            json::write(&mut out, &report)?;
            return Ok(out.flush()?);
        }
        if let Some(which) = &asked.flow {
            let Ok(index) = report::find_flow(&report, which) else { return Ok(()) };
            self.is_flow_found = true;
            asked.text(Some(index)).render(&report, &mut out)?;
        } else {
            asked.text(None).render(&report, &mut out)?;
        }
        writeln!(out)?;
        Ok(out.flush()?)
    }
}

/// Opens a file; prints the error if that fails.
fn try_open(path: &Path) -> Option<Reader> {
    open(path).inspect_err(|error| say(format_args!("{error}"))).ok()
}

/// Opens a file. If it is a stream, Ctrl-C ends the wait for its next byte.
fn open(path: &Path) -> Result<Reader, capture::Error> {
    if path == Path::new("-") {
        return Reader::from_read(Interruptible::new(io::stdin()), "-");
    }
    if std::fs::metadata(path).is_ok_and(|known| !known.is_file() && !known.is_dir())
        && let Ok(file) = File::open(path)
    {
        return Reader::from_read(Interruptible::new(file), &path.display().to_string());
    }
    capture::open(path)
}

/// A stream that ends after Ctrl-C, even while it waits for input.
struct Interruptible {
    chunks: mpsc::Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    at: usize,
}

impl Interruptible {
    fn new(mut from: impl Read + Send + 'static) -> Interruptible {
        let (sender, chunks) = mpsc::sync_channel(16);
        thread::spawn(move || {
            loop {
                let mut chunk = vec![0; 1 << 18];
                let result = from.read(&mut chunk).map(|n| {
                    chunk.truncate(n);
                    chunk
                });
                let is_last = result.as_ref().is_ok_and(Vec::is_empty);
                let is_error = result.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::Interrupted);
                if sender.send(result).is_err() || is_last || is_error {
                    return;
                }
            }
        });
        Interruptible { chunks, chunk: Vec::new(), at: 0 }
    }
}

impl Read for Interruptible {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.chunk.len() {
            if STOP.load(Ordering::Relaxed) {
                return Ok(0);
            }
            match self.chunks.recv_timeout(Duration::from_millis(100)) {
                Ok(chunk) => (self.chunk, self.at) = (chunk?, 0),
                Err(mpsc::RecvTimeoutError::Timeout) => continue,
                Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(0),
            }
            if self.chunk.is_empty() {
                return Ok(0);
            }
        }
        let rest = self.chunk.get(self.at..).unwrap_or(&[]);
        let n = rest.len().min(into.len());
        into[..n].copy_from_slice(&rest[..n]);
        self.at += n;
        Ok(n)
    }
}

/// Access to an analysis, which may be shared with a second thread.
trait Access {
    fn with(&mut self, change: impl FnOnce(&mut Analysis));
}

impl Access for &mut Analysis {
    #[inline(always)]
    fn with(&mut self, change: impl FnOnce(&mut Analysis)) {
        change(self);
    }
}

impl Access for &Mutex<Analysis> {
    fn with(&mut self, change: impl FnOnce(&mut Analysis)) {
        change(&mut self.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn push_if_matching(
    analysis: &mut Analysis,
    record: &capture::Record<'_>,
    d: &Dissection<'_>,
    icrc: icrc::State,
    filter: &Filter,
    number: u64,
) {
    let meta = FrameMeta { number, time_ns: record.time.0, icrc: Some(icrc) };
    match filter.matches(d, &meta) {
        true => analysis.push_dissected(record, d, icrc),
        false => analysis.pass_over(),
    }
}

fn name_interfaces(analysis: &mut Analysis, new: &[Interface], from: usize) {
    for (n, interface) in new.iter().enumerate() {
        let Ok(number) = u16::try_from(from + n) else { return };
        analysis.interface(number, interface.name.clone().unwrap_or_default(), interface.speed_bps);
    }
}

/// The properties of the files. Damage is also printed on standard error.
fn describe<'a>(infos: impl Iterator<Item = &'a Info>) -> Files {
    let mut all = Files::default();
    for info in infos {
        if let Some(first) = info.problems.first() {
            let more = match info.problem_count.saturating_sub(1) {
                0 => String::new(),
                n => format!(" (and {n} more places)"),
            };
            say(format_args!("warning: {}: {first}{more}", info.name));
        }
        let problem = |damage: &capture::Damage| {
            CaptureProblem::new(info.name.clone(), damage.offset, damage.problem.to_string())
        };
        all.names.push(info.name.clone());
        all.problems.extend(info.problems.iter().map(problem));
        for drops in info.interfaces.iter().filter_map(|interface| interface.drops) {
            *all.drops.get_or_insert(0) += drops;
        }
    }
    all
}

/// A progress bar on standard error, if that is a terminal and the work takes long.
struct Progress {
    began: Instant,
    bar: Option<ProgressBar>,
    is_wanted: bool,
    total: u64,
}

impl Progress {
    fn new(info: &Info) -> Progress {
        let is_wanted = io::stderr().is_terminal() && info.total_bytes.is_some();
        Progress { began: Instant::now(), bar: None, is_wanted, total: info.total_bytes.unwrap_or(0) }
    }

    fn show(&mut self, bytes: u64) {
        if !self.is_wanted || self.began.elapsed() < Duration::from_secs(1) {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(self.total);
            let style =
                ProgressStyle::with_template("{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}");
            style.map_or_else(|_| bar.clone(), |style| bar.clone().with_style(style))
        });
        bar.set_position(bytes);
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
