//! `analyze --html`: the page says what the JSON says, stands alone, and gives hostile names no way out.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::{
    frames::Roce,
    programs::{cli, done, skip},
    scratch::Scratch,
};
use rdmawire::{
    capture::{self, Format, Record, Sink, Time},
    opcode::Opcode,
    report::{
        CaptureProblem, Finding, Flow, Pause, Report,
        chart::{Chart, Picture, Series},
        html::{Article, Made, MadeOf},
    },
};
use serde_json::Value;

const LOSSY: &str = "pcaps/loss1_rc_write-B-300.pcap";

fn run(arguments: &[&str]) -> Vec<u8> {
    done(cli().args(arguments)).stdout
}

fn page(captures: &[&str]) -> String {
    let arguments = [&["analyze", "--html", "-"], captures].concat();
    String::from_utf8(run(&arguments)).unwrap()
}

/// The data of the captures of a page.
fn islands(page: &str) -> Vec<Value> {
    let parts = page.split("<script type=\"application/json\">").skip(1);
    parts.map(|part| serde_json::from_str(part.split("</script>").next().unwrap()).unwrap()).collect()
}

/// The cell of a row in the column with this label; `Null` for a column that was left out.
fn cell<'a>(table: &'a Value, row: &'a Value, label: &str) -> &'a Value {
    let columns = table["columns"].as_array().unwrap();
    columns.iter().position(|column| column["label"] == label).map_or(&Value::Null, |at| &row[at])
}

#[test]
fn figures_are_those_of_the_json() {
    let [data] = &islands(&page(&[LOSSY]))[..] else { panic!("one capture") };
    let report: Value = serde_json::from_slice(&run(&["analyze", "--json", LOSSY])).unwrap();
    let flows = &data["flows"];
    assert_eq!(flows["rows"].as_array().unwrap().len(), report["flows"].as_array().unwrap().len());
    let both = |flow: &Value, of: &str| {
        ["requests", "responses"]
            .iter()
            .map(|side| flow[side].pointer(of).unwrap().as_u64().unwrap())
            .sum::<u64>()
    };
    for row in flows["rows"].as_array().unwrap() {
        let flow = &report["flows"][row[0].as_u64().unwrap() as usize];
        let number = |label| cell(flows, row, label).as_u64().unwrap_or(0);
        for (label, field) in [
            ("packets", "/packets"),
            ("bytes", "/wire_bytes"),
            ("goodput bytes", "/goodput_bytes"),
            ("NAK", "/naks/psn_sequence_error"),
            ("CNP", "/cnps"),
            ("ACK p99", "/latency_ns/ack_rtt/p99"),
            ("message p50", "/latency_ns/message_completion/p50"),
        ] {
            assert_eq!(number(label), flow.pointer(field).and_then(Value::as_u64).unwrap_or(0), "{label}");
        }
        assert_eq!(cell(flows, row, "from"), &flow["src"]);
        assert_eq!(number("resent"), both(flow, "/retransmits"));
        let lost: u64 = ["upstream", "downstream", "corrupt"]
            .iter()
            .map(|place| both(flow, &format!("/losses/{place}/0")))
            .sum();
        assert_eq!(cell(flows, row, "lost packets")[0].as_u64().unwrap_or(0), lost);
    }
    let (episodes, shown) = (report["episodes"].as_array().unwrap(), &data["episodes"]);
    assert_eq!(shown["rows"].as_array().unwrap().len(), episodes.len());
    for (row, episode) in shown["rows"].as_array().unwrap().iter().zip(episodes) {
        assert_eq!(cell(shown, row, "lost PSN"), &episode["lost_psn"]);
        assert_eq!(cell(shown, row, "resent from"), &episode["first_retransmit_frame"]);
    }
    let bytes: u64 =
        data["hosts"]["cells"].as_array().unwrap().iter().map(|cell| cell[2].as_u64().unwrap()).sum();
    let all = report["flows"].as_array().unwrap().iter().map(|flow| flow["wire_bytes"].as_u64().unwrap());
    assert_eq!(bytes, all.sum::<u64>());
}

/// Rates are rounded as the text rounds them, once: 587.79 bit/s are 588.
#[test]
fn rates_are_rounded_as_in_the_text() {
    const CAPTURE: &str = "pcaps/cm_req_lost-A.pcap.zst";
    let [data] = &islands(&page(&[CAPTURE]))[..] else { panic!("one capture") };
    let text = String::from_utf8(run(&["analyze", CAPTURE])).unwrap();
    let mut rates = Vec::new();
    for row in data["flows"]["rows"].as_array().unwrap() {
        for label in ["rate", "goodput"] {
            let rate = cell(&data["flows"], row, label).as_f64().unwrap();
            let shown = rdmawire::report::units::bits(rate);
            assert!(text.contains(&shown), "{rate} {shown}: {text}");
            rates.push(shown);
        }
    }
    assert_eq!(rates, ["588 bit/s", "435 bit/s", "676 bit/s", "500 bit/s"]);
}

#[test]
fn several_captures_are_one_page_with_a_table_on_top() {
    let page = page(&[LOSSY, "pcaps/cm_rping-A.pcap"]);
    assert_eq!(islands(&page).len(), 2);
    let table = page.split("<article").next().unwrap();
    assert!(table.contains("href=\"#c0\"") && table.contains("href=\"#c1\""), "{table}");
    assert!(page.contains("id=\"c1\"") && page.contains("2 captures"));
    // As sha256sum says.
    let known = "fefbbf468aeb30b58fd85148a8a0dfc45c214668171126a20a0527c8809e8e92";
    assert!(page.contains(known));
}

/// The script of the page would stop at the first place without data, and show nothing below it.
#[test]
fn places_of_tables_have_their_data() {
    let captures = ["nccl_ring-A.pcap.zst", "cm_rping-A.pcap", "loss1_rc_write-B-300.pcap"];
    let mut seen = BTreeSet::new();
    for capture in captures {
        let page = page(&[&format!("pcaps/{capture}")]);
        let data = &islands(&page)[0];
        for place in page.split("data-table=\"").skip(1) {
            let name = place.split('"').next().unwrap();
            assert!(data[name]["columns"].is_array(), "{capture}: {name}");
            seen.insert(name.to_owned());
        }
    }
    for name in ["flows", "connections", "episodes", "slow", "setups", "classes", "collective_connections"] {
        assert!(seen.contains(name), "no page shows {name}");
    }
}

/// Every text of a report as a stranger would like to write it.
#[test]
fn names_of_captures_stay_text() {
    const EVIL: &str = "</script><!--<script><img src=x onerror=alert(1)>\"'&\u{1b}[31m\u{202e}";
    let mut report = Report::default();
    report.head.capture.files = vec![EVIL.into()];
    report.head.capture.limitations = vec![EVIL.into()];
    report.head.capture.problems = vec![CaptureProblem::new(EVIL, 0, EVIL)];
    let mut flow = Flow::default();
    (flow.src, flow.dst, flow.packets, flow.udp_src_ports) = (EVIL.into(), EVIL.into(), 1, vec![1]);
    report.flows = vec![flow];
    let mut finding = Finding::default();
    (finding.text, finding.next, finding.id) = (EVIL.into(), EVIL.into(), EVIL.into());
    (finding.flows, finding.flow_count) = (vec![Default::default()], 1);
    report.head.findings = vec![finding];
    let mut pause = Pause::default();
    (pause.link, pause.sender) = (EVIL.into(), EVIL.into());
    report.head.pause = Some(vec![pause]);
    let series = vec![Series { name: EVIL.into(), ..Series::default() }];
    let charts = vec![Chart { series, ..Chart::default() }];
    let picture = Picture { title: EVIL.into(), charts, ..Picture::default() };
    let made =
        Made { command: EVIL.into(), at_ns: None, files: vec![MadeOf { name: EVIL.into(), known: None }] };
    let articles = [
        Article::of(&report.view(), vec![picture], BTreeMap::new(), Article::ROWS).unwrap(),
        Article::of(&report.view(), Vec::new(), BTreeMap::new(), 1).unwrap(),
    ];
    let mut page = Vec::new();
    made.page(&articles, &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(!page.contains("<img") && !page.contains("<!--"), "a name became HTML");
    assert!(!page.contains(['\u{1b}', '\u{202e}']));
    // Two captures' data, uPlot, and the page's own script.
    assert_eq!(page.matches("<script").count(), 4);
    assert_eq!(page.matches("</script").count(), 4);
    let name = &islands(&page)[0]["flows"]["rows"][0][1];
    assert!(name.as_str().unwrap().starts_with("</script><!--<script><img src=x"), "{name}");
}

#[test]
fn a_page_replaces_a_page_but_no_capture() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("html");
    std::fs::create_dir_all(&folder).unwrap();
    let (capture, page) = (folder.join("x.pcap"), folder.join("x.html"));
    std::fs::copy(LOSSY, &capture).unwrap();
    let [capture, page] = [&capture, &page].map(|path| path.to_str().unwrap());
    run(&["analyze", LOSSY, "--html", page]);
    run(&["analyze", LOSSY, "--html", page]);
    let refused = cli().args(["analyze", "--html", capture, LOSSY]).output();
    let refused = refused.unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("exists; --force replaces it"));
    assert_eq!(std::fs::read(capture).unwrap(), std::fs::read(LOSSY).unwrap());
}

/// A file in the folder of this test.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("html");
    fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

/// A capture of so many connections. Every twentieth loses a packet before the tap.
fn write_connections(path: &Path, connections: u32) {
    let options = capture::Options { force: true, ..Default::default() };
    let mut sink = capture::create(path, Format::Pcap, &[], options).unwrap();
    let mut time = 1_700_000_000_000_000_000;
    let mut put = |roce: Roce| {
        time += 700;
        let frame = roce.frame();
        let wire_len = frame.len() as u32;
        sink.put(&Record { time: Time(time), link: roce.link(), interface: 0, wire_len, frame: &frame })
            .unwrap();
    };
    for n in 0..connections {
        let (src, dst) = ((n % 40) as u8 + 1, (n * 7 % 40) as u8 + 101);
        let to = Roce {
            src,
            dst,
            qp: 0x100 + n,
            port: 0xc000 + (n % 500) as u16,
            payload: 256,
            ..Roce::default()
        };
        let from =
            Roce { src: dst, dst: src, qp: 0x10_0000 + n, payload: 0, opcode: Opcode::RC_ACKNOWLEDGE, ..to };
        let packets = 3 + n % 9;
        let data = |psn| Roce {
            psn,
            opcode: match psn {
                0 => Opcode::RC_SEND_FIRST,
                psn if psn == packets - 1 => Opcode::RC_SEND_LAST,
                _ => Opcode::RC_SEND_MIDDLE,
            },
            ..to
        };
        let is_lossy = n % 20 == 0;
        (0..packets).filter(|&psn| !(is_lossy && psn == 1)).for_each(|psn| put(data(psn)));
        if is_lossy {
            put(Roce { psn: 1, syndrome: 0x60, ..from });
            (1..packets).for_each(|psn| put(data(psn)));
        }
        put(Roce { psn: packets - 1, ..from });
    }
    sink.finish().unwrap();
}

/// The page of a capture and its JSON, in files.
fn page_and_json(capture: &str, name: &str) -> (PathBuf, PathBuf) {
    let (page, json) = (scratch(&format!("{name}.html")), scratch(&format!("{name}.json")));
    run(&["analyze", "--icrc", "off", capture, "--html", page.to_str().unwrap()]);
    fs::write(&json, run(&["analyze", "--icrc", "off", "--json", capture])).unwrap();
    (page, json)
}

/// A program that is here.
fn found<'a>(names: &[&'a str]) -> Option<&'a str> {
    names
        .iter()
        .copied()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|ran| ran.status.success()))
}

#[test]
fn ten_thousand_flows_make_a_page_of_less_than_five_megabytes() {
    let capture = scratch("many.pcap");
    write_connections(&capture, 5_000);
    let (page, json) = page_and_json(capture.to_str().unwrap(), "many");
    let size = fs::metadata(&page).unwrap().len();
    assert!(size < 5_000_000, "{size} bytes");
    in_browser(&page, &json);
    let (page, json) = page_and_json(LOSSY, "few");
    in_browser(&page, &json);
}

/// Opens a page in Chromium: `browser.mjs` says what it checks.
fn in_browser(page: &Path, json: &Path) {
    let (Some(node), Some(chromium)) =
        (found(&["node", "nodejs"]), found(&["chromium", "chromium-browser", "google-chrome"]))
    else {
        return skip("chromium", "node or Chromium is not installed");
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser.mjs");
    let done = Command::new(node).arg(script).args([page, json]).arg(chromium).output().unwrap();
    let said = [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(done.status.success(), "{}: {}", page.display(), said[1]);
    println!("{}", said[0]);
}

/// Each loss and resend of the report is in the picture, with its frame.
#[test]
fn pictures_have_each_loss_and_resend() {
    let mut lost_packets = 0;
    for capture in [
        LOSSY,
        "pcaps/loss1_rc_write-A.pcap.zst",
        "pcaps/loss1_rc_write-B.pcap.zst",
        "pcaps/loss1_both_rc_write-B.pcap.zst",
    ] {
        let report: Value = serde_json::from_slice(&run(&["analyze", "--json", capture])).unwrap();
        let data = &islands(&page(&[capture]))[0];
        let pictures = data["pictures"].as_array().unwrap();
        for (index, flow) in report["flows"].as_array().unwrap().iter().enumerate() {
            let requests = &flow["requests"];
            let resent = requests["retransmits"].as_u64().unwrap();
            if resent == 0 {
                continue;
            }
            let picture = pictures
                .iter()
                .find(|picture| picture["flow"] == index)
                .expect("a flow with resends has a picture");
            let psn =
                picture["charts"].as_array().unwrap().iter().find(|chart| chart["unit"] == "psn").unwrap();
            let marks = |role: &str| {
                let series = psn["series"].as_array().unwrap().iter().filter(|series| series["role"] == role);
                series.flat_map(|series| series["marks"].as_array().unwrap()).collect::<Vec<_>>()
            };
            let packets = |role| marks(role).iter().map(|mark| mark[4].as_u64().unwrap()).sum::<u64>();
            assert_eq!(packets("again"), resent, "{capture} flow {index}");
            let most = requests["losses"]["upstream"][1].as_u64().unwrap();
            assert!(packets("lost-before") <= most, "{capture} flow {index}");
            let base = psn["base"].as_i64().unwrap();
            for episode in report["episodes"].as_array().unwrap() {
                let role = match episode["location"].as_str().unwrap() {
                    _ if episode["flow"] != index || episode["space"] != "request" => continue,
                    "upstream" => "lost-before",
                    "downstream" | "ack_path" => "lost-after",
                    _ => continue,
                };
                let lost = (episode["lost_psn"].as_i64().unwrap() - base) & 0xff_ffff;
                let [from, to] = [2, 3];
                let has = |mark: &Value| (mark[from].as_i64()..=mark[to].as_i64()).contains(&Some(lost));
                let is_there = marks(role).into_iter().any(has);
                assert!(is_there, "{capture}: the loss of PSN {} is not in the picture", episode["lost_psn"]);
                lost_packets += 1;
            }
        }
    }
    assert!(lost_packets > 100, "{lost_packets}");
}

/// Latencies over time are drawn with the longest of each few: the longest of all is among them.
#[test]
fn latencies_over_time_are_those_of_the_report() {
    for (capture, titles) in [
        ("pcaps/loss1_rc_read-A.pcap.zst", &["READ to first response", "READ to last response"][..]),
        ("pcaps/loss1_rc_write-A.pcap.zst", &["ACK round trip", "Message completion"][..]),
    ] {
        let report: Value = serde_json::from_slice(&run(&["analyze", "--json", capture])).unwrap();
        let data = &islands(&page(&[capture]))[0];
        for title in titles {
            let field = match *title {
                "READ to first response" => "read_first",
                "READ to last response" => "read_last",
                "Message completion" => "message_completion",
                _ => "ack_rtt",
            };
            let mut drawn = 0;
            for picture in data["pictures"].as_array().unwrap().iter().filter(|one| !one["flow"].is_null()) {
                let charts = picture["charts"].as_array().unwrap();
                let Some(chart) = charts.iter().find(|chart| chart["title"] == *title) else { continue };
                let flow = &report["flows"][picture["flow"].as_u64().unwrap() as usize];
                assert_eq!(chart["percentiles"], flow["latency_ns"][field], "{capture} {title}");
                let points = chart["series"][0]["points"].as_array().unwrap();
                let longest = points.iter().map(|point| point[1].as_u64().unwrap()).max().unwrap();
                let most = chart["percentiles"]["max"].as_u64().unwrap();
                assert!(longest.abs_diff(most) * 100 <= most, "{capture} {title}: {longest} and {most}");
                drawn += 1;
            }
            assert!(drawn > 0, "{capture} {title}");
        }
    }
}

/// A silence has no time between packets, and a burst that is acknowledged at once was outstanding nevertheless.
#[test]
fn a_silence_is_a_gap_and_a_burst_is_outstanding() {
    let scratch = Scratch::new("html-gap");
    let capture = scratch.join("pauses.pcapng");
    run(&["craft", "examples/scenarios/pause-tree.toml", "-o", capture.to_str().unwrap()]);
    let capture = scratch.join("pauses-l1.pcapng").to_str().unwrap().to_owned();
    let data = &islands(&page(&[&capture]))[0];
    let pictures = data["pictures"].as_array().unwrap();
    let of_flow = pictures.iter().find(|one| one["flow"] == 0).unwrap();
    let points = |title: &str| {
        let chart = of_flow["charts"].as_array().unwrap().iter().find(|chart| chart["title"] == title);
        chart.unwrap()["series"][0]["points"].as_array().unwrap().clone()
    };
    // The link is paused for 250 ms of 300.
    let gaps = points("Time between packets");
    let silent = gaps.windows(2).filter(|two| two[0][1].is_null());
    let longest = silent.map(|two| two[1][0].as_i64().unwrap() - two[0][0].as_i64().unwrap()).max();
    assert!(longest.is_some_and(|ns| ns > 200_000_000), "{longest:?}");
    assert!(gaps.iter().all(|point| point[1] != 0), "{gaps:?}");
    // What was held back leaves at once, 64 packets a message, and waits for its acknowledgements.
    let most = points("Outstanding packets").iter().filter_map(|point| point[1].as_u64()).max().unwrap();
    assert!(most >= 64, "{most}");
}

/// A page, a trace and tables come from one run, beside the JSON.
#[test]
fn one_run_makes_all_outputs() {
    let path = |name: &str| scratch(name).to_str().unwrap().to_owned();
    let (page, trace, alone) = (path("all.html"), path("all.pftrace"), path("alone.pftrace"));
    let (tables, tables_alone) = (path("all-tables"), path("alone-tables"));
    let all =
        ["analyze", LOSSY, "--json", "--force", "--html", &page, "--perfetto", &trace, "--csv", &tables];
    let json = run(&all);
    assert_eq!(json, run(&["analyze", "--json", LOSSY]));
    run(&["analyze", LOSSY, "--force", "--perfetto", &alone, "--csv", &tables_alone]);
    let read = |path: &str| fs::read(path).unwrap();
    assert!(read(&trace).len() > 1000 && read(&trace) == read(&alone));
    for table in ["flows", "episodes", "findings"] {
        let of = |directory: &str| read(&format!("{directory}/{table}.csv"));
        assert!(of(&tables).len() > 100 && of(&tables) == of(&tables_alone), "{table}");
    }
    assert_eq!(islands(&String::from_utf8(read(&page)).unwrap()), islands(&self::page(&[LOSSY])));
    let mut both = cli();
    assert!(!both.args(["analyze", "--json", "--html", "-", LOSSY]).output().unwrap().status.success());
}

/// What marks, CNPs and classes say is in the page as in the JSON.
#[test]
fn marked_flows_and_classes_are_tables_of_the_page() {
    let capture = "pcaps/ecn_rc_write-B.pcap.zst";
    let report: Value = serde_json::from_slice(&run(&["analyze", "--json", capture])).unwrap();
    let data = &islands(&page(&[capture]))[0];
    let marked = report["congestion"]["flows"].as_array().unwrap();
    let rows = data["marked"]["rows"].as_array().unwrap();
    assert!(!marked.is_empty() && rows.len() == marked.len());
    for (row, flow) in rows.iter().zip(marked) {
        assert_eq!(cell(&data["marked"], row, "CE"), &flow["ce_packets"]);
        assert_eq!(cell(&data["marked"], row, "from"), &flow["src"]);
    }
    let classes = report["traffic_classes"].as_array().unwrap();
    let rows = data["classes"]["rows"].as_array().unwrap();
    assert!(!classes.is_empty() && rows.len() == classes.len());
    for (row, class) in rows.iter().zip(classes) {
        assert_eq!(cell(&data["classes"], row, "packets"), &class["packets"]);
        assert_eq!(cell(&data["classes"], row, "bytes"), &class["wire_bytes"]);
    }
}

/// The shares of a slow flow's time add up in the page too.
#[test]
fn slow_flows_are_a_table_of_the_page() {
    let data = &islands(&page(&[LOSSY]))[0];
    let report: Value = serde_json::from_slice(&run(&["analyze", "--json", LOSSY])).unwrap();
    let (rows, slow) = (data["slow"]["rows"].as_array().unwrap(), report["slow_flows"].as_array().unwrap());
    assert!(!slow.is_empty() && rows.len() == slow.len());
    for (row, flow) in rows.iter().zip(slow) {
        assert_eq!(cell(&data["slow"], row, "lasted"), &flow["lasted_ns"]);
        let shares = ["sending", "idle", "waiting", "paused", "throttled", "recovering", "not ready"];
        let shares = shares.into_iter().chain(["receiver slow", "link full", "unknown"]);
        let sum: u64 = shares.filter_map(|label| cell(&data["slow"], row, label).as_u64()).sum();
        assert_eq!(sum, flow["lasted_ns"].as_u64().unwrap());
    }
}

/// Charts of one axis have one step: the flows of a peak are not higher than all traffic.
#[test]
fn goodput_is_no_higher_than_the_rate() {
    let [data] = &islands(&page(&["pcaps/ipv6_clean-A.pcap.zst"]))[..] else { panic!("one capture") };
    let charts = data["pictures"][0]["charts"].as_array().unwrap();
    let highest = |title: &str| {
        let chart = charts.iter().find(|chart| chart["title"] == title).unwrap();
        let series = chart["series"].as_array().unwrap().iter();
        let points = series.flat_map(|series| series["points"].as_array().unwrap());
        points.filter_map(|point| point[1].as_u64()).max().unwrap()
    };
    assert!(highest("Goodput by flow") <= highest("Rate by traffic class"));
}
