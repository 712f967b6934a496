//! Values of figures: numbers that a report may bound only, and their comparison, which may be undecided.

use std::borrow::Cow;

use serde::Serialize;

use crate::grammar::expr::Comparison;

/// A number, as far as a report proves it. In JSON, a bound that is not known is `null`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Range {
    /// It is not less than this.
    pub least: f64,
    /// It is not more than this.
    pub most: f64,
    /// Why it is not known exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'static str>,
}

/// Why a range is one, where the report itself bounds the figure.
const BOUNDED: &str = "The capture gives bounds only.";

impl Range {
    /// A number that is known.
    pub(super) fn exact(number: f64) -> Range {
        Range { least: number, most: number, why: None }
    }

    /// A number between two others.
    pub(super) fn between(least: f64, most: f64) -> Range {
        Range { least, most, why: (least != most).then_some(BOUNDED) }
    }

    /// A number of which nothing is known, but that it is not negative.
    pub(super) fn unknown(why: &'static str) -> Range {
        Range { least: 0.0, most: f64::INFINITY, why: Some(why) }
    }

    /// Whether it is known.
    pub fn is_exact(&self) -> bool {
        self.least == self.most
    }

    pub(super) fn plus(self, other: Range) -> Range {
        Range { least: self.least + other.least, most: self.most + other.most, why: self.why.or(other.why) }
    }

    /// How `self` compares with `other`; `None` where the bounds do not decide it.
    pub(super) fn compare(&self, comparison: Comparison, other: &Range) -> Option<bool> {
        let below = |a: &Range, b: &Range| decided(a.most < b.least, a.least >= b.most);
        match comparison {
            Comparison::Less => below(self, other),
            Comparison::Greater => below(other, self),
            Comparison::AtMost => below(other, self).map(|is_above| !is_above),
            Comparison::AtLeast => below(self, other).map(|is_below| !is_below),
            Comparison::Equal => decided(
                self.is_exact() && other.is_exact() && self.least == other.least,
                self.most < other.least || self.least > other.most,
            ),
            Comparison::NotEqual => self.compare(Comparison::Equal, other).map(|is_equal| !is_equal),
        }
    }
}

fn decided(yes: bool, no: bool) -> Option<bool> {
    match (yes, no) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// What a row has for a figure.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Number(Range),
    /// Several numbers at once, as the DSCPs of a flow.
    Several(Vec<f64>),
    Word(Cow<'a, str>),
    /// The row has no such figure.
    Absent,
}

impl Value<'_> {
    pub(super) fn exact(number: u64) -> Self {
        Value::Number(Range::exact(number as f64))
    }

    pub(super) fn between(least: u64, most: u64) -> Self {
        Value::Number(Range::between(least as f64, most as f64))
    }

    pub(super) fn unknown(why: &'static str) -> Self {
        Value::Number(Range::unknown(why))
    }

    pub(super) fn several<T: Copy + Into<f64>>(numbers: &[T]) -> Self {
        Value::Several(numbers.iter().map(|&number| number.into()).collect())
    }

    /// The number, if it is one.
    pub(super) fn range(&self) -> Option<Range> {
        match self {
            Value::Number(range) => Some(*range),
            _ => None,
        }
    }

    /// Whether it compares so with an operand. Of several numbers one must; for `!=`, all.
    pub(super) fn compares(&self, comparison: Comparison, with: &Item) -> Option<bool> {
        match (self, with) {
            (Value::Absent, _) => Some(false),
            (Value::Number(range), Item::Number(low, high)) => {
                let range_of = Range { least: *low, most: *high, why: None };
                match comparison {
                    // A range of values holds what lies in it.
                    Comparison::Equal => decided(
                        range.least >= *low && range.most <= *high,
                        range.most < *low || range.least > *high,
                    ),
                    Comparison::NotEqual => self.compares(Comparison::Equal, with).map(|is_equal| !is_equal),
                    _ => range.compare(comparison, &range_of),
                }
            }
            (Value::Several(numbers), Item::Number(..)) => {
                let one = |number: &f64| {
                    Value::Number(Range::exact(*number)).compares(comparison, with) == Some(true)
                };
                Some(match comparison {
                    Comparison::NotEqual => numbers.iter().all(one),
                    _ => numbers.iter().any(one),
                })
            }
            (Value::Word(word), Item::Word(other)) => {
                Some((word == other) == (comparison == Comparison::Equal))
            }
            _ => Some(false),
        }
    }
}

/// What a figure is compared with.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    /// From one number to another, both included; mostly the same one twice.
    Number(f64, f64),
    Word(String),
}
