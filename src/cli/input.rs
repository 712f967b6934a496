//! Input files of the commands: how they are opened, what is said of their damage, and how far reading has come.

use std::{
    fs::{self, File},
    io::{self, IsTerminal, Read},
    path::{Path, PathBuf},
    sync::{atomic::Ordering, mpsc},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

pub(super) use super::signals::STOP;
use super::{output, say, signals::is_stopped};
use rdmawire::{
    analyze::Files,
    capture::{self, Format, Info, Packing, Reader, Record, Series, Source},
    grammar::print::{first_and_more, several},
    report::CaptureProblem,
};

/// Which files are one capture.
#[derive(Debug, Args)]
pub(super) struct Joining {
    /// Read each file as a capture of its own. By default, files that are parts of one capture, as rotated and split ones, are read as
    /// one: their names differ in a number or a time at the end, they have an interface in common, and each begins where another ends.
    #[arg(long)]
    separate: bool,
}

/// The files of one capture, in the order of time.
pub(super) type PartFiles = Vec<PathBuf>;

impl Joining {
    /// The captures that are meant by these paths; a directory stands for all captures in it. The command will not write them.
    pub(super) fn captures(&self, paths: &[PathBuf]) -> anyhow::Result<Vec<PartFiles>> {
        let mut files = Vec::new();
        for path in paths {
            // Standard input, whatever is called so.
            if path == Path::new("-") {
                files.push(path.clone());
                continue;
            }
            let found = in_directory(path).with_context(|| path.display().to_string())?;
            match (found.is_empty(), path.is_dir() && !has_index(path)) {
                (true, true) => bail!(
                    "{}: there is no capture in it: no file with a name like x.pcap, x.pcapng or x.erf, or with .gz or .zst behind",
                    path.display()
                ),
                (true, false) => files.push(path.clone()),
                _ => files.extend(found),
            }
        }
        files.iter().try_for_each(|path| output::will_read_once(path))?;
        if self.separate {
            return Ok(files.into_iter().map(|path| vec![path]).collect());
        }
        let captures = capture::parts_of_one(&files);
        for parts in captures.iter().filter(|parts| parts.len() > 1) {
            let (first, last) = (&parts[0], &parts[parts.len() - 1]);
            say(format_args!(
                "{} to {}: {} files that are parts of one capture, read as one; --separate reads each by itself",
                first.display(),
                last.display(),
                parts.len()
            ));
        }
        Ok(captures)
    }

    /// Says which captures that are read apart may be parts of one, by their content.
    pub(super) fn hint(&self, captures: &[PartFiles]) {
        if self.separate || captures.len() < 2 {
            return;
        }
        let pairs = capture::parts_by_content(captures);
        if let Some([before, next]) = pairs.first() {
            let more = match pairs.len() {
                1 => String::new(),
                n => format!(", and {} more go on so", n - 1),
            };
            say(format_args!(
                "{} begins where {} ends, with the next PSN of a flow{more}: these may be parts of one capture; --merge reads them as one trace",
                next.display(),
                before.display()
            ));
        }
    }

    /// [`captures`](Joining::captures) of a command that reads one.
    pub(super) fn one(&self, paths: &[PathBuf]) -> anyhow::Result<PartFiles> {
        let mut captures = self.captures(paths)?;
        match (captures.pop(), captures.is_empty()) {
            (Some(parts), true) => Ok(parts),
            _ => bail!(
                "{} captures: expected one, or the parts of one; `rdmawire analyze --merge` makes one trace of any",
                captures.len() + 1
            ),
        }
    }
}

/// Whether a path is the index of a tap: a directory without captures.
#[cfg(feature = "parquet")]
pub(super) fn is_index(path: &Path) -> bool {
    path.is_dir() && in_directory(path).is_ok_and(|found| found.is_empty())
}

/// Whether a directory has what `rdmawire index` writes: directories by tap, hour and bucket, with Parquet files.
fn has_index(path: &Path) -> bool {
    let is_of_index = |name: &str| {
        ["tap=", "hour=", "bucket="].iter().any(|key| name.starts_with(key)) || name.ends_with(".parquet")
    };
    let mut entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.any(|entry| is_of_index(&entry.file_name().to_string_lossy()))
}

/// The captures in a directory, by their names; none if the path is something else.
fn in_directory(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            let entry = entry?.path();
            let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // `tcpdump -C` puts a number behind the extension, logrotate one behind a dot; both may be compressed after that.
            let stem = Packing::unpacked(&name).trim_end_matches(|c: char| c.is_ascii_digit());
            let is_capture =
                [stem, stem.trim_end_matches('.')].iter().any(|name| Format::of_name(name).is_some());
            if is_capture && entry.is_file() && !name.starts_with('.') {
                found.push(entry);
            }
        }
        found.sort();
    }
    Ok(found)
}

/// The name of a capture in output.
pub(super) fn name_of(parts: &[PathBuf]) -> String {
    let first = parts.first().map_or_else(String::new, |path| path.display().to_string());
    first_and_more(&first, parts.len())
}

/// Opens a capture; prints the error if that fails.
pub(super) fn try_open(parts: &[PathBuf]) -> Option<Series> {
    open_parts(parts).inspect_err(|error| say(format_args!("{error}"))).ok()
}

/// Opens a capture, in one file or in several.
pub(super) fn open_parts(parts: &[PathBuf]) -> Result<Series, capture::Error> {
    let (first, rest) =
        parts.split_first().map_or((Path::new("-"), parts), |(first, rest)| (first.as_path(), rest));
    Ok(Series::with(open(first)?, rest.iter().cloned()))
}

/// Whether a path is standard input, a pipe or a device: these are read once.
pub(super) fn is_stream(path: &Path) -> bool {
    path == Path::new("-") || fs::metadata(path).is_ok_and(|known| !known.is_file() && !known.is_dir())
}

/// Opens a file. If it is a stream, a signal ends the wait for its next byte.
pub(super) fn open(path: &Path) -> Result<Reader, capture::Error> {
    if path == Path::new("-") {
        return Reader::from_read(Interruptible::new(io::stdin()), "-");
    }
    if is_stream(path)
        && let Ok(file) = File::open(path)
    {
        return Reader::from_read(Interruptible::new(file), &path.display().to_string());
    }
    capture::open(path)
}

/// What a stream has.
pub(super) enum Streamed {
    /// JSON.
    Text(String),
    Capture(Box<Series>),
}

/// What a stream has, by its first byte; `None` where it is a capture that cannot be read, which is printed.
pub(super) fn streamed(path: &Path) -> io::Result<Option<Streamed>> {
    let mut stream = match path == Path::new("-") {
        true => Interruptible::new(io::stdin()),
        false => Interruptible::new(File::open(path)?),
    };
    let mut first = [0];
    let begun = stream.read(&mut first)?;
    let mut all = io::Cursor::new(first).take(begun as u64).chain(stream);
    if first == *b"{" {
        return Ok(Some(Streamed::Text(text_of(&mut all)?)));
    }
    match Reader::from_read(all, &path.display().to_string()) {
        Ok(reader) => Ok(Some(Streamed::Capture(Box::new(Series::with(reader, []))))),
        Err(error) => {
            say(format_args!("{error}"));
            Ok(None)
        }
    }
}

/// An error of several lines: those behind the first one are of the same message.
pub(super) fn indented(error: &str) -> String {
    error.trim_end().replace('\n', "\n  ")
}

/// How long texts may be that are read at once.
const LONGEST_TEXT: u64 = 256 << 20;

/// The text of a file that an option names, as long as such files are. The command will not write it.
pub(super) fn text(path: &Path) -> io::Result<String> {
    output::will_read(path);
    text_of(&mut File::open(path)?)
}

/// All of a text.
fn text_of(from: &mut impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    let read = from.take(LONGEST_TEXT + 1).read_to_end(&mut bytes)?;
    if read as u64 > LONGEST_TEXT {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "longer than 256 MiB"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let first = io::Cursor::new(error.as_bytes()[..error.as_bytes().len().min(1 << 16)].to_owned());
        let what = match Reader::from_read(first, "") {
            Ok(_) => "is a capture, where a text is expected",
            Err(_) => "is no text",
        };
        io::Error::new(io::ErrorKind::InvalidData, format!("{what}: byte {at} is not UTF-8"))
    })
}

/// A stream that ends after a signal, even while it waits for input.
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
            if is_stopped() {
                // Not the end of the stream, where a record may be cut.
                return Err(io::Error::other("ended by the user"));
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
    /// Whether the user ended it.
    pub(super) is_stopped: bool,
    failed: Option<capture::Error>,
}

impl FramesRead {
    /// The number of frames, if all could be read.
    pub(super) fn all(self) -> Result<u64, capture::Error> {
        self.failed.map_or(Ok(self.frames), Err)
    }

    /// Whether all could be read; prints the error if not, or that the user ended it.
    pub(super) fn was_read_whole(self, name: &str) -> bool {
        let (is_stopped, frames) = (self.is_stopped, self.frames);
        if is_stopped {
            say(format_args!("{name}: {}", ended_after(frames)));
        }
        self.all().inspect_err(|error| say(format_args!("{error}"))).is_ok() && !is_stopped
    }
}

/// What is said of a capture that was not read to its end.
pub(super) fn ended_after(frames: u64) -> String {
    format!("ended by the user after frame {frames}")
}

/// Calls `on_frame` with the number of each frame, from 1, and the frame. A signal ends it, where the command waits for that. Progress
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
    progress: Option<Progress>,
    mut on_frame: impl FnMut(u64, &Record<'_>) -> anyhow::Result<bool>,
) -> anyhow::Result<FramesRead> {
    each_step(source, progress, |source, number| Ok(source.next()?.map(|record| on_frame(number, &record))))
}

/// [`each_while`] for commands that copy: `on_frame` is given the reader too, which knows the frame's comments and the interfaces.
pub(super) fn each_with_reader(
    reader: &mut Series,
    progress: Option<Progress>,
    mut on_frame: impl FnMut(u64, &Record<'_>, &Series) -> anyhow::Result<bool>,
) -> anyhow::Result<FramesRead> {
    let mut bytes = Vec::new();
    each_step(reader, progress, |reader, number| {
        let Some(record) = reader.next()? else { return Ok(None) };
        // The reader lends the frame or its comments, not both.
        bytes.clear();
        bytes.extend_from_slice(record.frame);
        let Record { time, link, interface, wire_len, .. } = record;
        let record = Record { time, link, interface, wire_len, frame: &bytes };
        Ok(Some(on_frame(number, &record, reader)))
    })
}

/// Calls `step` with the number of each frame, which it reads. It says whether the reading goes on, or `None` after the last frame.
fn each_step<S: Source>(
    source: &mut S,
    mut progress: Option<Progress>,
    mut step: impl FnMut(&mut S, u64) -> Result<Option<anyhow::Result<bool>>, capture::Error>,
) -> anyhow::Result<FramesRead> {
    let is_stopped = || STOP.load(Ordering::Relaxed);
    let (mut frames, mut failed, mut is_wanted) = (0, None, true);
    while is_wanted && !is_stopped() {
        match step(source, frames + 1) {
            Ok(Some(done)) => is_wanted = done?,
            Ok(None) => break,
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
        frames += 1;
        if let Some(progress) = &mut progress {
            progress.frame(frames, || source.info().bytes_read);
        }
    }
    // Streams end after a signal, too, some with an error.
    let is_stopped = is_wanted && is_stopped();
    Ok(FramesRead { frames, is_stopped, failed: failed.filter(|_| !is_stopped) })
}

/// The properties of captures, of which so many frames were read. Damage is also printed on standard error, and that the user ended the
/// reading.
pub(super) fn describe<'a>(captures: impl Iterator<Item = &'a Series>, frames: u64) -> Files {
    let captures: Vec<&Series> = captures.collect();
    let mut files = Files::of_series(captures.iter().copied());
    let infos = || captures.iter().flat_map(|capture| capture.files());
    infos().for_each(say_damage);
    if is_stopped() {
        let (name, bytes) = infos().last().map_or(("", 0), |info| (info.name.as_str(), info.bytes_read));
        say(format_args!("{name}: {}", ended_after(frames)));
        files.problems.push(CaptureProblem::new(name, bytes, ended_after(frames)));
    }
    files
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

    /// Of frames that are sent.
    #[cfg(all(unix, feature = "live"))]
    pub(super) fn of_frames(total: u64) -> Progress {
        const FRAMES: &str = "{wide_bar} {human_pos}/{human_len} frames {per_sec} {eta}";
        let is_wanted = io::stderr().is_terminal();
        Progress { began: Instant::now(), bar: None, is_wanted, total, template: FRAMES }
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
