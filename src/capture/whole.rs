//! Files that are written completely or not at all.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU32, Ordering},
};

/// A file that is written under a temporary name in the same directory until [`keep`](WholeFile::keep) renames it. If it is
/// dropped before that, it is removed. Until it is complete, only its owner can read it. Devices and pipes are written directly.
#[derive(Debug)]
pub struct WholeFile {
    file: File,
    target: Option<Target>,
}

/// The final name of the file.
#[derive(Debug)]
struct Target {
    path: PathBuf,
    temporary: Temporary,
    /// Those of the file that is replaced, else those that a new file has.
    permissions: Permissions,
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
        let replaced = match fs::metadata(&path) {
            Ok(there) if there.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(there) if !there.is_file() => {
                let file = OpenOptions::new().write(true).open(&path)?;
                return Ok(WholeFile { file, target: None });
            }
            Ok(_) if !force => return Err(io::ErrorKind::AlreadyExists.into()),
            there => there.ok(),
        };
        let (temporary, file) = Temporary::beside(&path, |temporary| File::create_new(temporary))?;
        let usual = file.metadata()?.permissions();
        #[cfg(unix)]
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        let permissions = replaced.map_or(usual, |there| there.permissions());
        Ok(WholeFile { file, target: Some(Target { path, temporary, permissions, force }) })
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists): the name was taken meanwhile. Other errors are the system's.
    pub fn keep(self) -> io::Result<()> {
        let Some(Target { path, temporary, permissions, force }) = self.target else { return Ok(()) };
        self.file.set_permissions(permissions)?;
        if !force {
            // A link fails if the name was taken meanwhile; a rename would replace the other file.
            match fs::hard_link(temporary.path(), &path) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
                // Some file systems have no links.
                Err(_) if path.try_exists()? => return Err(io::ErrorKind::AlreadyExists.into()),
                Err(_) => {}
            }
        }
        temporary.rename(&path)
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

/// A file or directory that is not complete, or of no use when this process ends. It is removed when it is dropped, and by
/// [`remove_unfinished`].
#[derive(Debug)]
pub struct Temporary {
    path: PathBuf,
}

/// All temporaries of this process.
struct Unfinished {
    paths: BTreeSet<PathBuf>,
    /// The process ends: there are no new ones.
    is_over: bool,
}

static UNFINISHED: Mutex<Unfinished> = Mutex::new(Unfinished { paths: BTreeSet::new(), is_over: false });

fn unfinished() -> MutexGuard<'static, Unfinished> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all unfinished files of this process, which is about to end without dropping them: after a signal. None can be
/// begun after that.
pub fn remove_unfinished() {
    let mut all = unfinished();
    all.is_over = true;
    std::mem::take(&mut all.paths).iter().for_each(|path| remove(path));
}

fn remove(path: &Path) {
    let _ = match path.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
}

impl Temporary {
    /// Calls `make` with names in the directory of `path` until one is free. `make` fails with
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists) if a name is taken.
    ///
    /// # Errors
    /// [`InvalidInput`](io::ErrorKind::InvalidInput): `path` names no file. [`Interrupted`](io::ErrorKind::Interrupted): the process
    /// ends. Other errors are those of `make`.
    pub fn beside<T>(path: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(Temporary, T)> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let file_name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        loop {
            let mut name = OsString::from(".");
            name.push(file_name);
            name.push(format!(".{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
            let path = path.with_file_name(name);
            // The lock is held meanwhile: a signal finds the file, or there is none.
            let mut all = unfinished();
            if all.is_over {
                return Err(io::ErrorKind::Interrupted.into());
            }
            match make(&path) {
                Ok(made) => {
                    all.paths.insert(path.clone());
                    return Ok((Temporary { path }, made));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it its final name.
    ///
    /// # Errors
    /// Those of [`fs::rename`]; then it is removed.
    pub fn rename(self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if unfinished().paths.remove(&self.path) {
            remove(&self.path);
        }
    }
}
