//! Notes of a dissection: what is wrong with a frame.

use core::fmt;

use super::{Numbers, Unread};
use crate::{named, wire::Kind};

/// Something in a frame that the specification does not allow, that cannot be dissected, or that is worth knowing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// The layer that it is about.
    pub layer: Kind,
    /// Where the layer starts, in bytes from the frame's start.
    pub at: u16,
    /// The problem.
    pub problem: Problem,
}

/// The problems, each declared once: name, id, severity, what it means, and its text (of the layer with this label).
macro_rules! problems {
    ($label:ident: $($(#[doc = $about:literal])+ $name:ident $({ $($(#[doc = $is:literal])+ $field:ident: $type:ty,)+ })?
        $id:literal $severity:ident $doc:literal => $text:literal $(, $value:expr)?;)*) => {
        /// What is wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Problem {
            $($(#[doc = $about])+ $name $({ $($(#[doc = $is])+ $field: $type,)+ })?,)*
        }

        impl Problem {
            /// One of each kind, for lists.
            pub const EXAMPLES: &'static [Problem] = &[$(Problem::$name $({ $($field: <$type>::MIN),+ })?),*];

            /// What the problem means.
            pub const fn doc(&self) -> &'static str {
                match self { $(Problem::$name { .. } => $doc,)* }
            }

            /// How serious it is.
            pub const fn severity(&self) -> Severity {
                match self { $(Problem::$name { .. } => Severity::$severity,)* }
            }

            /// A stable name, without the layer's.
            pub const fn id(&self) -> &'static str {
                match self { $(Problem::$name { .. } => $id,)* }
            }
        }

        impl fmt::Display for Note {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let $label = self.layer.label();
                match self.problem { $(Problem::$name $({ $($field),+ })? => write!(f, $text $(, $value)?),)* }
            }
        }
    };
}

problems! {
    label:
    /// The header needs `need` bytes, and the packet ends after `have`.
    Truncated {
        /// Bytes of the header.
        need: u16,
        /// Bytes that are there.
        have: u16,
        /// What says where the packet ends.
        by: Limit,
    } "truncated" Error "By its length fields, the packet ends within this header. The text names the one that says so."
        => "{label} needs {need} bytes, {by} leaves {have}";
    /// The header needs `need` bytes, and the capture or a mirror kept `have`.
    Cut {
        /// Bytes of the header.
        need: u16,
        /// Bytes that are there.
        have: u16,
    } "cut" Note "The capture, or a mirror, kept only a part of this header."
        => "{label} needs {need} bytes, {have} were captured";
    /// The capture kept `have` of the frame's `of` bytes.
    Captured {
        /// Bytes that are there; 65535 means that many or more.
        have: u16,
        /// Bytes on the wire; 65535 means that many or more.
        of: u16,
    } "captured" Note "The capture kept only a part of the frame. That is not an error of the frame."
        => "{have} of {of} bytes were captured";
    /// A mirror cut the packet: its length field says `says`, and `have` bytes are there.
    MirrorCut {
        /// What the field says.
        says: u16,
        /// Bytes that are there.
        have: u16,
    } "mirror_cut" Note "A mirror cut the packet before it was captured. The packet's own length field says how long it was."
        => "the mirror cut the packet: {label} says {says} bytes, {have} are there";
    /// A length field says more bytes than there are, or less than its own header has.
    Length {
        /// What the field says, in bytes.
        says: u16,
        /// Bytes that are there.
        have: u16,
    } "length" Error "A length field says more bytes than there are, or less than its own header has."
        => "{label} says {says} bytes, {have} are there";
    /// A version number that is not supported.
    Version {
        /// What the field says.
        says: u8,
    } "version" Warning "A version number that is not supported."
        => "{label} version {says} is not supported";
    /// An operation code that is not assigned.
    Opcode {
        /// What the field says.
        says: u8,
    } "opcode" Warning "An operation code that is not assigned. Payload and ICRC are located nevertheless."
        => "operation code {says:#04x} is not assigned";
    /// More padding than there is payload, or in a packet that has none.
    Pad {
        /// What the field says.
        says: u8,
    } "pad" Error "The pad count is larger than the packet."
        => "{says} bytes of padding do not fit this packet";
    /// A payload that the operation code does not allow.
    Payload {
        /// Bytes that are there; 65535 means that many or more.
        have: u16,
    } "payload" Error "A payload that the operation code does not allow. First and Middle packets have exactly the path MTU, acknowledgements none."
        => "{have} bytes of payload do not fit the operation code";
    /// A message of one packet, whose DMA length differs from its payload's length.
    DmaLength {
        /// The low bits of what the field says.
        says: u16,
        /// Bytes that are there.
        have: u16,
    } "dma_len" Warning "A message of one packet, whose DMA length differs from its payload's length."
        => "DMA length {says} (low 16 bits) in a message of {have} bytes";
    /// An IP fragment: the rest of the packet is in other frames.
    Fragment {
        /// Its offset, in units of eight bytes.
        offset: u16,
    } "fragment" Warning "An IP fragment: the rest of the packet, and the ICRC, are in other frames."
        => "an IP fragment, from byte {}", offset as u32 * 8;
    /// More tags, labels or tunnels than are dissected.
    Depth {
        /// How many are dissected.
        limit: u8,
    } "depth" Error "More tags, labels, extension headers or tunnels than are dissected."
        => "more than {limit} of them are not dissected";
    /// Headers beyond the largest offset of the index.
    Far "far" Warning "Headers beyond the largest offset of the index. What follows is payload."
        => "headers beyond this offset are not dissected";
    /// A link type or a record type that is not supported.
    LinkType {
        /// Which of them.
        of: Numbers,
        /// The type.
        number: u16,
    } "link_type" Warning "A link type or a record type that is not supported."
        => "{} is not supported", Unread { of, number };
    /// A protocol that is not dissected.
    Unread {
        /// What counts the protocols here.
        of: Numbers,
        /// The protocol's number.
        number: u16,
    } "unread" Note "A protocol that is not dissected."
        => "{} is not dissected", Unread { of, number };
}

/// What says where a packet ends: the length field of a header, or the frame's own end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit(pub Option<Kind>);

impl Limit {
    const MIN: Limit = Limit(None);
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(kind) => write!(f, "the length in {}", kind.label()),
            None => f.write_str("the frame"),
        }
    }
}

named! {
    /// How serious a problem is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Severity {
        /// Worth knowing.
        Note "note",
        /// Unusual; the frame was dissected nevertheless.
        Warning "warning",
        /// Malformed.
        Error "error",
    }
}

impl Note {
    pub(super) const NONE: Note = Note { layer: Kind::Ethernet, at: 0, problem: Problem::Opcode { says: 0 } };

    /// A stable name for filters: the layer's and the problem's ("bth.opcode").
    pub fn id(&self) -> impl fmt::Display + use<> {
        Id(*self)
    }
}

struct Id(Note);

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0.layer.layer(), self.0.problem.id())
    }
}
