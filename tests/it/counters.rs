//! What hosts must have counted, by captures whose hosts' own counters are known (`pcaps/truth/`).

use std::{fs, path::Path};

use rdmawire::{
    analyze::{Analysis, Options},
    capture::{self, Source},
    counters::{self, HostCounters, HostCounts, Prediction, Reading, Setting, Vendor},
    dissect::Address,
};
use serde_json::Value;

const A: usize = 0;
const B: usize = 1;
const NAMES: [&str; 2] = ["A", "B"];

/// All addresses of the two hosts.
fn hosts() -> Vec<Vec<Address>> {
    let addresses =
        [["10.77.0.1", "fd77::1", "fe80::5054:ff:fe77:1"], ["10.77.0.2", "fd77::2", "fe80::5054:ff:fe77:2"]];
    addresses.map(|host| host.map(|address| address.parse().unwrap()).to_vec()).to_vec()
}

fn predict(path: &Path, at: Option<usize>) -> Vec<HostCounters> {
    let mut trace = capture::open(path).unwrap();
    let mut analysis = Analysis::with(Options::default(), HostCounts::default());
    while let Some(record) = trace.next().unwrap() {
        analysis.push(&record);
    }
    let ended = analysis.end();
    let taps = at.iter().map(|&host| hosts()[host][0]).collect();
    let counts = ended.metric().expect("it was given");
    counters::predict(&ended.report(), counts, Vendor::Rxe, &Setting { taps, hosts: hosts() })
}

/// A capture, what the hosts' kernels counted, and the host whose own capture it is.
fn each_capture(mut check: impl FnMut(&str, &Value, Option<usize>, &Path)) {
    for truth in fs::read_dir("pcaps/truth").unwrap() {
        let truth = truth.unwrap().path();
        let scenario = truth.file_stem().unwrap().to_str().unwrap().to_owned();
        let truth: Value = serde_json::from_str(&fs::read_to_string(&truth).unwrap()).unwrap();
        let has_stack = truth["taps"].as_array().unwrap().contains(&"A-stack".into());
        for tap in ["A", "B", "A-stack"] {
            let names = [".pcap.zst", ".pcap"].map(|end| format!("pcaps/{scenario}-{tap}{end}"));
            let Some(path) = names.iter().map(Path::new).find(|path| path.exists()) else { continue };
            let at = match tap {
                "B" => Some(B),
                // Faults on the way to A are behind this tap.
                "A" if has_stack => None,
                _ => Some(A),
            };
            check(&scenario, &truth["kernel_counters"], at, path);
        }
    }
}

fn holds(one: &Prediction, value: u64) -> bool {
    value >= one.least && one.most.is_none_or(|most| value <= most)
}

#[test]
fn bounds_hold_what_kernels_counted_and_are_exact_at_the_hosts() {
    let (mut exact, mut checked) = (0, 0);
    each_capture(|scenario, kernel, at, path| {
        for host in predict(path, at) {
            let which = hosts().iter().position(|addresses| addresses.contains(&host.address)).unwrap();
            for one in &host.counters {
                // The truth leaves out counters that are 0.
                let counted = kernel[NAMES[which]][one.name].as_u64().unwrap_or(0);
                let what = format!("{}: {} counted {counted}: {one:?}", path.display(), host.host);
                assert!(holds(one, counted), "{what}");
                assert!(one.most == Some(one.least) || !one.why.is_empty(), "{what}: no reason");
                assert_eq!(host.is_at_tap, at == Some(which));
                checked += 1;
                if !host.is_at_tap {
                    continue;
                }
                // What only the host knows: the members of a group, buffers of unreliable queue pairs, the order in which it
                // handles a NAK and a retry.
                let is_open = match one.name {
                    "completer_retry_err" | "retry_exceeded_err" | "retry_rnr_exceeded_err" => true,
                    "ack_deferred" | "send_err" | "link_downed" => true,
                    "rcvd_pkts" => scenario == "multicast_ud",
                    "rdma_recvs" => ["uc_clean", "ud_clean", "multicast_ud", "cm_udaddy"].contains(&scenario),
                    "rcvd_seq_err" => scenario.starts_with("reorder"),
                    _ => false,
                };
                assert!(is_open || one.most == Some(one.least), "{what}: not exact");
                exact += !is_open as u32;
            }
        }
    });
    assert!(exact > 300 && checked > 1000, "{exact} of {checked}");
}

#[test]
fn elsewhere_bounds_are_narrow_where_the_protocol_proves_it() {
    let host = |path: &str| predict(Path::new(path), Some(A)).remove(1);
    let find =
        |host: &HostCounters, name| host.counters.iter().find(|one| one.name == name).cloned().unwrap();
    // 25,448 packets to B passed the tap at A, and B acknowledged 12,000 PSNs.
    let received = find(&host("pcaps/loss1_rc_write-A.pcap.zst"), "rcvd_pkts");
    assert_eq!((received.seen, received.most), (25448, Some(25448)));
    assert_eq!(received.least, 12000);
    // Copies that the network made after the tap show by the answers.
    let received = find(&host("pcaps/dup1_rc_write-A.pcap.zst"), "rcvd_pkts");
    assert_eq!((received.seen, received.most), (8000, Some(8075)));
    // Nothing was lost before B's answers: it can have sent no more than one for each request.
    let sent = find(&host("pcaps/rc_write_clean-A.pcap.zst"), "sent_pkts");
    assert_eq!((sent.least, sent.most), (1120, Some(3680)));
}

#[test]
fn readings_come_in_all_forms() {
    let expected = [("sent_pkts", 12), ("rcvd_pkts", 7)];
    let texts = [
        "sent_pkts 12\nrcvd_pkts 7\n",
        "NIC statistics:\n     sent_pkts: 12\n     rcvd_pkts: 7\n",
        "link rxe0/1 sent_pkts 12 rcvd_pkts 7 \n",
        r#"[{"ifname":"rxe0","port":1,"sent_pkts":12,"rcvd_pkts":7}]"#,
        r#"[{"port":1,"sent_pkts":5,"rcvd_pkts":"7"},{"port":2,"sent_pkts":7}]"#,
    ];
    for text in texts {
        let reading = Reading::parse(text).unwrap();
        assert_eq!(expected.map(|(name, _)| (name, reading.get(name).unwrap())), expected, "{text}");
        assert_eq!(reading.vendor(), Some(Vendor::Rxe), "{text}");
    }
    assert!(Reading::parse("[{").is_err());
    assert_eq!(Reading::parse("np_cnp_sent 3\nduplicate_request 0").unwrap().vendor(), Some(Vendor::Mlx5));
}

/// A device has no length, and no end.
#[cfg(target_os = "linux")]
#[test]
fn readings_are_bounded() {
    let error = Reading::open(Path::new("/dev/zero")).unwrap_err();
    assert!(error.to_string().contains("larger than 16 MiB"), "{error}");
}

#[test]
fn every_counter_has_one_meaning_for_each_vendor() {
    for vendor in Vendor::ALL {
        let names = || counters::COUNTERS.iter().filter(|counter| counter.vendor == vendor);
        assert!(names().count() > 2);
        for counter in names() {
            assert_eq!(names().filter(|other| other.name == counter.name).count(), 1, "{counter:?}");
        }
    }
}

#[cfg(feature = "cli")]
mod cli {
    use std::{path::PathBuf, process::Output};

    use super::*;
    use crate::support::programs::cli;

    fn run(arguments: &[&str]) -> Output {
        cli().arg("counters").args(arguments).output().unwrap()
    }

    fn file(name: &str, text: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("rdmawire-counters-{}-{name}", std::process::id()));
        fs::write(&path, text).unwrap();
        path
    }

    /// A tap at an address that the capture has not is a mistake, as it is for `--host`; one of several addresses of a host is none.
    #[test]
    fn a_tap_is_at_a_host() {
        const CAPTURE: &str = "pcaps/loss1_rc_write-B.pcap.zst";
        let status = |more: &[&str]| {
            let output = run(&[&[CAPTURE], more].concat());
            (output.status.code(), String::from_utf8(output.stderr).unwrap())
        };
        for (option, says) in
            [("--tap", "--tap 1.2.3.4: 1.2.3.4 is not among"), ("--host", "1.2.3.4 is not among")]
        {
            let (code, error) = status(&[option, "1.2.3.4"]);
            assert!(code == Some(2) && error.contains(says), "{error}");
        }
        assert_eq!(status(&["--tap", "10.77.0.2", "--host", "10.77.0.1"]).0, Some(0));
        assert_eq!(status(&["--same-host", "10.77.0.2,fe80::1", "--tap", "fe80::1"]).0, Some(0));
    }

    /// Runs the command on a capture of both hosts with the kernels' own counters, changed by `change`.
    fn compare(capture: &str, tap: &str, change: &dyn Fn(&str, &str, u64) -> u64) -> (Option<i32>, Value) {
        let scenario = capture.split('-').next().unwrap();
        let truth = fs::read_to_string(format!("pcaps/truth/{scenario}.json")).unwrap();
        let truth: Value = serde_json::from_str(&truth).unwrap();
        let path = format!("pcaps/{capture}.pcap.zst");
        let mut arguments = vec![path, "--json".into(), "--tap".into(), tap.into()];
        let mut files = Vec::new();
        for (host, address) in [("A", "10.77.0.1"), ("B", "10.77.0.2")] {
            let (mut before, mut after) = (String::new(), String::new());
            // 32-bit counters that wrap.
            let start = (1u64 << 32) - 100;
            for name in ["sent_pkts", "rcvd_pkts", "out_of_seq_request", "rcvd_seq_err", "duplicate_request"]
            {
                let counted = truth["kernel_counters"][host][name].as_u64().unwrap_or(0);
                let end = (start + change(host, name, counted)) % (1 << 32);
                before += &format!("{name} {start}\n");
                after += &format!("{name} {end}\n");
            }
            for (option, text) in [("--before", before), ("--after", after)] {
                let path = file(&format!("{capture}-{host}{option}"), &text);
                arguments.extend([option.into(), format!("{address}={}", path.display())]);
                files.push(path);
            }
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = run(&arguments);
        files.iter().for_each(|path| fs::remove_file(path).unwrap());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), serde_json::from_slice(&output.stdout).expect(&said))
    }

    fn find<'a>(output: &'a Value, host: usize, name: &str) -> &'a Value {
        let counters = output["hosts"][host]["counters"].as_array().unwrap();
        counters.iter().find(|one| one["name"] == name).unwrap()
    }

    #[test]
    fn differences_are_explained() {
        let (status, output) = compare("loss1_both_rc_write-A-stack", "10.77.0.1", &|_, _, counted| counted);
        assert_eq!(status, Some(0), "{output:#}");
        assert_eq!(find(&output, A, "rcvd_pkts")["verdict"], "equal");
        // 119 of the packets that A sent are lost behind A, 13 of those that B sent before A.
        let received = find(&output, B, "rcvd_pkts");
        assert_eq!((&received["verdict"], &received["actual"]), (&"possible".into(), &11206.into()));
        assert!(
            received["explanation"]
                .as_str()
                .unwrap()
                .starts_with("119 fewer: seen at the tap and not counted")
        );
        let sent = find(&output, B, "sent_pkts");
        assert!(
            sent["explanation"].as_str().unwrap().starts_with("13 more: lost between the host and the tap")
        );
    }

    #[test]
    fn a_counter_that_contradicts_the_capture_fails() {
        let capture = "loss1_rc_write-B";
        let (status, output) = compare(capture, "10.77.0.2", &|host, name, counted| {
            counted - if (host, name) == ("B", "rcvd_pkts") { 5 } else { 0 }
        });
        assert_eq!(status, Some(1));
        let received = find(&output, B, "rcvd_pkts");
        assert_eq!(received["verdict"], "contradicts");
        assert!(
            received["explanation"].as_str().unwrap().starts_with("5 fewer: lost in the host"),
            "{received}"
        );
        let (status, _) = compare(capture, "10.77.0.2", &|_, _, counted| counted);
        assert_eq!(status, Some(0));
    }

    /// What is within the bounds fits, and nothing is said of losses that nothing shows.
    #[test]
    fn what_is_predicted_fits() {
        let (status, output) = compare("reorder5_rc_write-A", "10.77.0.1", &|_, _, counted| counted);
        assert_eq!(status, Some(0), "{output:#}");
        let naks = find(&output, A, "rcvd_seq_err");
        let [least, seen, most, actual] =
            ["least", "seen", "most", "actual"].map(|name| naks[name].as_u64().unwrap());
        assert!(least <= actual && actual < seen && seen <= most, "{naks}");
        let text = naks["explanation"].as_str().unwrap();
        assert!(text.starts_with("it fits the prediction: ") && !text.contains("lost in the host"), "{text}");
        for one in
            output["hosts"].as_array().unwrap().iter().flat_map(|host| host["counters"].as_array().unwrap())
        {
            let text = one["explanation"].as_str().unwrap_or_default();
            let is_possible = one["verdict"] == "possible";
            assert!(
                !is_possible || !text.contains("inside the host") && !text.contains("not seen at the tap"),
                "{one}"
            );
        }
    }

    /// A program that does not wait for its last answers destroys its queue pair before they come.
    #[test]
    fn answers_to_a_queue_pair_that_is_gone_are_not_counted() {
        let lacking = |n: u64| {
            compare("rc_send_clean-A", "10.77.0.1", &move |host, name, counted| {
                counted - if (host, name) == ("A", "rcvd_pkts") { n } else { 0 }
            })
        };
        let (status, output) = lacking(0);
        let received = find(&output, A, "rcvd_pkts");
        let trailing = received["trailing"].as_u64().unwrap();
        assert_eq!((status, &received["verdict"]), (Some(0), &"equal".into()));
        assert!((1..500).contains(&trailing), "{trailing} of 1,120 answers");
        let (status, output) = lacking(trailing);
        let received = find(&output, A, "rcvd_pkts");
        assert_eq!((status, &received["verdict"]), (Some(0), &"possible".into()));
        assert!(received["explanation"].as_str().unwrap().contains("it was destroyed"), "{received}");
        let (status, output) = lacking(trailing + 1);
        assert_eq!((status, &find(&output, A, "rcvd_pkts")["verdict"]), (Some(1), &"contradicts".into()));
    }

    #[test]
    fn text_and_errors() {
        let output = run(&["pcaps/rnr_late-A.pcap.zst", "--vendor", "mlx5", "--tap", "10.77.0.1"]);
        let text = String::from_utf8(output.stdout).unwrap();
        let row = |name: &str| text.lines().find(|line| line.contains(name)).unwrap().to_owned();
        assert!(text.contains("10.77.0.1 (mlx5, captured here)"), "{text}");
        assert!(row("rnr_nak_retry_err").contains("178"), "{text}");
        let scratch = crate::support::scratch::Scratch::new("counters-swapped");
        let [low, high] = [("low", "1"), ("high", "9")].map(|(name, value)| {
            let text = format!("rnr_nak_retry_err: {value}\npacket_seq_err: {value}\n");
            std::fs::write(scratch.join(name), text).unwrap();
            format!("10.77.0.1={}", scratch.join(name).display())
        });
        let swapped = ["--vendor", "mlx5", "--before", &high, "--after", &low];
        let output = run(&[&["pcaps/rnr_late-A.pcap.zst"], &swapped[..]].concat());
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("before and after are") && !text.contains("2^32"), "{text}");
        let refused = |arguments: &[&str], error: &str| {
            let output = run(&[&["pcaps/cm_rping-A.pcap"], arguments].concat());
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2));
            assert!(said.contains(error), "{said}");
        };
        refused(&["--host", "10.9.9.9"], "10.9.9.9 is not among the hosts");
        refused(&["--after", "10.77.0.1=pcaps/README.md"], "give both");
        refused(&["--before", "10.77.0.1"], "expected ADDRESS=FILE");
    }
}
