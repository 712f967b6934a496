//! Values of figures: numbers that a report may bound only, words, or nothing.

use std::borrow::Cow;

use serde::Serialize;

use crate::report::{Bounds, Reason, Why};

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

/// Why a quantile is one.
const MANY: &str = "So many values are counted in a histogram, which tells values apart to about 1 %.";

impl Range {
    pub(crate) fn exact(number: f64) -> Range {
        Range { least: number, most: number, why: None }
    }

    /// A number between two others.
    pub(crate) fn between(least: f64, most: f64) -> Range {
        Range { least, most, why: (least != most).then_some(BOUNDED) }
    }

    /// A number of which nothing is known, but that it is not negative.
    pub(crate) fn unknown(why: &'static str) -> Range {
        Range { least: 0.0, most: f64::INFINITY, why: Some(why) }
    }

    /// Whether it is known.
    pub fn is_exact(&self) -> bool {
        self.least == self.most
    }

    /// Whether nothing is known of it.
    pub(crate) fn is_unknown(&self) -> bool {
        self.least <= 0.0 && self.most.is_infinite()
    }

    /// Whether it may be nothing, and is not more than a bound says.
    #[cfg(feature = "cli")]
    pub(crate) fn is_possible_only(&self) -> bool {
        self.least <= 0.0 && self.most.is_finite()
    }

    pub(crate) fn plus(self, other: Range) -> Range {
        Range { least: self.least + other.least, most: self.most + other.most, why: self.why.or(other.why) }
    }
}

/// What a row has for a figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Number(Range),
    /// Several numbers at once, as the DSCPs of a flow.
    Several(Vec<f64>),
    Word(Cow<'a, str>),
    /// The row has no such figure.
    Absent,
}

impl Value<'_> {
    pub(crate) fn exact(number: u64) -> Self {
        Value::Number(Range::exact(number as f64))
    }

    pub(crate) fn between(least: u64, most: u64) -> Self {
        Value::Number(Range::between(least as f64, most as f64))
    }

    /// A quantile between two values.
    pub(crate) fn quantile([least, most]: [u64; 2]) -> Self {
        let why = (least != most).then_some(MANY);
        Value::Number(Range { least: least as f64, most: most as f64, why })
    }

    pub(crate) fn unknown(why: &'static str) -> Self {
        Value::Number(Range::unknown(why))
    }

    pub(crate) fn several<T: Copy + Into<f64>>(numbers: &[T]) -> Self {
        Value::Several(numbers.iter().map(|&number| number.into()).collect())
    }

    /// A figure that may be missing, for the reason that the row has.
    pub(super) fn given(number: Option<u64>, why: &Why, field: &str) -> Self {
        match (number, why.get(field)) {
            (Some(number), _) => Value::exact(number),
            (None, Some(reason)) => Value::unknown(reason.meaning()),
            (None, None) => Value::Absent,
        }
    }

    /// Bounds that may be missing.
    pub(super) fn bounds(bounds: Option<Bounds>, why: Reason) -> Self {
        bounds.map_or(Value::unknown(why.meaning()), |[least, most]| Value::between(least, most))
    }

    /// The number, if it is one.
    pub(crate) fn range(&self) -> Option<Range> {
        match self {
            Value::Number(range) => Some(*range),
            _ => None,
        }
    }
}
