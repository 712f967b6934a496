//! `rdmawire send`: sends the frames of a capture from an interface.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{anyhow, bail};
use clap::Args;

use super::{
    Outcome,
    arg::{self, within},
    input::Progress,
    signals::end_on_signal,
    warn_of_damage,
};
use rdmawire::{
    capture::{
        self, ErrorKind, Record, Source,
        live::{self, LiveSink, Misfit, NetInterface},
    },
    dissect::dissect,
    filter::Filter,
    grammar::{
        print::{count, duration, several},
        units,
    },
    report::{clean, units::bits},
    wire::Kind,
};

/// Bytes on the wire beside the frame itself: preamble, frame check sequence, gap (IEEE 802.3).
const ON_THE_WIRE: u64 = 8 + 4 + 12;

/// Send the frames of a capture, at the recorded times or at a given rate.
///
/// A summary of the file comes first. Frames that cannot be sent (not Ethernet, cut by the capture, longer than the MTU)
/// are counted and left out; then the exit status is 2.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire send --dry-run -i eth0 x.pcap
  rdmawire send -i eth0 --rate 10G --loop 0 x.pcap")]
pub(super) struct Send {
    /// The capture; `-` is standard input.
    file: PathBuf,
    /// The interface to send from; see `rdmawire interfaces`.
    #[arg(short, long, value_name = "NAME")]
    interface: String,
    /// Send at this many bits per second, with preambles and gaps counted: 10G fills a link of 10G.
    #[arg(long, value_name = "SPEED", value_parser = units::bit_rate, group = "pace")]
    rate: Option<u64>,
    /// Send this many frames per second.
    #[arg(long, value_name = "N", group = "pace", value_parser = within(1..=1_000_000_000u64))]
    pps: Option<u64>,
    /// Send as fast as possible. By default, frames are sent at the recorded times.
    #[arg(long, group = "pace")]
    topspeed: bool,
    /// Send the file this many times; 0: until Ctrl-C.
    #[arg(long, value_name = "N", default_value_t = 1)]
    r#loop: u64,
    /// Stop after this many frames.
    #[arg(short, long, value_name = "N")]
    count: Option<u64>,
    /// Only frames that match: `bth.becn`; see `rdmawire explain filter`.
    #[arg(short, long, value_name = "EXPR")]
    filter: Option<String>,
    /// Print the summary and send nothing. Needs no privilege.
    #[arg(long)]
    dry_run: bool,
    /// Print problems only.
    #[arg(short, long)]
    quiet: bool,
}

/// Set by Ctrl-C.
static STOP: AtomicBool = AtomicBool::new(false);

impl Send {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let filter = arg::filter(&self.filter)?;
        let is_stream = self.file == Path::new("-");
        if is_stream && (self.r#loop != 1 || self.dry_run) {
            bail!("standard input can be read only once: --loop and --dry-run need a file");
        }
        let mut sink = if self.dry_run { None } else { Some(LiveSink::open(&self.interface)?) };
        let interface = match &sink {
            Some(sink) => sink.interface().clone(),
            None => live::interfaces()
                .into_iter()
                .find(|interface| interface.name == self.interface)
                .ok_or_else(|| anyhow!("{}: no such network interface", self.interface))?,
        };
        let mut tally = Tally::default();
        let mut is_damaged = false;
        if !is_stream {
            let mut reader = capture::open(&self.file)?;
            each(&mut reader, &filter, |record, number| {
                tally.push(record, number, &interface);
                Ok(true)
            })?;
            is_damaged = warn_of_damage(reader.info());
            self.preflight(&tally, &interface)?;
        }
        if let Some(sink) = &mut sink {
            end_on_signal(&STOP);
            let frames = (!is_stream).then(|| self.wanted(tally.frames)).flatten();
            let left_out = self.send(sink, &filter, is_stream, frames)?;
            if left_out > 0 {
                super::say(format_args!("{} could not be sent", several(left_out, "frame")));
                return Ok(Outcome::Failed);
            }
        }
        Ok(if tally.misfits.is_empty() && !is_damaged { Outcome::Done } else { Outcome::Failed })
    }

    fn preflight(&self, tally: &Tally, interface: &NetInterface) -> io::Result<()> {
        if !self.quiet {
            let mtu = interface.mtu.map_or_else(String::new, |mtu| format!(", MTU {mtu}"));
            let (frames, bytes) = (several(tally.frames, "frame"), several(tally.bytes, "byte"));
            let roce = count(tally.roce);
            let lasts = self.lasts(tally);
            let text = format!(
                "{} to {}{mtu}: {frames}, {bytes}, {roce} with a BTH; {lasts}",
                self.file.display(),
                interface.name
            );
            match self.dry_run {
                // It is what was asked for.
                true => writeln!(io::stdout(), "{}", clean(&text))?,
                false => super::say(format_args!("{text}")),
            }
            if tally.pauses > 0 {
                let n = several(tally.pauses, "PAUSE or PFC frame");
                super::say(format_args!("{n} among them: these stop real links"));
            }
            if !interface.is_up {
                super::say(format_args!("{} is down", interface.name));
            }
        }
        for (misfit, (n, first, len)) in &tally.misfits {
            super::say(format_args!(
                "not sent, {misfit}: {}, the first is frame {first} of {}",
                several(*n, "frame"),
                several(*len as u64, "byte")
            ));
        }
        Ok(())
    }

    /// How long sending takes.
    fn lasts(&self, tally: &Tally) -> String {
        let recorded = tally.last.saturating_sub(tally.first.unwrap_or(0)).max(0) as u64;
        let one = match (self.rate, self.pps) {
            (Some(bps), _) => spread(on_wire(tally.bytes, tally.frames) * 8, bps),
            (_, Some(pps)) => spread(tally.frames.into(), pps),
            _ if self.topspeed => return format!("{} as recorded", duration(recorded)),
            _ => recorded,
        };
        // As much of the file as --count leaves, as often as it is sent.
        let wanted = self
            .wanted(tally.frames)
            .map(|wanted| u128::from(one) * u128::from(wanted) / u128::from(tally.frames.max(1)));
        match wanted {
            Some(ns) => format!("to be sent in {}", duration(u64::try_from(ns).unwrap_or(u64::MAX))),
            None => format!("to be sent in {} each time, until Ctrl-C", duration(one)),
        }
    }

    /// How many frames are sent of a file with so many; `None`: until Ctrl-C.
    fn wanted(&self, frames: u64) -> Option<u64> {
        let all = (self.r#loop > 0).then(|| frames.saturating_mul(self.r#loop));
        [all, self.count].into_iter().flatten().min()
    }

    /// Sends the frames: so many, if that is known. Returns how many could not be sent.
    fn send(
        &self,
        sink: &mut LiveSink,
        filter: &Option<Filter>,
        is_stream: bool,
        frames: Option<u64>,
    ) -> anyhow::Result<u64> {
        let mut progress = frames.filter(|_| !self.quiet).map(Progress::of_frames);
        let mtu = sink.interface().mtu;
        let limit = self.count.unwrap_or(u64::MAX);
        let (mut bytes, mut left_out, mut refused) = (0u64, 0u64, None);
        let began = Instant::now();
        let mut pace = Pace { due: 0, from: None, base: 0, last: 0 };
        let mut rounds = 0;
        while rounds != self.r#loop || self.r#loop == 0 {
            rounds += 1;
            let before = sink.sent();
            let mut reader = capture::open(&self.file)?;
            each(&mut reader, filter, |record, number| {
                if sink.sent() >= limit || STOP.load(Ordering::Relaxed) {
                    return Ok(false);
                }
                if live::misfit(record, mtu).is_some() {
                    left_out += 1;
                    return Ok(true);
                }
                if !self.topspeed && !wait_until(began, self.due(&mut pace, record, bytes, sink.sent())) {
                    return Ok(false);
                }
                match sink.send(record.frame) {
                    Ok(()) => {
                        bytes += record.frame.len() as u64;
                        if let Some(progress) = &mut progress {
                            progress.show(sink.sent());
                        }
                    }
                    Err(error) if error.kind() == ErrorKind::Unfit => {
                        left_out += 1;
                        refused.get_or_insert_with(|| format!("frame {number}: {error}"));
                    }
                    Err(error) => return Err(error.into()),
                }
                Ok(true)
            })?;
            if is_stream {
                warn_of_damage(reader.info());
            }
            pace.next_round();
            if sink.sent() >= limit || sink.sent() == before || STOP.load(Ordering::Relaxed) {
                break;
            }
        }
        drop(progress);
        if let Some(refused) = refused {
            super::say(format_args!("{refused}"));
        }
        if !self.quiet {
            let (n, ns) = (sink.sent(), began.elapsed().as_nanos().max(1));
            let pps = u128::from(n) * 1_000_000_000 / ns;
            // As --rate counts.
            let bps = on_wire(bytes, n) * 8_000_000_000 / ns;
            super::say(format_args!(
                "sent {}, {} in {}: {pps} frames/s, {} on the wire",
                several(n, "frame"),
                several(bytes, "byte"),
                duration(u64::try_from(ns).unwrap_or(u64::MAX)),
                bits(bps as f64)
            ));
        }
        Ok(left_out)
    }

    /// When this frame is due, in nanoseconds from the beginning.
    fn due(&self, pace: &mut Pace, record: &Record<'_>, bytes: u64, sent: u64) -> u64 {
        match (self.rate, self.pps) {
            (Some(bps), _) => spread(on_wire(bytes, sent) * 8, bps),
            (_, Some(pps)) => spread(sent.into(), pps),
            _ => pace.recorded(record.time.0),
        }
    }
}

/// Bytes on the wire of so many bytes in so many frames.
fn on_wire(bytes: u64, frames: u64) -> u128 {
    u128::from(bytes) + u128::from(frames) * u128::from(ON_THE_WIRE)
}

/// The nanoseconds that `n` take at a rate per second.
fn spread(n: u128, rate: u64) -> u64 {
    u64::try_from(n.saturating_mul(1_000_000_000) / u128::from(rate.max(1))).unwrap_or(u64::MAX)
}

/// The recorded times, counted from the beginning of sending.
struct Pace {
    due: u64,
    /// The recorded time of the round's first frame.
    from: Option<i64>,
    /// When the round began.
    base: u64,
    /// The time between the last two frames.
    last: u64,
}

impl Pace {
    /// When a frame recorded at this time is due. If recorded times run back, it is due at once.
    fn recorded(&mut self, time: i64) -> u64 {
        let from = *self.from.get_or_insert(time);
        let at = self.base.saturating_add(u64::try_from(time.saturating_sub(from)).unwrap_or(0));
        self.last = at.saturating_sub(self.due);
        self.due = self.due.max(at);
        self.due
    }

    /// The next round begins after the last frame, at the same distance as between the last two frames.
    fn next_round(&mut self) {
        self.base = self.due.saturating_add(self.last);
        self.from = None;
    }
}

/// A summary of the frames in a file.
#[derive(Default)]
struct Tally {
    frames: u64,
    bytes: u64,
    roce: u64,
    pauses: u64,
    first: Option<i64>,
    last: i64,
    /// Frames that cannot be sent: how many, and number and length of the first.
    misfits: BTreeMap<Misfit, (u64, u64, usize)>,
}

impl Tally {
    fn push(&mut self, record: &Record<'_>, number: u64, interface: &NetInterface) {
        if let Some(misfit) = live::misfit(record, interface.mtu) {
            let (n, ..) = self.misfits.entry(misfit).or_insert((0, number, record.frame.len()));
            *n += 1;
            return;
        }
        let d = dissect(record.link, record.frame, record.wire_len);
        self.frames += 1;
        self.bytes += record.frame.len() as u64;
        self.roce += u64::from(d.offset(Kind::Bth).is_some());
        self.pauses += u64::from(d.offset(Kind::Pause).is_some() || d.offset(Kind::Pfc).is_some());
        self.first.get_or_insert(record.time.0);
        self.last = self.last.max(record.time.0);
    }
}

/// Calls `on_record` with each frame that matches, without its frame check sequence, until it returns false.
fn each(
    reader: &mut impl Source,
    filter: &Option<Filter>,
    mut on_record: impl FnMut(&Record<'_>, u64) -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let mut number = 0u64;
    let mut fcs: Vec<u8> = Vec::new();
    loop {
        let known = &reader.info().interfaces;
        if fcs.len() != known.len() {
            fcs = known.iter().map(|interface| interface.fcs_len.unwrap_or(0)).collect();
        }
        let Some(mut record) = reader.next()? else { return Ok(()) };
        number += 1;
        if !super::capture::matches(filter.as_ref(), number, &record) {
            continue;
        }
        // The network card adds a frame check sequence.
        let fcs = usize::from(fcs.get(usize::from(record.interface)).copied().unwrap_or(0));
        let len = record.wire_len as usize;
        if fcs > 0 && record.frame.len() == len && len > fcs {
            record.frame = record.frame.get(..len - fcs).unwrap_or_default();
            record.wire_len -= fcs as u32;
        }
        if !on_record(&record, number)? {
            return Ok(());
        }
    }
}

/// Waits until a frame is due: sleeps first, and spins at the end. False if Ctrl-C came meanwhile.
fn wait_until(began: Instant, due_ns: u64) -> bool {
    let due = Duration::from_nanos(due_ns);
    loop {
        let Some(rest) = due.checked_sub(began.elapsed()).filter(|rest| !rest.is_zero()) else { return true };
        if STOP.load(Ordering::Relaxed) {
            return false;
        }
        match rest.checked_sub(Duration::from_micros(100)) {
            Some(long) => thread::sleep(long.min(Duration::from_millis(100))),
            None => std::hint::spin_loop(),
        }
    }
}
