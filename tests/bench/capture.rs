//! How long it takes to step through a capture file, beside the floor: the bare walk over the same bytes.
//!
//! `cargo bench --bench capture [-- SCALE]`, SCALE a share of the sizes, 1 if absent. The files are generated, seeded,
//! in the temporary directory, and removed. Every pass reads of each frame what an analyzer reads first: UDP port,
//! opcode, destination QP and PSN. Medians of [`RUNS`] interleaved passes over files in the page cache.

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use rdmawire::capture::{self, Format, Interface, Options, Record, Sink, Source, Time};
use rdmawire::dissect::Link;

#[path = "floor.rs"]
#[allow(dead_code)] // What only the bench `analyze` needs.
mod floor;
use floor::{mapped, touch, walk};

const RUNS: usize = 7;

fn main() {
    let scale: f64 = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(1.0);
    let dir = std::env::temp_dir().join(format!("rdmawire-bench-{}", std::process::id()));
    fs::create_dir_all(&dir).expect("the temporary directory takes a directory");
    println!("ns a record, medians of {RUNS}; ratio to the walk over the mapped file");
    println!("{:<22} {:>8} {:<24} {:>7} {:>6} {:>6}", "file", "records", "pass", "ns", "ratio", "GB/s");
    // Cut to 128 bytes; full frames of 1 KiB; requests and responses mixed.
    bench(&dir, "128 bytes", scale * 2e6, true, |_| (128, 1082));
    bench(&dir, "1 KiB", scale * 4e5, false, |_| (1082, 1082));
    bench(
        &dir,
        "1 KiB and ACKs",
        scale * 6e5,
        false,
        |random| {
            if random % 3 == 0 { (66, 66) } else { (1082, 1082) }
        },
    );
    fs::remove_dir_all(&dir).expect("what was made can be removed");
}

/// Writes a file of `count` frames and measures every way through it.
fn bench(dir: &Path, what: &str, count: f64, is_everything: bool, lens: impl Fn(u64) -> (usize, u32)) {
    let count = count as u64;
    let plain = dir.join("bench.pcap");
    write(&plain, Format::Pcap, count, &lens);
    let mut passes: Vec<(&str, PathBuf, Pass)> = vec![
        ("walk, memory", plain.clone(), Pass::Memory(fs::read(&plain).expect("just written"))),
        ("walk, mapped", plain.clone(), Pass::Mapped),
        ("walk, mapped, prefetch", plain.clone(), Pass::Prefetched),
        ("Reader", plain.clone(), Pass::Reader),
        ("Reader, shown", plain.clone(), Pass::Shown),
        ("tcpdump -w /dev/null", plain.clone(), Pass::Tcpdump),
    ];
    if is_everything {
        for (name, file, format) in [
            ("Reader, pcapng", "bench.pcapng", Format::Pcapng),
            ("Reader, ERF", "bench.erf", Format::Erf),
            #[cfg(feature = "compression")]
            ("Reader, gzip", "bench.pcap.gz", Format::Pcap),
            #[cfg(feature = "compression")]
            ("Reader, zstd", "bench.pcap.zst", Format::Pcap),
        ] {
            write(&dir.join(file), format, count, &lens);
            passes.push((name, dir.join(file), Pass::Reader));
        }
    }
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); passes.len()];
    for _ in 0..RUNS {
        for ((_, path, pass), times) in passes.iter().zip(&mut times) {
            let start = Instant::now();
            if let Some(seen) = pass.run(path) {
                times.push(start.elapsed().as_nanos() as f64 / count as f64);
                assert!(seen == count || matches!(pass, Pass::Tcpdump), "{what}: every frame is seen");
            }
        }
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied()
    };
    let floor = median(&mut times[1]).unwrap_or(f64::NAN);
    for ((pass, path, _), times) in passes.iter().zip(&mut times) {
        let Some(ns) = median(times) else { continue };
        let size = fs::metadata(path).map_or(0, |file| file.len());
        let speed = size as f64 / count as f64 / ns;
        println!("{what:<22} {count:>8} {pass:<24} {ns:>7.1} {:>6.2} {speed:>6.2}", ns / floor);
    }
}

enum Pass {
    /// Over bytes in memory.
    Memory(Vec<u8>),
    /// Over the mapped file, mapped anew.
    Mapped,
    /// The same, asking memory for where the eighth record from here is if all are as long as this one.
    Prefetched,
    Reader,
    /// Decoder are shown, several at a time.
    Shown,
    Tcpdump,
}

impl Pass {
    /// The frames seen; none if this cannot be done here.
    fn run(&self, path: &Path) -> Option<u64> {
        match self {
            Pass::Memory(bytes) => Some(walk::<0>(bytes)),
            Pass::Mapped => mapped(path, walk::<0>),
            Pass::Prefetched => mapped(path, walk::<8>),
            Pass::Reader => {
                let mut reader = capture::open(path).expect("just written");
                // What an ERF record has in front of the frame.
                let skip = if reader.info().format == Format::Erf { 18 } else { 0 };
                let (mut count, mut sum) = (0, 0);
                while let Some(record) = reader.next().expect("the file stays") {
                    sum ^= touch(&record.frame[skip..]);
                    count += 1;
                }
                black_box(sum);
                assert!(reader.info().problems.is_empty());
                Some(count)
            }
            Pass::Shown => {
                let mut reader = capture::open(path).expect("just written");
                let (mut count, mut sum) = (0, 0);
                while let shown @ 1.. =
                    reader.next_batch(|record| sum ^= touch(record.frame)).expect("the file stays")
                {
                    count += shown;
                }
                black_box(sum);
                Some(count)
            }
            Pass::Tcpdump => {
                let mut tcpdump = Command::new("tcpdump");
                tcpdump.arg("-r").arg(path).args(["-w", "/dev/null"]).stderr(Stdio::null());
                // It does not say how many frames it copied.
                tcpdump.status().ok().filter(|status| status.success()).map(|_| 0)
            }
        }
    }
}

/// RoCEv2-looking frames of 256 QPs; `lens` gives captured and wire length from a random number.
fn write(path: &Path, format: Format, count: u64, lens: &impl Fn(u64) -> (usize, u32)) {
    let options = Options { force: true, ..Options::default() };
    let mut writer =
        capture::create(path, format, &[Interface::new(Link(1))], options).expect("a file can be made");
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut frame = vec![0; 2048];
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[36..38].copy_from_slice(&4791u16.to_be_bytes());
    for n in 0..count {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let (captured, wire_len) = lens(random);
        frame[42] = 0x0a;
        frame[46..50].copy_from_slice(&((random >> 8) as u32 & 0xff).to_be_bytes());
        frame[50..54].copy_from_slice(&(n as u32 & 0xff_ffff).to_be_bytes());
        let time = Time(1_700_000_000_000_000_000 + n as i64 * 100);
        let record = Record { time, link: Link(1), interface: 0, wire_len, frame: &frame[..captured] };
        writer.put(&record).expect("the disk has room");
    }
    writer.finish().expect("the disk has room");
}
