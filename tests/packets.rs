//! Rows of packets: their classes are those of `analyze`, their values those of tshark.
#![cfg(all(feature = "cli", feature = "compression"))]

use std::{
    collections::BTreeMap,
    fs,
    process::{Command, Output},
};

use serde_json::Value;

#[path = "scratch/mod.rs"]
mod scratch;
use scratch::Scratch;

const CAPTURES: [&str; 8] = [
    "pcaps/loss1_both_rc_write-B.pcap.zst",
    "pcaps/loss1_rc_read-A.pcap.zst",
    "pcaps/rnr_late-A.pcap.zst",
    "pcaps/ecn_rc_write-A.pcap.zst",
    "pcaps/reorder5_rc_write-A.pcap.zst",
    "pcaps/rc_atomic_clean-A.pcap.zst",
    "pcaps/ipv6_clean-A.pcap.zst",
    "pcaps/cm_rping-A.pcap",
];

fn run(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_rdmawire")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn rows(text: &[u8]) -> Vec<Value> {
    text.split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

/// The rows of captures, as NDJSON, and the same as CSV.
fn packets(captures: &[&str], more: &[&str]) -> Vec<Value> {
    let scratch = Scratch::new("packets");
    let [ndjson, csv] = ["p.ndjson", "p.csv"].map(|name| scratch.join(name).to_str().unwrap().to_owned());
    for path in [&ndjson, &csv] {
        run(&[&["packets", "-o", path], captures, more].concat());
    }
    let rows = rows(&fs::read(ndjson).unwrap());
    let mut csv = csv::Reader::from_path(csv).unwrap();
    let names: Vec<String> = csv.headers().unwrap().iter().map(str::to_owned).collect();
    for (row, record) in rows.iter().zip(csv.records()) {
        for (name, text) in names.iter().zip(&record.unwrap()) {
            let value = match &row[name] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(value, text, "{name} of {row}");
        }
    }
    rows
}

#[test]
fn classes_are_those_of_the_analysis() {
    let rows = packets(&CAPTURES, &[]);
    let mut all = rows.iter();
    let mut resent = 0;
    for capture in CAPTURES {
        let report: Value = serde_json::from_slice(&run(&["analyze", "--json", capture]).stdout).unwrap();
        let mut found: BTreeMap<(String, String), u64> = BTreeMap::new();
        let n = report["capture"]["packets"].as_u64().unwrap();
        for (number, row) in (1..=n).zip(&mut all) {
            assert_eq!((&row["capture"], &row["frame"]), (&capture.into(), &number.into()));
            let class = row["class"].as_str().unwrap_or_else(|| panic!("no class: {row}"));
            if let Some(space) = row["space"].as_str() {
                *found.entry((space.to_owned(), class.to_owned())).or_default() += 1;
            }
        }
        let mut expected: BTreeMap<(String, String), u64> = BTreeMap::new();
        for flow in report["flows"].as_array().unwrap() {
            for (stream, space) in [("requests", "request"), ("responses", "response")] {
                for (class, n) in flow[stream]["classes"].as_object().unwrap() {
                    *expected.entry((space.to_owned(), class.clone())).or_default() += n.as_u64().unwrap();
                }
            }
        }
        resent +=
            expected.iter().filter(|((_, class), _)| class == "retransmission").map(|(_, n)| n).sum::<u64>();
        assert_eq!(found, expected, "{capture}");
    }
    assert!(all.next().is_none() && resent > 10_000, "{resent}");
}

#[test]
fn values_are_those_of_tshark() {
    const FIELDS: [(&str, &str); 14] = [
        ("frame", "frame.number"),
        ("length_bytes", "frame.len"),
        ("ttl", "ip.ttl"),
        ("ecn", "ip.dsfield.ecn"),
        ("ip_id", "ip.id"),
        ("src_port", "udp.srcport"),
        ("opcode", "infiniband.bth.opcode"),
        ("dest_qp", "infiniband.bth.destqp"),
        ("psn", "infiniband.bth.psn"),
        ("reth_va", "infiniband.reth.va"),
        ("reth_r_key", "infiniband.reth.r_key"),
        ("reth_dma_len_bytes", "infiniband.reth.dmalen"),
        ("aeth_msn", "infiniband.aeth.msn"),
        ("icrc", "infiniband.invariant.crc"),
    ];
    let capture = "pcaps/loss1_rc_write-B-300.pcap";
    let mut tshark = Command::new("tshark");
    tshark.args(["-n", "-r", capture, "-T", "fields"]);
    FIELDS.iter().for_each(|(_, field)| {
        tshark.args(["-e", field]);
    });
    let Ok(output) = tshark.output() else {
        println!("skipped: there is no tshark");
        return;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let rows = packets(&[capture], &["--filter", "bth"]);
    let lines: Vec<Vec<Option<u64>>> =
        text.lines().map(|line| line.split('\t').map(number).collect()).collect();
    assert_eq!(rows.len(), 299);
    for row in rows {
        let line = &lines[row["frame"].as_u64().unwrap() as usize - 1];
        for ((name, field), theirs) in FIELDS.iter().zip(line) {
            assert_eq!(row[*name].as_u64(), *theirs, "{name} and {field}: {row}");
        }
    }
}

#[test]
fn files_are_whole_or_not_there() {
    let scratch = Scratch::new("packets");
    let path = scratch.join("p.csv");
    let name = path.to_str().unwrap();
    let refused = |arguments: &[&str], error: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_rdmawire")).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(error), "{said}");
    };
    refused(&["packets", "nowhere.pcap", "-o", name], "nowhere.pcap");
    assert!(!path.exists());
    refused(&["packets", "pcaps/cm_rping-A.pcap", "-o", "p.xlsx"], "must end in .csv, .ndjson or .parquet");
    run(&["packets", "pcaps/cm_rping-A.pcap", "-o", name]);
    refused(&["packets", "pcaps/cm_rping-A.pcap", "-o", name], "exists");
}

#[test]
#[cfg(feature = "parquet")]
fn parquet_has_the_same_rows() {
    let python = std::env::var("RDMAWIRE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    if !Command::new(&python)
        .args(["-c", "import duckdb"])
        .output()
        .is_ok_and(|output| output.status.success())
    {
        println!("skipped: Python's duckdb is not installed");
        return;
    }
    let scratch = Scratch::new("packets");
    let of = |name: &str| scratch.join(name).to_str().unwrap().to_owned();
    let (parquet, csv) = (of("p.parquet"), of("p.csv"));
    for path in [&parquet, &csv] {
        run(&[&["packets", "-o", path][..], &CAPTURES].concat());
    }
    let program = format!(
        "import duckdb\n\
         columns = [c[0] for c in duckdb.sql(\"describe select * from '{parquet}'\").fetchall()]\n\
         text = ', '.join(f'cast(\"{{c}}\" as varchar) as \"{{c}}\"' for c in columns)\n\
         a = f\"select {{text}} from '{parquet}'\"\n\
         b = \"select * from read_csv('{csv}', all_varchar = true)\"\n\
         n = [duckdb.sql(f'select count(*) from ({{x}} except all {{y}})').fetchall()[0][0] for x, y in ((a, b), (b, a))]\n\
         print(n[0], n[1], duckdb.sql(f'select count(*) from ({{a}})').fetchall()[0][0] > 50000)"
    );
    let output = Command::new(&python).args(["-c", &program]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said.trim(), "0 0 True", "{}", String::from_utf8_lossy(&output.stderr));
}
