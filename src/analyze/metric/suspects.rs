//! Packets that were taken for lost behind the tap, until an acknowledgement shows that both of their transmissions arrived: a receiver acknowledges what it
//! had already, and nobody asked it to. What a slow path delivers late is not lost, though its sender repeats it.

use std::collections::VecDeque;

use crate::{heap::heap, wire::Psn};

/// Those that are remembered.
const MOST: usize = 512;

/// So many answers that nobody asked for may be by chance.
const USUAL: u32 = 1;

/// Those of one flow, and its answers. Times are nanoseconds.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct Suspects {
    list: VecDeque<Suspect>,
    /// The shortest time from a packet to an answer that it can have caused.
    shortest: Option<u64>,
    /// The last PSN that was acknowledged, but by a NAK.
    acked: Option<Psn>,
    /// Acknowledgements that no packet asked for, when nothing was suspected; and those that showed something.
    unasked: u32,
    found: u32,
    /// Retransmissions of what had been acknowledged: their answers show nothing else.
    needless: u32,
}

#[derive(Clone, Copy, Debug, crate::stored::Stored)]
struct Suspect {
    psn: Psn,
    path: u16,
    sent: i64,
    again: i64,
    /// When an answer first showed that it had arrived.
    covered: Option<i64>,
}

heap! {
    Suspects { list }
    Suspect {}
}

/// A packet that arrived late: on which path, when it was sent, and how much later than others its answer came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Late {
    pub(crate) path: usize,
    pub(crate) sent: i64,
    pub(crate) by: u64,
    /// The answer tells nothing new: nothing else can have caused it.
    pub(crate) is_sure: bool,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acked {
    pub(crate) psn: Psn,
    pub(crate) time: i64,
    /// When its packet was sent, if that was sent once.
    pub(crate) sent: Option<i64>,
    /// Its packet asked for it.
    pub(crate) is_asked: bool,
}

impl Suspects {
    pub(crate) const BYTES: usize = MOST * size_of::<Suspect>();

    /// A packet of this path is sent again.
    pub(crate) fn add(&mut self, psn: Psn, path: usize, [sent, again]: [i64; 2]) {
        // Of what is sent more than twice, two transmissions may arrive though the first one was lost.
        if let Some(at) = self.list.iter().position(|one| one.psn == psn) {
            self.list.remove(at);
            return self.expects();
        }
        if self.list.len() == MOST {
            self.list.pop_front();
        }
        self.list.push_back(Suspect { psn, path: path as u16, sent, again, covered: None });
    }

    /// A packet that had been acknowledged is sent again.
    pub(crate) fn expects(&mut self) {
        self.needless = self.needless.saturating_add(1);
    }

    /// All up to this PSN have arrived.
    pub(crate) fn on_progress(&mut self, psn: Psn, time: i64) {
        for one in self.list.iter_mut().filter(|one| psn.distance_from(one.psn) >= 0) {
            one.covered.get_or_insert(time);
        }
    }

    /// A NAK comes for the packet before one that was sent then: something behind it had arrived.
    pub(crate) fn on_nak(&mut self, behind: Option<i64>, time: i64) {
        if let Some(sent) = behind {
            self.takes(since(sent, time));
        }
    }

    fn takes(&mut self, took: u64) {
        self.shortest = Some(self.shortest.map_or(took, |shortest| shortest.min(took)));
    }

    /// An acknowledgement, not a NAK. `usual`: how much later packets of a path were before. Returns the packet of which it shows that both transmissions
    /// arrived.
    pub(crate) fn on_ack(&mut self, acked: &Acked, usual: impl Fn(usize) -> Option<u64>) -> Option<Late> {
        let &Acked { psn, time, sent, is_asked } = acked;
        let is_again = self.acked == Some(psn);
        if self.acked.is_none_or(|before| psn.distance_from(before) > 0) {
            self.acked = Some(psn);
        }
        if let Some(sent) = sent.filter(|_| is_asked && !is_again) {
            self.takes(since(sent, time));
        }
        let is_told = !is_asked && !is_again;
        self.unasked = self.unasked.saturating_add(u32::from(is_told && self.list.is_empty()));
        let shortest = self.shortest?;
        // A receiver may answer what nobody asked it to: then that shows nothing.
        let is_usual = self.unasked > USUAL && self.unasked / 2 > self.found;
        if !is_again && (is_asked || is_usual) {
            return None;
        }
        if self.needless > 0 {
            self.needless -= 1;
            return None;
        }
        let is_due = |one: &Suspect| one.covered.is_some() && since(one.again, time) >= shortest / 2;
        let due = self.list.iter().enumerate().filter(|(_, one)| is_due(one));
        // Of several, the one that is as late as others of its path.
        let nearest = due.min_by_key(|(_, one)| {
            let late = one.late(time, shortest);
            usual(late.path).map_or(u64::MAX - late.by, |usual| usual.abs_diff(late.by))
        });
        let (at, _) = nearest?;
        self.found = self.found.saturating_add(1);
        self.list.remove(at).map(|one| Late { is_sure: is_again, ..one.late(time, shortest) })
    }
}

impl Suspect {
    fn late(&self, time: i64, shortest: u64) -> Late {
        // The answer comes as soon as one to the retransmission can: the first transmission had arrived before it.
        let is_again = since(self.again, time) <= shortest + shortest / 4;
        let answered = self.covered.filter(|_| is_again).unwrap_or(time);
        Late {
            path: self.path.into(),
            sent: self.sent,
            by: since(self.sent, answered).saturating_sub(shortest),
            is_sure: false,
        }
    }
}

fn since(sent: i64, time: i64) -> u64 {
    time.saturating_sub(sent).max(0) as u64
}
