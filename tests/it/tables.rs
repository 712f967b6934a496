//! Tables of `analyze`: the same figures as in its JSON, in CSV, NDJSON and Parquet. DuckDB is the judge.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use rdmawire::report::{
    Renamed,
    table::{Table, Tabular},
};
use serde_json::Value;

use crate::support::{
    programs::{RDMAWIRE, cli, printed, python},
    scratch::Scratch,
};

const CAPTURES: [&str; 6] = [
    "pcaps/loss1_both_rc_write-B.pcap.zst",
    "pcaps/loss1_rc_read-A.pcap.zst",
    "pcaps/rnr_late-A.pcap.zst",
    "pcaps/ecn_rc_write-A.pcap.zst",
    "pcaps/reorder5_rc_write-A.pcap.zst",
    "pcaps/cm_rping-A.pcap",
];

fn analyze(arguments: &[&str], captures: &[&str]) -> Output {
    let run = cli().arg("analyze").args(captures).args(arguments).output();
    run.expect("the program runs")
}

fn report(capture: &str) -> Value {
    serde_json::from_slice(&analyze(&["--json"], &[capture]).stdout).expect("a report")
}

fn lines(path: PathBuf) -> Vec<Value> {
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn rows_have_the_figures_of_the_report() {
    let scratch = Scratch::new("tables-rows");
    let dir = scratch.join("t");
    let run = analyze(&["--ndjson", dir.to_str().unwrap(), "--interval", "10ms"], &CAPTURES);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let flows = lines(dir.join("flows.ndjson"));
    let mut at = 0;
    for capture in CAPTURES {
        let report = report(capture);
        for (number, flow) in report["flows"].as_array().unwrap().iter().enumerate() {
            let row = &flows[at];
            at += 1;
            assert_eq!((&row["capture"], &row["flow"]), (&capture.into(), &number.into()));
            for (column, pointer) in [
                ("src", "/src"),
                ("packets", "/packets"),
                ("udp_src_ports", "/udp_src_ports"),
                ("requests_retransmits", "/requests/retransmits"),
                ("requests_losses_upstream_least", "/requests/losses/upstream/0"),
                ("responses_losses_downstream_most", "/responses/losses/downstream/1"),
                ("latency_ack_rtt_p99_ns", "/latency_ns/ack_rtt/p99"),
                ("opcodes", "/opcodes"),
            ] {
                assert_eq!(
                    row[column],
                    *flow.pointer(pointer).unwrap_or(&Value::Null),
                    "{capture} {number} {column}"
                );
            }
        }
    }
    assert_eq!(at, flows.len());
    assert_eq!(lines(dir.join("captures.ndjson")).len(), CAPTURES.len());
    assert!(lines(dir.join("intervals.ndjson")).len() > 10);
    for row in lines(dir.join("losses.ndjson")) {
        let whole = flows
            .iter()
            .find(|flow| flow["capture"] == row["capture"] && flow["flow"] == row["flow"])
            .unwrap();
        let text = |key: &str| row[key].as_str().unwrap();
        for end in ["least", "most"] {
            assert_eq!(row[end], whole[format!("{}s_losses_{}_{end}", text("space"), text("place"))]);
        }
    }
}

/// Control characters are escaped, but for the end of a line.
#[test]
fn a_row_is_one_line_whatever_the_name_of_the_capture_is() {
    let scratch = Scratch::new("tables-names");
    let (dir, capture) = (scratch.join("t"), scratch.join("a\u{7f}\u{9b}µ.pcap"));
    fs::copy("pcaps/loss1_rc_write-B-300.pcap", &capture).unwrap();
    let capture = capture.to_str().unwrap();
    let run = analyze(&["--ndjson", dir.to_str().unwrap()], &[capture]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let rows = lines(dir.join("flows.ndjson"));
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row["capture"] == capture));
    let text = fs::read_to_string(dir.join("flows.ndjson")).unwrap();
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
}

#[test]
fn csv_has_the_columns_that_are_documented() {
    let scratch = Scratch::new("tables-csv");
    let dir = scratch.to_str().unwrap();
    let run = analyze(&["--csv", dir], &CAPTURES[..1]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    for table in Table::ALL {
        let text = fs::read_to_string(scratch.join(format!("{}.csv", table.name()))).unwrap();
        let columns = table.columns();
        let names: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(text.lines().next(), Some(names.join(",").as_str()));
        let mut sorted = names.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), names.len(), "{} has a column twice", table.name());
        let undocumented: Vec<_> = columns.iter().filter(|column| column.doc.is_empty()).collect();
        assert!(undocumented.is_empty(), "{undocumented:?}");
    }
    let flows = fs::read_to_string(scratch.join("flows.csv")).unwrap();
    assert_eq!(flows.lines().count(), 1 + report(CAPTURES[0])["flows"].as_array().unwrap().len());
}

#[test]
fn a_table_is_replaced_only_with_force() {
    let scratch = Scratch::new("tables-force");
    let dir = scratch.to_str().unwrap();
    assert!(analyze(&["--csv", dir], &CAPTURES[5..]).status.success());
    let refused = analyze(&["--csv", dir], &CAPTURES[5..]);
    assert_eq!(refused.status.code(), Some(2));
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(error.contains("captures.csv") && error.contains("--force"), "{error}");
    assert!(analyze(&["--csv", dir, "--force"], &CAPTURES[5..]).status.success());
}

#[test]
fn duckdb_answers_what_analyze_says() {
    let Some(python) = python("duckdb") else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Where nothing is wrong, most tables have no rows; two taps of one path saw the same packets.
    let clean = ["pcaps/rc_write_clean-A.pcap.zst"];
    let taps = ["pcaps/loss1_rc_write-A.pcap.zst", "pcaps/loss1_rc_write-B.pcap.zst"];
    for (form, least, captures) in
        [("ndjson", "15", &CAPTURES[..]), ("ndjson", "4", &clean), ("csv", "4", &clean), ("csv", "10", &taps)]
    {
        let run = Command::new(&python)
            .arg(root.join("tests/sql/check.py"))
            .args([RDMAWIRE, form])
            .arg(root.join("examples/sql"))
            .arg(least)
            .args(captures)
            .output()
            .unwrap();
        let said = [run.stdout, run.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(run.status.success(), "{form} of {captures:?}: {}", said.concat());
    }
}

/// The views have all tables with all columns.
#[test]
fn explain_sql_has_all_columns() {
    for form in ["ndjson", "csv", "parquet"] {
        let said = cli().args(["explain", "sql", form]).output().unwrap().stdout;
        let said = String::from_utf8(said).unwrap();
        for table in Table::ALL {
            let view = format!("create or replace view {} as ", table.name());
            let line = said.lines().find(|line| line.starts_with(&view)).unwrap_or_else(|| panic!("{view}"));
            assert!(line.contains(&format!("'{}.{form}'", table.name())), "{line}");
            if form != "parquet" {
                let columns = table.columns();
                assert!(
                    columns.iter().all(|column| line.contains(&format!("\"{}\": '", column.name))),
                    "{line}"
                );
            }
        }
    }
}

/// Lists of commands whose report is another one: rows and cells are those of the JSON.
#[test]
fn reports_of_other_commands_are_tables_too() {
    let taps = ["pcaps/loss1_rc_read-A.pcap.zst", "pcaps/loss1_rc_read-B.pcap.zst"];
    /// A command, its arguments, and lists of its JSON with the tables that they are.
    type Asked<'a> = (&'a str, &'a [&'a str], &'a [(&'a str, &'a str)]);
    let asked: [Asked<'_>; 4] = [
        ("diff", &taps, &[("taps", "diff_taps"), ("losses", "diff_losses"), ("segments", "diff_segments")]),
        (
            "nvme",
            &["--commands", "pcaps/nvme_basic-A.pcap.zst"],
            &[("queues", "nvme_queues"), ("operations", "nvme_operations"), ("commands", "nvme_commands")],
        ),
        (
            "commands",
            &["--commands", "pcaps/nfs4_basic-A.pcap.zst"],
            &[
                ("connections", "command_connections"),
                ("operations", "command_operations"),
                ("commands", "commands"),
            ],
        ),
        (
            "fabric",
            &["tests/data/opensm_ibsim.pcap.zst"],
            &[("nodes", "fabric_nodes"), ("links", "fabric_links"), ("counters", "fabric_counters")],
        ),
    ];
    for (command, args, lists) in asked {
        let scratch = Scratch::new(&format!("tables-of-{command}"));
        let dir = scratch.join("t");
        let run = |force: &[&str]| {
            let mut run = cli();
            run.arg(command).args(args).args(["--json", "--ndjson", dir.to_str().unwrap()]).args(force);
            run.output().unwrap()
        };
        let json: Value = serde_json::from_slice(&run(&[]).stdout).unwrap();
        for (list, table) in lists {
            let rows = lines(dir.join(table).with_extension("ndjson"));
            let told = json[list].as_array().unwrap();
            assert!(
                !rows.is_empty() && rows.len() == told.len(),
                "{table}: {} of {}",
                rows.len(),
                told.len()
            );
            for (row, told) in rows.iter().zip(told) {
                for (name, value) in told
                    .as_object()
                    .unwrap()
                    .iter()
                    .filter(|(_, value)| !value.is_object() && !value.is_array())
                {
                    assert_eq!(row.get(name), Some(value), "{table}.{name}");
                }
            }
        }
        // Asked before anything is read, so that no report is lost.
        let again = run(&[]);
        let error = String::from_utf8_lossy(&again.stderr).into_owned();
        assert!(again.status.code() == Some(2) && error.contains("--force"), "{error}");
        assert!(run(&["--force"]).status.code() != Some(2));
        // Each is explained, and DuckDB is told its columns.
        let sql = printed(cli().args(["explain", "sql", command]));
        let make = printed(cli().args(["explain", "sql", "clickhouse", command]));
        for (_, table) in lists {
            assert!(printed(cli().args(["explain", "table", table])).starts_with(&format!("{table}: ")));
            assert!(sql.contains(&format!("create or replace view {table} as ")), "{sql}");
            assert!(make.contains(&format!("create table if not exists {table} (")), "{make}");
        }
    }
}

/// The rows of such a table in the library: as those of `analyze`.
#[test]
fn rows_of_other_reports_are_handed_on() {
    let mut report = rdmawire::nvme::Report::default();
    report.discovered.push(rdmawire::nvme::SubsystemRow::default());
    let mut rows = Vec::new();
    for table in rdmawire::nvme::Report::TABLES {
        let keep = |row| {
            rows.push((table.name(), row));
            Ok(())
        };
        table.each(&report, "x.pcap", &mut { keep }).unwrap();
    }
    let [("nvme_discovered", row)] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((&row["capture"], &row["transport"]), (&"x.pcap".into(), &"".into()));
}

/// The same flow has the same identity at both ends of a path, and another flow has another one.
#[test]
fn a_flow_has_one_uid_in_all_tables_and_at_all_taps() {
    let scratch = Scratch::new("tables-uid");
    let dir = scratch.join("t");
    let run = analyze(&["--ndjson", dir.to_str().unwrap()], &CAPTURES);
    assert!(run.status.success());
    let identity = |row: &Value| (row["capture_id"].to_string(), row["uid"].to_string());
    let flows: Vec<_> = lines(dir.join("flows.ndjson")).iter().map(identity).collect();
    let known: std::collections::HashSet<_> = flows.iter().cloned().collect();
    assert_eq!(known.len(), flows.len());
    for table in ["episodes", "losses", "marks", "slow"] {
        for row in lines(dir.join(table).with_extension("ndjson")) {
            assert!(known.contains(&identity(&row)), "{table}: {row}");
        }
    }
    let captures: Vec<_> =
        lines(dir.join("captures.ndjson")).iter().map(|row| row["capture_id"].to_string()).collect();
    assert!(known.iter().all(|(capture, _)| captures.contains(capture)));
    let uids = |capture: &str| -> Vec<String> {
        let report = report(capture);
        let mut uids: Vec<_> =
            report["flows"].as_array().unwrap().iter().map(|flow| flow["uid"].to_string()).collect();
        uids.sort();
        uids
    };
    assert_eq!(uids("pcaps/loss1_rc_write-A.pcap.zst"), uids("pcaps/loss1_rc_write-B.pcap.zst"));
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_has_the_rows_of_ndjson() {
    let Some(python) = python("duckdb") else { return };
    let scratch = Scratch::new("tables-parquet");
    let dir = scratch.to_str().unwrap();
    assert!(analyze(&["--ndjson", dir, "--parquet", dir], &CAPTURES).status.success());
    let compare = r"
import datetime, duckdb, glob, os, sys
os.chdir(sys.argv[1])
for path in glob.glob('*.parquet'):
    name = path[:-8]
    rows = duckdb.sql(f'select * from read_parquet({path!r})')
    columns = [c for c, t in zip(rows.columns, rows.types) if str(t) in ('UBIGINT', 'BIGINT', 'DOUBLE', 'VARCHAR')]
    other = open(name + '.ndjson').read().count('\n')
    assert duckdb.sql(f'select count(*) from rows').fetchall()[0][0] == other, name
    if not other: continue
    import json
    lines = [json.loads(line) for line in open(name + '.ndjson')]
    for column, values in zip(rows.columns, zip(*rows.fetchall())):
        for value, line in zip(values, lines):
            said = line[column]
            if isinstance(value, datetime.datetime):
                value, said = round(value.timestamp() * 1000000), said // 1000
            said = json.dumps(said) if isinstance(said, dict) or isinstance(said, list) and isinstance(value, str) else said
            same = json.loads(value) == json.loads(said) if isinstance(value, str) and value[:1] in '[{' else value == said
            assert same, (name, column, value, said)
";
    let run = Command::new(python).args(["-c", compare, dir]).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

/// Whoever reads the tables of an earlier version finds what became of its names.
#[test]
fn renamed_fields_are_in_the_changelog_and_explained() {
    let changes = fs::read_to_string("CHANGELOG.md").unwrap();
    for one in Renamed::ALL {
        assert!(changes.contains(&format!("| `{}` | `{}` |", one.before, one.now)), "{one:?}");
        let out = cli().args(["explain", one.before]).output().unwrap();
        let text = String::from_utf8(out.stdout).unwrap();
        assert!(text.contains(&format!("{} is now {}", one.before, one.now)), "{text}");
    }
    // The new names exist.
    let columns: Vec<String> =
        Table::ALL.into_iter().flat_map(Table::columns).map(|column| column.name).collect();
    for name in [
        "latency_ack_rtt_p50_ns",
        "latency_ack_rtt_count",
        "latency_ack_rtt_error_ratio",
        "messages_size_p50_bytes",
        "cnp_interval_p50_ns",
        "lost_least",
        "learned_copy_lag_least_ns",
        "cause_with_affected",
        "cause_first_ns",
        "ect_packets",
        "requests_retransmits_out_of_order",
        "requests_losses_upstream_least",
    ] {
        assert!(columns.iter().any(|column| column == name), "{name}");
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn what_this_build_lacks_is_said_with_how_to_get_it() {
    for arguments in
        [&["analyze", "--parquet", "t", CAPTURES[5]][..], &["index", "-o", "t", "--tap", "a", CAPTURES[5]]]
    {
        let out = cli().args(arguments).output().unwrap();
        let said = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(said.contains("this build has no") && said.contains("--features parquet"), "{said}");
    }
}

/// What another database's schema is made of.
#[cfg(feature = "cli")]
#[test]
fn columns_of_tables_are_explained_as_json() {
    use crate::support::programs::ended;
    let explained =
        |args: &[&str]| -> Value { serde_json::from_str(&printed(cli().arg("explain").args(args))).unwrap() };
    let all = explained(&["tables", "--json"]);
    for table in Table::ALL {
        let columns = all[table.name()].as_array().unwrap();
        let told = columns.iter().map(|one| (one["name"].as_str().unwrap(), one["type"].as_str().unwrap()));
        let known = table.columns();
        assert!(
            told.eq(known.iter().map(|column| (column.name.as_str(), column.kind.name()))),
            "{}",
            table.name()
        );
        assert_eq!(explained(&["table", table.name(), "--json"]), all[table.name()]);
    }
    assert!(
        all["packets"].as_array().is_some_and(|columns| columns.iter().any(|one| one["name"] == "bth_psn"))
    );
    assert!(all["messages"].is_array());
    let (code, _, error) = ended(cli().args(["explain", "bth.psn", "--json"]));
    assert!(code == Some(2) && error.contains("only tables"), "{error}");
}
