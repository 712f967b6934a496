//! What the time of a request went to.

use super::{
    Chunk, Collectives, Connection, Request,
    spans::{Piece, pieces},
    way::Way,
};
use crate::{
    analyze::{
        network::{Network, Paused},
        packet::path_tag,
    },
    report::{RequestTime, WaitCause},
    wire_cost::{FCS, GAP, ICRC, PREAMBLE},
};

/// Who sends so soon after a pause was held back by it.
const SOON_NS: i64 = 5_000;
/// Who retransmits so long after the last answer was answered by nothing since: a reaction to a NAK is faster.
pub(super) const TIMEOUT_NS: i64 = 1_000_000;
/// CNPs act on a sender for so long.
const AFTER_CNP_NS: i64 = 10_000_000;
/// What a packet of a WRITE has around its payload, over IPv4.
const AROUND: u64 = (PREAMBLE + FCS + GAP + ICRC + 14 + 20 + 8 + 12) as u64;

/// The times of a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Timed {
    pub(super) connection: usize,
    /// Its place among those of the connection.
    pub(super) request: usize,
    pub(super) cts: Option<i64>,
    /// When the element arrived that was answered: that of its last transmission before the data.
    pub(super) asked: Option<i64>,
    pub(super) first: Option<i64>,
    /// Since when its first packet may have been ready, and waited for others of its adapter.
    pub(super) queued: Option<i64>,
    pub(super) last: Option<i64>,
    pub(super) acknowledged: Option<i64>,
    pub(super) is_complete: bool,
    /// Data would have been seen, if there had been some.
    pub(super) shows_data: bool,
    pub(super) bytes: u64,
    /// Since when its time counts, and until when.
    pub(super) begin: i64,
    pub(super) end: i64,
    pub(super) operation: Option<usize>,
    /// The place of the request before on its connection.
    pub(super) before: Option<usize>,
    pub(super) time: RequestTime,
    /// Of its time on the network, how much longer than usual its element took to its sender: on the path of data the other way.
    pub(super) asking_ns: u64,
    /// Of its time, until its element was retransmitted, which the path of data the other way had lost.
    pub(super) lost_cts_ns: u64,
    /// Of its time paused, how long its last acknowledgement waited for the receiver's adapter, which was paused.
    pub(super) held_answer_ns: u64,
    /// Its time in parts.
    pub(super) pieces: Vec<Piece>,
}

impl Timed {
    /// The times that the capture shows: what is not complete goes on until the last frame of any kind.
    pub(super) fn of(
        all: &Collectives,
        (connection, at): (usize, usize),
        request: &Request,
        capture_end: i64,
    ) -> Timed {
        let of = &all.connections[connection];
        let chunks = || all.chunks_of(request);
        let first = chunks().map(|chunk| chunk.first.1).min();
        let queued = chunks().min_by_key(|chunk| chunk.first.1).map(|chunk| chunk.queued);
        let last = chunks().map(|chunk| chunk.last.1).max();
        let is_ended =
            |chunk: &Chunk| chunk.is_ended || chunks().any(|other| other.way == chunk.way && other.is_ended);
        let single = request.cts.as_ref().is_none_or(|cts| cts.elements.len() == 1);
        let bytes: u64 = chunks().filter(|chunk| !chunk.is_closing).map(|chunk| u64::from(chunk.bytes)).sum();
        let whole = match (request.immediate, single && of.big + of.little > 0) {
            (Some(immediate), true) => {
                u64::from(if of.big >= of.little { immediate } else { immediate.swap_bytes() }) <= bytes
            }
            _ => true,
        };
        // What was sent again and again, and is not acknowledged, did not arrive.
        let is_unanswered = |chunk: &Chunk| {
            let way = all.ways.get(chunk.way as usize).filter(|way| way.peer.is_some());
            let answered = way.map(|way| way.answered_ns.max(chunk.last.1));
            chunk.acknowledged.is_none()
                && chunk.again.zip(answered).is_some_and(|(again, at)| again.saturating_sub(at) >= TIMEOUT_NS)
        };
        let is_complete = first.is_some() && chunks().all(is_ended) && whole && !chunks().any(is_unanswered);
        let acknowledged = chunks().map(|chunk| chunk.acknowledged).collect::<Option<Vec<i64>>>();
        let acknowledged = acknowledged.and_then(|times| times.into_iter().max());
        let again_at = chunks().filter_map(|chunk| chunk.again).max();
        let cts = request.cts.as_ref();
        let again = cts.and_then(|cts| cts.again).filter(|&again| first.is_none_or(|first| again <= first));
        let asked = again.or(cts.map(|cts| cts.time));
        let sent = chunks().filter(|chunk| !chunk.is_closing).map(|chunk| all.sent_bytes(chunk)).sum();
        let begin = [cts.map(|cts| cts.time), first].into_iter().flatten().min().unwrap_or(all.last_ns);
        // What its sender's queue pair is told to have arrived was data, and was not captured.
        let has_acknowledged = |&way: &u32| {
            let way = all.ways.get(way as usize);
            let there = way.and_then(|way| all.ways.get(way.peer? as usize));
            way.is_some_and(|way| !way.waiting.is_empty())
                || there.is_some_and(|there| there.answered_ns > i64::MIN)
        };
        let shows_data =
            !of.data_ways.is_empty() || all.is_forward_seen(of) && !of.cts_ways.iter().any(has_acknowledged);
        let end = match is_complete {
            _ if !shows_data => begin,
            true => acknowledged.or(last.max(again_at)).unwrap_or(all.last_ns),
            false => capture_end,
        };
        Timed {
            connection,
            request: at,
            cts: cts.map(|cts| cts.time),
            asked,
            first,
            queued,
            last,
            acknowledged,
            is_complete,
            shows_data,
            bytes: sent,
            begin,
            end: end.max(begin),
            operation: None,
            before: None,
            time: RequestTime::default(),
            asking_ns: 0,
            lost_cts_ns: 0,
            held_answer_ns: 0,
            pieces: Vec::new(),
        }
    }

    /// Cuts its time, which begins then.
    pub(super) fn cut(&mut self, all: &Collectives, network: &Network, begin: i64) {
        self.begin = begin.min(self.end);
        if !self.shows_data {
            return;
        }
        let of = &all.connections[self.connection];
        let Some(request) = of.requests.get(self.request) else { return };
        let begin = self.begin;
        // What comes after the last answer of all is not the network's.
        let end = self.silent_from(all, of, request).map_or(self.end, |from| from.clamp(begin, self.end));
        let first = self.first.unwrap_or(end).clamp(begin, end);
        let mut time = RequestTime {
            lasted_ns: ns_between(begin, self.end),
            receiver_silent_ns: ns_between(end, self.end),
            ..RequestTime::default()
        };
        // What went before the data.
        let ways: Vec<&Way> = request_ways(all, request);
        let (mut asking, mut held, mut lost_cts) = ((begin, begin), Vec::new(), 0);
        self.answers_first(all, network, request);
        let mut known: Vec<Piece> = Vec::new();
        match (self.cts, self.asked) {
            (Some(cts), Some(asked)) => {
                let cts = cts.clamp(begin, first);
                let had = self.granted(all, of, request);
                let granted = had.clamp(cts, first);
                let asked = asked.clamp(cts, granted);
                lost_cts = asked.saturating_sub(cts);
                // Behind a pause, an adapter sends one after the other what waited for it.
                let queued = self.queued.unwrap_or(first).clamp(asked, first);
                held = self.held(all, network, (asked, queued));
                let ready = held.first().map_or(queued, |(from, _)| *from);
                // Its data was on its way to the tap.
                let flight = of.flight(all);
                let had = had.saturating_sub(flight).clamp(cts, first);
                let since = ready.saturating_sub(flight).clamp(had, first);
                time.receiver_late_ns = Some(ns_between(begin, cts));
                time.sender_late_ns = Some(ns_between(had, since));
                asking = (asked, granted);
                known.push((WaitCause::ReceiverLate, begin, cts));
                known.push((WaitCause::SenderLate, had, since));
                known.push((WaitCause::Recovering, cts, asked));
            }
            _ => {
                time.late_ns = Some(ns_between(begin, first));
                known.push((WaitCause::OneSideLate, begin, first));
            }
        }
        let late = [time.receiver_late_ns, time.sender_late_ns, time.late_ns].into_iter().flatten().sum();
        let network_ns = end.saturating_sub(begin).saturating_sub_unsigned(late);
        time.network_ns = ns(network_ns);
        // They are in the order of their ends.
        let recoveries = || {
            let of = |way: &'_ Way| way.recoveries.partition_point(|&(_, to)| to <= begin);
            ways.iter().flat_map(move |way| way.recoveries[of(way)..].iter().copied())
        };
        let mut recovering = union(recoveries(), asking);
        let usual = of.round_trip_to_sender(all).unwrap_or(0).saturating_add(total(&recovering));
        self.asking_ns = ns_between(asking.0, asking.1).saturating_sub(ns(usual));
        recovering.extend(union(recoveries(), (first, end)));
        let in_data = self.pauses(all, network, &ways, (first, end));
        // What is retransmitted as soon as a pause is over had waited for that.
        let again = ways.iter().flat_map(|way| {
            let of = way.recoveries.partition_point(|&(_, to)| to <= begin);
            let of = way.recoveries[of..].iter().take_while(|&&(_, to)| to <= end);
            of.flat_map(|&span| all.held_back(network, way, span))
        });
        let sent_or_held = union(in_data.into_iter().chain(held).chain(again), (begin, end));
        let answers = self.held_answers(all, network, &ways);
        let paused = union(sent_or_held.iter().chain(&answers).copied(), (begin, end));
        self.held_answer_ns = ns(total(&paused) - total(&sent_or_held));
        let recovering_only = total(&recovering).saturating_sub(overlap(&recovering, &paused));
        time.paused_ns = ns(total(&paused));
        self.lost_cts_ns = ns(lost_cts);
        time.recovering_ns = ns(recovering_only.saturating_add(lost_cts));
        time.transfer_ns = time.network_ns.saturating_sub(time.paused_ns.saturating_add(time.recovering_ns));
        self.cut_transfer(&mut time, all, network, request, &ways);
        known.extend(paused.iter().map(|&(from, to)| (WaitCause::Paused, from, to)));
        known.extend(recovering.iter().map(|&(from, to)| (WaitCause::Recovering, from, to)));
        self.pieces = pieces(known, &time, (begin, end));
        if end < self.end {
            self.pieces.push((WaitCause::ReceiverSilent, end, self.end));
        }
        self.time = time;
    }

    /// Since when the receiver answered nothing any more, to the end of the capture, though its data was retransmitted to it: no packet of
    /// an incomplete request was answered since, and a timeout passed.
    fn silent_from(&self, all: &Collectives, of: &Connection, request: &Request) -> Option<i64> {
        let first = self.first.filter(|_| !self.is_complete)?;
        let ways =
            |ways: &'_ [u32]| ways.iter().filter_map(|&way| all.ways.get(way as usize)).collect::<Vec<_>>();
        let answered = ways(&of.data_ways).into_iter().map(|way| way.answered_ns);
        let asked = ways(&of.cts_ways).into_iter().map(|way| way.last_ns);
        let last = answered.chain(asked).max().filter(|&last| last != i64::MIN)?;
        let is_late = |again: i64| again.saturating_sub(last) >= TIMEOUT_NS;
        all.chunks_of(request).any(|chunk| chunk.again.is_some_and(is_late)).then(|| last.max(first))
    }

    fn cut_transfer(
        &self,
        time: &mut RequestTime,
        all: &Collectives,
        network: &Network,
        request: &Request,
        ways: &[&Way],
    ) {
        let Some(way) = ways.first() else { return };
        let Some(speed) = network.speed_bps(way.vantage >> 8).filter(|&bps| bps > 0) else { return };
        let packets =
            |chunk: &Chunk| u64::from(super::psn_distance(chunk.last_psn, chunk.psn).unsigned_abs()) + 1;
        let mut by_link: Vec<(u16, u64)> = Vec::new();
        for chunk in all.chunks_of(request) {
            let Some(way) = all.ways.get(chunk.way as usize) else { continue };
            let (link, bytes) = (way.vantage >> 8, u64::from(chunk.bytes) + packets(chunk) * AROUND);
            match by_link.iter_mut().find(|(known, _)| *known == link) {
                Some((_, sum)) => *sum += bytes,
                None => by_link.push((link, bytes)),
            }
        }
        let most = by_link.iter().map(|&(_, bytes)| bytes).max().unwrap_or(0);
        let line = (u128::from(most) * 8_000_000_000 / u128::from(speed)) as u64;
        let line = line.min(time.transfer_ns);
        let rest = time.transfer_ns - line;
        let round_trip = ways.iter().filter_map(|way| way.round_trip_ns).min().map_or(0, ns).min(rest);
        let rest = rest - round_trip;
        // CNPs for this data come on the way back.
        let is_notified = ways.iter().filter_map(|way| all.ways.get(way.peer? as usize)).any(|back| {
            let from = back.cnps.partition_point(|&cnp| cnp < self.begin.saturating_sub(AFTER_CNP_NS));
            back.cnps.get(from).is_some_and(|&cnp| cnp <= self.end)
        });
        time.line_rate_ns = Some(line);
        time.round_trip_ns = Some(round_trip);
        time.throttled_ns = Some(if is_notified { rest } else { 0 });
        time.queueing_ns = Some(if is_notified { 0 } else { rest });
    }

    /// When its sender had the element: a tap there shows it, or its acknowledgement, else the shortest round trip does.
    fn granted(&self, all: &Collectives, of: &Connection, request: &Request) -> i64 {
        let asked = self.asked.unwrap_or(self.begin);
        let Some(first) = self.first else { return asked };
        let seen = request.cts.iter().flat_map(|cts| [cts.arrived, cts.acknowledged]);
        seen.flatten()
            .find(|&at| at >= asked && at <= first)
            .unwrap_or_else(|| asked.saturating_add(of.round_trip_to_sender(all).unwrap_or(0)))
    }

    /// The first transmission of an element was answered, and not the last one, where a tap at the sender saw it; or where the sender was paused when it came again: nothing could answer
    /// it before.
    fn answers_first(&mut self, all: &Collectives, network: &Network, request: &Request) {
        let (Some(cts), Some(asked)) = (self.cts, self.asked) else { return };
        if asked <= cts {
            return;
        }
        let has_arrived = request.cts.as_ref().and_then(|cts| cts.arrived).is_some_and(|at| at < asked);
        let held = self.first.map_or_else(Vec::new, |first| self.held(all, network, (cts, first)));
        if has_arrived || held.iter().any(|&(from, to)| from < asked && asked <= to.saturating_add(SOON_NS)) {
            self.asked = Some(cts);
        }
    }

    /// Pauses that held back the first packet.
    fn held(&self, all: &Collectives, network: &Network, within: (i64, i64)) -> Vec<(i64, i64)> {
        let first = all.connections[self.connection].requests.get(self.request).and_then(|request| {
            all.chunks_of(request).min_by_key(|chunk| chunk.first.1).map(|chunk| chunk.way)
        });
        let way = first.and_then(|way| all.ways.get(way as usize));
        way.map_or_else(Vec::new, |way| all.held_back(network, way, within))
    }

    /// Pauses that held back the acknowledgement of the last packet.
    fn held_answers(&self, all: &Collectives, network: &Network, ways: &[&Way]) -> Vec<(i64, i64)> {
        let Some((last, to)) = self.last.zip(self.acknowledged) else { return Vec::new() };
        let back = ways.iter().filter_map(|way| all.ways.get(way.peer? as usize));
        let held: Vec<_> = back.map(|way| all.held_back(network, way, (last, to))).collect();
        union(held.into_iter().flatten(), (last, to))
    }

    /// Times in pauses in which its sender was silent.
    fn pauses(
        &self,
        all: &Collectives,
        network: &Network,
        ways: &[&Way],
        within: (i64, i64),
    ) -> Vec<(i64, i64)> {
        let mut found = Vec::new();
        for way in ways.iter().filter(|_| !all.pauses.is_empty()) {
            let priority = network.priorities.of(way.path_tag);
            let acts = |pause: &&Paused| {
                pause.interface == way.vantage >> 8 && pause.priority.is_none_or(|paused| paused == priority)
            };
            let silent = way.silences.iter().copied().filter(|&(from, to)| from < within.1 && to > within.0);
            let silent: Vec<(i64, i64)> = silent.chain(self.last.map(|last| (last, self.end))).collect();
            for pause in all.pauses.iter().filter(acts) {
                let (start, stop) = (pause.start_ns.max(within.0), pause.end_ns.min(within.1));
                let parts = silent.iter().map(|&(from, to)| (from.max(start), to.min(stop)));
                found.extend(parts.filter(|(from, to)| from < to));
            }
        }
        found
    }
}

impl Connection {
    /// The shortest time from a clear-to-send WRITE at the tap until the sender acknowledged it.
    pub(super) fn round_trip_to_sender(&self, all: &Collectives) -> Option<i64> {
        let ways = self.cts_ways.iter().filter_map(|&way| all.ways.get(way as usize));
        ways.filter_map(|way| way.round_trip_ns).min()
    }

    /// How long data takes from its sender to the tap: half of the shortest round trip from there, if elements pass the same one.
    fn flight(&self, all: &Collectives) -> i64 {
        let tap = |ways: &[u32]| Some(all.ways.get(*ways.first()? as usize)?.vantage >> 8);
        match tap(&self.data_ways) == tap(&self.cts_ways) {
            true => self.round_trip_to_sender(all).unwrap_or(0) / 2,
            false => 0,
        }
    }
}

impl Collectives {
    /// Pauses that held back what was sent on a way since a time: it came as soon as the last of them was over.
    fn held_back(&self, network: &Network, way: &Way, (from, to): (i64, i64)) -> Vec<(i64, i64)> {
        if self.pauses.is_empty() {
            return Vec::new();
        }
        let priority = network.priorities.of(way.path_tag);
        let acts = |pause: &&Paused| {
            pause.interface == way.vantage >> 8
                && pause.priority.is_none_or(|paused| paused == priority)
                && pause.start_ns < to
                && pause.end_ns > from
        };
        let spans = self.pauses.iter().filter(acts).map(|pause| (pause.start_ns, pause.end_ns));
        let spans = union(spans, (from, to));
        let ended = spans.last().map(|(_, end)| to.saturating_sub(*end));
        if ended.is_some_and(|since| since <= SOON_NS) { spans } else { Vec::new() }
    }

    /// Whether packets were seen from the sender to the receiver of a connection.
    pub(super) fn is_forward_seen(&self, of: &Connection) -> bool {
        let Some(cts) = of.cts_ways.first().and_then(|&way| self.ways.get(way as usize)) else { return true };
        self.ways.iter().any(|way| way.key.src == cts.key.dst && way.key.dst == cts.key.src)
    }
}

/// The ways of a request's data.
fn request_ways<'a>(all: &'a Collectives, request: &Request) -> Vec<&'a Way> {
    let mut ways: Vec<u32> = all.chunks_of(request).map(|chunk| chunk.way).collect();
    ways.sort_unstable();
    ways.dedup();
    ways.into_iter().filter_map(|way| all.ways.get(way as usize)).collect()
}

/// DSCP of a way's packets.
pub(super) fn dscp(way: &Way) -> Option<u8> {
    path_tag::dscp(way.path_tag)
}

pub(super) fn ns(time: i64) -> u64 {
    time.max(0) as u64
}

/// From one time to another. Those of a capture may be as far apart as numbers allow.
pub(super) fn ns_between(from: i64, to: i64) -> u64 {
    ns(to.saturating_sub(from))
}

/// The parts of a time that these spans cover, in order and without overlaps.
pub(super) fn union(spans: impl Iterator<Item = (i64, i64)>, (from, to): (i64, i64)) -> Vec<(i64, i64)> {
    let clipped = spans.map(|(start, end)| (start.max(from), end.min(to))).filter(|(start, end)| start < end);
    let mut sorted: Vec<(i64, i64)> = clipped.collect();
    sorted.sort_unstable();
    sorted.dedup_by(|&mut (start, end), last| {
        let is_joined = start <= last.1;
        last.1 = if is_joined { last.1.max(end) } else { last.1 };
        is_joined
    });
    sorted
}

fn total(spans: &[(i64, i64)]) -> i64 {
    spans.iter().fold(0, |sum: i64, (start, end)| sum.saturating_add(end.saturating_sub(*start)))
}

/// How much of these times is in both: each in order and without overlaps.
fn overlap(mut a: &[(i64, i64)], mut b: &[(i64, i64)]) -> i64 {
    let mut sum = 0i64;
    while let ([x, ..], [y, ..]) = (a, b) {
        sum = sum.saturating_add(x.1.min(y.1).saturating_sub(x.0.max(y.0)).max(0));
        match x.1 < y.1 {
            true => a = &a[1..],
            false => b = &b[1..],
        }
    }
    sum
}
