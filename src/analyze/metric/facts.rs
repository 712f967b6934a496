//! What several metrics read from a packet.

use crate::{
    cost::{ICRC, extended_len},
    dissect::{Dissection, Encapsulation},
    opcode::{Opcode, Operation},
    wire::{Aeth, Bth, Ecn, Grh, Header, Ipv4, Ipv6, Kind, Syndrome},
};

/// An ACK or a NAK; not the acknowledgement of an atomic, which carries data.
#[inline]
pub fn is_acknowledge(opcode: Opcode) -> bool {
    opcode.0 & 0x1f == 0x11 && opcode.operation() == Some(Operation::Acknowledge)
}

/// What an acknowledgement says.
#[inline]
pub fn syndrome(d: &Dissection<'_>, opcode: Opcode) -> Option<Syndrome> {
    if is_acknowledge(opcode) { d.get::<Aeth>().map(|aeth| aeth.syndrome()) } else { None }
}

/// The packet's mark: in the IP header or RoCE v1's GRH; in native InfiniBand FECN stands for it, and all packets are
/// capable.
#[inline]
pub fn ecn(d: &Dissection<'_>, bth: &Bth) -> Ecn {
    if let Some(ip) = d.get::<Ipv4>() {
        return ip.ecn();
    }
    if let Some(ip) = d.get::<Ipv6>() {
        return ip.ecn();
    }
    match d.encapsulation() {
        Some(Encapsulation::RoceV1) => d.get::<Grh>().map_or(Ecn(0), |grh| Ecn(grh.t_class().0 & 3)),
        _ if d.has(Kind::Lrh) && bth.fecn() => Ecn::CE,
        _ => Ecn::ECT0,
    }
}

/// Bytes of extended headers, payload and pad, by the lengths that the packet states, captured or not.
#[inline]
pub fn contents(d: &Dissection<'_>, bth: &Bth) -> crate::cost::Contents {
    let at = d.offset(Kind::Bth).unwrap_or(0) as u32;
    let room = d.end().saturating_sub(at + Bth::LEN as u32 + ICRC);
    let extended = extended_len(bth.opcode());
    let pad = (bth.pad_cnt() as u32).min(room.saturating_sub(extended));
    crate::cost::Contents { extended, payload: room.saturating_sub(extended + pad), pad }
}
