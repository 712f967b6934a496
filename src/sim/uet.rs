//! Scenarios of Ultra Ethernet: requests in any order, selective acknowledgements, NACKs, trimmed packets, and the truth about each context.
//!
//! Senders around a network each have one packet delivery context to a receiver. Packets are lost, trimmed, marked, refused or overtaken by chance. A sender
//! sends again what is NACKed, what three SACKs show missing, and, at the end, what nobody answers. One tap is before the network or behind it.
//!
//! ```
//! use rdmawire::sim::uet::{Uet, play};
//! let played = play(&Uet::parse("kind = \"uet\"\nloss = 0.01").unwrap()).unwrap();
//! assert_eq!(played.truth.contexts[0].state, "closed");
//! ```

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque},
    fmt,
    net::Ipv4Addr,
};

use serde::{Deserialize, Serialize};

use super::{
    Error, Ns, Rate, SHARE, Size,
    check::{Bounds, Checked, LATEST},
    rng::Rng,
    text,
};
use crate::{
    capture::Interface,
    craft::{Packet, template},
    dissect::Link,
    wire::*,
};

tables! {
    /// Senders with contexts of Ultra Ethernet.
    pub struct Uet {
        /// `"uet"`: that tells it from other scenarios.
        pub kind: String = String::from("uet"),
        /// What it shows.
        pub title: String = String::new(),
        /// Seed of everything random.
        pub seed: u64 = 1,
        /// When it begins, as a duration since 1970-01-01 UTC.
        pub begin: Ns = Ns(1_767_225_600_000_000_000) => 0.0..=LATEST,
        /// Speed of the senders' links.
        pub rate: Rate = Rate(100_000_000_000),
        /// Through the network, one way.
        pub delay: Ns = Ns(2_000),
        /// Contexts: each has a sender of its own.
        pub contexts: u32 = 2 => 1..=64,
        /// Receivers, which contexts take in turn. One is incast.
        pub receivers: u32 = 1 => 1..=64,
        /// Messages of each context.
        pub messages: u32 = 8 => 1..=100_000,
        /// Bytes of a message.
        pub size: Size = Size(64 << 10) => 1..=1 << 30,
        /// Bytes of payload of a packet.
        pub mtu: u16 = 4096 => 64..=8192,
        /// Packets that a sender has on their way at most.
        pub window: u32 = 32 => 1..=64,
        /// Paths, by UDP source port, which packets take in turn.
        pub paths: u16 = 8 => 1..=1024,
        /// Where the tap is.
        pub tap: Tap = Tap::Receiver,
        /// Packets that are lost, behind a tap at the senders and before one at the receivers. The first of a context meets nothing of this.
        pub loss: f64 = 0.0 => SHARE,
        /// Packets that a switch trims.
        pub trim: f64 = 0.0 => SHARE,
        /// Bytes of a trimmed frame.
        pub trim_bytes: u32 = 128 => 110..=1024,
        /// Whether that is the last switch.
        pub last_hop: bool = true,
        /// Packets that others overtake.
        pub late: f64 = 0.0 => SHARE,
        /// How late these are.
        pub late_by: Ns = Ns(3_000),
        /// Packets that are marked.
        pub ce: f64 = 0.0 => SHARE,
        /// Packets that the receiver refuses: it has no buffer.
        pub refuse: f64 = 0.0 => SHARE,
        /// Messages that fail: their memory key is wrong.
        pub fail: f64 = 0.0 => SHARE,
        /// Time until a sender sends again what nobody answers.
        pub timeout: Ns = Ns(100_000) => 1_000..=1_000_000_000,
        /// Bytes kept of a frame; 0: all.
        pub snaplen: u32 = 0,
    }
}

/// Where the tap is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tap {
    /// At the senders, before the network: nothing has been lost there.
    Sender,
    /// At the receivers, behind the network.
    Receiver,
}

impl Checked for Tap {}

/// What is true of a scenario.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Truth {
    /// What this is: `rdmawire.uet-truth/1`.
    pub schema: &'static str,
    /// The contexts.
    pub contexts: Vec<TrueContext>,
}

/// A context, as the table `uet` has it at this tap, and what became of its packets.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TrueContext {
    /// The sender.
    pub src: String,
    /// The receiver.
    pub dst: String,
    /// The sender's number.
    pub spdcid: u16,
    /// The receiver's number.
    pub dpdcid: u16,
    /// How far it came.
    pub state: &'static str,
    /// Requests at the tap.
    pub packets: u64,
    /// Those that say that they are retransmissions.
    pub retransmits: u64,
    /// Those that were trimmed before.
    pub trimmed: u64,
    /// Those that were marked before.
    pub ce_packets: u64,
    /// Acknowledgements at the tap, that of the end included.
    pub acks: u64,
    /// Those that tell of a mark.
    pub marked_acks: u64,
    /// PSNs that SACKs showed missing below one that had arrived.
    pub sacked_missing: u64,
    /// NACKs by code.
    pub nacks: BTreeMap<u8, u64>,
    /// Responses by return code, but for those that say nothing.
    pub return_codes: BTreeMap<u8, u64>,
    /// Packets that the network lost.
    pub lost: u64,
    /// Packets that were sent again because nobody answered.
    pub timeouts: u64,
}

/// A frame at the tap.
#[derive(Clone, Debug)]
pub struct Made {
    /// Nanoseconds since 1970-01-01 UTC.
    pub time_ns: i64,
    /// Bytes on the wire. The tap may have cut `bytes`.
    pub wire_len: u32,
    /// The bytes captured.
    pub bytes: Vec<u8>,
}

/// A scenario that was played.
#[derive(Clone, Debug)]
pub struct Played {
    scenario: Uet,
    frames: Vec<Made>,
    /// What is true of it.
    pub truth: Truth,
}

impl Played {
    /// The frames at the tap, in the order of time.
    pub fn frames(&self) -> &[Made] {
        &self.frames
    }

    /// The interface of the tap.
    pub fn interface(&self) -> Interface {
        let name = if self.scenario.tap == Tap::Sender { "senders" } else { "receivers" };
        Interface {
            snaplen: self.scenario.snaplen,
            name: Some(name.to_owned()),
            speed_bps: Some(self.scenario.rate.0),
            ..Interface::new(Link::ETHERNET)
        }
    }
}

impl Uet {
    /// Whether a scenario is of this kind.
    pub fn is(text: &str) -> bool {
        #[derive(Deserialize)]
        struct Kind {
            kind: String,
        }
        toml::from_str::<Kind>(text).is_ok_and(|of| of.kind == "uet")
    }

    /// Reads a scenario.
    ///
    /// # Errors
    /// The line where the text is not TOML or has another field, and what was expected there; a value that cannot be.
    pub fn parse(text: &str) -> Result<Uet, Error> {
        let scenario: Uet = text::parse(text)?;
        scenario.check(format_args!(""), None)?;
        if scenario.kind != "uet" {
            return Err(Error::new(format!("kind = {:?}: expected \"uet\"", scenario.kind)));
        }
        if scenario.packets_each() > MOST / u64::from(scenario.contexts) {
            return Err(Error::new(format!(
                "expected {MOST} packets at most: fewer messages, contexts or bytes"
            )));
        }
        Ok(scenario)
    }

    fn packets_of_message(&self) -> u64 {
        self.size.0.div_ceil(self.mtu.into())
    }

    fn payload_of(&self, at: u64) -> usize {
        let offset = at % self.packets_of_message() * u64::from(self.mtu);
        (self.size.0 - offset).min(self.mtu.into()) as usize
    }

    /// What a switch leaves of a payload.
    fn trimmed_payload(&self) -> usize {
        (self.trim_bytes as usize).saturating_sub(HEADERS)
    }

    fn packets_each(&self) -> u64 {
        self.packets_of_message().saturating_mul(self.messages.into())
    }
}

/// Packets of a scenario.
const MOST: u64 = 100_000;
/// So often each may arrive, before something goes wrong for ever.
const MOST_EACH: u64 = 4;
const SOME_MORE: u64 = 10_000;
/// A SACK shows so many PSNs.
const SHOWN_BY_SACK: u64 = 64;
/// So many SACKs without it, and a packet is lost.
const ENOUGH: u8 = 3;
const WRONG_KEY: u8 = 0x1c;
/// A network that loses everything is given up.
const MOST_TIMEOUTS: u64 = 1000;

/// A packet on its way to a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Request {
    context: usize,
    at: u64,
    is_again: bool,
    is_trimmed: bool,
    is_marked: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A sender may send.
    Send(usize),
    Arrives(Request),
    /// What a receiver said comes to the sender.
    Answered(usize, Answer),
    /// Somebody may have waited too long.
    Timer(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    /// For the packet `at`: all before `next` have arrived, and of those behind what the bitmap says.
    Ack {
        at: u64,
        next: u64,
        bitmap: u64,
        is_marked: bool,
    },
    Nack {
        at: u64,
        code: u8,
    },
    Closed,
}

/// Both ends of a context.
struct Context {
    src: Ipv4Addr,
    dst: Ipv4Addr,
    first_psn: u32,
    rng: Rng,
    // The sender.
    next: u64,
    again: VecDeque<u64>,
    open: BTreeMap<u64, Open>,
    is_established: bool,
    is_closing: bool,
    free_at: u64,
    // The receiver.
    expected: u64,
    arrived: BTreeSet<u64>,
    failed: BTreeSet<u64>,
    missing: BTreeSet<u64>,
    row: TrueContext,
}

/// A packet that has not been acknowledged.
#[derive(Clone, Copy)]
struct Open {
    sent: u64,
    shown: u8,
    is_queued: bool,
}

struct Play<'a> {
    of: &'a Uet,
    contexts: Vec<Context>,
    queue: BinaryHeap<Reverse<(u64, u64, Event)>>,
    events: u64,
    arrivals: u64,
    frames: Vec<Made>,
}

/// Plays a scenario.
///
/// # Errors
/// A network in which nothing arrives.
pub fn play(scenario: &Uet) -> Result<Played, Error> {
    let contexts = (0..scenario.contexts).map(|n| Context::new(scenario, n)).collect();
    let mut play =
        Play { of: scenario, contexts, queue: BinaryHeap::new(), events: 0, arrivals: 0, frames: Vec::new() };
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
    play.frames.sort_by_key(|frame| frame.time_ns);
    let rows = play.contexts.into_iter().map(|context| context.row).collect();
    let truth = Truth { schema: "rdmawire.uet-truth/1", contexts: rows };
    Ok(Played { scenario: scenario.clone(), frames: play.frames, truth })
}

impl Context {
    fn new(of: &Uet, n: u32) -> Context {
        let mut rng = Rng::new(of.seed, n.into());
        let src = Ipv4Addr::new(10, 0, 0, n as u8 + 1);
        let dst = Ipv4Addr::new(10, 0, 1, (n % of.receivers) as u8 + 1);
        let first_psn = rng.next() as u32;
        let (spdcid, dpdcid) = (0x100 + n as u16, 0x800 + n as u16);
        let row = TrueContext {
            src: src.to_string(),
            dst: dst.to_string(),
            spdcid,
            dpdcid,
            state: "open",
            ..TrueContext::default()
        };
        Context {
            src,
            dst,
            first_psn,
            rng,
            next: 0,
            again: VecDeque::new(),
            open: BTreeMap::new(),
            is_established: false,
            is_closing: false,
            free_at: 0,
            expected: 0,
            arrived: BTreeSet::new(),
            failed: BTreeSet::new(),
            missing: BTreeSet::new(),
            row,
        }
    }

    fn psn(&self, at: u64) -> u32 {
        self.first_psn.wrapping_add(at as u32)
    }

    /// What is known of the packets behind the first that has not arrived.
    fn bitmap(&self) -> u64 {
        let behind = self.arrived.range(self.expected..self.expected + SHOWN_BY_SACK);
        behind.fold(0, |bitmap, at| bitmap | 1 << (at - self.expected))
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
        context.open.insert(at, Open { sent: now, shown: 0, is_queued: false });
        let meets = |context: &mut Context, share: f64| at > 0 && context.rng.chance(share);
        let is_lost = meets(context, of.loss);
        let is_trimmed = meets(context, of.trim) && !is_lost && of.payload_of(at) > of.trimmed_payload();
        let is_marked = meets(context, of.ce);
        let is_late = meets(context, of.late);
        context.row.lost += u64::from(is_lost);
        let bits = (u64::from(of.mtu) + 120) * 8;
        let takes = (u128::from(bits) * 1_000_000_000 / u128::from(of.rate.0.max(1))) as u64;
        context.free_at = now + takes.max(1);
        let free_at = context.free_at;
        let request = Request { context: n, at, is_again, is_trimmed, is_marked };
        if of.tap == Tap::Sender {
            self.record_request(now, Request { is_trimmed: false, is_marked: false, ..request });
        }
        if !is_lost {
            let late = if is_late { of.late_by.0 } else { 0 };
            self.at(now + of.delay.0 + late, Event::Arrives(request));
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
        let nack = |code| Answer::Nack { at, code };
        let answer = if request.is_trimmed {
            nack(if of.last_hop { PdsNackCode::TRIMMED_LAST_HOP.0 } else { PdsNackCode::TRIMMED.0 })
        } else if at > 0 && context.rng.chance(of.refuse) {
            nack(7)
        } else {
            if at >= context.expected {
                context.arrived.insert(at);
            }
            while context.arrived.remove(&context.expected) {
                context.expected += 1;
            }
            Answer::Ack { at, next: context.expected, bitmap: context.bitmap(), is_marked: request.is_marked }
        };
        if of.tap == Tap::Receiver {
            self.record_answer(now, n, answer);
        }
        self.at(now + of.delay.0, Event::Answered(n, answer));
    }

    fn answered(&mut self, now: u64, n: usize, answer: Answer) {
        if self.of.tap == Tap::Sender {
            self.record_answer(now, n, answer);
        }
        let all = self.of.packets_each();
        let context = &mut self.contexts[n];
        match answer {
            Answer::Ack { at, next, bitmap, .. } => {
                context.is_established = true;
                context.open = context.open.split_off(&next);
                context.open.remove(&at);
                let shown = u64::from(64 - bitmap.leading_zeros());
                for (bit, x) in (0..shown).map(|bit| (bit, next + bit)) {
                    if bitmap >> bit & 1 == 1 {
                        context.open.remove(&x);
                    } else if let Some(open) = context.open.get_mut(&x) {
                        open.shown = open.shown.saturating_add(1);
                        if open.shown >= ENOUGH && !open.is_queued {
                            open.is_queued = true;
                            context.again.push_back(x);
                        }
                    }
                }
            }
            Answer::Nack { at, .. } => {
                if let Some(open) = context.open.get_mut(&at).filter(|open| !open.is_queued) {
                    open.is_queued = true;
                    context.again.push_back(at);
                }
            }
            Answer::Closed => return,
        }
        if context.next == all && context.open.is_empty() && !context.is_closing {
            context.is_closing = true;
            context.row.state = "closed";
            self.close(now, n);
        } else {
            self.at(now, Event::Send(n));
        }
    }

    fn timer(&mut self, now: u64, n: usize) {
        let timeout = self.of.timeout.0;
        let context = &mut self.contexts[n];
        if context.is_closing {
            return;
        }
        let oldest = context.open.iter_mut().find(|(_, open)| !open.is_queued && now >= open.sent + timeout);
        if let Some((&at, open)) = oldest {
            open.is_queued = true;
            context.again.push_back(at);
            context.row.timeouts += 1;
            self.at(now, Event::Send(n));
        }
        self.at(now + timeout / 4 + 1, Event::Timer(n));
    }

    /// The sender's command to close the context arrives, and its acknowledgement too.
    fn close(&mut self, now: u64, n: usize) {
        let (of, all) = (self.of, self.of.packets_each());
        let [sent, arrived] = [now, now + of.delay.0];
        let context = &self.contexts[n];
        let control = PdsControl::default()
            .with_control_type(PdsControlType::CLOSE_COMMAND)
            .with_ack_req(true)
            .with_psn(context.psn(all))
            .with_spdcid(Hex16(context.row.spdcid))
            .with_dpdcid(Hex16(context.row.dpdcid));
        let packet = uet(context.src, context.dst, 0xc000).push(control);
        self.record(if of.tap == Tap::Sender { sent } else { arrived }, &packet);
        let back = if of.tap == Tap::Sender { arrived + of.delay.0 } else { arrived };
        self.at(back, Event::Answered(n, Answer::Closed));
        if of.tap == Tap::Receiver {
            self.record_answer(arrived, n, Answer::Closed);
        }
    }

    fn record_request(&mut self, time: u64, request: Request) {
        let of = self.of;
        let Request { context: n, at, is_again, is_trimmed, is_marked } = request;
        let each = of.packets_of_message();
        let (message, of_message) = (at / each, at % each);
        let is_last = of_message + 1 == each;
        let offset = of_message * u64::from(of.mtu);
        let payload = of.payload_of(at);
        let context = &mut self.contexts[n];
        if of_message == 0 && !is_again && context.rng.chance(of.fail) {
            context.failed.insert(message);
        }
        let row = &mut context.row;
        row.packets += 1;
        row.retransmits += u64::from(is_again);
        row.trimmed += u64::from(is_trimmed);
        row.ce_packets += u64::from(is_marked);
        let (psn, spdcid, dpdcid) = (context.psn(at), Hex16(context.row.spdcid), Hex16(context.row.dpdcid));
        let port = 0xc000 + (at % u64::from(of.paths)) as u16;
        let packet = uet(context.src, context.dst, port);
        let packet = packet.edit(|ip: Ipv4| ip.with_ecn(if is_marked { Ecn::CE } else { Ecn::ECT0 }));
        let packet = match at {
            0 => packet.push(
                PdsRequestSyn::default()
                    .with_kind(PdsType::RUD_REQUEST)
                    .with_syn(true)
                    .with_ack_req(true)
                    .with_retransmit(is_again)
                    .with_psn(psn)
                    .with_spdcid(spdcid),
            ),
            _ => packet.push(
                PdsRequest::default()
                    .with_kind(PdsType::RUD_REQUEST)
                    .with_ack_req(true)
                    .with_retransmit(is_again)
                    .with_psn(psn)
                    .with_spdcid(spdcid)
                    .with_dpdcid(dpdcid),
            ),
        };
        let id = message as u16;
        let packet = match of_message {
            0 => packet.push(
                SesStandard::default()
                    .with_opcode(SesOpcode(1))
                    .with_som(true)
                    .with_eom(is_last)
                    .with_message_id(id)
                    .with_request_length(of.size.0 as u32),
            ),
            _ => packet.push(
                SesStandardLater::default()
                    .with_opcode(SesOpcode(1))
                    .with_eom(is_last)
                    .with_message_id(id)
                    .with_payload_length(payload as u16)
                    .with_message_offset(offset as u32),
            ),
        };
        let packet = match is_trimmed {
            true => packet.payload(vec![at as u8; of.trimmed_payload()]).icrc(None),
            false => packet.payload(vec![at as u8; payload]),
        };
        self.record(time, &packet);
    }

    fn record_answer(&mut self, time: u64, n: usize, answer: Answer) {
        let all = self.of.packets_each();
        let each = self.of.packets_of_message();
        let context = &mut self.contexts[n];
        let (spdcid, dpdcid) = (Hex16(context.row.dpdcid), Hex16(context.row.spdcid));
        let packet = uet(context.dst, context.src, 0xc000);
        let ack = PdsAck::default().with_spdcid(spdcid).with_dpdcid(dpdcid);
        let packet = match answer {
            Answer::Ack { at, next, bitmap, is_marked } => {
                let cack = context.psn(next).wrapping_sub(1);
                let offset = context.psn(at).wrapping_sub(cack) as u16;
                let shown = u64::from(64 - bitmap.leading_zeros());
                context.missing.extend((0..shown).filter(|bit| bitmap >> bit & 1 == 0).map(|bit| next + bit));
                let is_last = (at + 1) % each == 0;
                let code =
                    if is_last && context.failed.contains(&(at / each)) { WRONG_KEY } else { is_last.into() };
                let row = &mut context.row;
                row.acks += 1;
                row.marked_acks += u64::from(is_marked);
                row.sacked_missing = context.missing.len() as u64;
                if code > 1 {
                    *row.return_codes.entry(code).or_default() += 1;
                }
                packet
                    .push(
                        ack.with_kind(PdsType::ACK_CC)
                            .with_ecn_marked(is_marked)
                            .with_ack_psn_offset(Hex16(offset))
                            .with_cack_psn(cack),
                    )
                    .push(PdsSack::default().with_sack_psn_offset(Hex16(1)).with_sack_bitmap(Hex64(bitmap)))
                    .push(PdsNscc::default())
                    .push(
                        SesResponse::default()
                            .with_return_code(SesReturnCode(code))
                            .with_message_id((at / each) as u16),
                    )
            }
            Answer::Nack { at, code } => {
                *context.row.nacks.entry(code).or_default() += 1;
                let psn = context.psn(at);
                packet.push(
                    PdsNack::default()
                        .with_nack_code(PdsNackCode(code))
                        .with_psn(psn)
                        .with_spdcid(spdcid)
                        .with_dpdcid(dpdcid),
                )
            }
            Answer::Closed => {
                context.row.acks += 1;
                packet.push(ack.with_cack_psn(context.psn(all)))
            }
        };
        self.record(time, &packet);
    }

    fn record(&mut self, time: u64, packet: &Packet) {
        let mut bytes = packet.build().to_vec();
        let wire_len = bytes.len() as u32;
        if self.of.snaplen > 0 {
            bytes.truncate(self.of.snaplen as usize);
        }
        let time_ns = i64::try_from(self.of.begin.0 + time).unwrap_or(i64::MAX);
        self.frames.push(Made { time_ns, wire_len, bytes });
    }
}

/// Bytes of headers of a request: Ethernet, IPv4, UDP, PDS, SES.
const HEADERS: usize = Ethernet::LEN + Ipv4::LEN + Udp::LEN + PdsRequest::LEN + SesStandard::LEN;

/// The beginning of a packet.
fn uet(src: Ipv4Addr, dst: Ipv4Addr, port: u16) -> Packet {
    Packet::ethernet()
        .push(template::ipv4(src, dst).with_ecn(Ecn::ECT0))
        .push(Udp::default().with_src_port(port).with_dst_port(UET_PORT))
}
