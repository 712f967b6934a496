//! Senders and receivers of a sprayed transport, event by event.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque},
    net::IpAddr,
};

use super::{BadPath, Error, Kind, Made, Mode, Played, Spray, Tap, TrueContext, TruePath, Truth, mrc, uet};
use crate::{
    craft::Packet,
    dissect::Link,
    in_order::InOrder,
    sim::rng::Rng,
    wire::{Ecn, Ipv4, Ipv6, PdsNackCode},
};

/// So often each may arrive, before something goes wrong for ever.
const MOST_EACH: u64 = 4;
const SOME_MORE: u64 = 10_000;
/// A SACK shows so many PSNs.
const SHOWN_BY_SACK: u64 = 64;
/// A network that loses everything is given up.
const MOST_TIMEOUTS: u64 = 1000;
/// A path that loses so many packets in a row is left.
const LOST_IN_A_ROW: u32 = 3;
/// A receiver of MRC that gets so many marked packets in a row on one path asks not to use it any more.
const MARKED_IN_A_ROW: u32 = 4;

/// A packet on its way to a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Request {
    pub(super) context: usize,
    pub(super) at: u64,
    pub(super) path: u16,
    /// When it was sent.
    pub(super) sent: u64,
    pub(super) is_again: bool,
    pub(super) is_trimmed: bool,
    pub(super) is_marked: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A sender may send.
    Send(usize),
    Arrives(Request),
    /// A probe comes to the receiver.
    Probed(usize, u16),
    /// What a receiver said comes to the sender.
    Answered(usize, Answer),
    /// Somebody may have waited too long.
    Timer(usize),
}

/// What a receiver asks a sender to do with the path of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Skip {
    No,
    Once,
    Always,
}

/// What a receiver has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arrived {
    /// All before have arrived.
    pub(super) next: u64,
    /// Of those from `next` on.
    pub(super) bitmap: u64,
    pub(super) bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Answer {
    /// For a packet.
    Ack {
        of: Request,
        arrived: Arrived,
        skip: Skip,
    },
    Nack {
        of: Request,
        why: Refusal,
        /// All before have arrived.
        next: u64,
    },
    /// For a probe.
    State {
        probe: u16,
        arrived: Arrived,
    },
    /// So many messages are complete.
    Completed(u64),
    Closed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Refusal {
    Trimmed,
    NoBuffer,
    OutOfOrder,
}

/// Both ends of a context.
pub(super) struct Context {
    pub(super) ends: [IpAddr; 2],
    pub(super) first_psn: u32,
    /// The scenario's `fail`, by message.
    pub(super) failed: BTreeSet<u64>,
    pub(super) row: TrueContext,
    rng: Rng,
    // The sender.
    next: u64,
    again: VecDeque<u64>,
    open: BTreeMap<u64, Open>,
    is_established: bool,
    is_closing: bool,
    free_at: u64,
    turn: u64,
    ways: Vec<Way>,
    // The receiver.
    expected: u64,
    arrived: BTreeSet<u64>,
    missing: BTreeSet<u64>,
    completed: u64,
    // For the truth.
    /// When the first transmission was sent of each packet that the receiver took.
    taken: BTreeMap<u64, u64>,
    /// Retransmissions at the tap, and when they were sent.
    again_at_tap: Vec<(u64, u64)>,
}

/// A path, as both ends know it.
#[derive(Clone, Default)]
struct Way {
    bad: BadPath,
    lost_in_a_row: u32,
    marked_in_a_row: u32,
    is_skipped_once: bool,
    is_left: bool,
}

/// A packet that has not been acknowledged.
#[derive(Clone, Copy)]
struct Open {
    sent: u64,
    path: u16,
    shown: u32,
    is_again: bool,
    is_queued: bool,
}

struct Play<'a> {
    of: &'a Spray,
    contexts: Vec<Context>,
    queue: BinaryHeap<Reverse<(u64, u64, Event)>>,
    events: u64,
    arrivals: u64,
    frames: Vec<Made>,
    /// From a packet to its answer, on the slowest path.
    round_trip: u64,
}

/// Plays a scenario.
///
/// # Errors
/// A network in which nothing arrives.
pub fn play(scenario: &Spray) -> Result<Played, Error> {
    let contexts: Vec<Context> = (0..scenario.contexts).map(|n| Context::new(scenario, n)).collect();
    let slowest = scenario.path.iter().map(|path| path.delay.0).max().unwrap_or(0);
    let mut play = Play {
        of: scenario,
        contexts,
        queue: BinaryHeap::new(),
        events: 0,
        arrivals: 0,
        frames: Vec::new(),
        round_trip: scenario.delay.0.saturating_mul(2).saturating_add(slowest),
    };
    for context in 0..play.contexts.len() {
        play.at(context as u64 * 100, Event::Send(context));
        play.at(scenario.timeout.0, Event::Timer(context));
    }
    let most = scenario.packets_each() * u64::from(scenario.contexts) * MOST_EACH + SOME_MORE;
    while let Some(Reverse((now, _, event))) = play.queue.pop() {
        play.happens(now, event);
        let is_endless = play.arrivals > most;
        if is_endless || play.contexts.iter().any(|context| context.row.timeouts > MOST_TIMEOUTS) {
            return Err(Error::new(
                "nearly nothing arrives: expected less loss, or fewer trimmed and refused packets",
            ));
        }
    }
    play.frames.order_by_key(|frame| frame.time_ns);
    let rows = play.contexts.into_iter().map(Context::truth).collect();
    let truth = Truth { schema: "rdmawire.spray-truth/1", contexts: rows };
    Ok(Played { scenario: scenario.clone(), frames: play.frames, truth })
}

impl Context {
    fn new(of: &Spray, n: u32) -> Context {
        let mut rng = Rng::new(of.seed, n.into());
        let ends = of.addresses(n);
        let first_psn = rng.next() as u32;
        let (spdcid, dpdcid) = (0x100 + n as u16, 0x800 + n as u16);
        let paths = (0..of.paths).map(|path| {
            let (udp_src_port, label) = of.entropy().path(path.into());
            let flow_label = Some(label as u16).filter(|_| of.ipv6 && !of.srv6);
            let segments = of.segments(path, ends[1]).map(|to| to.to_string());
            TruePath { udp_src_port, flow_label, segments, ..TruePath::default() }
        });
        let row = TrueContext {
            src: ends[0].to_string(),
            dst: ends[1].to_string(),
            spdcid,
            dpdcid,
            state: if of.has_contexts() { "open" } else { "done" },
            paths: paths.collect(),
            ..TrueContext::default()
        };
        let way = |path| Way { bad: of.troubles(path), ..Way::default() };
        Context {
            ends,
            first_psn,
            failed: BTreeSet::new(),
            row,
            rng,
            next: 0,
            again: VecDeque::new(),
            open: BTreeMap::new(),
            // Ultra Ethernet sets a context up with its first packet, where there is one.
            is_established: of.kind == Kind::Mrc || !of.has_contexts(),
            is_closing: false,
            free_at: 0,
            turn: 0,
            ways: (0..of.paths).map(way).collect(),
            expected: 0,
            arrived: BTreeSet::new(),
            missing: BTreeSet::new(),
            completed: 0,
            taken: BTreeMap::new(),
            again_at_tap: Vec::new(),
        }
    }

    pub(super) fn psn(&self, at: u64) -> u32 {
        self.first_psn.wrapping_add(at as u32)
    }

    /// The number of a request without a context: any, but each once.
    pub(super) fn number(&self, at: u64) -> u32 {
        self.first_psn.wrapping_add((at as u32).wrapping_mul(0x9e37_79b1))
    }

    /// What is known of the packets behind the first that has not arrived.
    fn arrived(&self) -> Arrived {
        let behind = self.arrived.range(self.expected..self.expected + SHOWN_BY_SACK);
        let bitmap = behind.fold(0, |bitmap, at| bitmap | 1 << (at - self.expected));
        Arrived { next: self.expected, bitmap, bytes: self.row.received_bytes }
    }

    /// The path of the next packet.
    fn next_path(&mut self) -> u16 {
        let paths = self.ways.len() as u64;
        for _ in 0..2 * paths {
            let path = (self.turn % paths) as u16;
            self.turn += 1;
            let way = &mut self.ways[usize::from(path)];
            if !way.is_left && !std::mem::take(&mut way.is_skipped_once) {
                return path;
            }
        }
        (self.turn % paths) as u16
    }

    /// The sender leaves a path, if it has another one.
    fn leave(&mut self, path: u16) {
        if self.ways.iter().filter(|way| !way.is_left).count() > 1 {
            self.ways[usize::from(path)].is_left = true;
        }
    }

    /// A packet is taken for lost, and is sent again.
    fn resend(&mut self, at: u64) -> Option<u16> {
        let open = self.open.get_mut(&at).filter(|open| !open.is_queued)?;
        open.is_queued = true;
        self.again.push_back(at);
        Some(open.path)
    }

    /// An ordered sender repeats all from the packet that is missing on, unless it did a moment ago.
    fn go_back(&mut self, now: u64, missing: u64, round_trip: u64) {
        let is_known = self
            .open
            .get(&missing)
            .is_some_and(|open| !(open.is_queued || open.is_again && now < open.sent + round_trip));
        if is_known {
            let behind: Vec<u64> = self.open.range(missing..).map(|(&at, _)| at).collect();
            for at in behind {
                self.resend(at);
            }
        }
    }

    fn truth(mut self) -> TrueContext {
        let taken = &self.taken;
        let is_spurious = |(at, sent): &&(u64, u64)| taken.get(at).is_some_and(|first| first < sent);
        self.row.spurious = self.again_at_tap.iter().filter(is_spurious).count() as u64;
        for (path, way) in self.row.paths.iter_mut().zip(&self.ways) {
            path.is_left = way.is_left;
        }
        self.row
    }
}

impl Play<'_> {
    fn at(&mut self, time: u64, event: Event) {
        self.events += 1;
        self.queue.push(Reverse((time, self.events, event)));
    }

    fn happens(&mut self, now: u64, event: Event) {
        match event {
            Event::Send(n) => self.send(now, n),
            Event::Arrives(request) => self.arrives(now, request),
            Event::Probed(n, probe) => self.probed(now, n, probe),
            Event::Answered(n, answer) => self.answered(now, n, answer),
            Event::Timer(n) => self.timer(now, n),
        }
    }

    /// Sends one packet, if there is one that may go.
    fn send(&mut self, now: u64, n: usize) {
        let (of, all) = (self.of, self.of.packets_each());
        let context = &mut self.contexts[n];
        if now < context.free_at {
            return;
        }
        let queued =
            std::iter::from_fn(|| context.again.pop_front()).find(|at| context.open.contains_key(at));
        let (at, is_again) = match queued {
            Some(at) => (at, true),
            // Until the receiver has answered, there is but one.
            None if context.next < all
                && context.open.len() < of.window as usize
                && (context.is_established || context.next == 0)
                && context.next
                    < context.open.keys().next().map_or(u64::MAX, |first| first + SHOWN_BY_SACK) =>
            {
                context.next += 1;
                (context.next - 1, false)
            }
            None => return,
        };
        let before = context.open.get(&at).map(|open| open.path);
        // A retransmission takes another path, if there is one; ordered ones take but one.
        let path = match context.next_path() {
            _ if of.mode == Mode::Rod => n as u16 % of.paths,
            path if Some(path) == before => context.next_path(),
            path => path,
        };
        if of.mode == Mode::Uud {
            context.is_closing = context.next == all;
        } else {
            context.open.insert(at, Open { sent: now, path, shown: 0, is_again, is_queued: false });
        }
        let BadPath { loss, trim, ce, delay, dead_at, .. } = context.ways[usize::from(path)].bad;
        // The first packet of a context meets nothing.
        let meets = |context: &mut Context, share: f64| at > 0 && context.rng.chance(share);
        let is_dead = dead_at.is_some_and(|dead_at| now >= dead_at.0);
        let is_lost = meets(context, loss) || is_dead;
        let can_be_trimmed = match of.kind {
            Kind::Uet => of.payload_of(at) > uet::trimmed_payload(of),
            Kind::Mrc => of.payload_of(at) > of.trim_bytes as usize,
        };
        let is_trimmed = meets(context, trim) && !is_lost && can_be_trimmed;
        let is_marked = meets(context, ce) && !is_lost;
        let is_late = meets(context, of.late);
        context.row.lost += u64::from(is_lost);
        context.row.paths[usize::from(path)].lost += u64::from(is_lost);
        context.row.paths[usize::from(path)].trimmed += u64::from(is_trimmed);
        let bits = (u64::from(of.mtu) + 120) * 8;
        let takes = (u128::from(bits) * 1_000_000_000 / u128::from(of.rate.0.max(1))) as u64;
        context.free_at = now + takes.max(1);
        let free_at = context.free_at;
        let request = Request { context: n, at, path, sent: now, is_again, is_trimmed, is_marked };
        if of.tap == Tap::Sender {
            self.record_request(now, Request { is_trimmed: false, is_marked: false, ..request });
        }
        if !is_lost {
            let late = if is_late { of.late_by.0 } else { 0 };
            self.at(now + of.delay.0 + delay.0 + late, Event::Arrives(request));
        }
        self.at(free_at, Event::Send(n));
    }

    fn arrives(&mut self, now: u64, request: Request) {
        let of = self.of;
        self.arrivals += 1;
        if of.tap == Tap::Receiver {
            self.record_request(now, request);
        }
        let (n, at) = (request.context, request.at);
        let context = &mut self.contexts[n];
        let refused = |why| Answer::Nack { of: request, why, next: context.expected };
        let answer = if of.mode == Mode::Uud {
            return;
        } else if request.is_trimmed {
            refused(Refusal::Trimmed)
        } else if at > 0 && context.rng.chance(of.refuse) {
            Answer::Nack { of: request, why: Refusal::NoBuffer, next: context.expected }
        } else if of.mode == Mode::Rod && at > context.expected {
            refused(Refusal::OutOfOrder)
        } else {
            let first = context.taken.entry(at).or_insert_with(|| {
                context.row.received_bytes += of.payload_of(at) as u64;
                request.sent
            });
            *first = request.sent.min(*first);
            if at >= context.expected {
                context.arrived.insert(at);
            }
            while context.arrived.remove(&context.expected) {
                context.expected += 1;
            }
            let way = &mut context.ways[usize::from(request.path)];
            way.marked_in_a_row = if request.is_marked { way.marked_in_a_row + 1 } else { 0 };
            let skip = match way.marked_in_a_row {
                0 => Skip::No,
                n if n < MARKED_IN_A_ROW => Skip::Once,
                _ => Skip::Always,
            };
            Answer::Ack { of: request, arrived: context.arrived(), skip }
        };
        self.answer(now, n, answer);
        let context = &mut self.contexts[n];
        let completed = context.expected / of.packets_of_message();
        if of.kind == Kind::Mrc && completed > std::mem::replace(&mut context.completed, completed) {
            self.answer(now, n, Answer::Completed(completed));
        }
    }

    fn probed(&mut self, now: u64, n: usize, probe: u16) {
        if self.of.tap == Tap::Receiver {
            self.record_probe(now, n, probe);
        }
        let arrived = self.contexts[n].arrived();
        self.answer(now, n, Answer::State { probe, arrived });
    }

    /// A receiver answers.
    fn answer(&mut self, now: u64, n: usize, answer: Answer) {
        if self.of.tap == Tap::Receiver {
            self.record_answer(now, n, answer);
        }
        self.at(now + self.of.delay.0, Event::Answered(n, answer));
    }

    fn answered(&mut self, now: u64, n: usize, answer: Answer) {
        if self.of.tap == Tap::Sender {
            self.record_answer(now, n, answer);
        }
        let (all, is_mrc) = (self.of.packets_each(), self.of.kind == Kind::Mrc);
        let context = &mut self.contexts[n];
        match answer {
            Answer::Ack { of, arrived, skip } => {
                context.is_established = true;
                let is_first = context.open.remove(&of.at).is_some();
                context.row.completed += u64::from(is_first && self.of.mode == Mode::Rudi);
                let way = &mut context.ways[usize::from(of.path)];
                way.lost_in_a_row = 0;
                way.is_skipped_once |= is_mrc && skip == Skip::Once;
                if is_mrc && self.of.heeds_skip && skip == Skip::Always {
                    context.leave(of.path);
                }
                if self.of.mode != Mode::Rudi {
                    self.learn(now, n, arrived);
                }
            }
            Answer::State { arrived, .. } => self.learn(now, n, arrived),
            Answer::Nack { next, .. } if self.of.mode == Mode::Rod => {
                context.go_back(now, next, self.round_trip);
            }
            Answer::Nack { of, .. } => _ = context.resend(of.at),
            Answer::Completed(_) | Answer::Closed => return,
        }
        let context = &mut self.contexts[n];
        if context.next < all || !context.open.is_empty() || context.is_closing {
            return self.at(now, Event::Send(n));
        }
        context.is_closing = true;
        if !self.of.has_contexts() {
            return;
        }
        context.row.state = "closed";
        if !is_mrc {
            self.close(now, n);
        }
    }

    /// What a receiver has is no longer open; what it shows missing often enough is sent again.
    fn learn(&mut self, now: u64, n: usize, Arrived { next, bitmap, .. }: Arrived) {
        let (is_mrc, patience) = (self.of.kind == Kind::Mrc, self.of.patience);
        let context = &mut self.contexts[n];
        context.open = context.open.split_off(&next);
        let shown = u64::from(64 - bitmap.leading_zeros());
        for (bit, x) in (0..shown).map(|bit| (bit, next + bit)) {
            if bitmap >> bit & 1 == 1 {
                context.open.remove(&x);
                continue;
            }
            let Some(open) = context.open.get_mut(&x) else { continue };
            // What was sent again a moment ago cannot be known yet.
            if open.is_again && now < open.sent + self.round_trip {
                continue;
            }
            open.shown = open.shown.saturating_add(1);
            if open.shown >= patience
                && let Some(path) = context.resend(x)
            {
                let way = &mut context.ways[usize::from(path)];
                way.lost_in_a_row += 1;
                if is_mrc && way.lost_in_a_row >= LOST_IN_A_ROW {
                    context.leave(path);
                }
            }
        }
    }

    fn timer(&mut self, now: u64, n: usize) {
        let timeout = self.of.timeout.0;
        let context = &mut self.contexts[n];
        if context.is_closing {
            return;
        }
        let oldest = context.open.iter().find(|(_, open)| !open.is_queued && now >= open.sent + timeout);
        if let Some((&at, _)) = oldest {
            match self.of.mode {
                Mode::Rod => context.go_back(now, at, 0),
                _ => _ = context.resend(at),
            }
            context.row.timeouts += 1;
            let probe = context.row.timeouts as u16;
            self.at(now, Event::Send(n));
            if self.of.kind == Kind::Mrc {
                if self.of.tap == Tap::Sender {
                    self.record_probe(now, n, probe);
                }
                self.at(now + self.of.delay.0, Event::Probed(n, probe));
            }
        }
        self.at(now + timeout / 4 + 1, Event::Timer(n));
    }

    /// The sender's command to close the context arrives, and its acknowledgement too.
    fn close(&mut self, now: u64, n: usize) {
        let arrives = now + self.of.delay.0;
        let packet = uet::close(self.of, &self.contexts[n]);
        self.record(if self.of.tap == Tap::Sender { now } else { arrives }, &packet, false);
        if self.of.tap == Tap::Receiver {
            self.record_answer(arrives, n, Answer::Closed);
        }
        self.at(arrives + self.of.delay.0, Event::Answered(n, Answer::Closed));
    }

    fn record_request(&mut self, time: u64, request: Request) {
        let of = self.of;
        let Request { context: n, at, path, is_again, is_trimmed, is_marked, .. } = request;
        let context = &mut self.contexts[n];
        if at.is_multiple_of(of.packets_of_message()) && !is_again && context.rng.chance(of.fail) {
            context.failed.insert(at / of.packets_of_message());
        }
        let row = &mut context.row;
        row.packets += 1;
        row.retransmits += u64::from(is_again);
        row.trimmed += u64::from(is_trimmed);
        row.ce_packets += u64::from(is_marked);
        let path = &mut row.paths[usize::from(path)];
        path.packets += 1;
        path.retransmits += u64::from(is_again);
        path.ce_packets += u64::from(is_marked);
        if is_again {
            context.again_at_tap.push((at, request.sent));
        }
        let mut packet = match of.kind {
            Kind::Uet => uet::request(of, context, &request),
            Kind::Mrc => mrc::request(of, context, &request),
        };
        // Switches of SRv6 mark the header around the packet.
        let around = if is_marked { Ecn::CE } else { Ecn::ECT0 };
        let own = if of.srv6 { Ecn::ECT0 } else { around };
        if !packet.alter(|ip: Ipv4| ip.with_ecn(own)) {
            packet.alter(|ip: Ipv6| ip.with_ecn(own));
        }
        if of.srv6 {
            packet.alter_first(|ip: Ipv6| ip.with_ecn(around));
        }
        self.record(time, &packet, is_trimmed && of.kind == Kind::Mrc);
    }

    fn record_probe(&mut self, time: u64, n: usize, probe: u16) {
        let context = &mut self.contexts[n];
        context.row.probes += 1;
        let packet = mrc::probe(self.of, context, probe);
        self.record(time, &packet, false);
    }

    fn record_answer(&mut self, time: u64, n: usize, answer: Answer) {
        let of = self.of;
        let time_ns = self.time_ns(time);
        let context = &mut self.contexts[n];
        let row = &mut context.row;
        match answer {
            Answer::Ack { of: request, arrived: Arrived { next, bitmap, .. }, skip } => {
                row.acks += 1;
                row.marked_acks += u64::from(request.is_marked);
                let path = &mut row.paths[usize::from(request.path)];
                path.marked_acks += u64::from(request.is_marked);
                if skip == Skip::Always && of.kind == Kind::Mrc {
                    path.skipped_ns.get_or_insert(time_ns);
                }
                // Without a context there are no SACKs.
                let shown = if of.has_contexts() { u64::from(64 - bitmap.leading_zeros()) } else { 0 };
                context.missing.extend((0..shown).filter(|bit| bitmap >> bit & 1 == 0).map(|bit| next + bit));
                row.sacked_missing = context.missing.len() as u64;
                // MRC's receivers say it themselves; requests without a context are messages by themselves.
                if of.kind == Kind::Uet && of.has_contexts() {
                    row.completed = row.completed.max(next / of.packets_of_message());
                }
            }
            Answer::State { .. } | Answer::Closed => row.acks += 1,
            Answer::Nack { why, .. } => *row.nacks.entry(nack_code(of, why)).or_default() += 1,
            Answer::Completed(messages) => row.completed = messages,
        }
        let packet = match of.kind {
            Kind::Uet => uet::answer(of, context, &answer),
            Kind::Mrc => mrc::answer(of, context, &answer),
        };
        self.record(time, &packet, false);
    }

    fn time_ns(&self, time: u64) -> i64 {
        i64::try_from(self.of.begin.0 + time).unwrap_or(i64::MAX)
    }

    fn record(&mut self, time: u64, packet: &Packet, is_trimmed: bool) {
        let mut bytes = packet.build().to_vec();
        if is_trimmed {
            self.of.trimming().apply(Link::ETHERNET, &mut bytes);
        }
        let wire_len = bytes.len() as u32;
        if self.of.snaplen > 0 {
            bytes.truncate(self.of.snaplen as usize);
        }
        self.frames.push(Made { time_ns: self.time_ns(time), wire_len, bytes });
    }
}

/// The code of a NACK: MRC's reasons are those of Ultra Ethernet.
pub(super) fn nack_code(of: &Spray, why: Refusal) -> u8 {
    const NO_PACKET_BUFFER: u8 = 7;
    match why {
        Refusal::Trimmed if of.last_hop => PdsNackCode::TRIMMED_LAST_HOP.0,
        Refusal::Trimmed => PdsNackCode::TRIMMED.0,
        Refusal::NoBuffer => NO_PACKET_BUFFER,
        Refusal::OutOfOrder => PdsNackCode::OUT_OF_ORDER.0,
    }
}
