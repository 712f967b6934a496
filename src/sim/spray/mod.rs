//! Scenarios of transports that spray packets over paths and acknowledge them selectively: contexts of Ultra Ethernet, and connections of MRC, the
//! Multipath Reliable Connection.
//!
//! Senders around a network each have one context to a receiver. Packets are lost, trimmed, marked, refused or overtaken by chance, on all paths or on some. A
//! sender sends again what is NACKed, what SACKs show missing, and, at the end, what nobody answers. A sender of MRC leaves paths that its receiver, or three losses
//! in a row, say are bad. One tap is before the network or behind it.
//!
//! ```
//! use rdmawire::sim::spray::{Spray, play};
//! let played = play(&Spray::parse("kind = \"uet\"\nloss = 0.01").unwrap()).unwrap();
//! assert_eq!(played.truth.contexts[0].state, "closed");
//! ```

mod mrc;
mod play;
mod uet;

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv6Addr},
};

use serde::{Deserialize, Serialize};

use super::{
    Error, Made, Ns, Rate, SHARE, Size,
    check::{Bounds, Checked, LATEST},
    text,
};
use crate::{
    capture::Interface,
    craft::{Lengths, Spray as Paths, Trim},
    dissect::Link,
};

pub use play::play;

tables! {
    /// Senders with contexts.
    pub struct Spray {
        /// The transport. That tells it from other scenarios.
        pub kind: Kind = Kind::Uet,
        /// How Ultra Ethernet delivers requests: in any order (`rud`), ordered (`rod`), idempotent ones without a context (`rudi`), or each of them
        /// once, whatever becomes of it (`uud`).
        pub mode: Mode = Mode::Rud,
        /// What it shows.
        pub title: String = String::new(),
        /// Seed of everything random.
        pub seed: u64 = 1,
        /// When it begins, as a duration since 1970-01-01 UTC.
        pub begin: Ns = Ns(1_767_225_600_000_000_000) => 0.0..=LATEST,
        /// Speed of the senders' links.
        pub rate: Rate = Rate(100_000_000_000),
        /// Through the network, one way.
        pub delay: Ns = Ns(2_000),
        /// Contexts: each has a sender of its own.
        pub contexts: u32 = 2 => 1..=64,
        /// Receivers, which contexts take in turn. One is incast.
        pub receivers: u32 = 1 => 1..=64,
        /// Messages of each context.
        pub messages: u32 = 8 => 1..=100_000,
        /// Bytes of a message.
        pub size: Size = Size(64 << 10) => 1..=1 << 30,
        /// Bytes of payload of a packet.
        pub mtu: u16 = 4096 => 64..=8192,
        /// Packets that a sender has on their way at most.
        pub window: u32 = 32 => 1..=64,
        /// Paths, by UDP source port, which packets take in turn.
        pub paths: u16 = 8 => 1..=1024,
        /// Paths with troubles of their own.
        pub path: Vec<BadPath> = Vec::new() => 0..=1024,
        /// Hosts have IPv6, and paths differ in the flow label too: MRC's structured entropy values.
        pub ipv6: bool = false,
        /// Paths of MRC differ in the segments of an IPv6 header around their packets, and in nothing else. Switches mark that header.
        pub srv6: bool = false,
        /// Where the tap is.
        pub tap: Tap = Tap::Receiver,
        /// Packets that are lost, behind a tap at the senders and before one at the receivers. The first of a context meets nothing of this.
        pub loss: f64 = 0.0 => SHARE,
        /// Packets that a switch trims.
        pub trim: f64 = 0.0 => SHARE,
        /// Bytes of a trimmed frame.
        pub trim_bytes: u32 = 128 => 110..=1024,
        /// The lengths that a switch writes anew in what it trims of MRC; of Ultra Ethernet, all.
        #[serde(deserialize_with = "text::lengths")]
        pub trim_lengths: Lengths = Lengths::All,
        /// Whether that is the last switch.
        pub last_hop: bool = true,
        /// Packets that others overtake.
        pub late: f64 = 0.0 => SHARE,
        /// How late these are.
        pub late_by: Ns = Ns(3_000),
        /// Packets that are marked.
        pub ce: f64 = 0.0 => SHARE,
        /// Packets that the receiver refuses: it has no buffer.
        pub refuse: f64 = 0.0 => SHARE,
        /// Messages that fail: their memory key is wrong.
        pub fail: f64 = 0.0 => SHARE,
        /// SACKs that show a packet missing before it is sent again.
        pub patience: u32 = 3 => 1..=1000,
        /// Packets of MRC have time stamps, which SACKs echo.
        pub timestamps: bool = true,
        /// Senders of MRC leave paths that their receivers ask them to skip.
        pub heeds_skip: bool = true,
        /// Time until a sender sends again what nobody answers.
        pub timeout: Ns = Ns(100_000) => 1_000..=1_000_000_000,
        /// Bytes kept of a frame; 0: all.
        pub snaplen: u32 = 0,
    }

    /// A path with troubles of its own, beside those of all.
    pub struct BadPath {
        /// Which: from 0.
        pub number: u32 = 0 => 0..=1023,
        /// Packets that are lost on it.
        pub loss: f64 = 0.0 => SHARE,
        /// Packets that are trimmed on it.
        pub trim: f64 = 0.0 => SHARE,
        /// Packets that are marked on it.
        pub ce: f64 = 0.0 => SHARE,
        /// It takes so much longer.
        pub delay: Ns = Ns(0),
        /// It carries nothing any more from then on.
        pub dead_at: Option<Ns> = None,
    }
}

/// A transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Ultra Ethernet.
    Uet,
    /// The Multipath Reliable Connection.
    Mrc,
}

impl Checked for Kind {}

/// How Ultra Ethernet delivers requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Reliable, in any order, over all paths.
    Rud,
    /// Reliable and ordered, on one path of each context. Receivers refuse what is out of order, and senders go back to what is missing.
    Rod,
    /// Reliable, without a context: each request has a number and a response.
    Rudi,
    /// Unreliable, without a context or an answer.
    Uud,
}

impl Checked for Mode {}

/// Where the tap is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tap {
    /// At the senders, before the network: nothing has been lost there.
    Sender,
    /// At the receivers, behind the network.
    Receiver,
}

impl Checked for Tap {}

/// What is true of a scenario.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Truth {
    /// What this is: `rdmawire.spray-truth/1`.
    pub schema: &'static str,
    /// The contexts.
    pub contexts: Vec<TrueContext>,
}

/// A context, as the tables `uet` and `mrc` have it at this tap, and what became of its packets.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TrueContext {
    /// The sender.
    pub src: String,
    /// The receiver.
    pub dst: String,
    /// The sender's number, where there is a context.
    pub spdcid: u16,
    /// The receiver's number, likewise.
    pub dpdcid: u16,
    /// How far it came; without a context, `done`.
    pub state: &'static str,
    /// Requests at the tap.
    pub packets: u64,
    /// Those that say that they are retransmissions.
    pub retransmits: u64,
    /// Those that were trimmed before.
    pub trimmed: u64,
    /// Those that were marked before.
    pub ce_packets: u64,
    /// Acknowledgements at the tap, that of the end included, or responses.
    pub acks: u64,
    /// Those that tell of a mark.
    pub marked_acks: u64,
    /// PSNs that SACKs showed missing below one that had arrived.
    pub sacked_missing: u64,
    /// NACKs by code.
    pub nacks: BTreeMap<u8, u64>,
    /// Responses by return code, but for those that say nothing.
    pub return_codes: BTreeMap<u8, u64>,
    /// Packets that the network lost.
    pub lost: u64,
    /// Packets that were sent again because nobody answered.
    pub timeouts: u64,
    /// Retransmissions at the tap of what was not lost: a transmission before came to the receiver, sooner or later.
    pub spurious: u64,
    /// Messages that have arrived, as the receiver says: MRC's in words, Ultra Ethernet's by what it acknowledges. Requests that were answered,
    /// without a context.
    pub completed: u64,
    /// Probes at the tap.
    pub probes: u64,
    /// Bytes of payload that the receiver got, each once.
    pub received_bytes: u64,
    /// Its paths.
    pub paths: Vec<TruePath>,
}

/// A path of a context.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TruePath {
    /// UDP source port.
    pub udp_src_port: u16,
    /// Flow label, with IPv6.
    pub flow_label: Option<u16>,
    /// Where the IPv6 header around its packets goes, in SRv6.
    pub segments: Option<String>,
    /// Packets at the tap.
    pub packets: u64,
    /// Retransmissions among them.
    pub retransmits: u64,
    /// Those that were marked before.
    pub ce_packets: u64,
    /// Acknowledgements at the tap that tell of a mark.
    pub marked_acks: u64,
    /// Packets that were trimmed on it.
    pub trimmed: u64,
    /// Packets that were lost on it.
    pub lost: u64,
    /// When the tap saw that the receiver asked not to use it any more.
    pub skipped_ns: Option<i64>,
    /// Whether its sender has left it.
    pub is_left: bool,
}

/// A scenario that was played.
#[derive(Clone, Debug)]
pub struct Played {
    scenario: Spray,
    frames: Vec<Made>,
    /// What is true of it.
    pub truth: Truth,
}

impl Played {
    /// The frames at the tap, in the order of time.
    pub fn frames(&self) -> &[Made] {
        &self.frames
    }

    /// The interface of the tap.
    pub fn interface(&self) -> Interface {
        let name = if self.scenario.tap == Tap::Sender { "senders" } else { "receivers" };
        Interface {
            snaplen: self.scenario.snaplen,
            name: Some(name.to_owned()),
            speed_bps: Some(self.scenario.rate.0),
            ..Interface::new(Link::ETHERNET)
        }
    }
}

impl Spray {
    /// Whether a scenario is of these kinds.
    pub fn is(text: &str) -> bool {
        matches!(super::text::kind_of(text).as_deref(), Some("uet" | "mrc"))
    }

    /// Reads a scenario.
    ///
    /// # Errors
    /// The line where the text is not TOML or has another field, and what was expected there; a value that cannot be.
    pub fn parse(text: &str) -> Result<Spray, Error> {
        let scenario: Spray = text::parse(text)?;
        scenario.check(format_args!(""), None)?;
        let refused = |what: String| Err(Error::new(what));
        if let Some(path) = scenario.path.iter().find(|path| path.number >= scenario.paths.into()) {
            return refused(format!(
                "path {}: expected a number below paths = {}",
                path.number, scenario.paths
            ));
        }
        if scenario.kind == Kind::Mrc && scenario.mode != Mode::Rud {
            return refused("mode: expected with kind = \"uet\" only".into());
        }
        if scenario.kind == Kind::Uet && scenario.ipv6 {
            return refused("ipv6: expected with kind = \"mrc\" only".into());
        }
        if scenario.kind == Kind::Uet && scenario.srv6 {
            return refused("srv6: expected with kind = \"mrc\" only".into());
        }
        if scenario.srv6 && (scenario.trim > 0.0 || scenario.path.iter().any(|path| path.trim > 0.0)) {
            return refused(
                "srv6: which lengths switches write anew in it is not known: it does not go with trim".into(),
            );
        }
        if scenario.packets_each() > MOST / u64::from(scenario.contexts) {
            return refused(format!("expected {MOST} packets at most: fewer messages, contexts or bytes"));
        }
        Ok(scenario)
    }

    fn packets_of_message(&self) -> u64 {
        self.size.0.div_ceil(self.mtu.into())
    }

    fn packets_each(&self) -> u64 {
        self.packets_of_message().saturating_mul(self.messages.into())
    }

    fn payload_of(&self, at: u64) -> usize {
        let offset = at % self.packets_of_message() * u64::from(self.mtu);
        (self.size.0 - offset).min(self.mtu.into()) as usize
    }

    /// Whether packets belong to contexts, or connections.
    fn has_contexts(&self) -> bool {
        !matches!(self.mode, Mode::Rudi | Mode::Uud)
    }

    /// The paths as they are on the wire.
    fn entropy(&self) -> Paths {
        // In SRv6, all packets have one port, and no label.
        let paths = if self.srv6 { 1 } else { self.paths };
        Paths { paths, port: FIRST_PORT, label: self.ipv6 && !self.srv6 }
    }

    /// Where the header around packets on a path to this address goes, in SRv6: a segment for each tier of switches, then one for the host.
    fn segments(&self, path: u16, to: IpAddr) -> Option<Ipv6Addr> {
        const TIER: u16 = 8;
        let IpAddr::V6(to) = to else { return None };
        let [.., side, _, _, _, host] = to.segments();
        let [first, second] = [0x1000 + path / TIER, 0x2000 + path % TIER];
        self.srv6.then(|| Ipv6Addr::new(0xfc00, 5, first, second, 0x3000 + (side << 8) + host, 0, 0, 0))
    }

    /// What a switch makes of a packet.
    fn trimming(&self) -> Trim {
        Trim { bytes: self.trim_bytes, dscp: Some(TRIMMED_DSCP), lengths: self.trim_lengths }
    }

    fn addresses(&self, n: u32) -> [IpAddr; 2] {
        let receiver = n % self.receivers;
        let address = |side: u8, host: u32| match self.ipv6 || self.srv6 {
            true => IpAddr::from([0xfd00, 0, 0, side.into(), 0, 0, 0, host as u16 + 1]),
            false => IpAddr::from([10, 0, side, host as u8 + 1]),
        };
        [address(0, n), address(1, receiver)]
    }

    /// The troubles of a path.
    fn troubles(&self, path: u16) -> BadPath {
        let all = BadPath { loss: self.loss, trim: self.trim, ce: self.ce, ..BadPath::default() };
        let own = self.path.iter().filter(|own| own.number == u32::from(path));
        own.fold(all, |sum, own| BadPath {
            number: own.number,
            loss: (sum.loss + own.loss).min(1.0),
            trim: (sum.trim + own.trim).min(1.0),
            ce: (sum.ce + own.ce).min(1.0),
            delay: Ns(sum.delay.0.saturating_add(own.delay.0)),
            dead_at: own.dead_at.or(sum.dead_at),
        })
    }
}

/// Packets of a scenario.
const MOST: u64 = 100_000;
/// The first path's.
const FIRST_PORT: u16 = 0xc000;
/// Of trimmed packets.
const TRIMMED_DSCP: u8 = 48;
