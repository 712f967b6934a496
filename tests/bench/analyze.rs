//! How long `rdmawire analyze` takes, beside the floor (the bare walk over the records) and beside other programs.
//!
//! `cargo bench --bench analyze [-- SCALE]`, SCALE a share of the sizes, 1 if absent, 0.02 for a quick look;
//! `-- SCALE DIR` leaves the files in DIR; `-- SCALE DIR FILE` has only those whose name begins so, such as `bursts`. The
//! files are generated, seeded. Passes over a file are interleaved; figures are medians of [`RUNS`], files in the page cache.
//! "In process" is the library alone, one thread, "in memory" the walk over bytes that were read before; the others are whole
//! processes, start-up included. Slow programs get a cut of the file, scaled by its packets.
//!
//! The last files have interleaved bursts. Another build of the program is compared with this one on them:
//! `RDMAWIRE_BASELINE=/path/rdmawire cargo bench --bench analyze -- 1 /tmp/captures bursts`.

use std::{
    fs,
    hint::black_box,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use rdmawire::{
    analyze::{Analysis, Options},
    capture::{self, Source},
};

#[path = "floor.rs"]
#[allow(dead_code)] // What only the bench `capture` needs.
mod floor;
#[path = "paired.rs"]
mod paired;
#[path = "traffic.rs"]
mod traffic;
use traffic::{Mix, Traffic};

const RUNS: usize = 5;
/// All flows are kept.
const JSON: [&str; 4] = ["--json", "--max-flows", "1048576", "FILE"];
/// The same in words, one thread.
const ALONE: [&str; 6] = ["analyze", "--max-flows", "1048576", "--threads", "1", "FILE"];
/// Packets that slow programs get.
const CUT: u64 = 20_000;

/// Asks this program for nothing but the walk over a mapped file, as a process of its own.
const WALK: &str = "walk-mapped";
/// The same, and each packet's flow found and counted in 256 bytes.
const TRACK: &str = "track-mapped";

fn main() {
    if let [_, what, path] = &std::env::args().collect::<Vec<_>>()[..]
        && let Some(walk) = walk_called(what)
    {
        let walked = floor::mapped(path.as_ref(), walk);
        std::process::exit(if walked.is_some_and(|packets| packets > 0) { 0 } else { 1 });
    }
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let scale: f64 = args.first().and_then(|arg| arg.parse().ok()).unwrap_or(1.0);
    let kept = args.get(1).map(PathBuf::from);
    let dir = kept.clone().unwrap_or_else(|| {
        std::env::temp_dir().join(format!("rdmawire-bench-analyze-{}", std::process::id()))
    });
    fs::create_dir_all(&dir).expect("the temporary directory takes a directory");
    let count = |n: f64| ((n * scale) as u64).max(2000);
    println!("ns a packet, medians of {RUNS}; ratio to the bare walk over the mapped file, round by round");
    println!("{:<16} {:>8} {:<34} {:>9} {:>8}", "file", "packets", "pass", "ns", "ratio");
    let plain = Traffic { packets: 0, qps: 256, payload: 1024, cut: None, mix: Mix::Write };
    let files = [
        ("128 bytes", Traffic { packets: count(2e6), cut: Some(128), ..plain }, true),
        ("1 KiB", Traffic { packets: count(4e5), ..plain }, true),
        ("4 KiB", Traffic { packets: count(1e5), payload: 4096, ..plain }, false),
        ("READs", Traffic { packets: count(1e6), cut: Some(128), mix: Mix::Read, ..plain }, false),
        ("all opcodes", Traffic { packets: count(1e6), mix: Mix::All, ..plain }, false),
        ("nonsense", Traffic { packets: count(1e6), mix: Mix::Nonsense, ..plain }, false),
        ("1 QP", Traffic { packets: count(2e6), qps: 1, cut: Some(128), ..plain }, false),
        ("10^4 QPs", Traffic { packets: count(2e6), qps: 10_000, cut: Some(128), ..plain }, false),
        ("10^6 QPs", Traffic { packets: count(4e6), qps: 1_000_000, cut: Some(128), ..plain }, false),
    ];
    let only = args.get(2).map_or("", String::as_str);
    for (name, traffic, is_everything) in files.into_iter().filter(|(name, ..)| name.starts_with(only)) {
        let path = dir.join(format!("{}.pcap", name.replace(' ', "-")));
        traffic.write(&path).expect("the disk has room");
        bench(name, &path, &traffic, is_everything);
        keep_or_remove(&path, kept.is_some());
    }
    paired::bench(&dir, scale, only, kept.is_some());
    if kept.is_none() {
        fs::remove_dir_all(&dir).expect("what was made can be removed");
    }
}

fn keep_or_remove(path: &Path, is_kept: bool) {
    if !is_kept {
        fs::remove_file(path).expect("what was made can be removed");
    }
}

fn walk_called(name: &str) -> Option<fn(&[u8]) -> u64> {
    match name {
        WALK => Some(floor::walk::<0>),
        TRACK => Some(floor::track::<32>),
        _ => None,
    }
}

fn bench(name: &str, path: &Path, traffic: &Traffic, is_everything: bool) {
    let program = Path::new(env!("CARGO_BIN_EXE_rdmawire"));
    let this = std::env::current_exe().expect("this program is somewhere");
    let bytes = fs::read(path).expect("just written");
    let packets = traffic.packets;
    let cut = path.with_extension("cut.pcap");
    let few = packets.min(CUT);
    Traffic { packets: few, ..*traffic }.write(&cut).expect("the disk has room");
    let command = |program: &Path, args: &[&str], path: &Path| {
        let args = args.iter().map(|arg| if *arg == "FILE" { path.as_os_str() } else { arg.as_ref() });
        let mut command = Command::new(program);
        command.args(args).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let run = |mut command: Command| command.status().is_ok_and(|status| status.success());
    // What two cores do at best: two processes that share nothing but memory and its caches.
    let twice = |one: &dyn Fn() -> Command| {
        let both = [one(), one()].map(|mut one| one.spawn());
        both.into_iter().all(|one| one.and_then(|mut one| one.wait()).is_ok_and(|status| status.success()))
    };
    let ours = |args: &[&str]| run(command(program, &[&["analyze"], args].concat(), path));
    let theirs = |program: &str, args: &[&str], path: &Path| run(command(Path::new(program), args, path));

    type Pass<'a> = (&'a str, u64, Box<dyn Fn() -> bool + 'a>);
    let mut passes: Vec<Pass<'_>> = vec![
        ("walk, in memory", packets, Box::new(|| floor::walk::<0>(&bytes) == packets)),
        ("walk, mapped (the floor)", packets, Box::new(|| run(command(&this, &[WALK, "FILE"], path)))),
        ("... flows in 256 bytes each", packets, Box::new(|| run(command(&this, &[TRACK, "FILE"], path)))),
        ("analyze, in process", packets, Box::new(|| analyze(path, true) == packets)),
        ("analyze, in process, no ICRC", packets, Box::new(|| analyze(path, false) == packets)),
        (
            "analyze --json --threads 1",
            packets,
            Box::new(|| ours(&[&JSON[..], &["--threads", "1"]].concat())),
        ),
        (
            "... --icrc off",
            packets,
            Box::new(|| ours(&[&JSON[..], &["--threads", "1", "--icrc", "off"]].concat())),
        ),
        ("analyze --threads 1", packets, Box::new(|| run(command(program, &ALONE, path)))),
        ("... twice at a time", 2 * packets, Box::new(|| twice(&|| command(program, &ALONE, path)))),
        ("analyze --json", packets, Box::new(|| ours(&JSON))),
        ("analyze", packets, Box::new(|| ours(&JSON[1..]))),
        (
            "tcpdump -w /dev/null",
            packets,
            Box::new(|| theirs("tcpdump", &["-r", "FILE", "-w", "/dev/null"], path)),
        ),
    ];
    if is_everything {
        let fields =
            ["-r", "FILE", "-T", "fields", "-e", "infiniband.bth.opcode", "-e", "infiniband.bth.psn"];
        passes.push(("capinfos", packets, Box::new(|| theirs("capinfos", &["FILE"], path))));
        passes.push((
            "tshark, 2 fields, cut",
            few,
            Box::new({
                let cut = &cut;
                move || theirs("tshark", &fields, cut)
            }),
        ));
        passes.push((
            "dissect, a line each, cut",
            few,
            Box::new(|| run(command(program, &["dissect", "FILE"], &cut))),
        ));
        passes.push((
            "dissect --json, cut",
            few,
            Box::new(|| run(command(program, &["dissect", "--json", "FILE"], &cut))),
        ));
        passes.push(("tcpdump -n, cut", few, Box::new(|| theirs("tcpdump", &["-n", "-r", "FILE"], &cut))));
        passes.push((
            "tshark, a line each, cut",
            few,
            Box::new(|| theirs("tshark", &["-n", "-r", "FILE"], &cut)),
        ));
        passes.push((
            "tshark -T ek, cut",
            few,
            Box::new(|| theirs("tshark", &["-n", "-r", "FILE", "-T", "ek"], &cut)),
        ));
        passes.push(("scapy, cut", few, Box::new(|| theirs("python3", &["-c", SCAPY, "FILE"], &cut))));
    }
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); passes.len()];
    for _ in 0..RUNS {
        for ((_, packets, pass), times) in passes.iter().zip(&mut times) {
            let start = Instant::now();
            if pass() {
                times.push(start.elapsed().as_nanos() as f64 / *packets as f64);
            }
        }
    }
    // Of each pass to the floor of the same round.
    let floors = times[1].clone();
    for ((pass, ..), times) in passes.iter().zip(&mut times) {
        let mut ratios: Vec<f64> = times.iter().zip(&floors).map(|(ns, floor)| ns / floor).collect();
        ratios.sort_by(f64::total_cmp);
        times.sort_by(f64::total_cmp);
        let (Some(ns), ratio) = (times.get(times.len() / 2), ratios.get(ratios.len() / 2)) else {
            println!("{name:<16} {packets:>8} {pass:<34} {:>9} {:>8}", "-", "-");
            continue;
        };
        let ratio = ratio.copied().unwrap_or(f64::NAN);
        println!("{name:<16} {packets:>8} {pass:<34} {ns:>9.1} {ratio:>8.2}");
    }
    fs::remove_file(&cut).expect("what was made can be removed");
}

const SCAPY: &str = "import sys\nfrom scapy.all import PcapReader, load_contrib\nload_contrib('roce')\n\
    [p for p, _ in zip(PcapReader(sys.argv[1]), range(20000))]";

fn analyze(path: &Path, verify_icrc: bool) -> u64 {
    let mut reader = capture::open(path).expect("just written");
    let mut analysis = Analysis::new(Options { verify_icrc, max_flows: 1 << 20, ..Options::default() });
    while let Some(record) = reader.next().expect("the file stays") {
        analysis.push(&record);
    }
    let packets = analysis.packets();
    black_box(analysis.end().report().head.findings.len());
    packets
}
