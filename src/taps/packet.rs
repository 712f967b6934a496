//! What is compared of a packet.

use std::hash::{BuildHasher, Hasher};

use crate::{
    analyze::{Class, FlowKey},
    capture::Record,
    checksum,
    dissect::{Address, Dissection},
    icrc::State,
    opcode::Opcode,
    wire::{Aeth, Bth, Ecn, Grh, Header, Ipv4, Ipv6, Kind, Psn, Udp},
};

/// A packet of the transport, as one tap saw it.
#[derive(Clone, Copy, Debug)]
pub(super) struct TapPacket {
    /// The frame's number, from 1.
    pub(super) frame: u64,
    pub(super) time: i64,
    /// A hash of the headers that no router changes: two records of one transmission have the same.
    pub(super) key: u64,
    pub(super) addresses: [Address; 2],
    /// The virtual network of an overlay, as this tap saw it.
    pub(super) vni: Option<u32>,
    pub(super) qp: u32,
    pub(super) psn: u32,
    pub(super) opcode: Opcode,
    /// The PSN up to which it acknowledges everything.
    pub(super) acks: Option<Psn>,
    /// The ICRC as it is on the wire.
    pub(super) icrc: Option<[u8; 4]>,
    pub(super) state: State,
    pub(super) is_ip_right: bool,
    /// The IPv4 identification.
    pub(super) ip_id: Option<u16>,
    pub(super) source_port: u16,
    /// From the BTH to the ICRC, captured or not.
    pub(super) size: u32,
    pub(super) dscp: u8,
    pub(super) is_ce: bool,
    /// It can be marked, or is.
    pub(super) is_ect: bool,
    /// TTL or hop limit.
    pub(super) ttl: u8,
    /// What the analysis of this tap says of it.
    pub(super) class: Option<Class>,
}

impl TapPacket {
    /// `None` for what is no packet of the transport between two addresses.
    pub(super) fn of(
        record: &Record<'_>,
        d: &Dissection<'_>,
        state: State,
        frame: u64,
        hasher: &impl BuildHasher,
    ) -> Option<TapPacket> {
        let (bth, addresses) = (d.get::<Bth>()?, d.addresses()?);
        let [ip_id, ttl, dscp, ecn] = if let Some(ip) = d.get::<Ipv4>() {
            [ip.id().0, ip.ttl().into(), ip.dscp().into(), ip.ecn().0.into()]
        } else if let Some(ip) = d.get::<Ipv6>() {
            [0, ip.hop_limit().into(), ip.dscp().into(), ip.ecn().0.into()]
        } else if let Some(grh) = d.get::<Grh>() {
            [0, grh.hop_lmt().into(), (grh.t_class().0 >> 2).into(), u16::from(grh.t_class().0 & 3)]
        } else {
            [0; 4]
        };
        let (_, key) = identity(d, hasher)?;
        // Where the frame is cut, its length on the wire may be that of a mirror.
        let end = if d.is_cut() { d.end() } else { d.end().min(d.wire_len()) };
        Some(TapPacket {
            frame,
            time: record.time.0,
            key,
            addresses,
            vni: FlowKey::of(d, bth).and_then(|key| key.vni()),
            qp: bth.dest_qp().0,
            psn: bth.psn().0,
            opcode: bth.opcode(),
            acks: d.get::<Aeth>().filter(|aeth| aeth.syndrome().is_ack()).map(|_| bth.psn()),
            icrc: d.icrc(),
            state,
            is_ip_right: is_ip_right(d),
            ip_id: d.has(Kind::Ipv4).then_some(ip_id),
            source_port: d.get::<Udp>().map_or(0, Udp::src_port),
            size: end.saturating_sub(d.offset(Kind::Bth)? as u32),
            dscp: dscp as u8,
            is_ce: ecn == u16::from(Ecn::CE.0) || d.tunnel_depth() > 0 && is_ce_outside(d),
            is_ect: ecn & 3 != 0,
            ttl: ttl as u8,
            class: None,
        })
    }

    /// Whether the two may be one transmission, given that their headers are equal.
    pub(super) fn fits(&self, other: &TapPacket) -> bool {
        let is_same = self.icrc.zip(other.icrc).is_none_or(|(a, b)| a == b);
        // A trimmed packet ends in four bytes that are no ICRC.
        let is_trimmed =
            self.size != other.size && !(self.state == State::Good && other.state == State::Good);
        is_same || self.is_damaged() || other.is_damaged() || is_trimmed
    }

    pub(super) fn is_damaged(&self) -> bool {
        self.state == State::Bad || !self.is_ip_right
    }

    /// Whether one is probably a damaged copy of the other: all but two of their fields survived.
    pub(super) fn resembles(&self, other: &TapPacket) -> bool {
        let equal = [
            self.addresses[0] == other.addresses[0],
            self.addresses[1] == other.addresses[1],
            self.qp == other.qp,
            self.psn == other.psn,
            self.opcode == other.opcode,
            self.icrc == other.icrc,
            self.ip_id == other.ip_id,
            self.source_port == other.source_port,
            self.size == other.size,
        ];
        (self.is_damaged() != other.is_damaged()) && equal.iter().filter(|&&is| is).count() + 2 >= equal.len()
    }
}

/// The addresses of a packet, and a hash of its headers that no router changes; of RoCE, InfiniBand and Ultra Ethernet.
pub(super) fn identity(d: &Dissection<'_>, hasher: &impl BuildHasher) -> Option<([Address; 2], u64)> {
    let addresses = d.addresses()?;
    let mut hash = hasher.build_hasher();
    addresses.iter().for_each(|address| std::hash::Hash::hash(address, &mut hash));
    hash.write_u16(d.get::<Udp>().map_or(0, Udp::src_port));
    hash.write_u16(d.get::<Ipv4>().map_or(0, |ip| ip.id().0));
    match d.get::<Bth>() {
        Some(bth) => {
            // The fifth byte has the congestion bits, which routers set.
            let mut fixed = [0; Bth::LEN];
            fixed.copy_from_slice(bth.bytes());
            fixed[4] = 0;
            hash.write(&fixed);
            if let Some(aeth) = d.get::<Aeth>() {
                hash.write(aeth.bytes());
            }
        }
        None if d.is_uet() => {
            /// What all packets with a number have: types, numbers, contexts.
            const SHORTEST: usize = 12;
            let layers = d.layers();
            let pds = layers.iter().find(|layer| layer.kind.is_uet())?;
            hash.write(d.frame().get(pds.at as usize..)?.get(..SHORTEST)?);
        }
        None => return None,
    }
    Some((addresses, hash.finish()))
}

/// Whether the checksum of the IPv4 header is right, or there is none.
fn is_ip_right(d: &Dissection<'_>) -> bool {
    let Some(at) = d.offset(Kind::Ipv4) else { return true };
    let header = d.frame().get(at..).and_then(|ip| ip.get(..(ip.first()? & 15) as usize * 4));
    header.is_none_or(|header| checksum::internet(header) == 0)
}

/// Whether a tunnel's header has the mark: it is copied to the packet at the tunnel's end (RFC 6040).
fn is_ce_outside(d: &Dissection<'_>) -> bool {
    d.layers().iter().any(|layer| {
        let bytes = d.frame().get(layer.at as usize..).unwrap_or(&[]);
        match layer.kind {
            Kind::Ipv4 => Ipv4::view(bytes).is_some_and(|(ip, _)| ip.ecn() == Ecn::CE),
            Kind::Ipv6 => Ipv6::view(bytes).is_some_and(|(ip, _)| ip.ecn() == Ecn::CE),
            _ => false,
        }
    })
}
