//! Messages one by one, as they are complete.

use std::{collections::VecDeque, ops::Range};

use super::{Measured, Metric, Placed, Verdict, Wants, What};
use crate::{
    analyze::{
        model::{Address, Class, FlowId, Space},
        packet::Facts,
        track::insert_by_psn,
    },
    dissect::Encapsulation,
    opcode::{Direction, Opcode, Operation, Position, Service},
    report,
    wire::Psn,
};

/// A metric that calls a function with each message of a requester. A message comes when it is over: acknowledged, and
/// followed by [`Messages::KEPT`] others of its flow, for it may still be retransmitted; or when it is pushed out. At most
/// [`Messages::MOST`] are kept at a time.
pub struct Messages {
    tell: Option<Tell>,
    flows: Vec<Flow>,
    kept: usize,
    /// Early packets of all flows.
    early: usize,
}

type Tell = Box<dyn FnMut(&report::Message) + Send>;

/// The messages of a flow, in the order of their PSNs.
#[derive(Default)]
struct Flow {
    ends: Option<(Address, Address, u32)>,
    epoch: u32,
    uid: String,
    service: Option<Service>,
    encapsulation: Option<Encapsulation>,
    /// The newest PSN, with what it wrapped around to.
    newest: u64,
    /// PSNs up to here were told.
    told: u64,
    list: VecDeque<Message>,
    /// Packets within a message that did not come behind the newest one, by PSN, and where: a message whose first packet is late began with one
    /// of them.
    early: VecDeque<(u64, (u64, i64))>,
}

#[derive(Clone, Debug)]
struct Message {
    /// PSN of the first packet, or of the first one that was seen.
    at: u64,
    has_first: bool,
    end: Option<u64>,
    opcode: Opcode,
    peer_qp: Option<u32>,
    /// The packet that was seen first, and the one with the lowest PSN.
    first: (u64, i64),
    lowest: (u64, i64),
    last: (u64, i64),
    completed: Option<i64>,
    stated: Option<u32>,
    /// Payload of a packet that is not the last one, and of the last one.
    full: u32,
    rest: u32,
    packets: u64,
    resent: u64,
}

/// PSNs of the first packet begin here, so that earlier ones have a number too.
const BASE: u64 = 1 << 32;

impl Messages {
    /// Messages of a flow that wait, though they are complete.
    pub const KEPT: usize = 32;
    /// Messages of a flow that wait for their end.
    pub const MOST_OF_FLOW: usize = 4096;
    /// Messages of all flows that wait.
    pub const MOST: usize = 1 << 20;
    /// Packets that came before the first one of their message: of a flow, and of all.
    const EARLY: usize = 4096;
    const MOST_EARLY: usize = 1 << 20;

    /// The metric that calls this function.
    pub fn new(tell: impl FnMut(&report::Message) + Send + 'static) -> Messages {
        Messages { tell: Some(Box::new(tell)), ..Messages::untold() }
    }

    /// The metric that calls nobody: for [`of_packet`](Self::of_packet).
    pub(crate) fn untold() -> Messages {
        Messages { tell: None, flows: Vec::new(), kept: 0, early: 0 }
    }

    /// Tells of all messages that are kept: the capture is over.
    pub fn end(&mut self) {
        let mut flows = std::mem::take(&mut self.flows);
        flows.iter_mut().for_each(|flow| self.empty(flow));
    }

    fn empty(&mut self, flow: &mut Flow) {
        while let Some(message) = flow.list.pop_front() {
            self.kept -= 1;
            let row = flow.row(&message, &mut self.early);
            if let Some(tell) = &mut self.tell {
                tell(&row);
            }
        }
        self.early -= std::mem::take(&mut flow.early).len();
    }

    /// Makes room in a flow.
    fn shrink(&mut self, id: FlowId) {
        loop {
            let Some(flow) = self.flows.get_mut(id.0 as usize) else { return };
            let (len, is_full) = (flow.list.len(), self.kept >= Messages::MOST);
            let is_over = flow.list.front().is_some_and(|first| first.is_over(flow.service));
            let most = match (is_over, is_full) {
                (_, true) => 1,
                (true, false) => Messages::KEPT,
                (false, false) => Messages::MOST_OF_FLOW,
            };
            if len <= most {
                return;
            }
            let Some(message) = flow.list.pop_front() else { return };
            self.kept -= 1;
            flow.told = flow.told.max(message.end.unwrap_or(message.at));
            let row = flow.row(&message, &mut self.early);
            if let Some(tell) = &mut self.tell {
                tell(&row);
            }
        }
    }

    /// Takes a packet, as [`on_packet`](Metric::on_packet) does. Returns which message it is of: the number of the first frame of that
    /// which was seen. `None` where it is of none, or of one that is not kept any more.
    pub(crate) fn of_packet(&mut self, packet: &Facts, place: &Placed) -> Option<u64> {
        let id = place.flow?;
        let direction = packet.opcode().direction();
        match (place.space?, place.class) {
            (_, Some(Class::Corrupt)) => None,
            (Space::Request, class) if direction == Direction::Request => {
                let is_sent = !matches!(class, Some(Class::CaptureDuplicate | Class::Trimmed));
                if is_sent {
                    self.take(id, packet, place)
                } else {
                    self.flows.get(id.0 as usize)?.of_copy(packet)
                }
            }
            (Space::Response, _) => self.flows.get(place.peer?.0 as usize)?.of_answer(packet),
            _ => None,
        }
    }

    /// Takes a request of a sender.
    fn take(&mut self, id: FlowId, packet: &Facts, place: &Placed) -> Option<u64> {
        let at = id.0 as usize;
        if self.flows.len() <= at {
            self.flows.resize_with(at + 1, Flow::default);
        }
        let epoch = place.epoch.unwrap_or(0);
        if self.flows[at].ends.is_none() || self.flows[at].epoch != epoch {
            let mut before = std::mem::take(&mut self.flows[at]);
            self.empty(&mut before);
            let newest = BASE + packet.psn().0 as u64;
            let uid = packet.key().map_or_else(String::new, |key| key.uid(epoch).to_string());
            self.flows[at] = Flow { epoch, newest, uid, ..Flow::default() };
        }
        let flow = &mut self.flows[at];
        flow.ends =
            packet.source().zip(packet.destination()).zip(packet.dest_qp()).map(|((a, b), qp)| (a, b, qp.0));
        flow.service = Some(packet.opcode().service());
        flow.encapsulation = Some(packet.encapsulation());
        let x = packet.psn().unwrap_near(flow.newest);
        let is_next = x == flow.newest + 1;
        flow.newest = flow.newest.max(x);
        let (message, is_new) = flow.take(x, packet, place)?;
        let begins = packet.opcode().shape().begins;
        let is_early = !is_next && !begins && place.class != Some(Class::Retransmission);
        if is_early && self.early < Messages::MOST_EARLY {
            let before = flow.early.len();
            insert_by_psn(&mut flow.early, Messages::EARLY, x, (place.frame, packet.time()));
            self.early = self.early + flow.early.len() - before;
        }
        self.kept += is_new as usize;
        if is_new {
            self.shrink(id);
        }
        Some(message)
    }
}

impl Flow {
    /// The place of the last message that begins at this PSN or before.
    fn before(&self, x: u64) -> Option<usize> {
        match self.list.back() {
            Some(last) if last.at <= x => Some(self.list.len() - 1),
            _ => self.list.partition_point(|message| message.at <= x).checked_sub(1),
        }
    }

    /// The message that a copy of a packet is of, or one that was trimmed.
    fn of_copy(&self, packet: &Facts) -> Option<u64> {
        let x = packet.psn().unwrap_near(self.newest);
        let message = self.list.get(self.before(x)?)?;
        let begins = packet.opcode().shape().begins;
        (message.at == x || !begins && message.may_have(x)).then_some(message.first.0)
    }

    /// The message that data of a READ, or the answer to an atomic operation, is of.
    fn of_answer(&self, packet: &Facts) -> Option<u64> {
        let x = packet.psn().unwrap_near(self.newest);
        let message = self.list.get(self.before(x)?)?;
        let shape = packet.opcode().shape();
        let is_its = match (shape.operation?, message.opcode.operation()?) {
            (Operation::ReadResponse, Operation::ReadRequest) => {
                // A READ whose request was not seen must not take its data for the one before.
                let is_full = matches!(shape.position, Position::First | Position::Middle);
                let begins_at = (x - message.at).saturating_mul(packet.payload().into());
                message.end.is_none_or(|end| x <= end)
                    && !(is_full && message.stated.is_some_and(|size| begins_at >= size.into()))
            }
            (Operation::AtomicAcknowledge, Operation::CompareSwap | Operation::FetchAdd) => message.at == x,
            _ => false,
        };
        is_its.then_some(message.first.0)
    }

    /// Takes a packet. Returns the first frame of its message, and whether there is one more message.
    fn take(&mut self, x: u64, packet: &Facts, place: &Placed) -> Option<(u64, bool)> {
        let shape = packet.opcode().shape();
        let (begins, ends) = (shape.begins, shape.ends);
        let is_read = shape.operation == Some(Operation::ReadRequest);
        let is_again = place.class == Some(Class::Retransmission);
        let at = self.before(x);
        let known = at.and_then(|at| self.list.get(at)).filter(|known| {
            // A READ that is retransmitted may ask for the rest only.
            let is_rest = is_read && is_again && known.opcode.operation() == Some(Operation::ReadRequest);
            known.at == x || is_rest || !begins && known.may_have(x)
        });
        let mut is_more = known.is_none();
        let at = match (at, is_more) {
            (Some(at), false) => at,
            _ if x <= self.told && !matches!(place.class, Some(Class::New | Class::LateOriginal)) => {
                return None;
            }
            (at, _) => {
                let at = at.map_or(0, |at| at + 1);
                let mut message = Message::new(x, packet, place);
                // The message before ended earlier than it seemed.
                if let Some(before) = at.checked_sub(1).and_then(|before| self.list.get_mut(before))
                    && before.end.is_some_and(|end| end >= x)
                    && !before.is_one_packet()
                {
                    message.end = before.end.take();
                }
                // Its other packets came before it, as far as its length reaches.
                let is_first = begins && !ends;
                let psns = packet.dma_len().map(|length| length.div_ceil(packet.payload().max(1)));
                let is_its = |rest: &Message| psns.is_none_or(|psns| rest.at < x + u64::from(psns));
                if is_first
                    && self.list.get(at).is_some_and(|next| !next.has_first && is_its(next))
                    && let Some(rest) = self.list.remove(at)
                {
                    is_more = false;
                    let Message { opcode, stated, lowest, .. } = message;
                    message = Message { at: x, opcode, stated, lowest, ..rest };
                }
                message.first = self.first(&message, self.list.get(at).map(|next| next.at));
                self.list.insert(at, message);
                at
            }
        };
        let message = self.list.get_mut(at)?;
        message.packets += 1;
        message.resent += is_again as u64;
        message.has_first |= begins && message.at == x;
        message.last = (place.frame, packet.time());
        message.stated = message.stated.or(packet.dma_len());
        if ends && !is_read {
            (message.end, message.rest) = (Some(x), packet.payload());
        } else {
            message.full = packet.payload();
        }
        Some((message.first.0, is_more))
    }

    /// The packet of this message that came first, where `next` begins the message behind it.
    fn first(&self, message: &Message, next: Option<u64>) -> (u64, i64) {
        let next = next.unwrap_or(u64::MAX);
        let end = message.end.map_or(next, |end| next.min(end + 1));
        let from = self.early.partition_point(|&(x, _)| x < message.at);
        let its = self.early.range(from..).take_while(|&&(x, _)| x < end);
        its.fold(message.lowest, |first, &(_, here)| first.min(here))
    }

    /// The row of a message; `early`: early packets of all flows, of which those before the next message go.
    fn row(&mut self, message: &Message, early: &mut usize) -> report::Message {
        let text = |address: Option<Address>| address.map_or_else(String::new, |address| address.to_string());
        let psn = |x: u64| x as u32 & (Psn::SPACE - 1);
        let operation = match message.opcode.operation() {
            Some(Operation::Send) => "send",
            Some(Operation::Write) => "write",
            Some(Operation::ReadRequest) => "read",
            Some(Operation::CompareSwap) => "compare-swap",
            Some(Operation::FetchAdd) => "fetch-add",
            Some(Operation::Flush) => "flush",
            Some(Operation::AtomicWrite) => "atomic-write",
            _ => "other",
        };
        let next = self.list.front().map(|next| next.at);
        let (first_frame, first_ns) = self.first(message, next);
        let past = self.early.partition_point(|&(x, _)| next.is_none_or(|next| x < next));
        *early -= self.early.drain(..past).len();
        let (last_frame, last_ns) = message.last;
        report::Message {
            uid: self.uid.clone(),
            src: text(self.ends.map(|(src, ..)| src)),
            dst: text(self.ends.map(|(_, dst, _)| dst)),
            dest_qp: self.ends.map_or(0, |(.., qp)| qp),
            epoch: self.epoch,
            peer_qp: message.peer_qp,
            service: self.service.map_or_else(Default::default, Into::into),
            encapsulation: self.encapsulation.map_or_else(Default::default, Into::into),
            operation: operation.into(),
            opcode_name: message.opcode.name().unwrap_or_default().into(),
            first_psn: message.has_first.then(|| psn(message.at)),
            last_psn: message.end.map(psn),
            first_frame,
            last_frame,
            first_ns,
            last_ns,
            completed_ns: message.completed,
            completion_ns: message.completed.map(|at| at.saturating_sub(first_ns).max(0) as u64),
            size_bytes: message.size(),
            packets: message.packets,
            resent_packets: message.resent,
        }
    }
}

impl Message {
    fn new(x: u64, packet: &Facts, place: &Placed) -> Message {
        let here = (place.frame, packet.time());
        Message {
            at: x,
            has_first: false,
            end: None,
            opcode: packet.opcode(),
            peer_qp: place.peer_qp,
            first: here,
            lowest: here,
            last: here,
            completed: None,
            stated: None,
            full: 0,
            rest: 0,
            packets: 0,
            resent: 0,
        }
    }

    fn is_one_packet(&self) -> bool {
        self.opcode.shape().position == Position::Only
    }

    /// A packet with this PSN, behind its first, may be of it.
    fn may_have(&self, x: u64) -> bool {
        self.end.or(self.stated_end()).is_none_or(|end| x <= end) && !self.is_one_packet()
    }

    /// Its last PSN, by the length that its first packet states.
    fn stated_end(&self) -> Option<u64> {
        let is_write = self.opcode.operation() == Some(Operation::Write);
        let length = self.stated.filter(|_| is_write && self.has_first && self.full > 0)?;
        Some(self.at + u64::from(length.div_ceil(self.full).max(1)) - 1)
    }

    /// Nothing more is expected of it.
    fn is_over(&self, service: Option<Service>) -> bool {
        self.completed.is_some()
            || !service.is_some_and(|service| service.is_reliable()) && self.end.is_some()
    }

    fn size(&self) -> Option<u64> {
        if let Some(stated) = self.stated {
            return Some(stated as u64);
        }
        match self.opcode.operation() {
            Some(Operation::ReadRequest) => None,
            _ => {
                let end = self.end.filter(|_| self.has_first)?;
                Some((end - self.at) * self.full as u64 + self.rest as u64)
            }
        }
    }
}

impl Metric for Messages {
    fn wants(&self) -> Wants {
        Wants { measured: true, identity: true, ..Wants::default() }
    }

    fn on_packet(&mut self, packet: &Facts, place: &Placed) {
        self.of_packet(packet, place);
    }

    fn on_verdict(&mut self, verdict: &Verdict) {
        if verdict.class != Class::Retransmission || verdict.space != Space::Request {
            return;
        }
        let Some(flow) = self.flows.get_mut(verdict.flow.0 as usize) else { return };
        let x = verdict.psn.unwrap_near(flow.newest);
        if let Some(message) = flow.before(x).and_then(|at| flow.list.get_mut(at)) {
            message.resent += 1;
        }
    }

    fn on_measured(&mut self, id: FlowId, measured: &Measured) {
        let Some(flow) = self.flows.get_mut(id.0 as usize) else { return };
        let x = Psn(measured.psn).unwrap_near(flow.newest);
        let Some(message) = flow.before(x).and_then(|at| flow.list.get_mut(at)) else { return };
        let operation = message.opcode.operation();
        let is_read = operation == Some(Operation::ReadRequest);
        let is_of_atomic = operation.is_some_and(Operation::is_atomic);
        let is_whole = match measured.what {
            What::Message => is_read || message.end == Some(x),
            What::AckRtt => is_of_atomic && message.at == x,
            What::ReadFirst | What::ReadLast => false,
        };
        // Of several taps, the first answers are measured anew at that of the requests.
        if is_whole {
            message.completed = Some(measured.to_ns);
            if is_read {
                message.end = Some(x);
            }
        }
    }

    fn on_retire(&mut self, id: FlowId) {
        if let Some(flow) = self.flows.get_mut(id.0 as usize) {
            let mut flow = std::mem::take(flow);
            self.empty(&mut flow);
        }
    }

    fn heap_bytes(&self) -> usize {
        self.kept * size_of::<Message>() + self.early * size_of::<(u64, (u64, i64))>()
    }

    /// An empty span, so that no packet is in a run.
    fn span(&self, time_ns: i64) -> Range<i64> {
        time_ns..time_ns
    }
}
