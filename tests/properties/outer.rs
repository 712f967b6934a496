//! The outer headers, against etherparse: where it reads a frame without complaint, we read the same.

use etherparse::{LinkExtSlice, LinkSlice, NetSlice, SlicedPacket, TransportSlice};
use rdmawire::{
    dissect::{Dissection, Layer, Link},
    wire::*,
};

use super::dissect::Input;

/// A fuzzer's input: that of [`Input`].
pub fn agreement(data: &[u8]) {
    let Some(input) = Input::new(data) else { return };
    if input.frame.len() != input.wire_len as usize {
        return;
    }
    let theirs = match input.link {
        Link::ETHERNET => SlicedPacket::from_ethernet(input.frame),
        Link::RAW => SlicedPacket::from_ip(input.frame),
        _ => return,
    };
    if let Ok(theirs) = theirs {
        same(&input.dissect(), &theirs);
    }
}

/// Whether both found the same; the number of headers compared.
pub fn same(d: &Dissection<'_>, theirs: &SlicedPacket<'_>) -> usize {
    let layers = d.layers();
    let mut ours = Ours { d, left: &layers };
    let mut compared = 0;
    if let Some(LinkSlice::Ethernet2(link)) = &theirs.link {
        let at = ours.next::<Ethernet>();
        assert_eq!((at.dst().0, at.src().0), (link.destination(), link.source()));
        assert_eq!(at.ether_type().0, link.ether_type().0);
        compared += 1;
    }
    for ext in &theirs.link_exts {
        // MACsec is not read.
        let LinkExtSlice::Vlan(vlan) = ext else { return compared };
        let at = ours.next::<Vlan>();
        assert_eq!(at.vid(), vlan.vlan_identifier().value());
        assert_eq!(at.ether_type().0, vlan.ether_type().0);
        compared += 1;
    }
    match &theirs.net {
        Some(NetSlice::Ipv4(ip)) => {
            let (at, ip) = (ours.next::<Ipv4>(), ip.header());
            assert_eq!((at.ihl(), at.dscp(), at.ecn().0), (ip.ihl(), ip.dcp().value(), ip.ecn().value()));
            assert_eq!(
                (at.total_len(), at.protocol().0, at.ttl()),
                (ip.total_len(), ip.protocol().0, ip.ttl())
            );
            assert_eq!((at.src(), at.dst()), (ip.source_addr(), ip.destination_addr()));
            assert_eq!(at.mf(), ip.more_fragments());
            assert_eq!(at.fragment_offset(), ip.fragments_offset().value());
            ours.skip(Kind::Ipv4Options);
            compared += 1;
        }
        Some(NetSlice::Ipv6(ip)) => {
            let (at, ip) = (ours.next::<Ipv6>(), ip.header());
            if ip.payload_length() == 0 {
                // They take that for "up to the end", as in a jumbogram; we take it for what it says.
                return compared;
            }
            assert_eq!((at.dscp(), at.ecn().0), (ip.dscp().value(), ip.ecn().value()));
            assert_eq!((at.flow_label(), at.hop_limit()), (ip.flow_label().value(), ip.hop_limit()));
            assert_eq!((at.payload_len(), at.next_header().0), (ip.payload_length(), ip.next_header().0));
            assert_eq!((at.src(), at.dst()), (ip.source_addr(), ip.destination_addr()));
            ours.skip(Kind::Ipv6Extension);
            compared += 1;
        }
        _ => return compared,
    }
    // They go through an authentication header after IPv4 too; we do so after IPv6 only, and say so.
    let authenticated = matches!(&theirs.net, Some(NetSlice::Ipv4(ip)) if ip.header().protocol().0 == 51);
    if let Some(TransportSlice::Udp(udp)) = &theirs.transport
        && !ours.stopped()
        && !authenticated
    {
        let at = ours.next::<Udp>();
        assert_eq!((at.src_port(), at.dst_port()), (udp.source_port(), udp.destination_port()));
        assert_eq!((at.length(), at.checksum().0), (udp.length(), udp.checksum()));
        compared += 1;
    }
    compared
}

struct Ours<'a, 'f> {
    d: &'a Dissection<'f>,
    left: &'a [Layer],
}

impl<'f> Ours<'_, 'f> {
    fn next<H: Header>(&mut self) -> &'f H {
        let Some((first, rest)) = self.left.split_first() else {
            panic!("{} is missing: {:?}", H::NAME, self.d)
        };
        assert_eq!(first.kind, H::KIND, "{:?}", self.d);
        self.left = rest;
        H::view(&self.d.frame()[first.at as usize..]).expect("layers are whole").0
    }

    fn skip(&mut self, kind: Kind) {
        while let Some((first, rest)) = self.left.split_first()
            && first.kind == kind
        {
            self.left = rest;
        }
    }

    /// We follow fewer extension headers, and say so.
    fn stopped(&self) -> bool {
        self.d.notes().iter().any(|note| matches!(note.problem, rdmawire::dissect::Problem::Depth { .. }))
    }
}
