//! A frame as text: one line, a tree of all fields, JSON, columns, hexadecimal.
//!
//! Everything is written into one buffer, which is reused: nothing is allocated per frame.

mod info;
mod json;
mod line;
mod table;
pub(crate) mod text;
mod tree;

use std::fmt;

pub use info::Info;
pub use json::{Json, Names};
pub use line::{Class, Clock, Line};
pub use table::{Columns, Separator};
pub use tree::{write_hex, write_tree};

use crate::{
    dissect::{Dissection, Encapsulation},
    icrc::State,
    wire::{Ethernet, Grh, Ipv4, Ipv6, Kind, Lrh, MacControl, MacControlOpcode},
};

/// A dissected frame, and what its capture says about it.
#[derive(Clone, Copy)]
pub struct Frame<'a> {
    /// Its number in its file, from 1.
    pub number: u64,
    /// When it was captured: nanoseconds since 1970.
    pub time_ns: i64,
    /// Its dissection.
    pub dissection: &'a Dissection<'a>,
    /// Whether its ICRC is right; `Unchecked` until it is verified.
    pub icrc: State,
}

/// An address of a frame's innermost network header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address<'a> {
    /// IPv4.
    Ipv4(&'a [u8; 4]),
    /// IPv6, or a GID.
    Ipv6(&'a [u8; 16]),
    /// Ethernet.
    Mac(&'a [u8; 6]),
    /// An InfiniBand local identifier.
    Lid(u16),
    /// No header has an address.
    Unknown,
}

impl Address<'_> {
    /// The source and the destination of a frame.
    #[inline]
    pub fn of<'a>(d: &Dissection<'a>) -> (Address<'a>, Address<'a>) {
        if let Some(ip) = d.get::<Ipv4>() {
            let at = |from| ip.bytes().get(from..).and_then(|b| b.first_chunk());
            return pair(at(12).map(Address::Ipv4), at(16).map(Address::Ipv4));
        }
        let gids = |bytes: &'a [u8]| {
            let at = |from| bytes.get(from..).and_then(|b| b.first_chunk());
            pair(at(8).map(Address::Ipv6), at(24).map(Address::Ipv6))
        };
        if let Some(ip) = d.get::<Ipv6>() {
            return gids(ip.bytes());
        }
        if let Some(grh) = d.get::<Grh>() {
            return gids(grh.bytes());
        }
        if let Some(lrh) = d.get::<Lrh>() {
            return (Address::Lid(lrh.slid().0), Address::Lid(lrh.dlid().0));
        }
        if let Some(ethernet) = d.get::<Ethernet>() {
            let at = |from| ethernet.bytes().get(from..).and_then(|b| b.first_chunk());
            return pair(at(6).map(Address::Mac), at(0).map(Address::Mac));
        }
        (Address::Unknown, Address::Unknown)
    }

    fn write<W: fmt::Write + ?Sized>(&self, w: &mut W) -> fmt::Result {
        match self {
            Address::Ipv4(bytes) => text::ipv4(w, *bytes),
            Address::Ipv6(bytes) => text::ipv6(w, *bytes),
            Address::Mac(bytes) => text::mac(w, *bytes),
            Address::Lid(lid) => {
                w.write_str("lid:")?;
                text::hex(w, *lid as u64, 4)
            }
            Address::Unknown => w.write_char('-'),
        }
    }
}

fn pair<'a>(source: Option<Address<'a>>, destination: Option<Address<'a>>) -> (Address<'a>, Address<'a>) {
    (source.unwrap_or(Address::Unknown), destination.unwrap_or(Address::Unknown))
}

impl fmt::Display for Address<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

/// The protocol of a frame, in one word.
pub fn protocol(d: &Dissection<'_>) -> &'static str {
    match d.encapsulation() {
        Some(Encapsulation::RoceV2Ipv4 | Encapsulation::RoceV2Ipv6) => return "RoCEv2",
        Some(Encapsulation::RoceV1) => return "RoCEv1",
        Some(Encapsulation::Ib | Encapsulation::IbGrh) => return "IB",
        None => {}
    }
    if let Some(control) = d.get::<MacControl>() {
        return match control.opcode() {
            MacControlOpcode::PAUSE => "PAUSE",
            MacControlOpcode::PFC => "PFC",
            _ => "MACctl",
        };
    }
    if d.has(Kind::Udp) {
        return "UDP";
    }
    let carried = match (d.get::<Ipv4>(), d.get::<Ipv6>()) {
        (Some(ip), _) => Some((ip.protocol(), "IPv4")),
        (_, Some(ip)) => Some((ip.next_header(), "IPv6")),
        _ => None,
    };
    if let Some((protocol, ip)) = carried {
        return match protocol.0 {
            1 => "ICMP",
            6 => "TCP",
            58 => "ICMPv6",
            _ => ip,
        };
    }
    let kinds = [
        (Kind::Grh, "GRH"),
        (Kind::Lrh, "IB"),
        (Kind::LinkPacket, "IBlink"),
        (Kind::Lldp, "LLDP"),
        (Kind::Mpls, "MPLS"),
        (Kind::Vlan, "VLAN"),
        (Kind::Ethernet, "Eth"),
        (Kind::Erf, "ERF"),
    ];
    kinds.into_iter().find(|&(kind, _)| d.has(kind)).map_or("-", |(_, name)| name)
}
