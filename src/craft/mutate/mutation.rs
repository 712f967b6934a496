//! One thing done to a packet.

use bytes::{BufMut, Bytes, BytesMut};

use crate::{
    craft::{Auto, Packet, Part, template, value::name_of},
    dissect::Link,
    icrc,
    opcode::Opcode,
    wire::*,
};

/// What is done to a packet. Parts and fields are counted from 0; those that a packet does not have change nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// Nothing.
    Nothing,
    /// Another value in a field; a value that would be computed is kept as put, and what is computed from it follows the lie.
    Field {
        /// The header.
        part: u16,
        /// The row in its table.
        field: u16,
        /// The value.
        value: Value,
    },
    /// Another operation code before the same extended headers.
    Opcode(Opcode),
    /// One header less.
    Remove(u16),
    /// One header twice.
    Double(u16),
    /// A header behind the one that follows it.
    Swap(u16),
    /// So many VLAN tags more, the outer ones 802.1ad.
    Tags(u8),
    /// So many VXLAN tunnels around it.
    Tunnels(u8),
    /// A payload of this many bytes.
    Payload(u16),
    /// Padding that is not zero.
    PadBytes,
    /// Another ICRC.
    Icrc(Crc),
    /// A bit of the payload flipped behind the ICRC's back.
    Flip(u16),
    /// Another VCRC.
    Vcrc(Crc),
    /// Another checksum.
    Checksum(Auto),
    /// Ethernet's frame check sequence behind it.
    Fcs,
    /// So many bytes behind the packet, which no length counts.
    Trailer(u16),
    /// The packet ends here, in the middle of a header, and all lengths say so.
    End(u32),
    /// The frame ends here on the wire; lengths are as before.
    Cut(u32),
    /// The capture kept so many bytes of it.
    Snap(u32),
    /// A byte of the management datagram's RMPP header, which has no table: its offset from the datagram's start.
    Rmpp(u8, u8),
}

/// A value for a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// 0.
    Zero,
    /// 1.
    One,
    /// All ones.
    Max,
    /// One less.
    BelowMax,
    /// The highest bit alone.
    Sign,
    /// One less than what is right.
    Less,
    /// One more than what is right.
    More,
    /// The highest bit of what is right flipped.
    Far,
}

impl Value {
    /// All of them.
    pub const ALL: [Value; 8] = [
        Value::Zero,
        Value::One,
        Value::Max,
        Value::BelowMax,
        Value::Sign,
        Value::Less,
        Value::More,
        Value::Far,
    ];

    /// The value, of a field of this width that has `right`; the width counts up to 64.
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

    const fn name(self) -> &'static str {
        match self {
            Value::Zero => "0",
            Value::One => "1",
            Value::Max => "max",
            Value::BelowMax => "max-1",
            Value::Sign => "sign",
            Value::Less => "right-1",
            Value::More => "right+1",
            Value::Far => "right+sign",
        }
    }
}

/// How a CRC is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crc {
    /// Its last bit flipped.
    Off,
    /// Zeros.
    Zeros,
    /// Ones.
    Ones,
    /// Its bytes in the other order.
    Swapped,
    /// Without the initial eight bytes of ones, and with nothing masked: an FCS of the packet.
    Plain,
    /// Not there, and the lengths say so.
    Absent,
}

impl Crc {
    /// All of them.
    pub const ALL: [Crc; 6] = [Crc::Off, Crc::Zeros, Crc::Ones, Crc::Swapped, Crc::Plain, Crc::Absent];

    const fn name(self) -> &'static str {
        match self {
            Crc::Off => "off",
            Crc::Zeros => "zeros",
            Crc::Ones => "ones",
            Crc::Swapped => "swapped",
            Crc::Plain => "plain",
            Crc::Absent => "absent",
        }
    }

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
        // One that happens to be right all the same would be no mutant.
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
    /// Whether it is done to the frame after it was built.
    pub(super) fn is_of_the_frame(&self) -> bool {
        matches!(
            self,
            Mutation::Flip(_) | Mutation::End(_) | Mutation::Cut(_) | Mutation::Snap(_) | Mutation::Nothing
        )
    }

    /// The frame.
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

    /// The packet; those that are done to the built frame change nothing.
    pub(super) fn packet(&self, packet: &Packet) -> Packet {
        let mut new = packet.clone();
        match *self {
            Mutation::Nothing | Mutation::Cut(_) | Mutation::Snap(_) | Mutation::Flip(_) => {}
            Mutation::Field { part, field, value } => set(&mut new, part as usize, field as usize, value),
            Mutation::Opcode(opcode) => {
                new.alter(|bth: Bth| bth.with_opcode(opcode));
            }
            Mutation::Remove(part) => new = with_parts(packet, |parts| drop_at(parts, part as usize)),
            Mutation::Double(part) => {
                new = with_parts(packet, |parts| {
                    if let Some(&same) = parts.get(part as usize) {
                        parts.insert(part as usize, same);
                    }
                });
            }
            Mutation::Swap(part) => {
                new = with_parts(packet, |parts| {
                    if (part as usize + 1) < parts.len() {
                        parts.swap(part as usize, part as usize + 1);
                    }
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
                let right = new.icrc_now();
                let plain = || icrc::fcs(&new.payload);
                let crc = right.map_or(Some([0; 4]), |right| how.spoil(right, plain));
                new = new.icrc(crc);
            }
            Mutation::Vcrc(how) => {
                let plain = || icrc::vcrc(&new.payload);
                let crc = how.spoil(new.vcrc_now().unwrap_or_default(), plain);
                new = new.vcrc(crc);
            }
            Mutation::Checksum(auto) => {
                new.corrupt(auto);
            }
            Mutation::Fcs => new.set_keep(Auto::Fcs, false),
            Mutation::Trailer(len) => {
                let bytes: BytesMut = {
                    let mut bytes = BytesMut::from(&new.trailer[..]);
                    bytes.put_bytes(0xa5, len as usize);
                    bytes
                };
                new.trailer = bytes.freeze();
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

    /// What is done: `ipv4.total_len=max`. Of a second header of one kind: `ipv4[1].ttl=0`, counted from the outermost.
    pub fn name(&self, packet: &Packet) -> String {
        let part = |n: u16| part_name(packet, n as usize);
        match *self {
            Mutation::Nothing => "nothing".into(),
            Mutation::Field { part: n, field, value } => {
                let kind = packet.parts.get(n as usize).map(|part| part.kind);
                let row = kind.and_then(|kind| kind.info()?.fields.get(field as usize));
                format!("{}.{}={}", part(n), row.map_or("none", |row| row.name), value.name())
            }
            Mutation::Opcode(opcode) => format!("bth.opcode={:#04x}", opcode.0),
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
            Mutation::Checksum(auto) => format!("{}-wrong", auto.name()),
            Mutation::Fcs => "with-fcs".into(),
            Mutation::Trailer(n) => format!("trailer-{n}-bytes"),
            Mutation::End(at) => format!("ends-at-{}", place(packet, at as usize)),
            Mutation::Cut(at) => format!("cut-at-{}", place(packet, at as usize)),
            Mutation::Snap(at) => format!("captured-to-{}", place(packet, at as usize)),
            Mutation::Rmpp(at, byte) => format!("rmpp-byte-{at}={byte:#04x}"),
        }
    }
}

impl Packet {
    /// The ICRC as the packet would be built.
    fn icrc_now(&self) -> Option<[u8; 4]> {
        self.icrc?;
        let frame = self.build();
        let at = self.head.len() + self.payload.len() + self.pad_len();
        frame.get(at..)?.first_chunk().copied()
    }

    /// The VCRC as the packet would be built.
    fn vcrc_now(&self) -> Option<[u8; 2]> {
        self.vcrc?;
        let frame = self.build();
        let icrc = if self.icrc.is_some() { 4 } else { 0 };
        let at = self.head.len() + self.payload.len() + self.pad_len() + icrc;
        frame.get(at..)?.first_chunk().copied()
    }
}

/// The field set, from its value in the built packet.
fn set(packet: &mut Packet, n: usize, field: usize, value: Value) {
    let Some(part) = packet.parts.get(n).copied() else { return };
    let Some(row) = part.kind.info().and_then(|info| info.fields.get(field)) else { return };
    let settled = packet.settled();
    let right = row.get(settled.get(part.range()).unwrap_or(&[]));
    let auto = Auto::of(part.kind, row.name);
    if auto == Some(Auto::Pad) {
        // The padding itself stays as it is.
        let zeros = vec![0; packet.pad_len()];
        *packet = packet.clone().pad(&zeros);
    }
    let bytes = packet.bytes_mut(n);
    if row.width > 64 {
        // The rest of a wide field is as its last bits are.
        let (at, fill) =
            (row.bit as usize / 8, if matches!(value, Value::Max | Value::BelowMax) { 0xff } else { 0 });
        if matches!(value, Value::Zero | Value::One | Value::Max | Value::BelowMax) {
            let len = row.width as usize / 8;
            bytes.get_mut(at..at + len).unwrap_or_default().fill(fill);
        }
    }
    row.set(bytes, value.of(right, row.width));
    if let Some(auto) = auto {
        packet.parts[n].keep.set(auto, true);
    }
}

/// The same packet with other parts; computed values are computed anew.
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

fn drop_at(parts: &mut Vec<Part>, n: usize) {
    if n < parts.len() {
        parts.remove(n);
    }
}

/// VXLAN around an Ethernet frame, so many times; others as they are.
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

/// What says which header follows.
const ANNOUNCE: [Auto; 7] = [
    Auto::EtherType,
    Auto::IpProtocol,
    Auto::UdpDestinationPort,
    Auto::GreProtocol,
    Auto::MacControl,
    Auto::Lnh,
    Auto::GrhNextHeader,
];

/// The packet up to this byte of its headers, without anything behind.
fn ended(packet: &Packet, at: usize) -> Packet {
    // What announces a header stands, the header itself does not.
    let mut packet = packet.clone();
    packet.head = packet.settled();
    for auto in ANNOUNCE {
        packet.set_keep(auto, true);
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
    // A pad count stays what it was: there is nothing to pad.
    new.set_keep(Auto::Pad, true);
    let is_whole = |part: &Part| part.kind.info().is_some_and(|info| info.len == part.len as usize);
    let has_length = |part: &Part| matches!(part.kind, Kind::Ipv4 | Kind::Ipv6 | Kind::Grh) && is_whole(part);
    if !new.parts.iter().any(has_length) {
        // Zeros behind it would be taken for the header's rest.
        new.set_keep(Auto::FramePadding, true);
    }
    new
}

/// A part's name: with its number where there are several of its kind.
fn part_name(packet: &Packet, n: usize) -> String {
    let Some(part) = packet.parts.get(n) else { return "none".into() };
    let name = name_of(part.kind);
    let same = |parts: &[Part]| parts.iter().filter(|other| other.kind == part.kind).count();
    match same(&packet.parts) {
        1 => name,
        _ => format!("{name}[{}]", same(&packet.parts[..n])),
    }
}

/// A byte of the frame as a part and an offset in it: "reth+4".
fn place(packet: &Packet, at: usize) -> String {
    let found = packet.parts.iter().rposition(|part| (part.at as usize) <= at && at < part.range().end);
    match found {
        Some(n) => format!("{}+{}", part_name(packet, n), at - packet.parts[n].at as usize),
        None => format!("payload+{}", at.saturating_sub(packet.head.len())),
    }
}

/// A field of the `n`-th part.
#[cfg(feature = "arbitrary")]
pub(super) fn set_field(packet: &mut Packet, n: usize, row: &Field, value: u64) {
    row.set(packet.bytes_mut(n), value);
}
