//! What one command says of a packet or a flow, all others say too: the flow of a frame, sums of intervals, marks, retransmissions. And what
//! is printed anywhere is explained.

use std::{collections::BTreeMap, path::Path};

use crate::support::{
    programs::{cli, ended, printed},
    scratch::Scratch,
};
use rdmawire::{
    analyze::{Analysis, Options},
    annotate::{Annotations, Notes},
    capture::{self, Format, Record, Sink, Source, Time},
    report::{FrameOrder, Report, find_flow},
    taps::{self, Taps},
};
use serde_json::Value;

const TENANTS: &str = "tests/data/two_tenants.pcap.zst";

fn json(arguments: &[&str]) -> Value {
    // `diff` ends with 1 where something was lost.
    serde_json::from_str(&ended(cli().args(arguments)).1).unwrap()
}

fn each(path: &str, mut see: impl FnMut(u64, &Record<'_>)) {
    let mut source = capture::open(Path::new(path)).unwrap();
    let mut number = 0;
    while let Some(record) = source.next().unwrap() {
        number += 1;
        see(number, &record);
    }
}

/// A capture's frames with other times.
fn at_times(path: &str, time: impl Fn(u64, i64) -> i64, mut see: impl FnMut(u64, &Record<'_>)) {
    each(path, |number, record| {
        see(number, &Record { time: Time(time(number, record.time.0)), ..*record });
    });
}

/// Two tenants have the same addresses and queue pairs; one of them repeats a packet.
#[test]
fn tenants_with_the_same_addresses_are_told_apart() {
    let report = json(&["analyze", "--json", TENANTS]);
    let flows = report["flows"].as_array().unwrap();
    let of = |name: &'static str| flows.iter().map(move |flow| flow[name].as_u64().unwrap());
    assert_eq!(of("vni").collect::<Vec<_>>(), [100, 100, 200, 200]);
    for (flow, partner) in [(0, 1), (1, 0), (2, 3), (3, 2)] {
        let shown = printed(cli().args(["dissect", "--json", "--flow", &flow.to_string(), TENANTS]));
        let mut frames: BTreeMap<u64, u64> = BTreeMap::new();
        for line in shown.lines() {
            let frame: Value = serde_json::from_str(line).unwrap();
            *frames.entry(frame["flow"].as_u64().unwrap()).or_default() += 1;
        }
        let packets = of("packets").collect::<Vec<_>>();
        assert_eq!(frames, BTreeMap::from([flow, partner].map(|at| (at, packets[at as usize]))));
    }
    // Its comment names the flow that repeats, and no other.
    let scratch = Scratch::new("doors-tenants");
    let out = scratch.join("out.pcapng");
    printed(cli().args(["annotate", "--quiet", TENANTS, out.to_str().unwrap()]));
    let mut reader = capture::open(&out).unwrap();
    let mut repeated = Vec::new();
    while reader.next().unwrap().is_some() {
        repeated
            .extend(reader.comments().filter(|text| text.contains("class=retransmission")).map(String::from));
    }
    assert_eq!(repeated.len(), 1, "{repeated:?}");
    assert!(repeated[0].contains(" flow=0 conn=0 "), "{repeated:?}");
    // The addresses alone name two.
    let (status, _, error) = ended(cli().args(["analyze", "--flow", "10.0.0.1,10.0.0.2,0x11", TENANTS]));
    assert_eq!(status, Some(2));
    assert!(error.contains("0 (rocev2-ipv4, VNI 100), 2 (rocev2-ipv4, VNI 200)"), "{error}");
    let text = printed(cli().args(["analyze", TENANTS]));
    assert!(text.lines().any(|line| line.contains("QP  VNI")), "{text}");
    assert!(text.contains("in VNI 100"), "{text}");
    assert!(printed(cli().args(["analyze", "--flow", "2", TENANTS])).contains("QP 0x11, VNI 200"));
}

fn compared(mut is_lost: impl FnMut(u64) -> bool) -> rdmawire::report::diff::Diff {
    let mut taps = Taps::new(taps::Options::default(), ["before", "after"]);
    each(TENANTS, |number, record| {
        taps.push(0, record);
        match is_lost(number) {
            true => taps.pass_over(1),
            false => taps.push(1, &Record { time: Time(record.time.0 + 10_000), ..*record }),
        }
    });
    taps.finish()
}

/// What is lost of one tenant's packets is no other's.
#[test]
fn losses_between_taps_are_of_the_tenant_that_lost() {
    let whole = compared(|_| false);
    let of = |diff: &rdmawire::report::diff::Diff| {
        let directions = diff.segments.iter().flat_map(|segment| &segment.directions);
        let flows = directions.flat_map(|direction| direction.flows.clone());
        flows.map(|flow| ((flow.vni, flow.dest_qp), flow.counts)).collect::<BTreeMap<_, _>>()
    };
    let flows = of(&whole);
    let sent = [(Some(100), 0x11, 22), (Some(100), 0x12, 21), (Some(200), 0x11, 20), (Some(200), 0x12, 20)];
    for (vni, qp, packets) in sent {
        let counts = flows[&(vni, qp)];
        assert_eq!((counts.sent, counts.delivered, counts.lost), (packets, packets, 0), "{vni:?} {qp:#x}");
        assert_eq!(counts.retransmitted, u64::from((vni, qp) == (Some(100), 0x11)));
    }
    // Frames 3 and 4 are of the second tenant: a request, which a later acknowledgement of this tenant says came, and the first
    // acknowledgement.
    let lossy = compared(|number| number == 3 || number == 4);
    assert_eq!(lossy.losses.iter().map(|loss| (loss.frame, loss.vni)).collect::<Vec<_>>(), [(4, Some(200))]);
    for (flow, counts) in of(&lossy) {
        let expected = [flow == (Some(200), 0x12), flow == (Some(200), 0x11)].map(u64::from);
        assert_eq!([counts.lost, counts.unrecorded], expected, "{flow:?} {counts:?}");
    }
}

fn known(options: &Options, path: &str, time: &impl Fn(u64, i64) -> i64) -> (Report, Annotations) {
    let mut analysis = Analysis::with(options.clone(), Notes::every(1 << 20));
    at_times(path, time, |_, record| analysis.push(record));
    let ended = analysis.end();
    let report = ended.report().collect();
    (report, Annotations::new(ended, options.dissect))
}

/// Frames that are stamped before the first one of their flow are of it, and one frame begins it, whatever others have its time.
#[test]
fn a_frame_is_of_its_flow_whatever_its_time_is() {
    const CAPTURE: &str = "pcaps/loss1_rc_write-B-300.pcap";
    type Stamp = fn(u64, i64) -> i64;
    let stamps: [(Stamp, Option<FrameOrder>); 4] = [
        (|_, time| time, None),
        // As a batch has them.
        (|number, time| if number < 20 { 1_600_000_000_000_000_000 } else { time }, None),
        (|number, time| if number < 8 { time + 40 } else { time }, None),
        (|number, time| if number < 40 { time + 1_000_000_000 } else { time }, Some(FrameOrder::File)),
    ];
    for (at, (time, order)) in stamps.iter().enumerate() {
        let options = Options { order: *order, ..Options::default() };
        let (report, mut annotations) = known(&options, CAPTURE, time);
        let (mut packets, mut begun) = (BTreeMap::<usize, u64>::new(), BTreeMap::<usize, u64>::new());
        at_times(CAPTURE, time, |number, record| {
            let Some((flow, _)) = annotations.flow(number, record) else { return };
            *packets.entry(flow).or_default() += 1;
            if annotations.comment(number, record).is_some_and(|comment| comment.contains(" begins=1")) {
                *begun.entry(flow).or_default() += 1;
            }
        });
        let flows = report.flows.iter().map(|flow| flow.packets).enumerate().collect();
        assert_eq!(packets, flows, "{at}");
        assert!(begun.len() == packets.len() && begun.values().all(|&n| n == 1), "{at}: {begun:?}");
    }
}

/// Intervals, flows and congestion count the same packets: what a mirror copied counts once, but for a mark that it got between the taps.
#[test]
fn intervals_add_up_to_flows() {
    let pairs = ["ecn_rc_write", "loss1_rc_write", "reorder5_rc_write", "corrupt_rc_write", "loss1_rc_read"];
    let merged = pairs.map(|name| ["A", "B"].map(|tap| format!("pcaps/{name}-{tap}.pcap.zst")));
    let alone = ["rnr_late", "opcode_zoo", "nak_remote_access", "multicast_ud", "rtt_delay10"];
    let alone = alone.map(|name| vec![format!("pcaps/{name}-A.pcap.zst")]);
    for files in merged.iter().map(|pair| pair.to_vec()).chain(alone) {
        let mut arguments = vec!["analyze", "--json", "--interval", "10ms", "--merge"];
        arguments.extend(files.iter().map(String::as_str));
        let report = json(&arguments);
        let sum = |rows: &Value, of: &dyn Fn(&Value) -> u64| -> u64 {
            rows.as_array().unwrap().iter().map(of).sum()
        };
        let plain = |name: &'static str| move |row: &Value| row[name].as_u64().unwrap();
        let both = |name: &'static str| {
            move |row: &Value| {
                ["requests", "responses"].iter().map(|space| row[space][name].as_u64().unwrap()).sum()
            }
        };
        for name in ["payload_bytes", "goodput_bytes", "cnps", "ce_packets", "ect_packets"] {
            let (flows, intervals) =
                (sum(&report["flows"], &plain(name)), sum(&report["intervals"], &plain(name)));
            assert_eq!(intervals, flows, "{files:?}: {name}");
        }
        for name in ["retransmits", "out_of_order"] {
            let (flows, intervals) =
                (sum(&report["flows"], &both(name)), sum(&report["intervals"], &plain(name)));
            assert_eq!(intervals, flows, "{files:?}: {name}");
        }
        let naks = |row: &Value| row["naks"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
        assert_eq!(sum(&report["intervals"], &plain("naks")), sum(&report["flows"], &naks), "{files:?}");
        let marks = sum(&report["flows"], &plain("ce_packets"));
        assert_eq!(report["congestion"]["ce_packets"], marks, "{files:?}");
    }
}

/// Which packets were sent before may show long after they came.
#[test]
fn taps_count_the_retransmissions_of_the_analysis() {
    let (a, b) = ("pcaps/rtt_delay10-A.pcap.zst", "pcaps/rtt_delay10-B.pcap.zst");
    let diff = json(&["diff", "--json", a, b]);
    let reports = [a, b].map(|path| json(&["analyze", "--json", path]));
    let mut all = 0;
    for direction in diff["segments"][0]["directions"].as_array().unwrap() {
        let report = &reports[direction["from"].as_u64().unwrap() as usize];
        for flow in direction["flows"].as_array().unwrap() {
            let same =
                |other: &&Value| ["src", "dst", "dest_qp"].iter().all(|name| other[name] == flow[name]);
            let there = report["flows"].as_array().unwrap().iter().find(same).unwrap();
            let again = ["requests", "responses"].map(|space| there[space]["retransmits"].as_u64().unwrap());
            assert_eq!(flow["counts"]["retransmitted"], again[0] + again[1]);
            all += again[0] + again[1];
        }
    }
    // A WRITE that is repeated, and a SEND of two packets.
    assert_eq!(all, 3);
}

/// UDP on the port of RoCE that is something else is none in rows of packets, as in the analysis.
#[test]
fn rows_of_packets_call_no_other_udp_rdma() {
    let recipe = "eth / ipv4 src=192.0.2.53 / udp src_port=53 dst_port=4791 / payload hex:12348180000100010000000003777777076578616d706c6503636f6d0000010001c00c000100010000003c00045db8d822";
    let scratch = Scratch::new("doors-udp");
    let path = scratch.join("dns.pcap");
    let mut sink = capture::create(&path, Format::Pcap, &[], capture::Options::default()).unwrap();
    let frame = rdmawire::craft::recipe::parse(recipe).unwrap().build();
    for n in 0..8 {
        sink.put(&Record {
            time: Time(n * 1000),
            link: rdmawire::dissect::Link::ETHERNET,
            interface: 0,
            wire_len: frame.len() as u32,
            frame: &frame,
        })
        .unwrap();
    }
    sink.finish().unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(json(&["analyze", "--json", path])["capture"]["rdma_packets"], 0);
    let fields = "frame,udp_src_port,encapsulation,bth_opcode,dest_qp,payload_bytes,icrc_state,note";
    let rows = printed(cli().args(["packets", "--fields", fields, path]));
    assert!(rows.lines().skip(1).all(|row| row.ends_with(",53,,,,,,")), "{rows}");
}

/// Every name of a field, and every word that is a value, of all that is printed as JSON.
#[test]
fn all_names_of_json_are_explained() {
    let outputs: [&[&str]; 13] = [
        &["analyze", "--json", "--speed", "100G", "--interval", "10ms", "pcaps/ecn_rc_write-B.pcap.zst"],
        &["analyze", "--json", TENANTS],
        &["analyze", "--json", "pcaps/cm_rej-A.pcap.zst"],
        &["diff", "--json", "pcaps/loss1_rc_read-A.pcap.zst", "pcaps/loss1_rc_read-B.pcap.zst"],
        &["diff", "--json", "pcaps/ecn_rc_write-A.pcap.zst", "pcaps/ecn_rc_write-B.pcap.zst"],
        &["overhead", "--json", "--op", "write", "--size", "1MiB", "--mtu", "4096", "--speed", "400G"],
        &["counters", "--json", "--vendor", "mlx5", "pcaps/loss1_rc_write-B-300.pcap"],
        &["connections", "--json", "pcaps/cm_rej-A.pcap.zst"],
        &["nvme", "--json", "pcaps/nvme_basic-A.pcap.zst"],
        &["commands", "--json", "pcaps/nfs4_basic-A.pcap.zst"],
        &["commands", "--json", "pcaps/smbdirect_basic-A.pcap.zst"],
        &["fabric", "--json", "tests/data/opensm_ibsim.pcap.zst"],
        &["collectives", "--json", "pcaps/nccl_ring-A.pcap.zst"],
    ];
    // By name: where it was seen first.
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for arguments in outputs {
        let (_, text, error) = ended(cli().args(arguments));
        assert!(!text.is_empty(), "{arguments:?}: {error}");
        let values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        values.for_each(|value| {
            gather(&value.unwrap(), "", &mut |name| {
                names.entry(name.to_owned()).or_insert_with(|| arguments.join(" "));
            })
        });
    }
    assert!(names.len() > 500, "{}", names.len());
    let is_known = |name: &str| cli().args(["explain", name]).output().unwrap().status.success();
    let unknown: Vec<_> = names.iter().filter(|(name, _)| !is_known(name)).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}

/// Calls `see` with names of fields, and with words of lower case that are values, of fields that are no names of things.
fn gather(value: &Value, of: &str, see: &mut dyn FnMut(&str)) {
    const OF_THINGS: [&str; 13] = [
        "what",
        "name",
        "src",
        "dst",
        "addr",
        "host",
        "schema",
        "files",
        "uid",
        "id",
        "host_id",
        "subsystem",
        "link",
    ];
    let is_word = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.-".contains(c))
    };
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                // Maps have names of other things, such as addresses and numbers.
                if is_word(name) {
                    see(name);
                }
                gather(value, name, see);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| gather(value, of, see)),
        Value::String(text) if is_word(text) && !OF_THINGS.contains(&of) => see(text),
        _ => {}
    }
}

/// What is refused says what is meant instead.
#[test]
fn refusals_say_what_to_type() {
    const CAPTURE: &str = "pcaps/loss1_rc_write-B-300.pcap";
    let refused: [(&[&str], &str); 4] = [
        (&["check", CAPTURE, "retransmits >= -1"], "never negative"),
        (&["analyze", "--filter", "host 10.77.0.1 and port 4791", CAPTURE], "ip.addr == 10.0.0.1"),
        (&["packets", "--fields", "psnn", CAPTURE], "did you mean psn?"),
        (&["analyze", "--perfetto", "/dev/full", CAPTURE], "--perfetto: /dev/full: "),
    ];
    for (arguments, says) in refused {
        let (status, _, error) = ended(cli().args(arguments));
        assert!(status == Some(2) && error.contains(says), "{arguments:?}: {status:?} {error}");
    }
    // A report may come through a pipe.
    let scratch = Scratch::new("doors-pipe");
    let report = scratch.file("report.json", printed(cli().args(["analyze", "--json", CAPTURE])).as_bytes());
    let input = std::fs::File::open(&report).unwrap();
    let (status, out, error) = ended(cli().args(["diff-report", "-"]).arg(&report).stdin(input));
    assert!(status == Some(0) && out.contains("flows of both: 2"), "{status:?} {out} {error}");
}

#[test]
fn several_flows_with_the_same_ends_are_not_chosen_from() {
    let mut analysis = Analysis::new(Options::default());
    each(TENANTS, |_, record| analysis.push(record));
    let ended = analysis.end();
    let report = ended.report();
    assert!(find_flow(&report, "10.0.0.1,10.0.0.2,0x11").unwrap_err().contains("VNI 100"));
    assert_eq!(find_flow(&report, "2"), Ok(2));
    assert!(find_flow(&report, "10.0.0.1,10.0.0.2,0x99").unwrap_err().starts_with("no flow from"));
}

fn ids(report: &Value) -> Vec<&str> {
    report["findings"].as_array().unwrap().iter().map(|finding| finding["id"].as_str().unwrap()).collect()
}

/// Episodes that prove nothing are in a finding, beside those of timeouts, of a receiver that was not ready, or of what had arrived.
#[test]
fn no_finding_hides_the_other_episodes_of_its_flow() {
    let report = json(&["analyze", "--json", "tests/data/doors/late_behind_and_rnr.pcap.zst"]);
    let ids = ids(&report);
    for id in ["rnr", "retransmit.spurious", "retransmit.unexplained"] {
        assert!(ids.contains(&id), "{id}: {ids:?}");
    }
    // The flow that suffers comes before the one that answers with NAKs.
    let trouble = |flow: &Value| flow["requests"]["retransmits"].as_u64().unwrap() > 0;
    let text = ended(cli().args(["analyze", "tests/data/doors/late_behind_and_rnr.pcap.zst"])).1;
    let rows = text.lines().skip_while(|line| !line.starts_with("Flows")).skip(2);
    let first: usize =
        rows.map(|row| row.split_whitespace().next().unwrap().parse().unwrap()).next().unwrap();
    assert!(trouble(&report["flows"][first]), "{text}");
}

/// Both taps together show what the one at the receiver shows: packets were late between them, and nothing was lost.
#[test]
fn two_taps_show_packets_that_were_late_between_them() {
    let files = ["tests/data/doors/late_between-A.pcap.zst", "tests/data/doors/late_between-B.pcap.zst"];
    let merged = json(&["analyze", "--json", "--merge", files[0], files[1]]);
    let all = ids(&merged);
    assert!(all.contains(&"reorder.between_taps") && !all.contains(&"retransmit.unexplained"), "{all:?}");
    let behind = json(&["analyze", "--json", files[1]]);
    assert!(ids(&behind).contains(&"reorder.nak"));
}

/// CNPs that are beside NAKs no more often than chance makes are not for losses.
#[test]
fn chance_is_no_cause_of_cnps() {
    let report = json(&["analyze", "--json", "tests/data/doors/cnps_beside_naks.pcap.zst"]);
    let congestion = &report["congestion"];
    assert_eq!(congestion["cnps_near_nak"], 1);
    assert_eq!(congestion["cnps_for_losses"], 0);
    assert_eq!(congestion["cnps_unmarked"], congestion["cnps"]);
}

/// What comes of a loss, or of a receiver that is not ready, stands below it: timeouts, and time that was lost.
#[test]
fn effects_stand_below_their_cause() {
    let place = |all: &[Value], id: &str| all.iter().position(|one| one["id"] == id);
    let effect = |capture: &str, cause: &str, id: &str| {
        let report = json(&["analyze", "--json", capture]);
        let all = report["findings"].as_array().unwrap();
        let cause = place(all, cause).unwrap_or_else(|| panic!("{capture}: {all:#?}"));
        let of = place(all, id).map(|at| &all[at]["effect_of"]);
        assert_eq!(of, Some(&cause.into()), "{capture}: {id}");
    };
    effect("pcaps/rnr_late-A.pcap.zst", "rnr", "slow");
    effect("pcaps/loss1_both_rc_write-A.pcap.zst", "loss.downstream", "timeout");
    // Of its four timeouts, one was before those after which it gave up.
    let report = json(&["analyze", "--json", "pcaps/nccl_peer_dies_busy-A.pcap.zst"]);
    let all = report["findings"].as_array().unwrap();
    assert_eq!(all[place(all, "timeout").unwrap()].get("effect_of").unwrap_or(&Value::Null), &Value::Null);
}

/// Advice about time that flows lost names the flow, and where to look.
#[test]
fn advice_about_lost_time_has_a_place() {
    let report = json(&["analyze", "--json", "pcaps/rnr_late-A.pcap.zst"]);
    let slow = report["findings"].as_array().unwrap().iter().find(|one| one["id"] == "slow").unwrap();
    let worst = &slow["flows"][0]["flow"];
    let next = slow["next"].as_str().unwrap();
    assert!(next.contains("receiving application") && next.contains(&format!("flow {worst}; ")), "{next}");
}

/// Advice sends to `connections` for what an application said when it refused: it is there.
#[test]
fn private_data_of_refusals_are_shown() {
    let text = printed(cli().args(["connections", "pcaps/cm_rej-A.pcap.zst"]));
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = |what: &str| words.contains(&format!("consumer reject; its private data: {what}; frames"));
    assert!(said("\"LAB-REJECTED-42\"") && said("none"), "{words}");
}

/// Addresses are whole wherever the terminal has room for them.
#[test]
fn tables_part_no_address() {
    let scratch = Scratch::new("doors-tables");
    let [a, b] = [1, 2].map(|n| format!("2001:db8:1234:5678:9abc:def0:1234:567{n}"));
    let scenario = format!(
        "[[host]]\nname = \"a\"\naddress = \"{a}\"\n[[host]]\nname = \"b\"\naddress = \"{b}\"\n[[connection]]\ncm = true\n\
         operations = [{{ op = \"write\", size = 1024 }}]\n"
    );
    let (recipe, capture) = (scratch.file("s.toml", scenario.as_bytes()), scratch.join("s.pcapng"));
    printed(cli().arg("craft").arg(&recipe).arg("-o").arg(&capture));
    for command in ["connections", "analyze"] {
        let text = printed(cli().env("COLUMNS", "120").arg(command).arg(&capture));
        let row = |line: &str| line.split_whitespace().any(|word| word == a);
        assert!(text.lines().any(|line| row(line) && line.contains(&b)), "{text}");
    }
}

/// Commands that follow others' commands send to each other, and the one about subnets to that about set-ups.
#[test]
fn commands_know_each_other() {
    let says = |command: &str, capture: &str, words: &str| {
        let text = printed(cli().args([command, capture]));
        assert!(text.contains(words), "{command}: {text}");
    };
    says("nvme", "pcaps/nfs4_basic-A.pcap.zst", "NFS: `rdmawire commands` follows it");
    says("commands", "pcaps/nvme_basic-A.pcap.zst", "NVMe-oF: `rdmawire nvme` follows it");
    says("fabric", "pcaps/cm_rej-A.pcap.zst", "`rdmawire connections` follows");
    assert!(!printed(cli().args(["nvme", "pcaps/nvme_basic-A.pcap.zst"])).contains("follows it"));
}

/// No explanation stands twice, whatever has the same name.
#[test]
fn what_is_explained_is_explained_once() {
    for name in ["Connect", "unknown", "requests", "Fabrics", "late", "bytes"] {
        let text = printed(cli().args(["explain", name]));
        let mut known = std::collections::BTreeSet::new();
        let mut about = String::new();
        for line in text.lines().chain(["end"]) {
            if line.starts_with(' ') {
                about += line;
            } else if !std::mem::take(&mut about).is_empty() {
                assert!(known.insert(line.to_owned()), "{name}: {line}");
            }
        }
        let sentences: Vec<&str> = text.lines().filter(|line| line.starts_with("  The capture")).collect();
        let once: std::collections::BTreeSet<&str> = sentences.iter().copied().collect();
        assert_eq!(sentences.len(), once.len(), "{name}: {text}");
    }
}

/// A receiver that answers nothing any more was silent for one time, whoever says it.
#[test]
fn a_silence_has_one_length() {
    let text = printed(cli().args(["analyze", "pcaps/nccl_peer_dies_busy-A.pcap.zst"]));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let after = |words: &str| {
        let (_, more) = text.split_once(words).unwrap_or_else(|| panic!("{text}"));
        more.split(' ').take(2).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(after("stopped answering everybody: silent for "), after("the receiver stopped answering "));
    // What is not known is not 0.
    let text = printed(cli().args(["collectives", "pcaps/nccl_peer_dies_busy-A.pcap.zst"]));
    assert!(text.contains("times not known") && !text.contains("0 ns"), "{text}");
}
