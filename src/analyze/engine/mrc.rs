//! Connections of MRC: packets in any order over many paths, selective acknowledgements, retransmissions that say that they are some.

use std::collections::BTreeMap;

use crate::{
    analyze::{
        metric::{
            KnownFlow, bit_rate,
            paths::{Carried, OfFlow, in_order},
            sprayed::{Entropy, Fit, Refused, Said, Sent, Sprayed},
        },
        model::{Address, FlowId},
        packet::Facts,
    },
    dissect::Dissection,
    heap::heap,
    icrc::State,
    opcode::Operation,
    report::{FlowPath, MrcConnection, Reason, Why},
    wire::*,
};

/// Connections that are followed.
const MAX_CONNECTIONS: usize = 1024;
/// They take at most such a part of the memory of the analysis.
const SHARE: usize = 8;
/// Packets of the receive window, in one unit of its field.
const WINDOW_UNIT: u64 = 128;
const BITS_OF_PSN: u32 = 24;
/// Queue pairs whose answers are counted before it is known of which connection they are.
const MAX_UNKNOWN: usize = 64;

/// All connections, by the flow of their WRITEs.
#[derive(Default, crate::stored::Stored)]
pub(crate) struct Mrc {
    connections: BTreeMap<FlowId, Connection>,
    unknown: Vec<Unknown>,
}

/// Answers to a queue pair that sends the WRITEs of one of several connections: which, is not known yet.
#[derive(crate::stored::Stored)]
struct Unknown {
    src: Address,
    dst: Address,
    qp: u32,
    row: MrcCounts,
}

/// A SACK or a NACK, as far as it tells of which connection it is: where it goes, and which packet it is of.
#[derive(Clone, Copy)]
struct Answer {
    src: Address,
    dst: Address,
    qp: u32,
    /// The number that its sender has for the connection: of some adapters the low bits of its queue pair's.
    sender: u16,
    psn: Psn,
    entropy: u32,
}

#[derive(crate::stored::Stored)]
struct Connection {
    src: Address,
    dst: Address,
    dest_qp: u32,
    /// The queue pair that sends its WRITEs: answers go there.
    source_qp: Option<u32>,
    sprayed: Sprayed,
    received: Received,
    row: MrcCounts,
}

/// What a receiver's counter of bytes counted.
#[derive(Clone, Copy, Default, crate::stored::Stored)]
struct Received {
    /// The counter, and when the first and the last SACK came that have it.
    last: Option<u32>,
    units: u64,
    span: [i64; 2],
}

#[derive(Clone, Copy, Default, crate::stored::Stored)]
struct MrcCounts {
    payload: u64,
    sacks: u64,
    nacks: u64,
    nacks_trimmed: u64,
    nacks_last_hop: u64,
    skip_once: u64,
    skip_always: u64,
    probes: u64,
    probe_answers: u64,
    /// SACKs and NACKs that were cut: of this connection, and of this one or another one.
    cut_sacks: u64,
    cut_nacks: u64,
    perhaps_cut: bool,
    /// There are others of this connection, or of another one.
    perhaps_more: bool,
}

heap! {
    Mrc { connections, unknown }
    Unknown {}
    Connection { sprayed }
}

impl Mrc {
    /// A packet of this flow. Returns whether it is counted at another tap. `max_memory`: of the analysis. Its code lies apart: inlined, it would take the place of what other packets
    /// need in the processor's cache of instructions.
    #[cold]
    #[inline(never)]
    pub(crate) fn on_packet(
        &mut self,
        id: FlowId,
        facts: &Facts,
        d: &Dissection<'_>,
        max_memory: usize,
    ) -> bool {
        let (Some(src), Some(dst), Some(qp)) = (facts.source(), facts.destination(), facts.dest_qp()) else {
            return false;
        };
        let (time, interface) = (facts.time(), facts.interface());
        let answer_of = |psn, sender, entropy| Answer { src, dst, qp: qp.0, sender, psn, entropy };
        match facts.opcode().operation() {
            Some(Operation::Write) => {
                let most = max_memory / SHARE / Sprayed::BYTES;
                let has_room = self.connections.len() < most.min(MAX_CONNECTIONS);
                if has_room || self.connections.contains_key(&id) {
                    let new = || Connection::new([src, dst], qp.0, facts);
                    return self.connections.entry(id).or_insert_with(new).on_write(facts, d);
                }
            }
            Some(Operation::Sack) => {
                let Some(seth) = d.get::<Seth>() else {
                    self.on_cut_answer([src, dst], qp.0, |row| &mut row.cut_sacks);
                    return false;
                };
                // What answers a probe names no packet.
                let psn = if seth.pr() { seth.cack_psn() } else { seth.ack_psn() };
                let answer = answer_of(psn, seth.spdcid().0, seth.entropy().0);
                match self.answered(&answer) {
                    Ok(connection) => {
                        if !connection.sprayed.takes_answers(interface) {
                            return true;
                        }
                        connection.on_sack(seth, d.get::<CcState>(), time);
                    }
                    Err(Ambiguous) => self.keep(&answer, |row| row.sack(seth)),
                }
            }
            Some(Operation::Nack) => {
                let Some(neth) = d.get::<Neth>() else {
                    self.on_cut_answer([src, dst], qp.0, |row| &mut row.cut_nacks);
                    return false;
                };
                let answer = answer_of(neth.nack_psn(), neth.spdcid().0, neth.entropy().0);
                match self.answered(&answer) {
                    Ok(connection) => {
                        if !connection.sprayed.takes_answers(interface) {
                            return true;
                        }
                        connection.on_nack(neth);
                    }
                    Err(Ambiguous) => self.keep(&answer, |row| row.nack(neth)),
                }
            }
            Some(Operation::Probe) => {
                if let Some(connection) = self.connections.get_mut(&id) {
                    if !connection.sprayed.takes_answers(interface) {
                        return true;
                    }
                    connection.row.probes += 1;
                }
            }
            _ => {}
        }
        false
    }

    /// The connection that a packet answers: the one whose WRITEs come from the queue pair that it goes to. WRITEs do not say which that is: of the connections
    /// in the other direction, it is the only one that has sent such a packet.
    fn answered(&mut self, answer: &Answer) -> Result<&mut Connection, Ambiguous> {
        let id = match self.bound(answer) {
            Some(id) => Some(id),
            None => self.bind(answer),
        };
        id.and_then(|id| self.connections.get_mut(&id)).ok_or(Ambiguous)
    }

    fn bound(&mut self, answer: &Answer) -> Option<FlowId> {
        let is_it = |one: &mut Connection| {
            one.has_ends(answer) && one.source_qp == Some(answer.qp) && one.fits(answer, Fit::Near)
        };
        self.connections.iter_mut().find_map(|(&id, one)| is_it(one).then_some(id))
    }

    /// Finds the connection by what the answer says, and remembers it if that is proof.
    fn bind(&mut self, answer: &Answer) -> Option<FlowId> {
        // Numbers that are not those of queue pairs are like one of these by chance, hardly ever.
        let is_named = |one: &mut Connection| {
            answer.sender != 0
                && one.dest_qp as u16 == answer.sender
                && one.has_ends(answer)
                && one.fits(answer, Fit::Near)
        };
        let mut named = self.connections.iter_mut().filter_map(|(&id, one)| is_named(one).then_some(id));
        if let (Some(id), None) = (named.next(), named.next()) {
            drop(named);
            self.now_known(id, answer);
            return Some(id);
        }
        for step in [Fit::Near, Fit::Sent, Fit::Path] {
            let is_one = |one: &mut Connection| {
                let is_open = one.source_qp.is_none_or(|qp| qp == answer.qp);
                is_open && one.has_ends(answer) && one.fits(answer, step)
            };
            let mut fitting = self.connections.iter_mut().filter_map(|(&id, one)| is_one(one).then_some(id));
            match (fitting.next(), fitting.next()) {
                // Of one alone, answers may come that the tap did not see sent.
                (Some(one), None) => {
                    drop(fitting);
                    if let Some(connection) = self.connections.get_mut(&one)
                        && connection.fits(answer, Fit::Sent)
                    {
                        self.now_known(one, answer);
                    }
                    return Some(one);
                }
                (Some(_), Some(_)) => {}
                (None, _) => break,
            }
        }
        let mut of_ends = self.connections.iter().filter(|(_, one)| one.has_ends(answer));
        let (only, other) = (of_ends.next(), of_ends.next());
        only.filter(|_| other.is_none()).map(|(&id, _)| id)
    }

    /// It is known of which connection the answers to a queue pair are, also those that came before.
    fn now_known(&mut self, id: FlowId, answer: &Answer) {
        for other in self.connections.values_mut() {
            if other.has_ends(answer) && other.source_qp == Some(answer.qp) {
                other.source_qp = None;
            }
        }
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.source_qp = Some(answer.qp);
        if let Some(at) = self.unknown.iter().position(|unknown| unknown.is_to(answer)) {
            connection.row.add(&self.unknown.swap_remove(at).row);
        }
    }

    /// An answer of which it is not known yet which connection it is of.
    fn keep(&mut self, answer: &Answer, count: impl FnOnce(&mut MrcCounts)) {
        if let Some(unknown) = self.unknown.iter_mut().find(|unknown| unknown.is_to(answer)) {
            return count(&mut unknown.row);
        }
        let &Answer { src, dst, qp, .. } = answer;
        if !self.connections.values().any(|one| one.has_ends(answer)) {
            return;
        }
        if self.unknown.len() == MAX_UNKNOWN {
            let open = self.connections.values_mut().filter(|one| one.has_ends(answer));
            return open.for_each(|one| one.row.perhaps_more = true);
        }
        let mut row = MrcCounts::default();
        count(&mut row);
        self.unknown.push(Unknown { src, dst, qp, row });
    }

    /// An answer of which no more was captured than its operation code. It says which queue pair it goes to.
    fn on_cut_answer(&mut self, [src, dst]: [Address; 2], qp: u32, count: fn(&mut MrcCounts) -> &mut u64) {
        let is_known = |one: &&mut Connection| (one.src, one.dst, one.source_qp) == (dst, src, Some(qp));
        if let Some(known) = self.connections.values_mut().find(is_known) {
            return *count(&mut known.row) += 1;
        }
        let mut of_ends = self.connections.values_mut().filter(|one| (one.src, one.dst) == (dst, src));
        let Some(first) = of_ends.next() else { return };
        let mut is_one = true;
        for other in of_ends {
            (other.row.perhaps_cut, is_one) = (true, false);
        }
        match is_one {
            true => *count(&mut first.row) += 1,
            false => first.row.perhaps_cut = true,
        }
    }

    /// Packets that were lost before the tap on paths that are not known.
    pub(crate) fn lost_unattributed(&self) -> u64 {
        self.connections.values().map(|connection| connection.sprayed.lost_unattributed()).sum()
    }

    /// The report's rows: connections, and their paths.
    pub(crate) fn section(
        &self,
        known: impl Fn(FlowId) -> Option<KnownFlow>,
    ) -> (Vec<MrcConnection>, Vec<FlowPath>) {
        let (mut rows, mut paths) = (Vec::new(), Vec::new());
        for (&id, connection) in &self.connections {
            let flow = known(id).map(|known| known.index);
            // Those that nothing told apart are of one of the connections whose queue pair is not known.
            let is_one = |unknown: &Unknown| {
                (unknown.src, unknown.dst) == (connection.dst, connection.src)
                    && connection.source_qp.is_none()
            };
            let has_more = connection.row.perhaps_more || self.unknown.iter().any(is_one);
            rows.push(connection.row(flow, has_more));
            paths.extend(connection.paths(flow));
        }
        (rows, in_order(paths))
    }
}

/// Nothing tells of which connection an answer is.
struct Ambiguous;

impl Unknown {
    fn is_to(&self, answer: &Answer) -> bool {
        (self.src, self.dst, self.qp) == (answer.src, answer.dst, answer.qp)
    }
}

impl MrcCounts {
    fn sack(&mut self, seth: &Seth) {
        self.sacks += 1;
        // What it says of a path is of the entropy value in it, whatever it answers.
        self.skip_once += u64::from(seth.m() == PathMark(1));
        self.skip_always += u64::from(seth.m() == PathMark(2));
        self.probe_answers += u64::from(seth.pr());
    }

    fn nack(&mut self, neth: &Neth) {
        self.nacks += 1;
        let is_last_hop = neth.reason() == NackReason::TRIMMED_LAST_HOP;
        self.nacks_last_hop += u64::from(is_last_hop);
        self.nacks_trimmed += u64::from(is_last_hop || neth.reason() == NackReason::TRIMMED);
    }

    /// Those of answers that came before it was known that they are of it.
    fn add(&mut self, other: &MrcCounts) {
        self.sacks += other.sacks;
        self.nacks += other.nacks;
        self.nacks_trimmed += other.nacks_trimmed;
        self.nacks_last_hop += other.nacks_last_hop;
        self.skip_once += other.skip_once;
        self.skip_always += other.skip_always;
        self.probe_answers += other.probe_answers;
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
        Some(bit_rate(self.bytes()?, ns))
    }
}

impl Connection {
    fn new([src, dst]: [Address; 2], dest_qp: u32, first: &Facts) -> Connection {
        Connection {
            src,
            dst,
            dest_qp,
            source_qp: None,
            sprayed: Sprayed::new(BITS_OF_PSN, first.psn().0, first.time()),
            received: Received::default(),
            row: MrcCounts::default(),
        }
    }

    /// Whether an answer goes from its receiver to its sender.
    fn has_ends(&self, answer: &Answer) -> bool {
        (self.src, self.dst) == (answer.dst, answer.src)
    }

    fn fits(&mut self, answer: &Answer, step: Fit) -> bool {
        self.sprayed.fits(answer.psn.0, answer.entropy, step)
    }

    /// Returns whether another tap had recorded it.
    fn on_write(&mut self, facts: &Facts, d: &Dissection<'_>) -> bool {
        let is_trimmed = facts.icrc() == State::Trimmed;
        let sent = Sent {
            carried: Carried::of(facts),
            is_rtx: d.get::<MrcBth>().is_some_and(MrcBth::rtx),
            stamp: d.get::<Tseth>().map(|stamp| stamp.tx_timestamp()),
            is_trimmed,
            is_ordered: false,
        };
        let (psn, entropy) = (facts.psn().0, Entropy::of(d, facts.port().unwrap_or(0)));
        if self.sprayed.comes_elsewhere(psn, entropy, &sent) {
            return true;
        }
        self.sprayed.on_sent(psn, entropy, &sent);
        if is_trimmed {
            return false;
        }
        self.row.payload += u64::from(facts.payload());
        if let Some(meth) = d.get::<Meth>() {
            self.sprayed.on_message(meth.msn(), psn, facts.time(), facts.opcode().shape().ends);
        }
        false
    }

    fn on_sack(&mut self, seth: &Seth, state: Option<&CcState>, time: i64) {
        self.row.sack(seth);
        self.sprayed.window = u64::from(seth.mpr()) * WINDOW_UNIT;
        if seth.cc_type() == 0
            && let Some(state) = state
        {
            self.received.add(state.rcvd_bytes(), time);
        }
        let mark = seth.m();
        if seth.pr() {
            if mark == PathMark(2) {
                self.sprayed.on_skipped(seth.entropy().0, time);
            }
        } else {
            let said = Said {
                is_marked: mark.0 > 0,
                is_skipped: mark == PathMark(2),
                entropy: Some(seth.entropy().0),
                echo: state.filter(|_| seth.cc_type() == 0).map(|state| state.tx_timestamp()),
                is_again: false,
            };
            self.sprayed.on_acknowledged(seth.ack_psn().0, said, time);
        }
        self.sprayed.on_bitmap(seth.sack_psn().0, seth.sack_bitmap().0, time);
        self.sprayed.on_cumulative(seth.cack_psn().0, time);
    }

    fn on_nack(&mut self, neth: &Neth) {
        self.row.nack(neth);
        let is_trimmed = matches!(neth.reason(), NackReason::TRIMMED | NackReason::TRIMMED_LAST_HOP);
        self.sprayed
            .on_refused(neth.nack_psn().0, if is_trimmed { Refused::Trimmed } else { Refused::Otherwise });
    }

    /// `has_more`: there are answers that are perhaps of it.
    fn row(&self, flow: Option<usize>, has_more: bool) -> MrcConnection {
        let (row, sprayed) = (&self.row, &self.sprayed);
        let sums = &sprayed.sums();
        let mut why = Why::new();
        let mut known = |is_known: bool, reason: Reason, fields: &[&'static str]| {
            why.extend(fields.iter().filter(|_| !is_known).map(|&field| (field.into(), reason)));
            move |n: u64| is_known.then_some(n)
        };
        let is_sure = !row.perhaps_cut && !has_more;
        let cause = if has_more { Reason::SeveralConnections } else { Reason::Truncated };
        let of_answers = known(is_sure, cause, &["sacks", "nacks"]);
        let of_nacks =
            known(is_sure && row.cut_nacks == 0, cause, &["nacks_trimmed", "nacks_trimmed_last_hop"]);
        let of_sacks = known(
            is_sure && row.cut_sacks == 0,
            cause,
            &["skip_once", "skip_always", "after_skip", "probe_answers", "completed"],
        );
        let agreement = sprayed.agreement();
        if agreement.is_none() && sums.rtx > 0 {
            why.insert("rtx_agreement".into(), Reason::OneWay);
        }
        MrcConnection {
            flow,
            src: self.src.to_string(),
            dst: self.dst.to_string(),
            dest_qp: self.dest_qp,
            paths: sprayed.path_count(),
            path_fairness: sprayed.fairness(),
            packets: sums.packets,
            payload_bytes: row.payload,
            retransmits: sums.again,
            rtx_packets: sums.rtx,
            inferred_retransmits: sums.inferred,
            rtx_agreement: agreement,
            lost_before_tap: sums.lost_before,
            lost_after_tap: sums.lost_after,
            lost_or_late: sums.lost_or_late,
            spurious_retransmits: sums.spurious,
            reordered: sums.reordered,
            max_reorder_extent: sums.max_extent,
            ce_packets: sums.marked,
            trimmed: sums.trimmed,
            sacks: of_answers(row.sacks + row.cut_sacks),
            nacks: of_answers(row.nacks + row.cut_nacks),
            nacks_trimmed: of_nacks(row.nacks_trimmed),
            nacks_trimmed_last_hop: of_nacks(row.nacks_last_hop),
            skip_once: of_sacks(row.skip_once),
            skip_always: of_sacks(row.skip_always),
            after_skip: of_sacks(sums.after_skip),
            probes: row.probes,
            probe_answers: of_sacks(row.probe_answers),
            messages: sums.messages,
            completed: of_sacks(sums.completed),
            completion_ns: sprayed.completion(),
            ack_rtt_ns: sprayed.ack_rtt(),
            window_packets: (row.sacks > 0).then_some(sprayed.window),
            most_outstanding: sprayed.most_outstanding(),
            receiver_bytes: self.received.bytes(),
            receiver_rate_bps: self.received.rate_bps(),
            why,
        }
    }

    fn paths(&self, flow: Option<usize>) -> Vec<FlowPath> {
        let dest_qp = Some(self.dest_qp);
        self.sprayed.paths(&OfFlow { flow, src: self.src, dst: self.dst, dest_qp, spdcid: None })
    }
}
