//! The tables of commands for databases: views of their files for DuckDB, with the types of all columns, so that a table without rows has them
//! too; and statements that make them in ClickHouse.

use std::{
    fmt::{self, Result as Written, Write as _},
    path::Path,
};

use anyhow::bail;

use super::tables::{self, Column, Table};
use rdmawire::report::{Message, table::Kind};

/// What `explain sql` was asked for: a form, ndjson if none is named, and a command, `analyze` if none is.
pub(super) fn of(words: &[&str], to: &mut String) -> anyhow::Result<()> {
    let (mut form, mut command) = ("ndjson", "analyze");
    for &word in words {
        match word {
            "ndjson" | "csv" | "parquet" | "clickhouse" => form = word,
            "analyze" | "diff" | "nvme" | "commands" | "fabric" => command = word,
            _ => bail!(
                "explain sql: {word:?}: expected a form, ndjson, csv, parquet or clickhouse, or a command, analyze, diff, nvme, commands or fabric"
            ),
        }
    }
    for (_, all) in tables::by_command().into_iter().filter(|(of, _)| *of == command) {
        for table in &all {
            match form {
                "clickhouse" => create(table, to)?,
                _ => view(table, form, None, to)?,
            }
        }
    }
    if command == "analyze" && form != "clickhouse" {
        to.push_str(ONCE);
    }
    Ok(())
}

/// Views of the tables of `analyze` as NDJSON in this directory, and of those of messages and packets where they are there.
pub(in crate::cli) fn views(
    directory: &Path,
    has_messages: bool,
    has_packets: bool,
) -> Result<String, fmt::Error> {
    let mut to = String::new();
    for (command, all) in
        tables::by_command().into_iter().filter(|(of, _)| ["analyze", "packets"].contains(of))
    {
        let is_there = |table: &&Table| match table.name {
            Message::TABLE => has_messages,
            _ => command == "analyze" || has_packets,
        };
        all.iter().filter(is_there).try_for_each(|table| view(table, "ndjson", Some(directory), &mut to))?;
    }
    to.push_str(ONCE);
    Ok(to)
}

/// A view of a table's file, which is in this directory, or where DuckDB runs.
fn view(
    Table { name, columns, .. }: &Table,
    form: &str,
    directory: Option<&Path>,
    to: &mut String,
) -> Written {
    let columns = typed(columns, form);
    let file = format!("{name}.{form}");
    let file = directory.map_or(file.clone(), |directory| directory.join(&file).display().to_string());
    let file = file.replace('\'', "''");
    let read = match form {
        "csv" => format!("read_csv('{file}', header = true, columns = {{{columns}}})"),
        "parquet" => format!("read_parquet('{file}')"),
        _ => format!("read_json('{file}', format = 'newline_delimited', columns = {{{columns}}})"),
    };
    writeln!(to, "create or replace view {name} as select * from {read};")
}

/// Of captures that recorded the same packets, sums are of one.
const ONCE: &str = "\
-- Each flow once: of several captures that saw it at the same time, the one that has most of its packets.
create or replace view flows_once as select * from flows as f where not exists (
    select 1 from flows as other where other.uid = f.uid and other.capture_id <> f.capture_id
        and other.first_ns <= f.last_ns and other.last_ns >= f.first_ns
        and (other.packets > f.packets or other.packets = f.packets and other.capture_id > f.capture_id));
";

fn typed(all: &[Column], form: &str) -> String {
    let of_column = |Column { name, kind, .. }: &Column| {
        let kind = match kind {
            Kind::U8 | Kind::U16 | Kind::U32 | Kind::I64 | Kind::Time => "BIGINT",
            Kind::U64 => "UBIGINT",
            Kind::F64 => "DOUBLE",
            Kind::Bool => "BOOLEAN",
            Kind::Text => "VARCHAR",
            Kind::Numbers => "BIGINT[]",
            Kind::Texts => "VARCHAR[]",
            Kind::Json if form == "csv" => "VARCHAR",
            Kind::Json => "JSON",
        };
        // Some are words of SQL.
        format!("\"{name}\": '{kind}'")
    };
    all.iter().map(of_column).collect::<Vec<_>>().join(", ")
}

/// The statement that makes a table in ClickHouse, which takes the lines of NDJSON as they are. What is nested stays JSON, as text.
fn create(Table { name, doc, columns }: &Table, to: &mut String) -> Written {
    writeln!(to, "create table if not exists {name} (")?;
    for (at, Column { name, kind, doc }) in columns.iter().enumerate() {
        let kind = match kind {
            Kind::U8 | Kind::U16 | Kind::U32 | Kind::I64 | Kind::Time => "Nullable(Int64)",
            Kind::U64 => "Nullable(UInt64)",
            Kind::F64 => "Nullable(Float64)",
            Kind::Bool => "Nullable(Bool)",
            Kind::Text | Kind::Json => "Nullable(String)",
            Kind::Numbers => "Array(Int64)",
            Kind::Texts => "Array(String)",
        };
        let comma = if at + 1 < columns.len() { "," } else { "" };
        writeln!(to, "    `{name}` {kind} comment '{}'{comma}", quoted(doc))?;
    }
    writeln!(to, ") engine = MergeTree order by tuple() comment '{}';", quoted(doc))
}

/// Within quotes of SQL.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "''")
}
