//! Operation codes as the walk through a frame needs them: one row each, worked out by the compiler.

use crate::{
    opcode::{Opcode, PayloadRule},
    wire::*,
};

/// What the walk needs to know of an operation code, close together: its extended headers, how long they are, which, and where
/// each starts; what payload it may have.
#[derive(Clone, Copy)]
pub(super) struct Extended {
    pub(super) kinds: u64,
    /// The least payload, and how much more there may be.
    pub(super) least: u16,
    pub(super) more: u32,
    /// The payload is a path MTU.
    pub(super) is_full: bool,
    pub(super) is_known: bool,
    pub(super) len: u8,
    pub(super) at: [u8; FIRST_EXTENDED_TO_LAST],
}

const FIRST_EXTENDED: u8 = Kind::Rdeth as u8;
const FIRST_EXTENDED_TO_LAST: usize = (Kind::Cnp as u8 - FIRST_EXTENDED) as usize + 1;

pub(super) static EXTENDED: [Extended; 256] = {
    const UNKNOWN: Extended = Extended {
        kinds: 0,
        least: 0,
        more: u32::MAX,
        is_full: false,
        is_known: false,
        len: 0,
        at: [0; FIRST_EXTENDED_TO_LAST],
    };
    let mut table = [UNKNOWN; 256];
    let mut i = 0;
    while i < Opcode::ALL.len() {
        let opcode = Opcode::ALL[i];
        let chain = opcode.const_chain();
        let row = &mut table[opcode.0 as usize];
        row.is_known = true;
        (row.least, row.more) = match opcode.const_payload_rule() {
            PayloadRule::Any => (0, u32::MAX),
            PayloadRule::Full => (256, 4096 - 256),
            PayloadRule::Some => (1, u32::MAX - 1),
            PayloadRule::None => (0, 0),
            PayloadRule::Eight => (8, 0),
        };
        row.is_full = matches!(opcode.const_payload_rule(), PayloadRule::Full);
        let mut j = 0;
        while j < chain.len() {
            row.kinds |= chain[j].bit();
            row.at[(chain[j] as u8 - FIRST_EXTENDED) as usize] = Bth::LEN as u8 + row.len;
            row.len += match chain[j].info() {
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
    if (kind as u8) < FIRST_EXTENDED || kind as u8 > Kind::Cnp as u8 {
        return None;
    }
    let row = &EXTENDED[opcode as usize];
    (row.kinds & kind.bit() != 0).then(|| row.at[(kind as u8 - FIRST_EXTENDED) as usize] as usize)
}
