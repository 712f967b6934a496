//! The keys of flows: (source, destination, destination queue pair).

use std::{
    hash::{Hash, Hasher},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use crate::{
    analyze::model::{Address, FlowUid, identity},
    dissect::Dissection,
    wire::*,
};

/// An address as two words, the upper first: aligned to 8 bytes, so that flows are smaller.
pub(crate) type Wide = [u64; 2];

#[inline(always)]
fn wide(number: u128) -> Wide {
    [(number >> 64) as u64, number as u64]
}

/// The key of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, crate::stored::Stored)]
pub(crate) struct Key {
    pub(crate) src: Wide,
    pub(crate) dst: Wide,
    /// Destination queue pair, and the kind of address above it.
    qp: u32,
    /// The virtual network of an overlay; 0 for none.
    vni: u32,
}

const IPV4: u8 = 0;
const IPV6: u8 = 1;
const GID: u8 = 2;
const LID: u8 = 3;

/// The kind of overlay, above the number of the virtual network.
const VXLAN: u32 = 1 << 24;
const GENEVE: u32 = 2 << 24;

impl Key {
    /// The key of a frame's flow.
    #[inline]
    pub(crate) fn of(d: &Dissection<'_>, bth: &Bth) -> Option<Key> {
        let [src, dst] = d.addresses()?;
        let vni = if d.tunnel_depth() > 0 { vni(d) } else { 0 };
        Some(Key { vni, ..Key::between(src, (dst, bth.dest_qp().0))? })
    }

    /// The key of a packet over IPv4, not in a tunnel.
    #[inline(always)]
    pub(crate) fn of_ipv4(src: u32, dst: u32, dest_qp: u32) -> Key {
        Key { src: [0, src as u64], dst: [0, dst as u64], qp: (IPV4 as u32) << 24 | dest_qp, vni: 0 }
    }

    /// The key of a packet over IPv6, not in a tunnel.
    #[inline(always)]
    pub(crate) fn of_ipv6(src: Wide, dst: Wide, dest_qp: u32) -> Key {
        Key { src, dst, qp: (IPV6 as u32) << 24 | dest_qp, vni: 0 }
    }

    /// The key of packets from an address to an end; `None` if the two addresses are not of one kind.
    pub(crate) fn between(from: Address, to: (Address, u32)) -> Option<Key> {
        let (family, src) = value(from);
        let (same, dst) = value(to.0);
        (family == same).then_some(Key { src, dst, qp: (family as u32) << 24 | to.1 & 0xff_ffff, vni: 0 })
    }

    /// The key of packets that come back, to this queue pair.
    pub(crate) fn back_to(&self, qp: u32) -> Key {
        Key { src: self.dst, dst: self.src, qp: self.qp & 0xff00_0000 | qp & 0xff_ffff, vni: self.vni }
    }

    /// Both addresses, if they are of IPv4 and not in an overlay.
    #[inline(always)]
    pub(crate) fn ipv4_addresses(&self) -> Option<u64> {
        let is_ipv4 = self.qp >> 24 == IPV4 as u32 && self.vni == 0;
        is_ipv4.then_some(self.src[1] << 32 | self.dst[1])
    }

    /// The key in a VXLAN.
    #[inline(always)]
    pub(crate) fn in_vxlan(self, vni: u32) -> Key {
        Key { vni: vni | VXLAN, ..self }
    }

    /// The addresses mixed into one word, and the queue pair with the kind of address above it. It is unique for IPv4 outside of
    /// overlays ([`is_short`](Self::is_short)); other keys may share it.
    #[inline(always)]
    pub(crate) fn short(&self) -> Option<(u64, u32)> {
        const OVERLAY: u32 = 1 << 31;
        match self.ipv4_addresses() {
            Some(addresses) => Some((addresses, self.qp)),
            None if self.family() <= IPV6 => {
                let overlay = if self.vni == 0 { 0 } else { OVERLAY };
                Some((mixed(self.src, self.dst) ^ (self.vni as u64) << 24, self.qp | overlay))
            }
            None => None,
        }
    }

    #[inline(always)]
    pub(crate) fn is_short(&self) -> bool {
        self.ipv4_addresses().is_some()
    }

    /// Whether its addresses are of IPv4.
    #[inline(always)]
    pub(crate) fn is_ipv4(&self) -> bool {
        self.family() == IPV4
    }

    pub(crate) fn dest_qp(&self) -> u32 {
        self.qp & 0xff_ffff
    }

    fn family(&self) -> u8 {
        (self.qp >> 24) as u8
    }

    /// With other LIDs, where its addresses are some.
    pub(crate) fn with_lids(&self, of: impl Fn(u16) -> u16) -> Key {
        let other = |[high, lid]: Wide| [high, u64::from(of(lid as u16))];
        if self.family() == LID { Key { src: other(self.src), dst: other(self.dst), ..*self } } else { *self }
    }

    /// A few bits that differ between most flows.
    pub(crate) fn digest(&self) -> u32 {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let ends = mixed(self.src, self.dst) ^ ((self.vni as u64) << 32 | self.qp as u64).wrapping_mul(ODD);
        (ends.wrapping_mul(ODD) >> 32) as u32
    }

    pub(crate) fn source(&self) -> Address {
        address(self.family(), self.src)
    }

    pub(crate) fn destination(&self) -> Address {
        address(self.family(), self.dst)
    }

    /// The virtual network of an overlay.
    pub(crate) fn vni(&self) -> Option<u32> {
        (self.vni != 0).then_some(self.vni & (VXLAN - 1))
    }

    /// What identifies a flow of this key. It says the same on all machines, and in all versions.
    #[inline]
    pub(crate) fn uid(&self, epoch: u32) -> FlowUid {
        let ends = (self.qp as u64) << 32 | self.vni as u64;
        let words = [self.src[0], self.src[1], self.dst[0], self.dst[1], ends, epoch.into()];
        FlowUid(identity(words))
    }

    /// The key of a flow in the other direction, to this queue pair.
    pub(crate) fn reverse(&self, qp: u32) -> Key {
        Key { src: self.dst, dst: self.src, qp: (self.family() as u32) << 24 | qp, vni: self.vni }
    }

    /// The key of packets between the same addresses to another queue pair.
    pub(crate) fn with_queue_pair(&self, qp: u32) -> Key {
        Key { qp: (self.family() as u32) << 24 | qp, ..*self }
    }

    /// The same of a source alone, wherever its packets go.
    pub(crate) fn without_destination(&self) -> Key {
        Key { dst: [0; 2], ..*self }
    }

    /// The two addresses, in the same order for both directions.
    pub(crate) fn pair(&self) -> Pair {
        let (low, high) = (self.src.min(self.dst), self.src.max(self.dst));
        Pair { low, high, family: self.family(), vni: self.vni }
    }
}

impl Hash for Key {
    /// A key with IPv4 addresses is hashed as one word.
    #[inline(always)]
    fn hash<H: Hasher>(&self, state: &mut H) {
        if let Some(addresses) = self.ipv4_addresses() {
            state.write_u128((addresses as u128) << 64 | self.qp as u128);
            return;
        }
        for half in self.src.into_iter().chain(self.dst) {
            state.write_u64(half);
        }
        state.write_u64((self.vni as u64) << 32 | self.qp as u64);
    }
}

/// Two addresses, equal for both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, crate::stored::Stored)]
pub(crate) struct Pair {
    low: Wide,
    high: Wide,
    family: u8,
    vni: u32,
}

impl Pair {
    /// With other LIDs, where its addresses are some.
    pub(crate) fn with_lids(&self, of: impl Fn(u16) -> u16) -> Pair {
        if self.family != LID {
            return *self;
        }
        let [a, b] = [self.low, self.high].map(|[high, lid]| [high, u64::from(of(lid as u16))]);
        Pair { low: a.min(b), high: a.max(b), ..*self }
    }
}

/// A hash of both addresses: every bit of them counts.
#[inline(always)]
pub(crate) fn mixed([src_high, src_low]: Wide, [dst_high, dst_low]: Wide) -> u64 {
    // Odd, and of no pattern: the fraction of the square root of two.
    const ODD: u64 = 0x6a09_e667_f3bc_c909;
    let src = (src_low ^ src_high.rotate_left(17)).wrapping_mul(ODD);
    src.rotate_left(29) ^ dst_low ^ dst_high.rotate_left(43)
}

fn address(family: u8, [high, low]: Wide) -> Address {
    let long = Ipv6Addr::from((high as u128) << 64 | low as u128);
    match family {
        IPV4 => Address::Ip(IpAddr::V4(Ipv4Addr::from(low as u32))),
        IPV6 => Address::Ip(IpAddr::V6(long)),
        GID => Address::Gid(long),
        _ => Address::Lid(low as u16),
    }
}

/// The kind of an address, and the address.
pub(crate) fn value(address: Address) -> (u8, Wide) {
    match address {
        Address::Ip(IpAddr::V4(ip)) => (IPV4, [0, u32::from(ip) as u64]),
        Address::Ip(IpAddr::V6(ip)) => (IPV6, wide(ip.into())),
        Address::Gid(gid) => (GID, wide(gid.into())),
        Address::Lid(lid) => (LID, [0, lid as u64]),
    }
}

#[cold]
fn vni(d: &Dissection<'_>) -> u32 {
    let at = |kind| d.offset(kind).and_then(|at| d.frame().get(at..));
    if let Some((vxlan, _)) = at(Kind::Vxlan).and_then(Vxlan::view) {
        return vxlan.vni() | VXLAN;
    }
    at(Kind::Geneve).and_then(Geneve::view).map_or(0, |(geneve, _)| geneve.vni() | GENEVE)
}
