//! `rdmawire analyze` as a program: files, pipes, reports by the clock.

use std::{
    io::{Read, Write},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::support::{
    frames::Roce,
    programs::{cli, ended},
    scratch::Scratch,
};
use rdmawire::{
    analyze::{Analysis, Files, Options},
    capture::{self, Record, Sink, Time},
    dissect::Link,
    opcode::Opcode,
};
use serde_json::Value;

/// A capture of SENDs with these PSNs.
fn trace(path: &Path, psns: impl IntoIterator<Item = u32>, pause: bool) {
    trace_from(1_000_000_000, path, psns, pause);
}

/// A capture that begins at this time.
fn trace_from(start: i64, path: &Path, psns: impl IntoIterator<Item = u32>, pause: bool) {
    let options = capture::Options { force: true, ..capture::Options::default() };
    let mut writer =
        capture::create(path, capture::Format::Pcap, &[capture::Interface::new(Link::ETHERNET)], options)
            .unwrap();
    let mut put = |n: usize, frame: &[u8]| {
        let time = Time(start + n as i64 * 10_000);
        let record = Record { time, link: Link::ETHERNET, interface: 0, wire_len: frame.len() as u32, frame };
        writer.put(&record).unwrap();
    };
    for (n, psn) in psns.into_iter().enumerate() {
        put(n, &Roce { opcode: Opcode::RC_SEND_ONLY, payload: 64, psn, ..Roce::default() }.frame());
    }
    if pause {
        put(900, &[&[0u8; 12][..], &[0x88, 0x08, 0, 1, 0xff, 0xff], &[0; 42]].concat());
    }
    writer.finish().unwrap();
}

fn command(args: &[&str]) -> Command {
    let mut command = cli();
    command.arg("analyze").args(args).env_remove("COLUMNS");
    command
}

fn run(args: &[&str]) -> (Option<i32>, String, String) {
    ended(&mut command(args))
}

fn json(args: &[&str]) -> Value {
    let (code, out, error) = run(&[&["--json", "--icrc", "off"], args].concat());
    assert_eq!(code, Some(0), "{error}");
    assert!(error.lines().all(|line| line.starts_with("rdmawire: wrote ")), "{error}");
    serde_json::from_str(&out).unwrap()
}

#[test]
fn a_file_and_its_sections() {
    let directory = Scratch::new("one");
    let path = directory.join("a.pcap");
    trace(&path, 0..100, true);
    let path = path.to_str().unwrap();
    let report = json(&[path, "--interval", "100us", "--speed", "100G"]);
    assert_eq!(report["schema"], "rdmawire.analysis/3");
    assert_eq!(report["capture"]["files"][0], path);
    assert_eq!(report["capture"]["packets"], 101);
    assert_eq!(report["overhead"]["total"]["wire_bytes"], 100 * (82 + 64));
    assert_eq!(report["intervals"].as_array().unwrap().len(), 11);
    assert_eq!(report["pause"][0]["paused_ns"], 0, "the capture ends with the pause");
    assert_eq!(report["ports"]["ports"], 1);
    assert_eq!(report["congestion"]["ect_packets"], 100);
    let without = json(&[path]);
    assert_eq!(without["why"]["intervals"], "not_requested");
    assert_eq!(without["pause"][0]["why"]["paused_ns"], "unknown_speed");
    // Numbers are the file's, whatever the filter leaves out.
    let filtered = json(&[path, "--filter", "frame.number > 50 && bth"]);
    assert_eq!(filtered["capture"]["packets"], 50);
}

#[test]
fn several_files_each_or_as_one() {
    let directory = Scratch::new("several");
    let [a, b] = ["a.pcap", "b.pcap"].map(|name| directory.join(name));
    trace(&a, 0..50, false);
    trace(&b, 0..50, false);
    let files = [a.to_str().unwrap(), b.to_str().unwrap()];
    let set = json(&files);
    assert_eq!((&set["schema"], &set["total"]["packets"]), (&"rdmawire.analysis-set/2".into(), &100.into()));
    assert_eq!(set["reports"][1]["capture"]["packets"], 50);
    let merged = json(&[&["--merge"], &files[..]].concat());
    assert_eq!(merged["capture"]["packets"], 100);
    assert_eq!(merged["capture"]["files"].as_array().unwrap().len(), 2);
    let (code, text, _) = run(&[files[0], files[1], "--threads", "1"]);
    assert_eq!(code, Some(0));
    assert!(text.contains("All captures\n") && text.contains("together"), "{text}");
    // One that is not there: said, and the other is done.
    let (code, text, error) = run(&[files[0], "/nowhere"]);
    assert_eq!((code, error.as_str()), (Some(2), "rdmawire: /nowhere: no such file or directory\n"));
    assert!(text.contains("50 packets"), "{text}");
}

/// All commands that take directories say what is missing in one.
#[test]
fn a_directory_without_captures_is_told() {
    let directory = Scratch::new("no_captures");
    let path = directory.join("");
    let at = |command: &[&str]| {
        let output = cli().args(command).arg(&path).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for there in ["", "notes.txt"] {
        if !there.is_empty() {
            std::fs::write(directory.join(there), "no capture").unwrap();
        }
        for command in
            ["analyze", "dissect", "packets", "nvme", "counters", "fabric", "commands", "connections"]
        {
            let (code, error) = at(&[command]);
            assert!(code == Some(2) && error.contains("there is no capture in it"), "{command}: {error}");
        }
    }
}

#[test]
fn a_path_alone_is_analyzed_or_told_as_missing() {
    let directory = Scratch::new("path_alone");
    let at = |arguments: &[&str]| {
        let output = cli().args(arguments).current_dir(&*directory).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for path in ["/nowhere", "nowhere.pcap", "nowhere.pcapng.zst", "./nowhere"] {
        assert_eq!(at(&[path]), (Some(2), format!("rdmawire: {path}: no such file or directory\n")));
    }
    assert!(at(&["nowhere"]).1.starts_with("error: unrecognized subcommand 'nowhere'"));
}

#[test]
fn a_damaged_file_is_told_of_once() {
    let directory = Scratch::new("damaged");
    let path = directory.join("cut.pcap");
    trace(&path, 0..50, false);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 10]).unwrap();
    let (code, out, error) = run(&["--json", path.to_str().unwrap()]);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, error.lines().count()), (Some(0), 1), "{error}");
    assert_eq!(report["capture"]["problems"].as_array().unwrap().len(), 1);
    assert_eq!(report["capture"]["packets"], 49);
}

#[test]
fn a_map_of_queue_pairs() {
    let directory = Scratch::new("map");
    let [path, map, wrong] = ["a.pcap", "map.csv", "wrong.csv"].map(|name| directory.join(name));
    trace(&path, 0..5, false);
    std::fs::write(&map, "# the tested pair\n10.0.0.2, 0x11, 10.0.0.1, 34\n").unwrap();
    std::fs::write(&wrong, "\n10.0.0.2,0x11,10.0.0.1\n").unwrap();
    let path = path.to_str().unwrap();
    let flow = &json(&["--qp-map", map.to_str().unwrap(), path])["flows"][0];
    assert_eq!((&flow["peer_qp"], &flow["paired_by"]), (&34.into(), &"map".into()), "{flow}");
    let (code, _, error) = run(&["--qp-map", wrong.to_str().unwrap(), path]);
    assert_eq!(code, Some(2));
    assert!(error.contains("line 2: expected ADDRESS,QP,ADDRESS,QP"), "{error}");
}

#[test]
fn what_is_asked_wrong_is_told() {
    let directory = Scratch::new("asked");
    let path = directory.join("a.pcap");
    trace(&path, 0..5, false);
    let path = path.to_str().unwrap();
    for (args, told) in [
        (&["--flow", "7", path][..], "rdmawire: --flow: no flow 7: there are 1, numbered from 0\n"),
        (&["--filter", "bth.psn >", path], "rdmawire: --filter: "),
        (&["--interval", "5", path], "error: invalid value '5' for '--interval <TIME>'"),
        (&["--sort", "beauty", path], "error: invalid value 'beauty' for '--sort <BY>'"),
    ] {
        let (code, out, error) = run(args);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{args:?}");
        assert!(error.starts_with(told), "{args:?}: {error}");
    }
}

/// Waits for the end, but not for ever.
fn wait(mut child: Child) -> (Option<i32>, String) {
    for _ in 0..200 {
        if let Some(status) = child.try_wait().unwrap() {
            let mut out = String::new();
            child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
            return (status.code(), out);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    panic!("it does not end");
}

#[test]
fn a_pipe_that_does_not_end_has_reports_all_the_same() {
    let directory = Scratch::new("pipe");
    let path = directory.join("a.pcap");
    trace(&path, 0..50, false);
    let bytes = std::fs::read(&path).unwrap();
    let mut child =
        command(&["-", "--every", "1s"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(&bytes).unwrap();
    pipe.flush().unwrap();
    // The pipe stays open, and nothing comes any more.
    std::thread::sleep(Duration::from_millis(1_700));
    // Twice at once, as `timeout` does.
    let twice = "kill -INT $0 && sleep 0.005 && kill -INT $0";
    let killed = Command::new("sh").args(["-c", twice, &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let (code, out) = wait(child);
    drop(pipe);
    assert_eq!(code, Some(0));
    // One by the clock, one at the end.
    let reports = out.matches("  50 packets, 50 of them RDMA").count();
    assert!(reports >= 2, "{out}");
}

/// What a file says of itself is evidence as what its frames say is.
#[test]
fn damage_and_drops_are_in_the_report() {
    let directory = Scratch::new("damaged");
    let path = directory.join("a.pcap");
    trace(&path, 0..100, false);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 20]).unwrap();
    let (code, out, error) = run(&[path.to_str().unwrap()]);
    assert_eq!(code, Some(0));
    assert!(error.contains("the file ends within a record"), "{error}");
    assert!(out.contains("The file is damaged") && out.contains("Damaged: "), "{out}");

    let files = Files { drops: Some(3), ..Files::default() };
    let ended = Analysis::new(Options::default()).end().from(files);
    let report = ended.report();
    assert_eq!(report.head.capture.capture_drops, Some(3));
    let finding = report.head.findings.iter().find(|finding| finding.id == "capture.drops").unwrap();
    assert!(finding.text.contains("dropped 3 frames"), "{}", finding.text);
}

/// Behind the captures that begin at the usual time.
const LATER: i64 = 1_020_000_000;

/// The report without its lists of files.
fn without_files(mut report: Value) -> Value {
    report["capture"]["files"].take();
    report["capture"]["parts"].take();
    report
}

#[test]
fn one_run_after_the_other_is_one_run() {
    let directory = Scratch::new("state");
    // Parts of one capture: `--merge` takes any other files for links of their own.
    let [a, b, state] = ["x-1.pcap", "x-2.pcap", "x.state"].map(|name| directory.join(name));
    trace(&a, (0..40).chain(60..80), true);
    trace_from(LATER, &b, (40..60).chain(80..120), false);
    let [a, b, state] = [&a, &b, &state].map(|path| path.to_str().unwrap());
    let merged = |more: &[&str]| -> Value {
        let (code, out, error) = run(&[&["--json", "--icrc", "off", "--merge", a, b], more].concat());
        assert!(code == Some(0) && error.contains("2 files that are parts of one capture"), "{error}");
        serde_json::from_str(&out).unwrap()
    };
    for more in [&[][..], &["--threads", "1"], &["--filter", "frame.number > 10"]] {
        let both = without_files(merged(more));
        let first = json(&[&[a, "--state-out", state], more].concat());
        assert_eq!(first, json(&[&[a], more].concat()), "to write a state changes nothing");
        let second = json(&[&[b, "--state-in", state, "--state-out", state], more].concat());
        assert_eq!(second["capture"]["files"], serde_json::json!([a, b]));
        assert_eq!(without_files(second), both, "{more:?}");
    }
    // A third run knows of all three.
    let third = json(&[b, "--state-in", state]);
    assert_eq!(third["capture"]["files"].as_array().map(Vec::len), Some(3));
    assert!(third["capture"]["packets"].as_u64() > merged(&[])["capture"]["packets"].as_u64());
}

#[test]
fn tables_and_pages_go_on_too() {
    let directory = Scratch::new("state-page");
    let [a, b, state, page, tables] =
        ["a.pcap", "b.pcap", "x.state", "x.html", "tables"].map(|name| directory.join(name));
    trace(&a, 0..50, true);
    trace_from(LATER, &b, 50..90, false);
    let [a, b, state, page, tables] = [&a, &b, &state, &page, &tables].map(|path| path.to_str().unwrap());
    assert_eq!(run(&[a, "--html", page, "--state-out", state]).0, Some(0));
    assert_eq!(run(&[b, "--html", page, "--state-in", state, "--csv", tables]).0, Some(0));
    let flows = std::fs::read_to_string(Path::new(tables).join("flows.csv")).unwrap();
    assert!(flows.lines().nth(1).is_some_and(|line| line.contains(",90,")), "{flows}");
    let (code, _, error) = run(&[b, "--state-in", state]);
    assert!(code == Some(2) && error.contains("it is for pictures: give --html"), "{error}");
    assert_eq!(run(&[a, "--state-out", state]).0, Some(0));
    let (code, _, error) = run(&[b, "--html", page, "--state-in", state]);
    assert!(code == Some(2) && error.contains("it has nothing for pictures"), "{error}");
}

#[test]
fn what_is_wrong_with_a_state_is_told() {
    let directory = Scratch::new("state-wrong");
    let [a, b, state, cut] = ["a.pcap", "b.pcap", "x.state", "cut.state"].map(|name| directory.join(name));
    trace(&a, 0..50, false);
    trace_from(LATER, &b, 50..90, false);
    let [a, b] = [&a, &b].map(|path| path.to_str().unwrap());
    let names = [&state, &cut].map(|path| path.to_str().unwrap());
    // A damaged capture: what was read is kept.
    let bytes = std::fs::read(a).unwrap();
    std::fs::write(a, &bytes[..bytes.len() - 10]).unwrap();
    let (code, out, error) = run(&["--json", "--icrc", "off", a, "--state-out", names[0]]);
    assert!(code == Some(0) && error.contains("the file ends within a record"), "{error}");
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["capture"]["packets"], 49);
    let report = json(&[b, "--state-in", names[0]]);
    assert_eq!(report["capture"]["packets"], 89);
    assert_eq!(report["capture"]["problems"].as_array().map(Vec::len), Some(1));
    let bytes = std::fs::read(&state).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let asked: [(&[&str], &str); 6] = [
        (&[b, "--state-in", "/nowhere"], "--state-in: /nowhere: No such file"),
        (&[b, "--state-in", b], "b.pcap: not the state of an analysis"),
        (
            &[b, "--state-in", names[1], "--icrc", "off"],
            "cut.state: a damaged state: it ends too early: analyze the earlier captures again",
        ),
        (&[b, "--state-in", names[0]], "verify_icrc = false, and now it is true"),
        (&[a, b, "--state-in", names[0]], "--state-in: a state file belongs to one trace: use --merge"),
        (&[a, "--state-out", b], "b.pcap exists; --force replaces it"),
    ];
    for (args, expected) in asked {
        let (code, _, error) = run(args);
        assert!(code == Some(2) && error.contains(expected), "{args:?}: {error}");
    }
    assert_eq!(json(&[b])["capture"]["packets"], 40, "the capture is still there");
}
