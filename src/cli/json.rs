//! Reports as JSON. A report of a million flows is two gigabytes of names and small numbers, which come in pieces of a few
//! bytes: they are put together before they are handed on.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;

/// A value as JSON on a line.
pub(super) fn write_json<T: Serialize>(out: &mut dyn Write, value: &T) -> io::Result<()> {
    to_json(out, value)?;
    writeln!(out)
}

/// A value as JSON.
pub(super) fn to_json<T: Serialize>(out: &mut dyn Write, value: &T) -> io::Result<()> {
    let mut pieces = Pieces { text: Vec::with_capacity(2 * PIECE), out };
    value.serialize(&mut Serializer::new(&mut pieces))?;
    pieces.hand_on()
}

/// Bytes after which a text is handed on.
const PIECE: usize = 1 << 16;

/// A text that is handed on in large pieces, with every control character escaped: JSON asks for those of ASCII only, and
/// terminals obey others too. Of a standard `BufWriter` the compiler makes a call for each bracket; with this a row took half
/// as long.
struct Pieces<'a> {
    text: Vec<u8>,
    out: &'a mut dyn Write,
}

impl Pieces<'_> {
    #[cold]
    fn hand_on(&mut self) -> io::Result<()> {
        // DEL is 7f, and the others are c2 80 to c2 9f: most texts have neither byte. Many are compared at once.
        let is_one = |byte| u8::from(byte == 0x7f) | u8::from(byte == 0xc2);
        match self.text.iter().fold(0, |any, &byte| any | is_one(byte)) {
            0 => self.out.write_all(&self.text)?,
            _ => write_escaped(self.out, &String::from_utf8_lossy(&self.text))?,
        }
        self.text.clear();
        Ok(())
    }
}

impl Write for Pieces<'_> {
    #[inline]
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.write_all(text)?;
        Ok(text.len())
    }

    #[inline]
    fn write_all(&mut self, text: &[u8]) -> io::Result<()> {
        self.text.extend_from_slice(text);
        if self.text.len() >= PIECE { self.hand_on() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.hand_on()?;
        self.out.flush()
    }
}

/// JSON has such characters in its strings only.
#[cold]
fn write_escaped(writer: &mut dyn Write, text: &str) -> io::Result<()> {
    let mut rest = text;
    while let Some((at, c)) = rest.char_indices().find(|(_, c)| c.is_control()) {
        write!(writer, "{}\\u{:04x}", &rest[..at], c as u32)?;
        rest = &rest[at + c.len_utf8()..];
    }
    writer.write_all(rest.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &impl Serialize) -> String {
        let mut text = Vec::new();
        to_json(&mut text, value).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn more_than_a_piece_is_what_serde_json_writes() {
        let many: Vec<_> = (0..30_000).map(|n| (n, "row", f64::from(n) / 7.0, Some([n]), ())).collect();
        assert_eq!(written(&many), serde_json::to_string(&many).unwrap());
    }

    #[test]
    fn control_characters_beyond_ascii_are_escaped_too() {
        let text = "\u{9b}\u{7f}é\u{a0}";
        let escaped = "\"\\u009b\\u007fé\u{a0}\"";
        assert_eq!(written(&text), escaped);
        assert_eq!(written(&serde_json::value::to_raw_value(text).unwrap()), escaped);
    }
}
