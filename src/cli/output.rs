//! The door of all files that commands write: each is there whole, or not at all.

use std::{
    io::{self, Write},
    path::Path,
};

use rdmawire::capture::{self, Format, Interface, WholeFile, Writer};

/// Begins a file. It gets its name when it is kept; `force` replaces a file of that name.
pub(super) fn create(path: &Path, force: bool) -> io::Result<WholeFile> {
    WholeFile::create(path, force)
}

/// Writes a file; `force` replaces one of that name.
pub(super) fn write(path: &Path, force: bool, bytes: &[u8]) -> io::Result<()> {
    let mut file = create(path, force)?;
    file.write_all(bytes)?;
    file.keep()
}

/// Begins a capture; `-` is standard output.
pub(super) fn create_capture(
    path: &Path,
    format: Format,
    interfaces: &[Interface],
    options: capture::Options,
) -> Result<Writer, capture::Error> {
    capture::create(path, format, interfaces, options)
}
