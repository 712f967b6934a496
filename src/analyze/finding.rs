//! What stands out, in plain words.

use crate::report::analysis::Analysis;

/// Look through a report for what a person would want to be told of.
pub(crate) fn find(report: &mut Analysis) {
    let _ = report;
}
