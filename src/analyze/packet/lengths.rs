//! Lengths that a dissected frame states.

use crate::{
    dissect::{Dissection, Link},
    opcode::Chain,
    wire::*,
    wire_cost::{self, Contents, FCS, GAP, ICRC, PREAMBLE, SHORTEST_FRAME},
};

/// Bytes that the frame takes on the wire: with preamble, frame check sequence and inter-frame gap if it is an Ethernet
/// frame, from LRH to VCRC if it is native InfiniBand. By the lengths that its headers state, never by what was
/// captured; of the innermost packet, where there are tunnels. The first fragment of a packet counts as the whole packet.
pub fn l1_bytes(d: &Dissection<'_>) -> u32 {
    if d.link() != Link::ETHERNET {
        if let Some(lrh) = d.offset(Kind::Lrh) {
            return d.end().saturating_sub(lrh as u32).saturating_add(wire_cost::VCRC);
        }
        if d.has(Kind::LinkPacket) {
            return LinkPacket::LEN as u32;
        }
    }
    let frame = match network(d) {
        Some(network) => {
            (Ethernet::LEN as u32 + vlan_bytes(d) + FCS).saturating_add(d.end().saturating_sub(network))
        }
        None => other_frame(d),
    };
    frame.max(SHORTEST_FRAME).saturating_add(PREAMBLE + GAP)
}

/// Where the network header starts.
pub(super) fn network(d: &Dissection<'_>) -> Option<u32> {
    let at = d.offset(Kind::Ipv4).or_else(|| d.offset(Kind::Ipv6)).or_else(|| d.offset(Kind::Grh))?;
    Some(at as u32)
}

/// A frame that is not of a network protocol this toolkit reads, without its preamble and gap.
#[cold]
fn other_frame(d: &Dissection<'_>) -> u32 {
    let from = d.offset(Kind::Ethernet).unwrap_or(0) as u32;
    // An ERF record of an Ethernet frame counts its frame check sequence; the other formats' rarely have it.
    let fcs = if d.link() == Link::ERF && !d.end_is_known() { 0 } else { FCS };
    d.end().saturating_sub(from).saturating_add(fcs)
}

/// Bytes of VLAN tags.
pub(super) fn vlan_bytes(d: &Dissection<'_>) -> u32 {
    let Some(last) = d.offset(Kind::Vlan) else { return 0 };
    let after = |kind, len| d.offset(kind).map(|at| at + len);
    let first = after(Kind::Ethernet, Ethernet::LEN)
        .or_else(|| after(Kind::Sll, Sll::LEN))
        .or_else(|| after(Kind::Sll2, Sll2::LEN))
        .unwrap_or(last);
    (last + Vlan::LEN).saturating_sub(first) as u32
}

/// Bytes of extended headers, payload and pad, by the lengths that the packet states, captured or not. `left`: from
/// its BTH on, which the headers of `chain` follow.
pub(super) fn contents(left: u32, bth: &Bth, chain: &Chain) -> Contents {
    let room = left.saturating_sub(Bth::LEN as u32 + ICRC);
    let extended = chain.total_len() as u32;
    let pad = (bth.pad_cnt() as u32).min(room.saturating_sub(extended));
    Contents { extended, payload: room.saturating_sub(extended + pad), pad }
}
