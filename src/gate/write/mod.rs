//! Outcomes of gates as text.

mod text;

use super::{Outcome, Verdict};

pub use text::text;

/// The outcomes for one capture or report.
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
