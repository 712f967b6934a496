//! Outcomes as annotations of GitHub's workflows: commands on standard output.

use std::io::{self, Write};

use super::{Checked, lines};
use crate::{
    gate::{Unknown, Verdict},
    report::{Severity, clean},
};

/// Writes a command for each rule that does not hold, or is unknown.
///
/// # Errors
/// What `to` fails with.
pub fn github(to: &mut dyn Write, checked: &[Checked], unknown: Unknown) -> io::Result<()> {
    for one in checked {
        for outcome in one.outcomes.iter().filter(|outcome| outcome.verdict != Verdict::Held) {
            let command = match outcome.severity {
                _ if !outcome.fails(unknown) => "notice",
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "notice",
            };
            let title = property(&format!("{}: {}", outcome.verdict.name(), outcome.title()));
            let text = data(&lines(outcome).join("\n"));
            writeln!(to, "::{command} title={title},file={}::{text}", property(&one.file))?;
        }
    }
    Ok(())
}

/// Text behind a command. Line ends are those between our lines.
fn data(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(clean).collect();
    lines.join("\n").replace('%', "%25").replace('\n', "%0A")
}

/// Text of a property, which ends at a comma or colon.
fn property(text: &str) -> String {
    data(&clean(text)).replace(':', "%3A").replace(',', "%2C")
}
