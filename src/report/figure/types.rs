//! What a figure is: of which rows, in which unit, and where its value comes from.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

use super::value::{Range, Value};
use crate::report::{Connection, Flow, Pause, Summary, View, units};

/// What a figure is of. A rule looks at all rows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Flows.
    Flow,
    /// Flows that carry requests, with what their opposite flow answered.
    Transfer,
    /// Connections.
    Connection,
    /// Pauses, by link, sender and priority.
    Pause,
    /// The capture as a whole: one row.
    Capture,
}

impl Scope {
    /// Its rows, as words.
    pub const fn name(self) -> &'static str {
        match self {
            Scope::Flow => "flows",
            Scope::Transfer => "flows with requests",
            Scope::Connection => "connections",
            Scope::Pause => "pauses",
            Scope::Capture => "captures",
        }
    }

    /// The scope of something that has figures of both: transfers are flows.
    pub(crate) fn and(self, other: Scope) -> Option<Scope> {
        match (self, other) {
            (Scope::Flow, Scope::Transfer) | (Scope::Transfer, Scope::Flow) => Some(Scope::Transfer),
            _ => (self == other).then_some(self),
        }
    }
}

/// What the values of a figure are, and in which units they are written.
#[derive(Clone, Copy, Debug)]
pub enum Unit {
    /// A number of things.
    Count,
    /// A number of things that captures bound: tables show both bounds.
    Bounds,
    /// A number in the unit that the figure's name or documentation says.
    Number,
    /// Several such numbers at once: a rule needs one of them.
    Numbers,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Time,
    /// Bits per second.
    Rate,
    /// A part of one.
    Ratio,
    /// One of these words.
    Words(fn() -> Vec<&'static str>),
    /// An address.
    Address,
    /// Any text.
    Text,
}

impl Unit {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Count | Unit::Bounds => "count",
            Unit::Number | Unit::Numbers => "number",
            Unit::Bytes => "bytes",
            Unit::Time => "ns",
            Unit::Rate => "bit/s",
            Unit::Ratio => "ratio",
            Unit::Words(_) | Unit::Address | Unit::Text => "text",
        }
    }

    /// A number as people read it.
    pub fn show(self, number: f64) -> String {
        match self {
            _ if number.is_infinite() => "any number".into(),
            _ if number < 0.0 => format!("-{}", self.show(-number)),
            Unit::Count | Unit::Bounds if number.fract() == 0.0 => units::count(number as u64),
            Unit::Bytes => units::bytes(number as u64),
            Unit::Time => units::duration(number as u64),
            Unit::Rate => units::bits(number),
            Unit::Ratio => units::percent(number),
            _ if number.fract() == 0.0 => format!("{number}"),
            _ => format!("{number:.3}"),
        }
    }

    /// A range as people read it.
    pub fn show_range(self, range: &Range) -> String {
        match range.is_exact() {
            true => self.show(range.least),
            false if range.is_unknown() => "not known".into(),
            false if range.most.is_infinite() => format!("at least {}", self.show(range.least)),
            false => format!("{} to {}", self.show(range.least), self.show(range.most)),
        }
    }

    /// How its values are written, for people.
    pub fn example(self) -> &'static str {
        match self {
            Unit::Count | Unit::Bounds | Unit::Number | Unit::Numbers => "number",
            Unit::Bytes => "size, 64KiB",
            Unit::Time => "time, 10us",
            Unit::Rate => "rate, 400G",
            Unit::Ratio => "ratio, 3%",
            Unit::Words(_) => "word",
            Unit::Address => "address",
            Unit::Text => "text",
        }
    }

    /// A comparison with such a value, as a rule has it.
    pub(super) fn compared(self) -> Cow<'static, str> {
        match self {
            Unit::Count | Unit::Bounds => "== 0".into(),
            Unit::Number | Unit::Numbers => "<= 8".into(),
            Unit::Bytes => "<= 64KiB".into(),
            Unit::Time => "< 10us".into(),
            Unit::Rate => "> 40G".into(),
            Unit::Ratio => "< 3%".into(),
            Unit::Words(all) => format!("== {}", all().first().unwrap_or(&"unknown")).into(),
            Unit::Address => "== 10.0.0.1".into(),
            Unit::Text => "== eth0".into(),
        }
    }

    pub(crate) fn is_number(self) -> bool {
        !matches!(self, Unit::Words(_) | Unit::Address | Unit::Text)
    }

    /// Whether numbers of both can be compared.
    pub(crate) fn is_like(self, other: Unit) -> bool {
        let plain = |unit| matches!(unit, Unit::Count | Unit::Bounds | Unit::Number | Unit::Numbers);
        plain(self) && plain(other) || std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

impl Serialize for Unit {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

/// What many rows become where a rule does not say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Natural {
    /// The sum.
    Sum,
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// Nothing: the figure chooses rows.
    Choice,
}

/// Where the value of a figure comes from.
#[derive(Clone, Copy)]
pub(super) enum Get {
    Flow(for<'a> fn(&'a Flow) -> Value<'a>),
    /// A distribution: the figure has parts, such as `.p99`.
    Summary(fn(&Flow) -> Result<Option<Summary>, &'static str>),
    /// A flow, and its opposite one.
    Transfer(for<'a> fn(&'a Flow, Option<&Flow>) -> Value<'a>),
    Connection(for<'a> fn(&'a Connection) -> Value<'a>),
    Pause(for<'a> fn(&'a Pause) -> Value<'a>),
    Capture(for<'a> fn(&View<'a>) -> Value<'a>),
}

/// A figure of a report.
pub struct Figure {
    /// Its names; the first one is ours.
    pub names: &'static [&'static str],
    /// The head of its column in tables.
    pub label: &'static str,
    /// What its values are.
    pub unit: Unit,
    /// What many rows become where a rule does not say it.
    pub natural: Natural,
    pub(super) get: Get,
    /// What it means.
    pub doc: &'static str,
}

impl Figure {
    /// Whether it counts frames and what the file says, whatever is in them.
    pub(crate) fn is_of_frames(&self) -> bool {
        self.names[0].starts_with("capture.") && self.names[0] != "capture.rdma_packets"
    }

    /// What it is a figure of.
    pub fn scope(&self) -> Scope {
        match self.get {
            Get::Flow(_) | Get::Summary(_) => Scope::Flow,
            Get::Transfer(_) => Scope::Transfer,
            Get::Connection(_) => Scope::Connection,
            Get::Pause(_) => Scope::Pause,
            Get::Capture(_) => Scope::Capture,
        }
    }

    /// Its parts; none where it is a single value.
    pub fn parts(&self) -> &'static [&'static str] {
        if matches!(self.get, Get::Summary(_)) { &Part::NAMES } else { &[] }
    }
}

/// A part of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Min,
    P50,
    P99,
    Max,
}

impl Part {
    pub(super) const NAMES: [&'static str; 4] = ["min", "p50", "p99", "max"];
    pub(super) const ALL: [Part; 4] = [Part::Min, Part::P50, Part::P99, Part::Max];
}
