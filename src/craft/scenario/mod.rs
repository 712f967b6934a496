//! Scenarios: hosts, connections, operations and faults -> a capture, and what an analysis of it must say.
//!
//! A discrete-event simulator. Requesters and responders follow the InfiniBand rules as Linux's Soft-RoCE does
//! (IBTA vol. 1, 9.7; drivers/infiniband/sw/rxe/rxe_{req,resp,comp}.c); the network drops, delays, repeats, marks
//! and damages what it is told to; taps record what passes them. Everything random comes from the seed, so a
//! scenario is its capture. Labels come from what the simulated sender, network and tap did, never from reading
//! the capture: see [`label`].
//!
//! Hosts stand left or right of one road, which has segments and, between them, taps:
//!
//! ```text
//! left hosts --- segment 1 --- tap (after = 1) --- segment 2 --- right hosts
//! ```
//!
//! ```
//! # #[cfg(feature = "scenario")] {
//! use rdmawire::craft::scenario::{Scenario, run};
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
//! # }
//! ```

pub mod accuracy;
pub mod expect;
pub mod label;

mod check;
mod engine;
mod manage;
mod network;
mod qp;
mod render;
mod requester;
mod responder;
mod rng;
mod text;

use std::net::IpAddr;

use serde::Deserialize;

pub use engine::{Capture, Cause, Flow, Message, Run, Sighting, Transmission, run};
pub use render::{Frame, Frames};
pub use text::{Error, Ns, Rate, Size, UdpPort};

/// The schema of scenario files, in words: what `rdmawire explain scenario` prints.
pub const SCHEMA: &str = include_str!("schema.txt");

/// Everything that happens. All fields have defaults: two hosts, a 100G link, a tap in its middle, nothing going wrong.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scenario {
    /// What the scenario shows, for people.
    pub title: String,
    /// Seed of everything random.
    pub seed: u64,
    /// Time of day at which it begins, as a duration since 1970-01-01 UTC.
    pub begin: Ns,
    /// Stop the world at this time from the beginning; otherwise it runs until nothing is left to do.
    pub stop: Option<Ns>,
    /// More transmissions than this are an error.
    pub limit: u32,
    /// Speed of every host's link, and of the link that PAUSE and PFC frames count their quanta by.
    pub rate: Rate,
    /// The hosts; none stands for two, `a` left and `b` right.
    pub host: Vec<Host>,
    /// The connections.
    pub connection: Vec<Connection>,
    /// The road from left to right; none stands for two segments.
    pub segment: Vec<Segment>,
    /// The taps; none stands for one after the first segment.
    pub tap: Vec<Tap>,
    /// Faults aimed at single packets, and what receivers do wrong.
    pub event: Vec<Event>,
    /// PAUSE and PFC.
    pub pause: Vec<Pause>,
    /// Parallel paths.
    pub paths: Paths,
    /// Congestion notification.
    pub cnp: Cnp,
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

/// A host with one port.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Its name in the rest of the scenario.
    pub name: String,
    /// Its address: IPv4, or IPv6 (its GID for RoCE v1 and InfiniBand).
    pub address: IpAddr,
    /// Its Ethernet address; made from its position in the list where not given.
    pub mac: Option<String>,
    /// Its local identifier (native InfiniBand); its position in the list from 1 where not given.
    pub lid: Option<u16>,
    /// Where it stands; the first host left, all others right where not given.
    pub side: Option<Side>,
    /// Its link's speed, if not the scenario's.
    pub rate: Option<Rate>,
}

/// A transport service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Service {
    /// Reliable connection.
    #[default]
    Rc,
    /// Unreliable connection.
    Uc,
    /// Unreliable datagram.
    Ud,
}

/// What carries the packets.
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

/// How a requester recovers, and what its responder makes of packets out of order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// Everything from the missing packet on is sent again; the responder takes packets in order only.
    #[default]
    GoBackN,
    /// Only what is missing is sent again; the responder keeps what came early.
    Selective,
}

/// Whether the IPv4 identification tells transmissions apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IpId {
    /// Each transmission has the host's next number, as Soft-RoCE does.
    #[default]
    Fresh,
    /// Always zero, as some adapters do with DF set.
    Constant,
}

/// With which opcode the answer to a READ re-issued from its middle begins.
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

/// Two queue pairs that talk to each other. See `schema.txt` for the defaults.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Connection {
    /// Its name in events.
    pub name: String,
    /// The active host; the first where not given.
    pub from: String,
    /// The passive host; the second where not given.
    pub to: String,
    /// Further hosts that the datagrams of a UD queue pair go to in turn.
    pub also_to: Vec<String>,
    /// That many connections of this kind, their queue pairs numbered on.
    pub copies: u32,
    /// Transport service.
    pub service: Service,
    /// Queue pair numbers of `from` and `to`; numbered from 0x11 on where not given.
    pub qp: Option<[u32; 2]>,
    /// First PSN of either's requests; random where not given.
    pub psn: Option<[u32; 2]>,
    /// Path MTU: 256, 512, 1024, 2048 or 4096 bytes.
    pub mtu: u16,
    /// What carries the packets.
    pub encapsulation: Encapsulation,
    /// VLAN identifier, for a tagged frame.
    pub vlan: Option<u16>,
    /// Priority code point of the tag.
    pub pcp: u8,
    /// DSCP; shifted by three it is the priority that PFC pauses.
    pub dscp: u8,
    /// Whether senders set ECT(0).
    pub ecn: bool,
    /// Hop limit at the sender.
    pub ttl: u8,
    /// UDP source ports.
    pub udp_port: UdpPort,
    /// IPv4 identification.
    pub ip_id: IpId,
    /// When it begins.
    pub start: Ns,
    /// Whether REQ, REP, RTU go before it and DREQ, DREP after.
    pub cm: bool,
    /// Packets that may be unacknowledged at a time.
    pub window: u32,
    /// Messages that may be incomplete at a time.
    pub depth: u32,
    /// READs and atomics that may be unanswered at a time.
    pub max_reads: u32,
    /// Rate limit of each requester.
    pub rate: Option<Rate>,
    /// How losses are repaired.
    pub recovery: Recovery,
    /// Packets out of order that a selective responder takes before it says what is missing.
    pub tolerate: u32,
    /// Further new packets that a requester sends after a NAK before it goes back.
    pub nak_lag: u32,
    /// Time from a NAK to the first packet sent again.
    pub reaction: Ns,
    /// Local ACK timeout: 4.096 us times two to this; 0 is none.
    pub timeout: u8,
    /// How much longer than that the timer takes: 1.0 to 4.0.
    pub timeout_factor: f64,
    /// Timeouts without progress before the queue pair gives up.
    pub retry: u8,
    /// RNR NAKs without progress before it gives up; 7 is without end.
    pub rnr_retry: u8,
    /// RNR timer code, 0 to 31.
    pub rnr_timer: u8,
    /// How much longer than asked the requester waits.
    pub rnr_factor: f64,
    /// Whether a packet behind one refused for RNR draws a sequence NAK of the same PSN, as in Soft-RoCE.
    pub rnr_trailing_nak: bool,
    /// One acknowledgement for that many requests that ask for one.
    pub ack_every: u32,
    /// How long an acknowledgement that is held back waits.
    pub ack_delay: Ns,
    /// AckReq on every n-th packet within a message, besides the last; never more than half a window.
    pub ack_request_every: u32,
    /// Credit code in acknowledgements.
    pub credits: u8,
    /// How READs re-issued from the middle are answered.
    pub partial_read: PartialRead,
    /// MigReq bit.
    pub mig_req: bool,
    /// When both ends turn MigReq over and take another UDP source port: path migration.
    pub migrate_at: Option<Ns>,
    /// What is done, in order.
    pub operations: Vec<Operation>,
    /// How often the list is gone through.
    pub repeat: u64,
}

/// What a message does.
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

/// Messages of one kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// What they do.
    pub op: Verb,
    /// Bytes each; atomics always move eight.
    #[serde(default)]
    pub size: Size,
    /// How many.
    #[serde(default = "one")]
    pub count: u64,
    /// Time between the posting of one and of the next; at once where 0.
    #[serde(default)]
    pub every: Ns,
    /// Whose requests they are.
    #[serde(default)]
    pub by: End,
}

fn one() -> u64 {
    1
}

/// A stretch of road: its delay, and what befalls packets on it in either direction.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Segment {
    /// One way.
    pub delay: Ns,
    /// Faults of packets going right.
    pub right: Faults,
    /// Faults of packets going left.
    pub left: Faults,
}

/// Random faults, each the share of packets it befalls.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// Dropped.
    pub drop: f64,
    /// One bit flipped.
    pub corrupt: f64,
    /// Sent on twice.
    pub duplicate: f64,
    /// Marked CE, where the sender is ECN-capable.
    pub mark: f64,
    /// Held back until `reorder_depth` later packets of the flow have passed, or by `reorder_by`.
    pub reorder: f64,
    /// How many packets overtake.
    pub reorder_depth: u32,
    /// Or how much later it comes.
    pub reorder_by: Option<Ns>,
}

/// What a mirror wraps around a frame.
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

/// A tap, and what its mirror and its capture do to the record.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tap {
    /// Its name in file names.
    pub name: String,
    /// Segments left of it: 0 is at the left hosts.
    pub after: u32,
    /// Share of passing frames that are not recorded.
    pub loss: f64,
    /// Bursts of frames that are not recorded.
    pub burst: Vec<Burst>,
    /// Share of frames that are recorded twice.
    pub duplicate: f64,
    /// How much later the second time.
    pub duplicate_after: Ns,
    /// What the second copy's hop limit has lost.
    pub duplicate_ttl: u8,
    /// Only frames that go this way are recorded.
    pub only: Option<Side>,
    /// Only the first n of the parallel paths pass the tap.
    pub paths: Option<u32>,
    /// When recording starts.
    pub start: Ns,
    /// When it stops.
    pub stop: Option<Ns>,
    /// Bytes kept of a frame; all where 0.
    pub snaplen: u32,
    /// Resolution of its clock.
    pub resolution: Ns,
    /// What its mirror wraps around the frames.
    pub wrap: Wrap,
    /// Whether frames are recorded with their frame check sequence.
    pub fcs: bool,
    /// Whether the mirror rewrites something that the ICRC covers: every frame's ICRC is wrong in the capture, and
    /// only there.
    pub bad_icrc: bool,
}

/// Frames in a row that a tap did not record.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Burst {
    /// Before which passing frame it begins, from 1.
    pub at: u64,
    /// How many are missing.
    pub frames: u64,
}

/// What an event does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The packet is dropped.
    Drop,
    /// It is marked CE.
    Mark,
    /// One of its bits is flipped.
    Corrupt,
    /// It goes on twice.
    Duplicate,
    /// It comes `by` later.
    Delay,
    /// It comes after the next `depth` packets of its flow.
    Reorder,
    /// The responder has no receive buffer for the message.
    Rnr,
    /// The responder refuses the message with a remote access error.
    AccessError,
}

/// Which packets an event means.
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

/// Which side of the (first) tap, as the packet travels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Where {
    /// Between its sender and the tap.
    #[default]
    Before,
    /// Between the tap and its receiver.
    After,
}

/// A fault aimed at single packets: the n-th packet of the m-th queue pair, and the like.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// What happens.
    #[serde(rename = "do")]
    pub action: Action,
    /// To which connection, by name; the first where not given. `name.3` is its third copy.
    #[serde(default)]
    pub connection: String,
    /// To packets sent by which end.
    #[serde(default)]
    pub from: End,
    /// To which packets.
    #[serde(default)]
    pub of: Kind,
    /// The n-th such transmission, from 1.
    pub packet: Option<u64>,
    /// Those of this PSN, counted from the connection's first.
    pub psn: Option<u32>,
    /// Those of this opcode, by its name.
    pub opcode: Option<String>,
    /// The k-th transmission of their PSN, from 1.
    pub transmission: Option<u16>,
    /// The n-th message, from 1 (`rnr`, `access_error`).
    pub message: Option<u64>,
    /// How many packets it befalls at most.
    #[serde(default = "one")]
    pub times: u64,
    /// On which segment, counted from the left from 1; `where` otherwise.
    pub segment: Option<u32>,
    /// On which side of the first tap.
    #[serde(default, rename = "where")]
    pub place: Where,
    /// How much later (`delay`).
    #[serde(default)]
    pub by: Ns,
    /// How many packets overtake (`reorder`).
    #[serde(default = "one")]
    pub depth: u64,
}

/// A pause held from one end of the tapped link.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// Which end sends the frames.
    pub from: Side,
    /// Of which priority; of all (IEEE 802.3 PAUSE) where not given.
    pub priority: Option<u8>,
    /// When it begins.
    pub at: Ns,
    /// How long it is held.
    pub hold: Ns,
    /// Quanta of each frame.
    #[serde(default = "most_quanta")]
    pub quanta: u16,
    /// Time from frame to frame; half the time that the quanta last where not given.
    pub refresh: Option<Ns>,
    /// Whether a frame with zero quanta ends it; otherwise it expires.
    #[serde(default = "yes")]
    pub xon: bool,
    /// Which hosts stop sending this priority.
    #[serde(default)]
    pub stops: Vec<String>,
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
    /// By their addresses and ports.
    #[default]
    Port,
    /// Each for itself, at random.
    Packet,
}

/// Parallel paths.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Paths {
    /// How many.
    pub count: u32,
    /// How packets are spread.
    pub by: Spread,
    /// How much longer each is than the one before, in the packet's first segment.
    pub skew: Ns,
}

/// Across what congestion notifications are paced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// Queue pair by queue pair.
    #[default]
    PerQp,
    /// Pair of addresses by pair of addresses.
    PerIpPair,
    /// Over the whole port.
    PerPort,
}

/// Congestion notification by receivers of marked packets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cnp {
    /// Whether there is any.
    pub enabled: bool,
    /// Across what they are paced.
    pub pacing: Pacing,
    /// Least time between two.
    pub interval: Ns,
    /// DSCP of the notifications.
    pub dscp: u8,
    /// Whether a sequence NAK is accompanied by one, marked or not.
    pub on_nak: bool,
}

impl Default for Scenario {
    fn default() -> Self {
        Scenario {
            title: String::new(),
            seed: 1,
            begin: Ns(1_767_225_600_000_000_000),
            stop: None,
            limit: 4_000_000,
            rate: Rate(100_000_000_000),
            host: Vec::new(),
            connection: Vec::new(),
            segment: Vec::new(),
            tap: Vec::new(),
            event: Vec::new(),
            pause: Vec::new(),
            paths: Paths::default(),
            cnp: Cnp::default(),
        }
    }
}

impl Default for Connection {
    fn default() -> Self {
        Connection {
            name: String::new(),
            from: String::new(),
            to: String::new(),
            also_to: Vec::new(),
            copies: 1,
            service: Service::Rc,
            qp: None,
            psn: None,
            mtu: 1024,
            encapsulation: Encapsulation::Rocev2,
            vlan: None,
            pcp: 3,
            dscp: 26,
            ecn: true,
            ttl: 64,
            udp_port: UdpPort::Linux,
            ip_id: IpId::Fresh,
            start: Ns(0),
            cm: false,
            window: 128,
            depth: 64,
            max_reads: 16,
            rate: None,
            recovery: Recovery::GoBackN,
            tolerate: 0,
            nak_lag: 0,
            reaction: Ns(1_000),
            timeout: 8,
            timeout_factor: 1.0,
            retry: 7,
            rnr_retry: 7,
            rnr_timer: 12,
            rnr_factor: 1.0,
            rnr_trailing_nak: true,
            ack_every: 1,
            ack_delay: Ns(5_000),
            ack_request_every: 64,
            credits: 31,
            partial_read: PartialRead::Middle,
            mig_req: true,
            migrate_at: None,
            operations: Vec::new(),
            repeat: 1,
        }
    }
}

impl Default for Tap {
    fn default() -> Self {
        Tap {
            name: String::new(),
            after: 1,
            loss: 0.0,
            burst: Vec::new(),
            duplicate: 0.0,
            duplicate_after: Ns(2_000),
            duplicate_ttl: 0,
            only: None,
            paths: None,
            start: Ns(0),
            stop: None,
            snaplen: 0,
            resolution: Ns(1),
            wrap: Wrap::None,
            fcs: false,
            bad_icrc: false,
        }
    }
}

impl Default for Paths {
    fn default() -> Self {
        Paths { count: 1, by: Spread::Port, skew: Ns(0) }
    }
}

impl Default for Cnp {
    fn default() -> Self {
        Cnp { enabled: true, pacing: Pacing::PerQp, interval: Ns(50_000), dscp: 48, on_nak: false }
    }
}
