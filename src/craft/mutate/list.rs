//! The list of all single mutations of a packet.

use super::{Crc, Mutation, Value};
use crate::{
    craft::{ComputedField, Packet},
    dissect::Link,
    opcode::Opcode,
    wire::*,
};

/// Numbers of tags and of tunnels, around common limits of parsers.
const TAGS: [u8; 7] = [1, 2, 3, 8, 15, 17, 64];
const TUNNELS: [u8; 5] = [1, 2, 4, 5, 16];
/// Lengths of trailers: of an FCS, beyond the shortest frame, longer than a frame.
const TRAILERS: [u16; 6] = [1, 3, 4, 18, 64, 1518];
/// Lengths of payload around path MTUs and multiples of four.
const PAYLOADS: [u16; 16] = [0, 1, 2, 3, 4, 5, 7, 8, 9, 255, 256, 257, 1023, 1024, 4096, 4097];
/// Operation codes that are not assigned.
const UNASSIGNED: [u8; 6] = [0x1e, 0x3f, 0x7f, 0x80, 0x82, 0xff];

/// Every mutation of this packet: each field at its boundaries; each operation code; each header removed, doubled and
/// swapped; the packet ended before, within and behind each header; CRCs, padding, tags, tunnels, trailing bytes.
pub fn mutations(packet: &Packet) -> Vec<Mutation> {
    let mut list = Vec::new();
    let (settled, _) = packet.settled();
    for (n, part) in packet.parts().iter().enumerate() {
        let part_no = n as u16;
        list.extend([Mutation::Remove(part_no), Mutation::Double(part_no)]);
        if n + 1 < packet.parts().len() {
            list.push(Mutation::Swap(part_no));
        }
        let bytes = settled.get(part.range()).unwrap_or(&[]);
        for (row_no, row) in part.kind.fields().iter().enumerate() {
            let right = row.get(bytes);
            let mut seen = vec![right];
            for value in Value::ALL {
                let new = value.of(right, row.width);
                if !seen.contains(&new) {
                    seen.push(new);
                    list.push(Mutation::Field { part: part_no, field: row_no as u16, value });
                }
            }
        }
        edges(part.at, part.len, &mut list);
    }
    let end = settled.len() as u32;
    if packet.get::<Bth>().is_some() {
        transport(packet, &mut list);
    }
    list.extend([Mutation::Cut(end), Mutation::Snap(end)]);
    if !packet.get_payload().is_empty() {
        list.extend([Mutation::Cut(end + 1), Mutation::Snap(end + 1)]);
    }
    for computed in ComputedField::SUMS {
        if packet.parts().iter().any(|part| computed.is_in(part.kind)) {
            list.push(Mutation::Checksum(computed));
        }
    }
    if packet.vcrc.is_some() {
        list.extend(Crc::ALL.map(Mutation::Vcrc));
    }
    if packet.link() == Link::ETHERNET {
        list.extend(TAGS.map(Mutation::Tags));
        list.extend(TUNNELS.map(Mutation::Tunnels));
        list.push(Mutation::Fcs);
    }
    list.extend(TRAILERS.map(Mutation::Trailer));
    list
}

/// Ends and cuts before, within and behind a header.
fn edges(at: u32, len: u32, list: &mut Vec<Mutation>) {
    let mut places = vec![at, at + 1, at + len / 2, (at + len).saturating_sub(1)];
    places.dedup();
    for at in places {
        list.extend([Mutation::End(at), Mutation::Cut(at), Mutation::Snap(at)]);
    }
}

fn transport(packet: &Packet, list: &mut Vec<Mutation>) {
    let opcode = packet.get::<Bth>().map(|bth| bth.opcode());
    let others = Opcode::of_transport(Transport::Ib).chain(UNASSIGNED.map(Opcode::ib));
    list.extend(others.filter(|other| Some(*other) != opcode).map(Mutation::Opcode));
    let has_mad = packet.parts().iter().any(|part| part.kind.is_management());
    if !has_mad {
        let len = packet.get_payload().len();
        list.extend(PAYLOADS.into_iter().filter(|n| *n as usize != len).map(Mutation::Payload));
    }
    if packet.pad_len() > 0 && !packet.keeps(ComputedField::Pad) {
        list.push(Mutation::PadBytes);
    }
    list.extend(Crc::ALL.map(Mutation::Icrc));
    let last = packet.get_payload().len().saturating_sub(1) as u16;
    if !packet.get_payload().is_empty() {
        list.extend([Mutation::Flip(0), Mutation::Flip(last)]);
    }
    list.push(Mutation::End(packet.head.len() as u32));
    let is_bare = !packet.parts().iter().any(|part| part.kind == Kind::Rmpp);
    if is_bare && packet.get::<Mad>().is_some_and(|mad| mad.mgmt_class() == MgmtClass::SUBN_ADM) {
        // The RMPP header: version, type, flags, status, segment number, payload length (IBTA vol. 1, 13.6.2).
        for at in (24..28).chain(28..36) {
            list.extend([0, 1, 0x7f, 0xff].map(|byte| Mutation::Rmpp(at, byte)));
        }
    }
}
