//! Requests without a context, from one address to another: idempotent ones (RUDI), each of which has a number and a response, and unreliable ones (UUD), which
//! have neither.

use std::collections::{BTreeMap, VecDeque};

use super::{
    counts::{Answers, Named},
    headers::{Headers, Message, Trims},
};
use crate::{
    analyze::metric::{
        crossings::Crossings,
        paths::{Carried, OfFlow},
        sprayed::{Sums, Ways},
    },
    heap::heap,
    report::{FlowPath, Reason, UetContext, UetMode, Why},
    wire::*,
};

/// Requests that are remembered, of each pair of addresses.
const REMEMBERED: usize = 1 << 11;

#[derive(Debug, crate::stored::Stored)]
pub(super) struct Exchange {
    is_idempotent: bool,
    first_frame: u64,
    /// The interface that recorded its first request.
    home: Option<u16>,
    /// The last requests by number, and these in the order of their first packets.
    known: BTreeMap<u32, Known>,
    order: VecDeque<u32>,
    ways: Ways,
    trims: Trims,
    sums: Sums,
    pub(super) named: Named,
    answers: Answers,
    payload: u64,
}

/// A request.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct Known {
    /// When its last transmission came, and on which path: `None`, the tap saw none.
    sent: Option<(i64, u16)>,
    is_again: bool,
    is_answered: bool,
    is_trimmed: bool,
    is_refused: bool,
    is_marked: bool,
}

heap! {
    Exchange { known, order, ways, trims, named }
    Known {}
}

impl Exchange {
    /// What one takes beside itself: the most of it.
    pub(super) const BYTES: usize = REMEMBERED * (size_of::<(u32, Known)>() + size_of::<u32>());

    pub(super) fn new(is_idempotent: bool, frame: u64) -> Exchange {
        Exchange {
            is_idempotent,
            first_frame: frame,
            home: None,
            known: BTreeMap::new(),
            order: VecDeque::new(),
            ways: Ways::default(),
            trims: Trims::default(),
            sums: Sums::default(),
            named: Named::default(),
            answers: Answers::default(),
            payload: 0,
        }
    }

    /// Whether this is another interface than the one that recorded its first request.
    pub(super) fn is_elsewhere(&self, interface: u16) -> bool {
        self.home.is_some_and(|home| home != interface)
    }

    /// Whether another interface records a request that has passed the first one, on the same path. What became of it meanwhile is counted then.
    pub(super) fn comes_elsewhere(
        &mut self,
        number: u32,
        carried: &Carried,
        headers: &Headers<'_, '_>,
    ) -> bool {
        if !self.is_elsewhere(carried.interface) {
            return false;
        }
        let Some(at) = self.ways.find(headers.entropy()) else { return false };
        let is_it = |known: &&mut Known| known.sent.is_some_and(|(_, there)| usize::from(there) == at);
        let Some(known) = self.known.get_mut(&number).filter(is_it) else { return false };
        if carried.is_marked && !std::mem::replace(&mut known.is_marked, true) {
            self.sums.marked += 1;
            self.ways.marked(at);
        }
        let is_trimmed = self.trims.has(number, Message::of(headers).as_ref(), headers.d);
        // A NACK will tell of it too.
        if is_trimmed && !std::mem::replace(&mut known.is_trimmed, true) {
            self.sums.trimmed += 1;
            self.ways.trimmed(at);
        }
        true
    }

    /// A request; `number` and whether it says that it is a retransmission, of idempotent ones.
    pub(super) fn on_request(
        &mut self,
        number: Option<(u32, bool)>,
        carried: Carried,
        headers: &Headers<'_, '_>,
    ) {
        self.home.get_or_insert(carried.interface);
        let message = Message::of(headers);
        let is_trimmed = self.trims.has(number.map_or(0, |(number, _)| number), message.as_ref(), headers.d);
        for (number, payload) in self.trims.told() {
            self.payload -= u64::from(payload);
            self.sums.trimmed += 1;
            if let Some(known) = self.known.get_mut(&number).filter(|known| !known.is_trimmed) {
                known.is_trimmed = true;
                if let Some((_, at)) = known.sent {
                    self.ways.trimmed(at.into());
                }
            }
        }
        self.payload += if is_trimmed { 0 } else { u64::from(headers.d.whole_payload_len()) };
        self.sums.packets += 1;
        self.sums.marked += u64::from(carried.is_marked);
        self.sums.trimmed += u64::from(is_trimmed);
        let at = self.ways.carries(headers.entropy(), &carried, self.sums.packets, is_trimmed);
        let is_again =
            number.is_some_and(|(number, is_rtx)| self.place(number, is_rtx, is_trimmed, &carried, at));
        if let Some(message) = message.filter(|message| message.is_first && !is_again) {
            self.named.operation(message.opcode, message.length.unwrap_or(0).into());
        }
    }

    /// Returns whether it is a retransmission.
    fn place(&mut self, number: u32, is_rtx: bool, is_trimmed: bool, carried: &Carried, at: usize) -> bool {
        let Carried { time, is_marked, .. } = *carried;
        // A number that was answered, and says no retransmission, is used anew.
        let before = self.known.get(&number).copied().filter(|known| is_rtx || !known.is_answered);
        let (is_known, is_again) = (before.is_some(), is_rtx || before.is_some());
        self.sums.rtx += u64::from(is_rtx);
        self.sums.inferred += u64::from(is_known);
        self.sums.both += u64::from(is_rtx && is_known);
        self.sums.messages += u64::from(!is_known);
        if is_again {
            self.ways.resent(at);
            match before {
                Some(known) if known.is_answered => self.sums.spurious += 1,
                Some(known) if known.is_refused && !known.is_trimmed => {}
                Some(Known { sent: Some((_, lost)), is_trimmed, .. }) => {
                    self.ways.lost(lost.into());
                    self.sums.lost_after += u64::from(!is_trimmed);
                }
                _ => {
                    self.sums.lost_before += 1;
                    self.ways.lost_before(None, time);
                }
            }
        }
        if !is_known && self.known.remove(&number).is_none() {
            self.order.push_back(number);
            if self.order.len() > REMEMBERED
                && let Some(oldest) = self.order.pop_front()
            {
                self.known.remove(&oldest);
            }
        }
        let known = Known {
            sent: Some((time, at as u16)),
            is_again,
            is_answered: before.is_some_and(|known| known.is_answered),
            is_trimmed,
            is_refused: false,
            is_marked,
        };
        self.known.insert(number, known);
        is_again
    }

    pub(super) fn on_response(&mut self, response: &PdsRudi, time: i64, headers: &Headers<'_, '_>) {
        self.answers.acks += 1;
        self.answers.marked += u64::from(response.ecn_marked());
        self.answers.response_bytes += u64::from(headers.d.whole_payload_len());
        self.named.response(headers);
        let Some(known) = self.known.get_mut(&response.pkt_id().0) else { return };
        let is_first = !std::mem::replace(&mut known.is_answered, true);
        let Some((sent, at)) = known.sent.filter(|_| is_first) else { return };
        self.sums.completed += 1;
        let rtt = u64::try_from(time.saturating_sub(sent)).ok().filter(|_| !known.is_again);
        self.ways.said(at.into(), response.ecn_marked(), rtt);
        if let Some(rtt) = rtt {
            self.answers.rtts.add(rtt);
        }
    }

    pub(super) fn on_nack(&mut self, nack: &PdsNack) {
        let is_trimmed = self.answers.nack(nack.nack_code(), &mut self.named);
        if let Some(known) = self.known.get_mut(&nack.psn()) {
            if let Some((_, at)) = known.sent.filter(|_| is_trimmed && !known.is_trimmed) {
                self.ways.trimmed_behind(at.into());
            }
            known.is_refused = true;
            known.is_trimmed |= is_trimmed;
        }
    }

    pub(super) fn paths(&self, of: &OfFlow) -> Vec<FlowPath> {
        if self.ways.len() > 1 { self.ways.rows(of, &Crossings::default(), true, 1.0) } else { Vec::new() }
    }

    pub(super) fn row(&self, of: &OfFlow) -> UetContext {
        let (sums, answers, mut why) = (&self.sums, &self.answers, Why::new());
        let (asks, answered) = (sums.packets > 0, answers.are_any());
        let mut one_way = |fields: &[&'static str]| {
            why.extend(fields.iter().map(|&field| (field.into(), Reason::OneWay)));
        };
        if !asks {
            one_way(&["packets", "payload_bytes", "retransmits", "inferred_retransmits", "trimmed"]);
            one_way(&["ce_packets", "paths", "lost_before_tap", "messages"]);
        }
        if !answered && self.is_idempotent {
            one_way(&["acks", "marked_acks", "nacks", "nacks_trimmed", "nacks_trimmed_last_hop"]);
            one_way(&["response_bytes"]);
        }
        if self.is_idempotent && !(asks && answered) {
            one_way(&["rtt_min_ns", "rtt_mean_ns", "rtt_max_ns", "lost_after_tap"]);
            one_way(&["lost_or_late"]);
            one_way(&["spurious_retransmits", "completed", "unanswered"]);
        }
        let of_all = |n: u64| asks.then_some(n);
        let of_requests = |n: u64| of_all(n).filter(|_| self.is_idempotent);
        let of_answers = |n: u64| answered.then_some(n);
        let of_both = |n: u64| (asks && answered).then_some(n);
        let either = sums.rtx + sums.inferred - sums.both;
        // Numbers do not tell what was lost before the tap.
        let is_told = sums.inferred > 0;
        let [rtt_min_ns, rtt_mean_ns, rtt_max_ns] = answers.rtts.spread();
        UetContext {
            src: of.src.to_string(),
            dst: of.dst.to_string(),
            spdcid: None,
            dpdcid: None,
            mode: if self.is_idempotent { UetMode::Idempotent } else { UetMode::Unreliable },
            state: None,
            setup_ns: None,
            paths: of_all(self.ways.len() as u64),
            path_fairness: self.ways.fairness(),
            packets: of_all(sums.packets),
            payload_bytes: of_all(self.payload),
            retransmits: of_requests(sums.rtx),
            inferred_retransmits: of_requests(sums.inferred),
            retransmit_agreement: (either > 0 && is_told).then(|| sums.both as f64 / either as f64),
            lost_before_tap: of_requests(sums.lost_before),
            lost_after_tap: of_both(sums.lost_after),
            lost_or_late: of_both(sums.lost_or_late),
            spurious_retransmits: of_both(sums.spurious),
            reordered: None,
            max_reorder_extent: None,
            trimmed: of_all(sums.trimmed),
            ce_packets: of_all(sums.marked),
            messages: of_requests(sums.messages),
            completed: of_both(sums.completed),
            completion_ns: None,
            unanswered: of_both(sums.messages.saturating_sub(sums.completed)),
            acks: of_answers(answers.acks),
            marked_acks: of_answers(answers.marked),
            sacked_missing: None,
            response_bytes: of_answers(answers.response_bytes),
            nacks: of_answers(answers.nacks),
            nacks_trimmed: of_answers(answers.nacks_trimmed),
            nacks_trimmed_last_hop: of_answers(answers.nacks_last_hop),
            control: 0,
            credit_target: None,
            credit: None,
            credit_requests: 0,
            credit_grants: 0,
            credits_granted: None,
            most_credits_wanted: None,
            credit_wait_ns: None,
            credit_wait_max_ns: None,
            rtt_min_ns,
            rtt_mean_ns,
            rtt_max_ns,
            first_frame: self.first_frame,
            why,
        }
    }
}
