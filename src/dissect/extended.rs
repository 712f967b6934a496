//! The extended headers of each operation code: which, and where, worked out by the compiler.

use crate::{opcode::Opcode, wire::*};

struct Extended {
    /// The set of their [kinds](Kind::bit).
    kinds: u64,
    /// Where each starts, from the BTH's first byte.
    at: [u8; COUNT],
}

const FIRST: u8 = Kind::Rdeth as u8;
const COUNT: usize = (Kind::Cnp as u8 - FIRST) as usize + 1;

static EXTENDED: [Extended; 256] = {
    let mut table = [const { Extended { kinds: 0, at: [0; COUNT] } }; 256];
    let mut i = 0;
    while i < Opcode::ALL.len() {
        let chain = Opcode::ALL[i].const_chain();
        let row = &mut table[Opcode::ALL[i].0 as usize];
        let (mut at, mut j) = (Bth::LEN as u8, 0);
        while j < chain.len() {
            row.kinds |= chain[j].bit();
            row.at[(chain[j] as u8 - FIRST) as usize] = at;
            at += match chain[j].info() {
                Some(info) => info.len as u8,
                None => 0,
            };
            j += 1;
        }
        i += 1;
    }
    table
};

/// The extended headers that packets of this operation code have.
#[inline(always)]
pub(super) fn kinds(opcode: Opcode) -> u64 {
    EXTENDED[opcode.0 as usize].kinds
}

/// Where an extended header starts, from the BTH's first byte.
#[inline(always)]
pub(super) fn offset(opcode: u8, kind: Kind) -> Option<usize> {
    let row = &EXTENDED[opcode as usize];
    if row.kinds & kind.bit() == 0 {
        return None;
    }
    row.at.get((kind as u8).wrapping_sub(FIRST) as usize).map(|&at| at as usize)
}
