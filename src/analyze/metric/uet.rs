//! Packet delivery contexts of Ultra Ethernet: requests in any order, selective acknowledgements, retransmissions that say that they are
//! some, what became of operations.
//!
//! A context has two sides, and each may send requests. What is kept is of one side, by its addresses and its number of the context: an
//! answer names that number as its destination.

use std::collections::BTreeMap;

use super::Metric;
use crate::{
    analyze::model::{Address, Event},
    dissect::{Dissection, Layers},
    heap::{Heap, heap},
    icrc::{self, State},
    report::{Reason, UetContext, UetCount, UetCounted, UetMode, UetPackets, UetState, Why},
    wire::*,
};

/// Contexts that are followed.
const MAX_CONTEXTS: usize = 1024;
/// They take at most such a part of the memory of the analysis.
const SHARE: usize = 8;
/// PSNs that are remembered of each.
const REMEMBERED: usize = 1 << 11;
/// A PSN is missing, and not only late, if so many SACKs showed it so.
const SHOWN: u8 = 3;
/// Names that are counted of each.
const MAX_COUNTS: usize = 256;

/// The metric.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Uet {
    verifies: bool,
    most: usize,
    packets: u64,
    encrypted: u64,
    rudi: u64,
    uud: u64,
    good_crcs: u64,
    bad_crcs: u64,
    untracked: u64,
    sides: BTreeMap<Key, Side>,
}

/// Who sends requests, to whom, and its number of the context.
type Key = (Address, Address, u16);

/// One side of a context.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Side {
    /// One past the highest PSN, counted on through wraps; 0 before the first request.
    hi: u64,
    #[serde(with = "crate::stored::roomy")]
    ring: Vec<Slot>,
    /// The payload of packets that are not the last of their message, where one was whole.
    full: u32,
    first_frame: u64,
    syn_ns: Option<i64>,
    answer_ns: Option<i64>,
    probe: Option<(u16, i64)>,
    peer: Option<u16>,
    is_ordered: Option<bool>,
    is_closing: bool,
    is_closed: bool,
    close_psn: Option<u32>,
    counts: BTreeMap<(u8, u8), Counted>,
    row: Counts,
}

/// What is known of a PSN.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Slot {
    x: u64,
    /// When it was sent first.
    time: i64,
    /// SACKs that showed it missing.
    shown: u8,
    is_nacked: bool,
    is_seen: bool,
    is_again: bool,
    is_answered: bool,
}

#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Counted {
    count: u64,
    bytes: u64,
}

#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Counts {
    packets: u64,
    payload: u64,
    retransmits: u64,
    inferred: u64,
    both: u64,
    reordered: u64,
    max_extent: u64,
    trimmed: u64,
    ce: u64,
    acks: u64,
    marked: u64,
    missing: u64,
    nacks: u64,
    nacks_trimmed: u64,
    nacks_last_hop: u64,
    control: u64,
    credit_target: Option<u32>,
    credit: Option<u32>,
    rtts: u64,
    rtt_sum: u64,
    rtt_min: u64,
    rtt_max: u64,
}

heap! {
    Slot {}
    Counted {}
    Side { ring, counts }
}

impl Heap for (u8, u8) {
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// The headers of a packet, as far as they are there.
struct Headers<'a, 'd> {
    d: &'a Dissection<'d>,
    layers: Layers,
}

impl<'d> Headers<'_, 'd> {
    fn get<H: Header>(&self) -> Option<&'d H> {
        let layer = self.layers.iter().find(|layer| layer.kind == H::KIND)?;
        H::view(self.d.frame().get(layer.at as usize..)?).map(|(header, _)| header)
    }
}

impl Metric for Uet {
    fn on_frame(&mut self, event: &Event<'_>) {
        if event.packet.is_uet() {
            self.on_packet(event);
        }
    }

    fn heap_bytes(&self) -> usize {
        self.sides.len() * size_of::<(Key, Side)>() + self.sides.values().map(Heap::heap_bytes).sum::<usize>()
    }
}

impl Uet {
    /// `verifies`: whether CRCs are verified; `max_memory`: of the analysis.
    pub(crate) fn new(verifies: bool, max_memory: usize) -> Uet {
        let most = max_memory / SHARE / (REMEMBERED * size_of::<Slot>());
        Uet { verifies, most: most.min(MAX_CONTEXTS), ..Uet::default() }
    }

    #[cold]
    #[inline(never)]
    fn on_packet(&mut self, event: &Event<'_>) {
        let d = event.packet;
        self.packets += 1;
        match if self.verifies { icrc::verify(d) } else { State::Unchecked } {
            State::Good => self.good_crcs += 1,
            State::Bad => return self.bad_crcs += 1,
            _ => {}
        }
        let headers = Headers { d, layers: d.layers() };
        let Some(ends) = d.addresses() else { return };
        let (time, frame) = (event.record.time.0, event.number);
        if let Some(request) = headers.get::<PdsRequest>() {
            if let Some(side) = self.side(ends, request.spdcid(), frame) {
                side.peer = Some(request.dpdcid().0);
                side.on_request(request, time, &headers);
            }
        } else if let Some(request) = headers.get::<PdsRequestSyn>() {
            if let Some(side) = self.side(ends, request.spdcid(), frame) {
                side.syn_ns.get_or_insert(time);
                // Both forms have the rest in common.
                if let Some((request, _)) = PdsRequest::view(request.bytes()) {
                    side.on_request(request, time, &headers);
                }
            }
        } else if let Some(ack) = headers.get::<PdsAck>() {
            if let Some(side) = self.side(back(ends), ack.dpdcid(), frame) {
                side.on_ack(ack, time, &headers);
            }
        } else if let Some(nack) = headers.get::<PdsNack>() {
            // The psn of others is the number of a request.
            if !nack.rudi()
                && let Some(side) = self.side(back(ends), nack.dpdcid(), frame)
            {
                side.on_nack(nack, time);
            }
        } else if let Some(control) = headers.get::<PdsControl>() {
            if let Some(side) = self.side(ends, control.spdcid(), frame) {
                side.peer = Some(control.dpdcid().0);
                side.on_control(control, time);
            }
            if control.control_type() == PdsControlType::CLOSE_REQUEST
                && let Some(side) = self.side(back(ends), control.dpdcid(), frame)
            {
                side.is_closing = true;
            }
        } else if let Some(control) = headers.get::<PdsControlSyn>() {
            if let Some(side) = self.side(ends, control.spdcid(), frame) {
                side.syn_ns.get_or_insert(time);
                if let Some((control, _)) = PdsControl::view(control.bytes()) {
                    side.on_control(control, time);
                }
            }
        } else if headers.get::<PdsRudi>().is_some() {
            self.rudi += 1;
        } else if headers.get::<PdsUud>().is_some() {
            self.uud += 1;
        } else if headers.get::<Tss>().is_some() {
            self.encrypted += 1;
        }
    }

    /// The side that sends requests from and to these addresses by this number; `None` where there is no room for one more.
    fn side(&mut self, ends: [Address; 2], id: Hex16, frame: u64) -> Option<&mut Side> {
        let key = (ends[0], ends[1], id.0);
        if self.sides.len() >= self.most && !self.sides.contains_key(&key) {
            self.untracked += 1;
            return None;
        }
        Some(self.sides.entry(key).or_insert_with(|| Side::new(frame)))
    }

    /// The report's rows: contexts, what is counted of them, and of all packets.
    pub(crate) fn section(&self) -> (Vec<UetContext>, Vec<UetCount>, BTreeMap<UetPackets, u64>) {
        // Control packets of a side without requests, such as credits, make no row.
        let rows = || self.sides.iter().filter(|(_, side)| side.hi > 0 || side.row.acks + side.row.nacks > 0);
        let packets = [
            (UetPackets::All, self.packets),
            (UetPackets::Encrypted, self.encrypted),
            (UetPackets::Rudi, self.rudi),
            (UetPackets::Uud, self.uud),
            (UetPackets::GoodCrc, self.good_crcs),
            (UetPackets::BadCrc, self.bad_crcs),
            (UetPackets::Untracked, self.untracked),
        ];
        (
            rows().map(|(key, side)| side.row(key)).collect(),
            rows().flat_map(|(key, side)| side.counts(key)).collect(),
            packets.into_iter().filter(|(_, n)| *n > 0).collect(),
        )
    }
}

fn back([src, dst]: [Address; 2]) -> [Address; 2] {
    [dst, src]
}

/// What a request says of its message.
struct Message {
    opcode: SesOpcode,
    is_first: bool,
    is_last: bool,
    /// Bytes of the message, where they are not disputed.
    length: Option<u32>,
    /// Payload that the packet must have.
    stated: Option<u32>,
}

impl Message {
    fn of(headers: &Headers<'_, '_>) -> Option<Message> {
        if let Some(later) = headers.get::<SesStandardLater>() {
            return Some(Message {
                opcode: later.opcode(),
                is_first: false,
                is_last: later.eom(),
                length: None,
                stated: Some(later.payload_length().into()),
            });
        }
        if let Some(first) = headers.get::<SesStandard>() {
            let (opcode, length) = (first.opcode(), first.request_length());
            let stated = (first.eom() && opcode.has_payload()).then_some(length);
            return Some(Message {
                opcode,
                is_first: true,
                is_last: first.eom(),
                length: Some(length),
                stated,
            });
        }
        let opcode = headers
            .get::<SesDeferrable>()
            .map(SesDeferrable::opcode)
            .or_else(|| headers.get::<SesRestart>().map(SesRestart::opcode))
            .or_else(|| headers.get::<SesMedium>().map(SesMedium::opcode))
            .or_else(|| headers.get::<SesSmall>().map(SesSmall::opcode))?;
        Some(Message { opcode, is_first: true, is_last: true, length: None, stated: None })
    }
}

const NACKS: u8 = 0;
const OPERATIONS: u8 = 1;
const RETURN_CODES: u8 = 2;

impl Side {
    fn new(frame: u64) -> Side {
        Side {
            hi: 0,
            ring: vec![Slot::default(); REMEMBERED],
            full: 0,
            first_frame: frame,
            syn_ns: None,
            answer_ns: None,
            probe: None,
            peer: None,
            is_ordered: None,
            is_closing: false,
            is_closed: false,
            close_psn: None,
            counts: BTreeMap::new(),
            row: Counts::default(),
        }
    }

    fn count(&mut self, what: u8, code: u8, bytes: u64) {
        if self.counts.len() < MAX_COUNTS || self.counts.contains_key(&(what, code)) {
            let counted = self.counts.entry((what, code)).or_default();
            counted.count += 1;
            counted.bytes += bytes;
        }
    }

    /// Of all numbers that are this PSN modulo 2^32, the nearest to the highest one. Before the first request it begins there.
    fn unwrap(&mut self, psn: u32) -> u64 {
        let near = if self.hi == 0 { 1 << 33 | u64::from(psn) } else { self.hi };
        near.wrapping_add_signed(i64::from(psn.wrapping_sub(near as u32) as i32))
    }

    /// What is known of this PSN; of one that is too old, nothing.
    fn slot(&mut self, x: u64) -> Option<&mut Slot> {
        let slot = &mut self.ring[x as usize % REMEMBERED];
        if slot.x < x {
            *slot = Slot { x, ..Slot::default() };
        }
        (slot.x == x).then_some(slot)
    }

    fn on_request(&mut self, request: &PdsRequest, time: i64, headers: &Headers<'_, '_>) {
        let (d, message) = (headers.d, Message::of(headers));
        self.row.packets += 1;
        self.row.ce += u64::from(d.class_and_ttl().is_some_and(|(class, _)| Ecn(class & 3) == Ecn::CE));
        self.is_ordered = Some(matches!(request.kind(), PdsType::ROD_REQUEST | PdsType::ROD_REQUEST_CC));
        if let Some(state) = headers.get::<PdsRequestCc>() {
            self.row.credit_target = Some(state.credit_target());
        }
        let (hi, x) = (self.hi, self.unwrap(request.psn()));
        let is_trimmed = self.is_trimmed(message.as_ref(), d);
        self.row.trimmed += u64::from(is_trimmed);
        self.row.payload += if is_trimmed { 0 } else { u64::from(d.payload_len()) };
        let is_rtx = request.retransmit();
        self.row.retransmits += u64::from(is_rtx);
        self.hi = hi.max(x + 1);
        let mut is_again = false;
        if let Some(slot) = self.slot(x) {
            let before = *slot;
            is_again = x < hi && (before.is_seen || before.is_nacked || before.shown >= SHOWN);
            slot.is_again |= is_again || is_rtx;
            if !before.is_seen && !is_trimmed {
                (slot.is_seen, slot.time) = (true, time);
            }
        }
        self.row.inferred += u64::from(is_again);
        self.row.both += u64::from(is_rtx && is_again);
        if !is_rtx && !is_again && !is_trimmed && x < hi {
            self.row.reordered += 1;
            self.row.max_extent = self.row.max_extent.max(hi - 1 - x);
        }
        if let Some(message) = message.filter(|message| message.is_first && !is_rtx && !is_again) {
            self.count(OPERATIONS, message.opcode.0, message.length.unwrap_or(0).into());
        }
    }

    /// Whether the packet says more payload than there is, which the capture did not cut; or less is there than in others that are not the
    /// last of their message.
    fn is_trimmed(&mut self, message: Option<&Message>, d: &Dissection<'_>) -> bool {
        let Some(message) = message.filter(|_| !d.is_cut() && d.end_is_known()) else { return false };
        let there = d.payload_len();
        if let Some(stated) = message.stated {
            if !message.is_last && stated == there {
                self.full = self.full.max(there);
            }
            return there < stated;
        }
        if !message.opcode.has_payload() || message.is_last {
            return false;
        }
        let before = self.full;
        self.full = before.max(there);
        there < before
    }

    fn on_ack(&mut self, ack: &PdsAck, time: i64, headers: &Headers<'_, '_>) {
        self.row.acks += 1;
        self.row.marked += u64::from(ack.ecn_marked());
        self.peer = Some(ack.spdcid().0);
        self.answer_ns.get_or_insert(time);
        self.is_closing |= ack.request() == AckRequest(2);
        self.is_closed |= self
            .close_psn
            .is_some_and(|psn| ack.cack_psn().wrapping_sub(psn) as i32 >= 0 || ack.ack_psn() == psn);
        if let Some(response) = headers.get::<SesResponse>() {
            self.count(RETURN_CODES, response.return_code().0, 0);
        } else if let Some(response) = headers.get::<SesResponseData>() {
            self.count(RETURN_CODES, response.return_code().0, 0);
        } else if let Some(response) = headers.get::<SesResponseSmall>() {
            self.count(RETURN_CODES, response.return_code().0, 0);
        }
        if let Some(credit) = headers.get::<PdsCredit>() {
            self.row.credit = Some(credit.credit());
        }
        if self.hi == 0 {
            return;
        }
        self.measure(ack, time);
        if let Some(sack) = headers.get::<PdsSack>() {
            self.on_sack(sack, ack.cack_psn());
        }
    }

    fn measure(&mut self, ack: &PdsAck, time: i64) {
        let sent = if ack.probe() {
            let probe = self.probe.filter(|(number, _)| *number == ack.ack_psn_offset().0);
            self.probe = self.probe.filter(|_| probe.is_none());
            probe.map(|(_, sent)| sent)
        } else {
            let x = self.unwrap(ack.ack_psn());
            self.slot(x).filter(|slot| slot.is_seen && !slot.is_again && !slot.is_answered).map(|slot| {
                slot.is_answered = true;
                slot.time
            })
        };
        let Some(rtt) = sent.and_then(|sent| u64::try_from(time.saturating_sub(sent)).ok()) else { return };
        let row = &mut self.row;
        row.rtt_min = if row.rtts == 0 { rtt } else { row.rtt_min.min(rtt) };
        row.rtt_max = row.rtt_max.max(rtt);
        row.rtt_sum = row.rtt_sum.saturating_add(rtt);
        row.rtts += 1;
    }

    fn on_sack(&mut self, sack: &PdsSack, cack_psn: u32) {
        let (bitmap, first) = (sack.sack_bitmap().0, self.unwrap(sack.first(cack_psn)));
        let cack = self.unwrap(cack_psn);
        // Behind the highest one that has arrived, nothing is said; those up to the cumulative one have arrived.
        let shown = u64::from(64 - bitmap.leading_zeros());
        for bit in (0..shown).filter(|bit| bitmap >> bit & 1 == 0) {
            let x = first.saturating_add(bit);
            if x <= cack || x >= self.hi {
                continue;
            }
            if let Some(slot) = self.slot(x) {
                slot.shown = slot.shown.saturating_add(1);
                let is_first = slot.shown == 1;
                self.row.missing += u64::from(is_first);
            }
        }
    }

    fn on_nack(&mut self, nack: &PdsNack, time: i64) {
        let code = nack.nack_code();
        self.row.nacks += 1;
        self.answer_ns.get_or_insert(time);
        self.row.nacks_last_hop += u64::from(code == PdsNackCode::TRIMMED_LAST_HOP);
        let trimmed = [PdsNackCode::TRIMMED, PdsNackCode::TRIMMED_LAST_HOP, PdsNackCode::TRIMMED_ACK];
        self.row.nacks_trimmed += u64::from(trimmed.contains(&code));
        self.count(NACKS, code.0, 0);
        if self.hi > 0 {
            let x = self.unwrap(nack.psn());
            if let Some(slot) = self.slot(x) {
                slot.is_nacked = true;
            }
        }
    }

    fn on_control(&mut self, control: &PdsControl, time: i64) {
        self.row.control += 1;
        match control.control_type() {
            PdsControlType::PROBE => self.probe = Some((control.probe_opaque().0, time)),
            PdsControlType::CLOSE_COMMAND => {
                self.is_closing = true;
                self.close_psn = Some(control.psn());
            }
            _ => {}
        }
    }

    fn state(&self) -> UetState {
        let is_answered = self.row.acks + self.row.nacks > 0;
        match () {
            () if self.is_closed => UetState::Closed,
            () if self.is_closing => UetState::Closing,
            () if self.row.acks > 0 => UetState::Open,
            () if self.syn_ns.is_some() && !is_answered => UetState::Opening,
            // A packet without SYN shows that the receiver has answered one before.
            () if self.peer.is_some() => UetState::Open,
            () => UetState::Opening,
        }
    }

    fn row(&self, &(src, dst, spdcid): &Key) -> UetContext {
        let (row, mut why) = (&self.row, Why::new());
        let (asks, answers) = (self.hi > 0, row.acks + row.nacks > 0);
        let mut one_way = |fields: &[&'static str]| {
            why.extend(fields.iter().map(|&field| (field.into(), Reason::OneWay)));
        };
        if !asks {
            one_way(&["packets", "payload_bytes", "retransmits", "inferred_retransmits", "reordered"]);
            one_way(&["max_reorder_extent", "trimmed", "ce_packets", "sacked_missing"]);
        }
        if !answers {
            one_way(&["acks", "marked_acks", "sacked_missing", "nacks", "nacks_trimmed"]);
            one_way(&["nacks_trimmed_last_hop"]);
        }
        if !asks || !answers {
            one_way(&["rtt_min_ns", "rtt_mean_ns", "rtt_max_ns", "setup_ns"]);
        }
        if self.syn_ns.is_none() && asks && answers {
            why.insert("setup_ns".into(), Reason::Midstream);
        }
        let of_requests = |n: u64| asks.then_some(n);
        let of_answers = |n: u64| answers.then_some(n);
        let of_rtts = |n: u64| (row.rtts > 0).then_some(n);
        let either = row.retransmits + row.inferred - row.both;
        let setup = self.syn_ns.zip(self.answer_ns).and_then(|(syn, answer)| answer.checked_sub(syn));
        UetContext {
            src: src.to_string(),
            dst: dst.to_string(),
            spdcid,
            dpdcid: self.peer,
            mode: match self.is_ordered {
                Some(true) => UetMode::Ordered,
                Some(false) => UetMode::Unordered,
                None => UetMode::Unknown,
            },
            state: self.state(),
            setup_ns: setup.and_then(|ns| u64::try_from(ns).ok()),
            packets: of_requests(row.packets),
            payload_bytes: of_requests(row.payload),
            retransmits: of_requests(row.retransmits),
            inferred_retransmits: of_requests(row.inferred),
            retransmit_agreement: (either > 0).then(|| row.both as f64 / either as f64),
            reordered: of_requests(row.reordered),
            max_reorder_extent: of_requests(row.max_extent),
            trimmed: of_requests(row.trimmed),
            ce_packets: of_requests(row.ce),
            acks: of_answers(row.acks),
            marked_acks: of_answers(row.marked),
            sacked_missing: of_answers(row.missing).filter(|_| asks),
            nacks: of_answers(row.nacks),
            nacks_trimmed: of_answers(row.nacks_trimmed),
            nacks_trimmed_last_hop: of_answers(row.nacks_last_hop),
            control: row.control,
            credit_target: row.credit_target,
            credit: row.credit,
            rtt_min_ns: of_rtts(row.rtt_min),
            rtt_mean_ns: of_rtts(row.rtt_sum / row.rtts.max(1)),
            rtt_max_ns: of_rtts(row.rtt_max),
            first_frame: self.first_frame,
            why,
        }
    }

    fn counts(&self, &(src, dst, spdcid): &Key) -> impl Iterator<Item = UetCount> {
        self.counts.iter().map(move |(&(what, code), counted)| {
            let (counts, name) = match what {
                NACKS => (UetCounted::Nack, PdsNackCode(code).name()),
                OPERATIONS => (UetCounted::Operation, SesOpcode(code).name()),
                _ => (UetCounted::ReturnCode, SesReturnCode(code).name()),
            };
            UetCount {
                src: src.to_string(),
                dst: dst.to_string(),
                spdcid,
                counted: counts,
                name: name.map_or_else(|| format!("{code:#x}"), str::to_owned),
                code,
                count: counted.count,
                bytes: (what == OPERATIONS).then_some(counted.bytes),
            }
        })
    }
}
