//! Queue pairs, adapters and the switch: messages become packets, which wait, are lost, and are answered.

use super::*;

impl Play<'_> {
    #[allow(clippy::too_many_arguments)] // a message is all of these
    pub(super) fn message(
        &mut self,
        way: u32,
        verb: Verb,
        (va, rkey): (u64, u32),
        bytes: u32,
        immediate: Option<u32>,
        payload: Vec<u8>,
        what: What,
    ) {
        let packets = bytes.div_ceil(self.of.mtu.into()).max(1);
        let message = self.messages.len() as u32;
        let of = &mut self.ways[way as usize];
        let first = of.posted;
        of.messages.push(message);
        of.posted += packets;
        self.messages.push(Message { first, packets, verb, va, rkey, bytes, immediate, payload, what });
        self.queue(way);
    }

    pub(super) fn queue(&mut self, way: u32) {
        let of = &mut self.ways[way as usize];
        if of.next < of.posted && !of.is_queued {
            of.is_queued = true;
            let adapter = of.src;
            self.adapters[adapter as usize].queue.push_back(way);
            self.send_next(adapter);
        }
    }

    /// The rate of an adapter, as its faults leave it.
    pub(super) fn slower(&self, adapter: u32) -> f64 {
        let (rank, rail) = (adapter / self.of.rails, adapter % self.of.rails);
        let operation = self.begun[rank as usize].unwrap_or(0);
        let on_rail = |fault: &&Fault| fault.rail.is_none_or(|only| only == rail);
        let own = self.faults(Trouble::SlowNic, operation).filter(|fault| fault.rank == rank);
        own.chain(self.faults(Trouble::SlowRail, operation))
            .filter(on_rail)
            .map(|fault| fault.factor)
            .product()
    }

    /// How long a packet takes on a link.
    pub(super) fn takes(&self, packet: Packet, slower: f64) -> u64 {
        let bytes = match packet {
            Packet::Data { way, at } => {
                let (message, n) = self.message_of(way, at);
                let mtu = u32::from(self.of.mtu);
                AROUND + 20 + u64::from(message.bytes.saturating_sub(n * mtu).min(mtu))
            }
            _ => AROUND + 4,
        };
        ((bytes * 8) as f64 * 1e9 / self.of.rate.0 as f64 * slower).ceil() as u64
    }

    pub(super) fn message_of(&self, way: u32, at: u32) -> (&Message, u32) {
        let place =
            self.ways[way as usize].messages.partition_point(|&one| self.messages[one as usize].first <= at);
        let message = &self.messages[self.ways[way as usize].messages[place - 1] as usize];
        (message, at - message.first)
    }

    pub(super) fn send_next(&mut self, adapter: u32) {
        let now = self.now;
        let of = &mut self.adapters[adapter as usize];
        if of.is_busy || now < of.stopped_until {
            return;
        }
        let packet = match of.answers.pop_front() {
            Some(answer) => answer,
            None => {
                let Some(way) = of.queue.pop_front() else { return };
                self.ways[way as usize].is_queued = false;
                if self.ways[way as usize].next >= self.ways[way as usize].posted {
                    return self.send_next(adapter);
                }
                self.sends(way)
            }
        };
        self.see(packet, adapter, true);
        if let Packet::Answer { way, at, is_nak: false } = packet {
            self.answers(way, at);
        }
        let takes = self.takes(packet, self.slower(adapter));
        self.adapters[adapter as usize].is_busy = true;
        self.at(now + takes, Event::Free { adapter });
        self.at(now + takes + self.of.delay.0, Event::AtSwitch(packet));
        if let Packet::Data { way, .. } = packet {
            let of = &mut self.ways[way as usize];
            if of.next < of.posted && !of.is_queued {
                of.is_queued = true;
                self.adapters[adapter as usize].queue.push_back(way);
            }
        }
    }

    /// The next packet of a way leaves.
    pub(super) fn sends(&mut self, way: u32) -> Packet {
        let now = self.now;
        let at = self.ways[way as usize].next;
        let what = self.message_of(way, at).0.what;
        let of = &mut self.ways[way as usize];
        of.next += 1;
        of.deadline = now + self.of.timeout.0;
        let before = of.sent.insert(at, now);
        if let Some(lost) = of.lost.iter().position(|&lost| lost == at)
            && let Some(before) = before
        {
            of.lost.swap_remove(lost);
            of.recoveries.push((before, now));
        }
        let starts_timer = !std::mem::replace(&mut of.is_timed, true);
        let deadline = of.deadline;
        if starts_timer {
            self.at(deadline, Event::Timeout { way });
        }
        if before.is_none() {
            match what {
                What::Element(connection, request) => {
                    self.connections[connection as usize].requests[request as usize].cts = Some(now);
                }
                What::Data(connection, request) => {
                    let request = &mut self.connections[connection as usize].requests[request as usize];
                    request.first.get_or_insert(now);
                    request.last = Some(now);
                }
                What::Other => {}
            }
        }
        Packet::Data { way, at }
    }

    pub(super) fn go_back(&mut self, way: u32, at: u32) {
        let of = &mut self.ways[way as usize];
        of.next = at.max(of.acknowledged);
        self.queue(way);
    }

    pub(super) fn timeout(&mut self, way: u32) {
        let now = self.now;
        let of = &mut self.ways[way as usize];
        if of.acknowledged >= of.next {
            of.is_timed = false;
            return;
        }
        if now >= of.deadline && now >= self.adapters[of.src as usize].stopped_until {
            of.deadline = now + self.of.timeout.0;
            of.next = of.acknowledged;
        }
        let at = of.deadline.max(now + 1);
        self.at(at, Event::Timeout { way });
        self.queue(way);
    }

    pub(super) fn answer(&mut self, way: u32, at: u32, is_nak: bool) {
        let adapter = self.ways[way as usize].dst;
        self.adapters[adapter as usize].answers.push_back(Packet::Answer { way, at, is_nak });
        self.send_next(adapter);
    }

    /// An acknowledgement leaves the receiver.
    pub(super) fn answers(&mut self, way: u32, at: u32) {
        let (message, n) = self.message_of(way, at);
        if let What::Data(connection, request) = message.what
            && message.immediate.is_some()
            && n + 1 == message.packets
        {
            let of = &mut self.connections[connection as usize].requests[request as usize];
            of.answered_at = of.answered_at.max(Some(self.now));
        }
    }

    // The network.

    /// Adapters that a packet goes from and to.
    pub(super) fn ends(&self, packet: Packet) -> (u32, u32) {
        match packet {
            Packet::Data { way, .. } => (self.ways[way as usize].src, self.ways[way as usize].dst),
            Packet::Answer { way, .. } => (self.ways[way as usize].dst, self.ways[way as usize].src),
            Packet::Pause { adapter, .. } => (adapter, adapter),
        }
    }

    pub(super) fn at_switch(&mut self, packet: Packet) {
        let (src, dst) = self.ends(packet);
        let [from, to] = [src, dst].map(|adapter| adapter / self.of.rails);
        let rail = src % self.of.rails;
        let operation = self.begun[from as usize].unwrap_or(0);
        let ranks = self.of.ranks;
        let is_here = |fault: &&Fault| {
            fault.rank == from
                && fault.to.unwrap_or((fault.rank + 1) % ranks) == to
                && fault.rail.is_none_or(|only| only == rail)
        };
        let lossy: Vec<&Fault> = self.faults(Trouble::LossyPath, operation).filter(is_here).collect();
        if let Packet::Data { way, at } = packet
            && lossy.into_iter().any(|fault| self.random.chance(fault.share))
        {
            let of = &mut self.ways[way as usize];
            if at >= of.expected && !of.lost.contains(&at) {
                of.lost.push(at);
            }
            return;
        }
        let slower: f64 =
            self.faults(Trouble::SlowPath, operation).filter(is_here).map(|fault| fault.factor).product();
        if slower > 1.0 {
            let takes = self.takes(packet, slower);
            let free = self.path_free.entry((src, dst)).or_default();
            *free = (*free).max(self.now) + takes;
            let at = *free;
            return self.at(at, Event::AtPort(packet));
        }
        self.at_port(packet);
    }

    pub(super) fn at_port(&mut self, packet: Packet) {
        let (_, dst) = self.ends(packet);
        let takes = self.takes(packet, self.slower(dst));
        let port = &mut self.adapters[dst as usize];
        port.port_free = port.port_free.max(self.now) + takes;
        let at = port.port_free + self.of.delay.0;
        self.at(at, Event::Arrive(packet));
    }

    pub(super) fn see(&mut self, packet: Packet, adapter: u32, is_sent: bool) {
        let rank = adapter / self.of.rails;
        self.seen[rank as usize].push(Seen { time: self.now, packet, is_sent });
    }

    pub(super) fn stop(&mut self, adapter: u32, hold: u64) {
        let now = self.now;
        let until = now + hold;
        let of = &mut self.adapters[adapter as usize];
        match hold {
            // The end of a pause.
            0 => {
                self.see(Packet::Pause { adapter, stops: false }, adapter, false);
                self.send_next(adapter);
            }
            _ => {
                of.stopped_until = of.stopped_until.max(until);
                of.pauses.push((now, until));
                self.see(Packet::Pause { adapter, stops: true }, adapter, false);
                self.at(until, Event::Stop { adapter, hold: 0 });
                // A pause ends by itself: the switch renews it.
                let quanta_ns = 65_535 * 512 * 1_000_000_000 / u128::from(self.of.rate.0);
                for n in 1..(u128::from(hold) * 2).div_ceil(quanta_ns.max(1)) as u64 {
                    let again = now + n * (quanta_ns / 2) as u64;
                    self.at(again, Event::Renew { adapter });
                }
            }
        }
    }

    // Arrivals.

    pub(super) fn arrive(&mut self, packet: Packet) {
        let (_, dst) = self.ends(packet);
        self.see(packet, dst, false);
        match packet {
            Packet::Data { way, at } => self.take(way, at),
            Packet::Answer { way, at, is_nak } => self.answered(way, at, is_nak),
            Packet::Pause { .. } => {}
        }
    }

    pub(super) fn take(&mut self, way: u32, at: u32) {
        let (message, n) = self.message_of(way, at);
        let (what, is_last) = (message.what, n + 1 == message.packets);
        let asks = self.asks(way, at);
        let of = &mut self.ways[way as usize];
        match at.cmp(&of.expected) {
            std::cmp::Ordering::Greater => {
                let (expected, is_new) = (of.expected, !std::mem::replace(&mut of.is_refused, true));
                if is_new {
                    self.answer(way, expected, true);
                }
                return;
            }
            std::cmp::Ordering::Less => {
                let last = of.expected - 1;
                if asks {
                    self.answer(way, last, false);
                }
                return;
            }
            std::cmp::Ordering::Equal => {}
        }
        of.expected += 1;
        of.is_refused = false;
        of.lost.retain(|&lost| lost != at);
        if asks {
            self.answer(way, at, false);
        }
        if is_last {
            self.arrived(what, self.message_of(way, at).0.immediate.is_some());
        }
    }

    pub(super) fn asks(&self, way: u32, at: u32) -> bool {
        let (message, n) = self.message_of(way, at);
        n + 1 == message.packets || (n + 1).is_multiple_of(ASKS_EVERY)
    }

    pub(super) fn arrived(&mut self, what: What, is_end: bool) {
        let now = self.now;
        match what {
            What::Element(connection, request) => {
                self.connections[connection as usize].requests[request as usize].granted = Some(now);
                self.post(connection as usize);
            }
            What::Data(connection, request) if is_end => {
                let edge = &self.connections[connection as usize].edge;
                let operation = self.operation_of(connection as usize, request as usize);
                let slow =
                    self.faults(Trouble::SlowReceiver, operation).filter(|fault| fault.rank == edge.to);
                let work = self.of.work.0 + slow.map(|fault| fault.by.0).sum::<u64>();
                let of = &mut self.connections[connection as usize].requests[request as usize];
                of.arrived += 1;
                if of.arrived == of.parts {
                    self.at(now + work, Event::Consumed { connection, request });
                }
            }
            _ => {}
        }
    }

    pub(super) fn answered(&mut self, way: u32, at: u32, is_nak: bool) {
        let now = self.now;
        if is_nak {
            self.at(now + REACTION_NS, Event::Again { way, at });
        }
        let until = if is_nak { at } else { at + 1 };
        let of = &mut self.ways[way as usize];
        let from = of.acknowledged;
        of.acknowledged = of.acknowledged.max(until);
        of.next = of.next.max(of.acknowledged);
        of.deadline = now + self.of.timeout.0;
        of.sent = of.sent.split_off(&until);
        let ended: Vec<What> = of
            .messages
            .iter()
            .rev()
            .map(|&one| &self.messages[one as usize])
            .take_while(|one| one.first + one.packets > from)
            .filter(|one| one.first + one.packets <= until && one.immediate.is_some())
            .map(|one| one.what)
            .collect();
        for what in ended {
            let What::Data(connection, request) = what else { continue };
            let of = &mut self.connections[connection as usize].requests[request as usize];
            of.answered += 1;
            if of.answered == of.parts {
                of.acknowledged = Some(now);
                let from = self.connections[connection as usize].edge.from;
                self.end_perhaps(from);
            }
        }
    }

    pub(super) fn decoy(&mut self, way: u32, n: u32) {
        let (kind, n) = (n / DECOYS, n % DECOYS);
        let bytes = 65536;
        let memory = (0x7e00_0000_0000 + u64::from(n % 4) * 0x10_0000, 0x777);
        let back = self.ways[way as usize].back;
        let other = What::Other;
        match kind {
            0 => self.message(way, Verb::Write, memory, bytes, Some(n), Vec::new(), other),
            1 => {
                self.message(way, Verb::Send, (0, 0), 64, None, Vec::new(), other);
                self.message(back, Verb::Write, memory, bytes, None, Vec::new(), other);
                self.message(back, Verb::Send, (0, 0), 16, None, Vec::new(), other);
            }
            _ => {
                self.message(way, Verb::Write, memory, bytes, None, Vec::new(), other);
                self.message(way, Verb::FetchAdd, (0x7d00_0000_0000, 0x778), 0, None, Vec::new(), other);
            }
        }
        if n + 1 < DECOYS {
            self.at(self.now + 20_000, Event::Decoy { way, n: kind * DECOYS + n + 1 });
        }
    }
}
