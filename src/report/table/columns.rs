//! The columns of a table, from the JSON Schema of its rows: what is nested becomes one column for each value.

use std::fmt;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name: the names of the report on the way to the value, joined by `_`. Units stand in it.
    pub name: String,
    /// The type of its values.
    pub kind: Kind,
    /// What it means.
    pub doc: String,
    /// The keys to the value in a row.
    path: Vec<String>,
    /// The place in an array of two, such as the bounds of a loss.
    item: Option<usize>,
}

/// The type of a column. Every column may be empty: then the capture does not show the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number that may be negative, 64 bits.
    Signed,
    /// A whole number, 64 bits.
    Unsigned,
    /// A number with a fraction, 64 bits.
    Float,
    /// True or false.
    Bool,
    /// Text.
    Text,
    /// Several whole numbers.
    Numbers,
    /// Several texts.
    Texts,
    /// What has no columns of its own, as JSON.
    Json,
}

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Signed => "int64",
            Kind::Unsigned => "uint64",
            Kind::Float => "float64",
            Kind::Bool => "bool",
            Kind::Text => "text",
            Kind::Numbers => "list of uint64",
            Kind::Texts => "list of text",
            Kind::Json => "JSON",
        }
    }
}

impl Column {
    /// A column that is not in the report's rows.
    pub(super) fn key(name: &str, kind: Kind, doc: &str) -> Column {
        Column { name: name.into(), kind, doc: doc.into(), path: vec![name.into()], item: None }
    }

    /// The columns of a type of rows, in the order of its fields.
    pub(super) fn of<T: JsonSchema + Serialize + Default>() -> Vec<Column> {
        let root =
            SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>();
        let order = serde_json::to_string(&T::default()).ok();
        let order = order.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let mut columns = Vec::new();
        let root = root.to_value();
        add(&root, &root, &order, &mut Vec::new(), &mut columns);
        columns
    }

    /// The keys to its value in a row.
    pub(super) fn path(&self) -> &[String] {
        &self.path
    }

    /// The place in the array of two that stands there.
    pub(super) fn item(&self) -> Option<usize> {
        self.item
    }
}

/// Adds the columns of a schema.
fn add(root: &Value, schema: &Value, order: &Order, path: &mut Vec<String>, columns: &mut Vec<Column>) {
    let schema = resolve(root, schema);
    if let Some(fields) = schema["properties"].as_object() {
        let mut fields: Vec<_> = fields.iter().collect();
        // Fields that are left out when they are empty are not in the order. They come last.
        fields.sort_by_key(|(name, _)| {
            order.0.iter().position(|(other, _)| other == *name).unwrap_or(usize::MAX)
        });
        for (name, field) in fields {
            let inner = order.0.iter().find(|(other, _)| other == name).map(|(_, inner)| inner);
            path.push(name.clone());
            add_field(root, field, inner.unwrap_or(&Order::default()), path, columns);
            path.pop();
        }
    }
}

/// Adds the columns of one field: those of an object, or one.
fn add_field(root: &Value, field: &Value, order: &Order, path: &mut Vec<String>, columns: &mut Vec<Column>) {
    let schema = resolve(root, field);
    if schema["properties"].is_object() {
        return add(root, schema, order, path, columns);
    }
    let doc = field["description"].as_str().or(schema["description"].as_str()).unwrap_or_default();
    let column = |suffix: &str, kind, item| Column {
        name: format!("{}{suffix}", path.join("_")),
        kind,
        doc: doc.split_whitespace().collect::<Vec<_>>().join(" "),
        path: path.clone(),
        item,
    };
    if schema["minItems"] == 2 && schema["maxItems"] == 2 {
        let names = if path.iter().any(|key| key == "losses" || key.ends_with("_ns")) {
            ["_least", "_most"]
        } else {
            ["_a", "_b"]
        };
        columns.extend((0..2).map(|item| column(names[item], kind(root, &schema["items"]), Some(item))));
    } else {
        columns.push(column("", kind(root, schema), None));
    }
}

/// A schema without reference, and without the alternative `null`.
fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    if let Some(name) = schema["$ref"].as_str() {
        return resolve(root, root.pointer(name.trim_start_matches('#')).unwrap_or(&Value::Null));
    }
    let not_null = |any: &'a Vec<Value>| any.iter().find(|one| one["type"] != "null");
    schema["anyOf"].as_array().and_then(not_null).map_or(schema, |one| resolve(root, one))
}

fn kind(root: &Value, schema: &Value) -> Kind {
    let schema = resolve(root, schema);
    let is = |name: &str| match &schema["type"] {
        Value::Array(types) => types.iter().any(|one| one == name),
        one => one == name,
    };
    match () {
        () if is("integer") && schema["minimum"] == 0 => Kind::Unsigned,
        () if is("integer") => Kind::Signed,
        () if is("number") => Kind::Float,
        () if is("boolean") => Kind::Bool,
        // Enumerations with documented values have no type.
        () if is("string") || schema["oneOf"].is_array() || schema["enum"].is_array() => Kind::Text,
        () if is("array") => match kind(root, &schema["items"]) {
            Kind::Unsigned => Kind::Numbers,
            Kind::Text => Kind::Texts,
            _ => Kind::Json,
        },
        () => Kind::Json,
    }
}

/// The keys of a JSON text in their order, which a [`Value`] does not keep.
#[derive(Default)]
struct Order(Vec<(String, Order)>);

impl<'de> Deserialize<'de> for Order {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Order, D::Error> {
        from.deserialize_any(Keys)
    }
}

struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = Order;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Order, A::Error> {
        let mut keys = Vec::new();
        while let Some(entry) = map.next_entry()? {
            keys.push(entry);
        }
        Ok(Order(keys))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Order, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Order::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Order, E> {
        Ok(Order::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Order, E> {
        Ok(Order::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Order, E> {
        Ok(Order::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Order, E> {
        Ok(Order::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<Order, E> {
        Ok(Order::default())
    }

    fn visit_unit<E>(self) -> Result<Order, E> {
        Ok(Order::default())
    }
}
