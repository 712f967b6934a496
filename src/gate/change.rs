//! What changed between two reports.

use crate::in_order::InOrder;
use serde::Serialize;

use super::{Before, Rule, Unit, evaluate::measure};
use crate::report::{
    Report, Severity,
    figure::{Column, Natural, Range, Scope, Subject},
    trouble,
};

const MOST_SHOWN: usize = 10;

/// What changed from one report to the next.
#[derive(Clone, Debug, Serialize)]
pub struct Changes {
    /// Findings of a kind that the earlier report does not have, in its order.
    pub new_findings: Vec<ChangedFinding>,
    /// Findings of a kind that the later report does not have.
    pub gone_findings: Vec<ChangedFinding>,
    /// Figures over all rows that are not what they were, those that changed most first.
    pub figures: Vec<Changed>,
    /// Flows that both reports have.
    pub matched: usize,
    /// Flows that only the later report has.
    pub new: Vec<String>,
    /// Flows that only the earlier report has.
    pub gone: Vec<String>,
    /// Flows whose counts changed, those whose trouble changed most first: ten at most.
    pub flows: Vec<ChangedFlow>,
}

/// A finding that one of the reports has.
#[derive(Clone, Debug, Serialize)]
pub struct ChangedFinding {
    /// How serious it is.
    pub severity: Severity,
    /// Its kind.
    pub id: String,
    /// What was found.
    pub text: String,
}

/// A figure that changed.
#[derive(Clone, Debug, Serialize)]
pub struct Changed {
    /// Its name.
    pub figure: String,
    /// Its unit.
    pub unit: Unit,
    /// What it was.
    pub before: Range,
    /// What it is.
    pub after: Range,
}

/// A flow of both reports.
#[derive(Clone, Debug, Serialize)]
pub struct ChangedFlow {
    /// Its number in the later report.
    pub row: usize,
    /// Its addresses and queue pair.
    pub name: String,
    /// Its figures that changed, those that changed most first.
    pub figures: Vec<Changed>,
    /// By how much its trouble changed, and how many packets, messages and others it has more or less.
    #[serde(skip)]
    by: (u64, f64),
}

impl Changed {
    /// By how much of what it was, where both are known.
    pub fn ratio(&self) -> Option<f64> {
        let is_known = self.before.is_exact() && self.after.is_exact() && self.before.least > 0.0;
        is_known.then(|| self.after.least / self.before.least - 1.0)
    }

    /// How much it is for whoever reads of it: what was none, or is none now, is most; what may be unchanged is least.
    fn weight(&self) -> f64 {
        let (before, after) = (self.before, self.after);
        if before.least <= after.most && after.least <= before.most {
            return 0.0;
        }
        let (more, less) = (before.most.max(after.most), before.most.min(after.most));
        if less <= 0.0 { f64::INFINITY } else { (more / less).ln() }
    }
}

/// Those that changed most first; of equal ones, as they come in the table of figures.
fn rank(figures: &mut [Changed]) {
    figures.order_by(|a, b| b.weight().total_cmp(&a.weight()));
}

/// Compares two reports.
pub fn changes(before: &Before<'_>, after: &Report) -> Changes {
    // A rule for each figure makes one number of its rows.
    let names: Vec<String> =
        Column::all().filter(|(name, column)| is_shown(name, column)).map(|(name, _)| name).collect();
    let rules: Vec<Rule> =
        names.iter().filter_map(|name| Rule::parse(&format!("{name} == 0")).ok()).collect();
    let numbers = |report: &Report| {
        measure(&rules, &report.view(), None).into_iter().filter_map(|mut tests| tests.pop())
    };
    let both = numbers(before.report).zip(numbers(after));
    let figures = both
        .map(|(was, is)| Changed { figure: is.what, unit: is.unit, before: was.value, after: is.value })
        .filter(|changed| changed.before != changed.after);
    let mut figures: Vec<Changed> = figures.collect();
    rank(&mut figures);
    let flows = |of: &mut dyn Iterator<Item = usize>, report: &Report| -> Vec<String> {
        of.filter_map(|at| report.flows.get(at)).map(|flow| Subject::Flow(flow, None).label()).collect()
    };
    let is_new = |at: &usize| before.flow(*at).is_none();
    let new = flows(&mut (0..after.flows.len()).filter(is_new), after);
    let mut changed: Vec<ChangedFlow> =
        (0..after.flows.len()).filter_map(|at| changed_flow(at, before, after)).collect();
    changed.order_by(|a, b| b.by.0.cmp(&a.by.0).then(b.by.1.total_cmp(&a.by.1)).then(a.row.cmp(&b.row)));
    changed.truncate(MOST_SHOWN);
    Changes {
        new_findings: findings_of(after, before.report),
        gone_findings: findings_of(before.report, after),
        figures,
        matched: after.flows.len() - new.len(),
        new,
        gone: flows(&mut before.gone.iter().copied(), before.report),
        flows: changed,
    }
}

/// Findings of a kind that another report does not have.
fn findings_of(report: &Report, other: &Report) -> Vec<ChangedFinding> {
    let is_in_other = |id: &str| other.head.findings.iter().any(|finding| finding.id == id);
    let findings = report.head.findings.iter().filter(|finding| !is_in_other(&finding.id));
    findings
        .map(|finding| ChangedFinding {
            severity: finding.severity,
            id: finding.id.to_string(),
            text: finding.text.clone(),
        })
        .collect()
}

/// Figures by their own names, of which many rows make one number. Transfers have the same in other words.
fn is_shown(name: &str, column: &Column) -> bool {
    let figure = column.figure;
    let is_own = figure.names.first().is_some_and(|own| {
        name.strip_prefix(own).is_some_and(|part| part.is_empty() || part.starts_with('.'))
    });
    is_own && figure.natural != Natural::Choice && figure.scope() != Scope::Transfer
}

fn changed_flow(at: usize, before: &Before<'_>, after: &Report) -> Option<ChangedFlow> {
    let flow = after.flows.get(at)?;
    let (was, is) = (before.flow(at)?, Subject::Flow(flow, None));
    let columns =
        Column::all().filter(|(name, column)| column.scope() == Scope::Flow && is_shown(name, column));
    let mut figures: Vec<Changed> = columns
        .filter_map(|(name, column)| {
            let (before, after) = (column.of(&was).range()?, column.of(&is).range()?);
            (before != after).then_some(Changed { figure: name, unit: column.figure.unit, before, after })
        })
        .collect();
    // Only counts of packets weigh: one time or rate is never quite another.
    let counts = figures.iter().filter(|changed| matches!(changed.unit, Unit::Count));
    let by: f64 = counts.map(|changed| (changed.after.least - changed.before.least).abs()).sum();
    let of = |subject: &Subject<'_>| if let Subject::Flow(flow, _) = subject { trouble(flow) } else { 0 };
    let by = (of(&is).abs_diff(of(&was)), by);
    rank(&mut figures);
    (by.1 > 0.0).then(|| ChangedFlow { row: at, name: is.label(), figures, by })
}
