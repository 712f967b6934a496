//! Outcomes of gates as text, JSON, JUnit, SARIF and annotations. Names in them come from captures: no form passes their control
//! characters or markup on.

mod github;
mod junit;
mod sarif;
mod text;

use std::io::{self, Write};

use serde::Serialize;

use super::{Changes, Outcome, Verdict};
use crate::report::json as report_json;

pub use github::github;
pub use junit::{is_junit, junit};
pub use sarif::{is_sarif, sarif};
use text::lines;
pub use text::{changes, text};

/// The outcomes for one capture or report.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// The name of the file.
    pub file: String,
    /// One for each rule.
    pub outcomes: Vec<Outcome>,
}

impl Checked {
    /// Rules with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.verdict == verdict).count()
    }
}

/// The name and number of the JSON form.
pub const SCHEMA: &str = "rdmawire.gate/1";

/// Writes the outcomes, and what changed, as one JSON object on a line.
///
/// # Errors
/// What `to` fails with.
pub fn json(to: &mut dyn Write, checked: &[Checked], changes: Option<&Changes>) -> io::Result<()> {
    #[derive(Serialize)]
    struct Json<'a> {
        schema: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        changes: Option<&'a Changes>,
        checked: &'a [Checked],
    }
    report_json::write(to, &Json { schema: SCHEMA, changes, checked })?;
    writeln!(to)
}
