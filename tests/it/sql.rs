//! `rdmawire sql`: DuckDB answers, from the tables of the same run.

use std::{fs, process::Command};

use crate::support::{
    programs::{cli, ended, path_with_duckdb, printed},
    scratch::Scratch,
};

const LOSSES: &str = "pcaps/loss1_rc_write-A.pcap.zst";
const CLEAN: &str = "pcaps/rc_write_clean-A.pcap.zst";

/// The command, with DuckDB in its path.
fn sql(scratch: &Scratch) -> Option<Command> {
    let mut command = cli();
    command.arg("sql").env("PATH", path_with_duckdb()?).env("TMPDIR", &**scratch);
    Some(command)
}

#[test]
fn answers_are_those_of_the_report() {
    let scratch = Scratch::new("sql-answers");
    let Some(mut command) = sql(&scratch) else { return };
    let said = printed(command.args(["--format", "json", LOSSES, CLEAN]).arg(
        "select capture, sum(requests_retransmits + responses_retransmits)::int as resent from flows group by capture order by 1",
    ));
    let rows: serde_json::Value = serde_json::from_str(&said).unwrap();
    let rows: Vec<(&str, i64)> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["capture"].as_str().unwrap(), row["resent"].as_i64().unwrap()))
        .collect();
    let report = printed(cli().args(["analyze", "--json", LOSSES, CLEAN]));
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let resent = |at: usize| -> i64 {
        let flows = report["reports"][at]["flows"].as_array().unwrap();
        flows
            .iter()
            .flat_map(|flow| {
                ["requests", "responses"].map(|space| flow[space]["retransmits"].as_i64().unwrap_or(0))
            })
            .sum()
    };
    assert_eq!(rows, [(LOSSES, resent(0)), (CLEAN, resent(1))]);
    assert!(resent(0) > 0, "there is something to compare");
    assert_eq!(fs::read_dir(&*scratch).unwrap().count(), 0, "nothing is left");
}

#[test]
fn packets_messages_and_intervals_are_tables_where_they_are_asked_for() {
    let scratch = Scratch::new("sql-tables");
    let counts = "select (select count(*) from packets) as p, (select count(*) from messages) as m, (select count(*) from intervals) > 1 as i";
    let Some(mut command) = sql(&scratch) else { return };
    let said = printed(command.args([
        "--packets",
        "--messages",
        "--interval",
        "1ms",
        "--format",
        "csv",
        LOSSES,
        counts,
    ]));
    let rows = |kind: &[&str]| printed(cli().args(["packets", LOSSES]).args(kind)).lines().count() - 1;
    assert_eq!(said, format!("p,m,i\n{},{},true\n", rows(&[]), rows(&["--messages"])));
    let (status, _, error) = ended(sql(&scratch).unwrap().args([LOSSES, "select * from packets"]));
    assert_eq!(status, Some(2), "{error}");
    assert!(error.contains("packets does not exist"), "{error}");
}

#[test]
fn questions_come_from_files_and_errors_say_what_is_missing() {
    let scratch = Scratch::new("sql-questions");
    let Some(mut command) = sql(&scratch) else { return };
    let said = printed(command.args([
        "--format",
        "csv",
        "--query",
        "examples/sql/01-top-resending-pairs.sql",
        LOSSES,
    ]));
    assert!(said.starts_with("src,dst,resent,packets\n") && said.lines().count() > 1, "{said}");
    for (arguments, wanted) in [
        (&[LOSSES][..], "which query?"),
        (&["select 1"], "which capture?"),
        (&[LOSSES, "select 1", "select 2"], "more than one query"),
        (&["--packets", "/dev/stdin", "select 1"], "is a stream"),
        (&["absent.pcap", "select 1"], "no capture could be read"),
    ] {
        let (status, said, error) = ended(sql(&scratch).unwrap().args(arguments));
        assert_eq!((status, said.as_str()), (Some(2), ""), "{arguments:?}: {error}");
        assert!(error.contains(wanted), "{arguments:?}: {error}");
    }
    assert_eq!(fs::read_dir(&*scratch).unwrap().count(), 0, "nothing is left");
}

#[test]
fn without_duckdb_it_is_said_before_anything_is_read() {
    let (status, said, error) = ended(cli().args(["sql", "absent.pcap", "select 1"]).env("PATH", "/nowhere"));
    assert_eq!((status, said.as_str()), (Some(2), ""));
    assert!(error.contains("duckdb is not installed") && error.contains("--ndjson"), "{error}");
}
