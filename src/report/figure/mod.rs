//! Figures: what a row of a report can be asked for. Each is defined once, in [`table`]. Rules of gates, tables, pages, orders and sums
//! name them.

mod losses;
mod otg;
mod table;
mod value;

use std::borrow::Cow;

use serde::{Serialize, Serializer};

pub use table::FIGURES;
pub use value::Range;
pub(crate) use value::Value;

use crate::{
    grammar::nearest,
    report::{Bounds, Connection, Flow, Pause, Summary, View, units},
};

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
    fn compared(self) -> Cow<'static, str> {
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
enum Get {
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
    get: Get,
    /// What it means.
    pub doc: &'static str,
}

impl Figure {
    /// Those that rules may name.
    pub const ALL: &'static [Figure] = FIGURES;

    /// The figure that rules know by this name.
    pub fn by_name(name: &str) -> Option<&'static Figure> {
        Figure::ALL.iter().find(|figure| figure.names.contains(&name))
    }

    /// A rule about it.
    pub fn example(&self) -> String {
        let part = if self.parts().is_empty() { "" } else { ".p99" };
        let [name, compared] = [self.names[0], &self.unit.compared()];
        let of_rows = match self.scope() {
            Scope::Flow => "retransmits == 0",
            Scope::Transfer => "frame_delta == 0",
            Scope::Connection => "connection.evidence_bits >= 20",
            Scope::Pause => "pause.frames == 0",
            Scope::Capture => "capture.problems == 0",
        };
        match self.natural {
            Natural::Choice => format!("{of_rows} where {name} {compared}"),
            _ => format!("{name}{part} {compared}"),
        }
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
enum Part {
    Min,
    P50,
    P99,
    Max,
}

impl Part {
    const NAMES: [&'static str; 4] = ["min", "p50", "p99", "max"];
    const ALL: [Part; 4] = [Part::Min, Part::P50, Part::P99, Part::Max];

    /// What it is of the figure, after the figure's meaning.
    const fn doc(self) -> &'static str {
        match self {
            Part::Min => ", the least",
            Part::P50 => ", median",
            Part::P99 => ", 99th percentile",
            Part::Max => ", the most",
        }
    }
}

/// A figure, or a part of one: what a row is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    pub(crate) figure: &'static Figure,
    part: Option<Part>,
}

impl Column {
    /// The column of this name.
    ///
    /// # Errors
    /// Names that come near.
    pub(crate) fn by_name(name: &str) -> Result<Column, Vec<String>> {
        Column::all().find(|(known, _)| known == name).map(|(_, column)| column).ok_or_else(|| {
            let figures = Figure::ALL.iter().flat_map(|figure| figure.names);
            match figures.clone().any(|known| *known == name) {
                true => Part::NAMES.iter().map(|part| format!("{name}.{part}")).collect(),
                false => nearest(name, Column::all().map(|(known, _)| known)),
            }
        })
    }

    /// All columns, by all their names.
    pub(crate) fn all() -> impl Iterator<Item = (String, Column)> {
        Figure::ALL.iter().flat_map(|figure| {
            let parts: Vec<(String, Option<Part>)> = match figure.parts() {
                [] => vec![(String::new(), None)],
                names => {
                    names.iter().zip(Part::ALL).map(|(name, part)| (format!(".{name}"), Some(part))).collect()
                }
            };
            figure.names.iter().flat_map(move |name| {
                parts
                    .clone()
                    .into_iter()
                    .map(move |(end, part)| (format!("{name}{end}"), Column { figure, part }))
            })
        })
    }

    /// The column of a figure of flows, or of a part of its distribution. A name that no figure has is an error of the compiler.
    pub(crate) const fn named(name: &str) -> Column {
        table::named(name)
    }

    /// The head of the column.
    pub(crate) fn label(&self) -> String {
        let part = self.part.and_then(|part| Part::NAMES.get(part as usize));
        part.map_or_else(|| self.figure.label.to_owned(), |part| format!("{} {part}", self.figure.label))
    }
    pub(crate) fn doc(&self) -> String {
        format!("{}{}", self.figure.doc.trim_end_matches('.'), self.part.map_or("", Part::doc))
    }

    pub(crate) fn scope(&self) -> Scope {
        self.figure.scope()
    }

    /// A flow's value as tables show it: empty for 0, so that other counts are easy to see, and for what is not known.
    pub(crate) fn text(&self, flow: &Flow) -> String {
        const FEW: usize = 4;
        match (self.of(&Subject::Flow(flow, None)), self.figure.unit) {
            (Value::Absent, _) => String::new(),
            (Value::Word(word), _) => word.into_owned(),
            (Value::Several(numbers), _) => {
                let more = if numbers.len() > FEW { " …" } else { "" };
                numbers.iter().take(FEW).map(f64::to_string).collect::<Vec<_>>().join(" ") + more
            }
            (Value::Number(range), Unit::Bounds) => bounds(range.bounds()),
            (Value::Number(range), Unit::Count | Unit::Bytes) if range.least == 0.0 => String::new(),
            (Value::Number(range), _) if range.is_unknown() => String::new(),
            (Value::Number(range), unit) => unit.show(range.least),
        }
    }

    /// The number that a flow has, at least; 0 where it is not known.
    pub(crate) fn least(&self, flow: &Flow) -> u64 {
        self.of(&Subject::Flow(flow, None)).range().map_or(0, |range| range.least as u64)
    }

    /// The value that a row has; absent where the row is of another scope.
    pub(crate) fn of<'a>(&self, row: &Subject<'a>) -> Value<'a> {
        match (self.figure.get, *row) {
            (Get::Flow(get), Subject::Flow(flow, _)) => get(flow),
            (Get::Transfer(get), Subject::Flow(flow, peer)) => get(flow, peer),
            (Get::Connection(get), Subject::Connection(connection)) => get(connection),
            (Get::Pause(get), Subject::Pause(pause)) => get(pause),
            (Get::Capture(get), Subject::Capture(report)) => get(report),
            (Get::Summary(get), Subject::Flow(flow, _)) => match get(flow) {
                Ok(Some(summary)) => Value::exact(match self.part.unwrap_or(Part::Max) {
                    Part::Min => summary.min,
                    Part::P50 => summary.p50,
                    Part::P99 => summary.p99,
                    Part::Max => summary.max,
                }),
                Ok(None) => Value::Absent,
                Err(why) => Value::unknown(why),
            },
            _ => Value::Absent,
        }
    }
}

/// "13", "4-5", "≥10" where the upper bound is not tight, nothing where none is proved, "?" where nothing can be.
pub(crate) fn bounds(bounds: Option<Bounds>) -> String {
    match bounds {
        None => "?".to_owned(),
        Some([0, _]) => String::new(),
        Some([least, most]) if least == most => units::count(least),
        Some([least, most]) if most <= least.saturating_mul(2) => {
            format!("{}-{}", units::count(least), units::count(most))
        }
        Some([least, _]) => format!("≥{}", units::count(least)),
    }
}

/// A row of a report.
#[derive(Clone, Copy)]
pub(crate) enum Subject<'a> {
    /// A flow, and its opposite one.
    Flow(&'a Flow, Option<&'a Flow>),
    Connection(&'a Connection),
    Pause(&'a Pause),
    Capture(&'a View<'a>),
}

impl Subject<'_> {
    /// Whether it is a row of the scope.
    pub(crate) fn is_of(&self, scope: Scope) -> bool {
        match (self, scope) {
            (Subject::Flow(..), Scope::Flow)
            | (Subject::Connection(_), Scope::Connection)
            | (Subject::Pause(_), Scope::Pause)
            | (Subject::Capture(_), Scope::Capture) => true,
            // Queue pairs 0 and 1 are for management.
            (Subject::Flow(flow, _), Scope::Transfer) => flow.requests.packets > 0 && flow.dest_qp > 1,
            _ => false,
        }
    }

    /// What to call it.
    pub(crate) fn label(&self) -> String {
        match self {
            Subject::Flow(flow, _) => format!("{} > {} QP {:#x}", flow.src, flow.dst, flow.dest_qp),
            Subject::Connection(one) => {
                format!("{} QP {:#x} - {} QP {:#x}", one.a.addr, one.a.qp, one.b.addr, one.b.qp)
            }
            Subject::Pause(pause) => {
                format!("{} {} {}", pause.link, pause.sender, units::priority(pause.priority))
            }
            Subject::Capture(_) => String::new(),
        }
    }
}
