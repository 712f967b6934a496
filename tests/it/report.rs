//! Reports as data: JSON reads back and fits its schema, renderers need nothing but the report, and nothing in one steers a
//! terminal.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use crate::support::{frames::Roce, schema::Schema, trace};
use rdmawire::{
    analyze::{Address, Analysis, Ended, Files, KnownConnection, Options},
    capture::{Record, Time},
    opcode::Opcode,
    report::{
        self, Class, Coverage, Encapsulation, Reason, Renderer, Report, SCHEMA, Service, View, Visibility,
        clean,
        json::{self, Json},
        set::Set,
        units,
    },
};
use serde_json::{Value, json};

/// Frames of each capture: enough for every section.
const FRAMES: usize = 8000;

fn captures() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("pcaps");
    let mut all: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    let compressed = cfg!(feature = "compression");
    all.retain(|path| path.extension().is_some_and(|end| end == "pcap" || compressed && end == "zst"));
    assert!(!all.is_empty(), "there are captures to test with");
    all.sort();
    all
}

fn analyzed(path: &Path) -> Ended {
    let options =
        Options { interval_ns: Some(1_000_000), speed_bps: Some(100_000_000_000), ..Options::default() };
    let mut analysis = Analysis::new(options);
    for frame in trace::read(path).unwrap().iter().take(FRAMES) {
        analysis.push(&frame.record());
    }
    let names = vec![path.file_name().unwrap().to_string_lossy().into_owned()];
    analysis.end().from(Files { names, ..Files::default() })
}

fn rendered(report: &View<'_>, mut renderer: impl Renderer) -> String {
    let mut out = Vec::new();
    renderer.render(report, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[cfg(feature = "cli")]
fn texts(report: &View<'_>) -> Vec<String> {
    use rdmawire::report::text::{Options, Text};

    let options = Options { top: 0, ..Options::default() };
    let of = |flow| rendered(report, Text { options, flow });
    std::iter::once(of(None)).chain((0..report.flows.len().min(5)).map(|flow| of(Some(flow)))).collect()
}

#[cfg(not(feature = "cli"))]
fn texts(_: &View<'_>) -> Vec<String> {
    Vec::new()
}

#[test]
fn a_report_reads_back_and_fits_its_schema() {
    let schema = Schema::of(report::schema());
    let mut flows = 0;
    for path in captures() {
        let name = path.display();
        let ended = analyzed(&path);
        let report = ended.report();
        let json = rendered(&report, Json { threads: 1 });
        assert_eq!(rendered(&report, Json { threads: 3 }), json, "{name}");
        schema.check(&serde_json::from_str(&json).unwrap()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let read: Report = serde_json::from_str(&json).unwrap();
        assert_eq!(read, report.collect(), "{name}");
        assert_eq!(rendered(&read.view(), Json { threads: 1 }), json, "{name}");
        assert_eq!(texts(&read.view()), texts(&report), "{name}");
        flows += read.flows.len();
    }
    assert!(flows > 50 || cfg!(not(feature = "compression")), "{flows} flows");
}

#[test]
fn the_schema_refuses_what_no_report_is() {
    let schema = Schema::of(report::schema());
    let ended = analyzed(&captures()[0]);
    let good: Value = serde_json::from_str(&rendered(&ended.report(), Json { threads: 1 })).unwrap();
    schema.check(&good).unwrap();
    for (pointer, wrong) in [
        ("/capture/packets", json!("many")),
        ("/capture/packets", json!(-1)),
        ("/flows/0/service", json!("TCP")),
        ("/flows/0/src", json!(null)),
        ("/flows/0/requests/losses/upstream", json!([1])),
        ("/why/intervals", json!("no reason")),
    ] {
        let mut bad = good.clone();
        match bad.pointer_mut(pointer) {
            Some(value) => *value = wrong,
            None => bad["why"] = json!({ "intervals": wrong }),
        }
        assert!(schema.check(&bad).is_err(), "{pointer}");
    }
    for (object, field) in
        [("/capture", "limitations"), ("/flows/0", "epoch"), ("/overhead/total", "packets")]
    {
        let mut bad = good.clone();
        bad.pointer_mut(object).unwrap().as_object_mut().unwrap().remove(field).unwrap();
        assert!(schema.check(&bad).is_err(), "{object} without {field}");
    }
}

#[test]
fn the_schema_documents_every_field() {
    fn walk(part: &Value, path: &str, fields: &mut u32) {
        for (name, field) in part["properties"].as_object().into_iter().flatten() {
            *fields += 1;
            let path = format!("{path}.{name}");
            assert!(field["description"].as_str().is_some_and(|text| text.len() > 8), "{path}: {field}");
        }
        for (name, part) in part["$defs"].as_object().into_iter().flatten() {
            walk(part, name, fields);
        }
    }
    let mut fields = 0;
    walk(&report::schema(), "Report", &mut fields);
    assert!(fields > 200, "{fields}");
}

#[test]
fn what_a_newer_version_wrote_is_read() {
    let newer = json!({
        "schema": SCHEMA,
        "weather": [1, 2],
        "flows": [{
            "service": "QUIC", "encapsulation": "carrier-pigeon", "visibility": "dark", "packets": 7, "colour": "red",
            "requests": { "classes": { "sent_by_mistake": 3, "new": 4 } },
            "why": { "path_mtu": "a_new_reason" },
        }],
        "findings": [{ "severity": "disaster", "id": "new.one" }],
    });
    let report: Report = serde_json::from_value(newer).unwrap();
    let flow = &report.flows[0];
    assert_eq!((flow.service, flow.encapsulation), (Service::Unknown, Encapsulation::Unknown));
    assert_eq!((flow.visibility, flow.packets), (Some(Visibility::Unknown), 7));
    assert_eq!(flow.requests.classes, BTreeMap::from([(Class::New, 4), (Class::Unknown, 3)]));
    assert_eq!(flow.why["path_mtu"], Reason::Unknown);
    assert_eq!(report.head.findings[0].id, "new.one");
}

#[test]
fn a_word_stands_for_a_term_and_back() {
    fn check<T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(all: &[T]) {
        for term in all {
            let word = serde_json::to_string(term).unwrap();
            assert_eq!(&serde_json::from_str::<T>(&word).unwrap(), term, "{word}");
        }
    }
    check(&Service::ALL);
    check(&Encapsulation::ALL);
    check(&Class::ALL);
    check(&Reason::ALL);
    check(&Visibility::ALL);
    check(&report::Trigger::ALL);
    check(&report::Location::ALL);
    check(&report::RecoveryMode::ALL);
    check(&report::PairedBy::ALL);
    check(&report::Coverage::ALL);
    check(&report::MtuBy::ALL);
    check(&report::Pacing::ALL);
    check(&report::Space::ALL);
}

/// The report of the text tests, with something put behind every text and name in it.
fn with_names(behind: &str) -> Report {
    fn walk(value: &mut Value, behind: &str) {
        match value {
            Value::String(text) => text.push_str(behind),
            Value::Array(all) => all.iter_mut().for_each(|value| walk(value, behind)),
            Value::Object(all) => {
                let old = std::mem::take(all);
                for (name, mut value) in old {
                    walk(&mut value, behind);
                    // Keys of a map are names too; those of other objects must stay what they are.
                    let is_opcode = name.starts_with("RC ");
                    all.insert(if is_opcode { name + behind } else { name }, value);
                }
            }
            _ => {}
        }
    }
    let mut value: Value = serde_json::from_str(include_str!("../data/text/report.json")).unwrap();
    value["pause"] = json!([{ "link": "eth0", "sender": "02:00:00:00:00:01", "xoff": 1 }]);
    value["intervals"] = json!([{ "packets": 1 }]);
    value["interval_ns"] = json!(1000);
    // Its file name steers already.
    value["capture"]["files"] = json!(["a.pcap"]);
    walk(&mut value, behind);
    serde_json::from_value(value).unwrap()
}

#[test]
fn no_name_steers_a_terminal() {
    // Colours, a window's title, the one-byte form of ESC [, a new line, a carriage return, a change of direction.
    let hostile = with_names("\x1b[31m\x1b]0;t\x07\u{9b}2J\n\r\u{202e}\u{7f}");
    let harmless = with_names("?[31m?]0;t??2J????");
    let steers = |text: &str| text.contains(|c: char| c.is_control() && c != '\n');
    assert_eq!(texts(&hostile.view()), texts(&harmless.view()));
    assert!(!texts(&hostile.view()).iter().any(|text| steers(text)));
    let json = rendered(&hostile.view(), Json { threads: 1 });
    assert!(!steers(&json) && json.matches('\n').count() == 1);
    assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), hostile);
    let mut set = Vec::new();
    json::write(&mut set, &Set::new(vec![hostile.clone()])).unwrap();
    assert!(!steers(std::str::from_utf8(&set).unwrap()));
    #[cfg(feature = "cli")]
    {
        let mut text = Vec::new();
        report::text::write_set(&Set::new(vec![hostile]), &Default::default(), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        // The head, the verdict, and a table of one capture.
        assert!(!steers(&text) && text.lines().count() == 5, "{text:?}");
    }
}

/// Reports of packets from host 1 to host 2 and back: the time, who sends, and what.
fn of_packets(packets: &[(i64, Roce)]) -> Report {
    of_packets_with(Options { verify_icrc: false, ..Options::default() }, packets)
}

fn of_packets_with(options: Options, packets: &[(i64, Roce)]) -> Report {
    let mut analysis = Analysis::new(options);
    for (time, roce) in packets {
        let frame = roce.frame();
        let (wire_len, time) = (frame.len() as u32, Time(*time));
        analysis.push(&Record { time, link: roce.link(), interface: 0, wire_len, frame: &frame });
    }
    analysis.finish()
}

/// IPv6 has no header checksum, which these frames would have wrong.
fn packet(opcode: Opcode, psn: u32) -> Roce {
    Roce { wrap: rdmawire::dissect::Encapsulation::RoceV2Ipv6, opcode, psn, ..Roce::default() }
}

fn send(psn: u32) -> Roce {
    Roce { payload: 64, ..packet(Opcode::RC_SEND_ONLY, psn) }
}

fn ack(psn: u32) -> Roce {
    Roce { src: 2, dst: 1, qp: 0x12, ..packet(Opcode::RC_ACKNOWLEDGE, psn) }
}

#[test]
fn what_the_tap_showed_of_a_connection() {
    let requests = || (0..50).map(|n| (1000 * n as i64, send(n)));
    let answers = || (0..50).map(|n| (1000 * n as i64 + 500, ack(n)));
    let both = of_packets(&requests().zip(answers()).flat_map(|(a, b)| [a, b]).collect::<Vec<_>>());
    assert!(both.flows.iter().all(|flow| flow.visibility == Some(Visibility::TwoWay)));
    let one = of_packets(&requests().collect::<Vec<_>>());
    assert_eq!(one.flows[0].visibility, Some(Visibility::RequestsOnly));
    let other = of_packets(&answers().collect::<Vec<_>>());
    assert_eq!(other.flows[0].visibility, Some(Visibility::ResponsesOnly));
    assert!(!other.flows[0].why.contains_key("visibility"));
    // Something comes back, and it may be of this connection: nobody can tell.
    let stranger = (60_000, Roce { src: 2, dst: 1, qp: 0x77, ..send(9_000_000) });
    let unclear = of_packets(&requests().chain([stranger]).collect::<Vec<_>>());
    assert_eq!(unclear.flows[0].visibility, None);
    assert_eq!(unclear.flows[0].why["visibility"], Reason::Unpaired);
}

#[test]
fn a_capture_that_lost_packets_is_a_reason() {
    const LATER: i64 = 100_000_000;
    let ends = |host: u16, qp| (Some(Address::Ip([0xfd00, 0, 0, 0, 0, 0, 0, host].into())), qp);
    let connections = vec![KnownConnection { a: ends(1, 0x12), b: ends(2, 0x11) }];
    let latency = |packets: &[(i64, Roce)]| {
        let options = Options { connections: connections.clone(), verify_icrc: false, ..Options::default() };
        let report = of_packets_with(options, packets);
        let flow = report.flows.iter().find(|flow| flow.dest_qp == 0x11).expect("it has requests");
        (report.connections[0].visibility, flow.why.get("latency_ns").copied())
    };
    // An acknowledgement of packets that were sent, and are not in the capture.
    // Not within the first round trips, which prove nothing: it may have begun in the middle.
    let lossy = [(0, send(10)), (500, ack(10)), (LATER, ack(40))];
    assert_eq!(latency(&lossy), (Coverage::CaptureLossy, None));
    let lossy = [(0, send(10)), (LATER, ack(40))];
    assert_eq!(latency(&lossy), (Coverage::CaptureLossy, Some(Reason::CaptureLoss)));
    // It ends before anything was acknowledged.
    let cut = [(0, ack(9)), (500, send(10))];
    assert_eq!(latency(&cut), (Coverage::Full, Some(Reason::Midstream)));
}

#[test]
fn bits_say_what_was_seen_of_a_connection() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("pcaps/cm_rping-A.pcap");
    let report = analyzed(&path).report().collect();
    let seen: Vec<u8> = report.connections.iter().map(|connection| connection.completeness).collect();
    assert_eq!(seen, [1 | 2 | 4 | 8 | 16 | 32; 2]);
    let refused = Roce { syndrome: 0x62, ..ack(49) };
    let packets = (0..49).flat_map(|n| [(1000 * n as i64, send(n)), (1000 * n as i64 + 500, ack(n))]);
    let packets = packets.chain([(49_000, send(49)), (49_500, refused)]).collect::<Vec<_>>();
    assert_eq!(of_packets(&packets).connections[0].completeness, 8 | 16 | 64);
}

fn written(value: &impl serde::Serialize) -> String {
    let mut text = Vec::new();
    json::write(&mut text, value).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn more_than_a_piece_is_what_serde_json_writes() {
    let many: Vec<_> = (0..30_000).map(|n| (n, "row", f64::from(n) / 7.0, Some([n]), ())).collect();
    assert_eq!(written(&many), serde_json::to_string(&many).unwrap());
}

#[test]
fn control_characters_beyond_ascii_are_escaped_too() {
    let text = "\u{9b}\u{7f}é\u{a0}";
    let escaped = "\"\\u009b\\u007fé\u{a0}\"";
    assert_eq!(written(&text), escaped);
    assert_eq!(written(&serde_json::value::to_raw_value(text).unwrap()), escaped);
}

#[test]
fn clean_text_steers_no_terminal() {
    assert_eq!(clean("a\x1b[2Jb\nc\u{9b}\u{202e}"), "a?[2Jb?c??");
    assert!(matches!(clean("10.0.0.1 → µs"), Cow::Borrowed(_)));
}

#[test]
fn numbers_as_people_read_them() {
    assert_eq!([0, 999, 1_000, 1_234_567].map(units::count), ["0", "999", "1,000", "1,234,567"]);
    assert_eq!(units::bits_per_second(12_500, 1_000), "100 Gbit/s");
    assert_eq!(units::bits_per_second(1, 0), "8.00 Gbit/s");
    let ratios = [0.0, 0.000_01, 0.001_3, 0.5, 0.999_5, 1.0];
    assert_eq!(ratios.map(units::percent), ["0 %", "<0.01 %", "0.13 %", "50.0 %", "99.95 %", "100 %"]);
    assert_eq!(units::utc(1_795_262_738_000_000_000), "2026-11-21 12:05:38 UTC");
    assert_eq!([units::utc(0), units::utc(-1)], ["1970-01-01 00:00:00 UTC", "1969-12-31 23:59:59 UTC"]);
}
