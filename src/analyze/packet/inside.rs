//! Where the packet is in a frame: behind a link header, in VXLAN, or in a mirror's GRE or ERSPAN.

use super::{MirrorCopy, path_tag};
use crate::{
    capture::Record,
    dissect::{self, Link, VXLAN_PORT},
    wire::*,
};

/// A network header, and what is before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inside<'a> {
    pub(crate) is_ipv4: bool,
    /// Its VLAN, as in [`path_tag`].
    pub(crate) tags: u16,
    /// The overlay's virtual network.
    pub(crate) vni: Option<u32>,
    /// A mirror made it.
    pub(crate) copy: Option<MirrorCopy>,
    /// What was captured of it, from the network header on.
    pub(crate) rest: &'a [u8],
    /// Bytes that there were on the wire.
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

/// What is in an Ethernet frame with one VLAN tag at most, and that tag.
#[inline(always)]
pub(crate) fn ethernet(frame: &[u8]) -> Option<(EtherType, u16, &[u8])> {
    let (ethernet, rest) = Ethernet::view(frame)?;
    let ether_type = ethernet.ether_type();
    if ether_type != EtherType::VLAN {
        return Some((ether_type, 0, rest));
    }
    let (tag, rest) = Vlan::view(rest)?;
    Some((tag.ether_type(), path_tag::HAS_VLAN as u16 | tag.vid(), rest))
}

#[inline(always)]
fn is_ipv4(ether_type: EtherType) -> Option<bool> {
    match ether_type {
        EtherType::IPV4 => Some(true),
        EtherType::IPV6 => Some(false),
        _ => None,
    }
}

/// The packet in a tunnel over IPv4 whose outer lengths are true. `outer`: from the outer network header on; `wire_len`: its
/// bytes on the wire.
#[inline(never)]
fn tunneled<'a>(options: &dissect::Options, outer: &'a [u8], wire_len: u32) -> Option<Inside<'a>> {
    let (ip, rest) = Ipv4::view(outer)?;
    let total = ip.total_len() as usize;
    let is_whole = (ip.version() == 4)
        & (ip.ihl() == 5)
        & !ip.mf()
        & (ip.fragment_offset() == 0)
        & (total >= Ipv4::LEN)
        & (total <= wire_len as usize);
    if !is_whole {
        return None;
    }
    let (mut end, mut vni, mut copy) = (total, None, None);
    let frame = match ip.protocol() {
        IpProtocol::UDP => {
            let (udp, rest) = Udp::view(rest)?;
            let (port, len) = (udp.dst_port(), udp.length() as usize);
            if port != VXLAN_PORT || options.roce_ports.contains(&port) || len < Udp::LEN {
                return None;
            }
            let (vxlan, rest) = Vxlan::view(rest)?;
            (end, vni) = (Ipv4::LEN + len, Some(vxlan.vni()));
            rest
        }
        IpProtocol::GRE => {
            let (frame, numbered) = mirrored(rest)?;
            copy = numbered.map(|(session, number)| {
                let key = (u32::from(ip.src()) as u128, u32::from(ip.dst()) as u128, session);
                MirrorCopy { key, number }
            });
            frame
        }
        _ => return None,
    };
    if end > total {
        return None;
    }
    // What is behind the outer packet's end is not the inner one's.
    let at = outer.len() - frame.len();
    let frame = outer.get(at..end.min(outer.len()))?;
    let (ether_type, tags, rest) = ethernet(frame)?;
    let is_ipv4 = is_ipv4(ether_type)?;
    let wire_len = (end - at - (frame.len() - rest.len())) as u32;
    Some(Inside { is_ipv4, tags, vni, copy, rest, wire_len })
}

/// A mirror's session, and the number of its copy.
type Numbered = (u16, u32);

/// The Ethernet frame that GRE carries by itself or in ERSPAN of type II or III.
fn mirrored(bytes: &[u8]) -> Option<(&[u8], Option<Numbered>)> {
    let (gre, mut rest) = Gre::view(bytes)?;
    if gre.version() != 0 || gre.has_routing() {
        return None;
    }
    if gre.has_checksum() {
        rest = GreChecksum::view(rest)?.1;
    }
    if gre.has_key() {
        rest = GreKey::view(rest)?.1;
    }
    let mut number = None;
    if gre.has_sequence() {
        let (sequence, behind) = GreSequence::view(rest)?;
        (number, rest) = (Some(sequence.sequence_number()), behind);
    }
    let (session, frame) = match gre.protocol() {
        EtherType::ERSPAN if number.is_some() => {
            let (erspan, frame) = Erspan2::view(rest)?;
            if erspan.version() != 1 {
                return None;
            }
            (erspan.session_id(), frame)
        }
        EtherType::ERSPAN3 => {
            let (erspan, frame) = Erspan3::view(rest)?;
            if erspan.frame_type() == 2 {
                return None;
            }
            let frame = if erspan.optional() { ErspanPlatform::view(frame)?.1 } else { frame };
            (erspan.session_id(), frame)
        }
        EtherType::ETHERNET => (u16::MAX, rest),
        _ => return None,
    };
    Some((frame, number.map(|number| (session, number))))
}
