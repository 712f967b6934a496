//! Ultra Ethernet: requests of packet delivery contexts, in any order (RUD) or ordered (ROD), and those without one (RUDI, UUD); selective acknowledgements,
//! retransmissions that say that they are some, credits, paths, what became of operations.
//!
//! A context has two sides, and each may send requests. What is kept is of one side, by its addresses and its number of the context: an
//! answer names that number as its destination. Requests without a context are kept by their addresses.

mod context;
mod counts;
mod credits;
mod exchange;
mod headers;

use std::collections::BTreeMap;

use context::Side;
use exchange::Exchange;
use headers::{Headers, carried};

use super::{
    Metric,
    paths::{OfFlow, in_order},
};
use crate::{
    analyze::model::{Address, Event},
    heap::Heap,
    icrc::{self, State},
    report::{FlowPath, UetContext, UetCount, UetPackets},
    wire::*,
};

/// Contexts that are followed, and as many pairs of addresses.
const MAX_CONTEXTS: usize = 1024;
/// Each of both takes at most such a part of the memory of the analysis.
const SHARE: usize = 8;

/// The metric.
#[derive(Debug, Default, crate::stored::Stored)]
pub struct Uet {
    verifies: bool,
    most: [usize; 2],
    packets: u64,
    encrypted: u64,
    rudi: u64,
    uud: u64,
    good_crcs: u64,
    bad_crcs: u64,
    untracked: u64,
    /// Packets came to a second tap.
    comes_to_several: bool,
    sides: BTreeMap<Key, Side>,
    /// Idempotent or not.
    exchanges: BTreeMap<(Address, Address, bool), Exchange>,
}

/// Who sends requests, to whom, and its number of the context.
type Key = (Address, Address, u16);

impl Metric for Uet {
    fn on_frame(&mut self, event: &Event<'_>) {
        if event.packet.is_uet() {
            self.on_packet(event);
        }
    }

    fn heap_bytes(&self) -> usize {
        self.sides.len() * size_of::<(Key, Side)>()
            + self.sides.values().map(Heap::heap_bytes).sum::<usize>()
            + self.exchanges.len() * size_of::<((Address, Address, bool), Exchange)>()
            + self.exchanges.values().map(Heap::heap_bytes).sum::<usize>()
    }
}

impl Uet {
    /// `verifies`: whether CRCs are verified; `max_memory`: of the analysis.
    pub(crate) fn new(verifies: bool, max_memory: usize) -> Uet {
        let most = [Side::BYTES, Exchange::BYTES].map(|each| (max_memory / SHARE / each).min(MAX_CONTEXTS));
        Uet { verifies, most, ..Uet::default() }
    }

    #[cold]
    #[inline(never)]
    fn on_packet(&mut self, event: &Event<'_>) {
        let state = if self.verifies { icrc::verify(event.packet) } else { State::Unchecked };
        let is_copy = state != State::Bad && self.take(event);
        // Of several taps that recorded it, one counts.
        if is_copy {
            self.comes_to_several = true;
            return;
        }
        self.packets += 1;
        self.good_crcs += u64::from(state == State::Good);
        self.bad_crcs += u64::from(state == State::Bad);
    }

    /// Returns whether it is counted at another tap.
    fn take(&mut self, event: &Event<'_>) -> bool {
        let d = event.packet;
        let headers = Headers::of(d);
        let Some(ends) = d.addresses() else { return false };
        let (time, frame, interface) = (event.record.time.0, event.number, event.record.interface);
        if let Some(request) = headers.get::<PdsRequest>() {
            if let Some(side) = self.side(ends, request.spdcid(), frame) {
                side.peer = Some(request.dpdcid().0);
                if side.on_request(request, carried(event), &headers) {
                    return true;
                }
            }
            // What is read comes as requests of the other side: its return codes are of those it answers.
            if let Some(side) = self.sides.get_mut(&(ends[1], ends[0], request.dpdcid().0)) {
                side.named.response(&headers);
            }
        } else if let Some(request) = headers.get::<PdsRequestSyn>() {
            if let Some(side) = self.side(ends, request.spdcid(), frame) {
                side.begins(time);
                // Both forms have the rest in common.
                if let Some((request, _)) = PdsRequest::view(request.bytes()) {
                    return side.on_request(request, carried(event), &headers);
                }
            }
        } else if let Some(ack) = headers.get::<PdsAck>() {
            if let Some(side) = self.side(back(ends), ack.dpdcid(), frame) {
                if side.is_elsewhere(interface) {
                    return true;
                }
                side.on_ack(ack, time, &headers);
            }
        } else if let Some(nack) = headers.get::<PdsNack>() {
            // The psn of others is the number of a request.
            if nack.rudi() {
                let comes_to_several = self.comes_to_several;
                if let Some(exchange) = self.exchange(back(ends), true, frame) {
                    if comes_to_several && exchange.is_elsewhere(interface) {
                        return true;
                    }
                    exchange.on_nack(nack);
                }
            } else if let Some(side) = self.side(back(ends), nack.dpdcid(), frame) {
                if side.is_elsewhere(interface) {
                    return true;
                }
                side.on_nack(nack, time);
            }
        } else if let Some(control) = headers.get::<PdsControl>() {
            if self.is_elsewhere(ends, [control.spdcid().0, control.dpdcid().0], interface) {
                return true;
            }
            self.on_control(control, ends, time, frame);
        } else if let Some(control) = headers.get::<PdsControlSyn>() {
            if let Some(side) = self.side(ends, control.spdcid(), frame) {
                if side.is_elsewhere(interface) {
                    return true;
                }
                side.begins(time);
                if let Some((control, _)) = PdsControl::view(control.bytes()) {
                    side.on_control(control, time);
                }
            }
        } else if let Some(rudi) = headers.get::<PdsRudi>() {
            return self.on_rudi(rudi, ends, event, &headers);
        } else if headers.get::<PdsUud>().is_some() {
            let comes_to_several = self.comes_to_several;
            if let Some(exchange) = self.exchange(ends, false, frame) {
                let carried = carried(event);
                // They have no number: that of what has one shows that there are several taps.
                if comes_to_several && exchange.is_elsewhere(interface) {
                    return true;
                }
                exchange.on_request(None, carried, &headers);
            }
            self.uud += 1;
        } else if headers.get::<Tss>().is_some() {
            self.encrypted += 1;
        }
        false
    }

    /// An idempotent request, or the response to one. Returns whether it is counted at another tap.
    fn on_rudi(
        &mut self,
        rudi: &PdsRudi,
        ends: [Address; 2],
        event: &Event<'_>,
        headers: &Headers<'_, '_>,
    ) -> bool {
        let (interface, comes_to_several) = (event.record.interface, self.comes_to_several);
        if rudi.kind() == PdsType::RUDI_RESPONSE {
            if let Some(exchange) = self.exchange(back(ends), true, event.number) {
                if comes_to_several && exchange.is_elsewhere(interface) {
                    return true;
                }
                exchange.on_response(rudi, event.record.time.0, headers);
            }
        } else if let Some(exchange) = self.exchange(ends, true, event.number) {
            let number = (rudi.pkt_id().0, rudi.retransmit());
            let carried = carried(event);
            if exchange.comes_elsewhere(number.0, &carried, headers) {
                return true;
            }
            exchange.on_request(Some(number), carried, headers);
        }
        self.rudi += 1;
        false
    }

    /// Whether a control packet, which is of the requests of either side, is counted at another tap than at this interface.
    fn is_elsewhere(&mut self, [src, dst]: [Address; 2], ids: [u16; 2], interface: u16) -> bool {
        let sides = [(src, dst, ids[0]), (dst, src, ids[1])];
        let known = sides.into_iter().find(|side| self.sides.get(side).is_some_and(Side::has_requests));
        known.and_then(|side| self.sides.get_mut(&side)).is_some_and(|side| side.is_elsewhere(interface))
    }

    fn on_control(&mut self, control: &PdsControl, ends: [Address; 2], time: i64, frame: u64) {
        let kind = control.control_type();
        if let Some(side) = self.side(ends, control.spdcid(), frame) {
            side.peer = Some(control.dpdcid().0);
            side.on_control(control, time);
        }
        // What these are about is the requests of the other side.
        if matches!(kind, PdsControlType::CLOSE_REQUEST | PdsControlType::CREDIT)
            && let Some(side) = self.side(back(ends), control.dpdcid(), frame)
        {
            side.is_closing |= kind == PdsControlType::CLOSE_REQUEST;
            side.credits.on_control(control);
        }
    }

    /// The side that sends requests from and to these addresses by this number; `None` where there is no room for one more.
    fn side(&mut self, ends: [Address; 2], id: Hex16, frame: u64) -> Option<&mut Side> {
        let key = (ends[0], ends[1], id.0);
        if self.sides.len() >= self.most[0] && !self.sides.contains_key(&key) {
            self.untracked += 1;
            return None;
        }
        Some(self.sides.entry(key).or_insert_with(|| Side::new(frame)))
    }

    /// The same of requests without a context.
    fn exchange(&mut self, ends: [Address; 2], is_idempotent: bool, frame: u64) -> Option<&mut Exchange> {
        let key = (ends[0], ends[1], is_idempotent);
        if self.exchanges.len() >= self.most[1] && !self.exchanges.contains_key(&key) {
            self.untracked += 1;
            return None;
        }
        Some(self.exchanges.entry(key).or_insert_with(|| Exchange::new(is_idempotent, frame)))
    }

    /// The report's rows: contexts, what is counted of them, and of all packets.
    pub(crate) fn section(&self) -> (Vec<UetContext>, Vec<UetCount>, BTreeMap<UetPackets, u64>) {
        let contexts = self.sides().map(|(of, side)| (side.row(&of), &side.named));
        let exchanges = self.exchanges().map(|(of, exchange)| (exchange.row(&of), &exchange.named));
        let rows: Vec<_> = contexts.chain(exchanges).collect();
        let counts = rows.iter().flat_map(|(row, named)| named.rows(row)).collect();
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
            rows.into_iter().map(|(row, _)| row).collect(),
            counts,
            packets.into_iter().filter(|(_, n)| *n > 0).collect(),
        )
    }

    /// The paths of those that take several.
    pub(crate) fn paths(&self) -> Vec<FlowPath> {
        let contexts = self.sides().flat_map(|(of, side)| side.paths(&of));
        in_order(contexts.chain(self.exchanges().flat_map(|(of, exchange)| exchange.paths(&of))).collect())
    }

    fn sides(&self) -> impl Iterator<Item = (OfFlow, &Side)> {
        self.sides.iter().filter(|(_, side)| side.is_row()).map(|(&(src, dst, spdcid), side)| {
            (OfFlow { flow: None, src, dst, dest_qp: None, spdcid: Some(spdcid) }, side)
        })
    }

    fn exchanges(&self) -> impl Iterator<Item = (OfFlow, &Exchange)> {
        self.exchanges.iter().map(|(&(src, dst, _), exchange)| {
            (OfFlow { flow: None, src, dst, dest_qp: None, spdcid: None }, exchange)
        })
    }
}

fn back([src, dst]: [Address; 2]) -> [Address; 2] {
    [dst, src]
}
