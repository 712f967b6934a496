//! Questions and answers: how many of each kind, how long the answers took, which never came.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::Datagram;
use crate::{
    dissect::Address,
    wire::{Header, Mad, MadMethod, MgmtClass, Rmpp, RmppType},
};

/// Questions that wait for their answer.
const MOST: usize = 1 << 16;
/// Kinds of questions: numbers of attributes may be anything.
const MOST_KINDS: usize = 1 << 12;
/// Latencies of a kind that are kept.
const MOST_TIMES: usize = 1 << 12;

/// Class, attribute, method of the question.
pub(super) type Kind = (MgmtClass, u16, MadMethod);

/// Datagrams of one kind.
#[derive(Debug, Default)]
pub(super) struct Operation {
    pub(super) questions: u64,
    pub(super) repeated: u64,
    pub(super) answers: u64,
    pub(super) unasked: u64,
    pub(super) unanswered: u64,
    pub(super) failed: u64,
    pub(super) segments: u64,
    pub(super) transfers: u64,
    pub(super) bytes: u64,
    pub(super) times: Vec<u64>,
    pub(super) max_ns: u64,
}

type Key = (Address, Address, MgmtClass, u16, u64);

/// Questions and answers of all kinds.
#[derive(Debug, Default)]
pub(super) struct Operations {
    pub(super) kinds: BTreeMap<Kind, Operation>,
    open: HashMap<Key, (Kind, i64)>,
    order: VecDeque<Key>,
    pub(super) left_out: u64,
}

/// The method of the question that this answers.
fn question(method: MadMethod) -> MadMethod {
    match method {
        MadMethod::GET_RESP => MadMethod::GET,
        MadMethod(answer) => MadMethod(answer & 0x7f),
    }
}

/// Whether a method asks for an answer with the same attribute.
pub(super) fn asks(method: MadMethod) -> bool {
    matches!(method.0, 0x01 | 0x02 | 0x12 | 0x13 | 0x14 | 0x15)
}

impl Operations {
    pub(super) fn on_datagram(&mut self, of: &Datagram<'_>) {
        let (class, id, method) = (of.mad.mgmt_class(), of.mad.attribute_id().0, of.mad.method());
        let segment = segment(of.mad, of.bytes);
        // What receivers say of segments is neither a question nor an answer, although its method is the question's.
        if segment.is_some_and(|segment| segment != RmppType::DATA) {
            return;
        }
        let transaction = of.mad.transaction_id().0;
        let is_subnet = class == MgmtClass::SUBN_DIRECTED;
        if !method.is_response() {
            let key = (of.from, of.to, class, id, transaction);
            let kind = (class, id, method);
            let Some(operation) = self.of(kind) else { return };
            operation.questions += 1;
            if !asks(method) {
                return;
            }
            if self.open.contains_key(&key) {
                if let Some(operation) = self.of(kind) {
                    operation.repeated += 1;
                }
                return;
            }
            if self.open.len() >= MOST {
                while let Some(old) = self.order.pop_front() {
                    if let Some((kind, _)) = self.open.remove(&old) {
                        self.give_up(kind);
                        break;
                    }
                }
            }
            self.open.insert(key, (kind, of.time));
            self.order.push_back(key);
            if self.order.len() > 2 * MOST {
                self.order.retain(|key| self.open.contains_key(key));
            }
            return;
        }
        let key = (of.to, of.from, class, id, transaction);
        let asked = self.open.remove(&key);
        let kind = asked.map_or((class, id, question(method)), |(kind, _)| kind);
        let status = of.mad.status().0 & if is_subnet { 0x7fff } else { 0xffff };
        let is_segment = segment.is_some();
        let Some(operation) = self.of(kind) else { return };
        operation.segments += u64::from(is_segment);
        // The segments behind the first belong to the same answer.
        if asked.is_none() && is_segment {
            return;
        }
        operation.failed += u64::from(status != 0);
        let Some((_, since)) = asked else {
            operation.unasked += 1;
            return;
        };
        operation.answers += 1;
        let took = of.time.saturating_sub(since).max(0) as u64;
        operation.max_ns = operation.max_ns.max(took);
        if operation.times.len() < MOST_TIMES {
            operation.times.push(took);
        }
    }

    /// All segments of an answer have come.
    pub(super) fn on_transfer(&mut self, of: &Datagram<'_>, bytes: u64) {
        let kind = (of.mad.mgmt_class(), of.mad.attribute_id().0, question(of.mad.method()));
        if let Some(operation) = self.of(kind) {
            (operation.transfers, operation.bytes) = (operation.transfers + 1, operation.bytes + bytes);
        }
    }

    /// Counts the questions that still wait.
    pub(super) fn settle(&mut self) {
        for (_, (kind, _)) in std::mem::take(&mut self.open) {
            self.give_up(kind);
        }
    }

    fn give_up(&mut self, kind: Kind) {
        if let Some(operation) = self.of(kind) {
            operation.unanswered += 1;
        }
    }

    fn of(&mut self, kind: Kind) -> Option<&mut Operation> {
        if self.kinds.len() >= MOST_KINDS && !self.kinds.contains_key(&kind) {
            self.left_out += 1;
            return None;
        }
        Some(self.kinds.entry(kind).or_default())
    }
}

/// What the datagram is of a transfer in segments; `None` where it is whole by itself.
fn segment(mad: &Mad, bytes: &[u8]) -> Option<RmppType> {
    if mad.mgmt_class().headers().first() != Some(&crate::wire::Kind::Rmpp) {
        return None;
    }
    Rmpp::view(bytes).filter(|(rmpp, _)| rmpp.active()).map(|(rmpp, _)| rmpp.rmpp_type())
}
