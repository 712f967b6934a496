//! Finds what the affected flows have in common, and other flows do not.
//!
//! Flows are grouped by destination, source, both, path, DSCP, and VLAN. A group explains the trouble if more of its flows are
//! affected than by chance. The probability of chance is the tail of a hypergeometric distribution: the affected flows are drawn
//! from all flows that could be affected.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::case::Case;
use crate::{
    analyze::{model::Address, results::lists::Index, table::flow::Flow},
    report::{self, Cause, Confidence, units::utc},
};

/// A property that flows share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Group {
    To(Address),
    From(Address),
    Between(Address, Address),
    /// Between two hosts by one UDP source port.
    Path(Address, Address, u16),
    Dscp(u8),
    Vlan(u16),
}

/// Ways to group flows; of groups that are equally unlikely, those of the first are named.
const WAYS: [fn(&Flow) -> Option<Group>; 6] = [
    |flow| Some(Group::To(flow.key.destination())),
    |flow| Some(Group::From(flow.key.source())),
    |flow| Some(Group::Between(flow.key.source(), flow.key.destination())),
    |flow| Some(Group::Path(flow.key.source(), flow.key.destination(), flow.path_tags.only_port()?)),
    |flow| Some(Group::Dscp(flow.path_tags.only_dscp()?)),
    |flow| Some(Group::Vlan(flow.path_tags.only_vlan()?)),
];

/// A group needs at least so many affected flows, and so many other flows to compare with.
const MIN_FLOWS: u64 = 3;
/// Most groups that are examined for each property: those with most affected flows.
const MAX_GROUPS: usize = 64;
/// With a higher probability of chance, a group explains nothing.
const POSSIBLE: f64 = 0.05;
/// With a lower probability, the group is the likely cause.
const LIKELY: f64 = 0.001;

/// A number of flows, and how many of them are affected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) affected: u64,
    pub(super) all: u64,
}

impl Share {
    fn without(self, other: Share) -> Share {
        Share {
            affected: self.affected.saturating_sub(other.affected),
            all: self.all.saturating_sub(other.all),
        }
    }

    fn ratio(self) -> f64 {
        self.affected as f64 / self.all.max(1) as f64
    }
}

/// A group that explains the trouble.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) group: Group,
    pub(super) inside: Share,
    pub(super) outside: Share,
    /// The logarithm of the number of groups that were examined.
    tries: f64,
}

impl Group {
    pub(super) fn holds(self, flow: &Flow) -> bool {
        let (from, to) = (flow.key.source(), flow.key.destination());
        match self {
            Group::To(dst) => dst == to,
            Group::From(src) => src == from,
            Group::Between(src, dst) => (src, dst) == (from, to),
            Group::Path(src, dst, port) => {
                (src, dst) == (from, to) && flow.path_tags.only_port() == Some(port)
            }
            Group::Dscp(dscp) => flow.path_tags.only_dscp() == Some(dscp),
            Group::Vlan(vlan) => flow.path_tags.only_vlan() == Some(vlan),
        }
    }

    /// The words after "flows": " to 10.0.0.2".
    pub(super) fn words(self) -> String {
        match self {
            Group::To(dst) => format!(" to {dst}"),
            Group::From(src) => format!(" from {src}"),
            Group::Between(src, dst) => format!(" from {src} to {dst}"),
            Group::Path(src, dst, port) => format!(" from {src} to {dst} with source port {port}"),
            Group::Dscp(dscp) => format!(" with DSCP {dscp}"),
            Group::Vlan(vlan) => format!(" in VLAN {vlan}"),
        }
    }

    /// The part of the network to suspect.
    fn suspect(self) -> String {
        match self {
            Group::To(host) | Group::From(host) => format!("the link or the NIC of {host}"),
            Group::Between(src, dst) => format!("the path from {src} to {dst}"),
            Group::Path(_, _, port) => {
                format!("one link of the path that switches choose for source port {port}")
            }
            Group::Dscp(dscp) => format!("the switch queue of DSCP {dscp}: its buffer, PFC or ECN settings"),
            Group::Vlan(vlan) => format!("the ports or the configuration of VLAN {vlan}"),
        }
    }

    /// Whether the evidence is as wide as the group: flows of one pair of hosts are no evidence for a wider group.
    fn is_as_wide_as_said<'a>(self, affected: impl Iterator<Item = &'a Flow>) -> bool {
        match self {
            Group::Between(..) | Group::Path(..) => true,
            Group::To(_) | Group::From(_) | Group::Dscp(_) | Group::Vlan(_) => {
                let hosts = |flow: &Flow| (flow.key.source(), flow.key.destination());
                let mut pairs = affected.filter(|flow| self.holds(flow)).map(hosts);
                pairs.next().is_some_and(|first| pairs.any(|pair| pair != first))
            }
        }
    }
}

impl Common {
    /// The same group, compared with flows that no other group explains.
    pub(super) fn beside(self, outside: Share) -> Common {
        Common { outside, ..self }
    }

    /// The logarithm of the probability that chance puts so many affected flows into one of the groups.
    fn ln_chance(&self) -> f64 {
        let Share { affected, all } = self.outside;
        let all = Share { affected: affected + self.inside.affected, all: all + self.inside.all };
        ln_chance(self.inside, all) + self.tries
    }

    /// Whether most flows of the group are affected, few others are, and chance is unlikely.
    fn stands_out(&self) -> bool {
        self.outside.all >= MIN_FLOWS
            && self.ln_chance() < POSSIBLE.ln()
            && 2 * self.inside.affected >= self.inside.all
            && self.outside.ratio() <= self.inside.ratio() / 2.0
    }

    fn confidence(&self) -> Confidence {
        if self.ln_chance() < LIKELY.ln() { Confidence::Likely } else { Confidence::Possible }
    }

    pub(super) fn cause(&self) -> Cause {
        let text = |address: Address| Some(address.to_string());
        let cause = match self.group {
            Group::To(dst) => Cause { dst: text(dst), ..Cause::default() },
            Group::From(src) => Cause { src: text(src), ..Cause::default() },
            Group::Between(src, dst) => Cause { src: text(src), dst: text(dst), ..Cause::default() },
            Group::Path(src, dst, port) => {
                Cause { src: text(src), dst: text(dst), udp_src_port: Some(port), ..Cause::default() }
            }
            Group::Dscp(dscp) => Cause { dscp: Some(dscp), ..Cause::default() },
            Group::Vlan(vlan) => Cause { vlan: Some(vlan), ..Cause::default() },
        };
        let of = |Share { affected, all }: Share| report::Share { affected, flows: all };
        Cause { with: of(self.inside), without: of(self.outside), confidence: self.confidence(), ..cause }
    }

    /// "likely the link or the NIC of 10.0.0.2".
    pub(super) fn suspect(&self) -> String {
        let sure = if self.confidence() == Confidence::Likely { "likely" } else { "possibly" };
        format!("{sure} {}", self.group.suspect())
    }
}

/// All flows that could be affected, by their places, and the group that best explains why these are.
pub(super) fn find(
    affected: &[Case],
    could_be: impl Iterator<Item = usize>,
    index: &Index<'_>,
) -> (Share, Option<Common>) {
    let flows = || affected.iter().map(|case| case.at as usize);
    let alike = index.alike();
    let kinds: Vec<_> = alike.counted(flows()).map(|(at, n)| (index.flow(at), n)).collect();
    let groups = frequent(&kinds);
    let mut all = Share { affected: affected.len() as u64, all: 0 };
    let mut sizes: HashMap<Group, u64, RandomState> = HashMap::default();
    let ways: Vec<_> = WAYS.iter().zip(&groups).filter(|(_, groups)| !groups.is_empty()).collect();
    for (group, _) in groups.iter().flatten() {
        sizes.insert(*group, 0);
    }
    for (at, n) in alike.counted(could_be) {
        all.all += n;
        let flow = index.flow(at);
        for (way, _) in &ways {
            if let Some(size) = way(flow).and_then(|group| sizes.get_mut(&group)) {
                *size += n;
            }
        }
    }
    // Each examined group may stand out by chance, except a group of all flows.
    let tries = (sizes.values().filter(|&&size| size < all.all).count().max(1) as f64).ln();
    let mut best: Option<Common> = None;
    for &(group, affected) in groups.iter().flatten() {
        let inside = Share { affected, all: sizes.get(&group).copied().unwrap_or(0).max(affected) };
        let common = Common { group, inside, outside: all.without(inside), tries };
        let is_best = best.as_ref().is_none_or(|best| common.ln_chance() < best.ln_chance() - 1e-9);
        if is_best && common.stands_out() && group.is_as_wide_as_said(flows().map(|at| index.flow(at))) {
            best = Some(common);
        }
    }
    (all, best)
}

/// For each property: the groups with several of these flows, and the number of these flows in them.
fn frequent(kinds: &[(&Flow, u64)]) -> [Vec<(Group, u64)>; WAYS.len()] {
    WAYS.map(|way| {
        let mut counts: HashMap<Group, u64, RandomState> = HashMap::default();
        for (group, n) in kinds.iter().filter_map(|&(flow, n)| Some((way(flow)?, n))) {
            *counts.entry(group).or_default() += n;
        }
        let mut groups: Vec<_> = counts.into_iter().filter(|&(_, n)| n >= MIN_FLOWS).collect();
        groups.sort_unstable_by_key(|&(group, n)| (std::cmp::Reverse(n), group));
        groups.truncate(MAX_GROUPS);
        groups
    })
}

/// The logarithm of the probability that a group of this size has so many of all affected flows, or more, by chance.
fn ln_chance(inside: Share, all: Share) -> f64 {
    // Not more than in other flows.
    if inside.ratio() <= all.ratio() {
        return 0.0;
    }
    let rest = all.all.saturating_sub(inside.all);
    let ways = |k: u64| ln_choose(inside.all, k) + ln_choose(rest, all.affected.saturating_sub(k));
    // Above the expected value, each term is smaller than the one before.
    let first = ways(inside.affected);
    let terms = (inside.affected..=inside.all.min(all.affected)).map(|k| (ways(k) - first).exp());
    let sum: f64 = terms.take_while(|&term| term > 1e-9).sum();
    (first + sum.ln() - ln_choose(all.all, all.affected)).min(0.0)
}

fn ln_choose(n: u64, k: u64) -> f64 {
    if k > n { f64::NEG_INFINITY } else { ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k) }
}

/// Stirling's series.
fn ln_factorial(n: u64) -> f64 {
    let n = n as f64;
    if n < 2.0 {
        return 0.0;
    }
    n * n.ln() - n + 0.5 * (2.0 * std::f64::consts::PI * n).ln() + 1.0 / (12.0 * n)
        - 1.0 / (360.0 * n.powi(3))
}

/// When the trouble of these flows began, if it began at nearly the same time: first and last.
///
/// A flow's trouble may begin at any time of its life. If all begin within a small part of it, that is no chance.
pub(super) fn one_time(affected: &[Case], index: &Index<'_>) -> Option<[i64; 2]> {
    let mut between = [i64::MAX, i64::MIN];
    for case in affected {
        let [first, last] = case.between?;
        between = [between[0].min(first), between[1].max(last)];
    }
    let [first, last] = between;
    let span = last.saturating_sub(first).max(1) as f64;
    let chances = affected.iter().map(|case| {
        let flow = index.flow(case.at as usize);
        let life = flow.last_time.saturating_sub(flow.first_time).max(1) as f64;
        (span / life).min(1.0).ln()
    });
    // The first one may begin at any time.
    let ln_chance = chances.skip(1).sum::<f64>() + (affected.len() as f64).ln();
    (affected.len() as u64 >= MIN_FLOWS && ln_chance < LIKELY.ln()).then_some(between)
}

/// "at 2026-11-21 12:05:38.000123 UTC".
pub(super) fn moment([first, _]: [i64; 2]) -> String {
    let micros = first.rem_euclid(1_000_000_000) / 1_000;
    utc(first).replace(" UTC", &format!(".{micros:06} UTC"))
}

#[cfg(test)]
#[path = "../../../../tests/unit/analyze_results_findings_cause.rs"]
mod tests;
