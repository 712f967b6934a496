//! The binary's `dissect` and `explain`: what they print, and what becomes of bad input.

use std::{
    fs,
    io::{Read, Write},
    path::Path,
    process::{Command, Output, Stdio},
};

use crate::{
    samples::{self, Sample},
    support::{
        programs::{self, cli, has_wireshark, skip},
        scratch::Scratch,
        trace,
    },
};
use rdmawire::{
    dissect::{Link, dissect},
    frame::{Frame, Json, Names},
};
use serde_json::Value;

/// A pcap with microseconds of every Ethernet vector, one a second from 2020-09-13 on.
fn capture() -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(0xa1b2_c3d4_u32.to_le_bytes());
    file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0]);
    for (i, Sample { frame, .. }) in ethernet().into_iter().enumerate() {
        for word in [1_600_000_000 + i as u32, 250_000, frame.len() as u32, frame.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(frame);
    }
    file
}

fn ethernet() -> Vec<Sample> {
    samples::vectors().into_iter().filter(|sample| sample.link == Link::ETHERNET).collect()
}

fn rdmawire() -> Command {
    let mut command = cli();
    command.env_remove("NO_COLOR");
    command
}

fn run(arguments: &[&str], path: &Path) -> Output {
    rdmawire().arg("dissect").args(arguments).arg(path).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// What it printed, when all went well.
fn printed(arguments: &[&str], path: &Path) -> String {
    let output = run(arguments, path);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{arguments:?}");
    text(&output.stdout).to_owned()
}

#[test]
fn lines_are_those_of_the_golden_file() {
    let scratch = Scratch::new("golden");
    let lines = printed(&[], &scratch.file("all.pcap", &capture()));
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/dissect.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&golden, &lines).unwrap();
    }
    let wanted = fs::read_to_string(golden).unwrap();
    for (line, wanted) in lines.lines().zip(wanted.lines()) {
        assert_eq!(line, wanted);
    }
    assert_eq!(lines.lines().count(), wanted.lines().count());
    assert_eq!(lines.lines().count(), ethernet().len());
}

#[test]
fn json_is_an_object_a_line() {
    let scratch = Scratch::new("json");
    let path = scratch.file("all.pcap", &capture());
    let out = printed(&["--json"], &path);
    for (i, line) in out.lines().enumerate() {
        let v: Value = serde_json::from_str(line).unwrap();
        assert_eq!(v["frame"], i + 1);
        assert_eq!(v["time_ns"], (1_600_000_000 + i as u64) * 1_000_000_000 + 250_000_000);
        assert_eq!(v["layers"][0]["name"], "ethernet");
        assert!(v.get("file").is_none());
    }
    assert_eq!(out.lines().count(), ethernet().len());
    // The names of Wireshark, and the ICRC not looked at.
    let line = printed(&["--json", "--names", "wireshark", "-c1", "--icrc", "off"], &path);
    let v: Value = serde_json::from_str(&line).unwrap();
    let bth = v["layers"].as_array().unwrap().iter().find(|layer| layer["name"] == "bth").unwrap();
    assert_eq!(bth["infiniband.bth.psn"], 13_571_856);
    assert_eq!((&bth["resv6"], &bth["infiniband.bth.m"]), (&Value::from(0), &Value::from(true)));
    assert_eq!(v["icrc"]["state"], "unchecked");
    assert_eq!(v["icrc"]["value"], "78f353f3");
}

#[test]
fn filters_counts_and_skips() {
    let scratch = Scratch::new("filter");
    let path = scratch.file("all.pcap", &capture());
    let numbers = |arguments: &[&str]| -> Vec<String> {
        let fields = ["--fields", "frame.number", "--no-header"];
        let out = printed(&[arguments, &fields].concat(), &path);
        out.lines().map(str::to_owned).collect()
    };
    assert_eq!(numbers(&["-c", "3"]), ["1", "2", "3"]);
    assert_eq!(numbers(&["-c", "2", "--skip", "5"]), ["6", "7"]);
    assert_eq!(numbers(&["--skip", "100000"]), [""; 0]);
    assert_eq!(numbers(&["-f", "frame.number > 3 && cnp", "-c0"]), [""; 0]);
    let cnps = numbers(&["-f", "cnp"]);
    assert_eq!(numbers(&["-f", "infiniband.bth.opcode in {0x80, 0x81}"]), cnps);
    assert!(!cnps.is_empty() && cnps.len() < ethernet().len());
    let bad = run(&["-f", "bth.psn = 3"], &path);
    assert_eq!(bad.status.code(), Some(2));
    assert_eq!(
        text(&bad.stderr),
        "rdmawire: --filter: column 9: '=' means nothing here; did you mean ==?\n  bth.psn = 3\n          ^\n"
    );
}

#[test]
fn columns_with_tabs_or_commas() {
    let scratch = Scratch::new("columns");
    let path = scratch.file("all.pcap", &capture());
    let fields = "frame.number,src,bth.opcode,bth.mig_req,aeth.msn,ip.addr";
    assert_eq!(
        printed(&["--fields", fields, "-c1"], &path),
        "frame.number\tsrc\tbth.opcode\tbth.mig_req\taeth.msn\tip.addr\n\
         1\t192.168.0.7\t36\ttrue\t\t192.168.0.7,192.168.0.7\n"
    );
    assert_eq!(
        printed(&["--fields", fields, "-c1", "--format", "csv", "--names", "wireshark"], &path),
        "frame.number,src,infiniband.bth.opcode,infiniband.bth.m,infiniband.aeth.msn,ip.addr\n\
         1,192.168.0.7,36,true,,\"192.168.0.7,192.168.0.7\"\n"
    );
    let bad = run(&["--fields", "bth.pns"], &path);
    assert_eq!(bad.status.code(), Some(2));
    assert_eq!(
        text(&bad.stderr),
        "rdmawire: --fields: there is no field named \"bth.pns\"; did you mean bth.psn?\n"
    );
}

#[test]
fn times() {
    let scratch = Scratch::new("times");
    let path = scratch.file("all.pcap", &capture());
    let time = |clock: &str| {
        let out = printed(&["-t", clock, "--skip", "2", "-c2"], &path);
        let second = out.lines().nth(1).unwrap().to_owned();
        second.split_whitespace().skip(1).take(2).collect::<Vec<_>>().join(" ")
    };
    assert!(time("relative").starts_with("3.000000 "));
    assert!(time("delta").starts_with("1.000000 "));
    assert!(time("epoch").starts_with("1600000003.250000 "));
    assert_eq!(time("utc"), "2020-09-13 12:26:43.250000");
}

#[test]
fn colour_only_when_asked_where_there_is_no_terminal() {
    let scratch = Scratch::new("colour");
    let path = scratch.file("all.pcap", &capture());
    assert!(!printed(&[], &path).contains('\x1b'));
    let colours = printed(&["--color", "always"], &path);
    assert!(colours.contains("\x1b[1;31m"), "a wrong ICRC is red");
    assert_eq!(colours.matches("\x1b[0m").count() * 2, colours.matches('\x1b').count(), "all are ended");
}

#[test]
fn a_tree_and_the_bytes() {
    let scratch = Scratch::new("tree");
    let path = scratch.file("all.pcap", &capture());
    let tree = printed(&["-V", "-x", "-c1"], &path);
    for line in [
        "Frame 1: 78 bytes, 2020-09-13 12:26:40.250000000 UTC, Ethernet",
        "  BTH, 12 bytes at 42",
        "       9      mig_req true    .1.. ....",
        "  padding, 2 bytes at 72",
        "  ICRC, 4 bytes at 74: 78f353f3, good",
        "  0000  24 8a 07 a8 fa 22 24 8a  07 a8 fa 22 08 00 45 01  $....\"$....\"..E.",
    ] {
        assert!(tree.lines().any(|l| l == line), "{line}\n{tree}");
    }
}

#[test]
fn standard_input() {
    let mut child = rdmawire()
        .args(["dissect", "-", "--fields", "frame.number", "--no-header"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&capture()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stdout).lines().count(), ethernet().len());
}

#[test]
fn what_is_no_capture_is_one_line_and_status_2() {
    let scratch = Scratch::new("bad");
    let empty = scratch.file("empty.pcap", b"");
    let words = scratch.file("words.txt", b"These are words, not frames.\nMore of them follow here.\n");
    let nowhere = scratch.join("nowhere.pcap");
    for (path, says) in [(&nowhere, "no such file"), (&empty, "is empty"), (&words, "")] {
        let output = run(&[], path);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert_eq!(text(&output.stdout), "");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(
            said.starts_with(&format!("rdmawire: {}: ", path.display())) && said.contains(says),
            "{said}"
        );
    }
    // Of a directory, all captures are shown: the empty one is said.
    let output = run(&[], &scratch);
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("empty.pcap: is empty"), "{said}");
}

#[cfg(unix)]
#[test]
fn an_unreadable_file() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new("unreadable");
    let path = scratch.file("secret.pcap", &capture());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&path).is_ok() {
        return skip("user", "whoever runs this may read everything");
    }
    let output = run(&[], &path);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("permission denied"));
}

#[test]
fn a_cut_file_gives_what_there_is_and_says_where_it_ends() {
    let scratch = Scratch::new("cut");
    let whole = capture();
    let output = run(&[], &scratch.file("cut.pcap", &whole[..whole.len() - 5]));
    assert_eq!(text(&output.stdout).lines().count(), ethernet().len() - 1);
    assert_eq!(output.status.code(), Some(0));
    let said = text(&output.stderr);
    assert!(said.starts_with("rdmawire: warning: ") && said.contains("cut.pcap: at byte "), "{said}");
    assert_eq!(said.lines().count(), 1);
}

#[test]
fn of_several_files_the_good_ones_are_done() {
    let scratch = Scratch::new("several");
    let (one, two) = (scratch.file("one.pcap", &capture()), scratch.file("two.pcap", &capture()));
    let bad = scratch.file("bad.pcap", b"no");
    let output = rdmawire().args(["dissect", "--json"]).args([&one, &bad, &two]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stderr).lines().count(), 1);
    let files: Vec<Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["file"].take())
        .collect();
    assert_eq!(files.len(), 2 * ethernet().len());
    assert_eq!(files[0].as_str(), one.to_str());
    assert_eq!(files[ethernet().len()].as_str(), two.to_str());
    let lines = rdmawire().arg("dissect").args([&one, &two]).output().unwrap();
    assert_eq!(text(&lines.stdout).lines().filter(|line| line.starts_with("==> ")).count(), 2);
}

#[test]
fn a_closed_pipe_is_success() {
    let scratch = Scratch::new("pipe");
    // More than any pipe holds.
    let mut many = capture();
    let records = many[24..].to_vec();
    for _ in 0..200 {
        many.extend(&records);
    }
    let path = scratch.file("many.pcap", &many);
    let mut child = rdmawire()
        .args(["dissect", "-V"])
        .arg(&path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut start = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut start).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

fn explained(topic: &[&str]) -> (Option<i32>, String, String) {
    let output = rdmawire().arg("explain").args(topic).output().unwrap();
    (output.status.code(), text(&output.stdout).to_owned(), text(&output.stderr).to_owned())
}

#[test]
fn explain_takes_all_from_the_tables() {
    for (topic, says) in [
        (&["bth"][..], "|A|    resv7    |                      PSN                      |"),
        (&["bth"], "   72    24  psn      infiniband.bth.psn"),
        (&["BTH"], "infiniband.bth.psn"),
        (&["cm"], "CM DREQ (cm), 12 bytes"),
        (&["PFC"], "Pause of priority 7 in quanta."),
        (&["opcode", "0x0c"], "+12  RETH, 16 bytes"),
        (&["opcode", "rc-read-request"], "0x0c  RC RDMA READ Request"),
        (&["opcode", "RC", "RDMA", "READ", "Request"], "0x0c  RC RDMA READ Request"),
        (&["opcode", "0xc5"], "not assigned"),
        (&["opcode"], "0x81  CNP"),
        (&["syndrome", "0x60"], "0x60  NAK, PSN sequence error"),
        (&["rnr"], "0x21  RNR NAK, wait 0.01 ms"),
        (&["note", "bth.opcode"], "bth.opcode (warning)"),
        (&["filter"], "  icrc.bad "),
        (&["infiniband.aeth.msn"], "aeth.msn: bits 8 to 31 of the AETH"),
        (&["aeth.nak"], "aeth.nak: A negative acknowledgement."),
        (&[], "  reth           RETH"),
    ] {
        let (status, out, err) = explained(topic);
        assert_eq!((status, err.as_str()), (Some(0), ""), "{topic:?}");
        assert!(out.contains(says), "{topic:?}: {says}\n{out}");
    }
    for (topic, says) in [
        (&["bht"][..], "did you mean bth?"),
        (&["opcode", "rc-sned-only"], "did you mean rc-send-only"),
        (&["opcode", "0x100"], "no operation code"),
        (&["syndrome", "256"], "a number from 0 to 255"),
        (&["note", "bth.opcod"], "did you mean opcode?"),
        (&["note", "bht.opcode"], "did you mean bth?"),
        (&["xyzzyxyzzy"], "`rdmawire explain` lists all there is"),
    ] {
        let (status, out, err) = explained(topic);
        assert_eq!((status, out.as_str()), (Some(2), ""), "{topic:?}");
        assert!(
            err.starts_with("rdmawire: explain: ") && err.contains(says) && err.lines().count() == 1,
            "{err}"
        );
    }
}

#[test]
fn every_layer_and_field_can_be_explained() {
    for kind in rdmawire::wire::Kind::ALL {
        let Some(info) = kind.info() else { continue };
        let (status, out, _) = explained(&[info.label]);
        assert_eq!(status, Some(0), "{}", info.label);
        assert!(info.fields.iter().all(|field| out.contains(field.name)), "{}", info.label);
    }
}

/// A frame in its connection, each with what the analysis says of it.
#[test]
fn frames_around_one_say_what_they_are() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("pcaps/loss1_rc_write-B-300.pcap");
    let around = printed(&["--around", "145", "--context", "2"], &path);
    let lines: Vec<&str> = around.lines().collect();
    let numbers = lines.iter().map(|line| line.split_whitespace().next().unwrap()).collect::<Vec<_>>();
    assert_eq!(numbers, ["143", "144", "145", "146", "147"]);
    assert!(lines[1].ends_with("<- new"), "{around}");
    assert!(lines[2].contains("<== retransmission") && lines[2].contains("the NAK in frame 82"), "{around}");
    assert!(lines[3].contains("<- retransmission of frame 55 after the NAK in frame 82"), "{around}");
    // The first frame is not RDMA, so that all frames are shown.
    assert_eq!(printed(&["--around", "1", "--context", "3"], &path).lines().count(), 4);
    // As JSON, with the same remarks.
    let objects = printed(&["--around", "145", "--context", "2", "--json"], &path);
    let objects: Vec<Value> = objects.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        objects.iter().map(|one| one["frame"].as_u64().unwrap()).collect::<Vec<_>>(),
        [143, 144, 145, 146, 147]
    );
    assert_eq!(
        objects.iter().map(|one| one["asked"] == true).collect::<Vec<_>>(),
        [false, false, true, false, false]
    );
    for (object, line) in objects.iter().zip(&lines) {
        assert!(line.ends_with(object["remark"].as_str().unwrap()), "{line}");
        assert!(object["flow"].is_u64());
    }
    // Both flows of a connection; only NAKs of them.
    let both = printed(&["--flow", "1"], &path);
    assert_eq!(both.lines().count(), 299);
    assert_eq!(both, printed(&["--flow", "0"], &path));
    let naks = printed(&["--flow", "0", "--filter", "nak"], &path);
    assert!(naks.lines().count() == 1 && naks.contains("<- NAK: the receiver misses PSN"), "{naks}");
    for (arguments, says) in
        [(["--flow", "2"], "has 2 flows, numbered from 0"), (["--around", "301"], "has 300 frames")]
    {
        let output = run(&arguments, &path);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(says), "{}", text(&output.stderr));
    }
}

/// Whatever is printed can be explained by its name alone.
#[test]
fn what_is_printed_is_explained() {
    for (name, says) in [
        ("go_back_n", "The lost packet and all packets after it."),
        ("go-back-n", "The lost packet and all packets after it."),
        ("loss.downstream", "What to do"),
        ("rc-write-only", "the whole message"),
        ("NAK", "PSN sequence error"),
        ("retransmissions", "Of several rows: sum"),
        ("episodes", "frame"),
        ("qp", "bth.dest_qp"),
        ("aeth_msn", "a column of the table packets"),
        ("ack_rtt_p99_ns", "a column of the tables classes, mrc"),
        ("out_of_sequence", "a counter of mlx5: requests out of sequence, answered by a NAK"),
        ("local_ack_timeout_err", "a counter of mlx5: acknowledgement timeouts"),
        ("pairs_reached", "a field of rdmawire fabric: Report"),
        ("lane_mbit_s", "a field of rdmawire fabric: "),
        ("do_not_retry", "a field of rdmawire nvme: FailedRow"),
        ("bytes_per_second", "a field of rdmawire commands: OperationRow"),
        ("controller_ns", "The controller, and the network behind the tap."),
        ("known_by", "private_data (private data): The private data of its set-up."),
        ("direction", "read: From the controller to the host."),
        ("paired_by", "cm (connection manager): "),
    ] {
        let output = rdmawire().arg("explain").arg(name).output().unwrap();
        assert!(
            output.status.success() && text(&output.stdout).contains(says),
            "{name}: {}",
            text(&output.stdout)
        );
    }
    let schema = rdmawire().args(["explain", "schema"]).output().unwrap();
    for rust in ["[`", "`None`", "::"] {
        assert!(!text(&schema.stdout).contains(rust), "{rust}");
    }
}

/// RDMA-CM's header says which version its addresses have: they are shown, compared and crafted so, as tshark has them.
#[test]
fn addresses_of_rdma_cm_are_those_of_their_version() {
    let scratch = Scratch::new("ip-cm");
    let path = scratch.join("cm.pcap");
    let crafted = "ipv4 / udp / bth opcode=ud-send-only / deth / mad mgmt_class=7 attribute_id=16 / cm_req service_id=0x1061b58 \
                   / rdmacm ip_version=4 src_ip=10.77.0.1 dst_ip=10.77.0.2 / payload 56";
    for (from, at) in [("pcaps/cm_rej-A.pcap.zst", None), ("crafted", Some(crafted))] {
        let file = match at {
            None => Path::new(env!("CARGO_MANIFEST_DIR")).join(from),
            Some(recipe) => {
                let made = cli().args(["craft", "--force", "-o"]).arg(&path).arg(recipe).output().unwrap();
                assert!(made.status.success(), "{}", text(&made.stderr));
                path.clone()
            }
        };
        let of = ["--filter", "cm.src_ip == 10.77.0.0/24", "--fields", "frame,cm.src_ip,cm.dst_ip"];
        let rows = run(&of, &file);
        let rows: Vec<&str> = text(&rows.stdout).lines().skip(1).collect();
        assert!(rows.iter().all(|row| row.ends_with("\t10.77.0.1\t10.77.0.2")), "{from}: {rows:?}");
        assert_eq!(rows.len(), if at.is_none() { 9 } else { 1 }, "{from}");
        let one = run(&["--json", "--filter", "cm.dst_ip == 10.77.0.2", "--count", "1"], &file);
        assert!(text(&one.stdout).contains(r#""src_ip":"10.77.0.1","dst_ip":"10.77.0.2""#), "{from}");
        let tree = run(&["--verbose", "--filter", "cm.src_ip"], &file);
        assert!(text(&tree.stdout).contains("10.77.0.2") && !text(&tree.stdout).contains("::a4d"), "{from}");
    }
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("pcaps/cm_rej-A.pcap.zst");
    let v6 = run(&["--filter", "cm.src_ip == fd77::/16", "--fields", "cm.src_ip,cm.dst_ip"], &capture);
    assert_eq!(text(&v6.stdout).lines().collect::<Vec<_>>(), ["cm.src_ip\tcm.dst_ip", "fd77::1\tfd77::2"]);
    if !has_wireshark("tshark") {
        return;
    }
    let plain = scratch.join("plain.pcap");
    let copied = cli().args(["rewrite"]).arg(&capture).arg(&plain).output().unwrap();
    assert!(copied.status.success(), "{}", text(&copied.stderr));
    let names = ["sip4", "sip6", "dip4", "dip6"].map(|name| format!("infiniband.cm.req.ip_cm.{name}"));
    let mut tshark = Command::new("tshark");
    tshark
        .args(["-n", "-Y", "infiniband.cm.req.ip_cm", "-T", "fields", "-E", "separator=,", "-r"])
        .arg(&plain);
    names.iter().for_each(|name| _ = tshark.args(["-e", name]));
    let theirs = programs::printed(&mut tshark);
    let ours = run(&["--filter", "cm.src_ip", "--fields", "cm.src_ip,cm.dst_ip", "--no-header"], &capture);
    let theirs: Vec<String> = theirs
        .lines()
        .map(|l| l.split(',').filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join("\t"))
        .collect();
    assert_eq!(text(&ours.stdout).lines().collect::<Vec<_>>(), theirs);
}

/// Names of files are in what a frame is, and may have anything in them: each line is JSON for all that.
#[test]
fn each_line_of_json_is_json() {
    let json = Json::new(Names::default());
    let mut line = String::new();
    let (mut quoted, mut number) = (0, 0);
    for entry in std::fs::read_dir("pcaps").unwrap() {
        let path = entry.unwrap().path();
        if !path.is_file() || path.extension().is_some_and(|of| of == "md") {
            continue;
        }
        for frame in trace::read(&path).unwrap() {
            let record = frame.record();
            let d = dissect(record.link, record.frame, record.wire_len);
            number += 1;
            line.clear();
            json.write(&Frame::new(number, record.time.0, &d), None, &mut line).unwrap();
            let object: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
            quoted += u64::from(object["info"].as_str().is_some_and(|info| info.contains('"')));
        }
    }
    assert!(quoted > 100, "{quoted}");
}
