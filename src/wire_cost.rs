//! How many bytes a packet takes on the wire.
//!
//! Every packet has these bytes; extended headers, payload and pad come on top:
//!
//! | layer | RoCEv2/IPv4 | RoCEv2/IPv6 | RoCE v1 | native IB | native IB with GRH |
//! |---|---|---|---|---|---|
//! | preamble, start of frame, inter-frame gap | 20 | 20 | 20 | | |
//! | Ethernet (and 4 for each VLAN tag) | 14 | 14 | 14 | | |
//! | LRH | | | | 8 | 8 |
//! | IPv4, IPv6 or GRH | 20 | 40 | 40 | | 40 |
//! | UDP | 8 | 8 | | | |
//! | BTH | 12 | 12 | 12 | 12 | 12 |
//! | ICRC | 4 | 4 | 4 | 4 | 4 |
//! | FCS or VCRC | 4 | 4 | 4 | 2 | 2 |
//! | **together** | **82** | **102** | **94** | **26** | **66** |
//!
//! Ethernet frames are padded to 64 bytes (IEEE 802.3, 3.2.8 and 4.2.3.3). Only a packet that ends with its BTH, over
//! IPv4 without a VLAN tag, is that short. The line coding is not counted. Neither are the two delimiter symbols of an
//! InfiniBand packet, which exist with 8b/10b coding only (SDR to QDR). Sources that count them as bytes have 28 and 68
//! for native InfiniBand.

use crate::{
    dissect::Encapsulation,
    message::Segments,
    opcode::{Opcode, Operation},
    report::{LayerBytes, price as report},
    wire::{Bth, Ethernet, Grh, Header, Ipv4, Ipv6, Lrh, Udp, Vlan},
};

/// Preamble and start of frame delimiter (IEEE 802.3, 3.1.1).
pub const PREAMBLE: u32 = 8;
/// Inter-frame gap (IEEE 802.3, 4.4.2: 96 bit times).
pub const GAP: u32 = 12;
/// Ethernet's frame check sequence.
pub const FCS: u32 = 4;
/// The shortest Ethernet frame, frame check sequence included.
pub const SHORTEST_FRAME: u32 = 64;
/// Invariant CRC.
pub const ICRC: u32 = 4;
/// Variant CRC.
pub const VCRC: u32 = 2;

/// The headers around the transport on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Envelope {
    /// Which headers stand before the BTH.
    pub encapsulation: Encapsulation,
    /// VLAN tags; native InfiniBand has none.
    pub vlans: u8,
}

/// Bytes that a packet has between its BTH and its ICRC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Contents {
    /// Extended headers.
    pub extended: u32,
    /// Payload without pad.
    pub payload: u32,
    /// Pad up to the next four bytes.
    pub pad: u32,
}

impl Contents {
    /// The contents of a packet with this operation code and this many bytes of payload.
    pub fn new(opcode: Opcode, payload: u32) -> Contents {
        Contents { extended: extended_len(opcode), payload, pad: payload.wrapping_neg() & 3 }
    }

    /// All of them together.
    #[inline]
    pub fn len(self) -> u32 {
        self.extended + self.payload + self.pad
    }

    /// Whether the packet ends with its BTH.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

impl Envelope {
    /// An envelope without VLAN tags.
    pub const fn new(encapsulation: Encapsulation) -> Envelope {
        Envelope { encapsulation, vlans: 0 }
    }

    /// The envelope with this many VLAN tags. Native InfiniBand has none.
    #[must_use]
    pub const fn with_vlans(self, vlans: u8) -> Envelope {
        Envelope { vlans: if self.is_ethernet() { vlans } else { 0 }, ..self }
    }

    /// Whether it is an Ethernet frame.
    #[inline]
    pub const fn is_ethernet(self) -> bool {
        !matches!(self.encapsulation, Encapsulation::Ib | Encapsulation::IbGrh)
    }

    /// The bytes that every packet has: the last row of the table above, and four for each VLAN tag.
    #[inline]
    pub const fn fixed(self) -> u32 {
        let around = match self.encapsulation {
            Encapsulation::RoceV2Ipv4 => Ipv4::LEN + Udp::LEN,
            Encapsulation::RoceV2Ipv6 => Ipv6::LEN + Udp::LEN,
            Encapsulation::RoceV1 => Grh::LEN,
            Encapsulation::Ib => Lrh::LEN,
            Encapsulation::IbGrh => Lrh::LEN + Grh::LEN,
        };
        let link = if self.is_ethernet() {
            PREAMBLE + Ethernet::LEN as u32 + self.vlans as u32 * Vlan::LEN as u32 + FCS + GAP
        } else {
            VCRC
        };
        link + around as u32 + Bth::LEN as u32 + ICRC
    }

    /// Bytes on the wire of a packet with these contents: on Ethernet with preamble, frame check sequence and
    /// inter-frame gap, on native InfiniBand from LRH to VCRC.
    #[inline]
    pub const fn l1_bytes(self, contents: u32) -> u32 {
        let len = self.fixed() + contents;
        if self.is_ethernet() && len < PREAMBLE + SHORTEST_FRAME + GAP {
            PREAMBLE + SHORTEST_FRAME + GAP
        } else {
            len
        }
    }

    /// Bytes on the wire by layer, without the payload.
    pub fn layers(self, contents: Contents) -> LayerBytes {
        let on = |yes: bool, bytes: u32| if yes { bytes as u64 } else { 0 };
        let (ethernet, wrap) = (self.is_ethernet(), self.encapsulation);
        let (v4, v6) = (wrap == Encapsulation::RoceV2Ipv4, wrap == Encapsulation::RoceV2Ipv6);
        LayerBytes {
            preamble_ifg: on(ethernet, PREAMBLE + GAP),
            ethernet: on(ethernet, Ethernet::LEN as u32),
            vlan: on(ethernet, self.vlans as u32 * Vlan::LEN as u32),
            ip: on(v4, Ipv4::LEN as u32) + on(v6, Ipv6::LEN as u32),
            udp: on(v4 || v6, Udp::LEN as u32),
            lrh: on(!ethernet, Lrh::LEN as u32),
            grh: on(matches!(wrap, Encapsulation::RoceV1 | Encapsulation::IbGrh), Grh::LEN as u32),
            bth: Bth::LEN as u64,
            extended: contents.extended as u64,
            pad: contents.pad as u64,
            icrc: ICRC as u64,
            fcs: on(ethernet, FCS),
            vcrc: on(!ethernet, VCRC),
            padding: (self.l1_bytes(contents.len()) - self.fixed() - contents.len()) as u64,
        }
    }
}

/// Bytes of the extended headers of an operation code: those between the BTH and the payload.
#[inline]
pub fn extended_len(opcode: Opcode) -> u32 {
    opcode.shape().extended as u32
}

/// Packets with one operation code and one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packets {
    /// Their operation code.
    pub opcode: Opcode,
    /// Bytes of payload of each.
    pub payload: u32,
    /// How many.
    pub count: u64,
    /// Whether they go the way of the payload. ACKs and READ requests go the other way.
    pub is_forward: bool,
}

impl Packets {
    /// The packets of a message in order, then those that answer it. One acknowledgement comes for every `ack_every`
    /// packets and for the last one; with `None` for the last one only.
    pub fn of(request: &Segments, ack_every: Option<u64>) -> Vec<Packets> {
        let mut all = Vec::new();
        let mut add = |segments: &Segments, is_forward: bool, times: u64| {
            let packets = segments.packets();
            let middle = packets.saturating_sub(2) as u64;
            for (n, count) in [(0, 1), (1, middle), (packets - 1, (packets > 1) as u64)] {
                if count > 0 {
                    let (opcode, payload) = (segments.opcode(n), segments.payload(n));
                    all.push(Packets { opcode, payload, count: count * times, is_forward });
                }
            }
        };
        let is_read = request.operation() == Operation::ReadRequest;
        add(request, !is_read, 1);
        if let Some(response) = request.response() {
            let packets = request.packets() as u64;
            let times = match response.operation() {
                Operation::Acknowledge => ack_every.map_or(1, |n| packets.div_ceil(n.max(1))),
                _ => 1,
            };
            add(&response, is_read, times);
        }
        all
    }

    /// What each of them has between BTH and ICRC.
    pub fn contents(&self) -> Contents {
        Contents::new(self.opcode, self.payload)
    }
}

/// The bytes that these packets take in an encapsulation, and how many messages a link of this speed carries.
pub fn price(packets: &[Packets], envelope: Envelope, speed_bps: Option<u64>) -> report::Cost {
    let mut cost = report::Cost { encapsulation: envelope.encapsulation.into(), ..report::Cost::default() };
    for some in packets {
        let l1_bytes = envelope.l1_bytes(some.contents().len());
        let way = if some.is_forward { &mut cost.forward } else { &mut cost.reverse };
        way.packets += some.count;
        way.wire_bytes += some.count * l1_bytes as u64;
        way.header_bytes += envelope.layers(some.contents()).times(some.count);
        cost.payload_bytes += some.count * some.payload as u64;
        cost.packets.push(report::Packets {
            opcode: some.opcode.name().unwrap_or("").into(),
            count: some.count,
            payload_bytes: some.payload,
            wire_bytes: l1_bytes,
            is_forward: some.is_forward,
        });
    }
    let ratio = |whole: u64| (whole > 0).then(|| cost.payload_bytes as f64 / whole as f64);
    let (forward, both) = (cost.forward.wire_bytes, cost.forward.wire_bytes + cost.reverse.wire_bytes);
    (cost.efficiency_ratio, cost.efficiency_both_ratio) = (ratio(forward), ratio(both));
    cost.at_speed = speed_bps.filter(|_| forward > 0).map(|bps| {
        let messages_per_second = bps as f64 / (8 * forward) as f64;
        report::AtSpeed {
            packets_per_second: messages_per_second * cost.forward.packets as f64,
            messages_per_second,
            goodput_bps: messages_per_second * 8.0 * cost.payload_bytes as f64,
        }
    });
    cost
}
