//! What a dissection has to say of a frame.

use std::fmt;

use crate::wire::Kind;

/// Something about the frame that the specification does not allow, that could not be read, or that is worth saying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// Which layer it is about.
    pub layer: Kind,
    /// Where that starts, in bytes from the frame's start.
    pub at: u16,
    /// What it is.
    pub problem: Problem,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The header needs `need` bytes and the packet ends after `have`.
    Truncated {
        /// Bytes the header has.
        need: u16,
        /// Bytes there are.
        have: u16,
    },
    /// The header needs `need` bytes and the capture, or a mirror, kept `have`.
    Cut {
        /// Bytes the header has.
        need: u16,
        /// Bytes there are.
        have: u16,
    },
    /// The capture kept `have` bytes of a frame of `of`.
    Captured {
        /// Bytes there are; 65535 stands for more.
        have: u16,
        /// Bytes on the wire; 65535 stands for more.
        of: u16,
    },
    /// A mirror cut the packet: its length field says `says`, and `have` bytes are there.
    MirrorCut {
        /// What the field says.
        says: u16,
        /// Bytes there are.
        have: u16,
    },
    /// A length field says more than there is around it, or less than its own header.
    Length {
        /// What the field says, in bytes.
        says: u16,
        /// Bytes there are.
        have: u16,
    },
    /// A version that the header's specification does not know.
    Version {
        /// What the field says.
        says: u8,
    },
    /// An operation code nobody assigned.
    Opcode {
        /// What the field says.
        says: u8,
    },
    /// More padding than there is payload, or in a packet that has none.
    Pad {
        /// What the field says.
        says: u8,
    },
    /// A payload that the operation code does not allow.
    Payload {
        /// Bytes there are; 65535 stands for more.
        have: u16,
    },
    /// A message of one packet whose DMA length is not its payload's.
    DmaLength {
        /// The low bits of what the field says.
        says: u16,
        /// Bytes there are.
        have: u16,
    },
    /// An IP fragment: the rest, and the ICRC, are elsewhere.
    Fragment {
        /// Its place, in units of eight bytes.
        offset: u16,
    },
    /// More tags, labels or tunnels than are followed.
    Depth {
        /// How many were followed.
        limit: u8,
    },
    /// Headers go on so far into the frame that they are not followed.
    Far,
    /// A link or record type that is not read.
    LinkType {
        /// What it is.
        says: u16,
    },
    /// Something follows that is not read.
    Unread {
        /// The protocol's number.
        protocol: u16,
    },
}

/// How bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Unusual; the frame was read all the same.
    Warning,
    /// Malformed.
    Error,
}

impl Severity {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl Note {
    pub(super) const NONE: Note = Note { layer: Kind::Ethernet, at: 0, problem: Problem::Opcode { says: 0 } };

    /// A stable name to filter by: the layer's and the problem's ("bth.opcode").
    pub fn id(&self) -> String {
        format!("{}.{}", self.layer.layer(), self.problem.id())
    }
}

impl Problem {
    /// One of each, for lists of them.
    pub const EXAMPLES: &'static [Problem] = &[
        Problem::Truncated { need: 0, have: 0 },
        Problem::Cut { need: 0, have: 0 },
        Problem::Captured { have: 0, of: 0 },
        Problem::MirrorCut { says: 0, have: 0 },
        Problem::Length { says: 0, have: 0 },
        Problem::Version { says: 0 },
        Problem::Opcode { says: 0 },
        Problem::Pad { says: 0 },
        Problem::Payload { have: 0 },
        Problem::DmaLength { says: 0, have: 0 },
        Problem::Fragment { offset: 0 },
        Problem::Depth { limit: 0 },
        Problem::Far,
        Problem::LinkType { says: 0 },
        Problem::Unread { protocol: 0 },
    ];

    /// What it means.
    pub const fn doc(&self) -> &'static str {
        match self {
            Problem::Truncated { .. } => "The packet ends, by its length fields, within this header.",
            Problem::Cut { .. } => "The capture, or a mirror, kept only a part of this header.",
            Problem::Captured { .. } => {
                "The capture kept only a part of the frame: what is missing is no fault of it."
            }
            Problem::MirrorCut { .. } => {
                "A mirror cut the packet before it was captured: its own length field says how long it was."
            }
            Problem::Length { .. } => {
                "A length field says more than there is around it, or less than its own header has."
            }
            Problem::Version { .. } => "A version that the header's specification does not know.",
            Problem::Opcode { .. } => {
                "An operation code nobody assigned; payload and ICRC are located all the same."
            }
            Problem::Pad { .. } => "The pad count is more than the packet has room for.",
            Problem::Payload { .. } => {
                "A payload that the operation code does not allow: a First or Middle packet has exactly the path MTU, an acknowledgement nothing."
            }
            Problem::DmaLength { .. } => "A message of one packet whose DMA length is not its payload's.",
            Problem::Fragment { .. } => {
                "An IP fragment: the rest of the packet, and the ICRC, are in others."
            }
            Problem::Depth { .. } => "More tags, labels, extension headers or tunnels than are followed.",
            Problem::Far => {
                "Headers go on further into the frame than the index reaches: what follows is payload."
            }
            Problem::LinkType { .. } => "A link or record type that is not read.",
            Problem::Unread { .. } => "A protocol follows that is not read.",
        }
    }

    /// How bad it is.
    pub const fn severity(&self) -> Severity {
        match self {
            Problem::Truncated { .. } | Problem::Length { .. } => Severity::Error,
            Problem::Pad { .. } | Problem::Payload { .. } | Problem::Depth { .. } => Severity::Error,
            Problem::Version { .. } | Problem::Opcode { .. } | Problem::DmaLength { .. } => Severity::Warning,
            Problem::Fragment { .. } | Problem::LinkType { .. } | Problem::Far => Severity::Warning,
            Problem::Cut { .. }
            | Problem::Captured { .. }
            | Problem::MirrorCut { .. }
            | Problem::Unread { .. } => Severity::Note,
        }
    }

    /// A stable name, without the layer's.
    pub const fn id(&self) -> &'static str {
        match self {
            Problem::Truncated { .. } => "truncated",
            Problem::Cut { .. } => "cut",
            Problem::Captured { .. } => "captured",
            Problem::MirrorCut { .. } => "mirror_cut",
            Problem::Length { .. } => "length",
            Problem::Version { .. } => "version",
            Problem::Opcode { .. } => "opcode",
            Problem::Pad { .. } => "pad",
            Problem::Payload { .. } => "payload",
            Problem::DmaLength { .. } => "dma_len",
            Problem::Fragment { .. } => "fragment",
            Problem::Depth { .. } => "depth",
            Problem::Far => "far",
            Problem::LinkType { .. } => "link_type",
            Problem::Unread { .. } => "unread",
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = self.layer.label();
        match self.problem {
            Problem::Truncated { need, have } => {
                write!(f, "{label} needs {need} bytes, the packet has {have}")
            }
            Problem::Cut { need, have } => write!(f, "{label} needs {need} bytes, {have} were captured"),
            Problem::Captured { have, of } => write!(f, "{have} of {of} bytes were captured"),
            Problem::MirrorCut { says, have } => {
                write!(f, "the mirror cut the packet: {label} says {says} bytes, {have} are there")
            }
            Problem::Length { says, have } => write!(f, "{label} says {says} bytes where there are {have}"),
            Problem::Version { says } => write!(f, "{label} version {says} is not known"),
            Problem::Opcode { says } => write!(f, "operation code {says:#04x} is not assigned"),
            Problem::Pad { says } => write!(f, "{says} bytes of padding do not fit this packet"),
            Problem::Payload { have } => write!(f, "{have} bytes of payload do not fit the operation code"),
            Problem::DmaLength { says, have } => {
                write!(f, "DMA length {says} (low 16 bits) in a message of {have} bytes")
            }
            Problem::Fragment { offset } => write!(f, "a fragment, from byte {}", offset as u32 * 8),
            Problem::Depth { limit } => write!(f, "more than {limit} of them are not followed"),
            Problem::Far => write!(f, "headers are not followed further into the frame"),
            Problem::LinkType { says } => write!(f, "type {says} is not read"),
            Problem::Unread { protocol } => write!(f, "protocol {protocol:#06x} is not read"),
        }
    }
}
