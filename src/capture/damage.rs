//! What is wrong with a capture file, where, and what it cost.

use std::fmt;

/// One thing wrong with a capture file. Displays as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where in the file, in bytes; of a compressed file: in what it decompresses to.
    pub offset: u64,
    /// Frames delivered before it.
    pub record: u64,
    /// What is wrong.
    pub problem: Problem,
    /// Bytes passed over to go on reading.
    pub skipped: u64,
    /// Reading ends here.
    pub fatal: bool,
}

/// What is wrong with a place in a capture file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The file ends within a record's or block's header.
    CutHeader {
        /// Bytes of it that are there.
        have: u64,
    },
    /// The file ends within a record or block.
    CutRecord {
        /// Bytes it says it has.
        need: u64,
        /// Bytes that are there.
        have: u64,
    },
    /// More bytes captured than the file's limit. Delivered all the same.
    OverSnaplen {
        /// Bytes captured.
        captured: u32,
        /// The limit.
        snaplen: u32,
    },
    /// More bytes captured than there were on the wire. Delivered all the same.
    OverWire {
        /// Bytes captured.
        captured: u32,
        /// Bytes on the wire, as the file says.
        wire: u32,
    },
    /// A length that no frame has.
    Absurd {
        /// The length.
        says: u64,
        /// The longest that is believed.
        limit: u64,
    },
    /// A record header that cannot be one, with the next records somewhere else than it says.
    Implausible {
        /// The length it gives.
        says: u64,
    },
    /// A pcapng block whose length is below its minimum or does not divide by four.
    BlockLength {
        /// Block type.
        block: u32,
        /// The length.
        says: u32,
    },
    /// A pcapng block whose length at its end is another than at its beginning.
    BlockEnd {
        /// Block type.
        block: u32,
        /// Length at its beginning.
        head: u32,
        /// Length at its end.
        tail: u32,
    },
    /// A pcapng packet block whose frame does not fit into the block. The part that does is delivered.
    BlockFrame {
        /// Bytes captured, as the block says.
        captured: u32,
        /// Bytes there is room for.
        room: u32,
    },
    /// A pcapng packet of an interface that no block described. It is passed over.
    NoInterface {
        /// The interface's number within its section.
        id: u32,
        /// How many are described.
        known: u32,
    },
    /// More interfaces than are kept. Packets of this one are passed over.
    Interfaces,
    /// A pcapng section of a major version that is not known, or without a byte order.
    Section,
    /// Options that run over the end of their block.
    Options,
    /// ERF extension headers that run over the end of their record. The record is delivered.
    Extensions,
    /// A link type with more than 16 bits.
    LinkType {
        /// The link type.
        says: u32,
    },
    /// Compressed data that does not decompress.
    Compressed {
        /// What the decompressor says.
        reason: String,
    },
}

impl Problem {
    /// Its name, the same in every version.
    pub fn id(&self) -> &'static str {
        match self {
            Problem::CutHeader { .. } => "capture.cut_header",
            Problem::CutRecord { .. } => "capture.cut_record",
            Problem::OverSnaplen { .. } => "capture.over_snaplen",
            Problem::OverWire { .. } => "capture.over_wire",
            Problem::Absurd { .. } => "capture.absurd",
            Problem::Implausible { .. } => "capture.implausible",
            Problem::BlockLength { .. } => "capture.block_length",
            Problem::BlockEnd { .. } => "capture.block_end",
            Problem::BlockFrame { .. } => "capture.block_frame",
            Problem::NoInterface { .. } => "capture.no_interface",
            Problem::Interfaces => "capture.interfaces",
            Problem::Section => "capture.section",
            Problem::Options => "capture.options",
            Problem::Extensions => "capture.extensions",
            Problem::LinkType { .. } => "capture.link_type",
            Problem::Compressed { .. } => "capture.compressed",
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::CutHeader { have } => write!(f, "the file ends {have} bytes into a header"),
            Problem::CutRecord { need, have } => {
                write!(f, "the file ends within a record: {have} of {need} bytes are there")
            }
            Problem::OverSnaplen { captured, snaplen } => {
                write!(f, "a frame of {captured} captured bytes where the limit is {snaplen}")
            }
            Problem::OverWire { captured, wire } => {
                write!(f, "{captured} bytes captured of a frame that had {wire}")
            }
            Problem::Absurd { says, limit } => {
                write!(f, "a record says it has {says} bytes, more than the {limit} that are believed")
            }
            Problem::Implausible { says } => {
                write!(f, "a record of {says} bytes is not followed by another one, so its header is wrong")
            }
            Problem::BlockLength { block, says } => {
                write!(f, "a block of type {block:#010x} says it has {says} bytes, which no such block has")
            }
            Problem::BlockEnd { block, head, tail } => {
                write!(
                    f,
                    "a block of type {block:#010x} has {head} bytes at its beginning, {tail} at its end"
                )
            }
            Problem::BlockFrame { captured, room } => {
                write!(f, "a block says it holds {captured} bytes of a frame, but has room for {room}")
            }
            Problem::NoInterface { id, known } => {
                write!(f, "a packet of interface {id}, when only {known} have been described")
            }
            Problem::Interfaces => f.write_str("more interfaces than are kept"),
            Problem::Section => f.write_str("a section whose byte order or version is not known"),
            Problem::Options => f.write_str("options run over the end of their block"),
            Problem::Extensions => f.write_str("extension headers run over the end of their record"),
            Problem::LinkType { says } => write!(f, "link type {says} is out of range"),
            Problem::Compressed { reason } => write!(f, "the compressed data is damaged: {reason}"),
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}, after {} frames: {}", self.offset, self.record, self.problem)?;
        if self.skipped > 0 {
            write!(f, "; {} bytes passed over", self.skipped)?;
        }
        if self.fatal { f.write_str("; nothing behind it can be read") } else { Ok(()) }
    }
}
