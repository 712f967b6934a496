//! Findings about the same flows of which one comes of the other: time that was lost with losses, timeouts of packets that were lost.

use std::collections::HashSet;

use super::{
    flow::{episodes, is_corrupt, is_downstream, is_timeout, is_upstream},
    kin::{Ranked, Thing},
};
use crate::{
    analyze::{results::lists::Index, track::request::Episode},
    report::{Finding, TimeCause},
};

/// What the findings of one kind may come of, the first cause first; and what must hold of each of its flows.
type Causes = &'static [(&'static str, fn(usize, &Index<'_>) -> bool)];

const OF_RECOVERY: Causes = &[
    ("retries.exhausted", always),
    ("peer.silent", always),
    ("loss.downstream", always),
    ("loss.upstream", always),
    ("loss.unknown", always),
    ("corrupt", always),
    ("reorder.nak", always),
    ("timeout", always),
];
const OF_NOT_READY: Causes = &[("rnr.exhausted", always), ("rnr", always)];
const OF_TIMEOUTS: Causes = &[
    ("retries.exhausted", are_last_tries),
    ("loss.downstream", |at, index| are_timeouts_of(is_downstream, at, index)),
    ("loss.upstream", |at, index| are_timeouts_of(is_upstream, at, index)),
    ("corrupt", |at, index| are_timeouts_of(is_corrupt, at, index)),
];
const OF_NEEDLESS: Causes = &[("timeout", goes_back_after_timeouts)];

fn causes_of<W>(one: &Ranked<W>) -> Causes {
    let lost_to = |cause| one.kin.is.contains(&Thing::Time(cause));
    match &*one.finding.id {
        "slow" if lost_to(TimeCause::Recovering) => OF_RECOVERY,
        "slow" if lost_to(TimeCause::NotReady) => OF_NOT_READY,
        "timeout" => OF_TIMEOUTS,
        "retransmit.spurious" => OF_NEEDLESS,
        _ => &[],
    }
}

fn always(_: usize, _: &Index<'_>) -> bool {
    true
}

/// Whether each timeout of a flow was of packets that were lost at this place.
fn are_timeouts_of(is_there: fn(&Episode) -> bool, at: usize, index: &Index<'_>) -> bool {
    let counts = index.report(at);
    counts.episodes_not_listed == 0 && episodes(at, index, is_timeout).into_iter().all(is_there)
}

/// Whether a flow had no timeouts but those after which it gave up.
fn are_last_tries(at: usize, index: &Index<'_>) -> bool {
    let counts = index.report(at);
    counts.gave_up.is_some_and(|gave_up| counts.requests.triggers.timeout < u64::from(gave_up.tries))
}

/// Whether nothing but timeouts made a flow retransmit.
fn goes_back_after_timeouts(at: usize, index: &Index<'_>) -> bool {
    let triggers = &index.report(at).requests.triggers;
    triggers.timeout > 0 && triggers.nak + triggers.implied_nak + triggers.rnr + triggers.unknown == 0
}

/// Says of findings which others they come of: those that have all of their flows.
pub(super) fn relate<W>(all: &mut [Ranked<W>], index: &Index<'_>) {
    let is_listed =
        |finding: &Finding| finding.flow_count > 0 && finding.flow_count == finding.flows.len() as u64;
    let flows =
        |finding: &Finding| finding.flows.iter().map(|affected| affected.flow).collect::<HashSet<_>>();
    for at in 0..all.len() {
        let causes = causes_of(&all[at]);
        if causes.is_empty() || !is_listed(&all[at].finding) {
            continue;
        }
        let mine = flows(&all[at].finding);
        let has_all = |other: &Ranked<W>| is_listed(&other.finding) && mine.is_subset(&flows(&other.finding));
        let cause = causes.iter().find_map(|(id, holds)| {
            let other = all.iter().position(|other| other.finding.id == *id && has_all(other))?;
            mine.iter().all(|&flow| holds(flow, index)).then_some(other)
        });
        if let Some(cause) = cause {
            all[cause].kin.is.push(Thing::Found(cause));
            all[at].kin.of.push(Thing::Found(cause));
        }
    }
}
