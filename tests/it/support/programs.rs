//! The program that is tested, and programs of others that judge what it writes.

use std::{
    env,
    ffi::OsString,
    fmt::Display,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// Where it is.
pub(crate) const RDMAWIRE: &str = env!("CARGO_BIN_EXE_rdmawire");

/// It, to be run.
pub(crate) fn cli() -> Command {
    Command::new(RDMAWIRE)
}

/// What a command gives; it must succeed.
pub(crate) fn done(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// What a command prints; it must succeed.
pub(crate) fn printed(command: &mut Command) -> String {
    String::from_utf8(done(command).stdout).unwrap()
}

/// How a command ends, what it prints, and what it prints as errors.
pub(crate) fn ended(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// Python with a module: `$RDMAWIRE_PYTHON`, else `python3`. A test without it is skipped.
pub(crate) fn python(module: &str) -> Option<String> {
    let program = env::var("RDMAWIRE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let probe = Command::new(&program).args(["-c", &format!("import {module}")]).output();
    if probe.is_ok_and(|done| done.status.success()) {
        return Some(program);
    }
    skip(module, format!("{program} has no module {module}"));
    None
}

/// `PATH` with the program `duckdb`: that of the system, or the one beside Python. A test without it is skipped.
pub(crate) fn path_with_duckdb() -> Option<OsString> {
    let python = python("duckdb")?;
    let beside = Path::new(&python).parent().map(Path::to_owned).unwrap_or_default();
    let path = env::var_os("PATH").unwrap_or_default();
    let directories: Vec<PathBuf> = [beside].into_iter().chain(env::split_paths(&path)).collect();
    if directories.iter().any(|directory| directory.join("duckdb").is_file()) {
        return Some(env::join_paths(directories).unwrap());
    }
    skip("duckdb", "the program duckdb is not in PATH");
    None
}

/// Whether a tool of Wireshark is here. A test without it is skipped.
pub(crate) fn has_wireshark(tool: &str) -> bool {
    let is_here = Command::new(tool).arg("-v").output().is_ok();
    if !is_here {
        skip(tool, "it is not installed");
    }
    is_here
}

/// Says that a judge is missing; the test passes without it. Where `RDMAWIRE_STRICT` is 1 it does not, but for the judges that
/// `RDMAWIRE_WITHOUT` names.
pub(crate) fn skip(judge: &str, why: impl Display) {
    let without = env::var("RDMAWIRE_WITHOUT").unwrap_or_default();
    let is_strict = env::var("RDMAWIRE_STRICT").is_ok_and(|value| value == "1");
    assert!(
        !is_strict || without.split_whitespace().any(|name| name == judge),
        "{judge} must judge here: {why}"
    );
    let thread = std::thread::current();
    let test = thread.name().unwrap_or_default();
    // Not through `eprintln!`, which the test harness keeps to itself where a test passes.
    let _ = writeln!(std::io::stderr(), "skipped: {test} without {judge}: {why}");
}
