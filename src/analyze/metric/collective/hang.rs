//! Requests that never end.

use std::collections::BTreeMap;

use super::{
    cut::{TIMEOUT_NS, Timed, ns},
    ends::addresses,
    waits::{Blame, Waits},
};
use crate::report::CollectiveCause;

/// A request hangs if it is silent so many times longer than the longest complete one took, and so long at least.
const HUNG: i64 = 3;
const HUNG_NS: i64 = 1_000_000;

impl Waits<'_> {
    /// A request that never ended, after a silence that is much longer than any request took, or in which it was only sent again.
    pub(super) fn hung(&self) -> Option<Blame> {
        let activity = |one: &Timed| one.last.or(one.cts).unwrap_or(one.begin);
        let last = self.members.iter().map(|&at| activity(&self.timed[at])).max()?;
        let first = self.members.iter().map(|&at| self.timed[at].begin).min()?;
        let is_open = |one: &Timed| one.shows_data && !one.is_complete;
        let open = self.members.iter().copied().filter(|&at| is_open(&self.timed[at]));
        let mut began: BTreeMap<usize, usize> = BTreeMap::new();
        for one in self.members.iter().map(|&at| &self.timed[at]) {
            let first = began.entry(one.connection).or_insert(one.request);
            *first = (*first).min(one.request);
        }
        // One that was begun; else the one whose data usually begins first; else the earliest step: elements come long before their data.
        let step = |one: &Timed| one.request - began.get(&one.connection).copied().unwrap_or(0);
        let usually = |one: &Timed| self.usual.begins.get(&(one.connection, step(one))).copied();
        let at = open.min_by_key(|&at| {
            let one = &self.timed[at];
            (
                !self.is_resent_at_the_end(at),
                one.first.is_none(),
                usually(one).unwrap_or(i64::MAX),
                step(one),
                activity(one),
            )
        })?;
        // What is open goes on until the capture ends.
        let until = self.timed[at].end;
        let silent = until.saturating_sub(last);
        // From the element on, though its time may count from later: those of the next operation may be there long before it begins.
        let took = |one: &Timed| one.end.saturating_sub(one.cts.unwrap_or(one.begin));
        let longest = self.timed.iter().filter(|one| one.is_complete).map(took).max();
        if silent < HUNG_NS
            || !self.is_resent_at_the_end(at)
                && silent < longest.map_or(last.saturating_sub(first), |longest| longest.saturating_mul(HUNG))
        {
            return None;
        }
        let of = self.all.connections.get(self.timed[at].connection)?;
        let (sender, receiver) = addresses(self.all, of)?;
        let (cause, lost) = (CollectiveCause::Hang, ns(silent));
        let (rank, peer, lost) = match self.is_silent(at) {
            // What its sender tried until then ends nothing.
            true => (receiver, None, lost.max(self.timed[at].time.receiver_silent_ns)),
            false => (sender, Some(receiver), lost),
        };
        let spans = vec![(last.min(until.saturating_sub_unsigned(lost)), until)];
        Some(Blame { at, cause, rank, peer, queue_pair: None, lost, spans })
    }

    /// Whether the receiver of a request was silent to everybody, for long, when its data was sent again.
    fn is_silent(&self, at: usize) -> bool {
        let one = &self.timed[at];
        let of = self.all.connections.get(one.connection);
        let way = of.and_then(|of| self.all.ways.get(*of.data_ways.first()? as usize));
        let (Some(of), Some(host)) = (of, way.map(|way| way.key.dst)) else { return false };
        let sent = self.all.ways.iter().filter(|way| way.key.src == host).map(|way| way.last_ns);
        let answered = self.all.ways.iter().filter(|way| way.key.dst == host).map(|way| way.answered_ns);
        let Some(last) = sent.chain(answered).max().filter(|&last| last > i64::MIN) else { return false };
        let mut chunks = of.requests.get(one.request).into_iter().flat_map(|of| self.all.chunks_of(of));
        one.time.receiver_silent_ns > 0
            && chunks.any(|chunk| chunk.again.is_some_and(|again| again.saturating_sub(last) >= TIMEOUT_NS))
    }

    /// Whether packets of a request were sent again, and were not acknowledged any more.
    fn is_resent_at_the_end(&self, at: usize) -> bool {
        let one = &self.timed[at];
        let request = self.all.connections.get(one.connection).and_then(|of| of.requests.get(one.request));
        let mut chunks = request.into_iter().flat_map(|request| self.all.chunks_of(request));
        chunks.any(|chunk| chunk.acknowledged.is_none() && chunk.again > Some(chunk.last.1))
    }
}
