//! Who paused whom, and why: pauses of several links, put together by what the links join.

use std::collections::BTreeMap;

use super::{
    Confidence, KnownBy, Why, clean,
    units::{duration, priority, several},
};

records! {
    /// Who paused whom: pauses that others caused, and where they began. A device that is paused cannot send on, its buffers fill, and
    /// it pauses those that send to it.
    pub struct PauseTree {
        /// The links of the capture whose ends are known.
        pub links: Vec<PauseLink>,
        /// Pauses that were caused by pauses of the next link, most time first: by cause, the device that passed it on, and whom it
        /// paused; the first 1024.
        pub edges: Vec<PauseEdge>,
        /// Devices that sent pauses and were not paused themselves, most time first: by device and priority; the first 1024.
        pub culprits: Vec<PauseCulprit>,
        /// Circles of devices each of which waited for the next one, the longest first; the first 64.
        pub deadlocks: Vec<PauseDeadlock>,
        /// Hosts that stopped their link although nothing says that the network was full: the host is the trouble.
        pub host_storms: Vec<HostStorm>,
        /// Senders of pauses of which nothing says at which end of a link they are.
        pub unplaced: Vec<PauseSender>,
        /// Taps that the user named, of which the capture has no frame.
        pub taps_not_seen: Vec<String>,
        /// Pauses that are left out here because there were too many: the first 131072 of a capture are kept.
        pub pauses_not_kept: u64,
        /// Why figures are missing.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub why: Why,
    }

    /// A link, and what it joins.
    #[derive(Eq)]
    pub struct PauseLink {
        /// The interfaces that captured it.
        pub interfaces: Vec<String>,
        /// One device.
        pub a: String,
        /// Its port.
        pub a_port: Option<String>,
        /// The other one.
        pub b: String,
        /// Its port.
        pub b_port: Option<String>,
        /// How that is known.
        pub by: KnownBy,
    }

    /// Pauses that a device asked for while it was paused itself: `cause` paused `device`, so `device` paused `paused`.
    pub struct PauseEdge {
        /// The priority, 0 to 7; `None` for 802.3x, which stops all priorities.
        pub priority: Option<u8>,
        /// Who paused the device.
        pub cause: String,
        /// The device that was paused, and passed it on.
        pub device: String,
        /// Whom the device paused in turn.
        pub paused: String,
        /// The interface that captured the pauses of `cause`.
        pub cause_link: String,
        /// The interface that captured those of `device`.
        pub link: String,
        /// Pauses of `device` so caused.
        pub pauses: u64,
        /// Their time in nanoseconds, in sum.
        pub paused_ns: u64,
        /// When the first one began, in nanoseconds since 1970-01-01 UTC.
        pub start_ns: i64,
        /// When the last one ended, in nanoseconds since 1970-01-01 UTC.
        pub end_ns: i64,
        /// From the beginning of the cause to that of the pause, in nanoseconds: the shortest.
        pub delay_least_ns: u64,
        /// The longest.
        pub delay_most_ns: u64,
        /// The frame that began the first one, from 1.
        pub frame: u64,
        /// The frame that began its cause, from 1.
        pub cause_frame: u64,
        /// Likely where most of them began within 100 µs of their cause.
        pub confidence: Confidence,
    }

    /// A device at which pauses began.
    pub struct PauseCulprit {
        /// The device.
        pub device: String,
        /// Whether it is a host; `None` where nothing says so.
        pub is_host: Option<bool>,
        /// The priority, 0 to 7; `None` for 802.3x, which stops all priorities.
        pub priority: Option<u8>,
        /// Pauses that it asked for while it was not paused itself. One that goes on after another device has paused it is its own until then; the
        /// rest is caused by that device.
        pub pauses: u64,
        /// Their time in nanoseconds, in sum over its links.
        pub paused_ns: u64,
        /// When the first one began, in nanoseconds since 1970-01-01 UTC.
        pub start_ns: i64,
        /// When the last one ended, in nanoseconds since 1970-01-01 UTC.
        pub end_ns: i64,
        /// Direct victims: the devices that it paused.
        pub direct: Vec<String>,
        /// Indirect victims: devices that were paused because others were.
        pub indirect: Vec<String>,
        /// Flows that these pauses stopped, on any link that they pass, those that were stopped longest first; the first 64.
        pub flows: Vec<PauseVictim>,
        /// How many.
        pub flow_count: u64,
        /// The time of the pauses that it caused elsewhere, in nanoseconds, in sum.
        pub caused_ns: u64,
        /// Pauses that it caused elsewhere.
        pub caused_pauses: u64,
        /// The longest chain of devices, from it to the last victim.
        pub chain: Vec<String>,
        /// The frame that began its first pause, from 1.
        pub frame: u64,
        /// It is in a cycle of `deadlocks` too: which of these devices began is another question than which one is at fault.
        pub is_in_deadlock: bool,
        /// Likely where it is a host, or where other links of it were captured, by which packets that it stopped go on, and did not pause it. Otherwise it may have been paused
        /// on a link that the capture does not have.
        pub confidence: Confidence,
    }

    /// A flow that was silent in pauses.
    pub struct PauseVictim {
        /// The flow, as an index into [`Report::flows`](super::Report::flows).
        pub flow: usize,
        /// Its source address.
        pub src: String,
        /// Its destination address.
        pub dst: String,
        /// The queue pair that it goes to.
        pub dest_qp: u32,
        /// Whether the culprit's own pauses stopped it: it is a direct victim. Otherwise, pauses that these caused.
        pub is_direct: bool,
        /// Whether it goes to the culprit itself, or, of a switch, through it to a receiver of incast, and so is a part of what the culprit cannot
        /// take; otherwise it only shares the way, and is a victim. `None` where neither such an address is known.
        pub goes_to_culprit: Option<bool>,
        /// For how long, in nanoseconds: on the link on which it was stopped longest.
        pub stopped_ns: u64,
    }

    /// A cycle of devices each of which waits for the next one: a suspected deadlock.
    pub struct PauseDeadlock {
        /// The priority, 0 to 7; `None` for 802.3x, which stops all priorities.
        pub priority: Option<u8>,
        /// The devices: each was paused by the next one, and the last one by the first.
        pub devices: Vec<String>,
        /// The device whose pause was the first one of the cycle.
        pub began_by: String,
        /// How often all were paused at once.
        pub times: u64,
        /// When all were paused at once first, in nanoseconds since 1970-01-01 UTC.
        pub start_ns: i64,
        /// When they were so last, in nanoseconds since 1970-01-01 UTC.
        pub end_ns: i64,
        /// For how long all were paused at once, in nanoseconds, in sum.
        pub all_paused_ns: u64,
        /// The longest of these times, in nanoseconds.
        pub longest_ns: u64,
        /// Likely where that is longer than a watchdog waits. That each buffer holds packets for the next device is not seen.
        pub confidence: Confidence,
    }

    /// A host that stopped its link for more than 90 % of a long time, while nothing marked the traffic to it.
    pub struct HostStorm {
        /// The host.
        pub host: String,
        /// The priority, 0 to 7; `None` for 802.3x, which stops all priorities.
        pub priority: Option<u8>,
        /// The interface that captured it.
        pub link: String,
        /// When it began, in nanoseconds since 1970-01-01 UTC.
        pub start_ns: i64,
        /// When it ended, in nanoseconds since 1970-01-01 UTC.
        pub end_ns: i64,
        /// The share of this time that was paused: 0 to 1.
        pub duty_ratio: f64,
        /// The frame that began it, from 1.
        pub frame: u64,
        /// Whether the capture has packets to the host: if not, it cannot show whether the network was congested. `None` where the host's
        /// addresses are not known.
        pub is_sent_to: Option<bool>,
        /// Likely where traffic was ECN-capable, and so would have been marked, and the capture has packets to the host.
        pub confidence: Confidence,
    }

    /// A sender of pauses.
    #[derive(Eq)]
    pub struct PauseSender {
        /// The interface that captured it.
        pub link: String,
        /// Its Ethernet address.
        pub sender: String,
    }
}

/// Most culprits and cycles that are written.
const MAX_TREES: usize = 3;

impl PauseTree {
    /// Who paused whom, in a sentence; `None` where nothing was paused.
    pub fn sentence(&self) -> Option<String> {
        let names = |all: &[String], by: &str| {
            all.iter().map(|name| clean(name).into_owned()).collect::<Vec<_>>().join(by)
        };
        let one = |culprit: &PauseCulprit| {
            let mut text = format!(
                "{} paused {} ({}) for {}",
                clean(&culprit.device),
                names(&culprit.direct, ", "),
                priority(culprit.priority),
                duration(culprit.paused_ns)
            );
            if !culprit.indirect.is_empty() {
                text += &format!(
                    ", and by that {} for {} ({}; {})",
                    names(&culprit.indirect, ", "),
                    duration(culprit.caused_ns),
                    names(&culprit.chain, " → "),
                    culprit.confidence.name()
                );
            }
            text += &victims(culprit);
            text
        };
        let cycle = |cycle: &PauseDeadlock| {
            format!(
                "cyclic dependency: {} → {}, {}, all paused at once for {} ({})",
                names(&cycle.devices, " → "),
                cycle.devices.first().map_or("".into(), |name| clean(name)),
                priority(cycle.priority),
                duration(cycle.all_paused_ns),
                cycle.confidence.name()
            )
        };
        let storm = |storm: &HostStorm| {
            let time = storm.end_ns.saturating_sub(storm.start_ns).max(0) as u64;
            format!("{} held {} paused for {}", clean(&storm.host), priority(storm.priority), duration(time))
        };
        let mut parts: Vec<String> = self.deadlocks.iter().take(MAX_TREES).map(cycle).collect();
        parts.extend(self.host_storms.iter().take(MAX_TREES).map(storm));
        parts.extend(self.culprits.iter().take(MAX_TREES).map(one));
        let more = [self.deadlocks.len(), self.host_storms.len(), self.culprits.len()];
        let more: usize = more.iter().map(|n| n.saturating_sub(MAX_TREES)).sum();
        if more > 0 {
            parts.push(format!("and {more} more (--json has them)"));
        }
        if !self.taps_not_seen.is_empty() {
            parts.push(format!("no frame of the taps {}", names(&self.taps_not_seen, ", ")));
        }
        if let Some(one) = self.unplaced.first() {
            let sender = format!("{} on {}", one.sender, clean(&one.link));
            let more = match self.unplaced.len() {
                1 => String::new(),
                n => format!(" and {} more", n - 1),
            };
            parts.push(format!("not known where {sender}{more} is attached"));
        }
        if self.pauses_not_kept > 0 {
            parts.push(format!("{} left out here", several(self.pauses_not_kept, "later pause")));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// Most flows that are named for each culprit.
const MAX_VICTIMS: usize = 4;

/// The flows that a culprit's pauses stopped, directly and through other devices.
fn victims(culprit: &PauseCulprit) -> String {
    let of = |is_direct: bool, what: &str| {
        let all = || culprit.flows.iter().filter(|flow| flow.is_direct == is_direct);
        let name = |flow: &PauseVictim| {
            let (src, dst) = (clean(&flow.src), clean(&flow.dst));
            format!("#{} {src} → {dst} {}", flow.flow, duration(flow.stopped_ns))
        };
        let named: Vec<String> = all().take(MAX_VICTIMS).map(name).collect();
        match all().count() - named.len() {
            _ if named.is_empty() => String::new(),
            0 => format!("; {what} {}", named.join(", ")),
            more => format!("; {what} {} and {more} more", named.join(", ")),
        }
    };
    let unlisted = match culprit.flow_count.saturating_sub(culprit.flows.len() as u64) {
        0 => String::new(),
        n => format!("; {} beside these", several(n, "flow")),
    };
    of(true, "stopped") + &of(false, "indirectly") + &unlisted
}
