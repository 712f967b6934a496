//! Frames in and out: capture files of every kind, streams, interfaces.

/// Nanoseconds since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub i64);

/// One captured frame, borrowed from its source until the next one is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// When it was captured.
    pub time: Time,
    /// What the frame's first byte is.
    pub link: crate::dissect::Link,
    /// Index of the capture interface within its source, from 0.
    pub interface: u16,
    /// Bytes the frame had on the wire as the capture says; `frame` may hold fewer.
    pub wire_len: u32,
    /// The bytes captured.
    pub frame: &'a [u8],
}
