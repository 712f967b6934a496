//! Writes crafted packets: copies and edits them, and writes a capture or text.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
    path::PathBuf,
};

use anyhow::{Context, bail};
use clap::Args;

use super::{
    Outcome,
    arg::{edit, format_of, within},
    output, say,
};
use rdmawire::{
    capture::{self, FrameOption, Info, Interface, Record, Time},
    craft::{ComputedField, Edit, Packet, recipe},
    dissect::Link,
    grammar::{print::hex, units},
    wire::Erf,
};

/// Where packets are written, and how they are changed before.
#[derive(Debug, Args)]
pub(super) struct Out {
    /// The capture to write: .pcap, .pcapng or .erf, with .gz or .zst behind; `-` is pcap on standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long)]
    pub(super) force: bool,
    /// Print hexadecimal on standard output: the default without --output.
    #[arg(long, group = "style")]
    hex: bool,
    /// Print C arrays.
    #[arg(long, group = "style")]
    c: bool,
    /// Print Rust arrays.
    #[arg(long, group = "style")]
    rust: bool,
    /// Print Python bytes.
    #[arg(long, group = "style")]
    python: bool,
    /// Print recipes, which `rdmawire craft` reads.
    #[arg(long, group = "style")]
    recipes: bool,
    /// Change a field: bth.psn+=1000, ipv4.dst=10.0.0.9, ipv4[0].ttl=3 (in the outermost IPv4 header), payload='hi'. Changes are made in
    /// the order given. What is added to a computed field is added to its computed value.
    #[arg(long, value_name = "FIELD=VALUE", value_parser = edit)]
    set: Vec<Edit>,
    /// Change a field in each copy of --count once more than in the copy before: bth.psn+=1.
    #[arg(long, value_name = "FIELD+=N", value_parser = edit, requires = "count")]
    step: Vec<Edit>,
    /// Do not compute this field, and keep its value: icrc, ip_checksum, … (an unknown name lists all).
    #[arg(long, value_name = "VALUE")]
    keep: Vec<String>,
    /// Compute a field that is not computed by default: udp_checksum, fcs.
    #[arg(long, value_name = "VALUE")]
    compute: Vec<String>,
    /// Flip one bit of a computed field.
    #[arg(long, value_name = "VALUE")]
    corrupt: Vec<String>,
    /// How many copies of each packet to write; without it, one.
    #[arg(long, value_parser = within(1..=u64::MAX))]
    count: Option<u64>,
    /// The seed of random payloads; without it, 0.
    #[arg(long, value_parser = units::integer)]
    seed: Option<u64>,
    /// The time between two packets: 10us.
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    interval: Option<u64>,
}

impl Out {
    /// The seed, 0 by default.
    pub(super) fn seed(&self) -> u64 {
        self.seed.unwrap_or(0)
    }

    fn copies(&self) -> u64 {
        self.count.unwrap_or(1)
    }

    /// The seed that was given.
    pub(super) fn given_seed(&self) -> Option<u64> {
        self.seed
    }

    /// An option that was given to change packets or to print them.
    pub(super) fn changing(&self) -> Option<&'static str> {
        let given = [
            ("--hex", self.hex),
            ("--c", self.c),
            ("--rust", self.rust),
            ("--python", self.python),
            ("--recipes", self.recipes),
            ("--set", !self.set.is_empty()),
            ("--step", !self.step.is_empty()),
            ("--keep", !self.keep.is_empty()),
            ("--compute", !self.compute.is_empty()),
            ("--corrupt", !self.corrupt.is_empty()),
            ("--count", self.count.is_some()),
            ("--interval", self.interval.is_some()),
        ];
        given.into_iter().find_map(|(name, is_given)| is_given.then_some(name))
    }

    /// Refuses `--interval` where packets have times of their own and no copies.
    pub(super) fn check_interval(&self, whose: &str) -> anyhow::Result<()> {
        match (self.interval, self.count) {
            (Some(_), None) => {
                bail!("--interval: {whose}; only copies of --count are an interval apart")
            }
            _ => Ok(()),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Hex,
    C,
    Rust,
    Python,
    Recipe,
}

/// Where in a capture a packet comes from, and what that says of it.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) time: Time,
    pub(super) interface: u16,
    /// Bytes behind the packet that were not captured.
    pub(super) more: u32,
    pub(super) comments: &'a [&'a str],
    /// What else a pcapng says of it.
    pub(super) options: &'a [FrameOption<'a>],
    /// Whether it was captured at this time.
    pub(super) is_captured: bool,
}

impl Place<'_> {
    /// Of a packet that comes from no capture.
    fn at(time: Time) -> Self {
        Place { time, interface: 0, more: 0, comments: &[], options: &[], is_captured: false }
    }
}

/// Edits packets and writes them out.
pub(super) struct Emit {
    out: Out,
    keep: Vec<ComputedField>,
    compute: Vec<ComputedField>,
    corrupt: Vec<ComputedField>,
    sink: Option<output::CaptureFile>,
    style: Option<Style>,
    text: String,
    frame: Vec<u8>,
    number: u64,
    /// Of each edit, whether no packet had its header.
    unused: Vec<bool>,
    /// Of each field of `keep` and `compute`, whether no packet had it.
    lacked: Vec<bool>,
}

impl Emit {
    pub(super) fn new(out: Out) -> anyhow::Result<Emit> {
        let asked = [out.hex, out.c, out.rust, out.python, out.recipes];
        let styles = [Style::Hex, Style::C, Style::Rust, Style::Python, Style::Recipe];
        let style = asked.into_iter().zip(styles).find_map(|(asked, style)| asked.then_some(style));
        let options = capture::Options { force: out.force, ..Default::default() };
        let create = |path: &PathBuf| output::create_capture(path, format_of(path)?, &[], options);
        let sink = out.output.as_ref().map(create).transpose()?;
        type Fields = anyhow::Result<Vec<ComputedField>>;
        let names = |names: &[String]| names.iter().map(|name| computed_field(name)).collect::<Fields>();
        Ok(Emit {
            keep: names(&out.keep)?,
            compute: names(&out.compute)?,
            corrupt: names(&out.corrupt)?,
            style: style.or(sink.is_none().then_some(Style::Hex)),
            sink,
            text: String::new(),
            frame: Vec::new(),
            number: 0,
            unused: vec![true; out.set.len() + out.step.len()],
            lacked: vec![true; out.keep.len() + out.compute.len()],
            out,
        })
    }

    /// A packet and its copies, one interval apart. `make` gives each copy.
    pub(super) fn all(&mut self, make: impl Fn(u64) -> anyhow::Result<Packet>) -> anyhow::Result<()> {
        for copy in 0..self.out.copies() {
            let packet = make(copy)?;
            let at = self.number.saturating_mul(self.out.interval.unwrap_or(1000));
            self.one(Place::at(Time(at.min(i64::MAX as u64) as i64)), copy, packet)?;
        }
        Ok(())
    }

    pub(super) fn put_at(&mut self, ns: u64, packet: Packet) -> anyhow::Result<()> {
        self.put(Place::at(Time(ns.min(i64::MAX as u64) as i64)), packet)
    }

    /// Whether the source of the packets says more of itself than was [described](Self::describe).
    pub(super) fn lacks(&self, info: &Info) -> bool {
        self.sink.as_ref().is_some_and(|sink| sink.lacks(info))
    }

    /// Says of the capture what its source says of itself.
    pub(super) fn describe(&mut self, info: &Info) {
        let Some(sink) = &mut self.sink else { return };
        let is_edited = !self.out.set.is_empty() || !self.out.step.is_empty();
        let mut info = info.clone();
        for interface in info.interfaces.iter_mut().filter(|_| is_edited) {
            // Frames may become longer than those that were captured.
            *interface = Interface { snaplen: 0, ..std::mem::take(interface) };
        }
        sink.describe(&info);
    }

    /// A packet with its own time, and copies of it one interval apart.
    pub(super) fn put(&mut self, place: Place<'_>, packet: Packet) -> anyhow::Result<()> {
        for copy in 0..self.out.copies() {
            let later = copy.saturating_mul(self.out.interval.unwrap_or(1000)).min(i64::MAX as u64) as i64;
            let time = Time(place.time.0.saturating_add(later));
            self.one(Place { time, ..place }, copy, packet.clone())?;
        }
        Ok(())
    }

    fn one(&mut self, place: Place<'_>, copy: u64, mut packet: Packet) -> anyhow::Result<()> {
        let Place { mut time, interface, more, comments, options, is_captured } = place;
        let seed = self.out.seed().wrapping_add(copy);
        let stamp = |packet: &Packet| packet.get::<Erf>().map(|erf| erf.timestamp());
        let stamped = stamp(&packet);
        for (field, lacked) in self.keep.iter().chain(&self.compute).zip(&mut self.lacked) {
            *lacked &= !packet.has_computed(*field);
        }
        self.keep.iter().for_each(|&field| packet.set_keep(field, true));
        self.compute.iter().for_each(|&field| packet.set_keep(field, false));
        for (n, edit) in self.out.set.iter().enumerate() {
            let found = edit.apply(&mut packet, seed).map_err(anyhow::Error::msg)?;
            self.unused[n] &= !found;
        }
        for (n, edit) in self.out.step.iter().enumerate() {
            // The first copy is as it is; whether it has the header, the others show.
            let found = match copy {
                0 => self.out.copies() == 1,
                n => edit.times(n).apply(&mut packet, seed).map_err(anyhow::Error::msg)?,
            };
            self.unused[self.out.set.len() + n] &= !found;
        }
        if let Some(given) = stamp(&packet).filter(|_| packet.link() == Link::ERF) {
            let is_edited = stamped != Some(given);
            let is_given = given != [0; 8];
            if is_given && (is_edited || !is_captured) {
                let later = if is_edited { 0 } else { time.0 };
                time = Time(time_of(given).0.saturating_add(later));
            }
            // A time that was given is kept, to its last bit; copies come later.
            if !is_edited && (!is_given || copy > 0) {
                packet.alter(|erf: Erf| erf.with_timestamp(erf_time(time)));
            }
        }
        for &field in &self.corrupt {
            if !packet.corrupt(field) {
                bail!("--corrupt {field}: packet {} has none", self.number + 1);
            }
        }
        self.frame.clear();
        packet.build_into(&mut self.frame);
        self.number += 1;
        if let Some(style) = self.style {
            write_text(&mut self.text, style, self.number, &self.frame, &packet);
            if self.text.len() > 1 << 16 {
                self.pass_on()?;
            }
        }
        if let Some(sink) = &mut self.sink {
            let wire_len = packet.wire_len().saturating_add(more);
            let record = Record { time, link: packet.link(), interface, wire_len, frame: &self.frame };
            sink.put_with_options(&record, comments, options)?;
        }
        Ok(())
    }

    fn pass_on(&mut self) -> anyhow::Result<()> {
        io::stdout().lock().write_all(self.text.as_bytes())?;
        self.text.clear();
        Ok(())
    }

    pub(super) fn finish(mut self) -> anyhow::Result<Outcome> {
        let asked = self.keep.iter().map(|field| ("--keep", field));
        let asked = asked.chain(self.compute.iter().map(|field| ("--compute", field)));
        if let Some(((option, field), _)) = asked.zip(&self.lacked).find(|(_, lacked)| **lacked)
            && self.number > 0
        {
            bail!("{option} {field}: no packet has this field; nothing was written");
        }
        self.pass_on()?;
        if let Some(sink) = self.sink.take() {
            sink.keep()?;
        }
        let mut outcome = Outcome::Done;
        let edits = self.out.set.iter().map(|edit| ("--set", edit));
        let edits = edits.chain(self.out.step.iter().map(|edit| ("--step", edit))).zip(&self.unused);
        for ((option, edit), _) in edits.filter(|(_, unused)| **unused && self.number > 0) {
            say(format_args!("{option} {edit}: no packet has this header"));
            outcome = Outcome::Failed;
        }
        Ok(outcome)
    }
}

fn write_text(out: &mut String, style: Style, number: u64, frame: &[u8], packet: &Packet) {
    let len = frame.len();
    let list = || -> String {
        let line =
            |line: &[u8]| line.iter().map(|byte| format!("{byte:#04x}")).collect::<Vec<_>>().join(", ");
        frame
            .chunks(12)
            .map(|bytes| {
                format!(
                    "
    {},",
                    line(bytes)
                )
            })
            .collect()
    };
    // Writing to a string cannot fail.
    let _ = match style {
        Style::Hex => writeln!(out, "{}", hex(frame)),
        Style::C => writeln!(out, "static const unsigned char packet{number}[{len}] = {{{}\n}};", list()),
        Style::Rust => writeln!(out, "const PACKET{number}: [u8; {len}] = [{}\n];", list()),
        Style::Python => writeln!(out, "packet{number} = bytes.fromhex(\"{}\")", hex(frame)),
        Style::Recipe => writeln!(out, "{}", recipe::print(packet)),
    };
}

/// Seconds and their fraction to the nearest, 32 bits each, least significant byte first.
fn erf_time(time: Time) -> [u8; 8] {
    let (seconds, ns) = time.parts();
    let fraction = (((ns as u64) << 32) + 500_000_000) / 1_000_000_000;
    ((seconds as u64) << 32 | fraction).to_le_bytes()
}

/// The nearest nanosecond of an ERF time.
fn time_of(stamp: [u8; 8]) -> Time {
    let stamp = u64::from_le_bytes(stamp);
    let (seconds, fraction) = (stamp >> 32, stamp & u64::from(u32::MAX));
    Time((seconds * 1_000_000_000 + ((fraction * 1_000_000_000 + (1 << 31)) >> 32)) as i64)
}

fn computed_field(name: &str) -> anyhow::Result<ComputedField> {
    ComputedField::from_name(name).with_context(|| {
        let all: Vec<_> = ComputedField::ALL.iter().map(|field| field.name()).collect();
        format!("{name:?} is not a computed field; these are: {}", all.join(", "))
    })
}
