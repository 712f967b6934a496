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

use anyhow::{Context, anyhow};
use sha2::{Digest, Sha256};

use super::output::{Output, find_flow};
use crate::cli::{
    input::STOP,
    output::{self, Kind, OutFile},
    terminal,
};
use rdmawire::{
    analyze::metric::timeline::Timeline,
    capture::{self, Series, Source},
    dissect::{self, dissect_with},
    frame::{Clock, Frame, Line},
    report::{
        View,
        html::{Article, Lines, Made, MadeOf},
    },
    taps,
};

/// Flows with pictures in a page, but for the one that was asked for.
const PICTURES: usize = 12;

/// A page that is being made. While captures are analyzed, another thread computes the hashes of their files.
pub(super) struct Page {
    /// `None` for standard output.
    file: Option<OutFile>,
    files: JoinHandle<Vec<MadeOf>>,
    /// The flow that gets pictures in any case.
    flow: Option<String>,
    /// How many captures share the page.
    captures: usize,
    /// How the lines of frames are dissected; `None` where the numbers of frames are not those of the files.
    lines: Option<dissect::Options>,
    articles: Vec<Article>,
}

impl Page {
    /// Begins with the file of the page, so that a wrong path is known before the work.
    pub(super) fn begin(
        path: &Path,
        files: &[PathBuf],
        flow: Option<String>,
        captures: usize,
        lines: Option<dissect::Options>,
        force: bool,
    ) -> anyhow::Result<Page> {
        let is_file = path != Path::new("-");
        let file = is_file.then(|| output::create(path, Kind::Page, force).context("--html")).transpose()?;
        let files = files.to_owned();
        let files = thread::spawn(move || files.iter().map(|path| made_of(path)).collect());
        Ok(Page { file, files, flow, captures, lines, articles: Vec::new() })
    }
}

impl Output for Page {
    fn has_pictures(&self) -> bool {
        true
    }

    fn report(&mut self, report: &View<'_>, timeline: Option<&Timeline>) -> anyhow::Result<()> {
        let wanted: Vec<usize> = match self.flow.as_deref().map(|which| find_flow(report, which)) {
            Some(Err(error)) if self.captures == 1 => return Err(error),
            found => found.and_then(Result::ok).into_iter().collect(),
        };
        let most = PICTURES.div_ceil(self.captures);
        let pictures = timeline.map_or_else(Vec::new, |timeline| timeline.charts(report, &wanted, most));
        let rows = (Article::ROWS / self.captures).max(100);
        let lines = self.lines.map_or_else(Lines::new, |options| frame_lines(report, options));
        self.articles.push(Article::of(report, pictures, lines, rows)?);
        Ok(())
    }

    fn end(self: Box<Self>) -> anyhow::Result<()> {
        let Page { file, files, articles, .. } = *self;
        let files = files.join().map_err(|_| anyhow!("the hashes of the files could not be computed"))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        let at_ns = now.and_then(|now| i64::try_from(now.as_nanos()).ok());
        let made = Made { command: command(), at_ns, files };
        let Some(mut file) = file else {
            let mut out = io::BufWriter::new(terminal::stdout()?);
            made.page(&articles, &mut out)?;
            return Ok(out.flush()?);
        };
        let mut out = io::BufWriter::new(&mut file);
        let written = made.page(&articles, &mut out).and_then(|()| out.flush());
        drop(out);
        written.and_then(|()| file.keep()).context("--html")
    }
}

/// The frames of the page as lines, from a second reading of the files, as far as it is needed; none of streams.
fn frame_lines(report: &View<'_>, options: dissect::Options) -> Lines {
    let (mut lines, wanted) = (Lines::new(), Article::frames(report));
    let files = &report.head.capture.files;
    let Some(&last) = wanted.last().filter(|_| files.iter().all(|name| Path::new(name).is_file())) else {
        return lines;
    };
    let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
    let opened = |parts: Vec<PathBuf>| Series::open(parts.first()?, parts.iter().skip(1).cloned()).ok();
    let mut captures: Vec<Series> = capture::parts_of_one(&files).into_iter().filter_map(opened).collect();
    // Frames are numbered as the analysis numbered them: only several captures are merged.
    let mut frames: Box<dyn Source> = match captures.pop() {
        Some(one) if captures.is_empty() => Box::new(one),
        Some(last) => Box::new(taps::merge(captures.into_iter().chain([last]).collect())),
        None => return lines,
    };
    let (mut line, mut number) = (Line::new(Clock::Relative, false), 0);
    while let Ok(Some(record)) = frames.next() {
        number += 1;
        if number > last || STOP.load(Ordering::Relaxed) {
            break;
        }
        if !wanted.contains(&number) {
            line.pass(record.time.0);
            continue;
        }
        let d = dissect_with(options, record.link, record.frame, record.wire_len);
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = line.write(&Frame::new(number, record.time.0, &d), &mut text);
        lines.insert(number, text.trim_end().to_owned());
    }
    lines
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
