//! Where a packet comes from, and where it goes.

use core::{
    fmt,
    net::{IpAddr, Ipv6Addr},
    str::FromStr,
};

use super::Dissection;
use crate::wire::{Grh, Ipv4, Ipv6, Lrh};

/// An address of a network header: an IP address, a GID, or a LID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Address {
    /// Of RoCEv2.
    Ip(IpAddr),
    /// Of RoCE v1, and of native InfiniBand between subnets.
    Gid(Ipv6Addr),
    /// Of native InfiniBand within a subnet.
    Lid(u16),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Ip(ip) => ip.fmt(f),
            Address::Gid(gid) => gid.fmt(f),
            Address::Lid(lid) => write!(f, "lid:{lid:#06x}"),
        }
    }
}

/// The text is no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoAddress;

impl fmt::Display for NoAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("neither an IP address, nor gid: and an IPv6 address, nor lid: and a number")
    }
}

impl core::error::Error for NoAddress {}

/// An IP address; `gid:` and an IPv6 address; `lid:` and a number, decimal or with `0x`.
impl FromStr for Address {
    type Err = NoAddress;

    fn from_str(text: &str) -> Result<Address, NoAddress> {
        if let Some(gid) = text.strip_prefix("gid:") {
            return gid.parse().map(Address::Gid).map_err(|_| NoAddress);
        }
        if let Some(lid) = text.strip_prefix("lid:") {
            let number = match lid.strip_prefix("0x") {
                Some(digits) => u16::from_str_radix(digits, 16),
                None => lid.parse(),
            };
            return number.map(Address::Lid).map_err(|_| NoAddress);
        }
        text.parse().map(Address::Ip).map_err(|_| NoAddress)
    }
}

impl Dissection<'_> {
    /// Source and destination of the innermost packet; `None` if it has no network header that this toolkit reads.
    #[inline]
    pub fn addresses(&self) -> Option<[Address; 2]> {
        if let Some(ip) = self.get::<Ipv4>() {
            return Some([ip.src(), ip.dst()].map(|ip| Address::Ip(ip.into())));
        }
        if let Some(ip) = self.get::<Ipv6>() {
            return Some([ip.src(), ip.dst()].map(|ip| Address::Ip(ip.into())));
        }
        if let Some(grh) = self.get::<Grh>() {
            return Some([grh.sgid(), grh.dgid()].map(Address::Gid));
        }
        self.get::<Lrh>().map(|lrh| [lrh.slid(), lrh.dlid()].map(|lid| Address::Lid(lid.0)))
    }

    /// Traffic class (DSCP and ECN) and time to live, or hop limit, of the innermost IP header or GRH.
    pub fn class_and_ttl(&self) -> Option<(u8, u8)> {
        if let Some(ip) = self.get::<Ipv4>() {
            return Some((ip.dscp() << 2 | ip.ecn().0, ip.ttl()));
        }
        if let Some(ip) = self.get::<Ipv6>() {
            return Some((ip.dscp() << 2 | ip.ecn().0, ip.hop_limit()));
        }
        self.get::<Grh>().map(|grh| (grh.t_class().0, grh.hop_lmt()))
    }
}
