//! The truth about what was played.

use super::{super::frames, *};

/// What was held back by a pause leaves so soon after it.
const AT_ONCE_NS: u64 = 5_000;

impl Play<'_> {
    pub(super) fn truth(&self) -> Truth {
        let mut truth = Truth { schema: "rdmawire.collective-truth/1", ..Truth::default() };
        let rails = self.of.rails;
        for rank in 0..self.of.ranks {
            truth.ranks.push((0..rails).map(|rail| frames::address(rank, rail).to_string()).collect());
        }
        let mut ends: Vec<(u64, u64)> = vec![(u64::MAX, 0); self.of.operations as usize];
        for (at, connection) in self.connections.iter().enumerate() {
            for (n, request) in connection.requests.iter().enumerate() {
                let span = &mut ends[self.operation_of(at, n) as usize];
                span.0 = span.0.min(request.cts.unwrap_or(u64::MAX));
                span.1 = span.1.max(self.end_of(at, request).unwrap_or(0));
            }
        }
        for (at, connection) in self.connections.iter().enumerate() {
            let edge = &connection.edge;
            let address = |rank| frames::address(rank, edge.channel % rails).to_string();
            truth.connections.push(TrueConnection {
                from: edge.from,
                to: edge.to,
                channel: edge.channel,
                sender: address(edge.from),
                receiver: address(edge.to),
                queue_pairs: connection.ways.iter().map(|&way| self.ways[way as usize].queue_pair).collect(),
            });
            let mut before = 0;
            for (n, request) in connection.requests.iter().enumerate() {
                let operation = self.operation_of(at, n);
                let begin = before.max(ends[operation as usize].0);
                truth.requests.push(self.request(at, n, request, (operation, begin)));
                // Queue pairs may end requests in another order.
                before = before.max(self.end_of(at, request).unwrap_or(self.now));
            }
        }
        let size = u128::from(self.of.size.0);
        let begun = ends.iter().take_while(|(start, _)| *start < u64::MAX);
        for (operation, &(start, end)) in begun.enumerate() {
            let of_this = truth.requests.iter().filter(|one| one.operation as usize == operation);
            let (requests, bytes) = of_this.fold((0, 0), |(n, sum), one| (n + 1, sum + one.bytes));
            let lasted = end.saturating_sub(start);
            truth.operations.push(TrueOperation {
                start_ns: self.since_1970(start.min(self.now)),
                lasted_ns: lasted,
                requests,
                bytes,
                algorithm_bps: {
                    let lasted = u128::from(lasted.max(1));
                    ((size * 8_000_000_000 + lasted / 2) / lasted) as u64
                },
                ..TrueOperation::default()
            });
        }
        truth
    }

    pub(super) fn since_1970(&self, time: u64) -> i64 {
        (self.of.begin.0 + time) as i64
    }

    /// When the end of a request was first seen at a tap.
    pub(super) fn end_of(&self, at: usize, one: &Request) -> Option<u64> {
        let is_tapped = self.of.tapped().contains(&self.connections[at].edge.to);
        one.acknowledged.and(if is_tapped { one.answered_at } else { one.acknowledged })
    }

    pub(super) fn request(
        &self,
        at: usize,
        n: usize,
        one: &Request,
        (operation, begin): (u32, u64),
    ) -> TrueRequest {
        let at_1970 = |time: Option<u64>| time.map(|time| self.since_1970(time));
        let mut row = TrueRequest {
            connection: at,
            index: n as u64 + 1,
            operation,
            bytes: if one.first.is_some() { one.bytes.into() } else { 0 },
            cts_ns: at_1970(one.cts),
            first_data_ns: at_1970(one.first),
            last_data_ns: at_1970(one.last),
            acknowledged_ns: at_1970(self.end_of(at, one)),
            ..TrueRequest::default()
        };
        let (Some(cts), Some(granted), Some(ready), Some(end)) =
            (one.cts, one.granted, one.ready, self.end_of(at, one))
        else {
            return row;
        };
        let begin = begin.min(end);
        row.lasted_ns = end - begin;
        row.receiver_late_ns = cts.clamp(begin, end) - begin;
        let asked = granted.clamp(begin, end);
        row.sender_late_ns = ready.clamp(asked, end) - asked;
        row.network_ns = row.lasted_ns - row.receiver_late_ns - row.sender_late_ns;
        let connection = &self.connections[at];
        let sends = (ready.max(granted).max(begin), one.last.unwrap_or(end).max(begin));
        let adapter = self.ways[connection.ways[0] as usize].src;
        let mut paused = within(&self.adapters[adapter as usize].pauses, sends);
        // The acknowledgement left as soon as its adapter could send.
        let back = &self.ways[self.ways[connection.ways[0] as usize].back as usize];
        let held = within(&self.adapters[back.src as usize].pauses, (sends.1, end));
        if held.last().is_some_and(|&(_, over)| end - over <= AT_ONCE_NS) {
            paused = within(&[paused, held].concat(), (begin, end));
        }
        let own = self.ways_of(at, n).into_iter();
        let recoveries: Vec<(u64, u64)> =
            own.flat_map(|way| self.ways[way as usize].recoveries.iter().copied()).collect();
        let mut recovering = within(&recoveries, (asked.max(ready).max(begin), end));
        let elements = &back.recoveries;
        recovering.extend(within(elements, (cts.clamp(begin, end), asked)));
        let recovering = within(&recovering, (begin, end));
        row.paused_ns = total(&paused);
        row.recovering_ns = total(&recovering)
            .saturating_sub(paused.iter().map(|&span| total(&within(&recovering, span))).sum());
        row
    }
}
