//! Gates: rules that a report must keep, for acceptance tests and continuous integration.
//!
//! A rule compares figures of flows, connections, pauses or the capture with limits: `retransmits == 0 where dscp in [26, 46]`.
//! Its expressions are those of [filters](crate::filter). A figure alone stands for many rows: it is their sum, the largest or the
//! smallest, as [`Figure::natural`] says; `sum`, `max`, `min`, `p50` and `p99` say it, and `count`, `any`, `all` and `none` count rows:
//! `all(ack_rtt.p99 < 10us or retransmits == 0)`.
//!
//! A capture may bound a figure, or not show it at all. Then a rule holds if it holds for all values that the figure may have, and does not
//! hold if it holds for none of them; else it is [unknown](Verdict::Unknown). So is a rule about rows of which there are none.
//!
//! ```
//! use rdmawire::{gate::{Rule, Verdict, check}, report::Report};
//! let report = Report::default();
//! let rule = Rule::parse("capture.packets > 0 and retransmits == 0")?;
//! assert_eq!(check(&[rule], &report.view(), None)[0].verdict, Verdict::Violated);
//! # Ok::<(), rdmawire::grammar::Error>(())
//! ```

mod before;
mod change;
mod evaluate;
#[cfg(feature = "toml")]
mod file;
mod rule;
mod value;
pub mod write;

use serde::Serialize;

pub use crate::report::figure::{Figure, Natural, Range, Scope, Unit};
pub use before::Before;
pub use change::{Changed, ChangedFinding, ChangedFlow, Changes, changes};
pub use evaluate::{Measure, Worst};
pub use rule::Rule;

use crate::report::{Severity, View};

/// What became of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It holds.
    Held,
    /// It does not hold.
    Violated,
    /// The capture does not decide it.
    Unknown,
}

impl Verdict {
    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Held => "held",
            Verdict::Violated => "violated",
            Verdict::Unknown => "unknown",
        }
    }
}

/// A rule, and what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The rule's name.
    pub name: Option<String>,
    /// How serious it is if the rule does not hold.
    pub severity: Severity,
    /// The rule as it was written.
    pub rule: String,
    /// Whether it holds.
    pub verdict: Verdict,
    /// Its comparisons, from left to right.
    pub measures: Vec<Measure>,
}

impl Outcome {
    /// Whether a gate fails by it; `pass` lets unknown rules pass.
    pub fn fails(&self, unknown: Unknown) -> bool {
        match self.verdict {
            Verdict::Held => false,
            Verdict::Violated => true,
            Verdict::Unknown => unknown == Unknown::Fail,
        }
    }

    /// The rule's name, or else its text.
    pub fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.rule)
    }
}

/// What a rule that cannot be decided does to a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// It fails.
    Fail,
    /// It passes.
    Pass,
}

/// Checks rules. Limits such as `+5%` are of an earlier report.
pub fn check(rules: &[Rule], report: &View<'_>, before: Option<&Before<'_>>) -> Vec<Outcome> {
    let measures = evaluate::measure(rules, report, before);
    let outcomes = rules.iter().zip(measures).map(|(rule, measures)| {
        let verdict = match evaluate::verdict(rule, &measures) {
            Some(true) => Verdict::Held,
            Some(false) => Verdict::Violated,
            None => Verdict::Unknown,
        };
        Outcome {
            name: rule.name.clone(),
            severity: rule.severity,
            rule: rule.text().to_owned(),
            verdict,
            measures,
        }
    });
    outcomes.collect()
}

/// The names of all figures that a rule may ask for, with their parts.
pub fn names() -> impl Iterator<Item = String> {
    crate::report::figure::Column::all().map(|(name, _)| name)
}
