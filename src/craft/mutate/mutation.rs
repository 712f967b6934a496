//! A single mutation of a packet.

use bytes::{Bytes, BytesMut};

use crate::{
    craft::{ComputedField, Packet, Part, template, value::name_of},
    dissect::Link,
    icrc, named,
    opcode::Opcode,
    wire::*,
};

/// A mutation. Parts and fields are counted from 0. A mutation of a part that the packet does not have changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// Nothing.
    Nothing,
    /// Another value in a field. A computed field is kept, and fields that depend on it are computed from the wrong value.
    Field {
        /// The header.
        part: u16,
        /// The field: a row of the header's table.
        field: u16,
        /// The value.
        value: Value,
    },
    /// Another operation code. The extended headers stay.
    Opcode(Opcode),
    /// Without this header.
    Remove(u16),
    /// With this header twice.
    Double(u16),
    /// This header and the next one swapped.
    Swap(u16),
    /// This many VLAN tags more, the outer ones 802.1ad.
    Tags(u8),
    /// In this many VXLAN tunnels.
    Tunnels(u8),
    /// A payload of this many bytes.
    Payload(u16),
    /// Padding that is not zero.
    PadBytes,
    /// A wrong ICRC.
    Icrc(Crc),
    /// One bit of this payload byte flipped; the ICRC stays.
    Flip(u16),
    /// A wrong VCRC.
    Vcrc(Crc),
    /// A wrong checksum.
    Checksum(ComputedField),
    /// With Ethernet's frame check sequence.
    Fcs,
    /// This many bytes behind the packet, which no length counts.
    Trailer(u16),
    /// The packet ends here, and all lengths agree.
    End(u32),
    /// The frame ends here on the wire, and the lengths stay.
    Cut(u32),
    /// The capture kept this many bytes.
    Snap(u32),
    /// Another byte in the RMPP header of a management datagram: offset in the datagram, value.
    Rmpp(u8, u8),
}

named! {
    /// A value for a field.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Value {
        /// 0.
        Zero "0",
        /// 1.
        One "1",
        /// All ones.
        Max "max",
        /// All ones but the lowest bit.
        BelowMax "max-1",
        /// The highest bit alone.
        Sign "sign",
        /// The right value less one.
        Less "right-1",
        /// The right value plus one.
        More "right+1",
        /// The right value with its highest bit flipped.
        Far "right+sign",
    }
}

impl Value {
    /// The value for a field of this width, at most 64 bits, whose right value is `right`.
    pub const fn of(self, right: u64, width: u16) -> u64 {
        let max = u64::MAX >> 64u32.saturating_sub(width as u32);
        let sign = max ^ max >> 1;
        (match self {
            Value::Zero => 0,
            Value::One => 1,
            Value::Max => max,
            Value::BelowMax => max.wrapping_sub(1),
            Value::Sign => sign,
            Value::Less => right.wrapping_sub(1),
            Value::More => right.wrapping_add(1),
            Value::Far => right ^ sign,
        }) & max
    }
}

named! {
    /// How a CRC is wrong.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Crc {
        /// Its last bit flipped.
        Off "off",
        /// Zeros.
        Zeros "zeros",
        /// Ones.
        Ones "ones",
        /// Its bytes in reverse order.
        Swapped "swapped",
        /// A CRC without the eight bytes of ones before it and without masked fields.
        Plain "plain",
        /// Absent, and the lengths agree.
        Absent "absent",
    }
}

impl Crc {
    fn spoil<const N: usize>(self, right: [u8; N], plain: impl FnOnce() -> [u8; N]) -> Option<[u8; N]> {
        let mut crc = right;
        match self {
            Crc::Off => crc.iter_mut().rev().take(1).for_each(|byte| *byte ^= 1),
            Crc::Zeros => crc = [0; N],
            Crc::Ones => crc = [0xff; N],
            Crc::Swapped => crc.reverse(),
            Crc::Plain => crc = plain(),
            Crc::Absent => return None,
        }
        // It must not be right by chance.
        if crc == right {
            crc.iter_mut().for_each(|byte| *byte ^= 0x5a);
        }
        Some(crc)
    }
}

/// A mutated frame.
pub(super) struct Made {
    pub frame: Bytes,
    pub wire_len: u32,
}

impl Mutation {
    /// Whether it changes the frame after it was built.
    pub(super) fn is_of_the_frame(&self) -> bool {
        matches!(
            self,
            Mutation::Flip(_) | Mutation::End(_) | Mutation::Cut(_) | Mutation::Snap(_) | Mutation::Nothing
        )
    }
    pub(super) fn apply(&self, packet: &Packet) -> Made {
        match *self {
            Mutation::Cut(at) => {
                let frame = packet.build();
                let frame = frame.slice(..frame.len().min(at as usize));
                Made { wire_len: frame.len() as u32, frame }
            }
            Mutation::Snap(at) => {
                let frame = packet.build();
                let wire_len = packet.wire_len().max(frame.len() as u32);
                Made { frame: frame.slice(..frame.len().min(at as usize)), wire_len }
            }
            Mutation::Flip(at) => {
                let mut frame = BytesMut::new();
                packet.build_into(&mut frame);
                let at = packet.head.len() + at as usize;
                if let Some(byte) = frame.get_mut(at) {
                    *byte ^= 0x10;
                }
                Made { wire_len: frame.len() as u32, frame: frame.freeze() }
            }
            _ => {
                let packet = self.packet(packet);
                let frame = packet.build();
                Made { wire_len: packet.wire_len().max(frame.len() as u32), frame }
            }
        }
    }

    /// The mutated packet. Mutations of the built frame change nothing here.
    pub(super) fn packet(&self, packet: &Packet) -> Packet {
        let mut new = packet.clone();
        match *self {
            Mutation::Nothing | Mutation::Cut(_) | Mutation::Snap(_) | Mutation::Flip(_) => {}
            Mutation::Field { part, field, value } => set(&mut new, part as usize, field as usize, value),
            Mutation::Opcode(opcode) => {
                new.alter(|bth: Bth| bth.with_opcode(opcode));
            }
            Mutation::Remove(part) | Mutation::Double(part) | Mutation::Swap(part) => {
                let at = part as usize;
                new = with_parts(packet, |parts| match (self, parts.get(at).copied()) {
                    (Mutation::Remove(_), Some(_)) => _ = parts.remove(at),
                    (Mutation::Double(_), Some(part)) => parts.insert(at, part),
                    (Mutation::Swap(_), _) if at + 1 < parts.len() => parts.swap(at, at + 1),
                    _ => {}
                });
            }
            Mutation::Tags(n) => {
                let place = new.parts.iter().position(|part| part.kind == Kind::Ethernet);
                for vid in 0..n {
                    let tag = Vlan::default().with_vid(u16::from(vid) + 1).with_ether_type(EtherType::VLAN);
                    new.insert(place.map_or(0, |n| n + 1), Kind::Vlan, tag.bytes());
                }
            }
            Mutation::Tunnels(n) => new = tunnels(packet, n),
            Mutation::Payload(len) => {
                new.payload = (0..len).map(|n| n as u8).collect::<Vec<_>>().into();
            }
            Mutation::PadBytes => {
                let len = packet.pad_len();
                new = new.pad([0xa5, 0x5a, 0xff].get(..len).unwrap_or(&[]));
            }
            Mutation::Icrc(how) => {
                let right = new.settled().1.icrc;
                let plain = || icrc::fcs(&new.payload);
                let crc = right.map_or(Some([0; 4]), |right| how.spoil(right, plain));
                new = new.icrc(crc);
            }
            Mutation::Vcrc(how) => {
                let plain = || icrc::vcrc(&new.payload);
                let crc = how.spoil(new.settled().1.vcrc.unwrap_or_default(), plain);
                new = new.vcrc(crc);
            }
            Mutation::Checksum(computed) => {
                new.corrupt(computed);
            }
            Mutation::Fcs => new.set_keep(ComputedField::Fcs, false),
            Mutation::Trailer(len) => {
                new.trailer = [&new.trailer[..], &vec![0xa5; len as usize]].concat().into();
            }
            Mutation::End(at) => new = ended(packet, at as usize),
            Mutation::Rmpp(at, byte) => {
                let mut payload = new.payload.to_vec();
                if let Some(room) = payload.get_mut((at as usize).saturating_sub(Mad::LEN)) {
                    *room = byte;
                }
                new.payload = payload.into();
            }
        }
        new
    }

    /// Its name: `ipv4.total_len=max`; `ipv4[1].ttl=0` for the second IPv4 header from outside.
    pub fn name(&self, packet: &Packet) -> String {
        let part = |n: u16| part_name(packet, n as usize);
        match *self {
            Mutation::Nothing => "nothing".into(),
            Mutation::Field { part: n, field, value } => {
                let kind = packet.parts.get(n as usize).map(|part| part.kind);
                let row = kind.and_then(|kind| kind.info()?.fields.get(field as usize));
                format!("{}.{}={}", part(n), row.map_or("none", |row| row.name), value.name())
            }
            Mutation::Opcode(opcode) => format!("bth.opcode={:#04x}", opcode.code),
            Mutation::Remove(n) => format!("without-{}", part(n)),
            Mutation::Double(n) => format!("twice-{}", part(n)),
            Mutation::Swap(n) => format!("swapped-{}-{}", part(n), part(n.saturating_add(1))),
            Mutation::Tags(n) => format!("vlan-tags-{n}"),
            Mutation::Tunnels(n) => format!("vxlan-tunnels-{n}"),
            Mutation::Payload(n) => format!("payload={n}-bytes"),
            Mutation::PadBytes => "pad-not-zero".into(),
            Mutation::Icrc(how) => format!("icrc-{}", how.name()),
            Mutation::Flip(at) => format!("payload-bit-flipped-at-{at}"),
            Mutation::Vcrc(how) => format!("vcrc-{}", how.name()),
            Mutation::Checksum(computed) => format!("{}-wrong", computed.name()),
            Mutation::Fcs => "with-fcs".into(),
            Mutation::Trailer(n) => format!("trailer-{n}-bytes"),
            Mutation::End(at) => format!("ends-at-{}", place(packet, at as usize)),
            Mutation::Cut(at) => format!("cut-at-{}", place(packet, at as usize)),
            Mutation::Snap(at) => format!("captured-to-{}", place(packet, at as usize)),
            Mutation::Rmpp(at, byte) => format!("rmpp-byte-{at}={byte:#04x}"),
        }
    }
}

/// Sets a field to a value that depends on its value in the built packet.
fn set(packet: &mut Packet, n: usize, field: usize, value: Value) {
    let Some(part) = packet.parts.get(n).copied() else { return };
    let Some(row) = part.kind.info().and_then(|info| info.fields.get(field)) else { return };
    let (settled, _) = packet.settled();
    let right = row.get(settled.get(part.range()).unwrap_or(&[]));
    let computed = ComputedField::of(part.kind, row.name);
    if computed == Some(ComputedField::Pad) {
        // The padding itself stays.
        let zeros = vec![0; packet.pad_len()];
        *packet = packet.clone().pad(&zeros);
    }
    let bytes = packet.bytes_mut(n);
    if row.width > 64 {
        // The upper bits of a wide field are like the lower ones.
        let (at, len) = (row.bit as usize / 8, row.width as usize / 8);
        let room = bytes.get_mut(at..at + len).unwrap_or_default();
        match value {
            Value::Max | Value::BelowMax => room.fill(0xff),
            Value::Zero | Value::One => room.fill(0),
            _ => {}
        }
    }
    row.set(bytes, value.of(right, row.width));
    if let Some(computed) = computed {
        packet.parts[n].keep.set(computed, true);
    }
}

/// The packet with other parts. Computed fields are computed again.
fn with_parts(packet: &Packet, change: impl FnOnce(&mut Vec<Part>)) -> Packet {
    let mut parts = packet.parts.clone();
    change(&mut parts);
    let mut new = Packet { parts: Vec::new(), head: Vec::new(), ..packet.clone() };
    for part in parts {
        new.append(part.kind, packet.bytes_of(&part));
        if let Some(last) = new.parts.last_mut() {
            last.keep = part.keep;
        }
    }
    new
}

/// An Ethernet frame in this many VXLAN tunnels. Other frames stay as they are.
fn tunnels(packet: &Packet, n: u8) -> Packet {
    if packet.link != Link::ETHERNET {
        return packet.clone();
    }
    let outer = [Kind::Ethernet, Kind::Ipv4, Kind::Udp, Kind::Vxlan];
    let mut new = packet.clone();
    for _ in 0..n {
        for (place, kind) in outer.into_iter().enumerate() {
            new.insert(place, kind, &template(kind));
        }
    }
    new
}

/// The fields that announce the next header.
const ANNOUNCE: [ComputedField; 7] = [
    ComputedField::EtherType,
    ComputedField::IpProtocol,
    ComputedField::UdpDestinationPort,
    ComputedField::GreProtocol,
    ComputedField::MacControl,
    ComputedField::Lnh,
    ComputedField::GrhNextHeader,
];

/// The packet up to this byte of its headers, without anything behind.
fn ended(packet: &Packet, at: usize) -> Packet {
    // What announces a header stands, the header itself does not.
    let mut packet = packet.clone();
    packet.head = packet.settled().0;
    for computed in ANNOUNCE {
        packet.set_keep(computed, true);
    }
    let mut new = with_parts(&packet, |parts| {
        parts.retain(|part| (part.at as usize) < at);
        if let Some(last) = parts.last_mut() {
            last.len = last.len.min((at as u32).saturating_sub(last.at));
        }
    });
    new.payload = Bytes::new();
    new.trailer = Bytes::new();
    new.pad = Default::default();
    new.icrc = None;
    new.vcrc = None;
    // The pad count stays: there is nothing to pad.
    new.set_keep(ComputedField::Pad, true);
    let is_whole = |part: &Part| part.kind.info().is_some_and(|info| info.len == part.len as usize);
    let has_length = |part: &Part| matches!(part.kind, Kind::Ipv4 | Kind::Ipv6 | Kind::Grh) && is_whole(part);
    if !new.parts.iter().any(has_length) {
        // Padding zeros would be read as the rest of the header.
        new.set_keep(ComputedField::FramePadding, true);
    }
    new
}

/// A part's name, with its number if there are several of its kind.
fn part_name(packet: &Packet, n: usize) -> String {
    let Some(part) = packet.parts.get(n) else { return "none".into() };
    let name = name_of(part.kind);
    let same = |parts: &[Part]| parts.iter().filter(|other| other.kind == part.kind).count();
    match same(&packet.parts) {
        1 => name,
        _ => format!("{name}[{}]", same(&packet.parts[..n])),
    }
}

/// A place in the frame as a part and an offset: "reth+4".
fn place(packet: &Packet, at: usize) -> String {
    let found = packet.parts.iter().rposition(|part| (part.at as usize) <= at && at < part.range().end);
    match found {
        Some(n) => format!("{}+{}", part_name(packet, n), at - packet.parts[n].at as usize),
        None => format!("payload+{}", at.saturating_sub(packet.head.len())),
    }
}
