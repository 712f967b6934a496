//! The headers between a packet's BTH and its payload: which, and where, worked out by the compiler.

use super::{Opcode, Transport};
use crate::wire::{Bth, Header, Kind};

/// The headers between a packet's BTH and its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    kinds: [Kind; MOST],
    count: u8,
    /// Bytes of all of them.
    len: u8,
    /// Where each starts, from the BTH's first byte, by its [place](Kind::extended_place); 0 where it is not there.
    at: [u8; Kind::EXTENDED],
}

/// Most headers between a BTH and the payload.
const MOST: usize = 4;

/// Where in [`CHAINS`] the forms of each transport begin, and how many there are in all.
const FIRST: ([usize; Transport::ALL.len()], usize) = {
    let (mut first, mut n, mut i) = ([0; Transport::ALL.len()], 0, 0);
    while i < first.len() {
        first[i] = n;
        n += Transport::ALL[i].forms().len();
        i += 1;
    }
    (first, n)
};

/// By form, then by code.
static CHAINS: [[Chain; 256]; FIRST.1] = {
    let mut chains = [[Chain::new(&[], &[]); 256]; FIRST.1];
    let mut i = 0;
    while i < Transport::ALL.len() {
        let (transport, mut form) = (Transport::ALL[i], 0);
        while form < transport.forms().len() {
            let mut code = 0;
            while code < 256 {
                let row = Opcode::of(transport, code as u8).row();
                chains[FIRST.0[i] + form][code] = Chain::new(row.chain, transport.forms()[form]);
                code += 1;
            }
            form += 1;
        }
        i += 1;
    }
    chains
};

impl Chain {
    /// No header.
    pub(crate) const NONE: &'static Chain = &Chain::new(&[], &[]);

    /// The headers of a packet with this operation code and this BTH.
    #[inline(always)]
    pub fn of(opcode: Opcode, bth: &Bth) -> &'static Chain {
        &CHAINS[FIRST.0[opcode.transport as usize] + opcode.transport.form(bth)][opcode.code as usize]
    }

    /// The headers of a table's row, without those that no flag of the BTH brings.
    const fn new(kinds: &[Kind], without: &[Kind]) -> Chain {
        let mut chain = Chain { kinds: [Kind::Bth; MOST], count: 0, len: 0, at: [0; Kind::EXTENDED] };
        let mut i = 0;
        while i < kinds.len() {
            let kind = kinds[i];
            if let (Some(info), false) = (kind.info(), is_in(kind, without)) {
                chain.kinds[chain.count as usize] = kind;
                chain.at[kind.extended_place()] = Bth::LEN as u8 + chain.len;
                chain.count += 1;
                chain.len += info.len as u8;
            }
            i += 1;
        }
        chain
    }

    /// The headers in order.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds[..self.count as usize]
    }

    /// Their bytes, all together.
    #[inline(always)]
    pub fn total_len(&self) -> usize {
        self.len as usize
    }

    /// Where this header starts, from the BTH's first byte.
    #[inline(always)]
    pub fn offset(&self, kind: Kind) -> Option<usize> {
        if !kind.is_extended() {
            return None;
        }
        match self.at[kind.extended_place()] {
            0 => None,
            at => Some(at as usize),
        }
    }
}

const fn is_in(kind: Kind, kinds: &[Kind]) -> bool {
    let mut i = 0;
    while i < kinds.len() {
        if kinds[i] as u16 == kind as u16 {
            return true;
        }
        i += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_no_flag_brings_takes_no_room() {
        let all = Chain::new(&[Kind::Deth, Kind::Reth, Kind::ImmDt], &[]);
        assert_eq!(
            (all.total_len(), all.offset(Kind::Reth), all.offset(Kind::ImmDt)),
            (28, Some(20), Some(36))
        );
        let without = Chain::new(&[Kind::Deth, Kind::Reth, Kind::ImmDt], &[Kind::Reth]);
        assert_eq!(without.kinds(), [Kind::Deth, Kind::ImmDt]);
        assert_eq!(
            (without.total_len(), without.offset(Kind::Reth), without.offset(Kind::ImmDt)),
            (12, None, Some(20))
        );
    }

    #[test]
    fn a_chain_with_all_flags_is_the_row_of_the_table() {
        let bth = Bth::default().with_resv7(crate::wire::Hex8(0x7f));
        for &opcode in Opcode::ALL {
            assert_eq!(Chain::of(opcode, &bth).kinds(), opcode.chain(), "{opcode}");
        }
    }
}
