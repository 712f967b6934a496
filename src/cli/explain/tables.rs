//! All tables that commands write, with their columns.

use anyhow::bail;

use rdmawire::{
    grammar::{did_you_mean, nearest},
    packets,
    report::{
        Message, plain_doc,
        table::{self, Kind, Tabular},
    },
};

/// A table.
pub(super) struct Table {
    pub(super) name: &'static str,
    /// What a row is.
    pub(super) doc: &'static str,
    pub(super) columns: Vec<Column>,
}

/// A column of one.
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) doc: String,
}

impl From<table::Column> for Column {
    fn from(one: table::Column) -> Column {
        Column { doc: plain_doc(one.doc), name: one.name, kind: one.kind }
    }
}

/// All of them, by the command that writes them.
pub(super) fn by_command() -> [(&'static str, Vec<Table>); 6] {
    let of_report = table::Table::ALL.iter().map(|one| new(one.name(), one.doc(), one.columns()));
    let packets = packets::Column::all().map(|one| Column {
        name: one.name.to_owned(),
        kind: one.kind,
        doc: one.doc.to_owned(),
    });
    let packets = Table {
        name: "packets",
        doc: "A packet: what `rdmawire packets` writes.",
        columns: packets.collect(),
    };
    [
        ("analyze", of_report.collect()),
        ("packets", vec![packets, new(Message::TABLE, Message::DOC, Message::columns())]),
        ("diff", of::<rdmawire::report::diff::Diff>()),
        ("nvme", of::<rdmawire::nvme::Report>()),
        ("commands", of::<rdmawire::commands::Report>()),
        ("fabric", of::<rdmawire::fabric::Report>()),
    ]
}

pub(super) fn all() -> impl Iterator<Item = Table> {
    by_command().into_iter().flat_map(|(_, tables)| tables)
}

/// The table of this name.
pub(super) fn named(name: &str) -> anyhow::Result<Table> {
    let Some(table) = all().find(|table| table.name == name) else {
        let near = nearest(name, all().map(|table| table.name.to_owned()));
        bail!("no table is called {name:?}{}", did_you_mean(&near, "; rdmawire explain tables lists all"));
    };
    Ok(table)
}

fn of<R: Tabular>() -> Vec<Table> {
    R::TABLES.iter().map(|one| new(one.name(), one.doc(), one.columns())).collect()
}

fn new(name: &'static str, doc: &'static str, columns: Vec<table::Column>) -> Table {
    Table { name, doc, columns: columns.into_iter().map(Column::from).collect() }
}
