//! Options of an analysis, flow numbers, events.

mod links;
mod qos;

use std::fmt;

use crate::{
    capture::{Damage, Info, Record, Series, Source},
    dissect::{self, Dissection},
    grammar::units,
    logs::{self, Log},
    opcode::Direction,
    report::{CaptureProblem, FrameOrder, SetClock},
};

pub use crate::{
    dissect::Address,
    report::{Class, Trigger},
    upper::Application,
};

pub use links::{KnownDevice, KnownLink, LinkEnd, Links};
pub(crate) use links::{beside, end_of, sent_by};
pub use qos::{QosMap, Trust};

/// A flow's number in its analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, crate::stored::Stored)]
pub struct FlowId(pub u32);

/// What identifies a flow in every table, and at every place where it was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowUid(pub u64);

impl fmt::Display for FlowUid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A hash that says the same on all machines and in all versions: the steps of splitmix64.
pub(crate) fn identity(words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().fold(0, |hash: u64, word| {
        let mixed = (hash ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    })
}

/// A frame that is not of the InfiniBand transport.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// The frame's number, from 1.
    pub number: u64,
    /// The frame.
    pub record: &'a Record<'a>,
    /// Its headers.
    pub packet: &'a Dissection<'a>,
    /// Bytes on the wire, with preamble, frame check sequence and inter-frame gap; without tunnels around it.
    pub l1_bytes: u32,
}

/// Options of an analysis.
#[derive(Clone, Debug)]
pub struct Options {
    /// How to dissect.
    pub dissect: dissect::Options,
    /// Whether ICRCs are verified, where the capture has the whole packet.
    pub verify_icrc: bool,
    /// Most flows that are kept at a time.
    pub max_flows: usize,
    /// Memory that the analysis may take, in bytes, approximately. Flows may hold a share of it. Beyond that share, the flows that
    /// have been silent longest lose detail.
    pub max_memory: usize,
    /// How late the network may deliver a packet, in nanoseconds. A packet that comes within this time after a later one counts
    /// as reordered, not as retransmitted, unless there is better evidence.
    pub reorder_window_ns: i64,
    /// The acknowledgement timeout of all queue pairs in nanoseconds. `None`: the timeout that the connection manager's messages
    /// state for a queue pair, or an estimate from round trips.
    pub ack_timeout_ns: Option<i64>,
    /// The link's speed in bits per second.
    pub speed_bps: Option<u64>,
    /// When a pause counts as a storm.
    pub storm: StormProfile,
    /// The priorities of the network, and what they are for.
    pub qos: Option<QosMap>,
    /// The links that were captured, and what they join.
    pub links: Option<Links>,
    /// What switches make of packets that they trim, beside those that are known by themselves.
    pub trim: Option<TrimProfile>,
    /// Report traffic over time, in intervals of so many nanoseconds.
    pub interval_ns: Option<u64>,
    /// Connections that the user knows of.
    pub connections: Vec<KnownConnection>,
    /// The order in which frames are analyzed. By default, where the two differ, the one in which more packets have the PSN that their
    /// flow expects.
    pub order: Option<FrameOrder>,
    /// Analyze in the slow reference mode: dissect every frame, and let each packet change its flow by itself. The report is
    /// the same; tests and fuzzing compare the two.
    pub reference: bool,
}

/// A connection that the user knows of: two ends, each a queue pair and, where it is known, an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownConnection {
    /// One end.
    pub a: (Option<Address>, u32),
    /// The other.
    pub b: (Option<Address>, u32),
}

impl KnownConnection {
    /// The connections of a text: lines with `ADDRESS,QP,ADDRESS,QP`, the [JSON](Self::from_rdma_json) of `rdma`, or a [log](crate::logs) that
    /// names both queue pairs, such as what perftest prints, or `rdma resource show qp`. Of lines with commas, those that are empty or
    /// begin with `#`, and heads of columns, are passed over.
    ///
    /// # Errors
    /// What is wrong with the text, and in which line.
    pub fn parse(text: &str) -> Result<Vec<KnownConnection>, String> {
        // Lines of some logs begin with a time in brackets.
        let list = text.trim_start().strip_prefix('[').map(str::trim_start);
        if list.is_some_and(|rows| rows.starts_with(['{', ']'])) {
            return KnownConnection::from_rdma_json(text);
        }
        // To read a text in memory does not fail.
        let Log { pairs, one_sided, .. } = Log::read("", text.as_bytes()).unwrap_or_default();
        if !pairs.is_empty() {
            let end = |end: logs::End| Some((end.address, end.qp?));
            return Ok(pairs
                .into_iter()
                .filter_map(|[a, b]| Some(KnownConnection { a: end(a)?, b: end(b)? }))
                .collect());
        }
        let is_head = |line: &str| {
            line.split(',')
                .all(|word| word.trim().starts_with(|c: char| c.is_ascii_alphabetic()) && !word.contains(':'))
        };
        let lines = text.lines().enumerate().map(|(n, line)| (n + 1, line.trim()));
        lines
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
            .filter(|&(n, line)| n != 1 || !line.contains(',') || !is_head(line))
            .map(|(n, line)| KnownConnection::of_line(line).map_err(|error| format!("line {n}: {error}")))
            .collect::<Result<_, _>>()
            .map_err(|error| match one_sided {
                Some(n) => {
                    format!("line {n}: this log names a queue pair, and not the one that it is connected to")
                }
                None => error,
            })
    }

    fn of_line(line: &str) -> Result<KnownConnection, String> {
        let parts: Vec<&str> = line.split(',').map(str::trim).collect();
        let [a, a_qp, b, b_qp] = parts[..] else {
            return Err(
                "expected ADDRESS,QP,ADDRESS,QP, or what perftest or `rdma resource show qp` prints".into()
            );
        };
        let end = |address: &str, qp: &str| {
            let no_address = || format!("{address:?} is neither an IP address, nor gid:, nor lid:");
            let no_qp = |_| format!("{qp:?} is not the number of a queue pair");
            let address = address.parse().map_err(|_| no_address())?;
            Ok::<_, String>((Some(address), units::qpn(qp).map_err(no_qp)?.0))
        };
        Ok(KnownConnection { a: end(a, a_qp)?, b: end(b, b_qp)? })
    }

    /// The connections in the JSON that `rdma -j resource show qp` prints on a host: local and remote queue pairs. It
    /// has no addresses, so the numbers hold between any two hosts of the capture.
    ///
    /// # Errors
    /// What is wrong with the text, and where.
    pub fn from_rdma_json(text: &str) -> Result<Vec<KnownConnection>, String> {
        #[derive(serde::Deserialize)]
        struct Row {
            lqpn: u32,
            rqpn: Option<u32>,
        }
        let rows: Vec<Row> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let connected = |row: Row| {
            Some(KnownConnection { a: (None, row.lqpn), b: (None, row.rqpn.filter(|&qp| qp > 1)?) })
        };
        Ok(rows.into_iter().filter_map(connected).collect())
    }
}

impl Options {
    /// An acknowledgement timeout in nanoseconds: an exponent as a queue pair has it, of 4.096 us times 2 to the exponent (IBTA
    /// vol. 1, 11.2.4.2), or a time such as `67ms`.
    ///
    /// # Errors
    /// What is expected.
    pub fn parse_ack_timeout(text: &str) -> Result<i64, String> {
        let ns = match text.parse::<u32>() {
            Ok(exponent @ 1..=31) => 4096 << exponent,
            Ok(_) => return Err("an exponent from 1 to 31".into()),
            Err(_) => units::positive_duration(text).map_err(|error| error.to_string())?,
        };
        i64::try_from(ns).map_err(|_| "a time below 292 years".into())
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            dissect: dissect::Options::default(),
            verify_icrc: true,
            max_flows: 1 << 20,
            max_memory: 512 << 20,
            reorder_window_ns: 50_000,
            ack_timeout_ns: None,
            speed_bps: None,
            storm: StormProfile::default(),
            qos: None,
            links: None,
            trim: None,
            interval_ns: None,
            connections: Vec::new(),
            order: None,
            reference: false,
        }
    }
}

/// Properties of the files, or of the interface, that the frames come from.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub struct Files {
    /// Their names.
    pub names: Vec<String>,
    /// Damage in them.
    pub problems: Vec<CaptureProblem>,
    /// Frames that the capturing system dropped, where it counted.
    pub drops: Option<u64>,
    /// Of each capture that is in several files, their names in the order of time.
    pub parts: Vec<Vec<String>>,
    /// Of each name, what identifies a file of an index, whatever it is called; empty, or missing at the end, of captures that are read
    /// themselves.
    pub ids: Vec<String>,
    /// Captures whose clocks were set right when they were merged.
    pub clocks: Vec<SetClock>,
    /// Captures that were merged, and whose clocks no packet ties to that of the first one.
    pub untied: Vec<String>,
    /// The finest step of the captures' own times, where clocks were set right: the times of the merge do not show it.
    pub step_ns: Option<u64>,
}

impl Files {
    /// More files behind these.
    pub fn add(&mut self, more: Files) {
        let Files { names, problems, drops, parts, ids, clocks, untied, step_ns } = more;
        self.step_ns = self.step_ns.into_iter().chain(step_ns).min();
        self.parts.extend(parts);
        self.clocks.extend(clocks);
        self.untied.extend(untied);
        self.ids.resize(self.names.len(), String::new());
        self.ids.extend(ids);
        self.names.extend(names);
        self.problems.extend(problems);
        self.add_drops(drops);
    }

    /// Whether a file of an index is one of these: by its id, or by its name where there is no id.
    pub fn has(&self, name: &str, id: &str) -> bool {
        let ids = self.ids.iter().map(String::as_str).chain(std::iter::repeat(""));
        self.names.iter().zip(ids).any(|(known, its)| if its.is_empty() { known == name } else { its == id })
    }

    /// A file can claim any number: the sum saturates.
    fn add_drops(&mut self, drops: Option<u64>) {
        if let Some(drops) = drops {
            self.drops = Some(self.drops.unwrap_or(0).saturating_add(drops));
        }
    }

    /// What is known of captures, each in one file or several, after they were read.
    pub fn of_series<'a>(captures: impl Iterator<Item = &'a Series>) -> Files {
        let mut all = Files::default();
        for capture in captures {
            let mut files = Files::of(capture.files());
            // A counter of parts counts through all of them.
            files.drops = None;
            if files.names.len() > 1 {
                files.parts.push(files.names.clone());
            }
            capture.info().interfaces.iter().for_each(|interface| files.add_drops(interface.drops));
            if let (Some(offset), Some(file)) = (capture.clock(), files.names.first()) {
                files.clocks.push(SetClock {
                    file: file.clone(),
                    offset_ns: offset.ns,
                    common_packets: offset.packets,
                    drift_ppm: (offset.drift_ppt != 0).then_some(offset.drift_ppt as f64 / 1e6),
                    error_ns: offset.error_ns,
                });
            }
            files.untied.extend(files.names.first().filter(|_| capture.is_untied()).cloned());
            files.step_ns = capture.step_ns();
            all.add(files);
        }
        all
    }

    /// What is known of the sources after they were read.
    pub fn of<'a>(sources: impl Iterator<Item = &'a Info>) -> Files {
        let mut all = Files::default();
        for info in sources {
            let problem = |damage: &Damage| {
                CaptureProblem::new(info.name.clone(), damage.offset, damage.problem.to_string())
            };
            all.names.push(info.name.clone());
            all.problems.extend(info.problems.iter().map(problem));
            info.interfaces.iter().for_each(|interface| all.add_drops(interface.drops));
        }
        all
    }
}

/// Which of a flow's two PSN spaces.
pub type Space = Direction;

/// What switches make of packets that they trim: cut to their headers instead of dropping them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrimProfile {
    /// Bytes that they leave of a frame, without frame check sequence.
    pub bytes: Option<u32>,
    /// The DSCPs that they set; none: any.
    pub dscps: Vec<u8>,
    /// The DSCP that the last switch before the receiver sets.
    pub last_hop: Option<u8>,
}

impl TrimProfile {
    /// Reads `256,dscp=48` or `128,dscp=7,last-hop=5`: a size, DSCPs, or both.
    ///
    /// # Errors
    /// What is expected.
    pub fn parse(text: &str) -> Result<TrimProfile, String> {
        const EXPECTED: &str =
            "expected a size in bytes and DSCPs, as in 256,dscp=48 or 128,dscp=7,last-hop=5";
        let mut profile = TrimProfile::default();
        for word in text.split(',').map(str::trim) {
            let (name, value) = word.split_once('=').unwrap_or(("bytes", word));
            let dscp = || value.parse().ok().filter(|&dscp: &u8| dscp < 64).ok_or(EXPECTED);
            match name {
                "bytes" => profile.bytes = Some(value.parse().map_err(|_| EXPECTED)?),
                "dscp" => profile.dscps.push(dscp()?),
                "last-hop" => {
                    let dscp = dscp()?;
                    profile.last_hop = Some(dscp);
                    profile.dscps.push(dscp);
                }
                _ => return Err(EXPECTED.to_owned()),
            }
        }
        Ok(profile)
    }
}

/// When a watchdog calls a pause a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, crate::stored::Stored)]
pub struct StormProfile {
    /// A queue that is paused for so long, in nanoseconds, is in a storm.
    pub detect_ns: i64,
    /// The storm is over after so long without a pause, in nanoseconds.
    pub restore_ns: i64,
    /// Breaks that it overlooks, as a share of the detection time, in thousandths.
    pub overlooks: u16,
}

impl StormProfile {
    /// The profiles with names, and their manufacturers' default times. SONiC polls every 200 ms (`pfcwd`,
    /// `pfc_detect_broadcom.lua`, `pfc_detect_mellanox.lua`: paused for more than 99 % of a poll); Juniper takes two polls of
    /// 100 ms; Cisco's Nexus one poll of 100 ms, and ten to go back.
    pub const NAMED: [(&'static str, StormProfile); 4] = [
        ("sonic-broadcom", StormProfile::new(200, 200, 0)),
        ("sonic-mellanox", StormProfile::new(200, 200, 10)),
        ("cisco", StormProfile::new(100, 1000, 0)),
        ("juniper", StormProfile::new(200, 200, 0)),
    ];

    const fn new(detect_ms: i64, restore_ms: i64, overlooks: u16) -> StormProfile {
        StormProfile { detect_ns: detect_ms * 1_000_000, restore_ns: restore_ms * 1_000_000, overlooks }
    }

    /// A profile by its name, or by its own two times: `100ms,1s`.
    ///
    /// # Errors
    /// What is expected.
    pub fn parse(text: &str) -> Result<StormProfile, String> {
        if let Some((_, profile)) = StormProfile::NAMED.iter().find(|(name, _)| *name == text) {
            return Ok(*profile);
        }
        let time =
            |text: &str| -> Option<i64> { units::positive_duration(text.trim()).ok()?.try_into().ok() };
        let times = text.split_once(',').and_then(|(detect, restore)| time(detect).zip(time(restore)));
        let (detect_ns, restore_ns) = times.ok_or_else(|| {
            let names = StormProfile::NAMED.map(|(name, _)| name).join(", ");
            format!("expected {names}, or detection and restoration times such as 100ms,1s")
        })?;
        Ok(StormProfile { detect_ns, restore_ns, overlooks: 0 })
    }
}

impl Default for StormProfile {
    fn default() -> StormProfile {
        StormProfile::NAMED[0].1
    }
}

impl fmt::Display for StormProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match StormProfile::NAMED.iter().find(|(_, profile)| profile == self) {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "{} ms, {} ms", self.detect_ns / 1_000_000, self.restore_ns / 1_000_000),
        }
    }
}
