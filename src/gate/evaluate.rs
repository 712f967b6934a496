//! Rules become verdicts: all rows of a report pass once, and every rule counts what it needs of them.

use std::{borrow::Cow, cmp::Ordering, collections::BTreeMap};

use serde::Serialize;

use super::{
    Before,
    rule::{Aggregate, Change, Of, Op, Right, Rule, Tally, Test, each},
    value::Operand,
};
use crate::{
    grammar::expr::{Comparison, Expr},
    report::{
        View, Visibility,
        figure::{Column, Range, Scope, Subject, Unit, Value},
    },
};

/// Rows that are shown with a rule, and frames with a row.
const MOST_SHOWN: usize = 5;

/// What became of one comparison of a rule.
#[derive(Clone, Debug, Serialize)]
pub struct Measure {
    /// The figure, as the rule has it.
    pub what: String,
    /// What it must be, as the rule has it: `< 10us`. Empty for `any`, `all` and `none`, which count rows.
    pub bound: String,
    /// The figure. Times are in nanoseconds, rates in bits per second.
    pub value: Range,
    /// Its unit.
    pub unit: Unit,
    /// What it is compared with, where that is another figure or what it was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Range>,
    /// Whether it is so; `None` where the capture does not decide it.
    pub holds: Option<bool>,
    /// Rows that were looked at.
    pub rows: u64,
    /// What they are: flows, pauses, …
    pub of: &'static str,
    /// The rows that speak most against it.
    pub worst: Vec<Worst>,
}

/// A row that speaks against a rule.
#[derive(Clone, Debug, Serialize)]
pub struct Worst {
    /// Its number in the report's list.
    pub row: usize,
    /// What it is: addresses and queue pair, or link and priority.
    pub name: String,
    /// Its share of the figure, or its own value.
    pub value: Range,
    /// Frames that show it, counted from 1.
    pub frames: Vec<u64>,
    /// Its figures that an expression over rows asks for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<(String, String)>,
    #[serde(skip)]
    is_flow: bool,
}
pub(super) fn measure(rules: &[Rule], report: &View<'_>, before: Option<&Before<'_>>) -> Vec<Vec<Measure>> {
    let all = |report: &View<'_>| -> Vec<Vec<Running<'_>>> {
        let may_miss = report.head.capture.hidden_frames() > 0;
        rules.iter().map(|rule| Running::all(rule, may_miss)).collect()
    };
    let mut running = all(report);
    let mut earlier: Vec<Vec<Running<'_>>> = Vec::new();
    if let Some(before) = before {
        let view = before.report.view();
        earlier = all(&view);
        pass(&mut earlier, &view, None);
    }
    pass(&mut running, report, before);
    note_missing_answers(&mut running, report);
    let mut measures: Vec<Vec<Measure>> = Vec::with_capacity(rules.len());
    for (at, tests) in running.into_iter().enumerate() {
        let earlier = earlier.get(at).map_or(&[][..], |tests| tests);
        let ended = tests.into_iter().enumerate();
        measures.push(ended.map(|(n, test)| test.end(earlier.get(n))).collect());
    }
    show_frames(&mut measures, report);
    measures
}

/// Where only requests were captured, of no flow its answers, there may be answers of any kind.
fn note_missing_answers(running: &mut [Vec<Running<'_>>], report: &View<'_>) {
    let mut sums: Vec<&mut Sum<'_>> =
        running.iter_mut().flatten().flat_map(|test| test.sums()).filter(|sum| sum.is_of_answers()).collect();
    if sums.is_empty() {
        return;
    }
    let mut are_missing = false;
    for flow in report.flows.iter() {
        match flow.visibility {
            Some(Visibility::RequestsOnly | Visibility::OneWay) => are_missing = true,
            Some(Visibility::TwoWay | Visibility::ResponsesOnly) => return,
            Some(Visibility::Unknown) | None => {}
        }
    }
    sums.iter_mut().filter(|_| are_missing).for_each(|sum| sum.may_miss = Some(NO_ANSWERS));
}

/// Whether the rule holds, where this was measured of it.
pub(super) fn verdict(rule: &Rule, measures: &[Measure]) -> Option<bool> {
    let mut measures = measures.iter();
    truth(&rule.claim, &mut |_| measures.next().and_then(|measure| measure.holds))
}

/// Every row of the report passes all tests.
fn pass(running: &mut [Vec<Running<'_>>], report: &View<'_>, before: Option<&Before<'_>>) {
    let mut tests: Vec<&mut Running<'_>> = running.iter_mut().flatten().collect();
    let asks = |tests: &[&mut Running<'_>], scope| tests.iter().any(|test| test.asks(scope));
    let is_transfer = asks(&tests, Scope::Transfer);
    if is_transfer || asks(&tests, Scope::Flow) {
        for (at, flow) in report.flows.iter().enumerate() {
            let peer = if is_transfer { opposite(report, at, flow.connection) } else { None };
            let was = before.and_then(|before| before.flow(at));
            let row = RowPair { at, now: Subject::Flow(&flow, peer.as_deref()), was };
            tests.iter_mut().for_each(|test| test.add(&row));
        }
    }
    if asks(&tests, Scope::Connection) {
        for (at, connection) in report.connections.iter().enumerate() {
            let row = RowPair { at, now: Subject::Connection(&connection), was: None };
            tests.iter_mut().for_each(|test| test.add(&row));
        }
    }
    for (at, pause) in report.head.pause.iter().flatten().enumerate() {
        let was = before.and_then(|before| before.pause(pause));
        tests.iter_mut().for_each(|test| test.add(&RowPair { at, now: Subject::Pause(pause), was }));
    }
    if report.head.pause.as_ref().is_some_and(|pauses| !pauses.is_empty()) {
        tests.iter_mut().for_each(|test| test.knows_pauses());
    }
    if let (None, Some(why)) = (&report.head.pause, report.head.why.get("pause")) {
        tests.iter_mut().for_each(|test| test.miss(Scope::Pause, why.meaning()));
    }
    let was = before.map(|before| Subject::Capture(before.view()));
    tests.iter_mut().for_each(|test| test.add(&RowPair { at: 0, now: Subject::Capture(report), was }));
}

fn opposite<'a>(
    report: &'a View<'_>,
    flow: usize,
    connection: Option<u32>,
) -> Option<Cow<'a, crate::report::Flow>> {
    let [a, b] = report.connections.row(connection? as usize)?.flows;
    report.flows.row(if a == flow { b } else { a })
}

/// A row, and what it was in an earlier report.
struct RowPair<'a> {
    at: usize,
    now: Subject<'a>,
    was: Option<Subject<'a>>,
}

/// A test of a rule while rows pass.
struct Running<'r> {
    rule: &'r Rule,
    test: &'r Test<Tally>,
    left: Sum<'r>,
    right: Option<Sum<'r>>,
}

impl<'r> Running<'r> {
    /// The tests of a rule. `may_miss`: frames that were not decoded may hold more than the report has.
    fn all(rule: &'r Rule, may_miss: bool) -> Vec<Running<'r>> {
        let mut all = Vec::new();
        each(&rule.claim, &mut |test| {
            let right = match &test.op {
                Op::Compare(_, Right::Other(tally)) => Some(Sum::new(tally, None, may_miss)),
                _ => None,
            };
            let is_worse = |test: &Test<Tally>| match &test.op {
                Op::Compare(Comparison::Greater | Comparison::AtLeast, _) => Worse::Low,
                _ => Worse::High,
            };
            let worse = match test.left.aggregate {
                Aggregate::Any => None,
                Aggregate::Sum | Aggregate::Count if is_worse(test) == Worse::Low => None,
                _ => Some(is_worse(test)),
            };
            all.push(Running { rule, test, left: Sum::new(&test.left, worse, may_miss), right });
        });
        all
    }

    fn sums(&mut self) -> impl Iterator<Item = &mut Sum<'r>> {
        std::iter::once(&mut self.left).chain(&mut self.right)
    }

    fn asks(&self, scope: Scope) -> bool {
        let mut asks = self.left.tally.scope() == scope
            || self.right.as_ref().is_some_and(|sum| sum.tally.scope() == scope);
        if let Some(choice) = &self.rule.choice {
            each(choice, &mut |test| asks |= test.left.scope() == scope);
        }
        asks
    }

    fn add(&mut self, row: &RowPair<'_>) {
        let choice = self.rule.choice.as_ref();
        for sum in self.sums() {
            if !row.now.is_of(sum.tally.scope()) {
                continue;
            }
            // Where rows are chosen by figures of transfers, rows are transfers.
            let chosen = choice.map_or(Some(true), |choice| row_truth(choice, row));
            if chosen != Some(false) {
                sum.add(row, chosen.is_some());
            }
        }
    }

    /// The capture has the pauses of its links: of a priority without any, there are none.
    fn knows_pauses(&mut self) {
        let mut is_by_priority = self.rule.choice.is_some();
        if let Some(choice) = &self.rule.choice {
            each(choice, &mut |test| {
                is_by_priority &= test.left.figure.names.contains(&"priority");
            });
        }
        let of_pauses = |sum: &&mut Sum<'_>| sum.tally.scope() == Scope::Pause;
        self.sums().filter(of_pauses).for_each(|sum| sum.none_is_zero = is_by_priority);
    }

    fn miss(&mut self, scope: Scope, why: &'static str) {
        self.sums().filter(|sum| sum.tally.scope() == scope).for_each(|sum| sum.missing = Some(why));
    }

    fn end(self, earlier: Option<&Running<'_>>) -> Measure {
        let Running { test, left, right, .. } = self;
        let value = left.value();
        let (holds, limit) = match &test.op {
            Op::Compare(comparison, Right::Item(item)) => {
                (Value::Number(value).compares(*comparison, item), None)
            }
            Op::In(is_in, items) => {
                let number = Value::Number(value);
                let one = one_of(&number, items);
                (one.map(|one| one == *is_in), None)
            }
            Op::Compare(comparison, Right::Other(_)) => {
                let other = right.map_or(Range::unknown(NOT_BEFORE), |right| right.value());
                (value.compare(*comparison, &other), Some(other))
            }
            Op::Compare(comparison, Right::Change(change)) => {
                let was = earlier.map_or(Range::unknown(NOT_BEFORE), |earlier| earlier.left.value());
                let limit = change.of(was);
                (value.compare(*comparison, &limit), Some(limit))
            }
        };
        let worst = if holds == Some(true) { Vec::new() } else { left.worst };
        Measure {
            what: test.what.clone(),
            bound: test.bound.clone(),
            value,
            unit: left.tally.unit(),
            limit,
            holds,
            rows: left.rows,
            of: left.tally.scope().name(),
            worst,
        }
    }
}

const MAY_MISS: &str =
    "Frames that were not decoded may hold more: the report lists them (capture.not_decoded).";
const NO_ANSWERS: &str = "Only one direction was captured: what answers say is not known.";
const NOT_BEFORE: &str = "There is no earlier report to compare with.";

impl Change {
    fn of(self, was: Range) -> Range {
        let change = |number: f64| match self {
            Change::Times(_) if number.is_infinite() => number,
            Change::Times(times) => number * times,
            Change::Plus(more) => number + more,
        };
        Range { least: change(was.least), most: change(was.most), why: was.why }
    }
}

/// Which values of rows are worse.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Worse {
    High,
    Low,
}

/// Rows that become one number.
struct Sum<'r> {
    tally: &'r Tally,
    worse: Option<Worse>,
    /// Rows that were chosen.
    rows: u64,
    /// Rows that have the figure.
    values: u64,
    range: Range,
    /// For percentiles: what each row has.
    all: Vec<Range>,
    /// There may be more rows, and more in them: why.
    may_miss: Option<&'static str>,
    /// Without rows, a sum is zero.
    none_is_zero: bool,
    /// Why there are no rows.
    missing: Option<&'static str>,
    worst: Vec<Worst>,
}

impl<'r> Sum<'r> {
    fn new(tally: &'r Tally, worse: Option<Worse>, may_miss: bool) -> Sum<'r> {
        let is_of_frames = matches!(&tally.of, Of::Column(column) if column.figure.is_of_frames());
        let range = match tally.aggregate {
            Aggregate::Max => Range { least: f64::NEG_INFINITY, most: f64::NEG_INFINITY, why: None },
            Aggregate::Min => Range { least: f64::INFINITY, most: f64::INFINITY, why: None },
            _ => Range::exact(0.0),
        };
        Sum {
            tally,
            worse,
            rows: 0,
            values: 0,
            range,
            all: Vec::new(),
            may_miss: (may_miss && !is_of_frames).then_some(MAY_MISS),
            none_is_zero: false,
            missing: None,
            worst: Vec::new(),
        }
    }

    /// Whether it counts what receivers answer, by flows of answers.
    fn is_of_answers(&self) -> bool {
        const ANSWERS: [&str; 5] = ["naks", "naks.sequence", "naks.fatal", "rnr_naks", "cnps"];
        matches!(&self.tally.of, Of::Column(column) if ANSWERS.contains(&column.figure.names[0]))
            && self.tally.scope() == Scope::Flow
    }

    /// Adds a row. Whether it is chosen may not be sure.
    fn add(&mut self, row: &RowPair<'_>, is_sure: bool) {
        self.rows += 1;
        let value = match &self.tally.of {
            Of::Column(column) => column.of(&row.now).range(),
            Of::Rows(_, expr) => Some(match row_truth(expr, row) {
                Some(is_true) => Range::exact(f64::from(u8::from(is_true))),
                None => Range { why: reason(expr, row), ..Range::between(0.0, 1.0) },
            }),
        };
        let Some(value) = value else { return };
        self.values += 1;
        let why =
            self.range.why.or(value.why).or((!is_sure).then_some("It is not known which rows are chosen."));
        let Range { least, most, .. } = self.range;
        self.range = match self.tally.aggregate {
            Aggregate::Max => Range {
                least: if is_sure { least.max(value.least) } else { least },
                most: most.max(value.most),
                why,
            },
            Aggregate::Min => Range {
                least: least.min(value.least),
                most: if is_sure { most.min(value.most) } else { most },
                why,
            },
            _ => {
                let value = if is_sure { value } else { Range { least: value.least.min(0.0), ..value } };
                Range { why, ..self.range.plus(value) }
            }
        };
        if matches!(self.tally.aggregate, Aggregate::P50 | Aggregate::P99) {
            self.all.push(if is_sure {
                value
            } else {
                Range::unknown("It is not known which rows are chosen.")
            });
        }
        self.show(row, value);
    }

    /// Keeps the row if it is one of the worst.
    fn show(&mut self, row: &RowPair<'_>, value: Range) {
        let Some(worse) = self.worse else { return };
        if worse == Worse::High && value.most == 0.0 || matches!(row.now, Subject::Capture(_)) {
            return;
        }
        let order = |a: &Range, b: &Range| match worse {
            Worse::High => b.least.total_cmp(&a.least).then(b.most.total_cmp(&a.most)),
            Worse::Low => a.most.total_cmp(&b.most).then(a.least.total_cmp(&b.least)),
        };
        let at = self.worst.partition_point(|other| order(&other.value, &value) != Ordering::Greater);
        if at < MOST_SHOWN {
            let figures = match &self.tally.of {
                Of::Rows(_, expr) => figures(expr, row),
                Of::Column(_) => Vec::new(),
            };
            let is_flow = matches!(row.now, Subject::Flow(..));
            let frames = match row.now {
                Subject::Pause(pause) => vec![pause.first_frame],
                _ => Vec::new(),
            };
            let worst = Worst { row: row.at, name: row.now.label(), value, frames, figures, is_flow };
            self.worst.insert(at, worst);
            self.worst.truncate(MOST_SHOWN);
        }
    }

    fn value(&self) -> Range {
        let seen = self.seen();
        let Some(reason) = self.may_miss else { return seen };
        let why = seen.why.or(Some(reason));
        match self.tally.aggregate {
            Aggregate::P50 | Aggregate::P99 => Range::unknown(reason),
            Aggregate::Min => Range { least: seen.least.min(0.0), why, ..seen },
            _ => Range { most: f64::INFINITY, why, ..seen },
        }
    }

    /// The number, of the rows that there are.
    fn seen(&self) -> Range {
        let all = |of: fn(&Range) -> f64, part: f64| {
            let mut all: Vec<f64> = self.all.iter().map(of).collect();
            all.sort_by(f64::total_cmp);
            let rank = (all.len() as f64 * part).ceil() as usize;
            all.get(rank.max(1) - 1).copied().unwrap_or(0.0)
        };
        let part = |part| Range {
            least: all(|range| range.least, part),
            most: all(|range| range.most, part),
            why: self.range.why,
        };
        match self.tally.aggregate {
            Aggregate::Sum if self.rows == 0 && self.none_is_zero => self.range,
            _ if self.rows == 0 => {
                Range::unknown(self.missing.unwrap_or("There are no such rows in this capture."))
            }
            Aggregate::Count | Aggregate::Any | Aggregate::All | Aggregate::None => self.range,
            _ if self.values == 0 => Range::unknown("No row has this figure: there was nothing to measure."),
            Aggregate::P50 => part(0.5),
            Aggregate::P99 => part(0.99),
            // Rows that may not be chosen leave no least or most.
            Aggregate::Max if self.range.least.is_infinite() => Range { least: 0.0, ..self.range },
            _ => self.range,
        }
    }
}

/// The frames of the flows that are shown.
fn show_frames(measures: &mut [Vec<Measure>], report: &View<'_>) {
    let shown = |measures: &mut [Vec<Measure>], each: &mut dyn FnMut(&mut Worst)| {
        let rows = measures.iter_mut().flatten().flat_map(|measure| &mut measure.worst);
        rows.filter(|worst| worst.is_flow).for_each(each);
    };
    let mut frames: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    shown(measures, &mut |worst| _ = frames.insert(worst.row, Vec::new()));
    if frames.is_empty() {
        return;
    }
    for finding in &report.head.findings {
        if let Some(frames) = finding.flow.and_then(|flow| frames.get_mut(&flow)) {
            frames.extend(&finding.frames);
        }
    }
    // A NAK is a frame of the flow that answers.
    let opposite = |at: usize| {
        let [a, b] = report.connections.row(report.flows.row(at)?.connection? as usize)?.flows;
        Some(if a == at { b } else { a })
    };
    let answers: BTreeMap<usize, usize> = frames.keys().filter_map(|&at| Some((opposite(at)?, at))).collect();
    report.episodes.iter().for_each(|episode| {
        if let Some(frames) = frames.get_mut(&episode.flow).filter(|frames| frames.len() < 1000) {
            frames.extend(episode.nak_frame);
            frames.push(episode.first_retransmit_frame);
        }
        let answer = answers.get(&episode.flow).and_then(|at| frames.get_mut(at));
        if let Some(frames) = answer.filter(|frames| frames.len() < 1000) {
            frames.extend(episode.nak_frame);
        }
    });
    for frames in frames.values_mut() {
        frames.sort_unstable();
        frames.dedup();
        frames.truncate(MOST_SHOWN);
    }
    shown(measures, &mut |worst| worst.frames = frames.get(&worst.row).cloned().unwrap_or_default());
}

/// Whether an expression is true, where tests may be undecided. All tests are asked, from left to right.
fn truth<T>(expr: &Expr<T>, test: &mut impl FnMut(&T) -> Option<bool>) -> Option<bool> {
    match expr {
        Expr::Or(exprs) => decide(true, exprs.iter().map(|expr| truth(expr, test))),
        Expr::And(exprs) => decide(false, exprs.iter().map(|expr| truth(expr, test))),
        Expr::Not(expr) => truth(expr, test).map(|is| !is),
        Expr::Test(one) => test(one),
    }
}

/// One part that is `by` decides; else one that is undecided leaves it open.
fn decide(by: bool, parts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let (mut decides, mut is_open) = (false, false);
    for part in parts {
        decides |= part == Some(by);
        is_open |= part.is_none();
    }
    match (decides, is_open) {
        (true, _) => Some(by),
        (false, true) => None,
        (false, false) => Some(!by),
    }
}

fn row_truth(expr: &Expr<Test<Column>>, row: &RowPair<'_>) -> Option<bool> {
    truth(expr, &mut |test: &Test<Column>| {
        // A figure of transfers is asked of transfers only.
        if !row.now.is_of(test.left.scope()) {
            return Some(false);
        }
        let value = test.left.of(&row.now);
        match &test.op {
            Op::Compare(comparison, Right::Item(item)) => value.compares(*comparison, item),
            Op::In(is_in, items) => one_of(&value, items).map(|one| one == *is_in),
            Op::Compare(comparison, Right::Other(other)) => match (value.range(), other.of(&row.now).range())
            {
                (Some(value), Some(other)) => value.compare(*comparison, &other),
                _ => Some(false),
            },
            Op::Compare(comparison, Right::Change(change)) => {
                let was = row.was.as_ref().and_then(|was| test.left.of(was).range());
                value.range()?.compare(*comparison, &change.of(was?))
            }
        }
    })
}

fn one_of(value: &Value<'_>, items: &[Operand]) -> Option<bool> {
    decide(true, items.iter().map(|item| value.compares(Comparison::Equal, item)))
}

/// Why an expression over a row is undecided.
fn reason(expr: &Expr<Test<Column>>, row: &RowPair<'_>) -> Option<&'static str> {
    let mut why = None;
    each(expr, &mut |test| why = why.or(test.left.of(&row.now).range().and_then(|range| range.why)));
    why.or(Some("The earlier report does not have this row."))
}

/// The numbers of a row that an expression asks for.
fn figures(expr: &Expr<Test<Column>>, row: &RowPair<'_>) -> Vec<(String, String)> {
    let mut figures = Vec::new();
    each(expr, &mut |test| {
        if let Some(range) = test.left.of(&row.now).range().filter(|_| figures.len() < 8) {
            let figure = (test.what.clone(), test.left.figure.unit.show_range(&range));
            if !figures.contains(&figure) {
                figures.push(figure);
            }
        }
    });
    figures
}
