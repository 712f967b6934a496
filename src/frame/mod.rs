//! A frame as text: one line, a tree of all fields, JSON, columns, hexadecimal.
//!
//! Everything is written into one buffer, which is reused: nothing is allocated per frame.

mod awaited;
mod info;
mod json;
mod line;
mod table;
pub(crate) mod text;
mod tree;
mod uet;
mod uppers;

use std::{
    fmt::{self, Write},
    net::IpAddr,
};

pub use info::Info;
pub use json::{Json, Names};
pub use line::{Class, Clock, Line};
pub use table::{Columns, Separator};
pub use tree::{write_hex, write_tree};
pub use uppers::Uppers;

use crate::{
    dissect::{Address, Dissection, Encapsulation},
    icrc::State,
    wire::{Ethernet, Ipv4, Ipv6, Kind, MacControl, MacControlOpcode},
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

/// Writes where a frame comes from (0) or goes to (1): the address of the innermost network header, or Ethernet's without one.
fn write_address(d: &Dissection<'_>, end: usize, to: &mut String) -> fmt::Result {
    match d.addresses().map(|ends| ends[end]) {
        Some(Address::Ip(IpAddr::V4(ip))) => text::ipv4(to, &ip.octets()),
        Some(address) => write!(to, "{address}"),
        None => match d.get::<Ethernet>() {
            Some(ethernet) => text::mac(to, &[ethernet.src(), ethernet.dst()][end].0),
            None => to.write_char('-'),
        },
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
    if d.is_uet() {
        return "UET";
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
