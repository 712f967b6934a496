//! How to open and how to create.

use std::net::IpAddr;

/// How a capture is opened and created.
#[derive(Clone, Debug)]
pub struct Options {
    /// Writing: replace a file that exists.
    pub force: bool,
    /// Writing pcapng: a comment on the whole capture; empty: none.
    pub comment: String,
    /// Writing pcapng: the hardware that captured; empty: not known.
    pub hardware: String,
    /// Writing pcapng: the operating system that captured; empty: not known.
    pub os: String,
    /// Writing pcapng: names of hosts, for programs that show names instead of addresses.
    pub names: Vec<(IpAddr, String)>,
    /// Reading: bytes that are read at a time, kept between 64 KiB and 16 MiB.
    pub window: usize,
}

impl Default for Options {
    fn default() -> Options {
        let (comment, hardware, os) = Default::default();
        Options { force: false, comment, hardware, os, names: Vec::new(), window: 1 << 20 }
    }
}
