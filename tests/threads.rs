//! The report of one file does not depend on how many threads work on it.
#![cfg(feature = "cli")]

use std::{fs, path::Path, process::Command};

#[path = "bench/traffic.rs"]
mod traffic;
use traffic::{Mix, Traffic};

fn report(path: &Path, args: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_rdmawire"))
        .args(["analyze", "--json"])
        .args(args)
        .arg(path)
        .output()
        .expect("the program runs");
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
