//! Files made to hurt, against the program with 512 MiB of memory: a clear error or a bounded result, in bounded time, with the right
//! exit status.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::support::{
    programs::{RDMAWIRE, cli},
    scratch::Scratch,
};
use rdmawire::{
    analyze::Files,
    craft::{Packet, template},
    opcode::Opcode,
    wire::*,
};

/// Address space, in KiB.
const MEMORY: u32 = 512 << 10;
/// Of a debug build on a busy machine; what takes a second there is much.
const TIME: Duration = Duration::from_secs(120);

/// Run it; its exit status and its errors. What it prints is thrown away.
fn run(args: &[&str]) -> (i32, String) {
    let start = Instant::now();
    let mut child = Command::new("sh")
        .args(["-c", &format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\""), RDMAWIRE])
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut errors = child.stderr.take().unwrap();
    let reader = thread::spawn(move || {
        let mut text = Vec::new();
        let _ = std::io::Read::read_to_end(&mut errors, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > TIME {
            let _ = child.kill();
            panic!("{args:?} does not end");
        }
        thread::sleep(Duration::from_millis(5));
    };
    let text = reader.join().unwrap();
    let code = status.code().unwrap_or_else(|| panic!("{args:?} was killed: {status}, {text}"));
    assert!(matches!(code, 0..=2), "{args:?}: {code}, {text}");
    assert!(!text.contains("panicked") && !text.contains("memory allocation"), "{args:?}: {text}");
    assert!(text.lines().count() <= 102 && text.lines().all(|line| line.len() < 1000), "{args:?}: {text}");
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{args:?}: {text:?}");
    if code == 2 {
        assert!(text.starts_with("rdmawire: "), "{args:?}: {text}");
    }
    (code, text)
}

/// Every command that reads captures; their exit statuses.
fn each(file: &Path) -> [i32; 4] {
    let folder = file.parent().unwrap();
    let (crafted, rewritten) = (folder.join("crafted.pcapng"), folder.join("rewritten.pcapng"));
    let [file, crafted, rewritten] = [file, &crafted, &rewritten].map(|path| path.to_str().unwrap());
    [
        run(&["dissect", file]).0,
        run(&["analyze", file]).0,
        run(&["craft", "--from", file, "-o", crafted, "--force"]).0,
        run(&["rewrite", file, rewritten, "--anonymize", "--force"]).0,
    ]
}

fn pcap_head(link: u32) -> Vec<u8> {
    [0xa1b2_3c4d, 0x0004_0002, 0, 0, 262_144, link].iter().flat_map(|word: &u32| word.to_le_bytes()).collect()
}

fn record(n: u32, frame: &[u8], out: &mut Vec<u8>) {
    let len = frame.len() as u32;
    out.extend([n / 1_000_000, n % 1_000_000 * 1000, len, len].iter().flat_map(|word| word.to_le_bytes()));
    out.extend_from_slice(frame);
}

fn pcap(path: &Path, link: u32, frames: &[Vec<u8>], times: u32) {
    let mut file = pcap_head(link);
    for n in 0..times {
        for frame in frames {
            record(n, frame, &mut file);
        }
    }
    fs::write(path, file).unwrap();
}

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let len = (body.len() as u32 + 12).to_le_bytes();
    [&kind.to_le_bytes(), &len, body, &len].concat()
}

/// A section, and an Ethernet interface.
fn section() -> Vec<u8> {
    let mut head = 0x1a2b_3c4du32.to_le_bytes().to_vec();
    head.extend([1, 0, 0, 0]);
    head.extend([0xff; 8]);
    [block(0x0a0d_0d0a, &head), block(1, &[1, 0, 0, 0, 0, 0, 0, 0])].concat()
}

#[test]
fn bombs() {
    let folder = Scratch::new("bombs");
    let zeros = vec![0; 1 << 20];
    let fill = |to: &mut dyn Write, head: &[u8], mib: usize| {
        to.write_all(head).unwrap();
        (0..mib).for_each(|_| to.write_all(&zeros).unwrap());
    };
    for (name, head, mib) in [("nothing", Vec::new(), 200), ("records", pcap_head(1), 24)] {
        let path = folder.join(format!("{name}.gz"));
        let fast = flate2::Compression::fast();
        let mut gzip = flate2::write::GzEncoder::new(File::create(&path).unwrap(), fast);
        fill(&mut gzip, &head, mib);
        gzip.finish().unwrap();
        let gzip = each(&path);
        let path = folder.join(format!("{name}.zst"));
        let mut zstd = zstd::Encoder::new(File::create(&path).unwrap(), 1).unwrap();
        fill(&mut zstd, &head, mib);
        zstd.finish().unwrap();
        let zstd = each(&path);
        // Records of nothing are frames of no bytes.
        let expected = if head.is_empty() { [2; 4] } else { [0; 4] };
        assert_eq!((gzip, zstd), (expected, expected), "{name}");
    }
    // One frame that says it has four gigabytes, with a window of two.
    let path = folder.join("window.zst");
    fs::write(&path, [0x28, 0xb5, 0x2f, 0xfd, 0x80, 0xa8, 0xff, 0xff, 0xff, 0xff, 1, 0, 0]).unwrap();
    assert_eq!(each(&path), [2; 4]);
}

/// Compressed twice, in members without end, in frames to be skipped, with a name without end, and with a checksum that is not its own.
#[test]
fn compressed_in_odd_ways() {
    let folder = Scratch::new("compressed");
    let gzip = |bytes: &[u8]| {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        gzip.write_all(bytes).unwrap();
        gzip.finish().unwrap()
    };
    let skipped = [0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0];
    let head = [0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3];
    let cases = [
        ("twice.gz", gzip(&gzip(&pcap_head(1)))),
        ("thrice.gz", gzip(&gzip(&gzip(&vec![0; 64 << 20])))),
        ("members.gz", gzip(&[]).repeat(100_000)),
        ("name.gz", [&head[..], &vec![b'a'; 8 << 20]].concat()),
        ("frames.zst", zstd::encode_all(&[][..], 1).unwrap().repeat(100_000)),
        ("skipped.zst", skipped.repeat(500_000)),
        // It says four gigabytes are to be skipped; it says it holds 2^60 bytes in one segment.
        ("skip.zst", [&[0x50, 0x2a, 0x4d, 0x18, 0xf0, 0xff, 0xff, 0xff][..], &[0; 100]].concat()),
        (
            "segment.zst",
            [&[0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0x10, 2, 0, 0][..], &[0; 50]].concat(),
        ),
    ];
    for (name, bytes) in cases {
        let path = folder.join(name);
        fs::write(&path, bytes).unwrap();
        assert_eq!(each(&path), [2; 4], "{name}");
    }
    let mut frames = pcap_head(1);
    (0..1000).for_each(|n| record(n, &[0; 60], &mut frames));
    let mut bytes = gzip(&frames);
    let end = bytes.len();
    bytes[end - 8..end - 4].fill(0);
    let path = folder.join("checksum.pcap.gz");
    fs::write(&path, bytes).unwrap();
    assert_eq!(each(&path), [0, 0, 2, 2], "what came before the checksum is delivered");
}

#[test]
fn blocks_that_lie() {
    let folder = Scratch::new("pcapng");
    let frame = |captured: u32, body: &[u8]| {
        let words =
            [0u32, 0, 0, captured, captured].iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
        block(6, &[&words, body].concat())
    };
    let mut huge = section();
    huge.extend([6, 0, 0, 0, 0xf0, 0xff, 0xff, 0xff]);
    huge.extend([0; 100]);
    let mut name = block(
        1,
        &[&[1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 12, 0][..], b"\x1b[31m\x07\xc2\x9bab\n", &[0; 4]].concat(),
    );
    name.extend(frame(60, &[0; 60]));
    let cases = [
        ("huge", huge),
        ("captured", [section(), frame(u32::MAX, &[0; 40])].concat()),
        ("nested", section().repeat(50_000)),
        ("interfaces", [section(), block(1, &[1, 0, 0, 0, 0, 0, 0, 0]).repeat(300_000)].concat()),
        ("nothing", [section(), [6, 0, 0, 0, 0, 0, 0, 0].repeat(100_000)].concat()),
        ("name", [section(), name].concat()),
        (
            "options without end",
            [
                section(),
                block(1, &[&[1, 0, 0, 0, 0, 0, 0, 0][..], &[0x77, 0x77, 0, 0].repeat(400_000)].concat()),
            ]
            .concat(),
        ),
        ("packets of nothing", [section(), frame(0, &[]).repeat(100_000)].concat()),
        (
            "no interface",
            [block(0x0a0d_0d0a, &section()[8..24]), frame(60, &[0; 60]).repeat(50_000)].concat(),
        ),
        // Options that are longer than their block, and a block in a block.
        ("options", [section(), block(1, &[1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0xff, 0xff])].concat()),
        ("inside", [section(), block(6, &section().repeat(1000))].concat()),
    ];
    for (name, bytes) in cases {
        let path = folder.join(format!("{name}.pcapng"));
        fs::write(&path, bytes).unwrap();
        let [_, _, craft, rewrite] = each(&path);
        assert_eq!(craft, rewrite, "{name}: damage is said alike");
        if matches!(name, "huge" | "captured" | "interfaces" | "nothing") {
            assert_eq!(craft, 2, "{name}");
        }
    }
}

#[test]
fn headers_without_end() {
    let folder = Scratch::new("headers");
    // ERF records in a pcap file, which says that they are: nothing but extension headers.
    let mut erf = Erf::default()
        .with_extension(true)
        .with_record_type(ErfType(21))
        .with_record_len(65_535)
        .bytes()
        .to_vec();
    erf.resize(60_000, 0x80);
    pcap(&folder.join("erf.pcap"), 197, &[erf], 200);
    assert_eq!(each(&folder.join("erf.pcap"))[..2], [0, 0]);

    // And in a file of their own, whole records and such as end before their headers do.
    let erf = |record_len: u16, body: usize| {
        let head =
            Erf::default().with_extension(true).with_record_type(ErfType(21)).with_record_len(record_len);
        let mut erf = head.with_wire_len(65_535).bytes().to_vec();
        erf[..8].copy_from_slice(&(0x5f00_0000u64 << 32).to_le_bytes());
        erf.resize(16 + body, 0x80);
        erf
    };
    for (name, record) in [("whole.erf", erf(65_528, 65_512)), ("short.erf", erf(40, 24))] {
        fs::write(folder.join(name), record.repeat(300)).unwrap();
        assert_eq!(each(&folder.join(name)), [0, 0, 2, 2], "{name}: damage is said");
    }

    let vlans = |n: usize| [vec![0; 12], [0x81, 0, 0, 1].repeat(n), vec![0; 60]].concat();
    let ip_in_ip = |n: usize| {
        let ip = |inner: Vec<u8>| {
            let mut ip = template(Kind::Ipv4);
            ip[2..4].copy_from_slice(&(20 + inner.len() as u16).to_be_bytes());
            ip[9] = 4;
            [ip, inner].concat()
        };
        [vec![0; 12], vec![8, 0], (0..n).fold(Vec::new(), |inner, _| ip(inner))].concat()
    };
    let vxlan = |n: usize| {
        let inner = Packet::rocev2(std::net::Ipv4Addr::LOCALHOST, std::net::Ipv4Addr::LOCALHOST)
            .push(Bth::default().with_opcode(Opcode::RC_SEND_ONLY));
        let mut packet = Packet::ethernet();
        for kind in (0..n).flat_map(|_| [Kind::Ipv4, Kind::Udp, Kind::Vxlan, Kind::Ethernet]) {
            packet = packet.push_bytes(kind, template(kind));
        }
        let inner = inner
            .parts()
            .iter()
            .skip(1)
            .map(|part| (part.kind, inner.bytes_of(part).to_vec()))
            .collect::<Vec<_>>();
        inner.iter().fold(packet, |packet, (kind, bytes)| packet.push_bytes(*kind, bytes)).build().to_vec()
    };
    let mpls = [vec![0; 12], vec![0x88, 0x47], [0, 0, 0x10, 64].repeat(10_000)].concat();
    let extensions = [
        vec![0; 12],
        vec![0x86, 0xdd, 0x60, 0, 0, 0, 0xff, 0, 60, 64],
        vec![0; 32],
        [60, 0, 0, 0, 0, 0, 0, 0].repeat(8000),
    ]
    .concat();
    // An Ethernet frame in GENEVE with all the options there can be, in one that has as many, and so on.
    let geneve = |n: usize| {
        let udp = |inner: Vec<u8>| {
            let mut udp = template(Kind::Udp);
            udp[2..4].copy_from_slice(&6081u16.to_be_bytes());
            udp[4..6].copy_from_slice(&((8 + inner.len()) as u16).to_be_bytes());
            [udp, inner].concat()
        };
        let ip = |inner: Vec<u8>| {
            let mut ip = template(Kind::Ipv4);
            ip[2..4].copy_from_slice(&((20 + inner.len()) as u16).to_be_bytes());
            [vec![0; 12], vec![8, 0], ip, inner].concat()
        };
        let options = [63, 0, 0x65, 0x58, 0, 0, 7, 0].into_iter().chain([1, 2, 0x80, 0].repeat(63));
        (0..n).fold(vec![0; 60], |inner, _| ip(udp(options.clone().chain(inner).collect())))
    };
    let frames = [
        vlans(64),
        vlans(15_000),
        ip_in_ip(5),
        ip_in_ip(3000),
        vxlan(5),
        vxlan(200),
        geneve(5),
        geneve(200),
        mpls,
        extensions,
    ];
    pcap(&folder.join("deep.pcap"), 1, &frames, 100);
    assert_eq!(each(&folder.join("deep.pcap")), [0; 4]);
    assert_eq!(run(&["dissect", "--json", folder.join("deep.pcap").to_str().unwrap()]).0, 0);
    assert_eq!(run(&["dissect", "-V", folder.join("deep.pcap").to_str().unwrap()]).0, 0);
}

/// More flows than are kept, each a packet of its own: the memory is that of those that are kept.
#[test]
fn forged_queue_pairs() {
    let folder = Scratch::new("queue-pairs");
    let path = folder.join("forged.pcap");
    let mut file = BufWriter::new(File::create(&path).unwrap());
    file.write_all(&pcap_head(1)).unwrap();
    let packet = Packet::rocev2(std::net::Ipv4Addr::new(10, 0, 0, 1), std::net::Ipv4Addr::new(10, 0, 0, 2))
        .push(Bth::default().with_opcode(Opcode::RC_SEND_ONLY))
        .payload(vec![0; 16])
        .build();
    let (at, mut frame, mut records) = (14 + 20 + 8, packet.to_vec(), Vec::new());
    for qp in 0..1u32 << 20 {
        frame[at + 5..at + 8].copy_from_slice(&qp.to_be_bytes()[1..]);
        records.clear();
        record(qp, &frame, &mut records);
        file.write_all(&records).unwrap();
    }
    file.into_inner().unwrap();
    // Their ICRCs are those of the first: what a forger does not mind either.
    for more in [
        &["--icrc", "off"][..],
        &["--icrc", "off", "--json"],
        &["--icrc", "off", "--max-flows", "18446744073709551615"],
        &[],
    ] {
        let args = [&["analyze", path.to_str().unwrap()][..], more].concat();
        assert_eq!(run(&args).0, 0, "{more:?}");
    }
    fs::remove_file(&path).unwrap();
}

/// Queue pairs and times of day as a forger likes: each of its intervals, and each report on the way, is bounded as the last one is.
#[test]
fn forged_times() {
    let folder = Scratch::new("times");
    let path = folder.join("forged.pcap");
    let packet = Packet::rocev2(std::net::Ipv4Addr::new(10, 0, 0, 1), std::net::Ipv4Addr::new(10, 0, 0, 2))
        .push(Bth::default().with_opcode(Opcode::RC_SEND_ONLY))
        .payload(vec![0; 16])
        .build();
    let (mut frame, mut file) = (packet.to_vec(), pcap_head(1));
    for n in 0..1u32 << 17 {
        // Multiplied by odd numbers: all over, and the same every time.
        let (qp, time) = (n.wrapping_mul(0x9e37_79b1), n.wrapping_mul(0x85eb_ca6b));
        frame[47..50].copy_from_slice(&qp.to_be_bytes()[1..]);
        record(0, &frame, &mut file);
        let at = file.len() - frame.len() - 16;
        file[at..at + 4].copy_from_slice(&time.to_le_bytes());
    }
    fs::write(&path, file).unwrap();
    let path = path.to_str().unwrap();
    for more in [
        &["--interval", "1ns", "--json"][..],
        &["--interval", "1us", "--max-flows", "1"],
        &["--interval", "60s"],
        &["--merge", "--threads", "2", path],
        &["--threads", "2", path],
        &["--threads", "8", path, path, path, path, path, path, path],
        &["--every", "1s", "--max-flows", "1000"],
        &["--top", "18446744073709551615", "--sort", "latency"],
    ] {
        let args = [&["analyze", "--icrc", "off", path][..], more].concat();
        let code = run(&args).0;
        assert!(matches!(code, 0 | 2), "{more:?}: {code}");
    }
}

/// Three packets of each, with PSNs far apart: what is outstanding between them is only said.
#[test]
fn forged_psns() {
    let folder = Scratch::new("psns");
    let path = folder.join("forged.pcap");
    let packet = |psn: u32| {
        let bth = Bth::default().with_opcode(Opcode::RC_SEND_ONLY).with_psn(Psn(psn));
        Packet::rocev2(std::net::Ipv4Addr::new(10, 0, 0, 1), std::net::Ipv4Addr::new(10, 0, 0, 2))
            .push(bth)
            .payload(vec![0; 16])
            .build()
            .to_vec()
    };
    let (mut frames, mut file) = ([0, 8190, 16_000].map(packet), pcap_head(1));
    for qp in 0..1u32 << 15 {
        for frame in &mut frames {
            frame[47..50].copy_from_slice(&qp.to_be_bytes()[1..]);
            record(qp, frame, &mut file);
        }
    }
    fs::write(&path, file).unwrap();
    assert_eq!(run(&["analyze", "--icrc", "off", path.to_str().unwrap()]).0, 0);
}

#[test]
fn text_without_end() {
    let folder = Scratch::new("text");
    let capture = folder.join("one.pcap");
    pcap(&capture, 1, &[vec![0; 60]], 1);
    let capture = capture.to_str().unwrap();
    for expression in [
        "(".repeat(60_000),
        "!".repeat(60_000),
        "bth.psn==1||".repeat(9000),
        format!("bth.psn in {{{}1}}", "1,".repeat(40_000)),
    ] {
        let (code, text) = run(&["dissect", "--filter", &expression, capture]);
        assert_eq!(code, 2, "{text}");
        assert!(text.len() < 4000);
    }
    let toml = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        run(&["craft", path.to_str().unwrap(), "-o", folder.join("out.pcap").to_str().unwrap()]).0
    };
    assert_eq!(toml("deep.toml", &format!("a = {}", "[".repeat(100_000))), 2);
    assert_eq!(toml("tables.toml", &"[a.b.c.d]\n".repeat(100_000)), 2);
    assert_eq!(toml("dots.toml", &format!("{}x = 1", "a.".repeat(100_000))), 2);
    assert_eq!(
        toml(
            "many.toml",
            "[[connection]]\ncopies = 4294967295\noperations = [{ op = \"write\", size = \"1GiB\", count = 18446744073709551615 }]"
        ),
        2
    );
    assert!(!folder.join("out.pcap").exists(), "nothing, or whole");
    // Recipes: many headers, and payloads beyond belief.
    assert!(run(&["craft", &"eth / ".repeat(15_000), "--hex"]).0 != 1);
    assert_eq!(run(&["craft", "eth / payload zeros:999999999999"]).0, 2);
    assert_eq!(run(&["craft", &format!("eth {}", "x=".repeat(50_000))]).0, 2);
}

/// A file that becomes shorter while it is read has an end, as any other.
#[test]
fn a_file_that_shrinks() {
    let folder = Scratch::new("shrinks");
    let path = folder.join("shrinks.pcap");
    let frame = vec![0; 1400];
    pcap(&path, 1, &[frame], 60_000);
    let name = path.to_str().unwrap().to_owned();
    let shrink = thread::spawn({
        let path = path.clone();
        move || {
            thread::sleep(Duration::from_millis(60));
            File::options().write(true).open(path).unwrap().set_len(1 << 20).unwrap();
        }
    });
    let (code, text) = run(&["analyze", &name]);
    shrink.join().unwrap();
    assert!(matches!(code, 0 | 2), "{code} {text}");
    assert!(matches!(run(&["dissect", &name]).0, 0 | 2));
}

/// Nothing is written over, and what is written is whole.
#[test]
fn files_that_are_there_stay() {
    let folder = Scratch::new("stay");
    let capture = folder.join("in.pcap");
    pcap(&capture, 1, &[vec![0; 60]], 3);
    let there = folder.join("there.pcap");
    fs::write(&there, "mine").unwrap();
    let scenario = folder.join("s.toml");
    fs::write(&scenario, "[[connection]]\noperations = [{ op = \"send\", size = 10, count = 1 }]\n").unwrap();
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let (input, output, scenario) = (path(&capture), path(&there), path(&scenario));
    for args in [
        vec!["craft", "--from", &input, "-o", &output],
        vec!["craft", "eth / payload 'x'", "-o", &output],
        vec!["rewrite", &input, &output],
        vec!["craft", &scenario, "-o", &output],
        vec!["craft", &scenario, "--expect", &output],
    ] {
        let (code, text) = run(&args);
        assert_eq!((code, fs::read(&there).unwrap()), (2, b"mine".to_vec()), "{args:?} {text}");
        let (code, text) = run(&[&args[..], &["--force"]].concat());
        assert_eq!(code, 0, "{args:?} {text}");
        assert_ne!(fs::read(&there).unwrap(), b"mine");
        fs::write(&there, "mine").unwrap();
    }
    // No temporary file is left.
    assert_eq!(fs::read_dir(&*folder).unwrap().count(), 3);
}

/// Names of files, what stands in files, and arguments: no output and no error steers the terminal that shows it.
#[test]
fn nothing_steers_the_terminal() {
    const STEER: &str = "\u{1b}[31m\u{7}\u{9b}2J\r";
    let folder = Scratch::new("terminal");
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.join(format!("{name}{STEER}"));
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let mut frames = pcap_head(1);
    (0..3).for_each(|n| record(n, &[0; 60], &mut frames));
    let whole = file("whole", &frames);
    let damaged = [
        file("cut", &frames[..150]),
        file("noise", STEER.as_bytes()),
        file("gzip", &[&[0x1f, 0x8b, 8, 0, 0, 0][..], STEER.as_bytes()].concat()),
        folder.join(format!("nowhere{STEER}")).to_str().unwrap().to_owned(),
    ];
    let scenario = file("scenario.toml", format!("[[connection]]\n'{STEER}' = 1\n").as_bytes());
    let map = file("map.json", format!("{{{STEER}").as_bytes());
    let (to, field) = (file("there", b"mine"), format!("{STEER}=1"));
    let mut all = vec![
        vec!["dissect", &whole, &whole],
        vec!["dissect", "-f", STEER, &whole],
        vec!["dissect", "--fields", STEER, &whole],
        vec![STEER],
        vec!["dissect", "--icrc", STEER, &whole],
        vec!["analyze", "--qp-map", &map, &whole],
        vec!["analyze", "--flow", STEER, &whole],
        vec!["rewrite", &whole, &to],
        vec!["rewrite", "--set", &field, &whole, "/dev/null"],
        vec!["craft", "--from", &whole, "-o", &to],
        vec!["craft", &scenario, "-o", &to],
        vec!["craft", STEER],
        vec!["craft", "--set", &field, "eth"],
        vec!["explain", STEER],
        vec!["overhead", "--op", STEER],
        vec!["fuzz-corpus", "-o", &to],
    ];
    for path in [&whole].into_iter().chain(&damaged) {
        all.extend([
            vec!["dissect", path],
            vec!["dissect", "--json", path],
            vec!["analyze", path],
            vec!["analyze", "--json", path],
            vec!["analyze", "--merge", "--json", path, &whole],
            vec!["craft", "--from", path, "--recipes"],
            vec!["fuzz-corpus", "-o", &to, "--from", path],
        ]);
    }
    for args in all {
        let out = cli().args(&args).output().unwrap();
        for text in [&out.stdout, &out.stderr].map(|bytes| String::from_utf8_lossy(bytes)) {
            assert!(!text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "{args:?}: {text:?}");
        }
    }
    assert_eq!(fs::read(&to).unwrap(), b"mine");
}

/// The name of an interface, and what a file is called, reach every renderer: text, pages, pictures, tables, gates.
#[test]
fn no_renderer_steers_the_terminal() {
    let folder = Scratch::new("renderers");
    let steer = "\u{1b}]0;x\u{7}\u{9b}2J\r<b>&";
    let interface = [
        &[1, 0, 0, 0, 0, 0, 0, 0, 2, 0, steer.len() as u8, 0][..],
        steer.as_bytes(),
        &vec![0; steer.len().next_multiple_of(4) - steer.len()],
        &[0; 4],
    ];
    let mut pause =
        b"\x01\x80\xc2\0\0\x01\x02\0\0\0\0\x01\x88\x08\x01\x01\0\x08\0\0\0\0\0\0\xff\xff".to_vec();
    pause.resize(60, 0);
    let mut file = section()[..28].to_vec();
    file.extend(block(1, &interface.concat()));
    for n in 1..9u32 {
        let words = [0, 0, n, 60, 60].iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
        file.extend(block(6, &[&words, &pause[..]].concat()));
    }
    // And something of RDMA, for what shows flows only.
    let merged = folder.join("merged.pcapng");
    let named = folder.join(format!("{}.pcapng", steer.replace('/', "")));
    fs::write(&named, file).unwrap();
    let (named, merged) = (named.to_str().unwrap(), merged.to_str().unwrap());
    let of = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let real = "pcaps/loss1_rc_write-B-300.pcap";
    let out = |args: &[&str]| cli().args(args).output().unwrap();
    assert!(out(&["rewrite", named, merged]).status.success());
    let (html, svg, csv, ndjson) = (of("r.html"), of("p.svg"), of("csv"), of("ndjson"));
    let (sarif, junit, noted) = (of("s.sarif"), of("j.xml"), of("a.pcapng"));
    let both = [named, merged];
    for path in both {
        let rule = "pause.frames == 0";
        for (args, code) in [
            (vec!["analyze", path], 0),
            (vec!["analyze", "--merge", path, real], 0),
            (vec!["analyze", "--json", path], 0),
            (vec!["analyze", "--html", &html, path, real], 0),
            (vec!["analyze", "--csv", &csv, path], 0),
            (vec!["analyze", "--ndjson", &ndjson, path], 0),
            (vec!["check", path, rule, "--sarif", &sarif, "--junit", &junit], 1),
            (vec!["check", "--json", path, rule], 1),
            (vec!["check", "--github", path, rule], 1),
            (vec!["counters", path], 0),
            (vec!["plot", "pause", path], 0),
            (vec!["plot", "pause", path, "-o", &svg], 0),
            (vec!["diff", path, path], 0),
            (vec!["annotate", path, &noted], 0),
            (vec!["dissect", "-V", path], 0),
            (vec!["packets", path], 0),
        ] {
            let done = out(&args);
            let texts = [&done.stdout, &done.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            let is_steered =
                |text: &str| text.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t'));
            for text in &texts {
                assert!(!is_steered(text), "{args:?}: {text:?}");
            }
            assert_eq!(done.status.code(), Some(code), "{args:?}: {texts:?}");
            let mut files = vec![];
            for name in [&html, &svg, &sarif, &junit] {
                files.extend(fs::read_to_string(name));
            }
            for directory in [&csv, &ndjson] {
                let entries = fs::read_dir(directory).into_iter().flatten();
                files.extend(entries.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()));
                let _ = fs::remove_dir_all(directory);
            }
            let one = |name: &String| fs::remove_file(name).is_ok();
            let written = [&html, &svg, &sarif, &junit, &noted].into_iter().filter(|name| one(name)).count();
            assert!(written + files.len() > 0 || !args.contains(&html.as_str()), "{args:?}");
            for text in files {
                assert!(!is_steered(&text), "{args:?}");
                assert!(!text.starts_with('<') || !text.contains("<b>&"), "{args:?}: not escaped");
            }
        }
    }
}

#[test]
fn a_damaged_capture_is_read_as_far_as_it_goes() {
    let scratch = Scratch::new("hostile-cut");
    let whole = fs::read("pcaps/loss1_rc_write-B-300.pcap").unwrap();
    let (cut, sound) = (scratch.join("cut.pcap"), scratch.join("sound.pcap"));
    fs::write(&cut, &whole[..12_345]).unwrap();
    fs::write(&sound, &whole).unwrap();
    let path = |name: &str| scratch.join(name).to_str().unwrap().to_owned();
    let (svg, noted, copy) = (path("x.svg"), path("noted.pcapng"), path("copy.pcapng"));
    let [cut, sound] = [&cut, &sound].map(|path| path.to_str().unwrap());
    for (args, code) in [
        (vec!["analyze", cut], 0),
        (vec!["analyze", "--merge", cut, sound], 0),
        (vec!["dissect", cut], 0),
        (vec!["packets", cut], 0),
        (vec!["packets", "--messages", cut], 0),
        (vec!["diff", cut, cut], 0),
        (vec!["check", "--unknown", "pass", cut, "retransmits == 0"], 0),
        (vec!["counters", cut], 0),
        (vec!["plot", "rate", cut, "-o", &svg], 0),
        (vec!["annotate", cut, &noted], 0),
        (vec!["rewrite", cut, &copy, "--force"], 2),
        (vec!["craft", "--from", cut, "-o", &copy, "--force"], 2),
    ] {
        let (status, said) = run(&args);
        assert_eq!(status, code, "{args:?}: {said}");
        let told =
            said.lines().filter(|line| line.contains("cut.pcap") && line.contains("after frame 13")).count();
        assert!(told >= 1, "{args:?}: {said}");
    }
    let packets = cli().args(["packets", cut]).output().unwrap();
    assert_eq!(
        packets.stdout.iter().filter(|byte| **byte == b'\n').count(),
        1 + 13,
        "a head and what is there"
    );
}

#[test]
fn counts_of_drops_near_the_largest_number_saturate() {
    let of = |drops| Files { drops, ..Files::default() };
    let mut files = of(None);
    [None, Some(u64::MAX - 1), Some(7), None].into_iter().for_each(|drops| files.add(of(drops)));
    assert_eq!(files.drops, Some(u64::MAX));
}
