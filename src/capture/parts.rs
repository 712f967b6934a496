//! A capture file that several threads read at a time, each other parts of it.
//!
//! ```text
//! file   |-- part 0 --|-- part 1 --|-- part 2 --|--
//! record   |----|----|----|-----|-----|---|----|----
//!          0    0    0    1     1     1   2    2
//! ```
//! Every part is read by itself. A record belongs to the part it begins in, so where a part's records begin is known when
//! the part before it was [walked](Parts::walk): that goes from one to the next, and is all that does.
//!
//! Parts have the records that are as nearly all are. At any other, where one is cut, or where the file cannot be read,
//! they end; who [goes on](super::Source::go_on) there finds out why.

use std::{fs::File, io};

use super::{Record, Time, reader::Frames};

/// Bytes of a part: it stays in a core's second-level cache.
const LEN: u64 = 128 << 10;

/// Bytes read behind it, for the record that is cut by its end.
const BEHIND: u64 = 2 << 10;

/// Bytes of a part with longer records, from which on they are not kept for the next one.
const LONG: usize = 1 << 20;

/// What is left of a capture file, for several threads to read.
///
/// ```no_run
/// use rdmawire::capture::{self, Next, Part, Source};
///
/// let mut reader = capture::open("trace.pcap".as_ref())?;
/// if let Some(parts) = reader.parts() {
///     let (mut part, mut at, mut frames, mut last) = (Part::default(), parts.start(), 0, None);
///     for number in 0..parts.count() {
///         // On any thread.
///         parts.read(number, &mut part);
///         // On any thread, one part after the other.
///         let next = parts.walk(&mut part, at);
///         // On any thread.
///         parts.show(&part, |record, _| println!("{}", record.time));
///         (frames, last) = (frames + part.frames(), part.last().or(last));
///         match next {
///             Next::At(next) => at = next,
///             Next::End(end) => {
///                 at = end;
///                 break;
///             }
///         }
///     }
///     reader.go_on(at, frames, last)?;
/// }
/// # Ok::<(), capture::Error>(())
/// ```
pub struct Parts {
    pub(super) file: File,
    pub(super) frames: Frames,
    /// Where in the file they are.
    pub(super) from: u64,
    pub(super) to: u64,
}

/// One of the [`Parts`]: bytes, and which records in them are its own.
#[derive(Debug, Default)]
pub struct Part {
    bytes: Vec<u8>,
    /// How many of them are read.
    have: usize,
    /// Where in the file they begin.
    offset: u64,
    records: std::ops::Range<usize>,
    count: u64,
    last: Option<Time>,
}

/// Where the records of the next part begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// At this byte of the file.
    At(u64),
    /// There are none: what is at this byte is not a record as nearly all are, or is cut.
    End(u64),
}

impl Parts {
    /// How many there are.
    pub fn count(&self) -> u64 {
        (self.to - self.from).div_ceil(LEN)
    }

    /// Where in the file the first record begins.
    pub fn start(&self) -> u64 {
        self.from
    }

    /// Reads a part, counted from 0: any of them, on any thread.
    pub fn read(&self, number: u64, part: &mut Part) {
        let offset = self.from.saturating_add(number.saturating_mul(LEN));
        if part.bytes.len() > LONG {
            part.bytes = Vec::new();
        }
        (part.offset, part.have, part.records, part.count, part.last) = (offset, 0, 0..0, 0, None);
        part.read(&self.file, (LEN + BEHIND).min(self.to.saturating_sub(offset)) as usize);
    }

    /// Steps through the records of a part that is read; the first begins at this byte of the file, as was said of the part
    /// before.
    pub fn walk(&self, part: &mut Part, first: u64) -> Next {
        let steps = self.frames.steps();
        let Some(at) = first.checked_sub(part.offset) else { return Next::End(first) };
        let mut at = at as usize;
        part.records = at..at;
        while at < LEN as usize {
            let rest = part.bytes.get(at..part.have).unwrap_or_default();
            if let Some((record, behind)) = steps.next(rest) {
                at = part.have - behind.len();
                (part.count, part.last) = (part.count + 1, Some(record.time));
                continue;
            }
            let upto = steps.len(rest).filter(|&len| len > rest.len()).map(|len| at + len);
            match upto.filter(|&upto| part.offset + upto as u64 <= self.to) {
                Some(upto) if part.read(&self.file, upto) => {}
                _ => {
                    part.records.end = at;
                    return Next::End(part.offset + at as u64);
                }
            }
        }
        part.records.end = at;
        Next::At(part.offset + at as u64)
    }

    /// Shows the records of a part that was walked, and where in [its bytes](Part::bytes) their frames begin.
    #[inline(always)]
    pub fn show(&self, part: &Part, mut see: impl FnMut(&Record<'_>, usize)) {
        let steps = self.frames.steps();
        let mut rest = part.bytes.get(part.records.clone()).unwrap_or_default();
        while let Some((record, behind)) = steps.next(rest) {
            see(&record, part.records.end - rest.len() + steps.header());
            rest = behind;
        }
    }
}

impl Part {
    /// What was read into it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where in the file what was read into it ends.
    pub fn end(&self) -> u64 {
        self.offset + self.have as u64
    }

    /// How many frames it has, once it was walked.
    pub fn frames(&self) -> u64 {
        self.count
    }

    /// When the last of them was captured.
    pub fn last(&self) -> Option<Time> {
        self.last
    }

    /// Reads on, until there are so many bytes; whether there are.
    fn read(&mut self, file: &File, upto: usize) -> bool {
        if self.bytes.len() < upto {
            self.bytes.resize(upto, 0);
        }
        while self.have < upto {
            match read_at(file, &mut self.bytes[self.have..upto], self.offset + self.have as u64) {
                Ok(0) => return false,
                Ok(got) => self.have += got,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        true
    }
}

#[cfg(unix)]
fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, into, offset)
}

#[cfg(windows)]
fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, into, offset)
}

#[cfg(not(any(unix, windows)))]
fn read_at(_: &File, _: &mut [u8], _: u64) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").field("from", &self.from).field("to", &self.to).finish_non_exhaustive()
    }
}
