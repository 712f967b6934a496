//! Output files, whole or not at all.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::Path,
};

/// Write a file under another name first; one that exists is left alone unless `force`. Devices and pipes are written directly.
pub(super) fn write_whole(path: &Path, bytes: &[u8], force: bool) -> io::Result<()> {
    // A link stays a link, and what it points to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match fs::metadata(&target) {
        Ok(there) if there.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(there) if !there.is_file() => {
            return OpenOptions::new().write(true).open(&target)?.write_all(bytes);
        }
        Ok(_) if !force => return Err(io::ErrorKind::AlreadyExists.into()),
        _ => {}
    }
    let temporary = beside(&target)?;
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&temporary)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| keep(&temporary, &target, force));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Another name in the same directory.
pub(super) fn beside(path: &Path) -> io::Result<std::path::PathBuf> {
    let file_name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut name = std::ffi::OsString::from(".");
    name.push(file_name);
    name.push(format!(".{}.tmp", std::process::id()));
    Ok(path.with_file_name(name))
}

fn keep(temporary: &Path, target: &Path, force: bool) -> io::Result<()> {
    if !force {
        // A link fails if the name was taken meanwhile, which renaming would not notice.
        match fs::hard_link(temporary, target) {
            Ok(()) => return fs::remove_file(temporary),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            // Some file systems have no links.
            Err(_) if target.try_exists()? => return Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => {}
        }
    }
    fs::rename(temporary, target)
}
