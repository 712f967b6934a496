//! `rdmawire` as an extcap of Wireshark: a program that offers interfaces, asked by arguments that Wireshark defines. See
//! "Adding Capture Interfaces And Log Sources Using Extcap" in the Wireshark Developer's Guide.

use std::{
    ffi::OsString,
    io::{self, Write},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, bail};
use clap::Args;

use super::{
    Outcome,
    arg::RocePorts,
    capture::{matches, open},
    input, output,
    signals::end_on_signal,
};
use rdmawire::{
    analyze,
    annotate::{Live, OwnedFrame},
    capture::{
        self, Format, Source, Time,
        live::{self, LiveOptions},
    },
    grammar::units,
};

/// Answer Wireshark, which calls this program for its interfaces.
#[derive(Debug, Args)]
#[command(hide = true)]
pub(super) struct Extcap {
    /// List the interfaces.
    #[arg(long)]
    extcap_interfaces: bool,
    /// Wireshark's version.
    #[arg(long, value_name = "VERSION")]
    extcap_version: Option<String>,
    /// The interface that is meant.
    #[arg(long, value_name = "NAME")]
    extcap_interface: Option<String>,
    /// List its link types.
    #[arg(long)]
    extcap_dlts: bool,
    /// List its options.
    #[arg(long)]
    extcap_config: bool,
    /// Capture from it.
    #[arg(long)]
    capture: bool,
    /// A filter for capturing.
    #[arg(long, value_name = "EXPR")]
    extcap_capture_filter: Option<String>,
    /// Where the frames go.
    #[arg(long, value_name = "FILE")]
    fifo: Option<PathBuf>,
    #[command(flatten)]
    roce: RocePorts,
    /// How long frames wait for what the packets behind them show.
    #[arg(long, value_name = "TIME", value_parser = units::duration, default_value = HOLD)]
    hold: u64,
}

/// The default of --hold.
const HOLD: &str = "300ms";
/// What Wireshark's names of our interfaces begin with.
const PREFIX: &str = "rdmawire-";
/// How often frames are passed on.
const TICK: Duration = Duration::from_millis(100);
/// Most frames between the thread that captures and the one that analyzes.
const BETWEEN: usize = 1 << 14;

impl Extcap {
    /// The arguments for the parser: those of Wireshark have no command's name, so it is added.
    pub(super) fn named(mut arguments: Vec<OsString>) -> Vec<OsString> {
        let is_meant = |first: &str| first.starts_with("--extcap-") || first == "--capture";
        if arguments.get(1).and_then(|first| first.to_str()).is_some_and(is_meant) {
            arguments.insert(1, "extcap".into());
        }
        arguments
    }

    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let mut out = io::stdout().lock();
        if self.extcap_interfaces {
            let (version, page) =
                (env!("CARGO_PKG_VERSION"), "https://www.wireshark.org/docs/man-pages/extcap.html");
            writeln!(out, "extcap {{version={version}}}{{help={page}}}")?;
            for interface in live::interfaces() {
                let name = rdmawire::report::clean(&interface.name).into_owned();
                writeln!(
                    out,
                    "interface {{value={PREFIX}{name}}}{{display=rdmawire: live analysis of {name}}}"
                )?;
            }
        } else if self.extcap_dlts {
            writeln!(out, "dlt {{number=1}}{{name=EN10MB}}{{display=Ethernet}}")?;
        } else if self.extcap_config {
            writeln!(
                out,
                "arg {{number=0}}{{call=--roce-port}}{{display=UDP ports of RoCEv2}}{{type=string}}{{default=4791}}"
            )?;
            writeln!(
                out,
                "arg {{number=1}}{{call=--hold}}{{display=Delay}}{{type=string}}{{default={HOLD}}}\
                 {{tooltip=How long frames wait for what the packets behind them show}}"
            )?;
        } else if self.capture {
            drop(out);
            self.capture()?;
        } else {
            bail!("Wireshark calls this; nothing was asked for");
        }
        Ok(Outcome::Done)
    }

    fn capture(self) -> anyhow::Result<()> {
        let name = self.extcap_interface.as_deref().context("--extcap-interface says which interface")?;
        let name = name.strip_prefix(PREFIX).unwrap_or(name);
        let fifo = self.fifo.as_deref().context("--fifo says where the frames go")?;
        let stop = Arc::new(AtomicBool::new(false));
        let options = LiveOptions { stop: stop.clone(), ..LiveOptions::default() };
        let filter = self.extcap_capture_filter.as_deref().filter(|text| !text.trim().is_empty());
        let (mut source, filter) = open(name, filter, options)?;
        let interfaces = source.info().interfaces.clone();
        let mut sink = output::create_capture(
            fifo,
            Format::Pcapng,
            &interfaces,
            capture::Options { force: true, ..Default::default() },
        )?;
        // Wireshark waits for the file's beginning.
        sink.flush()?;
        end_on_signal(stop.clone());

        let (sender, frames) = mpsc::sync_channel::<OwnedFrame>(BETWEEN);
        let capturing = thread::spawn(move || {
            let read = input::each_while(&mut source, None, |number, record| {
                let is_wanted = matches(filter.as_ref(), number, record);
                Ok(!is_wanted || sender.send(OwnedFrame::of(record)).is_ok())
            });
            (source.count_drops(), read.and_then(|read| Ok(read.all()?)))
        });
        let analysis = analyze::Options { dissect: self.roce.options(), ..analyze::Options::default() };
        let mut live = Live::new(analysis, self.hold);
        let mut given = Instant::now();
        let passed_on = loop {
            match frames.recv_timeout(TICK) {
                Ok(frame) => live.push(frame),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    break live.finish(|record, comment| sink.put_with_comments(record, comment.as_slice()));
                }
            }
            if given.elapsed() >= TICK {
                given = Instant::now();
                let passed_on = live
                    .give_until(now(), |record, comment| sink.put_with_comments(record, comment.as_slice()))
                    .and_then(|()| sink.flush());
                if passed_on.is_err() {
                    break passed_on;
                }
            }
        };
        stop.store(true, Ordering::Relaxed);
        drop(frames);
        let (drops, captured) = capturing.join().unwrap_or((None, Ok(0)));
        // Wireshark closes the pipe when it has enough.
        passed_on?;
        if let Some(drops) = drops {
            sink.set_drops(0, drops);
        }
        sink.keep_quietly()?;
        captured.map(drop)
    }
}

fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}
