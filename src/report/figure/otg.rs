//! Figures under the names of Open Traffic Generator's results for RoCEv2 flows, which acceptance tests are written with.
//!
//! A traffic generator counts at both ends. A tap sees what passes it: what was lost before or after it is a bound.

use super::{
    losses::lost,
    value::{Range, Value},
};
use crate::report::{Flow, Naks, Reason, View};

/// Why one-way latency is not known.
pub(super) const NO_LATENCY: &str = "One tap shows round trips, not one-way latency: ack_rtt.p99 may serve.";

/// Pause frames about a priority. A capture that has no pause frames often could not have any.
pub(super) fn pfc<const PRIORITY: u8>(report: &View<'_>) -> Value<'static> {
    let Some(pauses) = &report.head.pause else {
        let why = report.head.why.get("pause").copied().unwrap_or(Reason::NoPfcVisibility);
        return Value::unknown(why.meaning());
    };
    let of_priority = pauses.iter().filter(|pause| pause.priority == Some(PRIORITY));
    Value::exact(of_priority.map(|pause| pause.frames).sum())
}

/// Requests lost before the tap, and after it. A wrong ICRC at the tap is a loss after it.
fn losses(flow: &Flow) -> [Range; 2] {
    let range = |value: Value<'_>| value.range().unwrap_or(Range::exact(0.0));
    let downstream = range(lost(&flow.requests, "losses.downstream", |at| at.downstream));
    let corrupt = range(lost(&flow.requests, "losses.corrupt", |at| at.corrupt));
    let trimmed = range(lost(&flow.requests, "losses.trimmed", |at| at.trimmed));
    [range(lost(&flow.requests, "losses.upstream", |at| at.upstream)), downstream.plus(corrupt).plus(trimmed)]
}

fn at_tap(flow: &Flow) -> Range {
    Range::exact(flow.requests.packets.saturating_sub(flow.requests.capture_duplicates) as f64)
}

fn minus(all: Range, less: Range) -> Range {
    Range {
        least: (all.least - less.most).max(0.0),
        most: (all.most - less.least).max(0.0),
        why: all.why.or(less.why),
    }
}

pub(super) fn sent(flow: &Flow) -> Value<'static> {
    Value::Number(at_tap(flow).plus(losses(flow)[0]))
}

pub(super) fn received(flow: &Flow) -> Value<'static> {
    Value::Number(minus(at_tap(flow), losses(flow)[1]))
}

pub(super) fn delta(flow: &Flow) -> Value<'static> {
    let [upstream, downstream] = losses(flow);
    Value::Number(upstream.plus(downstream))
}

/// What the receiver answered: what the tap saw of it, and what was lost before the tap.
pub(super) fn answers_sent(peer: Option<&Flow>, count: fn(&Flow) -> u64) -> Value<'static> {
    answers(peer, |peer| {
        let upstream = lost(&peer.responses, "losses.upstream", |at| at.upstream).range();
        let seen = Range::exact(count(peer) as f64);
        upstream.map_or(seen, |upstream| Range { least: seen.least, ..seen.plus(upstream) })
    })
}

/// What reached the sender of what the receiver answered.
pub(super) fn answers_received(peer: Option<&Flow>, count: fn(&Flow) -> u64) -> Value<'static> {
    answers(peer, |peer| {
        let downstream = lost(&peer.responses, "losses.downstream", |at| at.downstream).range();
        let seen = Range::exact(count(peer) as f64);
        // Which of its answers were lost, the report does not say.
        downstream.map_or(seen, |lost| Range { most: seen.most, ..minus(seen, lost) })
    })
}

fn answers(peer: Option<&Flow>, count: impl FnOnce(&Flow) -> Range) -> Value<'static> {
    peer.map_or(Value::unknown(Reason::Unpaired.meaning()), |peer| Value::Number(count(peer)))
}

pub(super) fn naks(peer: Option<&Flow>, count: fn(&Naks) -> u64) -> Value<'static> {
    let seen = answers(peer, |peer| Range::exact(count(&peer.naks) as f64)).range();
    // As many may be missing as acknowledgements were lost before the tap.
    let most = answers_sent(peer, |_| 0).range();
    match (seen, most) {
        (Some(seen), Some(more)) => Value::Number(seen.plus(more)),
        _ => Value::Absent,
    }
}

pub(super) fn cnps(peer: Option<&Flow>) -> Value<'static> {
    answers(peer, |peer| Range::exact(peer.cnps as f64))
}

pub(super) fn sequence_error_percent(flow: &Flow, peer: Option<&Flow>) -> Value<'static> {
    let errors = naks(peer, |naks| naks.psn_sequence_error).range();
    match (errors, received(flow).range()) {
        (Some(errors), Some(frames)) if frames.most > 0.0 => Value::Number(Range {
            least: errors.least / frames.most * 100.0,
            most: if frames.least > 0.0 { errors.most / frames.least * 100.0 } else { f64::INFINITY },
            why: errors.why.or(frames.why),
        }),
        _ => Value::Absent,
    }
}

pub(super) fn messages_sent(flow: &Flow) -> Value<'static> {
    let messages = &flow.messages;
    Value::between(messages.completed + messages.open, messages.completed + messages.open + messages.broken)
}

/// Messages that failed: those that were refused, at most all that were not acknowledged.
pub(super) fn messages_failed(flow: &Flow, peer: Option<&Flow>) -> Value<'static> {
    let Some(peer) = peer else { return Value::unknown(Reason::Unpaired.meaning()) };
    let messages = &flow.messages;
    let refused = peer.naks.fatal();
    let answered = flow.latency_ns.message_completion.map_or(0, |summary| summary.count);
    let unanswered = messages.completed.saturating_sub(answered) + messages.open + messages.broken;
    Value::between(refused, unanswered.max(refused))
}

pub(super) fn messages_received(flow: &Flow, peer: Option<&Flow>) -> Value<'static> {
    match (messages_sent(flow).range(), messages_failed(flow, peer).range()) {
        (Some(sent), Some(failed)) => Value::Number(minus(sent, failed)),
        _ => Value::Absent,
    }
}

pub(super) fn gbps(flow: &Flow) -> Value<'static> {
    match flow.last_ns - flow.first_ns {
        ..=0 => Value::Absent,
        ns => Value::Number(Range::exact(flow.payload_bytes as f64 * 8.0 / ns as f64)),
    }
}
