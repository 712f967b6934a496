//! Who paused whom: pauses of several links, put together by what the links join.
//!
//! A pause of device D is *caused* by one that D got, if D got it on another link at the same priority and
//!
//! * it holds when that of D begins, or
//! * it began at most [`REACTION_NS`] before, and is over.
//!
//! One that already runs then may [go on](prolonged) because of it: that part of it has this cause.
//!
//! A pause of D that follows another one of D on the same link, soon after the end of what caused that one, has the same cause: the queue
//! had not drained when D released the link.
//!
//! Of several, the one that holds and began last is taken. What no pause caused is a root. A switch that is paused stops one queue;
//! what comes in for it fills the buffer that the switch grants a port, from its threshold on some 10 KB to a few MB: up to
//! 100 µs at 100 Gbit/s. Beyond that only a pause that holds explains it. That the packets that wait are those of the paused
//! port is not seen: an edge is never certain.

mod cycles;
mod prolonged;
mod rows;
mod topology;

use std::collections::BTreeMap;

use self::topology::{Place, Topology};
use super::PauseSource;
use crate::wire::Mac;
pub(crate) use rows::LinkPosition;
pub(super) use rows::{PlacedTree, TreeInput};

/// How long after the beginning of a pause that is over another one counts as caused by it; and how long after its end one that follows
/// a pause that it caused.
const REACTION_NS: i64 = 100_000;
/// Pauses that are kept, of all senders together.
pub(super) const MAX_SPANS: usize = 1 << 17;
/// The number of "all priorities".
const ALL: u8 = 8;

/// One pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, crate::stored::Stored)]
pub(super) struct Span {
    pub(super) start: i64,
    pub(super) end: i64,
    /// The frame that began it.
    pub(super) frame: u64,
}

/// The pauses of one source, as they were captured.
#[derive(Debug)]
pub(super) struct SourceSpans {
    pub(super) source: PauseSource,
    /// In the order of time, without overlaps.
    pub(super) spans: Vec<Span>,
}

/// The pauses by which one device stopped another one on one link, at one priority.
#[derive(Debug)]
struct Stream {
    place: Place,
    priority: u8,
    /// An interface that captured it.
    interface: u16,
    /// In the order of time, without overlaps.
    spans: Vec<Span>,
}

/// A pause of a stream, and what caused it.
#[derive(Clone, Copy, Debug)]
struct Node {
    span: Span,
    stream: usize,
    cause: Option<usize>,
    /// It has the cause of the pause before it on this link, which is over; or it is the rest of one that ran when its cause began.
    is_again: bool,
    /// The first cause, itself where nothing caused it, and how many are between.
    root: usize,
    depth: u32,
}

/// The streams of pauses whose senders have a place, and the other senders.
fn streams(all: Vec<SourceSpans>, topology: &Topology) -> (Vec<Stream>, Vec<(u16, Mac)>) {
    let mut streams: BTreeMap<(Place, u8), Stream> = BTreeMap::new();
    let mut unplaced = Vec::new();
    for SourceSpans { source, spans } in all.into_iter().filter(|one| !one.spans.is_empty()) {
        let PauseSource { interface, sender, priority } = source;
        let Some(place) = topology.place(interface, sender) else {
            unplaced.push((interface, sender));
            continue;
        };
        let new = || Stream { place, priority, interface, spans: Vec::new() };
        streams.entry((place, priority)).or_insert_with(new).spans.extend(spans);
    }
    let mut streams: Vec<Stream> = streams.into_values().collect();
    for stream in &mut streams {
        // Two interfaces on one link, or two addresses of one device, may show a pause twice.
        stream.spans.sort_unstable();
        stream.spans.dedup_by(|next, one| {
            let overlaps = next.start < one.end;
            one.end = if overlaps { one.end.max(next.end) } else { one.end };
            overlaps
        });
    }
    unplaced.sort_unstable();
    unplaced.dedup();
    (streams, unplaced)
}

/// All pauses in the order of time, each with its cause; those that go on for another reason than they began for are in two parts.
fn nodes(streams: &[Stream], topology: &Topology) -> Vec<Node> {
    let new = |stream: usize, span: Span, is_rest: bool| Node {
        span,
        stream,
        cause: None,
        is_again: is_rest,
        root: 0,
        depth: 0,
    };
    let all = streams.iter().enumerate();
    let all = all.flat_map(|(stream, of)| of.spans.iter().map(move |&span| new(stream, span, false)));
    let nodes = caused(all.collect(), streams, topology);
    let parts = prolonged::prolonged(&nodes, streams, topology);
    if parts.iter().all(Option::is_none) {
        return nodes;
    }
    let all = nodes.iter().zip(parts).flat_map(|(&Node { span, stream, .. }, part)| {
        let end = part.map_or(span.end, |(since, _)| since);
        let rest = part.map(|(start, frame)| new(stream, Span { start, frame, ..span }, true));
        [Some(new(stream, Span { end, ..span }, false)), rest].into_iter().flatten()
    });
    caused(all.collect(), streams, topology)
}

/// These pauses in the order of time, each with its cause.
fn caused(mut nodes: Vec<Node>, streams: &[Stream], topology: &Topology) -> Vec<Node> {
    nodes.sort_unstable_by_key(|node| (node.span.start, node.span.frame, node.stream));
    // The pauses so far, by stream: only the last one of a stream can be a cause.
    let mut last: Vec<Option<usize>> = vec![None; streams.len()];
    let mut stops: Vec<Vec<usize>> = vec![Vec::new(); topology.devices.len()];
    for (at, stream) in streams.iter().enumerate() {
        stops[stream.place.of].push(at);
    }
    for at in 0..nodes.len() {
        let node = nodes[at];
        let Stream { place, priority, .. } = streams[node.stream];
        let is_other = |&&other: &&usize| {
            let Stream { place: its, priority: of, .. } = streams[other];
            its.link != place.link && (of == priority || of == ALL || priority == ALL)
        };
        // A host passes nothing on.
        let of_device = if topology.is_host(place.by) { &[][..] } else { &stops[place.by][..] };
        let began = node.span.start;
        let cause = of_device
            .iter()
            .filter(is_other)
            .filter_map(|&other| last[other])
            .filter(|&cause| {
                let span = nodes[cause].span;
                began <= span.end.max(span.start.saturating_add(REACTION_NS))
            })
            .max_by_key(|&cause| (nodes[cause].span.end >= began, cause));
        // The one before it on this link, and what caused that.
        let soon = |span: Span| began <= span.end.saturating_add(REACTION_NS);
        let before = last[node.stream].filter(|&before| soon(nodes[before].span));
        let again = before.and_then(|before| nodes[before].cause).filter(|&cause| soon(nodes[cause].span));
        let is_again = node.is_again || cause.is_none() && again.is_some();
        let cause = cause.or(again);
        let (root, depth) = cause.map_or((at, 0), |cause| (nodes[cause].root, nodes[cause].depth + 1));
        nodes[at] = Node { cause, is_again, root, depth, ..node };
        last[node.stream] = Some(at);
    }
    nodes
}
