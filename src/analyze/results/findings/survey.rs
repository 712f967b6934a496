//! Examines every flow once, and keeps what the rules find. Sentences are written only for findings that are reported.

use std::{borrow::Cow, cmp::Reverse};

use super::{
    FINDINGS, FindingKind, Rule, Scope,
    case::Case,
    cause::{self, Common, Share},
    effects,
    evidence::{Evidence, Seen},
    flow::{self, FlowRule, Subject, Time},
    kin::{Kin, Ranked, Thing, in_order},
    limitations,
    sums::Sums,
};
use crate::{
    analyze::{results::lists::Index, table::flow::Flow},
    capture::Problem,
    in_order::InOrder,
    report::{
        self, Bounds, Cause, Confidence, Finding, Head,
        units::{between, count, duration, losses, several},
    },
};

/// Most findings of one kind about the capture.
const MAX_OF_A_KIND: usize = 8;
/// Most causes that are searched for among the flows of one kind.
const MAX_CAUSES: usize = 4;
/// Most flows that a finding lists.
const MAX_LISTED: usize = 256;
/// Most frames that are named as evidence.
const MAX_FRAMES: usize = 8;
/// Most flows that are kept of one kind: those that lost most time.
const MAX_CASES: usize = 1 << 18;

/// The findings in all flows.
pub(crate) struct Survey {
    /// By kind, in the order of the table.
    cases: Vec<Vec<Case>>,
    is_cut_into_messages: bool,
    pub(crate) sums: Sums,
}

impl Survey {
    pub(crate) fn new() -> Survey {
        let cases = FINDINGS.iter().map(|_| Vec::new()).collect();
        Survey { cases, is_cut_into_messages: false, sums: Sums::default() }
    }

    /// Whether any rule examines this flow.
    pub(crate) fn looks_at(flow: &Flow) -> bool {
        !flow.is_quiet() || FINDINGS.iter().any(|kind| kind.scope == Scope::AllFlows)
    }

    /// Examines the flow at a place of the report. The flows come in any order.
    pub(crate) fn flow(&mut self, at: usize, counts: &report::Flow, index: &Index<'_>) {
        let flow = index.flow(at);
        self.is_cut_into_messages = self.is_cut_into_messages
            || counts.messages.broken > 0
                && index.report(at).opcodes.keys().any(|name| name.ends_with("Middle"));
        let is_quiet = flow.is_quiet();
        for (kind, cases) in FINDINGS.iter().zip(&mut self.cases) {
            if let (Rule::Flow(rule), Some(count)) = (&kind.rule, kind.count(counts))
                && (kind.scope == Scope::AllFlows || !is_quiet)
                && rule.concerns(flow, kind.needs)
            {
                let subject = Subject { at, counts, index };
                let count = rule.narrow.map_or(count, |narrow| narrow(&subject, count));
                if count[1] == 0 {
                    continue;
                }
                let losses = rule.losses.map(|losses| losses(counts));
                cases.push(case(at, (count, losses), rule, index));
                if cases.len() == 2 * MAX_CASES {
                    keep_heaviest(cases);
                }
            }
        }
    }

    /// Writes the findings, and the limitations of the capture.
    pub(crate) fn finish(self, index: &Index<'_>, head: &mut Head) {
        self.sums.learned(&mut head.capture.learned);
        head.capture.limitations =
            limitations::limitations(head, &self.sums, self.is_cut_into_messages, index.leaves_out);
        let Survey { cases, sums, .. } = self;
        let evidence = Evidence { head, sums: &sums };
        let mut all = Vec::new();
        for (nth, (kind, mut cases)) in FINDINGS.iter().zip(cases).enumerate() {
            let mut add = |time: u64, count: u64, (finding, kin): (Finding, Kin)| {
                all.push(Ranked {
                    weight: (kind.severity, Reverse(time), Reverse(count), nth),
                    kin,
                    finding,
                });
            };
            match &kind.rule {
                Rule::Capture(rule) => {
                    let mut seen = Vec::new();
                    rule(&evidence, &mut |one| seen.push(one));
                    seen.order_by_key(|seen| Reverse((seen.time, seen.count)));
                    if let Some(rest) = seen.len().checked_sub(MAX_OF_A_KIND).filter(|&rest| rest > 0) {
                        let text =
                            format!("{} of the kind {}", several(rest as u64, "more finding"), kind.id);
                        let left = seen.drain(MAX_OF_A_KIND..).map(|seen| (seen.count, seen.frames));
                        let (count, frames) = left.fold((0u64, Vec::new()), |(sum, mut all), (n, frames)| {
                            all.extend(frames);
                            (sum.saturating_add(n), all)
                        });
                        let frames = frames.into_iter().take(MAX_FRAMES).collect();
                        // Behind the others of its kind.
                        seen.push(Seen {
                            frames,
                            ..Seen::new(count.min(seen.last().map_or(0, |last| last.count)), text)
                        });
                    }
                    for Seen {
                        time,
                        count,
                        text,
                        mut frames,
                        flows: (flows, flow_count),
                        kin,
                        advice,
                        next,
                    } in seen
                    {
                        frames.truncate(MAX_FRAMES);
                        let flow = flows.first().map(|affected| affected.flow).filter(|_| flow_count == 1);
                        let time_lost_ns = flows
                            .iter()
                            .filter_map(|affected| affected.time_lost_ns)
                            .reduce(u64::saturating_add);
                        let of_flows =
                            Finding { flow, flows, flow_count, time_lost_ns, ..finding(kind, text) };
                        let next = next.map_or_else(|| of_flows.next.clone(), Cow::into_owned);
                        let next = match advice {
                            Some(advice) => format!("{advice}; {next}"),
                            None => next,
                        };
                        let of_flows = Finding { next, ..of_flows };
                        add(time, count, (Finding { frames, ..of_flows }, kin));
                    }
                }
                Rule::Flow(_) if cases.is_empty() => {}
                Rule::Flow(rule) => {
                    keep_heaviest(&mut cases);
                    for (cases, mut finding) in by_cause(kind, rule, cases, index) {
                        if kind.id == "loss.capture" && lacks_parts(head) {
                            finding.next =
                                format!("give the files of the capture that are missing; {}", finding.next);
                        }
                        let time = if let Time::Ends = rule.time {
                            u64::MAX
                        } else {
                            finding.time_lost_ns.unwrap_or(0)
                        };
                        let kin = Kin { of: in_pauses(kind, sum(&cases)[0], head), ..Kin::default() };
                        add(time, sum(&cases)[0], (finding, kin));
                    }
                }
            }
        }
        effects::relate(&mut all, index);
        head.findings = in_order(all);
    }
}

/// Whether files of the capture were not given.
fn lacks_parts(head: &Head) -> bool {
    head.capture.problems.iter().any(|problem| Problem::is_of_missing_parts(&problem.what))
}

/// Timeouts, and what is retransmitted after them, where as many of them were in pauses.
fn in_pauses(kind: &FindingKind, count: u64, head: &Head) -> Vec<Thing> {
    let effects = head.pause.iter().flatten().filter_map(|pause| pause.effect);
    let Some(did) = effects.max_by_key(|did| (did.retransmits, did.timeouts)) else { return Vec::new() };
    let most = match kind.id {
        "timeout" => did.timeouts,
        "retransmit.spurious" | "retransmit.unexplained" => did.retransmits,
        _ => 0,
    };
    let is_of = count > 0 && count <= most;
    is_of
        .then_some(Thing::Timeouts { timeouts: did.timeouts, retransmits: did.retransmits })
        .into_iter()
        .collect()
}

/// One finding for each cause, with the flows that it explains.
fn by_cause(
    kind: &FindingKind,
    rule: &FlowRule,
    mut cases: Vec<Case>,
    index: &Index<'_>,
) -> Vec<(Vec<Case>, Finding)> {
    if let [only] = cases[..] {
        return vec![(cases, of_one(kind, rule, &only, index))];
    }
    let mut causes: Vec<(Common, Vec<Case>)> = Vec::new();
    let rest = loop {
        let is_free = |flow: &Flow| !causes.iter().any(|(common, _)| common.group.holds(flow));
        let could_be = index.in_memory().filter(|(_, flow)| rule.concerns(flow, kind.needs) && is_free(flow));
        let (all, common) = cause::find(&cases, could_be.map(|(at, _)| at), index);
        let Some(common) = common.filter(|_| causes.len() < MAX_CAUSES) else { break all };
        let is_mine = |case: &Case| common.group.holds(index.flow(case.at as usize));
        let (mine, others) = cases.into_iter().partition(is_mine);
        causes.push((common, mine));
        cases = others;
    };
    let explained = causes.into_iter().map(|(common, cases)| {
        let finding = of_several(kind, rule, &cases, Ok(&common.beside(rest)), index);
        (cases, finding)
    });
    let mut found: Vec<_> = explained.collect();
    match cases[..] {
        [] => {}
        [only] => found.push((cases, of_one(kind, rule, &only, index))),
        _ => {
            let finding = of_several(kind, rule, &cases, Err(rest), index);
            found.push((cases, finding));
        }
    }
    found
}

fn sum(cases: &[Case]) -> Bounds {
    cases.iter().fold([0, 0], |[least, most], case| {
        [least.saturating_add(case.count[0]), most.saturating_add(case.count[1])]
    })
}

fn keep_heaviest(cases: &mut Vec<Case>) {
    cases.sort_unstable_by_key(Case::weight);
    cases.truncate(MAX_CASES);
}

fn case(at: usize, (count, losses): (Bounds, Option<u64>), rule: &FlowRule, index: &Index<'_>) -> Case {
    let mut case = Case { at: at as u32, count, losses, time_lost: 0, between: None };
    let Time::Of(is_mine) = rule.time else { return case };
    let mut until = i64::MIN;
    let all = flow::episodes(at, index, |_| true);
    for (nth, episode) in all.iter().enumerate().filter(|(_, episode)| is_mine(episode)) {
        let [first, last] = case.between.unwrap_or([episode.start; 2]);
        case.between = Some([first.min(episode.start), last.max(episode.start)]);
        // The time since the lost packet was lost: packets were retransmitted, or the sender waited.
        let since = episode.original_time.or(episode.nak_time).unwrap_or(episode.start);
        // One that went over into the next was not recovered from until then.
        let end = episode.recovered.or_else(|| all.get(nth + 1).map(|next| next.start));
        // The time of overlapping episodes counts once.
        if let Some(end) = end.filter(|&end| end > until) {
            let lost = end.saturating_sub(since.max(until)).max(0);
            case.time_lost = case.time_lost.saturating_add(lost as u64);
            until = end;
        }
    }
    case
}

fn finding(kind: &FindingKind, text: String) -> Finding {
    let (severity, id, next) = (kind.severity, kind.id.into(), kind.next.to_owned());
    Finding { severity, id, text, next, ..Finding::default() }
}

fn of_one(kind: &FindingKind, rule: &FlowRule, case: &Case, index: &Index<'_>) -> Finding {
    let at = case.at as usize;
    let subject = Subject { at, counts: &index.report(at), index };
    let (text, mut frames) = (rule.one)(&subject, case.count);
    frames.truncate(MAX_FRAMES);
    let affected = case.affected();
    let mut one = finding(kind, subject.name() + &text);
    one.next = other_direction(kind, std::slice::from_ref(case), index)
        .map_or_else(String::new, |more| more + "; ")
        + &one.next;
    Finding {
        frames,
        flow: Some(at),
        flows: vec![affected],
        flow_count: 1,
        time_lost_ns: affected.time_lost_ns,
        ..one
    }
}

/// Advice for findings that the other direction of the connections would explain, where it is missing.
fn other_direction(kind: &FindingKind, cases: &[Case], index: &Index<'_>) -> Option<String> {
    let is_explained_by_it = matches!(kind.id, "retransmit.unexplained" | "ambiguous");
    let is_missing = |case: &Case| {
        let flow = index.flow(case.at as usize);
        flow.service.is_reliable() && flow.evidence == 0
    };
    if !is_explained_by_it || !cases.iter().any(is_missing) {
        return None;
    }
    Some(match index.leaves_out {
        true => "the other direction is missing: let --filter keep it, or capture it too".to_owned(),
        false => "capture the other direction too".to_owned(),
    })
}

/// Several flows of one kind: those of a group, which share a cause, or so many that have nothing in common.
fn of_several(
    kind: &FindingKind,
    rule: &FlowRule,
    cases: &[Case],
    common: Result<&Common, Share>,
    index: &Index<'_>,
) -> Finding {
    let share = common.map_or_else(|share| share, |common| common.inside);
    let common = common.ok();
    let several = match share {
        Share { affected: 2, all: 2 } => "both".to_owned(),
        Share { affected, all } if affected == all => format!("all {}", count(all)),
        Share { affected, all } => format!("{} of {}", count(affected), count(all)),
    };
    // The list of flows also has those that cannot show it.
    let whose = match common {
        Some(common) => common.group.words(),
        None => rule.whose(share.all, index).to_owned(),
    };
    let happened = match rule.losses {
        Some(_) => {
            // "had # after the tap": the packets stand behind the place.
            let episodes = cases.iter().filter_map(|case| case.losses).sum();
            let (before, place) = rule.many.split_once('#').unwrap_or((rule.many, ""));
            format!("{before}{}", losses(episodes, place, sum(cases)))
        }
        None => rule.many.replace('#', &between(sum(cases))),
    };
    let mut text = format!("{several} flows{whose} together {happened}");
    let time = cases.iter().fold(0u64, |time, case| time.saturating_add(case.time_lost));
    if time > 0 {
        text += &format!("; time lost: {} in sum", duration(time));
    }
    let mut cause = common.map(Common::cause);
    let mut suspects: Vec<String> = common.map(Common::suspect).into_iter().collect();
    if let Some(Share { affected, all }) = common.map(|common| common.outside).filter(|share| share.all > 0) {
        text += &format!("; other flows: {} of {}", count(affected), count(all));
    }
    // If few flows are affected, a common time is a cause.
    let is_most = 2 * share.affected >= share.all;
    if let Some(between) = cause::one_time(cases, index).filter(|_| is_most) {
        let within = duration(between[1].abs_diff(between[0]));
        text += &format!("; all of it began within {within}, at {}", cause::moment(between));
        suspects.push("what happened then (link down, route change, burst)".to_owned());
        let alone = || Cause {
            confidence: Confidence::Likely,
            with: report::Share { affected: share.affected, flows: share.all },
            ..Cause::default()
        };
        let cause = cause.get_or_insert_with(alone);
        (cause.first_ns, cause.last_ns) = (Some(between[0]), Some(between[1]));
    }
    let worst = cases.first().map(|case| of_one(kind, rule, case, index)).unwrap_or_default();
    suspects.extend(other_direction(kind, cases, index));
    suspects.push(kind.next.to_owned());
    Finding {
        next: suspects.join("; "),
        frames: worst.frames,
        flows: cases.iter().take(MAX_LISTED).map(Case::affected).collect(),
        flow_count: cases.len() as u64,
        time_lost_ns: Some(time).filter(|&ns| ns > 0),
        cause,
        ..finding(kind, text)
    }
}
