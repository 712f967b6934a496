//! One side of a packet delivery context: its requests, ordered or in any order, and what the other side says of them.

use super::{
    counts::{Answers, Named},
    credits::Credits,
    headers::{Headers, Message, Trims},
};
use crate::{
    analyze::metric::{
        paths::{Carried, OfFlow},
        sprayed::{Refused, Said, Sent, Sprayed},
    },
    heap::heap,
    report::{FlowPath, Reason, UetContext, UetMode, UetState, Why},
    wire::*,
};

const BITS_OF_PSN: u32 = 32;

#[derive(Debug, crate::stored::Stored)]
pub(super) struct Side {
    /// `None` before the first request.
    sprayed: Option<Box<Sprayed>>,
    trims: Trims,
    first_frame: u64,
    syn_ns: Option<i64>,
    answer_ns: Option<i64>,
    probe: Option<(u16, i64)>,
    pub(super) peer: Option<u16>,
    is_ordered: Option<bool>,
    pub(super) is_closing: bool,
    is_closed: bool,
    close_psn: Option<u32>,
    pub(super) named: Named,
    pub(super) answers: Answers,
    pub(super) credits: Credits,
    payload: u64,
    control: u64,
    /// Requests of which the capture cut the headers of their message.
    unread: u64,
}

heap! { Side { sprayed, trims, named } }

impl Side {
    /// What one takes beside itself: the most of it.
    pub(super) const BYTES: usize = Sprayed::BYTES;

    pub(super) fn new(frame: u64) -> Side {
        Side {
            sprayed: None,
            trims: Trims::default(),
            first_frame: frame,
            syn_ns: None,
            answer_ns: None,
            probe: None,
            peer: None,
            is_ordered: None,
            is_closing: false,
            is_closed: false,
            close_psn: None,
            named: Named::default(),
            answers: Answers::default(),
            credits: Credits::default(),
            payload: 0,
            control: 0,
            unread: 0,
        }
    }

    /// Control packets of a side without requests, such as credits, make no row.
    pub(super) fn is_row(&self) -> bool {
        self.sprayed.is_some() || self.answers.are_any()
    }

    /// A request with SYN: the receiver's number is not known yet.
    pub(super) fn begins(&mut self, time: i64) {
        self.syn_ns.get_or_insert(time);
    }

    /// Returns whether another tap had recorded it.
    pub(super) fn on_request(
        &mut self,
        request: &PdsRequest,
        carried: Carried,
        headers: &Headers<'_, '_>,
    ) -> bool {
        let (time, message) = (carried.time, Message::of(headers));
        let is_ordered = matches!(request.kind(), PdsType::ROD_REQUEST | PdsType::ROD_REQUEST_CC);
        let psn = request.psn();
        let is_trimmed = self.trims.has(psn, message.as_ref(), headers.d);
        if let (told, Some(sprayed)) = (self.trims.told(), &mut self.sprayed)
            && !told.is_empty()
        {
            self.payload -= told.iter().map(|(_, payload)| u64::from(*payload)).sum::<u64>();
            sprayed.were_trimmed(told.iter().map(|(psn, _)| *psn));
        }
        let sprayed = self.sprayed.get_or_insert_with(|| Box::new(Sprayed::new(BITS_OF_PSN, psn, time)));
        let sent = Sent { carried, is_rtx: request.retransmit(), stamp: None, is_trimmed, is_ordered };
        let entropy = headers.entropy();
        if sprayed.comes_elsewhere(psn, entropy, &sent) {
            return true;
        }
        self.is_ordered = Some(is_ordered);
        if let Some(state) = headers.get::<PdsRequestCc>() {
            self.credits.want(state.credit_target(), time);
        }
        self.payload += if is_trimmed { 0 } else { u64::from(headers.d.whole_payload_len()) };
        let is_again = sprayed.on_sent(psn, entropy, &sent);
        let Some(message) = message else {
            self.unread += u64::from(headers.d.is_cut());
            return false;
        };
        if !is_trimmed {
            // What has no number is a message of one packet.
            sprayed.on_message(message.id.unwrap_or(psn as u16), psn, time, message.is_last);
        }
        if message.is_first && !is_again {
            self.named.operation(message.opcode, message.length.unwrap_or(0).into());
        }
        false
    }

    pub(super) fn has_requests(&self) -> bool {
        self.sprayed.is_some()
    }

    /// Whether its requests come to several taps, and this interface is not the one whose answers are counted.
    pub(super) fn is_elsewhere(&mut self, interface: u16) -> bool {
        self.sprayed.as_mut().is_some_and(|sprayed| !sprayed.takes_answers(interface))
    }

    pub(super) fn on_ack(&mut self, ack: &PdsAck, time: i64, headers: &Headers<'_, '_>) {
        self.answers.acks += 1;
        self.answers.marked += u64::from(ack.ecn_marked());
        self.answers.response_bytes += u64::from(headers.d.whole_payload_len());
        self.peer = Some(ack.spdcid().0);
        self.answer_ns.get_or_insert(time);
        self.is_closing |= ack.request() == AckRequest(2);
        self.is_closed |= self
            .close_psn
            .is_some_and(|psn| ack.cack_psn().wrapping_sub(psn) as i32 >= 0 || ack.ack_psn() == psn);
        self.named.response(headers);
        if let Some(credit) = headers.get::<PdsCredit>() {
            self.credits.give(credit.credit(), time);
        }
        if ack.probe()
            && let Some((_, sent)) = self.probe.take_if(|(number, _)| *number == ack.ack_psn_offset().0)
            && let Ok(rtt) = u64::try_from(time.saturating_sub(sent))
        {
            self.answers.rtts.add(rtt);
        }
        let Some(sprayed) = &mut self.sprayed else { return };
        if !ack.probe() {
            let (is_marked, is_again) = (ack.ecn_marked(), ack.retransmit());
            let said = Said { is_marked, is_again, ..Said::default() };
            if let Some(rtt) = sprayed.on_acknowledged(ack.ack_psn(), said, time) {
                self.answers.rtts.add(rtt);
            }
        }
        sprayed.on_cumulative(ack.cack_psn(), time);
        if let Some(sack) = headers.get::<PdsSack>() {
            sprayed.on_bitmap(sack.first(ack.cack_psn()), sack.sack_bitmap().0, time);
        }
    }

    pub(super) fn on_nack(&mut self, nack: &PdsNack, time: i64) {
        self.answer_ns.get_or_insert(time);
        let is_trimmed = self.answers.nack(nack.nack_code(), &mut self.named);
        if let Some(sprayed) = &mut self.sprayed {
            let why = match nack.nack_code() {
                _ if is_trimmed => Refused::Trimmed,
                PdsNackCode::OUT_OF_ORDER => Refused::OutOfOrder,
                _ => Refused::Otherwise,
            };
            sprayed.on_refused(nack.psn(), why);
        }
    }

    /// A control packet of the side that sends the requests.
    pub(super) fn on_control(&mut self, control: &PdsControl, time: i64) {
        self.control += 1;
        match control.control_type() {
            PdsControlType::PROBE => self.probe = Some((control.probe_opaque().0, time)),
            PdsControlType::CLOSE_COMMAND => {
                self.is_closing = true;
                self.close_psn = Some(control.psn());
            }
            PdsControlType::CREDIT_REQUEST => self.credits.on_control(control),
            _ => {}
        }
    }

    fn state(&self) -> UetState {
        match () {
            () if self.is_closed => UetState::Closed,
            () if self.is_closing => UetState::Closing,
            () if self.answers.acks > 0 => UetState::Open,
            () if self.syn_ns.is_some() && !self.answers.are_any() => UetState::Opening,
            // A packet without SYN shows that the receiver has answered one before.
            () if self.peer.is_some() => UetState::Open,
            () => UetState::Opening,
        }
    }

    pub(super) fn paths(&self, of: &OfFlow) -> Vec<FlowPath> {
        // One path alone is no choice.
        let several = self.sprayed.as_ref().filter(|sprayed| sprayed.path_count() > 1);
        several.map(|sprayed| sprayed.paths(of)).unwrap_or_default()
    }

    pub(super) fn row(&self, of: &OfFlow) -> UetContext {
        let (answers, credits, mut why) = (&self.answers, &self.credits, Why::new());
        let (sent, answered) = (self.sprayed.as_deref(), answers.are_any());
        let mut one_way = |fields: &[&'static str]| {
            why.extend(fields.iter().map(|&field| (field.into(), Reason::OneWay)));
        };
        if sent.is_none() {
            one_way(&["packets", "payload_bytes", "retransmits", "inferred_retransmits", "reordered"]);
            one_way(&["max_reorder_extent", "trimmed", "ce_packets", "sacked_missing", "paths"]);
            one_way(&["lost_before_tap", "messages"]);
        }
        if !answered {
            one_way(&["acks", "marked_acks", "sacked_missing", "nacks", "nacks_trimmed"]);
            one_way(&["nacks_trimmed_last_hop", "response_bytes"]);
        }
        if sent.is_none() || !answered {
            one_way(&["rtt_min_ns", "rtt_mean_ns", "rtt_max_ns", "setup_ns", "lost_after_tap"]);
            one_way(&["lost_or_late"]);
            one_way(&["spurious_retransmits", "completed", "unanswered"]);
        }
        let is_read = self.unread == 0;
        if !is_read {
            let fields = ["messages", "completed", "trimmed"];
            why.extend(fields.map(|field| (field.into(), Reason::Truncated)));
        }
        if self.syn_ns.is_none() && sent.is_some() && answered {
            why.insert("setup_ns".into(), Reason::Midstream);
        }
        let sums = sent.map(Sprayed::sums);
        let agreement = sent.and_then(Sprayed::agreement);
        if agreement.is_none() && sums.is_some_and(|sums| sums.rtx > 0) {
            why.insert("retransmit_agreement".into(), Reason::OneWay);
        }
        let of_answers = |n: u64| answered.then_some(n);
        let of_credits = |n: u64| credits.are_known().then_some(n);
        let both = sums.filter(|_| answered);
        let setup = self.syn_ns.zip(self.answer_ns).and_then(|(syn, answer)| answer.checked_sub(syn));
        let [rtt_min_ns, rtt_mean_ns, rtt_max_ns] = answers.rtts.spread();
        let [waited_ns, longest_ns] = credits.waited();
        UetContext {
            src: of.src.to_string(),
            dst: of.dst.to_string(),
            spdcid: of.spdcid,
            dpdcid: self.peer,
            mode: match self.is_ordered {
                Some(true) => UetMode::Ordered,
                Some(false) => UetMode::Unordered,
                None => UetMode::Unknown,
            },
            state: Some(self.state()),
            setup_ns: setup.and_then(|ns| u64::try_from(ns).ok()),
            paths: sent.map(Sprayed::path_count),
            path_fairness: sent.and_then(Sprayed::fairness),
            packets: sums.map(|sums| sums.packets),
            payload_bytes: sums.map(|_| self.payload),
            retransmits: sums.map(|sums| sums.rtx),
            inferred_retransmits: sums.map(|sums| sums.inferred),
            retransmit_agreement: agreement,
            lost_before_tap: sums.map(|sums| sums.lost_before),
            lost_after_tap: both.map(|sums| sums.lost_after),
            lost_or_late: both.map(|sums| sums.lost_or_late),
            spurious_retransmits: both.map(|sums| sums.spurious),
            reordered: sums.map(|sums| sums.reordered),
            max_reorder_extent: sums.map(|sums| sums.max_extent),
            trimmed: sums.filter(|_| is_read).map(|sums| sums.trimmed),
            ce_packets: sums.map(|sums| sums.marked),
            messages: sums.filter(|_| is_read).map(|sums| sums.messages),
            completed: both.filter(|_| is_read).map(|sums| sums.completed),
            completion_ns: sent.filter(|_| is_read).and_then(Sprayed::completion),
            unanswered: both.and_then(|_| sent?.unanswered()),
            acks: of_answers(answers.acks),
            marked_acks: of_answers(answers.marked),
            sacked_missing: both.map(|sums| sums.missing),
            response_bytes: of_answers(answers.response_bytes),
            nacks: of_answers(answers.nacks),
            nacks_trimmed: of_answers(answers.nacks_trimmed),
            nacks_trimmed_last_hop: of_answers(answers.nacks_last_hop),
            control: self.control,
            credit_target: credits.target,
            credit: credits.given,
            credit_requests: credits.requests,
            credit_grants: credits.grants,
            credits_granted: credits.given.map(|_| credits.granted),
            most_credits_wanted: of_credits(credits.most_wanted),
            credit_wait_ns: of_credits(waited_ns),
            credit_wait_max_ns: of_credits(longest_ns),
            rtt_min_ns,
            rtt_mean_ns,
            rtt_max_ns,
            first_frame: self.first_frame,
            why,
        }
    }
}
