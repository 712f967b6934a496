//! Finds the packet in a frame: behind a link header, in VXLAN, or in a mirror's GRE or ERSPAN.

use super::{MirrorCopy, path_tag};
use crate::{
    capture::Record,
    dissect::{self, Link, Outer},
    wire::*,
};

/// A network header, and what is before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inside<'a> {
    pub(crate) is_ipv4: bool,
    /// Its VLAN, as in [`path_tag`], with its priority in the bits above.
    pub(crate) tags: u16,
    /// The overlay's virtual network.
    pub(crate) vni: Option<u32>,
    /// The mirror's numbers, if a mirror made the frame.
    pub(crate) copy: Option<MirrorCopy>,
    /// Its captured bytes, from the network header on.
    pub(crate) rest: &'a [u8],
    /// Its bytes on the wire.
    pub(crate) wire_len: u32,
}

impl<'a> Inside<'a> {
    /// The network header that probably begins a packet with a fast form. For IPv4 over Ethernet, only one in a tunnel.
    #[inline(always)]
    pub(crate) fn of(options: &dissect::Options, record: &Record<'a>) -> Option<Inside<'a>> {
        let frame = record.frame;
        let wire_len = record.wire_len.max(frame.len() as u32);
        let (ether_type, tags, rest) = match record.link {
            Link::ETHERNET => ethernet(frame)?,
            Link::LINUX_SLL => Sll::view(frame).map(|(sll, rest)| (sll.ether_type(), 0, rest))?,
            Link::LINUX_SLL2 => Sll2::view(frame).map(|(sll, rest)| (sll.ether_type(), 0, rest))?,
            Link::RAW => match frame.first()? >> 4 {
                4 => (EtherType::IPV4, 0, frame),
                _ => (EtherType::IPV6, 0, frame),
            },
            Link::IPV4 => (EtherType::IPV4, 0, frame),
            Link::IPV6 => (EtherType::IPV6, 0, frame),
            _ => return None,
        };
        let wire_len = wire_len - (frame.len() - rest.len()) as u32;
        if record.link == Link::ETHERNET && ether_type == EtherType::IPV4 {
            return tunneled(options, rest, wire_len);
        }
        let is_ipv4 = is_ipv4(ether_type)?;
        Some(Inside { is_ipv4, tags, vni: None, copy: None, rest, wire_len })
    }
}

/// The EtherType, the VLAN tag and the rest of an Ethernet frame that has one tag at most.
#[inline(always)]
pub(crate) fn ethernet(frame: &[u8]) -> Option<(EtherType, u16, &[u8])> {
    let (ethernet, rest) = Ethernet::view(frame)?;
    let ether_type = ethernet.ether_type();
    if ether_type != EtherType::VLAN {
        return Some((ether_type, 0, rest));
    }
    let (tag, rest) = Vlan::view(rest)?;
    Some((tag.ether_type(), (tag.pcp() as u16) << 13 | path_tag::HAS_VLAN as u16 | tag.vid(), rest))
}

#[inline(always)]
fn is_ipv4(ether_type: EtherType) -> Option<bool> {
    match EtherTypes::next(ether_type) {
        Some(Kind::Ipv4) => Some(true),
        Some(Kind::Ipv6) => Some(false),
        _ => None,
    }
}

/// The packet in a tunnel over IPv4 whose outer headers are as they should be: in VXLAN, or a mirror's copy in GRE or ERSPAN.
/// `outer`: from the outer network header on; `wire_len`: its bytes on the wire.
#[inline(never)]
fn tunneled<'a>(options: &dissect::Options, outer: &'a [u8], wire_len: u32) -> Option<Inside<'a>> {
    let (ip, rest) = Ipv4::view(outer)?;
    let announced = match IpProtocols::next(ip.protocol())? {
        Kind::Udp => options.tunnel_of(Udp::view(rest)?.0.dst_port())?,
        other => other,
    };
    if !matches!(announced, Kind::Gre | Kind::Vxlan) || ip.ihl() != 5 {
        return None;
    }
    // What the network marks around a packet is told by the long way only. Mirrors' own marks say nothing of the packet.
    if announced == Kind::Vxlan && ip.ecn() == Ecn::CE {
        return None;
    }
    let outer = Outer::of(options, outer, wire_len)?;
    let is_read = match outer.get::<Gre>().map(|gre| TunnelTypes::next(gre.protocol())) {
        None | Some(Some(Kind::Ethernet)) => true,
        Some(Some(Kind::Erspan3)) => outer.get::<Erspan3>().is_some_and(|erspan| erspan.frame_type() == 0),
        Some(_) => outer.get::<Erspan2>().is_some(),
    };
    let (frame, len) = outer.inside().filter(|_| is_read)?;
    let (ether_type, tags, rest) = ethernet(frame)?;
    let (vni, copy) = (outer.get::<Vxlan>().map(Vxlan::vni), MirrorCopy::of(|kind| outer.at(kind)));
    let wire_len = (len - (frame.len() - rest.len())) as u32;
    Some(Inside { is_ipv4: is_ipv4(ether_type)?, tags, vni, copy, rest, wire_len })
}
