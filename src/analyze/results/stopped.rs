//! Requesters that gave up, and what became of connections.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::{
    analyze::{
        engine::Tracker,
        model::Address,
        network::other_traffic::OtherTraffic,
        table::{
            connection::Connections,
            flow::{DREQ, Flow},
        },
        track::request::Stopped,
    },
    report::{ConnectionState, GaveUp, StillSends},
};

/// When each host last sent something, and to whom.
#[derive(Default)]
pub(super) struct LastWords {
    /// From one host to another: the last time, on which queue pair, and the last time on another one.
    pairs: HashMap<(Address, Address), Latest<u32>, RandomState>,
    /// From a host to any other: the last time, to which, and the last time to another one.
    hosts: HashMap<Address, Latest<Address>, RandomState>,
}

/// The latest time, of what, and the latest time of anything else.
#[derive(Clone, Copy)]
struct Latest<T> {
    time: i64,
    of: T,
    of_others: i64,
}

impl<T: Copy + PartialEq> Latest<T> {
    fn add(&mut self, of: T, time: i64) {
        if of == self.of {
            self.time = self.time.max(time);
        } else if time > self.time {
            *self = Latest { time, of, of_others: self.time };
        } else {
            self.of_others = self.of_others.max(time);
        }
    }

    /// The latest time of anything but this; `i64::MIN` if there is nothing else.
    fn without(&self, of: T) -> i64 {
        if of == self.of { self.of_others } else { self.time }
    }
}

impl LastWords {
    pub(super) fn of<'a>(flows: impl Iterator<Item = &'a Flow>) -> LastWords {
        let mut all = LastWords::default();
        for flow in flows {
            let (src, dst, qp, time) =
                (flow.key.source(), flow.key.destination(), flow.key.dest_qp(), flow.last_time);
            let pair = Latest { time, of: qp, of_others: i64::MIN };
            all.pairs.entry((src, dst)).and_modify(|latest| latest.add(qp, time)).or_insert(pair);
            let host = Latest { time, of: dst, of_others: i64::MIN };
            all.hosts.entry(src).and_modify(|latest| latest.add(dst, time)).or_insert(host);
        }
        all
    }

    /// Whom the peer of a requester still sent to after a time.
    fn after(&self, since: i64, of: &Ending<'_>, peer: Address) -> Option<StillSends> {
        let (us, back) = (of.flow.key.source(), of.back);
        if back.is_some_and(|back| back.last_time > since) {
            return Some(StillSends::SameConnection);
        }
        let own = back.map_or(u32::MAX, |back| back.key.dest_qp());
        let to_us = self.pairs.get(&(peer, us)).map_or(i64::MIN, |latest| latest.without(own));
        let to_others = self.hosts.get(&peer).map_or(i64::MIN, |latest| latest.without(us));
        let other = of.beside.other_traffic.last_of(peer).unwrap_or(i64::MIN);
        match () {
            () if to_us > since => Some(StillSends::SameHost),
            () if to_others > since => Some(StillSends::OtherHosts),
            () if other > since => Some(StillSends::OtherTraffic),
            () => (to_us.max(to_others).max(other) > i64::MIN).then_some(StillSends::Nobody),
        }
    }
}

/// What the capture knows beside its flows.
#[derive(Clone, Copy)]
pub(super) struct Beside<'a> {
    connections: &'a Connections,
    other_traffic: &'a OtherTraffic,
    /// The time of the last frame.
    last: i64,
}

impl<'a> Beside<'a> {
    pub(super) fn of(tracker: &'a Tracker) -> Beside<'a> {
        let (connections, other_traffic) = (&tracker.connections, &tracker.network.other_traffic);
        Beside { connections, other_traffic, last: tracker.capture.last }
    }
}

/// What the capture shows of a flow's requester and its connection at the end.
pub(super) struct Ending<'a> {
    pub(super) beside: Beside<'a>,
    pub(super) flow: &'a Flow,
    pub(super) back: Option<&'a Flow>,
}

impl Ending<'_> {
    /// Whether and how the requester gave up.
    pub(super) fn stopped(&self) -> Option<Stopped> {
        let requests = &self.flow.requests;
        // Most never had to try twice.
        let (until, is_closed) = requests.has_tried().then(|| self.until())?;
        requests.stopped(until, is_closed, self.retry_counts().map(|[count, _]| count))
    }

    /// Its retry counts, where the connection manager says them.
    pub(super) fn retry_counts(&self) -> Option<[u8; 2]> {
        self.beside.connections.retry_counts(&self.flow.key)
    }

    /// The end of the capture, or of the connection, and whether it is that.
    fn until(&self) -> (i64, bool) {
        let end = (self.beside.last, false);
        self.managed().1.map_or(end, |closed| (closed, true).min(end))
    }

    /// How the requester gave up. `last_words`: of all flows; they are made for the first flow that gave up.
    pub(super) fn gave_up<'w>(&self, last_words: impl FnOnce() -> &'w LastWords) -> Option<GaveUp> {
        let Stopped { by, x, tries, first, since, last, apart, is_answered } = self.stopped()?;
        let requests = &self.flow.requests;
        let (us, peer) = (self.flow.key.source(), self.flow.key.destination());
        let [shortest_ns, longest_ns] = [0, 1].map(|at| apart.map(|apart: [u64; 2]| apart[at]));
        Some(GaveUp {
            by,
            psn: (x & 0xff_ffff) as u32,
            tries,
            first_ns: first,
            last_ns: last,
            shortest_ns,
            longest_ns,
            silent_ns: self.until().0.saturating_sub(last).max(0) as u64,
            answered_ns: (requests.una > 0).then_some(requests.last_progress),
            is_answered,
            peer_sends: last_words().after(since, self, peer),
            unreachables: self.beside.other_traffic.unreachable(us, peer),
            messages: requests.unacknowledged(),
        })
    }

    /// The state of the connection, and since when.
    pub(super) fn state(&self, other: &Ending<'_>) -> (ConnectionState, Option<i64>) {
        let both = [self, other];
        let refused = both.iter().filter_map(|end| end.flow.requests.refused_at()).min();
        if let Some(refused) = refused {
            return (ConnectionState::Refused, Some(refused));
        }
        if let Some(stopped) = both.iter().filter_map(|end| end.stopped()).min_by_key(|stopped| stopped.last)
        {
            return (ConnectionState::GaveUp, Some(stopped.last));
        }
        let is_closed = both.iter().any(|end| end.flow.completeness & DREQ != 0);
        if let Some(closed) = self.managed().1.filter(|_| is_closed) {
            return (ConnectionState::Closed, Some(closed));
        }
        let silent = both.iter().filter(|end| end.flow.requests.waits_in_vain(self.beside.last));
        if let Some(since) = silent.map(|end| end.flow.requests.last_progress).min() {
            return (ConnectionState::Silent, Some(since));
        }
        (ConnectionState::Running, Some(self.flow.first_time.min(other.flow.first_time)))
    }

    /// Nanoseconds that the connection manager took to set the connection up; and when one end asked to end it.
    pub(super) fn managed(&self) -> (Option<u64>, Option<i64>) {
        let back = self.back.map_or_else(|| self.flow.key.reverse(0), |back| back.key);
        let (known, closed) = self.beside.connections.managed(&self.flow.key, &back);
        (known.and_then(|known| known.set_up_ns()), closed)
    }
}
