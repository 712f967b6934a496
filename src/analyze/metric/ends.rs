//! Where a packet comes from and where it goes, for tables that are looked into seldom.

use crate::{
    dissect::Dissection,
    wire::{Grh, Ipv4, Ipv6, Kind, Lrh},
};

/// An address: IPv6 and GIDs as they are, IPv4 mapped into IPv6, local identifiers as numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Addr(u128);

/// Who sends, who receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ends {
    /// Who sends.
    pub src: Addr,
    /// Who receives.
    pub dst: Addr,
}

impl Ends {
    /// Of the innermost packet; `None` where it has no address that this toolkit reads.
    #[inline]
    pub fn of(d: &Dissection<'_>) -> Option<Ends> {
        let ends = |src: u128, dst: u128| Some(Ends { src: Addr(src), dst: Addr(dst) });
        if d.has(Kind::Ipv4) {
            let ip = d.get::<Ipv4>()?;
            return ends(u128::from(ip.src().to_ipv6_mapped()), u128::from(ip.dst().to_ipv6_mapped()));
        }
        if let Some(ip) = d.get::<Ipv6>() {
            return ends(ip.src().into(), ip.dst().into());
        }
        if let Some(grh) = d.get::<Grh>() {
            return ends(grh.sgid().into(), grh.dgid().into());
        }
        let lrh = d.get::<Lrh>()?;
        ends(lrh.slid().0 as u128, lrh.dlid().0 as u128)
    }

    /// The other way.
    #[must_use]
    pub fn turned(self) -> Ends {
        Ends { src: self.dst, dst: self.src }
    }
}

impl std::fmt::Display for Addr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ip = std::net::Ipv6Addr::from(self.0);
        match ip.to_ipv4_mapped() {
            _ if self.0 <= 0xffff => write!(f, "lid:{:#06x}", self.0),
            Some(v4) => write!(f, "{v4}"),
            None => write!(f, "{ip}"),
        }
    }
}
