//! The bytes of a capture, a stretch at a time: a mapped file, or a window read over and over.
//!
//! ```text
//!             base               base+pos          base+end
//! file   -----|------------------|-----------------|---------------
//! bytes()     0 ..   read        pos ..  rest()    end
//! ```
//! A format asks for [`rest`](Input::rest); when that is too short it asks to [`fill`](Input::fill), which moves what
//! is left of a window to its beginning and reads on. Frames are lent from where they lie, so only a frame across the
//! window's edge is ever copied.

use std::io::{self, Read};
use std::sync::Arc;

#[cfg(target_os = "linux")]
use super::map::Map;
use super::compressed::{Corrupt, Meter};

/// Bytes of a window. Larger measured slower (the second-level cache holds 1 to 2 MiB), smaller too (system calls).
const WINDOW: usize = 1 << 20;
/// Bytes of a mapped file whose pages are asked for together.
#[cfg(target_os = "linux")]
const STEP: usize = 4 << 20;
/// How far a search for the next believable record goes.
pub(super) const SEARCH: usize = 1 << 20;

/// The bytes of a capture.
pub(super) struct Input {
    data: Data,
    pub(super) pos: usize,
    end: usize,
    base: u64,
    over: bool,
    corrupt: Option<String>,
    meter: Option<Arc<Meter>>,
    total: Option<u64>,
}

enum Data {
    #[cfg(target_os = "linux")]
    Map(Map),
    Window(Vec<u8>, Box<dyn Read + Send>),
}

impl Input {
    /// Reads `from`, of which `total` bytes are expected if that is known.
    pub(super) fn window(from: Box<dyn Read + Send>, total: Option<u64>, meter: Option<Arc<Meter>>) -> Input {
        let data = Data::Window(vec![0; WINDOW], from);
        Input { data, pos: 0, end: 0, base: 0, over: false, corrupt: None, meter, total }
    }

    #[cfg(target_os = "linux")]
    pub(super) fn map(map: Map) -> Input {
        let total = Some(map.bytes().len() as u64);
        Input { data: Data::Map(map), pos: 0, end: 0, base: 0, over: false, corrupt: None, meter: None, total }
    }

    #[inline(always)]
    pub(super) fn bytes(&self) -> &[u8] {
        match &self.data {
            #[cfg(target_os = "linux")]
            Data::Map(map) => map.bytes(),
            Data::Window(bytes, _) => bytes,
        }
    }

    /// The bytes at hand that are not consumed yet.
    #[inline(always)]
    pub(super) fn rest(&self) -> &[u8] {
        self.bytes().get(self.pos..self.end).unwrap_or_default()
    }

    /// Where in the file the next byte is.
    pub(super) fn offset(&self) -> u64 {
        self.base + self.pos as u64
    }

    /// Bytes of the file that are not consumed yet, when that is certain: a file that is mapped ends where it did.
    pub(super) fn remaining(&self) -> Option<u64> {
        match &self.data {
            #[cfg(target_os = "linux")]
            Data::Map(map) => Some((map.bytes().len() - self.pos) as u64),
            Data::Window(..) => None,
        }
    }

    /// Bytes the file on disk has, when known.
    pub(super) fn total(&self) -> Option<u64> {
        self.total
    }

    /// Bytes of the file on disk read so far.
    pub(super) fn bytes_read(&self) -> u64 {
        match &self.meter {
            Some(meter) => meter.get(),
            None => self.base + self.end as u64,
        }
    }

    /// Whether the file ends behind the bytes at hand.
    pub(super) fn is_over(&self) -> bool {
        match &self.data {
            #[cfg(target_os = "linux")]
            Data::Map(map) => self.end >= map.bytes().len(),
            Data::Window(..) => self.over,
        }
    }

    /// Why the compressed data ended before its end, once.
    pub(super) fn take_corrupt(&mut self) -> Option<String> {
        self.corrupt.take()
    }

    /// Sees to it that `need` bytes are at hand; false if the file ends before. `need` must be bounded by the caller:
    /// a window grows to hold it.
    #[cold]
    pub(super) fn fill(&mut self, need: usize) -> io::Result<bool> {
        if self.end - self.pos >= need {
            return Ok(true);
        }
        match &mut self.data {
            #[cfg(target_os = "linux")]
            Data::Map(map) => {
                let end = map.bytes().len().min(self.pos.saturating_add(need).saturating_add(STEP));
                map.populate(self.end, end);
                self.end = end;
                Ok(self.end - self.pos >= need)
            }
            Data::Window(bytes, from) => {
                if self.pos + need > bytes.len() || self.pos == self.end {
                    bytes.copy_within(self.pos..self.end, 0);
                    self.base += self.pos as u64;
                    self.end -= self.pos;
                    self.pos = 0;
                    if bytes.len() < need {
                        bytes.resize(need.next_power_of_two(), 0);
                    }
                }
                while self.end - self.pos < need && !self.over {
                    match from.read(&mut bytes[self.end..]) {
                        Ok(0) => self.over = true,
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
        self.fill(2 * SEARCH)?;
        let over = self.is_over();
        let rest = self.rest();
        let rest = &rest[..rest.len().min(2 * SEARCH)];
        let over = over && rest.len() == self.rest().len();
        Ok((1..rest.len().min(SEARCH)).find(|&at| test(&rest[at..], over)))
    }

    /// Whether bytes handed out were not the file's, because it became shorter while mapped.
    #[inline(always)]
    pub(super) fn is_lost(&self) -> bool {
        match &self.data {
            #[cfg(target_os = "linux")]
            Data::Map(map) => map.is_lost(),
            Data::Window(..) => false,
        }
    }

    /// Fails if a mapped file has become shorter. To be asked where zeros were read, which stand for the lost bytes
    /// in the last page that is left, and at the end.
    #[cold]
    pub(super) fn check_whole(&self) -> io::Result<()> {
        match &self.data {
            #[cfg(target_os = "linux")]
            Data::Map(map) if map.has_shrunk() => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    /// Asks the memory for the bytes `ahead` from here, where the guess is that records begin that are read soon.
    #[inline(always)]
    pub(super) fn prefetch(&self, ahead: usize) {
        #[cfg(target_os = "linux")]
        if let Data::Map(map) = &self.data {
            map.prefetch(self.pos.wrapping_add(ahead));
        }
        #[cfg(not(target_os = "linux"))]
        let _ = ahead;
    }
}
