//! A row as one value for each column. Serde hands the fields of a row over one by one, in the order of the columns, so that no JSON
//! object is made of each row.

use serde::{
    Serialize, Serializer,
    ser::{Impossible, SerializeMap, SerializeStruct},
};
use serde_json::{Error, Value};

use super::Column;

/// A row.
pub(super) struct Cells {
    columns: Vec<Column>,
    place: Place,
    values: Vec<Value>,
}

/// Where the values of an object, or one value, go to.
enum Place {
    /// By the names of the fields, mostly in their order.
    Object(Vec<(String, Place)>),
    Column(usize),
    /// The items of an array of two.
    Pair([usize; 2]),
}

impl Cells {
    /// An empty row.
    pub(super) fn new(columns: Vec<Column>) -> Cells {
        let mut place = Place::Object(Vec::new());
        for (at, column) in columns.iter().enumerate() {
            place.add(column.path(), column.item(), at);
        }
        let values = vec![Value::Null; columns.len()];
        Cells { columns, place, values }
    }

    /// The columns and their values.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Column, &Value)> {
        self.columns.iter().zip(&self.values)
    }

    /// Empties all columns.
    pub(super) fn clear(&mut self) {
        self.values.fill(Value::Null);
    }

    /// Fills the columns of a row's fields. Fields without a column are passed over.
    pub(super) fn put(&mut self, row: &impl Serialize) -> Result<(), Error> {
        row.serialize(Filling { place: &self.place, values: &mut self.values })
    }
}

impl Place {
    fn add(&mut self, path: &[String], item: Option<usize>, column: usize) {
        let (Place::Object(fields), [name, rest @ ..]) = (self, path) else { return };
        let at = fields.iter().position(|(other, _)| other == name);
        match (at.and_then(|at| fields.get_mut(at)), rest, item) {
            (Some((_, Place::Pair(pair))), [], Some(item @ 0..=1)) => pair[item] = column,
            (Some((_, inner)), ..) => inner.add(rest, item, column),
            (None, [], None) => fields.push((name.clone(), Place::Column(column))),
            (None, [], Some(_)) => fields.push((name.clone(), Place::Pair([column; 2]))),
            (None, ..) => {
                let mut inner = Place::Object(Vec::new());
                inner.add(rest, item, column);
                fields.push((name.clone(), inner));
            }
        }
    }

    fn fill(&self, value: &(impl Serialize + ?Sized), values: &mut [Value]) -> Result<(), Error> {
        match self {
            Place::Object(_) => value.serialize(Filling { place: self, values }),
            Place::Column(at) => {
                values[*at] = serde_json::to_value(value)?;
                Ok(())
            }
            Place::Pair(pair) => {
                if let Value::Array(items) = serde_json::to_value(value)? {
                    pair.iter().zip(items).for_each(|(&at, item)| values[at] = item);
                }
                Ok(())
            }
        }
    }
}

/// Takes the fields of an object.
struct Filling<'a> {
    place: &'a Place,
    values: &'a mut [Value],
}

/// The fields of an object that come one after the other.
struct Fields<'a> {
    fields: &'a [(String, Place)],
    values: &'a mut [Value],
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
        place.fill(value, self.values)
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
        place.fill(value, self.values)
    }

    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

/// Methods for values that are no object: they have no columns.
macro_rules! no_object {
    ($($method:ident: $type:ty,)*) => {$(
        fn $method(self, _: $type) -> Result<(), Error> {
            Ok(())
        }
    )*};
}

impl<'a> Serializer for Filling<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Impossible<(), Error>;
    type SerializeTuple = Impossible<(), Error>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Fields<'a>;
    type SerializeStruct = Fields<'a>;
    type SerializeStructVariant = Impossible<(), Error>;

    no_object! {
        serialize_bool: bool,
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
        serialize_f32: f32,
        serialize_f64: f64,
        serialize_char: char,
        serialize_str: &str,
        serialize_bytes: &[u8],
        serialize_unit_struct: &'static str,
    }

    fn serialize_none(self) -> Result<(), Error> {
        Ok(())
    }

    fn serialize_unit(self) -> Result<(), Error> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), Error> {
        Ok(())
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

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Error> {
        Err(unfit())
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
        Ok(Fields { fields, values: self.values, next: 0, key: None })
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
    serde::ser::Error::custom("a row of a table must be an object")
}
