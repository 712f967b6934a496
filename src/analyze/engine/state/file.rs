//! The file of a state.
//!
//! ```text
//! magic, 8 bytes | format, 2 | length of the header, 4 | header | checksum, 4
//! length of a block, 4 | the block | checksum, 4
//! …
//! 0, 4 bytes | checksum, 4
//! ```
//!
//! Numbers have the lowest byte first. A checksum is the CRC-32 of all bytes before it, but for other checksums. So every damage is
//! found, and nothing is read of a block before it is checked. The blocks together are the state, its values as `stored` says,
//! compressed by zstd where that is compiled in.

use std::io::{self, Read, Write};

use crc32fast::Hasher;

use super::{Header, StateError};
use crate::stored::{Damage, Sink, Spring, Stored, TOO_LONG, TOO_SHORT, from_bytes, to_bytes};

const MAGIC: [u8; 8] = *b"rdmwST\r\n";
/// Raised when the file itself changes; types may change with each version.
const FORMAT: u16 = 40;
/// A longer header, or block, is damage.
const MOST: usize = 1 << 20;
const BLOCK: usize = 256 << 10;
/// zstd's level: higher ones take longer and gain little.
#[cfg(feature = "compression")]
const LEVEL: i32 = 1;

/// Writes a state: what `put` puts.
pub(super) fn write(to: &mut dyn Write, header: &Header, put: &dyn Fn(&mut Sink<'_>)) -> io::Result<()> {
    let mut blocks = Blocks { to, crc: Hasher::new(), block: Vec::with_capacity(BLOCK) };
    let known = to_bytes(header);
    blocks.put(&MAGIC)?;
    blocks.put(&FORMAT.to_le_bytes())?;
    blocks.put_checked(&known)?;
    #[cfg(feature = "compression")]
    {
        let mut packed = zstd::stream::Encoder::new(&mut blocks, LEVEL)?;
        encode(&mut packed, put)?;
        packed.finish()?;
    }
    #[cfg(not(feature = "compression"))]
    encode(&mut blocks, put)?;
    blocks.end()
}

/// Whether these bytes begin as a state does.
pub(super) fn is_state(mut from: impl Read) -> bool {
    let mut start = [0; MAGIC.len()];
    fill(&mut from, &mut start).is_ok_and(|len| len == start.len()) && start == MAGIC
}

/// Reads a state, if `accept` accepts its header.
pub(super) fn read<T: Stored>(
    from: &mut dyn Read,
    accept: &mut dyn FnMut(&Header) -> Result<(), StateError>,
) -> Result<T, StateError> {
    let mut start = [0; 10];
    let len = fill(from, &mut start).map_err(StateError::Io)?;
    let is_ours = start.starts_with(&MAGIC[..MAGIC.len().min(len)]) && len > 0;
    if !is_ours {
        return Err(StateError::Foreign);
    }
    if len < start.len() {
        return Err(cut());
    }
    let format = u16::from_le_bytes([start[8], start[9]]);
    if format != FORMAT {
        return Err(StateError::Version(format!("with format {format}")));
    }
    let mut checked = Checked { from, crc: Hasher::new(), block: Vec::new(), at: 0, is_over: false };
    checked.crc.update(&start);
    let known = checked.next().map_err(of_io)?;
    let header: Header = from_bytes(known).map_err(of_damage)?;
    accept(&header)?;
    checked.at = checked.block.len();
    #[cfg(feature = "compression")]
    if header.is_compressed {
        let mut packed = zstd::stream::Decoder::new(&mut checked).map_err(of_io)?;
        let state = decode(&mut packed)?;
        // The end of the frame, and of the blocks.
        return match packed.read(&mut [0]).map_err(of_io)? {
            0 => checked.end().map(|()| state),
            _ => Err(too_long()),
        };
    }
    let state = decode(&mut checked)?;
    checked.end().map(|()| state)
}

fn damaged(what: &dyn std::fmt::Display) -> StateError {
    StateError::Damaged(what.to_string())
}

fn of_damage(damage: Damage) -> StateError {
    match damage {
        Damage::Io(error) => of_io(error),
        Damage::Wrong(what) => StateError::Damaged(what.into()),
    }
}

fn cut() -> StateError {
    StateError::Damaged(TOO_SHORT.into())
}

fn too_long() -> StateError {
    StateError::Damaged(TOO_LONG.into())
}

/// An error while reading blocks: damage is one of ours.
fn of_io(error: io::Error) -> StateError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => cut(),
        io::ErrorKind::InvalidData => damaged(&error),
        _ => StateError::Io(error),
    }
}

/// Fills the buffer as far as there are bytes. Returns how many there were.
fn fill(from: &mut dyn Read, into: &mut [u8]) -> io::Result<usize> {
    let mut len = 0;
    while len < into.len() {
        match from.read(&mut into[len..]) {
            Ok(0) => break,
            Ok(n) => len += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(len)
}

/// Writes blocks.
struct Blocks<'a> {
    to: &'a mut dyn Write,
    crc: Hasher,
    block: Vec<u8>,
}

impl Blocks<'_> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.crc.update(bytes);
        self.to.write_all(bytes)
    }

    fn put_checked(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.put(&(bytes.len() as u32).to_le_bytes())?;
        self.put(bytes)?;
        let sum = self.crc.clone().finalize();
        self.to.write_all(&sum.to_le_bytes())
    }

    fn put_block(&mut self) -> io::Result<()> {
        let mut block = std::mem::take(&mut self.block);
        self.put_checked(&block)?;
        block.clear();
        self.block = block;
        Ok(())
    }

    fn end(mut self) -> io::Result<()> {
        if !self.block.is_empty() {
            self.put_block()?;
        }
        self.put_checked(&[])?;
        self.to.flush()
    }
}

impl Write for Blocks<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = BLOCK.saturating_sub(self.block.len());
        let (now, _) = bytes.split_at(room.min(bytes.len()));
        self.block.extend_from_slice(now);
        if self.block.len() >= BLOCK {
            self.put_block()?;
        }
        Ok(now.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads blocks, and checks them.
struct Checked<'a> {
    from: &'a mut dyn Read,
    crc: Hasher,
    block: Vec<u8>,
    at: usize,
    is_over: bool,
}

impl Checked<'_> {
    /// The next block.
    fn next(&mut self) -> io::Result<&[u8]> {
        let mut word = [0; 4];
        self.exactly(&mut word)?;
        let len = u32::from_le_bytes(word) as usize;
        if len > MOST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a wrong length"));
        }
        self.crc.update(&word);
        let mut block = std::mem::take(&mut self.block);
        block.resize(len, 0);
        self.exactly(&mut block)?;
        self.crc.update(&block);
        (self.block, self.at, self.is_over) = (block, 0, len == 0);
        self.exactly(&mut word)?;
        match u32::from_le_bytes(word) == self.crc.clone().finalize() {
            true => Ok(&self.block),
            false => Err(io::Error::new(io::ErrorKind::InvalidData, "a wrong checksum")),
        }
    }

    fn exactly(&mut self, into: &mut [u8]) -> io::Result<()> {
        match fill(self.from, into)? {
            len if len < into.len() => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    /// The state is complete: nothing else must come.
    fn end(&mut self) -> Result<(), StateError> {
        match self.read(&mut [0]).map_err(of_io)? {
            0 => Ok(()),
            _ => Err(too_long()),
        }
    }
}

impl Read for Checked<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.block.len() && !self.is_over {
            self.next()?;
        }
        let rest = self.block.get(self.at..).unwrap_or_default();
        let len = rest.len().min(into.len());
        into[..len].copy_from_slice(&rest[..len]);
        self.at += len;
        Ok(len)
    }
}

fn encode(to: &mut dyn Write, put: &dyn Fn(&mut Sink<'_>)) -> io::Result<()> {
    let mut sink = Sink::new(to);
    put(&mut sink);
    sink.end()
}

fn decode<T: Stored>(from: &mut dyn Read) -> Result<T, StateError> {
    let mut spring = Spring::new(from);
    let state = T::restore(&mut spring);
    spring.end().map(|()| state).map_err(of_damage)
}
