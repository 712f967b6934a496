//! `--html`: the file of the page, and what the page says of how it was made.

use std::{
    env,
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::atomic::Ordering,
    thread::{self, JoinHandle},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, anyhow, bail};
use sha2::{Digest, Sha256};

use super::{input::STOP, terminal};
use rdmawire::{
    capture::WholeFile,
    report::html::{Article, Made, MadeOf},
};

/// A page that is being made. While captures are analyzed, another thread computes the hashes of their files.
pub(super) struct Making {
    path: PathBuf,
    /// `None` for standard output.
    file: Option<WholeFile>,
    files: JoinHandle<Vec<MadeOf>>,
}

impl Making {
    /// Begins with the file of the page, so that a wrong path is known before the work.
    pub(super) fn begin(path: &Path, captures: &[PathBuf]) -> anyhow::Result<Making> {
        let named = || format!("--html: {}", path.display());
        let file = if path == Path::new("-") {
            None
        } else if is_other(path).with_context(named)? {
            bail!("{}: there is a file that is no page; remove it, or give another name", named());
        } else {
            Some(WholeFile::create(path, true).with_context(named)?)
        };
        let captures = captures.to_owned();
        let files = thread::spawn(move || captures.iter().map(|path| made_of(path)).collect());
        Ok(Making { path: path.to_owned(), file, files })
    }

    /// Writes the page.
    pub(super) fn end(self, articles: &[Article]) -> anyhow::Result<()> {
        let files =
            self.files.join().map_err(|_| anyhow!("the hashes of the files could not be computed"))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        let at_ns = now.and_then(|now| i64::try_from(now.as_nanos()).ok());
        let made = Made { command: command(), at_ns, files };
        let Some(mut file) = self.file else {
            let mut out = io::BufWriter::new(terminal::stdout()?);
            made.page(articles, &mut out)?;
            return Ok(out.flush()?);
        };
        let mut out = io::BufWriter::new(&mut file);
        let written = made.page(articles, &mut out).and_then(|()| out.flush());
        drop(out);
        written.and_then(|()| file.keep()).with_context(|| format!("--html: {}", self.path.display()))
    }
}

/// Whether there is a file that is not a page: perhaps a capture, which nobody wants to lose.
fn is_other(path: &Path) -> io::Result<bool> {
    const FIRST: &[u8] = b"<!DOCTYPE html>";
    if !path.is_file() {
        return Ok(false);
    }
    let mut first = Vec::new();
    File::open(path)?.take(FIRST.len() as u64).read_to_end(&mut first)?;
    Ok(!first.is_empty() && first != FIRST)
}

/// The command line. An argument with unusual characters is in quotes.
fn command() -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:,=+@%".contains(c);
    let quoted = |argument: String| match !argument.is_empty() && argument.chars().all(plain) {
        true => argument,
        false => format!("'{}'", argument.replace('\'', r"'\''")),
    };
    let arguments = env::args_os().skip(1).map(|argument| quoted(argument.to_string_lossy().into_owned()));
    std::iter::once("rdmawire".to_owned()).chain(arguments).collect::<Vec<_>>().join(" ")
}

fn made_of(path: &Path) -> MadeOf {
    let known = if path.is_file() { hash(path).ok().flatten() } else { None };
    MadeOf { name: path.display().to_string(), known }
}

/// Size and SHA-256 of a file; `None` after Ctrl-C.
fn hash(path: &Path) -> io::Result<Option<(u64, String)>> {
    let (mut file, mut hash, mut size) = (File::open(path)?, Sha256::new(), 0);
    let mut chunk = vec![0; 1 << 18];
    loop {
        let n = match file.read(&mut chunk) {
            Ok(0) => return Ok(Some((size, format!("{:x}", hash.finalize())))),
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hash.update(&chunk[..n]);
        size += n as u64;
        if STOP.load(Ordering::Relaxed) {
            return Ok(None);
        }
    }
}
