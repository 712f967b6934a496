//! The file that a capture goes to, or with `--rotate` files one after the other.

use std::{
    collections::VecDeque,
    fs, mem,
    path::{Path, PathBuf},
    str::FromStr,
};

use anyhow::Context;
use rdmawire::{
    capture::{self, Format, Interface, Record, Sink},
    grammar::{print::several, units},
};

use crate::cli::{
    output::{self, CaptureFile},
    say,
};

/// When a new file begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rotation {
    /// After so many bytes of frames.
    Bytes(u64),
    /// After so many nanoseconds, by the times of frames.
    Time(i64),
}

impl FromStr for Rotation {
    type Err = String;

    fn from_str(text: &str) -> Result<Rotation, String> {
        let time = || units::positive_duration(text).ok().and_then(|ns| i64::try_from(ns).ok());
        match (time(), units::size(text)) {
            (Some(ns), _) => Ok(Rotation::Time(ns)),
            (None, Ok(bytes)) if bytes > 0 && !text.bytes().all(|c| c.is_ascii_digit()) => {
                Ok(Rotation::Bytes(bytes))
            }
            _ => Err("expected a size or a time with its unit: 100MB, 1GiB, 1min".to_owned()),
        }
    }
}

/// What a command writes captured frames into.
pub(super) struct Ring {
    path: PathBuf,
    format: Format,
    interfaces: Vec<Interface>,
    force: bool,
    rotation: Option<Rotation>,
    /// Most files that are there at a time; 0: all stay.
    most: usize,
    file: CaptureFile,
    name: PathBuf,
    /// Of the current file.
    bytes: u64,
    began: Option<i64>,
    /// Files that are complete, and how many there were.
    complete: VecDeque<PathBuf>,
    count: u64,
}

impl Ring {
    pub(super) fn create(
        path: &Path,
        format: Format,
        interfaces: &[Interface],
        force: bool,
        rotation: Option<Rotation>,
        most: usize,
    ) -> anyhow::Result<Ring> {
        let name = match rotation {
            Some(_) => numbered(path, 1),
            None => path.to_owned(),
        };
        let options = capture::Options { force, ..Default::default() };
        let file = output::create_capture(&name, format, interfaces, options)?;
        let (path, interfaces, complete) = (path.to_owned(), interfaces.to_vec(), VecDeque::new());
        Ok(Ring {
            path,
            format,
            interfaces,
            force,
            rotation,
            most,
            file,
            name,
            bytes: 0,
            began: None,
            complete,
            count: 0,
        })
    }

    pub(super) fn put(&mut self, record: &Record<'_>) -> anyhow::Result<()> {
        if self.is_full(record) {
            self.rotate()?;
        }
        self.began.get_or_insert(record.time.0);
        self.bytes += record.frame.len() as u64;
        Ok(self.file.put(record)?)
    }

    pub(super) fn flush(&mut self) -> anyhow::Result<()> {
        Ok(self.file.flush()?)
    }

    /// Whether the current file ends before this frame. Each has one at least.
    fn is_full(&self, record: &Record<'_>) -> bool {
        let Some(began) = self.began else { return false };
        match self.rotation {
            None => false,
            Some(Rotation::Bytes(most)) => self.bytes.saturating_add(record.frame.len() as u64) > most,
            Some(Rotation::Time(most)) => record.time.0.saturating_sub(began) >= most,
        }
    }

    /// Completes the file, begins the next one, and removes the oldest where there are too many.
    fn rotate(&mut self) -> anyhow::Result<()> {
        let name = numbered(&self.path, self.count + 2);
        let options = capture::Options { force: self.force, ..Default::default() };
        let next = output::create_capture(&name, self.format, &self.interfaces, options)?;
        mem::replace(&mut self.file, next).keep_quietly()?;
        self.complete.push_back(mem::replace(&mut self.name, name));
        (self.bytes, self.began, self.count) = (0, None, self.count + 1);
        // The one that is begun counts too.
        while self.most > 0 && self.complete.len() >= self.most {
            let Some(oldest) = self.complete.pop_front() else { break };
            fs::remove_file(&oldest).with_context(|| format!("removing {}", oldest.display()))?;
        }
        Ok(())
    }

    /// Completes the last file, with the frames that the system dropped, and says what was written.
    pub(super) fn keep(mut self, drops: Option<u64>) -> anyhow::Result<()> {
        if let Some(drops) = drops {
            self.file.set_drops(0, drops);
        }
        let Some(oldest) = self.complete.front() else { return self.file.keep() };
        self.file.keep_quietly()?;
        let files = several(self.complete.len() as u64 + 1, "file");
        say(format_args!("wrote {} to {}, {files}", oldest.display(), self.name.display()));
        Ok(())
    }
}

/// `x.pcapng.zst` becomes `x-00001.pcapng.zst`: files that are named so are read as one.
fn numbered(path: &Path, number: u64) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let plain = name.trim_end_matches(".gz").trim_end_matches(".zst");
    let stem = plain.rfind('.').map_or(plain, |dot| &plain[..dot]);
    path.with_file_name(format!("{stem}-{number:05}{}", &name[stem.len()..]))
}
