//! How to open and how to create.

/// How a capture is opened and created.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Reading: how to get at a plain file's bytes.
    pub access: Access,
    /// Writing: replace a file that exists.
    pub force: bool,
}

/// How to get at a plain file's bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Mapped where that is possible: it measured faster.
    #[default]
    Auto,
    /// Through a window that is read again and again.
    Window,
}
