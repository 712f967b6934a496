//! Outcomes as JUnit's XML, which continuous integration reads: a suite for each file, a test case for each rule.

use std::io::{self, Write};

use super::{Checked, lines};
use crate::{
    gate::{Unknown, Verdict},
    report::{Severity, clean},
};

/// How each file begins.
const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"rdmawire\">";

/// Whether bytes are the beginning of a file that [`junit`] wrote.
pub fn is_junit(first: &[u8]) -> bool {
    first.starts_with(HEAD.as_bytes())
}

/// Writes the outcomes. A rule that is no error never fails; what is to say of it is its output.
///
/// # Errors
/// What `to` fails with.
pub fn junit(to: &mut dyn Write, checked: &[Checked], unknown: Unknown) -> io::Result<()> {
    writeln!(to, "{HEAD}")?;
    for one in checked {
        let errors = || one.outcomes.iter().filter(|outcome| outcome.severity == Severity::Error);
        let count = |verdict| errors().filter(|outcome| outcome.verdict == verdict).count();
        let [failures, open] = [Verdict::Violated, Verdict::Unknown].map(count);
        let (errors, skipped) = if unknown == Unknown::Fail { (open, 0) } else { (0, open) };
        let (file, tests) = (xml(&one.file), one.outcomes.len());
        writeln!(
            to,
            "  <testsuite name=\"{file}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\">"
        )?;
        for outcome in &one.outcomes {
            write!(to, "    <testcase classname=\"{file}\" name=\"{}\"", xml(outcome.title()))?;
            let lines = lines(outcome);
            let (rule, text) = (xml(&outcome.rule), xml(&lines.join("\n")));
            match (outcome.verdict, outcome.severity, unknown) {
                (Verdict::Held, ..) => writeln!(to, "/>")?,
                (_, Severity::Warning | Severity::Note, _) => {
                    writeln!(
                        to,
                        "><system-out>{}: {rule}\n{text}</system-out></testcase>",
                        outcome.verdict.name()
                    )?;
                }
                (Verdict::Violated, ..) => {
                    writeln!(
                        to,
                        "><failure type=\"violated\" message=\"{rule}\">{text}</failure></testcase>"
                    )?;
                }
                (Verdict::Unknown, _, Unknown::Fail) => {
                    writeln!(to, "><error type=\"unknown\" message=\"{rule}\">{text}</error></testcase>")?;
                }
                (Verdict::Unknown, _, Unknown::Pass) => {
                    let why = xml(&lines.join("; "));
                    writeln!(to, "><skipped message=\"unknown: {why}\"/></testcase>")?;
                }
            }
        }
        writeln!(to, "  </testsuite>")?;
    }
    writeln!(to, "</testsuites>")
}

/// Text for XML, between tags or in quotes. Of control characters, XML has line ends only.
fn xml(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(clean).collect();
    lines.join("\n").chars().fold(String::new(), |mut xml, c| {
        match c {
            '&' => xml += "&amp;",
            '<' => xml += "&lt;",
            '>' => xml += "&gt;",
            '"' => xml += "&quot;",
            '\u{fffe}' | '\u{ffff}' => xml.push('?'),
            c => xml.push(c),
        }
        xml
    })
}
