//! Rows of packets: their classes are those of `analyze`, their values those of tshark.

use std::{
    collections::BTreeMap,
    fs,
    io::Read,
    process::{Command, Output, Stdio},
    sync::{Arc, Mutex},
};

use rdmawire::{
    analyze::{Analysis, Options, metric::messages::Messages},
    capture::{Record, Time},
    sim::{self, Scenario},
};
use serde_json::Value;

use crate::support::{
    programs::{cli, done, has_wireshark, printed},
    scratch::Scratch,
};

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
    done(cli().args(arguments))
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

fn flow_id(row: &Value) -> String {
    ["src", "dst", "dest_qp", "epoch"].map(|key| row[key].to_string()).join(" ")
}

#[test]
fn classes_are_those_of_the_analysis() {
    let rows = packets(&CAPTURES, &[]);
    let mut all = rows.iter();
    let mut resent = 0;
    for capture in CAPTURES {
        let report: Value = serde_json::from_slice(&run(&["analyze", "--json", capture]).stdout).unwrap();
        let mut found: BTreeMap<(String, String), u64> = BTreeMap::new();
        let mut by_flow: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        let n = report["capture"]["packets"].as_u64().unwrap();
        for (number, row) in (1..=n).zip(&mut all) {
            assert_eq!((&row["capture"], &row["frame"]), (&capture.into(), &number.into()));
            let class = row["class"].as_str().unwrap_or_else(|| panic!("no class: {row}"));
            if row["epoch"].is_u64() {
                let (packets, paired) = by_flow.entry(flow_id(row)).or_default();
                *packets += 1;
                *paired += row["peer_qp"].is_u64() as u64;
            }
            if let Some(space) = row["space"].as_str() {
                *found.entry((space.to_owned(), class.to_owned())).or_default() += 1;
            }
        }
        let mut expected: BTreeMap<(String, String), u64> = BTreeMap::new();
        for flow in report["flows"].as_array().unwrap() {
            // The same four columns identify the flow in both; once it was paired, all its packets say with what.
            let (packets, paired) = by_flow.remove(&flow_id(flow)).unwrap_or_default();
            assert_eq!(Some(packets), flow["packets"].as_u64(), "{flow}");
            if flow["peer_qp"].is_u64() && flow["paired_by"] != "udp-port" {
                assert!(paired > 0 && packets - paired < 200, "{paired} of {packets}: {flow}");
            }
            for (stream, space) in [("requests", "request"), ("responses", "response")] {
                for (class, n) in flow[stream]["classes"].as_object().unwrap() {
                    *expected.entry((space.to_owned(), class.clone())).or_default() += n.as_u64().unwrap();
                }
            }
        }
        resent +=
            expected.iter().filter(|((_, class), _)| class == "retransmission").map(|(_, n)| n).sum::<u64>();
        assert_eq!(found, expected, "{capture}");
        assert!(by_flow.is_empty(), "{by_flow:?}");
    }
    assert!(all.next().is_none() && resent > 10_000, "{resent}");
}

/// The table of messages beside a report has the rows of `packets --messages`, of all captures.
#[test]
fn analyze_has_a_table_of_messages() {
    let captures = ["pcaps/loss1_rc_write-B-300.pcap", "pcaps/cm_rping-A.pcap"];
    let scratch = Scratch::new("message-table");
    let tables = scratch.join("t");
    let rows = scratch.join("rows.ndjson");
    let [tables, rows] = [&tables, &rows].map(|path| path.to_str().unwrap());
    run(&["analyze", "--messages", "--ndjson", tables, captures[0], captures[1]]);
    run(&["packets", "--messages", "-o", rows, captures[0], captures[1]]);
    let table = std::fs::read_to_string(format!("{tables}/messages.ndjson")).unwrap();
    assert!(table.lines().count() > 20);
    assert_eq!(table, std::fs::read_to_string(rows).unwrap());
    let plain = scratch.join("plain");
    run(&["analyze", "--ndjson", plain.to_str().unwrap(), captures[0], captures[1]]);
    assert!(!plain.join("messages.ndjson").exists());
    for table in ["flows", "findings", "captures"] {
        let read = |dir: &str| std::fs::read_to_string(format!("{dir}/{table}.ndjson")).unwrap();
        assert_eq!(read(tables), read(plain.to_str().unwrap()));
    }
}

/// Rows of messages of a capture, by flow.
fn messages(capture: &str) -> BTreeMap<String, Vec<Value>> {
    let scratch = Scratch::new("messages");
    let path = scratch.join("m.ndjson").to_str().unwrap().to_owned();
    run(&["packets", "--messages", "-o", &path, capture]);
    let mut by_flow: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for row in rows(&fs::read(path).unwrap()) {
        by_flow.entry(flow_id(&row)).or_default().push(row);
    }
    by_flow
}

/// The columns that the next test reads; all are compared by the first of this file.
const OF_MESSAGES: &str = "src,dst,space,class,uid,bth_psn,message_first_frame";

/// Rows of packets say which message they are of: as many as the table of messages counts, and what answers a READ or an atomic operation.
#[test]
fn packets_are_of_their_messages() {
    let mut answered = BTreeMap::new();
    for capture in CAPTURES {
        let told: BTreeMap<u64, Value> = messages(capture)
            .into_values()
            .flatten()
            .map(|message| (message["first_frame"].as_u64().unwrap(), message))
            .collect();
        let mut found: BTreeMap<u64, u64> = BTreeMap::new();
        for row in packets(&[capture], &["--fields", OF_MESSAGES]) {
            let Some(first) = row["message_first_frame"].as_u64() else {
                assert_ne!((&row["space"], &row["class"]), (&"request".into(), &"new".into()), "{row}");
                continue;
            };
            let message = &told[&first];
            if row["space"] == "request" {
                assert_eq!(row["uid"], message["uid"], "{row}");
                let is_copy = matches!(row["class"].as_str(), Some("capture_duplicate" | "trimmed"));
                *found.entry(first).or_default() += !is_copy as u64;
                continue;
            }
            assert_eq!((&row["src"], &row["dst"]), (&message["dst"], &message["src"]), "{row}");
            *answered.entry(message["operation"].as_str().unwrap().to_owned()).or_insert(0) += 1;
            if let (Some(last), Some(psn)) = (message["last_psn"].as_u64(), row["bth_psn"].as_u64()) {
                assert!((last + (1 << 24) - psn) % (1 << 24) < 1 << 23, "{row} {message}");
            }
        }
        for (first, message) in told {
            let (is, want) = (found.get(&first).copied(), message["packets"].as_u64());
            assert_eq!(is, want, "{capture}: {message}");
        }
    }
    let kinds: Vec<&str> = answered.keys().map(String::as_str).collect();
    assert_eq!(kinds, ["compare-swap", "fetch-add", "read"], "{answered:?}");
    assert!(answered["read"] > 10_000, "{answered:?}");
}

#[test]
fn messages_are_those_of_the_report() {
    let mut clean = 0;
    for capture in
        CAPTURES.into_iter().chain(["pcaps/rc_send_clean-A.pcap.zst", "pcaps/rc_read_clean-A.pcap.zst"])
    {
        let report: Value = serde_json::from_slice(&run(&["analyze", "--json", capture]).stdout).unwrap();
        let messages = messages(capture);
        for flow in report["flows"].as_array().unwrap() {
            if flow["service"] == "UD" {
                continue;
            }
            let told = &flow["messages"];
            let [completed, open, broken] =
                ["completed", "open", "broken"].map(|key| told[key].as_u64().unwrap_or(0));
            let none = Vec::new();
            let rows = messages.get(&flow_id(flow)).unwrap_or(&none);
            let whole = |row: &&Value| row["first_psn"].is_u64() && row["last_psn"].is_u64();
            let sized =
                rows.iter().filter(|row| row["size_bytes"].is_u64() && row["first_psn"].is_u64()).count()
                    as u64;
            let context = format!("{capture}: {told} {} rows", rows.len());
            // Where packets are missing, both judge by PSNs, and differ in a few.
            let is_clean = flow["requests"]["gap_psns"] == 0 && flow["requests"]["retransmits"] == 0;
            let slack = if is_clean { 0 } else { 2 + completed / 200 };
            assert!(sized.abs_diff(completed) <= slack + open, "{sized} {context}");
            assert!((rows.len() as u64).abs_diff(completed + open + broken) <= slack, "{context}");
            clean += (is_clean && completed > 0) as u64;
            if is_clean
                && flow["why"].as_object().is_none_or(|why| !why.contains_key("detail"))
                && let Some(size) = told["size_bytes"]["max"].as_u64()
            {
                let own = rows.iter().filter_map(|row| row["size_bytes"].as_u64()).max().unwrap();
                // The report's figure is of a histogram.
                assert!(own <= size && size - own <= size / 64, "{own} {context}");
            }
            // Messages do not overlap, and take as long as the report's.
            let mut last = 0;
            for row in rows.iter().filter(whole) {
                let (first, end) =
                    (row["first_frame"].as_u64().unwrap(), row["last_frame"].as_u64().unwrap());
                assert!(first <= end, "{row}");
                assert!(!is_clean || row["operation"] == "read" || first > last, "{row} after {last}");
                last = end;
            }
            let took: Vec<u64> = rows.iter().filter_map(|row| row["completion_ns"].as_u64()).collect();
            let summary = &flow["latency_ns"]["message_completion"];
            if flow["requests"]["retransmits"] == 0 && summary.is_object() && completed < 1000 && broken == 0
            {
                assert_eq!(took.len() as u64, summary["count"].as_u64().unwrap(), "{context}");
                let (max, own) = (summary["max"].as_u64().unwrap(), took.iter().max().copied().unwrap_or(0));
                assert!(own <= max && max - own <= max / 64, "{own} {summary} {context}");
            }
        }
    }
    assert!(clean >= 3, "{clean}");
}

/// Where packets overtake others of earlier messages, a message began with the first packet of its own that came, whichever door says so.
#[test]
fn messages_take_as_long_through_every_door() {
    let mut late = 0;
    for operation in ["write", "send"] {
        let text = format!(
            r#"
            seed = 5
            [[connection]]
            operations = [{{ op = "{operation}", size = "4KiB", count = 400, every = "2us" }}]
            [[segment]]
            delay = "1us"
            right = {{ reorder = 0.05, reorder_depth = 9 }}
            [[segment]]
            delay = "1us"
            "#
        );
        let run = sim::run(&Scenario::parse(&text).unwrap()).unwrap();
        let rows = Arc::new(Mutex::new(Vec::new()));
        let told = rows.clone();
        let messages = Messages::new(move |message| told.lock().unwrap().push(message.clone()));
        let mut analysis = Analysis::with(Options::default(), messages);
        let mut frames = run.frames(0);
        while let Some(frame) = frames.next() {
            let (time, link, wire_len) = (Time(frame.time_ns), frame.link, frame.wire_len);
            analysis.push(&Record { time, link, interface: 0, wire_len, frame: frame.bytes });
        }
        let (report, messages) = analysis.finish_with::<Messages>();
        messages.unwrap().end();
        let flow = report.flows.iter().find(|flow| flow.messages.completed > 0).unwrap();
        let said = flow.latency_ns.message_completion.unwrap();
        late += flow.requests.out_of_order;
        let rows = rows.lock().unwrap();
        let mut took: Vec<u64> = rows.iter().filter_map(|row| row.completion_ns).collect();
        took.sort_unstable();
        let [half, last] = [took.len().div_ceil(2), took.len()].map(|n| took[n - 1]);
        let sum: u64 = took.iter().sum();
        let is = (took.len() as u64, took[0], half, last, sum);
        assert_eq!(is, (said.count, said.min, said.p50, said.max, said.sum), "{operation}");
    }
    assert!(late > 50, "{late}");
}

#[test]
fn values_are_those_of_tshark() {
    const FIELDS: [(&str, &str); 14] = [
        ("frame", "frame.number"),
        ("length_bytes", "frame.len"),
        ("ttl", "ip.ttl"),
        ("ecn", "ip.dsfield.ecn"),
        ("ipv4_id", "ip.id"),
        ("udp_src_port", "udp.srcport"),
        ("bth_opcode", "infiniband.bth.opcode"),
        ("dest_qp", "infiniband.bth.destqp"),
        ("bth_psn", "infiniband.bth.psn"),
        ("reth_va", "infiniband.reth.va"),
        ("reth_r_key", "infiniband.reth.r_key"),
        ("reth_dma_len", "infiniband.reth.dmalen"),
        ("aeth_msn", "infiniband.aeth.msn"),
        ("icrc", "infiniband.invariant.crc"),
    ];
    if !has_wireshark("tshark") {
        return;
    }
    let capture = "pcaps/loss1_rc_write-B-300.pcap";
    let mut tshark = Command::new("tshark");
    tshark.args(["-n", "-r", capture, "-T", "fields"]);
    FIELDS.iter().for_each(|(_, field)| {
        tshark.args(["-e", field]);
    });
    let text = printed(&mut tshark);
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
        let output = cli().args(arguments).output().unwrap();
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
    let Some(python) = crate::support::programs::python("duckdb") else { return };
    let scratch = Scratch::new("packets");
    let of = |name: &str| scratch.join(name).to_str().unwrap().to_owned();
    let (parquet, csv) = (of("p.parquet"), of("p.csv"));
    for path in [&parquet, &csv] {
        run(&[&["packets", "-o", path][..], &CAPTURES].concat());
    }
    let program = format!(
        "import duckdb\n\
         duckdb.sql('set enable_progress_bar = false')\n\
         columns = [c[0] for c in duckdb.sql(\"describe select * from '{parquet}'\").fetchall()]\n\
         text = ', '.join(f'cast(\"{{c}}\" as varchar) as \"{{c}}\"' for c in columns)\n\
         a = f\"select {{text}} from '{parquet}'\"\n\
         b = \"select * from read_csv('{csv}', all_varchar = true)\"\n\
         n = [duckdb.sql(f'select count(*) from ({{x}} except all {{y}})').fetchall()[0][0] for x, y in ((a, b), (b, a))]\n\
         print(n[0], n[1], duckdb.sql(f'select count(*) from ({{a}})').fetchall()[0][0] > 50000)"
    );
    let output = Command::new(python).args(["-c", &program]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said.trim(), "0 0 True", "{}", String::from_utf8_lossy(&output.stderr));
}

/// A reader that closes the pipe, as `head` does, is no error; and an error is said once.
#[test]
fn what_goes_wrong_is_said_once() {
    let program = |more: &[&str]| {
        cli().arg("packets").args(more).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    for more in [&["pcaps/loss1_rc_read-A.pcap.zst"][..], &["--messages", "pcaps/loss1_rc_read-A.pcap.zst"]] {
        let mut running = program(more);
        running.stdout.take().unwrap().read_exact(&mut [0; 100]).unwrap();
        let ended = running.wait_with_output().unwrap();
        assert_eq!(
            (ended.status.code(), String::from_utf8_lossy(&ended.stderr)),
            (Some(0), "".into()),
            "{more:?}"
        );
    }
    for more in [&["/nowhere"][..], &["--messages", "/nowhere"], &["--fields", "frame,class", "/nowhere"]] {
        let ended = program(more).wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(
            (ended.status.code(), said),
            (Some(2), "rdmawire: /nowhere: no such file or directory\n".into())
        );
        assert_eq!(String::from_utf8_lossy(&ended.stdout), "", "{more:?}");
    }
}

/// Columns come in the order in which they are asked for, whatever is known first.
#[test]
fn columns_have_the_order_of_the_question() {
    let capture = "pcaps/loss1_rc_write-B-300.pcap";
    let asked = ["class", "dst", "frame", "capture", "bth_psn", "uid", "src"];
    let all = packets(&[capture], &[]);
    // Named twice, a column comes once.
    let fields = format!("{},class", asked.join(","));
    let some = packets(&[capture], &["--fields", &fields]);
    assert_eq!(some.len(), 300);
    for (some, all) in some.iter().zip(&all) {
        assert_eq!(some.as_object().unwrap().len(), asked.len());
        assert!(asked.iter().all(|name| some[name] == all[name]), "{some} {all}");
    }
    let csv = run(&["packets", "--fields", &fields, capture]).stdout;
    assert!(csv.starts_with(format!("{}\n", asked.join(",")).as_bytes()));
    let scratch = Scratch::new("order");
    let path = scratch.join("p.ndjson");
    run(&["packets", "--fields", &fields, capture, "-o", path.to_str().unwrap()]);
    let line = fs::read_to_string(path).unwrap().lines().next().unwrap().to_owned();
    let places = asked.map(|name| line.find(&format!("\"{name}\":")).unwrap());
    assert!(places.is_sorted(), "{line}");
    // Nothing but what the analysis says.
    let csv = run(&["packets", "--fields", "space,class", capture]).stdout;
    assert_eq!(String::from_utf8_lossy(&csv).lines().nth(2), Some("request,first"));
}
