//! Pictures as SVG and text, and the trace for Perfetto: its slices, instants and arrows are those of the report.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use crate::support::programs::{cli, done, python};

fn run(arguments: &[&str]) -> Output {
    let root = env!("CARGO_MANIFEST_DIR");
    cli().current_dir(Path::new(root)).args(arguments).output().expect("it runs")
}

fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("rdmawire-plot-{}-{name}", std::process::id()))
}

const LOSSY: &str = "pcaps/loss1_rc_write-B.pcap.zst";

#[test]
fn svg_has_what_the_picture_shows() {
    for (what, layers) in [
        ("psn", &["first transmission", "retransmission", "NAK", "lost before the tap", "recovery"][..]),
        ("rate", &["DSCP 0"]),
        ("latency", &["ACK round trip", "message completion"]),
        (
            "matrix",
            &["10.77.0.1", "10.77.0.2", "at least 191 lost", "13,294 retransmissions", "darkest: 27.9 MB"],
        ),
    ] {
        let path = scratch(&format!("{what}.svg"));
        let done = run(&["plot", what, LOSSY, "-o", path.to_str().unwrap()]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let svg = std::fs::read_to_string(&path).expect("it was written");
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(layers.iter().all(|layer| svg.contains(layer)), "{what}");
        let _ = std::fs::remove_file(&path);
        let text = run(&["plot", what, LOSSY, "--color", "never"]);
        let text = String::from_utf8(text.stdout).expect("UTF-8");
        if what == "matrix" {
            // Numbers, not dots.
            let row =
                text.lines().find(|line| line.trim_start().starts_with("10.77.0.1 ")).unwrap_or_default();
            assert!(row.ends_with("13,294 retransmissions"), "{text}");
            continue;
        }
        assert!(
            text.lines().count() > 20 && text.chars().any(|c| ('\u{2801}'..'\u{28ff}').contains(&c)),
            "{what}"
        );
        // What has no colour has letters, which the legend explains.
        let legend = text.lines().last().unwrap_or_default();
        let signs: Vec<&str> = legend.split(", ").filter_map(|entry| entry.split(' ').next()).collect();
        assert!(
            signs.iter().enumerate().all(|(at, sign)| *sign == "⠿" || !signs[..at].contains(sign)),
            "{legend}"
        );
    }
    let none = run(&["plot", "pause", LOSSY]);
    assert_eq!(none.status.code(), Some(2));
}

/// Where the link's speed is not known, a pause is drawn as its XOFF: a line that is seen. Short pauses of a long capture are, too.
#[test]
fn pauses_of_no_width_are_seen() {
    let (scenario, capture, picture) = (scratch("pause.toml"), scratch("pause.pcap"), scratch("pause.svg"));
    let pauses: String = (1..12)
        .map(|ms| {
            format!("[[pause]]\nfrom = \"right\"\npriority = 3\nat = \"{ms}ms\"\nhold = \"5us\"\nstops = [\"a\"]\n")
        })
        .collect();
    let text = format!(
        "[[connection]]\noperations = [{{ op = \"send\", size = 600, count = 13, every = \"1ms\" }}]\n{pauses}"
    );
    std::fs::write(&scenario, text).expect("it is written");
    let [scenario, capture, picture] = [&scenario, &capture, &picture].map(|path| path.to_str().unwrap());
    let crafted = run(&["craft", scenario, "-o", capture]);
    assert!(crafted.status.success(), "{}", String::from_utf8_lossy(&crafted.stderr));
    for speed in [&[][..], &["--speed", "100G"]] {
        let drawn = run(&[&["plot", "pause", capture, "-o", picture, "--force"], speed].concat());
        assert!(drawn.status.success(), "{}", String::from_utf8_lossy(&drawn.stderr));
        let svg = std::fs::read_to_string(picture).expect("it was written");
        // Upright lines in the colour of pauses.
        let lines =
            svg.lines().filter(|line| line.contains("<polyline") && line.contains("stroke=\"#CC79A7\""));
        assert!(lines.count() >= 11, "{speed:?}: {svg}");
        assert_eq!(svg.contains("needs the link&apos;s speed"), speed.is_empty(), "{svg}");
    }
    for path in [scenario, capture, picture] {
        let _ = std::fs::remove_file(path);
    }
}

#[test]
fn a_flow_has_a_line_of_rate_and_events() {
    let text = String::from_utf8(run(&["analyze", LOSSY, "--flow", "0"]).stdout).expect("UTF-8");
    let after =
        |label: &str| text.lines().find_map(|line| line.trim().strip_prefix(label)).map(str::to_owned);
    assert!(after("rate").is_some_and(|line| line.contains('█')), "{text}");
    assert!(after("events").is_some_and(|line| line.contains('!') && line.contains('x')), "{text}");
}

/// Decoded by Perfetto's own schema, where `pip install perfetto` has brought it.
#[test]
fn a_trace_has_the_events_of_the_report() {
    const CHECK: &str = r#"
import json, sys
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
trace = pb.Trace(); trace.ParseFromString(open(sys.argv[1], 'rb').read())
report = json.load(open(sys.argv[2]))
tracks, depth, last = {}, {}, {}
counts = dict(nak=0, slices=0, recovery=0, loss=0, resend=0, again=0)
starts, ends, naks = set(), set(), set()
for packet in trace.packet:
    if packet.HasField('clock_snapshot'):
        assert {c.clock_id for c in packet.clock_snapshot.clocks} == {1, 6}
    if packet.HasField('track_descriptor'):
        track = packet.track_descriptor
        assert not track.parent_uuid or track.parent_uuid in tracks
        tracks[track.uuid] = track
    if packet.HasField('track_event'):
        event, time = packet.track_event, packet.timestamp
        assert packet.timestamp_clock_id == 1 and event.track_uuid in tracks
        capture = report['capture']
        assert capture['first_ns'] <= time <= capture['last_ns'] + 10**9
        if event.type == 1:
            assert event.debug_annotations[0].name == 'qpNum'
            assert depth.get(event.track_uuid, 0) == 0 and time >= last.get(event.track_uuid, 0)
            depth[event.track_uuid] = 1
            counts['slices'] += 1
            counts['recovery'] += event.name.startswith('recovery')
        if event.type == 2:
            depth[event.track_uuid] -= 1
            last[event.track_uuid] = time
        if event.type == 3:
            arguments = {a.name: a.uint_value for a in event.debug_annotations}
            counts['nak'] += event.name == 'NAK'
            counts['loss'] += event.name.startswith('loss')
            counts['resend'] += event.name == 'first retransmission'
            if event.name == 'retransmission': counts['again'] += arguments['packets']
            if event.name.startswith('loss'): starts |= set(event.flow_ids)
            if event.name == 'NAK': naks |= set(event.flow_ids)
            if event.name == 'first retransmission': ends |= set(event.terminating_flow_ids)
assert not any(depth.values())
flows = report['flows']
assert counts['nak'] == sum(f['naks']['psn_sequence_error'] for f in flows) > 0, counts
assert counts['recovery'] == len(report['episodes']) > 0, counts
assert counts['again'] == sum(f['requests']['retransmits'] for f in flows) > 0, counts
assert ends and ends <= starts and naks and naks <= starts, (len(starts), len(naks), len(ends))
print(counts)
"#;
    let (trace, json) = (scratch("x.pftrace"), scratch("x.json"));
    let python = python("perfetto");
    for capture in [LOSSY, "pcaps/loss1_rc_write-B.pcap.zst", "pcaps/loss1_both_rc_write-B.pcap.zst"] {
        let report = run(&["analyze", capture, "--json", "--perfetto", trace.to_str().unwrap()]);
        assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
        std::fs::write(&json, &report.stdout).expect("a scratch file");
        if let Some(python) = &python {
            done(Command::new(python).arg("-c").arg(CHECK).args([&trace, &json]));
        }
    }
    let _ = (std::fs::remove_file(trace), std::fs::remove_file(json));
}

/// Of two hosts' captures of NCCL: text has a line for each rank, SVG has the causes, the trace has the names of NCCL's profiler.
#[test]
fn ranks_that_wait_are_a_picture() {
    const RING: &str = "pcaps/nccl_ring-A.pcap.zst";
    let text = run(&["plot", "waits", RING, "--color", "never"]);
    let text = String::from_utf8(text.stdout).expect("UTF-8");
    let row = |rank: &str| text.lines().find(|line| line.trim_start().starts_with(rank)).map(str::to_owned);
    let (first, second) = (row("10.77.0.1 "), row("10.77.0.2 "));
    assert!(first.is_some_and(|row| row.contains('S')), "{text}");
    assert!(second.is_some_and(|row| row.contains('T')), "{text}");
    assert!(text.lines().last().is_some_and(|legend| legend.contains("S sender late")), "{text}");
    let svg = scratch("waits.svg");
    let done = run(&["plot", "waits", RING, "-o", svg.to_str().unwrap()]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let drawn = std::fs::read_to_string(&svg).expect("it was written");
    assert!(["10.77.0.1", "sender late", "transfer", "waited for"].iter().all(|word| drawn.contains(word)));
    let trace = scratch("waits.pftrace");
    let page = scratch("waits.html");
    let paths = [trace.to_str().unwrap(), page.to_str().unwrap()];
    assert!(run(&["analyze", RING, "--perfetto", paths[0], "--html", paths[1]]).status.success());
    let bytes = std::fs::read(&trace).expect("it was written");
    for name in
        ["rank 10.77.0.1", "SendPeerWait", "SendGpuWait", "SendWait", "RecvGpuWait", "RecvWait", "Channel"]
    {
        assert!(bytes.windows(name.len()).any(|at| at == name.as_bytes()), "{name}");
    }
    let page_text = std::fs::read_to_string(&page).expect("it was written");
    assert!(
        page_text.contains("\"Who waited for what\"")
            && page_text.contains("\"rows\":[\"10.77.0.2\",\"10.77.0.1\"]")
    );
    let none = run(&["plot", "waits", LOSSY]);
    assert_eq!(none.status.code(), Some(2));
    for path in [svg, trace, page] {
        let _ = std::fs::remove_file(path);
    }
}

/// Of more hosts than are shown, each has whom it exchanges packets with.
#[test]
fn a_matrix_of_many_pairs_has_cells() {
    let path = scratch("pairs.pcap");
    let path = path.to_str().unwrap();
    let recipe = "eth / ipv4 src=10.0.0.1 dst=11.0.0.1 / udp / bth opcode=rc-send-only / payload 64";
    let steps = ["--count", "60", "--step", "ipv4.src+=1", "--step", "ipv4.dst+=1", "--force", "-o", path];
    done(cli().args(["craft", recipe]).args(steps));
    let text = run(&["plot", "matrix", path, "--color", "never"]);
    assert!(text.status.success(), "{}", String::from_utf8_lossy(&text.stderr));
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(
        text.contains("10.0.0.1") && text.contains("11.0.0.1") && text.contains("96 more hosts"),
        "{text}"
    );
    let page = String::from_utf8(run(&["analyze", "--html", "-", path]).stdout).unwrap();
    let hosts = page.split_once("\"hosts\":").expect("the page has hosts").1;
    assert!(!hosts.split_once("\"cells\":").unwrap().1.starts_with("[]"), "{}", &hosts[..300]);
    let _ = std::fs::remove_file(path);
}
