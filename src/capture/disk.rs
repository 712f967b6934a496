//! Files on disk: of very many that are read at a time, most give their descriptors back between two reads.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// So many files stay open. Systems allow a process 1,024 descriptors, some 256; a file that stays open may take two.
const MOST_OPEN: usize = 64;

static OPEN: AtomicUsize = AtomicUsize::new(0);

/// A file that is read from its start to its end.
#[derive(Debug)]
pub(super) enum DiskFile {
    /// One of the first ones, or no regular file: it cannot be opened again at the same place.
    Kept(Kept),
    /// Opened for each read.
    Lent { path: PathBuf, at: u64, id: Id },
}

/// A file that stays open, and counts.
#[derive(Debug)]
pub(super) struct Kept(File);

/// Which file it is, whatever its name is meanwhile.
type Id = (u64, u64);

impl DiskFile {
    /// Opens a file. Also gives what the system knows of it.
    pub(super) fn open(path: &Path) -> io::Result<(DiskFile, Metadata)> {
        let file = File::open(path)?;
        let known = file.metadata()?;
        let is_one_of_many = OPEN.load(Ordering::Relaxed) >= MOST_OPEN;
        let opened = match id(&known).filter(|_| is_one_of_many && known.is_file()) {
            Some(id) => DiskFile::Lent { path: path.to_owned(), at: 0, id },
            None => DiskFile::Kept(Kept::of(file)),
        };
        Ok((opened, known))
    }

    /// The file, if it stays open.
    pub(super) fn try_clone(&self) -> Option<File> {
        match self {
            DiskFile::Kept(Kept(file)) => file.try_clone().ok(),
            DiskFile::Lent { .. } => None,
        }
    }
}

impl Kept {
    fn of(file: File) -> Kept {
        OPEN.fetch_add(1, Ordering::Relaxed);
        Kept(file)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Read for DiskFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            DiskFile::Kept(Kept(file)) => file.read(into),
            DiskFile::Lent { path, at, id: wanted } => {
                let mut file = File::open(path)?;
                if id(&file.metadata()?) != Some(*wanted) {
                    return Err(io::Error::other("another file has this name now"));
                }
                file.seek(SeekFrom::Start(*at))?;
                let read = file.read(into)?;
                *at += read as u64;
                Ok(read)
            }
        }
    }
}

#[cfg(unix)]
fn id(known: &Metadata) -> Option<Id> {
    use std::os::unix::fs::MetadataExt;
    Some((known.dev(), known.ino()))
}

/// Elsewhere files stay open.
#[cfg(not(unix))]
fn id(_: &Metadata) -> Option<Id> {
    None
}
