//! The section of the report.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use super::{
    Collectives, Connection, Request,
    cut::{Timed, dscp},
    ends::{Ends, addresses},
    operations, pattern, spans,
    topology::Shape,
    way::{Role, Way},
};
use crate::{
    analyze::{
        network::Network,
        packet::{element::element_bytes, key::Key},
    },
    in_order::InOrder,
    report::{
        self, CollectiveConnection, CollectiveRequest, CtsLayout, ImmediateOrder, Reason, RecognizedBy,
        RequestTime, Why,
    },
};

/// Elements without data must count up so often.
const ENOUGH: usize = 4;
/// So many messages of a queue pair that no element asks for show that none does.
const ENOUGH_OTHERS: usize = 16;

impl Collectives {
    /// Flows of clear-to-send elements.
    pub(crate) fn clear_to_send(&self) -> impl Iterator<Item = Key> {
        let shown = (0..self.connections.len()).filter(|&at| self.is_shown(at));
        let ways = shown.flat_map(|at| &self.connections[at].cts_ways);
        ways.filter_map(|&way| Some(self.ways.get(way as usize)?.key))
    }

    /// The section; `None` where no such traffic was seen. `capture_end`: when the last frame of any kind was captured.
    pub(crate) fn section(&self, network: &Network, capture_end: i64) -> Option<report::Collectives> {
        if !self.is_active() {
            return None;
        }
        let all = self.settled();
        let capture_end = capture_end.max(all.last_ns);
        let shown: Vec<usize> = (0..all.connections.len()).filter(|&at| all.is_shown(at)).collect();
        if shown.is_empty() {
            return None;
        }
        let all_requests = shown.iter().map(|&at| all.connections[at].requests.len()).sum();
        let mut timed: Vec<Timed> = Vec::with_capacity(all_requests);
        for &at in &shown {
            let requests = all.connections[at].requests.iter().enumerate();
            timed.extend(requests.map(|(n, request)| Timed::of(&all, (at, n), request, capture_end)));
        }
        timed.sort_by_cached_key(|one| (one.begin, one.connection, one.request));
        // Without elements, a silence says nothing: somebody may be waited for.
        let is_whole = |of: &Connection| !of.data_ways.is_empty() && !of.cts_ways.is_empty();
        let of_data = shown.iter().filter(|&&at| is_whole(&all.connections[at])).count();
        let ends = Ends::of(&all, &timed);
        let shape = Shape::of(&all, &ends);
        let ends = if of_data > 1 { ends.with_jobs(&timed, &shape) } else { ends };
        let operations = (of_data > 1).then(|| operations::group(&mut timed, (&ends, &shape)));
        all.cut(network, &mut timed, operations.as_deref());
        Some(all.rows(&shown, &timed, operations, (&ends, &shape)))
    }

    /// With what is not decided while packets come; mostly, there is nothing of that.
    pub(super) fn settled(&self) -> Cow<'_, Collectives> {
        let is_open = |way: &Way| way.peer.is_none() && way.candidates.is_some() || way.has_passed();
        if self.loose.is_empty() && !self.ways.iter().any(is_open) {
            return Cow::Borrowed(self);
        }
        let mut all = self.clone();
        (0..all.ways.len()).for_each(|at| all.catch_up(at as u32));
        all.join_by_time(None);
        all.find_patterns();
        Cow::Owned(all)
    }

    /// Whether a connection is sure enough to be shown.
    fn is_shown(&self, at: usize) -> bool {
        let of = &self.connections[at];
        if !of.data_ways.is_empty() {
            return !of.requests.is_empty();
        }
        if self.has_other_data(of) {
            return false;
        }
        let counts_up = of.requests.windows(2).filter(|pair| pair[1].index == pair[0].index + 1).count();
        counts_up + 1 >= ENOUGH && !of.slots.is_empty() && counts_up * 10 >= of.requests.len() * 8
    }

    /// Whether WRITEs from where the data of a connection must come from were captured, and none goes where an element says: then these are no elements.
    fn has_other_data(&self, of: &Connection) -> bool {
        let Some(cts) = of.cts_ways.first().and_then(|&way| self.ways.get(way as usize)) else {
            return false;
        };
        let is_whole = |&&chunk: &&u32| self.chunks.get(chunk as usize).is_some_and(|chunk| chunk.rkey != 0);
        self.ways.iter().any(|way| {
            way.key.src == cts.key.dst
                && way.key.dst == cts.key.src
                && way.loose.iter().filter(is_whole).count() >= ENOUGH_OTHERS
        })
    }

    /// Cuts the time of all requests, in the order of each connection.
    fn cut(&self, network: &Network, timed: &mut [Timed], operations: Option<&[operations::Span]>) {
        let mut ended: BTreeMap<usize, i64> = BTreeMap::new();
        let mut order: Vec<usize> = (0..timed.len()).collect();
        order.order_by_key(|&at| (timed[at].connection, timed[at].request));
        let mut last = None;
        for at in order {
            let same = last.filter(|&last: &usize| timed[last].connection == timed[at].connection);
            last = Some(at);
            let before = same.filter(|&same| timed[same].request + 1 == timed[at].request);
            let one = &mut timed[at];
            one.before = before;
            let operation = one.operation.and_then(|at| operations?.get(at));
            let before = ended.get(&one.connection).copied();
            let begin = before.into_iter().chain(operation.map(|span| span.start)).max().unwrap_or(one.begin);
            one.cut(self, network, begin);
            let end = if one.is_complete || one.first.is_some() { one.end } else { one.begin };
            ended.insert(one.connection, before.map_or(end, |before| before.max(end)));
        }
    }

    fn rows(
        &self,
        shown: &[usize],
        timed: &[Timed],
        spans: Option<Vec<operations::Span>>,
        (ends, shape): (&Ends, &Shape),
    ) -> report::Collectives {
        let place: BTreeMap<usize, usize> = shown.iter().enumerate().map(|(row, &at)| (at, row)).collect();
        let mut connections: Vec<CollectiveConnection> = shown
            .iter()
            .enumerate()
            .map(|(row, &at)| self.connection_row(row, &self.connections[at]))
            .collect();
        self.guess_channels(&mut connections);
        let mut rows = report::Collectives { not_listed: self.not_kept, ..report::Collectives::default() };
        rows.requests.reserve_exact(timed.len());
        for one in timed {
            let Some(&row) = place.get(&one.connection) else { continue };
            let Some(request) = self.connections[one.connection].requests.get(one.request) else { continue };
            let connection = &mut connections[row];
            connection.requests += 1;
            connection.bytes += one.bytes;
            let is_unfinished = one.shows_data && !one.is_complete;
            connection.unfinished += u64::from(is_unfinished);
            connection.time.add(&one.time);
            rows.bytes += one.bytes;
            rows.unfinished += u64::from(is_unfinished);
            rows.time.add(&one.time);
            rows.requests.push(self.request_row(row, one, request));
        }
        let ranks: BTreeSet<String> =
            connections.iter().flat_map(|one| [one.sender.clone(), one.receiver.clone()]).collect();
        rows.ranks = ranks.into_iter().collect();
        rows.topology = shape.topology;
        if let Some(spans) = spans {
            let operations = operations::rows(self, (shape, ends), &place, timed, &spans);
            rows.topology = operations::topology(&operations).unwrap_or(shape.topology);
            rows.period_ns = operations::period(&operations);
            rows.stragglers = operations::stragglers(&operations);
            rows.operations = Some(operations);
        } else {
            rows.stragglers.extend(operations::hung(self, timed));
        }
        rows.waits = spans::rows(self, timed, ends, &place);
        rows.connections = connections;
        rows
    }

    fn connection_row(&self, row: usize, of: &Connection) -> CollectiveConnection {
        let way = |&at: &u32| self.ways.get(at as usize);
        let (cts, data) = (of.cts_ways.first().and_then(way), of.data_ways.first().and_then(way));
        let (sender, receiver) = addresses(self, of).unwrap_or_default();
        let mut why = Why::new();
        let mut by_queue_pair = BTreeMap::new();
        let mut last_of = BTreeMap::new();
        let mut resent = 0;
        for request in &of.requests {
            let mut ended: BTreeMap<u32, i64> = BTreeMap::new();
            for chunk in self.chunks_of(request) {
                let Some(way) = self.ways.get(chunk.way as usize) else { continue };
                let queue_pair = way.key.dest_qp();
                resent += u64::from(chunk.resent);
                if !chunk.is_closing {
                    *by_queue_pair.entry(queue_pair).or_insert(0) += self.sent_bytes(chunk);
                }
                let last = ended.entry(queue_pair).or_insert(chunk.last.1);
                *last = (*last).max(chunk.last.1);
            }
            if ended.len() > 1
                && let Some((&last, _)) = ended.iter().max_by_key(|(_, time)| **time)
            {
                *last_of.entry(last).or_insert(0) += 1;
            }
        }
        if cts.is_none() {
            why.insert("cts_queue_pairs".into(), Reason::NoElements);
        }
        if data.is_none() {
            why.insert(
                "queue_pairs".into(),
                if self.is_forward_seen(of) { Reason::NoData } else { Reason::OneWay },
            );
        }
        let is_known_by_size = of.big.max(of.little) >= pattern::ENOUGH as u64;
        let is_by_slots = !of.is_proved && data.is_some() && cts.is_some() && !is_known_by_size;
        if of.big == of.little {
            let reason = match data.is_none() {
                true => Reason::NoData,
                false if is_by_slots => Reason::Truncated,
                false => Reason::TooFew,
            };
            why.insert("immediate_order".into(), reason);
        }
        if of.layout == CtsLayout::Unknown {
            let reason = if cts.is_none() { Reason::NoElements } else { Reason::Truncated };
            why.insert("element_bytes".into(), reason);
        }
        let slots = match of.slots[..] {
            [(slots, _)] => Some(slots),
            _ => None,
        };
        if slots.is_none() {
            why.insert("slots".into(), if cts.is_none() { Reason::NoElements } else { Reason::TooFew });
        }
        CollectiveConnection {
            connection: row,
            sender,
            receiver,
            recognized_by: match (of.is_proved, cts.is_some()) {
                (true, _) => RecognizedBy::Data,
                (false, true) if of.layout != CtsLayout::Unknown => RecognizedBy::Elements,
                (false, _) if is_by_slots => RecognizedBy::Slots,
                (false, _) => RecognizedBy::Immediate,
            },
            layout: of.layout,
            element_bytes: element_bytes(of.layout),
            slots,
            immediate_order: match of.big.cmp(&of.little) {
                std::cmp::Ordering::Greater => ImmediateOrder::Big,
                std::cmp::Ordering::Less => ImmediateOrder::Little,
                std::cmp::Ordering::Equal => ImmediateOrder::Unknown,
            },
            queue_pairs: of.data_ways.iter().filter_map(way).map(|way| way.key.dest_qp()).collect(),
            cts_queue_pairs: of.cts_ways.iter().filter_map(way).map(|way| way.key.dest_qp()).collect(),
            queue_pairs_per_request: of.ways_per_request as u64,
            dscp: data.and_then(dscp),
            cts_dscp: cts.and_then(dscp),
            resent_packets: resent,
            resent_cts: of
                .requests
                .iter()
                .filter(|one| one.cts.as_ref().is_some_and(|cts| cts.again.is_some()))
                .count() as u64,
            bytes_by_queue_pair: by_queue_pair,
            last_by_queue_pair: last_of,
            why,
            ..CollectiveConnection::default()
        }
    }

    /// A host makes the connections of its channels in their order, and queue pairs count up.
    fn guess_channels(&self, connections: &mut [CollectiveConnection]) {
        let mut of_pair: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
        for (at, one) in connections.iter().enumerate() {
            of_pair.entry((one.sender.clone(), one.receiver.clone())).or_default().push(at);
        }
        for mut all in of_pair.into_values() {
            all.order_by_key(|&at| {
                connections[at].cts_queue_pairs.first().or(connections[at].queue_pairs.first()).copied()
            });
            for (channel, at) in all.into_iter().enumerate() {
                connections[at].channel = Some(channel as u64);
            }
        }
    }

    fn request_row(&self, row: usize, one: &Timed, request: &Request) -> CollectiveRequest {
        let mut queue_pairs: Vec<u32> = Vec::new();
        let mut queue_pair_bytes: Vec<u64> = Vec::new();
        for chunk in self.chunks_of(request) {
            let Some(way) = self.ways.get(chunk.way as usize) else { continue };
            let bytes = if chunk.is_closing { 0 } else { self.sent_bytes(chunk) };
            let queue_pair = way.key.dest_qp();
            match queue_pairs.iter().position(|&known| known == queue_pair) {
                Some(at) => queue_pair_bytes[at] += bytes,
                None => {
                    queue_pairs.push(queue_pair);
                    queue_pair_bytes.push(bytes);
                }
            }
        }
        let elements = request.cts.as_ref().map_or(&[][..], |cts| &cts.elements);
        let size_of = |element: &super::Element| {
            let chunks = self
                .chunks_of(request)
                .filter(|chunk| !chunk.is_closing && element.has(chunk.va, chunk.rkey, chunk.bytes));
            chunks.map(|chunk| self.sent_bytes(chunk)).sum::<u64>()
        };
        let mut why = Why::new();
        if request.cts.is_none() {
            for field in ["cts_ns", "receiver_late_ns", "sender_late_ns"] {
                why.insert(field.into(), Reason::NoElements);
            }
        }
        if !one.shows_data {
            for field in ["first_data_ns", "is_complete", "receiver_late_ns", "sender_late_ns"] {
                why.insert(field.into(), Reason::OneWay);
            }
        } else if one.first.is_none() {
            why.insert("first_data_ns".into(), Reason::NoData);
        } else if one.acknowledged.is_none() {
            let heard = request
                .chunks
                .iter()
                .filter_map(|&chunk| self.chunks.get(chunk as usize))
                .any(|chunk| self.ways.get(chunk.way as usize).is_some_and(|way| way.peer.is_some()));
            let reason = if heard { Reason::Midstream } else { Reason::Unpaired };
            why.insert("acknowledged_ns".into(), reason);
        }
        if request.immediate.is_none() && request.closed > 0 {
            why.insert("immediate".into(), Reason::Truncated);
        }
        if one.time.line_rate_ns.is_none() {
            why.insert("line_rate_ns".into(), Reason::UnknownSpeed);
        }
        let frames = || self.chunks_of(request);
        CollectiveRequest {
            connection: row,
            index: request.index,
            operation: one.operation.map(|at| at as u64),
            begin_ns: one.begin,
            cts_ns: one.cts,
            cts_frame: request.cts.as_ref().map(|cts| cts.frame),
            first_data_ns: one.first,
            first_frame: frames().map(|chunk| chunk.first.0).min(),
            last_data_ns: one.last,
            last_frame: frames().map(|chunk| chunk.last.0).max(),
            resent_ns: frames().filter_map(|chunk| chunk.again).max(),
            acknowledged_ns: one.acknowledged,
            bytes: one.bytes,
            sizes: if elements.len() > 1 { elements.iter().map(size_of).collect() } else { Vec::new() },
            receives: request.cts.as_ref().map_or(1, |cts| cts.receives),
            immediate: request.immediate,
            queue_pairs,
            queue_pair_bytes,
            is_complete: one.shows_data.then_some(one.is_complete),
            time: RequestTime::clone(&one.time),
            why,
        }
    }

    /// Whether a way has data of a collective.
    pub(super) fn is_data(role: Role) -> bool {
        matches!(role, Role::Data(_))
    }
}
