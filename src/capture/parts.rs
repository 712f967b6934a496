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

use super::{
    Record, Time,
    reader::Frames,
    window::{PAGE, place},
};

/// Bytes of a part: it stays in a core's second-level cache, with what is known of its frames. A quarter of it, which would too,
/// took up to a tenth more time for short frames, for then parts are handed on four times as often, and 2 % for full ones;
/// twice as many took a tenth more for those.
const LEN: u64 = 512 << 10;

/// Bytes read behind it, for the record that is cut by its end.
const BEHIND: u64 = 2 << 10;

/// Bytes of a part with longer records, from which on they are not kept for the next one.
const LONG: usize = 1 << 20;

/// What is left of a capture file, for several threads to read.
///
/// ```no_run
/// use rdmawire::capture::{self, Part, Source};
///
/// let mut reader = capture::open("trace.pcap".as_ref())?;
/// if let Some(parts) = reader.parts() {
///     let (mut part, mut walk) = (Part::default(), parts.start());
///     for number in 0..parts.count() {
///         // On any thread.
///         parts.read(number, &mut part);
///         // On any thread, one part after the other.
///         let is_more = parts.walk(&mut part, &mut walk);
///         // On any thread.
///         parts.show(&part, |record, _| println!("{}", record.time));
///         if !is_more {
///             break;
///         }
///     }
///     reader.go_on(&walk)?;
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
    buffer: Vec<u8>,
    /// Where in it the part begins.
    from: usize,
    /// How many of its bytes are read.
    have: usize,
    /// Where in the file they begin.
    offset: u64,
    records: std::ops::Range<usize>,
}

/// How far a file was walked: where its next record begins.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    pub(super) at: u64,
    pub(super) frames: u64,
    /// When the last of them was captured.
    pub(super) last: Time,
}

impl Walk {
    /// This byte of the file.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Frames in the parts before.
    pub fn frames(&self) -> u64 {
        self.frames
    }
}

impl Parts {
    /// How many there are.
    pub fn count(&self) -> u64 {
        (self.to - self.from).div_ceil(LEN)
    }

    /// A walk that begins with the first record.
    pub fn start(&self) -> Walk {
        Walk { at: self.from, frames: 0, last: Time::default() }
    }

    /// Reads a part, counted from 0: any of them, on any thread.
    pub fn read(&self, number: u64, part: &mut Part) {
        let offset = self.from.saturating_add(number.saturating_mul(LEN));
        if part.buffer.is_empty() || part.buffer.len() > LONG {
            part.buffer = vec![0; (LEN + BEHIND) as usize + PAGE];
        }
        (part.offset, part.from, part.have, part.records) = (offset, place(&part.buffer, offset), 0, 0..0);
        part.read(&self.file, (LEN + BEHIND).min(self.to.saturating_sub(offset)) as usize);
    }

    /// Steps through the records of a part that is read, where the one before it ended. Whether there may be more behind it:
    /// false where the file ends, and where what is next is cut, or not a record as nearly all are.
    pub fn walk(&self, part: &mut Part, walk: &mut Walk) -> bool {
        let (Some(steps), Some(at)) = (self.frames.steps(), walk.at.checked_sub(part.offset)) else {
            return false;
        };
        let mut at = at as usize;
        part.records = at..at;
        while at < LEN as usize {
            let rest = part.bytes().get(at..part.have).unwrap_or_default();
            if let Some((record, behind)) = steps.next(rest) {
                at = part.have - behind.len();
                (walk.frames, walk.last) = (walk.frames + 1, record.time);
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
        walk.at = part.offset + at as u64;
        at >= LEN as usize && walk.at < self.to
    }

    /// Shows the records of a part that was walked, and where in [its bytes](Part::bytes) their frames begin.
    #[inline(always)]
    pub fn show(&self, part: &Part, mut see: impl FnMut(&Record<'_>, usize)) {
        let Some(steps) = self.frames.steps() else { return };
        let mut rest = part.bytes().get(part.records.clone()).unwrap_or_default();
        while let Some((record, behind)) = steps.next(rest) {
            see(&record, part.records.end - rest.len() + steps.header());
            rest = behind;
        }
    }
}

impl Part {
    /// What was read into it.
    pub fn bytes(&self) -> &[u8] {
        self.buffer.get(self.from..).unwrap_or_default()
    }

    /// Where in the file what was read into it ends.
    pub fn end(&self) -> u64 {
        self.offset + self.have as u64
    }

    /// Reads on, until there are so many bytes; whether there are.
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
mod tests {
    use super::*;
    use crate::capture::{Source, open};

    #[test]
    fn bytes_lie_as_in_the_systems_pages() {
        let path = std::env::temp_dir().join(format!("rdmawire-parts-{}.pcap", std::process::id()));
        let mut bytes = std::fs::read("pcaps/loss1_rc_write-B-300.pcap").unwrap();
        bytes.resize(4 * LEN as usize, 0);
        std::fs::write(&path, bytes).unwrap();
        let mut reader = open(&path).unwrap();
        reader.next().unwrap();
        std::fs::remove_file(&path).unwrap();
        let parts = reader.parts().unwrap();
        let mut part = Part::default();
        for number in 0..parts.count() {
            parts.read(number, &mut part);
            assert_eq!(part.bytes().as_ptr().addr() % PAGE, part.offset as usize % PAGE);
        }
        assert!(parts.count() > 2 && part.end() == parts.to);
    }
}
