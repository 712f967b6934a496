//! Figures as people read them: heads, meanings and values of columns.

use super::{
    column::{Column, Subject},
    types::{Part, Unit},
    value::{Range, Value},
};
use crate::report::{Bounds, Flow, units};

impl Column {
    /// The head of the column.
    pub(crate) fn label(&self) -> String {
        let part = self.part.and_then(|part| Part::NAMES.get(part as usize));
        part.map_or_else(|| self.figure.label.to_owned(), |part| format!("{} {part}", self.figure.label))
    }

    /// What it means.
    pub(crate) fn doc(&self) -> String {
        format!("{}{}", self.figure.doc.trim_end_matches('.'), self.part.map_or("", Part::doc))
    }

    /// The one number that tables show: quantiles that are not exact are upper bounds, counts are lower ones.
    pub(crate) fn shown(&self, range: &Range) -> f64 {
        if self.part.is_some() { range.most } else { range.least }
    }

    /// A flow's value as tables show it: empty for 0, so that other counts are easy to see, and for what is not known.
    pub(crate) fn text(&self, flow: &Flow) -> String {
        const FEW: usize = 4;
        match (self.of(&Subject::Flow(flow, None)), self.figure.unit) {
            (Value::Absent, _) => String::new(),
            (Value::Word(word), _) => word.into_owned(),
            (Value::Several(numbers), _) => {
                let more = if numbers.len() > FEW { " …" } else { "" };
                numbers.iter().take(FEW).map(f64::to_string).collect::<Vec<_>>().join(" ") + more
            }
            // What may have been lost and did not show is no trouble.
            (Value::Number(range), Unit::Bounds) if range.is_possible_only() && flow.loss_episodes() == 0 => {
                String::new()
            }
            (Value::Number(range), Unit::Bounds) => bounds(range.bounds()),
            (Value::Number(range), Unit::Count | Unit::Bytes) if range.least == 0.0 => String::new(),
            (Value::Number(range), _) if range.is_unknown() => String::new(),
            (Value::Number(range), unit) => {
                let sign = if self.part.is_some() && !range.is_exact() { "≤" } else { "" };
                format!("{sign}{}", unit.show(self.shown(&range)))
            }
        }
    }
}

/// "13", "8 to 2,678", nothing for none, "?" where nothing is known.
pub(crate) fn bounds(bounds: Option<Bounds>) -> String {
    match bounds {
        None => "?".to_owned(),
        Some([0, 0]) => String::new(),
        Some(bounds) => units::between(bounds),
    }
}

impl Range {
    /// In whole numbers; `None` if nothing is known of it.
    pub(crate) fn bounds(&self) -> Option<Bounds> {
        (!self.is_unknown()).then_some([self.least as u64, self.most as u64])
    }
}

impl Part {
    /// What it is of the figure, after the figure's meaning.
    const fn doc(self) -> &'static str {
        match self {
            Part::Min => ", the least",
            Part::P50 => ", median",
            Part::P99 => ", 99th percentile",
            Part::Max => ", the most",
        }
    }
}
