//! `rdmawire craft scenario.toml`, end to end: every format, several taps, errors.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use crate::support::{programs::cli, scratch::Scratch};
use rdmawire::capture::{self, Source};

fn craft(arguments: &[&Path]) -> Output {
    cli().arg("craft").args(arguments).output().unwrap()
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/scenarios").join(name)
}

fn frames(path: &Path) -> Vec<(i64, Vec<u8>)> {
    let mut reader = capture::open(path).unwrap();
    let mut frames = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        frames.push((record.time.0, record.frame.to_vec()));
    }
    frames
}

#[test]
fn an_event_that_strikes_nothing_is_said() {
    let scratch = Scratch::new("idle-event");
    let scenario = fs::read_to_string(example("rnr.toml")).unwrap();
    let file = scratch.join("x.toml");
    fs::write(&file, format!("{scenario}\n[[event]]\ndo = \"drop\"\npacket = 1000000\n")).unwrap();
    let said = |file: &Path| {
        let done = craft(&[file, "--force".as_ref(), "-o".as_ref(), &scratch.join("x.pcap")]);
        assert!(done.status.success());
        String::from_utf8(done.stderr).unwrap()
    };
    assert!(!said(&example("rnr.toml")).contains("strikes no packet"));
    assert!(said(&file).contains("(drop) strikes no packet\n"), "{}", said(&file));
}

#[test]
fn every_format_holds_the_same_frames() {
    let scratch = Scratch::new("formats");
    let mut all = Vec::new();
    for name in ["x.pcap", "x.pcapng", "x.erf"] {
        let (output, expect) = (scratch.join(name), scratch.join(format!("{name}.json")));
        let done = craft(&[&example("rnr.toml"), "-o".as_ref(), &output, "--expect".as_ref(), &expect]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let expected: serde_json::Value = serde_json::from_slice(&fs::read(expect).unwrap()).unwrap();
        assert_eq!(expected["schema"], "rdmawire.expect/1");
        let frames = frames(&output);
        assert_eq!(expected["capture"]["packets"], frames.len());
        all.push(frames.into_iter().map(|(_, bytes)| bytes).collect::<Vec<_>>());
    }
    assert!(!all[0].is_empty() && all[0] == all[1]);
    assert_eq!(all[0].len(), all[2].len());
}

/// Each tap has a file of its own.
#[test]
fn names_of_taps_are_names_of_files() {
    let scratch = Scratch::new("tap-names");
    let file = scratch.join("x.toml");
    for (names, expected) in [
        (["a/b", "a_b"], "tap 1: name = \"a/b\": expected a name for a file"),
        (["merged", "x"], "other than \"merged\""),
        (["x", "x"], "tap 2: name = \"x\": another tap has that name"),
        (["2", ""], "tap 2: name = \"2\": another tap has that name"),
        (["\\u001b[2J", "x"], "without / and control characters"),
    ] {
        let taps = names.map(|name| format!("[[tap]]\nname = \"{name}\"\n")).concat();
        fs::write(&file, format!("[[connection]]\noperations = [{{ op = \"write\" }}]\n{taps}")).unwrap();
        let done = craft(&[&file, "-o".as_ref(), &scratch.join("x.pcap")]);
        let error = String::from_utf8(done.stderr).unwrap();
        assert!(!done.status.success() && error.contains(expected) && !error.contains('\u{1b}'), "{error}");
        assert_eq!(fs::read_dir(scratch.join("")).unwrap().count(), 1, "{names:?}");
    }
}

#[test]
fn several_taps_write_several_files() {
    let scratch = Scratch::new("taps");
    let (output, expect) = (scratch.join("x.pcapng"), scratch.join("x.json"));
    let done = craft(&[&example("two-taps.toml"), "-o".as_ref(), &output, "--expect".as_ref(), &expect]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let [a, b] = ["x-A.pcapng", "x-B.pcapng"].map(|name| frames(&scratch.join(name)));
    assert!(!a.is_empty() && !b.is_empty() && a != b);
    assert!(scratch.join("x-A.json").exists() && scratch.join("x-B.json").exists());
}

#[test]
fn seeds_and_files_that_exist() {
    let scratch = Scratch::new("seeds");
    let bytes = |name: &str, seed: &str| {
        let output = scratch.join(name);
        let done =
            craft(&[&example("corruption.toml"), "-o".as_ref(), &output, "--seed".as_ref(), seed.as_ref()]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        fs::read(output).unwrap()
    };
    let first = bytes("1.pcap", "5");
    assert!(first == bytes("2.pcap", "5") && first != bytes("3.pcap", "6"));
    let again = craft(&[&example("corruption.toml"), "-o".as_ref(), &scratch.join("1.pcap")]);
    assert_eq!(again.status.code(), Some(2));
    assert_eq!(fs::read(scratch.join("1.pcap")).unwrap(), first);
}

#[test]
fn errors_are_one_line_that_says_where() {
    let scratch = Scratch::new("errors");
    let path = scratch.join("bad.toml");
    fs::write(&path, "seed = 1\n[[connection]]\nmtu = \"big\"\n").unwrap();
    let output = scratch.join("x.pcap");
    let done = craft(&[&path, "-o".as_ref(), &output]);
    let message = String::from_utf8(done.stderr).unwrap();
    assert_eq!((done.status.code(), message.lines().count()), (Some(2), 1), "{message}");
    assert!(message.contains("bad.toml: line 3:") && message.contains("invalid type"), "{message}");
    assert!(!output.exists());
    let none = craft(&[&scratch.join("none.toml"), "-o".as_ref(), &output]);
    assert_eq!(none.status.code(), Some(2));
    let nothing = craft(&[&example("rnr.toml")]);
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("--output"));
}

/// Several captured links: the truth about all of them, the file of what they join, and what `analyze` makes of these.
#[test]
fn several_links_are_analyzed_together() {
    let scratch = Scratch::new("links");
    let (links, expect) = (scratch.join("links.toml"), scratch.join("x.json"));
    for extension in ["pcapng", "pcap"] {
        let output = scratch.join(format!("x.{extension}"));
        let scenario = example("pause-tree.toml");
        let options: [&Path; 5] = ["-o".as_ref(), &output, "--links".as_ref(), &links, "--force".as_ref()];
        let done = craft(&[&[&*scenario], &options[..], &["--expect".as_ref(), &*expect]].concat());
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let truth: serde_json::Value =
            serde_json::from_slice(&fs::read(scratch.join("x-merged.json")).unwrap()).unwrap();
        if extension == "pcap" {
            // Such a file does not name its interface: the file's name does, also without its extension.
            let text = fs::read_to_string(&links).unwrap();
            assert!(text.contains("tap = \"x-l1.pcap\"") && text.contains("tap = \"x-l2.pcap\""), "{text}");
            fs::write(&links, text.replace("x-l1.pcap", "x-l1")).unwrap();
        }
        let taps = ["l1", "l2", "l3", "l4"].map(|tap| scratch.join(format!("x-{tap}.{extension}")));
        let report = cli()
            .args(["analyze", "--merge", "--json", "--speed", "100G", "--links"])
            .arg(&links)
            .args(&taps)
            .output()
            .unwrap();
        assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
        let report: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
        let (found, truth) = (&report["pause_tree"], &truth["pause_tree"]);
        assert_eq!(found["culprits"][0]["chain"], truth["culprits"][0]["chain"], "{found:#}");
        assert_eq!(found["edges"].as_array().map(Vec::len), Some(3));
    }
    let wrong = scratch.join("wrong.toml");
    fs::write(&wrong, "[[link]]\ntap = 1\na = { device = \"s1\" }\nb = { devise = \"s2\" }\n").unwrap();
    let done = cli().args(["analyze", "--links"]).args([&wrong, &links]).output();
    let message = String::from_utf8(done.unwrap().stderr).unwrap();
    assert!(
        message.contains("wrong.toml") && message.contains("line 4: unknown field `devise`"),
        "{message}"
    );
}

/// A scenario simulates its own packets: what would change them, or print them, is no option of it.
#[test]
fn options_for_single_packets_are_refused() {
    let scratch = Scratch::new("single");
    let output = scratch.join("x.pcap");
    for option in [
        &["--corrupt", "icrc"][..],
        &["--count", "3"],
        &["--set", "bth.psn=1"],
        &["--interval", "1us"],
        &["--keep", "icrc"],
        &["--hex"],
    ] {
        let done =
            cli().arg("craft").arg(example("rnr.toml")).args(option).arg("-o").arg(&output).output().unwrap();
        let error = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2), "{option:?}: {error}");
        assert!(
            error.contains(&format!("{}: it is for packets that are built one by one", option[0])),
            "{error}"
        );
        assert!(!output.exists());
    }
}

/// What cannot be written is said before anything is.
#[test]
fn all_outputs_are_checked_before_one_is_written() {
    let scratch = Scratch::new("outputs");
    let (scenario, output) = (scratch.join("c.toml"), scratch.join("c.pcap"));
    let linked = fs::read(example("pause-tree.toml")).unwrap();
    let there = scratch.join("there.json");
    fs::write(&there, "mine").unwrap();
    let refused = |text: &[u8], options: &[&Path], says: &str| {
        fs::write(&scenario, text).unwrap();
        let done = craft(&[&[&*scenario, "-o".as_ref(), &output], options].concat());
        let error = String::from_utf8(done.stderr).unwrap();
        assert!(done.status.code() == Some(2) && error.contains(says), "{options:?}: {error}");
        let files = fs::read_dir(scratch.join("")).unwrap().count();
        assert_eq!((files, fs::read(&scenario).unwrap() == text), (2, true), "{options:?}: {error}");
    };
    let one = fs::read(example("rnr.toml")).unwrap();
    let spray = b"kind = \"uet\"\n";
    let force: &Path = "--force".as_ref();
    let expect: &Path = "--expect".as_ref();
    for text in [&one[..], spray] {
        refused(text, &[expect, &scenario, force], "is an input of this command");
        refused(text, &[expect, &there], "there.json exists; --force replaces it");
        refused(text, &[expect, &output], "would be written twice");
        refused(text, &[expect, &scratch.join("none/x.json")], "there is no directory");
    }
    refused(&linked, &["--links".as_ref(), &scenario, force], "is an input of this command");
    refused(&one, &["--links".as_ref(), &scratch.join("l.toml")], "no tap of the scenario has `ends`");
}
