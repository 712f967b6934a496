//! Why a capture cannot be opened, read or written.

use std::{fmt, io};

/// A capture that cannot be opened, read or written; displays as one line that begins with its path.
///
/// One word in size, so that results of [`next`](super::Source::next) stay small.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    name: String,
    kind: ErrorKind,
    text: String,
}

/// The kind of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No such file.
    NotFound,
    /// Permission denied.
    Permission,
    /// It is a directory, not a file.
    Directory,
    /// An empty file.
    Empty,
    /// Not a capture file, or of a format that is not read.
    Unknown,
    /// This program was built without the feature it needs.
    Unsupported,
    /// The file became shorter while it was read.
    Shrunk,
    /// The output file exists and may not be replaced.
    Exists,
    /// The frame does not go into this kind of file.
    Unfit,
    /// The reader of the output has closed it.
    BrokenPipe,
    /// Anything else the operating system refused.
    Io,
}

impl Error {
    pub(super) fn new(name: &str, kind: ErrorKind, text: impl Into<String>) -> Error {
        Error(Box::new(Inner { name: name.to_owned(), kind, text: text.into() }))
    }

    #[cold]
    pub(super) fn io(name: &str, doing: &str, error: io::Error) -> Error {
        let (kind, text) = match error.kind() {
            io::ErrorKind::NotFound => (ErrorKind::NotFound, "no such file or directory".to_owned()),
            io::ErrorKind::PermissionDenied => (ErrorKind::Permission, format!("{doing}: permission denied")),
            io::ErrorKind::IsADirectory => (ErrorKind::Directory, "is a directory".to_owned()),
            io::ErrorKind::AlreadyExists => {
                (ErrorKind::Exists, "exists already, and is not overwritten".to_owned())
            }
            io::ErrorKind::BrokenPipe => (ErrorKind::BrokenPipe, "the reader closed the pipe".to_owned()),
            _ => (ErrorKind::Io, format!("{doing}: {error}")),
        };
        Error::new(name, kind, text)
    }

    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The path of the file; `-` for a standard stream.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The reader of the output has closed it, as `head` does: no error to a user.
    pub fn is_broken_pipe(&self) -> bool {
        self.0.kind == ErrorKind::BrokenPipe
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.name, self.0.text)
    }
}

// Without a source: its text has the cause.
impl std::error::Error for Error {}
