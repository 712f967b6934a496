//! `rdmawire annotate`: comments are where the truth says, frames stay as they were, and Wireshark's tools read the file.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use crate::support::{
    programs::{cli, done, has_wireshark, printed},
    scratch::Scratch,
};
use rdmawire::{
    capture::{self, Format, Interface, Record, Sink, Source},
    dissect::{Link, dissect},
    grammar::print::several,
    opcode::Direction,
    wire::Bth,
};
use serde_json::Value;

fn rdmawire(arguments: &[&str]) -> Output {
    cli().args(arguments).output().unwrap()
}

fn annotate(input: &Path, output: &Path) -> String {
    String::from_utf8(done(cli().arg("annotate").args([input, output])).stderr).unwrap()
}

fn tshark(arguments: &[&str]) -> String {
    printed(Command::new("tshark").args(arguments))
}

/// A frame as far as every format keeps it.
type Kept = (i64, u16, u32, Vec<u8>);

fn frames(path: &Path) -> Vec<Kept> {
    let mut reader = capture::open(path).unwrap();
    let mut all = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        all.push((record.time.0, record.link.0, record.wire_len, record.frame.to_vec()));
    }
    all
}

/// Our words of each comment, by frame.
fn comments(path: &Path) -> BTreeMap<u64, BTreeMap<String, String>> {
    let mut reader = capture::open(path).unwrap();
    let (mut all, mut number) = (BTreeMap::new(), 0);
    while reader.next().unwrap().is_some() {
        number += 1;
        for comment in reader.comments() {
            let Some((words, sentence)) =
                comment.strip_prefix("[rdmawire ").and_then(|rest| rest.split_once("] "))
            else {
                continue;
            };
            assert!(!sentence.is_empty(), "frame {number}: {comment}");
            let words = words.split(' ').map(|word| {
                let (name, value) = word.split_once('=').unwrap();
                (name.to_owned(), value.to_owned())
            });
            assert!(all.insert(number, words.collect()).is_none(), "frame {number} has two");
        }
    }
    all
}

fn of_class(comments: &BTreeMap<u64, BTreeMap<String, String>>, class: &str) -> BTreeSet<u64> {
    comments.iter().filter(|(_, words)| words["class"] == class).map(|(&frame, _)| frame).collect()
}

fn captures() -> Vec<PathBuf> {
    let entries = fs::read_dir("pcaps").unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = entries.filter(|path| path.to_string_lossy().contains(".pcap")).collect();
    all.sort();
    assert!(all.len() > 30);
    all
}

/// Requests with a PSN before the highest one requested, by the simplest means: what the truth calls a retransmission. The
/// frame before that had this PSN comes with each.
fn repeated_requests(path: &Path) -> BTreeMap<u64, Option<u64>> {
    let mut highest = BTreeMap::<_, i64>::new();
    let (mut seen, mut repeated) = (BTreeMap::new(), BTreeMap::new());
    for (n, (_, link, wire_len, frame)) in (1..).zip(frames(path)) {
        let d = dissect(Link(link), &frame, wire_len);
        let (Some(bth), Some(ends)) = (d.get::<Bth>(), d.addresses()) else { continue };
        let is_request = bth.opcode().operation().is_some() && bth.opcode().direction() == Direction::Request;
        if !is_request || bth.opcode().service() != rdmawire::opcode::Service::Rc {
            continue;
        }
        let flow = (ends, bth.dest_qp().0);
        let psn = bth.psn().0;
        let before = seen.insert((flow, psn), n);
        let highest = highest.entry(flow).or_insert(i64::from(psn) - 1);
        let ahead = (i64::from(psn) - *highest + (1 << 23)).rem_euclid(1 << 24) - (1 << 23);
        if ahead <= 0 {
            repeated.insert(n, before);
        } else {
            *highest = i64::from(psn);
        }
    }
    repeated
}

#[test]
fn comments_are_where_the_truth_says() {
    let scratch = Scratch::new("annotate-truth");
    let mut all = 0;
    // At tap A, nothing was lost yet: of WRITEs, the frames with an old PSN are the retransmissions.
    for scenario in
        ["loss1_rc_write", "loss1_both_rc_write", "corrupt_rc_write", "reorder5_rc_write", "rc_write_clean"]
    {
        let (path, out) = (PathBuf::from(format!("pcaps/{scenario}-A.pcap.zst")), scratch.join(scenario));
        let out = out.with_extension("pcapng");
        annotate(&path, &out);
        let truth: Value =
            serde_json::from_slice(&fs::read(format!("pcaps/truth/{scenario}.json")).unwrap()).unwrap();
        let flows = truth["flows"].as_array().unwrap();
        let counted: u64 =
            flows.iter().map(|flow| flow["retransmitted_request_packets"].as_u64().unwrap_or(0)).sum();
        let expected = repeated_requests(&path);
        assert_eq!(expected.len() as u64, counted, "{scenario}: the simple means agree with the truth");
        let comments = comments(&out);
        let found = of_class(&comments, "retransmission");
        assert_eq!(found, expected.keys().copied().collect(), "{scenario}");
        for frame in &found {
            let previous = comments[frame].get("previous").map(|frame| frame.parse().unwrap());
            assert_eq!(previous, expected[frame], "{scenario}: frame {frame}");
        }
        all += found.len();
    }
    assert!(all > 10_000);
}

#[test]
fn counts_of_comments_are_those_of_the_truth_behind_the_network() {
    let scratch = Scratch::new("annotate-counts");
    let words = |name: &str| {
        let out = scratch.join(name).with_extension("pcapng");
        annotate(Path::new(&format!("pcaps/{name}.pcap.zst")), &out);
        comments(&out)
    };
    let truth = |scenario: &str, field: &str| {
        let text = fs::read(format!("pcaps/truth/{scenario}.json")).unwrap();
        let truth: Value = serde_json::from_slice(&text).unwrap();
        let flows = truth["flows"].as_array().unwrap().clone();
        flows.iter().map(|flow| flow[field].as_u64().unwrap()).sum::<u64>()
    };
    let have = |comments: &BTreeMap<u64, BTreeMap<String, String>>, word: &str| {
        comments.values().filter(|words| words.contains_key(word)).count() as u64
    };
    let late = words("reorder5_rc_write-B");
    assert_eq!(have(&late, "overtaken"), truth("reorder5_rc_write", "delivered_late"));
    let twice = words("dup1_rc_write-B");
    let copies = of_class(&twice, "capture_duplicate");
    assert_eq!(copies.len() as u64, truth("dup1_rc_write", "duplicated_by_network"));
    let all = frames("pcaps/dup1_rc_write-B.pcap.zst".as_ref());
    for frame in copies {
        let previous: usize = twice[&frame]["previous"].parse().unwrap();
        assert!(all[previous - 1].3 == all[frame as usize - 1].3, "frame {frame} is frame {previous} again");
    }
    let corrupt = words("corrupt_rc_write-B");
    let [icrc, sum] =
        ["bad_icrc_received", "bad_ip_checksum_received"].map(|field| truth("corrupt_rc_write", field));
    assert_eq!(have(&corrupt, "icrc"), icrc);
    assert_eq!(of_class(&corrupt, "corrupt").len() as u64, icrc + sum);
    let lost = words("loss1_rc_write-B");
    let upstream = lost.values().filter(|words| words.get("loss").is_some_and(|place| place == "upstream"));
    let (upstream, lost) = (upstream.count() as u64, truth("loss1_rc_write", "lost"));
    assert!(
        upstream > lost / 4 && upstream <= lost,
        "{upstream} of {lost}: some were lost again when they were retransmitted"
    );
}

#[test]
fn every_capture_is_copied_bit_for_bit_and_wireshark_counts_the_same_comments() {
    let scratch = Scratch::new("annotate-all");
    let (tshark_is_here, editcap_is_here) = (has_wireshark("tshark"), has_wireshark("editcap"));
    for path in captures() {
        let out = scratch.join("out.pcapng");
        let _ = fs::remove_file(&out);
        let said = annotate(&path, &out);
        let before = frames(&path);
        assert!(before == frames(&out), "{}", path.display());
        let ours = comments(&out).len();
        assert_eq!(
            said,
            format!(
                "rdmawire: wrote {}: {}, comments on {ours} of them\n",
                out.display(),
                several(before.len() as u64, "frame")
            )
        );
        // A larger one takes seconds, and shows no more.
        if tshark_is_here && before.len() < 4_000 {
            let out = out.to_str().unwrap();
            let counted = tshark(&["-r", out, "-Y", "frame.comment", "-T", "fields", "-e", "frame.number"]);
            assert_eq!(counted.lines().count(), ours, "{}", path.display());
        }
        if editcap_is_here {
            let (plain, back) = (scratch.join("plain.pcap"), scratch.join("back.pcap"));
            let options = capture::Options { force: true, ..Default::default() };
            let mut reader = capture::open(&path).unwrap();
            let mut sink = capture::create(&plain, Format::Pcap, &[], options).unwrap();
            while let Some(record) = reader.next().unwrap() {
                sink.put(&record).unwrap();
            }
            sink.finish().unwrap();
            let done =
                Command::new("editcap").args(["-F", "nsecpcap"]).arg(&out).arg(&back).status().unwrap();
            assert!(done.success());
            // Their file headers may differ.
            assert!(fs::read(&plain).unwrap()[24..] == fs::read(&back).unwrap()[24..], "{}", path.display());
        }
    }
}

#[test]
fn a_stream_is_annotated_as_a_file_is() {
    let scratch = Scratch::new("annotate-stream");
    let path = Path::new("pcaps/loss1_rc_write-B-300.pcap");
    let out = scratch.join("out.pcapng");
    annotate(path, &out);
    let mut child = cli()
        .args(["annotate", "-", "-", "--quiet"])
        .env("TMPDIR", &*scratch)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&fs::read(path).unwrap()).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success());
    assert!(done.stdout == fs::read(&out).unwrap());
    assert_eq!(fs::read_dir(&*scratch).unwrap().count(), 1, "the temporary file is gone");
}

/// What a pcapng file has beside its frames stays, and comments of an earlier run are replaced.
#[test]
fn names_comments_interfaces_and_drops_stay() {
    let scratch = Scratch::new("annotate-keeps");
    let path = scratch.join("in.pcapng");
    let interface = |name: &str, speed| Interface {
        snaplen: 9000,
        name: Some(name.to_owned()),
        speed_bps: Some(speed),
        ..Interface::new(Link(1))
    };
    let interfaces = [interface("left", 100_000_000_000), interface("right", 400_000_000_000)];
    let options = capture::Options {
        comment: "rack 7".to_owned(),
        names: vec![("10.77.0.1".parse().unwrap(), "alpha".to_owned())],
        ..Default::default()
    };
    let mut sink = capture::create(&path, Format::Pcapng, &interfaces, options).unwrap();
    let mut reader = capture::open("pcaps/loss1_rc_write-B-300.pcap".as_ref()).unwrap();
    let mut n = 0;
    while let Some(record) = reader.next().unwrap() {
        n += 1;
        let record = Record { interface: u16::from(n > 200), ..record };
        let mine: &[&str] = if n == 145 { &["look", "[rdmawire class=new] of an earlier run"] } else { &[] };
        sink.put_with_comments(&record, mine).unwrap();
    }
    sink.set_drops(1, 12);
    sink.finish().unwrap();

    let hosts = scratch.file("hosts", b"# ours\n10.77.0.2  beta beta.example\n\nfe80::1%eth0 gamma\n");
    let out = scratch.join("out.pcapng");
    let arguments =
        ["annotate", path.to_str().unwrap(), out.to_str().unwrap(), "--hosts", hosts.to_str().unwrap()];
    assert!(rdmawire(&arguments).status.success());
    let again = rdmawire(&arguments);
    assert_eq!(again.status.code(), Some(2), "a file that exists is left alone");

    let mut reader = capture::open(&out).unwrap();
    let mut at_145 = Vec::new();
    let (mut number, mut right) = (0, 0);
    while let Some(record) = reader.next().unwrap() {
        number += 1;
        right += u64::from(record.interface == 1);
        if number == 145 {
            at_145 = reader.comments().map(|comment| comment.into_owned()).collect();
        }
    }
    assert_eq!(at_145.len(), 2, "{at_145:?}");
    assert!(
        at_145[0].contains(
            "retransmission after the NAK in frame 82; the capture does not have the packet before"
        ),
        "{at_145:?}"
    );
    assert_eq!(at_145[1], "look");
    let info = reader.info();
    let names: Vec<_> = info.names.iter().map(|(ip, name)| format!("{ip} {name}")).collect();
    assert_eq!(
        (right, names),
        (100, vec!["10.77.0.1 alpha".into(), "10.77.0.2 beta".into(), "fe80::1 gamma".into()])
    );
    assert!(
        info.comment.contains("had 1 loss before the tap") && info.comment.ends_with("rack 7"),
        "{}",
        info.comment
    );
    let kept: Vec<_> =
        info.interfaces.iter().map(|i| (i.name.clone(), i.speed_bps, i.snaplen, i.drops)).collect();
    let expected: Vec<_> =
        interfaces.iter().map(|i| (i.name.clone(), i.speed_bps, i.snaplen, i.drops)).collect();
    assert_eq!(kept[0], expected[0]);
    assert_eq!(kept[1], (expected[1].0.clone(), expected[1].1, 9000, Some(12)));
    if has_wireshark("tshark") {
        let out = out.to_str().unwrap();
        let named = tshark(&["-r", out, "-N", "n", "-c", "20"]);
        assert!(named.contains("alpha") && named.contains("beta"), "{named}");
    }
}

#[test]
fn too_many_comments_are_left_out_and_that_is_said() {
    let scratch = Scratch::new("annotate-many");
    let out = scratch.join("out.pcapng");
    let input = "pcaps/loss1_rc_write-B-300.pcap";
    assert!(rdmawire(&["annotate", input, out.to_str().unwrap(), "--max-comments", "10"]).status.success());
    assert_eq!(comments(&out).len(), 10);
    let mut reader = capture::open(&out).unwrap();
    reader.next().unwrap();
    assert!(reader.info().comment.ends_with("79 more frames without a comment: there were too many."));
    let refused = rdmawire(&["annotate", input, "/tmp/x.pcap"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("only pcapng has comments"));
}
