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
/// change the direction of writing or cannot be seen.
pub fn clean(text: &str) -> Cow<'_, str> {
    // Most texts are plain.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    match !is_plain && text.contains(steers) {
        false => Cow::Borrowed(text),
        true => Cow::Owned(text.chars().map(|c| if steers(c) { '?' } else { c }).collect()),
    }
}

/// Whether a terminal or a page does something at this character instead of showing it: control characters, line ends of any
/// kind, marks of the direction of writing, and characters without width, which make two names look the same.
pub fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Whether bytes have this text in them.
pub(crate) fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}
