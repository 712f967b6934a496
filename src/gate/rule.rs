//! Rules, as they are written: `max(ack_rtt.p99) < 10us and retransmits == 0 where dscp in [26, 46]`.

use std::{cell::Cell, fmt};

use nom::{Parser, combinator::opt};

use super::value::Operand;
use crate::{
    dissect::Address,
    grammar::{
        Error, Parsed, did_you_mean,
        expr::{Comparison, Expr, Is, Precedence, check_length, end, expected, set, sign, token},
        fail, nearest, run, units,
    },
    report::{
        Severity,
        figure::{Column, Natural, Scope, Unit},
    },
};

/// A condition on a report.
#[derive(Clone)]
pub struct Rule {
    /// A name for it.
    pub name: Option<String>,
    /// How serious it is if it does not hold. Only errors decide over a gate.
    pub severity: Severity,
    text: String,
    pub(super) claim: Expr<Test<Tally>>,
    pub(super) choice: Option<Expr<Test<Column>>>,
}

/// Many rows as one number.
#[derive(Clone)]
pub(super) struct Tally {
    pub(super) aggregate: Aggregate,
    pub(super) of: Of,
}

#[derive(Clone)]
pub(super) enum Of {
    Column(Column),
    /// Rows of a scope for which something is true.
    Rows(Scope, Expr<Test<Column>>),
}

/// Calls `see` with each test, from left to right.
pub(super) fn each<'r, T>(expr: &'r Expr<T>, see: &mut impl FnMut(&'r T)) {
    match expr {
        Expr::Or(exprs) | Expr::And(exprs) => exprs.iter().for_each(|expr| each(expr, see)),
        Expr::Not(expr) => each(expr, see),
        Expr::Test(test) => see(test),
    }
}

/// How many rows become one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aggregate {
    Sum,
    Max,
    Min,
    P50,
    P99,
    /// Rows for which something is true.
    Count,
    Any,
    /// Rows for which it is not true are counted.
    All,
    None,
}

/// A comparison of something of the report.
#[derive(Clone)]
pub(super) struct Test<L> {
    /// What is compared, as it is written.
    pub(super) what: String,
    /// What with, as it is written: `< 10us`. Empty for `any`, `all` and `none`.
    pub(super) bound: String,
    pub(super) left: L,
    pub(super) op: Op<L>,
}

#[derive(Clone)]
pub(super) enum Op<L> {
    Compare(Comparison, Right<L>),
    /// One of these, or, if it is not so, none of them.
    In(bool, Vec<Operand>),
}

#[derive(Clone)]
pub(super) enum Right<L> {
    Item(Operand),
    Other(L),
    Change(Change),
}

/// A limit that depends on an earlier report.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// So many times what it was.
    Times(f64),
    /// So much more than it was.
    Plus(f64),
}

impl Rule {
    /// A condition that must hold.
    ///
    /// # Errors
    /// Says where the text is wrong, and what was expected.
    pub fn parse(text: &str) -> Result<Rule, Error> {
        check_length(text)?;
        let (claim, choice) = run(text, |input| {
            let scope = Scopes::default();
            let (rest, claim) =
                Expr::within(text, input, Precedence::AndFirst, &|input| claim(text, input, &scope))?;
            let (rest, Some(keyword)) = opt(sign(&["where"])).parse(rest)? else {
                return end(rest, "&&, ||, where or the end").map(|(rest, ())| (rest, (claim, None)));
            };
            scope.may_choose(keyword)?;
            let (rest, choice) =
                Expr::within(text, rest, Precedence::AndFirst, &|input| row_test(input, &scope))?;
            end(rest, "&&, || or the end").map(|(rest, ())| (rest, (claim, Some(choice))))
        })?;
        Ok(Rule { name: None, severity: Severity::Error, text: text.trim().to_owned(), claim, choice })
    }

    /// A query that must find no row, as acceptance tests for traffic generators have them.
    ///
    /// # Errors
    /// Says where the text is wrong, and what was expected.
    pub fn fail_if(query: &str) -> Result<Rule, Error> {
        check_length(query)?;
        let claim = run(query, |input| {
            let (rest, tally) = rows(query, input, Aggregate::None)?;
            end(rest, "&&, || or the end").map(|(rest, ())| (rest, quantified("none", tally)))
        })?;
        let text = format!("none({})", query.trim());
        Ok(Rule { name: None, severity: Severity::Error, text, claim: Expr::Test(claim), choice: None })
    }

    /// The rule as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it compares with an earlier report: `retransmits <= +5%`.
    pub fn is_change(&self) -> bool {
        fn changes<L>(expr: &Expr<Test<L>>) -> bool {
            let mut is_one = false;
            each(expr, &mut |test| is_one |= matches!(test.op, Op::Compare(_, Right::Change(_))));
            is_one
        }
        let mut is_one = changes(&self.claim) || self.choice.as_ref().is_some_and(changes);
        each(&self.claim, &mut |test| {
            is_one |= matches!(&test.left.of, Of::Rows(_, rows) if changes(rows));
        });
        is_one
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} {}", self.severity, self.name, self.text)
    }
}

impl Tally {
    pub(super) fn scope(&self) -> Scope {
        match &self.of {
            Of::Column(column) => column.scope(),
            Of::Rows(scope, _) => *scope,
        }
    }

    pub(super) fn unit(&self) -> Unit {
        match &self.of {
            Of::Column(column) => column.figure.unit,
            Of::Rows(..) => Unit::Count,
        }
    }
}

impl Aggregate {
    /// All of them, by name.
    pub(super) const ALL: [(&'static str, Aggregate); 9] = [
        ("sum", Aggregate::Sum),
        ("max", Aggregate::Max),
        ("min", Aggregate::Min),
        ("p50", Aggregate::P50),
        ("p99", Aggregate::P99),
        ("count", Aggregate::Count),
        ("any", Aggregate::Any),
        ("all", Aggregate::All),
        ("none", Aggregate::None),
    ];
}

/// The scopes of a rule's parts. They must fit together where rows are chosen.
#[derive(Default)]
struct Scopes {
    first: Cell<Option<Scope>>,
    /// A second one that does not fit.
    other: Cell<Option<Scope>>,
}

impl Scopes {
    fn add(&self, scope: Scope) {
        match self.first.get().map(|first| first.and(scope)) {
            None => self.first.set(Some(scope)),
            Some(Some(both)) => self.first.set(Some(both)),
            Some(None) => self.other.set(Some(scope)),
        }
    }

    fn may_choose<'a>(&self, keyword: &'a str) -> Parsed<'a, ()> {
        match (self.first.get(), self.other.get()) {
            (Some(first), Some(other)) => {
                let (first, other) = (first.name(), other.name());
                fail(keyword, format!("this rule is about {first} and {other}: write a rule for each"))
            }
            (Some(Scope::Capture), None) => {
                fail(keyword, "the rule is about the capture as a whole: there are no rows to choose")
            }
            _ => Ok((keyword, ())),
        }
    }

    /// Adds the scope of a column that stands at `name`, which must fit.
    fn fit<'a>(&self, name: &'a str, scope: Scope) -> Parsed<'a, ()> {
        self.add(scope);
        match (self.first.get(), self.other.get()) {
            (Some(first), Some(_)) => {
                let (scope, first) = (scope.name(), first.name());
                fail(name, format!("{name} is of {scope}, and the others are of {first}"))
            }
            _ => Ok((name, ())),
        }
    }
}

/// Words that are no figures.
const KEYWORDS: [&str; 6] = ["and", "or", "not", "in", "where", "eq"];

fn name<'a>(input: &'a str, what: &str) -> Parsed<'a, &'a str> {
    match token(input)? {
        (rest, token) if token.is == Is::Word && !token.is_any(&KEYWORDS) => Ok((rest, token.text)),
        _ => expected(input, what),
    }
}

fn column(input: &str) -> Parsed<'_, (&str, Column)> {
    let (rest, word) = name(input, "a figure, like retransmits")?;
    match Column::by_name(word) {
        Ok(column) => Ok((rest, (word, column))),
        Err(near) => no_figure(word, near),
    }
}

fn no_figure<'a, T>(word: &'a str, near: Vec<String>) -> Parsed<'a, T> {
    let or = did_you_mean(&near, "; `rdmawire explain gate` lists all");
    fail(word, format!("no figure has this name{or}"))
}

/// A test of a rule: figures of many rows.
fn claim<'a>(text: &str, input: &'a str, scopes: &Scopes) -> Parsed<'a, Expr<Test<Tally>>> {
    let (rest, tally) = tally(text, input)?;
    scopes.add(tally.scope());
    if let Aggregate::Any | Aggregate::All | Aggregate::None = tally.aggregate {
        return Ok((rest, Expr::Test(quantified(written(input, rest), tally))));
    }
    let other = |input: &'a str| {
        let (rest, other) = self::tally(text, input)?;
        scopes.add(other.scope());
        let unit = other.unit();
        Ok((rest, (other, unit)))
    };
    let unit = tally.unit();
    comparison(input, rest, tally, unit, other)
}

/// `any`, `all` and `none` are comparisons of numbers of rows with 0.
fn quantified(what: &str, tally: Tally) -> Test<Tally> {
    let comparison = if tally.aggregate == Aggregate::Any { Comparison::Greater } else { Comparison::Equal };
    let op = Op::Compare(comparison, Right::Item(Operand::Number(0.0, 0.0)));
    Test { what: what.to_owned(), bound: String::new(), left: tally, op }
}

fn tally<'a>(text: &str, input: &'a str) -> Parsed<'a, Tally> {
    let (rest, word) = name(input, "a figure, like retransmits, or max, any, all, …")?;
    let (inside, opening) = opt(sign(&["("])).parse(rest)?;
    let aggregate = Aggregate::ALL.iter().find(|(name, _)| *name == word).map(|(_, aggregate)| *aggregate);
    let (rest, tally) = match (opening, aggregate) {
        (None, _) => {
            let (rest, (word, column)) = column(input)?;
            let aggregate = match column.figure.natural {
                Natural::Sum => Aggregate::Sum,
                Natural::Max => Aggregate::Max,
                Natural::Min => Aggregate::Min,
                Natural::Choice => {
                    let message = format!(
                        "{word} chooses rows: it belongs behind where, or into any, all, none or count"
                    );
                    return fail(word, message);
                }
            };
            return Ok((rest, Tally { aggregate, of: Of::Column(column) }));
        }
        (Some(_), None) => {
            let near = nearest(word, Aggregate::ALL.iter().map(|(name, _)| (*name).to_owned()));
            return fail(word, format!("there is no such aggregate{}", did_you_mean(&near, "")));
        }
        (Some(_), Some(Aggregate::Count | Aggregate::Any | Aggregate::All | Aggregate::None)) => {
            rows(text, inside, aggregate.unwrap_or(Aggregate::Count))?
        }
        (Some(_), Some(aggregate)) => {
            let (rest, (word, column)) = column(inside)?;
            if !column.figure.unit.is_number() || column.figure.natural == Natural::Choice {
                return fail(
                    word,
                    "this is no quantity: it belongs behind where, or into any, all, none or count",
                );
            }
            (rest, Tally { aggregate, of: Of::Column(column) })
        }
    };
    match opt(sign(&[")"])).parse(rest)? {
        (rest, Some(_)) => Ok((rest, tally)),
        (rest, None) => expected(rest, "&&, || or )"),
    }
}

/// Rows for which an expression is true, or, for `all`, not true.
fn rows<'a>(text: &str, input: &'a str, aggregate: Aggregate) -> Parsed<'a, Tally> {
    let scopes = Scopes::default();
    let (rest, expr) = Expr::within(text, input, Precedence::AndFirst, &|input| row_test(input, &scopes))?;
    let expr = if aggregate == Aggregate::All { Expr::Not(Box::new(expr)) } else { expr };
    let scope = scopes.first.get().unwrap_or(Scope::Capture);
    Ok((rest, Tally { aggregate, of: Of::Rows(scope, expr) }))
}
fn row_test<'a>(input: &'a str, scopes: &Scopes) -> Parsed<'a, Expr<Test<Column>>> {
    let one = |input: &'a str| {
        let (rest, (word, column)) = column(input)?;
        scopes.fit(word, column.scope())?;
        Ok((rest, (column, column.figure.unit)))
    };
    let (rest, (column, unit)) = one(input)?;
    comparison(input, rest, column, unit, one)
}

/// What follows the left side of a test. `other` reads a figure on the right side.
fn comparison<'a, L>(
    from: &'a str,
    input: &'a str,
    left: L,
    unit: Unit,
    other: impl FnOnce(&'a str) -> Parsed<'a, (L, Unit)>,
) -> Parsed<'a, Expr<Test<L>>> {
    let what = written(from, input).to_owned();
    let (value, sign) = token(input)?;
    let (rest, op) = if let Some(comparison) = Comparison::of(&sign) {
        if !unit.is_number() && !matches!(comparison, Comparison::Equal | Comparison::NotEqual) {
            return fail(sign.text, "words have no order: compare with == or !=");
        }
        let (rest, right) = right(value, unit, other)?;
        (rest, Op::Compare(comparison, right))
    } else if sign.is_any(&["in"]) {
        let (rest, items) = set(value, |input| item(input, unit))?;
        (rest, Op::In(true, items))
    } else if sign.is_any(&["not"]) {
        let (rest, Some(_)) = opt(self::sign(&["in"])).parse(value)? else { return expected(value, "in") };
        let (rest, items) = set(rest, |input| item(input, unit))?;
        (rest, Op::In(false, items))
    } else {
        return expected(input, "==, !=, <, <=, >, >= or in");
    };
    let bound = written(input, rest).to_owned();
    Ok((rest, Expr::Test(Test { what, bound, left, op })))
}

fn right<'a, L>(
    input: &'a str,
    unit: Unit,
    other: impl FnOnce(&'a str) -> Parsed<'a, (L, Unit)>,
) -> Parsed<'a, Right<L>> {
    let (rest, token) = token(input)?;
    let text = token.text;
    if unit.is_number() && token.is == Is::Word {
        if text.starts_with(['+', '-']) {
            return match change(text, unit) {
                Ok(change) => Ok((rest, Right::Change(change))),
                Err(message) => fail(text, message),
            };
        }
        if text.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let (rest, (other, its)) = other(input)?;
            return match unit.is_like(its) {
                true => Ok((rest, Right::Other(other))),
                false => {
                    let (this, that) = (unit.example(), its.example());
                    fail(text, format!("the two do not compare: one is a {this}, the other a {that}"))
                }
            };
        }
    }
    item(input, unit).map(|(rest, item)| (rest, Right::Item(item)))
}

/// "+5%", "-10us": of what it was.
fn change(text: &str, unit: Unit) -> Result<Change, String> {
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    let size = &text[1..];
    match size.strip_suffix('%').map(|percent| percent.parse::<f64>()) {
        Some(Ok(percent)) if percent.is_finite() => {
            Ok(Change::Times((1.0 + sign * percent / 100.0).max(0.0)))
        }
        Some(_) => Err("expected a change like +5%, -3% or +20".into()),
        None => quantity(size, unit).map(|size| Change::Plus(sign * size)),
    }
}

/// A value, or a range of numbers.
fn item(input: &str, unit: Unit) -> Parsed<'_, Operand> {
    let (rest, first) = one(input, unit)?;
    let (after, Some(_)) = opt(sign(&[".."])).parse(rest)? else { return Ok((rest, first)) };
    match (first, one(after, unit)?) {
        (Operand::Number(low, _), (rest, Operand::Number(_, high))) if low <= high => {
            Ok((rest, Operand::Number(low, high)))
        }
        _ => fail(written(input, rest), "expected a range of numbers, the smaller one first"),
    }
}

fn one(input: &str, unit: Unit) -> Parsed<'_, Operand> {
    let (rest, token) = token(input)?;
    let text = match token.is {
        Is::Word => token.text,
        Is::Quoted => token.text.get(1..token.text.len() - 1).unwrap_or(""),
        _ => return expected(input, &format!("a {}", unit.example())),
    };
    let item = match unit {
        Unit::Words(all) => match all().into_iter().find(|word| word.eq_ignore_ascii_case(text)) {
            Some(word) => Ok(Operand::Word(word.to_owned())),
            None => {
                let near = nearest(text, all().into_iter().map(str::to_owned));
                Err(format!("expected one of {}{}", all().join(", "), did_you_mean(&near, "")))
            }
        },
        Unit::Address => match text.parse::<Address>() {
            Ok(address) => Ok(Operand::Word(address.to_string())),
            Err(_) => Err("expected an address like 10.0.0.1 or fe80::1".into()),
        },
        Unit::Text => Ok(Operand::Word(text.to_owned())),
        _ => quantity(text, unit).map(|number| Operand::Number(number, number)),
    };
    item.map_or_else(|message| fail(token.text, message), |item| Ok((rest, item)))
}

/// A number in a unit.
fn quantity(text: &str, unit: Unit) -> Result<f64, String> {
    let plain = || match units::integer(text) {
        Ok(number) => Some(number as f64),
        Err(_) => text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0),
    };
    let whole =
        |number: Result<u64, Error>| number.map(|n| n as f64).map_err(|error| error.message().to_owned());
    match unit {
        _ if plain() == Some(0.0) => Ok(0.0),
        Unit::Bytes => whole(units::size(text)),
        Unit::Time => whole(units::duration(text)),
        Unit::Rate => whole(units::bit_rate(text)),
        Unit::Ratio => match text.strip_suffix('%').map(str::parse::<f64>) {
            Some(percent) => percent.ok().filter(|percent| *percent >= 0.0).map(|percent| percent / 100.0),
            None => plain(),
        }
        .ok_or_else(|| "expected a ratio like 3% or 0.03".into()),
        _ => plain().ok_or_else(|| "expected a number".into()),
    }
}

/// What was read of `from`, where `rest` is left.
fn written<'a>(from: &'a str, rest: &str) -> &'a str {
    from.get(..from.len() - rest.len()).unwrap_or("").trim()
}
