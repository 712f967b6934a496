//! Findings, most serious first, each cause with its effects below it.

use std::io;

use super::{
    Options, limit,
    page::{Page, Paint},
};
use crate::report::{
    Affected, Finding, View,
    units::{between, duration, losses, plural, several},
};

pub(super) fn findings(report: &View<'_>, options: &Options, page: &mut Page<'_>) -> io::Result<()> {
    if report.head.findings.is_empty() {
        page.wrapped(Paint::Heading, "Findings  ", "nothing stands out")?;
        return page.blank();
    }
    page.heading("Findings")?;
    let all = &report.head.findings;
    let (shown, left) = limit(all.len(), options.top);
    for finding in &all[..shown] {
        // What to do is said with the cause.
        if finding.effect_of.is_some() {
            put_text(finding, "    effect: ", page)?;
            continue;
        }
        put_finding(finding, "  ", page)?;
        if finding.flows.len() > 1 {
            affected(report, finding, options, page)?;
        }
    }
    if left > 0 {
        page.line(&format!("  and {left} more (--top 0 shows all)"))?;
    }
    page.blank()
}

fn put_text(finding: &Finding, indent: &str, page: &mut Page<'_>) -> io::Result<()> {
    let mut text = finding.text.clone();
    if !finding.frames.is_empty() {
        text += &format!(" [{}]", frames(&finding.frames));
    }
    page.wrapped(finding.severity.into(), &format!("{indent}{:<7}  ", finding.severity), &text)
}

pub(super) fn put_finding(finding: &Finding, indent: &str, page: &mut Page<'_>) -> io::Result<()> {
    put_text(finding, indent, page)?;
    if finding.next.is_empty() {
        return Ok(());
    }
    page.wrapped(Paint::Plain, &format!("{indent}{:9}-> ", ""), &finding.next)
}

/// The flows of a finding, those that lost most first.
fn affected(report: &View<'_>, finding: &Finding, options: &Options, page: &mut Page<'_>) -> io::Result<()> {
    const FEW: usize = 4;
    let listed = finding.flows.len();
    let is_short = listed <= FEW && finding.flow_count <= FEW as u64;
    let shown = if is_short || options.top == 0 { listed } else { listed.min(FEW - 1) };
    let lead = format!("{:14}", "");
    // Of what a flow has once, the time is enough.
    let is_once = |affected: &Affected| affected.loss_episodes.is_none() && affected.count == [1, 1];
    let are_once = finding.flows.iter().all(|one| is_once(one) && one.time_lost_ns.is_some());
    for affected in &finding.flows[..shown] {
        let Some(flow) = report.flows.row(affected.flow) else { continue };
        let time = affected.time_lost_ns.map(|ns| format!("{} lost", duration(ns)));
        let qp = flow.queue_pair();
        let n =
            affected.loss_episodes.map_or_else(|| between(affected.count), |n| losses(n, "", affected.count));
        let said = [Some(n).filter(|_| !are_once), time].into_iter().flatten().collect::<Vec<_>>().join(", ");
        let text = format!("#{} {} → {} QP {qp}: {said}", affected.flow, flow.src, flow.dst);
        page.wrapped(Paint::Plain, &lead, &text)?;
    }
    match finding.flow_count.saturating_sub(shown as u64) {
        0 => Ok(()),
        more => page.line(&format!("{lead}and {}", several(more, "more flow"))),
    }
}

fn frames(frames: &[u64]) -> String {
    let shown: Vec<String> = frames.iter().take(4).map(u64::to_string).collect();
    let word = plural(frames.len() as u64, "frame");
    match frames.len().saturating_sub(4) {
        0 => format!("{word} {}", shown.join(", ")),
        more => format!("{word} {} and {more} more", shown.join(", ")),
    }
}
