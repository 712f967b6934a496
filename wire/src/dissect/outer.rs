//! The headers before the first tunnel of a frame: for readers that know at which offsets the inner packet has its fields.

use super::{Link, Options, Problem, walk};
use crate::{
    opcode::{Chain, Opcode},
    wire::{Header, Kind, KindSet},
};

/// The headers before the first tunnel over IPv4.
pub struct Outer<'a> {
    bytes: &'a [u8],
    has: KindSet,
    /// Where they start: GRE; its sequence number; what is last, as VXLAN or ERSPAN.
    gre: usize,
    sequence: usize,
    last: usize,
    /// Where the inner packet starts and ends. It is empty where there is no tunnel.
    inside: (usize, usize),
    /// Something is wrong with them.
    is_odd: bool,
}

impl<'a> Outer<'a> {
    /// The outer headers of a packet, from its IPv4 header on; `None` if there is no tunnel, or if a note is due.
    pub fn of(options: &Options, bytes: &'a [u8], wire_len: u32) -> Option<Outer<'a>> {
        let mut outer =
            Outer { bytes, has: KindSet::NONE, gre: 0, sequence: 0, last: 0, inside: (0, 0), is_odd: false };
        walk::walk(bytes, Link::IPV4, wire_len, options, &mut outer);
        (!outer.is_odd && outer.inside.0 > 0).then_some(outer)
    }

    /// The bytes from a header on.
    pub fn at(&self, kind: Kind) -> Option<&'a [u8]> {
        let at = match kind {
            _ if !self.has.has(kind) => return None,
            Kind::Ipv4 => 0,
            Kind::Gre => self.gre,
            Kind::GreSequence => self.sequence,
            _ => self.last,
        };
        self.bytes.get(at..)
    }
    /// The header of this type.
    pub fn get<H: Header>(&self) -> Option<&'a H> {
        H::view(self.at(H::KIND)?).map(|(header, _)| header)
    }

    /// The captured part of the inner packet, and its bytes on the wire.
    pub fn inside(&self) -> Option<(&'a [u8], usize)> {
        let (at, end) = self.inside;
        Some((self.bytes.get(at..end.min(self.bytes.len()))?, end.checked_sub(at)?))
    }
}

impl walk::Visitor for Outer<'_> {
    const DETAIL: bool = false;

    #[inline(always)]
    fn header(&mut self, kind: Kind, at: usize, _: usize) {
        self.has = self.has.with(kind);
        match kind {
            Kind::Gre => self.gre = at,
            Kind::GreSequence => self.sequence = at,
            Kind::Vxlan | Kind::Erspan2 | Kind::Erspan3 => self.last = at,
            _ => {}
        }
    }

    fn transport(&mut self, _: Opcode, _: &'static Chain) {}
    fn extended(&mut self, _: &'static Chain, _: usize) {}

    fn note(&mut self, _: Kind, _: usize, _: Problem) {
        // What is noted behind the outer headers is of the inner packet.
        self.is_odd |= self.inside.0 == 0;
    }

    fn tunnel(&mut self, at: usize, end: usize) -> bool {
        self.inside = (at, end);
        false
    }

    fn fragment(&mut self) {}
    fn mirror_cut(&mut self) {}
    fn changed(&mut self) {}
    fn finish(&mut self, _: &walk::Tail) {}
}
