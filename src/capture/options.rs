//! How to open and how to create.

/// How a capture is opened and created.
#[derive(Clone, Debug)]
pub struct Options {
    /// Writing: replace a file that exists.
    pub force: bool,
    /// Reading: bytes that are read at a time, kept between 64 KiB and 16 MiB.
    pub window: usize,
    /// Reading, on Linux with the feature `map`: [`Source::show`](super::Source::show) looks at a file on disk where the system has
    /// it in memory, where that is faster than to have it copied for what will be looked at.
    ///
    /// It takes the signal SIGBUS, which comes if the file becomes shorter meanwhile: reading ends with an error then. What
    /// handled it before gets those that come for something else. What is looked at is not to be written to meanwhile; a capture
    /// may grow.
    pub mapped: Option<Look>,
}

/// What will be looked at of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Little more than its headers.
    Headers,
    /// All of it.
    Whole,
}

impl Default for Options {
    fn default() -> Options {
        Options { force: false, window: 1 << 20, mapped: None }
    }
}
