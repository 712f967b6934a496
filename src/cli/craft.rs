//! `rdmawire craft`: packets from one line of text, from a capture, or as answers to one.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use clap::{Args, Subcommand, ValueEnum};

use super::{Outcome, scenario};
use rdmawire::{
    capture::{self, Format, Record, Sink, Source, Time},
    craft::{self, Auto, Channel, Data, Edit, Hold, Packet, Request, recipe},
    dissect::{Dissection, Encapsulation, Link, dissect},
    opcode::Service,
    wire::{Bth, Erf, Mac, NakCode, Psn, Qpn, Udp},
};

/// Build packets: from one line of text, from a capture, or as answers to one.
///
/// A recipe names headers from the outermost in, with the fields that matter; lengths, types, checksums and the ICRC
/// are computed: `rdmawire craft 'eth / ipv4 dst=10.0.0.2 / udp / bth opcode=rc-write-only dest_qp=0x11 / reth
/// dma_len=64 / payload 64' -o x.pcap`. A computed field that is given is kept as put.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Craft {
    #[command(subcommand)]
    what: Option<What>,
    /// The packet: headers divided by `/`, with their fields; or a scenario: FILE.toml.
    #[arg(required_unless_present = "from", conflicts_with = "from")]
    recipe: Option<String>,
    /// Start from the frames of a capture, or from one: FILE or FILE:N, counted from 1.
    #[arg(long, value_name = "FILE[:N]")]
    from: Option<Place>,
    /// Of a scenario: write what an analysis of its capture must say, as JSON.
    #[arg(long, value_name = "FILE")]
    expect: Option<PathBuf>,
    #[command(flatten)]
    out: Out,
}

#[derive(Debug, Subcommand)]
enum What {
    /// A congestion notification for the flow of a data packet, back to its sender.
    Cnp(Answer),
    /// An acknowledgement of a packet.
    Ack(Answer),
    /// A refusal of a packet.
    Nak {
        #[command(flatten)]
        answer: Answer,
        /// Why.
        #[arg(long, value_enum, default_value_t)]
        code: Code,
    },
    /// Receiver not ready: send that packet again later.
    Rnr {
        #[command(flatten)]
        answer: Answer,
        /// How long to wait, rounded up to the next time that can be said: 10us, 1.28ms.
        #[arg(long, value_name = "TIME", value_parser = duration, default_value = "640us")]
        timer: u64,
    },
    /// Priority flow control: once, or renewed so that the pause holds.
    Pfc {
        /// The priorities to pause.
        #[arg(long, value_name = "0-7", value_delimiter = ',', required = true, value_parser = clap::value_parser!(u8).range(0..8))]
        priority: Vec<u8>,
        #[command(flatten)]
        pause: Pause,
    },
    /// PAUSE of everything: once, or renewed so that it holds.
    Pause(Pause),
    /// An RDMA WRITE as the packets it takes.
    Write(Message),
    /// An RDMA READ request.
    Read(Message),
    /// The response to an RDMA READ.
    ReadResponse(Message),
    /// A SEND as the packets it takes.
    Send(Message),
    /// A connection's setup and end: REQ, REP, RTU, DREQ, DREP.
    Connect(Message),
}

#[derive(Debug, Args)]
struct Answer {
    /// The packet to answer: FILE:N, counted from 1.
    #[arg(long = "flow-of", visible_alias = "of", value_name = "FILE:N")]
    of: Place,
    /// The queue pair that sent it, where the capture does not show it.
    #[arg(long, value_name = "QPN", value_parser = qpn)]
    dest_qp: Option<Qpn>,
    /// The responder's count of messages.
    #[arg(long, default_value_t = 0)]
    msn: u32,
    #[command(flatten)]
    out: Out,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Code {
    /// The PSN was not the expected one.
    #[default]
    PsnSequenceError,
    /// Against the rules.
    InvalidRequest,
    /// A key, address or right that does not fit.
    RemoteAccessError,
    /// The responder failed.
    RemoteOperationalError,
    /// A reliable datagram against the rules.
    InvalidRdRequest,
}

#[derive(Debug, Args)]
struct Pause {
    /// How long each frame asks for, in quanta of 512 bit times; 0 ends a pause.
    #[arg(long, default_value_t = u16::MAX)]
    quanta: u16,
    /// Hold the pause so long, renewing it, and end it then: 300ms.
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "speed")]
    hold: Option<u64>,
    /// The link's speed: 400G.
    #[arg(long, value_name = "RATE", value_parser = amount)]
    speed: Option<u64>,
    /// Who asks.
    #[arg(long, value_name = "MAC", value_parser = mac, default_value = "02:00:00:00:00:01")]
    src: Mac,
    #[command(flatten)]
    out: Out,
}

#[derive(Debug, Args)]
struct Message {
    /// Sender.
    #[arg(long, default_value = "10.0.0.1")]
    src: std::net::IpAddr,
    /// Receiver.
    #[arg(long, default_value = "10.0.0.2")]
    dst: std::net::IpAddr,
    /// How it is wrapped: rocev2-ipv4, rocev2-ipv6, rocev1, ib, ib-grh; by the addresses if not given.
    #[arg(long, value_name = "NAME", value_parser = encapsulation)]
    to: Option<Encapsulation>,
    /// RC, UC, UD, RD or XRC.
    #[arg(long, default_value = "rc", value_parser = service)]
    service: Service,
    /// The sender's queue pair.
    #[arg(long, default_value = "0x12", value_parser = qpn)]
    src_qp: Qpn,
    /// The receiver's queue pair.
    #[arg(long, default_value = "0x11", value_parser = qpn)]
    dest_qp: Qpn,
    /// The first packet's PSN.
    #[arg(long, default_value_t = 0)]
    psn: u32,
    /// Bytes: 64, 64K, 1M.
    #[arg(long, value_parser = amount_binary, default_value = "4096")]
    len: u64,
    /// Path MTU: 256 to 4096.
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u16).range(256..=4096))]
    mtu: u16,
    /// Remote virtual address.
    #[arg(long, value_parser = any_number, default_value = "0x10000")]
    va: u64,
    /// Remote key.
    #[arg(long, value_parser = any_number, default_value = "0x1234")]
    r_key: u64,
    /// Immediate data.
    #[arg(long, value_parser = any_number)]
    imm: Option<u64>,
    #[command(flatten)]
    out: Out,
}

/// Where the packets go, and what is done to them before.
#[derive(Debug, Args)]
struct Out {
    /// The capture to write: .pcap, .pcapng or .erf, with .gz or .zst behind; `-` is pcap on standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long)]
    force: bool,
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
    seed: u64,
    /// From one packet to the next: 10us.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    interval: Option<u64>,
}

/// A capture, or one frame of it.
#[derive(Clone, Debug)]
struct Place {
    file: PathBuf,
    frame: Option<u64>,
}

impl std::str::FromStr for Place {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.rsplit_once(':').map(|(file, n)| (file, n.parse())) {
            Some((_, Ok(0))) => Err("frames are counted from 1".into()),
            Some((file, Ok(n))) => Ok(Place { file: file.into(), frame: Some(n) }),
            _ => Ok(Place { file: text.into(), frame: None }),
        }
    }
}

impl Craft {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        match self.what {
            Some(what) => what.run(),
            None => match (self.recipe, self.from) {
                (Some(text), _) if scenario::is_scenario(&text) => scenario::Play {
                    scenario: Path::new(&text),
                    output: self.out.output.as_deref(),
                    expect: self.expect.as_deref(),
                    seed: Some(self.out.seed).filter(|&seed| seed != 0),
                    force: self.out.force,
                }
                .run(),
                (Some(_), _) if self.expect.is_some() => bail!("--expect: of a scenario, FILE.toml"),
                (Some(text), _) => {
                    let seed = self.out.seed;
                    let mut emit = Emit::new(self.out)?;
                    emit.all(|copy| {
                        recipe::parse_seeded(&text, seed.wrapping_add(copy)).map_err(Into::into)
                    })?;
                    emit.finish()
                }
                (None, Some(from)) => from_capture(&from, self.out),
                (None, None) => bail!("a recipe, or --from FILE"),
            },
        }
    }
}

impl What {
    fn run(self) -> anyhow::Result<Outcome> {
        match self {
            What::Cnp(answer) => answer.run(|channel, _, _| channel.cnp()),
            What::Ack(answer) => answer.run(|channel, psn, msn| channel.ack(psn, msn)),
            What::Nak { answer, code } => {
                let code = match code {
                    Code::PsnSequenceError => NakCode::PsnSequenceError,
                    Code::InvalidRequest => NakCode::InvalidRequest,
                    Code::RemoteAccessError => NakCode::RemoteAccessError,
                    Code::RemoteOperationalError => NakCode::RemoteOperationalError,
                    Code::InvalidRdRequest => NakCode::InvalidRdRequest,
                };
                answer.run(|channel, psn, msn| channel.nak(psn, code, msn))
            }
            What::Rnr { answer, timer } => {
                let us = u32::try_from(timer.div_ceil(1000)).unwrap_or(u32::MAX);
                answer.run(|channel, psn, msn| channel.rnr(psn, us, msn))
            }
            What::Pfc { priority, pause } => {
                let mask = priority.iter().fold(0, |mask, priority| mask | 1 << priority);
                pause.run(Some(mask))
            }
            What::Pause(pause) => pause.run(None),
            What::Write(message) => message.run(|m| {
                let (len, va, r_key, imm) = (m.len()?, m.va, m.r_key()?, m.imm()?);
                m.packets(Request::Write { len, va, r_key, imm })
            }),
            What::Read(message) => message.run(|m| {
                let (len, va, r_key) = (m.len()?, m.va, m.r_key()?);
                m.packets(Request::Read { len, va, r_key })
            }),
            What::Send(message) => {
                message.run(|m| m.packets(Request::Send { len: m.len()?, imm: m.imm()?, invalidate: None }))
            }
            What::ReadResponse(message) => message.run(|m| {
                Ok(m.channel()
                    .read_response(Psn(m.psn), m.len()?, 1)
                    .data(Data::pattern(m.out.seed))
                    .iter()
                    .collect())
            }),
            What::Connect(message) => message.run(|m| {
                let dialog = craft::Dialog {
                    mtu: m.mtu,
                    service: m.service,
                    active_psn: Psn(m.psn),
                    ..craft::Dialog::new(m.channel().path, m.src_qp, m.dest_qp)
                };
                Ok(vec![
                    dialog.req(&[]),
                    dialog.rep(&[]),
                    dialog.rtu(&[]),
                    dialog.dreq(false, &[]),
                    dialog.drep(true, &[]),
                ])
            }),
        }
    }
}

impl Answer {
    fn run(self, make: impl Fn(&Channel, Psn, u32) -> Packet) -> anyhow::Result<Outcome> {
        let Some(n) = self.of.frame else { bail!("--flow-of: which frame? {}:N", self.of.file.display()) };
        let (channel, psn) = with_frame(&self.of.file, n, |d| {
            let bth = d.get::<Bth>().with_context(|| format!("frame {n} has no BTH: nothing to answer"))?;
            let sender = match self.dest_qp {
                Some(qpn) => Some(qpn),
                None if d.get::<rdmawire::wire::Deth>().is_some() => None,
                None => Some(peer(&self.of.file, d)?),
            };
            let channel = craft::answer(d, sender).context("no BTH")?;
            Ok((channel, bth.psn()))
        })?;
        let mut emit = Emit::new(self.out)?;
        emit.all(|_| Ok(make(&channel, psn, self.msn)))?;
        emit.finish()
    }
}

/// The queue pair that sent a packet: that of the packets on the way back, if there is one, or if only one fits
/// Linux's UDP source port.
fn peer(file: &Path, d: &Dissection<'_>) -> anyhow::Result<Qpn> {
    let path = craft::Path::of(d).context("no BTH")?;
    let (to, port) = (
        d.get::<Bth>().map(|bth| bth.dest_qp()).unwrap_or_default(),
        d.get::<Udp>().map(|udp| udp.src_port()),
    );
    let mut back = BTreeSet::new();
    let mut reader = capture::open(file)?;
    while let Some(record) = reader.next()? {
        let other = dissect(record.link, record.frame, record.wire_len);
        let Some(bth) = other.get::<Bth>().filter(|bth| !bth.opcode().is_cnp()) else { continue };
        let reverse = craft::Path::of(&other)
            .is_some_and(|other| other.src.ip == path.dst.ip && other.dst.ip == path.src.ip);
        if reverse && bth.dest_qp().0 > 1 {
            back.insert(bth.dest_qp().0);
        }
    }
    let fits: Vec<u32> =
        back.iter().copied().filter(|&qpn| port == Some(Udp::linux_source_port(to, Qpn(qpn)))).collect();
    match (fits.as_slice(), back.len()) {
        (&[qpn], _) => Ok(Qpn(qpn)),
        (_, 1) => Ok(Qpn(back.first().copied().unwrap_or(0))),
        (_, 0) => bail!("no packet of the way back shows which queue pair sent it: give --dest-qp"),
        (_, n) => bail!("{n} queue pairs may have sent it: give --dest-qp"),
    }
}

impl Pause {
    fn run(self, priorities: Option<u8>) -> anyhow::Result<Outcome> {
        let mut emit = Emit::new(self.out)?;
        let Some(ns) = self.hold else {
            let quanta = |n: usize| priorities.is_some_and(|mask| mask >> n & 1 == 1).then_some(self.quanta);
            emit.all(|_| {
                Ok(match priorities {
                    None => craft::pause(self.src, self.quanta),
                    Some(_) => craft::pfc(self.src, std::array::from_fn(quanta)),
                })
            })?;
            return emit.finish();
        };
        let speed = self.speed.filter(|&speed| speed > 0).context("--hold needs --speed")?;
        if self.quanta == 0 {
            bail!("--hold with --quanta 0: that would end a pause, not hold one");
        }
        let hold = Hold { quanta: self.quanta, ..Hold::new(self.src, priorities, ns, speed) };
        for (at, packet) in hold.iter() {
            emit.put_at(at, packet)?;
        }
        emit.finish()
    }
}

impl Message {
    fn run(self, make: impl Fn(&Message) -> anyhow::Result<Vec<Packet>>) -> anyhow::Result<Outcome> {
        let packets = make(&self)?;
        let mut emit = Emit::new(self.out)?;
        for packet in packets {
            emit.all(|_| Ok(packet.clone()))?;
        }
        emit.finish()
    }

    fn packets(&self, request: Request) -> anyhow::Result<Vec<Packet>> {
        let message = self.channel().request(Psn(self.psn), request)?;
        Ok(message.data(Data::pattern(self.out.seed)).iter().collect())
    }

    fn channel(&self) -> Channel {
        let mut path = craft::Path::rocev2(self.src, self.dst);
        path.encapsulation = self.to.unwrap_or(path.encapsulation);
        Channel { service: self.service, mtu: self.mtu, ..Channel::rc(path, self.src_qp, self.dest_qp) }
    }

    fn len(&self) -> anyhow::Result<u32> {
        u32::try_from(self.len).context("--len: a message has at most 2G")
    }

    fn r_key(&self) -> anyhow::Result<u32> {
        u32::try_from(self.r_key).context("--r-key: it has 32 bits")
    }

    fn imm(&self) -> anyhow::Result<Option<u32>> {
        self.imm.map(|imm| u32::try_from(imm).context("--imm: it has 32 bits")).transpose()
    }
}

/// Every frame of a capture, or one, edited.
fn from_capture(from: &Place, out: Out) -> anyhow::Result<Outcome> {
    let mut reader = capture::open(&from.file)?;
    let mut emit = Emit::new(out)?;
    let mut n = 0;
    while let Some(record) = reader.next()? {
        n += 1;
        if from.frame.is_none_or(|wanted| wanted == n) {
            let d = dissect(record.link, record.frame, record.wire_len);
            let packet = Packet::from(&d);
            // What is behind the packet on the wire and was not captured either.
            let more = record.wire_len.saturating_sub(packet.wire_len());
            emit.put(record.time, record.interface, more, packet)?;
        }
        if from.frame == Some(n) {
            break;
        }
    }
    if let Some(wanted) = from.frame.filter(|&wanted| wanted > n) {
        bail!("{}: frame {wanted} of {n}", from.file.display());
    }
    let info = reader.info();
    for problem in &info.problems {
        super::say(format_args!("warning: {}: {problem}", from.file.display()));
    }
    let is_damaged = info.problem_count > 0;
    let outcome = emit.finish()?;
    Ok(if is_damaged { Outcome::Failed } else { outcome })
}

fn with_frame<T>(
    file: &Path,
    n: u64,
    see: impl FnOnce(&Dissection<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let mut reader = capture::open(file)?;
    let mut number = 0;
    while let Some(record) = reader.next()? {
        number += 1;
        if number == n {
            return see(&dissect(record.link, record.frame, record.wire_len));
        }
    }
    bail!("{}: frame {n} of {number}", file.display())
}

/// How a file is written, by its name.
pub(super) fn format_of(path: &Path) -> anyhow::Result<Format> {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let name = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name);
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("pcap" | "cap") => Ok(Format::Pcap),
        Some("pcapng" | "ntar") => Ok(Format::Pcapng),
        Some("erf") => Ok(Format::Erf),
        _ if path == Path::new("-") => Ok(Format::Pcap),
        _ => bail!("{}: which format? a name that ends in .pcap, .pcapng or .erf says", path.display()),
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

/// Edits packets and writes them out.
struct Emit {
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
    fn new(out: Out) -> anyhow::Result<Emit> {
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
    fn all(&mut self, make: impl Fn(u64) -> anyhow::Result<Packet>) -> anyhow::Result<()> {
        for copy in 0..self.out.count {
            let packet = make(copy)?;
            let at = self.number.saturating_mul(self.out.interval.unwrap_or(1000));
            self.one(Time(at.min(i64::MAX as u64) as i64), 0, 0, copy, packet)?;
        }
        Ok(())
    }

    fn put_at(&mut self, ns: u64, packet: Packet) -> anyhow::Result<()> {
        self.put(Time(ns.min(i64::MAX as u64) as i64), 0, 0, packet)
    }

    /// A packet with its own time, and copies of it one interval apart.
    fn put(&mut self, time: Time, interface: u16, more: u32, packet: Packet) -> anyhow::Result<()> {
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
        std::io::stdout().lock().write_all(self.text.as_bytes())?;
        self.text.clear();
        Ok(())
    }

    fn finish(mut self) -> anyhow::Result<Outcome> {
        self.pass_on()?;
        if let Some(sink) = &mut self.sink {
            sink.finish()?;
        }
        let edits = self.out.set.iter().chain(&self.out.step);
        let unused: Vec<_> =
            edits.zip(&self.unused).filter(|(_, unused)| **unused).map(|(edit, _)| edit).collect();
        if self.number > 0 && !unused.is_empty() {
            for edit in unused {
                super::say(format_args!("--set {edit}: no packet has this header"));
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

pub(super) fn edit(text: &str) -> Result<Edit, String> {
    Edit::parse(text)
}

fn qpn(text: &str) -> Result<Qpn, String> {
    let value = any_number(text)?;
    u32::try_from(value)
        .ok()
        .filter(|&qpn| qpn < 1 << 24)
        .map(Qpn)
        .ok_or("a queue pair number has 24 bits".into())
}

fn any_number(text: &str) -> Result<u64, String> {
    let value = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    value.map_err(|_| "expected a number, decimal or 0x hexadecimal".into())
}

fn mac(text: &str) -> Result<Mac, String> {
    text.parse().map_err(str::to_owned)
}

fn service(text: &str) -> Result<Service, String> {
    let all = [Service::Rc, Service::Uc, Service::Rd, Service::Ud, Service::Xrc];
    let found = all.into_iter().find(|service| service.name().eq_ignore_ascii_case(text));
    found.ok_or("expected rc, uc, rd, ud or xrc".into())
}

pub(super) fn encapsulation(text: &str) -> Result<Encapsulation, String> {
    let names = || Encapsulation::ALL.map(Encapsulation::name).join(", ");
    Encapsulation::ALL
        .into_iter()
        .find(|e| e.name() == text)
        .ok_or_else(|| format!("expected one of {}", names()))
}

/// Nanoseconds from "10us", "1.28ms", "3s", "250ns".
fn duration(text: &str) -> Result<u64, String> {
    let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let found = units
        .into_iter()
        .find_map(|(unit, ns)| Some((text.strip_suffix(unit)?.trim().parse::<f64>().ok()?, ns)));
    match found {
        Some((n, ns)) if n >= 0.0 && n * ns <= 1e18 => Ok((n * ns).round() as u64),
        _ => Err("expected a time with its unit: 250ns, 10us, 1.28ms, 3s".into()),
    }
}

/// A number with K, M, G or T: thousands.
fn amount(text: &str) -> Result<u64, String> {
    scaled(text, 1000)
}

/// The same in steps of 1024.
fn amount_binary(text: &str) -> Result<u64, String> {
    scaled(text, 1024)
}

fn scaled(text: &str, step: u64) -> Result<u64, String> {
    let (digits, power) = match text.strip_suffix(['K', 'k']) {
        Some(digits) => (digits, 1),
        None => match (text.strip_suffix('M'), text.strip_suffix('G'), text.strip_suffix('T')) {
            (Some(digits), ..) => (digits, 2),
            (_, Some(digits), _) => (digits, 3),
            (.., Some(digits)) => (digits, 4),
            _ => (text, 0),
        },
    };
    let n = any_number(digits).ok().and_then(|n| n.checked_mul(step.pow(power)));
    n.ok_or("expected a number, or one with K, M, G or T".into())
}
