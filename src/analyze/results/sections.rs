//! All sections of a report but its long lists: each metric makes its own, and what needs several of them is joined here. No metric
//! reads the section of another but as an argument.

use super::links;
use crate::{
    analyze::{
        engine::Tracker,
        metric::{BuiltIn, Context, Each, each, verdict::SlowFlows},
        network::pause::PauseRows,
    },
    report::{self, Head, Reason, Why},
};

/// What stands at the head of the report. `capture`: the counts of the capture.
pub(super) fn head(
    tracker: &Tracker,
    built_in: &BuiltIn,
    context: &Context<'_>,
    capture: report::Capture,
) -> Head {
    let Each { overhead, congestion, incast, verdicts, entropy, rate, traffic, credits } = each(built_in);
    let mut why = Why::new();
    let again = tracker.config.copying.elsewhere();
    let (links, balance) = links::section(&tracker.capture, again, context);
    let congestion = congestion.section_with_flows(context);
    let incasts = incast.section();
    let mut pauses = context.network.pause_rows(&capture, &congestion);
    let times_of_incast = incasts.as_ref().map_or(0, Vec::len);
    let slow = verdicts.section(context, (incast, times_of_incast), &pauses);
    join_pauses(&mut pauses, &slow);
    let (traffic_classes, qos) = traffic.section(context, pauses.rows.as_deref());
    let (interval_ns, intervals) = known(&mut why, "intervals", rate.section()).unzip();
    let no_pauses = if capture.has_cut_pauses() { Reason::Truncated } else { Reason::NoPfcVisibility };
    let pause = known(&mut why, "pause", pauses.rows.ok_or(no_pauses));
    if let Some(reason) = slow.why {
        why.insert("slow_flows".into(), reason);
    }
    Head {
        schema: report::SCHEMA.into(),
        capture,
        pause,
        pause_faults: pauses.faults,
        pause_tree: known(&mut why, "pause_tree", pauses.tree),
        slow_flows: slow.flows,
        slow_flow_count: slow.count,
        congestion,
        traffic_classes,
        qos,
        incast: known(&mut why, "incast", incasts),
        microbursts: tracker.bursts.section(tracker.capture.resolution.ns),
        credits: credits.section(context),
        bad_lpcrcs: credits.bad_crcs(),
        overhead: overhead.section(),
        ports: entropy.section(|id| context.flow(id)),
        links,
        balance: known(&mut why, "balance", balance),
        interval_ns,
        intervals,
        why,
        ..Head::default()
    }
}

/// The section, or the reason why there is none.
fn known<T>(why: &mut Why, field: &'static str, section: Result<T, Reason>) -> Option<T> {
    section.map_err(|reason| why.insert(field.into(), reason)).ok()
}

/// What pauses did to flows: in the rows of pauses, and at their culprits.
fn join_pauses(pauses: &mut PauseRows, slow: &SlowFlows) {
    for (row, number) in pauses.rows.iter_mut().flatten().zip(&pauses.numbers) {
        if row.paused_ns.is_none() {
            row.why.insert("effect".into(), Reason::UnknownSpeed);
            continue;
        }
        let effect = number.and_then(|number| slow.effects.get(usize::from(number)));
        row.effect = Some(effect.copied().unwrap_or_default());
    }
    let Ok(tree) = &mut pauses.tree else { return };
    for (&culprit, (count, flows)) in &slow.victims {
        if let Some(culprit) = tree.culprits.get_mut(culprit) {
            (culprit.flow_count, culprit.flows) = (*count, flows.clone());
        }
    }
}
