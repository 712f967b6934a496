//! The headers that all packets of a connection share: addresses and encapsulation.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Packet, packet::to_ipv6, template};
use crate::{
    dissect::{Dissection, Encapsulation, Link},
    wire::*,
};

/// One end of a path, with its addresses for every encapsulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// Ethernet address.
    pub mac: Mac,
    /// IP address. The GID is made from it.
    pub ip: IpAddr,
    /// Local identifier on InfiniBand.
    pub lid: u16,
}

impl Endpoint {
    /// An end with this IP address. Its Ethernet address is 02:00 and the last four bytes of it, its LID is made from the
    /// last two bytes, within 1 to 0xbfff.
    pub fn new(ip: impl Into<IpAddr>) -> Endpoint {
        let ip = ip.into();
        let [.., a, b, c, d] = match ip {
            IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
            IpAddr::V6(ip) => ip.octets(),
        };
        let lid = u16::from_be_bytes([c, d]) % 0xbfff;
        Endpoint { mac: Mac([2, 0, a, b, c, d]), ip, lid: lid.max(1) }
    }

    /// Sets the Ethernet address.
    #[must_use]
    pub fn mac(self, mac: Mac) -> Endpoint {
        Endpoint { mac, ..self }
    }

    /// Sets the LID.
    #[must_use]
    pub fn lid(self, lid: u16) -> Endpoint {
        Endpoint { lid, ..self }
    }

    /// The GID: the IPv6 address, or the IPv4 address mapped (`::ffff:a.b.c.d`).
    pub fn gid(&self) -> Ipv6Addr {
        to_ipv6(self.ip)
    }

    /// The end with this GID. A GID with a mapped IPv4 address gives that address.
    pub fn of_gid(gid: Ipv6Addr) -> Endpoint {
        Endpoint::new(IpAddr::V6(gid).to_canonical())
    }

    fn ipv4(&self) -> Ipv4Addr {
        match self.ip {
            IpAddr::V4(ip) => ip,
            // RoCEv2 over IPv4 needs an IPv4 address: the mapped one, or the last four bytes.
            IpAddr::V6(ip) => ip.to_ipv4_mapped().unwrap_or_else(|| {
                let [.., a, b, c, d] = ip.octets();
                Ipv4Addr::new(a, b, c, d)
            }),
        }
    }
}

/// The way from one end to the other, with the fields that headers have on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    /// The headers around the transport.
    pub encapsulation: Encapsulation,
    /// The sending end.
    pub src: Endpoint,
    /// The receiving end.
    pub dst: Endpoint,
    /// VLAN tag: priority code point and VLAN identifier. Native InfiniBand has none.
    pub vlan: Option<(u8, u16)>,
    /// Differentiated services code point. With `ecn` it makes the traffic class of a GRH.
    pub dscp: u8,
    /// ECN field as the sender sets it.
    pub ecn: Ecn,
    /// Time to live, hop limit.
    pub ttl: u8,
    /// Flow label of IPv6 and GRH.
    pub flow_label: u32,
    /// Service level on native InfiniBand.
    pub sl: u8,
    /// Partition key.
    pub p_key: PKey,
}

impl Path {
    /// A path between two ends: ECT(0), DSCP 26, a time to live of 64, P_Key 0xffff, no VLAN.
    pub fn new(encapsulation: Encapsulation, src: Endpoint, dst: Endpoint) -> Path {
        Path {
            encapsulation,
            src,
            dst,
            vlan: None,
            dscp: 26,
            ecn: Ecn::ECT0,
            ttl: 64,
            flow_label: 0,
            sl: 0,
            p_key: PKey(0xffff),
        }
    }

    /// RoCEv2 between two IP addresses: over IPv4 if both are, otherwise over IPv6.
    pub fn rocev2(src: impl Into<IpAddr>, dst: impl Into<IpAddr>) -> Path {
        let (src, dst) = (Endpoint::new(src), Endpoint::new(dst));
        let encapsulation = match (src.ip, dst.ip) {
            (IpAddr::V4(_), IpAddr::V4(_)) => Encapsulation::RoceV2Ipv4,
            _ => Encapsulation::RoceV2Ipv6,
        };
        Path::new(encapsulation, src, dst)
    }

    /// The path of a frame's innermost packet. `None` without a BTH.
    pub fn of(d: &Dissection<'_>) -> Option<Path> {
        let encapsulation = d.encapsulation()?;
        let mut path = Path::new(
            encapsulation,
            Endpoint::new(Ipv4Addr::new(10, 0, 0, 1)),
            Endpoint::new(Ipv4Addr::new(10, 0, 0, 2)),
        );
        path.p_key = d.get::<Bth>()?.p_key();
        if let Some(ip) = d.get::<Ipv4>() {
            (path.src, path.dst) = (Endpoint::new(ip.src()), Endpoint::new(ip.dst()));
            (path.dscp, path.ecn, path.ttl) = (ip.dscp(), ip.ecn(), ip.ttl());
        } else if let Some(ip) = d.get::<Ipv6>() {
            (path.src, path.dst) = (Endpoint::of_gid(ip.src()), Endpoint::of_gid(ip.dst()));
            (path.dscp, path.ecn, path.ttl) = (ip.dscp(), ip.ecn(), ip.hop_limit());
            path.flow_label = ip.flow_label();
        } else if let Some(grh) = d.get::<Grh>() {
            (path.src, path.dst) = (Endpoint::of_gid(grh.sgid()), Endpoint::of_gid(grh.dgid()));
            let class = grh.t_class().0;
            (path.dscp, path.ecn, path.ttl) = (class >> 2, Ecn(class & 3), grh.hop_lmt());
            path.flow_label = grh.flow_label();
        }
        if let Some(lrh) = d.get::<Lrh>() {
            if !d.has(Kind::Grh) {
                // There is only a LID: its address is as in `rewrite --to`.
                path.src = Endpoint::new(ip_of_lid(lrh.slid().0));
                path.dst = Endpoint::new(ip_of_lid(lrh.dlid().0));
            }
            (path.src.lid, path.dst.lid) = (lrh.slid().0, lrh.dlid().0);
            path.sl = lrh.sl();
        }
        if let Some(ethernet) = d.get::<Ethernet>() {
            (path.src.mac, path.dst.mac) = (ethernet.src(), ethernet.dst());
        }
        path.vlan = d.get::<Vlan>().map(|tag| (tag.pcp(), tag.vid()));
        Some(path)
    }

    /// The way back.
    #[must_use]
    pub fn reversed(self) -> Path {
        Path { src: self.dst, dst: self.src, ..self }
    }

    /// The link type of its frames.
    pub fn link(&self) -> Link {
        match self.encapsulation {
            Encapsulation::Ib | Encapsulation::IbGrh => Link::INFINIBAND,
            _ => Link::ETHERNET,
        }
    }

    /// A packet with all headers before the BTH.
    pub fn packet(&self) -> Packet {
        let packet = Packet::new(self.link());
        let packet = match self.encapsulation {
            Encapsulation::Ib | Encapsulation::IbGrh => {
                packet.push(template::lrh(self.src.lid, self.dst.lid).with_sl(self.sl))
            }
            _ => packet.push(Ethernet::default().with_dst(self.dst.mac).with_src(self.src.mac)),
        };
        let packet = match self.vlan {
            Some((pcp, vid)) if self.link() == Link::ETHERNET => {
                packet.push(Vlan::default().with_pcp(pcp).with_vid(vid))
            }
            _ => packet,
        };
        match self.encapsulation {
            Encapsulation::RoceV2Ipv4 => {
                let ip = template::ipv4(self.src.ipv4(), self.dst.ipv4());
                packet
                    .push(ip.with_dscp(self.dscp).with_ecn(self.ecn).with_ttl(self.ttl))
                    .push(template::udp())
            }
            Encapsulation::RoceV2Ipv6 => {
                let ip =
                    template::ipv6(self.src.gid(), self.dst.gid()).with_dscp(self.dscp).with_ecn(self.ecn);
                packet
                    .push(ip.with_hop_limit(self.ttl).with_flow_label(self.flow_label))
                    .push(template::udp())
            }
            Encapsulation::RoceV1 | Encapsulation::IbGrh => packet.push(
                template::grh(self.src.gid(), self.dst.gid())
                    .with_t_class(Hex8(self.dscp << 2 | self.ecn.0 & 3))
                    .with_hop_lmt(self.ttl)
                    .with_flow_label(self.flow_label),
            ),
            Encapsulation::Ib => packet,
        }
    }
}

/// The IP address for a host of which only the LID is known: 10.77 and the LID.
pub(super) fn ip_of_lid(lid: u16) -> Ipv4Addr {
    let [a, b] = lid.to_be_bytes();
    Ipv4Addr::new(10, 77, a, b)
}
