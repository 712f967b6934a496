//! Connections of MRC: packets in any order over many paths, selective acknowledgements, retransmissions that say that they are some.

use std::{
    collections::{BTreeMap, VecDeque},
    net::Ipv6Addr,
};

use crate::{
    analyze::{
        metric::{
            KnownFlow,
            paths::{OfFlow, Tally, in_order, rows},
            spread,
        },
        model::{Address, FlowId},
        packet::Facts,
        track::distribution::Distribution,
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
/// Messages that are remembered of each.
const MAX_MESSAGES: usize = 1 << 10;
/// A PSN is missing, and not only late, if so many SACKs showed it so.
const SHOWN: u8 = 3;
/// Packets of the receive window, in one unit of its field.
const WINDOW_UNIT: u64 = 128;
/// After a request to skip a path, so many packets may still take it, or a window of them: they are on their way, or chosen.
const GRACE: u64 = 256;
/// A path is slow if answers to its packets take so many times as long as those to the others, of so many.
const SLOW: u64 = 2;
const ENOUGH: u64 = 4;

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
    /// One past the highest PSN up to which all have arrived, as SACKs say; `None` before the first.
    acked: Option<u64>,
    packets: u64,
    begin: i64,
    /// What is known of the last PSNs.
    #[serde(with = "crate::stored::roomy")]
    ring: Vec<Slot>,
    #[serde(with = "crate::stored::roomy")]
    ways: Vec<Way>,
    messages: VecDeque<Message>,
    /// From a packet to the SACK that it caused, without retransmissions.
    ack_rtt: Distribution,
    min_rtt: Option<u64>,
    completion: Distribution,
    received: Received,
    row: MrcCounts,
}

/// What is known of a PSN.
#[derive(Clone, Copy, Default, serde::Serialize, serde::Deserialize)]
struct Slot {
    /// How often the ring was filled before it; 0: nothing is known.
    lap: u32,
    /// When its last transmission came, in nanoseconds since the first packet; what is four seconds old is forgotten before.
    time: u32,
    /// The place of the last transmission's path, and one; 0: the tap saw none.
    path: u16,
    /// The same of the transmission before, which was lost.
    lost_on: u16,
    /// SACKs that showed it missing.
    shown: u8,
    /// The bits below.
    flags: u8,
}

/// A transmission of it came trimmed, or a NACK says that one was.
const TRIMMED: u8 = 1;
const NACKED_TRIMMED: u8 = 1 << 1;
/// Its receiver refused it.
const REFUSED: u8 = 1 << 2;
/// A SACK shows that it has arrived.
const ARRIVED: u8 = 1 << 3;
/// It was sent again, as it was lost behind the tap, or before it.
const LOST_AFTER: u8 = 1 << 4;
const LOST_BEFORE: u8 = 1 << 5;
const RESENT: u8 = 1 << 6;

/// A path.
#[derive(Clone, Copy, Default, serde::Serialize, serde::Deserialize)]
struct Way {
    label: u16,
    port: u16,
    /// Where the IPv6 header around the packet goes: in SRv6, the segments that are left. 0: there is none.
    segments: u128,
    tally: Tally,
    /// SACKs that say that a packet of it came marked.
    echoes: u64,
    /// Packets that were trimmed behind the tap, by NACKs.
    trimmed_after: u64,
    rtts: u64,
    rtt_sum: u64,
    rtt_max: u64,
    /// When its receiver first asked to skip it always, and how many packets of the connection there had been.
    skipped: Option<(i64, u64)>,
}

/// A message that is not complete.
#[derive(Clone, Copy, serde::Serialize, serde::Deserialize)]
struct Message {
    msn: u16,
    first_ns: i64,
    last: Option<u64>,
}

/// What a receiver's counter of bytes counted.
#[derive(Clone, Copy, Default, serde::Serialize, serde::Deserialize)]
struct Received {
    /// The counter, and when the first and the last SACK came that have it.
    last: Option<u32>,
    units: u64,
    span: [i64; 2],
}

#[derive(Clone, Copy, Default, serde::Serialize, serde::Deserialize)]
struct MrcCounts {
    payload: u64,
    again: u64,
    rtx: u64,
    inferred: u64,
    both: u64,
    lost_before: u64,
    lost_after: u64,
    spurious: u64,
    reordered: u64,
    max_extent: u64,
    marked: u64,
    sacks: u64,
    nacks: u64,
    nacks_trimmed: u64,
    nacks_last_hop: u64,
    skip_once: u64,
    skip_always: u64,
    after_skip: u64,
    probes: u64,
    probe_answers: u64,
    trimmed: u64,
    messages: u64,
    completed: u64,
    most_outstanding: u64,
    window: u64,
}

heap! {
    Mrc { connections }
    Connection { ring, ways, messages, ack_rtt, completion }
    Slot {}
    Way {}
    Message {}
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
        let time = facts.time();
        match facts.opcode().operation() {
            Some(Operation::Write) => {
                let most = max_memory / SHARE / (REMEMBERED * size_of::<Slot>());
                let has_room = self.connections.len() < most.min(MAX_CONNECTIONS);
                if has_room || self.connections.contains_key(&id) {
                    let new = || Connection::new([src, dst], qp.0, facts);
                    self.connections.entry(id).or_insert_with(new).on_write(facts, d);
                }
            }
            Some(Operation::Sack) => {
                if let Some(seth) = d.get::<Seth>()
                    && let Some(connection) = self.answered(src, dst, seth.cack_psn())
                {
                    connection.on_sack(seth, d.get::<CcState>(), time);
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

impl Slot {
    fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }

    /// The place of the last transmission's path.
    fn way(&self) -> Option<usize> {
        usize::from(self.path).checked_sub(1)
    }
}

impl Way {
    /// Which half of a structured entropy value is the label is disputed.
    fn has(&self, entropy: Hex32) -> bool {
        let [label, port] = [self.label, self.port].map(u32::from);
        [label << 16 | port, port << 16 | label].contains(&entropy.0)
    }

    /// What it carried, and what SACKs and NACKs say of that.
    fn tally(&self) -> Tally {
        Tally {
            marked: self.tally.marked.max(self.echoes),
            trimmed: self.tally.trimmed + self.trimmed_after,
            ..self.tally
        }
    }
}

impl Received {
    fn add(&mut self, counter: u32, time: i64) {
        const MASK: u32 = 0xff_ffff;
        let Some(last) = self.last else {
            (self.last, self.span) = (Some(counter), [time; 2]);
            return;
        };
        let more = counter.wrapping_sub(last) & MASK;
        // SACKs overtake each other.
        if more <= MASK / 2 {
            (self.last, self.units, self.span[1]) = (Some(counter), self.units + u64::from(more), time);
        }
    }

    /// Bytes from the first SACK to the last.
    fn bytes(&self) -> Option<u64> {
        const UNIT: u64 = 256;
        self.last.map(|_| self.units * UNIT)
    }

    fn rate_bps(&self) -> Option<u64> {
        let ns = u64::try_from(self.span[1].saturating_sub(self.span[0])).ok().filter(|&ns| ns > 0)?;
        u64::try_from(u128::from(self.bytes()?) * 8_000_000_000 / u128::from(ns)).ok()
    }
}

impl Connection {
    fn new([src, dst]: [Address; 2], dest_qp: u32, first: &Facts) -> Connection {
        Connection {
            src,
            dst,
            dest_qp,
            hi: u64::from(Psn::SPACE) + u64::from(first.psn().0),
            acked: None,
            packets: 0,
            begin: first.time(),
            ring: vec![Slot::default(); REMEMBERED],
            ways: Vec::new(),
            messages: VecDeque::new(),
            ack_rtt: Distribution::default(),
            min_rtt: None,
            completion: Distribution::default(),
            received: Received::default(),
            row: MrcCounts::default(),
        }
    }

    /// The place of a path, which may begin with it; the last one stands for those for which there is no room.
    fn way(&mut self, label: u16, port: u16, segments: u128) -> usize {
        let is_it = |way: &Way| (way.label, way.port, way.segments) == (label, port, segments);
        if let Some(at) = self.ways.iter().position(is_it) {
            return at;
        }
        if self.ways.len() < MAX_PATHS {
            self.ways.push(Way { label, port, segments, ..Way::default() });
        }
        self.ways.len() - 1
    }

    /// What is known of this PSN; of one that is too old, nothing.
    fn slot(&mut self, x: u64) -> Option<&mut Slot> {
        let lap = (x / REMEMBERED as u64) as u32;
        let slot = &mut self.ring[x as usize % REMEMBERED];
        if slot.lap < lap {
            *slot = Slot { lap, ..Slot::default() };
        }
        (slot.lap == lap).then_some(slot)
    }

    fn has_arrived(&self, x: u64, slot: &Slot) -> bool {
        slot.has(ARRIVED) || self.acked.is_some_and(|acked| x < acked)
    }

    fn since_begin(&self, time: i64) -> u32 {
        time.wrapping_sub(self.begin) as u32
    }

    fn on_write(&mut self, facts: &Facts, d: &Dissection<'_>) {
        let label = d.get::<Ipv6>().map_or(0, |ip| ip.flow_label() as u16);
        let segments = if d.tunnel_depth() > 0 { segments(d) } else { None };
        let at = self.way(label, facts.port().unwrap_or(0), segments.unwrap_or(0));
        let (time, is_trimmed) = (facts.time(), facts.icrc() == State::Trimmed);
        let is_marked = facts.mark() == Ecn::CE;
        self.packets += 1;
        let (packets, grace) = (self.packets, self.row.window.max(GRACE));
        let way = &mut self.ways[at];
        way.tally.add(facts, is_marked, packets);
        self.row.after_skip += u64::from(way.skipped.is_some_and(|(_, n)| packets > n + grace));
        self.row.marked += u64::from(is_marked);
        if is_trimmed {
            way.tally.trimmed += 1;
            self.row.trimmed += 1;
        } else {
            self.row.payload += u64::from(facts.payload());
        }
        let is_rtx = d.get::<MrcBth>().is_some_and(MrcBth::rtx);
        let (hi, x) = (self.hi, facts.psn().unwrap_near(self.hi));
        let since = self.since_begin(time);
        // Without the bit, a hole is a loss only beyond the reordering that there was.
        let is_far = self.row.reordered > 0 && hi.saturating_sub(x + 1) > self.row.max_extent;
        let Some(slot) = self.slot(x) else { return };
        let before = *slot;
        let is_known = before.path > 0 || before.has(NACKED_TRIMMED | REFUSED);
        let is_again = is_known || before.shown >= SHOWN && (is_rtx || is_far);
        let is_late = before.has(LOST_BEFORE) && !is_rtx;
        // What SACKs show missing, and does not say that it is a retransmission, was late.
        let again = if is_rtx || is_known && !is_late { RESENT } else { 0 };
        let trimmed = if is_trimmed { TRIMMED } else { 0 };
        (slot.path, slot.lost_on, slot.time, slot.shown) = (at as u16 + 1, before.path, since, 0);
        // What was said of the transmission before is not said of this one.
        slot.flags = before.flags & (ARRIVED | RESENT) | again | trimmed;
        self.row.again += u64::from(again != 0);
        self.row.rtx += u64::from(is_rtx);
        self.row.inferred += u64::from(is_again && !is_late);
        self.row.both += u64::from(is_rtx && is_again);
        match () {
            // The first transmission comes behind its retransmission: it was late, not lost.
            () if is_late => {
                self.row.lost_before -= 1;
                self.row.spurious += 1;
                self.ways[at].tally.late += 1;
            }
            () if again != 0 => self.on_again(x, at, &before),
            () if x < hi && !is_trimmed => {
                // To be overtaken by less than a packet of each path is nothing.
                self.ways[at].tally.late += u64::from(hi - x > self.ways.len() as u64);
                self.row.reordered += 1;
                self.row.max_extent = self.row.max_extent.max(hi - 1 - x);
            }
            () => {}
        }
        if is_trimmed {
            return;
        }
        self.hi = hi.max(x + 1);
        if let Some(acked) = self.acked {
            self.row.most_outstanding = self.row.most_outstanding.max(self.hi.saturating_sub(acked));
        }
        if let Some(meth) = d.get::<Meth>() {
            self.on_message(meth.msn(), x, time, facts.opcode().shape().ends);
        }
    }

    /// A retransmission on the path `at`: what became of the transmission before.
    fn on_again(&mut self, x: u64, at: usize, before: &Slot) {
        self.ways[at].tally.resent += 1;
        if self.has_arrived(x, before) {
            self.row.spurious += 1;
            return;
        }
        if before.has(REFUSED) {
            return;
        }
        let is_trimmed = before.has(TRIMMED | NACKED_TRIMMED);
        let flag = match before.way() {
            Some(lost) => {
                self.ways[lost].tally.lost += 1;
                self.row.lost_after += u64::from(!is_trimmed);
                LOST_AFTER
            }
            None => {
                self.row.lost_before += u64::from(!is_trimmed);
                LOST_BEFORE
            }
        };
        if !is_trimmed && let Some(slot) = self.slot(x) {
            slot.flags |= flag;
        }
    }

    fn on_message(&mut self, msn: u16, x: u64, time: i64, ends: bool) {
        let known = self.messages.iter_mut().rev().find(|message| message.msn == msn);
        if let Some(message) = known {
            message.last = message.last.or(ends.then_some(x));
            return;
        }
        // A retransmission of a message that is complete, or too old, begins none.
        if self.acked.is_some_and(|acked| x < acked) {
            return;
        }
        if self.messages.len() == MAX_MESSAGES {
            self.messages.pop_front();
        }
        self.row.messages += 1;
        self.messages.push_back(Message { msn, first_ns: time, last: ends.then_some(x) });
    }

    fn on_sack(&mut self, seth: &Seth, state: Option<&CcState>, time: i64) {
        self.row.sacks += 1;
        self.row.window = u64::from(seth.mpr()) * WINDOW_UNIT;
        if seth.cc_type() == 0
            && let Some(state) = state
        {
            self.received.add(state.rcvd_bytes(), time);
        }
        if seth.pr() {
            self.row.probe_answers += 1;
        } else {
            self.on_acknowledged(seth, time);
        }
        let (bitmap, first) = (seth.sack_bitmap().0, seth.sack_psn().unwrap_near(self.hi));
        // Behind the highest one that has arrived, nothing is said.
        let shown = 64 - bitmap.leading_zeros();
        for bit in 0..shown {
            let x = first + u64::from(bit);
            let is_acked = self.acked.is_some_and(|acked| x < acked);
            let Some(slot) = self.slot(x) else { continue };
            if bitmap >> bit & 1 == 1 {
                self.arrives(x, time);
            } else if !is_acked && !slot.has(ARRIVED) {
                slot.shown = slot.shown.saturating_add(1);
            }
        }
        let acked = seth.cack_psn().unwrap_near(self.hi) + 1;
        let from = self.acked.unwrap_or(acked).max(acked.saturating_sub(REMEMBERED as u64));
        for x in from..acked {
            self.arrives(x, time);
        }
        self.acked = self.acked.max(Some(acked));
        while let Some(message) = self.messages.front()
            && let Some(last) = message.last
            && last < acked
        {
            self.completion.add(u64::try_from(time.saturating_sub(message.first_ns)).unwrap_or(0));
            self.row.completed += 1;
            self.messages.pop_front();
        }
    }

    /// The packet that caused a SACK, and what that says of its path.
    fn on_acknowledged(&mut self, seth: &Seth, time: i64) {
        let mark = seth.m();
        self.row.skip_once += u64::from(mark == PathMark(1));
        self.row.skip_always += u64::from(mark == PathMark(2));
        let since = self.since_begin(time);
        let Some(slot) = self.slot(seth.ack_psn().unwrap_near(self.hi)) else { return };
        let slot = *slot;
        let (hint, ways) = (slot.way(), &mut self.ways);
        let is_hinted = |at: &usize| ways.get(*at).is_some_and(|way| way.has(seth.entropy()));
        let named = match hint.filter(is_hinted) {
            Some(at) => Some(at),
            None => ways.iter().position(|way| way.has(seth.entropy())),
        };
        // Where the entropy value is no path of ours, it is that of the packet.
        let at = named.or(hint);
        if let Some(way) = at.and_then(|at| ways.get_mut(at)) {
            way.echoes += u64::from(mark.0 > 0);
            if mark == PathMark(2) {
                way.skipped.get_or_insert((time, self.packets));
            }
        }
        if let Some(at) = hint
            && !slot.has(RESENT | ARRIVED)
        {
            let rtt = u64::from(since.wrapping_sub(slot.time));
            self.ack_rtt.add(rtt);
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
            let way = &mut self.ways[at];
            (way.rtts, way.rtt_sum) = (way.rtts + 1, way.rtt_sum.saturating_add(rtt));
            way.rtt_max = way.rtt_max.max(rtt);
        }
        // The answer to a transmission that was taken for lost.
        let lost_on = usize::from(slot.lost_on).checked_sub(1);
        if slot.has(LOST_AFTER) && named.is_some() && named == lost_on && named != hint {
            self.was_not_lost(seth.ack_psn().unwrap_near(self.hi));
        }
    }

    /// A SACK shows that this PSN has arrived: earlier than an answer to its retransmission could come, it was not lost.
    fn arrives(&mut self, x: u64, time: i64) {
        let (since, shortest) = (self.since_begin(time), self.min_rtt.unwrap_or(0));
        let Some(slot) = self.slot(x) else { return };
        let is_early = u64::from(since.wrapping_sub(slot.time)) < shortest;
        let is_lost = slot.has(LOST_AFTER) && !slot.has(ARRIVED);
        slot.flags |= ARRIVED;
        if is_lost && is_early {
            self.was_not_lost(x);
        }
    }

    /// What was taken for lost behind the tap was late.
    fn was_not_lost(&mut self, x: u64) {
        let Some(slot) = self.slot(x) else { return };
        slot.flags &= !LOST_AFTER;
        let lost_on = usize::from(slot.lost_on).checked_sub(1);
        self.row.lost_after -= 1;
        self.row.spurious += 1;
        if let Some(way) = lost_on.and_then(|at| self.ways.get_mut(at)) {
            way.tally.lost -= 1;
        }
    }

    fn on_nack(&mut self, neth: &Neth) {
        self.row.nacks += 1;
        let is_last_hop = neth.reason() == NackReason::TRIMMED_LAST_HOP;
        let is_trimmed = is_last_hop || neth.reason() == NackReason::TRIMMED;
        self.row.nacks_last_hop += u64::from(is_last_hop);
        self.row.nacks_trimmed += u64::from(is_trimmed);
        let x = neth.nack_psn().unwrap_near(self.hi);
        let Some(slot) = self.slot(x) else { return };
        let is_new = is_trimmed && !slot.has(TRIMMED | NACKED_TRIMMED);
        slot.flags |= if is_trimmed { NACKED_TRIMMED } else { REFUSED };
        if let Some(at) = slot.way().filter(|_| is_new) {
            self.ways[at].trimmed_after += 1;
        }
    }

    fn row(&self, flow: Option<usize>) -> MrcConnection {
        let row = &self.row;
        let either = row.rtx + row.inferred - row.both;
        let carried = self.ways.iter().map(|way| way.tally.bytes);
        MrcConnection {
            flow,
            src: self.src.to_string(),
            dst: self.dst.to_string(),
            dest_qp: self.dest_qp,
            paths: self.ways.len() as u64,
            path_fairness: spread(carried).map(|spread| spread.jain),
            packets: self.packets,
            payload_bytes: row.payload,
            retransmits: row.again,
            rtx_packets: row.rtx,
            inferred_retransmits: row.inferred,
            rtx_agreement: (either > 0).then(|| row.both as f64 / either as f64),
            lost_before_tap: row.lost_before,
            lost_after_tap: row.lost_after,
            spurious_retransmits: row.spurious,
            reordered: row.reordered,
            max_reorder_extent: row.max_extent,
            ce_packets: row.marked,
            trimmed: row.trimmed,
            sacks: row.sacks,
            nacks: row.nacks,
            nacks_trimmed: row.nacks_trimmed,
            nacks_trimmed_last_hop: row.nacks_last_hop,
            skip_once: row.skip_once,
            skip_always: row.skip_always,
            after_skip: row.after_skip,
            probes: row.probes,
            probe_answers: row.probe_answers,
            messages: row.messages,
            completed: row.completed,
            completion_ns: self.completion.summary(),
            ack_rtt_ns: self.ack_rtt.summary(),
            window_packets: (row.sacks > 0).then_some(row.window),
            most_outstanding: self.acked.map(|_| row.most_outstanding),
            receiver_bytes: self.received.bytes(),
            receiver_rate_bps: self.received.rate_bps(),
        }
    }

    fn paths(&self, flow: Option<usize>) -> impl Iterator<Item = FlowPath> {
        let of = OfFlow { flow, src: self.src, dst: self.dst, dest_qp: self.dest_qp };
        let entropy = self.ways.iter().map(|way| (way.port, Some(way.label).filter(|&label| label > 0)));
        let segments = |way: &Way| {
            let is_any = way.segments > 0;
            is_any.then(|| Ipv6Addr::from(way.segments).to_string())
        };
        let tallies: Vec<Tally> = self.ways.iter().map(Way::tally).collect();
        let all: Vec<FlowPath> = rows(&of, &tallies, false, entropy).collect();
        let (rtts, sum) = self.ways.iter().fold((0, 0), |(n, sum), way| (n + way.rtts, sum + way.rtt_sum));
        all.into_iter().zip(&self.ways).map(move |(path, way)| {
            let mean = way.rtt_sum.checked_div(way.rtts);
            let of_others = (sum - way.rtt_sum).checked_div(rtts - way.rtts);
            let is_slow = way.rtts >= ENOUGH
                && mean.zip(of_others).is_some_and(|(own, others)| own > others.saturating_mul(SLOW));
            let state = match path.state {
                _ if way.skipped.is_some() => PathState::Skipped,
                PathState::Good if is_slow => PathState::Slow,
                state => state,
            };
            FlowPath {
                state,
                ack_rtt_mean_ns: mean,
                ack_rtt_max_ns: mean.map(|_| way.rtt_max),
                skipped_ns: way.skipped.map(|(time, _)| time),
                segments: segments(way),
                ..path
            }
        })
    }
}

/// Where the IPv6 header goes that the packet's own one is right behind, as in SRv6.
#[cold]
fn segments(d: &Dissection<'_>) -> Option<u128> {
    let own = d.offset(Kind::Ipv6)?;
    let mut around = None;
    for layer in d.layers().iter() {
        match layer.kind {
            Kind::Ipv6 if layer.at as usize == own => break,
            Kind::Ipv6 => around = Some(layer.at as usize),
            Kind::Ipv6Extension => {}
            _ => around = None,
        }
    }
    let (ip, _) = Ipv6::view(d.frame().get(around?..)?)?;
    Some(u128::from(ip.dst()))
}
