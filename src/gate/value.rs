//! The comparison of figures' values, which may be undecided.

use crate::{
    grammar::expr::Comparison,
    report::figure::{Range, Value},
};

impl Range {
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

impl Value<'_> {
    /// Whether it compares so with an operand. Of several numbers one must; for `!=`, all.
    pub(super) fn compares(&self, comparison: Comparison, with: &Operand) -> Option<bool> {
        match (self, with) {
            (Value::Absent, _) => Some(false),
            (Value::Number(range), Operand::Number(low, high)) => {
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
            (Value::Several(numbers), Operand::Number(..)) => {
                let one = |number: &f64| {
                    Value::Number(Range::exact(*number)).compares(comparison, with) == Some(true)
                };
                Some(match comparison {
                    Comparison::NotEqual => numbers.iter().all(one),
                    _ => numbers.iter().any(one),
                })
            }
            (Value::Word(word), Operand::Word(other)) => {
                Some((word == other) == (comparison == Comparison::Equal))
            }
            _ => Some(false),
        }
    }
}

/// What a figure is compared with.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    /// From one number to another, both included; mostly the same one twice.
    Number(f64, f64),
    Word(String),
}
