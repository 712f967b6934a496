//! How a correct parser must handle a mutant. It follows from the mutation, not from what this crate's dissector finds.

use std::fmt;

use super::{Mutation, mutation::Made};
use crate::{
    craft::{ComputedField, Packet},
    dissect::Link,
    opcode::{Opcode, PayloadRule},
    wire::*,
};

/// How a correct parser must handle a mutant. It must never crash, hang, or read outside of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Handling {
    /// All headers are read as before, nothing is malformed, and the ICRC is right.
    Dissects,
    /// The packet ends within this header, or before it.
    Truncated(Kind),
    /// This header's length is more than its surroundings hold, or less than the header has.
    Length(Kind),
    /// All headers are read; the ICRC is wrong.
    BadIcrc,
    /// It is read, its ICRC is right, and the receiver drops it for this reason: a note's id ("bth.version").
    Drop(&'static str),
    /// The capture cut it. The frame is not malformed.
    Cut,
    /// An IP fragment: its ICRC cannot be checked.
    Fragment,
    /// An unknown header follows this one: the rest is payload.
    Unread(Kind),
    /// The parser survives it. More cannot be said, since several readings are right.
    Survives,
}

impl Handling {
    /// What a correct parser must do, in words.
    pub fn must(&self) -> String {
        match self {
            Handling::Dissects => "read all headers; the ICRC is right".into(),
            Handling::Truncated(kind) => format!("say that the packet ends within {}", kind.label()),
            Handling::Length(kind) => format!("say that the length in {} is wrong", kind.label()),
            Handling::BadIcrc => "read all headers; drop the packet for its ICRC".into(),
            Handling::Drop(why) => format!("read it; drop it for {why}"),
            Handling::Cut => "say that the capture cut it, and not that its ICRC is wrong".into(),
            Handling::Fragment => "say that it is a fragment, and not that its ICRC is wrong".into(),
            Handling::Unread(kind) => format!("not guess what follows {}", kind.label()),
            Handling::Survives => "neither crash, nor hang, nor read outside of the frame".into(),
        }
    }

    pub(super) fn of(packet: &Packet, mutation: &Mutation, made: &Made) -> Handling {
        let frame = FrameShape::of(packet);
        match *mutation {
            Mutation::Nothing => Handling::Dissects,
            Mutation::Field { part, field, .. } => {
                of_field(packet, &frame, part as usize, field as usize, mutation)
            }
            Mutation::Opcode(opcode) => frame.of_transport(|t| t.of(opcode, t.room, packet.pad_len())),
            Mutation::Payload(len) => match frame.transport {
                Some(transport) if !frame.has_mad => {
                    let pad = (len as usize).wrapping_neg() % 4;
                    transport.of(
                        transport.opcode,
                        transport.opcode.shape().extended as usize + len as usize + pad,
                        pad,
                    )
                }
                _ => Handling::Survives,
            },
            Mutation::PadBytes | Mutation::Rmpp(..) => Handling::Dissects,
            Mutation::Icrc(super::Crc::Absent) => Handling::Survives,
            Mutation::Icrc(_) | Mutation::Flip(_) => Handling::BadIcrc,
            Mutation::Vcrc(super::Crc::Absent) => Handling::Dissects,
            Mutation::Vcrc(_) => Handling::Drop("lrh.vcrc"),
            Mutation::Checksum(ComputedField::IpChecksum) => Handling::Drop("ipv4.checksum"),
            Mutation::Checksum(ComputedField::UdpChecksum) => Handling::Drop("udp.checksum"),
            Mutation::Checksum(_) => Handling::Survives,
            Mutation::Tags(n) if frame.is_plain && n <= 3 => Handling::Dissects,
            Mutation::Tunnels(1)
                if frame.is_plain && packet.parts.first().is_some_and(|p| p.kind == Kind::Ethernet) =>
            {
                Handling::Dissects
            }
            Mutation::Fcs => Handling::Dissects,
            Mutation::Trailer(_) if packet.link() == Link::ETHERNET => Handling::Dissects,
            Mutation::Remove(n) | Mutation::Double(n) => {
                match (frame.transport, packet.parts.get(n as usize)) {
                    // An extended header: the bytes that follow take its place.
                    (Some(transport), Some(part)) if n as usize > transport.bth && !frame.has_mad => {
                        let len = part.len as usize;
                        let room = match mutation {
                            Mutation::Remove(_) => transport.room.saturating_sub(len),
                            _ => transport.room + len,
                        };
                        transport.of(transport.opcode, room, packet.pad_len())
                    }
                    _ => Handling::Survives,
                }
            }
            Mutation::End(at) => frame.end(packet, at as usize),
            Mutation::Cut(at) => frame.cut(packet, at as usize),
            Mutation::Snap(_) if (made.frame.len() as u32) < made.wire_len && frame.is_plain => {
                match made.frame.len() < frame.end {
                    true => Handling::Cut,
                    // Only bytes behind the packet are missing.
                    false => Handling::Dissects,
                }
            }
            _ => Handling::Survives,
        }
    }
}

impl fmt::Display for Handling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Handling::Dissects => f.write_str("dissects"),
            Handling::Truncated(kind) => write!(f, "truncated: {}", kind.layer()),
            Handling::Length(kind) => write!(f, "length: {}", kind.layer()),
            Handling::BadIcrc => f.write_str("icrc bad"),
            Handling::Drop(why) => write!(f, "drop: {why}"),
            Handling::Cut => f.write_str("cut"),
            Handling::Fragment => f.write_str("fragment"),
            Handling::Unread(kind) => write!(f, "unread: {}", kind.layer()),
            Handling::Survives => f.write_str("survives"),
        }
    }
}

/// Facts about the packet before the mutation.
struct FrameShape {
    transport: Option<Transport>,
    has_mad: bool,
    /// No tunnel, no label, no record header: the outer headers belong to the packet itself.
    is_plain: bool,
    /// The packet's end, before a trailer.
    end: usize,
    /// The frame's end.
    len: usize,
}

/// The BTH and what follows it.
#[derive(Clone, Copy)]
struct Transport {
    bth: usize,
    opcode: Opcode,
    /// Extended headers, payload and padding, in bytes.
    room: usize,
}

impl FrameShape {
    fn of(packet: &Packet) -> FrameShape {
        let has_mad = packet.parts.iter().any(|part| part.kind.is_management());
        let plain = |part: &crate::craft::Part| {
            matches!(
                part.kind,
                Kind::Ethernet | Kind::Vlan | Kind::Ipv4 | Kind::Ipv6 | Kind::Udp | Kind::Lrh | Kind::Grh
            ) || part.kind >= Kind::Bth
        };
        let end = packet.head.len()
            + packet.payload.len()
            + packet.pad_len()
            + if packet.icrc.is_some() { 4 } else { 0 };
        let bth = packet.parts.iter().rposition(|part| part.kind == Kind::Bth);
        let transport = bth.filter(|_| packet.icrc.is_some()).and_then(|n| {
            let opcode = packet.get::<Bth>()?.opcode();
            Some(Transport { bth: n, opcode, room: end - 4 - packet.parts[n].range().end })
        });
        let len = packet.wire_len() as usize;
        FrameShape { transport, has_mad, is_plain: packet.parts.iter().all(plain), end, len }
    }

    /// A verdict on the transport, if there is one.
    fn of_transport(&self, verdict: impl FnOnce(Transport) -> Handling) -> Handling {
        self.transport.map_or(Handling::Survives, verdict)
    }

    /// The packet ends at this byte of its headers, and its lengths agree.
    fn end(&self, packet: &Packet, at: usize) -> Handling {
        let next = packet.parts.iter().find(|part| at < part.range().end).map(|part| part.kind);
        match (next, self.transport) {
            // No field says that a header follows.
            _ if !self.is_plain || at == 0 => Handling::Survives,
            (Some(kind), _) if kind.is_management() => Handling::Survives,
            (Some(kind), Some(_)) => Handling::Truncated(kind),
            // The last bytes of the management datagram are where the ICRC would be.
            (None, Some(_)) if self.has_mad => Handling::Survives,
            (None, Some(_)) => Handling::Truncated(Kind::Icrc),
            (Some(kind), None) => Handling::Truncated(kind),
            (None, None) => Handling::Survives,
        }
    }

    /// The frame ends at this byte, and the lengths stay.
    fn cut(&self, packet: &Packet, at: usize) -> Handling {
        if !self.is_plain || at == 0 {
            return Handling::Survives;
        }
        if at >= self.end {
            return Handling::Dissects;
        }
        for part in &packet.parts {
            if at < part.range().end {
                return Handling::Truncated(part.kind);
            }
            if matches!(part.kind, Kind::Ipv4 | Kind::Ipv6 | Kind::Lrh | Kind::Grh) {
                return Handling::Length(part.kind);
            }
        }
        Handling::Survives
    }
}

impl Transport {
    /// A packet of this operation code with this many bytes between BTH and ICRC. The ICRC is right.
    fn of(&self, opcode: Opcode, room: usize, pad: usize) -> Handling {
        let mut from = 0;
        for kind in opcode.chain() {
            from += kind.info().map_or(0, |info| info.len);
            // The bytes of the ICRC would be read as the missing ones.
            if from > room + 4 {
                return Handling::Truncated(*kind);
            }
        }
        if from > room {
            return Handling::Truncated(Kind::Icrc);
        }
        if !opcode.is_known() {
            return Handling::Drop("bth.opcode");
        }
        let Some(payload) = (room - from).checked_sub(pad) else { return Handling::Drop("bth.pad") };
        let fits = match opcode.payload_rule() {
            PayloadRule::Full => (256..=4096).contains(&payload) && payload.is_power_of_two(),
            PayloadRule::Some => payload > 0,
            PayloadRule::Any => true,
            PayloadRule::None => payload == 0,
            PayloadRule::Eight => payload == 8,
        };
        if fits { Handling::Dissects } else { Handling::Drop("bth.payload") }
    }
}

fn of_field(packet: &Packet, frame: &FrameShape, n: usize, field: usize, mutation: &Mutation) -> Handling {
    let Some(part) = packet.parts.get(n) else { return Handling::Survives };
    let Some(row) = part.kind.fields().get(field) else { return Handling::Survives };
    if !frame.is_plain {
        return Handling::Survives;
    }
    let mutated = mutation.packet(packet);
    let value = row.get(mutated.bytes_of(&mutated.parts[n]));
    match (part.kind, row.name) {
        // MRC's, and no longer this transport's.
        (Kind::Bth, "opcode") if Opcode::of(crate::wire::Transport::Mrc, value as u8).is_known() => {
            Handling::Survives
        }
        (Kind::Bth, "opcode") => {
            frame.of_transport(|t| t.of(Opcode::ib(value as u8), t.room, packet.pad_len()))
        }
        (Kind::Bth, "pad_cnt") => frame.of_transport(|t| t.of(t.opcode, t.room, value as usize)),
        (Kind::Bth, "tver") => Handling::Drop("bth.version"),
        (Kind::Bth, "p_key") if value & 0x7fff == 0 => Handling::Drop("bth.p_key"),
        (Kind::Lrh, "lver") => Handling::Drop("lrh.version"),
        (Kind::Grh, "ip_ver") => Handling::Drop("grh.version"),
        (Kind::Ipv4, "checksum") => Handling::Drop("ipv4.checksum"),
        (Kind::Ipv4, "mf") if value == 1 => Handling::Fragment,
        (Kind::Ipv4, "fragment_offset") if value > 0 => Handling::Fragment,
        (Kind::Udp, "checksum") if value > 0 => Handling::Drop("udp.checksum"),
        (Kind::Ipv4, "total_len") => outer_length(packet, frame, n, part.at as usize + value as usize),
        (Kind::Ipv6, "payload_len") => outer_length(packet, frame, n, part.range().end + value as usize),
        (Kind::Udp, "length") => udp_length(frame, part.at as usize, value as usize),
        (Kind::Lrh, "pkt_len") if part.at as usize + value as usize * 4 > frame.len => {
            Handling::Length(Kind::Lrh)
        }
        (Kind::Grh, "pay_len") if part.range().end + value as usize > frame.len => {
            Handling::Length(Kind::Grh)
        }
        (Kind::Udp, "dst_port") if !matches!(value, 4791 | 4789 | 6081) => Handling::Unread(Kind::Udp),
        (Kind::Ethernet | Kind::Vlan, "ether_type") if !is_read(EtherType(value as u16)) => {
            Handling::Unread(part.kind)
        }
        (Kind::Ethernet | Kind::Vlan | Kind::Ipv4 | Kind::Ipv6 | Kind::Udp | Kind::Lrh | Kind::Grh, name)
            if ComputedField::of(part.kind, name).is_some() && name != "src_port" =>
        {
            Handling::Survives
        }
        // Another management class, or none.
        (kind, _) if kind.is_management() => Handling::Survives,
        (Kind::Deth, "src_qp") | (Kind::Bth, "dest_qp") if frame.has_mad => Handling::Survives,
        (Kind::MacControl, _) => Handling::Survives,
        _ => Handling::Dissects,
    }
}

/// Whether the dissector reads what this EtherType announces.
fn is_read(ether_type: EtherType) -> bool {
    ether_type.is_vlan()
        || matches!(
            ether_type,
            EtherType::IPV4
                | EtherType::IPV6
                | EtherType::ROCE
                | EtherType::MAC_CONTROL
                | EtherType::MPLS
                | EtherType::MPLS_UPSTREAM
                | EtherType::LLDP
        )
}

/// The IP length says that the packet ends at `to`. A UDP header follows.
fn outer_length(packet: &Packet, frame: &FrameShape, n: usize, to: usize) -> Handling {
    let (own, udp) = (&packet.parts[n], packet.parts.get(n + 1));
    let Some(udp) = udp.filter(|part| part.kind == Kind::Udp) else { return Handling::Survives };
    if to > frame.len || to < own.range().end {
        return Handling::Length(own.kind);
    }
    match to {
        to if to >= frame.end => Handling::Dissects,
        to if to >= udp.range().end => Handling::Length(Kind::Udp),
        _ => Handling::Truncated(Kind::Udp),
    }
}

/// The UDP length is wrong, in an IP packet with the right length.
fn udp_length(frame: &FrameShape, from: usize, says: usize) -> Handling {
    let Some(transport) = frame.transport else { return Handling::Survives };
    if from + says > frame.end || says < Udp::LEN {
        return Handling::Length(Kind::Udp);
    }
    let Some(mut left) = (says - Udp::LEN).checked_sub(Bth::LEN) else {
        return Handling::Truncated(Kind::Bth);
    };
    for kind in transport.opcode.chain() {
        match left.checked_sub(kind.info().map_or(0, |info| info.len)) {
            Some(rest) => left = rest,
            None => return Handling::Truncated(*kind),
        }
    }
    if left < 4 { Handling::Truncated(Kind::Icrc) } else { Handling::BadIcrc }
}
