//! `rdmawire capture`: captures from an interface into a file, or directly into the analysis.

mod ring;

use std::{
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, atomic::AtomicBool},
    time::Duration,
};

use anyhow::bail;
use clap::Args;

use super::{
    Outcome,
    arg::{format_of, positive, snaplen},
    every::{held, print_so_far, while_working},
    input,
    signals::end_on_signal,
    terminal::{self, Color},
};
use rdmawire::{
    analyze::{Analysis, Files, Options},
    capture::{
        Format, Record, Source,
        live::{LiveOptions, LiveSource},
    },
    dissect::dissect,
    filter::{Filter, FrameMeta},
    frame::{Clock, Frame, Line},
    grammar::{print::several, units},
    report::{
        Renderer,
        json::Json,
        text::{self, Text},
    },
};
use ring::{Ring, Rotation};

/// Capture from an interface: frames as lines, into a file, into the analysis, or both. Ctrl-C ends it; the file is complete then.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire capture -i eth0 -f 'udp port 4791'
  rdmawire capture -i eth0 -f 'udp port 4791' -o x.pcapng
  rdmawire capture -i eth0 -o x.pcapng --rotate 100MB --keep 10
  rdmawire capture -i eth0 --analyze --every 1s")]
pub(super) struct Capture {
    /// The interface; see `rdmawire interfaces`.
    #[arg(short, long, value_name = "NAME")]
    interface: String,
    /// The capture to write: .pcap, .pcapng or .erf, with .gz or .zst behind; `-` is pcapng on standard output. Without it, and without
    /// --analyze, each frame is a line.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long)]
    force: bool,
    /// Begin a new file after so many bytes of frames, or so much time: 100MB, 1min. x.pcapng becomes x-00001.pcapng, x-00002.pcapng, …,
    /// which every command reads as one capture.
    #[arg(long, value_name = "SIZE|TIME", requires = "output")]
    rotate: Option<Rotation>,
    /// With --rotate: how many files stay, the newest ones; 0: all.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "rotate")]
    keep: usize,
    /// Keep only frames that match: `udp port 4791`, as in tcpdump, or an expression of `rdmawire explain filter`. If built
    /// with libpcap, the kernel filters, with all of tcpdump's words; else this program filters, with the words ip, ip6,
    /// udp, tcp, icmp, arp, vlan, host, net, port, src, dst, ether proto, and, or, not, ().
    #[arg(short, long, value_name = "EXPR")]
    filter: Option<String>,
    /// Stop after this many frames.
    #[arg(short, long, value_name = "N", value_parser = positive::<u64>)]
    count: Option<u64>,
    /// Stop after this time: 10s, 5min.
    #[arg(long, value_name = "TIME", value_parser = units::positive_duration)]
    duration: Option<u64>,
    /// Keep at most this many bytes of each frame.
    #[arg(short, long, value_name = "BYTES", value_parser = snaplen)]
    snaplen: Option<u32>,
    /// Size of the kernel's buffer.
    #[arg(long, value_name = "BYTES", value_parser = units::size, default_value = "64MiB")]
    buffer: u64,
    /// Do not capture frames that are addressed to other stations.
    #[arg(short = 'p', long)]
    no_promiscuous: bool,
    /// Analyze the frames, and write the report to standard output at the end.
    #[arg(long)]
    analyze: bool,
    /// Write the report as one JSON object.
    #[arg(long, requires = "analyze")]
    json: bool,
    /// With --analyze: also show the report so far every so often, at the top of the screen: 1s.
    #[arg(long, value_name = "TIME", value_parser = units::positive_duration, requires = "analyze", conflicts_with = "json")]
    every: Option<u64>,
    /// Print only errors.
    #[arg(short, long)]
    quiet: bool,
}

impl Capture {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let to_stdout = self.output.as_deref() == Some(Path::new("-"));
        if to_stdout && self.analyze {
            bail!("the capture and the report cannot both go to standard output");
        }
        let format = match &self.output {
            _ if to_stdout => Some(Format::Pcapng),
            Some(path) => Some(format_of(path)?),
            None => None,
        };
        let stop = Arc::new(AtomicBool::new(false));
        #[allow(clippy::needless_update, reason = "with libpcap there are more")]
        let options = LiveOptions {
            snaplen: self.snaplen.unwrap_or(0),
            promiscuous: !self.no_promiscuous,
            buffer: usize::try_from(self.buffer).unwrap_or(usize::MAX).min(1 << 30),
            duration: self.duration.map(Duration::from_nanos),
            stop: stop.clone(),
            ..LiveOptions::default()
        };
        if to_stdout && self.rotate.is_some() {
            bail!("--rotate needs a file: -o x.pcapng");
        }
        let (mut source, filter) = open(&self.interface, self.filter.as_deref(), options)?;
        let mut ring = match (&self.output, format) {
            (Some(path), Some(format)) => {
                let interfaces = &source.info().interfaces;
                Some(Ring::create(path, format, interfaces, self.force, self.rotate, self.keep)?)
            }
            _ => None,
        };
        let analysis = self.analyze.then(|| Mutex::new(Analysis::new(Options::default())));
        let mut lines = (ring.is_none() && analysis.is_none()).then(Lines::new);
        end_on_signal(stop);
        if !self.quiet {
            super::say(format_args!("capturing on {}; Ctrl-C ends it", self.interface));
        }
        let mut kept = 0u64;
        let mut capture = || {
            input::each_while(&mut source, None, |number, record| {
                if !matches(filter.as_ref(), number, record) {
                    return Ok(true);
                }
                kept += 1;
                if let Some(ring) = &mut ring {
                    ring.put(record)?;
                    if to_stdout {
                        ring.flush()?;
                    }
                }
                if let Some(analysis) = &analysis {
                    held(analysis).push(record);
                }
                if let Some(lines) = &mut lines {
                    lines.put(kept, record)?;
                }
                Ok(self.count.is_none_or(|count| kept < count))
            })
        };
        let read = match (self.every, &analysis) {
            (Some(ns), Some(analysis)) => {
                while_working(Duration::from_nanos(ns), || self.show(analysis), capture)??
            }
            _ => capture()?,
        };
        let drops = source.count_drops();
        if let Some(ring) = ring {
            ring.keep(drops)?;
        }
        if !self.quiet || drops.is_some_and(|drops| drops > 0) {
            let lost = drops.map_or("losses unknown".into(), |drops| format!("{drops} lost by the kernel"));
            let left_out = read.frames - kept;
            let kept = several(kept, "frame");
            super::say(format_args!("{kept} captured, {left_out} left out by the filter, {lost}"));
        }
        if let Some(analysis) = analysis {
            self.report(analysis.into_inner().unwrap_or_else(PoisonError::into_inner), drops)?;
        }
        // After an error, the frames captured before are kept.
        read.all()?;
        Ok(Outcome::Done)
    }

    /// Shows the report so far. It takes the place of the one before on a terminal.
    fn show(&self, analysis: &Mutex<Analysis>) -> anyhow::Result<()> {
        let lead: &[u8] = if io::stdout().is_terminal() { b"\x1b[H\x1b[2J" } else { b"" };
        print_so_far(analysis, &self.interface, lead, |report, out| Ok(self.text().render(report, out)?))
    }

    fn text(&self) -> Text {
        let (width, colour) = (terminal::width(), Color::Auto.is_on());
        Text { options: text::Options { width, colour, ..text::Options::default() }, flow: None }
    }

    fn report(&self, analysis: Analysis, drops: Option<u64>) -> anyhow::Result<()> {
        let files = Files { names: vec![self.interface.clone()], drops, ..Files::default() };
        let analysis = analysis.end().from(files);
        let report = analysis.report();
        let mut out = io::BufWriter::new(io::stdout().lock());
        if self.json {
            Json { threads: 1 }.render(&report, &mut out)?;
        } else {
            self.text().render(&report, &mut out)?;
        }
        Ok(out.flush()?)
    }
}

/// Frames as lines, each as soon as it comes.
struct Lines {
    line: Line,
    text: String,
}

impl Lines {
    fn new() -> Lines {
        Lines { line: Line::new(Clock::default(), Color::Auto.is_on()), text: String::new() }
    }

    fn put(&mut self, number: u64, record: &Record<'_>) -> anyhow::Result<()> {
        let d = dissect(record.link, record.frame, record.wire_len);
        self.text.clear();
        self.line.write(&Frame::new(number, record.time.0, &d).verified(), &mut self.text)?;
        let mut out = io::stdout().lock();
        Ok(out.write_all(self.text.as_bytes()).and_then(|()| out.flush())?)
    }
}

/// Opens an interface. Also gives the filter, if this program applies it and not the kernel.
pub(super) fn open(
    interface: &str,
    filter: Option<&str>,
    options: LiveOptions,
) -> anyhow::Result<(LiveSource, Option<Filter>)> {
    let Some(text) = filter else { return Ok((LiveSource::open(interface, options)?, None)) };
    let ours = || Filter::parse(text);
    #[cfg(feature = "libpcap")]
    {
        let kernel = LiveOptions { filter: Some(text.to_owned()), ..options.clone() };
        match LiveSource::open(interface, kernel) {
            Ok(source) => Ok((source, None)),
            Err(error) if error.kind() == rdmawire::capture::ErrorKind::Io => match ours() {
                Ok(filter) => Ok((LiveSource::open(interface, options)?, Some(filter))),
                Err(_) => Err(error.into()),
            },
            Err(error) => Err(error.into()),
        }
    }
    #[cfg(not(feature = "libpcap"))]
    {
        let filter = match rdmawire::grammar::kernel::display_filter(text) {
            Ok(translated) => Filter::parse(&translated).map_err(|error| anyhow::anyhow!("--filter: {error}"))?,
            Err(kernel) => ours().map_err(|error| {
                let why = kernel.message();
                anyhow::anyhow!("--filter: neither tcpdump's words that are known without libpcap ({why}), nor a filter of rdmawire: {error}")
            })?,
        };
        Ok((LiveSource::open(interface, options)?, Some(filter)))
    }
}

/// Whether a frame matches; its ICRC is verified only if the filter asks for it.
pub(super) fn matches(filter: Option<&Filter>, number: u64, record: &Record<'_>) -> bool {
    filter.is_none_or(|filter| {
        let d = dissect(record.link, record.frame, record.wire_len);
        filter.matches(&d, &FrameMeta { number, time_ns: record.time.0, icrc: None })
    })
}
