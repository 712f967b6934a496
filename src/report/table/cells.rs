//! A row as one cell for each column. Serde hands the fields of a row over one by one, in the order of the columns, so that neither a
//! JSON object nor a string is made of each value.

use serde::{
    Serialize, Serializer,
    ser::{Impossible, SerializeMap, SerializeStruct, SerializeTuple},
};
use serde_json::{Error, Value};

use super::{Column, Kind};

/// A row.
pub(super) struct Cells {
    columns: Vec<Column>,
    place: Place,
    row: Row,
}

/// The value of a row in one column.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cell<'a> {
    Empty,
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Text(&'a str),
    /// A list, or what has no columns of its own.
    Json(&'a str),
}

/// What is kept of the values.
#[derive(Default)]
struct Row {
    cells: Vec<Kept>,
    /// Texts and JSON.
    text: String,
    /// JSON on its way there.
    json: Vec<u8>,
}

#[derive(Clone, Copy)]
enum Kept {
    Empty,
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Text(Span),
    Json(Span),
}

/// A part of the row's text.
#[derive(Clone, Copy)]
struct Span {
    from: usize,
    to: usize,
}

impl Span {
    fn of(self, text: &str) -> &str {
        text.get(self.from..self.to).unwrap_or_default()
    }
}

/// Where the values of an object, or one value, go to.
enum Place {
    /// By the names of the fields, mostly in their order.
    Object(Vec<(String, Place)>),
    Column(usize),
    /// A list, or what has no columns of its own.
    Json(usize),
    /// The items of an array of two.
    Pair([usize; 2]),
}

impl Cells {
    /// An empty row.
    pub(super) fn new(columns: Vec<Column>) -> Cells {
        let mut place = Place::Object(Vec::new());
        for (at, column) in columns.iter().enumerate() {
            place.add(column, column.path(), at);
        }
        let row = Row { cells: vec![Kept::Empty; columns.len()], ..Row::default() };
        Cells { columns, place, row }
    }

    /// The columns.
    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The values, in the order of the columns.
    pub(super) fn iter(&self) -> impl Iterator<Item = Cell<'_>> {
        self.row.cells.iter().map(|&kept| match kept {
            Kept::Empty => Cell::Empty,
            Kept::Bool(is) => Cell::Bool(is),
            Kept::Signed(number) => Cell::Signed(number),
            Kept::Unsigned(number) => Cell::Unsigned(number),
            Kept::Float(number) => Cell::Float(number),
            Kept::Text(span) => Cell::Text(span.of(&self.row.text)),
            Kept::Json(span) => Cell::Json(span.of(&self.row.text)),
        })
    }

    /// Empties all columns.
    pub(super) fn clear(&mut self) {
        self.row.cells.fill(Kept::Empty);
        self.row.text.clear();
    }

    /// Fills the columns of a row's fields. Fields without a column are passed over.
    pub(super) fn put(&mut self, row: &impl Serialize) -> Result<(), Error> {
        row.serialize(Filling { place: &self.place, row: &mut self.row })
    }
}

impl Cell<'_> {
    /// The value as JSON.
    pub(super) fn value(self) -> Result<Value, Error> {
        Ok(match self {
            Cell::Empty => Value::Null,
            Cell::Bool(is) => is.into(),
            Cell::Signed(number) => number.into(),
            Cell::Unsigned(number) => number.into(),
            Cell::Float(number) => number.into(),
            Cell::Text(text) => text.into(),
            Cell::Json(text) => serde_json::from_str(text)?,
        })
    }

    /// Adds the value as JSON text.
    #[cfg(feature = "cli")]
    pub(super) fn write_json(self, to: &mut Vec<u8>) -> Result<(), Error> {
        match self {
            Cell::Empty => to.extend_from_slice(b"null"),
            Cell::Bool(is) => serde_json::to_writer(to, &is)?,
            Cell::Signed(number) => serde_json::to_writer(to, &number)?,
            Cell::Unsigned(number) => serde_json::to_writer(to, &number)?,
            Cell::Float(number) => serde_json::to_writer(to, &number)?,
            Cell::Text(text) => serde_json::to_writer(to, text)?,
            Cell::Json(text) => to.extend_from_slice(text.as_bytes()),
        }
        Ok(())
    }
}

impl Row {
    fn set(&mut self, column: usize, value: Kept) {
        if let Some(cell) = self.cells.get_mut(column) {
            *cell = value;
        }
    }

    fn set_json(&mut self, column: usize, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        self.json.clear();
        serde_json::to_writer(&mut self.json, value)?;
        if self.json != b"null" {
            let from = self.text.len();
            self.text.push_str(&String::from_utf8_lossy(&self.json));
            self.set(column, Kept::Json(Span { from, to: self.text.len() }));
        }
        Ok(())
    }
}

impl Place {
    fn add(&mut self, column: &Column, path: &[String], number: usize) {
        let (Place::Object(fields), [name, rest @ ..]) = (self, path) else { return };
        let at = fields.iter().position(|(other, _)| other == name);
        let is_json = matches!(column.kind, Kind::Numbers | Kind::Texts | Kind::Json);
        match (at.and_then(|at| fields.get_mut(at)), rest, column.item()) {
            (Some((_, Place::Pair(pair))), [], Some(item @ 0..=1)) => pair[item] = number,
            (Some((_, inner)), ..) => inner.add(column, rest, number),
            (None, [], None) if is_json => fields.push((name.clone(), Place::Json(number))),
            (None, [], None) => fields.push((name.clone(), Place::Column(number))),
            (None, [], Some(_)) => fields.push((name.clone(), Place::Pair([number; 2]))),
            (None, ..) => {
                let mut inner = Place::Object(Vec::new());
                inner.add(column, rest, number);
                fields.push((name.clone(), inner));
            }
        }
    }

    fn fill(&self, value: &(impl Serialize + ?Sized), row: &mut Row) -> Result<(), Error> {
        match *self {
            Place::Json(column) => row.set_json(column, value),
            _ => value.serialize(Filling { place: self, row }),
        }
    }
}

/// Takes the fields of an object, the items of a pair, or the value of a column.
struct Filling<'a> {
    place: &'a Place,
    row: &'a mut Row,
}

/// The fields of an object that come one after the other.
struct Fields<'a> {
    fields: &'a [(String, Place)],
    row: &'a mut Row,
    /// Where the next field probably is.
    next: usize,
    /// Where the value of the last key goes to.
    key: Option<usize>,
}

impl Fields<'_> {
    fn find(&mut self, name: &str) -> Option<usize> {
        let guess = self.fields.get(self.next).is_some_and(|(other, _)| other == name);
        let at = match guess {
            true => Some(self.next),
            false => self.fields.iter().position(|(other, _)| other == name),
        };
        self.next = at.map_or(self.next, |at| at + 1);
        at
    }
}

impl SerializeStruct for Fields<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        let Some((_, place)) = self.find(name).and_then(|at| self.fields.get(at)) else { return Ok(()) };
        place.fill(value, self.row)
    }

    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

impl SerializeMap for Fields<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.key = serde_json::to_value(key)?.as_str().and_then(|name| self.find(name));
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let Some((_, place)) = self.key.take().and_then(|at| self.fields.get(at)) else { return Ok(()) };
        place.fill(value, self.row)
    }

    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

/// The items of a pair.
struct Items<'a> {
    columns: &'a [usize],
    row: &'a mut Row,
}

impl SerializeTuple for Items<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let Some((&column, others)) = self.columns.split_first() else { return Ok(()) };
        self.columns = others;
        Place::Column(column).fill(value, self.row)
    }

    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

impl Filling<'_> {
    /// A value. Of an object, or a pair, that is none, nothing is kept.
    fn keep(self, value: Kept) -> Result<(), Error> {
        if let Place::Column(column) = *self.place {
            self.row.set(column, value);
        }
        Ok(())
    }
}

/// Methods for numbers.
macro_rules! numbers {
    ($($method:ident: $type:ty => $kept:ident,)*) => {$(
        fn $method(self, number: $type) -> Result<(), Error> {
            self.keep(Kept::$kept(number.into()))
        }
    )*};
}

impl<'a> Serializer for Filling<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Impossible<(), Error>;
    type SerializeTuple = Items<'a>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Fields<'a>;
    type SerializeStruct = Fields<'a>;
    type SerializeStructVariant = Impossible<(), Error>;

    numbers! {
        serialize_bool: bool => Bool,
        serialize_i8: i8 => Signed,
        serialize_i16: i16 => Signed,
        serialize_i32: i32 => Signed,
        serialize_i64: i64 => Signed,
        serialize_u8: u8 => Unsigned,
        serialize_u16: u16 => Unsigned,
        serialize_u32: u32 => Unsigned,
        serialize_u64: u64 => Unsigned,
    }

    fn serialize_f32(self, number: f32) -> Result<(), Error> {
        self.serialize_f64(number.into())
    }

    fn serialize_f64(self, number: f64) -> Result<(), Error> {
        self.keep(if number.is_finite() { Kept::Float(number) } else { Kept::Empty })
    }

    fn serialize_char(self, one: char) -> Result<(), Error> {
        self.serialize_str(one.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Result<(), Error> {
        let from = self.row.text.len();
        self.row.text.push_str(text);
        let to = self.row.text.len();
        self.keep(Kept::Text(Span { from, to }))
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<(), Error> {
        Err(unfit())
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.keep(Kept::Empty)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.keep(Kept::Empty)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.keep(Kept::Empty)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Error> {
        Err(unfit())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, Error> {
        Err(unfit())
    }

    fn serialize_tuple(self, _: usize) -> Result<Items<'a>, Error> {
        let Place::Pair(columns) = self.place else { return Err(unfit()) };
        Ok(Items { columns, row: self.row })
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, Error> {
        Err(unfit())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        Err(unfit())
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Fields<'a>, Error> {
        let Place::Object(fields) = self.place else { return Err(unfit()) };
        Ok(Fields { fields, row: self.row, next: 0, key: None })
    }

    fn serialize_struct(self, _: &'static str, len: usize) -> Result<Fields<'a>, Error> {
        self.serialize_map(Some(len))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Error> {
        Err(unfit())
    }
}

fn unfit() -> Error {
    serde::ser::Error::custom("a row must be an object, and a column has one value")
}
