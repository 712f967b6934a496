//! The door of all files that commands write, with one rule: a file is there whole, or not at all. What exists is replaced with
//! `--force`, or if this program wrote it; what the command reads is never replaced. Each command says what it wrote.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write},
    ops::{Deref, DerefMut},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use anyhow::{anyhow, bail};
use rdmawire::{
    analyze::is_state,
    capture::{self, Format, Interface, Sink as _, WholeFile, Writer},
    gate::write as gate,
    plot, report,
};

use super::{say, signals};

/// What is written. Files that only this program makes are known by how they begin, and are replaced unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The page of `--html`.
    Page,
    /// The trace of `--perfetto`.
    Trace,
    /// The outcomes of `--junit`.
    Junit,
    /// The outcomes of `--sarif`.
    Sarif,
    /// The picture of `plot`.
    Svg,
    /// The state of an analysis.
    State,
    /// Captures, tables and texts, which others make too.
    Other,
}

impl Kind {
    /// Whether this program wrote the file at `path`, as one of this kind.
    fn is_of(self, path: &Path) -> bool {
        const LONGEST: u64 = 4096;
        let begins = |is_ours: fn(&[u8]) -> bool| {
            let mut first = Vec::new();
            let read = File::open(path).and_then(|file| file.take(LONGEST).read_to_end(&mut first));
            read.is_ok() && is_ours(&first)
        };
        match self {
            Kind::Page => begins(report::html::is_page),
            Kind::Trace => begins(plot::perfetto::is_trace),
            Kind::Junit => begins(gate::is_junit),
            Kind::Sarif => begins(gate::is_sarif),
            Kind::Svg => begins(plot::is_svg),
            Kind::State => File::open(path).is_ok_and(is_state),
            Kind::Other => false,
        }
    }
}

/// The files that this command reads and writes.
#[derive(Default)]
struct Used {
    read: Vec<PathBuf>,
    written: Vec<PathBuf>,
    /// Copies of streams, and what the user calls them.
    copies: Vec<(String, String)>,
}

impl Used {
    /// Refuses an output that is an input, or that is written already or among these.
    fn may_write(&self, path: &Path, before: &[&PathBuf]) -> anyhow::Result<()> {
        let name = path.display();
        if self.read.iter().any(|other| is_same(path, other)) {
            bail!("{name} is an input of this command: give the output another name");
        }
        let mut written = self.written.iter().chain(before.iter().copied());
        if written.any(|other| is_same(path, other)) {
            bail!("{name} would be written twice: give each output a name of its own");
        }
        Ok(())
    }
}

static USED: Mutex<Used> = Mutex::new(Used { read: Vec::new(), written: Vec::new(), copies: Vec::new() });

fn used() -> MutexGuard<'static, Used> {
    USED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The command will read this file: then it does not write it.
pub(super) fn will_read(path: &Path) {
    used().read.push(path.to_owned());
}

/// As [`will_read`], of what is read from its start to its end.
///
/// # Errors
/// It is standard input, and another input is too: whoever comes second would find nothing.
pub(super) fn will_read_once(path: &Path) -> anyhow::Result<()> {
    let stdin = Path::new("-");
    if path == stdin && used().read.iter().any(|other| other == stdin) {
        bail!("`-`: standard input is one file: it cannot be read twice");
    }
    will_read(path);
    Ok(())
}

/// A stream was copied, to be read twice: messages call the copy as the stream.
pub(super) fn is_copy_of(copy: &Path, stream: &Path) {
    used().copies.push((copy.display().to_string(), stream.display().to_string()));
}

/// A message as the user knows the files.
pub(super) fn as_named(message: String) -> String {
    // An error may come while this is locked: then the message stays as it is.
    let Ok(used) = USED.try_lock() else { return message };
    used.copies.iter().fold(message, |message, (copy, stream)| message.replace(copy, stream))
}

/// A file that is begun. It gets its name when it is kept.
#[derive(Debug)]
pub(super) struct OutFile {
    whole: WholeFile,
    /// As the user gave it.
    path: PathBuf,
}

impl OutFile {
    /// Gives the file its name, and says so.
    pub(super) fn keep(self) -> io::Result<()> {
        let path = self.path.clone();
        self.keep_quietly()?;
        wrote(&path);
        Ok(())
    }

    /// Gives the file its name. Whoever keeps many of them says in one line what was written.
    pub(super) fn keep_quietly(self) -> io::Result<()> {
        let OutFile { whole, path } = self;
        whole.keep().map_err(|error| at(&path, error))
    }
}

impl Write for OutFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.whole.write(bytes).map_err(|error| at(&self.path, error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.whole.flush().map_err(|error| at(&self.path, error))
    }
}

/// An error of writing, with the name of the file: of several outputs, it says which.
#[cold]
fn at(path: &Path, error: io::Error) -> io::Error {
    match error.kind() {
        // Whoever writes tries again, or ends without a word.
        io::ErrorKind::Interrupted | io::ErrorKind::BrokenPipe => error,
        kind => io::Error::new(kind, format!("{}: {error}", path.display())),
    }
}

/// Says that a file was written; standard output and devices are no files.
pub(super) fn wrote(path: &Path) {
    if path.is_file() {
        say(format_args!("wrote {}", path.display()));
    }
}

/// Begins a file.
///
/// # Errors
/// There is another file, or the command reads it, or writes it twice; what the system says. The error names the file.
pub(super) fn create(path: &Path, kind: Kind, force: bool) -> anyhow::Result<OutFile> {
    let force = allow(path, kind, force)?;
    let whole = WholeFile::create(path, force).map_err(|error| refused(path, error))?;
    Ok(OutFile { whole, path: path.to_owned() })
}

/// Writes a file.
pub(super) fn write(path: &Path, kind: Kind, force: bool, bytes: &[u8]) -> anyhow::Result<()> {
    write_quietly(path, kind, force, bytes)?;
    wrote(path);
    Ok(())
}

/// Writes one of many files.
pub(super) fn write_quietly(path: &Path, kind: Kind, force: bool, bytes: &[u8]) -> anyhow::Result<()> {
    let mut file = create(path, kind, force)?;
    Ok(file.write_all(bytes).and_then(|()| file.keep_quietly())?)
}

/// Refuses files that [`create`] would refuse, before any of them is written: what a command writes is there whole, or not at all.
pub(super) fn check(paths: &[PathBuf], kind: Kind, force: bool) -> anyhow::Result<()> {
    let files = paths.iter().filter(|path| *path != Path::new("-"));
    let is_device = |path: &Path| fs::metadata(path).is_ok_and(|there| !(there.is_file() || there.is_dir()));
    let files: Vec<&PathBuf> = files.filter(|path| !is_device(path)).collect();
    let used = used();
    for (at, path) in files.iter().enumerate() {
        used.may_write(path, &files[..at])?;
        if path.is_dir() {
            bail!("{}: is a directory", path.display());
        }
        if path.exists() && !(force || kind.is_of(path) || is_empty(path)) {
            return Err(refused(path, io::ErrorKind::AlreadyExists.into()));
        }
        if let Some(folder) = path.parent().filter(|folder| *folder != Path::new("") && !folder.is_dir()) {
            bail!("{}: there is no directory {}", path.display(), folder.display());
        }
    }
    Ok(())
}

/// Whether a file may be replaced that stands at `path`.
fn allow(path: &Path, kind: Kind, force: bool) -> anyhow::Result<bool> {
    signals::watch();
    // Devices may be read and written, also twice.
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return Ok(force);
    }
    let mut used = used();
    used.may_write(path, &[])?;
    used.written.push(path.to_owned());
    Ok(force || kind.is_of(path) || is_empty(path))
}

/// An empty file holds nothing that could be lost: `mktemp` makes some.
fn is_empty(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| there.is_file() && there.len() == 0)
}

fn refused(path: &Path, error: io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::AlreadyExists => anyhow!("{} exists; --force replaces it", path.display()),
        _ => anyhow!("{}: {error}", path.display()),
    }
}

/// Whether both are one file, also by links, or will be.
fn is_same(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if let (Ok(one), Ok(other)) = (fs::metadata(one), fs::metadata(other)) {
            return (one.dev(), one.ino()) == (other.dev(), other.ino());
        }
    }
    let whole = |path: &Path| {
        let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        let folder = fs::canonicalize(folder).ok()?;
        fs::canonicalize(path).ok().or_else(|| Some(folder.join(path.file_name()?)))
    };
    whole(one).zip(whole(other)).is_some_and(|(one, other)| one == other)
}

/// The name of a picture.
///
/// # Errors
/// It ends in something else.
pub(super) fn svg_path(path: &str) -> Result<PathBuf, String> {
    let is_svg = Path::new(path).extension().is_some_and(|end| end.eq_ignore_ascii_case("svg"));
    is_svg.then(|| path.into()).ok_or_else(|| "expected a name that ends in .svg: only SVG is written".into())
}

/// A capture that is begun.
pub(super) struct CaptureFile {
    writer: Writer,
    path: PathBuf,
}

/// Begins a capture; `-` is standard output.
pub(super) fn create_capture(
    path: &Path,
    format: Format,
    interfaces: &[Interface],
    mut options: capture::Options,
) -> anyhow::Result<CaptureFile> {
    if path != Path::new("-") {
        options.force = allow(path, Kind::Other, options.force)?;
    }
    let force = options.force;
    let writer = capture::create(path, format, interfaces, options).map_err(|error| match path.exists() {
        true if !force => refused(path, io::ErrorKind::AlreadyExists.into()),
        _ => error.into(),
    })?;
    Ok(CaptureFile { writer, path: path.to_owned() })
}

impl CaptureFile {
    /// Completes the capture, and says so.
    pub(super) fn keep(self) -> anyhow::Result<()> {
        let path = self.path.clone();
        self.keep_quietly()?;
        wrote(&path);
        Ok(())
    }

    /// Completes the capture, of which the command says more than its name.
    pub(super) fn keep_quietly(mut self) -> anyhow::Result<()> {
        Ok(self.writer.finish()?)
    }
}

impl Deref for CaptureFile {
    type Target = Writer;
    fn deref(&self) -> &Writer {
        &self.writer
    }
}

impl DerefMut for CaptureFile {
    fn deref_mut(&mut self) -> &mut Writer {
        &mut self.writer
    }
}
