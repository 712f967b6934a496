//! Rules about pauses of several links.

use super::{
    evidence::{Evidence, Seen},
    kin::Thing,
};
use crate::report::{
    Confidence, PauseCulprit, PauseTree,
    units::{self, count, duration, percent, several},
};

/// Cycles that held for a shorter time are no finding: 100 µs.
const MIN_DEADLOCK_NS: u64 = 100_000;
/// Devices that are named.
const MAX_NAMED: usize = 6;

fn tree<'a>(evidence: &Evidence<'a>) -> impl Iterator<Item = &'a PauseTree> {
    evidence.head.pause_tree.iter()
}

fn at(priority: Option<u8>) -> String {
    format!("of {}", units::priority(priority))
}

fn names(all: &[String]) -> String {
    let more = all.len().saturating_sub(MAX_NAMED);
    let mut text = all.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text += &format!(" and {more} more");
    }
    text
}

/// The flows that were stopped longest.
fn flows(culprit: &PauseCulprit) -> String {
    let named =
        culprit.flows.iter().take(MAX_NAMED).map(|flow| format!("#{}", flow.flow)).collect::<Vec<_>>();
    match named.len() as u64 {
        0 => String::new(),
        n if n < culprit.flow_count => {
            format!("; flows {} and {} more", named.join(", "), count(culprit.flow_count - n))
        }
        _ => format!("; flows {}", named.join(", ")),
    }
}

fn between(start: i64, end: i64) -> u64 {
    end.saturating_sub(start).max(0) as u64
}

pub(super) fn culprits(evidence: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    for culprit in tree(evidence).flat_map(|tree| &tree.culprits) {
        // Without indirect victims it is a pause like any other; in a cycle, the cycle is the finding.
        if culprit.indirect.is_empty() || culprit.is_in_deadlock || is_small(culprit, evidence) {
            continue;
        }
        let sure = match culprit.is_host {
            Some(true) => ", a host",
            _ if culprit.confidence == Confidence::Possible => {
                ", which may have been paused itself on a link that the capture does not have"
            }
            _ => ", which was not paused itself",
        };
        let text = format!(
            "{}{sure}: its pauses {} stopped {} for {}, and indirectly {} for {} in {}; the longest chain: {}",
            culprit.device,
            at(culprit.priority),
            names(&culprit.direct),
            duration(culprit.paused_ns),
            names(&culprit.indirect),
            duration(culprit.caused_ns),
            several(culprit.caused_pauses, "pause"),
            culprit.chain.join(" → "),
        ) + &flows(culprit);
        let [_, host, own] = Thing::begun_at(&culprit.device, culprit.priority);
        let seen = Seen::of_pauses(culprit.caused_ns, culprit.caused_pauses, text, culprit.frame);
        say(seen.kin([own], [host]));
    }
}

/// Whether a device caused next to nothing beside another one: its own pauses began a little before those that reached it.
fn is_small(culprit: &PauseCulprit, evidence: &Evidence<'_>) -> bool {
    const SMALL: u64 = 100;
    let all = tree(evidence).flat_map(|tree| &tree.culprits);
    let most = all.filter(|other| other.priority == culprit.priority).map(|other| other.caused_ns).max();
    culprit.caused_ns.saturating_mul(SMALL) < most.unwrap_or(0)
}

pub(super) fn deadlocks(evidence: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    for cycle in tree(evidence).flat_map(|tree| &tree.deadlocks) {
        if cycle.longest_ns < MIN_DEADLOCK_NS {
            continue;
        }
        let first = cycle.devices.first().map_or("", String::as_str);
        let text = format!(
            "cyclic PFC dependency {} → {first}: all were paused at once, {}, for {}{}; {} paused first (a deadlock: {})",
            cycle.devices.join(" → "),
            at(cycle.priority),
            duration(cycle.longest_ns),
            match cycle.times {
                1 => String::new(),
                n => format!(" at most, and {} in {}", duration(cycle.all_paused_ns), several(n, "time")),
            },
            cycle.began_by,
            cycle.confidence.name(),
        );
        let is = cycle.devices.iter().map(|device| Thing::Cycle(device.clone(), cycle.priority));
        say(Seen::of_pauses(cycle.all_paused_ns, cycle.times, text, 0).kin(is, []));
    }
}

pub(super) fn host_storms(evidence: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    for storm in tree(evidence).flat_map(|tree| &tree.host_storms) {
        let time = between(storm.start_ns, storm.end_ns);
        let text = format!(
            "{} kept {} of its link paused for {} of {}, and {}",
            storm.host,
            units::priority(storm.priority),
            percent(storm.duty_ratio),
            duration(time),
            match storm.confidence {
                _ if storm.is_sent_to == Some(false) =>
                    "the capture has no packet to it, so that a mark would not be seen: the host may be the bottleneck, or the network",
                Confidence::Possible =>
                    "nothing to it was marked: the host may be the bottleneck, not the network; but no packet to it was ECN-capable",
                _ => "nothing to it was marked: the host is the bottleneck, not the network",
            }
        );
        let [cycle, host, _] = Thing::begun_at(&storm.host, storm.priority);
        say(Seen::of_pauses(time, 1, text, storm.frame).kin([host], [cycle]));
    }
}
