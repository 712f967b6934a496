//! Responders: how they handle requests, and what they send.

use super::{
    Pacing, PartialRead, Recovery, Verb,
    engine::{Cause, NONE, Sim, Transmission, What},
    qp::{Answer, note, sending_ns},
};
use crate::{
    opcode::{Direction, Opcode, Service},
    wire::Psn,
};
impl Sim {
    fn answer(&mut self, qp: u32, answer: Answer) {
        self.qps[qp as usize].answers.push_back(answer);
        self.ready(qp);
    }

    fn acknowledge(&mut self, qp: u32) {
        let credits = self.connection(qp).credits;
        let state = &mut self.qps[qp as usize];
        state.ack_held = 0;
        let (psn, msn) = (state.expected - 1, state.msn);
        self.answer(qp, Answer::Acknowledge { psn, syndrome: credits, msn });
    }

    /// Sends an acknowledgement that was held back.
    pub(super) fn flush(&mut self, qp: u32) {
        self.qps[qp as usize].ack_timer = false;
        if self.qps[qp as usize].ack_held > 0 {
            self.acknowledge(qp);
        }
    }
    pub(super) fn on_request(&mut self, qp: u32, tx: u32) {
        let t = self.run.transmissions[tx as usize];
        let connection = self.connection(qp);
        if connection.service != Service::Rc {
            return;
        }
        let (selective, tolerate) = (connection.recovery == Recovery::Selective, connection.tolerate as u64);
        let trailing = connection.rnr_trailing_nak;
        let state = &mut self.qps[qp as usize];
        if state.error {
            return;
        }
        if t.psn == state.expected {
            if self.accept(qp, tx) {
                self.take_rest(qp, tolerate);
            } else if !trailing {
                self.qps[qp as usize].refused = true;
            }
            return;
        }
        if t.psn > state.expected {
            if !selective {
                if !state.refused {
                    state.refused = true;
                    self.answer_nak(qp);
                }
                return;
            }
            if state.refused {
                return;
            }
            state.early.insert(t.psn, tx);
            self.ask_for_missing(qp, tolerate);
            return;
        }
        self.execute(qp, tx);
    }

    /// Headers came of a packet that a switch trimmed: asks for it, or for one before it, unless that was done.
    pub(super) fn on_trimmed(&mut self, tx: u32) {
        let t = self.run.transmissions[tx as usize];
        let receiver = self.run.flows[t.flow as usize].receiver;
        if receiver == NONE || t.opcode.direction() != Direction::Request || t.opcode.service() != Service::Rc
        {
            return;
        }
        let state = &mut self.qps[receiver as usize];
        if state.error || t.psn < state.expected || state.refused || state.nak_psn == state.expected {
            return;
        }
        match self.connection(receiver).recovery {
            Recovery::GoBackN => self.qps[receiver as usize].refused = true,
            Recovery::Selective => {
                let state = &mut self.qps[receiver as usize];
                state.nak_psn = state.expected;
            }
        }
        self.answer_nak(receiver);
    }

    /// Accepts packets that came early and are in order now.
    fn take_rest(&mut self, qp: u32, tolerate: u64) {
        loop {
            let state = &mut self.qps[qp as usize];
            let Some((psn, tx)) = state.early.pop_first() else { break };
            if psn > state.expected {
                state.early.insert(psn, tx);
                break;
            }
            if psn == state.expected && !self.accept(qp, tx) {
                self.qps[qp as usize].early.clear();
                return;
            }
        }
        self.ask_for_missing(qp, tolerate);
    }

    /// Sends one NAK for the missing packet, once enough packets have overtaken it.
    fn ask_for_missing(&mut self, qp: u32, tolerate: u64) {
        let state = &mut self.qps[qp as usize];
        let Some((&last, _)) = state.early.last_key_value() else { return };
        if state.nak_psn != state.expected && last - state.expected > tolerate {
            state.nak_psn = state.expected;
            self.answer_nak(qp);
        }
    }

    /// Sends a NAK for the expected packet.
    fn answer_nak(&mut self, qp: u32) {
        let state = &self.qps[qp as usize];
        let answer = Answer::Acknowledge { psn: state.expected, syndrome: 0x60, msn: state.msn };
        self.answer(qp, answer);
        if self.run.scenario.cnp.on_nak {
            self.notify(qp);
        }
    }

    /// Executes the expected request. `false` if it is refused.
    fn accept(&mut self, qp: u32, tx: u32) -> bool {
        let t = self.run.transmissions[tx as usize];
        let message = self.run.messages[t.message as usize];
        let connection = self.connection(qp);
        let (rnr_timer, ack_every, ack_delay) =
            (connection.rnr_timer, connection.ack_every, connection.ack_delay.0);
        if let Some(refusal) = self.refusals.get_mut(&(t.flow, message.number)) {
            let fatal = refusal.fatal;
            let consumes = match message.verb {
                Verb::Send | Verb::SendImm | Verb::SendInv => t.offset == 0,
                Verb::WriteImm => t.psn + 1 == message.psn + message.count as u64,
                _ => t.psn == message.psn,
            };
            if refusal.times > 0 && consumes {
                refusal.times -= 1;
                self.run.struck[refusal.event] = true;
                let syndrome = if fatal { 0x62 } else { 0x20 | rnr_timer };
                let state = &mut self.qps[qp as usize];
                state.refused = false;
                let answer = Answer::Acknowledge { psn: t.psn, syndrome, msn: state.msn };
                state.error |= fatal;
                self.answer(qp, answer);
                return false;
            }
        }
        let state = &mut self.qps[qp as usize];
        state.refused = false;
        state.expected = t.psn + t.count as u64;
        let ends = state.expected == message.psn + message.count as u64;
        if ends {
            state.msn = (state.msn + 1) & (Psn::SPACE - 1);
        }
        match message.verb {
            Verb::Read | Verb::CompareSwap | Verb::FetchAdd => {
                // It acknowledges all before it.
                state.ack_held = 0;
                self.execute(qp, tx);
            }
            _ if t.ack_req => {
                state.ack_held += 1;
                if state.ack_held >= ack_every {
                    self.acknowledge(qp);
                } else if !state.ack_timer {
                    state.ack_timer = true;
                    self.at(self.now + ack_delay, What::Acknowledge(qp));
                }
            }
            _ => {}
        }
        true
    }

    /// Answers a request that was accepted, now or before.
    fn execute(&mut self, qp: u32, tx: u32) {
        let t = self.run.transmissions[tx as usize];
        let message = self.run.messages[t.message as usize];
        let mtu = self.connection(qp).mtu as u32;
        let expected = self.qps[qp as usize].expected;
        match message.verb {
            Verb::Read => {
                let (psn, end) = (t.psn, (t.psn + t.count as u64).min(expected));
                let bytes_end = message.len.min(t.offset + t.count * mtu);
                self.answer(qp, Answer::Read { psn, first: psn, end, message: t.message, bytes_end });
            }
            Verb::CompareSwap | Verb::FetchAdd => {
                let msn = self.qps[qp as usize].msn;
                self.answer(qp, Answer::Atomic { psn: t.psn, message: t.message, msn });
            }
            _ => self.acknowledge(qp),
        }
    }

    /// The next packet of a responder.
    pub(super) fn poll_answer(&mut self, qp: u32) -> Option<u32> {
        let (now, state) = (self.now, &mut self.qps[qp as usize]);
        let is_data = matches!(state.answers.front()?, Answer::Read { .. });
        if is_data && state.data_pace > now {
            let at = state.data_pace;
            self.wake_at(qp, at);
            return None;
        }
        let answer = state.answers.pop_front()?;
        let connection = self.connection(qp);
        let (mtu, mode, credits) = (connection.mtu as u32, connection.partial_read, connection.credits);
        let mig_req = connection.mig_req ^ connection.migrate_at.is_some_and(|at| self.now >= at.0);
        let udp_port = self.udp_port(qp);
        let state = &mut self.qps[qp as usize];
        let mut t = Transmission {
            msn: state.msn,
            syndrome: credits,
            mig_req,
            ..Transmission::new(state.flow, Opcode::RC_ACKNOWLEDGE, udp_port)
        };
        match answer {
            Answer::Acknowledge { psn, syndrome, msn } => {
                t = Transmission { psn, syndrome, msn, ..t };
            }
            Answer::Read { psn, first, end, message, bytes_end } => {
                if psn + 1 < end {
                    state.answers.push_front(Answer::Read { psn: psn + 1, first, end, message, bytes_end });
                }
                let whole = &self.run.messages[message as usize];
                let offset = (psn - whole.psn) as u32 * mtu;
                let begins = psn == first && (psn == whole.psn || mode == PartialRead::First);
                let ends = psn + 1 == end;
                t.opcode = match (begins, ends) {
                    (true, true) => Opcode::RC_READ_RESPONSE_ONLY,
                    (true, false) => Opcode::RC_READ_RESPONSE_FIRST,
                    (false, true) => Opcode::RC_READ_RESPONSE_LAST,
                    (false, false) => Opcode::RC_READ_RESPONSE_MIDDLE,
                };
                let payload = bytes_end.saturating_sub(offset).min(mtu) as u16;
                if let Some(reaction) = &mut state.reaction {
                    state.data_pace = now + sending_ns(payload as u64, reaction.rate(now));
                }
                t = Transmission { psn, message, offset, payload, ..t };
            }
            Answer::Atomic { psn, message, msn, .. } => {
                t = Transmission { psn, message, msn, opcode: Opcode::RC_ATOMIC_ACKNOWLEDGE, ..t };
            }
        }
        if t.message != NONE {
            let tx = self.run.transmissions.len() as u32;
            (t.original, t.ordinal) = note(&mut state.responses, state.peer_start, t.psn, 1, tx);
            if t.ordinal == 1 {
                t.jump = t.psn.saturating_sub(state.response_end) as u32;
                state.response_end = t.psn + 1;
            } else {
                t.cause = Cause::Duplicate;
                let peer = state.peer;
                t.needless = self.qps[peer as usize].una > t.psn;
            }
        }
        let host = self.qps[qp as usize].host;
        Some(self.send(host, t))
    }

    /// Sends a congestion notification to the peer, if the pacing allows one.
    pub(super) fn notify(&mut self, qp: u32) {
        if !self.connection(qp).notify {
            return;
        }
        let cnp = &self.run.scenario.cnp;
        let state = &self.qps[qp as usize];
        let flow = &self.run.flows[state.flow as usize];
        let scope = match cnp.pacing {
            Pacing::PerQp => qp as u64,
            Pacing::PerIpPair => flow.dst as u64,
            Pacing::PerPort => 0,
        };
        let interval = cnp.interval.0;
        let host = state.host;
        if self.notified.get(&(host, scope)).is_some_and(|&last| self.now < last + interval) {
            return;
        }
        self.notified.insert((host, scope), self.now);
        let flow = state.flow;
        let t = Transmission { count: 0, ..Transmission::new(flow, Opcode::CNP, self.udp_port(qp)) };
        self.control(host, t);
    }

    pub(super) fn control(&mut self, host: u32, t: Transmission) {
        let tx = self.send(host, t);
        self.ports[host as usize].control.push_back(tx);
        self.transmit(host);
    }
}
