//! Collectives as NCCL's InfiniBand transport makes them, at every host, and the truth about each request and operation.
//!
//! Ranks are hosts around one switch, with an adapter for each rail. Each connection is one direction of one channel: its receiver WRITEs
//! clear-to-send elements, its sender WRITEs the data there, and WRITEs with immediate data end it. What a rank sends waits for what it must
//! have received, so that one who is late makes others late, as in a real job. Each host has a tap.
//!
//! What a fault costs is measured: the same scenario is played without it, and the operations compared.
//!
//! ```
//! use rdmawire::sim::collective::{Collective, play};
//! let scenario = Collective::parse(r#"
//!     kind = "collective"
//!     operations = 3
//!     [[fault]]
//!     what = "late_rank"
//!     rank = 2
//!     operation = 1
//!     by = "1ms"
//! "#).unwrap();
//! let played = play(&scenario).unwrap();
//! assert_eq!(played.truth.operations[1].straggler, Some(2));
//! ```

mod frames;
mod play;
mod topology;
mod truth;

use serde::Deserialize;

use super::{
    Error, Ns, Rate, Size,
    check::{Bounds, Checked, LATEST},
    text,
};

pub use super::Made;
pub use play::{Played, play};
pub use truth::{TrueConnection, TrueOperation, TrueRequest, Truth};

tables! {
    /// A job of ranks that do the same collective operation again and again.
    pub struct Collective {
        /// `"collective"`: that tells it from other scenarios.
        pub kind: String = String::from("collective"),
        /// What it shows.
        pub title: String = String::new(),
        /// Seed of everything random.
        pub seed: u64 = 1,
        /// When it begins, as a duration since 1970-01-01 UTC.
        pub begin: Ns = Ns(1_767_225_600_000_000_000) => 0.0..=LATEST,
        /// Speed of the hosts' links.
        pub rate: Rate = Rate(100_000_000_000),
        /// From a host to the switch, one way.
        pub delay: Ns = Ns(1_000),
        /// Path MTU.
        pub mtu: u16 = 4096 => 256..=4096,
        /// Ranks: one for each host.
        pub ranks: u32 = 4 => 2..=64,
        /// Adapters of each host. A channel uses the one that its number gives.
        pub rails: u32 = 1 => 1..=8,
        /// Channels.
        pub channels: u32 = 1 => 1..=32,
        /// Who sends to whom.
        pub algorithm: Algorithm = Algorithm::Ring,
        /// Bytes of a rank's buffer.
        pub size: Size = Size(1 << 20) => 1..=1 << 30,
        /// Bytes of a request, at most.
        pub chunk: Size = Size(128 << 10) => 1..=1 << 30,
        /// How often the operation is done.
        pub operations: u32 = 4 => 0..=10_000,
        /// What a rank does between two operations takes so long.
        pub compute: Ns = Ns(1_000_000),
        /// Queue pairs of a connection.
        pub queue_pairs: u32 = 1 => 1..=16,
        /// Whether a request is divided over all of these; else requests take them in turn.
        pub split: bool = true,
        /// NCCL's version: the layout of the elements, the slots of the FIFO, and the byte order of the immediate data.
        pub version: Version = Version::V2_24,
        /// The byte order of the immediate data, if not the version's.
        pub immediate: Option<Order> = None,
        /// Whether a WRITE of no bytes ends each request, as with adaptive routing.
        pub closing: bool = false,
        /// How many requests a receiver asks for ahead.
        pub ahead: u32 = 2 => 1..=8,
        /// What a receiver does with each request takes so long.
        pub work: Ns = Ns(2_000),
        /// Time until a sender sends again what nobody acknowledged.
        pub timeout: Ns = Ns(1_000_000),
        /// Time that the capture goes on after the end.
        pub tail: Ns = Ns(0),
        /// Bytes kept of a frame; 0: all.
        pub snaplen: u32 = 0,
        /// Hosts that have a tap, by their ranks; all where there is none.
        pub taps: Vec<u32> = Vec::new() => 0..=64,
        /// The frames that a tap records, where it does not record all.
        pub only: Option<Only> = None,
        /// Other traffic, between the first two ranks.
        pub decoys: Vec<Decoy> = Vec::new() => 0..=16,
        /// What goes wrong.
        pub fault: Vec<Fault> = Vec::new() => 0..=16,
    }
}

entries! {
    /// What goes wrong.
    pub struct Fault {
        /// The kind.
        pub what: Trouble,
        /// The rank that is late or slow, or that sends.
        #[serde(default)]
        pub rank: u32,
        /// Of a path: the rank that receives; by default the next one.
        #[serde(default)]
        pub to: Option<u32>,
        /// The rail; by default all.
        #[serde(default)]
        pub rail: Option<u32>,
        /// The operation, from 0; by default all.
        #[serde(default)]
        pub operation: Option<u32>,
        /// How late, how much longer for each request, how long a pause holds.
        #[serde(default)]
        pub by: Ns,
        /// When a pause begins, from when its host begins the operation.
        #[serde(default)]
        pub at: Ns,
        /// How many times slower.
        #[serde(default = "twice")]
        pub factor: f64 => 1..=1000,
        /// The share of packets that are lost.
        #[serde(default)]
        pub share: f64 => super::SHARE,
        /// The request of the operation from which on nothing is sent.
        #[serde(default)]
        pub request: u32,
    }
}

fn twice() -> f64 {
    2.0
}

/// Words of a scenario.
macro_rules! choices {
    ($($(#[$on:meta])* pub enum $name:ident { $($(#[$meta:meta])* $variant:ident,)* })*) => {$(
        $(#[$on])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$meta])* $variant,)* }

        impl Checked for $name {}
    )*};
}

choices! {
    /// Who sends to whom.
    pub enum Algorithm {
        /// All-reduce in a ring: each rank to the next one, in twice as many steps as there are others.
        Ring,
        /// All-reduce in a binary tree: up to the first rank, and down again.
        Tree,
        /// Each rank sends a part of its buffer to each other one.
        AllToAll,
        /// Ranks exchange their buffers in pairs.
        Pairs,
    }

    /// NCCL's versions by what is on the wire.
    pub enum Version {
        /// 2.8 to 2.11.
        #[serde(rename = "2.8")]
        V2_8,
        /// 2.12 to 2.19.
        #[serde(rename = "2.12")]
        V2_12,
        /// 2.20 to 2.23, and RCCL.
        #[serde(rename = "2.20")]
        V2_20,
        /// 2.24 to 2.28.
        #[serde(rename = "2.24")]
        V2_24,
        /// 2.29.
        #[serde(rename = "2.29")]
        V2_29,
        /// 2.30.
        #[serde(rename = "2.30")]
        V2_30,
        /// The transport of nccl-rdma-sharp-plugins.
        Plugin,
    }

    /// The byte order of the immediate data.
    pub enum Order {
        /// The least byte first.
        Little,
        /// The network's.
        Big,
    }

    /// The frames of a tap, by its host.
    pub enum Only {
        /// Those that its host sends.
        Sent,
        /// Those that its host receives.
        Received,
    }

    /// Other users of WRITE with immediate data, and of one-sided operations.
    pub enum Decoy {
        /// WRITEs of one size with immediate data that counts, as perftest makes them.
        Perftest,
        /// A command, data and a response, as storage has them.
        Storage,
        /// WRITEs that are followed by a FETCH_ADD, as NCCL's GIN has them.
        Gin,
    }

    /// Kinds of faults.
    pub enum Trouble {
        /// A rank begins the operation later.
        LateRank,
        /// A rank takes longer for each request that it receives.
        SlowReceiver,
        /// An adapter sends and receives slower.
        SlowNic,
        /// All adapters of a rail are slower.
        SlowRail,
        /// A path through the network is slower.
        SlowPath,
        /// A path loses packets.
        LossyPath,
        /// The switch stops an adapter.
        PausedLink,
        /// A rank sends nothing any more.
        Hang,
    }
}

impl Collective {
    /// Whether a scenario is of this kind.
    pub fn is(text: &str) -> bool {
        super::text::kind_of(text).as_deref() == Some("collective")
    }

    /// Reads a scenario.
    ///
    /// # Errors
    /// The line where the text is not TOML or not as in [`super::SCHEMA`], and what was expected there; a value that cannot be.
    pub fn parse(text: &str) -> Result<Collective, Error> {
        let scenario: Collective = text::parse(text)?;
        scenario.check(format_args!(""), None)?;
        scenario.check_ranks()?;
        Ok(scenario)
    }

    fn check_ranks(&self) -> Result<(), Error> {
        if self.kind != "collective" {
            return Err(Error::new(format!("kind = {:?}: expected \"collective\"", self.kind)));
        }
        if !crate::message::is_path_mtu(self.mtu.into()) {
            return Err(Error::new("mtu: expected 256, 512, 1024, 2048 or 4096"));
        }
        let of_faults = self.fault.iter().flat_map(|fault| [Some(fault.rank), fault.to]).flatten();
        if let Some(rank) = of_faults.chain(self.taps.iter().copied()).find(|&rank| rank >= self.ranks) {
            return Err(Error::new(format!("rank {rank}: expected 0 to {}", self.ranks - 1)));
        }
        match self.fault.iter().filter_map(|fault| fault.rail).find(|&rail| rail >= self.rails) {
            Some(rail) => Err(Error::new(format!("rail {rail}: expected 0 to {}", self.rails - 1))),
            None => Ok(()),
        }
    }

    /// The byte order of the immediate data.
    pub fn order(&self) -> Order {
        let of_version = match self.version {
            Version::V2_29 | Version::V2_30 => Order::Big,
            _ => Order::Little,
        };
        self.immediate.unwrap_or(of_version)
    }

    /// Ranks that have a tap.
    pub fn tapped(&self) -> Vec<u32> {
        match self.taps.is_empty() {
            true => (0..self.ranks).collect(),
            false => self.taps.clone(),
        }
    }
}

impl Version {
    /// Slots of the FIFO, and the bytes of an element.
    fn fifo(self) -> (u64, u64) {
        match self {
            Version::V2_8 => (8, 32),
            Version::V2_12 => (64, 32),
            Version::V2_20 | Version::V2_24 | Version::V2_29 => (256, 64),
            Version::V2_30 => (256, 48),
            Version::Plugin => (64, 64),
        }
    }

    /// Bytes from one slot to the next.
    fn stride(self) -> u64 {
        match self {
            Version::V2_8 => 32,
            _ => self.fifo().1 * 8,
        }
    }
}
