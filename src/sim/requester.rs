//! Requesters: what they send, and how they react to answers.

use super::{
    Connection, Recovery, TimeoutResends, Verb,
    engine::{Cause, Episode, NONE, SentMessage, Sim, Transmission, What},
    manage::Manage,
    qp::{Rewind, is_answered, note, sending_ns},
};
use crate::{
    dcqcn::ReactionPoint,
    opcode::{Opcode, Service},
    wire::{Acknowledgement, NakCode, Syndrome},
};
impl Sim {
    pub(super) fn connection(&self, qp: u32) -> &Connection {
        &self.run.connections[self.qps[qp as usize].connection as usize]
    }

    /// Begins a connection: its requesters may send, or its handshake starts.
    pub(super) fn begin(&mut self, connection: u32) {
        if self.cm[connection as usize].is_some() {
            self.manage(connection, 0, Manage::Req);
            return;
        }
        self.establish(2 * connection);
        self.establish(2 * connection + 1);
    }

    pub(super) fn establish(&mut self, qp: u32) {
        let state = &mut self.qps[qp as usize];
        if !state.begun {
            state.begun = true;
            state.program.next = state.program.next.max(self.now);
            self.ready(qp);
        }
    }

    /// Says when a queue pair is gone: with its host, or alone.
    pub(super) fn set_death(&mut self, qp: u32) {
        let state = &self.qps[qp as usize];
        let of_host = self.run.scenario.host[state.host as usize].dies_at;
        // Of the two ends of a connection, the second one is passive.
        let alone = self.connection(qp).dies_at.filter(|_| qp % 2 == 1);
        if let Some(at) = of_host.into_iter().chain(alone).min() {
            self.at(at.0, What::Die(qp));
        }
    }

    pub(super) fn die(&mut self, qp: u32) {
        let state = &mut self.qps[qp as usize];
        state.error = true;
        state.answers.clear();
    }

    /// Whether a host does not answer any more.
    pub(super) fn is_dead(&self, host: u32) -> bool {
        self.run.scenario.host[host as usize].dies_at.is_some_and(|at| at.0 <= self.now)
    }

    /// The next packet of a queue pair, answers first. If it has to wait, an event wakes it later.
    pub(super) fn poll(&mut self, qp: u32) -> Option<u32> {
        self.poll_answer(qp).or_else(|| self.poll_request(qp))
    }

    pub(super) fn wake_at(&mut self, qp: u32, time: u64) {
        let state = &mut self.qps[qp as usize];
        if time < state.wake {
            state.wake = time;
            self.at(time, What::Wake(qp));
        }
    }

    fn poll_request(&mut self, qp: u32) -> Option<u32> {
        let now = self.now;
        let state = &mut self.qps[qp as usize];
        if !state.begun || state.error {
            return None;
        }
        for wait in [state.rnr_until, state.pace] {
            if wait > now {
                self.wake_at(qp, wait);
                return None;
            }
        }
        if let Some(rewind) = self.qps[qp as usize].rewind {
            if rewind.lag > 0
                && let Some(tx) = self.poll_new(qp)
            {
                if let Some(rewind) = &mut self.qps[qp as usize].rewind {
                    rewind.lag -= 1;
                }
                return Some(tx);
            }
            if now < rewind.not_before {
                self.wake_at(qp, rewind.not_before);
                return None;
            }
            self.go_back(qp, rewind);
        }
        self.poll_again(qp).or_else(|| self.poll_new(qp))
    }

    /// A packet that has to be retransmitted.
    fn poll_again(&mut self, qp: u32) -> Option<u32> {
        let state = &mut self.qps[qp as usize];
        while let Some((psn, count)) = state.again.pop_front() {
            if psn >= state.una {
                return self.request(qp, psn, Some(count));
            }
        }
        state.cursor = state.cursor.max(state.una);
        if state.cursor < state.hi {
            let psn = state.cursor;
            return self.request(qp, psn, None);
        }
        None
    }

    /// A packet never sent before.
    fn poll_new(&mut self, qp: u32) -> Option<u32> {
        let connection = &self.run.connections[self.qps[qp as usize].connection as usize];
        let (window, depth, max_reads) =
            (connection.window as u64, connection.depth as usize, connection.max_reads);
        let state = &mut self.qps[qp as usize];
        if state.hi - state.una >= window {
            return None;
        }
        let open = state.messages.back().is_some_and(|&message| {
            let message = &self.run.messages[message as usize];
            state.hi < message.psn + message.count as u64
        });
        if !open {
            let (operation, posted) = state.program.peek()?;
            let answered = is_answered(operation.op);
            if state.messages.len() >= depth || (answered && state.reads >= max_reads) {
                return None;
            }
            if posted > self.now {
                self.wake_at(qp, posted);
                return None;
            }
            // `check` has accepted it.
            let segments = operation.segments(connection).ok()?;
            let atomic = answered && operation.op != Verb::Read;
            let len = if atomic { 8 } else { operation.size.0 as u32 };
            let count = segments.psns();
            let flow = match state.also.len() as u64 {
                0 => state.flow,
                also => match state.number % (also + 1) {
                    0 => state.flow,
                    n => state.also[n as usize - 1],
                },
            };
            let verb = operation.op;
            state.number += 1;
            state.reads += answered as u32;
            state.messages.push_back(self.run.messages.len() as u32);
            let (number, psn, completed) = (state.number, state.hi, None);
            self.run.messages.push(SentMessage { flow, number, verb, len, segments, psn, count, completed });
            state.program.take();
        }
        let psn = self.qps[qp as usize].hi;
        self.request(qp, psn, None)
    }

    /// Sends the packet with this PSN. For a READ, that is the request for the rest from this PSN on, or for `limit` PSNs.
    fn request(&mut self, qp: u32, psn: u64, limit: Option<u32>) -> Option<u32> {
        let connection = self.connection(qp);
        let (mtu, service) = (connection.mtu as u32, connection.service);
        let every = connection.ack_request_every.min(connection.window / 2).max(1) as u64;
        let mig_req = connection.mig_req ^ connection.migrate_at.is_some_and(|at| self.now >= at.0);
        let fixed = connection.rate.map(|rate| rate.0);
        let state = &self.qps[qp as usize];
        let (_, id) = self.find(qp, psn)?;
        let message = self.run.messages[id as usize];
        let index = (psn - message.psn) as u32;
        let left = message.count - index;
        let offset = index * mtu;
        let is_read = message.verb == Verb::Read;
        let count = if is_read { left.min(limit.unwrap_or(left)) } else { 1 };
        let (opcode, payload) = (message.segments.opcode(index), message.segments.payload(index));
        let end = psn + count as u64;
        let is_new = end > state.hi;
        let reliable = service == Service::Rc;
        let ack_req = reliable
            && (left == count || (index as u64 + 1).is_multiple_of(every) || (!is_new && end == state.hi));
        let peer = &self.qps[state.peer as usize];
        let needless = reliable && (peer.expected >= end || peer.early.contains_key(&psn));
        let flow = message.flow;
        let udp_port = self.udp_port(qp);
        let state = &mut self.qps[qp as usize];
        let tx = self.run.transmissions.len() as u32;
        let (original, ordinal) = note(&mut state.requests, state.start, psn, count, tx);
        let resent = ordinal > 1;
        if is_new {
            state.hi = end;
            state.cursor = state.cursor.max(end);
        } else if limit.is_none() {
            state.cursor = end;
        }
        let allowed = state.reaction.as_mut().map(|reaction| reaction.rate(self.now));
        if let Some(rate) = [fixed, allowed].into_iter().flatten().min() {
            state.pace = self.now + sending_ns(payload as u64, rate);
        }
        let (cause, episode) = if resent { (state.cause, state.episode) } else { (Cause::First, NONE) };
        let (host, payload) = (state.host, payload as u16);
        let t = Transmission::new(flow, opcode, udp_port);
        let t = Transmission { psn, message: id, offset, count, payload, ack_req, mig_req, ..t };
        let tx = self.send(host, Transmission { original, episode, ordinal, cause, needless, ..t });
        let state = &mut self.qps[qp as usize];
        if !reliable {
            state.una = state.hi;
            if left == 1 {
                state.messages.pop_front();
                self.run.messages[id as usize].completed = Some(self.now);
            }
        } else if state.deadline == 0 {
            self.arm(qp);
        }
        Some(tx)
    }

    /// A sender of requests, or of the data of READs, is notified of congestion.
    pub(super) fn slow_down(&mut self, qp: u32) {
        let Some(set) = self.connection(qp).dcqcn else { return };
        let (host, now) = (self.qps[qp as usize].host, self.now);
        let line = self.ports[host as usize].rate;
        self.qps[qp as usize].reaction.get_or_insert_with(|| ReactionPoint::new(set, line)).cnp(now);
    }

    /// The outstanding message with this PSN: its place in the queue, and its index.
    fn find(&self, qp: u32, psn: u64) -> Option<(usize, u32)> {
        let messages = &self.qps[qp as usize].messages;
        let at = messages.partition_point(|&id| {
            let message = &self.run.messages[id as usize];
            message.psn + message.count as u64 <= psn
        });
        let &id = messages.get(at)?;
        (self.run.messages[id as usize].psn <= psn).then_some((at, id))
    }

    fn go_back(&mut self, qp: u32, rewind: Rewind) {
        let connection = self.connection(qp);
        let one = rewind.cause == Cause::Timeout && connection.timeout_resends == TimeoutResends::One;
        let selective = connection.recovery == Recovery::Selective || one;
        let state = &mut self.qps[qp as usize];
        state.rewind = None;
        let to = rewind.to.max(state.una);
        if to >= state.hi {
            return;
        }
        state.cause = rewind.cause;
        state.episode = self.run.episodes.len() as u32;
        // After an RNR NAK the responder dropped what followed, whatever the recovery.
        if selective && rewind.cause != Cause::Rnr {
            state.again.push_back((to, rewind.count));
        } else {
            state.cursor = to;
        }
        let (flow, peer) = (state.flow, state.peer);
        let answer_lost = self.qps[peer as usize].expected > to;
        self.run.episodes.push(Episode { flow, cause: rewind.cause, at: self.now, psn: to, answer_lost });
        self.arm(qp);
    }

    /// Starts the retransmission timer again.
    fn arm(&mut self, qp: u32) {
        let connection = self.connection(qp);
        if connection.timeout == 0 {
            return;
        }
        let timeout = (4096u64 << connection.timeout) as f64 * connection.timeout_factor;
        let state = &mut self.qps[qp as usize];
        state.deadline = self.now + timeout as u64;
        if !state.timer_set {
            self.set_timer(qp);
        }
    }

    fn set_timer(&mut self, qp: u32) {
        let state = &mut self.qps[qp as usize];
        state.timer_set = true;
        let deadline = state.deadline;
        self.at(deadline, What::Timer(qp));
    }

    pub(super) fn timer(&mut self, qp: u32) {
        let state = &mut self.qps[qp as usize];
        state.timer_set = false;
        if state.deadline == 0 || state.error || state.una == state.hi {
            return;
        }
        if self.now < state.deadline {
            self.set_timer(qp);
            return;
        }
        if state.rnr_until > self.now {
            self.arm(qp);
            return;
        }
        if state.retries == 0 {
            state.error = true;
            return self.close(self.qps[qp as usize].connection);
        }
        state.retries -= 1;
        let to = state.una;
        let count = self.missing_count(qp, to);
        self.qps[qp as usize].rewind = None;
        self.go_back(qp, Rewind { to, count, cause: Cause::Timeout, not_before: 0, lag: 0 });
        self.ready(qp);
    }

    /// How many PSNs of a READ are missing from `psn` on; 1 for other messages.
    fn missing_count(&self, qp: u32, psn: u64) -> u32 {
        let Some((_, id)) = self.find(qp, psn) else { return 1 };
        let message = &self.run.messages[id as usize];
        if message.verb != Verb::Read {
            return 1;
        }
        let end = message.psn + message.count as u64;
        let next = self.qps[qp as usize].early_responses.range(psn..end).next();
        (next.copied().unwrap_or(end) - psn) as u32
    }

    /// All PSNs before `to` are acknowledged: completes messages and restarts the timer.
    fn progress(&mut self, qp: u32, to: u64) {
        let (retry, rnr_retry) = (self.connection(qp).retry, self.connection(qp).rnr_retry);
        let state = &mut self.qps[qp as usize];
        if to <= state.una {
            return;
        }
        state.una = to;
        state.retries = retry;
        state.rnr_retries = rnr_retry;
        state.implied = 0;
        while let Some(&id) = state.messages.front() {
            let message = &mut self.run.messages[id as usize];
            if message.psn + message.count as u64 > to {
                break;
            }
            message.completed = Some(self.now);
            state.reads -= is_answered(message.verb) as u32;
            state.messages.pop_front();
        }
        if state.una == state.hi {
            state.deadline = 0;
        } else {
            self.arm(qp);
        }
        self.ready(qp);
        self.close(self.qps[qp as usize].connection);
    }

    /// The first PSN from `una` on and before `end` that still needs a response of its own.
    fn unanswered(&self, qp: u32, end: u64) -> Option<u64> {
        let state = &self.qps[qp as usize];
        let messages = state.messages.iter().map(|&id| &self.run.messages[id as usize]);
        messages.take_while(|message| message.psn < end).find_map(|message| {
            let first = message.psn.max(state.una);
            let open = first < message.psn + message.count as u64;
            (is_answered(message.verb) && open && first < end).then_some(first)
        })
    }

    /// An implied NAK for `psn`, once until there is progress.
    fn imply(&mut self, qp: u32, psn: u64) {
        let count = self.missing_count(qp, psn);
        let not_before = self.now + self.connection(qp).reaction.0;
        let state = &mut self.qps[qp as usize];
        if state.implied == psn || (state.cursor < state.hi && state.cursor <= psn) {
            return;
        }
        state.implied = psn;
        state.rewind = Some(Rewind { to: psn, count, cause: Cause::ImpliedNak, not_before, lag: 0 });
        self.ready(qp);
    }
    pub(super) fn on_response(&mut self, qp: u32, tx: u32) {
        let t = self.run.transmissions[tx as usize];
        let connection = self.connection(qp);
        let (selective, reaction) = (connection.recovery == Recovery::Selective, connection.reaction.0);
        let (lag, rnr_factor) = (connection.nak_lag, connection.rnr_factor);
        let state = &mut self.qps[qp as usize];
        if state.error || t.psn >= state.hi {
            return;
        }
        let syndrome = Syndrome(t.syndrome);
        if t.opcode != Opcode::RC_ACKNOWLEDGE {
            if t.psn < state.una {
                return;
            }
            match self.unanswered(qp, t.psn) {
                None => {
                    self.progress(qp, t.psn + 1);
                    self.take_early(qp);
                }
                Some(missing) => {
                    if selective {
                        self.qps[qp as usize].early_responses.insert(t.psn);
                    }
                    self.progress(qp, missing);
                    self.imply(qp, missing);
                }
            }
            return;
        }
        // An ACK covers its own PSN, a NAK only PSNs before it.
        let covered = if syndrome.is_ack() { t.psn + 1 } else { t.psn };
        if let Some(missing) = self.unanswered(qp, covered) {
            self.progress(qp, missing);
            self.imply(qp, missing);
            return;
        }
        self.progress(qp, covered);
        self.take_early(qp);
        let state = &mut self.qps[qp as usize];
        match syndrome.meaning() {
            Acknowledgement::RnrNak { timer_us } => {
                if t.psn < state.una || state.rnr_until > self.now {
                    return;
                }
                if state.rnr_retries == 0 {
                    state.error = true;
                    return self.close(self.qps[qp as usize].connection);
                }
                if state.rnr_retries < 7 {
                    state.rnr_retries -= 1;
                }
                let wait = timer_us as f64 * 1000.0 * rnr_factor;
                state.rnr_until = self.now + wait as u64;
                state.rnr_psn = t.psn;
                let (to, not_before) = (t.psn, state.rnr_until);
                state.rewind = Some(Rewind { to, count: 1, cause: Cause::Rnr, not_before, lag: 0 });
                self.arm(qp);
                self.ready(qp);
            }
            Acknowledgement::Nak(NakCode::PsnSequenceError) => {
                let resending = state.cursor < state.hi && state.cursor <= t.psn;
                let waiting = state.rnr_until > self.now && state.rnr_psn == t.psn;
                let known = state.rewind.is_some_and(|rewind| rewind.to <= t.psn && !selective);
                if t.psn < state.una || resending || waiting || known {
                    return;
                }
                let not_before = self.now + reaction;
                state.rewind = Some(Rewind { to: t.psn, count: 1, cause: Cause::Nak, not_before, lag });
                self.ready(qp);
            }
            Acknowledgement::Nak(_) => {
                state.error = true;
                self.close(self.qps[qp as usize].connection);
            }
            _ => {}
        }
    }

    /// Accepts READ responses that came early and are in order now.
    fn take_early(&mut self, qp: u32) {
        while let Some(&psn) = self.qps[qp as usize].early_responses.first() {
            if psn >= self.qps[qp as usize].una && self.unanswered(qp, psn).is_some() {
                return;
            }
            self.qps[qp as usize].early_responses.pop_first();
            self.progress(qp, psn + 1);
        }
    }
}
