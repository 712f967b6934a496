//! The bytes of a capture, a stretch at a time: a window that is read over and over.
//!
//! ```text
//! file        base                    offset()
//!        -----|-----------------------|-----------------|---------------
//! bytes()     from ..     read        pos ..  rest()    end
//! ```
//! A format asks for [`rest`](Input::rest); when that is too short it asks to [`fill`](Input::fill), which moves what
//! is left of the window to its beginning and reads on. Frames are lent from where they lie, so only a frame across
//! the window's edge is ever copied. Who needs them longer holds on to the whole [`Buffer`]; then reading goes on in
//! another one, and comes back when nobody does.
//!
//! The window begins where [`place`] says: where the system copies to matters as much as how many bytes.
//!
//! **When files are [mapped](super::map) instead.** What a copy costs is the memory's speed, mostly; what a mapping costs is the
//! system's work for each page, and waiting for memory: where a record is depends on the length of the one before. An
//! instruction that asks for lines ahead takes most of that wait away, as long as records are short, or as long as each other.
//! Whole analyses on one thread, mapped to copied, medians of 9 to 41 pairs, on a machine that others used much:
//!
//! | | files written in small pieces | in large ones, or read from the disk |
//! |---|---|---|
//! | 128-byte records | 0.88 to 1.05 | 0.86 to 0.95 |
//! | 1 KiB frames, `--icrc off` | 0.80 to 1.0 | 0.77 |
//! | 4 KiB frames, `--icrc off` | 0.66 to 0.96 | 0.54 to 0.60 |
//! | 1 KiB and 4 KiB frames, every ICRC | 0.85 to 1.1 | 0.72 to 1.0 |
//!
//! They are of mappings whose pages were asked for by a call. To look at one in 64 KiB, as is done now, takes 0.83 to 0.97 of that
//! for files of the first kind, 0.85 to 1.0 for the others; in hours when everybody waits for memory, all that is left is 0.88 for
//! 4 KiB frames.
//!
//! In files of the second kind the system has pages of 2 MiB. Long frames that are looked at as a whole are copied all the same: on
//! two threads a mapping takes 1.2 to 1.8 times as long as a copy, in files of either kind, and one thread is not to be preferred.
//! `cargo bench --bench capture` has the ways by themselves, without an analysis that hides the wait.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use super::buffer::Buffer;
use super::compressed::{Corrupt, Meter};
use super::{Info, Problem};

/// How far a search for the next believable record goes.
pub(super) const SEARCH: usize = 1 << 20;

/// Bytes of a page of memory; larger ones do as well.
pub(super) const PAGE: usize = 4 << 10;

/// Where among `bytes`, within their first page, those of a file from this offset on are to be put: where they are in the
/// system's own pages. To copy to a few bytes beyond that takes five times as long (measured on an AMD EPYC: 2.6 GB/s instead
/// of 13 with 1 to 31 bytes): the processor takes what it reads for what it has just written. Allocators return addresses 16
/// bytes behind the beginning of a page if much is asked for, so that is where files would be read to that are read from their
/// beginning.
pub(super) fn place(bytes: &[u8], offset: u64) -> usize {
    (offset as usize).wrapping_sub(bytes.as_ptr().addr()) % PAGE
}

/// Bytes that are read first, and that a window has at least: who goes on in [parts](super::Parts) asks for no more.
const FIRST: usize = 64 << 10;

/// A file that ends before the length it had, travelling as the inside of an [`io::Error`].
#[derive(Debug)]
pub(super) struct Shrunk;

impl fmt::Display for Shrunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("became shorter while it was read; the frames before the last are right")
    }
}

impl std::error::Error for Shrunk {}

/// The bytes of a capture.
pub(super) struct Input {
    bytes: Buffer,
    /// Where it was before: buffers that others may hold on to.
    left: Vec<Buffer>,
    /// Bytes of a buffer.
    window: usize,
    source: Box<dyn Read + Send>,
    /// Where the window begins.
    from: usize,
    pub(super) pos: usize,
    end: usize,
    base: u64,
    over: bool,
    corrupt: Option<String>,
    meter: Option<Arc<Meter>>,
    total: Option<u64>,
}

impl Input {
    /// Reads `source` through a window of `window` bytes. `total` bytes are expected on disk, if that is known; a
    /// `meter` counts those when `source` is what they decompress to.
    pub(super) fn new(
        source: Box<dyn Read + Send>,
        window: usize,
        total: Option<u64>,
        meter: Option<Arc<Meter>>,
    ) -> Input {
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
            meter,
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

    /// The bytes at hand that are not consumed yet.
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
        match &self.meter {
            Some(meter) => meter.get(),
            None => self.base + (self.end - self.from) as u64,
        }
    }

    /// Why the compressed data ended before its end, once.
    pub(super) fn take_corrupt(&mut self) -> Option<String> {
        self.corrupt.take()
    }

    /// Notes how the reading ended, once nothing more can be read: where the compressed data broke, or else with `cut`.
    #[cold]
    pub(super) fn end(&mut self, info: &mut Info, cut: Option<Problem>) {
        info.bytes_read = self.bytes_read();
        let corrupt = self.take_corrupt().map(|reason| Problem::Compressed { reason });
        if let Some(problem) = corrupt.or(cut) {
            info.damaged(self.offset(), problem, 0, true);
        }
    }

    /// Sees to it that `need` bytes are at hand; false if the file ends before. `need` must be bounded by the caller:
    /// the window grows to hold it.
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
            if bytes.len() < need + PAGE {
                bytes.resize(need.next_power_of_two() + PAGE, 0);
            }
            let from = place(bytes, offset);
            bytes.copy_within(self.pos..self.end, from);
            self.begin(from);
        }
        self.read(need)
    }

    /// Goes on at this byte of the file, where what it reads does too.
    pub(super) fn go_on(&mut self, offset: u64) {
        (self.base, self.from, self.pos, self.end, self.over) = (offset, 0, 0, 0, false);
    }

    /// Goes on in another buffer, with what is left of this one.
    fn move_on(&mut self, need: usize) {
        let free = self.left.iter_mut().position(|left| left.len() >= need + PAGE && left.alone().is_some());
        let mut next = match free {
            Some(at) => self.left.swap_remove(at),
            None => Buffer::new((need.next_power_of_two() + PAGE).max(self.window)),
        };
        let (from, rest) = (place(&next, self.offset()), self.rest());
        if let Some(into) = next.alone().and_then(|next| next.get_mut(from..from + rest.len())) {
            into.copy_from_slice(rest);
        }
        let last = std::mem::replace(&mut self.bytes, next);
        // Those for very long records are not kept.
        if last.len() <= self.window {
            self.left.push(last);
        }
        self.begin(from);
    }

    /// What was at `pos` is where the window begins now.
    fn begin(&mut self, from: usize) {
        self.base = self.offset();
        self.end = from + (self.end - self.pos);
        (self.from, self.pos) = (from, from);
    }

    /// Reads on, into a buffer that nobody else holds.
    fn read(&mut self, need: usize) -> io::Result<bool> {
        while self.end - self.pos < need && !self.over {
            let upto = self.upto();
            let room = self.bytes.alone().and_then(|bytes| bytes.get_mut(self.end..upto)).unwrap_or_default();
            match self.source.read(room) {
                Ok(0) => self.end_of_file()?,
                Ok(got) => self.end += got,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => match error.get_ref().and_then(|inner| inner.downcast_ref::<Corrupt>()) {
                    // Everything before the damage has been read; it is reported when that is used up.
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

    /// How much of the buffer is to be read into next.
    fn upto(&self) -> usize {
        let first = self.from + FIRST;
        if self.base == 0 && self.end < first { first } else { self.bytes.len() }
    }

    /// The file ends; not too early, if it was known how long it is.
    fn end_of_file(&mut self) -> io::Result<()> {
        self.over = true;
        match self.total {
            Some(total) if self.corrupt.is_none() && self.bytes_read() < total => {
                Err(io::Error::other(Shrunk))
            }
            _ => Ok(()),
        }
    }

    /// Passes over `count` bytes without holding them; fewer if the file ends before.
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

    /// The distance to the nearest byte behind this one where `test` holds, over a bounded way. `test` is given the
    /// bytes from there on, and whether the file ends behind them.
    #[cold]
    pub(super) fn search(&mut self, test: impl Fn(&[u8], bool) -> bool) -> io::Result<Option<usize>> {
        // First in what is at hand: moving the window for each of very many damages would cost more than searching.
        if self.rest().len() >= 64 << 10
            && let Some(distance) = self.search_at_hand(&test)
        {
            return Ok(Some(distance));
        }
        self.fill(2 * SEARCH)?;
        Ok(self.search_at_hand(&test))
    }

    fn search_at_hand(&self, test: &impl Fn(&[u8], bool) -> bool) -> Option<usize> {
        let rest = self.rest();
        let (rest, over) = match rest.get(..2 * SEARCH) {
            Some(part) => (part, self.over && part.len() == rest.len()),
            None => (rest, self.over),
        };
        (1..rest.len().min(SEARCH)).find(|&at| test(&rest[at..], over))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_lie_as_in_the_systems_pages() {
        let len = 400_000;
        let file: Vec<u8> = (0..len).map(|n| (n % 251) as u8).collect();
        let mut input = Input::new(Box::new(io::Cursor::new(file)), 0, Some(len), None);
        let mut at = 0;
        for (step, holds) in (0..).map(|n| (1_000 + n % 777, n % 40 == 0)) {
            let held = holds.then(|| input.buffer().clone());
            if !input.fill(2_000).unwrap() {
                break;
            }
            let rest = input.rest();
            assert_eq!(
                (input.offset(), rest[0], rest[1_999]),
                (at, (at % 251) as u8, ((at + 1_999) % 251) as u8)
            );
            assert_eq!(rest.as_ptr().addr() % PAGE, at as usize % PAGE);
            drop(held);
            input.pos += step;
            at += step as u64;
        }
        assert!(at > len - 2_000 && input.bytes_read() == len, "{at}");
    }
}
