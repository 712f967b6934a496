//! Logs of hosts, for --log.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

use anyhow::Context as _;

use super::{input::Interruptible, output as files, say};
use rdmawire::{
    logs::{Job, Line, Log},
    report::units::several,
};

/// What the logs say.
#[derive(Debug, Default)]
pub(super) struct Logs {
    /// Errors, which each report takes.
    pub(super) errors: Vec<Line>,
    /// Ranks, as NCCL tells them.
    pub(super) job: Job,
}

/// Reads them all.
pub(super) fn read(paths: &[PathBuf]) -> anyhow::Result<Logs> {
    let mut logs = Logs::default();
    for path in paths {
        files::will_read_once(path)?;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let open = || -> io::Result<Box<dyn Read + Send>> {
            Ok(if path == Path::new("-") { Box::new(io::stdin()) } else { Box::new(File::open(path)?) })
        };
        // A log may be a pipe that does not end.
        let log = open().and_then(|from| Log::read(&name, BufReader::new(Interruptible::new(from))));
        let log = log.with_context(|| format!("--log {}", path.display()))?;
        if log.errors.is_empty() && log.job.is_empty() {
            say(format_args!(
                "--log {name}: no line tells of a completion that failed, or of a rank of NCCL"
            ));
        }
        if log.left_out > 0 {
            say(format_args!("--log {name}: {} left out", several(log.left_out, "more error")));
        }
        logs.errors.extend(log.errors);
        logs.job.merge(log.job);
    }
    Ok(logs)
}
