//! Sending and capturing between two network namespaces, made and removed here. Where the machine does not allow that, each test
//! is skipped.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Output, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use crate::support::programs::{RDMAWIRE, cli, skip};
use rdmawire::capture::{self, Source};

/// The longest that one command may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Two namespaces and the cable between them: `wire0` in the one, `wire1` in the other.
struct Cable {
    names: [String; 2],
    scratch: PathBuf,
}

impl Cable {
    /// `None` where this machine has no network namespaces.
    fn new() -> Option<Cable> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let id = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let names = ["a", "b"].map(|end| format!("rdmawire-{end}-{id}"));
        let scratch = std::env::temp_dir().join(format!("rdmawire-live-{id}"));
        let cable = Cable { names, scratch };
        match cable.lay() {
            Ok(()) => Some(cable),
            Err(why) => {
                skip("namespaces", why);
                None
            }
        }
    }

    fn lay(&self) -> Result<(), String> {
        fs::create_dir_all(&self.scratch).map_err(|error| error.to_string())?;
        let [a, b] = &self.names;
        ip(&format!("netns add {a}"))?;
        ip(&format!("netns add {b}"))?;
        ip(&format!("-n {a} link add wire0 type veth peer name wire1 netns {b}"))?;
        for (space, end) in [(a, "wire0"), (b, "wire1")] {
            // Without IPv6, so that nothing but the test speaks.
            let quiet = format!("net.ipv6.conf.{end}.disable_ipv6=1");
            run(Command::new("ip").args(["netns", "exec", space, "sysctl", "-qw", &quiet]))?;
            ip(&format!("-n {space} link set {end} mtu 9000 up"))?;
        }
        Ok(())
    }

    /// The program in one of the namespaces.
    fn rdmawire(&self, end: usize, arguments: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[end], RDMAWIRE]).args(arguments);
        command
    }

    /// A capture that has begun.
    fn capture(&self, arguments: &[&str]) -> Capturing {
        let mut command = self.rdmawire(1, &["capture", "-i", "wire1"]);
        let mut child =
            command.args(arguments).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        errors.read_line(&mut line).unwrap();
        assert!(line.contains("capturing on wire1"), "{line}");
        Capturing { child, errors }
    }

    fn at(&self, name: &str) -> String {
        self.scratch.join(name).display().to_string()
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = ip(&format!("netns del {name}"));
        }
        let _ = fs::remove_dir_all(&self.scratch);
    }
}

struct Capturing {
    child: Child,
    errors: BufReader<ChildStderr>,
}

impl Capturing {
    fn interrupt(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    }

    /// Waits for its end; what it said.
    fn end(mut self) -> String {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if began.elapsed() > LIMIT {
                let _ = self.child.kill();
                panic!("the capture did not end");
            }
            thread::sleep(Duration::from_millis(10));
        };
        let mut said = String::new();
        self.errors.read_to_string(&mut said).unwrap();
        assert!(status.success(), "{said}");
        said
    }
}

impl Drop for Capturing {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ip(arguments: &str) -> Result<(), String> {
    run(Command::new("ip").args(arguments.split_whitespace()))
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn shipped(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("pcaps").join(name).display().to_string()
}

fn frames(path: &str) -> Vec<(i64, Vec<u8>)> {
    let mut reader = capture::open(path.as_ref()).unwrap();
    let mut frames = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        assert_eq!(record.frame.len() as u32, record.wire_len);
        frames.push((record.time.0, record.frame.to_vec()));
    }
    assert_eq!(reader.info().problem_count, 0, "{path} is whole");
    frames
}

fn bytes(frames: &[(i64, Vec<u8>)]) -> Vec<&[u8]> {
    frames.iter().map(|(_, frame)| &frame[..]).collect()
}

#[test]
fn what_is_sent_arrives_byte_for_byte_and_in_order() {
    let Some(cable) = Cable::new() else { return };
    let file = shipped("loss1_rc_write-B-300.pcap");
    let sent = frames(&file);
    for (name, format) in [("x.pcapng", "pcapng"), ("x.pcap", "pcap"), ("x.pcapng.zst", "compressed")] {
        let output = cable.at(name);
        let count = sent.len().to_string();
        let capturing = cable.capture(&["-o", &output, "-c", &count, "--duration", "30s"]);
        let sending = cable.rdmawire(0, &["send", "-i", "wire0", "--pps", "20000", &file]).output().unwrap();
        assert!(sending.status.success(), "{}", said(&sending));
        let end = capturing.end();
        assert!(end.contains(&format!("{count} frames captured")), "{format}: {end}");
        let got = frames(&output);
        assert_eq!(bytes(&got), bytes(&sent), "{format}");
        assert!(got.is_sorted_by_key(|(time, _)| *time), "{format}");
    }
}

#[test]
fn vlan_tags_stay_in_the_frames() {
    let Some(cable) = Cable::new() else { return };
    let (tagged, output) = (cable.at("tagged.pcap"), cable.at("x.pcapng"));
    let stack =
        "eth / vlan pcp=3 vid=100 / ipv4 dst=10.0.0.2 / udp / bth opcode=rc-send-only psn=7 / payload 64";
    let crafted = cli().args(["craft", stack, "-o", &tagged]).output().unwrap();
    assert!(crafted.status.success(), "{}", said(&crafted));
    let capturing = cable.capture(&["-o", &output, "-c", "1", "-f", "vlan", "--duration", "30s"]);
    let sending = cable.rdmawire(0, &["send", "-i", "wire0", &tagged]).output().unwrap();
    assert!(sending.status.success(), "{}", said(&sending));
    capturing.end();
    let sent = frames(&tagged);
    assert_eq!(&sent[0].1[12..14], [0x81, 0]);
    assert_eq!(bytes(&frames(&output)), bytes(&sent));
}

#[test]
fn frames_leave_as_recorded_or_at_a_rate() {
    let Some(cable) = Cable::new() else { return };
    let (file, output) = (cable.at("spaced.pcap"), cable.at("x.pcapng"));
    let stack = "eth / ipv4 dst=10.0.0.2 / udp / bth opcode=rc-send-only psn=7 / payload 64";
    let craft = ["craft", stack, "-o", &file, "--count", "21", "--interval", "20ms"];
    let crafted = cli().args(craft).output().unwrap();
    assert!(crafted.status.success(), "{}", said(&crafted));
    let sent = frames(&file);
    let recorded = sent.last().unwrap().0 - sent[0].0;
    assert_eq!(recorded, 400_000_000);
    // 21 frames at 100 a second take 200 ms; 1 Mbit/s: 126 bytes and 24 around them are 1.2 ms.
    let wire_ns = (sent[0].1.len() as i64 + 24) * 8 * 1000 * 20;
    for (pace, expected) in
        [(&[][..], recorded), (&["--pps", "100"], 200_000_000), (&["--rate", "1M"], wire_ns)]
    {
        let capturing = cable.capture(&["-o", &output, "--force", "-c", "21", "--duration", "30s"]);
        let arguments = [&["send", "-i", "wire0", &file], pace].concat();
        let sending = cable.rdmawire(0, &arguments).output().unwrap();
        assert!(sending.status.success(), "{}", said(&sending));
        capturing.end();
        let got = frames(&output);
        assert_eq!(bytes(&got), bytes(&sent));
        // Never early; how late depends on who else runs here.
        let took = got.last().unwrap().0 - got[0].0;
        assert!(took >= expected - expected / 10, "{pace:?}: {took} ns instead of {expected}");
        assert!(took <= expected + 2_000_000_000, "{pace:?}: {took} ns instead of {expected}");
    }
}

#[test]
fn the_filter_chooses_and_loop_repeats() {
    let Some(cable) = Cable::new() else { return };
    let file = shipped("loss1_rc_write-B-300.pcap");
    let sent = frames(&file);
    let output = cable.at("x.pcapng");
    // IPv4 and UDP to the port of RoCEv2; the file holds others too.
    let is_roce = |frame: &[u8]| frame[12..14] == [8, 0] && frame[23] == 17 && frame[36..38] == [0x12, 0xb7];
    let (roce, others) = sent.iter().partition::<Vec<_>, _>(|(_, frame)| is_roce(frame));
    assert!(!roce.is_empty() && !others.is_empty());
    for filter in ["udp port 4791", "udp.dst_port == 4791", "not udp port 4791", "udp port 4790"] {
        let wanted = match filter {
            "udp port 4790" => 0,
            _ if filter.starts_with("not") => others.len() * 2,
            _ => roce.len() * 2,
        };
        let count = wanted.max(1).to_string();
        let limit = if wanted == 0 { "2s" } else { "30s" };
        let capturing =
            cable.capture(&["-o", &output, "--force", "-f", filter, "-c", &count, "--duration", limit]);
        let arguments = ["send", "-i", "wire0", "--pps", "20000", "--loop", "2", &file];
        let sending = cable.rdmawire(0, &arguments).output().unwrap();
        assert!(sending.status.success(), "{}", said(&sending));
        capturing.end();
        assert_eq!(frames(&output).len(), wanted, "{filter}");
    }
}

#[test]
fn ctrl_c_leaves_a_whole_file() {
    let Some(cable) = Cable::new() else { return };
    let file = shipped("loss1_rc_write-B-300.pcap");
    for name in ["x.pcapng", "x.pcap.gz"] {
        let output = cable.at(name);
        let capturing = cable.capture(&["-o", &output]);
        let sending = cable.rdmawire(0, &["send", "-i", "wire0", "--topspeed", "--count", "100", &file]);
        let sending = { sending }.output().unwrap();
        assert!(sending.status.success(), "{}", said(&sending));
        thread::sleep(Duration::from_millis(500));
        assert!(!Path::new(&output).exists(), "the name is the whole file's");
        capturing.interrupt();
        let end = capturing.end();
        assert!(end.contains("100 frames captured"), "{end}");
        assert_eq!(bytes(&frames(&output)), bytes(&frames(&file)[..100]));
    }
    // Nothing to capture: the wait ends too.
    let output = cable.at("none.pcapng");
    let capturing = cable.capture(&["-o", &output]);
    capturing.interrupt();
    capturing.end();
    assert!(frames(&output).is_empty());
}

#[test]
fn a_ring_of_files_keeps_the_newest_which_are_one_capture() {
    let Some(cable) = Cable::new() else { return };
    let file = shipped("loss1_rc_write-B-300.pcap");
    let all = frames(&file);
    let count = all.len().to_string();
    let ring = ["-o", &cable.at("ring.pcapng"), "--rotate", "50kB", "--keep", "3", "-c", &count];
    let capturing = cable.capture(&[&ring[..], &["--duration", "30s"]].concat());
    let sending = cable.rdmawire(0, &["send", "-i", "wire0", "--pps", "20000", &file]).output().unwrap();
    assert!(sending.status.success(), "{}", said(&sending));
    let end = capturing.end();
    assert!(end.contains("3 files"), "{end}");
    let mut names: Vec<PathBuf> =
        fs::read_dir(&cable.scratch).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    assert_eq!(names.len(), 3, "{names:?}");
    let kept: Vec<_> = names.iter().flat_map(|name| frames(&name.display().to_string())).collect();
    assert_eq!(bytes(&kept), bytes(&all[all.len() - kept.len()..]));
    let report = cli().args(["analyze", "--json"]).args(&names).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(report["capture"]["parts"][0].as_array().unwrap().len(), 3);
    assert_eq!(report["capture"]["packets"], kept.len());
}

#[test]
fn without_a_file_each_frame_is_a_line() {
    let Some(cable) = Cable::new() else { return };
    let file = shipped("loss1_rc_write-B-300.pcap");
    let mut capturing = cable.capture(&["-c", "3", "--duration", "30s"]);
    let sending =
        cable.rdmawire(0, &["send", "-i", "wire0", "-q", "--pps", "20000", &file]).output().unwrap();
    assert!(sending.status.success(), "{}", said(&sending));
    let mut lines = String::new();
    capturing.child.stdout.take().unwrap().read_to_string(&mut lines).unwrap();
    capturing.end();
    assert_eq!(lines.lines().count(), 3, "{lines}");
    assert!(lines.lines().nth(1).unwrap().contains("RC RDMA WRITE First QP=0x11 PSN=10462383"), "{lines}");
}

#[test]
fn a_capture_can_be_analyzed_at_once() {
    let Some(cable) = Cable::new() else { return };
    let file = shipped("loss1_rc_write-B-300.pcap");
    let count = frames(&file).len().to_string();
    let mut capturing = cable.capture(&["--analyze", "--json", "-c", &count, "--duration", "30s"]);
    let sending = cable.rdmawire(0, &["send", "-i", "wire0", "--pps", "20000", &file]).output().unwrap();
    assert!(sending.status.success(), "{}", said(&sending));
    let mut report = String::new();
    capturing.child.stdout.take().unwrap().read_to_string(&mut report).unwrap();
    capturing.end();
    let live: serde_json::Value = serde_json::from_str(&report).unwrap();
    let read = cli().args(["analyze", "--json", &file]).output().unwrap();
    let read: serde_json::Value = serde_json::from_slice(&read.stdout).unwrap();
    let packets = |report: &serde_json::Value| report["capture"]["packets"].as_u64().unwrap();
    assert_eq!(packets(&live), packets(&read));
    assert_eq!(live["flows"].as_array().unwrap().len(), read["flows"].as_array().unwrap().len());
    assert_eq!(live["capture"]["capture_drops"], 0);
}

#[test]
fn what_cannot_be_sent_is_said_and_the_rest_is_sent() {
    let Some(cable) = Cable::new() else { return };
    ip(&format!("-n {} link set wire0 mtu 600", cable.names[0])).unwrap();
    let file = shipped("loss1_rc_write-B-300.pcap");
    let all = frames(&file);
    let short = all.iter().filter(|(_, frame)| frame.len() <= 614).count();
    assert!(short > 0 && short < all.len());
    let dry = cable.rdmawire(0, &["send", "-i", "wire0", "--dry-run", &file]).output().unwrap();
    let text = said(&dry);
    assert_eq!(dry.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&dry.stdout).contains("to be sent in"),
        "the summary is what was asked for"
    );
    assert!(text.contains(&format!("longer than the MTU: {} frames", all.len() - short)), "{text}");
    assert!(!text.contains("sent 0"), "{text}");
    let sending = cable.rdmawire(0, &["send", "-i", "wire0", "--topspeed", &file]).output().unwrap();
    let text = said(&sending);
    assert_eq!(sending.status.code(), Some(2));
    assert!(text.contains(&format!("sent {short} frames")), "{text}");
}

#[test]
fn without_the_privilege_one_line_says_what_it_takes() {
    let file = shipped("loss1_rc_write-B-300.pcap");
    let probe = Command::new("setpriv").args(["--bounding-set=-all", "--inh-caps=-all", "true"]).output();
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
    let is_droppable = probe.is_ok_and(|probe| probe.status.success());
    if is_root && !is_droppable {
        return skip("setpriv", "it cannot drop capabilities here");
    }
    for arguments in [
        &["send", "-i", "lo", &file][..],
        &["capture", "-i", "lo", "-o", "/nowhere/x.pcap", "--duration", "1s"],
    ] {
        let mut command = if is_root {
            let mut command = Command::new("setpriv");
            command.args(["--bounding-set=-all", "--inh-caps=-all", RDMAWIRE]);
            command
        } else {
            cli()
        };
        let output = command.args(arguments).output().unwrap();
        let text = said(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.contains("CAP_NET_RAW") && text.contains("setcap cap_net_raw+ep"), "{text}");
    }
}

#[test]
fn interfaces_are_listed_to_anybody() {
    let output = cli().args(["interfaces", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let loopback = all.as_array().unwrap().iter().find(|interface| interface["loopback"] == true);
    assert_eq!(loopback.unwrap()["name"], "lo");
    let nowhere = cli().args(["capture", "-i", "nowhere", "-o", "x.pcap"]).output().unwrap();
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(
        said(&nowhere).contains("nowhere: no such network interface; there are lo"),
        "{}",
        said(&nowhere)
    );
}

/// As Wireshark captures: frames come through a named pipe while they are captured, with the comments that the whole file would get.
#[test]
fn wireshark_gets_annotated_frames_while_they_come() {
    let Some(cable) = Cable::new() else { return };
    let file = shipped("loss1_rc_write-B-300.pcap");
    let (pipe, plain, whole) = (cable.at("pipe"), cable.at("plain.pcap"), cable.at("whole.pcapng"));
    run(Command::new("mkfifo").arg(&pipe)).unwrap();
    let mut capturing = cable
        .rdmawire(1, &["--capture", "--extcap-interface", "rdmawire-wire1", "--fifo", &pipe])
        .spawn()
        .unwrap();
    let (sender, first) = std::sync::mpsc::channel();
    let reading = thread::spawn({
        let pipe = pipe.clone();
        move || {
            let file = fs::File::open(pipe).unwrap();
            let mut reader = capture::Reader::from_read(file, "pipe").unwrap();
            let mut got = Vec::new();
            let mut sender = Some(sender);
            while let Some(record) = reader.next().unwrap() {
                let frame = (record.time.0, record.frame.to_vec());
                got.push((frame, reader.comments().map(|comment| comment.into_owned()).collect::<Vec<_>>()));
                sender.take().into_iter().for_each(|sender| sender.send(()).unwrap());
            }
            got
        }
    });
    // The program opens the pipe before the interface is captured.
    thread::sleep(Duration::from_millis(500));
    let output = cable.rdmawire(0, &["send", "-i", "wire0", &file]).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    first.recv_timeout(LIMIT).expect("frames come before the end");
    thread::sleep(Duration::from_secs(1));
    // As Wireshark ends it.
    run(Command::new("kill").args(["-TERM", &capturing.id().to_string()])).unwrap();
    let got = reading.join().unwrap();
    assert!(capturing.wait().unwrap().success());
    let received: Vec<_> = got.iter().map(|(frame, _)| frame.clone()).collect();
    assert_eq!(bytes(&received), bytes(&frames(&file)));

    let mut sink = capture::create(plain.as_ref(), capture::Format::Pcap, &[], Default::default()).unwrap();
    for (time, frame) in &received {
        let (link, wire_len) = (rdmawire::dissect::Link::ETHERNET, frame.len() as u32);
        let record = capture::Record { time: capture::Time(*time), link, interface: 0, wire_len, frame };
        capture::Sink::put(&mut sink, &record).unwrap();
    }
    capture::Sink::finish(&mut sink).unwrap();
    run(cli().args(["annotate", &plain, &whole])).unwrap();
    let mut reader = capture::open(whole.as_ref()).unwrap();
    let class = |comment: &str| comment.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut commented = 0;
    for (n, (_, live)) in got.iter().enumerate() {
        reader.next().unwrap();
        let expected: Vec<_> = reader.comments().map(|comment| class(&comment)).collect();
        assert_eq!(
            live.iter().map(|comment| class(comment)).collect::<Vec<_>>(),
            expected,
            "frame {}",
            n + 1
        );
        commented += expected.len();
    }
    assert!(commented > 80, "{commented}");
}
