//! `rdmawire craft`: builds packets from a recipe, from a capture, or as answers to packets of one.

use std::{
    collections::BTreeSet,
    net::IpAddr,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow, bail};
use clap::{Args, Subcommand, ValueEnum};

use super::{
    Outcome,
    arg::{self, encapsulation, of_bits, within},
    emit::{Emit, Out, Place},
    input::{self, Progress},
    output, say, scenario,
    signals::{STOP, end_on_signal},
    warn_of_damage,
};
use rdmawire::{
    capture::{self, FRAME_HASH, Series, Source},
    craft::{self, Channel, Data, Hold, Packet, Request, Spray, recipe},
    dissect::{Dissection, Encapsulation, dissect},
    grammar::{print::several, units},
    opcode::{Chain, Opcode, Operation, Position, Service, Transport},
    wire::{Bth, Mac, Psn, Qpn, Reth, Syndrome, Udp},
};

/// Build packets from a recipe, from a capture, or as answers to packets of one.
///
/// A recipe is one line of text. It names the headers from outside to inside, with the fields to set. Lengths, types,
/// checksums and the ICRC are computed: `rdmawire craft 'eth / ipv4 dst=10.0.0.2 / udp / bth opcode=rc-write-only dest_qp=0x11 / reth
/// dma_len=64 / payload 64' -o x.pcap`. A computed field that is given is kept as it is.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire craft 'eth / ipv4 dst=10.0.0.2 / udp / bth opcode=rc-acknowledge / aeth' -o ack.pcap
  rdmawire craft cnp --flow-of x.pcap:3 -o cnp.pcap
  rdmawire craft scenario.toml -o scenario.pcap --expect scenario.json")]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Craft {
    #[command(subcommand)]
    what: Option<What>,
    /// A recipe: headers with their fields, divided by `/`. Or a scenario to simulate: FILE.toml.
    #[arg(required_unless_present = "from", conflicts_with = "from")]
    recipe: Option<String>,
    /// Start from all frames of a capture (FILE), or from one (FILE:N, counted from 1).
    #[arg(long, value_name = "FILE[:N]")]
    from: Option<FrameRef>,
    /// With a scenario: write the results that an analysis of its capture must have, as JSON.
    #[arg(long, value_name = "FILE")]
    expect: Option<PathBuf>,
    /// Also write what the tapped links of a scenario join, as `analyze --links` takes it.
    #[arg(long, value_name = "FILE")]
    links: Option<PathBuf>,
    #[command(flatten)]
    out: Out,
}

#[derive(Debug, Subcommand)]
enum What {
    /// A congestion notification (CNP) to the sender of a data packet.
    Cnp {
        #[command(flatten)]
        answer: Answer,
        #[command(flatten)]
        no: NotInCnp,
    },
    /// An acknowledgement of a packet.
    Ack {
        #[command(flatten)]
        answer: Answer,
        #[command(flatten)]
        number: Number,
    },
    /// A NAK of a packet.
    Nak {
        #[command(flatten)]
        answer: Answer,
        #[command(flatten)]
        number: Number,
        /// The reason.
        #[arg(long, value_enum, default_value_t)]
        code: Code,
    },
    /// An RNR NAK: receiver not ready, retransmit the packet later.
    Rnr {
        #[command(flatten)]
        answer: Answer,
        #[command(flatten)]
        number: Number,
        /// How long to wait: 10us, 1.28ms. It is rounded up to the next value that the field can express.
        #[arg(long, value_name = "TIME", value_parser = units::duration, default_value = "640us")]
        timer: u64,
    },
    /// Priority flow control: one frame, or a pause that is held by renewing it.
    Pfc {
        /// The priorities to pause.
        #[arg(long, value_name = "0-7", value_delimiter = ',', required = true, value_parser = within(0..=7u8))]
        priority: Vec<u8>,
        #[command(flatten)]
        pause: Pause,
    },
    /// IEEE 802.3 PAUSE: one frame, or a pause that is held by renewing it.
    Pause(Pause),
    /// The packets of an RDMA WRITE.
    Write {
        #[command(flatten)]
        ends: Ends,
        /// The transport: ib, or mrc, the multipath reliable connection of OCP, over RoCEv2.
        #[arg(long, value_name = "NAME", value_parser = transport, default_value = "ib")]
        transport: Transport,
        #[command(flatten)]
        paths: Paths,
        #[command(flatten)]
        size: Size,
        #[command(flatten)]
        memory: Memory,
        #[command(flatten)]
        immediate: Immediate,
        #[command(flatten)]
        out: Out,
    },
    /// An RDMA READ request.
    Read {
        #[command(flatten)]
        ends: Ends,
        #[command(flatten)]
        paths: Paths,
        #[command(flatten)]
        size: Size,
        #[command(flatten)]
        memory: Memory,
        #[command(flatten)]
        no: NotInRead,
        #[command(flatten)]
        only: OnlyIb,
        #[command(flatten)]
        out: Out,
    },
    /// The packets of the response to an RDMA READ.
    ReadResponse {
        #[command(flatten)]
        ends: Ends,
        #[command(flatten)]
        paths: Paths,
        #[command(flatten)]
        size: Size,
        #[command(flatten)]
        no: NotInReadResponse,
        #[command(flatten)]
        only: OnlyIb,
        #[command(flatten)]
        out: Out,
    },
    /// The packets of a SEND.
    Send {
        #[command(flatten)]
        ends: Ends,
        #[command(flatten)]
        paths: Paths,
        #[command(flatten)]
        size: Size,
        #[command(flatten)]
        immediate: Immediate,
        #[command(flatten)]
        no: NotInSend,
        #[command(flatten)]
        only: OnlyIb,
        #[command(flatten)]
        out: Out,
    },
    /// The connection management messages of a connection: REQ, REP, RTU, DREQ, DREP.
    Connect {
        #[command(flatten)]
        ends: Ends,
        #[command(flatten)]
        no: NotInConnect,
        #[command(flatten)]
        only: OnlyIb,
        #[command(flatten)]
        out: Out,
    },
}

/// Options that other kinds of messages have: the help does not show them, and who gives one is told why it is refused.
macro_rules! not_here {
    ($($name:ident { $($option:ident: $why:literal,)+ })+) => {$(
        #[derive(Debug, Args)]
        #[allow(dead_code)] // None can be given.
        struct $name {
            $(#[arg(long, hide = true, value_parser = refused($why))] $option: Option<Never>,)+
        }
    )+};
}

not_here! {
    NotInCnp { msn: "a CNP has no AETH, and so no message sequence number", }
    NotInRead {
        imm: "a READ request has no immediate data",
    }
    NotInReadResponse {
        imm: "a READ response has no immediate data",
        va: "a READ response has no RETH: the request has the address",
        r_key: "a READ response has no RETH: the request has the key",
    }
    NotInSend {
        va: "a SEND has no RETH: the receiver chooses the memory",
        r_key: "a SEND has no RETH: the receiver chooses the memory",
    }
    NotInConnect {
        imm: "a connection management message has no immediate data",
        va: "a connection management message has no RETH",
        r_key: "a connection management message has no RETH",
        len: "connection management messages have a size of their own",
        paths: "connection management messages go through queue pair 1, on one path",
    }
}

/// The transport of what MRC does not have: as for a WRITE, but that there is no choice.
#[derive(Debug, Args)]
#[allow(dead_code)] // There is but one.
struct OnlyIb {
    #[arg(long, hide = true, value_parser = only_ib)]
    transport: Option<Transport>,
}

fn only_ib(text: &str) -> Result<Transport, String> {
    match transport(text)? {
        Transport::Mrc => Err("MRC has no such operation: it has WRITEs only".into()),
        Transport::Ib => Ok(Transport::Ib),
    }
}

/// The value of an option that is refused.
#[derive(Clone, Debug)]
enum Never {}

fn refused(why: &'static str) -> impl Fn(&str) -> Result<Never, &'static str> + Clone {
    move |_| Err(why)
}

#[derive(Debug, Args)]
struct Answer {
    /// The packet to answer: FILE:N, counted from 1.
    #[arg(long = "flow-of", visible_alias = "of", value_name = "FILE:N")]
    of: FrameRef,
    /// The queue pair that sent it, if the capture does not show it.
    #[arg(long, value_name = "QPN", value_parser = units::qpn)]
    dest_qp: Option<Qpn>,
    #[command(flatten)]
    out: Out,
}

#[derive(Debug, Args)]
struct Number {
    /// The responder's message sequence number.
    #[arg(long, default_value = "0", value_parser = of_bits::<u32>("a message sequence number", 24))]
    msn: u32,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Code {
    /// The PSN was not the expected one.
    #[default]
    PsnSequenceError,
    /// The request is invalid.
    InvalidRequest,
    /// A wrong key or address, or a missing access right.
    RemoteAccessError,
    /// The responder failed.
    RemoteOperationalError,
    /// The reliable datagram request is invalid.
    InvalidRdRequest,
}

#[derive(Debug, Args)]
struct Pause {
    /// The pause time of each frame in quanta of 512 bit times; 0 ends a pause.
    #[arg(long, default_value_t = u16::MAX, value_parser = of_bits::<u16>("a pause time", 16))]
    quanta: u16,
    /// Hold the pause this long by renewing it, then end it: 300ms.
    #[arg(long, value_name = "TIME", value_parser = units::duration, requires = "speed")]
    hold: Option<u64>,
    /// The link's speed: 400G.
    #[arg(long, value_name = "SPEED", value_parser = units::bit_rate, requires = "hold")]
    speed: Option<u64>,
    /// The sender's Ethernet address.
    #[arg(long, value_name = "MAC", value_parser = mac, default_value = "02:00:00:00:00:01")]
    src: Mac,
    #[command(flatten)]
    out: Out,
}

#[derive(Debug, Args)]
struct Ends {
    /// The sender's IP address.
    #[arg(long, default_value = "10.0.0.1")]
    src: IpAddr,
    /// The receiver's IP address.
    #[arg(long, default_value = "10.0.0.2")]
    dst: IpAddr,
    /// The encapsulation: rocev2-ipv4, rocev2-ipv6, rocev1, ib, ib-grh. By default RoCEv2 over the addresses' IP version.
    #[arg(long, visible_alias = "encap", value_name = "NAME", value_parser = encapsulation)]
    to: Option<Encapsulation>,
    /// The transport service: rc, uc, ud, rd or xrc.
    #[arg(long, default_value = "rc", value_parser = arg::service)]
    service: Service,
    /// The sender's queue pair.
    #[arg(long, default_value = "0x12", value_parser = units::qpn)]
    src_qp: Qpn,
    /// The receiver's queue pair.
    #[arg(long, default_value = "0x11", value_parser = units::qpn)]
    dest_qp: Qpn,
    /// The first packet's PSN.
    #[arg(long, default_value = "0", value_parser = of_bits::<u32>("a PSN", 24))]
    psn: u32,
    /// Path MTU: 256, 512, 1024, 2048 or 4096.
    #[arg(long, default_value = "1024", value_parser = arg::mtu::<u16>)]
    mtu: u16,
}

#[derive(Debug, Args)]
struct Paths {
    /// Send the packets over so many paths in turn: UDP source ports from 49152 on.
    #[arg(long, value_name = "N", value_parser = within(1..=4096u16))]
    paths: Option<u16>,
    /// The flow label tells paths apart too, in fields for two tiers of switches, eight ports each. It needs IPv6.
    #[arg(long, requires = "paths")]
    flow_labels: bool,
}

#[derive(Debug, Args)]
struct Size {
    /// The size of the message: 64, 64K, 1MiB.
    #[arg(long, visible_alias = "size", value_name = "BYTES", value_parser = units::size, default_value = "4096")]
    len: u64,
}

#[derive(Debug, Args)]
struct Memory {
    /// Remote virtual address.
    #[arg(long, value_parser = units::integer, default_value = "0x10000")]
    va: u64,
    /// Remote key.
    #[arg(long, value_parser = of_bits::<u32>("an R_Key", 32), default_value = "0x1234")]
    r_key: u32,
}

#[derive(Debug, Args)]
struct Immediate {
    /// Immediate data.
    #[arg(long, value_parser = of_bits::<u32>("immediate data", 32))]
    imm: Option<u32>,
}

/// A capture, or one frame of it.
#[derive(Clone, Debug)]
struct FrameRef {
    file: PathBuf,
    frame: Option<u64>,
}

impl std::str::FromStr for FrameRef {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.rsplit_once(':').map(|(file, n)| (file, n.parse())) {
            Some((_, Ok(0))) => Err("frames are counted from 1".into()),
            Some((file, Ok(n))) => Ok(FrameRef { file: file.into(), frame: Some(n) }),
            _ => Ok(FrameRef { file: text.into(), frame: None }),
        }
    }
}

impl Craft {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        match self.what {
            Some(what) => what.run(),
            None => match (self.recipe, self.from) {
                (Some(text), _) if scenario::is_scenario(&text) => {
                    if let Some(option) = self.out.changing() {
                        bail!(
                            "{option}: it is for packets that are built one by one, and a scenario simulates its own; `rdmawire craft --from` changes those of its capture"
                        );
                    }
                    scenario::Play {
                        scenario: Path::new(&text),
                        output: self.out.output.as_deref(),
                        expect: self.expect.as_deref(),
                        links: self.links.as_deref(),
                        seed: self.out.given_seed(),
                        force: self.out.force,
                    }
                    .run()
                }
                _ if self.expect.is_some() => bail!("--expect needs a scenario, FILE.toml"),
                _ if self.links.is_some() => bail!("--links needs a scenario, FILE.toml"),
                (Some(text), _) => {
                    let seed = self.out.seed();
                    let mut emit = Emit::new(self.out)?;
                    let parse =
                        |seed| recipe::parse_seeded(&text, seed).map_err(|error| anyhow!("recipe, {error}"));
                    warn_of_surprises(&parse(seed)?);
                    emit.all(|copy| parse(seed.wrapping_add(copy)))?;
                    emit.finish()
                }
                (None, Some(from)) => from_capture(&from, self.out),
                (None, None) => bail!("expected a recipe, or --from FILE"),
            },
        }
    }
}

impl What {
    fn run(self) -> anyhow::Result<Outcome> {
        match self {
            What::Cnp { answer, .. } => answer.run(|channel, _| channel.cnp()),
            What::Ack { answer, number: Number { msn } } => answer.run(|channel, psn| channel.ack(psn, msn)),
            What::Nak { answer, number: Number { msn }, code } => {
                answer.run(|channel, psn| channel.acknowledge(psn, Syndrome(0x60 | code as u8), msn))
            }
            What::Rnr { answer, number: Number { msn }, timer } => {
                let us = u32::try_from(timer.div_ceil(1000)).unwrap_or(u32::MAX);
                answer.run(|channel, psn| channel.rnr(psn, us, msn))
            }
            What::Pfc { priority, pause } => {
                let mask = priority.iter().fold(0, |mask, priority| mask | 1 << priority);
                pause.run(Some(mask))
            }
            What::Pause(pause) => pause.run(None),
            What::Write { ends, transport, paths, size, memory: Memory { va, r_key }, immediate, out } => {
                let request = Request::Write { len: size.len()?, va, r_key, imm: immediate.imm };
                paths.write(ends.over(transport)?.request(Psn(ends.psn), request)?, out)
            }
            What::Read { ends, paths, size, memory: Memory { va, r_key }, out, .. } => {
                let request = Request::Read { len: size.len()?, va, r_key };
                paths.write(ends.channel()?.request(Psn(ends.psn), request)?, out)
            }
            What::Send { ends, paths, size, immediate, out, .. } => {
                let request = Request::Send { len: size.len()?, imm: immediate.imm, invalidate: None };
                paths.write(ends.channel()?.request(Psn(ends.psn), request)?, out)
            }
            What::ReadResponse { ends, paths, size, out, .. } => {
                paths.write(ends.channel()?.read_response(Psn(ends.psn), size.len()?, 1)?, out)
            }
            What::Connect { ends, out, .. } => {
                if ends.service == Service::Ud {
                    bail!("--service ud: datagrams need no connection: expected rc, uc, rd or xrc");
                }
                let usual = craft::Dialog::new(ends.path()?, ends.src_qp, ends.dest_qp);
                let Ends { mtu, service, psn, .. } = ends;
                let d = craft::Dialog { mtu, service, active_psn: Psn(psn), ..usual };
                let all = [d.req(&[]), d.rep(&[]), d.rtu(&[]), d.dreq(false, &[]), d.drep(true, &[])];
                write(all.into_iter(), out)
            }
        }
    }
}

impl Answer {
    fn run(self, make: impl Fn(&Channel, Psn) -> Packet) -> anyhow::Result<Outcome> {
        let Some(n) = self.of.frame else {
            bail!("--flow-of: expected a frame number, as in {}:N", self.of.file.display())
        };
        output::will_read(&self.of.file);
        if self.dest_qp.is_none() && input::is_stream(&self.of.file) {
            bail!(
                "{}: a stream is read once, and the queue pair that sent the packet would be looked for in all frames: give --dest-qp",
                self.of.file.display()
            );
        }
        let (channel, psn) = with_frame(&self.of.file, n, |d| {
            let no_bth = || format!("frame {n} has no BTH, so it cannot be answered");
            let bth = d.get::<Bth>().with_context(no_bth)?;
            let sender = match self.dest_qp {
                Some(qpn) => Some(qpn),
                None if d.get::<rdmawire::wire::Deth>().is_some() => None,
                None => Some(peer(&self.of.file, d)?),
            };
            let channel = craft::answer(d, sender).context("no BTH")?;
            Ok((channel, bth.psn()))
        })?;
        let mut emit = Emit::new(self.out)?;
        emit.all(|_| Ok(make(&channel, psn)))?;
        emit.finish()
    }
}

/// The queue pair that sent a packet: the destination of packets of the other direction. If there are several, the one that
/// Linux's formula for the UDP source port selects.
fn peer(file: &Path, d: &Dissection<'_>) -> anyhow::Result<Qpn> {
    let path = craft::Path::of(d).context("no BTH")?;
    let to = d.get::<Bth>().map(|bth| bth.dest_qp()).unwrap_or_default();
    let port = d.get::<Udp>().map(|udp| udp.src_port());
    let mut back = BTreeSet::new();
    let is_reverse = |other: craft::Path| other.src.ip == path.dst.ip && other.dst.ip == path.src.ip;
    let read = input::each(&mut capture::open(file)?, |_, record| {
        let other = dissect(record.link, record.frame, record.wire_len);
        let bth = other.get::<Bth>().filter(|bth| !bth.opcode().is_cnp() && bth.dest_qp().0 > 1);
        if let Some(bth) = bth.filter(|_| craft::Path::of(&other).is_some_and(is_reverse)) {
            back.insert(bth.dest_qp().0);
        }
        Ok(())
    })?;
    read.all()?;
    let fits: Vec<u32> =
        back.iter().copied().filter(|&qpn| port == Some(Udp::linux_source_port(to, Qpn(qpn)))).collect();
    match (fits.as_slice(), back.len()) {
        (&[qpn], _) => Ok(Qpn(qpn)),
        (_, 1) => Ok(Qpn(back.first().copied().unwrap_or(0))),
        (_, 0) => bail!("no packet of the other direction shows the queue pair that sent it: give --dest-qp"),
        (_, n) => bail!("{n} queue pairs may have sent it: give --dest-qp"),
    }
}

impl Pause {
    fn run(self, priorities: Option<u8>) -> anyhow::Result<Outcome> {
        if self.hold.is_some() {
            self.out.check_interval("--hold says when frames are sent")?;
        }
        let mut emit = Emit::new(self.out)?;
        let Some(ns) = self.hold else {
            let pause = Hold::new(self.src, priorities, 0, 1);
            emit.all(|_| Ok(pause.frame(self.quanta)))?;
            return emit.finish();
        };
        let speed = self.speed.context("--hold needs --speed")?;
        if self.quanta == 0 {
            bail!("--hold with --quanta 0: quanta of 0 end a pause");
        }
        let hold = Hold { quanta: self.quanta, ..Hold::new(self.src, priorities, ns, speed) };
        for (at, packet) in hold.iter() {
            emit.put_at(at, packet)?;
        }
        emit.finish()
    }
}

/// Writes these packets, and their copies.
fn write(packets: impl Iterator<Item = Packet>, out: Out) -> anyhow::Result<Outcome> {
    let mut emit = Emit::new(out)?;
    for packet in packets {
        emit.all(|_| Ok(packet.clone()))?;
    }
    emit.finish()
}

impl Ends {
    fn path(&self) -> anyhow::Result<craft::Path> {
        let Ends { src, dst, .. } = *self;
        if src.is_ipv4() != dst.is_ipv4() {
            bail!("--src {src} and --dst {dst}: one is IPv4, the other IPv6");
        }
        let usual = craft::Path::rocev2(src, dst);
        let encapsulation = self.to.unwrap_or(usual.encapsulation);
        for (option, address) in [("--src", src), ("--dst", dst)] {
            if encapsulation == Encapsulation::RoceV2Ipv4 && address.to_canonical().is_ipv6() {
                bail!(
                    "{option} {address}: rocev2-ipv4 needs IPv4 addresses, or IPv6 ones that are mapped: ::ffff:10.0.0.1"
                );
            }
        }
        Ok(craft::Path { encapsulation, ..usual })
    }

    fn channel(&self) -> anyhow::Result<Channel> {
        let Ends { service, mtu, .. } = *self;
        Ok(Channel { service, mtu, ..Channel::rc(self.path()?, self.src_qp, self.dest_qp) })
    }

    fn over(&self, transport: Transport) -> anyhow::Result<Channel> {
        let channel = self.channel()?;
        if transport == Transport::Ib {
            return Ok(channel);
        }
        if self.service != Service::Rc {
            bail!(
                "--transport mrc: MRC is a service of its own, reliable and connected: leave --service {} away",
                self.service.name().to_lowercase()
            );
        }
        if !has_udp(&channel.path) {
            bail!(
                "--transport mrc: MRC goes over RoCEv2 only: leave --to {} away",
                channel.path.encapsulation.name()
            );
        }
        Ok(Channel { service: Service::Mrc, ..channel })
    }
}

fn has_udp(path: &craft::Path) -> bool {
    matches!(path.encapsulation, Encapsulation::RoceV2Ipv4 | Encapsulation::RoceV2Ipv6)
}

impl Paths {
    /// Writes the packets of a message, on these paths.
    fn write(&self, message: craft::Message, out: Out) -> anyhow::Result<Outcome> {
        let message = message.data(Data::pattern(out.seed()));
        let path = message.channel().path;
        let message = match self.paths {
            Some(_) if !has_udp(&path) => {
                bail!(
                    "--paths: UDP source ports tell paths apart, and {} has no UDP: leave --to away",
                    path.encapsulation.name()
                )
            }
            Some(_) if self.flow_labels && path.encapsulation != Encapsulation::RoceV2Ipv6 => {
                bail!("--flow-labels needs IPv6: --src fd00::1 --dst fd00::2")
            }
            Some(paths) => message.spray(Spray { paths, port: FIRST_PATH, label: self.flow_labels }),
            None => message,
        };
        write(message.iter(), out)
    }
}

impl Size {
    fn len(&self) -> anyhow::Result<u32> {
        u32::try_from(self.len).context("--len: a message has at most 2G")
    }
}

/// What a recipe is likely not to mean: the headers that its operation code brings are not there, or the RETH announces another length. Both can be
/// meant, in a test of a parser.
fn warn_of_surprises(packet: &Packet) {
    let Some(bth) = packet.get::<Bth>() else { return };
    let kind = packet.parts().iter().rev().find(|part| part.kind.is_bth()).map(|part| part.kind);
    let transport = kind.and_then(Transport::of_bth).unwrap_or_default();
    let opcode = Opcode::of(transport, bth.opcode().code);
    let mut missing = Chain::of(opcode, bth)
        .kinds()
        .iter()
        .filter(|kind| packet.parts().iter().all(|part| part.kind != **kind));
    if let (Some(kind), false) = (missing.next(), packet.get_payload().is_empty()) {
        say(format_args!(
            "warning: {} has a {}, and the recipe has none: the payload begins where it is read",
            opcode.name().unwrap_or("this operation code"),
            kind.label()
        ));
    }
    let is_whole = opcode.operation() == Some(Operation::Write) && opcode.position() == Position::Only;
    if let (true, Some(reth)) = (is_whole, packet.get::<Reth>())
        && reth.dma_len() as usize != packet.get_payload().len()
    {
        say(format_args!(
            "warning: reth dma_len is {}, and the payload of this whole message has {}",
            reth.dma_len(),
            several(packet.get_payload().len() as u64, "byte")
        ));
    }
}

/// Edits every frame of a capture, or one.
fn from_capture(from: &FrameRef, out: Out) -> anyhow::Result<Outcome> {
    out.check_interval("frames keep their times")?;
    end_on_signal(&STOP);
    output::will_read(&from.file);
    let mut reader = Series::from(input::open(&from.file)?);
    let mut emit = Emit::new(out)?;
    let progress = Progress::new(reader.info());
    let read = input::each_with_reader(&mut reader, Some(progress), |n, record, reader| {
        if emit.lacks(reader.info()) {
            emit.describe(reader.info());
        }
        if from.frame.is_none_or(|wanted| wanted == n) {
            let d = dissect(record.link, record.frame, record.wire_len);
            let packet = Packet::from(&d);
            let more = record.wire_len.saturating_sub(packet.wire_len());
            let comments: Vec<_> = reader.comments().collect();
            let comments: Vec<&str> = comments.iter().map(AsRef::as_ref).collect();
            let (time, interface) = (record.time, record.interface);
            // A hash is of the frame as it was.
            let options: Vec<_> = reader.options().filter(|(code, _)| *code != FRAME_HASH).collect();
            let place =
                Place { time, interface, more, comments: &comments, options: &options, is_captured: true };
            emit.put(place, packet)?;
        }
        Ok(from.frame != Some(n))
    })?;
    if read.is_stopped {
        bail!("{}: {}: nothing was written", from.file.display(), input::ended_after(read.frames));
    }
    emit.describe(reader.info());
    let n = read.all()?;
    if let Some(wanted) = from.frame.filter(|&wanted| wanted > n) {
        bail!("{}: frame {wanted} of {n}", from.file.display());
    }
    let is_damaged = warn_of_damage(reader.info());
    let outcome = emit.finish()?;
    Ok(if is_damaged { Outcome::Failed } else { outcome })
}

fn with_frame<T>(
    file: &Path,
    n: u64,
    on_frame: impl FnOnce(&Dissection<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let (mut on_frame, mut found) = (Some(on_frame), None);
    let read = input::each_while(&mut input::open(file)?, None, |number, record| {
        if number == n {
            let d = dissect(record.link, record.frame, record.wire_len);
            found = on_frame.take().map(|on_frame| on_frame(&d));
        }
        Ok(number < n)
    })?;
    let frames = read.all()?;
    found.unwrap_or_else(|| bail!("{}: frame {n} of {frames}", file.display()))
}

/// The UDP source port of the first path.
const FIRST_PATH: u16 = 0xc000;

fn transport(text: &str) -> Result<Transport, String> {
    match text {
        "ib" => Ok(Transport::Ib),
        "mrc" => Ok(Transport::Mrc),
        _ => Err("expected ib or mrc".into()),
    }
}

fn mac(text: &str) -> Result<Mac, String> {
    text.parse().map_err(str::to_owned)
}
