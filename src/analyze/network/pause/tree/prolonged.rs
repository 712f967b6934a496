//! Pauses that go on for another reason than they began for: their sender was paused meanwhile.
//!
//! An incast makes a switch pause its senders; then the receiver stops reading and pauses the switch, which can send nothing any more and asks its
//! senders to wait on. From then on, these pauses are effects of the receiver's. Such a pause of device D is in two parts: it ran when one that D got
//! on another link began, and it ended with that, or soon after it. One that ends before is of another queue.

use super::{ALL, Node, REACTION_NS, Stream, topology::Topology};

/// Nodes that are looked at in search of a cause of its own causes.
const MAX_DEPTH: usize = 64;

/// Where pauses are in two parts, by their place among the nodes: when the second one begins, and the frame that it begins with.
pub(super) fn prolonged(nodes: &[Node], streams: &[Stream], topology: &Topology) -> Vec<Option<(i64, u64)>> {
    let mut of_stream: Vec<Vec<usize>> = vec![Vec::new(); streams.len()];
    for (at, node) in nodes.iter().enumerate() {
        of_stream[node.stream].push(at);
    }
    let search = Search { nodes, streams, of_stream };
    let mut parts = vec![None; nodes.len()];
    let mut new = Vec::new();
    for (stream, of) in streams.iter().enumerate().filter(|(_, of)| !topology.is_host(of.place.by)) {
        let causes = (0..streams.len()).filter(|&other| search.may_cause(other, of));
        for other in causes {
            search.first_causes(stream, other, &mut |at, cause| {
                let begins = nodes[cause].span.start.saturating_add(1);
                let is_first = parts[at].is_none_or(|(known, _)| begins < known);
                if is_first {
                    parts[at] = Some((begins, nodes[cause].span.frame));
                    new.push(at);
                }
            });
        }
    }
    // What it caused goes on for the same reason.
    while let Some(at) = new.pop() {
        let (node, Some((since, frame))) = (nodes[at], parts[at]) else { continue };
        let by = streams[node.stream].place.of;
        if topology.is_host(by) {
            continue;
        }
        for other in (0..streams.len()).filter(|&other| streams[other].place.by == by) {
            let own = &search.of_stream[other];
            let last = own.partition_point(|&own| nodes[own].span.start < since);
            let Some(&held) = last.checked_sub(1).and_then(|last| own.get(last)) else { continue };
            let span = nodes[held].span;
            let is_its = nodes[held].cause == Some(at) && span.end > since.saturating_add(1);
            if is_its && parts[held].is_none() && explains(node.span.end, since, span.end) {
                parts[held] = Some((since.saturating_add(1), frame));
                new.push(held);
            }
        }
    }
    parts
}

/// Whether pauses from `since` to `end` explain that another one goes on to this time.
fn explains(end: i64, since: i64, other: i64) -> bool {
    let (held, rest) = (end.min(other).saturating_sub(since), other.saturating_sub(since));
    rest.saturating_sub(held) <= REACTION_NS && held.saturating_mul(2) >= rest
}

struct Search<'a> {
    nodes: &'a [Node],
    streams: &'a [Stream],
    of_stream: Vec<Vec<usize>>,
}

impl Search<'_> {
    /// Whether pauses of one stream stop the sender of another one, so that it may pause others.
    fn may_cause(&self, other: usize, of: &Stream) -> bool {
        let Stream { place, priority, .. } = self.streams[other];
        place.of == of.place.by
            && place.link != of.place.link
            && (priority == of.priority || priority == ALL || of.priority == ALL)
    }

    /// Calls `on_pause` with each pause of a stream that goes on because of those of another one, and the first one of these.
    fn first_causes(&self, stream: usize, other: usize, on_pause: &mut dyn FnMut(usize, usize)) {
        let (own, others) = (&self.of_stream[stream], &self.of_stream[other]);
        let mut from = 0;
        for &at in own {
            let span = self.nodes[at].span;
            while others.get(from).is_some_and(|&one| self.nodes[one].span.start <= span.start) {
                from += 1;
            }
            let inside =
                others[from..].iter().copied().take_while(|&one| self.nodes[one].span.start < span.end);
            // Those that follow each other soon are one.
            let mut now: Option<(usize, i64)> = None;
            let mut found = None;
            for one in inside {
                let next = self.nodes[one].span;
                match &mut now {
                    Some((_, end)) if next.start <= end.saturating_add(REACTION_NS) => *end = next.end,
                    _ => now = Some((one, next.end)),
                }
                found = now.filter(|&(first, end)| self.prolongs(first, end, at)).or(found);
            }
            if let Some((first, _)) = found {
                on_pause(at, first);
            }
        }
    }

    /// Whether a pause goes on because of others from `first` on, the last of which ends at this time.
    fn prolongs(&self, first: usize, end: i64, at: usize) -> bool {
        let (cause, node) = (self.nodes[first].span, &self.nodes[at]);
        // What explained it so far is over.
        let is_free = node.cause.is_none_or(|before| self.nodes[before].span.end <= cause.start);
        node.span.end >= end
            && is_free
            && explains(end, cause.start, node.span.end)
            && !self.is_caused_by(first, at)
    }

    /// Whether a pause is an effect of another one.
    fn is_caused_by(&self, first: usize, at: usize) -> bool {
        let mut chain = std::iter::successors(Some(first), |&one| self.nodes[one].cause);
        // Of a longer chain nobody knows.
        self.nodes[first].depth as usize > MAX_DEPTH
            || chain.any(|one| self.nodes[one].stream == self.nodes[at].stream)
    }
}
