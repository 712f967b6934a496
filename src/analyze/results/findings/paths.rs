//! Rules about paths: of sprayed and multipath flows, between taps, and of flows that share one.

use std::collections::{BTreeMap, HashSet};

use super::evidence::{Evidence, MAX_SLOW, Seen};
use crate::{
    analyze::{metric::paths::planes, results::lists::LateBehind},
    in_order::InOrder,
    report::{
        Affected, FlowPath, PathState,
        units::{count, duration, percent, several},
    },
};

/// Packets that were in order at one tap, and not at a later one, where the receiver took them for lost.
pub(super) fn late_between_taps(&Evidence { sums, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let refused = sums.late_behind.iter().filter(|(_, late)| !late.needless.is_empty());
    let refused: Vec<_> = refused.collect();
    let sum = |of: fn(&LateBehind) -> u64| refused.iter().map(|(_, late)| of(late)).sum::<u64>();
    let [late, naks, again] =
        [sum(|late| late.packets), sum(|late| late.needless.len() as u64), sum(|late| late.resent)];
    if naks == 0 {
        return;
    }
    let extent = refused.iter().map(|(_, late)| late.extent).max().unwrap_or(0);
    let text = format!(
        "{} of {} came out of order between two taps, by up to {}; {} triggered a NAK: {} retransmitted although nothing was lost",
        several(late, "packet"),
        several(refused.len() as u64, "flow"),
        several(extent.into(), "packet"),
        count(naks),
        several(again, "packet")
    );
    let affected = |(flow, late): &&(usize, LateBehind)| {
        let n = late.needless.len() as u64;
        Affected { flow: *flow, count: [n, n], time_lost_ns: None, loss_episodes: None }
    };
    let flows = (refused.iter().map(affected).take(MAX_SLOW).collect(), refused.len() as u64);
    let frames = refused.first().map_or_else(Vec::new, |(_, late)| late.frames.clone());
    say(Seen { flows, frames, ..Seen::new(naks, text) });
}

pub(super) fn port_collisions(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    if let Some(n) = head.ports.as_ref().map(|ports| ports.collisions).filter(|&n| n > 0) {
        let groups = several(n, "group");
        let share = if n == 1 { "shares" } else { "share" };
        let text = format!(
            "{groups} of queue pairs between the same hosts {share} a source port: they take one path"
        );
        say(Seen::new(n, text));
    }
}

/// Paths that stand out: a finding for each, with all flows that it is bad for.
pub(super) fn bad(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let planes = planes(&head.paths);
    for &(plane, state) in &planes {
        let on_it = head.paths.iter().filter(|path| path.interface == Some(plane));
        let name = on_it.clone().find_map(|path| path.link.as_deref()).unwrap_or_default();
        let (packets, what) = trouble(state, on_it.clone(), &head.paths);
        say(Seen::new(
            packets,
            format!("the plane of interface {name}, with {}, {what}", several(on_it.count() as u64, "path")),
        ));
    }
    let is_told = |path: &&FlowPath| {
        planes.iter().any(|&(plane, state)| path.interface == Some(plane) && path.state == state)
    };
    let mut bad: Vec<&FlowPath> = head
        .paths
        .iter()
        .filter(|path| !matches!(path.state, PathState::Good | PathState::Skipped))
        .filter(|path| !is_told(path))
        .collect();
    let key = |path: &FlowPath| (path.state, path.segments.clone(), path.flow_label, path.udp_src_port);
    bad.sort_by_cached_key(|path| key(path));
    let (alone, shared): (Vec<_>, Vec<_>) =
        bad.chunk_by(|a, b| key(a) == key(b)).flat_map(by_direction).partition(|paths| paths.len() == 1);
    let mut of_flows: BTreeMap<_, Vec<&FlowPath>> = BTreeMap::new();
    for path in alone.into_iter().flatten() {
        of_flows.entry((path.flow_key(), path.state)).or_default().push(path);
    }
    // Several paths of one flow that are bad in one way have a cause in common.
    let (several_of, few_of): (Vec<_>, Vec<_>) =
        of_flows.into_values().partition(|paths| paths.len() >= SEVERAL);
    for paths in &several_of {
        let Some(first) = paths.first() else { continue };
        let all = head.paths.iter().filter(|path| first.is_of_the_flow_of(path));
        let (packets, what) = trouble_of_several(first.state, paths, all);
        let (n, all) = (count(paths.len() as u64), several(first.paths, "path"));
        say(Seen::new(
            packets,
            format!("{n} of the {all} of {} {what}: {}", first.flow_name(), names(paths)),
        ));
    }
    for paths in shared.into_iter().chain(few_of.into_iter().flatten().map(|path| vec![path])) {
        let Some(first) = paths.first() else { continue };
        let is_same = |path: &&FlowPath| paths.iter().any(|bad| bad.is_of_the_flow_of(path));
        let of_flows = head.paths.iter().filter(is_same);
        let (packets, what) = trouble(first.state, paths.iter().copied(), of_flows);
        let of = match &paths[..] {
            [one] => format!("{}, which has {}", one.flow_name(), several(one.paths, "path")),
            _ => several(paths.len() as u64, "flow"),
        };
        let text = format!("the path with {} {what}; of {of}", first.name());
        say(Seen::new(packets, text));
    }
}

/// So many paths of one flow are told in one finding.
const SEVERAL: usize = 3;

/// The first few of these paths.
fn names(paths: &[&FlowPath]) -> String {
    const FEW: usize = 8;
    let mut text = paths.iter().take(FEW).map(|path| path.name()).collect::<Vec<_>>().join(", ");
    if paths.len() > FEW {
        text += &format!(" and {} more", paths.len() - FEW);
    }
    text
}

/// What is wrong with several paths of a flow, which are bad in this way, and their packets. `all`: all of its paths.
fn trouble_of_several<'a>(
    state: PathState,
    paths: &[&FlowPath],
    all: impl Iterator<Item = &'a FlowPath>,
) -> (u64, String) {
    let sum = |of: fn(&FlowPath) -> u64| paths.iter().map(|path| of(path)).sum::<u64>();
    let (packets, lost) = (sum(|p| p.packets), sum(|p| p.lost));
    let of_packets = |n: u64| format!("{} of {}", count(n), several(packets, "packet"));
    let what = match state {
        PathState::Dead | PathState::Lossy => {
            let is = if state == PathState::Dead { "are dead" } else { "lose" };
            format!("{is}, {} of {} lost packets are on them", count(lost), count(lost_in_all(all)))
        }
        PathState::Trimming => format!("trim, {} came trimmed", of_packets(sum(|p| p.trimmed))),
        PathState::Congested => format!("are congested, {} came marked", of_packets(sum(|p| p.marked))),
        PathState::Slow => {
            let transit = paths.iter().filter_map(|path| path.transit_mean_ns);
            let answers = paths.iter().filter_map(|path| path.ack_rtt_mean_ns);
            match (mean(transit), mean(answers)) {
                (0, 0) => format!("are slow, {} were overtaken", of_packets(sum(|p| p.late))),
                (0, rtt) => {
                    format!("are slow, SACKs for their packets come after {} on average", duration(rtt))
                }
                (transit, _) => format!("are slow, their packets take {} from tap to tap", duration(transit)),
            }
        }
        state => format!("are {}", state.words()),
    };
    (packets, what)
}

/// Paths that have a port in common: the two directions between hosts are two paths.
fn by_direction<'a>(paths: &[&'a FlowPath]) -> impl Iterator<Item = Vec<&'a FlowPath>> + use<'a> {
    let ends: HashSet<_> = paths.iter().map(|path| (&path.src, &path.dst)).collect();
    let are_both = ends.iter().any(|&(src, dst)| ends.contains(&(dst, src)));
    let (one, other) = paths.iter().partition::<Vec<_>, _>(|path| !are_both || path.src < path.dst);
    [one, other].into_iter().filter(|paths| !paths.is_empty())
}

/// What is wrong with these paths, which are bad in this way, and their packets. `all`: paths of which they are some.
fn trouble<'a>(
    state: PathState,
    paths: impl Iterator<Item = &'a FlowPath> + Clone,
    all: impl IntoIterator<Item = &'a FlowPath> + Clone,
) -> (u64, String) {
    let sum = |of: fn(&FlowPath) -> u64| paths.clone().map(of).sum::<u64>();
    let (packets, lost) = (sum(|p| p.packets), sum(|p| p.lost));
    let all_lost = lost_in_all(all.clone());
    let what = match state {
        // What is lost before the tap is on no path that it could know; and its sender may have left it.
        PathState::Dead if lost == 0 => {
            format!("carries nothing any more, after {}", several(packets, "packet"))
        }
        PathState::Dead => format!(
            "is dead: {} of {all_lost} lost packets are on it, after {}",
            count(lost),
            several(packets, "packet")
        ),
        // Before the tap, on paths that it could not know.
        PathState::Lossy if lost == 0 => {
            let good = all.clone().into_iter().filter(|path| path.state == PathState::Good);
            let (others, carried) = good.fold((0, 0), |(n, sum), path| (n + 1, sum + path.packets));
            format!(
                "loses: it carried {}, the others {} each, and as many as are missing were lost before the tap",
                several(packets / paths.clone().count().max(1) as u64, "packet"),
                count(carried / u64::max(others, 1))
            )
        }
        PathState::Lossy => format!(
            "loses: {} of {all_lost} lost packets are on it, of {} that it carried",
            count(lost),
            count(packets)
        ),
        PathState::Trimming => {
            format!("trims: {} of {} came trimmed", count(sum(|p| p.trimmed)), several(packets, "packet"))
        }
        PathState::Slow if paths.clone().any(|path| path.transit_mean_ns.is_some()) => format!(
            "is slow: its packets take {} from tap to tap{}",
            duration(mean(paths.clone().filter_map(|path| path.transit_mean_ns))),
            later(mean(paths.clone().filter_map(|path| path.late_mean_ns)))
        ),
        PathState::Slow if sum(|p| p.late) == 0 => format!(
            "is slow: SACKs for its packets come after {} on average",
            duration(paths.clone().next().and_then(|path| path.ack_rtt_mean_ns).unwrap_or(0))
        ),
        PathState::Slow => format!(
            "is slow: {} of {} were overtaken{}",
            count(sum(|p| p.late)),
            several(packets, "packet"),
            later(mean(paths.clone().filter_map(|path| path.late_mean_ns)))
        ),
        PathState::Repeated => format!(
            "loses or delays: {} of {} that it carried were retransmitted; no answers tell whether they were lost or late",
            count(lost),
            several(packets, "packet")
        ),
        PathState::Congested => {
            format!(
                "is congested: {} of {} came marked",
                count(sum(|p| p.marked)),
                several(packets, "packet")
            )
        }
        state => format!("is {}", state.words()),
    };
    (packets, what)
}

/// What was lost on these paths, and of their flows on none that is known: each path has that of its flow.
fn lost_in_all<'a>(all: impl IntoIterator<Item = &'a FlowPath>) -> u64 {
    let (mut lost, mut unattributed) = (0, BTreeMap::new());
    for path in all {
        lost += path.lost;
        unattributed.insert(path.flow_key(), path.lost_unattributed);
    }
    lost + unattributed.values().sum::<u64>()
}

fn mean(values: impl Iterator<Item = u64>) -> u64 {
    let (n, sum) = values.fold((0, 0_u64), |(n, sum), one| (n + 1, sum.saturating_add(one)));
    sum / u64::max(n, 1)
}

fn later(ns: u64) -> String {
    if ns > 0 { format!(", {} later than the others on average", duration(ns)) } else { String::new() }
}

pub(super) fn skipped(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let skipped: Vec<&FlowPath> = head.paths.iter().filter(|path| path.state == PathState::Skipped).collect();
    if let Some(first) = skipped.first() {
        let n = skipped.len() as u64;
        let text = format!(
            "receivers asked not to use {} any more; the first has {}, of {}",
            several(n, "path"),
            first.name(),
            first.flow_name()
        );
        say(Seen::new(n, text));
    }
}

pub(super) fn uneven(&Evidence { head, .. }: &Evidence<'_>, say: &mut dyn FnMut(Seen)) {
    let mut uneven: Vec<&FlowPath> = head.paths.iter().filter(|path| path.is_uneven).collect();
    uneven.order_by(|a, b| a.flow_key().cmp(&b.flow_key()));
    for paths in uneven.chunk_by(|a, b| a.is_of_the_flow_of(b)) {
        let most = paths.iter().max_by_key(|path| path.packets);
        let least = paths.iter().min_by_key(|path| path.packets);
        if let (Some(most), Some(least)) = (most, least) {
            let text = format!(
                "{} spreads unevenly over {}: {} on {}, {} on {}",
                most.flow_name(),
                several(most.paths, "path"),
                percent(most.share),
                most.name(),
                percent(least.share),
                least.name()
            );
            say(Seen::new(paths.iter().map(|path| path.packets).sum(), text));
        }
    }
}
