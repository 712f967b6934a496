//! The long tables of a page, as data for its script.

use crate::in_order::InOrder;
use std::{collections::BTreeMap, iter};

use serde::Serialize;

use super::{
    Cell, Head, Lines, Table,
    list::{Column, Limit, column, finish, list, ranked, some, text},
    lists::LISTS,
};
use crate::report::{
    Flow, Sort, View,
    chart::{Picture, hosts_of_matrix},
    clean,
    figure::{self, Subject, Unit, Value},
    order::first,
};

/// What the page's script gets of a capture.
#[derive(Debug, Serialize)]
pub(super) struct Tables {
    pub(super) flows: Table,
    ports: Table,
    #[serde(flatten)]
    lists: BTreeMap<&'static str, Table>,
    pub(super) hosts: Hosts,
    pub(super) pictures: Vec<Picture>,
    pub(super) lines: Lines,
}

impl Tables {
    /// The table of a name, if it has rows.
    pub(super) fn named(&self, name: &str) -> Option<&Table> {
        let table = match name {
            "flows" => Some(&self.flows),
            "ports" => Some(&self.ports),
            _ => self.lists.get(name),
        };
        table.filter(|table| !table.rows.is_empty())
    }
}

pub(super) fn tables(report: &View<'_>, pictures: Vec<Picture>, lines: Lines, most: usize) -> Tables {
    let order = first(report, Sort::Trouble, most);
    let mut place: Vec<(usize, usize)> = order.iter().enumerate().map(|(nth, &at)| (at, nth)).collect();
    place.sort_unstable();
    let mut shown = place.into_iter().peekable();
    let mut flows: Vec<Vec<Cell>> = vec![Vec::new(); order.len()];
    let (mut pairs, mut ports, mut in_trouble) = (BTreeMap::new(), BTreeMap::new(), 0);
    // All flows are in the sums. To make a flow's row takes a while: each is made once.
    for (at, flow) in report.flows.iter().enumerate() {
        let sum = Sum::of(&flow);
        if let Some((_, nth)) = shown.next_if(|(next, _)| *next == at) {
            in_trouble += u64::from(sum.trouble() > 0);
            let number = Cell::Number(at as u64);
            flows[nth] = iter::once(number).chain(FLOWS.iter().map(|column| column.cell(&flow))).collect();
        }
        pairs.entry((flow.src.clone(), flow.dst.clone())).or_insert_with(Sum::default).add(&sum);
        let port = match flow.udp_src_ports[..] {
            [] => continue,
            [port] => Some(port),
            _ => None,
        };
        ports.entry(port).or_insert_with(Sum::default).add(&sum);
    }
    let mut ports: Vec<_> = ports.into_iter().collect();
    ports.order_by_key(|(_, sum)| std::cmp::Reverse((sum.trouble(), sum.of[0])));
    let start_ns = report.head.capture.first_ns.unwrap_or(0);
    let left_out = report.flows.len().saturating_sub(flows.len());
    let limit = Limit { most, start_ns };
    let number = Head { label: "#".into(), unit: "flow", about: "Number of the flow".into() };
    let heads = FLOWS.iter().map(|column| (column.head(), column.is_optional));
    let heads: Vec<_> = iter::once((number, false)).chain(heads).collect();
    let mut tables = Tables {
        flows: Table { in_trouble: Some(in_trouble), ..finish(&heads, flows, left_out) },
        ports: list(PORTS, ports.iter(), ports.len(), limit),
        lists: LISTS.iter().map(|(name, rows)| (*name, rows(report, limit))).collect(),
        hosts: Hosts::of(pairs),
        pictures,
        lines,
    };
    for table in tables.lists.values_mut().chain([&mut tables.flows, &mut tables.ports]) {
        for head in &mut table.columns {
            head.label = report.head.label(&head.label).into_owned().into();
        }
    }
    tables
}

/// The columns of all tables but that of flows, whose columns are figures: the table, the label, and what it means.
pub(super) fn columns() -> Vec<(&'static str, [std::borrow::Cow<'static, str>; 2])> {
    let ports = PORTS.iter().map(|column| ("source ports", column.explained()));
    super::lists::columns().into_iter().chain(ports).collect()
}

/// A figure of flows, and whether its column is left out where it is empty for all of them.
struct FlowColumn {
    figure: figure::Column,
    is_optional: bool,
}

/// Names of figures; behind `optional`, of those whose columns are left out where they are empty.
macro_rules! columns {
    ($($how:ident $($name:literal)+;)+) => { &[$($(FlowColumn {
        figure: const { figure::Column::named($name) },
        is_optional: matches!(stringify!($how).as_bytes(), b"optional"),
    },)+)+] };
}

impl FlowColumn {
    fn head(&self) -> Head {
        let unit = match self.figure.figure.unit {
            Unit::Count | Unit::Number | Unit::Ratio => "count",
            Unit::Bounds => "bounds",
            Unit::Bytes => "bytes",
            Unit::Time => "ns",
            Unit::Rate => "bps",
            Unit::Numbers | Unit::Words(_) | Unit::Address | Unit::Text => "text",
        };
        Head { label: self.figure.label().into(), unit, about: self.figure.doc().into() }
    }

    fn cell(&self, flow: &Flow) -> Cell {
        match (self.figure.of(&Subject::Flow(flow, None)), self.figure.figure.unit) {
            // What may have been lost and did not show is no trouble.
            (Value::Number(range), Unit::Bounds) if range.is_possible_only() && flow.loss_episodes() == 0 => {
                Cell::None
            }
            (Value::Number(range), Unit::Bounds) => ranked(range.bounds()),
            (Value::Number(range), Unit::Count | Unit::Bytes) => some(self.figure.shown(&range) as u64),
            (Value::Number(range), Unit::Rate) if !range.is_unknown() => {
                Cell::Decimal(self.figure.shown(&range))
            }
            (Value::Number(range), _) if !range.is_unknown() => {
                Cell::Number(self.figure.shown(&range).round() as u64)
            }
            (Value::Word(_) | Value::Several(_), _) => match self.figure.text(flow) {
                none if none.is_empty() => Cell::None,
                shown => text(shown),
            },
            _ => Cell::None,
        }
    }
}

const FLOWS: &[FlowColumn] = columns! {
    always "src" "dst" "queue_pair" "service" "packets" "wire_bytes";
    optional "retransmits" "loss_episodes" "lost" "out_of_order" "naks" "rnr_naks" "timeouts" "ce_packets" "cnps" "icrc.bad" "vcrc.bad";
    optional "ambiguous" "capture_duplicates" "rate" "goodput" "goodput_bytes" "ack_rtt.p50" "ack_rtt.p99" "message_completion.p50" "message_completion.p99" "messages.size.p50";
    optional "udp_src_port" "dscp" "vni" "connection";
};

const PORTS: &[Column<(Option<u16>, Sum)>] = &[
    column("source port", "text", "UDP source port", |p, _| {
        text(p.0.map_or("several".into(), |port| port.to_string()))
    }),
    column("flows", "count", "Flows with this port", |p, _| Cell::Number(p.1.flows)),
    column("bytes", "bytes", "Bytes on the wire", |p, _| Cell::Number(p.1.of[0])),
    column("resent", "count", "Retransmitted packets", |p, _| some(p.1.of[1])),
    column("episodes", "count", "How often packets were lost, as the capture shows", |p, _| some(p.1.of[2])),
    column("late", "count", "Packets out of order: overtaken on their way", |p, _| some(p.1.of[3])),
    column("CE", "count", "Packets marked: congestion experienced (CE), or FECN", |p, _| some(p.1.of[4])),
];

/// What several flows add up to, of each figure in [`SUMS`].
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    flows: u64,
    of: [u64; SUMS.len()],
}

const SUMS: [figure::Column; 6] = [
    figure::Column::named("wire_bytes"),
    figure::Column::named("retransmits"),
    figure::Column::named("loss_episodes"),
    figure::Column::named("out_of_order"),
    figure::Column::named("ce_packets"),
    figure::Column::named("trouble"),
];

impl Sum {
    fn of(flow: &Flow) -> Sum {
        Sum { flows: 1, of: SUMS.map(|figure| figure.least(flow)) }
    }

    fn trouble(&self) -> u64 {
        let [.., trouble] = self.of;
        trouble
    }

    fn add(&mut self, other: &Sum) {
        self.flows += other.flows;
        for (sum, more) in self.of.iter_mut().zip(other.of) {
            *sum += more;
        }
    }
}

/// Hosts × hosts: the largest ones.
#[derive(Debug, Serialize)]
pub(super) struct Hosts {
    pub(super) names: Vec<String>,
    /// Sender, receiver, bytes on the wire, losses, retransmitted packets.
    cells: Vec<(usize, usize, u64, u64, u64)>,
    /// Hosts that the page does not have.
    pub(super) left_out: u64,
}

impl Hosts {
    /// A larger matrix cannot be read.
    const MOST: usize = 40;

    fn of(pairs: BTreeMap<(String, String), Sum>) -> Hosts {
        let mut weights: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for ((src, dst), Sum { of: [bytes, resent, lost, ..], .. }) in &pairs {
            for host in [src, dst] {
                let weight = weights.entry(host).or_default();
                *weight = (weight.0 + lost + resent, weight.1 + bytes);
            }
        }
        let mut names: Vec<&str> = weights.keys().copied().collect();
        names.order_by_key(|name| std::cmp::Reverse(weights[name]));
        let left_out = names.len().saturating_sub(Hosts::MOST) as u64;
        let by_weight = pairs.iter().map(|((src, dst), Sum { of: [bytes, resent, lost, ..], .. })| {
            (&**src, &**dst, (lost + resent, *bytes))
        });
        let mut names = hosts_of_matrix(names, by_weight, Hosts::MOST);
        names.sort_unstable();
        let cells = pairs.iter().filter_map(|((src, dst), Sum { of: [bytes, resent, lost, ..], .. })| {
            let place = |host: &str| names.binary_search(&host).ok();
            Some((place(src)?, place(dst)?, *bytes, *lost, *resent))
        });
        Hosts {
            cells: cells.collect(),
            names: names.iter().map(|name| clean(name).into_owned()).collect(),
            left_out,
        }
    }
}
