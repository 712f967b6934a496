//! How to open and how to create.

/// How a capture is opened and created.
#[derive(Clone, Debug)]
pub struct Options {
    /// Writing: replace a file that exists.
    pub force: bool,
    /// Reading: bytes that are read at a time, kept between 64 KiB and 16 MiB.
    pub window: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { force: false, window: 1 << 20 }
    }
}
