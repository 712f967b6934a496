//! The bytes of a capture, through a window that moves over them.
//!
//! ```text
//! file        base                    offset()
//!        -----|-----------------------|-----------------|---------------
//! bytes()     from ..     read        pos ..  rest()    end
//! ```
//! The parser of a format reads [`rest`](Input::rest). If that is too short, it calls [`fill`](Input::fill), which moves the rest to
//! the start of the window and reads more bytes. Frames are borrowed from the window. Only a frame that crosses its end is
//! copied. If someone still holds the [`Buffer`], reading continues in another one.
//!
//! [`place`] chooses the start of the window: the address that the system copies to matters for speed.

use std::fmt;
use std::io::{self, Read};

use super::buffer::Buffer;
use super::{Info, Problem};

/// A search for the next plausible record ends after so many bytes.
pub(super) const SEARCH: usize = 1 << 20;

/// Bytes of a page of memory. Larger pages are multiples of it.
pub(super) const PAGE: usize = 4 << 10;

/// The index in `bytes`, within their first page, where the bytes of a file from `offset` on are put: the same address within
/// a page as in the system's page cache. On some processors, a copy to an address a few bytes higher is several times slower,
/// because a load seems to depend on an earlier store (4K aliasing). Large allocations begin 16 bytes after the start of a
/// page, so this would happen to every file.
pub(super) fn place(bytes: &[u8], offset: u64) -> usize {
    (offset as usize).wrapping_sub(bytes.as_ptr().addr()) % PAGE
}

/// Bytes of the first read, and of the smallest window. Reading in [parts](super::Parts) needs no more.
const FIRST: usize = 64 << 10;

/// A file became shorter while it was read. The inner error of an [`io::Error`].
#[derive(Debug)]
pub(super) struct Shrunk;

impl fmt::Display for Shrunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("became shorter while it was read; the frames before the last are right")
    }
}

impl std::error::Error for Shrunk {}

/// Compressed data that does not decompress. The inner error of an [`io::Error`] of a [`Refill`].
#[derive(Debug)]
pub(super) struct Corrupt(pub(super) String);

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Corrupt {}

/// What fills the window: a file, or what it decompresses to.
pub(super) trait Refill: Send {
    /// Reads as [`Read::read`] does.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize>;

    /// Bytes of the file on disk read so far, where these are not the bytes of the window.
    fn bytes_read(&self) -> Option<u64> {
        None
    }
}

/// The bytes as they are.
pub(super) struct Plain<R>(pub(super) R);

impl<R: Read + Send> Refill for Plain<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

/// The bytes of a capture.
pub(super) struct Input {
    bytes: Buffer,
    /// Buffers used before, which others may hold.
    left: Vec<Buffer>,
    /// Bytes of a buffer.
    window: usize,
    source: Box<dyn Refill>,
    /// Where the window begins.
    from: usize,
    pub(super) pos: usize,
    end: usize,
    base: u64,
    over: bool,
    corrupt: Option<String>,
    total: Option<u64>,
}

impl Input {
    /// Reads `source` through a window of `window` bytes. `total`: bytes of the file on disk, if known.
    pub(super) fn new(source: Box<dyn Refill>, window: usize, total: Option<u64>) -> Input {
        let window = window.clamp(FIRST, 16 << 20) + PAGE;
        Input {
            bytes: Buffer::new(window),
            left: Vec::new(),
            window,
            source,
            from: 0,
            pos: 0,
            end: 0,
            base: 0,
            over: false,
            corrupt: None,
            total,
        }
    }

    #[inline(always)]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What holds them.
    #[inline(always)]
    pub(super) fn buffer(&self) -> &Buffer {
        &self.bytes
    }

    /// The bytes in the buffer that are not consumed yet.
    #[inline(always)]
    pub(super) fn rest(&self) -> &[u8] {
        self.bytes.get(self.pos..self.end).unwrap_or_default()
    }

    /// Where in the file the next byte is.
    pub(super) fn offset(&self) -> u64 {
        self.base + (self.pos - self.from) as u64
    }

    /// Bytes the file on disk has, when known.
    pub(super) fn total(&self) -> Option<u64> {
        self.total
    }

    /// Bytes of the file on disk read so far.
    pub(super) fn bytes_read(&self) -> u64 {
        self.source.bytes_read().unwrap_or(self.base + (self.end - self.from) as u64)
    }

    /// Why the compressed data ended before its end, once.
    pub(super) fn take_corrupt(&mut self) -> Option<String> {
        self.corrupt.take()
    }

    /// Notes why the reading ended when no more can be read: damage of the compressed data, or else `cut`.
    #[cold]
    pub(super) fn end(&mut self, info: &mut Info, cut: Option<Problem>) {
        info.bytes_read = self.bytes_read();
        let corrupt = self.take_corrupt().map(|reason| Problem::Compressed { reason });
        if let Some(problem) = corrupt.or(cut) {
            info.damaged(self.offset(), problem, 0, true);
        }
    }

    /// Makes `need` bytes available in [`rest`](Input::rest); false if the file ends before. The window grows to twice `need`,
    /// so the caller must bound it.
    #[cold]
    pub(super) fn fill(&mut self, need: usize) -> io::Result<bool> {
        if self.end - self.pos >= need || self.over {
            return Ok(self.end - self.pos >= need);
        }
        let offset = self.offset();
        let Some(bytes) = self.bytes.alone() else {
            self.move_on(need);
            return self.read(need);
        };
        if self.pos + need > bytes.len() || self.pos == self.end {
            // With twice the need, a byte is moved at most as often as it is read, for any lengths in the file.
            if bytes.len() < 2 * need + PAGE {
                bytes.resize(2 * need + PAGE, 0);
            }
            let from = place(bytes, offset);
            bytes.copy_within(self.pos..self.end, from);
            self.begin(from);
        }
        self.read(need)
    }

    /// Continues at this byte of the file. The caller has moved the file itself.
    pub(super) fn resume(&mut self, offset: u64) {
        (self.base, self.from, self.pos, self.end, self.over) = (offset, 0, 0, 0, false);
    }

    /// Continues in another buffer, with the rest of this one.
    fn move_on(&mut self, need: usize) {
        let free =
            self.left.iter_mut().position(|left| left.len() >= 2 * need + PAGE && left.alone().is_some());
        let mut next = match free {
            Some(at) => self.left.swap_remove(at),
            None => Buffer::new((2 * need + PAGE).max(self.window)),
        };
        let (from, rest) = (place(&next, self.offset()), self.rest());
        if let Some(into) = next.alone().and_then(|next| next.get_mut(from..from + rest.len())) {
            into.copy_from_slice(rest);
        }
        let last = std::mem::replace(&mut self.bytes, next);
        // Buffers for very long records are not kept.
        if last.len() <= self.window {
            self.left.push(last);
        }
        self.begin(from);
    }

    /// The window begins at `from` now, with what was at `pos`.
    fn begin(&mut self, from: usize) {
        self.base = self.offset();
        self.end = from + (self.end - self.pos);
        (self.from, self.pos) = (from, from);
    }

    /// Reads more, into a buffer that nobody else holds.
    fn read(&mut self, need: usize) -> io::Result<bool> {
        while self.end - self.pos < need && !self.over {
            let upto = self.upto();
            let room = self.bytes.alone().and_then(|bytes| bytes.get_mut(self.end..upto)).unwrap_or_default();
            match self.source.read(room) {
                Ok(0) => self.end_of_file()?,
                Ok(got) => self.end += got,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => match error.get_ref().and_then(|inner| inner.downcast_ref::<Corrupt>()) {
                    // The damage is reported when the bytes before it are used up.
                    Some(corrupt) => {
                        self.corrupt = Some(corrupt.0.clone());
                        self.over = true;
                    }
                    None => return Err(error),
                },
            }
        }
        Ok(self.end - self.pos >= need)
    }

    /// Where in the buffer the next read ends.
    fn upto(&self) -> usize {
        let first = self.from + FIRST;
        if self.base == 0 && self.end < first { first } else { self.bytes.len() }
    }

    /// The file ends. If its length was known and it is shorter now, that is an error.
    fn end_of_file(&mut self) -> io::Result<()> {
        self.over = true;
        match self.total {
            Some(total) if self.corrupt.is_none() && self.bytes_read() < total => {
                Err(io::Error::other(Shrunk))
            }
            _ => Ok(()),
        }
    }

    /// Skips `count` bytes without buffering them; fewer if the file ends before.
    pub(super) fn skip(&mut self, count: u64) -> io::Result<u64> {
        let mut left = count;
        while left > 0 {
            if self.pos == self.end && !self.fill(1)? {
                break;
            }
            let step = left.min((self.end - self.pos) as u64);
            self.pos += step as usize;
            left -= step;
        }
        Ok(count - left)
    }

    /// The distance to the next byte where `test` is true, at most [`SEARCH`] bytes. `test` gets the bytes from there on, and what
    /// follows the buffer. It returns `None` if it needs more bytes. So the result depends on the file alone, not on how
    /// many bytes were read at a time.
    #[cold]
    pub(super) fn search(
        &mut self,
        test: impl Fn(&[u8], Behind) -> Option<bool>,
    ) -> io::Result<Option<usize>> {
        let mut at = 1;
        loop {
            let rest = self.rest();
            let have = rest.len();
            let (rest, behind) = match rest.get(..2 * SEARCH) {
                Some(part) => (part, Behind::Unread),
                None if self.over => (rest, Behind::End),
                None => (rest, Behind::More),
            };
            while let Some(from) = rest.get(at..).filter(|from| !from.is_empty() && at < SEARCH) {
                match test(from, behind) {
                    Some(true) => return Ok(Some(at)),
                    None if behind == Behind::More => break,
                    _ => at += 1,
                }
            }
            if at >= SEARCH || behind != Behind::More {
                return Ok(None);
            }
            self.fill(have + 1)?;
        }
    }
}

/// What follows the bytes in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behind {
    /// More of the file, which can be read.
    More,
    /// More of the file, beyond the limit of a search.
    Unread,
    End,
}

#[cfg(test)]
#[path = "../../tests/unit/capture_window.rs"]
mod tests;
