//! A capture file in parts, which several threads read at a time.
//!
//! ```text
//! file   |-- part 0 --|-- part 1 --|-- part 2 --|--
//! record   |----|----|----|-----|-----|---|----|----
//!          0    0    0    1     1     1   2    2
//! ```
//! Any thread reads any part. A record belongs to the part in which it begins. Where the first record of a part begins is
//! known when a [`Cursor`] has [passed](Parts::advance) the part before: only that step is serial.
//!
//! Parts hold well-formed records only. They end at any other record, at a cut one, and where the file cannot be read. The
//! source [resumes](super::Source::resume) there and finds out why.

use std::{fs::File, io};

use super::{
    Record, Time,
    decoder::Decoder,
    window::{PAGE, place},
};

/// Bytes of a part. It fits into a core's second-level cache, together with what is known of its frames. Smaller parts cost
/// more hand-overs between threads.
const LEN: u64 = 512 << 10;

/// Bytes read behind a part, for its last record.
const BEHIND: u64 = 2 << 10;

/// Longest buffer, in bytes, that is used again for the next part.
const LONG: usize = 1 << 20;

/// The rest of a capture file, for several threads to read.
///
/// ```no_run
/// use rdmawire::capture::{self, Part, Source};
///
/// let mut reader = capture::open("trace.pcap".as_ref())?;
/// if let Some(parts) = reader.parts() {
///     let (mut part, mut cursor) = (Part::default(), parts.cursor());
///     for number in 0..parts.count() {
///         // On any thread.
///         parts.read(number, &mut part);
///         // On any thread, one part after the other.
///         let is_more = parts.advance(&mut part, &mut cursor);
///         // On any thread.
///         parts.for_each(&part, |record, _| println!("{}", record.time));
///         if !is_more {
///             break;
///         }
///     }
///     reader.resume(&cursor)?;
/// }
/// # Ok::<(), capture::Error>(())
/// ```
pub struct Parts {
    pub(super) file: File,
    pub(super) decoder: Decoder,
    /// First byte in the file, and the one behind the last.
    pub(super) from: u64,
    pub(super) to: u64,
}

/// One of the [`Parts`]: its bytes, and the range of its records in them.
#[derive(Debug, Default)]
pub struct Part {
    buffer: Vec<u8>,
    /// Where the part begins in the buffer.
    from: usize,
    /// Bytes read.
    have: usize,
    /// Where the part begins in the file.
    offset: u64,
    records: std::ops::Range<usize>,
}

/// A position between two records of a file.
#[derive(Clone, Copy, Debug)]
pub struct Cursor {
    pub(super) at: u64,
    pub(super) frames: u64,
    /// Time of the last of these frames.
    pub(super) last: Time,
}

impl Cursor {
    /// The byte of the file where the next record begins.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Frames between the first part's beginning and here.
    pub fn frames(&self) -> u64 {
        self.frames
    }
}

impl Parts {
    /// Number of parts.
    pub fn count(&self) -> u64 {
        (self.to - self.from).div_ceil(LEN)
    }

    /// The position of the first record.
    pub fn cursor(&self) -> Cursor {
        Cursor { at: self.from, frames: 0, last: Time::default() }
    }

    /// Reads part `number`, from 0. Parts may be read in any order, on any thread.
    pub fn read(&self, number: u64, part: &mut Part) {
        let offset = self.from.saturating_add(number.saturating_mul(LEN));
        if part.buffer.is_empty() || part.buffer.len() > LONG {
            part.buffer = vec![0; (LEN + BEHIND) as usize + PAGE];
        }
        (part.offset, part.from, part.have, part.records) = (offset, place(&part.buffer, offset), 0, 0..0);
        part.read(&self.file, (LEN + BEHIND).min(self.to.saturating_sub(offset)) as usize);
    }

    /// Finds the records of a part that was read, from the cursor on, and moves the cursor behind them. True if the next
    /// part may hold more; false at the file's end and before a record that is cut or not well-formed.
    pub fn advance(&self, part: &mut Part, cursor: &mut Cursor) -> bool {
        let (Some(steps), Some(at)) = (self.decoder.fast_path(), cursor.at.checked_sub(part.offset)) else {
            return false;
        };
        let mut at = at as usize;
        part.records = at..at;
        while at < LEN as usize {
            let rest = part.bytes().get(at..part.have).unwrap_or_default();
            if let Some((record, behind)) = steps.next(rest) {
                at = part.have - behind.len();
                (cursor.frames, cursor.last) = (cursor.frames + 1, record.time);
                continue;
            }
            let upto = steps.len(rest).filter(|&len| len > rest.len()).map(|len| at + len);
            let is_there =
                upto.is_some_and(|upto| part.offset + upto as u64 <= self.to && part.read(&self.file, upto));
            if !is_there {
                break;
            }
        }
        part.records.end = at;
        cursor.at = part.offset + at as u64;
        at >= LEN as usize && cursor.at < self.to
    }

    /// Gives the records of a part that the cursor has passed, and where their frames begin in [its bytes](Part::bytes).
    #[inline(always)]
    pub fn for_each(&self, part: &Part, mut on_record: impl FnMut(&Record<'_>, usize)) {
        let Some(steps) = self.decoder.fast_path() else { return };
        let mut rest = part.bytes().get(part.records.clone()).unwrap_or_default();
        while let Some((record, behind)) = steps.next(rest) {
            on_record(&record, part.records.end - rest.len() + steps.header());
            rest = behind;
        }
    }
}

impl Part {
    /// The bytes read.
    pub fn bytes(&self) -> &[u8] {
        self.buffer.get(self.from..).unwrap_or_default()
    }

    /// Where in the file the bytes read end.
    pub fn end(&self) -> u64 {
        self.offset + self.have as u64
    }

    /// Reads until `upto` bytes are there; false if the file has fewer.
    fn read(&mut self, file: &File, upto: usize) -> bool {
        let end = self.from + upto;
        if self.buffer.len() < end {
            self.buffer.resize(end, 0);
        }
        while self.have < upto {
            let into = &mut self.buffer[self.from + self.have..end];
            match read_at(file, into, self.offset + self.have as u64) {
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

#[cfg(test)]
#[path = "../../tests/unit/capture_parts.rs"]
mod tests;
