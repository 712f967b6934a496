//! Input files of the commands: how they are opened, what is said of their damage, and how far reading has come.

use std::{
    fs::File,
    io::{self, IsTerminal, Read},
    path::Path,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

use super::say;
use rdmawire::{
    analyze::Files,
    capture::{self, Info, Reader, Record, Source},
    grammar::print::several,
};

/// Set by Ctrl-C: the work ends.
pub(super) static STOP: AtomicBool = AtomicBool::new(false);

/// Opens a file; prints the error if that fails.
pub(super) fn try_open(path: &Path) -> Option<Reader> {
    open(path).inspect_err(|error| say(format_args!("{error}"))).ok()
}

/// Opens a file. If it is a stream, Ctrl-C ends the wait for its next byte.
pub(super) fn open(path: &Path) -> Result<Reader, capture::Error> {
    if path == Path::new("-") {
        return Reader::from_read(Interruptible::new(io::stdin()), "-");
    }
    if std::fs::metadata(path).is_ok_and(|known| !known.is_file() && !known.is_dir())
        && let Ok(file) = File::open(path)
    {
        return Reader::from_read(Interruptible::new(file), &path.display().to_string());
    }
    capture::open(path)
}

/// A stream that ends after Ctrl-C, even while it waits for input.
pub(super) struct Interruptible {
    chunks: mpsc::Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    at: usize,
}

impl Interruptible {
    pub(super) fn new(mut from: impl Read + Send + 'static) -> Interruptible {
        let (sender, chunks) = mpsc::sync_channel(16);
        thread::spawn(move || {
            loop {
                let mut chunk = vec![0; 1 << 18];
                let result = from.read(&mut chunk).map(|n| {
                    chunk.truncate(n);
                    chunk
                });
                let is_last = result.as_ref().is_ok_and(Vec::is_empty);
                let is_error = result.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::Interrupted);
                if sender.send(result).is_err() || is_last || is_error {
                    return;
                }
            }
        });
        Interruptible { chunks, chunk: Vec::new(), at: 0 }
    }
}

impl Read for Interruptible {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.chunk.len() {
            if STOP.load(Ordering::Relaxed) {
                return Ok(0);
            }
            match self.chunks.recv_timeout(Duration::from_millis(100)) {
                Ok(chunk) => (self.chunk, self.at) = (chunk?, 0),
                Err(mpsc::RecvTimeoutError::Timeout) => continue,
                Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(0),
            }
            if self.chunk.is_empty() {
                return Ok(0);
            }
        }
        let rest = self.chunk.get(self.at..).unwrap_or(&[]);
        let n = rest.len().min(into.len());
        into[..n].copy_from_slice(&rest[..n]);
        self.at += n;
        Ok(n)
    }
}

/// How the reading of a source ended.
pub(super) struct FramesRead {
    /// Frames that were read.
    pub(super) frames: u64,
    failed: Option<capture::Error>,
}

impl FramesRead {
    /// The number of frames, if all could be read.
    pub(super) fn all(self) -> Result<u64, capture::Error> {
        self.failed.map_or(Ok(self.frames), Err)
    }

    /// Whether all could be read; prints the error if not.
    pub(super) fn was_read_whole(self) -> bool {
        self.all().inspect_err(|error| say(format_args!("{error}"))).is_ok()
    }
}

/// Calls `on_frame` with the number of each frame, from 1, and the frame. Ctrl-C ends it, where the command waits for that. Progress
/// is shown if it takes long.
///
/// # Errors
/// Those of `on_frame`.
pub(super) fn each<S: Source>(
    source: &mut S,
    mut on_frame: impl FnMut(u64, &Record<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<FramesRead> {
    let progress = Progress::new(source.info());
    each_while(source, Some(progress), |number, record| on_frame(number, record).map(|()| true))
}

/// [`each`] until `on_frame` returns false, with this progress.
pub(super) fn each_while<S: Source>(
    source: &mut S,
    mut progress: Option<Progress>,
    mut on_frame: impl FnMut(u64, &Record<'_>) -> anyhow::Result<bool>,
) -> anyhow::Result<FramesRead> {
    let (mut frames, mut failed) = (0, None);
    while !STOP.load(Ordering::Relaxed) {
        let record = match source.next() {
            Ok(Some(record)) => record,
            Ok(None) => break,
            Err(error) => {
                failed = Some(error);
                break;
            }
        };
        frames += 1;
        if !on_frame(frames, &record)? {
            break;
        }
        if let Some(progress) = &mut progress {
            progress.frame(frames, || source.info().bytes_read);
        }
    }
    Ok(FramesRead { frames, failed })
}

/// [`each_while`] for commands that copy: `on_frame` is given the reader too, which knows the frame's comments and the interfaces.
pub(super) fn each_with_reader(
    reader: &mut Reader,
    mut progress: Option<Progress>,
    mut on_frame: impl FnMut(u64, &Record<'_>, &Reader) -> anyhow::Result<bool>,
) -> anyhow::Result<FramesRead> {
    let (mut frames, mut failed, mut bytes) = (0, None, Vec::new());
    while !STOP.load(Ordering::Relaxed) {
        let record = match reader.next() {
            Ok(Some(record)) => record,
            Ok(None) => break,
            Err(error) => {
                failed = Some(error);
                break;
            }
        };
        frames += 1;
        // The reader lends the frame or its comments, not both.
        bytes.clear();
        bytes.extend_from_slice(record.frame);
        let Record { time, link, interface, wire_len, .. } = record;
        let record = Record { time, link, interface, wire_len, frame: &bytes };
        if !on_frame(frames, &record, reader)? {
            break;
        }
        if let Some(progress) = &mut progress {
            progress.frame(frames, || reader.info().bytes_read);
        }
    }
    Ok(FramesRead { frames, failed })
}

/// The properties of the files. Damage is also printed on standard error.
pub(super) fn describe<'a>(infos: impl Iterator<Item = &'a Info>) -> Files {
    Files::of(infos.inspect(|info| say_damage(info)))
}

/// Prints the damage of a file on standard error, in one line. Frames before and after it are read all the same.
pub(super) fn say_damage(info: &Info) {
    let Some(first) = info.problems.first() else { return };
    let more = match info.problem_count.saturating_sub(1) {
        0 => String::new(),
        n => format!(" (and {})", several(n, "more place")),
    };
    say(format_args!("warning: {}: {first}{more}", info.name));
}

/// A progress bar on standard error, if that is a terminal and the work takes long. It disappears when it is dropped.
pub(super) struct Progress {
    began: Instant,
    bar: Option<ProgressBar>,
    is_wanted: bool,
    total: u64,
    template: &'static str,
}

impl Progress {
    pub(super) fn new(info: &Info) -> Progress {
        Progress::of([info])
    }

    /// Of several inputs that are read together.
    pub(super) fn of<'a>(inputs: impl IntoIterator<Item = &'a Info>) -> Progress {
        let total = inputs.into_iter().map(|info| info.total_bytes).sum::<Option<u64>>();
        let is_wanted = io::stderr().is_terminal() && total.is_some();
        const BYTES: &str = "{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
        Progress { began: Instant::now(), bar: None, is_wanted, total: total.unwrap_or(0), template: BYTES }
    }

    /// Of rows instead of bytes.
    #[cfg(feature = "parquet")]
    pub(super) fn of_rows(total: u64) -> Progress {
        const ROWS: &str = "{wide_bar} {human_pos}/{human_len} rows {per_sec} {eta}";
        let is_wanted = io::stderr().is_terminal();
        Progress { began: Instant::now(), bar: None, is_wanted, total, template: ROWS }
    }

    /// After each frame; looks at the clock now and then. `bytes` were read so far.
    pub(super) fn frame(&mut self, number: u64, bytes: impl FnOnce() -> u64) {
        const EVERY: u64 = 1 << 14;
        if self.is_wanted && number.is_multiple_of(EVERY) {
            self.show(bytes());
        }
    }

    pub(super) fn show(&mut self, bytes: u64) {
        if !self.is_wanted || self.began.elapsed() < Duration::from_secs(1) {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(self.total);
            let style = ProgressStyle::with_template(self.template);
            style.map_or_else(|_| bar.clone(), |style| bar.clone().with_style(style))
        });
        bar.set_position(bytes);
    }

    pub(super) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
