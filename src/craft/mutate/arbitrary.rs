//! Packets from a fuzzer's bytes.

use std::sync::LazyLock;

use arbitrary::{Arbitrary, Result, Unstructured};

use super::{Base, Mutant, Mutation, mutations};
use crate::{
    craft::{ComputedField, Packet},
    opcode::PayloadRule,
    wire::*,
};

static BASES: LazyLock<Vec<Base>> = LazyLock::new(Base::all);

/// A valid but unusual packet: one of [`Base::all`] with any values in fields that are not computed and do not decide which
/// header follows, and with a payload that its operation code allows. Lengths, checksums and ICRC are right.
impl<'a> Arbitrary<'a> for Packet {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Packet> {
        let mut packet = u.choose(&BASES)?.packet().clone();
        for n in 0..packet.parts().len() {
            let kind = packet.parts()[n].kind;
            for row in kind.fields() {
                if ComputedField::of(kind, row.name).is_none()
                    && is_free(kind, row.name)
                    && u.ratio(1u8, 4u8)?
                {
                    row.set(packet.bytes_mut(n), u.arbitrary()?);
                }
            }
        }
        let rule = packet.get::<Bth>().map(|bth| bth.opcode().payload_rule());
        let is_management = packet.parts().iter().any(|part| part.kind.is_management());
        let len = match rule {
            Some(PayloadRule::Full) => Some(256 << u.int_in_range(0..=4)?),
            Some(PayloadRule::Some) => Some(u.int_in_range(1..=4096)?),
            Some(PayloadRule::Any) if !is_management => Some(u.int_in_range(0..=4096)?),
            _ => None,
        };
        if let Some(len) = len {
            let byte: u8 = u.arbitrary()?;
            packet.set_payload((0..len).map(|n: usize| (n as u8).wrapping_mul(byte)).collect::<Vec<u8>>());
        }
        Ok(packet)
    }
}

/// Whether every value of the field is allowed and leaves the following headers as they are.
fn is_free(kind: Kind, field: &str) -> bool {
    match kind {
        Kind::Bth => !matches!(field, "opcode" | "tver" | "p_key"),
        Kind::Lrh => !matches!(field, "lver"),
        Kind::Ipv4 => !matches!(field, "mf" | "fragment_offset"),
        Kind::Ethernet
        | Kind::Vlan
        | Kind::Ipv6
        | Kind::Grh
        | Kind::Udp
        | Kind::GreKey
        | Kind::GreSequence => true,
        Kind::Deth => field != "src_qp",
        Kind::Mad => false,
        kind => kind.is_extended(),
    }
}

/// One of [`Base::all`] with up to three mutations.
impl<'a> Arbitrary<'a> for Mutant {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Mutant> {
        let base = u.choose(&BASES)?;
        match u.int_in_range(0..=3)? {
            0 => Ok(base.mutant(&Mutation::Nothing)),
            1 => Ok(base.mutant(u.choose(&mutations(base.packet()))?)),
            // Without bytes left, the fuzzer gives zeros.
            n => Ok(base.stacked(n, &mut |below| u.choose_index(below).unwrap_or(0))),
        }
    }
}
