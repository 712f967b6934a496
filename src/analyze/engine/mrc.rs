//! Connections of MRC: packets in any order over many paths, selective acknowledgements, retransmissions that say that they are some.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    analyze::{
        metric::{
            KnownFlow,
            paths::{OfFlow, Tally, in_order, rows},
        },
        model::{Address, FlowId},
        packet::Facts,
    },
    dissect::Dissection,
    heap::heap,
    icrc::State,
    opcode::Operation,
    report::{FlowPath, MrcConnection, PathState},
    wire::*,
};

/// Connections and paths that are followed.
const MAX_CONNECTIONS: usize = 1024;
/// Connections, of some 64 KiB each, take at most such a part of the memory of the analysis.
const SHARE: usize = 8;
const MAX_PATHS: usize = 512;
/// PSNs that are remembered of each.
const REMEMBERED: usize = 1 << 12;
/// A PSN is missing, and not only late, if so many SACKs showed it so.
const SHOWN: u8 = 3;

/// All connections, by the flow of their WRITEs.
#[derive(Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Mrc {
    connections: BTreeMap<FlowId, Connection>,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Connection {
    src: Address,
    dst: Address,
    dest_qp: u32,
    /// One past the highest PSN, counted on through wraps.
    hi: u64,
    packets: u64,
    /// What is known of the last PSNs.
    #[serde(with = "crate::stored::roomy")]
    ring: Vec<Slot>,
    #[serde(with = "crate::stored::roomy")]
    ports: Vec<(u16, u16)>,
    #[serde(with = "crate::stored::roomy")]
    tallies: Vec<Tally>,
    skipped: BTreeSet<u32>,
    row: MrcCounts,
}

/// What is known of a PSN.
#[derive(Clone, Copy, Default, serde::Serialize, serde::Deserialize)]
struct Slot {
    x: u64,
    /// The place of its path, and one.
    path: u16,
    /// SACKs that showed it missing.
    shown: u8,
    is_nacked: bool,
}

#[derive(Clone, Copy, Default, serde::Serialize, serde::Deserialize)]
struct MrcCounts {
    payload: u64,
    rtx: u64,
    inferred: u64,
    both: u64,
    reordered: u64,
    max_extent: u64,
    sacks: u64,
    nacks: u64,
    nacks_trimmed: u64,
    nacks_last_hop: u64,
    skip_once: u64,
    skip_always: u64,
    probes: u64,
    trimmed: u64,
}

heap! {
    Mrc { connections }
    Connection { ring, ports, tallies, skipped }
    Slot {}
}

impl Mrc {
    /// A packet of this flow. `max_memory`: of the analysis. Its code lies apart: inlined, it would take the place of what other packets
    /// need in the processor's cache of instructions.
    #[cold]
    #[inline(never)]
    pub(crate) fn on_packet(&mut self, id: FlowId, facts: &Facts, d: &Dissection<'_>, max_memory: usize) {
        let (Some(src), Some(dst), Some(qp)) = (facts.source(), facts.destination(), facts.dest_qp()) else {
            return;
        };
        match facts.opcode().operation() {
            Some(Operation::Write) => {
                let most = max_memory / SHARE / (REMEMBERED * size_of::<Slot>());
                let has_room = self.connections.len() < most.min(MAX_CONNECTIONS);
                if has_room || self.connections.contains_key(&id) {
                    let new = || Connection::new(src, dst, qp.0, facts.psn());
                    self.connections.entry(id).or_insert_with(new).on_write(facts, d);
                }
            }
            Some(Operation::Sack) => {
                if let Some(seth) = d.get::<Seth>()
                    && let Some(connection) = self.answered(src, dst, seth.cack_psn())
                {
                    connection.on_sack(seth);
                }
            }
            Some(Operation::Nack) => {
                if let Some(neth) = d.get::<Neth>()
                    && let Some(connection) = self.answered(src, dst, neth.nack_psn())
                {
                    connection.on_nack(neth);
                }
            }
            Some(Operation::Probe) => {
                if let Some(connection) = self.connections.get_mut(&id) {
                    connection.row.probes += 1;
                }
            }
            _ => {}
        }
    }

    /// The connection that a packet from `src` to `dst` answers: of those in the other direction, the one whose PSNs are nearest.
    fn answered(&mut self, src: Address, dst: Address, psn: Psn) -> Option<&mut Connection> {
        let of_ends = self.connections.values_mut().filter(|one| (one.src, one.dst) == (dst, src));
        of_ends.min_by_key(|one| (psn.unwrap_near(one.hi) as i64 - one.hi as i64).unsigned_abs())
    }

    /// The report's rows: connections, and their paths.
    pub(crate) fn section(
        &self,
        known: impl Fn(FlowId) -> Option<KnownFlow>,
    ) -> (Vec<MrcConnection>, Vec<FlowPath>) {
        let (mut rows, mut paths) = (Vec::new(), Vec::new());
        for (&id, connection) in &self.connections {
            let flow = known(id).map(|known| known.index);
            rows.push(connection.row(flow));
            paths.extend(connection.paths(flow));
        }
        (rows, in_order(paths))
    }
}

impl Connection {
    fn new(src: Address, dst: Address, dest_qp: u32, psn: Psn) -> Connection {
        Connection {
            src,
            dst,
            dest_qp,
            hi: u64::from(Psn::SPACE) + u64::from(psn.0),
            packets: 0,
            ring: vec![Slot::default(); REMEMBERED],
            ports: Vec::new(),
            tallies: Vec::new(),
            skipped: BTreeSet::new(),
            row: MrcCounts::default(),
        }
    }

    /// The place of a path, which may begin with it; the last one stands for those for which there is no room.
    fn path(&mut self, label: u16, port: u16) -> usize {
        if let Some(at) = self.ports.iter().position(|&path| path == (label, port)) {
            return at;
        }
        if self.ports.len() < MAX_PATHS {
            self.ports.push((label, port));
            self.tallies.push(Tally::default());
        }
        self.ports.len() - 1
    }

    /// What is known of this PSN; of one that is too old, nothing.
    fn slot(&mut self, x: u64) -> Option<&mut Slot> {
        let slot = &mut self.ring[x as usize % REMEMBERED];
        if slot.x < x {
            *slot = Slot { x, ..Slot::default() };
        }
        (slot.x == x).then_some(slot)
    }

    fn on_write(&mut self, facts: &Facts, d: &Dissection<'_>) {
        let label = d.get::<Ipv6>().map_or(0, |ip| ip.flow_label() as u16);
        let at = self.path(label, facts.port().unwrap_or(0));
        self.packets += 1;
        let packets = self.packets;
        self.tallies[at].add(facts.l1_bytes().into(), facts.mark() == Ecn::CE, facts.time(), packets);
        if facts.icrc() == State::Trimmed {
            self.tallies[at].trimmed += 1;
            self.row.trimmed += 1;
            return;
        }
        self.row.payload += u64::from(facts.payload());
        let is_rtx = d.get::<MrcBth>().is_some_and(MrcBth::rtx);
        let (hi, x) = (self.hi, facts.psn().unwrap_near(self.hi));
        let Some(slot) = self.slot(x) else { return };
        let before = *slot;
        slot.path = at as u16 + 1;
        let is_again = x < hi && (before.path > 0 || before.is_nacked || before.shown >= SHOWN);
        self.row.rtx += u64::from(is_rtx);
        self.row.inferred += u64::from(is_again);
        self.row.both += u64::from(is_rtx && is_again);
        if is_rtx {
            self.tallies[at].resent += 1;
            if let Some(lost) = usize::from(before.path).checked_sub(1) {
                self.tallies[lost].lost += 1;
            }
        } else if x < hi {
            // To be overtaken by less than a packet of each path is nothing.
            self.tallies[at].late += u64::from(hi - x > self.ports.len() as u64);
            self.row.reordered += 1;
            self.row.max_extent = self.row.max_extent.max(hi - 1 - x);
        }
        self.hi = hi.max(x + 1);
    }

    fn on_sack(&mut self, seth: &Seth) {
        self.row.sacks += 1;
        self.row.skip_once += u64::from(seth.m() == PathMark(1));
        if seth.m() == PathMark(2) {
            self.row.skip_always += 1;
            if self.skipped.len() < MAX_PATHS {
                self.skipped.insert(seth.entropy().0);
            }
        }
        let (bitmap, first) = (seth.sack_bitmap().0, seth.sack_psn().unwrap_near(self.hi));
        // Behind the highest one that has arrived, nothing is said.
        let shown = 64 - bitmap.leading_zeros();
        for bit in (0..shown).filter(|bit| bitmap >> bit & 1 == 0) {
            if let Some(slot) = self.slot(first + u64::from(bit)) {
                slot.shown = slot.shown.saturating_add(1);
            }
        }
    }

    fn on_nack(&mut self, neth: &Neth) {
        self.row.nacks += 1;
        let is_last_hop = neth.reason() == NackReason::TRIMMED_LAST_HOP;
        self.row.nacks_last_hop += u64::from(is_last_hop);
        self.row.nacks_trimmed += u64::from(is_last_hop || neth.reason() == NackReason::TRIMMED);
        let x = neth.nack_psn().unwrap_near(self.hi);
        if let Some(slot) = self.slot(x) {
            slot.is_nacked = true;
        }
    }

    fn row(&self, flow: Option<usize>) -> MrcConnection {
        let row = &self.row;
        let either = row.rtx + row.inferred - row.both;
        MrcConnection {
            flow,
            src: self.src.to_string(),
            dst: self.dst.to_string(),
            dest_qp: self.dest_qp,
            paths: self.ports.len() as u64,
            packets: self.packets,
            payload_bytes: row.payload,
            rtx_packets: row.rtx,
            inferred_retransmits: row.inferred,
            rtx_agreement: (either > 0).then(|| row.both as f64 / either as f64),
            reordered: row.reordered,
            max_reorder_extent: row.max_extent,
            trimmed: row.trimmed,
            sacks: row.sacks,
            nacks: row.nacks,
            nacks_trimmed: row.nacks_trimmed,
            nacks_trimmed_last_hop: row.nacks_last_hop,
            skip_once: row.skip_once,
            skip_always: row.skip_always,
            probes: row.probes,
        }
    }

    fn paths(&self, flow: Option<usize>) -> impl Iterator<Item = FlowPath> {
        let of = OfFlow { flow, src: self.src, dst: self.dst, dest_qp: self.dest_qp };
        let entropy = self.ports.iter().map(|&(label, port)| (port, Some(label).filter(|&label| label > 0)));
        let all: Vec<FlowPath> = rows(&of, &self.tallies, false, entropy).collect();
        all.into_iter().zip(&self.ports).map(|(path, &(label, port))| {
            // Which half of a structured entropy value is the label is disputed.
            let [label, port] = [label, port].map(u32::from);
            let is_skipped =
                [label << 16 | port, port << 16 | label].iter().any(|entropy| self.skipped.contains(entropy));
            FlowPath { state: if is_skipped { PathState::Skipped } else { path.state }, ..path }
        })
    }
}
