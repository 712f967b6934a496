//! Reports as JSON: a report of a million flows is two gigabytes of names and small numbers. Where `serde_json` looks
//! for what to escape in every name and hands every bracket to the writer, this appends to a text, which it hands on
//! in large pieces; the bytes are the same.

use std::{
    fmt::{self, Display},
    io::{self, Write},
};

use serde::ser::{
    self, Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple, Serializer,
};

/// A value as JSON on a line.
pub(super) fn write_json<T: Serialize>(out: &mut dyn Write, value: &T) -> io::Result<()> {
    to_json(out, value)?;
    writeln!(out)
}

/// A value as JSON.
pub(super) fn to_json<T: Serialize>(out: &mut dyn Write, value: &T) -> io::Result<()> {
    let mut json = Json { text: vec![0; 2 * PIECE], used: 0, out };
    value.serialize(&mut json).map_err(|Error(error)| error)?;
    json.out.write_all(&json.text[..json.used])
}

/// Bytes of text that are handed on at once, when a row of a list ends behind them.
const PIECE: usize = 1 << 16;

struct Json<'a> {
    text: Vec<u8>,
    used: usize,
    out: &'a mut dyn Write,
}

#[derive(Debug)]
struct Error(io::Error);

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Error {}

impl ser::Error for Error {
    fn custom<T: Display>(what: T) -> Error {
        Error(io::Error::other(what.to_string()))
    }
}

type Done = Result<(), Error>;

impl Json<'_> {
    /// The next bytes of the text.
    #[inline(always)]
    fn room(&mut self, len: usize) -> &mut [u8] {
        let from = self.used;
        self.used += len;
        if self.used > self.text.len() {
            self.grow();
        }
        &mut self.text[from..from + len]
    }

    #[cold]
    fn grow(&mut self) {
        self.text.resize(2 * self.used, 0);
    }

    #[inline(always)]
    fn raw(&mut self, text: &[u8]) {
        self.room(text.len()).copy_from_slice(text);
    }

    #[inline]
    fn number(&mut self, mut n: u64) {
        if n < 10 {
            self.room(1)[0] = b'0' + n as u8;
            return;
        }
        let mut digits = [0; 20];
        let mut at = digits.len();
        while n > 0 {
            at -= 1;
            digits[at] = b'0' + (n % 10) as u8;
            n /= 10;
        }
        self.raw(&digits[at..]);
    }

    #[inline]
    fn string(&mut self, text: &str) -> Done {
        if text.bytes().fold(false, |any, byte| any | must_be_looked_at(byte)) {
            return self.other(text);
        }
        let room = self.room(text.len() + 2);
        room[0] = b'"';
        room[1..=text.len()].copy_from_slice(text.as_bytes());
        room[text.len() + 1] = b'"';
        Ok(())
    }

    /// What is seldom in a report.
    #[cold]
    fn other(&mut self, value: impl Serialize) -> Done {
        let mut text = Vec::new();
        let mut json = serde_json::Serializer::with_formatter(&mut text, Plain);
        value.serialize(&mut json).map_err(|error| Error(error.into()))?;
        self.raw(&text);
        Ok(())
    }

    /// Between rows of a list. The last byte stays: it may have to give way.
    #[inline]
    fn hand_on(&mut self) -> Done {
        if self.used <= PIECE {
            return Ok(());
        }
        let last = self.used - 1;
        self.out.write_all(&self.text[..last]).map_err(Error)?;
        self.text[0] = self.text[last];
        self.used = 1;
        Ok(())
    }
}

/// JSON asks for ASCII's control characters to be escaped, terminals obey others too: DEL, which is 7f, and those beyond
/// ASCII, c2 80 to c2 9f. Most texts have none of these bytes.
fn must_be_looked_at(byte: u8) -> bool {
    byte < b' ' || matches!(byte, b'"' | b'\\' | 0x7f | 0xc2)
}

/// Escapes all control characters.
struct Plain;

impl serde_json::ser::Formatter for Plain {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, text: &str) -> io::Result<()> {
        let mut rest = text;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| c.is_control()) {
            write!(writer, "{}\\u{:04x}", &rest[..at], c as u32)?;
            rest = &rest[at + c.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }
}

/// A list or an object that is being written: a comma behind each member, for the last of which the end is put.
struct Members<'j, 'a> {
    json: &'j mut Json<'a>,
    end: u8,
}

impl<'j, 'a> Members<'j, 'a> {
    #[inline(always)]
    fn begin(json: &'j mut Json<'a>, [begin, end]: [u8; 2]) -> Result<Self, Error> {
        json.raw(&[begin]);
        Ok(Members { json, end })
    }

    #[inline(always)]
    fn value(&mut self, value: &(impl Serialize + ?Sized)) -> Done {
        value.serialize(&mut *self.json)?;
        self.json.raw(b",");
        Ok(())
    }

    #[inline(always)]
    fn end(self) -> Done {
        let json = self.json;
        json.used -= (json.text[json.used - 1] == b',') as usize;
        json.raw(&[self.end]);
        Ok(())
    }
}

impl SerializeSeq for Members<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        self.value(value)?;
        self.json.hand_on()
    }

    fn end(self) -> Done {
        Members::end(self)
    }
}

impl SerializeTuple for Members<'_, '_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        self.value(value)
    }

    #[inline]
    fn end(self) -> Done {
        Members::end(self)
    }
}

impl SerializeMap for Members<'_, '_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Done {
        key.serialize(&mut *self.json)?;
        self.json.raw(b":");
        Ok(())
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        self.value(value)
    }

    #[inline]
    fn end(self) -> Done {
        Members::end(self)
    }
}

impl SerializeStruct for Members<'_, '_> {
    type Ok = ();
    type Error = Error;

    /// Names of fields have nothing to escape.
    #[inline(always)]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Done {
        let room = self.json.room(name.len() + 3);
        room[0] = b'"';
        room[1..=name.len()].copy_from_slice(name.as_bytes());
        room[name.len() + 1..].copy_from_slice(b"\":");
        self.value(value)
    }

    #[inline]
    fn end(self) -> Done {
        Members::end(self)
    }
}

macro_rules! numbers {
    ($($name:ident: $type:ty),*) => { $(
        #[inline]
        fn $name(self, n: $type) -> Done {
            self.number(n as u64);
            Ok(())
        }
    )* };
}

macro_rules! signed {
    ($($name:ident: $type:ty),*) => { $(
        #[inline]
        fn $name(self, n: $type) -> Done {
            if n < 0 {
                self.raw(b"-");
            }
            self.number(n.unsigned_abs() as u64);
            Ok(())
        }
    )* };
}

impl<'j, 'a> Serializer for &'j mut Json<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Members<'j, 'a>;
    type SerializeTuple = Members<'j, 'a>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Members<'j, 'a>;
    type SerializeStruct = Members<'j, 'a>;
    type SerializeStructVariant = Impossible<(), Error>;

    numbers! { serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64 }
    signed! { serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64 }

    fn serialize_f32(self, x: f32) -> Done {
        self.other(x)
    }

    fn serialize_f64(self, x: f64) -> Done {
        self.other(x)
    }

    fn serialize_bool(self, is: bool) -> Done {
        self.raw(if is { "true" } else { "false" }.as_bytes());
        Ok(())
    }

    fn serialize_char(self, c: char) -> Done {
        self.other(c)
    }

    #[inline]
    fn serialize_str(self, text: &str) -> Done {
        self.string(text)
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Done {
        bytes.serialize(self)
    }

    #[inline]
    fn serialize_none(self) -> Done {
        self.serialize_unit()
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Done {
        value.serialize(self)
    }

    #[inline]
    fn serialize_unit(self) -> Done {
        self.raw(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Done {
        self.serialize_unit()
    }

    #[inline]
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Done {
        self.string(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Done {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Done {
        let mut members = Members::begin(self, *b"{}")?;
        members.serialize_field(variant, value)?;
        members.end()
    }

    #[inline]
    fn serialize_seq(self, _: Option<usize>) -> Result<Members<'j, 'a>, Error> {
        Members::begin(self, *b"[]")
    }

    #[inline]
    fn serialize_tuple(self, _: usize) -> Result<Members<'j, 'a>, Error> {
        Members::begin(self, *b"[]")
    }

    #[inline]
    fn serialize_map(self, _: Option<usize>) -> Result<Members<'j, 'a>, Error> {
        Members::begin(self, *b"{}")
    }

    #[inline(always)]
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Members<'j, 'a>, Error> {
        Members::begin(self, *b"{}")
    }

    fn serialize_tuple_struct(self, name: &'static str, _: usize) -> Result<Impossible<(), Error>, Error> {
        Err(ser::Error::custom(name))
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Impossible<(), Error>, Error> {
        Err(ser::Error::custom(name))
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Impossible<(), Error>, Error> {
        Err(ser::Error::custom(name))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[derive(serde::Serialize)]
    struct All<'a> {
        none: Option<u8>,
        some: Option<&'a str>,
        least: i64,
        most: u64,
        pair: [u32; 2],
        share: f64,
        whole: f64,
        nan: f64,
        empty: Vec<u8>,
        is: bool,
        map: BTreeMap<String, Vec<BTreeMap<u8, u8>>>,
    }

    fn all(text: &str) -> All<'_> {
        All {
            none: None,
            some: Some(text),
            least: i64::MIN,
            most: u64::MAX,
            pair: [9, 10],
            share: 0.1 + 0.2,
            whole: 1e21,
            nan: f64::NAN,
            empty: Vec::new(),
            is: true,
            map: [(text.to_owned(), Vec::new()), ("é→".into(), vec![BTreeMap::new()])].into(),
        }
    }

    fn written(value: &impl Serialize) -> String {
        let mut text = Vec::new();
        to_json(&mut text, value).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn it_is_what_serde_json_writes() {
        for text in ["", "plain", "a \"quoted\" \\ one", "line\nfeed\u{1}", "{", "["] {
            let one = all(text);
            assert_eq!(written(&one), serde_json::to_string(&one).unwrap());
        }
        // More than is handed on at once.
        let many: Vec<_> = (0..1000).map(|_| all("row")).collect();
        assert_eq!(written(&many), serde_json::to_string(&many).unwrap());
    }

    #[test]
    fn control_characters_beyond_ascii_are_escaped_too() {
        assert_eq!(written(&"\u{9b}\u{7f}é\u{a0}"), "\"\\u009b\\u007fé\u{a0}\"");
    }
}
