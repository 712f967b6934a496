//! Analyses of interleaved bursts as whole processes on one thread, in turns with the bare walk, tcpdump, and another build of
//! the program, if `RDMAWIRE_BASELINE` names one.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{
    ALONE, WALK, keep_or_remove,
    traffic::bursts::{Bursts, Missing},
};

const ROUNDS: usize = 9;

/// Bench all captures whose name begins so.
pub(crate) fn bench(dir: &Path, scale: f64, only: &str, is_kept: bool) {
    let count = |n: f64| ((n * scale) as u64).max(2000);
    let plain = Bursts {
        packets: count(2e6),
        qps: 256,
        message: 16,
        payload: 1024,
        cut: 128,
        missing: Missing::Nothing,
        both_ways: true,
    };
    let full = Bursts { packets: count(4e5), cut: 2048, ..plain };
    let (lost, unseen) = (Missing::Lost, Missing::Unseen);
    let captures = [
        ("bursts", plain),
        ("bursts, lost", Bursts { missing: lost, ..plain }),
        ("bursts, unseen", Bursts { missing: unseen, ..plain }),
        ("bursts, one way", Bursts { both_ways: false, ..plain }),
        ("bursts, one way, unseen", Bursts { both_ways: false, missing: unseen, ..plain }),
        ("bursts, 1 MiB", Bursts { message: 1024, ..plain }),
        ("bursts, 1 MiB, lost", Bursts { message: 1024, missing: lost, ..plain }),
        ("bursts, 1 KiB frames", full),
        ("bursts, 1 KiB frames, lost", Bursts { missing: lost, ..full }),
        ("bursts, 64 QPs, lost", Bursts { qps: 64, missing: lost, ..plain }),
        ("bursts, 10^4 QPs, lost", Bursts { qps: 10_000, missing: lost, ..plain }),
        ("bursts, 10^5 QPs", Bursts { qps: 100_000, packets: count(4e6), ..plain }),
        ("bursts, 10^5 QPs, lost", Bursts { qps: 100_000, packets: count(4e6), missing: lost, ..plain }),
    ];
    println!("\nns of user time a packet, medians of {ROUNDS} rounds; ratios, round by round");
    print!("{:<28} {:<28} {:>8}", "file", "pass", "ns");
    println!(" {:>10} {:>11}", "to walk", "to baseline");
    for (name, bursts) in captures.iter().filter(|(name, _)| name.starts_with(only)) {
        let path = dir.join(format!("{}.pcap", name.replace(", ", "-").replace(' ', "-")));
        bursts.write(&path).expect("the disk has room");
        compare(name, bursts.packets, &path);
        keep_or_remove(&path, is_kept);
    }
}

/// A program, its arguments, and the pass of the baseline that it is compared with.
struct Pass {
    name: &'static str,
    program: OsString,
    args: Vec<&'static str>,
    baseline: Option<usize>,
}

fn compare(name: &str, packets: u64, path: &Path) {
    let passes = passes();
    let mut rounds: Vec<Vec<Option<f64>>> = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push(passes.iter().map(|pass| pass.run(path).map(|ns| ns / packets as f64)).collect());
    }
    let over_rounds = |figure: &dyn Fn(&[Option<f64>]) -> Option<f64>| {
        median(rounds.iter().filter_map(|round| figure(round)).collect())
    };
    for (at, pass) in passes.iter().enumerate() {
        let to = |other: usize| over_rounds(&|round| Some(round[at]? / round[other]?));
        let ns = shown(over_rounds(&|round| round[at]), 1);
        let (to_walk, to_baseline) = (shown(to(0), 2), shown(pass.baseline.and_then(to), 2));
        println!("{name:<28} {:<28} {ns:>8} {to_walk:>10} {to_baseline:>11}", pass.name);
    }
}

fn passes() -> Vec<Pass> {
    let this = std::env::current_exe().expect("this program is somewhere");
    let with_icrc = ALONE.to_vec();
    let without = [&ALONE[..5], &["--icrc", "off", "FILE"]].concat();
    let pass = |name, program: OsString, args: &[&'static str]| Pass {
        name,
        program,
        args: args.to_vec(),
        baseline: None,
    };
    let program: OsString = env!("CARGO_BIN_EXE_rdmawire").into();
    let mut passes = vec![
        pass("walk, mapped (the floor)", this.into(), &[WALK, "FILE"]),
        pass("tcpdump -w /dev/null", "tcpdump".into(), &["-r", "FILE", "-w", "/dev/null"]),
        pass("analyze --threads 1", program.clone(), &with_icrc),
        pass("... --icrc off", program, &without),
    ];
    if let Some(baseline) = std::env::var_os("RDMAWIRE_BASELINE") {
        (passes[2].baseline, passes[3].baseline) = (Some(4), Some(5));
        passes.push(pass("baseline", baseline.clone(), &with_icrc));
        passes.push(pass("baseline --icrc off", baseline, &without));
    }
    passes
}

impl Pass {
    /// The nanoseconds of user time that it takes for a file, if it succeeds.
    fn run(&self, path: &Path) -> Option<f64> {
        let args = self.args.iter().map(|arg| if *arg == "FILE" { path.into() } else { PathBuf::from(arg) });
        let mut command = Command::new(&self.program);
        user_ns(command.args(args).stdout(Stdio::null()).stderr(Stdio::null()))
    }
}

/// The user time of a process that succeeds.
#[cfg(unix)]
fn user_ns(command: &mut Command) -> Option<f64> {
    let child = command.spawn().ok()?;
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: both places are there to be written to; the process is waited for here only.
    let usage = unsafe {
        if libc::wait4(child.id() as libc::pid_t, &mut status, 0, usage.as_mut_ptr()) < 0 {
            return None;
        }
        usage.assume_init()
    };
    let ns = usage.ru_utime.tv_sec as f64 * 1e9 + usage.ru_utime.tv_usec as f64 * 1e3;
    (libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0).then_some(ns)
}

/// Elsewhere it is the time on the clock.
#[cfg(not(unix))]
fn user_ns(command: &mut Command) -> Option<f64> {
    let start = std::time::Instant::now();
    command.status().is_ok_and(|status| status.success()).then(|| start.elapsed().as_nanos() as f64)
}

fn median(mut figures: Vec<f64>) -> Option<f64> {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied()
}

fn shown(figure: Option<f64>, digits: usize) -> String {
    figure.map_or_else(|| "-".into(), |figure| format!("{figure:.digits$}"))
}
