//! Every renderer, over reports with any values in them: none panics, none is longer than its lists, nothing steers a terminal or leaves
//! its element.

use std::sync::{Mutex, OnceLock, PoisonError};

use rdmawire::{
    analyze::{Analysis, Ended, Options, metric::timeline::Timeline},
    capture::{Record, Time},
    craft::{Channel, Path},
    dissect::Link,
    gate::{self, Before, Rule, Unknown, changes, write},
    opcode::Opcode,
    report::{
        Renderer, Report, View,
        json::Json,
        steers,
        text::{Options as Style, Text},
    },
    wire::{Psn, Qpn, Syndrome},
};
use serde_json::Value;

/// A fuzzer's input: groups of four bytes, each a place in a report and what stands there: numbers as large as captures can make them, long
/// and odd texts, nothing.
pub fn forged(data: &[u8]) {
    static REPORT: OnceLock<Value> = OnceLock::new();
    let honest = REPORT.get_or_init(|| serde_json::to_value(ended().report().collect()).expect("JSON"));
    let mut forged = honest.clone();
    let places = count(&forged);
    for group in data.chunks_exact(4).take(64) {
        let &[low, high, what, how] = group else { return };
        let mut at = usize::from(u16::from_le_bytes([low, high])) % places.max(1);
        put(&mut forged, &mut at, &value(what, how));
    }
    // Where a type has no room for the value, there is no report to show.
    let Ok(report) = serde_json::from_value::<Report>(forged) else { return };
    static ENDED: OnceLock<Mutex<Ended>> = OnceLock::new();
    // Pictures are of the analysis, whatever the report says.
    let pictured = ENDED.get_or_init(|| Mutex::new(ended())).lock().unwrap_or_else(PoisonError::into_inner);
    show(&report.view(), pictured.metric());
    drop(pictured);
    let honest: Report = serde_json::from_value(honest.clone()).expect("a report");
    let rules: Vec<Rule> = gate::names()
        .filter_map(|name| Rule::parse(&format!("{name} <= 7")).ok())
        .chain(Rule::parse("retransmits <= +5%"))
        .collect();
    let before = Before::new(&honest, &report);
    let outcomes = gate::check(&rules, &report.view(), Some(&before));
    let checked = [write::Checked { file: "x\u{1b}<&\"".to_owned(), outcomes }];
    let mut out = Vec::new();
    write::text(&mut out, &checked).expect("memory does not fail");
    write::changes(&mut out, &changes(&before, &report)).expect("memory does not fail");
    plain(&out);
    out.clear();
    write::junit(&mut out, &checked, Unknown::Fail).expect("memory does not fail");
    assert!(write::is_junit(&out));
    out.clear();
    write::sarif(&mut out, &checked, Unknown::Fail).expect("memory does not fail");
    assert!(write::is_sarif(&out));
}

/// A capture with a loss, NAKs and marks of several flows, analyzed with what pictures need.
fn ended() -> Ended {
    let mut analysis =
        Analysis::with(Options { interval_ns: Some(1000), ..Options::default() }, Timeline::default());
    let mut frame = Vec::new();
    for n in 0..120u32 {
        let flow = n % 3;
        let there = Path::rocev2(std::net::Ipv4Addr::new(10, 0, 0, 1), std::net::Ipv4Addr::new(10, 0, 0, 2));
        let path = if n % 4 == 3 { there.reversed() } else { there };
        let channel = Channel::rc(path, Qpn(0x20 + flow), Qpn(0x10 + flow));
        let packet = match n % 12 {
            3 => channel.acknowledge(Psn(n / 3), Syndrome(0x60), n),
            7 => channel.cnp(),
            11 => channel.ack(Psn(n / 3), n),
            _ => channel.headers(Opcode::RC_SEND_ONLY, Psn(n / 3 + u32::from(n > 60))).payload(vec![0; 64]),
        };
        frame.clear();
        packet.build_into(&mut frame);
        let (time, wire_len) = (Time(1_700_000_000_000_000_000 + i64::from(n) * 777), frame.len() as u32);
        analysis.push(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame: &frame });
    }
    analysis.end()
}

/// All forms of a report.
pub fn show(report: &View<'_>, timeline: Option<&Timeline>) {
    let mut out = Vec::new();
    for (width, flow) in [(0, None), (80, None), (200, Some(0))] {
        let options = Style { width, top: 3, ..Style::default() };
        Text { options, flow }.render(report, &mut out).expect("memory does not fail");
    }
    plain(&out);
    out.clear();
    Json { threads: 1 }.render(report, &mut out).expect("memory does not fail");
    serde_json::from_slice::<Value>(&out).expect("JSON");
    pages(report, timeline);
}

fn pages(report: &View<'_>, timeline: Option<&Timeline>) {
    use rdmawire::{
        plot::{self, Scene, perfetto},
        report::{
            html::{Article, Made, is_page},
            table::{Format, Tables},
        },
    };
    let pictures = timeline.map_or_else(Vec::new, |timeline| timeline.charts(report, &[0], 3));
    let article = Article::of(report, pictures, Default::default(), 100).expect("memory does not fail");
    let mut page = Vec::new();
    Made::default().page(&[article], &mut page).expect("memory does not fail");
    assert!(is_page(&page));
    let scripts = page.windows(8).filter(|bytes| bytes.eq_ignore_ascii_case(b"</script")).count();
    assert_eq!(scripts, 3, "something ends an element that it is in");
    for format in [Format::Csv, Format::Ndjson] {
        let mut tables = Tables::new(format, |_| Ok(Vec::new())).expect("memory does not fail");
        tables.add(report).expect("memory does not fail");
        tables.finish().expect("memory does not fail");
    }
    let mut scenes = vec![Scene::matrix(report)];
    if let Some(timeline) = timeline {
        let mut trace = Vec::new();
        let flows = timeline.chosen(report, 10);
        perfetto::write(report, timeline, &flows, &mut trace).expect("memory does not fail");
        assert!(perfetto::is_trace(&trace));
        scenes.extend(Scene::rate(report, timeline));
        scenes.push(Scene::pause(report, timeline));
        for flow in flows.iter().take(2).filter_map(|at| timeline.flow(report, *at)) {
            scenes.extend([
                Scene::psn(report, timeline, &flow),
                Scene::latency(&flow),
                Scene::rate_of_flow(&flow),
            ]);
        }
    }
    for scene in scenes.iter().filter(|scene| !scene.layers.is_empty()) {
        let svg = scene.svg(300, 200).expect("a picture");
        assert!(plot::is_svg(svg.as_bytes()));
        scene.text(60, 20, false).expect("a picture");
    }
}

/// Text that a terminal shows as it is.
fn plain(text: &[u8]) {
    let text = std::str::from_utf8(text).expect("text");
    assert!(!text.contains(|c: char| c != '\n' && steers(c)), "{text:?}");
    assert!(text.len() < 4 << 20, "{} bytes", text.len());
}

fn count(value: &Value) -> usize {
    match value {
        Value::Array(all) => all.iter().map(count).sum(),
        Value::Object(all) => all.values().map(count).sum(),
        _ => 1,
    }
}

/// Puts a value where the place is; counts down to it.
fn put(value: &mut Value, at: &mut usize, new: &Value) -> bool {
    match value {
        Value::Array(all) => all.iter_mut().any(|one| put(one, at, new)),
        Value::Object(all) => all.values_mut().any(|one| put(one, at, new)),
        leaf if *at == 0 => {
            *leaf = new.clone();
            true
        }
        _ => {
            *at -= 1;
            false
        }
    }
}

fn value(what: u8, how: u8) -> Value {
    let how = u64::from(how);
    match what % 12 {
        0 => Value::Null,
        1 => 0.into(),
        2 => (1u64 << (how % 41)).into(),
        3 => (1i64 << (how % 61)).into(),
        4 => (-1i64 << (how % 61)).into(),
        5 => (how as f64 * 1e300).into(),
        6 => (-(how as f64) / 1e300).into(),
        7 => "</script><!--\u{1b}[2J\n\u{202e}=1+1".into(),
        8 => "x".repeat(how as usize * 16).into(),
        9 => (how % 2 == 0).into(),
        10 => how.into(),
        _ => (u64::from(u32::MAX) + how).into(),
    }
}
