//! Damage of a capture file: where, what, and how many bytes were skipped.

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
    /// Bytes that were skipped to continue.
    pub skipped: u64,
    /// Reading ends here.
    pub fatal: bool,
}

/// The problems, each declared once: name, id and text.
macro_rules! problems {
    ($($(#[$about:meta])+ $name:ident $({ $($(#[$is:meta])+ $field:ident: $type:ty,)+ })? $id:literal $text:literal;)*) => {
        /// What is wrong with a place in a capture file.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Problem {
            $($(#[$about])+ $name $({ $($(#[$is])+ $field: $type,)+ })?,)*
        }

        impl Problem {
            /// Its name, the same in every version.
            pub fn id(&self) -> &'static str {
                match self { $(Problem::$name { .. } => $id,)* }
            }
        }

        impl fmt::Display for Problem {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self { $(Problem::$name $({ $($field),+ })? => write!(f, $text),)* }
            }
        }
    };
}

problems! {
    /// The file ends within a record's or block's header.
    CutHeader {
        /// Bytes of it in the file.
        have: u64,
    } "capture.cut_header" "the file ends {have} bytes into a header";
    /// The file ends within a record or block.
    CutRecord {
        /// Its length, as the file says.
        need: u64,
        /// Bytes of it in the file.
        have: u64,
    } "capture.cut_record" "the file ends within a record: {have} of {need} bytes are there";
    /// More bytes captured than the file's limit. The frame is delivered.
    OverSnaplen {
        /// Bytes captured.
        captured: u32,
        /// The limit.
        snaplen: u32,
    } "capture.over_snaplen" "a frame of {captured} captured bytes where the limit is {snaplen}";
    /// More bytes captured than there were on the wire. The frame is delivered.
    OverWire {
        /// Bytes captured.
        captured: u32,
        /// Bytes on the wire, as the file says.
        wire: u32,
    } "capture.over_wire" "{captured} bytes captured of a frame that had {wire}";
    /// A length that no frame has.
    Absurd {
        /// The length.
        says: u64,
        /// The longest that is accepted.
        limit: u64,
    } "capture.absurd" "a record says it has {says} bytes, more than the {limit} that are believed";
    /// Not a record header: the next records are not where its length says.
    Implausible {
        /// The length it gives.
        says: u64,
    } "capture.implausible" "a record of {says} bytes is not followed by another one, so its header is wrong";
    /// A pcapng block whose length is below its minimum or does not divide by four.
    BlockLength {
        /// Block type.
        block: u32,
        /// The length.
        says: u32,
    } "capture.block_length" "a block of type {block:#010x} says it has {says} bytes, which no such block has";
    /// A pcapng block whose length at its end is another than at its beginning.
    BlockEnd {
        /// Block type.
        block: u32,
        /// Length at its beginning.
        head: u32,
        /// Length at its end.
        tail: u32,
    } "capture.block_end" "a block of type {block:#010x} has {head} bytes at its beginning, {tail} at its end";
    /// A pcapng packet block whose frame does not fit into the block. The part that does is delivered.
    BlockFrame {
        /// Bytes captured, as the block says.
        captured: u32,
        /// Bytes there is room for.
        room: u32,
    } "capture.block_frame" "a block says it holds {captured} bytes of a frame, but has room for {room}";
    /// A pcapng packet of an interface that no block described. It is skipped.
    NoInterface {
        /// The interface's number within its section.
        id: u32,
        /// How many are described.
        known: u32,
    } "capture.no_interface" "a packet of interface {id}, when only {known} have been described";
    /// More interfaces than are kept. Packets of this one are skipped.
    Interfaces "capture.interfaces" "more interfaces than are kept";
    /// A pcapng section of a major version that is not known, or without a byte order.
    Section "capture.section" "a section whose byte order or version is not known";
    /// Options that run over the end of their block.
    Options "capture.options" "options run over the end of their block";
    /// ERF extension headers that run over the end of their record. The record is delivered.
    Extensions "capture.extensions" "extension headers run over the end of their record";
    /// A link type with more than 16 bits.
    LinkType {
        /// The link type.
        says: u32,
    } "capture.link_type" "link type {says} is out of range";
    /// Compressed data that does not decompress.
    Compressed {
        /// What the decompressor says.
        reason: String,
    } "capture.compressed" "the compressed data is damaged: {reason}";
    /// The file is a part of a capture, and those before it were not given.
    PartsMissing {
        /// How many, by the numbers of their names.
        missing: u64,
    } "capture.parts_missing" "files of the capture before this one were not given ({missing} by the numbers of their names): their packets are missing here";
}

impl Problem {
    /// Whether this is the text of files that were not given.
    pub(crate) fn is_of_missing_parts(text: &str) -> bool {
        let whole = Problem::PartsMissing { missing: 0 }.to_string();
        whole.split_once('(').is_some_and(|(begin, _)| text.starts_with(begin))
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.record {
            0 => write!(f, "at byte {}, before the first frame: {}", self.offset, self.problem)?,
            last => write!(f, "at byte {}, after frame {last}: {}", self.offset, self.problem)?,
        }
        if self.skipped > 0 {
            write!(f, "; {} B skipped", self.skipped)?;
        }
        if self.fatal { f.write_str("; nothing after it can be read") } else { Ok(()) }
    }
}
