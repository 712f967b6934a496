//! `rdmawire capture`: captures from an interface into a file, or directly into the analysis.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use anyhow::bail;
use clap::Args;

use super::{
    Outcome,
    arg::{format_of, positive},
    input, output,
    signals::end_on_signal,
    terminal::{self, Color},
};
use rdmawire::{
    analyze::{Analysis, Files, Options},
    capture::{
        self, Format, Record, Sink, Source,
        live::{LiveOptions, LiveSource},
    },
    dissect::dissect,
    filter::{Filter, FrameMeta},
    grammar::{print::several, units},
    report::{
        Renderer,
        json::Json,
        text::{self, Text},
    },
};

/// Capture from an interface into a file, into the analysis, or both. Ctrl-C ends it; the file is complete then.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire capture -i eth0 -f 'udp port 4791' -o x.pcapng
  rdmawire capture -i eth0 --analyze --duration 10s")]
pub(super) struct Capture {
    /// The interface; see `rdmawire interfaces`.
    #[arg(short, long, value_name = "NAME")]
    interface: String,
    /// The capture to write: .pcap, .pcapng or .erf, with .gz or .zst behind; `-` is pcapng on standard output.
    #[arg(short, long, value_name = "FILE", required_unless_present = "analyze")]
    output: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long)]
    force: bool,
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
    #[arg(short, long, value_name = "BYTES", value_parser = positive::<u32>)]
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
        let (mut source, filter) = open(&self.interface, self.filter.as_deref(), options)?;
        let mut sink = match (&self.output, format) {
            (Some(path), Some(format)) => {
                let options = capture::Options { force: self.force, ..Default::default() };
                Some(output::create_capture(path, format, &source.info().interfaces, options)?)
            }
            _ => None,
        };
        let mut analysis = self.analyze.then(|| Analysis::new(Options::default()));
        end_on_signal(stop);
        if !self.quiet {
            super::say(format_args!("capturing on {}; Ctrl-C ends it", self.interface));
        }
        let mut kept = 0u64;
        let read = input::each_while(&mut source, None, |number, record| {
            if !matches(filter.as_ref(), number, record) {
                return Ok(true);
            }
            kept += 1;
            if let Some(sink) = &mut sink {
                sink.put(record)?;
                if to_stdout {
                    sink.flush()?;
                }
            }
            if let Some(analysis) = &mut analysis {
                analysis.push(record);
            }
            Ok(self.count.is_none_or(|count| kept < count))
        })?;
        let drops = source.count_drops();
        if let Some(mut sink) = sink {
            if let Some(drops) = drops {
                sink.set_drops(0, drops);
            }
            sink.keep()?;
        }
        if !self.quiet || drops.is_some_and(|drops| drops > 0) {
            let lost = drops.map_or("losses unknown".into(), |drops| format!("{drops} lost by the kernel"));
            let left_out = read.frames - kept;
            let kept = several(kept, "frame");
            super::say(format_args!("{kept} captured, {left_out} left out by the filter, {lost}"));
        }
        if let Some(analysis) = analysis {
            self.report(analysis, drops)?;
        }
        // After an error, the frames captured before are kept.
        read.all()?;
        Ok(Outcome::Done)
    }

    fn report(&self, analysis: Analysis, drops: Option<u64>) -> anyhow::Result<()> {
        let files = Files { names: vec![self.interface.clone()], drops, ..Files::default() };
        let analysis = analysis.end().from(files);
        let report = analysis.report();
        let mut out = io::BufWriter::new(io::stdout().lock());
        if self.json {
            Json { threads: 1 }.render(&report, &mut out)?;
        } else {
            let (width, colour) = (terminal::width(), Color::Auto.is_on());
            let options = text::Options { width, colour, ..text::Options::default() };
            Text { options, flow: None }.render(&report, &mut out)?;
        }
        Ok(out.flush()?)
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
            Err(error) if error.kind() == capture::ErrorKind::Io => match ours() {
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
