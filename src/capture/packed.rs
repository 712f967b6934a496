//! Bytes of files that are compressed if their name ends so.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// It is not.
    None,
    /// gzip (RFC 1952).
    Gzip,
    /// zstd (RFC 8878).
    Zstd,
}

impl Packing {
    /// A file's name without the `.gz` or `.zst` at its end.
    pub fn unpacked(name: &str) -> &str {
        name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(name)
    }

    /// How the name says it, by `.gz` or `.zst` at its end, and the name without that.
    pub fn of(path: &Path) -> (Packing, PathBuf) {
        match path.extension().and_then(|end| end.to_str()) {
            Some("gz") => (Packing::Gzip, path.with_extension("")),
            Some("zst") => (Packing::Zstd, path.with_extension("")),
            _ => (Packing::None, path.to_owned()),
        }
    }

    /// What compresses so into `out`.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] if this program was built without the feature `compression`, and errors of the encoder.
    pub fn around<W: Write>(self, out: W) -> io::Result<Packed<W>> {
        Ok(Packed(match self {
            Packing::None => Encoder::Plain(out),
            #[cfg(feature = "compression")]
            Packing::Gzip => Encoder::Gzip(flate2::write::GzEncoder::new(out, flate2::Compression::new(6))),
            #[cfg(feature = "compression")]
            Packing::Zstd => Encoder::Zstd(zstd::Encoder::new(out, 3)?),
            #[cfg(not(feature = "compression"))]
            Packing::Gzip | Packing::Zstd => {
                let why = "this program was built without the feature `compression`";
                return Err(io::Error::new(io::ErrorKind::Unsupported, why));
            }
        }))
    }
}

/// Bytes on their way into `W`, as they are or compressed. Without [`finish`](Packed::finish), the end of compressed ones is missing.
pub struct Packed<W: Write>(Encoder<W>);

enum Encoder<W: Write> {
    Plain(W),
    #[cfg(feature = "compression")]
    Gzip(flate2::write::GzEncoder<W>),
    #[cfg(feature = "compression")]
    Zstd(zstd::Encoder<'static, W>),
}

impl<W: Write> Packed<W> {
    /// Writes what is left, and gives back where it went.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(self) -> io::Result<W> {
        match self.0 {
            Encoder::Plain(out) => Ok(out),
            #[cfg(feature = "compression")]
            Encoder::Gzip(encoder) => encoder.finish(),
            #[cfg(feature = "compression")]
            Encoder::Zstd(encoder) => encoder.finish(),
        }
    }

    fn to(&mut self) -> &mut dyn Write {
        match &mut self.0 {
            Encoder::Plain(out) => out,
            #[cfg(feature = "compression")]
            Encoder::Gzip(encoder) => encoder,
            #[cfg(feature = "compression")]
            Encoder::Zstd(encoder) => encoder,
        }
    }
}

impl<W: Write> Write for Packed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to().flush()
    }
}

impl<W: Write> std::fmt::Debug for Packed<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Packed")
    }
}
