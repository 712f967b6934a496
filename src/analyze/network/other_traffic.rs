//! What other traffic than RDMA says of hosts: that they live, and that packets to them cannot be delivered (ICMP).

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use foldhash::fast::RandomState;

use crate::{
    analyze::model::Address,
    dissect::Dissection,
    wire::{Ipv4, Ipv6},
};

/// Hosts, by what is no RDMA.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct OtherTraffic {
    /// How often packets from one address to another were undeliverable.
    unreachable: HashMap<(Address, Address), u64, RandomState>,
    /// When an address last sent something.
    last: HashMap<Address, i64, RandomState>,
}

/// Most addresses, and most pairs of addresses, that are kept.
const MOST: usize = 1024;
const ROCEV2: u16 = 4791;

impl OtherTraffic {
    /// A frame with an IP header that is not of the transport.
    pub(super) fn on_frame(&mut self, d: &Dissection<'_>, time: i64) {
        let ip = d.get::<Ipv4>().map(|ip| IpAddr::V4(ip.src()));
        let source = ip.or_else(|| d.get::<Ipv6>().map(|ip| IpAddr::V6(ip.src())));
        if let Some(host) = source.map(Address::Ip) {
            if let Some(last) = self.last.get_mut(&host) {
                *last = time.max(*last);
            } else if self.last.len() < MOST {
                self.last.insert(host, time);
            }
        }
        let Some((from, to)) = undelivered(d) else { return };
        let pair = (Address::Ip(from), Address::Ip(to));
        if self.unreachable.len() < MOST || self.unreachable.contains_key(&pair) {
            *self.unreachable.entry(pair).or_default() += 1;
        }
    }

    /// When a host last sent something that is no RDMA.
    pub(crate) fn last_of(&self, host: Address) -> Option<i64> {
        self.last.get(&host).copied()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.unreachable.capacity() * size_of::<((Address, Address), u64)>()
            + self.last.capacity() * size_of::<(Address, i64)>()
    }

    /// ICMP messages about packets from one address to another.
    pub(crate) fn unreachable(&self, from: Address, to: Address) -> u64 {
        self.unreachable.get(&(from, to)).copied().unwrap_or(0)
    }
}

/// The addresses of the RoCEv2 packet that an ICMP "destination unreachable" quotes.
fn undelivered(d: &Dissection<'_>) -> Option<(IpAddr, IpAddr)> {
    const ICMP: u8 = 1;
    const ICMPV6: u8 = 58;
    const UDP: u8 = 17;
    const QUOTED_AT: usize = 8;
    let message = d.payload();
    let quoted = message.get(QUOTED_AT..)?;
    let (from, to, udp): (IpAddr, IpAddr, &[u8]) = match (d.get::<Ipv4>(), d.get::<Ipv6>(), message.first()?)
    {
        (Some(ip), _, 3) if ip.protocol().0 == ICMP => {
            let header = quoted.get(..20).filter(|header| header[0] >> 4 == 4 && header[9] == UDP)?;
            let words = usize::from(header[0] & 15);
            let [from, to] = [12, 16].map(|at| <[u8; 4]>::try_from(&header[at..at + 4]).map(Ipv4Addr::from));
            (from.ok()?.into(), to.ok()?.into(), quoted.get(4 * words..)?)
        }
        (None, Some(ip), 1) if ip.next_header().0 == ICMPV6 => {
            let header = quoted.get(..40).filter(|header| header[0] >> 4 == 6 && header[6] == UDP)?;
            let [from, to] = [8, 24].map(|at| <[u8; 16]>::try_from(&header[at..at + 16]).map(Ipv6Addr::from));
            (from.ok()?.into(), to.ok()?.into(), quoted.get(40..)?)
        }
        _ => return None,
    };
    (udp.get(2..4)? == ROCEV2.to_be_bytes()).then_some((from, to))
}
