//! Files that commands read and write: nothing is lost or overwritten, a signal leaves nothing half done, and parts of one capture are
//! read as one.

use std::{
    fs,
    io::Write,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::support::{
    programs::{cli, done, ended, printed},
    scratch::Scratch,
};
use rdmawire::{
    capture::{self, Format, Interface, Record, Sink, Source, Time},
    report::clean,
};
use serde_json::Value;

const LOSSY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/pcaps/loss1_rc_write-B-300.pcap");
const NEAR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/pcaps/loss1_rc_write-A.pcap.zst");
const READS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/pcaps/loss1_rc_read-A.pcap.zst");

fn run(directory: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    ended(cli().current_dir(directory).args(args))
}

fn listed(directory: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut all: Vec<String> = fs::read_dir(directory).unwrap().map(name).collect();
    all.sort();
    all
}

#[test]
fn an_input_is_never_written() {
    let directory = Scratch::new("inputs");
    let original = fs::read(LOSSY).unwrap();
    let link = directory.join("link.svg");
    directory.file("x.pcap", &original);
    directory.file("x.pcapng", &original);
    fs::hard_link(directory.join("x.pcap"), &link).unwrap();
    directory.file("rules.toml", b"[[rule]]\ncheck = \"packets > 0\"\n");
    let all: [&[&str]; 15] = [
        &["analyze", "--perfetto", "x.pcap", "x.pcap"],
        &["analyze", "--html", "x.pcap", "x.pcap"],
        &["analyze", "--html", "./link.svg", "x.pcap"],
        &["analyze", "--state-out", "x.pcap", "x.pcap"],
        &["analyze", "--qos", "rules.toml", "--html", "rules.toml", "x.pcap"],
        &["check", "--junit", "x.pcap", "x.pcap", "packets > 0"],
        &["check", "--sarif", "x.pcap", "x.pcap", "packets > 0"],
        &["check", "--rules", "rules.toml", "--junit", "rules.toml", "x.pcap"],
        &["diff-report", "--junit", "x.pcap", "x.pcap", "x.pcap"],
        &["plot", "rate", "-o", "link.svg", "x.pcap"],
        &["rewrite", "x.pcap", "x.pcap"],
        &["annotate", "x.pcapng", "x.pcapng"],
        &["craft", "--from", "x.pcap", "-o", "x.pcap"],
        &["craft", "cnp", "--of", "x.pcap:3", "-o", "x.pcap"],
        &["analyze", "--html", "a.html", "--perfetto", "./a.html", "x.pcap"],
    ];
    let before = listed(&directory);
    for args in all {
        let mut forced = args.to_vec();
        forced.push("--force");
        for args in [args, &forced] {
            let (code, _, error) = run(&directory, args);
            assert_eq!(code, Some(2), "{args:?}: {error}");
            let told = ["is an input of this command", "would be written twice", "--qos"];
            assert!(told.iter().any(|told| error.contains(told)), "{args:?}: {error}");
        }
    }
    assert_eq!(listed(&directory), before, "something was left");
    for name in ["x.pcap", "x.pcapng", "link.svg"] {
        assert!(fs::read(directory.join(name)).unwrap() == original, "{name} changed");
    }
}

#[test]
fn what_exists_is_replaced_only_if_it_is_of_this_kind_and_ours() {
    let directory = Scratch::new("outputs");
    directory.file("x.pcap", &fs::read(LOSSY).unwrap());
    let all: [(&[&str], &str); 6] = [
        (&["analyze", "x.pcap", "--html"], "y.html"),
        (&["analyze", "x.pcap", "--perfetto"], "y.trace"),
        (&["analyze", "x.pcap", "--state-out"], "y.state"),
        (&["check", "x.pcap", "packets > 0", "--junit"], "y.xml"),
        (&["check", "x.pcap", "packets > 0", "--sarif"], "y.sarif"),
        (&["plot", "rate", "x.pcap", "-o"], "y.svg"),
    ];
    let others: [&[u8]; 2] = [b"<!DOCTYPE html><p>a page of someone else", b"notes"];
    for (args, name) in all {
        let args = [args, &[name]].concat();
        for _ in 0..2 {
            let (code, _, error) = run(&directory, &args);
            assert_eq!((code, error), (Some(0), format!("rdmawire: wrote {name}\n")));
        }
        let ours = fs::read(directory.join(name)).unwrap();
        for other in others {
            directory.file(name, other);
            let (code, _, error) = run(&directory, &args);
            assert!(
                code == Some(2) && error.contains(&format!("{name} exists; --force replaces it")),
                "{error}"
            );
            assert_eq!(fs::read(directory.join(name)).unwrap(), other);
        }
        assert_eq!(run(&directory, &[&args[..], &["--force"]].concat()).0, Some(0));
        let begin = |bytes: &[u8]| bytes[..bytes.len().min(12)].to_vec();
        assert_eq!(begin(&fs::read(directory.join(name)).unwrap()), begin(&ours));
    }
    // Captures and tables are what others make too.
    for args in [&["craft", "read", "-o", "z.pcap"][..], &["analyze", "--csv", "tables", "x.pcap"]] {
        assert_eq!(run(&directory, args).0, Some(0));
        assert_eq!(run(&directory, args).0, Some(2));
        assert_eq!(run(&directory, &[args, &["--force"]].concat()).0, Some(0));
    }
    assert!(listed(&directory).iter().all(|name| !name.starts_with('.')), "a temporary was left");
}

#[test]
fn a_run_that_fails_leaves_nothing() {
    let directory = Scratch::new("failed");
    directory.file("empty.pcap", b"");
    let page = ["analyze", "--html", "a.html", "--csv", "tables", "--perfetto", "a.trace"];
    for missing in ["missing.pcap", "empty.pcap"] {
        assert_eq!(run(&directory, &[&page[..], &[missing]].concat()).0, Some(2));
        assert_eq!(run(&directory, &["plot", "psn", missing, "-o", "a.svg"]).0, Some(2));
        assert_eq!(run(&directory, &["packets", missing, "-o", "a.csv"]).0, Some(2));
        assert_eq!(run(&directory, &["rewrite", missing, "a.pcap"]).0, Some(2));
    }
    let (code, _, error) = run(&directory, &["analyze", "--csv", "empty.pcap", LOSSY]);
    assert_eq!(
        (code, error.as_str()),
        (Some(2), "rdmawire: empty.pcap: is a file; the tables need a directory\n")
    );
    assert_eq!(listed(&directory), ["empty.pcap"]);
}

/// Begins a command that reads a pipe which does not end, and waits until it has written `begun`.
fn begin(directory: &Path, args: &[&str], begun: impl Fn() -> bool) -> (Child, std::process::ChildStdin) {
    let mut command = cli();
    command.current_dir(directory).env("TMPDIR", directory).args(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(&fs::read(LOSSY).unwrap()).unwrap();
    pipe.flush().unwrap();
    let from = Instant::now();
    while !begun() && from.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(600));
    (child, pipe)
}

fn end(child: Child, signal: &str) -> (Option<i32>, String, String) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    let out = child.wait_with_output().unwrap();
    (out.status.code(), String::from_utf8(out.stdout).unwrap(), String::from_utf8(out.stderr).unwrap())
}

#[test]
fn a_run_that_the_user_ended_says_so() {
    let directory = Scratch::new("ended");
    for signal in ["-INT", "-TERM", "-HUP"] {
        let (child, pipe) = begin(&directory, &["analyze", "--json", "-"], || true);
        let (code, out, error) = end(child, signal);
        drop(pipe);
        assert_eq!(code, Some(2), "{error}");
        assert_eq!(error, "rdmawire: -: ended by the user after frame 300\n");
        let report: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(report["capture"]["packets"], 300);
        let problems = report["capture"]["problems"].as_array().unwrap();
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0]["what"], "ended by the user after frame 300");
    }
    let (child, pipe) = begin(&directory, &["packets", "-", "-o", "p.csv", "--fields", "frame"], || true);
    let (code, _, error) = end(child, "-INT");
    drop(pipe);
    assert_eq!(code, Some(2));
    assert!(error.contains("-: ended by the user after frame 300"), "{error}");
    assert_eq!(fs::read_to_string(directory.join("p.csv")).unwrap().lines().count(), 301);
}

/// A log may be a pipe, too.
#[test]
fn a_log_without_an_end_is_ended_by_a_signal() {
    let directory = Scratch::new("log");
    for signal in ["-INT", "-TERM", "-HUP"] {
        let (child, pipe) = begin(&directory, &["analyze", "--log", "-", LOSSY], || true);
        let (code, out, error) = end(child, signal);
        drop(pipe);
        let says = "rdmawire: --log -: ended by the user\n";
        assert_eq!((code, out.as_str(), error.as_str()), (Some(2), "", says));
    }
}

#[test]
fn a_signal_leaves_no_copy_behind() {
    let directory = Scratch::new("signals");
    let copies: [&[&str]; 3] = [
        &["rewrite", "--zero-payload", "-", "out.pcap"],
        &["craft", "--from", "-", "-o", "out.pcap"],
        &["annotate", "-", "out.pcapng"],
    ];
    for args in copies {
        for signal in ["-INT", "-TERM", "-HUP"] {
            let (child, pipe) = begin(&directory, args, || !listed(&directory).is_empty());
            let there = listed(&directory);
            assert_eq!(there.len(), 1, "{args:?}: {there:?}");
            let mode = fs::metadata(directory.join(&there[0])).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{args:?}: others can read the unfinished copy");
            let (code, _, error) = end(child, signal);
            drop(pipe);
            assert_eq!(code, Some(2), "{args:?}: {error}");
            assert!(error.contains("ended by the user"), "{args:?}: {error}");
            assert_eq!(listed(&directory), [""; 0], "{args:?} {signal}");
        }
    }
}

#[test]
fn names_print_no_lines_of_their_own() {
    let directory = Scratch::new("names");
    let name = "x\nrdmawire: all is well\u{1b}[2J\u{202e}\u{200b}.pcap";
    directory.file(name, b"no capture");
    for args in
        [&["analyze", name][..], &["dissect", name], &["plot", "psn", name, name], &[name, "--nonsense"]]
    {
        let (code, _, error) = run(&directory, args);
        assert_eq!(code, Some(2), "{args:?}");
        assert!(!error.contains("\nrdmawire: all"), "{args:?}: {error}");
        assert!(!error.contains(['\u{1b}', '\u{202e}', '\u{200b}']), "{args:?}: {error}");
    }
    let hidden = "a\u{200b}b\u{200e}c\u{200f}d\u{61c}e\u{2066}f\u{feff}";
    assert_eq!(clean(hidden), "a?b?c?d?e?f?");
    assert_eq!(clean("Zürich 東京"), "Zürich 東京");
    // A file of megabytes where a word is expected.
    directory.file("long.toml", &[b'x'; 5 << 20]);
    let (_, _, error) = run(&directory, &["check", "--rules", "long.toml", LOSSY]);
    assert!(error.len() < 10_000, "{} bytes", error.len());
}

#[test]
fn a_capture_alone_is_analyzed_and_so_is_a_directory() {
    let directory = Scratch::new("bare");
    directory.file("x.pcap", &fs::read(LOSSY).unwrap());
    directory.file("notes.txt", b"no capture");
    let (whole, bare) = (run(&directory, &["analyze", "x.pcap"]), run(&directory, &["x.pcap"]));
    assert_eq!(whole, bare);
    assert_eq!(whole.0, Some(0));
    let all = run(&directory, &["analyze", "--json", "."]);
    assert_eq!(serde_json::from_str::<Value>(&all.1).unwrap()["capture"]["packets"], 300);
    assert_eq!(run(&directory, &["nonsense"]).0, Some(2));
}

/// Writes the frames of a capture into files that are cut at these frames.
fn cut(from: &str, cuts: &[usize], name: impl Fn(usize) -> PathBuf, format: Format) -> Vec<PathBuf> {
    let mut reader = capture::open(from.as_ref()).unwrap();
    let interface = Interface {
        name: Some("eth7".to_owned()).filter(|_| format == Format::Pcapng),
        speed_bps: Some(100_000_000_000).filter(|_| format == Format::Pcapng),
        ..reader.info().interfaces[0].clone()
    };
    let mut files: Vec<PathBuf> = Vec::new();
    let mut writer: Option<capture::Writer> = None;
    let mut number = 0;
    while let Some(record) = reader.next().unwrap() {
        if number == 0 || cuts.contains(&number) {
            writer.iter_mut().for_each(|writer| writer.finish().unwrap());
            let path = name(files.len());
            let interfaces = std::slice::from_ref(&interface);
            let mut next = capture::create(&path, format, interfaces, Default::default()).unwrap();
            // As dumpcap counts: from the start of the capture.
            let drops = if cuts.is_empty() { 3 } else { (files.len() as u64 + 1).min(3) };
            next.set_drops(0, drops);
            writer = Some(next);
            files.push(path);
        }
        number += 1;
        writer.as_mut().unwrap().put(&record).unwrap();
    }
    writer.unwrap().finish().unwrap();
    files
}

fn frames(path: &str) -> usize {
    let mut reader = capture::open(path.as_ref()).unwrap();
    let mut n = 0;
    while reader.next().unwrap().is_some() {
        n += 1;
    }
    n
}

fn json_of(args: &[&str], files: &[String]) -> Value {
    let out = done(cli().args(args).args(files));
    serde_json::from_slice(&out.stdout).unwrap()
}

fn strings(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
}

/// A report but for the names of its files.
fn but_names(mut report: Value) -> Value {
    report["capture"]["files"] = Value::Null;
    report["capture"]["parts"] = Value::Null;
    report
}

#[test]
fn parts_of_a_capture_are_the_whole_in_every_command() {
    let mut seed = 7u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % below
    };
    for (source, format, ending) in [
        (LOSSY, Format::Pcap, "pcap"),
        (READS, Format::Pcapng, "pcapng"),
        (NEAR, Format::Pcapng, "pcapng.gz"),
    ] {
        let directory = Scratch::new("parts");
        let n = frames(source);
        let cuts: Vec<usize> = (0..3).map(|_| 1 + random(n - 1)).collect();
        let whole = strings(&cut(source, &[], |_| directory.join(format!("whole.{ending}")), format));
        let mut parts = strings(&cut(source, &cuts, |at| directory.join(format!("x-{at}.{ending}")), format));
        // The order of the arguments is not that of time.
        parts.rotate_left(1);
        let case = format!("{source} cut at {cuts:?}");
        for args in [
            &["analyze", "--json"][..],
            &["analyze", "--json", "--merge"],
            &["analyze", "--json", "--threads", "4"],
        ] {
            let (one, all) = (json_of(args, &whole), json_of(args, &parts));
            assert_eq!(all["capture"]["files"].as_array().unwrap().len(), parts.len());
            if format == Format::Pcapng {
                assert_eq!(one["capture"]["capture_drops"], 3, "{case}");
            }
            assert!(but_names(one) == but_names(all), "{case}: {args:?}");
        }
        let same: [&[&str]; 6] = [
            &["dissect"],
            &["dissect", "--fields", "frame.number,src,dst,psn"],
            &["dissect", "--around", "40"],
            &["packets", "--fields", "frame,time_ns,src,dst,class"],
            &["counters"],
            &["plot", "rate"],
        ];
        for args in same {
            let (one, all) = (printed(cli().args(args).args(&whole)), printed(cli().args(args).args(&parts)));
            assert!(one == all, "{case}: {args:?}\n{one}\n---\n{all}");
        }
        let checked = |files: &[String]| {
            let (code, out, _) = ended(cli().args(["check", "--json", "retransmits < 3"]).args(files));
            let out: Value = serde_json::from_str(&out).unwrap();
            (code, out["files"].as_array().map(Vec::len), out["files"][0]["outcomes"].clone())
        };
        assert_eq!(checked(&whole), checked(&parts), "{case}");
        let annotated = |files: &[String], to: &str| {
            let to = directory.join(to);
            done(cli().arg("annotate").args(files).arg(&to));
            printed(cli().arg("dissect").arg(&to))
        };
        assert!(annotated(&whole, "a.pcapng") == annotated(&parts, "b.pcapng"), "{case}");
        let compared = |files: &[String]| {
            let (code, out, error) = ended(cli().args(["diff", "--json", LOSSY]).args(files));
            let mut out: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{error}"));
            out["taps"][1]["name"] = Value::Null;
            (code, out)
        };
        assert_eq!(compared(&whole), compared(&parts), "{case}");
        // Unless they are to be separate.
        let apart = json_of(&["analyze", "--json", "--separate"], &parts);
        assert_eq!(apart["reports"].as_array().map(Vec::len), Some(parts.len()), "{case}");
    }
}

/// A capture of one flow with these times and PSNs.
fn sends(path: &Path, from_ns: i64, step_ns: i64, psns: std::ops::Range<u32>) {
    sends_of(path, from_ns, step_ns, psns, &[Default::default()]);
}

/// The same of several flows: those of these hosts and queue pairs.
fn sends_of(
    path: &Path,
    from_ns: i64,
    step_ns: i64,
    psns: std::ops::Range<u32>,
    flows: &[crate::support::frames::Roce],
) {
    use crate::support::frames::Roce;
    let interfaces = [Interface::new(rdmawire::dissect::Link::ETHERNET)];
    let mut writer = capture::create(path, Format::Pcap, &interfaces, Default::default()).unwrap();
    let all = psns.enumerate().flat_map(|(at, psn)| flows.iter().map(move |flow| (at, psn, flow)));
    for (at, psn, flow) in all {
        let &Roce { src, dst, qp, .. } = flow;
        let opcode = rdmawire::opcode::Opcode::RC_SEND_ONLY;
        let frame = Roce { opcode, payload: 64, psn, src, dst, qp, ..Roce::default() }.frame();
        let time = Time(1_000_000_000_000 + from_ns + at as i64 * step_ns);
        let wire_len = frame.len() as u32;
        writer
            .put(&Record { time, link: interfaces[0].link, interface: 0, wire_len, frame: &frame })
            .unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn only_parts_of_one_capture_are_joined() {
    const SECOND: i64 = 1_000_000_000;
    let directory = Scratch::new("joined");
    let groups = |files: &[(&str, i64, std::ops::Range<u32>)]| {
        let paths: Vec<PathBuf> = files.iter().map(|(name, ..)| directory.join(name)).collect();
        for ((_, from, psns), path) in files.iter().zip(&paths) {
            let _ = fs::remove_file(path);
            sends(path, *from, 1_000_000, psns.clone());
        }
        let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        let named = |group: Vec<PathBuf>| group.iter().map(name).collect::<Vec<_>>();
        capture::parts_of_one(&paths).into_iter().map(named).collect::<Vec<_>>()
    };
    // tcpdump -C and -G, dumpcap, editcap.
    let one = [
        ["x.pcap", "x.pcap1"],
        ["x-2.pcap", "x-10.pcap"],
        ["x_00001_20261126185100.pcap", "x_00002_20261126185900.pcap"],
    ];
    for [first, second] in one {
        assert_eq!(groups(&[(second, SECOND, 100..200), (first, 0, 0..100)]), [[first, second]]);
    }
    // Two hosts at the same time; two runs, long after each other, of which the second begins anew.
    assert_eq!(
        groups(&[("leaf1.pcap", 0, 0..100), ("leaf2.pcap", 1000, 0..100)]),
        [["leaf1.pcap"], ["leaf2.pcap"]]
    );
    assert_eq!(
        groups(&[("run1.pcap", 0, 0..100), ("run2.pcap", 60 * SECOND, 900_000..900_100)]),
        [["run1.pcap"], ["run2.pcap"]]
    );
    // An idle minute: the flow goes on.
    assert_eq!(
        groups(&[("run1.pcap", 0, 0..100), ("run2.pcap", 60 * SECOND, 98..100)]),
        [["run1.pcap", "run2.pcap"]]
    );
    // A silence of a minute in a capture in several files: a flow goes on between two others of them. The number after it is the next one.
    let rotated = |third: &'static str| {
        let begun = [("r-0.pcap", 0, 0..100), ("r-1.pcap", SECOND / 10, 100..200)];
        groups(&[begun[0].clone(), begun[1].clone(), (third, 60 * SECOND, 900_000..900_100)])
    };
    assert_eq!(rotated("r-2.pcap"), [["r-0.pcap", "r-1.pcap", "r-2.pcap"]]);
    assert_eq!(rotated("r-3.pcap"), [&["r-0.pcap", "r-1.pcap"][..], &["r-3.pcap"]]);
    // Other names; rotated captures of two hosts.
    assert_eq!(groups(&[("a.pcap", 0, 0..100), ("b.pcap", SECOND, 100..200)]), [["a.pcap"], ["b.pcap"]]);
    let two = [
        ("h1-0.pcap", 0, 0..100),
        ("h2-0.pcap", 5, 0..100),
        ("h1-1.pcap", SECOND, 100..200),
        ("h2-1.pcap", SECOND + 5, 100..200),
    ];
    assert_eq!(groups(&two), [["h1-0.pcap", "h1-1.pcap"], ["h2-0.pcap", "h2-1.pcap"]]);
    // A file without a frame, as a capture leaves it that ends; of two hosts, one may have had no traffic.
    let ended = [("x.pcap0", 0, 0..100), ("x.pcap1", SECOND / 10, 100..200), ("x.pcap2", 0, 0..0)];
    assert_eq!(groups(&ended), [["x.pcap0", "x.pcap1", "x.pcap2"]]);
    assert_eq!(groups(&[ended[2].clone(), ended[0].clone()]), [["x.pcap0", "x.pcap2"]]);
    let ended = [("e_0.pcap", 0, 0..100), ("e_1.pcap", SECOND / 10, 100..200), ("e_2.pcap", 0, 0..0)];
    assert_eq!(groups(&ended), [["e_0.pcap", "e_1.pcap", "e_2.pcap"]]);
    assert_eq!(
        groups(&[("leaf1.pcap", 0, 0..100), ("leaf2.pcap", 0, 0..0)]),
        [["leaf1.pcap"], ["leaf2.pcap"]]
    );
}

/// Parts that were not given are said where packets are missing as numbers of names are; a clock's numbers leave out some everywhere.
#[test]
fn a_part_that_is_missing_is_said() {
    const SECOND: i64 = 1_000_000_000;
    let directory = Scratch::new("missing");
    let said = |files: &[(&str, i64, std::ops::Range<u32>)]| {
        let paths: Vec<PathBuf> = files.iter().map(|(name, ..)| directory.join(name)).collect();
        for ((_, from, psns), path) in files.iter().zip(&paths) {
            let _ = fs::remove_file(path);
            sends(path, *from, 1_000_000, psns.clone());
        }
        let report = json_of(&["analyze", "--json"], &strings(&paths));
        report["capture"]["problems"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(said(&[("p_0.pcap", 0, 0..100), ("p_2.pcap", SECOND / 2, 150..200)]), 1);
    assert_eq!(said(&[("p_0.pcap", 0, 0..100), ("p_1.pcap", SECOND / 2, 150..200)]), 0);
    assert_eq!(said(&[("t_1805.pcap", 0, 0..100), ("t_1810.pcap", SECOND / 2, 100..200)]), 0);
}

#[test]
fn captures_that_go_on_in_one_another_are_named() {
    let directory = Scratch::new("go_on");
    let paths = ["00_cap.pcap", "01_cap.pcap"].map(|name| directory.join(name));
    sends(&paths[0], 0, 1_000_000, 0..100);
    sends(&paths[1], 100_000_000, 1_000_000, 100..200);
    let files = paths.each_ref().map(|path| path.to_str().unwrap());
    let error = |args: &[&str]| run(&directory, args).2;
    assert!(error(&["analyze", files[0], files[1]]).contains("may be parts of one capture"));
    assert!(!error(&["analyze", "--merge", files[0], files[1]]).contains("may be parts"));
    assert!(!error(&["analyze", "--separate", files[0], files[1]]).contains("may be parts"));
}

#[test]
fn parts_with_numbers_behind_are_captures_of_a_directory() {
    let directory = Scratch::new("numbered");
    let folder = directory.join("rotated");
    fs::create_dir(&folder).unwrap();
    sends(&directory.join("x.pcap"), 0, 1_000_000, 0..10);
    for name in ["cap.pcap0", "cap.pcap.1", "other.txt"] {
        fs::copy(directory.join("x.pcap"), folder.join(name)).unwrap();
    }
    let report = json_of(&["analyze", "--json", "--separate"], &strings(&[folder]));
    assert_eq!(report["reports"].as_array().map(Vec::len), Some(2));
}

/// Hosts of a ring, with clocks that are apart by as long as the captures: the next one in time has no flow of this one, but another file has.
#[test]
fn taps_of_the_same_traffic_are_no_parts() {
    use crate::support::frames::Roce;
    let directory = Scratch::new("taps");
    let flow =
        |src: u8, dst: u8| Roce { src, dst, qp: 64 + u32::from(src) * 8 + u32::from(dst), ..Roce::default() };
    let paths: Vec<PathBuf> = (0..5).map(|host| directory.join(format!("h{host}.pcap"))).collect();
    for (host, (path, clock)) in paths.iter().zip([0, 5, 0, 5, 10]).enumerate() {
        let (host, next, before) = (host as u8, (host as u8 + 1) % 5, (host as u8 + 4) % 5);
        let flows = [flow(host, next), flow(next, host), flow(before, host), flow(host, before)];
        sends_of(path, clock * 1_000_000 + i64::from(host), 50_000, 0..99, &flows);
    }
    let groups = capture::parts_of_one(&paths);
    assert_eq!(groups, paths.iter().map(|path| vec![path.clone()]).collect::<Vec<_>>());
}

#[test]
fn captures_without_a_packet_in_common_are_not_compared() {
    let directory = Scratch::new("apart");
    let (a, b) = (directory.join("a.pcap"), directory.join("b.pcap"));
    sends(&a, 0, 1000, 0..50);
    sends(&b, 90_000_000_000, 1000, 5000..5050);
    let (code, out, _) = ended(cli().arg("diff").args([&a, &b]));
    assert_eq!(code, Some(2));
    assert!(out.contains("No packet is in both captures") && !out.contains("Losses"), "{out}");
}

/// A host's clock that stood still, as that of a virtual machine, makes no losses.
#[test]
fn clocks_that_stood_still_lose_no_packets() {
    let directory = Scratch::new("stood");
    let (a, b) = (directory.join("a.pcap"), directory.join("b.pcap"));
    let parts: [(i64, std::ops::Range<u32>); 3] =
        [(0, 0..400), (60_000_000_000, 400..700), (120_000_000_000, 700..900)];
    for (path, stood_ns) in [(&a, 0), (&b, 30_000_000_000)] {
        let files: Vec<PathBuf> = (0..3).map(|nth| directory.join(format!("part{nth}"))).collect();
        for (file, (nth, (from, psns))) in files.iter().zip(parts.iter().enumerate()) {
            let _ = fs::remove_file(file);
            sends(file, from - nth as i64 * stood_ns, 1_000_000, psns.clone());
        }
        let frames: Vec<u8> = files
            .iter()
            .enumerate()
            .flat_map(|(nth, file)| fs::read(file).unwrap().split_off(if nth == 0 { 0 } else { 24 }))
            .collect();
        fs::write(path, frames).unwrap();
    }
    let (code, out, _) = ended(cli().arg("diff").args([&a, &b]));
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("No packet was lost or damaged"), "{out}");
}

#[test]
fn equal_packets_are_told_apart_by_their_order() {
    use rdmawire::{
        craft,
        opcode::Opcode,
        wire::{Psn, Qpn},
    };
    let directory = Scratch::new("equal");
    let write = |path: &Path, times: &[i64]| {
        let interfaces = [Interface::new(rdmawire::dissect::Link::ETHERNET)];
        let mut writer = capture::create(path, Format::Pcap, &interfaces, Default::default()).unwrap();
        let path_of =
            craft::Path::rocev2(std::net::Ipv4Addr::new(10, 0, 0, 1), std::net::Ipv4Addr::new(10, 0, 0, 2));
        let channel = craft::Channel::rc(path_of, Qpn(0x20), Qpn(0x11));
        let frame = channel.headers(Opcode::RC_SEND_ONLY, Psn(5)).payload(vec![0; 64]).build();
        for time in times {
            let (time, wire_len) = (Time(1_000_000_000_000 + time), frame.len() as u32);
            writer
                .put(&Record { time, link: interfaces[0].link, interface: 0, wire_len, frame: &frame })
                .unwrap();
        }
        writer.finish().unwrap();
    };
    // A requester that goes on for ever behind RNR NAKs, with one identification.
    let path = directory.join("rnr.pcap");
    write(&path, &(0..300).map(|n| n * 3_000_000).collect::<Vec<i64>>());
    let (code, out, error) = ended(cli().args(["diff", "--json"]).args([&path, &path]));
    let report: Value = serde_json::from_str(&out).unwrap();
    let counts = &report["segments"][0]["directions"][0]["counts"];
    assert_eq!((code, &counts["delivered"], &counts["lost"]), (Some(0), &300.into(), &0.into()), "{error}");
    // The second frame of the file is the earlier one.
    let (path, to) = (directory.join("order.pcap"), directory.join("order.pcapng"));
    write(&path, &[1000, 0]);
    done(cli().args(["annotate"]).args([&path, &to]));
    let mut reader = capture::open(&to).unwrap();
    reader.next().unwrap();
    let comments: Vec<String> = reader.comments().map(Into::into).collect();
    assert!(comments.iter().any(|comment| comment.contains("frame 2")), "{comments:?}");
}

/// More captures than a process may have open at once.
#[test]
fn very_many_captures_are_merged() {
    let directory = Scratch::new("many");
    let original = fs::read(LOSSY).unwrap();
    for number in 0..300 {
        directory.file(&format!("{number}-x.pcap"), &original);
    }
    let command = |arguments: &str| {
        let program = crate::support::programs::RDMAWIRE;
        let mut shell = Command::new("sh");
        shell
            .current_dir(&*directory)
            .args(["-c", &format!("ulimit -n 200 && {program} {arguments} --merge *-x.pcap")]);
        printed(&mut shell)
    };
    let report: Value = serde_json::from_str(&command("analyze --json")).unwrap();
    assert_eq!(report["capture"]["packets"], 300 * 300);
    assert_eq!(command("packets --fields class").lines().count(), 1 + 300 * 300);
}

/// Speeds and names of interfaces are known with the first frame, whatever reads the files.
#[test]
fn bursts_of_the_first_part_are_those_of_the_whole() {
    const READS_OF_4096: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/pcaps/mtu4096_clean-A.pcap.zst");
    let directory = Scratch::new("first_part");
    let (whole, part) = (|_| directory.join("whole.pcapng"), |at| directory.join(format!("x-{at}.pcapng")));
    let whole = strings(&cut(READS_OF_4096, &[], whole, Format::Pcapng));
    let parts = strings(&cut(READS_OF_4096, &[1800], part, Format::Pcapng));
    let of = |threads: &str, files: &[String]| {
        let mut report = json_of(&["analyze", "--json", "--threads", threads], files);
        assert!(report["microbursts"]["receivers"][0]["peak_ratio"].is_number());
        report["microbursts"].take()
    };
    let one = of("1", &whole);
    for (threads, files) in [("2", &whole), ("1", &parts), ("2", &parts), ("4", &parts)] {
        assert_eq!(of(threads, files), one, "{threads} threads, {files:?}");
    }
}

/// As `tcpdump -C` leaves it that is killed: the last part ends within its first frame, or within the frame's header.
#[test]
fn a_last_part_without_a_whole_frame_is_a_part() {
    let directory = Scratch::new("killed");
    let names = ["x.pcap", "x.pcap1", "x.pcap2"];
    let paths = cut(LOSSY, &[100, 200], |at| directory.join(names[at]), Format::Pcap);
    let last = fs::read(&paths[2]).unwrap();
    for length in [24, 30, 100] {
        directory.file("x.pcap2", &last[..length]);
        let report = json_of(&["analyze", "--json"], &strings(&paths));
        assert_eq!(report["capture"]["packets"], 200, "{length} bytes");
        assert_eq!(report["capture"]["files"].as_array().map(Vec::len), Some(3), "{length} bytes");
        let problems = report["capture"]["problems"].as_array().unwrap().len();
        assert_eq!(problems, usize::from(length > 24), "{length} bytes");
    }
}

#[test]
fn one_capture_that_cannot_be_read_costs_no_rows_of_the_others() {
    let directory = Scratch::new("rows");
    directory.file("a.pcap", &fs::read(LOSSY).unwrap());
    directory.file("none.pcap", b"no capture");
    for (args, lines) in [(&["packets", "--fields", "frame"][..], 601), (&["packets", "--messages"], 51)] {
        let captures = ["a.pcap", "none.pcap", "a.pcap"];
        let (code, out, error) = run(&directory, &[args, &captures].concat());
        assert_eq!((code, out.lines().count()), (Some(2), lines), "{args:?}: {error}");
        assert!(error.starts_with("rdmawire: none.pcap: looks like text"), "{error}");
        let (code, ..) = run(&directory, &[args, &captures, &["-o", "o.csv", "--force"]].concat());
        assert_eq!(code, Some(2));
        assert_eq!(fs::read_to_string(directory.join("o.csv")).unwrap().lines().count(), lines);
    }
    // Two names of one column are one, too.
    let (_, out, _) = run(&directory, &["packets", "--fields", "src,bth.psn,bth_psn", "a.pcap"]);
    assert_eq!(out.lines().next(), Some("src,bth_psn"));
}

/// Which of several files could not be written, or that it was standard output.
#[test]
fn a_full_disk_is_said_of_the_file() {
    let directory = Scratch::new("full");
    directory.file("x.pcap", &fs::read(LOSSY).unwrap());
    for name in ["x.csv", "x.svg", "x.html"] {
        std::os::unix::fs::symlink("/dev/full", directory.join(name)).unwrap();
    }
    let says = |args: &[&str], what: &str| {
        let (code, _, error) = run(&directory, args);
        assert_eq!(code, Some(2), "{args:?}: {error}");
        assert!(error.contains(what) && error.matches("x.").count() <= 1, "{args:?}: {error}");
    };
    says(&["packets", "x.pcap", "-o", "x.csv"], "x.csv: No space left on device");
    says(&["plot", "rate", "x.pcap", "-o", "x.svg"], "x.svg: No space left on device");
    says(&["analyze", "--html", "x.html", "x.pcap"], "--html: x.html: No space left on device");
    says(&["analyze", "--perfetto", "x.html", "x.pcap"], "--perfetto: x.html: No space left on device");
    says(&["analyze", "--state-out", "x.html", "x.pcap"], "--state-out: x.html: No space left on device");
    says(
        &["check", "--junit", "x.html", "x.pcap", "packets > 0"],
        "--junit: x.html: No space left on device",
    );
    for args in [
        &["analyze", "x.pcap"][..],
        &["packets", "x.pcap"],
        &["diff", "x.pcap", "x.pcap"],
        &["explain", "bth"],
    ] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let out = cli().current_dir(&*directory).args(args).stdout(full).output().unwrap();
        let error = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains("writing the output: No space left on device"), "{args:?}: {error}");
    }
    // A capture in the place of a text.
    let (_, _, error) = run(&directory, &["check", "--rules", "x.pcap", "x.pcap"]);
    assert!(error.contains("x.pcap: is a capture, where a text is expected"), "{error}");
}

/// Who reads the capture again after that counts nothing twice.
#[test]
fn a_state_with_a_part_of_a_file_is_not_written() {
    let directory = Scratch::new("part_of_state");
    let path = directory.join("long.pcap");
    sends(&path, 0, 1_000, 0..400_000);
    let start = |args: &[&str]| {
        let mut command = cli();
        command.current_dir(&*directory).args(args).stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let is_begun = |name: &String| name.starts_with('.');
    let interrupted = |signal: &str| {
        let child = start(&["analyze", "--filter", "bth.psn != 1", "--state-out", "s.state", "long.pcap"]);
        let from = Instant::now();
        while !listed(&directory).iter().any(is_begun) && from.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(2));
        }
        end(child, signal)
    };
    for signal in ["-INT", "-TERM"] {
        // On a busy machine it may be done before the signal comes.
        let is_done =
            |code: Option<i32>| code == Some(0) && fs::remove_file(directory.join("s.state")).is_ok();
        let mut tries = (0..10).map(|_| interrupted(signal));
        let (code, _, error) = tries.find(|&(code, ..)| !is_done(code)).expect("it is interrupted once");
        assert_eq!(code, Some(2), "{error}");
        assert!(error.contains("--state-out: s.state was not written"), "{error}");
        assert_eq!(listed(&directory), ["long.pcap"]);
    }
    // A stream has no other end.
    let (child, pipe) = begin(&directory, &["analyze", "-", "--state-out", "s.state"], || true);
    let (code, _, error) = end(child, "-INT");
    drop(pipe);
    assert_eq!(code, Some(2));
    assert!(error.contains("wrote s.state"), "{error}");
}

/// What the copy has no place for is said.
#[test]
fn names_and_drops_that_a_copy_cannot_keep_are_said() {
    let directory = Scratch::new("not_kept");
    cut(LOSSY, &[], |_| directory.join("x.pcapng"), Format::Pcapng);
    let (code, _, error) = run(&directory, &["rewrite", "x.pcapng", "y.pcap", "--zero-payload"]);
    assert_eq!(code, Some(0), "{error}");
    let says =
        "y.pcap: its format has no place for names of interfaces, their speeds, counters of lost frames";
    assert!(error.contains(says), "{error}");
    let (code, _, error) = run(&directory, &["rewrite", "x.pcapng", "y.pcapng", "--zero-payload"]);
    assert!(code == Some(0) && !error.contains("no place"), "{error}");
}

/// Requests of a queue pair and its answers to the other side count apart: where both begin at 0, a file of the one looked like a tap of
/// another.
#[test]
fn parts_of_flows_with_psns_from_0_are_no_taps() {
    let directory = Scratch::new("from_0");
    for (name, cuts) in
        [("nccl_ring-A", [2984, 4580, 6688, 12546]), ("nccl_qps4_split-A", [590, 1137, 5059, 5063])]
    {
        let source = format!("{}/pcaps/{name}.pcap.zst", env!("CARGO_MANIFEST_DIR"));
        let parts = cut(&source, &cuts, |at| directory.join(format!("{name}-{at}.pcap")), Format::Pcap);
        let report = json_of(&["analyze", "--json"], &strings(&parts));
        assert_eq!(report["capture"]["packets"], frames(&source), "{name}");
    }
}

/// Files that a state has already.
#[test]
fn a_capture_that_comes_twice_into_a_state_is_said() {
    let directory = Scratch::new("twice");
    let paths = cut(LOSSY, &[100], |at| directory.join(format!("{at}.pcap")), Format::Pcap);
    let [first, second] = [0, 1].map(|at| paths[at].to_str().unwrap());
    let warns = |args: &[&str]| {
        let (code, _, error) = run(&directory, &[&["analyze", "--state-out", "s"], args].concat());
        assert_eq!(code, Some(0), "{error}");
        error.contains("begins before the state ends")
    };
    assert!(!warns(&[first]));
    assert!(!warns(&["--state-in", "s", second]));
    assert!(warns(&["--state-in", "s", second]));
}

/// Standard input has one reader, and its own name where it is copied to be read twice.
#[test]
fn standard_input_is_one_file() {
    let directory = Scratch::new("stdin");
    directory.file("cut.pcap", &fs::read(LOSSY).unwrap()[..5000]);
    let of = |args: &[&str], from: &str| {
        let from = fs::File::open(directory.join(from)).unwrap();
        let out = cli().current_dir(&*directory).args(args).stdin(from).output().unwrap();
        (out.status.code(), String::from_utf8(out.stderr).unwrap())
    };
    for args in [
        &["analyze", "-", "-"][..],
        &["diff", "-", "-"],
        &["packets", "-", "-"],
        &["analyze", "-", "--log", "-"],
        &["diff-report", "-", "-"],
    ] {
        let (code, error) = of(args, "cut.pcap");
        assert_eq!(code, Some(2), "{args:?}: {error}");
        assert!(error.contains("standard input is one file"), "{args:?}: {error}");
    }
    for args in [&["annotate", "-", "o.pcapng", "--force"][..], &["dissect", "--around", "3", "-"]] {
        let (code, error) = of(args, "cut.pcap");
        assert_eq!(code, Some(0), "{error}");
        assert!(error.starts_with("rdmawire: warning: -: at byte "), "{args:?}: {error}");
        directory.file("empty.pcap", b"");
        let (code, error) = of(args, "empty.pcap");
        assert_eq!((code, error.as_str()), (Some(2), "rdmawire: -: is empty\n"));
    }
}

#[test]
fn options_may_stand_between_files() {
    let directory = Scratch::new("between");
    directory.file("a.pcap", &fs::read(LOSSY).unwrap());
    let (code, out, error) = run(&directory, &["diff", "a.pcap", "--json", LOSSY]);
    assert!(code == Some(0) && out.starts_with('{'), "{error}");
    assert_eq!(run(&directory, &["annotate", "a.pcap", "--force", "o.pcapng"]).0, Some(0));
    let (code, _, error) = run(&directory, &["diff", "a.pcap"]);
    assert_eq!(
        (code, error.as_str()),
        (Some(2), "rdmawire: a.pcap: one capture: a comparison needs two places\n")
    );
    let (code, _, error) = run(&directory, &["annotate", "a.pcap"]);
    assert!(code == Some(2) && error.contains("annotate needs two names"), "{error}");
}
