//! Captures whose frames are owned, to be changed.

use std::path::Path;

use rdmawire::{
    capture::{self, Record, Source, Time},
    dissect::Link,
};

/// A frame of a capture.
#[derive(Clone)]
pub(crate) struct Frame {
    pub(crate) time: i64,
    pub(crate) link: Link,
    pub(crate) wire_len: u32,
    pub(crate) bytes: Vec<u8>,
}

impl Frame {
    pub(crate) fn record(&self) -> Record<'_> {
        let &Frame { time, link, wire_len, ref bytes } = self;
        Record { time: Time(time), link, interface: 0, wire_len, frame: bytes }
    }
}

/// All frames of a capture; an error where that is none.
pub(crate) fn read(path: &Path) -> Result<Vec<Frame>, capture::Error> {
    let mut trace = capture::open(path)?;
    let mut frames = Vec::new();
    while let Some(Record { time, link, wire_len, frame, .. }) = trace.next()? {
        frames.push(Frame { time: time.0, link, wire_len, bytes: frame.to_vec() });
    }
    Ok(frames)
}
