//! The headers of a message, found one after the other.

use crate::wire::{Header, Kind};

/// The most headers of a message that are told.
const MOST: usize = 48;

/// A header of a message, or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its kind.
    pub kind: Kind,
    /// Its first byte, from the message's start.
    pub at: usize,
    /// Its bytes.
    pub len: usize,
}

/// The headers of a message.
#[derive(Clone, Copy)]
pub struct Parts {
    parts: [Part; MOST],
    len: usize,
}

impl Parts {
    /// The most of them.
    pub const MOST: usize = MOST;

    /// The first header of this type.
    pub fn get<'a, H: Header>(&self, message: &'a [u8]) -> Option<&'a H> {
        self.all(message).next()
    }

    /// All headers of this type.
    pub fn all<'a, H: Header>(&self, message: &'a [u8]) -> impl Iterator<Item = &'a H> {
        let of_kind = self.iter().filter(|part| part.kind == H::KIND);
        of_kind.filter_map(|part| H::view(message.get(part.at..)?).map(|(header, _)| header))
    }

    /// The part at this place.
    pub(crate) fn get_part(&self, at: usize) -> Option<Part> {
        (**self).get(at).copied()
    }

    /// Where the headers end.
    pub fn end(&self) -> usize {
        self.last().map_or(0, |part| part.at + part.len)
    }
}

impl core::ops::Deref for Parts {
    type Target = [Part];
    fn deref(&self) -> &[Part] {
        &self.parts[..self.len]
    }
}

impl core::fmt::Debug for Parts {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Reads a message from its start. What ends before a header is whole has no more headers.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    parts: Parts,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Reader<'a> {
        let none = Part { kind: Kind::Payload, at: 0, len: 0 };
        Reader { bytes, at: 0, parts: Parts { parts: [none; MOST], len: 0 } }
    }

    pub(super) fn finish(self) -> Parts {
        self.parts
    }

    pub(super) fn has(&self, kind: Kind) -> bool {
        self.parts.iter().any(|part| part.kind == kind)
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn left(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or(&[])
    }

    /// A header.
    pub(super) fn take<H: Header>(&mut self) -> Option<&'a H> {
        self.take_as(H::KIND)
    }

    /// A header that is of this kind here.
    pub(super) fn take_as<H: Header>(&mut self, kind: Kind) -> Option<&'a H> {
        let (header, _) = H::view(self.left())?;
        self.bytes(kind, H::LEN)?;
        Some(header)
    }

    /// A part of so many bytes; none is told of an empty one.
    pub(super) fn bytes(&mut self, kind: Kind, len: usize) -> Option<&'a [u8]> {
        let bytes = self.left().get(..len)?;
        if len > 0 {
            *self.parts.parts.get_mut(self.parts.len)? = Part { kind, at: self.at, len };
            self.parts.len += 1;
            self.at += len;
        }
        Some(bytes)
    }

    /// The next word of XDR, which stays.
    pub(super) fn word(&self) -> Option<u32> {
        Some(u32::from_be_bytes(*self.left().first_chunk()?))
    }
}
