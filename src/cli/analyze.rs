//! `rdmawire analyze`: who retransmits, what was lost and where.

use std::{
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
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};

use super::{
    Outcome,
    pipeline::{self, Step},
    units,
};
use rdmawire::{
    analyze::{Address, Analysis, KnownConnection, Options},
    capture::{self, Info, Interface, Merge, Reader, Source},
    dissect::{self, ROCE_PORT, dissect_with},
    filter::{Filter, FrameMeta},
    icrc,
    report::{
        analysis::{Analysis as Report, CaptureProblem},
        set::Set,
        text,
    },
};

/// Find retransmissions, losses, reordering, congestion, and what they cost.
#[derive(Debug, Args)]
pub(super) struct Analyze {
    /// Captures: pcap, pcapng, ERF, gzip or zstd around them; `-` is standard input. Each by itself, with a summary over
    /// all.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// All files as one trace in the order of time: rotated files, several interfaces.
    #[arg(long)]
    merge: bool,
    /// One JSON object.
    #[arg(long)]
    json: bool,
    /// One flow in depth: its number in the list, or SOURCE,DESTINATION,QP.
    #[arg(long, value_name = "FLOW", conflicts_with = "json")]
    flow: Option<String>,
    /// Rows of a list, and findings; 0 shows all.
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// What flows are sorted by: trouble, packets, bytes, retransmits, out-of-order, losses, marks, latency, time.
    #[arg(long, value_name = "BY", value_parser = sort, default_value = "trouble")]
    sort: text::Sort,
    /// Analyze only frames that match: `ip.dst == 10.0.0.2`; see `rdmawire explain filter`.
    #[arg(short, long, value_name = "EXPR")]
    filter: Option<String>,
    /// Traffic over time, in steps of this: 1ms, 1s.
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    interval: Option<u64>,
    /// A report every so many seconds, for streams that do not end.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    every: Option<u64>,
    /// The links' speed, as 400G: pauses then have durations.
    #[arg(long, value_name = "SPEED", value_parser = units::speed)]
    speed: Option<u64>,
    /// Whether ICRCs are verified.
    #[arg(long, value_enum, default_value_t)]
    icrc: Check,
    /// UDP destination port of RoCEv2; a second one may follow.
    #[arg(long, value_name = "PORT", value_delimiter = ',', num_args = 1, default_values_t = [ROCE_PORT])]
    roce_port: Vec<u16>,
    /// Which queue pairs belong together: a line each with ADDRESS,QP,ADDRESS,QP, or what `rdma -j resource show qp`
    /// prints.
    #[arg(long, value_name = "FILE", value_parser = qp_map)]
    qp_map: Option<QpMap>,
    /// Flows kept at a time; beyond, the ones silent longest are put away. As many flows of one packet each take about 300
    /// MB with their report; flows with many packets outstanding take more. Never more than fit into memory.
    #[arg(long, value_name = "N", default_value_t = Options::default().max_flows)]
    max_flows: usize,
    /// A packet that comes within so many microseconds of one sent later is late, where nothing better is known.
    #[arg(long, value_name = "US", default_value_t = (Options::default().late_ns / 1000) as u64)]
    ooo_us: u64,
    /// The queue pairs' acknowledgement timeout: IBTA's exponent (14), or a time (67ms).
    #[arg(long, value_name = "TIMEOUT", value_parser = ack_timeout)]
    ack_timeout: Option<i64>,
    /// Threads: of several files, so many are analyzed at a time (0: as many as there are processors). One file alone is
    /// read by several only where a number above 1 is given; the report is the same.
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    /// When the text is coloured.
    #[arg(long, value_enum, default_value_t)]
    color: Color,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Check {
    /// Verify them: packets with a wrong one count as corrupt.
    #[default]
    Verify,
    /// Do not.
    Off,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Color {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

fn sort(name: &str) -> Result<text::Sort, String> {
    let names = || text::Sort::ALL.map(|(name, _)| name).join(", ");
    let found = text::Sort::ALL.iter().find(|(other, _)| *other == name);
    found.map(|(_, sort)| *sort).ok_or_else(|| format!("expected one of {}", names()))
}

/// IBTA vol. 1, 11.2.4.2: 4.096 us times 2 to the exponent.
fn ack_timeout(text: &str) -> Result<i64, String> {
    let ns = match text.parse::<u32>() {
        Ok(exponent @ 1..=31) => 4096 << exponent,
        Ok(_) => return Err("an exponent from 1 to 31".into()),
        Err(_) => units::duration(text)?,
    };
    i64::try_from(ns).map_err(|_| "a time below 292 years".into())
}

/// Connections that a file names.
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
                let address = end_address(address).ok_or_else(|| {
                    format!("line {n}: {address:?} is neither an IP address, nor gid:, nor lid:")
                })?;
                let qp = units::number_of_qp(qp)
                    .ok_or_else(|| format!("line {n}: {qp:?} is not the number of a queue pair"))?;
                Ok::<_, String>((Some(address), qp))
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
        return units::number_of_qp(lid).and_then(|lid| u16::try_from(lid).ok()).map(Address::Lid);
    }
    text.parse().ok().map(Address::Ip)
}

/// Bytes of a file from which on it is worth a second thread.
fn long(info: &Info) -> u64 {
    if info.compression == capture::Compression::None { 1 << 20 } else { 64 << 10 }
}

/// Asked to stop: by Ctrl-C.
static STOP: AtomicBool = AtomicBool::new(false);

impl Analyze {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let filter = match &self.filter {
            Some(text) => Some(Filter::parse(text).map_err(|error| anyhow!("--filter: {error}"))?),
            None => None,
        };
        let max_flows = self.max_flows();
        if max_flows < self.max_flows {
            super::say(format_args!(
                "{max_flows} flows at a time are kept of each file: more do not fit into memory"
            ));
        }
        // The first Ctrl-C ends the reading and gives the report, the second one ends the program.
        let _ = ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        });
        let (reports, all_read) = if self.merge { self.merged(&filter)? } else { self.each(&filter)? };
        let is_one = self.merge || self.files.len() == 1;
        match (is_one, &reports[..]) {
            (_, []) => {}
            (true, [report, ..]) => self.print(report)?,
            (false, _) => self.print_set(reports)?,
        }
        Ok(if all_read { Outcome::Done } else { Outcome::Failed })
    }

    /// Every file by itself, several at a time; the reports in the files' order, and whether all could be read.
    fn each(&self, filter: &Option<Filter>) -> anyhow::Result<(Vec<Report>, bool)> {
        let threads = self.threads().min(self.files.len()).max(1);
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<(usize, anyhow::Result<Option<Report>>)>> = Mutex::new(Vec::new());
        let work = || {
            while let Some((at, path)) = {
                let at = next.fetch_add(1, Ordering::Relaxed);
                self.files.get(at).map(|path| (at, path))
            } {
                if STOP.load(Ordering::Relaxed) {
                    break;
                }
                let result = self.file(path, filter);
                if let Ok(mut done) = done.lock() {
                    done.push((at, result));
                }
            }
        };
        if threads == 1 {
            work();
        } else {
            thread::scope(|scope| (0..threads).for_each(|_| _ = scope.spawn(work)));
        }
        let mut done = done.into_inner().unwrap_or_default();
        done.sort_by_key(|(at, _)| *at);
        let (mut reports, mut all_read) = (Vec::new(), true);
        for (_, result) in done {
            match result? {
                Some(report) => reports.push(report),
                None => all_read = false,
            }
        }
        Ok((reports, all_read))
    }

    fn threads(&self) -> usize {
        super::memory::threads_that_fit(match self.threads {
            0 => thread::available_parallelism().map_or(1, |n| n.get()),
            n => n,
        })
    }

    /// One file; `None` where it could not be opened, which was said.
    fn file(&self, path: &Path, filter: &Option<Filter>) -> anyhow::Result<Option<Report>> {
        match open(path) {
            Ok(mut reader) => {
                let mut report = self.analyze(&mut reader, filter)?;
                report.capture.files = vec![reader.info().name.clone()];
                describe(&mut report, [reader.info()].into_iter());
                Ok(Some(report))
            }
            Err(error) => {
                super::say(format_args!("{error}"));
                Ok(None)
            }
        }
    }

    fn merged(&self, filter: &Option<Filter>) -> anyhow::Result<(Vec<Report>, bool)> {
        let (mut readers, mut all_read) = (Vec::new(), true);
        for path in &self.files {
            match open(path) {
                Ok(reader) => readers.push(reader),
                Err(error) => {
                    super::say(format_args!("{error}"));
                    all_read = false;
                }
            }
        }
        if readers.is_empty() {
            return Ok((Vec::new(), false));
        }
        let mut merge = Merge::new(readers);
        let mut report = self.analyze(&mut merge, filter)?;
        report.capture.files = merge.readers().map(|reader| reader.info().name.clone()).collect();
        describe(&mut report, merge.readers().map(|reader| reader.info()));
        Ok((vec![report], all_read))
    }

    fn analyze(&self, source: &mut (impl Source + Send), filter: &Option<Filter>) -> anyhow::Result<Report> {
        let analysis = Mutex::new(Analysis::new(self.options()));
        let Some(seconds) = self.every else {
            let mut held = analysis.lock().unwrap_or_else(PoisonError::into_inner);
            let is_alone = self.merge || self.files.len() == 1;
            let is_long = source.info().total_bytes.is_some_and(|bytes| bytes >= long(source.info()));
            // Asked for only: on two busy cores it was no faster than one thread, and took more of both.
            if self.threads > 1 && is_alone && is_long {
                self.feed_on_threads(source, filter, &mut held);
            } else {
                self.feed(source, filter, &mut |with| with(&mut held));
            }
            drop(held);
            return Ok(analysis.into_inner().unwrap_or_else(PoisonError::into_inner).finish());
        };
        // The clock must not wait for the next frame, which may never come: a thread of its own looks at it.
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
                    let mut report = analysis.lock().unwrap_or_else(PoisonError::into_inner).so_far();
                    report.capture.files = vec![name.clone()];
                    if let Err(error) = self.print(&report) {
                        STOP.store(true, Ordering::Relaxed);
                        return Err(error);
                    }
                }
            });
            self.feed(source, filter, &mut |with| {
                with(&mut analysis.lock().unwrap_or_else(PoisonError::into_inner));
            });
            *over.lock().unwrap_or_else(PoisonError::into_inner) = true;
            changed.notify_all();
            reporter.join()
        });
        reported.map_err(|_| anyhow!("the report could not be made"))??;
        Ok(analysis.into_inner().unwrap_or_else(PoisonError::into_inner).finish())
    }

    /// Shows all frames of a source to the analysis, which `to` gives access to.
    fn feed(
        &self,
        source: &mut impl Source,
        filter: &Option<Filter>,
        to: &mut impl FnMut(&mut dyn FnMut(&mut Analysis)),
    ) {
        let options = self.options();
        let mut progress = Progress::new(source.info());
        let (mut interfaces, mut number) = (0, 0u64);
        loop {
            let record = match source.next() {
                Ok(Some(record)) => record,
                Ok(None) => break,
                Err(error) => {
                    progress.clear();
                    super::say(format_args!("{error}"));
                    break;
                }
            };
            number += 1;
            to(&mut |analysis| see(analysis, &record, filter, number, &options));
            let known = source.info().interfaces.len();
            if known != interfaces {
                to(&mut |analysis| {
                    name_interfaces(analysis, &source.info().interfaces[interfaces..], interfaces)
                });
                interfaces = known;
            }
            if STOP.load(Ordering::Relaxed) {
                break;
            }
            if number & 0xffff == 0 {
                progress.show(source.info().bytes_read);
            }
        }
        progress.clear();
    }

    /// The same, on several threads.
    fn feed_on_threads(
        &self,
        source: &mut (impl Source + Send),
        filter: &Option<Filter>,
        analysis: &mut Analysis,
    ) {
        let options = self.options();
        let mut progress = Progress::new(source.info());
        let mut number = 0;
        let (dissect, verify) = (options.dissect, options.verify_icrc);
        let result = pipeline::run(source, dissect, verify, self.threads(), &STOP, |step| match step {
            Step::Frame(record, icrc) => {
                number += 1;
                match filter {
                    None => analysis.see_verified(&record, icrc),
                    Some(filter) => see_filtered(analysis, &record, icrc, filter, number, &options),
                }
            }
            Step::Interfaces(from, interfaces) => name_interfaces(analysis, interfaces, from),
            Step::Progress(bytes) => progress.show(bytes),
        });
        progress.clear();
        if let Err(error) = result {
            super::say(format_args!("{error}"));
        }
    }

    /// Files by themselves are analyzed at the same time, and their reports wait for each other.
    fn max_flows(&self) -> usize {
        let analyses = if self.merge { 1 } else { self.files.len() };
        super::memory::flows_that_fit(self.max_flows.max(1), analyses)
    }

    fn options(&self) -> Options {
        let port = |i| self.roce_port.get(i).copied().unwrap_or(0);
        Options {
            dissect: dissect::Options { roce_ports: [port(0), port(1)] },
            verify_icrc: self.icrc == Check::Verify,
            max_flows: self.max_flows(),
            late_ns: i64::try_from(self.ooo_us.saturating_mul(1000)).unwrap_or(i64::MAX),
            ack_timeout_ns: self.ack_timeout,
            speed_bps: self.speed,
            interval_ns: self.interval,
            connections: self.qp_map.as_ref().map_or_else(Vec::new, |map| map.0.clone()),
        }
    }

    fn style(&self) -> text::Options {
        let auto = || {
            io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        };
        let colour = match self.color {
            Color::Auto => auto(),
            Color::Always => true,
            Color::Never => false,
        };
        text::Options { width: super::units::terminal_width(), colour, top: self.top, sort: self.sort }
    }

    fn print(&self, report: &Report) -> anyhow::Result<()> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        if self.json {
            super::write_json(&mut out, report)?;
        } else if let Some(which) = &self.flow {
            let index = text::find_flow(report, which).map_err(|error| anyhow!("--flow: {error}"))?;
            text::write_flow(report, index, &self.style(), &mut out)?;
        } else {
            text::write(report, &self.style(), &mut out)?;
        }
        Ok(out.flush()?)
    }

    fn print_set(&self, reports: Vec<Report>) -> anyhow::Result<()> {
        let set = Set::new(reports);
        let mut out = io::BufWriter::new(io::stdout().lock());
        if self.json {
            super::write_json(&mut out, &set)?;
            return Ok(out.flush()?);
        }
        let style = self.style();
        let mut is_found = self.flow.is_none();
        for report in &set.reports {
            match &self.flow {
                None => text::write(report, &style, &mut out)?,
                Some(which) => match text::find_flow(report, which) {
                    Ok(index) => {
                        is_found = true;
                        text::write_flow(report, index, &style, &mut out)?;
                    }
                    Err(_) => continue,
                },
            }
            writeln!(out)?;
        }
        if let (false, Some(which)) = (is_found, &self.flow) {
            return Err(anyhow!("--flow: no file has a flow {which}"));
        }
        if self.flow.is_none() {
            text::write_set(&set, &style, &mut out)?;
        }
        Ok(out.flush()?)
    }
}

/// Opens a file; one without an end, so that Ctrl-C ends the wait for its next byte.
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

/// A stream that ends when the program is asked to stop, even if nothing comes.
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

#[inline]
fn see(
    analysis: &mut Analysis,
    record: &capture::Record<'_>,
    filter: &Option<Filter>,
    number: u64,
    options: &Options,
) {
    let Some(filter) = filter else { return analysis.see(record) };
    let icrc = match options.verify_icrc {
        true => icrc::verify(&dissect_with(options.dissect, record.link, record.frame, record.wire_len)),
        false => icrc::State::Unchecked,
    };
    see_filtered(analysis, record, icrc, filter, number, options);
}

fn see_filtered(
    analysis: &mut Analysis,
    record: &capture::Record<'_>,
    icrc: icrc::State,
    filter: &Filter,
    number: u64,
    options: &Options,
) {
    let d = dissect_with(options.dissect, record.link, record.frame, record.wire_len);
    let meta = FrameMeta { number, time_ns: record.time.0, icrc: Some(icrc) };
    match filter.matches(&d, &meta) {
        true => analysis.see_dissected(record, &d, icrc),
        false => analysis.pass_over(),
    }
}

fn name_interfaces(analysis: &mut Analysis, new: &[Interface], from: usize) {
    for (n, interface) in new.iter().enumerate() {
        let Ok(number) = u16::try_from(from + n) else { return };
        analysis.interface(number, interface.name.clone().unwrap_or_default(), interface.speed_bps);
    }
}

/// What the files say of themselves: damage, drops. Damage is a line on standard error too.
fn describe<'a>(report: &mut Report, infos: impl Iterator<Item = &'a Info>) {
    for info in infos {
        if let Some(first) = info.problems.first() {
            let more = match info.problem_count.saturating_sub(1) {
                0 => String::new(),
                n => format!(" (and {n} more places)"),
            };
            super::say(format_args!("warning: {}: {first}{more}", info.name));
        }
        let problem = |damage: &capture::Damage| CaptureProblem {
            file: info.name.clone(),
            offset: damage.offset,
            what: damage.problem.to_string(),
        };
        report.capture.problems.extend(info.problems.iter().map(problem));
        for drops in info.interfaces.iter().filter_map(|interface| interface.drops) {
            *report.capture.capture_drops.get_or_insert(0) += drops;
        }
    }
}

/// A bar on standard error, if that is a terminal and it takes long.
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
