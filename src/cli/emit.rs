//! Where crafted packets go: copied, edited, and written as a capture or as text.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
    path::PathBuf,
};

use anyhow::{Context, bail};
use clap::Args;

use super::{
    Outcome,
    arg::{edit, format_of},
    say, units,
};
use rdmawire::{
    capture::{self, Record, Sink, Time},
    craft::{Auto, Edit, Packet, recipe},
    dissect::Link,
    wire::Erf,
};

/// Where the packets go, and what is done to them before.
#[derive(Debug, Args)]
pub(super) struct Out {
    /// The capture to write: .pcap, .pcapng or .erf, with .gz or .zst behind; `-` is pcap on standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long)]
    pub(super) force: bool,
    /// As hexadecimal on standard output; so too if nothing else is asked for.
    #[arg(long, group = "style")]
    hex: bool,
    /// As C arrays.
    #[arg(long, group = "style")]
    c: bool,
    /// As Rust arrays.
    #[arg(long, group = "style")]
    rust: bool,
    /// As Python bytes.
    #[arg(long, group = "style")]
    python: bool,
    /// As recipes: what can be given to `rdmawire craft` again.
    #[arg(long, group = "style")]
    recipes: bool,
    /// Change a field: bth.psn+=1000, ipv4.dst=10.0.0.9, ipv4[0].ttl=3 (the outermost), payload='hi'.
    #[arg(long, value_name = "FIELD=VALUE", value_parser = edit)]
    set: Vec<Edit>,
    /// Change a field once more in each copy of --count: bth.psn+=1.
    #[arg(long, value_name = "FIELD+=N", value_parser = edit)]
    step: Vec<Edit>,
    /// Leave a computed value as it stands: icrc, ip_checksum, … (a name that is none of them lists all).
    #[arg(long, value_name = "VALUE")]
    keep: Vec<String>,
    /// Compute a value that is left alone otherwise: udp_checksum, fcs.
    #[arg(long, value_name = "VALUE")]
    compute: Vec<String>,
    /// Make a computed value wrong by one bit.
    #[arg(long, value_name = "VALUE")]
    corrupt: Vec<String>,
    /// So many copies of every packet.
    #[arg(long, default_value_t = 1)]
    count: u64,
    /// What random payloads are made from.
    #[arg(long, default_value_t = 0)]
    pub(super) seed: u64,
    /// From one packet to the next: 10us.
    #[arg(long, value_name = "TIME", value_parser = units::interval)]
    interval: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Hex,
    C,
    Rust,
    Python,
    Recipe,
}

/// Edits packets and writes them out.
pub(super) struct Emit {
    out: Out,
    keep: Vec<Auto>,
    compute: Vec<Auto>,
    corrupt: Vec<Auto>,
    sink: Option<capture::Writer>,
    style: Option<Style>,
    text: String,
    frame: Vec<u8>,
    number: u64,
    /// Edits that found their header, and those that did not.
    unused: Vec<bool>,
}

impl Emit {
    pub(super) fn new(out: Out) -> anyhow::Result<Emit> {
        let style = [
            (out.hex, Style::Hex),
            (out.c, Style::C),
            (out.rust, Style::Rust),
            (out.python, Style::Python),
            (out.recipes, Style::Recipe),
        ]
        .into_iter()
        .find_map(|(asked, style)| asked.then_some(style));
        let sink = match &out.output {
            Some(path) => {
                let options = capture::Options { force: out.force, ..Default::default() };
                Some(capture::create(path, format_of(path)?, &[], options)?)
            }
            None => None,
        };
        let names =
            |names: &[String]| names.iter().map(|name| auto(name)).collect::<anyhow::Result<Vec<_>>>();
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
            out,
        })
    }

    /// A packet and its copies, one interval apart; every copy may be made anew.
    pub(super) fn all(&mut self, make: impl Fn(u64) -> anyhow::Result<Packet>) -> anyhow::Result<()> {
        for copy in 0..self.out.count {
            let packet = make(copy)?;
            let at = self.number.saturating_mul(self.out.interval.unwrap_or(1000));
            self.one(Time(at.min(i64::MAX as u64) as i64), 0, 0, copy, packet)?;
        }
        Ok(())
    }

    pub(super) fn put_at(&mut self, ns: u64, packet: Packet) -> anyhow::Result<()> {
        self.put(Time(ns.min(i64::MAX as u64) as i64), 0, 0, packet)
    }

    /// A packet with its own time, and copies of it one interval apart.
    pub(super) fn put(
        &mut self,
        time: Time,
        interface: u16,
        more: u32,
        packet: Packet,
    ) -> anyhow::Result<()> {
        for copy in 0..self.out.count {
            let later = copy.saturating_mul(self.out.interval.unwrap_or(1000)).min(i64::MAX as u64) as i64;
            self.one(Time(time.0.saturating_add(later)), interface, more, copy, packet.clone())?;
        }
        Ok(())
    }

    fn one(
        &mut self,
        time: Time,
        interface: u16,
        more: u32,
        copy: u64,
        mut packet: Packet,
    ) -> anyhow::Result<()> {
        let seed = self.out.seed.wrapping_add(copy);
        self.keep.iter().for_each(|&auto| packet.set_keep(auto, true));
        self.compute.iter().for_each(|&auto| packet.set_keep(auto, false));
        for (n, edit) in self.out.set.iter().enumerate() {
            let found = edit.apply(&mut packet, seed).map_err(anyhow::Error::msg)?;
            self.unused[n] &= !found;
        }
        for (n, edit) in self.out.step.iter().enumerate() {
            for _ in 0..copy {
                edit.apply(&mut packet, seed).map_err(anyhow::Error::msg)?;
            }
            self.unused[self.out.set.len() + n] = false;
        }
        if packet.link() == Link::ERF {
            packet.alter(|erf: Erf| erf.with_timestamp(erf_time(time)));
        }
        for &auto in &self.corrupt {
            if !packet.corrupt(auto) {
                bail!("--corrupt {auto}: packet {} has none", self.number + 1);
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
            sink.put(&Record { time, link: packet.link(), interface, wire_len, frame: &self.frame })?;
        }
        Ok(())
    }

    fn pass_on(&mut self) -> anyhow::Result<()> {
        io::stdout().lock().write_all(self.text.as_bytes())?;
        self.text.clear();
        Ok(())
    }

    pub(super) fn finish(mut self) -> anyhow::Result<Outcome> {
        self.pass_on()?;
        if let Some(sink) = &mut self.sink {
            sink.finish()?;
        }
        let edits = self.out.set.iter().chain(&self.out.step);
        let unused: Vec<_> =
            edits.zip(&self.unused).filter(|(_, unused)| **unused).map(|(edit, _)| edit).collect();
        if self.number > 0 && !unused.is_empty() {
            for edit in unused {
                say(format_args!("--set {edit}: no packet has this header"));
            }
            return Ok(Outcome::Failed);
        }
        Ok(Outcome::Done)
    }
}

fn write_text(out: &mut String, style: Style, number: u64, frame: &[u8], packet: &Packet) {
    let list = |out: &mut String, open: &str, close: &str| {
        out.push_str(open);
        for line in frame.chunks(12) {
            out.push_str("\n    ");
            let line: Vec<_> = line.iter().map(|byte| format!("{byte:#04x}")).collect();
            out.push_str(&line.join(", "));
            out.push(',');
        }
        out.push_str(close);
    };
    // Writing to a string cannot fail.
    let _ = match style {
        Style::Hex => writeln!(out, "{}", hex(frame)),
        Style::C => {
            list(out, &format!("static const unsigned char packet{number}[{}] = {{", frame.len()), "\n};\n");
            Ok(())
        }
        Style::Rust => {
            list(out, &format!("const PACKET{number}: [u8; {}] = [", frame.len()), "\n];\n");
            Ok(())
        }
        Style::Python => writeln!(out, "packet{number} = bytes.fromhex(\"{}\")", hex(frame)),
        Style::Recipe => writeln!(out, "{}", recipe::print(packet)),
    };
}

fn hex(frame: &[u8]) -> String {
    frame.iter().fold(String::with_capacity(frame.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Seconds and their fraction, 32 bits each, least significant byte first.
fn erf_time(time: Time) -> [u8; 8] {
    let (seconds, ns) = time.parts();
    let fraction = ((ns as u64) << 32) / 1_000_000_000;
    ((seconds as u64) << 32 | fraction).to_le_bytes()
}

fn auto(name: &str) -> anyhow::Result<Auto> {
    Auto::from_name(name).with_context(|| {
        let all: Vec<_> = Auto::ALL.iter().map(|auto| auto.name()).collect();
        format!("{name:?} is no computed value; there are {}", all.join(", "))
    })
}
