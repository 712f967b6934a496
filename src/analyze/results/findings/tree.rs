//! Rules about pauses of several links.

use super::capture::{Evidence, Seen};
use crate::report::{
    PauseCulprit, PauseTree,
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
        if culprit.indirect.is_empty() || culprit.is_in_deadlock {
            continue;
        }
        let sure = match culprit.is_host {
            Some(true) => ", a host",
            _ if culprit.confidence == crate::report::Confidence::Possible => {
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
        say(Seen::of_pauses(culprit.caused_ns, culprit.caused_pauses, text, culprit.frame));
    }
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
        say(Seen::of_pauses(cycle.all_paused_ns, cycle.times, text, 0));
    }
}

pub(super) fn host_storms(evidence: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    for storm in tree(evidence).flat_map(|tree| &tree.host_storms) {
        let time = between(storm.start_ns, storm.end_ns);
        let text = format!(
            "{} kept {} of its link paused for {} of {}, and nothing to it was marked: {}",
            storm.host,
            units::priority(storm.priority),
            percent(storm.duty_ratio),
            duration(time),
            match storm.confidence {
                crate::report::Confidence::Possible =>
                    "the host may be the bottleneck, not the network; but no packet to it was ECN-capable",
                _ => "the host is the bottleneck, not the network",
            }
        );
        say(Seen::of_pauses(time, 1, text, storm.frame));
    }
}
