//! Who set up which connection, and what became of it: the messages of the connection manager (IBTA vol. 1, chapter 12).
//!
//! A message says the communication IDs of both ends, each of which one host gave: with the two addresses, an ID names the
//! connection. What was said is kept per connection (`dialog.rs`), and becomes a row of the report at the end (`rows.rs`).

mod dialog;
mod rows;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use self::dialog::Dialog;
use super::Metric;
use crate::{
    analyze::packet::{Facts, key::Key},
    dissect::Dissection,
    heap::{Heap, heap},
    wire::*,
};

pub(crate) use rows::{Passed, Traffic};

/// Connections that are told one by one; others are counted.
const MAX_DIALOGS: usize = 1 << 14;

/// The metric.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub struct Setups {
    all: Vec<Dialog>,
    /// By an ID, and the addresses of the host that gave it and of its peer: the connection, and whether that is its passive side.
    ends: HashMap<(u32, Key), (u32, bool), RandomState>,
    /// By a queue pair and the address of its host: the connection that had it last.
    queue_pairs: HashMap<Key, (u32, bool), RandomState>,
    /// Connections that are counted only.
    left_out: u64,
    /// Messages that were not captured as a whole, and those of which nothing could be read.
    cut: u64,
    unread: u64,
    /// There are datagrams of subnet administration or performance management.
    has_others: bool,
}

/// A message of the connection manager, as all kinds have it.
#[derive(Clone, Copy, Debug)]
struct Message<'a> {
    kind: Kind,
    /// The sender's ID and the receiver's; 0: none.
    ids: [u32; 2],
    headers: &'a Dissection<'a>,
    facts: &'a Facts,
    key: &'a Key,
    frame: u64,
}

impl<'a> Message<'a> {
    fn of(facts: &'a Facts, headers: &'a Dissection<'a>, frame: u64) -> Option<Message<'a>> {
        let mad = headers.get::<Mad>()?;
        if mad.mgmt_class() != MgmtClass::CM {
            return None;
        }
        let kind = CmAttributes::next(CmAttribute(mad.attribute_id().0))?;
        // All kinds begin with the sender's ID. Behind it is the receiver's, but of those that have none.
        let at = message_at(headers)?;
        let id = |at: usize| Some(u32::from_be_bytes(*headers.frame().get(at..)?.first_chunk()?));
        let (first, second) = (id(at)?, id(at + 4)?);
        let ids = match kind {
            Kind::CmReq | Kind::CmSidrReq => [first, 0],
            Kind::CmSidrRep => [0, first],
            _ => [first, second],
        };
        Some(Message { kind, ids, headers, facts, key: facts.key()?, frame })
    }

    fn header<H: Header>(&self) -> Option<&'a H> {
        self.headers.get::<H>()
    }

    /// Its header was not captured as a whole.
    fn is_cut(&self) -> bool {
        !self.headers.has(self.kind)
    }

    /// What was captured of it, behind the common header.
    fn bytes(&self) -> &'a [u8] {
        message_at(self.headers).and_then(|at| self.headers.frame().get(at..)).unwrap_or(&[])
    }

    /// What the application put into it, without the zeros behind.
    fn private(&self) -> Box<[u8]> {
        let bytes = self.headers.private_data().unwrap_or_default();
        let used = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        bytes[..used].into()
    }

    /// The key of the packets that its receiver sends back.
    fn back(&self) -> Key {
        self.key.reverse(self.key.dest_qp())
    }
}

/// Where a message of the connection manager begins.
fn message_at(headers: &Dissection<'_>) -> Option<usize> {
    Some(headers.offset(Kind::Mad)? + Mad::LEN)
}

impl Metric for Setups {
    fn on_management(&mut self, packet: &Facts, headers: &Dissection<'_>, frame: u64) {
        let message = Message::of(packet, headers, frame);
        let class = headers.get::<Mad>().map(|mad| mad.mgmt_class());
        self.has_others |= matches!(class, Some(MgmtClass::SUBN_ADM | MgmtClass::PERF));
        let may_be_one = headers.get::<Mad>().is_none_or(|mad| mad.mgmt_class() == MgmtClass::CM);
        if may_be_one && headers.payload().len() < headers.payload_len() as usize {
            self.cut += 1;
            self.unread += u64::from(message.is_none());
        }
        if let Some(message) = message {
            self.take(&message);
        }
    }

    fn heap_bytes(&self) -> usize {
        self.all.heap_bytes() + self.ends.allocation_size() + self.queue_pairs.allocation_size()
    }
}

heap! {
    Setups { all }
}

impl Setups {
    fn take(&mut self, message: &Message<'_>) {
        let known = self.find(message);
        let (at, is_passive) = match known {
            Some((at, is_passive)) if self.all[at as usize].goes_on(message, is_passive) => (at, is_passive),
            _ => match self.begin(message) {
                Some(begun) => begun,
                None => return,
            },
        };
        let Some(dialog) = self.all.get_mut(at as usize) else { return };
        dialog.take(message, is_passive);
        let (end, own_qp) = (dialog.key_of(is_passive), dialog.qps[is_passive as usize]);
        if message.ids[0] != 0 {
            self.ends.insert((message.ids[0], end), (at, is_passive));
        }
        if let (Some(qp), Kind::CmReq | Kind::CmRep) = (own_qp, message.kind) {
            self.takes_queue_pair(end.with_queue_pair(qp), (at, is_passive), message);
        }
    }

    /// The connection that a message is of, and whether the passive side sent it.
    fn find(&self, message: &Message<'_>) -> Option<(u32, bool)> {
        let [own, others] = message.ids;
        let by_own = self.ends.get(&(own, *message.key)).filter(|_| own != 0).copied();
        let by_other = || self.ends.get(&(others, message.back())).filter(|_| others != 0);
        by_own.or_else(|| by_other().map(|&(at, is_passive)| (at, !is_passive)))
    }

    /// A connection of which nothing was seen before.
    fn begin(&mut self, message: &Message<'_>) -> Option<(u32, bool)> {
        if self.all.len() >= MAX_DIALOGS {
            // Only the first message of a connection counts one more.
            self.left_out += u64::from(matches!(message.kind, Kind::CmReq | Kind::CmSidrReq));
            return None;
        }
        let (dialog, is_passive) = Dialog::begin(message);
        let at = self.all.len() as u32;
        let [_, others] = message.ids;
        if others != 0 {
            self.ends.insert((others, dialog.key_of(!is_passive)), (at, !is_passive));
        }
        self.all.push(dialog);
        Some((at, is_passive))
    }

    /// A host gives a queue pair to a connection. One that had it before is over, whatever was said of it.
    fn takes_queue_pair(&mut self, key: Key, by: (u32, bool), message: &Message<'_>) {
        let before = self.queue_pairs.insert(key.without_destination(), by).filter(|before| before.0 != by.0);
        if let Some((at, is_passive)) = before
            && let Some(dialog) = self.all.get_mut(at as usize)
        {
            dialog.lost_queue_pair(is_passive, message);
        }
    }
}
