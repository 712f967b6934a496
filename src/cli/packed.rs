//! Files of rows that are compressed if their name ends so.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::output::{self, Kind, OutFile};

/// A file that is begun, as it is or compressed.
pub(super) enum Packed {
    Plain(OutFile),
    #[cfg(feature = "compression")]
    Gzip(flate2::write::GzEncoder<OutFile>),
    #[cfg(feature = "compression")]
    Zstd(zstd::Encoder<'static, OutFile>),
}

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    None,
    Gzip,
    Zstd,
}

impl Packing {
    /// How the name says it, and the name without that.
    pub(super) fn of(path: &Path) -> (Packing, PathBuf) {
        match path.extension().and_then(|end| end.to_str()) {
            Some("gz") => (Packing::Gzip, path.with_extension("")),
            Some("zst") => (Packing::Zstd, path.with_extension("")),
            _ => (Packing::None, path.to_owned()),
        }
    }
}

impl Packed {
    /// Begins a file.
    pub(super) fn create(path: &Path, packing: Packing, force: bool) -> anyhow::Result<Packed> {
        #[cfg(not(feature = "compression"))]
        if packing != Packing::None {
            anyhow::bail!("{}: this build compresses nothing: the feature compression does", path.display());
        }
        let file = output::create(path, Kind::Other, force)?;
        Ok(match packing {
            #[cfg(feature = "compression")]
            Packing::Gzip => {
                Packed::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default()))
            }
            #[cfg(feature = "compression")]
            Packing::Zstd => Packed::Zstd(
                zstd::Encoder::new(file, 3)
                    .map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?,
            ),
            _ => Packed::Plain(file),
        })
    }

    /// Completes the file and gives it its name.
    pub(super) fn keep(self) -> io::Result<()> {
        match self {
            Packed::Plain(file) => file.keep(),
            #[cfg(feature = "compression")]
            Packed::Gzip(packed) => packed.finish()?.keep(),
            #[cfg(feature = "compression")]
            Packed::Zstd(packed) => packed.finish()?.keep(),
        }
    }

    fn to(&mut self) -> &mut dyn Write {
        match self {
            Packed::Plain(file) => file,
            #[cfg(feature = "compression")]
            Packed::Gzip(packed) => packed,
            #[cfg(feature = "compression")]
            Packed::Zstd(packed) => packed,
        }
    }
}

impl Write for Packed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to().flush()
    }
}
