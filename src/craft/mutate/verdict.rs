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
pub enum Verdict {
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

impl Verdict {
    /// What a correct parser must do, in words.
    pub fn must(&self) -> String {
        match self {
            Verdict::Dissects => "read all headers; the ICRC is right".into(),
            Verdict::Truncated(kind) => format!("say that the packet ends within {}", kind.label()),
            Verdict::Length(kind) => format!("say that the length in {} is wrong", kind.label()),
            Verdict::BadIcrc => "read all headers; drop the packet for its ICRC".into(),
            Verdict::Drop(why) => format!("read it; drop it for {why}"),
            Verdict::Cut => "say that the capture cut it, and not that its ICRC is wrong".into(),
            Verdict::Fragment => "say that it is a fragment, and not that its ICRC is wrong".into(),
            Verdict::Unread(kind) => format!("not guess what follows {}", kind.label()),
            Verdict::Survives => "neither crash, nor hang, nor read outside of the frame".into(),
        }
    }

    pub(super) fn of(packet: &Packet, mutation: &Mutation, made: &Made) -> Verdict {
        let frame = Frame::of(packet);
        match *mutation {
            Mutation::Nothing => Verdict::Dissects,
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
                _ => Verdict::Survives,
            },
            Mutation::PadBytes | Mutation::Rmpp(..) => Verdict::Dissects,
            Mutation::Icrc(super::Crc::Absent) => Verdict::Survives,
            Mutation::Icrc(_) | Mutation::Flip(_) => Verdict::BadIcrc,
            Mutation::Vcrc(super::Crc::Absent) => Verdict::Dissects,
            Mutation::Vcrc(_) => Verdict::Drop("lrh.vcrc"),
            Mutation::Checksum(ComputedField::IpChecksum) => Verdict::Drop("ipv4.checksum"),
            Mutation::Checksum(ComputedField::UdpChecksum) => Verdict::Drop("udp.checksum"),
            Mutation::Checksum(_) => Verdict::Survives,
            Mutation::Tags(n) if frame.is_plain && n <= 3 => Verdict::Dissects,
            Mutation::Tunnels(1)
                if frame.is_plain && packet.parts.first().is_some_and(|p| p.kind == Kind::Ethernet) =>
            {
                Verdict::Dissects
            }
            Mutation::Fcs => Verdict::Dissects,
            Mutation::Trailer(_) if packet.link() == Link::ETHERNET => Verdict::Dissects,
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
                    _ => Verdict::Survives,
                }
            }
            Mutation::End(at) => frame.end(packet, at as usize),
            Mutation::Cut(at) => frame.cut(packet, at as usize),
            Mutation::Snap(_) if (made.frame.len() as u32) < made.wire_len && frame.is_plain => {
                match made.frame.len() < frame.end {
                    true => Verdict::Cut,
                    // Only bytes behind the packet are missing.
                    false => Verdict::Dissects,
                }
            }
            _ => Verdict::Survives,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Dissects => f.write_str("dissects"),
            Verdict::Truncated(kind) => write!(f, "truncated: {}", kind.layer()),
            Verdict::Length(kind) => write!(f, "length: {}", kind.layer()),
            Verdict::BadIcrc => f.write_str("icrc bad"),
            Verdict::Drop(why) => write!(f, "drop: {why}"),
            Verdict::Cut => f.write_str("cut"),
            Verdict::Fragment => f.write_str("fragment"),
            Verdict::Unread(kind) => write!(f, "unread: {}", kind.layer()),
            Verdict::Survives => f.write_str("survives"),
        }
    }
}

/// Facts about the packet before the mutation.
struct Frame {
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

impl Frame {
    fn of(packet: &Packet) -> Frame {
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
        Frame { transport, has_mad, is_plain: packet.parts.iter().all(plain), end, len }
    }

    /// A verdict on the transport, if there is one.
    fn of_transport(&self, verdict: impl FnOnce(Transport) -> Verdict) -> Verdict {
        self.transport.map_or(Verdict::Survives, verdict)
    }

    /// The packet ends at this byte of its headers, and its lengths agree.
    fn end(&self, packet: &Packet, at: usize) -> Verdict {
        let next = packet.parts.iter().find(|part| at < part.range().end).map(|part| part.kind);
        match (next, self.transport) {
            // No field says that a header follows.
            _ if !self.is_plain || at == 0 => Verdict::Survives,
            (Some(kind), _) if kind.is_management() => Verdict::Survives,
            (Some(kind), Some(_)) => Verdict::Truncated(kind),
            // The last bytes of the management datagram are where the ICRC would be.
            (None, Some(_)) if self.has_mad => Verdict::Survives,
            (None, Some(_)) => Verdict::Truncated(Kind::Icrc),
            (Some(kind), None) => Verdict::Truncated(kind),
            (None, None) => Verdict::Survives,
        }
    }

    /// The frame ends at this byte, and the lengths stay.
    fn cut(&self, packet: &Packet, at: usize) -> Verdict {
        if !self.is_plain || at == 0 {
            return Verdict::Survives;
        }
        if at >= self.end {
            return Verdict::Dissects;
        }
        for part in &packet.parts {
            if at < part.range().end {
                return Verdict::Truncated(part.kind);
            }
            if matches!(part.kind, Kind::Ipv4 | Kind::Ipv6 | Kind::Lrh | Kind::Grh) {
                return Verdict::Length(part.kind);
            }
        }
        Verdict::Survives
    }
}

impl Transport {
    /// A packet of this operation code with this many bytes between BTH and ICRC. The ICRC is right.
    fn of(&self, opcode: Opcode, room: usize, pad: usize) -> Verdict {
        let mut from = 0;
        for kind in opcode.chain() {
            from += kind.info().map_or(0, |info| info.len);
            // The bytes of the ICRC would be read as the missing ones.
            if from > room + 4 {
                return Verdict::Truncated(*kind);
            }
        }
        if from > room {
            return Verdict::Truncated(Kind::Icrc);
        }
        if !opcode.is_known() {
            return Verdict::Drop("bth.opcode");
        }
        let Some(payload) = (room - from).checked_sub(pad) else { return Verdict::Drop("bth.pad") };
        let fits = match opcode.payload_rule() {
            PayloadRule::Full => (256..=4096).contains(&payload) && payload.is_power_of_two(),
            PayloadRule::Some => payload > 0,
            PayloadRule::Any => true,
            PayloadRule::None => payload == 0,
            PayloadRule::Eight => payload == 8,
        };
        if fits { Verdict::Dissects } else { Verdict::Drop("bth.payload") }
    }
}

fn of_field(packet: &Packet, frame: &Frame, n: usize, field: usize, mutation: &Mutation) -> Verdict {
    let Some(part) = packet.parts.get(n) else { return Verdict::Survives };
    let Some(row) = part.kind.fields().get(field) else { return Verdict::Survives };
    if !frame.is_plain {
        return Verdict::Survives;
    }
    let mutated = mutation.packet(packet);
    let value = row.get(mutated.bytes_of(&mutated.parts[n]));
    match (part.kind, row.name) {
        (Kind::Bth, "opcode") => {
            frame.of_transport(|t| t.of(Opcode::ib(value as u8), t.room, packet.pad_len()))
        }
        (Kind::Bth, "pad_cnt") => frame.of_transport(|t| t.of(t.opcode, t.room, value as usize)),
        (Kind::Bth, "tver") => Verdict::Drop("bth.version"),
        (Kind::Bth, "p_key") if value & 0x7fff == 0 => Verdict::Drop("bth.p_key"),
        (Kind::Lrh, "lver") => Verdict::Drop("lrh.version"),
        (Kind::Grh, "ip_ver") => Verdict::Drop("grh.version"),
        (Kind::Ipv4, "checksum") => Verdict::Drop("ipv4.checksum"),
        (Kind::Ipv4, "mf") if value == 1 => Verdict::Fragment,
        (Kind::Ipv4, "fragment_offset") if value > 0 => Verdict::Fragment,
        (Kind::Udp, "checksum") if value > 0 => Verdict::Drop("udp.checksum"),
        (Kind::Ipv4, "total_len") => outer_length(packet, frame, n, part.at as usize + value as usize),
        (Kind::Ipv6, "payload_len") => outer_length(packet, frame, n, part.range().end + value as usize),
        (Kind::Udp, "length") => udp_length(frame, part.at as usize, value as usize),
        (Kind::Lrh, "pkt_len") if part.at as usize + value as usize * 4 > frame.len => {
            Verdict::Length(Kind::Lrh)
        }
        (Kind::Grh, "pay_len") if part.range().end + value as usize > frame.len => Verdict::Length(Kind::Grh),
        (Kind::Udp, "dst_port") if !matches!(value, 4791 | 4789 | 6081) => Verdict::Unread(Kind::Udp),
        (Kind::Ethernet | Kind::Vlan, "ether_type") if !is_read(EtherType(value as u16)) => {
            Verdict::Unread(part.kind)
        }
        (Kind::Ethernet | Kind::Vlan | Kind::Ipv4 | Kind::Ipv6 | Kind::Udp | Kind::Lrh | Kind::Grh, name)
            if ComputedField::of(part.kind, name).is_some() && name != "src_port" =>
        {
            Verdict::Survives
        }
        // Another management class, or none.
        (kind, _) if kind.is_management() => Verdict::Survives,
        (Kind::Deth, "src_qp") | (Kind::Bth, "dest_qp") if frame.has_mad => Verdict::Survives,
        (Kind::MacControl, _) => Verdict::Survives,
        _ => Verdict::Dissects,
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
fn outer_length(packet: &Packet, frame: &Frame, n: usize, to: usize) -> Verdict {
    let (own, udp) = (&packet.parts[n], packet.parts.get(n + 1));
    let Some(udp) = udp.filter(|part| part.kind == Kind::Udp) else { return Verdict::Survives };
    if to > frame.len || to < own.range().end {
        return Verdict::Length(own.kind);
    }
    match to {
        to if to >= frame.end => Verdict::Dissects,
        to if to >= udp.range().end => Verdict::Length(Kind::Udp),
        _ => Verdict::Truncated(Kind::Udp),
    }
}

/// The UDP length is wrong, in an IP packet with the right length.
fn udp_length(frame: &Frame, from: usize, says: usize) -> Verdict {
    let Some(transport) = frame.transport else { return Verdict::Survives };
    if from + says > frame.end || says < Udp::LEN {
        return Verdict::Length(Kind::Udp);
    }
    let Some(mut left) = (says - Udp::LEN).checked_sub(Bth::LEN) else {
        return Verdict::Truncated(Kind::Bth);
    };
    for kind in transport.opcode.chain() {
        match left.checked_sub(kind.info().map_or(0, |info| info.len)) {
            Some(rest) => left = rest,
            None => return Verdict::Truncated(*kind),
        }
    }
    if left < 4 { Verdict::Truncated(Kind::Icrc) } else { Verdict::BadIcrc }
}
