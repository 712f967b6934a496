//! What the fields of a report are made of: each type says which columns it has in a table, what is in them, and its JSON Schema.

use std::{borrow::Cow, collections::BTreeMap, fmt, io, marker::PhantomData};

use serde::{
    Deserializer, Serialize,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Map, Value, json};

use super::table::{Cell, Column, Kind, Put};

/// What has columns in a table: a value has one, a record has those of its fields.
pub trait Columns {
    /// Adds its columns. `name` and `doc` are those of the field that has it; a row of a table has no name.
    fn columns(name: &str, doc: &'static str, to: &mut Vec<Column>);

    /// Hands on a cell for each column: empty ones of `None`, for what has the field is missing.
    ///
    /// # Errors
    /// What `put` fails with.
    fn cells(this: Option<&Self>, put: &mut Put<'_>) -> io::Result<()>;
}

/// The type of a field.
pub trait Field: Columns + Serialize {
    /// The type of its column, where it has one.
    const KIND: Kind = Kind::Json;

    /// Its value in one column.
    fn cell(&self) -> Cell<'_>;

    /// Its JSON Schema. Types with a name are added to `types`.
    fn schema(types: &mut Types) -> Value;
}

/// A struct whose fields are read by their names. What serde derives for a struct, some ten functions, took a fifth of the
/// compiler's time on this library; this is one.
pub(crate) trait Record: Default {
    /// Reads the value of the field of this name; or nothing, and returns false, where there is no such field.
    ///
    /// # Errors
    /// A value that the field cannot have.
    fn take<'de, M: MapAccess<'de>>(&mut self, name: &str, map: &mut M) -> Result<bool, M::Error>;
}

/// Reads a record: fields that are missing have their defaults, others than its own are passed over.
///
/// # Errors
/// What is no object, and a value that a field cannot have.
pub(crate) fn read<'de, R: Record, D: Deserializer<'de>>(from: D) -> Result<R, D::Error> {
    struct Fields<R>(PhantomData<R>);

    impl<'de, R: Record> Visitor<'de> for Fields<R> {
        type Value = R;

        fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
            to.write_str("an object")
        }

        fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<R, M::Error> {
            let mut record = R::default();
            while let Some(name) = map.next_key::<Cow<'_, str>>()? {
                if !record.take(&name, &mut map)? {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            Ok(record)
        }
    }

    from.deserialize_map(Fields(PhantomData))
}

/// The types of a schema that have a name.
#[derive(Default)]
pub struct Types(Map<String, Value>);

impl Types {
    /// A reference to the type of this name, which is made once.
    pub(crate) fn named(&mut self, name: &str, make: impl FnOnce(&mut Types) -> Value) -> Value {
        if !self.0.contains_key(name) {
            let made = make(self);
            self.0.insert(name.to_owned(), made);
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    /// A document whose values are of type `T`, which has this name.
    pub(crate) fn document<T: Field>(name: &str) -> Value {
        let mut types = Types::default();
        T::schema(&mut types);
        let mut root = types.0.remove(name).unwrap_or_default();
        root["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
        root["title"] = name.into();
        root["$defs"] = types.0.into();
        root
    }
}

/// The schema of an object: what it is; the name, the schema and the meaning of each field, and whether every object has it. What has no name
/// is a record whose fields are the object's own.
pub(crate) fn object(
    doc: &str,
    fields: impl IntoIterator<Item = (Option<&'static str>, Value, &'static str, bool)>,
) -> Value {
    let (mut properties, mut required, mut all_of) = (Map::new(), Vec::new(), Vec::new());
    for (name, mut schema, doc, is_always) in fields {
        let Some(name) = name else {
            all_of.push(schema);
            continue;
        };
        if let Value::Object(schema) = &mut schema {
            schema.insert("description".to_owned(), plain_doc(doc).into());
        }
        properties.insert(name.to_owned(), schema);
        required.extend(is_always.then_some(name));
    }
    let mut of = json!({ "type": "object", "description": plain_doc(doc), "properties": properties, "required": required });
    if !all_of.is_empty() {
        of["allOf"] = all_of.into();
    }
    of
}

/// The schema of a vocabulary: what it is for; each word, the words for it in text, and what it means.
pub(super) fn words(doc: &str, words: &[(&str, &str, &str)]) -> Value {
    let word = |(word, in_text, doc): &(&str, &str, &str)| match word == in_text {
        true => json!({ "type": "string", "const": word, "description": plain_doc(doc) }),
        false => json!({ "type": "string", "const": word, "title": in_text, "description": plain_doc(doc) }),
    };
    json!({ "description": plain_doc(doc), "oneOf": words.iter().map(word).collect::<Vec<_>>() })
}

/// Documentation for readers of JSON and tables: no links of Rust's, and null for what Rust calls `None`.
pub fn plain_doc(doc: &str) -> String {
    let (mut text, mut rest) = (String::new(), doc.trim_start());
    while let Some((before, after)) = rest.split_once('[') {
        text += before;
        let Some((name, after)) = after.split_once(']') else { break };
        let target = after.strip_prefix('(').and_then(|target| target.split_once(')'));
        let code = name.strip_prefix('`').and_then(|name| name.strip_suffix('`'));
        match (code, target) {
            (Some(path), _) => text += &format!("`{}`", path.rsplit("::").next().unwrap_or(path)),
            (None, Some(_)) => text += name,
            (None, None) => text += &format!("[{name}]"),
        }
        rest = target.map_or(after, |(_, after)| after);
    }
    text += rest;
    text.replace("`None`", "null")
}

/// The name of a field's column within that of a record. A unit in the record's name goes to the end, and leaves what does not have it.
pub(crate) fn joined(record: &str, field: &str) -> String {
    let unit = ["_ns", "_bytes"].into_iter().find(|unit| record.ends_with(unit)).unwrap_or_default();
    let record = record.strip_suffix(unit).unwrap_or(record);
    let unit = if field == "count" || field.ends_with("_ratio") { "" } else { unit };
    if record.is_empty() { format!("{field}{unit}") } else { format!("{record}_{field}{unit}") }
}

/// The structs of a report. Every field has a default, so that reports of other versions can be read. Fields that are left out when
/// they are empty are the last ones in tables. The fields of one that is flattened are the row's own.
macro_rules! records {
    ($($(#[doc = $about:literal])+ $(#[derive($($derive:ident),+)])? $(#[cfg_attr($($cfg_attr:tt)+)])? $vis:vis struct $name:ident {
        $($(#[doc = $doc:literal])+ $(#[serde(skip_serializing_if = $empty:literal)])? $(#[flatten = $flatten:literal])? pub $field:ident: $type:ty,)+
    })+) => {$(
        #[derive(Clone, Debug, Default, PartialEq, $($($derive,)+)? serde::Serialize)]
        $(#[cfg_attr($($cfg_attr)+)])?
        #[non_exhaustive]
        $(#[doc = $about])+
        $vis struct $name {
            $($(#[doc = $doc])+ $(#[serde(skip_serializing_if = $empty)])? $(#[doc = $flatten] #[serde(flatten)])? pub $field: $type,)+
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<$name, D::Error> {
                $crate::report::field::read(from)
            }
        }

        impl $crate::report::field::Record for $name {
            fn take<'de, M: serde::de::MapAccess<'de>>(&mut self, name: &str, map: &mut M) -> Result<bool, M::Error> {
                $(records!(@take self name map $field $($flatten)?);)+
                Ok(false)
            }
        }

        impl $crate::report::field::Columns for $name {
            fn columns(name: &str, _: &'static str, to: &mut Vec<$crate::report::table::Column>) {
                $(records!(@always $($empty)?;
                    <$type as $crate::report::field::Columns>::columns(&records!(@name name, $field $($flatten)?), concat!($($doc),+).trim_start(), to));)+
                $(records!(@at_times $($empty)?;
                    <$type as $crate::report::field::Columns>::columns(&records!(@name name, $field $($flatten)?), concat!($($doc),+).trim_start(), to));)+
            }

            fn cells(this: Option<&Self>, put: &mut $crate::report::table::Put<'_>) -> std::io::Result<()> {
                $(records!(@always $($empty)?; <$type as $crate::report::field::Columns>::cells(this.map(|this| &this.$field), put)?);)+
                $(records!(@at_times $($empty)?;
                    <$type as $crate::report::field::Columns>::cells(this.map(|this| &this.$field).filter(|field| !field.is_empty()), put)?);)+
                Ok(())
            }
        }

        impl $crate::report::field::Field for $name {
            fn cell(&self) -> $crate::report::table::Cell<'_> {
                $crate::report::table::Cell::Json(self)
            }

            fn schema(types: &mut $crate::report::field::Types) -> serde_json::Value {
                types.named(stringify!($name), |types| $crate::report::field::object(concat!($($about),+), [
                    $((records!(@own $field $($flatten)?), <$type as $crate::report::field::Field>::schema(types), concat!($($doc),+), concat!($($empty)?).is_empty()),)+
                ]))
            }
        }
    )+};
    (@name $record:ident, $field:ident) => { $crate::report::field::joined($record, stringify!($field)) };
    (@name $record:ident, $field:ident $flatten:literal) => { $record };
    (@take $record:ident $name:ident $map:ident $field:ident) => {
        if $name == stringify!($field) {
            $record.$field = $map.next_value()?;
            return Ok(true);
        }
    };
    (@take $record:ident $name:ident $map:ident $field:ident $flatten:literal) => {
        if $crate::report::field::Record::take(&mut $record.$field, $name, $map)? {
            return Ok(true);
        }
    };
    (@own $field:ident) => { Some(stringify!($field)) };
    (@own $field:ident $flatten:literal) => { None };
    (@always; $then:expr) => { $then };
    (@always $empty:literal; $then:expr) => {};
    (@at_times; $then:expr) => {};
    (@at_times $empty:literal; $then:expr) => { $then };
}
#[cfg(feature = "analyze")]
pub(crate) use records;

/// The field types that are vocabularies: `name` gives their words. Each with its documentation.
macro_rules! vocabulary {
    ($type:ident, $doc:expr, $words:expr) => {
        one_column!([] $type);

        impl $crate::report::field::Field for $type {
            const KIND: $crate::report::table::Kind = $crate::report::table::Kind::Text;

            fn cell(&self) -> $crate::report::table::Cell<'_> {
                $crate::report::table::Cell::Text(self.name())
            }

            fn schema(types: &mut $crate::report::field::Types) -> serde_json::Value {
                types.named(stringify!($type), |_| $crate::report::field::words($doc, $words))
            }
        }
    };
}

/// Types that have one column.
macro_rules! one_column {
    ($([$($generic:tt)*] $type:ty)+) => {$(
        impl<$($generic)*> $crate::report::field::Columns for $type {
            fn columns(name: &str, doc: &'static str, to: &mut Vec<$crate::report::table::Column>) {
                let kind = <Self as $crate::report::field::Field>::KIND;
                to.push($crate::report::table::Column { name: name.to_owned(), kind, doc });
            }

            fn cells(this: Option<&Self>, put: &mut $crate::report::table::Put<'_>) -> std::io::Result<()> {
                put(this.map_or($crate::report::table::Cell::Empty, $crate::report::field::Field::cell))
            }
        }
    )+};
}

/// Values: their type in a column, how they become a cell, and their schema.
macro_rules! values {
    ($($type:ty: $kind:ident, |$value:ident| $cell:expr, $schema:tt;)+) => {$(
        one_column!([] $type);

        impl Field for $type {
            const KIND: Kind = Kind::$kind;

            fn cell(&self) -> Cell<'_> {
                let $value = self;
                $cell
            }

            fn schema(_: &mut Types) -> Value {
                json!($schema)
            }
        }
    )+};
}

// Counts are signed in tables, so that differences of them are what they should be; a signed number is a point in time.
values! {
    bool: Bool, |is| Cell::Bool(*is), { "type": "boolean" };
    u8: I64, |n| Cell::Unsigned((*n).into()), { "type": "integer", "format": "uint8", "minimum": 0, "maximum": 255 };
    u16: I64, |n| Cell::Unsigned((*n).into()), { "type": "integer", "format": "uint16", "minimum": 0, "maximum": 65535 };
    u32: I64, |n| Cell::Unsigned((*n).into()), { "type": "integer", "format": "uint32", "minimum": 0 };
    i16: I64, |n| Cell::Signed((*n).into()), { "type": "integer", "format": "int16", "minimum": -32768, "maximum": 32767 };
    i32: I64, |n| Cell::Signed((*n).into()), { "type": "integer", "format": "int32" };
    u64: I64, |n| Cell::Unsigned(*n), { "type": "integer", "format": "uint64", "minimum": 0 };
    usize: I64, |n| Cell::Unsigned(*n as u64), { "type": "integer", "format": "uint", "minimum": 0 };
    i64: Time, |n| Cell::Signed(*n), { "type": "integer", "format": "int64" };
    f64: F64, |n| if n.is_finite() { Cell::Float(*n) } else { Cell::Empty }, { "type": "number", "format": "double" };
    String: Text, |text| Cell::Text(text), { "type": "string" };
    Cow<'static, str>: Text, |text| Cell::Text(text), { "type": "string" };
    Value: Json, |any| Cell::Json(any), true;
}

one_column! {
    [T: Field] Vec<T>
    [K: Serialize + Field, V: Field] BTreeMap<K, V>
}

impl<T: Field> Field for Vec<T> {
    const KIND: Kind = match T::KIND {
        Kind::I64 => Kind::Numbers,
        Kind::Text => Kind::Texts,
        _ => Kind::Json,
    };

    fn cell(&self) -> Cell<'_> {
        if let Kind::Json = Self::KIND { Cell::Json(self) } else { Cell::List(self) }
    }

    fn schema(types: &mut Types) -> Value {
        json!({ "type": "array", "items": T::schema(types) })
    }
}

impl<K: Serialize + Field, V: Field> Field for BTreeMap<K, V> {
    fn cell(&self) -> Cell<'_> {
        Cell::Json(self)
    }

    fn schema(types: &mut Types) -> Value {
        let mut map = json!({ "type": "object", "additionalProperties": V::schema(types) });
        // A vocabulary; any other text says nothing.
        let names = K::schema(types);
        if names.get("$ref").is_some() {
            map["propertyNames"] = names;
        }
        map
    }
}

impl<T: Columns> Columns for Option<T> {
    fn columns(name: &str, doc: &'static str, to: &mut Vec<Column>) {
        T::columns(name, doc, to);
    }

    fn cells(this: Option<&Self>, put: &mut Put<'_>) -> io::Result<()> {
        T::cells(this.and_then(Option::as_ref), put)
    }
}

impl<T: Field> Field for Option<T> {
    const KIND: Kind = T::KIND;

    fn cell(&self) -> Cell<'_> {
        self.as_ref().map_or(Cell::Empty, Field::cell)
    }

    fn schema(types: &mut Types) -> Value {
        let mut schema = T::schema(types);
        match schema["type"].take() {
            Value::Null => json!({ "anyOf": [json!({ "$ref": schema["$ref"] }), { "type": "null" }] }),
            known => {
                schema["type"] = json!([known, "null"]);
                schema
            }
        }
    }
}

/// Pairs are two columns.
macro_rules! pairs {
    ($($type:ty: $first:literal $second:literal;)+) => {$(
        impl Columns for [$type; 2] {
            fn columns(name: &str, doc: &'static str, to: &mut Vec<Column>) {
                [$first, $second].iter().for_each(|part| <$type>::columns(&joined(name, part), doc, to));
            }

            fn cells(this: Option<&Self>, put: &mut Put<'_>) -> io::Result<()> {
                (0..2).try_for_each(|at| <$type>::cells(this.and_then(|pair| pair.get(at)), put))
            }
        }
    )+};
}

// Bounds, and what is of the two ends of a connection.
pairs! {
    u64: "least" "most";
    usize: "a" "b";
}

impl<T: Field> Field for [T; 2]
where
    [T; 2]: Columns,
{
    fn cell(&self) -> Cell<'_> {
        Cell::Json(self)
    }

    fn schema(types: &mut Types) -> Value {
        json!({ "type": "array", "items": T::schema(types), "minItems": 2, "maxItems": 2 })
    }
}

impl<T: Columns> Columns for &T {
    fn columns(name: &str, doc: &'static str, to: &mut Vec<Column>) {
        T::columns(name, doc, to);
    }

    fn cells(this: Option<&Self>, put: &mut Put<'_>) -> io::Result<()> {
        T::cells(this.copied(), put)
    }
}

impl<T: Columns + Clone> Columns for Cow<'_, T> {
    fn columns(name: &str, doc: &'static str, to: &mut Vec<Column>) {
        T::columns(name, doc, to);
    }

    fn cells(this: Option<&Self>, put: &mut Put<'_>) -> io::Result<()> {
        T::cells(this.map(|of| &**of), put)
    }
}
