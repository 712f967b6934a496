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
//! found, and nothing is read of a block before it is checked. The blocks together are the state as postcard writes it, compressed
//! by zstd where that is compiled in.

use std::io::{self, Read, Write};

use crc32fast::Hasher;
use postcard::{Deserializer, Serializer, de_flavors, ser_flavors};

use super::{Header, StateError};

const MAGIC: [u8; 8] = *b"rdmwST\r\n";
/// Raised when the file itself changes; types may change with each version.
const FORMAT: u16 = 24;
/// A longer header, or block, is damage.
const MOST: usize = 1 << 20;
const BLOCK: usize = 256 << 10;
/// zstd's level: higher ones take longer and gain little.
#[cfg(feature = "compression")]
const LEVEL: i32 = 1;

/// What the parts of a state are written to, one behind the other. Of one type, whatever the file is: so what writes the parts is
/// compiled once.
pub(super) type Sink<'a> = Serializer<Output<'a>>;
/// What they are read from.
pub(super) type Spring<'a> = Deserializer<'a, Input<'a>>;

/// Writes a state: what `put` puts.
pub(super) fn write(
    to: &mut dyn Write,
    header: &Header,
    put: &mut dyn FnMut(&mut Sink) -> postcard::Result<()>,
) -> io::Result<()> {
    let mut blocks = Blocks { to, crc: Hasher::new(), block: Vec::with_capacity(BLOCK) };
    let known = postcard::to_allocvec(header).map_err(io::Error::other)?;
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

/// Reads a state, if `accept` accepts its header: `take` takes all of it.
pub(super) fn read(
    from: &mut dyn Read,
    accept: &mut dyn FnMut(&Header) -> Result<(), StateError>,
    take: &mut dyn FnMut(&mut Spring) -> postcard::Result<()>,
) -> Result<(), StateError> {
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
    let header: Header = postcard::from_bytes(known).map_err(|error| damaged(&error))?;
    accept(&header)?;
    checked.at = checked.block.len();
    #[cfg(feature = "compression")]
    if header.is_compressed {
        let mut packed = zstd::stream::Decoder::new(&mut checked).map_err(of_io)?;
        decode(&mut packed, take)?;
        // The end of the frame, and of the blocks.
        return match packed.read(&mut [0]).map_err(of_io)? {
            0 => checked.end(),
            _ => Err(too_long()),
        };
    }
    decode(&mut checked, take)?;
    checked.end()
}

fn damaged(what: &dyn std::fmt::Display) -> StateError {
    StateError::Damaged(what.to_string())
}

fn cut() -> StateError {
    StateError::Damaged("it ends too early".into())
}

fn too_long() -> StateError {
    StateError::Damaged("it is longer than what it describes".into())
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

/// Bytes that are collected before they are passed on.
const BUFFER: usize = 64 << 10;

fn encode(to: &mut dyn Write, put: &mut dyn FnMut(&mut Sink) -> postcard::Result<()>) -> io::Result<()> {
    let output = Output { to, buffer: Vec::with_capacity(BUFFER), error: None };
    let mut serializer = Serializer { output };
    let written = put(&mut serializer);
    let Output { to, buffer, error } = serializer.output;
    error.map_or(Ok(()), Err)?;
    written.map_err(io::Error::other)?;
    to.write_all(&buffer)
}

/// Where postcard writes to.
pub(super) struct Output<'a> {
    to: &'a mut dyn Write,
    buffer: Vec<u8>,
    /// postcard's errors have no room for it.
    error: Option<io::Error>,
}

impl ser_flavors::Flavor for Output<'_> {
    type Output = ();

    #[inline]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.try_extend(&[byte])
    }

    #[inline]
    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER {
            let written = self.to.write_all(&self.buffer);
            self.buffer.clear();
            if let Err(error) = written {
                self.error = Some(error);
                return Err(postcard::Error::SerializeBufferFull);
            }
        }
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

fn decode(
    from: &mut dyn Read,
    take: &mut dyn FnMut(&mut Spring) -> postcard::Result<()>,
) -> Result<(), StateError> {
    let mut error = None;
    let input = Input { from, error: &mut error, buffer: vec![0; BUFFER], at: 0, end: 0 };
    let mut deserializer = Deserializer::from_flavor(input);
    let taken = take(&mut deserializer);
    let at_end = deserializer.finalize();
    if let Some(error) = error {
        return Err(of_io(error));
    }
    taken.map_err(|error| damaged(&error))?;
    at_end.map_err(|_| too_long())
}

/// Where postcard reads from.
pub(super) struct Input<'a> {
    from: &'a mut dyn Read,
    error: &'a mut Option<io::Error>,
    buffer: Vec<u8>,
    at: usize,
    end: usize,
}

impl Input<'_> {
    /// Reads more bytes behind those that are left. Returns whether there were any.
    #[cold]
    fn more(&mut self) -> postcard::Result<()> {
        self.buffer.copy_within(self.at..self.end, 0);
        (self.at, self.end) = (0, self.end - self.at);
        if self.end == self.buffer.len() {
            self.buffer.resize(2 * self.end, 0);
        }
        let read = self.from.read(&mut self.buffer[self.end..]);
        match read {
            Ok(0) => Err(postcard::Error::DeserializeUnexpectedEnd),
            Ok(n) => {
                self.end += n;
                Ok(())
            }
            Err(error) => {
                *self.error = Some(error);
                Err(postcard::Error::DeserializeUnexpectedEnd)
            }
        }
    }
}

impl<'de> de_flavors::Flavor<'de> for Input<'de> {
    /// Nothing.
    type Remainder = ();
    type Source = ();

    #[inline]
    fn pop(&mut self) -> postcard::Result<u8> {
        while self.at == self.end {
            self.more()?;
        }
        self.at += 1;
        Ok(self.buffer[self.at - 1])
    }

    /// Nothing in a state borrows.
    fn try_take_n(&mut self, _: usize) -> postcard::Result<&'de [u8]> {
        Err(postcard::Error::WontImplement)
    }

    fn try_take_n_temp<'a>(&'a mut self, len: usize) -> postcard::Result<&'a [u8]>
    where
        'de: 'a,
    {
        if len > MOST {
            return Err(postcard::Error::DeserializeUnexpectedEnd);
        }
        while self.end - self.at < len {
            self.more()?;
        }
        self.at += len;
        Ok(&self.buffer[self.at - len..self.at])
    }

    fn finalize(self) -> postcard::Result<()> {
        match self.at == self.end {
            true => Ok(()),
            false => Err(postcard::Error::DeserializeBadEncoding),
        }
    }
}
