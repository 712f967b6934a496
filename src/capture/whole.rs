//! Files that are written completely or not at all.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A file that is written under a temporary name in the same directory until [`keep`](WholeFile::keep) renames it. If it is
/// dropped before that, it is removed. Devices and pipes are written directly.
#[derive(Debug)]
pub struct WholeFile {
    file: File,
    target: Option<Target>,
}

/// The final name of the file.
#[derive(Debug)]
struct Target {
    path: PathBuf,
    temporary: PathBuf,
    force: bool,
}

impl WholeFile {
    /// Starts to write the file `path`.
    ///
    /// # Errors
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists): there is such a file, and `force` does not replace it. Other
    /// errors are the system's.
    pub fn create(path: &Path, force: bool) -> io::Result<WholeFile> {
        // A symbolic link stays; the file it points to is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        match fs::metadata(&path) {
            Ok(there) if there.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(there) if !there.is_file() => {
                let file = OpenOptions::new().write(true).open(&path)?;
                return Ok(WholeFile { file, target: None });
            }
            Ok(_) if !force => return Err(io::ErrorKind::AlreadyExists.into()),
            _ => {}
        }
        let (temporary, file) =
            make_beside(&path, |temporary| OpenOptions::new().write(true).create_new(true).open(temporary))?;
        Ok(WholeFile { file, target: Some(Target { path, temporary, force }) })
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists): the name was taken meanwhile. Other errors are the system's.
    pub fn keep(mut self) -> io::Result<()> {
        let Some(Target { path, temporary, force }) = &self.target else { return Ok(()) };
        if !force {
            // A link fails if the name was taken meanwhile; a rename would replace the other file.
            match fs::hard_link(temporary, path) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
                // Some file systems have no links.
                Err(_) if path.try_exists()? => return Err(io::ErrorKind::AlreadyExists.into()),
                Err(_) => {}
            }
        }
        fs::rename(temporary, path)?;
        self.target = None;
        Ok(())
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Some(target) = &self.target {
            let _ = fs::remove_file(&target.temporary);
        }
    }
}

/// Calls `make` with names in the directory of `path` until one is free; returns that name too. `make` fails with
/// [`AlreadyExists`](io::ErrorKind::AlreadyExists) if a name is taken.
///
/// # Errors
/// [`InvalidInput`](io::ErrorKind::InvalidInput): `path` names no file. Other errors are those of `make`.
pub fn make_beside<T>(path: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(PathBuf, T)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let file_name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    loop {
        let mut name = OsString::from(".");
        name.push(file_name);
        name.push(format!(".{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
        let temporary = path.with_file_name(name);
        match make(&temporary) {
            Ok(made) => return Ok((temporary, made)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}
