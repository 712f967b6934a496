//! What changed between two reports.

use serde::Serialize;

use super::{Before, Rule, Unit, evaluate::measure};
use crate::report::{
    Report,
    figure::{Column, Natural, Range, Scope, Subject},
};
const MOST_SHOWN: usize = 10;

/// What changed from one report to the next.
#[derive(Clone, Debug, Serialize)]
pub struct Changes {
    /// Figures over all rows that are not what they were.
    pub figures: Vec<Changed>,
    /// Flows that both reports have.
    pub matched: usize,
    /// Flows that only the later report has.
    pub new: Vec<String>,
    /// Flows that only the earlier report has.
    pub gone: Vec<String>,
    /// Flows whose counts changed, those that changed most first: ten at most.
    pub flows: Vec<ChangedFlow>,
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
    /// Its figures that changed.
    pub figures: Vec<Changed>,
    #[serde(skip)]
    by: f64,
}

impl Changed {
    /// By how much of what it was, where both are known.
    pub fn ratio(&self) -> Option<f64> {
        let is_known = self.before.is_exact() && self.after.is_exact() && self.before.least > 0.0;
        is_known.then(|| self.after.least / self.before.least - 1.0)
    }
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
    let figures = figures.collect();
    let flows = |of: &mut dyn Iterator<Item = usize>, report: &Report| -> Vec<String> {
        of.filter_map(|at| report.flows.get(at)).map(|flow| Subject::Flow(flow, None).label()).collect()
    };
    let is_new = |at: &usize| before.flow(*at).is_none();
    let new = flows(&mut (0..after.flows.len()).filter(is_new), after);
    let mut changed: Vec<ChangedFlow> =
        (0..after.flows.len()).filter_map(|at| changed_flow(at, before, after)).collect();
    changed.sort_by(|a, b| b.by.total_cmp(&a.by).then(a.row.cmp(&b.row)));
    changed.truncate(MOST_SHOWN);
    Changes {
        figures,
        matched: after.flows.len() - new.len(),
        new,
        gone: flows(&mut before.gone.iter().copied(), before.report),
        flows: changed,
    }
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
    let (was, is) = (before.flow(at)?, Subject::Flow(after.flows.get(at)?, None));
    let columns =
        Column::all().filter(|(name, column)| column.scope() == Scope::Flow && is_shown(name, column));
    let figures: Vec<Changed> = columns
        .filter_map(|(name, column)| {
            let (before, after) = (column.of(&was).range()?, column.of(&is).range()?);
            (before != after).then_some(Changed { figure: name, unit: column.figure.unit, before, after })
        })
        .collect();
    // Only counts of packets weigh: one time or rate is never quite another.
    let counts = figures.iter().filter(|changed| matches!(changed.unit, Unit::Count));
    let by = counts.map(|changed| (changed.after.least - changed.before.least).abs()).sum();
    (by > 0.0).then(|| ChangedFlow { row: at, name: is.label(), figures, by })
}
