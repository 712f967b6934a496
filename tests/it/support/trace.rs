//! Captures whose frames are owned, to be changed.

use std::path::Path;

use rdmawire::{
    capture::{self, Record, Source, Time},
    dissect::{Dissection, Link, dissect},
    wire::Kind,
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

/// Passes on those frames of a capture that `is_kept` keeps, by number, each cut to so many bytes.
pub(crate) fn each_kept(
    path: &str,
    bytes: usize,
    mut is_kept: impl FnMut(u64, &Dissection<'_>) -> bool,
    mut each: impl FnMut(u64, &Record<'_>, &Dissection<'_>),
) {
    let mut source = capture::open(path.as_ref()).unwrap();
    let mut number = 0;
    while let Some(record) = source.next().unwrap() {
        number += 1;
        let frame = &record.frame[..record.frame.len().min(bytes)];
        let record = Record { frame, ..record };
        let d = dissect(record.link, record.frame, record.wire_len);
        if is_kept(number, &d) {
            each(number, &record, &d);
        }
    }
}

/// The frames of a capture, all with a wrong ICRC, as behind a device that rewrites packets.
pub(crate) fn rewritten(path: &str) -> Vec<Frame> {
    let mut frames = read(path.as_ref()).unwrap();
    for frame in &mut frames {
        let d = dissect(frame.link, &frame.bytes, frame.wire_len);
        if let Some(at) = d.icrc().and(d.offset(Kind::Icrc)) {
            frame.bytes[at] ^= 0x55;
        }
    }
    frames
}
