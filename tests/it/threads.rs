//! The report of one capture depends neither on how many threads work on it, nor on how it comes.

use std::{fs, io::Write, path::Path, process::Stdio, thread};

use crate::{
    properties::Random,
    support::{mutants, programs::cli, scratch::Scratch},
};

#[path = "../bench/traffic.rs"]
#[allow(dead_code, reason = "the benches use the rest")]
mod traffic;
use traffic::{Mix, Traffic};

fn report(path: &Path, args: &[&str]) -> Vec<u8> {
    let output = cli().args(["analyze", "--json"]).args(args).arg(path).output().expect("the program runs");
    assert!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn same(path: &Path, more: &[&str]) {
    let of = |threads| report(path, &[more, &["--threads", threads]].concat());
    let one = of("1");
    assert!(one.len() > 1000);
    for threads in ["2", "3", "8"] {
        assert!(of(threads) == one, "{} with {threads} threads {more:?}", path.display());
    }
}

#[test]
fn one_file_has_one_report() {
    let path = std::env::temp_dir().join(format!("rdmawire-threads-{}.pcap", std::process::id()));
    for mix in [Mix::Write, Mix::Read, Mix::All, Mix::Nonsense] {
        let traffic = Traffic { packets: 8000, qps: 300, payload: 1024, cut: None, mix };
        traffic.write(&path).expect("the disk has room");
        same(&path, &[]);
        same(&path, &["--icrc", "off"]);
        same(&path, &["--filter", "bth.psn > 100", "--interval", "100us"]);
        // Frames that cannot be held on to where they were read.
        same(&path, &["--merge", &path.display().to_string()]);
    }
    fs::remove_file(&path).expect("what was made can be removed");
}

/// Threads without a file of their own help with others'.
#[test]
fn few_files_have_the_same_reports() {
    let [one, other] = [Mix::Write, Mix::All].map(|mix| {
        let name = format!("rdmawire-threads-{mix:?}-{}.pcap", std::process::id());
        let path = std::env::temp_dir().join(name);
        let traffic = Traffic { packets: 4000, qps: 30, payload: 1024, cut: None, mix };
        traffic.write(&path).expect("the disk has room");
        path
    });
    same(&one, &[&other.display().to_string()]);
    for path in [one, other] {
        fs::remove_file(path).expect("what was made can be removed");
    }
}

/// Where something is odd in a file that is read in parts, it is read on in its order.
#[test]
fn a_damaged_file_has_one_report() {
    let path = std::env::temp_dir().join(format!("rdmawire-threads-odd-{}.pcap", std::process::id()));
    let traffic = Traffic { packets: 8000, qps: 30, payload: 1024, cut: None, mix: Mix::Write };
    traffic.write(&path).expect("the disk has room");
    let mut bytes = fs::read(&path).expect("it was written");
    // A record longer than its frame was on the wire, one that is absurd, and an end within one.
    for (nth, says) in [(3000, 0x400u32), (3001, 0x400), (6000, u32::MAX)] {
        let mut at = 24;
        for _ in 0..nth {
            at += 16 + u32::from_le_bytes(bytes[at + 8..at + 12].try_into().expect("four")) as usize;
        }
        let field = if says == u32::MAX { at + 8 } else { at + 12 };
        bytes[field..field + 4].copy_from_slice(&says.to_le_bytes());
    }
    bytes.truncate(bytes.len() - 7);
    fs::write(&path, bytes).expect("the disk has room");
    same(&path, &[]);
    same(&path, &["--filter", "bth.psn > 100"]);
    fs::remove_file(&path).expect("what was made can be removed");
}

#[cfg(feature = "compression")]
#[test]
fn captures_have_one_report() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("pcaps");
    let mut long = 0;
    for entry in fs::read_dir(dir).expect("the captures are there").flatten() {
        let path = entry.path();
        let is_capture = path.extension().is_some_and(|ext| ext == "zst" || ext == "pcap");
        if is_capture && entry.metadata().is_ok_and(|known| known.len() > 300_000) {
            same(&path, &[]);
            long += 1;
        }
    }
    assert!(long > 3);
}

/// What the program says of a file, or of standard input where `input` gives it so many bytes at a time: report, errors and
/// exit status. The file is called `-` too.
fn said(path: &str, threads: &str, input: Option<(&[u8], usize)>) -> [String; 3] {
    let mut child = cli()
        .args(["analyze", "--json", "--threads", threads, path])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut pipe = child.stdin.take().expect("it is a pipe");
    let output = thread::scope(|scope| {
        // Who cannot read it all closes the pipe.
        scope.spawn(move || {
            input.map(|(bytes, step)| bytes.chunks(step).try_for_each(|some| pipe.write_all(some)))
        });
        child.wait_with_output().expect("it ends")
    });
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(path, "-");
    [text(&output.stdout), text(&output.stderr), output.status.to_string()]
}

/// Damage costs the same frames however a capture comes: as a file, on standard input, compressed, on any number of threads.
#[test]
fn a_damaged_capture_has_one_report() {
    let dir = Scratch::new("however");
    let mut random = Random::new(3);
    let traffic = Traffic { packets: 1500, qps: 30, payload: 1024, cut: None, mix: Mix::All };
    traffic.write(&dir.join("traffic.pcap")).expect("the disk has room");
    let mut captures: Vec<Vec<u8>> = Vec::new();
    for format in ["pcap", "pcapng", "erf"] {
        let (from, to) = (dir.join("traffic.pcap"), dir.join(format!("again.{format}")));
        let rewritten = cli().arg("rewrite").arg(from).arg(&to).output();
        assert!(rewritten.expect("the program runs").status.success());
        let bytes = fs::read(to).expect("it was written");
        captures.extend(vec![bytes; 4]);
    }
    // Of the corpus, every one that has some bytes.
    captures.extend(
        mutants::corpus().into_iter().map(|(_, bytes)| bytes).filter(|bytes| bytes.len() > 300).step_by(4),
    );
    let mut reports = 0;
    for (n, mut bytes) in captures.into_iter().enumerate() {
        bytes = mutants::repeated(&bytes, 1_200_000);
        mutants::mutate(&mut bytes, 8 << (n % 4 * 2), &mut random);
        let path = dir.file("x", &bytes).display().to_string();
        let expected = said(&path, "1", None);
        let same = |way: &str, found: [String; 3]| {
            assert!(
                found == expected,
                "capture {n}, {way}:\n{}\n{}\nas a file:\n{}",
                found[1],
                found[0],
                expected[0]
            );
        };
        same("2 threads", said(&path, "2", None));
        same("4 threads", said(&path, "4", None));
        same("standard input", said("-", "4", Some((&bytes, 1 + random.below(100_000)))));
        #[cfg(feature = "compression")]
        if !bytes.starts_with(&[0x1f, 0x8b]) && !bytes.starts_with(&[0x28, 0xb5]) {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
            encoder.write_all(&bytes).expect("memory takes it");
            let packed = [
                encoder.finish().expect("memory takes it"),
                zstd::encode_all(&bytes[..], 1).expect("memory takes it"),
            ];
            for packed in packed {
                let path = dir.file("y", &packed).display().to_string();
                same("compressed", said(&path, "1", None));
                same("compressed, 4 threads", said(&path, "4", None));
            }
        }
        reports += usize::from(expected[0].len() > 1000);
    }
    assert!(reports > 5, "{reports} reports");
}
