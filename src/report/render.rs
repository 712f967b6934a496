//! What renderers have in common.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use super::View;

/// Writes a report in some form. The report is all that it needs: one that was read back from JSON gives the same.
///
/// Names in a report come from captures, so they may hold anything. What a renderer writes has no control character from them.
pub trait Renderer {
    /// Writes the report.
    ///
    /// # Errors
    /// What `out` fails with.
    fn render(&mut self, report: &View<'_>, out: &mut dyn Write) -> io::Result<()>;
}

/// Text in which no character steers a terminal: "?" stands for control characters, line ends among them, and for those that
/// change the direction of writing.
pub fn clean(text: &str) -> Cow<'_, str> {
    let steers = |c: char| c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    match text.contains(steers) {
        false => Cow::Borrowed(text),
        true => Cow::Owned(text.chars().map(|c| if steers(c) { '?' } else { c }).collect()),
    }
}
