//! The trait of renderers, and the text that they may write.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use super::View;

/// Writes a report in some form. It needs nothing but the report: a report that was read back from JSON gives the same output.
///
/// Names in a report come from captures, so they may contain anything. A renderer must not write their control characters.
pub trait Renderer {
    /// Writes the report.
    ///
    /// # Errors
    /// What `out` fails with.
    fn render(&mut self, report: &View<'_>, out: &mut dyn Write) -> io::Result<()>;
}

/// Text that is safe for a terminal: "?" replaces control characters, also line ends, and characters that
/// change the direction of writing.
pub fn clean(text: &str) -> Cow<'_, str> {
    let steers = |c: char| c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    // Most texts are plain.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    match !is_plain && text.contains(steers) {
        false => Cow::Borrowed(text),
        true => Cow::Owned(text.chars().map(|c| if steers(c) { '?' } else { c }).collect()),
    }
}
