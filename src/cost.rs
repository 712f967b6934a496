//! What a packet costs on the wire, to the byte.
//!
//! Fixed bytes of a packet, without extended headers, payload and pad:
//!
//! | layer | RoCEv2/IPv4 | RoCEv2/IPv6 | RoCE v1 | native IB | native IB with GRH |
//! |---|---|---|---|---|---|
//! | preamble, start of frame, inter-frame gap | 20 | 20 | 20 | | |
//! | Ethernet | 14, 4 a VLAN tag | 14 | 14 | | |
//! | LRH | | | | 8 | 8 |
//! | IPv4, IPv6 or GRH | 20 | 40 | 40 | | 40 |
//! | UDP | 8 | 8 | | | |
//! | BTH | 12 | 12 | 12 | 12 | 12 |
//! | ICRC | 4 | 4 | 4 | 4 | 4 |
//! | FCS or VCRC | 4 | 4 | 4 | 2 | 2 |
//! | **together** | **82** | **102** | **94** | **26** | **66** |
//!
//! Ethernet frames are padded to 64 bytes (IEEE 802.3, 3.2.8 and 4.2.3.3), which happens to packets of a BTH alone
//! over untagged IPv4 only. InfiniBand's two delimiter symbols a packet are not counted, nor is the coding of either
//! link: some sources have 28 and 68 for native InfiniBand, which is with those two as bytes; they exist as symbols
//! of their own only where the link is coded 8b/10b (SDR to QDR).

use crate::{
    dissect::Encapsulation,
    opcode::{Opcode, Operation, Position, Service},
    report::{analysis::LayerBytes, overhead as report},
    wire::{Bth, Ethernet, Grh, Header, Ipv4, Ipv6, Kind, Lrh, Udp, Vlan},
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

/// What the transport is wrapped in on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Envelope {
    /// The headers around the BTH.
    pub encapsulation: Encapsulation,
    /// VLAN tags; native InfiniBand has none.
    pub vlans: u8,
}

/// What a packet has between its BTH and its ICRC, in bytes.
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
    /// Of a packet of this operation code with so much payload.
    pub fn new(opcode: Opcode, payload: u32) -> Contents {
        Contents { extended: extended_len(opcode), payload, pad: payload.wrapping_neg() & 3 }
    }

    /// All of it.
    #[inline]
    pub fn len(self) -> u32 {
        self.extended + self.payload + self.pad
    }

    /// Whether the packet is a BTH alone.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

impl Envelope {
    /// Without VLAN tags.
    pub const fn new(encapsulation: Encapsulation) -> Envelope {
        Envelope { encapsulation, vlans: 0 }
    }

    /// With so many VLAN tags; native InfiniBand keeps none.
    #[must_use]
    pub const fn with_vlans(self, vlans: u8) -> Envelope {
        Envelope { vlans: if self.is_ethernet() { vlans } else { 0 }, ..self }
    }

    /// Whether it is an Ethernet frame.
    #[inline]
    pub const fn is_ethernet(self) -> bool {
        !matches!(self.encapsulation, Encapsulation::Ib | Encapsulation::IbGrh)
    }

    /// The bytes of every packet: the table's last row, and four a VLAN tag.
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

    /// Bytes on the wire of a packet: with preamble, frame check sequence and inter-frame gap, or from LRH to VCRC.
    #[inline]
    pub const fn l1_bytes(self, contents: u32) -> u32 {
        let len = self.fixed() + contents;
        if self.is_ethernet() && len < PREAMBLE + SHORTEST_FRAME + GAP {
            PREAMBLE + SHORTEST_FRAME + GAP
        } else {
            len
        }
    }

    /// The same, layer by layer, without the payload.
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

/// A message to be priced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The transport service.
    pub service: Service,
    /// What it does: [`Operation::Send`], [`Operation::Write`], [`Operation::ReadRequest`], an atomic, FLUSH or
    /// ATOMIC WRITE.
    pub operation: Operation,
    /// With immediate data: SEND and WRITE.
    pub immediate: bool,
    /// With invalidation: SEND.
    pub invalidate: bool,
    /// Bytes.
    pub size: u64,
    /// Path MTU: payload of the longest packet.
    pub mtu: u32,
    /// Packets to an acknowledgement; the last packet of a message is always acknowledged. `None`: that one only.
    pub ack_every: Option<u64>,
}

/// Packets that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packets {
    /// Their operation code.
    pub opcode: Opcode,
    /// Bytes of payload of each.
    pub payload: u32,
    /// How many.
    pub count: u64,
    /// Whether they travel with the payload: not ACKs, not the request of a READ.
    pub is_forward: bool,
}

impl Message {
    /// The packets it takes, in order, those alike as one entry; an error where there is no such message.
    pub fn packets(&self) -> Result<Vec<Packets>, &'static str> {
        if !self.mtu.is_power_of_two() || !(256..=4096).contains(&self.mtu) {
            return Err("a path MTU is 256, 512, 1024, 2048 or 4096");
        }
        let size = match self.operation {
            Operation::CompareSwap | Operation::FetchAdd | Operation::Flush => 0,
            Operation::AtomicWrite => 8,
            _ => self.size,
        };
        if size > 1 << 31 {
            return Err("a message has at most 2^31 bytes");
        }
        let count = size.div_ceil(self.mtu as u64).max(1);
        if self.service == Service::Ud && count > 1 {
            return Err("a datagram has at most as many bytes as the path MTU");
        }
        let mut all = Vec::new();
        let is_read = self.operation == Operation::ReadRequest;
        if is_read {
            let opcode = self.opcode(Operation::ReadRequest, Position::Only)?;
            all.push(Packets { opcode, payload: 0, count: 1, is_forward: false });
        }
        let data = if is_read { Operation::ReadResponse } else { self.operation };
        let tail = (size - (count - 1) * self.mtu as u64) as u32;
        let mut data_packets = |position, payload, count| -> Result<(), &'static str> {
            if count > 0 {
                all.push(Packets { opcode: self.opcode(data, position)?, payload, count, is_forward: true });
            }
            Ok(())
        };
        if count == 1 {
            data_packets(Position::Only, tail, 1)?;
        } else {
            data_packets(Position::First, self.mtu, 1)?;
            data_packets(Position::Middle, self.mtu, count - 2)?;
            data_packets(Position::Last, tail, 1)?;
        }
        let answer = |opcode, count| Packets { opcode, payload: 0, count, is_forward: false };
        match self.operation {
            Operation::CompareSwap | Operation::FetchAdd => {
                all.push(answer(self.opcode(Operation::AtomicAcknowledge, Position::Only)?, 1));
            }
            Operation::ReadRequest => {}
            // Both are answered by an empty READ response (IBTA vol. 1, annex A19; Linux rxe_resp.c).
            Operation::Flush | Operation::AtomicWrite => {
                all.push(answer(self.opcode(Operation::ReadResponse, Position::Only)?, 1))
            }
            _ if self.service.is_reliable() => {
                let acks = self.ack_every.map_or(1, |n| count.div_ceil(n.max(1)));
                all.push(answer(self.opcode(Operation::Acknowledge, Position::Only)?, acks));
            }
            _ => {}
        }
        Ok(all)
    }

    /// The operation code of this message's packet at that place.
    fn opcode(&self, operation: Operation, position: Position) -> Result<Opcode, &'static str> {
        let ends = matches!(position, Position::Last | Position::Only) && operation == self.operation;
        let (immediate, invalidate) = (self.immediate && ends, self.invalidate && ends);
        Opcode::ALL
            .iter()
            .copied()
            .find(|opcode| {
                opcode.service() == self.service
                    && opcode.operation() == Some(operation)
                    && opcode.position() == position
                    && opcode.has(Kind::ImmDt) == immediate
                    && opcode.has(Kind::Ieth) == invalidate
            })
            .ok_or("this service has no such operation")
    }
}

impl Packets {
    /// What each has after its BTH.
    pub fn contents(&self) -> Contents {
        Contents::new(self.opcode, self.payload)
    }
}

/// What these packets cost in an encapsulation, and what a link of this many bit/s carries of them.
pub fn price(packets: &[Packets], envelope: Envelope, speed_bps: Option<u64>) -> report::Cost {
    let mut cost = report::Cost { encapsulation: envelope.encapsulation.name(), ..report::Cost::default() };
    for some in packets {
        let l1_bytes = envelope.l1_bytes(some.contents().len());
        let way = if some.is_forward { &mut cost.forward } else { &mut cost.reverse };
        way.packets += some.count;
        way.l1_bytes += some.count * l1_bytes as u64;
        way.header_bytes += envelope.layers(some.contents()).times(some.count);
        cost.payload_bytes += some.count * some.payload as u64;
        cost.packets.push(report::Packets {
            opcode: some.opcode.name().unwrap_or(""),
            count: some.count,
            payload_bytes: some.payload,
            l1_bytes,
            is_forward: some.is_forward,
        });
    }
    let ratio = |whole: u64| (whole > 0).then(|| cost.payload_bytes as f64 / whole as f64);
    let (forward, both) = (cost.forward.l1_bytes, cost.forward.l1_bytes + cost.reverse.l1_bytes);
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
