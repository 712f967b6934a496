//! Everything in a frame, in wire order.

use core::fmt;

use super::{Problem, walk};
use crate::{
    opcode::{Chain, Opcode},
    upper::Parts,
    wire::Kind,
};

/// A header, or another part of a frame, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Its kind.
    pub kind: Kind,
    /// Its first byte, from the frame's start.
    pub at: u32,
    /// Its bytes, captured or not.
    pub len: u32,
}

/// The most layers that the limits of the walk allow. Before each tunnel, and in the innermost packet, nine headers that are no
/// tags (Ethernet, IPv4, options, GRE with three words, ERSPAN III, its sub-header); two for each tag, which may have a part of variable
/// length; metadata of switches; two of ERF; a BTH with three more, a MAD with seven more or a message; five at the end.
const ROOM: usize = 9 * (walk::MAX_TUNNELS as usize + 1)
    + 2 * walk::MAX_TAGS as usize
    + walk::MAX_METADATA as usize
    + 2
    + 4
    + Parts::MOST
    + 5;

/// The layers of a frame, outermost first.
#[derive(Clone, Copy)]
pub struct Layers {
    layers: [Layer; ROOM],
    len: usize,
}

impl Default for Layers {
    fn default() -> Self {
        Layers { layers: [Layer { kind: Kind::Payload, at: 0, len: 0 }; ROOM], len: 0 }
    }
}

impl Layers {
    fn push(&mut self, kind: Kind, at: usize, len: usize) {
        if let Some(room) = self.layers.get_mut(self.len) {
            *room = Layer { kind, at: at as u32, len: len as u32 };
            self.len += 1;
        }
    }
}

impl fmt::Debug for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|layer| (layer.kind, layer.at))).finish()
    }
}

impl core::ops::Deref for Layers {
    type Target = [Layer];
    fn deref(&self) -> &[Layer] {
        &self.layers[..self.len]
    }
}

impl walk::Visitor for Layers {
    const DETAIL: bool = true;

    fn header(&mut self, kind: Kind, at: usize, len: usize) {
        self.push(kind, at, len);
    }

    fn transport(&mut self, _: Opcode, _: &'static Chain) {}

    fn extended(&mut self, chain: &'static Chain, mut at: usize) {
        for &kind in chain.kinds() {
            let len = kind.info().map_or(0, |info| info.len);
            self.push(kind, at, len);
            at += len;
        }
    }

    fn note(&mut self, _: Kind, _: usize, _: Problem) {}
    fn tunnel(&mut self, _: usize, _: usize) -> bool {
        true
    }
    fn fragment(&mut self) {}
    fn mirror_cut(&mut self) {}
    fn changed(&mut self) {}

    fn finish(&mut self, tail: &walk::Tail) {
        let payload_end = tail.body_end - tail.pad as usize;
        if payload_end > tail.payload {
            self.push(Kind::Payload, tail.payload, payload_end - tail.payload);
        }
        if tail.pad > 0 {
            self.push(Kind::Pad, payload_end, tail.pad as usize);
        }
        if tail.icrc {
            self.push(Kind::Icrc, tail.body_end, 4);
        }
        if tail.vcrc {
            self.push(Kind::Vcrc, tail.end, 2);
        }
        let end = tail.end + if tail.vcrc { 2 } else { 0 };
        if tail.known && tail.captured > end {
            self.push(Kind::Trailer, end, tail.captured - end);
        }
    }
}
