//! Analysis of rows without payload: the report is that of the frames, however they were cut into files and mixed.
#![cfg(all(feature = "arrow", feature = "compression"))]

use std::{collections::BTreeMap, path::PathBuf};

use proptest::prelude::*;
use rdmawire::{
    analyze::{Analysis, Files, Options},
    capture::{self, Record, Source, Time},
    dissect::Link,
    packets::{FileFacts, HeaderRows, analyze_headers},
    report::Report,
};

#[cfg(feature = "parquet")]
#[path = "scratch/mod.rs"]
mod scratch;

#[path = "frames/mod.rs"]
mod frames;

/// A frame that is kept.
#[derive(Clone)]
struct Kept {
    time: i64,
    link: u16,
    interface: u16,
    wire_len: u32,
    bytes: Vec<u8>,
}

impl Kept {
    fn record(&self) -> Record<'_> {
        Record {
            time: Time(self.time),
            link: Link(self.link),
            interface: self.interface,
            wire_len: self.wire_len,
            frame: &self.bytes,
        }
    }
}

struct Trace {
    frames: Vec<Kept>,
    interfaces: Vec<(Option<String>, Option<u64>)>,
}

fn read(path: &std::path::Path) -> Trace {
    let mut source = capture::open(path).unwrap();
    let mut frames = Vec::new();
    while let Some(record) = source.next().unwrap() {
        frames.push(Kept {
            time: record.time.0,
            link: record.link.0,
            interface: record.interface,
            wire_len: record.wire_len,
            bytes: record.frame.to_vec(),
        });
    }
    let interfaces = source.info().interfaces.iter().map(|one| (one.name.clone(), one.speed_bps)).collect();
    Trace { frames, interfaces }
}

fn captures() -> Vec<PathBuf> {
    let mut all: Vec<_> = std::fs::read_dir("pcaps")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file() && !path.ends_with("README.md"))
        .collect();
    all.sort();
    all
}

fn options() -> Options {
    Options { interval_ns: Some(10_000_000), speed_bps: Some(100_000_000_000), ..Options::default() }
}

fn name_interfaces(analysis: &mut Analysis, trace: &Trace) {
    for (number, (name, speed)) in trace.interfaces.iter().enumerate() {
        analysis.interface(number as u16, name.clone().unwrap_or_default(), *speed);
    }
}

/// The report of the frames.
fn of_frames(trace: &Trace, options: &Options) -> Report {
    let mut analysis = Analysis::new(options.clone());
    name_interfaces(&mut analysis, trace);
    trace.frames.iter().for_each(|frame| analysis.push(&frame.record()));
    analysis.end().from(Files::default()).report().collect()
}

/// The report of rows: of those of one bucket, if there are several. The trace is cut into files here.
fn of_rows(
    trace: &Trace,
    options: &Options,
    cuts: &[usize],
    bucket: Option<(u32, u32)>,
    batch: usize,
) -> Report {
    let mut analysis = Analysis::new(options.clone());
    name_interfaces(&mut analysis, trace);
    let mut from = 0;
    let mut facts = Vec::new();
    for to in cuts.iter().copied().chain([trace.frames.len()]) {
        let frames = &trace.frames[from..to];
        let mut rows = HeaderRows::new("tap", "file");
        let mut flush = |rows: &mut HeaderRows| {
            analyze_headers(&mut analysis, &rows.finish().unwrap(), "frame").unwrap();
        };
        for (at, frame) in frames.iter().enumerate() {
            let headers = options.headers((from + at) as u64 + 1, &frame.record());
            assert!(headers.record.frame.len() <= frame.bytes.len());
            let wanted = match (bucket, headers.pair) {
                (None, _) => true,
                (Some((n, of)), Some(pair)) => pair % of == n,
                (Some((n, of)), None) => n == of,
            };
            if wanted {
                rows.push(&headers);
            }
            if rows.len() == batch {
                flush(&mut rows);
            }
        }
        flush(&mut rows);
        facts.push(FileFacts::default());
        from = to;
    }
    analysis.end().from(Files::default()).report().collect()
}

fn json(report: &Report) -> serde_json::Value {
    serde_json::to_value(report).unwrap()
}

#[test]
fn the_report_is_that_of_the_frames() {
    let mut trimmed = (0, 0);
    for path in captures() {
        let trace = read(&path);
        let rows = of_rows(&trace, &options(), &[], None, 4096);
        assert_eq!(json(&rows), json(&of_frames(&trace, &options())), "{}", path.display());
        for frame in trace.frames.iter().take(5000) {
            trimmed.0 += options().headers(1, &frame.record()).record.frame.len();
            trimmed.1 += frame.bytes.len();
        }
    }
    assert!(trimmed.0 * 4 < trimmed.1, "headers are {} of {} bytes", trimmed.0, trimmed.1);
}

/// Frames of the fuzz corpora: malformed ones, tunnels, every link type.
#[test]
fn odd_frames_have_the_same_report_too() {
    let mut trace = Trace { frames: Vec::new(), interfaces: Vec::new() };
    let mut files: Vec<_> = ["dissect", "outer", "frame"]
        .iter()
        .filter_map(|name| std::fs::read_dir(format!("fuzz/corpus/{name}")).ok())
        .flatten()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    for (at, path) in files.iter().enumerate() {
        let bytes = std::fs::read(path).unwrap();
        for link in [1, 113, 276, 101, 247, 197] {
            for more in [0, 1000] {
                let wire_len = bytes.len() as u32 + more;
                trace.frames.push(Kept {
                    time: 1000 * at as i64,
                    link,
                    interface: 0,
                    wire_len,
                    bytes: bytes.clone(),
                });
            }
        }
    }
    assert!(trace.frames.len() > 100, "{}", trace.frames.len());
    let options = options();
    assert_eq!(json(&of_rows(&trace, &options, &[], None, 77)), json(&of_frames(&trace, &options)));
}

/// Packets that a switch cut have no ICRC: rows say so.
#[test]
fn trimmed_packets_are_told_as_such() {
    let mut trace = read(std::path::Path::new("pcaps/loss1_rc_write-B-300.pcap"));
    for frame in trace.frames.iter_mut().filter(|frame| frame.bytes.len() > 1000).step_by(9) {
        frame.bytes = frames::trimmed(&frame.bytes, 128);
        frame.wire_len = frame.bytes.len() as u32;
    }
    let whole = of_frames(&trace, &options());
    let of_trimmed =
        |flow: &rdmawire::report::Flow| flow.requests.classes.get(&rdmawire::report::Class::Trimmed).copied();
    assert!(whole.flows.iter().filter_map(of_trimmed).sum::<u64>() > 5);
    assert_eq!(json(&of_rows(&trace, &options(), &[], None, 50)), json(&whole));
}

/// Rows that no index wrote do not end an analysis.
#[test]
fn forged_rows_are_analyzed_too() {
    let trace = read(std::path::Path::new("pcaps/loss1_rc_write-B-300.pcap"));
    let mut analysis = Analysis::new(options());
    for number in [u64::MAX, 0, 7, i64::MAX as u64] {
        let mut rows = HeaderRows::new("tap", "file");
        for frame in trace.frames.iter().take(50) {
            let mut headers = options().headers(number, &frame.record());
            (headers.captured, headers.record.wire_len) = (7, 3);
            rows.push(&headers);
        }
        analyze_headers(&mut analysis, &rows.finish().unwrap(), "frame").unwrap();
        let wrong = analyze_headers(&mut analysis, &rows.finish().unwrap(), "header").unwrap_err();
        assert!(wrong.to_string().contains("must be int64"), "{wrong}");
    }
    assert_eq!(analysis.finish().capture.packets, 200);
}

/// What a bucket cannot know: places in lists, and what is of the whole capture.
fn flows(report: &Report) -> BTreeMap<String, serde_json::Value> {
    let mut all = BTreeMap::new();
    let text = |value: serde_json::Value| value;
    let id =
        |flow: &rdmawire::report::Flow| format!("{} {} {} {}", flow.src, flow.dst, flow.dest_qp, flow.epoch);
    for flow in &report.flows {
        let mut row = text(serde_json::to_value(flow).unwrap());
        row["connection"] = flow.connection.is_some().into();
        all.insert(format!("flow {}", id(flow)), row);
    }
    for connection in &report.connections {
        let mut row = serde_json::to_value(connection).unwrap();
        row["id"] = 0.into();
        row["flows"] = connection.flows.map(|at| id(&report.flows[at])).to_vec().into();
        all.insert(format!("connection {}", row["flows"]), row);
    }
    for episode in &report.episodes {
        let mut row = serde_json::to_value(episode).unwrap();
        row["flow"] = id(&report.flows[episode.flow]).into();
        all.insert(format!("episode {} {}", row["flow"], episode.first_retransmit_frame), row);
    }
    all
}

fn check_buckets(trace: &Trace, cuts: &[usize], buckets: u32, options: &Options) {
    let whole = of_frames(trace, options);
    if buckets == 1 {
        // Rows of all tables, findings included.
        assert_eq!(json(&of_rows(trace, options, cuts, None, 333)), json(&whole));
        return;
    }
    let mut parts = BTreeMap::new();
    let (mut packets, mut payload) = (0, 0);
    for bucket in 0..=buckets {
        let part = of_rows(trace, options, cuts, Some((bucket, buckets)), 333);
        packets += part.capture.packets;
        payload += part.flows.iter().map(|flow| flow.payload_bytes).sum::<u64>();
        if bucket == buckets {
            assert_eq!(
                serde_json::to_value(&part.pause).unwrap(),
                serde_json::to_value(&whole.pause).unwrap()
            );
        }
        parts.extend(flows(&part));
    }
    assert_eq!(packets, whole.capture.packets);
    assert_eq!(payload, whole.flows.iter().map(|flow| flow.payload_bytes).sum::<u64>());
    let expected = flows(&whole);
    assert_eq!(parts.len(), expected.len());
    for (key, row) in expected {
        assert_eq!(parts.get(&key), Some(&row), "{key}");
    }
}

/// Several captures as one, each with addresses of its own.
fn mixed() -> Trace {
    let mut frames = Vec::new();
    let names = [
        "loss1_rc_write-B-300.pcap",
        "rnr_late-A.pcap.zst",
        "rc_read_clean-A.pcap.zst",
        "ecn_rc_write-A.pcap.zst",
    ];
    for (n, name) in names.iter().enumerate() {
        let trace = read(&PathBuf::from("pcaps").join(name));
        let start = trace.frames[0].time;
        for mut frame in trace.frames.into_iter().take(3000) {
            frame.time = 1_700_000_000_000_000_000 + frame.time - start;
            // IPv4 over Ethernet. The header's checksum stays right, since both addresses change by the same, in opposite directions.
            if frame.bytes.len() > 34 && frame.bytes[12..14] == [8, 0] {
                let n = n as u16 * 0x100;
                for (at, by) in [(26, n), (30, n.wrapping_neg())] {
                    let word = u16::from_be_bytes([frame.bytes[at], frame.bytes[at + 1]]);
                    let changed = word.wrapping_add(by).to_be_bytes();
                    frame.bytes[at..at + 2].copy_from_slice(&changed);
                }
            }
            frames.push(frame);
        }
    }
    frames.sort_by_key(|frame| frame.time);
    Trace { frames, interfaces: Vec::new() }
}

#[test]
fn buckets_have_the_flows_of_the_whole() {
    let trace = read(std::path::Path::new("pcaps/loss1_rc_write-B-300.pcap"));
    for buckets in [1, 3, 8] {
        check_buckets(&trace, &[100, 101, 250], buckets, &options());
    }
    let trace = mixed();
    // With other addresses, ICRCs are wrong.
    let options = Options { verify_icrc: false, ..options() };
    let pairs: std::collections::BTreeSet<_> =
        trace.frames.iter().filter_map(|frame| options.headers(1, &frame.record()).pair).collect();
    assert!(pairs.len() >= 4, "{pairs:?}");
    for buckets in [1, 3, 8] {
        check_buckets(&trace, &[1000, 1001, 5000], buckets, &options);
    }
}

/// `rdmawire index` writes the rows of all frames, and what is known of the file.
#[cfg(feature = "parquet")]
#[test]
fn an_index_has_the_report_of_the_capture() {
    use arrow_array::{RecordBatch, cast::AsArray, types::Int64Type};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    fn files(dir: &std::path::Path, to: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { files(&path, to) } else { to.push(path) }
        }
    }

    let scratch = scratch::Scratch::new("index");
    let dir = scratch.join("index");
    for path in ["pcaps/loss1_rc_write-B-300.pcap", "pcaps/cm_rping-A.pcap", "pcaps/ecn_rc_write-A.pcap.zst"]
    {
        let index = |more: &[&str]| {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_rdmawire"));
            command
                .args(["index", "--tap", "leaf 1/eth0", "--buckets", "2", "-o"])
                .arg(&dir)
                .arg(path)
                .args(more);
            command.output().unwrap()
        };
        let done = index(&["--force"]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let done = index(&[]);
        assert_eq!(done.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&done.stderr).contains("exists"));
        let mut all = Vec::new();
        files(&dir, &mut all);
        assert!(all.iter().all(|file| file.to_str().unwrap().contains("tap=leaf_1_eth0/hour=20")), "{all:?}");
        let mut rows: Vec<(i64, RecordBatch)> = Vec::new();
        let mut facts = None;
        for file in all {
            let reader =
                ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(&file).unwrap()).unwrap();
            for batch in reader.build().unwrap() {
                let batch = batch.unwrap();
                let frames = batch.column_by_name("frame").unwrap().as_primitive::<Int64Type>();
                for (at, &frame) in frames.values().iter().enumerate() {
                    match frame {
                        0 => {
                            let json = batch.column_by_name("header").unwrap().as_binary::<i32>().value(at);
                            facts = Some(serde_json::from_slice::<FileFacts>(json).unwrap());
                        }
                        frame => rows.push((frame, batch.slice(at, 1))),
                    }
                }
            }
        }
        rows.sort_by_key(|(frame, _)| *frame);
        let trace = read(std::path::Path::new(path));
        let facts = facts.expect("a row of the file");
        assert_eq!((facts.frames, rows.len()), (trace.frames.len() as u64, trace.frames.len()));
        assert_eq!(facts.interfaces, trace.interfaces);
        let mut analysis = Analysis::new(options());
        name_interfaces(&mut analysis, &trace);
        for (_, row) in &rows {
            analyze_headers(&mut analysis, row, "frame").unwrap();
        }
        let report = analysis.end().from(Files::default()).report().collect();
        assert_eq!(json(&report), json(&of_frames(&trace, &options())), "{path}");
        std::fs::remove_dir_all(&dir).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn cuts_do_not_matter(
        name in prop::sample::select(vec!["loss1_rc_write-B-300.pcap", "cm_rping-A.pcap", "rnr_late-A.pcap.zst"]),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..7),
        buckets in prop::sample::select(vec![1, 3, 8]),
    ) {
        let mut trace = read(&PathBuf::from("pcaps").join(name));
        trace.frames.truncate(4000);
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(trace.frames.len() + 1)).collect();
        cuts.sort();
        check_buckets(&trace, &cuts, buckets, &options());
    }
}
