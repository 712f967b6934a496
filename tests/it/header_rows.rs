//! Analysis of rows without payload: the report is that of the frames, however they were cut into files and mixed.

use std::path::PathBuf;

use crate::support::{frames, programs::cli, scratch};
use arrow_array::{RecordBatch, cast::AsArray, types::Int64Type};
use proptest::prelude::*;
use rdmawire::{
    analyze::{Analysis, Files, Options},
    capture::{self, Record, Source, Time},
    dissect::Link,
    packets::{FileFacts, HeaderMerge, HeaderRows, analyze_headers},
    report::Report,
};

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

/// The report of rows.
fn of_rows(trace: &Trace, options: &Options, batch: usize) -> Report {
    let mut analysis = Analysis::new(options.clone());
    name_interfaces(&mut analysis, trace);
    let mut rows = HeaderRows::new("tap", "file");
    for (frames, at) in trace.frames.chunks(batch).zip((0..).step_by(batch)) {
        for (frame, number) in frames.iter().zip(at + 1..) {
            let headers = options.headers(number, &frame.record());
            assert!(headers.record.frame.len() <= frame.bytes.len());
            rows.push(&headers);
        }
        analyze_headers(&mut analysis, &rows.finish().unwrap(), "frame").unwrap();
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
        let rows = of_rows(&trace, &options(), 4096);
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
    assert_eq!(json(&of_rows(&trace, &options, 77)), json(&of_frames(&trace, &options)));
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
    assert_eq!(json(&of_rows(&trace, &options(), 50)), json(&whole));
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
    assert_eq!(analysis.finish().head.capture.packets, 200);
}

/// Batches of rows, each of one file and bucket, and what is known of the files.
fn indexed(
    trace: &Trace,
    options: &Options,
    cuts: &[usize],
    (buckets, size): (u32, usize),
) -> (Vec<FileFacts>, Vec<(String, RecordBatch)>) {
    let (mut facts, mut batches) = (Vec::new(), Vec::new());
    let mut from = 0;
    for (at, to) in cuts.iter().copied().chain([trace.frames.len()]).enumerate() {
        let (frames, file) = (&trace.frames[from..to], format!("file {at}"));
        from = to;
        let mut rows: Vec<_> = (0..=buckets).map(|_| HeaderRows::new("tap", &file)).collect();
        let (mut number, mut latest) = (0, i64::MIN);
        for frame in frames {
            number += 1;
            latest = latest.max(frame.time);
            let headers = options.headers(number, &frame.record());
            let bucket = headers.pair.map_or(buckets, |pair| pair % buckets) as usize;
            rows[bucket].push_in_order(&headers, latest);
            if rows[bucket].len() == size {
                batches.push((file.clone(), rows[bucket].finish().unwrap()));
            }
        }
        let times = frames.first().map(|first| (first.time, latest));
        let known = FileFacts {
            file: file.clone(),
            frames: number,
            first_ns: times.map(|(first, _)| first),
            last_ns: times.map(|(_, last)| last),
            interfaces: trace.interfaces.clone(),
            ..FileFacts::default()
        };
        rows[buckets as usize].push_facts(&known).unwrap();
        batches.extend(rows.iter_mut().map(|rows| (file.clone(), rows.finish().unwrap())));
        facts.push(known);
    }
    facts.sort_by(|a, b| a.order().cmp(&b.order()));
    (facts, batches)
}

/// The report of all rows of a tap, file by file and bucket by bucket.
fn of_index(trace: &Trace, options: &Options, cuts: &[usize], spread: (u32, usize)) -> Report {
    let (facts, mut batches) = indexed(trace, options, cuts, spread);
    let place = |file: &str| facts.iter().position(|facts| facts.file == file);
    let first = |name: &str, batch: &RecordBatch| {
        let column = batch.column_by_name(name).unwrap().as_primitive::<Int64Type>();
        column.values().first().copied().unwrap_or(0)
    };
    batches.sort_by_key(|(file, batch)| (first("order_ns", batch), place(file), first("frame", batch)));
    let mut analysis = Analysis::new(options.clone());
    let mut merge = HeaderMerge::default();
    facts.iter().for_each(|facts| _ = merge.file(facts.clone(), &mut analysis));
    batches.iter().for_each(|(file, batch)| merge.push(file, batch, &mut analysis).unwrap());
    merge.finish(&mut analysis);
    analysis.end().from(Files::default()).report().collect()
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

/// Rows of all tables, findings included, do not depend on cuts and buckets.
#[test]
fn buckets_have_the_report_of_the_whole() {
    let trace = read(std::path::Path::new("pcaps/loss1_rc_write-B-300.pcap"));
    let whole = json(&of_frames(&trace, &options()));
    for buckets in [1, 3, 8] {
        assert_eq!(json(&of_index(&trace, &options(), &[100, 101, 250], (buckets, 33))), whole);
    }
    let trace = mixed();
    // With other addresses, ICRCs are wrong.
    let options = Options { verify_icrc: false, ..options() };
    let pairs: std::collections::BTreeSet<_> =
        trace.frames.iter().filter_map(|frame| options.headers(1, &frame.record()).pair).collect();
    assert!(pairs.len() >= 4, "{pairs:?}");
    let whole = json(&of_frames(&trace, &options));
    for buckets in [1, 3, 8] {
        assert_eq!(json(&of_index(&trace, &options, &[1000, 1001, 5000], (buckets, 333))), whole);
    }
}

/// A file that begins a little before the last one ended follows it: frames keep their places.
#[test]
fn a_step_back_at_a_cut_does_not_matter() {
    let mut trace = read(std::path::Path::new("pcaps/loss1_rc_write-B-300.pcap"));
    for (at, last) in [(100, 99), (101, 99), (102, 99), (200, 199)] {
        trace.frames[at].time = trace.frames[last].time - 700_000;
    }
    let whole = json(&of_frames(&trace, &options()));
    assert_eq!(json(&of_index(&trace, &options(), &[100, 200], (3, 20))), whole);
}

/// Files that overlap are merged by time.
#[test]
fn files_that_overlap_are_merged() {
    let trace = read(std::path::Path::new("pcaps/loss1_rc_write-B-300.pcap"));
    let whole = of_frames(&trace, &options());
    let (even, odd): (Vec<_>, Vec<_>) =
        trace.frames.iter().cloned().enumerate().partition(|(at, _)| at % 2 == 0);
    let frames = even.into_iter().chain(odd).map(|(_, frame)| frame).collect();
    let apart = Trace { frames, interfaces: trace.interfaces.clone() };
    let merged = of_index(&apart, &options(), &[150], (3, 7));
    let of = |report: &Report| -> Vec<_> {
        report
            .flows
            .iter()
            .map(|flow| (flow.requests.retransmits, flow.requests.out_of_order, flow.packets))
            .collect()
    };
    assert_eq!(of(&merged), of(&whole));
    // What the frames show in the order of the file, which an analysis of frames finds out by itself.
    let in_order_of_file = Options { order: Some(rdmawire::report::FrameOrder::File), ..options() };
    assert_ne!(of(&of_frames(&apart, &in_order_of_file)), of(&whole));
}

/// Captures of two days that are called alike are two captures, also for an analysis that goes on from the first one.
#[cfg(feature = "parquet")]
#[test]
fn captures_of_one_name_are_told_apart() {
    let scratch = scratch::Scratch::new("index-rolling");
    let (dir, state) = (scratch.join("index"), scratch.join("x.state"));
    let index = |of: &str| {
        let path = scratch.join("00.pcap");
        std::fs::copy(of, &path).unwrap();
        let mut command = cli();
        let done = command.args(["index", "--tap", "t", "-o"]).arg(&dir).arg(&path).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    let analyze = |more: &[&str]| {
        let mut command = cli();
        let done = command.args(["analyze", "--json"]).arg(dir.join("tap=t")).args(more).output().unwrap();
        let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        (report["capture"]["packets"].as_u64().unwrap(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    let state = state.to_str().unwrap();
    index("pcaps/loss1_rc_write-B-300.pcap");
    assert_eq!(analyze(&["--state-out", state]).0, 300);
    // An hour later.
    index("pcaps/opcode_zoo-A.pcap.zst");
    let (both, _) = analyze(&[]);
    assert!(both > 300);
    let (packets, said) = analyze(&["--state-in", state, "--state-out", state]);
    assert!(
        packets == both && said.contains("has 1 of the index's files; 1 are new"),
        "{packets} of {both}: {said}"
    );
    // In another place, it is the same capture.
    let (packets, said) = analyze(&["--state-in", state]);
    assert!(
        packets == both && said.contains("has 2 of the index's files; 0 are new"),
        "{packets} of {both}: {said}"
    );
}

/// `rdmawire index` writes the rows of all frames, and what is known of the file.
#[cfg(feature = "parquet")]
#[test]
fn an_index_has_the_report_of_the_capture() {
    let scratch = scratch::Scratch::new("index");
    let dir = scratch.join("index");
    for path in ["pcaps/loss1_rc_write-B-300.pcap", "pcaps/cm_rping-A.pcap", "pcaps/ecn_rc_write-A.pcap.zst"]
    {
        let index = |more: &[&str]| {
            let mut command = cli();
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
        let analyze = |what: &std::path::Path| {
            let mut command = cli();
            let done = command.args(["analyze", "--json"]).arg(what).output().unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            assert!(done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
            let mut report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
            report["capture"]["files"] = serde_json::Value::Null;
            report
        };
        let tap = dir.join("tap=leaf_1_eth0");
        assert_eq!(analyze(&tap), analyze(std::path::Path::new(path)), "{path}");
        let mut all = Vec::new();
        files(&tap, &mut all);
        assert!(all.iter().all(|file| file.to_str().unwrap().contains("/hour=20")), "{all:?}");
        std::fs::remove_dir_all(&dir).unwrap();
    }
}

/// A capture that ends within a record is indexed up to there, and that is said.
#[cfg(feature = "parquet")]
#[test]
fn an_index_says_what_is_damaged() {
    let scratch = scratch::Scratch::new("index-damage");
    let cut = scratch.join("cut.pcap");
    let whole = std::fs::read("pcaps/loss1_rc_write-B-300.pcap").unwrap();
    std::fs::write(&cut, &whole[..12_345]).unwrap();
    let run = |arguments: &[&std::ffi::OsStr]| cli().args(arguments).output().unwrap();
    let dir = scratch.join("index");
    let done =
        run(&["index".as_ref(), "--tap".as_ref(), "t".as_ref(), "-o".as_ref(), dir.as_ref(), cut.as_ref()]);
    assert_eq!(done.status.code(), Some(0));
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(said.contains("cut.pcap") && said.contains("after frame 13"), "{said}");
    let done = run(&["analyze".as_ref(), "--json".as_ref(), dir.as_ref()]);
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.code() == Some(0) && said.contains("cut.pcap: the file ends within"), "{said}");
    let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(report["capture"]["packets"], 13);
    assert_eq!(report["capture"]["problems"].as_array().map(Vec::len), Some(1));
    // A file of the index that cannot be read is another matter.
    let mut parquet = Vec::new();
    files(&dir, &mut parquet);
    std::fs::write(parquet[0].with_file_name("broken.parquet"), "PAR1").unwrap();
    let done = run(&["analyze".as_ref(), "--json".as_ref(), dir.as_ref()]);
    assert_eq!(done.status.code(), Some(2));
}

#[cfg(feature = "parquet")]
fn files(dir: &std::path::Path, to: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, to) } else { to.push(path) }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn cuts_do_not_matter(
        name in prop::sample::select(vec!["loss1_rc_write-B-300.pcap", "cm_rping-A.pcap", "rnr_late-A.pcap.zst"]),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..7),
        buckets in prop::sample::select(vec![1, 3, 8]),
        size in 1..500usize,
    ) {
        let mut trace = read(&PathBuf::from("pcaps").join(name));
        trace.frames.truncate(4000);
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(trace.frames.len() + 1)).collect();
        cuts.sort();
        let whole = json(&of_frames(&trace, &options()));
        prop_assert_eq!(json(&of_index(&trace, &options(), &cuts, (buckets, size))), whole);
    }
}
