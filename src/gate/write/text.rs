//! Outcomes as lines for people.

use std::io::{self, Write};

use super::Checked;
use crate::{
    gate::{Changed, ChangedFinding, Changes, Measure, Outcome, Verdict, Worst},
    report::{
        clean,
        figure::{Figure, Natural, Scope},
        units,
    },
};

/// Lists of flows are cut after so many.
const MOST_SHOWN: usize = 10;

/// Writes what became of each rule: the figure, the bound, the worst rows and their frames.
///
/// # Errors
/// What `to` fails with.
pub fn text(to: &mut dyn Write, checked: &[Checked]) -> io::Result<()> {
    for one in checked {
        writeln!(to, "checked {}", clean(&one.file))?;
        for outcome in &one.outcomes {
            let verdict = outcome.verdict.name();
            let severity = match (outcome.verdict, outcome.severity) {
                (Verdict::Held, _) | (_, crate::report::Severity::Error) => String::new(),
                (_, severity) => format!(" ({severity})"),
            };
            writeln!(to, "  {verdict:8}  {}{severity}", clean(outcome.title()))?;
            if outcome.name.is_some() {
                writeln!(to, "            {}", clean(&outcome.rule))?;
            }
            for measure in &outcome.measures {
                writeln!(to, "            {}", clean(&sentence(measure)))?;
                for worst in &measure.worst {
                    writeln!(to, "              {}", clean(&row(measure, worst)))?;
                }
            }
        }
        let [held, violated, unknown] =
            [Verdict::Held, Verdict::Violated, Verdict::Unknown].map(|verdict| one.count(verdict));
        writeln!(to, "  {held} held, {violated} violated, {unknown} unknown")?;
    }
    Ok(())
}

/// "retransmits is 13,448; it must be == 0".
fn sentence(measure: &Measure) -> String {
    let value = measure.unit.show_range(&measure.value);
    let mut text = match measure.bound.as_str() {
        "" => {
            let is = if measure.what.starts_with("all") { "do not" } else { "do" };
            format!("{value} of {} {} {is}", measure.rows, measure.of)
        }
        bound => format!("{} is {value}; it must be {bound}", measure.what),
    };
    if let Some(limit) = &measure.limit {
        text += &format!(" ({})", measure.unit.show_range(limit));
    }
    if measure.holds.is_none() {
        let limit = measure.limit.and_then(|limit| limit.why);
        text += &format!(". {}", measure.value.why.or(limit).unwrap_or_default());
    }
    text
}

/// "flow 0, 10.77.0.1 > 10.77.0.2 QP 0x11: 13,448; frames 1568, 4264".
fn row(measure: &Measure, worst: &Worst) -> String {
    let value = match worst.figures.as_slice() {
        [] => measure.unit.show_range(&worst.value),
        figures => {
            let figures: Vec<String> =
                figures.iter().map(|(name, value)| format!("{name} {value}")).collect();
            figures.join(", ")
        }
    };
    let frames: Vec<String> = worst.frames.iter().map(u64::to_string).collect();
    let frames = match frames.as_slice() {
        [] => String::new(),
        [frame] => format!("; frame {frame}"),
        frames => format!("; frames {}", frames.join(", ")),
    };
    format!("#{} {}: {value}{frames}", worst.row, worst.name)
}

/// All that is to say of an outcome, a line each.
pub(super) fn lines(outcome: &Outcome) -> Vec<String> {
    let mut lines = Vec::new();
    for measure in outcome.measures.iter().filter(|measure| measure.holds != Some(true)) {
        lines.push(clean(&sentence(measure)).into_owned());
        lines.extend(measure.worst.iter().map(|worst| clean(&row(measure, worst)).into_owned()));
    }
    lines
}

/// Writes what changed: figures over all rows, then flows.
///
/// # Errors
/// What `to` fails with.
pub fn changes(to: &mut dyn Write, changes: &Changes) -> io::Result<()> {
    for (what, findings) in [("new", &changes.new_findings), ("gone", &changes.gone_findings)] {
        for ChangedFinding { severity, text, .. } in findings.iter().take(MOST_SHOWN) {
            writeln!(to, "  {what} {severity}: {}", clean(text))?;
        }
    }
    for changed in &changes.figures {
        let which = match Figure::by_name(&changed.figure) {
            Some(of) if of.scope() == Scope::Flow && of.natural == Natural::Min => ", lowest flow",
            Some(of) if of.scope() == Scope::Flow && of.natural == Natural::Max => ", highest flow",
            _ => "",
        };
        writeln!(to, "  {:28} {}", changed.figure.clone() + which, change(changed))?;
    }
    let (matched, new, gone) = (changes.matched, changes.new.len(), changes.gone.len());
    writeln!(to, "  flows of both: {matched}, new: {new}, gone: {gone}")?;
    for (what, names) in [("new", &changes.new), ("gone", &changes.gone)] {
        for name in names.iter().take(MOST_SHOWN) {
            writeln!(to, "  {what}: {}", clean(name))?;
        }
    }
    for flow in &changes.flows {
        writeln!(to, "  #{} {}", flow.row, clean(&flow.name))?;
        for changed in flow.figures.iter().take(MOST_SHOWN) {
            writeln!(to, "    {:26} {}", changed.figure, change(changed))?;
        }
    }
    Ok(())
}

/// "85 -> 170 (+100.0 %)", "85 -> 170,000 (× 2,000)".
fn change(changed: &Changed) -> String {
    let [before, after] = [changed.before, changed.after].map(|range| changed.unit.show_range(&range));
    let ratio = changed.ratio().map_or(String::new(), |ratio| match ratio {
        // Percents of so much more tell nobody anything.
        _ if ratio >= 9.0 => format!(" (× {})", units::count((ratio + 1.0).round() as u64)),
        _ => format!(" ({:+.1} %)", ratio * 100.0),
    });
    format!("{before} -> {after}{ratio}")
}
