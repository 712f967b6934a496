//! The simulator: from a scenario of hosts, connections, operations and faults it makes captures, and the results that an
//! analysis of them must have.
//!
//! It is a discrete-event simulator. Requesters and responders follow the InfiniBand rules as Linux's Soft-RoCE does
//! (IBTA vol. 1, 9.7; drivers/infiniband/sw/rxe/rxe_{req,resp,comp}.c). The network drops, delays, duplicates, marks and
//! corrupts packets as the scenario says. Taps record the packets that pass them. The seed determines everything random,
//! so a scenario always gives the same capture. Labels come from what the simulated sender, network and tap did, never
//! from the capture: see [`label`].
//!
//! Hosts are at the left or the right end of one road. It has segments, and taps between them:
//!
//! ```text
//! left hosts --- segment 1 --- tap (after = 1) --- segment 2 --- right hosts
//! ```
//!
//! ```
//! use rdmawire::sim::{Scenario, run};
//! let scenario = Scenario::parse(r#"
//!     [[connection]]
//!     operations = [{ op = "write", size = "16KiB" }]
//!     [[event]]                    # the third packet is lost before the tap
//!     do = "drop"
//!     packet = 3
//! "#).unwrap();
//! let run = run(&scenario).unwrap();
//! let labels = run.labels(0);
//! assert_eq!(labels.frames.iter().filter(|label| label.is_retransmission()).count(), 14);
//! ```

pub mod expect;
pub mod label;

mod check;
mod engine;
mod fabric;
mod manage;
mod network;
mod qp;
mod render;
mod requester;
mod responder;
mod rng;
mod text;
mod untidy;

use std::{net::IpAddr, ops::RangeInclusive};

use serde::Deserialize;

use crate::{
    craft::Lengths,
    dcqcn::Parameters,
    dissect,
    message::{Ending, Segments, Unsupported},
    opcode::{Operation as Op, Service},
    wire::Psn,
};

pub use check::MERGED;
use check::{Bounds, Checked, LATEST, LONGEST};
pub use engine::{Capture, Cause, Run, SentFlow, SentMessage, Sighting, Transmission, run};
pub use render::{Frame, Frames};
pub use text::{Error, Ns, Rate, Size, UdpPort};

/// The description of scenario files that `rdmawire explain scenario` prints.
pub const SCHEMA: &str = include_str!("schema.txt");

/// Tables of a scenario: behind each field stands its default, and behind `=>` which numbers it may be, or how many.
macro_rules! tables {
    ($($(#[$on:meta])* pub struct $name:ident {
        $($(#[$meta:meta])* pub $field:ident: $type:ty = $value:expr $(=> $range:expr)?,)*
    })*) => {$(
        $(#[$on])*
        #[derive(Clone, Debug, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name { $($(#[$meta])* pub $field: $type,)* }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $value,)* }
            }
        }

        checked! { $name { $($field $($range)?,)* } }
    )*};
}

/// Tables with fields that must be given.
macro_rules! entries {
    ($($(#[$on:meta])* pub struct $name:ident {
        $($(#[$meta:meta])* pub $field:ident: $type:ty $(=> $range:expr)?,)*
    })*) => {$(
        $(#[$on])*
        #[derive(Clone, Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$meta])* pub $field: $type,)* }

        checked! { $name { $($field $($range)?,)* } }
    )*};
}

/// A table's numbers are within their bounds.
macro_rules! checked {
    ($name:ident { $($field:ident $($range:expr)?,)* }) => {
        impl Checked for $name {
            fn check(&self, at: std::fmt::Arguments<'_>, _: Option<Bounds>) -> Result<(), Error> {
                $(self.$field.check(format_args!("{at}: {}", stringify!($field)), checked!(@ $($range)?))?;)*
                Ok(())
            }
        }
    };
    (@) => { None };
    (@ $range:expr) => { Some(Bounds::of($range)) };
}

// It uses the macros above.
pub mod collective;
pub mod spray;

/// A frame at a tap of a scenario that plays by itself.
#[derive(Clone, Debug)]
pub struct Made {
    /// Nanoseconds since 1970-01-01 UTC.
    pub time_ns: i64,
    /// Bytes on the wire. The tap may have cut `bytes`.
    pub wire_len: u32,
    /// The bytes captured.
    pub bytes: Vec<u8>,
}

/// A share of packets or frames.
const SHARE: RangeInclusive<f64> = 0.0..=1.0;
/// What counts something, and is never 0.
const SOME: RangeInclusive<u32> = 1..=u32::MAX;

tables! {
    /// A scenario. All fields have defaults: two hosts, a 100G link, a tap in its middle, no faults.
    pub struct Scenario {
        /// What the scenario shows.
        pub title: String = String::new(),
        /// Seed of everything random.
        pub seed: u64 = 1,
        /// When it begins, as a duration since 1970-01-01 UTC.
        pub begin: Ns = Ns(1_767_225_600_000_000_000) => 0.0..=LATEST,
        /// When the simulation stops, from the beginning. Without it, it runs until nothing is left to do.
        pub stop: Option<Ns> = None,
        /// More transmissions than this are an error.
        pub limit: u32 = 4_000_000,
        /// Speed of every host's link. It is also the speed by which pause quanta are counted.
        pub rate: Rate = Rate(100_000_000_000),
        /// The hosts. Without any there are two, `a` left and `b` right.
        pub host: Vec<Host> = Vec::new() => 0..=4096,
        /// The connections.
        pub connection: Vec<Connection> = Vec::new(),
        /// The road from left to right. Without any segment there are two.
        pub segment: Vec<Segment> = Vec::new() => 0..=32,
        /// The taps. Without any there is one after the first segment.
        pub tap: Vec<Tap> = Vec::new() => 0..=16,
        /// Faults of single packets, and errors of receivers.
        pub event: Vec<Event> = Vec::new(),
        /// PAUSE and PFC.
        pub pause: Vec<Pause> = Vec::new(),
        /// Pauses that are a deadlock.
        pub deadlock: Vec<Deadlock> = Vec::new(),
        /// Parallel paths.
        pub paths: Paths = Paths::default(),
        /// What switches make of packets that they trim.
        pub trim: Trimming = Trimming::default(),
        /// Congestion notification.
        pub cnp: Cnp = Cnp::default(),
    }
}

/// An end of the road.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Left.
    Left,
    /// Right.
    Right,
}

entries! {
    /// A host with one port.
    pub struct Host {
        /// Its name in the rest of the scenario.
        pub name: String,
        /// Its address: IPv4, or IPv6 (its GID for RoCE v1 and InfiniBand).
        pub address: IpAddr,
        /// Its Ethernet address. By default made from its position in the list.
        pub mac: Option<String>,
        /// Its local identifier (native InfiniBand). By default its position in the list, from 1.
        pub lid: Option<u16>,
        /// Its side. By default the first host is left, all others right.
        pub side: Option<Side>,
        /// Its link's speed, if not the scenario's.
        pub rate: Option<Rate>,
        /// When it dies: it neither sends nor answers any more.
        pub dies_at: Option<Ns>,
    }
}

/// The headers around the transport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encapsulation {
    /// UDP over the hosts' IP version.
    #[default]
    Rocev2,
    /// EtherType 0x8915 and a GRH.
    Rocev1,
    /// LRH.
    Ib,
    /// LRH and GRH.
    IbGrh,
}

impl Encapsulation {
    pub(crate) fn is_native(self) -> bool {
        matches!(self, Encapsulation::Ib | Encapsulation::IbGrh)
    }

    /// The encapsulation, between hosts of this IP version.
    pub(crate) fn over(self, ipv6: bool) -> dissect::Encapsulation {
        match self {
            Encapsulation::Rocev2 if ipv6 => dissect::Encapsulation::RoceV2Ipv6,
            Encapsulation::Rocev2 => dissect::Encapsulation::RoceV2Ipv4,
            Encapsulation::Rocev1 => dissect::Encapsulation::RoceV1,
            Encapsulation::Ib => dissect::Encapsulation::Ib,
            Encapsulation::IbGrh => dissect::Encapsulation::IbGrh,
        }
    }
}

/// How a requester recovers from loss, and how its responder handles packets out of order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// The requester retransmits from the missing packet on. The responder takes packets in order only.
    #[default]
    GoBackN,
    /// The requester retransmits only missing packets. The responder keeps packets that came early.
    Selective,
}

/// Whether the IPv4 identification tells transmissions apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IpId {
    /// Always zero, as most adapters do with DF set.
    #[default]
    Zero,
    /// Each transmission has its flow's next number.
    Flow,
    /// Each transmission has its host's next number, as Soft-RoCE does.
    Host,
    /// Each transmission has a random number.
    Random,
}

/// What a requester retransmits when its timer runs out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeoutResends {
    /// All that is not acknowledged; of selective recovery the first packet.
    #[default]
    Rest,
    /// The first packet that is not acknowledged, and nothing more until an answer comes.
    One,
}

/// The first operation code of the response to a READ that was retransmitted from its middle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartialRead {
    /// MIDDLE or LAST, as Soft-RoCE does.
    #[default]
    Middle,
    /// FIRST or ONLY, as for any READ.
    First,
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// The connection's `from`.
    #[default]
    From,
    /// The connection's `to`.
    To,
}

tables! {
    /// Two connected queue pairs. `schema.txt` has the defaults.
    pub struct Connection {
        /// Its name in events.
        pub name: String = String::new(),
        /// The active host. By default the first.
        pub from: String = String::new(),
        /// The passive host. By default the second.
        pub to: String = String::new(),
        /// Further destinations of a UD queue pair, which it sends to in turn.
        pub also_to: Vec<String> = Vec::new(),
        /// How many such connections there are. Their queue pairs are numbered on.
        pub copies: u32 = 1 => SOME,
        /// Transport service: RC, UC or UD.
        #[serde(deserialize_with = "text::service")]
        pub service: Service = Service::Rc,
        /// Queue pair numbers of `from` and `to`. By default counted from 0x11.
        pub qp: Option<[u32; 2]> = None,
        /// First PSN of the requests of `from` and of `to`. By default random.
        pub psn: Option<[u32; 2]> = None => 0..=Psn::SPACE - 1,
        /// Path MTU: 256, 512, 1024, 2048 or 4096 bytes.
        pub mtu: u16 = 1024,
        /// The headers around the transport.
        pub encapsulation: Encapsulation = Encapsulation::Rocev2,
        /// VLAN identifier. Without it, frames have no tag.
        pub vlan: Option<u16> = None => 0..=4095,
        /// Priority code point of the tag.
        pub pcp: u8 = 3 => 0..=7,
        /// DSCP. Shifted right by three, it is the priority for PFC.
        pub dscp: u8 = 26 => 0..=63,
        /// Whether senders set ECT(0).
        pub ecn: bool = true,
        /// Hop limit at the sender.
        pub ttl: u8 = 64,
        /// UDP source ports.
        pub udp_port: UdpPort = UdpPort::Linux,
        /// IPv4 identification.
        pub ip_id: IpId = IpId::Zero,
        /// When it begins.
        pub start: Ns = Ns(0),
        /// Whether REQ, REP, RTU set it up and DREQ, DREP end it.
        pub cm: bool = false,
        /// Most unacknowledged packets.
        pub window: u32 = 128 => 1..=1 << 22,
        /// Most incomplete messages.
        pub depth: u32 = 64 => SOME,
        /// Most unanswered READs and atomics.
        pub max_reads: u32 = 16 => SOME,
        /// Rate limit of each requester.
        pub rate: Option<Rate> = None,
        /// DCQCN's parameters at its senders of requests and of READ data, by the name of their set; without it, they ignore
        /// notifications.
        #[serde(deserialize_with = "text::dcqcn")]
        pub dcqcn: Option<&'static Parameters> = None,
        /// Whether its ends notify of congestion.
        pub notify: bool = true,
        /// DSCP of acknowledgements, if not that of the connection.
        pub ack_dscp: Option<u8> = None => 0..=63,
        /// How it recovers from loss.
        pub recovery: Recovery = Recovery::GoBackN,
        /// How many packets may overtake a missing one before a selective responder sends a NAK.
        pub tolerate: u32 = 0,
        /// How many new packets a requester still sends after a NAK, before it goes back.
        pub nak_lag: u32 = 0,
        /// When the queue pair of `to` is gone, as that of a process that is killed: it neither sends nor answers any more.
        pub dies_at: Option<Ns> = None,
        /// Time from a NAK to the first retransmission.
        pub reaction: Ns = Ns(1_000),
        /// Local ACK timeout: 4.096 us * 2^timeout; 0: no timeout.
        pub timeout: u8 = 8 => 0..=31,
        /// Factor by which the timer runs longer: 1.0 to 16.0.
        pub timeout_factor: f64 = 1.0 => 1..=16,
        /// What is retransmitted after a timeout.
        pub timeout_resends: TimeoutResends = TimeoutResends::Rest,
        /// Timeouts without progress until the queue pair gives up.
        pub retry: u8 = 7,
        /// RNR NAKs without progress until it gives up; 7: never.
        pub rnr_retry: u8 = 7 => 0..=7,
        /// RNR timer code, 0 to 31.
        pub rnr_timer: u8 = 12 => 0..=31,
        /// Factor by which the requester waits longer than the RNR timer.
        pub rnr_factor: f64 = 1.0 => 1..=1000,
        /// Whether a packet that follows a refused one (RNR) causes a sequence NAK with the PSN of the refused one, as in
        /// Soft-RoCE.
        pub rnr_trailing_nak: bool = true,
        /// One acknowledgement answers this many packets with AckReq.
        pub ack_every: u32 = 1 => SOME,
        /// How long an acknowledgement is held back at most.
        pub ack_delay: Ns = Ns(5_000),
        /// AckReq is set in every n-th packet of a message and in the last, and at least twice per window.
        pub ack_request_every: u32 = 64 => SOME,
        /// Credit code in acknowledgements.
        pub credits: u8 = 31 => 0..=31,
        /// The first operation code of the response to a READ that was retransmitted from its middle.
        pub partial_read: PartialRead = PartialRead::Middle,
        /// MigReq bit.
        pub mig_req: bool = true,
        /// When both ends invert MigReq and change the UDP source port: path migration.
        pub migrate_at: Option<Ns> = None,
        /// The operations, in order.
        pub operations: Vec<Operation> = Vec::new(),
        /// How often the list of operations is done.
        pub repeat: u64 = 1,
    }
}

/// The operation of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// RDMA WRITE.
    Write,
    /// RDMA WRITE with immediate data.
    WriteImm,
    /// SEND.
    Send,
    /// SEND with immediate data.
    SendImm,
    /// SEND with invalidate.
    SendInv,
    /// RDMA READ.
    Read,
    /// Compare and swap.
    CompareSwap,
    /// Fetch and add.
    FetchAdd,
}

entries! {
    /// Messages of one kind.
    pub struct Operation {
        /// The operation.
        pub op: Verb,
        /// Size of each; atomics always have eight bytes.
        #[serde(default)]
        pub size: Size,
        /// How many.
        #[serde(default = "one")]
        pub count: u64,
        /// Time from one posting to the next; 0: all at once.
        #[serde(default)]
        pub every: Ns,
        /// Which end requests them.
        #[serde(default)]
        pub by: End,
    }
}

impl Operation {
    /// The packets of one message.
    pub(crate) fn segments(&self, connection: &Connection) -> Result<Segments, Unsupported> {
        let (operation, ending) = match self.op {
            Verb::Write => (Op::Write, Ending::Plain),
            Verb::WriteImm => (Op::Write, Ending::Immediate),
            Verb::Send => (Op::Send, Ending::Plain),
            Verb::SendImm => (Op::Send, Ending::Immediate),
            Verb::SendInv => (Op::Send, Ending::Invalidate),
            Verb::Read => (Op::ReadRequest, Ending::Plain),
            Verb::CompareSwap => (Op::CompareSwap, Ending::Plain),
            Verb::FetchAdd => (Op::FetchAdd, Ending::Plain),
        };
        Segments::new(connection.service, operation, ending, self.size.0, connection.mtu as u32)
    }
}

fn one() -> u64 {
    1
}

tables! {
    /// A segment of the road: its delay, and its faults in each direction.
    pub struct Segment {
        /// One-way delay.
        pub delay: Ns = Ns(0),
        /// Faults of packets going right.
        pub right: Faults = Faults::default(),
        /// Faults of packets going left.
        pub left: Faults = Faults::default(),
    }

    /// Random faults. Each is a share of packets, from 0 to 1.
    pub struct Faults {
        /// Dropped.
        pub drop: f64 = 0.0 => SHARE,
        /// One bit flipped.
        pub corrupt: f64 = 0.0 => SHARE,
        /// Trimmed by a switch: cut to the headers, instead of dropped.
        pub trim: f64 = 0.0 => SHARE,
        /// Duplicated.
        pub duplicate: f64 = 0.0 => SHARE,
        /// Marked CE, if the sender is ECN-capable.
        pub mark: f64 = 0.0 => SHARE,
        /// Delayed until `reorder_depth` later packets of the flow have passed, or by `reorder_by`.
        pub reorder: f64 = 0.0 => SHARE,
        /// How many packets overtake.
        pub reorder_depth: u32 = 0,
        /// Or by how much it is delayed.
        pub reorder_by: Option<Ns> = None,
    }
}

/// The headers that a mirror puts around a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wrap {
    /// Nothing.
    #[default]
    None,
    /// ERSPAN type II over GRE with sequence numbers.
    Erspan2,
    /// ERSPAN type III over GRE with sequence numbers.
    Erspan3,
    /// VXLAN.
    Vxlan,
}

tables! {
    /// A tap, and the faults of its mirror and its capture.
    pub struct Tap {
        /// Its name in file names.
        pub name: String = String::new(),
        /// How many segments are left of it; 0: it is at the left hosts.
        pub after: u32 = 1,
        /// The devices at the left and at the right end of its link: hosts by their names, or switches.
        pub ends: Option<[String; 2]> = None,
        /// Its link is none of the road: only its pauses pass.
        pub off_road: bool = false,
        /// Whether both ends say by LLDP who they are, when it starts.
        pub lldp: bool = false,
        /// Share of passing frames that are not recorded.
        pub loss: f64 = 0.0 => SHARE,
        /// Frames in a row that are not recorded.
        pub burst: Vec<Burst> = Vec::new(),
        /// Frames in a row that are not recorded each time that `loss` strikes.
        pub loss_frames: u32 = 1 => SOME,
        /// One frame in this many is recorded, at random.
        pub sample: u32 = 1 => SOME,
        /// Frames are written up to this much out of the order of their times, as from several queues.
        pub unsorted: Ns = Ns(0),
        /// The mirror delays each frame by up to this much. Its own sequence numbers tell the order.
        pub mirror_jitter: Ns = Ns(0),
        /// Frames go to so many queues in turn, each of which is written to the file after every `flush`.
        pub queues: u32 = 1 => SOME,
        /// See `queues`.
        pub flush: Ns = Ns(0),
        /// Each time stamp is wrong by up to this much, earlier or later. The order in the file is right.
        pub stamp_jitter: Ns = Ns(0),
        /// Frames that go left are stamped by another clock, which is ahead by this much. The file has the order of the stamps.
        pub left_ahead: Ns = Ns(0),
        /// The link is two bonded ones, which share the packets at random. The clock of the second one is ahead by this much, and the
        /// file has the order of the stamps.
        pub bond_ahead: Ns = Ns(0),
        /// Share of frames that are recorded twice.
        pub duplicate: f64 = 0.0 => SHARE,
        /// Delay of the second recording.
        pub duplicate_after: Ns = Ns(2_000),
        /// By how much the hop limit of the second recording is lower.
        pub duplicate_ttl: u8 = 0,
        /// If given, only frames that go this way are recorded.
        pub only: Option<Side> = None,
        /// If given, only this many of the parallel paths pass the tap.
        pub paths: Option<u32> = None,
        /// When recording starts.
        pub start: Ns = Ns(0),
        /// When it stops.
        pub stop: Option<Ns> = None,
        /// Most bytes that are kept of a frame; 0: all.
        pub snaplen: u32 = 0,
        /// Resolution of its clock.
        pub resolution: Ns = Ns(1) => 1.0..=LONGEST,
        /// The headers that its mirror puts around frames.
        pub wrap: Wrap = Wrap::None,
        /// Whether frames are recorded with their frame check sequence.
        pub fcs: bool = false,
        /// Whether the mirror changes bytes that the ICRC covers: then every ICRC in the capture is wrong, but right on the
        /// network.
        pub bad_icrc: bool = false,
    }
}

entries! {
    /// Frames in a row that a tap did not record.
    pub struct Burst {
        /// Before which passing frame it begins, from 1.
        pub at: u64,
        /// How many are missing.
        pub frames: u64,
    }
}

/// The fault of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The packet is dropped.
    Drop,
    /// It is marked CE.
    Mark,
    /// One bit of it is flipped.
    Corrupt,
    /// A switch trims it: cuts it to its headers.
    Trim,
    /// It is duplicated.
    Duplicate,
    /// It is delayed by `by`.
    Delay,
    /// It is delayed until the next `depth` packets of its flow have passed.
    Reorder,
    /// The responder has no receive buffer for the message.
    Rnr,
    /// The responder refuses the message with a remote access error.
    AccessError,
}

/// The packets that an event applies to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Requests.
    #[default]
    Requests,
    /// READ responses and atomic acknowledges.
    Responses,
    /// ACKs.
    Acks,
    /// Sequence NAKs, RNR NAKs and errors.
    Naks,
}

/// Before or after the first tap, on a packet's way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Where {
    /// Between its sender and the tap.
    #[default]
    Before,
    /// Between the tap and its receiver.
    After,
}

entries! {
    /// A fault of single packets, such as the n-th one of a connection.
    pub struct Event {
        /// The fault.
        #[serde(rename = "do")]
        pub action: Action,
        /// The connection's name. By default the first. `name.3` is its third copy.
        #[serde(default)]
        pub connection: String,
        /// Which end sends the packets.
        #[serde(default)]
        pub from: End,
        /// Which packets.
        #[serde(default)]
        pub of: Kind,
        /// Only the n-th of them, from 1.
        pub packet: Option<u64>,
        /// Only those with this PSN, counted from the connection's first.
        pub psn: Option<u32>,
        /// Only those with this operation code, by its name.
        pub opcode: Option<String>,
        /// Only the k-th transmission of their PSN, from 1.
        pub transmission: Option<u16>,
        /// The n-th message, from 1 (`rnr`, `access_error`).
        pub message: Option<u64>,
        /// How many packets have the fault at most.
        #[serde(default = "one")]
        pub times: u64,
        /// The segment, counted from the left from 1. By default `place` selects it.
        pub segment: Option<u32>,
        /// Before or after the first tap.
        #[serde(default, rename = "where")]
        pub place: Where,
        /// Delay (`delay`).
        #[serde(default)]
        pub by: Ns,
        /// How many packets overtake (`reorder`).
        #[serde(default = "one")]
        pub depth: u64,
    }
}

entries! {
    /// Pauses that wait for each other.
    pub struct Deadlock {
        /// Their names: the sender of each is stopped by the next one, that of the last one by the first.
        pub pauses: Vec<String>,
    }
}

entries! {
    /// A pause that one end of the tapped link holds.
    pub struct Pause {
        /// Its name for other pauses.
        #[serde(default)]
        pub name: String,
        /// The name of the tap on its link. By default the first.
        #[serde(default)]
        pub tap: String,
        /// The name of the pause that causes it, before it in the file. Then `at` counts from the beginning of that one.
        #[serde(default)]
        pub cause: String,
        /// Which end sends the frames.
        pub from: Side,
        /// The paused priority. Without it, frames are IEEE 802.3 PAUSE, which stops all.
        pub priority: Option<u8> => 0..=7,
        /// When it begins.
        pub at: Ns,
        /// How long it is held.
        pub hold: Ns,
        /// Quanta of each frame.
        #[serde(default = "most_quanta")]
        pub quanta: u16 => 1..=u16::MAX,
        /// Time between frames. By default half of the pause time of a frame.
        pub refresh: Option<Ns> => 1.0..=LONGEST,
        /// Whether a frame with zero quanta ends it. Otherwise it expires.
        #[serde(default = "yes")]
        pub xon: bool,
        /// The hosts that stop sending this priority.
        #[serde(default)]
        pub stops: Vec<String>,
    }
}

fn most_quanta() -> u16 {
    u16::MAX
}

fn yes() -> bool {
    true
}

/// How packets are spread over parallel paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Spread {
    /// By a hash of addresses and ports.
    #[default]
    Port,
    /// Each packet at random.
    Packet,
    /// By what is left of the UDP source port, divided by their number.
    Remainder,
}

tables! {
    /// Parallel paths.
    pub struct Paths {
        /// How many.
        pub count: u32 = 1 => 1..=255,
        /// How packets are spread.
        pub by: Spread = Spread::Port,
        /// How much more delay each path has than the one before, in a packet's first segment.
        pub skew: Ns = Ns(0),
        /// One path that is worse than the others, for data going right; counted from 0.
        pub bad: Option<u32> = None,
        /// In which segment it is worse, counted from the left from 1.
        pub bad_segment: u32 = 1 => SOME,
        /// From when on.
        pub bad_from: Ns = Ns(0),
        /// Share of packets that it drops.
        pub bad_drop: f64 = 0.0 => SHARE,
        /// Share of packets that it marks CE.
        pub bad_mark: f64 = 0.0 => SHARE,
        /// Share of packets that it trims.
        pub bad_trim: f64 = 0.0 => SHARE,
        /// How much more delay it has.
        pub bad_delay: Ns = Ns(0),
    }
}

tables! {
    /// What switches make of packets that they trim.
    pub struct Trimming {
        /// Bytes that they leave of a frame, without frame check sequence, at least up to the BTH. Shorter ones are dropped.
        pub bytes: u32 = 128 => 54..=4096,
        /// The DSCP that they set.
        pub dscp: u8 = 0 => 0..=63,
        /// The lengths that they write anew: "ip", "none", "all".
        #[serde(deserialize_with = "text::lengths")]
        pub lengths: Lengths = Lengths::Ip,
        /// By how much a trimmed packet, which is in a class of its own, comes before what was sent with it.
        pub ahead: Ns = Ns(0),
        /// Whether receivers ask for what was trimmed at once, with a sequence NAK.
        pub nak: bool = false,
    }
}

/// What shares one limit of congestion notifications.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// Each queue pair has its own.
    #[default]
    PerQp,
    /// Each pair of addresses has its own.
    PerIpPair,
    /// The whole port has one.
    PerPort,
}

tables! {
    /// Congestion notification by receivers of marked packets.
    pub struct Cnp {
        /// Whether receivers send them.
        pub enabled: bool = true,
        /// What shares one limit.
        pub pacing: Pacing = Pacing::PerQp,
        /// Least time between two notifications.
        pub interval: Ns = Ns(50_000),
        /// DSCP of the notifications.
        pub dscp: u8 = 48,
        /// Their priority code point, if not that of the connection.
        pub pcp: Option<u8> = None,
        /// Whether they have the BECN bit.
        pub becn: bool = true,
        /// Whether one also goes with each sequence NAK.
        pub on_nak: bool = false,
    }
}
