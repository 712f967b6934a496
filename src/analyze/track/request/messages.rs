//! Assembles messages by PSN. Packets that were retransmitted, or overtaken, come in any order.
//!
//! Nearly all packets come in order: then there is one open message. Once a packet is missing, the edges of messages are
//! kept, in the order of their PSNs, until all packets between them have come, or are acknowledged.

use super::{Assembly, MtuBy, Part, Requests, Waiting};
use crate::{
    analyze::track::insert_by_psn,
    opcode::{Operation, Position},
};

/// The first, the last or the only packet of a message. At the end of the list, it may also be a middle packet of a message
/// whose first packet is missing.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(crate) struct Edge {
    x: u64,
    /// PSNs.
    n: u32,
    bytes: u64,
    time: i64,
    operation: Operation,
    begins: bool,
    ends: bool,
}

/// Most edges that are kept at a time.
const MAX_EDGES: usize = 4096;
/// A missing packet does not come any more after this number of later PSNs: if nothing is acknowledged, and otherwise.
const UNANSWERED: u64 = 1024;
const ANSWERED: u64 = 8192;

impl Requests {
    /// Whether the last packets do not belong to a message of which a packet is missing.
    #[inline(always)]
    pub(super) fn has_no_open_edge(&self) -> bool {
        self.trouble.get().is_none_or(|trouble| trouble.edges.back().is_none_or(|edge| edge.ends))
    }

    /// Whether packets are missing, or messages wait for some: then a packet within a message that was not seen to begin is an edge.
    pub(super) fn is_patchy(&self) -> bool {
        self.is_missing() || self.trouble.get().is_some_and(|trouble| !trouble.edges.is_empty())
    }

    fn is_missing(&self) -> bool {
        self.seq.rare.get().is_some_and(|rare| rare.holes.iter().next().is_some())
    }

    /// Takes a packet that was not seen before. Its message may be complete now.
    #[inline(always)]
    pub(super) fn assemble(&mut self, part: &Part, x: u64) {
        let &Part { operation, position, n, time, bytes } = part;
        let end = x + n as u64;
        let is_first = end >= self.seq.hi && self.has_no_open_edge();
        match (position, &mut self.assembly) {
            (Position::First, None) if is_first => {
                self.assembly = Some(Assembly { next: end, bytes, first_time: time, operation });
            }
            (Position::Only, None) if is_first => self.complete(operation, bytes, end - 1, time),
            (Position::Middle, Some(open)) if open.next == x && open.operation == operation => {
                (open.next, open.bytes) = (end, open.bytes + bytes);
            }
            (Position::Last, Some(open)) if open.next == x && open.operation == operation => {
                let (bytes, first_time) = (open.bytes + bytes, open.first_time);
                self.assembly = None;
                self.complete(operation, bytes, x, first_time);
            }
            _ => self.assemble_by_psn(part, x),
        }
    }

    /// A message is complete, up to this PSN.
    #[inline(always)]
    fn complete(&mut self, operation: Operation, bytes: u64, last: u64, first_time: i64) {
        if operation == Operation::ReadRequest || operation.is_atomic() {
            self.messages_completed += 1;
            self.sizes.add(bytes);
        } else {
            self.completed(bytes, Waiting { last, first_time });
        }
    }

    #[cold]
    #[inline(never)]
    fn assemble_by_psn(&mut self, part: &Part, x: u64) {
        let &Part { operation, position, n, time, bytes } = part;
        let (begins, ends) = (
            matches!(position, Position::First | Position::Only),
            matches!(position, Position::Last | Position::Only),
        );
        let is_newest = x + n as u64 >= self.seq.hi;
        if is_newest && let Some(open) = self.assembly.take() {
            let full = if self.mtu.by != MtuBy::Unknown { self.mtu.bytes as u64 } else { bytes.max(1) };
            let x = open.next.saturating_sub(open.bytes.div_ceil(full).max(1));
            let Assembly { first_time: time, operation, .. } = open;
            self.edge(Edge { x, n: 1, bytes: full, time, operation, begins: true, ends: false });
        }
        let (is_open, has_edges) = (!self.has_no_open_edge(), !self.trouble.edges.is_empty());
        let is_missing = self.is_missing();
        if begins || ends && (has_edges || is_missing) || is_newest && is_missing && !is_open {
            self.edge(Edge { x, n, bytes, time, operation, begins, ends });
        }
        // A packet of a message that was overtaken came before its first one, over a gap or into one.
        if !begins && self.seq.rare.get().is_some_and(|rare| rare.holes.touches(&(x.saturating_sub(1)..x))) {
            insert_by_psn(&mut self.trouble.early, MAX_EDGES, x, time);
        }
        self.sweep(self.una, false);
    }

    /// When the first packet came of the message that begins with this edge, before this PSN: its first one may be late.
    fn begun(&mut self, first: &Edge, end: u64) -> i64 {
        let una = self.una;
        let Some(trouble) = self.trouble.get_mut() else { return first.time };
        let early = &mut trouble.early;
        // Those of messages before it, which are not acknowledged, wait for their own first packet.
        let old = early.partition_point(|&(x, _)| x < una.min(first.x));
        early.drain(..old);
        let [from, past] = [first.x, end].map(|end| early.partition_point(|&(x, _)| x < end));
        early.drain(from..past).fold(first.time, |time, (_, other)| time.min(other))
    }

    fn edge(&mut self, edge: Edge) {
        let edges = &mut self.trouble.edges;
        // The middle packet is no longer needed.
        if edges.back().is_some_and(|last| !last.begins && !last.ends && last.x < edge.x) {
            edges.pop_back();
        }
        if edges.len() >= MAX_EDGES {
            self.messages_broken += edges.drain(..MAX_EDGES / 2).filter(|edge| edge.begins).count() as u32;
        }
        let at = match edges.back() {
            Some(last) if last.x >= edge.x => edges.partition_point(|before| before.x < edge.x),
            _ => edges.len(),
        };
        if edges.get(at).is_none_or(|there| there.x != edge.x) {
            edges.insert(at, edge);
        }
    }

    /// Completes messages whose packets have all come, or are acknowledged (before `una`). With `is_over`, no more packets come.
    pub(super) fn sweep(&mut self, una: u64, is_over: bool) {
        while let Some(trouble) = self.trouble.get()
            && let Some(&first) = trouble.edges.front()
        {
            let next = trouble.edges.get(1).copied();
            let patience = if self.acks_seen == 0 { UNANSWERED } else { ANSWERED };
            let is_late = is_over || self.seq.hi.saturating_sub(first.x) > patience;
            let is_missing = |to: u64| {
                let from = first.x.max(una);
                from < to && self.seq.rare.get().is_some_and(|rare| rare.holes.touches(&(from..to)))
            };
            let mut edges = 1;
            match next {
                _ if first.ends && (first.begins || una > first.x) => {
                    let end = first.x + first.n as u64;
                    let time = self.begun(&first, end);
                    self.complete(first.operation, first.bytes, end - 1, time);
                }
                _ if !first.begins && !is_late => return,
                _ if !first.begins => self.messages_broken += first.ends as u32,
                Some(last) if last.ends && !last.begins && !is_missing(last.x) => {
                    let bytes = (last.x - first.x) * first.bytes + last.bytes;
                    let time = self.begun(&first, last.x + 1);
                    self.complete(first.operation, bytes, last.x, time);
                    edges = 2;
                }
                // Its last packet was not seen.
                Some(next) if next.begins && una >= next.x => {
                    let bytes = (next.x - first.x) * first.bytes;
                    let time = self.begun(&first, next.x);
                    self.complete(first.operation, bytes, next.x - 1, time);
                }
                None | Some(Edge { begins: false, ends: false, .. })
                    if self.assembly.is_none() && (is_over || !is_missing(self.seq.hi)) =>
                {
                    let bytes = (self.seq.hi - first.x) * first.bytes;
                    let (operation, first_time) = (first.operation, self.begun(&first, self.seq.hi));
                    self.assembly = Some(Assembly { next: self.seq.hi, bytes, first_time, operation });
                    edges += next.is_some() as usize;
                }
                _ if !is_late => return,
                next => {
                    self.messages_broken += 1;
                    edges += next.is_some_and(|next| !next.begins) as usize;
                }
            }
            self.trouble.edges.drain(..edges);
        }
    }
}
