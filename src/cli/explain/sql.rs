//! The tables of a report as views of DuckDB: with the types of all columns, so that a table without rows has them too.

use std::fmt::{Result as Written, Write as _};

use rdmawire::report::table::{Column, Kind, Table};

/// Views of all tables in files of this form: `ndjson`, `csv` or `parquet`.
pub(super) fn views(form: &str, to: &mut String) -> Written {
    for table in Table::ALL {
        let name = table.name();
        let columns = columns(&table.columns(), form);
        let read = match form {
            "csv" => format!("read_csv('{name}.csv', header = true, columns = {{{columns}}})"),
            "parquet" => format!("read_parquet('{name}.parquet')"),
            _ => format!("read_json('{name}.ndjson', format = 'newline_delimited', columns = {{{columns}}})"),
        };
        writeln!(to, "create or replace view {name} as select * from {read};")?;
    }
    to.push_str(ONCE);
    Ok(())
}

/// Of captures that recorded the same packets, sums are of one.
const ONCE: &str = "\
-- Each flow once: of several captures that saw it at the same time, the one that has most of its packets.
create or replace view flows_once as select * from flows as f where not exists (
    select 1 from flows as other where other.uid = f.uid and other.capture_id <> f.capture_id
        and other.first_ns <= f.last_ns and other.last_ns >= f.first_ns
        and (other.packets > f.packets or other.packets = f.packets and other.capture_id > f.capture_id));
";

fn columns(all: &[Column], form: &str) -> String {
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
        format!("{name}: '{kind}'")
    };
    all.iter().map(of_column).collect::<Vec<_>>().join(", ")
}
