//! Figures by their names, and what rows have for them.

use super::{
    table::{COLUMNS, FIGURES},
    types::{Figure, Get, Natural, Part, Scope},
    value::Value,
};
use crate::{
    grammar::nearest,
    report::{Connection, Flow, Pause, View, units},
};

impl Figure {
    /// Those that rules may name.
    pub const ALL: &'static [Figure] = FIGURES;

    /// The figure that rules know by this name.
    pub fn by_name(name: &str) -> Option<&'static Figure> {
        Figure::ALL.iter().find(|figure| figure.names.contains(&name))
    }

    /// Figures of flows whose column has this head, also those that rules do not know.
    pub fn by_label(label: &str) -> impl Iterator<Item = &'static Figure> {
        let all = COLUMNS.iter().chain(Figure::ALL);
        all.filter(move |figure| figure.scope() == Scope::Flow && figure.label.eq_ignore_ascii_case(label))
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
}

/// A figure, or a part of one: what a row is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    pub(crate) figure: &'static Figure,
    pub(super) part: Option<Part>,
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

    /// The column of a figure of flows, or of a part of its distribution: "ack_rtt.p99". A name that no figure has is an error
    /// of the compiler.
    pub(crate) const fn named(name: &str) -> Column {
        let mut at = 0;
        while at < FIGURES.len() + COLUMNS.len() {
            let figure = if at < COLUMNS.len() { &COLUMNS[at] } else { &FIGURES[at - COLUMNS.len()] };
            let own = figure.names[0];
            if own.len() == name.len() && starts(name, own, 0) {
                return Column { figure, part: None };
            }
            let mut part = if matches!(figure.get, Get::Summary(_)) && starts(name, own, 0) {
                0
            } else {
                Part::ALL.len()
            };
            while part < Part::ALL.len() {
                let end = Part::NAMES[part];
                if own.len() + 1 + end.len() == name.len() && starts(name, end, own.len() + 1) {
                    return Column { figure, part: Some(Part::ALL[part]) };
                }
                part += 1;
            }
            at += 1;
        }
        panic!("no figure has this name")
    }

    pub(crate) fn scope(&self) -> Scope {
        self.figure.scope()
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
                Ok(Some(summary)) => match self.part.unwrap_or(Part::Max) {
                    Part::Min => Value::exact(summary.min),
                    Part::P50 => Value::quantile(summary.within(summary.p50)),
                    Part::P99 => Value::quantile(summary.within(summary.p99)),
                    Part::Max => Value::exact(summary.max),
                },
                Ok(None) => Value::Absent,
                Err(why) => Value::unknown(why),
            },
            _ => Value::Absent,
        }
    }
}

/// Whether a name has this in it, from a place on.
const fn starts(name: &str, with: &str, from: usize) -> bool {
    let (name, with) = (name.as_bytes(), with.as_bytes());
    let mut at = 0;
    while at < with.len() && from + at < name.len() && name[from + at] == with[at] {
        at += 1;
    }
    at == with.len()
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
            Subject::Flow(flow, _) => format!("{} → {} QP {:#x}", flow.src, flow.dst, flow.dest_qp),
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
